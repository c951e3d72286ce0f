"""The schema of a parameter decides what its field is, and which values it takes."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from jupyter_funcs.catalog.fields import Evidence, Field, Kind, read_fields
from jupyter_funcs.catalog.listing import Function, Param
from jupyter_funcs.catalog.schemas import Schemas, accepts, problem_of
from jupyter_funcs.catalog.values import Each
from tests.declared import form_with
from tests.examples import examples

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_funcs.api import Session

DEFS = {"$defs": {"Unit": {"enum": ["day", "week"], "description": "The unit."}}}


def field_of(schema: Any, description: str = "", name: str = "Given") -> Field:
    (field,) = read_fields(
        Function(
            name="F", params=(Param(name=name, description=description, schema=schema),)
        )
    )
    return field


@pytest.mark.parametrize(
    ("schema", "kind", "options"),
    [
        ({"type": "string"}, Kind.TEXT, ()),
        ({"type": ["string", "null"]}, Kind.TEXT, ()),
        ({"type": "string", "format": "date"}, Kind.DATE, ()),
        ({"type": "integer"}, Kind.INTEGER, ()),
        ({"type": "number"}, Kind.NUMBER, ()),
        ({"type": "boolean"}, Kind.YES_NO, ("true", "false")),
        ({"enum": ["a", "b", None]}, Kind.CHOICE, ("a", "b")),
        ({"enum": ["Yes", "No"]}, Kind.YES_NO, ("Yes", "No")),
        ({"enum": [1, 2]}, Kind.INTEGER, ("1", "2")),
        ({"const": "a"}, Kind.CHOICE, ("a",)),
        (
            {"oneOf": [{"const": "a"}, {"enum": ["b", "c"]}]},
            Kind.CHOICE,
            ("a", "b", "c"),
        ),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, Kind.INTEGER, ()),
        ({"allOf": [{"type": "integer"}, {"minimum": 1}]}, Kind.INTEGER, ()),
        ({"type": "number", "allOf": [{"type": "integer"}]}, Kind.INTEGER, ()),
        (
            {"type": ["integer", "null"], "allOf": [{"type": "number"}]},
            Kind.INTEGER,
            (),
        ),
        (
            {"type": "number", "allOf": [{"type": ["integer", "number"]}]},
            Kind.NUMBER,
            (),
        ),
        ({"type": "array", "items": {"type": "string"}}, Kind.LIST, ()),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, Kind.LIST, ("a", "b")),
        ({"type": "array", "items": {"type": "array", "items": {}}}, Kind.JSON, ()),
        ({"type": "array"}, Kind.JSON, ()),
        ({"type": "object"}, Kind.JSON, ()),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, Kind.JSON, ()),
        ({"$ref": "#/$defs/Unit"} | DEFS, Kind.CHOICE, ("day", "week")),
        (
            {"type": "array", "items": {"$ref": "#/$defs/Unit"}} | DEFS,
            Kind.LIST,
            ("day", "week"),
        ),
        ({"$ref": "#"}, Kind.JSON, ()),
        ({"$ref": "https://example.com/schema"}, Kind.JSON, ()),
        ({"$ref": "#/nowhere"}, Kind.JSON, ()),
        (True, Kind.JSON, ()),
    ],
)
def test_a_schema_decides_kind_and_options(
    schema: Any, kind: Kind, options: tuple[str, ...]
) -> None:
    """Types, options, references and null are read; types without a control are JSON text."""
    field = field_of(schema, "Options are 'x', 'y'." if kind is not Kind.TEXT else "")
    assert (field.kind, field.is_declared()) == (kind, True)
    if options:
        assert (field.options, field.evidence["options"]) == (
            options,
            Evidence.DECLARED,
        )


@pytest.mark.parametrize(
    "schema", [None, {}, {"description": "x"}, {"default": 1}, "text", 7, [], False]
)
def test_a_schema_that_says_nothing_of_the_values_declares_nothing(schema: Any) -> None:
    """Then the description decides, as without a schema."""
    field = field_of(schema, "Options are 'x', 'y'.")
    assert field.options == ("x", "y")
    assert field.evidence == {"kind": Evidence.DESCRIBED, "options": Evidence.DESCRIBED}


def test_contradictions_are_named_once_when_the_functions_are_listed(
    answering: Callable[..., Session],
) -> None:
    """One warning names the first three, and the functions are listed."""
    wrong = [{"name": f"p{at}", "schema": {"enum": []}} for at in range(5)]
    listing = [
        {"name": "F", "params": [*wrong, {"name": "ok", "schema": {"enum": ["a"]}}]}
    ]
    with pytest.warns(
        match=r"not enforced: 'p0' of 'F' \(it has no options\), 'p1' .* and 2 more\."
    ) as caught:
        assert answering(lambda _: httpx.Response(200, json=listing)).names == ["F"]
    assert len(caught) == 1


def test_words_do_not_change_a_declared_text() -> None:
    """A declared text isn't a described date, list or number."""
    for words in ("YYYY-MM-DD", "A list of names", "An integer", "Yes/No, default No"):
        field = field_of({"type": "string"}, words)
        assert (field.kind, field.evidence["kind"]) == (Kind.TEXT, Evidence.DECLARED)
    form = form_with(field_of({"type": "string"}, "YYYY-MM-DD"), Given=["a"])
    assert "takes one value" in form.errors["Given"][0]


@pytest.mark.parametrize(
    ("schema", "low", "high"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 5}, 1, 5),
        ({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9}, 1, 8),
        ({"type": "integer", "minimum": 0, "exclusiveMinimum": True}, 1, None),
        ({"type": "number", "minimum": 0.5}, 0.5, None),
        ({"type": "number", "exclusiveMinimum": 0}, 0, None),
        ({"allOf": [{"type": "integer", "minimum": 1}, {"minimum": 3}]}, 3, None),
        ({"type": "array", "items": {"type": "integer", "maximum": 7}}, None, 7),
        ({"type": "integer", "minimum": "1", "maximum": True}, None, None),
    ],
)
def test_bounds_are_inclusive(
    schema: Any, low: float | None, high: float | None
) -> None:
    """Exclusive bounds of whole numbers become the next number; OpenAPI 3.0 writes them as flags."""
    field = field_of(schema)
    assert (field.minimum, field.maximum) == (low, high)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "minimum": 5, "maximum": 1},
        {"allOf": [{"type": "string"}, {"type": "integer"}]},
        {"allOf": [{"enum": ["a"]}, {"enum": ["b"]}]},
        {"enum": []},
    ],
)
def test_a_schema_that_contradicts_itself_does_not_enforce_that(schema: Any) -> None:
    """Nobody could fill in such a field; the source decides instead, and the problem has a text."""
    read = Schemas().read(schema)
    assert read is not None
    assert read.problem
    assert (read.options, read.bounds) == ((), (None, None))


SHORT = {"type": "string", "maxLength": 3}
TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (SHORT, "äöü"),
        (SHORT, ""),
        (TEXTS | {"minItems": 2}, []),  # not set
        (TEXTS | {"uniqueItems": True}, ["a", "a"]),
        ({"enum": ["monthly"], "maxLength": 3}, "monthly"),
        ({"type": "string", "maxLength": "3"}, "abcd"),
    ],
)
def test_a_size_refuses_no_more_than_it_says(schema: Any, value: Any) -> None:
    """Repeats are the service's to judge, and an option is what it is."""
    assert form_with(field_of(schema), Given=value).errors == {}


def test_the_schema_of_a_form_has_the_sizes() -> None:
    """Of a text, a list and its items; without them where nothing is checked."""
    field = field_of({"type": "array", "items": SHORT, "maxItems": 2})
    [schema] = form_with(field).json_schema()["properties"].values()
    assert (schema["maxItems"], schema["items"]["maxLength"]) == (2, 3)
    [text] = form_with(field_of(SHORT)).json_schema()["properties"].values()
    assert text["maxLength"] == 3


@pytest.mark.parametrize(
    ("schema", "value", "typed"),
    [
        ({"type": "boolean"}, True, True),
        ({"type": "boolean"}, "False", False),
        ({"type": "integer"}, "7", 7),
        ({"type": "number"}, 0.5, 0.5),
        ({"type": "string"}, "7", "7"),
        ({"type": "string"}, 7, "7"),
        ({"enum": ["true", "false"]}, True, "true"),
        ({"enum": [1, "a"]}, 1, 1),
        ({"type": "array", "items": {"type": "integer"}}, [1, "2"], [1, 2]),
        ({"type": "array", "items": {"type": "boolean"}}, [True], [True]),
        ({"type": "object"}, {"a": [1, None]}, {"a": [1, None]}),
        ({"type": "object"}, '{"a": 1}', {"a": 1}),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "x y", "x y"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "5", "5"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, 5, 5),
        (True, [1, 2.5], [1, 2.5]),
    ],
)
def test_a_value_has_the_type_that_its_schema_declares(
    schema: Any, value: Any, typed: Any
) -> None:
    """Numbers are numbers and flags are flags; text stays text if the schema allows it (FAULTS 156)."""
    sent = form_with(field_of(schema), Given=value).check()
    assert sent == {"Given": typed}
    assert type(sent["Given"]) is type(typed)


@pytest.mark.parametrize(
    ("schema", "value", "words"),
    [
        ({"type": "object", "required": ["a"]}, {"b": 1}, "'a' is a required property"),
        (
            {"type": "object"},
            '{"a": 1} x',
            "it isn't valid JSON (Extra data at character 10).",
        ),
        (
            {"type": "array"},
            '["a',
            "it isn't valid JSON (Unterminated string at character 2).",
        ),
        ({"type": "array"}, "[NaN]", "it isn't valid JSON (JSON has no NaN)."),
        (
            {"type": "boolean"},
            "ja",
            "Given has no option 'ja'. Options are 'Yes' and 'No'.",
        ),
        ({"type": "array"}, "1,2,3", "Enter [1,2,3]."),
        ({"type": "array"}, "[1,2,", "isn't valid JSON"),
        ({"type": "object"}, "[1]", "is not of type 'object'"),
        ({"type": "array", "items": {"type": "object"}}, [{}, 1], "(at 1)"),
        ({"type": "integer", "maximum": 3}, 4, "at most 3"),
        (
            {"type": "array", "items": {"type": "integer", "maximum": 3}},
            [4],
            "at most 3",
        ),
        ({"enum": ["day", "week"]}, "wek", "Did you mean 'week'?"),
        (SHORT, "abcd", "Given takes at most 3 characters, not 4: 'abcd'."),
        (SHORT | {"minLength": 2}, "a", "takes at least 2 characters, not 1"),
        ({"$ref": "#/$defs/S", "$defs": {"S": SHORT}}, "abcd", "at most 3 characters"),
        ({"allOf": [SHORT, {"title": "A"}]}, "abcd", "at most 3 characters"),
        ({"type": "array", "items": SHORT}, ["a", "abcd"], "at most 3 characters"),
        (
            {
                "type": "array",
                "items": {"$ref": "#/$defs/S"},
                "$defs": {"S": SHORT},
            },
            "abcd",
            "at most 3 characters",
        ),
        (TEXTS | {"maxItems": 2}, ["a", "b", "a"], "at most 2 values, not 3"),
        (TEXTS | {"minItems": 2}, "a", "takes at least 2 values, not 1"),
    ],
)
def test_a_value_that_contradicts_its_schema_is_an_error_at_its_field(
    schema: Any, value: Any, words: str
) -> None:
    """Nothing is sent; with validation off, everything is."""
    field = field_of(schema)
    assert words in form_with(field, Given=value).errors["Given"][0]
    assert form_with(field, validate=False, Given=value).errors == {}


@pytest.mark.parametrize(
    "value", ["[1,2,", ' {"a": 1,', "{", "[draft] title", "[1, NaN]"]
)
def test_a_text_that_begins_as_json_but_is_none_gets_a_warning(value: str) -> None:
    """It is sent as text, which a parameter of any type accepts."""
    form = form_with(field_of(True), Given=value)
    assert form.check() == {"Given": value}
    [warning] = form.warnings["Given"]
    assert warning.startswith("Given looks like JSON, but isn't valid (")
    swept = form_with(field_of(True), Given=Each((value, [1])))
    assert swept.warnings["Given"] == [warning]


@pytest.mark.parametrize("value", ["[1, 2]", '{"a": 1}', " []"])
def test_a_text_that_is_json_gets_a_warning_with_the_way_to_send_that(
    value: str,
) -> None:
    """A field that takes text sends the text."""
    form = form_with(field_of(True), Given=value)
    assert form.check() == {"Given": value}
    assert form.warnings == {
        "Given": [
            "Given is sent as text. To send it as JSON, enter json: before it, or pass the value itself from Python."
        ]
    }


MOMENTS = {
    "date-time": (
        [
            "2026-11-15T14:30",
            "2026-11-15",
            "2026-11-15 14:30:00.5+02:00",
            "2026-11-15t14:30Z",
            "1700000000",
        ],
        ["2026-13-01", "2026-11-15T25:00", "tomorrow", "15.11.2026", "2026-1-5"],
    ),
    "time": (["14:30", "23:59:59.5Z"], ["2pm", "24:30", "1430"]),
    "duration": (
        ["P1DT2H", "-PT0.5S", "P2W", "2:00:00", "1 day, 2:00:00"],
        ["1h", "7200", "P", "two hours"],
    ),
}


@pytest.mark.parametrize(("format_", "texts"), MOMENTS.items(), ids=MOMENTS)
def test_a_text_that_is_not_of_its_format_gets_a_warning(
    format_: str, texts: tuple[list[str], list[str]]
) -> None:
    """With an example; it is sent, because the service may accept other formats too."""
    field = field_of({"type": "string", "format": format_})
    (good, bad) = texts
    for value in good:
        assert form_with(field, Given=value).warnings == {}, value
    for value in bad:
        form = form_with(field, Given=value)
        assert form.check() == {"Given": value}
        [warning] = form.warnings["Given"]
        assert warning.startswith(
            f"Given takes a {format_} such as {good[0]}, not '{value}'"
        ), value
    several = field_of(
        {"type": "array", "items": {"type": "string", "format": format_}}
    )
    assert len(form_with(several, Given=good + bad).warnings["Given"]) == len(
        bad[:3]
    ) + (len(bad) > 3)


@pytest.mark.parametrize("value", ["1,2,3", [1, 2], "NaN", ["[1,"], '"a"', "", '"[1]"'])
def test_any_other_text_and_value_gets_none(value: Any) -> None:
    """A list may contain such a text."""
    form = form_with(field_of(True), Given=value)
    assert (form.errors, form.warnings) == ({}, {})


def test_the_default_and_the_words_of_a_schema_are_used() -> None:
    """A default keeps its JSON type, and a schema's description stands in for a missing one."""
    listed = field_of(
        {
            "type": "array",
            "items": {"type": "integer"},
            "default": [1, 2],
            "description": "Ids.",
        }
    )
    assert (listed.default, listed.help) == ("[1, 2]", "Ids.")
    properties = form_with(listed).json_schema()["properties"]
    assert properties["Given"]["default"] == [1, 2]
    assert field_of({"type": "boolean", "default": False}).default == "false"


@pytest.mark.usefixtures("no_hang")
def test_a_hostile_schema_ends() -> None:
    """Exponential or endless references, and patterns that backtrack, aren't checked."""
    deep: dict[str, Any] = {
        f"d{at}": {"anyOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(40)
    }
    deep["d40"] = {"type": "string"}
    loops = {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
    }
    assert problem_of({"$ref": "#/$defs/d0", "$defs": deep}, 1) == ""
    assert problem_of({"pattern": "(a+)+$"}, "a" * 60 + "!") == ""
    names = {"patternProperties": {"(a+)+$": True}, "additionalProperties": False}
    assert problem_of(names, {"a" * 60 + "!": 1}) == ""
    assert problem_of(loops, 1) == ""
    assert problem_of({"type": 7}, 1) == ""
    assert Schemas().read(loops)


WORDS = [
    "type",
    "enum",
    "const",
    "items",
    "anyOf",
    "allOf",
    "$ref",
    "minimum",
    "exclusiveMaximum",
    "format",
    "default",
]
ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from([1e308, "string", "integer", "array", "#", "date"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=examples(150))
@given(st.dictionaries(st.sampled_from(WORDS), ANY_JSON, max_size=5), ANY_JSON)
def test_any_json_is_read_as_a_schema(schema: dict[str, Any], value: Any) -> None:
    """A malformed schema never breaks a form, its own schema included."""
    form = form_with(field_of(schema), Given=value)
    assert isinstance(form.errors, dict)
    json.dumps(form.json_schema())


PLAIN = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(
                ["null", "boolean", "integer", "number", "array", "object"]
            )
            | st.lists(
                st.sampled_from(["string", "null", "integer"]), min_size=1, unique=True
            ),
            "enum": st.lists(st.sampled_from(["", "a", "ab"]), min_size=1),
            "minLength": st.integers(0, 2),
            "minimum": st.integers(-2, 2),
            "maximum": st.floats(-2, 2),
            "default": st.none(),
            "const": st.just("a"),  # which isn't plain
        },
    ),
    lambda inner: st.builds(
        lambda parts, items: {"anyOf": parts, "items": items},
        st.lists(inner, min_size=1, max_size=3),
        inner,
    ),
    max_leaves=8,
)
OF_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(-3, 3)
    | st.sampled_from(["", "a"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.just("a"), inner),
    max_leaves=4,
)


@pytest.mark.slow
@settings(max_examples=examples(300))
@given(PLAIN, OF_JSON)
def test_a_plain_schema_accepts_what_jsonschema_accepts(
    schema: dict[str, Any], value: Any
) -> None:
    valid = Draft202012Validator(schema).is_valid(value)
    assert accepts(schema, value) is valid
    assert (problem_of(schema, value) == "") is valid


@pytest.mark.slow
def test_the_forms_of_the_demo_open_without_jsonschema() -> None:
    """If rfc3987-syntax is installed, its import takes seconds."""
    code = """
import sys
import jupyter_funcs as jf
funcs = jf.connect()
for name in funcs.names:
    funcs.panel(name).close()
form = jf.Form(funcs["Get Panel FQ"], PanelName="Demo Card Panel", Symbol="BKQU", PoPLookback=2)
assert not form.errors, form.errors
assert "jsonschema" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


CENTS = {"type": "object", "properties": {"price": {"multipleOf": 0.01}}}
EITHER = {"anyOf": [{"type": "string", "minLength": 3}, {"type": "integer"}]}


@pytest.mark.parametrize("price", [19.99, 4.35, 0.07, 7, 1e20])
def test_a_multiple_is_one_by_its_digits(price: float) -> None:
    """As floats, 19.99 is no multiple of 0.01."""
    assert problem_of(CENTS, {"price": price}) == ""


PROBLEMS: list[tuple[Any, Any, str]] = [
    (CENTS, {"price": 19.995}, "19.995 is not a multiple of 0.01 (at price)"),
    (EITHER, 1.5, "1.5 is not of type 'string' or 'integer'"),
    (EITHER, None, "null is not of type 'string' or 'integer'"),
    (EITHER, "a", "'a' is too short"),
]


@pytest.mark.parametrize("text", ["{'a': [1, None, True], }", '{"a": [1, null, true]}'])
def test_an_object_may_be_written_as_in_python(text: str) -> None:
    form = form_with(field_of({"type": "object"}), Given=text)
    assert form.args == {"Given": {"a": [1, None, True]}}


@pytest.mark.fault(156)
@pytest.mark.parametrize(("schema", "value", "problem"), PROBLEMS)
def test_a_problem_says_what_is_allowed(schema: Any, value: Any, problem: str) -> None:
    assert problem_of(schema, value) == problem
