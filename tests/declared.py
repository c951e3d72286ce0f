"""Fields as a catalog with schemas declares them, for tests of what is enforced."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_funcs.catalog.fields import Evidence

if TYPE_CHECKING:
    from jupyter_funcs.catalog.fields import Field

PARTS = ("kind", "options", "required", "bounds")


def declared(field: Field) -> Field:
    """Return a field of which everything but its rule is declared."""
    return replace(field, evidence={**field.evidence, **dict.fromkeys(PARTS, Evidence.DECLARED)})
