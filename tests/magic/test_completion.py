"""
Tab in a real IPython and in live kernels: it offers what fits at the cursor, and sends no request.

To test another IPython, set ``FUNCS_TEST_OLD_PYTHON`` to the Python of its environment::

    python3 -m venv /tmp/ip812
    /tmp/ip812/bin/pip install . 'ipython==8.12.*' 'ipykernel>=6.29,<7'
    FUNCS_TEST_OLD_PYTHON=/tmp/ip812/bin/python pytest tests/magic/test_completion.py
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import httpx
import pandas as pd
import pytest
from IPython.core.completer import Completion, CompletionContext, provisionalcompleter

import jupyter_funcs as jf
from jupyter_funcs.magic import extension
from jupyter_funcs.service import embedded
from tests.client.test_client import ALL as NAMES
from tests.conftest import PANEL, SYMBOL, wait_until
from tests.examples import row_id
from tests.growth import assert_linear
from tests.magic.conftest import live_kernel
from tests.servers import serving
from tests.shells import interactive_shell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from IPython.core.interactiveshell import InteractiveShell
    from jupyter_client.blocking.client import BlockingKernelClient

FUNCTIONS = [name.lower().replace(" ", "_") for name in NAMES]
OF_DAILY = ["PanelName", "Symbol", "Brand", "PoPGrowth", "PoPLookback", "Dimensions"]
PANELS = ["Demo Card Panel", "Demo Debit Panel"]


class Counting(httpx.AsyncBaseTransport):
    """The embedded service's transport, which counts requests."""

    requests: ClassVar[list[str]] = []

    def __init__(self) -> None:
        self.inner = httpx.ASGITransport(embedded().app)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request.url.path)
        return await self.inner.handle_async_request(request)


@pytest.fixture(scope="module", autouse=True)
def profiles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Profiles that no test connects to; kernels started here have them too."""
    path = tmp_path_factory.mktemp("config") / "funcs.toml"
    names = ("work", "'lan.2'", "'my team'")
    path.write_text(
        "".join(f"[profiles.{name}]\nurl = 'https://x.example'\n" for name in names)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUNCS_CONFIG", str(path))
        yield


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    """A shell with the magic's session as `funcs`, and a session that has not listed its functions."""
    with interactive_shell() as shell:
        shell.run_line_magic("load_ext", "jupyter_funcs")
        sessions = extension.of(shell).state
        sessions._session = jf.connect(
            "http://localhost", token=embedded().token, transport=Counting()
        )
        shell.user_ns |= {
            "funcs": sessions._session,
            "unlisted": jf.connect(
                "http://localhost", token=embedded().token, transport=Counting()
            ),
            "symbol": SYMBOL,
            "held": {"here": sessions._session},
            "daily_runs": pd.DataFrame({"Symbol": [SYMBOL], "popgrowth": ["Yes"]}),
        }
        shell.run_cell(
            f"df = %funcs call get_panel_daily PanelName='{PANEL}' Symbol=$symbol"
        )
        shell.run_cell("daily = funcs['Get Panel Daily']")
        wait_until(lambda: len(sessions._session.remote.choices._choices) == 3)
        yield shell


def tab(shell: InteractiveShell, text: str) -> list[Completion]:
    """Press Tab at the mark ‸ in the text, or at its end."""
    at = text.index("‸") if "‸" in text else len(text)
    with provisionalcompleter():
        return list(shell.Completer.completions(text.replace("‸", ""), at))


def after_tab(text: str, completions: list[Completion]) -> list[str]:
    """Return the text before the cursor after each completion, from where the first one begins."""
    before = text.partition("‸")[0]
    begin = min((completion.start for completion in completions), default=len(before))
    return [
        before[begin : completion.start] + completion.text for completion in completions
    ]


def matched(shell: InteractiveShell, text: str, at: int | None = None) -> Any:
    """Return what our matcher alone offers at the end of a text, or in another of its lines."""
    *above, line = text.split("\n")
    place = len(above) if at is None else at
    context = CompletionContext(
        token="",
        full_text=text,
        cursor_position=len(line),
        cursor_line=place,
        limit=500,
    )
    return next(
        matcher
        for matcher in shell.Completer.custom_matchers
        if matcher.matcher_identifier == jf.__name__
    )(context)


COMMANDS = [
    "find",
    "list",
    "describe",
    "call",
    "run",
    "sweep",
    "panel",
    "result",
    "connect",
    "status",
    "refresh",
]
# What is before the cursor, and what is offered first; "…" where more may follow.
CASES: dict[str, list[str]] = {
    # Lines
    "%funcs ": [*COMMANDS, "…"],
    "  df = %funcs ": [*COMMANDS, "…"],
    "%funcs de": ["describe"],
    "%funcs call ": [*FUNCTIONS, *(f'"{name}"' for name in NAMES)],
    "%funcs describe get_panel_": [
        "get_panel_dimensions",
        "get_panel_daily",
        "get_panel_fq",
    ],
    "df = %funcs call get_k": ["get_kpis"],
    "df = %funcs call GET_K": ["get_kpis"],
    "x = 1\nfor _ in y:\n    df = %funcs run get_k": ["get_kpis"],
    '%funcs call "Get P': [
        '"Get Panels"',
        '"Get Panel Dimensions"',
        '"Get Panel Daily"',
        '"Get Panel FQ"',
    ],
    "%funcs call 'Get P‸'": [
        "'Get Panels",
        "'Get Panel Dimensions",
        "'Get Panel Daily",
        "'Get Panel FQ",
    ],
    "%funcs call “Get K": ["“Get KPIs”"],
    "%funcs call Get Panel D": ["Dimensions", "Daily"],
    "%funcs panel get_panel_daily ": [f"{name}=" for name in OF_DAILY],
    "%funcs call 'Get Panel Daily' po": ["PoPGrowth=", "PoPLookback="],
    "%funcs call Get Panel Daily po": ["PoPGrowth=", "PoPLookback="],
    "%funcs call get_panel_daily Symbol=x PoPGrowth=Yes ‸ Dimensions=[a]": [
        "PanelName=",
        "Brand=",
        "PoPLookback=",
    ],
    "%funcs call -q get_panel_daily --timeout 3 Sy": ["Symbol="],
    "%funcs call get_panel_daily PanelName=": [f'"{name}"' for name in PANELS],
    '%funcs call get_panel_daily PanelName="Demo D': ['"Demo Debit Panel"'],
    '%funcs call get_panel_daily PanelName="demo d‸" Symbol=x': ['"Demo Debit Panel'],
    "%funcs call get_panel_daily PanelName='": [f"'{name}'" for name in PANELS],
    '%funcs call get_panel_daily "PanelN': ["PanelName="],
    '%funcs call get_panel_daily "PanelName=Demo D': ['Demo Debit Panel"'],
    "%funcs call get_panel_daily Symbol=x 'PanelName=demo d‸'": ["Demo Debit Panel"],
    f'%funcs call get_panel_daily "PanelName={PANEL}" Brand=Bulk': [
        "Bulkandry",
        '"Bulkandry Fuel"',
    ],
    "%funcs call get_panel_daily Symbol=BKQ": [f'"{SYMBOL}"'],
    "%funcs call get_panel_daily PoPGrowth=": ["Yes", "No"],
    "%funcs call get_panel_daily PoPLookback=": ["1"],
    f"%funcs call get_panel_daily PanelName='{PANEL}' Brand=Bulk": [
        "Bulkandry",
        '"Bulkandry Fuel"',
    ],
    f"%funcs call get_panel_daily PanelName='{PANEL}' Brand=[Bulkandry, Bulk": [
        '"Bulkandry Fuel"'
    ],
    "%funcs call get_panel_daily Dimensions=[": ['"Age Group"', "Region", "Brand"],
    "%funcs call get_panel_daily Dimensions=[Region, 'Age Group', ": ["Brand"],
    "%funcs call get_panel_daily Dimensions=['Region', \"A": ['"Age Group"'],
    "%funcs call get_panel_daily Symbol=$sym": ["$symbol"],
    "%funcs call get_panel_daily --": [
        "--output",
        "--quiet",
        "--dry-run",
        "--timeout",
        "…",
        "--help",
    ],
    "%funcs find -": ["…", "-q", "…"],
    "%funcs sw": ["sweep"],
    "%funcs sweep get_k": ["get_kpis"],
    "%funcs sweep get_panel_daily ": [f"{name}=" for name in OF_DAILY],
    "%funcs sweep get_panel_daily $da": ["$daily_runs"],
    "%funcs sweep get_panel_daily $daily_runs P": ["PanelName=", "PoPLookback="],
    "%funcs sweep $daily_runs get_panel_daily ‸ PanelName=x": [
        "Brand=",
        "PoPLookback=",
        "Dimensions=",
    ],
    "%funcs sweep Get Panel Daily $daily_runs Dimensions=[[": [
        '"Age Group"',
        "Region",
        "Brand",
    ],
    "%funcs sweep get_panel_daily Symbol=[BKQ": [f'"{SYMBOL}"'],
    "%funcs sweep get_panel_daily PanelName=['Demo Card Panel', ": [
        '"Demo Debit Panel"'
    ],
    f"%funcs sweep get_panel_daily PanelName=['{PANEL}', x] Brand=[Bulkandry, Bulk": [
        '"Bulkandry Fuel"'
    ],
    "%funcs sweep get_panel_daily Dimensions=[[Region], [Region, ": [
        '"Age Group"',
        "Brand",
    ],
    "%funcs sweep get_panel_daily Dimensions=[[Region, Brand], ['Ag": ["'Age Group'"],
    "%funcs sweep get_panel_daily --p": ["--pairs", "--profile"],
    "%funcs sweep get_panel_daily --executor $da": ["$daily", "$daily_runs"],
    "%funcs connect ": ["work", "lan.2", '"my team"'],
    "%funcs connect W": ["work"],
    "%funcs connect 'my‸'": ["'my team"],
    "%funcs history ": ["on", "off", "clear"],
    "%funcs history --a": ["--all"],
    "%funcs cache ": ["clear"],
    "%funcs docs s": ["sweeps", "scale-out", "security"],
    "%funcs lock get_panels get_k": ["get_kpis"],
    "%funcs lock 'Get K": ["'Get KPIs'"],
    "%funcs call --profile ": ["work", "lan.2", '"my team"'],
    "%funcs call get_kpis --profile wo": ["work"],
    "df = %funcs find --profile=l": ["lan.2"],
    # Bodies
    "%%funcs ": ["call", "run", "sweep", "panel"],
    "\n%%funcs call get_k": ["get_kpis"],
    "%%funcs call get_panel_daily S": ["Symbol="],
    "%%funcs call get_panel_daily -o df\n": [f"{name}: " for name in OF_DAILY],
    "%%funcs call 'Get Panel Daily' Symbol=x\n  pop": ["PoPGrowth: ", "PoPLookback: "],
    "%%funcs call get_panel_daily\nP‸\nPoPGrowth: Yes\nSymbol: x": [
        "PanelName: ",
        "PoPLookback: ",
    ],
    "%%funcs call get_panel_daily\nPanelName: ": PANELS,
    "%%funcs call get_panel_daily\nSymbol: x\nPanelName: Demo D‸\nPoPGrowth: Yes": [
        "Demo Debit Panel"
    ],
    f"%%funcs call get_panel_daily\nBrand: Bulkandry F‸\nPanelName: {PANEL}": [
        "Bulkandry Fuel"
    ],
    "%%funcs call get_panel_daily\nDimensions: [Region, 'Ag": ["'Age Group'"],
    "%%funcs call get_panel_daily\nSymbol: $sy": ["$symbol"],
    "%%funcs sweep get_panel_daily $daily_runs\nPoPG": ["PoPGrowth: "],
    "%%funcs sweep get_panel_daily\nDimensions: [[Region], [Region, B": ["Brand"],
    "%%funcs sweep get_panel_daily\nPanelName: [\n  Demo D": ['"Demo Debit Panel"'],
    "%%funcs sweep get_panel_daily\nPanelName: [\n  Demo Card Panel,\n\n  ": [
        '"Demo Debit Panel"'
    ],
    "%%funcs call get_panel_daily\nDimensions: [Region,\n'Age Group'\nB": ["Brand"],
    "%%funcs call get_panel_daily\nDimensions: [Region,\nBrand]\nPoPG": ["PoPGrowth: "],
    "%%funcs call get_panel_daily\n{": [f'"{name}": ' for name in OF_DAILY],
    '%%funcs call get_panel_daily\n{"Sym': ['"Symbol": '],
    '%%funcs call get_panel_daily\n{"pop‸"}': ['"PoPGrowth', '"PoPLookback'],
    '%%funcs call get_panel_daily\n{\n  "Symbol": "a, {",\n  Pan‸\n  "PoPGrowth": "Yes"\n}': [
        '"PanelName": '
    ],
    '%%funcs call get_panel_daily\n{"PanelName": ': [f'"{name}"' for name in PANELS],
    '%%funcs call get_panel_daily\n{"PanelName": "Demo D': ['"Demo Debit Panel"'],
    '%%funcs call get_panel_daily\n{"Symbol": "x", "PanelName": "demo d‸"}': [
        '"Demo Debit Panel'
    ],
    f'%%funcs call get_panel_daily\n{{"PanelName": "{PANEL}", "Brand": "Bulkandry F': [
        '"Bulkandry Fuel"'
    ],
    f'%%funcs call get_panel_daily PanelName="{PANEL}"\n{{"Brand": ["Bulkandry", "Bulk': [
        '"Bulkandry Fuel"'
    ],
    '%%funcs call get_panel_daily\n{"Dimensions": ["Region", ': [
        '"Age Group"',
        '"Brand"',
    ],
    '%%funcs call get_panel_daily\n{"PoPGrowth": ': ['"Yes"', '"No"'],
    '%%funcs sweep get_panel_daily\n{"Dimensions": [["Region"], ["Region", ': [
        '"Age Group"',
        '"Brand"',
    ],
    # Python
    "funcs.": [*FUNCTIONS, "…"],
    "x = [funcs.get_k": ["get_kpis"],
    "daily.sub": ["submit"],
    "held['here'].get_k": ["get_kpis"],
    "funcs['": [f"'{name}'" for name in NAMES],
    "funcs[": [f'"{name}"' for name in NAMES],
    'funcs["Get K‸"]': ['"Get KPIs'],
    "funcs.panel('Get K": ["'Get KPIs'"],
    "funcs.panel('Get Panel Daily', Sy": ["Symbol="],
    "funcs.get_panel_daily(": [f"{name}=" for name in OF_DAILY],
    "df = funcs.get_panel_daily(\n    Symbol=f(1, 2),  # it's (\n    pop": [
        "PoPGrowth=",
        "PoPLookback=",
    ],
    "funcs.get_panel_daily(P‸, PoPGrowth=True)": ["PanelName=", "PoPLookback="],
    "funcs['Get Panel Daily'](Sy": ["Symbol="],
    "daily(Sy": ["Symbol="],
    "await daily.submit(Sy": ["Symbol="],
    "daily.with_options(ti": ["timeout="],
    "daily.with_options(timeout=3)(Sy": ["Symbol="],
    'funcs.get_panel_daily(PanelName="': [f'"{name}"' for name in PANELS],
    "funcs.get_panel_daily(PanelName=": [f'"{name}"' for name in PANELS],
    "funcs.get_panel_daily(Symbol=symbol, PanelName='demo d‸')": ["'Demo Debit Panel"],
    "daily(Symbol='BKQ": [f"'{SYMBOL}'"],
    "daily(PoPGrowth='": ["'Yes'", "'No'"],
    f"daily(PanelName={PANEL!r}, Brand='Bulk": ["'Bulkandry'", "'Bulkandry Fuel'"],
    f"daily(PanelName={PANEL!r}, Brand=['Bulkandry', 'Bulk": ["'Bulkandry Fuel'"],
    "print(daily(Dimensions=['Region', ": ['"Age Group"', '"Brand"'],
    "daily.sweep(daily_runs, P": ["PanelName=", "PoPGrowth=", "PoPLookback="],
    "daily.sweep(Symbol=['BKQ": [f"'{SYMBOL}'"],
    f"daily.sweep(PanelName=[{PANEL!r}], Brand=['Bulkandry', 'Bulk": [
        "'Bulkandry Fuel'"
    ],
    "funcs.get_panel_daily.sweep(Dimensions=[['Region'], ['Region', 'B": ["'Brand'"],
    "daily.with_options(concurrency=8, p": ["pages=", "pairs=", "progress="],
}


@pytest.mark.parametrize(("text", "offered"), CASES.items(), ids=map(row_id, CASES))
def test_tab_offers_what_fits_and_sends_nothing(
    shell: InteractiveShell, text: str, offered: list[str]
) -> None:
    """Tab offers what fits at the cursor and nothing else, in order, and sends no request."""
    sent = len(Counting.requests)
    completions = tab(shell, text)
    ours = after_tab(
        text,
        [completion for completion in completions if completion._origin == jf.__name__],
    )
    assert len(Counting.requests) == sent
    if offered:
        assert len(ours) == len(completions)
    wanted = [value for value in offered if value != "…"]
    if "…" in offered:
        assert [value for value in ours if value in wanted] == wanted
    else:
        assert ours == wanted
    before = text.partition("‸")[0]
    assert all(completion.end == len(before) for completion in completions)


NOT_OURS = [
    *(
        "",
        "x = 'it",
        "import js",
        "%time",
        "%funcsy ca",
        "%funcs call get_panel_daily --timeout ",
        "%funcs find -o d",
    ),
    *(
        "'funcs.get_panel_daily(",
        "# funcs.get_panel_daily(",
        "funcs.get_panel_daily(Symbol=x + ",
    ),
    *(
        "funcs.get_panel_daily(Symbol='x' + 'BK",
        "funcs.get_panel_daily(f(",
        "funcs.get_panel_daily('",
    ),
    *("print('funcs.", "symbol.", "nothing.get_panel_daily(", "nothing['"),
]


NOTHING_FITS = [
    *(
        "%funcs call get_panel_daily Nothing=",
        "%funcs call get_panel_daily PoPLookback=2",
        "%funcs call nothing x",
    ),
    *(
        "%funcs describe get_panel_daily ",
        "%funcs find Get",
        "%funcs connect work ",
        "%funcs history on ",
    ),
    *(
        "%funcs cache clear ",
        "%funcs again ",
        "%funcs call --profile work get_k",
        "%%funcs call nothing\nSym",
    ),
    *(
        "%%funcs call get_panel_daily\n# Pan",
        "%%funcs call get_panel_daily\nPoPLookback: 2",
    ),
    *(
        '%%funcs call get_panel_daily Symbol=x\n{"s‸"}',
        "%%funcs call get_panel_daily\n{'Pan",
    ),
    *(
        '%%funcs call get_panel_daily\n{"Nothing": "',
        '%%funcs call get_panel_daily\n{"Symbol": {"Pan',
    ),
    *(
        '%%funcs call get_panel_daily\n{"Symbol": "x" "Pan',
        '%%funcs call get_panel_daily\n[{"Pan',
    ),
    *(
        '%%funcs call get_panel_daily\n{"Dimensions": ["Region" ',
        "funcs.get_panel_daily(PanelName='nothing",
    ),
]


@pytest.mark.parametrize("text", NOTHING_FITS, ids=row_id)
def test_where_nothing_fits_what_others_offer_does_not_either(
    shell: InteractiveShell, text: str
) -> None:
    """Python's hundreds of names would mislead there: Tab offers one empty text, which changes nothing."""
    at = len(text.partition("‸")[0])
    assert [
        (completion.text, completion.start, completion.end)
        for completion in tab(shell, text)
    ] == [("", at, at)]


@pytest.mark.slow
@pytest.mark.parametrize("text", NOT_OURS, ids=row_id)
def test_elsewhere_nothing_of_ours_is_offered(
    shell: InteractiveShell, text: str, capsys: Any
) -> None:
    """Elsewhere other completers work as usual."""
    with warnings.catch_warnings():
        # Of jedi and Python about this code.
        warnings.simplefilter("ignore", SyntaxWarning)
        assert not [
            completion
            for completion in tab(shell, text)
            if completion._origin == jf.__name__
        ]
    assert not any(capsys.readouterr())


@pytest.mark.usefixtures("no_hang")
@pytest.mark.parametrize(
    "piece",
    [
        "(",
        "[",
        "()",
        "[]",
        "a.",
        "a",
        "'",
        '"""',
        "\\",
        "f(x=",
        "f(x=[",
        ",",
        "# (\n",
        "é",
        " ",
    ],
)
@pytest.mark.parametrize(
    "begin",
    [
        "daily",
        "%funcs call ",
        "%%funcs call get_panel_daily\n",
        "%funcs call get_kpis a=[",
        "daily(Symbol='",
    ],
)
def test_long_hostile_text_is_read_in_one_go(
    shell: InteractiveShell, begin: str, piece: str
) -> None:
    """The time is linear in the length, and the nesting is bounded."""
    assert isinstance(
        matched(shell, begin + piece * (20_000 // len(piece)))["completions"], list
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["# (\n", '"a": 1,\n', '"a": [', "a: 1\n", "a: [1,\n", "[", "'", "\\"]
)
@pytest.mark.parametrize("begin", ["", "{"])
def test_a_long_body_of_a_cell_takes_linear_time(
    shell: InteractiveShell, begin: str, piece: str
) -> None:
    """A body is JSON or lines, and has no bound."""
    assert_linear(
        lambda size: matched(
            shell, f"%%funcs call get_panel_daily\n{begin}{piece * size}"
        ),
        200_000,
    )


UNLISTED = [
    *(
        "unlisted.",
        "unlisted.get_panel_daily(",
        "unlisted.get_panel_daily.",
        "unlisted.get_panel_daily(PanelName='",
    ),
    *(
        "unlisted['",
        "unlisted['Get Panel Daily'](",
        "unlisted['Get Panel Daily'].",
        "unlisted.catalog.",
    ),
    *("unlisted.names[0].", "for fn in unlisted:\n    fn.", "a, b = unlisted\na."),
    *("fn = unlisted.get_panel_daily\nfn(", "(lambda: unlisted.get_panel_daily)()."),
]


@pytest.mark.parametrize("text", UNLISTED)
def test_a_catalog_that_is_not_known_is_not_asked_for(
    shell: InteractiveShell, text: str, capsys: Any
) -> None:
    """Neither the matcher nor jedi nor IPython, which look up attributes, makes a session send a request."""
    sent = len(Counting.requests)
    tab(shell, text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        shell.Completer.complete(line_buffer=text.splitlines()[-1])
    assert len(Counting.requests) == sent
    assert shell.user_ns["unlisted"].listed is None
    assert not any(capsys.readouterr())


def test_the_numbers_of_the_runs_so_far_are_offered(shell: InteractiveShell) -> None:
    """For %funcs again, the latest first."""
    for _ in range(2):
        shell.run_cell("df = %funcs call get_panels").raise_error()
    assert [completion.text for completion in tab(shell, "%funcs again ")] == ["2", "1"]
    assert [completion.text for completion in tab(shell, "%funcs again 1")] == ["1"]


def test_the_older_way_of_asking_gives_the_same(shell: InteractiveShell) -> None:
    """Plain consoles call `complete` with the line only."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        typed, offered = shell.Completer.complete(line_buffer="%funcs call get_k")
    assert (typed, list(offered)) == ("get_k", ["get_kpis"])


def test_what_a_listing_function_gave_is_known_while_it_is_held(
    shell: InteractiveShell,
) -> None:
    """The frame of a listing function's run provides values too, without another request."""
    session = jf.connect(
        "http://localhost", token=embedded().token, transport=Counting()
    )
    shell.user_ns["other"] = session
    panels = session.get_panels()
    sent = len(Counting.requests)
    text = "other.get_panel_daily(PanelName='"
    assert after_tab(text, tab(shell, text)) == [f"'{name}'" for name in PANELS]
    session.refresh()
    assert [completion.text for completion in tab(shell, text)] == [""]
    assert len(panels) == len(PANELS)
    assert len(Counting.requests) == sent + 1
    del shell.user_ns["other"]


def test_each_result_is_a_fresh_one(shell: InteractiveShell) -> None:
    """A completer that changes a result doesn't change the next one."""
    first = matched(shell, "%funcs call get_k")
    first["completions"].clear()
    first["suppress"] = False
    second = matched(shell, "%funcs call get_k")
    assert [completion.text for completion in second["completions"]] == ["get_kpis"]
    assert second["suppress"]


def test_a_matcher_that_fails_is_silent(shell: InteractiveShell, capsys: Any) -> None:
    """An error inside the matcher offers nothing and shows nothing."""
    assert matched(shell, "", at=7) == {"completions": []}
    assert not any(capsys.readouterr())


def test_hostile_names_are_not_put_into_a_line(
    answering: Any, shell: InteractiveShell
) -> None:
    """Names with control characters are not offered, and quotes within a value are escaped."""
    names = [
        "Plain",
        "It's",
        'Say "it"',
        "Both ' and \"",
        "Bad \x1b[31m",
        "New\nline",
        "\u202eabc",
        "a\\b",
    ]
    shell.user_ns["hostile"] = session = answering(
        lambda _: httpx.Response(
            200, json=[{"id": at + 1, "name": name} for at, name in enumerate(names)]
        )
    )
    assert len(session.names) == len(names)
    text = "hostile['"
    offered = after_tab(text, tab(shell, text))
    assert offered == [
        "'Plain'",
        "'It\\'s'",
        "'Say \"it\"'",
        "'Both \\' and \"'",
        "'a\\\\b'",
    ]
    assert [session[eval(quoted)].name for quoted in offered] == [
        "Plain",
        "It's",
        'Say "it"',
        "Both ' and \"",
        "a\\b",
    ]
    del shell.user_ns["hostile"]


# ---------------------------------------------------------------------------------------------------------- kernels

OLD = os.environ.get("FUNCS_TEST_OLD_PYTHON", "")
SERVED: list[str] = []


async def counted(scope: Any, receive: Any, send: Any) -> None:
    SERVED.append(scope.get("path", ""))
    await embedded().app(scope, receive, send)


def values_of(client: BlockingKernelClient, name: str) -> list[str]:
    """Return what Tab offers for an argument: nothing until the reply that lists its values was read."""
    code = f"%funcs call get_panel_daily PanelName='{PANEL}' {name}="
    return [
        value
        for value in client.complete(code, reply=True, timeout=60)["content"]["matches"]
        if value
    ]


@pytest.fixture(
    scope="module",
    params=[
        sys.executable,
        pytest.param(
            OLD,
            marks=pytest.mark.skipif(
                not OLD, reason="FUNCS_TEST_OLD_PYTHON names no Python"
            ),
        ),
    ],
    ids=["this", "old"],
)
def kernel(request: pytest.FixtureRequest) -> Iterator[BlockingKernelClient]:
    """A live kernel with the extension, a session over HTTP, and the values listed by a first run."""
    path = str(Path(jf.__file__).parent.parent)
    with (
        serving(counted) as url,
        live_kernel(
            request.param,
            PYTHONPATH=path,
            FUNCS_BASE_URL=url,
            FUNCS_TOKEN=embedded().token,
        ) as client,
    ):
        run(
            client,
            "%load_ext jupyter_funcs\nimport jupyter_funcs as jf; unlisted = jf.connect()",
        )
        run(
            client,
            f"df = %funcs call get_panel_daily PanelName='{PANEL}' Symbol='{SYMBOL}'",
        )
        run(
            client,
            "from jupyter_funcs.magic import extension; funcs = extension.of(get_ipython()).state.current",
        )
        # The listing, the run, and three that list values.
        wait_until(lambda: len(SERVED) >= 5)
        wait_until(
            lambda: all(
                values_of(client, name) for name in ("PanelName", "Symbol", "Brand")
            )
        )
        yield client
        SERVED.clear()


def run(client: BlockingKernelClient, code: str) -> None:
    reply = client.execute_interactive(code, timeout=60, output_hook=lambda _: None)
    assert reply["content"]["status"] == "ok", reply["content"]


KERNEL_CASES = [text for text in CASES if text.startswith(("%", "df = %", "funcs"))]


@pytest.mark.slow
def test_a_live_kernel_completes_the_same(kernel: BlockingKernelClient) -> None:
    """`complete_request` returns what the table says, and sends no request to the service."""
    run(kernel, f"symbol = {SYMBOL!r}")
    run(kernel, "import pandas as pd")
    run(
        kernel,
        f"daily_runs = pd.DataFrame({{'Symbol': [{SYMBOL!r}], 'popgrowth': ['Yes']}})",
    )
    run(kernel, "daily = funcs['Get Panel Daily']")
    sent = len(SERVED)
    for text in KERNEL_CASES:
        at = text.index("‸") if "‸" in text else len(text)
        code = text.replace("‸", "")
        content = kernel.complete(code, at, reply=True, timeout=60)["content"]
        assert content["status"] == "ok"
        wanted = [value for value in CASES[text] if value != "…"]
        if not wanted:
            continue
        matches = content["matches"]
        assert content["cursor_end"] == at, text
        assert [value for value in matches if value in wanted] == wanted, text
        assert "…" in CASES[text] or len(matches) == len(wanted), text
    for text in UNLISTED:
        assert (
            kernel.complete(text, len(text), reply=True, timeout=60)["content"][
                "status"
            ]
            == "ok"
        )
    assert len(SERVED) == sent


@pytest.mark.slow
def test_a_plain_call_lists_the_values_of_the_next(
    kernel: BlockingKernelClient,
) -> None:
    """A call in Python lists panels, symbols and brands in the background, once, as %funcs call does."""
    sent = len(SERVED)
    run(
        kernel,
        f"other = jf.connect(); call = dict(PanelName={PANEL!r}, Symbol={SYMBOL!r})",
    )
    run(kernel, "df = other.get_panel_daily(**call)")
    text = f"other.get_panel_daily(PanelName={PANEL!r}, Brand='Bulkandry F"
    wait_until(
        lambda: (
            kernel.complete(text, reply=True, timeout=60)["content"]["matches"]
            == ["'Bulkandry Fuel'"]
        )
    )
    assert len(SERVED) == sent + 5  # the listing, the run, and three that list values
    run(kernel, "df = other.get_panel_daily(**call)")
    run(kernel, "import asyncio; from jupyter_funcs.core import background")
    run(kernel, "background.wait(background.start(asyncio.sleep(0.05)))")
    assert len(SERVED) == sent + 6
