"""The forms: which function of which source gets which values, and by which way in."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tests.golden.sources import Color, Model, Point
from tests.golden.values import DAY, KINDS, MOMENT, told

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True)
class Form:
    """
    A function, and what it is given, by one way in.

    ``entered`` is a line of a magic and ``cell`` the body of one; ``call`` passes values from Python, ``form`` sets
    them one by one, and ``unchecked`` passes them with ``validate=False``.
    """

    source: str
    function: str
    way: str
    text: str = ""
    values: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return its name in the file and in the tests, in which nothing depends on versions."""
        arguments = self.text or ", ".join(
            f"{name}={told(value)}" for name, value in self.values.items()
        )
        text = f"{self.source} {self.function} {self.way}: {arguments}".replace(
            "\n", " ; "
        )
        return text.encode("ascii", "backslashreplace").decode()


class Forms:
    """The forms of one source, in the order in which they are added."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.forms: list[Form] = []

    def entered(self, function: str, *lines: str, way: str = "entered") -> None:
        """Add forms of lines as in ``%funcs call NAME LINE``, or of the bodies of cells."""
        self.forms += [Form(self.source, function, way, text=line) for line in lines]

    def passed(
        self, function: str, *several: dict[str, Any], way: str = "call"
    ) -> None:
        """Add forms of values from Python."""
        self.forms += [
            Form(self.source, function, way, values=values) for values in several
        ]

    def entered_kinds(self, function: str, kinds: str) -> None:
        """Add the texts that are entered for parameters of some kinds."""
        for kind in kinds.split():
            self.entered(function, *(f"{kind}={text}" for text in KINDS[kind].entered))

    def passed_kinds(self, function: str, kinds: str) -> None:
        for kind in kinds.split():
            self.passed(function, *({kind: value} for value in KINDS[kind].passed))

    def unchecked_kinds(self, function: str, kinds: str) -> None:
        for kind in kinds.split():
            self.passed(
                function,
                *({kind: value} for value in KINDS[kind].unchecked),
                way="unchecked",
            )


def of_the_demo() -> Forms:
    """Return forms of each function of the embedded service."""
    add = Forms("demo")
    panel = {"PanelName": "Demo Card Panel"}
    daily = panel | {"Symbol": "BKQU US EQUITY"}
    add.passed("Get Panels", {})
    add.passed("Get Universe", {})
    add.entered("Get Universe", "Symbol=BKQU")
    add.entered(
        "Get Panel Dimensions",
        'PanelName="Demo Card Panel" Dimensions=[Region, "Age Group"]',
        "PanelName=Demo Dimensions=region",
        "PanelName=Demo Dimensions=Region,Brand",
        "PanelName=Demo Dimensions=[Region, Country]",
        "Dimensions=[Region]",
    )
    add.passed(
        "Get Panel Dimensions",
        panel | {"Dimensions": ["Age Group"]},
        panel | {"Dimensions": pd.Index(["Region", "Brand"])},
        panel | {"Dimensions": []},
    )
    add.passed(
        "Get Panel Dimensions", {}, panel | {"Dimensions": ["Country"]}, way="unchecked"
    )
    add.entered(
        "Get Panel Daily",
        'PanelName="Demo Card Panel" Symbol="BKQU US EQUITY"',
        "panel_name=Demo Symbol=BKQU PoPGrowth=yes PoPLookback=7 Dimensions=[Region]",
        "PanelName=Demo Brand=[A, A, 'O\"Brien, Inc']",
        "PanelName=Demo Brand=A,B PoPGrowth=true",
        "PanelName=Demo Symbol=BKQU PoPLookback=51",
        "PanelName=Demo Symbol=BKQU PoPLookback=$seven PoPGrowth=maybe",
        "PanelName=' Demo ' Symbol=007",
        "PanelName=Demo Symbol=[BKQU, NVRA]",
        "PanelName=Demo",
    )
    add.entered(
        "Get Panel Daily",
        '{"PanelName": "Demo", "Symbol": "BKQU", "PoPLookback": 7, "PoPGrowth": true, "Dimensions": ["Region"]}',
        '{"PanelName": "Demo", "Symbol": null, "Brand": ["A", 7], "PoPLookback": 7.0}',
        "PanelName: Demo\nSymbol: BKQU\nPoPLookback: 7\nPoPGrowth: No",
        "PanelName: Demo\nBrand: [A,\nB]\nPoPLookback: $seven",
        way="cell",
    )
    every = {
        "PoPGrowth": True,
        "PoPLookback": 3,
        "Dimensions": ["Region", "Brand"],
        "Brand": ["A", "B"],
    }
    add.passed(
        "Get Panel Daily",
        daily,
        daily | every,
        daily | {"PoPGrowth": "YES", "PoPLookback": np.int64(7)},
        daily | {"PoPGrowth": 1},
        daily | {"PoPLookback": Decimal("7.0")},
        daily | {"PoPLookback": 7.5},
        daily | {"PoPLookback": "7"},
        daily | {"PoPLookback": True},
        daily | {"PoPLookback": None, "Brand": "", "Dimensions": []},
        panel | {"Brand": pd.Series(["A", "B"])},
        panel | {"Brand": ["A", "", "A"]},
        panel | {"Symbol": 7},
        panel | {"Symbol": DAY},
        panel | {"Symbol": "\t"},
        panel | {"Symbol": ["BKQU", "NVRA"]},
        {"PanelName": np.str_("Demo"), "Symbol": "BKQU"},
    )
    add.passed(
        "Get Panel Daily",
        {"Symbol": "BKQU"},
        daily | {"PoPLookback": 99, "PoPGrowth": "maybe", "Dimensions": "Country"},
        daily | {"PoPGrowth": False, "Brand": [7, True]},
        way="unchecked",
    )
    add.passed(
        "Get Panel Daily",
        daily | every,
        daily | {"Brand": None, "PoPLookback": ""},
        way="form",
    )
    add.passed(
        "Get Panel FQ",
        daily,
        daily | every | {"UseReportedForCurrentPeriod": False, "PeriodToDate": "Yes"},
        daily | {"UseReportedForCurrentPeriod": np.False_},
    )
    add.entered(
        "Get Panel FQ",
        "PanelName=Demo Symbol=BKQU PeriodToDate=Y UseReportedForCurrentPeriod=false",
    )
    add.passed(
        "Get KPIs",
        {"Symbol": "BKQU"},
        {"Symbol": "BKQU", "PrimaryOnly": False} | panel,
        panel,
    )
    add.entered("Get KPIs", "Symbol=BKQU PrimaryOnly=no", "Symbol=BKQU PrimaryOnly=0")
    report = {"report_id": "RPT-101"}
    add.passed(
        "Get Report",
        report,
        report
        | {
            "report_time_unit": "week",
            "report_time_after": DAY,
            "shopper_generation": "Gen X",
            "brands": ["Lodgemoor"],
        },
        report | {"report_time_after": pd.Timestamp("2026-03-01")},
        report | {"report_time_after": MOMENT},
        report | {"report_time_unit": "Weekly"},
        {"report_id": "rpt-102", "brands": ("Lodgemoor", "suitelorn")},
        {"report_id": 101},
    )
    add.entered(
        "Get Report",
        "report_id=RPT-101 report_time_after=2026-03-01 brands=[Lodgemoor, Suitelorn]",
        "report_id=RPT-101 report_time_after=01/03/2026",
        "report_id=RPT-101 report_time_after=$day brands=Lodgmoor",
    )
    add.passed(
        "Get Report",
        report | {"report_time_after": "soon", "brands": ["None"]},
        way="unchecked",
    )
    return add


def of_published_functions() -> Forms:
    """Return forms of functions that are published with ``@function``."""
    add = Forms("published")
    add.entered_kinds("Published Kinds", "text whole flag day choice texts maybe")
    add.passed_kinds("Published Kinds", "text whole flag day texts maybe counts")
    add.unchecked_kinds("Published Kinds", "whole texts")
    needed = {"name": "a", "count": 2, "wanted": ["p"], "on": True, "when": DAY}
    add.passed(
        "Published Needs",
        needed,
        needed | {"count": 10},
        needed | {"wanted": []},
        needed | {"name": " "},
        {"name": "a"},
    )
    add.passed(
        "Published Needs",
        {"name": "a"},
        needed | {"on": None, "count": 0},
        way="unchecked",
    )
    add.entered(
        "Published Needs",
        "name=a count=2 wanted=p on=no when=2026-03-01",
        "name=a count=2 wanted=[] on=no",
    )
    add.passed(
        "Published Defaults",
        {},
        dict.fromkeys(["name", "count", "wanted", "on", "when", "ratio"]),
    )
    add.passed(
        "Published Defaults",
        {"name": "", "count": 0, "wanted": [], "on": False, "ratio": 0},
        way="form",
    )
    add.entered(
        "Published Defaults",
        '{"name": null, "count": 0, "wanted": [], "on": false, "ratio": 1}',
        "name: null\ncount: 0\nwanted: []\non: no",
        way="cell",
    )
    add.passed(
        "Published Structures",
        {"model": {"x": 1, "tags": ["a", ""]}},
        {"model": Model(x=1)},
        {"models": [{"x": 1}, {"x": 2}]},
        {"models": []},
        {"pair": {"low": 1, "high": 2}},
        {"pair": {"low": 1}},
        {"matrix": [[1, 2.5], []]},
        {"matrix": np.eye(2)},
        {"flags": [True, False, True]},
        {"flags": ["yes", "no"]},
        {"days": [DAY, "2026-03-02"]},
        {"days": pd.date_range("2026-03-01", periods=2)},
        {"either": {"x": 1}},
        {"either": [{"x": 1}]},
        {"either": Point(1)},
    )
    add.entered(
        "Published Structures",
        'model={"x": 1}',
        'models=[{"x": 1}]',
        "matrix=[[1, 2], [3]]",
        "flags=[yes, No, true]",
        "days=[2026-03-01]",
        'either=[{"x": 1}]',
    )
    return add


def of_bodies() -> list[Forms]:
    """Return forms of operations with a body."""
    kinds = Forms("openapi-body")
    kinds.entered_kinds(
        "POST /kinds", "number moment numbers maybe either wording point anything"
    )
    kinds.passed_kinds(
        "POST /kinds", "text number grade numbers maybe either wording point anything"
    )
    kinds.unchecked_kinds("POST /kinds", "text number flag choice point anything")
    kinds.passed(
        "POST /kinds",
        {},
        {
            "text": "a",
            "whole": 1,
            "flag": True,
            "day": DAY,
            "texts": ["a"],
            "point": {"x": 1},
            "anything": "a",
        },
    )
    kinds.passed(
        "POST /kinds",
        {"text": "", "maybe": None, "texts": [], "anything": [], "point": {}},
        way="form",
    )
    kinds.entered(
        "POST /kinds",
        '{"text": "7", "whole": 7, "either": "7", "wording": 7, "maybe": null, "texts": [], "anything": "1E5"}',
        "text: 7\nwhole: 7\neither: 7\nmaybe: null\ntexts: [a, b]\nanything: 1E5",
        way="cell",
    )
    add = Forms("openapi-bodies")
    add.passed("POST /required", {"a": 1}, {"b": "x"}, {"a": None})
    add.passed("POST /required", {"b": "x"}, {}, way="unchecked")
    add.passed(
        "POST /const",
        {},
        {"kind": "card"},
        {"kind": "other"},
        {"n": 7},
        {"n": "7"},
        {"level": None},
    )
    add.entered("POST /const", "kind=card n=7", "level=3")
    mixed: list[Any] = [1, "1", None, True, "auto", "true", 2]
    add.passed("POST /mixed-enum", *({"value": value} for value in mixed))
    add.entered("POST /mixed-enum", "value=1", "value=auto", "value=null", "value=true")
    add.passed(
        "POST /nullable",
        {"text": None},
        {"text": ""},
        {"text": "null"},
        {"texts": None},
        {"texts": []},
    )
    add.entered(
        "POST /nullable",
        "text=null",
        'text=""',
        "texts=null",
        "texts=[]",
        "text=json:null",
    )
    add.passed(
        "POST /one-of",
        *({"value": value} for value in (1, True, [1, 2], "1", "yes", 1.0, "[1]")),
    )
    add.entered("POST /one-of", "value=1", "value=true", "value=[1, 2]", "value=[]")
    nested = {"point": {"x": 1}, "lines": [{"x": 1, "y": 2}, {"x": 3}]}
    add.passed(
        "POST /nested",
        {"order": nested},
        {"order": {"lines": []}},
        {"order": {"point": {"x": "a"}}},
    )
    add.passed(
        "POST /nested", {"order.point": {"x": 1}}, {"order": {"point": Point(1)}}
    )
    add.passed(
        "POST /flags",
        {"flags": [True, "no", np.True_]},
        {"flags": [1]},
        {"flags": True},
    )
    add.entered("POST /flags", "flags=[true, No]", "flags=yes")
    add.passed("POST /listed", {"grades": [1, "2"]}, {"grades": 3}, {"rates": [1, 1]})
    add.passed(
        "POST /matrix",
        {"rows": [[1, 2], []]},
        {"rows": np.eye(2, dtype=int)},
        {"rows": [1]},
    )
    add.entered("POST /matrix", "rows=[[1, 2], [3]]", "rows=[[01]]")
    whole: list[Any] = [{"a": 1}, [1, "a"], 7, "7", "text", True, [], {}, ""]
    add.passed("POST /anything", *({"body": value} for value in whole))
    add.entered(
        "POST /anything",
        "body=7",
        "body=text",
        'body={"a": 1}',
        "body=[1, 2]",
        "body=null",
    )
    add.passed("POST /no-schema", {}, {"body": {"a": 1}}, {"body": "7"})
    add.passed(
        "POST /list", {"body": [1, 2]}, {"body": 1}, {"body": []}, {"body": ["1"]}
    )
    add.entered("POST /list", "body=[1, 2]", "body=[]")
    add.passed("POST /text", {"body": "a"}, {"body": 7}, {"body": " "})
    add.passed(
        "POST /free", {"body": {"a": DAY, "b": None}}, {"body": {}}, {"body": "{}"}
    )
    add.passed(
        "POST /union",
        {"body": {"x": 1}},
        {"body": {"text": 7}},
        {"body": {"x": 1, "text": "a"}},
    )
    add.passed("POST /optional", {}, {"a": 1})
    add.passed(
        "POST /form",
        {},
        {"text": "a b&c", "whole": 7, "flag": False},
        {"texts": ["a", "b"]},
        {"texts": []},
        {"point": {"x": 1}},
    )
    add.entered("POST /form", "text=é whole=7 flag=yes", "texts=[a, a]")
    add.passed(
        "POST /form-styles", {"ids": [1, 2], "o": {"x": 1, "y": 0.5}}, {"ids": [1]}
    )
    add.passed("POST /vendor", {"a": 1})
    add.passed("POST /several", {"a": 1})
    add.passed("POST /upload", {"file": "a"})
    add.passed(
        "PUT /put/{id}",
        {"id": 7, "body.id": "b", "a": 1, "q": "x", "X-Mode": "fast"},
        {"id": 0},
    )
    older = Forms("openapi-3.0")
    older.passed(
        "POST /nullable",
        {"whole": None},
        {"whole": 7},
        {"choice": None},
        {"choice": "a"},
        {"choice": "null"},
    )
    older.entered("POST /nullable", "whole=null", "choice=null")
    older.passed("GET /bounds", {"n": 0}, {"n": 1}, {"n": "10"})
    older.passed("GET /bounds", {"n": 0}, way="unchecked")
    return [kinds, add, older]


def of_addresses() -> list[Forms]:
    """Return forms of operations with parameters in the query, the path and headers."""
    kinds = Forms("openapi-query")
    kinds.entered_kinds("GET /kinds", "anything")
    kinds.passed_kinds("GET /kinds", "anything")
    kinds.passed(
        "GET /kinds",
        {"text": "a b", "whole": 7, "flag": True, "day": DAY, "texts": ["a", "b,c"]},
    )
    add = Forms("openapi-styles")
    add.passed(
        "GET /form",
        {"ids": [1, 2]},
        {"o": {"x": 1, "y": 0.5}},
        {"words": ["a b", "c&d", ""]},
        {"ids": []},
    )
    add.entered("GET /form", "ids=[1, 2] words=[a, a]", "ids=1")
    add.passed(
        "GET /csv",
        {"ids": [1, 2]},
        {"words": ["a,b", "c"]},
        {"words": [""]},
        {"ids": np.arange(3)},
    )
    add.passed("GET /pairs", {"o": {"x": 1, "y": 0.5}})
    add.passed("GET /pipes", {"ids": ["a|b", "c"]})
    add.passed("GET /spaces", {"ids": ["a", "b c"]})
    add.passed("GET /deep", {"o": {"a": 1, "b": [1, 2], "c": {"d": None}}}, {"o": {}})
    add.entered("GET /deep", 'o={"a": true}')
    add.passed("GET /json", {"o": {"x": 1}})
    add.passed("GET /json-text", {"o": "a"}, {"o": "7"})
    add.passed("GET /objects", {"several": [{"x": 1}, {"x": 2}]})
    add.passed("GET /empty", {"q": ""}, {"reserved": "a/b?c"})
    add.passed(
        "GET /need",
        {"q": "a"},
        {"page": 2},
        {"q": "a", "page": 0},
        {"q": 7, "page": "2"},
    )
    add.passed("GET /need", {}, {"q": "a", "page": 0}, way="unchecked")
    add.passed(
        "GET /simple/{id}",
        {"id": "a/b c"},
        {"id": 7},
        {"id": ".."},
        {"id": ""},
        {"id": DAY},
    )
    add.entered("GET /simple/{id}", "id=007", "id=1E5", "id=é")
    add.passed("GET /simple-ids/{ids}", {"ids": [1, 2]}, {"ids": []})
    add.passed("GET /simple-object/{o}", {"o": {"x": 1, "y": 2}})
    add.passed("GET /exploded/{o}", {"o": {"x": 1, "y": 2}})
    add.passed("GET /label/{id}", {"id": "a"})
    add.passed("GET /matrix/{id}", {"id": "a"})
    add.passed(
        "GET /untyped/{id}", {"id": "1E5"}, {"id": 1e5}, {"id": "007"}, {"id": [1, 2]}
    )
    add.entered("GET /untyped/{id}", "id=1E5", "id=007", "id=true")
    add.passed(
        "GET /header",
        {"X-Text": " a "},
        {"X-Ids": [1, 2]},
        {"X-Whole": 7},
        {"X-Text": "a\nb"},
        {"X-Text": "é"},
    )
    add.passed("GET /cookie", {"q": "a"}, {"session": "a"})
    untyped: list[Any] = ["1E5", 1e5, "007", 7, True, [1, 2], {"a": 1}, DAY, "null"]
    add.passed("GET /untyped", *({"q": value} for value in untyped), {"r": "1E5"})
    add.entered("GET /untyped", "q=1E5", "q=007", "q=[1, 2]", "q=true", "r=1E5")
    return [kinds, add]


def of_tools() -> Forms:
    """Return forms of MCP tools."""
    add = Forms("mcp")
    add.entered_kinds("kinds", "anything")
    add.passed_kinds("kinds", "maybe anything")
    add.unchecked_kinds("kinds", "anything")
    add.passed(
        "kinds",
        {},
        {
            "day": DAY,
            "moment": MOMENT,
            "choice": "week",
            "grade": 1,
            "counts": {"a": 1},
        },
    )
    add.passed(
        "needs",
        {"name": "a", "count": 1, "unlisted": "x"},
        {"name": "a", "count": 1, "unlisted": 7},
        {"name": "a"},
    )
    add.passed("needs", {"name": "a"}, way="unchecked")
    add.passed(
        "nested",
        {"order": {"point": {"x": 1}, "ids": [1]}},
        {"order": {"ids": ["a"]}},
        {"order": {}},
    )
    add.entered("nested", 'order={"ids": [1, 2]}')
    several: list[Any] = [[1, 2], 1, None, [], "1", "[1]"]
    add.passed("unions", *({"several": value} for value in several))
    add.passed(
        "unions", *({"mixed": value} for value in ("7", 7, True, "true", "", None))
    )
    add.passed(
        "unions",
        {"pair": [1, "a"]},
        {"ref": "red"},
        {"ref": None},
        {"ref": "green"},
        {"const": 7},
        {"const": 8},
    )
    add.entered(
        "unions",
        "several=[1, 2]",
        "several=1",
        "mixed=7",
        "mixed=true",
        "pair=[1, a]",
        "ref=red",
        "ref=null",
    )
    add.passed("whole", {"arguments": {"a": 1}}, {"arguments": {"b": 7}})
    add.passed("open", {})
    add.passed("nothing", {})
    return add


def of_python_functions() -> Forms:
    """Return forms of Python functions."""
    add = Forms("python")
    add.entered_kinds("Kinds", "either anything")
    add.passed_kinds("Kinds", "moment maybe either anything")
    add.passed(
        "Kinds",
        {},
        {
            "day": DAY,
            "choice": "week",
            "grade": 1,
            "counts": {"a": 1},
            "point": Point(1, 2),
        },
    )
    odd: list[dict[str, Any]] = [
        {"color": "red"},
        {"color": Color.BLUE},
        {"color": "RED"},
        {"colors": [Color.RED, "blue"]},
        {"exact": Decimal("1.50")},
        {"exact": "1.50"},
        {"exact": 0.1},
        {"span": dt.timedelta(hours=2)},
        {"span": "P1D"},
        {"time": dt.time(14, 30)},
        {"path": PurePosixPath("a/b")},
        {"path": "a/b"},
        {"model": Model(x=1)},
        {"model": {"x": 1, "tags": [""]}},
        {"pair": {"low": 1, "high": 2}},
        {"names": {"a"}},
        {"names": ["a", "a"]},
        {"couple": (1, "a")},
        {"frame": pd.DataFrame({"a": [1]})},
        {"any_value": 7},
        {"any_value": "7"},
        {"any_value": Point(1)},
        {"any_value": pd.Series([1, 2])},
        {"any_value": Decimal("1.50")},
        {"any_value": float("inf")},
        {"any_value": DAY},
        {"thing": b"a"},
        {"thing": np.int64(7)},
        {"thing": (1, 2)},
        {"data": b"a"},
        {"data": "a"},
        {"days": [DAY, "2026-03-02"]},
        {"several": [1, "a", None]},
        {"several": ("1",)},
        {"mapping": {1: DAY}},
    ]
    add.passed("More Kinds", *odd)
    add.entered(
        "More Kinds",
        "color=RED",
        "exact=1.50",
        "span=2:00",
        "names=[a, b]",
        "any_value=1E5",
        "several=[1, a]",
    )
    add.passed(
        "Guessed",
        {"count": "7"},
        {"ratio": 1},
        {"name": 7},
        {"on": "no"},
        {"items": ["a"]},
        {"nothing": "7"},
    )
    add.entered(
        "Guessed",
        "count=7",
        "ratio=1",
        "name=007",
        "on=no",
        "items=[1, 2]",
        "nothing=7",
    )
    bare: list[Any] = [
        7,
        "7",
        "1E5",
        " a ",
        "",
        None,
        [0.5, 0.5],
        [],
        (1, 2),
        {"a": {1}},
        DAY,
        Point(1),
        b"a",
        True,
    ]
    bare += [
        float("nan"),
        float("-inf"),
        pd.Series([1]),
        pd.DataFrame({"a": [1]}),
        np.int64(7),
        Decimal("1.50"),
        Color.RED,
    ]
    add.passed("Bare", *({"value": value} for value in bare))
    add.passed(
        "Bare", {}, {"value": "7"}, {"value": pd.DataFrame({"a": [1]})}, way="unchecked"
    )
    add.passed("Bare", {"value": None}, {"value": "1E5"}, way="form")
    add.entered(
        "Bare",
        "value=7",
        "value=$seven",
        "value=$column",
        "value=$nothing",
        "value=[1, a]",
    )
    add.passed(
        "Starred",
        {"first": 1},
        {"first": 1, "rest": [2, 3]},
        {"first": 1, "last": "a"},
        {"rest": [2]},
    )
    add.passed("Starred", {"first": 1, "more": {"b": "c"}}, {"first": 1, "b": "c"})
    return add


def all_forms() -> Iterator[Form]:
    every = [
        of_the_demo(),
        of_published_functions(),
        *of_bodies(),
        *of_addresses(),
        of_tools(),
        of_python_functions(),
    ]
    for forms in every:
        yield from forms.forms


FORMS: Iterable[Form] = tuple(all_forms())
