"""Words for people are inert, short, and near to what was meant."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_funcs.text import clip, did_you_mean, folded, inert, listed, nearest, quote

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
def test_text_is_shown_with_nothing_that_a_terminal_obeys(text: str, shown: str) -> None:
    """Control, bidirectional, invisible and broken characters are seen, not obeyed."""
    assert inert(text) == shown


@given(ANY_TEXT)
def test_inert_text_is_one_line_that_can_be_printed(text: str) -> None:
    """Whatever came over the wire, it is one line of encodable characters, and stays so when it is done twice."""
    shown = inert(text)
    assert not {unicodedata.category(char) for char in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    shown.encode("utf-8")
    assert shown.splitlines() in ([shown], [])
    assert inert(shown) == shown


@given(ANY_TEXT, st.integers(1, 50))
def test_clipped_text_is_never_longer_and_says_so(text: str, length: int) -> None:
    """What is cut ends in an ellipsis; what fits is untouched."""
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
    ids=["text", "lines", "None", "number", "long", "broken", "huge", "empty", "control"],
)
def test_any_value_can_be_quoted_in_a_message(value: object, shown: str) -> None:
    """Also a value that cannot be turned into text: a message about it must not fail."""
    assert quote(value) == shown


@pytest.mark.parametrize(
    ("names", "last", "sentence"),
    [([], "or", ""), (["a"], "or", "a"), (["a", "b"], "or", "a or b"), (["a", "b", "c"], "and", "a, b and c")],
)
def test_names_are_joined_as_in_a_sentence(names: list[str], last: str, sentence: str) -> None:
    """Commas, and a word before the last; from any iterable."""
    assert listed(iter(names), last) == sentence


@pytest.mark.parametrize(
    ("one", "other"),
    [("Get Panel Daily", "get_panel-daily"), ("STRASSE", "straße"), ("ﬁeld", "FIELD"), ("e\u0301", "é"), ("  a ", "A")],
)
def test_spellings_that_differ_in_case_and_separators_are_one(one: str, other: str) -> None:
    """So that nobody has to know which separators the service uses."""
    assert folded(one) == folded(other) != ""


@given(st.text(st.characters(max_codepoint=127)))
def test_plain_names_fold_as_all_others_do(text: str) -> None:
    """The table for names of ASCII alone gives what the longer way gives: a letter that is none beside it says so."""
    assert folded(text) + "é" == folded(text + "é")


NAMES = ["Get Panels", "Get Panel Daily", "Get Panel FQ", "Get KPIs", "Get Universe", "Symbol"]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("get panls", ["Get Panels"]),
        ("get_kpi", ["Get KPIs"]),
        ("SYMBL", ["Symbol"]),
        ("universe", ["Get Universe"]),
        ("daily", ["Get Panel Daily"]),
        ("zzz", []),
        ("", []),
        ("?!", []),
    ],
)
def test_the_nearest_names_come_first_as_they_are_spelt(name: str, near: list[str]) -> None:
    """A misspelt name, and a part of a name, are near; nothing is near to no name."""
    assert nearest(name, NAMES)[: max(1, len(near))] == near


def test_at_most_three_names_are_suggested() -> None:
    """A longer list would be read by nobody (FAULTS 87)."""
    many = [f"Get Panel {number}" for number in range(50)]
    assert len(nearest("Get Panel", many)) == 3
    assert nearest("abcd", ["abce", "abcf", "zzzz", "abcg", "abch"]) == ["abch", "abcg", "abcf"]
    assert nearest("Get Panel", many, count=1) == nearest("Get Panel", many)[:1]
    assert did_you_mean("Get Panel", many).count("'") == 6


def test_a_suggestion_is_a_question_or_nothing() -> None:
    """The names stand in quotes, inert."""
    assert did_you_mean("get panls", ["Get Panels"]) == "Did you mean 'Get Panels'?"
    assert did_you_mean("zzz", NAMES) == ""
    assert did_you_mean("abc", ["ab\x1bc"]) == "Did you mean 'ab\\x1bc'?"


@given(ANY_TEXT, st.lists(ANY_TEXT, max_size=6))
def test_what_is_suggested_is_always_a_candidate(name: str, candidates: list[str]) -> None:
    """No name is invented, and none comes twice."""
    near = nearest(name, candidates)
    assert set(near) <= set(candidates)
    assert len(set(near)) == len(near) <= 3


def test_a_name_of_a_megabyte_is_compared_by_its_begin() -> None:
    """A cell pasted in place of a name is answered too."""
    assert nearest("Get Panels" + " x" * 500_000, NAMES) == []
    assert nearest("x" * 1_000_000, ["x" * 200]) == ["x" * 200]
