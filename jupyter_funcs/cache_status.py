"""What `%funcs cache` says: where results are kept, how many, how large and how old, and what was removed."""

from __future__ import annotations

import time
from dataclasses import dataclass

from jupyter_funcs.status import Facts, span
from jupyter_funcs.text import in_units, inert


@dataclass(frozen=True, slots=True, repr=False)
class CacheStatus(Facts):
    """
    The cache as a person looks at it.

    Attributes
    ----------
    folder
        Where it is.
    runs
        How many results are there.
    files, size
        In how many files, of how many bytes in all.
    most
        Bytes that they take at most.
    longest
        Seconds that one is kept at most.
    oldest
        When the oldest was run, in seconds since 1970; ``None`` where there are none.
    removed
        How many results were removed just now, and their bytes; ``None`` where nothing was to be.
    trouble
        Why nothing is kept, in words; empty while results are.
    """

    folder: str
    runs: int
    files: int
    size: int
    most: int
    longest: float
    oldest: float | None = None
    removed: tuple[int, int] | None = None
    trouble: str = ""

    @property
    def rows(self) -> list[tuple[str, str]]:
        """What is said, each with its name."""
        files = f" in {self.files:,} file{'s' * (self.files != 1)}"
        said = [
            ("removed", "" if self.removed is None else _results(self.removed[0], self.removed[1])),
            ("holds", f"{_results(self.runs, self.size)}{files}" if self.runs else "nothing"),
            ("oldest", "" if self.oldest is None else f"{span(time.time() - self.oldest)} old"),
            ("at most", f"{in_units(self.most)} in all, {span(self.longest)} each"),
            ("folder", self.folder),
            ("trouble", self.trouble),
        ]
        return [(name, inert(text)) for name, text in said if text]


def _results(count: int, size: int) -> str:
    return f"{count:,} result{'s' * (count != 1)}, {in_units(size)}"
