"""Many runs of one function become one table, with a progress bar; none is sent twice."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import pickle
import re
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import httpx
import pandas as pd
import pytest

import jupyter_funcs as jf
from jupyter_funcs.catalog.values import Each
from jupyter_funcs.core.background import SweepProgress
from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.service.web.runs import Limits
from jupyter_funcs.sweeps import job
from jupyter_funcs.sweeps.combinations import combos
from jupyter_funcs.sweeps.job import SweepJob
from jupyter_funcs.sweeps.sweep import Sweep
from tests.conftest import PANEL, SYMBOL, wait_until
from tests.servers import serving_accounts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jupyter_funcs.api import RemoteFunction, Session

PARAMS = [
    {"name": "a", "type": 0, "description": "[Optional]"},
    {"name": "n", "type": 1, "description": "[Optional]"},
    {"name": "names", "type": 4, "description": "[Optional]"},
]


class Service:
    """A service that answers each run by its arguments, and records them."""

    def __init__(self, answering: Callable[..., Session]) -> None:
        self.sent: list[dict[str, Any]] = []
        self.listed = 0
        self.rows: Callable[[dict[str, Any]], Any] = lambda args: [
            {"said": json.dumps(args)}
        ]
        self.params = PARAMS
        self.session = answering(self.answer)
        self.function: RemoteFunction = self.session["F"]

    def answer(self, request: httpx.Request) -> httpx.Response:
        if "ListUserFunctions" in request.url.path:
            self.listed += 1
            return httpx.Response(200, json=[{"name": "F", "params": self.params}])
        args = json.loads(request.content)["Args"]
        self.sent.append(args)
        rows = self.rows(args)
        if isinstance(rows, httpx.Response):
            return rows
        if isinstance(rows, str):
            return httpx.Response(200, json={"error": rows})
        return httpx.Response(200, json={"error": None, "body": json.dumps(rows)})


@pytest.fixture
def service(answering: Callable[..., Session]) -> Iterator[Service]:
    service = Service(answering)
    yield service
    service.session.close()


def test_the_demo_is_swept(funcs: Session) -> None:
    """Each block equals the result of the call, after its arguments; constants are in the attrs."""
    function = funcs["Get Panel Daily"]
    symbols = [SYMBOL, "ZPLN US EQUITY"]
    frame = function.sweep(Symbol=symbols, PoPLookback=[1, 7], PanelName=PANEL)
    assert list(frame.columns[:2]) == ["Symbol", "PoPLookback"]
    assert frame.dtypes.iloc[:2].map(str).to_list() == ["string", "int64"]
    blocks = dict(list(frame.groupby(["Symbol", "PoPLookback"], sort=False)))
    assert list(blocks) == [
        (symbol, lookback) for symbol in symbols for lookback in (1, 7)
    ]
    for (symbol, lookback), block in blocks.items():
        alone = function(Symbol=symbol, PoPLookback=lookback, PanelName=PANEL)
        pd.testing.assert_frame_equal(
            block[alone.columns].reset_index(drop=True), alone
        )
    told = frame.attrs["funcs"]
    assert told["args"] == {"PanelName": PANEL}
    assert (told["function"], told["swept"], told["runs"]) == (
        "Get Panel Daily",
        ["Symbol", "PoPLookback"],
        4,
    )
    assert (told["failed"], told["attempts"], told["service"]) == (0, 4, funcs.service)
    assert told["synthetic"] is True
    assert frame.attrs["errors"] == []
    assert json.loads(json.dumps(frame.attrs)) == frame.attrs


def test_lists_of_a_parameter_that_takes_a_list_are_swept(service: Service) -> None:
    """A list of texts is one value, a list of lists several; each is joined in its column."""
    frame = service.function.sweep(a=["x"], names=["p", "q"])
    assert list(frame.columns) == ["a", "said"]
    frame = service.function.sweep(a="x", names=[["p"], ["p", "q"]])
    assert frame["names"].to_list() == ["p", "p, q"]
    assert service.sent[-1]["names"] in (["p"], ["p", "q"])


def test_a_table_of_arguments_is_swept(service: Service) -> None:
    """One run per row; for an empty cell the argument isn't sent, and is null in the result."""
    frame = service.function.sweep(
        pd.DataFrame({"a": ["x", "y"], "n": [1, None]}), names="p"
    )
    assert sorted(service.sent, key=str) == [
        {"a": "x", "n": "1", "names": ["p"]},
        {"a": "y", "names": ["p"]},
    ]
    assert frame["a"].to_list() == ["x", "y"]
    assert frame["n"].isna().to_list() == [False, True]


def test_pairs_go_together(service: Service) -> None:
    """With the option `pairs`."""
    frame = service.function.with_options(pairs=True).sweep(a=["x", "y"], n=[1, 2])
    assert list(zip(frame["a"], frame["n"], strict=True)) == [("x", 1), ("y", 2)]


def test_a_run_that_is_given_twice_is_run_once(service: Service) -> None:
    """Its block appears once."""
    assert len(service.function.sweep(a=["x", "y", "x"], n=[1, "1"])) == 2
    assert len(service.sent) == 2


def test_results_of_other_shapes_and_types_are_all_there(service: Service) -> None:
    """Columns are widened and never dropped: integers and fractions, text, other columns, no rows."""
    results: dict[str, Any] = {
        "whole": [{"v": 1}],
        "parts": [{"v": 0.5}],
        "other": [{"w": "text"}],
        "none": [],
        "text": [{"v": "x"}],
    }
    service.rows = lambda args: results[args["a"]]
    frame = service.function.sweep(a=["whole", "parts", "other", "none"])
    assert list(frame.columns) == ["a", "v", "w"]
    assert frame["v"].dropna().to_list() == [1.0, 0.5]
    assert frame["a"].to_list() == ["whole", "parts", "other"]
    mixed = service.function.sweep(a=["whole", "text"])
    assert mixed["v"].to_list() == [1, "x"]


def test_all_that_fail_are_rows_and_no_error(service: Service) -> None:
    """The table has only the columns of the arguments, and a warning says so."""
    service.rows = lambda args: f"no {args['a']}"
    with pytest.warns(
        UserWarning,
        match=r'2 of 2 runs of F failed, all listed in .attrs\["errors"\]. First error: .*no x',
    ):
        frame = service.function.sweep(a=["x", "y"])
    assert frame.empty
    assert list(frame.columns) == ["a"]
    assert [row["args"] for row in frame.attrs["errors"]] == [{"a": "x"}, {"a": "y"}]


def test_a_fault_of_our_own_making_loses_no_other_run(service: Service) -> None:
    """Whatever an executor raises becomes an error row too."""

    class Moody(ThreadPoolExecutor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            if fn.args["a"] == "y":
                raise KeyError("y")
            return super().submit(fn, *args, **kwargs)

    with Moody(2) as pool, pytest.warns(UserWarning, match="1 of 3 runs of F failed"):
        frame = service.function.with_options(executor=pool).sweep(a=["x", "y", "z"])
    assert frame["a"].to_list() == ["x", "z"]
    assert "KeyError" in frame.attrs["errors"][0]["error"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"a": []}, "a has no values to sweep: the list is empty."),
        ({"a": "x"}, "Nothing to sweep: no argument of F is a list of values."),
        ({"a": ["x"], "n": ["one"]}, "n takes a whole number, not 'one'."),
        ({"b": ["x"]}, "F has no parameter 'b'."),
        (
            {"a": ["x"], "n": [["1"], "2"]},
            "n takes one value, not ['1'].\nF was not run.",
        ),
        (
            {"a": ["x"], "cache": False},
            "cache is an option, not a parameter of F.\nWrite f.with_options(cache=…).sweep(…).",
        ),
    ],
)
def test_what_is_not_valid_is_said_before_anything_is_sent(
    service: Service, values: Any, message: str
) -> None:
    """With `sweep` and with `start_sweep`."""
    function = service.function
    for begin in (
        function.sweep,
        function.start_sweep,
        lambda **lists: function.start_sweep(lists),
    ):
        with pytest.raises(ArgumentError, match=re.escape(message)):
            begin(**values)
    assert not service.sent


def test_a_sweep_warns_once_for_each_text(answering: Callable[..., Session]) -> None:
    """Of thousands of values that a description doesn't list, three are named and the rest counted; all are sent."""
    params = [{"name": "a"}, {"name": "u", "description": "Options are 'day', 'week'"}]
    service = Service(answering)
    service.params = params
    function = service.session.refresh()["F"]
    with pytest.warns(UserWarning, match="The run is sent anyway") as seen:
        assert (
            len(function.sweep(a=["x", "y"], u=[f"v{number}" for number in range(20)]))
            == 40
        )
    assert len(seen) == 4
    assert "And 17 more like these." in str(seen[-1].message)
    assert len(service.sent) == 40
    assert len(function.with_options(validate=False).sweep(a=["x"], u=["no"])) == 1


def test_a_large_sweep_is_asked_about(
    service: Service, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """The user types the number to run it; after any other answer, or without a user, nothing is sent."""
    few = service.function.with_options(most_runs=2)
    values = list("vwxyz")
    for typed in ("", "6\n", "yes\n", "\n"):
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        with pytest.raises(jf.FuncsError) as caught:
            few.sweep(a=values)
        assert (
            not typed.strip()
            or "This is 5 runs of F, more than most_runs = 2." in str(caught.value)
        )
    assert not service.sent
    assert (
        "This is 5 runs of F. Type the number to continue: " in capsys.readouterr().out
    )
    monkeypatch.setattr(sys, "stdin", io.StringIO("5\n"))
    assert len(few.sweep(a=values)) == 5
    with pytest.raises(ArgumentError, match=r"with_options\(most_runs=6\)"):
        few.start_sweep({"a": [*values, "u"]})


def test_a_sweep_from_the_cache_sends_nothing(service: Service) -> None:
    """The second time nothing is sent, and the attrs have the number and age of the cached results."""
    first = service.function.sweep(a=["x", "y"])
    second = service.function.sweep(a=["x", "y", "z"])
    assert len(service.sent) == 3
    told = second.attrs["funcs"]
    assert told["cached"]["runs"] == 2
    assert told["cached"]["oldest"] <= told["time"]
    assert first.attrs["funcs"]["cached"] == {"runs": 0, "oldest": None}
    pd.testing.assert_frame_equal(second.iloc[:2], first)
    service.function.with_options(cache=False).sweep(a=["x", "y"])
    service.function.with_options(max_age=1e-9).sweep(a=["x", "y"])
    assert len(service.sent) == 7


def test_a_cache_that_cannot_be_written_is_no_failure(
    service: Service, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """There is one warning, and the sweep returns its results."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FUNCS_RESULTS_DIR", str(tmp_path / "file" / "results"))
    with pytest.warns(UserWarning, match="Results are not cached on disk"):
        assert len(service.function.sweep(a=["x", "y"])) == 2
    assert len(service.function.sweep(a=["x", "y"])) == 2
    assert len(service.sent) == 4


def test_a_job_says_what_it_sweeps(service: Service) -> None:
    """Its swept arguments are lists, with which the history runs it again; its progress counts the runs."""
    job = service.function.start_sweep({"a": Each(("x",)), "n": [1, 2, 2]})
    assert job.args == {"a": ["x"], "n": [1, 2]}
    assert not job.pairs
    assert len(job.result(60)) == 2
    assert isinstance(job.progress, SweepProgress)
    assert (job.progress.total, job.progress.done, job.progress.failed) == (2, 2, 0)
    assert service.function.start_sweep({"a": "x"}, a=["x"], n=[1, 2]).args == {
        "a": ["x"],
        "n": [1, 2],
    }
    table = service.function.start_sweep(
        {}, pd.DataFrame({"a": ["x", "y"], "n": [1, None]})
    )
    assert (table.args, table.pairs) == ({"a": ["x", "y"], "n": [1, None]}, True)
    assert len(table.result(60)) == 2
    assert asyncio.run(awaited(service.function)) == 2


async def awaited(function: RemoteFunction) -> int:
    return len(await function.start_sweep({"a": ["x", "y"]}))


def test_a_job_says_how_far_it_has_come(service: Service) -> None:
    """In one line, wherever it is shown."""
    service.rows = lambda args: "no" if args["a"] == "y" else [{"v": 1}]
    job = service.function.start_sweep({"a": ["x", "y", "z"]})
    with pytest.warns(UserWarning, match="1 of 3 runs of F failed"):
        job.result(60)
    assert re.fullmatch(r"<Sweep F: done, 2 of 3 runs, 1 failed, \d\.\d s>", repr(job))
    assert re.fullmatch(
        r"<b>F</b> · done · 2 of 3 runs · 1 failed · \d\.\d s", job._repr_html_()
    )


def test_thousands_of_failures_slow_no_table(service: Service) -> None:
    """pandas copies attrs deeply for each column: the rows are copied as one, and are a plain list elsewhere."""
    service.rows = lambda args: f"no {args['a']}"
    with pytest.warns(UserWarning, match="2 of 2 runs"):
        frame = service.function.sweep(a=["x", "y"])
    rows = frame.attrs["errors"]
    again = frame["a"].attrs["errors"]
    assert again == rows
    assert again is not rows
    assert again[0] is rows[0]
    assert type(pickle.loads(pickle.dumps(rows))) is list


@pytest.mark.slow
@pytest.mark.parametrize(
    "limits", [{"runs_a_user": 3}, {"concurrent_runs": 3}], ids=["429", "503"]
)
def test_a_service_with_few_places_runs_them_all(limits: dict[str, int]) -> None:
    """The real service refuses most of 32 simultaneous runs with a wait: none fails, and all are in order."""
    with serving_accounts(Limits(**limits)) as served:
        session = jf.connect(served.url, token=served.auth.issue("analyst", 1))
        symbols = session.get_universe()["Symbol"].to_list()[:10]
        frame = session.get_panel_daily.sweep(Symbol=symbols, PanelName=PANEL)
        session.close()
    assert frame["Symbol"].unique().tolist() == symbols
    assert frame.attrs["errors"] == []
    assert frame.attrs["funcs"]["attempts"] > 10


def test_what_the_runs_warn_of_is_said_once(
    service: Service, answering: Callable[..., Session]
) -> None:
    """A thousand runs with the same fault in their replies cause one line."""

    def answer(request: httpx.Request) -> httpx.Response:
        if "ListUserFunctions" in request.url.path:
            return service.answer(request)
        return httpx.Response(
            200, content=b'{"error": null, "body": "[{\\"v\\": NaN}]"}'
        )

    with pytest.warns(UserWarning, match="NaN") as caught:
        answering(answer)["F"].sweep(a=["x", "y", "z"])
    assert len(caught) == 1


def test_a_function_that_has_changed_is_said_to(service: Service) -> None:
    """Its refusals are explained by the new listing, which is requested once."""

    def refuse(_args: dict[str, Any]) -> Any:
        return httpx.Response(422, json={"error": "unknown argument"})

    service.rows = refuse
    service.params = [PARAMS[0] | {"name": "b"}]
    service.session._listed_at = float("-inf")
    service.listed = 0
    with pytest.warns(UserWarning, match="3 of 3 runs of F failed"):
        frame = service.function.sweep(a=["x", "y", "z"])
    assert service.listed == 1
    assert all(
        "a" in row["error"] and "Get it again" in row["error"]
        for row in frame.attrs["errors"]
    )


def test_a_sweep_holds_nothing_when_it_has_ended(service: Service) -> None:
    """Neither the session nor the job keeps the results of a sweep that wasn't interrupted."""
    result = weakref.ref(service.function.with_options(cache=False).sweep(a=["x", "y"]))
    # The loop releases it a moment later.
    wait_until(lambda: gc.collect() >= 0 and result() is None)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(text: str) -> str:
    """Return the last line that a terminal would show."""
    return text.rstrip("\n").rpartition("\r")[2].strip()


def test_a_bar_says_how_far_it_has_come(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Done, failed, from the cache; in a terminal, where it stays."""
    service.rows = lambda args: "no" if args["a"] == "y" else [{"v": 1}]
    service.function.sweep(a=["w", "x"])
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.warns(UserWarning, match="1 of 4 runs"):
        service.function.sweep(a=["w", "x", "y", "z"])
    text = sys.stderr.getvalue()
    assert re.match(
        r"F: 100%\|.*\| 4/4 \[.*run.*, 1 failed, 2 from the cache \(0 s old\)\]",
        shown(text),
    ), shown(text)
    assert not [
        thread for thread in threading.enumerate() if "tqdm" in type(thread).__module__
    ]


def test_where_no_bar_is_wanted_none_is(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With ``progress=False``, for one run, and if the output is a file instead of a terminal."""
    for stream, sweep in (
        (
            Terminal(),
            lambda: service.function.with_options(progress=False).sweep(a=["x", "y"]),
        ),
        (Terminal(), lambda: service.function.sweep(a=["x"])),
        (io.StringIO(), lambda: service.function.sweep(a=["x", "y"])),
    ):
        monkeypatch.setattr(sys, "stderr", stream)
        sweep()
        assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        (SweepProgress(total=9), ""),
        (SweepProgress(failed=1200), "1,200 failed"),
        (SweepProgress(cached=2, oldest=-250.0), "2 from the cache (4 minutes old)"),
        (SweepProgress(cached=2, oldest=-7300.0), "2 from the cache (2 hours old)"),
        (SweepProgress(cached=2, oldest=-200_000.0), "2 from the cache (2 days old)"),
        (
            SweepProgress(failed=1, cached=2, waiting="waiting until 12:00: busy."),
            "1 failed, waiting until 12:00: busy",
        ),
    ],
)
def test_what_stands_beside_the_numbers(
    progress: SweepProgress, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failures, cached results and waits, if there are any."""
    monkeypatch.setattr("time.time", lambda: 0.0)
    assert job.status_text(progress) == text


class Slow:
    """A slow keeper of results that records the order of its calls."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.may_go_on = threading.Event()
        self.done: list[str] = []

    async def find(self, *_: Any) -> dict[int, float]:
        return {}

    def add(self, *_: Any) -> None:
        self.begun.set()
        assert self.may_go_on.wait(60)
        self.done.append("add")

    def finish(self, *_: Any) -> None: ...

    def close(self) -> None:
        self.done.append("close")


@pytest.mark.parametrize("cached", [False, True])
def test_a_sweep_that_is_cancelled_closes_when_its_threads_are_done(
    service: Service, cached: bool
) -> None:
    """The keeper isn't closed while it takes a result, from the service or from the cache."""
    if cached:
        service.function.sweep(a=["x", "y"])
    runs = combos(service.function, None, {"a": ["x", "y"]})
    slow = Slow()
    job = SweepJob(Sweep(service.function, runs, service.function.fetch, slow))
    assert slow.begun.wait(60)
    assert job.cancel()
    threading.Timer(0.1, slow.may_go_on.set).start()
    with pytest.raises(jf.RunCancelledError):
        job.result(60)
    assert slow.done[-1] == "close"
    assert slow.done.count("add") == len(slow.done) - 1 > 0


class Full(Slow):
    """A keeper that takes no more results."""

    def add(self, *_: Any) -> None:
        super().add()
        raise jf.FuncsError("The disk is full.")


def test_what_cannot_be_kept_ends_a_sweep_also_where_no_run_is_under_way(
    service: Service,
) -> None:
    """The sweep gets the error although it has no running runs, because its queue of results is full."""
    function = service.function.with_options(concurrency=1, cache=False)
    full = Full()
    sweep = Sweep(
        function, combos(function, None, {"a": list("uvwxyz")}), function.fetch, full
    )
    job = SweepJob(sweep)
    wait_until(
        lambda: full.begun.is_set() and len(sweep._arrived) == 2 and not sweep._tasks
    )
    full.may_go_on.set()
    with pytest.raises(jf.FuncsError, match="disk is full"):
        job.result(60)


@pytest.mark.fault(124)
@pytest.mark.parametrize(
    "options",
    [
        {},
        *(
            pytest.param(options, marks=pytest.mark.slow)
            for options in ({"cache": False}, {"max_memory": 1})
        ),
    ],
)
def test_a_table_of_mostly_missing_values_is_refused_and_its_runs_are_kept(
    service: Service, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    """Each run returns another column; a smaller sweep uses the same results."""
    monkeypatch.setattr("jupyter_funcs.frames.columns._LEAST_BOUND", 1000)
    monkeypatch.setattr("jupyter_funcs.frames.columns._CELLS_PER_BYTE", 0)
    service.rows = lambda args: [{f"column of {args['a']}": 1}]
    function = service.function.with_options(progress=False, **options)
    values = [f"{service.session.address} {number}" for number in range(40)]
    with pytest.raises(jf.ReplyTooLargeError) as caught:
        function.sweep(a=values)
    assert str(caught.value) == (
        "The sweep's table would have 40 rows and at least 40 columns, most of them empty.\n"
        "Sweep fewer values at a time, which repeats no run; or write the results to a folder (to= or --to)."
    )
    assert len(service.sent) == 40
    frame = function.sweep(a=values[:30])
    assert frame.shape == (30, 31)
    assert len(service.sent) == 40
