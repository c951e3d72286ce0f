"""What a source is, the service as one, and which one an address has: its kind's, or the first that it answers as."""

from __future__ import annotations

import asyncio
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from jupyter_funcs.catalog.fields import Kind, schema_problems, unknown_codes
from jupyter_funcs.catalog.listing import (
    Catalog,
    Encoding,
    Function,
    Param,
    ReadCatalog,
    parse_listing,
)
from jupyter_funcs.catalog.schemas import Schemas, text_of
from jupyter_funcs.connection.profiles import NO_TOKEN
from jupyter_funcs.connection.replies import LIST_PATH, RUN_PATH, TAKES_JSON, Reply
from jupyter_funcs.core.background import Progress, in_thread, loop_time
from jupyter_funcs.core.errors import ConfigError, FuncsError, ProtocolError, ReplyTooLargeError
from jupyter_funcs.core.json_decoding import gc_paused
from jupyter_funcs.core.text import some
from jupyter_funcs.core.warn import collect_warnings, warn, warn_all

if TYPE_CHECKING:
    import pandas as pd

    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.connection.transport import Terms, Transport
    from jupyter_funcs.core.json_decoding import JsonObject

_FINAL = {401, 403, 408, 429}  # statuses that say nothing about the kind
_AS_MCP = {400, 405, 406}  # how an MCP server may answer a GET


class Source(Protocol):
    """Lists functions and runs them, on the background loop."""

    kind: str
    """What `%funcs status` calls it: service, openapi, mcp or python."""

    async def listing(self, terms: Terms, progress: Progress) -> ReadCatalog:
        """Ask for the listing, and return what reads the catalog."""

    async def run(
        self, function: Function, args: Args, terms: Terms, progress: Progress
    ) -> Reply | pd.DataFrame:
        """Run a listed function, and return its reply, or a frame that stays as it is."""

    def request(self, function: Function, args: Args) -> JsonObject:
        """Return what `run` sends, in JSON types and without a token; a single HTTP request has a ``url``."""

    def identity(self, function: Function) -> Any:
        """Return what else decides a function's answers besides connection, token and listing, in JSON types."""

    async def close(self) -> None:
        """Close what is open; the next request opens it again."""


def source_of(kind: str, transport: Transport) -> Source:
    """Return the source of a kind; if that is empty, a service until `detected` knows better."""
    match kind:
        case "python":
            from jupyter_funcs.sources.python import PythonSource

            return PythonSource(transport.connection)
        case "mcp":
            from jupyter_funcs.sources.mcp import McpSource

            return McpSource(transport)
        case "openapi":
            from jupyter_funcs.sources.openapi import OpenApiSource

            return OpenApiSource(transport)
    return ServiceSource(transport, kind)


class ServiceSource:
    """The functions of a data service."""

    def __init__(self, transport: Transport, kind: str) -> None:
        self.kind = kind
        self._transport = transport
        self._offers_arrow = False
        self.headers: dict[str, str] = {}  # of each run

    async def listing(self, terms: Terms, progress: Progress) -> ReadCatalog:
        reply = await self._transport.post(LIST_PATH, {}, terms, progress)
        self._offers_arrow = reply.offers_arrow
        self.headers = TAKES_JSON if reply.takes_json else {}
        return partial(reply.read, partial(parse_listing, takes_json=reply.takes_json))

    async def run(self, function: Function, args: Args, terms: Terms, progress: Progress) -> Reply:
        terms = terms._replace(takes_arrow=terms.takes_arrow and self._offers_arrow)
        return await self._transport.post(
            RUN_PATH, self.request(function, args), terms, progress, self.headers
        )

    def request(self, function: Function, args: Args) -> JsonObject:
        params = {param.name: param for param in reversed(function.params)}
        sent = {name: _encoded(params[name], value) for name, value in args.items()}
        return {"FunctionName": function.name, "Args": sent}

    def identity(self, _function: Function) -> None:
        """Add nothing: the address says all."""

    async def close(self) -> None:
        await self._transport.close()


def _encoded(param: Param, value: Any) -> Any:
    """Return a value as the first wire takes it, a text or a list of texts, if the service doesn't take JSON."""
    if param.encoding is Encoding.JSON:
        return value
    if isinstance(value, list):
        declared = Schemas().read(param.schema)
        if declared is None or declared.kind != Kind.JSON:
            return [text_of(item) for item in value]
    return text_of(value)


async def detected(
    transport: Transport, terms: Terms, progress: Progress
) -> tuple[Source, ReadCatalog]:
    """Return the source that an address answers as, and what reads its listing, else raise the service's own error."""
    refusals = []
    connection, has_mcp = transport.connection, find_spec("mcp") is not None
    is_public = connection.token is NO_TOKEN  # a service needs one
    for kind in (("service", "mcp", "openapi") if has_mcp else ("service", "openapi"))[is_public:]:
        source = source_of(kind, transport)
        # An address that accepts messages and never answers leaves time for the document.
        seconds = (terms.until - loop_time()) / 2 if kind == "mcp" else None
        try:
            async with asyncio.timeout(seconds):
                return source, await read_listing(source, transport, terms, progress)
        except FuncsError as error:
            if not _is_another(error, kind) or getattr(source, "is_open", False):
                raise
            refusals.append(error)
        except TimeoutError:
            await source.close()
        terms = terms._replace(retries=0, counts=False)
    others = "an MCP server or an OpenAPI document" if has_mcp else "an OpenAPI document"
    if is_public:
        hint = (
            "Use jf.connect(url, token=…), set FUNCS_BASE_URL and FUNCS_TOKEN, or write a profile."
        )
        raise ConfigError(
            f"There is no token for {connection.base_url}, and it isn't {others}.", hint
        )
    own = refusals[0]
    own.hint = f"Nor is it {others}. {own.hint}".strip()
    if not has_mcp and refusals[-1].status in _AS_MCP:
        own.hint = "If it is an MCP server: pip install 'jupyter-funcs[mcp]'."
    raise own


async def read_listing(
    source: Source, transport: Transport, terms: Terms, progress: Progress
) -> ReadCatalog:
    """Read a listing in a thread, and return what warns of it in the caller's thread."""
    warned: list[UserWarning] = []
    read = await source.listing(terms, progress)
    with collect_warnings(warned):
        catalog = await asyncio.wrap_future(
            in_thread(lambda: _checked(read, transport.connection.name), "listing")
        )

    def shown() -> Catalog:
        warn_all(warned)
        return catalog

    return shown


def _checked(read: ReadCatalog, service: str) -> Catalog:
    """Read a listing, and warn of what in it isn't understood."""
    with (
        gc_paused()
    ):  # which would look through all of a large one again and again, and stop all threads
        catalog = read()
    for code in unknown_codes(catalog):
        warn(
            f"{service}: parameters of type code {code} (unknown) are read from their descriptions."
        )
    if problems := schema_problems(catalog):
        warn(f"Schemas that contradict themselves are not enforced: {some(problems)}.")
    return catalog


def _is_another(error: FuncsError, kind: str) -> bool:
    """Return whether an error only says that the address is of another kind."""
    is_reply = (
        200 <= error.status < (500 if kind == "service" else 600) and error.status not in _FINAL
    )
    return isinstance(error, ProtocolError) or (
        is_reply and not isinstance(error, ReplyTooLargeError)
    )
