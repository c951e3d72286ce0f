"""Inspect a team's card spend: check its columns and rows, and find its panels, companies and brands."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import ibis

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.core.text import quoted, quoted_list
from jupyter_funcs.service.config.settings import BRAND, Data, dimension_columns
from jupyter_funcs.service.config.team_tables import TeamTables, no_column
from jupyter_funcs.service.engine.tables import Cards

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    import ibis.expr.datatypes as dt
    import ibis.expr.types as ir

    from jupyter_funcs.service.config.settings import Settings
    from jupyter_funcs.service.config.team_tables import OpenTable

_MAX_NAMED = 3
_TYPES = {"date": "date", "spend_cents": "int64", "transactions": "int64", "cards": "int64"}
_MEASURES = ("spend_cents", "transactions", "cards")
# Columns that must have a value in every row.
_KEYS = ("date", "symbol", "panel")


class _Column(NamedTuple):
    key: tuple[str, ...]
    name: str


class BrandDays(NamedTuple):
    panel: str
    symbol: str
    brand: str
    first: date
    last: date


class CardSpend(NamedTuple):
    """Where card spend is, and what is in it."""

    cards: Cards
    brands: Sequence[BrandDays]
    generations: Sequence[str]


def inspect(settings: Settings, data: Data, team_tables: TeamTables) -> CardSpend:
    """Check the mapping of card spend against its columns and rows, and return what is in it."""
    key = ("data", "parquet" if data.parquet else "table")
    mapped = _mapped(data)
    opened, label = team_tables.open(("data",), data)
    raw = opened.table
    _check_columns(settings, label, mapped, opened)
    try:
        [counts] = opened.rows(_counts(raw, mapped))
        _check_rows(settings, label, mapped, counts)
        cards = _cards(data, mapped, raw, counts)
        rows = cards.mapped(raw)
        days = rows.group_by("panel", "symbol", "merchant").agg(first=rows.date.min(), last=rows.date.max())
        brands = [BrandDays(*row.values()) for row in opened.rows(days)]
        ages = opened.rows(rows.select("generation").distinct()) if "generation" in cards.schema else []
    except SetupError:
        raise
    except Exception as error:  # noqa: BLE001 - each driver has errors of its own
        settings.fail(key, f"{label} cannot be read: {team_tables.reason(error)}.")
    _check_owners(settings, brands)
    return CardSpend(cards, brands, sorted(row["generation"] for row in ages))


def _mapped(data: Data) -> dict[str, _Column]:
    """Return the key in the configuration and the team's column, for each mapped column of `Cards`."""
    columns = {
        {"spend": "spend_cents"}.get(use, use): _Column(("data", "columns", use), name)
        for use, name in data.columns.model_dump(exclude_none=True).items()
    }
    of_dimensions = dimension_columns(data.dimensions)
    return columns | {
        of_dimensions[dimension]: _Column(("data", "dimensions", dimension), name)
        for dimension, name in data.dimensions.items()
    }


def _check_columns(settings: Settings, label: str, mapped: Mapping[str, _Column], opened: OpenTable) -> None:
    raw, _, files = opened
    for use, column in mapped.items():
        if column.name not in raw.columns:
            settings.fail(column.key, f"{label} {no_column(column.name, raw.columns)}")
        # A column that is in no file comes from the names of the folders.
        without = [file for file, facts in files.items() if column.name not in facts.schema.to_arrow_schema().names]
        if without and len(without) < len(files):
            settings.fail(column.key, f"{without[0]} has no column {quoted(column.name)}, but other files do.")
        if wrong := _type_error(use, raw[column.name].type()):
            settings.fail(column.key, f"{quoted(column.name)} of {label} {wrong}")


def _type_error(use: str, kind: dt.DataType) -> str:
    """Return what is wrong with the type of a column; empty if nothing is."""
    if use == "date" and kind.is_timestamp() and kind.timezone:
        return "must have dates, not times with a time zone: their day is ambiguous."
    if use == "date":
        wanted, is_valid = "dates", kind.is_date() or kind.is_timestamp()
    elif use in _MEASURES:
        wanted, is_valid = "numbers", kind.is_numeric()
    else:
        wanted, is_valid = "text or whole numbers", kind.is_string() or kind.is_integer()
    words = {"is_string": "text", "is_boolean": "booleans", "is_integer": "whole numbers", "is_numeric": "numbers"}
    actual = next((word for test, word in words.items() if getattr(kind, test)()), f"values of type {kind}")
    return "" if is_valid else f"must have {wanted}, not {actual}."


def _counts(raw: ir.Table, mapped: Mapping[str, _Column]) -> ir.Table:
    """Count the rows, and for each column the rows without a value."""
    counts = {"rows": raw.count()}
    for use, (_, name) in mapped.items():
        column = raw[name]
        absent = column.isnull()
        if use in ("symbol", "panel") and column.type().is_string():
            absent |= column.strip() == ""
        elif use in _MEASURES and column.type().is_floating():
            # True for NaN and infinities; each engine has its own functions for these.
            absent = (column - column) != 0
        counts[use] = ibis.ifelse(absent, 1, 0).sum()
    return raw.agg(**counts)


def _check_rows(settings: Settings, label: str, mapped: Mapping[str, _Column], counts: Mapping[str, int]) -> None:
    rows = counts["rows"]
    if not rows:
        settings.fail(("data",), f"{label} has no rows.")
    for use, column in mapped.items():
        absent = counts[use] or 0
        if absent and use in _KEYS:
            settings.fail(column.key, f"{quoted(column.name)} is empty in {absent:,} of {rows:,} rows. Fill it in.")
        if absent and use in _MEASURES:
            settings.fail(column.key, f"{quoted(column.name)} is not a number (NaN) in {absent:,} of {rows:,} rows.")


def _cards(data: Data, mapped: Mapping[str, _Column], raw: ir.Table, counts: Mapping[str, int]) -> Cards:
    dimensions = dimension_columns(data.dimensions).values()
    schema = dict.fromkeys(("panel", "symbol", *dimensions), "string") | _TYPES
    for use in ("transactions", "cards"):
        if not raw[mapped[use].name].type().is_integer():  # in a weighted panel
            schema[use] = "float64"
    columns = {use: column.name for use, column in mapped.items()}
    return Cards(
        schema=schema,
        columns={"merchant": columns["symbol"]} | columns,
        files=(str(data.parquet),) if data.parquet else (),
        table=tuple(data.table.split(".")) if data.table else (),
        panel=None if "panel" in columns else data.panel,
        spend_unit=data.spend_unit,
        has_unknown=frozenset(use for use in dimensions if counts.get(use)),
    )


def _check_owners(settings: Settings, brands: Sequence[BrandDays]) -> None:
    owners: dict[str, set[str]] = {}
    for brand in brands:
        owners.setdefault(brand.brand, set()).add(brand.symbol)
    shared = [brand for brand, symbols in owners.items() if len(symbols) > 1]
    if shared:
        named = "; ".join(f"{quoted(brand)} has {quoted_list(sorted(owners[brand]))}" for brand in shared[:_MAX_NAMED])
        more = f"; and {len(shared) - _MAX_NAMED} more" if len(shared) > _MAX_NAMED else ""
        settings.fail(
            ("data", "dimensions", BRAND),
            f"a brand can only belong to one company, but {named}{more}.\n"
            "Rename these brands, or use one symbol in all their rows.",
        )
