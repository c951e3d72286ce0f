"""The panel: one widget. Python decides what is shown, and the page draws it."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import datetime as dt
import gzip
import inspect
import json
import sys
import threading
import time
import uuid
import weakref
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import pandas as pd
import traitlets

from jupyter_funcs.client import notebook
from jupyter_funcs.core import background
from jupyter_funcs.core.errors import ArgumentError, FuncsError, RunCancelledError
from jupyter_funcs.core.text import clip, inert, listed, quote
from jupyter_funcs.frames.display import shape_text
from jupyter_funcs.panel import requests, run_view, saved_output
from jupyter_funcs.panel.chart_svg import svg
from jupyter_funcs.panel.form_view import FormView
from jupyter_funcs.panel.header_view import (
    cards_of,
    changes,
    check_own,
    example_text,
    example_values,
    fill_preset,
    function_view,
    is_demo,
    presets_view,
    sections,
    service_view,
    start_view,
)
from jupyter_funcs.panel.history_view import Held, HistoryView, gone_text, values_of, without_result
from jupyter_funcs.panel.outcome import Outcome
from jupyter_funcs.panel.result_view import ResultView
from jupyter_funcs.panel.running import Runner, asked, begun, ended, is_vain, swept_by
from jupyter_funcs.panel.visits import Visit, Visits
from jupyter_funcs.records.presets import fill, form_values
from jupyter_funcs.sweeps.job import SweepJob

if TYPE_CHECKING:
    from concurrent.futures import Future

    from jupyter_funcs.catalog.form import Form
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.client.jobs import Job
    from jupyter_funcs.client.status import Status
    from jupyter_funcs.panel.outcome import PanelSession
    from jupyter_funcs.records.run import Run

_STATIC = Path(__file__).with_name("static")
_MOST_ASKED = 200  # requests at once; a page has a few
_LONGEST_LINE = 1_000  # of an error
_GONE = "This result is no longer shown: another run has ended since."
_UNLISTED = "This function is no longer in your catalog. What you entered is kept; it can come back with a Refresh."
_BEGIN_A_RUN = {"run", "retry", "retry_failed", "again", "example"}
# What reaches beyond the form, and what a visitor's page is told.
_TRUSTED_ONLY = {
    "variables": "Variables can't be read",
    "rename": "Variables can't be renamed",
    "save": "Files can't be saved",
    "preset_save": "Presets can't be saved",
    "preset_delete": "Presets can't be deleted",
    "favourite": "Favourites can't be changed",
}
# Of all panels of this kernel: a cell that is run again has the results that it has shown before.
_held = Held()
# The open panels, each with the cells that made and show it.
_open: weakref.WeakKeyDictionary[Panel, list[notebook.Cell]] = weakref.WeakKeyDictionary()

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
        self._sent: Visit | None = None  # whose view the page has
        self._runner = Runner(self._on_tick, self._on_end)
        self._status: Status | None = None
        self._trouble: list[str] = []
        self._presets: list[dict[str, Any]] = []
        self._is_open = False
        self._told_at = 0.0
        self._told: dict[str, Any] = {}  # options by field, as the page was told of them since it was sent the view
        self._results = 0
        self._still = f"jf-still-{uuid.uuid4().hex}"
        self._history = HistoryView(session.history, _held, self._labels)
        self._asked: dict[Future[None], object] = {}  # requests that are being answered, with their kinds
        self._lock = threading.RLock()  # a person's requests come on the loop, `run` and `form[…] = …` on any thread
        _close_earlier(self._visits.cell)
        try:
            _ = session.catalog
        except FuncsError as error:
            self._trouble = error.lines
        if function is not None:
            self._enter(function, form)
        super().__init__(**self._state())
        self._is_open, self._sent = True, self._visit
        _open[self] = [self._visits.cell]
        # ipykernel 7.4 hands a comm's messages to the subshell that has published last, where they wait for its cell.
        if hasattr(self.comm, "_reply_subshell_for"):
            self.comm._reply_subshell_for = lambda _data, default: default  # noqa: SLF001  # there is no setting
        self.on_msg(self._receive)
        notebook.watch_cells(self._on_cell)
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
        self._check_open()
        self._enter(self._session[name])
        self._publish()

    def run(self) -> Job:
        """
        Run the function with what the form holds; an earlier run that still goes on is cancelled.

        Where a field has several values this is a sweep over every combination, which gives a DataFrame.

        Raises
        ------
        ArgumentError
            Nothing is chosen, a value is missing or not valid (the fields say which), or the panel is closed.
        """
        self._check_open()
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
        visit.refusal, visit.error, visit.state = None, None, "form"
        if self._trusted:  # else visitors would fill the author's list
            self._session.favourites.add_recent(visit.function.name)
        return job

    def result(self, timeout: float | None = None) -> pd.DataFrame:
        """
        Wait for the latest run of the chosen function and give its DataFrame, once the panel shows it.

        A run that was asked for on the page before, and has not begun yet, is the latest one.

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
        for future in [future for future, kind in list(self._asked.items()) if kind in _BEGIN_A_RUN]:
            background.wait(future, timeout, is_shared=True)
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
        """Cancel what runs and close the panel's models; the last result stays in the notebook."""
        # ipywidgets closes once more when it disposes of the object, and at the end of Python, where nothing works.
        if self.comm is None or sys.is_finalizing():
            return
        with self._lock:  # what is being published comes before the end
            self._is_open = False
        _open.pop(self, None)
        notebook.watch_cells(self._on_cell, on=False)
        self.cancel()
        if self._visit is not None:
            self._inputs.close()
        self.layout.close()
        super().close()

    def _check_open(self) -> None:
        if not self._is_open:
            raise ArgumentError("This panel is closed.", "Open another one with funcs.panel().")

    # What is chosen

    def _enter(self, function: RemoteCall, form: Form | None = None) -> None:
        before = self._leave()
        visit = self._visits.of(function, form)
        self._read_presets(visit.function)
        with self._lock:
            self._visit, self.form = visit, visit.form
            visit.inputs = FormView(visit.function, visit.form, self._on_news, trusted=self._trusted)
            visit.inputs.ran = visit.result.outcome.args if visit.result else None
            if before is not None and form is None:
                visit.inputs.carry(before)

    def _read_presets(self, function: RemoteCall) -> None:
        """Read the names of a function's presets: once, since each change of the form shows them again."""
        try:
            self._presets = presets_view(self._session, function.name)
        except FuncsError as error:  # a broken file must not keep the panel from opening
            self._presets, self._trouble = [], error.lines

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
            if name and self._visit is self._sent:  # else the view that is sent next has them
                self._told[name] = inputs.options(name)
                self.send({"v": 1, "ev": "options", "field": name, "page": self._told[name]})
            background.start(self._publish_soon())

    def _on_cell(self, *_: object) -> None:
        """Look at the variable of the result after each cell: a person may have deleted or reassigned it."""
        if self._visit is not None and self._visit.result is not None:
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
        """Bring the traits up to date, in one message; equal ones send nothing."""
        with self._lock, self.hold_sync():
            if not self._is_open:
                return
            self._sent = self._visit
            for name, text in self._state().items():
                # An open page was told what is new in its view as it arrived; one that is loaded again reads it there.
                with self._lock_property(**{name: text} if name == "_view" and self._is_told(text) else {}):
                    setattr(self, name, text)

    def _is_told(self, text: str) -> bool:
        """Return whether the page knows a view: the one before, with options that it was told of, or another status."""
        if text == self._view:
            return True
        view, service = json.loads(self._view), json.loads(text)["service"]
        for field in view["fields"]:
            field["options"] = self._told.get(field["name"], field["options"])
        before, view["service"] = view["service"], service
        if _json(view) != text:
            self._told = {}
            return False
        if before != service:
            self.send({"v": 1, "ev": "service", "service": service})
        return True

    async def _publish_soon(self) -> None:
        self._publish()

    def _view_of(self) -> dict[str, Any]:
        visit = self._visit
        view = {
            "panel": self._still,
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
        about = function_view(function.function, function.slug, self._session.favourites.names)
        view["function"] = about | {"example": example_text(function)}
        view["fields"] = visit.inputs.fields()
        view["presets"] = self._presets
        return view

    def _values_of(self) -> dict[str, Any] | None:
        visit = self._visit
        if visit is None or visit.inputs is None:
            return None
        values = visit.inputs.values()
        if not visit.is_listed:
            values["advice"] = [*values["advice"], _UNLISTED]
        return values

    def _run_of(self) -> dict[str, Any]:
        visit, running = self._visit, self._runner.running
        result = visit.result if visit else None
        job = running.job if running and visit else None
        return {
            "state": "empty" if visit is None else "running" if job else visit.state,
            "number": self._runner.number,
            "running": run_view.running_view(running.function.name, job) if running and job else None,
            "result": result.view(visit.note, trusted=self._trusted) if visit and result else None,
            "error": visit.error if visit else None,
            "partial": result.about["partial"] if result else None,
            "warnings": result.about["warnings"] if result else [],
        }

    # A run

    def _on_tick(self, visit: Visit) -> None:
        """Say that a run has begun, and then once a second how far it is."""
        if self._is_open and visit.job is not None:
            if visit.job.elapsed < 1.0:
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
        visit.error = None if at_fields else run_view.error_view(error, self._session.redact, job)
        visit.state = "form" if at_fields else "failed"
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
        visit.sweep = job if isinstance(job, SweepJob) else None
        await self._show(visit, outcome, run_view.about_result(job, frame))

    async def _show(self, visit: Visit, outcome: Outcome, about: dict[str, Any]) -> None:
        """Show a result; the tables and charts of the one before are dropped."""
        self._results += 1
        result = await asyncio.to_thread(ResultView, self._results, outcome, about, self.recipe)
        _held.keep(outcome.frame)
        with self._lock:
            visit.result, visit.state, visit.error = result, "done", None
            if visit.inputs is not None:
                visit.inputs.ran = outcome.args
        self._publish()  # a page that waits comes before a file that is saved later
        await self._keep_still(visit)

    async def _look(self) -> None:
        """Read how long the token lasts: its source may be a command that takes seconds."""
        self._status = await asyncio.to_thread(self._session.status)
        self._publish()
        if self._visit is None and is_demo(self._session):
            for function in cards_of(self._session):  # the demo may be asked for what its examples take
                with suppress(FuncsError):
                    await example_values(call := self._session[self._session.catalog.slug(function)], call.form())
            self._publish()

    # Requests of the page

    def _receive(self, _: object, content: object, __: object) -> None:
        if len(self._asked) >= _MOST_ASKED:
            self._reply(content, {"error": ["The panel has too many requests to answer.", "Wait a moment."]})
            return
        future = background.start(self._answer(content))
        self._asked[future] = content.get("kind") if isinstance(content, dict) else None
        future.add_done_callback(lambda done: self._asked.pop(done, None))

    def _reply(self, content: object, told: dict[str, Any]) -> None:
        number = content.get("id") if isinstance(content, dict) else None
        if self._is_open:
            self.send({"v": 1, "re": number if isinstance(number, int) else None, **told})

    async def _answer(self, content: object) -> None:
        try:
            told = await self._answer_to(requests.read(content))
        except Exception as error:  # noqa: BLE001  # the page says it
            lines = [clip(inert(self._session.redact(line)), _LONGEST_LINE) for line in run_view.lines_of(error)]
            told = {"error": lines}
        self._reply(content, told)
        self._publish()

    async def _answer_to(self, request: requests.PageRequest) -> dict[str, Any]:
        refused = "" if self._trusted else _TRUSTED_ONLY.get(request.kind, "")
        if refused and not (isinstance(request, requests.SaveRequest) and request.download):
            raise ArgumentError(f"{refused} from this page.", "Its author can allow it: funcs.panel(trusted=True).")
        if not isinstance(request, requests.ResultRequest):
            reply = getattr(self, f"_on_{request.kind}")(request)
            return (await reply if inspect.isawaitable(reply) else reply) or {}
        visit = self._chosen
        if visit.result is None or visit.result.number != request.run:
            raise ArgumentError(_GONE)
        told: dict[str, Any] = await asyncio.to_thread(getattr(visit.result, request.kind), request)
        if request.kind == "chart":
            background.start(self._keep_still(visit))
        return told

    def _on_hello(self, _: requests.PageRequest) -> dict[str, Any]:
        return {"ok": True}

    def _on_functions(self, request: requests.FunctionsRequest) -> dict[str, Any]:
        return sections(self._session, request.query, request.first)

    def _on_choose(self, request: requests.FunctionRequest) -> None:
        self._enter(self._session[request.function])

    async def _on_example(self, request: requests.FunctionRequest) -> None:
        if self._visit is None or self._visit.function.slug != request.function:
            self._enter(self._session[request.function])
        visit = self._chosen
        self._publish()
        for name, value in (await example_values(visit.function, visit.form)).items():
            visit.form[name] = value
        self.run()

    def _on_favourite(self, request: requests.FavouriteRequest) -> None:
        self._session.favourites.mark(self._session[request.function].name, is_favourite=request.on)

    async def _on_refresh(self, _: requests.PageRequest) -> dict[str, Any]:
        before = self._session.listed
        await asyncio.to_thread(self._session.refresh)
        self._trouble = []
        shown = self._visit
        form = shown.form if shown else None
        self._visits.list_again()
        if shown is not None and shown.form is not form:
            self._enter(shown.function)
        background.start(self._look())
        return {"said": changes(before, self._session.catalog)}

    def _on_about(self, _: requests.PageRequest) -> dict[str, Any]:
        return {"facts": self._status.rows if self._status else [("service", self._session.service)]}

    def _on_set(self, request: requests.SetRequest) -> None:
        self._inputs.take(request.field, requests.plain(request.value), request.seq)

    def _on_clear(self, _: requests.PageRequest) -> None:
        self._inputs.clear()

    async def _on_options(self, request: requests.OptionsRequest) -> dict[str, Any]:
        return await asyncio.to_thread(
            partial(self._inputs.options, grouped=request.grouped), request.field, request.query, request.first
        )

    def _on_list_again(self, request: requests.FieldRequest) -> None:
        self._inputs.list_again(request.field)

    async def _on_paste(self, request: requests.PasteRequest) -> dict[str, Any]:
        return await asyncio.to_thread(self._inputs.paste, request.field, request.text)

    def _on_all_options(self, request: requests.AllOptionsRequest) -> dict[str, Any]:
        return self._inputs.all_options(request.field, request.group, request.query)

    def _on_variables(self, request: requests.FieldRequest) -> dict[str, Any]:
        return self._inputs.variables(request.field)

    async def _on_preset(self, request: requests.PresetRequest) -> dict[str, Any]:
        if request.function:
            self._enter(self._session[request.function])
        visit = self._chosen
        unknown = await fill_preset(self._session, visit.function, visit.form, request.name)
        self._inputs.hold_preset(request.name)
        gone = f"Without {listed(map(quote, unknown), 'and')}: {visit.function.name} has no such parameter."
        return {"said": gone if unknown else ""}

    def _on_preset_save(self, request: requests.NewNameRequest) -> dict[str, Any]:
        visit, presets, shown = self._chosen, self._session.presets, quote(request.name.strip(), 40)
        check_own(self._session, visit.function.name, request.name.strip())
        if request.name.strip() in presets.names(visit.function.name) and not request.replace:
            return {"said": f"{shown} exists already.", "exists": True}
        presets.save(visit.function.name, request.name, form_values(visit.form))
        self._read_presets(visit.function)
        return {"said": f"Saved as {shown}.", "exists": False}

    def _on_preset_delete(self, request: requests.NameRequest) -> dict[str, Any]:
        visit = self._chosen
        check_own(self._session, visit.function.name, request.name)
        self._session.presets.remove(visit.function.name, request.name)
        self._read_presets(visit.function)
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

    def _on_cancel(self, _: requests.PageRequest) -> None:
        self.cancel()

    def _on_retry(self, _: requests.PageRequest) -> None:
        self.run()

    def _on_retry_failed(self, request: requests.RetryRequest) -> None:
        """Run again what failed of the sweep that is shown, or some of it, whatever the form holds by now."""
        visit = self._chosen
        if visit.sweep is None:
            raise ArgumentError(_GONE)
        self._runner.start(visit, partial(visit.sweep.retry, request.rows))
        visit.refusal, visit.error, visit.state = None, None, "form"

    def _on_dismiss(self, _: requests.PageRequest) -> None:
        self._chosen.error = None

    def _on_code(self, _: requests.PageRequest) -> dict[str, Any]:
        visit = self._chosen
        variable = (visit.result.variable if visit.result else "") or "df"
        return run_view.code_view(visit.function, visit.form, self._session.where, variable)

    def _on_tab(self, request: requests.TabRequest) -> None:
        self._tab = request.tab

    def _on_rename(self, request: requests.NewNameRequest) -> dict[str, Any]:
        visit, name = self._chosen, request.name.strip()
        if visit.result is None:
            raise ArgumentError(_GONE)
        before = visit.result.held_as
        question = visit.keeper.conflict(name) if name != before else ""
        if question and not request.replace:
            return {"variable": before, "note": question, "exists": True}
        visit.keeper.rename(name, visit.result.outcome.frame, before)
        visit.note = f"{before} is now {name}." if before and before != name else ""
        visit.result.variable = name
        background.start(self._keep_still(visit))
        return {"variable": name, "note": visit.note, "exists": False}

    # History

    def _on_history(self, _: requests.PageRequest) -> dict[str, Any]:
        return {"rows": self._history.rows(earlier=True)}

    def _on_again(self, request: requests.NumberRequest) -> None:
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

    async def _on_open(self, request: requests.NumberRequest) -> dict[str, Any]:
        run = self._session.history.get(request.number)
        self._fill(run)
        frame, visit = run.frame, self._chosen
        if not isinstance(frame, pd.DataFrame):
            return {"said": without_result(run) or f"{gone_text([run.label])} Run it again."}
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
        if self._is_open:
            _open[self].append(notebook.this_cell())
            notebook.show(self._repr_mimebundle_()[0])
        notebook.publish_html(self._still_html(self._visit), self._still)

    def _still_html(self, visit: Visit | None) -> str:
        result = visit.result if visit else None
        outcome = dataclasses.replace(result.outcome, variable=result.held_as) if result else None
        picture = svg(result.picture) if result and result.picture else ""
        return saved_output.still_html(visit.function.name if visit else "", outcome, picture)

    async def _keep_still(self, visit: Visit) -> None:
        """Let the notebook keep the result, and the chart as it was drawn last, in place of the one before."""
        html = await asyncio.to_thread(self._still_html, visit)
        notebook.publish_html(html, self._still, again=True)

    def __repr__(self) -> str:
        """Say what the panel shows; ipywidgets would print every trait."""
        shown = inert(self._visit.function.name) if self._visit else "nothing chosen"
        return f"<Panel of {self._session.service}: {shown}{'' if self._is_open else ' (closed)'}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        return {**data, "text/plain": repr(self)}, metadata


def _close_earlier(cell: notebook.Cell) -> None:
    """Close the panels of the same cell's earlier execution; one that another cell shows too stays open."""
    for panel, cells in list(_open.items()):
        if cell.is_rerun_of(cells[0]):
            panel.cancel()
            if all(each.id == cell.id for each in cells):
                panel.close()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
