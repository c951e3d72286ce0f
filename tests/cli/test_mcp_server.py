"""``jupyter funcs mcp``: the SDK's client, over stdio, lists the functions as tools and receives their results."""

from __future__ import annotations

import asyncio
import base64
import csv
import io
import json
import os
import sys
import threading
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import httpx
import jsonschema
import pandas as pd
import pytest

import jupyter_funcs as jf
from jupyter_funcs.service import embedded
from tests.client.test_function import listing
from tests.conftest import PANEL, SYMBOL
from tests.faults.canary import CANARY, leaks

mcp = pytest.importorskip("mcp", reason="the extra 'mcp' is not installed")

from jupyter_funcs.cli import mcp_server  # noqa: E402  # behind the extra

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from jupyter_funcs.api import Session

DAILY = {"PanelName": PANEL, "Symbol": SYMBOL}


def ask(
    questions: Callable[[Any], Awaitable[Any]],
    url: str,
    token: str,
    errlog: Any,
    *options: str,
) -> Any:
    """Start the command as an assistant does, ask it questions, and end it."""
    root = str(Path(jf.__file__).parent.parent)
    environment = {
        "FUNCS_BASE_URL": url,
        "FUNCS_TOKEN": token,
        "PYTHONPATH": os.pathsep.join(
            filter(None, [root, os.environ.get("PYTHONPATH")])
        ),
    }
    server = mcp.StdioServerParameters(
        command=sys.executable,
        args=["-m", "jupyter_funcs.cli.main", "mcp", *options],
        env=environment,
    )

    async def run() -> Any:
        async with mcp.Client(
            mcp.stdio_client(server, errlog=errlog), read_timeout_seconds=60
        ) as client:
            return await questions(client)

    return asyncio.run(run())


def text_of(result: Any) -> str:
    return "\n".join(block.text for block in result.content)


@pytest.mark.slow
def test_an_assistant_lists_and_calls_the_functions_of_its_user(
    service_url: str, tmp_path: Path
) -> None:
    """Tools are the token's functions, results are their frames, errors are our messages; no token is passed on."""

    async def questions(client: Any) -> SimpleNamespace:
        call = client.call_tool
        return SimpleNamespace(
            tools=(await client.list_tools()).tools,
            panels=await call("get_panels", {}),
            quarters=await call("get_panel_fq", DAILY),
            days=await call(
                "get_panel_daily",
                {**DAILY, "Dimensions": ["Region"], "PoPLookback": 2, "Brand": None},
            ),
            missing=await call("get_panel_daily", {"Symbol": SYMBOL}),
            rule=await call("get_panel_daily", {"PanelName": PANEL}),
            unknown=await call("get_panel_daly", {}),
            server=client.server_info,
            refused=await call(
                "get_panel_daily", {**DAILY, "PanelName": "No such panel"}
            ),
        )

    token = embedded().token
    with (tmp_path / "errors").open("w+") as errlog:
        seen = ask(questions, service_url, token, errlog)
        errlog.seek(0)
        assert errlog.read() == ""
    funcs = jf.connect(service_url, token=token)
    assert [tool.name for tool in seen.tools] == [function.slug for function in funcs]
    assert token not in str(vars(seen))

    note, table = (block.text for block in seen.panels.content)
    assert note == "All rows: 2. The data are synthetic."
    assert (
        pd.read_csv(io.StringIO(table))["PanelName"].tolist()
        == funcs.get_panels()["PanelName"].tolist()
    )
    frame = funcs.get_panel_fq(**DAILY)
    read = pd.read_csv(io.StringIO(seen.quarters.content[1].text))
    assert read["Spend"].astype("float64").equals(frame["Spend"].astype("float64"))

    note, table = (block.text for block in seen.days.content)
    total = len(funcs.get_panel_daily(**DAILY, Dimensions=["Region"]))
    shown = len(pd.read_csv(io.StringIO(table)))
    assert 100 < shown < total
    assert note.startswith(
        f"The first {shown} of {total} rows. A result has at most 30,000 characters. To ask for less"
    )
    assert seen.server.version == version("jupyter-funcs")
    assert len(table) <= mcp_server.MOST_CHARACTERS

    for result, words in [
        (seen.missing, "PanelName is required"),
        (seen.rule, "Symbol or Brand is required"),
        (seen.unknown, "Did you mean 'Get Panel Daily'"),
        (seen.refused, "No such panel"),
    ]:
        assert result.is_error
        assert words in text_of(result)
        assert "Traceback" not in text_of(result)
    assert not seen.panels.is_error


@pytest.mark.slow
def test_a_token_that_is_refused_is_an_error_in_our_words(
    service_url: str, tmp_path: Path
) -> None:
    """If the service refuses the token, listing and calling say so without showing it."""

    async def questions(client: Any) -> tuple[str, Any]:
        with pytest.raises(mcp.MCPError) as caught:
            await client.list_tools()
        return str(caught.value), await client.call_tool("get_panels", {})

    with (tmp_path / "errors").open("w+") as errlog:
        error, result = ask(questions, service_url, "not-a-good-token", errlog)
        errlog.seek(0)
        seen = error + text_of(result) + errlog.read()
    assert result.is_error
    assert error
    assert error == text_of(result)
    assert "not-a-good-token" not in seen
    assert "Traceback" not in seen


def test_a_request_that_is_cancelled_cancels_its_run() -> None:
    """When an assistant cancels a request, the run's request is closed."""
    began = threading.Event()
    ended = threading.Event()

    async def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("ListUserFunctions"):
            return httpx.Response(200, content=listing(["F"], {}))
        began.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return httpx.Response(200)

    session = jf.connect(
        "https://service.example",
        token="a-token",
        transport=httpx.MockTransport(answer),
    )

    async def run() -> None:
        async with mcp.Client(mcp_server.server_of(session)) as client:
            call = asyncio.create_task(client.call_tool("f", {}))
            assert await asyncio.to_thread(began.wait, 20)
            call.cancel()
            assert await asyncio.to_thread(ended.wait, 20)

    asyncio.run(run())


def test_a_tools_schema_is_the_functions_without_what_assistants_refuse(
    funcs: Session,
) -> None:
    """Properties and required are json_schema()'s; there is no anyOf at the top, and the description has its rule."""
    for function in funcs:
        own = function.json_schema()
        tool = mcp_server.tool(function)
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        assert tool.input_schema == own
        assert not tool.input_schema.keys() & {"anyOf", "allOf", "oneOf"}
        assert tool.description.startswith(function.function.description)
    assert (
        "Requires Symbol or Brand."
        in mcp_server.tool(funcs["Get Panel Daily"]).description
    )


def test_a_schema_of_an_object_is_cleaned_and_the_catalog_unchanged(
    answering: Callable[..., Session],
) -> None:
    """Its inner descriptions have no invisible characters; odd schemas don't stop it."""
    inner = {
        "type": "object",
        "properties": {"a": {"type": "string", "description": "A\u200bb"}},
    }
    schemas = [
        inner,
        {"type": "array", "items": True},
        {"type": "array", "items": inner},
        {"type": ["string", "null", "object"], "enum": 5},
    ]
    params = [{"name": f"p{at}", "schema": schema} for at, schema in enumerate(schemas)]
    function = answering(
        lambda _: httpx.Response(200, json=[{"name": "F", "params": params}])
    )["F"]
    properties = mcp_server.tool(function).input_schema["properties"]
    assert properties["p0"]["properties"]["a"]["description"] == "A\\u200bb"
    assert "\u200b" not in repr(properties)
    assert function.fields[0].schema == inner


def in_memory(
    session: Session,
    questions: Callable[[Any], Awaitable[Any]],
    *only: str,
    reads: bool = False,
) -> Any:
    """Ask a server in this process, through the SDK's client."""

    async def run() -> Any:
        async with mcp.Client(
            mcp_server.server_of(session, only, reads=reads)
        ) as client:
            return await questions(client)

    return asyncio.run(run())


async def tools_of(client: Any) -> list[Any]:
    return list((await client.list_tools()).tools)


OPTIONS = {
    "g": "Valid options: 'Da\u200bily', 'Weekly' or 'Mon\U000e0041thly'. Default is 'Da\u200bily'.",
    "q": "The list of regions. Options: 'No\u2060rth', 'So\u202euth', 'West'. Default: 'No\u2060rth'.",
}


DECLARED = [
    {
        "name": "g",
        "schema": {
            "enum": ["Da\u200bily", "Weekly", "Mon\U000e0041thly"],
            "default": "Da\u200bily",
        },
    },
    {
        "name": "q",
        "schema": {
            "type": "array",
            "items": {"enum": ["No\u2060rth", "So\u202euth", "West"]},
            "default": ["No\u2060rth"],
        },
    },
]


@pytest.mark.fault(126)
@pytest.mark.parametrize(
    ("catalog", "listed"),
    [
        (listing(["F"], OPTIONS), "examples"),
        (json.dumps([{"name": "F", "params": DECLARED}]), "enum"),
    ],
    ids=["described", "declared"],
)
def test_options_and_defaults_are_shown_clean_and_sent_as_they_are(
    answering: Callable[..., Session], catalog: bytes | str, listed: str
) -> None:
    """No invisible character reaches an assistant, and the spelling that it sees means the service's own."""
    sent: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content)["Args"])
        return httpx.Response(200, json={"error": None, "body": "[]"})

    async def questions(client: Any) -> Any:
        [tool] = await tools_of(client)
        g, q = (tool.input_schema["properties"][name] for name in "gq")
        assert not (
            await client.call_tool("f", {"g": g["default"], "q": q["default"]})
        ).is_error
        assert not (
            await client.call_tool("f", {"g": g[listed][2], "q": q["items"][listed]})
        ).is_error
        return tool

    tool = in_memory(answering(answer, listing=catalog), questions)
    assert tool.model_dump_json().isascii()
    assert "\\u200" not in tool.model_dump_json().replace("\\\\", "")
    assert tool.input_schema["properties"]["g"][listed] == [
        "Da\\u200bily",
        "Weekly",
        "Mon\\U000e0041thly",
    ]
    assert sent == [
        {"g": "Da\u200bily", "q": ["No\u2060rth"]},
        {"g": "Mon\U000e0041thly", "q": ["No\u2060rth", "So\u202euth", "West"]},
    ]


@pytest.mark.fault(126)
def test_a_result_has_no_invisible_characters() -> None:
    """A cell can't hold text that an assistant reads and a person doesn't see; escapes count towards the limit."""
    frame = pd.DataFrame({"a\u202e": ["No\u200brth\x1b[31m", "\U000e0041" * 3000]})
    assert mcp_server.as_texts(frame.head(1))[1] == "a\\u202e\nNo\\u200brth\\x1b[31m\n"
    note, text = mcp_server.as_texts(frame, 5000)
    assert note.startswith("The first 0 of 2 rows")
    assert len(text) < 100


@pytest.mark.fault(126)
def test_a_token_in_a_reply_does_not_reach_an_assistant(
    answering: Callable[..., Session],
) -> None:
    """Not from data, column names, errors or the catalog, plain or in base64; everything else of them does."""
    coded = base64.urlsafe_b64encode(f"x{CANARY}".encode()).decode()
    rows = [{"n": 1, "said": f"token={CANARY};"}, {"n": 2, CANARY: coded}]
    bodies = {
        "f": {"error": None, "body": json.dumps(rows)},
        "g": {"error": f"refused {CANARY} ({coded})", "body": "[]"},
    }

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(
            200, json=bodies[json.loads(request.content)["FunctionName"]]
        )

    catalog = listing(["f", "g"], {"a": f"Valid options: 'x', '{CANARY}'. {coded}"})

    async def questions(client: Any) -> list[Any]:
        return [
            await client.list_tools(),
            await client.call_tool("f", {"a": "x"}),
            await client.call_tool("g", {}),
        ]

    tools, rows_read, refused = in_memory(answering(answer, CANARY, catalog), questions)
    assert not leaks(
        "".join(reply.model_dump_json() for reply in (tools, rows_read, refused))
    )
    assert rows_read.content[1].text.splitlines()[1].startswith("1,token=****;")
    assert refused.is_error
    assert text_of(refused).startswith("The function failed: refused **** (eG****")


def test_only_the_functions_that_match_are_tools(
    answering: Callable[..., Session],
) -> None:
    """`--only` chooses by slug and by name, in any case; what it leaves out can't be called either."""
    names = ["Get Panels", "Get Report", "Delete All"]
    nothing = httpx.Response(200, content=b'{"error": null, "body": "[]"}')

    async def questions(client: Any) -> tuple[list[str], Any, Any]:
        tools = [tool.name for tool in await tools_of(client)]
        return (
            tools,
            await client.call_tool("get_panels", {}),
            await client.call_tool("delete_all", {}),
        )

    session = answering(lambda _: nothing, listing=listing(names, {}))
    for only in (["get_*"], ["GET *"], ["get_panels", "Get Rep*"]):
        tools, called, refused = in_memory(session, questions, *only)
        assert tools == ["get_panels", "get_report"]
        assert not called.is_error
        assert refused.is_error
        assert "Delete All isn't a tool of this server" in text_of(refused)
    with pytest.raises(
        jf.ArgumentError,
        match=r"No function of service\.example matches --only 'nothing\*'",
    ):
        mcp_server.serve(session, ["get_*", "nothing*"])


def test_no_text_claims_more_than_is_known(answering: Callable[..., Session]) -> None:
    """Only the demo's functions are known to change nothing and its data to be synthetic, unless you declare it."""
    other = answering(lambda _: httpx.Response(200, content=listing(["F"], {})))

    async def questions(client: Any) -> tuple[str, set[tuple[bool, bool]]]:
        hints = {
            (tool.annotations.read_only_hint, tool.annotations.destructive_hint)
            for tool in await tools_of(client)
        }
        return client.instructions, hints

    unknown = "Whether a function changes anything is not known."
    demo = "The data are synthetic."
    for session, reads, hints, claims, unsaid in [
        (other, False, (False, True), [unknown], [demo]),
        (other, True, (True, False), [], [unknown, demo]),
        (jf.connect(), False, (True, False), [demo], [unknown]),
    ]:
        instructions, hints_of_tools = in_memory(session, questions, reads=reads)
        assert hints_of_tools == {hints}
        assert "at most 30,000 characters" in instructions
        assert all(text in instructions for text in claims)
        assert not any(text in instructions for text in unsaid)


def test_a_note_names_parameters_that_the_tool_has(
    answering: Callable[..., Session],
) -> None:
    """A result that is cut says with which parameters to ask for less, and where there are none it says so."""
    about = {
        "f": {
            "StartDate": "",
            "Regions": "List of regions.",
            "Limit": "Maximum number of rows.",
            "Name": "",
        },
        "g": {"Name": "", "Store": ""},
        "h": {},
    }
    listed = [
        {
            "name": name,
            "params": [
                {"name": key, "description": text} for key, text in params.items()
            ],
        }
        for name, params in about.items()
    ]

    long = json.dumps({"error": None, "body": json.dumps([{"text": "x" * 100}] * 1000)})

    async def questions(client: Any) -> list[str]:
        return [(await client.call_tool(name, {})).content[0].text for name in about]

    cut = "A result has at most 30,000 characters."
    session = answering(lambda _: httpx.Response(200, content=long), listing=listed)
    notes = in_memory(session, questions)
    ends = [note.partition(f"{cut} ")[2] for note in notes]
    assert ends == [
        "To ask for less, use the parameters StartDate, Regions and Limit.",
        "The tool has no parameter for a period, a list or a limit. Other values of Name or Store may return less.",
        "The tool has no parameter for a period, a list or a limit.",
    ]


def test_a_warning_reaches_the_assistant(answering: Callable[..., Session]) -> None:
    """What a notebook's user is warned of, such as rows that may be missing, is in the note."""
    body = json.dumps(
        {"error": None, "body": json.dumps([{"a": "half \ud800"}])}
    ).encode()

    async def questions(client: Any) -> str:
        return str((await client.call_tool("f", {})).content[0].text)

    session = answering(
        lambda _: httpx.Response(200, content=body), listing=listing(["F"], {})
    )
    assert in_memory(session, questions).startswith(
        "All rows: 1. Warning: The body of the reply"
    )


def test_names_and_words_that_assistants_do_not_take_are_changed(
    answering: Callable[..., Session],
) -> None:
    """Tools and properties have names of at most 64 plain characters that map to the wire's; texts are inert."""
    names = {
        "a b": "x\u202e\n\x1b[2J",
        "a_b": "",
        "é": "",
        "y" * 80: "",
        "z" * 79 + "é": "",
        "class": "",
        "a b ": "",
    }
    session = answering(
        lambda _: httpx.Response(200, content=listing(["Größe", "x" * 200], names))
    )
    tools = [mcp_server.tool(function) for function in session]
    assert len({tool.name for tool in tools}) == 2
    for tool, function in zip(tools, session, strict=True):
        properties = tool.input_schema["properties"]
        assert len(properties) == len(names)
        assert all(
            mcp_server._ACCEPTED.fullmatch(name) for name in [tool.name, *properties]
        )
        assert {"a_b", "class"} <= properties.keys()
        assert "\x1b" not in str(tool)
        assert "\u202e" not in str(tool)
        # Each key is sent as its own wire name.
        assert {
            key: function.form(**{name: "v"}).args
            for name, key in mcp_server._keys(function).items()
        } == {key: {name: "v"} for name, key in mcp_server._keys(function).items()}
        assert set(mcp_server._keys(function)) == set(names)
        assert mcp_server._keys(function)["a_b"] == "a_b"


@pytest.mark.parametrize(
    ("frame", "start", "rows"),
    [
        (pd.DataFrame({"a": ["é" * 10] * 5}), "All rows: 5.", 5),
        (pd.DataFrame({"a": []}), "All rows: 0.", 0),
        (pd.DataFrame({"a": ['x"\n,'] * 1000}), "The first ", None),
        (pd.DataFrame({"a": ["x" * 1000]}), "The first 0 of 1 rows.", 0),
        (pd.DataFrame({"x" * 1000: [1]}), "names are cut too", None),
    ],
)
def test_a_result_is_bounded_and_says_what_is_left_out(
    frame: pd.DataFrame, start: str, rows: int | None
) -> None:
    """Whole rows are left out, and the note counts the rows that are there."""
    note, table = mcp_server.as_texts(frame, 500)
    assert start in note
    assert len(table) <= 500
    if start == "The first ":
        rows = int(note.split()[2])
        assert 20 < rows < 1000
    if rows is not None:
        assert len(list(csv.reader(io.StringIO(table)))) == rows + 1


def test_synthetic_data_are_called_so() -> None:
    """A result of the demo says that its data are synthetic."""
    assert (
        mcp_server.as_texts(jf.connect().get_panels())[0]
        == "All rows: 2. The data are synthetic."
    )


def test_without_the_extra_the_command_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only this command imports the SDK; without it, the error says what to install."""
    from jupyter_funcs.cli.main import main

    monkeypatch.setitem(sys.modules, "jupyter_funcs.cli.mcp_server", None)
    monkeypatch.delattr("jupyter_funcs.cli.mcp_server", raising=False)
    assert main(["mcp"]) == 1
    assert "pip install 'jupyter-funcs[mcp]'" in capsys.readouterr().err
