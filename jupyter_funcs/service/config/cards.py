"""A team's card spend: its mapping held against its columns and rows, and what there is in it."""

from __future__ import annotations

import itertools
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import ibis

from . import own_source, own_tables
from .dataset import Cards
from .errors import SetupError
from .mapping import BRAND, dimension_columns
from .own_source import SourceError
from .words import listed, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    import ibis.expr.datatypes as dt
    import ibis.expr.types as ir
    import pyarrow.parquet as pq

    from .mapping import Data
    from .own_source import Source
    from .settings import Settings

log = logging.getLogger(__name__)

_MOST_NAMED = 3
_TYPES = {"date": "date", "spend_cents": "int64", "transactions": "int64", "cards": "int64"}
_MEASURES = ("spend_cents", "transactions", "cards")
# What every row must say.
_KEYS = ("date", "symbol", "panel")


class _Column(NamedTuple):
    key: tuple[str, ...]
    name: str


class Series(NamedTuple):
    """The rows of a brand in a panel: their first and last day."""

    panel: str
    symbol: str
    brand: str
    first: date
    last: date


@dataclass(frozen=True, slots=True)
class Found:
    """
    Card spend as it was found.

    Attributes
    ----------
    series
        Every brand in every panel.
    generations
        The values of Age Group, where it is a dimension.
    """

    cards: Cards
    series: Sequence[Series]
    generations: Sequence[str]


def find(settings: Settings, data: Data, source: Source) -> Found:
    """
    Hold a mapping against the columns and rows of card spend.

    Raises
    ------
    SetupError
        Card spend cannot be read; a column is absent or of a kind that does not fit; rows have no date, symbol or
        panel, or numbers that are none; or a brand is that of two companies.
    """
    place = ("data", "table" if data.parquet is None else "parquet")
    label = quoted(data.table) if data.parquet is None else data.parquet.name
    mapped = _mapped(data)
    try:
        files = own_source.files(data.parquet) if data.parquet is not None else {}
        opened = source.table(data.table or "") if data.parquet is None else source.parquet(list(files))
    except SourceError as error:
        settings.fail(place, f"{quoted(place[-1])} {error}")
    raw = opened.table
    _check_columns(settings, label, mapped, raw, files)
    try:
        [counts] = opened.rows(_counts(raw, mapped))
        _check_rows(settings, label, mapped, counts)
        cards = _cards(data, mapped, raw, counts)
        rows = cards.mapped(raw)
        found = rows.group_by("panel", "symbol", "merchant").agg(first=rows.date.min(), last=rows.date.max())
        series = [Series(*row.values()) for row in opened.rows(found)]
        generations = []
        if "generation" in cards.schema:
            generations = [row["generation"] for row in opened.rows(rows.select("generation").distinct())]
    except SetupError:
        raise
    except Exception as error:  # noqa: BLE001 - each driver has errors of its own
        settings.fail(place, f"{label} cannot be read: {source.reason(error)}.")
    _check_owners(settings, series)
    _advise(label, files, mapped["symbol"].name)
    return Found(cards, series, sorted(generations))


def _mapped(data: Data) -> dict[str, _Column]:
    """Give where the configuration says it, and the team's column, of each column of `Cards` that is mapped."""
    columns = {
        {"spend": "spend_cents"}.get(use, use): _Column(("data", "columns", use), name)
        for use, name in data.columns.model_dump(exclude_none=True).items()
    }
    of_dimensions = dimension_columns(data.dimensions)
    return columns | {
        of_dimensions[dimension]: _Column(("data", "dimensions", dimension), name)
        for dimension, name in data.dimensions.items()
    }


def _check_columns(
    settings: Settings, label: str, mapped: Mapping[str, _Column], raw: ir.Table, files: Mapping[str, pq.FileMetaData]
) -> None:
    for use, column in mapped.items():
        if column.name not in raw.columns:
            settings.fail(column.key, f"{label} {own_tables.lacks(column.name, raw.columns)}")
        # A column that no file has is one of the folders' names.
        without = [file for file, found in files.items() if column.name not in found.schema.to_arrow_schema().names]
        if without and len(without) < len(files):
            settings.fail(column.key, f"{without[0]} has no column {quoted(column.name)}, which other files have.")
        if wrong := _misfit(use, raw[column.name].type()):
            settings.fail(column.key, f"{quoted(column.name)} of {label} {wrong}")


def _misfit(use: str, kind: dt.DataType) -> str:
    """Say what is wrong with the kind of a column; nothing where it fits."""
    if use == "date":
        if kind.is_timestamp() and kind.timezone:
            return "is a time with a time zone, so that its day depends on who looks. Store dates."
        return "" if kind.is_date() or kind.is_timestamp() else f"holds {_kind(kind)}. Store dates."
    if use in _MEASURES:
        return "" if kind.is_numeric() and not kind.is_boolean() else f"holds {_kind(kind)}. Store numbers."
    return "" if kind.is_string() or kind.is_integer() else f"holds {_kind(kind)}. Store text."


def _kind(kind: dt.DataType) -> str:
    words = {
        "is_string": "text",
        "is_boolean": "true and false",
        "is_integer": "whole numbers",
        "is_numeric": "numbers",
    }
    return next((word for test, word in words.items() if getattr(kind, test)()), f"values of the type {kind}")


def _counts(raw: ir.Table, mapped: Mapping[str, _Column]) -> ir.Table:
    """Count the rows, and those of which a column says nothing."""
    counts = {"rows": raw.count()}
    for use, (_, name) in mapped.items():
        column = raw[name]
        absent = column.isnull()
        if use in ("symbol", "panel") and column.type().is_string():
            absent |= column.strip() == ""
        elif use in _MEASURES and column.type().is_floating():
            # Of NaN and the infinities only: each engine has its own test for these.
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
            settings.fail(column.key, f"{quoted(column.name)} says nothing in {absent:,} of {rows:,} rows. Fill it in.")
        if absent and use in _MEASURES:
            settings.fail(column.key, f"{quoted(column.name)} is no number (NaN) in {absent:,} of {rows:,} rows.")


def _cards(data: Data, mapped: Mapping[str, _Column], raw: ir.Table, counts: Mapping[str, int]) -> Cards:
    dimensions = dimension_columns(data.dimensions).values()
    schema = {"panel": "string", "symbol": "string"} | dict.fromkeys(dimensions, "string") | _TYPES
    for use in ("transactions", "cards"):
        if not raw[mapped[use].name].type().is_integer():  # of a weighted panel
            schema[use] = "float64"
    columns = {use: column.name for use, column in mapped.items()}
    return Cards(
        schema=schema,
        columns={"merchant": columns["symbol"]} | columns,
        files=() if data.parquet is None else (str(data.parquet),),
        table=tuple(data.table.split(".")) if data.table else (),
        panel=None if "panel" in columns else data.panel,
        spend_unit=data.spend_unit,
        has_unknown=frozenset(use for use in dimensions if counts.get(use)),
    )


def _check_owners(settings: Settings, series: Sequence[Series]) -> None:
    owners: dict[str, set[str]] = {}
    for each in series:
        owners.setdefault(each.brand, set()).add(each.symbol)
    shared = [brand for brand, symbols in owners.items() if len(symbols) > 1]
    if shared:
        named = "; ".join(f"{quoted(brand)} of {listed(sorted(owners[brand]))}" for brand in shared[:_MOST_NAMED])
        more = f"; and {len(shared) - _MOST_NAMED} more" if len(shared) > _MOST_NAMED else ""
        settings.fail(
            ("data", "dimensions", BRAND),
            f"a brand is one company's, but there is {named}{more}.\n"
            "Give such brands names of their own, or all their rows one symbol.",
        )


def _advise(label: str, files: Mapping[str, pq.FileMetaData], symbol: str) -> None:
    """Say so where a query reads nearly all rows although it asks for one symbol."""
    bounds = [each for found in files.values() for each in own_source.bounds(found, symbol)]
    falls = sum(after[0] < before[1] for before, after in itertools.pairwise(bounds))
    if falls > len(bounds) / 2:
        log.warning(
            "%s is not sorted by %s: every query reads all of it. Sorted, most of it is skipped.", label, symbol
        )
