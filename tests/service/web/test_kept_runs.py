"""Kept runs: a run continues without its caller, and its result waits for them (FAULTS.md 164)."""

from __future__ import annotations

import contextlib
import errno
import threading
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.service.accounts import kept_records
from jupyter_funcs.service.accounts.auth import Auth
from jupyter_funcs.service.accounts.grants import Grants
from jupyter_funcs.service.accounts.kept_records import KeptLimits, KeptRecords
from jupyter_funcs.service.accounts.signing_keys import SigningKeys
from jupyter_funcs.service.builtin import companies, demo
from jupyter_funcs.service.engine.duckdb_engine import DuckDBEngine
from jupyter_funcs.service.publishing.registry import (
    PublishedFunction,
    Registry,
    function,
)
from jupyter_funcs.service.web.app import create_app
from jupyter_funcs.service.web.runs import Limits
from tests.service.conftest import RUN, becomes, published, served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

RUNS = "/api/runs"
ARROW = "application/vnd.apache.arrow.stream"


class Kept:
    """A service that keeps runs, over HTTP; `t` calls."""

    def __init__(
        self, folder: Path, *functions: PublishedFunction, **limits: Any
    ) -> None:
        self.folder = folder / "runs"
        self.grants = Grants(folder / "accounts.sqlite", self._seed)
        self.records = KeptRecords(
            self.grants.database, folder / "runs", KeptLimits(**limits)
        )
        auth = Auth(SigningKeys.in_memory(), self.grants)
        engine = DuckDBEngine(companies.reference(), demo.cards)
        registry = Registry(functions, author="t")
        limits_of_runs = Limits(runs_a_user=2)
        self.app = create_app(
            registry,
            auth,
            self.grants,
            engine,
            limits=limits_of_runs,
            kept=self.records,
        )
        self.tokens = {name: auth.issue(name, 1) for name in ("t", "u")}
        self.url = ""

    @staticmethod
    def _seed(grants: Grants) -> None:
        grants.add_asset("a", organisation="t", is_shared=True)
        for name in ("t", "u"):
            grants.add_user(name, organisation="t", email=f"{name}@t.example")

    def results(self) -> set[str]:
        """Return the names of its files, but for locks."""
        return {path.name for path in self.folder.glob("*") if path.is_file()} - {
            path.name for path in self.folder.glob("*.lock")
        }

    def ask(
        self, method: str, path: str, user: str = "t", **options: Any
    ) -> httpx.Response:
        headers = {
            "Authorization": f"Bearer {self.tokens[user]}",
            **options.pop("headers", {}),
        }
        options = {"timeout": 60, **options}
        return httpx.request(method, self.url + path, headers=headers, **options)

    def begin(self, name: str, key: str, **options: Any) -> httpx.Response:
        body = {"FunctionName": name, "Args": options.pop("args", {}), "key": key}
        return self.ask("POST", RUNS, json=body, **options)

    def look(self, key: str, wait: float = 20, user: str = "t") -> Any:
        return self.ask("GET", f"{RUNS}/{key}?wait={wait}", user).json()

    def prefer(
        self, name: str, key: str, wait: float, **options: Any
    ) -> httpx.Response:
        headers = {"Prefer": f"respond-async, wait={wait}", "Idempotency-Key": key}
        return self.ask(
            "POST", RUN, json={"FunctionName": name}, headers=headers, **options
        )


@pytest.fixture
def keeping(tmp_path: Path) -> Iterator[Callable[..., Kept]]:
    """Serve functions of the asset `a` by a service that keeps runs."""
    with contextlib.ExitStack() as ends:

        def serve(*functions: PublishedFunction, **limits: Any) -> Kept:
            kept = Kept(tmp_path, *functions, **limits)
            ends.callback(kept.records.close)
            kept.url = ends.enter_context(served(kept.app))
            return kept

        yield serve


class Held:
    """A function that waits until it is released, and counts its runs."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.begun = threading.Event()
        self.runs = 0

    def published(self, name: str = "Held") -> PublishedFunction:
        def run() -> list[dict[str, int]]:
            self.runs += 1
            self.begun.set()
            self.go.wait(60)
            return [{"n": self.runs}]

        return published(name, run)


QUICK = published("Quick", lambda: [{"n": 1}])


def test_a_kept_run_is_accepted_looked_at_and_fetched_again(
    keeping: Callable[..., Kept],
) -> None:
    kept = keeping(QUICK)
    begun = kept.begin("Quick", "key-00000001")
    assert begun.status_code == 202, begun.text
    assert begun.headers["location"] == f"{RUNS}/key-00000001"
    assert begun.json()["id"] == "key-00000001"
    run = kept.look("key-00000001")
    assert (run["state"], run["rows"], run["FunctionName"]) == ("done", 1, "Quick")
    result = f"{RUNS}/key-00000001/result"
    for _ in range(2):
        reply = kept.ask("GET", result)
        assert reply.json() == {"error": None, "body": '[{"n":1}]'}
    part = kept.ask("GET", result, headers={"Range": "bytes=2-6"})
    assert (part.status_code, part.text) == (206, "error")


@pytest.mark.slow
def test_a_run_that_ends_in_time_is_answered_as_always_and_another_one_is_kept(
    keeping: Callable[..., Kept],
) -> None:
    gate = Held()
    kept = keeping(QUICK, gate.published())
    assert kept.prefer("Quick", "key-00000001", 20).json()["body"] == '[{"n":1}]'
    later = kept.prefer("Held", "key-00000002", 0.2)
    assert later.status_code == 202
    assert later.json()["state"] == "running"
    gate.go.set()
    assert kept.look("key-00000002")["state"] == "done"
    assert kept.prefer("Held", "key-00000002", 20).json()["body"] == '[{"n":1}]'
    assert gate.runs == 1


@pytest.mark.slow
@pytest.mark.fault(164)
def test_a_run_is_found_by_its_key_from_its_first_moment(
    keeping: Callable[..., Kept],
) -> None:
    """Also by its state, while its first caller still waits for it, and after it has ended in time."""
    gate = Held()
    kept = keeping(gate.published())
    replies = []
    waiting = threading.Thread(
        target=lambda: replies.append(kept.prefer("Held", "key-00000001", 20))
    )
    waiting.start()
    assert gate.begun.wait(60)
    for query, states in {
        "key=key-00000001": ["running"],
        "key=key-00000001&state=running": ["running"],
        "key=key-00000001&state=done": [],
        "key=key-00000001&since=2999-01-01": [],
        "key=key-00000002": [],
    }.items():
        [runs] = kept.ask("GET", f"{RUNS}?{query}").json().values()
        assert [run["state"] for run in runs] == states
    assert not kept.ask("GET", f"{RUNS}?key=key-00000001", "u").json()["runs"]
    gate.go.set()
    waiting.join()
    [reply] = replies
    assert reply.json()["body"] == '[{"n":1}]'
    [run] = kept.ask("GET", f"{RUNS}?key=key-00000001").json()["runs"]
    assert (run["state"], run["rows"], run["progress"]) == ("done", 1, None)


@pytest.mark.slow
@pytest.mark.fault(164)
def test_a_run_whose_caller_left_goes_on_and_a_repeated_start_is_the_same_run(
    keeping: Callable[..., Kept],
) -> None:
    gate = Held()
    kept = keeping(gate.published())
    with pytest.raises(httpx.ReadTimeout):
        kept.prefer("Held", "key-00000001", 20, timeout=0.5)
    assert kept.look("key-00000001", wait=0)["state"] == "running"
    assert kept.begin("Held", "key-00000001").json()["state"] == "running"
    gate.go.set()
    assert kept.look("key-00000001")["state"] == "done"
    assert gate.runs == 1


def test_a_key_with_another_function_or_other_arguments_is_refused(
    keeping: Callable[..., Kept],
) -> None:
    """Else the result would seem to be theirs."""
    gate = Held()
    kept = keeping(gate.published(), QUICK)
    kept.begin("Held", "key-00000001", args={"a": "1", "b": "2"})
    starting = threading.Thread(target=kept.prefer, args=("Held", "key-00000002", 20))
    starting.start()
    assert becomes(lambda: gate.runs == 1)  # the first one's arguments are unknown
    for refused in (
        kept.begin("Held", "key-00000001", args={"a": "1"}),
        kept.prefer("Quick", "key-00000001", 0),
        kept.prefer("Quick", "key-00000002", 0),
    ):
        assert refused.status_code == 422
        assert "the key of another run, of Held" in refused.json()["error"]
    gate.go.set()
    starting.join(60)


def test_a_repeated_start_may_name_its_arguments_in_another_order(
    keeping: Callable[..., Kept],
) -> None:
    """At each depth; but true isn't 1."""
    kept = keeping(QUICK)
    args = {"a": "1", "b": {"c": True, "d": [1, 2]}}
    kept.begin("Quick", "key-00000001", args=args)
    again = {"b": {"d": [1, 2], "c": True}, "a": "1"}
    assert kept.begin("Quick", "key-00000001", args=again).status_code == 202
    again["b"]["c"] = 1
    assert kept.begin("Quick", "key-00000001", args=again).status_code == 422


def test_a_run_that_has_not_ended_tells_its_turn_or_since_when_it_runs(
    keeping: Callable[..., Kept],
) -> None:
    """Users take turns: one that waits with many runs is not before others with all of them."""
    gate = Held()
    kept = keeping(gate.published())
    kept.begin("Held", "key-00000000")
    assert gate.begun.wait(60)
    running = kept.look("key-00000000", 0)
    assert running["progress"]["position"] is None
    assert running["progress"]["since"] >= running["made"]
    about = ("Held", "{}", "json", 0, None)
    for user, number in ((1, 1), (1, 2), (1, 3), (2, 4)):
        kept.records.add(user, f"key-0000000{number}", *about, state="waiting")
    runs = kept.ask("GET", f"{RUNS}?state=waiting").json()["runs"]
    runs += kept.ask("GET", f"{RUNS}?state=waiting", "u").json()["runs"]
    turns = {run["id"][-1]: run["progress"]["position"] for run in runs}
    assert turns == {"1": 1, "4": 2, "2": 3, "3": 4}
    assert kept.begin("Held", "key-00000002").json()["position"] == 3
    gate.go.set()
    assert kept.look("key-00000000")["progress"] is None


@pytest.mark.slow
def test_runs_above_the_limit_wait_if_they_are_kept_else_they_may_be_sent_again(
    keeping: Callable[..., Kept],
) -> None:
    gate = Held()
    kept = keeping(gate.published(), QUICK)
    for number in range(2):
        kept.begin("Held", f"key-0000000{number}")
    assert becomes(lambda: gate.runs == 2)
    waiting = kept.begin("Quick", "key-00000002").json()
    assert (waiting["state"], waiting["position"]) == ("waiting", 1)
    assert kept.prefer("Quick", "key-00000003", 20).status_code == 429
    gate.go.set()
    assert kept.look("key-00000002")["state"] == "done"
    assert kept.prefer("Quick", "key-00000003", 20).json()["body"] == '[{"n":1}]'


def test_a_run_has_ended_when_its_result_can_be_fetched(
    keeping: Callable[..., Kept], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not before: who asked for the result while it was written was told that there is none."""
    end = KeptRecords.end
    writing = threading.Event()
    go = threading.Event()

    def slow_end(*args: Any) -> str | None:
        writing.set()
        go.wait(60)
        return end(*args)

    monkeypatch.setattr(KeptRecords, "end", slow_end)
    kept = keeping(QUICK)
    kept.begin("Quick", "key-00000001")
    assert writing.wait(60)
    assert kept.look("key-00000001", 0)["state"] == "running"
    go.set()
    assert kept.look("key-00000001")["state"] == "done"
    reply = kept.ask("GET", f"{RUNS}/key-00000001/result")
    assert reply.json()["body"] == '[{"n":1}]'


@pytest.mark.slow
def test_nobody_else_sees_a_run(keeping: Callable[..., Kept]) -> None:
    kept = keeping(QUICK)
    kept.begin("Quick", "key-00000001")
    kept.look("key-00000001")
    for method, path in (
        ("GET", ""),
        ("GET", "/result"),
        ("POST", "/cancel"),
        ("DELETE", ""),
    ):
        assert kept.ask(method, f"{RUNS}/key-00000001{path}", "u").status_code == 404
    assert kept.ask("GET", RUNS, "u").json() == {"runs": []}
    assert kept.look("key-00000001")["state"] == "done"


@pytest.mark.slow
def test_a_run_is_cancelled_and_forgotten(keeping: Callable[..., Kept]) -> None:
    gate = Held()
    kept = keeping(gate.published(), QUICK)
    kept.begin("Held", "key-00000001")
    assert gate.begun.wait(60)
    assert (
        kept.ask("POST", f"{RUNS}/key-00000001/cancel").json()["state"] == "cancelled"
    )
    assert kept.ask("GET", f"{RUNS}/key-00000001/result").status_code == 410
    gate.go.set()
    kept.begin("Quick", "key-00000002")
    kept.look("key-00000002")
    states = {run["id"]: run["state"] for run in kept.ask("GET", RUNS).json()["runs"]}
    assert states == {"key-00000001": "cancelled", "key-00000002": "done"}
    only = kept.ask("GET", f"{RUNS}?state=done").json()["runs"]
    assert [run["id"] for run in only] == ["key-00000002"]
    for key in states:
        assert kept.ask("DELETE", f"{RUNS}/{key}").status_code == 204
        assert kept.ask("GET", f"{RUNS}/{key}").status_code == 404
    assert kept.results() == set()


@pytest.mark.slow
def test_a_failure_is_fetched_as_the_run_would_have_answered_it(
    keeping: Callable[..., Kept],
) -> None:
    @function(asset="a", name="Typed")
    def typed(n: int) -> int:
        """Return it."""
        return 1 // n

    kept = keeping(typed)
    for key, args, status in (
        ("key-00000001", {}, 422),
        ("key-00000002", {"n": "0"}, 200),
        ("key-00000003", {"n": "1"}, 200),
    ):
        kept.begin("Typed", key, args=args)
        run = kept.look(key)
        assert run["state"] == ("done" if key == "key-00000003" else "failed")
        direct = kept.ask("POST", RUN, json={"FunctionName": "Typed", "Args": args})
        fetched = kept.ask("GET", f"{RUNS}/{key}/result")
        assert (fetched.status_code, fetched.content) == (status, direct.content)
        assert fetched.headers["funcs-run"] == key
    kept.begin("Nothing", "key-00000004")
    assert kept.look("key-00000004")["state"] == "failed"
    assert kept.ask("GET", f"{RUNS}/key-00000004/result").status_code == 404


def test_a_result_in_arrow_is_fetched_as_json_by_who_asks_for_it(
    keeping: Callable[..., Kept],
) -> None:
    kept = keeping(QUICK)
    kept.begin("Quick", "key-00000001", headers={"Accept": ARROW})
    kept.look("key-00000001")
    result = f"{RUNS}/key-00000001/result"
    assert (
        kept.ask("GET", result, headers={"Accept": ARROW}).headers["content-type"]
        == ARROW
    )
    assert kept.ask("GET", result).json()["body"] == '[{"n":1}]'


@pytest.mark.slow
def test_results_that_were_fetched_make_room_and_others_stay(
    keeping: Callable[..., Kept],
) -> None:
    long = published("Long", lambda: "x" * 1000)
    kept = keeping(long, size_a_user=2500)
    for number in range(3):
        kept.begin("Long", f"key-0000000{number}")
        kept.look(f"key-0000000{number}")
    third = kept.look("key-00000002")
    assert third["state"] == "done"
    assert "2.5 kB" in third["note"]
    # It isn't kept, but a caller who waits for it gets it, with a note.
    reply = kept.ask("GET", f"{RUNS}/key-00000002/result")
    assert reply.status_code == 200
    assert "2.5 kB" in reply.headers["funcs-warning"]
    assert kept.ask("GET", f"{RUNS}/key-00000000/result").status_code == 200
    assert becomes(lambda: kept.records.find(1, "key-00000000") is not None)
    kept.begin("Long", "key-00000003")
    assert kept.look("key-00000003")["note"] is None
    assert kept.ask("GET", f"{RUNS}/key-00000000").status_code == 404
    assert kept.ask("GET", f"{RUNS}/key-00000001/result").status_code == 200


@pytest.mark.slow
def test_a_full_disk_keeps_runs_going_and_says_what_is_not_kept(
    keeping: Callable[..., Kept], monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Held()
    kept = keeping(QUICK, gate.published())

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(kept_records, "create_locked", full)
        kept.begin("Quick", "key-00000001")
        run = kept.look("key-00000001")
        assert (run["state"], run["note"]) == (
            "done",
            "Its result isn't kept: No space left on device.",
        )
        assert kept.ask("GET", f"{RUNS}/key-00000001/result").status_code == 200

    def unwritable(*_: object, **__: object) -> None:
        raise SetupError("database or disk is full")

    monkeypatch.setattr(KeptRecords, "add", unwritable)
    assert kept.begin("Quick", "key-00000002").status_code == 507
    threading.Timer(1, gate.go.set).start()
    reply = kept.prefer("Held", "key-00000003", 0.2)
    assert reply.json()["body"] == '[{"n":1}]'
    assert "wasn't kept" in reply.headers["funcs-warning"]


@pytest.mark.fault(164)
def test_a_run_that_is_stopped_with_the_service_is_kept_and_not_sent_again(
    pair: tuple[Kept, Kept, Held],
) -> None:
    """Its caller was told to try again soon, and the next process ran it again, though it may change data."""
    first, second, gate = pair
    replies = []
    start = threading.Thread(
        target=lambda: replies.append(first.prefer("Held", "key-00000001", 20))
    )
    start.start()
    assert gate.begun.wait(60)
    runs = first.app.state.runs
    assert becomes(lambda: runs._stops)
    (stop,) = runs._stops
    stop.get_loop().call_soon_threadsafe(runs.stop)
    start.join(60)
    assert [reply.status_code for reply in replies] == [202]
    first.records.close()
    again = second.prefer("Held", "key-00000001", 20)
    assert again.status_code == 410
    assert "may have changed data" in again.json()["error"]
    assert gate.runs == 1


def test_a_version_that_serves_no_more_ends_its_looks_before_its_records_are_closed(
    keeping: Callable[..., Kept], caplog: pytest.LogCaptureFixture
) -> None:
    """As after a reload: nothing reads the closed database."""
    kept = keeping(QUICK)
    kept.begin("Quick", "key-00000001")
    kept.look("key-00000001")
    runs = kept.app.state.kept
    assert not runs.retire()
    assert becomes(runs.retire)
    kept.records.close()
    kept.grants.close()
    runs.start()
    assert runs.retire()
    assert not [record for record in caplog.records if "kept runs" in record.message]


def test_results_are_kept_for_their_time_whatever_the_clock_does(
    keeping: Callable[..., Kept], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = keeping(QUICK, days=1)
    clock = [time.time()]
    kept.records.prune()
    monkeypatch.setattr(kept_records.time, "time", lambda: clock[0])
    kept.begin("Quick", "key-00000001")
    kept.look("key-00000001")
    for jump in (86_400 * 365, -86_400 * 800, 86_400 * 800):
        clock[0] += jump
        kept.records.prune()
    assert kept.records.find(1, "key-00000001")
    for _ in range(25):
        clock[0] += 3600
        kept.records.prune()
    assert kept.records.find(1, "key-00000001") is None
    assert kept.results() == set()


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"{RUNS}/nothing", 404),
        (f"{RUNS}/nothing?wait=x", 400),
        (f"{RUNS}?state=eaten", 400),
        (f"{RUNS}?since=yesterday", 400),
        (f"{RUNS}?since=2025-03-04T12:00:00Z", 200),
    ],
)
def test_requests_are_checked(
    keeping: Callable[..., Kept], path: str, status: int
) -> None:
    kept = keeping(QUICK)
    assert kept.ask("GET", path).status_code == status
    assert kept.begin("Quick", "short").status_code == 400


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Kept, Kept, Held]]:
    """Two processes of a service, as far as they can tell."""
    gate = Held()

    @function(asset="a", name="Read", read_only=True)
    def read() -> int:
        """Read something."""
        return 1

    first, second = (Kept(tmp_path, gate.published(), QUICK, read) for _ in range(2))
    with served(first.app) as first.url, served(second.app) as second.url:
        yield first, second, gate
        gate.go.set()
    first.records.close()
    second.records.close()


@pytest.mark.slow
def test_processes_of_a_service_answer_for_each_other(
    pair: tuple[Kept, Kept, Held],
) -> None:
    first, second, gate = pair
    first.begin("Held", "key-00000001")
    assert gate.begun.wait(60)
    assert second.look("key-00000001", 0)["state"] == "running"
    assert second.begin("Held", "key-00000001").json()["state"] == "running"
    second.ask("POST", f"{RUNS}/key-00000001/cancel")
    assert second.look("key-00000001")["state"] == "cancelled"
    first.begin("Quick", "key-00000002")
    assert second.look("key-00000002")["state"] == "done"
    reply = second.ask("GET", f"{RUNS}/key-00000002/result")
    assert reply.json()["body"] == '[{"n":1}]'
    assert gate.runs == 1


@pytest.mark.slow
@pytest.mark.fault(164)
def test_a_run_without_a_row_is_one_run_for_all_processes(
    pair: tuple[Kept, Kept, Held],
) -> None:
    """It is found, cancelled and not started twice, while it runs and after its reply was sent."""
    first, second, gate = pair
    starts = [
        threading.Thread(target=process.prefer, args=("Held", key, 20))
        for process, key in ((first, "key-00000000"), (second, "key-00000001"))
    ]
    for start in starts:
        start.start()
    assert becomes(lambda: gate.runs == 2)
    repeated = second.prefer("Held", "key-00000000", 0)
    assert repeated.json()["state"] == "running"
    cancel = first.ask("POST", f"{RUNS}/key-00000001/cancel")
    assert cancel.json()["state"] == "cancelled"
    gate.go.set()
    for start in starts:
        start.join(60)
    assert first.prefer("Quick", "key-00000002", 20).status_code == 200
    assert second.look("key-00000002")["state"] == "done"
    again = second.prefer("Quick", "key-00000002", 20)
    assert again.json()["body"] == '[{"n":1}]'
    assert gate.runs == 2
    assert list((first.folder / "begun").iterdir()) == []


@pytest.mark.slow
@pytest.mark.fault(164)
def test_the_runs_of_a_process_that_ended_are_taken_over(
    pair: tuple[Kept, Kept, Held],
) -> None:
    """What waited waits on; what ran is started again once if it changes nothing, else it is lost."""
    first, second, _ = pair
    expected = {
        ("Quick", "waiting", 0): "done",
        ("Quick", "running", 0): "lost",
        ("Read", "running", 0): "done",
        ("Read", "running", 1): "lost",
    }
    for number, (name, state, more) in enumerate(expected):
        about = (name, "{}", "json", 0, None)
        row = first.records.add(1, f"key-0000000{number}", *about, state=state)
        for _ in range(more):
            first.records.begin(row)
    done = first.records.add(
        1, "key-00000009", "Held", "{}", "json", 0, None, state="running"
    )
    unnoted = {
        "state": "done",
        "ended": 0.0,
        "seconds": 1.0,
        "status": 200,
        "media_type": "application/json",
        "warning": None,
        "rows": 1,
    }
    with pytest.MonkeyPatch.context() as patch:
        # It ends after the file was written, before the row says so.
        patch.setattr(kept_records, "_END", "nothing")
        with pytest.raises(SetupError):
            first.records.end(done, unnoted, b"{}")
        # It ends before the file that the row names is written.
        row = first.records.add(
            1, "key-00000008", "Held", "{}", "json", 0, None, state="running"
        )
        patch.setattr(first.records, "_write", None)
        with pytest.raises(TypeError):
            first.records.end(row, unnoted, b"{}")
    first.records.add(
        2, "key-00000007", "Quick", "{}", "json", 0, None, state="waiting"
    )
    first.grants.revoke("u", is_disabled=True)
    first.records.close()
    states = [
        second.look(f"key-0000000{number}")["state"] for number in range(len(expected))
    ]
    assert states == [*expected.values()]
    lost = second.look("key-00000001")
    assert lost["ended"]
    assert "may have changed data" in lost["note"]
    assert second.look("key-00000009")["state"] == "done"
    assert second.ask("GET", f"{RUNS}/key-00000009/result").content == b"{}"
    assert becomes(lambda: second.records.find(2, "key-00000007").state == "cancelled")
    assert second.look("key-00000008")["state"] == "lost"
    # The start of a third one.
    KeptRecords(second.grants.database, second.folder, KeptLimits()).close()
    assert second.look("key-00000008")["state"] == "lost"


@pytest.mark.fault(164)
def test_a_run_without_a_row_is_recorded_after_its_process_was_killed(
    pair: tuple[Kept, Kept, Held],
) -> None:
    """By whoever looks for it, or by the next process; it is lost, or started again if it changes nothing."""
    first, second, gate = pair
    records = first.records
    begun = {
        "Held": "key-00000001",
        "Read": "key-00000002",
        "Ended": "key-00000003",
        "Unseen": "key-00000004",
        "Long": "key-00000005",
    }
    for name, key in begun.items():
        args = f'{{"url":"https://x/{"y" * 1000 * (name == "Long")}"}}'
        if name == "Read":
            args = "{}"
        assert records.claim(1, key, name, args, "json", False, None)
    records.note_reply(1, begun["Ended"])
    records.claim(99, "key-00000006", "Held", "{}", "json", False, None)  # removed
    records.close()
    assert second.look(begun["Read"])["state"] == "done"
    lost = second.look(begun["Held"])
    assert lost["state"] == "lost"
    assert lost["Args"] == {"url": "https://x/"}
    assert "before the run did" in lost["note"]
    for name in ("Ended", "Long"):
        assert second.ask("GET", f"{RUNS}/{begun[name]}").status_code == 404
    third = KeptRecords(second.grants.database, second.folder, KeptLimits())
    third.close()
    assert second.look(begun["Unseen"])["state"] == "lost"
    assert list((first.folder / "begun").iterdir()) == []
    assert gate.runs == 0


def test_a_run_that_was_answered_is_not_lost_if_its_process_is_killed(
    pair: tuple[Kept, Kept, Held],
) -> None:
    first, second, _ = pair
    first.prefer("Quick", "key-00000001", 20)
    first.records.close()
    assert second.ask("GET", f"{RUNS}/key-00000001").status_code == 404


def test_rows_and_files_are_brought_in_line_at_the_start(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    about = {
        "state": "done",
        "ended": 0.0,
        "seconds": 1.0,
        "status": 200,
        "media_type": "application/json",
        "warning": None,
        "rows": 1,
    }
    for number in range(2):
        what = ("Quick", "{}", "json", 0, None)
        row = kept.records.add(1, f"key-0000000{number}", *what, state="running")
        kept.records.end(row, about, b"{}")
    kept.records.close()
    (kept.folder / "1").unlink()
    (kept.folder / "77").write_bytes(b"{}")
    (kept.folder / "78.part").write_bytes(b"{")
    again = KeptRecords(kept.grants.database, kept.folder, KeptLimits())
    assert [run.id for run in again.of_user(1, None, 0)] == ["key-00000001"]
    assert kept.results() == {"2"}
    assert oct((kept.folder / "2").stat().st_mode & 0o777) == "0o600"
    again.close()
