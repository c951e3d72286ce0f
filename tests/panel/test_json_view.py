"""A reply to look through: bounded, inert, honest about how it was read and what is not shown."""

from __future__ import annotations

import json
import re
import warnings
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_funcs.panel.result.json_view import JsonReply, Page, path_text

# More than a page's own bound: a page never has more.
MOST = 60_000
ROWS = [{"Date": f"day {number}", "Spend": number / 7, "Region": None} for number in range(10_956)]


def reply(value: Any) -> JsonReply:
    return JsonReply(json.dumps(value).encode())


def text_of(page: Page) -> str:
    """Give what a person reads on a page, a line an element."""
    lines: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: Any) -> None:
            assert tag in {"details", "summary", "div", "b", "i", "mark", "pre"}
            assert set(dict(attrs)) <= {"open", "class"}
            if tag in {"div", "summary"}:
                lines.append("")

        def handle_data(self, data: str) -> None:
            lines[-1:] = [(lines or [""])[-1] + data]

    Reader().feed(page.html)
    assert len(page.html) <= MOST
    return "\n".join(filter(None, lines))


def test_rows_are_shown_a_page_at_a_time() -> None:
    """Fifty rows of 10,956, then the next fifty, to the last; each folded, with its beginning beside it."""
    looked = reply({"error": None, "body": ROWS})
    (place, count) = looked.places[0]
    assert (place, count) == (("body",), 10_956)
    page = looked.page(place)
    assert (page.first, page.last, page.total, page.what) == (0, 50, 10_956, "rows")
    text = text_of(page)
    assert '"error": null' in text
    assert '"body": 10,956 items' in text
    assert '49: 3 keys {"Date": "day 49", "Spend": 7.0, "Region": null}' in text
    assert '"Date": "day 49"' in text.splitlines()
    assert "day 50" not in text
    assert "day 50" in text_of(looked.page(place, 50))
    last = looked.page(place, 10_950)
    assert (last.first, last.last) == (10_950, 10_956)
    assert "day 10955" in text_of(last)


def test_a_document_inside_a_text_is_read_and_said_to_be_one() -> None:
    """An envelope whose body is JSON as text, twice over, shows its rows, and how long each text was."""
    inner = json.dumps(ROWS)
    looked = reply({"error": None, "body": json.dumps(inner)})
    place = looked.places[0][0]
    assert place == ("body",)
    text = text_of(looked.page(place))
    assert f"a text of {len(json.dumps(inner)):,} characters that holds JSON" in text
    assert f"a text of {len(inner):,} characters that holds JSON" in text
    assert "day 49" in text
    assert reply('{"a": 1').page().html.count("holds JSON") == 0


def test_a_frame_by_column_is_gone_through_column_by_column() -> None:
    """Of an object of columns each is a place; the page is one column's, and the others are a few values long."""
    columns = {name: {str(row): row * 2 for row in range(1000)} for name in ("Spend", "Count")}
    looked = reply({"schema": {}, "data": columns})
    assert looked.places == [(("data", "Spend"), 1000), (("data", "Count"), 1000)]
    page = looked.page(("data", "Count"), 100)
    assert (page.last, page.what) == (150, "keys")
    assert '"149": 298' in text_of(page)
    assert "… 950 more" in text_of(page)


def test_a_short_reply_is_shown_whole() -> None:
    """What fits is there, to the last value, with nothing left out."""
    page = reply({"a": [1, 2.5, True, None, "x"], "b": {}, "c": []}).page(("a",))
    assert "more" not in page.html
    assert all(
        line in text_of(page) for line in ("0: 1", "1: 2.5", "2: true", "3: null", '4: "x"', '"b": {}', '"c": []')
    )
    assert text_of(reply("just a text").page()) == '"just a text"'
    assert reply([]).page().total == 0


nested = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=10), inner, max_size=5),
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(nested, st.sampled_from([1, 3, 60, 120]))
def test_any_reply_is_bounded_and_inert(value: Any, times: int) -> None:
    """Whatever a reply holds, a page is well-formed HTML of our own few elements, of at most 60 kB."""
    looked = reply([value] * times)
    for place, total in looked.places:
        first, pages = 0, 0
        while first < total and pages < 3:
            page = looked.page(place, first)
            text_of(page)
            assert page.last > page.first == first
            first, pages = page.last, pages + 1
    text_of(looked.find("a"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "value",
    [
        "<script>" * 10**6,
        ["<&>" * 1000] * 10_000,
        [{f"key <{number}>": "\u202e" * 300 for number in range(500)}] * 100,
        {"<" * 10**6 + str(number): number for number in range(10)},
        {str(number): {str(inner): ["x" * 500] * 50 for inner in range(50)} for number in range(50)},
        [[[[["&" * 400] * 20] * 10] * 3] * 2] * 60,
        json.loads("[" * 500 + "]" * 500),
    ],
    ids=["text", "texts", "wide", "keys", "bushy", "deep and bushy", "deep"],
)
def test_a_hostile_reply_is_bounded(value: Any) -> None:
    """Megabytes of anything, in width, depth or one text, are a page of at most 60 kB, and say what is left out."""
    looked = reply(value)
    for place, _ in looked.places[:3]:
        text = text_of(looked.page(place))
        assert len(text) > 10
        assert "\u202e" not in text
    assert "<script" not in looked.page().html
    assert text_of(looked.find("x")) is not None


def test_what_is_cut_is_said() -> None:
    """A long text says how long it is, and depth that is not shown that it is there."""
    assert "10,000 characters in all" in reply(["x" * 10_000]).page().html
    assert "nested more deeply than is shown" in reply(json.loads("[" * 100 + "1" + "]" * 100)).page().html


def test_control_characters_are_seen_as_json_writes_them() -> None:
    """A bidirectional mark, an escape sequence and a half of a surrogate pair are shown, and turn nothing around."""
    text = text_of(reply({"a\u202eb": "x\x1b[31m\u200b\ud800\n"}).page())
    assert text.endswith((r'"a\u202eb": "x\u001b[31m\u200b\ufffd\n"', r'"a\u202eb": "x\u001b[31m\u200b\ud800\n"'))


@pytest.mark.slow
def test_search_finds_values_and_keys() -> None:
    """Matches are counted, a page at a time, each with its place and the record around it."""
    looked = reply({"error": None, "body": ROWS})
    page = looked.find("DAY 109")
    assert (page.first, page.last, page.total, page.what) == (0, 50, 1 + 10 + 56, "matches")
    assert text_of(page).startswith("body[109].Date: day 109\n")
    assert "<mark>day 109</mark>" in page.html
    rest = looked.find("DAY 109", page.last)
    assert (rest.first, rest.last) == (50, 67)
    assert "body[10955].Date" in text_of(rest)
    assert looked.find("region").total == 10_956
    assert looked.find("Null").total == 10_957
    assert looked.find("no such thing").total == 0
    assert looked.find(".*").total == 0
    assert "body: 10,956" not in looked.find("body").html


def test_a_search_that_nobody_waits_for_ends() -> None:
    """A newer search stops the one before."""
    asked: list[int] = []
    reply(ROWS * 3).find("day", stop=lambda: bool(asked.append(1)) or True)
    assert len(asked) == 1


def test_a_match_inside_a_long_text_is_shown_with_what_is_around_it() -> None:
    """Of a text of a megabyte the matching part is shown, escaped."""
    page = reply({"a": "<b>" * 10**5 + "needle" + "&" * 10**6}).find("needle")
    assert "…" in page.html
    assert re.search(r"&lt;b&gt;<mark>needle</mark>&amp;&amp;", page.html)
    text_of(page)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"a": [1, 2', "cut short"),
        (b"\xff\xfe{\x00}\x00", "UTF-16"),
        (b"<html>", "not JSON"),
        (b"", "empty"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_json_is_shown_as_text(data: bytes, said: str) -> None:
    """A reply that cannot be read says why, and is shown and searched as the text that it is."""
    looked = JsonReply(data)
    assert said in looked.said
    page = looked.page()
    assert page.what == "characters"
    assert text_of(page) is not None
    assert JsonReply(b'{"a": [1, 2').find("A").total == 1


def test_a_long_reply_is_shown_as_text() -> None:
    """Beyond 16 MiB the values would take ten times that in memory: characters are shown, a page at a time."""
    looked = JsonReply(b'["' + b"<x>" * (6 * 2**20) + b'needle"]')
    assert "long" in looked.said
    page = looked.page((), 9_500)
    assert (page.first, page.last) == (9_500, 19_000)
    assert "<x>" not in page.html
    assert looked.find("NEEDLE").total == 1


def test_odd_json_is_shown_as_it_came_and_without_a_second_warning() -> None:
    """NaN is seen as NaN; the frame's own reading has warned of it already. A document a line is an array."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert text_of(JsonReply(b'[NaN, 1e2, "\\ud800"]').page()).splitlines()[1:] == [
            "0: NaN",
            "1: 100.0",
            r'2: "\ud800"',
        ]
    lines = JsonReply(b'{"a": 1}\n{"a": 2}\n')
    assert lines.said == "The reply holds one JSON document a line."
    assert '1: 1 key {"a": 2}' in text_of(lines.page())


def test_a_place_is_written_as_a_person_would() -> None:
    """A path is one to read, whatever its keys hold."""
    assert path_text(("body", 3, "Symbol")) == "body[3].Symbol"
    assert path_text((0, "a b", '"\u202e')) == r'[0]["a b"]["\"\u202e"]'
    assert len(path_text(("x" * 1000,))) < 100
    assert path_text(()) == "the whole reply"
