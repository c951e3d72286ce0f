"""Passwords and tokens, hidden from tracebacks, logs and files."""

from __future__ import annotations

import base64
import logging
import math
import re
import weakref
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast
from urllib.parse import quote_plus

from jupyter_funcs.core.errors import ConfigError
from jupyter_funcs.core.json_decoding import JsonObject, only, read_object
from jupyter_funcs.core.text import clip, inert, recorded

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

# This many consecutive characters of a secret count as a part of it; fewer may occur in any text.
_MIN_PART = 8
_URL_SAFE = str.maketrans("+/", "-_")
# The secrets of this process, to be masked in texts that may repeat them.
_alive: weakref.WeakSet[Hidden] = weakref.WeakSet()
# The claims of a JWT that name its user, the most readable first.
_USER_CLAIMS = ("preferred_username", "email", "name", "sub")
# Those of which each account has its own, and those that change at each login.
_OWN_CLAIMS = ("sub", "oid", "preferred_username", "email", "client_id")
_LOGIN_CLAIMS = {
    "exp",
    "iat",
    "nbf",
    "jti",
    "auth_time",
    "nonce",
    "sid",
    "at_hash",
    "c_hash",
    "s_hash",
    # Keycloak's, and Microsoft's.
    "session_state",
    "aio",
    "rh",
    "uti",
}


class Hidden:
    """
    A text that only `reveal` shows.

    ``repr``, ``str`` and ``format`` return a mask, there is no ``__dict__``, and pickling fails, so that the text
    never reaches a traceback, log, saved notebook or ``%store``.
    """

    __slots__ = ("__weakref__", "_reveal")

    def __init__(self, text: str) -> None:
        # A closure hides it from vars(), dir() and the variable lists of debuggers.
        self._reveal: Callable[[], str] = lambda: text
        _alive.add(self)

    def reveal(self) -> str:
        """Return the text. Call it at the last moment, and don't assign the result to a variable."""
        return self._reveal()

    def __repr__(self) -> str:
        """Return a mask."""
        return f"{type(self).__name__}('****')"

    __str__ = __repr__

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled."""
        raise TypeError(
            f"A {type(self).__name__} cannot be pickled. Create it again where it is needed."
        )


class Secret(Hidden):
    """A token."""

    __slots__ = ()
    _illegal = re.compile("[^!-~]")

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise ConfigError(
                f"A token must be text, not {type(text).__name__}.",
                "Use it as the service issued it.",
            )

        # Files and clipboards add a line break at the end, shells and editors add quotes.
        text = text.strip().strip("\ufeff'\"‘’“”").strip()
        is_empty = not text
        if is_empty or self._illegal.search(text):
            del text  # or debuggers that show local variables would show it
            if is_empty:
                raise ConfigError(
                    "The token is empty.", "Use it as the service issued it."
                )
            raise ConfigError(
                "The token contains characters that no token has (a space, a line break or a typographic quote).",
                "Copy it again from the service. It is not shown here.",
            )

        super().__init__(text)

    @property
    def expires_at(self) -> float:
        """When a JWT expires, in seconds since 1970; infinity if the token is opaque or doesn't say."""
        end: Any = self._claims().get("exp")
        with suppress(OverflowError):
            if type(end) in {int, float}:
                return float(end)
        return math.inf

    @property
    def user(self) -> str:
        """The user that a JWT names; empty if the token is opaque or names nobody."""
        claims = self._claims()
        names = (only(str, claims.get(name)) for name in _USER_CLAIMS)
        return clip(inert(next(filter(None, names), "")), 80)

    @property
    def account(self) -> JsonObject:
        """The claims of a JWT, except those of one login; empty if the token is opaque or its claims name nobody."""
        claims = self._claims()
        if not any(map(claims.get, _OWN_CLAIMS)):
            return {}
        return {
            name: value for name, value in claims.items() if name not in _LOGIN_CLAIMS
        }

    def _claims(self) -> JsonObject:
        with suppress(ValueError):  # it isn't a JWT
            _, claims, _ = self.reveal().split(".")
            return read_object(base64.urlsafe_b64decode(f"{claims}=="))
        return {}


class ClientSecret(Secret):
    """The secret of a client at a provider, in which there may be spaces (RFC 6749, A.2)."""

    __slots__ = ()
    _illegal = re.compile("[^ -~]")


class AccessToken(Secret):
    """A token that a provider issued for a client, and said when it ends."""

    __slots__ = ("_client", "_ends")

    def __init__(self, text: str, ends: float, client: JsonObject) -> None:
        super().__init__(text)
        self._ends = ends
        self._client = client

    @property
    def expires_at(self) -> float:
        """When it ends, in seconds since 1970."""
        return min(self._ends, super().expires_at)

    @property
    def account(self) -> JsonObject:
        """The claims of the token if it is a JWT, else the client, if it acts for itself."""
        return super().account or self._client


class Password(Secret):
    """A user's name and password as HTTP's basic scheme sends them; the name may be shown."""

    __slots__ = ("_password",)

    def __init__(self, user: str, password: str) -> None:
        password = password.rstrip("\r\n")  # that a file ends with
        # It is masked as well; a key may be sent as the name alone.
        self._password = Hidden(password or user)
        Hidden.__init__(self, base64.b64encode(f"{user}:{password}".encode()).decode())


class NoSecret(Secret):
    """The token of what needs none."""

    __slots__ = ()

    def __init__(self) -> None:
        Hidden.__init__(self, "")


def redacted_all(text: str) -> str:
    """Mask all secrets of this process in a text, with their longer parts, also in base64 or URL-encoded."""
    return _masked(text, known_secrets())


def redacted_line(text: str, most: int = 300) -> str:
    """Return the beginning of a foreign text, as one line without the secrets of this process."""
    # Longer before: a secret that is cut can't be masked.
    return clip(inert(redacted_all(text[: 20 * most])), most)


def redacted_values(value: T) -> T:
    """Copy all arguments, or one, as plain JSON without the long secrets of this process; an object is its type."""
    secrets = long_secrets()

    def masked(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: masked(item) for name, item in value.items()}
        if isinstance(value, list):
            return list(map(masked, value))
        if isinstance(value, str):
            return _masked(value, secrets)
        return recorded(value)

    return cast("T", masked(value))


def _masked(text: str, secrets: list[str]) -> str:
    for secret in secrets:
        if 0 < len(secret) < _MIN_PART:
            text, *rest = text.split(secret)
            for part in rest:  # not within a number or a name
                is_inside = text[-1:].isalnum() or part[:1].isalnum()
                text += f"{secret if is_inside else '****'}{part}"

    parts = _parts(tuple(secrets))
    shown: list[str] = []
    end = 0
    for start in range(len(text) - _MIN_PART + 1 if parts else 0):
        if text[start : start + _MIN_PART] in parts:
            if start > end or not shown:
                shown += [text[end:start], "****"]
            end = start + _MIN_PART

    return "".join([*shown, text[end:]])


@lru_cache(maxsize=16)  # a request masks several texts
def _parts(secrets: tuple[str, ...]) -> frozenset[str]:
    """Return the parts of secrets that count, of each as it is, URL-encoded, and in both alphabets of base64."""
    forms = set()
    for secret in secrets:
        data = secret.encode("utf-8", "replace")
        forms |= {secret, quote_plus(data)}
        # Where it begins in three bytes decides its letters.
        for shift in range(3 if len(secret) >= _MIN_PART else 0):
            first = (shift * 8 + 5) // 6
            end = (shift + len(data)) * 8 // 6
            coded = base64.b64encode(bytes(shift) + data).decode()[first:end]
            forms |= {coded, coded.translate(_URL_SAFE)}

    return frozenset(
        form[at : at + _MIN_PART]
        for form in forms
        for at in range(len(form) - _MIN_PART + 1)
    )


def long_secrets() -> list[str]:
    """Return the secrets of this process that are too long to occur in a text by chance; never store or show them."""
    return [text for text in known_secrets() if len(text) >= _MIN_PART]


def known_secrets() -> list[str]:
    """Return all secrets of this process, the longest first; never store or show them."""
    alive = []
    for _ in range(100):
        # Another thread created one meanwhile; a lock would not survive a fork.
        with suppress(RuntimeError):
            alive = list(_alive)
            break

    return sorted(
        {text for hidden in alive if (text := hidden.reveal())}, key=len, reverse=True
    )


class _Mask(logging.Filter):
    """Masks the secrets of this process in log records, and what is named as one in an address."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg = _NAMED.sub(r"\1****", redacted_all(record.getMessage()))
        record.args = ()
        return True


_MASK = _Mask()
_LOGGERS = ["httpx", "httpx2", "httpcore"]
_LOGGERS += [
    f"httpcore.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")
]
# Begins where a run of letters does, so that the time is linear.
_NAMED = re.compile(
    r"(?i)(?<![\w-])((?>[\w-]*?(?:token|api[_-]?key|secret|password))[\w-]*+=)[^&#\s\"']+"
)


def mask_logs() -> None:
    """Mask secrets in the logs of httpx and httpcore; calling it again changes nothing."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_MASK)
