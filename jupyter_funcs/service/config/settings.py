"""The configuration of a service: the keys of its TOML file, their defaults, and what a team's columns mean."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ByteSize,
    ConfigDict,
    Field,
    IPvAnyNetwork,
    PrivateAttr,
    Strict,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.core.text import quoted, quoted_list, suggestion
from jupyter_funcs.service.accounts.kept_records import KeptLimits
from jupyter_funcs.service.config.config_file import TomlFile
from jupyter_funcs.service.engine.calendar import FISCAL_YEAR_ENDS
from jupyter_funcs.service.engine.remote_engine import IN_MEMORY
from jupyter_funcs.service.engine.tables import DIMENSIONS
from jupyter_funcs.service.web.runs import Limits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from jupyter_funcs.service.config.config_file import Key

_VARIABLE = re.compile(r"\$\{(\w*)\}")
_MEMORY = re.compile(r"(?i)[0-9]+(\.[0-9]+)? ?[KMGT]i?B")
_LIMITS = Limits()
_KEPT = KeptLimits()


class Section(BaseModel):
    """A table of the configuration; unknown keys and wrong types are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _not_empty(value: Any) -> Any:
    if value == "":
        raise ValueError("must not be empty.")
    return value


def _resolved(path: Path, info: ValidationInfo) -> Path:
    """Resolve a path relative to the folder of the configuration file."""
    return (info.context or Path()) / path.expanduser()


Name = Annotated[str, BeforeValidator(_not_empty)]
FilePath = Annotated[
    Path, Strict(strict=False), BeforeValidator(_not_empty), AfterValidator(_resolved)
]
Names = Annotated[tuple[Name, ...], Strict(strict=False)]
FilePaths = Annotated[tuple[FilePath, ...], Strict(strict=False)]


def _with_variables(url: Any) -> Any:
    """Replace ``${NAME}`` by environment variables, so that passwords stay out of the file."""
    if not isinstance(url, str):
        return url
    if absent := [name for name in _VARIABLE.findall(url) if name not in os.environ]:
        raise ValueError(
            f"{quoted_list(absent)} is not set in the environment. Set it, or change the name."
        )

    return _VARIABLE.sub(lambda name: os.environ[name[1]], url)


def _engine(url: str, info: ValidationInfo) -> str:
    scheme, separator, rest = url.partition("://")
    # The message doesn't show the URL: it may contain a password.
    if not scheme or not separator:
        raise ValueError(
            "must be a connection URL such as 'duckdb://' or 'sc://host:15002'."
        )

    is_relative_file = scheme == "duckdb" and rest and not rest.startswith(("/", ":"))
    if is_relative_file:
        return f"duckdb://{(info.context or Path()) / rest}"
    return url


def _memory(text: Any) -> str:
    if not isinstance(text, str) or not _MEMORY.fullmatch(text):
        raise ValueError(
            f"must be an amount of memory such as '4GB', not {quoted(text)}."
        )
    return text


Memory = Annotated[ByteSize, BeforeValidator(_memory)]


class Server(Section):
    """The section ``[server]``: addresses, limits and logs."""

    host: Name = "127.0.0.1"
    port: int = Field(default=8765, ge=0, le=65535)
    tls_certificate: FilePath | None = None
    tls_key: FilePath | None = None
    behind_proxy: bool = False
    processes: int = Field(default=1, ge=1, le=64)
    trusted_proxies: Annotated[tuple[IPvAnyNetwork, ...], Strict(strict=False)] = ()
    allowed_hosts: Names = ()
    allowed_origins: Names = ()
    run_seconds: float = Field(default=_LIMITS.run_seconds, gt=0, le=86400)
    concurrent_runs: int = Field(default=_LIMITS.concurrent_runs, ge=1)
    runs_a_user: int | None = Field(default=None, ge=1)
    engine_threads: int | None = Field(default=None, ge=1, le=1024)
    idle_workers: int | None = Field(default=None, ge=0)
    idle_seconds: float = Field(default=3600, gt=0)
    stop_seconds: float = Field(default=10, ge=0, le=3600)
    keep_days: float = Field(default=_KEPT.days, ge=0, le=3652)
    keep_size: Memory = ByteSize(_KEPT.size)
    keep_size_a_user: Memory = ByteSize(_KEPT.size_a_user)
    log: Literal["text", "json"] = "text"

    @model_validator(mode="after")
    def _both_of_tls(self) -> Self:
        if bool(self.tls_certificate) != bool(self.tls_key):
            raise ValueError("needs both tls_certificate and tls_key, or neither.")
        return self

    def share(self, limit: int) -> int:
        """Return what each process may have of a limit."""
        return math.ceil(limit / self.processes)


class Functions(Section):
    """The section ``[functions]``: which functions are published."""

    builtin: bool = True
    folders: FilePaths = ()
    entry_points: bool = False
    readable: FilePaths = ()
    variables: Names = ()
    # With less, functions that use pandas can't be imported.
    memory_limit: Memory = Field(default=ByteSize(4 * 10**9), ge=2**27)
    asset: Name = "Panel data"


class Retention(Section):
    """The section ``[audit]``: how long records are kept, and how many of each kind."""

    days: float = Field(default=90, gt=0, le=36525)
    rows: int = Field(default=1_000_000, ge=1)


# A team's own data

BRAND = "Brand"

_COLUMNS_OF_CARDS = ("panel", "symbol", "date", "spend_cents", "transactions", "cards")
_COLUMNS_OF_RESULTS = {
    "periodlabel",
    "periodtodate",
    "periodstartdate",
    "periodenddate",
    "iscurrentquarter",
    "compared",
    "spend",
    "transaction count",
    "transactions per card",
    "cardholder count",
    "spend per transaction",
    "spend per card",
}


def dimension_columns(dimensions: Iterable[str]) -> dict[str, str]:
    """Return the column of card spend for each mapped dimension, and for Brand, which always exists."""
    return {
        name: DIMENSIONS.get(name, name.casefold()) for name in (*dimensions, BRAND)
    }


def _dimensions(mapped: Mapping[str, str]) -> Mapping[str, str]:
    columns = dimension_columns(mapped)
    taken = [
        name
        for name, column in columns.items()
        if column in _COLUMNS_OF_CARDS
        or name.casefold().removesuffix(" growth") in _COLUMNS_OF_RESULTS
    ]
    if taken:
        raise ValueError(
            f"{quoted_list(taken)} can't be a dimension: results have a column with that name. Choose another name."
        )

    earlier: dict[str, str] = {}
    for name, column in columns.items():
        if name != " ".join(name.split()) or not name:
            raise ValueError(
                f"the name {quoted(name)} has extra spaces or is empty. Correct it."
            )
        if same := earlier.get(column):
            raise ValueError(
                f"{quoted_list([same, name])} would be the same column. Choose names that differ by more than case."
            )
        earlier[column] = name

    return mapped


def _year_end(name: str) -> str:
    if name not in FISCAL_YEAR_ENDS:
        raise ValueError(
            f"unknown rule {quoted(name)}.{suggestion(name, FISCAL_YEAR_ENDS)} "
            f"Rules are {quoted_list(FISCAL_YEAR_ENDS)}."
        )
    return name


class SmallTable(Section):
    """Where a small table of reference data is, in a file or in the engine; and its columns that have other names."""

    parquet: FilePath | None = None
    csv: FilePath | None = None
    table: Name | None = None

    @model_validator(mode="after")
    def _one_location(self) -> Self:
        places = [
            name
            for name in ("parquet", "csv", "table", "rule")
            if getattr(self, name, None)
        ]
        if len(places) != 1:
            or_rule = "rule (such as 'December'), " if hasattr(self, "rule") else ""
            raise ValueError(f"needs exactly one of {or_rule}parquet, csv and table.")

        return self

    @property
    def mapped(self) -> dict[str, str]:
        """The team's name of each column that the table may have."""
        columns = get_args(type(self).model_fields["columns"].annotation)[0]
        own = self.model_dump()["columns"]
        return {name: own.get(name, name) for name in get_args(columns)}


class Companies(SmallTable):
    """The section ``[data.companies]``: the companies."""

    columns: dict[
        Literal["symbol", "name", "sector", "industry", "fiscal_year_end"], Name
    ] = {}


class Kpis(SmallTable):
    """The section ``[data.kpis]``: what companies report."""

    columns: dict[
        Literal[
            "symbol",
            "name",
            "id",
            "panel",
            "unit",
            "statement",
            "kpi_class",
            "measure",
            "brands",
            "is_primary",
        ],
        Name,
    ] = {}


class Calendar(SmallTable):
    """The section ``[data.calendar]``: a table with a row per quarter, or a rule."""

    columns: dict[
        Literal["symbol", "period_name", "start", "end", "is_historical"], Name
    ] = {}
    rule: Annotated[str, AfterValidator(_year_end)] | None = None
    reported_after_days: int = Field(default=45, ge=0, le=366)


class Columns(Section):
    """The section ``[data.columns]``: the columns of card spend; `panel` is optional."""

    date: Name = "date"
    symbol: Name = "symbol"
    spend: Name = "spend"
    transactions: Name = "transactions"
    cards: Name = "cards"
    panel: Name | None = None


class SavedReport(Section):
    """One of ``[[data.reports]]``: a saved report; `panel` is optional if there is only one panel."""

    id: Name
    title: Name
    symbols: Annotated[Names, Field(min_length=1)]
    panel: Name | None = None


class Data(Section):
    """The section ``[data]``: a team's own data."""

    parquet: FilePath | None = None
    table: Name | None = None
    spend_unit: Literal["units", "cents"] = "units"
    panel: Name = "Card Panel"
    columns: Columns = Columns()
    dimensions: Annotated[dict[str, Name], AfterValidator(_dimensions)] = {}
    panels: dict[str, str] = {}
    companies: Companies | None = None
    kpis: Kpis | None = None
    calendar: Calendar
    reports: Annotated[tuple[SavedReport, ...], Strict(strict=False)] = ()

    @model_validator(mode="after")
    def _one_location(self) -> Self:
        if bool(self.parquet) == bool(self.table):
            raise ValueError("needs either parquet or table: where the card spend is.")
        if self.columns.panel and "panel" in self.model_fields_set:
            raise ValueError("has both panel and columns.panel. Remove one of them.")
        return self


# All of it


class Settings(Section):
    """All settings of a service; the defaults serve the demo."""

    organisation: Name = "Team"
    state: FilePath | None = None
    engine: Annotated[
        str, BeforeValidator(_with_variables), AfterValidator(_engine)
    ] = Field(default=IN_MEMORY, repr=False)
    # With less, hardly any query runs.
    memory_limit: Memory | None = Field(default=None, ge=2**24)
    server: Server = Server()
    functions: Functions = Functions()
    audit: Retention = Retention()
    data: Data | None = None
    _file: TomlFile = PrivateAttr(TomlFile("the configuration", "", {}))

    def fail(self, key: Key, text: str) -> NoReturn:
        """Raise a `SetupError` about a key, such as ``("data", "columns", "spend")``, with its line."""
        raise SetupError(f"{self._file.place(key)}: {text}")


def load(path: Path | None) -> Settings:
    """Read a configuration file; `None` means the defaults."""
    if not path:
        return Settings()
    file = TomlFile.read(path)
    try:
        settings = Settings.model_validate(file.values, context=path.absolute().parent)
    except ValidationError as error:
        # From None: pydantic's own message shows the engine's URL, which may contain a password.
        raise SetupError(file.describe(error, Settings)) from None

    settings._file = file  # noqa: SLF001 - set here and nowhere else
    return settings
