"""Signing keys: the newest signs, older ones verify until they end, and the file is written atomically."""

from __future__ import annotations

import base64
import json
import logging
import os
import re
import stat
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.service.accounts import state_folder
from jupyter_funcs.service.accounts.signing_keys import SigningKeys
from tests.service.conftest import at_once, python

if TYPE_CHECKING:
    from pathlib import Path

POSIX = pytest.mark.skipif(
    sys.platform == "win32", reason="file modes and limits are POSIX's"
)
LONG, OTHER, SHORT = (
    base64.b64encode(byte * length).decode()
    for byte, length in ((b"a", 32), (b"b", 64), (b"s", 31))
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "signing-keys.json"


def test_each_process_in_memory_has_its_own_key_of_32_bytes() -> None:
    keys = SigningKeys.in_memory()
    assert len(keys.accepted[0]) == 32
    assert keys.accepted == [keys.accepted[0]]
    assert keys.accepted[0] != SigningKeys.in_memory().accepted[0]


def test_a_file_is_made_once_for_its_owner_alone(path: Path) -> None:
    before = os.umask(0)
    try:
        keys = SigningKeys.open(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(keys.accepted[0]) == 32
    assert SigningKeys.open(path).accepted == keys.accepted
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.slow
def test_a_rotation_signs_with_a_new_key_and_verifies_with_the_old_one_until_the_overlap_ends(
    path: Path,
) -> None:
    keys = SigningKeys.open(path)
    first = keys.accepted[0]
    keys.rotate(1)
    second = keys.accepted[0]
    keys.rotate(2 / 3600)
    third = keys.accepted[0]
    assert keys.accepted == [third, second, first]
    ends = [key.ends for key in keys.records()]
    assert ends[0] is None
    assert ends[1] == ends[2], "a shorter overlap shortens those from before too"
    keys.rotate(1)
    assert [key.ends for key in keys.records()][2:] == ends[1:], (
        "a longer one lengthens none"
    )
    time.sleep(max(0, (ends[1] or 0) - time.time()) + 0.01)
    assert keys.accepted[1:] == [third]
    keys.rotate(0)
    assert keys.accepted == [keys.accepted[0]]
    assert keys.accepted[0] != third


def test_a_running_service_takes_over_a_rotation_by_another_process(path: Path) -> None:
    running = SigningKeys.open(path)
    first = running.accepted[0]
    code = "import sys; from pathlib import Path; from jupyter_funcs.service.accounts.signing_keys import SigningKeys\n"
    python(f"{code}SigningKeys.open(Path(sys.argv[1])).rotate(24)", str(path))
    assert running.accepted[0] != first
    assert (
        running.accepted
        == [running.accepted[0], first]
        == SigningKeys.open(path).accepted
    )


@pytest.mark.parametrize("overlap", [-1, 366 * 24 + 1, float("nan"), float("inf")])
def test_an_overlap_is_between_nothing_and_a_year(overlap: float) -> None:
    keys = SigningKeys.in_memory()
    before = keys.accepted
    with pytest.raises(SetupError, match="between 0 and 8784 hours, not"):
        keys.rotate(overlap)
    assert keys.accepted == before


def record(key: str, ends: float | None = None) -> dict[str, object]:
    return {"id": "x", "made": 0.0, "ends": ends, "key": key}


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("", id="empty"),
        pytest.param("{", id="cut"),
        pytest.param("[]", id="a list"),
        pytest.param("[" * 100_000, id="a depth bomb"),
        pytest.param('{"keys": []}', id="no keys"),
        pytest.param('{"keys": [{}]}', id="a key without fields"),
        pytest.param('{"keys": null}', id="keys are null"),
        pytest.param(json.dumps({"keys": [record(SHORT)]}), id="a short key"),
        pytest.param(
            json.dumps({"keys": [record(LONG), record(SHORT, 1e12)]}),
            id="a short second key",
        ),
        pytest.param(
            json.dumps({"keys": [record(LONG[:-1])]}), id="a key with invalid base64"
        ),
        pytest.param(
            json.dumps({"keys": [record(LONG, 1e12)]}), id="only a key that ends"
        ),
        pytest.param(json.dumps({"keys": [record("é")]}), id="a key that isn't ASCII"),
        pytest.param("\ud800", id="half a surrogate pair"),
    ],
)
def test_a_file_without_good_keys_is_refused_and_shows_nothing_of_itself(
    path: Path, content: str
) -> None:
    path.write_bytes(content.encode("utf-8", "surrogatepass"))
    path.chmod(0o600)
    with pytest.raises(
        SetupError, match="has no valid signing keys of at least 32 bytes"
    ) as caught:
        SigningKeys.open(path)
    shown = str(caught.value)
    assert str(path) in shown
    assert SHORT[:8] not in shown
    assert LONG[:8] not in shown
    assert caught.value.__context__ is None, "an error of a parser holds what it parsed"


@POSIX
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644])
def test_a_file_that_others_may_read_or_change_is_refused(
    path: Path, mode: int
) -> None:
    SigningKeys.open(path)
    path.chmod(mode)
    with pytest.raises(
        SetupError, match=f"mode {mode:04o}.*\nRun: chmod 600 {re.escape(str(path))}"
    ):
        SigningKeys.open(path)
    path.chmod(0o600)
    SigningKeys.open(path)


@POSIX
def test_a_pipe_is_refused_and_nothing_waits_for_it(path: Path) -> None:
    """FAULTS.md 141: neither at the start nor in a running service."""
    keys = SigningKeys.open(path)
    before = keys.accepted
    path.unlink()
    os.mkfifo(path, 0o600)
    with pytest.raises(
        SetupError,
        match=r"signing-keys.json cannot be read: it is not a regular file\.$",
    ):
        SigningKeys.open(path)
    assert keys.accepted == before


@POSIX
def test_what_a_killed_process_left_is_removed_under_the_lock(path: Path) -> None:
    """FAULTS.md 141: and nothing else, and no file that a process is still writing."""
    import fcntl

    SigningKeys.open(path)
    left = path.with_name(f".{path.name}.abc12345.part")
    other = path.with_name("notes.part")
    for file in (left, other):
        file.write_text('{"keys": [')
    folder = os.open(path.parent, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    opening = threading.Thread(target=SigningKeys.open, args=[path])
    opening.start()
    opening.join(0.2)
    assert left.exists(), "whoever holds the lock may be writing it"
    os.close(folder)
    opening.join(60)
    assert sorted(file.name for file in path.parent.iterdir()) == sorted(
        [other.name, path.name]
    )


def test_a_file_or_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"folder of .* cannot be opened"):
        SigningKeys.open(tmp_path / "absent" / "keys.json")
    (tmp_path / "folder").mkdir()
    with pytest.raises(SetupError, match="folder cannot be read"):
        SigningKeys.open(tmp_path / "folder")


def test_a_file_that_breaks_later_leaves_the_running_service_its_keys(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keys = SigningKeys.open(path)
    before = keys.accepted
    content = path.read_text()
    with caplog.at_level(logging.WARNING):
        path.write_text(content[:-20])
        assert keys.accepted == keys.accepted == before
        path.unlink()
        assert keys.accepted == before
    assert len(caplog.records) == 2, "once for each change, and not for each request"
    assert json.loads(content)["keys"][0]["key"] not in caplog.text
    later = SigningKeys.open(path)
    assert keys.accepted == later.accepted != before


# FUNCS_SIGNING_KEY.


def test_keys_of_the_environment_win_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from_file = state_folder.open_keys(tmp_path).accepted[0]
    monkeypatch.setenv("FUNCS_SIGNING_KEY", f"{LONG}, {OTHER}")
    keys = state_folder.open_keys(tmp_path)
    assert keys.accepted == [b"a" * 32, b"b" * 64]
    assert keys.accepted[0] == b"a" * 32
    with pytest.raises(SetupError, match="come from FUNCS_SIGNING_KEY"):
        keys.rotate(24)
    monkeypatch.delenv("FUNCS_SIGNING_KEY")
    assert state_folder.open_keys(tmp_path).accepted[0] == from_file


def test_either_alphabet_of_base64_is_read_padded_or_not() -> None:
    key = b"\xfb\xff" * 20
    for text in (
        base64.b64encode(key),
        base64.urlsafe_b64encode(key),
        base64.b64encode(key).rstrip(b"="),
    ):
        assert SigningKeys.from_text(text.decode()).accepted[0] == key


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param(SHORT, "Key 1 of FUNCS_SIGNING_KEY has 31 bytes", id="short"),
        pytest.param(
            f"{LONG},{SHORT}",
            "Key 2 of FUNCS_SIGNING_KEY has 31 bytes",
            id="short second",
        ),
        pytest.param("", "has 0 bytes", id="empty"),
        pytest.param(
            f"{LONG},", "Key 2 of FUNCS_SIGNING_KEY has 0 bytes", id="empty second"
        ),
        pytest.param("correct horse battery staple!", "isn't base64", id="words"),
        pytest.param("é", "isn't base64", id="not ASCII"),
        pytest.param("A", "isn't base64", id="one letter"),
    ],
)
def test_a_short_or_odd_key_of_the_environment_is_refused_and_not_shown(
    text: str, says: str
) -> None:
    """FAULTS.md 109."""
    with pytest.raises(SetupError, match=says) as caught:
        SigningKeys.from_text(text)
    assert not text or text not in str(caught.value)
    assert SHORT not in str(caught.value)


def test_no_repr_shows_a_key() -> None:
    keys = SigningKeys.from_text(LONG)
    assert "aaa" not in repr(keys) + repr(keys.records())


# Several processes, and a full disk (FAULTS.md 117).


MAKE = """
import sys, time
from pathlib import Path
from jupyter_funcs.service.accounts.signing_keys import SigningKeys
path, start = Path(sys.argv[1]), float(sys.argv[2])
time.sleep(max(0, start - time.time()))
keys = SigningKeys.open(path)
if len(sys.argv) > 3:
    keys.rotate(24)
print(keys.accepted[0].hex())
"""


@pytest.mark.slow
def test_processes_that_make_the_file_at_the_same_moment_agree_on_one(
    path: Path,
) -> None:
    for attempt in range(3):
        keys = at_once(MAKE, path.with_name(f"{attempt}.json"))
        assert len(set(keys)) == 1
        assert len(keys[0]) == 64


@pytest.mark.slow
def test_of_rotations_at_the_same_moment_none_is_lost(path: Path) -> None:
    SigningKeys.open(path)
    signed_with = at_once(MAKE, path, "rotate")
    accepted = [key.hex() for key in SigningKeys.open(path).accepted]
    assert len(accepted) == 5
    assert set(signed_with) <= set(accepted)


FULL_DISK = """
import resource, sys
from pathlib import Path
from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.service.accounts.signing_keys import SigningKeys

folder = Path(sys.argv[1])
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
fates = set()
for size in range(0, 600, 7):
    for path in (folder / "kept.json", folder / f"{size}.json"):
        if path.name == "kept.json":
            SigningKeys.open(path).rotate(0)
        before = path.read_bytes() if path.exists() else None
        keys = SigningKeys.open(path) if before else None
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            keys.rotate(24) if keys else SigningKeys.open(path)
            fate = "new"
        except SetupError as error:
            assert str(path) in str(error) and "disk space" in str(error), error
            fate = "old"
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        fates.add((before is None, fate))
        assert ((path.read_bytes() if path.exists() else None) == before) == (fate == "old"), size
        assert not list(folder.glob("*.part")), size
        if keys:
            assert keys.accepted == SigningKeys.open(path).accepted
assert len(fates) == 4, fates
print("intact")
"""


@pytest.mark.slow
@POSIX
def test_a_full_disk_at_any_write_leaves_the_old_keys_intact(tmp_path: Path) -> None:
    """FAULTS.md 117."""
    assert python(FULL_DISK, str(tmp_path)) == "intact"


@pytest.mark.slow
def test_a_process_ends_while_threads_read() -> None:
    """A connection is closed between two queries: SQLite crashes a process that closes it within one."""
    program = """
import contextlib, threading, time
from jupyter_funcs.service.accounts.database import Database
def read(database):
    with contextlib.suppress(Exception):  # it is closed
        while True:
            database.read("SELECT name FROM sqlite_master ORDER BY name")
            time.sleep(0.0001)
databases = [Database(None) for _ in range(12)]
for database in databases:
    threading.Thread(target=read, args=(database,), daemon=True).start()
time.sleep(0.1)
"""
    done = [
        subprocess.run(
            [sys.executable, "-c", program], check=False, capture_output=True
        )
        for _ in range(3)
    ]
    assert [(process.returncode, process.stderr) for process in done] == [(0, b"")] * 3
