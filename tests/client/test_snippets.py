"""A run as code to paste: it sends what was sent, whatever its names contain (FAULTS 76)."""

from __future__ import annotations

import ast
import datetime as dt
import json
import os
import shutil
import subprocess
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import httpx
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import jupyter_funcs as jf
from jupyter_funcs.catalog.values import Each, Variable
from jupyter_funcs.client import snippets
from jupyter_funcs.client.snippets import blocks, curl, magic, python
from jupyter_funcs.core.line import (
    NAME_AND_VALUE,
    read_body,
    read_word,
    split_line,
    unquoted,
)
from tests.conftest import PANEL, SYMBOL
from tests.examples import examples
from tests.shells import shell_with

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_funcs.api import RemoteFunction, Session

DAILY = {"PanelName": PANEL, "Symbol": SYMBOL, "Dimensions": ["Region", "Age Group"]}
NASTY = [
    "it's",
    'say "hi"',
    "'\"",
    "a\nb",
    "{x}",
    "$name",
    "back\\",
    "what?",
    "\u202egpj",
    "\x1b[31m",
    "[a, b]",
    "“q”",
    "é=1",
]

text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
values = text | st.lists(text, min_size=1) | st.sampled_from(NASTY) | st.just(NASTY)


def function_of(names: list[str], name: str = "F", **secret: str) -> RemoteFunction:
    """Return a function with these parameters; no service has it."""
    listing = [
        {
            "name": name,
            "id": 7,
            "params": [{"name": parameter, "type": 0} for parameter in names],
        }
    ]
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=listing))
    session = jf.connect(
        "https://service.example",
        **(secret or {"token": "a-token-of-the-tests"}),
        transport=transport,
    )
    return next(iter(session))


def read_magic(
    line: str, function: RemoteFunction, wanted: str = "call"
) -> dict[str, Any]:
    """Return the arguments that the magic reads from a line or a cell, by wire name."""
    first, _, body = line.partition("\n")
    if first.startswith("%%"):
        given = read_body(body, {})
    else:
        _, _, _, command, *words = split_line(line)
        assert command == wanted
        matches = [NAME_AND_VALUE.fullmatch(word) for word in words[1:]]
        given = {
            unquoted(match["name"]): read_word(match["value"], {"name": "of the user"})
            for match in matches
        }
    form = function.form()
    return {form.field(name).name: value for name, value in given.items()}


def read_python(program: str, function: RemoteFunction) -> dict[str, Any]:
    """Return the arguments in a program, by wire name."""
    call = ast.parse(program).body[-1].value
    given: dict[str, Any] = {}
    for keyword in call.keywords:
        value = ast.literal_eval(keyword.value)
        given |= value if keyword.arg is None else {keyword.arg: value}
    form = function.form()
    return {form.field(name).name: value for name, value in given.items()}


def test_a_plain_run_reads_as_a_person_would_write_it(funcs: Session) -> None:
    """The magic, the program and the command name the function, each argument, and where it goes."""
    function = funcs["Get Panel Daily"]
    assert magic(function, DAILY) == (
        'df = %funcs call get_panel_daily PanelName="Demo Card Panel" Symbol="BKQU US EQUITY" '
        'Dimensions=["Region", "Age Group"]'
    )
    assert python(function, DAILY, "team").splitlines() == [
        "import jupyter_funcs as jf",
        "",
        "funcs = jf.connect('team')",
        "df = funcs.get_panel_daily(",
        f"    PanelName='{PANEL}',",
        f"    Symbol='{SYMBOL}',",
        "    Dimensions=['Region', 'Age Group'],",
        ")",
    ]


def test_a_long_call_is_broken_as_black_breaks_it(two: RemoteFunction) -> None:
    """Up to 88 characters are one line; else each argument has a line, and in longer lists each item."""
    call = "df = funcs.f(One='{}')"
    longest = "x" * (88 - len(call.format("")))
    assert python(two, {"One": longest}, "").endswith(call.format(longest))
    assert python(two, {"One": longest + "x"}, "").endswith(
        f"df = funcs.f(\n    One='{longest}x',\n)"
    )
    many = [
        f"{symbol} US EQUITY" for symbol in ("NVRA", "BKQU", "KORD", "MCHQ", "ZPLN")
    ]
    args = {
        "One": many,
        "the second's": Variable("mine"),
        "other": {"a": longest, "b": []},
    }
    assert python(two, args, "", sweeps=True, result="swept").partition("swept")[
        2
    ].splitlines() == [
        " = funcs.f.sweep(",
        "    One=[",
        *(f"        '{symbol}'," for symbol in many),
        "    ],",
        "    the_second_s=mine,",
        "    **{",
        "        'other': {",
        f"            'a': '{longest}',",
        "            'b': [],",
        "        },",
        "    },",
        ")",
    ]


def test_a_catalog_listed_anew_keeps_the_function_s_name() -> None:
    """After a refresh, the magic still names an open panel's function by its slug."""
    funcs = jf.connect()
    function = funcs["Get Panel Daily"]
    funcs.refresh()
    assert funcs["Get Panel Daily"].function is not function.function
    assert magic(function, {}) == "df = %funcs call get_panel_daily"


def test_the_command_names_the_address_and_no_token(two: RemoteFunction) -> None:
    """The shell command uses the service's address and header, and reads the token from the environment."""
    assert curl(two, {"One": "1"}).splitlines() == [
        "curl -X POST https://service.example/api/function/runFunction \\",
        '  -H "Authorization: Bearer $FUNCS_TOKEN" \\',
        "  -H 'Content-Type: application/json' \\",
        """  -d '{"FunctionName": "F", "Args": {"One": "1"}}'""",
    ]
    assert '-H "X-Api-Key: $FUNCS_API_KEY"' in curl(
        function_of([], api_key="a-key-of-the-tests"), {}
    )


@pytest.fixture(scope="module")
def two() -> RemoteFunction:
    return function_of(["One", "the second's"])


@settings(max_examples=examples(300), deadline=None)
@given(st.fixed_dictionaries({}, optional={"One": values, "the second's": values}))
@example({"One": "NaN", "the second's": ["NaN", "1", "true"]})
def test_each_text_reads_back_as_the_same_values(
    two: RemoteFunction, args: dict[str, Any]
) -> None:
    """Whatever the values, the magic, the program and the body of the command have exactly these (FAULTS 76)."""
    assert read_magic(magic(two, args), two) == args
    assert read_python(python(two, args, ""), two) == args
    for shown in (magic(two, args), python(two, args, ""), curl(two, args)):
        assert all(line.isprintable() for line in shown.splitlines())


lists = st.lists(text | st.sampled_from(NASTY), min_size=1)


@settings(max_examples=examples(300), deadline=None)
@given(
    st.fixed_dictionaries(
        {"One": lists | st.lists(lists, min_size=1)},
        optional={"the second's": text | lists},
    )
)
@example({"One": [['a", [b', "c]"], ["\\", '"']], "the second's": ["],["]})
def test_a_sweep_reads_back_as_the_same_lists(
    two: RemoteFunction, args: dict[str, Any]
) -> None:
    """Lists of values, and lists of lists."""
    assert read_magic(magic(two, args, "sweep"), two, "sweep") == args
    assert read_python(python(two, args, "", sweeps=True), two) == args


@pytest.mark.parametrize(
    "names",
    [
        ["a b", "a_b"],
        ["a\nb"],
        ["class"],
        ['x"y', "x_y"],
        ["{x}", "x"],
        ["a=b", "a_b"],
        ["' or 1"],
        ["\\"],
        ["1"],
        ["$x"],
    ],
    ids=repr,
)
def test_any_parameter_name_is_met_again(names: list[str]) -> None:
    """For a name that Python or the magic can't write, the same parameter still gets the value."""
    function = function_of(names)
    args = {name: f"of {name!r}" for name in names}
    assert read_magic(magic(function, args), function) == args
    assert read_python(python(function, args, ""), function) == args


@pytest.mark.parametrize(
    "name", ["names", "class", "a\nb", "__import__('os')", "'); print('x", "{x}", "\\"]
)
def test_any_function_name_is_met_again(name: str) -> None:
    """The program and the magic find the function, and nothing in its name is run."""
    function = function_of([], name)
    program = python(function, {}, "it's\nhere")
    connect, call = (statement.value for statement in ast.parse(program).body[-2:])
    assert ast.literal_eval(connect.args[0]) == "it's\nhere"
    assert eval(ast.unparse(call), {"funcs": _Finds(function.session)}) is function
    assert function.session[magic(function, {}).split()[-1]] is function


class _Finds:
    """A session whose functions return themselves when called."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __getitem__(self, name: str) -> Callable[[], RemoteFunction]:
        return lambda: self._session[name]

    def __getattr__(self, name: str) -> Callable[[], RemoteFunction]:
        return lambda: getattr(self._session, name)


def test_a_variable_stands_as_itself(two: RemoteFunction) -> None:
    """A value from a notebook's variable is that variable in the program."""
    assert python(two, {"One": Variable("mine")}, "").endswith("df = funcs.f(One=mine)")


@pytest.mark.skipif(
    shutil.which("bash") is None,
    reason="There is no bash on this machine to run the command with.",
)
@pytest.mark.parametrize("value", [*NASTY, "`id`", "!!", "@file", "$(id)", "';id;'"])
def test_a_shell_sends_exactly_the_body(
    two: RemoteFunction, value: str, tmp_path: Any
) -> None:
    """A shell passes the body to curl unchanged, runs nothing in it, and takes the token from the environment."""
    fake = tmp_path / "curl"
    fake.write_text(
        f"#!{sys.executable}\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\n"
    )
    fake.chmod(0o755)
    args = {"One": value, "the second's": [value]}
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "FUNCS_TOKEN": "of the environment",
    }
    done = subprocess.run(
        ["bash", "-c", curl(two, args)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    _, _, url, _, header, _, _, _, body = json.loads(done.stdout)
    assert url == "https://service.example/api/function/runFunction"
    assert header == "Authorization: Bearer of the environment"
    assert json.loads(body) == {"FunctionName": "F", "Args": args}


def test_the_command_for_the_demo_says_how_to_serve_it() -> None:
    """The demo has no address: the text says how to get one, and is still a command."""
    shown = curl(jf.connect()["Get Panels"], {})
    assert "jupyter funcs serve" in shown
    assert "curl -X POST http://127.0.0.1:8765/api/function/runFunction" in shown


def test_a_function_that_shares_its_name_is_named_by_its_id() -> None:
    """If a slug belongs to another function, the magic uses the id."""
    listing = [
        {"name": name, "id": id_, "params": []}
        for name, id_ in (("A B", 11), ("a_b", 12))
    ]
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=listing))
    session = jf.connect(
        "https://service.example", token="a-token-of-the-tests", transport=transport
    )
    for function in session:
        assert session[magic(function, {}).split()[-1]] is function
        finds = eval(
            python(function, {}, "").rpartition("df = ")[2], {"funcs": _Finds(session)}
        )
        assert finds is function


@pytest.mark.parametrize(
    ("values", "shown", "came"),
    [
        (
            {"size": "2", "w": ["0.5", "1"], "flag": "no"},
            "(size=2, w=[0.5, 1], flag=False)",
            [(2, [0.5, 1.0], False, 0)],
        ),
        ({"size": "2", "x": "2.50"}, "(size=2, x=2.5)", [(2, None, True, 2.5)]),
        (
            {"size": Each(("1", "2")), "x": "3"},
            ".sweep(size=[1, 2], x=3)",
            [(1, None, True, 3), (2, None, True, 3)],
        ),
        (
            {"size": "1", "w": Each((["1"], ["2"]))},
            ".sweep(size=1, w=[[1], [2]])",
            [(1, [1], True, 0), (1, [2], True, 0)],
        ),
    ],
)
def test_values_in_python_have_their_types(
    values: dict[str, Any], shown: str, came: list[Any]
) -> None:
    """Numbers and flags of a declared type are written as such."""
    taken = []

    def f(
        size: int, w: list[float] | None = None, flag: bool = True, x: float = 0
    ) -> int:
        taken.append((size, w, flag, x))
        return 1

    function = jf.connect([f]).f.with_options(cache=False)
    form = function.form()
    form.update(values)
    [python] = blocks(function, form, "[f]")
    code = python["code"].rpartition("funcs.f")[2]
    assert code == shown
    eval(f"f{code}", {"f": function})
    assert sorted(taken, key=str) == came


@pytest.mark.fault(156)
@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("either", "7", "either=7"),
        ("either", 7, "either=json:7"),
        ("either", "json:7", """either="'json:7'\""""),
        ("maybe", None, "maybe=json:null"),
        ("text", "", 'text=""'),
        ("text", " ", 'text=" "'),
        ("texts", ["b", "", "b"], 'texts=["b", "", "b"]'),
        ("texts", [], "texts=[]"),
        ("day", dt.date(2026, 3, 1), "day=2026-03-01"),
        ("spans", [dt.timedelta(hours=2)], 'spans=["2:00:00"]'),
        ("exact", Decimal("1.50"), "exact=1.50"),
        ("free", {"a": [1, "1"]}, r'free="{\"a\": [1, \"1\"]}"'),
    ],
)
def test_a_line_sends_the_same_types_again(name: str, value: Any, shown: str) -> None:
    """The line is read back as the value."""
    taken = []

    def f(
        either: str | int = "unset",
        maybe: int | None = 5,
        text: str = "unset",
        texts: list[str] | None = None,
        day: dt.date | None = None,
        spans: list[dt.timedelta] | None = None,
        exact: Decimal = Decimal(1),
        free: dict[str, Any] | None = None,
    ) -> int:
        taken.append(dict(locals()))
        return 1

    session = jf.connect([f])
    line = snippets.line(session.f, session.f.form(**{name: value}).args)
    assert line == f"f {shown}"
    with shell_with(session) as shell:
        shell.run_line_magic("funcs", f"call {line} -q")
    assert repr(taken[0][name]) == repr(value)


@pytest.mark.fault(155)
def test_the_code_of_a_run_with_an_object_names_it_and_has_nothing_of_it() -> None:
    """The line has a variable instead of it."""

    def f(table: Any = None) -> int:
        return 1

    function = jf.connect([f]).f
    form = function.form(table=pd.DataFrame({"a": ["a cell of the table"]}))
    assert snippets.line(function, form.args) == "f table=$table"
    assert "a cell" not in str(blocks(function, form, "python:x"))
