"""What the loggers of httpx and httpcore say at INFO and DEBUG: everything but tokens and typed secrets. FAULTS 153."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

import jupyter_funcs as jf
from jupyter_funcs.connection.secrets import Hidden, Secret, mask_logs, redacted_all
from tests.faults.canary import CANARY, leaks
from tests.growth import assert_linear
from tests.servers import serving

if TYPE_CHECKING:
    import io

    from starlette.requests import Request

pytestmark = pytest.mark.fault(153)
TYPED = "typed-by-hand-5f3a9b71"
NAMES = ["api_key", "access_token", "Password", "client-secret", "n", "token_of"]
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "1"},
    "paths": {
        "/items": {
            "get": {
                "operationId": "items",
                "parameters": [
                    {"name": name, "in": "query", "schema": {"type": "string"}}
                    for name in NAMES
                ],
            }
        }
    },
}


async def document(_: Request) -> JSONResponse:
    return JSONResponse(DOCUMENT)


async def items(request: Request) -> JSONResponse:
    return JSONResponse(
        [{"n": 1}], headers={"X-Echo": request.headers.get("authorization", "")}
    )


def test_no_log_holds_a_token_or_a_typed_secret(logged: io.StringIO) -> None:
    """A key in an address is masked by its name; digits, names and the rest of the address stay."""
    with serving(
        Starlette(routes=[Route("/openapi.json", document), Route("/items", items)])
    ) as url:
        shop = jf.connect(f"{url}/openapi.json", token=CANARY)
        arguments = {name: TYPED for name in NAMES if name != "n"}
        assert len(shop.items(n="15", **arguments)) == 1
        shop.close()
    text = logged.getvalue()
    assert f"HTTP Request: GET {url}/items?" in text
    assert "n=15" in text
    assert "receive_response_headers.complete" in text
    assert TYPED not in text
    assert not leaks(text)


@pytest.mark.parametrize(
    "name", ["httpx", "httpx2", "httpcore", "httpcore.http11", "httpcore.connection"]
)
def test_each_logger_masks_what_it_is_given(logged: io.StringIO, name: str) -> None:
    """Also if the secret is in an argument of the message."""
    secret = Secret(CANARY)
    mask_logs()
    logging.getLogger(name).info(
        "line 15 of %s, %d bytes at ?token=%s&n=1", secret.reveal(), 1500, TYPED
    )
    assert logged.getvalue() == "line 15 of ****, 1500 bytes at ?token=****&n=1\n"


def test_a_short_password_is_masked_where_it_is_the_whole_word() -> None:
    """Not in numbers and names, which it would damage."""
    password = Hidden("15ab")
    assert (
        redacted_all(f"{password.reveal()}, '15ab': line 15ab7, x15ab")
        == "****, '****': line 15ab7, x15ab"
    )


def test_a_long_line_takes_linear_time(logged: io.StringIO) -> None:
    """However often it names a secret."""
    mask_logs()
    logger = logging.getLogger("httpx")
    assert_linear(
        lambda words: logger.info("token" * words), most=1_000_000, start=10_000
    )
    assert logged.getvalue()
