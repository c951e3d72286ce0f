"""The service that the tests talk to: the embedded one, in process and over HTTP on a free port of this machine."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import uvicorn

import jupyter_funcs as jf
from jupyter_funcs.service import embedded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jupyter_funcs.session import Session

# Set on import: the notebooks' kernels and the servers that tests start take it over, and generate the data once.
_CACHE = None if "FUNCS_CACHE_DIR" in os.environ else tempfile.TemporaryDirectory(prefix="funcs-cache-")
if _CACHE is not None:
    os.environ["FUNCS_CACHE_DIR"] = _CACHE.name
# No developer's favourites in the tests, and none of the tests' among theirs.
_FAVOURITES = tempfile.TemporaryDirectory(prefix="funcs-favourites-")
os.environ["FUNCS_FAVOURITES"] = f"{_FAVOURITES.name}/favourites.json"
for _name in ("FUNCS_BASE_URL", "FUNCS_TOKEN", "FUNCS_API_KEY", "FUNCS_PROFILE", "FUNCS_CONFIG"):
    os.environ.pop(_name, None)

PANEL = "Demo Card Panel"
SYMBOL = "BKQU US EQUITY"


def pytest_sessionfinish() -> None:
    if _CACHE is not None:
        _CACHE.cleanup()
    _FAVOURITES.cleanup()


@contextlib.contextmanager
def serving(app: Any) -> Iterator[str]:
    """Serve an ASGI application over real HTTP on a free port; give its address."""
    # With its protocol, without which asyncio does not switch Nagle's algorithm off: 40 ms a request.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)


@pytest.fixture(scope="session")
def service_url() -> Iterator[str]:
    """The address of the demo service, over HTTP."""
    with serving(embedded().app) as url:
        yield url


@pytest.fixture(scope="session", params=["embedded", "http"])
def funcs(request: pytest.FixtureRequest) -> Iterator[Session]:
    """A session with the demo service: in process, and over HTTP."""
    over_http = request.param == "http"
    where = {"where": request.getfixturevalue("service_url"), "token": embedded().token} if over_http else {}
    session = jf.connect(**where)
    yield session
    session.close()


@pytest.fixture
def answering() -> Callable[..., Session]:
    """Give a session with a service that answers each request as a function of the test's says."""

    def connect(answer: Callable[[httpx.Request], httpx.Response], token: Any = "a-token-of-the-tests") -> Session:
        return jf.connect("https://service.example", token=token, transport=httpx.MockTransport(answer))

    return connect


@pytest.fixture
def no_hang() -> Iterator[None]:
    """Let a pattern that backtracks for ever fail its test, and not hang the run."""

    def stop(_number: int, _frame: object) -> None:
        pytest.fail("the text was not read to its end", pytrace=False)

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
