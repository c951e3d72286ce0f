"""Commands that serve MCP: each failure is one named error of a call that is sent once; and their environment."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

import jupyter_funcs as jf
from tests.conftest import wait_until
from tests.faults.canary import CANARY
from tests.servers import serving

pytest.importorskip("mcp", reason="the extra 'mcp' is not installed")

from tests.sources.test_mcp import bad_command, connected

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request

    from jupyter_funcs.api import Session

FAILURES: dict[str, tuple[type[Exception], str]] = {
    "-32000": (jf.FunctionError, "The function failed: Connection closed"),
    "-32001": (jf.FunctionError, "The function failed: no luck"),
    "-32042": (jf.FunctionError, "The function failed: no luck"),
    "-32600": (jf.FunctionError, "The function failed: no luck"),
    "-32601": (jf.FunctionError, "The function failed: no luck"),
    "-32602": (jf.ArgumentError, "no luck"),
    "-32603": (jf.FunctionError, "The function failed: no luck"),
    "-32700": (jf.ProtocolError, "no luck"),
    "-7": (jf.FunctionError, "The function failed: no luck"),
    "another id": (jf.ProtocolError, "it answered a request that it didn't get"),
    "no id": (jf.ProtocolError, "Unexpected end of input"),
    "control": (jf.FunctionError, "The function failed: bad"),
    "deep": (jf.ProtocolError, "recursion limit"),
    "closes": (jf.ServiceConnectionError, "closed its output"),
    "ends in a call": (
        jf.ServiceConnectionError,
        "ended with exit code 3: KeyError: 'x'",
    ),
}
ENDS = {"closes", "ends in a call", "deep"}


@pytest.mark.fault(149)
@pytest.mark.parametrize("how", FAILURES)
def test_a_call_that_fails_is_sent_once(how: str, tmp_path: Path) -> None:
    """Its error has the server's message, whatever its code; the connection is closed only if the server's is."""
    error, words = FAILURES[how]
    calls = tmp_path / "calls"
    with connected(command=(*bad_command(how), str(calls))) as session:
        function = session["go"]
        link = session.remote.source._link  # type: ignore[attr-defined]
        with pytest.raises(error) as failed:
            function.with_options(timeout=20)()
        assert words in str(failed.value)
        assert 1 <= len(str(failed.value).split("\n")) <= 3
        assert calls.read_text().splitlines() == ["called"]
        assert link.is_usable is (how not in ENDS)


def streaming(*events: str, of: str = "tools/call") -> Starlette:
    """A server whose replies are streams; one method gets these events."""
    info = {
        "capabilities": {},
        "serverInfo": {"name": "x", "version": "1"},
        "protocolVersion": "2025-06-18",
    }
    tools = {
        "tools": [
            {
                "name": "go",
                "inputSchema": {"type": "object"},
                "annotations": {"readOnlyHint": True},
            }
        ]
    }
    results = {"initialize": info, "tools/list": tools}

    async def answer(request: Request) -> Response:
        call = json.loads(await request.body() or b"{}")
        if request.method == "GET" or "id" not in call:
            return Response("", 405 if request.method == "GET" else 202)
        request.app.state.methods.append(call["method"])
        reply = {
            "jsonrpc": "2.0",
            "id": call["id"],
            "result": results.get(call["method"]),
        }
        sent = [event.replace("ID", str(call["id"])) for event in events]
        text = "".join(
            sent if call["method"] == of else [f"data: {json.dumps(reply)}\n\n"]
        )
        return Response(text, media_type="text/event-stream")

    app = Starlette(routes=[Route("/mcp", answer, methods=["GET", "POST", "DELETE"])])
    app.state.methods = []
    return app


OWN = 'data: {"jsonrpc": "2.0", "id": ID, "error": {"code": -32000, "message": "Connection closed"}}\n\n'


@pytest.mark.fault(149)
@pytest.mark.parametrize(
    ("events", "error", "words", "times"),
    [
        ((OWN,), jf.FunctionError, "The function failed: Connection closed", 1),
        (
            (": nothing yet\n\n", OWN),
            jf.FunctionError,
            "The function failed: Connection closed",
            1,
        ),
        (
            (),
            jf.ServiceConnectionError,
            "closed the connection before its reply ended",
            2,
        ),
    ],
)
def test_a_stream_that_ends_is_told_from_a_tool_that_fails(
    events: tuple[str, ...], error: type[Exception], words: str, times: int
) -> None:
    """Over HTTP the SDK reports both with the same code; only an incomplete reply is requested again."""
    app = streaming(*events)
    with (
        serving(app) as url,
        connected(f"{url}/mcp") as session,
        pytest.raises(error, match=words),
    ):
        session["go"]()
    assert app.state.methods.count("tools/call") == times


OTHERS = {
    "WORK_TOKEN": CANARY,
    "FUNCS_SIGNING_KEY": CANARY,
    "FUNCS_TOKEN": CANARY,
    "AWS_SECRET_ACCESS_KEY": CANARY,
}
KEPT = {
    "HTTPS_PROXY": "http://127.0.0.1:1",
    "no_proxy": "*",
    "LC_TIME": "C",
    "TMPDIR": "/var/tmp",
    "SSL_CERT_FILE": "/cert.pem",
    "REQUESTS_CA_BUNDLE": "/cert.pem",
    "NODE_EXTRA_CA_CERTS": "/cert.pem",
    "XDG_CACHE_HOME": "/cache",
    "VIRTUAL_ENV": "/env",
    "PYTHONPATH": "/modules",
}


def profile(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *lines: str, how: str = "environment"
) -> Session:
    profiles = folder / "profiles.toml"
    command = json.dumps(bad_command(how))
    profiles.write_text(
        "\n".join(["[profiles.tools]", 'kind = "mcp"', f"command = {command}", *lines])
    )
    monkeypatch.setenv("FUNCS_CONFIG", str(profiles))
    return jf.connect("tools")


def inherited(session: Session) -> dict[str, Any]:
    row = session["go"]().iloc[0].to_dict()
    session.close()
    return {str(name): text for name, text in row.items()}


@pytest.mark.fault(150)
def test_a_command_inherits_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folders, proxies, certificates and the language, but no token, key or other settings."""
    for name, text in (OTHERS | KEPT).items():
        monkeypatch.setenv(name, text)
    names = inherited(profile(tmp_path, monkeypatch))
    assert KEPT.keys() | {"PATH", "HOME"} <= names.keys()
    assert not OTHERS.keys() & names.keys()
    assert CANARY not in json.dumps(names)
    assert "FUNCS_CONFIG" not in names


@pytest.mark.fault(150)
@pytest.mark.parametrize(
    ("line", "added"),
    [
        ('env = ["GITHUB_TOKEN"]', {"GITHUB_TOKEN": "of-github"}),
        (
            'env = ["GITHUB_TOKEN", "PATH", "OTHER"]',
            {"GITHUB_TOKEN": "of-github", "OTHER": "x y"},
        ),
        ("env = []", {}),
    ],
)
def test_a_profile_names_more(
    line: str, added: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its value at the start of the command."""
    monkeypatch.setenv("OTHER", "x y")
    monkeypatch.setenv("GITHUB_TOKEN", "of-github-before")
    session = profile(tmp_path, monkeypatch, line)
    assert "of-github" not in repr(session._connection)
    monkeypatch.setenv("GITHUB_TOKEN", "of-github")
    names = inherited(session)
    assert {name: names[name] for name in added} == added
    assert ("GITHUB_TOKEN" in names) is ("GITHUB_TOKEN" in added)


@pytest.mark.fault(150)
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            'env = ["GITHUB_TOKEN"]',
            "The variable GITHUB_TOKEN in env of profile 'tools' is not set.",
        ),
        (f'env = ["{CANARY}"]', "The variable in env of profile 'tools' is not set."),
        ('env = ["LEVEL=debug"]', "The variable in env of profile 'tools' is not set."),
        ('env = "GITHUB_TOKEN"', "has an env that is not a list of variables"),
        ("env = {LEVEL = 5}", "has an env that is not a list of variables"),
        ("env = [5]", "has an env that is not a list of variables"),
    ],
)
def test_a_variable_that_is_not_set_is_named(
    line: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When you connect, before the command starts; a possible token isn't shown."""
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    with pytest.raises(jf.ConfigError) as failed:
        profile(tmp_path, monkeypatch, line)
    assert message in str(failed.value)
    assert CANARY not in str(failed.value)


@pytest.mark.fault(150)
def test_a_variable_that_is_gone_when_the_command_starts_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command isn't started without it."""
    monkeypatch.setenv("GITHUB_TOKEN", "of-github")
    session = profile(tmp_path, monkeypatch, 'env = ["GITHUB_TOKEN"]')
    monkeypatch.delenv("GITHUB_TOKEN")
    with pytest.raises(
        jf.ConfigError,
        match="The variable GITHUB_TOKEN in env of profile 'tools' is not set",
    ):
        session.refresh()


TASKS = Path(__file__).parent / "mcp_tasks.py"


@pytest.fixture
def tasks(tmp_path: Path) -> Iterator[Session]:
    """A server whose tools run as tasks; it writes its last request into the file `asked`."""
    with connected(
        command=(sys.executable, str(TASKS), str(tmp_path / "asked"))
    ) as session:
        yield session


@pytest.mark.slow
def test_a_tool_that_runs_as_a_task_gives_its_result(tasks: Session) -> None:
    """Also for one that would ask the user: its result is requested, as the protocol specifies."""
    for name in ("completed", "input_required"):
        assert tasks[name](x=7).to_dict("records") == [{"task": name, "x": 7}]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"),
    [("failed", "The function failed: .*failed"), ("cancelled", "step 2 of cancelled")],
)
def test_a_task_that_fails_says_so(tasks: Session, name: str, words: str) -> None:
    with pytest.raises(jf.FunctionError, match=words):
        tasks[name](x=7)


@pytest.mark.slow
def test_a_task_says_how_far_it_is_and_is_cancelled_on_the_server(
    tasks: Session, tmp_path: Path
) -> None:
    job = tasks["endless"].submit()
    wait_until(lambda: job.progress.said.startswith("step "))
    job.cancel()
    wait_until((tmp_path / "asked").exists)
    assert (tmp_path / "asked").read_text() == "tasks/cancel"
