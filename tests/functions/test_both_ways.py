"""A callable is the same catalog entry for `jf.connect` and for `@function`: parameters, arguments and results."""

from __future__ import annotations

import datetime as dt
import enum
import functools
import inspect
from collections.abc import Iterator  # noqa: TC003  # evaluated
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

import pandas as pd
import pydantic
import pytest
import typing_extensions

import jupyter_funcs as jf
from jupyter_funcs.functions.markers import Between, Help, Options
from jupyter_funcs.functions.parameters import Parameter
from jupyter_funcs.service.builtin import companies, demo
from jupyter_funcs.service.engine.duckdb_engine import DuckDBEngine
from jupyter_funcs.service.publishing.registry import Registry, function
from tests.service import conftest as services

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from jupyter_funcs.client.function import RemoteFunction

    Way = Callable[[Callable[..., Any]], RemoteFunction]


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Pair(typing_extensions.TypedDict):
    low: int
    high: int


class Range(TypedDict, total=False):
    """A typing.TypedDict, which pydantic supports from Python 3.12 on."""

    pair: Pair
    unit: Annotated[str, "shown"]


class Ranges(TypedDict):
    ranges: list[Range | None]


@dataclass
class Order:
    item: str
    pieces: int = 1


class Model(pydantic.BaseModel):
    x: int


def by_python(python: Callable[..., Any]) -> RemoteFunction:
    session = jf.connect([python])
    return session[session.names[0]]


def by_service(python: Callable[..., Any]) -> RemoteFunction:
    registry = Registry([function(asset="a")(python)], author="t")
    wire = services.serving(registry, DuckDBEngine(companies.reference(), demo.cards))
    session = jf.connect(
        "http://localhost", token=wire.token, transport=wire.transport()
    )
    return session[session.names[0]]


@pytest.fixture(params=[by_python, by_service], ids=["connect", "published"])
def way(request: pytest.FixtureRequest) -> Way:
    """Both ways to make a callable a function of a catalog."""
    chosen: Way = request.param
    return chosen


RECEIVED: list[tuple[Any, Any, Any]] = [
    (str, "007", "007"),
    (str, " a ", " a "),
    (int, 7, 7),
    (float, 0.5, 0.5),
    (bool, True, True),
    (dt.date, dt.date(2024, 5, 6), dt.date(2024, 5, 6)),
    (dt.datetime, "2024-05-06T07:08:09", dt.datetime(2024, 5, 6, 7, 8, 9)),  # noqa: DTZ001
    (dt.time, "14:30:00", dt.time(14, 30)),
    (dt.timedelta, dt.timedelta(1, 7200), dt.timedelta(1, 7200)),
    (Color, Color.BLUE, Color.BLUE),
    (Decimal, Decimal("2.50"), Decimal("2.50")),
    (Literal["a", "b"], "b", "b"),
    (Literal[1, 2], 2, 2),
    (Literal["a", 1], "a", "a"),
    (int | None, 7, 7),
    (list[float], [0.5, 0.5, 0.25], [0.5, 0.5, 0.25]),
    (list[str], ["a", "", "a", " "], ["a", "", "a", " "]),
    (list[Color], [Color.RED, Color.RED], [Color.RED, Color.RED]),
    (list[int | None], [1, None, 1], [1, None, 1]),
    (list[int | None], pd.array([1, None], "Int64"), [1, None]),
    (list[str | None] | None, ["", None], ["", None]),
    (Any, 7, 7),
    (Any, "7", "7"),
    (Any, [1.5, None, {"a": ""}], [1.5, None, {"a": ""}]),
    (list[list[int]], [[1], [2, 2]], [[1], [2, 2]]),
    (dict[str, int], {"a": 1}, {"a": 1}),
    (Pair, {"low": 1, "high": 2}, {"low": 1, "high": 2}),
    (Range, {"pair": {"low": 1, "high": 2}}, {"pair": {"low": 1, "high": 2}}),
    (list[Range | int], [{"unit": "m"}, 3], [{"unit": "m"}, 3]),
    (Ranges, {"ranges": [{"unit": "m"}, None]}, {"ranges": [{"unit": "m"}, None]}),
    (Order, {"item": "pen"}, Order("pen")),
    (list[Order], [{"item": "pen"}], [Order("pen")]),
    (Model, {"x": 1}, Model(x=1)),
    (Order | list[Order], {"item": "pen"}, Order("pen")),
    (Annotated[int, Between(1, 5)], 5, 5),
    (Annotated[float, pydantic.Field(ge=0.5)], 0.5, 0.5),
    (Annotated[str, Options("x", "y"), Help("Which.")], "y", "y"),
]


@pytest.mark.fault(155)
@pytest.mark.parametrize(
    ("annotation", "argument", "received"),
    RECEIVED,
    ids=[f"{row[0]} {row[1]}" for row in RECEIVED],
)
def test_a_function_receives_the_same_either_way(
    way: Way, annotation: Any, argument: Any, received: Any
) -> None:
    """For every kind of annotation, with white space, repeats and empty items."""
    seen: list[Any] = []

    def take(value) -> int:  # noqa: ANN001
        seen.append(value)
        return 1

    take.__annotations__["value"] = annotation
    way(take)(value=argument)
    assert [(value, type(value)) for value in seen] == [(received, type(received))]


def plain(a: int, b: int = 2) -> list[int]:
    return [a, b]


def shifted(more: int, a: int, b: int = 2) -> list[int]:
    return [a + more, b]


class Adder:
    def __init__(self, more: int) -> None:
        self.more = more

    def __call__(self, a: int, b: int = 2) -> list[int]:
        """Add."""
        return [a + self.more, b]

    def method(self, a: int, b: int = 2) -> list[int]:
        return [a + self.more, b]


def logged(python: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(python)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return python(*args, **kwargs)

    return wrapper


async def waiting(a: int, b: int = 2) -> list[int]:
    return [a, b]


async def yielding(a: int, b: int = 2) -> AsyncIterator[int]:
    yield a
    yield b


def generating(a: int, b: int = 2) -> Iterator[int]:
    yield a
    yield b


def positional(a: int, b: int = 2, /) -> list[int]:
    return [a, b]


def others(a: int, *, b: int = 2, **more: int) -> list[int]:
    assert not more
    return [a, b]


CALLABLES: dict[str, Any] = {
    "a function": plain,
    "a partial": functools.partial(plain, b=3),
    "a partial by position": functools.partial(shifted, 0),
    "an object": Adder(0),
    "a bound method": Adder(0).method,
    "a wrapper": logged(plain),
    "an async function": waiting,
    "an async generator": yielding,
    "a generator": generating,
    "by position": positional,
    "by keyword": others,
}


@pytest.mark.parametrize("python", CALLABLES.values(), ids=CALLABLES)
def test_whatever_can_be_called_by_name_runs_either_way(way: Way, python: Any) -> None:
    """Annotations written as text are read, and parameters that aren't sent have their defaults."""
    run = way(python)
    assert [(field.name, field.required) for field in run.fields] == [
        ("a", True),
        ("b", False),
    ]
    assert run(a=5)["Result"].tolist() in ([5, 2], [5, 3])
    assert run(a=5, b=7)["Result"].tolist() == [5, 7]


def test_arguments_of_any_number_are_a_list(way: Way) -> None:
    """In order and with repeats; without arguments, the list is empty."""

    def join(first: str, *rest: int, sep: str = "-") -> str:
        return sep.join([first, *map(str, rest)])

    run = way(join)
    assert [(field.name, field.required) for field in run.fields] == [
        ("first", True),
        ("rest", False),
        ("sep", False),
    ]
    assert run(first="a", rest=[2, 1, 2], sep="+")["Result"].tolist() == ["a+2+1+2"]
    assert run(first="a")["Result"].tolist() == ["a"]


def test_the_docstring_and_the_markers_describe_either_way(way: Way) -> None:
    """In numpy style here; other styles are read as well."""

    def daily_of_fq(
        day: dt.date, count: Annotated[int, Help("How many.")] = 2, unit: str = "d"
    ) -> None:
        """Sum one day.

        Args:
            day: The day to sum.
            count: Not this one.
            unit: The unit.
        """

    run = way(daily_of_fq)
    assert run.name == "Daily of FQ"
    assert run.function.description == "Sum one day."
    helps = ["The day to sum.", "How many.", "The unit."]
    assert [
        field.help[: len(text)] for field, text in zip(run.fields, helps, strict=True)
    ] == helps
    assert [field.default for field in run.fields][1:] == ["2", "d"]


@pytest.mark.parametrize("python", [max, iter], ids=["max", "iter"])
def test_what_has_no_signature_is_refused_in_words(python: Any) -> None:
    """With an error when it is published, and with one warning in a source."""
    from jupyter_funcs.core.errors import SetupError

    with pytest.raises(SetupError, match="it has no signature"):
        function(asset="a")(python)
    with pytest.warns(
        UserWarning, match=rf"left out {python.__name__} \(it has no signature\)"
    ):
        assert jf.connect([python]).names == []


def test_objects_of_the_kernel_are_passed_by_reference() -> None:
    """If there is no annotation, or one without JSON values."""
    import pandas as pd

    def merge(left: pd.DataFrame, right, how: str = "inner", n: int = 1) -> None: ...  # noqa: ANN001

    merge.__annotations__.update(left=pd.DataFrame, how=str, n=int)
    frame = pd.DataFrame({"a": [1]})
    form = jf.Form(jf.connect([merge]).merge, left=frame, right=frame, n=frame)
    assert form.args["left"] is form.args["right"] is frame
    assert form.errors.keys() == {"n"}
    request = jf.connect([merge]).merge.request(left=frame, right=frame, how="left")
    assert request["arguments"] == {
        "left": "<DataFrame>",
        "right": "<DataFrame>",
        "how": "left",
    }
    parameters = [
        Parameter.of_python(parameter, "")
        for parameter in inspect.signature(merge).parameters.values()
    ]
    assert [parameter.takes_objects for parameter in parameters] == [
        True,
        True,
        False,
        False,
    ]
    for parameter in parameters:
        assert (
            not parameter.takes_objects
            or parameter.adapter.validate_python(frame) is frame
        )


def ratios() -> list[dict[str, float]]:
    return [{"a": float("inf")}, {"a": 0.5}, {"a": float("-inf")}]


def test_infinity_of_this_process_stays_infinite() -> None:
    frame = by_python(ratios)()
    assert frame["a"].tolist() == [float("inf"), 0.5, float("-inf")]


def unknown() -> float:
    return float("nan")


def test_nan_alone_is_a_row(way: Way) -> None:
    assert way(unknown)()["Result"].isna().tolist() == [True]


def test_infinity_is_null_in_json_with_one_warning() -> None:
    """A header of the service's reply says so, and the body has its usual shape."""
    run = by_service(ratios)
    with pytest.warns(
        UserWarning,
        match=r"^The result has 2 infinite numbers, which JSON doesn't have",
    ) as warned:
        assert run()["a"].isna().tolist() == [True, False, True]
    assert len(warned) == 1


class Sale(TypedDict):
    day: dt.date
    color: Color
    spend: Annotated[
        Decimal,
        pydantic.Field(description="Card spend.", json_schema_extra={"unit": "USD"}),
    ]
    cards: int | None
    name: str


SALE: Sale = {
    "day": dt.date(2024, 5, 6),
    "color": Color.BLUE,
    "spend": Decimal("1.50"),
    "cards": 3,
    "name": "2024-01-01",
}


def sales(count: int = 1) -> list[Sale]:
    return [SALE] * count


def sale() -> Sale:
    return SALE


def streamed(count: int = 1) -> Iterator[Sale]:
    yield from [SALE] * count


@pytest.mark.parametrize("python", [sales, sale, streamed])
def test_what_a_function_is_annotated_to_return_is_declared(
    way: Way, python: Any
) -> None:
    frame = way(python)()
    kinds = {name: str(dtype) for name, dtype in frame.dtypes.items()}
    assert kinds == DECLARED_SALE
    assert frame["spend"].tolist() == [Decimal("1.50")]
    assert frame.attrs["funcs"]["columns"] == {
        "spend": {"description": "Card spend.", "unit": "USD"}
    }


DECLARED_SALE = {
    "day": "datetime64[us]",
    "color": "category",
    "spend": "object",
    "cards": "Int64",
    "name": "string",
}


def test_no_row_still_has_the_columns_that_a_function_is_annotated_to_return(
    way: Way,
) -> None:
    frame = way(sales)(count=0)
    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == DECLARED_SALE


def a_text() -> str:
    return "2024-05-06"


def a_frame() -> pd.DataFrame:
    return pd.DataFrame({"a": [1]})


def a_lost_type() -> Lost:  # type: ignore[name-defined]  # noqa: F821
    return [{"a": 1}]


def wrong() -> list[Sale]:
    return [{**SALE, "cards": "many"}]  # type: ignore[typeddict-item]


def test_an_annotation_that_declares_no_columns_changes_nothing(way: Way) -> None:
    assert way(a_text)()["Result"].tolist() == ["2024-05-06"], "text stays text"
    assert way(a_frame)()["a"].tolist() == [1]
    assert way(a_lost_type)()["a"].tolist() == [1]


def test_a_function_that_returns_something_else_says_so_once(way: Way) -> None:
    with pytest.warns(UserWarning, match="'cards'") as caught:
        assert way(wrong)()["cards"].tolist() == ["many"]
    assert len(caught) == 1
