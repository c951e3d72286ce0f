"""A value reaches a Python function with its own type, however it was entered."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
import pytest

import jupyter_funcs as jf
from jupyter_funcs.catalog.values import Each
from jupyter_funcs.cli import main as cli
from jupyter_funcs.panel.form_view import FormView
from jupyter_funcs.records.presets import Presets, fill, form_values
from tests.examples import row_id
from tests.shells import shell_with

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_funcs.api import Session

arrived: list[dict[str, Any]] = []


def kinds(
    bare="unset",  # noqa: ANN001  # nothing is declared
    text: str = "unset",
    whole: int = -1,
    number: float = -1,
    exact: Decimal = Decimal(-1),
    day: dt.date | None = None,
    either: str | int = "unset",
    turned: int | str = "unset",
    worded: str | float | None = "unset",
    maybe: int | None = 5,
    perhaps: str | None = "unset",
    texts: list[str] | None = None,
    numbers: list[float] = [-1],  # noqa: B006  # as people write it
    mixed: Literal[1, "1"] | None = "1",
    ids: list[str] | int = -1,
    odd: list[str] = 1,  # type: ignore[assignment]  # as people write it
    free: dict[str, Any] | list[Any] | None = None,
    table: pd.DataFrame | None = None,
) -> list[dict[str, str]]:
    """Note the arguments."""
    arrived.append(dict(locals()))
    return [{"arrived": "yes"}]


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    session = jf.connect([kinds])
    yield session
    session.close()


@pytest.fixture(scope="module")
def shell(session: Session) -> Iterator[InteractiveShell]:
    with shell_with(session) as shell:
        yield shell


@pytest.fixture(autouse=True)
def _nothing_arrived() -> None:
    arrived.clear()


def got(name: str) -> Any:
    """Return the value of a parameter in the last and only call."""
    [call] = arrived
    arrived.clear()
    return call[name]


def is_alike(value: Any, expected: Any) -> bool:
    """Return whether two values are equal and of one type, in depth."""
    return type(value) is type(expected) and repr(value) == repr(expected)


# From Python


def by_call(session: Session, name: str, value: Any, _: Path) -> None:
    session.kinds(**{name: value})


def by_form(session: Session, name: str, value: Any, _: Path) -> None:
    form = session.kinds.form()
    form[name] = value
    session.kinds.submit(form).result()


def by_sweep(session: Session, name: str, value: Any, _: Path) -> None:
    session.kinds.with_options(cache=False).sweep(**{name: Each((value,))})


def by_table(session: Session, name: str, value: Any, _: Path) -> None:
    column = np.empty(1, dtype=object)
    column[0] = value
    session.kinds.with_options(cache=False).sweep(pd.DataFrame({name: column}))


def by_history(session: Session, name: str, value: Any, _: Path) -> None:
    session.kinds(**{name: value})
    arrived.clear()
    session.history.again(session.history.runs[-1].number)


def by_preset(session: Session, name: str, value: Any, folder: Path) -> None:
    form = session.kinds.form(**{name: value})
    Presets("demo", folder / "presets.toml").save("kinds", "mine", form_values(form))
    filled = session.kinds.form()
    assert (
        fill(filled, Presets("demo", folder / "presets.toml").get("kinds", "mine"))
        == []
    )
    session.kinds.submit(filled).result()


PASSING = [by_call, by_form, by_sweep, by_table, by_history, by_preset]
BLANK = [" ", "\t", "\n x ", "\u00a0", ""]
NOT_ONLY_TEXT = [
    "7",
    "007",
    "1E5",
    "true",
    "null",
    "[1, 2]",
    "{}",
    "json:7",
    "'json:7'",
    '"7"',
    "$5",
]

# Values of a type that the parameter allows.
SAME: dict[str, list[Any]] = {
    "text": [*BLANK, *NOT_ONLY_TEXT],
    "perhaps": ["", " ", None],
    "either": [*NOT_ONLY_TEXT, "", "\t", 7, 0, -(10**30)],
    "turned": ["7", "1E5", "{}", "", " ", 7, 0],
    "worded": ["3.10", "7", "null", "", 0.1, 1e22, None],
    "bare": [
        "007",
        "json:7",
        "",
        " ",
        7,
        1e5,
        True,
        None,
        [],
        [1, "1", None],
        {"a": [0.5]},
        {},
    ],
    "maybe": [7, 0, None],
    "mixed": [1, "1", None],
    "texts": [[], [""], ["b", "a", "b"], [" ", "", " "], ["1", "01"], None],
    "numbers": [[], [2.5, -0.0, 2.5]],
    "ids": [["7"], ["b", "a", "b"], 7, []],
    "odd": [["1"], []],
    "whole": [0, 2**53 + 1, -(2**80)],
    "number": [0.1, 5e-324, 1.7976931348623157e308],
    "exact": [Decimal("1.50"), Decimal("0.12345678901234567890123")],
    "free": [{}, {"a": [1, "1", None, {"b": 1.5}]}, None],
}


@pytest.mark.fault(155)
@pytest.mark.fault(156)
@pytest.mark.parametrize("way", PASSING)
@pytest.mark.parametrize(("name", "values"), SAME.items(), ids=SAME)
def test_a_value_of_an_allowed_type_arrives_as_it_is(
    session: Session,
    tmp_path: Path,
    way: Callable[..., None],
    name: str,
    values: list[Any],
) -> None:
    """Blank, empty and null values, repeats, long numbers and texts that look like numbers, if they are declared."""
    for value in values:
        # A cell without a value leaves its argument out.
        if way is by_table and value is None:
            continue
        way(session, name, value, tmp_path)
        received = got(name)
        assert is_alike(received, value), (received, value)


@pytest.mark.fault(155)
@pytest.mark.parametrize(("name", "values"), SAME.items(), ids=SAME)
def test_a_variable_in_a_magic_arrives_as_it_is(
    shell: InteractiveShell, name: str, values: list[Any]
) -> None:
    """In a line and in a cell."""
    for value in values:
        shell.user_ns["held"] = value
        shell.run_line_magic("funcs", f"call kinds {name}=$held -q")
        assert is_alike(received := got(name), value), (received, value)
        shell.run_cell_magic("funcs", "call kinds -q", f"{name}: $held")
        assert is_alike(received := got(name), value), (received, value)


@pytest.mark.fault(155)
def test_a_cell_of_json_has_its_types(shell: InteractiveShell) -> None:
    """Texts, numbers, null and lists keep their types."""
    values = {
        "either": "7",
        "turned": 7,
        "worded": None,
        "texts": ["", "1"],
        "perhaps": "",
        "free": {"a": [1, "1"]},
    }
    shell.run_cell_magic("funcs", "call kinds -q", json.dumps(values))
    [call] = arrived
    assert {name: call[name] for name in values} == values


@pytest.mark.fault(155)
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("either", ["7", 7, "07", 7, "7"]),
        ("mixed", [1, "1", None]),
        ("maybe", [None, 7]),
        ("texts", [["a", "b"], ["b", "a"], ["a", "b", "b"], []]),
        ("bare", [1, 1.0, "1", True]),
        ("text", ["", " ", "  "]),
    ],
)
def test_the_runs_of_a_sweep_differ_by_type_and_order(
    session: Session, name: str, values: list[Any]
) -> None:
    """``7`` and ``"7"`` are two runs; the same value twice is one."""
    function = session.kinds.with_options(cache=False)
    told = sorted({repr(value) for value in values})
    function.sweep(**{name: Each(tuple(values))})
    assert sorted(repr(call[name]) for call in arrived) == told
    if None not in values:
        arrived.clear()
        function.sweep(pd.DataFrame({name: pd.Series(values, dtype=object)}))
        assert sorted(repr(call[name]) for call in arrived) == told


def test_a_cell_of_a_table_without_a_value_leaves_its_argument_out(
    session: Session,
) -> None:
    """Although the function accepts null."""
    session.kinds.sweep(
        pd.DataFrame(
            {"maybe": pd.array([7, None], dtype="Int64"), "perhaps": [None, "x"]}
        )
    )
    assert sorted((call["maybe"], call["perhaps"]) for call in arrived) == [
        (5, "x"),
        (7, "unset"),
    ]


# Values of another type, which are converted without loss or refused

CONVERTED: list[tuple[str, Any, Any]] = [
    *(
        ("whole", value, 7)
        for value in (
            7.0,
            Decimal("7.00"),
            Fraction(7),
            np.int64(7),
            np.float32(7),
            "7.0",
            " 7 ",
        )
    ),
    ("whole", pd.array([7], dtype="Int64")[0], 7),
    ("whole", np.uint64(2**64 - 1), 2**64 - 1),
    ("number", Decimal("0.1"), 0.1),
    ("number", Fraction(3, 8), 0.375),
    ("number", np.float32(0.5), 0.5),
    ("number", np.int64(3), 3.0),
    ("number", "1e-7", 1e-7),
    ("exact", 0.1, Decimal("0.1")),
    ("exact", "2.50", Decimal("2.50")),
    ("exact", np.float64(0.25), Decimal("0.25")),
    ("either", np.str_("7"), "7"),
    ("either", np.int64(7), 7),
    ("worded", np.float64(0.1), 0.1),
    ("text", 7, "7"),
    ("text", Decimal("1.50"), "1.50"),
    ("text", dt.date(2026, 3, 1), "2026-03-01"),
    ("day", pd.Timestamp("2026-03-01"), dt.date(2026, 3, 1)),
    ("texts", "a", ["a"]),
    ("texts", pd.Series(["b", "a", "b"]), ["b", "a", "b"]),
    ("texts", np.array(["b", "", "b"]), ["b", "", "b"]),
    ("numbers", np.array([2, 1, 2]), [2.0, 1.0, 2.0]),
    ("numbers", pd.Index([0.5]), [0.5]),
    ("ids", "7", 7),
]
REFUSED: list[tuple[str, Any]] = [
    *(
        ("whole", value)
        for value in (
            1.5,
            Decimal("7.1"),
            Fraction(1, 3),
            True,
            " ",
            "seven",
            float("nan"),
        )
    ),
    *(("number", value) for value in (Fraction(1, 3), True, " ", "1,5", 10**400, "x")),
    *(("either", value) for value in (0.5, [7], pd.NA, {"a": 1})),
    *(("maybe", value) for value in (" ", "x", 1.5)),
    *(("mixed", value) for value in (2, "2", " ")),
    *(("day", value) for value in ("soon", pd.NaT, pd.Timestamp("2026-03-01 12:30"))),
    *(("texts", value) for value in ({"a": 1}, [["a"]], iter("a"))),
    *(("ids", value) for value in ([7], 0.5, {"a": 1})),
]


@pytest.mark.parametrize(("name", "value", "expected"), CONVERTED, ids=row_id)
def test_a_value_of_another_type_is_converted_if_nothing_is_lost(
    session: Session, name: str, value: Any, expected: Any
) -> None:
    """From numpy, pandas, Decimal and Fraction, and from texts to the declared type."""
    session.kinds(**{name: value})
    received = got(name)
    assert is_alike(received, expected), received


@pytest.mark.parametrize(("name", "value"), REFUSED, ids=row_id)
def test_a_value_that_would_lose_something_is_refused(
    session: Session, name: str, value: Any
) -> None:
    """The function isn't called, and the error names the parameter."""
    with pytest.raises(jf.ArgumentError, match=f"(?i){name}"):
        session.kinds(**{name: value})
    assert not arrived


def test_what_is_empty_clears_a_field_that_does_not_declare_it(
    session: Session,
) -> None:
    """``None`` clears a text, and an empty text clears a number or a date."""
    empty = [
        ("text", None),
        ("whole", ""),
        ("number", None),
        ("day", ""),
        ("numbers", None),
        ("exact", ""),
    ]
    empty += [("maybe", ""), ("mixed", ""), ("number", []), ("text", [])]
    for name, value in empty:
        form = session.kinds.form(**{name: value})
        assert (form.is_set(name), form.args, form.errors) == (False, {}, {}), name


@pytest.mark.fault(155)
def test_without_validation_exactly_what_was_given_arrives(session: Session) -> None:
    """Values that the annotation refuses are passed on too, for the function's own check."""
    for name, value in (
        ("text", ""),
        ("text", None),
        ("texts", []),
        ("bare", [1, "1"]),
        ("numbers", [1.5, 1.5]),
    ):
        form = jf.Form(session.kinds, validate=False, **{name: value})
        assert is_alike(form.args[name], value)
    for name, value in (
        ("whole", "7"),
        ("texts", "a"),
        ("maybe", ""),
        ("mixed", 9),
        ("day", "soon"),
        ("whole", True),
    ):
        form = jf.Form(session.kinds, validate=False, **{name: value})
        assert is_alike(form.args[name], value), name
        assert (form.errors, form.warnings) == ({}, {})


# Entered texts


def by_line(
    shell: InteractiveShell, session: Session, name: str, text: str, monkeypatch: Any
) -> None:
    shell.run_line_magic("funcs", f"call kinds {name}={json.dumps(text)} -q")


def by_cell(
    shell: InteractiveShell, session: Session, name: str, text: str, monkeypatch: Any
) -> None:
    shell.run_cell_magic("funcs", "call kinds -q", f"{name}: {text}")


def by_panel(
    shell: InteractiveShell, session: Session, name: str, text: str, monkeypatch: Any
) -> None:
    view = FormView(session.kinds, session.kinds.form(), lambda: None)
    view.take({name: text})
    session.kinds.submit(view.form).result()


def by_shell(
    shell: InteractiveShell, session: Session, name: str, text: str, monkeypatch: Any
) -> None:
    monkeypatch.setattr(cli, "_session", lambda _: session)
    assert cli.main(["call", "kinds", f"{name}={text}"]) == 0


ENTERED: dict[str, dict[str, Any]] = {
    "text": {
        "7": "7",
        "null": "null",
        "1E5": "1E5",
        "true": "true",
        "json:7": "json:7",
    },
    "either": {"7": "7", "1E5": "1E5", "null": "null", "json:7": 7, 'json:"7"': "7"},
    "turned": {"7": "7", "3.10": "3.10", "json: 7": 7},
    "worded": {
        "3.10": "3.10",
        "1e5": "1e5",
        "null": "null",
        "json:3.1": 3.1,
        "json:null": None,
    },
    "maybe": {"7": 7, "7.0": 7, "null": None, "json:null": None},
    "perhaps": {"7": "7", "null": "null", "json:null": None, "x y": "x y"},
    "mixed": {"1": "1", "json:1": 1, "null": None},
    "whole": {"7": 7, "7.0": 7, "1e3": 1000, "9007199254740993": 9007199254740993},
    "number": {"7": 7.0, "1e5": 1e5, "0.10": 0.1},
    "exact": {"1.50": Decimal("1.50"), "7": Decimal(7)},
    "bare": {"7": "7", "007": "007", "null": "null", "True": "True"},
    "free": {'{"a": [1, "1", null]}': {"a": [1, "1", None]}, "null": None},
}


@pytest.mark.fault(156)
@pytest.mark.parametrize("way", [by_line, by_cell, by_panel, by_shell])
@pytest.mark.parametrize(("name", "texts"), ENTERED.items(), ids=ENTERED)
@pytest.mark.usefixtures("capsys")
def test_entered_text_is_read_by_the_declared_type(
    shell: InteractiveShell,
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    way: Callable[..., None],
    name: str,
    texts: dict[str, Any],
) -> None:
    """If text is allowed it is text, whatever the order of the types, unless it begins with ``json:``."""
    for text, expected in texts.items():
        way(shell, session, name, text, monkeypatch)
        received = got(name)
        assert is_alike(received, expected), (text, received)


@pytest.mark.fault(155)
@pytest.mark.parametrize("blank", [" ", "\t", " x "])
def test_entered_white_space_is_a_value(
    shell: InteractiveShell, session: Session, blank: str
) -> None:
    """In quotes on a line, and in a control of the panel."""
    for name in ("text", "either", "bare"):
        shell.run_line_magic("funcs", f"call kinds {name}='{blank}' -q")
        assert got(name) == blank
        view = FormView(session.kinds, session.kinds.form(), lambda: None)
        view.take({name: blank, "texts": [blank, "a", blank]})
        assert (view.form.args[name], view.form.args["texts"]) == (
            blank,
            [blank, "a", blank],
        )


@pytest.mark.fault(155)
def test_an_entered_list_keeps_its_order_repeats_and_types(
    shell: InteractiveShell,
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On a line, in a cell and in a shell."""
    lists: dict[str, list[Any]] = {
        "free": [1, 2.5, "007", None],
        "texts": ["b", "a", "", "b"],
        "numbers": [2.5, 1.0, 2.5],
        "ids": ["7", "7"],
        "odd": ["1"],
    }
    for name, values in lists.items():
        text = json.dumps(values)
        for way in (by_cell, by_shell):
            way(shell, session, name, text, monkeypatch)
            assert is_alike(received := got(name), values), received
        shell.run_line_magic("funcs", f"call kinds {name}={text} -q")
        assert is_alike(received := got(name), values), received
    by_shell(shell, session, "ids", "json:[]", monkeypatch)
    assert got("ids") == []
    capsys.readouterr()


# Objects


@pytest.mark.fault(155)
@pytest.mark.parametrize("way", [by_call, by_form, by_sweep, by_table])
@pytest.mark.parametrize("name", ["bare", "table"])
def test_an_object_is_passed_by_reference(
    session: Session, tmp_path: Path, way: Callable[..., None], name: str
) -> None:
    """A table reaches the function as the same object."""
    frame = pd.DataFrame({"a": [1, None]})
    way(session, name, frame, tmp_path)
    assert got(name) is frame


@pytest.mark.fault(155)
def test_an_object_is_in_no_record(
    session: Session, shell: InteractiveShell, tmp_path: Path
) -> None:
    """The history has its type, repeating the run or saving a preset is refused, and no result is cached."""
    frame = pd.DataFrame({"a": ["a cell of the table"]})
    shell.user_ns["held"] = frame
    shell.run_line_magic("funcs", "call kinds table=$held -q")
    assert got("table") is frame
    run = session.history.runs[-1]
    assert (run.args, run.is_whole) == ({"table": "<DataFrame>"}, False)
    assert "a cell" not in json.dumps(run.to_json()) + repr(run)
    with pytest.raises(jf.ArgumentError, match="were not saved"):
        session.history.again(run.number)
    form = session.kinds.form(table=frame, text="x")
    assert "a cell" not in repr(form)
    with pytest.raises(jf.ArgumentError, match="cannot store table"):
        Presets("demo", tmp_path / "presets.toml").save(
            "kinds", "mine", form_values(form)
        )
    assert fill(form, {"table": None, "text": "y"}) == []
    assert form.args == {"table": None, "text": "y"}
    for _ in range(2):
        session.kinds.sweep(table=Each((frame,)))
        assert got("table") is frame


def test_an_object_that_changes_is_passed_as_it_is_then(session: Session) -> None:
    """A form holds it, not a copy."""
    form = session.kinds.form(bare=(values := [1]))
    values.append(2)
    session.kinds.submit(form).result()
    assert got("bare") == [1, 2]
