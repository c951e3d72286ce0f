"""A result in the panel: what the page shows of it, and what it asks about it."""

from __future__ import annotations

import base64
import io
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_funcs.client import notebook
from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.core.text import quote, size_text
from jupyter_funcs.frames import export
from jupyter_funcs.panel.chart_view import Chart
from jupyter_funcs.panel.json_view import JsonTree
from jupyter_funcs.panel.requests import ChartWish, FileFormat, Finite, Name, TableQuery, asked
from jupyter_funcs.panel.table import TableView

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.sweeps.job import SweepJob

_FORMATS = ("csv", "xlsx", "parquet", "json")
_MOST_DOWNLOADED = 25 * 2**20  # bytes
_LONGEST_NAME = 200  # bytes
# Windows opens a device by these names, whatever their ending, and a colon names a drive or a stream of a file.
_DEVICES = {"CON", "PRN", "AUX", "NUL", *(f"{port}{number}" for port in ("COM", "LPT") for number in range(10))}


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """One finished run, as the panel shows it."""

    function: RemoteCall
    args: Args
    frame: pd.DataFrame
    reply: bytes | None
    started: dt.datetime
    variable: str
    summary: str
    partial: dict[str, Any] | None = None
    warnings: Sequence[str] = ()
    sweep: SweepJob | None = None


class ResultView:
    """One result: its methods may be called from any thread, and give plain JSON."""

    def __init__(self, number: int, outcome: Outcome, recipe: str) -> None:
        self.number, self.outcome = number, outcome
        self.variable = outcome.variable  # as it was named last
        self.picture: Mapping[str, Any] | None = None  # the chart as it was drawn last
        self._recipe = recipe
        self.table = TableView(outcome.frame, outcome.function.function.description)
        self._first = self.table.view()  # each change of the panel writes it again

    @property
    def held_as(self) -> str:
        """The variable that holds the frame; empty if a person has deleted it or assigned something else to it."""
        return self.variable if notebook.variables().get(self.variable) is self.outcome.frame else ""

    def view(self, note: str, *, trusted: bool) -> dict[str, Any]:
        """Return the `ResultView` of the protocol."""
        variable = self.held_as
        if self.variable and not variable:
            note = f"{self.variable} no longer holds this result."
        no_reply = "This result has no JSON reply." if self.outcome.function.session.kind == "python" else ""
        return {
            "number": self.number,
            "function": self.outcome.function.name,
            "summary": self.outcome.summary,
            "variable": variable,
            "note": note,
            "table": self._first,
            "chart": {"possible": True, "why": ""},
            "json": {"possible": self.outcome.reply is not None, "why": no_reply},
            "save": dict.fromkeys(_FORMATS, trusted) | {"download": True},
        }

    @asked(of="result")
    def table_code(self, query: TableQuery) -> dict[str, Any]:
        return {"code": self.table.code(query, self.held_as or self._recipe)}

    @asked(of="result")
    def chart(self, query: TableQuery, wish: ChartWish, low: Finite | None, high: Finite | None) -> dict[str, Any]:
        variable = self.held_as or self._recipe
        zoom = None if low is None or high is None else (low, high)
        source = self.table.code(query, variable) if query.filters or query.find else variable
        rows = self.table.positions(query)
        self.picture = self._chart.view(wish, rows=rows, zoom=zoom, source=source)
        return dict(self.picture)

    @cached_property
    def _chart(self) -> Chart:
        return Chart(self.outcome.frame, self.outcome.function.function.description)

    @cached_property
    def tree(self) -> JsonTree:
        """The reply, as far as it was kept."""
        if self.outcome.reply is None:
            raise ArgumentError("The reply of this run was not kept.", "The table shows what came of it.")
        return JsonTree(self.outcome.reply)

    @asked(of="result", refused="Files can't be saved")
    def save(
        self, ending: FileFormat, name: Name, filtered: TableQuery | None, *, replace: bool, download: bool
    ) -> dict[str, Any]:
        """Save a file beside the notebook, unless there is one of that name already, or hand it to the browser."""
        name = _file_name(name, ending)
        told = {"said": "", "exists": False, "name": name, "data": ""}
        if not (download or replace) and os.path.lexists(name):
            return told | {"said": f"{name} exists already.", "exists": True}
        frame = self.outcome.frame if filtered is None else self.table.frame(filtered)
        if download:
            return told | {"data": _downloaded(frame, ending)}
        path = Path(name).absolute()
        if path.is_symlink():  # it may lead out of the folder
            raise ArgumentError(f"{quote(name)} is a link to another file.", "Choose another name.")
        export.save(frame, path, ending)
        return told | {"said": f"Saved {name} · {size_text(path.stat().st_size)}"}


def _file_name(text: str, ending: str) -> str:
    """Return the name of a file of this kind in the notebook's own folder."""
    name = text.strip()
    is_plain = name.isprintable() and not set(name) & set('/\\:*?"<>|') and not name.startswith(".")
    what = "is too long" if len(name.encode("utf-8", "replace")) > _LONGEST_NAME else ""
    if not name or not is_plain or name.partition(".")[0].rstrip().upper() in _DEVICES:
        what = "is not a file name without a folder"
    if what:
        raise ArgumentError(f"{quote(name)} {what}.", f"Write a name such as spend.{ending}.")
    return name if name.lower().endswith(f".{ending}") else f"{name}.{ending}"


def _downloaded(frame: pd.DataFrame, ending: FileFormat) -> str:
    buffer = io.BytesIO()
    export.save(frame, buffer, ending)
    if buffer.tell() > _MOST_DOWNLOADED:
        what = f"The file has {size_text(buffer.tell())}; a page takes {size_text(_MOST_DOWNLOADED)} at most."
        raise ArgumentError(what, "Save it beside the notebook instead.")
    return base64.b64encode(buffer.getvalue()).decode()
