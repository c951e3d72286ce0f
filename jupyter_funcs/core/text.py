"""Text for display: escaped, shortened, quoted; and suggestions for misspelt names."""

from __future__ import annotations

import datetime as dt
import difflib
import json
import math
import re
import unicodedata
from collections import Counter
from decimal import Decimal
from html import unescape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from ipaddress import IPv4Address, IPv6Address

TIMES = (dt.date, dt.time, dt.timedelta)
_UNUSUAL = re.compile(r"[^\n\t -~]")
_ACTIVE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
# Characters of other categories that are shown as nothing: Unicode's Default_Ignorable_Code_Point. A variation selector
# that makes an emoji colourful or plain is not one of them.
_IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0d\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
    "|(?<![\xa9\xae\u203c-\u3299\U0001f000-\U0001faff])[\ufe0e\ufe0f]"
)
# What Markdown and HTML add to words. Each pattern ends or fails at the next such mark, so that the time is linear.
_ATTRIBUTES = r"(?:\s[^<>=]*+=[^<>]*+)?\s*+/?"
_TAGS = "a|b|blockquote|center|dd|details|dl|dt|em|font|h[1-6]|hr|i|img|pre|small|span|strong|su[bp]|summary"
_MARKS = (
    (re.compile(r"(?s)<!--.*?(?:-->|\Z)"), ""),
    (re.compile(r"(?i)</?code>"), "`"),
    (re.compile(rf"(?i)<li{_ATTRIBUTES}>"), "\n- "),
    (re.compile(r"(?i)</(?:p|h[1-6]|div|ul|ol|tr)>"), "\n\n"),
    (re.compile(r"(?i)<br */?>"), "\n"),
    (
        re.compile(
            rf"(?i)</?(?:{_TAGS}|table|tbody|p|div|ul|ol|li|t[drh]|thead|tt|u){_ATTRIBUTES}>"
        ),
        "",
    ),
    (re.compile(r"!?\[([^\[\]]*)\]\((https?://[^()\s]*)\)"), r"\1 (\2)"),
    (re.compile(r"(?<![\w*])(\*{1,3})(?=[^\s*])([^*\n]*[^*\s])\1(?![\w*])"), r"\2"),
    (re.compile(r"(?m)^ {0,3}#{1,6} +"), ""),
    (re.compile(r"\n(?:[ \t]*\n){2,}"), "\n\n"),
)
_SURROGATES = re.compile("[\ud800-\udfff]")
# Comparing two names takes time proportional to the product of their lengths.
_MAX_NAME = 200
_MAX_QUOTED = 60
# Characters of a name; to normalize many combining ones takes quadratic time.
LONGEST = 4000
LONGEST_CODE = 88  # characters of a line, as black has it
_SEPARATORS = re.compile(r"[\W_]+")
# A table takes a third of the time of a regular expression; a search folds the whole catalog.
_ASCII_FOLDED = {
    at: chr(at).lower() if chr(at).isalnum() else None for at in range(128)
}


def inert(text: str) -> str:
    """
    Return `text` on one line, without characters that a terminal or a browser would act on.

    Such characters become visible escapes, and runs of white space become one space. For display only: data keeps them.
    """
    return visible(" ".join(text.split()))


def python_escape(char: str) -> str:
    """Return a character as its escape in Python."""
    return char.encode("unicode_escape").decode("ascii")


def json_escape(char: str) -> str:
    """Return a character as its escape in JSON."""
    return json.dumps(char)[1:-1]


def visible(text: str, escape: Callable[[str], str] = python_escape) -> str:
    """
    Return `text` with an escape in place of each control, format (such as bidirectional) and invisible character.

    Spaces, tabs and line feeds stay. `escape` returns the escape of a character.
    """
    if text.isprintable() and not _IGNORABLE.search(text):  # the usual case
        return text

    def shown(match: re.Match[str]) -> str:
        char = match[0]
        if unicodedata.category(char) in _ACTIVE or _IGNORABLE.match(
            text, match.start()
        ):
            return escape(char)
        return char

    return _UNUSUAL.sub(shown, text)


def exact(text: str, escape: Callable[[str], str] = python_escape) -> str:
    """Return `text` with an escape in place of each character that isn't printable; its spaces stay as they are."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else escape(char) for char in text)


def replace_surrogates(text: str) -> str:
    """Return `text` with U+FFFD in place of each lone surrogate, so that it can be encoded."""
    return _SURROGATES.sub("\ufffd", text)


def json_text(value: Any) -> str:
    """Return a value as JSON, with every invisible or bidirectional character escaped."""
    return exact(
        visible(json.dumps(value, ensure_ascii=False), json_escape), json_escape
    )


def plain(value: Any) -> Any:
    """Return a value as plain JSON, in which dates and Decimals are texts; raise a `TypeError` for another object."""
    if getattr(value, "ndim", None) == 0:  # numpy's
        value = value.item()
    match value:
        case dict():
            return {str(name): plain(item) for name, item in value.items()}
        case list() | tuple():
            return list(map(plain, value))
        case float() if not math.isfinite(value):
            return str(value)
        case None | str() | int() | float():
            return value
        case dt.date() | dt.time() | dt.timedelta() | Decimal():
            return str(value)
        case bytes():
            raise TypeError(f"<{size_text(len(value))}>")

    raise TypeError(f"<{type(value).__name__}>")


def recorded(value: Any) -> Any:
    """Return a value as plain JSON, and an object as its type: ``<DataFrame>``."""
    try:
        return plain(value)
    except TypeError as error:
        return str(error)


def code_of(value: Any, begin: str = "", end: str = "", indent: str = "") -> str:
    """Return a value as code between two texts: on one line or, as black does, with a line for each item."""
    line = f"{indent}{begin}{value!r}{end}"
    if len(line) <= LONGEST_CODE or not (value and isinstance(value, list | dict)):
        return line
    first, last = "[]"
    pairs = [("", item) for item in value]
    if isinstance(value, dict):
        first, last = "{}"
        pairs = [(f"{key!r}: ", item) for key, item in value.items()]

    items = [code_of(item, name, ",", f"{indent}    ") for name, item in pairs]
    return "\n".join([f"{indent}{begin}{first}", *items, f"{indent}{last}{end}"])


def prose(text: str) -> str:
    """Return Markdown or HTML as plain text, without emphasis and tags; an address of a link comes after its words."""
    for pattern, plain in _MARKS:
        text = pattern.sub(plain, text)
    return unescape(text).strip()


def clip(text: str, length: int = 200) -> str:
    """Shorten `text` to at most `length` characters, ending in an ellipsis."""
    if len(text) <= length:
        return text
    return text[: length - 1].rstrip() + "…"


def quote(value: object, length: int = 80) -> str:
    """Return a value in single quotes for a message: inert and at most `length` characters long."""
    try:
        text = str(value)
    except Exception:  # noqa: BLE001  # a message must not fail because a user's __str__ does
        text = f"<{type(value).__name__}>"
    return f"'{clip(inert(text[: 20 * length]), length)}'"


def quoted(value: object) -> str:
    """Return a value in single quotes for a message of the service: exact, and at most 60 characters of it."""
    return f"'{exact(clip(str(value), _MAX_QUOTED))}'"


def quoted_list(values: Iterable[object]) -> str:
    """Join values as the service lists them: ``'a', 'b', 'c'``."""
    return ", ".join(map(quoted, values))


def size_text(size: int) -> str:
    """Return a number of bytes for display: ``999 bytes``, ``12.3 kB``, ``4.5 MB``."""
    amount = float(size)
    for unit in ("kB", "MB", "GB", "TB"):
        amount /= 1000
        if round(amount, 1) < 1000:
            if size >= 1000:
                return f"{amount:.1f} {unit}"
            return plural(size, "byte")

    return f"{amount:,.0f} TB"


def ip_address(text: str) -> IPv4Address | IPv6Address | None:
    """Return an IP address, without its zone; one of IPv4 also if it is written as one of IPv6."""
    import ipaddress

    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None

    return getattr(address, "ipv4_mapped", None) or address


def utc_text(seconds: float) -> str:
    """Return a time of the epoch in ISO 8601, such as *2024-05-01T12:30:00+00:00*."""
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat(timespec="seconds")


def plural(count: int, noun: str) -> str:
    """Return a number with its noun: ``1 row``, ``2,000 rows``."""
    if count == 1:
        return f"{count:,} {noun}"
    return f"{count:,} {noun}s"


def listed(names: Iterable[str], last: str = "or") -> str:
    """Join names as in a sentence: ``a``, ``a or b``, ``a, b or c``."""
    *most, end = list(names) or [""]
    if most:
        return f"{', '.join(most)} {last} {end}"
    return end


def some(names: Sequence[str], most: int = 3) -> str:
    """Join the first names as in a sentence, and say how many more there are."""
    shown = [*names[:most]]
    if len(names) > most:
        shown.append(f"{len(names) - most:,} more")
    return listed(shown, "and")


def distinct(names: Sequence[str], pattern: str, first: int) -> Iterator[str]:
    """Yield names with a number added to those that repeat an earlier one, so that none of them are equal."""
    originals = set(names)
    taken = set[str]()
    numbers: dict[str, int] = {}
    for name in names:
        new = name
        while new in taken or (new != name and new in originals):
            numbers[name] = numbers.get(name, first - 1) + 1
            new = pattern.format(name, numbers[name])
        taken.add(new)
        yield new


def folded(name: str) -> str:
    """Return a name without case and separators, so that its spellings compare equal."""
    if name.isascii():
        return name.translate(_ASCII_FOLDED)
    return _SEPARATORS.sub("", unicodedata.normalize("NFKC", name[:LONGEST])).casefold()


def spellings(names: Iterable[str]) -> dict[str, str]:
    """Return names by how they are folded, except those that several names share and those without letters."""
    pairs = [(folded(name), name) for name in names]
    counts = Counter(spelling for spelling, _ in pairs)
    return {
        spelling: name for spelling, name in pairs if spelling and counts[spelling] == 1
    }


def nearest(name: str, candidates: Iterable[str], count: int = 3) -> list[str]:
    """Return up to `count` candidates that look like `name`, best first."""
    spelt: dict[str, str] = {}
    for candidate in candidates:
        spelt.setdefault(folded(candidate), candidate)
    wanted = folded(name)[:_MAX_NAME]
    if not wanted:
        return []
    close = difflib.get_close_matches(wanted, spelt, n=count, cutoff=0.6)
    close += [key for key in spelt if wanted in key and key not in close]
    return [spelt[key] for key in close[:count]]


def did_you_mean(name: str, candidates: Iterable[str], count: int = 3) -> str:
    """Return ``Did you mean 'x' or 'y'?`` for a misspelt name; empty if no candidate is close."""
    close = nearest(name, candidates, count)
    if close:
        return meant(close)
    return ""


def suggestion(name: str, candidates: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?``, to follow a sentence of the service; empty if no candidate is close."""
    return f" {did_you_mean(name, candidates, 1)}".rstrip()


def meant(close: Iterable[str]) -> str:
    """Return ``Did you mean 'x' or 'y'?`` for these names."""
    return f"Did you mean {listed(map(quote, close))}?"
