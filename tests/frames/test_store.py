"""Results on disk: they come back exactly, from few files, whatever else happens in the folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jupyter_funcs.core import files
from jupyter_funcs.frames import parquet, store
from jupyter_funcs.frames.frame import to_frame
from jupyter_funcs.frames.parquet import NotStorableError, to_arrow
from jupyter_funcs.frames.store import Segments

if TYPE_CHECKING:
    from pathlib import Path

POSIX = pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")


def assert_same(actual: pd.DataFrame, frame: pd.DataFrame) -> None:
    """Assert that two frames are equal, down to the types of their labels and objects."""
    # Without columns, the type of their names has no meaning.
    pd.testing.assert_frame_equal(
        actual, frame, check_column_type=len(frame.columns) > 0, check_freq=False
    )
    assert list(map(repr, actual.dtypes)) == list(map(repr, frame.dtypes))
    assert type(actual.index) is type(frame.index)
    assert actual.index.names == frame.index.names
    for name in frame.columns[frame.dtypes == "object"]:
        assert list(map(repr, actual[name])) == list(map(repr, frame[name])), name
    assert actual.attrs == frame.attrs


def stored(folder: Path, frames: dict[str, pd.DataFrame], **options: Any) -> Segments:
    segments = Segments(folder, **options)
    writer = segments.writer()
    for key, frame in frames.items():
        assert writer.add(key, frame)
    writer.close()
    return Segments(folder, **options)


def put(segments: Segments, key: str, frame: pd.DataFrame) -> None:
    """Write a file of one result."""
    writer = segments.writer()
    writer.add(key, frame)
    writer.close()


def table(number: int, rows: int = 3) -> pd.DataFrame:
    return to_frame(
        json.dumps(
            [
                {"Symbol": f"S{number}", "Value": number + row / 4, "Row": row}
                for row in range(rows)
            ]
        )
    )


REPLIES = {
    "no row": "[]",
    "null": "null",
    "a number": "7",
    "a text": '"x"',
    "rows without a column": "[{}, {}]",
    "nulls alone": '[{"a": null}, {"a": null}]',
    "nested": '[{"a": 1, "b": {"c": 2}, "d": [1, {"e": null}]}, {"a": 3}]',
    "some rows": '{"a": {"0": 1, "2": 3}, "b": {"1": 2}}',
    "labels of text": '{"columns": ["a", ""], "index": ["x", null], "data": [[1, 2], [3, 4]]}',
    "labels of times": '{"a": {"2024-01-01": 1}}',
    "labels of several kinds": '{"columns": ["a"], "index": ["x", 1], "data": [[1], [2]]}',
    "labels that are null": '{"columns": ["a"], "index": [null, null], "data": [[1], [2]]}',
    "integers beyond 64 bit": '[{"a": 99999999999999999999999999}, {"a": -1}]',
    "several kinds": '[{"a": 1, "b": true}, {"a": "1", "b": 0.5}, {"a": null, "b": [0]}]',
    "integers that no float is": '[{"a": 9007199254740993}, {"a": 0.5}]',
    "nulls beside": '[{"d": "2024-01-01", "t": "2024-01-01T00:00:00Z", "n": 1, "f": 1.5, "b": true, "s": "x"},'
    ' {"d": null, "t": null, "n": null, "f": null, "b": null, "s": null}]',
    "nanoseconds": '[{"a": "2024-01-01T00:00:00.123456789"}]',
    "years at the end": '[{"a": "0001-01-01"}, {"a": "9999-12-31"}]',
    "hidden characters": '[{"a": "\\u0000\\u202e🦊", "\\u0000": "\\n"}]',
    "declared": '{"schema": {"a": {"type": "bytes"}, "b": {"type": "datetime64[s]"}, "c": {"type": "datetime64[ms]"},'
    ' "d": {"type": "Int32"}, "e": {"type": "int32"}, "f": {"type": "boolean"}, "g": {"type": "string"}},'
    ' "data": [{"a": "ü", "b": -62135596800, "c": 5, "d": null, "e": 3, "f": true, "g": null}]}',
    "two keys": '{"schema": {"fields": [{"name": "k", "type": "string"}, {"name": "l", "type": "integer"},'
    ' {"name": "v", "type": "number"}], "primaryKey": ["k", "l"]},'
    ' "data": [{"k": "a", "l": 1, "v": 1.5}, {"k": "b", "l": 2, "v": null}]}',
    "a key": '{"schema": {"fields": [{"name": "k", "type": "datetime"}], "primaryKey": "k"},'
    ' "data": [{"k": "2024-01-01T00:00:00+02:00"}]}',
}


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_what_a_reply_gives_comes_back_exactly(reply: str, tmp_path: Path) -> None:
    """Every shape and dtype of `to_frame` comes back as it was, with its attrs."""
    frame = to_frame(reply)
    assert_same(stored(tmp_path, {"it": frame}).read(["it"])["it"], frame)


@pytest.mark.parametrize("kind", ["category", "decimal"])
def test_categories_and_decimals_come_back_exactly(kind: str, tmp_path: Path) -> None:
    frame = to_frame(
        '[{"a": "1.50"}, {"a": "-7"}, {"a": null}, {"a": "1.50"}]', schema={"a": kind}
    )
    assert_same(stored(tmp_path, {"it": frame}).read(["it"])["it"], frame)


CELLS = [
    st.integers(-(2**80), 2**80),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.text(),
    st.none(),
    st.dates().map(str),
    st.datetimes().map(lambda time: f"{time.isoformat()}Z"),
    st.lists(st.integers() | st.text()),
    st.integers() | st.text() | st.booleans(),
]
VALUES = st.dictionaries(st.text(), st.sampled_from(CELLS), max_size=4).flatmap(
    lambda kinds: st.lists(
        st.fixed_dictionaries({name: kind | st.none() for name, kind in kinds.items()}),
        max_size=6,
    )
)


@pytest.mark.slow
@settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(replies=st.lists(VALUES, min_size=1, max_size=4))
def test_any_frames_of_one_file_come_back_exactly(
    replies: list[Any], tmp_path_factory: Any
) -> None:
    """Whatever a service sends, alone or beside others with the same columns, comes back as `to_frame` read it."""
    folder = tmp_path_factory.mktemp("segments")
    frames = {
        f"{at}{turn}": to_frame(json.dumps(reply))
        for at, reply in enumerate(replies)
        for turn in "ab"
    }
    segments = stored(folder, frames)
    results = segments.read(list(frames))
    for key, frame in frames.items():
        assert_same(results[key], frame)
        assert_same(segments.read([key])[key], frame)


def test_frames_can_be_changed_and_hold_no_other(tmp_path: Path) -> None:
    """A frame that was read belongs to its reader: it can be changed, and nothing else changes."""
    segments = stored(tmp_path, {str(at): table(at) for at in range(3)})
    results = segments.read(["0", "1", "2"])
    results["1"].loc[0, ["Value", "Row"]] = [9.0, 9]
    results["1"].loc[1, "Symbol"] = "new"
    assert_same(results["0"], table(0))
    assert_same(results["2"], table(2))
    alone = segments.read(["1"])["1"]
    assert_same(alone, table(1))
    alone.loc[0, ["Value", "Row"]] = [9.0, 9]
    assert_same(segments.read(["1"])["1"], table(1))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [{1, 2}]}),
        pd.DataFrame({"a": pd.Categorical([1])}),
        pd.DataFrame({1: ["x"]}),
        pd.DataFrame({"a": [(1, 2)]}),
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame({"a": [b"x", "y"]}),
        pd.DataFrame({"__index_0__": [1]}, index=[7]),
        pd.DataFrame({"a": [1]}, index=pd.Index([7], name=("x", "y"))),
    ],
    ids=[
        "sets",
        "categories that are no texts",
        "a number as name",
        "tuples",
        "one name twice",
        "bytes and text",
        "our own",
        "a tuple",
    ],
)
def test_what_would_change_is_not_kept(frame: pd.DataFrame, tmp_path: Path) -> None:
    """A frame that would not come back exactly is refused, and no file is made for it."""
    with pytest.raises(NotStorableError):
        to_arrow(frame)
    writer = Segments(tmp_path).writer()
    assert not writer.add("it", frame)
    writer.close()
    assert list(tmp_path.iterdir()) == []


def test_single_columns_are_read(tmp_path: Path) -> None:
    """Only the named columns of a result are read, in its order; its index and length stay, whatever the names."""
    frames = {
        str(at): to_frame(json.dumps([{f"c{at}": at, "a": 1, "\0": 2, "a.b": 3}] * 2))
        for at in range(12)
    }
    frames["labels"] = to_frame(
        '{"columns": ["a", "b"], "index": ["x", null], "data": [[1, 2], [3, 4]]}'
    )
    segments = stored(tmp_path, frames)
    for wanted in ([], ["a"], ["a.b", "a"], ["\0", "c3"]):
        for key, frame in segments.read(list(frames), wanted).items():
            expected = frames[key][[name for name in frames[key] if name in wanted]]
            pd.testing.assert_frame_equal(frame, expected, check_column_type=False)
    assert len(segments.read(list(frames), ["none of them"])) == len(frames)


@pytest.mark.slow
def test_five_hundred_results_are_one_file(tmp_path: Path) -> None:
    """Results of the same columns share a file, with a row group each, and any tool reads the columns."""
    segments = stored(tmp_path, {str(at): table(at) for at in range(500)})
    [path] = segments.files
    assert pq.ParquetFile(path).num_row_groups == 500
    assert pq.read_table(path).column_names == ["Symbol", "Value", "Row"]
    gap = stored(tmp_path / "gap", {"it": to_frame('[{"a": 1.5}, {"a": null}]')})
    assert pq.read_table(gap.files[0])["a"].to_pylist() == [1.5, None]
    assert len(segments.find([str(at) for at in range(600)])) == 500
    results = segments.read([str(at) for at in range(0, 500, 7)])
    for key, frame in results.items():
        assert_same(frame, table(int(key)))


def test_results_of_many_layouts_have_columns_of_their_own(tmp_path: Path) -> None:
    """Sixty runs that return sixty kinds of table all come back; for other readers, each has its columns."""
    frames = {str(at): to_frame(json.dumps([{f"c{at}": at}])) for at in range(60)}
    segments = stored(tmp_path, frames)
    for key, frame in segments.read(list(frames)).items():
        assert_same(frame, frames[key])
    assert {name for path in segments.files for name in pq.read_schema(path).names} == {
        f"c{at}" for at in range(60)
    }
    assert segments.read(["59"]).keys() == {"59"}


def test_a_long_sweep_is_kept_in_files_of_bounded_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is closed after a number of results, bytes or seconds: a killed kernel loses only later results."""
    monkeypatch.setattr(store, "SEGMENT_RESULTS", 10)
    segments = Segments(tmp_path)
    writer = segments.writer()
    for at in range(25):
        writer.add(str(at), table(at))
    assert len(segments.files) == 2
    assert len(segments.all) == 20
    for options in ({"seconds": 0.0}, {"size": 1}):
        other = segments.writer(**options)
        other.add(f"{options}", table(0))
        assert f"{options}" in segments.all
    assert "24" not in segments.all
    writer.close()
    assert len(segments.all) == 27


def test_what_is_written_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    """A file is invisible until it is closed; a dropped one leaves nothing."""
    segments = Segments(tmp_path)
    writer = segments.writer()
    writer.add("it", table(1))
    assert segments.all == {}
    assert [path.suffix for path in tmp_path.iterdir()] == [".part"]
    writer.discard()
    assert list(tmp_path.iterdir()) == []
    writer.add("it", table(1))
    writer.close()
    assert segments.all.keys() == {"it"}


def test_the_newest_result_of_a_key_counts(tmp_path: Path) -> None:
    """A key that was written twice returns the last result."""
    segments = Segments(tmp_path)
    for number in (1, 2, 3):
        put(segments, "it", table(number))
        time.sleep(0.002)
    assert_same(segments.read(["it"])["it"], table(3))
    assert_same(Segments(tmp_path).read(["it"])["it"], table(3))


def test_many_small_files_become_one(tmp_path: Path) -> None:
    """Twenty single results end up in one file, with attrs and times; a key that was written twice keeps the newest."""
    segments = Segments(tmp_path, repair=True)
    for number in range(20):
        frame = table(number)
        frame.attrs["funcs"]["number"] = number
        put(segments, str(number % 15), frame)
    before = segments.all
    segments.tidy()
    assert len(segments.files) == 1
    assert segments.all == before
    for key, frame in Segments(tmp_path).read(list(before)).items():
        number = int(key) + (15 if int(key) < 5 else 0)
        assert frame.attrs["funcs"]["number"] == number
        assert frame["Symbol"].iloc[0] == f"S{number}"
    assert pq.ParquetFile(segments.files[0]).num_row_groups == 15
    # Without the footers of the merged files.
    assert segments.files[0].read_bytes().count(b"jupyter_funcs.attrs") == 1
    again = segments.files
    segments.tidy()
    assert segments.files == again


def test_the_bound_takes_what_was_written_first(tmp_path: Path) -> None:
    """Beyond the limit of bytes or results, the oldest files are removed first."""
    segments = Segments(tmp_path)
    for number in range(5):
        put(segments, str(number), table(number))
        time.sleep(0.002)
    segments.trim(segments.size, results=4)
    assert segments.all.keys() == {"1", "2", "3", "4"}
    segments.trim(segments.size - 1)
    assert segments.all.keys() == {"2", "3", "4"}
    segments.trim(0)
    assert segments.all == {}


def _cut(path: Path, at: int) -> None:
    path.write_bytes(path.read_bytes()[:at])


def _flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    at = data.index(b"\2\0\0\0S1") + 4  # within the data of a row
    data[at] ^= 1
    path.write_bytes(bytes(data))


BREAKS = {
    "empty": lambda path: path.write_bytes(b""),
    "cut short": lambda path: _cut(path, -20),
    "half": lambda path: _cut(path, path.stat().st_size // 2),
    "no Parquet": lambda path: path.write_bytes(
        b"PAR1 is what it begins with, and ends: PAR1"
    ),
    "another's": lambda path: pd.DataFrame({"a": [1]}).to_parquet(path),
    "a bit flipped": _flipped,
}


@pytest.mark.parametrize("is_known", [False, True], ids=["new", "known"])
@pytest.mark.parametrize("breaks", BREAKS.values(), ids=BREAKS)
def test_a_broken_file_is_passed_over(
    breaks: Any, is_known: bool, tmp_path: Path
) -> None:
    """A file that is cut, foreign or damaged returns no result, and never a wrong one; in the cache it is removed."""
    for repair in (False, True):
        folder = tmp_path / str(repair)
        segments = stored(folder, {"1": table(1)}, repair=repair)
        if is_known:
            assert segments.find(["1"])
        [path] = folder.iterdir()
        breaks(path)
        assert segments.read(["1"]) == {}
        assert Segments(folder).read(["1"]) == {}
        assert path.exists() != repair
        put(segments, "1", table(1))
        assert_same(segments.read(["1"])["1"], table(1))


def test_a_footer_that_was_changed_is_not_believed(tmp_path: Path) -> None:
    """Our metadata about the results has a checksum; Parquet has checksums only for pages."""
    [path] = stored(tmp_path, {"1": table(1)}).files
    data = path.read_bytes()
    path.write_bytes(data.replace(b", 3, 0, 1, null]", b", 2, 0, 1, null]"))
    assert path.read_bytes() != data
    assert pq.read_table(path).num_rows == 3
    assert Segments(tmp_path).read(["1"]) == {}


def test_a_file_of_another_version_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of a later version in another format aren't read."""
    with monkeypatch.context() as later:
        later.setattr(parquet, "_FORMAT", 2)
        assert stored(tmp_path, {"1": table(1)}).read(["1"])
    assert Segments(tmp_path).read(["1"]) == {}


def test_files_that_are_not_ours_stay(tmp_path: Path) -> None:
    """A folder may contain the user's own files: they are neither read nor removed, whatever they are."""
    names = ["data.parquet", "results.csv", "results-.txt", "notes.part"]
    for name in names:
        (tmp_path / name).write_text("mine")
    (tmp_path / "results-folder.parquet").mkdir()
    segments = stored(tmp_path, {"1": table(1)}, repair=True)
    assert segments.read(["1", "2"]).keys() == {"1"}
    segments.tidy()
    segments.trim(0)
    segments.clear()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [*names, "results-folder.parquet"]
    )
    assert segments.all == {}


@POSIX
def test_a_file_that_cannot_be_opened_is_not_taken_for_a_broken_one(
    tmp_path: Path,
) -> None:
    """An error of the disk, or of permissions, says nothing about the file: it is skipped and stays."""
    loop = tmp_path / "results-loop.parquet"
    loop.symlink_to(loop)
    segments = stored(tmp_path, {"1": table(1)}, repair=True)
    assert segments.read(["1"]).keys() == {"1"}
    assert loop.is_symlink()


@pytest.mark.fault(132)
@pytest.mark.skipif(
    not hasattr(os, "mkfifo"), reason="this system has no pipes with a name"
)
def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    """Reading it would never end; it stays, whoever made it."""
    os.mkfifo(tmp_path / "results-aa.parquet")
    assert Segments(tmp_path, repair=True).find(["a"]) == {}
    assert (tmp_path / "results-aa.parquet").is_fifo()


HALF_WRITTEN = """
import sys
from pathlib import Path
import pandas as pd
from jupyter_funcs.frames.store import Segments

writer = Segments(Path(sys.argv[1])).writer()
writer.add("it", pd.DataFrame({"a": [1, 2]}))
print("written", flush=True)
sys.stdin.readline()
writer.close()
"""


@pytest.mark.slow
@pytest.mark.fault(154)
@pytest.mark.parametrize("options", [{"repair": True}, {}])
@pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX does")
def test_what_a_killed_process_has_left_is_removed_at_the_next_start(
    tmp_path: Path, options: dict[str, bool]
) -> None:
    """At once, however new it is; the file of a living process stays, however old, and becomes complete."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", HALF_WRITTEN, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == b"written\n"
    unfinished = set(tmp_path.glob("*.part"))
    assert len(unfinished) == 2
    processes[0].kill()
    processes[0].communicate()
    for path in unfinished:
        os.utime(path, (1, 1))
    segments = Segments(tmp_path, **options)
    assert len(set(tmp_path.glob("*.part"))) == 1
    segments.clear()
    processes[1].communicate(b"\n")
    assert processes[1].returncode == 0
    assert segments.all.keys() == {"it"}
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.fault(154)
def test_where_no_file_can_be_locked_its_age_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unfinished file is removed after an hour; one that may still be written stays."""
    monkeypatch.setattr(files, "lock", lambda *_, **__: None)
    for name, ago in {"results-old.part": 7200, "results-new.part": 60}.items():
        (tmp_path / name).write_bytes(b"PAR1")
        os.utime(tmp_path / name, (time.time() - ago, time.time() - ago))
    Segments(tmp_path, repair=True)
    assert [path.name for path in tmp_path.iterdir()] == ["results-new.part"]


@pytest.mark.fault(154)
def test_files_that_others_download_into_the_folder_stay(tmp_path: Path) -> None:
    """Only files with our names are removed, and no folder, pipe or link's target."""
    (tmp_path / "film.mkv.part").write_bytes(b"1")
    (tmp_path / "results-folder.part").mkdir()
    (tmp_path / "target").write_bytes(b"1")
    (tmp_path / "results-link.part").symlink_to(tmp_path / "target")
    Segments(tmp_path, repair=True)
    assert {"film.mkv.part", "results-folder.part", "target"} <= {
        path.name for path in tmp_path.iterdir()
    }


def test_a_text_that_no_file_may_hold_is_in_none(tmp_path: Path) -> None:
    """A result with a token in a cell, a name, a nested value, bytes or the attrs is not written."""
    token = "a-token-that-nobody-may-read"
    frames = [
        to_frame(json.dumps([{"a": f"it is {token}."}])),
        to_frame(json.dumps([{token: 1}])),
        to_frame(json.dumps([{"a": [{"b": token}]}])),
        to_frame(
            json.dumps({"schema": {"a": {"type": "bytes"}}, "data": [{"a": token}]})
        ),
        to_frame(json.dumps({"a": {token: 1}})),
        table(1),
    ]
    frames[-1].attrs["funcs"]["args"] = {"a": token}
    segments = Segments(tmp_path)
    writer = segments.writer(forbidden=lambda: [token])
    for at, frame in enumerate(frames):
        assert not writer.add(str(at), frame), at
    assert writer.add("without", table(1))
    writer.close()
    assert all(token.encode() not in path.read_bytes() for path in tmp_path.iterdir())
    assert segments.all.keys() == {"without"}


WRITES = """
import json, os, sys
from pathlib import Path
from jupyter_funcs.frames.frame import to_frame
from jupyter_funcs.frames.store import Segments

folder, name = Path(sys.argv[1]), sys.argv[2]
segments = Segments(folder, repair=True)
print("ready", flush=True)
sys.stdin.readline()
threads = len(os.listdir("/proc/self/task")) if sys.platform == "linux" else 0
for turn in range(15):
    writer = segments.writer()
    for at in range(4):
        writer.add(f"{turn} {at}", to_frame(json.dumps([{"of": name, "turn": turn, "at": at}])))
    writer.close()
    segments.tidy()
    found = segments.read([f"{turn} {at}" for at in range(4)])
    assert all(frame["turn"][0] == turn for frame in found.values())
# One of Arrow's threads would abort the process at its end, now and then.
assert not threads or len(os.listdir("/proc/self/task")) == threads
print("done")
"""


@pytest.mark.slow
def test_two_processes_write_into_one_folder(tmp_path: Path) -> None:
    """Two processes write the same keys, read and tidy at once: every result is there, and no file is broken."""
    pipes: Any = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "text": True,
        "bufsize": 1,
    }
    program = [sys.executable, "-c", WRITES, str(tmp_path)]
    started: list[Any] = [
        subprocess.Popen([*program, name], **pipes) for name in ("one", "other")
    ]
    for process in started:
        assert process.stdout.readline() == "ready\n"
    for process in started:
        process.stdin.write("go\n")
    for process in started:
        assert process.communicate(timeout=60)[0] == "done\n"
        assert process.returncode == 0
    segments = Segments(tmp_path)
    results = segments.read([f"{turn} {at}" for turn in range(15) for at in range(4)])
    assert len(results) == 60
    for key, frame in results.items():
        assert frame[["turn", "at"]].to_numpy().tolist() == [[*map(int, key.split())]]
    assert len(segments.files) == len(list(tmp_path.iterdir()))


FILLS = """
import json, resource, sys
from pathlib import Path
from jupyter_funcs.frames.frame import to_frame
from jupyter_funcs.frames.store import Segments

folder = Path(sys.argv[1])
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
frame = to_frame(json.dumps([{"a": at, "b": "x" * 20} for at in range(40)]))
fates = set()
for size in range(0, 9000, 300):
    segments = Segments(folder, repair=True)
    writer = segments.writer()
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        for at in range(3):
            writer.add(f"{size} {at}", frame)
        writer.close()
        fate = "new"
    except OSError as error:
        assert error.errno, error
        fate = "old"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    fates.add(fate)
    there = Segments(folder).find([f"{size} {at}" for at in range(3)])
    assert len(there) == (3 if fate == "new" else 0), (size, there)
    assert not list(folder.glob("*.part")), size
    writer.add(f"{size} after", frame)
    writer.close()
    assert Segments(folder).read([f"{size} after"])[f"{size} after"].equals(frame)
assert fates == {"old", "new"}, fates
print("intact")
"""


@pytest.mark.slow
@POSIX
def test_a_full_disk_at_any_byte_leaves_the_others_intact(tmp_path: Path) -> None:
    """FAULTS.md 117: if the disk fills up at any byte of a file, no part of it is left, and earlier files stay."""
    done = subprocess.run(
        [sys.executable, "-c", FILLS, str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.stdout, done.stderr) == ("intact\n", ""), done.stderr
