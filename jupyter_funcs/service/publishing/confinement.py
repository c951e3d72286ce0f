"""What the process of published code may use: files, memory, disk space, processes; and its end with all it started."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import re
import shutil
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

_MOST_TRIES, _MOST_SECONDS = 100, 1  # of ending what a worker started

# What programs on Linux read, apart from Python's own folders: no other file in /etc, where secrets may be.
_SYSTEM = (
    *("/usr", "/lib", "/lib64", "/bin", "/sbin", "/opt", "/nix/store", "/proc", "/sys", "/run/systemd/resolve"),
    *("/etc/alternatives", "/etc/ca-certificates", "/etc/fonts", "/etc/group", "/etc/host.conf", "/etc/hosts"),
    *("/etc/ld.so.cache", "/etc/localtime", "/etc/mime.types", "/etc/nsswitch.conf", "/etc/passwd", "/etc/pki"),
    *("/etc/protocols", "/etc/resolv.conf", "/etc/services", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/timezone"),
)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
# Of Linux' prctl and Landlock.
_SET_DUMPABLE, _SET_CHILD_SUBREAPER, _SET_NO_NEW_PRIVILEGES = 4, 36, 38
_SET_SECCOMP, _NEW_MOUNTS, _NEW_USERS, _PRIVATE = 22, 0x20000, 0x10000000, 0x44000
# prlimit, setpriority, sched_setscheduler and sched_setattr, and which of their arguments are 0 for oneself.
_FOR_OTHERS = {
    "x86_64": (0xC000003E, (302, 141, 141, 144, 314)),
    "aarch64": (0xC00000B7, (261, 140, 140, 119, 274)),
}
_WHOSE = (0, 0, 1, 0, 0)
# The limits of control groups and their counts of events, each of their first or their second version.
_LIMITS = {"pids": ("pids.max", "pids.max"), "memory": ("memory.limit_in_bytes", "memory.max")}
_COUNTS = ("memory.oom_control", "memory.events")
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_EXECUTE, _WRITE, _READ, _LIST, _TRUNCATE = 1, 2, 4, 8, 1 << 14
_OF_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE
_FIRST_WITH_SCOPES, _ALL_SCOPES = 6, 3


@dataclass(frozen=True, slots=True)
class WorkerSetup:
    """
    What a worker publishes, apart from the files and entry points `skipped`, and may use; sizes in bytes.

    One that `keeps_going` leaves out the files that can't be published, and reports them.
    """

    folders: tuple[Path, ...]
    entry_points: bool = False
    default_asset: str = ""
    reference: Any = None
    readable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    skipped: tuple[str, ...] = ()
    keeps_going: bool = False
    import_seconds: float = 300
    memory: int = 4 * 2**30
    disk: int = 2**30
    processes: int = 64


def kill_descendants(process: psutil.Process) -> None:
    """Stop the descendants of a process, which can then start no others, and kill them."""
    found: set[psutil.Process] = set()
    with contextlib.suppress(psutil.NoSuchProcess):  # it may end itself
        for _ in range(_MOST_TRIES):
            new = set(process.children(recursive=True)) - found
            if not new:
                break
            found |= new
            for each in new:
                with contextlib.suppress(psutil.Error):
                    each.suspend()
    for each in found:
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()
    psutil.wait_procs(found, timeout=_MOST_SECONDS)


def clean_up(folder: Path, pid: int) -> None:
    """Remove the folder and the control groups of a worker that has ended."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists() and sys.platform != "win32":  # what is too deep for Python, or can't be read
        command = 'chmod -R u+rwx "$0"; rm -rf "$0"'
        subprocess.run(["/bin/sh", "-c", command, folder], stderr=subprocess.DEVNULL, check=False)  # noqa: S603 - our own
    for controller in _LIMITS:
        with contextlib.suppress(OSError):
            control_group(controller, pid).rmdir()


def can_confine() -> bool:
    """Tell whether the system can keep a worker from the files of its account."""
    return sys.platform == "linux" and bool(_libc().syscall(_CREATE_RULESET, None, 0, 1) > 0)


def can_separate() -> bool:
    """Tell whether the system lets a worker have a ``/dev/shm`` of its own, by the program that does the same."""
    if sys.platform != "linux" or not (unshare := shutil.which("unshare")):
        return False
    command = [unshare, "--mount", *["--user"] * bool(os.getuid()), "true"]
    return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0  # noqa: S603 - no input


def can_limit_processes() -> bool:
    """Tell whether the system can limit how many processes a worker starts: for root, only by control groups."""
    if sys.platform != "linux" or os.getuid():
        return sys.platform != "win32"
    return can_limit("pids")


def can_limit(controller: str) -> bool:
    """Tell whether control groups can limit the ``pids`` or the ``memory`` of a worker."""
    with contextlib.suppress(OSError):
        _limited_group(controller, 0, 2**20).rmdir()
        return True
    return False


def control_group(controller: str, pid: int) -> Path:
    """Return the control group that limits the ``pids`` or the ``memory`` of a worker; it may not exist."""
    groups = dict(line.split(":", 2)[1:] for line in Path("/proc/self/cgroup").read_text().splitlines())
    controller = controller if controller in groups else ""  # of the first version, else of the second
    return Path("/sys/fs/cgroup", controller, groups.get(controller, "nonexistent").lstrip("/"), f"funcs-{pid}")


def _limited_group(controller: str, pid: int, most: int) -> Path:
    group = control_group(controller, pid)
    group.mkdir(exist_ok=True)
    first, second = (group / name for name in _LIMITS[controller])
    (first if first.exists() else second).write_text(str(most))
    return group


def ran_out_of_memory(pid: int) -> bool:
    """Tell whether the system has ended a process of a worker because its group used too much memory."""
    with contextlib.suppress(OSError):
        counts = [each.read_text() for each in control_group("memory", pid).iterdir() if each.name in _COUNTS]
        return any(re.search(r"(?m)^oom_kill [1-9]", text) for text in counts)
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


def confine(setup: WorkerSetup) -> None:
    """Limit what this process and its descendants can use; before it starts a thread, to which it would not apply."""
    if sys.platform == "win32":
        return
    import resource

    # Both limits on processes also count threads, of which libraries start some for each processor.
    tasks = setup.processes + 16 * (os.cpu_count() or 1)
    # Files in memory count as memory here, and as disk space elsewhere.
    for controller, limit in (("pids", tasks), ("memory", setup.memory + setup.disk)):
        with contextlib.suppress(OSError):
            (_limited_group(controller, os.getsid(0), limit) / "cgroup.procs").write_text(str(os.getpid()))
    most = {"DATA": setup.memory, "FSIZE": setup.disk, "NOFILE": 1024, "CORE": 0}
    if sys.platform == "linux":
        # This limit is the account's.
        others = (each.info for each in psutil.process_iter(["uids", "num_threads"]))
        running = sum(each["num_threads"] or 1 for each in others if each["uids"] and each["uids"].real == os.getuid())
        most["NPROC"] = running + tasks
    for name, limit in most.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        if not 0 <= resource.getrlimit(kind)[1] < limit:  # root may raise a lower one
            resource.setrlimit(kind, (limit, limit))
    if sys.platform == "linux":
        libc = _libc()
        adopt_orphans()
        libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        _leave_others_alone(libc)
        with contextlib.suppress(OSError):  # not every system lets it
            _have_own_memory_files(libc, setup.disk)
        libc.capset(ctypes.byref((ctypes.c_uint32 * 2)(0x20080522, 0)), ctypes.byref((ctypes.c_uint32 * 6)()))
        if can_confine():
            _restrict_files(libc, setup)


def _leave_others_alone(libc: ctypes.CDLL) -> None:
    """Refuse to set limits and priorities of other processes: a limit of its processor time would end the service."""
    machine, numbers = _FOR_OTHERS.get(os.uname().machine, (0, ()))
    refuse, allow = (6, 0, 0, 0x50000 | errno.EPERM), (6, 0, 0, 0x7FFF0000)
    # Nor by the numbers of other machines, such as those of 32 bits.
    code = [(0x20, 0, 0, 4), (0x15, 1, 0, machine), refuse, (0x20, 0, 0, 0), (0x35, 0, 1, 1 << 30), refuse]
    for number, argument in zip(numbers, _WHOSE, strict=False):
        code += [(0x20, 0, 0, 0), (0x15, 0, 3, number), (0x20, 0, 0, 16 + 8 * argument), (0x15, 1, 0, 0), refuse]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in [*code, allow]))
    if numbers:
        libc.prctl(_SET_SECCOMP, 2, struct.pack("HP", len(code) + 1, ctypes.addressof(program)), 0, 0)


def _have_own_memory_files(libc: ctypes.CDLL, size: int) -> None:
    """Mount a ``/dev/shm`` that is limited and ends with this process and its descendants."""
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_NEW_MOUNTS | (_NEW_USERS if user else 0)) == 0:
        maps = {"setgroups": "deny", "uid_map": f"{user} {user} 1", "gid_map": f"{group} {group} 1"} if user else {}
        for name, text in maps.items():
            Path("/proc/self", name).write_text(text)
        libc.mount(None, b"/", None, _PRIVATE, None)
        libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", 0, f"size={size}".encode())


def _restrict_files(libc: ctypes.CDLL, setup: WorkerSetup) -> None:
    version = libc.syscall(_CREATE_RULESET, None, 0, 1)
    everything = (1 << 12 + min(version, 3)) - 1
    head = struct.pack("QQQ", everything, 0, _ALL_SCOPES if version >= _FIRST_WITH_SCOPES else 0)
    ruleset = libc.syscall(_CREATE_RULESET, head, len(head), 0)
    python = (Path(each).absolute() for each in (sys.prefix, sys.base_prefix, sys.exec_prefix, *filter(None, sys.path)))
    hidden = [each.resolve() for each in setup.hidden]
    rules: dict[Path, int] = {}
    for each in {*map(Path, _SYSTEM), *python, *setup.folders, *setup.readable}:
        rules |= _readable(each.resolve(), hidden)
    rules |= dict.fromkeys(map(Path, _DEVICES), _OF_FILES)
    # Semaphores are files, which others must not find.
    rules |= {Path("/dev/shm"): everything & ~_LIST, Path.cwd(): everything}  # noqa: S108 - not a temporary file
    for path, rights in rules.items():
        with contextlib.suppress(OSError):  # not every system has all of them
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            rule = struct.pack("=Qi", rights & (everything if path.is_dir() else everything & _OF_FILES), place)
            libc.syscall(_ADD_RULE, ruleset, 1, rule, 0)
            os.close(place)
    if libc.syscall(_RESTRICT_SELF, ruleset, 0):
        raise OSError(ctypes.get_errno(), "Landlock failed")
    os.close(ruleset)


def _readable(path: Path, hidden: list[Path]) -> dict[Path, int]:
    """Return the rights to read a path, or if it contains hidden ones, what else is in it."""
    if path in hidden:
        return {}
    if not any(each.is_relative_to(path) for each in hidden):
        return {path: _EXECUTE | _READ | _LIST}
    found = {path: _LIST}
    for each in path.iterdir():
        if not each.is_symlink():
            found |= _readable(each, hidden)
    return found
