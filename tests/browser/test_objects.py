"""Objects and lists of objects in a panel: its page in a browser, and a server on the wire."""

from __future__ import annotations

import functools
import http.server
import json
import threading
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

import jupyter_funcs as jf
from jupyter_funcs.core import background
from tests.browser.steps import at, look
from tests.browser.test_stage import PANEL
from tests.servers import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Page
    from starlette.requests import Request

    from jupyter_funcs.panel.panel import Panel

pytestmark = pytest.mark.slow

TEXT = {"type": "string"}
CUSTOMER = {
    "type": "object",
    "description": "Who orders, and who pays.",
    "required": ["name", "email"],
    "properties": {
        "id": {"type": "integer", "readOnly": True},
        "name": TEXT | {"description": "The full name."},
        "email": TEXT | {"minLength": 3},
        "age": {"type": "integer", "minimum": 18},
        "newsletter": {"type": "boolean"},
        "address": {
            "type": "object",
            "required": ["city"],
            "properties": {
                "street": TEXT,
                "city": TEXT,
                "country": {"enum": ["DE", "IT", "NO"]},
            },
        },
    },
}
ITEM = {
    "type": "object",
    "required": ["sku"],
    "properties": {
        "sku": TEXT,
        "count": {"type": "integer", "minimum": 1, "default": 1},
        "gift": {"type": "boolean"},
    },
}
PAYMENT = {
    "oneOf": [
        {
            "type": "object",
            "required": ["kind", "number"],
            "properties": {"kind": {"const": "card"}, "number": TEXT},
        },
        {
            "type": "object",
            "required": ["kind", "iban"],
            "properties": {"kind": {"const": "transfer"}, "iban": TEXT},
        },
    ]
}
ORDER = {
    "type": "object",
    "required": ["customer"],
    "properties": {
        "customer": CUSTOMER,
        "items": {"type": "array", "items": ITEM, "description": "What is ordered."},
        "shipping": CUSTOMER["properties"]["address"],
        "payment": PAYMENT,
        "note": TEXT,
    },
}
# The page's half of a comm: what the panel's traits are, and what it answers.
BRIDGE = """async () => {
    const { default: panel } = await import('../../static/panel.js');
    const traits = await kernelTraits(), heard = {};
    const tell = (event, ...args) => [...(heard[event] ?? [])].forEach(callback => callback(...args));
    const take = ({ traits: now, replies }) => {
        for (const [name, text] of Object.entries(now)) {
            if (traits[name] === text) continue;
            traits[name] = text;
            tell(`change:${name}`);
        }
        replies.forEach(reply => tell('msg:custom', reply));
    };
    const model = {
        get: name => traits[name],
        on: (event, callback) => (heard[event] ??= []).push(callback),
        off: (event, callback) => heard[event] = (heard[event] ?? []).filter(each => each !== callback),
        send: content => void kernelAsk(JSON.stringify(content)).then(take),
    };
    setInterval(async () => take(await kernelAsk('')), 200);
    document.body.innerHTML = '<main id="live" style="width: 1000px"></main>';
    panel.render({ model, el: document.getElementById('live') });
}"""


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def pages() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(_Quiet, directory=PANEL)
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/front/test/stage.html#state=form"
        server.shutdown()


def document(_request: Request) -> JSONResponse:
    body = {"content": {"application/json": {"schema": ORDER}}, "required": True}
    operation = {
        "operationId": "order",
        "summary": "Order items.",
        "requestBody": body,
        "responses": {"200": {}},
    }
    return JSONResponse({"openapi": "3.1.0", "paths": {"/orders": {"post": operation}}})


@pytest.fixture
def sent() -> list[Any]:
    return []


@pytest.fixture
def panel(sent: list[Any]) -> Iterator[Panel]:
    async def order(request: Request) -> JSONResponse:
        sent.append(await request.json())
        return JSONResponse([{"order": 1}])

    app = Starlette(
        routes=[
            Route("/openapi.json", document),
            Route("/orders", order, methods=["POST"]),
        ]
    )
    with serving(app) as url:
        session = jf.connect(f"{url}/openapi.json")
        panel = session.panel("order")
        yield panel
        panel.close()
        session.close()


@pytest.fixture
def live(panel: Panel, page: Page, pages: str) -> Page:
    """A page with the panel on it."""
    replies: list[Any] = []
    panel.send = lambda content, _=None: replies.append(content)

    def traits() -> dict[str, str]:
        names = (
            "_view",
            "_service",
            "_options",
            "_values",
            "_long",
            "_run",
            "_result",
            "_tab",
        )
        return {name: getattr(panel, name) for name in names}

    def ask(text: str) -> dict[str, Any]:
        if text:
            background.run(panel._answer(json.loads(text)))
        told = [*replies]
        replies.clear()
        return {"traits": traits(), "replies": told}

    page.expose_function("kernelTraits", traits)
    page.expose_function("kernelAsk", ask)
    page.set_viewport_size({"width": 1040, "height": 900})
    page.goto(pages)
    page.wait_for_selector("body[data-ready]")
    page.evaluate(BRIDGE)
    expect(at(page, "field:customer")).to_be_visible()
    return page


def fill(page: Page, **texts: str) -> None:
    for name, text in texts.items():
        at(page, f"field:{name}").locator("input").first.fill(text)


def test_an_order_is_filled_in_part_by_part(
    live: Page, panel: Panel, sent: list[Any], findings: Callable[..., list[str]]
) -> None:
    """Errors are at the part; what is optional and empty is folded and isn't sent; rows are added and removed."""
    shipping = at(live, "open:shipping")
    expect(shipping).to_have_attribute("aria-expanded", "false")
    expect(at(live, "open:customer")).to_have_attribute("aria-expanded", "true")
    look(live, "objects-empty")
    at(live, "run").press("Enter")
    for name in ("customer.name", "customer.email"):
        expect(at(live, f"error:{name}")).to_have_text("Required")
    expect(at(live, "field:customer.name").locator("input")).to_be_focused()
    expect(at(live, "reason")).to_contain_text("Missing: Name, Email")
    look(live, "objects-missing")
    fill(
        live,
        **{
            "customer.name": "Ann",
            "customer.email": "ann@shop.example",
            "customer.age": "17",
        },
    )
    expect(at(live, "error:customer.age")).to_contain_text("18")
    fill(live, **{"customer.age": "44"})
    at(live, "value:customer.newsletter:Yes").click()

    at(live, "open:items").press("Enter")
    at(live, "add:items").press("Enter")
    expect(at(live, "field:items.0.sku").locator("input")).to_be_focused()
    live.keyboard.type("A-1")
    at(live, "add:items").click()
    fill(live, **{"items.1.sku": "B-2", "items.1.count": "3"})
    expect(at(live, "field:items.0.sku").locator("input")).to_have_value("A-1")
    look(live, "objects-filled")
    assert findings(live) == []
    live.evaluate("document.body.dataset.jpThemeLight = 'false'")
    live.wait_for_timeout(300)
    look(live, "objects-filled-dark")
    assert findings(live) == []
    at(live, "remove-row:items.0").click()
    expect(at(live, "field:items.0.sku").locator("input")).to_have_value("B-2")
    expect(at(live, "row:items.1")).to_have_count(0)

    at(live, "run").press("Enter")
    live.wait_for_selector('[data-jf="panel"][data-state="done"]')
    customer = {
        "name": "Ann",
        "email": "ann@shop.example",
        "age": 44,
        "newsletter": True,
    }
    assert sent == [{"customer": customer, "items": [{"sku": "B-2", "count": 3}]}]


def test_a_union_begins_with_what_it_requires(
    live: Page, panel: Panel, findings: Callable[..., list[str]]
) -> None:
    """It isn't a value until it is changed; the help shows the schema, and never that nothing is known."""
    at(live, "more-options").click() if at(live, "more-options").count() else None
    box = at(live, "field:payment").locator("textarea")
    box.focus()
    expect(box).to_have_value('{\n  "kind": "card",\n  "number": ""\n}')
    live.keyboard.press("Shift+Tab")
    assert panel.form is not None
    assert panel.form.args == {}
    box.focus()
    expect(box).not_to_have_value("")
    box.fill('{"kind": "transfer", "iban": "DE1"}')
    at(live, "help:payment").click()
    expect(live.locator(".jf-infopop pre")).to_contain_text('"iban"')
    look(live, "objects-union")
    live.keyboard.press("Escape")
    for name in ("payment", "customer", "note", "items"):
        at(live, f"field:{name}").locator(".jf-label").first.hover()
        at(live, f"help:{name}").click()
        expect(live.locator(".jf-infopop")).not_to_contain_text("says nothing")
        live.keyboard.press("Escape")
    assert panel.form.args["payment"] == {"kind": "transfer", "iban": "DE1"}
