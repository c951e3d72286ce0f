"""A panel of the demo session, as its page sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from jupyter_funcs.panel.panel import Panel
from tests.conftest import PANEL, SYMBOL
from tests.panel.page import Page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_funcs.api import Session

DAILY = {"PanelName": PANEL, "Symbol": SYMBOL}


@pytest.fixture
def page(funcs: Session) -> Iterator[Page]:
    """A panel with nothing chosen."""
    panel = Panel(funcs, trusted=True)
    yield Page(panel)
    panel.close()
