"""Finding what to publish: files in folders, and the entry points of packages."""

from __future__ import annotations

import contextlib
import json
import logging
import re
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.service.builtin import companies, demo
from jupyter_funcs.service.engine.duckdb_engine import DuckDBEngine
from jupyter_funcs.service.publishing import discovery, notebooks, results
from jupyter_funcs.service.publishing.registry import Registry
from tests.examples import row_id
from tests.service.conftest import LIST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jupyter_funcs.service.publishing.registry import PublishedFunction
    from tests.service.conftest import Wire

EXAMPLES = Path(__file__).with_name("published")

ONE = """from jupyter_funcs.service import function

@function(asset='a'{more})
def {name}():
    return {value}
"""


def source(name: str, value: object = 1, more: str = "") -> str:
    return ONE.format(name=name, value=value, more=more)


def write(folder: Path, **files: str) -> Path:
    """Write Python files, by path without suffix, and return their folder."""
    for name, text in files.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


def load(*folders: Path, **options: Any) -> list[PublishedFunction]:
    """Load as a new process does."""
    siblings = discovery._siblings
    for name, module in list(sys.modules.items()):
        if getattr(module, "__name__", "").partition(".")[0] in siblings.folders:
            del sys.modules[name]
    siblings.folders.clear()
    return discovery.load(
        folders, **({"entry_points": False, "default_asset": ""} | options)
    )


def values(functions: list[PublishedFunction]) -> dict[str, Any]:
    return {function.name: function() for function in functions}


def refused(*folders: Path, **options: Any) -> str:
    with pytest.raises(SetupError) as caught:
        load(*folders, **options)
    text = str(caught.value)
    assert text.count("\n") <= 2
    return text


def test_files_are_read_by_name_and_each_in_its_order(tmp_path: Path) -> None:
    two = source("b", 1) + source("a", 2)
    write(
        tmp_path,
        zebra=source("z", 3),
        ant=two,
        _left=source("x"),
        **{"within/deep": source("y")},
    )
    (tmp_path / ".hidden.py").write_text(source("x"))
    (tmp_path / "notes.txt").write_text("no Python")
    (tmp_path / "folder.py").mkdir()
    assert list(values(load(tmp_path)).items()) == [("B", 1), ("A", 2), ("Z", 3)]


def test_a_published_function_knows_its_file_and_author(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "team functions",
        stores="__author__ = 'ann'\n" + source("get_stores"),
    )
    [published] = load(folder)
    assert published.entry_point == "published_team_functions.stores:get_stores"
    assert published.notebook_name == "published_team_functions.stores"
    assert (published.author, published.place) == (
        "ann",
        f"{folder / 'stores.py'}, line 4",
    )
    assert [function.entry_point for function in load(folder)] == [
        published.entry_point
    ]


def test_neighbours_import_each_other_by_name_or_relatively_and_are_run_once(
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        _data="print('read')\nNUMBERS = [1, 2]",
        b_numbers=source("get_numbers", "NUMBERS").replace(
            "@", "from _data import NUMBERS\n@"
        ),
        c_sum=source("get_sum", "sum(data.NUMBERS)").replace(
            "@", "from . import _data as data\n@"
        ),
        d_late=source("get_late", "__import__('late_one').VALUE"),
        late_one="VALUE = 9",
        **{"lib/__init__": "from .part import PART", "lib/part": "PART = 5"},
        e_lib=source("get_part", "PART").replace(
            "@", "from lib import PART\nfrom b_numbers import get_numbers\n@"
        ),
    )
    with contextlib.redirect_stdout(Printed()) as printed:
        functions = load(tmp_path)
        assert values(functions) == {
            "Get Numbers": [1, 2],
            "Get Sum": 3,
            "Get Late": 9,
            "Get Part": 5,
        }
    assert printed.texts == ["read"]


class Printed:
    def __init__(self) -> None:
        self.texts: list[str] = []

    def write(self, text: str) -> None:
        self.texts += [text] if text.strip() else []


def test_a_file_does_not_hide_an_installed_module_of_the_same_name(
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        calendar=source("own"),
        uses="import calendar\n" + source("used", "calendar.TUESDAY"),
    )
    assert values(load(tmp_path))["Used"] == 1
    assert sys.modules["calendar"].__name__ == "calendar"


def test_folders_with_the_same_name_are_separate_packages(tmp_path: Path) -> None:
    first = write(tmp_path / "1" / "f", stores=source("one"), helper="X = 1")
    second = write(
        tmp_path / "2" / "f",
        stores=source("two", 2),
        uses="from .helper import X",
        helper="X = 2",
    )
    assert [function.entry_point for function in load(first, second)] == [
        "published_f.stores:one",
        "published_f_2.stores:two",
    ]
    (second / "uses.py").write_text("import helper")
    assert (
        f"helper is in {first} and {second}; write 'from . import helper'"
        in refused(first, second)
    )


BROKEN = [
    (
        "\n\nimport no_such_module",
        "{path}, line 3: ModuleNotFoundError: No module named 'no_such_module'.\nFix it",
    ),
    ("def f(:\n", "{path}, line 1: SyntaxError: "),
    (
        "def f():\n    return 1 / 0\n\nf()",
        "{path}, line 2: ZeroDivisionError: division by zero.\n",
    ),
    ("raise ValueError('first\\nsecond')", "{path}, line 1: ValueError: first.\n"),
    ("raise ValueError", "{path}, line 1: ValueError.\n"),
    ("import sys\nsys.exit('bye')", "{path}, line 2: SystemExit: bye.\n"),
    ("import json\njson.loads('{{')", "{path}, line 2: JSONDecodeError: "),
    ("x = '\x00'", "{path}"),
    (
        source("f").replace("f()", "f(x: range)"),
        "{path}, line 3: f cannot be published.\nParameter x is annotated",
    ),
    (
        source("f").replace("f()", "f(x: range)"),
        "{path}, line 3: f cannot be published.\nParameter x is annotated range: ",
    ),
]


@pytest.mark.parametrize(
    ("text", "says"),
    BROKEN,
    ids=[row_id(text.strip()) for text, _ in BROKEN],
)
def test_a_file_that_cannot_be_imported_is_named_with_its_line_and_a_trace_is_logged_if_it_says_more(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, says: str
) -> None:
    write(tmp_path, good=source("good"), bad=text)
    with caplog.at_level(logging.ERROR, "jupyter_funcs.service"):
        assert says.format(path=tmp_path / "bad.py") in refused(tmp_path)
    assert len(caplog.records) == ("JSONDecodeError" in says)


def test_an_error_in_a_neighbour_is_reported_where_it_is_imported_and_the_log_leads_to_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, a="import _helper", _helper="\n1 / 0")
    assert refused(tmp_path).startswith(
        f"{tmp_path / 'a.py'}, line 1: ZeroDivisionError"
    )
    trace = caplog.text.partition("Traceback")[2]
    assert trace.index("a.py") < trace.index("_helper.py")


def test_a_file_without_a_published_function_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    load(write(tmp_path, good=source("good"), forgotten="def f(): ...", _helper=""))
    assert [record.args for record in caplog.records] == [(tmp_path / "forgotten.py",)]


@pytest.mark.parametrize("kind", ["absent", "file"])
def test_a_folder_that_cannot_be_read_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / kind
    if kind == "file":
        path.write_text("")
    assert refused(path).startswith(
        f"The folder of published functions {path} cannot be read: "
    )


def test_a_function_without_an_asset_has_the_one_of_the_configuration(
    tmp_path: Path,
) -> None:
    """`@function` needs no brackets, and a function that another file imports is still published once."""
    bare = "from jupyter_funcs.service import function\n\n@function\ndef bare():\n    return 1\n"
    write(
        tmp_path,
        a=f"{bare}\n@function(name='Named')\ndef other():\n    return 2\n",
        b="from .a import bare",
    )
    functions = load(tmp_path, default_asset="Own")
    assert [(function.name, function.asset, function()) for function in functions] == [
        ("Bare", "Own", 1),
        ("Named", "Own", 2),
    ]
    with pytest.raises(SetupError, match=r"a\.py, line 3: 'Bare' has no asset"):
        Registry(load(tmp_path), author="t")


def test_an_empty_folder_publishes_nothing(tmp_path: Path) -> None:
    assert load(tmp_path) == []


@pytest.fixture
def install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., None]]:
    """Install a package with entry points, as pip lays it out."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)

    def install(text: str, *entry_points: str) -> None:
        (tmp_path / "funcs_pkg.py").write_text(text, "utf-8")
        info = tmp_path / "funcs_pkg-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: funcs-pkg\nVersion: 1.0\n"
        )
        (info / "entry_points.txt").write_text(
            "\n".join(["[jupyter_funcs.functions]", *entry_points])
        )

    yield install
    for name in set(sys.modules) - before:
        if name.startswith("funcs_pkg"):
            del sys.modules[name]


TWO = source("one", 1) + source("two", 2) + "LIST = [two, one]\nNUMBER = 7\n"


@pytest.mark.parametrize(
    ("entry_points", "expected"),
    [
        (["all = funcs_pkg"], {"One": 1, "Two": 2}),
        (["some = funcs_pkg:LIST"], {"Two": 2, "One": 1}),
        (["b = funcs_pkg:one", "a = funcs_pkg:two"], {"Two": 2, "One": 1}),
        (["all = funcs_pkg", "again = funcs_pkg:one"], {"One": 1, "Two": 2}),
        ([], {}),
    ],
    ids=row_id,
)
def test_packages_publish_by_entry_points(
    install: Callable[..., None], entry_points: list[str], expected: dict[str, int]
) -> None:
    install(TWO, *entry_points)
    functions = load(entry_points=True)
    assert list(values(functions).items()) == list(expected.items())
    assert all(function.entry_point.startswith("funcs_pkg:") for function in functions)
    assert load() == []


@pytest.mark.parametrize(
    ("text", "entry_point", "says"),
    [
        pytest.param(
            "",
            "x = no_such_pkg",
            "The entry point x = 'no_such_pkg' cannot be imported.\n",
            id="no module",
        ),
        pytest.param(
            "1 / 0",
            "x = funcs_pkg",
            "funcs_pkg.py, line 1: ZeroDivisionError",
            id="an error",
        ),
        pytest.param("", "x = funcs_pkg:absent", "AttributeError", id="no name"),
        pytest.param(
            TWO,
            "x = funcs_pkg:NUMBER",
            "The entry point x = 'funcs_pkg:NUMBER' of jupyter_funcs.functions is '7'.",
            id="a number",
        ),
    ],
)
def test_an_entry_point_that_publishes_nothing_is_refused(
    install: Callable[..., None], text: str, entry_point: str, says: str
) -> None:
    install(text, entry_point)
    assert says in refused(entry_points=True)


PAGE = Path(__file__).parents[3] / "jupyter_funcs/guide/publish.md"


@pytest.mark.parametrize(
    "code",
    re.findall(r"```py\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL),
    ids=row_id,
)
def test_the_guides_examples_are_published_and_run(tmp_path: Path, code: str) -> None:
    if "@function" not in code:
        assert [
            parameter.name
            for parameter in notebooks.read_parameters(code, PAGE.name)[0]
        ] == [
            "store",
            "days",
        ]
        return
    (tmp_path / "sales.csv").write_bytes((EXAMPLES / "sales.csv").read_bytes())
    stores, sales = load(write(tmp_path, stores=code))
    assert stores() == ["Harbour", "Hill", "Market"]
    reply = results.encoded(sales("Hill", since=date(2024, 3, 3)))
    assert json.loads(json.loads(reply.content)["body"])[0]["day"] == "2024-03-03"


@pytest.mark.slow
def test_the_guides_sql_is_run_over_the_data_of_the_service(tmp_path: Path) -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    [days] = load(write(tmp_path, days=code))
    with contextlib.closing(DuckDBEngine(companies.reference(), demo.cards)) as engine:
        engine.open()
        rows = days(engine.call())
    assert len(rows) == 24
    assert {*rows[0]} == {"symbol", "days"}


FAILING = """
import sys
from jupyter_funcs.service import function

@function(asset="a")
def raises(store: str):
    raise LookupError(f"no {store}\\nin the second line")

@function(asset="a")
def silent(store: str):
    assert not store

@function(asset="a")
def leaves(store: str):
    sys.exit(f"no {store}")

@function(asset="a")
def yields(store: str):
    yield {"n": 1}
    raise KeyError(store)

@function(asset="a")
def odd(store: str):
    return {"n": [object()]}
"""


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("Raises", "Raises failed: no Hidden Market"),
        ("Silent", "Silent failed: AssertionError"),
        ("Leaves", "Leaves failed: It called sys.exit('no Hidden Market')."),
        ("Yields", "Yields failed: 'Hidden Market'"),
        (
            "Odd",
            "Odd failed: Column 'n' has object in row 1, which can't be written as JSON.",
        ),
    ],
)
def test_a_function_that_fails_answers_200_with_one_line_and_logs_its_trace_without_arguments(
    tmp_path: Path,
    publish: Callable[..., Wire],
    caplog: pytest.LogCaptureFixture,
    name: str,
    error: str,
) -> None:
    wire = publish(*load(write(tmp_path, failing=FAILING)))
    with caplog.at_level(logging.ERROR, "jupyter_funcs.service"):
        reply = wire.call(name, {"store": "Hidden Market"})
    assert (reply.status_code, reply.json()) == (200, {"error": error, "body": None})
    [record] = caplog.records
    assert str(tmp_path / "failing.py") in record.getMessage() or name == "Odd"
    assert "Hidden Market" not in record.getMessage()


def test_an_iterator_leaves_as_a_list_of_records(
    tmp_path: Path, publish: Callable[..., Wire]
) -> None:
    wire = publish(
        *load(write(tmp_path, one=source("count", "({'n': n} for n in range(3))")))
    )
    assert wire.rows("Count") == [{"n": 0}, {"n": 1}, {"n": 2}]


def test_the_examples_are_listed_in_the_services_words_and_run(
    publish: Callable[..., Wire],
) -> None:
    examples = load(EXAMPLES)
    assert {example.asset for example in examples} == {"Shops"}
    wire = publish(*(replace(example, asset="a") for example in examples))
    listed = wire.post(LIST).json()
    assert [
        (function["name"], function["authorUserName"], function["notebookName"])
        for function in listed
    ] == [
        ("Get Best Days", "t", "best_days.ipynb"),
        ("Get Stores", "shop team", "published_published.stores"),
        ("Get Sales by Store", "shop team", "published_published.stores"),
    ]
    assert {
        parameter["name"]: parameter["description"] for parameter in listed[2]["params"]
    } == {
        "store": (
            "[Optional] The stores to return, one or more. "
            "Use function 'Get Stores' to get list of available stores. Required if region is not specified."
        ),
        "region": "[Optional] All stores of a region. Options are 'North', 'South'. "
        "Required if store is not specified.",
        "since": "[Optional] The first day to count. Format is YYYY-MM-DD.",
    }
    assert wire.rows("Get Stores", region="south") == [
        {"store": "Hill", "region": "South"}
    ]
    assert wire.rows("Get Sales by Store", store="Market", since="2024-03-02") == [
        {"store": "Market", "pieces": 9, "revenue": 70.2}
    ]
    assert wire.errors("Get Sales by Store") == {"": ["store or region is required."]}
