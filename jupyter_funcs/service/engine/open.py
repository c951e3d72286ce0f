"""Choose the engine for a URL."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_funcs.service.engine.duckdb_engine import DuckDBEngine

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_funcs.service.engine.calls import Engine
    from jupyter_funcs.service.engine.reference import Reference
    from jupyter_funcs.service.engine.tables import Cards

IN_MEMORY = "duckdb://"
"""The URL of an in-memory DuckDB."""


def connect_engine(
    url: str, reference: Reference, cards: Callable[[], Cards], *, memory_limit: str | None = None
) -> Engine:
    """Return the engine for a URL, not opened yet."""
    scheme, _, path = url.partition("://")
    if scheme == "duckdb":
        return DuckDBEngine(reference, cards, database=Path(path) if path else None, memory_limit=memory_limit)
    from jupyter_funcs.service.engine.remote import RemoteEngine

    return RemoteEngine(url, reference, cards)
