"""Display: HTML tables of a DataFrame, and listings."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from jupyter_funcs.frames.display import shape_text, table_html
from jupyter_funcs.frames.text_tables import Listing


def cells(frame: pd.DataFrame) -> list[list[str]]:
    """Return the texts of the rows shown."""
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", table_html(frame))
    return [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in rows]


def test_a_long_frame_shows_both_ends() -> None:
    """A long frame shows its first and last fifty rows and counts the others."""
    shown = cells(pd.DataFrame({"a": range(1234)}))
    assert len(shown) == 1 + 50 + 1 + 50
    assert shown[51] == ["… 1,134 more rows …"]
    assert shown[-1] == ["1,233"]


def test_texts_are_at_the_left_and_numbers_at_the_right() -> None:
    """Each cell sets its own alignment, because JupyterLab right-aligns every cell of a table."""
    html = table_html(pd.DataFrame({"Region": ["a"] * 101, "Spend": [1.0] * 101}))
    left = ' style="text-align: left"'
    right = ' style="text-align: right"'
    assert f'<th scope="col"{left}>Region</th><th scope="col"{right}>Spend</th>' in html
    assert f"<td{left}>a</td><td{right}>1.00</td>" in html
    assert f'<td colspan="2"{left}>… 1 more rows …</td>' in html


def test_labels_of_rows_and_all_columns_are_shown() -> None:
    """Each level of an index with labels is a column, and columns with the same name are numbered."""
    assert cells(pd.DataFrame([[1, "x"]], columns=["a", "a"])) == [
        ["a", "a (2)"],
        ["1", "x"],
    ]
    assert cells(pd.DataFrame({"a": [1]}, index=["x"])) == [["index", "a"], ["x", "1"]]
    two = pd.MultiIndex.from_tuples(
        [("x", pd.Timestamp("2025-01-02"))], names=["<i>", "Date"]
    )
    assert cells(pd.DataFrame({"a": [1]}, index=two)) == [
        ["&lt;i&gt;", "Date", "a"],
        ["x", "2025-01-02", "1"],
    ]


def test_a_wide_frame_says_what_it_leaves_out() -> None:
    """At most forty columns and a hundred rows are shown, and the rest is counted."""
    frame = pd.DataFrame(
        np.zeros((1_000_000, 45), dtype="int8"),
        columns=[f"c{number}" for number in range(45)],
    )
    shown = cells(frame)
    assert len(shown) == 1 + 50 + 1 + 50
    assert shown[0][38:] == ["c38", "c39", "… 5 more columns …"]
    assert {len(row) for row in shown} == {41, 1}


def test_names_of_columns_are_inert() -> None:
    """A column name is short escaped text on one line."""
    names = [
        "<script>alert(1)</script>",
        "$x$",
        "a\n\u202eb",
        "x" * 10_000,
        ("a", 1),
        None,
    ]
    (shown, _) = cells(pd.DataFrame([range(6)], columns=pd.Index(names, dtype=object)))
    assert shown[:3] == ["&lt;script&gt;alert(1)&lt;/script&gt;", "$x$", "a \\u202eb"]
    assert len(shown[3]) == 120
    assert shown[4:] == ["a 1", "None"]


def test_an_empty_frame_says_so() -> None:
    """A frame without rows, or without columns, is described in a sentence."""
    assert "No rows. Columns: a, b." in table_html(pd.DataFrame(columns=["a", "b"]))
    assert "No rows." in table_html(pd.DataFrame())
    assert "3 rows, and no columns." in table_html(pd.DataFrame(index=range(3)))
    assert "and 960 more" in table_html(
        pd.DataFrame(columns=[f"<{number}>" for number in range(1000)])
    )
    assert "<0>" not in table_html(pd.DataFrame(columns=["<0>"]))


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (0, "0 rows × 1 column"),
        (1, "1 row × 1 column"),
        (1826, "1,826 rows × 1 column"),
    ],
)
def test_the_size_is_said_in_words(rows: int, text: str) -> None:
    """Rows and columns are counted, with singular and plural."""
    assert shape_text(pd.DataFrame({"a": range(rows)})) == text
    assert shape_text(pd.DataFrame(columns=range(2000))) == "0 rows × 2,000 columns"


def test_a_listing_is_read_whole() -> None:
    """A listing shows long texts whole, left-aligned and escaped; a part of it is a plain DataFrame."""
    listing = Listing({"help": ["x" * 300, "<b>bold</b>"], "name": ["a", "b"]})
    shown = listing._repr_html_()
    assert "x" * 300 in shown
    assert "<b>" not in shown
    assert "text-align: left" in shown
    assert "name" in repr(listing)
    assert type(listing[["name"]]) is pd.DataFrame
    assert type(listing.head(1)) is pd.DataFrame


def test_a_listing_reads_by_its_kinds() -> None:
    """Numbers are right-aligned at the decimal point, times are on one line, texts are left-aligned."""
    counts = pd.array([10956, None], dtype="Int64")
    listing = Listing(
        {
            "a": ["<td>", "b"],
            "rows": counts,
            "time": pd.to_datetime(["2024-01-31 12:00:01"] * 2),
        }
    )
    listing["seconds"] = [2.7, 0.06]
    listing["number"] = [1000, 1001]
    cells = re.findall(
        r'<t[dh] style="text-align: (\w+); [^>]*white-space: (\w+)">(.*?)</t',
        listing._repr_html_(),
    )
    assert cells == [
        ("left", "normal", "a"),
        ("right", "nowrap", "rows"),
        ("left", "nowrap", "time"),
        ("right", "nowrap", "seconds"),
        ("right", "nowrap", "number"),
        ("left", "normal", "&lt;td&gt;"),
        ("right", "nowrap", "10,956"),
        ("left", "nowrap", "2024-01-31 12:00:01"),
        ("right", "nowrap", "2.70"),
        ("right", "nowrap", "1000"),
        ("left", "normal", "b"),
        ("right", "nowrap", ""),
        ("left", "nowrap", "2024-01-31 12:00:01"),
        ("right", "nowrap", "0.06"),
        ("right", "nowrap", "1001"),
    ]


def test_a_listing_of_nothing_says_so() -> None:
    """A listing without rows is a sentence, escaped in HTML; the frame keeps its columns."""
    listing = Listing({"name": []})
    assert repr(listing) == "Nothing to list."
    listing.nothing = "No function has '<b>'."
    assert listing._repr_html_() == "<div>No function has &#x27;&lt;b&gt;&#x27;.</div>"
    assert list(listing.columns) == ["name"]
    assert listing.copy().empty
