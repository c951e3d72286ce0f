"""The markers for annotations: what a parameter means, and which values are valid."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jupyter_funcs.core.text import quoted, quoted_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jupyter_funcs.core.errors import Messages
    from jupyter_funcs.core.json_decoding import Values

    Text = str | Callable[[Any], str]
    Texts = tuple[str, ...] | Callable[[Any], tuple[str, ...]]
    Match = Callable[[Any, str], str] | None
else:  # what a worker sends, of which msgspec reads the types
    Text = str
    Texts = tuple[str, ...]
    Match = None


@dataclass(frozen=True)
class Help:
    """
    What a parameter means, in a sentence or two: the first part of its description.

    Attributes
    ----------
    text
        The sentences, or a function that makes them from the engine's reference data.
    """

    text: Text


@dataclass(frozen=True)
class ListedBy:
    """
    The function that lists a parameter's valid values.

    Attributes
    ----------
    function
        Its name in the catalog.
    match
        Takes the engine's reference data and the text that was sent, and returns the value it stands for. Raises
        `ValueError` with what is wrong (``is not known. Did you mean …?``). Without it, any text is valid.
    values
        What the values are called, in the plural. By default, this follows from the function's name.
    """

    function: str
    match: Match = None
    values: str | None = None

    @property
    def sentence(self) -> str:
        """How a description says it, as in *Use function 'Get Panels' to get list of available panels*."""
        values = (
            self.values
            or self.function.removeprefix("Get ").removeprefix("List ").lower()
        )
        return (
            f"Use function {quoted(self.function)} to get list of available {values}."
        )


@dataclass(frozen=True)
class Options:
    """
    The valid values, where `Literal` can't express them: ``Options("a", "b")``.

    Attributes
    ----------
    values
        The values, or a function that returns them from the engine's reference data: ``Options(stores)``.
    """

    # So that pydantic reads what `__iter__` yields.
    __is_annotated_types_grouped_metadata__ = True

    values: Texts

    def __init__(self, *values: str | Callable[[Any], tuple[str, ...]]) -> None:
        from_data = len(values) == 1 and callable(values[0])
        object.__setattr__(self, "values", values[0] if from_data else values)

    def __iter__(self) -> Iterator[Any]:
        """Yield what pydantic checks."""
        from pydantic import AfterValidator, WithJsonSchema

        values = self.values
        if callable(values):
            return

        def checked(value: Any) -> Any:
            if value not in values:
                raise ValueError(f"options are {quoted_list(values)}")
            return value

        yield AfterValidator(checked)
        yield WithJsonSchema({"type": "string", "enum": [*values]})


@dataclass(frozen=True)
class Between:
    """The bounds of a number, both inclusive."""

    __is_annotated_types_grouped_metadata__ = True  # as above

    low: int | float
    high: int | float

    def __iter__(self) -> Iterator[Any]:
        """Yield what pydantic checks."""
        from annotated_types import Ge, Le

        if abs(self.low) < math.inf:
            yield Ge(self.low)
        if abs(self.high) < math.inf:
            yield Le(self.high)


@dataclass(frozen=True)
class AtLeastOne:
    """A rule that requires at least one of several parameters, as in ``AtLeastOne("Symbol", "Brand")``."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)

    def __call__(
        self, _values: Values, names: frozenset[str], _reference: Any
    ) -> Messages:
        """Return the errors of a call with the arguments `given`, by argument name."""
        if names.intersection(self.names):
            return {}
        # The empty key: the error belongs to no single argument.
        return {"": [f"{' or '.join(self.names)} is required."]}


class TypeCode(enum.IntEnum):
    """The type codes of parameters in the listing."""

    TEXT = 0
    INTEGER = 1
    LIST = 4
    SYMBOL = 6
    PANEL = 8
