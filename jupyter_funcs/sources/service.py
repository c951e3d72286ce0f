"""The data service as a source, and the requests that it takes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from jupyter_funcs.catalog.listing import Catalog, Function, parse_listing
from jupyter_funcs.connection.replies import LIST_PATH, RUN_PATH, Reply

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.connection.transport import Terms, Transport
    from jupyter_funcs.core.progress import Progress


class ServiceSource:
    """The functions of a data service."""

    kind = "service"

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._offers_arrow = False

    async def listing(self, terms: Terms, progress: Progress) -> Callable[[], Catalog]:
        reply = await self._transport.post(LIST_PATH, {}, terms, progress)
        self._offers_arrow = reply.offers_arrow
        return partial(reply.read, parse_listing)

    async def run(self, function: Function, args: Args, terms: Terms, progress: Progress) -> Reply:
        terms = terms._replace(takes_arrow=terms.takes_arrow and self._offers_arrow)
        return await self._transport.post(RUN_PATH, self.request(function, args), terms, progress)

    def request(self, function: Function, args: Args) -> dict[str, Any]:
        return {"FunctionName": function.name, "Args": args}

    async def close(self) -> None:
        await self._transport.close()
