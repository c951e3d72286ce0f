"""
Users' mistakes, by the row of FAULTS.md (83 to 95, 98 and 103), in the magic and in Python.

Each is an error of one to three lines that says what to do, nothing is sent, and the user's variables don't change.
"""

from __future__ import annotations

import builtins
import importlib
import json
import pickle
import re
import warnings
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import httpx
import numpy as np
import pandas as pd
import pytest

import jupyter_funcs as jf
from jupyter_funcs.api import Session
from jupyter_funcs.magic import extension
from jupyter_funcs.service import embedded
from tests.conftest import PANEL, SYMBOL
from tests.shells import interactive_shell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from IPython.core.interactiveshell import InteractiveShell

CANARY = "c4n4ry-token-of-the-tests"
DAILY = f"get_panel_daily PanelName='{PANEL}'"
IN_PYTHON = f"funcs.get_panel_daily(PanelName='{PANEL}', Symbol='BKQU', "


class Demo(httpx.AsyncBaseTransport):
    """The demo with one more function in its listing, and the runs that were requested."""

    runs: ClassVar[list[dict[str, Any]]] = []
    PARAMS: ClassVar[dict[str, dict[str, Any]]] = {
        "First": {"required": True},
        "Second": {"required": True},
        "StartDate": {"schema": {"type": "string", "format": "date"}},
        "EndDate": {"schema": {"type": "string", "format": "date"}},
        "Share": {"schema": {"type": "number", "maximum": 1}},
        "Day": {"description": "[Optional] A day as YYYY-MM-DD"},
        "Unit": {"description": "[Optional] Options are 'day', 'week'"},
        "Portion": {"description": "[Optional] A number, at most 1"},
    }

    def __init__(self) -> None:
        self.inner = httpx.ASGITransport(embedded().app)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("runFunction"):
            self.runs.append(json.loads(request.content))
        request.headers["Authorization"] = f"Bearer {embedded().token}"
        reply = await self.inner.handle_async_request(request)
        if not request.url.path.endswith("ListUserFunctions"):
            return reply
        params = [{"name": name, **about} for name, about in self.PARAMS.items()]
        listed = [
            *json.loads(await reply.aread()),
            {"name": "Get Days", "params": params},
        ]
        return httpx.Response(200, json=listed)


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InteractiveShell]:
    """A shell in its own folder; its magics and its variable `funcs` share a session."""
    with interactive_shell(ipython_dir=str(tmp_path_factory.mktemp("ipython"))) as made:
        made.run_line_magic("load_ext", "jupyter_funcs")
        session = jf.connect("http://localhost", token=CANARY, transport=Demo())
        extension.of(made).state._session = session.refresh()
        made.user_ns |= {
            "jf": jf,
            "np": np,
            "pd": pd,
            "Decimal": Decimal,
            "funcs": session,
            "symbol": SYMBOL,
        }
        yield made


@pytest.fixture
def run(shell: InteractiveShell) -> Iterator[Callable[[str], Any]]:
    """Run a cell as a user does; return its value, or raise its error."""
    before = dict(shell.user_ns)
    Demo.runs.clear()

    def run_cell(cell: str) -> Any:
        result = shell.run_cell(cell)
        result.raise_error()
        return result.result

    yield run_cell
    shell.user_ns.clear()
    shell.user_ns.update(before)


class Fault(NamedTuple):
    """A cell that is refused: the row of FAULTS.md, the code, and the error."""

    row: int
    cell: str
    message: str
    error: type[jf.FuncsError] = jf.ArgumentError


def of_value(row: int, name: str, value: str, message: str) -> list[Fault]:
    """Return two cells that set a parameter of the daily function to an expression."""
    line = f"given = {value}\n%funcs call {DAILY} Symbol=BKQU {name}=$given"
    return [
        Fault(row, line, message),
        Fault(row, f"{IN_PYTHON}{name}={value})", message),
    ]


def of_text(row: int, call: str, python: str, message: str) -> list[Fault]:
    return [Fault(row, f"%funcs {call}", message), Fault(row, python, message)]


FAULTS = [
    *of_text(
        83,
        "call get_days",
        "funcs.get_days()",
        r"First is required\. Second is required\.\nGet Days was not run\.",
    ),
    Fault(83, "%%funcs call get_days\nFirst: x", r"^Second is required\."),
    Fault(83, "%funcs call get_days First=x Second=''", r"^Second is required\."),
    Fault(
        83,
        "funcs.get_days.submit(First=None)",
        r"First is required\. Second is required\.",
    ),
    *(
        fault
        for date, message in {
            "2025-02-30": "is not a valid date: '2025-02-30'",
            "20250304": "takes a date as YYYY-MM-DD, not '20250304'",
            "tomorrow": "takes a date as YYYY-MM-DD, not 'tomorrow'",
            "04.03.2025": "takes a date as YYYY-MM-DD",
        }.items()
        for fault in of_text(
            85,
            f"call get_days First=a Second=b StartDate={date}",
            f"funcs.get_days(First='a', Second='b', StartDate='{date}')",
            f"^StartDate {message}",
        )
    ),
    *of_text(
        85,
        "call get_days First=a Second=b StartDate=2025-03-04 EndDate=2025-03-03",
        "funcs.get_days(First='a', Second='b', StartDate='2025-03-04', EndDate='2025-03-03')",
        "^EndDate 2025-03-03 is before StartDate 2025-03-04",
    ),
    *of_text(
        86,
        f"call {DAILY} Symbol=BKQU Dimensions=[Regio]",
        f"{IN_PYTHON}Dimensions=['Regio'])",
        r"Dimensions has no option 'Regio'\. Did you mean 'Region'\?",
    ),
    *of_text(
        86,
        f"call {DAILY} Symbol=BKQU PoPGrowth=maybe",
        f"{IN_PYTHON}PoPGrowth='maybe')",
        r"PoPGrowth has no option 'maybe'\. Options are 'Yes' and 'No'",
    ),
    Fault(
        86,
        "funcs.get_panels.with_options(timout=3)",
        r"no option 'timout'\.\nDid you mean 'timeout'\?",
    ),
    Fault(
        86,
        "%funcs call get_panels --timout 3",
        r"unknown option '--timout'\.\nDid you mean '--timeout'\?",
    ),
    Fault(
        87,
        "%funcs call get_panel_dialy",
        r"^There is no function 'get_panel_dialy'.*\n"
        r"Did you mean '[^']*'(, '[^']*'){0,1} or '[^']*'\?$",
        jf.NotFoundError,
    ),
    Fault(
        87,
        "funcs['Get Panel Dialy']",
        r"Did you mean 'Get Panel Daily'",
        jf.NotFoundError,
    ),
    *of_text(
        87,
        f"call {DAILY} Symbl=x",
        "funcs.get_panel_daily(Symbl='x')",
        r"no parameter 'Symbl'\. Did you mean 'Symbol'\?",
    ),
    Fault(87, "%funcs cal get_panels", r"no subcommand 'cal'\.\nDid you mean 'call'"),
    Fault(
        87,
        "%funcs call get_panel_daily Symbol=$symbl",
        r"no variable 'symbl'\.\nDid you mean 'symbol'\?",
    ),
    Fault(
        88,
        '%funcs call get_panels "a b',
        r'caret is not closed\. .*:\ncall get_panels "a b\n {16}\^$',
    ),
    Fault(88, "%funcs call get_panels Brand=[a, b", r"Brand=\[a, b\n {22}\^$"),
    Fault(
        88,
        '%%funcs call get_panels\nA: b\n  Symbol: "BKQU',
        r'in line 3 of the cell.*:\nSymbol: "BKQU\n {8}\^$',
    ),
    Fault(
        88,
        '%%funcs call get_panels\n{"Symbol": "BKQU}',
        r'Line 2 of .* a string is not closed\.\n\{"Symbol": "BKQU\}\n {17}\^$',
    ),
    Fault(
        89,
        f"jf.connect('https://x.example', token='{CANARY} {CANARY}')",
        "^The token contains",
        jf.ConfigError,
    ),
    Fault(
        89,
        f"jf.connect('https://x.example', token='{CANARY}\\r\\n{CANARY}')",
        r"^The token contains",
        jf.ConfigError,
    ),
    Fault(
        89,
        f"jf.connect('https://x.example', token='{CANARY}”{CANARY}')",
        r"typographic quote",
        jf.ConfigError,
    ),
    *(
        fault
        for value in (
            "float('nan')",
            "float('inf')",
            "2**63",
            "10**5000",
            "True",
            "1.5",
            "np.True_",
            "pd.NA",
        )
        for fault in of_value(
            90,
            "PoPLookback",
            value,
            "^PoPLookback (takes a whole number, not|has no value)",
        )
    ),
    *(
        fault
        for value in ("NaN", "1e999", "9223372036854775808", "True", "0x1", "1_000")
        for fault in of_text(
            90,
            f"call {DAILY} Symbol=BKQU PoPLookback={value}",
            f"{IN_PYTHON}PoPLookback='{value}')",
            "^PoPLookback takes a whole number, not",
        )
    ),
    *of_text(
        90,
        "call get_days First=a Second=b Share=1e999",
        "funcs.get_days(First='a', Second='b', Share=1e999)",
        "^Share takes a finite number",
    ),
    Fault(
        90,
        '%%funcs call get_days\n{"First": "a", "Second": "b", "Share": true}',
        "^Share takes a number, not 'True'",
    ),
    Fault(
        90,
        '%%funcs call get_days\n{"First": "a", "Second": "b", "Share": NaN}',
        "^Share has no value: 'nan'",
    ),
    *(
        fault
        for value in (
            "np.nan",
            "pd.NA",
            "pd.NaT",
            "np.datetime64('NaT')",
            "Decimal('NaN')",
        )
        for name in ("PoPLookback", "PoPGrowth", "Dimensions")
        for fault in of_value(
            91, name, value, rf"^{name} has no value: '.*'\. Leave it out"
        )
    ),
    *of_value(
        91, "Dimensions", "['Region', np.nan]", "^Dimensions has no value: 'nan'"
    ),
    *of_value(91, "PoPLookback", "np.int64(-1)", "^PoPLookback must be between"),
    *of_value(
        91,
        "PoPLookback",
        "np.timedelta64(1, 's')",
        "^PoPLookback does not take a duration",
    ),
    *of_value(91, "Dimensions", "np.array([['Region']])", "^Dimensions takes a list"),
    Fault(
        92,
        f"symbol = {SYMBOL!r}\n%funcs call {DAILY} Symbol=BKQU PoPGrowth={{symbol}}",
        "no option '{symbol}'",
    ),
    Fault(
        92,
        f"%funcs call {DAILY} Symbol=BKQU PoPGrowth=x$symbol",
        r"no option 'x\$symbol'",
    ),
    Fault(
        92,
        f"%funcs call {DAILY} Symbol=BKQU PoPGrowth='$symbol'",
        r"no option '\$symbol'",
    ),
    Fault(
        92,
        f"%%funcs call get_panel_daily\nPanelName: {PANEL}\nSymbol: BKQU\nPoPGrowth: {{symbol}}",
        "no option '{symbol}'",
    ),
    Fault(92, "%funcs describe {symbol}", "no function '{symbol}'", jf.NotFoundError),
    *(
        Fault(93, cell, "have it replaced", jf.ConfigError)
        for cell in (
            f"%funcs connect https://x.example token={CANARY}",
            f"df = %funcs find --token {CANARY}",
            f"%funcs call get_panels Token='{CANARY}'",
            f"%%funcs call get_panels\ntoken: {CANARY}",
            f"%funcs call get_panels --profile {CANARY}{CANARY}",
            f"%funcs connect https://ada:{CANARY}@x.example",
        )
    ),
]
# Rows, or parts of rows, that are tested in another file.
ELSEWHERE = {
    83: ["catalog.test_form::test_all_that_is_missing_is_named_at_once"],
    84: [
        "catalog.test_form::test_one_of_symbol_and_brand_is_described_and_both_are_valid"
    ],
    85: ["catalog.test_form::test_the_last_date_may_not_stand_before_the_first"],
    87: [
        "catalog.test_form::test_an_unknown_parameter_names_the_nearest_and_sets_nothing"
    ],
    88: ["core.test_line::test_an_unclosed_quote_or_bracket_is_shown_with_a_caret"],
    89: [
        "connection.test_profiles::test_what_a_clipboard_or_a_shell_adds_is_trimmed",
        "connection.test_profiles::test_a_token_with_characters_that_no_token_has_is_refused_unseen",
    ],
    90: [
        "catalog.test_form::test_a_bad_value_is_an_error_of_its_field_in_one_line_and_is_kept"
    ],
    91: [
        "catalog.test_form::test_a_value_becomes_one_of_the_declared_type_without_loss",
        "catalog.test_form::test_what_stands_for_no_value_is_an_error_and_not_a_text",
    ],
    93: [
        "connection.test_login::test_a_token_typed_on_a_magic_line_is_refused_and_masked"
    ],
    95: [
        "frames.test_export::test_csv_text_that_a_spreadsheet_would_run_is_escaped_in_cells_and_headers",
        "frames.test_export::test_a_table_holds_nothing_that_a_terminal_would_obey",
    ],
    98: [
        "magic.test_extension::test_reloading_leaves_one_of_everything_and_unloading_nothing",
        "magic.test_extension::test_unloading_puts_back_a_magic_of_the_same_name",
    ],
    103: ["connection.test_login::test_no_source_shows_its_token"],
}


@pytest.mark.parametrize(
    "fault", FAULTS, ids=[f"{fault.row} {fault.cell[:60]}" for fault in FAULTS]
)
def test_a_fault_is_told_in_a_few_lines_and_nothing_is_sent(
    run: Callable[[str], Any],
    shell: InteractiveShell,
    capsys: pytest.CaptureFixture[str],
    fault: Fault,
) -> None:
    """The user's variables are as before, no token is shown, and the next call works."""
    before = set(shell.user_ns)
    shell.history_manager.reset()
    with pytest.raises(fault.error, match=fault.message) as caught:
        shell.run_cell(fault.cell, store_history=True).raise_error()
    shown = "".join(capsys.readouterr())
    assert shown.strip().startswith(f"{type(caught.value).__name__}: ")
    assert 1 <= len(caught.value.lines) == len(shown.strip("\n").splitlines()) <= 3
    assert CANARY not in shown
    assert set(shell.user_ns) - before <= {"given"} | {
        name for name in shell.user_ns if name.startswith("_i")
    }
    assert not Demo.runs
    if fault.row == 93:
        kept = shell.history_manager
        assert CANARY not in repr(
            [kept.input_hist_raw, kept.input_hist_parsed, shell.user_ns["In"]]
        )
        assert "****" in shell.user_ns["In"][-1]
    assert (
        len(
            run(
                "df = %funcs call get_panels\ndf"
                if "%funcs" in fault.cell
                else "funcs.get_panels()"
            )
        )
        == 2
    )


def test_each_row_is_shown() -> None:
    """Here, or by a test that exists under its name."""
    rows = {fault.row for fault in FAULTS} | ELSEWHERE.keys() | {94}
    assert rows == {*range(83, 96), 98, 103}
    for name in [name for names in ELSEWHERE.values() for name in names]:
        file, _, test = name.partition("::")
        assert callable(
            getattr(importlib.import_module(f"tests.{file}"), test, None)
        ), name


DESCRIBED = {
    84: (
        f"call {DAILY}",
        f"funcs.get_panel_daily(PanelName='{PANEL}')",
        "Symbol or Brand is required: 'Required if",
    ),
    85: ("Day=2025-02-30", "Day='2025-02-30'", "Day is not a valid date: '2025-02-30'"),
    86: ("Unit=wek", "Unit='wek'", r"Unit has no option 'wek'\. Did you mean 'week'\?"),
    90: (
        "Portion=1e999",
        "Portion='1e999'",
        "Portion takes a finite number, not '1e999'",
    ),
}


@pytest.mark.parametrize("row", DESCRIBED)
@pytest.mark.parametrize("in_python", [False, True])
def test_what_contradicts_a_description_is_warned_of_and_sent(
    run: Callable[[str], Any], row: int, in_python: bool
) -> None:
    """Rows 84, 85, 86 and 90: one warning per run, also for a dry run; hidden by -q and by validate=False."""
    magic, python, message = DESCRIBED[row]
    if row != 84:
        magic = f"call get_days First=a Second=b {magic}"
        python = f"funcs.get_days(First='a', Second='b', {python})"
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with pytest.raises(jf.FuncsError) as refused:
            run(python if in_python else f"%funcs {magic}")
    (warned,) = (str(warning.message) for warning in seen)
    assert re.search(message, warned)
    assert warned.endswith("The run is sent anyway.")
    assert len(Demo.runs) == 1
    assert str(refused.value).count("Symbol or Brand is required") == (row == 84)
    if not in_python:
        with pytest.warns(UserWarning, match=message):
            run(f"%funcs {magic} --dry-run -o line")
        run(f"%funcs {magic} --dry-run -q -o line")
    without = python.replace("(", ".with_options(validate=False).request(", 1)
    run(without)


def test_a_symbol_and_a_brand_together_are_valid(run: Callable[[str], Any]) -> None:
    """Row 84: they select the brands of the symbol, and no more rows than the symbol alone."""
    both = run(f"df = %funcs call {DAILY} Symbol=BKQU Brand=[Bulkandry]\ndf")
    args = {"PanelName": PANEL, "Symbol": "BKQU", "Brand": ["Bulkandry"]}
    # After it, the options for Tab are listed.
    assert args in [request["Args"] for request in Demo.runs]
    alone = run(f"{IN_PYTHON})")
    assert 0 < len(both) <= len(alone)


def test_typographic_quotes_are_quotes(run: Callable[[str], Any]) -> None:
    """Row 89: as phones and office programs write them, on a line and in a cell's body."""
    args = {"PanelName": PANEL, "Symbol": SYMBOL}
    run(
        f"%funcs call “Get Panel Daily” PanelName=“{PANEL}” Symbol=‘{SYMBOL}’ --dry-run -o line"
    )
    run(
        f"%%funcs call get_panel_daily --dry-run -o body\nPanelName: “{PANEL}”\nSymbol: ’{SYMBOL}’"
    )
    assert run("line['Args'], body['Args']") == (args, args)


@pytest.mark.parametrize(
    ("name", "value", "sent"),
    [
        ("PoPLookback", "np.int64(2)", "2"),
        ("PoPLookback", "np.float64(2)", "2"),
        ("PoPLookback", "Decimal('2')", "2"),
        ("PoPLookback", "pd.array([2], dtype='Int64')[0]", "2"),
        ("Dimensions", "pd.Series(['Region'], dtype='string')", ["Region"]),
        ("Dimensions", "np.array(['Region', 'Age Group'])", ["Region", "Age Group"]),
        ("PoPGrowth", "np.True_", "Yes"),
        ("StartDate", "pd.Timestamp('2025-03-04')", "2025-03-04"),
        ("StartDate", "np.datetime64('2025-03-04')", "2025-03-04"),
        ("Share", "Decimal('0.10')", "0.1"),
        ("Share", "np.float32(0.5)", "0.5"),
    ],
)
def test_what_numpy_and_pandas_give_is_converted_exactly(
    run: Callable[[str], Any], name: str, value: str, sent: Any
) -> None:
    """Row 91: as an object named on a line, and in Python."""
    of_days = name in Demo.PARAMS
    call = "get_days First=a Second=b" if of_days else f"{DAILY} Symbol=BKQU"
    python = (
        "funcs.get_days.request(First='a', Second='b', "
        if of_days
        else IN_PYTHON.replace("(", ".request(")
    )
    run(f"given = {value}\n%funcs call {call} {name}=$given --dry-run -o line")
    assert (
        run("line['Args']")[name]
        == run(f"{python}{name}={value})['Args']")[name]
        == sent
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("print", "-o print hides Python's print; `del print` restores it"),
        ("list", "-o list hides Python's list; `del list` restores it"),
        ("In", "-o In hides IPython's In until the kernel restarts"),
    ],
)
def test_a_result_that_hides_a_name_of_pythons_is_warned_of(
    run: Callable[[str], Any], name: str, message: str
) -> None:
    """Row 94: only for an explicit name, and not with -q; the result is bound anyway, and Python's own stays."""
    with pytest.warns(UserWarning, match=message):
        run(f"%funcs call get_panels -o {name}")
    assert len(run(name)) == 2
    assert hasattr(builtins, "print")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(f"%funcs call get_panels -q -o {name}")
        run(
            "%funcs call get_panels -o of_mine\n%funcs call get_panels -o of_mine\nlen = %funcs call get_panels"
        )


@pytest.mark.slow
def test_a_token_is_in_nothing_that_a_kernel_shows_or_stores(
    run: Callable[[str], Any],
    shell: InteractiveShell,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Row 103: tracebacks in every mode, %whos, %store, pickle, %config, and stored files."""
    run(
        "fn = funcs.get_panels\npanel = funcs.panel('Get Panels')\njob = fn.submit(); frame = job.result()"
    )
    run(
        "def fails(session, fn, panel, job, frame, wire, connection, secret):\n    raise KeyError(secret)"
    )
    run("remote = funcs.remote; connection = remote.transport.connection")
    call = "fails(funcs, fn, panel, job, frame, remote, connection, connection.token)"
    for mode in ("Plain", "Context", "Verbose", "Minimal"):
        shell.run_line_magic("xmode", mode)
        assert isinstance(shell.run_cell(call).error_in_exec, KeyError)
        assert isinstance(
            shell.run_cell("funcs['Get Panls']").error_in_exec, jf.NotFoundError
        )
    shell.run_line_magic("xmode", "Context")
    run("%whos\n%who\n%config\n%funcs lasterror\n%funcs status")
    run(
        "print(vars(funcs), vars(funcs.remote), vars(fn), vars(job), funcs, fn, panel, job)\nframe"
    )
    run("%load_ext storemagic\n%store frame")
    assert not shell.run_cell("%store funcs").success
    for name in ("funcs", "fn", "job"):
        with pytest.raises(TypeError):
            pickle.dumps(shell.user_ns[name])
    frame = pickle.loads(pickle.dumps(shell.user_ns["frame"]))
    assert frame.attrs == shell.user_ns["frame"].attrs
    assert isinstance(shell.user_ns["funcs"], Session)
    shell.user_ns["panel"].close()
    stored = [
        path.read_bytes()
        for path in Path(shell.ipython_dir).rglob("*")
        if path.is_file()
    ]
    assert any(b"Demo Card Panel" in content for content in stored)
    seen = "".join(capsys.readouterr()) + repr(stored) + repr(frame.attrs)
    for part in range(len(CANARY) - 12):
        assert CANARY[part : part + 12] not in seen
