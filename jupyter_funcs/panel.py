"""Panel: choose a function, fill its form, run it, look at the result."""

from __future__ import annotations

import asyncio
import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from jupyter_funcs import loop
from jupyter_funcs.chooser import Chooser
from jupyter_funcs.errors import ArgumentError, FuncsError, RunCancelledError
from jupyter_funcs.formbox import FormBox
from jupyter_funcs.text import clip, inert, listed
from jupyter_funcs.view import (
    bad_html,
    code_html,
    done_html,
    head_html,
    result_html,
    shape_text,
    table_html,
    title_html,
)
from jupyter_funcs.widgets import below

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    import pandas as pd

    from jupyter_funcs.callables import RemoteFunction
    from jupyter_funcs.forms import Form
    from jupyter_funcs.jobs import Job
    from jupyter_funcs.session import Session


_TICK_SECONDS = 0.5


@dataclass
class _Visit:
    """What the panel remembers of a function while another one is shown."""

    function: RemoteFunction
    form: Form
    state: str = "idle"
    status: str = ""
    job: Job | None = None
    shown: Future[None] | None = None
    refusal: ArgumentError | None = None
    caption: str = ""
    table: str = ""
    is_old: bool = False  # whether the table is of other values than the form's


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
        The code that gives the DataFrame of a run, as the panel tells a person.
    """

    def __init__(self, session: Session, function: RemoteFunction | None = None, form: Form | None = None) -> None:
        self.recipe = "panel.result()"
        self._session = session
        self._visits: dict[str, _Visit] = {}
        self._visit: _Visit | None = None
        self._job: Job | None = None
        self._run_number = 0
        self.form: Form | None = None

        self._chooser = Chooser(lambda: session.catalog, self.choose, self._guard)
        self._title = w.HTML('<div class="jf-quiet">Choose a function to see its form.</div>')
        self._box: FormBox | None = None
        self._place = w.VBox()
        self._run_button = _button(
            "Run", self._guard(lambda _: self.run()), "jf-run", icon="play", button_style="primary"
        )
        self._cancel_button = _button(
            "Cancel", self._guard(lambda _: self.cancel()), "jf-cancel", icon="stop", disabled=True
        )
        self._clear_button = _button(
            "Clear", self._guard(lambda _: self._on_clear()), "jf-clear", tooltip="Clear every field"
        )
        self._actions = w.HBox(
            [self._run_button, self._cancel_button, self._clear_button], layout=w.Layout(display="none")
        )
        self._status, self._result, self._code = w.HTML(), w.HTML(), w.HTML()
        main = w.VBox(
            [self._title, self._place, self._actions, self._status, self._result, self._code],
            # 0 and not auto, or a wide table would push the form to its own width.
            layout=w.Layout(flex="1 1 420px", min_width="0"),
        )
        columns = w.HBox([self._chooser, main], layout=w.Layout(flex_flow="row wrap"))
        super().__init__([w.HTML(head_html(session.service, synthetic=session.synthetic)), columns])
        self.add_class("jf-panel")
        self._set_status("idle", "")
        if function is not None:
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

    def _open(self, function: RemoteFunction, form: Form | None = None) -> None:
        if function.slug not in self._visits:
            self._visits[function.slug] = _Visit(function, form or function.form())
        visit = self._visit = self._visits[function.slug]
        self.form = visit.form
        self._close_box()
        self._box = FormBox(visit.function, visit.form, self._on_change, self._guard)
        self._place.children = [self._box]
        self._actions.layout.display = ""
        self._clear_button.disabled = not function.fields
        about = function.function.description or ("" if function.fields else "It takes no parameters.")
        self._title.value = title_html(function.name, about)
        self._show_result(visit)
        self._chooser.choose(function.slug)
        self._set_status(visit.state, visit.status)
        self._show_code(visit)

    def run(self) -> Job:
        """
        Run the function with what the form holds; an earlier run that still goes on is cancelled.

        Raises
        ------
        ArgumentError
            Nothing is chosen, or a value is missing or not valid; the fields say which.
        """
        visit = self._visit
        if visit is None:
            raise ArgumentError("There is nothing to run: no function is chosen.", "Choose one in the list.")
        try:
            args = visit.form.check()
        except ArgumentError as error:
            visit.refusal = error
            self._refuse(visit, error)
            raise
        self.cancel()
        self._run_number += 1
        visit.refusal = None
        visit.job = self._job = visit.function.start(args)
        visit.shown = loop.start(self._follow(visit.job, visit, self._run_number))
        return visit.job

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
        loop.wait(visit.shown)
        return frame

    def cancel(self) -> None:
        """Stop waiting for the run that goes on, if one does."""
        if self._job is not None:
            self._job.cancel()

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

    async def _follow(self, job: Job, visit: _Visit, number: int) -> None:
        """Show how a run goes and ends; on the background loop, which does all writes of a run."""
        try:
            await self._watch(job, visit, number)
            error = job.error()
            if visit.job is not job:  # superseded by another run of the same function
                return
            if error is None:
                frame = await job
                visit.caption = f"{shape_text(frame)} · {job.elapsed:.2f} s"
                visit.table = await asyncio.to_thread(table_html, frame)
                self._set_old(visit, is_old=visit.form.args != job.args)
                self._end(visit, "done", done_html(visit.caption, self.recipe))
            elif isinstance(error, ArgumentError):
                self._refuse(visit, error)
            elif isinstance(error, RunCancelledError):
                self._end(visit, "cancelled", "Cancelled; the service may still finish the run.")
            else:
                self._set_old(visit)
                self._end(visit, "failed", bad_html(error.lines))
        except Exception as error:  # noqa: BLE001  # an exception on the loop is seen by nobody
            self._end(visit, "failed", bad_html([_bug(error)]))

    async def _watch(self, job: Job, visit: _Visit, number: int) -> None:
        ended = asyncio.wrap_future(job.future)
        self._run_button.disabled, self._cancel_button.disabled = True, False
        try:
            while not ended.done():
                if number == self._run_number:
                    self._end(visit, "running", f"Running… {job.elapsed:.0f} s")
                await asyncio.wait([ended], timeout=_TICK_SECONDS)
            _ = ended.cancelled() or ended.exception()  # looked at, or asyncio would print it
        finally:
            if number == self._run_number:
                self._run_button.disabled, self._cancel_button.disabled = False, True

    def _on_change(self) -> None:
        visit = self._visit
        if visit is not None:
            self._show_code(visit)
            self._set_old(visit)
            errors = visit.form.errors if visit.state == "invalid" else {}
            # What was said is mended, or is to be said anew; a size that was said is that of other values.
            if errors:
                self._end(visit, "invalid", _refusal(visit.form, errors))
            elif visit.state != "running":
                self._end(visit, "idle", "")

    def _on_clear(self) -> None:
        if self._box is not None and self._visit is not None:
            self._box.clear()
            self._show_code(self._visit)
            self._set_old(self._visit)
            self._end(self._visit, "idle", "")

    def _refuse(self, visit: _Visit, error: ArgumentError) -> None:
        """Show each text at its field, and what belongs to none in the status."""
        if self._visit is visit and self._box is not None:
            self._box.refuse(error.errors)
        self._set_old(visit)
        self._end(visit, "invalid", _refusal(visit.form, error.errors) or bad_html(error.lines))

    def _set_old(self, visit: _Visit, *, is_old: bool = True) -> None:
        visit.is_old = is_old
        self._show_result(visit)

    def _show_result(self, visit: _Visit) -> None:
        if self._visit is visit:
            self._result.value = result_html(visit.table, visit.caption if visit.is_old else "")

    def _show_code(self, visit: _Visit) -> None:
        where = repr(self._session.where) if self._session.where else ""
        call = visit.function.code(visit.form.args)
        self._code.value = code_html(f"import jupyter_funcs as jf\n\nfuncs = jf.connect({where})\ndf = {call}")

    def _end(self, visit: _Visit, state: str, said: str) -> None:
        visit.state, visit.status = state, said
        if self._visit is visit:
            self._set_status(state, said)

    def _set_status(self, state: str, said: str) -> None:
        # The state is there for assistive technology, for tests and for any other program that reads the page.
        attributes = f'role="status" data-state="{state}" data-run="{self._run_number}"'
        self._status.value = f'<div class="jf-status" {attributes}>{said}</div>'

    def _close_box(self) -> None:
        box, self._box = self._box, None
        self._place.children = ()
        if box is not None:
            box.close()

    def _guard(self, callback: Callable[[Any], object]) -> Callable[..., None]:
        """Show what a widget's callback raises; a front end shows it nowhere."""

        def guarded(*told: Any) -> None:  # ipywidgets tells a change, a button, or a widget and its message
            try:
                callback(told[1] if len(told) > 1 else told[0])
            except FuncsError as error:
                if not isinstance(error, ArgumentError) or not error.errors:  # those stand at their fields already
                    self._set_status("failed", bad_html(error.lines))
            except Exception as error:  # noqa: BLE001  # see above
                self._set_status("failed", bad_html([_bug(error)]))

        return guarded

    def __repr__(self) -> str:
        """Say what the panel shows; ipywidgets would print every widget in it."""
        chosen = self._visit.function.name if self._visit else "nothing chosen"
        return f"<Panel of {self._session.service}: {chosen}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        # Without a live kernel a front end shows the HTML: the last result, and how to get the panel back.
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        chosen = html.escape(self._visit.function.name) if self._visit else "Functions"
        result = result_html(self._visit.table, "") if self._visit else ""
        bundle["text/plain"] = repr(self)
        bundle["text/html"] = f"<p><b>{chosen}</b>: run this cell to open the panel.</p>{result}"
        return bundle


def _button(text: str, on_click: Callable[[Any], None], css_class: str, **traits: Any) -> w.Button:
    button = w.Button(description=text, layout=w.Layout(width="96px"), **traits)
    button.add_class(css_class)
    button.on_click(on_click)
    return button


def _refusal(form: Form, errors: dict[str, list[str]]) -> str:
    """Give the texts that belong to no field, and how many fields have one of their own."""
    own = {field.name for field in form.fields}
    lines = [text for name, texts in errors.items() if name not in own for text in texts]
    named = [name for name in errors if name in own]
    if named:
        lines.append(f"Not run: look at {listed(named, 'and')}.")
    return bad_html(lines)


def _bug(error: Exception) -> str:
    return f"Something failed inside jupyter_funcs: {type(error).__name__}: {clip(inert(str(error)))}"
