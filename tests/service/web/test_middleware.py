"""Every request gets an id, a log line without anything the caller typed, and a reply whatever fails."""

from __future__ import annotations

import logging
from datetime import date  # noqa: TC003 - read when a function is published
from typing import TYPE_CHECKING

import pytest

from jupyter_funcs.service.publishing.registry import function
from tests.examples import row_id
from tests.service.conftest import (
    GET_ALL,
    JSON,
    LIST,
    LOGIN,
    RUN,
    Wire,
    assert_refused,
    published,
)

if TYPE_CHECKING:
    from collections.abc import Callable

CANARY = "CanaryValue-7a91c2e4"


@pytest.mark.parametrize("sane", ["abc-123", "a.b:c_d", "x" * 64], ids=row_id)
def test_a_sane_request_id_is_kept(wire: Wire, sane: str) -> None:
    assert (
        wire.request("GET", "/healthz", headers={"X-Request-Id": sane}).headers[
            "x-request-id"
        ]
        == sane
    )


@pytest.mark.parametrize("odd", ["", "x" * 65, "a b", "a;b", '"'], ids=row_id)
def test_another_request_id_is_replaced(wire: Wire, odd: str) -> None:
    replies = [
        wire.request("GET", "/healthz", headers={"X-Request-Id": odd}) for _ in range(2)
    ]
    ids = {reply.headers["x-request-id"] for reply in replies}
    assert len(ids) == 2
    assert odd not in ids


def test_a_request_is_one_log_line_that_an_operator_can_use(
    publish: Callable[..., Wire], caplog: pytest.LogCaptureFixture
) -> None:
    wire = publish(published("Quick", list))
    with caplog.at_level(logging.INFO, "jupyter_funcs.service"):
        reply = wire.post(
            RUN, json={"FunctionName": "Quick"}, headers={"X-Request-Id": "mine"}
        )
    [record] = [
        record
        for record in caplog.records
        if record.name.startswith("jupyter_funcs.service")
    ]
    fields = {
        name: getattr(record, name)
        for name in ("method", "path", "status", "user", "function", "request_id")
    }
    assert fields == {
        "method": "POST",
        "path": RUN,
        "status": 200,
        "user": "t",
        "function": "Quick",
        "request_id": "mine",
    }
    assert record.bytes == len(reply.content)
    assert record.milliseconds > 0


@pytest.mark.parametrize(
    "where", ["argument", "list", "upper", "chained", "number", "several", "day"]
)
def test_no_argument_reaches_the_log_when_a_function_fails(
    publish: Callable[..., Wire], caplog: pytest.LogCaptureFixture, where: str
) -> None:
    def fails(text: str, many: list[str], number: int, day: date) -> None:
        """Fail with the arguments in the message."""
        if where == "chained":
            try:
                raise KeyError(text)  # noqa: TRY301
            except KeyError as error:
                raise ValueError("worse") from error
        if where == "several":
            group = ExceptionGroup(
                "several", [ValueError(many[0]), OSError(2, "no file", text)]
            )
            raise group
        texts = {
            "argument": text,
            "list": many,
            "upper": text.upper(),
            "number": number,
            "day": day,
        }
        error = ValueError(f"a bad value: {texts.get(where)!r}, said the function")
        error.add_note(f"a note: {text}")
        raise error

    wire = publish(function(asset="a", name="Fails")(fails))
    args = {
        "text": CANARY,
        "many": ["x" + CANARY, "y"],
        "number": "48151623",
        "day": "1987-11-23",
    }
    with caplog.at_level(logging.DEBUG):
        reply = wire.call("Fails", args)
    assert reply.json()["error"].startswith("Fails failed: ")
    log = "\n".join(caplog.messages).casefold()
    assert "in fails" in log
    assert "48151623" not in log
    assert "1987" not in log
    for at in range(len(CANARY) - 8):
        assert CANARY[at : at + 8].casefold() not in log


def test_no_answer_may_be_kept_by_a_cache(publish: Callable[..., Wire]) -> None:
    wire = publish(published("Quick", list))
    key = {"X-Api-Key": wire.grants.add_key("t")}
    replies = [
        wire.request("GET", path, token=None, headers=key)
        for path in (GET_ALL, "/healthz", "/nowhere", RUN)
    ]
    replies += [
        wire.call("Quick"),
        wire.call("Slow"),
        wire.request("GET", GET_ALL, headers={"Host": "elsewhere"}),
    ]
    assert [reply.status_code for reply in replies] == [
        200,
        200,
        404,
        405,
        200,
        404,
        403,
    ]
    assert {reply.headers["cache-control"] for reply in replies} == {"no-store"}


class _MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("lost for words")


@pytest.mark.parametrize(
    ("error", "says"),
    [
        pytest.param(
            ZeroDivisionError("no data\nin the second line"), "no data", id="two lines"
        ),
        pytest.param(_MuteError(), "_MuteError", id="no words"),
        pytest.param(
            OSError("no file caf\udce9.csv"),
            "no file caf?.csv",
            id="half a surrogate pair",
        ),
        pytest.param(ValueError("x" * 50_000), "x" * 2000, id="too many words"),
    ],
)
def test_a_function_that_fails_answers_200_with_its_error_and_leaves_its_trace_in_the_log(
    publish: Callable[..., Wire],
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    says: str,
) -> None:
    def fail() -> None:
        raise error

    with caplog.at_level(logging.ERROR, "jupyter_funcs.service"):
        reply = publish(published("Fails", fail)).call("Fails")
    assert reply.status_code == 200
    assert reply.json() == {"error": f"Fails failed: {says}", "body": None}
    [trace] = caplog.messages
    assert "in fail\n" in trace


@pytest.mark.parametrize("name", ["Authorization", "X-Api-Key"])
def test_a_token_or_key_that_is_sent_twice_is_refused(
    publish: Callable[..., Wire], name: str
) -> None:
    wire = publish(published("Quick", list))
    good = (
        f"Bearer {wire.token}" if name == "Authorization" else wire.grants.add_key("t")
    )
    for values, status in (
        ([good], 200),
        ([good, good], 401),
        ([good, "x"], 401),
        (["x", good], 401),
    ):
        reply = wire.request(
            "GET", GET_ALL, token=None, headers=[(name, value) for value in values]
        )
        assert reply.status_code == status, values


def test_neither_tokens_nor_what_a_caller_types_reach_the_log(
    publish: Callable[..., Wire], caplog: pytest.LogCaptureFixture
) -> None:
    wire = publish(published("Quick", list))
    key = wire.grants.add_key("t")
    wire.grants.set_password("t", CANARY + "-password")
    with caplog.at_level(logging.DEBUG):
        wire.call("Quick", {CANARY: CANARY})
        wire.call("Quick")
        wire.call(CANARY, {"a": CANARY})
        wire.post(f"{RUN}?q={CANARY}", json={"FunctionName": "Quick"})
        wire.request("GET", f"/{CANARY}")
        wire.request(CANARY.replace("-", ""), "/healthz")
        wire.post(RUN, content=CANARY, headers=JSON | {"X-Request-Id": CANARY + " "})
        wire.post(LIST, token=CANARY)
        wire.post(
            LIST,
            token=None,
            headers={"X-Api-Key": key, "Cookie": CANARY, "User-Agent": CANARY},
        )
        wire.post(LIST, headers={"Host": CANARY, "Origin": CANARY})
        for password in ("password", "wrong"):
            wire.post(
                LOGIN,
                token=None,
                json={"email": "t", "password": f"{CANARY}-{password}"},
            )
    log = "\n".join(
        f"{record.getMessage()} {vars(record)}"
        for record in caplog.records
        if record.name[:2] != "ht"
    )
    assert len(log) > 1000
    for secret in (
        CANARY,
        CANARY.replace("-", ""),
        wire.token,
        wire.token.split(".")[2],
        key,
    ):
        assert secret not in log


def test_what_nobody_thought_of_is_500_without_details_and_with_a_trace_in_the_log(
    publish: Callable[..., Wire], caplog: pytest.LogCaptureFixture
) -> None:
    wire = publish(published("Quick", list))
    wire.grants.close()  # such as accounts on a disk that went away
    with caplog.at_level(logging.ERROR):
        document = assert_refused(wire.call("Quick"), 500)
    assert caplog.records[0].levelname == "ERROR"
    assert document["error"].startswith(
        "The service failed. Tell its operator the request id "
    )
    assert wire.request("GET", "/healthz").status_code == 200
