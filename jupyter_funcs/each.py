"""Each: the values of a field that a sweep runs with, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Each:
    """Several values for a field, a run for each; those of a field that takes a list are lists themselves."""

    values: tuple[Any, ...]

    def __len__(self) -> int:
        """Give the number of values."""
        return len(self.values)


def several(value: Any) -> Each:
    """Give the value of a field that is to have several, from the one that it had."""
    return value if isinstance(value, Each) else Each(() if value is None else (value,))


def only(value: Any) -> Any:
    """Give the value of a field that is to have one again, from the several that it had: the first."""
    return next(iter(value.values), None) if isinstance(value, Each) else value
