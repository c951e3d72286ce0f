"""Fields are read from code, name and prose; every wording below is used by the service or a peer."""

from __future__ import annotations

import itertools
import keyword
import unicodedata
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jupyter_funcs.catalog.fields import (
    Evidence,
    Field,
    Kind,
    Rule,
    listing_args,
    read_fields,
    unknown_codes,
)
from jupyter_funcs.catalog.listing import Function, Param
from tests.declared import form_with
from tests.examples import row_id


def function(*params: dict[str, Any]) -> Function:
    return Function(
        name="Get Panel Daily", params=tuple(Param(**param) for param in params)
    )


def read(
    description: str,
    name: str = "Given",
    code: int = 0,
    others: tuple[str, ...] = ("Symbol", "Brand"),
) -> Field:
    """Read one parameter that comes before two others."""
    rest = [{"name": other} for other in others if other != name]
    return read_fields(
        function({"name": name, "type": code, "description": description}, *rest)
    )[0]


DIMENSIONS = ("Age Group", "Region", "Brand")
BY = {"kind": Kind.CHOICE, "options": DIMENSIONS}
FLAG = {"kind": Kind.YES_NO, "options": ("Yes", "No")}
NO = {**FLAG, "default": "No"}
UNITS = {"kind": Kind.CHOICE, "options": ("day", "week", "month")}
EITHER = ("Given", "Symbol")
BOTH = ("Given", "Symbol", "Brand")

# A wording, and the attributes of its field; all others are those of a field with only a name.
WORDINGS: dict[str, dict[str, Any]] = {
    "": {},
    "Anything at all; who knows?": {},
    # options
    "Options are 'Age Group', 'Region', 'Brand'": BY,
    "Options are ‘Age Group’, ‘Region’, ‘Brand’.": BY,
    "Options are “Age Group”, “Region” and “Brand”.": BY,
    'Options are "Age Group", "Region", or "Brand".': BY,
    "Options: ['Age Group', 'Region', 'Brand']": BY,
    "What to break down by ('Age Group', 'Region', 'Brand')": BY,
    "Options are 'Age Group' (by generation), 'Region' (of 'HQ'), 'Brand'": BY,
    "Options are Age Group, Region, or Brand.": BY,
    "Options are 'Tops & Co', 'Baker's'": {
        "kind": Kind.CHOICE,
        "options": ("Tops & Co", "Baker's"),
    },
    "One of day, week, month": UNITS,
    "one of the following: day, week, month. Upper case is fine.": UNITS,
    "The unit, 'day', 'week' or 'month'": UNITS,
    "Must be one of {'day', 'week', 'month'}": UNITS,
    "Choose from 'day', 'week', 'month'": UNITS,
    "Unit is 'day' | 'week' | 'month'": UNITS,
    "Allowed values: day | week | month": UNITS,
    "Possible values include day, week and month.": UNITS,
    "Valid values are 'day', 'week' or 'month'. Defaults to 'day' when empty": {
        **UNITS,
        "default": "day",
    },
    "Options are day (default), week, month": {**UNITS, "default": "day"},
    "Options are 'day' (default), 'week', 'month'": {**UNITS, "default": "day"},
    "One of day, week, month, default Week": {**UNITS, "default": "week"},
    "One of day, week, day, month": UNITS,
    "Valid values: `day` | `week` | `month`. Upper case is fine.": UNITS,
    "Known values are 'day' 'week' 'month'. See `Other`.": UNITS,
    "Possible values are as follows. 'day' – each day. 'week' – each week. 'month' – each 'month'.": UNITS,
    "Valid values: 'day': of 24 hours. 'week': of seven, or 'many', days. 'month': of the calendar.": UNITS,
    "The possible values are 'day' for days, 'week' for weeks, and 'month' for months.": UNITS,
    "Supported: day, week, month": UNITS,
    "Options: day = daily, week = weekly, month = monthly": UNITS,
    "{'day', 'week', 'month'}, optional. One of 'a' and 'b' if 'c'.": UNITS,
    "The choices are DEFAULT, PER_DAY and NEVER.": {
        "kind": Kind.CHOICE,
        "options": ("DEFAULT", "PER_DAY", "NEVER"),
    },
    "In 'upper' or 'lower' case. Options are 'day', 'week', 'month'": UNITS,
    "The number of days, one of 7, 28": {"kind": Kind.CHOICE, "options": ("7", "28")},
    # yes and no
    "'Yes'/'No', default 'No'": NO,
    "Growth 'Yes'/'No', default 'No'": NO,
    "‘Yes’ or ‘No’. Default is ‘No’.": NO,
    '"Yes"/"No" (default: "No")': NO,
    "Yes/No. Defaults to no.": NO,
    "(Yes / No) Default: No": NO,
    "yes or no": {"kind": Kind.YES_NO, "options": ("yes", "no")},
    "Y/N, default N": {"kind": Kind.YES_NO, "options": ("Y", "N"), "default": "N"},
    "true/false (default = true)": {
        "kind": Kind.YES_NO,
        "options": ("true", "false"),
        "default": "true",
    },
    "Set to 'Yes' to add growth. If none, Given defaults to 'No'": NO,
    "If none, Given defaults to 'No'": NO,
    "If none, Given defaults to ‘no’": {
        "kind": Kind.YES_NO,
        "options": ("yes", "no"),
        "default": "no",
    },
    "'Yes' = with growth, 'No' = without": FLAG,
    "Set to 'Full' for all of it. Default 'No'.": {"default": "No"},
    "Set to 'YES' to add growth": {"kind": Kind.YES_NO, "options": ("YES", "NO")},
    # defaults
    "Years, default 1, one year = 364 days": {"default": "1"},
    "If none, Given defaults to '1'.": {"default": "1"},
    "Default value: 1,000": {"default": "1,000"},
    "Default -0.5.": {"default": "-0.5"},
    "Default: 'it's'": {"default": "it's"},
    "If not specified, 'card' is used": {"default": "card"},
    "If left blank, 'card' is assumed": {"default": "card"},
    "If none is given, 'card' is taken": {"default": "card"},
    "Takes 'card' by default": {"default": "card"},
    "Default none": {},
    "Default is null.": {},
    "Default 5%": {},
    "By default, Given = 5": {"default": "5"},
    "By default, 'card' is used.": {"default": "card"},
    "Default is no restriction.": {},
    "By default, all are included.": {},
    "If none, the latest is used.": {},
    "Defaults to 'Age Group' and 'Region'.": {},
    "Defaults to day. One of days, weeks.": {
        "kind": Kind.CHOICE,
        "options": ("days", "weeks"),
    },
    # the function that lists the values
    "Use function 'Get Panels' to get list of available panels": {
        "source": "Get Panels"
    },
    "Use function ‘Get Panels’ to get a list of panels": {"source": "Get Panels"},
    "Use functions 'Get Panels' and 'Get Universe'": {"source": "Get Panels"},
    'Use function: "Get KPI\'s".': {"source": "Get KPI's"},
    "Use function Get Panels to get the list": {"source": "Get Panels"},
    "Use the Get Panels function to get the list": {"source": "Get Panels"},
    "use the 'Get Panels' function": {"source": "Get Panels"},
    "Use 'All Panels' to list them": {"source": "All Panels"},
    "Call 'All Panels' for the list of valid values": {"source": "All Panels"},
    "Valid values can be obtained from 'All Panels'": {"source": "All Panels"},
    "See 'Get Panels' and 'Get Universe'.": {"source": "Get Panels"},
    "The function is slow": {},
    # rules
    "Required if brand is not specified": {"rule": ("Given", "Brand")},
    "Required if Symbol is absent": {"rule": EITHER},
    "required when no Symbol is given": {"rule": EITHER},
    "Required unless Symbol is given": {"rule": EITHER},
    "Required only if the 'Symbol' parameter isn’t specified": {"rule": EITHER},
    "Mandatory when Symbol has been left blank": {"rule": EITHER},
    "Needed where Symbol is empty": {"rule": EITHER},
    "Must be provided when Symbol is not set": {"rule": EITHER},
    "If Symbol is missing, Given is required": {"rule": EITHER},
    "Required if Symbol and Brand are not specified": {"rule": BOTH},
    "Either Symbol, Brand or Given is required": {"rule": BOTH},
    "At least one of Symbol and Brand is required.": {"rule": BOTH},
    "At least one of Symbol, Brand must be specified.": {"rule": BOTH},
    "Specify either Symbol or Brand": {"rule": BOTH},
    "Required if Unit is not day": {},
    "Required if Report is not specified": {},
    "Required if Given is not specified": {},
    "Not required if Symbol is not specified": {},
    "Required if Symbol is specified": {},
    # flags, and options that are not in a list
    "Boolean; whether to return totals": {
        "kind": Kind.YES_NO,
        "options": ("true", "false"),
    },
    "If set to true, returns totals": {
        "kind": Kind.YES_NO,
        "options": ("true", "false"),
    },
    "Set to True to return totals": {"kind": Kind.YES_NO, "options": ("True", "False")},
    "The unit. Must be day or week.": {"kind": Kind.CHOICE, "options": ("day", "week")},
    "Either the name or the id": {},
    "Use 'day' for days. Use 'week' for weeks.": {
        "kind": Kind.CHOICE,
        "options": ("day", "week"),
    },
    "If 'day', one row a day; if 'week', one a week": {
        "kind": Kind.CHOICE,
        "options": ("day", "week"),
    },
    "'day' - one row a day. 'week' - one a week": {
        "kind": Kind.CHOICE,
        "options": ("day", "week"),
    },
    # dates
    "The first day (YYYY-MM-DD)": {"kind": Kind.DATE},
    "yyyy-mm-dd, 'today' or 'yesterday'": {
        "kind": Kind.DATE,
        "options": ("today", "yesterday"),
    },
    "A date in ISO format": {"kind": Kind.DATE},
    "Format is YYYY-MM-DD HH:MM": {},
    "Format is YYYY-MM": {},
    "Format is MM/DD/YYYY": {},
    "Format is YYYYMMDD": {},
    # numbers
    "An integer": {"kind": Kind.INTEGER},
    "int, the rows to return": {"kind": Kind.INTEGER},
    "float in seconds": {"kind": Kind.NUMBER},
    "Number of rows to return, default 100": {"kind": Kind.INTEGER, "default": "100"},
    "A number": {"kind": Kind.NUMBER},
    "Threshold as a fraction (default 0.05)": {"kind": Kind.NUMBER, "default": "0.05"},
    "The account number of the store": {},
    "A numeric code such as '007'": {},
    # lists
    "List of regions": {"kind": Kind.LIST},
    "The list of regions.": {"kind": Kind.LIST},
    "One or more of 'day', 'week', 'month'": {
        "kind": Kind.LIST,
        "options": ("day", "week", "month"),
    },
    "Comma-separated list of regions": {},
    "Where to begin in your list of regions": {},
    "If there is an error, one or more of them are shown": {},
}


@pytest.mark.parametrize(
    ("wording", "attributes"), WORDINGS.items(), ids=map(row_id, WORDINGS)
)
def test_a_wording_says_the_same_after_each_marker_and_unknown_code(
    wording: str, attributes: dict[str, Any]
) -> None:
    """Prose decides the attributes of a field; the rest stay neutral, and the field is free text."""
    names = attributes.get("rule")
    for code, marker in itertools.product(
        [0, 2, 99, -1], ["", "[Required] ", "[optional]: "]
    ):
        field = read(marker + wording, code=code)
        due = {
            "kind": Kind.TEXT,
            "options": (),
            "default": None,
            "source": None,
            "rule": None,
        } | attributes
        assert {name: getattr(field, name) for name in due} | {
            "rule": field.rule and field.rule.names
        } == due
        assert field.required is (marker == "[Required] " and names is None)
        assert field.help == " ".join(wording.split())
        assert field.rule is None or field.rule == Rule(names, field.help)


NO_OPTIONS = [
    "Support UTC: `2021-11-15T06:00:00Z` - Local time: `2021-11-15T01:00:00` - offsets: `2021-11-15T01:00:00-05:00`",
    "Region, e.g. 'North', 'South'",
    "Region (for example 'North' or 'South')",
    "Regions such as 'North', 'South'",
    "Regions like 'North', 'South'",
    "Regions, i.e. 'North', 'South'",
    "Regions, including 'North' and 'South'",
    "Any but 'North', 'South'",
    "Cannot be 'North' or 'South'",
    "All except 'North' and 'South'",
    "All, ignoring 'North' and 'South'",
    "Drops 'Unknown' or 'Other' merchants",
    "Values are rounded, summed",
    "The recommended form is 'BKQU US EQUITY' or 'BKQU'",
    "Dimensions default to 'Age Group' and 'Region'",
    "Use function 'Get Panels' or 'Get Universe' to get list",
    "See 'Get Panels' or 'Get Universe'",
    "Options are available for Symbol, Brand",
    "Options are listed in the manual, see there",
    "One of the panels, by name",
    "One of Symbol, Brand is required",
    "One of `Symbol`, `Brand`",
    "Options are 'Age Group'",
    "It's the company's, or the brands' names' list",
    "Lower-case characters a-z, '-' and '_'",
]


@pytest.mark.parametrize("wording", NO_OPTIONS, ids=row_id)
def test_examples_exceptions_defaults_and_function_names_are_no_options(
    wording: str,
) -> None:
    """Options exclude every other value, so words that only look like a list of options don't count."""
    assert read(wording).options == ()
    assert read(wording, code=4).options == ()


FOREIGN = [
    "Ad esempio: 'A', 'B'",
    "Por exemplo, 'A', 'B'",
    "z.B. 'A', 'B'",
    "p. ej. 'A', 'B'",
    "np. 'A', 'B'",
    "Nicht erlaubt sind: 'A', 'B'.",
    "Valeurs interdites : 'A', 'B'",
    "кроме: 'A', 'B'",
    "예: 'A', 'B'",
    "f.eks. 'A', 'B'",
    "např. 'A', 'B'",
    "不能为: 'A'、'B'",
    "Bijvoorbeeld: 'A', 'B'",
    "Hariç: 'A', 'B'",
]


@pytest.mark.parametrize("wording", FOREIGN)
def test_a_list_in_another_language_is_not_taken_for_options(wording: str) -> None:
    """It may hold examples, or what is forbidden; the field stays a text."""
    field = read(wording)
    assert (field.kind, field.options, field.default) == (Kind.TEXT, (), None)


@pytest.mark.parametrize(
    ("code", "kind", "source"),
    [
        (0, Kind.TEXT, None),
        (1, Kind.INTEGER, None),
        (4, Kind.LIST, None),
        (6, Kind.SYMBOL, "Get Universe"),
        (8, Kind.PANEL, "Get Panels"),
        *((code, Kind.TEXT, None) for code in (2, 3, 5, 7, 9, 99)),
    ],
)
def test_a_known_code_decides_the_kind_and_its_listing_function(
    code: int, kind: Kind, source: str | None
) -> None:
    """The code wins over name and prose; prose wins over the usual listing function."""
    assert (read("", code=code).kind, read("", code=code).source) == (kind, source)
    assert read("Use function 'Get Mine'", code=code).source == "Get Mine"
    if kind is not Kind.TEXT:
        for name, words in (
            ("StartDate", "YYYY-MM-DD"),
            ("Symbol", "'Yes'/'No', default 'No'"),
            ("X", "One of a, b"),
        ):
            assert read(words, name, code).kind is kind


def test_unknown_codes_are_named_once_in_order() -> None:
    """A session warns once of each code without a known meaning."""
    codes = [9, 0, 1, 4, 6, 8, 2, 9, 99]
    listing = [function({"name": "A", "type": code}) for code in codes]
    assert unknown_codes(listing) == [2, 9, 99]
    assert unknown_codes([]) == []


DATE_NAMES = [
    "report_time_after",
    "launch_date",
    "StartDate",
    "endDate",
    "Date",
    "DATE",
    "END_DATE",
    "startdate",
    "asOfDate",
    "date_from",
    "DateUntil",
]


@pytest.mark.parametrize("name", DATE_NAMES)
def test_a_date_is_known_by_its_name(name: str) -> None:
    """Dates have no type code, so their names decide."""
    assert read("[Optional]", name).kind is Kind.DATE
    assert read("Options are 'MTD', 'YTD'", name).kind is Kind.CHOICE
    assert read("As MM/DD/YYYY", name).kind is Kind.TEXT


@pytest.mark.parametrize(
    "name",
    [
        "update",
        "UPDATE",
        "candidate",
        "Mandate",
        "PeriodToDate",
        "year_to_date",
        "DateRange",
        "Dates",
    ],
)
def test_a_name_that_only_ends_like_a_date_is_none(name: str) -> None:
    """PeriodToDate is a flag, and candidate a text."""
    assert read("[Optional]", name).kind is Kind.TEXT
    assert read("If none, it defaults to 'No'", name).kind is Kind.YES_NO


KNOWN = {
    **dict.fromkeys(["Symbol", "ticker"], Kind.SYMBOL),
    **dict.fromkeys(["Symbolism", "Panels"], Kind.TEXT),
}
KNOWN |= dict.fromkeys(["PanelName", "panel", "panel_name"], Kind.PANEL)


@pytest.mark.parametrize(("name", "kind"), KNOWN.items())
def test_a_symbol_and_a_panel_are_known_by_name_where_the_code_does_not_say(
    name: str, kind: Kind
) -> None:
    """A service that codes everything as text still gets pickers."""
    assert read("[Optional]", name).kind is kind


@pytest.mark.parametrize(
    ("name", "names", "first"),
    [
        ("EndDate", ("StartDate",), "StartDate"),
        ("end_date", ("start_date",), "start_date"),
        ("DateTo", ("DateFrom",), "DateFrom"),
        ("report_time_before", ("report_time_after",), "report_time_after"),
        ("EndDate", ("BeginDate",), "BeginDate"),
        ("EndDate", ("LaunchDate",), None),
        ("StartDate", ("EndDate",), None),
    ],
)
def test_the_last_of_two_dates_knows_the_first(
    name: str, names: tuple[str, ...], first: str | None
) -> None:
    """Two dates in the wrong order are an error at the second one."""
    assert read("", name, others=names).not_before == first


BOUNDS = {
    "Between 1 and 4. Default: 1.": (1, 4),
    "An integer from 1 to 10": (1, 10),
    "Range: 1-10": (1, 10),
    "Must be at least 1 and at most 50.": (1, 50),
    "Minimum 1, maximum 10": (1, 10),
    "Min: 1, max: 10": (1, 10),
    "Number of years. Up to 10 years. At least 1.": (1, 10),
    "No more than 1,000": (None, 1000),
    "How many rows, at most 1,000 rows": (None, 1000),
    "Must be >= 1 and <= 10": (1, 10),
    "Must be greater than 0": (1, None),
    "Must be > 0 and < 5": (1, 4),
    "A positive integer": (1, None),
    "A non-negative integer": (0, None),
    "Between -5 and 0": (-5, 0),
    "Not less than -3": (-3, None),
    "Between 1 and 1.5": (None, None),
    "At most 50%": (None, None),
    "Between 9 and 1": (None, None),
    "Number of brands with at least 100 transactions": (None, None),
    "Years, default 1, one year = 364 days": (None, None),
    "At least " + "9" * 40: (None, None),
}


@pytest.mark.parametrize(("wording", "bounds"), BOUNDS.items(), ids=map(row_id, BOUNDS))
def test_bounds_of_a_number_are_read_and_of_a_text_are_not(
    wording: str, bounds: tuple[int | None, int | None]
) -> None:
    """A bound refuses values, so a number that limits something else doesn't count."""
    field = read(wording, code=1)
    assert (field.minimum, field.maximum) == bounds
    text = read(wording, code=4)
    assert (text.minimum, text.maximum) == (None, None)


def test_what_a_fraction_must_exceed_is_no_least_whole_number() -> None:
    """0.5 is greater than 0 and isn't refused for being less than 1."""
    field = read("A number greater than 0 and at most 1", code=0)
    assert (field.kind, field.minimum, field.maximum) == (Kind.NUMBER, None, 1)


@pytest.mark.parametrize(
    ("marker", "required", "means"),
    [
        ("[Required] x", None, True),
        ("[Optional] x", None, False),
        ("(required) x", None, True),
        ("[ REQUIRED ] - x", None, True),
        ("x", None, False),
        ("x [Required]", None, False),
        ("[Required] x", False, False),
        ("[Optional] x", True, True),
        ("x", True, True),
        ("[Required] Required if Brand is absent", True, False),
    ],
)
def test_required_wins_over_the_marker_and_a_rule_over_both(
    marker: str, required: bool | None, means: bool
) -> None:
    """The marker counts only if the listing has no `required` flag (SERVICE.md 3)."""
    listed = {} if required is None else {"required": required}
    fields = read_fields(
        function({"name": "Given", "description": marker, **listed}, {"name": "Brand"})
    )
    assert fields[0].required is means


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("PoPLookback", "PoP Lookback"),
        ("PanelName", "Panel Name"),
        ("UseReportedForCurrentPeriod", "Use Reported For Current Period"),
        ("report_time_after", "Report time after"),
        ("KPIName", "KPI Name"),
        ("brands", "Brands"),
        ("___", "___"),
        ("äöü", "Äöü"),
    ],
)
def test_a_label_is_the_name_in_words(name: str, label: str) -> None:
    """The label has words; the wire name stays unchanged."""
    field = read("", name)
    assert (field.label, field.name) == (label, name)


def test_the_brief_help_leaves_out_what_a_control_shows() -> None:
    """The control shows options, default, listing function and date format; the rest stays in the help."""
    text = "The panel. Options are 'a', 'b'. If none, Given defaults to 'a'. Use function 'Get Panels' to get list."
    assert read(text).brief == "The panel."
    assert (
        read("Options are many. Default none.").brief
        == "Options are many. Default none."
    )
    assert read("The first day. Format is YYYY-MM-DD.").brief == "The first day."
    assert (
        read("The first day. Format is YYYY-MM.").brief
        == "The first day. Format is YYYY-MM."
    )


@pytest.mark.parametrize(
    ("listing", "values", "args", "missing"),
    [
        ([], {}, {}, []),
        (["PanelName"], {}, {}, ["PanelName"]),
        (["PanelName"], {"panel_name": "Card"}, {"PanelName": "Card"}, []),
        (
            ["PanelName", "Dimensions"],
            {"PanelName": "Card"},
            {"PanelName": "Card", "Dimensions": ["Brand"]},
            [],
        ),
        (["Measure"], {}, {"Measure": "Brand"}, []),
        (["Other"], {"Other": ["x"]}, {}, []),
    ],
)
def test_a_listing_function_takes_its_arguments_from_the_form(
    listing: list[str], values: dict[str, Any], args: dict[str, Any], missing: list[str]
) -> None:
    """Brand calls Get Panel Dimensions with Dimensions=['Brand'] and the form's panel (SERVICE.md 2)."""
    fields = {
        "PanelName": Field("PanelName", "PanelName", Kind.PANEL, "", "", required=True),
        "Dimensions": Field(
            "Dimensions",
            "Dimensions",
            Kind.LIST,
            "",
            "",
            required=True,
            options=DIMENSIONS,
        ),
        "Measure": Field(
            "Measure",
            "Measure",
            Kind.CHOICE,
            "",
            "",
            required=True,
            options=("Region", "Brand"),
        ),
        "Other": Field("Other", "Other", Kind.LIST, "", ""),
    }
    brand = Field("Brand", "Brand", Kind.LIST, "Brand", "")
    assert listing_args(brand, [fields[name] for name in listing], values) == (
        args,
        missing,
    )


HOSTILE_NAMES = [
    "class",
    "None",
    "match",
    "__class__",
    "__init__",
    "self",
    "1st",
    "",
    " ",
    "a b",
    "a-b",
    "a_b",
    "a\nb",
    "é",
    "e\u0301",
    "ﬁeld",
    "field",
    "Symbol",
    "symbol",
    "Symbol",
    "\U0001d412ymbol",
    "'; import os #",
    "{x}",
    "p_1st",
    "Symbol_2",
    "²",
    "·",
    "\u200d",
    "\U00016e80",
]


@given(st.lists(st.sampled_from(HOSTILE_NAMES) | st.text(max_size=8), max_size=12))
@example(HOSTILE_NAMES)
def test_each_parameter_has_one_field_in_order_with_an_identifier_of_its_own(
    names: list[str],
) -> None:
    """Repeated, reserved, clashing and hostile names keep their fields and get safe, distinct identifiers."""
    fields = read_fields(function(*({"name": name} for name in names)))
    assert [field.name for field in fields] == names
    identifiers = [field.identifier for field in fields]
    assert len(
        {unicodedata.normalize("NFKC", identifier) for identifier in identifiers}
    ) == len(names)
    for identifier in identifiers:
        assert identifier.isidentifier()
        assert not keyword.iskeyword(identifier)
        assert not identifier.startswith("_")
        compile(f"def f({identifier}): return {identifier}", "<signature>", "exec")


PIECES = st.sampled_from(
    [
        "'",
        '"',
        "‘",
        "’",
        "Options are ",
        "one of ",
        "a",
        "B",
        ", ",
        "/",
        " or ",
        " and ",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "default",
        "defaults to ",
        "required if ",
        " is not specified",
        "Symbol",
        "either ",
        "function ",
        "Use ",
        "e.g. ",
        "Yes",
        "No",
        ".",
        ";",
        ":",
        " ",
        "\n",
        "1",
        "999",
        "-",
        ",000",
        "between ",
        "from ",
        " to ",
        "at least ",
        "[Required]",
        "if none, ",
        "YYYY-MM-DD",
        "list of ",
        "\0",
        "\ud800",
        "İ",
    ]
)


@given(st.text() | st.lists(PIECES, max_size=40).map("".join), st.integers(-1, 10))
def test_no_description_makes_the_reader_raise(description: str, code: int) -> None:
    """Any prose can be read, and the result is consistent."""
    field = read(description, code=code)
    assert isinstance(field.kind, Kind)
    assert len(set(field.options)) == len(field.options)
    assert field.kind is not Kind.CHOICE or len(field.options) > 0
    assert (
        field.minimum is None or field.maximum is None or field.minimum <= field.maximum
    )
    assert isinstance(field.brief, str)


HOSTILE = [
    "'",
    "'a",
    "'a', ",
    "Options are a ",
    "one of a, ",
    "options are a/",
    "one of a and and ",
    "or ",
    "default ",
    "defaults to ",
    " ",
    "required if ",
    "required if a ",
    "required if no ",
    "either ",
    "either a ",
    "function ",
    "function A ",
    "function '",
    "use the ",
    "use A ",
    "if none, ",
    "9",
    "1,000",
    "between 1 and ",
    "at least ",
    "[",
    "[required",
    "e.g. 'a','b' ",
    "'a' (",
    "'a' (b)",
    "options are (",
    "one of (a)",
    "yes/",
    "list of ",
    "number of ",
    "must be given if a,",
    "is (",
    "if a b, 'x' is ",
    "options are a%+- ",
    "YYYY-MM-DD ",
    ". ",
    "a'a",
    "’",
    "default value",
    "(default)",
    "a (default) ",
    "if Symbol is absent, ",
]


@pytest.mark.slow
@pytest.mark.usefixtures("no_hang")
@pytest.mark.parametrize("piece", HOSTILE)
def test_a_long_hostile_description_is_read_in_one_go(piece: str) -> None:
    """The patterns take linear time; one that backtracks would never finish these."""
    for end, code in itertools.product(["", "!", "'"], [0, 1]):
        description = piece * (20_000 // len(piece)) + end
        assert read(description, code=code).help == " ".join(description.split())


@pytest.mark.slow
def test_ten_thousand_options_are_all_kept() -> None:
    """A long list isn't cut, because a missing option would be refused."""
    options = [f"Brand {number}" for number in range(10_000)]
    quoted = ", ".join(f"'{option}'" for option in options)
    assert read(f"Options are {quoted}.").options == tuple(options)
    assert read(f"Options are {', '.join(options)}.").options == tuple(options)


OF_ANOTHER = [
    "Where to begin. This requires `usemarker` to be set to `true`.",
    "Required, unless `is_platform_access_only` is set to `true`.",
    "Only if format is 'csv' or 'json'.",
    "Can be used if `aboveType` is `STOP_LOSS` or `STOP_LOSS_LIMIT`.",
    "Needs a brand: Brand must be 'a' or 'b'.",
    "Only when the Symbol parameter = 'a' or 'b'.",
    "`logprobs` must be set to `true` if this is used.",
    "If Symbol is 'Yes' or 'No', it is ignored.",
]


@pytest.mark.parametrize("wording", OF_ANOTHER, ids=row_id)
@pytest.mark.parametrize("code", [0, 1, 4])
def test_the_words_of_another_parameters_rule_say_nothing_of_this_one(
    wording: str, code: int
) -> None:
    """Another parameter's required value is neither an option nor a default, and doesn't change the control."""
    field = read(wording, code=code)
    assert (field.options, field.default) == ((), None)
    assert field.kind in {Kind.TEXT, Kind.INTEGER, Kind.LIST}


@pytest.mark.parametrize(
    "wording",
    [
        "Given must be 'day' or 'week'.",
        "The 'Given' value must be 'day' or 'week'. Requires `Symbol` to be 'a' or 'b'.",
        "It must be 'day' or 'week'",
        "Only if this is 'day' or 'week'",
        "If Symbol is 'a' or 'b', use 'day' or 'week'.",
    ],
)
def test_the_rule_of_the_parameter_itself_still_lists_its_options(wording: str) -> None:
    """By its own name, by a pronoun, or after the condition."""
    assert read(wording).options == ("day", "week")


@pytest.mark.parametrize(
    ("name", "wording", "bounds"),
    [
        *(
            ("Given", f"At most {limit}.", (None, None))
            for limit in ("100 characters", "50 MB", "30 days", "1 day")
        ),
        (
            "page",
            "Up to 100 bank transactions will be returned in one call.",
            (None, None),
        ),
        ("limit", "Max 30 days. Must be at most 500", (None, 500)),
        ("limit", "Up to 100 bank transactions are returned.", (None, 100)),
        ("DaysBack", "At most 30 days.", (None, 30)),
        ("Given", "The number of days. At most 30 days.", (None, 30)),
        ("Given", "In seconds, between 1 and 60 seconds.", (1, 60)),
        ("Given", "Between 1 and 4 as a number.", (1, 4)),
        ("Given", "max 100 and defaults to 10", (None, 100)),
    ],
)
def test_a_bound_is_in_the_unit_of_the_parameter(
    name: str, wording: str, bounds: tuple[int | None, int | None]
) -> None:
    """A limit of characters, megabytes or days isn't a bound of another number."""
    field = read(wording, name, code=1)
    assert (field.minimum, field.maximum) == bounds


JOINED = [
    "Comma-separated list of 'a', 'b', 'c'",
    "A comma-separated list of fields. Possible values are a, b, c.",
    "Options are 'a', 'b', 'c', separated by commas",
    "One or more of 'a', 'b', 'c', joined with commas",
    "Comma separated dates as YYYY-MM-DD",
]


@pytest.mark.parametrize("wording", JOINED, ids=row_id)
def test_a_text_that_holds_several_values_is_a_text_that_takes_them(
    wording: str,
) -> None:
    """Its options are suggestions: a,b needs no warning."""
    field = read(wording)
    assert field.kind is Kind.TEXT
    assert field.options in {("a", "b", "c"), ()}
    form = form_with(field, Given="a,b")
    assert (form.args, form.warnings) == ({"Given": "a,b"}, {})


@pytest.mark.parametrize(
    "wording",
    [
        *(
            wording
            for wording in WORDINGS
            if "Required" not in wording and "required" not in wording
        ),
        *OF_ANOTHER,
        *JOINED,
    ],
    ids=row_id,
)
@pytest.mark.parametrize("name", ["Given", "start_date", "Symbol", "PanelName"])
def test_no_words_change_a_declared_text(wording: str, name: str) -> None:
    """Neither the description nor the name: described options are suggestions, which no value contradicts."""
    param = {"name": name, "description": wording, "schema": {"type": "string"}}
    field = read_fields(function(param))[0]
    assert (field.kind, field.evidence["kind"]) == (Kind.TEXT, Evidence.DECLARED)
    assert (field.minimum, field.maximum, field.not_before) == (None, None, None)
    for text in ("anything", "2024-13-45", "maybe", "a,b", "yes"):
        form = form_with(field, **{name: text})
        assert (form.args, form.errors, form.warnings) == ({name: text}, {}, {})


@pytest.mark.parametrize("kind", ["integer", "number", "boolean", "array"])
@pytest.mark.parametrize(
    "wording", [*OF_ANOTHER, "Options are 'a', 'b'. Default 'a'."], ids=row_id
)
def test_no_words_change_another_declared_type(kind: str, wording: str) -> None:
    """A number has no described options, and for the items of a list they are only suggestions."""
    schema = {"type": kind, "items": {"type": "string"}}
    plain, worded = (
        read_fields(function({"name": "Given", "description": text, "schema": schema}))[
            0
        ]
        for text in ("", wording)
    )
    assert worded.kind == plain.kind
    if kind == "array":
        assert worded.evidence.get("options") in {Evidence.ASSUMED, None}
    else:
        assert worded.options == plain.options
