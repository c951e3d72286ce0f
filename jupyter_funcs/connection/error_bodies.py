"""What the body of an error says in words, and what it says of each argument, in any of the usual forms."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any

import msgspec

from jupyter_funcs.connection.secrets import redacted_all, redacted_line
from jupyter_funcs.core.json_decoding import as_list, only
from jupyter_funcs.core.text import folded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_funcs.core.errors import Messages
    from jupyter_funcs.core.json_decoding import Values

Path = tuple[str, ...]

_MAX_TEXT = 300
_MAX_MARKUP = 4000  # characters of an error that are read to find the first `_MAX_TEXT`
# What an error says is in one of these members, the most telling first; of each argument, in one of those. Names are
# compared as they are folded.
_TEXT_MEMBERS = (
    "msg",
    "message",
    "diagnostics",
    "defaultmessage",
    "faultstring",
    "detail",
    "errordescription",
    "description",
    "reason",
    "errormessages",
    "title",
    "error",
    "code",
)
_LIST_MEMBERS = (
    "errors",
    "arguments",
    "invalidparams",
    "details",
    "fieldviolations",
    "fielderrors",
    "violations",
    "validationerrors",
    "issues",
    "issue",
    "extra",
)
_OWN_PLACES = ("loc", "param", "parameter", "field")
_PLACES = (
    *_OWN_PLACES,
    "pointer",
    "source",
    "name",
    "path",
    "propertypath",
    "property",
    "instancepath",
    "attribute",
    "target",
    "key",
    "location",
)
# Words of a path that name no argument: where it is, and what holds all of them.
_AROUND = {
    "",
    "#",
    "$",
    "query",
    "querystring",
    "body",
    "json",
    "path",
    "header",
    "cookie",
    "data",
    "attributes",
    "Args",
}
_MAX_LEVELS = 6  # of an error
_MAX_PARTS = 8  # of a path
_MOST_TEXTS = 20  # texts that a person reads
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

    if not isinstance(value, dict) or level > _MAX_LEVELS:
        return only(str, value)
    if value.keys() == {"lang", "value"}:  # a text of OData 2
        return only(str, value["value"])
    return _said_of_object(value, by_argument, level)


def _said_of_object(value: Values, by_argument: Messages, level: int) -> str:
    members = {folded(name): inner for name, inner in value.items()}
    keys = sorted(
        _TEXT_MEMBERS,
        key=lambda key: key != "error" or isinstance(members.get(key), str),
    )
    text = next(
        filter(None, (_said(members.get(key), by_argument, level + 1) for key in keys)),
        "",
    )
    place = _place(members, _PLACES if level > 1 else _OWN_PLACES)
    if place and text:
        by_argument.setdefault(place, []).append(text)
        if not _names(text, place):
            text = f"{place}: {text}"

    texts = [text]
    for inner in filter(None, map(members.get, _LIST_MEMBERS)):
        if isinstance(inner, dict):
            texts += _texts_of_arguments(_leaves(inner), by_argument, level)
        else:
            texts.append(_said(inner, by_argument, level + 1))

    texts.append(_said(_checks(members), by_argument, level + 1))
    if not any(texts):
        texts = _members_of(value, by_argument, level)
    return _sentences(texts)


def _checks(members: Values) -> list[Any]:
    """Return what a validator says of each part of a request; joi names its parts, Prism lists what is wrong."""
    checks = members.get("validation")
    if isinstance(checks, dict):
        checks = [check for check in checks.values() if isinstance(check, dict)]
    return only(list, checks)


def _names(text: str, place: str) -> bool:
    """Return whether a text has the name of an argument as a word; what has no name needs none."""
    if not place:
        return True
    before, name, after = text.partition(place)
    return bool(name) and not (before[-1:].isalnum() or after[:1].isalnum())


def _leaves(value: Values, around: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the members of an object, and of those in it that only hold others, by their paths."""
    for name, inner in value.items():
        path = (*around, name)
        if (
            isinstance(inner, dict)
            and len(path) < _MAX_PARTS
            and not any(folded(key) in _TEXT_MEMBERS for key in inner)
        ):
            yield from _leaves(inner, path)
        else:
            yield path, inner


def _members_of(value: Values, by_argument: Messages, level: int) -> list[str]:
    """Return what an object says that is as Django has it, or of no known form."""
    leaves = list(_leaves(value))
    lists = (leaf for leaf in leaves if isinstance(leaf[1], list))
    texts = _texts_of_arguments(lists, by_argument, level)
    texts += [
        _said(inner, {}, level + 1) for _, inner in leaves if isinstance(inner, dict)
    ]
    return texts + [
        f"{path[-1]}: {inner}"
        for path, inner in leaves
        if isinstance(inner, str | float | int)
    ]


def _sentences(texts: list[str]) -> str:
    whole = ""
    for text in filter(None, texts[:_MOST_TEXTS]):
        if text not in whole:
            whole = f"{whole.removesuffix('.')}. {text}" if whole else text
    return whole


def _texts_of_arguments(
    leaves: Iterable[tuple[Path, Any]], by_argument: Messages, level: int
) -> list[str]:
    """Return what an object says of each argument, as in ``{"errors": {"size": ["is too large"]}}``."""
    texts = []
    for path, inner in leaves:
        named: Messages = {}  # by what says itself where it is
        words = [_said(part, named, level + 1) for part in as_list(inner)]
        text = "; ".join(filter(None, words))
        if not text:
            continue
        if not named:
            place = _path([part for name in path for part in name.split(".")])
            named[place] = list(filter(None, words))
            if not _names(text, path[-1]):
                text = f"{place}: {text}"
        for place, own in named.items():
            by_argument.setdefault(place, []).extend(own)
        texts.append(text)

    return texts


def _place(entry: Values, keys: tuple[str, ...]) -> str:
    """Return the argument that an entry of an error is about, as a dotted path; empty if there is none."""
    paths = [_parts(entry[key]) for key in keys if entry.get(key)]
    named = [parts for parts in paths if not _AROUND.issuperset(parts)]
    return _path(next(iter(named or paths), []))


def _parts(place: Any) -> list[str]:
    if isinstance(place, dict):
        inner = map(place.get, ("pointer", "parameter", "header"))
        place = next(filter(None, inner), "")
    if isinstance(place, str):
        place = place.replace("/", ".").split(".")
    return list(map(str, only(list, place)))


def _path(parts: list[str]) -> str:
    named = [part for part in parts if part not in _AROUND]
    return ".".join((named or parts[-1:])[:_MAX_PARTS])
