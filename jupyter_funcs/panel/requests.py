"""Requests: what the page may ask of the panel. Each is a typed structure with bounds; nothing else is taken."""

from __future__ import annotations

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
Finite = Annotated[float, Meta(ge=-1e300, le=1e300)]  # no NaN either
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
    """Any request; one of the kinds without values of their own is this alone."""

    v: Literal[1]
    id: Number
    kind: str


class FunctionsRequest(PageRequest):
    query: Text
    first: Number = msgspec.field(name="from")


class FunctionRequest(PageRequest):
    function: Name


class FavouriteRequest(FunctionRequest):
    on: bool


class SetRequest(PageRequest):
    seq: Number
    field: Name
    value: PageValue


class FieldRequest(PageRequest):
    field: Name


class OptionsRequest(FieldRequest):
    query: Text
    grouped: bool
    first: Number = msgspec.field(name="from")


class PasteRequest(FieldRequest):
    text: LongText


class AllOptionsRequest(FieldRequest):
    group: Name
    query: Text


class NameRequest(PageRequest):
    name: Name


class PresetRequest(NameRequest):
    function: Name


class NewNameRequest(NameRequest):
    replace: bool


class FormRunRequest(PageRequest):
    seq: Number
    values: Annotated[dict[Name, PageValue], Meta(max_length=10_000)]
    confirmed: bool


class RetryRequest(PageRequest):
    rows: Annotated[list[Number], Meta(max_length=_MOST_ROWS)]  # of what is listed as failed; all of it if empty


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


class TabRequest(PageRequest):
    tab: Literal["table", "chart", "json", "code"]


class SaveRequest(ResultRequest):
    format: Literal["csv", "xlsx", "parquet", "json"]
    name: Name
    replace: bool
    filtered: TableQuery | None
    download: bool


RunNumber = Number | Annotated[str, Meta(max_length=50)]  # a text names a run of an earlier kernel: "14/3"


class NumberRequest(PageRequest):
    number: RunNumber


class CompareRequest(PageRequest):
    before: RunNumber
    after: RunNumber
    first: Number = msgspec.field(name="from")
    again: bool


_BARE = ("hello", "refresh", "about", "clear", "cancel", "retry", "dismiss", "code", "history")
_KINDS: dict[str, type[PageRequest]] = {
    **dict.fromkeys(_BARE, PageRequest),
    **dict.fromkeys(("choose", "example"), FunctionRequest),
    **dict.fromkeys(("list_again", "variables"), FieldRequest),
    **dict.fromkeys(("preset_save", "rename"), NewNameRequest),
    **dict.fromkeys(("again", "open"), NumberRequest),
    "functions": FunctionsRequest,
    "favourite": FavouriteRequest,
    "set": SetRequest,
    "options": OptionsRequest,
    "paste": PasteRequest,
    "all_options": AllOptionsRequest,
    "preset": PresetRequest,
    "preset_delete": NameRequest,
    "run": FormRunRequest,
    "retry_failed": RetryRequest,
    "tab": TabRequest,
    "compare": CompareRequest,
    # About a result
    "rows": RowsRequest,
    "columns": ColumnsRequest,
    "values": ValuesRequest,
    "table_code": QueryRequest,
    "copy": CopyRequest,
    "chart": ChartRequest,
    "json": JsonRequest,
    "json_find": TextRequest,
    "json_text": ResultRequest,
    "save": SaveRequest,
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
        raise ArgumentError(f"The panel takes no request of the kind {quote(clip(str(kind), 60))}.", _RELOAD)
    try:
        return msgspec.convert(content, wanted)
    except (msgspec.ValidationError, RecursionError) as error:
        what = clip(inert(str(error)), 200).rstrip(".")
        raise ArgumentError(f"The panel can't read the request {kind}: {what}.", _RELOAD) from None


def plain_values(request: FormRunRequest) -> dict[str, Any]:
    """Return the values that a run carries, as a form takes them."""
    return {name: plain(value) for name, value in request.values.items()}  # a dict's


def plain(value: PageValue) -> Any:
    """Return what the page sent for a field as a form takes it."""
    return Each(tuple(value.each)) if isinstance(value, EachOf) else value
