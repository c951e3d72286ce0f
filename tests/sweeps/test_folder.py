"""Sweeps into a folder: Parquet for any tool, a dataset of this call's runs, and no run sent twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pandas.testing import assert_frame_equal

import jupyter_funcs as jf
from jupyter_funcs.sweeps.folder import _dataset
from tests.conftest import PANEL, wait_until
from tests.echoing import giving
from tests.faults.canary import CANARY, leaks

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_funcs.api import Session
    from tests.faults.server import Faulty


@pytest.fixture(scope="module")
def demo() -> Session:
    return jf.connect()


def panel_fq(session: Session, folder: Any, **options: Any) -> Any:
    return session["Get Panel FQ"].with_options(to=folder, progress=False, **options)


def symbols(session: Session, count: int) -> list[str]:
    return list(session["Get Universe"]()["Symbol"][:count])


@pytest.mark.slow
def test_a_folder_holds_what_the_table_does(demo: Session, tmp_path: Any) -> None:
    """The dataset of a folder has the rows of the table, in order; any tool can read the files."""
    wanted = (
        demo["Get Panel FQ"]
        .with_options(cache=False)
        .sweep(Symbol=symbols(demo, 6), PanelName=PANEL)
    )
    result = panel_fq(demo, tmp_path / "new" / "out").sweep(
        Symbol=symbols(demo, 6), PanelName=PANEL
    )
    assert isinstance(result, ds.Dataset)
    assert_frame_equal(result.to_table().to_pandas().astype(wanted.dtypes), wanted)
    assert result.count_rows() == len(wanted)
    files = sorted((tmp_path / "new" / "out").glob("*.parquet"))
    assert sum(pq.read_metadata(file).num_row_groups for file in files) == 6
    assert set(pd.read_parquet(files[0])["Symbol"]) <= set(symbols(demo, 6))


def test_a_dataset_says_what_it_is(demo: Session, tmp_path: Any) -> None:
    """The schema and `_sweep.json` name the sweep and its failed runs; the other runs are there."""
    with pytest.warns(
        UserWarning,
        match="1 of 3 runs of Get Panel FQ failed, all listed in /.*/_sweep.json",
    ):
        result = panel_fq(demo, tmp_path).sweep(
            Symbol=[*symbols(demo, 2), "NO SUCH"], PanelName=PANEL
        )
    told = {
        name: json.loads(result.schema.metadata[name]) for name in (b"funcs", b"errors")
    }
    assert told[b"funcs"]["function"] == "Get Panel FQ"
    assert (told[b"funcs"]["runs"], told[b"funcs"]["failed"]) == (3, 1)
    [error] = told[b"errors"]
    assert error["args"] == {"PanelName": PANEL, "Symbol": "NO SUCH"}
    noted = json.loads((tmp_path / "_sweep.json").read_text())
    assert (noted["swept"], noted["errors"]) == (["Symbol"], [error])


def test_the_same_folder_goes_on_from_what_is_there(
    session: Session, server: Faulty, tmp_path: Any
) -> None:
    """A call into the same folder sends only the missing runs, also from another session."""
    function = session["F"].with_options(to=tmp_path, progress=False)
    function.sweep(a=["1", "2"])
    sent = len(server.requests)
    result = (
        jf.connect()["F"]
        .with_options(to=tmp_path, progress=False)
        .sweep(a=["3", "2", "1", "4"])
    )
    assert [request[-30:].count(b'"a"') for request in server.requests[sent:]].count(
        1
    ) == 2
    assert result.to_table().to_pydict()["n"] == ["3", "2", "1", "4"]
    assert json.loads(result.schema.metadata[b"funcs"])["cached"]["runs"] == 2


def test_a_smaller_sweep_of_a_folder_gives_its_own_runs(
    session: Session, tmp_path: Any
) -> None:
    """A dataset has only the runs of its call, and counts only their rows."""
    function = session["F"].with_options(to=tmp_path, progress=False)
    function.sweep(a=["1", "2", "3"])
    result = function.sweep(a=["3", "1"])
    assert result.to_table().to_pydict()["n"] == ["3", "1"]
    assert result.count_rows() == 2


@pytest.mark.slow
def test_two_notebooks_sweep_into_one_folder(session: Session, tmp_path: Any) -> None:
    """Two simultaneous sweeps into one folder both have every run once, and leave no incomplete file."""
    values = [str(at) for at in range(40)]
    functions = [
        source["F"].with_options(to=tmp_path, progress=False)
        for source in (session, jf.connect())
    ]
    jobs = [function.start_sweep({"a": values}) for function in functions]
    for job in jobs:
        result: Any = job.result(60)
        assert result.to_table().to_pydict()["n"] == values
        assert result.count_rows() == 40
    assert {path.suffix for path in tmp_path.iterdir()} == {".parquet", ".json"}


@pytest.mark.parametrize(
    ("values", "wanted", "kind"),
    [
        ([1, 2.5, None], [1.0, 2.5, None], "double"),
        ([1, None, 2], [1, None, 2], "int64"),
        ([1, "x", 2.5], ["1", "x", "2.5"], "large_string"),
        ([True, "x", None], ["true", "x", None], "large_string"),
        ([2**53 + 1, 0.5, 1], ["9007199254740993", "0.5", "1"], "large_string"),
        (
            ["2020-01-01", None, "2020-01-02"],
            [pd.Timestamp("2020-01-01"), None, pd.Timestamp("2020-01-02")],
            "timestamp[us]",
        ),
        ([None, None, None], [None, None, None], "large_string"),
    ],
)
def test_the_schema_has_room_for_every_value(
    values: list[Any],
    wanted: list[Any],
    kind: str,
    session: Session,
    server: Faulty,
    tmp_path: Any,
) -> None:
    """Values of several types are widened in the dataset, to numbers if that is exact and to text otherwise."""

    server.otherwise = giving(lambda argument: [{"v": values[int(argument)], "one": 1}])
    result = (
        session["F"].with_options(to=tmp_path, progress=False).sweep(a=["0", "1", "2"])
    )
    assert result.to_table().to_pydict()["v"] == wanted
    assert str(result.schema.field("v").type) == kind


def test_times_of_several_zones_are_moments_in_one(tmp_path: Path) -> None:
    """Each file keeps its own zone."""
    paths = []
    for zone in ("UTC", "+02:00"):
        times = pa.array([0, None], pa.timestamp("us", zone))
        paths.append(tmp_path / f"{len(paths)}.parquet")
        pq.write_table(pa.table({"at": times}), paths[-1])
    result = _dataset([(path, 0) for path in paths], pa.schema([]))
    assert str(result.schema.field("at").type) == "timestamp[us, tz=UTC]"
    assert result.to_table()["at"].cast(pa.int64()).to_pylist() == [0, None] * 2


def test_an_argument_beside_a_column_of_its_name_is_called_alike_in_all_runs(
    session: Session, server: Faulty, tmp_path: Any
) -> None:
    """If one run returns another value under the argument's name, the argument has its own column in every run."""

    server.otherwise = giving(
        lambda argument: [{"a": "other" if argument == "2" else argument}]
    )
    function = session["F"].with_options(to=tmp_path, progress=False)
    assert function.sweep(a=["1", "3"]).to_table().to_pydict() == {"a": ["1", "3"]}
    result = function.sweep(a=["1", "2", "3"])
    assert result.to_table().to_pydict() == {
        "a (argument)": ["1", "2", "3"],
        "a": ["1", "other", "3"],
    }


def refused(function: Any, server: Faulty, *texts: str, **values: Any) -> None:
    """Assert that a sweep is refused with a message before any run is sent."""
    function.session.names  # noqa: B018  # listed before
    sent = len(server.requests)
    with pytest.raises(jf.ArgumentError) as caught:
        function.sweep(**(values or {"a": ["1", "2"]}))
    for text in texts:
        assert text in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 3
    assert len(server.requests) == sent


def test_a_folder_that_cannot_be_used_is_named(
    session: Session, server: Faulty, tmp_path: Any
) -> None:
    """A file, an unwritable folder, other files, another sweep's folder: the error comes before any run is sent."""
    function = session["F"].with_options(progress=False)
    file = tmp_path / "file"
    file.write_text("x")
    refused(function.with_options(to=file), server, str(file), "is a file")
    refused(
        function.with_options(to=file / "in"),
        server,
        "Cannot write to the folder",
        "Not a directory",
    )
    refused(
        function.with_options(to="/proc/none"),
        server,
        "Cannot write to the folder /proc/none",
    )
    refused(
        function.with_options(to=tmp_path),
        server,
        str(tmp_path),
        "has other content: 'file'",
    )
    of_g = tmp_path / "g"
    of_g.mkdir()
    (of_g / "_sweep.json").write_text('{"function": "G"}')
    refused(
        function.with_options(to=of_g),
        server,
        "belongs to another sweep: function 'G', not 'F'",
    )
    for broken in ("{", "[" * 100_000):
        (of_g / "_sweep.json").write_text(broken)
        refused(function.with_options(to=of_g), server, "_sweep.json is broken")
    if hasattr(os, "mkfifo"):
        (of_g / "_sweep.json").unlink()
        os.mkfifo(of_g / "_sweep.json")
        refused(function.with_options(to=of_g), server, "it is not a regular file")
    assert file.read_text() == "x"


def test_a_folder_takes_pyarrow(
    session: Session, server: Faulty, tmp_path: Any, monkeypatch: Any
) -> None:
    """Without pyarrow the error says what to install."""
    monkeypatch.setitem(sys.modules, "jupyter_funcs.sweeps.folder", None)
    refused(
        session["F"].with_options(to=tmp_path / "out"), server, "pip install pyarrow"
    )
    assert not (tmp_path / "out").exists()


def test_a_cancelled_sweep_leaves_whole_files_to_go_on_from(
    session: Session, server: Faulty, tmp_path: Any
) -> None:
    """Results that arrived before a cancel are in the folder, and aren't requested again."""
    function = session["F"].with_options(to=tmp_path, progress=False, concurrency=1)
    job = function.start_sweep({"a": ["1", "2", "held"]})
    wait_until(lambda: any(b"held" in request for request in server.requests))
    job.cancel()
    with pytest.raises(jf.RunCancelledError):
        job.result(60)
    sent = len(server.requests)
    assert function.sweep(a=["1", "2"]).to_table().to_pydict()["n"] == ["1", "2"]
    assert len(server.requests) == sent
    assert not list(tmp_path.glob("*.part"))


def test_no_token_is_in_a_folder(
    session: Session, server: Faulty, tmp_path: Any
) -> None:
    """A run whose result repeats the token is left out and listed as failed; no file has any part of it."""
    server.otherwise = giving(
        lambda argument: [{"n": CANARY if argument == "3" else argument}]
    )
    function = session["F"].with_options(to=tmp_path, progress=False)
    with pytest.warns(UserWarning, match="token"):
        result = function.sweep(a=["1", "3"])
    assert result.to_table().to_pydict()["n"] == ["1"]
    [error] = json.loads(result.schema.metadata[b"errors"])
    assert error["args"] == {"a": "3"}
    assert not any(
        leaks(path.read_bytes().decode("latin-1")) for path in tmp_path.iterdir()
    )


FULL = """
import resource, signal, sys
import jupyter_funcs as jf, pyarrow.parquet
function = jf.connect()["F"].with_options(to=sys.argv[1], progress=False, cache=False)
function.sweep(a=["1", "2"])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))
try:
    function.sweep(a=[str(at) for at in range(1, 400)])
except jf.FuncsError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_full_disk_is_said_and_leaves_what_was_there(
    session: Session, tmp_path: Any
) -> None:
    """On a full disk the sweep ends with an error; earlier files stay in the folder, and the sweep can be resumed."""
    words = [sys.executable, "-c", FULL, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"Cannot write to the folder {tmp_path}: File too large." in done.stdout
    assert (
        session["F"]
        .with_options(to=tmp_path, progress=False)
        .sweep(a=["1", "2", "3"])
        .count_rows()
        == 3
    )


@pytest.mark.slow
def test_many_sweeps_at_once_do_not_wait_for_each_other(
    session: Session, tmp_path: Any
) -> None:
    """Sweeps into more folders than there are threads all start: none occupies a thread that another needs."""
    jobs = [
        session["F"].with_options(to=tmp_path / str(at)).start_sweep({"a": ["1", "2"]})
        for at in range(40)
    ]
    for job in jobs:
        result: Any = job.result(60)
        assert result.count_rows() == 2
