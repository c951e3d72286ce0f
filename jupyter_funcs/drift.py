"""What a service has changed of a function since it was listed, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_funcs.fields import read_fields
from jupyter_funcs.text import listed, quote

if TYPE_CHECKING:
    from jupyter_funcs.catalog import Function


def drift(before: Function, now: Function) -> str:
    """
    Say which parameters were added, removed, or became required.

    Returns
    -------
    str
        One sentence for a person; empty where a run that was valid before is valid now.
    """
    then, today = ({field.name: field for field in read_fields(each)} for each in (before, now))
    removed = [name for name in then if name not in today]
    added = [name + " (required)" * field.required for name, field in today.items() if name not in then]
    required = [name for name, field in today.items() if name in then and field.required and not then[name].required]
    said = [
        f"{what} {listed([quote(name) if name in then else name for name in names], 'and')}"
        for what, names in (("without", removed), ("with", added), ("that now requires", required))
        if names
    ]
    return f"The service lists {quote(now.name)} {', '.join(said)} now." if said else ""
