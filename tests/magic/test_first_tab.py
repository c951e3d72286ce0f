"""Tab and Shift-Tab in a new notebook, before anything was run: they know the functions a moment later."""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any

import pytest

import jupyter_funcs as jf
from jupyter_funcs.core import background
from jupyter_funcs.magic import extension, sessions
from tests.conftest import wait_until
from tests.faults.canary import CANARY
from tests.faults.server import Connection, Faulty, faulty, healthy, reply
from tests.magic.conftest import live_kernel
from tests.magic.test_completion import tab

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent import futures

    from IPython.core.interactiveshell import InteractiveShell

CALL = "%funcs call "


@pytest.fixture
def server(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Faulty]:
    """The configured service of a notebook that has used no `%funcs` yet."""
    shell.meta.pop("jupyter_funcs").unload()
    shell.run_line_magic("reload_ext", "jupyter_funcs")
    # A busy machine may take longer than the usual 0.3.
    monkeypatch.setattr(sessions, "_TAB_SECONDS", 60.0)
    with faulty() as server:
        monkeypatch.setenv("FUNCS_BASE_URL", server.url)
        monkeypatch.setenv("FUNCS_TOKEN", CANARY)
        yield server


def offered(shell: InteractiveShell, text: str = CALL) -> list[str]:
    return [completion.text for completion in tab(shell, text) if completion.text]


def test_the_first_tab_connects_and_the_first_use_sends_nothing_more(
    shell: Any, server: Faulty, capfd: Any
) -> None:
    """A fast service completes at once; `%load_ext` and lines without a function don't connect."""
    for line in ("%funcs ", "%funcs connect ", "%funcs again ", "%funcs history "):
        tab(shell, line)
    assert extension.of(shell).state.connected() is None
    assert offered(shell) == ["f", '"F"']
    assert offered(shell, "%%funcs call f\n") == ["a: "]
    assert not any(capfd.readouterr())
    assert len(shell.run_line_magic("funcs", "find")) == 1
    assert len(server.requests) == 1


def test_only_the_first_tab_waits(
    shell: InteractiveShell, server: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the service is slow, the first Tab waits a moment and all offer nothing; later they offer the names."""
    go = threading.Event()
    waited = []
    end_of = background.end_of

    class Noted:
        def __init__(self, future: futures.Future[Any]) -> None:
            self._end = end_of(future)

        def acquire(self, *, timeout: float) -> bool:
            if threading.current_thread() is threading.main_thread():
                waited.append(timeout)
            return self._end.acquire(timeout=timeout)

    def slowly(connection: Connection) -> None:
        go.wait(60)
        healthy(connection)

    monkeypatch.setattr(sessions, "_TAB_SECONDS", 0.1)
    monkeypatch.setattr(background, "end_of", Noted)
    server.tell(slowly)
    for _ in range(6):
        assert not offered(shell)
    assert waited == [0.1]
    go.set()
    wait_until(lambda: bool(offered(shell)))
    assert len(server.requests) == 1


def test_a_failure_is_silent_until_the_first_use(
    shell: InteractiveShell,
    server: Faulty,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Tab shows nothing, be it the service's failure or the configuration's."""
    server.tell(*[reply(b"", "401 No")] * 2)
    assert not offered(shell)
    with pytest.raises(jf.AuthenticationError):
        shell.run_line_magic("funcs", "find")
    extension.of(shell).state._session = None
    monkeypatch.delenv("FUNCS_TOKEN")
    assert not offered(shell)
    assert not any(capfd.readouterr())
    with pytest.raises(jf.ConfigError, match="no token"):
        shell.run_line_magic("funcs", "find")


def test_what_is_configured_after_a_tab_is_used(
    shell: Any, server: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tab may be pressed before the cell that says which service to use."""
    assert offered(shell)
    with faulty() as other:
        monkeypatch.setenv("FUNCS_BASE_URL", other.url)
        assert shell.run_line_magic("funcs", "status").address == other.url
        assert (len(server.requests), len(other.requests)) == (1, 1)


def test_shift_tab_shows_a_listed_function(
    shell: InteractiveShell, server: Faulty
) -> None:
    """By its slug in a line of %funcs; it sends nothing, and the names of others are as before."""
    with pytest.raises(KeyError):
        shell.object_inspect_mime("f")
    assert not server.requests
    assert offered(shell)
    help_shown = shell.object_inspect_mime("f", detail_level=1)
    assert help_shown["text/plain"].startswith("f(*, a: str | None = None)")
    assert "a : str" in help_shown["text/plain"]
    # Ipykernel removes the second one where it isn't wanted.
    assert set(help_shown) == {
        "text/plain",
        "text/html",
    }
    shell.user_ns["f"] = len
    assert "builtin" in shell.object_inspect_mime("f")["text/plain"]
    del shell.user_ns["f"]
    for name in ("F", "g", "", "%funcs"):
        try:
            expected = type(shell).object_inspect_mime(shell, name)
        except KeyError:
            with pytest.raises(KeyError):
                shell.object_inspect_mime(name)
        else:
            assert shell.object_inspect_mime(name) == expected
    assert len(server.requests) == 1


def test_unloading_restores_shift_tab(shell: InteractiveShell) -> None:
    """Also what somebody else had put there before; what was put there later stays, without a circle."""
    shell.run_line_magic("unload_ext", "jupyter_funcs")
    assert "object_inspect_mime" not in vars(shell)
    own = vars(shell)
    for _ in range(2):
        before = own["object_inspect_mime"] = lambda *_: {"text/plain": "somebody's"}
        shell.run_line_magic("load_ext", "jupyter_funcs")
        assert shell.object_inspect_mime("x") == {"text/plain": "somebody's"}
        shell.run_line_magic("unload_ext", "jupyter_funcs")
        assert own["object_inspect_mime"] is before
    del own["object_inspect_mime"]
    shell.run_line_magic("load_ext", "jupyter_funcs")
    ours = own["object_inspect_mime"]
    own["object_inspect_mime"] = functools.partial(ours)
    shell.run_line_magic("reload_ext", "jupyter_funcs")
    with pytest.raises(KeyError):
        shell.object_inspect_mime("no_such_name")
    own["object_inspect_mime"] = ours
    shell.run_line_magic("unload_ext", "jupyter_funcs")
    assert "object_inspect_mime" not in own
    shell.run_line_magic("load_ext", "jupyter_funcs")


@pytest.mark.slow
def test_in_a_new_kernel() -> None:
    """With the embedded demo: `%funcs call <Tab>`, `funcs.get_<Tab>`, and Shift-Tab on both kinds of calls."""
    with live_kernel() as client:

        def ask(kind: str, text: str) -> Any:
            return getattr(client, kind)(text, len(text), reply=True, timeout=30)[
                "content"
            ]

        def names(text: str) -> list[str]:
            return [
                name for name in ask("complete", text)["matches"] if "get_panel" in name
            ]

        run = client.execute_interactive
        run("%load_ext jupyter_funcs", timeout=60)
        assert not ask("inspect", "%funcs call get_panel_daily")["found"]
        wait_until(lambda: "get_panel_daily" in names(CALL))
        assert (
            "PanelName : str"
            in ask("inspect", "%funcs call get_panel_daily")["data"]["text/plain"]
        )
        assert (
            run("import jupyter_funcs as jf\nfuncs = jf.connect()", timeout=60)[
                "content"
            ]["status"]
            == "ok"
        )
        listed = [
            "get_panels",
            "get_panel_dimensions",
            "get_panel_daily",
            "get_panel_fq",
        ]
        wait_until(lambda: names("funcs.get_") == listed)
        assert (
            "PanelName : str"
            in ask("inspect", "funcs.get_panel_daily(")["data"]["text/plain"]
        )
        assert not ask("inspect", "%funcs call get_panel_dayly")["found"]
