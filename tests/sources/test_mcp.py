"""MCP servers as sources: what their tools receive and return, and what happens if a server breaks the protocol."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from starlette.responses import HTMLResponse, RedirectResponse

import jupyter_funcs as jf
from jupyter_funcs.api import Session
from jupyter_funcs.client import client, remote
from jupyter_funcs.connection.profiles import Connection
from jupyter_funcs.connection.secrets import Secret
from jupyter_funcs.connection.tokens import Constant
from jupyter_funcs.frames.media import media_to_frame
from jupyter_funcs.panel.run_view import running_view
from jupyter_funcs.sources.mcp import _data
from tests.conftest import is_running, wait_until
from tests.faults.canary import CANARY, leaks
from tests.panel.page import Page
from tests.servers import serving

pytest.importorskip("mcp", reason="the extra 'mcp' is not installed")

from tests.sources import mcp_server  # needs the extra
from tests.sources.test_detected import Recorded, answering, small_mcp
from tests.sources.test_requests import code_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).parent
ROOT = str(Path(jf.__file__).parent.parent)


def opened(url: str = "", command: tuple[str, ...] | None = None) -> Session:
    return Session(
        Connection("tools", url, Constant(Secret(CANARY)), kind="mcp", target=command)
    )


@contextmanager
def connected(
    url: str = "", command: tuple[str, ...] | None = None
) -> Iterator[Session]:
    session = opened(url, command)
    try:
        yield session
    finally:
        session.close()


def bad_command(how: str) -> tuple[str, ...]:
    return sys.executable, str(HERE / "bad_mcp_server.py"), how


def bad(how: str) -> Any:
    return connected(command=bad_command(how))


http_app = Recorded(mcp_server.app.streamable_http_app())


@pytest.fixture(
    scope="module", params=["http", pytest.param("pipes", marks=pytest.mark.slow)]
)
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    if request.param == "pipes":
        with connected(
            command=(sys.executable, "-m", "tests.sources.mcp_server")
        ) as session:
            yield session
    else:
        with (
            serving(http_app, lifespan="on") as url,
            connected(f"{url}/mcp") as session,
        ):
            yield session


@pytest.fixture
def over_http(session: Session) -> Session:
    if not session.address:
        pytest.skip("in this process")
    return session


ARGUMENTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "nothing that was not set": ({}, {"choice": "a", "top": 2}),
    "an integer": ({"whole": "7"}, {"whole": 7}),
    "a number": ({"number": 1.5}, {"number": 1.5}),
    "a flag": ({"flag": False}, {"flag": False}),
    "a text that looks like a number": ({"text": "007"}, {"text": "007"}),
    "any characters": (
        {"text": 'é"\n\u202e\U0001f600'},
        {"text": 'é"\n\u202e\U0001f600'},
    ),
    "half a surrogate pair": (
        {"free": {"a": ["b\ud800"]}},
        {"free": {"a": ["b\ufffd"]}},
    ),
    "a choice": ({"choice": "b"}, {"choice": "b"}),
    "a list": ({"several": [1, 2]}, {"several": [1, 2]}),
    "an object": ({"point": {"x": 1}}, {"point": {"x": 1.0, "y": 0}}),
    "a text where a number is allowed too": ({"either": "7"}, {"either": "7"}),
    "a number where a text is allowed too": ({"either": 7}, {"either": 7}),
    "an object as text": (
        {"point": '{"x": 2, "y": 3}'},
        {"point": {"x": 2.0, "y": 3.0}},
    ),
    "a bounded integer": ({"top": 5}, {"top": 5}),
}


@pytest.mark.parametrize(("values", "received"), ARGUMENTS.values(), ids=ARGUMENTS)
def test_a_tool_receives_what_was_set_in_its_own_types(
    session: Session, values: dict[str, Any], received: dict[str, Any]
) -> None:
    """The schema of a parameter decides the JSON type of its argument."""
    [text] = session["got"](**values)["json"]
    assert json.loads(text) == {"choice": "a", "top": 2, **received}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"top": 6}, "between 1 and 5"),
        ({"choice": "c"}, "'c'"),
        ({"whole": "x"}, "'x'"),
        ({"point": {"y": 1}}, "x"),
        ({"nothing": 1}, "nothing"),
    ],
)
def test_what_the_schema_forbids_is_not_sent(
    session: Session, values: dict[str, Any], words: str
) -> None:
    """A tool's declarations are enforced before anything is sent."""
    with pytest.raises(jf.ArgumentError, match=re.escape(words)):
        session["got"](**values)


RESULTS: dict[str, list[dict[str, Any]]] = {
    "rows": [
        {"name": "x", "code": "007", "n": 1},
        {"name": "y", "code": "1E5", "n": 2**60},
    ],
    "number": [{"Result": 7}],
    "text": [{"Result": "done"}],
    "nothing": [],
}


@pytest.mark.parametrize(("name", "rows"), RESULTS.items(), ids=RESULTS)
def test_a_result_becomes_a_table(
    session: Session, name: str, rows: list[dict[str, Any]]
) -> None:
    """Structured content, else text; other content is named, not shown."""
    assert json.loads(session[name]().to_json(orient="records")) == rows


FILES: dict[str, tuple[str, list[dict[str, Any]], str]] = {
    "image": ("file", [{"Result": mcp_server.PNG}], "image/png"),
    "audio": ("file", [{"Result": b"RIFF"}], "audio/wav"),
    "pdf": ("file", [{"Result": b"%PDF-1.7"}], "application/pdf"),
    "bytes": ("file", [{"Result": b"[\0"}], "application/octet-stream"),
    "markdown": ("text", [{"Result": "[draft]\n# Report"}], "text/markdown"),
    "csv": ("csv", [{"day": pd.Timestamp("2026-01-02"), "n": 7}], ""),
    "json": ("records", [{"n": 7}], ""),
    "links": (
        "records",
        [{"name": "Report", "uri": "file:///report.pdf", "mimeType": "application/pdf"}]
        * 2,
        "",
    ),
    "text and image": (
        "records",
        [
            {"Result": "Sales", "media_type": "text/plain"},
            {"Result": mcp_server.PNG, "media_type": "image/png"},
        ],
        "",
    ),
    "text, file and link": (
        "records",
        [
            {"Result": "Sales", "media_type": "text/plain", "uri": None},
            {
                "Result": b"%PDF",
                "media_type": "application/octet-stream",
                "uri": "file:///r.pdf",
            },
            {
                "Result": "Report",
                "media_type": "application/pdf",
                "uri": "file:///report.pdf",
            },
        ],
        "",
    ),
}


@pytest.mark.parametrize(("which", "expected"), FILES.items(), ids=FILES)
def test_files_are_the_bytes_that_were_sent(
    session: Session, which: str, expected: tuple[str, list[dict[str, Any]], str]
) -> None:
    """One is a cell with its media type, as in a reply over HTTP; several are rows, and so are links."""
    frame = session["files"](which=which)
    about = frame.attrs["funcs"]
    shape, rows, media_type = expected
    assert frame.astype(object).where(frame.notna(), None).to_dict("records") == rows
    assert (about["shape"], about.get("media_type", "")) == (shape, media_type)


def test_what_is_structured_is_kept_beside_an_image(session: Session) -> None:
    """Instead of the texts, which repeat it."""
    frame = session["rows_and_image"]()
    assert frame["media_type"].tolist() == ["application/json", "image/png"]
    assert json.loads(frame["Result"][0]) == {"x": 1.0, "y": 2.0}
    assert frame["Result"][1] == mcp_server.PNG


def test_what_is_not_base64_is_named() -> None:
    """The other parts are kept."""
    broken = {"type": "image", "data": "a", "mimeType": "image/png"}
    content, kind = _data({"content": [{"type": "text", "text": "x"}, broken]}, "f")
    result = media_to_frame(content, kind)["Result"]
    assert result.tolist() == ["x", "image (image/png, 0 bytes)"]
    assert result.dtype == pd.StringDtype(na_value=pd.NA), "as any column of texts"


NOT_JSON = [
    "[not JSON",
    "{",
    '"',
    "007",
    "7",
    "true",
    "null",
    '"a"',
    "1E5x",
    "true story",
    "[link](x)\n",
    "",
    " ",
    "NaN",
]


@pytest.mark.parametrize("tool", ["text", "undeclared"])
@pytest.mark.parametrize("text", NOT_JSON)
def test_a_text_stays_a_text(session: Session, tool: str, text: str) -> None:
    """A number, a flag and a text that only begins like JSON stay text."""
    assert session[tool](of=text)["Result"].tolist() == [text]


@pytest.mark.parametrize(
    "text", ['[{"a": 1, "b": null}, {"a": 2, "b": "t"}]', ' {"a": 1, "b": "t"}']
)
def test_an_object_or_a_list_in_a_text_is_read_unless_the_tool_declares_a_text(
    session: Session, text: str
) -> None:
    """A declared result is one text, whatever it contains."""
    rows = json.loads(text)
    read = json.loads(session["undeclared"](of=text).to_json(orient="records"))
    assert read == (rows if isinstance(rows, list) else [rows])
    assert session["text"](of=text)["Result"].tolist() == [text]


def test_a_tool_is_a_function(session: Session) -> None:
    """Its title and description are the text, the server its group, and its hints say whether it changes data."""
    by_name = {function.name: function.function for function in session}
    assert by_name["got"].description == "What it got\n\nReturn the arguments as JSON."
    assert by_name["change"].description == "Change something."  # its title is its name
    assert {function.group for function in by_name.values()} == {"Small server"}
    assert [name for name, function in by_name.items() if function.changes_data] == [
        "change"
    ]
    assert session["change"](name="x")["Result"].tolist() == ["changed x"]
    arguments = {"whole": 7, "text": "007"}
    sent = {"method": "tools/call", "params": {"name": "got", "arguments": arguments}}
    assert session["got"].request(whole="7", text="007") == sent
    assert "curl" not in code_of(session["got"], whole="7")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda funcs: funcs["fails"](text="bad \x1b[31m"),
            jf.FunctionError,
            "The function failed: Error executing",
        ),
        (
            lambda funcs: funcs["text"].with_options(max_bytes=900)(of="x" * 1000),
            jf.ReplyTooLargeError,
            "900",
        ),
        (
            lambda funcs: funcs["wait"].with_options(timeout=0.2)(seconds=60),
            jf.DeadlineError,
            "0.2 s",
        ),
    ],
)
def test_a_failure_leaves_the_connection_usable(
    session: Session, call: Callable[[Session], Any], error: type[Exception], words: str
) -> None:
    """Each failure is one of our errors, without the server's control characters; the next run works."""
    with pytest.raises(error, match=re.escape(words)) as failed:
        call(session)
    assert str(failed.value).replace("\n", "").isprintable()
    assert session["number"]()["Result"].tolist() == [7]


def test_a_run_says_how_far_it_is_and_is_cancelled_on_the_server(
    over_http: Session,
) -> None:
    """The tool's progress message is shown as text; the protocol's cancellation is sent without waiting for a reply."""
    mcp_server.calls.clear()
    job = over_http["wait"].submit(seconds=60)
    wait_until(lambda: repr(job).endswith("25% <b>\\x1b[1m waiting>"))
    assert job._repr_html_().endswith("25% &lt;b&gt;\\x1b[1m waiting")
    assert running_view(job)["note"] == "25% <b>\\x1b[1m waiting"
    job.cancel()
    wait_until(lambda: mcp_server.calls == ["cancelled"])


class Person:
    """A user who answers one prompt after the other."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *replies: str) -> None:
        self.prompts: list[str] = []
        self._replies = iter(replies)
        monkeypatch.setattr("builtins.input", self._input)
        monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)

    def _input(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return next(self._replies)


def test_a_server_asks_the_user_in_the_cell(
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Value by value, and again if one is invalid; an empty reply means the default."""
    person = Person(monkeypatch, "", "Ann", "9", "3", "", "")
    reply = session["asks"]()["Result"].tolist()
    assert reply == ['accept {"name":"Ann","count":3,"colour":"red"}']
    name = "Your name"
    count = "Count [2]"
    colour = "Colour (red or blue) [red]"
    assert person.prompts == [
        f"{prompt}: " for prompt in (name, name, count, count, colour)
    ] + ["Send? [Y/n] "]
    shown = capsys.readouterr().out
    assert shown.startswith("tools asks: Who are \\x1b[1m you?\n")
    assert "required" in shown
    assert "between 1 and 5" in shown


def test_a_server_asks_to_open_a_link(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = Person(monkeypatch, "")
    assert session["leads"]()["Result"].tolist() == ["accept"]
    assert person.prompts == ["Open https://sign.in.example/?a=1 and continue? [Y/n] "]


def test_a_person_may_decline(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    Person(monkeypatch, "Ann", "", "", "n")
    assert session["asks"]()["Result"].tolist() == ["decline"]


def test_where_nobody_can_answer_it_is_declined_with_a_note(session: Session) -> None:
    """In the background, in a sweep, and in a notebook that is executed without a user."""
    job = session["asks"].submit()
    assert job.future.result(60)["Result"].tolist() == ["decline"]
    assert job.notes == ["tools asked, and nobody could answer: Who are \\x1b[1m you?"]


def asked_in(page: Page) -> dict[str, Any]:
    """Return the question that a panel shows."""

    def questions() -> list[dict[str, Any]]:
        shown = [
            event["running"]["question"]
            for event in page.sent
            if event.get("ev") == "progress"
        ]
        return [question for question in shown if question]

    wait_until(lambda: bool(questions()))
    return questions()[-1]


@pytest.mark.slow
def test_a_panel_shows_what_a_server_asks(session: Session) -> None:
    """With errors at the fields; the time limit of the run is paused meanwhile."""
    page = Page(session.panel("asks"))
    page.ask("run", seq=1, values={}, confirmed=False)
    question = asked_in(page)
    assert (question["source"], question["text"]) == ("tools", "Who are \\x1b[1m you?")
    assert [field["label"] for field in question["fields"]] == [
        "Your name",
        "Count",
        "Colour",
    ]
    limit = page.panel._state.runs.current.progress.limit  # type: ignore[union-attr]
    assert limit is not None
    assert limit.when() is None
    errors = page.ask("answer", values={"count": "9"})["errors"]
    assert errors.keys() == {"name", "count"}
    assert page.ask("answer", values={"name": "Ann", "count": "3"})["errors"] == {}
    assert page.panel.result(60)["Result"].tolist() == [
        'accept {"name":"Ann","count":3,"colour":"red"}'
    ]
    page.ask("run", seq=2, values={}, confirmed=False)
    page.sent.clear()
    asked_in(page)
    page.ask("answer", values=None)
    assert page.panel.result(60)["Result"].tolist() == ["decline"]


@pytest.mark.slow
def test_a_cancelled_run_takes_back_its_question(session: Session) -> None:
    page = Page(session.panel("asks"))
    page.ask("run", seq=1, values={}, confirmed=False)
    asked_in(page)
    page.ask("cancel")
    wait_until(lambda: page.state("_run")["state"] == "cancelled")
    assert session["number"]()["Result"].tolist() == [7]


@pytest.mark.slow
def test_runs_share_a_connection_at_the_same_time(session: Session) -> None:
    """Each run of a sweep waits until the others have arrived."""
    assert session["meet"].with_options(concurrency=4).sweep(number=[1, 2, 3, 4])[
        "Result"
    ].tolist() == [1, 2, 3, 4]


def test_the_token_goes_to_its_server_and_nowhere_else(over_http: Session) -> None:
    """Each request has it; a redirect to another origin isn't followed."""
    over_http["number"]()
    assert http_app.tokens == {f"Bearer {CANARY}"}
    with serving(elsewhere := Recorded(answering())) as there:
        redirect = RedirectResponse(f"{there}/mcp", 307)
        with (
            serving(redirect) as here,
            connected(here) as session,
            pytest.raises(jf.FuncsError) as failed,
        ):
            session.refresh()
    assert f"Redirect to {there}/mcp not followed" in str(failed.value)
    assert not elsewhere.seen
    assert not leaks(str(failed.value))


STATUSES = {
    401: (jf.AuthenticationError, "does not accept the token"),
    403: (jf.PermissionDeniedError, "not allowed"),
    404: (jf.ConfigError, "404"),
    500: (jf.ServerError, "500"),
    200: (jf.ProtocolError, "text/html"),
}


@pytest.mark.slow
@pytest.mark.parametrize("status", STATUSES)
def test_an_address_without_an_mcp_server_is_named(status: int) -> None:
    """The answers of other web servers become our errors, without a token that they repeat."""
    error, words = STATUSES[status]
    page = HTMLResponse(f"<p>{CANARY}</p>", status)
    with (
        serving(page) as url,
        connected(url) as session,
        pytest.raises(error, match=words) as failed,
    ):
        session.refresh()
    assert not leaks(str(failed.value))


def test_a_server_without_a_stream_of_its_own_keeps_its_session() -> None:
    """A 405 for the optional stream of notifications says nothing about the session."""
    initialized: list[Any] = []
    tools = [{"name": "go", "inputSchema": {"type": "object"}}]
    app = small_mcp(
        initialized,
        list={"tools": tools},
        call={"content": [{"type": "text", "text": "fine"}]},
    )
    with serving(app) as url, connected(url) as session:
        for _ in range(3):
            assert session["go"]()["Result"].tolist() == ["fine"]
            time.sleep(0.05)
    assert len(initialized) == 1


def test_a_session_that_the_server_dropped_is_opened_again(over_http: Session) -> None:
    """As after a restart of the server: the run didn't start, so it is sent again, even if it changes data."""
    over_http["number"]()
    mcp_server.app.session_manager._server_instances.clear()
    assert over_http["change"](name="again")["Result"].tolist() == ["changed again"]


def test_a_changed_tool_is_named(over_http: Session) -> None:
    """When the server says that its tools changed, they are listed again, and a run of a removed one says so."""
    rows = over_http["rows"]
    number = over_http["number"]
    manager = mcp_server.app._tool_manager
    before = dict(manager._tools)

    def other(of: int) -> int:
        return of

    try:
        mcp_server.app.remove_tool("number")
        mcp_server.app.add_tool(other, name="number", annotations=mcp_server.READS)
        over_http["appears"]()
        wait_until(lambda: "rows" not in over_http.names)
        assert [field.name for field in over_http["number"].fields] == ["of"]
        with pytest.raises(jf.NotFoundError, match="rows is no longer in your catalog"):
            rows()
        with pytest.raises(
            jf.ArgumentError, match="has changed 'number': added 'of' \\(required\\)"
        ):
            number()
    finally:
        manager._tools = before
        over_http.refresh()
    assert len(over_http["rows"]()) == 2


def test_a_secret_at_the_end_of_a_long_error_is_masked() -> None:
    """It is masked before the text is cut; otherwise its beginning would be shown."""
    secret = Secret(CANARY)
    with pytest.raises(jf.FunctionError) as caught:
        _data(
            {"isError": True, "content": [{"text": "x" * 296 + secret.reveal()}]}, "f"
        )
    assert CANARY[:4] not in str(caught.value)


BAD: dict[str, tuple[type[Exception], str]] = {
    "ends": (
        jf.ServiceConnectionError,
        "ended with exit code 1: Error: the database is gone",
    ),
    "garbage and end": (
        jf.ServiceConnectionError,
        "It wrote 'usage: server [-h] \\x1b[31m' where a message belongs.",
    ),
    "old": (jf.ProtocolError, "1999-01-01"),
    "not a result": (jf.ProtocolError, "capabilities: Field required"),
    "no tools": (jf.ConfigError, "is an MCP server without tools"),
    "cut": (jf.ProtocolError, "can't be read"),
    "no list": (jf.ProtocolError, "tools: Input should be a valid list"),
    "hangs": (jf.DeadlineError, "The listing of the functions did not finish"),
    "hangs at list": (jf.DeadlineError, "The listing of the functions did not finish"),
    "ends in a call": (
        jf.ServiceConnectionError,
        "ended with exit code 3: KeyError: 'x'",
    ),
    "deep": (jf.ProtocolError, "recursion limit"),
    "deep text": (jf.ProtocolError, "nested too deeply"),
    "control": (jf.FunctionError, "The function failed: bad \\x1b[31m\\x00 thing"),
    "error": (jf.FunctionError, "The function failed: boom \\x1b[31m"),
    "closes": (jf.ServiceConnectionError, "closed its output"),
}


@pytest.mark.parametrize(
    "how",
    [
        pytest.param(
            how,
            marks=[pytest.mark.slow] * (how in {"hangs", "hangs at list", "closes"}),
        )
        for how in BAD
    ],
)
def test_a_bad_server_is_an_error(
    how: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """In one to three lines, within the time limit, and with no other output."""
    error, words = BAD[how]
    for module in (client, remote):
        monkeypatch.setattr(module, "LIST_SECONDS", 2.0)
    with bad(how) as session, pytest.raises(error, match=re.escape(words)) as failed:
        session["go"].with_options(retries=0)()
    lines = str(failed.value).split("\n")
    assert 1 <= len(lines) <= 3
    assert all(map(str.isprintable, lines))
    assert "".join(capfd.readouterr()) == ""


@pytest.mark.parametrize("how", ["garbage", "odd result"])
def test_a_server_that_is_only_odd_works(how: str) -> None:
    """Text between the messages is skipped, and a result of another shape is read as far as possible."""
    with bad(how) as session:
        assert len(session["go"]()) >= 1


@pytest.mark.parametrize(
    ("url", "command", "error", "words"),
    [
        (
            "",
            ("no-such-command",),
            jf.ConfigError,
            "'no-such-command' of the MCP server .*: it doesn't exist",
        ),
        ("", (str(HERE / "bad_mcp_server.py"),), jf.ConfigError, "it isn't executable"),
        ("", (ROOT,), jf.ConfigError, "it isn't executable"),
        ("http://127.0.0.1:9/mcp", None, jf.ServiceConnectionError, "Cannot reach"),
    ],
)
def test_a_server_that_is_not_there_is_named(
    url: str, command: Any, error: type[Exception], words: str
) -> None:
    """A command that can't start is a configuration error; an unused address is a connection error."""
    with connected(url, command) as session, pytest.raises(error, match=words):
        session.refresh()


@pytest.mark.slow
def test_a_listing_has_bounds() -> None:
    """The first ten thousand tools are listed, even from endless pages; a warning says so."""
    with (
        bad("many") as session,
        pytest.warns(UserWarning, match="more tools than these 10,000"),
    ):
        assert len(session.names) == 10_000
    with (
        bad("endless") as session,
        pytest.warns(UserWarning, match="more tools than these 0"),
    ):
        assert session.names == []


def test_an_odd_tool_does_not_cost_the_others() -> None:
    """Tools without a name or an object of arguments are left out with one warning, and the others work."""
    with bad("odd") as session:
        with (
            pytest.warns(
                UserWarning,
                match="Left out .*: 'twice', 'no schema', 'no object', '7' and ''.",
            ),
            pytest.warns(UserWarning, match="contradict themselves"),
        ):
            names = session.names
        assert names == ["twice", "control\x1b[31m", "untyped", "either", "contradicts"]
        assert [
            field.name for field in session["contradicts"].fields if field.required
        ] == ["w"]
        assert session["either"](arguments={"x": 1})["arguments.x"].tolist() == [1]


def test_without_the_sdk_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The client works without the package until an MCP server is used."""
    monkeypatch.setitem(sys.modules, "jupyter_funcs.sources.mcp_connection", None)
    with (
        connected("http://127.0.0.1:9/mcp") as session,
        pytest.raises(jf.ConfigError) as failed,
    ):
        session.refresh()
    assert "pip install 'jupyter-funcs[mcp]'" in str(failed.value)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_closing_ends_the_server_and_its_children() -> None:
    """Even if they ignore the end of their input and the request to end; so does a restart."""
    with bad("stubborn") as session:
        session["go"]()
        processes = [
            int(number) for number in session.remote.source._link._stderr.split()
        ]  # type: ignore[attr-defined]
        assert list(map(is_running, processes)) == [True, True]
        session.close()
        wait_until(lambda: not any(map(is_running, processes)))
        assert len(session["go"]()) == 1  # opened again


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize("end", ["", "raise SystemExit(3)", "import os; os._exit(0)"])
def test_nothing_stays_behind(end: str) -> None:
    """At the end of the interpreter the server ends; a forked child neither uses nor ends its parent's."""
    # This one notices only the end of its input.
    how = "go" if "_exit" in end else "stubborn"
    program = f"""
import os
from tests.sources.test_mcp import bad_command, opened
session = opened(command=bad_command({how!r}))
assert len(session["go"]()) == 1
child = os.fork()
if child == 0:
    assert len(session["go"]()) == 1
    session.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert len(session["go"]()) == 1
print(session.remote.source._link._process.pid, flush=True)
{end}
"""
    environment = {
        **os.environ,
        "PYTHONPATH": ROOT,
        "PYTHONWARNINGS": "ignore::DeprecationWarning",
    }
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        cwd=ROOT,
    )
    assert done.returncode == (3 if "3" in end else 0), done.stderr
    assert done.stderr == ""
    wait_until(lambda: not is_running(int(done.stdout)))


@pytest.mark.slow
def test_our_own_server_is_a_source_too() -> None:
    """The demo as served by ``jupyter funcs mcp`` runs through the client's forms again."""
    with connected(
        command=(sys.executable, "-m", "jupyter_funcs.cli.main", "mcp")
    ) as session:
        daily = session["get_panel_daily"]
        assert "PanelName" in {field.name for field in daily.fields}
        note, table = session["get_panels"]()["Result"]
        assert note.startswith("All rows: 2")
        assert table.startswith("PanelName,")
        with pytest.raises(jf.FunctionError, match="No such panel"):
            daily(PanelName="No such panel", Symbol="X")


def test_a_profile_names_the_command_of_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`kind = "mcp"` with a command needs no token; an address that ends in /mcp needs no kind."""
    profiles = tmp_path / "profiles.toml"
    profiles.write_text(
        '[profiles.tools]\nkind = "mcp"\ncommand = ["server-of-tools"]\n'
    )
    monkeypatch.setenv("FUNCS_CONFIG", str(profiles))
    session = jf.connect("tools")
    assert (session.kind, session.address, session.token_is_given) == (
        "mcp",
        "mcp:tools",
        False,
    )
    assert jf.connect("https://tools.example/mcp").kind == "mcp"


@pytest.mark.parametrize("name", ["sales", "page"])
@pytest.mark.parametrize("count", [0, 1])
def test_the_schema_of_a_tools_output_declares_its_columns(
    session: Session, name: str, count: int
) -> None:
    frame = session[name](count=count)
    kinds = {name: str(dtype) for name, dtype in frame.dtypes.items()}
    assert kinds == {
        "day": "datetime64[us]",
        "spend": "float64",
        "kind": "category",
        "cards": "Int64",
    }
    assert len(frame) == count
    assert frame.attrs["funcs"]["columns"] == {
        "spend": {"description": "Card spend.", "unit": "USD"}
    }
