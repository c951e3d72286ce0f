"""Files of version 0.1.0 are read: it recorded every value as the text, or the list of texts, that it sent."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

import jupyter_funcs as jf
from jupyter_funcs.records import lock
from jupyter_funcs.records.history_file import HistoryFile
from jupyter_funcs.records.presets import Presets, fill, form_values

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jupyter_funcs.api import Session

arrived: list[dict[str, Any]] = []


def kinds(
    text: str | None = "unset",
    whole: int | None = -1,
    number: float = -1,
    flag: bool = False,
    texts: list[str] | None = None,
    numbers: list[float] | None = None,
    either: str | int = "unset",
    order: dict[str, Any] | None = None,
) -> int:
    """Note the arguments."""
    arrived.append(dict(locals()))
    return 1


WRITTEN = {
    "text": "null",
    "whole": "7",
    "number": "0.10",
    "flag": "true",
    "texts": ["b", "a", "b"],
    "numbers": ["1", "2.5"],
    "either": '"x y"',
    "order": '{"a": [1, null]}',
}
MEANT = {
    "text": "null",
    "whole": 7,
    "number": 0.1,
    "flag": True,
    "texts": ["b", "a", "b"],
    "numbers": [1.0, 2.5],
    "either": "x y",
    "order": {"a": [1, None]},
}
# A line of the history, as json.dumps wrote it.
LINE = {
    "number": 3,
    "function": "Kinds",
    "args": WRITTEN,
    "is_sweep": False,
    "runs": 1,
    "pairs": False,
    "to": None,
    "rows": 1,
    "error": "",
    "failed": 0,
    "is_whole": True,
    "in_cache": False,
    "status": "done",
    "elapsed": 0.01,
    "started": "2026-03-01T12:30:00+00:00",
}


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.setenv("FUNCS_HISTORY", str(tmp_path / "history.sqlite"))
    arrived.clear()
    session = jf.connect([kinds])
    yield session
    session.close()


def saved(session: Session, *lines: dict[str, Any]) -> None:
    """Write a kernel's lines into the history."""
    HistoryFile(session.history.path).switch(on=True)
    with closing(sqlite3.connect(session.history.path)) as connection, connection:
        connection.execute(
            "INSERT INTO kernels (key, service) VALUES ('earlier', ?)",
            (session.address,),
        )
        [(kernel,)] = connection.execute("SELECT id FROM kernels WHERE key = 'earlier'")
        rows = [
            (kernel, line["number"], line["started"], json.dumps(line))
            for line in lines
        ]
        connection.executemany(
            "INSERT INTO runs (kernel, number, started, run) VALUES (?, ?, ?, ?)", rows
        )


def test_a_run_of_an_earlier_version_is_repeated_with_its_types(
    session: Session,
) -> None:
    """Texts become the values that they stood for; a JSON field's text is JSON, and any other text is itself."""
    saved(session, LINE, {**LINE, "number": 4, "args": {"either": "7"}})
    [run, other] = session.history.earlier
    assert run.args == WRITTEN
    session.history.again(run.label)
    session.history.again(other.label)
    assert arrived[0] == MEANT
    assert arrived[1]["either"] == 7


def test_a_sweep_of_an_earlier_version_is_repeated_with_its_types(
    session: Session,
) -> None:
    """With the type of every value."""
    args = {"whole": "7", "either": ['"a"', "1"], "text": ["json:5", "x"]}
    saved(session, {**LINE, "args": args, "is_sweep": True, "runs": 4})
    [run] = session.history.earlier
    session.history.again(run.label)
    assert {(call["whole"], call["either"], call["text"]) for call in arrived} == {
        (7, either, text) for either in ("a", 1) for text in ("json:5", "x")
    }


def test_a_run_of_this_version_is_repeated_as_it_was(session: Session) -> None:
    """A text that looks like JSON stays a text after it was saved."""
    session.history.save(on=True)
    values = {
        "either": '"7"',
        "text": "null",
        "whole": None,
        "order": {"a": [1, None]},
        "texts": [],
    }
    session.kinds(**values)
    line = session.history.runs[-1].to_json()
    saved(session, json.loads(json.dumps(line)))
    [run] = session.history.earlier
    session.history.again(run.label)
    assert {name: arrived[-1][name] for name in values} == values


def test_a_preset_of_an_earlier_version_is_read(
    session: Session, tmp_path: Path
) -> None:
    """A text, a list and an object of a JSON field were written as JSON."""
    path = tmp_path / "presets.toml"
    path.write_text(
        "[demo.Kinds.mine]\n"
        'text = "null"\nwhole = "7"\nnumber = "0.10"\nflag = "true"\ntexts = ["b", "a", "b"]\nnumbers = ["1", "2.5"]\n'
        """either = '"x y"'\norder = '{"a": [1, null]}'\n"""
    )
    form = session.kinds.form()
    assert fill(form, Presets("demo", path).get("Kinds", "mine")) == []
    assert (form.args, form.errors) == (MEANT, {})
    Presets("demo", path).save("Kinds", "mine", form_values(form))
    again = session.kinds.form()
    fill(again, Presets("demo", path).get("Kinds", "mine"))
    assert again.args == MEANT


def test_a_lock_of_an_earlier_version_holds(session: Session, tmp_path: Path) -> None:
    """The interface of a function hasn't changed, and the file is rewritten unchanged."""
    (tmp_path / lock.NAME).write_text(
        'version = 1\nservice = "kinds"\n\n[functions.Kinds]\n'
        'text = {kind = "text"}\nwhole = {kind = "integer"}\nnumber = {kind = "number"}\nflag = {kind = "yes/no"}\n'
        'texts = {kind = "list"}\nnumbers = {kind = "list"}\neither = {kind = "json"}\norder = {kind = "json"}\n'
    )
    locked = lock.read(tmp_path)
    assert locked is not None
    assert locked.drifted("Kinds", session.kinds.function) == ""
