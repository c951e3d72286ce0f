"""Where a team's tables are read when the service starts: Parquet and CSV files, and tables of an engine."""

from __future__ import annotations

import contextlib
import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import duckdb
import ibis
import pyarrow as pa
import pyarrow.parquet as pq

from . import sandbox
from .backends import Address
from .words import did_you_mean, quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    import ibis.expr.types as ir

    # A row and its number.
    Record = tuple[int, dict[str, Any]]


class SourceError(Exception):
    """A table that cannot be read as it is; says why."""


class Opened(NamedTuple):
    """A table, and what executes an expression over it."""

    table: ir.Table
    arrow: Callable[[ir.Table], pa.Table]

    def rows(self, expression: ir.Table) -> list[dict[str, Any]]:
        """Give the rows of an expression."""
        rows: list[dict[str, Any]] = self.arrow(expression).to_pylist()
        return rows


class Source:
    """
    A team's files and tables.

    Parameters
    ----------
    url
        The engine's, as of `engines.connect_engine`; connected to when a table of it is first asked for.
    """

    def __init__(self, url: str) -> None:
        self._address = Address(url)
        self._open = contextlib.ExitStack()
        self._engine: tuple[Any, Callable[[ir.Table], pa.Table]] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._open.close()

    def parquet(self, files: list[str]) -> Opened:
        """Open Parquet files."""
        backend = ibis.duckdb.connect(autoinstall_known_extensions=False)
        self._open.callback(backend.disconnect)
        try:
            return Opened(backend.read_parquet(files), backend.to_pyarrow)
        except duckdb.Error as error:
            raise SourceError(f"cannot be read: {self.reason(error)}.") from error

    def table(self, name: str) -> Opened:
        """Open a table of the engine by its name, which may stand behind its schema's: ``schema.name``."""
        *schema, table = name.split(".")
        if self._engine is None:
            self._engine = self._connected()
        backend, arrow = self._engine
        place: tuple[str, ...] | None = tuple(schema) or None
        if self._address.scheme == "duckdb":
            place = (sandbox.OWN, *(schema or ["main"]))
        try:
            return Opened(backend.table(table, database=place), arrow)
        except Exception as error:  # noqa: BLE001 - each driver has errors of its own
            known: list[str] | None = None
            with contextlib.suppress(Exception):  # to say what is there, where the engine can say it
                known = backend.list_tables(database=place)
            # From None: a driver's error may hold the URL, and so a password.
            if known is not None and table not in known:
                near = did_you_mean(table, known)
                raise SourceError(f"names no table of the engine: there is no {quoted(name)}.{near}") from None
            raise SourceError(f"cannot be read: {self.reason(error)}.") from None

    def reason(self, error: Exception) -> str:
        """Give in a line what an error of the files' or the engine's reading says."""
        text = sandbox.first_line(error) if isinstance(error, duckdb.Error) else self._address.reason(error)
        return text.rstrip(".")

    def _connected(self) -> tuple[Any, Callable[[ir.Table], pa.Table]]:
        if self._address.scheme != "duckdb":
            connection = self._address.connect()
            self._open.callback(connection.close)
            return connection.backend, connection.arrow
        path = self._address.url.partition("://")[2]
        if not path:
            raise SourceError("is in no engine: 'duckdb://' is empty. Name the file of a database in 'engine'.")
        con = duckdb.connect()
        self._open.callback(con.close)
        sandbox.attach(con, Path(path))
        backend = ibis.duckdb.from_connection(con)
        return backend, backend.to_pyarrow


def files(pattern: Path) -> dict[str, pq.FileMetaData]:
    """Give the Parquet files that a path with wildcards names, with what they say of themselves."""
    with duckdb.connect() as con:
        found = sandbox.matching(con, str(pattern))
    if not found:
        if pattern.is_dir():
            raise SourceError(f"names a folder. Name the files in it: {pattern / '*.parquet'}.")
        raise SourceError(f"names no file: there is no {pattern}.")
    return {file: metadata(file) for file in found}


def bounds(found: pq.FileMetaData, column: str) -> list[tuple[Any, Any]]:
    """Give the least and the greatest value of a column in each group of rows that says so."""
    groups = [found.row_group(number) for number in range(found.num_row_groups)]
    columns = [group.column(number) for group in groups for number in range(group.num_columns)]
    known = [each.statistics for each in columns if each.path_in_schema == column and each.is_stats_set]
    return [(each.min, each.max) for each in known if each.has_min_max]


def metadata(file: str) -> pq.FileMetaData:
    """Give what a Parquet file says of itself; raises `SourceError` where it is none."""
    try:
        return pq.read_metadata(file)
    except (pa.ArrowException, OSError) as error:
        raise SourceError(f"names a file that is not Parquet: {file}.") from error


def parquet_rows(path: Path) -> tuple[list[str], list[Record]]:
    """Give the columns of a small Parquet file, and its rows with their numbers."""
    metadata(str(path))
    table = pq.read_table(path)
    return table.column_names, list(enumerate(table.to_pylist(), 1))


def csv_rows(path: Path) -> tuple[list[str], list[Record]]:
    """Give the columns of a small CSV file, and its rows with the lines on which they end; all values are text."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            reader = csv.DictReader(lines, strict=True)
            return list(reader.fieldnames or []), [(reader.line_num, row) for row in reader]
    except OSError as error:
        raise SourceError(f"cannot be read: {path}: {error.strerror}.") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise SourceError(f"names a file that is not CSV in UTF-8: {path}: {error}.") from error
