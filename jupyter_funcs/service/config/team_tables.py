"""Read a team's tables when the service starts: Parquet and CSV files, and tables of an engine; small ones by row."""

from __future__ import annotations

import contextlib
import csv
from datetime import date, datetime, time
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

import duckdb
import ibis
import pyarrow as pa
import pyarrow.parquet as pq

from jupyter_funcs.core.text import quoted, quoted_list, suggestion
from jupyter_funcs.service.engine import sandbox
from jupyter_funcs.service.engine.backends import EngineConnection, EngineURL

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    import ibis.expr.types as ir

    from jupyter_funcs.core.json_decoding import JsonObject
    from jupyter_funcs.service.config.config_file import Key
    from jupyter_funcs.service.config.settings import (
        Calendar,
        Companies,
        Data,
        Kpis,
        Settings,
    )

    SmallTable = Companies | Calendar | Kpis

_T = TypeVar("_T")

_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_MAX_COLUMNS = 20


class TeamDataError(Exception):
    """A table that can't be used, and why."""


class OpenTable(NamedTuple):
    """A table, the connection that executes an expression over it, and its Parquet files with their metadata."""

    table: ir.Table
    connection: EngineConnection
    files: Mapping[str, pq.FileMetaData] = {}

    def rows(self, expression: ir.Table) -> list[JsonObject]:
        return list(self.connection.arrow(expression).to_pylist())


class TeamTables(contextlib.ExitStack):
    """Opens a team's files, and the tables of its engine; closes what it opened."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        self._address = EngineURL(settings.engine)

    def open(self, key: Key, section: SmallTable | Data) -> tuple[OpenTable, str]:
        """Open the files or the table that a section names; return also how messages call them."""
        try:
            if section.parquet:
                return self.parquet(section.parquet), section.parquet.name
            return self.table(section.table or ""), quoted(section.table)
        except TeamDataError as error:
            self.settings.fail(
                (*key, "parquet" if section.parquet else "table"), str(error)
            )

    def small(
        self, key: Key, section: SmallTable | None, required: Collection[str]
    ) -> list[Row]:
        if not section:
            return []
        if not section.csv:
            opened, label = self.open(key, section)
            names = list(opened.table.columns)
            rows = list(enumerate(opened.rows(opened.table), 1))
            unit = "row"
        else:
            label = section.csv.name
            unit = "line"
            try:
                names, rows = _csv_rows(section.csv)
            except TeamDataError as error:
                self.settings.fail((*key, "csv"), str(error))

        mapped = section.mapped
        for use, column in mapped.items():
            if column not in names and (use in required or use in section.columns):
                self.settings.fail(
                    (*key, "columns", use), f"{label} {no_column(column, names)}"
                )

        refuse = partial(self.settings.fail, key)
        return [
            Row(f"{label}, {unit} {number}", row, mapped, refuse)
            for number, row in rows
        ]

    def parquet(self, pattern: Path) -> OpenTable:
        """Open the Parquet files that a pattern matches."""
        connection = EngineConnection(
            ibis.duckdb.connect(autoinstall_known_extensions=False)
        )
        self.callback(connection.close)
        matching = sandbox.matching(connection.backend.con, str(pattern))
        if not matching and pattern.is_dir():
            raise TeamDataError(
                f"{pattern} is a folder. Name the files in it: {pattern / '*.parquet'}."
            )

        if not matching:
            raise TeamDataError(f"no file matches {pattern}.")
        files = {}
        for file in matching:
            try:
                files[file] = pq.read_metadata(file)
            except (pa.ArrowException, OSError) as error:
                raise TeamDataError(f"{file} is not a Parquet file.") from error

        try:
            return OpenTable(
                connection.backend.read_parquet(matching), connection, files
            )
        except duckdb.Error as error:
            raise TeamDataError(
                f"the files cannot be read: {self.reason(error)}."
            ) from error

    def table(self, name: str) -> OpenTable:
        """Open a table of the engine by its name, ``name`` or ``schema.name``."""
        *schema, table = name.split(".")
        backend = self._engine.backend
        place = tuple(schema) or None
        if self._address.scheme == "duckdb":
            place = (sandbox.OWN, *(schema or ["main"]))
        try:
            return OpenTable(backend.table(table, database=place), self._engine)
        except Exception as error:  # noqa: BLE001 - each driver has errors of its own
            tables = [table]
            with contextlib.suppress(Exception):  # not every engine can list its tables
                tables = backend.list_tables(database=place)
            # From None: a driver's error may show the URL, which may contain a password.
            if table not in tables:
                raise TeamDataError(
                    f"the engine has no table {quoted(name)}.{suggestion(table, tables)}"
                ) from None
            raise TeamDataError(
                f"the table {quoted(name)} cannot be read: {self.reason(error)}."
            ) from None

    def reason(self, error: Exception) -> str:
        """Return the message of an error in one line."""
        if isinstance(error, duckdb.Error):
            text = sandbox.first_line(error)
        else:
            text = self._address.reason(error)
        return text.rstrip(".")

    @cached_property
    def _engine(self) -> EngineConnection:
        if self._address.scheme != "duckdb":
            connection = self._address.connect()
            self.callback(connection.close)
            return connection

        path = self._address.url.partition("://")[2]
        if not path:
            raise TeamDataError(
                "the engine 'duckdb://' has no tables. Set engine to a database file."
            )

        con = self.enter_context(duckdb.connect())
        sandbox.attach(con, Path(path))
        return EngineConnection(ibis.duckdb.from_connection(con))


def _csv_rows(path: Path) -> tuple[list[str], list[tuple[int, JsonObject]]]:
    """Return the columns of a CSV file, and its rows (all text) with the number of their last line."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            reader = csv.DictReader(lines, strict=True)
            return list(reader.fieldnames or []), [
                (reader.line_num, row) for row in reader
            ]
    except OSError as error:
        raise TeamDataError(f"{path} cannot be read: {error.strerror}.") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise TeamDataError(f"{path} is not a CSV file in UTF-8: {error}.") from error


class Row(NamedTuple):
    """A row of a small table; `use` is the name of a column in the configuration, `columns` has the team's."""

    where: str
    values: Mapping[str, Any]
    columns: Mapping[str, str]
    refuse: Callable[[str], NoReturn]

    def text(self, use: str) -> str:
        """Return a value as trimmed text, empty if it is absent."""
        value = self.values.get(self.columns[use])
        # Of a column in which pandas had gaps.
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return "" if value is None or value != value else str(value).strip()  # noqa: PLR0124 - NaN

    def required(self, use: str) -> str:
        if not (text := self.text(use)):
            self.fail(f"{quoted(self.columns[use])} is empty.")
        return text

    def whole(self, use: str) -> int:
        return self._parsed(use, int, "a whole number")

    def day(self, use: str) -> date:
        return self._parsed(use, _day, "a date such as 2024-12-31")

    def flag(self, use: str) -> bool | None:
        if self.text(use):
            return self._parsed(
                use, lambda text: _FLAGS[text.casefold()], "true or false"
            )
        return None

    def _parsed(self, use: str, parse: Callable[[str], _T], wanted: str) -> _T:
        text = self.required(use)
        try:
            return parse(text)
        except (ValueError, KeyError):
            self.fail(
                f"{quoted(self.columns[use])} must be {wanted}, not {quoted(text)}."
            )

    def fail(self, text: str) -> NoReturn:
        """Raise a `SetupError` about the row."""
        self.refuse(f"{self.where}: {text}")


def _day(text: str) -> date:
    moment = datetime.fromisoformat(text)
    if moment.time() != time.min:
        raise ValueError(text)
    return moment.date()


def no_column(column: str, names: Collection[str]) -> str:
    """Return the message that a column is absent, with the nearest name and those that exist."""
    some = quoted_list([*names][:_MAX_COLUMNS]) + (
        ", …" if len(names) > _MAX_COLUMNS else ""
    )
    return f"has no column {quoted(column)}.{suggestion(column, names)} It has {some or 'none'}."
