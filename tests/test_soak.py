"""Long use leaves nothing behind: run with -m slow."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from ipywidgets.widgets.widget import _instances

import jupyter_funcs as jf
from jupyter_funcs.core import background
from jupyter_funcs.service import embedded
from tests.conftest import PANEL, SYMBOL, wait_until

if TYPE_CHECKING:
    from jupyter_funcs.api import Session

pytestmark = [pytest.mark.slow, pytest.mark.soak]

DAILY = {"PanelName": PANEL, "Symbol": SYMBOL}


async def tasks() -> int:
    return len(asyncio.all_tasks())


def left() -> tuple[int, int, int, int]:
    """Count models, threads, open files and tasks of the loop."""
    gc.collect()
    files = len(list(Path("/proc/self/fd").iterdir())) if sys.platform == "linux" else 0
    return (
        len(_instances),
        threading.active_count(),
        files,
        background.wait(background.start(tasks())),
    )


def test_three_hundred_runs_of_panels_leave_nothing_behind(funcs: Session) -> None:
    """Panels that are opened, switched, run, cancelled and closed leave no model, thread, file or task."""

    def use() -> None:
        panel = funcs.panel("Get Panel Daily", **DAILY, Dimensions=["Region"])
        panel.run()
        panel.result(60)
        for name in ("Get Panel FQ", "Get Panel Daily"):
            background.run(
                panel._answer({"v": 1, "id": 1, "kind": "choose", "function": name})
            )
        panel.run()
        panel.cancel()
        panel.close()

    # The pool of worker threads and the connections are there after some runs.
    for _ in range(20):
        use()
    before = left()
    for _ in range(150):
        use()
    wait_until(
        lambda: all(
            now <= then + slack
            for now, then, slack in zip(left(), before, (0, 2, 4, 0), strict=True)
        )
    )


def test_a_thousand_sessions_leave_no_connection_open(service_url: str) -> None:
    """A session without references closes its connections."""
    token = embedded().token
    for _ in range(20):
        assert len(jf.connect(service_url, token=token).names) == 7
    before = left()
    for _ in range(1000):
        assert len(jf.connect(service_url, token=token).names) == 7
    wait_until(
        lambda: all(now <= then + 4 for now, then in zip(left(), before, strict=True))
    )
