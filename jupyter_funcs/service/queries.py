"""The built-in functions as ibis expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from .engine import Call


def panels(call: Call) -> ir.Table:
    """Give the panels by name."""
    return call.table("panels").order_by("PanelName")


def universe(call: Call) -> ir.Table:
    """Give the companies by symbol."""
    return call.table("companies").order_by("Symbol")
