"""The line of presets in a panel: choosing fills the form, saving keeps it, and each question is asked once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from ipywidgets.widgets.widget import _instances

import jupyter_funcs as jf
from jupyter_funcs.catalog.values import Each, Variable
from tests.conftest import PANEL, SYMBOL
from tests.panel.test_controls import wait_until
from tests.tabs import hidden

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jupyter_funcs.api import Session
    from jupyter_funcs.panel.panel import Panel
    from jupyter_funcs.panel.preset_bar import PresetBar

NAME = "Get Panel Daily"
DAILY = {"PanelName": PANEL, "Symbol": SYMBOL}


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A session of its own with the demo, whose presets no other test sees."""
    monkeypatch.setenv("FUNCS_PRESETS", str(tmp_path / "presets.toml"))
    return jf.connect()


@pytest.fixture
def panel(session: Session) -> Iterator[Panel]:
    panel = session.panel(NAME)
    yield panel
    panel.close()


def opened(panel: Panel) -> PresetBar:
    """Press Presets and give the line."""
    panel._heading.fold.click()
    assert panel._heading.bar is not None
    assert not hidden(panel._heading.bar)
    return panel._heading.bar


def values(panel: Panel) -> dict[str, Any]:
    assert panel.form is not None
    return panel.form.values


def save(bar: PresetBar, name: str) -> None:
    bar.name.value = name
    bar.save.click()


def test_the_form_is_saved_and_filled_again(panel: Panel, session: Session) -> None:
    """What is saved under a name is chosen by it, in this panel and in another; the form then holds just that."""
    bar = opened(panel)
    assert hidden(bar.choice)
    assert panel.form is not None
    panel.form.update({**DAILY, "Dimensions": ["Region"]})
    save(bar, "ours")
    assert bar.said.value.count("Saved: ours") == 1
    assert (bar.choice.value, hidden(bar.choice), hidden(bar.delete)) == ("ours", False, False)
    panel.form["Symbol"] = "X"
    assert bar.choice.value == ""
    assert hidden(bar.delete)
    panel.form["Symbol"] = SYMBOL
    assert bar.choice.value == "ours"
    other = session.panel(NAME, Brand="B")
    shown = other._heading.bar
    assert shown is not None
    assert not hidden(shown)
    shown.choice.value = "ours"
    assert values(other) == values(panel)
    assert other._box._controls["Symbol"].read() == SYMBOL
    assert shown.choice.value == shown.name.value == "ours"
    other.close()


def test_several_values_and_variables_are_kept(panel: Panel, session: Session) -> None:
    """A field with several values, a run for each, and a variable of the notebook come back as what they are."""
    assert panel.form is not None
    panel.form.update({"PanelName": PANEL, "Symbol": Each(("A", "B")), "Brand": Variable("brand")})
    before = dict(values(panel))
    bar = opened(panel)
    save(bar, "each")
    panel._on_clear()
    bar.choice.value = ""
    bar.choice.value = "each"
    assert values(panel) == before
    assert bar.choice.value == "each"
    assert 'Symbol = {each = ["A", "B"]}' in session.presets.path.read_text()


def test_enter_saves_what_was_typed_just_before(panel: Panel, session: Session) -> None:
    """A front end tells of Enter before it tells what stands in the field."""
    bar = opened(panel)
    bar.name._handle_msg({"content": {"data": {"method": "custom", "content": {"event": "submit"}}}, "buffers": []})
    bar.name.value = "typed"
    wait_until(lambda: session.presets.names(NAME) == ["typed"])


def test_a_name_that_is_there_is_asked_about(panel: Panel, session: Session) -> None:
    """Other values under a name that is taken are saved with the second press; a press of something else forgets it."""
    session.presets.save(NAME, "ours", {"Symbol": "A"})
    bar = opened(panel)
    assert panel.form is not None
    panel.form["Symbol"] = "B"
    save(bar, "ours")
    assert (bar.save.description, "is there already" in bar.said.value) == ("Replace it", True)
    bar.name.value = "theirs"
    assert bar.save.description == "Save"
    save(bar, "ours")
    assert session.presets.get(NAME, "ours") == {"Symbol": "A"}
    bar.save.click()
    assert session.presets.get(NAME, "ours") == {"Symbol": "B"}
    assert bar.save.description == "Save"


def test_a_question_is_about_one_thing(panel: Panel, session: Session) -> None:
    """Who was asked whether to delete was not asked whether to replace; what is the same is not written anew."""
    session.presets.path.write_text(
        before := '[demo."Get Panel Daily".ours]\npanel_name = "P"\nPoPLookback = 4 # weeks\n'
    )
    bar = opened(panel)
    bar.choice.value = "ours"
    bar.save.click()
    assert "Saved: ours" in bar.said.value
    assert session.presets.path.read_text() == before
    bar.delete.click()
    assert panel.form is not None
    form, bar._form = panel.form, session[NAME].form(Symbol="other")
    bar.save.click()
    assert bar.save.description == "Replace it"
    assert session.presets.path.read_text() == before
    bar._form = form


def test_deleting_is_asked_about(panel: Panel, session: Session) -> None:
    """The second press deletes the chosen one; the form keeps its values, and the line says so before."""
    for name in ("one", "two"):
        session.presets.save(NAME, name, {"Symbol": name})
    bar = opened(panel)
    bar.choice.value = "one"
    bar.delete.click()
    assert "the form keeps its values" in bar.said.value
    bar.choice.value = "two"
    assert bar.delete.description == "Delete"
    bar.delete.click()
    bar.delete.click()
    assert session.presets.names(NAME) == ["one"]
    assert values(panel) == {"Symbol": "two"}
    assert [value for _, value in bar.choice.options] == ["", "one"]


def test_what_a_function_no_longer_takes_is_said(panel: Panel, session: Session) -> None:
    """A preset from before the function changed fills in the rest, and names what has gone."""
    session.presets.save(NAME, "old", {"Symbol": SYMBOL, "Market<b>": "US"})
    bar = opened(panel)
    bar.choice.value = "old"
    assert values(panel) == {"Symbol": SYMBOL}
    assert "Without &#x27;Market&lt;b&gt;&#x27;: Get Panel Daily has no such parameter." in bar.said.value
    assert bar.choice.value == "old"


def test_what_goes_wrong_is_said_in_the_line(panel: Panel, session: Session) -> None:
    """A name of 300 characters, a broken file and one that another notebook has emptied are said; nothing is lost."""
    session.presets.save(NAME, "ours", {"Symbol": "A"})
    bar = opened(panel)
    assert panel.form is not None
    panel.form["Symbol"] = "B"
    save(bar, "x" * 300)
    assert "at most 80 characters, not 300" in bar.said.value
    session.presets.remove(NAME, "ours")
    bar.choice.value = "ours"
    assert "has no preset" in bar.said.value
    session.presets.path.write_text("[demo")
    save(bar, "ours")
    assert "cannot be read" in bar.said.value
    assert session.presets.path.read_text() == "[demo"
    assert values(panel) == {"Symbol": "B"}


def test_a_broken_file_breaks_no_panel(session: Session) -> None:
    """With a file that cannot be read the panel opens and runs; who asks for presets is told why there are none."""
    session.presets.path.write_text("[demo")
    panel = session.panel(NAME, **DAILY)
    assert panel._heading.bar is None
    bar = opened(panel)
    assert "cannot be read" in bar.said.value
    panel.run()
    assert len(panel.result(60))
    panel.close()


def test_each_function_has_its_own(panel: Panel, session: Session) -> None:
    """With another function its presets are offered, or none and no line; what was typed as a name is gone."""
    session.presets.save("Get KPIs", "kpis", {"Symbol": SYMBOL})
    panel.choose("get_kpis")
    bar = panel._heading.bar
    assert bar is not None
    assert [value for _, value in bar.choice.options] == ["", "kpis"]
    bar.name.value = "typed"
    panel.choose("get_panel_daily")
    assert hidden(bar)
    panel._heading.fold.click()
    assert hidden(bar.choice)
    assert bar.name.value == ""
    panel._heading.fold.click()
    assert hidden(bar)


def test_presets_cost_nothing_before_they_are_used(session: Session) -> None:
    """Without presets a panel has no more widgets for them than a button; closing a panel closes those of its line."""
    session.get_panels()
    before = set(_instances)
    panel = session.panel(NAME)
    assert panel._heading.bar is None
    without = len(_instances)
    panel._heading.fold.click()
    assert len(_instances) > without
    panel.close()
    assert set(_instances) == before
