"""The list of functions: its groups, its search, favourites and recent ones, and what it sends."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import comm
import pytest
from comm.base_comm import BaseComm

import jupyter_funcs as jf
from jupyter_funcs.catalog.listing import Catalog, Function, Param
from jupyter_funcs.panel.chooser import Chooser, Star
from jupyter_funcs.panel.shared.parts import Parts, guarding
from jupyter_funcs.records.favourites import Favourites
from tests.panel.test_controls import wait_until

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ["Get KPIs", "Get Panels", "Get Report"]
CATALOG = Catalog(
    [
        Function(id=1, name="Get Panels", group_name="Reference"),
        Function(id=2, name="Get Report", asset_name="Reports", description="Figures by <b>day</b>."),
        Function(id=3, name="Get KPIs", group_name="Reference", params=(Param(name="Symbol"),)),
    ]
)


def fail(error: Exception) -> None:
    raise error


class Shown:
    """A chooser and what a person chose in it."""

    def __init__(self, catalog: Catalog | None, path: Path) -> None:
        self.catalog = catalog
        self.chosen: list[str] = []
        self.favourites = Favourites("s", path / "favourites.json")
        self.chooser = Chooser(lambda: self.catalog, self.favourites, self.choose, guarding(fail), Parts())

    def choose(self, slug: str) -> None:
        self.chosen.append(slug)
        self.chooser.choose(slug)

    @property
    def rows(self) -> list[str]:
        return [label for label, _ in self.chooser._list.options]

    def search(self, words: str) -> list[str]:
        self.chooser._words.value = words
        return [slug for _, slug in self.chooser._list.options if slug]

    def enter(self) -> None:
        self.chooser._words._handle_custom_msg({"event": "submit"}, [])

    def click(self, at: int) -> None:
        self.chooser._list.set_state({"index": at})

    @property
    def at(self) -> int | None:
        return self.chooser._list.index


@pytest.fixture
def shown(tmp_path: Path) -> Shown:
    return Shown(CATALOG, tmp_path)


def test_functions_stand_below_their_groups(shown: Shown) -> None:
    """By groupName, else assetName, in the catalog's order, with nothing chosen; a click chooses."""
    assert shown.rows == [
        "Reference",
        "\u00a0\u00a0Get Panels",
        "\u00a0\u00a0Get KPIs",
        "Reports",
        "\u00a0\u00a0Get Report",
    ]
    assert shown.at is None
    assert "3 functions" in shown.chooser._count.value
    shown.click(4)
    assert shown.chosen == ["get_report"]


def test_a_heading_is_stepped_over_in_the_direction_of_the_arrow(shown: Shown) -> None:
    """Nobody can choose a heading: down from it comes its first function, up from it the one before."""
    shown.click(0)
    shown.click(2)
    shown.click(3)
    shown.click(3)
    assert shown.chosen == ["get_panels", "get_kpis", "get_report", "get_kpis"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("kpi", ["get_kpis"]),
        ("symbol", ["get_kpis"]),
        ("figures", ["get_report"]),
        ("panels GET", ["get_panels"]),
        ("zz", []),
    ],
)
def test_a_search_finds_names_descriptions_and_parameters(shown: Shown, words: str, found: list[str]) -> None:
    """While a person types the list holds what every word is found in."""
    assert shown.search(words) == found


def test_nothing_found_is_said_in_words_and_enter_opens_nothing(shown: Shown) -> None:
    """What was searched is shown as it was written."""
    shown.search("<nothing>")
    assert "No function has &#x27;&lt;nothing&gt;&#x27;<" in shown.chooser._count.value
    shown.enter()
    time.sleep(0.5)
    assert shown.chosen == []


def test_enter_opens_the_first_and_waits_for_the_last_key_stroke(shown: Shown) -> None:
    """Enter may overtake the end of a word, which a front end holds back: what is opened fits the whole word."""
    shown.search("k")
    shown.enter()
    time.sleep(0.05)
    shown.search("report")
    wait_until(lambda: bool(shown.chosen))
    assert shown.chosen == ["get_report"]


def test_enter_again_opens_the_next(shown: Shown) -> None:
    """Without leaving the search a person comes to every function found; other words begin anew."""
    shown.search("get")
    for opened in (["get_panels"], ["get_kpis"], ["get_report"], ["get_panels"]):
        shown.chosen.clear()
        shown.enter()
        wait_until(lambda: bool(shown.chosen))
        assert shown.chosen == opened
    shown.search("r")
    shown.enter()
    wait_until(lambda: shown.chosen[-1] == "get_report")


def test_favourites_and_recent_functions_stand_on_top(shown: Shown) -> None:
    """Each in one group of its own, until a person searches; the groups below hold them too."""
    for name in ("Get Report", "Get KPIs"):
        shown.chooser.use(name)
    shown.favourites.mark("Get KPIs", is_favourite=True)
    for gone in ("No Longer", "get_report"):  # a spelling of a name is another function's name
        shown.favourites.mark(gone, is_favourite=True)
    shown.chooser.list_functions()
    groups = [label for label, slug in shown.chooser._list.options if not slug]
    assert groups == ["★ Favourites", "Recent", "Reference", "Reports"]
    assert [slug for _, slug in shown.chooser._list.options if slug] == [
        "get_kpis",
        "get_report",
        "get_panels",
        "get_kpis",
        "get_report",
    ]
    assert shown.search("get") == ["get_panels", "get_kpis", "get_report"]


def test_the_mark_stays_where_a_person_clicked(shown: Shown) -> None:
    """A function may stand in two groups: the row that was clicked is the marked one, also when rows come above it."""
    shown.favourites.mark("Get KPIs", is_favourite=True)
    shown.chooser.list_functions()
    shown.click(4)
    assert shown.rows[shown.at or 0] == "\u00a0\u00a0Get KPIs"
    assert shown.at == 4
    shown.chooser.use("Get Report")
    assert shown.at == 6
    shown.click(1)
    assert shown.at == 1
    assert shown.chosen == ["get_kpis"]


def test_a_choice_that_fails_leaves_the_mark_at_what_is_shown(shown: Shown) -> None:
    """What cannot be opened is not marked as the chosen one."""
    shown.click(1)

    def refuse(slug: str) -> None:
        raise jf.NotFoundError(slug)

    shown.chooser._on_choice = refuse
    with pytest.raises(jf.NotFoundError):
        shown.click(2)
    assert shown.at == 1


def test_the_star_marks_the_shown_function(shown: Shown) -> None:
    """It says in words whether the function is a favourite, turns that, and tells the list."""
    star = Star(shown.favourites, shown.chooser.list_functions, guarding(fail), Parts())
    assert "jf-hidden" in star._dom_classes
    star.show("Get KPIs")
    assert "jf-hidden" not in star._dom_classes
    assert (star.description, star.tooltip) == ("☆ Favourite", "Put it among your favourites")
    star.click()
    assert (star.description, star.tooltip) == ("★ Favourite", "Take it out of your favourites")
    assert shown.rows[:2] == ["★ Favourites", "\u00a0\u00a0Get KPIs"]
    star.show("Get Report")
    assert star.description == "☆ Favourite"
    star.show("Get KPIs")
    star.click()
    assert shown.rows[0] == "Reference"


def test_favourites_that_cannot_be_kept_are_said_to_end(shown: Shown, tmp_path: Path) -> None:
    """On a home folder that cannot be written the list says that the marks end with the kernel."""
    (tmp_path / "favourites.json").mkdir()
    star = Star(shown.favourites, shown.chooser.list_functions, guarding(fail), Parts())
    star.show("Get KPIs")
    star.click()
    assert shown.rows[0] == "★ Favourites"
    assert "3 functions. Favourites are lost when this kernel ends" in shown.chooser._count.value


@pytest.mark.parametrize(
    ("catalog", "count", "invitation"),
    [
        (None, "not listed", "Press Refresh to try again"),
        (Catalog([]), "empty", "shared with you"),
        (CATALOG, "3 functions", "Choose a function"),
    ],
    ids=["not listed", "empty", "three"],
)
def test_no_functions_are_said_in_words(tmp_path: Path, catalog: Catalog | None, count: str, invitation: str) -> None:
    """A catalog that could not be listed, and one of nothing, say what to do; Enter opens nothing."""
    shown = Shown(catalog, tmp_path)
    assert count in shown.chooser._count.value
    assert invitation in shown.chooser.invitation
    if not catalog:
        assert shown.rows == []
        shown.enter()
        shown.chooser.choose("gone")
        assert shown.at is None


def test_one_function_is_a_short_list(tmp_path: Path) -> None:
    """With one function nothing is opened by itself; the list is as long as it has to be, and Enter opens it."""
    shown = Shown(Catalog([Function(name="Only")]), tmp_path)
    assert shown.rows == ["Functions", "\u00a0\u00a0Only"]
    assert shown.chooser._list.rows == 2
    assert "1 function<" in shown.chooser._count.value
    assert not shown.chosen
    shown.enter()
    wait_until(lambda: shown.chosen == ["only"])


HOSTILE = "<b onclick=x>$x$ **b** \x1b[31m\u202e" + "n" * 300


def test_names_of_any_length_and_kind_are_text(tmp_path: Path) -> None:
    """Markup, mathematics, control characters and 300 characters make one short line of text each."""
    shown = Shown(Catalog([Function(name=HOSTILE, group_name=HOSTILE), Function(name=HOSTILE)]), tmp_path)
    assert shown.rows[0].startswith("<b onclick=x>$x$ **b** \\x1b[31m\\u202ennn")
    assert all(len(row) <= 82 for row in shown.rows)
    shown.click(3)
    assert len(shown.chosen) == 1
    assert shown.at == 3


@pytest.mark.slow
def test_ten_thousand_functions_are_sent_in_part(sent: list[dict[str, Any]], tmp_path: Path) -> None:
    """At most 300 rows and 16 kB a key stroke, in one message for the list; the others are there for the search."""
    functions = [
        Function(id=at, name=f"Get Number {at}", group_name=f"Group {at % 40}", params=(Param(name=f"P{at}"),))
        for at in range(1, 10_001)
    ]
    shown = Shown(Catalog(functions), tmp_path)
    assert len(shown.rows) <= 340
    assert "10,000 functions, the first 300 listed: search for more" in shown.chooser._count.value
    shown.chooser.choose("get_number_9999")
    for words in ("7", "number 99", "p9999"):
        sent.clear()
        found = shown.search(words)
        assert len(found) <= 300
        assert len([data for data in sent if {"_options_labels", "index"} & data.get("state", {}).keys()]) == 1
        assert len(json.dumps(sent)) < 16_000
    assert found == ["get_number_9999"]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What every widget that is made from here on sends."""
    told: list[dict[str, Any]] = []

    class Recording(BaseComm):
        def publish_msg(self, msg_type: str, data: Any = None, **_: Any) -> None:  # noqa: ARG002  # as it is called
            told.append(data or {})

    monkeypatch.setattr(comm, "create_comm", Recording)
    return told
