"""Tables in a terminal use its width and show their texts whole."""

from __future__ import annotations

import os
import subprocess
import sys

import pandas as pd
import pexpect
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jupyter_funcs as jf
from jupyter_funcs.frames.text_tables import Listing, table_text

LIST = ["-m", "jupyter_funcs.cli.main", "list"]
SHOWN = "import jupyter_funcs as jf; print(jf.connect().get_panel_daily.describe())"


@pytest.mark.slow
@pytest.mark.parametrize("width", [80, 110, 300])
@pytest.mark.parametrize(
    "program", [LIST, ["-c", SHOWN]], ids=["jupyter funcs list", "print(fn.describe())"]
)
def test_a_listing_in_a_terminal_is_as_wide_as_it_is_and_cuts_nothing(
    program: list[str], width: int
) -> None:
    """Every word of every text is shown, at any width."""
    # They would count towards the width.
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    child = pexpect.spawn(
        sys.executable,
        program,
        dimensions=(50, width),
        env=env,
        encoding="utf-8",
        timeout=60,
    )
    child.expect(pexpect.EOF)
    lines = child.before.splitlines()
    assert 50 < max(map(len, lines)) <= width
    shown = jf.connect()
    frame = shown.find() if program is LIST else shown.get_panel_daily.describe()
    words = [
        word for column in frame for text in frame[column] for word in str(text).split()
    ]
    missing = set(words).difference(" ".join(lines).split())
    assert not missing
    assert "…" not in child.before
    if width == 300:
        assert len(lines) == len(frame) + 1


@pytest.mark.slow
def test_a_listing_that_is_piped_has_a_line_a_function() -> None:
    """Without a terminal, each function is on one line, for grep."""
    done = subprocess.run(
        [sys.executable, *LIST], capture_output=True, text=True, timeout=60, check=True
    )
    assert len(done.stdout.splitlines()) == 8


@pytest.mark.fault(74)
def test_a_listing_is_not_typeset() -> None:
    """Front ends leave dollars in a service's texts alone; other frames look as in pandas."""
    listing = Listing({"description": ["costs $5, or $6"]})
    assert 'class="dataframe tex2jax_ignore mathjax_ignore"' in listing._repr_html_()
    assert "mathjax_ignore" not in pd.DataFrame(listing)._repr_html_()


def test_a_table_shares_its_width_so_that_it_is_low() -> None:
    """Long columns get the most width, the first column stays whole if possible, numbers are right-aligned."""
    columns = [
        ["name", "Get It", ""],
        ["rows", "7", "1,000"],
        ["about", "one two three four five six", ""],
    ]
    assert table_text(columns, [False, True, False], 30).splitlines() == [
        "name     rows  about",
        "Get It      7  one two three",
        "               four five six",
        "        1,000",
    ]
    assert (
        table_text(columns, [False, True, False], 80).splitlines()[1]
        == "Get It      7  one two three four five six"
    )
    assert table_text([["a", "", "b"]], [False], 80) == "a\n\nb"
    names = table_text(
        [["report_time_unit"], ["immeasurably"], ["uncharacteristically"]],
        [False] * 3,
        40,
    )
    # The name is whole.
    assert names.splitlines()[0] == "report_time_unit  immeasurab  uncharacte"


TEXT = st.text(st.sampled_from("ab é-界"), max_size=40).map(
    lambda text: " ".join(text.split())
)


@given(
    st.integers(1, 5).flatmap(
        lambda n: st.lists(st.lists(TEXT, min_size=n, max_size=n), min_size=1)
    ),
    st.integers(1, 90),
)
def test_any_table_keeps_its_letters_and_its_width(
    rows: list[list[str]], width: int
) -> None:
    """Nothing is cut, and lines fit the width as long as columns have eight characters."""
    columns = list(map(list, zip(*rows, strict=True)))
    lines = table_text(columns, [False] * len(columns), width).split("\n")
    assert len(lines) >= len(rows)
    assert max(map(len, lines)) <= max(width, len(columns) * 10)
    assert sorted("".join("".join(lines).split())) == sorted(
        "".join(text for row in rows for text in row if text).replace(" ", "")
    )


def test_a_column_without_any_value_takes_no_room_from_the_others() -> None:
    """It is shown if there is space, and in the table."""
    frame = pd.DataFrame({"a": ["word " * 20], "empty": [""], "n": [1]})
    wide = Listing(frame)
    assert repr(wide).split()[:2] == ["a", "n"]
    assert [*wide] == ["a", "empty", "n"]
    assert "empty" in repr(Listing(frame.assign(a="word")))


def test_a_time_of_today_is_shown_without_its_date() -> None:
    """If all times of a column are of today; a date isn't broken at its hyphens."""
    now = pd.Timestamp.now().floor("s")
    texts = {
        days: repr(Listing({"at": [now, now - pd.Timedelta(days=days)]}))
        for days in (0, 400)
    }
    assert f"{now:%Y}" not in texts[0]
    assert f"{now:%H:%M:%S}" in texts[0]
    assert f"{now:%Y-%m-%d %H:%M:%S}" in texts[400]
    assert "2026-11-23" in table_text([["2026-11-23 10:00"]], [False], 12)
