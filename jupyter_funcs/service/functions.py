"""
The built-in functions (SERVICE.md 2 and 3): what each takes and says, each a few lines over `queries`.

Docstrings and help texts are what analysts read in the listing, so they speak to them.
"""
# ruff: noqa: N803, PLC0415 - parameters carry their wire names; ibis loads on the first run, not with the listing

from __future__ import annotations

from datetime import date  # noqa: TC003 - read from the annotations when a function is published
from typing import TYPE_CHECKING, Annotated, Literal

from .parameters import AtLeastOne, Between, Help, ListedBy, TypeCode
from .reference import Reference
from .registry import function

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from .engine import Call


PANELS, REPORTS = "Demo panels", "Demo reports"


@function(asset=PANELS, group="Reference", name="Get Panels")
def get_panels(call: Call) -> ir.Table:
    """List the panel data sets that the other functions read (synthetic demo data)."""
    from . import queries

    return queries.panels(call)


@function(asset=PANELS, group="Reference", name="Get Universe")
def get_universe(call: Call) -> ir.Table:
    """List the companies by symbol, with sector, industry and the end of the fiscal year (synthetic demo data)."""
    from . import queries

    return queries.universe(call)


FUNCTIONS = (get_panels, get_universe)
