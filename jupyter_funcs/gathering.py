"""Gathering: where the results of a sweep are until all have come, and how they become one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_funcs.fields import by_name
from jupyter_funcs.folder import InFolder
from jupyter_funcs.notices import warn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from jupyter_funcs.callables import RemoteFunction
    from jupyter_funcs.combos import Combos
    from jupyter_funcs.fields import Field
    from jupyter_funcs.forms import Args
    from jupyter_funcs.spill import Spill

# What `stacked` calls an argument beside a column of its name.
_ARGUMENT = " (argument)"
_SMALL = 64 * 1024  # bytes of a reply
# How much larger than its text a value is: of a number with one digit, and the comma behind it, four times.
_OF_REPLY = 4
# How often columns are in memory while they are read back.
_COPIES = 4


def gathering(function: RemoteFunction, combos: Combos) -> InMemory | InFolder:
    """
    Give where the results of a function's sweep go, by its options.

    Parameters
    ----------
    function
        What is run.
    combos
        With which arguments.

    Raises
    ------
    ArgumentError
        They cannot go there; nothing was sent.
    """
    if function.options.to is not None:
        return InFolder(function, combos)
    return InMemory(combos.swept, by_name(function.fields), function.options.max_memory)


class InMemory:
    """
    Gathers into one DataFrame; what is more than memory is to hold waits on disk until all have come.

    Parameters
    ----------
    swept
        The wire names of the arguments that lead.
    fields
        The function's fields by wire name.
    most
        Bytes of results that are held in memory.
    """

    errors_in = '.attrs["errors"]'

    def __init__(self, swept: Sequence[str], fields: Mapping[str, Field], most: float) -> None:
        self._swept = swept
        self._fields = fields
        self._most = most
        self._args: dict[int, Args] = {}
        self._held: dict[int, pd.DataFrame] = {}
        self._unspilled: dict[int, pd.DataFrame] = {}
        self._size = 0  # of what is held
        self._total = 0
        self._spills = True
        self._spill: Spill | None = None

    async def there(self, _runs: Sequence[Args]) -> dict[int, float]:
        """Give which of the runs need not be had, and when they were; none is kept here from before."""
        return {}

    def add(self, at: int, args: Args, frame: pd.DataFrame) -> None:
        """Keep the result of the run at this place."""
        self._args[at], self._held[at] = args, frame
        size = _size(frame)
        self._size, self._total = self._size + size, self._total + size
        if self._spills and self._size > self._most:
            self._write()

    def _write(self) -> None:
        """Take what is held to disk; what cannot be kept there stays in memory, and nothing fails for it."""
        trouble = ""
        try:
            from jupyter_funcs.spill import Spill  # noqa: PLC0415  # pyarrow, only where there is so much

            self._spill = self._spill or Spill()
            written = self._spill.write(self._held)
        except ImportError:
            trouble = "pyarrow is not installed (pip install pyarrow)"
        except OSError as error:
            trouble = error.strerror or str(error)
        if trouble:
            self._spills = False
            warn(f"Results beyond max_memory stay in memory: {trouble}.")
            return
        self._unspilled |= {at: frame for at, frame in self._held.items() if at not in written}
        self._held, self._size = {}, 0

    def finish(self) -> pd.DataFrame:
        """Give all results as one table, in the order of their places."""
        from jupyter_funcs.stacking import stacked  # noqa: PLC0415  # pandas, only when there is something to stack

        names = None if self._spill is None else self._regular()
        if names is None:
            return stacked(self._blocks(), self._swept, self._fields)
        import pandas as pd  # noqa: PLC0415  # as above

        # Some columns at a time, so that no more than those is there twice.
        like_swept = [name for name in names if name in self._swept]
        others = [name for name in names if name not in self._swept]
        table = stacked(self._blocks(like_swept), self._swept, self._fields)
        leading = list(table)[: len(self._swept)]
        columns = dict(table.items())
        count = max(1, int(len(names) * self._most / self._total / _COPIES))
        for start in range(0, len(others), count):
            columns |= stacked(self._blocks(others[start : start + count]), (), self._fields).items()
        order = [*leading, *(name for name in names if name in columns and name not in leading)]
        return pd.DataFrame({name: columns[name] for name in order}, index=table.index, copy=False)

    def _regular(self) -> list[str] | None:
        """Give the columns of all blocks in the order in which they come first; ``None`` where they need more care."""
        from jupyter_funcs.stacking import is_numbered  # noqa: PLC0415  # as above

        assert self._spill is not None
        by_place = self._spill.columns
        for at, frame in (self._held | self._unspilled).items():
            names: list[Any] = list(frame)
            if at in self._unspilled or len(set(names)) < len(names) or not is_numbered(frame.index):
                return None
            by_place[at] = names
        union = list(dict.fromkeys(name for at in sorted(by_place) for name in by_place[at]))
        return None if any(type(name) is not str or name.endswith(_ARGUMENT) for name in union) else union

    def _blocks(self, names: list[str] | None = None) -> Iterator[tuple[Args, pd.DataFrame]]:
        """Give what each run was sent and its block, in the order of their places; of some columns alone on demand."""
        blocks = self._held | self._unspilled
        if names is None:
            self._held, self._unspilled = {}, {}  # each is let go as soon as it is joined
        else:
            blocks = {at: frame[[name for name in names if name in frame]] for at, frame in blocks.items()}
        if self._spill is not None:
            blocks |= self._spill.read(names)
        for at in sorted(blocks):
            yield self._args[at], blocks.pop(at)

    def sign(self, table: pd.DataFrame, told: dict[str, Any], errors: list[dict[str, Any]]) -> pd.DataFrame:
        """Write on the result what the sweep was, and which of its runs failed."""
        table.attrs["funcs"], table.attrs["errors"] = told, errors
        return table

    def close(self) -> None:
        """Remove what was only temporary."""
        self._held, self._unspilled = {}, {}
        if self._spill is not None:
            self._spill.close()
            self._spill = None


def _size(frame: pd.DataFrame) -> int:
    """Give its bytes in memory; of a small one, of which there may be many, what its reply tells roughly."""
    told = frame.attrs.get("funcs", {}).get("bytes")
    if told is not None and told <= _SMALL:
        return _OF_REPLY * int(told)
    columns = [frame.iloc[:, at] for at in range(frame.shape[1])]
    return sum(int(column.memory_usage(deep=True)) if column.dtype == object else column.nbytes for column in columns)
