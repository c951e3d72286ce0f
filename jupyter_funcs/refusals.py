"""A reply whose status is not 200 -> the error that it stands for, in the service's words, and what it proves."""

from __future__ import annotations

import html
import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from jupyter_funcs.errors import (
    ArgumentError,
    AuthenticationError,
    ConfigError,
    DeadlineError,
    FuncsError,
    FunctionError,
    NotFoundError,
    PermissionDeniedError,
    ProtocolError,
    RateLimitError,
    ReplyTooLargeError,
    ServerError,
)
from jupyter_funcs.retries import Proof, proof_of_status
from jupyter_funcs.secret import redacted
from jupyter_funcs.text import clip, inert

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_funcs.secret import Hidden

NEW_TOKEN = "Get a new token and connect again."  # noqa: S105  # advice, no token
CHECK_ADDRESS = "Check the address of the service."
_LONGEST_TEXT = 300


class Failure(NamedTuple):
    """
    Why there is no reply.

    Attributes
    ----------
    error
        What a person is told.
    proof
        What it proves of the request.
    wished
        Seconds that the service asked to wait before the next.
    refuses_token
        Whether it is the token that is not accepted (401).
    """

    error: FuncsError
    proof: Proof = Proof.FINAL
    wished: float | None = None
    refuses_token: bool = False


class Refusal(NamedTuple):
    """
    A reply other than a 200.

    Attributes
    ----------
    status
        Of HTTP.
    body
        Its beginning.
    address
        What was asked, for a person.
    is_run, is_login
        What was asked for.
    secret
        The token or password that was sent, which no error may repeat.
    """

    status: int
    body: bytes
    address: str
    is_run: bool
    is_login: bool
    secret: Hidden

    def failure(self, wished: float | None) -> Failure:
        """Give the error that it stands for (FAULTS.md 23-45)."""
        refuses_token = self.status == HTTPStatus.UNAUTHORIZED
        return Failure(self._error(wished), proof_of_status(self.status), wished, refuses_token)

    def _error(self, wished: float | None) -> FuncsError:
        text = said(self.body, self.secret)
        if self.status == HTTPStatus.NOT_FOUND:
            # An address that does not exist answers in plain text or HTML; a function that does not, in the service's
            # JSON.
            if self.is_run and self.body.lstrip()[:1] == b"{":
                return NotFoundError(
                    text or "The service knows no such function.", "List yours with %funcs find, after %funcs refresh."
                )
            what = "login" if self.is_login else "function service"
            return ConfigError(f"There is no {what} at {self.address} (404).", CHECK_ADDRESS)
        if self.status == HTTPStatus.UNPROCESSABLE_ENTITY:
            texts = _by_argument(self.body, self.secret)
            return ArgumentError(text or "The service refuses the arguments (422).", errors=texts)
        if self.status == HTTPStatus.TOO_MANY_REQUESTS:
            when = f"in {wished:.0f} s" if wished is not None else "in a minute"
            return RateLimitError(text or "The service takes no more requests for now (429).", f"Try again {when}.")
        if 300 <= self.status < 400:
            return ProtocolError(
                f"The service redirects to another address ({self.status}); nothing was sent there.",
                "Connect to the address that it has now.",
            )
        make = _BY_STATUS.get(self.status) or (_server if self.status >= 500 else _unexpected)
        error = make(text, self.status)
        if wished is not None and isinstance(error, ServerError):
            error = ServerError(error.what, f"Try again in {wished:.0f} s.")
        return error


def _server(text: str, status: int) -> FuncsError:
    return ServerError(f"The service failed ({status}){_after_colon(text)}", "Try again later.")


def _unexpected(text: str, status: int) -> FuncsError:
    return ProtocolError(f"The service answered with status {status}{_after_colon(text)}", CHECK_ADDRESS)


def _after_colon(text: str) -> str:
    return f": {text}" if text else "."


# One row a status whose error is made from its text alone (FAULTS.md 23-40).
_BY_STATUS: dict[int, Callable[[str, int], FuncsError]] = {
    400: lambda text, _: FunctionError(text or "The service refuses the request (400)."),
    401: lambda text, _: AuthenticationError(f"The service does not accept the token{_after_colon(text)}", NEW_TOKEN),
    403: lambda text, _: PermissionDeniedError(
        f"You are not allowed to do this{_after_colon(text)}", "Ask the service's operator for access."
    ),
    405: lambda _, status: ConfigError(f"This address takes no runs (status {status}).", CHECK_ADDRESS),
    408: lambda *_: DeadlineError("The service waited too long for the request (408).", "Try again."),
    409: lambda text, _: FunctionError(text or "The service is busy with the same request (409)."),
    413: lambda text, _: ReplyTooLargeError(text or "The service takes no request this large.", "Send fewer values."),
    415: lambda _, status: ConfigError(f"This address takes no JSON (status {status}).", CHECK_ADDRESS),
    504: lambda *_: DeadlineError(
        "The service's gateway stopped waiting (504); the run may still go on.", "Try again later."
    ),
}


def said(body: bytes, secret: Hidden) -> str:
    """Give what an error's body says to a person: its JSON text, or its text without markup; inert, short, no token."""
    text = body.decode("utf-8", "replace")
    try:
        value: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = re.sub(r"(?is)<(script|style)\b.*?</\1\s*>|<[^>]*>", " ", text)
        text = html.unescape(text)
    else:
        if isinstance(value, dict):
            value = next((value[key] for key in ("error", "detail", "message", "title") if value.get(key)), "")
        text = value if isinstance(value, str) else "" if not value else msgspec.json.encode(value).decode()
    return clip(inert(redacted(text, secret)), _LONGEST_TEXT)


def _by_argument(body: bytes, secret: Hidden) -> dict[str, list[str]]:
    """Give the texts of a 422 by argument: ``{"arguments": {name: [text]}}``, or FastAPI's ``detail`` list."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    named: dict[str, list[str]] = {}
    if isinstance(value, dict) and isinstance(value.get("arguments"), dict):
        for name, texts in value["arguments"].items():
            named[name] = [str(text) for text in (texts if isinstance(texts, list) else [texts])]
    elif isinstance(value, dict) and isinstance(value.get("detail"), list):
        for entry in value["detail"]:
            if isinstance(entry, dict) and isinstance(entry.get("loc"), list) and entry["loc"]:
                named.setdefault(str(entry["loc"][-1]), []).append(str(entry.get("msg", "")))
    return {
        redacted(name, secret): [clip(inert(redacted(text, secret)), _LONGEST_TEXT) for text in texts]
        for name, texts in named.items()
    }
