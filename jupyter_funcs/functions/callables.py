"""A callable: its name, what its docstring says, its parameters as declared; and a call with arguments by name."""

from __future__ import annotations

import asyncio
import inspect
import re
import typing
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from jupyter_funcs.core.json_decoding import Values
    from jupyter_funcs.functions.parameters import Parameter

# Words that stay lower-case within a title, and words with a spelling of their own.
_SMALL = {
    "a",
    "an",
    "and",
    "as",
    "at",
    "by",
    "for",
    "from",
    "in",
    "of",
    "on",
    "or",
    "per",
    "the",
    "to",
    "vs",
}
_SPELLED = {
    word.casefold(): word
    for word in ("FQ", "ID", "IDs", "KPI", "KPIs", "SKU", "SKUs", "YoY")
}


class Documented(NamedTuple):
    """What a docstring says: of the callable, in paragraphs, and of each parameter its type and its text."""

    text: str
    params: Mapping[str, tuple[str, str]]


def title(name: str) -> str:
    """Turn a Python name or file name into a function's name: ``get_stock_levels`` into *Get Stock Levels*."""
    words = re.sub(r"[\W_]+", " ", name).split()
    for at, word in enumerate(words):
        if not (at and word in _SMALL):
            words[at] = _SPELLED.get(word.casefold(), word[:1].upper() + word[1:])
    return " ".join(words)


def written(python: Any) -> Any:
    """Return the function that was written: inside a partial, a wrapper or an object that can be called."""
    python = inspect.unwrap(getattr(python, "func", python))
    if hasattr(python, "__name__"):
        return python
    return type(python).__call__


def name_of(python: Any) -> str:
    """Return the Python name of a callable; an object that can be called has the name of its class."""
    python = getattr(python, "func", python)
    return str(getattr(python, "__name__", type(python).__name__))


def declared(python: Any) -> list[inspect.Parameter]:
    """Return the parameters that can be given by name; raises `TypeError` if there is no signature."""
    if not callable(python):
        raise TypeError("it can't be called")
    try:
        parameters = inspect.signature(python).parameters.values()
    except (ValueError, TypeError):  # of some functions written in C
        raise TypeError("it has no signature") from None

    return [
        parameter
        for parameter in parameters
        if parameter.kind is not parameter.VAR_KEYWORD
    ]


def evaluated(parameter: inspect.Parameter, python: Any) -> inspect.Parameter:
    """Return a parameter whose annotation isn't a text; raises anything if that can't be evaluated."""
    if parameter.annotation is parameter.empty:
        return parameter
    return parameter.replace(
        annotation=evaluated_annotation(parameter.annotation, python)
    )


def evaluated_annotation(annotation: Any, python: Any) -> Any:
    """Return what an annotation in a callable stands for, which may be written as text; raises anything."""
    holder = SimpleNamespace(__annotations__={"own": annotation})
    function = written(python)
    if inspect.isclass(function):
        function = getattr(function, "__init__", None)
    names = getattr(function, "__globals__", {})
    return typing.get_type_hints(holder, globalns=names, include_extras=True)["own"]


def documented(python: Any) -> Documented:
    """Read a docstring of any style, without its examples."""
    text = inspect.getdoc(getattr(python, "func", python)) or ""
    params: dict[str, tuple[str, str]] = {}
    if "\n" in text:  # the parser takes a while to import
        with suppress(Exception):  # a docstring may be any text
            import docstring_parser

            parsed = docstring_parser.parse(text)
            for param in parsed.params:
                about = (_line(param.type_name), _line(param.description))
                params |= {
                    name.strip(" *"): about for name in param.arg_name.split(",")
                }
            gap = "\n"
            if parsed.blank_after_short_description:
                gap = "\n\n"
            text = (
                f"{parsed.short_description or ''}{gap}{parsed.long_description or ''}"
            )

    paragraphs = map(_line, text.split("\n\n"))
    return Documented(
        "\n\n".join(
            line for line in paragraphs if line and not line.startswith(">>> ")
        ),
        params,
    )


def _line(text: str | None) -> str:
    return " ".join((text or "").split())


def called(
    python: Callable[..., Any],
    parameters: Sequence[Parameter],
    values: Values,
    check: Callable[[int], None],
) -> Any:
    """
    Call with arguments by name, wait for what is async, and read an iterator to its end.

    An argument is passed by keyword wherever Python allows it. After each item, `check` gets their number.
    """
    positional, named = _passed(parameters, values)
    result = python(*positional, **named)
    if inspect.iscoroutine(result):
        result = asyncio.run(result)
    if isinstance(result, AsyncIterator):
        return asyncio.run(_items(result, check))
    if not isinstance(result, Iterator) or hasattr(result, "__arrow_c_stream__"):
        return result
    items = []
    for item in result:
        items.append(item)
        check(len(items))

    return items


def _passed(
    parameters: Sequence[Parameter], values: Values
) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments by position and by keyword."""
    several = [own.name for own in parameters if own.passing == "VAR_POSITIONAL"]
    rest = [item for name in several for item in values.get(name, ())]
    by_position = {"POSITIONAL_ONLY"}
    if rest:
        by_position.add("POSITIONAL_OR_KEYWORD")
    positional = [
        values.get(own.name, own.default)
        for own in parameters
        if own.passing in by_position
    ]
    named = {
        own.name: values[own.name]
        for own in parameters
        if own.passing not in {"VAR_POSITIONAL", *by_position} and own.name in values
    }
    return positional + rest, named


async def _items(result: AsyncIterator[Any], check: Callable[[int], None]) -> list[Any]:
    items = []
    async for item in result:
        items.append(item)
        check(len(items))
    return items
