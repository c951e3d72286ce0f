"""
A token in use is in nothing that a notebook leaves behind, whatever the service does.

One real kernel runs a notebook against a service that meets it with every kind of fault and repeats the token where it
can; then all that the kernel printed, kept, saved and sent is searched for the token, also encoded and in pieces.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import traceback
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import httpx
import nbformat
import psutil
import pytest
from IPython.core.crashhandler import CrashHandler
from nbclient import NotebookClient
from nbconvert import HTMLExporter

import jupyter_funcs as jf
from jupyter_funcs.catalog.values import Each
from jupyter_funcs.connection.replies import Reply
from jupyter_funcs.connection.secrets import Secret
from tests.faults.canary import CANARY, leaks
from tests.faults.server import LISTING, Connection, faulty
from tests.faults.test_chaos import BROKEN, head, rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MODES = ["Plain", "Context", "Verbose", "Minimal"]


def echo(status: str, **where: str) -> Callable[[Connection, bytes], None]:
    """Repeat the token that was sent, like a careless service."""

    def act(connection: Connection, body: bytes) -> None:
        token = connection.token()
        reply = json.dumps(
            {key: value.format(token=token) for key, value in where.items()}
        ).encode()
        connection.send(head(len(reply), status, f"X-Echo: {token}\r\n") + reply)

    return act


ECHOING: list[Callable[[Connection, bytes], None]] = [
    echo("401 Unauthorized", error="bad token {token}"),
    echo("400 Bad", error="{token}"),
    echo("422 Bad", detail="{token}"),
    echo("500 Bad", message="at f(token={token!r})"),
    echo("200 OK", error="refused: {token}", body="[]"),
    echo("200 OK", body='[{{"cut": "{token}"'),
]
FAULTS = [*BROKEN, *ECHOING]
# The verbose mode shows all that the others show, and more.
SHOWN = {
    mode: range(0 if mode == "Verbose" else len(BROKEN), len(FAULTS)) for mode in MODES
}


class Scripted:
    """A service whose runs meet the fault named by their argument."""

    def __call__(self, connection: Connection) -> None:
        while True:
            if b"ListUserFunctions" in connection.request():
                connection.send(head(len(LISTING)) + LISTING)
                continue
            argument = connection.argument()
            if argument.startswith("fault "):
                FAULTS[int(argument.split()[1])](connection, rows("7"))
                if connection.socket.fileno() < 0:
                    return
            else:
                body = rows(argument)
                connection.send(head(len(body)) + body)


SETUP = """\
import logging, sys, traceback, warnings
logging.basicConfig(level=logging.DEBUG, stream=sys.stdout, force=True)
%load_ext jupyter_funcs
import jupyter_funcs as jf
funcs = jf.connect()
f = funcs.f.with_options(timeout=2, force=True, retries=0)
df = funcs.f(a="5")
df"""
LOOK = """\
%whos
%config
print(repr(funcs), str(funcs), vars(funcs), repr(f), vars(f), dir(funcs), funcs.status(), df.attrs)
%store df
%history -n
import pickle
for thing in (funcs, f, df, f.submit(a="5"), jf.Form(f, a="5")):
    try:
        print(pickle.dumps(thing))
    except Exception as error:
        traceback.print_exc()
print(f.code({"a": "5"}), f.request(a="5"), f.json_schema(), help(f))
df.to_csv("saved.csv"); df.to_html("saved.html"); df.to_json("saved.json"); df.to_pickle("saved.pickle")"""
PANEL = """\
panel = funcs.panel("F", a="5")
panel.run()
panel.result(60)
panel"""
FAILING_PANEL = """\
panel.form["a"] = "fault 17"
try:
    panel.run(); panel.result(60)
except jf.FuncsError as error:
    print(error, repr(error), vars(error))"""
CAUGHT = """\
for number in range({faults}):
    try:
        f(a=f"fault {{number}}")
    except jf.FuncsError as error:
        traceback.print_exc()
        print(repr(error), vars(error), error.args, error.__cause__, error.__context__)
        try:
            print(pickle.dumps(error))
        except Exception:
            traceback.print_exc()"""


def fails(source: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_code_cell(source, metadata={"tags": ["raises-exception"]})


def faulty_notebook() -> nbformat.NotebookNode:
    """Return a notebook that meets every fault, caught and in tracebacks of each mode."""
    sources = (SETUP, LOOK, PANEL, FAILING_PANEL, CAUGHT.format(faults=len(FAULTS)))
    cells = [*map(nbformat.v4.new_code_cell, sources)]
    for mode in MODES:
        cells.append(nbformat.v4.new_code_cell(f"%xmode {mode}"))
        cells += [fails(f'f(a="fault {number}")') for number in SHOWN[mode]]
    cells.append(nbformat.v4.new_code_cell("%funcs lasterror\nIn, Out, _"))
    return nbformat.v4.new_notebook(cells=cells)


@pytest.mark.fault(47, 102, 103)
def test_a_token_in_use_stands_in_nothing_that_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Not in outputs, tracebacks of any mode, logs, the notebook and its export, history or files."""
    notebook = faulty_notebook()
    work = tmp_path / "work"
    home = tmp_path / "home"
    work.mkdir()
    home.mkdir()
    for name in (
        "HOME",
        "IPYTHONDIR",
        "JUPYTER_CONFIG_DIR",
        "JUPYTER_DATA_DIR",
        "JUPYTER_RUNTIME_DIR",
        "TMPDIR",
    ):
        (home / name).mkdir()
        monkeypatch.setenv(name, str(home / name))
    with faulty(otherwise=Scripted()) as server:
        monkeypatch.setenv("FUNCS_BASE_URL", server.url)
        monkeypatch.setenv("FUNCS_TOKEN", CANARY)
        monkeypatch.setenv(
            "PYTHONPATH", os.pathsep.join(path for path in sys.path if path)
        )
        client = NotebookClient(
            notebook,
            timeout=300,
            resources={"metadata": {"path": str(work)}},
            ipython_hist_file=str(home / "history.sqlite"),
        )
        with client.setup_kernel():
            for at, cell in enumerate(notebook.cells):
                client.execute_cell(cell, at)
            client.set_widgets_metadata()
            arguments = [
                " ".join(process.cmdline())
                for process in psutil.Process().children(recursive=True)
            ]
        requests = list(server.requests)

    failed = [
        out.ename
        for cell in notebook.cells
        for out in cell.outputs
        if out.output_type == "error"
    ]
    assert len(failed) == sum(map(len, SHOWN.values()))
    assert set(failed) <= {
        name for name in dir(__import__("jupyter_funcs")) if name.endswith("Error")
    }
    printed = capfd.readouterr()
    sinks = {
        "the saved notebook, its outputs and widgets": nbformat.writes(notebook),
        "its export": HTMLExporter().from_notebook_node(notebook)[0],
        "what the kernel wrote": printed.out + printed.err,
        "arguments of processes": "\n".join(arguments),
        "addresses": "\n".join(
            request.split(b"\r\n")[0].decode() for request in requests
        ),
        "bodies": "\n".join(
            request.partition(b"\r\n\r\n")[2].decode() for request in requests
        ),
    }
    sinks |= {
        f"file {path.relative_to(tmp_path)}": path.read_bytes().decode("latin-1")
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    assert "history.sqlite" in " ".join(sinks)
    assert any("saved.pickle" in sink for sink in sinks)
    assert {
        name: leaked for name, text in sinks.items() if (leaked := leaks(text))
    } == {}
    # Where it belongs it was, or the search proves nothing.
    assert all(
        CANARY.encode() in request.partition(b"\r\n\r\n")[0] for request in requests
    )


ECHOES = {
    "as it is": CANARY,
    **{
        f"{encode.__name__}, after {len(before)}": encode(
            f"{before}{CANARY}!".encode()
        ).decode()
        for encode in (base64.b64encode, base64.urlsafe_b64encode)
        for before in ("", "a", "ab")
    },
}
ECHOING_REPLIES = [
    ("401 Unauthorized", '{{"error": "bad token {}"}}'),
    ("403 Forbidden", "<html><title>{}</title></html>"),
    ("404 Not Found", '{{"error": "{}"}}'),
    ("422 Bad", '{{"arguments": {{"a": ["{}"]}}}}'),
    ("500 Bad", '{{"message": "at f({})"}}'),
    ("200 OK", '{{"error": "refused: {}", "body": "[]"}}'),
    ("200 OK", '{{"error": null, "body": "[{{\\"cut\\": \\"{}'),
    ("200 OK", "<html>{}</html>"),
    ("200 OK", '["{}", 1'),
]


def shown_by_debuggers(error: BaseException | None) -> Iterator[str]:
    """Yield the variables of an error's frames, and what these hold, as `%debug` and a variable inspector show them."""
    while error is not None:
        yield repr(error) + repr(vars(error))
        for frame, _ in traceback.walk_tb(error.__traceback__):
            if frame.f_globals.get("__name__") == __name__:
                continue
            for name, value in frame.f_locals.items():
                inner = (
                    value
                    if isinstance(value, tuple)
                    else getattr(value, "__dict__", None)
                )
                yield f"{frame.f_code.co_qualname} {name} = {value!r} {inner!r}"
        error = error.__cause__ or error.__context__


@pytest.mark.slow
@pytest.mark.fault(130)
def test_an_echoed_token_is_in_no_frame_and_no_crash_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever reply repeats it, as it is or in base64: `%debug`, Verbose and IPython's crash report don't show it."""
    monkeypatch.setattr("builtins.input", lambda _: "")
    app: Any = SimpleNamespace(name="test", ipython_dir=str(tmp_path), config={})
    echoed = ""

    def act(connection: Connection) -> None:
        connection.request()
        status, template = reply
        body = template.format(echoed).encode()
        connection.send(
            head(len(body), status, f"X-Request-Id: {echoed}\r\nConnection: close\r\n")
            + body
        )

    leaking_texts: dict[str, list[str]] = {}
    with faulty() as server:
        funcs = jf.connect(server.url, token=CANARY)
        assert funcs.names == ["F"]
        function = funcs.f.with_options(retries=0, force=True)
        server.otherwise = act
        for form, echoed in ECHOES.items():
            for at, reply in enumerate(
                ECHOING_REPLIES if form == "as it is" else ECHOING_REPLIES[-3:]
            ):
                for what, run in {
                    "run": lambda: function(a="5"),
                    "list": funcs.refresh,
                }.items():
                    funcs.close()
                    try:
                        run()
                    except jf.FuncsError as error:
                        texts = [*shown_by_debuggers(error)]
                        # It takes a while.
                        if form == "as it is" and (what, at) in {
                            ("run", 4),
                            ("list", 8),
                        }:
                            CrashHandler(app)(type(error), error, error.__traceback__)
                            texts += [
                                (tmp_path / "Crash_report_test.txt").read_text(),
                                *capsys.readouterr(),
                            ]
                        leaking = [
                            text for text in texts if leaks(text) or echoed in text
                        ]
                        if leaking:
                            leaking_texts[f"{what}, {reply[0]}, {form}"] = leaking
                    else:
                        assert reply == ECHOING_REPLIES[6] or what == "list"
        assert len(server.requests) > 2 * len(ECHOES)
    assert leaking_texts == {}


@pytest.mark.fault(130)
def test_an_interrupt_while_a_reply_is_read_shows_nothing_of_it() -> None:
    """The frames that hold the reply are cleared, whatever ends them."""

    def interrupted(body: bytes) -> None:
        text = body.decode()
        raise KeyboardInterrupt(len(text))

    with pytest.raises(KeyboardInterrupt) as caught:
        Reply(CANARY.encode(), Secret(CANARY), lines=False).read(interrupted)
    frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)][1:]
    assert len(frames) == 2
    assert not leaks(repr([frame.f_locals for frame in frames]))


@pytest.mark.fault(129)
def test_a_token_typed_as_an_argument_is_masked_in_what_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the attributes of results, the history, the note of a folder and presets; it is sent as it is."""
    monkeypatch.setenv("FUNCS_PRESETS", str(tmp_path / "presets.toml"))
    listing = [
        {
            "name": "F",
            "params": [
                {"name": "a"},
                {"name": "b"},
                {"name": "c", "description": "List of brands"},
            ],
        }
    ]

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("ListUserFunctions"):
            return httpx.Response(200, json=listing)
        sent.append(args := json.loads(request.content)["Args"])
        kept["folders while runs go on"] += notes()
        return httpx.Response(400 if args.get("b") == "bad" else 200, json=[{"n": 1}])

    def notes() -> list[str]:
        return [note.read_text() for note in tmp_path.glob("*/_sweep.json")]

    sent: list[dict[str, Any]] = []
    kept: dict[str, Any] = {"folders while runs go on": []}
    funcs = jf.connect(
        "https://service.example", token=CANARY, transport=httpx.MockTransport(answer)
    )
    function = funcs.f.with_options(progress=False)
    typed = f"before {CANARY} after"
    kept["a result"] = function(a=typed, b="x", c=["x", CANARY]).attrs
    with pytest.warns(UserWarning, match="1 of 2 runs of F failed"):
        kept["a sweep"] = function.sweep(a=typed, b=["bad", "good"]).attrs
    with pytest.warns(UserWarning, match="1 of 2 runs of F failed"):
        function.with_options(to=tmp_path / "results").sweep(a=typed, b=["bad", "good"])
    with pytest.warns(
        UserWarning, match="A result of F isn't stored: it holds a token"
    ):
        function.with_options(to=tmp_path / "others").sweep(a=[typed, "x"])
    kept["folders"] = notes()
    kept["the history"] = [
        (run.args, run.to_json(), run.arguments) for run in funcs.history
    ]
    funcs.presets.save("F", "mine", {"a": typed, "b": Each((CANARY, [CANARY]))})
    kept["presets"] = (tmp_path / "presets.toml").read_text()
    assert {
        name: leaked for name, what in kept.items() if (leaked := leaks(str(what)))
    } == {}
    assert all("before **** after" in str(what) for what in kept.values())
    assert {args["a"] for args in sent} == {typed, "x"}
    with pytest.raises(jf.ArgumentError, match="The arguments of run 1 were not saved"):
        funcs.history.again(1)
