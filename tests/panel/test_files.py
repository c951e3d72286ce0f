"""Replies of a real server that are one text or a file: the panel shows and saves them as they are."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import jupyter_funcs as jf
from jupyter_funcs.cli.main import main
from jupyter_funcs.panel.panel import Panel
from tests.panel.page import Page
from tests.servers import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.requests import Request

    from jupyter_funcs.api import Session

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
NOTE = "[draft] <b>Sales</b>\n\nUp by 4 %.\n"
# For each operation: its answer, the name of the file and how the panel shows it.
FILES: dict[str, tuple[bytes, str, str, str]] = {
    "get_chart": (PNG, "image/png", "get_chart.png", "image"),
    "get_drawing": (SVG, "image/svg+xml", "get_drawing.svg", "image"),
    "get_call": (b"RIFF", "audio/mpeg", "get_call.mp3", "audio"),
    "get_note": (NOTE.encode(), "text/plain; charset=utf-8", "get_note.txt", "text"),
    "get_report": (b"%PDF-1.7", "application/pdf", "get_report.pdf", ""),
    "get_bytes": (b"\0\1", "application/octet-stream", "get_bytes.bin", ""),
}
TABLE = {"get_rows": (b'[{"n": 1}]', "application/json", "", "")}


def _operation(name: str, kind: str) -> dict[str, object]:
    responses = {"200": {"description": "", "content": {kind.partition(";")[0]: {}}}}
    return {"get": {"operationId": name, "responses": responses}}


DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Files", "version": "1"},
    "paths": {
        f"/{name}": _operation(name, kind)
        for name, (_, kind, *_) in {**FILES, **TABLE}.items()
    },
}


async def answer(request: Request) -> Response:
    name = request.path_params["name"]
    if name == "openapi.json":
        return JSONResponse(DOCUMENT)
    content, kind, *_ = {**FILES, **TABLE}[name]
    return Response(content, media_type=kind)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving(Starlette(routes=[Route("/{name}", answer)])) as address:
        yield f"{address}/openapi.json"


@pytest.fixture(scope="module")
def session(address: str) -> Session:
    return jf.connect(address)


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_shown_and_saved_as_itself(
    name: str, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a picture, in a player, as text, or by its type; saved under the function's name with the file's suffix."""
    monkeypatch.chdir(tmp_path)
    content, kind, file_name, shown = FILES[name]
    panel = Panel(session, session[name], trusted=True)
    page = Page(panel)
    run = page.run()
    result = page.state("_run")["result"]
    about = result["file"]["about"]
    assert about.startswith(kind.partition(";")[0])
    assert result["file"] == {
        "name": file_name,
        "about": about,
        "kind": about.partition(",")[0],
        "shown": shown,
    }
    assert result["summary"].startswith(about)
    assert result["noJson"] == "The reply is a file, not JSON."
    reply = page.ask("file", run=run)["file"]
    assert (reply.encode() if shown == "text" else base64.b64decode(reply)) == content
    wish = {
        "run": run,
        "format": "file",
        "name": file_name,
        "replace": False,
        "filtered": None,
    }
    assert base64.b64decode(page.ask("save", **wish, download=True)["data"]) == content
    assert page.ask("save", **wish, download=False)["said"].startswith(
        f"Saved {file_name} · {kind.partition(';')[0]} · "
    )
    assert (tmp_path / file_name).read_bytes() == content
    panel.close()


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("get_chart", f'src="data:image/png;base64,{base64.b64encode(PNG).decode()}"'),
        ("get_drawing", 'src="data:image/svg+xml;base64,'),
        ("get_note", "[draft] &lt;b&gt;Sales&lt;/b&gt;\n\nUp by 4 %."),
        ("get_report", "application/pdf, 8 bytes"),
    ],
)
def test_the_saved_notebook_has_a_small_picture_or_says_what_it_is(
    name: str, part: str, session: Session
) -> None:
    """It contains no script of a drawing."""
    panel = Panel(session, session[name], trusted=True)
    Page(panel).run()
    still = panel._state.still_html()
    panel.close()
    assert part in still
    assert "<script" not in still
    assert "<table" not in still


def test_a_table_is_not_saved_as_a_file(session: Session) -> None:
    panel = Panel(session, session["get_rows"], trusted=True)
    page = Page(panel)
    wish = {
        "run": page.run(),
        "format": "file",
        "name": "rows",
        "replace": False,
        "filtered": None,
    }
    assert (
        page.ask("save", **wish, download=True)["error"][0]
        == "The result is a table, not a file."
    )
    assert page.state("_run")["result"]["file"] is None
    panel.close()


@pytest.mark.parametrize("name", FILES)
def test_the_command_line_writes_the_file(
    name: str, address: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """To the standard output, to a path with any suffix, and into a folder under the name of the function."""
    content, _, file_name, _ = FILES[name]
    call = ["call", name, "--profile", address]
    assert main(call) == 0
    assert capsysbinary.readouterr().out == content
    assert main([*call, "-o", str(tmp_path)]) == 0
    assert main([*call, "-o", str(tmp_path)]) == 0  # an earlier one is kept
    stem, _, suffix = file_name.partition(".")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        file_name: content,
        f"{stem}-2.{suffix}": content,
    }
    assert main([*call, "-o", str(tmp_path / "mine.pdf")]) == 0
    assert (tmp_path / "mine.pdf").read_bytes() == content
    assert main([*call, "-o", str(tmp_path / "mine.csv")]) == 0
    assert (tmp_path / "mine.csv").read_text().startswith("Result\n")


def test_a_table_goes_into_no_file_of_another_kind(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It isn't lost: CSV is saved beside it."""
    assert (
        main(
            ["call", "get_rows", "--profile", address, "-o", str(tmp_path / "rows.pdf")]
        )
        == 0
    )
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]
    assert "The result is a table" in capsys.readouterr().err


def test_a_terminal_shows_a_text_and_gets_a_file_for_bytes(
    address: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["call", "get_note", "--profile", address]) == 0
    assert main(["call", "get_report", "--profile", address]) == 0
    assert capsys.readouterr() == (
        NOTE,
        "The result is in get_report.pdf (application/pdf, 8 bytes).\n",
    )
    assert (tmp_path / "get_report.pdf").read_bytes() == b"%PDF-1.7"
