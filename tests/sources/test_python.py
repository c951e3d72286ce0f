"""Python functions as a catalog: what they receive, how their results are read, and how they fail."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import datetime as dt
import enum
import inspect
import itertools
import math
import sys
import time
import typing
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from ipaddress import IPv4Address
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal
from uuid import UUID

import numpy as np
import pandas as pd
import pydantic
import pytest

import jupyter_funcs as jf
from jupyter_funcs.client import snippets
from jupyter_funcs.core.errors import (
    ArgumentError,
    ConfigError,
    DeadlineError,
    FunctionError,
)
from jupyter_funcs.sweeps.executors import service_address
from tests.shells import interactive_shell, shell_with

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Point(pydantic.BaseModel):
    x: int
    y: float = 0


class Period(pydantic.BaseModel, extra="forbid"):
    start: int = pydantic.Field(alias="from")


@dataclasses.dataclass
class Pair:
    a: int
    b: str


Named = collections.namedtuple("Named", "low high")  # noqa: PYI024  # as many libraries return


def daily_total(  # noqa: ANN201  # as people write them
    day: dt.date,
    count: Annotated[int, pydantic.Field(ge=1, le=5)] = 2,
    unit: Literal["d", "w"] = "d",
):
    """Sum one day.

    Parameters
    ----------
    day
        The day to sum.
    """
    return {"day": [day], "count": [count], "unit": [unit]}


ANNOTATIONS = [
    (dt.date, "2024-05-06", dt.date(2024, 5, 6)),
    (dt.datetime, "2024-05-06T07:08:09", dt.datetime(2024, 5, 6, 7, 8, 9)),  # noqa: DTZ001
    (dt.timedelta, dt.timedelta(hours=2), dt.timedelta(hours=2)),
    (dt.timedelta | None, dt.timedelta(-1, 7200, 5), dt.timedelta(-1, 7200, 5)),
    (dt.timedelta, pd.Timedelta("1 day 2h"), pd.Timedelta("1 day 2h")),
    (
        list[dt.timedelta],
        [dt.timedelta(0), "P1DT2H"],
        [dt.timedelta(0), dt.timedelta(1, 7200)],
    ),
    (dt.time, dt.time(14, 30, 0, 5), dt.time(14, 30, 0, 5)),
    (Color, "blue", Color.BLUE),
    (Color, Color.RED, Color.RED),
    (list[Color], [Color.RED], [Color.RED]),
    (Point | Color, Color.RED, Color.RED),
    (Access, Access.READ, Access.READ),
    (Period, Period(**{"from": 3}), Period(**{"from": 3})),
    (Iterable[float], [1, 2.5], [1.0, 2.5]),
    (typing.Iterable, [1, "a"], [1, "a"]),
    (dict[str, Iterable[int]], {"a": [1]}, {"a": [1]}),
    (Literal[1, 2], 2, 2),
    (bool, True, True),
    (bool, "no", False),
    (int, "7", 7),
    (int | None, 7, 7),
    (float, 1, 1.0),
    (str, "007", "007"),
    (Decimal, "1.5", Decimal("1.5")),
    (Decimal, "2.50", Decimal("2.50")),
    (
        Decimal | None,
        Decimal("0.12345678901234567890123"),
        Decimal("0.12345678901234567890123"),
    ),
    (
        list[Decimal],
        ["1.10", Decimal("2.50"), 1],
        [Decimal("1.10"), Decimal("2.50"), Decimal(1)],
    ),
    (
        dict[str, Decimal],
        {"a": 1.5, "b": "2.50"},
        {"a": Decimal("1.5"), "b": Decimal("2.50")},
    ),
    (Decimal | str, "2.50 USD", "2.50 USD"),
    (Path, Path("/data"), Path("/data")),
    (Path | None, Path("/data"), Path("/data")),
    (list[Path], [Path("/data"), "other"], [Path("/data"), Path("other")]),
    (UUID, UUID(int=5), UUID(int=5)),
    (dict[str, UUID], {"a": UUID(int=5)}, {"a": UUID(int=5)}),
    (IPv4Address, IPv4Address("10.0.0.1"), IPv4Address("10.0.0.1")),
    (bytes, b"\x00\xff", b"\x00\xff"),
    (bytes | None, b"", b""),
    (list[bytes], [b"a", b"a"], [b"a", b"a"]),
    (list[float], [1, 2.5], [1.0, 2.5]),
    (list[Color], ["red"], [Color.RED]),
    (set[int], [1, 2], {1, 2}),
    (dict[str, int], {"a": 1}, {"a": 1}),
    (Point, {"x": 1}, Point(x=1)),
    (list[Point], [{"x": 1}], [Point(x=1)]),
    ("dt.date", "2024-05-06", dt.date(2024, 5, 6)),
    (None, [1, {"a": None}], [1, {"a": None}]),
    (None, "text", "text"),
    (pd.DataFrame, {"a": [1]}, {"a": [1]}),
    ("Unknown", 5, 5),
]


@pytest.mark.parametrize(("annotation", "argument", "received"), ANNOTATIONS, ids=str)
def test_a_function_receives_what_its_annotation_says(
    annotation: Any, argument: Any, received: Any
) -> None:
    """Values are converted to the annotated type; values of that type, or without an annotation, are passed on."""
    seen: list[Any] = []

    def take(value):  # noqa: ANN001, ANN202
        seen.append(value)

    if annotation is not None:
        take.__annotations__["value"] = annotation
    jf.connect([take]).take(value=argument)
    assert repr(seen) == repr([received])  # 2.5 is not 2.50


def documented(rows, equal_var=True, method="auto", level=False):  # noqa: ANN001, ANN201  # as scientific libraries write them
    """Compare the rows
    of two samples.

    More on
    how.

    >>> documented([1])
    [{'result': '([1], True)'}]

    Parameters
    ----------
    rows : array_like
        The rows.
    equal_var : bool, optional
        Whether they vary alike.
    method : {'auto', 'exact', '1'} or int, optional
        How.
    level
        How much.
    """
    return [{"result": repr((rows, equal_var, method, level))}]


@pytest.mark.parametrize(
    ("values", "received", "warned"),
    [
        ({"equal_var": "no"}, "([1], False, 'auto', False)", []),
        ({"method": "exact"}, "([1], True, 'exact', False)", []),
        ({"method": "1"}, "([1], True, '1', False)", []),
        ({"method": 7}, "([1], True, 7, False)", ["method"]),
        (
            {"method": ["auto", "exact"]},
            "([1], True, ['auto', 'exact'], False)",
            ["method"],
        ),
        ({"method": "exat"}, "([1], True, 'exat', False)", ["method"]),
        ({"level": "no"}, "([1], True, 'auto', False)", []),
        ({"level": 2}, "([1], True, 'auto', 2)", []),
    ],
)
@pytest.mark.filterwarnings("ignore:Documented")
def test_a_function_without_annotations_is_known_from_its_docstring(
    values: Any, received: str, warned: Any
) -> None:
    """A documented bool is a bool, and never the text 'no', which is true; listed options are only suggested."""
    function = jf.connect([documented])["Documented"]
    assert [(str(field.kind), field.default) for field in function.fields] == [
        ("json", None),
        ("yes/no", "true"),
        ("choice", "auto"),
        ("json", "false"),
    ]
    assert function.fields[0].help == "array_like. The rows."
    assert (
        function.function.description
        == "Compare the rows of two samples.\n\nMore on how."
    )
    assert list(jf.Form(function, rows=[1], **values).warnings) == warned
    assert function(rows=[1], **values)["result"][0] == received
    assert list(jf.Form(function, rows=[1], equal_var="maybe").errors) == ["equal_var"]
    assert inspect.signature(function).parameters["equal_var"].annotation == bool | None


def test_parameters_of_every_kind_are_passed() -> None:
    """By keyword, except positional-only ones; parameters that aren't set aren't passed."""
    seen: list[Any] = []

    def take(a, b=2, /, c=3, *rest: int, d=4, **others):  # noqa: ANN001, ANN003, ANN202
        seen.append((a, b, c, rest, d, others))

    function = jf.connect([take]).take
    assert [(field.name, field.required) for field in function.fields] == [
        ("a", True),
        ("b", False),
        ("c", False),
        ("rest", False),
        ("d", False),
    ]
    function(a=1, d=5)
    function(a=1, rest=["6", 7])
    assert seen == [(1, 2, 3, (), 5, {}), (1, 2, 3, (6, 7), 4, {})]


RETURNED: list[tuple[Any, dict[str, list[Any]]]] = [
    ({"a": [1, 2]}, {"a": [1, 2]}),
    ([{"a": 1}, {"a": 2}], {"a": [1, 2]}),
    ([1, 2], {"Result": [1, 2]}),
    (7, {"Result": [7]}),
    ("[a text", {"Result": ["[a text"]}),
    (None, {}),
    ({"error": "e", "n": 1}, {"error": ["e"], "n": [1]}),
    (Named(1, 2.5), {"low": [1], "high": [2.5]}),
    ([Named(1, 2), Named(3, 4)], {"low": [1, 3], "high": [2, 4]}),
    (Pair(1, "b"), {"a": [1], "b": ["b"]}),
    ([Point(x=1), Point(x=2)], {"x": [1, 2], "y": [0.0, 0.0]}),
    (np.array([1.5, math.inf]), {"Result": [1.5, math.inf]}),
    (np.array([[1, 2], [3, 4]]), {"0": [1, 3], "1": [2, 4]}),
    (np.int64(3), {"Result": [3]}),
    ({"t": np.array(["2024-01-02"], "M8[ns]")}, {"t": [pd.Timestamp("2024-01-02")]}),
    (pd.Series([1, 2], name="s"), {"s": [1, 2]}),
    (pd.Index([1, 2]), {"Result": [1, 2]}),
    (
        {"a": pd.Series([1, 2], ["x", "y"]), "b": pd.Series([3, 4], ["y", "x"])},
        {"a": [1, 2], "b": [4, 3]},
    ),
    (
        [pd.Series({"a": 1, "b": 2}), pd.Series({"b": 3, "a": 4})],
        {"a": [1, 4], "b": [2, 3]},
    ),
    (b"\x89PNG", {"Result": [b"\x89PNG"]}),
    (bytearray(b"a"), {"Result": [b"a"]}),
    (Decimal("1.10"), {"Result": [1.1]}),
    ([{"a": Decimal("1.10")}, {"a": None}], {"a": [1.1, None]}),
    ([Decimal("NaN"), Decimal("-Infinity")], {"Result": [None, -math.inf]}),
    (math.inf, {"Result": [math.inf]}),
    (np.float32("nan"), {"Result": [None]}),
    ([1, -math.inf, None], {"Result": [1, -math.inf, None]}),
    (
        {"a": math.inf, "b": "NaN", "c": 0.1 + 0.2},
        {"a": [math.inf], "b": ["NaN"], "c": [0.1 + 0.2]},
    ),
    (dt.date(2024, 1, 2), {"Result": [pd.Timestamp("2024-01-02")]}),
    ({3}, {"Result": [3]}),
    ([PurePosixPath("/data")], {"Result": ["/data"]}),
    ([Fraction(1, 3)], {"Result": ["1/3"]}),
    ([IPv4Address("10.0.0.1")], {"Result": ["10.0.0.1"]}),
    ((number for number in (1, 2)), {"Result": [1, 2]}),
    (math, {"Result": [repr(math)]}),
    ([1.5, math.nan, 2], {"Result": [1.5, None, 2]}),
    (
        [{"t": pd.Timestamp("2024-01-02")}, {"t": pd.NaT}],
        {"t": [pd.Timestamp("2024-01-02"), None]},
    ),
]


@pytest.mark.parametrize(
    ("returned", "columns"), RETURNED, ids=map(str, range(len(RETURNED)))
)
def test_a_result_becomes_a_frame(returned: Any, columns: dict[str, list[Any]]) -> None:
    """JSON is read like a reply; arrays and Series keep their values exactly; anything else becomes its repr."""
    frame = jf.connect([lambda: returned])["Lambda"]()
    values = {
        name: [None if pd.isna(value) else value for value in frame[name]]
        for name in frame
    }
    assert values == columns
    assert frame.attrs["funcs"]["function"] == "Lambda"


def test_names_that_are_one_as_texts_are_refused() -> None:
    """JSON has only text keys, and the second would replace the first."""
    with pytest.raises(FunctionError, match="the same text, such as 1 and '1'"):
        jf.connect([lambda: {1: 2, "1": 3}])["Lambda"]()


def test_equal_labels_of_series_stand_in_one_row() -> None:
    parts = {"a": pd.Series([1], ["x"]), "b": pd.Series([2, 3], ["y", "x"])}
    frame = jf.connect([lambda: parts])["Lambda"]()
    pd.testing.assert_frame_equal(frame, pd.DataFrame(parts))


def test_what_has_the_interface_of_an_array_only_is_its_repr() -> None:
    """For example an image of Pillow."""

    class Image:
        __array_interface__: ClassVar = {"shape": (1,), "typestr": "<i4", "version": 3}

        def __repr__(self) -> str:
            return "<Image>"

    frame = jf.connect([Image])["Image"]()
    assert frame["Result"].tolist() == ["<Image>"]


def test_a_dataframe_stays_as_it_is() -> None:
    """With its own index and types; the function's own frame isn't changed by the run."""
    own = pd.DataFrame(
        {("a", 1): pd.Categorical(["x"])}, index=pd.Index(["r"], name="key")
    )
    own.attrs = {"unit": "USD", "funcs": {"cached": "of another run"}}
    frame = jf.connect([lambda: own])["Lambda"]()
    pd.testing.assert_frame_equal(frame, own)
    assert frame.attrs["unit"] == "USD"
    assert "cached" not in frame.attrs["funcs"]
    assert own.attrs["funcs"] == {"cached": "of another run"}


def raising(error: BaseException) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


class BadTextError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


FAULTS: list[tuple[Callable[[], Any], str]] = [
    (raising(ValueError("a\x1b[1m\nb")), "Fail failed: ValueError: a\\x1b[1m b"),
    (raising(ValueError("x" * 10_000)), f"Fail failed: ValueError: {'x' * 299}…"),
    (raising(SystemExit(3)), "Fail failed: SystemExit: 3"),
    (raising(KeyboardInterrupt()), "Fail failed: KeyboardInterrupt"),
    (raising(BadTextError()), "Fail failed: BadTextError"),
    (
        lambda: itertools.repeat(0),
        "Lambda failed: ValueError: it yields more than 1,000,000 items",
    ),
]


@pytest.mark.parametrize(("function", "text"), FAULTS, ids=map(str, range(len(FAULTS))))
def test_whatever_a_function_raises_is_one_line(
    function: Callable[[], Any], text: str
) -> None:
    """It names the function and the exception, and the kernel survives."""
    with pytest.raises(FunctionError) as caught:
        next(iter(jf.connect([function])))()
    assert str(caught.value) == text


def test_an_endless_function_stops_nothing_but_its_thread() -> None:
    """The deadline ends the wait, and other runs go on meanwhile."""
    ended = False

    def endless() -> None:
        while not ended:
            time.sleep(0.001)

    async def soon() -> int:
        await asyncio.sleep(0)
        return 5

    funcs = jf.connect([endless, soon])
    job = funcs.endless.submit()
    with pytest.raises(
        DeadlineError, match=r"did not finish within 0.4 s; it may still be running\."
    ):
        funcs.endless.with_options(timeout=0.4)()
    assert funcs.soon()["Result"].tolist() == [5]
    assert job.cancel()
    ended = True


def test_a_wrong_value_is_an_error_at_its_field() -> None:
    """From the form if the schema declares it, else from pydantic; the function doesn't run."""

    def take(
        path: Annotated[str, pydantic.AfterValidator(int)], count: int = 1
    ) -> None:
        raise AssertionError

    function = jf.connect([take]).take
    with pytest.raises(ArgumentError) as caught:
        function(path="1", count="many")
    assert list(caught.value.errors) == ["count"]
    with pytest.raises(ArgumentError) as caught:
        function(path="nope")
    assert caught.value.errors["path"][0].startswith(
        "path does not take 'nope': Value error, invalid literal"
    )
    assert str(caught.value).endswith("\nTake was not run.")


@pytest.mark.filterwarnings("ignore:Take")
def test_a_refused_duration_names_one_that_is_taken() -> None:
    """After pydantic's message, which is hard to understand alone."""

    def take(span: dt.timedelta) -> None:
        raise AssertionError

    with pytest.raises(
        ArgumentError,
        match=r"was not run\. span takes a duration such as P1DT2H, not '1h'\.",
    ):
        jf.connect([take]).take(span="1h")


def test_a_decimal_is_a_number_in_its_form() -> None:
    """With its bounds, and an invalid one is an error before the run."""

    def take(
        amount: Annotated[Decimal, pydantic.Field(ge=0, le=10)] = Decimal("1.10"),
    ) -> None:
        raise AssertionError

    form = jf.connect([take]).take.form(amount="abc")
    [field] = form.fields
    assert (field.kind, field.default, field.maximum) == ("number", "1.10", 10)
    assert form.errors == {"amount": ["amount takes a number, not 'abc'."]}
    form["amount"] = "10.01"
    assert form.errors == {
        "amount": ["amount must be between 0.0 and 10.0, not 10.01."]
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of modules that can be imported, and a file of profiles."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("FUNCS_CONFIG", str(tmp_path / "profiles.toml"))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


BROKEN = [
    (
        "import nothing_of_this_name\n",
        "ModuleNotFoundError: No module named 'nothing_of_this_name' ({}, line 1).",
    ),
    ("x = 1\n1 / 0\n", "ZeroDivisionError: division by zero ({}, line 2)."),
    ("raise SystemExit\n", "SystemExit ({}, line 1)."),
    ("a\nb c\n", "SyntaxError: invalid syntax (broken_module.py, line 2)."),
    (None, "ModuleNotFoundError: No module named 'broken_module'."),
]


@pytest.mark.parametrize(("source", "text"), BROKEN)
def test_a_module_that_fails_is_named_with_its_line(
    folder: Path, source: str | None, text: str
) -> None:
    """The first use raises the error, and `connect` doesn't."""
    place = folder / "broken_module.py"
    if source:
        place.write_text(source)
    funcs = jf.connect("python:broken_module")
    with pytest.raises(ConfigError) as caught:
        _ = funcs.names
    assert (
        caught.value.what
        == f"The module 'broken_module' can't be imported: {text.format(place)}"
    )
    assert text.partition(" (")[0] in str(funcs.status())


MODULE = """
from math import sqrt
from statistics import mean

class Thing:
    pass

def _hidden(): ...

def daily_total(day: str): "Sum one day."

def daily__total(): ...
"""


def test_the_public_functions_of_a_module_are_listed(folder: Path) -> None:
    """Its own, or those in `__all__`; missing ones and ones without a signature are left out with one warning."""
    (folder / "own_module.py").write_text(MODULE)
    assert jf.connect("python:own_module").names == ["Daily Total", "Daily Total 2"]
    module = ModuleType("made")
    vars(module).update(
        max=max,
        min=min,
        mean=np.mean,
        Thing=Color,
        __all__=["max", "min", "mean", "Thing", "gone"],
    )
    with pytest.warns(
        UserWarning,
        match=r"left out max \(it has no signature\), min \(.*\) and gone \(Attr",
    ) as warned:
        assert jf.connect(module).names == ["Mean"]
    assert len(warned) == 1


def test_a_profile_names_a_module(folder: Path) -> None:
    """It is a connection like any other."""
    (folder / "own_module.py").write_text(MODULE)
    profiles = folder / "profiles.toml"
    profiles.write_text(
        'default = "mine"\n[profiles.mine]\nkind = "python"\nmodule = "own_module"\n'
    )
    funcs = jf.connect()
    assert (funcs.service, funcs.address, funcs.where) == (
        "mine",
        "python:own_module",
        "mine",
    )
    assert str(funcs.status()).split() == [
        "service",
        "mine",
        "(python:own_module)",
        "kind",
        "python",
        "functions",
        "2",
    ]


def test_what_is_no_list_of_functions_is_refused() -> None:
    """Immediately, and the error says what to pass instead."""
    for functions in ([], [1], (print, "print")):
        with pytest.raises(ConfigError, match=r"takes a list of functions, not"):
            jf.connect(functions)
    with pytest.raises(ConfigError, match="take no token"):
        jf.connect([print], token="a-token")


def test_another_process_finds_a_module_but_no_functions_of_python(
    folder: Path,
) -> None:
    """A worker imports a module by its name; functions that were passed in Python stay in their process."""
    (folder / "own_module.py").write_text(MODULE)
    funcs = jf.connect("python:own_module")
    local = jf.connect([daily_total])
    address = service_address(funcs)
    assert address.connect(address.where).address == funcs.address
    assert service_address(local).where == "[daily_total]"
    with pytest.raises(
        ConfigError, match="were given in Python and stay in that process"
    ):
        local.reconnect(local.where)
    with ThreadPoolExecutor(1) as executor:
        swept = local.daily_total.with_options(executor=executor).sweep(
            day=["2024-01-01", "2024-01-02"]
        )
    assert len(swept) == 2


def test_form_sweep_describe_panel_and_code_work_as_for_a_service() -> None:
    """No snippet shows the request of a service."""
    funcs = jf.connect([daily_total])
    function = funcs.daily_total
    form = jf.Form(function, day="2024-01-02", count=9)
    assert list(form.errors) == ["count"]
    count = {"type": "integer", "minimum": 1, "maximum": 5, "default": 2}
    assert function.json_schema()["properties"]["count"] == count
    assert function.describe()["help"].tolist()[0] == "The day to sum."
    assert function.describe()["options"].tolist() == ["", "between 1 and 5", "d, w"]
    assert function.__doc__
    assert function.sweep(day=["2024-01-02", "2024-01-03"], count=3)[
        "count"
    ].tolist() == [3, 3]
    assert len(funcs.history) == 1
    assert function.request(day="2024-01-02") == {
        "function": "Daily Total",
        "arguments": {"day": "2024-01-02"},
    }
    assert "synthetic" not in str(funcs.status())
    assert funcs.cache.identity(funcs._connection, funcs._connection.token())
    panel = funcs.panel("Daily Total", day="2024-01-02", count=3)
    panel.run()
    assert panel.result(60)["count"].tolist() == [3]
    panel.close()
    code = str(snippets.blocks(function, function.form(day="2024-01-02"), funcs.where))
    assert "curl -X" not in code
    assert "jf.connect([daily_total])" in code


def test_a_list_in_a_line_keeps_the_types_of_its_json() -> None:
    """If the parameter takes any JSON, numbers are numbers; otherwise they stay as typed."""

    def shape(  # noqa: ANN202  # as people write them
        data: dict[str, Any] | list[Any],
        points: list[Point] = (),  # type: ignore[assignment]
        codes: list[str] = (),  # type: ignore[assignment]
        whole: list[int] = (),  # type: ignore[assignment]
    ):
        return {"said": repr([data, points and points[0].x, codes, whole])}

    with shell_with(jf.connect([shape])) as shell:
        line = 'shape data=[1,2.5,"007",null] points=[{"x":1}] codes=[007,1] whole=[1,2] -q'
        frame = shell.run_line_magic("funcs", f"call {line}")
        body = 'data: [1, [2], {"a": 3}]\ncodes: [1]'
        shell.run_cell_magic("funcs", "call shape -o other -q", body)
        other = shell.user_ns["other"]
        swept = shell.run_line_magic(
            "funcs", "sweep shape data=[[1],[2]] --most-runs 2 -q"
        )
    assert frame["said"][0] == "[[1, 2.5, '007', None], 1, ['007', '1'], [1, 2]]"
    assert other["said"][0] == "[[1, [2], {'a': 3}], (), ['1'], ()]"
    assert swept["said"].tolist() == ["[[1], (), (), ()]", "[[2], (), (), ()]"]


@pytest.mark.filterwarnings("ignore:`Completer.complete`:PendingDeprecationWarning")
def test_the_magic_and_tab_work() -> None:
    """Names and options are completed, and a call returns the frame."""
    with interactive_shell() as shell:
        shell.run_line_magic("load_ext", "jupyter_funcs")
        assert "Session statistics" in repr(
            shell.run_line_magic("funcs", "connect python:statistics")
        )
        frame = shell.run_line_magic(
            "funcs", "call linear_regression x=[1,2,3] y=[2,4,6]"
        )
        assert frame["slope"].tolist() == [2.0]
        assert shell.run_line_magic("funcs", "describe quantiles")["name"].tolist() == [
            "data",
            "n",
            "method",
        ]
        _, offered = shell.Completer.complete(line_buffer="%funcs call harm")
        assert "harmonic_mean" in offered
        _, offered = shell.Completer.complete(
            line_buffer="%funcs call harmonic_mean we"
        )
        assert "weights=" in offered
        shell.run_line_magic("funcs", "connect python:tests.sources.test_python")
        assert (
            len(
                shell.run_line_magic(
                    "funcs", "sweep daily_total day=[2024-01-02,2024-01-03] -q"
                )
            )
            == 2
        )
        assert shell.Completer.complete(line_buffer="%funcs call daily_total unit=")[
            1
        ] == [
            "d",
            "w",
        ]
