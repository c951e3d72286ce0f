r"""
Parse what follows %funcs: words, options, values, and the body of a cell. Nothing is evaluated or expanded.

Lines are split as `shlex` does by POSIX's rules, with exceptions for users who don't know them: an apostrophe after a
letter or digit is part of the word (O'Brien), as in \' between two; so is a backslash before a letter or a digit
(C:\data), and both that begin a network path (\\server\share). Typographic quotes work at the start of a value, a list
in square brackets or a JSON object is one value, whatever is in it, and a word # begins a comment; in any other word
it is text.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import json
import re
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from jupyter_funcs.core.errors import ArgumentError, ConfigError
from jupyter_funcs.core.text import did_you_mean, inert, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Values = dict[str, Any]  # of arguments, by name
Namespace = Mapping[str, Any]  # a user's variables, by name

ROTATE = "The history keeps what you type: set FUNCS_TOKEN instead. If this was a real token, have it replaced."
_NO_HYPHENS = "Arguments have no hyphens: name=value."
_SECRET_OPTION = re.compile(r"(?i)--?\w*(?:token|key|secret|password)")
QUOTES = {"'": "'", '"': '"', "‘": "’", "’": "’", "“": "”", "”": "”"}

_LETTER = r"[^\W_]"
# Quotes of which \' between two letters isn't the end. Without the quote that begins it in between, or each of many
# that are not closed would be searched for its end.
_IN_QUOTES = {
    begin: rf"{begin}(?:[^{begin}{end}]|(?<={_LETTER}\\){end}(?={_LETTER}))*+{end}"
    for begin, end in QUOTES.items()
}
_SINGLE = _IN_QUOTES["'"]
_DOUBLE = _IN_QUOTES['"'] = r'"(?:[^"\\]++|\\.)*+"'
_CURLY = "|".join(_IN_QUOTES[begin] for begin in "‘’“”")
_NOT_APOSTROPHE = rf"(?<!{_LETTER})"
# The two backslashes that begin \\server\share.
_NETWORK = r"(?:^|(?<==))\\\\(?=[\w?.][^\\\s]*+\\[^\\\"\s])"
# A quoted name may contain "=".
NAME_AND_VALUE = re.compile(
    rf"(?s)(?P<name>(?:\\[^=]|{_NOT_APOSTROPHE}{_SINGLE}|{_DOUBLE}|[^=])++)=(?P<value>.*)"
)
_PARTS = re.compile(
    rf"(?s){_NETWORK}|\\(?P<escaped>[\W_])"
    rf"|(?P<quoted>{_NOT_APOSTROPHE}{_SINGLE}|{_DOUBLE}|(?:^|(?<==))(?:{_CURLY}))"
)
_IN_DOUBLE = re.compile(rf'{_NETWORK}|\\(["\\])')
# A fully quoted text; an apostrophe between two letters doesn't end it, and a backslash may be its last character.
_WHOLE = re.compile(
    rf"(?s)'(?:[^']|(?:(?<={_LETTER})|(?<={_LETTER}\\))'(?={_LETTER}))*'|{_DOUBLE}|\"[^\"]*\"|{_CURLY}"
)

_LIST_OR_VARIABLE = re.compile(r"(?s)\[.*\]|\$[^\W\d]\w*")
_MAX_TRIES = 20  # lines that could end a list, or braces that could end an object

# Clearer words for some of json's messages.
_JSON = {
    "Expecting ',' delimiter": "a comma is missing before the caret",
    "Expecting ':' delimiter": "a colon is missing before the caret",
    "Expecting property name enclosed in double quotes": "a name needs double quotes",
    "Expecting value": "a value is text in double quotes, a number, true, false, null or a list",
    "Invalid control character at": "a string is not closed",
    "Unterminated string starting at": "a string is not closed",
    "Illegal trailing comma before end of object": "there is an extra comma",
    "Illegal trailing comma before end of array": "there is an extra comma",
    "Extra data": "there is more than one object",
}

# What is missing where the other one ends a part.
_OTHER_END = {"]": "}", "}": "]"}

# JSON's strings first; a backslash before the closing quote may also end a path.
_QUOTED = rf"{_DOUBLE}|{_SINGLE}|\"[^\"]*\"|{_CURLY}"
# Atomic groups leave one way to read an item; otherwise many quotes in a row are tried in every combination.
_TEXT = rf"(?>\s*)(?>(?:{_QUOTED})(?=\s*(?:[,\]]|$))|[^,\[\]]*)(?>\s*)"
# A sweep over a parameter that takes a list is a list of lists; nothing nests deeper.
_ITEM = rf"(?:(?>\s*)\[(?:{_TEXT},)*+{_TEXT}\](?>\s*)|{_TEXT})"
_ITEMS = re.compile(f"({_ITEM}),?")
_LIST = re.compile(rf"\[(?:{_ITEM},)*+{_ITEM}\]")
_CLOSED = {
    begin: re.compile(f"(?s){pattern}") for begin, pattern in _IN_QUOTES.items()
} | {"[": _LIST}
# A tab in JSON, but in a list of texts it is more likely part of a path, as on the rest of a line.
LETTER_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*+\\[bfnrt]")


class Entered(str):
    """A text that a person entered, which its field reads: ``json:5`` may be a number, ``null`` may be null."""

    __slots__ = ()


class Sent(Entered):
    """A text as 0.1.0 sent and recorded every value: of a field that takes JSON, it is JSON."""

    __slots__ = ()


class JsonList(list[Any]):
    """A list that was written as JSON; numbers keep their spelling, as outside of a list."""

    def __init__(self, text: str) -> None:
        super().__init__(
            json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
        )
        self.typed = json.loads(text)


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises our errors and never repeats the value of an unknown option: it may be a token."""

    def error(self, message: str) -> NoReturn:
        """Raise the message as an `ArgumentError`."""
        if _SECRET_OPTION.search(message):
            raise ConfigError("No option takes a token.", ROTATE)
        text = re.sub(r"(?<![\w-])(--?[\w-]+)=\S*", r"\1", message).removeprefix(
            "argument "
        )
        hint = f"See {self.prog} --help."
        if unknown := re.match(r"unrecognized arguments: (--?[\w-]*)", text):
            text = f"unknown option {quote(unknown[1])}"
            # A single letter would match every option that contains it.
            near = ""
            if len(unknown[1].strip("-")) > 1:
                near = did_you_mean(unknown[1], self._option_string_actions)
            hint = near or f"{_NO_HYPHENS} {hint}"
        elif lacks := re.fullmatch(r"(?:-\w/)?(--[\w-]+): expected one argument", text):
            text = f"{lacks[1]} needs a value: {lacks[1]} {self._option_string_actions[lacks[1]].metavar or 'VALUE'}"
        elif (
            other := text.partition("invalid choice: '")[2].rpartition(
                "' (choose from "
            )
        )[1]:
            hint = did_you_mean(other[0], re.findall(r"[\w-]+", other[2])) or hint

        raise ArgumentError(f"{self.prog}: {text}.", hint)


def split_line(line: str) -> list[str]:
    """Split a line into words at white space outside of quotes and brackets; the words keep their quotes."""
    words, at = split_open(line, comments=True)
    if at is not None:
        raise _unclosed(line, at)
    return words


def split_open(line: str, *, comments: bool = False) -> tuple[list[str], int | None]:
    """Split a line that may be incomplete; also return where its last quote or bracket opens, if it isn't closed."""
    words = []
    start = None
    at = 0
    while at < len(line):
        char = line[at]
        if char.isspace():
            if start is not None:
                words.append(line[start:at])
            start = None
            at += 1
            continue
        if comments and start is None and line[at : at + 2].strip() == "#":
            break
        value_begins = start is None or line[at - 1] == "="
        if start is None:
            start = at
        end = _end_of_part(line, at, value_begins=value_begins)
        if end is None:
            return [*words, line[start:]], at
        at = end

    if start is not None:
        words.append(line[start:])
    return words, None


def _end_of_part(line: str, at: int, *, value_begins: bool) -> int | None:
    """Return where a character, or the quote, bracket or object that begins with it, ends; ``None`` if it doesn't."""
    char = line[at]
    if char == "\\":
        return at + 2
    if char in _CLOSED and (
        value_begins or char == '"' or (char == "'" and not line[at - 1].isalnum())
    ):
        closed = _CLOSED[char].match(line, at)
        return closed and closed.end()

    if char == "{" and value_begins:
        return _object_end(line, at) or at + 1
    return at + 1


def _object_end(text: str, begin: int = 0) -> int:
    """Return where the object ends that begins here, as JSON or Python has it; 0 if there is none."""
    with suppress(ValueError, RecursionError):
        return json.JSONDecoder().raw_decode(text, begin)[1]
    end = begin
    for _ in range(_MAX_TRIES):
        end = text.find("}", end) + 1
        if not end or json_of_python(text[begin:end]):
            return end
    return 0


def json_of_python(text: str) -> str:
    """Return the JSON of a dictionary that is written as in Python; an empty text for anything else."""
    with suppress(Exception):  # it may be any text
        return json.dumps({**ast.literal_eval(text.strip())})
    return ""


def unquoted(word: str) -> str:
    """Return a word without its quotes and backslashes."""
    return _PARTS.sub(
        lambda part: _inside(part[0]) if part["quoted"] else part["escaped"] or part[0],
        word,
    )


def _inside(quoted: str) -> str:
    """Return the text inside quotes."""
    end = quoted[-1]
    if end == '"':
        return _IN_DOUBLE.sub(lambda part: part[1] or part[0], quoted[1:-1])
    return quoted[1:-1].replace(f"\\{end}", end)


def name_and_arguments(words: list[str]) -> tuple[str, list[str]]:
    """
    Return a function's name and its arguments from the words of a line.

    Everything before the first argument is the name, so that it needs no quotes. An argument quoted as a whole, as in a
    shell (``"PanelName=Demo Card Panel"``), is returned with quotes around its parts.
    """
    # The first word is a name, even if it contains "=".
    words = [
        *words[:1],
        *map(_in_parts, words[1:]),
    ]
    first = next(
        (at for at, word in enumerate(words) if NAME_AND_VALUE.fullmatch(word)),
        len(words),
    )
    return " ".join(map(unquoted, words[:first])), words[first:]


def _in_parts(word: str) -> str:
    if NAME_AND_VALUE.fullmatch(word) and not _WHOLE.fullmatch(word):
        return word
    name, equals, value = unquoted(word).partition("=")
    if not (name and equals):
        return word
    if not _LIST_OR_VARIABLE.fullmatch(value):
        value = in_double_quotes(_unwrapped(value))
    return f"{in_double_quotes(name)}={value}"


def in_double_quotes(text: str) -> str:
    """Return a text in quotes, as a line reads it."""
    return '"{}"'.format(text.replace("\\", r"\\").replace('"', r"\""))


def _unwrapped(text: str) -> str:
    if _WHOLE.fullmatch(text):
        return _inside(text)
    return text


def read_word(text: str, namespace: Namespace) -> Any:
    """Read a value after ``name=`` on a line: ``$variable``, a list in brackets, or text, with its quotes removed."""
    return read_value(text, namespace, unquoted)


def read_value(
    text: str, namespace: Namespace, as_text: Callable[[str], str] = _unwrapped
) -> Any:
    """Read a value outside of a line, such as in a body: as `read_word`, but only full quotes are removed."""
    if text.startswith("$"):
        name = text[1:]
        if name in namespace:
            return namespace[name]
        raise ArgumentError(*no_variable(name, namespace))

    if text.startswith("[") and text.endswith("]"):
        if "{" in text or not LETTER_ESCAPE.search(text):
            with suppress(ValueError, RecursionError):
                return JsonList(text)
        return _items(text)

    if text.startswith("{") and _object_end(text) == len(text):
        return Entered(text)
    return Entered(as_text(text))


# What IPython adds to the variables of its user.
_OF_SHELL = {"In", "Out", "exit", "quit", *vars(builtins)}


def no_variable(name: str, namespace: Namespace) -> tuple[str, str]:
    """Return that there is no such variable, and what to do."""
    # A copy of the names: a cell may define one while we iterate.
    own = (
        other
        for other in list(namespace)
        if not other.startswith("_") and other not in _OF_SHELL
    )
    hint = did_you_mean(name, own)
    hint = hint or f"Define it, or quote the value: '${name}'."
    return f"There is no variable {quote(name)}.", hint


def _items(text: str) -> list[Any]:
    # The last one is empty: what is after the end, or after a comma there.
    *items, _ = map(str.strip, _ITEMS.findall(text[1:-1].strip()))
    return [
        _items(item) if _LIST.fullmatch(item) else Entered(_unwrapped(item))
        for item in items
    ]


def read_body(body: str, namespace: Namespace) -> Values:
    """
    Read a cell's body: one JSON object, or one ``name: value`` per line.

    Lines that start with ``#`` are comments. A list may continue on the lines below its bracket, one item per line.
    """
    if body.lstrip().startswith("{"):
        try:
            return dict(json.loads(body, object_pairs_hook=_once))
        except ArgumentError:
            raise
        except json.JSONDecodeError as error:
            above = body[: min(error.pos, len(body.rstrip()))].split("\n")
            what = f"Line {len(above) + 1} of the cell isn't valid JSON: {_why(error)}."
            raise ArgumentError(
                what, excerpt=_excerpt(body.split("\n")[len(above) - 1], len(above[-1]))
            ) from None
        except (ValueError, RecursionError) as error:
            raise ArgumentError(
                f"The cell's JSON cannot be read: {error}.",
                "Write one object of arguments.",
            ) from None

    pairs = []
    lines = body.splitlines()
    below = 0
    for number, line in enumerate(lines, start=2):
        if number <= below or not line.strip() or line.lstrip().startswith("#"):
            continue
        name, colon, text = line.partition(":")
        if not colon:
            raise ArgumentError(
                f"Line {number} of the cell is not an argument: {quote(line)}.",
                "Write `name: value`.",
            )
        value, more = with_items_below(text.strip(), lines[number - 1 :])
        below = number + more
        end = ({"[": "]"} | QUOTES).get(value[:1])
        if end is not None and end not in value[1:]:
            raise _unclosed(
                line, len(line) - len(text.lstrip()), f" in line {number} of the cell"
            )
        pairs.append((_unwrapped(name.strip()), read_value(value, namespace)))

    return _once(pairs)


def with_items_below(value: str, lines: Sequence[str]) -> tuple[str, int]:
    """Join a list whose items are on the lines below its bracket, such as a pasted column; return how many lines."""
    if not value.startswith("[") or _LIST.fullmatch(value):
        return value, 0
    joined = value
    tries = 0
    for number, line in enumerate(map(str.strip, lines), start=1):
        if line.startswith("#"):
            continue
        if not (joined.endswith(("[", ",")) or line[:1] in {"]", ""}):
            joined += ","
        joined += line
        if line.endswith("]") and not _LIST.fullmatch(line):
            if _LIST.fullmatch(joined):
                return joined, number
            tries += 1
            if tries == _MAX_TRIES:
                break

    return value, 0


def _why(error: json.JSONDecodeError) -> str:
    before = error.doc[: error.pos].rstrip()
    after = error.doc[error.pos :].rstrip()
    if not after and error.msg != "Invalid control character at":
        return "the object is not closed"
    if error.msg == "Expecting ',' delimiter" and after[0] in _OTHER_END:
        return f"a {_OTHER_END[after[0]]} is missing before the caret"
    if before.endswith(",") and after.startswith(("}", "]")):
        return "there is an extra comma"
    return _JSON.get(error.msg, error.msg)


def given_twice(name: str) -> ArgumentError:
    """Return the error for an argument that appears twice."""
    return ArgumentError(
        f"{name} is given twice.", "Put several values in brackets: [a, b]."
    )


def _once(pairs: list[tuple[str, Any]]) -> Values:
    values = {}
    for name, value in pairs:
        if name in values:
            raise given_twice(name)
        values[name] = value
    return values


def _unclosed(line: str, at: int, where: str = "") -> ArgumentError:
    what = "quote"
    hint = r"write \ before it"
    if where:  # a body has no backslash escapes
        hint = "put other quotes around the value"
    if line[at] == "[":
        what = "bracket"
        hint = "put quotes around the value"

    text = f"The {what} at the caret is not closed{where}. Close it, or {hint}:"
    return ArgumentError(text, excerpt=_excerpt(line, at))


def _excerpt(line: str, at: int) -> tuple[str, int]:
    """Return the part of a line around a position, inert, and the column of the position in it."""
    before = line[:at]
    if at > 50:
        before = f"…{before[-50:]}"
    before = inert(f"{before}|")[:-1]
    after = inert(f"|{line[at : at + 20]}")[1:]
    return f"{before}{after}", sum(_columns(char) for char in before)


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    if unicodedata.east_asian_width(char) in "WF":
        return 2
    return 1
