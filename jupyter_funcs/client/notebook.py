"""What a panel leaves in the notebook: a variable for each result, and in the saved file the last result as HTML."""

from __future__ import annotations

import builtins
import keyword
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jupyter_funcs.errors import ArgumentError
from jupyter_funcs.text import quote

if TYPE_CHECKING:
    import pandas as pd

_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Cell:
    """The run of a cell that a panel was made in; a front end gives each cell an id of its own."""

    id: str
    execution: int

    def is_rerun_of(self, other: Cell) -> bool:
        """Say whether the other run's panel is gone from the screen, because this one took its place."""
        return self.id == other.id != "" and self.execution > other.execution


# What panels have put into the notebook, by name, and in which cell.
_put: dict[str, tuple[weakref.ref[pd.DataFrame], Cell]] = {}


def _shell() -> Any:
    from IPython import get_ipython  # noqa: PLC0415  # a panel can be made without it

    return get_ipython()


def variables() -> dict[str, Any]:
    """Give the user's variables themselves; none outside of IPython."""
    shell = _shell()
    return {} if shell is None else shell.user_ns


def this_cell() -> Cell:
    """Give the cell that runs now."""
    shell = _shell()
    parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
    named = (parent.get("metadata") or {}).get("cellId", "")
    return Cell(str(named), getattr(shell, "execution_count", 0))


class Keeper:
    """
    The name under which a panel's results of one function stand in the notebook.

    It starts as the function's slug without ``get_``. A name that holds something that no panel has put there is never
    taken without a word: the next free one is, with a number behind it.

    Parameters
    ----------
    slug
        The function's.
    cell
        Where the panel was made.

    Attributes
    ----------
    name
        The variable's name; empty before the first result, and outside of IPython.
    """

    def __init__(self, slug: str, cell: Cell) -> None:
        self.name = ""
        self._wanted = default_name(slug)
        self._cell = cell
        self._frame: pd.DataFrame | None = None

    def keep(self, frame: pd.DataFrame) -> str:
        """Put a result into the notebook; give what a person has to know about its name, mostly nothing."""
        shell = _shell()
        if shell is None:
            return ""
        wanted, number, name = self._wanted, 1, self._wanted
        while self._is_taken(shell, name):
            number += 1
            name = f"{wanted}_{number}"
        self._put(shell, name, frame)
        return "" if name == wanted else f"{wanted} is a variable of yours already; this result is {name}."

    def question(self, name: str) -> str:
        """
        Give why a person should be asked before the result is renamed so; empty when there is no reason.

        Raises
        ------
        ArgumentError
            It is no name for a variable.
        """
        if not name.isidentifier() or keyword.iskeyword(name):
            what = "is a word of Python itself" if keyword.iskeyword(name) else "is no name for a variable"
            raise ArgumentError(f"{quote(name)} {what}.", "Take letters, digits and _, a letter first.")
        shell = _shell()
        if shell is not None and name != self.name and self._is_taken(shell, name):
            return f"{name} holds something else already ({type(shell.user_ns[name]).__name__})."
        return f"{name} is a name of Python's own, which it would hide." if hasattr(builtins, name) else ""

    def rename(self, name: str) -> None:
        """Keep the result under another name, also one that holds something else; the name before is given up."""
        self.question(name)
        shell, frame, before = _shell(), self._frame, self.name
        self._wanted = name
        if shell is None or frame is None or name == before:
            return
        if shell.user_ns.get(before) is frame:
            del shell.user_ns[before]
        self._put(shell, name, frame)

    def _put(self, shell: Any, name: str, frame: pd.DataFrame) -> None:
        shell.push({name: frame})
        self.name, self._wanted, self._frame = name, name, frame
        _put[name] = (weakref.ref(frame), self._cell)

    def _is_taken(self, shell: Any, name: str) -> bool:
        if name not in shell.user_ns:
            return False
        held = shell.user_ns[name]
        if held is self._frame:
            return False
        put, cell = _put.get(name, (None, None))
        return put is None or cell is None or put() is not held or not self._cell.is_rerun_of(cell)


def default_name(slug: str) -> str:
    """Give the variable's name for a function: its slug without ``get_``, led by ``df_`` where that is no free name."""
    name = slug.removeprefix("get_")[:_LONGEST_NAME]
    usable = name.isidentifier() and not keyword.iskeyword(name) and not hasattr(builtins, name)
    return name if usable else f"df_{name}"


def show(bundle: dict[str, Any]) -> None:
    """Show an object by its mime types; outside of IPython, as text."""
    from IPython.display import display  # noqa: PLC0415  # as above

    display(bundle, raw=True)  # type: ignore[no-untyped-call]  # IPython's


def leave(html: str, name: str, *, again: bool = False) -> None:
    """
    Put HTML into the notebook, or in place of what was put there before by the same name; any thread may.

    Parameters
    ----------
    html
        What the notebook holds from now on, in its file too.
    name
        By which it is found again.
    again
        Whether it was put there before.
    """
    shell = _shell()
    if hasattr(shell, "kernel"):  # a terminal shows no HTML
        shell.display_pub.publish({"text/html": html}, transient={"display_id": name}, update=again)
