"""The result of a run of the history, read again from the cache: the history itself holds none."""

from __future__ import annotations

import asyncio
import datetime as dt
import math
from typing import TYPE_CHECKING, Any

from jupyter_funcs import loop
from jupyter_funcs.combos import combos
from jupyter_funcs.errors import FuncsError
from jupyter_funcs.fields import by_name
from jupyter_funcs.kept import Kept

if TYPE_CHECKING:
    import pandas as pd

    from jupyter_funcs.callables import RemoteFunction
    from jupyter_funcs.forms import Args
    from jupyter_funcs.run import Run

# Seconds by which two clocks of one machine may differ.
_SLACK = 0.01


def recalled(function: RemoteFunction, run: Run) -> pd.DataFrame | None:
    """
    Give what a run gave, where the cache has it as that run left it; nothing is sent.

    Parameters
    ----------
    function
        As it is listed now: the cache knows nothing of one that has changed since.
    run
        What was run, and when. What a later run has put in the place of its results is not its result.
    """
    try:
        loop.refuse_here()
        return loop.run(_recalled(function, run))
    except (FuncsError, RuntimeError):  # no token, arguments of another time; or asked on the loop, which cannot wait
        return None


async def _recalled(function: RemoteFunction, run: Run) -> pd.DataFrame | None:
    options = {"cache": True, "to": None, "max_age": math.inf, "pairs": run.pairs, "most_runs": max(run.runs, 1)}
    function = function.with_options(**options)
    constant, swept, runs = await asyncio.to_thread(_runs, function, run)
    kept = Kept(function, runs)
    latest = run.ended.timestamp() + _SLACK
    there = {at: written for at, written in (await kept.find()).items() if written <= latest}
    if len(there) != run.runs - run.failed or not there:
        return None
    frames = await asyncio.to_thread(kept.read, sorted(there))
    if len(frames) != len(there):
        return None
    if not run.is_sweep:
        return frames[0]
    frame = await asyncio.to_thread(_stacked, function, runs, frames, swept)
    oldest = dt.datetime.fromtimestamp(min(there.values()), dt.UTC).isoformat(timespec="seconds")
    frame.attrs["funcs"] = {
        "function": run.function,
        "args": constant,
        "swept": swept,
        "runs": run.runs,
        "failed": run.failed,
        "time": run.started.isoformat(timespec="seconds"),
        "service": function.session.service,
        "synthetic": function.synthetic,
        "elapsed": round(run.elapsed, 3),
        "cached": {"runs": len(frames), "oldest": oldest},
    }
    return frame


def _runs(function: RemoteFunction, run: Run) -> tuple[Args, list[str], list[Args]]:
    if not run.is_sweep:
        return {}, [], [run.args]
    options = function.options
    made = combos(function, None, run.args, pairs=run.pairs, most=options.most_runs, validate=options.validate)
    return made.constant, made.swept, made.runs


def _stacked(function: RemoteFunction, runs: list[Args], frames: dict[int, Any], swept: list[str]) -> pd.DataFrame:
    from jupyter_funcs.stacking import stacked  # noqa: PLC0415  # pandas takes a quarter of a second

    return stacked(((runs[at], frames[at]) for at in sorted(frames)), swept, by_name(function.fields))
