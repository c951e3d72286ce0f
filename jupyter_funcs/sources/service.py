"""The data service as a source, and the requests that it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_funcs.connection.replies import LIST_PATH, RUN_PATH

if TYPE_CHECKING:
    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.connection.replies import Reply
    from jupyter_funcs.connection.transport import Terms, Transport
    from jupyter_funcs.core.progress import Progress


class ServiceSource:
    """The functions of a data service."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def listing(self, terms: Terms, progress: Progress) -> Reply:
        return await self._transport.post(LIST_PATH, {}, terms, progress)

    async def run(self, function: str, args: Args, terms: Terms, progress: Progress) -> Reply:
        return await self._transport.post(RUN_PATH, run_body(function, args), terms, progress)


def run_body(function: str, args: Args) -> dict[str, Any]:
    """Return the JSON body that runs a function."""
    return {"FunctionName": function, "Args": args}
