"""Tokens typed where they don't belong: found in a line, and masked in everything that this kernel remembers of it."""

from __future__ import annotations

import linecache
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from jupyter_funcs.core.errors import ConfigError
from jupyter_funcs.core.line import ROTATE
from jupyter_funcs.core.text import inert

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jupyter_funcs.core.json_decoding import Values

_MASK = "****"
_SHORTEST = 4  # shorter texts aren't tokens, and occur inside many words
_SURELY = 12  # texts of this length don't occur by chance
# Each pattern begins where a run of letters and hyphens does, and nothing in a run is tried twice: the time is linear.
_JWT = re.compile(r"(?<![\w-])(?>[\w-]*?\b(?=eyJ))([\w-]{8,}+\.[\w-]{5,}+\.[\w-]*+)")
_NAMED = r"(?>[\w-]*?(?:token|api[_-]?key|secret|password))[\w-]*+"
_OPTION = re.compile(rf"(?i)(?<!\S)--?{_NAMED}(?:\s*=\s*|\s+)(\S+)")
_ARGUMENT = re.compile(rf"(?i)(?<!\S){_NAMED}\s*=\s*(\S+)")
_PROFILE = re.compile(r"(?<!\S)--profile(?:\s+|=)(\S+)")
# In Python code: token="…", and the HTTP header's Bearer.
_LITERAL = re.compile(
    rf"""(?i)((?<![\w-]){_NAMED}["']?\s*[=:]\s*[a-z]{{0,2}}["'])[^"'\n]+(["']?)"""
)
_BEARER = re.compile(r"(?i)(\bbearer\s+)[\w.~+/=-]+")
_OTHER_OPTIONS = re.compile(
    r"(?<!\S)(?:(?:-o|--output|--timeout|--profile)(?:\s+|=)\S+|--?[\w-]+)"
)
_QUOTES = "'\"‘’“”"
_REFUSED = (
    "This line contains a token, or what looks like one; %funcs takes none. "
    "It is masked in this kernel's history only."
)


def typed_secrets(line: str, cell: str | None) -> list[str]:
    """Return the texts in a line and its body that are tokens, or were meant as tokens."""
    typed = f"{line}\n{cell or ''}"
    secrets = [*_JWT.findall(typed), *_OPTION.findall(line)]
    secrets += filter(typed.__contains__, _in_use())
    addresses = _PROFILE.findall(line)
    command, *words = _OTHER_OPTIONS.sub(" ", line).split() or [""]
    if command == "connect":
        secrets += _ARGUMENT.findall(line)
        secrets += [word.strip(_QUOTES).partition("=")[2] or word for word in words[1:]]
        addresses += words[:1]

    # The user and the password in a URL.
    secrets += [
        text
        for url in addresses
        for text in url.partition("://")[2].rpartition("@")[0].split(":", 1)
    ]
    bare = {secret.strip(_QUOTES) for secret in secrets}
    return sorted(
        (secret for secret in bare if len(secret) >= _SHORTEST), key=len, reverse=True
    )


def as_secrets(values: Values, typed: str) -> list[str]:
    """Return the arguments that are named like a token and whose text was typed."""
    named = {
        value
        for name, value in values.items()
        if re.fullmatch(_NAMED, name, re.IGNORECASE)
    }
    return [
        text
        for text in named
        if isinstance(text, str) and len(text) >= _SHORTEST and text in typed
    ]


def refuse(shell: Any, secrets: list[str]) -> None:
    """Mask tokens that were typed, and raise if there are any."""
    if secrets:
        mask(shell, secrets)
        raise ConfigError(_REFUSED, ROTATE)


def _in_use() -> list[str]:
    """Return the tokens of the sessions, and those in the environment."""
    from jupyter_funcs.connection.secrets import long_secrets

    named = ("FUNCS_TOKEN", "FUNCS_API_KEY", "FUNCS_AUTH_")
    tokens = (text for name, text in os.environ.items() if name.startswith(named))
    return [*long_secrets(), *(token for token in tokens if len(token) >= _SURELY)]


def masked_traceback(text: str) -> str:
    """Return a traceback without control characters, with a mask for each token and each literal used as one."""
    from jupyter_funcs.connection.secrets import redacted_all

    for token in _in_use():
        text = text.replace(token, _MASK)
    text = redacted_all(_JWT.sub(_MASK, text))
    text = _BEARER.sub(rf"\g<1>{_MASK}", _LITERAL.sub(rf"\g<1>{_MASK}\g<2>", text))
    return "\n".join(
        line[: len(line) - len(line.lstrip(" "))] + inert(line)
        for line in text.split("\n")
    )


def mask_tokens_in_use(shell: Any, result: Any) -> None:
    """Mask the tokens in use that were typed in any cell so far, of which this result is the latest."""
    history = getattr(shell, "history_manager", None)
    typed = "\n".join(
        [*getattr(history, "input_hist_raw", ()), result.info.raw_cell or ""]
    )
    mask(shell, [token for token in _in_use() if token in typed], result)


def mask(shell: Any, secrets: Sequence[str], result: Any = None) -> None:
    """Mask texts in the inputs, the history and the sources that an IPython shell keeps, as far as possible."""

    def masked(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, _MASK)
        return text

    history = getattr(shell, "history_manager", None)
    if not secrets or history is None:
        return
    for inputs in (history.input_hist_parsed, history.input_hist_raw):
        inputs[:] = [masked(text) for text in inputs]
    for name in ("_i", "_ii", "_iii", "_i00"):
        setattr(history, name, masked(getattr(history, name, "")))
    for name, value in list(shell.user_ns.items()):
        if re.fullmatch(r"_i(?:\d+|i{0,2})", name) and isinstance(value, str):
            shell.user_ns[name] = masked(value)

    _mask_sources(masked)
    _mask_database(history, masked)

    def mask_result(result: Any) -> None:
        with suppress(ValueError):
            shell.events.unregister("post_run_cell", mask_result)
        with suppress(AttributeError, TypeError):
            result.info.raw_cell = masked(result.info.raw_cell)
            result.info.transformed_cell = masked(result.info.transformed_cell)

    # The result object holds the cell, and exists only after the cell has run.
    if result is None:
        shell.events.register("post_run_cell", mask_result)
    else:
        mask_result(result)


def _mask_sources(masked: Callable[[str], str]) -> None:
    # Tracebacks show the lines of a cell from here.
    for name, entry in list(linecache.cache.items()):
        if len(entry) == 4 and name.startswith("<") | ("ipykernel" in name):
            size, modified, lines, path = entry
            linecache.cache[name] = (
                size,
                modified,
                [masked(text) for text in lines],
                path,
            )


def _mask_database(history: Any, masked: Callable[[str], str]) -> None:
    # A thread writes queued inputs later; rows that it has written already are overwritten.
    with suppress(Exception):  # the history may be off, read-only or of another kind
        with history.db_input_cache_lock:
            queued = history.db_input_cache
            history.db_input_cache = [
                (number, masked(text), masked(raw)) for number, text, raw in queued
            ]
        with history.db:
            history.db.execute("PRAGMA secure_delete = ON")
            history.db.create_function("masked", 1, masked)
            query = "UPDATE history SET source = masked(source), source_raw = masked(source_raw) WHERE session = ?"
            history.db.execute(query, (history.session_number,))
            history.db.create_function("masked", 1, None)  # it holds the secrets
