"""README and guide are true: each option of %funcs is documented, each link resolves, each snippet runs."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
import tomllib
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import jupyter_funcs as jf
from jupyter_funcs.cli import main
from jupyter_funcs.client.options import CallOptions
from jupyter_funcs.core import guide
from jupyter_funcs.magic import usage
from jupyter_funcs.panel.panel import Panel
from jupyter_funcs.service.config import settings
from tests import reference, test_imports
from tests.examples import row_id
from tests.shells import interactive_shell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from IPython.core.interactiveshell import InteractiveShell

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
# The table of pages, in its order.
LINKED = re.findall(r"\]\((jupyter_funcs/guide/[\w-]+\.md)\) \|", README)
PAGES = {name: (ROOT / name).read_text("utf-8") for name in ["README.md", *LINKED]}
GUIDE = "\n".join(PAGES.values())
BLOCKS = {
    page: re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    for page, text in PAGES.items()
}
# The document of the README's recipe.
SHOP = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "1"},
    "servers": [{"url": "https://api.shop.example"}],
}
SHOP["paths"] = {
    "/items": {
        "get": {
            "operationId": "listItems",
            "responses": {"200": {"description": "Items"}},
        }
    }
}

# Commands that need another machine, another service or a user; they are parsed, but not run.
WAITING = (
    "demo",
    "serve",
    "admin",
    "token",
    "login",
    "mcp",
    "enable",
    "disable",
    "check",
)


def lines_of(shell: str) -> list[str]:
    """Return the lines of a shell block, without comments and exports."""
    lines = [line.partition("  #")[0].strip() for line in shell.splitlines()]
    commands = [re.sub(r'^export \w+="\$\((.*)\)"$', r"\1", line) for line in lines]
    return [line for line in commands if line and not line.startswith(("export ", "#"))]


OURS = [
    line
    for block in re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
    for line in lines_of(block)
    if line.startswith("jupyter funcs ")
]
OURS += [
    shlex.join([program["command"], *program["args"]])
    for block in re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)
    for program in json.loads(block)["mcpServers"].values()
]


@pytest.mark.parametrize("line", OURS, ids=row_id)
def test_each_line_of_the_shell_is_parsed(line: str) -> None:
    """The parser of `jupyter funcs` accepts each line, with no word left over."""
    _, rest = main._parser().parse_known_args(shlex.split(line)[2:])
    assert rest == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [line for line in OURS if not line.split()[2].startswith(WAITING)],
    ids=row_id,
)
def test_each_line_of_the_shell_that_can_runs(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against the demo."""
    monkeypatch.chdir(tmp_path)
    assert main.main(shlex.split(line)[2:]) == 0


@pytest.mark.parametrize(
    "text",
    re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL),
    ids=lambda text: text[:20],
)
def test_the_files_of_the_guide_are_read(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Profiles and the service's configuration are read by their own readers."""
    path = tmp_path / "file.toml"
    path.write_text(text, "utf-8")
    if "profiles" in tomllib.loads(text):
        monkeypatch.setenv("FUNCS_CONFIG", str(path))
        for name in re.findall(r'_env = "(\w+)"', text):
            monkeypatch.setenv(name, "a-token-of-the-tests")
        profiles = tomllib.loads(text)["profiles"]
        assert [jf.connect(name).service for name in profiles] == list(profiles)
    else:
        monkeypatch.setenv("PGPASSWORD", "a-password-of-the-tests")
        configuration = settings.load(path)
        assert configuration.data is not None or configuration.functions.folders


READ = {
    name
    for path in (ROOT / "jupyter_funcs").rglob("*.py")
    for name in re.findall(r"""["'](FUNCS_[A-Z][A-Z_]*)["']""", path.read_text("utf-8"))
}


def test_every_variable_of_the_environment_is_documented() -> None:
    """Each variable that the code reads is in the README or the guide."""
    assert [name for name in sorted(READ) if not re.search(rf"\b{name}\b", GUIDE)] == []


def test_the_readme_links_every_page_of_the_guide() -> None:
    """Once each and in the order of `%funcs docs`, which has each page that there is; each begins with its title."""
    assert [f"jupyter_funcs/guide/{topic}.md" for topic in guide.TOPICS] == LINKED
    assert sorted(LINKED) == sorted(
        str(path.relative_to(ROOT)) for path in reference.GUIDE.glob("*.md")
    )
    assert [name for name in LINKED if not PAGES[name].startswith("# ")] == []


def test_each_page_that_is_named_exists() -> None:
    """As `%funcs docs TOPIC`, in a notebook too."""
    texts = [
        *PAGES.values(),
        *(path.read_text("utf-8") for path in (ROOT / "notebooks").glob("*.ipynb")),
    ]
    named = {
        topic for text in texts for topic in re.findall(r"funcs docs ([a-z-]+)`", text)
    }
    assert "scale-out" in named
    assert named <= set(guide.TOPICS)


@pytest.mark.parametrize("topic", guide.TOPICS)
def test_a_page_fits_a_terminal(topic: str) -> None:
    """Its prose and tables do, with nothing left out; code keeps its lines."""
    page = guide.guide_page(topic)
    lines = page.wrapped(80).splitlines()
    code = [
        line
        for block in re.findall(r"```\w+\n(.*?)```", page.text, re.DOTALL)
        for line in block.splitlines()
    ]
    assert {f"    {line}".rstrip() for line in code} <= {*lines, "    ", ""}
    assert [
        line
        for line in lines
        if len(line) > 80 and line[4:] not in code and " " in line.strip()
    ] == []
    cells = re.findall(
        r"^\| (.+?) \|", prose_of(f"jupyter_funcs/guide/{topic}.md"), re.MULTILINE
    )
    wrapped = " ".join(page.wrapped(10_000).split())
    assert [
        cell
        for cell in cells
        if guide._LINK.sub("", cell).replace("\\|", "|").strip() not in wrapped
    ] == []


def test_programs_find_the_same_pages() -> None:
    """In llms.txt, next to the pages."""
    assert (reference.GUIDE / "llms.txt").read_text("utf-8") == reference.llms(), (
        "Run: python -m tests.reference"
    )


@pytest.mark.parametrize("page", dict.fromkeys(page for page, _ in reference.tables()))
def test_the_tables_of_the_guide_are_what_the_code_says(page: str) -> None:
    """Options, commands, keys and errors, each with a text."""
    text = (reference.GUIDE / f"{page}.md").read_text("utf-8")
    assert reference.written(page, text) == text, "Run: python -m tests.reference"
    assert f"| {reference.BY_HAND} |" not in text, "Say what the new key means."


def places_of_changes() -> list[tuple[str, str]]:
    """Return each file or folder that the table of changes names, with the names in brackets after it."""
    table = PAGES["jupyter_funcs/guide/architecture.md"].partition("\n| change |")[2]
    return re.findall(r"`((?:\w+/)*\w+(?:\.\w+)+|(?:\w+/)+)`(?: \(([^()]*)\))?", table)


@pytest.mark.parametrize(("place", "names"), places_of_changes())
def test_a_change_belongs_where_the_guide_says(place: str, names: str) -> None:
    """Each file or folder is there, and has each of its names."""
    package = ROOT / "jupyter_funcs"
    places = [
        root / place
        for root in (package, package / "panel/front", ROOT / "tests")
        if (root / place).exists()
    ]
    assert places, "Is it in another folder now?"
    files = [places[0]] if places[0].is_file() else places[0].iterdir()
    text = "\n".join(path.read_text("utf-8") for path in files if path.is_file())
    for name in re.findall(r"`(\w+)`", names):
        assert re.search(rf"\b{name}\b", text), name


@pytest.mark.parametrize(
    "path",
    re.findall(
        r"`((?:\w+/)+\w+\.\w+)`",
        PAGES["jupyter_funcs/guide/architecture.md"].partition("\n## Where")[0],
    ),
)
def test_the_architecture_names_modules_that_exist(path: str) -> None:
    """Below the package or the service."""
    package = ROOT / "jupyter_funcs"
    assert any((root / path).is_file() for root in (package, package / "service", ROOT))


@pytest.mark.parametrize(
    ("picture", "order"),
    [("client", test_imports.ORDER), ("service", test_imports.SERVICE_ORDER)],
)
def test_a_diagram_has_every_package(picture: str, order: list[set[str]]) -> None:
    """Each that is a folder or has its own place in the order, and no other."""
    drawing = (reference.GUIDE / f"architecture-{picture}.svg").read_text("utf-8")
    named = {
        name
        for text in re.findall(r'class="name"[^>]*>([^<]+)<', drawing)
        for name in text.split(", ")
    }
    assert named == set().union(*order) - {"jupyter_funcs", "autoload", "service"}


def test_a_picture_of_the_guide_is_shown_in_a_notebook_and_described_in_a_terminal() -> (
    None
):
    """In a cell without another file; in a terminal by its text."""
    page = guide.guide_page("architecture")
    assert page._repr_markdown_().count("](data:image/svg+xml;base64,") == 2
    assert ".svg" not in page._repr_markdown_()
    assert ".svg" not in page.wrapped(80)
    assert "Picture: A catalog comes from a source" in page.wrapped(80)


def prose_of(page: str) -> str:
    """Return the text of a page without its blocks of code."""
    return re.sub(r"```.*?```", "", PAGES[page], flags=re.DOTALL)


def anchors_of(page: str) -> list[str]:
    """Return the anchors of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", prose_of(page), re.MULTILINE)
    return [
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in headings
    ]


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    """To a file of the repository, and in a page to a heading that exists."""
    prose = prose_of(page)
    assert len(set(anchors_of(page))) == len(anchors_of(page))
    for target in re.findall(r"\]\((.*?)\)", prose) + re.findall(
        r'(?:src|srcset)="(.*?)"', prose
    ):
        name, _, anchor = target.partition("#")
        if "://" in target:
            continue
        linked = (ROOT / page).parent.joinpath(name).resolve() if name else ROOT / page
        assert linked.is_file(), target
        assert not anchor or anchor in anchors_of(str(linked.relative_to(ROOT))), target
    named = re.findall(r"\bnotebooks/\w+\.ipynb", prose)
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_every_command_and_option_is_documented() -> None:
    """Each subcommand and option of %funcs is in the README or the guide, and in its own help."""
    spellings = [[command] for command in usage.NAMES]
    spellings += [spelt.split("/") for spelt in usage.OPTIONS]
    for words in spellings:
        for text in (GUIDE, usage.usage()):
            assert any(
                re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text)
                for word in words
            ), words


def words_of(parser: argparse.ArgumentParser) -> set[str]:
    """Return the commands and the long options of a parser and of its subparsers."""
    words = {
        word
        for action in parser._actions
        for word in action.option_strings
        if word.startswith("--")
    }
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command, inner in action.choices.items():
                words |= {command} | words_of(inner)
    return words


def test_every_command_and_option_of_the_shell_is_documented() -> None:
    """Each command and option of `jupyter funcs` is in the README or the guide."""
    words = sorted(words_of(main._parser()) - {"--help"})
    assert [
        word
        for word in words
        if not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", GUIDE)
    ] == []


@pytest.mark.slow
def test_the_executors_of_the_guide_run(tmp_path: Path) -> None:
    """As a program, because its workers are processes: of a pool, of Dask and of ipyparallel."""
    [code] = [
        block
        for block in re.findall(r"```py\n(.*?)```", GUIDE, re.DOTALL)
        if "get_executor" in block
    ]
    program = tmp_path / "program.py"
    program.write_text(f'if __name__ == "__main__":\n{textwrap.indent(code, "    ")}')
    environment = {
        **os.environ,
        "IPYTHONDIR": str(tmp_path),
        "PYTHONPATH": str(Path(__file__).parent.parent),
    }
    done = subprocess.run(
        [sys.executable, program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^MCHQ +[\d.e+]+$", done.stdout, re.MULTILINE)


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    with interactive_shell() as shell:
        yield shell


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.slow] * page.endswith("sweeps.md"))
        for page, blocks in BLOCKS.items()
        if blocks
    ],
)
def test_the_python_of_the_guide_runs(
    page: str, shell: InteractiveShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every line of Python and of %funcs runs against the demo, each page in a separate notebook."""
    monkeypatch.chdir(tmp_path)
    Path("shop.json").write_text(json.dumps(SHOP), "utf-8")
    shell.reset(new_session=False)
    for code in BLOCKS[page]:
        done = shell.run_cell(
            code if find_spec("matplotlib") else code.replace(".plot()", "")
        )
        done.raise_error()
        if isinstance(done.result, Panel):
            done.result.close()
        df = shell.user_ns.get("df")
        if "%funcs again 1" in code:
            assert list(df) == ["PanelName", "ProviderName"]
        if "%funcs sweep" in code and "-o df" in code:
            assert sorted(df["Symbol"].unique()) == ["BVQS", "MCHQ", "PZQN"]


def test_every_option_of_a_run_is_documented() -> None:
    """What `with_options` takes is in the guide, as it is written in Python."""
    options = [field.name for field in fields(CallOptions)]
    assert [
        option for option in options if not re.search(rf"[`(,] ?{option}\b", GUIDE)
    ] == []


def test_the_first_screen_has_the_two_commands() -> None:
    """The lines that start the demo and the tests are on the first screen, with a user's first lines between them."""
    demo = "python3 -m venv .venv && .venv/bin/pip install '.[lab]' && .venv/bin/jupyter funcs demo"
    tests = "python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/pytest -n 3"
    first = README.splitlines()[:30]
    places = [first.index(line) for line in (demo, "%load_ext jupyter_funcs", "%funcs")]
    places.append(
        next(
            at for at, line in enumerate(first) if line.startswith("df = %funcs call ")
        )
    )
    assert sorted(places) == places
    assert first.index(tests) > places[-1]
