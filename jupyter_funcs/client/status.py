"""What `%funcs status` and `%funcs cache` show."""

from __future__ import annotations

import html
import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jupyter_funcs.core.text import inert, plural, size_text

if TYPE_CHECKING:
    from collections.abc import Mapping


class StatusTable:
    """Named lines of text, shown as a table in a notebook."""

    def _lines(self) -> list[tuple[str, str]]:
        raise NotImplementedError

    @property
    def rows(self) -> list[tuple[str, str]]:
        """The lines, each with its name."""
        return [(name, inert(text)) for name, text in self._lines() if text]

    def __repr__(self) -> str:
        return "\n".join(f"{name:<10}{text}" for name, text in self.rows)

    def _repr_html_(self) -> str:
        cells = "".join(
            f'<tr><th style="text-align: left">{name}</th><td style="text-align: left">{html.escape(text)}</td></tr>'
            for name, text in self.rows
        )
        return f"<table>{cells}</table>"


def no_functions(service: str, kind: str) -> str:
    """Return why a catalog is empty, and what to do."""
    text = f"{inert(service)} lists no functions for you."
    if kind == "service":
        text += " Ask its administrator to grant you an asset (jupyter funcs admin grants add USER ASSET)."
    return text


@dataclass(frozen=True, repr=False)
class Status(StatusTable):
    """A connection, in how many seconds it answered, its user and the time left on its token; holds no token."""

    service: str
    address: str
    user: str
    functions: int | None
    ends: float
    trouble: str = ""
    synthetic: bool = False
    kind: str = "service"
    has_token: bool = True
    answered: float | None = None
    schemes: str = ""
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def remaining(self) -> float:
        """Seconds until the token ends, at least 0; infinity if the token doesn't say."""
        return max(0.0, self.ends - time.time())

    def _lines(self) -> list[tuple[str, str]]:
        service = self.address or self.service
        if not service.endswith(self.service):
            service = f"{self.service} ({service})"
        if self.synthetic:
            service += ", synthetic data"
        user = self.user
        if self.has_token and not user:
            user = "not named by the token"
        return [
            ("service", service),
            ("kind", self.kind),
            ("answered", "" if self.answered is None else f"in {self.answered:.2f} s"),
            ("user", user),
            (
                "functions",
                "not listed" if self.functions is None else f"{self.functions:,}",
            ),
            (
                "left out",
                "; ".join(
                    f"{count:,}: {reason}" for reason, count in self.left_out.items()
                ),
            ),
            ("token", ends_in(self.ends) if self.has_token else ""),
            ("schemes", self.schemes),
            ("trouble", self.trouble),
        ]


@dataclass(frozen=True, repr=False)
class CacheStatus(StatusTable):
    """The result cache: its contents, limits and folder."""

    folder: str
    runs: int
    files: int
    size: int
    most: int
    longest: float
    oldest: float | None = None
    removed: tuple[int, int] | None = None
    trouble: str = ""

    def _lines(self) -> list[tuple[str, str]]:
        files = f" in {plural(self.files, 'file')}"
        return [
            ("removed", "" if self.removed is None else _results(*self.removed)),
            (
                "holds",
                f"{_results(self.runs, self.size)}{files}" if self.runs else "nothing",
            ),
            (
                "oldest",
                "" if self.oldest is None else f"{span(time.time() - self.oldest)} old",
            ),
            ("at most", f"{size_text(self.most)} in total, {span(self.longest)} each"),
            ("folder", self.folder),
            ("trouble", self.trouble),
        ]


def _results(count: int, size: int) -> str:
    return f"{plural(count, 'result')}, {size_text(size)}"


def ends_in(ends: float) -> str:
    """Say when a token ends, from a time in seconds since 1970."""
    seconds = ends - time.time()
    if math.isinf(ends):
        return "doesn't say when it ends"
    if seconds <= 0:
        return "has ended"
    if seconds < 60:
        seconds = math.ceil(seconds)
    return f"ends in {span(seconds)}"


def span(seconds: float) -> str:
    """Return a length of time in words: ``3 days``, ``5 s``."""
    for unit, name in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= unit:
            count = int(seconds // unit)
            return plural(count, name)
    return f"{max(0, int(seconds))} s"
