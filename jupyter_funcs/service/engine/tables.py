"""The tables that queries read: reference data, and card spend in files or in a table of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import ibis.expr.types as ir
    import pyarrow as pa

    from jupyter_funcs.service.engine.reference import Reference

CARDS = {
    "panel": "string",
    "symbol": "string",
    "merchant": "string",
    "region": "string",
    "generation": "string",
    "date": "date",
    "spend_cents": "int64",
    "transactions": "int32",
    "cards": "int32",
}
"""Columns of card spend, one row per data set, brand, region, age group and day with data; money in whole cents."""

_KPI_TEXTS = "KpiName", "Symbol", "PanelName", "UnitOfMeasure", "StatementType", "KpiClass", "MeasureName", "Brands"
SCHEMAS = {
    "panels": dict.fromkeys(("PanelName", "ProviderName"), "string"),
    "companies": dict.fromkeys(("Symbol", "InstrumentName", "Sector", "Industry", "FiscalYearEnd"), "string"),
    "kpis": {"KpiId": "int64"} | dict.fromkeys(_KPI_TEXTS, "string") | {"IsPrimary": "boolean"},
}
"""The columns of each table of `Reference`, in the order of its fields, named as the listing functions return them."""


def arrow_table(columns: Mapping[str, str], rows: Iterable[Sequence[Any]]) -> pa.Table:
    """Return rows as a table with these columns."""
    import pyarrow as pa

    records = [dict(zip(columns, row, strict=True)) for row in rows]
    return pa.Table.from_pylist(records, schema=arrow_schema(columns))


def arrow_schema(columns: Mapping[str, str]) -> pa.Schema:
    """Return the schema of columns whose types are named as ibis names them."""
    import pyarrow as pa

    own = {"boolean": "bool", "date": "date32"}
    return pa.schema({name: pa.type_for_alias(own.get(kind, kind)) for name, kind in columns.items()})


def rows(reference: Reference, name: str) -> list[tuple[Any, ...]]:
    return [
        tuple(", ".join(cell) if isinstance(cell, tuple) else cell for cell in row) for row in getattr(reference, name)
    ]


UNKNOWN = "Unknown"
"""The value of a dimension where a row has none."""

# The product of longer decimals overflows.
_MOST_DIGITS = 30


class Cards(NamedTuple):
    """Where card spend is stored, in Parquet files or a table of the engine, and how its columns map to `CARDS`."""

    schema: Mapping[str, str]
    columns: Mapping[str, str]
    files: tuple[str, ...] = ()
    table: tuple[str, ...] = ()
    panel: str | None = None
    spend_unit: Literal["cents", "units"] = "cents"
    has_unknown: frozenset[str] = frozenset()

    @classmethod
    def parquet(cls, path: Path) -> Cards:
        """Return card spend in a Parquet file with the columns of `CARDS`."""
        return cls(schema=CARDS, columns={name: name for name in CARDS}, files=(str(path),))

    def mapped(self, source: ir.Table) -> ir.Table:
        """Map the columns of the source table to those of `schema`."""
        return source.select(**{name: self._column(source, name) for name in self.schema})

    def _column(self, source: ir.Table, name: str) -> ir.Value:
        import ibis

        if name == "panel" and self.panel:
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
    # Not `round`, because engines round halves differently.
    return (spend.cast("float64") * factor + 0.5).floor()
