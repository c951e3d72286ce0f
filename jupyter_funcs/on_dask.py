"""Sweeps whose results stay on the workers of Dask: only what tells their dtypes comes here."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

from jupyter_funcs.errors import ArgumentError
from jupyter_funcs.executors import Taker
from jupyter_funcs.fields import by_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from concurrent.futures import Future

    import dask.dataframe as dd
    import pandas as pd

    from jupyter_funcs.callables import RemoteFunction
    from jupyter_funcs.combos import Combos
    from jupyter_funcs.fields import Field
    from jupyter_funcs.forms import Args
    from jupyter_funcs.progress import Progress
    from jupyter_funcs.workers import Call, Taken


class OnDask:
    """
    Takes the runs of a function from Dask's workers and leaves the results there, as a `dask.dataframe`.

    Parameters
    ----------
    function
        What is run; its option ``executor`` is Dask's.
    combos
        With which arguments.

    Raises
    ------
    ArgumentError
        The executor is another one, or `dask.dataframe` is not installed; nothing was sent.
    """

    errors_in = '.attrs["errors"]'

    def __init__(self, function: RemoteFunction, combos: Combos) -> None:
        executor: Any = function.options.executor
        if type(executor).__module__.partition(".")[0] != "distributed":
            raise ArgumentError(
                'to="dask" leaves the results on the workers of Dask, and so takes its executor.',
                'Write with_options(executor=client.get_executor(), to="dask"); a folder of that name is "./dask".',
            )
        try:
            import dask.dataframe  # noqa: F401, PLC0415  # an extra, and slow to load
        except ImportError:
            raise ArgumentError(
                "dask.dataframe is not installed.", "Install it: pip install 'dask[dataframe,distributed]'."
            ) from None
        self._leaving = _Leaving(executor)
        self._take = Taker(function, self._leaving)
        self._swept = combos.swept
        self._fields = by_name(function.fields)
        self._came: dict[int, tuple[Args, pd.DataFrame]] = {}

    async def __call__(self, args: Args, progress: Progress) -> pd.DataFrame:
        """Run it with these arguments; give some rows of the result, which tell of its dtypes."""
        return await self._take(args, progress)

    async def there(self, _runs: Sequence[Args]) -> dict[int, float]:
        """Give which of the runs need not be had; none is kept from before."""
        return {}

    def add(self, at: int, args: Args, frame: pd.DataFrame) -> None:
        """Take some rows of the run at this place."""
        self._came[at] = args, frame

    def finish(self) -> dd.DataFrame:
        """Give the results on the workers, a partition each, in the order of their places."""
        from dask.dataframe import from_delayed  # noqa: PLC0415  # as above

        from jupyter_funcs.stacking import stacked  # noqa: PLC0415  # pandas, only when there is something to stack

        came = [self._came[at] for at in sorted(self._came)]
        table = stacked(came, self._swept, self._fields).iloc[:0]
        client, left = self._leaving.client, self._leaving.left
        names = list(dict.fromkeys(name for _, frame in came for name in frame))
        about = self._swept, self._fields, names, table
        parts = [client.submit(_part, left[_name(args)], args, *about, pure=False) for args, _ in came]
        parts = parts or client.scatter([table], hash=False)
        result: dd.DataFrame = from_delayed(parts, meta=table, verify_meta=False)
        return result

    def sign(self, result: dd.DataFrame, told: dict[str, Any], errors: list[dict[str, Any]]) -> dd.DataFrame:
        """Write on the result what the sweep was, and which of its runs failed."""
        result.attrs = {"funcs": told, "errors": errors}
        return result

    def close(self) -> None:
        """Let go of what was only taken to make the result of it."""
        self._came = {}
        self._leaving.left.clear()


class _Leaving(Executor):
    """Dask's executor, which leaves what a run gave where it is."""

    def __init__(self, executor: Any) -> None:
        self._executor = executor
        self.client = executor._client  # noqa: SLF001  # there is no other way from the executor to its client
        self._how = executor._kwargs  # noqa: SLF001  # as above
        self.left: dict[str, Any] = {}

    def submit(self, run: Call, /, *_: Any, **__: Any) -> Future[Taken]:  # type: ignore[override]  # of runs alone
        left = self.client.submit(run, **{"pure": False, **self._how})
        self.left[_name(run.args)] = left
        told: Future[Taken] = self._executor.submit(_glimpse, left)
        return told


def _name(args: Args) -> str:
    return repr(sorted(args.items()))


def _glimpse(taken: Taken) -> Taken:
    """Give a run without most of its rows; on a worker."""
    if taken.frame is None:
        return taken
    rows = _telling(taken.frame)
    rows.attrs = taken.frame.attrs
    return taken._replace(frame=rows)


def _telling(frame: pd.DataFrame) -> pd.DataFrame:
    """Give the rows that decide about dtypes: of each column a value, another, a null, the least and the largest."""
    import numpy as np  # noqa: PLC0415  # as above
    import pandas as pd  # noqa: PLC0415  # as above

    from jupyter_funcs.stacking import is_numbered  # noqa: PLC0415  # as above

    rows = set(range(min(len(frame), 1)))  # also of a frame without columns: others have nulls in its place
    for at in range(frame.shape[1]):
        column = frame.iloc[:, at].reset_index(drop=True)
        known = column[column.notna()]
        rows.update(np.flatnonzero(column.isna())[:1].tolist())
        if known.empty:
            continue
        first = known.iloc[0]
        others = known[[value != first for value in known]] if known.dtype == object else known[known != first]
        rows.update([*known.index[:1].tolist(), *others.index[:1].tolist()])
        if pd.api.types.is_numeric_dtype(known) or pd.api.types.is_datetime64_any_dtype(known):
            rows.update(known.agg(["idxmin", "idxmax"]).tolist())
    few = frame.iloc[sorted(rows)]
    return few.reset_index(drop=True) if is_numbered(frame.index) else few


def _part(  # noqa: PLR0913, PLR0917  # as Dask is given it
    taken: Taken,
    args: Args,
    swept: Sequence[str],
    fields: Mapping[str, Field],
    names: Sequence[str],
    table: pd.DataFrame,
) -> pd.DataFrame:
    """Give a run's result as it stands in the table of all; on a worker."""
    import pandas as pd  # noqa: PLC0415  # as above

    from jupyter_funcs.stacking import stacked  # noqa: PLC0415  # as above

    assert taken.frame is not None
    # Beside an empty block of all columns, so that each is called here what it is called there.
    block = stacked(
        [(args, taken.frame), (args, pd.DataFrame(columns=list(names), index=pd.RangeIndex(0)))], swept, fields
    )
    leading = len(swept)
    columns: dict[Any, Any] = {}
    for at, name in enumerate(list(table)):
        if at < leading:
            column = block.iloc[:, at]
        elif name in names or name in list(block)[leading:]:
            column = block[name]
        else:  # row labels, which this block has not
            numbers = pd.Series(block.index)
            column = numbers if table[name].dtype == "int64" else table[name].reindex(block.index)
        if column.isna().all():  # of any dtype: it had no say in that of the table
            column = table[name].reindex(block.index)
        if pd.api.types.is_object_dtype(table[name]):
            values = [None if pd.api.types.is_scalar(value) and pd.isna(value) else value for value in column]
            columns[name] = pd.Series(values, dtype=object, index=block.index)
        else:
            columns[name] = column.astype(table[name].dtype)
    return pd.DataFrame(columns, index=block.index)
