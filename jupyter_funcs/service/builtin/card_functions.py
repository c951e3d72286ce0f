"""The built-in functions: their parameters, rules and texts, each over a query of `queries`."""
# ruff: noqa: N803 - parameters have their wire names

from __future__ import annotations

from dataclasses import replace
from datetime import date  # noqa: TC003 - as above
from typing import TYPE_CHECKING, Annotated, Any, Literal

from jupyter_funcs.core.text import quoted, quoted_list
from jupyter_funcs.functions.markers import (
    AtLeastOne,
    Between,
    Help,
    ListedBy,
    Options,
    TypeCode,
)
from jupyter_funcs.service.builtin import queries
from jupyter_funcs.service.builtin.queries import query
from jupyter_funcs.service.engine import calendar
from jupyter_funcs.service.engine.tables import Reference
from jupyter_funcs.service.publishing.registry import PublishedFunction, function

if TYPE_CHECKING:
    from jupyter_funcs.core.errors import Messages
    from jupyter_funcs.core.json_decoding import JsonObject, Values
    from jupyter_funcs.service.engine.calls import Call, Query

YesNo = Literal["Yes", "No"]
Unit = Literal["day", "week", "month", "quarter"]

Panel = Annotated[
    str,
    TypeCode.PANEL,
    Help("The panel data set to read."),
    ListedBy("Get Panels", Reference.panel),
]
Symbol = Annotated[
    str,
    TypeCode.SYMBOL,
    Help("The company, as <ticker> <region> EQUITY, or its ticker alone."),
    ListedBy("Get Universe", Reference.symbol, "symbols"),
]
Brands = Annotated[
    list[str],
    Help("One or more brands. Several are added up unless Dimensions includes Brand."),
    ListedBy("Get Panel Dimensions", Reference.brand, "brands"),
]
_DIMENSIONS = Options(lambda reference: tuple(reference.dimensions))
Dimensions = Annotated[
    list[str],
    _DIMENSIONS,
    Help("What to break the result down by; columns are in the order given."),
]
Growth = Annotated[
    YesNo, Help("Whether to add a growth column after each measure, as a fraction.")
]

_SYMBOL_OR_BRAND = AtLeastOne("Symbol", "Brand")


def brands_of_symbol(
    values: Values, _given: frozenset[str], reference: Reference
) -> Messages:
    """Require that the brands of a call belong to its symbol."""
    if (symbol := values.get("Symbol")) is None:
        return {}
    return _foreign(
        "Brand",
        values,
        reference.owned([symbol]),
        f"a brand of {symbol}. Its brands are",
    )


def one_calendar(
    values: Values, passed: frozenset[str], reference: Reference
) -> Messages:
    """Require that the brands of a call have the same fiscal calendar."""
    brands = values.get("Brand")
    if "Symbol" in passed or not brands:
        return {}
    owners = {brand: reference.owner(brand) for brand in brands}
    try:
        reference.calendar(sorted(set(owners.values())))
    except ValueError as error:
        named = ", ".join(
            f"{quoted(brand)} ({reference.fiscal_year_end(owner)})"
            for brand, owner in owners.items()
        )
        return {
            "Brand": [
                f"Brands have {error}: {named}. Run the brands of each fiscal calendar separately."
            ]
        }

    return {}


def brands_of_report(
    values: Values, _given: frozenset[str], reference: Reference
) -> Messages:
    """Require that the brands of a call are in its report."""
    if "report_id" not in values:
        return {}
    report = reference.report(values["report_id"])
    return _foreign(
        "brands",
        values,
        reference.owned(report.symbols),
        f"in report {report.id}. It has",
    )


def _foreign(argument: str, values: Values, own: list[str], where: str) -> Messages:
    """Return the error of an argument that names brands other than its own."""
    foreign = [brand for brand in values.get(argument) or () if brand not in own]
    if not foreign:
        return {}
    return {
        argument: [f"Brand {quoted_list(foreign)} is not {where} {quoted_list(own)}."]
    }


def _rows(
    call: Call, panel: str, symbol: str | None, brands: list[str] | None
) -> JsonObject:
    """Return the values that select the card spend of a symbol, of brands, or of brands of a symbol."""
    # Brands also select by symbol: the data is sorted by it, so most of it is skipped.
    if symbol:
        symbols = {symbol}
    else:
        symbols = {call.reference.owner(brand) for brand in brands or ()}

    rows = {"panel": panel, "symbols": tuple(sorted(symbols))}
    return rows | ({"brands": tuple(brands)} if brands else {})


def _columns(call: Call, dimensions: list[str] | None) -> queries.Dimensions:
    return tuple(
        (name, call.reference.dimensions[name])
        for name in dict.fromkeys(dimensions or ())
    )


@function(group="Reference", name="Get Panels")
def get_panels(call: Call) -> Query:  # noqa: ARG001 - every function takes it
    """List the panel data sets that the other functions read."""
    return query(queries.panels)


@function(group="Reference", name="Get Universe")
def get_universe(call: Call) -> Query:  # noqa: ARG001 - as above
    """List the companies by symbol, with sector, industry and fiscal year end."""
    return query(queries.universe)


@function(group="Reference", name="Get Panel Dimensions")
def get_panel_dimensions(
    call: Call,
    PanelName: Panel,
    Dimensions: Annotated[
        list[str],
        _DIMENSIONS,
        Help("The dimensions to list; with several, their combinations."),
    ],
) -> Query:
    """List the values that the dimensions of a panel take: {dimensions}."""
    names = dict.fromkeys(Dimensions)
    headings = tuple(
        (call.reference.heading(name), call.reference.dimensions[name])
        for name in names
    )
    return query(queries.panel_dimensions, (headings,), {"panel": PanelName})


@function(
    group="Panel data",
    name="Get Panel Daily",
    rules=(_SYMBOL_OR_BRAND, brands_of_symbol),
)
def get_panel_daily(  # noqa: PLR0913, PLR0917 - the parameters of the service's function
    call: Call,
    PanelName: Panel,
    Symbol: Symbol | None = None,
    Brand: Brands | None = None,
    PoPGrowth: Growth = "No",
    PoPLookback: Annotated[
        int,
        Help("How many years back growth compares; a year is 364 days."),
        Between(1, 50),
    ] = 1,
    Dimensions: Dimensions | None = None,
) -> Query:
    """Return the card spend of a company or of brands by day, in USD."""
    lookback = PoPLookback if PoPGrowth == "Yes" else None
    return query(
        queries.panel_daily,
        (_columns(call, Dimensions), lookback),
        _rows(call, PanelName, Symbol, Brand),
    )


@function(
    group="Panel data",
    name="Get Panel FQ",
    rules=(_SYMBOL_OR_BRAND, brands_of_symbol, one_calendar),
)
def get_panel_fq(  # noqa: PLR0913, PLR0917 - the parameters of the service's function
    call: Call,
    PanelName: Panel,
    Symbol: Symbol | None = None,
    Brand: Brands | None = None,
    PoPGrowth: Growth = "No",
    PoPLookback: Annotated[
        int, Help("How many fiscal years back growth compares."), Between(1, 50)
    ] = 1,
    Dimensions: Dimensions | None = None,
    UseReportedForCurrentPeriod: Annotated[
        YesNo,
        Help(
            "Which quarter is marked as current: with Yes, the earliest one that is not reported yet; "
            "with No, the one with the last day of data."
        ),
    ] = "Yes",
    PeriodToDate: Annotated[
        YesNo,
        Help(
            "Whether to add a to-date row for each quarter, over as many days as the current quarter has so far."
        ),
    ] = "No",
) -> Query | list[Any]:
    """Return the card spend of a company or of brands by fiscal quarter, in USD."""
    rows = _rows(call, PanelName, Symbol, Brand)
    [bounds] = call.fetch(query(queries.bounds, values=rows))
    if not bounds["first"]:
        return []
    lookback = PoPLookback if PoPGrowth == "Yes" else 0
    windows = calendar.windows(
        call.reference.calendar(rows["symbols"]),
        bounds["first"],
        bounds["last"],
        lookback=lookback,
        to_date=PeriodToDate == "Yes",
        reported=UseReportedForCurrentPeriod == "Yes",
    )
    shape = (_columns(call, Dimensions), bool(lookback))
    return query(queries.panel_fq, shape, rows, {"periods": queries.periods(windows)})


@function(group="Company data", name="Get KPIs")
def get_kpis(
    call: Call,  # noqa: ARG001 - as above
    Symbol: Symbol,
    PanelName: Panel | None = None,
    PrimaryOnly: Annotated[
        YesNo, Help("Whether to list only the main KPI of the company in each panel.")
    ] = "Yes",
) -> Query:
    """List the figures that a company reports and that a panel follows."""
    chosen = {"symbol": Symbol} | ({"panel": PanelName} if PanelName else {})
    return query(queries.kpis, (PrimaryOnly == "Yes",), chosen)


@function(group="Reports", name="Get Report", rules=(brands_of_report,))
def get_report(  # noqa: PLR0913, PLR0917 - the parameters of the service's function
    call: Call,
    report_id: Annotated[
        str,
        Options(lambda reference: tuple(report.id for report in reference.reports)),
        Help(
            lambda reference: (
                f"The saved report: {'; '.join(f'{it.id} {it.title}' for it in reference.reports)}."
            )
        ),
    ],
    report_time_unit: Annotated[
        Unit, Help("The time unit of the series; a week starts on Monday.")
    ] = "month",
    report_time_after: Annotated[date | None, Help("The first day to include.")] = None,
    shopper_generation: Annotated[
        str | None,
        Options(lambda reference: tuple(reference.generations)),
        Help("Only the spend of this age group."),
    ] = None,
    brands: Annotated[
        list[str] | None,
        Options(
            lambda reference: tuple(
                reference.owned(
                    [it for item in reference.reports for it in item.symbols]
                )
            )
        ),
        Help("Only these brands of the report."),
    ] = None,
) -> Query:
    """Return the spend series of a saved report."""
    report = call.reference.report(report_id)
    chosen = {
        "after": report_time_after,
        "generation": shopper_generation,
        "brands": tuple(brands or ()),
    }
    rows = {"panel": report.panel, "symbols": report.symbols} | {
        name: item for name, item in chosen.items() if item
    }
    return query(
        queries.report,
        (report_time_unit, call.reference.dimensions.get("Age Group")),
        rows,
    )


# In the order in which they stand above.
_BUILT_IN = tuple(
    published
    for published in list(globals().values())
    if isinstance(published, PublishedFunction)
)


def published(
    reference: Reference,
    *,
    asset: str,
    reports_asset: str | None = None,
    note: str = "",
) -> tuple[PublishedFunction, ...]:
    """Return the built-in functions that the reference data can answer, in listing order."""
    absent = {get_kpis.name: not reference.kpis, get_report.name: not reference.reports}
    return tuple(
        replace(
            published,
            asset=(reports_asset or asset) if published is get_report else asset,
            depends_on_data_only=True,
            read_only=True,
            description=_description(published, reference, note),
            parameters=tuple(
                parameter
                for parameter in published.parameters
                if parameter.name != "shopper_generation" or reference.generations
            ),
        )
        for published in _BUILT_IN
        if not absent.get(published.name)
    )


def _description(published: PublishedFunction, reference: Reference, note: str) -> str:
    # The names of the options, each with its column if that has another name.
    named = [(name, reference.heading(name)) for name in reference.dimensions]
    dimensions = ", ".join(
        name if heading == name else f"{name} as {heading}" for name, heading in named
    )
    text = published.description.replace("{dimensions}", dimensions)
    if note:
        return f"{text.removesuffix('.')} {note}."
    return text
