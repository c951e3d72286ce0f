"""Steps of pandas that are done and written as code: what a person copies computes what is shown."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from functools import partialmethod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_SIGNS = {
    "[]": operator.getitem,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


class Operation(NamedTuple):
    """A method of pandas, an operator or ``[]``, with its arguments, as data."""

    name: str
    args: tuple[Any, ...]
    options: dict[str, Any]

    def __call__(self, value: Any) -> Any:
        if self.name in _SIGNS:
            return _SIGNS[self.name](value, *map(_plain, self.args))
        return _called(operator.attrgetter(self.name)(value), self.args, self.options)

    def code(self, value: str) -> str:
        """Return the code of the step, applied to the code of a value."""
        text = _arguments(self.args, self.options)
        if self.name == "[]":
            return f"{value}[{text}]"
        if self.name in _SIGNS:
            return f"({value} {self.name} {text})"
        return f"{value}.{self.name}({text})"


def step(name: str, /, *args: Any, **options: Any) -> Operation:
    return Operation(name, args, options)


def applied(value: Any, steps: Iterable[Operation]) -> Any:
    for operation in steps:
        value = operation(value)
    return value


def printed(code: str, steps: Iterable[Operation]) -> str:
    """Return the code that applies steps to a value with this code."""
    for operation in steps:
        code = operation.code(code)
    return code


@dataclass(eq=False, repr=False)
class Coded:
    """A value and the code that computes it; its attributes, items, calls and operations are coded too."""

    value: Any
    code: str
    sign: str = ""

    @property
    def part(self) -> str:
        """The code within a larger expression."""
        if self.sign:
            return f"({self.code})"
        return self.code

    def __getattr__(self, name: str) -> Coded:
        return Coded(getattr(self.value, name), f"{self.part}.{name}")

    def __getitem__(self, key: Any) -> Coded:
        return Coded(self.value[_plain(key)], f"{self.part}[{literal(key)}]")

    def __call__(self, *args: Any, **options: Any) -> Coded:
        value = _called(self.value, args, options)
        return Coded(value, f"{self.part}({_arguments(args, options)})")

    def joined(self, sign: str, other: Any) -> Coded:
        """Return the result of an operator and another value."""
        left = self.part
        if sign == self.sign:
            left = self.code
        right = literal(other)
        if isinstance(other, Coded):
            right = other.part
        return Coded(
            _SIGNS[sign](self.value, _plain(other)), f"{left} {sign} {right}", sign
        )

    __gt__ = partialmethod(joined, ">")
    __lt__ = partialmethod(joined, "<")
    __eq__ = partialmethod(joined, "==")
    __sub__ = partialmethod(joined, "-")
    __mul__ = partialmethod(joined, "*")
    __truediv__ = partialmethod(joined, "/")
    __floordiv__ = partialmethod(joined, "//")
    # As Python sets it beside an == of its own; mypy knows no class without a hash.
    __hash__ = None  # type: ignore[assignment]


def _called(
    function: Callable[..., Any], args: Iterable[Any], options: dict[str, Any]
) -> Any:
    plain = {name: _plain(option) for name, option in options.items()}
    return function(*map(_plain, args), **plain)


def _arguments(args: Iterable[Any], options: dict[str, Any]) -> str:
    named = (f"{name}={literal(option)}" for name, option in options.items())
    return ", ".join([*map(literal, args), *named])


def _plain(value: Any) -> Any:
    if isinstance(value, Coded):
        return value.value
    return value


def literal(value: Any) -> str:  # noqa: PLR0911 - one per kind of value
    """Return a value as code: texts in double quotes."""
    if isinstance(value, np.generic):
        value = value.item()
    match value:
        case Coded():
            return value.code
        case type():
            return value.__name__
        case list():
            return f"[{', '.join(map(literal, value))}]"
        case slice():
            ends = [value.start, value.stop]
            if value.step:
                ends.append(value.step)
            return ":".join("" if end is None else literal(end) for end in ends)
        case float() if not math.isfinite(value):
            return f'float("{value}")'

    quoted = repr(value)
    if quoted[0] == "'" and '"' not in quoted:
        return f'"{quoted[1:-1]}"'
    return quoted
