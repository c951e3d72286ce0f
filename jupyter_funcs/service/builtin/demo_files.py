"""The demo's numbers as Parquet files in the user's cache, sorted by panel, symbol and date."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from jupyter_funcs.service.builtin import companies, data_folder, synthesis

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jupyter_funcs.service.builtin.companies import Profile
    from jupyter_funcs.service.builtin.synthesis import Integers

VERSION = 3
"""Increase this with every change to the numbers or files, so that older folders aren't used."""

CARDS = "cards.parquet"
KPI_VALUES = "kpi_values.parquet"

# DuckDB's default: small groups let a query for one symbol skip more, large ones cost less to plan.
_ROWS_PER_GROUP = 122_880
_EPOCH = date(1970, 1, 1)

_TEXT = pa.dictionary(pa.int8(), pa.string())
_CARDS = pa.schema(
    {
        "panel": _TEXT,
        "symbol": _TEXT,
        "merchant": _TEXT,
        "region": _TEXT,
        "generation": _TEXT,
        "date": pa.date32(),
        "spend_cents": pa.int64(),
        "transactions": pa.int32(),
        "cards": pa.int32(),
    }
)
_KPI_VALUES = pa.schema(
    {
        "KpiId": pa.int64(),
        "PeriodLabel": pa.string(),
        "PeriodStartDate": pa.date32(),
        "PeriodEndDate": pa.date32(),
        "Value": pa.int64(),
    }
)


def folder() -> Path:
    """Return the folder of the demo's files; the first time takes seconds."""
    return data_folder.cached(f"demo-{VERSION}", build)


def build(into: Path) -> None:
    """Generate the demo's numbers and write its files."""
    values: list[dict[str, Any]] = []
    with pq.ParquetWriter(into / CARDS, _CARDS, compression="snappy") as writer:
        for panel, name in enumerate(companies.PANELS):
            for profile in companies.PROFILES:
                spend = synthesis.card_spend(panel, profile)
                writer.write_table(_cards_table(name.name, profile, spend), row_group_size=_ROWS_PER_GROUP)
                # What a company reports follows the first panel, which sees most of its customers.
                if panel == 0:
                    values += _kpi_values(profile, spend)
    pq.write_table(pa.Table.from_pylist(values, schema=_KPI_VALUES), into / KPI_VALUES)


def _cards_table(panel: str, profile: Profile, spend: dict[str, Integers]) -> pa.Table:
    rows = len(spend["day"])
    first = np.zeros(rows, np.int8)

    def text(places: Any, names: tuple[str, ...]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int8)), pa.array(names))

    days = (spend["day"] + (companies.FIRST_DAY - _EPOCH).days).astype(np.int32)
    return pa.table(
        [
            text(first, (panel,)),
            text(first, (profile.symbol,)),
            text(spend["brand"], tuple(sorted(profile.brands))),
            text(spend["region"], companies.REGIONS),
            text(spend["generation"], companies.GENERATIONS),
            pa.array(days).cast(pa.date32()),
            pa.array(spend["spend_cents"]),
            pa.array(spend["transactions"].astype(np.int32)),
            pa.array(spend["cards"].astype(np.int32)),
        ],
        schema=_CARDS,
    )


def _kpi_values(profile: Profile, spend: dict[str, Integers]) -> Iterator[dict[str, Any]]:
    """Yield the reported values of a company's KPIs, in whole units, by quarter."""
    quarters = [
        period for period in companies.periods(profile) if period.is_historical and period.start >= companies.FIRST_DAY
    ]
    starts, ends = (
        np.searchsorted(spend["day"], [(day - companies.FIRST_DAY).days for day in days])
        for days in ([period.start for period in quarters], [period.end + timedelta(days=1) for period in quarters])
    )
    brands = sorted(profile.brands)
    draws: dict[str, int] = {}
    for kpi in companies.KPIS:
        if kpi.symbol != profile.symbol:
            continue
        # A company reports one figure, whichever panel tracks it.
        draw = draws.setdefault(kpi.name, kpi.id)
        measure = spend["spend_cents"] if kpi.measure == "Spend" else spend["transactions"]
        covered = np.isin(spend["brand"], [brands.index(brand) for brand in kpi.brands])
        until = np.concatenate([[0], np.cumsum(measure * covered)])
        values = synthesis.reported(draw, until[ends] - until[starts]) // (100 if kpi.measure == "Spend" else 1)
        for period, value in zip(quarters, values.tolist(), strict=True):
            yield {
                "KpiId": kpi.id,
                "PeriodLabel": period.period_name,
                "PeriodStartDate": period.start,
                "PeriodEndDate": period.end,
                "Value": value,
            }
