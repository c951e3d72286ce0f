"""The catalog: a listing becomes frozen functions and parameters; look-up by name, and search."""

from __future__ import annotations

import difflib
import hashlib
import json
import keyword
import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import msgspec

from jupyter_funcs.core import json_decoding
from jupyter_funcs.core.errors import NotFoundError, ProtocolError
from jupyter_funcs.core.json_decoding import JsonObject, Once, Values, only
from jupyter_funcs.core.text import (
    LONGEST,
    did_you_mean,
    distinct,
    folded,
    quote,
    spellings,
)
from jupyter_funcs.core.warn import warn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


def _whole(value: object) -> int:
    try:
        return int(value)  # type: ignore[call-overload,no-any-return]  # the wire may hold anything
    except (TypeError, ValueError, OverflowError):
        return 0


def _flag(value: object) -> bool | None:
    if isinstance(value, str):
        return value.strip().casefold() in {"true", "yes", "1"}
    if value is None:
        return None
    return bool(value)


# By annotation. A null or a value of another type is converted or becomes neutral; it never makes a listing unreadable.
_READERS: dict[str, Callable[[Any], Any]] = {
    "str": lambda value: "" if value is None else str(value),
    "int": _whole,
    "bool": lambda value: bool(_flag(value)),
    "bool | None": _flag,
    "tuple[Param, ...]": lambda params: tuple(map(Param.read, params)),
    "Any": lambda value: value,
}
_CAMEL = re.compile("(?<=[a-z0-9])(?=[A-Z])")
# The usual wording only: reading all that `descriptions` reads is too slow for a search of 10,000 functions.
_OPTIONS = re.compile(r"\bOptions are ([^.]*)")
# Of a schema, whose parts others may share: its definitions, and each of them.
_MOST_LEVELS = 2
# Characters of a parameter's name or options, which many functions may share.
_MOST_SEARCHED = 500
# What a reply without parameters is, by a key in it; the first counts.
_KINDS_BY_KEY = {
    "jsonrpc": "a JSON-RPC message",
    "params": "",
    "openapi": "an OpenAPI document",
    "swagger": "an OpenAPI document",
    "inputSchema": "a list of MCP tools",
}
# Stripped from search words, so that "companies" also finds "company", and "symbols" "symbol".
_ENDING = re.compile(r"(?<=\w{3})(?:y|ies|s)$")
_LONG_WORD = re.compile(r"[^\W\d_]{4,30}")
_FILLERS = {
    "a",
    "an",
    "the",
    "of",
    "by",
    "per",
    "what",
    "which",
    "can",
    "i",
    "my",
    "over",
    "name",
    "names",
}
# Other words for what catalogs speak of, without their endings.
_SYNONYMS = {
    "weekl": ("daily",),
    "monthl": ("daily",),
    "earning": ("quarter",),
    "yoy": ("growth",),
    "ticker": ("symbol",),
    "provider": ("dataset",),
    "vendor": ("dataset",),
    "metric": ("kpi", "figure"),
    "measure": ("kpi", "figure"),
}
# Functions found by all words; fewer are followed by those found by half of them.
_ENOUGH = 3
# The local service ends the descriptions of functions on demo data with this.
_SYNTHETIC = "(synthetic demo data)"
CHANGES_DATA = "Changes data."
DEPRECATED = "Deprecated."


class Encoding(StrEnum):
    """How the values of a parameter travel."""

    TEXT = "text"
    """As texts and lists of texts, where nothing, an empty text and an empty list mean the same."""
    JSON = "json"
    """With JSON's types."""
    OBJECT = "object"
    """As the objects themselves: the function runs in this process."""
    FILE = "file"
    """As the content of files."""


class _CatalogEntry(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    repr_omit_defaults=True,
):
    model_extra: dict[str, Any] = {}

    @classmethod
    def read(cls, entry: Values) -> Self:
        """Read an entry of a listing, which has at least a name."""
        extra = dict(entry)
        wires = cls.__struct_encode_fields__[1:]  # without `model_extra`
        fields = zip(cls.__annotations__.items(), wires, strict=True)
        # What has no reader, such as how values travel, is not the listing's to say.
        values = {
            name: _READERS[kind](extra.pop(wire))
            for (name, kind), wire in fields
            if wire in entry and kind in _READERS
        }
        return cls(**values, model_extra=extra)

    def changed(self, **fields: Any) -> Self:
        """Return a copy with other values of some fields."""
        return msgspec.structs.replace(self, **fields)


class Param(_CatalogEntry, frozen=True, kw_only=True):
    """
    One parameter of a function, as listed; unknown fields are in ``model_extra``.

    `type` is the service's integer code, 0 (text) if the listing has none. `required` is None if the listing has no
    such flag. `schema` is the JSON Schema of its values, if the catalog declares one. `encoding` is the source's.
    """

    id: int = 0
    name: str
    type: int = 0
    description: str = ""
    required: bool | None = None
    function_id: int = 0
    sort_value: int = 0
    context: Any = None
    schema: Any = None
    encoding: Encoding = Encoding.TEXT


class Function(_CatalogEntry, frozen=True, kw_only=True):
    """
    One function of the catalog, as listed; unknown fields are in ``model_extra``.

    `changes_data` is whether its source says that a run may change something; such a run is never cached, and
    is retried only if nothing was sent. `title` is shown in place of the name, and `short_name` makes the slug where no
    other function has it. `returns` is the JSON Schema of its replies, if the catalog declares one.
    """

    id: int = 0
    name: str
    asset_id: int = 0
    asset_name: str = ""
    description: str = ""
    params: tuple[Param, ...] = ()
    sort_value: int = 0
    group_id: int = 0
    group_name: str = ""
    author_id: int = 0
    author_user_name: str = ""
    is_shared: bool = False
    entry_point: str = ""
    unique_id: str = ""
    notebook_id: str = ""
    notebook_name: str = ""
    org_name: str = ""
    type: Any = None
    source: Any = None
    context: Any = None
    returns: Any = None
    changes_data: bool = False
    title: str = ""
    short_name: str = ""

    @property
    def group(self) -> str:
        """The heading for the function: its group, or else its asset."""
        return self.group_name.strip() or self.asset_name.strip() or "Functions"

    @property
    def about(self) -> str:
        """The description, and first of all whether a run changes data."""
        if self.changes_data:
            return f"{CHANGES_DATA} {self.description}".strip()
        return self.description

    @property
    def notes(self) -> str:
        """Whether a run changes data, and whether its catalog advises against it."""
        notes = []
        if self.changes_data:
            notes.append(CHANGES_DATA)
        if self.description.startswith(DEPRECATED):
            notes.append(DEPRECATED)
        return " ".join(notes)

    @property
    def synthetic(self) -> bool:
        """Whether the function returns synthetic demo data, as its description says."""
        return self.description.rstrip(" .").endswith(_SYNTHETIC)


class Contents(Once):
    """What functions are listed with, for comparing them. A schema that many parameters share is read once."""

    def of(self, function: Function) -> Any:
        """Return a function as listed, but for the positions of itself and its parameters, with digests of schemas."""
        params = tuple(
            param.changed(sort_value=0, schema=self.once(0, param.schema, self._digest))
            for param in function.params
        )
        # Rows that many replies share are further inside.
        returns = self.once(-2, function.returns, partial(self._digest, level=-2))
        return msgspec.to_builtins(
            function.changed(sort_value=0, params=params, returns=returns)
        )

    def _digest(self, part: Any, level: int = 0) -> str:
        """Return a digest of a schema, of a part such as ``$defs``, or of a part of that."""
        if level < _MOST_LEVELS and isinstance(part, dict):
            level += 1
            read = partial(self._digest, level=level)
            part = {word: self.once(level, inner, read) for word, inner in part.items()}
        return hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()


class SearchTexts(NamedTuple):
    """What is searched of a function: how it is called and shown, its name in the catalog, and the rest."""

    names: str
    id: str
    texts: str

    def has(self, word: str) -> bool:
        """Return whether a word is in any of them."""
        return word in self.names or word in self.id or word in self.texts


class Catalog:
    """The functions of one user, by sort value and then in listing order."""

    def __init__(
        self,
        functions: Iterable[Function],
        left_out: Iterable[tuple[str, str]] = (),
    ) -> None:
        self.functions = tuple(functions)
        self.left_out = dict(left_out)
        """What can't be run, with the reason."""
        self.names = [function.name for function in self.functions]
        long = identifiers(self.names, lower=True)
        short = [
            function.short_name and _identifier(function.short_name, lower=True)
            for function in self.functions
        ]
        uses = Counter([*long, *short, ""])  # no short name is of no function
        self.slugs = tuple(
            brief if uses[brief] == 1 else slug
            for brief, slug in zip(short, long, strict=True)
        )
        by_slug = dict(zip(self.slugs, self.functions, strict=True))
        # By identity: two functions may be equal in every field.
        self._slug_of = {id(function): slug for slug, function in by_slug.items()}
        by_id = {
            str(function.id): function
            for function in reversed(self.functions)
            if function.id
        }
        by_name = {function.name: function for function in reversed(self.functions)}
        by_slug = dict(zip(long, self.functions, strict=True)) | by_slug
        self.by_attribute = by_name | by_slug
        self._exact = by_id | by_slug | by_name
        self._spellings = spellings(self.names)
        self._synonyms = dict(_SYNONYMS)

    def __len__(self) -> int:
        return len(self.functions)

    def __iter__(self) -> Iterator[Function]:
        return iter(self.functions)

    def slug(self, function: Function) -> str:
        """Return the Python name of a function, unique in the catalog."""
        return self._slug_of[id(function)]

    def get(self, name: str | int) -> Function:
        """Return the function with this name, as `peek`, or raise a `NotFoundError` with suggestions."""
        if function := self.peek(name):
            return function
        wanted = str(name).strip()
        if reason := self.left_out.get(wanted):
            raise NotFoundError(
                f"{wanted} was left out of your catalog: {reason}.",
                "%funcs describe lists all of these.",
            )

        hint = did_you_mean(wanted, self.names)
        raise NotFoundError(
            f"There is no function {quote(wanted)} in your catalog.",
            hint
            or "List the functions: %funcs find, funcs.names, or jupyter funcs list.",
        )

    def peek(self, name: str | int) -> Function | None:
        """Return the function with this wire name, slug or id, or else this unambiguous spelling, or ``None``."""
        wanted = str(name).strip()
        function = self._exact.get(str(name)) or self._exact.get(wanted)
        return function or self._exact.get(self._spellings.get(folded(wanted), ""))

    def search(self, words: str = "") -> list[Function]:
        """Return the functions that contain every word, by name first; then, if they are few, with half of them."""
        typed = [*filter(None, map(folded, words.split()))]
        told = [word for word in dict.fromkeys(typed) if word not in _FILLERS] or typed
        wanted = [*map(self._meant, told)]
        hits = self._hits(wanted)
        most = max(map(sum, hits), default=0)
        if 2 * most < len(wanted):
            return []
        if not wanted:
            return [*self.functions]

        def is_named(at: int) -> bool:
            return all(word in self.search_texts[at].names for word in told)

        def place(at: int) -> tuple[object, ...]:
            names = self.search_texts[at].names
            by_stem = all(any(word in names for word in words) for words in wanted)
            is_whole = "".join(typed) in names.split()
            return (
                -sum(hits[at]),
                not is_whole,
                not is_named(at),
                not by_stem,
                [not hit for hit in hits[at]],
            )

        places = [at for at, hit in enumerate(hits) if sum(hit) == most]
        if len(places) < _ENOUGH and not any(map(is_named, places)):
            places = [at for at, hit in enumerate(hits) if 2 * sum(hit) >= len(wanted)]
        return [*map(self.functions.__getitem__, sorted(places, key=place))]

    def _hits(self, wanted: Sequence[Sequence[str]]) -> list[list[bool]]:
        """Return for each function which of the words it contains, in any of their forms."""
        return [
            [any(map(searched.has, words)) for words in wanted]
            for searched in self.search_texts
        ]

    def add_synonyms(self, synonyms: Mapping[str, Sequence[str]]) -> None:
        """Search for other words, too, where one of these is searched."""
        for word, others in synonyms.items():
            stem = _stem(folded(word))
            self._synonyms[stem] = (
                *self._synonyms.get(stem, ()),
                *map(_stem, map(folded, others)),
            )

    def _meant(self, word: str) -> Sequence[str]:
        """Return what to search for a word: its stem and synonyms, or if nothing has them, words like it."""
        stem = _stem(word)
        stems = (stem, *self._synonyms.get(stem, ()))
        if len(word) < 4 or any(
            searched.has(stem) for stem in stems for searched in self.search_texts
        ):
            return stems

        return difflib.get_close_matches(word, self._words, 2, 0.75) or stems

    @cached_property
    def _words(self) -> set[str]:
        """The longer words of names and descriptions, for those that are misspelt."""
        texts = (
            f"{function.name} {function.description}" for function in self.functions
        )
        return {word for text in texts for word in _LONG_WORD.findall(text.casefold())}

    @cached_property
    def search_texts(self) -> list[SearchTexts]:
        """What is searched of each function, folded; cached, since each key stroke reads it."""
        # Many functions share groups, assets, names of parameters, or all of these.
        fold = cache(folded)
        joined = cache(" ".join)
        searched = []
        for function in self.functions:
            texts = [function.group, function.asset_name, function.description]
            for param in function.params:
                # Options too, for searches such as "spend by region".
                texts += [
                    text[:_MOST_SEARCHED]
                    for text in (param.name, *_OPTIONS.findall(param.description))
                ]
            names = (function.short_name or function.name, function.title)
            searched.append(
                SearchTexts(
                    " ".join(dict.fromkeys(filter(None, map(fold, names)))),
                    fold(function.name),
                    joined(tuple(map(fold, texts))),
                )
            )

        return searched


def _stem(word: str) -> str:
    return _ENDING.sub("", word)


ReadCatalog = Callable[[], Catalog]


def identifiers(names: Sequence[str], *, lower: bool = False) -> tuple[str, ...]:
    """Return a legal, distinct Python identifier for each name, without keywords and leading underscores."""
    return tuple(
        distinct([_identifier(name, lower=lower) for name in names], "{}_{}", 2)
    )


def _identifier(name: str, *, lower: bool) -> str:
    # NFKC, as Python itself compares identifiers.
    plain = unicodedata.normalize("NFKC", name[:LONGEST])
    begin = "p"
    if lower and name.isalnum():  # listOrders, as an OpenAPI document may name it
        plain = _CAMEL.sub("_", plain)
    if lower:
        begin = "f"
        plain = plain.lower()

    plain = "".join(char if f"a{char}".isidentifier() else "_" for char in plain)
    plain = re.sub("_+", "_", plain).strip("_") or "unnamed"
    if not plain.isidentifier():  # it starts with a digit or the like
        plain = f"{begin}_{plain}"
    if keyword.iskeyword(plain) or (lower and keyword.issoftkeyword(plain)):
        return f"{plain}_"
    return plain


def parse_listing(data: bytes, *, takes_json: bool = False) -> Catalog:
    """
    Read the reply of a listing; entries without a name are skipped with one warning.

    `takes_json` is whether the service takes the values of parameters with a schema in JSON's types.
    """
    document = json_decoding.decode(data, what="listing")
    if other := _other_kind(document):
        raise ProtocolError(
            f"The reply is {other}, not a listing of functions.",
            "Check the address and its kind.",
        )

    entries = _entries(document)
    named = _named(entries)
    skipped = len(entries) - len(named)
    functions = []
    for entry in named:
        listed = only(list, entry.get("params"))
        params = _named(listed)
        skipped += len(listed) - len(params)
        function = Function.read(entry | {"params": params})
        if takes_json:
            encoded = (
                param.changed(encoding=Encoding.JSON) if param.schema else param
                for param in function.params
            )
            function = function.changed(params=tuple(encoded))
        functions.append(function)

    if skipped:
        noun = "entry" if skipped == 1 else "entries"
        warn(f"Left out {skipped:,} unnamed {noun} of the listing.")

    return Catalog(functions)


def _has_name(entry: object) -> bool:
    return isinstance(entry, dict) and bool(only(str, entry.get("name")).strip())


def _named(entries: list[Any]) -> list[JsonObject]:
    """Return the entries with a name, by sort value; one without has its position as such."""
    places = {}
    for at, entry in enumerate(entries):
        if _has_name(entry):
            value = entry.get("sortValue")
            places[at] = at if value is None else _whole(value)

    return [entries[at] for at in sorted(places, key=places.__getitem__)]


def _other_kind(document: Any) -> str:
    """Return what a reply without parameters looks like if another kind of source sent it."""
    parts = [document]
    for part in [document, *only(dict, document).values()]:
        parts += only(list, part)
    keys = set().union(*(only(dict, part) for part in parts))
    for key, kind in _KINDS_BY_KEY.items():
        if key in keys:
            return kind

    return ""


def _has_params(entry: JsonObject) -> bool:
    return isinstance(entry.get("params"), list)


def _entries(listing: object) -> list[Any]:
    """Return an array, or the one array of function-like objects under any key of an object, or two keys deep."""
    if isinstance(listing, list):
        return listing
    members = [*map(_unwrapped, only(dict, listing).values())]
    inner = [
        _unwrapped(value) for member in members for value in only(dict, member).values()
    ]
    arrays: list[list[Any]] = []
    for values in (members, inner):
        arrays += filter(_is_array, values)
        named = [array for array in arrays if any(map(_has_name, array))]
        # Groups have names too, but no parameters.
        with_params = [array for array in named if any(map(_has_params, array))]
        for few in (named, with_params):
            if len(few) == 1:
                return few[0]

    if len(arrays) == 1:
        return arrays[0]
    raise ProtocolError(
        "The listing contains no list of functions.",
        "Check that the URL is the function service's.",
    )


def _is_array(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, dict) for entry in value)


def _unwrapped(value: Any) -> Any:
    """Return a value, or the JSON that a text of it holds."""
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        with suppress(ProtocolError):  # of text that only starts like JSON
            return json_decoding.decode(value, what="listing")
    return value
