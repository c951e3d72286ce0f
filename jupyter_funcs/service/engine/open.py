"""Which engine a URL names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .engine import DuckDBEngine

if TYPE_CHECKING:
    from collections.abc import Callable

    from .dataset import Cards
    from .engine import Engine
    from .reference import Reference


IN_MEMORY = "duckdb://"
"""The URL of a DuckDB of the service's own, without a file."""


def connect_engine(
    url: str, reference: Reference, cards: Callable[[], Cards], *, memory_limit: str | None = None
) -> Engine:
    """
    Give the engine that a URL names.

    Parameters
    ----------
    url
        ``duckdb://`` for one in memory, ``duckdb:///folder/file.db`` for a file, which is only read, or the URL of
        another engine that ibis connects to.
    reference, cards, memory_limit
        As of `DuckDBEngine`; limits of another engine are its own.
    """
    scheme, _, path = url.partition("://")
    if scheme == "duckdb":
        return DuckDBEngine(reference, cards, database=Path(path) if path else None, memory_limit=memory_limit)
    from .remote import RemoteEngine  # noqa: PLC0415 - ibis loads with it

    return RemoteEngine(url, reference, cards)
