"""Visit: what a panel remembers of one function while another one is on the screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import Future

    from jupyter_funcs.callables import RemoteFunction
    from jupyter_funcs.errors import ArgumentError
    from jupyter_funcs.forms import Form
    from jupyter_funcs.jobs import Job
    from jupyter_funcs.keeping import Keeper
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
    """

    function: RemoteFunction
    form: Form
    keeper: Keeper
    state: str = "idle"
    said: str = ""
    job: Job | None = None
    shown: Future[None] | None = None
    refusal: ArgumentError | None = None
    outcome: Outcome | None = None
    note: str = ""
    is_old: bool = False
