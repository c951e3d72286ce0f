"""What `%funcs status` says: which service, who asks, how many functions, and how long the token lasts."""

from __future__ import annotations

import html
import math
import time
from dataclasses import dataclass

from jupyter_funcs.text import inert


class Facts:
    """What a person is told in lines, each with a name; a table where there is one to show."""

    __slots__ = ()

    @property
    def rows(self) -> list[tuple[str, str]]:
        """What is said, each with its name."""
        raise NotImplementedError

    def __repr__(self) -> str:
        """Give a line for each."""
        return "\n".join(f"{name:<10}{text}" for name, text in self.rows)

    def _repr_html_(self) -> str:
        cells = "".join(
            f'<tr><th style="text-align: left">{name}</th><td style="text-align: left">{html.escape(text)}</td></tr>'
            for name, text in self.rows
        )
        return f"<table>{cells}</table>"


@dataclass(frozen=True, slots=True, repr=False)
class Status(Facts):
    """
    A connection as a person looks at it; holds no token.

    Attributes
    ----------
    service
        What the service is called.
    address
        Where it is; empty for the demo, which is nowhere.
    user
        Whom the token names; empty where it does not say.
    functions
        How many there are; `None` where they cannot be listed.
    ends
        When the token ends, in seconds since 1970; infinity where it does not say.
    trouble
        What is wrong, in words; empty where all is well.
    synthetic
        Whether its data are invented.
    """

    service: str
    address: str
    user: str
    functions: int | None
    ends: float
    trouble: str = ""
    synthetic: bool = False

    @property
    def remaining(self) -> float:
        """Seconds until the token ends, not less than 0; infinity where it does not say."""
        return max(0.0, self.ends - time.time())

    @property
    def rows(self) -> list[tuple[str, str]]:
        """What is said, each with its name."""
        named = f"{self.service} ({self.address})" if not self.address.endswith(self.service) else self.address
        said = [
            ("service", (named if self.address else self.service) + ", synthetic data" * self.synthetic),
            ("user", self.user or "not named by the token"),
            ("functions", "not listed" if self.functions is None else f"{self.functions:,}"),
            ("token", ends_in(self.ends)),
            ("trouble", self.trouble),
        ]
        return [(name, inert(text)) for name, text in said if text]


def ends_in(ends: float) -> str:
    """Say in words when a token ends, given in seconds since 1970."""
    seconds = ends - time.time()
    if math.isinf(ends):
        return "does not say when it ends"
    if seconds <= 0:
        return "has ended"
    return f"ends in {span(math.ceil(seconds) if seconds < 60 else seconds)}"


def span(seconds: float) -> str:
    """Say in words how long a time is: ``3 days``, ``5 s``."""
    for unit, name in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= unit:
            count = int(seconds // unit)
            return f"{count:,} {name}{'s' * (count > 1)}"
    return f"{max(0, int(seconds))} s"
