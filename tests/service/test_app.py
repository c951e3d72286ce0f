"""The wire: what each request is answered, in process and over HTTP alike (SERVICE.md 1-3, FAULTS.md 107-111)."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
import time
from datetime import date
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx
import pytest

from jupyter_funcs.service.limits import BODY_LIMIT
from jupyter_funcs.service.registry import Function, function

from .conftest import GET_ALL, LIST, RUN, Wire, served

if TYPE_CHECKING:
    from collections.abc import Callable

JSON = {"Content-Type": "application/json"}
PANELS = {"FunctionName": "Get Panels", "Args": {}}


def assert_refused(reply: httpx.Response, status: int) -> dict[str, Any]:
    """Hold an error reply to its shape and give its document."""
    assert reply.status_code == status, reply.text
    document = reply.json()
    assert document["body"] is None
    assert document["error"]
    assert "\n" not in document["error"]
    return document


def test_the_listing_is_a_bare_array(wire: Wire) -> None:
    reply = wire.post(LIST, json={})
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "application/json"
    assert [each["name"] for each in reply.json()] == [
        "Get Panels",
        "Get Universe",
        "Get Panel Dimensions",
        "Get Panel Daily",
        "Get Panel FQ",
        "Get KPIs",
        "Get Report",
    ]


def test_the_listing_needs_no_body_and_has_a_second_address(wire: Wire) -> None:
    assert wire.post(LIST).json() == wire.post(LIST, json={}).json() == wire.request("GET", GET_ALL).json()


def test_a_run_answers_records_as_the_text_of_a_json_document(wire: Wire) -> None:
    reply = wire.post(RUN, json=PANELS)
    assert reply.status_code == 200
    document = reply.json()
    assert document.keys() == {"error", "body"}
    assert document["error"] is None
    assert isinstance(document["body"], str)
    assert [row["PanelName"] for row in json.loads(document["body"])] == ["Demo Card Panel", "Demo Debit Panel"]


@pytest.mark.parametrize(
    "body",
    [
        PANELS | {"BatchId": None},
        PANELS | {"Whatever": {"deep": [1]}},
        {"FunctionName": "Get Panels"},
        {"FunctionName": "Get Panels", "Args": None},
    ],
)
def test_unknown_fields_and_absent_arguments_are_taken(wire: Wire, body: dict[str, Any]) -> None:
    assert wire.post(RUN, json=body).json()["error"] is None


def test_dates_leave_as_iso_text(service: Wire) -> None:
    rows = service.rows("Get Report", report_id="RPT-101", report_time_unit="quarter")
    assert [row["Date"] for row in rows[:2]] == ["2020-10-01", "2021-01-01"]


@pytest.mark.parametrize(("method", "path"), [("POST", LIST), ("POST", RUN), ("GET", GET_ALL)])
@pytest.mark.parametrize("token", [None, "forged", "a.b.c"])
def test_without_a_valid_token_every_address_answers_the_same_401(
    wire: Wire, method: str, path: str, token: str | None
) -> None:
    reply = wire.request(method, path, token=token, content=b"not even JSON" if method == "POST" else None)
    assert_refused(reply, 401)
    assert reply.headers["www-authenticate"] == "Bearer"
    assert reply.content == wire.post(LIST, token=None).content


def test_health_needs_no_token(wire: Wire) -> None:
    reply = wire.request("GET", "/healthz", token=None)
    assert (reply.status_code, reply.json()) == (200, {"status": "ok"})


@pytest.mark.parametrize("name", ["Get Panel", "get panels", "", "x" * 5000, "Get Panels; DROP TABLE cards", "a\nb"])
def test_an_unknown_function_is_404_in_json(wire: Wire, name: str) -> None:
    document = assert_refused(wire.post(RUN, json={"FunctionName": name, "Args": {}}), 404)
    assert "No function '" in document["error"]
    assert len(document["error"]) < 300


def test_an_unknown_function_is_answered_with_the_nearest(service: Wire) -> None:
    assert "Did you mean 'Get Panel Daily'?" in service.call("Get Panel Dayly").json()["error"]


def test_an_unknown_path_is_404_in_plain_text(wire: Wire) -> None:
    reply = wire.post("/api/function/run", json={})
    assert reply.status_code == 404
    assert reply.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(b"", "not JSON", id="empty"),
        pytest.param(b"{'a': 1}", "not JSON", id="not JSON"),
        pytest.param(b'{"FunctionName": "Get Panels"', "not JSON", id="cut"),
        pytest.param(b'{"FunctionName": NaN}', "not JSON", id="NaN"),
        pytest.param(b'{"FunctionName": "\xff"}', "not JSON", id="not UTF-8"),
        pytest.param(b'{"FunctionName": "\\ud800"}', "not JSON", id="lone surrogate"),
        pytest.param(b"[]", "not an object", id="array"),
        pytest.param(b'"text"', "not an object", id="text"),
        pytest.param(b"null", "not an object", id="null"),
        pytest.param(b"[" * 200_000, "too deeply", id="deep arrays"),
        pytest.param(b'{"Args":' * 100_000, "too deeply", id="deep objects"),
        pytest.param(b"{}", "FunctionName", id="no name"),
        pytest.param(b'{"FunctionName": 7}', "FunctionName", id="name is a number"),
        pytest.param(b'{"FunctionName": "Get Panels", "Args": []}', "Args", id="arguments are an array"),
        pytest.param(b'{"FunctionName": "Get Panels", "Args": "x"}', "Args", id="arguments are text"),
    ],
)
def test_a_body_that_is_no_run_is_400(wire: Wire, content: bytes, says: str) -> None:
    assert says in assert_refused(wire.post(RUN, content=content, headers=JSON), 400)["error"]


def test_a_body_over_the_limit_is_413(wire: Wire) -> None:
    padding = " " * (BODY_LIMIT - len(json.dumps(PANELS)))
    assert wire.post(RUN, content=json.dumps(PANELS) + padding, headers=JSON).status_code == 200
    reply = wire.post(RUN, content=json.dumps(PANELS) + padding + " ", headers=JSON)
    assert str(BODY_LIMIT) in assert_refused(reply, 413)["error"]


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""])
@pytest.mark.parametrize("path", [LIST, RUN])
def test_another_content_type_is_415(wire: Wire, path: str, content_type: str) -> None:
    reply = wire.post(path, content=json.dumps(PANELS), headers={"Content-Type": content_type})
    assert "application/json" in assert_refused(reply, 415)["error"]


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "Application/JSON"])
def test_json_may_be_spelt_with_parameters_and_in_any_case(service: Wire, content_type: str) -> None:
    headers = {"Content-Type": content_type}
    assert service.post(RUN, content=json.dumps(PANELS), headers=headers).status_code == 200


def test_wrong_arguments_are_422_and_all_named_at_once(wire: Wire) -> None:
    args = {
        "PanelName": "Demo Crad Panel",
        "Symbol": "NVRA GB EQUITY",
        "Brand": ["Nuvarel", "Fennloft", "?"],
        "PoPGrowth": "maybe",
        "PoPLookback": "abc",
        "Dimensions": ["Region", "Regoin"],
        "Simbol": "x",
    }
    document = assert_refused(wire.call("Get Panel Daily", args), 422)
    said = document["arguments"]
    assert {key: len(texts) for key, texts in said.items()} == dict.fromkeys(args, 1) | {"Brand": 2}
    assert "Did you mean 'Demo Card Panel'? Use function 'Get Panels'" in said["PanelName"][0]
    assert "Did you mean 'NVRA US EQUITY'? Use function 'Get Universe'" in said["Symbol"][0]
    assert "Did you mean 'Nuvarelle'?" in said["Brand"][0]
    assert "'maybe'. Options are 'Yes', 'No'." in said["PoPGrowth"][0]
    assert "'abc'" in said["PoPLookback"][0]
    assert "Did you mean 'Region'? Options are 'Age Group', 'Region', 'Brand'." in said["Dimensions"][0]
    assert "Did you mean 'Symbol'?" in said["Simbol"][0]
    assert all(text in document["error"] for texts in said.values() for text in texts)


@pytest.mark.parametrize("sent", [{}, {"Symbol": "", "Brand": []}, {"Symbol": None, "Brand": None}, {"Brand": [""]}])
@pytest.mark.parametrize("name", ["Get Panel Daily", "Get Panel FQ"])
def test_without_symbol_and_brand_both_are_named(service: Wire, name: str, sent: dict[str, Any]) -> None:
    said = service.errors(name, PanelName="Demo Card Panel", **sent)
    assert said == {"": ["Symbol or Brand is required: give at least one of them."]}


@pytest.mark.parametrize(
    ("name", "args", "key"),
    [
        ("Get Panel Dimensions", {"Dimensions": ["Brand"]}, "PanelName"),
        ("Get Panel Dimensions", {"PanelName": "Demo Card Panel"}, "Dimensions"),
        ("Get Panel Daily", {"Symbol": "NVRA"}, "PanelName"),
        ("Get Panel FQ", {"Symbol": "NVRA"}, "PanelName"),
        ("Get KPIs", {}, "Symbol"),
        ("Get Report", {}, "report_id"),
    ],
)
def test_a_missing_argument_is_named_with_what_it_takes(
    service: Wire, name: str, args: dict[str, Any], key: str
) -> None:
    [(at, [text])] = service.errors(name, **args).items()
    assert at == key
    assert text.startswith(f"{key} is required. ")
    assert "Use function" in text or "Options are" in text


def test_a_hundred_thousand_wrong_values_are_refused_at_once(service: Wire) -> None:
    began = time.monotonic()
    said = service.errors("Get Panel Daily", PanelName="Demo Card Panel", Brand=[f"b{n}" for n in range(100_000)])
    assert len(said["Brand"]) == 11
    many = service.errors("Get Panels", **{f"a{n}": "" for n in range(50_000)})
    assert len(many) == 20
    assert time.monotonic() - began < 5


def published(name: str, run: Callable[[], Any]) -> Function:
    def python() -> Any:
        """Do what the test wants."""
        return run()

    return function(asset="a", name=name)(python)


def test_a_function_that_fails_answers_200_with_its_error_and_leaves_its_trace_in_the_log(
    publish: Callable[..., Wire], caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise ZeroDivisionError("no data\nin the second line")

    with caplog.at_level(logging.ERROR, "jupyter_funcs.service"):
        reply = publish(published("Fails", fail)).call("Fails")
    assert reply.status_code == 200
    assert reply.json() == {"error": "Fails failed: no data", "body": None}
    [said] = caplog.messages
    assert "in fail\n" in said
    assert said.endswith("ZeroDivisionError: no data in the second line")


@pytest.mark.parametrize(
    ("result", "body"),
    [([{"when": date(2025, 1, 2), "n": 2**70, "x": float("nan")}], [{"when": "2025-01-02", "n": 2**70, "x": None}])],
)
def test_a_function_may_return_records(publish: Callable[..., Wire], result: Any, body: Any) -> None:
    assert publish(published("Records", lambda: result)).rows("Records") == body


def test_a_result_that_is_no_json_is_the_functions_failure(publish: Callable[..., Wire]) -> None:
    document = publish(published("Odd", object)).call("Odd").json()
    assert document["error"].startswith("Odd failed: ")


def test_a_slow_function_does_not_block_the_others(publish: Callable[..., Wire]) -> None:
    wait = threading.Event()
    wire = publish(published("Slow", lambda: wait.wait(10)), published("Quick", list))

    async def both() -> list[str]:
        async with httpx.AsyncClient(transport=wire.transport(), base_url="http://localhost") as client:
            order: list[str] = []

            async def call(name: str) -> None:
                headers = {"Authorization": f"Bearer {wire.token}"}
                await client.post(RUN, json={"FunctionName": name}, headers=headers)
                order.append(name)

            slow = asyncio.create_task(call("Slow"))
            await asyncio.sleep(0.05)
            await call("Quick")
            wait.set()
            await slow
            return order

    assert asyncio.run(both()) == ["Quick", "Slow"]


class Endless:
    """A function whose query takes long, though not for ever, and what became of it."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.ended = threading.Event()

    def publish(self) -> Function:
        def python(call: Any) -> Any:
            """Join every row with some thousands."""
            cards = call.table("cards")
            pairs = cards.cross_join(cards.view().limit(2000))
            self.begun.set()
            try:
                call.fetch(pairs.agg(n=(pairs.spend_cents % pairs.cards_right).sum()))
            finally:
                self.ended.set()

        return function(asset="a", name="Endless")(python)

    def runs(self) -> bool:
        """Wait until the query is under way."""
        return self.begun.wait(20) and not self.ended.wait(0.3)


def test_cancelling_the_request_in_process_interrupts_its_query(publish: Callable[..., Wire]) -> None:
    endless = Endless()
    wire = publish(endless.publish(), published("Quick", list))

    async def cancel() -> float:
        async with httpx.AsyncClient(transport=wire.transport(), base_url="http://localhost", timeout=60) as client:
            headers = {"Authorization": f"Bearer {wire.token}"}
            task = asyncio.create_task(client.post(RUN, json={"FunctionName": "Endless"}, headers=headers))
            assert await asyncio.to_thread(endless.runs)
            began = time.monotonic()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return time.monotonic() - began

    assert asyncio.run(cancel()) < 0.5
    assert endless.ended.wait(1)
    assert wire.rows("Quick") == []


def test_a_caller_that_hangs_up_interrupts_its_query(publish: Callable[..., Wire]) -> None:
    endless = Endless()
    wire = publish(endless.publish())
    with served(wire.transport().app) as address:  # type: ignore[attr-defined]
        body = json.dumps({"FunctionName": "Endless"})
        head = (
            f"POST {RUN} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {wire.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection((urlsplit(address).hostname, urlsplit(address).port or 0)) as connection:
            connection.sendall((head + body).encode())
            assert endless.runs()
        assert endless.ended.wait(2)
