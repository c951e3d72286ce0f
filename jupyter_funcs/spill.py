"""Spill: the blocks of a sweep that are more than memory is to hold, in temporary Parquet files until all have come."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.parquet as pq

from jupyter_funcs.as_arrow import Layout, NotKeptError, Rows, from_arrow, to_arrow

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import pandas as pd

# So many files are open at once; blocks of yet other columns stay where they are.
_MOST_OPEN = 64


class _File(NamedTuple):
    """Blocks of the same columns, one below the other: their places and their rows."""

    path: Path
    layout: Layout
    parts: list[tuple[int, Rows]]


class Spill:
    """Blocks on disk, read back some columns at a time; for one thread at a time."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="jupyter_funcs-", ignore_cleanup_errors=True)
        self._files: list[_File] = []
        self._named = 0

    def write(self, blocks: Mapping[int, pd.DataFrame]) -> set[int]:
        """
        Write blocks, a row group each; give the places of those that can be read back without a change.

        Raises
        ------
        OSError
            The disk is full; none of these blocks can be read back.
        """
        files: dict[Layout, _File] = {}
        writers: dict[Layout, pq.ParquetWriter] = {}
        with ExitStack() as closing:
            for at, block in blocks.items():
                try:
                    table, layout, rows = to_arrow(block)
                except NotKeptError:
                    continue
                # Row labels become a column only when all blocks are known.
                if layout.index is not None or rows != Rows(rows.count) or not layout.columns:
                    continue
                if layout not in files and len(files) >= _MOST_OPEN:
                    continue
                if layout not in files:
                    self._named += 1
                    files[layout] = _File(Path(self._folder.name, f"{self._named}.parquet"), layout, [])
                    # By Python's own file, whose errors say which they are, and which is closed whatever fails.
                    file = closing.enter_context(files[layout].path.open("xb"))
                    writers[layout] = closing.enter_context(pq.ParquetWriter(file, table.schema))
                writers[layout].write_table(table, row_group_size=max(table.num_rows, 1))
                files[layout].parts.append((at, rows))
        self._files += files.values()
        return {at for file in files.values() for at, _ in file.parts}

    @property
    def columns(self) -> dict[int, list[str]]:
        """The columns of each block, by its place."""
        return {at: [name for name, _ in file.layout.columns] for file in self._files for at, _ in file.parts}

    def read(self, names: Collection[str] | None) -> dict[int, pd.DataFrame]:
        """Give all blocks by their places, whole or with those of these columns that they have."""
        blocks: dict[int, pd.DataFrame] = {}
        for file in self._files:
            layout = Layout(tuple((name, kind) for name, kind in file.layout.columns if names is None or name in names))
            table = pq.read_table(file.path, columns=layout.names, partitioning=None)
            parts, start = [], 0
            for _, rows in file.parts:
                parts.append((start, rows))
                start += rows.count
            blocks |= dict(zip((at for at, _ in file.parts), from_arrow(table, layout, parts), strict=True))
        return blocks

    def close(self) -> None:
        """Remove the files."""
        self._folder.cleanup()
