"""The line and the body of %funcs are read as they are meant; nothing in them is evaluated or expanded."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import jupyter_funcs as jf
from jupyter_funcs.client import snippets
from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.core.line import (
    NAME_AND_VALUE,
    in_double_quotes,
    name_and_arguments,
    read_body,
    read_value,
    read_word,
    split_line,
    unquoted,
)
from tests.examples import row_id

LINES: dict[str, list[str]] = {
    "": [],
    "  \t ": [],
    "find panel daily": ["find", "panel", "daily"],
    'call "Get Panel Daily" Symbol=BKQU': ["call", '"Get Panel Daily"', "Symbol=BKQU"],
    "call ‘Get Panel Daily’ x": ["call", "‘Get Panel Daily’", "x"],
    "call “Get Panel Daily” x": ["call", "“Get Panel Daily”", "x"],
    "call ’Get Panel Daily’": ["call", "’Get Panel Daily’"],
    "call get_panels Symbol='BKQU US EQUITY' -q": [
        "call",
        "get_panels",
        "Symbol='BKQU US EQUITY'",
        "-q",
    ],
    "x Brand=[a, b c, 'd, e'] y=1": ["x", "Brand=[a, b c, 'd, e']", "y=1"],
    "x Brand=['a]b', \"c [d\"] y": ["x", "Brand=['a]b', \"c [d\"]", "y"],
    "x Brand=[it's, that’s] y=[it's]": ["x", "Brand=[it's, that’s]", "y=[it's]"],
    "x Brand=[[a], [b, c d]] y=[ [e] ]": ["x", "Brand=[[a], [b, c d]]", "y=[ [e] ]"],
    "x Brand=[['a]b', c], 'd]'] y": ["x", "Brand=[['a]b', c], 'd]']", "y"],
    "x Brand=[]": ["x", "Brand=[]"],
    'x Brand=["a\\", [b", c] y': ["x", 'Brand=["a\\", [b", c]', "y"],
    'x Brand=["C:\\", "b"] y': ["x", 'Brand=["C:\\", "b"]', "y"],
    "x 'Panel Name'='a b'": ["x", "'Panel Name'='a b'"],
    "x a=b=c": ["x", "a=b=c"],
    "x a= b": ["x", "a=", "b"],
    "x a='' b": ["x", "a=''", "b"],
    "x a=$name b={token} c=$token": ["x", "a=$name", "b={token}", "c=$token"],
    "x\u00a0y\u3000z": ["x", "y", "z"],
    "x a=1 # don't [": ["x", "a=1"],
    "x; #": ["x;"],
    "# x": [],
    "x a=b#c d=# #e '# f' g=[# h] \\#": [
        "x",
        "a=b#c",
        "d=#",
        "#e",
        "'# f'",
        "g=[# h]",
        "\\#",
    ],
    "x a=C:\\dir\\'n'": ["x", "a=C:\\dir\\'n'"],
}


@pytest.mark.parametrize(("line", "words"), LINES.items(), ids=map(row_id, LINES))
def test_a_line_is_split_at_spaces_outside_of_quotes_and_brackets(
    line: str, words: list[str]
) -> None:
    """Quotes, straight or curly, count where a value begins; elsewhere an apostrophe is an apostrophe."""
    assert split_line(line) == words


@pytest.mark.parametrize(
    ("line", "what", "shown", "caret"),
    [
        ("call 'Get Panels", "quote", "call 'Get Panels", "     ^"),
        ('call x Note="a b', "quote", 'call x Note="a b', "            ^"),
        ('call x Note=a"b c', "quote", 'call x Note=a"b c', "             ^"),
        ("call ‘Get Panels'", "quote", "call ‘Get Panels'", "     ^"),
        ("call x Brand=[a, b", "bracket", "call x Brand=[a, b", "             ^"),
        ("call x Brand=[[a]", "bracket", "call x Brand=[[a]", "             ^"),
        ("call x Brand=[[[a]]]", "bracket", "call x Brand=[[[a]]]", "             ^"),
        ("call  \t a='", "quote", "call a='", "       ^"),
        ("call 日本=a a\u0301='", "quote", "call 日本=a a\u0301='", "              ^"),
        ("call \x1b[0m='", "quote", "call \\x1b[0m='", "             ^"),
        (
            f"call {'y' * 90} Note='{'z' * 90}",
            "quote",
            f"…{'y' * 44} Note='{'z' * 19}",
            f"{' ' * 51}^",
        ),
    ],
)
def test_an_unclosed_quote_or_bracket_is_shown_with_a_caret(
    line: str, what: str, shown: str, caret: str
) -> None:
    """A caret points to it (FAULTS 88) in a short piece of the line, at the column where it is displayed."""
    with pytest.raises(
        ArgumentError, match=f"The {what} at the caret is not closed"
    ) as caught:
        split_line(line)
    assert caught.value.lines[1:] == [shown, caret]
    assert len(caught.value.what) < 100


def like_shlex(line: str) -> list[str] | None:
    """Return what shlex reads, None if it refuses."""
    try:
        return shlex.split(line)
    except ValueError:
        return None


def as_read(line: str) -> list[str] | None:
    try:
        return [unquoted(word) for word in split_line(line)]
    except ArgumentError:
        return None


def in_quotes(text: str) -> str:
    """Write a text in double quotes, as for a shell."""
    return '"{}"'.format(text.replace("\\", "\\\\").replace('"', '\\"'))


# Parts of a word that are not of the exceptions: an apostrophe behind a letter, a backslash before one, a bracket or a
# typographic quote where a value begins.
PARTS = st.one_of(
    st.text(st.sampled_from("abZé01.,:-_/%@{}$#;=()"), min_size=1),
    st.text(st.sampled_from(" ab='\"\\[]$\u201c")).map(
        lambda text: "'{}'".format(text.replace("'", ""))
    ),
    st.text(st.sampled_from(" ab='\"\\[]$\u201c")).map(in_quotes),
    st.sampled_from(" '\"\\[]$=;\u201c").map(lambda char: f"\\{char}"),
)


def joined(parts: list[str]) -> str:
    """Return a word, with a dot where a quote would be an apostrophe between two letters."""
    word = ""
    for part in parts:
        begins = part[0] == "'" and word[-1:].isalnum()
        ends = word.endswith("\\'") and part[0].isalnum()
        if begins or ends:
            word += "."
        word += part
    return word


@given(st.lists(st.lists(PARTS, min_size=1).map(joined), max_size=4).map(" ".join))
def test_what_shlex_reads_is_read_alike(line: str) -> None:
    """Quotes within words, adjacent quoted parts, and backslashes inside and outside of quotes."""
    assume("#" not in line.split(" "))  # which begins a comment
    assert as_read(line) == like_shlex(line) is not None


@given(st.text(st.sampled_from("ab1'\"\\ =$;-#%\n"), max_size=20))
def test_any_line_that_holds_no_exception_is_read_as_shlex_does(line: str) -> None:
    """Including lines that are refused."""
    assume(not re.search(r"[ab1]'|[ab1]\\'[ab1]|\\[ab1]|\\$|(^|\s)#(\s|$)", line))
    assert as_read(line) == like_shlex(line)


WORDS: dict[str, list[str]] = {
    "O'Brien": ["O'Brien"],
    "Note=it's Note2=don't": ["Note=it's", "Note2=don't"],
    "Macys' 'Macys'": ["Macys'", "Macys"],
    "Brien\\'s x": ["Brien's", "x"],
    "C:\\data\\1": ["C:\\data\\1"],
    '"C:\\data"': ["C:\\data"],
    "Get\\ Panels": ["Get Panels"],
    "'it'\\''s'": ["it's"],
    "a'b'": ["a'b'"],
    "a-'b c'": ["a-b c"],
    "“a b”c": ["a bc"],
    "k=“a b”": ["k=a b"],
    "k=that’s": ["k=that’s"],
    "k=\\$name": ["k=$name"],
    "k=\\[a": ["k=[a"],
    '5\\"': ['5"'],
}


@pytest.mark.parametrize(("line", "words"), WORDS.items(), ids=list(WORDS))
def test_what_people_write_without_knowing_a_shell_is_read_as_meant(
    line: str, words: list[str]
) -> None:
    """The exceptions to shlex's rules, and how to write what they change."""
    assert as_read(line) == words


READ: dict[str, Any] = {
    "$name": "expanded",
    "\\$name": "$name",
    "$'name": None,
    "'[a, b]'": "[a, b]",
    "\\[a]": "[a]",
    "a' b'": "a' b'",
    "'a b'c": "a bc",
    '{"a": "b"}': '{"a": "b"}',
    '{"a b"}': "{a b}",
}


@pytest.mark.parametrize(("text", "value"), READ.items(), ids=list(READ))
def test_a_value_of_a_line_is_read_without_its_quotes(text: str, value: Any) -> None:
    """A quoted dollar or bracket is text."""
    if value is None:
        with pytest.raises(ArgumentError, match="There is no variable"):
            read_word(text, {"name": "expanded"})
    else:
        assert read_word(text, {"name": "expanded"}) == value


@pytest.mark.parametrize("text", ['{"a b": {"c": [1, "d = {"]}}', "{}", '{"a": "\\""}'])
def test_a_json_object_is_one_value(text: str) -> None:
    """With its quotes and spaces; what only begins like one is read as before."""
    assert split_line(f"f a={text} b=c") == ["f", f"a={text}", "b=c"]
    assert read_word(text, {}) == text
    assert split_line('f a={b c=" d"') == ["f", "a={b", 'c=" d"']


def test_a_quoted_name_may_hold_an_equals_sign() -> None:
    """The whole is a function's name, or an argument's."""
    assert NAME_AND_VALUE.fullmatch("'Rate a=b'") is None
    match = NAME_AND_VALUE.fullmatch('"a=b"="c=d"')
    assert match is not None
    assert (unquoted(match["name"]), unquoted(match["value"])) == ("a=b", "c=d")


ARGUMENTS: dict[str, tuple[str, list[tuple[str, Any]]]] = {
    'f "Name=a b"': ("f", [("Name", "a b")]),
    "f 'Name=a b' x=y": ("f", [("Name", "a b"), ("x", "y")]),
    "Get It “Name=a b”": ("Get It", [("Name", "a b")]),
    'f x=y "Panel Name=a=b"': ("f", [("x", "y"), ("Panel Name", "a=b")]),
    'f "Name="Demo': ("f", [("Name", "Demo")]),
    "f \"Name='a b'\"": ("f", [("Name", "a b")]),
    "f 'Name=\"a b\"'": ("f", [("Name", "a b")]),
    "f 'Path=C:\\a b\\'": ("f", [("Path", "C:\\a b\\")]),
    'f "Name="': ("f", [("Name", "")]),
    'f "Brand=[a b, c]"': ("f", [("Brand", ["a b", "c"])]),
    'f "Symbol=$name" "Note=$5 and $name"': (
        "f",
        [("Symbol", "expanded"), ("Note", "$5 and $name")],
    ),
    '"Rate a=b" x=y': ("Rate a=b", [("x", "y")]),
    'f "=a"': ("f =a", []),
    'f "a b"': ("f a b", []),
    'f Name="a b" \'c\'="d=e"': ("f", [("Name", "a b"), ("c", "d=e")]),
}


def arguments_of(line: str) -> tuple[str, list[tuple[str, Any]]]:
    name, arguments = name_and_arguments(split_line(line))
    parted = [match for match in map(NAME_AND_VALUE.fullmatch, arguments) if match]
    return name, [
        (unquoted(argument["name"]), read_word(argument["value"], {"name": "expanded"}))
        for argument in parted
    ]


@pytest.mark.parametrize(("line", "read"), ARGUMENTS.items(), ids=list(ARGUMENTS))
def test_an_argument_may_stand_in_quotes_as_a_whole(
    line: str, read: tuple[str, list[tuple[str, Any]]]
) -> None:
    """As in a shell, except for the function's name, which may contain a =."""
    assert arguments_of(line) == read


@given(st.text(st.characters(exclude_characters="="), min_size=1), st.text())
def test_an_argument_that_is_quoted_for_a_shell_is_read_as_one(
    name: str, value: str
) -> None:
    """Its value is the text; lists, variables and quotes within it are read as elsewhere."""
    assume(not re.match(r"[\[$'\"‘’“”]", value))
    assert arguments_of(f"f {in_quotes(f'{name}={value}')}") == ("f", [(name, value)])


@given(st.text() | st.text(st.sampled_from("'\"‘’“”[], =ab$\\"), max_size=30))
def test_any_line_is_split_or_refused_and_loses_nothing_but_spaces(line: str) -> None:
    """No character is invented, dropped or moved."""
    assume(not re.search(r"(^|\s)#(\s|$)", line))
    try:
        words = split_line(line)
    except ArgumentError:
        return
    assert "".join("".join(words).split()) == "".join(line.split())
    assert all(words)


@given(st.lists(st.text(st.characters(exclude_characters='"'), min_size=1), max_size=5))
def test_quoted_values_come_back_as_they_were(values: list[str]) -> None:
    """Text in double quotes is one value, whatever it contains."""
    escaped = [value.replace("\\", "\\\\") for value in values]
    line = " ".join(f'k="{value}"' for value in escaped)
    assert [
        read_word(word.removeprefix("k="), {}) for word in split_line(line)
    ] == values


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
    "'it's so'": "it's so",
    "'a' or 'b'": "'a' or 'b'",
    '"a" or "b"': '"a" or "b"',
    '"a \\"b\\""': 'a "b"',
    "C:\\a b": "C:\\a b",
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
    '["a\\", [b", c]': ['a", [b', "c"],
    "[1, 1.10, 007, 1e5, -0]": ["1", "1.10", "007", "1e5", "-0"],
    "[1.10, 2]": ["1.10", "2"],
    "[NaN, Infinity]": ["NaN", "Infinity"],
    "[a,,b,]": ["a", "", "b"],
    "[a, ,b, ]": ["a", "", "b"],
    "[,a]": ["", "a"],
    "['', a]": ["", "a"],
    "[$name]": ["$name"],
    "[[a], [b c, 'd, e']]": [["a"], ["b c", "d, e"]],
    '[["a"], ["b", 1.10]]': [["a"], ["b", "1.10"]],
    "[[a], b, []]": [["a"], "b", []],
    "[ [ ] , [a,,] ]": [[], ["a", ""]],
    "['[a]', [b]]": ["[a]", ["b"]],
    "[__import__('os').getcwd()]": ["__import__('os').getcwd()"],
    "[a": "[a",
    "a]": "a]",
}


@pytest.mark.parametrize(("text", "value"), VALUES.items(), ids=map(row_id, VALUES))
def test_a_value_is_text_or_a_list_of_texts_as_written(text: str, value: Any) -> None:
    """No type is guessed from a value: no number, no boolean, no expression."""
    assert read_value(text, {"name": "expanded"}) == value


def test_a_whole_value_with_a_dollar_is_the_object_of_that_name() -> None:
    """The object itself, of any type, and only if it is the whole value."""
    value = object()
    assert read_value("$held", {"held": value}) is value
    assert read_value("$nothing", {"nothing": None}) is None


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("$symbl", "Did you mean 'symbol'?"),
        ("$zzz", "Define it, or quote the value: '$zzz'."),
        ("$", "Define it"),
    ],
)
def test_an_absent_variable_is_named_with_the_nearest(text: str, hint: str) -> None:
    """Private names and values are not suggested."""
    with pytest.raises(ArgumentError, match="There is no variable") as caught:
        read_value(text, {"symbol": "s3cret", "_symbl": 1})
    assert caught.value.hint.startswith(hint)
    assert "s3cret" not in str(caught.value)


@given(st.text())
def test_any_value_is_read_or_refused(text: str) -> None:
    """Whatever follows `name=`."""
    try:
        value = read_value(text, {})
    except ArgumentError:
        assert text.startswith("$")
    else:
        assert isinstance(value, str | list)


BODIES: dict[str, dict[str, Any]] = {
    "": {},
    "\n\n": {},
    "Symbol: BKQU\nPanelName: Card Spend\n": {
        "Symbol": "BKQU",
        "PanelName": "Card Spend",
    },
    "  Symbol :  BKQU US  \r\n# a comment: x\n\n  # another\nNote: a # b": {
        "Symbol": "BKQU US",
        "Note": "a # b",
    },
    "'Panel Name': 'a: b'": {"Panel Name": "a: b"},
    "At: 05:06": {"At": "05:06"},
    "Brand: [a, 'b, c']": {"Brand": ["a", "b, c"]},
    "Brand: [\na b\n\n  c, d,\n# e\n'f]'\n]\nNote: x": {
        "Brand": ["a b", "c", "d", "f]"],
        "Note": "x",
    },
    "Brand: [a,\n b]\nNote: x": {"Brand": ["a", "b"], "Note": "x"},
    "Brand: [[a, b]\n[c]]": {"Brand": [["a", "b"], ["c"]]},
    "Symbol: $symbol": {"Symbol": "BKQU"},
    "Symbol: '$symbol'": {"Symbol": "$symbol"},
    "Symbol:": {"Symbol": ""},
    "Symbol: {symbol}": {"Symbol": "{symbol}"},
    'Note: it\'s a "b" c': {"Note": 'it\'s a "b" c'},
    '{"Symbol": "BKQU", "Brand": ["a"], "n": 1, "x": null}': {
        "Symbol": "BKQU",
        "Brand": ["a"],
        "n": 1,
        "x": None,
    },
    ' \n {"Symbol": "$symbol"}\n': {"Symbol": "$symbol"},
    "{}": {},
}


@pytest.mark.parametrize(
    ("body", "values"), BODIES.items(), ids=[body or "nothing" for body in BODIES]
)
def test_a_body_is_a_line_an_argument_or_one_object(
    body: str, values: dict[str, Any]
) -> None:
    """Values in lines are read as on a line; JSON is taken as it is."""
    assert read_body(body, {"symbol": "BKQU"}) == values


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("Symbol BKQU", "Line 2 of the cell is not an argument: 'Symbol BKQU'"),
        ("# c\n\nSymbol=BKQU", "Line 4 of the cell is not an argument"),
        (
            '{"a": "b"',
            'Line 2 of the cell isn\'t valid JSON: the object is not closed.\n{"a": "b"\n         ^',
        ),
        (
            '{"a": 1,\n "b": 2,\n\n',
            'Line 3 of the cell isn\'t valid JSON: the object is not closed.\n"b": 2,\n',
        ),
        ('{"a": 1\n "b": 2}', "a comma is missing before the caret"),
        ('{"a" 1}', "a colon is missing before the caret"),
        ('{"a": ["b"}', "a ] is missing before the caret"),
        ('{"a": [{"b": 1]}', "a } is missing before the caret"),
        ('{"a": "b}\n', 'a string is not closed.\n{"a": "b}\n'),
        (
            '{"a": True}',
            "a value is text in double quotes, a number, true, false, null or a list",
        ),
        ('{"a": 1} {"b": 2}', '{"a": 1} {"b": 2}\n         ^'),
        ('{"a": 1,\n}', "Line 3 of the cell isn't valid JSON: there is an extra comma"),
        ('\n{\n  "a": x\n}', "Line 4 of the cell isn't valid JSON"),
        ("{'a': 1}", "a name needs double quotes.\n{'a': 1}\n ^"),
        ('{"a": 1, "a": 2}', "a is given twice."),
        ("Symbol: a\nSymbol: b", "Symbol is given twice."),
        (
            'A: "BKQU',
            'in line 2 of the cell. Close it, or put other quotes around the value:\nA: "BKQU\n   ^',
        ),
        ("A: a\nBrand: [a, b", "Brand: [a, b\n       ^"),
        (
            "A: [a,\nb\nB: x",
            "in line 2 of the cell. Close it, or put quotes around the value:\nA: [a,\n   ^",
        ),
        ('{"a":' * 100_000, "The cell's JSON cannot be read"),
        ("[1, 2]", "Line 2 of the cell is not an argument"),
        ("Symbol: $absent", "There is no variable 'absent'"),
    ],
    ids=lambda value: value[:30],
)
def test_a_body_that_cannot_be_read_says_where(body: str, words: str) -> None:
    """Lines are counted as in the editor: the magic's is the first."""
    with pytest.raises(ArgumentError) as caught:
        read_body(body, {})
    assert words in str(caught.value)
    assert len(caught.value.lines) in {2, 3}


@given(
    st.dictionaries(
        st.text(),
        st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text()),
    )
)
def test_a_json_body_comes_back_as_it_was(values: dict[str, Any]) -> None:
    """A call's own `--dry-run` output can be pasted back."""
    assert read_body(json.dumps(values, indent=2), {}) == values


@given(st.text())
def test_any_body_is_read_or_refused(body: str) -> None:
    """Whatever is in the cell."""
    try:
        assert isinstance(read_body(body, {}), dict)
    except ArgumentError as error:
        assert error.what  # noqa: PT017  # either outcome is right


HOSTILE = [
    "’",
    "”",
    "’a",
    "‘a’",
    "'a', ",
    "a,",
    " ",
    "[",
    "]",
    "' ",
    ",",
    "‘, ",
    "’]",
    "a=[",
]
HOSTILE += ["[[", "],[", "[a,", "['a,", "[],"]  # lists of lists
HOSTILE += ['\\"', '"\\",', '"\\"', '["\\"']


@pytest.mark.slow
@pytest.mark.usefixtures("no_hang")
@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize("begin", ["[", "k=[", "'", ""], ids=row_id)
def test_a_long_hostile_line_is_read_in_one_go(begin: str, piece: str) -> None:
    """The time is linear, even for a list of closing quotes."""
    text = begin + piece * (10_000 // len(piece))
    for line in (text, text + "]"):
        try:
            words = split_line(line)
        except ArgumentError:
            continue
        for word in words:
            read_word(word.removeprefix("k="), {})
            read_value(word.removeprefix("k="), {})
            NAME_AND_VALUE.fullmatch(word)


PATHS = [
    r"\\srv\share\t.csv",
    r"\\srv\new",
    r"\\?\C:\temp",
    r"\\10.0.0.1\b$\x y",
    "C:\\temp\\new",
    "C:\\data\\",
]


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_read_as_it_is_typed(path: str) -> None:
    """In each kind of quotes, in lists and in the lines of a body, both backslashes of a network path stay."""
    # Before a double quote, the last one is written twice.
    closing = "\\" if path.endswith("\\") else ""
    texts = [f'"{path}{closing}"', f"'{path}'", f"‘{path}’", f"“{path}”"]
    texts += [] if " " in path or closing else [path]
    for text in texts:
        assert [read_word(word, {}) for word in split_line(text)] == [path]
        for several in (f"[{text}]", f"[a, {text}, b]"):
            assert split_line(f"f x={several} y") == ["f", f"x={several}", "y"]
            assert path in read_word(several, {}) == read_value(several, {})
        assert read_word(f"[[{text}], [b]]", {}) == [[path], ["b"]]
        assert read_body(f"x: {text}\ny: [{text}]", {}) == {"x": path, "y": [path]}
    assert read_body(f'x: {path}\ny: "{path}"', {}) == {"x": path, "y": path}


@pytest.mark.parametrize(
    "text",
    ["'it\\'s'", "[‘it\\’s’]", "‘it\\’s’", "['it\\'s', b]", "[['it\\'s'], ['b']]"],
)
def test_an_escaped_apostrophe_is_an_apostrophe(text: str) -> None:
    """In single quotes, too, which a shell would end there."""
    for read in (read_word, read_value):
        assert "\\" not in (read_text := str(read(text, {})))
        assert "it's" in read_text.replace("’", "'")
    assert split_line(f"f x={text} y") == ["f", f"x={text}", "y"]


def test_a_letter_after_a_backslash_is_a_letter_except_in_json() -> None:
    """A list of texts is read as the rest of a line; an object and its list are JSON."""
    assert read_word(r'["a\nb", "c\\nd"]', {}) == [r"a\nb", r"c\nd"]
    assert read_word(r'[{"a": "b\nc"}]', {}) == [{"a": "b\nc"}]
    assert read_body('{"a": ["b\\nc"]}', {}) == {"a": ["b\nc"]}


def run(a: str = "", b: str = "") -> list[str]:
    return [a, b]


RUN = jf.connect([run])["run"]
TEXTS = (
    st.text()
    | st.text(st.sampled_from("\\\"'‘’“”ab ?.$[]{},=\tnu0041#;"), max_size=12)
    | st.sampled_from(PATHS)
)


@given(TEXTS)
def test_what_is_written_in_double_quotes_is_read_back(text: str) -> None:
    """On a line, and anywhere else."""
    word = in_double_quotes(text)
    assert [
        read_word(piece.removeprefix("k="), {}) for piece in split_line(f"k={word}")
    ] == [text]
    assert read_value(word, {}) == text


@given(
    st.dictionaries(
        st.sampled_from(["a", "b"]),
        TEXTS | st.lists(TEXTS, min_size=1) | st.lists(st.lists(TEXTS)),
    )
)
def test_a_magic_reads_back_the_values_that_it_was_made_from(
    args: dict[str, Any],
) -> None:
    """A line, or a cell of JSON where a line can't have the value."""
    shown = snippets.magic(RUN, args)
    if shown.startswith("%%"):
        assert read_body(shown.partition("\n")[2], {}) == args
        return
    name, words = name_and_arguments(
        split_line(shown.removeprefix("df = %funcs call "))
    )
    matches = [match for match in map(NAME_AND_VALUE.fullmatch, words) if match]
    read = {unquoted(match["name"]): read_word(match["value"], {}) for match in matches}
    assert (name, read) == ("run", args)


@pytest.mark.parametrize(
    "value",
    [
        """{'k': 1}""",
        """{'k': [1, {'n': "it's"}], 'b': None}""",
        """{"k": 1, 'b': "a } b"}""",
        """{}""",
    ],
)
def test_a_dictionary_of_python_is_one_value_with_its_quotes(value: str) -> None:
    words = split_line(f"name o={value} k=2")
    assert words == ["name", f"o={value}", "k=2"]
    assert read_word(value, {}) == value


@pytest.mark.parametrize("value", ["{name}", "{'k'}", "{k:1}"])
def test_other_braces_are_text(value: str) -> None:
    assert split_line(f"name o={value} k=2") == ["name", f"o={value}", "k=2"]
    assert read_word(value, {}) == value.replace("'", "")
