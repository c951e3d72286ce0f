"""
The errors of jupyter_funcs.

::

    FuncsError
    ├── ArgumentError             an argument is missing, unknown or invalid
    ├── ConfigError               the address, profile or token can't be used as configured
    ├── AuthenticationError       the service rejects the token, or it has expired
    ├── PermissionDeniedError     the token is valid, but the request isn't allowed
    ├── NotFoundError             no such function for this user
    ├── RateLimitError            too many requests; says when to try again
    ├── FunctionError             the function itself failed
    ├── ServerError               the service failed
    ├── ServiceConnectionError    the service can't be reached, or the connection broke
    ├── DeadlineError             the time limit was reached
    ├── ProtocolError             the reply isn't what the service promised
    ├── ReplyTooLargeError        the reply or the request is larger than allowed
    ├── CircuitOpenError          requests are paused because the service kept failing
    └── RunCancelledError         the run was cancelled

In IPython an error is shown in one to three lines. The cell still fails, so *Run All* stops. ``%funcs lasterror`` shows
the full traceback.
"""

from __future__ import annotations

from contextlib import suppress
from traceback import TracebackException
from typing import TYPE_CHECKING

from jupyter_funcs.core.text import clip, inert

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

TRY_AGAIN = "Try again. If it happens again, tell the operator of the service."
Messages = dict[str, list[str]]
"""What is wrong with arguments, by their wire names; what concerns several is under an empty name."""
_MAX_LINE = 600

_last: list[TracebackException] = []  # the error shown last, if any


class FuncsError(Exception):
    """
    The base class of all errors.

    Parameters
    ----------
    what
        What happened and with which value, in one sentence.
    hint
        What to do next, in one sentence; may be empty.

    Attributes
    ----------
    attempts
        How often the request was sent.
    refused
        Whether the service never started the request, so that it is safe to send it again.
    retry_after
        Seconds until the service accepts requests again, if known.
    status
        The HTTP status of the reply; 0 if there was none.
    proof
        What the failure proves about the request; empty if it proves nothing.

    Examples
    --------
    >>> import jupyter_funcs as jf
    >>> try:
    ...     frame = jf.connect().get_panels()
    ... except jf.FuncsError as error:
    ...     print(error)
    """

    attempts = 1
    refused = False
    retry_after: float | None = None
    status = 0
    proof = ""

    def __init__(self, what: str, hint: str = "") -> None:
        self.what = clip(inert(what), _MAX_LINE)
        self.hint = clip(inert(hint), _MAX_LINE)
        super().__init__(self.what, self.hint)

    def __str__(self) -> str:
        """Return what happened and what to do next, one per line."""
        return "\n".join(self.lines)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    @property
    def lines(self) -> list[str]:
        """The one to three lines of the message, without the name of the error."""
        what = self.what
        if self.attempts > 1:
            what += f" Tried {self.attempts} times."
        return [line for line in (what, self.hint) if line]

    def _render_traceback_(self) -> list[str]:
        # IPython shows this in place of the traceback. It is one string, because the modes Plain and Minimal join the
        # items of the list without line breaks.
        # An error whose traceback can't be read is still shown.
        with suppress(Exception):
            # Holds lines, not frames with everything in them. Lines are looked up on demand, after a token typed in one
            # of them has been masked.
            traceback = TracebackException.from_exception(self, lookup_lines=False)
            # IPython's own, above the cell.
            if traceback.stack and traceback.stack[0].name == "run_code":
                del traceback.stack[0]
            _last[:] = [traceback]

        return [f"{type(self).__name__}: {self}"]


class ArgumentError(FuncsError, ValueError):
    """
    An argument is missing, unknown or invalid.

    Parameters
    ----------
    what
        What happened; if empty, the texts of `errors`.
    hint
        What to do next.
    errors
        The messages per field, by wire name; messages about several fields under ``""``.
    excerpt
        The text as written and the column (from 0) of a caret below it; shown in place of the hint.
    """

    def __init__(
        self,
        what: str = "",
        hint: str = "",
        errors: Mapping[str, Sequence[str]] | None = None,
        excerpt: tuple[str, int] | None = None,
    ) -> None:
        self.errors: Messages = {
            name: list(texts) for name, texts in (errors or {}).items()
        }
        self.excerpt = excerpt
        super().__init__(
            what or " ".join(text for texts in self.errors.values() for text in texts),
            hint,
        )

    @property
    def lines(self) -> list[str]:
        """The one to three lines of the message, including the line with the caret."""
        if self.excerpt is None:
            return super().lines
        text, column = self.excerpt
        return [self.what, clip(text, _MAX_LINE), f"{' ' * column}^"]

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the messages per field too."""
        return (
            type(self),
            (self.what, self.hint, self.errors, self.excerpt),
            self.__dict__,
        )


class ConfigError(FuncsError):
    """The address, profile or token can't be used as configured. Nothing was sent."""


class AuthenticationError(FuncsError):
    """The service rejects the token, or the token has expired."""


class PermissionDeniedError(FuncsError):
    """The token is valid, but the request isn't allowed."""


class NotFoundError(FuncsError, LookupError):
    """There is no such function for this user, or no such preset or run."""


class RateLimitError(FuncsError):
    """Too many requests. ``retry_after`` has the seconds to wait, if the service says so."""


class FunctionError(FuncsError):
    """The function itself failed; the message is the service's."""


class ServerError(FuncsError):
    """The service failed, whatever the arguments."""


class ServiceConnectionError(FuncsError):
    """The service can't be reached, or the connection broke before the reply was complete."""


class DeadlineError(FuncsError, TimeoutError):
    """The time limit was reached. A run that was sent may still be running."""


class ProtocolError(FuncsError):
    """The reply isn't what the service promised: not JSON, cut short, or of an unknown shape."""


class ReplyTooLargeError(FuncsError):
    """The reply is larger than ``max_bytes``, or the request is too large for the service."""


class CircuitOpenError(FuncsError):
    """Requests are paused for a while because the service kept failing."""


class RunCancelledError(FuncsError):
    """The run was cancelled. The service may still finish it."""


class SetupError(Exception):
    """
    A configuration, folder, port, engine or account of a hosted service that can't be used as it is.

    The message has one to three lines: what is wrong, with the value, and what to do next.
    """


def no_descriptors(error: OSError) -> ServiceConnectionError:
    """Return the error of a connection that needs more open files than the process may have."""
    what = f"No connection can be opened: {error.strerror}."
    return ServiceConnectionError(
        what, "Close files, or allow more (ulimit -n), then try again."
    )


def with_causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and what caused it, each once."""
    seen = []
    while error is not None and error not in seen:
        yield error
        seen.append(error)
        error = error.__cause__ or error.__context__


def last_traceback() -> str:
    """Return the full traceback of the error shown last, including its causes; empty if there was none."""
    return "".join("".join(traceback.format()) for traceback in _last)
