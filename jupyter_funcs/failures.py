"""Failures: the runs of a sweep that gave no result, as rows of its attrs and as a line for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from jupyter_funcs.errors import FuncsError
    from jupyter_funcs.forms import Args


class _Failure(NamedTuple):
    args: Args
    error: FuncsError
    attempts: int


class Rows(list[dict[str, Any]]):
    """A list that is copied as one: pandas copies attrs deeply for each column that is taken, and rows may be many."""

    def __deepcopy__(self, _memo: object) -> Rows:
        """Give a list of the same rows, which nobody changes."""
        return Rows(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Be a plain list elsewhere."""
        return list, (list(self),)


class Failures:
    """
    The runs of one sweep that failed.

    Parameters
    ----------
    function
        What was run.
    total
        How many runs the sweep has.
    """

    def __init__(self, function: str, total: int) -> None:
        self._function = function
        self._total = total
        self._by_place: dict[int, _Failure] = {}

    def note(self, at: int, args: Args, error: FuncsError, attempts: int) -> None:
        """Note the failure of the run at this place, which was sent so often."""
        self._by_place[at] = _Failure(args, error, attempts)

    def rows(self) -> Rows:
        """Give them in the order of their places, as plain JSON values."""
        return Rows(
            {
                "args": plain(failure.args),
                "error": str(failure.error),
                "type": type(failure.error).__name__,
                "attempts": failure.attempts,
            }
            for _, failure in sorted(self._by_place.items())
        )

    def text(self, where: str) -> str:
        """Say how many there are, where they are listed and why the first is one; empty where there is none."""
        if not self._by_place:
            return ""
        first = self._by_place[min(self._by_place)].error
        return (
            f"{len(self._by_place):,} of {self._total:,} runs of {self._function} failed, "
            f"all listed in {where}. The first: {first.what}"
        )


def plain(args: Args) -> dict[str, Any]:
    """Give arguments as values of their own, which whoever has the attrs may change."""
    return {name: list(value) if isinstance(value, list) else value for name, value in args.items()}
