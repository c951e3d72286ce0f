"""Tab in the body of a cell of %%funcs: the arguments, as `key: value` lines or as one JSON object."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from jupyter_funcs.brackets import Code
from jupyter_funcs.line import QUOTES, unquoted, with_items_below
from jupyter_funcs.tab_lines import name_and_given, read_line
from jupyter_funcs.tab_offers import (
    Candidate,
    Offer,
    Writer,
    field_of,
    function_of,
    left_of,
    offer_of_a_value,
    read_values,
    same,
    spelt,
    unquoted_begin,
    values_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_funcs.callables import RemoteFunction
    from jupyter_funcs.magic import FuncsMagics

_PAIR = re.compile(r'\s*"(?P<name>(?:[^"\\]|\\.)*+)"\s*:\s*(?P<value>.*)', re.DOTALL)
_KEYS = re.compile(r'"((?:[^"\\]|\\.)*+)"\s*:')


def in_body(line: str, before: str, after: str, magics: FuncsMagics) -> Offer | None:
    """Offer what fits in a cell's body, of which the text before and behind the cursor is given."""
    first = read_line(f"{line} ")
    name, given, _ = name_and_given(first.words)
    function = function_of(magics.known(first.profile), name)
    if function is None:
        return None
    if before.lstrip().startswith("{"):
        return _in_json(function, Code(before, after), given, magics.namespace)
    *above, typed = before.split("\n")
    behind, *below = after.split("\n")
    if typed.lstrip().startswith("#"):
        return None
    typed = _with_items_above(typed, above)
    for text in [*above, *below]:
        if ":" in text and not text.lstrip().startswith("#"):
            key, _, value = text.partition(":")
            given[unquoted(key.strip())] = value.strip()
    key, colon, value = typed.partition(":")
    if not colon:
        key = key.lstrip()
        return Offer(key, key, same(f"{spelt(field)}: " for field in left_of(function, given)), "param")
    field = field_of(function, unquoted(key.strip()))
    values = values_of(function, field, read_values(given, magics.namespace)) if field else ()
    # A value goes to the line's end, so that spaces in it need no quotes.
    writer = Writer(lambda text: text == text.strip() and text[:1] not in {*QUOTES, "[", "$", ""})
    return offer_of_a_value(value.lstrip(), behind, values, writer, magics.namespace)


def _with_items_above(typed: str, above: list[str]) -> str:
    """Give what is typed behind the items of a list that began in a line above and is still open."""
    for at in range(len(above) - 1, -1, -1):
        value = above[at].partition(":")[2].strip()
        if value.startswith("["):
            is_open = with_items_below(value, above[at + 1 :]) == (value, 0) and not value.endswith("]")
            items = [line.strip().rstrip(",") for line in above[at + 1 :]]
            parts = [f"{above[at].strip().rstrip(',')}{',' * (value != '[')}", *(f"{item}," for item in items if item)]
            return "".join([*parts, typed.lstrip()]) if is_open else typed
    return typed


def _in_json(
    function: RemoteFunction, code: Code, typed_above: Mapping[str, str], namespace: Mapping[str, Any]
) -> Offer | None:
    """Offer the keys of the object, the texts that are their values, and the items of a list that is one."""
    brackets = [code.before[bracket.at] for bracket in code.open]
    if brackets not in (["{"], ["{", "["], ["{", "[", "["]):
        return None
    begin = code.string if code.string is not None else code.name_before(len(code.before))
    typed = code.before[begin:]
    if typed[:1] == "'":
        return None
    *pairs, last = code.parts(code.open[0])
    known = {found["name"]: found["value"] for pair in pairs if (found := _PAIR.fullmatch(pair))}
    pair = _PAIR.fullmatch(last)
    if pair is None:
        if last.strip() != typed:
            return None
        left = left_of(function, [*typed_above, *known, *_KEYS.findall(code.after)])
        closed = "" if typed and code.after.startswith('"') else '": '  # many editors close a quote themselves
        keys = [Candidate(name, f'"{name}{closed}') for name in map(_in_quotes, (field.name for field in left))]
        return Offer(typed, unquoted_begin(typed), keys, "param")
    items: list[Any] = []
    if len(brackets) > 1:
        *before, item = code.parts(code.open[-1])
        items = [value for text in before for value in _read(text)]
    else:
        item = pair["value"]
    field = field_of(function, pair["name"])
    if field is None or item.strip() != typed:
        return None
    given = read_values(typed_above, namespace) | {name: value for name, text in known.items() for value in _read(text)}
    values = [value for value in values_of(function, field, given) if value not in items]
    writer = Writer(lambda _: False, lambda value, _: _in_quotes(value))
    return Offer(typed, unquoted_begin(typed), writer.candidates(values, typed, code.after), "value")


def _read(text: str) -> list[Any]:
    """Give the value of a piece of JSON; none for what is not finished."""
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):
        return []


def _in_quotes(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]
