"""A service that is built from its settings: what it remembers of its last start."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
from typing import TYPE_CHECKING

import pytest

from jupyter_funcs.service.accounts import state_folder
from jupyter_funcs.service.accounts.auth import Auth
from jupyter_funcs.service.config.settings import Settings, load
from jupyter_funcs.service.server import hosted
from tests.service.conftest import in_process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jupyter_funcs.service.server.hosted import Hosted

FUNCTIONS = '''
from jupyter_funcs.service import function

@function(asset="Own")
def get_one() -> int:
    """Return one."""
    return 1
'''


@contextlib.contextmanager
def built(config: Path | None) -> Iterator[Hosted]:
    service = hosted.build(load(config), config)
    with service.ends:
        yield service


def start(config: Path | None) -> None:
    with built(config):
        pass


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's home without accounts."""
    monkeypatch.delenv("FUNCS_STATE_DIR", raising=False)
    monkeypatch.delenv("FUNCS_SIGNING_KEY", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path


@pytest.fixture
def first(home: Path) -> Path:
    return written(home / "one" / "service.toml")


@pytest.fixture
def second(home: Path) -> Path:
    return written(home / "two" / "service.toml")


def written(path: Path, text: str = "") -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'organisation = "Acme"\n{text}')
    return path


# One state folder, several configurations.

LINUX = pytest.mark.skipif(
    sys.platform != "linux", reason="XDG_DATA_HOME is read on Linux only"
)


@LINUX
def test_a_second_configuration_with_the_same_folder_is_warned_of(
    first: Path, second: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """FAULTS.md 143: at each start of either, until one of them names a folder as the warning says."""
    start(first)
    start(first)
    assert "state folder" not in caplog.text
    for config, other in ((second, first), (second, first), (first, second)):
        caplog.clear()
        start(config)
        [warning] = [
            message for message in caplog.messages if "state folder" in message
        ]
        match = re.match(
            r"(\S+) uses the state folder (\S+) too, .* set state = 'FOLDER' in one of them; .*both.",
            warning,
        )
        assert match
        assert match[1] == str(other)
    advice = re.search(r"set state = ('\S+') in both", warning)
    assert advice
    caplog.clear()
    for config in (first, second):
        written(config, f"state = {advice[1]}\n")
        start(config)
        with built(config) as service:
            assert str(service.folder) == match[2], (
                "the accounts are the same as before"
            )
    assert "state folder" not in caplog.text
    written(first, "state = 'own'\n")
    written(second)
    start(first)
    start(second)
    assert "state folder" not in caplog.text


@LINUX
@pytest.mark.parametrize(
    "how",
    ["moved", "removed", "linked", "relative", "named by the environment", "broken"],
)
def test_the_same_configuration_is_not_taken_for_another(
    first: Path,
    second: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
) -> None:
    """FAULTS.md 143."""
    start(first)
    if how == "moved":
        first.replace(second)
    elif how == "removed":
        first.unlink()
    elif how == "linked":
        second.unlink()
        os.link(first, second)
    elif how == "relative":
        monkeypatch.chdir(first.parent.parent)
        second = first.relative_to(first.parent.parent)
    elif how == "named by the environment":
        monkeypatch.setenv(
            "FUNCS_STATE_DIR", str(first.parent.parent / "data/jupyter_funcs/service")
        )
    else:
        first.write_text("organisation = ")
    start(second)
    assert ("state folder" in caplog.text) == (how == "broken")


@LINUX
def test_the_demo_and_a_configuration_share_nothing(
    first: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """FAULTS.md 143."""
    for config in (first, None, first, None):
        start(config)
    assert "state folder" not in caplog.text


def test_services_that_run_at_once_with_one_folder_are_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """FAULTS.md 143: each that starts while another one runs, also the third when the first has ended."""
    first, second, third = (contextlib.ExitStack() for _ in range(3))
    with third, second:
        with first:
            state_folder.warn_of_others(tmp_path, first)
            assert not caplog.text
            state_folder.warn_of_others(tmp_path, second)
            assert (
                f"Another service is running with the state folder {tmp_path}"
                in caplog.text
            )
        caplog.clear()
        state_folder.warn_of_others(tmp_path, third)
        assert "Another service" in caplog.text
    caplog.clear()
    with third:
        state_folder.warn_of_others(tmp_path, third)
    assert not caplog.text


@pytest.mark.parametrize(
    ("built_in", "count", "about"),
    [
        (7, 7, "7 functions over the data of the demo (synthetic)"),
        (6, 8, "8 functions, 6 of them over the data of the demo (synthetic)"),
        (0, 1, "1 function of Acme"),
    ],
)
def test_what_is_served_is_said_truly(built_in: int, count: int, about: str) -> None:
    """The demo is named only for the built-in functions."""
    assert hosted._about(Settings(organisation="Acme"), built_in, count) == about


# The audit.


@pytest.mark.slow
def test_what_is_published_is_recorded_when_it_changes(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """FAULTS.md 140: with its asset, its file and a hash of it, once for each change."""
    config = written(
        home / "service.toml",
        "state = 'state'\n[functions]\nbuiltin = false\nfolders = ['own']\n",
    )
    (home / "own").mkdir()
    file = home / "own" / "mine.py"
    published: list[list[str]] = []

    def publish(text: str) -> None:
        file.write_text(text)
        with caplog.at_level(logging.ERROR), built(config) as service:
            records = service.grants.audit.find(
                None, None, None, None, None, limit=1000
            )
            published.append(
                [
                    f"{record.action} {record.target} {record.detail}"
                    for record in records
                    if "publish" in record.action
                ]
            )

    publish(FUNCTIONS)
    publish(FUNCTIONS)
    publish(FUNCTIONS.replace("return 1", "return 2"))
    publish(FUNCTIONS.replace("get_one", "get_two"))
    publish(FUNCTIONS.replace("get_one", "get_two").replace("Own", "Other"))
    assert [len(records) for records in published] == [1, 1, 2, 4, 5]
    what = [re.sub("[0-9a-f]{16}", "…", record) for record in published[-1]]
    assert what == [
        f"publish Get One Own: {file}, SHA-256 …",
        f"publish Get One Own: {file}, SHA-256 …",
        f"publish Get Two Own: {file}, SHA-256 …",
        f"unpublish Get One Own: {file}, SHA-256 …",
        f"publish Get Two Other: {file}, SHA-256 …",
    ]
    assert len(set(published[-1])) == 5


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="named pipes are POSIX's")
def test_what_a_function_says_of_its_file_is_not_believed(home: Path) -> None:
    """FAULTS.md 140: a pipe would keep the service from starting."""
    config = written(
        home / "service.toml",
        "state = 'state'\n[functions]\nbuiltin = false\nfolders = ['own']\n",
    )
    (home / "own").mkdir()
    os.mkfifo(home / "pipe")
    lies = f"object.__setattr__(get_one, 'place', '{home}/pipe, line 1')"
    (home / "own" / "mine.py").write_text(f"{FUNCTIONS}\n{lies}\n")
    with built(config) as service:
        [record] = service.grants.audit.find(
            None, "publish", None, None, None, limit=10
        )
    assert record.detail == f"Own: {home}/pipe, SHA-256 unknown"


@pytest.mark.slow
def test_a_run_in_a_worker_is_recorded_with_its_rows(home: Path) -> None:
    """FAULTS.md 140."""
    config = written(
        home / "service.toml",
        "state = 'state'\n[functions]\nbuiltin = false\nfolders = ['own']\n",
    )
    (home / "own").mkdir()
    (home / "own" / "mine.py").write_text(
        FUNCTIONS.replace("return 1", "return [1, 2, 3]").replace("int:", "list:")
    )
    with built(config) as service:
        assert service.about == "1 function of Acme"
        service.grants.add_user("ann", organisation="Acme")
        service.grants.add_asset("Own", organisation="Acme", is_shared=True)
        wire = in_process(
            service.app,
            Auth(state_folder.open_keys(service.folder), service.grants).issue(
                "ann", 1
            ),
        )
        assert wire.call("Get One").json()["error"] is None
        service.grants.audit.close()
        [record] = service.grants.audit.find(None, "run", None, None, None, limit=10)
    assert (record.user, record.target, record.outcome, record.rows) == (
        "ann",
        "Get One",
        "ok",
        3,
    )


def test_a_start_is_recorded_and_the_bounds_are_those_of_the_configuration(
    home: Path,
) -> None:
    """FAULTS.md 140."""
    config = written(
        home / "service.toml", "state = 'state'\n[audit]\ndays = 7\nrows = 500\n"
    )
    with built(config) as service:
        audit = service.grants.audit
        [record] = audit.find(None, "serve", None, None, None, limit=10)
    assert (record.target, record.address, record.outcome) == (
        str(config),
        "shell",
        "ok",
    )
    assert (audit.days, audit.rows) == (7, 500)
