"""The interface that every kind of source implements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.catalog.listing import Catalog, Function
    from jupyter_funcs.connection.replies import Reply
    from jupyter_funcs.connection.transport import Terms
    from jupyter_funcs.core.progress import Progress


class Source(Protocol):
    """Lists functions and runs them, on the background loop."""

    kind: str
    """What `%funcs status` calls it: service, openapi, mcp or python."""

    async def listing(self, terms: Terms, progress: Progress) -> Callable[[], Catalog]:
        """Return what reads the catalog, in the caller's thread so that its warnings point to the caller's line."""

    async def run(self, function: Function, args: Args, terms: Terms, progress: Progress) -> Reply | pd.DataFrame:
        """Run a listed function, and return its reply, or a frame that stays as it is."""

    def request(self, function: Function, args: Args) -> dict[str, Any]:
        """Return what `run` sends, in JSON types and without a token; a single HTTP request has a ``url``."""

    async def close(self) -> None:
        """Close what is open; the next request opens it again."""
