"""Runs that the service keeps: they outlive connections, proxies' time limits and kernels (FAULTS.md 164)."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, Any

import pytest

import jupyter_funcs as jf
from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.records import history
from jupyter_funcs.service.accounts.kept_records import KeptRecords
from jupyter_funcs.service.publishing.registry import function
from jupyter_funcs.sources import source
from tests.panel.page import Page
from tests.servers import serving
from tests.service.conftest import becomes
from tests.service.web.test_kept_runs import QUICK, Held, Kept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Proxy:
    """A proxy that gives up on the next `times` requests whose path begins with `path`."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.path = ""
        self.times = 0
        self.status = 504
        self.seen: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.seen.append(f"{scope['method']} {scope['path']}")
        if not self.path or not scope["path"].startswith(self.path) or not self.times:
            await self.app(scope, receive, send)
            return
        self.times -= 1
        body = await receive()
        sent = iter([body])

        async def leaving() -> Any:
            with contextlib.suppress(StopIteration):
                return next(sent)
            await asyncio.sleep(0.3)
            return {"type": "http.disconnect"}

        async def nowhere(_: Any) -> None:
            pass

        await self.app(scope, leaving, nowhere)
        headers = [(b"content-type", b"text/html")]
        await send(
            {"type": "http.response.start", "status": self.status, "headers": headers}
        )
        await send(
            {"type": "http.response.body", "body": b"<h1>504 Gateway Time-out</h1>"}
        )


class Service(Kept):
    """A service that keeps runs, behind a proxy."""

    proxy: Proxy

    def connect(self, **options: Any) -> jf.Session:
        return jf.connect(self.url, token=self.tokens["t"], **options)


@pytest.fixture
def keeping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Service]]:
    monkeypatch.setattr(source, "_SOON", 0.5)
    with contextlib.ExitStack() as ends:

        def serve(*functions: Any) -> Service:
            kept = Service(tmp_path, *functions)
            kept.proxy = Proxy(kept.app)
            ends.callback(kept.records.close)
            kept.url = ends.enter_context(serving(kept.proxy))
            return kept

        yield serve


def after(waiting: Held, seconds: float = 1) -> None:
    """Let the function continue after a while."""
    threading.Timer(seconds, waiting.go.set).start()


@pytest.mark.slow
def test_a_run_that_takes_longer_is_kept_by_itself(
    keeping: Callable[..., Service],
) -> None:
    waiting = Held()
    service = keeping(waiting.published(), QUICK)
    funcs = service.connect()
    assert funcs.quick()["n"].tolist() == [1]
    assert not any("/api/runs" in path for path in service.proxy.seen)
    after(waiting)
    job = funcs.held.submit()
    assert job.result(60)["n"].tolist() == [1]
    assert service.look(job.id)["state"] == "done"
    assert waiting.runs == 1


@pytest.mark.fault(164)
def test_a_run_that_cannot_be_kept_runs_as_others_do_and_says_so(
    keeping: Callable[..., Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a full disk, also if it should have been kept from its start."""
    service = keeping(QUICK)

    def unwritable(*_: object, **__: object) -> None:
        raise SetupError("database or disk is full")

    monkeypatch.setattr(KeptRecords, "add", unwritable)
    quick = service.connect().quick.with_options(keep=True)
    with pytest.warns(UserWarning, match="isn't kept: the service can't write"):
        assert quick()["n"].tolist() == [1]


@pytest.mark.slow
@pytest.mark.fault(164)
@pytest.mark.parametrize("status", [502, 504])
@pytest.mark.parametrize("path", ["/api/function/runFunction", "/api/runs/"])
def test_a_proxy_that_gives_up_is_answered_by_looking_again(
    keeping: Callable[..., Service], path: str, status: int
) -> None:
    waiting = Held()
    service = keeping(waiting.published())
    funcs = service.connect()
    assert funcs.names == ["Held"]
    service.proxy.path = path
    service.proxy.status = status
    service.proxy.times = 2
    after(waiting, 1.5)
    assert funcs.held()["n"].tolist() == [1]
    assert service.proxy.times < 2
    assert waiting.runs == 1


@pytest.mark.fault(164)
def test_what_never_reached_the_service_is_not_started_again_if_it_may_change_data(
    keeping: Callable[..., Service],
) -> None:
    """The service has no record of it: only a function that changes nothing is started again."""
    runs = []

    @function(asset="a", name="Changes")
    def changes() -> int:
        """Change something."""
        runs.append("Changes")
        return 1

    @function(asset="a", name="Reads", read_only=True)
    def reads() -> int:
        """Read something."""
        runs.append("Reads")
        return 1

    service = keeping(changes, reads)
    funcs = service.connect()
    assert len(funcs.names) == 2

    async def lost(scope: Any, _: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 502, "headers": []})
        await send({"type": "http.response.body", "body": b""})
        service.proxy.app = service.app

    service.proxy.app = lost
    with pytest.raises(jf.FuncsError, match="has no record of the run") as caught:
        funcs.changes()
    assert caught.value.hint == "Check what it has done before you run it again."
    service.proxy.app = lost
    assert funcs.reads().iloc[0, 0] == 1
    assert runs == ["Reads"]


@pytest.mark.slow
def test_another_kernel_gets_the_result_by_the_id_of_the_job(
    keeping: Callable[..., Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = Held()
    service = keeping(waiting.published())
    job = service.connect().held.with_options(keep=True).submit()
    assert waiting.begun.wait(60)
    history._logs.clear()  # another kernel
    monkeypatch.setenv("FUNCS_BASE_URL", service.url)
    monkeypatch.setenv("FUNCS_TOKEN", service.tokens["t"])
    table = jf.connect().history.table()
    assert table[["number", "function", "status"]].to_numpy().tolist() == [
        [job.id, "Held", "running"]
    ]
    other = jf.kept(job.id)
    after(waiting, 0.1)
    assert other.result(60)["n"].tolist() == [1]
    assert job.result(60)["n"].tolist() == [1]
    assert jf.kept(job.id).result(60).attrs["funcs"]["function"] == "Held"
    monkeypatch.setenv("FUNCS_TOKEN", service.tokens["u"])
    with pytest.raises(jf.NotFoundError, match="no kept run"):
        jf.kept(job.id)
    assert waiting.runs == 1


def test_the_history_lists_the_runs_of_other_kernels(
    keeping: Callable[..., Service],
) -> None:
    service = keeping(QUICK)
    funcs = service.connect()
    job = funcs.quick.with_options(keep=True).submit()
    job.result(60)
    assert funcs.history.table()["number"].tolist() == [1]
    history._logs.clear()
    table = funcs.history.table()
    assert table["number"].tolist() == [job.id]
    assert table["status"].tolist() == ["done"]
    assert funcs.history.again(job.id).iloc[0, 0] == 1


@pytest.mark.parametrize("id_", ["", "a/b", "0123456789abcdef ", "nobody's"])
def test_an_id_that_no_run_can_have_is_not_sent(
    keeping: Callable[..., Service], id_: str
) -> None:
    """Such as that of a job whose service keeps no runs: it is empty."""
    with pytest.raises(jf.NotFoundError, match="no kept run"):
        keeping(QUICK).connect().kept(id_)


def test_a_cancel_ends_the_run_on_the_service(keeping: Callable[..., Service]) -> None:
    waiting = Held()
    service = keeping(waiting.published())
    job = service.connect().held.submit()
    assert waiting.begun.wait(60)
    job.cancel()
    assert becomes(lambda: service.look(job.id, 0).get("state") == "cancelled")
    waiting.go.set()


def test_a_job_tells_its_turn_and_since_when_it_runs(
    keeping: Callable[..., Service],
) -> None:
    waiting = Held()
    service = keeping(waiting.published())  # two runs of a user at once
    held = service.connect().held.with_options(keep=True)
    jobs = [held.submit() for _ in range(2)]
    assert becomes(
        lambda: all("running on the service since 20" in repr(job) for job in jobs)
    )
    last = held.submit()
    assert becomes(
        lambda: "number 1 of the runs that wait on the service" in repr(last)
    )
    waiting.go.set()
    assert len(last.result(60)) == 1


def test_a_cancelled_fetch_of_a_run_that_has_ended_says_so_and_leaves_the_result(
    keeping: Callable[..., Service],
) -> None:
    service = keeping(QUICK)
    funcs = service.connect()
    first = funcs.quick.with_options(keep=True).submit()
    first.result(60)

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        if b"wait" in scope["query_string"]:
            await asyncio.Event().wait()
        await service.app(scope, receive, send)

    service.proxy.app = slow
    job = funcs.kept(first.id)
    job.cancel()
    with pytest.raises(jf.RunCancelledError, match="Quick has ended") as caught:
        job.result(60)
    assert job.error.what == caught.value.what
    service.proxy.app = service.app
    assert funcs.kept(first.id).result(60)["n"].tolist() == [1]
    assert not any("cancel" in path for path in service.proxy.seen)


@pytest.mark.slow
def test_a_time_limit_ends_only_the_wait(keeping: Callable[..., Service]) -> None:
    waiting = Held()
    service = keeping(waiting.published())
    funcs = service.connect()
    job = funcs.held.with_options(timeout=1.5).submit()
    with pytest.raises(jf.DeadlineError, match="is still running") as caught:
        job.result(60)
    assert job.id in caught.value.hint
    after(waiting, 0.1)
    assert funcs.kept(job.id).result(60)["n"].tolist() == [1]


def test_a_service_that_keeps_no_runs_gets_what_it_always_got() -> None:
    job = jf.connect().get_panels.with_options(keep=True).submit()
    with pytest.warns(UserWarning, match="keeps no runs"):
        job.result(60)
    assert job.id == ""


@pytest.mark.slow
def test_a_profile_says_how_long_runs_may_take_and_whether_they_are_kept(
    keeping: Callable[..., Service], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = Held()
    service = keeping(waiting.published(), QUICK)
    profiles = tmp_path / "profiles.toml"
    profiles.write_text(
        f'[profiles.work]\nurl = "{service.url}"\ntoken_env = "WORK"\nkeep = true\ntimeout = 1\n'
    )
    monkeypatch.setenv("FUNCS_CONFIG", str(profiles))
    monkeypatch.setenv("WORK", service.tokens["t"])
    funcs = jf.connect("work")
    assert funcs.names == ["Held", "Quick"]
    with pytest.raises(jf.DeadlineError, match="within 1 s"):
        funcs.held()
    waiting.go.set()
    job = funcs.quick.submit()
    job.result(60)
    assert service.look(job.id, 0)["state"] == "done"
    other = service.connect()
    assert other.remote.seconds(other.quick.options) == 330


def test_a_panel_fetches_and_forgets_the_runs_of_other_kernels(
    keeping: Callable[..., Service],
) -> None:
    """They are in its history under their ids, beside its own; a deleted one is also deleted on the service."""
    waiting = Held()
    service = keeping(waiting.published())
    funcs = service.connect()
    job = funcs.held.with_options(keep=True).submit()
    assert waiting.begun.wait(60)
    history._logs.clear()
    panel = funcs.panel()
    page = Page(panel)

    def kept() -> list[tuple[str, str]]:
        rows = page.ask("history", kept=True)["rows"]
        return [(row["number"], row["status"]) for row in rows if row["kept"]]

    assert kept() == [(job.id, "running")]
    assert page.ask("history")["rows"] == []
    page.ask("fetch", kept=job.id)
    after(waiting, 0.1)
    assert panel.result(60)["n"].tolist() == [1]
    assert kept() == []  # now a run of this kernel
    panel.close()
    history._logs.clear()
    page = Page(funcs.panel())
    assert kept() == [(job.id, "done")]
    page.ask("forget", kept=job.id)
    assert kept() == []
    assert page.ask("fetch", kept=job.id)["error"]
    assert page.ask("forget", kept="../functions")["error"]
    page.panel.close()
