"""Visits: what a panel remembers of each function while another one is on the screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_funcs import keeping
from jupyter_funcs.head import listed_again, taken_over
from jupyter_funcs.swept import as_several

if TYPE_CHECKING:
    from concurrent.futures import Future

    from jupyter_funcs.callables import RemoteFunction
    from jupyter_funcs.errors import ArgumentError
    from jupyter_funcs.forms import Args, Form
    from jupyter_funcs.jobs import Job
    from jupyter_funcs.outcome import Outcome


@dataclass(slots=True, eq=False)
class Visit:
    """
    What a panel remembers of one function.

    Attributes
    ----------
    function, form
        What is shown.
    keeper
        The variable of its results.
    state, said
        How its last run stands, as one word and as HTML.
    job
        Its last run.
    shown
        Done when that run is on the screen.
    refusal
        Why it was not run, when that was so last.
    outcome
        Its last good result.
    note
        What there is to say of its variable's name.
    is_old
        Whether it is of other values than the form's, or of an earlier run than the last.
    asked
        The arguments of very many runs, about which a person was asked.
    """

    function: RemoteFunction
    form: Form
    keeper: keeping.Keeper
    state: str = "idle"
    said: str = ""
    job: Job | None = None
    shown: Future[None] | None = None
    refusal: ArgumentError | None = None
    outcome: Outcome | None = None
    note: str = ""
    is_old: bool = False
    asked: Args | None = None


class Visits:
    """The visits of one panel, by the slugs of their functions."""

    def __init__(self) -> None:
        self.cell = keeping.this_cell()
        self._by_slug: dict[str, Visit] = {}

    def of(self, function: RemoteFunction, form: Form | None = None) -> Visit:
        """Give the visit of a function; its first one begins with this form, or an empty one."""
        if function.slug not in self._by_slug:
            form = form or function.form()
            form.variables = keeping.variables
            for name, value in form.values.items():  # %funcs panel F Symbol=[a, b]
                form.values[name] = as_several(form.field(name), value)
            self._by_slug[function.slug] = Visit(function, form, keeping.Keeper(function.slug, self.cell))
        return self._by_slug[function.slug]

    def list_again(self) -> None:
        """Take each function as it is listed now, with the values of its form; one that is gone stays as it was."""
        visits, self._by_slug = list(self._by_slug.values()), {}
        now = [listed_again(visit.function) for visit in visits]
        # The ones gone first: where one's slug is another's by now, that is the one to be chosen.
        for visit, function in sorted(zip(visits, now, strict=True), key=lambda pair: pair[1] is not None):
            if function is not None and function is not visit.function:
                visit.function, visit.form = function, taken_over(visit.form, function)
                visit.form.variables = keeping.variables
                visit.is_old = visit.outcome is not None and visit.form.args != visit.outcome.args
            self._by_slug[visit.function.slug] = visit
