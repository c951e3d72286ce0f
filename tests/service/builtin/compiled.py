"""
Compile the most frequent shapes of the built-in functions' queries: ``python -m tests.service.builtin.compiled``.

It writes `builtin/statements.json`, which a test holds against this module.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibis
import ibis.expr.operations as ops

from jupyter_funcs.service.builtin import companies, queries
from jupyter_funcs.service.engine import tables
from jupyter_funcs.service.engine.calls import Query
from jupyter_funcs.service.engine.duckdb_engine import DuckDBEngine

if TYPE_CHECKING:
    from collections.abc import Iterator

PATH = Path(queries.__file__).with_name("statements.json")
ROWS = {"panel": "P", "symbols": ("S",)}


def frequent() -> Iterator[Query]:
    """Return a query of each shape."""
    reference = companies.reference()
    yield Query(queries.panels)
    yield Query(queries.universe)
    for name, column in reference.dimensions.items():
        yield Query(
            queries.panel_dimensions,
            (((reference.heading(name), column),),),
            {"panel": "P"},
        )
    for is_primary in (True, False):
        yield Query(queries.kpis, (is_primary,), {"symbol": "S"})
        yield Query(queries.kpis, (is_primary,), {"symbol": "S", "panel": "P"})
    yield Query(queries.bounds, values=ROWS)
    for has_growth in (False, True):
        yield Query(queries.panel_daily, ((), 1 if has_growth else None), ROWS)
        yield Query(
            queries.panel_fq, ((), has_growth), ROWS, {"periods": queries.periods([])}
        )
    for unit in ("day", "week", "month", "quarter"):
        yield Query(
            queries.report, (unit, "generation"), ROWS | {"symbols": ("S", "T")}
        )


def table(name: str) -> Any:
    return ibis.table(
        tables.CARDS if name == "cards" else tables.SCHEMAS[name], name=name
    )


def compiled() -> dict[str, Any]:
    """Return the SQL and the columns of each query by its key."""
    engine = DuckDBEngine(companies.reference(), lambda: tables.Cards(tables.CARDS, {}))
    statements = {}
    for query in frequent():
        expression = query.expression(table)
        statements[query.key] = {
            "sql": engine.statements.compile(query, table).sql,
            "columns": {name: str(kind) for name, kind in expression.schema().items()},
            "reads_cards": any(
                table_read.name == "cards"
                for table_read in expression.op().find(ops.UnboundTable)
            ),
        }
    return statements


if __name__ == "__main__":
    PATH.write_text(json.dumps(compiled(), indent=1) + "\n", encoding="utf-8")
