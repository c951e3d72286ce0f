"""Parameters: from annotation to description, and from wire value to Python value."""

from __future__ import annotations

import enum
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from jupyter_funcs.functions.markers import (
    AtLeastOne,
    Between,
    Help,
    ListedBy,
    Options,
    TypeCode,
)
from jupyter_funcs.functions.parameters import Parameter
from jupyter_funcs.service.builtin import companies
from jupyter_funcs.service.engine.tables import Reference
from jupyter_funcs.service.publishing.traces import redacted_trace
from tests.examples import row_id
from tests.growth import assert_linear, seconds

DEMO = companies.reference()
SYMBOL = ListedBy("Get Universe", Reference.symbol, "symbols")


def parameter(
    annotation: Any, default: Any = inspect.Parameter.empty, name: str = "P"
) -> Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return Parameter.published(
        inspect.Parameter(name, kind, default=default, annotation=annotation)
    )


ANNOTATIONS = [
    (str, 0, False, str),
    (int, 1, False, int),
    (float, 0, False, float),
    (bool, 0, False, bool),
    (Literal[1, 2], 1, False, int),
    (date, 0, False, date),
    (Literal["a", "b"], 0, False, str),
    (list[str], 4, True, str),
    (list[Literal["a"]], 4, True, str),
    (list[date], 4, True, date),
    (Annotated[str, TypeCode.SYMBOL], 6, False, str),
    (Annotated[str, TypeCode.PANEL] | None, 8, False, str),
    (Annotated[str | None, TypeCode.PANEL], 8, False, str),
    (list[Annotated[str, Help("x")]], 4, True, str),
]


@pytest.mark.parametrize(
    ("annotation", "code", "many", "type_"),
    ANNOTATIONS,
    ids=[inspect.formatannotation(annotation) for annotation, *_ in ANNOTATIONS],
)
def test_a_parameter_is_read_from_its_annotation(
    annotation: Any, code: int, many: bool, type_: type
) -> None:
    param = parameter(annotation)
    assert (param.code, param.many, param.type, param.required) == (
        code,
        many,
        type_,
        True,
    )
    optional = parameter(annotation, None)
    assert (optional.required, optional.default) == (False, None)


@pytest.mark.parametrize(
    "annotation",
    [range, Reference, list[range], range | None, Callable[[int], int]],
    ids=inspect.formatannotation,
)
def test_an_annotation_that_is_not_for_json_is_refused_when_published(
    annotation: Any,
) -> None:
    with pytest.raises(
        TypeError,
        match=r"(?s)Parameter P is annotated .*\. Use str, int, float, bool, date",
    ):
        parameter(annotation)


DESCRIPTIONS = [
    (parameter(str), (), "[Required]"),
    (parameter(Annotated[str, Help("The name.")]), (), "[Required] The name."),
    (
        parameter(Annotated[str, SYMBOL], name="Symbol"),
        (),
        "[Required] Use function 'Get Universe' to get list of available symbols.",
    ),
    (
        parameter(Annotated[str, SYMBOL], None, name="Symbol"),
        (AtLeastOne("Symbol", "Brand"),),
        f"[Optional] {SYMBOL.sentence} Required if Brand is not specified.",
    ),
    (
        parameter(Literal["Yes", "No"], "No", name="PoPGrowth"),
        (AtLeastOne("Symbol", "Brand"),),
        "[Optional] Options are 'Yes', 'No'. If none, PoPGrowth defaults to 'No'.",
    ),
    (
        parameter(Annotated[int, Between(1, 9)], 1, name="N"),
        (),
        "[Optional] Must be at least 1 and at most 9. If none, N defaults to '1'.",
    ),
    (
        parameter(Annotated[float, Between(0.5, 9)], 1, name="N"),
        (),
        "[Optional] Must be at least 0.5 and at most 9. Must be a number. If none, N defaults to '1'.",
    ),
    (
        parameter(bool, default=True),
        (),
        "[Optional] Options are 'Yes', 'No'. If none, P defaults to 'Yes'.",
    ),
    (
        parameter(list[str], ["a", "b"]),
        (),
        "[Optional] If none, P defaults to 'a', 'b'.",
    ),
    (parameter(list[str], []), (), "[Optional]"),
    (
        parameter(Annotated[str, ListedBy("Get Store Regions")]),
        (),
        "[Required] Use function 'Get Store Regions' to get list of available store regions.",
    ),
    (parameter(date, None), (), "[Optional] Format is YYYY-MM-DD."),
    (
        parameter(Annotated[list[str], Options("a", "b")], None),
        (),
        "[Optional] Options are 'a', 'b'.",
    ),
]


@pytest.mark.parametrize(
    ("param", "rules", "text"),
    DESCRIPTIONS,
    ids=[row_id(text) for *_, text in DESCRIPTIONS],
)
def test_the_description_is_in_the_services_own_wording(
    param: Parameter, rules: Any, text: str
) -> None:
    assert param.description(rules) == text


INVALID_DEFAULTS = [
    (int, "x"),
    (int, True),
    (str, 7),
    (list[str], "a"),
    (list[str], [1]),
    (Literal["a", "b"], "c"),
    (Annotated[int, Between(1, 5)], 9),
    (date, "2024-01-01"),
]


@pytest.mark.parametrize(
    ("annotation", "default"),
    INVALID_DEFAULTS,
    ids=[
        f"{inspect.formatannotation(annotation)} {default}"
        for annotation, default in INVALID_DEFAULTS
    ],
)
def test_an_invalid_default_is_refused_when_published(
    annotation: Any, default: Any
) -> None:
    with pytest.raises(
        TypeError, match=r"Parameter P has the default .*, which is not a valid value"
    ):
        parameter(annotation, default)


def test_bounds_of_text_are_refused_when_published() -> None:
    with pytest.raises(
        TypeError, match="Parameter P takes text, but Between needs a number"
    ):
        parameter(Annotated[str, Between(1, 5)])


def test_options_help_and_the_errors_about_them_may_follow_from_the_data() -> None:
    param = parameter(
        Annotated[
            str,
            Options(lambda data: tuple(data)),  # noqa: PLW0108
            Help(lambda data: f"One of {len(data)}."),
        ]
    )
    assert (
        param.description((), ["a", "b"])
        == "[Required] One of 2. Options are 'a', 'b'."
    )
    assert param.read("B", ["a", "b"]) == ("b", [])
    assert param.read("c", ["a", "b"]) == (
        None,
        ["P has no option 'c'. Options are 'a', 'b'."],
    )


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.Enum):
    LOW = 1
    HIGH = 2


@dataclass
class Order:
    """An object that is sent as JSON."""

    item: str
    pieces: int = 1


ORDERS = parameter(list[Order], None)
TEXT_SCHEMA = {"type": "string"}
CHOSEN = TEXT_SCHEMA | {"minLength": 1}
WHOLE = {"type": "integer"}
NULL = {"type": "null"}


SCHEMAS = [
    (parameter(str), TEXT_SCHEMA),
    (parameter(str | None, None), {"anyOf": [TEXT_SCHEMA, NULL]}),
    (
        parameter(list[int] | None, [1]),
        {"anyOf": [{"type": "array", "items": WHOLE}, NULL], "default": [1]},
    ),
    (parameter(int | None, 5), {"anyOf": [WHOLE, NULL], "default": 5}),
    (parameter(int | str), {"anyOf": [WHOLE, TEXT_SCHEMA]}),
    (parameter(Annotated[str, Help("The name.")]), CHOSEN),
    (parameter(Annotated[str, Help("The name.")], "x"), TEXT_SCHEMA | {"default": "x"}),
    (parameter(Literal["", "a"]), TEXT_SCHEMA | {"enum": ["", "a"]}),
    (
        parameter(Color, Color.RED),
        {"type": "string", "title": "Color", "enum": ["red", "blue"], "default": "red"},
    ),
    (
        parameter(Decimal, Decimal("1.50")),
        {"type": ["number", "string"], "format": "decimal", "default": "1.50"},
    ),
    (parameter(datetime, None), TEXT_SCHEMA | {"format": "date-time"}),
    (
        parameter(Annotated[int, pydantic.Field(ge=1)], 2),
        WHOLE | {"minimum": 1, "default": 2},
    ),
    (parameter(str, "x"), TEXT_SCHEMA | {"default": "x"}),
    (parameter(int, 7), {"type": "integer", "default": 7}),
    (
        parameter(Annotated[int, Between(1, 50)]),
        {"type": "integer", "minimum": 1, "maximum": 50},
    ),
    (
        parameter(Annotated[int, Between(0, math.inf)]),
        {"type": "integer", "minimum": 0},
    ),
    (parameter(Annotated[int, Between(0, 10**400)]), {"type": "integer", "minimum": 0}),
    (
        parameter(Annotated[float, Between(0.5, 9)], 1),
        {"type": "number", "minimum": 0.5, "maximum": 9, "default": 1},
    ),
    (
        parameter(bool, default=True),
        TEXT_SCHEMA | {"enum": ["Yes", "No"], "default": "Yes"},
    ),
    (parameter(Literal["a", "b"], "b"), CHOSEN | {"enum": ["a", "b"], "default": "b"}),
    (parameter(Literal[1, 2], 1), {"type": "integer", "enum": [1, 2], "default": 1}),
    (
        parameter(Annotated[int, Options("01", "2")], None),
        TEXT_SCHEMA | {"enum": ["01", "2"]},
    ),
    (
        parameter(Annotated[float, Options("0.5", "1")], 1),
        TEXT_SCHEMA | {"enum": ["0.5", "1"], "default": "1"},
    ),
    (
        parameter(Annotated[str, Options(lambda _: ("a", "b"))]),
        CHOSEN | {"enum": ["a", "b"]},
    ),
    (
        parameter(date, date(2024, 2, 29)),
        TEXT_SCHEMA | {"format": "date", "default": "2024-02-29"},
    ),
    (parameter(Annotated[str, SYMBOL], None), CHOSEN),
    (parameter(list[Annotated[str, SYMBOL]], None), {"type": "array", "items": CHOSEN}),
    (parameter(list[str], []), {"type": "array", "items": TEXT_SCHEMA}),
    (
        parameter(list[bool], [True]),
        {
            "type": "array",
            "items": TEXT_SCHEMA | {"enum": ["Yes", "No"]},
            "default": ["Yes"],
        },
    ),
    (
        parameter(list[Annotated[int, Between(1, 9)]], [1, 2]),
        {
            "type": "array",
            "items": {"type": "integer", "minimum": 1, "maximum": 9},
            "default": [1, 2],
        },
    ),
    (
        parameter(dict[str, int] | None, {"a": 1}),
        {
            "anyOf": [{"type": "object", "additionalProperties": WHOLE}, NULL],
            "default": {"a": 1},
        },
    ),
    (
        parameter(list[list[float]]),
        {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
    ),
]


@pytest.mark.parametrize(
    ("param", "schema"), SCHEMAS, ids=[row_id(schema) for _, schema in SCHEMAS]
)
def test_a_schema_declares_what_the_annotation_and_the_default_say(
    param: Parameter, schema: dict[str, Any]
) -> None:
    assert param.schema(DEMO) == schema
    Draft202012Validator.check_schema(schema)
    if "default" in schema:
        Draft202012Validator(schema).validate(schema["default"])


FROM_JSON = [
    (ORDERS, '[{"item": "pen"}]', [Order("pen")]),
    (ORDERS, "[]", []),
    (ORDERS, " ", None),
    (parameter(Order, Order("pen")), '{"item": "ink"}', Order("ink")),
    (parameter(Order, Order("pen")), None, Order("pen")),
    (parameter(dict[str, date]), '{"a": "2024-02-29"}', {"a": date(2024, 2, 29)}),
    (parameter(tuple[int, int]), ["1", "2"], (1, 2)),
    (parameter(Order | list[Order]), '{"item": "pen"}', Order("pen")),
    (ORDERS, [{"item": "pen"}], [Order("pen")]),
    (parameter(Order), {"item": "pen"}, Order("pen")),
]


@pytest.mark.parametrize(
    ("param", "sent", "value"),
    FROM_JSON,
    ids=[row_id(sent) for _, sent, _ in FROM_JSON],
)
def test_objects_and_nested_lists_are_read_from_json(
    param: Parameter, sent: Any, value: Any
) -> None:
    assert param.read(sent, DEMO) == (value, [])


NOT_FROM_JSON = [
    (ORDERS, "pen", "P is not valid: Invalid JSON: expected value at line 1 column 1."),
    (ORDERS, '[{"pieces": 1}]', "P is not valid at '0.item': Field required."),
    (
        ORDERS,
        '[{"item": "pen", "pieces": "1"}]',
        "P is not valid at '0.pieces': Input should be a valid integer.",
    ),
    (ORDERS, 7, "P is not valid: Input should be a valid list."),
    (ORDERS, "{}", "P is not valid: Input should be a valid array."),
    (
        ORDERS,
        "[" * 500_000,
        "P is not valid: Invalid JSON: recursion limit exceeded at line 1 column",
    ),
    (parameter(Order), None, "P is required. Must be JSON."),
    (
        parameter(dict[str, int]),
        '{"\\u001b[0m": "x"}',
        "P is not valid at '\\x1b[0m': Input should be a valid integer",
    ),
]


@pytest.mark.parametrize(
    ("param", "sent", "text"),
    NOT_FROM_JSON,
    ids=[row_id(sent) for _, sent, _ in NOT_FROM_JSON],
)
def test_json_that_does_not_fit_is_refused_with_its_place(
    param: Parameter, sent: Any, text: str
) -> None:
    _, [message] = param.read(sent, DEMO)
    assert message.startswith(text)


def test_an_object_is_described_with_its_default_as_json_and_takes_no_options() -> None:
    assert parameter(Order, Order("pen")).description() == (
        """[Optional] Must be JSON. If none, P defaults to '{"item":"pen","pieces":1}'."""
    )
    for annotation, default in [
        (Annotated[dict[str, str], Options("a")], None),
        (Order, {"item": "pen"}),
    ]:
        with pytest.raises(TypeError, match="Parameter P"):
            parameter(annotation, default)


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ('[{"item": "pencil"}]', "[…]"),
        ('["pencil"', "pencil"),
        ("[" * 5000 + '"pencil"' + "]" * 5000, "pencil"),
    ],
    ids=row_id,
)
def test_the_values_in_json_are_hidden_in_a_trace(sent: str, shown: str) -> None:
    """Invalid or deeply nested JSON is refused before any message could quote a part of it."""
    assert (
        redacted_trace(ValueError("there is no 'pencil'"), [sent])
        == f"ValueError: there is no '{shown}'"
    )


PLACE = "at /data/panels/prices.py, line 15, in get_panels: prices-2024 has no panels2"


@pytest.mark.fault(153)
@pytest.mark.parametrize(
    ("arguments", "message", "shown"),
    [
        (["1"], "line 15", "line 15"),
        ([1, 5, 15], PLACE, PLACE),
        (["panels", "prices", "get", "data", "line"], PLACE, PLACE),
        (["panels"], "there are no panels.", "there are no […]."),
        (["Panels"], "no 'PANELS', panels!", "no '[…]', […]!"),
        (
            ["panels"],
            "no panels.csv, panels/a or a-panels",
            "no panels.csv, panels/a or a-panels",
        ),
        (["/data/own.csv"], "No such file: '/data/own.csv'", "No such file: '[…]'"),
        (
            ["2024-01-01"],
            "no 2024-01-01, and no 2024-01-01T00:00",
            "no […], and no 2024-01-01T00:00",
        ),
        ([1234567], "1234567 is not 12345678", "[…] is not 12345678"),
        (["a secret\nof two lines"], "it was 'a secret of  two lines'", "it was '[…]'"),
        (
            [["first one", {"key of it": "second one"}]],
            "first one, key of it, second one",
            "[…], […], […]",
        ),
        (["short"], "short stays", "short stays"),
        (["secret part"], "a secret part of it", "a […] of it"),
        (["x" * 3000], f"it was {'x' * 3000} there", "it was […] there"),
        (["STRASSE 1"], "Straße 1", "[…]"),
        (["Hidden Market"], r"'no\nHidden Market\nthere'", r"'no\n[…]\nthere'"),
        (["market"], r"no C:\market", r"no C:\market"),
    ],
    ids=str,
)
def test_only_whole_arguments_are_hidden_in_a_trace(
    arguments: list[Any], message: str, shown: str
) -> None:
    """Of at least six characters: digits, names and paths in a message stay readable."""
    assert redacted_trace(ValueError(message), arguments) == f"ValueError: {shown}"


@pytest.mark.fault(153)
def test_the_lines_of_a_trace_stay_as_they_are() -> None:
    """Whatever the arguments: file, line and name of a frame, and a trace in a note."""

    def fails(value: str) -> None:
        error = ValueError(f"not {value}")
        error.add_note('  File "/data/team.py", line 15, in fails')
        raise error

    with pytest.raises(ValueError, match="not") as caught:
        fails("value1")
    trace = redacted_trace(
        caught.value, ["value1", "1", "5", "fails", "parameters", Path(__file__).name]
    )
    assert f'File "{__file__}", line {caught.tb.tb_next.tb_lineno}, in fails' in trace  # type: ignore[union-attr]
    assert trace.endswith(
        'ValueError: not […]\n  File "/data/team.py", line 15, in fails'
    )


YES_NO = parameter(Literal["Yes", "No"], "No")
NUMBER = parameter(Annotated[int, Between(1, 50)], 1)
TEXT = parameter(str, None)
TEXTS = parameter(list[str], None)
DIMENSIONS = parameter(list[Literal["Age Group", "Region", "Brand"]], None)
DAY = parameter(date, None)
FLAG = parameter(bool, default=False)
RATIO = parameter(Annotated[float, Between(-1, 1e6)], 0.5)
ONE_OR_TWO = parameter(Literal[1, 2], 1)
COMPANY = parameter(Annotated[str, SYMBOL], None)
KINDS = {
    "option": YES_NO,
    "number": NUMBER,
    "text": TEXT,
    "texts": TEXTS,
    "options": DIMENSIONS,
    "date": DAY,
    "symbol": COMPANY,
    "flag": FLAG,
    "ratio": RATIO,
    "numbers as options": ONE_OR_TWO,
}


WIRE_VALUES = [
    (YES_NO, "yes", "Yes"),
    (YES_NO, " NO ", "No"),
    (YES_NO, True, "Yes"),
    (YES_NO, False, "No"),
    (NUMBER, "7", 7),
    (NUMBER, 7, 7),
    (NUMBER, 7.0, 7),
    (TEXT, "x", "x"),
    (TEXT, 7, "7"),
    (TEXT, 2.5, "2.5"),
    (TEXTS, "one, two", ["one, two"]),
    (TEXTS, ["a", "b", "a"], ["a", "b", "a"]),
    (TEXTS, ["a", "", None, " b"], ["a", "", " b"]),
    (parameter(list[float]), ["0.5", "0.5", "", "0.25"], [0.5, 0.5, 0.25]),
    (TEXT, " \t", " \t"),
    (TEXT, " x ", " x "),
    (TEXTS, [1, 2], ["1", "2"]),
    (DIMENSIONS, "region", ["Region"]),
    (DIMENSIONS, ["Brand", "AGE GROUP", "brand"], ["Brand", "Age Group", "Brand"]),
    (DAY, "2024-02-29", date(2024, 2, 29)),
    (FLAG, "yes", True),
    (FLAG, False, False),
    (FLAG, True, True),
    (RATIO, "0.25", 0.25),
    (RATIO, 1e3, 1000.0),
    (RATIO, "1e3", 1000.0),
    (RATIO, 3, 3.0),
    (ONE_OR_TWO, "2", 2),
    (ONE_OR_TWO, 2.0, 2),
    (NUMBER, "10.0", 10),
    (COMPANY, "nvra", "NVRA US EQUITY"),
    (parameter(datetime), "2024-05-06T07:08:09", datetime(2024, 5, 6, 7, 8, 9)),  # noqa: DTZ001
    (parameter(time), "14:30", time(14, 30)),
    (parameter(timedelta), "P1DT2H", timedelta(days=1, hours=2)),
    (parameter(Decimal), "2.50", Decimal("2.50")),
    (parameter(Color), "RED", Color.RED),
    (parameter(Level), "2", Level.HIGH),
    (parameter(Literal["a", 1]), "1", 1),
    (parameter(Literal["a", 1]), "A", "a"),
    (parameter(str | int), "1E5", "1E5"),
    (parameter(int | float), "7", 7),
    (
        parameter(list[datetime]),
        ["2024-05-06T07:08:09"],
        [datetime(2024, 5, 6, 7, 8, 9)],  # noqa: DTZ001
    ),
    (parameter(list[Color]), "blue", [Color.BLUE]),
    (parameter(list[str | int]), ["1", "", "1"], ["1", "", "1"]),
    (parameter(list[list[float]]), "[[1], [2, 2]]", [[1.0], [2.0, 2.0]]),
    (parameter(Any), "[1]", "[1]"),
]


@pytest.mark.fault(155, 156)
@pytest.mark.parametrize(
    ("param", "sent", "value"),
    WIRE_VALUES,
    ids=[row_id(f"{param.type.__name__} {sent}") for param, sent, _ in WIRE_VALUES],
)
def test_a_wire_value_becomes_a_python_value(
    param: Parameter, sent: Any, value: Any
) -> None:
    assert param.read(sent, DEMO) == (value, [])


@pytest.mark.parametrize("sent", [None, "", "  ", [], [""], [None, ""]], ids=row_id)
@pytest.mark.parametrize("param", KINDS.values(), ids=KINDS)
def test_an_absent_or_empty_value_of_the_first_wire_means_the_default(
    param: Parameter, sent: Any
) -> None:
    """White space is content where any text is valid."""
    if sent == "  " and param in (TEXT, TEXTS):
        return
    assert param.is_absent(sent)
    assert param.read(sent, DEMO) == (param.default, [])


TYPED_VALUES = [
    (parameter(int | None, 5), None, None),
    (parameter(int, 5), 7, 7),
    (parameter(int, 5), "7", 7),
    (parameter(str, "x"), "", ""),
    (parameter(str), "", ""),
    (parameter(str | None, "x"), None, None),
    (parameter(str | int), "", ""),
    (parameter(str | int), 7, 7),
    (parameter(list[str], ["x"]), [], []),
    (parameter(list[str], ["x"]), ["a", "", "a", " "], ["a", "", "a", " "]),
    (parameter(list[str] | None, ["x"]), None, None),
    (parameter(list[float]), [0.5, 0.5, 0.25], [0.5, 0.5, 0.25]),
    (parameter(bool, default=True), False, False),
    (parameter(bool, default=True), "No", False),
    (parameter(dict[str, int], None), {}, {}),
    (parameter(Order), {"item": "pen", "pieces": 2}, Order("pen", 2)),
    (parameter(Order | None, Order("ink")), None, None),
    (parameter(list[list[float]]), [[1], []], [[1.0], []]),
    (parameter(Any, 5), None, None),
    (parameter(Any, 5), "", ""),
    (parameter(Any), [1, {"a": None}], [1, {"a": None}]),
    (parameter(Decimal), "2.50", Decimal("2.50")),
    (parameter(date), "2024-02-29", date(2024, 2, 29)),
    (parameter(Literal["a", "b"], "a"), "", "a"),
    (COMPANY, "", None),
    (COMPANY, None, None),
    (TEXT, None, None),
]


@pytest.mark.fault(155)
@pytest.mark.parametrize(
    ("param", "sent", "value"),
    TYPED_VALUES,
    ids=[row_id(f"{param.type.__name__} {sent}") for param, sent, _ in TYPED_VALUES],
)
def test_typed_json_is_taken_as_it_is(param: Parameter, sent: Any, value: Any) -> None:
    """Null where the annotation allows None, and empty texts and lists; chosen values are never empty."""
    read, errors = param.read(sent, DEMO, typed=True)
    assert (read, type(read), errors) == (value, type(value), [])


NOT_TYPED = [
    (parameter(int, 5), None, "P must be a whole number, not null."),
    (parameter(str, "x"), None, "P must be text, not null."),
    (parameter(list[str], ["x"]), ["a", None], "P must be text, not null."),
    (parameter(list[int]), [1, ""], "P must be a whole number, not ''."),
    (parameter(Annotated[str, Help("The name.")]), "", "P is required."),
    (
        parameter(Order),
        "{}",
        "P is not valid: Input should be a dictionary or an instance of Order.",
    ),
    (parameter(Decimal), "x", "P is not valid: Input should be a valid decimal."),
    (
        parameter(int | str),
        None,
        "P is not valid at 'int': Input should be a valid integer.",
    ),
]


@pytest.mark.parametrize(
    ("param", "sent", "text"), NOT_TYPED, ids=[row_id(text) for *_, text in NOT_TYPED]
)
def test_typed_json_that_does_not_fit_is_refused(
    param: Parameter, sent: Any, text: str
) -> None:
    _, errors = param.read(sent, DEMO, typed=True)
    assert errors[0] == text


INVALID_VALUES = [
    (parameter(str), None, "P is required."),
    (parameter(Literal["a", "b"]), "", "P is required. Options are 'a', 'b'."),
    (YES_NO, "maybe", "P has no option 'maybe'. Options are 'Yes', 'No'."),
    (YES_NO, 1, "P has no option '1'. Options are 'Yes', 'No'."),
    (
        DIMENSIONS,
        ["Regoin"],
        "P has no option 'Regoin'. Did you mean 'Region'? Options are 'Age Group', 'Region', ",
    ),
    (NUMBER, "0", "P must be between 1 and 50, not '0'."),
    (NUMBER, "abc", "P must be a whole number, not 'abc'."),
    (NUMBER, "9" * 400, "P must be between 1 and 50, not '9999"),
    (NUMBER, True, "P must be a whole number, not true or false."),
    (NUMBER, ["1"], "P must be a single value, not a list."),
    (TEXT, {"a": 1}, "P must be text, not an object."),
    (TEXTS, [["a"]], "P must be text, not a list."),
    (
        parameter(int),
        "9" * 19,
        "P must be between -9223372036854775808 and 9223372036854775807, not '9999",
    ),
    (
        parameter(Annotated[int, Between(0, math.inf)]),
        "9" * 19,
        "P must be between 0 and inf, not '9999",
    ),
    (NUMBER, "9" * 5000, "P must be a whole number, not '9999"),
    (NUMBER, "1_0", "P must be a whole number, not '1_0'."),
    (RATIO, "nan", "P must be a number, not 'nan'."),
    (RATIO, "1e9999", "P must be a number, not '1e9999'."),
    (RATIO, "1_0", "P must be a number, not '1_0'."),
    (RATIO, "-2", "P must be between -1 and 1000000.0, not '-2'."),
    (FLAG, "maybe", "P has no option 'maybe'. Options are 'Yes', 'No'."),
    (FLAG, {}, "P must be 'Yes' or 'No', not an object."),
    (ONE_OR_TWO, "3", "P has no option '3'. Options are '1', '2'."),
    (parameter(Color), "green", "P is not valid: Input should be 'red' or 'blue'."),
    (parameter(datetime), "soon", "P is not valid: Input should be a valid datetime"),
    (
        parameter(list[datetime]),
        ["soon"],
        "P is not valid at '0': Input should be a valid datetime",
    ),
    (DAY, "20240229", "P must be a date (YYYY-MM-DD), not '20240229'."),
    (DAY, "86400", "P must be a date (YYYY-MM-DD), not '86400'."),
    (NUMBER, "\uff11", "P must be a whole number, not '\uff11'."),
    (NUMBER, "1.50", "P must be a whole number, not '1.50'."),
    (DAY, "2024-02-29T00:00", "P must be a date (YYYY-MM-DD), not '2024-02-29T00:00'."),
    (DAY, "2023-02-29", "P must be a date (YYYY-MM-DD), not '2023-02-29'."),
    (COMPANY, "NVRB", "P 'NVRB' is not known. Use function 'Get Universe'"),
    (TEXT, {}, "P must be text, not an object."),
    (COMPANY, "a\nb\x1b[0m", "P 'a\\nb\\x1b[0m' is not known."),
]


@pytest.mark.parametrize(
    ("param", "sent", "text"),
    INVALID_VALUES,
    ids=[row_id(f"{param.type.__name__} {sent}") for param, sent, _ in INVALID_VALUES],
)
def test_an_invalid_value_is_named_with_what_is_valid(
    param: Parameter, sent: Any, text: str
) -> None:
    _, [message] = param.read(sent, DEMO)
    assert message.startswith(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(param=st.sampled_from([*KINDS.values()]), sent=JSON)
def test_any_json_is_either_read_or_refused_in_one_printable_line(
    param: Parameter, sent: Any
) -> None:
    value, errors = param.read(sent, DEMO)
    assert all(text.startswith("P ") and text.isprintable() for text in errors)
    if errors or value == param.default:
        return
    for item in value if param.many else [value]:
        assert isinstance(item, param.type)
        assert not param.options or param.type is bool or str(item) in param.options
    if param is FLAG:
        return
    # Reading is stable: the value's wire form is read as the same value.
    again = [str(item) for item in value] if param.many else str(value)
    assert param.read(again, DEMO) == (value, [])


@given(st.dates())
def test_every_date_is_read_from_its_iso_form(day: date) -> None:
    assert DAY.read(day.isoformat(), DEMO) == (day, [])


@given(st.integers())
def test_an_integer_is_accepted_only_within_its_bounds(number: int) -> None:
    value, errors = NUMBER.read(number, DEMO)
    assert (value == number and not errors) if 1 <= number <= 50 else errors


@pytest.mark.parametrize(
    "param",
    [NUMBER, RATIO, DAY, FLAG, COMPANY, YES_NO, parameter(list[float])],
    ids=["int", "float", "date", "bool", "symbol", "option", "list"],
)
@pytest.mark.parametrize(
    "sent",
    [
        "1" * 1_000_000,
        "0." + "1" * 1_000_000,
        "1e-" + "9" * 1_000_000,
        "0." + "1" * 400,
        "a " * 500_000,
    ],
    ids=["digits", "decimals", "an exponent", "400 decimals", "words"],
)
def test_a_long_value_is_refused_before_it_is_converted(
    param: Parameter, sent: str
) -> None:
    """FAULTS.md 133: whatever the libraries do with a million digits, the time is linear."""

    def read(length: int) -> None:
        value, errors = param.read(sent[:length], DEMO)
        assert value in (None, [])
        assert len(errors) == 1
        assert len(errors[0]) < 500

    read(len(sent))
    if len(sent) > 1000:
        assert_linear(read, len(sent) // 4)


@pytest.mark.slow
def test_numbers_whose_hashes_collide_take_no_longer_than_others() -> None:
    """FAULTS.md 133: Python's hash tables take quadratic time for numbers that were chosen to collide."""
    mask = 2**17 - 1
    at = 1
    numbers = []
    # The slots in the order in which the hash table probes them.
    for _ in range(43_800):
        numbers.append(at)
        at = (5 * at + 1) & mask
    taken = frozenset(numbers)
    for number in range(mask + 1, 1 << 22):
        place = number & mask
        rest = number
        while place in taken and rest:
            rest >>= 5
            place = (5 * place + rest + 1) & mask
        if place in taken:
            numbers.append(number)
        if len(numbers) == 52_000:
            break
    param = parameter(list[int])
    others = list(range(len(numbers)))
    assert param.read(numbers, None) == (numbers, [])
    took = [
        min(seconds(lambda _: param.read(sent, None), 0) for _ in range(5))  # noqa: B023 - called at once
        for sent in (numbers, others)
    ]
    assert took[0] < 3 * took[1]


def test_many_values_of_many_options_are_read_in_linear_time() -> None:
    """FAULTS.md 133."""

    def read(number: int) -> None:
        param = parameter(
            Annotated[
                list[str], Options(*(f"Store {at}" for at in range(number // 10)))
            ]
        )
        value, errors = param.read([f"store {number // 10 - 1}"] * number, None)
        assert {*value} == {f"Store {number // 10 - 1}"}
        assert not errors

    assert_linear(read, 20_000, start=500)
