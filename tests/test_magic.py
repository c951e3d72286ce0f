"""%funcs and %%funcs in a real IPython."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell

import jupyter_funcs as jf
from jupyter_funcs.commands import NAMES, usage
from jupyter_funcs.panel import Panel
from jupyter_funcs.service import embedded
from tests.conftest import PANEL, SYMBOL

if TYPE_CHECKING:
    from collections.abc import Iterator

DAILY = f'get_panel_daily PanelName="{PANEL}" Symbol="{SYMBOL}"'


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "jupyter_funcs")
    yield shell
    InteractiveShell.clear_instance()


@pytest.fixture
def run(shell: InteractiveShell) -> Iterator[Any]:
    """Run a cell as a person does; give its value, or raise what it raised."""
    shell.reset(new_session=False)

    def run_cell(cell: str) -> Any:
        result = shell.run_cell(cell)
        result.raise_error()
        return result.result

    return run_cell


def test_funcs_alone_opens_the_panel(run: Any) -> None:
    """%funcs gives a panel with nothing chosen."""
    panel = run("%funcs")
    assert isinstance(panel, Panel)
    assert panel.form is None
    panel.close()


@pytest.mark.parametrize("line", ["find panel daily", "list panel daily", 'find "panel daily"'])
def test_find_gives_the_catalog_as_a_table(run: Any, line: str) -> None:
    """%funcs find gives the functions in which every word occurs."""
    frame = run(f"%funcs {line}")
    assert list(frame.columns) == ["name", "asset", "description", "parameters"]
    assert next(iter(frame["name"])) == "Get Panel Daily"


@pytest.mark.parametrize("name", ["get_panel_daily", '"Get Panel Daily"', "Get Panel Daily", "'Get Panel Daily'"])
def test_describe_gives_the_parameters(run: Any, name: str) -> None:
    """%funcs describe takes the slug, and the name with and without quotes."""
    assert list(run(f"%funcs describe {name}")["name"])[:2] == ["PanelName", "Symbol"]


def test_call_gives_the_frame(run: Any) -> None:
    """df = %funcs call … is the frame that Python gives for the same."""
    frame = run(f"df = %funcs call {DAILY} Dimensions=[Region, 'Age Group'] PoPGrowth=yes\ndf")
    again = jf.connect().get_panel_daily(
        PanelName=PANEL, Symbol=SYMBOL, Dimensions=["Region", "Age Group"], PoPGrowth=True
    )
    pd.testing.assert_frame_equal(frame, again)
    assert frame.attrs["funcs"]["args"] == again.attrs["funcs"]["args"]


@pytest.mark.parametrize(
    "body",
    [
        f"PanelName: {PANEL}\n# a comment\nSymbol: $symbol\nDimensions: [Region]\n",
        json.dumps({"PanelName": PANEL, "Symbol": SYMBOL, "Dimensions": ["Region"]}),
    ],
    ids=["lines", "json"],
)
def test_a_cells_body_holds_the_arguments(run: Any, body: str) -> None:
    """%%funcs call takes `key: value` lines or one JSON object, and -o binds the frame and shows nothing."""
    run(f"symbol = {SYMBOL!r}")
    assert run(f"%%funcs call get_panel_daily -o df\n{body}") is None
    frame = run("df")
    assert list(frame.columns)[:2] == ["Date", "Region"]


def test_a_variable_is_passed_as_an_object(run: Any) -> None:
    """$name passes the object itself; nothing else expands, so braces and dollars in text stay."""
    run("brands = ['Bulkandry', 'Bulkandry Fuel']; token = 'secret-value'")
    run(f'%funcs call get_panel_daily PanelName="{PANEL}" Brand=$brands -o df')
    assert run("df.attrs['funcs']['args']['Brand']") == ["Bulkandry", "Bulkandry Fuel"]
    with pytest.raises(jf.ArgumentError, match=r"\{token\}"):
        run(f'%funcs call get_panel_daily PanelName="{PANEL}" Symbol={{token}}')
    with pytest.raises(jf.ArgumentError, match=r"no variable 'brandz'(.|\n)*'brands'"):
        run("%funcs call get_panel_daily Brand=$brandz")


def test_dry_run_prints_what_would_be_sent(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """--dry-run prints the JSON of the request and runs nothing."""
    assert run(f"%funcs call {DAILY} PoPLookback=2 --dry-run") is None
    assert json.loads(capsys.readouterr().out) == {
        "FunctionName": "Get Panel Daily",
        "Args": {"PanelName": PANEL, "Symbol": SYMBOL, "PoPLookback": "2"},
    }


def test_dry_run_binds_the_request(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """--dry-run with -o binds what would be sent, and shows nothing."""
    assert run("%funcs call get_panels --dry-run -o request") is None
    assert not capsys.readouterr().out
    assert run("request") == {"FunctionName": "Get Panels", "Args": {}}


def test_the_result_of_the_panel_is_at_hand(run: Any) -> None:
    """%funcs result is the DataFrame of the panel opened last, and --timeout holds for a panel too."""
    panel = run(f"%funcs panel {DAILY}")
    panel.run()
    assert len(run("df = %funcs result\ndf")) == 1826
    assert panel.recipe == "df = %funcs result"
    panel.close()
    panel = run("%funcs panel get_panels --timeout 0.000001")
    panel.run()
    with pytest.raises(jf.DeadlineError):
        run("%funcs result")
    panel.close()


def test_panel_opens_filled(run: Any) -> None:
    """%funcs panel NAME k=v opens the form with its values, and a run of it gives the frame."""
    panel = run(f"%funcs panel {DAILY}")
    assert panel.form.args == {"PanelName": PANEL, "Symbol": SYMBOL}
    panel.run()
    assert len(panel.result(60)) == 1826
    panel.close()


def test_connect_changes_the_service(run: Any, service_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """%funcs connect takes an address whose token stands in the environment; without one, the configured service."""
    monkeypatch.setenv("FUNCS_BASE_URL", service_url)
    monkeypatch.setenv("FUNCS_TOKEN", embedded().token)
    session = run(f"%funcs connect {service_url}")
    assert service_url.endswith(session.service)
    status = run("%funcs status")
    assert (status.address, status.user, status.functions) == (service_url, "analyst", 7)
    assert len(run("%funcs refresh").names) == 7
    session.close()
    monkeypatch.delenv("FUNCS_BASE_URL")
    monkeypatch.delenv("FUNCS_TOKEN")
    assert run("%funcs connect").service == "demo"


@pytest.mark.parametrize(
    ("cell", "error", "said"),
    [
        ("%funcs fnd panel", jf.ArgumentError, "no command 'fnd'(.|\n)*'find'"),
        ("%funcs call", jf.ArgumentError, "takes a function's name"),
        ("%funcs call Get Panl Daily", jf.NotFoundError, "Did you mean 'Get Panel Daily'"),
        ("%funcs call get_panel_daily", jf.ArgumentError, "PanelName is required.*Give Symbol or Brand"),
        ("%funcs call get_panel_daily PanlName=x", jf.ArgumentError, "Did you mean 'PanelName'"),
        ("%funcs call get_panel_daily b=c d", jf.ArgumentError, "'d' is no argument"),
        ('%funcs call get_panel_daily PanelName="Demo', jf.ArgumentError, 'not closed(.|\n)*"Demo\n {31}\\^$'),
        ("%funcs call get_panel_daily Dimensions=[Region", jf.ArgumentError, "The bracket at the caret(.|\n)*\\^"),
        ("%funcs call get_panel_daily --tiemout 3", jf.ArgumentError, "--tiemout"),
        ("%funcs call get_panels --timeout x", jf.ArgumentError, "--timeout: give seconds, more than 0, and not 'x'"),
        ("%funcs call get_panels -o 'a b'", jf.ArgumentError, "variable's name"),
        ("%funcs connect https://x.example token=abc", jf.ConfigError, "no token"),
        ("%funcs call get_panel_daily PanelName = x", jf.ArgumentError, "without spaces"),
        ("%funcs call get_panel_daily Symbol=a Symbol=b", jf.ArgumentError, "Symbol is given twice"),
        ("%funcs find x --dry-run", jf.ArgumentError, "takes no --dry-run"),
        ("%funcs connect https://x.example --token=SECRET", jf.ConfigError, "have it replaced"),
        ("%funcs find --colour=SECRET", jf.ArgumentError, "--colour"),
        ("%funcs refresh now", jf.ArgumentError, "takes nothing more"),
        ("%funcs connect nowhere", jf.ConfigError, "no profile 'nowhere'"),
        ("%%funcs find x\nbody", jf.ArgumentError, "takes no body"),
        ("%%funcs call get_panels\nno colon", jf.ArgumentError, "Line 2"),
        ('%%funcs call get_panels\n{"a": }', jf.ArgumentError, "JSON"),
    ],
)
def test_bad_lines_say_what_to_do(
    run: Any, capsys: pytest.CaptureFixture[str], cell: str, error: type[jf.FuncsError], said: str
) -> None:
    """A bad line is an error of one to three lines, shown without a traceback, and the session lives on."""
    with pytest.raises(error, match=said):
        run(cell)
    shown = "".join(capsys.readouterr())
    assert "Traceback" not in shown
    assert "SECRET" not in shown
    assert 1 <= len(shown.strip().splitlines()) <= 3
    assert len(run("%funcs find")) == 7


def test_help_names_every_command(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """--help prints the usage, and the usage has every command."""
    assert run("%funcs --help") is None
    assert capsys.readouterr().out.strip() == usage()
    for command in NAMES:
        assert command in usage()


def test_loading_twice_and_unloading_leaves_what_was_there(shell: InteractiveShell) -> None:
    """Loading, reloading and unloading twenty times leaves one magic, and then none."""
    for _ in range(20):
        shell.run_line_magic("reload_ext", "jupyter_funcs")
    assert "funcs" in shell.magics_manager.magics["line"]
    before = set(shell.user_ns)
    shell.run_line_magic("unload_ext", "jupyter_funcs")
    for kind in ("line", "cell"):
        assert "funcs" not in shell.magics_manager.magics[kind]
    assert set(shell.user_ns) == before
    shell.run_line_magic("load_ext", "jupyter_funcs")


def test_unloading_puts_back_what_was_there(shell: InteractiveShell) -> None:
    """A %funcs of the user's own is there again after the extension is unloaded."""
    shell.run_line_magic("unload_ext", "jupyter_funcs")
    shell.register_magic_function(lambda line: f"mine: {line}", "line", "funcs")
    shell.run_line_magic("load_ext", "jupyter_funcs")
    assert len(shell.run_line_magic("funcs", "find")) == 7
    shell.run_line_magic("unload_ext", "jupyter_funcs")
    assert shell.run_line_magic("funcs", "find") == "mine: find"
    shell.magics_manager.magics["line"].pop("funcs")
    shell.run_line_magic("load_ext", "jupyter_funcs")
