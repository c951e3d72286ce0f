"""Session: a connection, its catalog, and what a person asks of them."""

from __future__ import annotations

import asyncio
import inspect
import math
import os
import threading
import time
import weakref
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from jupyter_funcs import loop
from jupyter_funcs.cache import own_cache
from jupyter_funcs.callables import RemoteFunction
from jupyter_funcs.catalog import parse_listing
from jupyter_funcs.config import absent_config, favourites_file
from jupyter_funcs.deadline import within
from jupyter_funcs.errors import ConfigError, FuncsError, NotFoundError
from jupyter_funcs.fields import read_fields, unknown_codes
from jupyter_funcs.history import History
from jupyter_funcs.lock import Watch
from jupyter_funcs.login import Login
from jupyter_funcs.notices import warn
from jupyter_funcs.presets import Presets, presets_file
from jupyter_funcs.remote import LIST_SECONDS, Remote
from jupyter_funcs.shelf import Shelf
from jupyter_funcs.status import Status, ends_in
from jupyter_funcs.text import listed, nearest, quote
from jupyter_funcs.tokens import FromFunction, Source
from jupyter_funcs.transport import Transport
from jupyter_funcs.vault import VaultError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx
    import pandas as pd

    from jupyter_funcs.cache import Cache
    from jupyter_funcs.callables import Wire
    from jupyter_funcs.catalog import Catalog, Function
    from jupyter_funcs.config import Connection
    from jupyter_funcs.panel import Panel
    from jupyter_funcs.secret import Hidden, Secret

LOGIN_SECONDS = 20.0
# A token that ends sooner than this, in seconds, is said to.
_ENDS_SOON = 600.0
# Seconds within which functions are not listed anew for a refused run: most refusals are about a value.
_LISTED_JUST_NOW = 30.0


class NoFunctionError(NotFoundError, AttributeError):
    """There is no function of a name that was written as an attribute, in the words of every other error."""


class Session:
    """
    One user's functions on one service.

    ``funcs["Get Panel Daily"]`` (the wire name, the id or the slug) and ``funcs.get_panel_daily`` give a function;
    ``funcs.names`` and ``funcs.find("words")`` say which there are. Nothing is sent before something is asked for.

    Parameters
    ----------
    connection
        Where the service is, and its token.
    transport
        Any httpx transport in place of the network.
    """

    def __init__(
        self, connection: Connection, transport: httpx.AsyncBaseTransport | httpx.BaseTransport | None = None
    ) -> None:
        self._wire = Remote(Transport(connection, transport))
        # The connections of a session that nobody holds any more are closed; those of a process that ends need not be.
        weakref.finalize(self, _close, self._wire.transport).atexit = False
        self._catalog: Catalog | None = None
        self._listed_at = 0.0  # on the steady clock
        self._functions: dict[int, RemoteFunction] = {}
        self._lock = threading.Lock()
        self._said_to_end = 0.0

    @property
    def service(self) -> str:
        """What the service is called: the profile's name, or its address."""
        return self._wire.transport.connection.name

    @property
    def where(self) -> str:
        """What `connect` is given to come back here; empty for what is configured, and for the demo."""
        return self._wire.transport.connection.where

    @property
    def address(self) -> str:
        """The service's address; empty for the demo, which has none."""
        connection = self._wire.transport.connection
        return "" if connection.synthetic else connection.base_url

    @property
    def header(self) -> str:
        """The header that the service takes its secret in: ``Authorization`` or ``X-Api-Key``."""
        return self._wire.transport.connection.header

    @property
    def is_given(self) -> bool:
        """Whether the token was given in Python, so that no other process can find it."""
        source = self._wire.transport.connection.token
        return not self._is_embedded and (isinstance(source, FromFunction) or not isinstance(source, Source))

    @property
    def wire(self) -> Wire:
        """What runs go through on the background loop, for what is built on top; a person calls functions."""
        return self._wire

    @property
    def synthetic(self) -> bool:
        """Whether all data are the demo's, and so invented: embedded, or served and listed as such."""
        known = self._catalog or ()
        return self._is_embedded or (bool(known) and all(function.synthetic for function in known))

    @property
    def _is_embedded(self) -> bool:
        return self._wire.transport.connection.synthetic

    @property
    def catalog(self) -> Catalog:
        """The functions; listed by the service on first use, within 20 s."""
        if self._catalog is not None:
            return self._catalog
        if _is_completing():
            raise NotFoundError("The functions are not listed yet.", "List them with funcs.names.")
        loop.refuse_here()  # before the lock: who holds it waits for the loop
        with self._lock:
            if self._catalog is None:
                self._catalog = self._list()
                self._listed_at = time.monotonic()
            return self._catalog

    @property
    def listed(self) -> Catalog | None:
        """The functions, when the service has listed them already; it is never asked."""
        return self._catalog

    @cached_property
    def watch(self) -> Watch:
        """What was compared with a ``funcs.lock``, of the functions as they are listed."""
        return Watch(self.address or "demo")

    @property
    def history(self) -> History:
        """The runs of this kernel with this service: ``funcs.history.get(3)``, ``funcs.history.again(3)``."""
        return History(self)

    @cached_property
    def cache(self) -> Cache:
        """The results kept on this machine; nothing is read or written before it is used."""
        return own_cache()

    @cached_property
    def shelf(self) -> Shelf:
        """Which functions were used lately, and which are favourites."""
        connection = self._wire.transport.connection
        return Shelf("demo" if connection.synthetic else connection.base_url, favourites_file(os.environ))

    @cached_property
    def presets(self) -> Presets:
        """The values for forms that were saved under a name, for this profile."""
        connection = self._wire.transport.connection
        return Presets("demo" if connection.synthetic else connection.name, presets_file(os.environ))

    @property
    def names(self) -> list[str]:
        """The wire names, by sort value and then in listing order."""
        return [function.name for function in self.catalog]

    def refresh(self) -> Session:
        """List the functions again; give this session."""
        self._take(self._list())
        return self

    def _take(self, catalog: Catalog) -> None:
        with self._lock:
            self._catalog = catalog
            self._listed_at = time.monotonic()
            self._functions = {}
            self._wire.choices.forget()
            self.__dict__.pop("watch", None)

    async def relisted(self, function: Function) -> Function | None:
        """
        List the functions again, on the background loop, unless that was done just now.

        Returns
        -------
        Function or None
            The function as it is now; ``None`` where it is there no longer.

        Raises
        ------
        FuncsError
            The service does not list them.
        """
        if time.monotonic() - self._listed_at > _LISTED_JUST_NOW:
            reply = await self._wire.listing()
            catalog = await asyncio.to_thread(reply.read, parse_listing)
            self._take(catalog)
        return self._catalog.peek(function.name) if self._catalog is not None else None

    def ready(self) -> Session:
        """Ask the person for what the token's source lacks, as a password for a login; give this session."""
        source = self._wire.transport.connection.token
        if isinstance(source, Source):
            loop.refuse_here()
            source.ready(self._login)
        return self

    def login(self, email: str, password: Hidden) -> None:
        """
        Log in, for a profile whose token comes from a login.

        Raises
        ------
        FuncsError
            The email or the password is wrong, or the profile's keyring does not keep the token.
        """
        source = self._wire.transport.connection.token
        if not isinstance(source, Login):
            raise ConfigError(f"{self.service} is no profile with a login.", 'Give the profile login = "EMAIL".')
        try:
            source.log_in(email, password, self._login)
        except VaultError as error:
            problem = str(error)
        else:
            return
        raise ConfigError(f"You are logged in, but the keyring cannot keep it ({problem}).", "Log in in the notebook.")

    def status(self) -> Status:
        """Say which service, which user, how many functions, and how long the token lasts; asks nobody."""
        connection, user, number, ends = self._wire.transport.connection, "", None, math.inf
        absent = absent_config() if connection.synthetic else ""
        trouble = f"{absent}." if absent else ""
        try:
            work = self._wire.transport.secret()
            secret = loop.run(within(LIST_SECONDS, work, "The token's source"))
            user, ends = secret.user, secret.expires_at
            number = len(self.catalog)
        except FuncsError as error:
            trouble = str(error)
        address = "" if connection.synthetic else connection.base_url
        return Status(self.service, address, user, number, ends, trouble, synthetic=self.synthetic)

    def cleaned(self, text: str) -> str:
        """Give a text without the token that was sent last, for what a person may copy."""
        return self._wire.transport.cleaned(text)

    def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        loop.run(self._wire.transport.close())

    def find(self, words: str = "") -> pd.DataFrame:
        """
        Give the functions in which every word occurs; all of them without words.

        Returns
        -------
        DataFrame
            One row a function: name, asset, description, parameters (the required ones marked ``*``).
        """
        from jupyter_funcs.view import Listing  # noqa: PLC0415  # pandas takes a quarter of a second

        rows = [
            (
                function.name,
                function.asset_name,
                function.description,
                ", ".join(field.name + "*" * field.required for field in read_fields(function)),
            )
            for function in self.catalog.search(str(words))
        ]
        found = Listing(rows, columns=["name", "asset", "description", "parameters"])
        if str(words).strip():
            found.nothing = f"No function has {quote(str(words).strip())}; %funcs find lists them all."
        else:
            found.nothing = "There is no function for you yet."
        return found

    def __getitem__(self, name: str | int) -> RemoteFunction:
        """
        Give a function by its wire name, id or slug.

        Raises
        ------
        NotFoundError
            There is none; says which names are near.
        """
        catalog = self.catalog
        return self._bind(catalog, catalog.get(name))

    def __getattr__(self, name: str) -> RemoteFunction:
        """Give a function by its slug."""
        # What a front end or pickle probes for must not reach the network; no function has such a slug.
        # What the class has can only come here when it raised an AttributeError itself.
        if name.startswith("_") or hasattr(type(self), name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if self._catalog is None and _is_completing():
            raise AttributeError(f"The functions are not listed yet: {name!r}.")
        catalog = self.catalog
        slugs = catalog.slugs
        if name not in slugs:
            # A completer that tries names must not wait for suggestions, which it does not show.
            close = [] if _is_completing() else nearest(name, slugs)
            hint = f"Did you mean {listed(close)}?" if close else "List them with funcs.find() or funcs.names."
            raise NoFunctionError(f"There is no function {quote(name)} in your catalog.", hint)
        return self._bind(catalog, catalog.functions[slugs.index(name)])

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied: a session holds a connection and a token."""
        raise TypeError("A Session is not pickled; connect again where it is needed.")

    def __dir__(self) -> list[str]:
        """Give the attributes, and the slugs of a catalog that is known."""
        return [*super().__dir__(), *(self._catalog.slugs if self._catalog else ())]

    def _ipython_key_completions_(self) -> list[str]:
        return [function.name for function in self._catalog or ()]

    def __iter__(self) -> Iterator[RemoteFunction]:
        """Go through the functions in their order."""
        catalog = self.catalog
        return (self._bind(catalog, function) for function in catalog)

    def __contains__(self, name: object) -> bool:
        """Say whether a wire name, an id or a slug names a function."""
        try:
            return isinstance(name, (str, int)) and bool(self.catalog.get(name))
        except NotFoundError:
            return False

    def __len__(self) -> int:
        """Give the number of functions."""
        return len(self.catalog)

    def __bool__(self) -> bool:
        """Be true without asking the service how many functions there are."""
        return True

    def __repr__(self) -> str:
        """Say which service it is, who asks there, how many functions there are, and whether its data are synthetic."""
        data = ", synthetic data" if self.synthetic else ""
        if self._catalog is None:
            return f"<Session {self.service}{data}: catalog not listed yet>"
        number, user = len(self._catalog), self._wire.transport.user
        who = f" as {user}" if user else ""
        return f"<Session {self.service}{who}{data}: {number:,} function{'s' * (number != 1)}>"

    def panel(self, name: str | int | None = None, /, **values: Any) -> Panel:
        """
        Give the widget: choose a function, fill its form, run it, look at the result.

        Parameters
        ----------
        name
            The function to open with. Without it nothing is chosen, and the panel also opens where the functions
            cannot be listed: it says why, and tries again on demand.
        **values
            First values of its form.
        """
        from jupyter_funcs.panel import Panel  # noqa: PLC0415  # upwards, and ipywidgets loads only here

        return Panel(self) if name is None else self[name].panel(**values)

    def _login(self, email: str, password: Hidden) -> Secret:
        work = self._wire.transport.login(email, password)
        return loop.run(within(LOGIN_SECONDS, work, "The login"))

    def _warn_of_the_end(self) -> None:
        # Said once a token, and not for a source that brings a new one by itself.
        transport = self._wire.transport
        renews = getattr(transport.connection.token, "renews", False)
        if not renews and transport.ends != self._said_to_end and 0 < transport.ends - time.time() < _ENDS_SOON:
            self._said_to_end = transport.ends
            warn(f"The token for {self.service} {ends_in(transport.ends)}. Get a new one, then %funcs connect.")

    def _list(self) -> Catalog:
        self.ready()
        # Read here and not on the loop, so that a warning names the line that asked.
        catalog = loop.run(self._wire.listing()).read(parse_listing)
        self._warn_of_the_end()
        for code in unknown_codes(catalog):
            warn(f"{self.service}: parameters of type code {code}, not known here, are read from their descriptions.")
        return catalog

    def _bind(self, catalog: Catalog, function: Function) -> RemoteFunction:
        self._warn_of_the_end()
        # By identity, since two listed functions may be equal; the bound one keeps its function alive.
        bound = self._functions.get(id(function))
        if bound is None:
            made = RemoteFunction(self, function, catalog.slug(function), self._wire)
            bound = self._functions.setdefault(id(function), made)
        return bound


def _is_completing() -> bool:
    """
    Say whether a completer or Shift-Tab asks, on this thread.

    jedi and IPython look attributes up while a person types, and must neither wait for a service nor send anything.
    They have no hook that says when they begin and end, so that the stack is what tells; it is looked at only while
    no catalog is known.
    """
    frame = inspect.currentframe()
    while frame is not None:
        room = str(frame.f_globals.get("__name__"))
        if room in {"IPython.core.completer", "rlcompleter"} or room.startswith("jedi."):
            return True
        # What a front end asks for at Shift-Tab; `?` is a line that a person runs.
        if room == "IPython.core.interactiveshell" and frame.f_code.co_name == "object_inspect_mime":
            return True
        frame = frame.f_back
    return False


def _close(transport: Transport) -> None:
    loop.start(transport.close())
