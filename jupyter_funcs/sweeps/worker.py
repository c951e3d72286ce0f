"""What a worker does of a sweep: one run, here or in a process that connects by itself; no token goes there."""

from __future__ import annotations

import itertools
import os
import threading
import uuid
import weakref
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from jupyter_funcs import loop
from jupyter_funcs.errors import ConfigError, FuncsError
from jupyter_funcs.notices import kept_in
from jupyter_funcs.progress import Progress
from jupyter_funcs.retries import Purpose
from jupyter_funcs.secret import redacted_all

if TYPE_CHECKING:
    from concurrent.futures import Future

    import pandas as pd

    from jupyter_funcs.callables import RemoteFunction
    from jupyter_funcs.forms import Args
    from jupyter_funcs.options import Options
    from jupyter_funcs.session import Session


class Place(NamedTuple):
    """
    Where a worker's runs go: what another process connects with, and what this one finds the session by.

    Attributes
    ----------
    where
        What `connect` is given there; empty for what the environment names, and for the demo.
    address
        The service's address, which must be the same there; empty for the demo.
    is_given
        Whether the token was given in Python, and so is to be had in this process alone.
    key
        Names the session within this process.
    """

    where: str
    address: str
    is_given: bool
    key: str


class Taken(NamedTuple):
    """
    What came of a run: an executor carries an error faithfully as a value, but not as what is raised.

    Attributes
    ----------
    frame, error
        One of them.
    warnings
        What the person is to be warned of.
    """

    frame: pd.DataFrame | None
    error: FuncsError | None
    warnings: list[str]


@dataclass(frozen=True, slots=True)
class Call:
    """One run: plain values, so that any executor can carry it."""

    place: Place
    function: str
    args: Args
    options: Options
    number: int

    def __call__(self) -> Taken:
        """Run it, on a thread that waits; never raises for what a run can fail with."""
        said: list[str] = []
        running = self.place.key, self.number
        try:
            wire = _session(self.place).wire
            work = wire.run(self.function, self.args, self.options, Progress(), Purpose.SWEEP)
            with kept_in(said):
                future = _running[running] = loop.start(work)
            return Taken(loop.wait(future), None, said)
        except FuncsError as error:
            return Taken(None, error, said)
        except Exception as error:  # noqa: BLE001  # not every exception can be carried to another process
            return Taken(None, failed(error), said)
        finally:
            _running.pop(running, None)

    @property
    def __name__(self) -> str:
        """What a cluster's own displays call it."""
        return self.function

    def cancel(self) -> None:
        """Stop it where it goes on in this process; elsewhere it ends by its own deadline."""
        if (future := _running.get((self.place.key, self.number))) is not None:
            future.cancel()


def place_of(session: Session) -> Place:
    """Give where a session's runs go."""
    where = session.address if session.is_given else session.where
    place = Place(where, session.address, session.is_given, f"{_process}.{id(session)}")
    _here[place.key] = session
    return place


def call(function: RemoteFunction, place: Place, args: Args) -> Call:
    """Give a run that an executor can carry: without those of the options that are for a whole sweep."""
    options = function.options
    carried = replace(options, schema=dict(options.schema) if options.schema else None, executor=None, to=None)
    return Call(place, function.name, args, carried, next(_numbers))


def failed(error: BaseException) -> FuncsError:
    """Give an error of this package for any other."""
    text = redacted_all(str(error)).strip()
    return FuncsError(f"The executor failed: {type(error).__name__}{f': {text}' if text else ''}.", _HINT)


_HINT = "Try one run without executor=, then look at the log of its workers."
_numbers = itertools.count()
_running: dict[tuple[str, int], Future[pd.DataFrame]] = {}
_here: weakref.WeakValueDictionary[str, Session] = weakref.WeakValueDictionary()
_there: dict[Place, Session] = {}
_lock = threading.Lock()
_process = uuid.uuid4().hex


def _session(place: Place) -> Session:
    if (session := _here.get(place.key)) is not None:
        return session
    with _lock:  # one connection a process, however many threads it has
        if place not in _there:
            _there[place] = _connected(place)
        return _there[place]


def _connected(place: Place) -> Session:
    import jupyter_funcs  # noqa: PLC0415  # upwards: in another process nobody has connected yet

    try:
        session = jupyter_funcs.connect(place.where or None)
    except ConfigError as error:
        if place.is_given:
            raise ConfigError(
                "The token was given in Python, and does not leave that process: this executor's workers have none.",
                "Connect with a profile that the workers have too, or set FUNCS_BASE_URL and FUNCS_TOKEN for them.",
            ) from None
        raise ConfigError(f"A worker of the executor cannot connect: {error.what}", error.hint) from None
    if session.address != place.address:
        there = session.address or "the demo"
        raise ConfigError(
            f"A worker of the executor is set up for {there}, and not for {place.address or 'the demo'}.",
            "Give the workers the same profiles and FUNCS_ variables as this process has.",
        )
    return session


def _forget() -> None:
    # What was forked is another process: it connects by itself, and its parent's runs go on in the parent.
    global _lock, _process
    _lock, _process = threading.Lock(), uuid.uuid4().hex
    _running.clear()
    _here.clear()
    _there.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
