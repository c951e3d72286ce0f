"""The state of a panel, which isn't a widget: the functions that are open in it, and their runs."""

from __future__ import annotations

import asyncio
import threading
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

from jupyter_funcs.catalog.changes import relisted
from jupyter_funcs.catalog.values import UNSET, as_several, parts_in, same_args
from jupyter_funcs.client import notebook, snippets
from jupyter_funcs.client.questions import form_of
from jupyter_funcs.core import background
from jupyter_funcs.core.errors import ArgumentError, FuncsError, RunCancelledError
from jupyter_funcs.core.line import Entered
from jupyter_funcs.core.text import inert, listed, quote, some
from jupyter_funcs.frames.display import shape_text
from jupyter_funcs.panel import run_view
from jupyter_funcs.panel.chart_svg import LONGEST_TEXT
from jupyter_funcs.panel.form_view import FormView
from jupyter_funcs.panel.header_view import HeaderView, example_values, listed_again
from jupyter_funcs.panel.history_view import HELD, HistoryView, frame_of_run, values_of
from jupyter_funcs.panel.requests import (
    Answers,
    FailedRows,
    Json,
    KeptId,
    LongText,
    Name,
    NotText,
    Number,
    PageValues,
    RunNumber,
    Text,
    answers,
)
from jupyter_funcs.records.presets import fill, form_values
from jupyter_funcs.records.run import as_it_came
from jupyter_funcs.sweeps.job import SweepJob, asks_text, start_sweep

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from jupyter_funcs.catalog.form import Args, Form
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.client.jobs import Job
    from jupyter_funcs.panel.form_view import LastEntered
    from jupyter_funcs.panel.run_view import ResultView
    from jupyter_funcs.records.history import RecordedClient
    from jupyter_funcs.records.run import Run

GONE = "This result is no longer shown: another run has ended since."
_SECOND = 1.0  # between two events of progress
_UNLISTED = "This function is no longer in your catalog. What you entered is kept; it can come back with a Refresh."


@dataclass(eq=False)
class Visit:
    """A function that is open in a panel: its form, its last run and its result; kept while another one is shown."""

    function: RemoteCall
    form: Form
    keeper: notebook.ResultVariable
    runs: PanelRuns
    # What the panel's cell names, if it names this function.
    named: Args | None = field(init=False, default=None)
    # The variable that it names, if that isn't the function's own.
    output: str = field(init=False, default="")
    inputs: FormView = field(init=False)  # the form as the page shows it
    is_listed: bool = True
    state: str = "form"
    job: Job | None = None
    shown: Future[None] | None = None  # done when the panel shows the job's result
    refusal: ArgumentError | None = None
    error: Json | None = None
    # The arguments of a large sweep that the user was asked about.
    asked: Args = field(default_factory=dict)
    result: ResultView | None = None

    @property
    def shown_result(self) -> ResultView:
        if not self.result:
            raise ArgumentError(GONE)
        return self.result

    def values(self) -> Json:
        """Return the `Values` of the protocol."""
        ran = self.result.args if self.result else None
        values = self.inputs.values(ran, self.named)
        if self.result and not values["changed"]:
            values["differs"] |= self._chosen_name != self.output
        if not self.is_listed:
            values["advice"].append(_UNLISTED)
        line = ""
        if "%funcs" in self.runs.recipe():  # else a line could run on another service
            line = snippets.line(self.function, self.form.args)
        if len(line) > LONGEST_TEXT:
            line = ""
        return values | {"line": line, "output": self._chosen_name}

    @property
    def _chosen_name(self) -> str:
        """The variable of the result if the user named it, else an empty text."""
        if self.result and self.keeper.is_named(self.result.variable):
            return self.result.variable
        return ""

    def name_in_cell(self, output: str) -> None:
        """Note that the panel's cell names the form, and perhaps the variable of its result."""
        self.named = self.form.args
        self.output = ""
        if self.keeper.is_named(output):
            self.output = output

    # What begins a run

    @answers("run", begins=True)
    def asks(self, seq: Number, values: PageValues, *, confirmed: bool) -> str:
        """Run the form with these values; return what to ask the user first, if anything."""
        if self.runs.current:  # a second press, sent before the page knew of the first
            return ""

        self.inputs.take(values, seq)
        form = self.form
        most = self.function.most_runs
        if confirmed:
            self.asked = form.args
        is_large = form.runs > max(most, 1)
        if is_large and not form.errors and not same_args(self.asked, form.args):
            return asks_text(form.runs, most)

        try:
            self.run()
        except ArgumentError as error:
            if not error.errors:
                raise

        return ""

    def run(self, function: RemoteCall | None = None) -> Job:
        """Run the form, with the options of this function; show errors at the fields."""
        self.inputs.press()
        try:
            args = self.form.check(sweeps=True)
            job = self.runs.begin(
                self, partial(self._begun, function or self.function, args)
            )
        except ArgumentError as error:
            self.refusal = error
            self.runs.fail(self, error)
            raise

        if self.inputs.trusted:  # else visitors would fill the author's list
            self.runs.session.favourites.add_recent(self.function.name)
        return job

    def _begun(self, function: RemoteCall, args: Args) -> Job:
        """Start one run, or one per combination if fields have several values."""
        if not self.form.swept:
            return function.start(args, keep_reply=True, can_ask=True)

        # A panel shows a DataFrame of every combination, whatever the function's own options say.
        function = function.with_options(pairs=False, to=None)
        if same_args(self.asked, args):
            function = function.with_options(most_runs=self.form.runs)
        if function.function.changes_data:
            self.asked = {}  # the next press is another change
        return start_sweep(function, None, args, warns=False)  # the form shows them

    @answers(begins=True)
    def retry_failed(self, rows: FailedRows) -> None:
        """Repeat failed runs of the sweep that is shown, all or some, whatever the form contains now."""
        sweep = self.shown_result.sweep
        if not sweep:
            raise ArgumentError(GONE)
        self.runs.begin(self, partial(sweep.retry, rows))

    @answers(begins=True)
    def all_pages(self) -> None:
        """Run what is shown again for all pages of its list, as later runs of the function then do."""
        self.function = self.function.with_options(pages="all")
        self.runs.begin(self, partial(self.function.start, self.shown_result.args))

    @answers(begins=True)
    def so_far(self) -> None:
        """Show the results of the sweep that was cancelled."""
        if not isinstance(self.job, SweepJob) or self.state != "cancelled":
            raise ArgumentError(GONE)
        self.runs.begin(self, self.job.so_far)

    # The result

    @answers()
    def dismiss(self) -> None:
        self.error = None

    @answers()
    def code(self) -> Json:
        where = self.runs.session.where
        name = (self.result and self.result.variable) or "df"
        return {
            "blocks": snippets.blocks(self.function, self.form, where, name),
            "link": snippets.link(self.function, self.form.args),
        }

    @answers(refused="Variables can't be renamed")
    def rename(self, name: Name, *, replace: bool) -> Json:
        result = self.shown_result
        name = name.strip()
        before = result.held_as
        shown = result.frame
        # A variable that the notebook took back or changed keeps its frame; the new one gets what the panel shows.
        if not before:
            shown = as_it_came(shown, result.reply_frame)
        question = self.keeper.rename(name, before, shown, result.args, replace=replace)
        if question:
            return {"variable": before, "note": question, "exists": True}

        note = ""
        if before and before not in notebook.variables():
            note = f"{before} is now {name}."
        result.note = ""
        result.variable = name
        result.frame = shown
        result.is_changed = False
        background.start(self.runs.keep_still(self))
        return {"variable": name, "note": note, "exists": False}


@dataclass(eq=False)
class PanelRuns:
    """The runs of a panel, one at a time: each begins in `begin`, on any thread, and ends on the background loop."""

    session: RecordedClient[RemoteCall]
    publish: Callable[[], None]
    send: Callable[[Json], None]
    recipe: Callable[[], str]
    number: int = 0  # of the last one that started
    current: Job | None = None
    results: int = 0

    def __post_init__(self) -> None:
        # Requests arrive on the loop, `run` and `form[…] = …` on any thread.
        self.lock = threading.RLock()
        # The name of the output in the saved notebook.
        self.still = f"jf-still-{uuid.uuid4().hex}"
        self._kept = ""
        # One at a time, or an older one could be published last.
        self._stills = asyncio.Lock()
        self._beginning = threading.Lock()

    def begin(self, visit: Visit, start: Callable[[], Job]) -> Job:
        """Start a run or a sweep, and cancel the current one."""
        with self._beginning:
            self.cancel()
            job = start()
            with self.lock:
                self.number += 1
                self.current = visit.job = job
                visit.refusal = None
                visit.error = None
                visit.state = "form"
                visit.shown = background.start(self._follow(visit, job))

        return job

    @answers()
    def answer(self, values: Answers | None) -> Json:
        """Answer what the source asks during a run, or decline; return the errors of the values."""
        question = self.current and self.current.progress.question
        if not question or question.answer.done():
            return {"errors": {}}
        if values is None:
            question.answer.set_result(None)
            return {"errors": {}}

        form = form_of(question)
        form.update({name: Entered(text) for name, text in values.items() if text})
        errors = {name: inert(texts[0]) for name, texts in form.errors.items()}
        if not errors:
            question.answer.set_result(form.args)
        return {"errors": errors}

    @answers()
    def cancel(self) -> None:
        """Cancel the current run, if there is one."""
        if self.current:
            self.current.cancel()

    async def _follow(self, visit: Visit, job: Job) -> None:
        """Publish the start of a run, its progress every second, and its end."""
        self.publish()
        ended = asyncio.wrap_future(job.future)
        while not (await asyncio.wait([ended], timeout=_SECOND))[0]:
            if self.current is job:
                self.send({"ev": "progress", "running": run_view.running_view(job)})

        # Retrieved, or asyncio would print it.
        _ = ended.cancelled() or ended.exception()
        with self.lock:
            if self.current is job:
                self.current = None

        await self.end(visit, job)

    async def end(self, visit: Visit, job: Job) -> None:
        """Show the end of a run, unless a newer one has started."""
        if visit.job is not job:
            return
        try:
            frame = run_view.frame_of(job)
            note = visit.keeper.assign(frame, job.args, visit.form.is_same)
            make = partial(
                run_view.result_of,
                visit.function,
                job,
                frame,
                visit.keeper.name,
                self.recipe(),
            )
            await self.show(visit, make, note)
        except Exception as error:  # noqa: BLE001  # nobody sees an exception on the loop
            self.fail(visit, error, job)

    def fail(self, visit: Visit, error: BaseException, job: Job | None = None) -> None:
        """Show an error at the fields that it names, or else by itself."""
        at_fields = error.errors if isinstance(error, ArgumentError) else {}
        fixes: list[Json] = []
        if job:  # a server may name what isn't a field
            form = visit.form
            at_fields = {name: at_fields[name] for name in at_fields if name in form}
            fixes = visit.inputs.refuse(at_fields, str(error))

        visit.state = "form"
        visit.error = None
        if not at_fields:
            visit.state = "failed"
            if isinstance(error, RunCancelledError):
                visit.state = "cancelled"
            visit.error = run_view.error_view(error, self.session.redact, job, fixes)

        self.publish()

    async def show(
        self, visit: Visit, make: Callable[[], ResultView], note: str = ""
    ) -> None:
        """Show a result, and drop the tables and charts of the previous one."""
        result = await asyncio.to_thread(make)
        self.results += 1
        result.number = self.results
        result.note = note
        await asyncio.to_thread(HELD.keep, result.frame)
        with self.lock:
            visit.result = result
            visit.state = "done"
            visit.error = None

        self.publish()  # before the saved output, because the page is waiting
        await self.keep_still(visit)

    async def keep_still(self, visit: Visit) -> None:
        """Replace the output in the saved notebook."""
        async with self._stills:
            html = await asyncio.to_thread(
                run_view.still_html, visit.function.name, visit.result
            )
            if html != self._kept:
                self._kept = html
                notebook.publish_html(html, self.still, again=True)


@dataclass(eq=False)
class PanelState:
    """
    The state of one panel: the functions that are open in it, and which of them is shown.

    A method marked `answers` answers a request of the page: its parameters are the fields, and it returns the reply.
    """

    runs: PanelRuns
    trusted: bool
    tab: str = "table"
    visit: Visit | None = None

    def __post_init__(self) -> None:
        self.session = self.runs.session
        self.publish = self.runs.publish
        self.lock = self.runs.lock
        self.header = HeaderView(self.session)
        self.history = HistoryView(self.session)
        self.cell = notebook.this_cell()
        # Read once, because every change of the form sends them.
        self._presets: list[Json] = []
        self._visits: dict[str, Visit] = {}
        self._entered: LastEntered = {}
        try:
            _ = self.session.catalog
        except FuncsError as error:
            self.header.trouble = error.lines

    @property
    def chosen(self) -> Visit:
        if not self.visit:
            raise ArgumentError(
                "Nothing can be done here: no function is chosen.", "Choose one first."
            )
        return self.visit

    @answers()
    def choose(self, function: Name) -> None:
        self.enter(self.session[function])

    def enter(
        self, function: RemoteCall, form: Form | None = None, output: str = ""
    ) -> Visit:
        """Show a function's form, at first `form`; what was entered last under the same names carries over."""
        with self.lock:
            visit = self._visits.get(function.slug)
            if not visit:
                is_named = form is not None
                form = form or function.form()
                for name in list(form.values):  # %funcs panel F Symbol=[a, b]
                    for part, value in list(parts_in(form.field(name), form[name])):
                        if value is not UNSET:
                            form[part.name] = as_several(part, value)

                slug = function.slug
                keeper = notebook.ResultVariable(slug, self.cell, output, form.args)
                visit = Visit(function, form, keeper, self.runs)
                if is_named:
                    visit.name_in_cell(output)
                self._visits[slug] = visit

            self._presets = self.header.presets(visit.function.name)
            if visit is not self.visit or visit.inputs.form is not visit.form:
                self.close()
                visit.inputs = FormView(
                    visit.function,
                    visit.form,
                    self.publish_soon,
                    self._entered,
                    trusted=self.trusted,
                )
                visit.inputs.carry()
                self.visit = visit

        return visit

    @answers()
    async def refresh(self) -> Json:
        """Update each function to the new listing, and keep the values of its form; a removed one stays as it was."""
        before = self.session.listed
        await asyncio.to_thread(self.session.refresh)
        self.header.trouble = []
        for visit in self._visits.values():
            function = listed_again(visit.function)
            visit.is_listed = function is not None
            if function is None or function is visit.function:
                continue
            values = visit.form.values
            visit.function = function
            visit.form = function.form()
            fill(visit.form, values)

        # If another function has the slug of a removed one now, that one is to be chosen.
        visits = sorted(self._visits.values(), key=attrgetter("is_listed"))
        self._visits = {visit.function.slug: visit for visit in visits}
        if self.visit and self.visit.inputs.form is not self.visit.form:
            self.enter(self.visit.function)
        background.start(self.look())
        return {"said": await asyncio.to_thread(relisted, before, self.session.catalog)}

    async def look(self) -> None:
        """Read the status of the service; the token's source may be a command that takes seconds."""
        session = self.session
        self.header.status = await asyncio.to_thread(session.status, asks=False)
        self.publish()
        # List the demo's examples.
        if not self.visit and session.kind == "service" and not session.address:
            for call in self.header.offered():
                with suppress(FuncsError):
                    await example_values(call, call.form())
            self.publish()

    @answers()
    async def preset(self, name: Name, function: Name) -> Json:
        visit = self.enter(self.session[function]) if function else self.chosen
        form = visit.form
        function_name = visit.function.name
        values = self.session.presets.get(function_name, name)
        unknown = fill(form, values, keep=True)
        filled = [form.field(parameter) for parameter in values.keys() - unknown]
        stay = [
            inert(field.label)
            for field in form.fields
            if form.is_set(field.name) and field not in filled
        ]
        # Other values that a run needs.
        if name in self.session.presets.shipped(function_name):
            form.update(await example_values(visit.function, form, broken_down=False))
        visit.inputs.preset = (name, form.args)
        text = ""
        if unknown:
            text = f"Without {listed(map(quote, unknown), 'and')}: {function_name} has no such parameter. "
        if stay:
            text += f"Unchanged: {some(stay)}."
        return {"said": text.strip()}

    @answers(refused="Presets can't be saved")
    def preset_save(self, name: Name, *, replace: bool) -> Json:
        function = self.chosen.function.name
        presets = self.session.presets
        name = name.strip()
        if name in presets.names(function) and not replace:
            return {"said": f"{quote(name, 40)} exists already.", "exists": True}

        presets.save(function, name, form_values(self.chosen.form))
        self._presets = self.header.presets(function)
        return {"said": f"Saved as {quote(name, 40)}.", "exists": False}

    @answers(refused="Presets can't be deleted")
    def preset_delete(self, name: Name) -> Json:
        function = self.chosen.function.name
        self.session.presets.remove(function, name)
        self._presets = self.header.presets(function)
        return {"said": f"Deleted {quote(name, 40)}. The form keeps its values."}

    @answers(begins=True)
    async def example(self, function: Name) -> None:
        visit = self.enter(self.session[function])
        self.publish()
        visit.form.update(await example_values(visit.function, visit.form))
        visit.run()

    @answers()
    def link(self, text: LongText) -> None:
        """Fill in the form that a link names."""
        name, values = snippets.linked(text)
        visit = self.enter(self.session[name])
        for parameter, value in values.items():
            # Several values of a field that takes one are as many runs.
            if isinstance(value, list) and not visit.form.field(parameter).is_list:
                values[parameter] = NotText(value)

        visit.inputs.take(values)

    # Earlier runs

    @answers(begins=True)
    def again(self, number: RunNumber) -> None:
        """Repeat an earlier run, without cached results that are as old."""
        history = self.session.history
        run = history.get(number)
        visit = self._filled(run)
        options = history.function(run).options
        visit.run(visit.function.with_options(max_age=options.max_age))

    @answers()
    async def open(self, number: RunNumber) -> None:
        run = self.session.history.get(number)
        visit = self._filled(run)
        frame = frame_of_run(run)
        make = partial(
            run_view.ResultView,
            function=visit.function,
            args=run.args,
            frame=frame,
            reply=None,
            started=run.started,
            variable=run.variable,
            summary=f"{shape_text(frame)} · run {run.label}",
            recipe=self.runs.recipe(),
        )
        await self.runs.show(visit, make)

    @answers(in_thread=True, begins=True)
    def fetch(self, kept: KeptId) -> None:
        """Follow a run that the service keeps, and show its result."""
        job = self.session.kept(kept)
        visit = self.enter(self.session[job.function])
        fill(visit.form, job.args)
        self.runs.begin(visit, lambda: job)

    def _filled(self, run: Run) -> Visit:
        """Show the form of a run, filled in with its arguments."""
        visit = self.enter(self.session[run.function])
        fill(visit.form, values_of(run, visit.function))
        return visit

    # The view

    @answers(reads=True)
    def hello(self) -> Json:
        return {"ok": True}

    @answers()
    def update_cell(self, output: Text) -> None:
        """Note that the panel's cell now names what is shown."""
        for visit in self._visits.values():
            visit.named = None
        self.chosen.name_in_cell(output)

    @answers("tab")
    def show_tab(self) -> None:
        """Show the tab that the request names, as any request may."""

    def view(self) -> Json:
        """Return the `View` of the protocol."""
        is_named = any(visit.named is not None for visit in self._visits.values())
        view: Json = {
            "panel": self.runs.still,
            "trusted": self.trusted,
            "public": notebook.is_public(),
            "cell": {"id": self.cell.id, "names": is_named},
            "function": None,
            "fields": [],
            "presets": self._presets,
            "start": None,
        }
        if visit := self.visit:
            view["function"] = self.header.card(visit.function)
            view["fields"] = visit.inputs.fields
        else:
            view["start"] = self.header.start(self.history.rows(earlier=False)[:3])
        return view

    def run_state(self) -> Json:
        """Return the `Run` of the protocol, of whose result only the number; the page fills in what is left out."""
        visit = self.visit
        number = self.runs.number
        if not visit:
            return {"state": "empty", "number": number}
        running = self.runs.current
        return {
            "state": "running" if running else visit.state,
            "number": number,
            "running": running and run_view.running_view(running),
            "result": visit.result and {"number": visit.result.number},
            "error": visit.error,
            "ran": len(self.session.history),
        }

    def look_at_variables(self, *_: object) -> None:
        """Look what a cell has done to the results, in the thread that runs cells, and publish it."""
        for visit in list(self._visits.values()):
            if visit.result:
                visit.result.look_at_variable()
        self.publish_soon()

    def publish_soon(self, *_: object) -> None:
        """Publish later, on the loop; may be called from any thread."""
        background.background_loop().call_soon_threadsafe(self.publish)

    def close(self) -> None:
        """Stop following the form; the choice of function stays."""
        if self.visit:
            self.visit.inputs.close()

    def still_html(self) -> str:
        """Return the output for pages without the panel: the result, and the last chart."""
        visit = self.visit
        if visit:
            return run_view.still_html(visit.function.name, visit.result)
        return run_view.still_html()
