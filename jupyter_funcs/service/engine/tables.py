"""The tables that expressions read: their columns, and the reference data as tables."""
# ruff: noqa: PLC0415 - ibis and pyarrow load on the first run: a listing does without

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from .reference import Reference

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
"""The columns of card spend: a row a panel, brand, region, age group and day that has data; money in whole cents."""

SCHEMAS = {
    "panels": {"PanelName": "string", "ProviderName": "string"},
    "companies": {
        "Symbol": "string",
        "InstrumentName": "string",
        "Sector": "string",
        "Industry": "string",
        "FiscalYearEnd": "string",
    },
    "kpis": {
        "KpiId": "int64",
        "KpiName": "string",
        "Symbol": "string",
        "PanelName": "string",
        "UnitOfMeasure": "string",
        "StatementType": "string",
        "KpiClass": "string",
        "MeasureName": "string",
        "Brands": "string",
        "IsPrimary": "boolean",
    },
}
"""The columns of each table, named as the listing functions return them (SERVICE.md 2 and 3)."""


def arrow_tables(reference: Reference) -> dict[str, pa.Table]:
    """Give every table of reference data."""
    import ibis
    import pyarrow as pa

    rows: dict[str, list[tuple[Any, ...]]] = {
        "panels": [(each.name, each.provider) for each in reference.panels],
        "companies": [
            (each.symbol, each.name, each.sector, each.industry, each.fiscal_year_end) for each in reference.companies
        ],
        "kpis": [
            (
                each.id,
                each.name,
                each.symbol,
                each.panel,
                each.unit,
                each.statement,
                each.kpi_class,
                each.measure,
                ", ".join(each.brands),
                each.is_primary,
            )
            for each in reference.kpis
        ],
    }
    tables = {}
    for name, columns in SCHEMAS.items():
        records = [dict(zip(columns, row, strict=True)) for row in rows[name]]
        tables[name] = pa.Table.from_pylist(records, schema=ibis.schema(columns).to_pyarrow())
    return tables
