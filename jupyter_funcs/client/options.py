"""Options: how a run or a sweep goes, apart from the function's own parameters."""

from __future__ import annotations

import math
import numbers
import os
from concurrent.futures import Executor
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from jupyter_funcs.errors import ArgumentError
from jupyter_funcs.retries import MOST_RETRIES
from jupyter_funcs.text import did_you_mean, listed, quote
from jupyter_funcs.transport import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

RUN_SECONDS = 300.0
CACHED_SECONDS = 3600.0
CONCURRENCY = 32
MOST_RUNS = 10_000
MEMORY_BYTES = 2**30
DASK = "dask"  # in place of a folder


@dataclass(frozen=True, slots=True)
class Options:
    """
    How a run goes, apart from the function's own parameters; those of the second group are for a sweep alone.

    Attributes
    ----------
    timeout
        Seconds for the whole run: connecting, waiting, reading and decoding.
    max_bytes
        The largest reply taken, in bytes.
    schema
        Types by column, for a service that declares none; `frame.to_frame` lists them.
    validate
        ``False`` sends options that a description does not list, as they are.
    retries
        How often a run is sent again at most, from 0 to 2, where its failure shows that this is safe.
    force
        Send it also while the service is left alone because it failed.
    cache
        Take a result from the cache on disk where it is there, and keep it there; by default of a sweep alone.
    max_age
        Seconds that a result of the cache is good for.

    pairs
        Take the first of each list, then the second, and so on, in place of every combination.
    concurrency
        How many runs go on at a time.
    executor
        A `concurrent.futures.Executor` that runs them; by default they share the background loop.
    to
        A folder, which keeps the results as Parquet and gives a dataset; ``"dask"`` leaves them on Dask's workers.
    most_runs
        More runs than this are asked about first.
    max_memory
        Bytes of results held in memory; those beyond go to disk until all have come.
    progress
        Whether a bar shows how far it has come.
    """

    timeout: float = RUN_SECONDS
    max_bytes: int = MAX_BYTES
    schema: Mapping[str, str] | None = None
    validate: bool = True
    retries: int = MOST_RETRIES
    force: bool = False
    cache: bool | None = None
    max_age: float = CACHED_SECONDS

    pairs: bool = False
    concurrency: int = CONCURRENCY
    executor: Executor | None = None
    to: str | os.PathLike[str] | None = None
    most_runs: int = MOST_RUNS
    max_memory: int = MEMORY_BYTES
    progress: bool = True

    def changed(self, **options: Any) -> Options:
        """
        Give these options with some changed.

        Raises
        ------
        ArgumentError
            An option is unknown, or its value is none that it takes.
        """
        known = [field.name for field in fields(self)]
        for name, value in options.items():
            if name not in known:
                hint = did_you_mean(name, known) or f"Options are {listed(known, 'and')}."
                raise ArgumentError(f"There is no option {quote(name)}.", hint)
            if name == "schema" and value is not None:
                from jupyter_funcs.dtypes import checked  # noqa: PLC0415  # pandas takes a quarter of a second

                checked(value)
            elif name in _TAKES and not _TAKES[name][1](value):
                raise ArgumentError(f"{name} takes {_TAKES[name][0]}, not {quote(value)}.")
        return replace(self, **options)


def _is_positive(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, numbers.Real) and float(value) > 0


def _is_count(value: object) -> bool:
    return type(value) is int and value > 0


def _is_truth(value: object) -> bool:
    return isinstance(value, bool)


# By option, what it takes: in words, and as a check.
_TAKES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "timeout": ("a positive number", _is_positive),
    "max_bytes": ("a positive number", _is_positive),
    "retries": (f"a number from 0 to {MOST_RETRIES}", lambda value: type(value) is int and 0 <= value <= MOST_RETRIES),
    "cache": ("True or False", lambda value: value is None or _is_truth(value)),
    "max_age": ("a positive number of seconds", lambda value: _is_positive(value) and not math.isnan(value)),
    "pairs": ("True or False", _is_truth),
    "concurrency": ("a whole number from 1", _is_count),
    "executor": (
        "a concurrent.futures.Executor, as client.get_executor() of Dask gives",
        lambda value: value is None or isinstance(value, Executor),
    ),
    "to": (
        f'the path of a folder, or "{DASK}"',
        lambda value: value is None or (isinstance(value, (str, os.PathLike)) and bool(os.fspath(value))),
    ),
    "most_runs": ("a whole number from 1", _is_count),
    "max_memory": ("a positive number of bytes", _is_positive),
    "progress": ("True or False", _is_truth),
}
