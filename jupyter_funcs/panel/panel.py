"""The panel: one widget. Python decides what is shown, and the page draws it."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import datetime as dt
import gzip
import inspect
import io
import json
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import pandas as pd
import traitlets

from jupyter_funcs.client import notebook
from jupyter_funcs.core import background
from jupyter_funcs.core.errors import ArgumentError, FuncsError, RunCancelledError
from jupyter_funcs.core.text import inert, listed, quote, size_text
from jupyter_funcs.frames.display import shape_text
from jupyter_funcs.frames.export import save
from jupyter_funcs.panel import requests, run_view, saved_output
from jupyter_funcs.panel.chart_svg import svg
from jupyter_funcs.panel.chart_view import Chart
from jupyter_funcs.panel.form_view import FormView
from jupyter_funcs.panel.header_view import (
    changes,
    example_values,
    function_view,
    sections,
    service_view,
    start_view,
)
from jupyter_funcs.panel.history_view import Held, HistoryView, values_of
from jupyter_funcs.panel.json_view import JsonTree
from jupyter_funcs.panel.outcome import Outcome
from jupyter_funcs.panel.running import Runner, asked, begun, ended, is_vain, swept_by
from jupyter_funcs.panel.table import TableView
from jupyter_funcs.panel.visits import Visit, Visits
from jupyter_funcs.records.presets import fill, form_values

if TYPE_CHECKING:
    from jupyter_funcs.catalog.form import Form
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.client.jobs import Job
    from jupyter_funcs.client.status import Status
    from jupyter_funcs.panel.outcome import PanelSession
    from jupyter_funcs.records.run import Run

_STATIC = Path(__file__).with_name("static")
_MOST_DOWNLOADED = 25 * 2**20  # bytes
_GONE = "This result is no longer shown: another run has ended since."


_UNPACK = """const packed = Uint8Array.from(atob("%s"), (each) => each.charCodeAt(0));
const script = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
const { default: panel } = await import(address);
URL.revokeObjectURL(address);
export default panel;
"""


def _packed(script: Path) -> str:
    """Return a module that is half as long: each panel sends it again, and a front end keeps each."""
    return _UNPACK % base64.b64encode(gzip.compress(script.read_bytes(), mtime=0)).decode()


class Panel(anywidget.AnyWidget):
    """
    The widget of a session.

    Parameters
    ----------
    session
        Whose catalog it shows.
    function
        The function to open with, options and all; nothing is chosen without one.
    form
        Its form, with first values; an empty one by default.
    trusted
        Whether the page may save files and read variables. By default it may, except in Voila, whose pages are seen by
        visitors.

    Attributes
    ----------
    form
        The form on the screen: what it shows is what the form holds. ``None`` while nothing is chosen.
    recipe
        The code that gives the DataFrame of a run where no variable holds it, as the panel tells a person.
    """

    _esm = _packed(_STATIC / "panel.js")
    _css = _STATIC / "panel.css"
    _view = traitlets.Unicode("").tag(sync=True)
    _values = traitlets.Unicode("").tag(sync=True)
    _run = traitlets.Unicode("").tag(sync=True)
    _tab = traitlets.Unicode("table").tag(sync=True)

    def __init__(
        self,
        session: PanelSession,
        function: RemoteCall | None = None,
        form: Form | None = None,
        *,
        trusted: bool | None = None,
    ) -> None:
        self.recipe = "panel.result()"
        self.form: Form | None = None
        self._session = session
        self._trusted = not notebook.is_public() if trusted is None else trusted
        self._visits = Visits()
        self._visit: Visit | None = None
        self._runner = Runner(self._on_tick, self._on_end, self._visits.cell)
        self._status: Status | None = None
        self._trouble: list[str] = []
        self._preset_names: list[str] = []
        self._is_open = False
        self._told_at = 0.0
        self._results = 0
        self._held = Held()
        self._history = HistoryView(session.history, self._held, self._labels)
        self._still = f"jf-still-{id(self):x}"
        self._lock = threading.RLock()  # a person's requests come on the loop, `run` and `form[…] = …` on any thread
        try:
            _ = session.catalog
        except FuncsError as error:
            self._trouble = error.lines
        if function is not None:
            self._enter(function, form)
        super().__init__(**self._state())
        self._is_open = True
        # ipykernel 7.4 hands a comm's messages to the subshell that has published last, where they wait for its cell.
        if hasattr(self.comm, "_reply_subshell_for"):
            self.comm._reply_subshell_for = lambda _data, default: default  # noqa: SLF001  # there is no setting
        self.on_msg(self._receive)
        if session.listed is not None:
            background.start(self._look())

    # For notebooks

    def choose(self, name: str | int) -> None:
        """
        Show a function's form; the one shown before keeps its values and its result.

        Parameters
        ----------
        name
            Wire name, slug or id.

        Raises
        ------
        NotFoundError
            There is no such function.
        """
        self._enter(self._session[name])
        self._publish()

    def run(self) -> Job:
        """
        Run the function with what the form holds; an earlier run that still goes on is cancelled.

        Where a field has several values this is a sweep over every combination, which gives a DataFrame.

        Raises
        ------
        ArgumentError
            Nothing is chosen, or a value is missing or not valid; the fields say which.
        """
        visit = self._visit
        if visit is None:
            raise ArgumentError("There is nothing to run: no function is chosen.", "Choose one in the list.")
        try:
            args = visit.form.check(sweeps=True)
            job = self._runner.start(visit, partial(begun, visit, args))
        except ArgumentError as error:
            visit.refusal = error
            self._fail(visit, error)
            raise
        visit.refusal, visit.error, visit.state = None, None, "idle"
        self._session.favourites.add_recent(visit.function.name)
        return job

    def result(self, timeout: float | None = None) -> pd.DataFrame:
        """
        Wait for the latest run of the chosen function and give its DataFrame, once the panel shows it.

        Parameters
        ----------
        timeout
            Seconds to wait at most.

        Raises
        ------
        ArgumentError
            Nothing was run yet, or the form refused to.
        FuncsError
            What the run failed with.
        """
        visit = self._visit
        if visit is not None and visit.refusal is not None:
            raise visit.refusal
        if visit is None or visit.job is None or visit.shown is None:
            raise ArgumentError("This panel has no result yet.", "Press Run, or call run().")
        frame = visit.job.result(timeout)
        background.wait(visit.shown)
        return frame

    def cancel(self) -> None:
        """Stop waiting for the run that goes on, if one does."""
        self._runner.cancel()

    def close(self) -> None:
        """Cancel what runs and close the panel's models."""
        if self.comm is None:  # closed already: ipywidgets closes once more when it disposes of the object
            return
        self._is_open = False
        self.cancel()
        self._leave()
        self.layout.close()
        super().close()

    # What is chosen

    def _enter(self, function: RemoteCall, form: Form | None = None) -> None:
        before = self._leave()
        visit = self._visits.of(function, form)
        self._read_presets(visit.function)
        with self._lock:
            self._visit, self.form = visit, visit.form
            visit.inputs = FormView(visit.function, visit.form, self._on_news, trusted=self._trusted)
            visit.inputs.ran = visit.outcome.args if visit.outcome else None
            if before is not None and form is None:
                visit.inputs.carry(before)

    def _read_presets(self, function: RemoteCall) -> None:
        """Read the names of a function's presets: once, since each change of the form shows them again."""
        try:
            self._preset_names = self._session.presets.names(function.name)
        except FuncsError as error:  # a broken file must not keep the panel from opening
            self._preset_names, self._trouble = [], error.lines

    def _leave(self) -> Form | None:
        """Stop following the form on the screen, and return it: the next one takes its values."""
        with self._lock:
            visit, self._visit = self._visit, None
            if visit is None or visit.inputs is None:
                return None
            visit.inputs.close()
            visit.inputs = None
            return visit.form

    @property
    def _chosen(self) -> Visit:
        if self._visit is None:
            raise ArgumentError("No function is chosen.", "Choose one first.")
        return self._visit

    @property
    def _inputs(self) -> FormView:
        inputs = self._chosen.inputs
        assert inputs is not None  # a chosen visit has them
        return inputs

    def _on_news(self, name: str) -> None:
        """Send the options of a field that have just been listed, and what follows from a change of the form."""
        inputs = self._visit.inputs if self._visit else None
        if inputs is not None and self._is_open:
            if name:
                self.send({"v": 1, "ev": "options", "field": name, "page": inputs.options(name)})
            background.start(self._publish_soon())

    # What the page shows

    def _state(self) -> dict[str, str]:
        with self._lock:
            return {
                "_view": _json(self._view_of()),
                "_values": _json(self._values_of()),
                "_run": _json(self._run_of()),
            }

    def _publish(self) -> None:
        """Bring the traits up to date: an equal one sends nothing."""
        if self._is_open:
            for name, text in self._state().items():
                setattr(self, name, text)

    async def _publish_soon(self) -> None:
        self._publish()

    def _view_of(self) -> dict[str, Any]:
        visit = self._visit
        view = {
            "trusted": self._trusted,
            "service": service_view(self._session, self._status, self._trouble),
            "function": None,
            "fields": [],
            "presets": [],
            "start": None,
        }
        if visit is None or visit.inputs is None:
            view["start"] = start_view(self._session, self._history.rows()[:3])
            return view
        function = visit.function
        view["function"] = function_view(function.function, function.slug, self._session.favourites.names)
        view["fields"] = visit.inputs.fields()
        view["presets"] = [{"name": name, "about": "", "shipped": False} for name in self._preset_names]
        return view

    def _values_of(self) -> dict[str, Any] | None:
        visit = self._visit
        if visit is None or visit.inputs is None:
            return None
        return visit.inputs.values()

    def _run_of(self) -> dict[str, Any]:
        visit = self._visit
        running = visit if visit is not None and self._runner.running is visit else None
        state = {"invalid": "form", "idle": "form"}.get(visit.state, visit.state) if visit else "empty"
        shown: dict[str, Any] = {
            "state": "running" if running else state,
            "number": self._runner.number,
            "running": None,
            "result": None,
            "error": visit.error if visit else None,
            "partial": None,
            "warnings": [],
        }
        if running and running.job is not None:
            shown["running"] = run_view.running_view(running.function.name, running.job)
        if visit is not None and visit.outcome is not None and visit.table is not None and visit.about is not None:
            shown["result"] = self._result_of(visit, visit.outcome, visit.table)
            shown |= {"partial": visit.about["partial"], "warnings": visit.about["warnings"]}
        return shown

    def _result_of(self, visit: Visit, outcome: Outcome, table: TableView) -> dict[str, Any]:
        no_reply = "This result has no JSON reply." if outcome.function.session.kind == "python" else ""
        return {
            "number": visit.number,
            "function": outcome.function.name,
            "summary": visit.about["summary"] if visit.about else "",
            "variable": outcome.variable,
            "note": visit.note,
            "table": table.view(),
            "chart": {"possible": True, "why": ""},
            "json": {"possible": outcome.reply is not None, "why": no_reply},
            "save": dict.fromkeys(("csv", "xlsx", "parquet", "json"), self._trusted) | {"download": True},
        }

    # A run

    def _on_tick(self, visit: Visit) -> None:
        """Say that a run has begun, and then once a second how far it is."""
        if self._is_open and visit.job is not None:
            if visit.job.elapsed < 1.0 or self._visit is not visit:
                self._publish()
            elif time.monotonic() - self._told_at >= 1.0:
                self._told_at = time.monotonic()
                running = run_view.running_view(visit.function.name, visit.job)
                self.send({"v": 1, "ev": "progress", "running": running})

    async def _on_end(self, visit: Visit, job: Job) -> None:
        """Show how a run has ended."""
        try:
            error = job.error()
            if error is None:
                frame = await ended(job)
                if is_vain(job, frame):
                    self._fail(visit, FuncsError("Every run has failed.", frame.attrs["errors"][0]["error"]), job)
                else:
                    await self._finish(visit, job, frame)
            elif isinstance(error, RunCancelledError):
                visit.state, visit.error = "cancelled", None
                self.send({"v": 1, "ev": "said", "text": run_view.cancelled_text(job)})
            else:
                self._fail(visit, error, job)
        except Exception as error:  # noqa: BLE001  # an exception on the loop is seen by nobody
            self._fail(visit, error, job)
        self._publish()

    def _fail(self, visit: Visit, error: BaseException, job: Job | None = None) -> None:
        at_fields = error.errors if isinstance(error, ArgumentError) else {}
        if visit.inputs is not None:
            visit.inputs.press()
            if job is not None:
                visit.inputs.refuse(at_fields)
        is_at_fields = bool(at_fields)
        visit.error = None if is_at_fields else run_view.error_view(error, self._session.redact, job)
        visit.state = "invalid" if is_at_fields else "failed"
        self._publish()

    async def _finish(self, visit: Visit, job: Job, frame: pd.DataFrame) -> None:
        if visit.job is not job:  # it was run again by now
            return
        visit.note = visit.keeper.assign(frame)
        outcome = Outcome(
            visit.function,
            job.args,
            frame,
            job.progress.reply,
            dt.datetime.now(dt.UTC) - dt.timedelta(seconds=job.elapsed),
            job.elapsed,
            self._session.where,
            visit.keeper.name,
            swept_by(job, frame),
        )
        await self._show(visit, outcome, run_view.about_result(job, frame))

    async def _show(self, visit: Visit, outcome: Outcome, about: dict[str, Any]) -> None:
        """Show a result; the tables and charts of the one before are dropped."""
        table = await asyncio.to_thread(TableView, outcome.frame, outcome.function.function.description)
        await asyncio.to_thread(table.view)  # what it reads of the frame is kept
        self._held.keep(outcome.frame)
        with self._lock:
            visit.outcome, visit.table, visit.about = outcome, table, about
            visit.chart, visit.picture, visit.tree = None, None, None
            visit.state, visit.error = "done", None
            self._results += 1
            visit.number = self._results
            if visit.inputs is not None:
                visit.inputs.ran = outcome.args
        await self._keep_still(visit)

    async def _look(self) -> None:
        """Read how long the token lasts: its source may be a command that takes seconds."""
        self._status = await asyncio.to_thread(self._session.status)
        self._publish()

    # Requests of the page

    def _receive(self, _: object, content: object, __: object) -> None:
        background.start(self._answer(content))

    async def _answer(self, content: object) -> None:
        number = content.get("id") if isinstance(content, dict) else None
        try:
            request = requests.read(content)
            reply = getattr(self, f"_on_{requests.kind_of(request)}")(request)
            told = await reply if inspect.isawaitable(reply) else reply
            answer = {"v": 1, "re": number, **(told or {})}
        except Exception as error:  # noqa: BLE001  # the page says it
            lines = [inert(self._session.redact(line)) for line in run_view.lines_of(error)]
            answer = {"v": 1, "re": number, "error": lines}
        if self._is_open:
            self.send(answer)
            self._publish()

    def _on_hello(self, _: requests.HelloRequest) -> dict[str, Any]:
        return {"ok": True}

    def _on_functions(self, request: requests.FunctionsRequest) -> dict[str, Any]:
        return sections(self._session, request.query)

    def _on_choose(self, request: requests.ChooseRequest) -> None:
        self._enter(self._session[request.function])

    async def _on_example(self, request: requests.ExampleRequest) -> None:
        if self._visit is None or self._visit.function.slug != request.function:
            self._enter(self._session[request.function])
        visit = self._chosen
        self._publish()
        for name, value in (await example_values(visit.function, visit.form)).items():
            visit.form[name] = value
        self.run()

    def _on_favourite(self, request: requests.FavouriteRequest) -> None:
        name = self._session[request.function].name
        self._session.favourites.mark(name, is_favourite=request.on)

    async def _on_refresh(self, _: requests.RefreshRequest) -> dict[str, Any]:
        before = self._session.listed
        await asyncio.to_thread(self._session.refresh)
        self._trouble = []
        shown = self._visit
        self._visits.list_again()
        if shown is not None:
            self._enter(shown.function)
        background.start(self._look())
        return {"said": changes(before, self._session.catalog)}

    def _on_about(self, _: requests.AboutRequest) -> dict[str, Any]:
        return {"facts": self._status.rows if self._status else [("service", self._session.service)]}

    def _on_set(self, request: requests.SetRequest) -> None:
        self._inputs.take(request.field, requests.plain(request.value), request.seq)

    def _on_clear(self, _: requests.ClearRequest) -> None:
        self._inputs.clear()

    async def _on_options(self, request: requests.OptionsRequest) -> dict[str, Any]:
        return await asyncio.to_thread(self._inputs.options, request.field, request.query, request.first)

    def _on_list_again(self, request: requests.ListAgainRequest) -> None:
        self._inputs.list_again(request.field)

    def _on_paste(self, request: requests.PasteRequest) -> dict[str, Any]:
        return self._inputs.paste(request.field, request.text)

    def _on_all_options(self, request: requests.AllOptionsRequest) -> dict[str, Any]:
        return self._inputs.all_options(request.field, request.group, request.query)

    def _on_variables(self, request: requests.VariablesRequest) -> dict[str, Any]:
        self._check_trust("Variables can't be read from this page.")
        return self._inputs.variables(request.field)

    def _on_preset(self, request: requests.PresetRequest) -> dict[str, Any]:
        if request.function:
            self._enter(self._session[request.function])
        visit = self._chosen
        unknown = fill(visit.form, self._session.presets.get(visit.function.name, request.name))
        self._inputs.hold_preset(request.name)
        gone = f"Without {listed(map(quote, unknown), 'and')}: {visit.function.name} has no such parameter."
        return {"said": gone if unknown else ""}

    def _on_preset_save(self, request: requests.PresetSaveRequest) -> dict[str, Any]:
        self._check_trust("Presets can't be saved from this page.")
        name, presets = self._chosen.function.name, self._session.presets
        if request.name.strip() in presets.names(name) and not request.replace:
            return {"said": f"{quote(request.name.strip(), 40)} exists already.", "exists": True}
        presets.save(name, request.name, form_values(self._chosen.form))
        self._read_presets(self._chosen.function)
        return {"said": f"Saved as {quote(request.name.strip(), 40)}.", "exists": False}

    def _on_preset_delete(self, request: requests.PresetDeleteRequest) -> dict[str, Any]:
        self._check_trust("Presets can't be deleted from this page.")
        self._session.presets.remove(self._chosen.function.name, request.name)
        self._read_presets(self._chosen.function)
        return {"said": f"Deleted {quote(request.name, 40)}. The form keeps its values."}

    def _on_run(self, request: requests.FormRunRequest) -> dict[str, Any]:
        visit, inputs = self._chosen, self._inputs
        if self._runner.running is not None:  # a second press, sent before the page knew of the first
            return {"asks": ""}
        inputs.take_all(requests.plain_values(request), request.seq)
        inputs.press()
        if request.confirmed:
            visit.asked = visit.form.args
        elif asks := asked(visit):
            visit.asked = None
            return {"asks": asks}
        try:
            self.run()
        except ArgumentError as error:
            if not error.errors:
                raise
        return {"asks": ""}

    def _on_cancel(self, _: requests.CancelRequest) -> None:
        self.cancel()

    def _on_retry(self, _: requests.RetryRequest) -> None:
        self.run()

    def _on_retry_failed(self, _: requests.RetryFailedRequest) -> None:
        self.run()  # the runs that have succeeded come from the cache

    def _on_dismiss(self, _: requests.DismissRequest) -> None:
        self._chosen.error = None

    # Requests about the result

    def _shown(self, number: int) -> tuple[Visit, Outcome, TableView]:
        visit = self._chosen
        if visit.outcome is None or visit.table is None or visit.number != number:
            raise ArgumentError(_GONE)
        return visit, visit.outcome, visit.table

    async def _on_rows(self, request: requests.RowsRequest) -> dict[str, Any]:
        _, _, table = self._shown(request.run)
        return await asyncio.to_thread(table.page, request.query, request.first, request.end, request.columns)

    async def _on_columns(self, request: requests.ColumnsRequest) -> dict[str, Any]:
        _, _, table = self._shown(request.run)
        return {"columns": await asyncio.to_thread(table.columns, request.columns)}

    async def _on_values(self, request: requests.ValuesRequest) -> dict[str, Any]:
        _, _, table = self._shown(request.run)
        return await asyncio.to_thread(table.values, request.at, request.query)

    async def _on_table_code(self, request: requests.TableCodeRequest) -> dict[str, Any]:
        _, outcome, table = self._shown(request.run)
        return {"code": await asyncio.to_thread(table.code, request.query, outcome.variable or self.recipe)}

    async def _on_copy(self, request: requests.CopyRequest) -> dict[str, Any]:
        _, _, table = self._shown(request.run)
        text = await asyncio.to_thread(table.text, request.query, request.first, request.end, request.columns)
        return {"text": text}

    async def _on_chart(self, request: requests.ChartRequest) -> dict[str, Any]:
        visit, outcome, table = self._shown(request.run)
        query = requests.TableQuery(filters=request.filters, find=request.find)
        zoom = None if request.low is None or request.high is None else (request.low, request.high)

        def draw() -> dict[str, Any]:
            if visit.chart is None:
                visit.chart = Chart(outcome.frame, outcome.function.function.description)
            variable = outcome.variable or self.recipe
            filters = table.code(query, variable) if query.filters or query.find else ""
            rows = table.positions(query)
            return visit.chart.view(requests.wished(request), rows=rows, zoom=zoom, variable=variable, filters=filters)

        visit.picture = view = await asyncio.to_thread(draw)
        background.start(self._keep_still(visit))
        return view

    def _tree(self, number: int) -> JsonTree:
        visit, outcome, _ = self._shown(number)
        if outcome.reply is None:
            raise ArgumentError("The reply of this run was not kept.", "The table shows what came of it.")
        if visit.tree is None:
            visit.tree = JsonTree(outcome.reply)
        return visit.tree

    async def _on_json(self, request: requests.JsonRequest) -> dict[str, Any]:
        return await asyncio.to_thread(self._tree(request.run).node, request.path, request.first)

    async def _on_json_text(self, request: requests.JsonTextRequest) -> dict[str, Any]:
        return {"text": await asyncio.to_thread(self._tree(request.run).text)}

    def _on_code(self, _: requests.CodeRequest) -> dict[str, Any]:
        visit = self._chosen
        return run_view.code_view(visit.function, visit.form, self._session.where)

    def _on_tab(self, request: requests.TabRequest) -> None:
        self._tab = request.tab

    def _on_rename(self, request: requests.RenameRequest) -> dict[str, Any]:
        visit, name = self._chosen, request.name.strip()
        self._check_trust("Variables can't be renamed from this page.")
        before = visit.keeper.name
        question = visit.keeper.conflict(name)
        if question and not request.replace:
            return {"variable": before, "note": question, "exists": True}
        visit.keeper.rename(name)
        visit.note = f"{before} is now {name}." if before and before != name else ""
        if visit.outcome is not None:
            visit.outcome = dataclasses.replace(visit.outcome, variable=visit.keeper.name)
        background.start(self._keep_still(visit))
        return {"variable": visit.keeper.name, "note": visit.note, "exists": False}

    async def _on_save(self, request: requests.SaveRequest) -> dict[str, Any]:
        _, outcome, table = self._shown(request.run)
        frame = outcome.frame
        if request.filtered is not None:
            frame = await asyncio.to_thread(table.frame, request.filtered)
        if request.download:
            buffer = io.BytesIO()
            await asyncio.to_thread(save, frame, buffer, request.format)
            if buffer.tell() > _MOST_DOWNLOADED:
                what = f"The file has {size_text(buffer.tell())}; a page takes {size_text(_MOST_DOWNLOADED)} at most."
                raise ArgumentError(what, "Save it beside the notebook instead.")
            data = base64.b64encode(buffer.getvalue()).decode()
            return {"said": "", "exists": False, "name": request.name, "data": data}
        self._check_trust("Files can't be saved from this page.")
        return await asyncio.to_thread(_save, frame, request)

    def _check_trust(self, what: str) -> None:
        if not self._trusted:
            raise ArgumentError(what, "Its author can allow it: funcs.panel(trusted=True).")

    # History

    def _on_history(self, _: requests.HistoryRequest) -> dict[str, Any]:
        return {"rows": self._history.rows()}

    def _on_again(self, request: requests.AgainRequest) -> None:
        """Run what an earlier run has run, and take nothing from the cache that is as old."""
        run = self._session.history.get(request.number)
        self._fill(run)
        visit = self._chosen
        before, options = visit.function, self._session.history.function(run).options
        visit.function = before.with_options(max_age=options.max_age)
        try:
            self.run()
        finally:
            visit.function = before

    async def _on_open(self, request: requests.OpenRequest) -> dict[str, Any]:
        run = self._session.history.get(request.number)
        self._fill(run)
        frame, visit = run.frame, self._chosen
        if not isinstance(frame, pd.DataFrame):
            return {"said": f"The result of run {run.label} is no longer in memory. Run it again."}
        visit.note = ""
        outcome = Outcome(
            visit.function, run.args, frame, None, run.started, run.elapsed, self._session.where, run.variable
        )
        summary = f"{shape_text(frame)} · run {run.label}"
        await self._show(visit, outcome, {"summary": summary, "partial": None, "warnings": []})
        return {"said": ""}

    async def _on_compare(self, request: requests.CompareRequest) -> dict[str, Any]:
        numbers = (request.before, request.after, request.first)
        return await asyncio.to_thread(partial(self._history.compare, *numbers, again=request.again))

    def _labels(self, function: str) -> dict[str, str]:
        """Return the labels of a function's fields; nothing if it is no longer listed."""
        known = self._session.listed
        if known is None or known.peek(function) is None:
            return {}
        return {field.name: field.label for field in self._session[function].fields}

    def _fill(self, run: Run) -> None:
        function = self._session[run.function]
        if self._visit is None or self._visit.function.slug != function.slug:
            self._enter(function)
        fill(self._chosen.form, values_of(run, function))

    # What a saved notebook keeps

    def _ipython_display_(self, **_: Any) -> None:
        notebook.show(self._repr_mimebundle_()[0])
        outcome = self._visit.outcome if self._visit else None
        notebook.publish_html(saved_output.still_html(self._name, outcome), self._still)

    async def _keep_still(self, visit: Visit) -> None:
        """Let the notebook keep the result, and the chart as it was drawn last, in place of the one before."""
        if visit.outcome is not None:
            picture = svg(visit.picture) if visit.picture else ""
            html = await asyncio.to_thread(saved_output.still_html, self._name, visit.outcome, picture)
            notebook.publish_html(html, self._still, again=True)

    @property
    def _name(self) -> str:
        return self._visit.function.name if self._visit else ""

    def __repr__(self) -> str:
        """Say what the panel shows; ipywidgets would print every trait."""
        return f"<Panel of {self._session.service}: {inert(self._name) or 'nothing chosen'}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        return {**data, "text/plain": repr(self)}, metadata


def _save(frame: pd.DataFrame, request: requests.SaveRequest) -> dict[str, Any]:
    """Save a file beside the notebook, unless there is one of that name already."""
    name = request.name.strip()
    if name in {"", ".", ".."} or Path(name).name != name or "\\" in name:
        what = f"{quote(name)} is not a file name without a folder."
        raise ArgumentError(what, f"Write a name such as spend.{request.format}.")
    path = Path(name).absolute()
    if path.exists() and not request.replace:
        return {"said": f"{name} exists already.", "exists": True, "name": name, "data": ""}
    save(frame, path, request.format)
    return {"said": f"Saved {name} · {size_text(path.stat().st_size)}", "exists": False, "name": name, "data": ""}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
