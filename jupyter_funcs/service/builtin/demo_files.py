"""The demo's numbers as a Parquet file in the user's cache, sorted by panel, symbol and date."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from jupyter_funcs.service.builtin import companies, data_folder, synthesis
from jupyter_funcs.service.engine import tables

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_funcs.service.builtin.companies import Profile
    from jupyter_funcs.service.builtin.synthesis import Integers

VERSION = 4
"""Increase this with every change to the numbers or the file, so that older folders aren't used."""

CARDS = "cards.parquet"

# DuckDB's default: small groups let a query for one symbol skip more, large ones cost less to plan.
_ROWS_PER_GROUP = 122_880

_TEXT = pa.dictionary(pa.int8(), pa.string())
_TYPES = {"string": _TEXT, "date": pa.date32(), "int32": pa.int32(), "int64": pa.int64()}
_CARDS = pa.schema({name: _TYPES[kind] for name, kind in tables.CARDS.items()})


def folder() -> Path:
    """Return the folder of the demo's file; the first time takes seconds."""
    return data_folder.cached(f"demo-{VERSION}", build)


def build(into: Path) -> None:
    """Generate the demo's numbers and write its file."""
    with pq.ParquetWriter(into / CARDS, _CARDS, compression="snappy") as writer:
        for panel, name in enumerate(companies.PANELS):
            for profile in companies.PROFILES:
                spend = synthesis.card_spend(panel, profile)
                writer.write_table(_cards_table(name.name, profile, spend), row_group_size=_ROWS_PER_GROUP)


def _cards_table(panel: str, profile: Profile, spend: dict[str, Integers]) -> pa.Table:
    rows = len(spend["day"])
    first = np.zeros(rows, np.int8)

    def text(places: Any, names: tuple[str, ...]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int8)), pa.array(names))

    return pa.table(
        [
            text(first, (panel,)),
            text(first, (profile.symbol,)),
            text(spend["brand"], tuple(sorted(profile.brands))),
            text(spend["region"], companies.REGIONS),
            text(spend["generation"], companies.GENERATIONS),
            np.datetime64(companies.FIRST_DAY) + spend["day"],
            *(spend[name] for name in ("spend_cents", "transactions", "cards")),
        ],
        schema=_CARDS,
    )
