"""Sweeps on Dask whose results stay there: the rows and dtypes of the table here, and little of them comes here."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from hypothesis import given
from pandas.testing import assert_frame_equal

import jupyter_funcs as jf
from jupyter_funcs import on_dask
from jupyter_funcs.stacking import stacked
from jupyter_funcs.workers import Taken
from tests.conftest import PANEL
from tests.test_executors import configured
from tests.test_gathering import SYMBOLS, blocks, symbol
from tests.test_widgets import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable


@given(blocks())
def test_parts_are_the_pieces_of_the_table(frames: list[pd.DataFrame]) -> None:
    """A few rows of each block tell the dtypes of all, and the blocks brought to those are the table by pieces."""
    sent = [{"S": SYMBOLS[at]} for at in range(len(frames))]
    wanted = stacked(list(zip(sent, frames, strict=True)), ["S"], symbol())
    few = [on_dask._telling(frame) for frame in frames]
    table = stacked(list(zip(sent, few, strict=True)), ["S"], symbol()).iloc[:0]
    assert_frame_equal(table, wanted.iloc[:0])
    names = list(dict.fromkeys(name for frame in few for name in frame))
    parts = [
        on_dask._part(Taken(frame, None, []), args, ["S"], symbol(), names, table)
        for args, frame in zip(sent, frames, strict=True)
    ]
    start = 0
    for part in parts:
        piece = wanted.iloc[start : start + len(part)].reset_index(drop=True)
        assert_frame_equal(part, piece)
        start += len(part)
    assert start == len(wanted)


def test_few_rows_of_a_long_result_come_here() -> None:
    """However long a result is, at most five rows a column tell of it."""
    frame = pd.DataFrame({"n": range(100_000), "s": pd.Series(["a", "b"] * 50_000, dtype="string")})
    assert len(on_dask._telling(frame)) <= 10


def test_another_executor_is_refused(answering: Callable[..., Any]) -> None:
    """Results stay with Dask only where Dask runs them; said before anything is sent."""
    import httpx

    listing = httpx.Response(200, json=[{"name": "F", "params": [{"name": "a"}]}])
    function = answering(lambda _: listing)["F"].with_options(to="dask")
    with ThreadPoolExecutor(1) as pool:
        for each in (function, function.with_options(executor=pool)):
            with pytest.raises(jf.ArgumentError, match=r"takes its executor\.\nWrite .*client\.get_executor"):
                each.sweep(a=["1", "2"])


@pytest.mark.slow
def test_results_stay_on_the_workers(service_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty runs are forty partitions in their order, with the dtypes of the table; a failed run is told of."""
    distributed = pytest.importorskip("distributed")
    session = configured(service_url, monkeypatch)
    values = {"Symbol": [*session["Get Universe"]()["Symbol"][:20], "NO SUCH"], "PoPGrowth": ["No", "Yes"]}
    function = session["Get Panel FQ"].with_options(progress=False)
    with pytest.warns(UserWarning, match="2 of 42 runs"):
        wanted = function.with_options(cache=False).sweep(PanelName=PANEL, **values)
    with (
        distributed.LocalCluster(n_workers=2, host="127.0.0.1", scheduler_kwargs={"dashboard": False}) as cluster,
        distributed.Client(cluster) as client,
    ):
        there = function.with_options(executor=client.get_executor(), to="dask")
        with pytest.warns(UserWarning, match="2 of 42 runs"):
            result: Any = there.sweep(PanelName=PANEL, **values)
        assert result.npartitions == 40
        assert result.attrs["funcs"]["failed"] == len(result.attrs["errors"]) == 2
        assert_frame_equal(result.compute().reset_index(drop=True), wanted)
        with pytest.warns(UserWarning, match="1 of 1 runs"):
            nothing: Any = there.sweep(PanelName=PANEL, Symbol=["NO SUCH"])
        assert len(nothing.compute()) == 0
        del result, nothing
        gc.collect()
        wait_until(lambda: not client.futures)
