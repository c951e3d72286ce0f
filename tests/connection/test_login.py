"""A token is asked for once, only sent to its own service, and never shown; you are told before it ends."""

from __future__ import annotations

import io
import json
import linecache
import pickle
import re
import subprocess
import sys
import time
import traceback
from typing import TYPE_CHECKING, Any

import httpx
import pexpect
import pytest
from IPython.core.interactiveshell import InteractiveShell

import jupyter_funcs as jf
from jupyter_funcs.cli import main
from jupyter_funcs.client.status import Status, ends_in
from jupyter_funcs.connection import login
from jupyter_funcs.connection.secrets import Hidden
from jupyter_funcs.magic import extension
from jupyter_funcs.magic.masking import mask, typed_secrets
from jupyter_funcs.panel.history_view import Held, HistoryView
from tests.echoing import echoing
from tests.examples import row_id
from tests.servers import Service, serving_accounts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PASSWORD = "c4n4ry correct horse bättery"
CANARY = "c4n4ry-t0ken-8d1f"


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """The demo's functions with accounts for these tests, over HTTP."""
    with serving_accounts() as service:
        service.grants.set_password("guest", PASSWORD)
        yield service


@pytest.fixture
def profile(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], None]:
    """Return a function that writes the profile 'work' with a source for its token."""

    def write(source: str) -> None:
        path = tmp_path / "profiles.toml"
        path.write_text(f'[profiles.work]\nurl = "{service.url}"\n{source}\n', "utf-8")
        monkeypatch.setenv("FUNCS_CONFIG", str(path))

    return write


@pytest.fixture
def keyrings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """The tests' keyring backends; the one in memory is active."""
    keyring = pytest.importorskip("keyring")
    from tests import keyrings

    monkeypatch.setenv("KEYRING_FILE", str(tmp_path / "keyring.json"))
    before = keyring.get_keyring()
    keyring.set_keyring(keyrings.InMemory())
    keyrings.InMemory.kept.clear()
    yield keyrings
    keyring.set_keyring(before)


def shown(error: BaseException) -> str:
    """Return a traceback with the variables of its frames, except the test's own, which holds the token."""
    frames = error.__traceback__
    assert frames is not None
    inside = traceback.TracebackException(
        type(error), error, frames.tb_next, capture_locals=True
    )
    return "".join(inside.format()) + repr(vars(error)) + str(error)


def test_a_login_gives_a_session_its_token(
    service: Service, profile: Callable[[str], None]
) -> None:
    """The logged-in user's functions are listed; the status says who that is and for how long."""
    profile('login = "guest"')
    session = jf.connect("work")
    assert "not logged in" in session.status().trouble
    session.login("guest", Hidden(PASSWORD))
    assert len(session) == 6
    status = session.status()
    assert (status.service, status.address, status.user, status.functions) == (
        "work",
        service.url,
        "guest",
        6,
    )
    assert 7.9 * 3600 < status.remaining <= 8 * 3600 + 1
    assert re.search("ends in [78] hours", repr(status))
    assert "<td" in status._repr_html_()
    assert len(session.get_panels()) == 2


def test_a_wrong_password_is_said_and_shown_nowhere(
    profile: Callable[[str], None],
) -> None:
    """Neither the password nor a token is in the error, its frames or the session."""
    profile('login = "guest"')
    session = jf.connect("work")
    with pytest.raises(
        jf.AuthenticationError, match="Wrong email or password"
    ) as caught:
        session.login("guest", Hidden(PASSWORD + "!"))
    assert "c4n4ry" not in shown(caught.value) + repr(session)
    with pytest.raises(jf.AuthenticationError, match="not logged in"):
        session.remote.transport.connection.token()


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (httpx.Response(404, text="no"), jf.ConfigError),
        (
            httpx.Response(
                429, json={"error": f"no {PASSWORD}"}, headers={"Retry-After": "7"}
            ),
            jf.RateLimitError,
        ),
        (httpx.Response(500, text=PASSWORD), jf.ServerError),
        (
            httpx.Response(302, headers={"Location": "https://evil.example"}),
            jf.ProtocolError,
        ),
        (httpx.Response(200, json={"message": PASSWORD}), jf.ProtocolError),
        (httpx.Response(200, json=["token"]), jf.ProtocolError),
        (httpx.Response(200, json={"token": f"{CANARY} {CANARY}"}), jf.ProtocolError),
        (httpx.Response(200, text=f"{CANARY}"), jf.ProtocolError),
        (httpx.Response(200, json={"token": "a" * 99_000}), jf.ReplyTooLargeError),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_login_that_is_answered_otherwise_is_an_error_without_what_was_sent(
    profile: Callable[[str], None], reply: httpx.Response, error: type[jf.FuncsError]
) -> None:
    """Whatever a service answers, no error contains the password or token, and no redirect is followed."""
    profile('login = "guest"')
    requests = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return reply

    session = jf.connect("work", transport=httpx.MockTransport(answer))
    with pytest.raises(error) as caught:
        session.login("guest", Hidden(PASSWORD))
    assert "c4n4ry" not in shown(caught.value)
    assert [request.url.path for request in requests] == ["/api/account/login"]
    assert json.loads(requests[0].content) == {"email": "guest", "password": PASSWORD}
    assert not {"authorization", "x-api-key"} & set(requests[0].headers)


@pytest.mark.slow
def test_nobody_to_ask_is_said(profile: Callable[[str], None]) -> None:
    """Without a user to ask, a run fails at once and says what to do."""
    profile('login = "guest"')
    command = [
        sys.executable,
        "-m",
        "jupyter_funcs.cli.main",
        "list",
        "--profile",
        "work",
    ]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
    )
    assert done.returncode == 1
    assert (
        "You are not logged in, or the login has expired: login of profile 'work'"
        in done.stderr
    )
    assert "jupyter funcs login --profile work" in done.stderr
    assert 1 <= len(done.stderr.splitlines()) <= 3


@pytest.mark.slow
def test_the_password_is_asked_for_once_and_not_shown(
    profile: Callable[[str], None],
) -> None:
    """In a terminal, which doesn't echo the password."""
    profile('login = "guest"')
    with pexpect.spawn(
        sys.executable,
        ["-m", "jupyter_funcs.cli.main", "list", "--profile", "work"],
        encoding="utf-8",
    ) as child:
        child.expect("Password of guest for http://127.0.0.1:[0-9]+: ", timeout=60)
        child.sendline(PASSWORD)
        child.expect(pexpect.EOF, timeout=60)
        assert "Get Panel Daily" in child.before
        assert "c4n4ry" not in child.before


@pytest.mark.slow
def test_a_login_is_kept_in_the_keyring_where_the_profile_says_so(
    profile: Callable[[str], None], keyrings: Any, service: Service
) -> None:
    """Another session uses it; a token that the service rejects is deleted, and you are told to log in."""
    profile('login = "guest"\nkeep = "keyring"')
    jf.connect("work").login("guest", Hidden(PASSWORD))
    ((name, user),) = keyrings.InMemory.kept
    assert (name, user) == (f"jupyter_funcs {service.url}", "guest")
    assert PASSWORD not in keyrings.InMemory.kept.values()
    session = jf.connect("work")
    assert len(session) == 6
    time.sleep(1.1)
    service.grants.revoke("guest")
    with pytest.raises(
        jf.AuthenticationError, match="not logged in, or the login has expired"
    ):
        session.get_panels()
    assert keyrings.InMemory.kept == {}


def test_the_shell_logs_in_for_every_notebook(
    profile: Callable[[str], None],
    keyrings: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`jupyter funcs login` stores the token and says when it ends; it refuses a profile without keyring."""
    profile('login = "guest"')
    assert main.main(["login", "--profile", "work"]) == 1
    assert 'keep = "keyring"' in capsys.readouterr().err
    profile('login = "guest"\nkeep = "keyring"')
    monkeypatch.setattr(sys, "stdin", io.StringIO(PASSWORD + "\n"))
    assert main.main(["login", "--profile", "work"]) == 0
    out = capsys.readouterr().out
    assert re.search("ends in [78] hours", out)
    assert not any(token in out for token in keyrings.InMemory.kept.values())
    assert main.main(["list", "--profile", "work"]) == 0


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("Locked", "it is locked"),
        ("Hanging", "no answer within 0.2 s"),
        ("PlaintextKeyring", "can be read"),
        ("fail", "this machine has none"),
        ("chainer", "can be read"),
    ],
)
def test_a_keyring_that_cannot_be_used_leaves_the_token_in_memory(
    profile: Callable[[str], None],
    keyrings: Any,
    kind: str,
    error: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Missing, locked, hanging, or plain text: the error says so, and nothing is written (FAULTS 105)."""
    import keyring
    from keyring.backends import chainer, fail

    class Chain(chainer.ChainerBackend):
        backends = [keyrings.InMemory(), keyrings.PlaintextKeyring()]  # noqa: RUF012  # as the chainer has them

    if kind == "Hanging":
        monkeypatch.setattr(login, "_KEYRING_SECONDS", 0.2)
    made = {"fail": fail.Keyring, "chainer": Chain}.get(kind) or getattr(keyrings, kind)
    keyring.set_keyring(made())
    profile('login = "guest"\nkeep = "keyring"')
    session = jf.connect("work")
    with pytest.raises(jf.ConfigError, match=re.escape(error)) as caught:
        session.login("guest", Hidden(PASSWORD))
    assert keyrings.Hanging.answered == []
    assert "c4n4ry" not in shown(caught.value)
    assert len(session) == 6
    assert not (tmp_path / "keyring.json").exists()
    assert keyrings.InMemory.kept == {}


def test_an_entry_of_the_keyring_is_a_token(
    profile: Callable[[str], None], keyrings: Any, service: Service
) -> None:
    """Stored under its service's address, so that a profile with another address doesn't get it."""
    profile('token_keyring = "ann"')
    keyrings.InMemory().set_password(
        "jupyter_funcs https://other.example", "ann", "of-another"
    )
    with pytest.raises(
        jf.AuthenticationError,
        match="has no such entry: token_keyring of profile 'work'",
    ) as caught:
        jf.connect("work").remote.transport.connection.token()
    assert f"keyring set 'jupyter_funcs {service.url}' 'ann'" in caught.value.hint
    keyrings.InMemory().set_password(
        f"jupyter_funcs {service.url}", "ann", service.auth.issue("guest", 1) + "\n"
    )
    assert len(jf.connect("work")) == 6


@pytest.mark.slow
def test_where_the_keyring_hangs_the_person_is_asked(
    profile: Callable[[str], None],
    keyrings: Any,
    service: Service,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Long before the keyring answers; the token entered is used and kept in memory (FAULTS 105)."""
    profile('token_keyring = "ann"')
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "tests.keyrings.Hanging")
    code = (
        "import jupyter_funcs as jf, pandas, keyring; session = jf.connect('work'); print('begin', flush=True); "
        "print(len(session), 'listed')"
    )
    with pexpect.spawn(sys.executable, ["-c", code], encoding="utf-8") as child:
        child.expect("begin", timeout=60)
        # The keyring hangs for an hour.
        child.expect("Token .not shown, kept in memory.: ", timeout=60)
        child.sendline(service.auth.issue("guest", 1))
        child.expect("6 listed", timeout=60)


def test_without_the_extra_the_keyring_is_said_to_be_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the command that installs it."""
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(
        login.KeyringUnavailableError,
        match=re.escape("pip install 'jupyter-funcs[keyring]'"),
    ):
        login.keyring_get("https://funcs.example", "ann")


def test_a_refused_token_is_asked_for_anew_once(
    service: Service, profile: Callable[[str], None], tmp_path: Path
) -> None:
    """A command, a file and a variable are each read again after a 401, once (FAULTS 24, 25)."""
    (tmp_path / "left").write_text(
        f"forged\n{service.auth.issue('guest', 1)}\nforged\nforged\n{CANARY}"
    )
    (tmp_path / "program.py").write_text(
        "import pathlib\np = pathlib.Path(__file__).with_name('left')\n"
        "first, _, rest = p.read_text().partition('\\n')\np.write_text(rest)\nprint(first)"
    )
    profile(
        f"token_command = {json.dumps([sys.executable, '-I', '-S', str(tmp_path / 'program.py')])}"
    )
    assert len(jf.connect("work")) == 6
    with pytest.raises(jf.AuthenticationError, match="does not accept the token"):
        _ = jf.connect("work").names
    assert (tmp_path / "left").read_text() == CANARY


def test_a_token_that_ends_within_minutes_is_said_to_once(
    service: Service, recwarn: pytest.WarningsRecorder
) -> None:
    """Warned at the line that first uses it; not again, and not for a source that renews its token."""
    session = jf.connect(service.url, token=service.auth.issue("guest", 0.05))
    with pytest.warns(
        UserWarning, match=r"The token for 127.0.0.1:\d+ ends in [23] minutes"
    ) as warned:
        session.status()
    assert [warning.filename for warning in warned] == [__file__]
    recwarn.clear()
    session.refresh().get_panels()
    assert (
        len(jf.connect(service.url, token=lambda: service.auth.issue("guest", 0.05)))
        == 6
    )
    assert not recwarn.list


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (200_000, "ends in 2 days"),
        (4000, "ends in 1 hour"),
        (130, "ends in 2 minutes"),
        (30.5, "ends in 31 s"),
        (-1, "has ended"),
        (float("inf"), "doesn't say when it ends"),
    ],
)
def test_the_time_that_is_left_is_said_in_words(seconds: float, words: str) -> None:
    assert ends_in(time.time() + seconds) == words


def test_the_status_is_inert_and_says_what_is_wrong() -> None:
    """The names come from a token, which anybody may have made."""
    status = Status(
        "<b>", "https://x.example", "a\u202e<script>", None, 0, "It\nfailed."
    )
    assert "<script>" not in status._repr_html_()
    assert "\u202e" not in repr(status) + status._repr_html_()
    assert "trouble   It failed." in repr(status)
    assert jf.connect().status().user == "analyst"
    assert "demo, synthetic data" in repr(jf.connect().status())


JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln"


LINES: dict[str, list[str]] = {
    f"find {JWT}": [JWT],
    f"call get_panels a='{JWT}'": [JWT],
    f"connect https://x.example token={CANARY}": [CANARY],
    f"connect https://x.example --token {CANARY}": [CANARY],
    f"find x --api-key='{CANARY}'": [CANARY],
    f"connect https://x.example {CANARY}": [CANARY],
    f"connect https://ada:{CANARY}@x.example": [CANARY],
    f"connect https://{CANARY}@x.example": [CANARY],
    "connect work -o session --timeout 30": [],
    "connect https://x.example": [],
    "call f token=$mine Note='a secret' -q": [],
    "find token": [],
}


@pytest.mark.parametrize(("line", "secrets"), LINES.items(), ids=map(row_id, LINES))
def test_a_token_on_a_line_is_found(line: str, secrets: list[str]) -> None:
    """Whatever comes before it; a function's own argument of that name doesn't count."""
    assert [
        secret for secret in typed_secrets(line, None) if secret != "ada"
    ] == secrets


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[InteractiveShell]:
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.hist_file = str(tmp_path / "history.sqlite")
    shell = InteractiveShell.instance(config=config)
    shell.run_line_magic("load_ext", "jupyter_funcs")
    yield shell
    shell.run_line_magic("unload_ext", "jupyter_funcs")
    InteractiveShell.clear_instance()


@pytest.mark.parametrize(
    "cell",
    [
        "%funcs connect https://x.example token={}",
        "x = %funcs find --token '{}'",
        "%funcs connect {0}{0}",
    ],
)
def test_a_token_typed_on_a_magic_line_is_refused_and_masked(
    shell: InteractiveShell,
    cell: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """You are told to have it replaced, and this kernel's history no longer contains it (FAULTS 93)."""
    shell.run_cell("1 + 1", store_history=True)
    with pytest.raises(jf.ConfigError, match="have it replaced"):
        shell.run_cell(cell.format(CANARY), store_history=True).raise_error()
    shell.run_cell("2 + 2", store_history=True)
    assert shell.user_ns["In"][2].count("****") >= 1
    assert shell.user_ns["In"][1] == "1 + 1"
    kept = shell.history_manager
    kept.writeout_cache()
    kept.db.commit()
    names = {
        name: value for name, value in shell.user_ns.items() if name.startswith("_")
    }
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("history.sqlite*"))
    assert b"****" in stored
    for text in (
        names,
        kept.input_hist_raw,
        kept.input_hist_parsed,
        list(kept.get_range()),
        vars(kept),
        stored,
    ):
        assert CANARY not in repr(text)
    assert CANARY not in "".join(capsys.readouterr())


@pytest.mark.fault(129)
def test_a_token_in_use_is_masked_in_the_history_wherever_it_was_typed(
    shell: InteractiveShell,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Typed before it was in use, and as an assignment, a search or an argument, in Python and on a magic's line."""
    monkeypatch.setenv("FUNCS_HISTORY", str(tmp_path / "runs.sqlite"))
    shell.user_ns["jf"] = jf
    with echoing() as server:
        for cell in (
            f"token = '{CANARY}'",
            f"funcs = jf.connect({server.url!r}, token=token); funcs.history.save(on=True)",
            f"x = '{CANARY}'; found = funcs.find('{CANARY}')",
            f"df = funcs.f(a='{CANARY}')",
            f"%env FUNCS_TEST={CANARY}",
        ):
            shell.run_cell(cell, store_history=True).raise_error()
        funcs = shell.user_ns["funcs"]
        extension.of(shell).state._session = funcs
        for cell in (
            f"%funcs find {CANARY}",
            f"df = %funcs call f a={CANARY}",
            f"%%funcs call f\na: x{CANARY}",
        ):
            with pytest.raises(jf.ConfigError, match="have it replaced"):
                shell.run_cell(cell, store_history=True).raise_error()
        runs = [
            json.loads(request.partition(b"\r\n\r\n")[2] or b"{}")
            for request in server.requests
        ]
        assert [run["Args"] for run in runs if run.get("FunctionName")] == [
            {"a": CANARY}
        ]
        capsys.readouterr()
        shell.run_cell(
            "%history\n%funcs history\nprint(funcs.history, funcs.history.runs)",
            store_history=True,
        )
        [run] = funcs.history.runs
        funcs.history.save(on=True)
    kept = shell.history_manager
    kept.writeout_cache()
    kept.db.commit()
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("*.sqlite*"))
    names = {
        name: value
        for name, value in shell.user_ns.items()
        if name.startswith("_i") or name == "In"
    }
    cells = [
        entry for name, entry in linecache.cache.items() if "ipython-input" in name
    ]
    printed = "".join(capsys.readouterr())
    assert "a=****" in printed
    assert shell.user_ns["In"][1] == "token = '****'"
    inputs = [
        names,
        kept.input_hist_raw,
        kept.input_hist_parsed,
        list(kept.get_range()),
        vars(kept),
        cells,
    ]
    for text in (
        *inputs,
        stored,
        printed,
        repr(run),
        HistoryView(funcs, Held()).rows(),
        shell.user_ns["found"].nothing,
    ):
        assert CANARY not in repr(text)
    assert shell.user_ns["token"] == CANARY  # the user's own variables are theirs


def test_a_shell_without_a_history_is_passed_over() -> None:
    """Masking never makes a cell fail."""
    mask(None, [CANARY])
    mask(object(), [CANARY])


SOURCES = {
    "env": 'token_env = "WORK_TOKEN"',
    "file": 'token_file = "{folder}/token"',
    "command": 'token_command = "cat {folder}/token"',
    "keyring": 'token_keyring = "ann"',
}


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
def test_no_source_shows_its_token(
    source: str,
    request: pytest.FixtureRequest,
    profile: Callable[[str], None],
    service: Service,
    tmp_path: Path,
    shell: InteractiveShell,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not in repr, vars, pickle, logs, or tracebacks of any %xmode, after a service rejects it (FAULTS 103)."""
    caplog.set_level("DEBUG")
    (tmp_path / "token").touch(0o600)
    (tmp_path / "token").write_text(CANARY)
    monkeypatch.setenv("WORK_TOKEN", CANARY)
    if source == "keyring":
        keyrings = request.getfixturevalue("keyrings")
        keyrings.InMemory().set_password(f"jupyter_funcs {service.url}", "ann", CANARY)
    profile(SOURCES[source].format(folder=tmp_path))
    shell.user_ns["jf"] = jf
    shell.run_cell("session = jf.connect('work')", store_history=True).raise_error()
    for mode in ("Plain", "Context", "Verbose", "Minimal"):
        shell.run_line_magic("xmode", mode)
        for cell in (
            "session.names",
            "%funcs connect work\n%funcs find x",
            "1 / 0 if session.status() else 0",
        ):
            assert not shell.run_cell(cell, store_history=True).success
    shell.run_line_magic("xmode", "Context")
    shell.run_cell("%whos\nprint(vars(session)); session.status()", store_history=True)
    session = shell.user_ns["session"]
    token = session.remote.transport.connection.token
    assert token().reveal() == CANARY
    with pytest.raises(TypeError):
        pickle.dumps(session)
    with pytest.raises(jf.AuthenticationError) as caught:
        _ = session.names
    seen = [
        repr(session),
        repr(vars(token)),
        repr(token),
        caplog.text,
        *capsys.readouterr(),
        shown(caught.value),
    ]
    assert CANARY not in "".join(seen) + repr(shell.user_ns["In"])
    assert "does not accept the token" in seen[-3]
