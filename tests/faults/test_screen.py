"""Characters that a terminal or a browser acts on or hides are escapes wherever a notebook or a shell shows them."""

from __future__ import annotations

import json
import os
import tty
import unicodedata
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.lib.pretty import pretty

import jupyter_funcs as jf
from jupyter_funcs.cli.main import main
from tests.faults.server import Connection, faulty
from tests.shells import interactive_shell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_funcs.api import RemoteFunction

# A screen is cleared, a title set, text turned around and made invisible, in one way per kind of character.
INVISIBLE = "\u034f\u115f\u17b4\u180b\u2065\u3164\ufe00\ufe0f\uffa0\U000e0041\U000e0100\U000e0fff"
ACTIVE = "\x1b[2J\x1b]0;owned\x07\x9b31m\x7f\u202e\u2066\u200b\u00ad\ufeff\u2028"
HOSTILE = ACTIVE + INVISIBLE
LISTING = json.dumps(
    [
        {
            "name": f"F{HOSTILE}",
            "description": HOSTILE,
            "params": [{"name": f"a{HOSTILE}", "defaultValue": HOSTILE}],
        }
    ]
).encode()
ROWS = [{f"n{HOSTILE}": f"{HOSTILE}{at}", "value": at} for at in range(3)]


def is_inert(text: str) -> bool:
    """Return whether text has no character that a terminal or a browser acts on or hides, but for line ends."""
    kinds = {unicodedata.category(char) for char in text if char not in "\n\t"}
    return not kinds & {"Cc", "Cf", "Cs", "Zl", "Zp"} and not set(text) & set(INVISIBLE)


def service(connection: Connection) -> None:
    while True:
        head = connection.request()
        rows = ROWS if b"fails" not in connection.body else None
        body = json.dumps(
            {
                "error": None if rows else f"It fails: {HOSTILE}",
                "body": json.dumps(rows),
            }
        ).encode()
        body = LISTING if b"ListUserFunctions" in head else body
        connection.send(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            % len(body)
        )
        connection.send(body)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with faulty(otherwise=service) as server:
        yield server.url


@pytest.fixture(scope="module")
def function(url: str) -> Iterator[RemoteFunction]:
    """The function of a service whose every name and text is hostile."""
    session = jf.connect(url, token="a-token-of-the-tests")
    yield session[session.names[0]]
    session.close()


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    with interactive_shell() as shell:
        shell.run_line_magic("load_ext", "jupyter_funcs")
        yield shell


def shown(shell: InteractiveShell, value: Any) -> dict[str, str]:
    """Return what a notebook would show of a value, by MIME type."""
    bundle, _ = shell.display_formatter.format(value)
    return {kind: text for kind, text in bundle.items() if isinstance(text, str)}


def test_reprs_are_inert(function: RemoteFunction) -> None:
    """Those of Job, of a failed one and of a sweep, of Form and Run, of the function and its session (FAULTS 125)."""
    argument = {function.fields[0].name: HOSTILE}
    job = function.submit(**argument)
    failed = function.submit(**{function.fields[0].name: "fails"})
    assert len(job.result()) == 3
    with pytest.raises(jf.FunctionError):
        failed.result()
    sweep = function.start_sweep({function.fields[0].name: [HOSTILE, "b"]})
    sweep.result()
    session = function.session
    form = jf.Form(function)
    form[function.fields[0].name] = HOSTILE
    values = [
        job,
        failed,
        sweep,
        form,
        *session.history,
        session.history,
        function,
        session,
    ]
    for value in values:
        texts = [repr(value), pretty(value)]
        texts += [value._repr_html_()] if hasattr(value, "_repr_html_") else []
        for text in texts:
            assert is_inert(text), (type(value), ascii(text))
    assert repr(job).startswith(r"<Job F\x1b[2J\x1b]0;owned\x07\x9b31m\x7f\u202e")


def test_results_are_shown_inert_and_stay_as_they_are(
    shell: InteractiveShell, function: RemoteFunction
) -> None:
    """A result, its parts, lists of it and a diff, plain and as HTML; the data are untouched (FAULTS 125)."""
    frame = function()
    name = f"n{HOSTILE}"
    before = frame.to_csv(), repr(frame), frame._repr_html_()
    assert not any(map(is_inert, before))
    other = frame.assign(value=[0, 5, 7])
    parts = [
        frame,
        frame.head(1),
        frame[[name]],
        frame[name],
        frame.set_index(name),
        frame.T,
        frame.iloc[0],
    ]
    for value in [*parts, jf.diff(frame, other), [frame, frame[name]], {"a": frame}]:
        for kind, text in shown(shell, value).items():
            assert is_inert(text), (kind, ascii(text))
            assert "x1b" in text or "..." in text
    assert shown(shell, frame).keys() == {"text/plain", "text/html"}
    assert (frame.to_csv(), repr(frame), frame._repr_html_()) == before
    assert frame.to_dict("records") == ROWS


def test_other_frames_are_shown_as_before(shell: InteractiveShell) -> None:
    """A frame that isn't a result, alone or in a list, looks the same with the extension, without it and after it."""
    frame = pd.DataFrame({"a": [HOSTILE, "two\nlines"], "b": [1, 2]})
    values = [
        frame,
        frame["a"],
        [frame, frame],
        (frame["a"],),
        frame.iloc[:0],
        pd.Series(dtype=object),
    ]
    plain = InteractiveShell()
    expected = [shown(plain, value) for value in values]
    assert [shown(shell, value) for value in values] == expected
    shell.run_line_magic("unload_ext", "jupyter_funcs")
    assert [shown(shell, value) for value in values] == expected
    frame.attrs["funcs"] = {}
    assert not is_inert(shown(shell, frame)["text/plain"])


def test_another_extensions_printers_go_on_showing_other_frames() -> None:
    """Printers registered before show all frames but results, as HTML those too, and are restored (FAULTS 125)."""
    frame = pd.DataFrame({"a": [1]})
    result = pd.DataFrame({"a": [HOSTILE]})
    result.attrs["funcs"] = {}
    shell = InteractiveShell()
    formatters = shell.display_formatter.formatters
    formatters["text/plain"].for_type(
        pd.DataFrame, lambda _frame, printer, _cycle: printer.text(f"mine {HOSTILE}")
    )
    formatters["text/html"].for_type(
        pd.DataFrame, lambda _frame: f"<b>mine {HOSTILE}</b>"
    )
    before = shown(shell, frame)
    jf.load_ipython_extension(shell)
    jf.load_ipython_extension(shell)
    assert shown(shell, frame) == before
    ours = shown(shell, result)
    assert ours["text/html"].startswith("<b>mine \\x1b")
    assert "mine" not in ours["text/plain"]
    assert all(map(is_inert, ours.values()))
    jf.unload_ipython_extension(shell)
    assert shown(shell, frame) == shown(shell, result) == before


def test_a_printer_around_ours_outlives_a_reload() -> None:
    """A printer that another extension put around ours stays, and the two don't call each other forever."""
    result = pd.DataFrame({"a": [HOSTILE]})
    result.attrs["funcs"] = {}
    shell = InteractiveShell()
    jf.load_ipython_extension(shell)
    formatter = shell.display_formatter.formatters["text/html"]
    ours = formatter.for_type(pd.DataFrame)
    formatter.for_type(pd.DataFrame, lambda frame: f"<i>{ours(frame)}</i>")
    for _ in range(3):
        jf.load_ipython_extension(shell)
        outputs = shown(shell, result)
        assert outputs["text/html"].startswith("<i>")
        assert all(map(is_inert, outputs.values()))


@pytest.mark.parametrize("form", ["csv", "json", "table"])
def test_a_terminal_shows_escapes_and_a_pipe_has_the_data(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    url: str,
    form: str,
) -> None:
    """`jupyter funcs call` writes nothing active to a terminal; in a pipe CSV and JSON are exact (FAULTS 125)."""
    monkeypatch.setenv("FUNCS_BASE_URL", url)
    monkeypatch.setenv("FUNCS_TOKEN", "a-token-of-the-tests")
    command = ["call", f"F{HOSTILE}", "--format", form]
    assert main(command) == 0
    piped = capsys.readouterr().out
    controller, terminal = os.openpty()
    tty.setraw(terminal)
    with (
        os.fdopen(terminal, "w", encoding="utf-8") as screen,
        os.fdopen(controller, "rb") as seen,
    ):
        monkeypatch.setattr("sys.stdout", screen)
        assert main(command) == 0
        screen.flush()
        text = os.read(seen.fileno(), 65536).decode()
    assert is_inert(text), ascii(text)
    assert "1b[2J" in text
    if form == "table":
        assert is_inert(piped)
    else:
        assert ROWS[0][f"n{HOSTILE}"] in (
            piped if form == "csv" else json.loads(piped)[0].values()
        )
    if form == "json":
        assert json.loads(text) == ROWS


def test_a_dry_run_prints_escapes(
    shell: InteractiveShell,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    url: str,
) -> None:
    """The request as printed is JSON of the same names and values (FAULTS 125)."""
    monkeypatch.setenv("FUNCS_BASE_URL", url)
    monkeypatch.setenv("FUNCS_TOKEN", "a-token-of-the-tests")
    shell.run_line_magic("funcs", f"call 'F{HOSTILE}' --dry-run")
    printed = capsys.readouterr().out
    assert is_inert(printed)
    assert f"F{HOSTILE}" in json.loads(printed).values()
