"""The history of a panel: runs as rows, the results in memory, and the comparison of two runs."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from itertools import chain
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from jupyter_funcs.catalog.fields import Kind
from jupyter_funcs.catalog.values import Each, key_of
from jupyter_funcs.client.snippets import connection
from jupyter_funcs.connection.secrets import redacted_all
from jupyter_funcs.core import background
from jupyter_funcs.core.coded import literal
from jupyter_funcs.core.errors import ArgumentError, Messages
from jupyter_funcs.core.text import clip, inert, listed, some
from jupyter_funcs.frames.diff import apart, diff
from jupyter_funcs.frames.roles import flat, order_of_periods
from jupyter_funcs.panel.chart_view import Chart
from jupyter_funcs.panel.requests import (
    ChartWish,
    Json,
    KeptId,
    Number,
    RunNumber,
    TableQuery,
    answers,
)
from jupyter_funcs.panel.table import Latest, TableView
from jupyter_funcs.sweeps.job import sweep, value_text

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.records.history import RecordedClient
    from jupyter_funcs.records.run import Run

_MOST_ROWS = 200  # of the history
_MOST_ARGS = 4
_LONGEST_VALUE = 60
_LONGEST_NAME = 40  # of a run in the names of columns
_NAMELESS = {"True", "False", "null", "empty text", "empty list"}
_MOST_HELD = 20
_MOST_BYTES = 256_000_000
_MOST_COMPARED = 2_000_000  # rows of a result
_PAGE = 50
_MOST_COLUMNS = 24
_MOST_TOTALS = 30


class Held(Latest):
    """The last results of panels, kept in memory so that they can be compared and opened."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        super().__init__(most_bytes, _MOST_HELD)

    def keep(self, frame: pd.DataFrame) -> None:
        """Keep a result unless it is too large, and drop the oldest ones beyond the limits."""
        size = int(frame.memory_usage(deep=True).sum())
        if size <= self._limit:
            self.put(id(frame), frame, size)


# Shared by all panels of this kernel: a cell that runs again still has its earlier results.
HELD = Held()


@dataclass(eq=False)
class HistoryView:
    """What a panel shows of a history. Methods may be called from any thread, and return plain JSON."""

    session: RecordedClient[RemoteCall]
    held: Held = HELD
    # The last runs, and what was said of them.
    _compared: tuple[object, Json, TableView | None] = (None, {}, None)

    @answers("history", in_thread=True, reads=True)
    def rows(self, *, earlier: bool = True, kept: bool = False) -> list[Json]:
        """Return the runs of this kernel, newest first, then those that the service keeps, then saved ones."""
        history = self.session.history
        runs: list[Run] = []
        if earlier:
            runs += history.earlier
        if kept:
            runs += history.on_service
        runs += history.runs
        varying = _varying(runs)
        return [
            self._row(run, varying[run.function])
            for run in runs[: -_MOST_ROWS - 1 : -1]
        ]

    def _row(self, run: Run, varying: Iterable[str] = ()) -> Json:
        began = run.started.astimezone()
        today = began.date() == dt.datetime.now().astimezone().date()
        labels = self._labels(run.function)
        names = [name for name in varying if name in run.args]
        differs = [
            {"name": labels.get(name, inert(name)), "value": _text(run.args[name])}
            for name in names[:_MOST_ARGS]
        ]
        texts = {argument["value"] for argument in differs}
        if run.is_sweep and f"{run.runs:,} values" not in texts:
            differs.append({"name": "runs", "value": f"{run.runs:,}"})
        return {
            "number": run.label if run.kernel else run.number or run.kept_id,
            "kept": not run.number,
            "time": f"{began:%H:%M}" if today else f"{began:%Y-%m-%d %H:%M}",
            "function": inert(run.function),
            "differs": differs,
            "rows": run.rows,
            "seconds": round(run.elapsed, 2) if run.status != "running" else None,
            "variable": run.variable,
            "status": run.status,
            "error": clip(inert(run.error), 300),
            "held": run.in_memory is not None,
        }

    @answers(in_thread=True, refused="Runs can't be deleted")
    def forget(self, kept: KeptId) -> None:
        """Delete a run that the service keeps."""
        background.run(self.session.remote.keeper.forget(kept))

    def _labels(self, function: str) -> dict[str, str]:
        """Return the labels of a function's fields; empty if it is no longer listed."""
        listing = self.session.listed
        if listing is None or listing.peek(function) is None:
            return {}
        return {
            field.name: inert(field.label) for field in self.session[function].fields
        }

    @answers(in_thread=True)
    def compare(
        self,
        before: RunNumber,
        after: RunNumber,
        first: Number = 0,
        *,
        again: bool = False,
    ) -> Json:
        """Compare two runs, with a page of the rows that differ; `again` repeats runs that are no longer in memory."""
        pair, about, table = self._compared
        if pair != (before, after) or (again and about["gone"]):
            about, table = self._compare(before, after, again=again)
            self._compared = (before, after), about, table

        if not table:
            return about

        columns = list(range(len(about["columns"])))
        page = table.page(TableQuery(), first, first + _PAGE, columns)
        return about | {"rows": page["rows"], "total": page["total"]}

    def _compare(
        self, *numbers: int | str, again: bool
    ) -> tuple[Json, TableView | None]:
        """Return what the page shows of a comparison, and the table of the rows that differ."""
        runs = [*map(self.session.history.get, numbers)]
        before, after = map(self._row, runs)
        args = self._args(*runs)
        names = _names(runs, args["args"])
        about: Json = {
            "before": before,
            "after": after,
            "totals": None,
            "chart": None,
            "gone": [],
            "columns": [],
            "rows": [],
            "total": 0,
            "sides": [*(names or ("Before", "After"))],
            "neutral": bool(names),
            "code": _code(runs, names),
            **args,
        }
        without = map(_without_result, dict.fromkeys(runs))
        if reasons := [*filter(None, without)]:
            return about | {"said": " ".join(reasons)}, None

        frames = [self._frame(run, again=again) for run in runs]
        about["gone"] = [
            run.label for run, frame in zip(runs, frames, strict=True) if frame is None
        ]
        if trouble := _trouble(runs, frames, about["gone"]):
            return about | {"said": trouble}, None

        if names:
            left_out = apart(*frames)
            frames = [frame.drop(columns=left_out) for frame in frames]
            about["code"] = _code(runs, names, left_out)

        about |= _charts(frames, runs, about)
        try:
            changes = diff(*frames, names=names or ("before", "after"))
        except ArgumentError as error:
            way = "Compare runs with the same dimensions; in a cell, jf.diff takes keys=[…]: the columns to join by."
            return about | {"said": f"{error.what} {way}"}, None

        table = TableView(changes)
        columns = table.columns(list(range(min(table.column_count, _MOST_COLUMNS))))
        about["columns"] = [
            {"name": column["name"], "type": column["type"]} for column in columns
        ]
        return about | {"said": _counted(changes, frames, names)}, table

    def _frame(self, run: Run, *, again: bool) -> Any:
        """Return the result of a run; if asked to, repeat a run that is no longer in memory."""
        if run.frame is not None or not again:
            return run.frame

        # Without a progress bar or a question: the user asked for all its runs.
        function = self.session.history.function(run).with_options(
            progress=False, to=None, most_runs=max(run.runs, 1)
        )
        if function.function.changes_data:
            raise ArgumentError(
                f"{function.name} changes data, so it isn't run again to compare.",
                "Run it yourself.",
            )

        if run.is_sweep:
            frame = sweep(function, None, run.args)
        else:
            frame = function(**run.args)

        self.held.keep(frame)
        return frame

    def _args(self, before: Run, after: Run) -> Json:
        labels = self._labels(before.function) | self._labels(after.function)
        sides = before.args, after.args
        is_shared = any if before.function == after.function else all
        differ = []
        same = []
        for name in before.args | after.args:
            if not is_shared(name in args for args in sides):
                continue
            label = labels.get(name, inert(name))
            if len({_key(args, name) for args in sides}) == 1:
                same.append(f"{label} {_text(before.args[name])}")
                continue
            old, new = (_text(args[name]) if name in args else "" for args in sides)
            if old == new:  # 5 and "5"
                old, new = (_text(args.get(name), quotes=True) for args in sides)
            differ.append({"name": label, "before": old, "after": new})

        return {"args": differ, "same": " · ".join(same)}


def _varying(runs: list[Run]) -> Messages:
    """Return the arguments that differ between the runs of each function; all of them if it ran once."""
    by_function: dict[str, list[Args]] = {}
    for run in runs:
        by_function.setdefault(run.function, []).append(run.args)
    varying = {}
    for function, sent in by_function.items():
        names = dict.fromkeys(chain(*sent))
        varying[function] = [
            name
            for name in names
            if len(sent) == 1 or len({_key(args, name) for args in sent}) > 1
        ]

    return varying


def _without_result(run: Run) -> str:
    if run.status == "done":
        return ""
    return f"Run {run.label} has no result: {run.status}."


def _gone_text(labels: list[str]) -> str:
    runs = listed([f"run {label}" for label in labels], "and")
    return f"No longer in memory: the result of {runs}."


def frame_of_run(run: Run) -> pd.DataFrame:
    """Return the result of a run, or raise an error that says why there is none."""
    frame = run.frame
    if not isinstance(frame, pd.DataFrame):
        raise ArgumentError(
            _without_result(run) or _gone_text([run.label]), "Run it again."
        )

    return frame


def values_of(run: Run, function: RemoteCall) -> Args:
    """Return the values of a form that repeats a run: several for each swept parameter."""
    if not run.is_whole:
        raise ArgumentError(
            f"The arguments of run {run.label} were not saved.", "Enter them again."
        )

    swept = {}
    if run.is_sweep:
        for name in _swept(run.args, function):
            swept[name] = Each(tuple(run.args[name]))

    if run.pairs or prod(map(len, swept.values())) != run.runs:
        raise ArgumentError(
            f"Run {run.label} took its values in pairs or from a table; a form cannot.",
            f"%funcs again {run.label} runs it.",
        )

    return run.args | swept


def _swept(args: Args, function: RemoteCall) -> Iterator[str]:
    """Yield the arguments of a sweep that have several values."""
    lists = {field.name for field in function.fields if field.kind is Kind.LIST}
    for name, value in args.items():
        if isinstance(value, list) and (name not in lists or list in map(type, value)):
            yield name


def _key(args: Args, name: str) -> Hashable:
    """Return what tells the values of an argument apart; ``False`` if it wasn't sent."""
    return name in args and key_of(args[name])


def _text(value: Any, *, quotes: bool = False) -> str:
    if isinstance(value, str) and (quotes or value != value.strip()):
        value = f"'{value}'"
    if isinstance(value, list) and len(value) > 3:
        return f"{len(value):,} values"
    return clip(redacted_all(inert(value_text(value))), _LONGEST_VALUE)


def _trouble(runs: list[Run], frames: list[Any], gone: list[str]) -> str:
    if gone:
        return _gone_text(gone)
    if frames[0] is frames[1]:
        return "Both runs have the same result."
    for run, frame in zip(runs, frames, strict=True):
        if not isinstance(frame, pd.DataFrame):
            return f"Run {run.label} has a data set in a folder: read what you need from it, and use jf.diff."
        if len(frame) > _MOST_COMPARED:
            return f"Run {run.label} has {len(frame):,} rows, too many to compare here. Use jf.diff in a cell."

    return ""


def _names(runs: list[Run], differ: list[Json]) -> tuple[str, str] | None:
    """Return what to call two runs, by what differs; `None` if they are the same one at two times."""
    names = [run.function for run in runs]
    if names[0] == names[1]:
        if not differ:
            return None
        names = [
            ", ".join(_name_by(arg["name"], arg[side]) for arg in differ)
            for side in ("before", "after")
        ]

    before, after = (clip(inert(name), _LONGEST_NAME) for name in names)
    if len({before, after, "delta", "percent"}) < 4:  # which `diff` refuses
        before, after = (f"run {run.label}" for run in runs)
    return before, after


def _name_by(label: str, value: str) -> str:
    """Return the name of a run by a value, with the argument's label unless it is a name by itself."""
    if not value:
        return f"no {label}"
    if len(value) > 3 and any(map(str.isalpha, value)) and value not in _NAMELESS:
        return value
    return f"{label} {value}"


def _counted(
    changes: pd.DataFrame, frames: list[pd.DataFrame], names: tuple[str, str] | None
) -> str:
    """Return how many rows differ, and which columns aren't compared."""
    counts = changes.iloc[:, 0].value_counts(sort=False)
    differences = [f"{count:,} {kind}" for kind, count in counts.items()]
    rows, others = map(len, frames)
    sizes = f"{rows:,} rows before and {others:,} after"
    if names:
        sizes = f"{rows:,} rows of {names[0]} and {others:,} of {names[1]}"
    text = f"{listed(differences, 'and') or 'No difference'}, of {sizes}."
    for side, columns in changes.attrs["funcs"]["only"].items():
        if columns:
            text += f" Only {side}, so not compared: {inert(some(columns, 5))}."

    return text


def _code(
    runs: list[Run], names: tuple[str, str] | None, left_out: Sequence[Any] = ()
) -> str:
    drop = f".drop(columns={literal(left_out)})" if left_out else ""
    arguments = [f"{_frame_code(run)}{drop}" for run in runs]
    if names:
        arguments.append(f"names={names}")
    return f"import jupyter_funcs as jf\n\njf.diff({', '.join(arguments)})"


def _frame_code(run: Run) -> str:
    # A variable whose frame the notebook changed does not have the result.
    if run.variable and run.frame is run.in_memory:
        return run.variable
    number = repr(run.label) if run.kernel else run.number
    return f"{connection(run.where)}.history.get({number}).frame"


def _charts(frames: list[pd.DataFrame], runs: list[Run], compared: Json) -> Json:
    """Return both results as two lines, and sums or means of their largest categories, by one plan for all rows."""
    sides = [*map(flat, frames)]
    about = next((run.entry.description for run in runs if run.entry), "")
    frame = pd.concat(sides, ignore_index=True)
    both = Chart(frame, about)
    positions = np.arange(len(frame))
    count = len(sides[0])
    rows = [positions[:count], positions[count:]]
    charts: Json = {}
    wish = ChartWish(kind="line", colour="")
    before, points = _drawn_twice(both, wish, rows)
    if points and any(choice["name"] == "points" for choice in before["choices"]):
        charts["chart"] = _two_lines(before, points, compared)
        # What one side alone doesn't tell, as that the quarters of companies differ.
        charts["chart"]["notes"] = both.view(wish)["notes"]

    before, bars = _drawn_twice(both, ChartWish(kind="bar", colour=""), rows)

    # Bars of what the lines show would say nothing new.
    if bars and not (charts and [*bars] == [*points]):
        rows_of_bars = [[place, *values] for place, values in bars.items()]
        charts["totals"] = {
            "title": before["title"],
            "unit": before["unit"],
            "format": before["format"],
            "adds": before["zero"],
            "rows": rows_of_bars[:_MOST_TOTALS],
        }

    return charts


def _drawn_twice(
    chart: Chart, wish: ChartWish, rows_of_sides: list[Any]
) -> tuple[Json, dict[Any, list[Any]]]:
    """Return the first side's chart, and the values of both by place; none if the charts aren't alike."""
    before, after = (chart.view(wish, rows=rows) for rows in rows_of_sides)
    is_alike = (before["kind"], before["title"]) == (wish.kind, after["title"])
    if not (is_alike and before["series"] and after["series"]):
        return before, {}

    sides = [_by_place(before), _by_place(after)]
    places = [*(sides[0] | sides[1])]
    if before["x"]["type"] == "time":
        places.sort()
    elif order := order_of_periods(places):
        places = [places[at] for at in order]
    return before, {place: [side.get(place) for side in sides] for place in places}


def _places_of(axis: Json) -> str:
    """Return which part of an axis names the same place in two charts."""
    return "values" if axis["type"] == "time" else "labels"


def _by_place(view: Json) -> dict[Any, Any]:
    """Return the values of the only line of a chart."""
    axis = view["x"]
    [line] = view["series"]
    return dict(zip(axis[_places_of(axis)], line["values"], strict=True))


def _two_lines(before: Json, points: dict[Any, list[Any]], compared: Json) -> Json:
    """Return the first side's chart with the lines of both."""
    axis = before["x"] | {"values": [*range(len(points))]}
    axis[_places_of(axis)] = [*points]
    colours = (0, 1) if compared["neutral"] else (-2, 0)
    values = zip(*points.values(), strict=True)
    lines = zip(compared["sides"], colours, values, strict=True)
    return before | {
        "x": axis,
        "series": [
            {"name": name, "colour": colour, "values": [*side]}
            for name, colour, side in lines
        ],
        "adds": False,
        "choices": [],
        "code": "",
        "hidden": 0,
    }
