"""The registry: published functions, their listing, and the arguments of a call."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.functions.markers import AtLeastOne, Help
from jupyter_funcs.service.accounts.account_records import Asset
from jupyter_funcs.service.builtin import companies, demo
from jupyter_funcs.service.engine.calls import CallCancelledError
from jupyter_funcs.service.publishing.registry import (
    ArgumentsError,
    PublishedFunction,
    Registry,
    function,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal  # a type that publishing cannot see

FUNCTION_FIELDS = {
    "id": int,
    "name": str,
    "assetId": int,
    "assetName": str,
    "description": str,
    "params": list,
    "sortValue": int,
    "groupId": int,
    "groupName": str,
    "authorId": int,
    "authorUserName": str,
    "isShared": bool,
    "entryPoint": str,
    "uniqueId": str,
    "notebookId": str,
    "notebookName": str,
    "orgName": str,
    "type": type(None),
    "source": type(None),
    "context": type(None),
}
PARAM_FIELDS = {
    "id": int,
    "name": str,
    "type": int,
    "description": str,
    "required": bool,
    "functionId": int,
    "sortValue": int,
    "context": type(None),
    "schema": dict,
}
# SERVICE.md 2: the functions and their parameters, with type code and whether they are required.
DAILY = {
    "PanelName": (8, True),
    "Symbol": (6, False),
    "Brand": (4, False),
    "PoPGrowth": (0, False),
    "PoPLookback": (1, False),
    "Dimensions": (4, False),
}
PARAMETERS = {
    "Get Panels": {},
    "Get Universe": {},
    "Get Panel Dimensions": {"PanelName": (8, True), "Dimensions": (4, True)},
    "Get Panel Daily": DAILY,
    "Get Panel FQ": {
        **DAILY,
        "UseReportedForCurrentPeriod": (0, False),
        "PeriodToDate": (0, False),
    },
    "Get KPIs": {
        "Symbol": (6, True),
        "PanelName": (8, False),
        "PrimaryOnly": (0, False),
    },
    "Get Report": {
        "report_id": (0, True),
        "report_time_unit": (0, False),
        "report_time_after": (0, False),
        "shopper_generation": (0, False),
        "brands": (4, False),
    },
}


PANEL_DATA = Asset(1, "Demo panel data", "Demo (synthetic)", is_shared=False)
REPORTS = Asset(2, "Demo reports", "Demo (synthetic)", is_shared=False)
OWN = Asset(7, "Own", "Team", is_shared=True)


def demo_registry() -> Registry:
    return Registry(demo.published(), author=demo.AUTHOR)


def of_demo(*assets: Asset) -> list[dict[str, Any]]:
    return demo_registry().listing(assets, companies.reference())


@pytest.fixture(scope="module")
def listing() -> list[dict[str, Any]]:
    return of_demo(PANEL_DATA, REPORTS)


def test_every_function_has_every_field_with_its_type(
    listing: list[dict[str, Any]],
) -> None:
    for entry in listing:
        assert {
            name: type(value) for name, value in entry.items()
        } == FUNCTION_FIELDS | {"readOnly": bool}
        for param in entry["params"]:
            assert {name: type(value) for name, value in param.items()} == PARAM_FIELDS
            assert param["functionId"] == entry["id"]
    assert json.loads(json.dumps(listing)) == listing


def test_ids_are_unique_and_the_same_at_every_start(
    listing: list[dict[str, Any]],
) -> None:
    assert listing == of_demo(PANEL_DATA, REPORTS)
    ids = [entry["id"] for entry in listing]
    params = [param["id"] for entry in listing for param in entry["params"]]
    assert len(set(ids)) == len(ids)
    assert len(set(params)) == len(params)
    assert len({entry["uniqueId"] for entry in listing}) == len(ids)
    assert [entry["sortValue"] for entry in listing] == sorted(
        entry["sortValue"] for entry in listing
    )


def test_the_functions_take_the_parameters_of_the_service(
    listing: list[dict[str, Any]],
) -> None:
    signatures = {
        entry["name"]: {p["name"]: (p["type"], p["required"]) for p in entry["params"]}
        for entry in listing
    }
    assert signatures == PARAMETERS


def test_descriptions_say_what_is_required_and_that_the_data_is_synthetic(
    listing: list[dict[str, Any]],
) -> None:
    for entry in listing:
        assert entry["description"].endswith("(synthetic demo data).")
        assert "synthetic" in entry["orgName"]
        for param in entry["params"]:
            assert param["description"].startswith(
                "[Required] " if param["required"] else "[Optional] "
            )


WORDINGS = [
    (
        "Get Panel Daily",
        "PanelName",
        "Use function 'Get Panels' to get list of available panels.",
    ),
    (
        "Get Panel Daily",
        "Symbol",
        "Use function 'Get Universe' to get list of available symbols.",
    ),
    ("Get Panel Daily", "Symbol", "Required if Brand is not specified."),
    (
        "Get Panel Daily",
        "Brand",
        "Use function 'Get Panel Dimensions' to get list of available brands.",
    ),
    ("Get Panel Daily", "Brand", "Required if Symbol is not specified."),
    (
        "Get Panel Daily",
        "PoPGrowth",
        "Options are 'Yes', 'No'. If none, PoPGrowth defaults to 'No'.",
    ),
    (
        "Get Panel Daily",
        "PoPLookback",
        "Must be at least 1 and at most 50. If none, PoPLookback defaults to '1'.",
    ),
    ("Get Panel FQ", "Dimensions", "Options are 'Age Group', 'Region', 'Brand'."),
    (
        "Get Panel FQ",
        "UseReportedForCurrentPeriod",
        "If none, UseReportedForCurrentPeriod defaults to 'Yes'.",
    ),
    ("Get Panel FQ", "PeriodToDate", "If none, PeriodToDate defaults to 'No'."),
    ("Get KPIs", "PrimaryOnly", "If none, PrimaryOnly defaults to 'Yes'."),
    (
        "Get Report",
        "report_time_unit",
        "Options are 'day', 'week', 'month', 'quarter'.",
    ),
    ("Get Report", "report_time_after", "Format is YYYY-MM-DD."),
]


@pytest.mark.parametrize(
    ("name", "param", "sentence"),
    WORDINGS,
    ids=[f"{name} {param}" for name, param, _ in WORDINGS],
)
def test_descriptions_use_the_wording_of_the_service(
    listing: list[dict[str, Any]], name: str, param: str, sentence: str
) -> None:
    [text] = [
        p["description"]
        for entry in listing
        if entry["name"] == name
        for p in entry["params"]
        if p["name"] == param
    ]
    assert sentence in text


def example() -> PublishedFunction:
    @function(
        asset="Own",
        name="My Function",
        group=None,
        rules=(AtLeastOne("First", "Second"),),
    )
    def my_function(
        call: object,
        First: Annotated[str, Help("The first.")] | None = None,  # noqa: N803
        Second: list[Literal["a", "b"]] | None = None,  # noqa: N803
        since: date | None = None,
    ) -> Decimal:
        """
        Do something.

        And tell
        more.
        """
        raise NotImplementedError

    return my_function


def test_a_python_function_is_published_by_its_annotations_and_docstring() -> None:
    published = example()
    assert (published.name, published.asset, published.description) == (
        "My Function",
        "Own",
        "Do something. And tell more.",
    )
    assert [parameter.name for parameter in published.parameters] == [
        "First",
        "Second",
        "since",
    ]
    [listed] = Registry([published], author="ann").listing([OWN], None)
    assert (listed["groupId"], listed["groupName"]) == (0, None)
    assert (
        listed["assetId"],
        listed["assetName"],
        listed["orgName"],
        listed["isShared"],
    ) == (
        7,
        "Own",
        "Team",
        True,
    )
    assert (listed["authorUserName"], listed["notebookName"]) == ("ann", __name__)
    assert listed["entryPoint"] == f"{__name__}:example.<locals>.my_function"


def test_a_user_sees_the_functions_of_their_assets_with_the_ids_that_everybody_sees() -> (
    None
):
    whole = of_demo(PANEL_DATA, REPORTS)
    assert of_demo() == []
    assert of_demo(OWN) == []
    assert (
        of_demo(REPORTS)
        == [entry for entry in whole if entry["assetName"] == "Demo reports"]
        == whole[6:]
    )
    assert of_demo(REPORTS, PANEL_DATA) == whole


@pytest.mark.parametrize("spelled", ["OWN", "own", "\uff2f\uff57n"])
def test_an_asset_is_the_same_as_accounts_compare_names(spelled: str) -> None:
    def one() -> None:
        """Do something."""

    registry = Registry([function(asset=spelled)(one)], author="ann")
    [listed] = registry.listing([OWN], None)
    assert (listed["name"], listed["assetName"]) == ("One", "Own")
    assert registry.find("One", [OWN]).name == "One"
    assert registry.listing([PANEL_DATA], None) == []


def test_arguments_are_read_by_name_and_absent_ones_take_their_defaults() -> None:
    values = example().read({"First": "x", "since": "2024-05-01"}, None)
    assert values == {"First": "x", "Second": None, "since": date(2024, 5, 1)}


def test_all_invalid_arguments_are_named_at_once() -> None:
    with pytest.raises(ArgumentsError) as caught:
        example().read({"since": "x", "Fisrt": "y"}, None)
    assert {key: len(texts) for key, texts in caught.value.errors.items()} == {
        "since": 1,
        "Fisrt": 1,
        "": 1,
    }
    assert (
        "Did you mean 'First'? It takes 'First', 'Second', 'since'."
        in caught.value.errors["Fisrt"][0]
    )


def test_a_wrong_value_counts_as_given_for_at_least_one() -> None:
    with pytest.raises(ArgumentsError) as caught:
        example().read({"Second": ["z"]}, None)
    assert list(caught.value.errors) == ["Second"]


def test_two_functions_of_one_name_are_refused_with_both_places() -> None:
    @function(asset="Own")
    def my_function() -> None: ...

    with pytest.raises(
        SetupError, match=r"^Two functions are named 'My Function':"
    ) as caught:
        Registry([example(), my_function], author="")
    assert str(caught.value).count(f"{__file__}, line ") == 2
    assert my_function.place in str(caught.value)
    assert str(caught.value).count("\n") == 2


@pytest.mark.slow
@pytest.mark.usefixtures("no_hang")
def test_ten_thousand_functions_are_listed_and_found() -> None:
    names = [f"Function {number}" for number in range(10_000)]
    functions = [
        replace(example(), name=name, asset=f"Asset {at % 500}")
        for at, name in enumerate(names)
    ]
    assets = [
        Asset(number, f"Asset {number}", "Team", is_shared=False)
        for number in range(500)
    ]
    registry = Registry(functions, author="")
    listed = registry.listing(assets, None)
    assert [entry["name"] for entry in listed] == names
    for _ in range(1000):
        assert registry.find(names[-1], assets[490:])


class Wanted:
    """A call that is cancelled after some checks."""

    def __init__(self, items: int = 1000) -> None:
        self.items = items

    @property
    def cancelled(self) -> bool:
        self.items -= 1
        return self.items < 0


def test_an_iterator_is_read_to_its_end_or_until_the_call_is_cancelled() -> None:
    @function(asset="Own")
    def count() -> Iterator[int]:
        yield from range(100)

    assert count.result(Wanted(), {}) == list(range(100))
    with pytest.raises(CallCancelledError):
        count.result(Wanted(10), {})
