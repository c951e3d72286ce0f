"""The request of a run is shown as it is sent: by --dry-run, by request(), and as a curl command if it is HTTP."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

import jupyter_funcs as jf
from jupyter_funcs.client import snippets
from jupyter_funcs.client.snippets import curl
from tests.servers import serving
from tests.shells import shell_with
from tests.sources.test_openapi import Server, document, operation, param

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_funcs.api import RemoteFunction, Session

TOKEN = "a-token-of-the-request-tests"
BODY = {
    "type": "object",
    "properties": {"count": {"type": "integer"}, "note": {"type": "string"}},
}
SCHEMES = {"s": {"type": "apiKey", "in": "header", "name": "X-$HOME`id`"}}
KEY = {"components": {"securitySchemes": SCHEMES}, "security": [{"s": []}]}
PATHS = {
    "/look/{id}": {
        "get": operation(
            param("id", "path"),
            param("q"),
            param("X-Mode", "header"),
            operationId="look",
        )
    },
    "/change": {"post": operation(operationId="change", body=BODY)},
}


server = Server(document(PATHS))


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(server.app) as url:
        yield url


@pytest.fixture
def funcs(url: str) -> Iterator[Session]:
    server.seen.clear()
    server.document = document(PATHS)
    session = jf.connect(f"{url}/v1/openapi.json", token=TOKEN)
    yield session
    session.close()


def test_the_request_of_an_operation_is_the_one_that_is_sent(
    funcs: Session, url: str
) -> None:
    """Its method, address, headers and body, with the document's types; of the token only the header's name."""
    look = funcs.look.request(id="a b", q="x y", X_Mode="fast")
    assert look == {
        "method": "GET",
        "url": f"{url}/look/a%20b?q=x%20y",
        "credentials": [
            {
                "in": "header",
                "name": "Authorization",
                "prefix": "Bearer ",
                "variable": "FUNCS_TOKEN",
            }
        ],
        "headers": {"Accept": "application/json", "X-Mode": "fast"},
    }
    change = funcs.change.request(count="7", note="007")
    assert (change["method"], change["body"]) == ("POST", {"count": 7, "note": "007"})
    funcs.look(id="a b", q="x y", X_Mode="fast")
    funcs.change(count="7", note="007")
    for sent, shown in zip(server.seen, (look, change), strict=True):
        address = f"{url}{sent['path']}?{sent['query']}".rstrip("?")
        assert (sent["method"], address, sent["body"]) == (
            shown["method"],
            shown["url"],
            shown.get("body", ""),
        )
        assert {
            name.lower(): value for name, value in shown["headers"].items()
        }.items() <= sent["headers"].items()
    with pytest.raises(jf.ArgumentError, match="id does not take"):
        funcs.look.request(id="..")


def test_a_dry_run_shows_it(
    funcs: Session, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """For a call and for each run of a sweep; nothing is sent."""
    with shell_with(funcs) as shell:
        shell.run_line_magic("funcs", "call look id=a --dry-run")
        assert json.loads(capsys.readouterr().out)["url"] == f"{url}/look/a"
        shell.run_line_magic("funcs", "sweep look id=[a,b] --dry-run")
        first, *shown = capsys.readouterr().out.splitlines()
    assert first == "2 runs would be sent:"
    assert [json.loads(line)["url"] for line in shown] == [
        f"{url}/look/a",
        f"{url}/look/b",
    ]
    assert not server.seen


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("name", ["open", "key", "public"])
def test_the_curl_command_sends_the_same(url: str, name: str) -> None:
    """A shell runs it unchanged; the token comes from the environment, and no name in a document is expanded."""
    server.document = document(PATHS, **(KEY if name == "key" else {}))
    funcs = jf.connect(
        f"{url}/v1/openapi.json", token=None if name == "public" else TOKEN
    )
    runs = {
        funcs.look: {"id": "it's", "X-Mode": "$HOME"},
        funcs.change: {"count": "7", "note": "`id` $HOME é"},
    }
    for function, args in runs.items():
        command = curl(function, function.form(**args).check())
        assert TOKEN not in command
        server.seen.clear()
        function(**args)
        environment = {"FUNCS_TOKEN": TOKEN, "PATH": "/usr/local/bin:/usr/bin:/bin"}
        subprocess.run(
            ["bash", "-c", f"{command} -s"],
            env=environment,
            check=True,
            capture_output=True,
            timeout=60,
        )
        ours, theirs = server.seen
        assert theirs | {"headers": 0} == ours | {"headers": 0}
        for header in (
            "accept",
            "content-type",
            "authorization",
            "x-mode",
            "x-$home`id`",
        ):
            assert theirs["headers"].get(header) == ours["headers"].get(header), header
        sent = [header for header, value in theirs["headers"].items() if TOKEN in value]
        assert (
            sent
            == {"open": ["authorization"], "key": ["x-$home`id`"], "public": []}[name]
        )
    funcs.close()


def code_of(function: RemoteFunction, **args: str) -> str:
    return str(snippets.blocks(function, function.form(**args), "x"))


def test_the_code_of_a_run_has_a_command_only_where_there_is_one(
    funcs: Session,
) -> None:
    """An operation has one; a Python function has none."""

    def add(count: int, text: str = "") -> int:
        return count + len(text)

    python = jf.connect([add])
    assert "curl -X GET" in code_of(funcs.look, id="a")
    assert "curl" not in code_of(funcs.look, id="..")
    assert python.add.request(count="7", text="007") == {
        "function": "Add",
        "arguments": {"count": 7, "text": "007"},
    }
    assert "curl" not in code_of(python.add, count="7")
