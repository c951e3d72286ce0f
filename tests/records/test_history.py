"""The runs of a kernel: noted, shown, run again and compared; and kept for later kernels if that is switched on."""

from __future__ import annotations

import asyncio
import datetime as dt
import gc
import json
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pandas as pd
import pytest

import jupyter_funcs as jf
from jupyter_funcs.core import background
from jupyter_funcs.core.background import Progress
from jupyter_funcs.records import history, history_file
from jupyter_funcs.records.run import Run
from tests.conftest import PANEL, SYMBOL, wait_until
from tests.echoing import giving
from tests.faults.server import faulty
from tests.shells import interactive_shell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_funcs.api import Session


@pytest.fixture
def demo() -> Session:
    return jf.connect()


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    with interactive_shell() as shell:
        shell.run_line_magic("load_ext", "jupyter_funcs")
        yield shell


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of saved runs in this test."""
    path = tmp_path / "data" / "history.sqlite"
    monkeypatch.setenv("FUNCS_HISTORY", str(path))
    return path


def later(session: Session) -> Session:
    """Return a session as in a later kernel, after the earlier one has written everything."""
    written(session.history.path)
    history._logs.clear()
    return jf.connect()


def written(path: Path) -> None:
    """Wait until the loop has noted all ended runs, and they are written."""
    background.run(asyncio.sleep(0))
    history_file.at(path).wait()


def rows(path: Path) -> list[dict[str, Any]]:
    written(path)
    with closing(sqlite3.connect(path)) as connection:
        return [
            json.loads(run)
            for (run,) in connection.execute(
                "SELECT run FROM runs ORDER BY kernel, number"
            )
        ]


def test_each_run_is_noted_with_its_end(demo: Session) -> None:
    """A call, a failed call and a job are in the history, with their arguments and how they ended."""
    frame = demo.get_panels()
    with pytest.raises(jf.FuncsError):
        demo.get_panel_daily(PanelName="No Such", Symbol=SYMBOL)
    job = demo.get_panel_daily.submit(PanelName=PANEL, Symbol=SYMBOL)
    job.result()
    first, second, third = demo.history.runs
    assert [run.number for run in demo.history] == [1, 2, 3]
    assert (first.function, first.args, first.status, first.rows, first.error) == (
        "Get Panels",
        {},
        "done",
        2,
        "",
    )
    assert first.frame is frame
    assert (second.status, second.rows, second.frame) == ("failed", None, None)
    assert "'No Such' is not known" in second.error
    assert third.args == {"PanelName": PANEL, "Symbol": SYMBOL}
    assert (third.rows, third.elapsed) == (1826, job.elapsed)
    assert all(
        run.service == "demo" and not run.is_sweep and run.runs == 1
        for run in demo.history
    )


def test_an_end_is_known_before_anybody_is_told(demo: Session) -> None:
    """After waiting for a run, the history says that it ended, even if the loop has not got there yet."""
    job = demo.get_panels.submit()
    frame = job.result()
    for attribute, value in {
        "status": "done",
        "rows": 2,
        "error": "",
        "elapsed": job.elapsed,
        "frame": frame,
    }.items():
        run = Run(1, "Get Panels", {}, dt.datetime.now(dt.UTC))
        run.begin(job)
        assert getattr(run, attribute) is value or getattr(run, attribute) == value, (
            attribute
        )


def test_what_a_form_asks_is_no_run(demo: Session) -> None:
    """Listing functions that fill a form's fields are not in the history."""
    panel = demo.panel("Get Panel Daily", PanelName=PANEL)
    field = demo.get_panel_daily.fields[1]
    assert background.run(demo.get_panel_daily.choices(field, {"PanelName": PANEL}))[0]
    assert demo.history.runs == []
    panel.close()


def test_a_run_that_goes_on_says_so(answering: Callable[..., Session]) -> None:
    """A run is running until it ends; a cancelled one is cancelled."""
    begun = threading.Event()
    go = threading.Event()

    def answer(_: httpx.Request) -> httpx.Response:
        begun.set()
        go.wait(60)
        return httpx.Response(200, json={"error": None, "body": "[]"})

    funcs = answering(answer, listing=[{"name": "F"}])
    job = funcs["F"].submit()
    run = funcs.history.get(1)
    assert (run.status, run.rows, run.frame, run.variable) == (
        "running",
        None,
        None,
        "",
    )
    assert 0 <= run.elapsed <= job.elapsed
    job.cancel()
    assert run.status == "cancelled"
    ended = run.elapsed
    assert run.elapsed == ended
    go.set()


def test_a_result_that_the_notebook_changed_is_had_as_it_came(demo: Session) -> None:
    """The history returns the notebook's own object until a column is added, replaced or written into."""
    frame = demo.get_panel_daily(PanelName=PANEL, Symbol=SYMBOL)
    came = frame.copy()
    run = demo.history.get(1)
    assert run.frame is frame
    frame["Spend"] = 0.0
    frame["Extra"] = 1
    for _ in range(2):
        copy = run.frame
        assert copy is not None
        pd.testing.assert_frame_equal(copy, came)
        copy["Spend"] = 1.0
    assert (run.rows, run.in_memory is frame) == (len(came), True)


@pytest.mark.skipif(
    pd.__version__ < "3",
    reason="before pandas 3 a value is written into memory that copies share",
)
def test_a_value_written_into_a_result_does_not_change_the_history(
    demo: Session,
) -> None:
    """Copy-on-write separates the result from the history's."""
    frame = demo.get_panels()
    came = frame.copy()
    frame.iloc[0, 0] = "another"
    assert demo.history.get(1).frame is not None
    pd.testing.assert_frame_equal(demo.history.get(1).frame, came)


@pytest.mark.slow
def test_the_history_holds_no_result_and_no_session(
    answering: Callable[..., Session],
) -> None:
    """The history keeps neither frames nor sessions alive."""
    listing = [{"name": "F"}]
    run = {"error": None, "body": json.dumps([{"a": 1}])}

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=listing if "List" in request.url.path else run)

    funcs = answering(answer)
    job = funcs["F"].submit()
    result = weakref.ref(job.result())
    noted = funcs.history.get(1)
    session = weakref.ref(funcs)
    assert noted.frame is result() is not None
    job.result()["a"] = 2
    reply = weakref.ref(noted._reply)
    del job, funcs
    forgotten(noted)
    assert result() is reply() is noted.frame is None
    wait_until(lambda: gc.collect() >= 0 and session() is None)
    assert noted.rows == 1


def test_sessions_with_one_service_share_a_history(
    demo: Session, answering: Callable[..., Session]
) -> None:
    """A notebook's own session and the session of the magic share the runs; another service has its own."""
    demo.get_panels()
    assert jf.connect().history.get(1).function == "Get Panels"
    other = answering(lambda _: httpx.Response(200, json=[]))
    assert len(other.history) == 0
    assert repr(other.history) == "Nothing has been run yet."


def test_the_variable_of_a_run_is_the_one_that_holds_it_now(
    shell: InteractiveShell,
) -> None:
    """A run's variable is the one that holds its frame now, whoever assigned it; else it is empty."""
    shell.run_cell("df = %funcs call get_panels")
    shell.run_cell("df")  # which IPython calls _ and _2 as well
    run = jf.connect().history.get(1)
    assert run.variable == "df"
    shell.run_cell("panels = df; df = 1")
    assert run.variable == "panels"
    shell.run_cell("panels = None")
    assert run.variable == ""
    shell.run_cell("%reset -f")


@pytest.mark.slow
def test_the_table_says_it_all(demo: Session, shell: InteractiveShell) -> None:
    """%funcs history returns typed columns, one row per run, with short arguments; missing numbers are blank."""
    shell.user_ns["held"] = demo.get_panel_daily(
        PanelName=PANEL, Symbol=SYMBOL, Dimensions=["Region", "Age Group"]
    )
    with pytest.raises(jf.FuncsError):
        demo.get_panel_daily(PanelName="x" * 300, Brand=[f"B{n}" for n in range(5)])
    shell.run_cell("%funcs history -o runs")
    table = shell.user_ns["runs"]
    assert list(table.columns) == [
        "number",
        "time",
        "function",
        "arguments",
        "rows",
        "elapsed",
        "status",
        "variable",
        "error",
    ]
    assert table["number"].tolist() == [1, 2]
    assert (
        table["arguments"][0]
        == f"PanelName={PANEL}, Symbol={SYMBOL}, Dimensions=[Region, Age Group]"
    )
    assert table["arguments"][1].endswith("…, Brand=[5 values]")
    assert len(table["arguments"][1]) <= 120
    assert table["variable"].tolist() == ["held", ""]
    assert table["rows"].isna().tolist() == [False, True]
    assert pd.api.types.is_datetime64_dtype(table["time"])
    assert "<NA>" not in repr(table) + table._repr_html_()
    assert demo.history._repr_html_() == table._repr_html_()
    del shell.user_ns["held"], shell.user_ns["runs"]


def test_of_very_many_runs_the_latest_are_shown(demo: Session) -> None:
    """The table has every run; its display is cut and says so."""
    run = demo.get_panels
    for _ in range(3):
        run()
    demo.history._log.runs *= 100
    table = demo.history.table()
    assert len(table) == 300
    assert "latest 200 of 300" in repr(table)
    assert "latest 200 of 300" in table._repr_html_()
    assert table._repr_html_().count("<tr") == 201
    assert len(table.head(250)) == 250


def test_hostile_arguments_are_inert_in_the_table(
    answering: Callable[..., Session],
) -> None:
    """Arguments are shown as text: no tags, no terminal escapes."""
    funcs = answering(
        lambda request: httpx.Response(
            200,
            json=[{"name": "F", "params": [{"name": "a"}]}]
            if "List" in request.url.path
            else {"body": "[]"},
        )
    )
    funcs["F"](a="<script>\x1b[31m\u202e")
    assert "<script" not in funcs.history.table()._repr_html_()
    assert "\x1b" not in repr(funcs.history) + repr(funcs.history.get(1))


def test_again_runs_it_with_the_same_arguments(demo: Session) -> None:
    """again(N) returns the same result as a new run; both compare as equal."""
    before = demo.get_panel_daily(PanelName=PANEL, Symbol=SYMBOL, Dimensions=["Region"])
    after = demo.history.again(1)
    assert after is not before
    assert (
        demo.history.get("2").args
        == demo.history.get(1).args
        == before.attrs["funcs"]["args"]
    )
    assert jf.diff(before, after).empty
    changed = after.copy()
    column = next(
        name for name in changed.columns if pd.api.types.is_numeric_dtype(changed[name])
    )
    changed.loc[3, column] += 1
    assert jf.diff(demo.history.get(1).frame, changed.drop(index=5))[
        "Change"
    ].tolist() == [
        "changed",
        "removed",
    ]


def test_again_takes_the_options_of_the_run(demo: Session) -> None:
    """A run with options is run again with them."""
    demo.get_panels.with_options(max_bytes=10**6, schema=None, timeout=7)()
    function = demo.history.function(demo.history.get(1))
    assert (function.options.max_bytes, function.options.timeout) == (10**6, 7)


@pytest.mark.slow
def test_a_sweep_is_one_run_and_is_run_again_whole(demo: Session) -> None:
    """A sweep is one entry with its lists; again sweeps, and compares by the swept argument."""
    swept = demo.get_panel_daily.with_options(progress=False)
    before = swept.sweep(PanelName=PANEL, Symbol=["BKQU", "NVRA"])
    [run] = demo.history.runs
    assert (run.is_sweep, run.runs, run.rows) == (True, 2, len(before))
    assert run.args["PanelName"] == PANEL
    assert len(run.args["Symbol"]) == 2
    assert demo.history.table()["arguments"][0].startswith("2 runs: ")
    after = demo.history.again(1)
    # Uses the cache as the sweep does.
    assert after.attrs["funcs"]["cached"]["runs"] == 2
    assert len(demo.history) == 2
    assert jf.diff(before, after).empty
    swept.with_options(cache=False).sweep(PanelName=PANEL, Symbol=["BKQU", "NVRA"])
    assert demo.history.again(3).attrs["funcs"]["cached"]["runs"] == 0
    fewer = swept.sweep(PanelName=PANEL, Symbol=["BKQU"])
    gone = jf.diff(before, fewer)
    assert set(gone["Change"]) == {"removed"}
    assert len(set(gone["Symbol"])) == 1


def test_a_sweep_of_pairs_is_run_again_in_pairs(demo: Session) -> None:
    """A sweep in pairs is repeated in pairs, also one from a table of arguments."""
    table = pd.DataFrame(
        {"Symbol": ["BKQU", "NVRA"], "PoPLookback": [1, None], "PanelName": PANEL}
    )
    before = demo.get_panel_daily.with_options(progress=False).sweep(table)
    after = demo.history.again(1)
    assert after.attrs["funcs"]["runs"] == before.attrs["funcs"]["runs"] == 2
    pd.testing.assert_frame_equal(before, after)


def test_a_sweep_with_failed_runs_says_how_many() -> None:
    """The history counts the failed runs of a sweep; again retries them and reads the others from the cache."""
    answers = iter([True])

    def rows(argument: str) -> object:
        failing = argument == "2" and next(answers, False)
        return ValueError("no such thing") if failing else [{"n": argument}]

    with faulty(otherwise=giving(rows)) as server:
        funcs = jf.connect(server.url, token="a-token-of-the-tests")
        with pytest.warns(UserWarning, match="1 of 3"):
            funcs["F"].with_options(progress=False).sweep(a=["1", "2", "3"])
        assert (funcs.history.get(1).status, funcs.history.get(1).error) == (
            "done",
            "1 of 3 runs failed.",
        )
        again = funcs.history.again(1)
        assert again["n"].tolist() == ["1", "2", "3"]
        assert again.attrs["funcs"]["cached"]["runs"] == 2
        funcs.close()


@pytest.mark.parametrize(
    ("line", "error", "message"),
    [
        ("%funcs again", jf.ArgumentError, "takes the number of a run"),
        ("%funcs again 1 2", jf.ArgumentError, "not '1 2'"),
        ("%funcs again x", jf.NotFoundError, "no run 'x'"),
        ("%funcs again -1", jf.NotFoundError, "no run '-1'"),
        ("%funcs again 0", jf.NotFoundError, "no run '0'"),
        ("%funcs again 3/1", jf.NotFoundError, "No runs are saved"),
        ("%funcs history of", jf.ArgumentError, "Did you mean 'off'"),
        ("%funcs history 1", jf.ArgumentError, "%funcs again N"),
        ("%funcs history on --all", jf.ArgumentError, "takes on, off or clear"),
        ("%funcs history on off", jf.ArgumentError, "takes on, off or clear"),
        ("%funcs call get_panels --check", jf.ArgumentError, "has no option --check"),
    ],
)
def test_a_wrong_line_says_what_to_write(
    shell: InteractiveShell, line: str, error: type[Exception], message: str
) -> None:
    """Each wrong use is an error with a message."""
    result = shell.run_cell(line)
    with pytest.raises(error, match=message):
        result.raise_error()


def changing(
    *listings: list[dict[str, Any]],
) -> Callable[[httpx.Request], httpx.Response]:
    """Return a service whose listing changes each time."""
    left = list(listings)

    def answer(request: httpx.Request) -> httpx.Response:
        if "List" in request.url.path:
            return httpx.Response(200, json=left.pop(0) if len(left) > 1 else left[0])
        return httpx.Response(200, json={"error": None, "body": json.dumps([{"n": 1}])})

    return answer


def test_again_says_that_a_function_is_gone(answering: Callable[..., Session]) -> None:
    """A function that is no longer listed is not run."""
    funcs = answering(changing([{"name": "F"}], [{"name": "G"}]))
    funcs["F"]()
    funcs.refresh()
    with pytest.raises(jf.NotFoundError, match="F is no longer in your catalog"):
        funcs.history.again(1)


def test_again_says_that_a_function_has_changed(
    answering: Callable[..., Session],
) -> None:
    """If it now takes other arguments, the error names them; if the old ones are still valid, there is a warning."""
    before = [{"name": "F", "params": [{"name": "Symbol"}, {"name": "note"}]}]
    fewer = [{"name": "F", "params": [{"name": "Symbol"}]}]
    renamed = [{"name": "F", "params": [{"name": "SymbolName"}, {"name": "note"}]}]
    funcs = answering(changing(before, fewer, renamed))
    frame = funcs["F"](Symbol="a")
    funcs.refresh()
    with pytest.warns(UserWarning, match="changed 'F': removed 'note'"):
        again = funcs.history.again(1)
    pd.testing.assert_frame_equal(frame, again)
    funcs.refresh()
    with pytest.raises(
        jf.ArgumentError, match=r"renamed 'Symbol' to 'SymbolName'(.|\n)*Symbol=a"
    ):
        funcs.history.again(1)
    with pytest.raises(jf.ArgumentError, match="renamed"):
        funcs.history.again(2)


def test_nothing_is_kept_unless_it_is_switched_on(demo: Session, file: Path) -> None:
    """Off by default: no file, no folder. Switching it off without a file changes nothing."""
    demo.get_panels()
    demo.history.save(on=False)
    assert demo.history.earlier == []
    assert demo.history.clear() == 0
    assert not file.parent.exists()


@pytest.mark.slow
def test_runs_are_kept_for_later_kernels(
    demo: Session, file: Path, shell: InteractiveShell
) -> None:
    """Once switched on, all runs of a kernel are in the next kernel's history, and can run again there."""
    demo.get_panels()
    demo.history.save(on=True)
    frame = demo.get_panel_daily(PanelName=PANEL, Symbol=SYMBOL, Dimensions=["Region"])
    swept = demo.get_panel_daily.with_options(progress=False).sweep(
        PanelName=PANEL, Symbol=["BKQU", "NVRA"]
    )
    with pytest.raises(jf.FuncsError):
        demo.get_panel_daily(PanelName="No Such", Symbol=SYMBOL)
    now = later(demo)
    assert [run.label for run in now.history.earlier] == ["1/1", "1/2", "1/3", "1/4"]
    first, daily, sweep, failed = now.history.earlier
    assert (first.function, first.rows, first.variable) == ("Get Panels", 2, "")
    assert (daily.args, daily.rows) == (frame.attrs["funcs"]["args"], len(frame))
    assert (sweep.is_sweep, sweep.runs, sweep.rows) == (True, 2, len(swept))
    assert (failed.status, failed.rows) == ("failed", None)
    pd.testing.assert_frame_equal(now.history.again("1/2"), frame)
    assert jf.diff(now.history.again("1/3"), swept).empty
    shell.run_cell("%funcs connect")
    shell.run_cell("%funcs history --all -o runs")
    assert shell.user_ns["runs"]["number"].tolist() == [
        "1/1",
        "1/2",
        "1/3",
        "1/4",
        "1",
        "2",
    ]
    shell.run_cell("again = %funcs again 1/1")
    assert len(shell.user_ns["again"]) == 2
    third = later(now)
    assert [run.label for run in third.history.earlier][-1] == "2/3"


def test_a_sweep_into_a_folder_is_run_again_into_it(
    demo: Session, file: Path, tmp_path: Path
) -> None:
    """Its dataset is returned again, in a later kernel too; results in the folder are not requested again."""
    demo.history.save(on=True)
    sweeping = demo.get_panel_daily.with_options(progress=False, to=tmp_path / "kept")
    dataset = sweeping.sweep(PanelName=PANEL, Symbol=["BKQU", "NVRA"])
    assert (demo.history.get(1).status, demo.history.get(1).rows) == (
        "done",
        dataset.count_rows(),
    )
    again = later(demo).history.again("1/1")
    assert again.count_rows() == dataset.count_rows()
    assert json.loads(again.schema.metadata[b"funcs"])["cached"]["runs"] == 2


def test_off_keeps_no_more_and_clear_deletes(
    demo: Session, file: Path, shell: InteractiveShell
) -> None:
    """%funcs history on, off and clear each say what they did."""

    def output_of(line: str) -> str:
        from IPython.utils.capture import capture_output

        with capture_output() as captured:
            shell.run_cell(line).raise_error()
        return str(captured.stdout)

    demo.get_panels()
    assert str(file) in output_of("%funcs history on")
    goes_on = jf.Job("Get Panels", {}, never(), Progress())
    demo.history.add(demo.get_panels, goes_on)
    assert "no longer saved" in output_of("%funcs history off")
    demo.get_panels()
    goes_on.cancel()
    assert [run["status"] for run in rows(file)] == ["done", "cancelled"]
    assert "Deleted 2 saved runs" in output_of("%funcs history clear")
    assert rows(file) == []
    assert "There were no saved runs" in output_of("%funcs history clear")
    assert len(demo.history) == 3  # this kernel's own


def test_a_file_holds_neither_results_nor_tokens(file: Path, service_url: str) -> None:
    """Only arguments: no values of results, no tokens; readable only by this user."""
    from jupyter_funcs.service import embedded

    token = embedded().token
    funcs = jf.connect(service_url, token=token)
    funcs.history.save(on=True)
    frame = funcs.get_panels()
    with pytest.raises(jf.FuncsError):
        funcs.get_panel_daily(PanelName=token, Symbol=SYMBOL)
    kept = rows(file)
    data = file.read_bytes()
    assert token.encode() not in data
    assert token.split(".")[1].encode() not in data
    assert [run["is_whole"] for run in kept] == [True, False]
    assert not any(
        str(value).encode() in data for value in frame.iloc[0] if len(str(value)) > 5
    )
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    written(file)
    history._logs.clear()
    with pytest.raises(jf.ArgumentError, match="were not saved"):
        jf.connect(service_url, token=token).history.again("1/2")
    funcs.close()


@pytest.mark.slow
def test_arguments_that_are_too_long_are_not_kept(demo: Session, file: Path) -> None:
    """A run with very many values is saved without them, and says so if you try to run it again."""
    demo.history.save(on=True)
    with pytest.raises(jf.FuncsError):
        demo.get_panel_daily(
            PanelName=PANEL, Brand=[f"{n:0100}" for n in range(12_000)]
        )
    [kept] = later(demo).history.earlier
    assert (kept.is_whole, kept.arguments, kept.args) == (False, "not saved", {})
    assert file.stat().st_size < 100_000


def broken(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)


def foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE runs (a); INSERT INTO runs VALUES (1)")


def newer(path: Path) -> None:
    history_file.HistoryFile(path).switch(on=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")


def a_folder(path: Path) -> None:
    path.mkdir()


def text(path: Path) -> None:
    path.write_text("not a database at all, but somebody's notes " * 100)


@pytest.mark.parametrize("make", [broken, foreign, newer, a_folder, text])
def test_a_file_that_is_none_of_ours_is_left_alone(
    demo: Session, file: Path, make: Callable[[Path], None], shell: InteractiveShell
) -> None:
    """Whatever the file is: one warning, runs and the kernel's own history work, and the file is unchanged."""
    file.parent.mkdir()
    make(file)
    before = None if file.is_dir() else file.read_bytes()

    def run_thrice() -> None:
        for _ in range(3):
            demo.get_panels()
            written(file)

    with pytest.warns(UserWarning, match="history still has its runs") as caught:
        run_thrice()
    assert len(caught) == 1
    assert len(demo.history) == 3
    for line in (
        "%funcs history --all",
        "%funcs history on",
        "%funcs history off",
        "%funcs history clear",
    ):
        with pytest.raises(jf.ConfigError, match="history"):
            shell.run_cell(line).raise_error()
    assert len(demo.history.table()) == 3
    assert before is None or file.read_bytes() == before


def test_a_file_that_another_program_locks_holds_up_no_run(
    demo: Session, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs work while the file is locked; they are written once it is unlocked."""
    monkeypatch.setattr(history_file, "_BUSY_SECONDS", 0.05)
    demo.history.save(on=True)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")

        def run_twice() -> None:
            for _ in range(2):
                demo.get_panels()
                written(file)

        with pytest.warns(UserWarning, match="locked"):
            run_twice()
        with pytest.raises(jf.ConfigError, match="locked"):
            demo.history.table(earlier=True)
        connection.execute("ROLLBACK")
    demo.get_panels()
    assert [run["number"] for run in rows(file)] == [1, 2, 3]
    assert all(run["status"] == "done" for run in rows(file))


@pytest.mark.skipif(sys.platform == "win32", reason="as POSIX has it")
def test_a_folder_that_cannot_be_written_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the folder is a file, or another user's, switching on is an error with a message."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FUNCS_HISTORY", str(tmp_path / "file" / "history.sqlite"))
    with pytest.raises(jf.ConfigError, match="Runs cannot be saved in"):
        jf.connect().history.save(on=True)


_READS_ONLY = """
import os, warnings
from pathlib import Path
import jupyter_funcs as jf
from jupyter_funcs.records import history_file
file = Path(os.environ.pop("FUNCS_HISTORY"))
os.environ["FUNCS_HISTORY"] = "/nonexistent/history.sqlite"
funcs = jf.connect()
funcs.get_panels()  # all is imported before the rights go
os.environ["FUNCS_HISTORY"] = str(file)
if os.getuid() == 0:
    os.seteuid(65534)
print(*(run.label for run in funcs.history.earlier))
with warnings.catch_warnings(record=True) as caught:
    for _ in range(3):
        funcs.get_panels()
        history_file.at(file).wait()
print(*(warning.message for warning in caught))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="as POSIX has it")
def test_a_read_only_file_is_read_and_not_written(
    demo: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Earlier runs in a read-only file are shown; one warning says that new ones are not saved."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "history.sqlite"
        monkeypatch.setenv("FUNCS_HISTORY", str(file))
        demo.history.save(on=True)
        demo.get_panels()
        written(file)
        file.chmod(0o444)
        Path(folder).chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-c", _READS_ONLY],
            check=True,
            capture_output=True,
            text=True,
        )
        Path(folder).chmod(0o700)
        labels, warning = done.stdout.splitlines()
        assert labels == "1/1"
        assert warning.count("readonly database") == 1
        assert len(rows(file)) == 1


@pytest.mark.slow
def test_two_kernels_keep_their_runs_in_one_file(file: Path) -> None:
    """Two processes write at once: every run of each is saved, and no number is used twice."""
    history_file.at(file)._create()
    history_file.at(file).switch(on=True)
    program = (
        "import jupyter_funcs as jf\nfuncs = jf.connect()\n"
        "for _ in range(20):\n    funcs.get_panels()\nassert len(funcs.history) == 20\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", program])
        for _ in range(2)
    ]
    assert [process.wait(240) for process in started] == [0, 0]
    labels = [run.label for run in jf.connect().history.earlier]
    assert len(set(labels)) == len(labels) == 40
    assert {label.partition("/")[0] for label in labels} == {"1", "2"}


_ENDS = """
import asyncio, atexit, threading
import jupyter_funcs as jf
from jupyter_funcs.core import background

ending = threading.Event()

def late() -> list[int]:
    ending.wait(60)
    return [1, 2]

funcs = jf.connect([late])
funcs.history.save(on=True)
job = funcs.late.submit()

@atexit.register
def end() -> None:
    ending.set()
    job.result(60)
    background.run(asyncio.sleep(0))
"""


@pytest.mark.slow
def test_a_run_that_ends_while_the_process_ends_is_saved(file: Path) -> None:
    """Its end is in the file, although no more threads can start."""
    subprocess.run([sys.executable, "-W", "error", "-c", _ENDS], check=True, timeout=60)
    [run] = rows(file)
    assert (run["status"], run["rows"]) == ("done", 2)


def test_only_the_latest_runs_are_kept(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the file nor a kernel's history grows forever: the oldest runs are deleted."""
    monkeypatch.setattr(history_file, "_MOST_RUNS", 3)
    monkeypatch.setattr(history, "_MOST_RUNS", 4)
    funcs = jf.connect()
    funcs.history.save(on=True)
    for _ in range(6):
        funcs.get_panels()
    assert [run["number"] for run in rows(file)] == [4, 5, 6]
    assert [run.number for run in funcs.history] == [3, 4, 5, 6]


def test_a_run_that_did_not_end_says_so_later(demo: Session, file: Path) -> None:
    """A run of a killed kernel is "not ended"."""
    demo.history.save(on=True)
    job = jf.Job("Get Panels", {}, never(), Progress())
    demo.history.add(demo.get_panels, job)
    [run] = later(demo).history.earlier
    assert (run.status, run.rows) == ("not ended", None)
    job.cancel()


@pytest.mark.parametrize(
    "run", ["{}", "{", '{"number": 1, "started": "2026-01-01", "new": 1}']
)
def test_a_run_of_another_version_is_left_out(
    demo: Session, file: Path, run: str
) -> None:
    """The other runs are there."""
    demo.history.save(on=True)
    for _ in range(2):
        demo.get_panels()
    now = later(demo)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE runs SET run = ? WHERE number = 1", (run,))
    assert [entry.number for entry in now.history.earlier] == [2]


async def never() -> pd.DataFrame:
    await asyncio.sleep(3600)
    raise AssertionError


def test_many_threads_note_their_runs(demo: Session) -> None:
    """Runs that start at once have different numbers."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: demo.get_panels(), range(40)))
    assert sorted(run.number for run in demo.history) == list(range(1, 41))


def test_a_healthy_service_of_another_name_has_its_own_kept_runs(file: Path) -> None:
    """Saved runs of one service are neither shown nor run on another."""
    with faulty() as server, faulty() as other:
        funcs = jf.connect(server.url, token="a-token-of-the-tests")
        funcs.history.save(on=True)
        funcs["F"](a="1")
        written(file)
        history._logs.clear()
        elsewhere = jf.connect(other.url, token="a-token-of-the-tests")
        assert elsewhere.history.earlier == []
        with pytest.raises(jf.NotFoundError):
            elsewhere.history.again("1/1")
        # A run of an earlier test that ends late may have taken the first number of a kernel.
        later = jf.connect(server.url, token="t-of-the-tests")
        [run] = later.history.earlier
        assert (run.function, run.number, run.args) == ("F", 1, {"a": "1"})
        funcs.close()
        elsewhere.close()


@pytest.mark.slow
def test_a_result_that_nobody_holds_is_had_from_the_cache(
    demo: Session, file: Path
) -> None:
    """Results of a sweep, or of a call with cache=True, are read from the cache, here and in a later kernel."""
    demo.history.save(on=True)
    swept = demo.get_panel_daily.with_options(progress=False).sweep(
        PanelName=PANEL, Symbol=["NVRA", "BKQU"]
    )
    called = demo.get_panel_daily.with_options(cache=True)(
        PanelName=PANEL, Symbol=SYMBOL
    )
    demo.get_panel_daily(PanelName=PANEL, Symbol=SYMBOL)
    copies = swept.copy(), called.copy()
    del swept, called
    forgotten(*demo.history)

    def check(funcs: Session, *runs: history.Run) -> None:
        for run, copy in zip(runs, copies, strict=False):
            frame = run.frame
            assert frame is not None
            pd.testing.assert_frame_equal(frame, copy)
            assert run.frame is frame
        assert (
            runs[0].frame is None or runs[0].frame.attrs["funcs"]["cached"]["runs"] == 2
        )
        assert runs[2].frame is None
        assert jf.diff(copies[0], runs[0].frame).empty

    check(demo, *demo.history)
    now = later(demo)
    check(now, *now.history.earlier)
    assert len(now.history) == 0


@pytest.mark.slow
def test_a_later_result_is_not_taken_for_that_of_an_earlier_run(demo: Session) -> None:
    """After a sweep is run again, its first result is gone, and the second is not shown in its place."""
    swept = demo.get_panel_daily.with_options(progress=False, max_age=0.01)
    swept.sweep(PanelName=PANEL, Symbol=["NVRA", "BKQU"])
    forgotten(*demo.history)
    assert demo.history.get(1).frame is not None
    time.sleep(0.02)  # two clocks differ by less
    demo.history.again(1)
    forgotten(*demo.history)
    assert demo.history.get(1).frame is None
    assert demo.history.get(2).frame is not None


def test_on_the_loop_nothing_is_waited_for(demo: Session) -> None:
    """On the background loop, `frame` returns what is in memory, and reads nothing from disk."""
    demo.get_panel_daily.with_options(progress=False).sweep(
        PanelName=PANEL, Symbol=["NVRA", "BKQU"]
    )
    run = demo.history.get(1)
    forgotten(run)

    async def ask() -> pd.DataFrame | None:
        return run.frame

    assert background.run(ask()) is None
    assert run.frame is not None


def forgotten(*runs: Run) -> None:
    """Wait until nothing holds the results: the loop keeps its last task until the next one, a thread its last work."""

    def are_gone() -> bool:
        background.run(asyncio.sleep(0))
        gc.collect()
        return all(run.in_memory is None for run in runs)

    wait_until(are_gone)
