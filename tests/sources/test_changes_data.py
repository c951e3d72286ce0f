"""A function that changes data is marked everywhere, never cached or repeated by itself, and swept only on request."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import TYPE_CHECKING

import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import jupyter_funcs as jf
from jupyter_funcs.catalog.values import Each
from jupyter_funcs.cli.stubs import stub
from jupyter_funcs.core import background
from tests.conftest import wait_until
from tests.panel.page import Page
from tests.servers import serving
from tests.shells import shell_with
from tests.sources.test_openapi import document, operation, param

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.requests import Request

    from jupyter_funcs.api import Session

ITEM = {
    "type": "object",
    "properties": {"item": {"type": "string"}, "count": {"type": "integer"}},
}
LOOK = operation(
    param("item", description="'orders' lists its values."), operationId="orders"
)
ADD = operation(operationId="create_order", summary="Order an item", body=ITEM)
SHIP = operation(
    param("item", description="Call 'create_order' to get list of items."),
    operationId="ship",
)
PATHS = {"/orders": {"get": LOOK, "post": ADD}, "/ship": {"post": SHIP}}


class Shop:
    """Orders over HTTP: GET lists them, POST adds one; each request is noted."""

    def __init__(self) -> None:
        self.orders: list[str] = []
        self.looks = 0
        self.statuses: list[int] = []
        self.open = threading.Event()
        self.open.set()
        described = Route("/openapi.json", lambda _: JSONResponse(document(PATHS)))
        orders = Route("/orders", self.list_orders, methods=["GET"])
        self.app = Starlette(
            routes=[
                described,
                orders,
                Route("/{rest:path}", self.add, methods=["POST"]),
            ]
        )

    async def list_orders(self, _: Request) -> Response:
        self.looks += 1
        return JSONResponse([{"item": item} for item in self.orders])

    async def add(self, request: Request) -> Response:
        item = json.loads(await request.body() or "{}").get("item", "")
        while item == "held" and not self.open.is_set():
            await asyncio.sleep(0.01)
            if await request.is_disconnected():
                return Response()
        self.orders.append(item)
        if self.statuses:
            return Response(
                status_code=self.statuses.pop(0), headers={"Retry-After": "0"}
            )
        return JSONResponse([{"item": item}])


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Shop, str]]:
    shop = Shop()
    with serving(shop.app) as url:
        yield shop, url


@pytest.fixture
def shop(served: tuple[Shop, str]) -> Shop:
    shop = served[0]
    shop.orders = []
    shop.looks = 0
    shop.statuses = []
    return shop


@pytest.fixture
def funcs(shop: Shop, served: tuple[Shop, str]) -> Iterator[Session]:
    session = jf.connect(f"{served[1]}/openapi.json")
    yield session
    session.close()


def test_it_is_marked_wherever_it_is_shown(funcs: Session) -> None:
    """In the panel beside the name, in describe and find, in signature help, stubs and the tools of an assistant."""
    change = funcs.create_order
    look = funcs.orders
    for function, marked in ((change, True), (look, False)):
        panel = function.panel()
        assert json.loads(panel._view)["function"]["changesData"] is marked
        panel.close()
        described = function.describe()
        assert repr(described).startswith("Changes data.") is marked
        assert described._repr_html_().startswith("Changes data.") is marked
        assert (function.__doc__ or "").startswith("Changes data.") is marked
    descriptions = funcs.find().set_index("name")["description"]
    assert dict(descriptions) == {
        "orders": "",
        "create_order": "Changes data. Order an item",
        "ship": "Changes data.",
    }
    assert "Changes data. Order an item" in stub(funcs)
    with shell_with(funcs) as shell:
        assert repr(shell.run_line_magic("funcs", "describe create_order")).startswith(
            "Changes data."
        )


def test_an_assistant_is_told(funcs: Session) -> None:
    """A tool that changes data is never marked read-only, whatever its other hints."""
    mcp_server = pytest.importorskip(
        "jupyter_funcs.cli.mcp_server", reason="the extra 'mcp' is not installed"
    )
    for reads in (True, False):
        tool = mcp_server.tool(funcs.create_order, reads=reads)
        assert (tool.annotations.read_only_hint, tool.annotations.destructive_hint) == (
            False,
            True,
        )
        assert tool.description.startswith("Changes data.")
        assert (
            mcp_server.tool(funcs.orders, reads=reads).annotations.read_only_hint
            is reads
        )


def test_each_call_is_sent(shop: Shop, funcs: Session) -> None:
    """The option `cache` has no effect on it, unlike on a function that only reads."""
    for _ in range(2):
        funcs.create_order.with_options(cache=True)(item="a")
        funcs.orders.with_options(cache=True)()
    assert (shop.orders, shop.looks) == (["a", "a"], 1)
    runs = funcs.history.runs
    assert [run.in_cache for run in runs] == [False, True, False, True]


def test_each_sweep_sends_each_run(shop: Shop, funcs: Session) -> None:
    """Neither earlier calls nor sweeps replace its runs; a function that only reads takes them from the cache."""
    confirmed = funcs.create_order.with_options(most_runs=3, cache=True, progress=False)
    confirmed(item="a")
    for _ in range(2):
        frame = confirmed.sweep(item=["a", "b"])
        assert frame.attrs["funcs"]["cached"]["runs"] == 0
        funcs.orders.with_options(progress=False).sweep(item=["a", "b"])
    assert sorted(shop.orders) == ["a", "a", "a", "b", "b"]
    assert shop.looks == 2


def test_a_folder_keeps_what_was_done(
    shop: Shop, funcs: Session, tmp_path: Path
) -> None:
    """The same sweep into the same folder runs only what is missing; another folder starts with nothing."""
    for folder, items in (("one", "ab"), ("one", "abc"), ("two", "ab")):
        into = funcs.create_order.with_options(
            to=tmp_path / folder, most_runs=3, progress=False
        )
        assert into.sweep(item=list(items)).count_rows() == len(items)
    assert sorted(shop.orders) == ["a", "a", "b", "b", "c"]


def test_only_the_same_sweep_continues(shop: Shop, funcs: Session) -> None:
    """An interrupted sweep doesn't repeat its runs, and another sweep doesn't reuse them."""
    create = funcs.create_order.with_options(most_runs=3, concurrency=1, progress=False)
    shop.open.clear()
    job = create.start_sweep(item=["a", "held"])
    wait_until(lambda: job.progress.done == 1)
    job.cancel()
    wait_until(job.future.done)
    shop.open.set()
    create.sweep(item=["a", "c"])
    assert sorted(shop.orders) == ["a", "a", "c"]
    create.sweep(item=["a", "held"])
    assert sorted(shop.orders) == ["a", "a", "c", "held"]


def test_what_the_server_refuses_is_not_sent_again(shop: Shop, funcs: Session) -> None:
    """A status 503 fails a run of a sweep at once, since it may have begun."""
    shop.statuses = [503]
    create = funcs.create_order.with_options(most_runs=3, concurrency=1, progress=False)
    with pytest.warns(UserWarning, match="1 of 2 runs of create_order failed"):
        frame = create.sweep(item=["a", "b"])
    assert sorted(shop.orders) == ["a", "b"]
    assert [error["attempts"] for error in frame.attrs["errors"]] == [1]


def test_a_sweep_is_refused_until_it_is_allowed(
    shop: Shop, funcs: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code and magic say how often it would run and how to allow it, without a prompt; a single run just runs."""
    monkeypatch.setattr("builtins.input", pytest.fail)
    error = r"create_order changes data, and this would run it 2 times.\n.*--most-runs 2 or with_options\(most_runs=2\)"
    with pytest.raises(jf.ArgumentError, match=error):
        funcs.create_order.sweep(item=["a", "b"])
    with shell_with(funcs) as shell:
        shell.run_line_magic("funcs", "sweep create_order item=[a,b] --dry-run -o sent")
        assert len(shell.user_ns["sent"]) == 2
        assert not shop.orders
        frame = shell.run_line_magic(
            "funcs", "sweep create_order item=[a,b] --most-runs 2 -q"
        )
        assert len(frame) == 2
        # Its user asks for it.
        assert len(shell.run_line_magic("funcs", "again 1")) == 2
    assert len(funcs.create_order.with_options(progress=False).sweep(item=["c"])) == 1
    assert sorted(shop.orders) == ["a", "a", "b", "b", "c"]


def test_a_panel_asks_with_a_second_press(shop: Shop, funcs: Session) -> None:
    """Every time, since each sweep is another change; failed runs can't be repeated alone."""
    panel = funcs.create_order.panel(item=["a", "b"])
    assert panel.form is not None
    assert isinstance(panel.form["item"], Each)
    page = Page(panel)

    def press(*, confirmed: bool) -> str:
        return str(
            page.ask(
                "run", seq=1, values={"item": {"each": ["a", "b"]}}, confirmed=confirmed
            )["asks"]
        )

    for times in (1, 2):
        assert "This changes data, in 2 runs." in press(confirmed=False)
        assert len(shop.orders) == 2 * (times - 1)
        assert press(confirmed=True) == ""
        panel.result(60)
        assert len(shop.orders) == 2 * times
    panel.close()


def test_nothing_runs_it_to_list_values(shop: Shop, funcs: Session) -> None:
    """A description that names it as the source of options has no effect."""
    panel = funcs.ship.panel()
    field = funcs.ship.fields[0]
    assert field.source == "create_order"
    funcs.ship.learn({})
    choices, missing = background.run(funcs.ship.choices(field, {}))
    assert (list(choices), missing) == ([], [])
    panel.close()
    assert not shop.orders
