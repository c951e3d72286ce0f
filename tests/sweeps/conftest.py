"""A service that other processes reach, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.echoing import by_environment, echoing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_funcs.api import Session
    from tests.faults.server import Faulty


@pytest.fixture
def server() -> Iterator[Faulty]:
    """A service with the function F, which returns its argument."""
    with echoing() as server:
        yield server


@pytest.fixture
def session(server: Faulty, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """A session from the environment, which other processes share."""
    with by_environment(server, monkeypatch) as session:
        yield session
