"""Published code changes nothing outside its folder and leaves nothing, with and without namespaces of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jupyter_funcs.service.publishing import confinement

pytestmark = pytest.mark.skipif(not confinement.can_confine(), reason="needs Landlock")

# Run in a process whose user namespace allows no other namespaces, as in most containers.
WITHOUT = 'echo 0 > /proc/sys/user/max_mnt_namespaces; echo 0 > /proc/sys/user/max_ipc_namespaces; exec "$0" "$@"'
# And in one in which its user isn't root.
OTHER_USER = ["unshare", "--user", "--map-user=65534", "--map-group=65534"]
MODES = ["as the system allows", "without namespaces", "as another user"]

ATTACKS = '''
"""Functions that try to change what isn't theirs."""

import contextlib
import ctypes
import errno
import fcntl
import os
import platform
import shutil
import signal
import stat
import struct
import subprocess
from pathlib import Path

from jupyter_funcs.service import function

LIBC = ctypes.CDLL(None, use_errno=True)
IS_X86 = platform.machine() == "x86_64"


def system(number, *arguments):
    result = LIBC.syscall(number, *arguments)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def by_descriptor(change, path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        change(descriptor)
    finally:
        os.close(descriptor)


def linked(path):
    os.link(path, "inside")
    os.chmod("inside", 0o777)


def linked_by_descriptor(path):
    def link(descriptor):
        os.link(f"/proc/self/fd/{descriptor}", "again", follow_symlinks=True)
        os.chmod("again", 0o777)
    by_descriptor(link, path)


def swapped(path):
    os.symlink(path, "symbolic")
    os.chmod("symbolic", 0o777)


def flags(descriptor):
    value = bytearray(8)
    fcntl.ioctl(descriptor, 0x80086601, value)
    fcntl.ioctl(descriptor, 0x40086602, struct.pack("q", struct.unpack("q", value)[0] | 0x40))


def project(descriptor):
    value = bytearray(28)
    fcntl.ioctl(descriptor, 0x801C581F, value)
    fcntl.ioctl(descriptor, 0x401C5820, struct.pack("I24x", 0x80 | struct.unpack_from("I", value)[0]))


CHANGES = {
    "chmod": lambda path: os.chmod(path, 0o777),
    "chmod of the folder": lambda path: os.chmod(Path(path).parent, 0o777),
    "chmod below a folder": lambda path: by_descriptor(
        lambda at: os.chmod(Path(path).name, 0o777, dir_fd=at), Path(path).parent
    ),
    "fchmod": lambda path: by_descriptor(lambda at: os.fchmod(at, 0o777), path),
    "fchmodat2": lambda path: system(452, -100, str(path).encode(), 0o777, 0),
    "chmod of a descriptor": lambda path: by_descriptor(lambda at: os.chmod(f"/proc/self/fd/{at}", 0o777), path),
    "chmod through another root": lambda path: os.chmod(f"/proc/{os.getppid()}/root{path}", 0o777),
    "chmod of a link": swapped,
    "chmod of a hard link": linked,
    "chmod of a hard link to a descriptor": linked_by_descriptor,
    "a program": lambda path: subprocess.run(["chmod", "777", path], check=True, capture_output=True),
    "chown": lambda path: os.chown(path, os.getuid(), os.getgid()),
    "chown to another": lambda path: os.chown(path, 12345, 12345),
    "lchown": lambda path: os.lchown(path, os.getuid(), os.getgid()),
    "fchown": lambda path: by_descriptor(lambda at: os.fchown(at, os.getuid(), os.getgid()), path),
    "fchownat": lambda path: by_descriptor(
        lambda at: os.chown(Path(path).name, os.getuid(), os.getgid(), dir_fd=at), Path(path).parent
    ),
    "setxattr": lambda path: os.setxattr(path, "user.funcs", b"1"),
    "lsetxattr": lambda path: os.setxattr(path, "user.funcs", b"1", follow_symlinks=False),
    "fsetxattr": lambda path: by_descriptor(lambda at: os.setxattr(at, "user.funcs", b"1"), path),
    "removexattr": lambda path: os.removexattr(path, "user.kept"),
    "setxattrat": lambda path: system(
        463, -100, str(path).encode(), 0, b"user.funcs", struct.pack("PII", ctypes.addressof(VALUE), 1, 0), 16
    ),
    "file_setattr": lambda path: system(469, -100, str(path).encode(), struct.pack("QIIII", 0x80, 0, 0, 0, 0), 24, 0),
    "utime": lambda path: os.utime(path, (1, 1)),
    "utime without follow": lambda path: os.utime(path, (1, 1), follow_symlinks=False),
    "touch": lambda path: os.utime(path),
    "futimens": lambda path: by_descriptor(lambda at: os.utime(at, (1, 1)), path),
    "flags": lambda path: by_descriptor(flags, path),
    "extended flags": lambda path: by_descriptor(project, path),
    "write": lambda path: Path(path).write_text("changed"),
    "truncate": lambda path: os.truncate(path, 0),
    "truncate on opening": lambda path: os.open(path, os.O_RDONLY | os.O_TRUNC),
    "unlink": os.unlink,
    "rename": lambda path: os.rename(path, f"{path}.moved"),
    "move in": lambda path: os.rename(path, "moved"),
    "replace": lambda path: (Path("mine").write_text("x"), os.replace("mine", path)),
    "new file": lambda path: Path(f"{path}.new").write_text("x"),
    "new folder": lambda path: os.mkdir(f"{path}.folder"),
    "new node": lambda path: os.mknod(f"{path}.node"),
    "new pipe": lambda path: os.mkfifo(f"{path}.pipe"),
    "new link": lambda path: os.symlink("x", f"{path}.symlink"),
    "mount": lambda path: system(165 if IS_X86 else 40, b"/tmp", str(path).encode(), None, 4096, None),
    "mount attributes": lambda path: system(442, -100, b"/", 0x8000, struct.pack("QQQQ", 0, 1, 0, 0), 32),
    "new root": lambda path: system(161 if IS_X86 else 51, str(Path(path).parent).encode()),
    "ring": lambda path: system(425, 8, ctypes.create_string_buffer(120)),
}
VALUE = ctypes.create_string_buffer(b"1")


def others():
    """Return the processes above this one: its worker and the service."""
    found, pid = [], os.getppid()
    while pid > 1 and len(found) < 3:
        found.append(pid)
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            break
    return found


def vector():
    local = ctypes.create_string_buffer(8)
    return struct.pack("PN", ctypes.addressof(local), 8)


PROCESSES = {
    "signal": lambda pid: os.kill(pid, 0),
    "trace": lambda pid: system(101 if IS_X86 else 117, 16, pid, None, None),
    "read memory": lambda pid: system(310 if IS_X86 else 270, pid, vector(), 1, struct.pack("PN", 4096, 8), 1, 0),
    "write memory": lambda pid: system(311 if IS_X86 else 271, pid, vector(), 1, struct.pack("PN", 4096, 8), 1, 0),
    "memory file": lambda pid: open(f"/proc/{pid}/mem", "r+b"),
    "descriptor": lambda pid: system(438, os.pidfd_open(pid), 0, 0),
    "folder": lambda pid: os.listdir(f"/proc/{pid}/cwd/"),
    "killing order": lambda pid: Path(f"/proc/{pid}/oom_score_adj").write_text("1000"),
    "nice": lambda pid: os.setpriority(os.PRIO_PROCESS, pid, 19),
    "affinity": lambda pid: os.sched_setaffinity(pid, {0}),
    "input and output": lambda pid: system(251 if IS_X86 else 30, 1, pid, 3 << 13),
}
OF_USER = {
    "nice": lambda: os.setpriority(os.PRIO_USER, 0, 5),
    "nice of a group": lambda: os.setpriority(os.PRIO_PGRP, 0, 5),
    "input and output": lambda: system(251 if IS_X86 else 30, 3, os.getuid(), 2 << 13 | 7),
    "own affinity": lambda: os.sched_setaffinity(0, {0}),
    "keyring": lambda: system(250 if IS_X86 else 219, 0, -4, 1),
    "new key": lambda: system(248 if IS_X86 else 217, b"user", b"funcs:tests", b"x", 1, -4),
    "wanted key": lambda: system(249 if IS_X86 else 218, b"user", b"funcs:tests", None, -4),
    "user namespace": lambda: system(272 if IS_X86 else 97, 0x10000000),
    "clone": lambda: ended(system(56 if IS_X86 else 220, 0x10000000 | signal.SIGCHLD, None, None, None, None)),
    "clone3": lambda: ended(system(435, struct.pack("QQQQQQQQ", 0x10000000, 0, 0, 0, 17, 0, 0, 0), 64)),
    "group of the service": lambda: os.setpgid(0, os.getpgid(others()[-1])),
}


def ended(pid):
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)


def tried(attempts, *arguments):
    errors = {}
    for name, attempt in attempts.items():
        try:
            attempt(*arguments)
            errors[name] = ""
        except (OSError, subprocess.CalledProcessError) as error:
            errors[name] = type(error).__name__
    return errors


@function
def change(path: str) -> dict:
    return tried(CHANGES, Path(path))


def keeping(path):
    os.chmod(path, os.stat(path).st_mode & 0o7777)


@function
def reopen() -> dict:
    """Set the modes, as they are, of what was open before: files, the program itself, its root and its folders."""
    places_open = {}
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            kind = stat.S_IFMT(os.fstat(int(name)).st_mode)
            if kind not in {stat.S_IFIFO, stat.S_IFSOCK}:
                places_open[os.readlink(f"/proc/self/fd/{name}")] = lambda name=name: keeping(f"/proc/self/fd/{name}")
    places = ["/proc/self/exe", "/proc/self/root", "/proc/self/cwd/..", f"/proc/{os.getppid()}/exe"]
    return tried(places_open | {place: lambda place=place: keeping(place) for place in places})


@function
def disturb() -> dict:
    return {str(pid): tried(PROCESSES, pid) for pid in others()} | {"user": tried(OF_USER)}


@function
def leave() -> list[str]:
    """Leave System V memory, semaphores and a queue, and a queue with a name."""
    made = []
    numbers = {"memory": (29, 194), "semaphores": (64, 190), "queue": (68, 186)}
    key = 0x46554E43
    calls = {"memory": (key, 2**20, 0o1600), "semaphores": (key, 5, 0o1600), "queue": (key, 0o1600)}
    for name, arguments in calls.items():
        with contextlib.suppress(OSError):
            system(numbers[name][not IS_X86], *arguments)
            made.append(name)
    with contextlib.suppress(OSError):
        system(240 if IS_X86 else 180, b"funcs-tests", os.O_CREAT | os.O_RDWR, 0o600, None)
        made.append("named queue")
    return made


@function
def hoard() -> int:
    """Fill the memory with segments that belong to no process."""
    many = 0
    while many < 40:
        system(29 if IS_X86 else 194, 0, 10**8, 0o1600)
        many += 1
    return many


@function
def usual() -> list[str]:
    """Do what functions do in their own folder."""
    Path("a").write_text("x")
    os.rename("a", "b")
    os.link("b", "c")
    os.symlink("b", "d")
    os.mkdir("e")
    with open("b", "r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
    with open(os.devnull, "w") as file:
        file.write("x")
    import multiprocessing
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(abs, [-1, 2])
    return sorted(os.listdir())


@function
def own_modes() -> list[str]:
    Path("mine").write_text("x")
    os.chmod("mine", 0o700)
    os.utime("mine", (1, 1))
    shutil.copy2("mine", "copy")
    return [oct(os.stat("copy").st_mode)]
'''

SERVICE = """
import json, sys
from pathlib import Path
from jupyter_funcs.core import background
from jupyter_funcs.service.publishing import confinement
from jupyter_funcs.service.publishing.confinement import WorkerSetup
from jupyter_funcs.service.publishing.worker_pool import Workers
from jupyter_funcs.service.builtin import companies
from jupyter_funcs.service.engine.duckdb_engine import DuckDBEngine

if __name__ == "__main__":
    confinement.hide_memory()
    folder, orders = Path(sys.argv[1]), json.loads(sys.argv[2])
    setup = WorkerSetup((folder / "functions",), default_asset="a", hidden=(Path(sys.argv[3]), folder / "service.toml"))
    workers = Workers(setup)
    call = DuckDBEngine(companies.reference(), None).call()
    replies = {}
    try:
        functions = {function.name: function for function in workers.load()}
        for at, (name, args) in enumerate(orders):
            try:
                body = background.run(functions[name].body(call, 1, "json", args, typed=False)).content
                replies[at] = json.loads(json.loads(bytes(body))["body"])
            except Exception as error:
                replies[at] = f"{type(error).__name__}: {error}"
    finally:
        workers.close()
    print(json.dumps([replies[at] for at in range(len(orders))]))
"""


WARN = """
import logging
from jupyter_funcs.service.server import hosted
logging.basicConfig()
hosted._warn_of_system()
"""


def can_forbid_namespaces() -> bool:
    """Tell whether a process here may have a user namespace that forbids other ones."""
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", WITHOUT, "true"]
    return (
        bool(shutil.which("unshare"))
        and subprocess.run(command, capture_output=True, check=False).returncode == 0
    )


@pytest.fixture(
    params=[
        MODES[0],
        *(pytest.param(mode, marks=pytest.mark.slow) for mode in MODES[1:]),
    ]
)
def mode(request: pytest.FixtureRequest) -> str:
    if request.param != MODES[0] and not can_forbid_namespaces():
        pytest.skip("needs user namespaces")
    return str(request.param)


@pytest.fixture
def team(tmp_path: Path) -> Path:
    """A folder with the functions, a state folder, and a file that functions may read."""
    for name in ("functions", "state"):
        (tmp_path / name).mkdir()
    (tmp_path / "functions" / "attacks.py").write_text(ATTACKS)
    for place in ("state/keys", "functions/sales.csv", "other", "service.toml"):
        (tmp_path / place).write_text("as it was")
        (tmp_path / place).chmod(0o600)
        os.setxattr(tmp_path / place, "user.kept", b"1")
    return tmp_path


def command_in(mode: str, *command: str) -> list[str]:
    """Return the command that runs a program in a mode."""
    if mode == MODES[1]:
        return ["unshare", "--user", "--map-root-user", "sh", "-c", WITHOUT, *command]
    return [*OTHER_USER, *command] if mode == MODES[2] else [*command]


def run(
    mode: str,
    team: Path,
    *orders: tuple[str, dict[str, str]],
    hidden: Path | None = None,
) -> list[Any]:
    """Run functions in a service of its own, and return what each returned, or its error."""
    command = [
        sys.executable,
        "-W",
        "error",
        "-c",
        SERVICE,
        str(team),
        json.dumps(orders),
        str(hidden or team / "state"),
    ]
    done = subprocess.run(
        command_in(mode, *command),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    replies: list[Any] = json.loads(done.stdout)
    return replies


def looks(path: Path) -> dict[str, Any]:
    """Return everything that changes when a folder or its contents change."""
    state: dict[str, Any] = {}
    for place in (path, *sorted(path.rglob("*"))):
        facts = place.lstat()
        attributes = {name: os.getxattr(place, name) for name in os.listxattr(place)}
        if "__pycache__" not in str(place):
            times = facts.st_mtime_ns, facts.st_ctime_ns
            content = place.read_bytes() if place.is_file() else b""
            state[str(place)] = (
                facts.st_mode,
                facts.st_uid,
                facts.st_gid,
                facts.st_nlink,
                times,
                attributes,
                content,
            )
    return state


@pytest.mark.slow
@pytest.mark.fault(145)
def test_a_function_changes_nothing_outside_its_folder(mode: str, team: Path) -> None:
    """Of files that it can't read, such as keys, and of those that it can: no mode, owner, attribute, time or name."""
    places = [
        "state/keys",
        "functions/sales.csv",
        "functions/attacks.py",
        "other",
        "service.toml",
    ]
    before = looks(team)
    for place, reply in zip(
        places,
        run(mode, team, *[("Change", {"path": str(team / p)}) for p in places]),
        strict=True,
    ):
        assert isinstance(reply, list), reply
        assert [name for name, error in reply[0].items() if not error] == [], place
    assert looks(team) == before


@pytest.mark.slow
@pytest.mark.fault(145)
def test_a_function_changes_nothing_that_was_open_before_it(
    mode: str, team: Path
) -> None:
    """A file that is open, or a program that runs, is also reached by the mounts of the time when it was opened."""
    [[errors]] = run(mode, team, ("Reopen", {}))
    assert "/proc/self/exe" in errors
    assert "/dev/null" in errors
    assert [place for place, error in errors.items() if not error] == []


@pytest.mark.slow
@pytest.mark.fault(145)
def test_a_function_disturbs_no_other_process(mode: str, team: Path) -> None:
    """It can't signal, trace, read, write or slow the service, its supervisor, or all processes of the account."""
    [[errors]] = run(mode, team, ("Disturb", {}))
    assert len(errors) >= 2
    for who, tries in errors.items():
        assert [name for name, error in tries.items() if not error] == [], who


def system_v() -> str:
    """Return what is in the System V tables of the machine with the key of the tests."""
    tables = [
        Path("/proc/sysvipc", name).read_text().splitlines()
        for name in ("shm", "sem", "msg")
    ]
    return "\n".join(
        line for table in tables for line in table if str(0x46554E43) in line
    )


@pytest.mark.fault(146)
@pytest.mark.skipif(
    not confinement.can_limit_system_calls(), reason="needs a known machine"
)
def test_a_worker_leaves_no_memory_semaphores_or_queues(mode: str, team: Path) -> None:
    """No process holds them, so no limit of a process counts their memory: they are refused."""
    made, hoarded = run(mode, team, ("Leave", {}), ("Hoard", {}))
    assert made == []
    assert "Operation not permitted" in hoarded
    assert system_v() == ""


@pytest.mark.fault(145)
def test_serve_says_what_it_could_not_get(mode: str) -> None:
    """Without namespaces, what functions can do and what they can't."""
    command = command_in(mode, sys.executable, "-W", "error", "-c", WARN)
    warnings = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=True
    ).stderr
    is_separate = mode != MODES[1] and confinement.can_separate()
    assert ("can't set modes and times of files, even of their own" in warnings) == (
        not is_separate
    )


@pytest.mark.slow
def test_functions_are_published_from_a_folder_below_the_state_folder(
    team: Path,
) -> None:
    """It stays readable; its neighbours aren't."""
    (team / "functions" / "read.py").write_text(
        "from pathlib import Path\nfrom jupyter_funcs.service import function\n"
        "@function\ndef read(path: str) -> str: return Path(path).read_text()"
    )
    [here, beside] = run(
        MODES[0],
        team,
        ("Read", {"path": str(team / "functions" / "sales.csv")}),
        ("Read", {"path": str(team / "other")}),
        hidden=team,
    )
    assert here == "as it was"
    assert "Permission denied" in beside


@pytest.mark.slow
def test_a_function_uses_its_own_folder(mode: str, team: Path) -> None:
    """Links, locks, devices and pools work; modes and times can be set only where there are namespaces."""
    usual, modes = run(mode, team, ("Usual", {}), ("Own Modes", {}))
    assert [row["Result"] for row in usual] == ["b", "c", "d", "e"]
    if mode == MODES[1]:
        assert "Operation not permitted" in modes
    elif confinement.can_separate():
        assert modes == [{"Result": "0o100700"}]
