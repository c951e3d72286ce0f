r"""
What a person wrote behind %funcs: words, values, and the body of a cell. Nothing in it is evaluated or expanded.

A line is split and its quotes are read as `shlex` does by POSIX's rules, but for what serves people who do not know
them: an apostrophe behind a letter or a digit is one (O'Brien), a backslash before a letter or a digit stays (C:\data),
typographic quotes quote where a value begins, and a list in square brackets is one value, as is a list of lists.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import TYPE_CHECKING, Any

from jupyter_funcs.errors import ArgumentError
from jupyter_funcs.text import did_you_mean, inert, quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

QUOTES = {"'": "'", '"': '"', "‘": "’", "’": "’", "“": "”", "”": "”"}
_STRAIGHT = "'\""

_SINGLE = r"'[^']*'"
_DOUBLE = r'"(?:[^"\\]++|\\.)*+"'
_CURLY = "|".join(f"{begin}[^{end}]*{end}" for begin, end in QUOTES.items() if begin not in _STRAIGHT)
_NOT_APOSTROPHE = r"(?<![^\W_])"
# A quoted name may hold a =.
NAME_AND_VALUE = re.compile(rf"(?P<name>(?:{_NOT_APOSTROPHE}{_SINGLE}|{_DOUBLE}|[^=])++)=(?P<value>.*)", re.DOTALL)
_PARTS = re.compile(
    rf"\\(?P<escaped>[\W_])|{_NOT_APOSTROPHE}(?P<single>{_SINGLE})|(?P<double>{_DOUBLE})|(?:^|(?<==))(?P<curly>{_CURLY})",
    re.DOTALL,
)
_IN_DOUBLE = re.compile(r'\\(["\\])')
# One quoted text from end to end; an apostrophe between two letters does not end it.
_WHOLE = re.compile(rf"'(?:[^']|(?<=[^\W_])'(?=[^\W_]))*'|{_DOUBLE}|{_CURLY}", re.DOTALL)

# json's words where they are of little help.
_JSON = {
    "Invalid control character at": "a text is not closed",
    "Unterminated string starting at": "a text is not closed",
    "Illegal trailing comma before end of object": "there is a comma too many",
    "Illegal trailing comma before end of array": "there is a comma too many",
    "Extra data": "there is more than one object",
}

# As JSON writes a text first; a backslash before the closing quote may also be a person's, of a path.
_QUOTED = "|".join([_DOUBLE, *(f"{begin}[^{end}]*{end}" for begin, end in QUOTES.items())])
# One way only to read an item (atomic groups): else a row of closing quotes is tried in every pairing.
_TEXT = rf"(?>\s*)(?>(?:{_QUOTED})(?=\s*(?:[,\]]|$))|[^,\[\]]*)(?>\s*)"
# A list of lists is what a sweep takes for a parameter that takes a list; nothing nests deeper.
_ITEM = rf"(?:(?>\s*)\[(?:{_TEXT},)*+{_TEXT}\](?>\s*)|{_TEXT})"
_ITEMS = re.compile(_ITEM)
_LIST = re.compile(rf"\[(?:{_ITEM},)*+{_ITEM}\]")
_CLOSED = {
    **{begin: re.compile(f"{begin}[^{end}]*{end}") for begin, end in QUOTES.items()},
    '"': re.compile(_DOUBLE, re.DOTALL),
    "[": _LIST,
}


def split_line(line: str) -> list[str]:
    """
    Split a magic's line into words at white space, as far as it stands outside of quotes and square brackets.

    The quotes stay in the words, for `read_word` and `unquoted`.

    Raises
    ------
    ArgumentError
        A quote or a bracket is not closed; a caret under it shows which.
    """
    words, at = split_open(line)
    if at is not None:
        raise _unclosed(line, at)
    return words


def split_open(line: str) -> tuple[list[str], int | None]:
    """
    Split a line that may not be finished.

    Returns
    -------
    words : list of str
        As of `split_line`; the last takes all that stands behind a quote or a bracket that is not closed.
    unclosed : int or None
        Where that quote or bracket is.
    """
    words: list[str] = []
    start, at = None, 0
    while at < len(line):
        char = line[at]
        if char.isspace():
            words += [] if start is None else [line[start:at]]
            start, at = None, at + 1
            continue
        value_begins = start is None or line[at - 1] == "="
        start = at if start is None else start
        if char == "\\":
            at += 2
        elif char in _CLOSED and (value_begins or char == '"' or (char == "'" and not line[at - 1].isalnum())):
            closed = _CLOSED[char].match(line, at)
            if closed is None:
                return [*words, line[start:]], at
            at = closed.end()
        else:
            at += 1
    return words if start is None else [*words, line[start:]], None


def unquoted(word: str) -> str:
    """Give a word of a line without its quotes and backslashes."""
    return _PARTS.sub(_plain, word)


def _plain(part: re.Match[str]) -> str:
    if part["escaped"] is not None:
        return part["escaped"]
    inner = part[0][1:-1]
    return _IN_DOUBLE.sub(r"\1", inner) if part["double"] is not None else inner


def name_and_arguments(words: list[str]) -> tuple[str, list[str]]:
    """
    Part a line's words into a function's name and all that stands from its first argument on.

    A name of several words may stand without quotes: everything before the first argument is the name. An argument may
    stand in quotes as a whole, as in a shell (``"PanelName=Demo Card Panel"``): it is given with them around its parts.
    """
    words = [*words[:1], *map(_in_parts, words[1:])]  # the first is a name, though it may hold a =
    first = next((at for at, word in enumerate(words) if NAME_AND_VALUE.fullmatch(word)), len(words))
    return " ".join(map(unquoted, words[:first])), words[first:]


def _in_parts(word: str) -> str:
    if NAME_AND_VALUE.fullmatch(word) and not _WHOLE.fullmatch(word):
        return word
    name, equals, value = unquoted(word).partition("=")
    if not (name and equals):
        return word
    is_read = (value.startswith("[") and value.endswith("]")) or (value.startswith("$") and value[1:].isidentifier())
    return f"{_in_double_quotes(name)}={value if is_read else _in_double_quotes(_unwrapped(value))}"


def _in_double_quotes(text: str) -> str:
    return '"{}"'.format(text.replace("\\", r"\\").replace('"', r"\""))


def read_word(text: str, namespace: Mapping[str, Any]) -> Any:
    """
    Read the value behind ``name=`` on a line: ``$variable``, a list in brackets, or text, its quotes taken off.

    Raises
    ------
    ArgumentError
        There is no such variable.
    """
    return _read(text, namespace, unquoted)


def read_value(text: str, namespace: Mapping[str, Any]) -> Any:
    """
    Read a value that ends where its text does: ``$variable``, a list in brackets, quoted text, or text as it stands.

    Raises
    ------
    ArgumentError
        There is no such variable.
    """
    return _read(text, namespace, _unwrapped)


def _read(text: str, namespace: Mapping[str, Any], as_text: Any) -> Any:
    if text.startswith("$"):
        name = text[1:]
        if name in namespace:
            return namespace[name]
        hint = did_you_mean(name, (key for key in namespace if not key.startswith("_")))
        raise ArgumentError(f"There is no variable {quote(name)}.", hint or f"Define it, or quote the value: '{text}'.")
    if text.startswith("[") and text.endswith("]"):
        try:
            # Numbers stay as they are written, as they do outside of a list.
            return list(json.loads(text, parse_int=str, parse_float=str, parse_constant=str))
        except (ValueError, RecursionError):
            return _items(text)
    return as_text(text)


def _items(text: str) -> list[Any]:
    items = (item.strip() for item in _ITEMS.findall(text[1:-1]))
    return [_items(item) if _LIST.fullmatch(item) else _unwrapped(item) for item in items if item]


def _unwrapped(text: str) -> str:
    if not _WHOLE.fullmatch(text):
        return text
    return _IN_DOUBLE.sub(r"\1", text[1:-1]) if text.startswith('"') else text[1:-1]


def read_body(body: str, namespace: Mapping[str, Any]) -> dict[str, Any]:
    """
    Read a cell's body: one JSON object, or a ``key: value`` line an argument; ``#`` begins a comment line.

    The items of a list may stand below its bracket, a line each.

    Raises
    ------
    ArgumentError
        The JSON is not an object, a line has no colon, or an argument is given twice; says where.
    """
    if body.lstrip().startswith("{"):
        try:
            return dict(json.loads(body, object_pairs_hook=_once))
        except ArgumentError:
            raise
        except json.JSONDecodeError as error:
            excerpt = _excerpt(body.split("\n")[error.lineno - 1], error.colno - 1)
            text = f"Line {error.lineno + 1} of the cell's JSON cannot be read at the caret: {_why(error)}."
            raise ArgumentError(text, excerpt=excerpt) from None
        except (ValueError, RecursionError) as error:
            raise ArgumentError(f"The cell's JSON cannot be read: {error}.", "Give one object of arguments.") from None
    values: dict[str, Any] = {}
    lines, at = body.splitlines(), 0
    while at < len(lines):
        line, number, at = lines[at], at + 2, at + 1
        if line.strip() and not line.lstrip().startswith("#"):
            name, colon, text = line.partition(":")
            if not colon:
                raise ArgumentError(f"Line {number} of the cell is no argument: {quote(line)}.", "Write `name: value`.")
            value, more = with_items_below(text.strip(), lines[at:])
            at += more
            begins = len(line) - len(text.lstrip())
            end = "]" if value.startswith("[") else QUOTES.get(value[:1])
            if end is not None and end not in value[1:]:
                raise _unclosed(line, begins, f" in line {number} of the cell")
            name = _unwrapped(name.strip())
            if name in values:
                raise given_twice(name)
            values[name] = read_value(value, namespace)
    return values


def with_items_below(value: str, lines: Sequence[str]) -> tuple[str, int]:
    """
    Give a value of a body as one line, where it is a list whose items stand below it, as a pasted column does.

    Returns
    -------
    value : str
        The list; the value as it is where it is none, or is closed nowhere.
    more : int
        How many of the lines below belong to it.
    """
    if not value.startswith("[") or _LIST.fullmatch(value):
        return value, 0
    joined = value
    for number, line in enumerate(map(str.strip, lines), start=1):
        if line.startswith("#"):
            continue
        joined += f"{'' if joined.endswith(('[', ',')) or line[:1] in {']', ''} else ','}{line}"
        if line.endswith("]") and _LIST.fullmatch(joined):
            return joined, number
    return value, 0


def _why(error: json.JSONDecodeError) -> str:
    before, behind = error.doc[: error.pos].rstrip(), error.doc[error.pos :]
    if before.endswith(",") and behind.startswith(("}", "]")):
        return "there is a comma too many"
    return _JSON.get(error.msg, error.msg)


def given_twice(name: str) -> ArgumentError:
    """Give the error for an argument that is there already."""
    return ArgumentError(f"{name} is given twice.", "Several values go in brackets: [a, b].")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name in values:
            raise given_twice(name)
        values[name] = value
    return values


def _unclosed(line: str, at: int, where: str = "") -> ArgumentError:
    bracket = line[at] == "["
    way_out = "Close it, or put quotes around the value" if bracket else r"Close it, or write \ before it"
    if where and not bracket:  # a body's value has no backslashes
        way_out = "Close it, or put other quotes around the value"
    text = f"The {'bracket' if bracket else 'quote'} at the caret is not closed{where}. {way_out}:"
    return ArgumentError(text, excerpt=_excerpt(line, at))


def _excerpt(line: str, at: int) -> tuple[str, int]:
    """Give the piece of a line around a place, on one line and inert, and the columns that stand before the place."""
    before = inert(f"{'…' if at > 50 else ''}{line[max(0, at - 50) : at]}|")[:-1]
    behind = inert(f"|{line[at : at + 20]}")[1:]
    return f"{before}{behind}", sum(_columns(char) for char in before)


def _columns(char: str) -> int:
    return 0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
