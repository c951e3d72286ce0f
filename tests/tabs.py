"""What the tests of the tabs share: a run to show, and a tab that shows it."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import httpx

import jupyter_funcs as jf
from jupyter_funcs.core import background
from jupyter_funcs.panel.shared.outcome import Outcome
from jupyter_funcs.panel.shared.parts import Parts, guarding

if TYPE_CHECKING:
    import pandas as pd


def outcome(frame: pd.DataFrame, reply: bytes | None = None, about: str = "", **args: Any) -> Outcome:
    """Give a run of a function of this description, which nobody serves."""
    listing = [{"name": "F", "id": 1, "description": about, "params": [{"name": name} for name in args]}]
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=listing))
    session = jf.connect("https://service.example", token="a-token-of-the-tests", transport=transport)
    started = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    return Outcome(session["F"], args, frame, reply, started, 1.25, "", "result")


def made(kind: Any) -> Any:
    """Give a tab whose callbacks raise what they raise."""

    def fail(error: Exception) -> None:
        raise error

    return kind(guarding(fail), Parts())


def show(tab: Any, run: Outcome | None) -> None:
    """Show a run as the panel does."""
    background.wait(background.start(tab.show(run)), 60)


def hidden(widget: Any) -> bool:
    return "jf-hidden" in widget._dom_classes
