"""Several values of a field, a run for each: as the service takes them, each once, or texts that say why not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_funcs.each import Each
from jupyter_funcs.fields import Kind
from jupyter_funcs.values import to_wire
from jupyter_funcs.variables import Variable, resolved

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jupyter_funcs.fields import Field

# Of a pasted column of the wrong kind every value is wrong in the same way.
_MOST_SAID = 3


def wire_values(
    field: Field, each: Each, variables: Mapping[str, Any], *, validate: bool
) -> tuple[list[Any], list[str]]:
    """
    Convert the values that a field is swept over.

    Parameters
    ----------
    field
        Whose values they are.
    each
        The values; a variable among them that holds several stands for each of those.
    variables
        What a variable holds, by name.
    validate
        Whether options that the description does not list are refused.

    Returns
    -------
    values : list
        The valid ones as they are sent, in their order, each once.
    wrong : list of str
        What is wrong with the others.
    """
    sent: dict[str | tuple[str, ...], str | list[str]] = {}
    wrong: dict[str, None] = {}
    for held in each.values:
        try:
            values = _looked_up(field, held, variables)
        except ValueError as error:
            wrong[str(error)] = None
            continue
        for value in values:
            try:
                one = to_wire(field, value, validate=validate)
            except ValueError as error:
                wrong[str(error)] = None
            else:
                sent.setdefault(tuple(one) if isinstance(one, list) else one, one)
    return list(sent.values()), few(list(wrong))


def few(texts: list[str]) -> list[str]:
    """Give the first of the texts, and how many more there are."""
    more = len(texts) - _MOST_SAID
    return [*texts[:_MOST_SAID], *([f"And {more:,} more like these."] if more > 0 else [])]


def as_several(field: Field, value: Any) -> Any:
    """Give a value as it was set, or a run for each of its items, where it is a list of what the field takes one of."""
    several = _are_lists(value) if field.kind is Kind.LIST else _are_several(value)
    return Each(tuple(value)) if several else value


def _looked_up(field: Field, held: Any, variables: Mapping[str, Any]) -> Iterator[Any]:
    found = resolved(held, variables)
    several = _are_lists(found) if field.kind is Kind.LIST else _are_several(found)
    return iter(found if isinstance(held, Variable) and several else [found])


def _are_several(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) == 1


def _are_lists(value: Any) -> bool:
    return _are_several(value) and len(value) > 0 and all(map(_are_several, value))
