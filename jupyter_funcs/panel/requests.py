"""Requests that the page may send: typed structures with bounds. Anything else is refused."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Meta, Struct

from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.core.json_decoding import only
from jupyter_funcs.core.text import clip, inert, quote

if TYPE_CHECKING:
    from collections.abc import Callable

Method = TypeVar("Method", bound="Callable[..., Any]")

Json = dict[str, Any]  # a part of the protocol
_RELOAD = "Run the cell again to open the panel."

Number = Annotated[int, Meta(ge=0, le=2**53)]
Text = Annotated[str, Meta(max_length=1_000)]
Name = Annotated[str, Meta(max_length=500)]
Finite = Annotated[float, Meta(ge=-1e300, le=1e300)]  # no NaN either
LongText = Annotated[str, Meta(max_length=10_000_000)]
Texts = Annotated[list[LongText], Meta(max_length=100_000)]  # of one field
# A text names a run of an earlier kernel: "14/3".
RunNumber = Number | Annotated[str, Meta(max_length=50)]
# Of a run that the service keeps.
KeptId = Annotated[str, Meta(pattern=r"^[\w-]{1,100}$")]
FileFormat = Literal["csv", "xlsx", "parquet", "json", "file"]
Tab = Literal["table", "chart", "json", "code"]


class Part(Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a request, without other fields."""


class NotText(Part, frozen=True):
    """Several values for a field, one run each; or a value that no text spells."""

    each: Texts = []
    constant: Literal["", "null", "empty text", "empty list"] = ""


PageValue = None | LongText | Texts | NotText
# Positions in the list of failed runs; all if empty.
FailedRows = Annotated[list[Number], Meta(max_length=1_000)]
# To a question of a source.
Answers = Annotated[dict[Name, LongText], Meta(max_length=1_000)]
PageValues = Annotated[dict[Name, PageValue], Meta(max_length=10_000)]


class Sort(Part, frozen=True):
    """One column to sort by; columns are given by position."""

    at: Number
    descending: bool


class Range(Part, frozen=True, tag_field="kind", tag="range"):
    """Rows with a number or date between two bounds, inclusive; an empty text means no bound."""

    at: Number
    low: Text
    high: Text


class OneOf(Part, frozen=True, tag_field="kind", tag="values"):
    """Rows with one of these values; `None` means an empty cell."""

    at: Number
    values: Annotated[list[Text | None], Meta(max_length=10_000)]


class Contains(Part, frozen=True, tag_field="kind", tag="text"):
    """Rows that contain this text, ignoring case."""

    at: Number
    text: Text


Filter = Range | OneOf | Contains
Columns = Annotated[list[Number], Meta(max_length=100_000)]
Sorts = Annotated[list[Sort], Meta(max_length=8)]
Filters = Annotated[list[Filter], Meta(max_length=100)]


class TableQuery(Part, frozen=True):
    """Which rows of a table to show, and in which order."""

    sort: Sorts = []
    filters: Filters = []
    find: Text = ""
    hidden: Columns = []  # columns that aren't searched


class Computed(Part, frozen=True, tag_field="kind", tag="column"):
    """A new column with the values of an expression."""

    name: Name
    expression: Text


class Pivot(Part, frozen=True, tag_field="kind", tag="pivot"):
    """Rows of a view, brought together by columns that are given by name; the panel chooses what is `None`."""

    rows: Annotated[list[Name], Meta(max_length=3)] = []
    columns: Name | None = None
    measure: Name | None = None
    how: Literal["sum", "ratio", "mean", "count", "share", "first", "last"] | None = (
        None
    )
    of: TableQuery = TableQuery()


class ChartWish(Part, frozen=True):
    """The user's choices for a chart; the panel chooses what is `None`."""

    kind: Literal["line", "bar", "area", "stack", "scatter", "histogram"] | None = None
    measure: Name | None = None
    colour: Name | None = None
    x: Name | None = None
    points: Name | None = None
    show: Name | None = None
    all: bool = False
    split: Name | None = None
    scale: Literal["linear", "log"] | None = None


class ChartPoints(Part, frozen=True, tag_field="kind", tag="points"):
    """The points of a chart of a view, zoomed to a range of days."""

    wish: ChartWish = ChartWish()
    low: Finite | None = None
    high: Finite | None = None
    of: TableQuery = TableQuery()

    @property
    def zoom(self) -> tuple[float, float] | None:
        if self.low is None or self.high is None:
            return None
        return self.low, self.high


Steps = Annotated[list[Computed | Pivot | ChartPoints], Meta(max_length=20)]
NO_STEPS: Steps = []


JsonPath = Annotated[list[Text | Number], Meta(max_length=1_000)]
Searched = Annotated[str, Meta(min_length=1, max_length=1_000)]


class RequestKind(NamedTuple):
    """A kind of request: its structure, the method that answers it, how, and why visitors are refused."""

    request: type[Struct]
    method: str
    path: str  # of the method, from the state of the panel
    in_thread: bool
    refused: str
    begins: bool  # a run
    reads: bool  # and changes nothing that the page is told of


_ENVELOPE = {"v": Literal[1], "id": Number, "kind": str}  # of every request

# Names that Python reserves or shadows.
_SPELT = {"first": "from", "end": "to", "ending": "format"}
# Where the objects are that answer requests, from the state of a panel; requests of a result name it by its number.
_RESULT = "chosen.shown_result."
_PLACES = {
    "PanelState": "",
    "HeaderView": "header.",
    "HistoryView": "history.",
    "PanelRuns": "runs.",
    "Visit": "chosen.",
    "FormView": "chosen.inputs.",
    "ResultView": _RESULT,
    "TableView": f"{_RESULT}table.",
    "JsonTree": f"{_RESULT}tree.",
}
KINDS: dict[str, RequestKind] = {}


def answers(
    kind: str = "",
    *,
    in_thread: bool = False,
    refused: str = "",
    begins: bool = False,
    reads: bool = False,
) -> Callable[[Method], Method]:
    """Let the page call a method by its name or `kind`; its parameters are the fields of the request."""

    def register(method: Method) -> Method:
        # What a tab asks for when it is shown says which it is.
        fields: list[Any] = [*_ENVELOPE.items(), ("tab", Tab | None, None)]
        name = method.__name__
        path = _PLACES[method.__qualname__.partition(".")[0]] + name
        of_result = path.startswith(_RESULT)
        if of_result:
            fields.append(("run", Number))
        if path.startswith(_PLACES["TableView"]):
            fields.append(("steps", Steps, NO_STEPS))
        for parameter in list(signature(method, eval_str=True).parameters.values())[1:]:
            if parameter.default is parameter.empty:
                default = msgspec.NODEFAULT
            else:
                default = parameter.default
            fields.append((parameter.name, parameter.annotation, default))

        request = msgspec.defstruct(
            name, fields, rename=_SPELT, forbid_unknown_fields=True, kw_only=True
        )
        KINDS[kind or name] = RequestKind(
            request,
            name,
            path,
            in_thread or of_result,
            refused,
            begins,
            reads or of_result,
        )
        return method

    return register


def kind_of(content: object) -> RequestKind | None:
    name = only(dict, content).get("kind")
    return KINDS.get(name) if isinstance(name, str) else None


def read(content: object) -> tuple[RequestKind, Json]:
    """Return the kind and fields of a request of the page, if they are known and the values are in range."""
    name = only(dict, content).get("kind")
    kind = kind_of(content)
    if not kind:
        raise ArgumentError(
            f"The panel takes no request of the kind {quote(name, 60)}.", _RELOAD
        )

    try:
        request = msgspec.convert(content, kind.request)
    except (msgspec.ValidationError, RecursionError) as error:
        what = clip(inert(str(error)), 200).rstrip(".")
        raise ArgumentError(
            f"The panel can't read the request {name}: {what}.", _RELOAD
        ) from None

    fields = msgspec.structs.asdict(request)
    for name in _ENVELOPE:
        del fields[name]
    return kind, fields
