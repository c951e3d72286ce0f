"""What the tests of logins at a provider share."""

from __future__ import annotations

import threading

import httpx
import pytest


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A browser that follows the provider's redirect, as a user's would; yields the addresses that it opened."""
    opened: list[str] = []

    def follow(url: str) -> bool:
        opened.append(url)
        threading.Thread(
            target=httpx.get, args=(url,), kwargs={"follow_redirects": True}
        ).start()
        return True

    monkeypatch.setattr("webbrowser.open", follow)
    return opened
