"""
Open a DuckDB, load the data, then lock it: SQL can reach the data and nothing else.

Afterwards it can read no other files, use no network, load no extensions and change no settings.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
from duckdb import DuckDBPyConnection

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.service.engine import tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_funcs.core.json_decoding import JsonObject
    from jupyter_funcs.service.engine.tables import Cards, Reference

OWN = "own"
"""The catalog name of an attached database."""

_FILES = "card_files"
_DUCKDB_TYPES = {
    "string": "VARCHAR",
    "date": "DATE",
    "int64": "BIGINT",
    "int32": "INTEGER",
}
# Columns that need no cast, and so no ibis.
_AS_STORED = [(name, _DUCKDB_TYPES[kind]) for name, kind in tables.CARDS.items()]

_SETTINGS: JsonObject = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
}


def open_database(  # noqa: PLR0913 - what a database depends on
    reference: Reference,
    cards: Cards | None,
    spill: Path,
    *,
    database: Path | None,
    memory: int | None,
    processes: int,
) -> DuckDBPyConnection:
    """Open a database in memory, load the data and lock it."""
    con = duckdb.connect(config=_SETTINGS | {"temp_directory": str(spill)})
    try:
        # DuckDB's default is 80 % of the memory; ours is 50 %.
        memory = (memory or memory_limit(con) * 5 // 8) // processes
        for name in ("memory_limit", "max_temp_directory_size"):
            con.execute(f"SET {name} = '{memory}B'")
        # Without it, each query reads the files' metadata again. GLOBAL, because other cursors run the queries.
        con.execute("SET GLOBAL parquet_metadata_cache = true")
        for name, columns in tables.SCHEMAS.items():
            con.register("loaded", tables.arrow_table(columns, reference.rows(name)))
            con.execute(f"CREATE TABLE {name} AS FROM loaded")
            con.unregister("loaded")
        if database:
            attach(con, database)
        files = _view(con, cards) if cards else []
        con.execute(f"SET allowed_paths = {_literal(files)}")
        con.execute("SET enable_external_access = false")
        con.execute("SET lock_configuration = true")
    except BaseException:
        con.close()
        raise

    return con


def attach(con: DuckDBPyConnection, database: Path) -> None:
    """Attach a DuckDB file read-only as the catalog `OWN`; raises `SetupError` if it can't be opened."""
    try:
        con.execute(f"ATTACH {_literal(str(database.resolve()))} AS {OWN} (READ_ONLY)")
    except duckdb.Error as error:
        text = str(error)
        if "Conflicting lock" in text:
            holder = re.search(r"PID (\d+)", text)
            who = f"PID {holder[1]}" if holder else "another process"
            raise SetupError(
                f"The database {database} is in use by {who}, which may write to it.\n"
                "Stop that process, or let it open the file read-only."
            ) from error
        raise SetupError(
            f"The database {database} cannot be opened: {first_line(error)}.\nUse the path of a DuckDB file."
        ) from error


def attached(con: DuckDBPyConnection) -> list[tuple[str, ...]]:
    """Return the names of the tables and views of `OWN`, in lower case."""
    rows = con.execute(
        "SELECT lower(schema_name), lower(table_name) FROM duckdb_tables() WHERE database_name = $1 UNION ALL"
        " SELECT lower(schema_name), lower(view_name) FROM duckdb_views() WHERE database_name = $1 AND NOT internal",
        [OWN],
    ).fetchall()
    return [(OWN, *row) for row in rows] + [
        (OWN, table) for schema, table in rows if schema == "main"
    ]


def files(con: DuckDBPyConnection) -> list[Path]:
    [(paths,)] = con.execute("SELECT current_setting('allowed_paths')").fetchall()
    return list(map(Path, paths))


def memory_limit(con: DuckDBPyConnection) -> int:
    """Return the memory that all queries share, in bytes."""
    [(limit,)] = con.execute(
        "SELECT parse_formatted_bytes(current_setting('memory_limit'))"
    ).fetchall()
    return int(limit)


def matching(con: DuckDBPyConnection, pattern: str) -> list[str]:
    """Return the files that match a path with wildcards, sorted, exactly as a query finds them."""
    return [
        file
        for (file,) in con.execute(
            "SELECT file FROM glob(?) ORDER BY file", [pattern]
        ).fetchall()
    ]


def _view(con: DuckDBPyConnection, cards: Cards) -> list[str]:
    """Create the view of card spend, and return the files that it reads."""
    files = []
    for pattern in cards.files:
        matched = matching(con, pattern)
        if not matched:
            raise SetupError(
                f"There is no file {pattern}.\nUse the paths of the Parquet files with card spend."
            )
        files += matched

    try:
        if files:
            con.execute(f"CREATE VIEW {_FILES} AS FROM read_parquet({_literal(files)})")
        if cards.table:
            place = (OWN, *("main", *cards.table)[-2:])
        else:
            place = ("memory", "main", _FILES)
        columns = con.execute(f"DESCRIBE FROM {_name(*place)}").fetchall()
        stored = [(column, kind) for column, kind, *_ in columns]
        if stored == _AS_STORED and cards == tables.Cards.parquet(Path())._replace(
            files=cards.files
        ):
            query = f"FROM {_FILES}"
        else:
            import ibis

            from jupyter_funcs.service.engine.statements import Compiler

            compiler = Compiler()
            types = {
                column: compiler.type_mapper.from_string(kind)
                for column, kind in stored
            }
            catalog, database, table = place
            query = compiler.sql(
                cards.mapped(
                    ibis.table(types, name=table, database=database, catalog=catalog)
                )
            )
        # Not created by ibis, whose temporary view other cursors don't see.
        con.execute(f"CREATE VIEW cards AS {query}")
    except duckdb.Error as error:
        where = ", ".join(cards.files) or ".".join(cards.table)
        raise SetupError(
            f"Card spend cannot be read from {where}: {first_line(error)}."
        ) from error

    return files


def _name(*parts: str) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def _literal(value: str | Sequence[str]) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"[{', '.join(map(_literal, value))}]"


def first_line(error: Exception) -> str:
    """Return the first line of a DuckDB error, without its type."""
    return str(error).partition("\n")[0].partition(": ")[2].rstrip(".")
