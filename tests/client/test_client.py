"""A session: names, callables, runs and jobs, in process and over HTTP."""

from __future__ import annotations

import asyncio
import copy
import gc
import inspect
import itertools
import json
import pickle
import re
import threading
import time
import traceback
import warnings
from typing import TYPE_CHECKING, Any

import httpx
import pandas as pd
import pytest

import jupyter_funcs as jf
from jupyter_funcs.service import embedded
from tests.conftest import PANEL, SYMBOL
from tests.servers import serving

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from jupyter_funcs.api import Session

ALL = [
    "Get Panels",
    "Get Universe",
    "Get Panel Dimensions",
    "Get Panel Daily",
    "Get Panel FQ",
    "Get KPIs",
    "Get Report",
]
DAILY = {"PanelName": PANEL, "Symbol": SYMBOL}


def test_names_are_in_the_catalogs_order(funcs: Session) -> None:
    """The wire names are sorted by sort value."""
    assert funcs.names == ALL
    assert len(funcs) == len(ALL)


@pytest.mark.parametrize(
    "name", ["Get Panel Daily", "get_panel_daily", "get panel daily", "GetPanelDaily"]
)
def test_a_function_is_found_by_each_of_its_names(funcs: Session, name: str) -> None:
    """The wire name, the slug, other spellings, the id and the attribute all find the same function."""
    function = funcs[name]
    assert function.name == "Get Panel Daily"
    assert funcs[function.function.id] is function
    assert funcs.get_panel_daily is function


def test_an_unknown_function_names_its_neighbours(funcs: Session) -> None:
    """A misspelt name is an error with suggestions, as an item and as an attribute."""
    with pytest.raises(
        jf.NotFoundError, match=r"'Get Panl Daily'(.|\n)*'Get Panel Daily'"
    ):
        funcs["Get Panl Daily"]
    with pytest.raises(AttributeError, match="get_panel_daily") as caught:
        _ = funcs.get_panl_daily
    assert isinstance(caught.value, jf.NotFoundError)  # so a cell shows it in two lines
    assert not hasattr(funcs, "zzz")
    with pytest.raises(
        AttributeError, match=r"no attribute 'conect'\. Did you mean 'connect'"
    ):
        _ = jf.conect
    with pytest.raises(
        jf.ArgumentError, match=r"A form needs a function, not 'get_panels' \(str\)"
    ):
        jf.Form("get_panels")  # type: ignore[arg-type]
    with pytest.raises(jf.ArgumentError, match=r"not '1'\.\nIt takes no parameters"):
        funcs.get_panels(1)
    assert repr(funcs.cache) == f"<Cache in {funcs.cache.folder}>"


def test_a_run_gives_a_frame_that_says_where_it_comes_from(funcs: Session) -> None:
    """A call returns every day of five years, typed, with attrs of plain JSON values."""
    frame = funcs.get_panel_daily(**DAILY, PoPGrowth=True)
    assert len(frame) == 1826
    assert frame["Date"].dtype.kind == "M"
    assert frame["Transaction Count"].dtype == "int64"
    assert frame["Spend"].dtype == "float64"
    about = frame.attrs["funcs"]
    assert about["function"] == "Get Panel Daily"
    assert about["args"] == {**DAILY, "PoPGrowth": "Yes"}
    assert about["service"] == funcs.service
    assert about["synthetic"] is True
    assert pd.Timestamp(about["time"]).tz is not None
    assert json.loads(json.dumps(frame.attrs)) == frame.attrs


def test_the_demo_is_called_synthetic_also_where_it_is_served(funcs: Session) -> None:
    """The session's repr, its status and a sweep all say that the data are synthetic."""
    assert len(funcs) == len(ALL)
    assert funcs.synthetic
    assert "synthetic data" in repr(funcs)
    assert "synthetic data" in repr(funcs.status())
    assert funcs.get_panel_daily.sweep(**DAILY | {"Symbol": [SYMBOL]}).attrs["funcs"][
        "synthetic"
    ]


def test_the_demos_functions_are_called_synthetic_and_not_those_beside_them(
    answering: Callable[..., Session],
) -> None:
    """Beside a team's own functions, each result says whether it is synthetic, and the session doesn't."""
    demo = {"name": "G", "description": "Give (synthetic demo data)."}
    own = {
        "name": "F",
        "description": "Make a synthetic control of (synthetic demo data) and others.",
    }

    reply = httpx.Response(200, json={"error": None, "body": '[{"a": 1}]'})
    mixed = answering(lambda _: reply, listing=[demo, own])
    assert [mixed[name]().attrs["funcs"]["synthetic"] for name in ("G", "F")] == [
        True,
        False,
    ]
    assert not mixed.synthetic
    assert "synthetic" not in repr(mixed) + repr(mixed.status())


@pytest.mark.parametrize("dimension", ["Region", "Age Group", "Brand"])
def test_a_breakdown_adds_up_to_the_total(funcs: Session, dimension: str) -> None:
    """Spend and Transaction Count add up over every dimension, to the cent."""
    total = funcs.get_panel_daily(**DAILY).set_index("Date")
    parts = (
        funcs.get_panel_daily(**DAILY, Dimensions=dimension)
        .groupby("Date")[["Spend", "Transaction Count"]]
        .sum()
    )
    assert (parts["Spend"] - total["Spend"]).abs().max() < 0.005
    assert (parts["Transaction Count"] == total["Transaction Count"]).all()


def test_bad_arguments_are_named_by_the_service_too(funcs: Session) -> None:
    """Without the form's check, the service refuses the same, and its 422 names the field."""
    job = funcs.get_panel_daily.start(
        {**DAILY, "PoPLookback": "0", "Dimensions": ["Regoin"]}
    )
    with pytest.raises(jf.ArgumentError) as caught:
        job.result(60)
    assert set(caught.value.errors) == {"PoPLookback", "Dimensions"}


def test_arguments_go_by_name_or_as_a_form(funcs: Session) -> None:
    """A function takes a form; any other value without a name is an error that says how to write it."""
    form = funcs.get_panel_daily.form(**DAILY)
    assert len(funcs.get_panel_daily(form)) == 1826
    assert repr(form) == f"<Form Get Panel Daily: {DAILY}>"
    form["PoPLookback"] = 99  # isn't sent; the error lists it
    assert (
        repr(form)
        == f"<Form Get Panel Daily: {DAILY}; PoPLookback must be between 1 and 50, not 99.>"
    )
    with pytest.raises(jf.ArgumentError, match="by name"):
        funcs.get_panel_daily(PANEL)


@pytest.mark.parametrize("token", ["", "not-a-token", None])
def test_no_usable_token_is_said(service_url: str, token: str | None) -> None:
    """No token is a ConfigError before anything is sent; a wrong one is an AuthenticationError."""
    with pytest.raises(jf.AuthenticationError if token else jf.ConfigError) as caught:
        _ = jf.connect(service_url, token=token).names
    assert 1 <= len(caught.value.lines) <= 3


def test_the_signature_is_that_of_the_function(funcs: Session) -> None:
    """Signature and docstring come from the parameters: required ones without a default, in order."""
    function = funcs.get_panel_daily
    signature = inspect.signature(function)
    assert list(signature.parameters) == [param.name for param in function.params]
    assert signature.parameters["PanelName"].default is inspect.Parameter.empty
    assert signature.parameters["Symbol"].default is None
    assert signature.parameters["PoPLookback"].default == 1
    assert "PoPLookback : int, default 1" in (function.__doc__ or "")


def test_one_field_feeds_everything(funcs: Session) -> None:
    """Fields, signature, form, table and JSON Schema have the same parameters, for every function."""
    for function in funcs:
        names = [param.name for param in function.params]
        assert [field.name for field in function.fields] == names
        assert list(inspect.signature(function).parameters) == [
            field.identifier for field in function.fields
        ]
        assert list(function.json_schema()["properties"]) == names
        assert list(function.describe()["name"]) == names
        assert [field.name for field in jf.Form(function).fields] == names


def test_a_job_tells_how_it_stands(funcs: Session) -> None:
    """A job is running, then done; it calls back, is awaitable in any loop, and its result stays."""
    called = threading.Event()
    job = funcs.get_panels.submit()
    job.add_done_callback(lambda _: called.set())
    frame = job.result(60)
    assert job.status == "done"
    assert called.wait(60)
    assert job.elapsed > 0
    assert "Get Panels: done" in repr(job)

    async def wait() -> pd.DataFrame:
        return await job

    pd.testing.assert_frame_equal(asyncio.run(wait()), frame)


def test_the_code_of_a_call_gives_the_same_frame(funcs: Session) -> None:
    """The code that the panel shows is what it runs."""
    function = funcs.get_panel_daily
    frame = function(**DAILY, Dimensions=["Region"])
    again = eval(function.code(frame.attrs["funcs"]["args"]), {"funcs": funcs})
    pd.testing.assert_frame_equal(again, frame)


def test_choices_come_from_the_listing_functions(funcs: Session) -> None:
    """Get Universe, Get Panels and Get Panel Dimensions list symbols, panels and brands with their labels."""
    from jupyter_funcs.core import background

    function = funcs.get_panel_daily
    fields = {field.name: field for field in function.fields}

    def ask(name: str, args: dict[str, Any]) -> tuple[Any, list[str]]:
        return background.wait(
            background.start(function.choices(fields[name], args)), 30
        )

    panels, missing = ask("PanelName", {})
    assert PANEL in [choice.value for choice in panels]
    assert not missing
    symbols, _ = ask("Symbol", {})
    assert len(symbols) == len(funcs.get_universe())
    assert all(choice.label for choice in symbols)
    brands, missing = ask("Brand", {})
    assert (len(brands), missing) == (0, ["PanelName"])
    brands, _ = ask("Brand", {"PanelName": PANEL, "Dimensions": ["Region"]})
    assert {choice.value for choice in brands} == set(
        funcs.get_panel_dimensions(PanelName=PANEL, Dimensions="Brand")["Merchant"]
    )


LISTINGS: dict[str, tuple[object, list[tuple[str, str]]]] = {
    "a column of the parameter's name": (
        [{"Year": 2024, "a": "x"}, {"Year": None, "a": "y"}, {"Year": 2025}],
        [("2024", "x"), ("2025", "")],
    ),
    "one column of names": (
        [{"Name": "A"}, {"Name": "A"}, {"Name": "B"}],
        [("A", ""), ("B", "")],
    ),
    "the first text column": (
        [{"n": 1, "Code": "A", "Text": "Alpha"}],
        [("A", "Alpha")],
    ),
    "rows": ([["A", 1], ["B", 2]], [("A", ""), ("B", "")]),
    "the parameter's name after others": (
        [{"Sector": "Retail", "Year": "2024", "Name": "Alpha"}],
        [("2024", "Alpha")],
    ),
    "no text column": ([{"n": 1}], []),
    "no rows": ([], []),
    "a text": ("plain text", [("plain text", "")]),
}


@pytest.mark.parametrize(("reply", "choices"), LISTINGS.values(), ids=LISTINGS)
def test_the_column_of_the_values_is_found(
    answering: Callable[..., Session], reply: object, choices: list[tuple[str, str]]
) -> None:
    """The values are in the column named like the parameter, else in the first text column; labels are in the next."""
    from jupyter_funcs.core import background

    functions = [
        {
            "name": "F",
            "params": [
                {
                    "name": "Year",
                    "description": "Use function 'List' to get list of years.",
                }
            ],
        },
        {"name": "List"},
    ]

    answer = httpx.Response(200, json={"error": None, "body": reply})
    function = answering(lambda _: answer, listing=functions)["F"]
    listed, _ = background.wait(
        background.start(function.choices(function.fields[0], {})), 10
    )
    assert [(choice.value, choice.label) for choice in listed] == choices


def test_probing_a_session_sends_nothing(answering: Callable[..., Session]) -> None:
    """Probing by a front end, copy, pickle or repr never reaches the network."""

    def refuse(request: httpx.Request) -> httpx.Response:
        raise AssertionError(request.url)

    session = answering(refuse)
    repr(session)
    bool(session)
    dir(session)
    assert not hasattr(session, "_repr_html_")
    assert not hasattr(session, "_ipython_display_")
    assert not hasattr(session, "__array__")
    with pytest.raises(TypeError):
        pickle.dumps(session)
    with pytest.raises(TypeError):
        copy.deepcopy(session)


def slow(wait: Callable[[], Awaitable[None]]) -> Any:
    """Return the demo's application, which waits before each run."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"].endswith("runFunction"):
            await wait()
        await embedded().app(scope, receive, send)

    return app


def slow_demo(wait: Callable[[], Awaitable[None]]) -> Session:
    return jf.connect(
        "https://service.example",
        token=embedded().token,
        transport=httpx.ASGITransport(slow(wait)),
    )


def test_a_run_has_one_total_deadline() -> None:
    """A reply that never arrives is a DeadlineError in time, and the next run works."""
    hold = threading.Event()
    replied = threading.Event()

    async def wait() -> None:
        if not hold.is_set():
            await asyncio.sleep(60)
            replied.set()

    session = slow_demo(wait)
    with pytest.raises(jf.DeadlineError, match=r"0\.2 s"):
        session.get_panels.with_options(timeout=0.2)()
    assert not replied.is_set()
    hold.set()
    assert len(session.get_panels()) == 2


def test_cancel_ends_a_run() -> None:
    """A cancelled job is cancelled at once, says so, and leaves no task."""
    session = slow_demo(lambda: asyncio.sleep(60))
    job = session.get_panels.submit()
    with pytest.raises(jf.DeadlineError, match="is still running"):
        job.result(0.1)
    assert job.status == "running"
    assert job.cancel()
    with pytest.raises(jf.RunCancelledError):
        job.result(60)
    assert job.status == "cancelled"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tiemout": 3}, "timeout"),
        ({"timeout": 0}, "positive"),
        ({"timeout": "3"}, "positive"),
        ({"Symbol": "x"}, "no option 'Symbol'"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    """An unknown option or a value out of range is an ArgumentError."""
    with pytest.raises(jf.ArgumentError, match=message):
        jf.connect().get_panels.with_options(**options)


def test_an_unknown_code_warns_once_and_works(
    answering: Callable[..., Session],
) -> None:
    """A listing with unknown fields and codes is read; each code warns once, and its field takes text (FAULTS 71)."""
    listing = [
        {
            "name": "F",
            "colour": "red",
            "params": [
                {"name": "a", "type": 97, "size": 1},
                {"name": "b", "type": 97},
                {"name": "c", "type": 98},
            ],
        }
    ]

    def answer(request: httpx.Request) -> httpx.Response:
        body = {"error": None, "body": request.content.decode()}
        return httpx.Response(200, json=body)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = json.dumps({"data": json.dumps(listing)})
        function = answering(answer, listing=data)["F"]
    assert [str(warning.message).split(" (")[0] for warning in caught] == [
        "service.example: parameters of type code 97",
        "service.example: parameters of type code 98",
    ]
    assert {warning.filename for warning in caught} == {__file__}
    assert function.function.model_extra == {"colour": "red"}
    frame = function(a="x", c=2)
    assert frame.attrs["funcs"]["args"] == {"a": "x", "c": "2"}


@pytest.mark.parametrize(
    ("source", "error"),
    [
        (lambda: None, jf.ConfigError),
        (lambda: b"SECRET-bytes", jf.ConfigError),
        (lambda: 1 / 0, jf.AuthenticationError),
        (lambda: {}["SECRET-key"], jf.AuthenticationError),
        (
            lambda: (_ for _ in ()).throw(AttributeError("SECRET-attribute")),
            jf.AuthenticationError,
        ),
    ],
)
def test_a_source_of_tokens_that_fails_is_said(
    answering: Callable[..., Session],
    source: Callable[[], Any],
    error: type[jf.FuncsError],
) -> None:
    """Whatever a source raises or returns becomes our own error without its text, and the source is called once."""
    calls = []

    def counted() -> Any:
        calls.append(1)
        return source()

    session = answering(lambda _: httpx.Response(200, json=[]), token=counted)
    with pytest.raises(error) as caught:
        _ = session.names
    assert len(calls) == 1
    assert "SECRET" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("token", [b"SECRET", ["SECRET"], 5])
def test_a_token_of_another_type_is_refused(token: Any) -> None:
    """A token that is neither text nor a function is a ConfigError that doesn't show it."""
    with pytest.raises(jf.ConfigError) as caught:
        jf.connect("https://service.example", token=token)
    assert "SECRET" not in str(caught.value)


def test_a_slow_source_of_tokens_holds_up_nobody_else(
    answering: Callable[..., Session],
) -> None:
    """While one session waits for its token, another one runs, and the deadline includes the wait."""
    release = threading.Event()

    def slow() -> str:
        release.wait(60)
        return "a-token"

    listing = [{"name": "F"}]
    waiting = answering(lambda _: httpx.Response(200, json=listing), token=slow)
    job = threading.Thread(target=lambda: waiting.names)
    job.start()
    assert answering(lambda _: httpx.Response(200, json=listing)).names == ["F"]
    assert job.is_alive()
    release.set()
    job.join(60)


def test_no_error_of_a_reply_repeats_the_token(
    answering: Callable[..., Session],
) -> None:
    """Errors show no part of a token that a reply repeats, even if each request has a new token."""
    tokens = (f"ROTATING-TOKEN-{number:04d}" for number in itertools.count())
    bodies = iter(
        [
            '{"error": "bad %s", "body": null}',
            '[{"a": 1}] %s',
            '{"schema": {"a": {"type": "int64"}}, "data": [{"a": "%s"}]}',
        ]
    )

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, text=next(bodies) % request.headers["authorization"])

    function = answering(answer, lambda: next(tokens), [{"name": "F"}])["F"]
    for _ in range(3):
        with pytest.raises(jf.FuncsError) as caught:
            function()
        assert "ROTATING" not in "".join(traceback.format_exception(caught.value))


def test_a_function_outlives_a_refresh(answering: Callable[..., Session]) -> None:
    """A function that was bound before a refresh takes options and runs afterwards; `in` takes any of its names."""
    session = answering(lambda _: httpx.Response(200, json=[{"name": "Get A"}]))
    function = session["Get A"]
    functions = iter(session)
    session.refresh()
    assert function.with_options(timeout=3).slug == "get_a"
    assert [listed.name for listed in functions] == ["Get A"]
    assert "Get A" in session
    assert "get_a" in session
    assert "B" not in session


@pytest.mark.slow
def test_a_run_keeps_its_session_alive(service_url: str) -> None:
    """A session stays open while one of its runs does, even if nothing else holds it."""
    with serving(slow(lambda: asyncio.sleep(0.7))) as url:
        job = jf.connect(url, token=embedded().token)["Get Panels"].submit()
        time.sleep(0.3)
        gc.collect()
        assert len(job.result(60)) == 2


def test_refresh_lists_again(answering: Callable[..., Session]) -> None:
    """A function that was added later is listed only after a refresh."""
    listing = [{"name": "One"}]
    session = answering(lambda _: httpx.Response(200, json=listing))
    assert session.names == ["One"]
    listing.append({"name": "Two"})
    assert session.names == ["One"]
    assert session.refresh().names == ["One", "Two"]


PARAMS = [{"name": "a"}, {"name": "b", "description": "[Optional] text"}]


@pytest.mark.parametrize(
    ("status", "now", "error", "message"),
    [
        (
            422,
            [{"name": "a"}],
            jf.ArgumentError,
            "The service has changed 'F': removed 'b'.",
        ),
        (
            422,
            [*PARAMS, {"name": "c", "required": True}],
            jf.ArgumentError,
            "added 'c' (required).",
        ),
        (
            422,
            [{"name": "a"}, {"name": "b", "required": True}],
            jf.ArgumentError,
            "now requires 'b'.",
        ),
        (
            422,
            [{"name": "x"}, PARAMS[1]],
            jf.ArgumentError,
            "changed 'F': removed 'a', added 'x'.",
        ),
        (404, None, jf.NotFoundError, "F is no longer in your catalog."),
        (422, PARAMS, jf.ArgumentError, "as the service says it"),
        (404, PARAMS, jf.NotFoundError, "as the service says it"),
    ],
)
def test_a_function_that_the_service_has_changed_is_said(
    answering: Callable[..., Session],
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    now: Any,
    error: type[jf.FuncsError],
    message: str,
) -> None:
    """A refused run lists again: the error names the changes, the session has them, and no run is sent (FAULTS 81)."""
    monkeypatch.setattr("jupyter_funcs.client.client._LISTED_JUST_NOW", 0.0)
    listing: list[Any] = [{"name": "F", "params": PARAMS}, {"name": "G"}]
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.url.path.rpartition("/")[2])
        if seen[-1] == "ListUserFunctions":
            return httpx.Response(200, json=listing)
        return httpx.Response(status, json={"error": "as the service says it"})

    session = answering(answer)
    function = session["F"]
    listing[0:1] = [{"name": "F", "params": now}] if now else []
    with pytest.raises(error, match=re.escape(message)) as caught:
        function(a="1", b="2")
    assert type(caught.value) is error
    assert len(caught.value.lines) <= 3
    assert seen == ["ListUserFunctions", "runFunction", "ListUserFunctions"]
    assert [param.name for listed in session for param in listed.params] == [
        param["name"] for param in now or []
    ]


def test_a_refused_value_lists_nothing_when_the_listing_is_new(
    answering: Callable[..., Session],
) -> None:
    """Most refusals are about a value: not every one causes a listing."""
    listings = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("ListUserFunctions"):
            listings.append(1)
            return httpx.Response(200, json=[{"name": "F"}])
        return httpx.Response(422, json={"error": "no"})

    session = answering(answer)
    for _ in range(3):
        with pytest.raises(jf.ArgumentError, match="no"):
            session.f()
    assert len(listings) == 1
