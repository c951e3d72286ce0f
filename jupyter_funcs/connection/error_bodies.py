"""What the body of an error says in words, and what it says of each argument, in any of the usual forms."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any

import msgspec

from jupyter_funcs.connection.secrets import redacted_all, redacted_line
from jupyter_funcs.core.json_decoding import as_list, only

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_funcs.core.errors import Messages
    from jupyter_funcs.core.json_decoding import Values

_MAX_TEXT = 300
_MAX_MARKUP = 4000  # characters of an error that are read to find the first `_MAX_TEXT`
# What an error says is under one of these keys, the most telling first; of each argument, under one of those.
_SAYING = (
    "msg",
    "message",
    "detail",
    "error_description",
    "description",
    "reason",
    "title",
    "error",
)
_LISTS = (
    *(
        "errors",
        "arguments",
        "invalid-params",
        "invalidParams",
        "invalid_params",
        "details",
    ),
    *(
        "fieldViolations",
        "fieldErrors",
        "field_errors",
        "violations",
        "validationErrors",
        "issues",
    ),
)
_OWN_PLACES = ("loc", "param", "parameter", "field")
_PLACES = (
    *_OWN_PLACES,
    "pointer",
    "source",
    "name",
    "path",
    "propertyPath",
    "property",
    "instancePath",
    "attribute",
)
# Words of a path that name no argument: where it is, and what holds all of them.
_AROUND = {
    "",
    "#",
    "$",
    "query",
    "body",
    "path",
    "header",
    "cookie",
    "data",
    "attributes",
    "Args",
}
_MAX_LEVELS = 6  # of an error
_MAX_PARTS = 8  # of a path
_MAX_SAID = 20  # texts that a person reads
# Each alternative ends or fails without looking back, so that the time is linear.
_MARKUP = re.compile(r"(?is)<(script|style)\b.*?(?:</\1\s*+>|\Z)|<[^<>]*+>")


def error_text(body: bytes) -> str:
    """Return the message in an error's body, without markup and token, short and on one line."""
    return read_error(body)[0]


def read_error(body: bytes) -> tuple[str, Messages]:
    """Return what an error's body says in words, and what it says of each argument."""
    by_argument: Messages = {}
    try:
        text = _said(msgspec.json.decode(body), by_argument)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # Clipped, because html fails on numbers of more than 4,300 digits.
        text = html.unescape(_flat(_MARKUP.sub(" ", body.decode("utf-8", "replace"))))

    masked = {
        redacted_all(name): [redacted_line(_flat(text), _MAX_TEXT) for text in texts]
        for name, texts in by_argument.items()
    }
    return redacted_line(_flat(text), _MAX_TEXT), masked


def _flat(text: str) -> str:
    return " ".join(text.split())[:_MAX_MARKUP]


def _said(value: Any, by_argument: Messages, level: int = 0) -> str:
    """Return what a part of an error says, in words; add what is about arguments."""
    if isinstance(value, list):
        texts = [_said(part, by_argument, level + 1) for part in value]
        return "; ".join(dict.fromkeys(filter(None, texts)))

    if isinstance(value, dict) and level <= _MAX_LEVELS:
        return _said_of_object(value, by_argument, level)
    return only(str, value)


def _said_of_object(value: Values, by_argument: Messages, level: int) -> str:
    keys = sorted(
        _SAYING, key=lambda key: key != "error" or isinstance(value.get(key), str)
    )
    text = next(
        filter(None, (_said(value.get(key), by_argument, level + 1) for key in keys)),
        "",
    )
    place = _place(value, _PLACES if level > 1 else _OWN_PLACES)
    if place and text:
        by_argument.setdefault(place, []).append(text)
        if place not in text:
            text = f"{place}: {text}"

    texts = [text]
    for inner in filter(None, map(value.get, _LISTS)):
        if isinstance(inner, dict):
            texts += _of_each(inner, by_argument)
        else:
            texts.append(_said(inner, by_argument, level + 1))

    if not any(texts):
        texts = _members_of(value, by_argument)
    return _sentences(texts)


def _members_of(value: Values, by_argument: Messages) -> list[str]:
    """Return what an object says that is as Django has it, or of no known form."""
    lists = {name: inner for name, inner in value.items() if isinstance(inner, list)}
    return _of_each(lists, by_argument) + [
        f"{name}: {inner}"
        for name, inner in value.items()
        if isinstance(inner, str | float | int)
    ]


def _sentences(texts: list[str]) -> str:
    whole = ""
    for text in filter(None, texts[:_MAX_SAID]):
        if text not in whole:
            whole = f"{whole.removesuffix('.')}. {text}" if whole else text
    return whole


def _of_each(named: Mapping[str, Any], by_argument: Messages) -> list[str]:
    """Return what an object says of each argument, as in ``{"errors": {"size": ["is too large"]}}``."""
    texts = []
    for name, inner in named.items():
        several = [_said(part, {}, 1) for part in as_list(inner)]
        if words := list(filter(None, several)):
            by_argument.setdefault(_path(name.split(".")), []).extend(words)
            text = "; ".join(words)
            texts.append(text if name in text else f"{name}: {text}")

    return texts


def _place(entry: Values, keys: tuple[str, ...]) -> str:
    """Return the argument that an entry of an error is about, as a dotted path; empty if there is none."""
    place = next((entry[key] for key in keys if entry.get(key)), "")
    if isinstance(place, dict):
        place = next(
            (
                place[key]
                for key in ("pointer", "parameter", "header")
                if place.get(key)
            ),
            "",
        )

    if isinstance(place, str):
        place = place.replace("/", ".").split(".")
    return _path(list(map(str, only(list, place))))


def _path(parts: list[str]) -> str:
    named = [part for part in parts if part not in _AROUND]
    return ".".join((named or parts[-1:])[:_MAX_PARTS])
