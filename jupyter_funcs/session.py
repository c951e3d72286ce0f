"""Session: a connection, its catalog, and its functions as callables; each run is a Job."""

from __future__ import annotations

import asyncio
import datetime as dt
import inspect
import threading
import time
import warnings
import weakref
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

from jupyter_funcs import loop
from jupyter_funcs.catalog import Catalog, parse_listing
from jupyter_funcs.errors import ArgumentError, DeadlineError, FunctionError
from jupyter_funcs.fields import Field, Kind, listing_args, read_fields, unknown_codes
from jupyter_funcs.forms import Args, Form
from jupyter_funcs.jobs import Job
from jupyter_funcs.text import did_you_mean, listed, nearest, quote
from jupyter_funcs.transport import LIST_PATH, MAX_BYTES, RUN_PATH, Transport

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator, Mapping

    import httpx
    import pandas as pd

    from jupyter_funcs.catalog import Function, Param
    from jupyter_funcs.config import Connection
    from jupyter_funcs.panel import Panel

T = TypeVar("T")

LIST_SECONDS = 20.0
RUN_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Options:
    """
    How a run goes, apart from the function's own parameters.

    Attributes
    ----------
    timeout
        Seconds for the whole run: connecting, waiting, reading and decoding.
    max_bytes
        The largest reply taken, in bytes.
    schema
        Types by column (SERVICE.md 2), for a service that declares none.
    validate
        ``False`` sends options that a description does not list, as they are.
    """

    timeout: float = RUN_SECONDS
    max_bytes: int = MAX_BYTES
    schema: Mapping[str, str] | None = None
    validate: bool = True

    def changed(self, **options: Any) -> Options:
        """
        Give these options with some changed.

        Raises
        ------
        ArgumentError
            An option is unknown, or is a time or a size that is not positive.
        """
        known = [field.name for field in fields(self)]
        for name, value in options.items():
            if name not in known:
                hint = did_you_mean(name, known) or f"Options are {listed(known, 'and')}."
                raise ArgumentError(f"There is no option {quote(name)}.", hint)
            if name in {"timeout", "max_bytes"} and not (
                isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0
            ):
                raise ArgumentError(f"{name} takes a positive number, not {quote(value)}.")
        return replace(self, **options)


@dataclass(frozen=True, slots=True)
class Choice:
    """A valid value of a field, and the words that stand beside it (empty when the listing gives none)."""

    value: str
    label: str = ""


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
        self._transport = Transport(connection, transport)
        # The connections of a session that nobody holds any more are closed; those of a process that ends need not be.
        weakref.finalize(self, _close, self._transport).atexit = False
        self._catalog: Catalog | None = None
        self._functions: dict[int, RemoteFunction] = {}
        self._choices: dict[str, list[Choice]] = {}
        self._lock = threading.Lock()

    @property
    def service(self) -> str:
        """What the service is called: the profile's name, or its address."""
        return self._transport.connection.name

    @property
    def synthetic(self) -> bool:
        """Whether the data are the embedded demo's, and so invented."""
        return self._transport.connection.synthetic

    @property
    def catalog(self) -> Catalog:
        """The functions; listed by the service on first use, within 20 s."""
        with self._lock:
            if self._catalog is None:
                self._catalog = loop.wait(loop.start(self._list()))
            return self._catalog

    @property
    def names(self) -> list[str]:
        """The wire names, by sort value and then in listing order."""
        return [function.name for function in self.catalog]

    def refresh(self) -> Session:
        """List the functions again; give this session."""
        listed_now = loop.wait(loop.start(self._list()))
        with self._lock:
            self._catalog = listed_now
            self._functions = {}
            self._choices = {}
        return self

    def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        loop.wait(loop.start(self._transport.close()))

    def find(self, words: str = "") -> pd.DataFrame:
        """
        Give the functions in which every word occurs; all of them without words.

        Returns
        -------
        DataFrame
            One row a function: name, asset, description, parameters (the required ones marked ``*``).
        """
        import pandas as pd  # noqa: PLC0415  # a quarter of a second, and only here

        rows = [
            (
                function.name,
                function.asset_name,
                function.description,
                ", ".join(field.name + "*" * field.required for field in read_fields(function)),
            )
            for function in self.catalog.search(words)
        ]
        return pd.DataFrame(rows, columns=["name", "asset", "description", "parameters"])

    def __getitem__(self, name: str | int) -> RemoteFunction:
        """
        Give a function by its wire name, id or slug.

        Raises
        ------
        NotFoundError
            There is none; says which names are near.
        """
        return self._bind(self.catalog.get(name))

    def __getattr__(self, name: str) -> RemoteFunction:
        """Give a function by its slug."""
        # What a front end or pickle probes for must not reach the network; no function has such a slug.
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        slugs = self.catalog.slugs
        if name not in slugs:
            close = nearest(name, slugs)
            hint = f" Did you mean {listed(close)}?" if close else ""
            raise AttributeError(f"There is no function {name!r} in your catalog.{hint}")
        return self._bind(self.catalog.functions[slugs.index(name)])

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied: a session holds a connection and a token."""
        raise TypeError("A Session is not pickled; connect again where it is needed.")

    def __dir__(self) -> list[str]:
        """Give the attributes, and the slugs of a catalog that is known."""
        return [*super().__dir__(), *(self._catalog.slugs if self._catalog else ())]

    def _ipython_key_completions_(self) -> list[str]:
        return self.names

    def __iter__(self) -> Iterator[RemoteFunction]:
        """Go through the functions in their order."""
        return (self._bind(function) for function in self.catalog)

    def __len__(self) -> int:
        """Give the number of functions."""
        return len(self.catalog)

    def __bool__(self) -> bool:
        """Be true without asking the service how many functions there are."""
        return True

    def __repr__(self) -> str:
        """Say which service it is and whether its data are synthetic."""
        data = ", synthetic data" if self.synthetic else ""
        known = f"{len(self._catalog)} functions" if self._catalog else "catalog not listed yet"
        return f"<Session {self.service}{data}: {known}>"

    def panel(self, name: str | int | None = None, /, **values: Any) -> Panel:
        """
        Give the widget: choose a function, fill its form, run it, look at the result.

        Parameters
        ----------
        name
            The function to open with; nothing is chosen without it.
        **values
            First values of its form.
        """
        from jupyter_funcs.panel import Panel  # noqa: PLC0415  # upwards, and ipywidgets loads only here

        return Panel(self, None if name is None else self[name].form(**values))

    def _bind(self, function: Function) -> RemoteFunction:
        # By identity, since two listed functions may be equal; the bound one keeps its function alive.
        bound = self._functions.get(id(function))
        return bound or self._functions.setdefault(id(function), RemoteFunction(self, function))

    async def _list(self) -> Catalog:
        reply = await _within(LIST_SECONDS, self._transport.post(LIST_PATH, {}), "The listing of the functions")
        catalog = parse_listing(reply)
        for code in unknown_codes(catalog):
            warnings.warn(
                f"Parameters of type code {code}, which is not known, are read from their descriptions.", stacklevel=2
            )
        return catalog

    async def run(self, function: str, args: Args, options: Options) -> pd.DataFrame:
        """
        Run a function by its wire name, on the background loop.

        Raises
        ------
        FuncsError
            What the run failed with.
        """
        started = time.time()
        frame = await _within(options.timeout, self._fetch(function, args, options), function)
        frame.attrs["funcs"] = {
            **frame.attrs.get("funcs", {}),
            "function": function,
            "args": {name: list(value) if isinstance(value, list) else value for name, value in args.items()},
            "time": dt.datetime.fromtimestamp(started, dt.UTC).isoformat(timespec="seconds"),
            "service": self.service,
            "synthetic": self.synthetic,
        }
        return frame

    async def choices(self, listing: RemoteFunction, args: Args, field: Field) -> list[Choice]:
        """Run a listing function and give the values for a field; kept until `refresh`."""
        key = repr((listing.name, args, field.name))
        if key not in self._choices:
            self._choices[key] = _choices(await self.run(listing.name, args, listing.options), field)
        return self._choices[key]

    async def _fetch(self, function: str, args: Args, options: Options) -> pd.DataFrame:
        from jupyter_funcs.frame import to_frame  # noqa: PLC0415  # pandas, only when there is a reply to read

        reply = await self._transport.post(RUN_PATH, request(function, args), max_bytes=options.max_bytes)
        try:
            return await asyncio.to_thread(to_frame, reply, schema=options.schema)
        except FunctionError as error:
            said = self._transport.redact(error.what), self._transport.redact(error.hint)
        raise FunctionError(*said)


class RemoteFunction:
    """
    A function of the catalog: call it for a DataFrame, or `submit` it for a Job.

    Attributes
    ----------
    name, slug
        Its wire name, and its name in Python.
    params
        Its parameters as listed.
    fields
        What its form, its signature and its JSON Schema know of them; one a parameter, in the same order.
    """

    def __init__(self, session: Session, function: Function, options: Options | None = None) -> None:
        self.session = session
        self.function = function
        self.options = options or Options()
        self.name: str = function.name
        self.slug: str = session.catalog.slug(function)
        self.params: tuple[Param, ...] = function.params
        self.fields: tuple[Field, ...] = read_fields(function)
        self.__name__ = self.slug
        self.__doc__ = _docstring(function, self.fields)
        self.__signature__ = _signature(self.fields)

    def __call__(self, /, **values: Any) -> pd.DataFrame:
        """Run it and wait for the DataFrame; an interrupt cancels the run."""
        return self.submit(**values).result()

    def submit(self, /, **values: Any) -> Job:
        """
        Start a run.

        Raises
        ------
        ArgumentError
            A value is missing, unknown or not valid; nothing was sent.
        """
        return self.start(self.form(**values).check())

    def start(self, args: Args) -> Job:
        """Start a run with arguments that a form has checked."""
        return Job(self.name, args, self.session.run(self.name, args, self.options))

    def form(self, /, **values: Any) -> Form:
        """Give a form of this function, by its parameters' wire names or Python names."""
        by_identifier = {field.identifier: field.name for field in self.fields}
        wire = {field.name for field in self.fields}
        named = {name if name in wire else by_identifier.get(name, name): value for name, value in values.items()}
        form = Form(self, validate=self.options.validate)
        form.update(named)
        return form

    def with_options(self, **options: Any) -> RemoteFunction:
        """
        Give this function with other options: ``fn.with_options(timeout=30)(Symbol="…")``.

        Parameters
        ----------
        **options
            As in `Options`; they never mix with the function's own parameters.
        """
        return RemoteFunction(self.session, self.function, self.options.changed(**options))

    def panel(self, /, **values: Any) -> Panel:
        """Give the widget, open at this function with first values for its form."""
        from jupyter_funcs.panel import Panel  # noqa: PLC0415  # upwards, and ipywidgets loads only here

        return Panel(self.session, self.form(**values))

    def describe(self) -> pd.DataFrame:
        """
        Give its parameters as a table.

        Returns
        -------
        DataFrame
            One row a parameter: name, kind, required, default, options, help.
        """
        import pandas as pd  # noqa: PLC0415  # as in Session.find

        rows = [
            (
                field.name,
                str(field.kind),
                " or ".join(field.rule.names) if field.rule else "yes" if field.required else "",
                field.default or "",
                ", ".join(field.options) or (f"see {field.source}" if field.source else ""),
                field.help,
            )
            for field in self.fields
        ]
        return pd.DataFrame(rows, columns=["name", "kind", "required", "default", "options", "help"])

    def request(self, /, **values: Any) -> dict[str, Any]:
        """
        Give the JSON object that a run would send.

        Raises
        ------
        ArgumentError
            As `submit`.
        """
        return request(self.name, self.form(**values).check())

    def json_schema(self) -> dict[str, Any]:
        """Give the JSON Schema of the arguments."""
        return self.form().json_schema()

    async def choices(self, field: Field, args: Args) -> tuple[list[Choice], list[str]]:
        """
        Ask the field's listing function for its valid values, on the background loop.

        Parameters
        ----------
        field
            A field of this function with a `source`.
        args
            What the form holds; the listing function takes its own arguments from it.

        Returns
        -------
        choices : list of Choice
            The values, in the listing's order.
        missing : list of str
            The fields to fill first; then there are no choices yet.
        """
        listing = self.session[field.source] if field.source else self
        wanted, missing = listing_args(field, listing.fields, args)
        if missing:
            return [], missing
        return await self.session.choices(listing, listing.form(**wanted).args, field), []

    def code(self, args: Mapping[str, Any]) -> str:
        """Give the Python expression that runs this function with these arguments, given a session ``funcs``."""
        named = {field.name: field.identifier for field in self.fields}
        given = ", ".join(f"{named[name]}={value!r}" for name, value in args.items())
        by_slug = not hasattr(Session, self.slug)
        return f"funcs.{self.slug}({given})" if by_slug else f"funcs[{self.name!r}]({given})"

    def __repr__(self) -> str:
        """Give its signature, in one line."""
        return f"<{self.slug}{self.__signature__} of {self.session.service}>"


def _close(transport: Transport) -> None:
    loop.start(transport.close())


def request(function: str, args: Args) -> dict[str, Any]:
    """Give the body of a run (SERVICE.md 1)."""
    return {"FunctionName": function, "Args": args}


async def _within(seconds: float, work: Coroutine[Any, Any, T], what: str) -> T:
    try:
        async with asyncio.timeout(seconds) as deadline:
            return await work
    except TimeoutError:
        if not deadline.expired():
            raise
    raise DeadlineError(
        f"{what} did not end within {seconds:g} s; it may still run on the service.",
        "Allow more time with with_options(timeout=…), or ask for less.",
    )


def _choices(frame: pd.DataFrame, field: Field) -> list[Choice]:
    """Give the value column (named like the parameter, else the first of text) with the next text column as labels."""
    texts = [column for column in frame.columns if frame[column].dtype.kind in "OU" or frame[column].dtype == "string"]
    own = [column for column in frame.columns if column.casefold() == field.name.casefold()]
    values = (own or texts)[:1]
    if not values:
        return []
    labels = [column for column in texts if column != values[0]][:1]
    rows = frame[[*values, *labels]].dropna(subset=values).drop_duplicates(values[0])
    return [Choice(*(str(cell) for cell in row)) for row in rows.fillna("").itertuples(index=False, name=None)]


_ANNOTATIONS: dict[Kind, Any] = {
    Kind.INTEGER: int,
    Kind.NUMBER: float,
    Kind.DATE: dt.date | str,
    Kind.LIST: list[str] | str,
    Kind.YES_NO: bool | str,
}


def _signature(of: tuple[Field, ...]) -> inspect.Signature:
    parameters = []
    seen: set[str] = set()
    for field in of:
        if field.name in seen:
            continue  # a repeated parameter takes one argument
        seen.add(field.name)
        kind = _ANNOTATIONS.get(field.kind, str)
        if field.kind is Kind.CHOICE:
            kind = Literal[field.options]
        parameters.append(
            inspect.Parameter(
                field.identifier,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.required else None,
                annotation=kind if field.required else kind | None,
            )
        )
    return inspect.Signature(parameters)


def _docstring(function: Function, of: tuple[Field, ...]) -> str:
    lines = [function.description.strip() or function.name, ""]
    if of:
        lines += ["Parameters", "----------"]
        for field in of:
            need = "required" if field.required else "optional"
            options = f", one of {listed(map(repr, field.options))}" if field.options else ""
            lines += [f"{field.identifier} : {field.kind}, {need}{options}", f"    {field.help or field.label}"]
        lines.append("")
    lines += ["Returns", "-------", "DataFrame"]
    return "\n".join(lines)
