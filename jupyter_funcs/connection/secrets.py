"""What shows itself to nobody: a password, and a token with what it says of its own end and user."""

from __future__ import annotations

import base64
import binascii
import math
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from jupyter_funcs.errors import ConfigError
from jupyter_funcs.text import clip, inert

if TYPE_CHECKING:
    from collections.abc import Callable

# So many letters of a secret in a row are taken for a part of it; fewer may stand in any text.
_SHORTEST_PART = 8
# What is in use in this process, to be masked where a text may repeat it.
_alive: weakref.WeakSet[Hidden] = weakref.WeakSet()
# The claims of a JWT that say whose it is, the one that a person knows best first.
_WHOSE = ("preferred_username", "email", "name", "sub")


class Hidden:
    """
    A text that shows itself to nobody but the one who asks for it by `reveal`.

    Its ``repr``, ``str`` and format are a mask, it has no ``__dict__``, and it refuses to be pickled, so that it gets
    into no traceback, log, saved notebook or ``%store``.
    """

    __slots__ = ("__weakref__", "_reveal")

    def __init__(self, text: str) -> None:
        # In a closure, where vars(), dir() and a debugger's variable list do not look.
        self._reveal: Callable[[], str] = lambda: text
        _alive.add(self)

    def reveal(self) -> str:
        """Give the text itself; call it at the last moment and keep the result in no variable."""
        return self._reveal()

    def __repr__(self) -> str:
        """Give a mask."""
        return f"{type(self).__name__}('****')"

    __str__ = __repr__

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied to another process."""
        raise TypeError(f"A {type(self).__name__} is not pickled; give it again where it is needed.")


class Secret(Hidden):
    """
    A token.

    Raises
    ------
    ConfigError
        The text cannot be a token: it is empty or holds white space or non-ASCII characters inside.
    """

    __slots__ = ()

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise ConfigError(f"A token is text, not {type(text).__name__}.", "Give it as the service issued it.")
        # A line break at the end is what a file or a clipboard adds; quotes are what a shell or an editor does.
        text = text.strip().strip("\ufeff'\"‘’“”").strip()
        is_empty = not text
        if is_empty or not text.isascii() or not text.isprintable() or " " in text:
            del text  # a debugger that shows a traceback's variables would show it
            if is_empty:
                raise ConfigError("The token is empty.", "Give the token as the service issued it.")
            raise ConfigError(
                "The token holds characters that no token has (a space, a line break or a typographic quote).",
                "Copy it again, as the service issued it; it is not shown here.",
            )
        super().__init__(text)

    @property
    def expires_at(self) -> float:
        """Seconds since 1970 at which a JWT ends, infinity for a token that is opaque or names no end."""
        end = self._claims().get("exp")
        try:
            return float(end) if isinstance(end, (int, float)) and not isinstance(end, bool) else math.inf
        except OverflowError:
            return math.inf

    @property
    def user(self) -> str:
        """Whom a JWT names as its user; empty for a token that is opaque or names nobody."""
        claims = self._claims()
        named = (claims.get(name) for name in _WHOSE)
        return clip(inert(next((name for name in named if isinstance(name, str) and name), "")), 80)

    @property
    def subject(self) -> str:
        """What a JWT knows its user by, whole; empty for a token that is opaque or has no subject."""
        subject = self._claims().get("sub")
        return subject if isinstance(subject, str) else ""

    def _claims(self) -> dict[str, Any]:
        parts = self.reveal().split(".")
        if len(parts) != 3:
            return {}
        try:
            payload = msgspec.json.decode(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        except (ValueError, binascii.Error, msgspec.DecodeError, RecursionError):
            return {}
        return payload if isinstance(payload, dict) else {}


def redacted(text: str, secret: Hidden) -> str:
    """Put a mask in place of a secret, and of any part of it that is long enough to be one."""
    return _masked(text, secret.reveal())


def redacted_all(text: str) -> str:
    """Put masks in place of everything that is hidden in this process."""
    for token in in_use():
        text = _masked(text, token)
    return text


def _masked(text: str, token: str) -> str:
    size = min(len(token), _SHORTEST_PART)
    shown: list[str] = []
    end = 0
    for start in range(len(text)):
        if text[start : start + size] in token and start + size <= len(text):
            if start > end or not shown:
                shown += [text[end:start], "****"]
            end = start + size
    return "".join([*shown, text[end:]])


def in_use() -> list[str]:
    """Give the texts that are hidden in this process, the longest first; never to be kept or shown."""
    held: list[Hidden] = []
    for _ in range(100):
        with suppress(RuntimeError):  # another thread has made one in between; a lock would not outlive a fork
            held = list(_alive)
            break
    return sorted({text for hidden in held if (text := hidden.reveal())}, key=len, reverse=True)
