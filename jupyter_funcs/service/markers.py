"""What an annotation says of a parameter beside its type, within `Annotated`."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .words import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class TypeCode(enum.IntEnum):
    """The type codes of the listing, by the use seen of each (SERVICE.md 2)."""

    TEXT = 0
    INTEGER = 1
    LIST = 4
    SYMBOL = 6
    PANEL = 8


@dataclass(frozen=True, slots=True)
class Help:
    """What a parameter means, in a sentence or two; stands first in its description. May follow from the data."""

    text: str | Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class ListedBy:
    """
    The function that lists a parameter's valid values.

    Attributes
    ----------
    function
        Its name in the catalog.
    match
        Takes the engine's reference data and a caller's text, and gives the value meant; raises `ValueError` with
        what is wrong (``is not known. Did you mean …?``) where none is. Without it every text is taken.
    values
        What the values are called, in the plural; by default what the function's name says that it gets.
    """

    function: str
    match: Callable[[Any, str], str] | None = None
    values: str | None = None

    @property
    def sentence(self) -> str:
        """How a description says it, as in *Use function 'Get Panels' to get list of available panels*."""
        values = self.values or self.function.removeprefix("Get ").removeprefix("List ").lower()
        return f"Use function {quoted(self.function)} to get list of available {values}."


@dataclass(frozen=True, slots=True)
class Options:
    """
    The values that are taken, where `Literal` cannot say them: ``Options("a", "b")``.

    Attributes
    ----------
    values
        The values, or what gives them from the engine's reference data: ``Options(stores)``.
    """

    values: tuple[str, ...] | Callable[[Any], tuple[str, ...]]

    def __init__(self, *values: str | Callable[[Any], tuple[str, ...]]) -> None:
        found = values[0] if len(values) == 1 and callable(values[0]) else values
        object.__setattr__(self, "values", found)


@dataclass(frozen=True, slots=True)
class Between:
    """The bounds of a number, both inclusive."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class AtLeastOne:
    """A rule over parameters: at least one of some is needed, as in ``AtLeastOne("Symbol", "Brand")``."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)

    def __call__(self, _values: Mapping[str, Any], given: frozenset[str], _reference: Any) -> dict[str, list[str]]:
        """Give the errors of a call, of which `given` names all the arguments that were sent."""
        if given.intersection(self.names):
            return {}
        # The empty key: the error belongs to no single argument.
        return {"": [f"{' or '.join(self.names)} is required: give at least one of them."]}
