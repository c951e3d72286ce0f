"""A token that was typed where it does not belong: found on the line, and masked in what this kernel keeps of it."""

from __future__ import annotations

import contextlib
import linecache
import os
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from jupyter_funcs.text import inert

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_MASK = "****"
_SHORTEST = 4  # what is shorter is no token, and stands in many a word
_SURELY = 12  # what is as long stands in no line by chance
_JWT = re.compile(r"\beyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*")
_NAMED = r"[\w-]*(?:token|api[_-]?key|secret|password)[\w-]*"
_OPTION = re.compile(rf"(?i)(?<!\S)--?{_NAMED}(?:\s*=\s*|\s+)(\S+)")
_ARGUMENT = re.compile(rf"(?i)(?<!\S){_NAMED}\s*=\s*(\S+)")
_PROFILE = re.compile(r"(?<!\S)--profile(?:\s+|=)(\S+)")
# In Python: token="…", and the header's own word.
_LITERAL = re.compile(rf"""(?i)(\b{_NAMED}["']?\s*[=:]\s*[a-z]{{0,2}}["'])[^"'\n]+(["']?)""")
_BEARER = re.compile(r"(?i)(\bbearer\s+)[\w.~+/=-]+")
_OTHER_OPTIONS = re.compile(r"(?<!\S)(?:(?:-o|--output|--timeout|--profile)(?:\s+|=)\S+|--?[\w-]+)")
_QUOTES = "'\"‘’“”"


def typed_secrets(line: str, cell: str | None) -> list[str]:
    """Give what is a token, or was meant as one, in a magic's line and body as they were typed."""
    typed = f"{line}\n{cell or ''}"
    found = [*_JWT.findall(typed), *_OPTION.findall(line)]
    found += [token for token in _own() if token in typed]
    found += [text for address in _PROFILE.findall(line) for text in _passwords(address.strip(_QUOTES))]
    words = _OTHER_OPTIONS.sub(" ", line).split()
    if words[:1] == ["connect"]:
        found += _ARGUMENT.findall(line)
        where, *more = [word.strip(_QUOTES) for word in words[1:]] or [""]
        found += [word.partition("=")[2] or word for word in more]
        found += _passwords(where)
    bare = {secret.strip(_QUOTES) for secret in found}
    return sorted((secret for secret in bare if len(secret) >= _SHORTEST), key=len, reverse=True)


def as_secrets(values: Mapping[str, Any], typed: str) -> list[str]:
    """Give those of a line's arguments that are called as a token is, and whose text was typed."""
    named = {value for name, value in values.items() if re.fullmatch(_NAMED, name, re.IGNORECASE)}
    return [text for text in named if isinstance(text, str) and len(text) >= _SHORTEST and text in typed]


def _passwords(address: str) -> list[str]:
    if "://" not in address or "@" not in address:
        return []
    with contextlib.suppress(ValueError):
        parts = urlsplit(address)
        return [text for text in (parts.password, parts.username) if text] or [address]
    return [address]


def masked_traceback(text: str) -> str:
    """Give a traceback inert, and with a mask for whatever is a token, or stands in the code as one."""
    from jupyter_funcs.secret import in_use  # noqa: PLC0415  # a decoder comes along, which the magics need not

    for token in (*in_use(), *_JWT.findall(text), *_own()):
        text = text.replace(token, _MASK) if len(token) >= _SHORTEST else text
    text = _BEARER.sub(rf"\g<1>{_MASK}", _LITERAL.sub(rf"\g<1>{_MASK}\g<2>", text))
    return "\n".join(line[: len(line) - len(line.lstrip(" "))] + inert(line) for line in text.split("\n"))


def _own() -> list[str]:
    given = (os.environ.get(name, "") for name in ("FUNCS_TOKEN", "FUNCS_API_KEY"))
    return [token for token in given if len(token) >= _SURELY]


def mask(shell: Any, secrets: Sequence[str]) -> None:
    """Mask texts in the inputs, the history and the sources that an IPython shell keeps, as far as it can."""

    def masked(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, _MASK)
        return text

    kept = getattr(shell, "history_manager", None)
    if not secrets or kept is None:
        return
    for inputs in (kept.input_hist_parsed, kept.input_hist_raw):
        inputs[:] = [masked(text) for text in inputs]
    for name in ("_i", "_ii", "_iii", "_i00"):
        setattr(kept, name, masked(getattr(kept, name, "")))
    for name, value in list(shell.user_ns.items()):
        if re.fullmatch(r"_i(?:\d+|i{0,2})", name) and isinstance(value, str):
            shell.user_ns[name] = masked(value)
    _mask_in_tracebacks(masked)
    _mask_in_file(kept, masked)

    def of_the_result(result: Any) -> None:
        shell.events.unregister("post_run_cell", of_the_result)
        with contextlib.suppress(AttributeError, TypeError):
            result.info.raw_cell = masked(result.info.raw_cell)
            result.info.transformed_cell = masked(result.info.transformed_cell)

    shell.events.register("post_run_cell", of_the_result)  # it holds the cell, and is there only after it


def _mask_in_tracebacks(masked: Callable[[str], str]) -> None:
    for name, entry in list(linecache.cache.items()):  # where they take the lines of a cell from
        if len(entry) == 4 and name.startswith("<") | ("ipykernel" in name):
            size, modified, lines, path = entry
            linecache.cache[name] = (size, modified, [masked(text) for text in lines], path)


def _mask_in_file(kept: Any, masked: Callable[[str], str]) -> None:
    # The inputs wait for a thread that writes them; what it has written already is written over.
    with contextlib.suppress(Exception):  # a history that is off, read-only or of another kind
        with kept.db_input_cache_lock if hasattr(kept, "db_input_cache_lock") else contextlib.nullcontext():
            kept.db_input_cache = [(number, masked(text), masked(raw)) for number, text, raw in kept.db_input_cache]
        with kept.db:
            kept.db.execute("PRAGMA secure_delete = ON")
            rows = kept.db.execute(
                "SELECT line, source, source_raw FROM history WHERE session = ?", (kept.session_number,)
            )
            for number, text, raw in rows.fetchall():
                if (masked(text), masked(raw)) != (text, raw):
                    kept.db.execute(
                        "UPDATE history SET source = ?, source_raw = ? WHERE session = ? AND line = ?",
                        (masked(text), masked(raw), kept.session_number, number),
                    )
