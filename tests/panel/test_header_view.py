"""The header of the panel and its start: search, favourites, examples, presets, and the messages of Refresh."""

from __future__ import annotations

import contextlib
import datetime as dt  # noqa: TC003  # of annotations that are read
import functools
import json
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

import httpx
import pandas as pd
import pytest

import jupyter_funcs as jf
from jupyter_funcs.catalog.listing import Catalog, Function, Param
from jupyter_funcs.core import background
from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.panel.header_view import HeaderView, example_text, example_values
from jupyter_funcs.panel.panel import Panel
from jupyter_funcs.records.favourites import Favourites
from tests.conftest import PANEL, SYMBOL
from tests.growth import assert_linear
from tests.panel.page import Page

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jupyter_funcs.api import Session

OURS = "Quarter to date vs last year"
HOSTILE = "<b onclick=x>$x$ **b** \x1b[31m\u202e" + "n" * 300


class Listed:
    """As much of a session as the picker needs."""

    def __init__(self, catalog: Catalog | None, path: Path) -> None:
        self.listed = catalog
        self.favourites = Favourites("s", path / "favourites.json")

    def ids(self, query: str = "", first: int = 0) -> dict[str, list[str]]:
        """Return what the picker lists, by title."""
        view = HeaderView(self).functions(query, first)  # type: ignore[arg-type]
        json.dumps(view).encode()
        return {
            section["title"]: [function["id"] for function in section["functions"]]
            for section in view["sections"]
        }


def function(name: str, group: str = "", **more: Any) -> Function:
    return Function(name=name, group_name=group, **more)


def test_functions_are_listed_by_group_below_favourites_and_recent_ones(
    tmp_path: Path,
) -> None:
    """Each is listed once, by its id: a function with the same name as a favourite stays in its group."""
    functions = [
        function(*named)
        for named in (("A", "One"), ("B", "Two"), ("C", "One"), ("A", "Two"))
    ]
    listed = Listed(Catalog(functions), tmp_path)
    assert listed.ids() == {"One": ["a", "c"], "Two": ["b", "a_2"]}
    listed.favourites.mark("A", is_favourite=True)
    for name in ("B", "A", "No longer there"):
        listed.favourites.add_recent(name)
    assert listed.ids() == {
        "Favourites": ["a"],
        "Recent": ["b"],
        "One": ["c"],
        "Two": ["a_2"],
    }
    assert Listed(None, tmp_path).ids() == {}


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("spend", ["spend", "get_spend", "get_panel", "get_region", "get_kpis"]),
        ("spend GET", ["get_spend", "get_panel", "get_region", "get_kpis"]),
        ("symbol", ["get_kpis"]),
        ("midwest", ["get_region"]),
        ("zz", []),
    ],
)
def test_a_search_is_ranked(tmp_path: Path, words: str, wanted: list[str]) -> None:
    """An exact name comes first, then other names, then matches in descriptions, parameters and options."""
    catalog = Catalog(
        [
            function("Get Panel", description="Spend by day."),
            function(
                "Get Region",
                params=(
                    Param(name="Spend", description="Options are 'Midwest', 'South'."),
                ),
            ),
            function("Get Spend"),
            function("Get KPIs", params=(Param(name="Symbol"), Param(name="Spend"))),
            function("Spend"),
        ]
    )
    assert Listed(catalog, tmp_path).ids(words) == ({"": wanted} if wanted else {})


def test_ten_thousand_functions_are_listed_to_the_last_in_pages(tmp_path: Path) -> None:
    """At most 100 are sent at a time; all are counted, in linear time."""

    @functools.cache
    def listed_with(number: int) -> Listed:
        return Listed(
            Catalog(
                [function(f"Get {at}", f"Group {at % 40}") for at in range(number)]
            ),
            tmp_path,
        )

    assert_linear(lambda number: listed_with(number).ids("get 9"), 2500, start=500)
    listed = listed_with(10_000)
    seen = []
    for query, first in (("", 0), ("", 9_950), ("", 20_000), ("get 99", 0)):
        view = HeaderView(listed).functions(query, first)  # type: ignore[arg-type]
        seen.append(sum(len(section["functions"]) for section in view["sections"]))
        assert (view["total"], len(json.dumps(view)) < 20_000) == (10_000, True)
    assert seen == [100, 50, 0, 100]
    some = [
        function_id
        for first in (100, 5_000, 9_900)
        for ids in listed.ids("", first).values()
        for function_id in ids
    ]
    assert len(set(some)) == 300


def test_texts_of_any_length_and_kind_are_short_and_visible(tmp_path: Path) -> None:
    """Names and groups are cut, and show what can't be seen; markup stays as it is, since the page shows it as text."""
    [(title, [_])] = (
        Listed(Catalog([function(HOSTILE, HOSTILE)]), tmp_path).ids().items()
    )
    assert title.startswith("<b onclick=x>$x$ **b** \\x1b[31m\\u202ennn")
    assert len(title) == 120


UNIT = {"name": "Unit", "required": True, "description": "Options are 'day', 'week'."}
BY = {
    "name": "Dimensions",
    "type": 4,
    "description": "Options are 'Age Group', 'Region'.",
}


def serving(answering: Callable[..., Session], *functions: dict[str, Any]) -> Session:
    return answering(lambda _: httpx.Response(200, json=list(functions)))


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ([], "all rows"),
        ([{"name": "Note"}], "default values"),
        ([UNIT], "Unit day"),
        ([{"name": "Note", "required": True}], ""),
        ([UNIT, BY], "day by Age Group"),
        (
            [
                {
                    "name": "S",
                    "required": True,
                    "description": "Use function 'G' to get a list.",
                }
            ],
            "the first S",
        ),
    ],
)
def test_an_example_says_what_it_asks(
    answering: Callable[..., Session], params: list[Any], says: str
) -> None:
    """By the values that its run sends, as far as they are listed; empty if there is no example."""
    session = serving(answering, {"name": "F", "params": params}, {"name": "G"})
    assert example_text(session["F"]) == says


def test_an_example_stays_the_same_after_a_refused_run(
    funcs: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refused run lists the functions again; where nothing changed, the listed values stay known."""
    monkeypatch.setattr("jupyter_funcs.client.client._LISTED_JUST_NOW", 0.0)
    function = funcs["Get Panel Daily"]
    background.run(example_values(function, function.form()))
    example = example_text(function)
    with pytest.raises(ArgumentError, match="NOSUCH"):
        function(PanelName=PANEL, Symbol="NOSUCH")
    assert (
        example_text(function)
        == example
        == "BKQU US EQUITY by Age Group, Demo Card Panel"
    )


def test_nothing_that_changes_data_is_an_example() -> None:
    """A function that changes data has none: nobody asked for the change."""

    def send(to: str = "all") -> str:
        """Send it."""
        return to

    session = jf.connect([send])
    assert len(session.catalog) == 1
    view = HeaderView(session).start([])
    assert [card["example"] for card in view["cards"]] == ["default values"]
    changing = session["Send"].function.changed(changes_data=True)
    call = session["Send"].with_options()
    call.function = changing
    assert example_text(call) == ""


def test_the_cards_of_the_demo_say_real_values(page: Page) -> None:
    """Names the panel and the symbol of the example once they are listed, and runs just that."""
    session = page.panel._state.session
    call = session["Get Panel Daily"]
    values = background.run(example_values(call, call.form()))
    assert values == {"PanelName": PANEL, "Symbol": SYMBOL, "Dimensions": "Age Group"}
    says = f"{SYMBOL} by Age Group, {PANEL}"
    assert example_text(call) == says
    page.ask("choose", function="get_panel_daily")
    assert page.state("_view")["function"]["example"] == says
    page.ask("example", function="get_panel_daily")
    assert len(page.panel.result(60))
    assert page.args.keys() == values.keys()


def test_the_demo_comes_with_a_preset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fills in what a run needs, is marked as shipped and, unlike a user's own, can't be replaced or deleted."""
    monkeypatch.setenv("FUNCS_PRESETS", str(tmp_path / "presets.toml"))
    panel = Panel(jf.connect(), trusted=True)
    page = Page(panel)
    [start] = page.state("_view")["start"]["presets"]
    assert (start["name"], start["shipped"], start["function"]) == (
        OURS,
        True,
        "get_panel_fq",
    )
    assert page.ask("preset", name=OURS, function="get_panel_fq")["said"] == ""
    values = page.state("_values")
    assert (values["preset"], values["valid"]) == (OURS, True)
    to_date = {
        "PeriodToDate": "Yes",
        "PoPGrowth": "Yes",
        "UseReportedForCurrentPeriod": "No",
    }
    assert page.args == {"PanelName": PANEL, "Symbol": SYMBOL, **to_date}
    for kind, fields in (("preset_delete", {}), ("preset_save", {"replace": True})):
        assert (
            page.ask(kind, name=OURS, **fields)["error"][0]
            == f"{OURS!r} comes with the demo."
        )
    assert page.ask("preset_save", name="mine", replace=False)["exists"] is False
    shown = [
        (preset["name"], preset["shipped"]) for preset in page.state("_view")["presets"]
    ]
    assert shown == [(OURS, True), ("mine", False)]
    page.ask("preset_delete", name="mine")
    assert [preset["name"] for preset in page.state("_view")["presets"]] == [OURS]
    page.run()
    frame = panel.result(60)
    now = frame[frame["IsCurrentQuarter"] & frame["PeriodToDate"]]
    assert len(now) == 1
    assert now["Spend Growth"].notna().all()
    panel.close()


def test_a_preset_leaves_the_fields_that_it_does_not_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A preset of the demo and a user's own, which leaves out empty fields; the panel says what stays."""
    monkeypatch.setenv("FUNCS_PRESETS", str(tmp_path / "presets.toml"))
    panel = Panel(jf.connect(), trusted=True)
    page = Page(panel)
    page.ask("choose", function="get_panel_fq")
    page.ask("set", seq=1, field="PeriodToDate", value="No")
    page.ask("preset_save", name="whole quarters", replace=False)
    mine = {"Symbol": "MCHQ", "Dimensions": ["Region"]}
    for name, value in mine.items():
        page.ask("set", seq=2, field=name, value=value)
    stay = "Unchanged: Symbol and Dimensions."
    assert page.ask("preset", name=OURS, function="")["said"] == stay
    to_date = {
        "PeriodToDate": "Yes",
        "PoPGrowth": "Yes",
        "UseReportedForCurrentPeriod": "No",
    }
    # A required field that is empty gets an example.
    assert page.args == {
        "PanelName": PANEL,
        **mine,
        **to_date,
    }
    page.ask("set", seq=3, field="Dimensions", value=None)
    message = page.ask("preset", name="whole quarters", function="")["said"]
    assert message == "Unchanged: Panel Name, Symbol, PoP Growth and 1 more."
    assert page.args == {
        "PanelName": PANEL,
        "Symbol": "MCHQ",
        **to_date,
        "PeriodToDate": "No",
    }
    assert page.state("_values")["preset"] == "whole quarters"
    page.ask("clear")
    assert page.ask("preset", name="whole quarters", function="")["said"] == ""
    panel.close()


def test_another_service_comes_without_presets(
    answering: Callable[..., Session],
) -> None:
    """A function of the same name in another service has none."""
    assert (
        HeaderView(serving(answering, {"name": "Get Panel FQ"})).start([])["presets"]
        == []
    )


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("weekly spend by region", {"Get Panel Daily"}),
        ("weekly", {"Get Panel Daily"}),
        ("qarterly spnd", {"Get Panel FQ"}),
        ("quarter to date", {"Get Panel FQ"}),
        ("earnings season", {"Get Panel FQ"}),
        ("yoy", {"Get Panel Daily", "Get Panel FQ"}),
        ("year over year growth", {"Get Panel Daily", "Get Panel FQ"}),
        ("fiscal", {"Get Panel FQ"}),
        ("ticker list", {"Get Universe"}),
        ("which companies", {"Get Universe"}),
        ("data sets", {"Get Panels"}),
        ("providers", {"Get Panels"}),
        ("metrics", {"Get KPIs"}),
        ("what can I measure", {"Get KPIs"}),
        ("age", {"Get Panel Dimensions"}),
        ("brands of a company", {"Get Panel Dimensions"}),
        ("saved report", {"Get Report"}),
        ("transactions per card", {"Get Panel Daily"}),
        ("symbols", {"Get Universe"}),
        ("panel names", {"Get Panels"}),
    ],
)
def test_a_question_in_other_words_finds_its_function(
    words: str, wanted: set[str]
) -> None:
    """With typing errors, in the plural or by a synonym: among the first three, in the picker and with `find`."""
    session = jf.connect()
    names = list(session.find(words)["name"])
    assert wanted <= set(names[:3])
    [section] = HeaderView(session).functions(words)["sections"]
    assert [function["name"] for function in section["functions"]] == names


def takings(shop: str = "") -> None:
    """Money that was taken in a shop."""


def metrics(kpi: str = "") -> None:
    """What is counted."""


def test_a_profile_has_synonyms_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside ours and, like ours, matched without their endings; they and the time limit remain after a refresh."""
    monkeypatch.setitem(
        sys.modules, "shops_of_ours", module := ModuleType("shops_of_ours")
    )
    for made in (takings, metrics):
        monkeypatch.setattr(made, "__module__", module.__name__)
        setattr(module, made.__name__, made)
    profile = [
        "[profiles.ours]",
        'kind = "python"',
        'module = "shops_of_ours"',
        "timeout = 7",
    ]
    profile += [
        "[profiles.ours.synonyms]",
        'Turnover = ["takings"]',
        'metrics = ["taken"]',
    ]
    (tmp_path / "profiles.toml").write_text("\n".join(profile))
    monkeypatch.setenv("FUNCS_CONFIG", str(tmp_path / "profiles.toml"))
    session = jf.connect("ours")
    for _ in range(2):
        assert list(session.find("turnovers")["name"]) == ["Takings"]
        assert set(session.find("metrics")["name"]) == {"Metrics", "Takings"}
        session.refresh()
    assert session.remote.seconds(session["Takings"].options) == 7


def visits(
    symbol: str, day: dt.date, region: Literal["North", "South"] = "North"
) -> None:
    """Visits of a company since a day."""


def shops(region: list[str], staff: int = 0, is_open: bool = True) -> None:
    """Shops of some regions."""


def companies() -> pd.DataFrame:
    """One row of each type."""
    return pd.DataFrame(
        {
            "Ticker": ["NVRA"],
            "Region": ["South"],
            "Since": pd.to_datetime(["2024-02-29"]),
            "Staff": [12],
            "Is Open": [True],
            "Note": ["$staff"],
        }
    )


USES: dict[str, list[tuple[str, str, str | list[str]]]] = {
    "Ticker": [("visits", "symbol", "NVRA")],
    "Region": [("visits", "region", "South"), ("shops", "region", ["South"])],
    "Since": [("visits", "day", "2024-02-29")],
    "Staff": [("shops", "staff", "12")],
    "Is Open": [],
    "Note": [],
}


@pytest.mark.parametrize("name", USES)
def test_a_value_is_used_in_functions_that_take_it(name: str) -> None:
    """By their options, by the name of the column and by its kind; a list takes it as its only value."""
    with contextlib.closing(
        jf.connect([companies, visits, shops]).panel("Companies")
    ) as panel:
        page = Page(panel)
        cell = {"query": {}, "row": 0, "at": [*USES].index(name), "run": page.run()}
        uses = page.ask("uses", **cell)["uses"]
        assert [(use["function"], use["field"], use["value"]) for use in uses] == USES[
            name
        ]
        for use in uses:
            page.ask("choose", function=use["function"])
            page.ask("set", seq=0, field=use["field"], value=use["value"])
            assert not panel.form.errors.get(use["field"])


def test_a_link_fills_in_a_form_and_runs_nothing(page: Page) -> None:
    """Also from an address with other parts; several values are several runs, and a visitor's `$x` is a text."""
    page.panel._state.trusted = False
    link = "?theme=dark&funcs=Get+Panel+Daily&PanelName=$x&Symbol=A&Symbol=B&Dimensions=Region"
    page.ask("link", text=f"https://hub.example/voila/a.ipynb{link}")
    form = page.panel.form
    assert form is not None
    assert form["PanelName"] == "$x"
    assert form.runs == 2
    assert form.args["Symbol"] == ["A", "B"]
    assert form.args["Dimensions"] == ["Region"]
    assert page.state("_run")["number"] == 0
    assert page.ask("link", text="?funcs=Nothing")["error"]
    assert page.ask("link", text="?funcs=Get+Panel+FQ&No=1")["error"]
