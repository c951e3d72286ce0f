"""What every test has: folders and histories of its own, a session with the demo, and the report of the faults."""

from __future__ import annotations

import asyncio
import gc
import importlib
import importlib.util
import io
import itertools
import json
import logging
import os
import re
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import psutil
import pytest

import jupyter_funcs as jf
from jupyter_funcs.connection import retries
from jupyter_funcs.core import background
from jupyter_funcs.records import history
from tests.examples import examples, row_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import httpx

    from jupyter_funcs.api import Session

# Tests start many processes, each of which would compile the package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Set on import: the notebooks' kernels and the servers that tests start take it over, and generate the data once.
_CACHE = (
    None
    if "FUNCS_CACHE_DIR" in os.environ
    else tempfile.TemporaryDirectory(prefix="funcs-cache-")
)
if _CACHE is not None:
    os.environ["FUNCS_CACHE_DIR"] = _CACHE.name
# Tests don't see a developer's favourites and presets, and don't change them.
_FAVOURITES = tempfile.TemporaryDirectory(prefix="funcs-favourites-")
os.environ["FUNCS_RESULTS_DIR"] = f"{_FAVOURITES.name}/results"
os.environ["FUNCS_FAVOURITES"] = f"{_FAVOURITES.name}/favourites.json"
os.environ["FUNCS_PRESETS"] = f"{_FAVOURITES.name}/presets.toml"
for _name in (
    "FUNCS_BASE_URL",
    "FUNCS_TOKEN",
    "FUNCS_API_KEY",
    "FUNCS_PROFILE",
    "FUNCS_CONFIG",
):
    os.environ.pop(_name, None)
# A process of pytest-xdist runs `python -m pytest` too: pyspark ends one without a `__main__.__spec__`.
if "PYTEST_XDIST_WORKER" in os.environ:
    sys.modules["__main__"].__spec__ = importlib.util.find_spec("pytest.__main__")

# A shell's background job ignores interrupts, and so would the processes that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No example fails for the time that it takes: what else the machine does is in it, and the other processes of -n 3.
hypothesis.settings.register_profile(
    "no clock", hypothesis.settings.default, deadline=None, max_examples=examples(100)
)
hypothesis.settings.load_profile("no clock")

# All of them are slow, and none can be imported without the browser's driver.
WITH_BROWSER = ["browser", "test_binder.py"]
collect_ignore = [] if importlib.util.find_spec("playwright") else WITH_BROWSER


def pytest_report_header() -> str:
    return f"not collected without Playwright, pip install -e '.[check]': {', '.join(collect_ignore) or 'nothing'}"


PANEL = "Demo Card Panel"
SYMBOL = "BKQU US EQUITY"


ALL_FAULTS = range(1, 166)


_NAMED = re.compile(r"(?:FAULTS(?:\.md)?|Rows?) (\d+(?:(?:-|, | and )\d+)*)")


def faults_of(item: pytest.Item) -> list[int]:
    """Return the catalogue rows that a test names, in its docstring (``FAULTS 24, 25``), a mark or its id."""
    test = getattr(item, "function", None)
    numbers = {number for mark in item.iter_markers("fault") for number in mark.args}
    for named in _NAMED.findall(getattr(test, "__doc__", None) or ""):
        for span in re.split(", | and ", named):
            first, _, last = span.partition("-")
            numbers.update(range(int(first), int(last or first) + 1))
    if "fault" not in item.nodeid.partition("::")[0]:
        return sorted(numbers)
    if row := re.match(r"(\d+)[ -]", item.name.partition("[")[2]):
        numbers.add(int(row[1]))
    return sorted(numbers)


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name a row by the text, list or dictionary in it where it has no name of its own; pytest names the rest."""
    if isinstance(val, str | list | tuple | dict) and _is_json(val):
        return row_id(val)
    return None


def _is_json(value: object) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # First the top-level files and the notebooks: the longest, which should not be left for the end.
    items.sort(
        key=lambda item: item.nodeid.startswith("tests/") and item.nodeid.count("/") > 1
    )
    for item in items:
        # As properties, which a test process sends along with its report.
        item.user_properties.extend(("fault", number) for number in faults_of(item))
        # The panel asks the same session either way, and the other packages' tests ask it both ways.
        over_http = item.nodeid.startswith("tests/panel/") and "[http" in item.nodeid
        # The other notebooks need matplotlib, and each a kernel of its own.
        if over_http or (
            item.nodeid.startswith("notebooks/") and "/panel.ipynb" not in item.nodeid
        ):
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("slow"):
            item.add_marker(
                pytest.mark.timeout(
                    600 if item.nodeid.startswith("tests/browser/") else 1800
                )
            )


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Report the catalogue of faults, row by row, after a run of the whole suite."""
    if config.option.file_or_dir or config.option.keyword:
        return
    passed: Counter[int] = Counter()
    failed: set[int] = set()
    for outcome, reports in terminalreporter.stats.items():
        for report in reports:
            numbers = [
                number
                for name, number in getattr(report, "user_properties", ())
                if name == "fault"
            ]
            if outcome == "passed" and report.when == "call":
                passed.update(numbers)
            elif outcome in {"failed", "error"}:
                failed.update(numbers)
    terminalreporter.section("faults, by their number in the catalogue")
    for number in ALL_FAULTS:
        result = f"{passed[number]} passed" if passed[number] else "no test"
        terminalreporter.write(
            f"{number}: {'FAILED' if number in failed else result}".ljust(18)
            + "\n" * (number % 6 == 0)
        )


def pytest_sessionstart(session: pytest.Session) -> None:
    # While the processes of -n 3 collect: otherwise the first ones that need the data generate it together.
    chosen = session.config.option
    if (
        getattr(chosen, "numprocesses", 0)
        and not chosen.file_or_dir
        and not chosen.keyword
    ):
        from jupyter_funcs.service.builtin import demo

        threading.Thread(target=demo.spend_file, daemon=True).start()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    # Collected items stay to the end, so the garbage collector needn't look at them.
    gc.disable()
    try:
        return (yield)
    finally:
        # Among them are users of these thousands of classes.
        if session.testscollected > 1000:
            importlib.import_module("ibis.backends.duckdb")
        gc.enable()
        gc.freeze()
        # A twentieth of the time goes into looking for garbage otherwise.
        gc.set_threshold(100_000, 20, 20)


@pytest.fixture(autouse=True, scope="module")
def garbage_of_other_files() -> None:
    """Collect what earlier files left: a token that is still in memory is masked in every text."""
    gc.collect()
    # What is left are caches, which the next collections need not look through.
    gc.freeze()


def pytest_sessionfinish() -> None:
    if _CACHE is not None:
        _CACHE.cleanup()
    _FAVOURITES.cleanup()


@pytest.fixture(scope="session")
def service_url() -> Iterator[str]:
    """The address of the demo service, over HTTP."""
    from jupyter_funcs.service import embedded
    from tests.servers import serving

    with serving(embedded().app) as url:
        yield url


@pytest.fixture(scope="session", params=["embedded", "http"])
def funcs(request: pytest.FixtureRequest) -> Iterator[Session]:
    """A session with the demo service: in process, and over HTTP."""
    from jupyter_funcs.service import embedded

    if request.param == "http":
        session = jf.connect(
            request.getfixturevalue("service_url"), token=embedded().token
        )
    else:
        session = jf.connect()
    yield session
    session.close()


_HISTORY = Path(_FAVOURITES.name) / "history.sqlite"
_numbers = itertools.count()


# One fixture of all: a fixture of its own takes longer than what these do, once for each test.
@pytest.fixture(autouse=True)
def _start_afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry at once, and hide from each test what another has broken, sent or kept."""
    monkeypatch.setattr(retries, "_FIRST_PAUSE", 0.001)
    for health in retries.HEALTH.values():
        health.budget = retries.Budget()
        health.breaker = retries.Breaker()
    # Sessions with one service share their history; none is kept in a file.
    _HISTORY.unlink(missing_ok=True)
    monkeypatch.setenv("FUNCS_HISTORY", str(_HISTORY))
    history._logs.clear()
    # The folder is made by what is kept in it.
    monkeypatch.setenv(
        "FUNCS_RESULTS_DIR", f"{_FAVOURITES.name}/results-{next(_numbers)}"
    )


@pytest.fixture
def answering() -> Callable[..., Session]:
    """Return a session with a service that answers as a function of the test's says: each request, or each run."""

    import httpx

    def connect(
        answer: Callable[[httpx.Request], httpx.Response],
        token: Any = "a-token-of-the-tests",
        listing: list[dict[str, Any]] | bytes | str | None = None,
    ) -> Session:
        def listed(request: httpx.Request) -> httpx.Response:
            if request.url.path.endswith("runFunction"):
                return answer(request)
            if isinstance(listing, list):
                return httpx.Response(200, json=listing)
            return httpx.Response(200, content=listing)

        return jf.connect(
            "https://service.example",
            token=token,
            transport=httpx.MockTransport(answer if listing is None else listed),
        )

    return connect


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """Everything that any library logs, down to DEBUG."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield text
    root.removeHandler(handler)
    root.setLevel(before)


def tasks() -> int:
    """Return the number of tasks of the background loop, without the one that counts."""

    async def count() -> int:
        return len(asyncio.all_tasks()) - 1

    return background.wait(background.start(count()), 5)


def wait_until(true: Callable[[], bool]) -> None:
    """Wait until it is true, so long that only what never comes true fails."""
    ends = time.monotonic() + 120
    while not true():
        assert time.monotonic() < ends, "It did not come true within 120 s."
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    """Return whether a process runs; one that has ended may wait for its parent to ask."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


# How long a pattern may take that would backtrack for ever, in seconds.
PATIENCE = 120


@pytest.fixture
def no_hang() -> Iterator[None]:
    """Let a pattern that backtracks for ever fail its test, and not hang the run."""

    def hangs(_number: int, _frame: object) -> None:
        pytest.fail("the text was not read to its end", pytrace=False)

    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(PATIENCE)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
