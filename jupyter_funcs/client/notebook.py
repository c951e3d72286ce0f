"""The notebook of this kernel: its cells and variables, what is displayed in it, and the variable of a result."""

from __future__ import annotations

import builtins
import datetime as dt
import keyword
import os
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.core.text import clip, inert, quote

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.core.json_decoding import JsonObject

_LONGEST_NAME = 60
_OF_IPYTHON = {"In", "Out"}
_SCALARS = (str, bool, int, float, dt.date, dt.time, dt.timedelta)


@dataclass(frozen=True)
class Cell:
    """One execution of a cell in which a panel was made; front ends give each cell an id."""

    id: str
    execution: int

    def is_rerun_of(self, other: Cell) -> bool:
        """Return whether this execution replaced the other one's panel on the screen."""
        return self.id == other.id != "" and self.execution > other.execution


def _shell() -> Any:
    from IPython import get_ipython

    return get_ipython()


def variables() -> dict[str, Any]:
    """Return the user's namespace; empty outside of IPython."""
    return getattr(_shell(), "user_ns", {})


def is_interactive() -> bool:
    """Return whether this is a kernel of a notebook, or IPython in a terminal."""
    return _shell() is not None


def watch_cells(look: Callable[..., None], *, on: bool = True) -> None:
    """Call a function after each cell, or no longer."""
    events = getattr(_shell(), "events", None)
    if events is None or (look in events.callbacks["post_run_cell"]) is on:
        return
    if on:
        events.register("post_run_cell", look)
    else:
        events.unregister("post_run_cell", look)


def is_public() -> bool:
    """Return whether visitors see the page, as in Voila."""
    return os.environ.get("SERVER_SOFTWARE", "").startswith("voila")


def usable(name: str, value: Any) -> str:
    """Return what a variable holds in a few words, or an empty text if it isn't a value for a field of a form."""
    if (
        name.startswith("_")
        or name in _OF_IPYTHON
        or not name.isidentifier()
        or callable(value)
    ):
        return ""

    is_data = type(value).__module__.partition(".")[0] in {"pandas", "numpy", "decimal"}
    is_list = type(value) in (list, tuple, range)
    if is_data or is_list or isinstance(value, _SCALARS):
        return about(value)
    return ""


def about(value: Any) -> str:
    """Return what a value is in a few words: ``table of 12 × 3``, ``list of 24``, or a scalar itself."""
    try:
        if isinstance(value, list | tuple | range):
            return f"list of {len(value):,}"
        if shape := getattr(value, "shape", ()):
            noun = "table"
            if len(shape) == 1:
                noun = "column"
            return f"{noun} of {' × '.join(f'{size:,}' for size in shape)}"
        return clip(inert(str(value)[:1000]), 40)
    except Exception:  # noqa: BLE001  # any object of a notebook may fail when inspected
        return type(value).__name__


def this_cell() -> Cell:
    """Return the cell that is running."""
    shell = _shell()
    parent: JsonObject = getattr(shell, "get_parent", dict)()
    cell_id = (parent.get("metadata") or {}).get("cellId", "")
    return Cell(str(cell_id), getattr(shell, "execution_count", 0))


class ResultVariable:
    """
    The variable for a panel's results of one function.

    Its name is the function's slug without ``get_``. A variable that no panel assigned is never overwritten without
    asking: the next free name with a number is used instead. One that the user named keeps its result until a run with
    the same arguments refreshes it.

    `output` is the variable that the cell itself names, with what its run sends; the first run replaces it.
    """

    name = ""

    def __init__(
        self, slug: str, cell: Cell, output: str = "", sent: Args | None = None
    ) -> None:
        self._default = default_name(slug)
        self.cell = cell
        self._output = output
        self._named: dict[str, Args] = {}  # by the user, with what their runs sent
        self._add(output, sent or {})

    def assign(
        self, frame: pd.DataFrame, args: Args, is_same: Callable[[Args, Args], bool]
    ) -> str:
        """Assign the result of a run to a variable; return a note if that isn't the one before, else an empty text."""
        if _shell() is None:
            return ""
        others = {name for name, sent in self._named.items() if not is_same(sent, args)}
        name = wanted = next(
            (name for name in self._named if name not in others), self._default
        )
        number = 1
        while self._is_taken(name) or name in others:
            number += 1
            name = f"{wanted}_{number}"

        before = self.name
        self.name = name
        self._output = ""
        self._assign(name, frame)
        if before in self._named and name != before and _assigned_by(before):
            return f"In {name}; {before} keeps the run before."
        if name in {before, wanted}:
            return ""
        return f"You already have a variable {wanted}, so this result is {name}."

    def is_named(self, name: str) -> bool:
        """Return whether the user chose this name."""
        return name in self._named

    def _add(self, name: str, sent: Args) -> None:
        if name not in {"", self._default}:
            self._named[name] = sent

    def rename(
        self,
        name: str,
        before: str,
        shown: pd.DataFrame,
        args: Args,
        *,
        replace: bool = False,
    ) -> str:
        """
        Move a result to another name; return why to ask before that, unless `replace`.

        The old variable is deleted if a panel created it; one that the user made stays.

        The new variable has `shown`: the frame itself, or a copy of the reply if the notebook has changed the frame.

        Raises
        ------
        ArgumentError
            Python takes no such name.
        """
        _check_name(name)
        if name == before or _shell() is None:
            return ""
        value = variables().get(name, shown)
        if value is not shown and not (replace or self._is_of_rerun(name)):
            kind = type(value).__name__
            return f"{name} already exists ({kind})."

        if hasattr(builtins, name) and not replace:
            return f"{name} is a Python built-in, which this variable would hide."
        old = _assigned_by(before)
        if old and old.is_created:
            del variables()[before], _assigned[before]
        self._named.pop(before, None)
        self._add(name, args)
        self.name = name
        self._assign(name, shown)
        return ""

    def _assign(self, name: str, frame: pd.DataFrame) -> None:
        old = _assigned_by(name)
        is_created = name not in variables() or bool(old and old.is_created)
        _assigned[name] = _Assigned(weakref.ref(frame), self, is_created)
        _shell().push({name: frame})

    def _is_taken(self, name: str) -> bool:
        old = _assigned_by(name)
        is_own = old and old.by is self
        is_free = name == self._output or is_own or self._is_of_rerun(name)
        return name in variables() and not is_free

    def _is_of_rerun(self, name: str) -> bool:
        """Return whether an earlier execution of this panel's cell created the variable."""
        old = _assigned_by(name)
        return bool(old and old.is_created and self.cell.is_rerun_of(old.by.cell))


class _Assigned(NamedTuple):
    """What a panel assigned to a variable, which it created unless a user had made it before."""

    frame: weakref.ref[pd.DataFrame]
    by: ResultVariable
    is_created: bool


_assigned: dict[str, _Assigned] = {}  # by name


def _assigned_by(name: str) -> _Assigned | None:
    """Return what a panel has assigned to a variable, if that still holds it."""
    assigned = _assigned.get(name)
    if assigned and variables().get(name) is assigned.frame() is not None:
        return assigned
    return None


def default_name(slug: str) -> str:
    """Return the slug without ``get_``, prefixed with ``df_`` if Python uses that name."""
    name = slug.removeprefix("get_")[:_LONGEST_NAME]
    if not name.isidentifier() or keyword.iskeyword(name) or hasattr(builtins, name):
        return f"df_{name}"
    return name


def show(bundle: JsonObject) -> None:
    """Display an object by its MIME types; as text outside of IPython."""
    from IPython.display import display

    display(bundle, raw=True)  # type: ignore[no-untyped-call]  # IPython's


def publish_html(html: str, name: str, *, again: bool = False) -> bool:
    """Display HTML, or with `again` replace what was displayed under this name; return whether it is shown."""
    shell = _shell()
    is_shown = hasattr(shell, "kernel")  # a terminal shows no HTML
    if is_shown:  # from any thread
        shell.display_pub.publish(
            {"text/html": html}, transient={"display_id": name}, update=again
        )

    return is_shown


def _check_name(name: str) -> None:
    if keyword.iskeyword(name):
        raise ArgumentError(
            f"{quote(name)} is a Python keyword.",
            f"Choose another name, such as {name}_.",
        )

    if not name.isidentifier():
        raise ArgumentError(
            f"{quote(name)} isn't a valid variable name.",
            "Use letters, digits and _, starting with a letter.",
        )
