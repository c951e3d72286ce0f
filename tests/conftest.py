"""The service that the tests talk to: the embedded one, in process and over HTTP on a free port of this machine."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import itertools
import os
import re
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx
import hypothesis
import pytest
import uvicorn

import jupyter_funcs as jf
from jupyter_funcs import history, retries
from jupyter_funcs.service import companies, demo, embedded, state
from jupyter_funcs.service.app import create_app
from jupyter_funcs.service.auth import Auth
from jupyter_funcs.service.engine import DuckDBEngine
from jupyter_funcs.service.grants import Grants
from jupyter_funcs.service.keys import SigningKeys
from jupyter_funcs.service.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jupyter_funcs.session import Session

# Set on import: the notebooks' kernels and the servers that tests start take it over, and generate the data once.
_CACHE = None if "FUNCS_CACHE_DIR" in os.environ else tempfile.TemporaryDirectory(prefix="funcs-cache-")
if _CACHE is not None:
    os.environ["FUNCS_CACHE_DIR"] = _CACHE.name
# No developer's favourites and presets in the tests, and none of the tests' among theirs.
_FAVOURITES = tempfile.TemporaryDirectory(prefix="funcs-favourites-")
os.environ["FUNCS_RESULTS_DIR"] = f"{_FAVOURITES.name}/results"
os.environ["FUNCS_FAVOURITES"] = f"{_FAVOURITES.name}/favourites.json"
os.environ["FUNCS_PRESETS"] = f"{_FAVOURITES.name}/presets.toml"
for _name in ("FUNCS_BASE_URL", "FUNCS_TOKEN", "FUNCS_API_KEY", "FUNCS_PROFILE", "FUNCS_CONFIG"):
    os.environ.pop(_name, None)
# A process of pytest-xdist runs `python -m pytest` too: pyspark ends one whose main module says nothing of itself.
if "PYTEST_XDIST_WORKER" in os.environ:
    sys.modules["__main__"].__spec__ = importlib.util.find_spec("pytest.__main__")

# A shell's background job ignores interrupts, and so would the processes that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No example fails for the time that it takes: what else the machine does is in it, and the other process of -n 2.
hypothesis.settings.register_profile("no clock", hypothesis.settings.default, deadline=None)
hypothesis.settings.load_profile("no clock")

PANEL = "Demo Card Panel"
SYMBOL = "BKQU US EQUITY"


ALL_FAULTS = range(1, 121)


_NAMED = re.compile(r"(?:FAULTS(?:\.md)?|Rows?) (\d+(?:(?:-|, | and )\d+)*)")


def faults_of(item: pytest.Item) -> set[int]:
    """Give the rows of the catalogue that a test names in its words (``FAULTS 24, 25``), a case by its id or a mark."""
    numbers = {number for mark in item.iter_markers("fault") for number in mark.args}
    for named in _NAMED.findall(getattr(getattr(item, "function", None), "__doc__", None) or ""):
        for one in re.split(", | and ", named):
            first, _, last = one.partition("-")
            numbers.update(range(int(first), int(last or first) + 1))
    if "fault" in item.nodeid.partition("::")[0] and (case := re.search(r"\[(\d+)[ -]", item.name)):
        numbers.add(int(case[1]))
    return numbers


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        # As properties, which a test process sends along with its report.
        item.user_properties.extend(("fault", number) for number in sorted(faults_of(item)))
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.timeout(1800))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Report the catalogue of faults, row by row, after a run of the whole suite."""
    if config.option.file_or_dir or config.option.keyword:
        return
    passed: Counter[int] = Counter()
    failed: set[int] = set()
    for outcome, reports in terminalreporter.stats.items():
        for report in reports:
            numbers = {number for name, number in getattr(report, "user_properties", ()) if name == "fault"}
            if outcome == "passed" and report.when == "call":
                passed.update(numbers)
            elif outcome in {"failed", "error"}:
                failed |= numbers
    terminalreporter.section("faults, by their number in the catalogue")
    for number in ALL_FAULTS:
        said = f"{passed[number]} passed" if passed[number] else "no test"
        terminalreporter.write(
            f"{number}: {'FAILED' if number in failed else said}".ljust(18) + "\n" * (number % 6 == 0)
        )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each process of `pytest -n 2` whole files, which share servers and kernels, and the browser's all to one."""
    from xdist.scheduler import LoadFileScheduling

    class Rooms(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            folder = file.rpartition("/")[0]
            return folder if folder.endswith("browser") else file

    # In the order of collection: the browser's few tests take the longest, and would come last by their number.
    config.option.loadscopereorder = False
    return Rooms(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    # What is collected stays to the end: there is no garbage among it to look for, now or later.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


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


class Service(NamedTuple):
    """A service with accounts of its own."""

    url: str
    auth: Auth
    grants: Grants


@contextlib.contextmanager
def serving_accounts() -> Iterator[Service]:
    """Serve the demo's functions over HTTP with the demo's users, whose accounts a test may change."""
    grants = Grants(seed=state.seed_demo)
    auth = Auth(SigningKeys.in_memory(), grants)
    engine = DuckDBEngine(companies.reference(), demo.cards)
    with serving(create_app(Registry(demo.published(), author=demo.AUTHOR), auth, grants, engine)) as url:
        yield Service(url, auth, grants)


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


@pytest.fixture(autouse=True)
def _quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what is sent again be sent at once, and let no test pay for what another has broken."""
    monkeypatch.setattr(retries, "_FIRST_PAUSE", 0.001)
    for health in retries._HEALTH.values():
        health.budget, health.breaker = retries.Budget(), retries.Breaker()


@pytest.fixture(autouse=True)
def _no_history(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test begin with a history of its own: sessions with one service share theirs; none is kept in a file."""
    kept = Path(_FAVOURITES.name) / "history.sqlite"
    kept.unlink(missing_ok=True)
    monkeypatch.setenv("FUNCS_HISTORY", str(kept))
    history._logs.clear()


_numbers = itertools.count()


@pytest.fixture(autouse=True)
def _no_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test begin without kept results; the folder is made by what is kept in it."""
    monkeypatch.setenv("FUNCS_RESULTS_DIR", f"{_FAVOURITES.name}/results-{next(_numbers)}")


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
