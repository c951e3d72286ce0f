"""Outcome: one finished run, as the tabs of the panel show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import datetime as dt

    import pandas as pd

    from jupyter_funcs.callables import RemoteFunction
    from jupyter_funcs.forms import Args


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """
    One finished run, as the tabs show it.

    Attributes
    ----------
    function
        What was run.
    args
        What was sent.
    frame
        What came of it; its ``attrs["funcs"]`` says more.
    reply
        The reply's body as it came, decompressed; ``None`` when it was not kept, as for one of more than 64 MiB.
    started
        When, in UTC.
    elapsed
        Seconds from the start to the frame.
    where
        What `connect` takes to come back; empty for what is configured, and for the demo.
    variable
        The notebook variable that holds the frame; empty for none.
    swept
        The wire names of the arguments that are lists of values, of which each was run with; empty for one run.
    """

    function: RemoteFunction
    args: Args
    frame: pd.DataFrame
    reply: bytes | None
    started: dt.datetime
    elapsed: float
    where: str
    variable: str
    swept: tuple[str, ...] = ()
