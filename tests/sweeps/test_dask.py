"""Sweeps for Dask: the rows and dtypes of the table, in files that Dask reads with its own reader."""

from __future__ import annotations

import asyncio
import gc
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal, assert_series_equal

import jupyter_funcs as jf
from jupyter_funcs.sweeps import folder as results_in_folders
from jupyter_funcs.sweeps.combinations import Combos
from jupyter_funcs.sweeps.stacking import stacked
from tests.conftest import PANEL, wait_until
from tests.sweeps.test_executors import configured
from tests.sweeps.test_memory_results import SYMBOLS, symbol

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

dask = pytest.importorskip(
    "dask", reason="dask isn't installed: pip install -e '.[check]'"
)
# Dask's reader uses functions that pandas 3.1 has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword:DeprecationWarning")

BLOCKS = [
    pd.DataFrame({"a": [1, 2, 3], "b": pd.array(["x", None, "ä"], dtype="string")}),
    pd.DataFrame({"a": [0.5, None, 2.5], "c": [True, False, True]}),
    pd.DataFrame({"a": pd.array([2**53 + 1, None, 3], dtype="Int64")}),
    pd.DataFrame(
        {
            "b": pd.array(["1", "2"], dtype="string"),
            "a": pd.array(["u", "v"], dtype="string"),
        }
    ),
    pd.DataFrame({"b": pd.array([], dtype="string"), "a": pd.array([], dtype="int64")}),
    pd.DataFrame({"e": pd.Series([None], dtype=object)}),
    pd.DataFrame(
        {
            "d": pd.to_datetime(["2020-01-01", None]).astype("datetime64[us]"),
            "c": [True, False],
        }
    ),
    pd.DataFrame({"d": pd.to_datetime(["2020-01-01"]).astype("datetime64[ns]")}),
    pd.DataFrame({"e": pd.Series([[1, 2], 3, None], dtype=object)}),
    pd.DataFrame(index=pd.RangeIndex(2)),
]
# With a column of other values under the argument's name.
WITH_SYMBOLS = [
    pd.DataFrame({"S": pd.array([text], dtype="string"), "n": [1]})
    for text in ["other", *SYMBOLS]
]


class Client:
    """The part of Dask's client that results need."""

    futures: tuple[str, ...] = ()


CLIENT = Client()
Executor = type(
    "Executor", (), {"__module__": "distributed.cfexecutor", "_client": CLIENT}
)


def swept(frames: list[pd.DataFrame]) -> Any:
    """Return the parts that Dask gets for blocks that arrive in reverse order."""
    function: Any = SimpleNamespace(
        name="F",
        fields=list(symbol().values()),
        session=SimpleNamespace(service="demo"),
        options=SimpleNamespace(executor=Executor()),
    )
    runs = [{"S": SYMBOLS[at]} for at in range(len(frames))]
    results = results_in_folders.DaskResults(
        function, Combos(["S"], {}, runs, {}, pairs=False, warnings={})
    )
    asyncio.run(results.find(runs))
    try:
        for at in reversed(range(len(frames))):
            results.add(at, runs[at], frames[at])
        return results.finish({}, [])
    finally:
        results.close()


def as_text(column: pd.Series[Any]) -> list[Any]:
    return [
        None if pd.api.types.is_scalar(value) and pd.isna(value) else str(value)
        for value in column
    ]


@pytest.mark.slow
@given(
    st.lists(st.sampled_from(BLOCKS), max_size=5)
    | st.lists(st.sampled_from(WITH_SYMBOLS), max_size=5)
)
def test_dask_reads_the_table(frames: list[pd.DataFrame]) -> None:
    """Dask has the table's columns, rows and dtypes, a partition per run; columns of mixed values are text."""
    wanted = stacked(
        [({"S": SYMBOLS[at]}, frame) for at, frame in enumerate(frames)], symbol()
    )
    result = swept(frames)
    assert result.npartitions == max(1, len(frames))
    assert list(result.columns) == list(wanted)
    parts = [
        result.partitions[at].compute(scheduler="sync")
        for at in range(result.npartitions)
    ]
    assert [len(part) for part in parts] == [
        len(frame) for frame in frames
    ] or not frames
    for part in parts:
        assert_series_equal(part.dtypes, result.dtypes)
    table = pd.concat(parts, ignore_index=True)
    for name in wanted:
        if wanted[name].dtype == object:
            assert table[name].dtype == "string"
            assert as_text(table[name]) == as_text(wanted[name])
        else:
            assert_series_equal(table[name], wanted[name])


def test_files_last_as_long_as_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They last as long as the result, its derivatives and the cluster's work; a failure leaves none."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = swept(BLOCKS[:3])
    [folder] = tmp_path.iterdir()
    assert len(list(folder.iterdir())) == 3
    total = result["a"].count()
    del result
    gc.collect()
    assert total.compute(scheduler="sync") == 7
    monkeypatch.setattr(CLIENT, "futures", ("running",))
    del total
    gc.collect()
    assert folder.exists()
    results_in_folders._in_use.pop().cleanup()
    with pytest.raises(AttributeError):
        swept([None])  # type: ignore[list-item]  # as a result that fails to be added
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_another_executor_is_refused(answering: Callable[..., Any]) -> None:
    """Results can stay with Dask only if Dask runs them; the error comes before anything is sent."""
    import httpx

    listing = httpx.Response(200, json=[{"name": "F", "params": [{"name": "a"}]}])
    function = answering(lambda _: listing)["F"].with_options(to="dask")
    with ThreadPoolExecutor(1) as pool:
        for variant in (function, function.with_options(executor=pool)):
            with pytest.raises(
                jf.ArgumentError,
                match=r"needs Dask's executor\.\nUse .*client\.get_executor",
            ):
                variant.sweep(a=["1", "2"])


def test_a_temporary_folder_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    """If the folder in Dask's settings can't be created, the error says which setting to change."""
    with (
        dask.config.set(temporary_directory=str(tmp_path / "none")),
        pytest.raises(
            jf.ArgumentError, match=r"Cannot create .*none(.|\n)*temporary-directory"
        ),
    ):
        swept([])


@pytest.mark.slow
def test_a_cluster_reads_the_results(
    service_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Forty runs are forty partitions in order, with the dtypes of the table; failed runs are listed."""
    distributed = pytest.importorskip(
        "distributed", reason="distributed isn't installed: pip install -e '.[check]'"
    )
    session = configured(service_url, monkeypatch)
    values = {
        "Symbol": [*session["Get Universe"]()["Symbol"][:20], "NO SUCH"],
        "PoPGrowth": ["No", "Yes"],
    }
    function = session["Get Panel FQ"].with_options(progress=False)
    with pytest.warns(UserWarning, match="2 of 42 runs"):
        wanted = function.with_options(cache=False).sweep(PanelName=PANEL, **values)
    with (
        distributed.LocalCluster(
            n_workers=2, host="127.0.0.1", dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        there = function.with_options(executor=client.get_executor(), to="dask")
        with (
            dask.config.set(temporary_directory=str(tmp_path)),
            pytest.warns(UserWarning, match="2 of 42 runs"),
        ):
            result: Any = there.sweep(PanelName=PANEL, **values)
        assert result.npartitions == 40
        assert result.attrs["funcs"]["failed"] == len(result.attrs["errors"]) == 2
        assert_frame_equal(result.compute().reset_index(drop=True), wanted)
        with (
            dask.config.set(temporary_directory=str(tmp_path)),
            pytest.warns(UserWarning, match="1 of 1 runs"),
        ):
            nothing: Any = there.sweep(PanelName=PANEL, Symbol=["NO SUCH"])
        assert len(nothing.compute()) == 0
        wait_until(lambda: gc.collect() >= 0 and not client.futures)
        del result, nothing
        wait_until(lambda: gc.collect() >= 0 and not list(tmp_path.iterdir()))
