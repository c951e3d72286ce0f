"""Published code runs in processes that have limits and no secrets, and its service continues (FAULTS.md 134-137)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.service.accounts.signing_keys import SigningKeys
from jupyter_funcs.service.builtin import companies
from jupyter_funcs.service.publishing import confinement, worker_pool
from jupyter_funcs.service.publishing.confinement import WorkerSetup
from jupyter_funcs.service.publishing.worker_pool import Workers
from jupyter_funcs.service.web.runs import Limits
from tests.conftest import is_running
from tests.service.conftest import LIST, RUN, Wire, becomes, published
from tests.service.publishing.test_notebooks import written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jupyter_funcs.service.publishing.registry import PublishedFunction

HOSTILE = '''
"""Functions that do what they must not."""

import _thread
import ctypes
import itertools
import mmap
import multiprocessing
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from dataclasses import dataclass
from typing import Annotated

from jupyter_funcs.service import ListedBy, Options, function

SEEN = []


def known(reference, text):
    if text != "known":
        raise ValueError("is not known.")
    return f"{text} to {len(reference.panels)}"


@function(asset="a")
def small(n: int = 1) -> list[int]:
    return list(range(n))


@function(asset="a")
def slow(call) -> int:
    while not call.cancelled:
        time.sleep(0.01)
    return 1


@function(asset="a")
def loop() -> int:
    while True:
        pass


@function(asset="a")
def fork() -> int:
    while True:
        with open(os.devnull), __import__("contextlib").suppress(OSError):
            os.fork()
        time.sleep(0.01)  # so that thirty of them leave the processor to the tests


@function(asset="a")
def allocate() -> int:
    return len([bytearray(b"x" * 2**20) for _ in range(10_000)])


@function(asset="a")
def fill() -> int:
    for number in range(1000):
        with open(f"part{number}", "wb") as file:
            for _ in range(100):
                file.write(bytes(2**20))
    return 1


@function(asset="a")
def many_files() -> int:
    for number in range(0, 60_000, 2):
        os.mkdir(f"{number}")
        os.mknod(f"{number + 1}")
    time.sleep(20)
    return 1


@function(asset="a")
def share_many_files() -> int:
    for number in range(60_000):
        os.mknod(f"/dev/shm/{number}")
    return 1


@function(asset="a")
def nowhere() -> int:
    """Write to files that are in no folder."""
    files = [os.memfd_create(str(number)) for number in range(3)]
    for file in files:
        os.write(file, bytes(10**8))
    time.sleep(60)
    return len(files)


@function(asset="a")
def unlinked() -> int:
    files = [open(str(number), "wb", 0) for number in range(3)]
    for file in files:
        os.unlink(file.name)
        file.write(bytes(10**8))
    time.sleep(60)
    return len(files)


@function(asset="a")
def share() -> int:
    """Use memory in two processes, so that it is in neither alone."""
    shared = mmap.mmap(-1, 12 * 10**8)
    for at in range(0, len(shared), 10**8):
        shared[at : at + 10**8] = bytes(10**8)
        if not os.fork():
            sum(shared[: at + 10**8 : 4096])
            time.sleep(60)
            os._exit(0)
    time.sleep(60)
    return 1


@function(asset="a")
def at_once() -> int:
    """Use twice the memory that is allowed, in a way that no limit of a process counts."""
    shared = mmap.mmap(-1, 2 * 10**9)
    for at in range(0, len(shared), 10**8):
        shared[at : at + 10**8] = bytes(10**8)
    return 1


@function(asset="a")
def deep() -> int:
    for _ in range(1500):
        os.mkdir("d")
        os.chdir("d")
    time.sleep(60)
    return 1


@function(asset="a")
def twins() -> str:
    if os.fork():
        time.sleep(0.2)
        return "parent"
    return "child"


@function(asset="a")
def gigabyte() -> list[str]:
    return ["x" * 2**20] * 1024


@function(asset="a")
def forged() -> int:
    """Write to the pipes of the service, past its own result."""
    for descriptor in range(3, 20):
        try:
            os.write(descriptor, (2**32).to_bytes(8, "big") + bytes(100))
        except OSError:
            pass
    return 1


@function(asset="a")
def no_room(call) -> int:
    """Leave no memory for the rows that it asks for."""
    import ibis
    many = ibis.literal("x").repeat(3 * 10**7).as_table()
    call.fetch(ibis.literal("x").repeat(1).as_table())
    with open("/proc/self/status") as file:
        [used] = [int(line.split()[1]) * 1024 for line in file if line.startswith("VmData")]
    resource.setrlimit(resource.RLIMIT_DATA, (used + 2**24,) * 2)
    return len(call.fetch(many))


@function(asset="a")
def no_text(call) -> int:
    """Reply with a kind that isn't text."""
    import msgspec
    reply = msgspec.msgpack.encode({"kind": "body"}).replace(b"body", b"\\xff" * 4)
    call._replies.write(len(reply).to_bytes(8, "big") + reply)
    return 1


@function(asset="a")
def forged_reply(call, kind: str) -> int:
    """Reply with what takes a hundred times as much memory when it is read."""
    import msgspec
    many = 10**7
    texts = dict.fromkeys(["name", "description", "asset", "entry_point", "notebook_name", "place"], "")
    parameter = {"name": "", "type": "str", "code": 0, "required": False, "default": None}
    last = {"group": None, "author": None, "rules": [], "is_notebook": False, "parameters": [parameter]}
    value = {"functions": [texts | last], "errors": None, "tables": None}[kind]
    start = msgspec.msgpack.encode({"kind": "body", kind: value})[:-1]
    if kind == "functions":
        parts = [b"\\xdd" + many.to_bytes(4, "big"), bytes([0x90]) * many]
    else:
        end = {"errors": b"\\x90", "tables": b"\\xc4\\0"}[kind]
        keys = (b"\\xa7%07d" % number + end for number in range(many))
        parts = itertools.chain([b"\\xdf" + many.to_bytes(4, "big")], keys)
    with open("reply", "wb") as file:
        file.writelines(itertools.chain([start], parts))
    call._replies.write(os.stat("reply").st_size.to_bytes(8, "big"))
    with open("reply", "rb") as file:
        shutil.copyfileobj(file, call._replies)
    call._replies.flush()
    time.sleep(60)
    return 1


@function(asset="a")
def open_files() -> int:
    return len([open(os.devnull) for _ in range(10_000)])


@function(asset="a")
def read(path: str) -> str:
    """Return what can be read, from here and from a process of its own."""
    process = subprocess.run(["cat", path], capture_output=True)
    try:
        return Path(path).read_bytes().decode(errors="replace") + process.stdout.decode()
    except OSError as error:
        return f"{type(error).__name__}: {process.stdout.decode()}"


@function(asset="a")
def environment() -> str:
    return repr(dict(os.environ)) + Path("/proc/self/environ").read_text()


@function(asset="a")
def remember(text: str) -> list[str]:
    """Return what earlier runs left in this process and its folder."""
    SEEN.append(text)
    return [*SEEN, *os.listdir()]


@function(asset="a")
def leave(exits: bool = False) -> int:
    """Return or end while a process of the run continues."""
    open("left", "w").close()
    pid = subprocess.Popen(["sleep", "634.5"], start_new_session=True).pid
    if exits:
        os._exit(1)
    return pid


@function(asset="a")
def thread(starts: bool) -> int:
    if starts:
        _thread.start_new_thread(time.sleep, (100,))
        time.sleep(0.1)
    return os.getpid()


@function(asset="a")
def signal() -> str:
    """Signal the service."""
    os.kill(os.getppid(), 0)
    return "sent"


@function(asset="a")
def change(what: str) -> str:
    """Change a limit or the priority of another process, if that is possible."""
    other = os.getppid()
    return str({
        "limit": lambda: resource.prlimit(other, resource.RLIMIT_CORE, (0, 0)),
        "priority": lambda: os.setpriority(os.PRIO_PROCESS, other, 19),
        "priorities": lambda: os.setpriority(os.PRIO_PGRP, other, 19),
        "scheduler": lambda: os.sched_setscheduler(other, os.SCHED_OTHER, os.sched_param(0)),
        "own": lambda: (resource.getrlimit(0), os.nice(1), os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))),
    }[what]())


@function(asset="a")
def share_files() -> int:
    """Fill the memory with files that others could find."""
    for number in range(3):
        with open(f"/dev/shm/funcs-test-{number}", "wb") as file:
            file.write(bytes(10**8))
    return 1


@function(asset="a")
def locks() -> int:
    with multiprocessing.Lock(), multiprocessing.get_context("fork").Pool(2) as pool:
        return sum(pool.map(abs, [-1, -2]))


@function(asset="a")
def companies(call, symbol: Annotated[str, ListedBy("Known", known)] = "known", first: int = 1):
    """Return an expression."""
    import ibis  # not above, because each process of a test would wait for it
    rows = call.fetch(call.table("companies").limit(first))
    return call.table("companies").limit(len(rows)).mutate(known=ibis.literal(symbol))


@function(asset="a")
def memory_table():
    import ibis, pyarrow
    return ibis.memtable(pyarrow.table({"a": pyarrow.array(["x", "y", "x"]).dictionary_encode()}))


@function(asset="a")
def choose(panel: Annotated[str, Options(lambda reference: tuple(panel.name for panel in reference.panels))]) -> str:
    return panel


@dataclass
class Order:
    item: str
    pieces: int = 1


@function(asset="a")
def order(first: Order, rest: list[Order] = [Order("ink")]) -> int:
    return sum(order.pieces for order in [first, *rest])


@function(asset="a")
def told(count: int | None = 5, weights: list[float] = [], label: str = "x", *rest: str) -> str:
    return repr((count, weights, label, rest))


@function(asset="a")
def ratios() -> list[dict]:
    return [{"a": float("inf")}]
'''
SECRET = "secret-of-the-tests"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the functions above, the state folder and a notebook."""
    path = tmp_path_factory.mktemp("team")
    (path / "hostile.py").write_text(HOSTILE)
    (path / "state").mkdir()
    (path / "state" / "keys").write_text(SECRET)
    SigningKeys.open(path / "state" / "signing-keys.json")
    return path


@pytest.fixture(scope="module")
def workers(folder: Path) -> Iterator[Workers]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUNCS_SIGNING_KEY", SECRET)
        patch.setenv("DATABASE_PASSWORD", SECRET)
        patch.setenv("ALLOWED", "for functions")
        reference = companies.reference()
        hidden = (folder / "state",)
        limits = {"memory": 2**30, "disk": 2 * 10**8, "processes": 30}
        made = Workers(
            WorkerSetup((folder,), reference=reference, hidden=hidden, **limits),
            ["ALLOWED"],
        )
    yield made
    made.close()


@pytest.fixture(scope="module")
def functions(workers: Workers) -> list[PublishedFunction]:
    return workers.load()


@pytest.fixture
def wire(functions: list[PublishedFunction], publish: Callable[..., Wire]) -> Wire:
    return publish(*functions, published("Quick", list))


def failed(wire: Wire, name: str, **args: Any) -> str:
    reply = wire.call(name, args)
    assert reply.json()["body"] is None, reply.text[:1000]
    return str(reply.json()["error"])


@pytest.mark.slow
def test_the_service_gets_names_parameters_and_schemas_and_workers_run_the_code(
    wire: Wire,
) -> None:
    """A function's own rules, options and expressions work as in the service."""
    assert wire.rows("Small", n="3") == [{"Result": 0}, {"Result": 1}, {"Result": 2}]
    assert [
        row["known"] for row in wire.rows("Companies", symbol="known", first="2")
    ] == ["known to 2"] * 2
    assert [row["a"] for row in wire.rows("Memory Table")] == ["x", "y", "x"]
    assert wire.errors("Companies", symbol="odd")["symbol"][0].startswith(
        "symbol 'odd' is not known."
    )
    assert wire.errors("Choose", panel="odd")["panel"][0].startswith(
        "panel has no option 'odd'."
    )
    assert (
        wire.call("Choose", {"panel": "demo card panel"}).json()["body"]
        == '"Demo Card Panel"'
    )
    assert wire.rows("Order", first='{"item": "pen", "pieces": 2}') == 3
    assert wire.errors("Order", first="{}") == {
        "first": ["first is not valid at 'item': Field required."]
    }
    entries = wire.post(LIST).json()
    returns = {
        entry["name"]: entry["returns"] for entry in entries if "returns" in entry
    }
    assert returns["Small"] == {"type": "array", "items": {"type": "integer"}}
    assert "Companies" not in returns, "it has no such annotation"
    listed = {
        entry["name"]: [param["schema"] for param in entry["params"]]
        for entry in entries
    }
    names = ["Demo Card Panel", *listed["Choose"][0]["enum"][1:]]
    assert listed["Choose"] == [{"type": "string", "enum": names, "minLength": 1}]
    assert listed["Order"][0]["required"] == ["item"]
    assert listed["Order"][1]["default"] == [{"item": "ink", "pieces": 1}]
    assert not [name for name in sys.modules if name.startswith("published_team")]
    assert "hostile.py" not in str(
        [getattr(module, "__file__", "") for module in sys.modules.values()]
    )


@pytest.mark.fault(155)
def test_a_worker_gets_what_was_sent(wire: Wire) -> None:
    """Typed, or as texts of the first wire; and its reply says what is lost."""
    args = {
        "count": None,
        "weights": [0.5, 0.5, 0.25],
        "label": "",
        "rest": ["b", "", "b"],
    }
    reply = wire.post(
        RUN, json={"FunctionName": "Told", "Args": args}, headers={"Funcs-Args": "json"}
    )
    assert (
        json.loads(reply.json()["body"])
        == "(None, [0.5, 0.5, 0.25], '', ('b', '', 'b'))"
    )
    assert (
        json.loads(wire.call("Told", args).json()["body"])
        == "(5, [0.5, 0.5, 0.25], 'x', ('b', '', 'b'))"
    )
    assert "1 infinite number" in wire.call("Ratios").headers["funcs-warning"]


@pytest.mark.slow
@pytest.mark.fault(135)
def test_a_function_without_memory_for_an_answer_does_not_wait_for_it(
    wire: Wire,
) -> None:
    """Here, because the process of the test before has loaded ibis."""
    assert (
        failed(wire, "No Room")
        == "No Room failed: The process that ran it ended before its result."
    )


@pytest.mark.fault(136)
@pytest.mark.skipif(not confinement.can_confine(), reason="needs Landlock")
def test_a_function_reads_no_secret(wire: Wire, folder: Path, tmp_path: Path) -> None:
    """Not the environment, the service's memory, its keys, its state, nor the files of other workers."""
    (tmp_path / "other").write_text(SECRET)
    (folder / "link").symlink_to(folder / "state" / "keys")
    places = [
        *(
            f"/proc/{os.getpid()}/{name}"
            for name in ("environ", "mem", "maps", "cwd/x", "fd/1")
        ),
        *(folder / "state" / name for name in ("keys", "signing-keys.json")),
        *(folder / "link", tmp_path / "other", "/etc/shadow"),
    ]
    for place in places:
        # The state folder is covered by an empty one, where the system allows it.
        body = wire.call("Read", {"path": str(place)}).json()["body"]
        assert body in {'"PermissionError: "', '"FileNotFoundError: "'}, place
    assert SECRET not in str(wire.call("Environment").json())
    assert "'ALLOWED': 'for functions'" in wire.call("Environment").json()["body"]
    assert "Operation not permitted" in failed(wire, "Signal")


@pytest.mark.fault(136)
def test_nothing_of_a_run_is_left_for_the_functions_of_another_user(wire: Wire) -> None:
    """One user's runs share a process, whose folder is emptied between them."""
    texts = [
        [row["Result"] for row in wire.rows("Remember", text=text)] for text in "ab"
    ]
    assert texts == [["a"], ["a", "b"]]
    wire.token = wire.auth.issue("u", 1)
    assert [row["Result"] for row in wire.rows("Remember", text="c")] == ["c"]


@pytest.mark.slow
@pytest.mark.fault(136)
@pytest.mark.skipif(sys.platform != "linux", reason="Linux only")
def test_the_served_process_cannot_be_read_by_others() -> None:
    code = "from jupyter_funcs.service.publishing import confinement as w; w.hide_memory()\n"
    code += "import ctypes; raise SystemExit(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"
    assert os.spawnl(os.P_WAIT, sys.executable, sys.executable, "-c", code) == 0


@pytest.mark.fault(135)
@pytest.mark.parametrize(
    ("name", "error"),
    [
        pytest.param(
            "Fork",
            "Fork failed: It was ended because it used more than 30 processes.",
            marks=[
                pytest.mark.slow,
                pytest.mark.skipif(
                    not confinement.can_limit_processes(),
                    reason="processes can't be limited",
                ),
            ],
            id="Fork",
        ),
        pytest.param(
            "Allocate",
            "Allocate needs more memory than the service allows. Ask for less.",
            id="Allocate",
        ),
        pytest.param(
            "Fill",
            "Fill failed: It was ended because it used more than 200,000,000 bytes of disk space.",
            id="Fill",
        ),
        pytest.param(
            "Nowhere",
            "Nowhere failed: It was ended because it used more than 200,000,000 bytes of disk space.",
            marks=pytest.mark.slow,
            id="Nowhere",
        ),
        pytest.param(
            "Unlinked",
            "Unlinked failed: It was ended because it used more than 200,000,000 bytes of disk space.",
            marks=pytest.mark.slow,
            id="Unlinked",
        ),
        pytest.param(
            "Share Files",
            "Share Files failed: [Errno 28] No space left on device",
            marks=pytest.mark.skipif(
                not confinement.can_separate(), reason="needs namespaces"
            ),
            id="Share Files",
        ),
        pytest.param(
            "Many Files",
            "Many Files failed: It was ended because it used more than 200,000,000 bytes of disk space.",
            marks=pytest.mark.slow,
            id="Many Files",
        ),
        pytest.param(
            "Share Many Files",
            "Share Many Files failed: [Errno 28] No space left on device",
            marks=[
                pytest.mark.slow,
                pytest.mark.skipif(
                    not confinement.can_separate(), reason="needs namespaces"
                ),
            ],
            id="Share Many Files",
        ),
        pytest.param(
            "Share",
            "Share needs more memory than the service allows. Ask for less.",
            marks=pytest.mark.slow,
            id="Share",
        ),
        pytest.param(
            "Deep",
            "Deep failed: It was ended because its folders can't be read.",
            marks=pytest.mark.slow,
            id="Deep",
        ),
        pytest.param(
            "Gigabyte",
            "Gigabyte needs more memory than the service allows. Ask for less.",
            id="Gigabyte",
        ),
        pytest.param(
            "Forged",
            "Forged failed: The process that ran it ended before its result.",
            marks=pytest.mark.slow,
            id="Forged",
        ),
        pytest.param(
            "No Text",
            "No Text failed: The process that ran it ended before its result.",
            marks=pytest.mark.slow,
            id="No Text",
        ),
        pytest.param(
            "Open Files",
            "Open Files failed: [Errno 24] Too many open files: '/dev/null'",
            id="Open Files",
        ),
    ],
)
def test_a_function_is_ended_at_its_limit_and_the_next_run_works(
    wire: Wire, name: str, error: str
) -> None:
    """The service's memory stays as it was, and nothing keeps running."""
    before = psutil.Process().memory_info().rss
    assert failed(wire, name) == error
    assert psutil.Process().memory_info().rss - before < 200e6
    assert wire.rows("Small") == [{"Result": 0}]


@pytest.mark.slow
@pytest.mark.fault(135)
@pytest.mark.skipif(
    not confinement.can_limit("memory"), reason="memory can't be limited"
)
def test_a_function_that_fills_the_memory_at_once_is_ended(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the system, before the service looks at what it uses."""
    monkeypatch.setattr(worker_pool, "_CHECK_SECONDS", 60)
    assert (
        failed(wire, "At Once")
        == "At Once needs more memory than the service allows. Ask for less."
    )
    assert wire.rows("Small") == [{"Result": 0}]


@pytest.mark.slow
@pytest.mark.fault(135)
@pytest.mark.parametrize("kind", ["functions", "errors", "tables"])
def test_a_forged_reply_does_not_fill_the_memory_of_the_service(
    wire: Wire, kind: str
) -> None:
    before = psutil.Process().memory_info().rss
    most = [0]
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            most[0] = max(most[0], psutil.Process().memory_info().rss)

    watching = threading.Thread(target=watch)
    watching.start()
    wire.call("Forged Reply", {"kind": kind})
    done.set()
    watching.join()
    assert most[0] - before < 200e6


@pytest.mark.slow
@pytest.mark.fault(135)
def test_a_function_that_loops_is_ended_after_its_time(
    functions: list[PublishedFunction], publish: Callable[..., Wire]
) -> None:
    """In a process that is ready: to start one may take longer."""
    patient = publish(*functions)
    wire = publish(*functions, limits=Limits(run_seconds=0.5, engine_threads=2))
    for name in ("Loop", "Slow"):
        patient.rows("Small")
        assert wire.call(name).status_code == 504
        assert becomes(lambda: wire.app.state.runs.admitted == 0)
    patient.rows("Small")


@pytest.mark.slow
def test_a_process_whose_run_was_cancelled_runs_nothing_else(
    functions: list[PublishedFunction], publish: Callable[..., Wire]
) -> None:
    patient = publish(*functions)
    wire = publish(*functions, limits=Limits(run_seconds=0.5))
    patient.rows("Remember", text="before")
    assert wire.call("Slow").status_code == 504
    assert becomes(lambda: wire.app.state.runs.admitted == 0)
    assert len(patient.rows("Remember", text="after")) == 1


@pytest.mark.slow
@pytest.mark.fault(134)
def test_a_user_who_starts_runs_and_leaves_holds_nobody_up(
    functions: list[PublishedFunction], publish: Callable[..., Wire]
) -> None:
    """A run holds its place until its process has ended, which is soon; others get answers."""
    wire = publish(
        *functions, limits=Limits(workers=4, concurrent_runs=8, runs_a_user=4)
    )
    runs = wire.app.state.runs

    async def check() -> None:
        async with wire.client() as client:
            for _ in range(4):
                left = [
                    asyncio.create_task(client.post(RUN, json={"FunctionName": "Loop"}))
                    for _ in range(4)
                ]
                assert await asyncio.to_thread(
                    becomes, lambda: runs.admitted == 4 and runs._in_workers.busy == 2
                )
                for request in left:
                    request.cancel()
                await asyncio.gather(*left, return_exceptions=True)
                assert runs.admitted == 2  # those that run
                assert await asyncio.to_thread(becomes, lambda: runs.admitted == 0)

    asyncio.run(check())
    wire.token = wire.auth.issue("u", 1)
    assert wire.rows("Small") == [{"Result": 0}]


@pytest.mark.fault(134)
def test_a_run_that_ignores_cancellation_holds_its_place(
    publish: Callable[..., Wire],
) -> None:
    """A function of the host's own process can't be ended: its user may start no other meanwhile."""
    go = threading.Event()
    wire = publish(
        published("Held", lambda: go.wait(60)),
        limits=Limits(run_seconds=0.4, engine_threads=6, runs_a_user=1),
    )
    assert wire.call("Held").status_code == 504
    assert wire.call("Held").status_code == 429
    go.set()
    assert becomes(lambda: wire.call("Held").status_code == 200)


@pytest.mark.slow
def test_what_a_run_started_ends_with_it(wire: Wire, tmp_path: Path) -> None:
    """Even if the process that ran it has ended before."""
    pid = int(wire.call("Leave").json()["body"])
    assert becomes(lambda: not psutil.pid_exists(pid))
    assert failed(wire, "Leave", exits="yes").endswith(
        "The process that ran it ended before its result."
    )
    assert becomes(
        lambda: (
            not [
                process
                for process in psutil.process_iter(["cmdline"])
                if "634.5" in (process.info["cmdline"] or ())
            ]
        )
    )


@pytest.mark.fault(136)
@pytest.mark.skipif(sys.platform != "linux", reason="Linux only")
def test_a_function_changes_no_other_process(wire: Wire) -> None:
    """With a limit of its processor time, the system would end the service."""
    for what in ("limit", "priority", "priorities", "scheduler"):
        assert "Operation not permitted" in failed(wire, "Change", what=what), what
    assert wire.call("Change", {"what": "own"}).json()["error"] is None
    assert wire.call("Locks").json() == {"error": None, "body": "3"}
    assert not (
        confinement.can_separate() and list(Path("/dev/shm").glob("funcs-test-*"))
    )


@pytest.mark.slow
def test_only_the_process_that_got_an_order_replies(wire: Wire) -> None:
    """A child's reply would be taken for the reply of the next run."""
    assert wire.call("Twins").json()["body"] == '"parent"'
    assert wire.rows("Small") == [{"Result": 0}]


@pytest.mark.slow
@pytest.mark.fault(135)
@pytest.mark.skipif(sys.platform == "win32", reason="needs folders without rights")
def test_nothing_that_a_worker_wrote_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "worker"
    (folder / "locked").mkdir(parents=True)
    (folder / "locked" / "file").touch()
    (folder / "locked").chmod(0)
    monkeypatch.chdir(folder)
    for _ in range(1100):
        Path("d").mkdir()
        os.chdir("d")
    os.chdir(tmp_path)
    confinement.clean_up(folder, 0)
    assert not folder.exists()


@pytest.mark.fault(135)
def test_a_thread_of_a_run_ends_with_it(wire: Wire) -> None:
    pids = [
        wire.call("Thread", {"starts": starts}).json()["body"]
        for starts in ("no", "yes", "no")
    ]
    assert pids[0] == pids[1] != pids[2]


@pytest.mark.fault(137)
@pytest.mark.parametrize(
    ("makes", "body", "error"),
    [
        pytest.param("os.mkfifo(path)", "1", "", marks=pytest.mark.slow, id="a pipe"),
        pytest.param("os.symlink(state, path)", "1", "", id="a link"),
        pytest.param(
            "with open(path, 'w') as file:\n    file.truncate(10**10)",
            None,
            "File too large",
            marks=pytest.mark.slow,
            id="a large file",
        ),
    ],
)
def test_no_file_that_a_notebook_makes_is_taken_for_its_result(
    tmp_path: Path,
    publish: Callable[..., Wire],
    makes: str,
    body: str | None,
    error: str,
) -> None:
    """The result leaves by a pipe, within bounds: the service opens no file of a run."""
    (tmp_path / "state").write_text(f'"{SECRET}"')
    (tmp_path / "shop").mkdir()
    state = f"state = {str(tmp_path / 'state')!r}"
    path = (
        "path = os.environ.get('JUPYTER_FUNCS_RESULT', os.path.abspath('result.json'))"
    )
    written(tmp_path / "shop" / "make.ipynb", "import os", state, path, makes, "1")
    with contextlib.closing(
        Workers(WorkerSetup((tmp_path / "shop",), default_asset="a", disk=10**8))
    ) as workers:
        wire = publish(*workers.load(), limits=Limits(run_seconds=20))
        reply = wire.call("Make").json()
    assert reply["body"] == body
    assert error in (reply["error"] or "")


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    ["while True:\n    pass", "import time\ntime.sleep(3.25)"],
    ids=["never", "late"],
)
def test_a_file_whose_import_takes_too_long_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, code: str
) -> None:
    """The others are published, also by the workers that start later."""
    (tmp_path / "long.py").write_text(code)
    (tmp_path / "ok.py").write_text(
        "from jupyter_funcs.service import function\n@function(asset='a')\ndef f(): ..."
    )
    with contextlib.closing(
        Workers(WorkerSetup((tmp_path,), import_seconds=3))
    ) as workers:
        assert [function.name for function in workers.load()] == ["F"]
        assert [function.name for function in workers.load()] == ["F"]
    # What a file prints is logged too.
    [record] = [warning for warning in caplog.records if warning.levelno > logging.INFO]
    assert (
        record.getMessage()
        == f"{tmp_path / 'long.py'} takes more than 3 seconds to import. It is not published."
    )


@pytest.mark.slow
def test_a_process_that_has_no_time_to_begin_is_told_from_one_that_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is ended at its first check: there is no file whose import could take the time."""
    monkeypatch.setattr(worker_pool, "GRACE_SECONDS", 0.0)
    setup = WorkerSetup((tmp_path,), import_seconds=0)
    with (
        contextlib.closing(Workers(setup)) as workers,
        pytest.raises(SetupError, match="not begin within 0 s"),
    ):
        workers.load()


def end_template(workers: Workers) -> None:
    """Kill the process that forks the workers, and all workers."""
    assert workers._template
    [process] = psutil.Process(workers._template.pid).children()
    process.kill()
    assert becomes(workers._template.replies.at_eof)


@pytest.mark.slow
def test_a_file_that_breaks_later_concerns_its_own_functions_only(
    tmp_path: Path, publish: Callable[..., Wire]
) -> None:
    """A template that starts while a file is broken, as under --reload, has the functions of the others."""
    for name in ("ok", "bad"):
        text = f"from jupyter_funcs.service import function\n@function(asset='a')\ndef {name}(): return [1]"
        (tmp_path / f"{name}.py").write_text(text)
    with contextlib.closing(Workers(WorkerSetup((tmp_path,)))) as workers:
        wire = publish(*workers.load())
        (tmp_path / "bad.py").write_text("def")
        end_template(workers)
        assert wire.call("Ok", {}).json()["error"] is None
        assert "bad.py, line 1: SyntaxError" in failed(wire, "Bad")


@pytest.mark.slow
@pytest.mark.fault(135)
def test_a_file_that_fills_the_disk_at_import_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fills.py"
    path.write_text(
        "for at in range(20):\n    open(str(at), 'wb').write(bytes(10**6))\nimport time\ntime.sleep(100)"
    )
    with (
        contextlib.closing(Workers(WorkerSetup((tmp_path,), disk=10**7))) as workers,
        pytest.raises(
            SetupError,
            match=r"fills.py can't be imported. .* more than 10,000,000 bytes of disk",
        ),
    ):
        workers.load()


# Elsewhere each worker imports the published files itself, which the tests above are about.
linux_only = pytest.mark.skipif(
    sys.platform != "linux", reason="workers are forks on Linux alone"
)

FORKS = """
import random
import time

import numpy as np
import pandas as pd

from jupyter_funcs.service import function

SEEN = []


@function(asset="a")
def draw() -> list[str]:
    return [str(random.random()), str(np.random.random())]


@function(asset="a")
def remember(text: str) -> list[str]:
    SEEN.append(text)
    return SEEN
"""


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    folder = tmp_path_factory.mktemp("forks")
    (folder / "forked.py").write_text(FORKS)
    with contextlib.closing(Workers(WorkerSetup((folder,)))) as made:
        yield made


def values(wire: Wire, name: str, **args: Any) -> list[Any]:
    return [row["Result"] for row in wire.rows(name, **args)]


@pytest.mark.slow
@pytest.mark.fault(136)
@linux_only
def test_workers_are_forks_of_one_process_and_share_nothing_that_changes(
    forks: Workers, publish: Callable[..., Wire]
) -> None:
    """Neither random numbers nor globals; and the process that they are forks of runs no function."""
    wire = publish(*forks.load())
    template = forks._template
    assert template
    drawn = values(wire, "Draw")
    assert values(wire, "Remember", text="t") == ["t"]
    wire.token = wire.auth.issue("u", 1)
    assert not {*drawn} & {*values(wire, "Draw")}
    assert values(wire, "Remember", text="u") == ["u"]
    assert forks._template is template


@pytest.mark.slow
@pytest.mark.fault(165)
@linux_only
def test_a_killed_template_or_worker_is_replaced(
    forks: Workers, publish: Callable[..., Wire]
) -> None:
    wire = publish(*forks.load())
    assert wire.request("GET", "/readyz", token=None).status_code == 200
    values(wire, "Draw")
    end_template(forks)
    assert wire.request("GET", "/readyz", token=None).status_code == 200
    assert values(wire, "Remember", text="again") == ["again"]
    [worker] = [worker for worker in forks._idle if worker.user is not None][-1:]
    psutil.Process(worker.pid).kill()
    assert becomes(worker.replies.at_eof)
    assert values(wire, "Remember", text="once more") == ["once more"]


@pytest.mark.slow
@pytest.mark.fault(165)
@linux_only
def test_a_stopped_worker_ends_with_the_process_that_started_it(
    tmp_path: Path,
) -> None:
    """A stopped process doesn't notice that its service has ended."""
    (tmp_path / "forked.py").write_text(FORKS)
    with contextlib.closing(Workers(WorkerSetup((tmp_path,)))) as workers:
        workers.load()
        assert workers._template
        launcher = psutil.Process(workers._template.pid)
        worker = psutil.Process(workers._idle[-1].pid)
        worker.suspend()
        launcher.kill()
        assert becomes(lambda: not is_running(worker.pid))


@pytest.mark.slow
@pytest.mark.fault(165)
@linux_only
def test_the_worker_that_was_used_least_recently_ends_first(
    tmp_path: Path, publish: Callable[..., Wire]
) -> None:
    (tmp_path / "forked.py").write_text(FORKS)
    with contextlib.closing(Workers(WorkerSetup((tmp_path,)), idle=1)) as workers:
        wire = publish(*workers.load())
        for text in ("a", "b"):
            assert values(wire, "Remember", text=text)[-1] == text
        wire.token = wire.auth.issue("u", 1)
        assert values(wire, "Remember", text="c") == ["c"]
        assert len(workers._idle) == 1
        wire.token = wire.auth.issue("t", 1)
        assert values(wire, "Remember", text="d") == ["d"], (
            "the first user's worker has ended"
        )


@pytest.mark.slow
@pytest.mark.fault(165)
@linux_only
@pytest.mark.parametrize(
    "line",
    [
        "import threading, time; threading.Thread(target=time.sleep, args=(9,), daemon=True).start()",
        "import socket; left = socket.socket()",
    ],
    ids=["a thread", "a socket"],
)
def test_a_file_that_leaves_threads_or_sockets_gets_processes_of_their_own(
    tmp_path: Path,
    publish: Callable[..., Wire],
    caplog: pytest.LogCaptureFixture,
    line: str,
) -> None:
    function = "from jupyter_funcs.service import function\n@function(asset='a')\ndef f(): return [1]\n"
    (tmp_path / "leaves.py").write_text(function + line)
    with contextlib.closing(Workers(WorkerSetup((tmp_path,)))) as workers:
        wire = publish(*workers.load())
        assert values(wire, "F") == [1]
        assert workers._template is None
    assert f"{tmp_path / 'leaves.py'} starts threads or opens sockets" in caplog.text
