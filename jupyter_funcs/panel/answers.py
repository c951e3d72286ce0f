"""Answers: what the page may ask of a panel, beside what it asks about the form and about the result."""

from __future__ import annotations

import asyncio
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pandas as pd

from jupyter_funcs.core import background
from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.core.text import listed, quote
from jupyter_funcs.frames.display import shape_text
from jupyter_funcs.panel import requests, run_view
from jupyter_funcs.panel.header_view import changes, example_values, fill_preset, sections
from jupyter_funcs.panel.history_view import gone_text, values_of, without_result
from jupyter_funcs.records.presets import fill, form_values
from jupyter_funcs.sweeps.job import asks_text

if TYPE_CHECKING:
    from jupyter_funcs.panel.state import PanelState, Visit
    from jupyter_funcs.records.run import Run

GONE = "This result is no longer shown: another run has ended since."


class Answers:
    """One method for each kind of request; its parameters are what the page sends, and it returns the reply."""

    def __init__(self, state: PanelState) -> None:
        self._state, self._session = state, state.session

    @requests.asked()
    def hello(self) -> dict[str, Any]:
        return {"ok": True}

    # The catalog

    @requests.asked()
    def functions(self, query: requests.Text, first: requests.Number) -> dict[str, Any]:
        return sections(self._session, query, first)

    @requests.asked()
    def choose(self, function: requests.Name) -> None:
        self._state.enter(self._session[function])

    @requests.asked()
    async def example(self, function: requests.Name) -> None:
        visit = self._state.enter(self._session[function])
        self._state.publish()
        visit.form.update(await example_values(visit.function, visit.form))
        self._state.run()

    @requests.asked(refused="Favourites can't be changed")
    def favourite(self, function: requests.Name, *, on: bool) -> None:
        self._session.favourites.mark(self._session[function].name, is_favourite=on)

    @requests.asked()
    async def refresh(self) -> dict[str, Any]:
        before = self._session.listed
        await asyncio.to_thread(self._session.refresh)
        self._state.trouble = []
        self._state.list_again()
        background.start(self._state.look())
        return {"said": changes(before, self._session.catalog)}

    @requests.asked()
    def about(self) -> dict[str, Any]:
        status = self._state.status
        rows = status.rows if status else [("service", self._session.service)]
        return {"facts": [("version", f"jupyter_funcs {version('jupyter-funcs')}"), *rows]}

    # The form

    @requests.asked()
    def set(self, seq: requests.Number, field: requests.Name, value: requests.PageValue) -> None:
        self._state.inputs.take({field: requests.plain(value)}, seq)

    @requests.asked()
    async def preset(self, name: requests.Name, function: requests.Name) -> dict[str, Any]:
        visit = self._state.enter(self._session[function]) if function else self._state.chosen
        unknown = await fill_preset(self._session, visit.function, visit.form, name)
        self._state.inputs.preset = (name, visit.form.args)
        gone = f"Without {listed(map(quote, unknown), 'and')}: {visit.function.name} has no such parameter."
        return {"said": gone if unknown else ""}

    @requests.asked(refused="Presets can't be saved")
    def preset_save(self, name: requests.Name, *, replace: bool) -> dict[str, Any]:
        visit, presets, name = self._state.chosen, self._session.presets, name.strip()
        if name in presets.names(visit.function.name) and not replace:
            return {"said": f"{quote(name, 40)} exists already.", "exists": True}
        presets.save(visit.function.name, name, form_values(visit.form))
        self._state.read_presets(visit.function)
        return {"said": f"Saved as {quote(name, 40)}.", "exists": False}

    @requests.asked(refused="Presets can't be deleted")
    def preset_delete(self, name: requests.Name) -> dict[str, Any]:
        function = self._state.chosen.function
        self._session.presets.remove(function.name, name)
        self._state.read_presets(function)
        return {"said": f"Deleted {quote(name, 40)}. The form keeps its values."}

    # A run

    @requests.asked()
    def run(self, seq: requests.Number, values: requests.PageValues, *, confirmed: bool) -> dict[str, Any]:
        visit, inputs = self._state.chosen, self._state.inputs
        most = visit.function.most_runs
        if self._state.running is not None:  # a second press, sent before the page knew of the first
            return {"asks": ""}
        inputs.take({name: requests.plain(value) for name, value in values.items()}, seq)
        inputs.press()
        if confirmed:
            visit.asked = visit.form.args
        elif visit.asked != visit.form.args and visit.form.runs > max(most, 1) and not visit.form.errors:
            return {"asks": asks_text(visit.form.runs, most)}
        try:
            self._state.run()
        except ArgumentError as error:
            if not error.errors:
                raise
        return {"asks": ""}

    @requests.asked()
    def cancel(self) -> None:
        self._state.cancel()

    @requests.asked()
    def retry(self) -> None:
        self._state.run()

    @requests.asked()
    def retry_failed(self, rows: requests.FailedRows) -> None:
        """Run again what failed of the sweep that is shown, or some of it, whatever the form holds by now."""
        visit = self._state.chosen
        if visit.result is None or visit.result.sweep is None:
            raise ArgumentError(GONE)
        self._state.start(visit, partial(visit.result.sweep.retry, rows))

    @requests.asked()
    def dismiss(self) -> None:
        self._state.chosen.error = None

    @requests.asked()
    def code(self) -> dict[str, Any]:
        visit = self._state.chosen
        variable = visit.result.variable if visit.result else ""
        return run_view.code_view(visit.function, visit.form, self._session.where, variable or "df")

    @requests.asked()
    def tab(self, tab: requests.Tab) -> None:
        self._state.tab = tab

    @requests.asked(refused="Variables can't be renamed")
    def rename(self, name: requests.Name, *, replace: bool) -> dict[str, Any]:
        visit, name = self._state.chosen, name.strip()
        if visit.result is None:
            raise ArgumentError(GONE)
        before = visit.result.held_as
        if name != before and (question := visit.keeper.conflict(name)) and not replace:
            return {"variable": before, "note": question, "exists": True}
        visit.keeper.rename(name, visit.result.frame, before)
        visit.note = f"{before} is now {name}." if before and before != name else ""
        visit.result.variable = name
        background.start(self._state.keep_still(visit))
        return {"variable": name, "note": visit.note, "exists": False}

    # History

    @requests.asked()
    def history(self) -> dict[str, Any]:
        return {"rows": self._state.history.rows(earlier=True)}

    @requests.asked()
    def again(self, number: requests.RunNumber) -> None:
        """Run what an earlier run has run, and take nothing from the cache that is as old."""
        run = self._session.history.get(number)
        visit = self._filled(run)
        function, max_age = visit.function, self._session.history.function(run).options.max_age
        visit.function = function.with_options(max_age=max_age)
        try:
            self._state.run()
        finally:
            visit.function = function

    @requests.asked()
    async def open(self, number: requests.RunNumber) -> dict[str, Any]:
        run = self._session.history.get(number)
        visit, frame = self._filled(run), run.frame
        if not isinstance(frame, pd.DataFrame):
            return {"said": without_result(run) or f"{gone_text([run.label])} Run it again."}
        visit.note = ""
        told = run.started, run.variable, f"{shape_text(frame)} · run {run.label}", self._state.recipe()
        await self._state.show(visit, partial(run_view.ResultView, visit.function, run.args, frame, None, *told))
        return {"said": ""}

    def _filled(self, run: Run) -> Visit:
        """Show the form of a run, with its arguments."""
        function = self._session[run.function]
        visit = self._state.enter(function)
        fill(visit.form, values_of(run, function))
        return visit
