"""Where card spend lies, and how its columns become the ones that queries read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .tables import CARDS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import ibis.expr.types as ir

UNKNOWN = "Unknown"
"""What a dimension is where a row says nothing."""

# More would not fit into a decimal when they are multiplied.
_MOST_DIGITS = 30


@dataclass(frozen=True, slots=True)
class Cards:
    """
    Card spend as it lies, in Parquet files or in a table of the engine.

    Attributes
    ----------
    schema
        The columns that queries read, with their ibis types: those of `tables.CARDS`, with a column for each dimension.
    columns
        The column of the source behind each of them.
    files
        Paths of Parquet files, which may hold wildcards; empty where card spend is a table.
    table
        The table's name, after that of its schema where it has one.
    panel
        The panel of every row, where no column says it.
    spend_unit
        What spend is counted in. Whole numbers and decimals of two places are exact; anything else is rounded to a
        whole cent in each row, halves up.
    has_unknown
        The dimensions' columns in which values are missing: a row without a brand counts as one of the brand that is
        named as its company's symbol, and else as `UNKNOWN`.
    """

    schema: Mapping[str, str]
    columns: Mapping[str, str]
    files: tuple[str, ...] = ()
    table: tuple[str, ...] = ()
    panel: str | None = None
    spend_unit: Literal["cents", "units"] = "cents"
    has_unknown: frozenset[str] = frozenset()

    @classmethod
    def parquet(cls, path: Path) -> Cards:
        """Give the card spend of a Parquet file whose columns are those of `tables.CARDS`."""
        return cls(schema=CARDS, columns={name: name for name in CARDS}, files=(str(path),))

    def mapped(self, source: ir.Table) -> ir.Table:
        """Give the columns of `schema` from a table with those of the source."""
        return source.select(**{name: self._column(source, name) for name in self.schema})

    def _column(self, source: ir.Table, name: str) -> ir.Value:
        import ibis  # noqa: PLC0415 - loads on the first run: a listing does without

        if name == "panel" and self.panel is not None:
            return ibis.literal(self.panel)
        column = source[self.columns[name]]
        if name == "spend_cents":
            column = _cents(column, self.spend_unit)
        if name in self.has_unknown:
            column = column.fill_null(source[self.columns["symbol"]] if name == "merchant" else UNKNOWN)
        return column.cast(self.schema[name])


def _cents(spend: ir.NumericColumn, unit: str) -> ir.NumericColumn:
    kind = spend.type()
    factor, places = (100, 2) if unit == "units" else (1, 0)
    is_money = kind.is_decimal() and (kind.precision or 0) <= _MOST_DIGITS and (kind.scale or 0) <= places
    if kind.is_integer() or is_money:
        return spend * factor if factor > 1 else spend
    # Not `round`, for engines differ in where halves go.
    return (spend.cast("float64") * factor + 0.5).floor()
