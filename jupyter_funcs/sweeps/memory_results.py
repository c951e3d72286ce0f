"""Where the results of a sweep go: memory, with a temporary folder for what does not fit, or a folder of the user's."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from jupyter_funcs.catalog.fields import Field, fields_named
from jupyter_funcs.client.options import DASK
from jupyter_funcs.core.errors import ArgumentError, FuncsError, ReplyTooLargeError
from jupyter_funcs.core.warn import warn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.core.json_decoding import JsonObject
    from jupyter_funcs.frames.store import Segments
    from jupyter_funcs.sweeps.combinations import Combos
    from jupyter_funcs.sweeps.folder import FolderResults

    # Both collect the results of a sweep; their methods are called from worker threads, one at a time.
    SweepResults: TypeAlias = "MemoryResults | FolderResults"

_ASK_FOR_LESS = "Sweep fewer values at a time, which repeats no run; or write the results to a folder (to= or --to)."
_SMALL = 64 * 1024  # bytes of a reply
# A value takes up to four times the memory of its text: a digit and a comma become 8 bytes.
_REPLY_FACTOR = 4
# How many copies of a column are in memory while it is read back and stacked.
_COPIES = 4


def results_for(function: RemoteCall, combos: Combos) -> SweepResults:
    """Return where the results of a sweep go, by the function's options."""
    options = function.options
    if options.to is None:
        return MemoryResults(
            fields_named(function.fields, combos.swept), options.max_memory
        )

    try:
        from jupyter_funcs.sweeps.folder import DaskResults, FolderResults
    except ImportError:
        raise ArgumentError(
            "Storing results in a folder needs pyarrow, which isn't installed.",
            "Install it: pip install pyarrow.",
        ) from None

    if options.to == DASK:
        return DaskResults(function, combos)
    return FolderResults(function, combos)


class MemoryResults:
    """Returns one DataFrame. Results beyond `max_memory` bytes wait in a temporary folder of Parquet files."""

    errors_in = '.attrs["errors"]'

    def __init__(self, swept: Mapping[str, Field], max_memory: float) -> None:
        self._swept = swept
        self._max_memory = max_memory
        self._args: dict[int, Args] = {}
        self._frames: dict[int, pd.DataFrame] = {}
        self._size = 0  # bytes of `_frames`
        self._total = 0  # bytes of all results
        self._received = 0  # bytes of their replies
        self._rows = 0
        # The columns that results have, with the first such run.
        self._columns: dict[tuple[Any, ...], int] = {}
        self._is_numbered = True
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._segments: Segments | None = None
        self._disk_failed = False

    async def find(self, _runs: Sequence[Args]) -> dict[int, float]:
        """Return which runs already have results, and when they ran, in seconds since 1970."""
        return {}

    def add(self, at: int, args: Args, frame: pd.DataFrame) -> None:
        from jupyter_funcs.sweeps.stacking import is_numbered

        self._args[at] = args
        self._frames[at] = frame
        names = tuple(frame.columns)
        self._columns[names] = min(at, self._columns.get(names, at))
        self._is_numbered &= is_numbered(frame.index)
        self._rows += len(frame)
        self._received += frame.attrs.get("funcs", {}).get("bytes", frame.size)
        size = _memory_size(frame)
        self._size += size
        self._total += size
        if self._size > self._max_memory and not self._disk_failed:
            self._move_to_disk()

    def _move_to_disk(self) -> None:
        """Store the frames in a temporary folder; if that fails, warn and keep them in memory."""
        try:
            from jupyter_funcs.frames.store import Segments

            if self._segments is None:
                self._folder = tempfile.TemporaryDirectory(
                    prefix="jupyter_funcs-", ignore_cleanup_errors=True
                )
                self._segments = Segments(Path(self._folder.name))
            writer = self._segments.writer()
            written = {
                at for at, frame in self._frames.items() if writer.add(str(at), frame)
            }
            writer.close()
        except ImportError:
            reason = "pyarrow isn't installed (pip install pyarrow)"
        except OSError as error:
            reason = error.strerror or str(error)
        else:
            self._frames = {
                at: frame for at, frame in self._frames.items() if at not in written
            }
            self._size = 0
            return

        self._disk_failed = True
        warn(f"Results beyond max_memory stay in memory: {reason}.")

    def finish(self, about: JsonObject, errors: list[JsonObject]) -> pd.DataFrame:
        table = self._table()
        table.attrs = {"funcs": about, "errors": errors}
        return table

    def _table(self) -> pd.DataFrame:
        from jupyter_funcs.frames.columns import check_cells
        from jupyter_funcs.sweeps.stacking import stacked

        try:
            check_cells(
                self._rows,
                len(set().union(*self._columns)),
                self._received,
                what="sweep",
            )
        except ReplyTooLargeError as error:
            raise ReplyTooLargeError(error.what, _ASK_FOR_LESS) from None

        names = None
        if len(self._frames) < len(self._args):  # some are stored
            names = self._selectable_columns()
        if names is None:
            return stacked(self._blocks(), self._swept)
        import pandas as pd

        # Some columns at a time, so that only those are in memory twice.
        like_swept = [name for name in names if name in self._swept]
        others = [name for name in names if name not in self._swept]
        table = stacked(self._blocks(like_swept), self._swept)
        leading = list(table)[: len(self._swept)]
        columns = dict(table.items())
        count = max(1, int(len(names) * self._max_memory / self._total / _COPIES))
        for start in range(0, len(others), count):
            columns |= stacked(self._blocks(others[start : start + count]), {}).items()
        order = [name for name in dict.fromkeys([*leading, *names]) if name in columns]
        return pd.DataFrame(
            {name: columns[name] for name in order}, index=table.index, copy=False
        )

    def _selectable_columns(self) -> list[str] | None:
        """Return all columns in order; ``None`` if they can't be stacked one by one."""
        from jupyter_funcs.sweeps.stacking import ARGUMENT

        by_run = sorted(self._columns, key=self._columns.__getitem__)
        union = list(dict.fromkeys(name for names in by_run for name in names))
        are_unique = all(len(set(names)) == len(names) for names in by_run)
        are_plain = all(
            type(name) is str and not name.endswith(ARGUMENT.format(""))
            for name in union
        )
        if self._is_numbered and are_unique and are_plain:
            return union
        return None

    def _blocks(
        self, names: list[str] | None = None
    ) -> Iterator[tuple[Args, pd.DataFrame]]:
        """Yield each run's arguments and result in order, with all columns or those named here."""
        if names is None:
            blocks = self._frames
            self._frames = {}  # so that each is freed once it is stacked
        else:
            blocks = {
                at: frame[[name for name in names if name in frame]]
                for at, frame in self._frames.items()
            }

        if self._segments:
            stored = self._segments.read(
                [str(at) for at in self._args if at not in blocks], names
            )
            blocks |= {int(key): stored.pop(key) for key in list(stored)}
            if len(blocks) < len(self._args):
                raise FuncsError(
                    "Temporary files with results of the sweep are gone.",
                    "Run it again.",
                )

        for at in sorted(blocks):
            yield self._args[at], blocks.pop(at)

    def close(self) -> None:
        self._frames = {}
        if self._folder:
            self._folder.cleanup()


def _memory_size(frame: pd.DataFrame) -> int:
    """Return a frame's bytes in memory; an estimate for small frames, of which there may be many."""
    received = frame.attrs.get("funcs", {}).get("bytes")
    if received is not None and received <= _SMALL:
        return _REPLY_FACTOR * int(received)
    return int(frame.memory_usage(index=False, deep=True).sum())
