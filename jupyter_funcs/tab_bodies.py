"""Tab in the body of a cell of %%funcs: the arguments, as `key: value` lines or as one JSON object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_funcs.line import QUOTES, unquoted
from jupyter_funcs.offers import (
    Offer,
    Writer,
    field_of,
    function_of,
    left_of,
    offer_of_a_value,
    read_values,
    same,
    spelt,
    values_of,
)
from jupyter_funcs.tab_lines import name_and_arguments, read_line

if TYPE_CHECKING:
    from jupyter_funcs.magic import FuncsMagics


def in_body(line: str, typed: str, after: str, others: list[str], magics: FuncsMagics) -> Offer | None:
    name, given = name_and_arguments(read_line(f"{line} ").words[1:])
    function = function_of(magics.connected, name)
    if function is None or typed.lstrip().startswith("#"):
        return None
    if any(text.lstrip().startswith("{") for text in others):  # one JSON object
        return None
    for text in others:
        if ":" in text and not text.lstrip().startswith(("#", "%%")):
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
    return offer_of_a_value(value.lstrip(), after, values, writer, magics.namespace)
