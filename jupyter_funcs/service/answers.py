"""What the service answers, in words where it refuses, and in the form that a caller wants where it does not."""

from __future__ import annotations

import contextlib
from datetime import date, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import JSONResponse, Response

from . import results
from .encoding import ResultError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from .engine import Call

ARROW = "application/vnd.apache.arrow.stream"
JSON = "application/json"

CLIENT_CLOSED_REQUEST = 499
"""What a proxy notes when the caller left; nobody reads it."""


class RequestError(Exception):
    """
    A request that is refused.

    Attributes
    ----------
    status
        The HTTP status.
    text
        One line: what is wrong, with the value, and what to do next.
    headers
        Those that the status asks for, such as ``Retry-After``.
    """

    def __init__(self, status: int, text: str, headers: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.text = text
        self.headers = headers
        super().__init__(text)


def failure(
    status: int,
    text: str,
    headers: Mapping[str, str] | None = None,
    arguments: Mapping[str, Sequence[str]] | None = None,
) -> Response:
    """Give the answer that carries an error; `arguments` says by argument what is wrong with it."""
    more = {} if arguments is None else {"arguments": arguments}
    return JSONResponse({"error": text, "body": None, **more}, status, headers)


def success(result: Any, call: Call, *, as_arrow: bool) -> Response:
    """
    Give the answer that carries what a function returned; takes and raises what `results.body` does.

    Parameters
    ----------
    as_arrow
        Whether a table is to be an Arrow stream, where it can be one.
    """
    if as_arrow and not _is_scalar(result):
        with contextlib.suppress(ResultError):  # what Arrow has no type for, JSON may have
            return Response(_stream(results.arrow(result, call)), media_type=ARROW)
    return Response(msgspec.json.encode({"error": None, "body": results.body(result, call)}), media_type=JSON)


def gone() -> Response:
    """Give the answer to a caller who has left."""
    return Response(status_code=CLIENT_CLOSED_REQUEST)


def wants_arrow(accept: str) -> bool:
    """Say whether an ``Accept`` header prefers an Arrow stream; where it likes JSON as well, JSON it is."""
    return _liking(accept, ARROW) > _liking(accept, JSON)


def _is_scalar(result: Any) -> bool:
    if isinstance(result, results.Document):
        return not result.lstrip().startswith(b"[")
    return result is None or isinstance(result, str | bytes | int | float | date | time | timedelta | Decimal)


def _stream(table: pa.Table) -> bytes:
    import pyarrow as pa  # noqa: PLC0415 - a listing does without

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _liking(accept: str, media_type: str) -> tuple[float, int]:
    """Give the q-value of the range that fits a media type best, and how closely it fits."""
    best, kind = (0.0, -1), media_type.partition("/")[0]
    for entry in accept.split(","):
        name, *parameters = (part.strip().casefold() for part in entry.split(";"))
        if name not in (ranges := ("*/*", f"{kind}/*", media_type)):
            continue
        fit = ranges.index(name)
        if fit > best[1]:
            best = _quality(parameters), fit
    return best if best[0] else (0.0, -1)


def _quality(parameters: Sequence[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return min(max(float(value), 0.0), 1.0)
            except ValueError:
                return 0.0
    return 1.0
