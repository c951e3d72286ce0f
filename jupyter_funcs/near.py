"""What a service refuses of the values that another function lists: the listed ones that look like it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_funcs.errors import ArgumentError
from jupyter_funcs.fields import Kind
from jupyter_funcs.text import folded, meant, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from jupyter_funcs.errors import FuncsError
    from jupyter_funcs.fields import Field
    from jupyter_funcs.forms import Args

Listed = list[tuple[str, str]]
"""Values, each with its label."""

_MOST = 3
# Of more values only those with the same first letter are compared: 50,000 would take up to three seconds.
_MOST_COMPARED = 10_000


def suggest(refusal: FuncsError, fields: Iterable[Field], args: Args, known: Callable[[Field], Listed]) -> None:
    """
    Add to a refusal what may have been meant, where it is about a value that is not among those listed.

    Parameters
    ----------
    refusal
        The service's; where it says what was meant itself, it stays as it is.
    fields
        Those of the function that was run.
    args
        What was sent.
    known
        Gives the values of a field that were listed already; none where they were not.
    """
    errors = refusal.errors if isinstance(refusal, ArgumentError) else {}
    hints = []
    for field in fields:
        sent = args.get(field.name, []) if field.source else []
        for value in [sent] if isinstance(sent, str) else sent:
            if field.name not in errors and value not in refusal.what:
                continue
            near = nearest_listed(field, value, known(field))
            if near and near[0] not in refusal.what:
                hints.append(meant(near))
                if field.name in errors:
                    errors[field.name][-1:] = [f"{errors[field.name][-1]} {hints[-1]}"]
    refusal.hint = " ".join([*hints[:_MOST], refusal.hint]).strip()


def nearest_listed(field: Field, value: str, choices: Sequence[tuple[str, str]]) -> list[str]:
    """Give up to three listed values that look like one that is none of them, or whose label does."""

    def spelling(text: str) -> str:
        # Behind the ticker symbols are alike (SERVICE.md 2: <ticker> <region> EQUITY).
        return text.partition(" ")[0] if field.kind is Kind.SYMBOL else text

    if len(choices) > _MOST_COMPARED:
        first = value[:1].casefold()
        choices = [pair for pair in choices if pair[0][:1].casefold() == first]
    by_value = [(spelling(choice), choice) for choice, _ in choices]
    by_label = [(label, choice) for choice, label in choices]
    if folded(value) in {folded(text) for pair in by_value for text in pair}:
        return []
    for wanted, texts in ((spelling(value), by_value), (value, by_label)):
        if close := nearest(wanted, (text for text, _ in texts)):
            return [choice for one in close for text, choice in texts if text == one][:_MOST]
    return []
