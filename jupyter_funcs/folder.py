"""A folder of the person's own as the place of a sweep's results: Parquet that any tool reads, found again by key."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_funcs.errors import ArgumentError, FuncsError
from jupyter_funcs.fields import by_name
from jupyter_funcs.files import replace
from jupyter_funcs.notices import warn
from jupyter_funcs.secret import in_use
from jupyter_funcs.text import quote

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from pyarrow.dataset import Dataset

    from jupyter_funcs.callables import RemoteFunction
    from jupyter_funcs.combos import Combos
    from jupyter_funcs.forms import Args
    from jupyter_funcs.segments import Segments, Writer

NOTE = "_sweep.json"
_ELSEWHERE = "Give each sweep a folder of its own by to= or --to."
# A token shorter than this may stand in any text.
_SHORTEST = 8
_ARGUMENT = "{} (argument)"  # as `stacked` calls an argument beside a column of its name


class InFolder:
    """
    Gathers into a folder, and gives a dataset; what is there of the same runs already is not had again.

    Each file has the arguments as columns too. ``_sweep.json`` says in words that any tool reads what the sweep was.

    Parameters
    ----------
    function
        What is run; its option ``to`` names the folder.
    combos
        With which arguments.

    Raises
    ------
    ArgumentError
        The folder cannot be written, holds something else, or there is no pyarrow; nothing was sent.
    """

    def __init__(self, function: RemoteFunction, combos: Combos) -> None:
        try:
            from jupyter_funcs.segments import Segments  # noqa: PLC0415  # pandas and pyarrow, on first use
        except ImportError:
            raise ArgumentError(
                "A folder of results takes pyarrow, which is not installed.", "Install it: pip install pyarrow."
            ) from None
        self._function = function
        self._combos = combos
        self._fields = by_name(function.fields)
        self._folder = _absolute(function.options.to)
        self.errors_in = str(self._folder / NOTE)
        self._about = {
            "function": function.name,
            "service": function.session.service,
            "args": combos.constant,
            "swept": list(combos.swept),
        }
        _prepare(self._folder, self._about)
        self._segments: Segments = Segments(self._folder, plain=True)
        self._writer: Writer | None = None
        self._keys: list[str] = []
        self._left_out: list[Args] = []
        self._rows = 0

    async def there(self, runs: Sequence[Args]) -> Mapping[int, float]:
        """Give which of the runs are in the folder already, and when they were, in seconds since 1970."""
        session = self._function.session
        identity = await session.wire.identity(session.cache)
        return await asyncio.to_thread(self._look, identity, runs)

    def _look(self, identity: str, runs: Sequence[Args]) -> Mapping[int, float]:
        function = self._function
        self._keys = function.session.cache.keys(identity, function.function, function.options, runs)
        found = self._segments.find(self._keys)
        return {at: found[key].written for at, key in enumerate(self._keys) if key in found}

    def add(self, at: int, args: Args, frame: pd.DataFrame) -> None:
        """
        Keep the result of the run at this place.

        Raises
        ------
        FuncsError
            The disk is full; what is in the folder stays there.
        """
        from jupyter_funcs.stacking import stacked  # noqa: PLC0415  # as above

        block = stacked([(args, frame)], self._combos.swept, self._fields)
        block.attrs["funcs"] = frame.attrs.get("funcs", {})
        if not self._write({self._keys[at]: block}):
            self._left_out.append(args)
            warn(f"A result of {self._function.name} is not kept: it holds a token, or values that are not JSON.")

    def _write(self, blocks: Mapping[str, pd.DataFrame]) -> bool:
        self._writer = self._writer or self._segments.writer(never=_tokens)
        try:
            kept = [self._writer.add(key, block) for key, block in blocks.items()]
        except OSError as error:
            self._writer = None
            raise self._full(error) from error
        return all(kept)

    def _end_writing(self) -> None:
        writer, self._writer = self._writer, None
        try:
            if writer is not None:
                writer.close()
        except OSError as error:
            raise self._full(error) from error

    def _full(self, error: OSError) -> FuncsError:
        return FuncsError(
            f"The folder {self._folder} cannot be written any more: {error.strerror or error}.",
            "Make room, and run the same again: it goes on from what is there.",
        )

    def finish(self) -> Dataset:
        """Give a dataset of all results, each run once, in the order of their places."""
        import pyarrow as pa  # noqa: PLC0415  # as above

        from jupyter_funcs.dataset import dataset  # noqa: PLC0415  # as above
        from jupyter_funcs.stacking import stacked  # noqa: PLC0415  # as above

        self._end_writing()
        self._name_arguments_alike()
        places = self._segments.places(self._keys)
        arguments = stacked([], self._combos.swept, self._fields)
        leading = pa.Schema.from_pandas(arguments, preserve_index=False)
        parts = [(places[key][0].path, places[key][1]) for key in self._keys if key in places]
        self._rows = sum(found.rows for found in self._segments.find(self._keys).values())
        return dataset(parts, leading)

    def _name_arguments_alike(self) -> None:
        """Where one run's column differs from the argument of its name, let that argument have a name for all runs."""
        places = self._segments.places(self._keys)
        columns = {segment.path: segment.layout.names for segment, _ in places.values() if segment.layout}
        for name in self._combos.swept:
            title = _ARGUMENT.format(name)
            lacking = [key for key, (segment, _) in places.items() if title not in columns[segment.path]]
            if 0 < len(lacking) < len(places):
                blocks = self._segments.read(lacking)
                for block in blocks.values():
                    block.insert(0, title, block[name])
                self._write(blocks)
                self._end_writing()
                return self._name_arguments_alike()
        return None

    def sign(self, result: Dataset, told: dict[str, Any], errors: list[dict[str, Any]]) -> Dataset:
        """Write into the schema, and beside the files, what the sweep was and which of its runs failed."""
        from jupyter_funcs.dataset import signed  # noqa: PLC0415  # as above

        errors = [*errors, *map(_left_out, self._left_out)]
        told = {**told, "failed": len(errors), "rows": self._rows}
        with suppress(OSError):  # the results are there
            _note(self._folder, {**self._about, **told, "errors": errors})
        told["folder"] = str(self._folder)  # not in the note, which goes wherever the folder does
        texts = {b"funcs": json.dumps(told).encode(), b"errors": json.dumps(errors).encode()}
        return signed(result, texts)

    def close(self) -> None:
        """Make what was added be there for the same call."""
        with suppress(FuncsError):  # said already, or the sweep ends in any case
            self._end_writing()


def _absolute(to: str | os.PathLike[str] | None) -> Path:
    path = Path(to or "")
    with suppress(RuntimeError):  # no home folder is known
        path = path.expanduser()
    return path.absolute()


def _prepare(folder: Path, about: dict[str, Any]) -> None:
    """Make the folder be there, be of this sweep and be writable."""
    from jupyter_funcs.segment import PREFIX  # noqa: PLC0415  # as above

    if folder.is_file():
        raise ArgumentError(f"{folder} is a file, and no folder for results.", _ELSEWHERE)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = sorted(path.name for path in folder.iterdir())
        others = [name for name in names if not name.startswith((PREFIX, NOTE, "."))]
        if others:
            more = f" and {len(others) - 1:,} more" * (len(others) > 1)
            raise ArgumentError(f"The folder {folder} holds something else: {quote(others[0])}{more}.", _ELSEWHERE)
        before = _noted(folder) if NOTE in names else {}
        for key, value in about.items():
            if before.get(key, value) != value:
                then, now = quote(_shown(before[key])), quote(_shown(value))
                raise ArgumentError(f"The folder {folder} is of another sweep: {key} {then}, not {now}.", _ELSEWHERE)
        _note(folder, {**before, **about})
    except OSError as error:
        raise ArgumentError(
            f"The folder {folder} cannot be written: {error.strerror or error}.", "Give another one by to= or --to."
        ) from error


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={item}" for name, item in value.items()) or "none"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _noted(folder: Path) -> dict[str, Any]:
    try:
        noted = json.loads((folder / NOTE).read_text("utf-8"))
    except ValueError:
        noted = None
    if not isinstance(noted, dict):
        raise ArgumentError(f"{folder / NOTE} is broken: it does not say of which sweep the folder is.", _ELSEWHERE)
    return noted


def _note(folder: Path, told: dict[str, Any]) -> None:
    replace(folder / NOTE, json.dumps(told, indent=2, ensure_ascii=False) + "\n")


def _left_out(args: Args) -> dict[str, Any]:
    return {
        "args": dict(args),
        "error": "Its result holds what is not kept in files: a token, or values that are not JSON.",
        "type": "FuncsError",
        "attempts": 1,
    }


def _tokens() -> list[str]:
    return [text for text in in_use() if len(text) >= _SHORTEST]
