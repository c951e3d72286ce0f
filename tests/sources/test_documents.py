"""OpenAPI documents in YAML and in files: read within bounds, and run where the user says."""

from __future__ import annotations

import json
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import jupyter_funcs as jf
from jupyter_funcs.client.snippets import python
from jupyter_funcs.connection.profiles import resolve
from jupyter_funcs.sources import yaml_decoding
from tests.faults.canary import CANARY
from tests.servers import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request

NUMBER = {"name": "n", "in": "query", "schema": {"type": "integer"}}
DOCUMENT: dict[str, Any] = {
    "openapi": "3.0.3",
    "paths": {
        "/look": {
            "get": {
                "operationId": "Look",
                "parameters": [NUMBER],
                "responses": {"200": {}},
            }
        }
    },
}


def decoded(text: str | bytes) -> Any:
    return yaml_decoding.decode(
        text.encode() if isinstance(text, str) else text, what="document"
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 2024-01-31", {"a": "2024-01-31"}),
        ("a: 2024-01-31T10:00:00Z", {"a": "2024-01-31T10:00:00Z"}),
        ("a: no\nb: on\nc: Yes\nd: y", {"a": "no", "b": "on", "c": "Yes", "d": "y"}),
        (
            "a: true\nb: False\nc: TRUE\nd: tRUE",
            {"a": True, "b": False, "c": True, "d": "tRUE"},
        ),
        (
            "a: null\nb: ~\nc:\nd: Null\ne: ''",
            {"a": None, "b": None, "c": None, "d": None, "e": ""},
        ),
        ("[1, -2, +3, 4.5, .5, 1e3, -1.5E-2]", [1, -2, 3, 4.5, 0.5, 1000.0, -0.015]),
        (
            "[12:30, 1_000, 1.2.3, 1e999, .inf, 0x1F]",
            ["12:30", "1_000", "1.2.3", "1e999", ".inf", "0x1F"],
        ),
        ("['1', \"2\", !!str 3]", ["1", "2", "3"]),
        (
            "200: a\ntrue: b\nnull: c\n1.5: d",
            {"200": "a", "true": "b", "null": "c", "1.5": "d"},
        ),
        (
            "a: &x {n: 1}\nb: *x\nc: [*x, *x]",
            {"a": {"n": 1}, "b": {"n": 1}, "c": [{"n": 1}, {"n": 1}]},
        ),
        (
            "a: &x {n: 1, m: 2}\nb: {<<: *x, n: 3}",
            {"a": {"n": 1, "m": 2}, "b": {"n": 3, "m": 2}},
        ),
        (
            "a: &x {n: 1}\nb: {<<: [*x, {m: 2}, 5]}",
            {"a": {"n": 1}, "b": {"n": 1, "m": 2}},
        ),
        (
            "a: |\n  one\n  two\nb: >\n  one\n  two\n",
            {"a": "one\ntwo\n", "b": "one two\n"},
        ),
        ("a: 1\na: 2", {"a": 2}),
        ("!!python/object/apply:os.system ['true']", ["true"]),
        ("--- 1\n--- 2", 1),
        ("", None),
        ("# nothing", None),
        ("\ufeffa: é", {"a": "é"}),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_yaml_is_what_it_would_be_in_json(text: str, value: Any) -> None:
    """Only JSON's values: texts, numbers, true, false and null; keys are texts."""
    assert decoded(text) == value
    json.dumps(decoded(text), allow_nan=False)


def bomb(levels: int, width: int) -> str:
    lines = ["a0: &a0 x"] + [
        f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * width)}]"
        for at in range(1, levels)
    ]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (bomb(12, 10), "values, or aliases without end"),
        ("a: &a [*a]", "values, or aliases without end"),
        ("a: *b", "values, or aliases without end"),
        ("a: &a {b: {<<: *a}}", "values, or aliases without end"),
        (
            "[" * 500_000,
            "more than 100 levels|maximum nesting depth",
        ),  # the second by libyaml's own limit
        ("{a: " * 500_000, "more than 100 levels|maximum nesting depth"),
        ("- " * 100_000 + "x", "more than 100 levels"),
        ("a: [1, 2", "is not YAML at line 2"),
        ("a: b: c", "is not YAML at line 1"),
        ("a: 'open\nb: 1", "is not YAML at line 2"),
        ("a:\n\tb: 1", "is not YAML at line 2"),
        ("a: \x00", "is not YAML"),
        ("a: \x1b[31m", "is not YAML"),
        (b"a: \xff\xfe", "is not YAML"),
        ('a: "\\ud800"', "is not YAML at line 1"),
        ("? [1]\n: 2", "a key that is not text"),
        ("%YAML 3.0\n--- 1", "is not YAML"),
    ],
    ids=range(17),
)
@pytest.mark.usefixtures("no_hang")
def test_yaml_that_is_wrong_or_too_much_is_refused(
    text: str | bytes, message: str
) -> None:
    """The error has two lines."""
    with pytest.raises(jf.ProtocolError, match=message) as caught:
        decoded(text)
    assert len(str(caught.value).splitlines()) == 2
    assert str(caught.value).isprintable() or "\n" in str(caught.value)


def test_aliases_count_as_all_that_they_stand_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are read up to the limit, without using memory."""
    monkeypatch.setattr(yaml_decoding, "_MAX_NODES", 120)
    assert decoded(bomb(3, 9))["a2"][8][8] == "x"
    with pytest.raises(jf.ProtocolError, match="more than 120 values"):
        decoded(bomb(4, 9))


class Server:
    """An API that returns the request that reached it, and the files that it serves."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []
        self.files: dict[str, Any] = {}
        self.app = Starlette(routes=[Route("/{path:path}", self.answer)])

    async def answer(self, request: Request) -> Response:
        path = request.url.path
        self.seen.append((path, request.headers.get("authorization", "")))
        if (file := self.files.get(path)) is not None:
            return (
                Response(file) if isinstance(file, bytes | str) else JSONResponse(file)
            )
        return JSONResponse([{"path": path}])


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[str, Server]]:
    server = Server()
    with serving(server.app) as url:
        yield url, server


@pytest.fixture
def api(served: tuple[str, Server]) -> tuple[str, Server]:
    served[1].seen.clear()
    return served


def written(folder: Path, name: str, **more: Any) -> Path:
    path = folder / name
    document = DOCUMENT | more
    path.write_text(
        json.dumps(document) if path.suffix == ".json" else yaml.safe_dump(document)
    )
    return path


SERVERS: dict[str, tuple[list[str], str, str]] = {
    "none": ([], "", "/look"),
    "none, and a path": ([], "/base", "/base/look"),
    "an absolute one": (["{url}/v2"], "", "/v2/look"),
    "an absolute one, and a path": (["{url}/v2"], "/v3", "/v2/look"),
    "a relative one": (["/v2"], "", "/v2/look"),
    "a relative one to a path": (["v2"], "/base", "/base/v2/look"),
    "another first": (["https://other.example", "{url}/v2"], "", "/v2/look"),
}


@pytest.mark.parametrize(("servers", "path", "address"), SERVERS.values(), ids=SERVERS)
@pytest.mark.parametrize("token", [CANARY, None])
def test_a_file_runs_where_the_user_says(
    servers: list[str],
    path: str,
    address: str,
    token: str | None,
    tmp_path: Path,
    api: tuple[str, Server],
) -> None:
    """With `allow_server`, in YAML and JSON, with and without a token; the code of a run has it too."""
    url, server = api
    more = (
        {"servers": [{"url": server_url.format(url=url)} for server_url in servers]}
        if servers
        else {}
    )
    for name in ("shop.yaml", "shop.JSON") if token else ("shop.yml",):
        file = written(tmp_path, name, **more)
        funcs = jf.connect(file, allow_server=url + path, token=token)
        assert (funcs.names, funcs.kind, funcs.service) == (["Look"], "openapi", name)
        assert list(funcs.Look()["path"]) == [address]
        assert server.seen == [(address, f"Bearer {token}" if token else "")]
        if not token:
            exec(python(funcs.look, {}, funcs.where), space := {})  # type: ignore[var-annotated]
            assert list(space["df"]["path"]) == [address]
            space["funcs"].close()
        server.seen.clear()
        funcs.close()


@pytest.mark.parametrize(
    ("servers", "message", "hint"),
    [
        (None, "does not say at which address", "https://…"),
        (["/v2"], "does not say at which address", "https://…"),
        (
            ["https://shop.example/v2"],
            "the server 'https://shop.example/v2'",
            "https://shop.example",
        ),
        (
            ["http://shop.example/v2"],
            "the server 'http://shop.example/v2'",
            "http://shop.example",
        ),
        (["file:///etc"], "the server 'file:///etc'", "https://…"),
        (["https://u:p@shop.example"], "the server", "https://…"),
    ],
)
def test_a_file_without_the_users_word_says_what_to_add(
    servers: list[str] | None, message: str, hint: str, tmp_path: Path
) -> None:
    """The error has the line for the profile and the argument, with the origin to allow."""
    file = written(
        tmp_path,
        "shop.yaml",
        **(
            {"servers": [{"url": server_url} for server_url in servers]}
            if servers
            else {}
        ),
    )
    with pytest.raises(jf.ConfigError, match=message) as caught:
        _ = jf.connect(file).names
    assert f'jf.connect(…, allow_server="{hint}")' in caught.value.hint
    assert f'the line allow_server = "{hint}"' in caught.value.hint


def test_a_text_is_a_file_if_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise it is the name of a profile; a path object is always a file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("FUNCS_CONFIG", str(tmp_path / "none.toml"))
    written(tmp_path, "shop.yaml")
    (tmp_path / "api").mkdir()
    written(tmp_path, "api/shop.json")
    (tmp_path / "folder.json").mkdir()
    here = tmp_path / "shop.yaml"

    def resolved(where: Any) -> Any:
        return resolve(where)

    for where in (
        "shop.yaml",
        "./shop.yaml",
        "~/shop.yaml",
        str(here),
        here,
        Path("shop.yaml"),
    ):
        connection = resolved(where)
        assert (connection.kind, Path(connection.where), connection.name) == (
            "openapi",
            here,
            "shop.yaml",
        )
        assert connection.base_url == here.as_uri()
    assert (
        resolved(resolved("api/shop.json").where).base_url
        == resolved("api/shop.json").base_url
    )
    for where in (
        "shop.yml",
        "folder.json",
        "absent/shop.json",
        "x" * 300 + ".json",
        "\x00.json",
    ):
        with pytest.raises(
            jf.ConfigError, match=r"There is no (such profile|file .*, and no profile)"
        ):
            resolved(where)
    with pytest.raises(jf.ConfigError) as caught:
        resolved(f"https:/ada:{CANARY}@shop.example/a.json")
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (str, "cannot be read: No such file"),
        (lambda path: path.mkdir(), "cannot be read: "),
        (os.mkfifo, "cannot be read: it is not a regular file"),
        (lambda path: path.write_bytes(b"\xff\xfe\x00"), "is not YAML"),
        (
            lambda path: path.write_bytes(b'{"\xff": 1}'),
            r"is not UTF-8 at byte 2\.\nCheck the document",
        ),
        (
            lambda path: path.write_text(bomb(12, 10)),
            r"aliases without end\.\nSimplify it",
        ),
        (lambda path: path.write_text("a: 1"), "'a.yaml' is not an OpenAPI document"),
        (lambda path: path.write_text(""), "'a.yaml' is not an OpenAPI document"),
        (lambda path: path.write_text("swagger: '1.2'"), r"OpenAPI \(Swagger\) 1.2"),
        (lambda path: path.write_text("swagger: 1.2"), r"OpenAPI \(Swagger\) 1.2"),
        (
            lambda path: path.write_text('{"openapi": "3.0.0", '),
            "is not YAML|cut short",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    make: Any, message: str, tmp_path: Path
) -> None:
    """With the reason, at the first use, without waiting for a pipe. The status doesn't mention a token."""
    make(path := tmp_path / "a.yaml")
    assert "token" not in str(jf.connect(path).status())
    with pytest.raises(jf.FuncsError, match=message):
        _ = jf.connect(path).names


def test_a_profile_names_a_file_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api: tuple[str, Server]
) -> None:
    """As `file`, or as a relative `url` of kind openapi, with the token and the server that it names."""
    url, server = api
    (tmp_path / "sub").mkdir()
    written(tmp_path, "sub/shop.yaml", servers=[{"url": f"{url}/v2"}])
    config = tmp_path / "profiles.toml"
    allow = f'allow_server = "{url}"\n'
    token = 'token_env = "SHOP_TOKEN"\n'
    config.write_text(
        f'[profiles.a]\nkind = "openapi"\nfile = "sub/shop.yaml"\n{allow}{token}'
        f'[profiles.b]\nfile = "sub/shop.yaml"\n{allow}'
        f'[profiles.c]\nkind = "openapi"\nurl = "sub/shop.yaml"\n{allow}'
        f'[profiles.d]\nfile = "sub/shop.yaml"\n'
    )
    monkeypatch.setenv("FUNCS_CONFIG", str(config))
    monkeypatch.setenv("SHOP_TOKEN", CANARY)
    for name, sent in {"a": f"Bearer {CANARY}", "b": "", "c": ""}.items():
        funcs = jf.connect(name)
        assert (funcs.service, funcs.where, list(funcs.look()["path"])) == (
            name,
            name,
            ["/v2/look"],
        )
        assert server.seen.pop() == ("/v2/look", sent)
    with pytest.raises(jf.ConfigError, match="allow_server"):
        _ = jf.connect("d").names
    assert jf.connect("d", allow_server=url).names == ["Look"]


@pytest.mark.parametrize(
    ("where", "allow", "message"),
    [
        ("python:math", "https://api.example", "server of an OpenAPI document"),
        (None, "https://api.example", "server of an OpenAPI document"),
        (
            "https://x.example/mcp",
            "https://api.example",
            "server of an OpenAPI document",
        ),
        ("https://x.example/a.json", "http://api.example", "unencrypted"),
        ("https://x.example/a.json", "api.example", "not the address"),
        (
            "https://x.example/a.json",
            "https://u:p4ssw0rd@api.example",
            "a user name or a password",
        ),
    ],
)
def test_a_server_to_allow_is_an_address_for_a_document(
    where: Any, allow: str, message: str
) -> None:
    """Anything else is refused immediately, and a password isn't shown."""
    with pytest.raises(jf.ConfigError, match=message) as caught:
        jf.connect(
            where,
            allow_server=allow,
            token=(where and "://" in where and "a-token") or None,
        )
    assert "p4ssw0rd" not in str(caught.value)


@pytest.mark.slow
def test_workers_know_the_kind_and_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api: tuple[str, Server]
) -> None:
    """They don't request a listing, however the kind was found."""
    url, server = api
    server.files |= {"/spec": DOCUMENT, "/a.yaml": yaml.safe_dump(DOCUMENT)}
    file = written(tmp_path, "shop.yaml", servers=[{"url": f"{url}/v2"}])
    monkeypatch.setenv("FUNCS_BASE_URL", f"{url}/spec")
    monkeypatch.setenv("FUNCS_TOKEN", CANARY)
    sessions = [
        jf.connect(file, allow_server=url),
        jf.connect(f"{url}/a.yaml"),
        jf.connect(),
    ]
    assert [funcs.names for funcs in sessions] == [["Look"]] * 3
    with ProcessPoolExecutor(1) as pool:
        for funcs, path in zip(sessions, ["/v2/look", "/look", "/look"], strict=True):
            server.seen.clear()
            frame = funcs["Look"].with_options(executor=pool, cache=False).sweep(n=[1])
            assert [list(frame["path"]), len(server.seen)] == [[path], 1]
    assert server.seen == [("/look", f"Bearer {CANARY}")]
