"""A parameter named like one of our own arguments is set like any other, or refused with a message; never dropped."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

import jupyter_funcs as jf
from jupyter_funcs.core.errors import ArgumentError
from tests.shells import shell_with

if TYPE_CHECKING:
    from jupyter_funcs.api import RemoteFunction

NAMES = [
    "validate",
    "trusted",
    "function",
    "name",
    "timeout",
    "values",
    "table",
    "self",
    "form",
    "session",
    "args",
    "method",
    "words",
    "cache",
    "pairs",
    "result",
    "func",
    "where",
]
GIVEN = {name: f"{name} 1" for name in NAMES}
LISTS = {name: [value] for name, value in GIVEN.items()}


def echo(  # as many as there are names
    *,
    validate: str = "",
    trusted: str = "",
    function: str = "",
    name: str = "",
    timeout: str = "",
    values: str = "",
    table: str = "",
    self: str = "",
    form: str = "",
    session: str = "",
    args: str = "",
    method: str = "",
    words: str = "",
    cache: str = "",
    pairs: str = "",
    result: str = "",
    func: str = "",
    where: str = "",
) -> list[dict[str, Any]]:
    return [{"given": dict(locals())}]


def plain(x: str = "") -> list[dict[str, Any]]:
    return [{"x": x}]


@pytest.fixture
def run() -> RemoteFunction:
    return jf.connect([echo, plain])["echo"]


WAYS = {
    "call": lambda run: run(**GIVEN).attrs["funcs"]["args"],
    "form": lambda run: run.form(**GIVEN).args,
    "submit": lambda run: run.submit(**GIVEN).args,
    "request": lambda run: run.request(**GIVEN)["arguments"],
    "panel": lambda run: run.panel(**GIVEN).form.args,
    "panel of the session": lambda run: (
        run.session.panel(
            "echo",
            **{name: value for name, value in GIVEN.items() if name != "trusted"},
        ).form.args
        | {"trusted": GIVEN["trusted"]}
    ),
    "Form": lambda run: (
        jf.Form(
            run, **{name: value for name, value in GIVEN.items() if name != "validate"}
        ).args
        | {"validate": GIVEN["validate"]}
    ),
    "sweep": lambda run: (
        run.with_options(progress=False, cache=False)
        .sweep(**LISTS)[NAMES]
        .iloc[0]
        .to_dict()
    ),
    "start_sweep": lambda run: {
        name: value
        for name, [value] in run.with_options(cache=False)
        .start_sweep(**LISTS)
        .args.items()
    },
    "with_options": lambda run: run.with_options(validate=False).form(**GIVEN).args,
}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_of_running_sets_a_parameter_of_any_name(
    run: RemoteFunction, way: str
) -> None:
    """Calls, jobs, forms, panels, requests and sweeps."""
    assert WAYS[way](run) == GIVEN


def test_the_magic_sets_a_parameter_of_any_name(run: RemoteFunction) -> None:
    """On a line and in a cell."""
    with shell_with(run.session) as shell:
        words = " ".join(f"{name}='{value}'" for name, value in GIVEN.items())
        shell.run_line_magic("funcs", f"call echo {words} -o df")
        assert shell.user_ns["df"].attrs["funcs"]["args"] == GIVEN
        body = "\n".join(f"{name}: {value}" for name, value in GIVEN.items())
        shell.run_cell_magic("funcs", "call echo -o df", body)
        assert shell.user_ns["df"].attrs["funcs"]["args"] == GIVEN


def test_a_tool_of_the_mcp_server_sets_a_parameter_of_any_name(
    run: RemoteFunction,
) -> None:
    """The request's arguments are those of the function."""
    pytest.importorskip("mcp", reason="the extra 'mcp' is not installed")
    from mcp import Client

    from jupyter_funcs.cli.mcp_server import server_of

    async def ask() -> Any:
        async with Client(server_of(run.session)) as client:
            return await client.call_tool("echo", GIVEN)

    result = asyncio.run(ask())
    assert not result.is_error
    assert all(value in result.content[1].text for value in GIVEN.values())


@pytest.mark.parametrize("value", [False, True, "strict"])
def test_an_option_that_may_be_a_parameter_is_refused_with_the_way_to_set_it(
    run: RemoteFunction, value: Any
) -> None:
    """Form(validate=) and panel(trusted=) keep their meaning for every other function."""
    with pytest.raises(ArgumentError, match=r'form\["validate"\] = '):
        jf.Form(run, validate=value)
    with pytest.raises(ArgumentError, match=r'form\["trusted"\] = '):
        run.session.panel("echo", trusted=value)
    other = run.session["plain"]
    assert jf.Form(other, validate=False).validate is False
    assert jf.Form(other).validate is True
    assert run.session.panel("plain", trusted=False) is not None


def test_values_without_a_function_are_refused(run: RemoteFunction) -> None:
    """For example `name=`, because the function is a positional argument."""
    with pytest.raises(ArgumentError, match="Values need a function"):
        run.session.panel(name="echo")
