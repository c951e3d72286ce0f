"""The reply of a run is read level by level, as it came, whatever its size and shape."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest

from jupyter_funcs.core.errors import ArgumentError, ProtocolError
from jupyter_funcs.panel import json_view
from jupyter_funcs.panel.json_view import JsonTree

ROWS = [["2024-01-01", 1.50, None], ["2024-01-02", 2, True]]


def shown(
    data: bytes | str, path: tuple[Any, ...] = (), first: int = 0
) -> dict[Any, str]:
    """Return the texts of the children of a node."""
    node = JsonTree(data if isinstance(data, bytes) else data.encode()).node(
        path, first
    )
    json.dumps(node, allow_nan=False).encode()
    return {child["key"]: child["text"] for child in node["children"]}


def test_a_node_tells_of_its_items_and_their_numbers() -> None:
    """Types, texts as they came, counts, and whether a text is whole."""
    node = JsonTree(b'{"a": 1.50, "b": [1, "x", null], "c": {"d": {}}, "e": []}').node(
        ()
    )
    assert (node["type"], node["total"]) == ("object", 4)
    assert [tuple(child.values()) for child in node["children"]] == [
        ("a", "number", "1.50", 0, True),
        ("b", "array", '[1, "x", null]', 3, True),
        ("c", "object", '{"d": {}}', 1, False),
        ("e", "array", "[]", 0, True),
    ]


def test_items_come_fifty_at_a_time() -> None:
    """A long array is read in pages."""
    tree = JsonTree(json.dumps({"rows": list(range(1234))}).encode())
    assert [child["key"] for child in tree.node(("rows",), 1200)["children"]] == list(
        range(1200, 1234)
    )
    assert len(tree.node(("rows",))["children"]) == 50
    with pytest.raises(ArgumentError, match="no item 2,000"):
        tree.node(("rows",), 2000)


def test_json_in_a_text_is_opened() -> None:
    """An envelope's body, which is JSON as a text, can be opened."""
    data = json.dumps({"body": json.dumps(ROWS)})
    assert shown(data, ("body",)) == {
        0: '["2024-01-01", 1.5, null]',
        1: '["2024-01-02", 2, true]',
    }
    assert shown(data, ("body", 1)) == {0: '"2024-01-02"', 1: "2", 2: "true"}


@pytest.mark.parametrize(
    ("data", "texts"),
    [
        (
            b'\xef\xbb\xbf{"a": 12345678901234567890123}',
            {"a": "12345678901234567890123"},
        ),
        (b'{"a": NaN, "b": [Infinity]}', {"a": "NaN", "b": "[Infinity]"}),
        (b'{"a": 1}\n{"a": 2}', {0: '{"a": 1}', 1: '{"a": 2}'}),
        (rb'{"a": "\ud800", "k\ud800": 1}', {"a": '"\\ud800"', "k\ufffd": "1"}),
        ('{"a": "\u202e\x7f"}', {"a": '"\\u202e\\u007f"'}),
        (b"7", {}),
        (
            b'{"a": "' + b"x" * 1000 + b'"}',
            {"a": '"' + "x" * 400 + '"… 1,000 characters'},
        ),
    ],
)
def test_what_services_send_is_shown_as_it_came(
    data: bytes | str, texts: dict[Any, str]
) -> None:
    """Digits and constants are kept; invisible characters are shown as escapes."""
    assert shown(data) == texts


@pytest.mark.parametrize(
    "data", [b"", b"not json", b'{"a": ', b"[" * 5000 + b"]" * 5000, b'"\xff"']
)
def test_what_is_not_json_is_said(data: bytes) -> None:
    """An error says what is wrong with a reply that isn't JSON or is nested too deeply."""
    with pytest.raises(ProtocolError):
        JsonTree(data).node(())


@pytest.mark.parametrize(
    "path", [("b",), (0,), ("a", 5), ("a", "x"), ("a", 0, 0), ("a",) * 200]
)
def test_a_place_that_is_not_there_is_refused(path: tuple[Any, ...]) -> None:
    """Keys and numbers that the reply doesn't have are refused."""
    with pytest.raises(ArgumentError):
        JsonTree(b'{"a": [1, 2]}').node(path)


REPLY = json.dumps(
    {
        "error": None,
        "body": json.dumps(
            [
                {"Date": "2024-01-01", "Größe": 1.5, "Sum": [1, [2, "mid-WEST"]]},
                {"Ünit": True},
            ]
        ),
    }
).encode()


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("error", [[0]]),
        ("2024-01", [[1, 0, 0]]),
        ("GRÖSSE", [[1, 0, 1]]),
        ("1.5", [[1, 0, 1]]),
        ("Mid-West", [[1, 0, 2, 1, 1]]),
        ("ünit", [[1, 1, 0]]),
        ("null", [[0]]),
        ("true", [[1, 1, 0]]),
        ('"', []),
        ("zzz", []),
    ],
)
def test_a_text_is_found_in_keys_and_values_in_any_case(
    text: str, hits: list[list[int]]
) -> None:
    """Each hit has the path to it, also within JSON in a text; the path leads to what it names."""
    tree = JsonTree(REPLY)
    assert tree.find(text) == {"hits": hits, "more": False, "all": True}
    for places in hits:
        path: list[Any] = []
        for place in places:
            [child] = tree.node(path, place)["children"][:1]
            path.append(child["key"])
        assert text.casefold() in f"{path[-1]} {child['text']}".casefold()


@pytest.mark.parametrize(
    ("data", "result"),
    [
        (
            b'{"a": NaN, "b": [Infinity]}',
            {"hits": [[1, 0]], "more": False, "all": True},
        ),
        (
            rb'{"a": "\ud800 infinity", "k\ud800": 1}',
            {"hits": [[0]], "more": False, "all": True},
        ),
        (b'{"a": 1}\n{"infinity": 2}', {"hits": [[1, 0]], "more": False, "all": True}),
        (b'"infinity"', {"hits": [[]], "more": False, "all": True}),
        (
            b"[" + b'"infinity",' * 1_000 + b"1]",
            {"hits": [[at] for at in range(500)], "more": True, "all": True},
        ),
        (
            b"[" * 99 + b'"infinity"' + b"]" * 99,
            {"hits": [[0] * 99], "more": False, "all": True},
        ),
    ],
)
def test_any_reply_is_searched_in_bounds(data: bytes, result: dict[str, Any]) -> None:
    """At most 500 hits, in whatever services send, as deep as the tree goes."""
    assert JsonTree(data).find("infinity") == result


def test_a_search_that_takes_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """It returns the hits so far when its time is over, and says that there may be more."""
    monkeypatch.setattr(json_view, "_PATIENCE", 0.0)
    assert JsonTree(b'[{"a": 1}]').find("a") == {
        "hits": [],
        "more": False,
        "all": False,
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "data", [b'{"a": "' + b"x" * 3_000_000 + b'"}', b"[" + b"1.25," * 600_000 + b"2]"]
)
def test_a_level_is_small_whatever_the_reply_holds(data: bytes) -> None:
    """A few thousand characters of a very long text or array are sent."""
    tree = JsonTree(data)
    assert len(json.dumps(tree.node(()))) < 10_000
    assert tree.find("zzz")["hits"] == []


@pytest.mark.slow
def test_a_long_reply_takes_a_fraction_of_its_values_in_memory() -> None:
    """6 MB are read level by level: all values at once would take several times that."""
    rows = [
        {"Date": "2024-01-01", "Spend": at / 7, "Note": "x" * 60, "n": None}
        for at in range(50_000)
    ]
    data = json.dumps({"rows": rows}).encode()
    tracemalloc.start()
    try:
        tree = JsonTree(data)
        assert tree.node(("rows", 49_999))["children"][0]["text"] == '"2024-01-01"'
        assert tree.node(())["children"][0]["total"] == 50_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * len(data)
    assert tree.find("zzz") == {"hits": [], "more": False, "all": True}
    assert tree.find(str(49_999 / 7))["hits"] == [[0, 49_999, 1]]
    with pytest.raises(ArgumentError, match="longer than 5 MB"):
        tree.text()
