"""The history of a panel: its runs as rows, the results that it holds, and two runs compared."""

from __future__ import annotations

import datetime as dt
import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from jupyter_funcs.catalog.fields import Kind
from jupyter_funcs.catalog.values import Each
from jupyter_funcs.client.snippets import connection
from jupyter_funcs.connection.secrets import redacted_all
from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.core.text import clip, inert, listed
from jupyter_funcs.frames.diff import CHANGE, diff
from jupyter_funcs.panel.chart_view import Chart
from jupyter_funcs.panel.requests import TableQuery
from jupyter_funcs.panel.table import TableView
from jupyter_funcs.sweeps.messages import value_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.records.history import History
    from jupyter_funcs.records.run import Run

    Labels = Callable[[str], Mapping[str, str]]

_MOST_ROWS = 200  # of the history
_MOST_ARGS = 4
_LONGEST_VALUE = 60
_MOST_HELD, _MOST_BYTES = 20, 256_000_000
_MOST_COMPARED = 2_000_000  # rows of a result
_PAGE, _MOST_COLUMNS = 50, 24
_MOST_TOTALS = 30


class Held:
    """
    The last results of a panel, so that they can be compared and opened.

    A result that is held here is also what `Run.in_memory` returns.
    """

    def __init__(self, most: int = _MOST_HELD, most_bytes: int = _MOST_BYTES) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._frames: dict[int, tuple[pd.DataFrame, int]] = {}  # by identity, the newest last
        self._lock = threading.Lock()

    def keep(self, frame: pd.DataFrame) -> None:
        """Hold a result, and let go of the oldest ones that are too many or too large."""
        with self._lock:
            size = self._frames.pop(id(frame), (frame, 0))[1] or _size(frame)
            self._frames[id(frame)] = (frame, size)
            while self._frames and (len(self._frames) > self._most or self.size > self._most_bytes):
                del self._frames[next(iter(self._frames))]

    @property
    def size(self) -> int:
        """The memory of all results that are held, in bytes."""
        return sum(size for _, size in list(self._frames.values()))

    def __len__(self) -> int:
        return len(self._frames)


def _size(frame: pd.DataFrame) -> int:
    """Return about how many bytes a frame takes; of objects by a sample, since there may be millions of them."""
    total = int(frame.memory_usage().sum())
    for at, dtype in enumerate(frame.dtypes):
        if dtype.kind == "O" and len(frame):
            sample = frame.iloc[:: -(-len(frame) // 1000), at]
            total += int(np.mean([sys.getsizeof(value) for value in sample]) * len(frame))
    return total


class HistoryView:
    """What a panel shows of a history. Its methods may be called from any thread, and give plain JSON."""

    def __init__(self, history: History, held: Held, labels: Labels = lambda _: {}) -> None:
        self._history, self._held, self._labels = history, held, labels
        self._last: tuple[tuple[int, int], dict[str, Any], TableView | None] | None = None

    def rows(self) -> list[dict[str, Any]]:
        """Return the runs, the newest first."""
        runs = self._history.runs
        return [self._row(run, runs) for run in runs[: -_MOST_ROWS - 1 : -1]]

    def _row(self, run: Run, runs: list[Run]) -> dict[str, Any]:
        began = run.started.astimezone()
        today = began.date() == dt.datetime.now().astimezone().date()
        labels = self._labels(run.function)
        same = [each for each in runs if each.function == run.function]
        at = same.index(run)
        near = same[at - 1 : at] + same[at + 1 : at + 2]
        names = [name for name, value in run.args.items() if value is not None]
        differs = [name for name in names if any(each.args.get(name) != run.args[name] for each in near)]
        return {
            "number": run.number,
            "label": run.label,
            "time": f"{began:%H:%M}" if today else f"{began:%Y-%m-%d %H:%M}",
            "function": inert(run.function),
            "differs": [
                {"name": inert(labels.get(name, name)), "value": _text(run.args[name])}
                for name in (differs if near else names)[:_MOST_ARGS]
            ],
            "rows": run.rows,
            "seconds": round(run.elapsed, 2) if run.status != "running" else None,
            "variable": run.variable,
            "status": run.status,
            "error": clip(inert(run.error), 300),
            "held": run.in_memory is not None,
        }

    def compare(self, before: int, after: int, first: int = 0, *, again: bool = False) -> dict[str, Any]:
        """
        Compare the results of two runs.

        Parameters
        ----------
        before, after
            The numbers of the runs.
        first
            The first of the differing rows to return.
        again
            Whether to run again what is no longer in memory; else the reply says that it is gone.

        Raises
        ------
        ArgumentError
            There is no such run, or no such row.
        FuncsError
            A run that was to be run again has failed.
        """
        if self._last is None or self._last[0] != (before, after) or (again and self._last[1]["gone"]):
            self._last = ((before, after), *self._compared(before, after, again=again))
        _, about, table = self._last
        if table is None:
            return about
        columns = list(range(min(table.count, _MOST_COLUMNS)))
        page = table.page(TableQuery(), first, first + _PAGE, columns)
        return about | {"rows": page["rows"], "total": page["total"]}

    def _compared(self, *numbers: int, again: bool) -> tuple[dict[str, Any], TableView | None]:
        runs = [self._history.get(number) for number in numbers]
        every = self._history.runs
        about: dict[str, Any] = {
            "before": self._row(runs[0], every),
            "after": self._row(runs[1], every),
            **self._args(*runs),
            "said": "",
            "gone": [],
            "columns": [],
            "rows": [],
            "total": 0,
            "totals": None,
            "chart": None,
            "code": _code(runs),
        }
        frames: list[Any] = [run.frame for run in runs]
        for at, run in enumerate(runs):
            if frames[at] is None and again:
                frames[at] = self._history.again(run.number)
                self._held.keep(frames[at])
        gone = [run.number for run, frame in zip(runs, frames, strict=True) if frame is None]
        if gone:
            those = listed([f"run {number}" for number in gone], "and")
            many = len(gone) > 1
            said = f"The result{'s' * many} of {those} {'are' if many else 'is'} no longer in memory."
            return about | {"said": said, "gone": gone}, None
        if trouble := _trouble(runs, frames):
            return about | {"said": trouble}, None
        charts = [Chart(frame, _about(run)) for run, frame in zip(runs, frames, strict=True)]
        about |= {"chart": _overlay(*charts), "totals": _totals(*charts)}
        try:
            changes = diff(*frames)
        except ArgumentError as error:
            return about | {"said": error.what}, None
        table = TableView(changes)
        columns = table.columns(list(range(min(table.count, _MOST_COLUMNS))))
        about["columns"] = [{"name": each["name"], "type": each["type"]} for each in columns]
        return about | {"said": _counted(changes, *frames)}, table

    def _args(self, before: Run, after: Run) -> dict[str, Any]:
        labels = {**self._labels(before.function), **self._labels(after.function)}
        names = dict.fromkeys([*before.args, *after.args])
        if before.function != after.function:
            names = dict.fromkeys(name for name in before.args if name in after.args)
        differ = [name for name in names if before.args.get(name) != after.args.get(name)]
        same = [name for name in names if name not in differ and before.args.get(name) is not None]
        shown = [{"name": inert(labels.get(name, name)), **_sides(before, after, name)} for name in differ]
        kept = [f"{inert(labels.get(name, name))} {_text(before.args[name])}" for name in same]
        return {"args": shown, "same": " · ".join(kept)}


def values_of(run: Run, function: RemoteCall) -> dict[str, Any]:
    """Return the values with which a form runs a run again: of a sweep, several for each swept parameter."""
    again = f"%funcs again {run.label} runs it."
    if not run.is_whole:
        raise ArgumentError(f"The arguments of run {run.label} were not saved.", "Enter them again.")
    if not run.is_sweep:
        return dict(run.args)
    lists = {field.name for field in function.fields if field.kind is Kind.LIST}
    values: dict[str, Any] = {}
    runs = 1
    for name, value in run.args.items():
        swept = isinstance(value, list) and (name not in lists or any(isinstance(item, list) for item in value))
        values[name] = Each(tuple(value)) if swept else value
        runs *= len(value) if swept else 1
    if run.pairs or runs != run.runs:
        raise ArgumentError(f"Run {run.label} took its values in pairs or from a table; a form cannot.", again)
    return values


def _sides(before: Run, after: Run, name: str) -> dict[str, str]:
    return {"before": _text(before.args.get(name)), "after": _text(after.args.get(name))}


def _text(value: Any) -> str:
    if isinstance(value, list) and len(value) > 3:
        return f"{len(value):,} values"
    return clip(redacted_all(inert(value_text(value))), _LONGEST_VALUE)


def _about(run: Run) -> str:
    return run.listed.description if run.listed is not None else ""


def _trouble(runs: list[Run], frames: list[Any]) -> str:
    if frames[0] is frames[1]:
        return "Both runs have the same result."
    for run, frame in zip(runs, frames, strict=True):
        if not isinstance(frame, pd.DataFrame):
            return f"Run {run.number} has a data set in a folder: read what you need from it, and use jf.diff."
        if len(frame) > _MOST_COMPARED:
            return f"Run {run.number} has {len(frame):,} rows, too many to compare here. Use jf.diff in a cell."
    return ""


def _counted(changes: pd.DataFrame, before: pd.DataFrame, after: pd.DataFrame) -> str:
    counts = changes[CHANGE].value_counts()
    found = [f"{counts[kind]:,} {kind}" for kind in ("added", "removed", "changed") if kind in counts]
    of = f"of {len(before):,} rows before and {len(after):,} after"
    return f"{listed(found, 'and')}, {of}." if found else f"No difference, {of}."


def _code(runs: list[Run]) -> str:
    names = [run.variable or f"{connection(run.where)}.history.get({run.number}).frame" for run in runs]
    return f"import jupyter_funcs as jf\n\njf.diff({', '.join(names)})"


def _totals(before: Chart, after: Chart) -> dict[str, Any] | None:
    """Return the sums or means of the largest categories in both results; nothing where there are none."""
    one = before.view({"kind": "bar"})
    chosen = {choice["name"]: choice["value"] for choice in one["choices"]}
    other = after.view({"kind": "bar", **chosen})
    if one["kind"] != "bar" or other["kind"] != "bar" or one["title"] != other["title"]:
        return None
    sides = [dict(zip(view["x"]["labels"], view["series"][0]["values"], strict=True)) for view in (one, other)]
    names = list(dict.fromkeys([*sides[0], *sides[1]]))[:_MOST_TOTALS]
    rows = [[name, sides[0].get(name), sides[1].get(name)] for name in names]
    return {"title": one["title"], "unit": one["unit"], "format": one["format"], "adds": one["zero"], "rows": rows}


def _overlay(before: Chart, after: Chart) -> dict[str, Any] | None:
    """Return both results as two lines of one chart, at the coarser of their points; nothing without a common axis."""
    wish: dict[str, Any] = {"colour": "", "kind": "line"}
    one = before.view(wish)
    for _ in range(2):
        points = next((each["value"] for each in one["choices"] if each["name"] == "points"), None)
        measure = next((each["value"] for each in one["choices"] if each["name"] == "measure"), None)
        other = after.view(wish | {"points": points, "measure": measure})
        if one["step"] == other["step"]:
            break
        one = before.view(wish | {"points": other["step"], "measure": measure})
    if points is None or not one["series"] or not other["series"] or one["title"] != other["title"]:
        return None
    if one["step"] != other["step"]:
        return None
    is_time = one["x"]["type"] == "time"
    sides = [
        dict(zip(view["x"]["values" if is_time else "labels"], view["series"][0]["values"], strict=True))
        for view in (one, other)
    ]
    places = sorted({*sides[0], *sides[1]}) if is_time else list(dict.fromkeys([*sides[0], *sides[1]]))
    x = {"type": one["x"]["type"], "values": places, "labels": []}
    if not is_time:
        x |= {"values": list(range(len(places))), "labels": places}
    lines = [
        {"name": name, "colour": colour, "values": [side.get(at) for at in places]}
        for name, colour, side in zip(("Before", "After"), (-2, 0), sides, strict=True)
    ]
    return one | {"x": x, "series": lines, "adds": False, "choices": [], "code": "", "hidden": 0}
