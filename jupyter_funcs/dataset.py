"""Results in Parquet files as one Arrow dataset, whatever dtypes the runs gave: its schema has room for every value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow.fs import LocalFileSystem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

# Up to here every integer is a float.
_EXACT = 2**53
_UNITS = ("s", "ms", "us", "ns")


def dataset(parts: Iterable[tuple[Path, int]], columns: pa.Schema) -> ds.Dataset:
    """
    Give a dataset of row groups, in their order.

    Parameters
    ----------
    parts
        The file and the number of each row group.
    columns
        Those that lead, whether a file has them or not.
    """
    parquet, disk = ds.ParquetFileFormat(), LocalFileSystem()
    files: dict[Path, ds.ParquetFileFragment] = {}
    groups: list[ds.ParquetFileFragment] = []
    used: dict[Path, list[int]] = {}
    for path, group in parts:
        if path not in files:
            files[path] = parquet.make_fragment(str(path), disk)
            files[path].ensure_complete_metadata()
        groups.append(files[path].subset(row_group_ids=[group]))
        used.setdefault(path, []).append(group)
    schema = _unified([*columns], [_Columns(file, used[path]) for path, file in files.items()])
    return ds.FileSystemDataset(groups, schema, parquet, disk)


def signed(result: ds.Dataset, texts: dict[bytes, bytes]) -> ds.Dataset:
    """Give a dataset with texts in its schema, the rows of which are counted right."""
    signed = result.replace_schema(result.schema.with_metadata(texts))
    # Without a filter Arrow counts all rows of a file for each of its row groups.
    first = ds.field(signed.schema.names[0])
    return signed.filter(first.is_valid() | first.is_null())


class _Columns:
    """The columns of some row groups of a file."""

    def __init__(self, file: ds.ParquetFileFragment, groups: Sequence[int]) -> None:
        self.schema: pa.Schema = file.physical_schema
        self._metadata = file.metadata
        self._groups = groups

    def _statistics(self, name: str) -> list[Any]:
        at = self.schema.get_field_index(name)
        return [self._metadata.row_group(group).column(at).statistics for group in self._groups]

    def has_values(self, name: str) -> bool:
        """Say whether any value of a column is not null."""
        return any(told is None or told.num_values for told in self._statistics(name))

    def are_exact(self, name: str) -> bool:
        """Say whether all integers of a column are floats too."""
        bounds = [told for told in self._statistics(name) if told is not None and told.num_values]
        return all(told.has_min_max and told.min >= -_EXACT and told.max <= _EXACT for told in bounds)


def _unified(leading: list[pa.Field], files: Sequence[_Columns]) -> pa.Schema:
    names = dict.fromkeys([*(field.name for field in leading), *(name for file in files for name in file.schema.names)])
    known = {field.name: field.type for field in leading}
    return pa.schema([(name, _type(name, files, known.get(name))) for name in names])


def _type(name: str, files: Sequence[_Columns], otherwise: pa.DataType | None) -> pa.DataType:
    having = [file for file in files if name in file.schema.names]
    types = {file.schema.field(name).type for file in having}
    if len(types) > 1:  # those of nothing but nulls have no say
        having = [file for file in having if file.has_values(name)] or having
        types = {file.schema.field(name).type for file in having}
    if not types:
        return otherwise or pa.large_string()
    if len(types) == 1:
        return types.pop()
    if all(map(pa.types.is_integer, types)):
        return pa.int64()
    if all(_is_number(kind) for kind in types):
        whole = [file for file in having if pa.types.is_integer(file.schema.field(name).type)]
        return pa.float64() if all(file.are_exact(name) for file in whole) else pa.large_string()
    if all(map(pa.types.is_timestamp, types)) and len({kind.tz for kind in types}) == 1:
        return max(types, key=lambda kind: _UNITS.index(kind.unit))
    return pa.large_string()


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))
