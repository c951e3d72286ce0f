"""A team's small tables as rows: companies, the fiscal calendar and KPIs, each value checked as it is read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from .own_source import SourceError, csv_rows, parquet_rows
from .words import did_you_mean, listed, quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from .mapping import Calendar, Companies, Kpis
    from .own_source import Source
    from .settings import Settings
    from .toml_file import Key

    AnyPlace = Companies | Calendar | Kpis

_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_MOST_COLUMNS = 20


@dataclass(frozen=True, slots=True)
class Row:
    """
    A row of a small table.

    Attributes
    ----------
    where
        The table and the row's number, for messages.
    values
        By use: what the columns hold that are mapped and there.
    columns
        The column of each use.
    """

    where: str
    values: Mapping[str, Any]
    columns: Mapping[str, str]

    def text(self, use: str) -> str:
        """Give a text, trimmed; empty where there is none."""
        value = self.values.get(use)
        if isinstance(value, float):  # where pandas had whole numbers, or text, and gaps
            value = None if math.isnan(value) else int(value) if value.is_integer() else value
        return "" if value is None else str(value).strip()

    def required(self, use: str) -> str:
        """Give a text that must be there; raises `SourceError`."""
        if text := self.text(use):
            return text
        raise self._wrong(use, "is empty")

    def whole(self, use: str) -> int:
        """Give a whole number; raises `SourceError`."""
        text = self.required(use)
        try:
            return int(text)
        except ValueError:
            raise self._wrong(use, f"is {quoted(text)}, not a whole number") from None

    def day(self, use: str) -> date:
        """Give a date; raises `SourceError`."""
        value = self.values.get(use)
        if isinstance(value, datetime):
            value = value.date() if value.time() == datetime.min.time() else str(value)
        if isinstance(value, date):
            return value
        try:
            return date.fromisoformat(self.required(use))
        except ValueError:
            raise self._wrong(use, f"is {quoted(value)}, not a date such as 2024-12-31") from None

    def flag(self, use: str) -> bool | None:
        """Give a yes or no, `None` where there is none; raises `SourceError`."""
        text = self.text(use)
        if not text:
            return None
        if text.casefold() not in _FLAGS:
            raise self._wrong(use, f"is {quoted(text)}, neither true nor false")
        return _FLAGS[text.casefold()]

    def _wrong(self, use: str, text: str) -> SourceError:
        return SourceError(f"{self.where}: {quoted(self.columns[use])} {text}.")


def read(settings: Settings, key: Key, place: AnyPlace, required: Collection[str], source: Source) -> list[Row]:
    """
    Give the rows of a small table.

    Parameters
    ----------
    key
        Where `place` stands in the configuration.
    required
        The uses whose columns must be there; others may be absent unless the configuration names them.

    Raises
    ------
    SetupError
        The table cannot be read, or a column is absent.
    """
    kind = next(kind for kind in ("parquet", "csv", "table") if getattr(place, kind) is not None)
    name = getattr(place, kind)
    try:
        if kind == "table":
            opened = source.table(name)
            names, found = list(opened.table.columns), list(enumerate(opened.rows(opened.table), 1))
        else:
            names, found = (parquet_rows if kind == "parquet" else csv_rows)(name)
    except SourceError as error:
        settings.fail((*key, kind), f"{quoted(kind)} {error}")
    label = quoted(name) if kind == "table" else name.name
    columns = place.columns
    mapped = columns.model_dump()
    for use, column in mapped.items():
        if column not in names and (use in required or use in columns.model_fields_set):
            settings.fail((*key, "columns", use), f"{label} {lacks(column, names)}")
    there = {use: column for use, column in mapped.items() if column in names}
    unit = "line" if kind == "csv" else "row"
    return [
        Row(f"{label}, {unit} {number}", {use: record[column] for use, column in there.items()}, mapped)
        for number, record in found
    ]


def lacks(column: str, names: Collection[str]) -> str:
    """Say that a column is absent, and which there are."""
    near = did_you_mean(column, list(names))
    some = listed(list(names)[:_MOST_COLUMNS]) + (", …" if len(names) > _MOST_COLUMNS else "") or "none"
    return f"has no column {quoted(column)}.{near} It has {some}."
