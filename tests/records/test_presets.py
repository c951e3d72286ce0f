"""Presets: they are kept per profile, hand-written content stays, and nothing is lost if a file can't be written."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import tomllib
import weakref
from typing import TYPE_CHECKING, Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import jupyter_funcs as jf
from jupyter_funcs.catalog.values import Each, Variable
from jupyter_funcs.connection import secrets
from jupyter_funcs.records.presets import Presets, fill, form_values, presets_file
from tests.conftest import PANEL, SYMBOL
from tests.examples import examples

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_funcs.api import Session

DAILY = {"PanelName": PANEL, "Symbol": SYMBOL}
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
ITEMS = (
    TEXTS
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.dates()
)
NAMES = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=80)


@pytest.fixture
def presets(tmp_path: Path) -> Presets:
    return Presets("demo", tmp_path / "new" / "presets.toml")


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A separate demo session; no other test sees its presets."""
    monkeypatch.setenv("FUNCS_PRESETS", str(tmp_path / "presets.toml"))
    return jf.connect()


@pytest.mark.slow
@hypothesis.settings(
    max_examples=examples(150),
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
@hypothesis.given(
    st.lists(
        st.tuples(
            TEXTS,
            NAMES,
            st.dictionaries(
                TEXTS,
                ITEMS
                | st.lists(ITEMS)
                | st.lists(ITEMS).map(lambda items: Each(tuple(items))),
            ),
        ),
        max_size=5,
    )
)
def test_what_is_saved_is_read_back(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    saved: list[tuple[str, str, dict[str, Any]]],
) -> None:
    """Any function, name and values come back as they were, whatever characters they are made of."""
    # Otherwise texts that contain a secret of another test would be masked.
    monkeypatch.setattr(secrets, "_alive", weakref.WeakSet())
    path = tmp_path / "presets.toml"
    path.unlink(missing_ok=True)
    expected: dict[tuple[str, str], dict[str, Any]] = {}
    for function, name, values in saved:
        Presets("demo", path).save(function, name, values)
        expected[function, name] = values
    for (function, name), values in expected.items():
        assert Presets("demo", path).get(function, name) == values
    for function, name in expected:
        Presets("demo", path).remove(function, name)
        assert name not in Presets("demo", path).names(function)


def test_each_profile_has_its_own(tmp_path: Path) -> None:
    """Other profiles don't see them, each function has its own, and only the file itself is left behind."""
    path = tmp_path / "presets.toml"
    first = Presets("demo", path)
    second = Presets("https://b.example", path)
    first.save("F", "x", {"A": "1"})
    first.save("G", "y", {"A": "2"})
    second.save("F", "z", {"A": "3"})
    assert (
        first.names("F"),
        first.names("G"),
        second.names("F"),
        second.names("G"),
    ) == (
        ["x"],
        ["y"],
        ["z"],
        [],
    )
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_person_wrote_stays(presets: Presets) -> None:
    """Comments, order and other presets of a hand-written file stay when one is replaced or removed."""
    presets.path.parent.mkdir()
    presets.path.write_text(
        '# ours\n[demo."Get KPIs".first]\nSymbol = "A" # the largest\nLookback = 3\n\n'
        '[demo."Get KPIs".second]\nDate = 2024-05-06\nRegion = ["x", "$regions"]\n\n[other]\nkept = true\n'
    )
    assert presets.get("Get KPIs", "second") == {
        "Date": dt.date(2024, 5, 6),
        "Region": ["x", Variable("regions")],
    }
    presets.save("Get KPIs", "first", {"Symbol": "A", "Lookback": 4})
    presets.save("Get KPIs", "third", {"Symbol": Each(("A", "B"))})
    presets.remove("Get KPIs", "second")
    assert presets.path.read_text() == (
        '# ours\n[demo."Get KPIs".first]\nSymbol = "A" # the largest\nLookback = 4\n\n'
        '[demo."Get KPIs".third]\nSymbol = {each = ["A", "B"]}\n\n[other]\nkept = true\n'
    )


def test_null_and_empty_values_are_kept(presets: Presets) -> None:
    """They are values although TOML has no null, and a form without them is filled."""

    def count(a: int | None = 5, b: str = "x", c: list[str] | None = None) -> int:
        return 1

    values: dict[str, Any] = {"a": None, "b": "", "c": []}
    form = jf.connect([count])["count"].form(**values)
    presets.save("F", "empty", form_values(form))
    assert presets.get("F", "empty") == values
    form.clear()
    assert fill(form, presets.get("F", "empty")) == []
    assert form.args == values


def test_tables_in_any_order(presets: Presets) -> None:
    """If a profile's tables are in two places of the file, a new preset is appended at the end."""
    presets.path.parent.mkdir()
    presets.path.write_text(
        before := "[demo.F.a]\nx = 1\n[demo.G.b]\nx = 2\n[other]\ny = 1\n[demo.F.c]"
    )
    presets.save("F", "c d", {"x": Each((1,))})
    assert (
        presets.path.read_text() == f'{before}\n\n[demo.F."c d"]\nx = {{each = [1]}}\n'
    )
    assert (presets.names("F"), presets.names("G")) == (["a", "c", "c d"], ["b"])


@pytest.mark.parametrize(
    "text",
    [
        '[demo."F".a]\nx = ',
        "[" * 3000,
        "[demo.F.a]\nx = 1\n[demo.F.a]\ny = 1\n",
        "\udcff",
        "x = 1\n" + "#" * 2**20,
    ],
)
def test_a_broken_file_is_named_and_left_as_it_is(presets: Presets, text: str) -> None:
    """The error names the file and the reason; the file is never overwritten."""
    presets.path.parent.mkdir()
    presets.path.write_bytes(before := text.encode(errors="surrogateescape"))
    for use in (
        lambda: presets.names("F"),
        lambda: presets.save("F", "b", {}),
        lambda: presets.remove("F", "a"),
    ):
        with pytest.raises(jf.FuncsError) as raised:
            use()
        assert str(presets.path) in str(raised.value)
        assert 1 <= len(raised.value.lines) <= 3
    assert presets.path.read_bytes() == before


@pytest.mark.parametrize(
    "text",
    ["demo = 3\n", "[demo]\nF = [1]\n", '[demo.F]\nb = "x"\n', "[[demo]]\nx = 1\n"],
)
def test_what_is_no_preset_is_passed_over(presets: Presets, text: str) -> None:
    """Other content in place of presets means no presets, and stays in the file."""
    presets.path.parent.mkdir()
    presets.path.write_text(text)
    assert presets.names("F") == []
    with pytest.raises(jf.ConfigError, match="cannot be edited here"):
        presets.save("F", "b", {"x": "1"})
    assert presets.path.read_text() == text


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    """A folder in place of the file, or a file in place of its folder, is an error that says what to do."""
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "presets.toml"):
        with pytest.raises(
            jf.ConfigError, match=r"cannot be (read|written): .*\nFix|Set FUNCS_PRESETS"
        ):
            Presets("demo", path).save("F", "a", {})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "needs a name"),
        (" \t", "needs a name"),
        ("x" * 300, "not 300"),
        ("a\x00b", "invisible"),
    ],
)
def test_a_name_that_is_none(presets: Presets, name: str, message: str) -> None:
    """An empty name, a long one and one with invisible characters are refused with a message."""
    with pytest.raises(jf.ArgumentError, match=message):
        presets.save("F", name, {})
    assert not presets.path.exists()


@pytest.mark.parametrize("value", [np.arange(3), object(), "\ud800", {"a": object()}])
def test_a_value_that_no_file_takes(presets: Presets, value: object) -> None:
    """A value that TOML cannot express is refused with its name, and the old preset stays."""
    presets.save("F", "a", {"x": "1"})
    with pytest.raises(jf.ArgumentError):
        presets.save("F", "a", {"x": value})
    assert presets.get("F", "a") == {"x": "1"}


@pytest.mark.slow
def test_many_notebooks_save_at_once(tmp_path: Path) -> None:
    """Four processes save fifteen presets each, and none is lost."""
    path = tmp_path / "presets.toml"
    program = (
        "import sys; from pathlib import Path; from jupyter_funcs.core import files\n"
        "from jupyter_funcs.records.presets import Presets\n"
        "files._LOCK_SECONDS = 600  # after which a stuck one is not waited for\n"
        "for at in range(15): Presets('demo', Path(sys.argv[1])).save('F', f'{sys.argv[2]}-{at}', {'x': str(at)})"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(path), str(at)])
        for at in range(4)
    ]
    assert [process.wait(60) for process in running] == [0] * 4
    assert len(Presets("demo", path).names("F")) == 60
    assert list(tmp_path.iterdir()) == [path]


def test_a_preset_fills_a_form_and_a_call(session: Session) -> None:
    """A form gets its values back; a call takes a preset; a missing one is an error that lists the others."""
    fn = session["Get Panel Daily"]
    form = fn.form(
        **DAILY, Dimensions=["Region"], POPLookback="abc", Brand=Variable("brand")
    )
    session.presets.save(fn.name, "ours", form_values(form))
    other = fn.form(PanelName="x", PopGrowth=True)
    assert fill(other, fn.preset("ours")) == []
    assert other.values == form.values
    assert tomllib.loads(session.presets.path.read_text())
    session.presets.save(fn.name, "ours", form_values(fn.form(**DAILY)))
    assert fn(**fn.preset("ours")).attrs["funcs"]["args"] == DAILY
    with pytest.raises(jf.NotFoundError, match="Did you mean 'ours'"):
        fn.preset("our")
    with pytest.raises(
        jf.NotFoundError, match=r"Presets are 'ours'\. The presets file is "
    ):
        fn.preset("theirs, then")
    # The demo's own.
    assert (
        session["Get Panel FQ"].preset("Quarter to date vs last year")["PeriodToDate"]
        == "Yes"
    )


def test_a_parameter_that_is_gone_is_named(session: Session) -> None:
    """Parameters that the function no longer takes are named, and the rest is filled in."""
    form = session["Get Panel Daily"].form()
    assert fill(form, {"Symbol": SYMBOL, "Market": "US", "panelname": PANEL}) == [
        "Market"
    ]
    assert form.values == DAILY


def test_where_the_file_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """FUNCS_PRESETS names the file; else it is beside the file of profiles."""
    monkeypatch.setenv("FUNCS_PRESETS", "/a/b.toml")
    assert presets_file().as_posix() == "/a/b.toml"
    monkeypatch.delenv("FUNCS_PRESETS")
    monkeypatch.setenv("FUNCS_CONFIG", "/c/d.toml")
    assert presets_file().as_posix() == "/c/jupyter_funcs_presets.toml"
