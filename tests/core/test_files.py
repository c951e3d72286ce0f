"""Small files: a failed write leaves the old one, and what isn't a regular file is never read."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from jupyter_funcs.core.files import atomic_write_text

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="these limits are of POSIX"
)

SETUP = """
import contextlib, functools, json, os, resource, signal, sys, time
from pathlib import Path

folder = Path(sys.argv[1])
os.chdir(folder)
os.environ |= {"HOME": str(folder), "FUNCS_HISTORY": str(folder / "history.sqlite")}

import httpx, sqlite3, tomlkit
import jupyter_funcs as jf
from jupyter_funcs.cli import enable, stubs
from jupyter_funcs.cli.main import copy_notebooks
from jupyter_funcs.client.cache import Cache
from jupyter_funcs.frames.export import save
from jupyter_funcs.records import lock
from jupyter_funcs.records.favourites import Favourites
from jupyter_funcs.records.history_file import HistoryFile
from jupyter_funcs.records.presets import Presets

def mark(name):
    favourites = Favourites("s", folder / "favourites.json")
    favourites.mark(name, is_favourite=True)
    assert name in favourites.names
    if favourites.trouble:
        raise jf.ConfigError(favourites.trouble)

@contextlib.contextmanager
def limited(kind, value):
    soft, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (value, hard))
    try:
        yield
    finally:
        resource.setrlimit(kind, (soft, hard))
"""

FULL_DISK = f"""{SETUP}
def session(version):
    params = [{{"name": f"p{{at}}"}} for at in range(3 * version)]
    listing = json.dumps([{{"name": "F", "params": params}}])
    answer = httpx.MockTransport(lambda _: httpx.Response(200, text=listing))
    return jf.connect("https://service.example", token="a-token", transport=answer)

def switch(version):
    HistoryFile(folder / "history.sqlite").switch(on=True)

def salt(version):
    cache = Cache(folder / "results")
    _ = cache._salt
    if not (cache.folder / "salt").exists():  # which isn't an error: the session uses one of its own
        raise jf.ConfigError("not written")

(folder / "etc" / "ipython").mkdir(parents=True)
sys.prefix = str(folder)
enable.config_file().write_text(json.dumps({{"TerminalIPythonApp": {{"display_banner": False}}}}))
enable.config_file().chmod(0o600)
frames = [session(1).find(), session(2).find()]
replacing = {{
    "stubs": lambda version: stubs.write(session(version), folder),
    "enable": lambda version: enable.disable() if version == 1 else enable.enable(),
    "presets": lambda version: Presets("demo", folder / "p.toml").save("F", "x", {{"a": "x" * version}}),
    "favourites": lambda version: mark(f"F{{version}}"),
    "lock": lambda version: lock.write(folder, "s", [session(version).f.function]),
    "export": lambda version: save(frames[version - 1], folder / "out.csv", "csv"),
}}
creating = {{"notebooks": lambda _: copy_notebooks(folder / "notebooks"), "salt": salt, "history": switch}}

def files():
    return {{path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}}

for name, write in (replacing | creating).items():
    if name in replacing:
        write(1)
    before, cut = files(), []
    for size in (0, 1, 7, 20, 100, 1000):
        with contextlib.suppress(jf.ConfigError):
            with limited(resource.RLIMIT_FSIZE, size):
                write(2)
            break
        cut.append(files())
    else:
        write(2)
    after = files()
    assert cut and after != before, name
    for found in cut:
        halves = [path for path in before | found if found.get(path) not in (before.get(path), after.get(path))]
        assert not halves, (name, halves)
history = HistoryFile(folder / "history.sqlite")
history.save("kernel", "service", {{"number": 1, "started": ""}})
history.wait()
assert history.runs("service", "")
assert all(json.loads(path.read_bytes()) for path in folder.glob("notebooks/*"))
assert [path.name for path in folder.glob("results/*")] == ["salt"]
assert not [*folder.rglob("*.part")]
private = [*folder.glob("etc/ipython/*"), folder / "results" / "salt"]
assert len(private) == 3 and all(path.stat().st_mode & 0o777 == 0o600 for path in private)
print("intact")
"""

NO_FILES = f"""{SETUP}
(folder / "etc" / "ipython").mkdir(parents=True)
sys.prefix = str(folder)
os.environ["FUNCS_CONFIG"] = "config.toml"
paths = [folder / name for name in ("config.toml", "presets.toml", "favourites.json", "history.sqlite", lock.NAME)]
paths.append(enable.config_file())
_, hard = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, hard))

def serve():
    from jupyter_funcs.service.config.config_file import TomlFile
    from jupyter_funcs.core.errors import SetupError
    try:
        TomlFile.read(folder / "config.toml")
    except SetupError as error:
        raise jf.ConfigError(str(error)) from None

def hangs(*_):
    raise SystemExit("it hangs")

signal.signal(signal.SIGALRM, hangs)
calls = {{
    "config": jf.connect,
    "profile": lambda: jf.connect("work"),
    "presets": lambda: Presets("demo", folder / "presets.toml").names("F"),
    "preset": lambda: Presets("demo", folder / "presets.toml").save("F", "x", {{"a": "1"}}),
    "favourites": lambda: mark("F"),
    "lock": lambda: lock.read(folder),
    "enable": enable.enable,
    "history": lambda: HistoryFile(folder / "history.sqlite").switch(on=True),
    "serve": serve,
}}
for create in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
    for path in paths:
        path.unlink(missing_ok=True)
        create(path)
    for name, call in calls.items():
        signal.alarm(60)
        try:
            call()
        except jf.ConfigError as error:
            assert "not a regular file" in str(error) or name == "history", (name, error)
        else:
            raise SystemExit(f"{{name}} isn't an error")
        signal.alarm(0)
    assert not any(path.is_file() for path in folder.rglob("*"))
print("named")
"""

NO_DESCRIPTORS = f"""{SETUP}
from tests.echoing import echoing

@contextlib.contextmanager
def full():
    opened = []
    with limited(resource.RLIMIT_NOFILE, 64):
        for _ in range(5):  # the service's threads still close some
            with contextlib.suppress(OSError):
                while True:
                    opened.append(os.open("/dev/null", os.O_RDONLY))
            time.sleep(0.1)
        try:
            yield
        finally:
            for descriptor in opened:
                os.close(descriptor)

def failures(calls):
    for name, call in calls.items():
        try:
            yield name, call()
        except BaseException as error:
            yield name, error

with echoing() as server:
    connect = functools.partial(jf.connect, server.url, token="a-token-in-use")  # loads it, too
    favourites = Favourites("s", folder / "favourites.json")
    favourites.mark("F", is_favourite=True)
    presets = Presets("demo", folder / "presets.toml")
    with full():
        outcomes = [*failures({{"list": lambda: connect().names, "demo": jf.connect}})]
    funcs = connect()
    function = funcs.f.with_options(retries=0)
    assert len(function(a="5")) == 1
    funcs.close()
    saved = (folder / "favourites.json").read_bytes()
    calls = {{
        "run": lambda: function(a="6"),
        "list again": lambda: funcs.refresh(),
        "profile": lambda: jf.connect("work"),
        "presets": lambda: presets.save("F", "x", {{"a": "1"}}),
        "lock": lambda: lock.write(folder, "s", [function.function]),
        "history": lambda: funcs.history.save(on=True),
    }}
    with full():
        outcomes += failures(calls)
        favourites.mark("G", is_favourite=True)
    for name, error in outcomes:
        assert isinstance(error, jf.FuncsError) and "Too many open files" in str(error), (name, error)
    assert favourites.names == ["F", "G"] and "Too many open files" in favourites.trouble
    assert (folder / "favourites.json").read_bytes() == saved
    assert len(function(a="7")) == 1
print("named")
"""


def python(script: str, *arguments: str) -> str:
    """Run a script, and return what it prints; without an error it prints nothing else."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::ResourceWarning", "-c", script, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.stdout.strip() if done.returncode == 0 else done.stderr[-3000:]


@pytest.mark.fault(128)
def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    """A disk that is full at any byte: each file of the client is the old one or the new one, and nothing is left."""
    assert python(FULL_DISK, str(tmp_path)) == "intact"


@pytest.mark.slow
@pytest.mark.fault(132)
def test_a_pipe_or_a_device_in_place_of_a_file_is_a_named_error(tmp_path: Path) -> None:
    """Nothing waits for a writer, and nothing reads zeros until the memory is full."""
    assert python(NO_FILES, str(tmp_path)) == "named"


@pytest.mark.slow
@pytest.mark.fault(132)
def test_without_file_descriptors_each_error_says_so(tmp_path: Path) -> None:
    """Nothing hangs, the files stay as they are, and once there are descriptors again everything works."""
    assert python(NO_DESCRIPTORS, str(tmp_path)) == "named"


WRITES = """
import os, sys, time
from pathlib import Path
from jupyter_funcs.core import files

path = Path(sys.argv[1])
if sys.argv[2] == "stops":
    files.shutil.copymode = lambda *_: (print("begun", flush=True), time.sleep(60))
for number in range(200):
    files.atomic_write_text(path, f"{os.getpid()} {number}")
"""


@pytest.mark.fault(154)
@pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX does")
def test_the_next_write_removes_what_a_killed_one_has_left(tmp_path: Path) -> None:
    """And nothing that another process still writes; the file itself is whole at any time."""
    path = tmp_path / "[notes] *.toml"
    path.write_text("before")
    command = [sys.executable, "-c", WRITES, str(path), "stops"]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == b"begun\n"
    (tmp_path / ".other.aaaa.part").write_text("of another file")
    processes[0].kill()
    processes[0].communicate()
    atomic_write_text(path, "after")
    assert len(list(tmp_path.glob(".[[]notes*.part"))) == 1
    processes[1].kill()
    processes[1].communicate()
    atomic_write_text(path, "at last")
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        ".other.aaaa.part",
        path.name,
    ]
    assert path.read_text() == "at last"


@pytest.mark.slow
@pytest.mark.fault(154)
@pytest.mark.skipif(
    sys.platform == "win32", reason="there a file that is open can't be replaced"
)
def test_processes_that_write_one_file_at_once_remove_nothing_of_each_other(
    tmp_path: Path,
) -> None:
    """Hundreds of writes by several of them all succeed."""
    path = tmp_path / "notes.toml"
    command = [sys.executable, "-c", WRITES, str(path), "goes on"]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(4)]
    assert [process.communicate()[1] for process in processes] == [b""] * 4
    assert path.read_text().endswith(" 199")
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
