"""Requests: what the page may ask of the panel. Each is a typed structure with bounds; nothing else is taken."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from jupyter_funcs.catalog.values import Each
from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.core.text import clip, inert, quote

_RELOAD = "Run the cell again to open the panel."
_MOST_ROWS = 1_000  # of one page
_MOST_VALUES = 100_000  # of one field

Number = Annotated[int, Meta(ge=0, le=2**53)]
Text = Annotated[str, Meta(max_length=1_000)]
Name = Annotated[str, Meta(max_length=500)]
LongText = Annotated[str, Meta(max_length=10_000_000)]
Texts = Annotated[list[LongText], Meta(max_length=_MOST_VALUES)]


class EachOf(Struct, frozen=True, forbid_unknown_fields=True):
    """Several values of a field, one run each."""

    each: Texts


PageValue = None | LongText | Texts | EachOf


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


class ChartWish(Struct, frozen=True, forbid_unknown_fields=True):
    """What was chosen of a chart; what is `None` is chosen by the panel."""

    kind: Literal["line", "bar"] | None = None
    measure: Name | None = None
    colour: Name | None = None
    x: Name | None = None
    points: Name | None = None
    show: Name | None = None
    all: bool = False


def _kind(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name.removesuffix("Request")).lower()


class PageRequest(Struct, forbid_unknown_fields=True, tag_field="kind", tag=_kind, kw_only=True):
    """Any request; the kind is the class's name in lower case, words joined by underscores."""

    v: Literal[1]
    id: Number


class HelloRequest(PageRequest): ...


class FunctionsRequest(PageRequest):
    query: Text


class ChooseRequest(PageRequest):
    function: Name


class ExampleRequest(PageRequest):
    function: Name


class FavouriteRequest(PageRequest):
    function: Name
    on: bool


class RefreshRequest(PageRequest): ...


class AboutRequest(PageRequest): ...


class SetRequest(PageRequest):
    seq: Number
    field: Name
    value: PageValue


class ClearRequest(PageRequest): ...


class OptionsRequest(PageRequest):
    field: Name
    query: Text
    first: Number = msgspec.field(name="from")


class ListAgainRequest(PageRequest):
    field: Name


class PasteRequest(PageRequest):
    field: Name
    text: LongText


class AllOptionsRequest(PageRequest):
    field: Name
    group: Name
    query: Text


class VariablesRequest(PageRequest):
    field: Name


class PresetRequest(PageRequest):
    name: Name
    function: Name


class PresetSaveRequest(PageRequest):
    name: Name
    replace: bool


class PresetDeleteRequest(PageRequest):
    name: Name


class FormRunRequest(PageRequest, tag="run"):
    seq: Number
    values: Annotated[dict[Name, PageValue], Meta(max_length=10_000)]
    confirmed: bool


class CancelRequest(PageRequest): ...


class RetryRequest(PageRequest): ...


class RetryFailedRequest(PageRequest): ...


class DismissRequest(PageRequest): ...


class _OfTable(PageRequest):
    run: Number
    sort: Sorts
    filters: Filters
    find: Text

    @property
    def query(self) -> TableQuery:
        return TableQuery(self.sort, self.filters, self.find)


class RowsRequest(_OfTable):
    first: Number = msgspec.field(name="from")
    end: Number = msgspec.field(name="to")
    columns: Columns

    def __post_init__(self) -> None:
        if not 0 <= self.end - self.first <= _MOST_ROWS:
            raise ValueError(f"a page has at most {_MOST_ROWS:,} rows")


class ColumnsRequest(PageRequest):
    run: Number
    columns: Columns


class ValuesRequest(PageRequest):
    run: Number
    at: Number
    query: Text


class TableCodeRequest(_OfTable): ...


class CopyRequest(_OfTable):
    first: Number = msgspec.field(name="from")
    end: Number = msgspec.field(name="to")
    columns: Columns


class ChartRequest(PageRequest):
    run: Number
    wish: ChartWish
    low: float | None
    high: float | None
    filters: Filters
    find: Text


class JsonRequest(PageRequest):
    run: Number
    path: Annotated[list[Text | Number], Meta(max_length=1_000)]
    first: Number = msgspec.field(name="from")


class JsonTextRequest(PageRequest):
    run: Number


class CodeRequest(PageRequest): ...


class TabRequest(PageRequest):
    tab: Literal["table", "chart", "json", "code"]


class RenameRequest(PageRequest):
    name: Name
    replace: bool


class SaveRequest(PageRequest):
    run: Number
    format: Literal["csv", "xlsx", "parquet", "json"]
    name: Name
    replace: bool
    filtered: TableQuery | None
    download: bool


class HistoryRequest(PageRequest): ...


class AgainRequest(PageRequest):
    number: Number


class OpenRequest(PageRequest):
    number: Number


class CompareRequest(PageRequest):
    before: Number
    after: Number
    first: Number = msgspec.field(name="from")
    again: bool


_KINDS = {
    each.__struct_config__.tag: each
    for each in globals().copy().values()
    if isinstance(each, type) and issubclass(each, PageRequest) and each not in {PageRequest, _OfTable}
}


def read(content: object) -> PageRequest:
    """
    Return the request that the page has sent.

    Raises
    ------
    ArgumentError
        It is of no known kind, has an unknown field, or a value out of range.
    """
    kind = content.get("kind") if isinstance(content, dict) else None
    wanted = _KINDS.get(kind) if isinstance(kind, str) else None
    if wanted is None:
        raise ArgumentError(f"The panel takes no request of the kind {quote(str(kind))}.", _RELOAD)
    try:
        return msgspec.convert(content, wanted)
    except (msgspec.ValidationError, RecursionError) as error:
        what = clip(inert(str(error)), 200).rstrip(".")
        raise ArgumentError(f"The panel can't read the request {kind}: {what}.", _RELOAD) from None


def kind_of(request: PageRequest) -> str:
    """Return the kind of a request: the name of what answers it."""
    return str(type(request).__struct_config__.tag)


def wished(request: ChartRequest) -> dict[str, Any]:
    """Return what was chosen of a chart."""
    return {name: value for name, value in msgspec.structs.asdict(request.wish).items() if value is not None}


def plain_values(request: FormRunRequest) -> dict[str, Any]:
    """Return the values that a run carries, as a form takes them."""
    return {name: plain(value) for name, value in request.values.items()}  # a dict's


def plain(value: PageValue) -> Any:
    """Return what the page sent for a field as a form takes it."""
    return Each(tuple(value.each)) if isinstance(value, EachOf) else value
