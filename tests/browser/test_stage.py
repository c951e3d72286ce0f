"""The panel's page without a kernel: axe-core finds nothing serious in any state, wide or narrow, light or dark."""

from __future__ import annotations

import functools
import http.server
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Page

PANEL = Path(__file__).parents[2] / "jupyter_funcs/panel"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def stage() -> Iterator[str]:
    """The address of the stage, served from the checkout."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=PANEL)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/front/test/stage.html"
        server.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (480, "dark")])
def test_no_state_has_a_serious_finding(
    width: int, theme: str, stage: str, page: Page, findings: Callable[[Page], list[str]]
) -> None:
    """One after the other, and nothing goes wrong in the page's script."""
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(stage)
    found = {}
    for state in page.evaluate("states"):
        page.evaluate("address => { location.hash = address }", f"state={state}&width={width}&theme={theme}")
        page.wait_for_selector(f"body[data-ready='{state}']", timeout=20_000)
        found[state] = findings(page)
    assert len(found) > 30
    assert {state: each for state, each in found.items() if each} == {}
    assert wrong == []
