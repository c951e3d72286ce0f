"""The results of a sweep: in memory, on disk beyond a limit, in a folder, and on Dask's workers."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from jupyter_funcs.catalog.fields import Field, Kind
from jupyter_funcs.sweeps.memory_results import MemoryResults
from jupyter_funcs.sweeps.stacking import stacked

# Columns as replies have them, of each dtype with its own way of widening.
COLUMNS: list[Any] = [
    pd.Series([1, 2, 3]),
    pd.Series([1, None, 3], dtype="Int64"),
    pd.Series([0.5, None, 2.0]),
    pd.Series([2**53 + 1, 2, 3]),
    pd.Series(["a", None, "ä"], dtype="string"),
    pd.Series(["s0", "s1", "s2"], dtype="string"),
    pd.Series([True, False, True]),
    pd.Series([1, "x", {"k": [1, None]}], dtype=object),
    pd.Series([None, None, None], dtype=object),
    pd.Series(pd.to_datetime(["2020-01-01", None, "2021-01-01"])).astype(
        "datetime64[us]"
    ),
    pd.Series(pd.to_datetime(["2020-01-01"] * 3, utc=True)).astype(
        "datetime64[us, UTC]"
    ),
]
SYMBOLS = [f"s{at}" for at in range(5)]


@st.composite
def blocks(draw: st.DrawFn) -> list[pd.DataFrame]:
    """Blocks with the same or other columns, with or without rows, also with labels."""
    frames = []
    for at in range(draw(st.integers(0, 5))):
        names = draw(
            st.lists(
                st.sampled_from(["a", "b", "S", "S (argument)", "index"]),
                unique=True,
                max_size=4,
            )
        )
        rows = draw(st.integers(0, 3))
        columns = {name: draw(st.sampled_from(COLUMNS))[:rows] for name in names}
        if "S" in names and draw(st.booleans()):
            columns["S"] = pd.Series([SYMBOLS[at]] * rows, dtype="string")
        frame = pd.DataFrame(columns, index=pd.RangeIndex(rows))
        labels = [
            pd.Index(["x", "y", "z"][:rows]),
            pd.RangeIndex(5, 5 + rows),
            pd.RangeIndex(rows, name="k"),
        ]
        frames.append(
            frame.set_axis([*labels, *[frame.index] * 9][draw(st.integers(0, 11))])
        )
    return frames


def symbol() -> dict[str, Field]:
    return {
        "S": Field(
            name="S", identifier="S", kind=Kind.TEXT, label="S", help="", required=True
        )
    }


def gathered(frames: list[pd.DataFrame], most: float) -> pd.DataFrame:
    """Return the table of blocks that arrive in any order, with a limit of bytes in memory."""
    results = MemoryResults(symbol(), most)
    order = list(range(len(frames)))
    random.Random(len(frames)).shuffle(order)
    for at in order:
        results.add(at, {"S": SYMBOLS[at]}, frames[at])
    try:
        return results.finish({}, [])
    finally:
        results.close()


@given(blocks(), st.sampled_from([1, 100, 1e9]))
def test_what_was_spilled_is_what_was_held(
    frames: list[pd.DataFrame], most: float
) -> None:
    """The table is the same whether its blocks waited in memory or on disk, in any order of arrival."""
    wanted = stacked(
        [({"S": SYMBOLS[at]}, frame) for at, frame in enumerate(frames)], symbol()
    )
    assert_frame_equal(gathered(frames, most), wanted)


def test_what_is_beyond_the_bound_goes_to_disk_and_is_gone_afterwards(
    tmp_path: Any, monkeypatch: Any
) -> None:
    """Blocks beyond the limit are files with a row group per run; they are removed even if the sweep fails."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    frame = pd.DataFrame({"x": np.arange(1000)})
    results = MemoryResults(symbol(), 20_000)
    for at in range(5):
        results.add(at, {"S": SYMBOLS[at]}, frame)
    [file] = tmp_path.rglob("*.parquet")
    import pyarrow.parquet as pq

    assert pq.read_metadata(file).num_row_groups == 3
    results.close()
    assert not list(tmp_path.iterdir())


# Prints the most megabytes that results took, above the level before; `FULL` first fills the disk.
PROGRAM = """
import resource, signal, sys, warnings
import numpy as np, pandas as pd, pyarrow.parquet
from jupyter_funcs.catalog.fields import Field, Kind
from jupyter_funcs.sweeps.memory_results import MemoryResults

def peak():
    with open("/proc/self/status") as status:  # getrusage would count what was before exec
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))

def block(at):
    noise = np.random.default_rng(at).random((40, 25_000))
    return pd.DataFrame({f"c{number}": noise[number] for number in range(40)})

if "FULL" in sys.argv:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_000_000, 4_000_000))
results = MemoryResults({"S": Field("S", "S", Kind.TEXT, "S", "")}, float(sys.argv[1]))
block(0)
before = peak()
for at in range(30):
    results.add(at, {"S": str(at)}, block(at))
table = results.finish({}, [])
results.close()
print(peak() - before)
assert len(table) == 750_000 and list(table)[:2] == ["S", "c0"]
for at in range(30):
    assert (table["c9"][25_000 * at : 25_000 * (at + 1)].to_numpy() == block(at)["c9"].to_numpy()).all()
"""


def program(*words: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def peak(*words: str) -> float:
    return float(program(*words).stdout)


@pytest.mark.slow
def test_memory_is_bounded() -> None:
    """With a limit only the table itself takes memory, and not its blocks too."""
    table = 30 * 40 * 2e5 / 2**20
    assert peak("1e9") > 1.8 * table  # so that the next line is meaningful
    assert peak("3e7") < 1.5 * table


@pytest.mark.slow
def test_a_full_disk_loses_nothing() -> None:
    """If the disk can't take blocks beyond the limit, they stay in memory, and a warning says why."""
    done = program("3e7", "FULL")
    assert (
        done.stderr.count(
            "UserWarning: Results beyond max_memory stay in memory: File too large."
        )
        == 1
    )
