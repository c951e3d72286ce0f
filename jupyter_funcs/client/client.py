"""A connection, its catalog, and the functions in it."""

from __future__ import annotations

import asyncio
import inspect
import math
import os
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections import Counter
from concurrent import futures
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypeVar

from jupyter_funcs.catalog.fields import read_fields
from jupyter_funcs.catalog.schemas import Schemas
from jupyter_funcs.client.cache import Cache
from jupyter_funcs.client.remote import LIST_SECONDS, Remote
from jupyter_funcs.client.status import Status, ends_in, no_functions
from jupyter_funcs.connection.login import KeyringUnavailableError, Login, OAuth
from jupyter_funcs.connection.profiles import (
    NO_TOKEN,
    Connection,
    auth_name,
    config_problem,
)
from jupyter_funcs.connection.secrets import redacted_all
from jupyter_funcs.connection.tokens import (
    Constant,
    FromEnvironment,
    FromFile,
    FromFunction,
)
from jupyter_funcs.connection.transport import OUTAGES, Transport
from jupyter_funcs.core import background
from jupyter_funcs.core.background import with_deadline
from jupyter_funcs.core.errors import (
    CircuitOpenError,
    ConfigError,
    FuncsError,
    NotFoundError,
)
from jupyter_funcs.core.json_decoding import only
from jupyter_funcs.core.text import clip, listed, nearest, plural, quote
from jupyter_funcs.core.warn import collect_warnings, warn, warn_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd

    from jupyter_funcs.catalog.listing import Catalog, Function
    from jupyter_funcs.client.jobs import Job
    from jupyter_funcs.connection.http import AnyTransport
    from jupyter_funcs.connection.secrets import Hidden, Secret

    # The second on the steady clock.
    _EarlyListing = tuple[Catalog, float, list[UserWarning]]

CallT_co = TypeVar("CallT_co", covariant=True)

_KINDS = {
    "service": "data service",
    "openapi": "OpenAPI document",
    "mcp": "MCP server",
    "python": "Python",
}
LOGIN_SECONDS = 20.0
_ENDS_SOON = 600.0  # seconds; warn of a token that ends sooner
# Seconds. A refused run lists the functions again only if the listing is older: most refusals are about a value.
_LISTED_JUST_NOW = 30.0
_LONGEST_FOUND = 300  # characters of a description in a table of functions
_running: set[futures.Future[_EarlyListing | None]] = set()
_FORK_SECONDS = 0.5
_ANSWER_SECONDS = 5.0  # for a status
_UPDATE_SECONDS = 1.0  # at least between two listings that a source asks for
_MIN_LEFT = 1.0  # seconds for a listing after one that was started early has failed


class NoFunctionError(NotFoundError, AttributeError):
    """An attribute of a session names no function."""


class Client(ABC, Generic[CallT_co]):
    """One user's functions on one service: lists them, and sends their runs."""

    _catalog: Catalog | None = None
    # On the steady clock; minus infinity if the service couldn't be asked.
    _listed_at = 0.0
    # Started before the first use.
    _early: futures.Future[_EarlyListing | None] | None = None
    _warned_of_end = 0.0
    _is_outdated = False

    def __init__(
        self, connection: Connection, transport: AnyTransport | None = None
    ) -> None:
        self._connection = connection
        # Sends the requests on the background loop.
        self.remote = Remote(Transport(connection, transport))
        self.remote.transport.on_change = _weakly(self._listing_changed)
        # Close the connections of a session that nobody holds, but not at exit, when they end anyway.
        remote = self.remote
        weakref.finalize(
            self, lambda: background.start(remote.source.close())
        ).atexit = False
        self._updating: futures.Future[None] = futures.Future()
        self._updating.set_result(None)
        self._functions: dict[int, CallT_co] = {}
        self._lock = threading.Lock()

    @staticmethod
    @abstractmethod
    def reconnect(where: str | None, **options: Any) -> Client[Any]:
        """Connect in another process, to a profile, an address, or what the environment names."""

    @abstractmethod
    def _call(self, function: Function, slug: str) -> CallT_co:
        """Return the callable of a listed function."""

    def on_run(self, function: Any, job: Job) -> None:
        """Note a run that has started."""

    @property
    def service(self) -> str:
        """The profile's name, else the address of the service."""
        return self._connection.name

    @property
    def where(self) -> str:
        """The argument to `connect` that opens this service again; empty for the configured service and the demo."""
        return self._connection.where

    @property
    def address(self) -> str:
        """The service's address; empty for the embedded demo."""
        if self._connection.synthetic:
            return ""
        return self._connection.base_url

    @property
    def kind(self) -> str:
        """The kind of the source: service, openapi, mcp or python; empty until it is detected."""
        return self.remote.source.kind

    @property
    def token_is_given(self) -> bool:
        """Whether the token was passed in Python, so that another process can't find it."""
        token = self._connection.token
        takes_one = not self._connection.synthetic and self._connection.target is None
        return (
            takes_one
            and isinstance(token, FromFunction | Constant)
            and token is not NO_TOKEN
        )

    @property
    def synthetic(self) -> bool:
        """Whether all data are synthetic: in the embedded demo, or if every function is listed as synthetic."""
        catalog = self.listed or ()
        return self._connection.synthetic or (
            bool(catalog) and all(function.synthetic for function in catalog)
        )

    @property
    def catalog(self) -> Catalog:
        """The functions, listed by the service on first use (within 20 seconds)."""
        if self._catalog is not None:
            return self._catalog
        if _is_completing():
            if (catalog := self.listed) is not None:
                return catalog
            raise NotFoundError(
                "The functions are not listed yet.", "List them with funcs.names."
            )

        background.forbid_on_loop()  # before the lock, whose holder waits for the loop
        with self._lock:
            if self._catalog is None:
                self._catalog, self._listed_at = self._first_listing()
            return self._catalog

    @property
    def listed(self) -> Catalog | None:
        """The functions if they are listed already; never asks the service."""
        if self._catalog is None and (early := self.listed_early()):
            return early[0]
        return self._catalog

    def list_early(self) -> None:
        """Start to list the functions in the background, unless that needs the user, a command or an import."""
        connection = self._connection
        runs_code = isinstance(connection.target, str) or (
            connection.kind == "mcp" and connection.target is not None
        )
        if not runs_code and isinstance(
            connection.token, Constant | FromEnvironment | FromFile
        ):
            with suppress(FuncsError):  # no thread or no loop; the first use says so
                self._early = early = background.start(_list_early(self.remote))
                weakref.finalize(self, early.cancel).atexit = False
                _running.add(early)
                early.add_done_callback(_running.discard)

    def listed_early(self, seconds: float | None = 0) -> _EarlyListing | None:
        """Return what `list_early` finds within some seconds, or ``None``."""
        if self._early:
            with suppress(TimeoutError, futures.CancelledError):
                return background.wait(self._early, seconds, is_shared=True)
        return None

    def _first_listing(self) -> tuple[Catalog, float]:
        """Return the functions of the listing that was started early, else list them, within the same time."""
        until = time.monotonic() + LIST_SECONDS
        early = self.listed_early(None)
        self._early = None
        if early is None:
            try:
                return self._list(
                    max(_MIN_LEFT, until - time.monotonic())
                ), time.monotonic()
            except (*OUTAGES, CircuitOpenError) as error:
                with suppress(FuncsError):  # none is kept
                    return background.run(self.remote.kept_listing(error))(), -math.inf
                raise

        catalog, at, warned = early
        self._warn_if_token_ends()
        warn_all(warned)
        return catalog, at

    @cached_property
    def cache(self) -> Cache:
        """The cache of results on this machine."""
        return Cache()

    @property
    def names(self) -> list[str]:
        """The wire names of the functions, by sort value, ties in listing order."""
        return [function.name for function in self.catalog]

    def refresh(self) -> Self:
        """
        List the functions again, and return this session.

        Raises
        ------
        FuncsError
            The service didn't list them within 20 seconds; the session keeps those it had.
        """
        self._replace_catalog(self._list())
        return self

    def _replace_catalog(self, catalog: Catalog) -> None:
        with self._lock:
            self._catalog = catalog
            self._listed_at = time.monotonic()
            self._functions = {}
            self.remote.choices.forget()

    async def relist(self, function: Function) -> Function | None:
        """List the functions again unless that was just done; return the function as it is now, if it still exists."""
        if time.monotonic() - self._listed_at > _LISTED_JUST_NOW:
            await self._list_again()
        if self._catalog is not None:
            return self._catalog.peek(function.name)
        return None

    async def _list_again(self) -> bool:
        """List the functions again; return whether they changed."""
        read = await self.remote.listing()
        with collect_warnings([]):  # shown when it was first listed
            now = read()
        if self._catalog is not None and now.functions == self._catalog.functions:
            self._listed_at = time.monotonic()  # the listed values of fields stay known
            return False

        self._replace_catalog(now)
        return True

    def _listing_changed(self) -> None:
        """List the functions again in the background: their source says that they changed."""
        self._is_outdated = True
        if self._catalog is not None and self._updating.done():
            self._updating = background.start(self._update())

    async def _update(self) -> None:
        """List the functions until nothing says that they changed since; ever more rarely if they are the same."""
        pause = _UPDATE_SECONDS
        while self._is_outdated:
            self._is_outdated = False
            with suppress(FuncsError):  # the next run says so
                has_changed = await self._list_again()
                pause = _UPDATE_SECONDS if has_changed else 2 * pause
            await asyncio.sleep(pause)

    def ready(self) -> Self:
        """Ask the user for what the token's source lacks, such as a password, and return this session."""
        self._ask_missing()
        logins = [
            source
            for source in self._connection.auth.values()
            if isinstance(source, OAuth)
        ]
        if logins:
            _ = self.catalog  # which says where to log in
        for source in logins:
            source.ask_missing(self._login)
        return self

    def _ask_missing(self) -> None:
        background.forbid_on_loop()
        self._connection.token.ask_missing(self._login)

    def login(self, email: str, password: Hidden) -> None:
        """Log in, for a profile whose token comes from a login."""
        source = self._connection.token
        if not isinstance(source, Login):
            raise ConfigError(
                f"The profile {self.service} has no login.",
                'Add login = "EMAIL" to the profile.',
            )

        try:
            source.log_in(email, password, self._login)
        except KeyringUnavailableError as error:
            raise ConfigError(
                f"Logged in, but the keyring cannot store the token ({error}).",
                "Log in in the notebook.",
            ) from None

    def status(self, *, asks: bool = True) -> Status:
        """
        Return the service, the user, the number of functions and the time left on the token; never prompts.

        Parameters
        ----------
        asks
            Whether to ask the service, within 5 seconds, to see whether it answers.
        """
        user = trouble = ""
        ends = math.inf
        answered: float | None = None
        was_listed = self.listed is not None
        if self._connection.synthetic and (problem := config_problem()):
            trouble = f"{problem}."
        try:
            work = self.remote.transport.secret()
            secret = background.run(
                with_deadline(LIST_SECONDS, work, "The token's source")
            )
            user = secret.user
            ends = secret.expires_at
            began = time.monotonic()
            _ = self.catalog
            # Else there is no service.
            asks = asks and bool(self.address) and self.kind != "python"
            if asks and (was_listed or math.isinf(self._listed_at)):
                background.run(self.remote.listing(_ANSWER_SECONDS))
            if asks:
                answered = time.monotonic() - began
        except FuncsError as error:
            trouble = str(error)

        functions = None
        left_out = Counter[str]()
        if (catalog := self.listed) is not None:
            functions = len(catalog)
            left_out.update(catalog.left_out.values())

        return Status(
            self.service,
            self.address,
            user,
            functions,
            ends,
            trouble,
            self.synthetic,
            self.kind,
            self._connection.token is not NO_TOKEN,
            answered,
            self._schemes(),
            left_out,
        )

    def _schemes(self) -> str:
        """Return the schemes of the functions listed, and for which there is a credential."""
        names = dict.fromkeys(
            scheme["scheme"]
            for function in self.listed or ()
            for schemes in only(dict, function.context).get("security", ())
            for scheme in schemes
        )
        own = self._connection.auth
        return ", ".join(
            f"{name}{' ' if auth_name(name) in own else ' not '}set" for name in names
        )

    def left_out(self) -> pd.DataFrame:
        """Return what the catalog lists and can't be run, with the reasons."""
        from jupyter_funcs.frames.text_tables import Listing

        table = Listing([*self.catalog.left_out.items()], columns=["name", "why"])
        table.nothing = "Nothing was left out of the catalog. %funcs describe NAME shows a function."
        return table

    def redact(self, text: str) -> str:
        """Return a text without the tokens in use."""
        return redacted_all(text)

    def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        if self._early:
            self._early.cancel()
        background.run(self.remote.source.close())

    def find(self, words: str = "") -> pd.DataFrame:
        """
        Return the functions that contain all of these words, or if there are none, at least half of them.

        Parameters
        ----------
        words
            Words from names, descriptions, parameters or options. Without words, all functions are returned.

        Returns
        -------
        DataFrame
            One row per function: name, asset or else group, the first paragraph of the description, and the parameters
            (required ones marked ``*``).
        """
        from jupyter_funcs.frames.text_tables import Listing

        schemas = Schemas()
        rows = [
            (
                function.name,
                function.asset_name or function.group_name,
                clip(function.about.partition("\n\n")[0], _LONGEST_FOUND),
                ", ".join(
                    f"{field.name}*" if field.required else field.name
                    for field in read_fields(function, schemas)
                ),
            )
            for function in self.catalog.search(str(words))
        ]
        table = Listing(rows, columns=["name", "asset", "description", "parameters"])
        if not self.names:
            table.nothing = redacted_all(no_functions(self.service, self.kind))
        elif str(words).strip():
            table.nothing = redacted_all(
                f"No function matches {quote(str(words).strip())}; %funcs find lists them all."
            )

        return table

    def __getitem__(self, name: str | int) -> CallT_co:
        """
        Return a function by its wire name, id or slug.

        Raises
        ------
        NotFoundError
            No function has this name; the error suggests similar ones.
        """
        catalog = self.catalog
        return self._bind(catalog, catalog.get(name))

    def __getattr__(self, name: str) -> CallT_co:
        """Return a function by its slug, or by its name if that is an identifier."""
        # Front ends and pickle probe for names with an underscore, which no slug has: don't list functions for those.
        # An attribute of the class gets here only if it raised an AttributeError itself.
        if name.startswith("_") or hasattr(type(self), name):
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}"
            )

        if self.listed is None and _is_completing():
            raise AttributeError(f"The functions are not listed yet: {name!r}.")
        catalog = self.catalog
        wanted = name
        if hasattr(type(self), name.removesuffix("_")):
            wanted = name.removesuffix("_")
        function = catalog.by_attribute.get(wanted)
        if function is None:
            hint = "List them with funcs.find() or funcs.names."
            # A completer that tries names doesn't show suggestions, which take time.
            if not _is_completing() and (close := nearest(name, catalog.slugs)):
                hint = f"Did you mean {listed(close)}?"
            raise NoFunctionError(
                f"There is no function {quote(name)} in your catalog.", hint
            )

        return self._bind(catalog, function)

    @property
    def attributes(self) -> list[str]:
        """The slugs; one that the session uses itself ends in an underscore, as in ``funcs.login_()``."""
        if (catalog := self.listed) is None:
            return []
        return [
            f"{slug}_" if hasattr(type(self), slug) else slug for slug in catalog.slugs
        ]

    def __reduce__(self) -> NoReturn:
        # A session holds connections and a token.
        raise TypeError(
            "A session can't be pickled or copied; connect again where you need it."
        )

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.attributes]

    def _ipython_key_completions_(self) -> list[str]:
        return [function.name for function in self.listed or ()]

    def __iter__(self) -> Iterator[CallT_co]:
        catalog = self.catalog
        return (self._bind(catalog, function) for function in catalog)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str | int) and self.catalog.peek(name) is not None

    def __len__(self) -> int:
        return len(self.catalog)

    def __bool__(self) -> bool:
        return True  # without asking the service for the number of functions

    def __repr__(self) -> str:
        user, functions, data = self._facts()
        return f"<Session {self.service}{user}{data}: {functions or 'catalog not listed yet'}>"

    def _repr_pretty_(self, printer: Any, *_: object) -> None:
        # What a notebook shows, also of %funcs connect.
        name = quote(self.service)
        if self._connection.synthetic:
            name = "the demo"
        user, functions, data = self._facts()
        text = f"Connected to {name}{user}: {_KINDS.get(self.kind, self.kind)}, {functions}{data}."
        if not functions:
            text = f"Session with {name}{data}. Its functions are listed on first use."
        printer.text(text)

    def _facts(self) -> tuple[str, str, str]:
        data = ""
        if self.synthetic:
            data = ", synthetic data"
        if (catalog := self.listed) is None:
            return "", "", data
        user = self.remote.transport.user
        return user and f" as {user}", plural(len(catalog), "function"), data

    def _login(self, email: str, password: Hidden) -> Secret:
        work = self.remote.transport.login(email, password)
        return background.run(with_deadline(LOGIN_SECONDS, work, "The login"))

    def _warn_if_token_ends(self) -> None:
        # Once per token, and not if its source renews it.
        ends = self.remote.transport.ends
        is_near = 0 < ends - time.time() < _ENDS_SOON
        if (
            is_near
            and ends != self._warned_of_end
            and not self._connection.token.renews
        ):
            self._warned_of_end = ends
            warn(
                f"The token for {self.service} {ends_in(ends)}. Get a new one, then %funcs connect."
            )

    def _list(self, left: float | None = None) -> Catalog:
        self._ask_missing()
        catalog = background.run(self.remote.listing(left))()
        self._warn_if_token_ends()
        return catalog

    def _bind(self, catalog: Catalog, function: Function) -> CallT_co:
        if self._catalog is not None:  # else this is Tab, before the first use
            self._warn_if_token_ends()
        # By identity, because two listed functions may be equal. The bound function keeps its id in use.
        bound = self._functions.get(id(function))
        if bound is None:
            bound = self._functions.setdefault(
                id(function), self._call(function, catalog.slug(function))
            )

        return bound


async def _list_early(remote: Remote) -> _EarlyListing | None:
    # Without the session, which would not be collected while this runs.
    warned: list[UserWarning] = []
    # The first use says what is wrong.
    with suppress(Exception), collect_warnings(warned):
        read = await remote.listing(is_early=True)
        return read(), time.monotonic(), warned
    return None


if hasattr(os, "register_at_fork"):
    # Imported now, because its module registers for forks as well.
    _ = futures.ThreadPoolExecutor
    # A forked process has no loop that would end its parent's listings, and would have what they import half-imported.
    os.register_at_fork(
        before=lambda: futures.wait(list(_running), _FORK_SECONDS),
        after_in_child=lambda: [early.cancel() for early in list(_running)],
    )


def _weakly(method: Callable[[], object]) -> Callable[[], None]:
    """Return a function that calls a method as long as somebody else holds its object."""
    reference = weakref.WeakMethod(method)

    def call() -> None:
        if (bound := reference()) is not None:
            bound()

    return call


def _is_completing() -> bool:
    """Return whether the caller on this thread is a completer or Shift-Tab."""
    # jedi and IPython look up attributes while you type, and must neither wait for a service nor send anything. They
    # have no hook that says so, so this looks at the stack, but only until the catalog is listed.
    frame = inspect.currentframe()
    while frame:
        module = str(frame.f_globals.get("__name__"))
        if module in {"IPython.core.completer", "rlcompleter"} or module.startswith(
            "jedi."
        ):
            return True
        # Shift-Tab, but not `?`, which is a line that you run.
        if frame.f_code.co_name == "object_inspect_mime":
            return True
        frame = frame.f_back

    return False
