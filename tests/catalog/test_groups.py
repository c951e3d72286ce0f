"""The parts of an object are fields with dotted names, and those of a list of objects are rows of fields."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from jupyter_funcs.catalog.fields import Field, read_fields, with_parts
from jupyter_funcs.catalog.form import Form
from jupyter_funcs.catalog.listing import Encoding, Function, Param
from jupyter_funcs.catalog.signatures import docstring
from jupyter_funcs.catalog.values import Each, Variable
from jupyter_funcs.core.errors import ArgumentError
from tests.growth import assert_linear

ADDRESS = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "geo": {
            "type": "object",
            "properties": {
                "lat": {"type": "number"},
                "more": {"$ref": "#/$defs/Address"},
            },
        },
    },
    "required": ["city"],
}
CUSTOMER = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "Who pays."},
        "email": {"type": ["string", "null"]},
        "age": {"type": "integer", "minimum": 18},
        "tier": {"enum": ["gold", "silver"], "default": "silver"},
        "address": {"anyOf": [{"$ref": "#/$defs/Address"}, {"type": "null"}]},
        "id": {"$ref": "#/$defs/Id"},
        "first.name": {"type": "string"},
    },
    "required": ["name"],
    "$defs": {"Address": ADDRESS, "Id": {"type": "integer", "readOnly": True}},
}
ITEMS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"sku": {"type": "string"}, "count": {"type": "integer"}},
        "required": ["sku"],
    },
}


def fields_of(**schemas: Any) -> tuple[Field, ...]:
    params = [
        Param(name=name, schema=schema, required=False, encoding=Encoding.JSON)
        for name, schema in schemas.items()
    ]
    return read_fields(Function(name="F", params=tuple(params)))


FIELDS = fields_of(customer=CUSTOMER, items=ITEMS, n={"type": "integer"})


def filled(**values: Any) -> Form:
    return Form(SimpleNamespace(name="F", fields=FIELDS), **values)


def test_a_parameter_stays_one_field_and_has_its_parts_in_it() -> None:
    """Each part has a name, a label, a kind, options, a default and bounds, like any field."""
    assert [field.name for field in FIELDS] == ["customer", "items", "n"]
    parts = {field.name: field for field in with_parts(FIELDS)}
    assert list(parts)[1:10] == [
        "customer.name",
        "customer.email",
        "customer.age",
        "customer.tier",
        "customer.address",
        "customer.address.city",
        "customer.address.geo",
        "customer.address.geo.lat",
        "customer.address.geo.more",
    ]
    assert [name for name in parts if name.startswith("items")] == [
        "items",
        "items[].sku",
        "items[].count",
    ]
    assert (parts["customer.name"].required, parts["customer.name"].help) == (
        True,
        "Who pays.",
    )
    assert (
        parts["customer.age"].kind,
        parts["customer.age"].minimum,
        parts["customer.age"].label,
    ) == (
        "integer",
        18,
        "Age",
    )
    assert (parts["customer.tier"].options, parts["customer.tier"].default) == (
        ("gold", "silver"),
        "silver",
    )
    assert "customer.id" not in parts
    assert parts["customer.address.geo.more"].fields == ()


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"oneOf": [CUSTOMER, ADDRESS]},
        {"type": "object", "properties": {str(at): {} for at in range(201)}},
        {"$ref": "#/$defs/A", "$defs": {"A": {"allOf": [{"$ref": "#/$defs/A"}]}}},
        {"type": "array", "items": {"type": "array", "items": ADDRESS}},
    ],
    ids=["free", "a union", "too many parts", "cyclic", "lists of lists"],
)
def test_an_object_without_certain_parts_is_one_field(schema: Any) -> None:
    [field] = fields_of(given=schema)
    assert (str(field.kind), field.fields) == ("json", ())


def test_the_parts_of_all_schemas_of_an_object_are_read() -> None:
    schema = {
        "allOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}, {"required": ["b"]}]
    }
    definitions = {
        name.upper(): {"type": "object", "properties": {name: {"type": "string"}}}
        for name in "ab"
    }
    [field] = fields_of(given=schema | {"$defs": definitions})
    assert [(part.name, part.required) for part in field.fields] == [
        ("given.b", True),
        ("given.a", False),
    ]


@pytest.mark.parametrize(
    ("values", "args"),
    [
        (
            {"customer.name": "Ann", "customer.age": "44"},
            {"customer": {"name": "Ann", "age": 44}},
        ),
        (
            {"customer": {"name": "Ann"}, "customer.age": 44},
            {"customer": {"name": "Ann", "age": 44}},
        ),
        (
            {"customer.age": 44, "customer": '{"name": "Ann"}'},
            {"customer": {"name": "Ann", "age": 44}},
        ),
        (
            {"customer.name": "Ann", "customer": {"name": "Ann"}},
            {"customer": {"name": "Ann"}},
        ),
        (
            {"customer": {"name": "Ann", "id": 7, "age": None}},
            {"customer": {"name": "Ann"}},
        ),
        (
            {"customer": {"name": "Ann", "email": None}},
            {"customer": {"name": "Ann", "email": None}},
        ),
        (
            {"customer": {"name": "Ann", "other": 1}},
            {"customer": {"name": "Ann", "other": 1}},
        ),
        (
            {"customer.first.name": "A", "customer.name": "B"},
            {"customer": {"first.name": "A", "name": "B"}},
        ),
        (
            {"items": [{"sku": "a", "count": "2"}]},
            {"items": [{"sku": "a", "count": 2}]},
        ),
        (
            {"items.1.sku": "b", "items": [{"sku": "a"}]},
            {"items": [{"sku": "a"}, {"sku": "b"}]},
        ),
        (
            {"customer.name": "", "customer.address.city": "R"},
            {"customer": {"name": "", "address": {"city": "R"}}},
        ),
    ],
)
def test_dotted_names_spell_an_object(values: Any, args: Any) -> None:
    """Alone, or together with the object; read-only parts are left out."""
    form = filled(**values)
    assert (form.errors, form.args) == ({}, args)


@pytest.mark.parametrize(
    ("values", "errors"),
    [
        (
            {"customer.age": 17},
            {"customer.age": "between 18|at least 18", "customer.name": "is required"},
        ),
        (
            {"customer": {"name": "A", "address": {}}},
            {"customer.address.city": "is required"},
        ),
        (
            {"customer": {"name": 5.5, "age": "x"}},
            {"customer.age": "a whole number, not 'x'"},
        ),
        (
            {"items": [{"sku": "a"}, {"count": "x"}]},
            {"items.1.count": "whole number", "items.1.sku": "is required"},
        ),
        ({"customer": "Ann"}, {"customer": "does not take 'Ann'"}),
        (
            {"customer.name": "A", "customer.tier": "gild"},
            {"customer.tier": "Did you mean 'gold'"},
        ),
    ],
)
def test_errors_are_at_the_part(values: Any, errors: dict[str, str]) -> None:
    """A part that an optional object requires is required once the object has a value."""
    assert filled().errors == {}
    messages = filled(**values).errors
    assert messages.keys() == errors.keys()
    for name, words in errors.items():
        assert any(word in messages[name][0] for word in words.split("|"))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            {"customer": {"name": "Ann"}, "customer.name": "Bob"},
            "'customer.name' contradicts 'customer'",
        ),
        (
            {"customer": "Ann", "customer.name": "Bob"},
            "'customer.name' contradicts 'customer'",
        ),
        ({"customer.nmae": "Bob"}, "Did you mean 'customer.name'"),
        ({"items.2.sku": "a"}, "items.2.sku is after the last of 0 rows"),
    ],
)
def test_what_contradicts_itself_is_refused(values: Any, words: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        filled(**values)
    assert words in str(refused.value)


def test_an_exact_name_comes_before_a_part() -> None:
    named = {
        "customer": CUSTOMER,
        "customer.name": {"type": "integer"},
        "customer_age": {"type": "string"},
    }
    form = Form(SimpleNamespace(name="F", fields=fields_of(**named)))
    form.update({"customer.name": 5, "customer.age": 20})
    assert form.entries == {"customer.name": 5, "customer": {"age": 20}}


def test_an_object_whose_parts_are_cleared_is_not_sent() -> None:
    form = filled()
    form["customer.address.city"] = "Rome"
    assert (
        form["customer.address.city"],
        form.is_set("customer"),
        form.is_set("customer.name"),
    ) == (
        "Rome",
        True,
        False,
    )
    del form["customer.address.city"]
    assert (form.entries, form.args, form["customer.address.city"]) == ({}, {}, None)
    form.update({"items": [{"sku": "a"}, {"sku": "b"}]})
    del form["items.0"]
    form["items.0.sku"] = None
    del form["items.3.sku"]
    assert form.entries == {"items": [{}]}
    del form["items.0"]
    assert form.entries == {}


def test_parts_may_be_variables_or_several_values() -> None:
    """An error of a variable is at the part; a sweep has its values under the dotted name."""
    form = filled(
        **{
            "customer.name": Each(("a", "b")),
            "customer.age": Variable("age"),
            "customer.tier": "gold",
        }
    )
    assert form.errors.keys() == {"customer.age"}
    form.variables = lambda: {"age": 30}
    assert form.errors == {}
    assert form.args == {
        "customer.name": ["a", "b"],
        "customer": {"tier": "gold", "age": 30},
    }
    assert (form.swept, form.runs) == (["customer.name"], 2)
    assert form.first == {"customer": {"name": "a", "tier": "gold", "age": 30}}
    with pytest.raises(ArgumentError, match=r"customer.name has several values"):
        form.check()
    form["customer"] = Variable("all")
    with pytest.raises(ArgumentError, match=r"because all of it is \$all"):
        form["customer.name"] = "Ann"


def test_a_table_of_values_is_converted_as_elsewhere() -> None:
    """Also numpy's numbers and dates, in objects and in rows."""
    rows = pd.DataFrame({"sku": ["a"], "count": [2]}).to_dict("records")
    assert filled(items=rows).args == {"items": [{"sku": "a", "count": 2}]}
    with pytest.raises(ArgumentError, match="takes one column"):
        filled(items=pd.DataFrame(rows)).check()


def test_the_docstring_lists_the_parts() -> None:
    text = docstring(Function(name="F"), FIELDS)
    for words in (
        "customer.name : str\n    Who pays.",
        "customer.tier : {'gold', 'silver'}",
        "items[].sku : str",
    ):
        assert words in text
    assert "items : list of dict of the parts below, optional" in text


@pytest.mark.slow
def test_reading_parts_takes_linear_time() -> None:
    """However many objects share a part, and whichever refer to themselves."""

    part: Any = {
        "type": "object",
        "properties": {str(at): {"$ref": "#/$defs/Part"} for at in range(20)},
    }
    schema = part | {"$defs": {"Part": part}}
    [field] = fields_of(given=schema)
    assert len(list(with_parts([field]))) == 1 + 20 + 20 * 20
    assert_linear(
        lambda size: list(
            with_parts(fields_of(**dict.fromkeys(map(str, range(size)), schema)))
        ),
        64,
        1,
    )
