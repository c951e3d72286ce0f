"""
DuckDB, opened and loaded first and locked then: what SQL can reach afterwards is the data and nothing else.

It reads no file but those of the data, fetches nothing from a network, loads no extension and changes no setting.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import duckdb
import ibis
import sqlglot.expressions as sge

from .errors import SetupError
from .statements import Compiler

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    from .dataset import Cards

OWN = "own"
"""The catalogue that an attached database is under."""

_FILES = "card_files"

_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
}


def opened(
    tables: Mapping[str, pa.Table],
    cards: Cards | None,
    spill: Path,
    *,
    database: Path | None = None,
    memory_limit: str | None = None,
) -> duckdb.DuckDBPyConnection:
    """
    Open a database in memory, load it, and lock it.

    Parameters
    ----------
    tables
        Tables to copy into it.
    cards
        Where card spend lies: becomes its view ``cards``.
    spill
        An empty folder for what does not fit into memory, at most as much as does.
    database
        A DuckDB file that `cards` may be a table of; only read.
    memory_limit
        Such as ``4GB``; by default half of the machine's memory, or of its control group's. DuckDB counts what tables,
        sorts and groups take, not a single giant value.

    Raises
    ------
    SetupError
        The file is not there, not a database or in use; card spend cannot be read; the limit is none.
    """
    con = duckdb.connect(config=_SETTINGS | {"temp_directory": str(spill)})
    try:
        _limit(con, memory_limit)
        # Else what a file says of its groups of rows is read again by each query; for all cursors, and not this one.
        con.execute("SET GLOBAL parquet_metadata_cache = true")
        for name, table in tables.items():
            con.register("loaded", table)
            con.execute(f"CREATE TABLE {_name(name)} AS FROM loaded")
            con.unregister("loaded")
        if database is not None:
            attach(con, database)
        files = _files(con, cards.files) if cards is not None else []
        if cards is not None:
            _view(con, cards, files)
        con.execute(f"SET allowed_paths = {_list(files)}")
        con.execute("SET enable_external_access = false")
        con.execute("SET lock_configuration = true")
    except BaseException:
        con.close()
        raise
    return con


def _limit(con: duckdb.DuckDBPyConnection, memory_limit: str | None) -> None:
    [(own,)] = con.execute("SELECT current_setting('memory_limit')").fetchall()
    # DuckDB's own limit is 80 % of what there is.
    number, unit = own.split()
    limit = memory_limit or f"{float(number) * 5 / 8:.1f}{unit}"
    try:
        for name in ("memory_limit", "max_temp_directory_size"):
            con.execute(f"SET {name} = {_text(limit)}")
    except duckdb.Error as error:
        raise SetupError(
            f"The engine cannot be limited to memory_limit {limit!r}: {first_line(error)}.\nGive a size such as '4GB'."
        ) from error


def attach(con: duckdb.DuckDBPyConnection, database: Path) -> None:
    """Attach a DuckDB file for reading, as the catalogue `OWN`; raises `SetupError` where it cannot be opened."""
    try:
        con.execute(f"ATTACH {_text(str(database.resolve()))} AS {OWN} (READ_ONLY)")
    except duckdb.Error as error:
        text = str(error)
        if "Conflicting lock" in text:
            holder = re.search(r"PID (\d+)", text)
            who = f"PID {holder[1]}" if holder else "another process"
            raise SetupError(
                f"The database {database} is in use by {who}, which may write to it.\n"
                "End that process, or have it open the file for reading only."
            ) from error
        raise SetupError(
            f"The database {database} cannot be opened: {first_line(error)}.\nGive the path of a DuckDB file."
        ) from error


def matching(con: duckdb.DuckDBPyConnection, pattern: str) -> list[str]:
    """Give the files that a path with wildcards names, in order, as a query over it would find them."""
    return [file for (file,) in con.execute("SELECT file FROM glob(?) ORDER BY file", [pattern]).fetchall()]


def _files(con: duckdb.DuckDBPyConnection, patterns: Sequence[str]) -> list[str]:
    files: list[str] = []
    for pattern in patterns:
        found = matching(con, pattern)
        if not found:
            raise SetupError(f"There is no file {pattern}.\nGive the paths of the Parquet files with card spend.")
        files += found
    return files


def _view(con: duckdb.DuckDBPyConnection, cards: Cards, files: Sequence[str]) -> None:
    compiler = Compiler()
    try:
        if files:
            con.execute(f"CREATE VIEW {_FILES} AS FROM read_parquet({_list(files)})")
        place = ("main", *cards.table)[-2:] if cards.table else ("main", _FILES)
        catalog = OWN if cards.table else "memory"
        columns = con.execute(f"DESCRIBE FROM {_name(catalog, *place)}").fetchall()
        types = {column: compiler.type_mapper.from_string(kind) for column, kind, *_ in columns}
        mapped = cards.mapped(ibis.table(types, name=place[1], database=place[0], catalog=catalog))
        # A view of the database's own: ibis would make a temporary one, which other cursors do not see.
        con.execute(f"CREATE VIEW cards AS {compiler.sql(mapped)}")
    except duckdb.Error as error:
        where = ", ".join(cards.files) or ".".join(cards.table)
        raise SetupError(f"Card spend cannot be read from {where}: {first_line(error)}.") from error


def _name(*parts: str) -> str:
    return ".".join(sge.to_identifier(part, quoted=True).sql(dialect="duckdb") for part in parts)


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, texts))}]"


def _text(text: str) -> str:
    return sge.convert(text).sql(dialect="duckdb")


def first_line(error: Exception) -> str:
    """Give what an error of DuckDB's says, without its kind and its advice."""
    return str(error).partition("\n")[0].partition(": ")[2].rstrip(".")
