"""%funcs and %%funcs in a real IPython."""

from __future__ import annotations

import inspect
import json
import linecache
import re
import subprocess
import sys
import warnings
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pandas as pd
import pytest

import jupyter_funcs as jf
from jupyter_funcs.core.errors import _last
from jupyter_funcs.core.warn import MissingRowsWarning
from jupyter_funcs.magic import extension, subcommands
from jupyter_funcs.magic.usage import (
    ALIASES,
    NAMES,
    OPTIONS,
    SUBCOMMANDS,
    taken_by,
    usage,
    usage_of,
)
from jupyter_funcs.panel.panel import Panel
from jupyter_funcs.service import embedded
from tests.conftest import PANEL, SYMBOL
from tests.faults.server import LISTING, faulty, reply
from tests.panel.page import Page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from IPython.core.interactiveshell import InteractiveShell

DAILY = f'get_panel_daily PanelName="{PANEL}" Symbol="{SYMBOL}"'


def hello(name: str) -> dict[str, str]:
    """Say hello."""
    return {"said": name}


@pytest.fixture
def greeting(run: Any, shell: InteractiveShell) -> Any:
    """Run cells of a notebook whose catalog says hello."""
    extension.of(shell).state._session = jf.connect([hello])
    return run


def test_a_line_in_a_function_sees_its_variables(
    greeting: Any, shell: InteractiveShell
) -> None:
    """They win over the notebook's variables, which are unchanged afterwards."""
    greeting("name = 'of the notebook'")
    greeting("def f(name):\n    frame = %funcs call hello name=$name\n    return frame")
    assert greeting("f('of f')")["said"].tolist() == ["of f"]
    assert greeting("%funcs call hello name=$name")["said"].tolist() == [
        "of the notebook"
    ]
    greeting("def g(own):\n    %funcs call hello name=$own -o kept\ng('of g')")
    assert shell.user_ns["kept"]["said"].tolist() == ["of g"]
    with pytest.raises(jf.ArgumentError, match="There is no variable 'own'"):
        greeting("%funcs call hello name=$own")


def test_what_the_shell_adds_is_never_meant(greeting: Any) -> None:
    with pytest.raises(jf.ArgumentError, match="There is no variable 'qut'") as refused:
        greeting("%funcs call hello name=$qut")
    assert refused.value.hint == "Define it, or quote the value: '$qut'."


@pytest.fixture
def run(shell: InteractiveShell) -> Iterator[Any]:
    """Run a cell as a user does; return its value or raise its error. The session in use is back at the end."""
    sessions = extension.of(shell).state
    before = dict(shell.user_ns)
    session = sessions.current

    def run_cell(cell: str) -> Any:
        result = shell.run_cell(cell)
        result.raise_error()
        return result.result

    yield run_cell
    sessions._session = session
    shell.user_ns.clear()  # shell.reset() takes a second for garbage collection
    shell.user_ns.update(before)


def test_funcs_alone_opens_the_panel(run: Any) -> None:
    """%funcs returns a panel with no function chosen."""
    panel = run("%funcs")
    assert isinstance(panel, Panel)
    assert panel.form is None
    panel.close()


@pytest.mark.parametrize(
    "line", ["find panel daily", "list panel daily", 'find "panel daily"']
)
def test_find_gives_the_catalog_as_a_table(run: Any, line: str) -> None:
    """%funcs find returns the functions that contain every word."""
    frame = run(f"%funcs {line}")
    assert list(frame.columns) == ["name", "asset", "description", "parameters"]
    assert next(iter(frame["name"])) == "Get Panel Daily"


@pytest.mark.parametrize(
    "name",
    ["get_panel_daily", '"Get Panel Daily"', "Get Panel Daily", "'Get Panel Daily'"],
)
def test_describe_gives_the_parameters(run: Any, name: str) -> None:
    """%funcs describe takes the slug or the name, with or without quotes."""
    assert list(run(f"%funcs describe {name}")["name"])[:2] == ["PanelName", "Symbol"]


def test_call_gives_the_frame(run: Any) -> None:
    """df = %funcs call … returns the same frame as the call in Python."""
    frame = run(
        f"df = %funcs call {DAILY} Dimensions=[Region, 'Age Group'] PoPGrowth=yes\ndf"
    )
    again = jf.connect().get_panel_daily(
        PanelName=PANEL,
        Symbol=SYMBOL,
        Dimensions=["Region", "Age Group"],
        PoPGrowth=True,
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
    """%%funcs call takes `key: value` lines or one JSON object, and -o assigns the frame and displays nothing."""
    run(f"symbol = {SYMBOL!r}")
    assert run(f"%%funcs call get_panel_daily -o df\n{body}") is None
    frame = run("df")
    assert list(frame.columns)[:2] == ["Date", "Region"]


def test_the_other_commands_with_a_body_take_it_too(run: Any) -> None:
    """%%funcs run and %%funcs panel combine the arguments on the line with those in the body."""
    assert (
        len(run(f"%%funcs run get_panel_daily Symbol=BKQU\nPanelName: {PANEL}")) == 1826
    )
    panel = run(
        f"%%funcs panel Get Panel Daily Symbol='{SYMBOL}' -o opened\nPanelName: '{PANEL}'\n# no more"
    )
    assert panel is None
    panel = run("opened")
    assert panel.form.args == {"PanelName": PANEL, "Symbol": SYMBOL}
    panel.close()


def test_a_variable_is_passed_as_an_object(run: Any) -> None:
    """$name passes the object itself; nothing else is expanded: braces and dollars in text stay."""
    run("brands = ['Bulkandry', 'Bulkandry Fuel']; token = 'secret-value'")
    run(f'%funcs call get_panel_daily PanelName="{PANEL}" Brand=$brands -o df')
    assert run("df.attrs['funcs']['args']['Brand']") == ["Bulkandry", "Bulkandry Fuel"]
    with pytest.raises(jf.ArgumentError, match=r"\{token\}"):
        run(f'%funcs call get_panel_daily PanelName="{PANEL}" Symbol={{token}}')
    with pytest.raises(jf.ArgumentError, match=r"no variable 'brandz'(.|\n)*'brands'"):
        run("%funcs call get_panel_daily Brand=$brandz")


def test_dry_run_prints_what_would_be_sent(
    run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """--dry-run prints the JSON of the request and runs nothing; with -o it assigns it and prints nothing."""
    request = {
        "FunctionName": "Get Panel Daily",
        "Args": {"PanelName": PANEL, "Symbol": SYMBOL, "PoPLookback": 2},
    }
    assert run(f"%funcs call {DAILY} PoPLookback=2 --dry-run") is None
    assert json.loads(capsys.readouterr().out) == request
    assert run(f"%funcs call {DAILY} PoPLookback=2 --dry-run -o request") is None
    assert not capsys.readouterr().out
    assert run("request") == request


@pytest.mark.parametrize(
    "cell",
    [
        f"%funcs sweep get_panel_daily PanelName='{PANEL}' Symbol=[BKQU, NVRA] Dimensions=[[Region], [Region, Brand]]",
        f"%funcs sweep Get Panel Daily $runs PanelName='{PANEL}' Dimensions=$sets",
        f"%%funcs sweep get_panel_daily $runs\nPanelName: {PANEL}\nDimensions: [[Region], [Region, Brand]]",
        f'%%funcs sweep get_panel_daily $runs PanelName="{PANEL}"\n{{"Dimensions": [["Region"], ["Region", "Brand"]]}}',
        f"%%funcs sweep get_panel_daily Dimensions=$sets\nPanelName: {PANEL}\nSymbol: [\nBKQU\nNVRA\n]",
    ],
    ids=["line", "table", "body", "json", "column"],
)
def test_dry_run_of_a_sweep_says_how_many_runs_and_shows_the_first(
    run: Any, capsys: Any, cell: str
) -> None:
    """A list, also pasted as a column, a list of lists if the parameter takes a list; a table has no name."""
    run("import pandas as pd; runs = pd.DataFrame({'symbol': ['BKQU', 'NVRA']})")
    run("sets = [['Region'], ('Region', 'Brand')]")
    first, _, rest = cell.partition("\n")
    assert run(f"{first} --dry-run\n{rest}".rstrip("\n")) is None
    summary, *shown = capsys.readouterr().out.splitlines()
    assert summary == "4 runs would be sent, of which the first 3 are:"
    assert run(f"{first} --dry-run -o requests\n{rest}".rstrip("\n")) is None
    requests = run("requests")
    assert [json.loads(line) for line in shown] == requests[:3]
    assert [
        (request["Args"]["Symbol"], request["Args"]["Dimensions"])
        for request in requests
    ] == [
        (symbol, names)
        for symbol in ("BKQU", "NVRA")
        for names in (["Region"], ["Region", "Brand"])
    ]
    assert {request["Args"]["PanelName"] for request in requests} == {PANEL}


def test_dry_run_of_a_sweep_follows_its_options(
    run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """--pairs pairs the lists; too many runs are an error with their number."""
    line = f"%funcs sweep get_panel_daily PanelName='{PANEL}' Symbol=[BKQU, NVRA] PoPLookback=[1, 2] --dry-run"
    run(f"{line} --pairs")
    assert capsys.readouterr().out.startswith("2 runs would be sent:\n")
    with pytest.raises(jf.ArgumentError, match=r"4 runs(.|\n)*--most-runs 4 "):
        run(f"{line} --most-runs 3")
    run(f"{line} --most-runs 1,000,000 -o requests")
    assert len(run("requests")) == 4
    run(
        f"%funcs sweep get_panel_daily PanelName='{PANEL}' Symbol=[BKQU, BKQU] --dry-run"
    )
    assert capsys.readouterr().out.splitlines()[-2] == "1 run would be sent:"


@pytest.mark.slow
@pytest.mark.parametrize(
    "option", ["", "--concurrency 1", "--no-cache --most-runs 4", "--executor $pool"]
)
def test_a_sweep_gives_the_frame_that_python_gives(run: Any, option: str) -> None:
    """One block per run, with the swept arguments first, wherever the runs take place."""
    run(
        "from concurrent.futures import ThreadPoolExecutor; pool = ThreadPoolExecutor(2)"
    )
    run(f"symbols = ['BKQU', 'NVRA']; panel = {PANEL!r}")
    frame = run(
        f"%funcs sweep get_panel_fq PanelName=$panel Symbol=$symbols PoPLookback=[1, 2] -q {option} -o df\ndf"
    )
    fn = jf.connect().get_panel_fq.with_options(progress=False)
    again = fn.sweep(PanelName=PANEL, Symbol=["BKQU", "NVRA"], PoPLookback=[1, 2])
    pd.testing.assert_frame_equal(frame, again)
    assert list(frame.columns)[:2] == ["Symbol", "PoPLookback"]
    assert frame.attrs["funcs"]["runs"] == 4
    run("pool.shutdown()")


def test_a_sweep_takes_pairs_and_a_table(run: Any) -> None:
    """Each row of a table is a run; -o assigns the frame."""
    run(
        "import pandas as pd; table = pd.DataFrame({'symbol': ['BKQU', 'NVRA'], 'PoPLookback': [1, 2]})"
    )
    assert run(f"%funcs sweep get_panel_fq $table PanelName='{PANEL}' -q -o df") is None
    pairs = f"%funcs sweep get_panel_fq PanelName='{PANEL}' Symbol=[BKQU, NVRA] PoPLookback=[1, 2] --pairs -q"
    pd.testing.assert_frame_equal(run("df"), run(pairs))
    assert run("df.attrs['funcs']['runs'], df.attrs['errors']") == (2, [])


@pytest.mark.parametrize(
    ("command", "option", "written"),
    [
        ("call", "timeout=3", "--timeout SECONDS"),
        ("sweep", "max_age=3", "--max-age SECONDS"),
        ("panel", "force=1", "--force"),
    ],
)
def test_an_option_given_as_an_argument_is_named(
    run: Any, command: str, option: str, written: str
) -> None:
    """The error says how to write it as an option; options of other subcommands aren't considered."""
    with pytest.raises(jf.ArgumentError) as caught:
        run(f"%funcs {command} get_panels {option}")
    name = option.partition("=")[0]
    message = f"{name} is an option, not a parameter of Get Panels.\nWrite {written}."
    assert str(caught.value) == message
    with pytest.raises(jf.ArgumentError, match="has no parameter 'check'"):
        run(f"%funcs {command} get_panels check=1")


def test_a_failed_run_of_a_sweep_leaves_the_others(run: Any) -> None:
    """A failed run is a warning with the first error, with -q too, and an entry in attrs."""
    line = f"%funcs sweep get_panel_fq PanelName='{PANEL}' Symbol=[BKQU, ZZZZ, NVRA]"
    for quiet in ("", " -q"):
        with pytest.warns(
            MissingRowsWarning, match=r"1 of 3 runs of Get Panel FQ failed(.|\n)*ZZZZ"
        ):
            frame = run(f"df = {line}{quiet}\ndf")
    assert sorted(frame["Symbol"].unique()) == ["BKQU", "NVRA"]
    assert frame.attrs["errors"][0]["args"] == {"PanelName": PANEL, "Symbol": "ZZZZ"}


def warned(run: Any, cell: str) -> list[warnings.WarningMessage]:
    """Run a cell, and return every warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(cell)
    return caught


@pytest.mark.fault(127)
def test_q_hides_no_warning_that_rows_may_be_missing(
    run: Any, answering: Any, shell: InteractiveShell
) -> None:
    """A reply that may be cut is reported, whether one run asks for it or a sweep; other warnings are hidden."""

    reply = httpx.Response(
        200, content=b'{"n": NaN}', headers={"content-type": "application/x-ndjson"}
    )
    extension.of(shell).state._session = answering(
        lambda _: reply, listing=[{"name": "Get It", "params": [{"name": "Of"}]}]
    )
    for line in ("call get_it Of=1", "sweep get_it Of=[2, 3]"):
        caught = warned(run, f"%funcs {line} -q")
        assert [str(warning.message) for warning in caught] == [
            "The end of the reply may be missing: its last line has no line end."
        ]


@pytest.mark.filterwarnings("always")
def test_a_warning_in_a_cell_is_its_text_alone(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a cell a warning has no file name and no source line, whether of a magic or a call; elsewhere it has both."""
    shown: list[str] = []
    monkeypatch.setattr(
        warnings,
        "showwarning",
        lambda *arguments: shown.append(warnings.formatwarning(*arguments[:4])),
    )
    before = warnings.formatwarning
    run(f"%funcs sweep get_panel_fq PanelName='{PANEL}' Symbol=[BKQU, ZZZZ]")
    run(
        f"import jupyter_funcs as jf; jf.connect().get_panel_fq.sweep(PanelName='{PANEL}', Symbol=['BKQU', 'YYYY'])"
    )
    assert [text.partition(" failed")[0] for text in shown] == [
        "MissingRowsWarning: 1 of 2 runs of Get Panel FQ"
    ] * 2
    assert all(text.count("\n") == 1 for text in shown)
    jf.connect().get_panel_fq.sweep(PanelName=PANEL, Symbol=["BKQU", "XXXX"])
    assert __file__ in shown[-1]
    assert warnings.formatwarning is before


@pytest.mark.slow
def test_a_terminal_is_told_that_it_shows_no_panel() -> None:
    """A terminal's IPython says so, and what to use instead."""
    typed = "%load_ext jupyter_funcs\n%funcs\n"
    program = [
        sys.executable,
        "-m",
        "IPython",
        "--simple-prompt",
        "--no-banner",
        "--quick",
    ]
    output = subprocess.run(
        program, input=typed, capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert (
        "A terminal can't show the panel. Use %funcs find, describe and call" in output
    )


def test_a_panel_opens_filled_and_its_result_is_at_hand(run: Any) -> None:
    """%funcs panel NAME k=v has the values, %funcs result the DataFrame of the panel opened last; --timeout works."""
    panel = run(f"%funcs panel {DAILY}")
    assert panel.form.args == {"PanelName": PANEL, "Symbol": SYMBOL}
    panel.run()
    assert len(run("df = %funcs result\ndf")) == 1826
    assert panel.recipe == "df = %funcs result"
    panel.close()
    panel = run("%funcs panel get_panels --timeout 0.000001")
    panel.run()
    with pytest.raises(jf.DeadlineError):
        run("%funcs result")
    panel.close()


def test_connect_changes_the_service(
    run: Any, service_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """%funcs connect takes a URL whose token is in the environment; alone, it uses the configured service."""
    monkeypatch.setenv("FUNCS_BASE_URL", service_url)
    monkeypatch.setenv("FUNCS_TOKEN", embedded().token)
    session = run(f"%funcs connect {service_url}")
    assert service_url.endswith(session.service)
    status = run("%funcs status")
    assert (status.address, status.user, status.functions) == (
        service_url,
        "analyst",
        7,
    )
    assert 0 < status.answered < 5
    assert "\nanswered  in 0." in repr(status)
    assert len(run("%funcs refresh").names) == 7
    session.close()
    monkeypatch.delenv("FUNCS_BASE_URL")
    monkeypatch.delenv("FUNCS_TOKEN")
    assert run("%funcs connect").service == "demo"
    with pytest.raises(
        jf.ConfigError,
        match=r"no profile 'nowhere'(?s:.*)Until then, .* demo, with synthetic data",
    ):
        run("%funcs connect nowhere")


def test_a_refresh_says_what_has_changed(
    run: Any, answering: Any, shell: Any, capsys: Any
) -> None:
    """Compared with the listing before; with -o it prints nothing."""
    names = iter("FFGH")
    session = answering(
        lambda _: httpx.Response(200, json=[{"name": next(names), "params": []}])
    )
    extension.of(shell).state._session = session
    run("%funcs find")
    for changes in ("nothing has changed", "1 added (G), 1 removed (F)"):
        capsys.readouterr()
        assert run("%funcs refresh") is session
        assert capsys.readouterr().out.startswith(
            f"Listed again: {changes}.\nOut[0]: Connected to "
        )
    run("%funcs refresh -o again")
    assert not capsys.readouterr().out


def test_connecting_lists_the_functions_once_and_says_who_asks(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session shows the user and the number of functions, and the next line doesn't request them again."""
    with faulty() as server:
        monkeypatch.setenv("FUNCS_BASE_URL", server.url)
        monkeypatch.setenv("FUNCS_TOKEN", embedded().token)
        session = run("%funcs connect")
        assert repr(session) == f"<Session {session.service} as analyst: 1 function>"
        run("%funcs find")
        assert len(server.requests) == 1
        # Listed at the first use.
        other = jf.connect(server.url, token=lambda: embedded().token)
        assert repr(other) == f"<Session {session.service}: catalog not listed yet>"
        server.tell(reply(b"[]", Connection="close"))
        server.otherwise = reply(b"", "500 Failed")
        assert (
            repr(other.refresh())
            == f"<Session {session.service} as analyst: 0 functions>"
        )
    monkeypatch.undo()
    assert (
        repr(run("%funcs connect"))
        == "<Session demo as analyst, synthetic data: 7 functions>"
    )


def test_a_connect_that_fails_does_so_at_once_and_changes_nothing(
    run: Any, shell: InteractiveShell, service_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong token or an unreachable URL fails at once, and the error says which service the next line uses."""
    demo = "Until then, %funcs uses the demo, with synthetic data."
    run("%funcs connect")
    nobody = "http://127.0.0.1:1"
    monkeypatch.setenv("FUNCS_BASE_URL", nobody)
    monkeypatch.setenv("FUNCS_TOKEN", "a-token-of-the-tests")
    with pytest.raises(jf.ServiceConnectionError, match=demo):
        run(f"%funcs connect {nobody}")
    assert run("%funcs status").service == "demo"
    monkeypatch.setenv("FUNCS_BASE_URL", service_url)
    with pytest.raises(jf.AuthenticationError, match=demo):
        run("%funcs connect")

    monkeypatch.setenv("FUNCS_TOKEN", embedded().token)
    working = run("%funcs connect")
    monkeypatch.setenv("FUNCS_TOKEN", "a-token-of-the-tests")
    with pytest.raises(
        jf.AuthenticationError, match=f"Until then, %funcs uses '{working.service}'"
    ):
        run("%funcs connect")
    assert extension.of(shell).state.current is working

    sessions = extension.of(shell).state
    sessions._session = None  # as in a new kernel
    # The next line fails the same way.
    with pytest.raises(jf.AuthenticationError, match=r"connect again\.$"):
        run("%funcs connect")
    with pytest.raises(
        jf.ConfigError, match=f"Until then, %funcs uses '{working.service}'"
    ):
        run("%funcs connect nowhere")
    monkeypatch.undo()
    sessions._session = None
    with pytest.raises(jf.ConfigError, match=demo):
        run("%funcs connect nowhere")


# By the class of the error: a bad cell, and a pattern of its message.
BAD: dict[type[jf.FuncsError], dict[str, str]] = {
    jf.ArgumentError: {
        "%funcs fnd panel": "no subcommand 'fnd'(.|\n)*'find'",
        "%funcs call": "needs a function's name",
        "%funcs call get_panel_daily": "PanelName is required",
        "%funcs call get_panels a=b #panels": r"'#panels' isn't an argument.\nA comment needs a space after its #",
        "%funcs call get_panel_daily PanlName=x": "Did you mean 'PanelName'",
        "%funcs call get_panel_daily b=c d": "'d' isn't an argument.\\nWrite b=\"…\", with quotes",
        "%funcs call Get Panel FQ 'Demo Card' x": "by name, not 'Demo Card'.\\nWrite PanelName=",
        "%funcs call get_panels x": "by name, not 'x'.\\nIt takes no parameters",
        "%funcs call get_panel_dimensions Dimensions=Brand PanelName=mine": r"your variable, write PanelName=\$mine",
        "%funcs call get_panel_dimensions Dimensions=Brand PanelName={mine}": r"write PanelName=\$mine\.$",
        '%funcs call get_panel_daily PanelName="Demo': 'not closed(.|\n)*"Demo\n {31}\\^$',
        "%funcs call get_panel_daily Dimensions=[Region": "The bracket at the caret(.|\n)*\\^",
        "%funcs call get_panel_daily --tiemout 3": "unknown option '--tiemout'(.|\n)*'--timeout'",
        "%funcs call get_panels --PanelName=SECRET": "no hyphens: name=value. See %funcs --help",
        '%funcs call get_panel_daily(PanelName="x")': "Leave out the parentheses: %funcs call NAME",
        "%funcs call get_panels --timeout": "--timeout needs a value: --timeout SECONDS",
        "%funcs find -o": "--output needs a value: --output NAME",
        "%funcs call get_panels -x": "unknown option '-x'.\nArguments have no hyphens",
        "%funcs describe get_panels a=b": "describe takes only a name, not a",
        "%%funcs\nPanelName: x": "cell has arguments, but the line names no function",
        "%funcs call get_panel_daily PanelName='x', Symbol=y": "separated by spaces, not commas",
        "%funcs call get_panel_daily, PanelName='x'": "separated by spaces, not commas",
        "%funcs call get_panels --timeout inf": "number of seconds above 0, not 'inf'",
        "%funcs result --timeout -1": "number of seconds above 0, not '-1'",
        "%funcs call get_panels —timeout 3": "two hyphens",
        "%funcs call get_panels --profile ''": "needs the name of a profile",
        "%funcs find --wait": "%funcs find has no option --wait",
        "%funcs find --force": "%funcs find has no option --force",
        "%funcs connect work --profile work": "has no option --profile",
        "%funcs lasterror now": "takes no arguments",
        "%funcs cal --help": "no subcommand 'cal'(.|\n)*'call'",
        "%funcs Get Panels": "It's a function: write %funcs call get_panels",
        "%funcs get_panel_daily Symbol=x": "%funcs panel get_panel_daily",
        "%funcs call get_panel_daily symbol=a Symbol=b": "same parameter as 'symbol'",
        "%%funcs call get_panel_daily Symbol=a\nSymbol: b": "Symbol is given twice",
        "%funcs call get_panel_daily PanelName= x": "without spaces",
        "%funcs call get_panel_daily PanelName =x": "without spaces",
        "%funcs call get_panels -o class": "variable name",
        "%funcs call get_panels --timeout x": "--timeout: expected a number of seconds above 0, not 'x'",
        "%funcs call get_panels -o 'a b'": "variable name",
        "%funcs call get_panel_daily PanelName = x": "without spaces",
        "%funcs call get_panel_daily Symbol=a Symbol=b": "Symbol is given twice",
        "%funcs find x --dry-run": "has no option --dry-run",
        "%funcs find --colour=SECRET": "--colour",
        "%funcs refresh now": "takes no arguments",
        "%funcs sweep": "%funcs sweep needs a function's name",
        "%funcs sweep get_panel_daily Symbol=[]": "Symbol has no values to sweep",
        "%funcs sweep get_panel_daily Symbol=BKQU": r"Nothing to sweep(.|\n)*such as \[a, b\]",
        "%funcs sweep get_panel_daily Symbol=BKQU, NVRA": r"goes in brackets: \[a, b\]",
        "%funcs sweep get_panel_daily $absent": "no variable 'absent'",
        "%funcs sweep get_panel_daily $session": "takes a DataFrame with one row per run",
        "%funcs sweep get_panel_daily $session $session": r"one table(.|\n)*\$session and \$session",
        "%funcs sweep get_panel_daily Symbol=[x] --concurrency 0": "whole number above 0, not '0'",
        "%funcs sweep get_panel_daily Symbol=[x] --most-runs 1e9": "whole number above 0",
        "%funcs sweep get_panel_daily Symbol=[x] --executor $session": "client.get_executor",
        "%funcs sweep get_panel_daily Symbol=[x] --executor": r"needs a value: --executor \$NAME",
        "%funcs sweep get_panel_daily Symbol=[x] --to $session": "the path of a folder",
        "%funcs call get_panels --pairs": "%funcs call has no option --pairs",
        "%%funcs find x\nbody": "takes no cell body",
        "%%funcs call get_panels\nno colon": "Line 2",
        '%%funcs call get_panels\n{"a": }': "JSON",
    },
    jf.NotFoundError: {"%funcs call Get Panl Daily": "Did you mean 'Get Panel Daily'"},
    jf.ConfigError: {
        "%funcs connect localhost:8765": "An address starts with https:// or http://",
        "%funcs call get_panels --profile wrok": "no profile 'wrok'(.|\n)*'work'",
        "%funcs find --profile https://ada:SECRET@x.example": "have it replaced",
        "%funcs call get_panels token=SECRET": "have it replaced",
        "%%funcs call get_panels\napi_key: SECRET": "have it replaced",
        "%funcs call get_pnls token=SECRET": "have it replaced",
        "%funcs connect https://x.example token=abc": "no token",
        "%funcs call get_panels 'token=SECRET'": "have it replaced",
        "%funcs connect https://x.example --token=SECRET": "have it replaced",
        "%funcs connect nowhere": "no profile 'nowhere'",
        "%funcs sweep get_panel_daily Symbol=[x] token=SECRET": "have it replaced",
    },
}


@pytest.mark.parametrize(
    ("cell", "error", "message"),
    [
        (cell, error, message)
        for error, cells in BAD.items()
        for cell, message in cells.items()
    ],
)
@pytest.mark.usefixtures("profile")
def test_bad_lines_say_what_to_do(
    run: Any, capsys: Any, cell: str, error: type[jf.FuncsError], message: str
) -> None:
    """A bad line is an error of one to three lines without a traceback, and the session still works."""
    # This one knows its functions.
    run("%funcs refresh -o session\nmine = 'Demo Card Panel'")
    with pytest.raises(error, match=message):
        run(cell)
    shown = "".join(capsys.readouterr())
    assert "Traceback" not in shown
    assert "SECRET" not in shown
    assert 1 <= len(shown.strip().splitlines()) <= 3
    assert len(run("%funcs find")) == 7


def test_help_names_every_command(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """--help prints the help, which has every subcommand and option; `help` and `help call` are words for it."""
    for words, text in (
        ("--help", usage()),
        ("help", usage()),
        ("help call", usage_of("call")),
    ):
        assert run(f"%funcs {words}") is None
        assert capsys.readouterr().out.strip() == text.strip()
    for word in (*NAMES, *chain.from_iterable(option.split("/") for option in OPTIONS)):
        assert re.search(rf"(?<![\w-]){word}(?![\w-])", usage())
    assert max(map(len, usage().splitlines())) <= 80


def test_the_guide_is_read_in_the_notebook(run: Any) -> None:
    """`%funcs docs TOPIC` is a page of the guide as Markdown; without a topic each page is listed by its title."""
    topics = run("%funcs docs")._repr_markdown_()
    pages = sorted(Path(jf.__file__).parent.joinpath("guide").glob("*.md"))
    for path in pages:
        title = path.read_text("utf-8").partition("\n")[0].removeprefix("# ")
        assert f"| `{path.stem}` | {title} |" in topics
    page = run("%funcs docs scale_out")
    assert repr(page) == Path(pages[0].parent, "scale-out.md").read_text("utf-8")
    assert "the keys (`%funcs docs host-a-service`)" in page._repr_markdown_().replace(
        "The", "the"
    )
    with pytest.raises(
        jf.NotFoundError, match=r"no page 'sweps'(.|\n)*Did you mean 'sweeps'"
    ):
        run("%funcs docs sweps")


def test_each_subcommand_has_a_function() -> None:
    """A row of the table in usage.py is run by the function of its name in subcommands.py."""
    assert [
        name
        for name in SUBCOMMANDS
        if not inspect.isfunction(getattr(subcommands, name, None))
    ] == []


@pytest.mark.parametrize("name", NAMES)
def test_each_command_has_a_help_of_its_own(
    run: Any,
    capsys: Any,
    name: str,
    profile: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its synopsis, the options that it takes and no others, and an example that runs on the demo."""
    monkeypatch.chdir(tmp_path)  # for the lock file
    assert run(f"%funcs {name} --help") is None
    shown = capsys.readouterr().out
    assert run(f"%funcs {name} -h") is None
    assert shown == capsys.readouterr().out == f"{usage_of(name)}\n"
    for option in OPTIONS:
        assert (option.rpartition("/")[2] in shown) == (name in taken_by(option))
    panel = run(f"%funcs panel {DAILY}")
    panel.run()
    examples = shown.partition("For example:\n\n")[2].strip().split("\n\n")
    assert examples
    for example in examples:
        assert re.search(rf"funcs {ALIASES.get(name, name)}\b", example)
        opened = run(example)
        if isinstance(opened, Panel):
            opened.close()
    panel.close()


@pytest.fixture
def profile(service_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Configure two profiles, work and other, for the service over HTTP; return its URL."""
    rows = f'url = "{service_url}"\ntoken_env = "OF_WORK"\n'
    (tmp_path / "profiles.toml").write_text(
        f"[profiles.work]\n{rows}[profiles.other]\n{rows}"
    )
    monkeypatch.setenv("FUNCS_CONFIG", str(tmp_path / "profiles.toml"))
    monkeypatch.setenv("OF_WORK", embedded().token)
    return service_url


def test_a_profile_is_asked_for_one_line(run: Any, profile: str) -> None:
    """--profile uses the profile's session, the same each time, and doesn't change the one in use."""
    assert run("%funcs connect").service == "demo"
    frame = run("%funcs call get_panels --profile work")
    assert frame.attrs["funcs"]["service"] == "work"
    assert run("%funcs refresh --profile work") is run(
        "%funcs refresh --profile 'work'"
    )
    assert run("%funcs status --profile work").address == profile
    assert (
        run("%funcs status").service,
        run("%funcs call get_panels").attrs["funcs"]["service"],
    ) == ("demo", "demo")
    panel = run("%funcs --profile work")
    assert panel._state.session.service == "work"
    panel.close()
    work = run("%funcs connect work")
    assert run("%funcs refresh --profile work") is work
    assert run("%funcs refresh --profile other") is not work


def test_a_semicolon_silences_and_an_assignment_has_its_value(
    run: Any, shell: Any, capsys: Any
) -> None:
    """A semicolon ends a line as in Python; a quoted or escaped one is text."""
    for cell in (
        "%funcs call get_panels; # the ones I can see",
        "%funcs find ;",
        "if True:\n    %funcs call get_panels;;",
    ):
        assert run(cell) is None
    assert not capsys.readouterr().out
    assert len(run("df = %funcs call get_panels;\ndf")) == 2
    assert len(run("def f():\n    x = %funcs call get_panels;\n    return x\nf()")) == 2
    assert (
        run(f"%%funcs call get_panel_daily;\nPanelName: {PANEL}\nSymbol: {SYMBOL}")
        is None
    )
    # Called as a function is.
    assert len(shell.run_line_magic("funcs", "call get_panels;")) == 2
    for note in ("';'", "x\\;"):
        with pytest.raises(jf.ArgumentError, match=r"has no option '.*;'"):
            run(f"%funcs call {DAILY} PoPGrowth={note}")


def test_waiting_runs_the_panel_in_the_cell(
    run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """--wait shows the panel and returns its frame, for front ends that show nothing after the cell has ended."""
    frame = run(f"%funcs panel {DAILY} --wait")
    assert "Panel of demo: Get Panel Daily" in capsys.readouterr().out
    pd.testing.assert_frame_equal(frame, run("%funcs result"))
    with pytest.raises(jf.ArgumentError, match="Panel Name is required"):
        run("%funcs panel get_panel_daily --wait")
    with pytest.raises(jf.DeadlineError):
        run(f"%funcs panel {DAILY} --wait --timeout 0.000001")
    with pytest.raises(jf.ArgumentError, match="--wait needs a function's name"):
        run("%funcs --wait")


def test_a_panel_that_runs_at_once_makes_run_all_whole(run: Any) -> None:
    """--run opens the panel and runs its values; the next cell waits for the result."""
    panel = run(f"%funcs panel {DAILY} --run")
    pd.testing.assert_frame_equal(run("%funcs result"), panel.result(60))
    with pytest.raises(jf.ArgumentError, match="Panel Name is required"):
        run("%funcs panel get_panel_daily --run")


@pytest.mark.parametrize("name", ["bkqu", "panel_daily"])
def test_a_panel_names_the_result_that_its_cell_names(
    run: Any, shell: InteractiveShell, name: str
) -> None:
    """`--run -o NAME` waits for the result; after a rename the panel differs from its cell, until that is updated."""
    assert run(f"{name} = 1\n%funcs panel {DAILY} --run -o {name}\nlen({name})") == 1826
    panel = extension.of(shell).state.panel
    page = Page(panel)

    def told() -> tuple[bool, str]:
        values = page.state("_values")
        return values["differs"], values["output"]

    assert told() == (False, "" if name == "panel_daily" else name)
    page.ask("rename", name="mine", replace=False)
    assert told() == (True, "mine")
    page.ask("update_cell", output="mine")
    assert told() == (False, "mine")
    shell.user_ns[name] = "mine"
    page.ask("rename", name="panel_daily_3", replace=False)
    page.run(PoPGrowth="Yes")
    assert shell.user_ns[name] == "mine"
    panel.close()


@pytest.mark.slow
def test_a_panel_that_names_its_result_is_a_value_still(run: Any) -> None:
    """A line assigns it; a run that fails ends the cell and assigns nothing."""
    panel = run(f"panel = %funcs panel {DAILY} --run -o bkqu\npanel")
    assert isinstance(panel, Panel)
    assert run("len(bkqu)") == 1826
    panel.close()
    with pytest.raises(jf.DeadlineError):
        run(f"%funcs panel {DAILY} --run -o late --timeout 0.000001")
    with pytest.raises(NameError):
        run("late")


def test_a_link_opens_a_form_and_runs_nothing(run: Any) -> None:
    """It has the function and the values of the panel that made it, whatever is before it; a list repeats its name."""
    panel = run(f"%funcs panel {DAILY} Dimensions=[Region, Brand] PoPLookback=2")
    link = Page(panel).ask("code")["link"]
    assert link.startswith("?funcs=Get+Panel+Daily&")
    for before in ("", "http://localhost/voila/render/x.ipynb?token=secret&"):
        opened = run(f'%funcs open "{before}{link[bool(before) :]}"')
        assert opened.form.args == panel.form.args
        with pytest.raises(jf.ArgumentError, match="no result yet"):
            opened.result()
    assert (
        run('%funcs open "?funcs=Get+Panel+Daily&Symbol=%24mine"').form["Symbol"]
        == "$mine"
    )
    for wrong in ("x", "?Symbol=NVRA"):
        with pytest.raises(jf.ArgumentError, match="isn't a link to a function"):
            run(f'%funcs open "{wrong}"')


def test_force_sends_to_a_service_that_is_left_alone(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After five failures in a row requests are paused, and the error says until when; --force sends anyway."""
    with faulty() as server:
        monkeypatch.setenv("FUNCS_BASE_URL", server.url)
        monkeypatch.setenv("FUNCS_TOKEN", "a-token-of-the-tests")
        listing = reply(LISTING, Connection="close")
        failure = reply(b"", "500 Failed", Connection="close")
        server.script = [listing, *[failure] * 5]
        run("%funcs connect")
        for _ in range(5):
            with pytest.raises(jf.FuncsError):
                run("%funcs call f")
        with pytest.raises(jf.CircuitOpenError, match=r"or now with --force"):
            run("%funcs call f")
        assert len(run("%funcs call f --force")) == 2
        assert len(run("%funcs call f")) == 2


def test_the_last_error_is_shown_whole(
    run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its causes and the lines of code, without IPython's own frames; -o assigns the text."""
    _last.clear()
    assert run("%funcs lasterror") is None
    assert capsys.readouterr().out == "No error has been shown in this kernel yet.\n"
    run("import jupyter_funcs as jf")
    with pytest.raises(jf.ConfigError):
        run(
            "try:\n    {}['key']\nexcept KeyError as e:\n    raise jf.ConfigError('W.') from e"
        )
    capsys.readouterr()
    assert run("%funcs lasterror") is None
    shown = capsys.readouterr().out
    for line in (
        "    {}['key']\n",
        "KeyError: 'key'\n",
        "direct cause",
        "ConfigError('W.') from e",
        "ConfigError: W.",
    ):
        assert line in shown
    assert "run_code" not in shown
    assert run("%funcs lasterror -o text") is None
    assert run("text") == shown.rstrip("\n")
    with pytest.raises(ZeroDivisionError):
        run("1 / 0")
    with pytest.raises(jf.NotFoundError):
        run("jf.connect()['Get Panl']")
    assert "jf.connect()['Get Panl']" in run("%funcs lasterror -o text\ntext")
    assert "ConfigError" not in run("text")


def test_the_last_error_shows_no_token(
    run: Any, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    """Neither a token in use, nor one in the cell, the environment or a cause, nor text that looks like one."""
    jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln"
    monkeypatch.setenv("FUNCS_API_KEY", "c4n4ry-of-the-environment")
    lines = [
        "import jupyter_funcs as jf",
        "held = jf.connect('https://x.example', token='c4n4ry-in-use')",
        "try:",
        f"    raise ValueError('c4n4ry-in-use {jwt} c4n4ry-of-the-environment', dict(api_key='c4n4ry-key'))",
        "except ValueError as error:",
        "    raise jf.ConfigError('Bearer c4n4ry-word\\x1b[0m') from error",
    ]
    with pytest.raises(jf.ConfigError):
        run("\n".join(lines))
    with_name = 'jf.connect("https://x.example", token="c4n4ry of two words")'
    capsys.readouterr()
    run("%funcs lasterror")
    shown = capsys.readouterr().out
    with pytest.raises(jf.ConfigError):
        run(with_name)
    run("%funcs lasterror")
    shown += capsys.readouterr().out
    assert "c4n4ry" not in shown
    assert jwt not in shown
    assert shown.count("****") >= 7
    assert "\x1b" not in shown
    assert "jf.connect" in shown


def test_a_warning_of_a_run_names_the_line_that_waits_for_it(
    run: Any, answering: Any, shell: Any
) -> None:
    """It names the cell's line, whether the run is called, awaited or started by the magic, and is shown once."""
    shell.user_ns["odd"] = extension.of(shell).state._session = answering(
        lambda _: httpx.Response(200, content=b'[{"a": NaN}]'),
        listing=[{"name": "Get It", "params": []}],
    )
    cells = [
        "\nodd.get_it()",
        "job = odd.get_it.submit()\njob.result(), job.result()",
        "%funcs call get_it -o x",
        "\n\nawait odd.get_it.submit()",
    ]
    for cell in cells:
        caught = warned(run, cell)
        assert [str(warning.message).partition(" (")[0] for warning in caught] == [
            "The reply contains NaN or Infinity, which JSON doesn't have"
        ]
        line = linecache.getline(caught[0].filename, caught[0].lineno)
        assert re.search("get_it|job.result", line), caught[0]
    assert not warned(run, "%funcs call get_it -q")


def test_a_parameter_that_is_called_as_a_token_is_takes_its_value(
    run: Any, answering: Any, shell: Any
) -> None:
    """In any spelling; only names that aren't parameters of the function are taken for tokens."""
    listing = [{"name": "Get It", "params": [{"name": "AccessToken"}]}]
    extension.of(shell).state._session = answering(
        lambda _: httpx.Response(200, json=listing)
    )
    for name in ("AccessToken", "access_token", "'AccessToken'"):
        run(f"%funcs call get_it {name}=abcdef --dry-run -o request")
        assert run("request['Args']") == {"AccessToken": "abcdef"}
    with pytest.raises(jf.ConfigError, match="have it replaced"):
        run("%funcs call get_it refresh_token=abcdef --dry-run")
