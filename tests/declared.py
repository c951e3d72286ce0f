"""Fields that a catalog declares with schemas, for tests of what is enforced."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from jupyter_funcs.catalog.fields import Evidence
from jupyter_funcs.catalog.form import Form

if TYPE_CHECKING:
    from jupyter_funcs.catalog.fields import Field

PARTS = ("kind", "options", "required", "bounds")


def declared(field: Field) -> Field:
    """Return a field whose parts are all declared, except its rule."""
    return replace(
        field, evidence={**field.evidence, **dict.fromkeys(PARTS, Evidence.DECLARED)}
    )


def form_with(*fields: Field, **values: Any) -> Form:
    """Return a form of a function with these fields."""
    return Form(SimpleNamespace(name="F", fields=fields), **values)
