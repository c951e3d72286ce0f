"""
A client with records: the history, the presets, the favourites and the lock.

It is what a panel needs of a session. `Session` is on top of it in the API, which the panel must not import.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from jupyter_funcs.client.client import Client
from jupyter_funcs.core.files import own_path
from jupyter_funcs.records.favourites import Favourites
from jupyter_funcs.records.history import History
from jupyter_funcs.records.lock import LockChecker
from jupyter_funcs.records.presets import Presets, presets_file

if TYPE_CHECKING:
    from jupyter_funcs.catalog.listing import Catalog
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.client.jobs import Job

CallT_co = TypeVar("CallT_co", bound="RemoteCall", covariant=True)


class RecordedClient(Client[CallT_co]):
    """A client whose runs are in the history, and are compared with the lock."""

    @cached_property
    def lock_checker(self) -> LockChecker:
        """Compares the functions that run with ``funcs.lock``."""
        return LockChecker(self.address or "demo")

    @property
    def history(self) -> History:
        """The runs on this service in this kernel: ``funcs.history.get(3)``, ``funcs.history.again(3)``."""
        return History(self)

    @cached_property
    def favourites(self) -> Favourites:
        """The favourite and recent functions."""
        return Favourites(self.address or "demo", own_path("favourites.json"))

    @cached_property
    def presets(self) -> Presets:
        """The presets of this profile: named values for forms."""
        return Presets("demo" if self._connection.synthetic else self.service, presets_file())

    def on_run(self, function: RemoteCall, job: Job) -> None:
        """Add a run that has started to the history; note how its function differs from the lock."""
        self.history.add(function, job)
        if note := self.lock_checker.check(function.function):
            job.note(note)

    def _replace_catalog(self, catalog: Catalog) -> None:
        super()._replace_catalog(catalog)
        self.__dict__.pop("lock_checker", None)
