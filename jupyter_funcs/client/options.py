"""The options of runs and sweeps."""

from __future__ import annotations

import numbers
import os
from concurrent.futures import Executor
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from jupyter_funcs.connection.retries import MAX_RETRIES
from jupyter_funcs.connection.transport import MAX_BYTES
from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.core.text import did_you_mean, listed, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CACHED_SECONDS = 3600.0
CONCURRENCY = 32
MOST_RUNS = 10_000
MOST_PAGES = 10_000
MEMORY_BYTES = 2**30
DASK = "dask"  # instead of a folder


@dataclass(frozen=True)
class CallOptions:
    """
    How runs and sweeps are sent, apart from the function's own parameters. The second group is for sweeps only.

    Attributes
    ----------
    timeout
        Seconds for the whole run: connecting, waiting, reading and decoding. By default, what the profile says, else a
        little more than the service allows, else 300.
    keep
        Whether the service keeps the run and its result: it continues if this kernel ends, and `jupyter_funcs.kept`
        gets it by the id of the job. By default, what the profile says.
    max_bytes
        The largest reply accepted, in bytes.
    schema
        Types by column, for a service that declares none; `jupyter_funcs.to_frame` lists them.
    validate
        ``False`` enforces nothing: values are sent as given, and required ones may be missing.
    retries
        The maximum number of retries per run, 0 to 2. A run is retried only if that is safe.
    force
        Send the run even while requests are paused after repeated failures.
    cache
        Whether to use the result cache on disk. By default, only sweeps use it.
    max_age
        The greatest age of a cached result, in seconds.
    pages
        ``"all"`` asks for all pages of a list, and returns their rows as one table. An interrupted run goes on from
        the pages that it has, unless `cache` is ``False``.
    most_pages
        The number of pages after which such a run ends, 10,000 at most.

    pairs
        Combine the first values of all lists, then the second ones, and so on, instead of every combination.
    concurrency
        The number of runs sent at a time.
    executor
        A `concurrent.futures.Executor` for the runs. By default they share the background loop.
    to
        A folder for the results as Parquet files, returned as a dataset. ``"dask"`` returns a `dask.dataframe`.
    most_runs
        Ask before sending more runs than this. By default, 10,000; 1 for a function that changes data.
    max_memory
        Bytes of results held in memory; the rest goes to disk until the sweep ends.
    progress
        Whether to show a progress bar.
    """

    timeout: float | None = None
    keep: bool | None = None
    max_bytes: int = MAX_BYTES
    schema: Mapping[str, str] | None = None
    validate: bool = True
    retries: int = MAX_RETRIES
    force: bool = False
    cache: bool | None = None
    max_age: float = CACHED_SECONDS
    pages: str | None = None
    most_pages: int = MOST_PAGES

    pairs: bool = False
    concurrency: int = CONCURRENCY
    executor: Executor | None = None
    to: str | os.PathLike[str] | None = None
    most_runs: int | None = None
    max_memory: int = MEMORY_BYTES
    progress: bool = True

    def changed(self, **options: Any) -> CallOptions:
        """Return these options with some changed; raise an `ArgumentError` for an unknown name or invalid value."""
        defaults = {field.name: field.default for field in fields(self)}
        for name, value in options.items():
            if name not in defaults:
                hint = (
                    did_you_mean(name, defaults)
                    or f"Options are {listed(defaults, 'and')}."
                )
                raise ArgumentError(f"There is no option {quote(name)}.", hint)
            if value is defaults[name] is None:
                continue
            if name == "schema":
                from jupyter_funcs.frames.dtypes import checked

                checked(value)
            elif name in _TAKES and not _TAKES[name][1](value):
                raise ArgumentError(
                    f"{name} takes {_TAKES[name][0]}, not {quote(value)}."
                )

        return replace(self, **options)


def _is_positive(value: object) -> bool:
    return (
        not isinstance(value, bool)
        and isinstance(value, numbers.Real)
        and float(value) > 0
    )


# The values that options take: in words, and as a check.
_BOOL = ("True or False", lambda value: isinstance(value, bool))
_SECONDS = ("a positive number of seconds", _is_positive)
_BYTES = ("a positive number of bytes", _is_positive)
_COUNT = ("a positive integer", lambda value: type(value) is int and value > 0)
_TAKES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "timeout": _SECONDS,
    "max_bytes": _BYTES,
    "retries": (
        f"a number from 0 to {MAX_RETRIES}",
        lambda value: type(value) is int and 0 <= value <= MAX_RETRIES,
    ),
    "cache": _BOOL,
    "keep": _BOOL,
    "max_age": _SECONDS,
    "pages": ('"all" or None', lambda value: value == "all"),
    "most_pages": (
        f"a number from 1 to {MOST_PAGES:,}",
        lambda value: _COUNT[1](value) and value <= MOST_PAGES,
    ),
    "pairs": _BOOL,
    "concurrency": _COUNT,
    "executor": (
        "a concurrent.futures.Executor, such as Dask's client.get_executor()",
        lambda value: isinstance(value, Executor),
    ),
    "to": (
        f'the path of a folder, or "{DASK}"',
        lambda value: isinstance(value, str | os.PathLike) and bool(os.fspath(value)),
    ),
    "most_runs": _COUNT,
    "max_memory": _BYTES,
    "progress": _BOOL,
}
