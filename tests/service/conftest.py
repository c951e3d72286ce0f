"""The service in process, and over HTTP on a free port."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import socket
import ssl
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jupyter_funcs.service.accounts.auth import Auth
from jupyter_funcs.service.accounts.grants import Grants
from jupyter_funcs.service.accounts.signing_keys import SigningKeys
from jupyter_funcs.service.builtin import card_functions, companies, demo
from jupyter_funcs.service.engine.duckdb_engine import DuckDBEngine
from jupyter_funcs.service.engine.tables import (
    CARDS,
    Brand,
    Cards,
    Company,
    DataSet,
    Reference,
    arrow_schema,
)
from jupyter_funcs.service.publishing.registry import (
    PublishedFunction,
    Registry,
    function,
)
from jupyter_funcs.service.web.app import create_app
from tests.servers import cheap_hashes
from tests.servers import serving as served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from starlette.applications import Starlette

# Published notebooks, which aren't tests.
collect_ignore_glob = ["publishing/published/*"]

LIST = "/api/function/ListUserFunctions"
RUN = "/api/function/runFunction"
GET_ALL = "/api/function/getAll"
LOGIN = "/api/account/login"
JSON = {"Content-Type": "application/json"}
PANELS = {"FunctionName": "Get Panels", "Args": {}}


@pytest.fixture(scope="session", autouse=True)
def _cheap_hashes() -> Iterator[None]:
    with cheap_hashes():
        yield


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ.setdefault("FUNCS_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


@dataclass
class Wire:
    """A synchronous caller of a service: each request on its own client and event loop."""

    transport: Callable[[], httpx.AsyncBaseTransport]
    base_url: str
    token: str
    engine: Any = None
    auth: Any = None
    grants: Any = None

    @property
    def app(self) -> Any:
        """The application behind an in-process wire."""
        return self.transport().app  # type: ignore[attr-defined]

    def client(self, token: str | None = "") -> httpx.AsyncClient:
        """Return a client with the fixture's token, with another one, or (`None`) without."""
        headers = (
            {"Authorization": f"Bearer {token or self.token}"}
            if token is not None
            else {}
        )
        return httpx.AsyncClient(
            transport=self.transport(),
            base_url=self.base_url,
            headers=headers,
            timeout=60,
        )

    def request(
        self, method: str, path: str, *, token: str | None = "", **options: Any
    ) -> httpx.Response:
        """Send a request, with a token as in `client`."""

        async def send() -> httpx.Response:
            async with self.client(token) as client:
                return await client.request(method, path, **options)

        return asyncio.run(send())

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self.request("POST", path, **options)

    def call(self, name: str, args: dict[str, Any] | None = None) -> httpx.Response:
        return self.post(RUN, json={"FunctionName": name, "Args": args or {}})

    def rows(self, name: str, **args: Any) -> list[dict[str, Any]]:
        """Run a function that must succeed and return its records."""
        reply = self.call(name, args)
        assert reply.status_code == 200, reply.text
        document = reply.json()
        assert document["error"] is None, document
        return json.loads(document["body"])

    def errors(self, name: str, **args: Any) -> dict[str, list[str]]:
        """Run a function whose arguments must be refused and return the messages by argument."""
        reply = self.call(name, args)
        assert reply.status_code == 422, reply.text
        document = reply.json()
        assert document["body"] is None
        assert document["error"]
        assert "\n" not in document["error"]
        return document["arguments"]


def assert_refused(reply: httpx.Response, status: int) -> dict[str, Any]:
    """Check the shape of an error reply and return its document."""
    assert reply.status_code == status, reply.text
    document = reply.json()
    assert document["body"] is None
    assert document["error"]
    assert "\n" not in document["error"]
    return document


def published(name: str, run: Callable[[], Any]) -> PublishedFunction:
    def python() -> Any:
        """Do what the test wants."""
        return run()

    return function(asset="a", name=name)(python)


def in_process(app: Starlette, token: str) -> Wire:
    return Wire(lambda: httpx.ASGITransport(app), "http://localhost", token)


def serving(registry: Registry, engine: DuckDBEngine, **options: Any) -> Wire:
    """Serve functions of the asset 'a' to the users 't' and 'u'; 't' calls."""
    grants = Grants()
    grants.add_asset("a", organisation="t", is_shared=True)
    for name in ("t", "u"):
        grants.add_user(name, organisation="t", email=f"{name}@t.example")
    return serving_to("t", grants, registry, engine, **options)


def serving_to(
    user: str, grants: Grants, registry: Registry, engine: DuckDBEngine, **options: Any
) -> Wire:
    """Serve functions with some accounts; a user calls them."""
    auth = Auth(SigningKeys.in_memory(), grants)
    wire = in_process(
        create_app(registry, auth, grants, engine, **options), auth.issue(user, 1)
    )
    wire.auth = auth
    wire.grants = grants
    wire.engine = engine
    return wire


def talk(address: str) -> socket.socket:
    """Connect to a service, to send what no client would."""
    parts = urlsplit(address)
    return socket.create_connection((parts.hostname, parts.port or 0), timeout=60)


def raw_run(token: str, body: str, *headers: str, length: int | None = None) -> bytes:
    """Return a run request as bytes; `length` is a wrong length of its body."""
    head = [
        f"POST {RUN} HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        *headers,
    ]
    head += [
        f"Authorization: Bearer {token}",
        f"Content-Length: {len(body) if length is None else length}",
    ]
    return "\r\n".join([*head, "", body]).encode()


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def becomes(true: Callable[[], bool], seconds: float = 120) -> bool:
    """Wait until something is true; return whether it was in time."""
    ends = time.monotonic() + seconds
    while not true() and time.monotonic() < ends:
        time.sleep(0.02)
    return true()


def python(code: str, *arguments: str) -> str:
    """Run code in a fresh interpreter and return its output."""
    command = [sys.executable, "-W", "error", "-c", code, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=120
    ).stdout.strip()


def at_once(code: str, path: Path, *arguments: str) -> list[str]:
    """Run code in four interpreters that start at the same moment; return the output of each."""
    command = [
        sys.executable,
        "-W",
        "error",
        "-c",
        code,
        str(path),
        str(time.time() + 1),
        *arguments,
    ]
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    return [process.communicate(timeout=60)[0].strip() for process in processes]


@pytest.fixture(scope="session")
def service() -> Wire:
    """The embedded demo service, in process."""
    embedded = demo.embedded()
    return in_process(embedded.app, embedded.token)


@pytest.fixture(scope="session", params=["in process", "over HTTP"])
def wire(request: pytest.FixtureRequest, service: Wire) -> Iterator[Wire]:
    """The demo service both ways."""
    if request.param == "in process":
        yield service
        return
    with served(demo.embedded().app) as address:
        # A request of its own reads no certificates, of which HTTP needs none.
        transport = functools.partial(
            httpx.AsyncHTTPTransport, verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        )
        yield Wire(transport, address, service.token)


@pytest.fixture(scope="session")
def raw() -> pa.Table:
    """The demo's card spend as stored."""
    return pq.read_table(demo.spend_file())


@pytest.fixture(scope="module")
def before_the_data() -> Iterator[DuckDBEngine]:
    """An engine that hasn't loaded card spend yet."""

    def never() -> Cards:
        raise AssertionError("asked for the card data")

    engine = DuckDBEngine(companies.reference(), never)
    yield engine
    engine.close()


@pytest.fixture
def demo_wire() -> Wire:
    """The demo service with private accounts, which a test may change; `analyst` calls."""
    registry = Registry(demo.published(), author=demo.AUTHOR)
    engine = DuckDBEngine(companies.reference(), demo.cards)
    return serving_to("analyst", Grants(seed=demo.add_accounts), registry, engine)


@pytest.fixture
def publish() -> Callable[..., Wire]:
    """Serve the functions of a test."""

    def serve(*own: PublishedFunction, **options: Any) -> Wire:
        return serving(
            Registry(own, author="t"),
            DuckDBEngine(companies.reference(), demo.cards),
            **options,
        )

    return serve


@pytest.fixture
def serve_rows(tmp_path: Path) -> Callable[..., Wire]:
    """Serve the built-in functions over handmade card spend: tuples in the order of `CARDS`."""

    def serve(
        rows: Sequence[tuple[Any, ...]],
        calendars: dict[str, Any],
        ends: dict[str, str] | None = None,
    ) -> Wire:
        path = tmp_path / "cards.parquet"
        table = pa.Table.from_pylist(
            [dict(zip(CARDS, row, strict=True)) for row in rows], arrow_schema(CARDS)
        )
        pq.write_table(table, path)
        brands = sorted({(row[2], row[1]) for row in rows})
        symbols = sorted({row[1] for row in rows})
        reference = Reference(
            panels=[DataSet("P", "test")],
            companies=[
                Company(symbol, symbol, "", "", (ends or {}).get(symbol, "December"))
                for symbol in symbols
            ],
            brands=[Brand(*brand) for brand in brands],
            kpis=[],
            reports=[],
            calendars=calendars,
        )
        registry = Registry(card_functions.published(reference, asset="a"), author="t")
        return serving(registry, DuckDBEngine(reference, lambda: Cards.parquet(path)))

    return serve
