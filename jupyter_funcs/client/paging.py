"""All pages of a list: what asks for the next one, and the pages of a run that was interrupted."""

from __future__ import annotations

import asyncio
import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from jupyter_funcs.connection.replies import Reply
from jupyter_funcs.core.errors import ArgumentError, FuncsError, FunctionError
from jupyter_funcs.core.json_decoding import only
from jupyter_funcs.core.text import plural, quote
from jupyter_funcs.frames.media import is_json
from jupyter_funcs.frames.pages import UNSAID, Following, Page, number_of, plain

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    import pandas as pd

    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.catalog.listing import Function, Param
    from jupyter_funcs.client.cache import Cache, CacheWriter
    from jupyter_funcs.client.options import CallOptions
    from jupyter_funcs.connection.transport import Terms
    from jupyter_funcs.core.background import Progress
    from jupyter_funcs.core.json_decoding import JsonObject
    from jupyter_funcs.frames.frame import ListedReply
    from jupyter_funcs.sources.source import Source

    Read = Callable[[Reply, CallOptions], Awaitable[pd.DataFrame]]

# How parameters are called that take a cursor, the number of a page, or how many rows to skip.
_CURSORS = (
    "cursor",
    "pagetoken",
    "nexttoken",
    "nextcursor",
    "pagecursor",
    "after",
    "startingafter",
    "continuationtoken",
    "continuation",
    "continue",
    "marker",
    "token",
    "exclusivestartkey",
    "startkey",
    "next",
    "pageafter",
    "paginationtoken",
    "startcursor",
)
_NUMBERS = (
    "page",
    "pagenumber",
    "pageno",
    "pagenum",
    "pageindex",
    "paginationpage",
    "currentpage",
    "p",
)
_SKIPPED = (
    "offset",
    "skip",
    "start",
    "startat",
    "startindex",
    "startposition",
    "from",
    "pageoffset",
    "paginationstart",
    "resultoffset",
    "skipcount",
)
_FROM_1 = {"startindex", "startposition"}
# Those of them that may also be the day or the text at which rows begin.
_AMBIGUOUS = {"start", "from", "p"}
_SIZES = (
    "limit",
    "size",
    "pagesize",
    "perpage",
    "pagelimit",
    "itemsperpage",
    "maxresults",
    "top",
    "take",
    "count",
    "rows",
    "length",
    "pagelen",
    "maxitems",
    "maxresultcount",
    "paginationlimit",
    "paginationpagesize",
    "resultrecordcount",
)
_AFTER_ROW = "startingafter"


class NextPage(NamedTuple):
    """What asks for the next page: the arguments, or a link."""

    args: Args
    link: str = ""


def next_page(
    function: Function, args: Args, page: Page, more: Following, *, follows_links: bool
) -> NextPage | None:
    """Return what asks for the page after one, or nothing if no declared parameter does."""
    params = _by_word(function)
    if "://" in more.lead or more.lead.startswith(("/", "?", "&")):
        if follows_links and not more.lead.startswith("&"):
            return NextPage(args, more.lead)
        changed = _in_link(params, more.lead)
    elif more.lead:
        word = plain(more.word)
        own = word.removeprefix("next")
        names = [own, own.removeprefix("page"), word, *_CURSORS]
        if more.lead.isdecimal():
            names += _NUMBERS
        names.append("offset")
        asking = list(filter(None, map(params.get, names)))
        changed = {param.name: _typed(param, more.lead) for param in asking[:1]}
    else:
        changed = _counted(params, args, page)

    if changed:
        return NextPage({**args, **changed})
    return None


def _in_link(params: Mapping[str, Param], link: str) -> JsonObject:
    """Return the declared arguments that a link, or a part of one, has."""
    query = parse_qsl(urlsplit(link).query or link)
    words = {plain(name).lstrip("$"): text for name, text in query}
    return {
        params[word].name: _typed(params[word], words[word])
        for word in params.keys() & words.keys()
    }


def _counted(params: Mapping[str, Param], args: Args, page: Page) -> JsonObject:
    """Return the argument that asks for the next page by its number, or by what is before it."""
    if param := _counting(params, _NUMBERS, args):
        first = number_of(page)
        if first is None:
            first = only(dict, param.schema).get("minimum", 1)
        return {param.name: _number(param, args, first) + 1}

    if param := _counting(params, _SKIPPED, args):
        is_index = plain(param.name) in _FROM_1
        first = int(is_index and not _counts_from_0(page))
        first = only(dict, param.schema).get("minimum", first)
        return {param.name: _number(param, args, first) + len(page.rows)}

    for row in page.rows[-1:]:
        if _AFTER_ROW in params and isinstance(row, dict) and "id" in row:
            return {params[_AFTER_ROW].name: row["id"]}

    return {}


def _counting(
    params: Mapping[str, Param], names: Iterable[str], args: Args
) -> Param | None:
    """Return the first parameter of some names that takes a number."""
    for name in names:
        param = params.get(name)
        if param is None:
            continue
        kind = only(dict, param.schema).get("type")
        sent = str(args.get(param.name, "0"))
        if sent.isdecimal() and not (name in _AMBIGUOUS and kind == "string"):
            return param
    return None


def _is_full(function: Function, args: Args, page: Page) -> bool:
    """Return whether a page that says nothing of others has as many rows as it may have, as far as anything tells."""
    if not (isinstance(page.rows, list) and page.rows):
        return False
    params = _by_word(function)
    param = _counting(params, _SIZES, args)
    size = _number(param, args, 0) if param else 0
    if not size:
        return _counting(params, _NUMBERS, args) is not None
    return size <= len(page.rows)


def _by_word(function: Function) -> dict[str, Param]:
    """Return the parameters by their names without signs, as in OData's ``$skip``."""
    return {plain(param.name).lstrip("$"): param for param in reversed(function.params)}


def _counts_from_0(page: Page) -> bool:
    beside = only(dict, page.beside)
    return any(beside[name] == 0 for name in beside if plain(name) in _FROM_1)


def _number(param: Param, args: Args, first: int) -> int:
    """Return the number that was sent, or the one that stands for the first page."""
    default = only(dict, param.schema).get("default")
    values = map(str, (args.get(param.name), default))
    return next((int(value) for value in values if value.isdecimal()), int(first))


def _typed(param: Param, text: str) -> Any:
    kind = only(dict, param.schema).get("type")
    if kind == "object" or (kind in {"integer", "number"} and text.isdecimal()):
        with suppress(ValueError):  # a server may lead on with any text
            return json.loads(text)
    return text


class PagedRun:
    """A run that asks for one page after another, but for those that an interrupted run received."""

    def __init__(
        self,
        source: Source,
        function: Function,
        terms: Terms,
        progress: Progress,
        read: Read,
    ) -> None:
        from jupyter_funcs.frames.frame import AllPages

        self._source = source
        self._function = function
        self._terms = terms
        self._progress = progress
        self._read = read
        self._only: Reply | None = None
        self._store: PageStore | None = progress.pages
        self._follow = getattr(source, "follow", None)
        self._pages = AllPages()

    async def frame(
        self, args: Args, options: CallOptions, listed: ListedReply
    ) -> pd.DataFrame:
        """
        Return the rows of all pages as one table; of the pages so far, with a warning, if one can't be had.

        A reply that isn't a page, or the only one, is read like any other.
        """
        self._pages.listed = listed
        if self._store:
            await asyncio.to_thread(self._store.open)
        is_ended = False
        try:
            why_not_all = await self._ask(NextPage(args), options.most_pages)
            is_ended = True
        except FuncsError as error:
            if not self._pages.number:
                raise
            why_not_all = f"page {self._pages.number + 1:,} failed. {error.what.removesuffix('.')}"
        finally:
            if self._store:
                await asyncio.to_thread(self._store.close, is_ended=is_ended)

        if self._only and not self._pages.more:
            return await self._read(self._only, options)
        return await asyncio.to_thread(self._pages.frame, options.schema, why_not_all)

    async def _ask(self, first: NextPage, most: int) -> str:
        """Ask for all pages; return why some are missing, or nothing."""
        pages = self._pages
        sent = set()
        following = first
        follows_links = self._follow is not None
        more: Following | None = None
        while pages.number < most:
            page = following
            sent.add(repr(page))
            why_not = await self._add(page, is_guess=more is UNSAID)
            if why_not is not None:
                return why_not
            more = pages.more
            if more is UNSAID and not _is_full(self._function, page.args, pages.last):
                more = None
            if more is None:
                return self._why_fewer(first)
            after = next_page(
                self._function,
                page.args,
                pages.last,
                more,
                follows_links=follows_links,
            )
            if after is None and more is UNSAID:
                return ""
            if after is None:
                return f"no parameter asks for the next page ({quote(more.word)})"
            if repr(after) in sent:
                return "a page names an earlier one as its next"
            following = after

        return f"there are more than most_pages = {most:,} pages"

    def _why_fewer(self, first: NextPage) -> str:
        """Return that there are fewer rows than a page from the first one on has told; nothing if there aren't."""
        total = self._pages.total
        words = {plain(name) for name in first.args}
        begins_later = not words.isdisjoint((*_CURSORS, *_NUMBERS, *_SKIPPED))
        if begins_later or self._pages.rows >= total:
            return ""
        return f"the service counts {total:,}"

    async def _add(self, wanted: NextPage, *, is_guess: bool) -> str | None:
        """Add a page; or return why it is none of these, of which a guess has nothing to tell."""
        try:
            why_not = await self._received(wanted)
        except (ArgumentError, FunctionError):
            if is_guess:
                return ""
            raise

        if why_not:
            return "" if is_guess else why_not
        return None

    async def _received(self, wanted: NextPage) -> str:
        """Add a page; return why it is none of these, or nothing."""
        number = self._pages.number + 1
        kept = None
        if self._store:
            kept = await asyncio.to_thread(self._store.get, number)
        if kept is None:
            reply = await self._reply(wanted)
            self._only = None
            if number == 1:
                self._only = reply
                if reply.lines or not is_json(reply.data, reply.media_type):
                    return ""
            kept = reply.without_token(), dict(reply.headers)
            if self._store:
                await asyncio.to_thread(self._store.put, number, *kept)

        why_not = await asyncio.to_thread(self._pages.add, *kept)
        self._progress.said = (
            f"{plural(self._pages.number, 'page')}, {plural(self._pages.rows, 'row')}"
        )
        return why_not

    async def _reply(self, wanted: NextPage) -> Reply:
        terms = self._terms._replace(max_bytes=self._terms.max_bytes - self._pages.size)
        reply: Reply | pd.DataFrame
        if wanted.link and self._follow is not None:
            reply = await self._follow(
                self._function, wanted.args, wanted.link, terms, self._progress
            )
        else:
            reply = await self._source.run(
                self._function, wanted.args, terms, self._progress
            )

        assert isinstance(reply, Reply)  # of a source that sends requests
        return reply


@dataclass
class PageStore:
    """
    The pages of a run in the cache, from which an interrupted run goes on.

    A run that ended is not used again: the next one has pages of its own. Page 0 says which run it is, and whether it
    has ended.
    """

    _cache: Cache
    _key: str
    _max_age: float
    _run: int = 0
    _writer: CacheWriter | None = None

    def open(self) -> None:
        """Go on with the interrupted run, or begin one."""
        last = self._read(self._key)
        if last:
            self._run = int(last[0]) + bool(last[1].get("ended"))
        self._write(self._key, str(self._run).encode(), {})

    def get(self, number: int) -> tuple[bytes, dict[str, str]] | None:
        """Return the reply and the headers of a page that an interrupted run received."""
        return self._read(f"{self._key} run {self._run} page {number}")

    def put(self, number: int, reply: bytes, headers: Mapping[str, str]) -> None:
        """Keep a page."""
        self._write(f"{self._key} run {self._run} page {number}", reply, headers)

    def close(self, *, is_ended: bool) -> None:
        """Write what was kept."""
        if is_ended:
            self._write(self._key, str(self._run).encode(), {"ended": "yes"})
        if self._writer:
            self._writer.close()

    def _read(self, name: str) -> tuple[bytes, dict[str, str]] | None:
        frame = self._cache.get(_hashed(name), self._max_age)
        if frame is None:
            return None
        [[reply, headers]] = frame.to_numpy()
        return str(reply).encode(), json.loads(headers)

    def _write(self, name: str, reply: bytes, headers: Mapping[str, str]) -> None:
        import pandas as pd

        self._writer = self._writer or self._cache.writer()
        kept = {
            "reply": [reply.decode(errors="replace")],
            "headers": [json.dumps(dict(headers))],
        }
        self._writer.add(_hashed(name), pd.DataFrame(kept, dtype="string"))


def _hashed(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()
