"""What the parts of a panel share: the session it belongs to, and one finished run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

from jupyter_funcs.client.function import ClientLike

if TYPE_CHECKING:
    import datetime as dt

    import pandas as pd

    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.catalog.listing import Catalog
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.client.status import Status
    from jupyter_funcs.records.favourites import Favourites
    from jupyter_funcs.records.history import History
    from jupyter_funcs.records.presets import Presets


class PanelSession(ClientLike, Protocol):
    """A client with records: history, presets and favourites."""

    @property
    def catalog(self) -> Catalog: ...
    @property
    def history(self) -> History: ...
    @property
    def favourites(self) -> Favourites: ...
    @property
    def presets(self) -> Presets: ...
    def ready(self) -> Self: ...
    def refresh(self) -> Self: ...
    def status(self) -> Status: ...
    def redact(self, text: str) -> str: ...


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """One finished run, as the panel shows it."""

    function: RemoteCall
    args: Args
    frame: pd.DataFrame
    reply: bytes | None
    started: dt.datetime
    elapsed: float
    variable: str
    swept: tuple[str, ...] = ()
