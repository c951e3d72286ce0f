"""The notebook of this kernel: its cells and variables, what is displayed in it, and the variable of a result."""

from __future__ import annotations

import builtins
import datetime as dt
import keyword
import os
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.core.text import clip, inert, quote

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

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


# The variables that panels have created, by name, with the result and the cell; none that a user made.
_assigned: dict[str, tuple[weakref.ref[pd.DataFrame], Cell]] = {}


def _shell() -> Any:
    from IPython import get_ipython

    return get_ipython()


def variables() -> dict[str, Any]:
    """Return the user's namespace; empty outside of IPython."""
    shell = _shell()
    return {} if shell is None else shell.user_ns


def is_interactive() -> bool:
    """Return whether this is a kernel of a notebook, or IPython in a terminal."""
    return _shell() is not None


def watch_cells(look: Callable[..., None], *, on: bool = True) -> None:
    """Call a function after each cell, or no longer."""
    events = getattr(_shell(), "events", None)
    if events is not None and (look in events.callbacks["post_run_cell"]) is not on:
        (events.register if on else events.unregister)("post_run_cell", look)


def is_public() -> bool:
    """Return whether visitors see the page, as in Voila."""
    return os.environ.get("SERVER_SOFTWARE", "").startswith("voila")


def usable(name: str, value: Any) -> str:
    """Return what a variable holds in a few words, or an empty text if it is no value for a field of a form."""
    if name.startswith("_") or name in _OF_IPYTHON or not name.isidentifier() or callable(value):
        return ""
    known = type(value).__module__.partition(".")[0] in {"pandas", "numpy", "decimal"}
    return (
        about(value)
        if known or type(value) in (list, tuple, range) or isinstance(value, _SCALARS)
        else ""
    )


def about(value: Any) -> str:
    """Return what a value is in a few words: ``table of 12 × 3``, ``list of 24``, or a scalar itself."""
    try:
        is_list = isinstance(value, list | tuple | range)
        shape = (len(value),) if is_list else getattr(value, "shape", ())
        noun = "list" if is_list else "column" if len(shape) == 1 else "table"
        return (
            f"{noun} of {' × '.join(f'{size:,}' for size in shape)}"
            if shape
            else clip(inert(str(value)[:1000]), 40)
        )
    except Exception:  # noqa: BLE001  # any object of a notebook may fail when inspected
        return type(value).__name__


def this_cell() -> Cell:
    """Return the cell that is running."""
    shell = _shell()
    parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
    cell_id = (parent.get("metadata") or {}).get("cellId", "")
    return Cell(str(cell_id), getattr(shell, "execution_count", 0))


class ResultVariable:
    """
    The variable for a panel's results of one function.

    Its name is the function's slug without ``get_``. A variable that no panel assigned is never overwritten without
    asking: the next free name with a number is used instead.
    """

    name = ""
    _frame: pd.DataFrame | None = None

    def __init__(self, slug: str, cell: Cell) -> None:
        self._wanted = default_name(slug)
        self._cell = cell

    def assign(self, frame: pd.DataFrame) -> str:
        """Assign a result to the variable; return a note if that needed another name, else an empty text."""
        if _shell() is None:
            return ""
        name = wanted = self._wanted
        number = 1
        while self._is_taken(name):
            number += 1
            name = f"{wanted}_{number}"
        self._frame = frame
        self._assign(name, frame)
        return (
            ""
            if name == wanted
            else f"You already have a variable {wanted}, so this result is {name}."
        )

    def rename(
        self,
        name: str,
        frame: pd.DataFrame,
        before: str,
        shown: pd.DataFrame,
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
        if keyword.iskeyword(name):
            raise ArgumentError(
                f"{quote(name)} is a Python keyword.", f"Choose another name, such as {name}_."
            )
        if not name.isidentifier():
            what = f"{quote(name)} isn't a valid variable name."
            raise ArgumentError(what, "Use letters, digits and _, starting with a letter.")
        if name != before and not replace:
            held = variables().get(name, shown)
            if held is not shown and (held is self._frame or self._is_taken(name)):
                kind = type(held).__name__
                return f"{name} already exists (a{'n' * (kind[0] in 'aeiouAEIO')} {kind})."
            if hasattr(builtins, name):
                return f"{name} is a Python built-in, which this variable would hide."
        if name != before and _shell() is not None:
            if _is_created(before):
                del variables()[before], _assigned[before]
            self._frame = shown if frame is self._frame else self._frame
            self._assign(name, shown)
        return ""

    def _assign(self, name: str, frame: pd.DataFrame) -> None:
        if name not in variables() or _is_created(name):
            _assigned[name] = (weakref.ref(frame), self._cell)
        _shell().push({name: frame})
        if frame is self._frame:
            self.name = self._wanted = name

    def _is_taken(self, name: str) -> bool:
        if name not in variables():
            return False
        if variables()[name] is self._frame is not None:
            return False
        return not (_is_created(name) and self._cell.is_rerun_of(_assigned[name][1]))


def _is_created(name: str) -> bool:
    """Return whether a panel created this variable, and it still holds the panel's result."""
    return name in _assigned and variables().get(name) is _assigned[name][0]() is not None


def default_name(slug: str) -> str:
    """Return the slug without ``get_``, prefixed with ``df_`` if Python uses that name."""
    name = slug.removeprefix("get_")[:_LONGEST_NAME]
    usable = name.isidentifier() and not keyword.iskeyword(name) and not hasattr(builtins, name)
    return name if usable else f"df_{name}"


def show(bundle: JsonObject) -> None:
    """Display an object by its MIME types; as text outside of IPython."""
    from IPython.display import display

    display(bundle, raw=True)  # type: ignore[no-untyped-call]  # IPython's


def publish_html(html: str, name: str, *, again: bool = False) -> bool:
    """Display HTML, or with `again` replace what was displayed under this name; return whether it is shown."""
    shell = _shell()
    is_shown = hasattr(shell, "kernel")  # a terminal shows no HTML
    if is_shown:  # from any thread
        shell.display_pub.publish({"text/html": html}, transient={"display_id": name}, update=again)
    return is_shown
