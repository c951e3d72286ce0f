"""Published notebooks: what is read from one, and what becomes of a run, whatever its cells do."""

from __future__ import annotations

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

from jupyter_funcs.service import notebooks, publish, results
from jupyter_funcs.service.engine import CallCancelledError
from jupyter_funcs.service.errors import SetupError
from jupyter_funcs.service.limits import Limits
from jupyter_funcs.service.notebook_call import NotebookError

from .conftest import LIST, becomes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jupyter_funcs.service.registry import Function

    from .conftest import Wire

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


def written(path: Path, *cells: str, parameters: str | None = "", text: str = "", **metadata: Any) -> Path:
    """Write a notebook: a text, the parameters cell, and cells."""
    v4 = nbformat.v4
    notebook = v4.new_notebook(metadata={"jupyter_funcs": {"asset": "a"}} | metadata)
    notebook.cells += [v4.new_markdown_cell(text)] if text else []
    if parameters is not None:
        notebook.cells.append(v4.new_code_cell(parameters, metadata={"tags": ["parameters"]}))
    notebook.cells += [v4.new_code_cell(cell) for cell in cells]
    nbformat.write(notebook, path)
    return path


@pytest.fixture
def notebook(tmp_path: Path) -> Callable[..., Function]:
    """Publish a notebook."""

    def publish_one(*cells: str, **options: Any) -> Function:
        (tmp_path / "shop").mkdir(exist_ok=True)
        return notebooks.read(written(tmp_path / "shop" / "note_book.ipynb", *cells, **options), None)

    return publish_one


class Call:
    """A call that somebody waits for until it is cancelled."""

    cancelled = False


def value(function: Function, **args: Any) -> Any:
    return json.loads(results.body(function.result(Call(), function.read(args, None))))


def test_the_example_is_described_by_its_text_and_its_parameters_cell() -> None:
    found = notebooks.read(EXAMPLE, None)
    assert (found.name, found.asset, found.group) == ("Get Best Days", "Shops", "Stores")
    assert found.description == "The days on which a store sold the most pieces, best first."
    assert (found.entry_point, found.notebook_name) == ("published/best_days.ipynb", "best_days.ipynb")
    assert [each.description() for each in found.parameters] == [
        "[Required] The store, as Get Stores has it.",
        "[Optional] Only pieces of this kind. Options are 'new', 'used'.",
        "[Optional] How many days to give. If none, days defaults to '3'.",
    ]


def test_the_example_is_run_over_the_wire(publish: Callable[..., Wire]) -> None:
    wire = publish(replace(notebooks.read(EXAMPLE, None), asset="a"))
    [listed] = wire.post(LIST).json()
    assert (listed["notebookName"], listed["entryPoint"]) == ("best_days.ipynb", "published/best_days.ipynb")
    assert wire.rows("Get Best Days", store="Market", days="1") == [{"day": "2024-03-03", "kind": "used", "pieces": 9}]
    assert wire.errors("Get Best Days", kind="odd").keys() == {"store", "kind"}


@pytest.mark.parametrize(
    ("text", "metadata", "name", "description"),
    [
        ("", {}, "Note Book", ""),
        ("# Get Stock #\n\nThe stock\nof today.\n\nMore.", {}, "Get Stock", "The stock of today."),
        ("\n\n## **Get** `Stock`\nThe stock.\n# Other", {}, "Get** `Stock", "The stock."),
        ("No heading.\n\n# Late", {}, "Note Book", "No heading."),
        ("# Get Stock", {"name": "Other", "description": "Else."}, "Other", "Else."),
    ],
)
def test_name_and_description_are_the_metadatas_else_the_first_texts(
    notebook: Callable[..., Function], text: str, metadata: dict[str, str], name: str, description: str
) -> None:
    found = notebook("1", text=text, jupyter_funcs={"asset": "a", "author": "ann"} | metadata)
    assert (found.name, found.description, found.author) == (name, description, "ann")


def test_the_asset_is_the_metadatas_else_the_configurations(tmp_path: Path) -> None:
    path = written(tmp_path / "x.ipynb", "1", jupyter_funcs={})
    assert notebooks.read(path, "Default").asset == "Default"
    assert notebooks.read(written(path, "1"), "Default").asset == "a"


@pytest.mark.parametrize(
    ("cells", "options", "says"),
    [
        (["1"], {"parameters": None}, "has no cell tagged 'parameters'.\nTag the one cell"),
        (["1"], {"jupyter_funcs": {}}, "names no asset.\nAdd one to its metadata"),
        (["1"], {"jupyter_funcs": {"aset": "a"}}, "the metadata have 'aset'. Did you mean 'asset'?"),
        (["1"], {"jupyter_funcs": {"asset": 7}}, "jupyter_funcs.asset in the metadata is '7'"),
        (["1"], {"jupyter_funcs": ["a"]}, "the metadata have 'jupyter_funcs'"),
        (["1"], {"parameters": "a, b = 1, 2"}, "note_book.ipynb, cell 1, line 1: 'a, b = (1, 2)' is no parameter"),
        (["1"], {"parameters": "a: dict = {}", "text": "x"}, "note_book.ipynb, cell 2, line 1: a is annotated"),
        ([], {"parameters": "a = 1"}, "has no code after its parameters"),
        (["# nothing", "  "], {}, "has no code after its parameters"),
        (["x = 1", "#"], {}, "note_book.ipynb, cell 2 ends in an assignment to x"),
        (["1"], {"language_info": {"name": "R"}}, "is written in 'R'.\nOnly notebooks in Python"),
        (["1"], {"kernelspec": {"name": "ir", "display_name": "R", "language": "R"}}, "is written in 'R'"),
    ],
)
def test_a_notebook_that_cannot_be_published_is_refused_with_its_file(
    notebook: Callable[..., Function], cells: list[str], options: dict[str, Any], says: str
) -> None:
    with pytest.raises(SetupError) as caught:
        notebook(*cells, **options)
    assert says in str(caught.value)
    assert "note_book.ipynb" in str(caught.value)
    assert str(caught.value).count("\n") <= 2


@pytest.mark.parametrize(
    "content", ["", "{}", "no JSON", '{"cells": 7}', '{"nbformat": 99, "cells": []}', "[]", "null"]
)
def test_a_file_that_is_no_notebook_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.ipynb"
    path.write_text(content)
    with pytest.raises(SetupError, match="is no notebook: ") as caught:
        publish.load([tmp_path], entry_points=False, default_asset="a")
    assert str(caught.value).startswith(str(path))
    assert str(caught.value).count("\n") <= 2


def test_two_parameters_cells_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "x.ipynb", "1")
    document = json.loads(path.read_text())
    document["cells"].append(dict(document["cells"][0], id="other"))
    path.write_text(json.dumps(document))
    with pytest.raises(SetupError, match="has 2 cells tagged 'parameters'"):
        notebooks.read(path, None)


def test_values_reach_the_notebook_as_they_are_and_typed(notebook: Callable[..., Function]) -> None:
    function = notebook(
        "[repr(x) for x in (texts, text, day, days, number, share, flag, kind, untouched, computed)]",
        parameters="from datetime import date\ntexts: list[str]\ntext: str\nday: date\ndays: list[date]\nnumber = 1\n"
        "share = 0.5\nflag = False\nkind: str = 'x'\nuntouched = 'as \"it\" is'\ncomputed: int = 40 + 2",
    )
    values = {
        "texts": HOSTILE,
        "text": "".join(HOSTILE),
        "day": date(2024, 2, 29),
        "days": [date(2024, 3, 1)],
        "number": 2**60,
        "share": 1e300,
        "flag": True,
        "kind": None,
        "untouched": 'as "it" is',
        "computed": None,
    }
    found = json.loads(results.body(function.result(Call(), values)))
    sent = dict(values, kind=None, computed=42)
    assert [each["Result"] for each in found] == [repr(each) for each in sent.values()]


@pytest.mark.parametrize(
    ("cells", "result"),
    [
        (
            ["import pandas as pd", "pd.DataFrame({'d': pd.to_datetime(['2024-02-29']), 'n': [1.5]});"],
            [{"d": "2024-02-29", "n": 1.5}],
        ),
        (["print('shown')\n%pwd\n{'a': [1, 2]}  # the result", "# nothing more", ""], [{"a": 1}, {"a": 2}]),
        (["x = 7", "display(x)\nx"], 7),
        (["import helper\nhelper.VALUE, open('data.txt').read()"], [{"Result": 5}, {"Result": "beside"}]),
        (["[{'text': 'é' * 1000}] * 5000"], [{"text": "é" * 1000}] * 5000),
    ],
    ids=["DataFrame", "columns", "scalar", "neighbours", "large"],
)
def test_the_last_value_is_the_result(
    notebook: Callable[..., Function], tmp_path: Path, cells: list[str], result: Any
) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "helper.py").write_text("VALUE = 5")
    (tmp_path / "shop" / "data.txt").write_text("beside")
    assert value(notebook(*cells)) == result


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the private folders of runs are made."""
    folder = tmp_path / "t"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_a_run_has_no_secrets_works_beside_the_notebook_and_leaves_it_as_it_was_and_nothing_else(
    notebook: Callable[..., Function], tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FUNCS_SIGNING_KEY", "FUNCS_TOKEN", "FUNCS_API_KEY", "FUNCS_ANYTHING"):
        monkeypatch.setenv(name, "secret-of-the-tests")
    function = notebook(
        "import os, psutil, sys, tempfile\nopen(os.path.join(tempfile.mkdtemp(), 'left'), 'w').close()",
        "parent = repr(psutil.Process(os.getppid()).environ())\nown = repr(dict(os.environ))",
        "['FUNCS' in own.replace('JUPYTER_FUNCS', ''), 'secret-of-the' in parent + own]\\\n"
        " + [os.getcwd(), sys.executable, os.path.dirname(tempfile.gettempdir())]",
    )
    before = Path(function.place).read_bytes()
    assert [each["Result"] for each in value(function)] == [
        False,
        False,
        str(tmp_path / "shop"),
        sys.executable,
        str(temporary),
    ]
    assert [each.name for each in (tmp_path / "shop").iterdir()] == ["note_book.ipynb"]
    assert Path(function.place).read_bytes() == before
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("cells", "said", "logged"),
    [
        (["def find(x):\n    raise KeyError(f'{x}\\nsecond')", "find(store)\n1"], "Hidden Market", "-> 1 find(store)"),
        (["raise ZeroDivisionError", "1"], "ZeroDivisionError", "raise ZeroDivisionError"),
        (["import sys\nsys.exit(3)", "1"], "It ended with sys.exit(3).", "sys.exit(3)"),
        (["import sys\nsys.exit()", "1"], "The notebook ended before its last cell.", ""),
        (["import os\nos._exit(1)", "1"], "Kernel died", "nbclient"),
        (["import os\nos.kill(os.getppid(), 9)", "1"], "The notebook ended before its last cell.", ""),
        (["x = = 1", "1"], "invalid syntax", "x = = 1"),
        (["{store: [1 + 2j]}"], "Column 'Hidden Market' holds complex in row 1", "emit"),
    ],
    ids=["raises", "silent", "exit 3", "exit", "kernel ends", "run ends", "syntax", "no JSON"],
)
def test_a_cell_that_fails_is_told_in_one_line_and_logged_with_its_trace(
    notebook: Callable[..., Function],
    publish: Callable[..., Wire],
    caplog: pytest.LogCaptureFixture,
    temporary: Path,
    cells: list[str],
    said: str,
    logged: str,
) -> None:
    wire = publish(notebook(*cells, parameters="store = ''"))
    with caplog.at_level(logging.ERROR, "jupyter_funcs.service"):
        reply = wire.call("Note Book", {"store": "Hidden Market"})
    assert reply.status_code == 200
    document = reply.json()
    assert document["body"] is None
    assert said in document["error"]
    assert "\n" not in document["error"]
    assert "Traceback" not in document["error"]
    [record] = caplog.records
    assert logged in record.getMessage()
    assert "Hidden Market" not in record.getMessage()
    assert list(temporary.iterdir()) == []


@pytest.fixture
def alive() -> Iterator[Callable[[Path], list[int]]]:
    """Wait for a file of process ids and give those that still run; end them after the test."""
    found: set[int] = set()

    def read(path: Path) -> list[int]:
        assert becomes(path.exists, 60)
        pids = json.loads(path.read_text())
        found.update(pids)
        return [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE]

    yield read
    for pid in found:
        if psutil.pid_exists(pid):
            os.kill(pid, signal.SIGKILL)


# A kernel that has started a process, one that outlives its shell, and one in a session of its own.
BUSY = """
import json, os, subprocess, sys, time
child = subprocess.Popen(["sleep", "600"])
orphan = int(subprocess.check_output("sleep 601 >&- & echo $!", shell=True))
code = "import subprocess as s; print(s.Popen(['sleep', '602'], start_new_session=True, stdout=s.DEVNULL).pid)"
apart = int(subprocess.check_output([sys.executable, "-c", code]))
pids = [os.getpid(), os.getppid(), child.pid, orphan, apart]
with open("pids.part", "w") as file:
    json.dump(pids, file)
os.rename("pids.part", "pids.json")
"""
FOR_EVER = "while True:\n    pass"


def test_a_cancelled_run_ends_with_all_that_it_started(
    notebook: Callable[..., Function], alive: Callable[[Path], list[int]], temporary: Path, tmp_path: Path
) -> None:
    function, call, pids = notebook(BUSY, FOR_EVER, "1"), Call(), tmp_path / "shop" / "pids.json"
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(function.result, call, {})
        assert len(alive(pids)) == 5
        call.cancelled = True
        with pytest.raises(CallCancelledError):
            running.result(10)
    assert becomes(lambda: not alive(pids))
    assert list(temporary.iterdir()) == []


def test_a_run_that_ends_leaves_no_process_behind(
    notebook: Callable[..., Function], alive: Callable[[Path], list[int]], tmp_path: Path
) -> None:
    assert value(notebook(BUSY, "1")) == 1
    assert becomes(lambda: not alive(tmp_path / "shop" / "pids.json"))


def test_a_run_over_the_time_limit_is_ended(
    notebook: Callable[..., Function], publish: Callable[..., Wire], temporary: Path
) -> None:
    wire = publish(notebook(FOR_EVER, "1"), limits=Limits(run_seconds=4))
    assert wire.call("Note Book").status_code == 504
    assert becomes(lambda: not list(temporary.iterdir()))
    assert not [each for each in psutil.process_iter(["cmdline"]) if str(temporary) in str(each.info)]


def test_a_killed_service_takes_its_runs_with_it(
    notebook: Callable[..., Function], alive: Callable[[Path], list[int]], tmp_path: Path
) -> None:
    path, pids = notebook(BUSY, FOR_EVER, "1").place, tmp_path / "shop" / "pids.json"
    (tmp_path / "t").mkdir()
    code = (
        "import sys, tempfile; from pathlib import Path; from jupyter_funcs.service import notebooks\n"
        f"tempfile.tempdir = {str(tmp_path / 't')!r}\n"
        "class Call: cancelled = False\n"
        f"notebooks.read(Path({path!r}), None).result(Call(), {{}})"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as service:
        assert len(alive(pids)) == 5
        service.kill()
    assert becomes(lambda: not alive(pids))
    assert becomes(lambda: not list((tmp_path / "t").iterdir()))


def test_runs_at_once_do_not_mix(notebook: Callable[..., Function]) -> None:
    function = notebook("import time\ntime.sleep(0.5)\nnumber * 10", parameters="number: int")
    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(lambda number: value(function, number=number), range(3))) == [0, 10, 20]


def test_a_run_that_is_cancelled_before_it_began_ends_at_once(notebook: Callable[..., Function]) -> None:
    call = Call()
    call.cancelled = True
    with pytest.raises(CallCancelledError):
        notebook("1").result(call, {})


def test_a_run_does_not_wait_for_a_grammar_of_addresses(
    notebook: Callable[..., Function], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """JupyterLab brings one that takes two seconds to build, wherever jsonschema is imported."""
    function = notebook("1")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    (tmp_path / "rfc3987_syntax.py").write_text("raise RuntimeError('imported')")
    assert value(function) == 1


def test_an_error_that_is_no_cells_is_told_too(
    notebook: Callable[..., Function], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    function = notebook("1")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "papermill.py").write_text("raise ImportError('broken installation')")
    with pytest.raises(NotebookError, match="broken installation"):
        value(function)
