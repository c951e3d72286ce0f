"""Requests: what the page may ask of the panel. Each is a typed structure with bounds; nothing else is taken."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar, cast, get_type_hints

import msgspec
from msgspec import Meta, Struct

from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.core.text import clip, inert, quote

if TYPE_CHECKING:
    from collections.abc import Callable

Method = TypeVar("Method", bound="Callable[..., Any]")

_RELOAD = "Run the cell again to open the panel."

Number = Annotated[int, Meta(ge=0, le=2**53)]
Text = Annotated[str, Meta(max_length=1_000)]
Name = Annotated[str, Meta(max_length=500)]
Finite = Annotated[float, Meta(ge=-1e300, le=1e300)]  # no NaN either
LongText = Annotated[str, Meta(max_length=10_000_000)]
Texts = Annotated[list[LongText], Meta(max_length=100_000)]  # of one field
RunNumber = Number | Annotated[str, Meta(max_length=50)]  # a text names a run of an earlier kernel: "14/3"
FileFormat = Literal["csv", "xlsx", "parquet", "json"]
Tab = Literal["table", "chart", "json", "code"]


class EachOf(Struct, frozen=True, forbid_unknown_fields=True):
    """Several values of a field, one run each."""

    each: Texts


PageValue = None | LongText | Texts | EachOf
FailedRows = Annotated[list[Number], Meta(max_length=1_000)]  # of those listed, one by one; all if empty
PageValues = Annotated[dict[Name, PageValue], Meta(max_length=10_000)]


class Sort(Struct, frozen=True, forbid_unknown_fields=True):
    """One column of an order; columns are named by position."""

    at: Number
    descending: bool


class Range(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="range"):
    """Rows whose number or date lies between two texts, both included; an empty text is no bound."""

    at: Number
    low: Text
    high: Text


class OneOf(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="values"):
    """Rows with one of these values; `None` is an empty cell."""

    at: Number
    values: Annotated[list[Text | None], Meta(max_length=10_000)]


class Contains(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="text"):
    """Rows whose text contains this one, in any case."""

    at: Number
    text: Text


Filter = Range | OneOf | Contains
Columns = Annotated[list[Number], Meta(max_length=100_000)]
Sorts = Annotated[list[Sort], Meta(max_length=8)]
Filters = Annotated[list[Filter], Meta(max_length=100)]


class TableQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which rows of a table, in which order."""

    sort: Sorts = []
    filters: Filters = []
    find: Text = ""
    hidden: Columns = []  # columns that aren't searched


class ChartWish(Struct, frozen=True, forbid_unknown_fields=True):
    """What was chosen of a chart; what is `None` is chosen by the panel."""

    kind: Literal["line", "bar"] | None = None
    measure: Name | None = None
    colour: Name | None = None
    x: Name | None = None
    points: Name | None = None
    show: Name | None = None
    all: bool = False


JsonPath = Annotated[list[Text | Number], Meta(max_length=1_000)]
Searched = Annotated[str, Meta(min_length=1, max_length=1_000)]


class PageRequest(Struct, forbid_unknown_fields=True, kw_only=True):
    """What every request has."""

    v: Literal[1]
    id: Number
    kind: str


class ResultRequest(PageRequest):
    """About the result of this number; another one may be shown by now."""

    run: Number


class RequestKind(NamedTuple):
    """A kind of request: its structure, which method of what answers it, how, and why a visitor's page gets none."""

    request: type[PageRequest]
    method: str
    of: str
    in_thread: bool
    refused: str


_OF_RESULT = {"result", "table", "tree"}
_SPELT = {"first": "from", "end": "to", "ending": "format"}  # fields that Python has other uses for
KINDS: dict[str, RequestKind] = {}


def asked(kind: str = "", *, of: str = "", in_thread: bool = False, refused: str = "") -> Callable[[Method], Method]:
    """Let the page ask for what a method does, by its name or another one; the fields are its parameters."""

    def register(method: Method) -> Method:
        types, fields = get_type_hints(method, include_extras=True), []
        for each in list(signature(method).parameters.values())[1:]:
            default = msgspec.NODEFAULT if each.default is each.empty else each.default
            fields.append((each.name, types[each.name], default))
        name, of_result = kind or method.__name__, of in _OF_RESULT
        bases = (ResultRequest if of_result else PageRequest,)
        request = msgspec.defstruct(name, fields, bases=bases, rename=_SPELT, forbid_unknown_fields=True, kw_only=True)
        structure = cast("type[PageRequest]", request)
        KINDS[name] = RequestKind(structure, method.__name__, of, in_thread or of_result, refused)
        return method

    return register


def read(content: object) -> PageRequest:
    """Return the request that the page has sent, if it is of a known kind, with known fields and values in range."""
    kind = content.get("kind") if isinstance(content, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise ArgumentError(f"The panel takes no request of the kind {quote(clip(str(kind), 60))}.", _RELOAD)
    try:
        return msgspec.convert(content, KINDS[kind].request)
    except (msgspec.ValidationError, RecursionError) as error:
        what = clip(inert(str(error)), 200).rstrip(".")
        raise ArgumentError(f"The panel can't read the request {kind}: {what}.", _RELOAD) from None


def fields_of(request: PageRequest) -> dict[str, Any]:
    """Return what the method that answers a request takes."""
    given = msgspec.structs.asdict(request)
    return {name: value for name, value in given.items() if name not in ResultRequest.__struct_fields__}
