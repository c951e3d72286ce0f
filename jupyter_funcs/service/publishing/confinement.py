"""What the process of published code may use: files, memory, disk space, processes; and its end with all it started."""

from __future__ import annotations

import ctypes
import errno
import functools
import itertools
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import psutil

from jupyter_funcs.service.engine.duckdb_engine import remove

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Limits on processes also count threads, of which libraries start some for each processor.
_THREADS = 16 * (os.cpu_count() or 1)
_PYTHON = [sys.executable, "-P", "-u", "-m"]
_MOST_TRIES = 100  # to end what a worker started
_MOST_STARTED = 1000
_MOST_SECONDS = 1
_TELLS_CHILDREN = Path("/proc/thread-self/children").exists()
_LONGEST_PATH = 4096

# What programs on Linux read, apart from Python's own folders: no other file in /etc, where secrets may be.
_SYSTEM = """
/usr /lib /lib64 /bin /sbin /opt /nix/store /proc /sys /run/systemd/resolve
/etc/alternatives /etc/ca-certificates /etc/fonts /etc/group /etc/host.conf /etc/hosts /etc/ld.so.cache
/etc/localtime /etc/mime.types /etc/nsswitch.conf /etc/passwd /etc/pki /etc/protocols /etc/resolv.conf
/etc/services /etc/ssl/certs /etc/ssl/openssl.cnf /etc/timezone
"""
_DEVICES = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"]
# Of Linux' prctl, mount and Landlock.
_SET_SIGNAL_OF_PARENTS_END = 1
_SET_DUMPABLE = 4
_SET_CHILD_SUBREAPER = 36
_SET_NO_NEW_PRIVILEGES = 38
_SET_SECCOMP = 22
_NEW_MOUNTS = 0x20000
_NEW_IPC = 0x8000000
_NEW_USERS = 0x10000000
_PRIVATE = 0x44000
_BIND = 0x1000
_MOVE = 0x2000
_SET_MOUNT_ATTRIBUTES = 442
_BELOW_TOO = 0x8000
_READ_ONLY = 1


BYTES_AN_ENTRY = 4096
"""What a file or folder counts for besides its content: a file system has no endless number of them."""


class _SystemCalls(NamedTuple):
    """The numbers of system calls on a kind of machine: single ones, and ranges as ``first-last``."""

    machine: int
    # Each as ``number:argument``, with the argument that must be 0, which is oneself.
    for_others: str
    clone: int
    ioctl: int
    # Of System V and named queues; of keyrings; of mounts, roots and new namespaces; which processors, and which input
    # and output comes first; what opens files by number; rings; and what watches others or loads code into the system.
    refused: str
    # chmod, chown, setxattr, removexattr, utime and all their variants.
    changes: str
    # What joins a namespace.
    join: str


# prlimit, setpriority (twice), sched_setscheduler and sched_setattr.
_SYSTEM_CALLS = {
    "x86_64": _SystemCalls(
        0xC000003E,
        "302:0 141:0 141:1 144:0 314:0",
        clone=56,
        ioctl=16,
        refused="29-31 64-71 155 161 165-166 203 220 240-245 248-251 272 298 304 321 323 425-433 442-443",
        changes="90-94 132 188-190 197-199 235 260-261 268 280 452",
        join="308",
    ),
    "aarch64": _SystemCalls(
        0xC00000B7,
        "261:0 140:0 140:1 119:0 274:0",
        clone=220,
        ioctl=29,
        refused="30 39-41 51 97 122 180-197 217-219 241 265 280 282 425-433 442-443",
        changes="5-7 14-16 52-55 88 452",
        join="268",
    ),
}
# On all machines: clone3, whose flags can't be seen, and what is newer than this.
_UNKNOWN = f"435 463-{(1 << 30) - 1}"
_NEW_NAMESPACES = 0x7E020000
# The kinds of ioctl that change no file: those of terminals and of sockets.
_HARMLESS = 0x5400, 0x8900
# The limits of control groups and their counts of events, each of their first or their second version.
_LIMITS = {
    "pids": ("pids.max", "pids.max"),
    "memory": ("memory.limit_in_bytes", "memory.max"),
}
_COUNTS = ("memory.oom_control", "memory.events")
_CREATE_RULESET = 444
_ADD_RULE = 445
_RESTRICT_SELF = 446
_EXECUTE = 1
_WRITE = 2
_READ = 4
_LIST = 8
_TRUNCATE = 1 << 14
_OF_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE
_FIRST_WITH_SCOPES = 6
_ALL_SCOPES = 3


@dataclass(frozen=True, slots=True)
class WorkerSetup:
    """
    What a worker publishes, apart from the files and entry points `skipped`, and may use; sizes in bytes.

    One that `keeps_going` leaves out the files that can't be published, and reports them. One with `data` publishes
    nothing, but runs queries of published code. One that `forks` is the template of workers, which are its forks.
    """

    folders: tuple[Path, ...]
    entry_points: bool = False
    default_asset: str = ""
    reference: Any = None
    data: Any = None
    readable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    skipped: tuple[str, ...] = ()
    keeps_going: bool = False
    import_seconds: float = 300
    memory: int = 4 * 2**30
    disk: int = 2**30
    processes: int = 64
    forks: bool = False


def descendants(pid: int) -> list[psutil.Process]:
    """Return what a process has started, and so on."""
    processes = children(pid)
    for process in itertools.islice(processes, _MOST_STARTED):
        processes += children(process.pid)
    return processes


def children(pid: int) -> list[psutil.Process]:
    """Return the children of a process; without a look at all processes, where the system tells them."""
    if not _TELLS_CHILDREN:
        return psutil.Process(pid).children()
    pids: list[str] = []
    with suppress(OSError):  # it has ended
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                pids += (thread / "children").read_text().split()

    processes = []
    for child in pids:
        with suppress(psutil.NoSuchProcess):
            processes.append(psutil.Process(int(child)))
    return processes


def kill_descendants(pid: int) -> None:
    """Stop the descendants of a process, which can then start no others, and kill them."""
    stopped: set[psutil.Process] = set()
    with suppress(psutil.NoSuchProcess):  # it may end itself
        for _ in range(_MOST_TRIES):
            new = {*descendants(pid)} - stopped
            if not new:
                break
            stopped |= new
            for child in new:
                with suppress(psutil.Error):
                    child.suspend()

    for child in stopped:
        with suppress(psutil.NoSuchProcess):
            child.kill()

    psutil.wait_procs(stopped, timeout=_MOST_SECONDS)


def wait_for_end(pid: int) -> None:
    """Wait for the end of a process that was killed."""
    with suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
        psutil.Process(pid).wait(_MOST_SECONDS)


def clean_up(folder: Path, pid: int) -> None:
    """Remove the folder and the control groups of a worker that has ended."""
    remove(folder)
    for controller in _LIMITS:
        with suppress(OSError):
            control_group(controller, pid).rmdir()


def remove_old_groups() -> None:
    """Remove the control groups that killed services and workers have left."""
    for controller in _LIMITS:
        with suppress(OSError):
            for group in control_group(controller, 0).parent.glob("funcs-*"):
                if not psutil.pid_exists(int(group.name.removeprefix("funcs-"))):
                    group.rmdir()


def can_confine() -> bool:
    """Tell whether the system can keep a worker from the files of its account."""
    return sys.platform == "linux" and bool(
        _libc().syscall(_CREATE_RULESET, None, 0, 1) > 0
    )


def can_separate() -> bool:
    """Tell whether the system lets a worker have namespaces of its own, by the program that does the same."""
    if sys.platform != "linux" or not (unshare := shutil.which("unshare")):
        return False
    user = ["--user"] if os.getuid() else []
    command = [unshare, "--mount", "--ipc", *user, "true"]
    ended = subprocess.run(command, stderr=subprocess.DEVNULL, check=False)  # noqa: S603 - no input
    return ended.returncode == 0


def can_limit_system_calls() -> bool:
    """Tell whether a worker's system calls can be told apart on this kind of machine."""
    return sys.platform == "linux" and os.uname().machine in _SYSTEM_CALLS


def can_limit_processes() -> bool:
    """Tell whether the system can limit how many processes a worker starts: for root, only by control groups."""
    if sys.platform != "linux" or os.getuid():
        return sys.platform != "win32"
    return can_limit("pids")


def can_limit(controller: str) -> bool:
    """Tell whether control groups can limit the ``pids`` or the ``memory`` of a worker."""
    with suppress(OSError):
        _limited_group(controller, 0, 2**20).rmdir()
        return True
    return False


def control_group(controller: str, pid: int) -> Path:
    """Return the control group that limits the ``pids`` or the ``memory`` of a worker; it may not exist."""
    groups = dict(
        line.split(":", 2)[1:]
        for line in Path("/proc/self/cgroup").read_text().splitlines()
    )
    if controller not in groups:
        controller = ""  # of the second version
    place = groups.get(controller, "nonexistent").lstrip("/")
    return Path("/sys/fs/cgroup", controller, place, f"funcs-{pid}")


def group_files(pid: int, setup: WorkerSetup) -> list[Path]:
    """Return the files of new control groups with the limits of a worker: to join one, a process is written to it."""
    files = []
    # Files in memory count as memory here, and as disk space elsewhere.
    for controller, limit in (
        ("pids", setup.processes + _THREADS),
        ("memory", setup.memory + setup.disk),
    ):
        with suppress(OSError):
            files.append(_limited_group(controller, pid, limit) / "cgroup.procs")

    return files


def _limited_group(controller: str, pid: int, most: int) -> Path:
    group = control_group(controller, pid)
    group.mkdir(exist_ok=True)
    first, second = (group / name for name in _LIMITS[controller])
    (first if first.exists() else second).write_text(str(most))
    return group


def ran_out_of_memory(pid: int) -> bool:
    """Tell whether the system has ended a process of a worker because its group used too much memory."""
    with suppress(OSError):
        files = control_group("memory", pid).iterdir()
        return any(
            file.name in _COUNTS and re.search(r"(?m)^oom_kill [1-9]", file.read_text())
            for file in files
        )

    return False


def hide_memory() -> None:
    """Keep other processes of the account from reading this one's memory and environment (Linux only)."""
    if sys.platform == "linux":
        _libc().prctl(_SET_DUMPABLE, 0, 0, 0, 0)


def adopt_orphans() -> None:
    """Make this process the parent of its descendants whose own parent has ended (Linux only)."""
    _libc().prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def join(namespaces: Sequence[int], folder: Path) -> None:
    """Enter the namespaces that were made for this process, with no rights there, and its folder."""
    libc = _libc()
    for descriptor in namespaces:
        if libc.setns(descriptor, 0):
            raise OSError(ctypes.get_errno(), "the namespaces can't be joined")
        os.close(descriptor)

    if namespaces:
        _drop_rights(libc)
        # As after exec, so that it can read its own /proc.
        libc.prctl(_SET_DUMPABLE, 1, 0, 0, 0)

    os.chdir(folder)


def _drop_rights(libc: ctypes.CDLL) -> None:
    libc.capset(
        ctypes.byref((ctypes.c_uint32 * 2)(0x20080522, 0)),
        ctypes.byref((ctypes.c_uint32 * 6)()),
    )


def confine(setup: WorkerSetup, *, is_separate: bool) -> None:
    """
    Limit what this process and its descendants can use; before it starts a thread, to which it would not apply.

    A template's forks do this again, which leaves them less.
    """
    if sys.platform == "win32":
        return
    import resource

    most = {"DATA": setup.memory, "FSIZE": setup.disk, "NOFILE": 1024, "CORE": 0}
    if sys.platform == "linux" and not setup.forks:
        # This limit is the account's, whose threads are not more than those of all.
        running = Path("/proc/loadavg").read_text().split()[3].partition("/")[2]
        most["NPROC"] = int(running) + setup.processes + _THREADS

    for name, limit in most.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        if not 0 <= resource.getrlimit(kind)[1] < limit:  # root may raise a lower one
            resource.setrlimit(kind, (limit, limit))

    if sys.platform == "linux":
        libc = _libc()
        if not setup.forks:  # what a fork leaves is its launcher's
            adopt_orphans()
        libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        _drop_rights(libc)
        # Even if it is stopped, and nobody else is left to end it.
        libc.prctl(_SET_SIGNAL_OF_PARENTS_END, signal.SIGKILL, 0, 0, 0)
        if can_confine():
            _restrict_files(libc, setup, is_separate=is_separate)
        _limit_system_calls(libc, may_change_files=is_separate, may_join=setup.forks)


def _limit_system_calls(
    libc: ctypes.CDLL, *, may_change_files: bool, may_join: bool
) -> None:
    """Refuse what would reach beyond this process: with a limit of its processor time, it could end the service."""
    numbers = _SYSTEM_CALLS.get(os.uname().machine)
    if not numbers:
        return
    refuse = (6, 0, 0, 0x50000 | errno.EPERM)
    ignore = (6, 0, 0, 0x50000 | errno.ENOSYS)
    allow = (6, 0, 0, 0x7FFF0000)
    number = (0x20, 0, 0, 0)
    # Nor by the numbers of other machines, such as those of 32 bits.
    code = [
        (0x20, 0, 0, 4),
        (0x15, 1, 0, numbers.machine),
        refuse,
        number,
        (0x35, 0, 1, 1 << 30),
        refuse,
    ]

    groups = [(numbers.refused, refuse), (_UNKNOWN, ignore)]
    if not may_change_files:
        groups.append((numbers.changes, refuse))
    if not may_join:
        groups.append((numbers.join, refuse))
    for ranges, end in groups:
        for text in ranges.split():
            first, _, last = text.partition("-")
            code += [
                (0x35, 2, 0, int(last or first) + 1),
                (0x35, 0, 1, int(first)),
                end,
            ]

    # Each of these only with 0 as the argument that says for whom.
    for text in numbers.for_others.split():
        call, argument = map(int, text.split(":"))
        code += [
            number,
            (0x15, 0, 3, call),
            (0x20, 0, 0, 16 + 8 * argument),
            (0x15, 1, 0, 0),
            refuse,
        ]

    # A new process, but not in new namespaces.
    code += [
        number,
        (0x15, 0, 3, numbers.clone),
        (0x20, 0, 0, 16),
        (0x45, 0, 1, _NEW_NAMESPACES),
        refuse,
    ]

    # By their kind, which is the second byte of the command.
    if not may_change_files:
        code += [
            number,
            (0x15, 0, 5, numbers.ioctl),
            (0x20, 0, 0, 24),
            (0x54, 0, 0, 0xFF00),
        ]
        code += [(0x15, 2, 0, _HARMLESS[0]), (0x15, 1, 0, _HARMLESS[1]), refuse]

    program = ctypes.create_string_buffer(
        b"".join(struct.pack("HBBI", *step) for step in [*code, allow])
    )
    libc.prctl(
        _SET_SECCOMP,
        2,
        struct.pack("HP", len(code) + 1, ctypes.addressof(program)),
        0,
        0,
    )


def _have_own_namespaces(
    libc: ctypes.CDLL, setup: WorkerSetup, place: Path, *, of_user: bool, proc: int
) -> None:
    """
    Make every file read-only but those in a folder and in a ``/dev/shm`` that is limited, and cover the hidden ones.

    What this process and its descendants leave in memory ends with them. Raises `OSError` if the system forbids it.
    """

    def check(result: int) -> None:
        if result:
            raise OSError(ctypes.get_errno(), "namespaces can't be had")

    def mount(
        source: str | Path,
        place: str | Path,
        kind: bytes | None,
        flags: int,
        options: str = "",
    ) -> None:
        paths = map(os.fsencode, (source, place))
        check(libc.mount(*paths, kind, flags, options.encode()))

    if of_user:
        ids = os.getuid(), os.getgid()
        check(libc.unshare(_NEW_MOUNTS | _NEW_IPC | _NEW_USERS))
        _keep_ids(proc, *ids)
    else:
        check(libc.unshare(_NEW_MOUNTS | _NEW_IPC))

    # What is mounted here concerns nobody else.
    mount("none", "/", None, _PRIVATE)
    mount(place, place, None, _BIND)
    for path in setup.hidden:
        if path.is_dir():
            mount("tmpfs", path, b"tmpfs", 0, "size=4k,mode=555")
        elif path.exists() and not can_confine():
            mount("/dev/null", path, None, _BIND)

    if setup.forks:
        _mount_devices(mount, place / "dev")

    # Everything that is mounted now is read-only, and then the folder isn't.
    for top, flags, attributes in (
        (b"/", _BELOW_TOO, (_READ_ONLY, 0)),
        (os.fsencode(place), 0, (0, _READ_ONLY)),
    ):
        check(
            libc.syscall(
                _SET_MOUNT_ATTRIBUTES,
                -1,
                top,
                flags,
                struct.pack("QQQQ", *attributes, 0, 0),
                32,
            )
        )

    limits = f"size={setup.disk},nr_inodes={setup.disk // BYTES_AN_ENTRY}"
    mount("tmpfs", "/dev/shm", b"tmpfs", 0, limits)  # noqa: S108 - not a temporary file
    # The working folder was reached by the mount of before.
    os.chdir(place)


def _keep_ids(proc: int, user: int, group: int) -> None:
    """Give this process the user and the group that it had outside of its namespace."""
    maps = {
        "setgroups": "deny",
        "uid_map": f"{user} {user} 1",
        "gid_map": f"{group} {group} 1",
    }
    for name, text in maps.items():
        # A path may be read-only.
        file = os.open(f"self/{name}", os.O_WRONLY, dir_fd=proc)
        os.write(file, text.encode())
        os.close(file)


def _mount_devices(mount: Callable[..., None], folder: Path) -> None:
    """Leave nothing in ``/dev`` but the devices that are allowed, so that to write there is to write to one of them."""
    folder.mkdir()
    mount("tmpfs", folder, b"tmpfs", 0, "size=64k,mode=755")
    (folder / "shm").mkdir()
    (folder / "fd").symlink_to("/proc/self/fd")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        (folder / name).symlink_to(f"/proc/self/fd/{number}")
    for device in _DEVICES:
        own = folder / Path(device).name
        own.touch()
        mount(device, own, None, _BIND)

    mount(folder, "/dev", None, _MOVE)
    folder.rmdir()


def _restrict_files(
    libc: ctypes.CDLL, setup: WorkerSetup, *, is_separate: bool
) -> None:
    version = libc.syscall(_CREATE_RULESET, None, 0, 1)
    everything = (1 << 12 + min(version, 3)) - 1
    head = struct.pack(
        "QQQ", everything, 0, _ALL_SCOPES if version >= _FIRST_WITH_SCOPES else 0
    )
    ruleset = libc.syscall(_CREATE_RULESET, head, len(head), 0)
    rules = {
        **_all_readable((*setup.folders, *setup.readable), setup.hidden),
        **dict.fromkeys(map(Path, _DEVICES), _OF_FILES),
        # Semaphores are files, which others must not find.
        Path("/dev/shm"): everything & ~_LIST,  # noqa: S108 - not a temporary file
        Path.cwd(): everything,
    }
    if setup.forks and is_separate:
        rules[Path("/dev")] = everything  # each fork has a /dev/shm of its own there
    for path, rights in rules.items():
        with suppress(OSError):  # not every system has all of them
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            rule = struct.pack(
                "=Qi",
                rights & (everything if path.is_dir() else everything & _OF_FILES),
                place,
            )
            libc.syscall(_ADD_RULE, ruleset, 1, rule, 0)
            os.close(place)

    if libc.syscall(_RESTRICT_SELF, ruleset, 0):
        raise OSError(ctypes.get_errno(), "Landlock failed")
    os.close(ruleset)


@functools.cache  # for the forks
def _all_readable(own: Sequence[Path], hidden: Sequence[Path]) -> dict[Path, int]:
    """Return the rights to read the system, Python and what a worker is given."""
    python = (sys.prefix, sys.base_prefix, sys.exec_prefix, *filter(None, sys.path))
    secrets = [path.resolve() for path in hidden]
    rights: dict[Path, int] = {}
    for path in {*map(Path, (*_SYSTEM.split(), *python)), *own}:
        rights |= _readable(path.resolve(), secrets)
    return rights


def _readable(path: Path, hidden: list[Path]) -> dict[Path, int]:
    """Return the rights to read a path, or if it contains hidden ones, what else is in it."""
    if path in hidden:
        return {}
    if not any(secret.is_relative_to(path) for secret in hidden):
        return {path: _EXECUTE | _READ | _LIST}
    rights = {path: _LIST}
    for inner in path.iterdir():
        if not inner.is_symlink():
            rights |= _readable(inner, hidden)

    return rights


def launcher(setup: WorkerSetup, worker: str, sockets: Sequence[int]) -> list[str]:
    """
    Return the command that starts a module in the namespaces of a worker, below a process that ends with the service.

    That process obeys the first of the sockets, and a template the second.
    """
    if sys.platform != "linux":
        return [*_PYTHON, worker]
    # A folder isn't covered if the worker needs something in it.
    # Links are followed, because the mount follows them.
    used = [
        path.resolve() for path in (*setup.folders, *setup.readable, Path(sys.prefix))
    ]
    hidden = (
        path
        for path in setup.hidden
        if not any(place.is_relative_to(path.resolve()) for place in used)
    )
    numbers = (*sockets, setup.memory, setup.disk, setup.processes, int(setup.forks))
    return [*_PYTHON, __name__, worker, *map(str, (*numbers, *hidden))]


def _launch(worker: str, *arguments: str) -> None:
    orders, forks, memory, disk, processes, is_template = map(int, arguments[:6])
    setup = WorkerSetup(
        (),
        hidden=tuple(map(Path, arguments[6:])),
        memory=memory,
        disk=disk,
        processes=processes,
        forks=bool(is_template),
    )
    # Opened before they become read-only.
    groups = [os.open(file, os.O_WRONLY) for file in group_files(os.getsid(0), setup)]
    command = [*_PYTHON, worker, str(forks)]
    proc = os.open("/proc", os.O_RDONLY)
    with suppress(OSError):  # not every system lets it
        _have_own_namespaces(
            _libc(), setup, Path.cwd(), of_user=bool(os.getuid()), proc=proc
        )
        command.append("separate")

    if child := os.fork():
        os.close(forks)
        makes = None
        if "separate" in command:
            makes = functools.partial(_make_namespaces, setup, proc)
        _supervise(child, socket.socket(fileno=orders), makes)

    os.close(orders)
    for group in groups:
        with suppress(OSError):
            os.write(group, str(os.getpid()).encode())
        os.close(group)

    # A new program, since one that runs, and what is open, is reached by the mounts of the time when it was opened.
    os.execv(sys.executable, command)  # noqa: S606 - our own module


def _supervise(
    child: int,
    orders: socket.socket,
    makes: Callable[[socket.socket, Path], None] | None,
) -> None:
    """
    Wait for a child, which runs published code, or for the end of the service; meanwhile care for the child's forks.

    An order is a folder, for which new namespaces are returned, or a fork that is to end.
    """
    service = os.getppid()
    # Published code would reach files by this process's mounts through it.
    hide_memory()
    adopt_orphans()
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    orders.settimeout(1)
    while os.getppid() == service and child not in _reaped():
        with suppress(TimeoutError):
            order = orders.recv(_LONGEST_PATH).decode()
            if not order:
                break
            if order.isdigit():
                _end_fork(int(order), child)
                orders.send(b"ended")
            elif not makes:
                orders.send(b"none")
            elif helper := os.fork():
                os.waitpid(helper, 0)
            else:
                makes(orders, Path(order))

    leave(Path.cwd())


def _reaped() -> set[int]:
    """Return the children that have ended since the last time, which the system then forgets."""
    ended = set()
    with suppress(ChildProcessError):  # there is none
        while pid := os.waitpid(-1, os.WNOHANG)[0]:
            ended.add(pid)
    return ended


def _end_fork(pid: int, template: int) -> None:
    """End a fork of a template with what it started, and what ended forks have left."""
    with suppress(psutil.NoSuchProcess):
        fork = psutil.Process(pid)
        if fork.ppid() == template:  # otherwise the number is another's by now
            kill_descendants(pid)
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            fork.kill()

    for left in children(os.getpid()):
        if left.pid != template:
            kill_descendants(left.pid)
            left.kill()


def _make_namespaces(
    setup: WorkerSetup, proc: int, orders: socket.socket, folder: Path
) -> None:
    """Send the namespaces of a fork, which a template is not allowed to make."""
    setup = replace(setup, hidden=(), forks=False)  # they are hidden already
    libc = _libc()
    libc.prctl(_SET_DUMPABLE, 1, 0, 0, 0)  # so that it may write its maps of users
    try:
        _have_own_namespaces(libc, setup, folder, of_user=True, proc=proc)
        made = [
            os.open(f"/proc/self/ns/{kind}", os.O_RDONLY)
            for kind in ("user", "mnt", "ipc")
        ]
        socket.send_fds(orders, [b"made"], made)
    except OSError as error:
        orders.send(str(error).encode())

    os._exit(0)


def leave(folder: Path) -> None:
    """End this process with what it started and wrote; if the service was killed, nobody else does."""
    kill_descendants(os.getpid())
    clean_up(folder, os.getpid())
    os._exit(1)


if __name__ == "__main__":
    _launch(*sys.argv[1:])
