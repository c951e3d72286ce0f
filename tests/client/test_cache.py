"""The cache: the same call isn't sent twice, another one is, and no problem of the disk makes a run fail."""

from __future__ import annotations

import base64
import dataclasses
import json
import os
import stat
import subprocess
import sys
import threading
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import jupyter_funcs as jf
from jupyter_funcs.catalog.listing import Function
from jupyter_funcs.client import remote
from jupyter_funcs.client.cache import Cache, run_keys
from jupyter_funcs.client.options import CallOptions
from jupyter_funcs.client.status import CacheStatus, span
from jupyter_funcs.connection.profiles import Connection
from jupyter_funcs.connection.secrets import Secret
from jupyter_funcs.core.files import own_path
from jupyter_funcs.frames.frame import to_frame
from tests.faults.canary import CANARY, leaks
from tests.panel.page import Page, state
from tests.shells import interactive_shell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from jupyter_funcs.api import Session

POSIX = pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
LISTING: list[dict[str, Any]] = [
    {
        "name": "F",
        "id": 1,
        "params": [{"name": "a", "type": 0, "description": "A text."}],
    },
    {
        "name": "G",
        "id": 2,
        "params": [{"name": "a", "type": 0, "description": "A text."}],
    },
]


class Counting:
    """A service that returns its argument, and counts its runs."""

    def __init__(self) -> None:
        self.runs = 0
        self.listing = LISTING

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("ListUserFunctions"):
            return httpx.Response(200, json=self.listing)
        self.runs += 1
        call = json.loads(request.content)
        return httpx.Response(
            200,
            json={
                "error": None,
                "body": json.dumps([{"of": call["FunctionName"], **call["Args"]}]),
            },
        )


def jwt(**claims: Any) -> str:
    parts = [json.dumps(part).encode() for part in ({"alg": "none"}, claims)]
    return ".".join(
        [base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts]
        + ["signature"]
    )


def frame(text: str = "x") -> Any:
    made = to_frame(json.dumps([{"a": text}]))
    made.attrs["funcs"]["time"] = "2024-01-01T00:00:00+00:00"
    return made


def connection(**changes: Any) -> Connection:
    return dataclasses.replace(
        Connection("work", "https://service.example", lambda: Secret("x")), **changes
    )


# The same call


def test_the_same_call_is_not_sent_twice(answering: Callable[..., Session]) -> None:
    """With cache=True, a second call returns the first result, and says when that ran."""
    service = Counting()
    function = answering(service)["F"].with_options(cache=True)
    first = function(a="1")
    second = function(a="1")
    assert service.runs == 1
    assert second.equals(first)
    assert "cached" not in first.attrs["funcs"]
    assert second.attrs["funcs"] == {
        **first.attrs["funcs"],
        "cached": first.attrs["funcs"]["time"],
    }
    json.dumps(second.attrs)
    assert function(a="2")["a"][0] == "2"
    assert service.runs == 2


def test_another_session_of_the_same_user_takes_it_too(
    answering: Callable[..., Session],
) -> None:
    """Results are on disk: a later session of the same user, with another token, finds them."""
    service = Counting()
    answering(service, jwt(sub="ann", exp=time.time() + 6000))["F"].with_options(
        cache=True
    )(a="1")
    answering(service, jwt(sub="ann", exp=time.time() + 9000))["F"].with_options(
        cache=True
    )(a="1")
    assert service.runs == 1
    answering(service, jwt(sub="bob", exp=time.time() + 9000))["F"].with_options(
        cache=True
    )(a="1")
    assert service.runs == 2


def test_without_the_option_a_call_is_sent_and_nothing_kept(
    answering: Callable[..., Session],
) -> None:
    """A single call uses the cache only with cache=True."""
    service = Counting()
    session = answering(service)
    for options in ({}, {"cache": False}, {"cache": None}):
        session["F"].with_options(**options)(a="1")
    assert service.runs == 3
    assert not session.cache.folder.exists()


def test_a_result_that_is_too_old_is_asked_for_anew(
    answering: Callable[..., Session],
) -> None:
    """`max_age` limits the age of a result in seconds; a new run replaces it."""
    service = Counting()
    function = answering(service)["F"].with_options(cache=True)
    function(a="1")
    time.sleep(0.01)
    function.with_options(max_age=0.001)(a="1")
    assert service.runs == 2
    function(a="1")
    assert service.runs == 2


def test_a_function_that_is_listed_otherwise_is_run_anew(
    answering: Callable[..., Session],
) -> None:
    """The key includes the function as listed, except for its position."""
    service = Counting()
    session = answering(service)
    session["F"].with_options(cache=True)(a="1")
    service.listing = [{"name": "New", "id": 3, "params": []}, *LISTING]
    session.refresh()["F"].with_options(cache=True)(a="1")
    assert service.runs == 1
    service.listing = [{**LISTING[0], "description": "Gives something else now."}]
    session.refresh()["F"].with_options(cache=True)(a="1")
    assert service.runs == 2


def test_a_run_that_fails_is_not_kept(answering: Callable[..., Session]) -> None:
    """Each call fails again; only results are cached."""
    runs = []

    def answer(_: httpx.Request) -> httpx.Response:
        runs.append(1)
        return httpx.Response(200, json={"error": "no such thing", "body": None})

    function = answering(answer, listing=LISTING)["F"].with_options(cache=True)
    for _ in range(2):
        with pytest.raises(jf.FunctionError):
            function(a="1")
    assert len(runs) == 2


def test_every_part_of_the_question_is_in_the_key(tmp_path: Path) -> None:
    """Another service, profile, user, token, function, argument or schema is another key; another order isn't."""
    cache = Cache(tmp_path)
    options = CallOptions()
    function = Function.read(LISTING[0])

    def key(
        where: Connection | None = None,
        token: str = "opaque-token-of-one",
        of: Function = function,
        args: dict[str, Any] | None = None,
        **changes: Any,
    ) -> str:
        identity = cache.identity(where or connection(), Secret(token))
        return run_keys(
            identity, of, options.changed(**changes), [args or {"a": "1", "b": ["x"]}]
        )[0]

    others = [
        key(),
        key(connection(base_url="https://other.example")),
        key(connection(where="work")),
        key(connection(header="X-Api-Key")),
        key(connection(synthetic=True)),
        key(token="opaque-token-of-another"),
        key(token=jwt(sub="ann")),
        key(token=jwt(sub="bob")),
        key(token=jwt(name="ann")),
        key(of=Function.read(LISTING[1])),
        key(of=Function.read({**LISTING[0], "uniqueId": "2"})),
        key(args={"a": "1"}),
        key(args={"a": "1", "b": ["y"]}),
        key(args={"a": 1, "b": ["x"]}),
        key(args={"a": 1.0, "b": ["x"]}),
        key(args={"a": True, "b": ["x"]}),
        key(schema={"a": "string", "b": "any"}),
        key(schema={"b": "any", "a": "string"}),
    ]
    assert len(set(others)) == len(others)
    assert (
        key()
        == key(args={"b": ["x"], "a": "1"})
        == key(timeout=3, max_age=5, cache=True)
    )
    assert key(token=jwt(sub="ann")) == key(token=jwt(sub="ann", exp=5, jti="7"))
    assert Cache(tmp_path).identity(
        connection(), Secret("opaque-token-of-one")
    ) == cache.identity(connection(), Secret("opaque-token-of-one"))
    other = Cache(tmp_path / "other")
    assert other.identity(connection(), Secret("opaque-token")) != cache.identity(
        connection(), Secret("opaque-token")
    )


@POSIX
def test_what_is_kept_is_for_its_user_alone(tmp_path: Path) -> None:
    """Nobody else can read the folder and the salt."""
    cache = Cache(tmp_path / "results")
    cache.put("it", frame())
    assert stat.S_IMODE(cache.folder.stat().st_mode) == 0o700
    cache.identity(connection(), Secret("opaque-token"))
    assert stat.S_IMODE((cache.folder / "salt").stat().st_mode) == 0o600


def test_a_broken_salt_is_made_anew(tmp_path: Path) -> None:
    """A truncated salt is replaced."""
    (tmp_path / "salt").write_bytes(b"short")
    first = Cache(tmp_path).identity(connection(), Secret("opaque-token"))
    assert Cache(tmp_path).identity(connection(), Secret("opaque-token")) == first
    assert len((tmp_path / "salt").read_bytes()) == 32


def test_no_file_of_the_cache_holds_the_token(
    answering: Callable[..., Session],
) -> None:
    """No file contains the token, a part of it, or an unsalted hash; a result that echoes the token is not cached."""
    import hashlib

    def answer(request: httpx.Request) -> httpx.Response:
        [value] = json.loads(request.content)["Args"].values()
        token = request.headers["Authorization"].removeprefix("Bearer ")
        rows = [{"a": value}] if value == "1" else [{"a": f"it was {token}"}]
        return httpx.Response(200, json={"error": None, "body": json.dumps(rows)})

    session = answering(answer, CANARY, LISTING)
    function = session["F"].with_options(cache=True)
    for value in ("1", "2", "2"):
        function(a=value)
    files = [path for path in session.cache.folder.iterdir() if path.is_file()]
    assert sorted(path.suffix for path in files) == ["", ".parquet"]
    for path in files:
        text = path.read_bytes().decode("latin-1")
        assert leaks(text) == [], path
        assert hashlib.sha256(CANARY.encode()).hexdigest() not in text
    assert session.cache.status().runs == 1


def test_a_source_of_tokens_that_hangs_is_not_waited_for(
    answering: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token is needed for the key of a result; waiting for it has a time limit too."""
    hangs: list[bool] = []
    ended = threading.Event()

    def give() -> str:
        if hangs:
            ended.wait(60)
        return "a-token-of-the-tests"

    function = answering(Counting(), token=give)["F"].with_options(cache=True)
    hangs.append(True)
    monkeypatch.setattr(remote, "LIST_SECONDS", 0.2)
    try:
        with pytest.raises(jf.DeadlineError, match="token's source"):
            function(a="1")
    finally:
        ended.set()


# Problems of the disk


def test_a_cache_that_cannot_be_written_fails_nothing(
    answering: Callable[..., Session], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FAULTS.md 117: with a file in place of the folder the run returns its result, and one warning says why."""
    (tmp_path / "file").write_text("mine")
    monkeypatch.setenv("FUNCS_RESULTS_DIR", str(tmp_path / "file" / "results"))
    service = Counting()
    session = answering(service)
    function = session["F"].with_options(cache=True)
    with pytest.warns(
        UserWarning,
        match=r"^Results are not cached on disk: Not a directory \(.*results\)\.$",
    ) as caught:
        values = [function(a="1")["a"][0] for _ in range(3)]
    assert values == ["1"] * 3
    assert len(caught) == 1
    assert service.runs == 3
    assert "Not a directory" in repr(session.cache.status())
    assert (tmp_path / "file").read_text() == "mine"


def test_a_cache_that_can_be_written_again_keeps_again(tmp_path: Path) -> None:
    """A problem is not permanent: the next write tries again."""
    (tmp_path / "results").write_text("in its place")
    cache = Cache(tmp_path / "results")
    with pytest.warns(UserWarning, match="not cached"):
        cache.put("it", frame())
    (tmp_path / "results").unlink()
    cache.put("it", frame())
    assert cache.trouble == ""
    assert cache.get("it", 60) is not None


@pytest.mark.slow
def test_without_pyarrow_there_is_no_cache(tmp_path: Path) -> None:
    """Without pyarrow, runs work, and one warning says what to install."""
    program = """
import os, sys, warnings
sys.modules["pyarrow"] = None
import jupyter_funcs as jf
from tests.client.test_cache import service
os.environ["FUNCS_RESULTS_DIR"] = sys.argv[1]
function = jf.connect("https://service.example", token="a-token", transport=service())["F"]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(2):
        print(function.with_options(cache=True)(a="1").loc[0, "a"])
    print(function.session.cache.status())
    print(function.session.cache.clear())
print([str(warning.message) for warning in caught])
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "results")],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1\n1\n"), done.stdout
    assert (
        done.stdout.count(
            "['Results are not cached on disk: pyarrow is not installed (pip install pyarrow).']"
        )
        == 1
    )
    # Hashing of tokens, which the last listing needs too.
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["salt"]


def service() -> httpx.MockTransport:
    return httpx.MockTransport(Counting())


FILLS = """
import json, resource, sys, warnings
from pathlib import Path
from jupyter_funcs.client.cache import Cache
from jupyter_funcs.frames.frame import to_frame

cache = Cache(Path(sys.argv[1]))
frame = to_frame(json.dumps([{"a": at, "b": f"{at * 7919}"} for at in range(400)]))
cache.put("before", frame)
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for turn in range(2):
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, hard))
        writer = cache.writer()
        kept = [writer.add(f"{turn} {at}", frame) for at in range(5)]
        writer.close()
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        assert not all(kept), kept
        assert writer.trouble.startswith("File too large"), writer.trouble
assert cache.get("before", 60).equals(frame)
assert cache.find([f"{turn} {at}" for turn in range(2) for at in range(5)], 60) == {}
assert len(list(Path(sys.argv[1]).iterdir())) == 1
cache.put("after", frame)
assert cache.get("after", 60).equals(frame) and not cache.trouble
print([str(warning.message) for warning in caught])
"""


@pytest.mark.slow
@POSIX
def test_a_full_disk_leaves_what_was_kept(tmp_path: Path) -> None:
    """FAULTS.md 117: with a full disk the old results stay, no part of a new one is left, and there is one warning."""
    done = subprocess.run(
        [sys.executable, "-c", FILLS, str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    assert (
        done.stdout
        == f"['Results are not cached on disk: File too large ({tmp_path}).']\n"
    )


def test_a_killed_kernel_loses_a_few_seconds_and_the_files_are_few_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one result per second, others can read all but the last five; once closed, they are in one file."""
    now = 0.0
    monkeypatch.setattr(
        "jupyter_funcs.frames.parquet.time", SimpleNamespace(monotonic=lambda: now)
    )
    writer = Cache(tmp_path).writer()
    other = Cache(tmp_path)
    for now in map(float, range(60)):
        writer.add(f"{now}", frame())
        assert other.status().runs > now - 5
    assert other.status().files > 8
    writer.close()
    assert (other.status().runs, other.status().files) == (60, 1)


def test_what_goes_while_it_is_read_is_run_again(
    answering: Callable[..., Session],
) -> None:
    """If another process deletes or damages files between finding and reading, the run is sent again."""
    service = Counting()
    session = answering(service)
    function = session["F"].with_options(cache=True)
    function(a="1")
    find = session.cache.find

    def removes(*keys: Any) -> Any:
        there = find(*keys)
        for path in session.cache.folder.glob("*.parquet"):
            path.unlink()
        return there

    session.cache.find = removes  # type: ignore[method-assign]
    assert function(a="1")["a"][0] == "1"
    assert service.runs == 2


def test_the_clock_may_go_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A result from the future is not used, because its age is unknown; up to a minute doesn't matter."""
    cache = Cache(tmp_path)
    cache.put("it", frame())
    now = time.time()
    for ahead, there in {30: True, 3600: False}.items():
        monkeypatch.setattr(time, "time", lambda ahead=ahead: now - ahead)
        assert bool(cache.find(["it"], 60)) == there


# Its limits, and its display


def test_the_cache_stays_within_its_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the limits of bytes and results, the oldest are deleted, and so are those that are too old."""
    cache = Cache(tmp_path, most=4000)
    for at in range(12):
        cache.put(str(at), frame(f"{at}"))
        time.sleep(0.002)
    status = cache.status()
    assert 0 < status.size <= 4000
    assert "11" in cache.find(["11"], 60)
    assert "0" not in cache.find(["0"], 60)
    monkeypatch.setattr("jupyter_funcs.client.cache._MOST_RESULTS", 1)
    cache.put("new", frame())
    assert cache.status().runs == 1
    later = time.time() + 31 * 86_400
    monkeypatch.setattr(time, "time", lambda: later)
    cache.trim()
    assert cache.status().runs == 0


def test_the_status_says_what_there_is(tmp_path: Path) -> None:
    """`%funcs cache` shows the folder, number, size and age; hostile paths are inert and escaped."""
    cache = Cache(tmp_path / "<b>\u202e")
    assert "holds     nothing" in repr(cache.status())
    cache.put("it", frame())
    status = repr(cache.status())
    assert "1 result, " in status
    assert " in 1 file" in status
    assert "2.1 GB in total, 30 days each" in status
    assert "0 s old" in status
    assert "\u202e" not in status
    assert "<b>" not in cache.status()._repr_html_()
    cleared = cache.clear()
    assert repr(cleared).startswith("removed   1 result, ")
    assert (cleared.runs, cleared.files, cleared.size) == (0, 0, 0)
    assert cache.get("it", 60) is None
    assert repr(cache.clear()).startswith("removed   0 results, 0 bytes")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0 s"),
        (59.9, "59 s"),
        (60, "1 minute"),
        (7300, "2 hours"),
        (90_000, "1 day"),
    ],
)
def test_ages_are_in_units_of_people(seconds: float, text: str) -> None:
    assert span(seconds) == text


def test_the_folder_is_the_users_own_unless_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FUNCS_RESULTS_DIR names the folder; by default it is the user's cache, never below the working directory."""
    monkeypatch.setenv("FUNCS_RESULTS_DIR", str(tmp_path))
    assert own_path("results") == tmp_path
    monkeypatch.delenv("FUNCS_RESULTS_DIR")
    assert own_path("results").is_absolute()
    assert own_path("results").parts[-2:] == ("jupyter_funcs", "results")


def test_the_panel_says_what_came_from_the_cache(
    answering: Callable[..., Session],
) -> None:
    """The summary of a cached result says so, and there is no reply to show; other results have their reply."""
    panel = answering(Counting())["F"].with_options(cache=True).panel(a="1")
    page = Page(panel)
    for is_cached in (False, True):
        panel.run()
        panel.result(60)
        result = state(panel)["result"]
        assert (" · from the cache (" in result["summary"]) == is_cached
        kept = "This result is kept as a table, without a JSON reply."
        assert result["noJson"] == (kept if is_cached else "")
        assert (
            "error" in page.ask("json", run=result["number"], path=[], **{"from": 0})
        ) == is_cached
    panel.close()


@pytest.fixture
def run() -> Iterator[Callable[[str], Any]]:
    with interactive_shell() as shell:
        shell.run_line_magic("load_ext", "jupyter_funcs")
        yield lambda line: shell.run_line_magic("funcs", line)


def test_the_magic_shows_and_clears_it_without_a_service(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`%funcs cache` and `%funcs cache clear` work without a connection; any other word is refused."""
    monkeypatch.setenv("FUNCS_BASE_URL", "https://nowhere.example")
    Cache().put("it", frame())
    assert isinstance(run("cache"), CacheStatus)
    assert run("cache").runs == 1
    for wrong, hint in {
        "cache claer": "clear",
        "cache now": "cache clear",
        "cache clear all": "clear",
    }.items():
        with pytest.raises(jf.ArgumentError, match=hint):
            run(wrong)
    assert run("cache clear").removed[0] == 1
    assert run("cache").runs == 0
