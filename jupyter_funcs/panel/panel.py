"""Panel: choose a function, fill its form, run it, look at the result, keep it."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import html
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from jupyter_funcs.core import background
from jupyter_funcs.core.errors import ArgumentError, FuncsError, RunCancelledError
from jupyter_funcs.core.text import inert, listed, quote
from jupyter_funcs.panel.chooser import Chooser
from jupyter_funcs.panel.form.controls import below
from jupyter_funcs.panel.form.formbox import FormBox
from jupyter_funcs.panel.header import Head, Heading
from jupyter_funcs.panel.history_view import values_of
from jupyter_funcs.panel.result.history_tab import HistoryTab, has_runs
from jupyter_funcs.panel.result.results import TABS, Results, TabType
from jupyter_funcs.panel.run_bar import RunBar, StateLine, problem_html, refusal_html, running_html
from jupyter_funcs.panel.running import (
    Runner,
    as_code,
    asked,
    begun,
    came_html,
    cancelled_html,
    ended,
    is_vain,
    swept_by,
    told_html,
)
from jupyter_funcs.panel.saved_output import Saved
from jupyter_funcs.panel.shared.outcome import Outcome
from jupyter_funcs.panel.shared.parts import Parts, guarding, hide
from jupyter_funcs.panel.visits import Visit, Visits
from jupyter_funcs.records.presets import fill
from jupyter_funcs.sweeps.messages import failed_html

if TYPE_CHECKING:
    import pandas as pd

    from jupyter_funcs.catalog.form import Form
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.client.jobs import Job
    from jupyter_funcs.panel.shared.outcome import PanelSession
    from jupyter_funcs.records.run import Run


_HISTORY = "History"


class Panel(w.VBox):  # type: ignore[misc]  # ipywidgets has no types
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

    Attributes
    ----------
    form
        The form on the screen: what it shows is what the form holds. ``None`` while nothing is chosen.
    recipe
        The code that gives the DataFrame of a run where no variable holds it, as the panel tells a person.
    """

    def __init__(self, session: PanelSession, function: RemoteCall | None = None, form: Form | None = None) -> None:
        self.recipe = "panel.result()"
        self.form: Form | None = None
        self._session = session
        self._visits = Visits()
        self._visit: Visit | None = None
        self._runner = Runner(self._show_running, self._on_end, self._visits.cell)

        guard = self._guard = guarding(self._show_problem)
        parts = self._parts = Parts()
        self._head = Head(session, self._on_refresh, guard, parts)
        try:
            _ = session.catalog
        except FuncsError as error:
            self._head.say_failed(error)
        self._chooser = Chooser(lambda: session.listed, session.favourites, self.choose, guard, parts)
        self._heading = Heading(session, self._chooser.list_functions, guard, parts)
        self._box: FormBox | None = None
        self._place = w.VBox(layout=parts.layout)
        self._summary = parts.html()
        self._bar = RunBar(self._on_run, self.cancel, self._on_clear, self._on_each, guard, parts)
        self._state = StateLine(parts)
        self._earlier: w.Button | None = None
        history: TabType = partial(HistoryTab, session.history, self._on_fill, self._on_run_again)
        tabs = {**TABS, _HISTORY: history}
        self._results = Results(self._on_rename, guard, parts, tabs)
        self._code, self._saved = parts.html(), Saved(parts)
        main = w.VBox(
            [
                *(self._heading, self._place, self._summary, self._bar, self._state),
                *(self._results, self._code, self._saved),
            ],
            layout=parts.layout,
            _dom_classes=("jf-main",),
        )
        columns = w.HBox([self._chooser, main], layout=parts.layout, _dom_classes=("jf-row",))
        super().__init__([self._head, columns], layout=parts.layout, _dom_classes=("jf-panel",))
        self._head.look()
        if function is None:
            self._show_title()
        else:
            self._open(function, form)

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
        self._open(self._session[name])

    def _open(self, function: RemoteCall, form: Form | None = None) -> None:
        visit = self._visit = self._visits.of(function, form)
        self.form = visit.form
        self._close_box()
        self._box = FormBox(visit.function, visit.form, self._on_change, self._guard, self._on_run)
        self._place.children = [self._box]
        self._show_title()
        self._chooser.choose(function.slug)
        self._show_form()
        self._end(visit, visit.state, visit.said)
        self._show_result()

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
            self._refuse(visit, error)
            raise
        visit.refusal = None
        self._chooser.use(visit.function.name)
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
        self._runner.wait()
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
        """Cancel what runs and close every model of the panel."""
        if self.comm is None:  # closed already: ipywidgets closes once more when it disposes of the object
            return
        self.cancel()
        self._close_box()
        for widget in below(self):
            for model in (widget.layout, getattr(widget, "style", None), widget):
                if model is not None:
                    model.close()
        self.layout.close()
        super().close()

    # A run

    def _on_run(self) -> None:
        if self._runner.press(lambda: self._guard(lambda _: self._run_pressed())(None)):
            self._bar.run.disabled = True

    def _run_pressed(self) -> None:
        try:
            if asks := self._visit and asked(self._visit):
                self._end(self._visit, "idle", html.escape(asks))
            else:
                self.run()
        finally:
            self._show_form()

    def _show_running(self, visit: Visit) -> None:
        if self.comm is not None and visit.job is not None:
            self._show_form()
            elsewhere = "" if self._visit is visit else visit.function.name
            self._state.show("running", running_html(visit.job, elsewhere), self._runner.number)

    async def _on_end(self, visit: Visit, job: Job) -> None:
        """Show how a run has ended."""
        if self.comm is None:  # closed meanwhile
            return
        try:
            error = job.error()
            if error is None:
                await self._finish(visit, job, await ended(job))
            elif isinstance(error, ArgumentError):
                self._refuse(visit, error)
            elif isinstance(error, RunCancelledError):
                self._end(visit, "cancelled", cancelled_html(job))
            else:
                self._set_old(visit, is_old=True)
                said = problem_html(error, job.progress.request_id, self._session.redact)
                self._end(visit, "failed", said + told_html(job))
        except Exception as error:  # noqa: BLE001  # an exception on the loop is seen by nobody
            self._end(visit, "failed", problem_html(error, cleaned=self._session.redact))
        self._show_form()
        if self._visit is not None and self._visit is not visit:
            self._end(self._visit, self._visit.state, self._visit.said)

    async def _finish(self, visit: Visit, job: Job, frame: pd.DataFrame) -> None:
        if visit.job is not job:  # it was run again by now
            return
        if is_vain(job, frame):
            self._set_old(visit, is_old=True)
            self._end(visit, "failed", failed_html(frame, self.recipe))
            return
        visit.note = visit.keeper.assign(frame)
        visit.outcome = Outcome(
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
        visit.is_old = visit.form.args != job.args
        self._head.look()
        if self._visit is visit:
            self._show_form()
            await self._results.show(visit)
        if visit.job is job:
            self._end(visit, "done", came_html(job, frame, visit.keeper.name or self.recipe) + told_html(job))
        await self._leave(visit)

    # What a person does

    def _on_change(self) -> None:
        visit = self._visit
        self._runner.changed = time.monotonic()
        if visit is not None:
            self._set_old(visit, is_old=visit.outcome is not None and visit.form.args != visit.outcome.args)
            self._show_form()
            errors = visit.form.errors if visit.state == "invalid" else {}
            # What was wrong is fixed, or is reported again; a size that was shown belongs to other values.
            if errors:
                self._end(visit, "invalid", refusal_html(visit.form, errors))
            elif self._runner.running is not visit:
                self._end(visit, "idle", "")

    def _on_clear(self) -> None:
        if self._box is not None:
            self._box.clear()
            self._on_change()

    def _on_each(self, names: list[str]) -> None:
        if self._box is not None:
            self._box.run_for_each(names)

    def _on_fill(self, run: Run) -> None:
        """Show the function of an earlier run with its values."""
        function = self._session[run.function]
        values = values_of(run, function)
        if self._visit is None or self._visit.function.slug != function.slug:
            self._open(function)
        visit = self._visit
        if visit is not None and (unknown := fill(visit.form, values)):
            gone = f"Without {listed(map(quote, unknown), 'and')}: {function.name} has no such parameter."
            self._end(visit, "idle", html.escape(gone))

    def _on_run_again(self, run: Run) -> None:
        """Run what an earlier run has run, and take nothing from the cache that is as old."""
        options = self._session.history.function(run).options
        self._on_fill(run)
        visit = self._visit
        if visit is not None:
            before = visit.function
            visit.function = before.with_options(max_age=options.max_age)
            try:
                self._run_pressed()
            finally:
                visit.function = before

    def _on_rename(self) -> None:
        visit = self._visit
        if visit is not None and visit.outcome is not None:
            visit.outcome = dataclasses.replace(visit.outcome, variable=visit.keeper.name)
            visit.note = ""
            self._show_result()
            self._leaving = background.start(self._leave(visit))

    def _on_refresh(self) -> None:
        """Show the catalog again, and each function as it is listed now; one that is gone stays as it was."""
        self._chooser.list_functions()
        shown = self._visit
        before = shown and shown.function
        self._visits.list_again()
        if shown is not None and shown.function is not before:
            self._open(shown.function)
        self._show_title()

    # What is on the screen

    def _show_title(self) -> None:
        if self._visit is None:
            self._heading.invite(self._chooser.invitation)
        else:
            self._heading.show(self._visit.function, self._visit.form)

    def _show_form(self) -> None:
        """Show what is missing, and offer a run when nothing is."""
        visit, box = self._visit, self._box
        if visit is not None and box is not None and self.comm is not None:
            self._heading.follow()
            self._offer_history(visit)
            self._summary.value = f'<div class="jf-summary" role="status">{html.escape(box.summary)}</div>'
            running = self._runner.running is not None
            form = visit.form
            self._bar.show(running=running, valid=box.valid, runs=form.runs, fields=list(form), each=box.each)
            # A result has a tab for its code; these values have none.
            self._code.value = as_code(visit, self._session.where) if visit.outcome is None or visit.is_old else ""

    def _offer_history(self, visit: Visit) -> None:
        """Offer the earlier runs where there is no result that shows their tab."""
        wanted = visit.outcome is None and has_runs(self._session.history)
        if wanted and self._earlier is None:
            self._earlier = self._parts.button(
                _HISTORY,
                "jf-open-history",
                self._guard(lambda _: background.start(self._results.look_back(_HISTORY))),
                tooltip="The runs of this kernel, to run again or to fill the form with",
            )
            self._bar.children = (*self._bar.children, self._earlier)
        if self._earlier is not None:
            hide(self._earlier, hidden=not wanted)

    def _refuse(self, visit: Visit, error: ArgumentError) -> None:
        """Show each text at its field, and what belongs to none in the state line."""
        if self._visit is visit and self._box is not None:
            self._box.refuse(error.errors)
        self._set_old(visit, is_old=True)
        said = refusal_html(visit.form, error.errors) or problem_html(error, cleaned=self._session.redact)
        self._end(visit, "invalid", said)

    def _set_old(self, visit: Visit, *, is_old: bool) -> None:
        if visit.is_old != is_old:
            visit.is_old = is_old
            self._show_form()
            self._show_result()

    def _show_result(self) -> None:
        if self._visit is not None:
            background.start(self._results.show(self._visit))

    def _show_problem(self, error: Exception) -> None:
        said = problem_html(error, cleaned=self._session.redact)
        self._state.show("failed", said, self._runner.number)

    def _end(self, visit: Visit, state: str, said: str) -> None:
        visit.state, visit.said = state, said
        if self._visit is visit and self.comm is not None:
            self._state.show(state, said, self._runner.number)

    def _close_box(self) -> None:
        box, self._box = self._box, None
        self._place.children = ()
        if box is not None:
            box.close()

    @property
    def _of_note(self) -> tuple[str, Outcome | None]:
        visit = self._visit
        return ("", None) if visit is None else (visit.function.name, visit.outcome)

    async def _leave(self, visit: Visit) -> None:
        if visit.outcome is not None:
            await asyncio.to_thread(self._saved.leave, visit.outcome)

    def _ipython_display_(self, **_: Any) -> None:
        self._saved.put(self._repr_mimebundle_(), *self._of_note)

    def __repr__(self) -> str:
        """Say what the panel shows; ipywidgets would print every widget in it."""
        chosen = inert(self._visit.function.name) if self._visit else "nothing chosen"
        return f"<Panel of {self._session.service}: {chosen}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        self._head.look()
        # Without a live kernel a front end shows the HTML: the last result, and how to get the panel back.
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        bundle["text/plain"] = repr(self)
        bundle["text/html"] = self._saved.html(*self._of_note)
        return bundle
