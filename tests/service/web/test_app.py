"""The wire: the reply to each request, the same in process and over HTTP (SERVICE.md 1-3, FAULTS.md 107-111)."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import json
import math
import threading
from collections import Counter
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

import httpx
import pyarrow as pa
import pytest
from jsonschema import Draft202012Validator

from jupyter_funcs.core.text import quoted_list
from jupyter_funcs.functions.markers import ListedBy
from jupyter_funcs.service.accounts.grants import Grants
from jupyter_funcs.service.builtin import card_functions, companies, demo
from jupyter_funcs.service.engine.duckdb_engine import DuckDBEngine
from jupyter_funcs.service.publishing.registry import Registry, function
from jupyter_funcs.service.publishing.results import ReplyContent
from jupyter_funcs.service.web.app import _Replies
from jupyter_funcs.service.web.middleware import ARROW, BODY_LIMIT
from jupyter_funcs.service.web.runs import Limits
from tests.examples import row_id
from tests.service.conftest import (
    GET_ALL,
    JSON,
    LIST,
    LOGIN,
    PANELS,
    RUN,
    Wire,
    assert_refused,
    published,
    raw_run,
    served,
    serving,
    serving_to,
    talk,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_the_listing_is_a_bare_array(wire: Wire) -> None:
    reply = wire.post(LIST, json={})
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "application/json"
    assert [entry["name"] for entry in reply.json()] == [
        "Get Panels",
        "Get Universe",
        "Get Panel Dimensions",
        "Get Panel Daily",
        "Get Panel FQ",
        "Get KPIs",
        "Get Report",
    ]


def test_every_parameter_declares_a_schema_that_its_default_and_options_satisfy(
    wire: Wire,
) -> None:
    """Whatever a description states as options, bounds, default or format is in the schema."""
    for param in (
        parameter for entry in wire.post(LIST).json() for parameter in entry["params"]
    ):
        schema = param["schema"]
        text = param["description"]
        Draft202012Validator.check_schema(schema)
        valid = Draft202012Validator(schema).is_valid
        kind = schema.get("anyOf", [schema])[0]
        item = kind.get("items", kind)
        options = item.get("enum", [])
        assert all(valid([option] if "items" in kind else option) for option in options)
        assert (
            (f"Options are {quoted_list(options)}." in text)
            if options
            else ("Options are" not in text)
        )
        assert ("default" in schema) == ("defaults to" in text)
        assert "default" not in schema or (
            valid(schema["default"]) and f"defaults to '{schema['default']}'" in text
        )
        bounds = [item.get(name) for name in ("minimum", "maximum")]
        assert (bounds == [1, 50]) == ("at least 1 and at most 50" in text)
        assert (item.get("format") == "date") == ("Format is YYYY-MM-DD." in text)
        assert {0: "string", 1: "integer", 4: "array", 6: "string", 8: "string"}[
            param["type"]
        ] == kind["type"]


def test_the_listing_needs_no_body_and_has_a_second_address(wire: Wire) -> None:
    assert (
        wire.post(LIST).json()
        == wire.post(LIST, json={}).json()
        == wire.request("GET", GET_ALL).json()
    )


@pytest.mark.parametrize(("method", "path"), [("POST", LIST), ("GET", GET_ALL)])
def test_a_listing_that_the_caller_has_is_not_sent_again(
    wire: Wire, method: str, path: str
) -> None:
    reply = wire.request(method, path)
    tag = reply.headers["etag"]
    for tags in (tag, f'"other", {tag}'):
        again = wire.request(method, path, headers={"If-None-Match": tags})
        assert again.status_code == 304
        assert not again.content
        assert again.headers["etag"] == tag
    other = wire.request(method, path, headers={"If-None-Match": '"other"'})
    assert other.json() == reply.json()
    refused = wire.request(method, path, headers={"If-None-Match": tag}, token=None)
    assert refused.status_code == 401


@pytest.mark.slow
def test_a_listing_is_compressed_for_those_who_ask_for_it(
    publish: Callable[..., Wire],
) -> None:
    """2,000 functions are 3 MB of text, and at most 250 kB on the wire."""
    built_in = card_functions.published(companies.reference(), asset="a")
    copies = itertools.product(range(2000), built_in)
    functions = [
        dataclasses.replace(function, name=f"{function.name} {number}")
        for number, function in itertools.islice(copies, 2000)
    ]
    wire = publish(*functions)
    replies = {
        accepted: wire.post(LIST, headers={"Accept-Encoding": accepted})
        for accepted in ("gzip", "identity", "br, gzip;q=0")
    }
    sizes = {
        accepted: int(reply.headers["content-length"])
        for accepted, reply in replies.items()
    }
    assert sizes["gzip"] <= 250_000
    assert sizes["identity"] == sizes["br, gzip;q=0"] > 3_000_000
    texts = {reply.text for reply in replies.values()}
    assert len(texts) == 1
    assert {reply.headers["etag"] for reply in replies.values()} == {
        replies["gzip"].headers["etag"]
    }


def test_a_run_answers_records_as_the_text_of_a_json_document(wire: Wire) -> None:
    reply = wire.post(RUN, json=PANELS)
    assert reply.status_code == 200
    document = reply.json()
    assert document.keys() == {"error", "body"}
    assert document["error"] is None
    assert isinstance(document["body"], str)
    assert [row["PanelName"] for row in json.loads(document["body"])] == [
        "Demo Card Panel",
        "Demo Debit Panel",
    ]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(PANELS | {"BatchId": None}, id="a null field"),
        pytest.param(PANELS | {"Whatever": {"deep": [1]}}, id="a deep field"),
        pytest.param({"FunctionName": "Get Panels"}, id="no arguments"),
        pytest.param({"FunctionName": "Get Panels", "Args": None}, id="null arguments"),
    ],
)
def test_unknown_fields_and_absent_arguments_are_taken(
    wire: Wire, body: dict[str, Any]
) -> None:
    assert wire.post(RUN, json=body).json()["error"] is None


def test_dates_leave_as_iso_text(service: Wire) -> None:
    rows = service.rows("Get Report", report_id="RPT-101", report_time_unit="quarter")
    assert [row["Date"] for row in rows[:2]] == ["2020-10-01", "2021-01-01"]


@pytest.mark.parametrize(
    ("method", "path"), [("POST", LIST), ("POST", RUN), ("GET", GET_ALL)]
)
@pytest.mark.parametrize("token", [None, "forged", "a.b.c"])
def test_without_a_valid_token_every_address_answers_the_same_401(
    wire: Wire, method: str, path: str, token: str | None
) -> None:
    reply = wire.request(
        method,
        path,
        token=token,
        content=b"not even JSON" if method == "POST" else None,
    )
    assert_refused(reply, 401)
    assert reply.headers["www-authenticate"] == "Bearer"
    assert reply.content == wire.post(LIST, token=None).content


def test_health_needs_no_token(wire: Wire) -> None:
    reply = wire.request("GET", "/healthz", token=None)
    assert (reply.status_code, reply.json()) == (200, {"status": "ok"})


@pytest.mark.parametrize(
    "name",
    ["Get Panel", "get panels", "", "x" * 5000, "Get Panels; DROP TABLE cards", "a\nb"],
    ids=row_id,
)
def test_an_unknown_function_is_404_in_json(wire: Wire, name: str) -> None:
    document = assert_refused(
        wire.post(RUN, json={"FunctionName": name, "Args": {}}), 404
    )
    assert "No function '" in document["error"]
    assert len(document["error"]) < 300


def test_an_unknown_function_is_answered_with_the_nearest(service: Wire) -> None:
    assert (
        "Did you mean 'Get Panel Daily'?"
        in service.call("Get Panel Dayly").json()["error"]
    )


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
        pytest.param(
            b'{"FunctionName": "Get Panels", "FunctionName": "Get KPIs"}',
            "twice",
            id="repeated key",
        ),
        pytest.param(
            b'{"FunctionName": "a", "Args": {"x": 1, "x": 2}}',
            "twice",
            id="repeated argument",
        ),
        pytest.param(
            b'{"FunctionName": "a", "Args": {"x": 1e999}}',
            "not JSON",
            id="beyond floats",
        ),
        pytest.param(b'{"a": ' + b"9" * 5000 + b"}", "not JSON", id="beyond integers"),
        pytest.param(b"\xff\xfe{\x00}\x00", "not JSON", id="UTF-16"),
        pytest.param(b"\xef\xbb\xbf{}", "not JSON", id="byte order mark"),
        pytest.param(b"[]", "not an object", id="array"),
        pytest.param(b'"text"', "not an object", id="text"),
        pytest.param(b"null", "not an object", id="null"),
        pytest.param(b"[" * 200_000, "too deeply", id="deep arrays"),
        pytest.param(b'{"Args":' * 100_000, "too deeply", id="deep objects"),
        pytest.param(b"{}", "FunctionName", id="no name"),
        pytest.param(b'{"FunctionName": 7}', "FunctionName", id="name is a number"),
        pytest.param(
            b'{"FunctionName": "Get Panels", "args": {"x": "1"}}',
            "'args' is not known. Send the arguments in Args.",
            id="misspelt arguments",
        ),
        pytest.param(
            b'{"FunctionName": "Get Panels", "Args": []}',
            "Args",
            id="arguments are an array",
        ),
        pytest.param(
            b'{"FunctionName": "Get Panels", "Args": "x"}',
            "Args",
            id="arguments are text",
        ),
    ],
)
def test_a_body_that_is_not_a_run_is_400(wire: Wire, content: bytes, says: str) -> None:
    """FAULTS.md 111."""
    assert (
        says
        in assert_refused(wire.post(RUN, content=content, headers=JSON), 400)["error"]
    )


@pytest.mark.fault(133)
@pytest.mark.parametrize("item", ["[]", "{}"])
def test_a_body_of_a_great_many_lists_is_refused_before_they_are_made(
    wire: Wire, item: str
) -> None:
    reply = wire.post(
        LOGIN,
        token=None,
        content=f'{{"a": [{",".join([item] * 20_000)}]}}',
        headers=JSON,
    )
    assert "brackets" in assert_refused(reply, 400)["error"]
    assert wire.call("Get Panels", {"x": ["y"] * 50_000}).status_code == 422


def test_a_body_over_the_limit_is_413(wire: Wire) -> None:
    """FAULTS.md 111."""
    padding = " " * (BODY_LIMIT - len(json.dumps(PANELS)))
    assert (
        wire.post(RUN, content=json.dumps(PANELS) + padding, headers=JSON).status_code
        == 200
    )
    reply = wire.post(RUN, content=json.dumps(PANELS) + padding + " ", headers=JSON)
    assert str(BODY_LIMIT) in assert_refused(reply, 413)["error"]


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""],
    ids=row_id,
)
@pytest.mark.parametrize("path", [LIST, RUN])
def test_another_content_type_is_415(wire: Wire, path: str, content_type: str) -> None:
    reply = wire.post(
        path, content=json.dumps(PANELS), headers={"Content-Type": content_type}
    )
    assert "application/json" in assert_refused(reply, 415)["error"]


@pytest.mark.parametrize(
    "content_type", ["application/json; charset=utf-8", "Application/JSON"]
)
def test_json_may_be_spelt_with_parameters_and_in_any_case(
    service: Wire, content_type: str
) -> None:
    headers = {"Content-Type": content_type}
    assert (
        service.post(RUN, content=json.dumps(PANELS), headers=headers).status_code
        == 200
    )


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
    errors = document["arguments"]
    assert {key: len(texts) for key, texts in errors.items()} == dict.fromkeys(
        args, 1
    ) | {"Brand": 2}
    assert (
        "Did you mean 'Demo Card Panel'? Use function 'Get Panels'"
        in errors["PanelName"][0]
    )
    assert (
        "Did you mean 'NVRA US EQUITY'? Use function 'Get Universe'"
        in errors["Symbol"][0]
    )
    assert "Did you mean 'Nuvarelle'?" in errors["Brand"][0]
    assert "'maybe'. Options are 'Yes', 'No'." in errors["PoPGrowth"][0]
    assert "'abc'" in errors["PoPLookback"][0]
    assert (
        "Did you mean 'Region'? Options are 'Age Group', 'Region', 'Brand'."
        in errors["Dimensions"][0]
    )
    assert "Did you mean 'Symbol'?" in errors["Simbol"][0]
    assert all(text in document["error"] for texts in errors.values() for text in texts)


@pytest.mark.parametrize(
    "sent",
    [{}, {"Symbol": "", "Brand": []}, {"Symbol": None, "Brand": None}, {"Brand": [""]}],
    ids=row_id,
)
@pytest.mark.parametrize("name", ["Get Panel Daily", "Get Panel FQ"])
def test_without_symbol_and_brand_both_are_named(
    service: Wire, name: str, sent: dict[str, Any]
) -> None:
    errors = service.errors(name, PanelName="Demo Card Panel", **sent)
    assert errors == {"": ["Symbol or Brand is required."]}


MISSING = [
    ("Get Panel Dimensions", {"Dimensions": ["Brand"]}, "PanelName"),
    ("Get Panel Dimensions", {"PanelName": "Demo Card Panel"}, "Dimensions"),
    ("Get Panel Daily", {"Symbol": "NVRA"}, "PanelName"),
    ("Get Panel FQ", {"Symbol": "NVRA"}, "PanelName"),
    ("Get KPIs", {}, "Symbol"),
    ("Get Report", {}, "report_id"),
]


@pytest.mark.parametrize(
    ("name", "args", "key"),
    MISSING,
    ids=[f"{name} without {key}" for name, _, key in MISSING],
)
def test_a_missing_argument_is_named_with_what_it_takes(
    service: Wire, name: str, args: dict[str, Any], key: str
) -> None:
    [(at, [text])] = service.errors(name, **args).items()
    assert at == key
    assert text.startswith(f"{key} is required. ")
    assert "Use function" in text or "Options are" in text


@pytest.mark.slow
@pytest.mark.usefixtures("no_hang")
def test_a_hundred_thousand_wrong_values_are_refused_with_a_few_texts(
    service: Wire,
) -> None:
    """Each is checked once, and only the few in the message get a suggestion; otherwise this takes hours."""
    errors = service.errors(
        "Get Panel Daily",
        PanelName="Demo Card Panel",
        Brand=[f"b{n}" for n in range(100_000)],
    )
    assert len(errors["Brand"]) == 11
    many = service.errors("Get Panels", **{f"a{n}": "" for n in range(50_000)})
    assert len(many) == 20


def test_a_slow_function_does_not_block_the_others(
    publish: Callable[..., Wire],
) -> None:
    wait = threading.Event()
    wire = publish(published("Slow", lambda: wait.wait(60)), published("Quick", list))

    async def both() -> list[str]:
        async with wire.client() as client:
            order: list[str] = []

            async def call(name: str) -> None:
                await client.post(RUN, json={"FunctionName": name})
                order.append(name)

            slow = asyncio.create_task(call("Slow"))
            await asyncio.sleep(0.05)
            await call("Quick")
            wait.set()
            await slow
            return order

    assert asyncio.run(both()) == ["Quick", "Slow"]


METHODS = [
    ("GET", RUN, {"POST"}),
    ("HEAD", LIST, {"POST"}),
    ("OPTIONS", RUN, {"POST"}),
    ("PUT", LIST, {"POST"}),
    ("DELETE", "/healthz", {"GET", "HEAD"}),
    ("POST", GET_ALL, {"GET", "HEAD"}),
    ("PATCH", "/openapi.json", {"GET", "HEAD"}),
    ("GET", LOGIN, {"POST"}),
]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    METHODS,
    ids=[f"{method} {path}" for method, path, _ in METHODS],
)
def test_another_method_is_405_and_the_answer_says_which_there_are(
    wire: Wire, method: str, path: str, allowed: set[str]
) -> None:
    reply = wire.request(method, path)
    assert reply.status_code == 405
    assert set(reply.headers["allow"].split(", ")) == allowed
    if method != "HEAD":
        assert path in assert_refused(reply, 405)["error"]


@pytest.mark.parametrize("path", ["/healthz", GET_ALL, "/openapi.json"])
def test_head_is_get_without_its_body(wire: Wire, path: str) -> None:
    reply = wire.request("HEAD", path)
    assert reply.status_code == 200
    whole = wire.request("GET", path)
    assert reply.headers["content-length"] == whole.headers["content-length"]
    assert whole.content


def test_each_user_lists_and_runs_the_functions_of_their_assets(
    demo_wire: Wire,
) -> None:
    guest = demo_wire.auth.issue("guest", 1)
    names = {
        user: {entry["name"] for entry in demo_wire.post(LIST, token=token).json()}
        for user, token in (("analyst", ""), ("guest", guest))
    }
    assert names["analyst"] - names["guest"] == {"Get Report"}
    assert names["guest"] < names["analyst"]
    report = {
        "FunctionName": "Get Report",
        "Args": {"report_id": "RPT-101", "report_time_unit": "quarter"},
    }
    assert demo_wire.post(RUN, json=report).status_code == 200
    assert_refused(demo_wire.post(RUN, json=report, token=guest), 404)


@pytest.mark.parametrize(
    "args", [{}, {"report_id": "RPT-101"}, {"nonsense": 1}], ids=row_id
)
def test_another_users_function_is_the_same_404_as_one_that_does_not_exist(
    demo_wire: Wire, args: dict[str, Any]
) -> None:
    """FAULTS.md 110: only the name that the caller sent differs."""
    guest = demo_wire.auth.issue("guest", 1)
    theirs, nobodys = (
        demo_wire.post(
            RUN,
            json={"FunctionName": name, "Args": args},
            token=guest,
            headers={"X-Request-Id": "r"},
        )
        for name in ("Get Report", "Get Rxport")
    )
    assert theirs.status_code == nobodys.status_code == 404
    assert theirs.content.replace(b"Get Report", b"Get Rxport") == nobodys.content
    assert theirs.headers == nobodys.headers


def test_what_an_operator_changes_shows_in_the_next_request(demo_wire: Wire) -> None:
    guest = demo_wire.auth.issue("guest", 1)
    before = len(demo_wire.post(LIST, token=guest).json())
    demo_wire.grants.grant("guest", "Demo reports")
    assert len(demo_wire.post(LIST, token=guest).json()) == before + 1
    demo_wire.grants.revoke("guest", is_disabled=True)
    assert (
        demo_wire.post(LIST, token=guest).content
        == demo_wire.post(LIST, token=None).content
    )


def test_an_api_key_takes_the_place_of_a_token(demo_wire: Wire) -> None:
    key = demo_wire.grants.add_key("guest")
    reply = demo_wire.post(LIST, token=None, headers={"X-Api-Key": key})
    assert len(reply.json()) == 6
    assert_refused(
        demo_wire.post(LIST, token=None, headers={"X-Api-Key": key + "x"}), 401
    )
    # A token of one user with the key of another is refused.
    assert_refused(demo_wire.post(LIST, headers={"X-Api-Key": key}), 401)


ACCEPTED = {
    None: False,
    "*/*": False,
    "application/*": False,
    "application/json": False,
    ARROW: True,
    ARROW.upper(): True,
    f"{ARROW}, */*": True,
    f"text/html, {ARROW};q=0.5": True,
    f"{ARROW}, application/json;q=0.9": False,  # either, and few rows are JSON
    f"{ARROW};q=0.5, application/json;q=0.9": False,
    f"{ARROW}, application/json": False,
    f"{ARROW};q=0": False,
    f"{ARROW};q=nonsense": False,
    f"{ARROW};q=0.3, application/json;q=0, */*;q=0.9": True,
    f"{ARROW};q=0.5, */*": True,
    "application/json;q=0.5, */*": False,
}


@pytest.mark.parametrize(
    ("accept", "is_arrow"), ACCEPTED.items(), ids=map(row_id, ACCEPTED)
)
def test_the_form_of_a_result_is_the_one_that_accept_prefers(
    service: Wire, accept: str | None, is_arrow: bool
) -> None:
    headers = {"Accept": accept} if accept else {}
    reply = service.post(RUN, json=PANELS, headers=headers)
    assert reply.headers["content-type"] == (ARROW if is_arrow else "application/json")


@pytest.mark.slow
def test_an_arrow_stream_holds_what_the_records_say(wire: Wire) -> None:
    args = {
        "PanelName": "Demo Card Panel",
        "Symbol": "NVRA US EQUITY",
        "PoPGrowth": "Yes",
        "Dimensions": ["Region"],
    }
    reply = wire.post(
        RUN,
        json={"FunctionName": "Get Panel Daily", "Args": args},
        headers={"Accept": ARROW},
    )
    assert reply.status_code == 200
    table = pa.ipc.open_stream(reply.content).read_all()
    assert pa.types.is_date(table.schema.field("Date").type)
    records = json.loads(json.dumps(table.to_pylist(), default=str))
    assert records == wire.rows("Get Panel Daily", **args)


@pytest.mark.parametrize(
    "result",
    [7, "text", None, 1.5, date(2025, 1, 2), [{"x": 1}, {"x": "no one type"}]],
    ids=row_id,
)
def test_what_is_not_a_table_stays_json(
    publish: Callable[..., Wire], result: Any
) -> None:
    reply = publish(published("F", lambda: result)).post(
        RUN, json={"FunctionName": "F"}, headers={"Accept": ARROW}
    )
    assert json.loads(reply.json()["body"]) == (
        result.isoformat() if isinstance(result, date) else result
    )


def test_a_failure_stays_json_where_arrow_is_preferred(service: Wire) -> None:
    headers = {"Accept": ARROW}
    assert_refused(
        service.post(RUN, json={"FunctionName": "Get KPIs"}, headers=headers), 422
    )
    assert_refused(service.post(RUN, json={"FunctionName": "?"}, headers=headers), 404)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (SystemExit(3), "It called sys.exit(3)."),
        (SystemExit(), "It called sys.exit()."),
        (KeyboardInterrupt(), ""),
        (MemoryError(), ""),
        (RecursionError("deep"), "deep"),
    ],
    ids=row_id,
)
def test_a_function_cannot_take_the_service_along(
    publish: Callable[..., Wire], error: BaseException, says: str
) -> None:
    def fail() -> None:
        raise error

    wire = publish(published("Fails", fail), published("Quick", list))
    assert wire.call("Fails").json()["error"].startswith(f"Fails failed: {says}")
    assert wire.rows("Quick") == []


def test_a_query_over_the_memory_limit_is_500_with_a_message_and_the_service_keeps_working(
    publish: Callable[..., Wire],
) -> None:
    """FAULTS.md 116."""

    def greedy(call: Any) -> Any:
        """Sort pairs of every row with a few others."""
        cards = call.table("cards")
        pairs = cards.cross_join(cards.view().limit(200))
        return pairs.mutate(x=pairs.spend_cents * pairs.cards_right).order_by("x")

    engine = DuckDBEngine(companies.reference(), demo.cards, memory_limit=10**8)
    wire = serving(
        Registry(
            [function(asset="a", name="Greedy")(greedy), published("Quick", list)],
            author="t",
        ),
        engine,
    )
    assert "memory" in assert_refused(wire.call("Greedy"), 500)["error"]
    assert wire.rows("Quick") == []


def test_a_body_that_does_not_arrive_is_408(publish: Callable[..., Wire]) -> None:
    """FAULTS.md 120: and the connection is closed without reading the rest."""
    wire = publish(limits=Limits(body_seconds=0.3))
    with served(wire.app) as address, talk(address) as connection:
        connection.sendall(raw_run(wire.token, "{", length=1000))
        reply = b"".join(iter(lambda: connection.recv(4000), b"")).decode()
    assert reply.startswith("HTTP/1.1 408 ")
    assert "0.3 seconds" in reply


def test_two_hundred_at_once_get_exact_answers(publish: Callable[..., Wire]) -> None:
    """FAULTS.md 115: over real HTTP, each gets its own result, or 503 with a time to wait."""

    go = threading.Event()

    def echo(number: int) -> list[dict[str, int]]:
        """Return it once another request was refused."""
        go.wait(60)
        return [{"n": number}]

    wire = publish(
        function(asset="a", name="Echo")(echo),
        limits=Limits(engine_threads=8, concurrent_runs=64, runs_a_user=64),
    )

    async def all_at_once(address: str) -> list[httpx.Response]:
        bounds = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(
            base_url=address, timeout=60, limits=bounds
        ) as client:
            headers = {"Authorization": f"Bearer {wire.token}"}

            async def send(number: int) -> httpx.Response:
                body = {"FunctionName": "Echo", "Args": {"number": str(number)}}
                reply = await client.post(RUN, json=body, headers=headers)
                go.set()
                return reply

            return await asyncio.gather(*map(send, range(200)))

    with served(wire.app) as address:
        replies = asyncio.run(all_at_once(address))
    statuses = Counter(reply.status_code for reply in replies)
    assert statuses.keys() == {200, 429}
    for number, reply in enumerate(replies):
        if reply.status_code == 200:
            assert json.loads(reply.json()["body"]) == [{"n": number}]
        else:
            assert_refused(reply, 429)
            assert int(reply.headers["retry-after"]) >= 1


# Replies and accounts in memory


def test_a_repeated_run_is_answered_from_memory_until_its_data_change(
    serve_rows: Callable[..., Wire],
) -> None:
    """The same arguments and data need no query; new data in the file show in the next reply."""
    rows = [
        ("P", "A US EQUITY", "A", "West", "X", date(2024, 1, day), 100 * day, day, day)
        for day in (1, 2)
    ]
    wire = serve_rows(rows, {})
    wire.engine.open()
    args = {"PanelName": "P", "Symbol": "A US EQUITY"}
    first = wire.rows("Get Panel Daily", **args)
    assert [row["Spend"] for row in first] == [1, 2]
    wire.engine.close()  # whatever queries now fails
    assert wire.rows("Get Panel Daily", **args) == first
    wire = serve_rows(rows, {})
    wire.engine.open()
    assert wire.rows("Get Panel Daily", **args) == first
    serve_rows([(*row[:6], row[6] + 700, *row[7:]) for row in rows], {})
    assert [row["Spend"] for row in wire.rows("Get Panel Daily", **args)] == [8, 9]


def test_a_published_function_runs_each_time(publish: Callable[..., Wire]) -> None:
    counted = itertools.count()
    wire = publish(published("Count", lambda: next(counted)))
    assert [wire.call("Count").json()["body"] for _ in range(3)] == ["0", "1", "2"]


def test_another_process_takes_a_grant_and_a_token_back_at_once(tmp_path: Path) -> None:
    """What was read of a token and its grants is forgotten with the next change, whoever makes it."""
    grants, elsewhere = (
        Grants(tmp_path / "accounts.db", seed=demo.add_accounts) for _ in range(2)
    )
    registry = Registry(demo.published(), author="d")
    engine = DuckDBEngine(companies.reference(), demo.cards)
    wire = serving_to("analyst", grants, registry, engine)
    for _ in range(2):
        assert wire.call("Get Panels").status_code == 200
    asset = demo.PANEL_DATA
    elsewhere.share(asset, is_shared=False)
    for grant in elsewhere.grants():
        if (grant.user, grant.asset) == ("analyst", asset):
            elsewhere.withdraw("analyst", asset)
    assert wire.call("Get Panels").status_code == 404
    assert "Get Panels" not in wire.post(LIST, json={}).text
    elsewhere.grant("analyst", asset)
    assert wire.call("Get Panels").status_code == 200
    elsewhere.revoke("analyst")
    assert (
        wire.call("Get Panels").status_code
        == wire.post(LIST, json={}).status_code
        == 401
    )
    for accounts in (grants, elsewhere):
        accounts.close()


def test_replies_in_memory_are_bounded() -> None:
    """The least recently used go first, and a large one isn't kept."""
    kept = _Replies()
    for number in range(40):
        kept.add((number,), ReplyContent("x", bytes(2**21)))
        assert kept.get((0,))
    kept.add(("large",), ReplyContent("x", bytes(2**23)))
    numbers = [number for number in range(40) if kept.get((number,))]
    assert numbers == [0, *range(9, 40)]
    assert kept.get(("large",)) is None


def told(
    count: int | None = 5,
    label: str = "x",
    weights: list[float] | None = None,
    flag: bool = True,
    limits: dict[str, int] | None = None,
    symbol: Annotated[str, ListedBy("Get Symbols")] = "all",
) -> str:
    return repr((count, label, weights, flag, limits, symbol))


DEFAULTS = "(5, 'x', None, True, None, 'all')"
EMPTY = {"count": None, "label": "", "weights": [], "limits": {}, "symbol": ""}
WITH_HEADER = [
    (EMPTY, "(None, '', [], True, {}, 'all')"),
    (
        {"count": 7, "weights": [0.5, 0.5, 0.25], "flag": False},
        "(7, 'x', [0.5, 0.5, 0.25], False, None, 'all')",
    ),
    (
        {"count": "7", "label": " a ", "limits": {"a": 1}},
        "(7, ' a ', None, True, {'a': 1}, 'all')",
    ),
    ({}, DEFAULTS),
]


@pytest.mark.fault(155)
@pytest.mark.parametrize(
    ("args", "received"), WITH_HEADER, ids=[received for _, received in WITH_HEADER]
)
def test_a_run_with_the_header_of_typed_arguments_takes_them_as_they_are(
    publish: Callable[..., Wire], args: dict[str, Any], received: str
) -> None:
    """The listing says so by the same header; a value to choose from is left out if it is empty."""
    wire = publish(function(asset="a", name="Told")(told))
    assert wire.post(LIST).headers["funcs-args"] == "json"
    reply = wire.post(
        RUN, json={"FunctionName": "Told", "Args": args}, headers={"Funcs-Args": "json"}
    )
    assert json.loads(reply.json()["body"]) == received


@pytest.mark.fault(155)
def test_without_the_header_null_and_empty_values_leave_arguments_out(
    publish: Callable[..., Wire],
) -> None:
    """As on the first wire, except that lists keep their order, repeats and empty texts."""
    wire = publish(function(asset="a", name="Told")(told))
    sent = {**EMPTY, "limits": ""}
    assert json.loads(wire.call("Told", sent).json()["body"]) == DEFAULTS
    weights = json.loads(
        wire.call("Told", {"weights": ["0.5", "0.5", "0.25"]}).json()["body"]
    )
    assert weights == "(5, 'x', [0.5, 0.5, 0.25], True, None, 'all')"


def test_a_reply_from_memory_is_for_arguments_sent_the_same_way(service: Wire) -> None:
    """Null is the default of one, and refused by the other."""
    run = {
        "FunctionName": "Get Panel Daily",
        "Args": {"PanelName": "Demo Card Panel", "Symbol": "NVRA", "PoPGrowth": None},
    }
    assert service.post(RUN, json=run).status_code == 200
    reply = service.post(RUN, json=run, headers={"Funcs-Args": "json"})
    assert reply.json()["arguments"] == {
        "PoPGrowth": ["PoPGrowth must be text, not null."]
    }


def test_a_header_tells_of_infinite_numbers_that_are_null(
    publish: Callable[..., Wire],
) -> None:
    """The body has the shape of the first wire."""
    reply = publish(published("Ratios", lambda: [{"a": math.inf}, {"a": 1.5}])).call(
        "Ratios"
    )
    assert (
        reply.headers["funcs-warning"]
        == "The result has 1 infinite number, which JSON doesn't have (read as null)."
    )
    assert reply.json() == {"error": None, "body": '[{"a":null},{"a":1.5}]'}
