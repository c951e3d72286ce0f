"""A listed function as a Python callable: options, form, and runs as Jobs."""

from __future__ import annotations

import asyncio
import copy
import itertools
import sys
from contextlib import suppress
from dataclasses import fields
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Self

from jupyter_funcs.catalog.changes import drift
from jupyter_funcs.catalog.choices import Choices, refused, suggest
from jupyter_funcs.catalog.fields import (
    Field,
    by_name,
    listing_args,
    part_named,
    read_fields,
    with_parts,
)
from jupyter_funcs.catalog.form import Args, Form
from jupyter_funcs.catalog.signatures import docstring, signature
from jupyter_funcs.catalog.values import Variable, in_words, shorten
from jupyter_funcs.client import questions
from jupyter_funcs.client.cache import run_keys
from jupyter_funcs.client.jobs import Job
from jupyter_funcs.client.options import MOST_RUNS, CallOptions
from jupyter_funcs.connection.retries import Purpose
from jupyter_funcs.core import background
from jupyter_funcs.core.background import Progress, with_deadline
from jupyter_funcs.core.errors import (
    ArgumentError,
    FuncsError,
    FunctionError,
    NotFoundError,
)
from jupyter_funcs.core.text import LONGEST_CODE, code_of, folded, plain, quote, visible
from jupyter_funcs.core.warn import warn

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from jupyter_funcs.catalog.listing import Function, Param
    from jupyter_funcs.client.client import Client
    from jupyter_funcs.core.json_decoding import JsonObject, Values


_MOST_HINTS = 3  # of a refusal
_HINT_SECONDS = 3.0


class RemoteCall:
    """A function of the catalog: its form, its runs and its choices. `api.RemoteFunction` adds sweeps and panels."""

    def __init__(
        self, session: Client[RemoteCall], function: Function, slug: str
    ) -> None:
        self.session = session
        self.function = function
        self._lists_synthetic = function.synthetic
        self.options = CallOptions()
        self.name: str = function.name
        self.slug = slug
        self.params: tuple[Param, ...] = function.params
        self.fields: tuple[Field, ...] = read_fields(function)
        self.__name__ = self.slug
        self.__doc__ = docstring(function, self.fields)
        self.__signature__ = signature(self.fields)

    @property
    def synthetic(self) -> bool:
        """Whether the data are synthetic."""
        return self._lists_synthetic or self.session.synthetic

    @property
    def most_runs(self) -> int:
        """How many runs a sweep may have without confirmation; 0 if already a second one needs it: it changes data."""
        if self.options.most_runs is None and not self.function.changes_data:
            return MOST_RUNS
        return self.options.most_runs or 0

    def may_cache(self, *, is_sweep: bool) -> bool:
        """Return whether results may come from the cache on disk and go there; never if a run changes data."""
        wanted = self.options.cache
        if is_sweep:
            wanted = wanted is not False and self.options.to is None
        return bool(wanted) and not self.function.changes_data

    def __call__(self, /, *unnamed: Any, **values: Any) -> pd.DataFrame:
        """
        Run the function and wait for the DataFrame. An interrupt cancels the run. Arguments are as in `form`.

        Returns
        -------
        DataFrame
            ``attrs["funcs"]`` says which function ran, with which arguments, when and where.

        Raises
        ------
        ArgumentError
            A value is missing, unknown or not valid; nothing was sent.
        FuncsError
            The run failed.
        """
        job = None
        try:
            args = self._checked(self.form(*unnamed, **values))
            asks = self.session.kind == "mcp" and questions.can_ask()
            job = self.start(args, can_ask=asks)
            if asks:
                questions.answer_while(job)
            frame = job.result()
        except KeyboardInterrupt:
            if job:
                job.cancel()
            raise

        # Only the extension completes listed values.
        if "jupyter_funcs.magic.extension" in sys.modules:
            self.learn(job.args)

        return frame

    def submit(self, /, *unnamed: Any, **values: Any) -> Job:
        """
        Start a run and return its job. Arguments are as in `form`.

        Raises
        ------
        ArgumentError
            A value is missing, unknown or not valid; nothing was sent.
        """
        return self.start(self._checked(self.form(*unnamed, **values)))

    def _checked(self, form: Form) -> Args:
        args = form.check()
        self.warn_of(form.warnings)
        return args

    def warn_of(self, warnings: Mapping[str, Iterable[str]]) -> None:
        """Warn of what contradicts descriptions and listings, once per text."""
        for text in shorten(list(dict.fromkeys(itertools.chain(*warnings.values())))):
            warn(f"{self.name}: {text} The run is sent anyway.")

    def start(
        self, args: Args, *, keep_reply: bool = False, can_ask: bool = False
    ) -> Job:
        """
        Start a run with checked arguments; with `keep_reply`, the job's progress holds the raw reply.

        `can_ask` is whether the caller looks for questions to the user.
        """
        progress = Progress(keep_reply=keep_reply, can_ask=can_ask)
        remote = self.session.remote
        wants_kept = self.options.keep
        if wants_kept is None:
            wants_kept = remote.transport.connection.keep
        if remote.keeps_runs:
            progress.kept_id = token_hex(6)
            progress.is_kept = wants_kept

        job = self._started(args, progress)
        if wants_kept and not progress.is_kept:
            job.note(
                f"{self.session.service} keeps no runs: the result is only in this kernel."
            )

        return job

    def kept(self, id_: str, args: Args, *, has_ended: bool) -> Job:
        """Return a job for a run that the service keeps."""
        progress = Progress(
            kept_id=id_, is_kept=True, has_begun=True, has_ended=has_ended
        )
        return self._started(args, progress)

    def _started(self, args: Args, progress: Progress) -> Job:
        job = Job(self.name, args, self._run(args, progress), progress)
        self.notify_started(job)
        return job

    def notify_started(self, job: Job) -> None:
        """Tell the session that a run was started."""
        try:
            self.session.on_run(self, job)
        except KeyboardInterrupt:  # the caller won't get this job
            job.cancel()
            raise

    async def _run(self, args: Args, progress: Progress) -> pd.DataFrame:
        is_kept = self.may_cache(is_sweep=False)
        goes_on = self.options.pages is not None and self.may_cache(is_sweep=True)
        if not is_kept and not goes_on:
            return await self._fetch_or_explain(args, progress)
        cache = self.session.cache
        identity = await self.session.remote.identity(self.function, cache)
        [key] = run_keys(identity, self.function, self.options, [args])
        frame = None
        if is_kept:
            frame = await asyncio.to_thread(cache.get, key, self.options.max_age)
        if frame is None:
            if goes_on:
                from jupyter_funcs.client.paging import PageStore

                progress.pages = PageStore(cache, key, self.options.max_age)
            frame = await self._fetch_or_explain(args, progress)
            if is_kept:
                await asyncio.to_thread(cache.put, key, frame)

        return frame

    async def _fetch_or_explain(self, args: Args, progress: Progress) -> pd.DataFrame:
        try:
            return await self.fetch(args, progress, Purpose.RUN)
        except (ArgumentError, FunctionError, NotFoundError) as error:
            with suppress(Exception):  # the refusal says enough without suggestions
                await with_deadline(
                    _HINT_SECONDS, self._list_values(error, args), "The listing"
                )
            # Before `explain`, which may list the functions again and so forget the listed values. In a thread, because
            # comparing a value with many others takes a while.
            await asyncio.to_thread(self._add_hints, error, args)
            if isinstance(error, FunctionError):
                raise
            refusal = error

        raise await self.explain(refusal)

    async def _list_values(self, error: FuncsError, args: Args) -> None:
        """List the values of the fields that a refusal is about, so that near ones can be suggested."""
        for field in self.fields:
            if field.source and refused(error, field, args):
                await self.choices(field, args)

    def _add_hints(self, error: FuncsError, args: Args) -> None:
        """Add to a refusal which values contradict what is listed and described."""
        suggest(error, self.fields, args, lambda field: self.known_choices(field, args))
        form = Form(self)
        warnings = itertools.chain(
            *form.warnings_of_values(args, ()).values(),
            *form.warnings_between(args).values(),
        )
        new = [
            text
            for text in warnings
            if text.partition(":")[0].rstrip(".") not in str(error)
        ]
        error.hint = " ".join([error.hint, *new[:_MOST_HINTS]]).strip()

    async def fetch(
        self, args: Args, progress: Progress, purpose: Purpose = Purpose.SWEEP
    ) -> pd.DataFrame:
        """Run it on the background loop, by default as part of a sweep."""
        return self.mark_synthetic(
            await self.session.remote.run(
                self.function, args, self.options, progress, purpose
            )
        )

    def mark_synthetic(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Note in a result whether its data are synthetic, which only the listing says."""
        frame.attrs["funcs"]["synthetic"] = self.synthetic
        return frame

    async def explain(self, refusal: FuncsError) -> FuncsError:
        """Return an error that names what changed in the function since it was listed, else the refusal itself."""
        with suppress(FuncsError):  # the functions can't be listed
            now = await self.session.relist(self.function)
            if now is None:
                return NotFoundError(
                    f"{self.name} is no longer in your catalog.", "See %funcs find."
                )
            if changed := await asyncio.to_thread(drift, self.function, now):
                return ArgumentError(
                    changed,
                    f"Get it again with funcs[{quote(self.name)}], or reopen its panel.",
                    getattr(refusal, "errors", None),
                )

        return refusal

    def form(self, /, *unnamed: Any, **values: Any) -> Form:
        """
        Return a form of this function, filled with these values.

        Parameters
        ----------
        *unnamed
            A form to copy the values from.
        **values
            Values by the parameters' wire names or Python names, or by dotted names: ``**{"customer.name": "Ann"}``.

        Raises
        ------
        ArgumentError
            A name is not a parameter, or a value was passed without a name.
        """
        self.refuse_options(values)
        form = Form(self)
        form.validate = self.options.validate
        form.choices = self.known_choices
        for other in unnamed:
            if not isinstance(other, Form):
                hint = "It takes no parameters."
                if self.fields:
                    hint = f"Write {self.fields[0].name}=…."
                raise ArgumentError(
                    f"{self.name} takes its arguments by name, not {quote(other)}.",
                    hint,
                )
            form.variables = other.variables
            form.update(other.values)

        form.update(values)
        return form

    def refuse_options(self, values: Values, method: str = "") -> None:
        """Refuse options passed as if they were parameters, and say where they go."""
        options = {field.name for field in fields(self.options)}.intersection(values)
        for name in sorted(options and self.unknown(options)):
            raise self.option_error(
                name, f"{self.slug}.with_options({name}=…){method}(…)"
            )

    def unknown(self, names: Iterable[str]) -> list[str]:
        """Return the names that belong to no parameter, in any spelling."""
        parameters = {
            folded(name)
            for field in self.fields
            for name in (field.name, field.identifier)
        }
        unlike = [name for name in names if folded(name) not in parameters]
        return [name for name in unlike if part_named(self.fields, name) is None]

    def option_error(self, name: str, usage: str) -> ArgumentError:
        """Return the error for an option passed as a parameter, with its correct usage."""
        what = f"{name} is an option, not a parameter of {self.name}."
        hint = f"Write {usage}."
        return ArgumentError(what, hint, errors={name: [f"{what} {hint}"]})

    def with_options(self, **options: Any) -> Self:
        """
        Return this function with other options: ``fn.with_options(timeout=30)(Symbol="…")``.

        Parameters
        ----------
        **options
            The options of runs and sweeps: ``timeout``, ``cache``, ``retries``, ``concurrency`` … `CallOptions` lists
            them with their units and defaults.

        Raises
        ------
        ArgumentError
            An option is unknown, or its value is not valid.
        """
        other = copy.copy(self)
        other.options = self.options.changed(**options)
        return other

    def describe(self) -> pd.DataFrame:
        """
        Return the parameters as a table.

        Returns
        -------
        DataFrame
            One row per parameter, and per part of an object: name, kind, known from, required, default, options, help.
            "known from" is how its kind is known: declared by the catalog, described in words, or assumed from its
            name.
        """
        from jupyter_funcs.frames.text_tables import Listing

        rows = [
            (
                field.name,
                str(field.kind),
                str(field.evidence.get("kind", "")),
                *in_words(field),
                field.help,
            )
            for field in with_parts(self.fields)
        ]
        described = Listing(
            rows,
            columns=[
                "name",
                "kind",
                "known from",
                "required",
                "default",
                "options",
                "help",
            ],
        )
        described.note = self.function.notes
        described.nothing = (
            f"{self.name} takes no parameters. {described.note}".rstrip()
        )
        return described

    def request(self, /, **values: Any) -> JsonObject:
        """
        Return what a run would send, without the token, as a JSON object. Arguments are as in `form`.

        Raises
        ------
        ArgumentError
            A value is missing, unknown or not valid.
        """
        return self.session.remote.source.request(
            self.function, self._checked(self.form(**values))
        )

    def json_schema(self) -> JsonObject:
        """Return the JSON Schema of the arguments."""
        return self.form().json_schema()

    def _lister(self, field: Field, args: Args) -> tuple[RemoteCall, Args, list[str]]:
        """Return the function that lists a field's values, its arguments, and the fields to fill first."""
        lister = self
        if field.source:
            lister = self.session[field.source]
        wanted, missing = listing_args(field, lister.fields, args)
        return lister, lister.form(**wanted).args, missing

    async def choices(
        self, field: Field, args: Args, *, again: bool = False
    ) -> tuple[Choices, list[str]]:
        """Ask for the valid values of a field, on the background loop; or return the fields to fill first."""
        lister, wanted, missing = self._lister(field, args)
        if missing or lister.function.changes_data:  # nobody asked for the change
            return Choices(), missing
        ask = self.session.remote.choices.ask
        return await ask(
            lister.function, lister.options, wanted, field, again=again
        ), []

    def known_choices(self, field: Field, args: Args) -> Choices:
        """Return the values of a field that are listed already, without asking the service."""
        catalog = self.session.listed
        if catalog is None or not field.source or catalog.peek(field.source) is None:
            return Choices()
        lister, wanted, missing = self._lister(field, args)
        if missing:
            return Choices()
        return self.session.remote.choices.known(lister.function, wanted, field)

    def listed_at(self, field: Field, args: Args) -> float | None:
        """Return when `choices` listed the values of a field, in seconds since 1970."""
        lister, wanted, _ = self._lister(field, args)
        return self.session.remote.choices.listed_at(lister.function, wanted, field)

    def learn(self, args: Args) -> None:
        """List the valid values of all fields in the background, so that `known_choices` has them."""
        background.start(self._learn(args))

    async def _learn(self, args: Args) -> None:
        for field in self.fields:
            if field.source:
                # Nobody waits for it, and a run reports what is wrong.
                with suppress(Exception):
                    await self.choices(field, args)

    @property
    def python_names(self) -> dict[str, str]:
        """The Python names of the parameters by wire name, except those that are the wire name of another one."""
        wire = {field.name for field in self.fields}
        named = {field.name: field.identifier for field in reversed(self.fields)}
        return {
            name: own for name, own in named.items() if own == name or own not in wire
        }

    def code(self, args: Values, *, sweeps: bool = False, result: str = "") -> str:
        """Return the Python code that runs or sweeps this function, for a session named ``funcs``."""
        names = self.python_names
        values = []
        for name, value in args.items():
            code = _code_value(value)
            values.append(
                (f"{names[name]}=", code) if name in names else ("**", {name: code})
            )

        call = f"funcs.{self.slug}"
        if hasattr(type(self.session), self.slug):
            call = f"funcs[{self.name!r}]"
        if self.options.pages:
            call += '.with_options(pages="all")'
        if sweeps:
            call += ".sweep"
        begin = call
        if result:
            begin = f"{result} = {call}"
        line = f"{begin}({', '.join(f'{first}{value!r}' for first, value in values)})"
        if len(line) <= LONGEST_CODE or not values:
            return line
        lines = (code_of(value, first, ",", "    ") for first, value in values)
        return "\n".join([f"{begin}(", *lines, ")"])

    def __repr__(self) -> str:
        return visible(f"<{self.slug}{self.__signature__} of {self.session.service}>")

    def _repr_pretty_(self, printer: Any, *_: object) -> None:
        # Without the types of the parameters, which would fill the screen; required ones are marked.
        names = ", ".join(
            f"{field.identifier}*" if field.required else field.identifier
            for field in by_name(self.fields).values()
        )
        printer.text(visible(f"<{self.slug}({names}) of {self.session.service}>"))


def _code_value(value: Any) -> Any:
    """Return a value whose repr is code: of an object, three dots."""
    # Text typed after a $ becomes code only if it is a variable name.
    if isinstance(value, Variable):
        if value.name.isidentifier():
            return _Bare(value.name)
        return value

    try:
        return plain(value)
    except TypeError:
        return _Bare("...")


class _Bare(str):
    """The name of a variable, as code."""

    __slots__ = ()
    __repr__ = str.__str__
