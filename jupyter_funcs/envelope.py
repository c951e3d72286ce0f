"""The envelope of a reply -> the body in it, or the failure that it tells of."""

from __future__ import annotations

import json
import re
from typing import Any

from jupyter_funcs.errors import FunctionError
from jupyter_funcs.text import clip, inert
from jupyter_funcs.wire import decode, decode_lines

_LONGEST_REASON = 300
_ENCODED = re.compile(r'\ufeff?\s*[\[{"]')
_SCALAR = re.compile(
    r"[ \t\r\n]*(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null|NaN|-?Infinity)[ \t\r\n]*"
)


def body_of(reply: bytes | str, *, strict: bool) -> Any:
    """
    Give the body of a reply, decoded: the document in its envelope, or the one that is in none.

    Raises
    ------
    FunctionError
        The envelope tells of a failure.
    ProtocolError
        The reply, or JSON text in it, is not sound JSON.
    """
    document = decoded_text(decode(reply, strict=strict), strict=strict)
    if not _is_envelope(document):
        return document
    while isinstance(document, dict) and "body" in document:
        _raise_error(document)
        body = document["body"]
        if isinstance(body, str) and _SCALAR.fullmatch(body):
            return decode(body, what="body of the reply", strict=strict)
        document = decoded_text(body, strict=strict)
        if not _is_bare_envelope(document):
            return document
    _raise_error(document)
    return None


def lines_of(reply: bytes | str, *, strict: bool) -> list[Any]:
    """Give the documents of a reply that is one a line; raise as `body_of`."""
    documents = decode_lines(reply, strict=strict)
    for document in documents:
        if _is_bare_envelope(document):  # a function may fail after its first lines
            _raise_error(document)
    return documents


def _raise_error(envelope: dict[str, Any]) -> None:
    error = envelope.get("error")
    if error is not None:
        reason = _reason(error)
        # Services that name the function say themselves that it failed.
        told = reason if " failed: " in reason else f"The function failed: {reason}"
        raise FunctionError(told, "Its arguments are where to look first.")


def _is_bare_envelope(document: Any) -> bool:
    return isinstance(document, dict) and bool(document) and document.keys() <= {"error", "body"}


def _is_envelope(document: Any) -> bool:
    return _is_bare_envelope(document) or (
        isinstance(document, dict)
        and (
            {"error", "body"} <= document.keys()
            # A failure that is told without a body must never be shown as a table.
            or isinstance(document.get("error"), str)
        )
    )


def decoded_text(value: Any, *, strict: bool) -> Any:
    """Give what a text that holds JSON stands for, and any other value as it is."""
    # Text that opens like JSON is JSON, or broken: a table cut short must not pass for a text.
    while isinstance(value, str) and _ENCODED.match(value):
        value = decode(value, what="body of the reply", strict=strict)
    return value


def _reason(error: Any) -> str:
    text = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
    if text.startswith("Traceback (most recent call last)"):
        text = text.strip().rpartition("\n")[2]  # what went wrong stands last
    return clip(inert(text), _LONGEST_REASON) or "it gave no reason."
