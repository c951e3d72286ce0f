"""The reply of a run in its tab, without a front end: pages, places, search, and what is not kept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import jupyter_funcs as jf
from jupyter_funcs.panel.result.json_tab import JsonTab
from jupyter_funcs.panel.result.json_view import JsonReply
from tests.panel.test_controls import wait_until
from tests.tabs import hidden, made, outcome, show

if TYPE_CHECKING:
    from jupyter_funcs.panel.result.json_view import Page

FRAME = pd.DataFrame({"a": [1]})
ROWS = [{"Date": f"day {number}", "Spend": number} for number in range(1234)]


@pytest.fixture
def tab() -> JsonTab:
    """A tab that shows a reply of 1,234 rows."""
    tab = made(JsonTab)
    show(tab, outcome(FRAME, json.dumps({"error": None, "body": json.dumps(ROWS), "more": [0] * 60}).encode()))
    return tab


def test_a_page_is_turned(tab: JsonTab) -> None:
    """Next shows the next fifty rows, Previous those before; at the ends there is nothing to press."""
    assert "rows 0–49 of 1,234" in tab._range.value
    assert tab._back.disabled
    tab._next.click()
    wait_until(lambda: "rows 50–99 of 1,234" in tab._range.value)
    assert "day 99" in tab._html.value
    tab._next.click()
    wait_until(lambda: "rows 100–149" in tab._range.value)
    tab._back.click()
    wait_until(lambda: "rows 50–99" in tab._range.value)
    tab._back.click()
    wait_until(lambda: "rows 0–49" in tab._range.value)
    assert tab._back.disabled
    tab._place.index = 1
    wait_until(lambda: "rows 0–49 of 60" in tab._range.value)
    tab._next.click()
    wait_until(lambda: "rows 50–59 of 60" in tab._range.value)
    assert tab._next.disabled


def test_the_places_are_named(tab: JsonTab) -> None:
    """What can be gone through is named with its size, the longest first."""
    assert [label for label, _ in tab._place.options] == ["body (1,234)", "more (60)"]


@pytest.mark.slow
def test_what_is_searched_is_counted(tab: JsonTab) -> None:
    """Matches stand in place of the reply, a page at a time; the emptied box brings the reply back."""
    tab._next.click()
    tab._words.value = "DAY 1"
    wait_until(lambda: "matches 0–49 of 345" in tab._range.value)
    assert "body[1].Date" in tab._html.value
    tab._next.click()
    wait_until(lambda: "matches 50–99 of 345" in tab._range.value)
    tab._words.value = "nowhere"
    wait_until(lambda: "no matches" in tab._range.value)
    tab._words.value = ""
    wait_until(lambda: "rows 0–49 of 1,234" in tab._range.value)


class Counting(JsonReply):
    """A reply that knows what was searched in it."""

    def find(self, words: str, *rest: Any) -> Page:
        self.searched = [*getattr(self, "searched", []), words]
        return super().find(words, *rest)


def test_the_latest_search_wins(tab: JsonTab) -> None:
    """Of words typed one after the other the last are searched, and not each before them."""
    tab._reply = counting = Counting(json.dumps({"body": ROWS}).encode())
    for words in ("d", "da", "day", "day 7", "day 77"):
        tab._words.value = words
    wait_until(lambda: "of 11" in tab._range.value)
    assert "body[77].Date" in tab._html.value
    assert counting.searched[-1] == "day 77"
    assert len(counting.searched) < 5


def test_another_run_begins_at_its_beginning(tab: JsonTab) -> None:
    """A new reply is shown from its first row, and the search of the last one is over."""
    tab._words.value = "day"
    wait_until(lambda: "matches" in tab._range.value)
    tab._next.click()
    wait_until(lambda: "matches 50" in tab._range.value)
    show(tab, outcome(FRAME, json.dumps(ROWS[:3]).encode()))
    assert "rows 0–2 of 3" in tab._range.value
    assert tab._words.value == ""
    assert hidden(tab._place)


def test_what_is_not_there_says_why() -> None:
    """Without a run, without its reply, and with a reply that is no JSON, the tab says so."""
    tab = made(JsonTab)
    show(tab, None)
    assert "Run the function" in tab._html.value
    show(tab, outcome(FRAME, None))
    assert "not kept" in tab._html.value
    assert hidden(tab._bar)
    python = jf.connect([lambda: FRAME, lambda: 5])
    for name, has_none in zip(python.names, (True, False), strict=True):
        panel = python.panel(name)
        panel.run()
        panel.result(20)
        assert panel._visit is not None
        show(tab, panel._visit.outcome)
        assert ("There is no reply in JSON: the function returned a table." in tab._html.value) is has_none
        panel.close()
    show(tab, outcome(FRAME, b"<html>"))
    assert "not JSON" in tab._html.value
    assert "&lt;html&gt;" in tab._html.value
    assert not hidden(tab._bar)


def test_a_long_reply_is_not_sent(tab: JsonTab) -> None:
    """Of megabytes a page is sent, whichever page it is."""
    show(tab, outcome(FRAME, json.dumps([{"a": "x" * 5000, "b": list(range(500))}] * 1000).encode()))
    for _ in range(3):
        assert len(tab._html.value) < 61_000
        before = tab._range.value
        tab._next.click()
        wait_until(lambda before=before: tab._range.value != before)
