"""A magic's line and body are read as a person means them; nothing in them is evaluated or expanded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_funcs.errors import ArgumentError
from jupyter_funcs.magic import read_body, read_value, split_line

LINES: dict[str, list[str]] = {
    "": [],
    "  \t ": [],
    "find panel daily": ["find", "panel", "daily"],
    'call "Get Panel Daily" Symbol=BKQU': ["call", '"Get Panel Daily"', "Symbol=BKQU"],
    "call ‘Get Panel Daily’ x": ["call", "‘Get Panel Daily’", "x"],
    "call “Get Panel Daily” x": ["call", "“Get Panel Daily”", "x"],
    "call ’Get Panel Daily’": ["call", "’Get Panel Daily’"],
    "call get_panels Symbol='BKQU US EQUITY' -q": ["call", "get_panels", "Symbol='BKQU US EQUITY'", "-q"],
    "x Brand=[a, b c, 'd, e'] y=1": ["x", "Brand=[a, b c, 'd, e']", "y=1"],
    "x Brand=['a]b', \"c [d\"] y": ["x", "Brand=['a]b', \"c [d\"]", "y"],
    "x Brand=[it's, that’s] y=[it's]": ["x", "Brand=[it's, that’s]", "y=[it's]"],
    "x Brand=[]": ["x", "Brand=[]"],
    "x Note=it's Note2=don't": ["x", "Note=it's", "Note2=don't"],
    "x 'Panel Name'='a b'": ["x", "'Panel Name'='a b'"],
    "x a=b=c": ["x", "a=b=c"],
    "x a= b": ["x", "a=", "b"],
    "x a='' b": ["x", "a=''", "b"],
    "x a=$name b={token} c=$token": ["x", "a=$name", "b={token}", "c=$token"],
    "x\u00a0y\u3000z": ["x", "y", "z"],
    "x a=C:\\dir\\'n'": ["x", "a=C:\\dir\\'n'"],
}


@pytest.mark.parametrize(("line", "words"), LINES.items(), ids=[line or "nothing" for line in LINES])
def test_a_line_is_split_at_spaces_outside_of_quotes_and_brackets(line: str, words: list[str]) -> None:
    """Quotes, straight or curly, count where a value begins, so that an apostrophe is only that."""
    assert split_line(line) == words


@pytest.mark.parametrize(
    ("line", "what", "near"),
    [
        ("call 'Get Panels", "quote", "call ‸'Get Panels"),
        ('call x Note="a b', "quote", 'call x Note=‸"a b'),
        ("call ‘Get Panels'", "quote", "call ‸‘Get Panels'"),
        ("call x Brand=[a, b", "bracket", "call x Brand=‸[a, b"),
        ("call x Brand=[[a]]", "bracket", "call x Brand=‸[[a]]"),
        (f"call {'y' * 90} Note='{'z' * 90}", "quote", "‸'zzz"),
    ],
)
def test_an_unclosed_quote_or_bracket_is_shown_with_a_caret(line: str, what: str, near: str) -> None:
    """The message says where it begins (FAULTS 88), in a short line."""
    with pytest.raises(ArgumentError, match=f"The {what} at the caret is not closed") as caught:
        split_line(line)
    assert near in caught.value.what
    assert len(caught.value.what) < 100


@given(st.text() | st.text(st.sampled_from("'\"‘’“”[], =ab$"), max_size=30))
def test_any_line_is_split_or_refused_and_loses_nothing_but_spaces(line: str) -> None:
    """No character is invented, dropped or moved."""
    try:
        words = split_line(line)
    except ArgumentError:
        return
    assert "".join("".join(words).split()) == "".join(line.split())
    assert all(words)


@given(st.lists(st.text(st.characters(exclude_characters='"'), min_size=1), max_size=5))
def test_quoted_values_come_back_as_they_were(values: list[str]) -> None:
    """What stands in double quotes is one value, whatever it holds."""
    line = " ".join(f'k="{value}"' for value in values)
    assert [read_value(word.removeprefix("k="), {}) for word in split_line(line)] == values


VALUES: dict[str, Any] = {
    "a": "a",
    "": "",
    "007": "007",
    "1.10": "1.10",
    "True": "True",
    "None": "None",
    "'a b'": "a b",
    '"a b"': "a b",
    "“a b”": "a b",
    "‘a b’": "a b",
    "’a b’": "a b",
    "''": "",
    "'": "'",
    "'a": "'a",
    "'a”": "'a”",
    "'$name'": "$name",
    "{name}": "{name}",
    "a$name": "a$name",
    "[]": [],
    "[ ]": [],
    "[a]": ["a"],
    "[a, b c]": ["a", "b c"],
    "[Region, 'Age Group']": ["Region", "Age Group"],
    "['a', 'b']": ["a", "b"],
    '["a", "b"]': ["a", "b"],
    "[‘a, b’, “c”]": ["a, b", "c"],
    "[ 'a, b' , c ]": ["a, b", "c"],
    "['a]b', c]": ["a]b", "c"],
    '["a\\"b", "\\u00e9"]': ['a"b', "é"],
    "[it's, b]": ["it's", "b"],
    "[1, 1.10, 007, 1e5, -0]": ["1", "1.10", "007", "1e5", "-0"],
    "[1.10, 2]": ["1.10", "2"],
    "[NaN, Infinity]": ["NaN", "Infinity"],
    "[a,,b,]": ["a", "b"],
    "['', a]": ["", "a"],
    "[$name]": ["$name"],
    "[__import__('os').getcwd()]": ["__import__('os').getcwd()"],
    "[a": "[a",
    "a]": "a]",
}


@pytest.mark.parametrize(("text", "value"), VALUES.items(), ids=[text or "nothing" for text in VALUES])
def test_a_value_is_text_or_a_list_of_texts_as_written(text: str, value: Any) -> None:
    """Nothing is guessed from the looks of a value: no number, no truth value, no expression."""
    assert read_value(text, {"name": "expanded"}) == value


def test_a_whole_value_with_a_dollar_is_the_object_of_that_name() -> None:
    """The object itself, of any type; only as a whole value."""
    held = object()
    assert read_value("$held", {"held": held}) is held
    assert read_value("$nothing", {"nothing": None}) is None


@pytest.mark.parametrize(
    ("text", "hint"),
    [("$symbl", "Did you mean 'symbol'?"), ("$zzz", "Define it, or quote the value: '$zzz'."), ("$", "Define it")],
)
def test_an_absent_variable_is_named_with_the_nearest(text: str, hint: str) -> None:
    """Private names and values are not suggested."""
    with pytest.raises(ArgumentError, match="There is no variable") as caught:
        read_value(text, {"symbol": "s3cret", "_symbl": 1})
    assert caught.value.hint.startswith(hint)
    assert "s3cret" not in str(caught.value)


@given(st.text())
def test_any_value_is_read_or_refused(text: str) -> None:
    """Whatever is written behind `name=`."""
    try:
        value = read_value(text, {})
    except ArgumentError:
        assert text.startswith("$")
    else:
        assert isinstance(value, str | list)


BODIES: dict[str, dict[str, Any]] = {
    "": {},
    "\n\n": {},
    "Symbol: BKQU\nPanelName: Card Spend\n": {"Symbol": "BKQU", "PanelName": "Card Spend"},
    "  Symbol :  BKQU US  \r\n# a comment: x\n\n  # another\nNote: a # b": {"Symbol": "BKQU US", "Note": "a # b"},
    "'Panel Name': 'a: b'": {"Panel Name": "a: b"},
    "At: 05:06": {"At": "05:06"},
    "Brand: [a, 'b, c']": {"Brand": ["a", "b, c"]},
    "Symbol: $symbol": {"Symbol": "BKQU"},
    "Symbol: '$symbol'": {"Symbol": "$symbol"},
    "Symbol:": {"Symbol": ""},
    "Symbol: {symbol}": {"Symbol": "{symbol}"},
    "Symbol: a\nSymbol: b": {"Symbol": "b"},
    '{"Symbol": "BKQU", "Brand": ["a"], "PoPLookback": 1, "x": null}': {
        "Symbol": "BKQU",
        "Brand": ["a"],
        "PoPLookback": 1,
        "x": None,
    },
    ' \n {"Symbol": "$symbol"}\n': {"Symbol": "$symbol"},
    "{}": {},
}


@pytest.mark.parametrize(("body", "values"), BODIES.items(), ids=[body or "nothing" for body in BODIES])
def test_a_body_is_a_line_an_argument_or_one_object(body: str, values: dict[str, Any]) -> None:
    """Lines are read as the values of a line magic; JSON is taken as it is."""
    assert read_body(body, {"symbol": "BKQU"}) == values


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("Symbol BKQU", "Line 2 of the cell is no argument: 'Symbol BKQU'"),
        ("# c\n\nSymbol=BKQU", "Line 4 of the cell is no argument"),
        ('{"Symbol": "BKQU"', "The cell's JSON cannot be read"),
        ('{"a": 1} {"b": 2}', "The cell's JSON cannot be read"),
        ("{'a': 1}", "The cell's JSON cannot be read"),
        ('{"a":' * 100_000, "The cell's JSON cannot be read"),
        ("[1, 2]", "Line 2 of the cell is no argument"),
        ("Symbol: $absent", "There is no variable 'absent'"),
    ],
    ids=lambda value: value[:30],
)
def test_a_body_that_cannot_be_read_says_where(body: str, words: str) -> None:
    """Lines are counted as the editor counts them: the magic is the first."""
    with pytest.raises(ArgumentError) as caught:
        read_body(body, {})
    assert words in str(caught.value)
    assert len(caught.value.lines) == 2


@given(st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text())))
def test_a_json_body_comes_back_as_it_was(values: dict[str, Any]) -> None:
    """A call's own `--dry-run` output can be pasted back."""
    assert read_body(json.dumps(values, indent=2), {}) == values


@given(st.text())
def test_any_body_is_read_or_refused(body: str) -> None:
    """Whatever stands in the cell."""
    try:
        assert isinstance(read_body(body, {}), dict)
    except ArgumentError as error:
        assert error.what  # noqa: PT017  # either outcome is right


@pytest.mark.usefixtures("no_hang")
@pytest.mark.parametrize("piece", ["’", "”", "’a", "‘a’", "'a', ", "a,", " ", "[", "]", "' ", ",", "‘, ", "’]", "a=["])
@pytest.mark.parametrize("begin", ["[", "k=[", "'", ""])
def test_a_long_hostile_line_is_read_in_one_go(begin: str, piece: str) -> None:
    """A list of closing quotes is not tried in every pairing."""
    text = begin + piece * (10_000 // len(piece))
    for line in (text, text + "]"):
        try:
            words = split_line(line)
        except ArgumentError:
            continue
        for word in words:
            read_value(word.removeprefix("k="), {})
