"""The interface that every kind of source implements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.connection.replies import Reply
    from jupyter_funcs.connection.transport import Terms
    from jupyter_funcs.core.progress import Progress


class Source(Protocol):
    """Lists functions and runs them, on the background loop."""

    async def listing(self, terms: Terms, progress: Progress) -> Reply:
        """Return the listing of the functions."""

    async def run(self, function: str, args: Args, terms: Terms, progress: Progress) -> Reply:
        """Run a function by its wire name, and return its reply."""
