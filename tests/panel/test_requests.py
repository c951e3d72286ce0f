"""The panel accepts the requests of its own page, within bounds, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.panel import requests
from jupyter_funcs.panel.state import PanelState

assert PanelState  # its methods are the kinds of requests


def _sent(kind: str, **values: Any) -> dict[str, Any]:
    return {"v": 1, "id": 7, "kind": kind, **values}


def test_a_request_is_read_into_its_structure() -> None:
    """Sort, filters of three kinds and the window of a page of rows."""
    filters = [
        {"at": 0, "kind": "range", "low": "1", "high": ""},
        {"at": 1, "kind": "values", "values": ["a", None]},
        {"at": 2, "kind": "text", "text": "x"},
    ]
    query = {"sort": [{"at": 1, "descending": True}], "filters": filters, "find": "q"}
    kind, fields = requests.read(
        _sent("rows", run=3, query=query, columns=[0, 1], **{"from": 0, "to": 99})
    )
    assert (kind.method, fields["run"]) == ("page", 3)
    assert (fields["first"], fields["end"], fields["query"].find) == (0, 99, "q")
    assert fields["query"].sort == [requests.Sort(1, descending=True)]
    kinds = [
        requests.Range(0, "1", ""),
        requests.OneOf(1, ["a", None]),
        requests.Contains(2, "x"),
    ]
    assert fields["query"].filters == kinds


def test_values_of_fields_are_read_as_they_are_typed() -> None:
    """A text, a list, several values for a sweep, and no value."""
    values = {"a": "x", "b": ["y", "z"], "c": {"each": ["1", "2"]}, "d": None}
    _, fields = requests.read(_sent("run", seq=1, values=values, confirmed=False))
    assert fields["values"] == values | {"c": requests.NotText(["1", "2"])}


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (None, "no request of the kind 'None'"),
        ([], "no request of the kind 'None'"),
        ({"kind": ["rows"]}, "no request of the kind"),
        (_sent("eval", code="1"), "no request of the kind 'eval'"),
        (_sent("request"), "no request of the kind"),
        (_sent("hello", extra=1), "unknown field `extra`"),
        (_sent("hello") | {"v": 2}, "request hello"),
        (_sent("hello") | {"id": -1}, ">= 0"),
        (_sent("hello") | {"id": 2**60}, "<="),
        (_sent("choose"), "missing required field `function`"),
        (_sent("choose", function="x" * 501), "length <= 500"),
        (_sent("tab", tab="secrets"), "Invalid enum value 'secrets'"),
        (
            _sent(
                "rows",
                run=1,
                query={"sort": [{"at": 0, "descending": True}] * 9},
                **{"from": 0, "to": 5},
            ),
            "<= 8",
        ),
        (
            _sent("set", seq=1, field="a", value={"each": ["x"], "more": 1}),
            "unknown field `more`",
        ),
        (_sent("set", seq=1, field="a", value=3.5), "request set"),
        (_sent("set", seq=1, field="a", value=["x", None]), "request set"),
        (_sent("set", seq=1, field="a", value={"each": [1]}), "request set"),
        (_sent("set", seq=1, field="a", value=True), "request set"),
        (
            _sent("chart", run=1, wish={}, low=float("nan"), high=None, query={}),
            "request chart",
        ),
        (
            _sent("chart", run=1, wish={}, low=float("inf"), high=None, query={}),
            "request chart",
        ),
        (
            _sent("chart", run=1, wish={"kind": "pie"}, low=None, high=None, query={}),
            "pie",
        ),
        (_sent("json", run=1, path=["x"] * 1_001, **{"from": 0}), "length <= 1000"),
        (_sent("json", run=1, path=[-1], **{"from": 0}), "request json"),
        (_sent("hello") | {"id": True}, "request hello"),
        (_sent("hello") | {"id": 1.5}, "request hello"),
        (_sent("x" * 10_000), "no request of the kind"),
        (_sent("__init__"), "no request of the kind"),
        (
            _sent(
                "save",
                run=1,
                format="pickle",
                name="x",
                replace=False,
                filtered=None,
                download=False,
            ),
            "pickle",
        ),
    ],
)
def test_anything_else_is_refused_in_words(sent: Any, message: str) -> None:
    """Unknown kinds and fields, wrong types and values out of range are refused by name."""
    with pytest.raises(ArgumentError) as caught:
        requests.read(sent)
    assert message in str(caught.value)
    assert len(caught.value.lines) <= 3


ENVELOPE = {"v", "id", "kind", "tab"}
PROTOCOL = (Path(requests.__file__).parent / "front/src/core/protocol.ts").read_text(
    "utf-8"
)
DECLARED = re.findall(
    r"^  (\w+): \{\s+in: (?:Nothing|\{([^{}]*)\})",
    PROTOCOL.partition("export interface Requests {")[2].partition("\n}\n")[0],
    re.MULTILINE,
)


def test_the_protocol_declares_every_request_and_no_other() -> None:
    """The kinds that the methods of the panel answer."""
    assert sorted(kind for kind, _ in DECLARED) == sorted(requests.KINDS)


@pytest.mark.parametrize(
    ("kind", "declared"), DECLARED, ids=[kind for kind, _ in DECLARED]
)
def test_a_request_has_the_fields_that_the_protocol_declares(
    kind: str, declared: str
) -> None:
    """The parameters of the method that answers it, as they are sent; those with a default may be the kernel's own."""
    fields = [
        field
        for field in msgspec.structs.fields(requests.KINDS[kind].request)
        if field.name not in ENVELOPE
    ]
    names = set(re.findall(r"(\w+)\??:", declared)) - ENVELOPE
    assert {field.encode_name for field in fields if field.required} <= names
    assert names <= {field.encode_name for field in fields}
