"""diff: which rows were added, removed or changed between two results, by key columns."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from itertools import product
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jupyter_funcs as jf
from tests.conftest import PANEL


def frame(*rows: tuple[str, str, float | None]) -> pd.DataFrame:
    made = pd.DataFrame(rows, columns=["Date", "Region", "Spend"])
    made["Date"] = pd.to_datetime(made["Date"])
    return made.astype({"Region": "string", "Spend": "Float64"})


DAY = pd.Timestamp("2025-01-01")
A = frame(
    ("2025-01-01", "Pacific", 1.0),
    ("2025-01-01", "Midwest", 2.0),
    ("2025-01-02", "Pacific", None),
)
B = frame(
    ("2025-01-02", "Pacific", 3.0),
    ("2025-01-03", "Pacific", 4.0),
    ("2025-01-01", "Pacific", 1.0),
)


def test_two_frames_can_have_names_of_their_own() -> None:
    """For results that aren't before and after: each row says which result has it, and no column says "before"."""
    shown = jf.diff(A, B.assign(More=1), names=("BVQS", "MCHQ"))
    spend = [f"Spend ({which})" for which in ("BVQS", "MCHQ", "delta", "percent")]
    assert shown.columns.tolist() == ["Where", "Date", "Region", *spend]
    assert shown["Where"].tolist() == ["in both", "only in MCHQ", "only in BVQS"]
    assert shown.attrs["funcs"]["only"] == {"BVQS": [], "MCHQ": ["More"]}
    for names in (("a", "a"), ("a", "delta"), ("percent", "a")):
        with pytest.raises(jf.ArgumentError, match="can't name two results"):
            jf.diff(A, B, names=names)


def test_two_frames_of_one_row_need_no_key() -> None:
    """The single rows are matched with each other."""
    shown = jf.diff(A[["Spend"]].head(1), A[["Spend"]].iloc[1:2])
    assert shown.to_numpy().tolist() == [["changed", 1.0, 2.0, 1.0, 100.0]]
    with pytest.raises(jf.ArgumentError, match="Nothing identifies the rows"):
        jf.diff(A[["Spend"]], A[["Spend"]].head(1))


def test_rows_are_told_apart_by_dates_and_texts() -> None:
    """Equal rows are left out; the order is the second result's, followed by removed rows."""
    shown = jf.diff(A, B)
    spend = [f"Spend ({which})" for which in ("before", "after", "delta", "percent")]
    assert shown.columns.tolist() == ["Change", "Date", "Region", *spend]
    shown = shown.drop(columns=spend[2:])
    assert [
        tuple(row)
        for row in shown.astype(object)
        .where(shown.notna(), None)
        .itertuples(index=False)
    ] == [
        ("changed", pd.Timestamp("2025-01-02"), "Pacific", None, 3.0),
        ("added", pd.Timestamp("2025-01-03"), "Pacific", None, 4.0),
        ("removed", pd.Timestamp("2025-01-01"), "Midwest", 2.0, None),
    ]


def test_numbers_have_their_delta_and_percent() -> None:
    """The percent is relative to the size of the earlier value, and missing if that is zero or missing."""
    before = pd.DataFrame(
        {
            "k": list("abcd"),
            "v": [4.0, -2.0, 0.0, None],
            "n": [1, 2, 3, 4],
            "t": [True] * 4,
        }
    )
    shown = jf.diff(
        before, before.assign(v=[5.0, -3.0, 1.0, 2.0], n=[1, 2, 3, 5], t=False)
    )
    assert shown["v (delta)"].fillna(0).tolist() == [1.0, -1.0, 1.0, 0]
    assert shown["v (percent)"].fillna(0).tolist() == [25.0, -50.0, 0, 0]
    assert shown["n (delta)"].tolist() == [0, 0, 0, 1]
    assert "t (delta)" not in shown


def test_results_of_two_functions_name_what_they_share() -> None:
    """They are joined by shared columns that identify rows; else the error says which columns they share."""
    daily = A.assign(Cards=1)
    other = pd.DataFrame(
        {"Date": A["Date"], "Region": A["Region"], "Spend": [1.0, 3.0, 2.0]}
    )
    for frame, name in ((daily, "Daily"), (other, "Weekly")):
        frame.attrs["funcs"] = {"function": name}
    assert jf.diff(daily, other)["Spend (delta)"].dropna().tolist() == [1.0]
    with pytest.raises(
        jf.ArgumentError,
        match=r"Daily and Weekly share Spend\. Nothing identifies the rows",
    ):
        jf.diff(daily[["Spend"]], other[["Spend"]])
    with pytest.raises(
        jf.ArgumentError,
        match=r"Daily and Weekly share no column\.\nCompare results with the same",
    ):
        jf.diff(daily[["Cards"]], other[["Spend"]])
    many = pd.DataFrame({f"n{number}": [1.0] for number in range(9)})
    many.attrs["funcs"] = {"function": "Many"}
    with pytest.raises(
        jf.ArgumentError, match=r"share n0, n1, n2, n3, n4 and 4 more\. Nothing"
    ):
        jf.diff(many, daily.assign(**many.iloc[0]).drop(columns=["Date", "Region"]))


@pytest.mark.slow
def test_the_same_run_twice_differs_in_nothing() -> None:
    """A result equals itself, with any kind of column."""
    panel = jf.connect().get_panel_daily(
        PanelName=PANEL, Symbol="BKQU", Dimensions=["Region"], PoPGrowth=True
    )
    assert jf.diff(panel, panel.copy()).empty
    assert jf.diff(panel, panel.sample(frac=1, random_state=1)).empty
    kpis = jf.connect().get_kpis(Symbol="BKQU", PrimaryOnly=False)
    assert jf.diff(kpis, kpis, keys=["KpiId"]).empty


def test_numbers_within_the_tolerance_are_equal() -> None:
    """The tolerance is a fraction of the second value; without one, numbers must be equal."""
    near = A.assign(Spend=A["Spend"] * 1.0001)
    assert jf.diff(A, near)["Change"].tolist() == ["changed", "changed"]
    assert jf.diff(A, near, tolerance=0.001).empty


def test_a_column_of_one_run_only_is_named() -> None:
    """It has no value to compare with, so it changes no row."""
    wide = A.assign(Cards=[1, None, 3])
    assert jf.diff(A, wide).empty
    assert jf.diff(A, wide).attrs["funcs"]["only"] == {"before": [], "after": ["Cards"]}
    assert jf.diff(wide, A).attrs["funcs"]["only"] == {"before": ["Cards"], "after": []}


@pytest.mark.parametrize(
    ("before", "after", "keys", "message"),
    [
        (A, B, ["Regoin"], "'Regoin' is not a column of both results"),
        (A[["Spend"]], B[["Spend"]], None, "Nothing identifies the rows"),
        (
            A.assign(Region="a", Day=DAY),
            B.assign(Day=DAY),
            ["Region", "Day"],
            "'a, 2025-01-01' occurs twice",
        ),
        (
            A,
            B,
            ["Region"],
            "Region does not identify the rows of the first result: 'Pacific' occurs twice",
        ),
        (B, pd.concat([A, A]), None, "rows of the second result"),
        (A, None, None, "second result is not a DataFrame(.|\n)*run it again"),
        (
            A,
            pd.concat([A, A["Spend"]], axis=1),
            None,
            "second result has two columns named 'Spend'",
        ),
        (A[["Spend"]], B[["Region"]], None, "Compare results with the same columns"),
        (
            A.assign(Tags=[[1], [2], [3]]),
            B.assign(Tags=[[1]] * len(B)),
            ["Tags"],
            "'Tags' holds lists or objects",
        ),
    ],
)
def test_what_cannot_be_compared_is_said(
    before: Any, after: Any, keys: list[str] | None, message: str
) -> None:
    """The error has two lines, with a way out."""
    with pytest.raises(jf.ArgumentError, match=message) as caught:
        jf.diff(before, after, keys=keys)
    assert len(caught.value.lines) == 2


def test_a_dataset_is_read_first() -> None:
    """The dataset of a sweep into a folder is refused, and the message says how to convert it."""
    dataset = pytest.importorskip("pyarrow.dataset")
    table = pytest.importorskip("pyarrow").table({"a": [1]})
    with pytest.raises(
        jf.ArgumentError,
        match=r"first result is not a DataFrame(.|\n)*\.to_table\(\)\.to_pandas",
    ):
        jf.diff(dataset.dataset(table), A)


def test_lists_and_objects_are_compared_and_are_no_keys() -> None:
    """Columns of lists or objects are never keys, but their changes count."""
    shown = jf.diff(
        A.assign(Tags=[["x"], {"y": 1}, None]), A.assign(Tags=[["x"], {"y": 2}, None])
    )
    assert shown["Change"].tolist() == ["changed"]
    assert shown["Tags (after)"].tolist() == [{"y": 2}]


ROWS = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=2),
    st.integers(-3, 3) | st.none(),
    max_size=8,
)


@given(ROWS, ROWS)
def test_every_difference_is_there_once(
    before: dict[str, int | None], after: dict[str, int | None]
) -> None:
    """Against Python's own dictionaries."""
    frames = [
        pd.DataFrame({"Name": list(rows), "Value": list(rows.values())}).astype(
            {"Name": "string", "Value": "Int64"}
        )
        for rows in (before, after)
    ]
    shown = jf.diff(*frames)
    changes = {row["Name"]: row["Change"] for _, row in shown.iterrows()}
    assert len(changes) == len(shown)
    kinds = {}
    for name in {*before, *after}:
        if name not in before:
            kinds[name] = "added"
        elif name not in after:
            kinds[name] = "removed"
        elif before[name] != after[name]:
            kinds[name] = "changed"
    assert changes == kinds


def test_a_flag_is_a_key_only_where_the_rows_need_it() -> None:
    """Booleans are values, unless they are needed to identify the rows."""
    before = pd.DataFrame(
        {
            "Q": ["1", "1"],
            "ToDate": [False, True],
            "Current": [False, True],
            "Spend": [5, 2],
        }
    )
    shown = jf.diff(before, before.assign(Current=[True, True]))
    assert list(shown) == [
        "Change",
        "Q",
        "ToDate",
        "Current (before)",
        "Current (after)",
    ]
    assert list(shown["Change"]) == ["changed"]
    once = before.drop(index=1)
    assert list(jf.diff(once, once.assign(ToDate=True))["Change"]) == ["changed"]
    flags = before[["ToDate", "Spend"]]
    shown = jf.diff(flags, flags.assign(Spend=[5, 3]))
    assert list(shown)[:4] == ["Change", "ToDate", "Spend (before)", "Spend (after)"]


def test_large_integers_are_compared_exactly() -> None:
    """2**53 and 2**53 + 1, equal as floats, are two values and two keys, also where rows or keys are missing."""
    big = 2**53
    before = pd.DataFrame({"k": ["a", "b"], "v": [big + 1, 5]})
    shown = jf.diff(before, pd.DataFrame({"k": ["a", "c"], "v": [big, 6]}))
    assert shown["Change"].tolist() == ["changed", "added", "removed"]
    assert shown["v (before)"].tolist() == [big + 1, pd.NA, 5]
    assert shown["v (after)"].tolist() == [big, 6, pd.NA]
    ids = pd.DataFrame({"id": [big + 1, big], "v": [1, 1]})
    others = pd.DataFrame({"id": pd.array([big + 1, big, None]), "v": [1, 3, 2]})
    shown = jf.diff(ids, others)
    assert shown[["Change", "id"]].to_numpy().tolist() == [
        ["changed", big],
        ["added", pd.NA],
    ]


@pytest.mark.parametrize(
    ("dtype", "big"),
    [*product(["int64", "uint64", "Int64", object], [2**60, 2**62]), (object, 2**70)],
)
def test_large_integers_differ_by_what_they_differ(dtype: Any, big: int) -> None:
    """Integers subtract as integers, also with nulls and beyond 64 bits; beyond Int64, deltas are Python integers."""
    missing: list[None] = [] if dtype in ("int64", "uint64") else [None]
    before = pd.DataFrame(
        {
            "k": ["a", "b", "c"][: 2 + len(missing)],
            "v": pd.Series([big, 4, *missing], dtype=dtype),
        }
    )
    after = before.assign(v=pd.Series([big + 1, 1, *missing], dtype=dtype)).iloc[::-1]
    shown = jf.diff(
        before,
        pd.concat(
            [after, pd.DataFrame({"k": ["new"], "v": pd.Series([7], dtype=dtype)})]
        ),
    )
    assert shown["Change"].tolist() == ["changed", "changed", "added"]
    assert shown["v (delta)"].dtype == "Int64"
    assert shown["v (delta)"].dropna().tolist() == [-3, 1]
    assert shown["v (percent)"].dropna().tolist() == [-75.0, 1 / big * 100]
    far = jf.diff(
        before, after.assign(v=pd.Series([0, -(2**70), *missing], dtype=object))
    )
    assert [int(delta) for delta in far["v (delta)"]] == [-(2**70) - 4, -big]


def test_decimals_are_values_and_subtract_exactly() -> None:
    """They aren't keys. Digits beyond the context's precision aren't rounded; infinite values have no difference."""
    whole = "9" * 30
    before = pd.DataFrame(
        {"id": range(4), "v": [*map(Decimal, ("1.10", "0", f"{whole}.01", "inf"))]}
    )
    after = before.assign(v=[*map(Decimal, ("1.21", "3", f"{whole}.03", "inf"))], n=1)
    shown = jf.diff(before.assign(n=0), after)
    assert shown["Change"].tolist() == ["changed"] * 4
    assert shown["v (delta)"].tolist()[:3] == [Decimal("0.11"), 3, Decimal("0.02")]
    assert shown["v (percent)"].fillna(-1).tolist() == pytest.approx(
        [10.0, -1, 2e-30, -1]
    )
    assert list(
        jf.diff(before, before.assign(v=after["v"].astype(float)))["v (delta)"]
    )[:2] == pytest.approx([0.11, 3])
    near = before.assign(v=[Decimal("1.11"), Decimal(0), *before["v"][2:]])
    assert jf.diff(before, near)["v (delta)"].tolist() == [Decimal("0.01")]
    assert jf.diff(before, near, tolerance=0.01).empty


@pytest.mark.parametrize("dtype", ["timedelta64[ns]", object])
def test_durations_are_values(dtype: Any) -> None:
    """They aren't keys; a difference is a duration, its percent a number."""
    hour = dt.timedelta(hours=1)
    before = pd.DataFrame(
        {"id": range(3), "v": pd.Series([hour, 0 * hour, None], dtype=dtype)}
    )
    shown = jf.diff(
        before, before.assign(v=pd.Series([hour / 2, hour, hour], dtype=dtype))
    )
    assert shown["Change"].tolist() == ["changed"] * 3
    assert shown["v (delta)"].dropna().tolist() == [-hour / 2, hour]
    assert shown["v (percent)"].fillna(0).tolist() == [-50.0, 0, 0]
    assert jf.diff(before, before, tolerance=0.1).empty
    assert jf.diff(before, before.assign(id=[7, 8, 9]))["v (delta)"].isna().all()
    assert "v (delta)" not in jf.diff(before, before.assign(v=[1, 2, 3]))


def test_the_names_of_rows_are_keys_as_columns_are() -> None:
    """As in a grouped result; a key may be a single name."""
    before = pd.DataFrame({"g": ["a", "b"], "n": [1, 2]}).groupby("g").sum()
    after = before.assign(n=[1, 3])
    for keys in (None, ["g"], "g"):
        changed = jf.diff(before, after, keys=keys)
        assert changed["g"].tolist() == ["b"]
        assert changed["n (after)"].tolist() == [3]
    two = pd.DataFrame({"g": ["a"], "h": ["x"], "n": [1]}).set_index(["g", "h"])
    assert jf.diff(two, two.assign(n=2))[["g", "h"]].to_numpy().tolist() == [["a", "x"]]
    assert jf.diff(two, two.reset_index()).empty
