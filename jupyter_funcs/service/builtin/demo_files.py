"""The demo's numbers as a Parquet file in the user's cache, sorted by panel, symbol and date."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import platformdirs
import pyarrow as pa
import pyarrow.parquet as pq

from jupyter_funcs.service.builtin import companies, synthesis
from jupyter_funcs.service.engine import tables

if TYPE_CHECKING:
    from jupyter_funcs.service.builtin.companies import Profile
    from jupyter_funcs.service.builtin.synthesis import Integers

log = logging.getLogger(__name__)

VERSION = 4
"""Increase this with every change to the numbers or the file, so that older files aren't used."""

# Leftovers of a killed process are removed after this time: no other process can still be writing them.
_STALE_SECONDS = 3600
# DuckDB's default: small groups let a query for one symbol skip more, large ones cost less to plan.
_ROWS_PER_GROUP = 122_880

_TEXT = pa.dictionary(pa.int8(), pa.string())
_TYPES = {"string": _TEXT, "date": pa.date32(), "int32": pa.int32(), "int64": pa.int64()}
_CARDS = pa.schema({name: _TYPES[kind] for name, kind in tables.CARDS.items()})


def cards() -> Path:
    """Return the demo's file in the user's cache (`FUNCS_CACHE_DIR`), or a temporary one if that isn't writable."""
    home = Path(os.environ.get("FUNCS_CACHE_DIR") or platformdirs.user_cache_path("jupyter_funcs"))
    try:
        return _cached(home)
    except OSError as error:
        log.warning("The cache folder %s cannot be written (%s); using a temporary one.", home, error)
    temporary = Path(tempfile.mkdtemp(prefix="jupyter_funcs."))
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return _cached(temporary)


def _cached(home: Path) -> Path:
    """Return the file in a folder, built if need be; it is always complete, even if several processes build it."""
    path = home / f"demo-{VERSION}.parquet"
    if _is_complete(path):
        return path
    home.mkdir(parents=True, exist_ok=True)
    for left in home.glob("demo-*.part"):
        with contextlib.suppress(FileNotFoundError):  # its process has just finished
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="demo-", suffix=".part", dir=home) as work:
        built = Path(work) / path.name
        build(built)
        if not _is_complete(path):  # another process may have been first
            built.replace(path)
    return path


def _is_complete(path: Path) -> bool:
    try:
        pq.read_metadata(path)  # at the end of the file
    except (pa.ArrowException, OSError):
        return False
    return True


def build(into: Path) -> None:
    """Generate the demo's numbers and write its file, which takes seconds."""
    with pq.ParquetWriter(into, _CARDS, compression="snappy") as writer:
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
