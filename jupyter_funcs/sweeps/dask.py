"""Results for Dask: Parquet files in a temporary folder, which Dask's own reader opens."""

from __future__ import annotations

import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.sweeps.folder import FolderResults, statistics

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import dask.dataframe as dd
    import pyarrow.dataset as ds

    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.core.json_decoding import JsonObject
    from jupyter_funcs.sweeps.combinations import Combos

# Folders that the cluster may still be reading; they are removed when Python exits.
_in_use: list[tempfile.TemporaryDirectory[str]] = []


class DaskResults(FolderResults):
    """Returns a `dask.dataframe` with one partition per run, read from files that live as long as it does."""

    errors_in = '.attrs["errors"]'

    def __init__(self, function: RemoteCall, combos: Combos) -> None:
        if type(function.options.executor).__module__.partition(".")[0] != "distributed":
            raise ArgumentError(
                'to="dask" returns a dask.dataframe, and needs Dask\'s executor.',
                'Use with_options(executor=client.get_executor(), to="dask"), or to="./dask" for a folder.',
            )
        try:
            import dask.dataframe  # noqa: F401  # optional, and slow to import
        except ImportError:
            raise ArgumentError(
                "dask.dataframe isn't installed.", "Install it: pip install 'dask[dataframe,distributed]'."
            ) from None
        super().__init__(function, combos)

    def _open(self) -> Path:
        import dask

        parent = dask.config.get("temporary-directory", None)
        try:
            temporary = tempfile.TemporaryDirectory(prefix="jupyter_funcs-", dir=parent, ignore_cleanup_errors=True)
        except OSError as error:
            raise ArgumentError(
                f"Cannot create a temporary folder: {error.strerror or error}: {error.filename}.",
                "Set Dask's temporary-directory to a folder that you can write to.",
            ) from error
        self._temporary = temporary
        self._is_finished = False
        return Path(self._temporary.name)

    async def find(self, runs: Sequence[Args]) -> Mapping[int, float]:
        """Return no runs: the folder is new."""
        self._keys = list(map(str, range(len(runs))))
        return {}

    def _forbidden(self) -> list[str]:
        return []  # nobody else can read the folder

    def finish(self, about: JsonObject, errors: list[JsonObject]) -> dd.DataFrame:
        import dask.dataframe as dd

        try:
            paths = self._write_parts(self._dataset())
        except OSError as error:
            raise self._write_error(error) from error
        result: dd.DataFrame = dd.read_parquet(paths, split_row_groups=False)
        errors = [*errors, *self._omitted]
        result.attrs = {"funcs": {**about, "failed": len(errors)}, "errors": errors}
        executor: Any = self._function.options.executor
        client = weakref.ref(executor._client)  # noqa: SLF001  # Dask's executor has no public name for it
        weakref.finalize(result.expr, _release, self._temporary, client)
        self._is_finished = True
        return result

    def _write_parts(self, dataset: ds.Dataset) -> list[str]:
        """Write one file per run with the same columns in each, and remove the segments."""
        fragments = list(dataset.get_fragments())
        frame = dataset.schema.empty_table().to_pandas(types_mapper={pa.large_string(): pd.StringDtype()}.get)
        for name, column in frame.items():
            groups = [group for fragment in fragments for group in statistics(fragment, str(name))]
            if column.dtype.kind in "iub" and any(group is None or group.null_count for group in groups):
                frame[name] = column.convert_dtypes()
        # From this metadata, readers know pandas' dtypes.
        schema = dataset.schema.with_metadata(pa.Schema.from_pandas(frame, preserve_index=False).metadata)
        tables = (fragment.to_table(schema=dataset.schema) for fragment in fragments)
        paths = []
        for number, table in enumerate(tables if fragments else [schema.empty_table()]):
            paths.append(str(self._folder / f"part-{number:06}.parquet"))
            pq.write_table(table.replace_schema_metadata(schema.metadata), paths[-1])
        self._segments.clear()
        return paths

    def close(self) -> None:
        """Remove the folder, unless a result was made of it."""
        super().close()
        if not self._is_finished:
            self._temporary.cleanup()


def _release(folder: tempfile.TemporaryDirectory[str], client: weakref.ref[Any]) -> None:
    """Remove the files of a result that is gone, unless the cluster may still be reading them."""
    cluster = client()
    if cluster is not None and cluster.futures:
        _in_use.append(folder)
    else:
        folder.cleanup()
