"""What is read from a Python function when it is published, and what is refused."""

from __future__ import annotations

import functools
import inspect
from datetime import date  # noqa: TC003 - read when a function is published
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.functions.markers import AtLeastOne, Between, Help, ListedBy
from jupyter_funcs.service import function
from jupyter_funcs.service.publishing import registry

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal  # a type that publishing cannot see

    from jupyter_funcs.service.engine.calls import Call


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("get_stock_levels", "Get Stock Levels"),
        ("get_sales_by_store", "Get Sales by Store"),
        ("by_store", "By Store"),
        ("_get_kpis", "Get KPIs"),
        ("get_panel_fq", "Get Panel FQ"),
        ("stock-levels 2024", "Stock Levels 2024"),
        ("getSKUs", "GetSKUs"),
    ],
)
def test_a_name_becomes_a_title(name: str, title: str) -> None:
    assert registry.title(name) == title


def stock_levels(
    store: Annotated[str, Help("Where."), ListedBy("Get Stores")],
    kinds: list[Literal["new", "used"]] | None = None,
    *,
    since: date | None = None,
    least: Annotated[int, Between(0, 9)] = 1,
    share: float = 0.5,
    unit="piece",  # noqa: ANN001
    empty: bool = False,
) -> Decimal:
    """
    Give the stock levels.

    By store
    and kind.

    Parameters
    ----------
    store
        Not this one: the marker says it.
    kinds, since : list
        What to count,
        or from when.

    Returns
    -------
    DataFrame
        Not for the caller of the service.
    """
    raise NotImplementedError


def test_a_signature_is_described_in_the_words_of_the_service() -> None:
    published = function(asset="a")(stock_levels)
    assert published.description == "Give the stock levels. By store and kind."
    assert {
        parameter.name: parameter.description() for parameter in published.parameters
    } == {
        "store": "[Required] Where. Use function 'Get Stores' to get list of available stores.",
        "kinds": "[Optional] What to count, or from when. Options are 'new', 'used'.",
        "since": "[Optional] What to count, or from when. Format is YYYY-MM-DD.",
        "least": "[Optional] Must be at least 0 and at most 9. If none, least defaults to '1'.",
        "share": "[Optional] Must be a number. If none, share defaults to '0.5'.",
        "unit": "[Optional] If none, unit defaults to 'piece'.",
        "empty": "[Optional] Options are 'Yes', 'No'. If none, empty defaults to 'No'.",
    }
    assert not published.takes_call


def takes_call_by_name(call, store: str) -> None: ...  # noqa: ANN001
def takes_call_by_annotation(_engine: Call, store: str) -> None: ...
def takes_none(store: str) -> None: ...


@pytest.mark.parametrize(
    ("python", "takes_call"),
    [(takes_call_by_name, True), (takes_call_by_annotation, True), (takes_none, False)],
)
def test_a_function_that_asks_for_the_call_receives_it(
    python: Callable[..., Any], takes_call: bool
) -> None:
    published = function(asset="a")(python)
    assert published.takes_call == takes_call
    assert [parameter.name for parameter in published.parameters] == ["store"]


Place = Annotated[str, AtLeastOne("near", "far")]


def test_at_least_one_may_be_in_an_annotation() -> None:
    @function(asset="a")
    def find(near: Place | None = None, far: Place | None = None) -> None: ...

    assert find.rules == (AtLeastOne("near", "far"),)
    assert (
        find.parameters[0].description(find.rules)
        == "[Optional] Required if far is not specified."
    )


def test_a_published_function_can_still_be_called_directly() -> None:
    @function(asset="a", name="Twice")
    def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    assert double(4) == double(number=4) == 8
    assert str(inspect.signature(double)) == "(number: 'int') -> 'int'"
    assert double.__doc__ == "Double a number."


def test_a_wrapped_function_keeps_its_parameters_and_is_called_through_its_wrapper() -> (
    None
):
    def logged(python: Callable[..., str]) -> Callable[..., str]:
        @functools.wraps(python)
        def wrapper(*args: Any, **kwargs: Any) -> str:
            return "logged " + python(*args, **kwargs)

        return wrapper

    @function(asset="a")
    @logged
    def greet(name: str = "you") -> str:
        return f"hello {name}"

    assert [parameter.name for parameter in greet.parameters] == ["name"]
    assert greet() == "logged hello you"


def a_range(store: range) -> None: ...
def unseen(store: Decimal) -> None: ...
def wrong_default(store: int = "x") -> None: ...  # type: ignore[assignment]
def no_option(store: Literal["a", "b"] = "c") -> None: ...  # type: ignore[assignment]
def odd_default(store=range(3)) -> None: ...  # noqa: ANN001
def no_such(
    store: Annotated[str | None, AtLeastOne("store", "stroe")] = None,
) -> None: ...


UNPUBLISHABLE = {
    a_range: "Parameter store is annotated range: ",
    unseen: "parameter store of unseen is annotated 'Decimal': name 'Decimal' is not defined.\nImport",
    wrong_default: "Parameter store has the default 'x'",
    no_option: "Parameter store has the default 'c'",
    odd_default: "Parameter store is annotated range: ",
    no_such: "no parameter 'stroe'. Did you mean 'store'?",
}


@pytest.mark.parametrize(
    ("python", "says"),
    UNPUBLISHABLE.items(),
    ids=[python.__name__ for python in UNPUBLISHABLE],
)
def test_an_unpublishable_function_is_refused_with_its_file_line_and_parameter(
    python: Callable[..., Any], says: str
) -> None:
    with pytest.raises(SetupError) as caught:
        function(asset="a")(python)
    text = str(caught.value)
    assert text.startswith(f"{__file__}, line {python.__code__.co_firstlineno}: ")
    assert python.__name__ in text
    assert says in text
    assert text.count("\n") <= 2


@pytest.mark.parametrize(
    "what", [max, 7], ids=["a built-in function without a signature", "a number"]
)
def test_what_cannot_be_called_by_name_is_refused(what: Any) -> None:
    with pytest.raises(SetupError, match=r"^Not a function: .*: it "):
        function(asset="a")(what)


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "a\x00"])
def test_a_name_that_cannot_be_typed_is_refused(name: str) -> None:
    with pytest.raises(SetupError, match="is not a valid name"):
        function(asset="a", name=name)(takes_none)
