"""Requests: what the page may ask of the panel. Each is a typed structure with bounds; nothing else is taken."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar, cast, get_type_hints

import msgspec
from msgspec import Meta, Struct

from jupyter_funcs.catalog.values import Each
from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.core.text import clip, inert, quote

if TYPE_CHECKING:
    from collections.abc import Callable

Method = TypeVar("Method", bound="Callable[..., Any]")

_RELOAD = "Run the cell again to open the panel."
_MOST_ROWS = 1_000  # of one page
_MOST_VALUES = 100_000  # of one field

Number = Annotated[int, Meta(ge=0, le=2**53)]
Text = Annotated[str, Meta(max_length=1_000)]
Name = Annotated[str, Meta(max_length=500)]
Finite = Annotated[float, Meta(ge=-1e300, le=1e300)]  # no NaN either
LongText = Annotated[str, Meta(max_length=10_000_000)]
Texts = Annotated[list[LongText], Meta(max_length=_MOST_VALUES)]
RunNumber = Number | Annotated[str, Meta(max_length=50)]  # a text names a run of an earlier kernel: "14/3"
Tab = Literal["table", "chart", "json", "code"]


class EachOf(Struct, frozen=True, forbid_unknown_fields=True):
    """Several values of a field, one run each."""

    each: Texts


PageValue = None | LongText | Texts | EachOf
FailedRows = Annotated[list[Number], Meta(max_length=_MOST_ROWS)]  # of what is listed as failed; all of it if empty
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


class PageRequest(Struct, forbid_unknown_fields=True, kw_only=True):
    """What every request has."""

    v: Literal[1]
    id: Number
    kind: str


class ResultRequest(PageRequest):
    """About the result of this number; another one may be shown by now."""

    run: Number


class QueryRequest(ResultRequest, kw_only=True):
    sort: Sorts
    filters: Filters
    find: Text
    hidden: Columns = []

    @property
    def query(self) -> TableQuery:
        return TableQuery(self.sort, self.filters, self.find, self.hidden)


class CopyRequest(QueryRequest):
    first: Number = msgspec.field(name="from")
    end: Number = msgspec.field(name="to")
    columns: Columns


class RowsRequest(CopyRequest):
    def __post_init__(self) -> None:
        if not 0 <= self.end - self.first <= _MOST_ROWS:
            raise ValueError(f"a page has at most {_MOST_ROWS:,} rows")


class ColumnsRequest(ResultRequest):
    columns: Columns


class ValuesRequest(ResultRequest):
    at: Number
    query: Text


class ChartRequest(ResultRequest):
    wish: ChartWish
    low: Finite | None
    high: Finite | None
    filters: Filters
    find: Text
    hidden: Columns = []

    @property
    def query(self) -> TableQuery:
        return TableQuery([], self.filters, self.find, self.hidden)

    @property
    def zoom(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)


class JsonRequest(ResultRequest):
    path: Annotated[list[Text | Number], Meta(max_length=1_000)]
    first: Number = msgspec.field(name="from")


class TextRequest(ResultRequest):
    text: Annotated[str, Meta(min_length=1, max_length=1_000)]


class SaveRequest(ResultRequest):
    format: Literal["csv", "xlsx", "parquet", "json"]
    name: Name
    replace: bool
    filtered: TableQuery | None
    download: bool


class RequestKind(NamedTuple):
    """A kind of request: its structure, whether its answer takes a while, and why a visitor's page gets none."""

    request: type[PageRequest]
    in_thread: bool = False
    refused: str = ""


_FIELD_NAMES = {"first": "from", "end": "to"}
# About a result, which answers them by methods of these names; `asked` adds the others.
_OF_A_RESULT: dict[str, type[ResultRequest]] = {
    "rows": RowsRequest,
    "columns": ColumnsRequest,
    "values": ValuesRequest,
    "table_code": QueryRequest,
    "copy": CopyRequest,
    "chart": ChartRequest,
    "json": JsonRequest,
    "json_find": TextRequest,
    "json_text": ResultRequest,
}
KINDS = {kind: RequestKind(request, in_thread=True) for kind, request in _OF_A_RESULT.items()}
KINDS["save"] = RequestKind(SaveRequest, in_thread=True, refused="Files can't be saved")


def asked(*, in_thread: bool = False, refused: str = "") -> Callable[[Method], Method]:
    """Let the page ask for what a method does: the kind is the method's name, the fields are its parameters."""

    def register(method: Method) -> Method:
        types = get_type_hints(method, include_extras=True)
        wanted = list(signature(method).parameters.values())[1:]
        fields = [
            (each.name, types[each.name], msgspec.NODEFAULT if each.default is each.empty else each.default)
            for each in wanted
        ]
        request = msgspec.defstruct(
            method.__name__, fields, bases=(PageRequest,), rename=_FIELD_NAMES, forbid_unknown_fields=True, kw_only=True
        )
        KINDS[method.__name__] = RequestKind(cast("type[PageRequest]", request), in_thread, refused)
        return method

    return register


def read(content: object) -> PageRequest:
    """
    Return the request that the page has sent.

    Raises
    ------
    ArgumentError
        It is of no known kind, has an unknown field, or a value out of range.
    """
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
    about = PageRequest.__struct_fields__
    return {name: value for name, value in msgspec.structs.asdict(request).items() if name not in about}


def plain(value: PageValue) -> Any:
    """Return what the page sent for a field as a form takes it."""
    return Each(tuple(value.each)) if isinstance(value, EachOf) else value
