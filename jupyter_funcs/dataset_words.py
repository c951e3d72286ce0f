"""What a folder's dataset says of the sweep that it is of, read from its schema, with no pyarrow imported for it."""

from __future__ import annotations

import json
from typing import Any

from jupyter_funcs.text import inert


def told_of(dataset: object) -> dict[str, Any]:
    """Give what a sweep wrote into the schema of its dataset; nothing of any other object."""
    written = getattr(getattr(dataset, "schema", None), "metadata", None)
    try:
        told = json.loads(written[b"funcs"]) if isinstance(written, dict) and b"funcs" in written else None
    except ValueError:  # of somebody else's making
        return {}
    return told if isinstance(told, dict) else {}


def dataset_text(dataset: Any) -> str:
    """Say what is in the dataset of a sweep and how it is read; of any other dataset, what it says itself."""
    told = told_of(dataset)
    if not {"rows", "runs", "function", "folder"} <= told.keys():
        return repr(dataset)
    rows, runs, failed, columns = told["rows"], told["runs"], told.get("failed", 0), len(dataset.schema.names)
    shape = f"{rows:,} row{'s' * (rows != 1)} × {columns:,} column{'s' * (columns != 1)}"
    of = f"{runs:,} run{'s' * (runs != 1)} of {inert(told['function'])}{f', {failed:,} failed' * bool(failed)}"
    return f"<Dataset: {shape} from {of}, in {inert(told['folder'])}>\n.to_table().to_pandas() gives the DataFrame."
