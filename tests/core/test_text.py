"""Texts for display are inert and short, and suggestions are close to what was typed."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_funcs.core.text import (
    clip,
    did_you_mean,
    folded,
    inert,
    json_escape,
    json_text,
    listed,
    nearest,
    quote,
    size_text,
    visible,
)

ANY_TEXT = st.text(st.characters())  # lone surrogates too


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("  two \t\n lines\r\n", "two lines"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("nul\0", "nul\\x00"),
        ("\u202etxt.exe", "\\u202etxt.exe"),
        ("a\u200bb\ufeff", "a\\u200bb\\ufeff"),
        ("half \ud800", "half \\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("a\u2028b\u2029c\x85d", "a b c d"),
        ("ümläut 😀 日本", "ümläut 😀 日本"),
        ("<b>$x$</b>", "<b>$x$</b>"),
    ],
)
def test_text_is_shown_with_nothing_that_a_terminal_obeys(
    text: str, shown: str
) -> None:
    """Control, bidirectional, invisible and broken characters are shown as escapes."""
    assert inert(text) == shown


# The code points that Unicode shows as nothing, apart from format characters.
IGNORABLE = [0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2065, 0x3164, 0xFFA0]
IGNORABLE += [*range(0x180B, 0x1810), *range(0xFE00, 0xFE10)]
IGNORABLE += [*range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE1000)]


def test_no_character_that_is_shown_as_nothing_is_left() -> None:
    """Each one is an escape, also after a letter; JSON's escapes mean the same text (FAULTS 125)."""
    for char in map(chr, IGNORABLE):
        assert inert(f"a{char}") == "a" + char.encode("unicode_escape").decode()
    text = "".join(map(chr, IGNORABLE)) + "\x9b\u202e\u2028é\t\n"
    assert visible(text, json_escape)[-3:] == "é\t\n"
    assert json.loads(f'"{visible(text, json_escape)[:-2]}"') == text[:-2]
    assert json_text([text]).isprintable()
    assert json.loads(json_text([text])) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "I \u2764\ufe0f it",
        "\u260e\ufe0e",
        "\u0915\u094d\u0937",
        "日本語",
        "a\u0301",
        "\xa0€",
    ],
)
def test_what_is_seen_stays(text: str) -> None:
    """Letters of any script, combining marks, and an emoji's own variation selector."""
    assert visible(text) == text


def test_layout_stays_where_it_may() -> None:
    """`visible` leaves spaces, tabs and line feeds; a carriage return would overwrite the line (FAULTS 125)."""
    assert visible("  a\t b\r\n\x1bc") == "  a\t b\\r\n\\x1bc"


@given(ANY_TEXT)
def test_inert_text_is_one_line_that_can_be_printed(text: str) -> None:
    """Any text becomes one line of encodable characters; doing it twice changes nothing."""
    shown = inert(text)
    assert not {unicodedata.category(char) for char in shown} & {
        "Cc",
        "Cf",
        "Cs",
        "Zl",
        "Zp",
    }
    shown.encode("utf-8")
    assert shown.splitlines() in ([shown], [])
    assert inert(shown) == shown


@given(ANY_TEXT, st.integers(1, 50))
def test_clipped_text_is_never_longer_and_says_so(text: str, length: int) -> None:
    """A shortened text ends in an ellipsis; one that fits is unchanged."""
    cut = clip(text, length)
    assert len(cut) <= length
    assert cut == text if len(text) <= length else cut.endswith("…")


class Broken:
    def __str__(self) -> str:
        raise RuntimeError("boom")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a", "'a'"),
        ("a\nb", "'a b'"),
        (None, "'None'"),
        (1.5, "'1.5'"),
        ("x" * 100, f"'{'x' * 79}…'"),
        (Broken(), "'<Broken>'"),
        (10**5000, "'<int>'"),
        ("", "''"),
        ("\x1b" * 100_000, "'" + "\\x1b" * 19 + "\\x1…'"),
    ],
    ids=[
        "text",
        "lines",
        "None",
        "number",
        "long",
        "broken",
        "huge",
        "empty",
        "control",
    ],
)
def test_any_value_can_be_quoted_in_a_message(value: object, shown: str) -> None:
    """Even one whose `__str__` fails: a message about it must not."""
    assert quote(value) == shown


@pytest.mark.parametrize(
    ("names", "last", "sentence"),
    [
        ([], "or", ""),
        (["a"], "or", "a"),
        (["a", "b"], "or", "a or b"),
        (["a", "b", "c"], "and", "a, b and c"),
    ],
)
def test_names_are_joined_as_in_a_sentence(
    names: list[str], last: str, sentence: str
) -> None:
    """Commas, and a word before the last name; any iterable works."""
    assert listed(iter(names), last) == sentence


@pytest.mark.parametrize(
    ("spelling", "other"),
    [
        ("Get Panel Daily", "get_panel-daily"),
        ("STRASSE", "straße"),
        ("ﬁeld", "FIELD"),
        ("e\u0301", "é"),
        ("  a ", "A"),
    ],
)
def test_spellings_that_differ_in_case_and_separators_are_one(
    spelling: str, other: str
) -> None:
    """You don't need to know which separators the service uses."""
    assert folded(spelling) == folded(other) != ""


@given(st.text(st.characters(max_codepoint=127)))
def test_plain_names_fold_as_all_others_do(text: str) -> None:
    """The fast path for ASCII names returns the same as the general one."""
    assert folded(text) + "é" == folded(text + "é")


NAMES = [
    "Get Panels",
    "Get Panel Daily",
    "Get Panel FQ",
    "Get KPIs",
    "Get Universe",
    "Symbol",
]


NEAR = {
    "get panls": "Get Panels",
    "get_kpi": "Get KPIs",
    "SYMBL": "Symbol",
    "universe": "Get Universe",
}
NEAR |= {"daily": "Get Panel Daily"}


@pytest.mark.parametrize("name", [*NEAR, "zzz", "", "?!"])
def test_the_nearest_names_come_first_as_they_are_spelt(name: str) -> None:
    """A misspelt name and a part of a name are close; nothing is close to an empty name."""
    assert nearest(name, NAMES)[:1] == ([NEAR[name]] if name in NEAR else [])


def test_at_most_three_names_are_suggested() -> None:
    """Nobody reads a longer list (FAULTS 87)."""
    many = [f"Get Panel {number}" for number in range(50)]
    assert len(nearest("Get Panel", many)) == 3
    assert nearest("abcd", ["abce", "abcf", "zzzz", "abcg", "abch"]) == [
        "abch",
        "abcg",
        "abcf",
    ]
    assert nearest("Get Panel", many, count=1) == nearest("Get Panel", many)[:1]
    assert did_you_mean("Get Panel", many).count("'") == 6


def test_a_suggestion_is_a_question_or_nothing() -> None:
    """The names are quoted and inert."""
    assert did_you_mean("get panls", ["Get Panels"]) == "Did you mean 'Get Panels'?"
    assert did_you_mean("zzz", NAMES) == ""
    assert did_you_mean("abc", ["ab\x1bc"]) == "Did you mean 'ab\\x1bc'?"


@given(ANY_TEXT, st.lists(ANY_TEXT, max_size=6))
def test_what_is_suggested_is_always_a_candidate(
    name: str, candidates: list[str]
) -> None:
    """No name is invented or repeated."""
    near = nearest(name, candidates)
    assert set(near) <= set(candidates)
    assert len(set(near)) == len(near) <= 3


def test_a_name_of_a_megabyte_is_compared_by_its_begin() -> None:
    """A whole cell pasted in place of a name gets an answer too."""
    assert nearest("Get Panels" + " x" * 500_000, NAMES) == []
    assert nearest("x" * 1_000_000, ["x" * 200]) == ["x" * 200]


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (999_999, "1.0 MB"),
        (12_345_678, "12.3 MB"),
    ],
)
def test_sizes_are_shown_in_the_unit_that_keeps_them_short(
    size: int, text: str
) -> None:
    """Bytes, kB, MB, GB or TB, whichever is shortest."""
    assert size_text(size) == text
