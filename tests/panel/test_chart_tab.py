"""The Chart tab without a front end: what it shows, what can be chosen, and which of several drawings stays."""

from __future__ import annotations

import asyncio
import datetime as dt
import importlib.util
import sys
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from ipywidgets.widgets.widget import _instances

from jupyter_funcs.core import background
from jupyter_funcs.panel.chart.plot import NO_WISH
from jupyter_funcs.panel.result import chart_tab
from jupyter_funcs.panel.result.chart_tab import ChartTab
from jupyter_funcs.panel.shared.outcome import Outcome
from jupyter_funcs.panel.shared.parts import Parts
from tests.conftest import PANEL, SYMBOL
from tests.panel.test_controls import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_funcs.api import Session

CALL = {"PanelName": PANEL, "Symbol": SYMBOL}


@pytest.fixture
def tab() -> Iterator[ChartTab]:
    made = ChartTab(lambda callback: callback, Parts())
    yield made
    made.close()


@pytest.fixture(scope="module")
def outcome(funcs: Session) -> Outcome:
    frame = funcs.get_panel_daily(**CALL, Dimensions=["Region", "Age Group"], PoPGrowth="Yes")
    return Outcome(funcs["Get Panel Daily"], CALL, frame, None, dt.datetime.now(dt.UTC), 0.1, "", "daily")


def show(tab: ChartTab, outcome: Outcome | None) -> str:
    background.wait(background.start(tab.show(outcome)), 60)
    return str(tab._picture.value)


def choose(tab: ChartTab, name: str, value: str) -> None:
    before = tab._picture.value
    tab._choices[name].value = value
    wait_until(lambda: tab._picture.value != before and "jf-old" not in tab._picture._dom_classes)


def test_before_a_run_it_says_what_to_do(tab: ChartTab) -> None:
    """There is a sentence and no control; after a run was taken away again, too."""
    assert "Run the function to see a chart." in tab._picture.value
    assert not tab._row.children
    assert not tab._choices


def test_a_run_is_a_picture_a_caption_and_its_code(tab: ChartTab, outcome: Outcome) -> None:
    """The picture, what was brought together in it, and code with the name of the user's variable."""
    shown = show(tab, outcome)
    assert shown.count("<svg") == 2  # one for a wide page, one for a narrow one
    assert "The sum over Age Group. Each point is the mean of a week." in shown
    assert "&#x27;Spend&#x27;: daily[&#x27;Spend&#x27;]" in shown
    assert [choice.description for choice in tab._row.children] == ["Measure", "Colour by", "Along", "Points"]
    assert [choice.value for choice in tab._row.children] == ["Spend", "Region", "Date", "week"]
    assert tab._wish == NO_WISH  # what the tab sets itself is no choice of a person's
    assert "Run the function" in show(tab, None)
    assert not tab._row.children


@pytest.mark.slow
def test_a_choice_is_drawn_and_kept_for_the_next_run(tab: ChartTab, outcome: Outcome) -> None:
    """Another measure, colour and mean are drawn; the next run is shown in the same way, as far as its frame goes."""
    show(tab, outcome)
    choose(tab, "measure", "Spend Growth")
    assert "Spend Growth by Region" in tab._picture.value
    choose(tab, "colour", "")
    assert "The mean over Region and Age Group, each row counting the same." in tab._picture.value
    choose(tab, "every", "month")
    assert "Spend Growth, " not in tab._picture.value
    shown = show(tab, replace(outcome, frame=outcome.frame.drop(columns="Age Group")))
    assert "Line chart: Spend Growth; " in shown
    assert "Each point is the mean of a month." in shown
    shown = show(tab, replace(outcome, frame=outcome.frame[["Date", "Spend", "Region"]]))
    assert "Line chart: Spend; " in shown


def test_lines_and_bars(tab: ChartTab, outcome: Outcome, funcs: Session) -> None:
    """Where both say something, a person chooses between them."""
    show(tab, replace(outcome, frame=funcs.get_panel_fq(**CALL)))
    assert "Bar chart: Spend; FQ3 2021 to FQ1 2026" in tab._picture.value
    choose(tab, "kind", "line")
    assert "Line chart: Spend; FQ3 2021 to FQ1 2026" in tab._picture.value


def test_what_cannot_be_drawn_is_a_sentence(tab: ChartTab, outcome: Outcome, funcs: Session) -> None:
    """KPIs, no rows and no columns say why there is no chart, without a control."""
    assert "no column holds measured numbers" in show(tab, replace(outcome, frame=funcs.get_kpis(Symbol=SYMBOL)))
    assert "The result has no rows" in show(tab, replace(outcome, frame=outcome.frame.head(0)))
    assert "The result has no columns" in show(tab, replace(outcome, frame=pd.DataFrame()))
    assert not tab._row.children
    assert not tab._wish.measure


@pytest.mark.slow
def test_the_latest_wins(tab: ChartTab, outcome: Outcome, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several choices in a row only the last one stays, however long the earlier ones take."""
    show(tab, outcome)
    hold, drawn, done = threading.Event(), [], []
    picture = chart_tab._picture

    def slow(plot: Any, outcome: Outcome) -> Any:
        drawn.append(plot.measure)
        if len(drawn) == 1:
            hold.wait(30)
        made = picture(plot, outcome)
        done.append(plot.measure)
        return made

    monkeypatch.setattr(chart_tab, "_picture", slow)
    tab._choices["measure"].value = "Spend Growth"
    wait_until(lambda: bool(drawn))
    assert "jf-old" in tab._picture._dom_classes  # busy
    tab._choices["measure"].value = "Spend per Card"
    wait_until(lambda: "Line chart: Spend per Card by Region" in tab._picture.value)
    hold.set()
    wait_until(lambda: done == ["Spend per Card", "Spend Growth"])
    asyncio.run_coroutine_threadsafe(asyncio.sleep(0.3), background.background_loop()).result(10)
    assert "Line chart: Spend per Card by Region" in tab._picture.value
    assert tab._choices["measure"].value == "Spend per Card"
    assert "jf-old" not in tab._picture._dom_classes


def test_without_matplotlib_it_says_what_to_install(
    tab: ChartTab, outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Charts are an extra: without it the tab says the command, and draws once it was followed."""
    find = importlib.util.find_spec
    with monkeypatch.context() as patch:
        patch.setattr(
            importlib.util, "find_spec", lambda name, *more: None if name == "matplotlib" else find(name, *more)
        )
        assert "pip install 'jupyter-funcs[chart]'" in show(tab, outcome)
    assert "<svg" in show(tab, outcome)


def test_a_matplotlib_that_does_not_work_is_said(
    tab: ChartTab, outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken installation is an error in words, and the tab goes on."""
    monkeypatch.delitem(sys.modules, "jupyter_funcs.panel.chart.drawing", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "jupyter_funcs.panel.chart.drawing", None)
    shown = show(tab, outcome)
    assert "matplotlib is installed but does not work" in shown
    assert "jf-old" not in tab._picture._dom_classes


def test_names_of_the_catalog_are_text(tab: ChartTab, outcome: Outcome) -> None:
    """Markup in the name of a column is shown in the picture, the caption and the code, and never obeyed."""
    evil = "<img src=x onerror=alert(1)>"
    frame = pd.DataFrame(
        {"Date": pd.date_range("2024", periods=4).repeat(2), evil: ["<b>", "</svg>"] * 4, "Spend": 1.5}
    )
    shown = show(tab, replace(outcome, frame=frame))
    assert "<img" not in shown
    assert "<b>" not in shown
    assert shown.count("</svg>") == 2
    choose(tab, "colour", "")
    assert "<img" not in tab._picture.value
    assert "<img" not in show(tab, replace(outcome, frame=pd.DataFrame({evil: [None, None]})))


def test_it_is_light_and_leaves_nothing(outcome: Outcome) -> None:
    """Few models before a run and with one; closing leaves none, those of controls out of sight included."""
    before = set(_instances)
    parts = Parts()
    tab = ChartTab(lambda callback: callback, parts)
    assert len(set(_instances) - before) <= 7
    show(tab, outcome)
    show(tab, replace(outcome, frame=outcome.frame[["Date", "Spend"]]))
    assert len(set(_instances) - before) <= 16
    looks = [tab.layout, tab._picture.style, parts.text_style, parts._button]
    for widget in (tab._row, tab._picture):
        widget.close()
    tab.close()
    for model in looks:
        model.close()
    assert set(_instances) == before


@pytest.mark.slow
def test_two_tabs_draw_at_once(outcome: Outcome, tab: ChartTab) -> None:
    """Panels draw at the same time, each its own."""
    other = ChartTab(lambda callback: callback, Parts())
    both = [background.start(each.show(outcome)) for each in (tab, other)]
    for each in both:
        background.wait(each, 60)
    assert "<svg" in tab._picture.value
    assert "<svg" in other._picture.value
    assert tab._picture.value != other._picture.value  # ids
    other.close()
