"""What a panel leaves in the notebook: variables that never overwrite the user's, and HTML in the saved file."""

from __future__ import annotations

import os
import re
import threading
from inspect import cleandoc
from operator import eq
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell
from nbclient import NotebookClient

import jupyter_funcs as jf
from jupyter_funcs.client.notebook import Cell, ResultVariable, default_name, this_cell
from jupyter_funcs.service import embedded
from tests.panel.page import Page, state
from tests.shells import interactive_shell

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Cell("a cell", 1)
ARGS = {"Symbol": "BVQS"}
OTHERS = {"Symbol": "KORD"}


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    """An IPython shell for the test."""
    with interactive_shell() as shell:
        yield shell


@pytest.mark.parametrize(
    ("slug", "name"),
    [
        ("get_panel_daily", "panel_daily"),
        ("kpis", "kpis"),
        ("get_class", "df_class"),
        ("get_list", "df_list"),
        ("get_2024", "df_2024"),
        ("get_", "df_"),
        ("get_" + "x" * 300, "x" * 60),
    ],
)
def test_a_name_comes_from_the_function(slug: str, name: str) -> None:
    """The name is the slug without get_, prefixed with df_ if Python uses it or it isn't a name."""
    assert default_name(slug) == name
    assert name.isidentifier()


def test_a_result_is_a_variable_and_the_next_one_takes_its_place(
    shell: InteractiveShell,
) -> None:
    """All results of a function have one name, which %whos lists; a thread may assign it."""
    keeper = ResultVariable("get_panels", HERE)
    first = pd.DataFrame({"a": [1]})
    second = pd.DataFrame({"a": [2]})
    assert keeper.assign(first, ARGS, eq) == ""
    assert shell.user_ns["panels"] is first
    assert "panels" in shell.run_line_magic("who_ls", "DataFrame")
    thread = threading.Thread(target=keeper.assign, args=(second, ARGS, eq))
    thread.start()
    thread.join()
    assert shell.user_ns["panels"] is second
    assert keeper.name == "panels"


def test_a_persons_own_variable_stays(shell: InteractiveShell) -> None:
    """A variable that the user assigned is not overwritten: the next free name is used, and a note says so."""
    shell.run_cell("panels = 5; panels_2 = None")
    keeper = ResultVariable("get_panels", HERE)
    note = keeper.assign(frame := pd.DataFrame(), ARGS, eq)
    assert (shell.user_ns["panels"], shell.user_ns["panels_2"]) == (5, None)
    assert shell.user_ns["panels_3"] is frame
    assert note == "You already have a variable panels, so this result is panels_3."
    shell.run_cell("panels_3 = 7")
    keeper.assign(pd.DataFrame(), ARGS, eq)
    assert shell.user_ns["panels_3"] == 7
    assert keeper.name == "panels_4"


def test_a_name_that_was_deleted_is_taken_again(shell: InteractiveShell) -> None:
    """After del or %reset, the next result has the same name again."""
    keeper = ResultVariable("get_panels", HERE)
    keeper.assign(pd.DataFrame(), ARGS, eq)
    shell.run_cell("del panels")
    assert keeper.assign(pd.DataFrame(), ARGS, eq) == ""
    assert keeper.name == "panels"


def test_two_panels_have_two_variables_and_a_cell_that_is_run_again_has_one(
    shell: InteractiveShell,
) -> None:
    """Panels in other cells, or in the same run of a cell, use another name; a rerun uses the same one."""
    ResultVariable("get_panels", HERE).assign(kept := pd.DataFrame(), ARGS, eq)
    for cell in (HERE, Cell("another", 2), Cell("", 3)):
        other = ResultVariable("get_panels", cell)
        other.assign(pd.DataFrame(), ARGS, eq)
        assert other.name != "panels"
    assert shell.user_ns["panels"] is kept
    again = ResultVariable("get_panels", Cell("a cell", 4))
    assert again.assign(pd.DataFrame(), ARGS, eq) == ""
    assert again.name == "panels"


@pytest.mark.parametrize("name", ["a b", "1a", "class", "None", "a-b", "", "ä b", "$x"])
def test_what_is_no_name_is_refused(shell: InteractiveShell, name: str) -> None:
    """A name that Python doesn't take is an error that says so."""
    keeper = ResultVariable("get_panels", HERE)
    keeper.assign(frame := pd.DataFrame(), ARGS, eq)
    with pytest.raises(jf.ArgumentError, match=re.escape(repr(name))):
        keeper.rename(name, "panels", frame, ARGS)
    assert shell.user_ns["panels"] is frame


def test_a_rename_moves_the_variable(shell: InteractiveShell) -> None:
    """The old name is deleted unless it holds something else; later results use the new name."""
    keeper = ResultVariable("get_panels", HERE)
    keeper.assign(frame := pd.DataFrame(), ARGS, eq)
    assert keeper.rename("mine", "panels", frame, ARGS) == ""
    assert shell.user_ns["mine"] is frame
    assert "panels" not in shell.user_ns
    keeper.assign(later := pd.DataFrame(), ARGS, eq)
    assert shell.user_ns["mine"] is later
    refused = keeper.rename("mine", "", frame, ARGS)
    assert "mine already exists (DataFrame)" in refused, (
        "an earlier result takes no place"
    )
    shell.run_cell("mine = 'own'")
    assert "mine already exists (str)" in keeper.rename("mine", "", later, ARGS)
    keeper.rename("other", "mine", later, ARGS)
    assert shell.user_ns["mine"] == "own"


def test_a_name_that_a_person_gave_keeps_its_data(shell: InteractiveShell) -> None:
    """A run with other arguments takes the function's own name, with a note; the same arguments refresh the name."""
    keeper = ResultVariable("get_panels", HERE)
    first, other, again, third = (pd.DataFrame() for _ in range(4))
    namespace = shell.user_ns
    keeper.assign(first, ARGS, eq)
    keeper.rename("bvqs", "panels", first, ARGS)
    assert keeper.assign(other, OTHERS, eq) == "In panels; bvqs keeps the run before."
    assert namespace["bvqs"] is first
    assert namespace["panels"] is other
    keeper.rename("kord", "panels", other, OTHERS)
    assert keeper.assign(again, ARGS, eq) == "In bvqs; kord keeps the run before."
    assert namespace["bvqs"] is again
    assert namespace["kord"] is other
    assert "panels" not in namespace
    assert "bvqs already exists" in keeper.rename("bvqs", "kord", other, OTHERS)
    assert keeper.assign(third, {}, eq) == "In panels; bvqs keeps the run before."
    assert namespace["panels"] is third
    keeper.rename("panels_2", "panels", third, {})
    shell.run_cell("panels = 5")
    keeper.assign(pd.DataFrame(), {"Symbol": "MCHQ"}, eq)
    assert keeper.name == "panels_3", (
        "a name that a person gave looks like one with a number"
    )
    assert namespace["panels_2"] is third


def test_a_rename_onto_a_name_that_is_taken_asks(shell: InteractiveShell) -> None:
    """A free name is used at once; a name in use, or a built-in, only if the user confirms it."""
    shell.run_cell(
        "mine = 5; one = __import__('jupyter_funcs').connect().panel('Get Panels'); one.run().result(60)"
    )
    panel = shell.user_ns["one"]
    frame = panel.result(60)
    page = Page(panel)

    def rename(name: str, *, replace: bool = False) -> dict[str, Any]:
        return page.ask("rename", name=name, replace=replace)

    reply = rename("mine")
    assert (reply["exists"], reply["note"]) == (True, "mine already exists (int).")
    assert shell.user_ns["mine"] == 5
    assert rename("mine", replace=True)["variable"] == "mine"
    assert shell.user_ns["mine"] is frame
    assert "list is a Python built-in" in rename("list")["note"]
    assert "t a valid variable name" in rename("a b")["error"][0]
    assert "error" in rename(" ")
    assert (rename("free")["variable"], rename("free")["exists"]) == ("free", False)
    assert shell.user_ns["free"] is frame
    panel.close()


def test_nothing_is_kept_outside_of_ipython() -> None:
    """In plain Python a result has no variable, a panel has no cell, and a display is text."""
    assert InteractiveShell._instance is None
    keeper = ResultVariable("get_panels", HERE)
    assert keeper.assign(pd.DataFrame(), ARGS, eq) == ""
    assert keeper.name == ""
    assert this_cell() == Cell("", 0)


def test_a_panel_keeps_its_results(shell: InteractiveShell) -> None:
    """A run binds the frame, the panel shows its name, and two panels of one function have a variable each."""
    shell.run_cell(
        "import jupyter_funcs as jf; funcs = jf.connect(); one = funcs.panel('Get Panels')"
    )
    shell.run_cell(
        "two = funcs.panel('Get Panels'); one.run(); first = one.result(60)"
    ).raise_error()
    shell.run_cell("two.run(); second = two.result(60)").raise_error()
    assert shell.user_ns["panels"] is shell.user_ns["first"]
    assert shell.user_ns["panels_2"] is shell.user_ns["second"]
    first_panel = shell.user_ns["one"]
    second_panel = shell.user_ns["two"]
    assert state(first_panel)["result"]["variable"] == "panels"
    assert "You already have a variable panels" in state(second_panel)["result"]["note"]
    Page(first_panel).ask("rename", name="mine", replace=False)
    assert shell.user_ns["mine"] is shell.user_ns["first"]
    assert state(first_panel)["result"]["variable"] == "mine"
    shell.run_cell("one.close(); two.close()").raise_error()


def test_a_variable_of_the_notebook_is_a_value(shell: InteractiveShell) -> None:
    """$name in a field is the variable's value when the function runs."""
    shell.run_cell(
        "import jupyter_funcs as jf; panel = jf.connect().panel('Get Panel Daily'); symbol = 'BKQU US EQUITY'"
    )
    panel = shell.user_ns["panel"]
    panel.form["PanelName"] = "Demo Card Panel"
    page = Page(panel)
    page.ask("set", field="Symbol", value="$symbol", seq=1)
    assert panel.form.args["Symbol"] == "BKQU US EQUITY"
    assert "Symbol=symbol" in page.ask("code")["blocks"][1]["code"]
    panel.close()


CELLS = [
    "%load_ext jupyter_funcs",
    "panel = %funcs panel get_panel_daily PanelName='Demo Card Panel' Symbol='BKQU US EQUITY'\npanel",
    "panel.run()\npanel.result(60).shape",
    # The cell ends after the renamed result was sent: nbclient drops messages that arrive between cells.
    """
    from jupyter_funcs.core import background
    from tests.panel.page import Page
    Page(panel).ask('rename', name='renamed', replace=False)
    background.run(panel._state.runs._stills.acquire())
    """,
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A saved notebook whose panel ran after it was shown: with outputs, without the state of widgets."""
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cleandoc(cell)) for cell in CELLS]
    )
    here = str(Path(jf.__file__).parent.parent)
    environment = {
        **os.environ,
        "PYTHONPATH": here,
        "IPYTHONDIR": str(tmp_path_factory.mktemp("ipython")),
    }
    NotebookClient(notebook, kernel_name="python3", store_widget_state=False).execute(
        env=environment
    )
    return notebook


@pytest.mark.slow
def test_the_saved_notebook_holds_the_last_result(saved: Any) -> None:
    """Beside the view are a hint how to open the panel again, and a later run's result with its variable."""
    view, left = saved.cells[1].outputs
    assert "application/vnd.jupyter.widget-view+json" in view.data
    assert set(left.data) == {"text/html"}
    html = left.data["text/html"]
    assert "<b>Get Panel Daily</b>: run this cell to open the panel." in html
    for text in (
        "1,826 rows × 7 columns",
        "PanelName = Demo Card Panel",
        "<code>renamed</code>",
        "2025-11-15",
    ):
        assert text in html
    assert (
        "%funcs panel get_panel_daily PanelName=&quot;Demo Card Panel&quot; Symbol=&quot;BKQU"
        in html
    )
    assert len(html) < 20_000


@pytest.mark.slow
def test_the_saved_notebook_holds_no_script_no_state_and_no_token(saved: Any) -> None:
    """The saved output is text and inert HTML; its style hides a page's message about a widget without a kernel."""
    text = nbformat.writes(saved)
    assert "widgets" not in saved.metadata
    assert not re.search(
        r"<script|javascript:|\son\w+=|url\(|@import",
        "".join(saved.cells[1].outputs[1].data["text/html"]),
    )
    assert embedded().token not in text


@pytest.mark.slow
def test_a_page_made_of_the_saved_notebook_shows_the_result(saved: Any) -> None:
    """Nbconvert shows the result and how to open the panel again, but nothing of the widget."""
    nbconvert = pytest.importorskip("nbconvert")
    page, _ = nbconvert.HTMLExporter(template_name="basic").from_notebook_node(saved)
    assert "run this cell to open the panel" in page
    assert "2025-11-15" in page
    assert "<script" not in page
