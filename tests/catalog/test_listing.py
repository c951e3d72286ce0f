"""A listing becomes frozen functions in order, and each can be looked up by a distinct name."""

from __future__ import annotations

import difflib
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_funcs.catalog.changes import relisted
from jupyter_funcs.catalog.listing import (
    Catalog,
    Encoding,
    Function,
    Param,
    identifiers,
    parse_listing,
)
from jupyter_funcs.core.errors import NotFoundError, ProtocolError

PARAM = {
    "id": 11,
    "name": "Symbol",
    "type": 6,
    "description": "[Optional] x",
    "required": True,
    "functionId": 1,
    "sortValue": 3,
    "context": None,
    "schema": {"type": "string"},
}
FUNCTION = {
    "id": 1,
    "name": "Get Panel Daily",
    "assetId": 2,
    "assetName": "Card Spend",
    "description": "Daily measures.",
    "params": [PARAM],
    "sortValue": 4,
    "groupId": 5,
    "groupName": "Panels",
    "authorId": 6,
    "authorUserName": "ada",
    "isShared": True,
    "entryPoint": "get_panel_daily",
    "uniqueId": "u-1",
    "notebookId": "n-1",
    "notebookName": "panels.ipynb",
    "orgName": "Acme",
    "type": None,
    "source": None,
    "context": None,
    "returns": {"type": "array"},
    "changesData": False,
}


def parse(document: Any) -> Catalog:
    return parse_listing(json.dumps(document).encode())


def named(*names: str, **fields: Any) -> list[dict[str, Any]]:
    return [{"name": name, **fields} for name in names]


def test_a_name_with_spaces_around_it_wins_over_the_slug_within() -> None:
    """The slug of the first function is the second one's name without its spaces."""
    catalog = parse(named("$x", "  x  "))
    assert catalog.get("  x  ").name == "  x  "
    assert catalog.get("x").name == "$x"


def names(catalog: Catalog) -> list[str]:
    return [function.name for function in catalog]


def test_every_field_of_a_listing_is_read() -> None:
    """Every field that a service may list is read and can be dumped unchanged."""
    (function,) = parse([FUNCTION])
    param = {**PARAM, "modelExtra": {}, "encoding": "text"}
    of_other_sources = {"title": "", "shortName": ""}
    assert msgspec.to_builtins(function) == {
        **FUNCTION,
        **of_other_sources,
        "params": (param,),
        "modelExtra": {},
    }
    assert (
        function.asset_name,
        function.author_user_name,
        function.params[0].sort_value,
    ) == (
        "Card Spend",
        "ada",
        3,
    )
    assert function.model_extra == {}


def test_unknown_fields_are_kept() -> None:
    """Fields of a newer service stay accessible."""
    (function,) = parse(
        [{**FUNCTION, "tags": ["a"], "params": [{**PARAM, "unit": "USD"}]}]
    )
    assert function.model_extra == {"tags": ["a"]}
    assert function.params[0].model_extra == {"unit": "USD"}


def test_only_a_name_is_needed() -> None:
    """Any other absent field gets its neutral value (FAULTS 70)."""
    (function,) = parse([{"name": "F", "params": [{"name": "P"}]}])
    assert function == Function(name="F", params=(Param(name="P"),))
    assert function.params[0].encoding is Encoding.TEXT
    attributes = msgspec.structs.asdict(function) | msgspec.structs.asdict(
        function.params[0]
    )
    attributes = {
        key: value
        for key, value in attributes.items()
        if key not in {"name", "params", "encoding"}
    }
    assert set(map(repr, attributes.values())) == {"0", "''", "False", "None", "{}"}


@pytest.mark.parametrize(
    "junk", [None, "x", "", -1.5, [], {}, [1], {"a": 1}, True, 10**30]
)
def test_no_field_of_another_type_refuses_a_listing(junk: Any) -> None:
    """A field of another type is converted if possible, or else neutral."""
    odd = {key: junk for key in FUNCTION if key != "name"}
    odd["params"] = [{key: junk for key in PARAM if key != "name"} | {"name": "P"}]
    (function,) = parse([{**odd, "name": "F"}])
    assert isinstance(function.id, int)
    assert isinstance(function.description, str)
    assert function.params[0].required in {None, False, True}
    (without,) = (
        parse([{"name": "F", "params": junk}])
        if not isinstance(junk, list)
        else parse([{"name": "F"}])
    )
    assert without.params == ()


@pytest.mark.parametrize("flag", [True, "true", " Yes", 1, False, "false", "no", None])
def test_a_flag_as_text_means_what_it_says(flag: Any) -> None:
    """The text 'false' is not true."""
    assert Param.read({"name": "P", "required": flag}).required is (
        None if flag is None else flag in {True, "true", " Yes"}
    )


def test_functions_and_parameters_are_frozen() -> None:
    """Listed values can't be changed."""
    (function,) = parse([FUNCTION])
    with pytest.raises(AttributeError):
        function.name = "x"  # type: ignore[misc]


@pytest.mark.parametrize(
    "bad",
    [{}, {"name": None}, {"name": ""}, {"name": " "}, {"name": 5}, None, "F", 7, []],
)
def test_an_entry_without_a_name_is_left_out_with_one_warning(bad: Any) -> None:
    """A broken entry or parameter doesn't affect the rest of the catalog (FAULTS 70)."""
    with pytest.warns(
        UserWarning, match="^Left out 3 unnamed entries of the listing"
    ) as caught:
        catalog = parse([bad, {"name": "F", "params": [bad, {"name": "P"}, bad]}])
    assert len(caught) == 1
    assert names(catalog) == ["F"]
    assert [param.name for param in catalog.functions[0].params] == ["P"]


LISTED = named("A", "B")
WRAPPED: dict[str, Any] = {
    "bare": LISTED,
    "functions": {"functions": LISTED},
    "data": {"data": LISTED, "total": 2, "error": None},
    "body": {"error": None, "body": LISTED},
    "body as text": {"error": None, "body": json.dumps(LISTED)},
    "body as text after a line break": {"body": "\n " + json.dumps(LISTED)},
    "any key": {"whatever": LISTED},
    "beside a text that begins as an array does": {
        "message": "[1 function]",
        "functions": LISTED,
    },
    "beside groups with a name": {
        "groups": [{"id": 1, "name": "G"}],
        "functions": named("A", "B", params=[]),
    },
    "beside an empty array": {"warnings": [], "functions": LISTED},
    "beside an array of texts": {"names": ["A", "B"], "functions": LISTED},
    "beside records without a name": {"log": [{"at": 1}], "functions": LISTED},
    "two keys deep": {"error": None, "data": {"functions": LISTED}},
    "two keys deep, in a text": {"body": json.dumps({"functions": LISTED})},
    "two keys deep, beside an empty array": {
        "errors": [],
        "data": {"functions": LISTED},
    },
    "beside deeper groups": {"functions": LISTED, "meta": {"groups": [{"name": "G"}]}},
}


@pytest.mark.parametrize("document", WRAPPED.values(), ids=WRAPPED)
def test_the_array_of_functions_is_found_in_what_wraps_it(document: Any) -> None:
    """A bare array, or an object that holds one array of function-like objects, one or two keys deep."""
    assert names(parse(document)) == ["A", "B"]


@pytest.mark.parametrize("document", [[], {"functions": []}, {"body": "[]"}])
def test_a_user_may_have_no_function(document: Any) -> None:
    """An empty catalog is valid."""
    assert len(parse(document)) == 0


OTHERS: list[Any] = [
    {"mine": LISTED, "shared": LISTED},
    {"mine": [], "shared": []},
    {},
    {"functions": None},
    {"functions": "none"},
    {"functions": ["A", "B"]},
    {"functions": {"A": {}}},
    {"error": "no"},
    {"a": {"mine": LISTED}, "b": {"shared": LISTED}},
    None,
    1,
    "text",
    {"body": "[1, 2"},
]


@pytest.mark.parametrize("document", OTHERS, ids=str)
def test_a_reply_without_exactly_one_such_array_is_named(document: Any) -> None:
    """Two arrays, or none, are an error: nothing is guessed."""
    with pytest.raises(ProtocolError, match="listing"):
        parse(document)


@pytest.mark.parametrize(
    "data", [b"", b"<html>login</html>", b'[{"name": "A"', b"\xff"]
)
def test_what_is_not_json_is_no_listing(data: bytes) -> None:
    """A login page or a truncated reply raises a ProtocolError that names the listing."""
    with pytest.raises(ProtocolError, match="listing"):
        parse_listing(data)


def test_functions_stand_by_sort_value_and_ties_in_listing_order() -> None:
    """The same holds for parameters; an absent sort value is the entry's position (FAULTS 70)."""
    entries = [("c", 5), ("a", 1), ("b", 5), ("z", -1), ("d", "3"), ("e", None)]
    listed = [{"name": name, "sortValue": value} for name, value in entries]
    assert names(parse(listed)) == ["z", "a", "d", "c", "b", "e"]
    (function,) = parse([{"name": "F", "params": listed}])
    assert [param.name for param in function.params] == ["z", "a", "d", "c", "b", "e"]
    assert names(parse(named("b", "a", "c"))) == ["b", "a", "c"]


CATALOG = parse(
    [
        {
            "name": "Get Panel Daily",
            "id": 7,
            "description": "Day spend",
            "params": named("Symbol"),
            "groupName": "Panels",
        },
        {"name": "Get Panels", "id": 8, "assetName": "Cards"},
        {"name": "9", "id": 3},
        {"name": "Tops & Co", "id": 9},
        {"name": "???"},
    ]
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Get Panel Daily", "Get Panel Daily"),
        ("get_panel_daily", "Get Panel Daily"),
        ("  get-panel DAILY ", "Get Panel Daily"),
        ("GetPanelDaily", "Get Panel Daily"),
        ("7", "Get Panel Daily"),
        (8, "Get Panels"),
        ("f_9", "9"),
        ("tops co", "Tops & Co"),
        ("9", "9"),
        ("???", "???"),
        ("unnamed", "???"),
    ],
)
def test_a_function_is_found_by_name_slug_id_and_any_spelling(
    name: str | int, expected: str
) -> None:
    """The wire name wins over the slug, the slug over the id, and all of them over other spellings."""
    assert CATALOG.get(name).name == expected


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Get Panel Dayly", "Did you mean 'Get Panel Daily'"),
        ("panels", "Did you mean 'Get Panels'"),
        ("zzzzzz", "List the functions:"),
        ("", "List the functions:"),
        ("!!", "List the functions:"),
        ("10", "List the functions:"),
    ],
)
def test_an_unknown_name_is_told_with_what_is_near(name: str, hint: str) -> None:
    """At most three suggestions, in two lines."""
    with pytest.raises(NotFoundError) as caught:
        CATALOG.get(name)
    assert caught.value.hint.startswith(hint)
    assert len(caught.value.lines) == 2
    assert caught.value.hint.count("'") <= 6


def test_names_that_are_alike_are_all_reachable() -> None:
    """Equal names, and names that differ only in case, get distinct slugs; the plain one is the first's (FAULTS 72)."""
    catalog = parse(
        [
            *named("Get X", id=1),
            *named("get x", id=2),
            *named("Get X", id=3),
            *named("Get X"),
        ]
    )
    assert catalog.slugs == ("get_x", "get_x_2", "get_x_3", "get_x_4")
    assert [catalog.get(slug) for slug in catalog.slugs] == list(catalog)
    assert [
        catalog.get(slug) is function
        for slug, function in zip(catalog.slugs, catalog, strict=True)
    ] == [True] * 4
    assert [catalog.slug(function) for function in catalog] == list(catalog.slugs)
    assert [catalog.get(name).id for name in ("Get X", "get x", 3)] == [1, 2, 3]
    with pytest.raises(NotFoundError):
        catalog.get("GET X")  # which of them?


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("", ["Get Panel Daily", "Get Panels", "9", "Tops & Co", "???"]),
        ("panel daily", ["Get Panel Daily"]),
        ("PANEL", ["Get Panel Daily", "Get Panels"]),
        ("cards", ["Get Panels"]),
        ("symbol spend", ["Get Panel Daily"]),
        ("panels", ["Get Panels", "Get Panel Daily"]),
        ("daily sales", ["Get Panel Daily"]),
        ("zzz", []),
        ("daily panel zzz", ["Get Panel Daily"]),
        ("panel zzz yyy", []),
        ("& !", ["Get Panel Daily", "Get Panels", "9", "Tops & Co", "???"]),
    ],
)
def test_a_search_finds_every_word_somewhere_and_names_first(
    words: str, names: list[str]
) -> None:
    """Words are searched in names, groups, descriptions and parameters; half of them are enough if none has more."""
    assert [function.name for function in CATALOG.search(words)] == names


@pytest.mark.parametrize("word", ["company", "companies", "Company", "daily", "by"])
def test_a_word_finds_one_and_several(word: str) -> None:
    """A search for company finds companies, and the other way round."""
    texts = [
        "List the companies by day",
        "Of a company by day",
        "The daily list, by company",
        "None of by",
    ]
    catalog = parse(
        [{"name": str(at), "description": text} for at, text in enumerate(texts)]
    )
    expected = {"daily": ["2"], "by": ["0", "1", "2", "3"]}.get(word, ["0", "1", "2"])
    assert [function.name for function in catalog.search(word)] == expected


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("read flows", "read_flows_flows_filter_post"),
        ("read_flows", "read_flows_flows_filter_post"),
        ("read flow", "read_flow_flows__id__get"),
        ("list of flows", "getFlowList"),
        ("getflowlist", "getFlowList"),
        ("read_flows_flows_filter_post", "read_flows_flows_filter_post"),
    ],
)
def test_the_whole_title_or_name_of_a_function_is_found_first(
    words: str, first: str
) -> None:
    """Before functions that contain it, or whose name was generated from a path."""
    read = CATALOG.functions[0].changed(title="Read Flow", short_name="read_flow")
    catalog = Catalog(
        [
            read.changed(name="read_flow_flows__id__get"),
            read.changed(title="Read Flow By Name", name="read_flow_by_name_flows_get"),
            read.changed(title="List of Flows", short_name="", name="getFlowList"),
            read.changed(
                title="Read Flows",
                short_name="read_flows",
                name="read_flows_flows_filter_post",
            ),
        ]
    )
    assert catalog.search(words)[0].name == first


def test_what_a_parameter_may_be_is_found() -> None:
    """A search includes the options of parameters, but not the rest of their help."""
    texts = [
        "[Optional] Options are 'Age Group', 'Region'. If none, it is No.",
        "Use function 'Region' to list them.",
    ]
    listing = [
        {"name": f"Spend {at}", "params": [{"name": "p", "description": text}]}
        for at, text in enumerate(texts)
    ]
    catalog = parse(listing)
    assert [function.name for function in catalog.search("spend region")] == [
        "Spend 0",
        "Spend 1",
    ]
    assert [function.name for function in catalog.search("region")] == ["Spend 0"]
    assert not catalog.search("none")


def test_what_is_named_like_the_words_is_found_first() -> None:
    """A full name comes first, even if other names start with it."""
    names = ["Get Panel Daily", "Panel", "Get Panel"]
    functions = parse([{"name": name} for name in names]).search("get_panel")
    assert [function.name for function in functions] == ["Get Panel", "Get Panel Daily"]


@pytest.mark.parametrize(
    ("listed", "group"),
    [
        ({"groupName": "G", "assetName": "A"}, "G"),
        ({"assetName": "A"}, "A"),
        ({}, "Functions"),
        ({"groupName": None}, "Functions"),
        ({"groupName": " ", "assetName": "A"}, "A"),
    ],
)
def test_a_function_without_a_group_stands_under_its_asset(
    listed: dict[str, Any], group: str
) -> None:
    """Every function has a heading."""
    assert parse([{"name": "F", **listed}]).functions[0].group == group


@pytest.mark.parametrize(
    ("name", "slug", "kept"),
    [
        ("Get Panel Daily", "get_panel_daily", "Get_Panel_Daily"),
        ("Get PoPGrowth", "get_popgrowth", "Get_PoPGrowth"),
        ("listOpenOrders2", "list_open_orders2", "listOpenOrders2"),
        ("getHTTPCode", "get_httpcode", "getHTTPCode"),
        ("class", "class_", "class_"),
        ("Match", "match_", "Match"),
        ("None", "none", "None_"),
        ("__init__", "init", "init"),
        ("1st", "f_1st", "p_1st"),
        ("", "unnamed", "unnamed"),
        ("ﬁeld", "field", "field"),
        ("../../etc/passwd", "etc_passwd", "etc_passwd"),
        ("'); import os #", "import_os", "import_os"),
        ("Größe", "größe", "Größe"),
    ],
)
def test_a_name_becomes_a_legal_identifier(name: str, slug: str, kept: str) -> None:
    """Reserved, dunder, hostile and path-like names become plain identifiers (FAULTS 75, 82)."""
    assert (*identifiers([name], lower=True), *identifiers([name])) == (slug, kept)


@given(
    st.lists(
        st.text(max_size=6)
        | st.sampled_from(["a", "A", "a_2", "ª", "ß", "İ", "·a", "²"]),
        max_size=8,
    )
)
def test_slugs_are_legal_distinct_and_each_finds_its_function(wire: list[str]) -> None:
    """Every function can be looked up, whatever the names."""
    catalog = Catalog([Function(name=name) for name in wire])
    assert len(set(catalog.slugs)) == len(wire)
    for slug, function in zip(catalog.slugs, catalog, strict=True):
        assert slug.isidentifier()
        assert not slug.startswith("_")
        match = catalog.get(slug)
        # A wire name that equals another function's slug wins, because a user wrote it.
        assert match is function or match.name == slug


def test_a_suggestion_in_a_large_catalog_looks_at_each_name_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """10,000 functions take ten times as long as 1,000, not a hundred times (FAULTS 77)."""
    compared = []

    class Counting(difflib.SequenceMatcher):  # type: ignore[type-arg]
        def set_seq1(self, a: Any) -> None:
            compared.append(a)
            super().set_seq1(a)

    monkeypatch.setattr(difflib, "SequenceMatcher", Counting)
    for size in (1_000, 10_000):
        catalog = Catalog(
            [Function(name=f"Get Brand {number}") for number in range(size)]
        )
        compared.clear()
        with pytest.raises(NotFoundError, match="Did you mean 'Get Brand 7"):
            catalog.get("Get Brnd 77 x")
        assert size <= len(compared) <= 2 * size


def test_ten_thousand_equal_names_are_all_told_apart() -> None:
    """Numbering of clashes takes linear time."""
    assert len(set(identifiers(["a"] * 10_000))) == 10_000


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ([], ["a"], "Listed again: 1 added (a)."),
        (["a", "a"], ["a"], "Listed again: 1 removed (a)."),
        ([], list("abcdefg"), "Listed again: 7 added (a, b, c and 4 more)."),
        (["a", "b"], ["b", "a"], "Listed again: nothing has changed."),
        ([], ["a\x1b\u202eb"], "Listed again: 1 added (a\\x1b\\u202eb)."),
    ],
)
def test_changes_are_said_in_words(
    before: list[str], after: list[str], message: str
) -> None:
    """Two functions may have one name; names are short and visible; the order isn't a change."""
    assert (
        relisted(
            *(
                Catalog([Function(name=name) for name in names])
                for names in (before, after)
            )
        )
        == message
    )
