"""The last listing of an MCP server is kept, for the same command or address and the same account, and used offline."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING

import pytest

import jupyter_funcs as jf
from jupyter_funcs.client.cache import LISTINGS, Cache
from tests.faults.canary import CANARY
from tests.servers import serving

pytest.importorskip("mcp", reason="the extra 'mcp' is not installed")

from tests.client.test_kept_listings import AS_LISTED
from tests.client.test_kept_listings import connected as reached
from tests.sources import mcp_server
from tests.sources.test_mcp import HERE, connected

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_funcs.api import Session

# Serves while its file exists; otherwise it ends like a command without a network.
SERVER = f"""
import runpy, sys
from pathlib import Path
if not Path(sys.argv[1]).exists():
    sys.exit("no network")
sys.argv[1:] = ["environment"]
runpy.run_path({str(HERE / "bad_mcp_server.py")!r})
"""


class Command:
    """A command that serves MCP until the test stops it."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "works"
        self.words = (sys.executable, "-c", SERVER, str(self._file))
        self._file.touch()

    def stop(self) -> None:
        self._file.unlink()


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Return a command whose tools were listed, silently, and that fails afterwards."""
    command = Command(tmp_path)
    with warnings.catch_warnings(), connected(command=command.words) as session:
        warnings.simplefilter("error")
        assert session.names == ["go"]
    command.stop()
    return command


def names_offline(session: Session) -> list[str]:
    with pytest.warns(UserWarning, match=AS_LISTED) as warned:
        names = session.names
    assert len(warned) == 1
    return names


def test_a_command_that_fails_has_the_tools_of_its_last_listing(
    command: Command,
) -> None:
    """With one warning, which says why; calls and refreshes then raise the error."""
    with connected(command=command.words) as session:
        warning = (
            rf"^The server of tools ended with exit code 1: no network\. {AS_LISTED}"
        )
        with pytest.warns(UserWarning, match=warning):
            assert session.names == ["go"]
        for failing in (session["go"], session.refresh):
            with pytest.raises(
                jf.ServiceConnectionError, match="exit code 1: no network"
            ):
                failing()


def test_another_command_folder_or_environment_has_none(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def has_none(*more: str) -> None:
        with (
            connected(command=(*command.words, *more)) as session,
            pytest.raises(jf.ServiceConnectionError, match="no network"),
        ):
            _ = session.names

    has_none("--other")
    with monkeypatch.context() as changed:
        changed.chdir(tmp_path)
        has_none()
    with monkeypatch.context() as changed:
        changed.setenv("LC_TIME", "another")
        has_none()
    with connected(command=command.words) as session:
        assert names_offline(session) == ["go"]


def test_a_command_that_is_not_there_is_an_error_whatever_is_kept(
    tmp_path: Path,
) -> None:
    program = tmp_path / "serve"
    program.write_text(f"#!{sys.executable}\n{SERVER}")
    program.chmod(0o700)
    works = tmp_path / "works"
    works.touch()
    words = (str(program), str(works))
    with connected(command=words) as session:
        assert session.names == ["go"]
    program.unlink()
    with (
        connected(command=words) as session,
        pytest.raises(jf.ConfigError, match="doesn't exist"),
    ):
        _ = session.names


def test_an_address_has_the_tools_of_its_last_listing_for_one_account_only() -> None:
    """Its kind is also kept, and its functions are the same as online."""
    with serving(mcp_server.app.streamable_http_app(), lifespan="on") as url:
        where = f"{url}/mcp"
        with reached(where) as session:
            online = list(session.catalog)
            assert "got" in session.names
    [kept] = (Cache().folder / LISTINGS).iterdir()
    assert kept.stat().st_mode & 0o077 == 0
    with reached(where) as session:
        assert names_offline(session) == [function.name for function in online]
        assert list(session.catalog) == online
        assert session.kind == "mcp"
        with pytest.raises(
            jf.ServiceConnectionError, match=r"^Cannot reach 127\.0\.0\.1"
        ):
            session["got"](whole=1)
    for token in (f"{CANARY}-of-another", None):
        with reached(where, token) as session, pytest.raises(jf.FuncsError) as failed:
            _ = session.names
        assert "Cannot reach" in str(failed.value)


def test_a_call_after_an_offline_listing_works_once_the_server_does(
    tmp_path: Path,
) -> None:
    command = Command(tmp_path)
    with connected(command=command.words) as session:
        assert session.names == ["go"]
    command.stop()
    with connected(command=command.words) as session:
        assert names_offline(session) == ["go"]
        (tmp_path / "works").touch()
        assert "PATH" in session["go"]().columns
