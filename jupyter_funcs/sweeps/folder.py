"""
Results in a folder: Parquet files that any tool reads, returned as one Arrow dataset and reused by the same call.

Or in a temporary one, whose files Dask's own reader opens.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import weakref
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow.fs import LocalFileSystem

from jupyter_funcs.catalog.fields import fields_named
from jupyter_funcs.client.cache import run_keys
from jupyter_funcs.connection.secrets import long_secrets, redacted_values
from jupyter_funcs.core.errors import ArgumentError, FuncsError
from jupyter_funcs.core.files import atomic_write_text, expanded, read_small
from jupyter_funcs.core.json_decoding import JsonObject, read_object
from jupyter_funcs.core.text import quote, some
from jupyter_funcs.core.warn import MissingRowsWarning, warn
from jupyter_funcs.frames.columns import MAX_EXACT, named_by_texts
from jupyter_funcs.frames.parquet import PREFIX
from jupyter_funcs.frames.store import Segments, SegmentWriter
from jupyter_funcs.sweeps.stacking import ARGUMENT, stacked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import dask.dataframe as dd

    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.sweeps.combinations import Combos

NOTE = "_sweep.json"
_LARGEST_NOTE = 2**28  # bytes
_OTHER_FOLDER = "Use a different folder for each sweep (to= or --to)."


class FolderResults:
    """
    Stores results in the folder that `to=` names, and returns a dataset of them.

    Each file has the arguments as columns too. ``_sweep.json`` describes the sweep and lists its failed runs.
    """

    _forbidden = staticmethod(long_secrets)

    def __init__(self, function: RemoteCall, combos: Combos) -> None:
        self._function = function
        self._swept = fields_named(function.fields, combos.swept)
        self._about = {
            "function": function.name,
            "service": function.session.service,
            "args": redacted_values(combos.constant),
            "swept": list(combos.swept),
        }
        self._folder = self._open()
        self._segments = Segments(self._folder)
        self._writer: SegmentWriter | None = None
        self._keys: list[str] = []
        self._omitted: list[JsonObject] = []

    @property
    def errors_in(self) -> str:
        return str(self._folder / NOTE)

    def _open(self) -> Path:
        folder = expanded(self._function.options.to or "").absolute()
        _prepare(folder, self._about)
        return folder

    async def find(self, runs: Sequence[Args]) -> Mapping[int, float]:
        session = self._function.session
        identity = await session.remote.identity(self._function.function, session.cache)
        return await asyncio.to_thread(self._find, identity, runs)

    def _find(self, identity: str, runs: Sequence[Args]) -> Mapping[int, float]:
        function = self._function
        note = _read_note(self._folder)
        if note.get("identity", identity) != identity:
            raise ArgumentError(
                f"The folder {self._folder} has results of another source or account.",
                _OTHER_FOLDER,
            )

        self._about["identity"] = identity  # a salted hash
        with self._writing():
            _write_note(self._folder, {**note, **self._about})
        self._keys = run_keys(identity, function.function, function.options, runs)
        results = self._segments.find(self._keys)
        return {
            at: results[key].written
            for at, key in enumerate(self._keys)
            if key in results
        }

    def add(self, at: int, args: Args, frame: pd.DataFrame) -> None:
        block = stacked([(args, frame)], self._swept)
        if not all(type(name) is str for name in block.columns):
            block = named_by_texts(block)
        block.attrs["funcs"] = frame.attrs.get("funcs", {})
        if not self._write({self._keys[at]: block}):
            text = f"A result of {self._function.name} isn't stored: it holds a token, or values that aren't JSON."
            self._omitted.append(
                {
                    "args": redacted_values(args),
                    "error": text,
                    "type": "FuncsError",
                    "attempts": 1,
                }
            )
            warn(MissingRowsWarning(text))

    def _write(self, blocks: Mapping[str, pd.DataFrame]) -> bool:
        self._writer = self._writer or self._segments.writer(forbidden=self._forbidden)
        with self._writing():
            written = [self._writer.add(key, block) for key, block in blocks.items()]
        return all(written)

    def _flush(self) -> None:
        if self._writer:
            with self._writing():
                self._writer.close()
            self._writer = None

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._writer = None
            raise FuncsError(
                f"Cannot write to the folder {self._folder}: {error.strerror or error}.",
                "Free some space, then run the same sweep again.",
            ) from error

    def finish(self, about: JsonObject, errors: list[JsonObject]) -> ds.Dataset:
        """Return a dataset of all results in order; its schema and ``_sweep.json`` describe the sweep."""
        dataset = self._dataset()
        rows = sum(result.count for result in self._segments.find(self._keys).values())
        errors = [*errors, *self._omitted]
        about = {**about, "failed": len(errors), "rows": rows}
        with suppress(OSError):  # the results are there
            _write_note(self._folder, {**self._about, **about, "errors": errors})
        # Not in the note, which may be moved with the folder.
        about["folder"] = str(self._folder)
        metadata = {
            b"funcs": json.dumps(about).encode(),
            b"errors": json.dumps(errors).encode(),
        }
        dataset = dataset.replace_schema(dataset.schema.with_metadata(metadata))
        # Without a filter, Arrow counts all rows of a file for each of its row groups.
        first = ds.field(dataset.schema.names[0])
        return dataset.filter(first.is_valid() | first.is_null())

    def _dataset(self) -> ds.Dataset:
        """Return a dataset of all results, one fragment each, in order."""
        self._flush()
        self._unify_arguments()
        located = self._segments.locate(self._keys)
        groups = [
            (located[key][0].path, located[key][1])
            for key in self._keys
            if key in located
        ]
        names = {
            name
            for segment, _ in located.values()
            if segment.layout
            for name in segment.layout.names
        }
        arguments = stacked([], self._swept)
        titles = {
            name: ARGUMENT.format(name)
            for name in arguments
            if ARGUMENT.format(name) in names
        }
        return _dataset(
            groups,
            pa.Schema.from_pandas(
                arguments.rename(columns=titles), preserve_index=False
            ),
        )

    def _unify_arguments(self) -> None:
        """If some results have a column ``S (argument)``, add it to the others too."""
        for name in self._swept:
            located = self._segments.locate(self._keys)
            title = ARGUMENT.format(name)
            layouts = {key: segment.layout for key, (segment, _) in located.items()}
            lacking = [
                key
                for key, layout in layouts.items()
                if layout and title not in layout.names
            ]
            if 0 < len(lacking) < len(located):
                blocks = self._segments.read(lacking)
                for block in blocks.values():
                    block.insert(0, title, block[name])
                self._write(blocks)
                self._flush()

    def close(self) -> None:
        """Finish the files, so that the same call finds what was added."""
        # Raised before, or the sweep ends with another error.
        with suppress(FuncsError):
            self._flush()


def _prepare(folder: Path, about: JsonObject) -> None:
    """Create the folder if needed, and check that it is writable and has no other content."""
    if folder.is_file():
        raise ArgumentError(f"{folder} is a file, not a folder.", _OTHER_FOLDER)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = sorted(path.name for path in folder.iterdir())
        others = [name for name in names if not name.startswith((PREFIX, NOTE, "."))]
        if others:
            raise ArgumentError(
                f"The folder {folder} has other content: {some(list(map(quote, others)), 1)}.",
                _OTHER_FOLDER,
            )
        note = {}
        if NOTE in names:
            note = _read_note(folder)
        for key, value in about.items():
            if note.get(key, value) != value:
                change = f"{key} {quote(_shown(note[key]))}, not {quote(_shown(value))}"
                raise ArgumentError(
                    f"The folder {folder} belongs to another sweep: {change}.",
                    _OTHER_FOLDER,
                )
        _write_note(folder, {**note, **about})
    except OSError as error:
        raise ArgumentError(
            f"Cannot write to the folder {folder}: {error.strerror or error}.",
            "Choose another one (to= or --to).",
        ) from error


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={item}" for name, item in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)


def _read_note(folder: Path) -> JsonObject:
    note = read_object(read_small(folder / NOTE, _LARGEST_NOTE))
    if not note:
        raise ArgumentError(
            f"{folder / NOTE} is broken: it doesn't describe a sweep.", _OTHER_FOLDER
        )
    return note


def _write_note(folder: Path, note: JsonObject) -> None:
    atomic_write_text(
        folder / NOTE, json.dumps(note, indent=2, ensure_ascii=False) + "\n"
    )


def _dataset(groups: Sequence[tuple[Path, int]], leading: pa.Schema) -> ds.Dataset:
    """Return a dataset of row groups, in order, whose schema can hold every value."""
    parquet = ds.ParquetFileFormat()
    disk = LocalFileSystem()
    whole: dict[Path, ds.ParquetFileFragment] = {}
    used: dict[Path, list[int]] = {}
    for path, group in groups:
        if path not in whole:
            whole[path] = parquet.make_fragment(str(path), disk)
            whole[path].ensure_complete_metadata()
        used.setdefault(path, []).append(group)

    files = [
        whole[path].subset(row_group_ids=numbers) for path, numbers in used.items()
    ]
    defaults = {field.name: field.type for field in leading}
    names = dict.fromkeys(
        [*defaults, *(name for file in files for name in file.physical_schema.names)]
    )
    schema = pa.schema(
        [(name, _common_type(name, files, defaults.get(name))) for name in names]
    )
    fragments = [whole[path].subset(row_group_ids=[group]) for path, group in groups]
    return ds.FileSystemDataset(fragments, schema, parquet, disk)


def _common_type(
    name: str, files: Sequence[ds.ParquetFileFragment], default: pa.DataType | None
) -> pa.DataType:
    """Return an Arrow type that holds a column's values in all files."""
    types = _types_in(files, name)
    if not types:
        return default or pa.large_string()
    try:
        schemas = [pa.schema([(name, kind)]) for kind in types.values()]
        common = (
            pa.unify_schemas(schemas, promote_options="permissive").field(name).type
        )
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.large_string()

    integers = [file for file, kind in types.items() if pa.types.is_integer(kind)]
    is_exact = not pa.types.is_floating(common) or all(
        _has_exact_floats(file, name) for file in integers
    )
    if is_exact:
        return common
    return pa.large_string()


def _types_in(
    files: Sequence[ds.ParquetFileFragment], name: str
) -> dict[ds.ParquetFileFragment, pa.DataType]:
    """Return the types of a column by file, without files where it has only nulls; several zones as UTC."""
    types = {
        file: file.physical_schema.field(name).type
        for file in files
        if name in file.physical_schema.names
    }
    if len(set(types.values())) > 1:
        types = {
            file: kind for file, kind in types.items() if _has_values(file, name)
        } or types

    zones = {getattr(kind, "tz", None) for kind in types.values()}
    if len(zones) > 1 and None not in zones:
        types = {file: pa.timestamp(kind.unit, "UTC") for file, kind in types.items()}
    return types


def _has_values(fragment: ds.ParquetFileFragment, name: str) -> bool:
    return any(
        group is None or group.num_values for group in statistics(fragment, name)
    )


def _has_exact_floats(fragment: ds.ParquetFileFragment, name: str) -> bool:
    """Return whether all integers of a column have an exact float."""
    groups = [
        group
        for group in statistics(fragment, name)
        if group is not None and group.num_values
    ]
    return all(
        group.has_min_max and group.min >= -MAX_EXACT and group.max <= MAX_EXACT
        for group in groups
    )


def statistics(fragment: ds.ParquetFileFragment, name: str) -> list[Any]:
    """Return a column's statistics by row group with rows; ``None`` if unknown, or without such a column."""
    at = fragment.physical_schema.get_field_index(name)
    groups = [
        fragment.metadata.row_group(group.id)
        for group in fragment.row_groups
        if group.num_rows
    ]
    return [None if at < 0 else group.column(at).statistics for group in groups]


# For Dask

# Folders that the cluster may still be reading; they are removed when Python exits.
_in_use: list[tempfile.TemporaryDirectory[str]] = []


class DaskResults(FolderResults):
    """Returns a `dask.dataframe` with one partition per run, read from files that live as long as it does."""

    errors_in = '.attrs["errors"]'
    _forbidden = staticmethod(list[str])  # nobody else can read the folder

    def __init__(self, function: RemoteCall, combos: Combos) -> None:
        if (
            type(function.options.executor).__module__.partition(".")[0]
            != "distributed"
        ):
            raise ArgumentError(
                'to="dask" returns a dask.dataframe, and needs Dask\'s executor.',
                'Use with_options(executor=client.get_executor(), to="dask"), or to="./dask" for a folder.',
            )

        try:
            import dask.dataframe  # noqa: F401  # optional, and slow to import
        except ImportError:
            raise ArgumentError(
                "dask.dataframe isn't installed.",
                "Install it: pip install 'dask[dataframe,distributed]'.",
            ) from None

        super().__init__(function, combos)

    def _open(self) -> Path:
        import dask

        parent = dask.config.get("temporary-directory", None)
        try:
            temporary = tempfile.TemporaryDirectory(
                prefix="jupyter_funcs-", dir=parent, ignore_cleanup_errors=True
            )
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

    def finish(self, about: JsonObject, errors: list[JsonObject]) -> dd.DataFrame:
        import dask.dataframe as dd

        with self._writing():
            paths = self._write_parts(self._dataset())
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
        frame = dataset.schema.empty_table().to_pandas(
            types_mapper={pa.large_string(): pd.StringDtype()}.get
        )
        for name, column in frame.items():
            groups = [
                group
                for fragment in fragments
                for group in statistics(fragment, str(name))
            ]
            if column.dtype.kind in "iub" and any(
                group is None or group.null_count for group in groups
            ):
                frame[name] = column.convert_dtypes()

        # From this metadata, readers know pandas' dtypes.
        schema = dataset.schema.with_metadata(
            pa.Schema.from_pandas(frame, preserve_index=False).metadata
        )
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


def _release(
    folder: tempfile.TemporaryDirectory[str], client: weakref.ref[Any]
) -> None:
    """Remove the files of a result that is gone, unless the cluster may still be reading them."""
    cluster = client()
    if cluster is not None and cluster.futures:
        _in_use.append(folder)
    else:
        folder.cleanup()
