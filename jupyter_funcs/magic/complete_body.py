"""Tab in the body of a `%%funcs` cell: `key: value` lines, or one JSON object."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from jupyter_funcs.core.line import QUOTES, unquoted, with_items_below
from jupyter_funcs.magic.candidates import (
    Candidate,
    Offer,
    Quoting,
    WrittenCall,
    field_named,
    find_function,
    known_values,
    name_in_line,
    offer,
    remaining_fields,
    without_quote,
)
from jupyter_funcs.magic.partial import PartialCode, PartialLine

if TYPE_CHECKING:
    from jupyter_funcs.magic.state import MagicState

_PAIR = re.compile(r'\s*"(?P<name>(?:[^"\\]|\\.)*+)"\s*:\s*(?P<value>.*)', re.DOTALL)
_KEYS = re.compile(r'(?<!\\)"((?:[^"\\]|\\.)*+)"\s*:')
# A value ends with its line, so that spaces in it need no quotes.
_TO_LINE_END = Quoting(lambda text: text == text.strip() and text[:1] not in {*QUOTES, "[", "$", ""})


def in_body(line: str, before: str, after: str, state: MagicState) -> Offer | None:
    """Offer what fits in a body, given the cell's first line and the body's text before and after the cursor."""
    first = PartialLine.read(f"{line} ")
    name, given, _ = first.call()
    function = find_function(state.completed(first.profile), name)
    if function is None:
        return None
    if before.lstrip().startswith("{"):
        return _in_json(WrittenCall(function, given, state.namespace), PartialCode(before, after))
    *above, typed = before.split("\n")
    rest, *below = after.split("\n")
    if typed.lstrip().startswith("#"):
        return None
    typed = _with_items_above(typed, above)
    for text in [*above, *below]:
        if ":" in text and not text.lstrip().startswith("#"):
            key, _, value = text.partition(":")
            given[unquoted(key.strip())] = value.strip()
    key, colon, value = typed.partition(":")
    if not colon:
        fields = remaining_fields(function, given)
        return offer(key.lstrip(), [f"{name_in_line(field)}: " for field in fields], "param")
    call = WrittenCall(function, given, state.namespace)
    return call.offer_values(unquoted(key.strip()), value.lstrip(), rest, _TO_LINE_END)


def _with_items_above(typed: str, above: list[str]) -> str:
    """Return the typed text joined to the items above it, if it is in a list that began in an earlier line."""
    for at in range(len(above) - 1, -1, -1):
        value = above[at].partition(":")[2].strip()
        if value.startswith("["):
            is_open = with_items_below(value, above[at + 1 :]) == (value, 0) and not value.endswith("]")
            items = [line.strip().rstrip(",") for line in above[at + 1 :]]
            parts = [f"{above[at].strip().rstrip(',')}{',' * (value != '[')}", *(f"{item}," for item in items if item)]
            return "".join([*parts, typed.lstrip()]) if is_open else typed
    return typed


def _in_json(call: WrittenCall, code: PartialCode) -> Offer | None:
    """Offer the keys of the object, their values, and the items of a list; the call is the cell's first line."""
    depth = len(code.open)
    if "".join(code.bracket(index) for index in range(depth)) not in {"{", "{[", "{[["}:
        return None
    typed = code.before[code.begin :]
    if typed[:1] == "'":
        return None
    *pairs, last = code.parts(0)
    known = {found["name"]: found["value"] for pair in pairs if (found := _PAIR.fullmatch(pair))}
    pair = _PAIR.fullmatch(last)
    if pair is None:
        if last.strip() != typed:
            return None
        fields = remaining_fields(call.function, [*call.given, *known, *_KEYS.findall(code.after)])
        closing = "" if typed and code.after.startswith('"') else '": '  # many editors close a quote themselves
        keys = [Candidate(key, f'"{key}{closing}') for key in (_escaped(field.name) for field in fields)]
        return Offer(typed, without_quote(typed), keys, "param")
    items: list[Any] = []
    item = pair["value"]
    if depth > 1:
        *before, item = code.parts(-1)
        items = [value for text in before for value in _read(text)]
    field = field_named(call.function, pair["name"])
    if field is None or item.strip() != typed:
        return None
    given = call.values() | {name: value for name, text in known.items() for value in _read(text)}
    values = [value for value in known_values(call.function, field, given) if value not in items]
    return Quoting(escape=lambda value, _: _escaped(value)).offer(typed, values, code.after, "value")


def _read(text: str) -> list[Any]:
    """Return the value of a piece of JSON as a list of one; an empty list if it isn't complete."""
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):
        return []


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]
