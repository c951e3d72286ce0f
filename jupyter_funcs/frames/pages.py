"""Pages: where the rows are in the reply of any API, what is beside them, and whether more of them follow."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from jupyter_funcs.core.json_decoding import only
from jupyter_funcs.frames.columns import are_objects

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from jupyter_funcs.core.json_decoding import JsonObject, Values

Path = tuple[str, ...]
T = TypeVar("T")

DEEPEST = 3  # members that lead to a list of rows
# Names are matched as `plain` spells them.
# Members in which a page speaks of itself and of the others.
_PAGING_WORDS = (
    r"cursors?|info|links?|meta(data)?|page(info)?|pagination|paging|responsemetadata"
)
# What a page says of itself, and of its rows: lists in these are rows only if there are no others.
_ABOUT = re.compile(
    rf"{_PAGING_WORDS}|aggregations|columns|error(message)?s|extensions|facets|fields|filters|includ(ed|es)|messages"
    r"|notices|request|schema|shards|sort|warnings"
)
# Names of lists that say when the values beside them are of.
_TIMES = re.compile(r"(date)?times?|dates?|day|timestamps?")
# Names of lists that describe the columns of a table.
_COLUMNS = {"columns", "fields", "rowType"}
_PAGINATION = re.compile(r"pageinfo|pagination|paging")  # only a page has these
_LINKS = {"_links", "link", "links"}
_PLAIN = re.compile(r"etag|kind|object|ok|prev(ious)?|requestid|status|success")
_USUAL = re.compile(
    r"content|data|elements|entr(y|ies)|features|hits|items|objects|observations|records|results?|rows|values?"
)
# What says that an object is one thing, and its lists are parts of it: one of the first, or two of the second.
_IDENTITIES = re.compile(r"id|uuid|guid")
_PARTICULARS = re.compile(
    r"created((at(unix)?)|date|on)?|creationdate|datecreated|description|displayname|email|(first|last)?name|title"
    r"|lastmodified|modified(date)?|updated(at)?"
)
# A key that is a value, such as a day, a number or a code.
_VALUE = re.compile(r"[A-Z0-9][A-Z0-9._:/ -]*|\D*\d.*", re.DOTALL)
_MOST_NAMED = 10  # objects by names that may be members of a record


@dataclass(frozen=True)
class Page:
    """The rows of a reply, or all of it; what is beside them; and further lists of objects by their dotted names."""

    rows: Any
    beside: Any = None
    others: dict[str, list[Any]] = field(default_factory=dict)
    path: Path = ()

    @property
    def is_found(self) -> bool:
        """Whether the rows are only a part of the reply."""
        return self.beside is not None


def plain(name: str) -> str:
    """Return the name of a member as it is compared: ``next_page``, ``nextPage`` and ``hydra:next[page]`` are one."""
    return re.sub(r"^.*:|[][_-]", "", name.casefold())


def page_of(document: Any) -> Page:
    """Return the rows of a document of any API."""
    match document:
        case [dict(beside), list(rows)] if are_objects(rows):
            return Page(rows, beside)
        case dict() if is_mapping(document):
            return Page(keyed(document))
        case dict():
            return _page_in(document)

    return Page(document)


def _page_in(document: JsonObject) -> Page:
    if rows := _series(document.get("data", document)):
        return Page(rows, {"structure": document.get("data", document)["structure"]})
    if rows := _cells(document):
        return Page(rows, _without(document, ("value",)))
    tables = dict(_tables(document))
    lists = dict(_lists(document))
    for place, table in tables.items():
        lists[place] = table.rows
        lists.pop(table.names, None)  # the header says them
    objects = {path: rows for path, rows in lists.items() if are_objects(rows)}
    path = _chosen(document, lists, objects)
    if path is None or (path not in tables and _is_part(document, path)):
        return Page(document)
    return _page_at(document, path, lists[path], objects)


def is_about(name: str) -> bool:
    """Return whether a member tells of a page, and nothing else of it."""
    word = plain(name)
    patterns = (_ABOUT, _SIZES, _PAGES, _PAGE, _OFFSETS, _PLAIN, _TOTAL, _MORE, _NEXT)
    return any(pattern.fullmatch(word) for pattern in patterns)


def page_at(document: JsonObject, path: Path, rows: list[Any]) -> Page:
    """Return the rows to which a path leads, and the rest of their document."""
    return _page_at(
        document,
        path,
        rows,
        {other: values for other, values in _lists(document) if are_objects(values)},
    )


def _page_at(
    document: JsonObject, path: Path, rows: list[Any], lists: Mapping[Path, list[Any]]
) -> Page:
    others = {
        ".".join(other): values
        for other, values in lists.items()
        if other != path and other[-1] not in _LINKS
    }
    return Page(rows, _without(document, path), others, path)


def _objects(
    document: JsonObject, path: Path = ()
) -> Iterator[tuple[Path, JsonObject]]:
    """Yield a document and the objects in it that may have its rows."""
    yield path, document
    for name, value in document.items():
        if (
            isinstance(value, dict)
            and len(path) + 1 < DEEPEST
            and not is_mapping(value)
        ):
            yield from _objects(value, (*path, name))


def _lists(document: JsonObject) -> Iterator[tuple[Path, list[Any]]]:
    """Yield the lists in a document, mappings of rows among them."""
    for path, parent in _objects(document):
        for name, value in parent.items():
            if isinstance(value, list):
                yield (*path, name), value
            elif isinstance(value, dict) and is_mapping(value):
                yield (*path, name), keyed(value)
            elif isinstance(value, dict) and _are_columns(value):
                rows = zip(*value.values(), strict=True)
                yield (
                    (*path, name),
                    [dict(zip(value, row, strict=True)) for row in rows],
                )


def _are_columns(value: JsonObject) -> bool:
    """Return whether an object has lists of one length, of which one says when the values of the others are of."""
    if len(value) < 2 or set(map(type, value.values())) != {list}:
        return False
    [length, *others] = set(map(len, value.values()))
    kinds = set(map(type, chain.from_iterable(value.values())))
    return (
        length > 1
        and not others
        and kinds.isdisjoint({dict, list})
        and any(_named(_TIMES, value))
    )


class _NamedRows(NamedTuple):
    """A list of lists as rows, and where the names of their columns are."""

    rows: list[JsonObject]
    names: Path


def _tables(document: JsonObject) -> Iterator[tuple[Path, _NamedRows]]:
    """Yield the lists of lists for whose columns another list has names: beside them, or of columns anywhere."""
    described: dict[int, tuple[Path, list[Any]]] = {}
    for path, parent in _objects(document):
        described |= _by_width(path, parent, only_columns=True)
    for path, parent in _objects(document):
        beside = _by_width(path, parent)
        for name, rows in parent.items():
            width = _width(rows)
            place, names = beside.get(width) or described.get(width) or ((), [])
            if names:
                objects = [dict(zip(names, row, strict=True)) for row in rows]
                yield (*path, name), _NamedRows(objects, place)


def _by_width(
    path: Path, parent: JsonObject, *, only_columns: bool = False
) -> dict[int, tuple[Path, list[Any]]]:
    """Return the lists of names in an object, and where they are, by how many names they have."""
    named = {
        name: _names(value)
        for name, value in parent.items()
        if isinstance(value, list) and (not only_columns or name in _COLUMNS)
    }
    return {len(names): ((*path, name), names) for name, names in named.items()}


def _width(rows: Any) -> int:
    """Return how many values each of some lists has; 0 if they have different numbers, or aren't lists."""
    if not isinstance(rows, list) or set(map(type, rows)) != {list}:
        return 0
    [width, *others] = set(map(len, rows))
    return 0 if others else width


def _names(values: list[Any]) -> list[Any]:
    """Return a list of different texts, or of objects with such names; else nothing."""
    names = [
        value.get("name", value.get("id")) if isinstance(value, dict) else value
        for value in values
    ]
    is_named = set(map(type, names)) == {str} and len(set(names)) == len(names)
    return names if is_named else []


def is_mapping(value: JsonObject) -> bool:
    """Return whether an object has rows by their keys: alike, and the keys are days, numbers or codes."""
    if len(value) < 2 or set(map(type, value.values())) != {dict}:
        return False
    names, *others = (row.keys() for row in value.values())
    are_columns = all(map(str.isdecimal, names)) and not all(map(str.isdecimal, value))
    if not names or any(names != other for other in others) or are_columns:
        return False
    return len(value) > _MOST_NAMED or all(map(_VALUE.fullmatch, value))


def keyed(value: Mapping[str, JsonObject]) -> list[JsonObject]:
    """Return the objects of a mapping as rows, the key first."""
    return [{"key": key, **row} for key, row in value.items()]


def _series(document: Any) -> list[JsonObject]:
    """Return the observations of SDMX-JSON, each with the values of its dimensions."""
    with suppress(AttributeError, IndexError, KeyError, TypeError, ValueError):
        dimensions = document["structure"]["dimensions"]
        rows = []
        for series in (
            own for data in document["dataSets"] for own in data["series"].items()
        ):
            fixed = _values(dimensions["series"], series[0])
            for key, observed in series[1]["observations"].items():
                rows.append(
                    {
                        **fixed,
                        **_values(dimensions["observation"], key),
                        "value": observed[0],
                    }
                )
        return rows

    return []  # what is known of some of them isn't all


def _cells(document: JsonObject) -> list[JsonObject]:
    """Return the values of JSON-stat, each with the categories of its dimensions."""
    with suppress(AttributeError, IndexError, KeyError, TypeError, ValueError):
        names = document["id"]
        axes = [
            (name, size, _categories(document["dimension"][name]["category"]))
            for name, size in zip(names, document["size"], strict=True)
        ]
        values = document["value"]
        cells = values.items() if isinstance(values, dict) else enumerate(values)
        rows = []
        for place, value in cells:
            row = {"value": value}
            left = int(place)
            for name, size, categories in reversed(axes):
                left, at = divmod(left, size)
                row[name] = categories[at]
            if left:
                return []
            rows.append({name: row[name] for name in (*names, "value")})
        return rows

    return []


def _categories(category: JsonObject) -> list[str]:
    """Return the codes of a dimension in their order."""
    index = category.get("index", category.get("label"))
    if isinstance(index, dict) and "index" in category:
        return sorted(index, key=index.__getitem__)
    return list(index or ())


def _values(dimensions: list[Any], key: str) -> JsonObject:
    places = map(int, key.split(":"))
    return {
        own["id"]: own["values"][place]["id"]
        for own, place in zip(dimensions, places, strict=True)
    }


def _chosen(
    document: Values,
    lists: Mapping[Path, list[Any]],
    objects: Mapping[Path, list[Any]],
) -> Path | None:
    """Return which of some lists, of which some are of objects, are the rows."""
    lists = {path: rows for path, rows in lists.items() if not _is_about(path)}
    own = [path for path in lists if path in objects]
    usual = _usual(own)
    if not usual and (path := _empty(document, lists, is_alone=not own)):
        return path
    if own:
        return _longest(document, objects, usual or own)
    is_only = len(objects) == 1 and _is_alone(document, objects)
    return next(iter(objects)) if is_only else None


def _usual(paths: Iterable[Path]) -> list[Path]:
    return [path for path in paths if _USUAL.fullmatch(plain(path[-1]))]


def _longest(
    document: Values, lists: Mapping[Path, list[Any]], paths: list[Path]
) -> Path | None:
    """Return which of some lists is the longest; none if two are, and nothing says that it is a page."""

    def place(path: Path) -> tuple[int, int]:
        return -len(lists[path]), len(path)

    [longest, *further] = sorted(paths, key=place)
    is_even = further and place(further[0]) == place(longest)
    return None if is_even and not _speaks(document, longest) else longest


def _speaks(document: Values, path: Path) -> bool:
    """Return whether a document says how many rows there are, or whether there are more."""
    words = [word for word, _ in _signs(document, path)]
    return any(any(_named(pattern, words)) for pattern in (_LAST, _TOTAL, _MORE, _NEXT))


def _is_about(path: Path) -> bool:
    return any(_named(_ABOUT, path))


def _named(pattern: re.Pattern[str], names: Iterable[str]) -> list[str]:
    """Return the names that a pattern of words matches."""
    return [name for name in names if pattern.fullmatch(plain(name))]


def _is_alone(document: Values, but: Collection[Path]) -> bool:
    """Return whether a document has no other objects than what a page says of itself."""
    names = {path[0] for path in but}
    return not any(
        isinstance(value, dict) and not _is_about((name,))
        for name, value in document.items()
        if name not in names
    )


def _empty(
    document: Values, lists: Mapping[Path, list[Any]], *, is_alone: bool
) -> Path | None:
    """Return which list are the rows, of which there are none; beside others with objects, the page must say so."""
    empty = [path for path, rows in lists.items() if not rows]
    usual = _usual(empty)
    likely = usual or empty
    if not is_alone:
        likely = usual if _counts_none(document) else []
    if len(likely) != 1:
        return None
    [path] = likely
    if usual:
        is_page = _is_alone(document, likely)
    else:
        is_page = len(lists) == 1 and _tells_only_of_pages(document, path)
    return path if is_page or _speaks(document, path) else None


def _tells_only_of_pages(document: Values, path: Path) -> bool:
    """Return whether all that stands beside a list, at each level, is what a page says of itself."""
    for name in path:
        if not all(is_about(other) for other in document if other != name):
            return False
        document = document[name]
    return True


def _counts_none(document: Values) -> bool:
    """Return whether a document says that there are no rows."""
    return any(
        value == 0 and _TOTAL.fullmatch(plain(word)) for word, value in _signs(document)
    )


def _is_part(document: JsonObject, path: Path) -> bool:
    """Return whether a list is a part of one thing, and not the rows of a page."""
    beside = document.keys() - {"properties"}
    is_page = all(map(is_about, beside)) and not _named(_PLAIN, beside)
    if path[0] == "properties" and not is_page:
        return True
    if path == ("items",) and "#" in str(document.get("kind")):  # as Google's APIs
        return False
    for name in path:
        names = document.keys() - {name}
        if _named(_PAGINATION, names):
            return False
        if _named(_IDENTITIES, names) or len(_named(_PARTICULARS, names)) > 1:
            return True
        document = document[name]

    return False


def _without(document: JsonObject, path: Path) -> JsonObject:
    name, *inner = path
    rest = {other: value for other, value in document.items() if other != name}
    if inner and (more := _without(only(dict, document.get(name)), tuple(inner))):
        rest[name] = more
    return rest


# What says that more rows follow

# Members in which a page speaks of its others, or in which its rows are.
_SPEAKING = re.compile(
    rf"{_PAGING_WORDS}|hits|pages|properties|resultinfo|results|searchinformation|view"
)
_MORE = re.compile(
    r"(has)?more(data|items|pages|records|results|rows)?(available|follows?)?|hasnext(page)?|(is)?truncated"
    r"|exceededtransferlimit"
)
_LAST = re.compile(r"done|endofrecords|(is)?last(page)?")
_NEXT = re.compile(
    r"(@?odata\.)?next(page|records?|results?|continuation)?(after|cursor(mark)?|href|key|link|marker|number|offset|page"
    r"|path|position|skip|start|token|uri|url)?|continu(e|ation)(token)?|cursor|lastevaluatedkey|(resumption|page)token"
)
_PREVIOUS = re.compile(r"prev(ious)?(page)?(cursor|link|token|uri|url)?")
# Texts that lead to the next page, unless they are numbers.
_TOKENS = {"bookmark", "offset"}
# Where a page ends, which is where the next one begins if a flag says that there is one.
_ENDS = {"aftercursor", "endcursor", "marker"}
_NOUN = r"(elements?|entries|found|hits?|items?|matches|objects|records?|results?|rows?|size)"
_TOTAL = re.compile(
    rf"(@odata\.)?count|found|hits|(estimated|approximate)?total(numberof)?({_NOUN}|available)?(count)?|(nb?|num|numberof){_NOUN}"
    rf"|{_NOUN}(count|total)|recordsfiltered"
)
_PAGES = re.compile(r"lastpage|nbpages|(total|numberof|num)?pages|pagecount|pagestotal")
_PAGE = re.compile(r"(current)?page|page(index|no|number)")
_OFFSETS = re.compile(r"from|offset|skip|start(at)?")
_SIZES = re.compile(r"(hits|items)?perpage|limit|(page)?size")
STATUS = ":status"
"""The name of a reply's status among its headers, as in HTTP/2."""

_LINK = re.compile(r"<(?P<url>[^<>]*)>[^<>]*?;\s*rel=\"?(?P<rel>[\w-]+)", re.IGNORECASE)
_EXTENT = re.compile(r"\w+ \d+-(?P<end>\d{1,18})/(?P<total>\d{1,18}|\*)")
_HREFS = (
    "href",
    "url",
    "link",
    "uri",
    "after",
    "starting_after",
    "cursor",
    "token",
    "offset",
)


@dataclass(frozen=True)
class Following:
    """What says that more rows follow, in a word of the reply; the link or cursor that leads to them; and how many."""

    word: str
    lead: str = ""
    total: int | None = None

    def __bool__(self) -> bool:
        """Return whether anything says so, rather than nothing at all of whether more follow."""
        return bool(self.word)


UNSAID = Following("")


def following(page: Page, headers: Mapping[str, str]) -> Following | None:
    """Return what of a page or its headers says that more rows follow; nothing if that is all, else `UNSAID`."""
    if not isinstance(page.rows, list):
        return None
    signs = [*_signs(page.beside or {}, page.path), *_signs_in(headers)]
    leads = [(word, value) for word, value in signs if _is_lead(word, value)]
    for word, value in leads:
        if lead := _lead(value):
            return Following(word, lead)

    flags = _of_type(bool, signs)
    for word, value in flags.items():
        if value is bool(_MORE.fullmatch(plain(word))):
            return Following(word, _end_in(signs))

    if flags or leads:
        return None
    return _counted(page, _of_type(int, signs))


def number_of(page: Page) -> int | None:
    """Return the number that a page says it has."""
    numbers = _of_type(int, [*_signs(only(dict, page.beside), page.path)])
    number, _ = _numbered({plain(word): number for word, number in numbers.items()})
    return number


def _is_lead(name: str, value: Any) -> bool:
    word = plain(name)
    is_text = isinstance(value, str) and word not in _ENDS
    return is_text or bool(_NEXT.fullmatch(word))


def _end_in(signs: Sequence[tuple[str, Any]]) -> str:
    return next((_lead(end) for name, end in signs if plain(name) in _ENDS), "")


def _of_type(kind: type[T], signs: Sequence[tuple[str, Any]]) -> dict[str, T]:
    return {word: value for word, value in signs if type(value) is kind}


def _signs(beside: Values, path: Path = ()) -> Iterator[tuple[str, Any]]:
    """Yield what a page says of itself, by names; also beside its rows, to which `path` leads."""
    for name, value in beside.items():
        word = plain(name)
        if isinstance(value, dict) and (word == "cursor" or not _NEXT.fullmatch(word)):
            yield from _signs_inside(name, value, path)
        elif name in _LINKS:
            yield from _linked(only(list, value))
        else:
            yield from _sign(name, word, value)

    # Elsewhere, and without its twin, it may repeat what was asked.
    if len(path) == 1 and "before" in beside:
        yield "after", beside.get("after")


def _sign(name: str, word: str, value: Any) -> Iterator[tuple[str, Any]]:
    if _is_sign(word, value):
        yield name, value
    elif _PREVIOUS.fullmatch(word) and value:
        # The last page leads back and not on.
        yield "next", ""
    elif (number := _number(value)) is not None:
        yield name, number


def _linked(links: list[Any]) -> list[tuple[str, Any]]:
    """Return the links of a list that lead to the next page; FHIR says its relation by the whole word."""
    return [
        ("next", link)
        for link in map(partial(only, dict), links)
        if "next" in (link.get("rel"), link.get("relation"))
    ]


def _is_sign(word: str, value: Any) -> bool:
    """Return whether a member is a flag, a link or a cursor of the next page."""
    if isinstance(value, bool):
        return any(_named(_LAST, [word]) + _named(_MORE, [word]))
    if word in _TOKENS and isinstance(value, str):
        return _number(value) is None and value not in {"", "nil"}
    return word in _ENDS or bool(_NEXT.fullmatch(word))


def _signs_inside(
    name: str, value: JsonObject, path: Path
) -> Iterator[tuple[str, Any]]:
    word = plain(name)
    if word == "total":
        yield name, _number(value.get("value"))
    elif _SPEAKING.fullmatch(word) or name in path[:1]:
        yield from _signs(value, path[1:])


def _number(value: Any) -> int | None:
    if isinstance(value, str) and value.isdecimal() and len(value) < 16:
        return int(value)
    return value if type(value) is int else None


def _signs_in(headers: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Yield what headers say of a page."""
    if link := headers.get("link"):
        links = {part["rel"]: part["url"] for part in _LINK.finditer(link)}
        yield "next", links.get("next", "")

    if "x-next-page" in headers:
        yield "next-page", headers["x-next-page"]
    for name, word in (
        ("x-total-count", "total"),
        ("x-total", "total"),
        ("x-wp-total", "total"),
        ("x-total-pages", "pages"),
        ("x-wp-totalpages", "pages"),
        ("x-page", "page"),
    ):
        if headers.get(name, "").isdecimal():
            yield word, int(headers[name])

    if extent := _EXTENT.fullmatch(headers.get("content-range", "")):
        yield (
            "more",
            extent["total"] == "*" or int(extent["end"]) + 1 < int(extent["total"]),
        )
    elif headers.get(STATUS) == str(HTTPStatus.PARTIAL_CONTENT.value):
        yield "more", True


def _lead(value: Any) -> str:
    """Return the link or cursor in what a page says of the next one."""
    if isinstance(value, dict):
        links = [value[name] for name in _HREFS if value.get(name)]
        value = links[0] if links else value and json.dumps(value)

    if value and type(value) in {str, int}:
        return str(value).strip()
    return ""


def _is_total(name: str, page: Page) -> bool:
    """Return whether a member says how many rows there are, such as ``total`` or ``total_orders`` beside orders."""
    word = plain(name)
    rows = plain("".join(page.path[-1:])).removesuffix("s")
    counted = word.removeprefix("total").removesuffix("count")
    is_of_rows = counted.removesuffix("s") == rows and counted != word
    return is_of_rows or bool(_TOTAL.fullmatch(word))


def _counted(page: Page, numbers: Mapping[str, int]) -> Following | None:
    """Return what the numbers of a page say: how many pages there are, or rows."""
    rows = len(page.rows)
    by_word = dict(zip(map(plain, numbers), numbers.values(), strict=True))
    totals = {word: number for word, number in numbers.items() if _is_total(word, page)}
    number = _page(by_word)
    if number and _is_last(by_word, number, rows, totals.values()):
        return None

    seen = _before(by_word, number or 0, rows) + rows
    for word, total in totals.items():
        if total > seen:
            return Following(word, total=total)

    pages = _first(by_word, _PAGES)
    if pages is None:
        return None if totals else UNSAID
    return None if number is None or number >= pages else Following("pages")


def _page(by_word: Mapping[str, int]) -> int | None:
    """Return the number of a page; the first one is 1, as far as its name tells."""
    page, is_from_0 = _numbered(by_word)
    return page + 1 if page is not None and is_from_0 else page


def _numbered(by_word: Mapping[str, int]) -> tuple[int | None, bool]:
    """Return the number that a page says it has, and whether the first page has 0, as far as its name tells."""
    page = _first(by_word, _PAGE)
    if page is None and by_word.keys() & {"totalpages", "totalelements"}:
        return by_word.get("number"), True
    return page, "nbpages" in by_word


def _is_last(
    by_word: Mapping[str, int], page: int, rows: int, totals: Collection[int]
) -> bool:
    """Return whether a page is the last one; where pages count from 0, that is known if it isn't full."""
    size = _first(by_word, _SIZES) or 0
    pages = _first(by_word, _PAGES) or 0
    return page >= pages > 0 or (rows < size and page * size + rows in totals)


def _before(by_word: Mapping[str, int], page: int, rows: int) -> int:
    """Return how many rows are before those of a page."""
    size = _first(by_word, _SIZES) or 0
    if offset := _first(by_word, _OFFSETS):
        return offset
    if start := by_word.get("startindex"):
        # The first row of all is 0 or 1.
        return start - int(start % (size or rows or 2) == 1)
    return max(0, page - 1) * size


def _first(by_word: Mapping[str, int], words: re.Pattern[str]) -> int | None:
    return next((by_word[word] for word in _named(words, by_word)), None)
