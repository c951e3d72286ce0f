"""Published notebooks: what is read from one, and how a run ends, whatever its cells do."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import psutil
import pytest

from jupyter_funcs.core import background
from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.service.publishing import discovery, notebooks
from jupyter_funcs.service.publishing.confinement import WorkerSetup
from jupyter_funcs.service.publishing.worker_pool import Workers
from tests.conftest import is_running
from tests.examples import row_id
from tests.service.conftest import LIST, becomes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jupyter_funcs.service.publishing.registry import PublishedFunction
    from tests.service.conftest import Wire

EXAMPLE = Path(__file__).with_name("published") / "best_days.ipynb"
HOSTILE = [
    "",
    " ",
    "it's",
    'a "quote"',
    '"""',
    "'''",
    "\\",
    "\\n",
    "\\\\'",
    "two\nlines\r\n",
    "{x} {0} {{}} %s %(x)s",
    "'); import os; os._exit(3) #",
    '" + __import__("os").getcwd() + "',
    "$HOME `id` !ls %%bash",
    "\x00\x1b[31m\x7f",
    "é 𝄞 \u2028 \u202e",
    "x" * 10_000,
]


def written(
    path: Path,
    *cells: str,
    parameters: str | None = "",
    text: str = "",
    **metadata: Any,
) -> Path:
    """Write a notebook: a text, the parameters cell, and cells."""
    v4 = nbformat.v4
    notebook = v4.new_notebook(metadata={"jupyter_funcs": {"asset": "a"}} | metadata)
    notebook.cells += [v4.new_markdown_cell(text)] if text else []
    if parameters is not None:
        notebook.cells.append(
            v4.new_code_cell(parameters, metadata={"tags": ["parameters"]})
        )
    notebook.cells += [v4.new_code_cell(cell) for cell in cells]
    nbformat.write(notebook, path)
    return path


@pytest.fixture
def notebook(tmp_path: Path) -> Callable[..., PublishedFunction]:
    """Publish a notebook."""

    def publish_one(*cells: str, **options: Any) -> PublishedFunction:
        (tmp_path / "shop").mkdir(exist_ok=True)
        return notebooks.read(
            written(tmp_path / "shop" / "note_book.ipynb", *cells, **options)
        )

    return publish_one


class Call:
    """A call that runs until it is cancelled."""

    cancelled = False


def value(function: PublishedFunction, **args: Any) -> Any:
    """Run a notebook in a worker and return its result."""
    with in_workers(Path(function.place)) as [published]:
        return content(run(published, **args))


def run(function: Any, **args: Any) -> Any:
    return background.run(function.body(Call(), 1, "json", args, typed=True))


def content(reply: Any) -> Any:
    return json.loads(json.loads(bytes(reply.content))["body"])


@contextlib.contextmanager
def in_workers(path: Path) -> Iterator[list[PublishedFunction]]:
    """Publish the folder of a notebook by workers."""
    workers = Workers(WorkerSetup((path.parent,), default_asset="a"))
    try:
        yield workers.load()
    finally:
        workers.close()


def test_the_example_is_described_by_its_text_and_its_parameters_cell() -> None:
    published = notebooks.read(EXAMPLE)
    assert (published.name, published.asset, published.group) == (
        "Get Best Days",
        "Shops",
        "Stores",
    )
    assert (
        published.description
        == "The days on which a store sold the most pieces, best first."
    )
    assert (published.entry_point, published.notebook_name) == (
        "published/best_days.ipynb",
        "best_days.ipynb",
    )
    assert [parameter.description() for parameter in published.parameters] == [
        "[Required] The store, as Get Stores has it.",
        "[Optional] Only pieces of this kind. Options are 'new', 'used'.",
        "[Optional] How many days to give. If none, days defaults to '3'.",
    ]


@pytest.mark.slow
def test_the_example_is_run_over_the_wire(publish: Callable[..., Wire]) -> None:
    with in_workers(EXAMPLE) as functions:
        wire = publish(*(replace(function, asset="a") for function in functions))
        listed = wire.post(LIST).json()[0]
        assert (listed["notebookName"], listed["entryPoint"]) == (
            "best_days.ipynb",
            "published/best_days.ipynb",
        )
        args = {"store": "Market", "days": "1"}
        assert wire.rows("Get Best Days", **args) == [
            {"day": "2024-03-03", "kind": "used", "pieces": 9}
        ]
        assert wire.errors("Get Best Days", kind="odd").keys() == {"store", "kind"}


@pytest.mark.parametrize(
    ("text", "metadata", "name", "description"),
    [
        ("", {}, "Note Book", ""),
        (
            "# Get Stock #\n\nThe stock\nof today.\n\nMore.",
            {},
            "Get Stock",
            "The stock of today.",
        ),
        (
            "\n\n## **Get** `Stock`\nThe stock.\n# Other",
            {},
            "Get** `Stock",
            "The stock.",
        ),
        ("No heading.\n\n# Late", {}, "Note Book", "No heading."),
        ("# Get Stock", {"name": "Other", "description": "Else."}, "Other", "Else."),
    ],
    ids=["neither", "a text", "a text after blank lines", "a late heading", "metadata"],
)
def test_name_and_description_are_from_the_metadata_else_from_the_first_text(
    notebook: Callable[..., PublishedFunction],
    text: str,
    metadata: dict[str, str],
    name: str,
    description: str,
) -> None:
    published = notebook(
        "1", text=text, jupyter_funcs={"asset": "a", "author": "ann"} | metadata
    )
    assert (published.name, published.description, published.author) == (
        name,
        description,
        "ann",
    )


def test_the_asset_is_from_the_metadata_else_from_the_configuration(
    tmp_path: Path,
) -> None:
    for metadata, asset in (({}, "Default"), ({"asset": "a"}, "a")):
        written(tmp_path / "x.ipynb", "1", jupyter_funcs=metadata)
        [published] = discovery.load(
            [tmp_path], entry_points=False, default_asset="Default"
        )
        assert published.asset == asset


@pytest.mark.parametrize(
    ("cells", "options", "says"),
    [
        pytest.param(
            ["1"],
            {"parameters": None},
            "has no cell tagged 'parameters'.\nTag the one cell",
            id="no parameters cell",
        ),
        pytest.param(
            ["1"],
            {"jupyter_funcs": {"aset": "a"}},
            "unknown field `aset` - at `$.metadata.jupyter_funcs`.",
            id="an unknown field",
        ),
        pytest.param(
            ["1"],
            {"jupyter_funcs": {"asset": 7}},
            "got `int` - at `$.metadata.jupyter_funcs.asset`.",
            id="an asset of a number",
        ),
        pytest.param(
            ["1"],
            {"jupyter_funcs": {"name": " "}},
            " - at `$.metadata.jupyter_funcs.name`.",
            id="a blank name",
        ),
        pytest.param(
            ["1"],
            {"jupyter_funcs": ["a"]},
            "Expected `object`, got `array` - at `$.metadata.jupyter_funcs`.",
            id="metadata of a list",
        ),
        pytest.param(
            ["1"],
            {"parameters": "a, b = 1, 2"},
            "note_book.ipynb, cell 1, line 1: 'a, b = (1, 2)' does not define a parameter",
            id="no parameter",
        ),
        pytest.param(
            ["1"],
            {"parameters": "a: bytes = {}", "text": "x"},
            "note_book.ipynb, cell 2, line 1: a has the unsupported annotation",
            id="an unsupported annotation",
        ),
        pytest.param(
            [],
            {"parameters": "a = 1"},
            "has no code after the parameters cell",
            id="no code",
        ),
        pytest.param(
            ["# nothing", "  "],
            {},
            "has no code after the parameters cell",
            id="only comments and blanks",
        ),
        pytest.param(
            ["x = 1", "#"],
            {},
            "note_book.ipynb, cell 2 ends with 'x = 1', not with a value",
            id="no last value",
        ),
        pytest.param(
            ["1"],
            {"language_info": {"name": "R"}},
            "is written in 'R'.\nOnly Python notebooks",
            id="R by its language",
        ),
        pytest.param(
            ["1"],
            {"kernelspec": {"name": "ir", "display_name": "R", "language": "R"}},
            "is written in 'R'",
            id="R by its kernel",
        ),
    ],
)
def test_a_notebook_that_cannot_be_published_is_refused_with_its_file(
    notebook: Callable[..., PublishedFunction],
    cells: list[str],
    options: dict[str, Any],
    says: str,
) -> None:
    with pytest.raises(SetupError) as caught:
        notebook(*cells, **options)
    assert says in str(caught.value)
    assert "note_book.ipynb" in str(caught.value)
    assert str(caught.value).count("\n") <= 2


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        "no JSON",
        '{"cells": 7}',
        '{"nbformat": 99, "cells": []}',
        "[]",
        "null",
    ],
    ids=row_id,
)
def test_an_invalid_notebook_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.ipynb"
    path.write_text(content)
    with pytest.raises(SetupError, match="is not a valid notebook: ") as caught:
        discovery.load([tmp_path], entry_points=False, default_asset="a")
    assert str(caught.value).startswith(str(path))
    assert str(caught.value).count("\n") <= 2


def test_two_parameters_cells_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "x.ipynb", "1")
    document = json.loads(path.read_text())
    document["cells"].append(dict(document["cells"][0], id="other"))
    path.write_text(json.dumps(document))
    with pytest.raises(SetupError, match="has 2 cells tagged 'parameters'"):
        notebooks.read(path)


@pytest.mark.slow
def test_values_reach_the_notebook_as_they_are_and_typed(
    notebook: Callable[..., PublishedFunction],
) -> None:
    function = notebook(
        "[repr(x) for x in (texts, text, day, days, number, share, flag, kind, untouched, computed)]",
        parameters="from datetime import date\ntexts: list[str]\ntext: str\nday: date\ndays: list[date]\nnumber = 1\n"
        "share = 0.5\nflag = False\nkind: str = 'x'\nuntouched = 'as \"it\" is'\ncomputed: int = 40 + 2",
    )
    texts = [text.strip() for text in HOSTILE if text.strip()]
    sent = {
        "texts": texts,
        "text": "".join(texts),
        "day": "2024-02-29",
        "days": ["2024-03-01"],
        "number": 2**60,
        "share": 1e300,
        "flag": "yes",
        "untouched": 'as "it" is',
    }
    read = {
        "day": date(2024, 2, 29),
        "days": [date(2024, 3, 1)],
        "flag": True,
        "kind": "x",
        "computed": 42,
    }
    order = (
        "texts",
        "text",
        "day",
        "days",
        "number",
        "share",
        "flag",
        "kind",
        "untouched",
        "computed",
    )
    rows = value(function, **sent)
    assert [row["Result"] for row in rows] == [
        repr((sent | read)[name]) for name in order
    ]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which runs make their private folders."""
    folder = tmp_path / "t"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.slow
def test_a_run_has_no_secrets_finds_what_is_beside_the_notebook_and_leaves_it_as_it_was(
    notebook: Callable[..., PublishedFunction],
    tmp_path: Path,
    temporary: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("FUNCS_SIGNING_KEY", "FUNCS_TOKEN", "DATABASE_PASSWORD"):
        monkeypatch.setenv(name, "secret-of-the-tests")
    function = notebook(
        "import os, sys, tempfile\nopen(os.path.join(tempfile.mkdtemp(), 'left'), 'w').close()",
        "open('made', 'w').close()\nown = open('/proc/self/environ').read() + repr(dict(os.environ))",
        "['secret-of-the' in own, os.path.exists('note_book.ipynb'), sys.executable, os.getcwd()]",
    )
    before = Path(function.place).read_bytes()
    *facts, folder = (row["Result"] for row in value(function))
    assert facts == [False, True, sys.executable]
    assert temporary in Path(folder).parents
    assert [path.name for path in (tmp_path / "shop").iterdir()] == ["note_book.ipynb"]
    assert Path(function.place).read_bytes() == before
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cells", "error", "logged"),
    [
        (
            ["def find(x):\n    raise KeyError(f'{x}\\nsecond')", "find(store)\n1"],
            "Hidden Market",
            "    find(store)",
        ),
        (
            ["raise ZeroDivisionError", "1"],
            "ZeroDivisionError",
            "raise ZeroDivisionError",
        ),
        (["import sys\nsys.exit(3)", "1"], "It called sys.exit(3).", "sys.exit(3)"),
        (["import sys\nsys.exit()", "1"], "It called sys.exit().", "sys.exit()"),
        (
            ["import os\nos._exit(1)", "1"],
            "The process that ran it ended before its result.",
            "",
        ),
        (
            ["import os\nos.kill(os.getppid(), 0)", "1"],
            "Operation not permitted",
            "os.kill(os.getppid(), 0)",
        ),
        (["x = = 1", "1"], "invalid syntax", "SyntaxError"),
        (
            ["{store: [1 + 2j]}"],
            "Column 'Hidden Market' has complex in row 1",
            "encode",
        ),
    ],
    ids=["raises", "silent", "exit 3", "exit", "ends", "signals", "syntax", "no JSON"],
)
def test_a_cell_that_fails_is_reported_in_one_line_and_logged_with_its_trace(
    notebook: Callable[..., PublishedFunction],
    publish: Callable[..., Wire],
    caplog: pytest.LogCaptureFixture,
    temporary: Path,
    cells: list[str],
    error: str,
    logged: str,
) -> None:
    path = Path(notebook(*cells, parameters="store = ''").place)
    with (
        in_workers(path) as functions,
        caplog.at_level(logging.ERROR, "jupyter_funcs.service"),
    ):
        reply = publish(*functions).call("Note Book", {"store": "Hidden Market"})
    assert reply.status_code == 200
    document = reply.json()
    assert document["body"] is None
    assert error in document["error"]
    assert "\n" not in document["error"]
    assert "Traceback" not in document["error"]
    [record] = caplog.records
    assert logged in record.getMessage()
    assert "Hidden Market" not in record.getMessage()
    assert list(temporary.iterdir()) == []


def files_named(name: str, folder: Path) -> list[Path]:
    """Return the files of a name, at any depth, in a folder in which folders are renamed and removed meanwhile.

    ``Path.rglob`` raises there; ``os.walk`` passes over what is gone.
    """
    return [Path(place, name) for place, _, names in os.walk(folder) if name in names]


def entries_in(folder: Path) -> list[str]:
    """Return the names of the files and folders below a folder, without those that are removed meanwhile."""
    return [
        name for _, folders, files in os.walk(folder) for name in (*folders, *files)
    ]


@pytest.fixture
def alive() -> Iterator[Callable[[Path], list[int]]]:
    """Wait for a run's file of process ids and return those that still run; kill them after the test."""
    pids: set[int] = set()

    def read(folder: Path) -> list[int]:
        if not pids:
            assert becomes(lambda: bool(files_named("pids.json", folder)))
            [path] = files_named("pids.json", folder)
            pids.update(json.loads(path.read_text()))
        return [*filter(is_running, pids)]

    yield read
    for pid in pids:
        if psutil.pid_exists(pid):
            os.kill(pid, signal.SIGKILL)


# A run that has started a process, one that outlives its shell, and one in a session of its own.
BUSY = """
import json, os, subprocess, sys, time
child = subprocess.Popen(["sleep", "600"])
orphan = int(subprocess.check_output("sleep 601 >&- & echo $!", shell=True))
code = "import subprocess as s; print(s.Popen(['sleep', '602'], start_new_session=True, stdout=s.DEVNULL).pid)"
apart = int(subprocess.check_output([sys.executable, "-c", code]))
pids = [os.getpid(), child.pid, orphan, apart]
with open("pids.part", "w") as file:
    json.dump(pids, file)
os.rename("pids.part", "pids.json")
"""
FOR_EVER = "while True:\n    pass"


@pytest.mark.slow
@pytest.mark.parametrize("is_stopped", [False, True])
def test_a_killed_service_takes_its_runs_with_it(
    notebook: Callable[..., PublishedFunction],
    alive: Callable[[Path], list[int]],
    temporary: Path,
    is_stopped: bool,
) -> None:
    """Also one that it has stopped, which is how it begins to end it."""
    path = notebook(BUSY, FOR_EVER, "1").place
    code = (
        "from pathlib import Path; from tests.service.publishing.test_notebooks import in_workers, run, tempfile\n"
        # After the imports: the tests' settings have a folder, too.
        f"tempfile.tempdir = {str(temporary)!r}\n"
        f"with in_workers(Path({path!r})) as [function]: run(function)"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as service:
        try:
            assert len(alive(temporary)) == 4
            if is_stopped:
                for pid in alive(temporary):
                    os.kill(pid, signal.SIGSTOP)
        finally:
            service.kill()
    assert becomes(lambda: not alive(temporary))
    # Two empty folders, one in the other, are left to the next start.
    assert becomes(lambda: len(entries_in(temporary)) <= 2)


@pytest.mark.slow
def test_runs_at_once_do_not_mix(notebook: Callable[..., PublishedFunction]) -> None:
    path = Path(
        notebook(
            "import time\ntime.sleep(0.5)\nnumber * 10", parameters="number: int"
        ).place
    )
    with in_workers(path) as [function], ThreadPoolExecutor(3) as threads:
        replies = threads.map(lambda number: run(function, number=number), range(3))
        assert [content(reply) for reply in replies] == [0, 10, 20]


@pytest.mark.slow
def test_a_notebook_is_read_without_a_slow_grammar_of_addresses(
    notebook: Callable[..., PublishedFunction],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """JupyterLab installs a package that makes importing jsonschema two seconds slower."""
    function = notebook("1")
    monkeypatch.setenv(
        "PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    )
    (tmp_path / "rfc3987_syntax.py").write_text("raise RuntimeError('imported')")
    assert value(function) == 1
