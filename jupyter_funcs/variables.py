"""A variable of the notebook as a value of a form: typed and shown as ``$name``, looked up when the form is read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jupyter_funcs.each import Each
from jupyter_funcs.text import did_you_mean, quote
from jupyter_funcs.values import is_empty

if TYPE_CHECKING:
    from collections.abc import Mapping

# '$5' in quotes is a text, as it is to the magic; the quotes of any other text belong to it.
_QUOTED = re.compile(r"""(['"])([\s'"]*\$.*)\1""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Variable:
    """The value of a variable, whatever that is when the form is read."""

    name: str

    def __str__(self) -> str:
        """Give it as a person types it."""
        return f"${self.name}"


def typed(text: str) -> str | Variable:
    """Read what a person typed: ``$name`` is a variable, ``'$5'`` in quotes the text ``$5``, anything else itself."""
    bare = text.strip()
    if bare.startswith("$"):
        return Variable(bare[1:])
    if quoted := _QUOTED.fullmatch(bare):
        return quoted[2]
    return text


def spelled(value: object) -> str:
    """Give the text that a person would type for a value: `typed` gives a text back, and a variable too."""
    text = str(value)
    return text if isinstance(value, Variable) or typed(text) == text else f"'{text}'"


def has_variable(value: object) -> bool:
    """Say whether a value of a form is a variable, or a list or several values with one."""
    if isinstance(value, Each):
        return any(map(has_variable, value.values))
    return isinstance(value, Variable) or (isinstance(value, list) and any(isinstance(one, Variable) for one in value))


def resolved(value: Any, variables: Mapping[str, Any]) -> Any:
    """
    Give a value with its variables looked up; those in a list give their items, each in its place.

    Raises
    ------
    ValueError
        There is no such variable, or it holds nothing.
    """
    if isinstance(value, Variable):
        return _look_up(value, variables)
    if has_variable(value):
        items = []
        for item in value:
            found = _look_up(item, variables) if isinstance(item, Variable) else item
            # Anything else that has items is refused as one, at its field.
            several = isinstance(found, (list, tuple)) or getattr(found, "ndim", 0) == 1
            items += list(found) if several else [found]
        return items
    return value


def _look_up(variable: Variable, variables: Mapping[str, Any]) -> Any:
    if variable.name not in variables:
        # A copy of the names, since a cell may define one at this moment.
        hint = did_you_mean(variable.name, (name for name in list(variables) if not name.startswith("_")))
        hint = hint or f"Define it, or quote the value: '{variable}'."
        raise ValueError(f"There is no variable {quote(variable.name)}. {hint}")
    value = variables[variable.name]
    if is_empty(value):
        raise ValueError(f"{variable} is empty: {quote(value)}.")
    return value
