"""Visits: what a panel remembers of each function while another one is on the screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jupyter_funcs.catalog.values import as_several
from jupyter_funcs.client import notebook

if TYPE_CHECKING:
    from concurrent.futures import Future

    from jupyter_funcs.catalog.form import Args, Form
    from jupyter_funcs.catalog.listing import Function
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.client.jobs import Job
    from jupyter_funcs.core.errors import ArgumentError
    from jupyter_funcs.panel.form_view import FormView
    from jupyter_funcs.panel.result_view import ResultView
    from jupyter_funcs.sweeps.job import SweepJob


@dataclass(slots=True, eq=False)
class Visit:
    """What a panel remembers of one function."""

    function: RemoteCall
    form: Form
    keeper: notebook.ResultVariable
    inputs: FormView | None = None  # while it is on the screen
    is_listed: bool = True
    state: str = "form"
    job: Job | None = None
    sweep: SweepJob | None = None  # that the result came from
    shown: Future[None] | None = None
    refusal: ArgumentError | None = None
    error: dict[str, Any] | None = None
    asked: Args | None = None
    result: ResultView | None = None
    note: str = ""  # what happened to the result's variable


class Visits:
    """The visits of one panel, by the slugs of their functions."""

    def __init__(self) -> None:
        self.cell = notebook.this_cell()
        self._by_slug: dict[str, Visit] = {}

    def of(self, function: RemoteCall, form: Form | None = None) -> Visit:
        """Give the visit of a function; its first one begins with this form, or an empty one."""
        if function.slug not in self._by_slug:
            form = form or function.form()
            form.variables = notebook.variables
            for name, value in form.values.items():  # %funcs panel F Symbol=[a, b]
                form.values[name] = as_several(form.field(name), value)
            self._by_slug[function.slug] = Visit(function, form, notebook.ResultVariable(function.slug, self.cell))
        return self._by_slug[function.slug]

    def list_again(self) -> None:
        """Take each function as it is listed now, with the values of its form; one that is gone stays as it was."""
        visits, self._by_slug = list(self._by_slug.values()), {}
        now = [listed_again(visit.function) for visit in visits]
        # The ones gone first: where one's slug is another's by now, that is the one to be chosen.
        for visit, function in sorted(zip(visits, now, strict=True), key=lambda pair: pair[1] is not None):
            visit.is_listed = function is not None
            if function is not None and function is not visit.function:
                visit.function, visit.form = function, taken_over(visit.form, function)
                visit.form.variables = notebook.variables
            self._by_slug[visit.function.slug] = visit


def listed_again(function: RemoteCall) -> RemoteCall | None:
    """Give a function as it is listed now, with the same options: itself where nothing changed; ``None`` if gone."""
    catalog = function.session.listed
    if catalog is None:
        return None
    by_slug, by_name = catalog.peek(function.slug), catalog.peek(function.name)
    found = next((each for each in (by_slug, by_name) if each is not None and each.name == function.name), None)
    if found is None:
        return None
    slug = catalog.slug(found)
    if alike([found], [function.function]) and slug == function.slug:
        return function
    now = function.session[slug].with_options()
    now.options = function.options
    return now


def taken_over(form: Form, function: RemoteCall) -> Form:
    """Give a form of a function that is listed otherwise by now, with the values of its earlier form."""
    known = {field.name for field in function.fields}
    return function.form(**{name: value for name, value in form.values.items() if name in known})


def alike(some: list[Function], others: list[Function]) -> bool:
    """Say whether functions are the same but for their places; those of another number were added or removed."""
    return len(some) != len(others) or all(
        one == other or one == other.model_copy(update={"sort_value": one.sort_value})
        for one, other in zip(some, others, strict=True)
    )
