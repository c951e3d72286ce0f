"""Which control a field has: one row of a table for each kind, and what its source has given so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_funcs.each_control import EachLines, EachPick
from jupyter_funcs.fields import Kind
from jupyter_funcs.lists import AddControl, LinesControl, PickControl
from jupyter_funcs.widgets import ChoiceControl, Control, DateControl, SearchControl

if TYPE_CHECKING:
    from jupyter_funcs.fields import Field
    from jupyter_funcs.sources import Source

# So many values can be looked through in a dropdown, and so many in one that adds.
MOST_TO_CHOOSE = 200
MOST_TO_ADD = 20

BY_KIND: dict[Kind, type[Control]] = {
    Kind.CHOICE: ChoiceControl,
    Kind.YES_NO: ChoiceControl,
    Kind.INTEGER: Control,
    Kind.NUMBER: Control,
    Kind.TEXT: Control,
    Kind.DATE: DateControl,
    Kind.LIST: LinesControl,
    Kind.SYMBOL: Control,
    Kind.PANEL: Control,
}


def control_type(field: Field, source: Source | None, *, each: bool = False) -> type[Control]:
    """
    Give the kind of control for a field.

    Parameters
    ----------
    field
        What it shows.
    source
        Where its values are listed; ``None`` where nothing lists them.
    each
        Whether it has several values, a run for each.
    """
    usual = _of_one(field, source)
    return usual if not each else EachPick if usual is ChoiceControl else EachLines


def may_change(field: Field, source: Source | None) -> bool:
    """
    Say whether what stands at a field may become more, less or another while a person is at another field.

    These are tags, the button that clears a day, and what follows from the values that a source gives.

    Parameters
    ----------
    field
        What is shown.
    source
        Where its values are listed; ``None`` where nothing lists them.
    """
    if source is None:
        return field.kind is Kind.DATE or (field.kind is Kind.LIST and bool(field.options))
    return field.kind in {Kind.LIST, Kind.PANEL} or bool(source.needs)


def _of_one(field: Field, source: Source | None) -> type[Control]:
    are_many = len(field.options) > MOST_TO_CHOOSE
    if field.kind is Kind.LIST and field.options:
        return AddControl if are_many else PickControl
    if source is None:
        usual = BY_KIND[field.kind]
        return SearchControl if usual is ChoiceControl and are_many else usual
    number = len(source.offers)
    if field.kind is Kind.LIST:
        if source.trouble:
            return LinesControl
        return PickControl if source.known and 0 < number <= MOST_TO_ADD else AddControl
    # Panels are few, and chosen from a list once that is there; while it is slow to come they are typed.
    soon = source.asking and not source.slow and number <= MOST_TO_CHOOSE
    if field.kind is Kind.PANEL and (soon or (source.known and 0 < number <= MOST_TO_CHOOSE)):
        return ChoiceControl
    return SearchControl
