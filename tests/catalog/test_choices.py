"""A refused value gets suggestions from the values that are already listed."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import jupyter_funcs as jf
from jupyter_funcs.catalog.choices import Choice, Choices
from jupyter_funcs.catalog.fields import Kind
from jupyter_funcs.catalog.form import Form
from tests.conftest import PANEL

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_funcs.api import Session

SYMBOLS = [
    Choice("BKQU US EQUITY", "Bulkandry Clubs"),
    Choice("KORD LN EQUITY", "Kordle"),
    Choice("KORD US EQUITY", "Kordle Foods"),
    Choice("QSTX US EQUITY"),
]
PANELS = [
    Choice("Demo Card Panel", "Ordrelle"),
    Choice("Demo Debit Panel", "Second Provider"),
]

NEAR: dict[tuple[str, str], list[str]] = {
    ("Symbol", "BKQX"): ["BKQU US EQUITY"],
    ("Symbol", "bkqx us equity"): ["BKQU US EQUITY"],
    ("Symbol", "BKQU LN EQUITY"): ["BKQU US EQUITY"],
    ("Symbol", "KORT"): ["KORD LN EQUITY", "KORD US EQUITY"],
    ("Symbol", "Bulkandry"): ["BKQU US EQUITY"],
    ("Symbol", "bkqu"): [],
    ("Symbol", "bkqu us equity"): ["BKQU US EQUITY"],
    ("Symbol", "KORD US EQUITY"): [],
    ("Symbol", "ZZZZ US EQUITY"): [],
    ("PanelName", "Demo Crd Panel"): ["Demo Card Panel", "Demo Debit Panel"],
    ("PanelName", "second provider"): ["Demo Debit Panel"],
    ("PanelName", "demo card-panel"): ["Demo Card Panel"],
    ("PanelName", "Demo Card Panel"): [],
    ("PanelName", " "): [],
}


@pytest.mark.parametrize(("typed", "near"), NEAR.items(), ids=" ".join)
def test_a_listed_value_is_near_by_its_spelling_or_its_label(
    typed: tuple[str, str], near: list[str]
) -> None:
    """Symbols are compared by ticker; a listed value has no suggestions."""
    name, value = typed
    choices = (
        Choices(SYMBOLS, Kind.SYMBOL)
        if name == "Symbol"
        else Choices(PANELS, Kind.PANEL)
    )
    assert choices.nearest(value) == near


def test_of_very_many_values_those_with_the_same_first_letter_are_compared() -> None:
    """Comparing all of them would be slow, and typos in the first letter are rare."""
    many = Choices.of(
        f"{letter} Panel {number}" for letter in "AB" for number in range(6000)
    )
    assert many.nearest("a Panl 17")[0] == "A Panel 17"
    assert many.nearest("C Panel 17") == []


def test_a_value_is_found_exactly_in_another_spelling_or_by_its_beginning() -> None:
    """Two values that differ only in case are each found by their own spelling."""
    choices = Choices([*SYMBOLS, Choice("a"), Choice("A")], Kind.SYMBOL)
    assert [choices.spelt(text) for text in ("A", "a", "bkqu  us equity", "BKQU")] == [
        "A",
        "a",
        "BKQU US EQUITY",
        None,
    ]
    assert [choices.begun(text) for text in ("bkqu", "KORD", "kord us", "BK")] == [
        "BKQU US EQUITY",
        None,
        "KORD US EQUITY",
        None,
    ]
    assert [choices.meant(text) for text in ("qstx", "Kordle-Foods", "?", "zz")] == [
        "QSTX US EQUITY",
        "KORD US EQUITY",
        None,
        None,
    ]
    assert Choices.of([",", "\t", ";"]).spelt("  ") is None
    assert choices.unknown(["BKQU", "kord us equity", "zz", "US"]) == ["zz", "US"]


def test_a_refused_symbol_is_answered_with_the_nearest(funcs: Session) -> None:
    """The suggestion is in the error and at the field, and doesn't repeat one from the service."""
    daily = funcs.get_panel_daily
    universe = funcs.get_universe()
    with (
        pytest.raises(jf.ArgumentError) as caught,
        pytest.warns(match="'BKQX' isn't in the list. Did you mean 'BKQU"),
    ):
        daily(PanelName=PANEL, Symbol="BKQX")
    assert caught.value.hint == "Did you mean 'BKQU US EQUITY'?"
    assert caught.value.errors["Symbol"][-1].endswith("Did you mean 'BKQU US EQUITY'?")
    assert len(caught.value.lines) == 2
    with (
        pytest.raises(jf.ArgumentError) as caught,
        pytest.warns(match="isn't in the list"),
    ):
        daily(PanelName=PANEL, Symbol="BKQX US EQUITY")
    assert str(caught.value).count("Did you mean") == 1
    assert len(universe)


SYMBOL = {
    "name": "Symbol",
    "type": 6,
    "description": "Use function 'Get Universe' to get list of symbols.",
}
LISTING = [
    {"name": "Get Universe", "params": []},
    {"name": "Spend", "params": [SYMBOL, {"name": "Note"}]},
]
UNIVERSE = {
    "error": None,
    "body": json.dumps(
        [{"Symbol": symbol, "Company": label} for symbol, label, _ in SYMBOLS]
    ),
}


def test_values_are_listed_once_for_a_refusal_that_names_one(
    answering: Callable[..., Session],
) -> None:
    """As in the panel, also for the function's own errors; an error about something else causes no request."""
    requests: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        payload: dict[str, Any] = json.loads(request.content)
        requests.append(payload.get("FunctionName", ""))
        if requests[-1] == "Get Universe":
            return httpx.Response(200, json=UNIVERSE)
        message = "no data" if "Note" in payload.get("Args", {}) else "no symbol BKQX"
        return httpx.Response(200, json={"error": message} if requests[-1] else LISTING)

    session = answering(answer)
    with pytest.raises(jf.FunctionError) as caught:
        session.spend(Symbol="BKQX", Note="the error is of something else")
    assert "Did you mean" not in str(caught.value)
    with pytest.raises(jf.FunctionError) as caught:
        session.spend(Symbol="BKQX")
    assert caught.value.hint.startswith("Did you mean 'BKQU US EQUITY'?")
    with pytest.raises(jf.FunctionError), pytest.warns(match="isn't in the list"):
        session.spend(Symbol="BKQX")
    assert requests == ["", "Spend", "Spend", "Get Universe", "Spend"]


def test_a_sweep_warns_of_unlisted_values_once(
    answering: Callable[..., Session],
) -> None:
    """As in a call: once per value that is near a listed one, however many runs have it."""
    session = answering(
        lambda sent: httpx.Response(
            200, json=UNIVERSE if json.loads(sent.content) else LISTING
        )
    )
    universe = session.get_universe()
    with pytest.warns(UserWarning, match="isn't in the list") as warned:
        session.spend.sweep(
            Symbol=["BKQX", "qstx us equity", "KORD US EQUITY"], Note=["a", "b", "c"]
        )
    assert [str(warning.message).partition(" The run")[0] for warning in warned] == [
        "Spend: 'BKQX' isn't in the list. Did you mean 'BKQU US EQUITY'?",
        "Spend: 'qstx us equity' isn't in the list. Did you mean 'QSTX US EQUITY'?",
    ]
    assert len(universe) == len(SYMBOLS)


def test_hints_are_made_in_a_thread(
    answering: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Comparing a refused run's values doesn't delay other runs."""
    threads = []
    compare = Form.warnings_of_values

    def noted(*args: Any, **more: Any) -> Any:
        threads.append(threading.current_thread())
        return compare(*args, **more)

    monkeypatch.setattr(Form, "warnings_of_values", noted)
    session = answering(
        lambda sent: httpx.Response(
            200, json={"error": "no"} if json.loads(sent.content) else LISTING
        )
    )
    with pytest.raises(jf.FunctionError):
        session.spend(Symbol="x")
    [_, of_the_refusal] = threads
    assert of_the_refusal.name.startswith("asyncio")
