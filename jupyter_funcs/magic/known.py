"""What Tab knows of functions, fields and values without sending a request."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from jupyter_funcs.api import RemoteFunction, Session
    from jupyter_funcs.catalog.fields import Field

_PLAIN_NAME = re.compile(r"\w[\w.-]*")
_ARGUMENT_NAME = re.compile(r"\b(\w++)\s*+=(?!=)")


def data_frames(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables that hold a DataFrame."""
    pandas = sys.modules.get("pandas")  # without it there is no DataFrame
    return {} if pandas is None else {n: one for n, one in namespace.items() if isinstance(one, pandas.DataFrame)}


def find_function(session: Session | None, name: str) -> RemoteFunction | None:
    """Return a function of a session that has listed its functions, without asking the service."""
    if session is None or session.listed is None or not name:
        return None
    function = session.listed.peek(name)
    return session[session.listed.slug(function)] if function is not None else None


def field_named(function: RemoteFunction, name: str) -> Field | None:
    folded = name.casefold()
    return next((one for one in function.fields if folded in {one.name.casefold(), one.identifier.casefold()}), None)


def remaining_fields(function: RemoteFunction, given: Iterable[str], after: str = "") -> list[Field]:
    """Return the fields that have no argument yet, neither one given nor a `name=` in the text after the cursor."""
    names = {field.name for name in [*given, *_ARGUMENT_NAME.findall(after)] if (field := field_named(function, name))}
    return [field for field in function.fields if field.name not in names]


def name_in_line(field: Field) -> str:
    return field.name if _PLAIN_NAME.fullmatch(field.name) else field.identifier


def known_values(function: RemoteFunction, field: Field, given: Mapping[str, Any]) -> list[str]:
    """Return the values of a field that are known: its options, those its listing function returned, its default."""
    if field.options:
        return list(field.options)
    if field.kind == "yes/no":
        return ["Yes", "No"]
    form = function.form()
    for name, value in given.items():
        if other := field_named(function, name):
            is_swept = isinstance(value, list) and value and other.kind != "list"
            form[other.name] = value[0] if is_swept else value
    listed = [choice.value for choice in function.known_choices(field, form.args)]
    return listed or ([] if field.default is None else [field.default])
