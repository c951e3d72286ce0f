"""
Every error that jupyter_funcs raises on purpose, as a tree.

::

    FuncsError
    ├── ArgumentError             an argument is missing, unknown or not valid; nothing is lost, mend it and run again
    ├── ConfigError               the address, the profile or the token is not usable as configured
    ├── AuthenticationError       the service does not accept the token, or it has ended
    ├── PermissionDeniedError     the token is good, but this is not allowed
    ├── NotFoundError             no such function (for this user)
    ├── RateLimitError            too many requests; says when to try again
    ├── FunctionError             the function itself failed
    ├── ServerError               the service failed
    ├── ServiceConnectionError    the service cannot be reached, or the connection broke
    ├── DeadlineError             the time ran out
    ├── ProtocolError             the reply is not what was promised
    ├── ReplyTooLargeError        the reply, or the request, is larger than allowed
    ├── CircuitOpenError          the service failed so often that it is left alone for a while
    └── RunCancelledError         the run was cancelled

In IPython an error shows itself in one to three lines and the cell still fails, so that *Run All* stops; the whole
traceback of the last one is kept for ``%funcs lasterror``.
"""

from __future__ import annotations

from contextlib import suppress
from traceback import TracebackException
from typing import TYPE_CHECKING

from jupyter_funcs.text import clip, inert

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LONGEST_LINE = 600

_shown: list[TracebackException] = []  # of the error shown last


class FuncsError(Exception):
    """
    The base of every error here.

    Parameters
    ----------
    what
        What happened, and the value it happened with, in one sentence.
    hint
        What to do next, in one sentence; may be empty.

    Attributes
    ----------
    attempts
        How often the request was sent before it was given up.
    refused
        Whether the service did not begin with it, so that it can be sent again later.
    retry_after
        Seconds until the service takes requests again, where that is known.

    Examples
    --------
    >>> import jupyter_funcs as jf
    >>> try:
    ...     frame = jf.connect().get_panels()
    ... except jf.FuncsError as error:
    ...     print(error)
    """

    attempts: int = 1
    refused: bool = False
    retry_after: float | None = None

    def __init__(self, what: str, hint: str = "") -> None:
        self.what = clip(inert(what), _LONGEST_LINE)
        self.hint = clip(inert(hint), _LONGEST_LINE)
        super().__init__(self.what, self.hint)

    def __str__(self) -> str:
        """Give what happened and what to do next, each on its own line."""
        return "\n".join(self.lines)

    @property
    def lines(self) -> list[str]:
        """The one to three lines a person reads, without the name of the error."""
        tried = f" Tried {self.attempts} times." if self.attempts > 1 else ""
        return [line for line in (self.what + tried, self.hint) if line]

    def _render_traceback_(self) -> list[str]:
        # IPython shows this in place of a traceback; the error is raised all the same. One text with its line breaks,
        # since the modes Plain and Minimal join what they are given with nothing between.
        remember(self)
        return [f"{type(self).__name__}: {self}"]


class ArgumentError(FuncsError, ValueError):
    """
    An argument is missing, unknown or not valid.

    Parameters
    ----------
    what
        What happened; made from `errors` when empty.
    hint
        What to do next.
    errors
        The texts for each field by its wire name; cross-field texts under ``""``.
    excerpt
        What was written, in place of a hint, and the columns of it that stand before the caret under it.
    """

    def __init__(
        self,
        what: str = "",
        hint: str = "",
        errors: Mapping[str, Sequence[str]] | None = None,
        excerpt: tuple[str, int] | None = None,
    ) -> None:
        self.errors: dict[str, list[str]] = {name: list(texts) for name, texts in (errors or {}).items()}
        self.excerpt = excerpt
        super().__init__(what or " ".join(text for texts in self.errors.values() for text in texts), hint)

    @property
    def lines(self) -> list[str]:
        """The one to three lines a person reads, the caret's own among them."""
        if self.excerpt is None:
            return super().lines
        text, before = self.excerpt
        return [self.what, clip(text, _LONGEST_LINE), f"{' ' * before}^"]

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the errors by field when the error crosses to another process."""
        return type(self), (self.what, self.hint, self.errors, self.excerpt), self.__dict__


class ConfigError(FuncsError):
    """The address, the profile or the token is not usable as configured; nothing was sent."""


class AuthenticationError(FuncsError):
    """The service does not accept the token, or the token has ended."""


class PermissionDeniedError(FuncsError):
    """The token is good, but what was asked is not allowed."""


class NotFoundError(FuncsError, LookupError):
    """There is no such function for this user."""


class RateLimitError(FuncsError):
    """Too many requests; ``retry_after`` says for how long, where the service does."""


class FunctionError(FuncsError):
    """The function itself failed: HTTP 200 with ``error`` set, or a refusal in its own words (SERVICE.md 2)."""


class ServerError(FuncsError):
    """The service failed; it is not about the arguments."""


class ServiceConnectionError(FuncsError):
    """The service cannot be reached, or the connection broke before the reply was whole."""


class DeadlineError(FuncsError, TimeoutError):
    """The time ran out; what was sent may still run on the service."""


class ProtocolError(FuncsError):
    """The reply is not what was promised: not JSON, cut short, or of no known shape."""


class ReplyTooLargeError(FuncsError):
    """The reply is larger than ``max_bytes``, or the service says that the request is too large."""


class CircuitOpenError(FuncsError):
    """The service failed so often that requests to it are held back for a while."""


class RunCancelledError(FuncsError):
    """The run was cancelled; the service may still finish it."""


def remember(error: BaseException) -> None:
    """Keep the traceback of an error that a person is shown: its lines, and not its frames with all that they hold."""
    with suppress(Exception):  # an error that cannot be kept is shown all the same
        # The lines are read when they are asked for: until then a token that was typed in one of them is masked.
        kept = TracebackException.from_exception(error, lookup_lines=False)
        if kept.stack and kept.stack[0].name == "run_code":  # IPython's, above the line of the cell
            del kept.stack[0]
        _shown[:] = [kept]


def last_traceback() -> str:
    """Give the whole traceback of the error shown last, its causes before it; empty where there was none."""
    return "".join("".join(kept.format()) for kept in _shown)
