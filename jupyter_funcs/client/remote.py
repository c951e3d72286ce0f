"""Requests to a source on the background loop: listings, runs read into frames, the valid values of fields."""

from __future__ import annotations

import asyncio
import datetime as dt
import time
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_funcs.catalog.choices import Choice, Choices
from jupyter_funcs.catalog.schemas import ReplySchemas
from jupyter_funcs.client.cache import LISTINGS, Cache
from jupyter_funcs.connection.replies import Reply
from jupyter_funcs.connection.retries import Purpose
from jupyter_funcs.connection.secrets import NoSecret, redacted_values
from jupyter_funcs.connection.transport import KeptReplies, Terms, Transport
from jupyter_funcs.core.background import Progress, loop_time, with_deadline
from jupyter_funcs.core.errors import DeadlineError, NotFoundError, ReplyTooLargeError
from jupyter_funcs.core.json_decoding import Once
from jupyter_funcs.core.text import utc_text
from jupyter_funcs.sources.source import (
    ServiceSource,
    detected,
    read_listing,
    source_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping

    import pandas as pd

    from jupyter_funcs.catalog.fields import Field
    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.catalog.listing import Catalog, Function
    from jupyter_funcs.client.options import CallOptions
    from jupyter_funcs.core.errors import FuncsError
    from jupyter_funcs.frames.frame import ListedReply

LIST_SECONDS = 20.0
RUN_SECONDS = 300.0
_WAITING_SECONDS = 30.0  # for its turn, beside what a service allows a run
# Bytes; a larger reply isn't kept beside the frame made of it.
MAX_RAW_REPLY = 64 * 2**20
_MOST_GROUPS = 50  # of listed values
_SMALL = 64 * 1024  # bytes; read in about a millisecond


class Remote:
    """Sends requests to a source and reads the replies into frames."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.source = source_of(transport.connection.kind, transport)
        self.choices = ListedValues(self.run)
        self._replies = Once()

    async def listing(
        self, left: float | None = None, *, is_early: bool = False
    ) -> Callable[[], Catalog]:
        """Ask the source for its functions, once and at no cost if nobody waits yet; return what warns of them."""
        progress = Progress()
        terms = self._listing_terms(left or LIST_SECONDS)
        if is_early:
            terms = terms._replace(retries=0, counts=False)
        work = self._listing(terms, progress)
        try:
            return await with_deadline(
                LIST_SECONDS,
                work,
                "The listing of the functions",
                progress,
                terms.until,
            )
        except (
            DeadlineError,
            ReplyTooLargeError,
        ) as error:
            # No option gives it more time or more bytes.
            if progress.attempts and isinstance(error, DeadlineError):
                error.hint = "Try again."
            elif progress.attempts:
                error.hint = "No more than this is read of a listing."
            raise

    async def kept_listing(self, why: FuncsError) -> Callable[[], Catalog]:
        """Read what this machine keeps of the last listing of the same account; it raises if that is nothing."""
        return await self._listing(self._listing_terms(LIST_SECONDS, why), Progress())

    def _listing_terms(self, seconds: float, why: FuncsError | None = None) -> Terms:
        kept = None
        if not self.transport.is_own:  # which may hold the account
            cache = Cache()
            identity = partial(cache.identity, self.transport.connection)
            kept = KeptReplies(cache.folder / LISTINGS, identity, why)
        return Terms(Purpose.LISTING, until=loop_time() + seconds, kept=kept)

    async def _listing(self, terms: Terms, progress: Progress) -> Callable[[], Catalog]:
        self.transport.reopen_after_fork()  # what holds the lock stayed in the parent
        async with self.transport.detecting:
            read = None
            if not self.source.kind:
                self.source, read = await detected(self.transport, terms, progress)

        read = read or await read_listing(self.source, self.transport, terms, progress)

        def listed() -> Catalog:
            catalog = read()
            catalog.add_synonyms(self.transport.connection.synonyms)
            return catalog

        return listed

    async def run(
        self,
        function: Function,
        args: Args,
        options: CallOptions,
        progress: Progress,
        purpose: Purpose = Purpose.RUN,
    ) -> pd.DataFrame:
        """Run a listed function on the background loop, and report to `progress`."""
        started = time.time()
        began = time.monotonic()
        seconds = self.seconds(options)
        until = loop_time() + seconds
        if function.changes_data:
            purpose = Purpose.CHANGE
        terms = Terms(
            purpose, until, options.max_bytes, options.retries, force=options.force
        )
        if options.pages is None or self.source.kind in {"", "service", "python"}:
            work = self._fetch(function, args, options, progress, terms)
        else:
            from jupyter_funcs.client.paging import PagedRun

            read = partial(self._read, function)
            run = PagedRun(self.source, function, terms, progress, read)
            work = run.frame(args, options, self.listed(function))

        frame = await with_deadline(seconds, work, function.name, progress, until)
        told = frame.attrs.get("funcs", {})
        if "page" in told:  # a link may repeat a key
            told["page"] = redacted_values(told["page"])
        frame.attrs["funcs"] = {
            **told,
            "function": function.name,
            "args": redacted_values(args),
            "time": utc_text(started),
            "service": self.transport.connection.name,
            "elapsed": round(time.monotonic() - began, 3),
            "bytes": progress.received,
            "attempts": progress.attempts,
        }
        self.choices.hold(function.name, args, frame)
        return frame

    def seconds(self, options: CallOptions) -> float:
        """Return how long a run may take: as the user says, else the profile, else the service."""
        source = self.source
        usual = RUN_SECONDS
        if isinstance(source, ServiceSource) and source.run_seconds:
            usual = source.run_seconds + _WAITING_SECONDS
        return options.timeout or self.transport.connection.timeout or usual

    @property
    def keeps_runs(self) -> bool:
        """Whether the service can keep runs."""
        return isinstance(self.source, ServiceSource) and self.source.keeps_runs

    @property
    def keeper(self) -> ServiceSource:
        """The service that keeps runs; raises `NotFoundError` if it doesn't."""
        if isinstance(self.source, ServiceSource) and self.source.keeps_runs:
            return self.source
        raise NotFoundError(
            f"{self.transport.connection.name} keeps no runs.",
            "Connect to the service that does.",
        )

    async def identity(
        self, function: Function, cache: Cache, *, is_stored: bool = True
    ) -> str:
        """Return who asks whom, for the keys of the cache; this asks the token's source."""
        secret = await with_deadline(
            LIST_SECONDS, self.transport.secret(), "The token's source"
        )
        if function.changes_data and not is_stored and not secret.account:
            # A new token must not repeat the changes of an interrupted sweep.
            secret = NoSecret()

        def read() -> str:
            source = [self.source.kind, self.source.identity(function)]
            return cache.identity(
                self.transport.connection, secret, source, is_stored=is_stored
            )

        return await asyncio.to_thread(read)

    async def _fetch(
        self,
        function: Function,
        args: Args,
        options: CallOptions,
        progress: Progress,
        terms: Terms,
    ) -> pd.DataFrame:
        from jupyter_funcs.frames.columns import has_arrow

        # As JSON if its text is wanted, or the values before they have types.
        takes_arrow = has_arrow() and not progress.keep_reply and options.schema is None
        reply = await self.source.run(
            function, args, terms._replace(takes_arrow=takes_arrow), progress
        )
        if progress.on_answer:
            progress.on_answer()
        if not isinstance(reply, Reply):
            return reply
        frame = await self._read(function, reply, options)
        if progress.keep_reply and progress.received <= MAX_RAW_REPLY:
            progress.reply = await asyncio.to_thread(reply.without_token)
        return frame

    def listed(self, function: Function) -> ListedReply:
        """Return what the catalog declares of the replies of a function."""
        from jupyter_funcs.frames.frame import UNLISTED, ListedReply

        if function.returns is None:
            return UNLISTED
        read = ReplySchemas(function.returns).read
        return self._replies.once(
            "", function.returns, lambda schema: ListedReply.read(read(schema))
        )

    async def _read(
        self, function: Function, reply: Reply, options: CallOptions
    ) -> pd.DataFrame:
        from jupyter_funcs.frames.frame import page_to_frame
        from jupyter_funcs.frames.media import is_json, media_to_frame, stream_to_frame

        is_service = self.source.kind in {"", "service"}
        headers: Mapping[str, str] = {}
        if not is_service:
            headers = reply.headers
        if reply.is_arrow:
            read = partial(stream_to_frame, listed=self.listed(function))
        elif not (is_service or reply.lines or is_json(reply.data, reply.media_type)):
            read = partial(
                media_to_frame, media_type=reply.media_type, schema=options.schema
            )
        else:
            read = partial(
                page_to_frame,
                headers=headers,
                schema=options.schema,
                lines=reply.lines,
                envelope=is_service,
                listed=self.listed(function),
            )

        if len(reply.data) <= _SMALL:
            # On the loop, because handing a small reply to a thread takes longer than reading it. One at a time and
            # after pending requests are sent, so that the service works while replies are read.
            async with self.transport.turn:
                await asyncio.sleep(0)
                return reply.read(read)

        return await asyncio.to_thread(reply.read, read)


class _KnownChoices(NamedTuple):
    choices: Choices
    at: float  # seconds since 1970


class ListedValues:
    """The valid values of fields, from the functions that list them; each of those runs once per session."""

    def __init__(
        self,
        run: Callable[
            [Function, Args, CallOptions, Progress], Coroutine[Any, Any, pd.DataFrame]
        ],
    ) -> None:
        self._run = run
        self._choices: dict[tuple[str, str], _KnownChoices] = {}
        self._listings: dict[str, asyncio.Task[pd.DataFrame]] = {}
        # Results that somebody still holds: one may come from a function that lists values.
        self._held: weakref.WeakValueDictionary[str, pd.DataFrame] = (
            weakref.WeakValueDictionary()
        )

    def forget(self) -> None:
        """Forget all listed values."""
        self._choices = {}
        self._listings = {}
        self._held.clear()

    def hold(self, function: str, args: Args, frame: pd.DataFrame) -> None:
        """Note a result for as long as somebody else holds it."""
        self._held[_call_key(function, args)] = frame

    async def ask(
        self,
        lister: Function,
        options: CallOptions,
        args: Args,
        field: Field,
        *,
        again: bool = False,
    ) -> Choices:
        """Return the values of a field; run the function that lists them if they aren't known, or if asked `again`."""
        key = _call_key(lister.name, args), field.name
        if again or key not in self._choices:
            self._choices[key] = _choices_in(
                await self._list_once(lister, options, args, again=again), field
            )

        return self._choices[key].choices

    def known(self, lister: Function, args: Args, field: Field) -> Choices:
        """Return the values of a field that `ask` or a run has listed already."""
        call = _call_key(lister.name, args)
        key = (call, field.name)
        frame = self._held.get(call)
        if key not in self._choices and frame is not None:
            self._choices[key] = _choices_in(frame, field)
        if key in self._choices:
            return self._choices[key].choices
        return Choices()

    def listed_at(self, lister: Function, args: Args, field: Field) -> float | None:
        """Return when the values of a field were listed, in seconds since 1970."""
        choices = self._choices.get((_call_key(lister.name, args), field.name))
        return choices and choices.at

    async def _list_once(
        self, lister: Function, options: CallOptions, args: Args, *, again: bool
    ) -> pd.DataFrame:
        """Run the function once for all fields whose values it lists, even if some of them stop waiting."""
        key = _call_key(lister.name, args)
        task = self._listings.get(key)
        if task is None or (again and task.done()):
            task = asyncio.ensure_future(self._run(lister, args, options, Progress()))
            self._listings[key] = task

            def end(task: asyncio.Task[pd.DataFrame]) -> None:
                # asyncio prints an exception that nobody retrieves.
                failed = task.cancelled() or task.exception()
                if failed and self._listings.get(key) is task:
                    del self._listings[key]

            task.add_done_callback(end)

        return await asyncio.shield(task)


def _call_key(function: str, args: Args) -> str:
    return repr((function, args))


def _choices_in(frame: pd.DataFrame, field: Field) -> _KnownChoices:
    """
    Read the values from the column named like the field, else the first text column; labels from the next one.

    The first column after it whose texts repeat, such as a sector, gives the groups.
    """
    at = dt.datetime.fromisoformat(frame.attrs["funcs"]["time"]).timestamp()
    frame = frame.astype(dict.fromkeys(frame.select_dtypes("category"), "string"))
    texts = [column for column in frame.columns if frame[column].dtype == "string"]
    own = [
        column
        for column in frame.columns
        if str(column).casefold() == field.name.casefold()
    ]
    column = next(iter(own or texts), None)
    if column is None:
        return _KnownChoices(Choices(), at)
    rows = frame.dropna(subset=[column]).drop_duplicates(column)
    columns = list(frame.columns)
    following = [text for text in columns[columns.index(column) + 1 :] if text in texts]
    most = min(len(rows) / 2, _MOST_GROUPS)
    group = next(
        (text for text in following[1:] if 1 < rows[text].nunique() <= most), None
    )
    label = next(iter(following), None)
    described = zip(
        rows[column], _texts_of(rows, label), _texts_of(rows, group), strict=True
    )
    choices = (Choice(*map(str, row)) for row in described)
    return _KnownChoices(Choices(choices, field.kind), at)


def _texts_of(rows: pd.DataFrame, column: Any) -> Iterable[str]:
    if column is None:
        return [""] * len(rows)
    return list(rows[column].fillna(""))
