"""The connection's line: what it says and when, Refresh and what it keeps, listings that fail, change or are empty."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from ipywidgets.widgets.widget import _instances

import jupyter_funcs as jf
from jupyter_funcs.catalog.listing import Catalog, Function
from jupyter_funcs.panel.form.controls import below
from jupyter_funcs.panel.header import Head, changes, listed_again, taken_over
from jupyter_funcs.panel.shared.parts import Parts, guarding
from jupyter_funcs.service import embedded
from tests.conftest import PANEL
from tests.connection.test_profiles import jwt
from tests.panel.test_controls import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_funcs.api import Session
    from jupyter_funcs.panel.panel import Panel


def fail(error: Exception) -> None:
    raise error


def head_of(session: Session, on_refresh: Callable[[], None] = lambda: None) -> Head:
    return Head(session, on_refresh, guarding(fail), Parts())


def line(head: Head) -> str:
    return str(head._line.value)


class Service:
    """A service whose listing a test changes, and which counts how often it was asked for it."""

    def __init__(self, *listing: Any) -> None:
        self.listing: list[Any] | httpx.Response = list(listing)
        self.asked = 0
        self.gate = threading.Event()
        self.gate.set()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("runFunction"):
            return httpx.Response(200, json=[{"a": 1}])
        self.asked += 1
        assert self.gate.wait(10)
        return self.listing if isinstance(self.listing, httpx.Response) else httpx.Response(200, json=self.listing)

    def connect(self, token: Any = "a-token-of-the-tests") -> Session:
        class InAThread(httpx.BaseTransport):
            handle_request = staticmethod(self)

        return jf.connect("https://service.example", token=token, transport=InAThread())


def refreshed(panel: Panel) -> str:
    """Press Refresh, wait for what comes of it, and give what the line says then."""
    panel._head._button.click()
    assert panel._head.refreshing is not None
    panel._head.refreshing.result(10)
    return line(panel._head)


F = {"name": "F", "params": [{"name": "a"}, {"name": "b"}]}
G = {"name": "G"}


def test_the_line_names_the_connection(funcs: Session) -> None:
    """Service, who asks, how many functions and how long the token lasts; the demo says that its data are invented."""
    _ = funcs.catalog
    head = head_of(funcs)
    head.look()
    assert head.reading is not None
    head.reading.result(10)
    assert "7 functions" in line(head)
    assert "analyst" in line(head)
    assert "token ends in" in line(head)
    assert funcs.service in line(head)
    assert "synthetic data" in line(head)
    assert embedded().token not in "".join(str(widget.get_state()) for widget in (head, *below(head)))
    head.close()


def test_a_slow_source_of_the_token_does_not_hold_the_panel_up() -> None:
    """The line stands there at once without the token's time, which follows when the source gives it."""
    slow, go = threading.Event(), threading.Event()
    token = jwt({"exp": time.time() + 3660, "sub": "<ada>"})

    def source() -> str:
        assert not slow.is_set() or go.wait(10)
        return token

    session = Service(F).connect(source)
    _ = session.catalog
    slow.set()
    head = head_of(session)
    head.look()
    assert "1 function" in line(head)
    assert "token" not in line(head)
    reading = head.reading
    head.look()
    assert head.reading is reading  # a source that is being asked is not asked once more
    go.set()
    assert head.reading is not None
    head.reading.result(10)
    assert "token ends in 1 hour" in line(head)
    assert "&lt;ada&gt;" in line(head)


def test_a_token_that_does_not_say_when_it_ends_is_not_spoken_of() -> None:
    """An API key has no end to show."""
    session = Service(F).connect()
    _ = session.catalog
    head = head_of(session)
    head.look()
    assert head.reading is not None
    head.reading.result(10)
    assert "token" not in line(head)


def test_a_token_that_has_ended_is_said_with_what_to_do() -> None:
    """Once the token has ended the line says so in words."""
    tokens = iter([jwt({"exp": time.time() + 3600}), jwt({"exp": 1})])
    session = Service(F).connect(lambda: next(tokens))
    _ = session.catalog
    head = head_of(session)
    head.look()
    assert head.reading is not None
    head.reading.result(10)
    assert "has expired" in line(head)
    assert "Get a new token" in line(head)


def test_the_token_s_time_is_read_anew() -> None:
    """A new token's time stands in the line after a refresh, and when the panel is shown again."""
    hours = 1
    panel = Service(F).connect(lambda: jwt({"exp": time.time() + hours * 3600 + 60})).panel()

    def said() -> str:
        assert panel._head.reading is not None
        panel._head.reading.result(10)
        return line(panel._head)

    assert "ends in 1 hour" in said()
    hours = 2
    refreshed(panel)
    assert "ends in 2 hours" in said()
    hours = 3
    panel._repr_mimebundle_()
    assert "ends in 3 hours" in said()
    panel.close()


def test_refresh_says_what_has_changed_and_lists_it() -> None:
    """New, removed and changed functions are counted and named; the list and the count follow."""
    service = Service(F, G)
    panel = service.connect().panel()
    assert "Listed again: nothing has changed." in refreshed(panel)
    service.listing = [{**F, "description": "Other."}, {"name": "<b>$x$</b>"}]
    said = refreshed(panel)
    assert "Listed again: 1 added (&lt;b&gt;$x$&lt;/b&gt;), 1 removed (G), 1 changed (F)." in said
    assert "2 functions" in said
    assert [slug for _, slug in panel._chooser._list.options if slug] == ["f", "b_x_b"]
    panel.close()


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ([], ["a"], "Listed again: 1 added (a)."),
        (["a", "a"], ["a"], "Listed again: 1 removed (a)."),
        ([], list("abcdefg"), "Listed again: 7 added (a, b, c and others)."),
        (["a", "b"], ["b", "a"], "Listed again: nothing has changed."),
        ([], ["n" * 300], f"Listed again: 1 added ({'n' * 59}…)."),
        ([], ["a\x1b\u202eb"], "Listed again: 1 added (a\\x1b\\u202eb)."),
    ],
)
def test_changes_are_said_in_words(before: list[str], after: list[str], said: str) -> None:
    """Two functions may have one name; names are short and inert; the order is no change."""
    assert changes(*(Catalog([Function(name=name) for name in names]) for names in (before, after))) == said


def test_a_refresh_that_fails_keeps_what_was_listed() -> None:
    """The reason stands in the line in one to three lines, the list stays, and the next Refresh tries again."""
    service = Service(F, G)
    panel = service.connect().panel()
    service.listing = httpx.Response(503, text="<h1>down</h1>")
    said = refreshed(panel)
    assert "jf-bad" in said
    assert said.count("<br>") <= 2
    assert "<h1>" not in said
    assert len(panel._chooser._list.options) == 3
    assert not panel._head._button.disabled
    service.listing = [F, G]
    assert "jf-bad" not in refreshed(panel)
    panel.close()


def test_a_double_click_lists_once() -> None:
    """While the functions are being listed the button is off, and the line says what goes on."""
    service = Service(F)
    panel = service.connect().panel()
    service.gate.clear()
    panel._head._button.click()
    panel._head._button.click()
    assert panel._head._button.disabled
    assert "Listing the functions…" in line(panel._head)
    service.gate.set()
    assert panel._head.refreshing is not None
    panel._head.refreshing.result(10)
    assert service.asked == 2
    panel.close()


def test_a_panel_opens_though_the_listing_fails() -> None:
    """The panel is there and says why there is no list; Refresh lists, and a function can be chosen."""
    service = Service(F)
    listing, service.listing = service.listing, httpx.Response(403, json={"error": "no"})
    panel = service.connect().panel()
    assert "jf-bad" in line(panel._head)
    assert "functions not listed" in line(panel._head)
    assert "Press Refresh" in panel._heading.title.value
    assert panel._head.reading is None  # it would list once more
    with pytest.raises(jf.ArgumentError, match="nothing to run"):
        panel.run()
    service.listing = listing
    said = refreshed(panel)
    assert "jf-bad" not in said
    assert "1 function<" in said
    assert "Choose a function" in panel._heading.title.value
    panel.choose("F")
    panel.close()


def test_an_empty_catalog_says_what_to_do() -> None:
    """No function at all is no error: the panel says how to come to one, and Refresh shows it."""
    service = Service()
    panel = service.connect().panel()
    assert "0 functions" in line(panel._head)
    assert "shared with you" in panel._heading.title.value
    service.listing = [F]
    assert "1 added (F)" in refreshed(panel)
    assert "Choose a function" in panel._heading.title.value
    panel.close()


def test_the_form_stays_through_a_refresh() -> None:
    """An unchanged function keeps its very form; a changed one has its new fields and the values that they take."""
    service = Service(F, G)
    panel = service.connect().panel("F", a="1", b="2")
    form = panel.form
    refreshed(panel)
    assert panel.form is form
    service.listing = [{"name": "F", "params": [{"name": "b"}, {"name": "c"}]}, G]
    assert "1 changed (F)" in refreshed(panel)
    assert panel.form is not None
    assert panel.form.args == {"b": "2"}
    assert [field.name for field in panel.form.fields] == ["b", "c"]
    panel.run()
    assert len(panel.result(10)) == 1
    panel.close()


def test_a_function_that_is_not_shown_keeps_its_values_too() -> None:
    """What was entered for a function is there when a person comes back to it after a refresh."""
    service = Service(F, G)
    panel = service.connect().panel("F", a="1", b="2")
    panel.choose("G")
    service.listing = [{"name": "F", "params": [{"name": "b"}]}, G]
    refreshed(panel)
    panel.choose("F")
    assert panel.form is not None
    assert panel.form.args == {"b": "2"}
    panel.close()


def test_a_function_that_vanished_is_said_and_keeps_its_values() -> None:
    """The form stays as it is, with words that the function is gone; when it is listed again the words go."""
    service = Service(F, G)
    panel = service.connect().panel("F", a="1")
    service.listing = [G]
    assert "Listed again: 1 removed (F)." in refreshed(panel)  # and G, which has moved up, is as it was
    assert "no longer in your catalog" in panel._heading.title.value
    assert panel.form is not None
    assert panel.form.args == {"a": "1"}
    assert panel._chooser._list.index is None
    panel.choose("G")
    service.listing = [F, G]
    refreshed(panel)
    panel.choose("F")
    assert "no longer" not in panel._heading.title.value
    assert panel.form.args == {"a": "1"}
    panel.close()


def test_a_function_keeps_its_options_when_it_is_listed_otherwise() -> None:
    """Options are the person's own, and no part of a listing."""
    service = Service(F)
    session = service.connect()
    before = session["F"].with_options(timeout=7)
    service.listing = [G, F]
    session.refresh()
    assert listed_again(before) is before
    service.listing = [{**F, "description": "Other.", "params": [{"name": "a"}]}]
    session.refresh()
    now = listed_again(before)
    assert now is not None
    assert (now.function.description, now.options.timeout) == ("Other.", 7)
    assert taken_over(before.form(a="1", b="2"), now).values == {"a": "1"}
    service.listing = [{"name": "f"}]
    session.refresh()
    assert listed_again(before) is None


def test_a_run_makes_its_function_a_recent_one_and_the_time_is_read_anew(funcs: Session) -> None:
    """After a run the function stands on top of the list, and the token's remaining time is that of now."""
    panel = jf.connect().panel("Get Panels")
    first = panel._head.reading
    panel.run()
    assert PANEL in str(panel.result(60))
    assert panel._chooser._list.options[:2] == (("Recent", ""), ("\u00a0\u00a0Get Panels", "get_panels"))
    wait_until(lambda: panel._head.reading is not first)
    panel.close()


def test_a_panel_that_is_closed_while_it_lists_is_left_alone() -> None:
    """What comes after the end is dropped: nothing is raised, and no model is made anew."""
    service = Service(F)
    session = service.connect()
    _ = session.catalog
    before = set(_instances)
    panel = session.panel("F")
    service.gate.clear()
    service.listing = [{"name": "F"}]
    panel._head._button.click()
    panel.close()
    service.gate.set()
    assert panel._head.refreshing is not None
    panel._head.refreshing.result(10)
    assert set(_instances) == before
