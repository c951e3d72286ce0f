"""Guard: what a widget's callback raises is shown, since a front end shows it nowhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from jupyter_funcs.errors import ArgumentError, FuncsError
from jupyter_funcs.text import clip, inert

Guard: TypeAlias = Callable[[Callable[[Any], object]], Callable[..., None]]


def guarding(show: Callable[[Exception], None]) -> Guard:
    """
    Give what wraps a widget's callback, so that what it raises is shown.

    Parameters
    ----------
    show
        Called with what a callback has raised, but for an `ArgumentError` that stands at its fields already.
    """

    def guard(callback: Callable[[Any], object]) -> Callable[..., None]:
        def guarded(*told: Any) -> None:  # ipywidgets tells a change, a button, or a widget and its message
            try:
                callback(told[1] if len(told) > 1 else told[0])
            except ArgumentError as error:
                if not error.errors:
                    show(error)
            except Exception as error:  # noqa: BLE001  # see above
                show(error)

        return guarded

    return guard


def lines_of(error: BaseException) -> list[str]:
    """Give what a person reads of an error, in one to three lines; one of our own making says that it is ours."""
    if isinstance(error, FuncsError):
        return error.lines
    return [f"Something failed inside jupyter_funcs: {type(error).__name__}: {clip(inert(str(error)))}"]
