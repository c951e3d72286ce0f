"""The code and the facts of a run in their tabs, without a front end."""

from __future__ import annotations

import html
import re

import numpy as np
import pandas as pd
import pytest

import jupyter_funcs as jf
from jupyter_funcs.panel.result.results import TABS, TextTab
from tests.tabs import made, outcome, show

FRAME = pd.DataFrame({"a": [1, 2], "<b>": ["x", None]})


def texts(tab: TextTab) -> list[str]:
    return [html.unescape(text) for text in re.findall("<pre[^>]*>(.*?)</pre>", tab.value, re.DOTALL)]


def test_the_run_is_code_in_three_languages() -> None:
    """A magic, a program and a command, each under its name with a button that copies it."""
    tab = made(TABS["Code"])
    show(tab, None)
    assert "Run the function" in tab.value
    show(tab, outcome(FRAME, Symbol="A"))
    magic, python, curl = texts(tab)
    assert magic == "df = %funcs call f Symbol=A"
    assert python.endswith("df = funcs.f(Symbol='A')")
    assert curl.startswith("curl -X POST https://service.example/")
    assert tab.value.count("<button") == 3
    assert "token" not in tab.value.replace("$FUNCS_TOKEN", "")


def test_no_value_is_markup_or_part_of_a_button() -> None:
    """What a value holds is text in its block; what a button does is the same whatever was run."""
    tab = made(TABS["Code"])
    show(tab, outcome(FRAME, a="plain"))
    buttons = re.findall("<button.*?>", tab.value)
    show(tab, outcome(FRAME, a="</pre><img src=x onerror=alert(1)>\"'"))
    assert re.findall("<button.*?>", tab.value) == buttons
    assert "<img" not in tab.value
    assert "onerror=alert" in texts(tab)[1]


def facts(tab: TextTab) -> dict[str, str]:
    found = re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td>', tab.value)
    return {name: html.unescape(text) for name, text in found}


def test_what_is_known_of_a_run_is_told() -> None:
    """The request, when, how long, how much, and each column's type."""
    tab = made(TABS["About"])
    show(tab, None)
    assert "Run the function" in tab.value
    frame = FRAME.copy()
    frame.attrs["funcs"] = {"attempts": 2, "bytes": 12_345, "shape": "records"}
    show(tab, outcome(frame, b"[]", Symbol="<A>", Brand=["x", "y"]))
    told = facts(tab)
    assert told | {"Function": "F", "· Symbol": "<A>", "· Brand": "x, y", "Started": "2026-01-02 03:04:05 UTC"} == told
    assert (
        told | {"Took": "1.25 s", "Attempts": "2", "Reply": "12.3 kB", "Shape": "records", "Variable": "result"} == told
    )
    assert told["Service"] == "service.example"
    assert told["Result"].startswith("2 rows × 2 columns, ")
    cells = re.findall("<td[^>]*>(.*?)</td>", tab.value.partition("jf-table")[2])
    assert cells[:3] == ["a", "int64", "2"]
    assert cells[4] == "&lt;b&gt;"
    assert cells[6] == "1"


def test_the_demo_says_that_its_data_are_synthetic() -> None:
    """About a run of the demo stands that its data are made up."""
    function = jf.connect()["Get Panels"]
    tab = made(TABS["About"])
    run = outcome(FRAME)
    show(tab, type(run)(function, {}, FRAME, None, run.started, 0.1, "", ""))
    assert facts(tab)["Service"] == "demo · synthetic data"
    assert "Variable" not in facts(tab)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(),
        pd.DataFrame(index=range(3)),
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame(np.zeros((2, 1000))),
        pd.DataFrame({"a": [[1], {"b": 2}, b"c"]}),
    ],
    ids=["nothing", "no columns", "one name", "wide", "nested"],
)
def test_any_frame_has_facts(frame: pd.DataFrame) -> None:
    """A frame of any kind is told of, in a page of a bounded size."""
    tab = made(TABS["About"])
    show(tab, outcome(frame))
    assert "Result" in facts(tab)
    assert len(tab.value) < 60_000


def test_what_is_very_long_is_cut() -> None:
    """Ten thousand brands and a text of a megabyte are named in a line each."""
    tab = made(TABS["About"])
    show(tab, outcome(FRAME, Brand=[f"brand {number}" for number in range(10_000)], Symbol="x" * 10**6))
    assert facts(tab)["· Brand"].endswith("…") or facts(tab)["· Brand"].endswith("and 9,980 more")
    assert len(tab.value) < 10_000
