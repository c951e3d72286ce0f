"""A result saved to a file: the format, the file's name, and Save."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import html
from pathlib import Path
from typing import TYPE_CHECKING

import ipywidgets as w

from jupyter_funcs.core import background
from jupyter_funcs.core.text import clip, inert, size_text
from jupyter_funcs.frames.display import bad_html
from jupyter_funcs.frames.export import save
from jupyter_funcs.panel.shared.parts import lines_of, status_html

if TYPE_CHECKING:
    from concurrent.futures import Future

    from jupyter_funcs.frames.export import Format
    from jupyter_funcs.panel.shared.outcome import Outcome
    from jupyter_funcs.panel.shared.parts import Guard, Parts

_FORMATS: list[tuple[str, Format]] = [("CSV", "csv"), ("Excel", "xlsx"), ("Parquet", "parquet"), ("JSON", "json")]
_LONGEST_SLUG = 60


class SaveBar(w.HBox):  # type: ignore[misc]  # ipywidgets has no types
    """Save the result that is shown; a file that is there already is replaced only after a question."""

    def __init__(self, guard: Guard, parts: Parts) -> None:
        self.saving: Future[None] | None = None
        self._outcome: Outcome | None = None
        self._suggested = ""
        self._replaces: Path | None = None  # the file that a person was asked about
        self.format = parts.dropdown("Save as", "jf-format", options=_FORMATS)
        # The CSS hides this label from the eye and leaves it to those who listen.
        self.file = parts.text("File", "jf-file", tooltip="The file's name, in the notebook's folder or with a path")
        self.button = parts.button("Save", "jf-save", guard(lambda _: self.save()), icon="download")
        self.said = parts.html()
        super().__init__(
            [self.format, self.file, self.button, self.said], layout=parts.layout, _dom_classes=("jf-row", "jf-saving")
        )
        self.format.observe(guard(lambda _: self._suggest()), "value")
        self.file.observe(guard(lambda _: self._named()), "value")

    def show(self, outcome: Outcome) -> None:
        """Offer to save another result."""
        before, self._outcome = self._outcome, outcome
        if before is not None and before.frame is outcome.frame:
            return
        if before is None or before.function is not outcome.function:
            self.file.value = self._suggested  # what was typed was for the other function
            self._suggest()
        self._reset()

    def save(self) -> None:
        """Save in the background, or ask first where there is such a file."""
        if self._outcome is None or self.button.disabled:
            return
        name = self.file.value.strip()
        if not name:
            self._say(bad_html(["There is no name to save under.", "Write a file's name before Save."]))
            return
        path, is_folder, is_there = _place(name)
        if is_folder:
            self._say(bad_html([f"{_shown(path)} is a folder.", "Write a file's name behind it."]))
        elif is_there and path != self._replaces:
            self._replaces = path
            self.button.description, self.button.button_style = "Replace it", "warning"
            self._say(html.escape(f"{_shown(path)} is there already."))
        else:
            self.button.disabled = True
            self._say("Saving…")
            self.saving = background.start(self._save(self._outcome, path, self.format.value))

    async def _save(self, outcome: Outcome, path: Path, written: Format) -> None:
        try:
            await asyncio.to_thread(save, outcome.frame, path, written)
            size = await asyncio.to_thread(lambda: path.stat().st_size)
            said = html.escape(f"Saved: {_shown(path)} · {size_text(size)}")
        except Exception as error:  # noqa: BLE001  # an exception on the loop is seen by nobody
            said = bad_html(lines_of(error))
        self._reset()
        self.button.disabled = False
        self._say(said)

    def _suggest(self) -> None:
        """Give the file a name by the function and the day, or what a person wrote the ending of the format."""
        if self._outcome is None:
            return
        ending = self.format.value
        if self.file.value == self._suggested:
            slug = self._outcome.function.slug[:_LONGEST_SLUG]
            self._suggested = f"{slug}-{dt.datetime.now().astimezone():%Y-%m-%d}.{ending}"
            self.file.value = self._suggested
        else:
            stem, known = _parted(self.file.value)
            self.file.value = f"{stem if known else self.file.value}.{ending}"

    def _named(self) -> None:
        """Take the format from the name that a person wrote: a file holds what its ending says."""
        self._reset()
        if ending := _parted(self.file.value.strip())[1]:
            self.format.value = ending

    def _reset(self) -> None:
        """Forget the question: it was about another file, or another result."""
        self._replaces = None
        self.button.description, self.button.button_style = "Save", ""
        self._say("")

    def _say(self, said: str) -> None:
        self.said.value = status_html(said)


def _place(name: str) -> tuple[Path, bool, bool]:
    """Give the path that a person has written, whether it is a folder, and whether there is anything."""
    path = Path(name)
    with contextlib.suppress(RuntimeError):  # ~name, of nobody
        path = path.expanduser()
    path = path.absolute()
    with contextlib.suppress(OSError, ValueError):  # no name for a file, which the writing says in words
        return path, path.is_dir(), path.exists()
    return path, False, False


def _shown(path: Path) -> str:
    return clip(inert(str(path)), 300)


def _parted(name: str) -> tuple[str, str]:
    """Give what stands before a file name's ending, and the format that this is; empty where it is none."""
    stem, dot, ending = name.rpartition(".")
    return stem, ending.lower() if dot and ending.lower() in {one for _, one in _FORMATS} else ""
