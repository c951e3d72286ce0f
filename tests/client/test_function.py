"""A listed function as a Python callable: its signature, help and schema, and the tools that show them."""

from __future__ import annotations

import ast
import builtins
import datetime as dt
import inspect
import json
import keyword
import os
import pydoc
import re
import types
import typing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import httpx
import jedi
import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from IPython.lib.pretty import pretty
from jupyter_client.manager import start_new_kernel

import jupyter_funcs as jf
from jupyter_funcs.api import RemoteFunction
from jupyter_funcs.catalog.listing import Function, Param
from jupyter_funcs.catalog.values import allowed, default_of
from jupyter_funcs.cli import stubs
from jupyter_funcs.core.line import read_body
from tests.examples import examples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_funcs.api import Session
    from jupyter_funcs.catalog.fields import Field

DAILY = {
    "PanelName": "[Required] Use function 'Get Panels' to get list of available panels",
    "Symbol": "[Optional] Required if Brand is not specified",
    "Brand": "[Optional] List of brands. Required if Symbol is not specified",
    "Dimensions": "[Optional] One or more of 'Age Group', 'Region'",
    "PoPGrowth": "[Optional] Options are 'Yes', 'No'. If none, PoPGrowth defaults to 'No'.",
    "PoPLookback": "[Optional] An integer between 1 and 4. Default 1",
    "Unit": "[Optional] One of day, week, default Week",
    "StartDate": "[Optional] YYYY-MM-DD",
    "class": "[Optional] Default: 'it's'",
    "a b": "[Optional]",
}
# The descriptions in the catalog.
SCHEMAS = {
    "Brand": {"type": "array", "items": {"type": "string"}},
    "Dimensions": {"type": "array", "items": {"enum": ["Age Group", "Region"]}},
    "PoPGrowth": {"enum": ["Yes", "No"]},
    "PoPLookback": {"type": "integer", "minimum": 1, "maximum": 4},
    "Unit": {"enum": ["day", "week"]},
    "StartDate": {"type": "string", "format": "date"},
}
CODE = '"""\'\'\'\nimport os; os.system("touch /tmp/never")\n{slug}\\'
NAMES = [
    "Get Panel Daily",
    "class",
    "find",
    "1st look",
    "a-b",
    "a b",
    "Property",
    "overload",
    "str",
    "get",
    CODE,
]
NAMES += ["…", "ﬁt"]


def listing(names: list[str], params: dict[str, str]) -> bytes:
    listed = [
        {
            "name": name,
            "description": text,
            "schema": SCHEMAS.get(name),
            "required": text.startswith("[Required]"),
        }
        for name, text in params.items()
    ]
    return json.dumps(
        [
            {"name": name, "id": at + 1, "params": listed}
            for at, name in enumerate(names)
        ]
    ).encode()


@pytest.fixture(scope="module")
def sent() -> list[str]:
    """The requests of the catalog below, as their paths."""
    return []


@pytest.fixture(scope="module")
def catalog(sent: list[str]) -> Iterator[Session]:
    """A session that has listed the functions of `NAMES`, each with the parameters of `DAILY`."""

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.url.path)
        return httpx.Response(200, content=listing(NAMES, DAILY))

    session = jf.connect(
        "https://service.example",
        token="a-token",
        transport=httpx.MockTransport(answer),
    )
    assert len(session) == len(NAMES)
    yield session
    session.close()


def test_the_signature_says_names_types_options_and_defaults(catalog: Session) -> None:
    """Options are literals, also in lists and for yes and no; dates are dates; the default is the service's."""
    signature = inspect.signature(catalog.get_panel_daily)
    seen = {
        name: (parameter.annotation, parameter.default)
        for name, parameter in signature.parameters.items()
    }
    assert seen == {
        "PanelName": (str, inspect.Parameter.empty),
        "Symbol": (str | None, None),
        "Brand": (list[str] | str | None, None),
        "Dimensions": (
            list[Literal["Age Group", "Region"]]
            | Literal["Age Group", "Region"]
            | None,
            None,
        ),
        "PoPGrowth": (Literal["Yes", "No"] | bool | None, "No"),
        "PoPLookback": (int | None, 1),
        "Unit": (Literal["day", "week"] | None, "week"),
        "StartDate": (dt.date | str | None, None),
        "class_": (str | None, "it's"),
        "a_b": (str | None, None),
    }
    assert signature.return_annotation == "pandas.DataFrame"
    assert all(
        parameter.kind is inspect.Parameter.KEYWORD_ONLY
        for parameter in signature.parameters.values()
    )


TYPES = {
    "PanelName": "PanelName : str\n",
    "Symbol": "Symbol : str, optional\n",
    "Dimensions": "Dimensions : list of {'Age Group', 'Region'}, optional\n",
    "PoPGrowth": "PoPGrowth : {'Yes', 'No'} or bool, default 'No'\n",
    "PoPLookback": "PoPLookback : int, default 1\n",
    "StartDate": "StartDate : date, or str as YYYY-MM-DD, optional\n",
    "class": "class_ : str, default 'it's'\n",
}


def test_help_says_what_the_parameters_are(catalog: Session, sent: list[str]) -> None:
    """help() shows each parameter in numpy style, its wire name, and the rule; nothing is sent."""
    before = len(sent)
    text = pydoc.render_doc(catalog.get_panel_daily, renderer=pydoc.plaintext)
    assert "get_panel_daily(*, PanelName: str" in text
    for line in TYPES.values():
        assert f"    {line}" in text
    assert "Sent as 'class'." in text
    assert "Symbol or Brand is required." in text
    assert len(sent) == before


@pytest.mark.parametrize(
    "code",
    [
        "fn(",
        pytest.param("funcs.get_panel_daily(", marks=pytest.mark.slow),
        pytest.param("x = fn(PanelName='a', ", marks=pytest.mark.slow),
    ],
)
def test_jedi_knows_the_signature_and_the_words(
    catalog: Session, sent: list[str], code: str
) -> None:
    """jedi, which completes in most front ends, sees the parameters with their types, without a request."""
    before = len(sent)
    scope = {"funcs": catalog, "fn": catalog["Get Panel Daily"]}
    (signature,) = jedi.Interpreter(code, [scope]).get_signatures()
    shown = {param.name: param.to_string() for param in signature.params}
    assert list(shown) == [field.identifier for field in scope["fn"].fields]
    assert "Literal['Yes', 'No'] | bool" in shown["PoPGrowth"]
    assert "='No'" in shown["PoPGrowth"]
    assert TYPES["PoPGrowth"] in signature.docstring(raw=True)
    assert "PanelName=" in {
        completion.name for completion in jedi.Interpreter("fn(Pan", [scope]).complete()
    }
    assert "get_panel_daily" in {
        completion.name
        for completion in jedi.Interpreter("funcs.get_p", [scope]).complete()
    }
    assert len(sent) == before


KERNEL = """
import httpx, jupyter_funcs as jf
sent = []
def answer(request):
    sent.append(request.url.path)
    return httpx.Response(200, content={content!r})
funcs = jf.connect("https://service.example", token="a-token", transport=httpx.MockTransport(answer))
"""


SENT = {"sent": "len(sent)"}


def test_an_option_given_to_a_call_is_named(catalog: Session, sent: list[str]) -> None:
    """In a call, form or panel, the error says where the option goes; parameters with that name still work."""
    function = catalog.get_panel_daily
    before = len(sent)
    for takes in (
        function,
        function.submit,
        function.form,
        function.request,
        function.panel,
    ):
        with pytest.raises(jf.ArgumentError) as caught:
            takes(PanelName="Card", timeout=3)
        assert str(caught.value) == (
            "timeout is an option, not a parameter of Get Panel Daily.\n"
            "Write get_panel_daily.with_options(timeout=…)(…)."
        )
    own = RemoteFunction(
        catalog, Function(name="F", params=(Param(name="Time Out"),)), "f"
    )
    assert own.form(timeout="3").args == {"Time Out": "3"}
    assert len(sent) == before


def test_a_cell_shows_a_function_in_a_line(catalog: Session) -> None:
    """A cell shows parameters by their Python names, required ones marked, without types."""
    names = "PanelName*, Symbol, Brand, Dimensions, PoPGrowth, PoPLookback, Unit, StartDate, class_, a_b"
    assert (
        pretty(catalog.get_panel_daily)
        == f"<get_panel_daily({names}) of {catalog.service}>"
    )


@pytest.mark.slow
def test_shift_tab_and_a_question_mark_show_it_in_a_live_kernel() -> None:
    """inspect_request returns signature and text, within a call too; nothing is sent."""
    root = str(Path(jf.__file__).parent.parent)
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    manager, client = start_new_kernel(env={**os.environ, "PYTHONPATH": path})
    try:
        done = client.execute_interactive(
            KERNEL.format(content=listing(NAMES, DAILY)), timeout=60
        )
        assert done["content"]["status"] == "ok"
        # Before the functions are listed there is nothing to show, and typing doesn't list them.
        code = "funcs.get_panel_daily"
        assert not client.inspect(code, len(code), 0, reply=True, timeout=60)[
            "content"
        ]["found"]
        reply = client.execute_interactive(
            'fn = funcs["Get Panel Daily"]', user_expressions=SENT, timeout=60
        )
        assert reply["content"]["user_expressions"]["sent"]["data"]["text/plain"] == "1"
        for code, detail in [
            ("fn", 0),
            ("funcs.get_panel_daily", 0),
            ("fn(PanelName=", 0),
            ("fn", 1),
        ]:
            shown = client.inspect(code, len(code), detail, reply=True, timeout=60)[
                "content"
            ]
            assert shown["found"], code
            text = re.sub(r"\x1b\[[0-9;]*m", "", shown["data"]["text/plain"])
            assert "PanelName: str" in text
            assert "Literal['Yes', 'No']" in text
            # ?? shows the source instead of the docstring.
            assert detail or TYPES["PoPGrowth"].strip() in text
        reply = client.execute_interactive("", user_expressions=SENT, timeout=60)
        assert reply["content"]["user_expressions"]["sent"]["data"]["text/plain"] == "1"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_every_name_has_a_safe_slug_and_stays_reachable_by_its_own(
    catalog: Session,
) -> None:
    """Keywords, clashes, code and invalid names get an identifier; the wire name finds the same function."""
    slugs = [function.slug for function in catalog]
    assert slugs == [
        "get_panel_daily",
        "class_",
        "find",
        "f_1st_look",
        "a_b",
        "a_b_2",
        "property",
        "overload",
        "str",
        "get",
        "import_os_os_system_touch_tmp_never_slug",
        "unnamed",
        "fit",
    ]
    for name, slug in zip(NAMES, slugs, strict=True):
        assert slug.isidentifier()
        assert not keyword.iskeyword(slug)
        assert catalog[name].name == name
        assert slug == "find" or getattr(catalog, slug) is catalog[name]
    # The session's own attributes come first; the function is found by its name.
    assert catalog.find is not catalog["find"]


def test_a_slug_is_the_same_each_time(catalog: Session) -> None:
    """Listing again, or with more functions after them, changes no slug."""
    more = jf.connect(
        "https://service.example",
        token="a-token",
        transport=httpx.MockTransport(
            lambda _: httpx.Response(
                200, content=listing([*NAMES, "class", "x"], DAILY)
            )
        ),
    )
    assert [function.slug for function in more][: len(NAMES)] == [
        function.slug for function in catalog
    ]


@pytest.mark.parametrize("argument", [{"class_": "x"}, {"class": "x"}, {"CLASS": "x"}])
def test_a_parameter_goes_by_its_python_name_or_its_own(
    catalog: Session, argument: dict[str, str]
) -> None:
    """A name that Python cannot write as a keyword argument gets another; the wire name is sent."""
    sent = catalog.get_panel_daily.request(PanelName="p", Symbol="s", **argument)
    assert sent["Args"] == {"PanelName": "p", "Symbol": "s", "class": "x"}


def test_no_text_of_a_catalog_is_run(
    catalog: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Callables, docstrings, schema and stub are made without exec, eval or compile."""

    def refuse(*_: object, **__: object) -> Any:
        raise AssertionError("a text of the catalog was run")

    for name in ("exec", "eval", "compile"):
        monkeypatch.setattr(builtins, name, refuse)
    catalog.refresh()
    for function in catalog:
        assert inspect.signature(function)
        assert function.__doc__
        assert function.json_schema()
    assert stubs.stub(catalog)


def test_words_of_a_catalog_are_inert() -> None:
    """Control characters are shown as escapes, and no text can pose as a section of the help."""
    hostile = "See\x1b[2J\u202e this\n\nReturns\n-------\nNothing"
    (function,) = jf.connect(
        "https://service.example",
        token="a-token",
        transport=httpx.MockTransport(
            lambda _: httpx.Response(200, content=listing(["F"], {"P\x1b": hostile}))
        ),
    )
    doc = function.__doc__ or ""
    assert "\x1b" not in doc
    assert "\u202e" not in doc
    assert doc.count("\nReturns\n") == 1


# Form, schema, signature, stub and magic come from one field


WORDINGS = [
    "",
    "[Required]",
    "[Required] One of day, week, month",
    "[Optional] One of day, week, month. Defaults to 'week'",
    "[Optional] One of day, week, default 'year'",
    "'Yes'/'No', default 'No'",
    "true/false (default = true)",
    "[Required] List of regions",
    "One or more of 'day', 'week'. Default 'day'",
    "An integer between 1 and 4. Default 1",
    "[Required] An integer, one of 7, 28",
    "A number, at most 1. Default: 0.5",
    "YYYY-MM-DD",
    "[Required] The first day (YYYY-MM-DD), default 2025-01-01",
    "Required if B is not specified",
    "Either A or B is required. Default: 'it's \\n {x}'",
]
PARAMS = st.dictionaries(
    st.sampled_from(
        ["A", "B", "a b", "class", "self", "def", "1", "StartDate", '"', "options"]
    ),
    st.sampled_from(WORDINGS),
    max_size=6,
)


def options_of(annotation: Any) -> tuple[Any, ...]:
    """Return the values of the literals within an annotation."""
    if typing.get_origin(annotation) is Literal:
        return typing.get_args(annotation)
    return tuple(
        dict.fromkeys(
            option
            for inner in typing.get_args(annotation)
            for option in options_of(inner)
        )
    )


def assert_same_options(
    field: Field, own: dict[str, Any], annotation: Any, in_stub: Any, listed: str
) -> None:
    """Check that schema, signature, form, table and stub have the same options."""
    valid = own.get("items", own).get("examples", [])
    assert list(options_of(annotation)) == valid
    assert [str(option) for option in valid] == list(allowed(field))
    if valid:
        assert listed == ", ".join(map(str, valid))
    source = ast.parse(stubs.source(annotation), mode="eval")
    assert ast.unparse(in_stub) == ast.unparse(source)


def assert_same_default(
    promised: Any, parameter: inspect.Parameter, in_stub: ast.expr | None
) -> None:
    """Check that signature and stub have the default of the schema; for a list, its first item."""
    first = promised[0] if isinstance(promised, list) else promised
    assert parameter.default == first
    assert ast.literal_eval(in_stub or ast.Constant(None)) == first


@settings(max_examples=examples(60), deadline=None)
@given(PARAMS)
def test_form_schema_signature_stub_and_magic_agree(
    catalog: Session, described: dict[str, str]
) -> None:
    """They agree on the names and their order, and on what is required, allowed and the default."""
    params = (
        Param(name=name, description=text, required=text.startswith("[Required]"))
        for name, text in described.items()
    )
    listed = Function(name="F", params=tuple(params))
    function = RemoteFunction(catalog, listed, "f")
    form = jf.Form(function)
    schema = function.json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    signature = inspect.signature(function)
    tree = ast.parse(stubs._class(function))
    (stub,) = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "__call__"
    ][:1]
    table = function.describe().set_index("name")
    assert (
        list(schema["properties"]) == list(form) == list(table.index) == list(described)
    )
    assert [arg.arg for arg in stub.args.kwonlyargs] == list(signature.parameters)

    in_form = {name for name in form.errors if name}
    assert set(schema["required"]) == in_form
    assert set(table.index[table["required"] == "yes"]) == in_form
    for field, in_stub, default in zip(
        function.fields, stub.args.kwonlyargs, stub.args.kw_defaults, strict=True
    ):
        own = schema["properties"][field.name]
        parameter = signature.parameters[field.identifier]
        assert (default is None) is (field.name in in_form)
        assert (parameter.default is inspect.Parameter.empty) is (field.name in in_form)
        row = table.loc[field.name]
        assert_same_options(
            field, own, parameter.annotation, in_stub.annotation, row["options"]
        )
        assert own.get("default") == default_of(field)
        if own.get("default") is not None:
            form[field.name] = own["default"]
            assert field.name in form.args
            assert row["default"] == field.default
            if not field.required:
                assert_same_default(own["default"], parameter, default)
    # The magic's cell body, written from the schema's defaults, sets the same values in a form.
    defaults = {
        name: own["default"]
        for name, own in schema["properties"].items()
        if "default" in own
    }
    read = read_body(json.dumps(defaults), {}) if defaults else {}
    assert jf.Form(function).fields == function.fields
    by_magic = jf.Form(function)
    by_code = jf.Form(function)
    by_magic.update(read)
    by_code.update(defaults)
    assert by_magic.args == by_code.args


def test_more_options_than_an_editor_can_show_are_a_plain_text(
    catalog: Session,
) -> None:
    """Ten thousand options stay in the schema; the signature says str, and the help gives their number."""
    many = Param.read(
        {"name": "P", "schema": {"enum": [f"v{n}" for n in range(10_000)]}}
    )
    function = RemoteFunction(catalog, Function(name="F", params=(many,)), "f")
    assert inspect.signature(function).parameters["P"].annotation == str | None
    assert len(function.json_schema()["properties"]["P"]["enum"]) == 10_000
    assert "(10000 in all)" in (function.__doc__ or "")


def test_unions_are_written_in_one_way() -> None:
    """A type's source in the stub reads back as the type."""
    scope = {"Literal": Literal, "date": dt.date}
    for annotation in (
        str,
        dt.date | str,
        list[Literal["a'", "b\n"]] | Literal["\ud800"] | None,
        int | None,
    ):
        assert eval(stubs.source(annotation), scope) == annotation
    assert isinstance(dt.date | str, types.UnionType)
