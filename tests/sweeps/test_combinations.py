"""Lists of arguments become the runs of a sweep: each once, in order, and checked before any is sent."""

from __future__ import annotations

import datetime as dt
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_funcs.catalog.form import Form
from jupyter_funcs.catalog.values import Each
from jupyter_funcs.client.options import CallOptions
from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.sweeps import combinations
from jupyter_funcs.sweeps.combinations import Combos, TooManyRunsError
from tests.catalog.test_form import function
from tests.examples import row_id

if TYPE_CHECKING:
    from jupyter_funcs.catalog.form import Args

CARD = {"PanelName": "Card"}


def combos(
    table: Any = None,
    /,
    *,
    pairs: bool = False,
    most: int = 10_000,
    validate: bool = True,
    **values: Any,
) -> Combos:
    return combinations.combos(
        swept(pairs=pairs, most=most, validate=validate), table, CARD | values
    )


def swept(*, pairs: bool = False, most: int = 10, validate: bool = True) -> Any:
    made = function()
    made.options = CallOptions(pairs=pairs)
    made.most_runs = most
    made.form = lambda **values: Form(made, validate=validate, **values)
    return made


def runs(*args: Any, **values: Any) -> list[Args]:
    """Return the runs without the argument that all of them share."""
    return [
        {name: value for name, value in run.items() if name != "PanelName"}
        for run in combos(*args, **values).runs
    ]


def refused(*args: Any, **values: Any) -> ArgumentError:
    with pytest.raises(ArgumentError) as caught:
        combos(*args, **values)
    assert 1 <= len(caught.value.lines) <= 3
    return caught.value


def test_every_combination_is_run_in_the_order_given() -> None:
    """The last list varies fastest, and every run has the constants."""
    sweep = combos(Symbol=["B", "A"], PoPLookback=[1, 2])
    assert sweep.runs == [
        {"PanelName": "Card", "Symbol": symbol, "PoPLookback": back}
        for symbol in "BA"
        for back in (1, 2)
    ]
    assert sweep.swept == ["Symbol", "PoPLookback"]
    assert sweep.constant == CARD
    assert sweep.args == {
        "PanelName": "Card",
        "Symbol": ["B", "A"],
        "PoPLookback": [1, 2],
    }
    assert not sweep.pairs


def test_pairs_take_the_lists_together() -> None:
    """The first values of both lists, then the second; the sweep remembers that they are pairs."""
    sweep = combos(pairs=True, Symbol=["A", "B"], PoPLookback=[1, 2])
    assert [(run["Symbol"], run["PoPLookback"]) for run in sweep.runs] == [
        ("A", 1),
        ("B", 2),
    ]
    assert sweep.args["PoPLookback"] == [1, 2]
    assert sweep.pairs


def test_pairs_of_unlike_lengths_are_refused() -> None:
    """Every length is named."""
    error = refused(pairs=True, Symbol=["A", "B"], PoPLookback=[1, 2, 3])
    assert str(error) == (
        "Pairs need lists of the same length, not Symbol (2) and PoPLookback (3).\n"
        "Leave out pairs to run every combination."
    )


@pytest.mark.parametrize(
    "symbols",
    [
        ["A", "B"],
        ("A", "B"),
        {"A": 1, "B": 2}.keys(),
        np.array(["A", "B"]),
        pd.Series(["A", "B"]),
        pd.Index(["A", "B"]),
        Each(("A", "B")),
    ],
    ids=lambda symbols: type(symbols).__name__,
)
def test_any_list_is_swept(symbols: Any) -> None:
    """Every container of several values is a list."""
    assert runs(Symbol=symbols) == [{"Symbol": "A"}, {"Symbol": "B"}]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ((symbol for symbol in "AB"), "Symbol takes a list, not '<generator object"),
        ({"A": 1}, "Symbol takes a list, not '{'A': 1}' (dict)."),
        (
            pd.DataFrame({"a": ["A"]}),
            "Symbol takes one column, not a whole table: use table['a'] (in %funcs, assign it to a variable first).",
        ),
    ],
    ids=["generator", "dict", "DataFrame"],
)
def test_what_can_be_read_once_or_has_keys_is_no_list(value: Any, message: str) -> None:
    """As for a field that takes a list."""
    assert str(refused(Symbol=value)).startswith(message)


def test_the_column_of_a_tables_own_name_is_named() -> None:
    """A user who passes a whole table for a field usually means the column with the field's name."""
    table = pd.DataFrame({"Name": ["x"], "symbol": ["A"]})
    assert (
        str(refused(Symbol=table))
        == "Symbol takes one column, not a whole table: use table['symbol'] (in %funcs, assign it to a variable first)."
    )


def test_a_list_of_one_value_is_swept() -> None:
    """The result has the same shape for any number of values."""
    assert combos(Symbol=["A"]).swept == ["Symbol"]


def test_nothing_swept_is_said() -> None:
    """The error says that a call is enough."""
    assert str(refused(Symbol="A")) == (
        "Nothing to sweep: no argument of Get Panel Daily is a list of values.\n"
        "Pass a list, such as [a, b], or call it without sweep."
    )


@pytest.mark.parametrize(
    "empty", [[], (), np.array([]), pd.Series([], dtype=str), Each(())], ids=row_id
)
def test_an_empty_list_is_refused(empty: Any) -> None:
    """Otherwise nothing would run, without a message."""
    error = refused(Symbol=empty, PoPLookback=[1, 2])
    assert error.what == "Symbol has no values to sweep: the list is empty."


def test_of_a_parameter_that_takes_a_list_a_list_of_lists_is_swept() -> None:
    """A list of texts is one value for it."""
    sweep = combos(Symbol=["A", "B"], Dimensions=["Region", "Brand"])
    assert sweep.swept == ["Symbol"]
    assert sweep.constant["Dimensions"] == ["Region", "Brand"]
    several = runs(Symbol="A", Dimensions=[["Region"], ["region", "Brand"]])
    assert [run["Dimensions"] for run in several] == [["Region"], ["Region", "Brand"]]
    assert runs(Symbol="A", Dimensions=Each((["Region"],))) == [
        {"Symbol": "A", "Dimensions": ["Region"]}
    ]


def test_an_empty_value_is_a_run_without_the_argument() -> None:
    """As in a form; a rule that needs the argument warns."""
    assert runs(Symbol=["A", "B"], PoPLookback=[None, 2])[:2] == [
        {"Symbol": "A"},
        {"Symbol": "A", "PoPLookback": 2},
    ]
    assert runs(Symbol="A", Dimensions=[[], ["Region"]]) == [
        {"Symbol": "A"},
        {"Symbol": "A", "Dimensions": ["Region"]},
    ]
    assert "Symbol or Brand is required" in str(combos(Symbol=["A", None]).warnings[""])
    assert combos(Symbol=["A", None], validate=False).warnings == {}


def test_a_run_that_stands_twice_goes_once() -> None:
    """Compared as sent: 1 and "1" are the same whole number, in a list, in pairs and in a table."""
    assert runs(Symbol=["A", "B", "A"], PoPLookback=[1, "1", np.int64(1)]) == [
        {"Symbol": "A", "PoPLookback": 1},
        {"Symbol": "B", "PoPLookback": 1},
    ]
    assert len(runs(pairs=True, Symbol=["A", "B", "A"], PoPLookback=[1, 1, 1])) == 2
    assert len(runs(pd.DataFrame({"Symbol": ["A", "A", "B"]}))) == 2
    assert combos(Symbol=["A", "B", "A"]).args["Symbol"] == ["A", "B"]


def test_a_table_gives_a_run_a_row() -> None:
    """A null is a run without the argument, dates and numbers keep their types, and all columns are swept."""
    table = pd.DataFrame(
        {
            "symbol": ["A", "B"],
            "StartDate": pd.to_datetime(["2025-01-01", None]),
            "PoPLookback": pd.array([1, None], dtype="Int64"),
        }
    )
    sweep = combos(table)
    assert sweep.swept == ["Symbol", "StartDate", "PoPLookback"]
    assert sweep.runs == [
        CARD | {"Symbol": "A", "PoPLookback": 1, "StartDate": "2025-01-01"},
        CARD | {"Symbol": "B"},
    ]
    assert sweep.args == CARD | {
        "Symbol": ["A", "B"],
        "StartDate": ["2025-01-01", None],
        "PoPLookback": [1, None],
    }
    assert sweep.pairs
    assert combos(pairs=True, **sweep.args).runs == sweep.runs


def test_a_table_is_combined_with_lists() -> None:
    """Every row with every value; as pairs, every row with its value."""
    table = pd.DataFrame({"Symbol": ["A", "B"]})
    assert len(runs(table, PoPLookback=[1, 2])) == 4
    assert runs(table, pairs=True, PoPLookback=[1, 2]) == [
        {"Symbol": "A", "PoPLookback": 1},
        {"Symbol": "B", "PoPLookback": 2},
    ]
    assert "the table (2) and PoPLookback (3)" in str(
        refused(table, pairs=True, PoPLookback=[1, 2, 3])
    )


NO_TABLES: dict[str, tuple[Any, str]] = {
    "no columns": (pd.DataFrame(), "The table of arguments is empty."),
    "no rows": (pd.DataFrame({"Symbol": []}), "The table of arguments is empty."),
    "a misspelt parameter": (
        pd.DataFrame({"Symbl": ["A"]}),
        "has no parameter 'Symbl'.",
    ),
    "a numbered column": (pd.DataFrame({0: ["A"]}), "has no parameter '0'."),
    "two columns for a parameter": (
        pd.DataFrame([["A", "B"]], columns=["Symbol", "symbol"]),
        "The column 'symbol' is the same parameter as",
    ),
    "a column that isn't a parameter": (
        pd.DataFrame({"Symbol": ["A"], "Sector": ["B"]}),
        "'Sector' (a column of the table).Use the other columns: table[['Symbol']].",
    ),
    "a column beside an argument": (
        pd.DataFrame({"PanelName": ["Card"]}),
        "is the same parameter as the argument of that name.",
    ),
    "a list of records": (
        [{"Symbol": "A"}],
        "A sweep takes a DataFrame with one row per run, not",
    ),
    "text": ("Symbol", "not 'Symbol' (str)."),
    "a Series": (pd.Series(["A"], name="Symbol"), "(Series)."),
}


@pytest.mark.parametrize(("table", "message"), NO_TABLES.values(), ids=NO_TABLES)
def test_a_table_that_is_none_is_refused(table: Any, message: str) -> None:
    """With a message, before anything is sent."""
    error = refused(table)
    assert message in error.what + error.hint


def test_every_wrong_value_is_named_once() -> None:
    """With the same message as in a form; of many, the first ones and the number of the others."""
    error = refused(Symbol=["A"], PoPLookback=[1, 9, "x", 9], Unit=["day", "dya"])
    form = Form(function(), PanelName="Card", Symbol="A", PoPLookback=9, Unit="dya")
    assert error.errors["PoPLookback"][:1] == form.errors["PoPLookback"]
    assert error.errors["Unit"] == form.errors["Unit"]
    assert len(error.errors["PoPLookback"]) == 2
    assert error.hint == "Get Panel Daily was not run."
    many = refused(Symbol="A", PoPLookback=range(1000))
    assert many.errors["PoPLookback"][-1] == "And 993 more like these."
    assert (
        combos(Symbol="A", Unit=["day", "dya"], validate=False).runs[1]["Unit"] == "dya"
    )


def test_what_is_wrong_between_arguments_is_said() -> None:
    """A missing argument, a rule, and dates in the wrong order, in any of the runs."""
    with pytest.raises(ArgumentError) as caught:
        combinations.combos(swept(), None, {"Symbol": ["A", "B"]})
    assert list(caught.value.errors) == ["PanelName"]
    days = [dt.date(2025, 1, day) for day in (1, 2, 3)]
    assert refused(Symbol="A", StartDate="2025-01-02", EndDate=days).errors == {
        "EndDate": ["EndDate 2025-01-01 is before StartDate 2025-01-02."]
    }


def test_a_name_that_is_none_is_refused() -> None:
    """As in a form, also for a swept argument."""
    assert "Did you mean 'Symbol'?" in str(refused(Symbl=["A"]))
    assert "is the same parameter as" in str(refused(Symbol=["A"], symbol=["B"]))


def test_a_million_runs_are_counted_and_not_made() -> None:
    """The number is known before any of them takes memory, and repeated values don't count."""
    values = [f"v{number}" for number in range(1000)]
    error = refused(Symbol=values, Note=[*values, *values])
    assert isinstance(error, TooManyRunsError)
    assert error.number == 1_000_000
    assert (
        error.what
        == "This is 1,000,000 runs of Get Panel Daily, more than most_runs = 10,000."
    )
    assert (
        error.hint
        == "Sweep fewer values, or allow it: --most-runs 1000000 or with_options(most_runs=1000000)."
    )
    assert isinstance(
        refused(Symbol=[f"{number}" for number in range(11)], most=10), TooManyRunsError
    )
    assert len(runs(Symbol=values[:10], most=10)) == 10
    again = pickle.loads(pickle.dumps(error))
    assert (again.number, str(again)) == (error.number, str(error))


VALUES = {
    "Symbol": st.sampled_from(["A", "b", "ü", None, 1]),
    "PoPLookback": st.sampled_from([1, "2", 3.0, 9, "x", None]),
    "Dimensions": st.sampled_from([["Region"], [], ["region", "Brand"], ["No"]]),
    "StartDate": st.sampled_from(["2025-01-01", dt.date(2025, 1, 2), "never", None]),
    "EndDate": st.sampled_from(["2025-01-01", "2024-01-01", None]),
}


@pytest.mark.slow
@given(
    st.fixed_dictionaries(
        {},
        optional={
            name: st.lists(values, min_size=1, max_size=3)
            for name, values in VALUES.items()
        },
    )
)
def test_each_run_is_what_a_form_makes_of_its_values(
    lists: dict[str, list[Any]],
) -> None:
    """Or none is valid: checking each value once has the same result as a form for each run."""
    import itertools

    if not lists:
        return
    forms = [
        Form(function(), **CARD, **dict(zip(lists, values, strict=True)))
        for values in itertools.product(*lists.values())
    ]
    try:
        sent = combos(**lists).runs
    except ArgumentError:
        assert any(form.errors for form in forms)
    else:
        wanted: list[Args] = []
        for form in forms:
            assert form.errors == {}
            wanted += [form.args] * (form.args not in wanted)
        assert sent == wanted
        assert [list(args) for args in sent] == [list(args) for args in wanted]
