"""``jupyter funcs mcp``: the SDK's own client, over stdio, sees the functions as tools and gets what they give."""

from __future__ import annotations

import asyncio
import csv
import io
import os
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import httpx
import jsonschema
import pandas as pd
import pytest

import jupyter_funcs as jf
from jupyter_funcs.service import embedded
from tests.conftest import PANEL, SYMBOL, serving_accounts
from tests.test_callables import listing

mcp = pytest.importorskip("mcp", reason="the extra 'mcp' is not installed")

from jupyter_funcs import mcp_server  # noqa: E402  # behind the extra

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from jupyter_funcs.session import Session

DAILY = {"PanelName": PANEL, "Symbol": SYMBOL}


def ask(questions: Callable[[Any], Awaitable[Any]], url: str, token: str, errlog: Any) -> Any:
    """Start the command as an assistant does, put questions to it, and end it."""
    root = str(Path(jf.__file__).parent.parent)
    environment = {
        "FUNCS_BASE_URL": url,
        "FUNCS_TOKEN": token,
        "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")])),
    }
    server = mcp.StdioServerParameters(command=sys.executable, args=["-m", "jupyter_funcs.cli", "mcp"], env=environment)

    async def run() -> Any:
        async with mcp.Client(mcp.stdio_client(server, errlog=errlog), read_timeout_seconds=60) as client:
            return await questions(client)

    return asyncio.run(run())


def text_of(result: Any) -> str:
    return "\n".join(block.text for block in result.content)


def test_an_assistant_lists_and_calls_the_functions_of_its_user(service_url: str, tmp_path: Path) -> None:
    """Tools are the functions of the token, results are their frames, errors are our words; no token leaves."""

    async def questions(client: Any) -> SimpleNamespace:
        call = client.call_tool
        return SimpleNamespace(
            tools=(await client.list_tools()).tools,
            panels=await call("get_panels", {}),
            quarters=await call("get_panel_fq", DAILY),
            days=await call("get_panel_daily", {**DAILY, "Dimensions": ["Region"], "PoPLookback": 2, "Brand": None}),
            missing=await call("get_panel_daily", {"Symbol": SYMBOL}),
            rule=await call("get_panel_daily", {"PanelName": PANEL}),
            unknown=await call("get_panel_daly", {}),
            refused=await call("get_panel_daily", {**DAILY, "PanelName": "No such panel"}),
        )

    token = embedded().token
    with (tmp_path / "errors").open("w+") as errlog:
        seen = ask(questions, service_url, token, errlog)
        errlog.seek(0)
        assert errlog.read() == ""
    funcs = jf.connect(service_url, token=token)
    assert [tool.name for tool in seen.tools] == [function.slug for function in funcs]
    assert token not in str(vars(seen))

    said, table = (block.text for block in seen.panels.content)
    assert said == "All rows: 2. The data are synthetic."
    assert pd.read_csv(io.StringIO(table))["PanelName"].tolist() == funcs.get_panels()["PanelName"].tolist()
    frame = funcs.get_panel_fq(**DAILY)
    read = pd.read_csv(io.StringIO(seen.quarters.content[1].text))
    assert read["Spend"].astype("float64").equals(frame["Spend"].astype("float64"))

    said, table = (block.text for block in seen.days.content)
    total = len(funcs.get_panel_daily(**DAILY, Dimensions=["Region"]))
    shown = len(pd.read_csv(io.StringIO(table)))
    assert 100 < shown < total
    assert said.startswith(f"The first {shown} of {total} rows.")
    assert len(table) <= mcp_server.MOST_CHARACTERS

    for result, words in [
        (seen.missing, "PanelName is required"),
        (seen.rule, "Give Symbol or Brand"),
        (seen.unknown, "Did you mean 'Get Panel Daily'"),
        (seen.refused, "No such panel"),
    ]:
        assert result.is_error
        assert words in text_of(result)
        assert "Traceback" not in text_of(result)
    assert not seen.panels.is_error


def test_an_assistant_has_the_grants_of_the_token_and_no_more(tmp_path: Path) -> None:
    """A function that only another user was given is no tool, and calling it is as if there was none (FAULTS 110)."""

    async def questions(client: Any) -> tuple[set[str], Any]:
        tools = (await client.list_tools()).tools
        return {tool.name for tool in tools}, await client.call_tool("get_report", {})

    with serving_accounts() as service, (tmp_path / "errors").open("w") as errlog:
        analyst, guest = (
            ask(questions, service.url, service.auth.issue(user, 1), errlog) for user in ("analyst", "guest")
        )
    assert analyst[0] - guest[0] == {"get_report"}
    assert "was not run" in text_of(analyst[1])  # for want of its arguments
    assert guest[1].is_error
    assert text_of(guest[1]).startswith("There is no function 'get_report' in your catalog.")


def test_a_token_that_is_refused_is_an_error_in_our_words(service_url: str, tmp_path: Path) -> None:
    """Where the service does not accept the token, listing and calling say so, without it."""

    async def questions(client: Any) -> tuple[str, Any]:
        with pytest.raises(mcp.MCPError) as caught:
            await client.list_tools()
        return str(caught.value), await client.call_tool("get_panels", {})

    with (tmp_path / "errors").open("w+") as errlog:
        said, result = ask(questions, service_url, "not-a-good-token", errlog)
        errlog.seek(0)
        seen = said + text_of(result) + errlog.read()
    assert result.is_error
    assert said
    assert said == text_of(result)
    assert "not-a-good-token" not in seen
    assert "Traceback" not in seen


def test_a_request_that_is_cancelled_cancels_its_run() -> None:
    """What an assistant no longer waits for is not waited for here either: the run's request is closed."""
    began, ended = threading.Event(), threading.Event()

    async def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("ListUserFunctions"):
            return httpx.Response(200, content=listing(["F"], {}))
        began.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return httpx.Response(200)

    session = jf.connect("https://service.example", token="a-token", transport=httpx.MockTransport(answer))

    async def run() -> None:
        async with mcp.Client(mcp_server.server_of(session)) as client:
            call = asyncio.create_task(client.call_tool("f", {}))
            assert await asyncio.to_thread(began.wait, 20)
            call.cancel()
            assert await asyncio.to_thread(ended.wait, 20)

    asyncio.run(run())


def test_a_tools_schema_is_the_functions_without_what_assistants_refuse(funcs: Session) -> None:
    """Properties and what is required are json_schema()'s; at the top stands no anyOf, and the rule is in the words."""
    for function in funcs:
        own, tool = function.json_schema(), mcp_server.tool(function)
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        assert tool.input_schema == {key: value for key, value in own.items() if key not in {"anyOf", "allOf"}}
        assert tool.description.startswith(function.function.description)
    assert "Give Symbol or Brand." in mcp_server.tool(funcs["Get Panel Daily"]).description


def test_names_and_words_that_assistants_do_not_take_are_changed(answering: Callable[..., Session]) -> None:
    """Tools and properties have names of at most 64 plain characters that lead back to the wire's; words are inert."""
    names = {"a b": "x\u202e\n\x1b[2J", "a_b": "", "é": "", "y" * 80: "", "z" * 79 + "é": "", "class": "", "a b ": ""}
    session = answering(lambda _: httpx.Response(200, content=listing(["Größe", "x" * 200], names)))
    tools = [mcp_server.tool(function) for function in session]
    assert len({tool.name for tool in tools}) == 2
    for tool, function in zip(tools, session, strict=True):
        properties = tool.input_schema["properties"]
        assert len(properties) == len(names)
        assert all(mcp_server._TAKEN.fullmatch(name) for name in [tool.name, *properties])
        assert {"a_b", "class"} <= properties.keys()
        assert "\x1b" not in str(tool)
        assert "\u202e" not in str(tool)
        # Each key is sent as its own wire name.
        assert {key: function.form(**{name: "v"}).args for key, name in mcp_server._names(function).items()} == {
            key: {name: "v"} for key, name in mcp_server._names(function).items()
        }
        assert set(mcp_server._names(function).values()) == set(names)
        assert mcp_server._names(function)["a_b"] == "a_b"


@pytest.mark.parametrize(
    ("frame", "said", "rows"),
    [
        (pd.DataFrame({"a": ["é" * 10] * 5}), "All rows: 5.", 5),
        (pd.DataFrame({"a": []}), "All rows: 0.", 0),
        (pd.DataFrame({"a": ['x"\n,'] * 1000}), "The first ", None),
        (pd.DataFrame({"a": ["x" * 1000]}), "The first 0 of 1 rows.", 0),
        (pd.DataFrame({"x" * 1000: [1]}), "names are cut too", None),
    ],
)
def test_a_result_is_bounded_and_says_what_is_left_out(frame: pd.DataFrame, said: str, rows: int | None) -> None:
    """Whole rows are left out, and the count of those that are there is right."""
    note, table = mcp_server.as_texts(frame, 500)
    assert said in note
    assert len(table) <= 500
    if said == "The first ":
        rows = int(note.split()[2])
        assert 20 < rows < 1000
    if rows is not None:
        assert len(list(csv.reader(io.StringIO(table)))) == rows + 1


def test_synthetic_data_are_called_so() -> None:
    """A result of the demo tells the assistant that its data are invented."""
    assert mcp_server.as_texts(jf.connect().get_panels())[0] == "All rows: 2. The data are synthetic."


def test_without_the_extra_the_command_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The SDK is imported by the command alone, and its absence is one line and a remedy."""
    from jupyter_funcs.cli import main

    monkeypatch.setitem(sys.modules, "jupyter_funcs.mcp_server", None)
    monkeypatch.delattr(jf, "mcp_server")
    assert main(["mcp"]) == 1
    assert "pip install 'jupyter-funcs[mcp]'" in capsys.readouterr().err
