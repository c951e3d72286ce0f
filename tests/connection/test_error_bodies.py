"""The time that it takes to read what an error says grows no faster than the error."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_funcs.connection import error_bodies
from tests.growth import assert_linear

if TYPE_CHECKING:
    from collections.abc import Callable

INNERMOST: dict[str, Any] = {"x": None}
AROUND: dict[str, Callable[[Any], Any]] = {
    "an error in an error": lambda inner: {"error": inner},
    "errors in errors": lambda inner: {"errors": [inner]},
    "errors by name": lambda inner: {"errors": {"size": inner}},
    "lists by name": lambda inner: {"size": [inner]},
    "objects by name": lambda inner: {"size": inner},
    "what a validator says": lambda inner: {"validation": {"body": inner}},
}


MOST_STEPS = 5000


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
def test_nested_errors_are_read_to_a_depth(
    around: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each part is looked at a few times, however deep it is."""
    steps = 0
    read_level = error_bodies._said

    def counted(value: Any, by_argument: Any, level: int = 0) -> str:
        nonlocal steps
        steps += 1
        assert steps < MOST_STEPS
        return read_level(value, by_argument, level)

    monkeypatch.setattr(error_bodies, "_said", counted)
    body = INNERMOST
    for _ in range(12):
        body = around(body)
    error_bodies.read_error(json.dumps(body).encode())


WIDE: dict[str, Callable[[int], Any]] = {
    "errors": lambda size: {"errors": [{"field": "a", "message": "b"}] * size},
    "errors by name": lambda size: {"errors": {f"a{n}": ["b"] for n in range(size)}},
    "members": lambda size: {f"a{n}": ["b"] for n in range(size)},
    "a long path": lambda size: {"detail": [{"loc": ["a"] * size, "msg": "b"}]},
    "a long name": lambda size: {"errors": {"a." * size: ["b"]}},
    "a name in a text": lambda size: {"errors": {"ab" * size: ["ab" * size]}},
}


@pytest.mark.parametrize("body", WIDE.values(), ids=WIDE)
def test_reading_an_error_takes_linear_time(body: Callable[[int], Any]) -> None:
    assert_linear(
        lambda size: error_bodies.read_error(json.dumps(body(size)).encode()),
        most=2000,
        start=500,
    )
