"""Read a team's small tables (companies, fiscal calendar, KPIs) as rows whose values are checked on access."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_funcs.service.config.source import TeamDataError, TeamTables, csv_rows, parquet_rows
from jupyter_funcs.service.messages import did_you_mean, listed, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from jupyter_funcs.service.config.config_file import Key
    from jupyter_funcs.service.config.mapping import Calendar, Companies, Kpis
    from jupyter_funcs.service.config.settings import Settings

    AnyTable = Companies | Calendar | Kpis

_T = TypeVar("_T")

_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_MAX_COLUMNS = 20


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a small table; `use` is the name of a column in the configuration."""

    where: str
    values: Mapping[str, Any]
    columns: Mapping[str, str]

    def text(self, use: str) -> str:
        """Return a value as trimmed text, empty if it is absent."""
        value = self.values.get(use)
        if isinstance(value, float):  # of a column in which pandas had gaps
            value = None if math.isnan(value) else int(value) if value.is_integer() else value
        return "" if value is None else str(value).strip()

    def required(self, use: str) -> str:
        """Return a text that must not be empty."""
        if text := self.text(use):
            return text
        raise self._error(use, "is empty")

    def whole(self, use: str) -> int:
        """Return a whole number."""
        return self._parsed(use, int, "a whole number")

    def day(self, use: str) -> date:
        """Return a date."""
        return self._parsed(use, _day, "a date such as 2024-12-31")

    def flag(self, use: str) -> bool | None:
        """Return true or false, or `None` if the value is absent."""
        return self._parsed(use, lambda text: _FLAGS[text.casefold()], "true or false") if self.text(use) else None

    def _parsed(self, use: str, parse: Callable[[str], _T], wanted: str) -> _T:
        text = self.required(use)
        try:
            return parse(text)
        except (ValueError, KeyError):
            raise self._error(use, f"must be {wanted}, not {quoted(text)}") from None

    def _error(self, use: str, text: str) -> TeamDataError:
        return TeamDataError(f"{self.where}: {quoted(self.columns[use])} {text}.")


def _day(text: str) -> date:
    found = datetime.fromisoformat(text)
    if found.time() != time.min:
        raise ValueError(text)
    return found.date()


def read_rows(
    settings: Settings, key: Key, section: AnyTable, required: Collection[str], team_tables: TeamTables
) -> list[Row]:
    """Return the rows of a small table."""
    kind = next(kind for kind in ("parquet", "csv", "table") if getattr(section, kind) is not None)
    name = getattr(section, kind)
    try:
        if kind == "table":
            opened = team_tables.table(name)
            names, found = list(opened.table.columns), list(enumerate(opened.rows(opened.table), 1))
        else:
            names, found = (parquet_rows if kind == "parquet" else csv_rows)(name)
    except TeamDataError as error:
        settings.fail((*key, kind), str(error))
    label = quoted(name) if kind == "table" else name.name
    columns = section.columns
    mapped = columns.model_dump()
    for use, column in mapped.items():
        if column not in names and (use in required or use in columns.model_fields_set):
            settings.fail((*key, "columns", use), f"{label} {no_column(column, names)}")
    there = {use: column for use, column in mapped.items() if column in names}
    unit = "line" if kind == "csv" else "row"
    return [
        Row(f"{label}, {unit} {number}", {use: record[column] for use, column in there.items()}, mapped)
        for number, record in found
    ]


def no_column(column: str, names: Collection[str]) -> str:
    """Return the message that a column is absent, with the nearest name and those that exist."""
    near = did_you_mean(column, list(names))
    some = listed(list(names)[:_MAX_COLUMNS]) + (", …" if len(names) > _MAX_COLUMNS else "") or "none"
    return f"has no column {quoted(column)}.{near} It has {some}."
