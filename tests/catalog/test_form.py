"""A form turns values into the arguments of a run, or into errors at their fields."""

from __future__ import annotations

import datetime as dt
import enum
import fractions
import json
import re
from decimal import Decimal
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import jsonschema
import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jupyter_funcs.catalog.fields import Evidence, Field, Kind, Rule, read_fields
from jupyter_funcs.catalog.form import Form
from jupyter_funcs.catalog.listing import Function, Param
from jupyter_funcs.catalog.values import WrongValueError, accept
from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.core.text import plain
from tests.declared import PARTS, declared, form_with
from tests.examples import examples, row_id

if TYPE_CHECKING:
    from collections.abc import Callable

UNITS = ("day", "week", "month")
DESCRIBED = {
    "PanelName": (
        8,
        "[Required] Use function 'Get Panels' to get list of available panels",
    ),
    "Symbol": (6, "[Optional] Required if Brand is not specified."),
    "Brand": (4, "[Optional] Required if Symbol is not specified."),
    "Dimensions": (
        4,
        "[Optional] Options are 'Age Group', 'Region', 'Brand'. Default none",
    ),
    "PoPGrowth": (0, "[Optional] 'Yes'/'No', default 'No'"),
    "PoPLookback": (1, "[Optional] Between 1 and 4. Default 1"),
    "Share": (0, "[Optional] A number, at most 1"),
    "Unit": (0, "[Optional] One of day, week, month"),
    "StartDate": (0, "[Optional]"),
    "EndDate": (0, "[Optional]"),
    "Note": (0, "[Optional]"),
}


def function(
    described: dict[str, tuple[int, str]] | None = None,
    name: str = "Get Panel Daily",
    *,
    enforced: bool = True,
) -> SimpleNamespace:
    params = tuple(
        Param(name=parameter, type=code, description=text)
        for parameter, (code, text) in (described or DESCRIBED).items()
    )
    fields = read_fields(Function(name=name, params=params))
    return SimpleNamespace(
        name=name, fields=tuple(map(declared, fields)) if enforced else fields
    )


def filled(**values: Any) -> Form:
    return Form(function(), **{"PanelName": "Card", "Symbol": "BKQU"} | values)


def test_nothing_is_sent_but_what_was_set() -> None:
    """Unset is neither the default nor null: the service uses its own default (SERVICE.md 3)."""
    assert Form(function()).args == {}
    form = filled(PoPLookback=2)
    assert form.args == {"PanelName": "Card", "Symbol": "BKQU", "PoPLookback": 2}
    assert form.check() == form.args
    assert form["PoPGrowth"] is None


def test_arguments_stand_in_the_order_of_the_parameters() -> None:
    """Arguments are in parameter order, whatever order the values were set in."""
    form = Form(function())
    for name in reversed(DESCRIBED):
        form[name] = {
            "PoPLookback": 1,
            "Share": 1,
            "StartDate": "2025-01-01",
            "EndDate": "2025-01-02",
        }.get(name, "x")
    form.update({"Dimensions": "Region", "PoPGrowth": True, "Unit": "day"})
    assert list(form.args) == list(DESCRIBED)
    assert form.errors == {}


EMPTY = [
    None,
    "",
    [],
    (),
    set(),
    {},
    np.array([]),
    pd.Series([], dtype=str),
    pd.Index([]),
]


@pytest.mark.parametrize("empty", EMPTY, ids=row_id)
@pytest.mark.parametrize("name", ["Symbol", "Dimensions"])
def test_nothing_clears(name: str, empty: Any) -> None:
    """None, an empty text and empty collections mean: not sent."""
    form = filled(**{name: "Region"})
    assert name in form.args
    form[name] = empty
    assert name not in form.args
    assert form[name] is None


@pytest.mark.parametrize("blank", [" ", "\t", "\n", "\u00a0"])
def test_white_space_is_a_value(blank: str) -> None:
    """A blank text is sent as it is."""
    assert filled(Symbol=blank).args["Symbol"] == blank
    assert filled(Brand=[blank]).args["Brand"] == [blank]


def test_clearing_one_and_all() -> None:
    """`del` clears a value, even an unset one; `clear` clears all of them."""
    form = filled()
    del form["symbol"]
    del form["symbol"]
    assert form.args == {"PanelName": "Card"}
    form.clear()
    assert form.args == {}
    assert form.errors["PanelName"] == [
        "PanelName is required. 'Get Panels' lists its values."
    ]


class Word(enum.StrEnum):
    DAY = "day"


class Fails:
    """An object that raises however it is inspected."""

    def __fail(self, *_: Any) -> Any:
        raise RuntimeError("boom")

    __str__ = __repr__ = __eq__ = __ne__ = __lt__ = __iter__ = __len__ = __bool__ = (
        __float__
    ) = __int__ = __fail
    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


INTEGERS = [
    (1, 1),
    ("1", 1),
    (" +2 ", 2),
    ("-3", -3),
    (4.0, 4),
    (Decimal("5.00"), 5),
    (fractions.Fraction(6), 6),
    (np.int8(7), 7),
    (np.uint64(2**63 - 1), 2**63 - 1),
    (np.float32(8), 8),
    (np.array(9), 9),
    (-(2**63), -(2**63)),
    (0, 0),
    ("7.0", 7),
    ("1e3", 1000),
    ("-2.50e2", -250),
]
NUMBERS = [
    (0.1, 0.1),
    (1, 1),
    ("0.10", 0.1),
    (" 1e-7 ", 1e-7),
    (Decimal("0.1000"), 0.1),
    (np.float64(0.1), 0.1),
    (np.int64(2**53 + 1), 2**53 + 1),
    (2**70, 2**70),
    (fractions.Fraction(1, 4), 0.25),
    ("5", 5),
    ("5.0", 5.0),
    (Decimal("0.12345678901234567891"), Decimal("0.12345678901234567891")),
]
DAY = "2025-03-04"
DAYS = [
    DAY,
    f" {DAY} ",
    dt.date(2025, 3, 4),
    dt.datetime(2025, 3, 4),  # noqa: DTZ001  # naive, as notebooks have them
    pd.Timestamp(DAY),
    pd.Timestamp(DAY, tz="UTC"),
    pd.Series(pd.to_datetime([DAY])).to_numpy()[0],
    *(np.datetime64(DAY, unit) for unit in ("D", "m", "s", "ms", "us", "ns")),
]
DATES = [
    *((day, DAY) for day in DAYS),
    ("2024-02-29", "2024-02-29"),
    (dt.date(99, 1, 2), "0099-01-02"),
]
FLAGS = [
    (True, "Yes"),
    (False, "No"),
    ("yes", "Yes"),
    ("NO", "No"),
    (" y ", "Yes"),
    ("false", "No"),
    (np.True_, "Yes"),
]
CHOICES = [
    ("day", "day"),
    ("WEEK", "week"),
    (" month ", "month"),
    (np.str_("Day"), "day"),
    (Word.DAY, "day"),
]
TEXTS = [
    ("007", "007"),
    (" a b ", " a b "),
    ("NaT", "NaT"),
    ("😀 é", "😀 é"),
    (7, "7"),
    (0.1, "0.1"),
    (np.float64(0.5), "0.5"),
    (Decimal("1.50"), "1.50"),
    (True, "True"),
    (Word.DAY, "day"),
    (dt.date(2025, 3, 4), DAY),
    (pd.Timestamp("2025-03-04 05:06"), "2025-03-04T05:06:00"),
    (np.datetime64("2025-03-04T05:06", "m"), "2025-03-04T05:06"),
]
LISTS: list[tuple[Any, list[str]]] = [
    ("a,b", ["a,b"]),
    (["a", "b"], ["a", "b"]),
    (("a",), ["a"]),
    ({"a"}, ["a"]),
    ({"a": 1}.keys(), ["a"]),
    (["a", "a"], ["a", "a"]),
    (1, ["1"]),
    ([1, 2.5], ["1", "2.5"]),
    (range(2), ["0", "1"]),
    (np.array(["a", "b"]), ["a", "b"]),
    (np.array([1, 2]), ["1", "2"]),
    (np.array("a"), ["a"]),
    (pd.Series(["a", "b"]), ["a", "b"]),
    (pd.Index(["a"]), ["a"]),
    (pd.Categorical(["a"]), ["a"]),
]
BY_KIND: dict[Kind, list[tuple[Any, Any]]] = {
    Kind.INTEGER: INTEGERS,
    Kind.NUMBER: NUMBERS,
    Kind.DATE: DATES,
    Kind.YES_NO: FLAGS,
    Kind.CHOICE: CHOICES,
    Kind.TEXT: TEXTS,
    Kind.SYMBOL: TEXTS,
    Kind.PANEL: TEXTS,
    Kind.LIST: LISTS,
}
OPTIONS = {Kind.YES_NO: ("Yes", "No"), Kind.CHOICE: UNITS}


def field(kind: Kind, **attributes: Any) -> Field:
    return declared(
        Field(
            "Given",
            "Given",
            kind,
            "Given",
            "",
            **{"options": OPTIONS.get(kind, ())} | attributes,
        )
    )


@pytest.mark.parametrize(
    ("kind", "value", "sent"),
    [
        pytest.param(kind, value, sent, id=f"{kind} {row_id(value)}")
        for kind, rows in BY_KIND.items()
        for value, sent in rows
    ],
)
def test_a_value_becomes_one_of_the_declared_type_without_loss(
    kind: Kind, value: Any, sent: Any
) -> None:
    """numpy, pandas and Decimal values are converted exactly, and keep their type where it is allowed (FAULTS 91)."""
    got = accept(field(kind), value)
    assert got == sent
    assert type(got) is type(sent)


NOTHING = [float("nan"), np.nan, pd.NA, pd.NaT, Decimal("NaN"), Decimal("sNaN")]
NOTHING += [np.datetime64("NaT", "s"), np.timedelta64("NaT", "s")]


@pytest.mark.parametrize("value", NOTHING, ids=row_id)
@pytest.mark.parametrize("kind", list(Kind))
def test_what_stands_for_no_value_is_an_error_and_not_a_text(
    kind: Kind, value: Any
) -> None:
    """NaN, NaT and pd.NA are mistakes: nobody means the text 'nan' (FAULTS 90, 91)."""
    for entered in (value, [value]) if kind is Kind.LIST else (value,):
        with pytest.raises(ValueError, match=r"^has no value: '.*'\. Leave it out"):
            accept(field(kind), entered)


BAD: list[tuple[Kind, Any, str]] = [
    *(
        (Kind.INTEGER, value, "takes a whole number, not")
        for value in (
            "abc",
            "1.5",
            "1e-3",
            "1,000",
            "0x1",
            "٣",
            "",
            True,
            False,
            np.True_,
            1.5,
            float("inf"),
            -float("inf"),
            1e300,
            2**63,
            -(2**63) - 1,
            10**400,
            10**5000,
            "9" * 19,
            "9" * 40,
            Decimal("1.5"),
            Decimal("Infinity"),
            Decimal("1e999999"),
            fractions.Fraction(1, 3),
            fractions.Fraction(10**400),
            1j,
            np.uint64(2**63),
            dt.date(2025, 1, 1),
            object(),
        )
    ),
    *(
        (Kind.NUMBER, value, "takes a number, not")
        for value in (
            "abc",
            "1,5",
            "-Infinity",
            "nan",
            True,
            np.False_,
            1j,
            object(),
            10**5000,
            fractions.Fraction(1, 3),
        )
    ),
    *(
        (Kind.NUMBER, value, "takes a finite number")
        for value in (float("inf"), "1e999", 10**400)
    ),
    *(
        (Kind.DATE, value, "takes a date as YYYY-MM-DD, not")
        for value in (
            "20250304",
            "2025-W10-2",
            "04.03.2025",
            "2025-3-4",
            "2025-03-04T00:00",
            "tomorrow",
            20250304,
            "\uff12025-03-04",
            np.datetime64("2025"),
            np.datetime64("2025-03"),
            np.datetime64("2025-03-04T05"),
            True,
        )
    ),
    *(
        (Kind.DATE, value, "is not a valid date")
        for value in ("2025-02-29", "2025-13-01", "0000-01-01")
    ),
    *(
        (Kind.DATE, value, "without a time of day")
        for value in (
            pd.Timestamp("2025-03-04 05:06"),
            dt.datetime(2025, 3, 4, 5, tzinfo=dt.UTC),
            pd.Timestamp("2025-03-04") + pd.Timedelta(1, "ns"),
        )
    ),
    *(
        (kind, value, "takes one value, not")
        for kind in Kind
        if kind not in {Kind.LIST, Kind.JSON}
        for value in (
            ["a"],
            ("a", "b"),
            {"a": 1},
            {"a"},
            np.array(["a"]),
            pd.Series(["a"]),
            pd.DataFrame({"a": [1]}),
            iter("a"),
        )
    ),
    *(
        (kind, b"a", "takes one value, not")
        for kind in Kind
        if kind not in {Kind.LIST, Kind.JSON, Kind.FILE}
    ),
    *((kind, np.timedelta64(5, "ns"), "does not take a duration") for kind in Kind),
    *(
        (Kind.JSON, value, "does not take")
        for value in (
            b"a",
            iter("a"),
            object(),
            [object()],
            {"a": {1: len}},
            {("a",): 1},
            {"a": b"a"},
        )
    ),
    *((Kind.JSON, value, "has no value") for value in ([float("nan")], {"a": pd.NaT})),
    (
        Kind.JSON,
        pd.DataFrame({"a": [1]}),
        "takes one column, not a whole table: use table.to_dict('records')",
    ),
    *(
        (Kind.TEXT, value, "takes text, not")
        for value in (object(), dt.timedelta(1), len, int, ...)
    ),
    *(
        (Kind.LIST, value, "takes a list, not")
        for value in (
            {"a": 1},
            np.array([["a"]]),
            iter(["a"]),
            (letter for letter in "ab"),
        )
    ),
    (
        Kind.LIST,
        pd.DataFrame({"a": [1]}),
        "takes one column, not a whole table: use table['a'] (in %funcs",
    ),
    *(
        (Kind.LIST, value, "takes a list of texts, not")
        for value in (
            [["a"]],
            [b"a"],
            b"ab",
            bytearray(b"a"),
            [{"a": 1}],
        )
    ),
    *((Kind.LIST, [value], "takes text, not") for value in (None, object())),
    *(
        (kind, "a\ud800", "an invalid character (a lone surrogate)")
        for kind in (Kind.TEXT, Kind.LIST, Kind.SYMBOL)
    ),
    *((kind, Fails(), "Given does not take '<Fails>'") for kind in Kind),
    (Kind.YES_NO, "maybe", "has no option 'maybe'. Options are 'Yes' and 'No'."),
    (Kind.YES_NO, 1, "has no option '1'"),
    (Kind.CHOICE, "wek", "has no option 'wek'. Did you mean 'week'?"),
    (Kind.CHOICE, "zzz", "has no option 'zzz'. Options are 'day', 'week' and 'month'."),
]


def test_several_values_for_one_field_are_those_of_a_sweep() -> None:
    """The error of a list for a single value says how to sweep it."""
    form = form_with(field(Kind.SYMBOL))
    for value, is_several in (
        (["a", "b"], True),
        (pd.Series(["a"]), True),
        ({"a": 1}, False),
        (b"a", False),
    ):
        form["Given"] = value
        [[message]] = form.errors.values()
        way = " To run it for each value: %funcs sweep, fn.sweep(…), or Run for each in a panel."
        assert message.endswith(way) == is_several


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    BAD,
    ids=[
        f"{kind} {type(value).__name__} {number}"
        for number, (kind, value, _) in enumerate(BAD)
    ],
)
def test_a_bad_value_is_an_error_of_its_field_in_one_line_and_is_kept(
    kind: Kind, value: Any, words: str
) -> None:
    """Overflow, a boolean for a number, an invalid day, a table: each error names it, and the value is kept."""
    form = form_with(field(kind))
    if not (isinstance(value, str) and value == ""):
        form["Given"] = value
        assert form.args == {}
        assert form.errors.keys() == {"Given"}
        assert form["Given"] is value
        with pytest.raises(ArgumentError):
            form.check()
        assert form.errors["Given"][0].startswith("Given ")
    with pytest.raises(
        WrongValueError, match=re.escape(words.removeprefix("Given "))
    ) as caught:
        accept(field(kind), value)
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 400


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "must be between 1 and 4, not 0"),
        (5, "must be between 1 and 4, not 5"),
        ("abc", "whole"),
    ],
)
def test_a_number_outside_its_bounds_is_an_error(value: Any, words: str) -> None:
    """PoPLookback=0 and "abc" are never sent."""
    assert words in filled(PoPLookback=value).errors["PoPLookback"][0]
    assert filled(Share=1.5).errors == {"Share": ["Share must be at most 1, not 1.5."]}
    assert filled(Share=0.5).errors == {}


def test_the_last_date_may_not_stand_before_the_first() -> None:
    """Reversed dates are an error at the second one; equal dates are valid."""
    form = filled(StartDate="2025-03-04", EndDate=dt.date(2025, 3, 3))
    assert form.errors == {
        "EndDate": ["EndDate 2025-03-03 is before StartDate 2025-03-04."]
    }
    form["EndDate"] = "2025-03-04"
    assert form.errors == {}
    form.update({"StartDate": "junk", "EndDate": "2020-01-01"})
    assert form.errors.keys() == {"StartDate"}


def test_one_of_symbol_and_brand_is_described_and_both_are_valid() -> None:
    """The rule is quoted once for both fields, under no field's name, and never stops a run (FAULTS 84)."""
    form = Form(function(), PanelName="Card")
    assert form.warnings == {
        "": ["Symbol or Brand is required: 'Required if Brand is not specified'."]
    }
    assert form.errors == {}
    assert form.check() == {"PanelName": "Card"}
    for values in (
        {"Symbol": "BKQU"},
        {"Brand": ["a"]},
        {"Symbol": "BKQU", "Brand": "a"},
    ):
        assert Form(function(), PanelName="Card", **values).warnings == {}
    assert Form(function(), PanelName="Card", Brand=pd.NA).errors.keys() == {"Brand"}


def test_all_that_is_missing_is_named_at_once() -> None:
    """All errors are listed at once (FAULTS 83)."""
    form = Form(
        function(
            {
                "A": (0, "[Required]"),
                "B": (0, "[Required] Use function 'Get B'"),
                "C": (0, "[Optional]"),
            }
        )
    )
    with pytest.raises(ArgumentError) as caught:
        form.check()
    assert caught.value.errors == {
        "A": ["A is required."],
        "B": ["B is required. 'Get B' lists its values."],
    }
    assert 1 <= len(caught.value.lines) <= 3


def test_an_unknown_parameter_names_the_nearest_and_sets_nothing() -> None:
    """Each typo gets at most three suggestions, and all typos are listed at once (FAULTS 87)."""
    form = filled()
    with pytest.raises(ArgumentError, match="Did you mean 'Symbol'") as caught:
        form.update({"Symbl": "x", "Note": "y", "Zzzzzz": "z"})
    assert caught.value.errors.keys() == {"Symbl", "Zzzzzz"}
    assert form.args == {"PanelName": "Card", "Symbol": "BKQU"}
    for use in (form.__getitem__, form.__delitem__, form.field):
        with pytest.raises(ArgumentError, match="has no parameter 'Brnd'"):
            use("Brnd")
    with pytest.raises(ArgumentError, match="It takes no parameters"):
        Form(SimpleNamespace(name="Get Panels", fields=()), a=1)


def test_a_parameter_is_found_in_any_spelling_that_is_its_own() -> None:
    """Case and separators don't matter, unless two parameters differ only in them."""
    form = Form(
        function(
            dict.fromkeys(["PanelName", "a_b", "AB", "class", "1st", "?"], (0, ""))
        )
    )
    form.update(
        {
            "panel_name": "x",
            "AB": "upper",
            "a_b": "lower",
            "class_": "python",
            "p_1st": "first",
        }
    )
    assert form.args == {
        "PanelName": "x",
        "a_b": "lower",
        "AB": "upper",
        "class": "python",
        "1st": "first",
    }
    for unclear in ("ab", "!", ""):
        with pytest.raises(ArgumentError):
            form[unclear] = "x"


def test_a_repeated_parameter_has_one_value() -> None:
    """A repeated name is sent once, and the first of the two fields reads it (FAULTS 78)."""
    twice = (field(Kind.INTEGER), field(Kind.TEXT, required=True))
    form = form_with(*twice)
    assert form.fields == twice
    assert form.errors == {}
    form["Given"] = "x"
    assert form.errors.keys() == {"Given"}
    form["Given"] = 1
    assert form.args == {"Given": 1}
    jsonschema.validate(form.args, form.json_schema())


def test_options_that_are_not_listed_are_sent_where_validation_is_off() -> None:
    """`validate=False` enforces nothing, not even what is declared; values are sent as given."""
    form = Form(
        function(),
        validate=False,
        Symbol="x",
        Unit="year",
        Dimensions=["Region", "City"],
    )
    assert form.errors == {}
    assert form.args["Unit"] == "year"
    assert form.args["Dimensions"] == ["Region", "City"]
    jsonschema.validate(form.args, form.json_schema())
    form["PoPGrowth"] = "TRUE"
    assert form.args["PoPGrowth"] == "TRUE"
    form.update(
        {
            "PoPLookback": "abc",
            "Brand": "a",
            "EndDate": "2025-01-01",
            "StartDate": "2025-01-02",
        }
    )
    assert form.args["PoPLookback"] == "abc"
    assert form.args["Brand"] == "a"
    assert (form.errors, form.warnings) == ({}, {})


def test_options_of_a_listing_function_are_hints() -> None:
    """An unlisted symbol or panel is sent: the service decides (SERVICE.md 3)."""
    assert filled(Symbol="NOBODY HAS THIS").errors == {}


@pytest.mark.parametrize(
    ("kind", "options", "value", "sent"),
    [
        (Kind.INTEGER, ("1", "2", "4"), 4, 4),
        (Kind.INTEGER, ("1", "2", "4"), 3, None),
        (Kind.INTEGER, ("one", "two"), 3, 3),
        (Kind.NUMBER, ("0.5", "1"), "0.50", 0.5),
        (Kind.DATE, ("2025-03-31", "2025-06-30"), dt.date(2025, 6, 30), "2025-06-30"),
        (Kind.DATE, ("2025-03-31", "2025-06-30"), "2025-06-29", None),
        (Kind.DATE, ("today", "2025-06-30"), "2025-06-29", "2025-06-29"),
        (
            Kind.LIST,
            ("Age Group", "Region"),
            ["region", "AGE GROUP"],
            ["Region", "Age Group"],
        ),
        (Kind.LIST, ("Age Group", "Region"), ["Region", "x"], None),
        (Kind.YES_NO, ("true", "false"), True, "true"),
        (Kind.YES_NO, ("N", "Y"), "no", "N"),
        (Kind.YES_NO, (), True, "Yes"),
        (Kind.CHOICE, ("a", "A"), "A", "A"),
        (Kind.CHOICE, ("b", "B"), " B ", "b"),
        (Kind.NUMBER, ("0.5", "1"), 0.7, None),
    ],
)
def test_options_hold_where_all_of_them_are_such(
    kind: Kind, options: Any, value: Any, sent: Any
) -> None:
    """Options exclude other values, unless some of them aren't numbers or dates."""
    restricted = field(kind, options=options)
    form = form_with(restricted, Given=value)
    assert form.args.get("Given") == sent
    assert ("Given" in form.errors) is (sent is None)
    if sent is not None:
        jsonschema.validate(form.args, form.json_schema())


def test_a_thousand_options_are_told_briefly() -> None:
    """The message is one line, however many options there are."""
    long = field(
        Kind.CHOICE, options=tuple(f"option {number}" for number in range(10_000))
    )
    with pytest.raises(ValueError, match="has no option 'q'") as caught:
        accept(long, "q")
    assert len(str(caught.value)) < 300


# What is valid, and what is not.
CARD = {"PanelName": "Card", "Symbol": "x"}
ARGS: dict[bool, list[dict[str, Any]]] = {
    True: [
        CARD,
        {"PanelName": "Card"},
        {"PanelName": "Card", "Brand": ["x"]},
        {"PanelName": "Card", "Brand": []},
        CARD | {"Brand": ["x"], "Dimensions": ["Region"], "PoPLookback": 1},
        CARD | {"Share": 0.5},
        CARD | {"Symbol": ""},
        CARD | {"PanelName": " "},
    ],
    False: [
        {"Symbol": "x"},
        *(CARD | {"PoPLookback": value} for value in ("abc", 0, 1.5)),
        *(
            CARD | more
            for more in (
                {"Zzz": "1"},
                {"PanelName": ""},
                {"Unit": "year"},
                {"Dimensions": "Region"},
            )
        ),
        *(
            CARD | more
            for more in (
                {"Dimensions": ["City"]},
                {"Share": "half"},
                {"StartDate": "March"},
            )
        ),
    ],
}
CHECKER = jsonschema.FormatChecker(["date"])


@pytest.mark.parametrize(
    ("args", "valid"),
    [(args, valid) for valid, rows in ARGS.items() for args in rows],
    ids=str,
)
def test_the_schema_and_the_form_agree_on_what_is_valid(
    args: dict[str, Any], valid: bool
) -> None:
    """Required fields, options, bounds and types are the same in both."""
    schema = Form(function()).json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert (
        jsonschema.Draft202012Validator(schema, format_checker=CHECKER).is_valid(args)
        is valid
    )
    if all(name in DESCRIBED for name in args):
        form = Form(function(), **args)
        # The form accepts a single string for a list, and makes it an array; else both agree.
        assert (form.errors == {}) is (valid or args.get("Dimensions") == "Region")


def test_the_schema_carries_help_and_defaults() -> None:
    """A tool that only has the schema knows as much as the form."""
    properties = Form(function()).json_schema()["properties"]
    assert list(properties) == list(DESCRIBED)
    flag = {"type": "string", "enum": ["Yes", "No"], "default": "No"}
    assert properties["PoPGrowth"] == {
        **flag,
        "description": "'Yes'/'No', default 'No'",
    }
    number = {"type": "integer", "minimum": 1, "maximum": 4, "default": 1}
    assert properties["PoPLookback"] == {
        **number,
        "description": "Between 1 and 4. Default 1",
    }
    assert properties["StartDate"] == {"type": "string", "format": "date"}
    assert properties["Symbol"] == {
        "type": "string",
        "description": "Required if Brand is not specified.",
    }
    assert properties["Dimensions"]["items"] == {
        "type": "string",
        "enum": ["Age Group", "Region", "Brand"],
    }
    assert properties["Note"] == {"type": "string"}
    assert "anyOf" not in Form(function()).json_schema()


def test_a_schema_has_no_default_that_its_own_options_refuse() -> None:
    """A default outside the options is only in the help."""
    rules = {
        "D": (0, "One of day, week. Default: 'year'"),
        "E": (4, "One or more of 'day', 'week', default 'DAY'"),
    }
    form = Form(function(rules))
    schema = form.json_schema()
    assert "default" not in schema["properties"]["D"]
    assert schema["properties"]["E"]["default"] == ["day"]


# JSON has its own tests, and a file has to exist.
NOT_BY_SCHEMA = {Kind.JSON, Kind.FILE}
NAMES = st.sampled_from(["A", "a", "B", "StartDate", "EndDate", "class", "?"])
FIELDS = st.lists(
    st.builds(
        Field,
        name=NAMES,
        identifier=st.just("x"),
        kind=st.sampled_from([kind for kind in Kind if kind not in NOT_BY_SCHEMA]),
        label=st.just(""),
        help=st.sampled_from(["", "words"]),
        required=st.booleans(),
        options=st.sampled_from(
            [(), ("Yes", "No"), ("1", "2"), ("2025-01-01", "2025-12-31"), ("a", "B")]
        ),
        rule=st.none()
        | st.builds(
            Rule,
            st.lists(NAMES, min_size=2, unique=True).map(tuple),
            st.just("one of them"),
        ),
        minimum=st.none() | st.integers(-3, 3),
        not_before=st.none() | NAMES,
        evidence=st.dictionaries(st.sampled_from(PARTS), st.sampled_from(Evidence)),
    ),
    max_size=5,
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.decimals(),
    st.fractions(),
    st.complex_numbers(),
    st.text(st.characters()),
    st.binary(max_size=4),
    st.dates(),
    st.datetimes(),
    st.times(),
    st.timedeltas(),
    st.sampled_from(
        [
            "Yes",
            "no",
            "1",
            "2",
            "a",
            "b",
            "2025-01-01",
            "2025-02-30",
            "1e5",
            "nan",
            "\ud800",
        ]
    ),
    st.sampled_from(
        [
            *NOTHING,
            np.int64(1),
            np.float32(0.1),
            np.datetime64("2025-01-01"),
            np.str_("a"),
        ]
    ),
    st.sampled_from(
        [
            np.timedelta64(1, "s"),
            object(),
            len,
            int,
            ...,
            Fails(),
            np.array(1),
            np.void(b"a"),
            Word.DAY,
        ]
    ),
    st.builds(iter, st.just("a")),
    st.builds(
        pd.Timestamp,
        st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1)),  # noqa: DTZ001
    ),
)
VALUES = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=3),
    st.tuples(SCALARS),
    st.dictionaries(st.text(max_size=2), SCALARS, max_size=2),
    st.lists(st.floats() | st.text(st.characters(), max_size=3), max_size=3).map(
        lambda items: pd.Series(items, dtype=object)
    ),
    st.lists(st.integers(0, 5), max_size=3).map(np.array),
)


@pytest.mark.slow
@settings(max_examples=examples(400))
@given(FIELDS, st.data())
def test_whatever_is_set_the_form_never_raises_and_gives_what_is_valid(
    fields: Any, data: st.DataObject
) -> None:
    """Any Python value becomes an argument or an error, and valid arguments of declared fields satisfy the schema."""
    fields = (
        [declared(field) for field in fields] if data.draw(st.booleans()) else fields
    )
    form = form_with(*fields, validate=data.draw(st.booleans()))
    values = {name: data.draw(VALUES) for name in {field.name for field in fields}}
    for name, value in values.items():
        form[name] = value
    args = form.args
    errors = form.errors
    # A number with more digits than a float stays a Decimal, which is sent as text.
    json.dumps(plain(args), ensure_ascii=False).encode()
    assert args == form.args
    assert errors == form.errors
    assert all(
        isinstance(text, str) and len(text) < 500
        for texts in errors.values()
        for text in texts
    )
    schema = form.json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    if errors:
        with pytest.raises(ArgumentError):
            form.check()
    else:
        assert form.check() == args
    if (
        not errors
        and form.validate
        and all(field.is_declared() and field.is_declared("bounds") for field in fields)
    ):
        jsonschema.Draft202012Validator(schema, format_checker=CHECKER).validate(
            form.args
        )


JSON_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-4, 4),
    st.floats(-1e15, 1e15),
    st.text(max_size=3),
    st.sampled_from(
        [
            "Yes",
            "No",
            "1",
            "2",
            "a",
            "B",
            "b",
            " ",
            "2025-01-01",
            "2025-12-31",
            "2025-02-30",
            "20250101",
        ]
    ),
)


# Options of another kind than the field don't exclude values, so only the pattern refuses an empty one.
ENFORCED = {"options": Evidence.DECLARED, "required": Evidence.DECLARED}
UNUSABLE = Field(
    "a",
    "x",
    Kind.INTEGER,
    "",
    "",
    required=True,
    options=("Yes", "No"),
    evidence=ENFORCED,
)


@settings(max_examples=examples(150))
@example([UNUSABLE], [""])
@given(FIELDS, st.lists(JSON_SCALARS | st.lists(JSON_SCALARS, max_size=2), min_size=5))
def test_what_the_schema_accepts_the_form_accepts(
    fields: list[Field], values: list[Any]
) -> None:
    """The form accepts whatever the schema does, except reversed dates."""
    form = form_with(*fields)
    schema = form.json_schema()
    # The first value that each field's schema accepts, so that most examples are valid as a whole.
    valid = {}
    for name, own in schema["properties"].items():
        checker = jsonschema.Draft202012Validator(own, format_checker=CHECKER)
        fitting = [value for value in values if checker.is_valid(value)]
        valid |= {name: fitting[0]} if fitting else {}
    if jsonschema.Draft202012Validator(schema, format_checker=CHECKER).is_valid(valid):
        form.update(valid)
        assert not [
            text
            for texts in form.errors.values()
            for text in texts
            if " is before " not in text
        ]


@pytest.mark.parametrize(
    "use",
    [Form.check, lambda form: form.args, lambda form: form.errors, Form.json_schema],
)
def test_reading_a_form_leaves_it_as_it_is(use: Callable[[Form], Any]) -> None:
    """Values stay as set, with their types."""
    day = dt.date(2025, 3, 4)
    form = filled(StartDate=day, Dimensions=("Region",))
    use(form)
    assert vars(form)["values"] == {
        "PanelName": "Card",
        "Symbol": "BKQU",
        "StartDate": day,
        "Dimensions": ("Region",),
    }


@pytest.mark.parametrize(
    ("value", "sent"),
    [(True, "Yes"), (False, "No"), (np.True_, "Yes"), ("auto", "Auto")],
)
def test_a_choice_with_yes_and_no_takes_true_and_false(
    value: object, sent: str
) -> None:
    """True and False are sent as Yes and No if the options have them."""
    function = Function(
        name="F",
        params=(Param(name="Mode", description="Options are 'Yes', 'No', 'Auto'."),),
    )
    (mode,) = read_fields(function)
    assert accept(declared(mode), value) == sent


# The same descriptions without a schema: none is enforced.
GIVEN = {
    "Flag": (0, "Options are 'on', 'off'"),
    "Names": (0, "A list of names"),
    "Since": (0, "YYYY-MM-DD"),
}


@pytest.mark.parametrize(
    ("name", "value", "sent", "warning"),
    [
        ("Unit", "week", "week", ""),
        ("Unit", "WEEK", "WEEK", "Unit has no option 'WEEK'. Did you mean 'week'?"),
        ("PoPGrowth", "yes", "yes", "has no option 'yes'. Did you mean 'Yes'?"),
        (
            "Dimensions",
            ["region"],
            ["region"],
            "has no option 'region'. Did you mean 'Region'?",
        ),
        ("Unit", "wek", "wek", "Unit has no option 'wek'. Did you mean 'week'?"),
        ("Unit", ["day", "week"], ["day", "week"], "Unit takes one value, not"),
        ("PoPGrowth", True, "Yes", ""),
        ("PoPGrowth", "maybe", "maybe", "has no option 'maybe'"),
        ("Flag", True, "Yes", "has no option 'Yes'"),
        ("Note", False, "No", ""),
        ("Note", ["a", 1], ["a", "1"], ""),
        ("Share", "half", "half", "Share takes a number"),
        ("Share", 1.5, "1.5", "Share must be at most 1, not 1.5."),
        ("PoPLookback", 9, 9, "must be between 1 and 4, not 9"),
        ("Names", "a", "a", ""),
        ("Names", ["a", "b"], ["a", "b"], ""),
        ("Since", "last week", "last week", "takes a date as YYYY-MM-DD"),
        ("Since", dt.date(2025, 3, 4), "2025-03-04", ""),
        ("StartDate", "7daysAgo", "7daysAgo", ""),
        ("Dimensions", "City", ["City"], "has no option 'City'"),
    ],
)
def test_what_is_only_described_is_sent_as_given_with_a_warning(
    name: str, value: Any, sent: Any, warning: str
) -> None:
    """Rules read from prose never stop a run, and assumptions from a name don't warn (FAULTS 85, 86, 90)."""
    given = {"Symbol": "x", "PanelName": "Card", name: value}
    form = Form(function(DESCRIBED | GIVEN, enforced=False), **given)
    assert form.check()[name] == sent
    assert [warning in text for text in form.warnings.get(name, [])] == [True] * bool(
        warning
    )
    shown = json.dumps(form.json_schema()["properties"][name])
    assert ("enum" in shown) is False


def test_dates_that_are_only_described_may_be_in_any_order() -> None:
    """Reversed dates are an error only if the catalog declares both as dates (FAULTS 85)."""
    for text, warns in (("YYYY-MM-DD", True), ("", False)):
        described = function(
            {"StartDate": (0, text), "EndDate": (0, text)}, enforced=False
        )
        form = Form(described, StartDate="2025-03-04", EndDate="2025-03-03")
        assert form.errors == {}
        assert bool(form.warnings) is warns


def test_a_name_may_be_half_a_character() -> None:
    """The JSON Schema of a form has a valid identifier for it."""
    schema = {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"anyOf": [{"type": "integer"}, {"type": "object"}]}},
    }
    fields = read_fields(
        Function(name="F", params=(Param(name="a\ud800", schema=schema),))
    )
    [own] = form_with(*fields).json_schema()["properties"].values()
    assert own["$id"] == "urn:parameter:a%3F"
