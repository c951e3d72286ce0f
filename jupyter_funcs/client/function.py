"""A listed function as a Python callable: its options, its form, its runs as Jobs."""

from __future__ import annotations

import asyncio
import copy
import sys
from contextlib import suppress
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from jupyter_funcs import loop
from jupyter_funcs.drift import drift
from jupyter_funcs.errors import ArgumentError, FuncsError, FunctionError, NotFoundError
from jupyter_funcs.fields import Field, by_name, listing_args, read_fields
from jupyter_funcs.forms import Args, Form
from jupyter_funcs.jobs import Job
from jupyter_funcs.near import suggest
from jupyter_funcs.options import Options
from jupyter_funcs.progress import Progress
from jupyter_funcs.retries import Purpose
from jupyter_funcs.signature import docstring, signature
from jupyter_funcs.text import folded, quote

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from jupyter_funcs.cache import Cache
    from jupyter_funcs.catalog import Function, Param
    from jupyter_funcs.choices import Choice, Choices
    from jupyter_funcs.panel import Panel
    from jupyter_funcs.session import Session
    from jupyter_funcs.sweep_job import SweepJob


class Wire(Protocol):
    """What a function needs of its session to run, on the background loop."""

    @property
    def choices(self) -> Choices: ...

    async def run(
        self, function: str, args: Args, options: Options, progress: Progress, purpose: Purpose = Purpose.RUN
    ) -> pd.DataFrame: ...

    async def identity(self, cache: Cache) -> str: ...


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

    def __init__(self, session: Session, function: Function, slug: str, wire: Wire) -> None:
        self.session = session
        self._wire = wire
        self.function = function
        self.options = Options()
        self.name: str = function.name
        self.slug = slug
        self.params: tuple[Param, ...] = function.params
        self.fields: tuple[Field, ...] = read_fields(function)
        self.__name__ = self.slug
        self.__doc__ = docstring(function, self.fields)
        self.__signature__ = signature(self.fields)

    @property
    def synthetic(self) -> bool:
        """Whether its data are the demo's, and so invented."""
        return self.function.synthetic or self.session.synthetic

    def __call__(self, /, *unnamed: Any, **values: Any) -> pd.DataFrame:
        """Run it and wait for the DataFrame; an interrupt cancels the run."""
        job = None
        try:
            job = self.submit(*unnamed, **values)
            frame = job.result()
        except KeyboardInterrupt:
            if job is not None:
                job.cancel()
            raise
        if f"{__package__}.extension" in sys.modules:  # the next Tab is to know its values; a script has no Tab
            self.learn(job.args)
        return frame

    def submit(self, /, *unnamed: Any, **values: Any) -> Job:
        """
        Start a run.

        Raises
        ------
        ArgumentError
            A value is missing, unknown or not valid; nothing was sent.
        """
        return self.start(self.form(*unnamed, **values).check())

    def start(self, args: Args, *, keep: bool = False) -> Job:
        """Start a run with arguments that a form has checked; `keep` keeps the reply's body in the job's progress."""
        progress = Progress(keeps=keep)
        job = Job(self.name, args, self._run(args, progress), progress)
        self._note(job)
        return job

    async def _run(self, args: Args, progress: Progress) -> pd.DataFrame:
        if not self.options.cache:
            return await self._sent(args, progress)
        cache = self.session.cache
        [key] = cache.keys(await self._wire.identity(cache), self.function, self.options, [args])
        frame = await asyncio.to_thread(cache.take, key, self.options.max_age)
        if frame is None:
            frame = await self._sent(args, progress)
            await asyncio.to_thread(cache.keep, key, frame)
        return frame

    async def _sent(self, args: Args, progress: Progress) -> pd.DataFrame:
        # Through self, which holds the session: one that nobody else holds lives until its runs have ended.
        try:
            return await self._fetched(args, progress, Purpose.RUN)
        except (ArgumentError, FunctionError, NotFoundError) as error:
            # Before the functions may be listed anew, by which the listed values are forgotten; and in a thread, since
            # comparing with many takes a while.
            await asyncio.to_thread(suggest, error, self.fields, args, partial(self._listed, args))
            if isinstance(error, FunctionError):
                raise
            refusal = error
        raise await self.explained(refusal)

    def _listed(self, args: Args, field: Field) -> list[tuple[str, str]]:
        return [(choice.value, choice.label) for choice in self.known_choices(field, args)]

    def sweep(self, table: pd.DataFrame | None = None, /, **values: Any) -> pd.DataFrame:
        """
        Run it many times and wait for one DataFrame: ``fn.sweep(Symbol=[…], PanelName="…")``.

        Parameters
        ----------
        table
            A row of arguments a run; its columns are parameters.
        **values
            As of a call. A list is swept: every combination is run, or with ``with_options(pairs=True)`` the first of
            each list, then the second. For a parameter that takes a list, a list of lists is swept.

        Returns
        -------
        DataFrame
            A block a run in the order of the arguments, the swept ones as leading columns. ``attrs["errors"]`` lists
            the runs that failed, ``attrs["funcs"]`` says what the others have in common.

        Raises
        ------
        ArgumentError
            A value is missing or not valid, or there are too many runs; nothing was sent.
        KeyboardInterrupt
            An interrupt came. What has come is kept, and the same call goes on from there.
        """
        from jupyter_funcs.sweep_job import waited  # noqa: PLC0415  # upwards, since it runs this

        frame: pd.DataFrame = waited(self, table, values)
        return frame

    def start_sweep(
        self, values: Mapping[str, Any] | None = None, table: pd.DataFrame | None = None, /, **named: Any
    ) -> SweepJob:
        """
        Start what `sweep` does, without a bar; more runs than ``most_runs`` are an `ArgumentError`.

        Parameters
        ----------
        values
            Arguments by parameter, as a mapping.
        table
            As of `sweep`.
        **named
            Arguments, as of `sweep`; they come after those of `values`, and in place of those of the same name.
        """
        from jupyter_funcs.sweep_job import started  # noqa: PLC0415  # as above

        job = started(self, table, {**(values or {}), **named})
        self._note(job)
        return job

    async def take(self, args: Args, progress: Progress) -> pd.DataFrame:
        """Run it as one of many, on the background loop: what the service refuses is not sent again."""
        return await self._fetched(args, progress, Purpose.SWEEP)

    async def _fetched(self, args: Args, progress: Progress, purpose: Purpose) -> pd.DataFrame:
        return self.marked(await self._wire.run(self.name, args, self.options, progress, purpose))

    def marked(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Give what a run gave, with the word whether its data are invented: only the listing says so."""
        frame.attrs["funcs"]["synthetic"] = self.synthetic
        return frame

    def _note(self, job: Job) -> None:
        """Note a run that was started in the history, and in what the function differs from the one that is locked."""
        try:
            self.session.history.add(self, job)
            if said := self.session.watch.look(self.function):
                job.note(said)
        except KeyboardInterrupt:  # nobody gets this job
            job.cancel()
            raise

    async def explained(self, refusal: ArgumentError | NotFoundError) -> FuncsError:
        """Give a refusal of the service, or what it has changed of the function since it was listed."""
        with suppress(FuncsError):  # of the listing: then the refusal is all that is known
            now = await self.session.relisted(self.function)
            if now is None:
                return NotFoundError(f"{self.name} is not in your catalog any more.", "See %funcs find.")
            if said := drift(self.function, now):
                hint = f"Take it anew: funcs[{quote(self.name)}], or open its panel again."
                return ArgumentError(said, hint, refusal.errors if isinstance(refusal, ArgumentError) else None)
        return refusal

    def form(self, /, *unnamed: Any, **values: Any) -> Form:
        """
        Give a form of this function.

        Parameters
        ----------
        *unnamed
            A form whose values are taken over; nothing else goes without a name.
        **values
            Values by the parameters' wire names or Python names.
        """
        self.refuse_options(values)
        form = Form(self, validate=self.options.validate)
        for other in unnamed:
            if not isinstance(other, Form):
                first = self.fields[0].name if self.fields else "name"
                raise ArgumentError(
                    f"{self.name} takes its arguments by name, not {quote(other)}.", f"Write {first}=…."
                )
            form.variables = other.variables
            form.update(other.values)
        form.update(values)
        return form

    def refuse_options(self, values: Mapping[str, Any], how: str = "") -> None:
        """
        Say where an option goes, to who gives one as if it were a parameter.

        Raises
        ------
        ArgumentError
            One of the names is an option, and no spelling of a parameter.
        """
        options = {field.name for field in fields(self.options)}.intersection(values)
        parameters = {folded(name) for field in self.fields for name in (field.name, field.identifier)}
        for name in sorted(options):
            if folded(name) not in parameters:
                said = f"{name} is an option, and no parameter of {self.name}."
                hint = f"Write {self.slug}.with_options({name}=…){how}(…)."
                raise ArgumentError(said, hint, errors={name: [f"{said} {hint}"]})

    def with_options(self, **options: Any) -> RemoteFunction:
        """
        Give this function with other options: ``fn.with_options(timeout=30)(Symbol="…")``.

        Parameters
        ----------
        **options
            As in `Options`; they never mix with the function's own parameters.
        """
        other = copy.copy(self)
        other.options = self.options.changed(**options)
        return other

    def panel(self, /, **values: Any) -> Panel:
        """Give the widget, open at this function with first values for its form."""
        from jupyter_funcs.panel import Panel  # noqa: PLC0415  # upwards, and ipywidgets loads only here

        return Panel(self.session, self, self.form(**values))

    def preset(self, name: str) -> dict[str, Any]:
        """
        Give the values that were saved under a name, to call it with: ``fn(**fn.preset("Walmart"))``.

        Raises
        ------
        NotFoundError
            There is no preset of this name; says which there are.
        """
        return self.session.presets.get(self.name, name)

    def describe(self) -> pd.DataFrame:
        """
        Give its parameters as a table.

        Returns
        -------
        DataFrame
            One row a parameter: name, kind, required, default, options, help.
        """
        from jupyter_funcs.view import Listing  # noqa: PLC0415  # as in Session.find

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
        described = Listing(rows, columns=["name", "kind", "required", "default", "options", "help"])
        described.nothing = f"{self.name} takes no parameters."
        return described

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

    async def choices(self, field: Field, args: Args, *, again: bool = False) -> tuple[list[Choice], list[str]]:
        """
        Ask the field's listing function for its valid values, on the background loop.

        Parameters
        ----------
        field
            A field of this function with a `source`.
        args
            What the form holds; the listing function takes its own arguments from it.
        again
            Ask even when the values are listed already.

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
        return await self._wire.choices.ask(listing, listing.form(**wanted).args, field, again=again), []

    def known_choices(self, field: Field, args: Args) -> list[Choice]:
        """Give what `choices` has listed already for these arguments; the service is never asked."""
        catalog = self.session.listed
        function = catalog.peek(field.source) if catalog is not None and field.source else None
        if catalog is None or function is None:
            return []
        listing = self.session[catalog.slug(function)]
        wanted, missing = listing_args(field, listing.fields, args)
        return [] if missing else self._wire.choices.known(listing, listing.form(**wanted).args, field)

    def listed_at(self, field: Field, args: Args) -> float | None:
        """Give when `choices` listed the values for these arguments, in seconds since the epoch."""
        listing = self.session[field.source] if field.source else self
        wanted, _ = listing_args(field, listing.fields, args)
        return self._wire.choices.listed_at(listing, listing.form(**wanted).args, field)

    def learn(self, args: Args) -> None:
        """List in the background what `choices` can list for these arguments, so that `known_choices` knows it."""
        loop.start(self._learn(args))

    async def _learn(self, args: Args) -> None:
        for field in self.fields:
            if field.source:
                with suppress(Exception):  # nobody waits for it, and the run itself says what is wrong
                    await self.choices(field, args)

    def code(self, args: Mapping[str, Any], *, sweeps: bool = False) -> str:
        """Give the Python expression that runs this function, or sweeps it, with these, given a session ``funcs``."""
        wire_names = {field.name for field in self.fields}
        # A parameter may be called as another one is in Python, and is then meant by that name.
        named = {
            field.name: field.identifier
            for field in reversed(self.fields)
            if field.identifier == field.name or field.identifier not in wire_names
        }
        given = ", ".join(
            f"{named[name]}={value!r}" if name in named else f"**{{{name!r}: {value!r}}}"
            for name, value in args.items()
        )
        by_slug = not hasattr(type(self.session), self.slug)
        how = ".sweep" if sweeps else ""
        return f"funcs.{self.slug}{how}({given})" if by_slug else f"funcs[{self.name!r}]{how}({given})"

    def __repr__(self) -> str:
        """Give its signature, in one line."""
        return f"<{self.slug}{self.__signature__} of {self.session.service}>"

    def _repr_pretty_(self, printer: Any, *_: object) -> None:
        """Give its parameters in a cell, the required ones marked ``*``: with their types they fill the screen."""
        names = ", ".join(f"{field.identifier}{'*' * field.required}" for field in by_name(self.fields).values())
        printer.text(f"<{self.slug}({names}) of {self.session.service}>")


def request(function: str, args: Args) -> dict[str, Any]:
    """Give the body of a run (SERVICE.md 1)."""
    return {"FunctionName": function, "Args": args}
