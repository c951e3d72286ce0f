"""Words for people: text made inert for display, cut to length, and the nearest name to a misspelt one."""

from __future__ import annotations

import difflib
import json
import re
import unicodedata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST_NAME = 200  # comparing takes time by the product of the lengths
_SEPARATORS = re.compile(r"[\W_]+")
# What most names consist of goes by a table, which takes a third of the time: a whole catalog is folded to be searched.
_ASCII = {at: chr(at).lower() if chr(at).isalnum() else None for at in range(128)}


def inert(text: str) -> str:
    """
    Give `text` on one line, with nothing in it that a terminal or a browser would obey.

    Control, format (bidirectional marks among them) and lone surrogate characters become visible escapes;
    runs of white space become one space. Data keeps such characters; only what is shown goes through here.
    """
    flat = " ".join(text.split())
    if flat.isprintable():  # as nearly every text is
        return flat
    return "".join(
        char.encode("unicode_escape").decode("ascii") if unicodedata.category(char) in {"Cc", "Cf", "Cs"} else char
        for char in flat
    )


def json_text(value: Any) -> str:
    """Give a value as JSON, every character of which can be seen; none turns the text around."""
    text = json.dumps(value, ensure_ascii=False)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)


def clip(text: str, length: int = 200) -> str:
    """Give `text` in at most `length` characters, an ellipsis in place of the rest."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def quote(value: object, length: int = 80) -> str:
    """Give a value in single quotes, inert and cut to `length` characters, as messages name values."""
    try:
        text = str(value)
    except Exception:  # noqa: BLE001  # anything may be shown, also what fails when it is: a message must not
        text = f"<{type(value).__name__}>"
    return f"'{clip(inert(text[: 20 * length]), length)}'"


def in_units(size: int) -> str:
    """Give a number of bytes as people do: ``999 bytes``, ``12.3 kB``, ``4.5 MB``."""
    amount = float(size)
    for unit in ("kB", "MB", "GB", "TB"):
        amount /= 1000
        if round(amount, 1) < 1000:
            return f"{amount:.1f} {unit}" if size >= 1000 else f"{size} byte{'s' * (size != 1)}"
    return f"{amount:,.0f} TB"


def listed(names: Iterable[str], last: str = "or") -> str:
    """Join names as a sentence does: ``a``, ``a or b``, ``a, b or c``."""
    *most, end = list(names) or [""]
    return f"{', '.join(most)} {last} {end}" if most else end


def folded(name: str) -> str:
    """Give the form under which two spellings of a name are the same: no case, no separators."""
    if name.isascii():
        return name.translate(_ASCII)
    return _SEPARATORS.sub("", unicodedata.normalize("NFKC", name)).casefold()


def nearest(name: str, candidates: Iterable[str], count: int = 3) -> list[str]:
    """Give up to `count` candidates that look like `name`, the nearest first, as they are spelt."""
    spelt: dict[str, str] = {}
    for candidate in candidates:
        spelt.setdefault(folded(candidate), candidate)
    wanted = folded(name)[:_LONGEST_NAME]
    if not wanted:
        return []
    close = difflib.get_close_matches(wanted, spelt, n=count, cutoff=0.6)
    close += [key for key in spelt if wanted in key and key not in close]
    return [spelt[key] for key in close[:count]]


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Give ``Did you mean 'x' or 'y'?`` for a misspelt name; the empty string when nothing is near."""
    close = nearest(name, candidates)
    return meant(close) if close else ""


def meant(close: Iterable[str]) -> str:
    """Ask whether one of these was meant."""
    return f"Did you mean {listed(map(quote, close))}?"
