"""Requests go to the servers that a document names, as the user chooses and allows them, and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import jupyter_funcs as jf
from jupyter_funcs.api import Session
from jupyter_funcs.client.snippets import python
from jupyter_funcs.connection.profiles import Connection, resolve
from jupyter_funcs.connection.secrets import Secret
from jupyter_funcs.connection.tokens import Constant
from jupyter_funcs.sources.openapi_servers import Servers
from tests.growth import assert_linear
from tests.sources.test_openapi import TOKEN, Server, document, operation

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENT = "https://docs.example/openapi.json"
TENANT = {"tenant": {"default": "your-tenant"}}
RUN = {"/run": {"get": operation(operationId="run")}}


def named(*urls: str, **variables: Any) -> list[dict[str, Any]]:
    return [{"url": url, "variables": variables} for url in urls]


def address_of(
    servers: Any, paths: Any = RUN, url: str = DOCUMENT, **options: Any
) -> str:
    """Run the operation of a document, and return the requested address."""
    server = Server(
        document(paths, **({} if servers is None else {"servers": servers}))
    )
    funcs = jf.connect(
        url.replace("docs.example/", "docs.example/v1/"), transport=server, **options
    )
    funcs["run"]()
    [origin] = server.origins - {"https://docs.example/"} or {"https://docs.example/"}
    return origin.rstrip("/") + server.seen[0]["path"]


ACME = "https://acme.shop.example"
REGION = {"region": {"default": "eu", "enum": ["eu", "us"]}}


@pytest.mark.parametrize(
    ("servers", "options", "address"),
    [
        # A variable's value is the label at its place in the user's own address.
        (named("https://{tenant}.shop.example/v1", **TENANT), {"allow_server": ACME}, f"{ACME}/v1"),
        (named("https://{tenant}.shop.example/v1", tenant={}), {"allow_server": ACME}, f"{ACME}/v1"),
        (named("https://api-{tenant}.shop.example", **TENANT), {"allow_server": "https://api-acme.shop.example"},
         "https://api-acme.shop.example"),
        (named("{protocol}://{tenant}.shop.example", **TENANT), {"allow_server": ACME}, ACME),
        (named(f"{ACME}/{{region}}", **REGION), {"allow_server": ACME}, f"{ACME}/eu"),
        (named(f"{ACME}/{{region}}", **REGION), {"allow_server": ACME, "server": {"region": "us"}}, f"{ACME}/us"),
        (named(f"{ACME}/{{base}}", base={"default": "v1"}), {"allow_server": ACME, "server": {"base": "v2/beta"}},
         f"{ACME}/v2/beta"),
        (named("https://{tenant}.shop.example", **TENANT), {"allow_server": ACME, "server": {"tenant": "acme"}}, ACME),
        # The user's own deployment, at the document's path unless the user names one.
        (named("https://demo.netbox.example/api"), {"allow_server": "https://netbox.mine"}, "https://netbox.mine/api"),
        (named("https://demo.netbox.example/api"), {"allow_server": "https://mine.example/netbox/api"},
         "https://mine.example/netbox/api"),
        (named("https://demo.netbox.example"), {"allow_server": "https://docs.example"}, "https://docs.example"),
        (named("/api"), {"allow_server": "https://netbox.mine"}, "https://netbox.mine/api"),
        (named("https://{host}/v1", host={"description": "yours"}), {"allow_server": "https://mine.example"},
         "https://mine.example/v1"),
        (named("https://shop.example", "{scheme}://{host}/api/v3", scheme={"default": "http"}, host={"default": "H"}),
         {"allow_server": "https://shop.corp.mine.example"}, "https://shop.corp.mine.example/api/v3"),
        (named("https://shop.example", "{scheme}://{host}/api/v3", scheme={"default": "http"}, host={"default": "H"}),
         {"allow_server": "http://127.0.0.1:8080"}, "http://127.0.0.1:8080/api/v3"),
        (None, {"allow_server": "https://mine.example"}, "https://mine.example"),
        # One of several, by its address or description; else the first that is allowed.
        (named("/a", "/b"), {}, "https://docs.example/a"),
        (named("/a", "/b"), {"server": "/b"}, "https://docs.example/b"),
        (named("/a", "/b"), {"server": "https://docs.example/b/"}, "https://docs.example/b"),
        ([{"url": "/a"}, {"url": "/b", "description": "Sandbox"}], {"server": "sandbox"}, "https://docs.example/b"),
        ([{"url": "/a"}, {"url": "/b", "name": "test"}], {"server": "test"}, "https://docs.example/b"),
        (named("https://other.example", "/b"), {}, "https://docs.example/b"),
        (named("https://{region}.shop.example", "https://test.example", **REGION),
         {"allow_server": "https://us.shop.example", "server": "https://us.shop.example"}, "https://us.shop.example"),
    ],
)  # fmt: skip
def test_a_request_goes_to_the_server_that_the_user_means(
    servers: Any, options: Any, address: str
) -> None:
    """By `server` and `allow_server`, with the base path of the document."""
    assert address_of(servers, **options) == f"{address}/run"


def test_an_address_that_a_document_without_servers_does_not_name_can_be_allowed() -> (
    None
):
    """For example, an API whose document omits its path."""
    address = "https://docs.example/api"
    with pytest.raises(jf.ConfigError, match="It names none") as refused:
        address_of(None, server=address)
    assert f"allow_server='{address}'" in refused.value.hint
    assert address_of(None, allow_server=address) == f"{address}/run"


@pytest.mark.parametrize(
    ("server", "message"),
    [
        *[
            ({"tenant": value}, "one label of a host")
            for value in (
                "evil.example/",
                "evil.example",
                "a@evil",
                "a:80",
                "a/b",
                "a?b",
                "a#b",
                "a\\b",
                "-a",
                "a-",
                "",
                "ä",
                "a" * 64,
                "a b",
                "a%2Fb",
                "a\n",
            )
        ],
        *[
            ({"base": value}, "a part of a path")
            for value in ("..", "../x", "a/../b", "/a", "a//b", "a?b", "a#b", "")
        ],
        ({"region": "mars"}, "The server's region is not 'mars'"),
        ({"tennant": "acme"}, "has a variable 'tennant'"),
        ({"tenant": "beta"}, "is not the server with"),
        ("Production", r"names no server 'Production'\.\nIt names 'https://{tenant}"),
    ],
)
def test_a_value_of_a_variable_leads_nowhere_else(server: Any, message: str) -> None:
    """Values that the document doesn't list are refused too; nothing is sent."""
    variables = {**TENANT, **REGION, "base": {"default": "v1"}}
    served = Server(
        document(
            RUN,
            servers=named("https://{tenant}.shop.example/{base}/{region}", **variables),
        )
    )
    funcs = jf.connect(
        "https://docs.example/v1/openapi.json",
        transport=served,
        server=server,
        allow_server=ACME,
    )
    with pytest.raises(jf.ConfigError, match=message):
        _ = funcs.names
    assert served.origins == {"https://docs.example/"}


HOSTILE = [
    "https://{tenant}.shop.example.evil.example",
    "https://{tenant}@evil.example",
    "https://evil.example/{tenant}.shop.example",
    "https://evil.example#{tenant}.shop.example",
    "https://{tenant}.shop.example:{tenant}@evil.example",
    "https://evil.example\\@{tenant}.shop.example",
    "//evil.example/{tenant}",
    "https:{tenant}.shop.example",
    "http://{tenant}.shop.example",
    "https://{tenant}.shop.example:444",
    "https://acme\u3002shop.example",
    "https://acme.shop.example\t.evil.example",
    "https://{tenant}",
    "javascript://{tenant}.shop.example",
]


@pytest.mark.parametrize("url", HOSTILE)
@pytest.mark.parametrize(
    "value", ["acme", "evil.example/", "evil.example#", "x@evil.example"]
)
def test_a_hostile_document_names_no_server_that_was_not_allowed(
    url: str, value: str
) -> None:
    """Whatever the templates and defaults, only the two origins that the user named get requests."""
    server = Server(document(RUN, servers=named(url, tenant={"default": value})))
    funcs = jf.connect(
        "https://docs.example/v1/openapi.json",
        transport=server,
        allow_server=ACME,
        token=TOKEN,
    )
    try:
        funcs["run"]()
    except jf.ConfigError:
        assert server.origins <= {"https://docs.example/"}
    assert server.origins <= {"https://docs.example/", f"{ACME}/"}


@pytest.mark.parametrize(
    ("servers", "message"),
    [
        (
            named("https://{host}/v1", host={"description": "yours"}),
            r"whose host depends on you\.\nIf you trust it, use jf.connect\(…, allow_server=",
        ),
        (
            named("https://{host}/v1", host={"default": "docs"}),
            "names the server 'https://docs/v1'",
        ),
        (named("https://api.example/{version}"), "whose version depends on you"),
        (
            named("https://{tenant}.shop.example", **TENANT),
            "the server 'https://your-tenant.shop.example'",
        ),
    ],
)
def test_a_server_that_is_not_known_says_what_to_add(
    servers: Any, message: str
) -> None:
    """Instead of requesting a wrong address."""
    server = Server(document(RUN, servers=servers))
    with pytest.raises(jf.ConfigError, match=message) as caught:
        _ = jf.connect("https://docs.example/v1/openapi.json", transport=server).names
    assert "allow_server" in caught.value.hint
    assert server.origins == {"https://docs.example/"}


def test_an_operation_elsewhere_is_no_part_of_ones_own_deployment() -> None:
    """One on the document's main server is."""
    paths = {
        **RUN,
        "/same": {
            "get": operation(
                operationId="same", servers=[{"url": "https://demo.example/v2"}]
            )
        },
        "/other": {
            "get": operation(
                operationId="other", servers=[{"url": "https://uploads.example"}]
            )
        },
    }
    server = Server(document(paths, servers=named("https://demo.example/v1")))
    funcs = jf.connect(
        "https://docs.example/v1/openapi.json",
        transport=server,
        allow_server="https://mine.example",
    )
    with pytest.warns(
        UserWarning,
        match=r"GET /other \(it runs on 'https://uploads.example'\)\. To run them too, list their server in",
    ):
        assert funcs.names == ["run", "same"]
    funcs.same()
    assert (server.origins, server.seen[0]["path"]) == (
        {"https://docs.example/", "https://mine.example/"},
        "/v2/same",
    )


def elsewhere(*servers: str) -> dict[str, Any]:
    """Return paths that have a server each."""
    return {
        f"/{at}": {
            "servers": [{"url": url}],
            "get": operation(operationId=f"run{at}"),
        }
        for at, url in enumerate(servers)
    }


FILES = "https://files.example/up"


@pytest.mark.parametrize("is_profile", [False, True])
def test_several_servers_of_one_document_are_allowed_together(
    is_profile: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token goes to each of them; in Python the code of a run has all."""
    allowed = [ACME, "https://files.example"]
    paths = elsewhere("https://{tenant}.shop.example/v1", FILES)
    paths["/0"]["servers"][0]["variables"] = TENANT
    served = Server(document(paths, servers=named("https://unused.example")))
    where = "https://docs.example/v1/openapi.json"
    options: dict[str, Any] = {"allow_server": allowed}
    if is_profile:
        file = tmp_path / "profiles.toml"
        file.write_text(
            f'[profiles.shop]\nkind = "openapi"\nurl = "{where}"\nallow_server = {allowed}\n'
        )
        monkeypatch.setenv("FUNCS_CONFIG", str(file))
        where = "shop"
        options = {}
    funcs = jf.connect(where, token=TOKEN, transport=served, **options)
    for name in ("run0", "run1"):
        funcs[name]()
    assert served.origins == {"https://docs.example/", *(f"{url}/" for url in allowed)}
    assert [request["path"] for request in served.seen] == ["/v1/0", "/up/1"]
    assert all(TOKEN in request["headers"]["authorization"] for request in served.seen)
    is_shown = f"allow_server={allowed}" in python(funcs["run0"], {}, funcs.where)
    assert is_shown is not is_profile


def test_a_deployment_of_ones_own_is_allowed_beside_another_server() -> None:
    """What the document names nowhere replaces its main server; the other keeps its place."""
    paths = {**RUN, **elsewhere(FILES)}
    served = Server(document(paths, servers=named("https://demo.example/api")))
    funcs = jf.connect(
        "https://docs.example/v1/openapi.json",
        transport=served,
        allow_server=["https://files.example", "https://mine.example"],
    )
    funcs["run"]()
    funcs["run0"]()
    assert [request["path"] for request in served.seen] == ["/api/run", "/up/0"]
    assert served.origins == {
        "https://docs.example/",
        "https://mine.example/",
        "https://files.example/",
    }


def test_each_of_several_servers_is_checked() -> None:
    """An address that is none, and one that would get the token in the clear."""
    with pytest.raises(jf.ConfigError, match="'files' is not the address"):
        resolve(DOCUMENT, allow_server=[ACME, "files"])
    with pytest.raises(jf.ConfigError, match=r"http://f\.example would send"):
        resolve(DOCUMENT, TOKEN, allow_server=[ACME, "http://f.example"])


def test_a_profile_chooses_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its description, or the values of its variables; the code of a run has the arguments that were passed."""
    file = tmp_path / "profiles.toml"
    url = 'kind = "openapi"\nurl = "https://docs.example/v1/openapi.json"'
    file.write_text(
        f'[profiles.words]\n{url}\nserver = "Sandbox"\n[profiles.values]\n{url}\nserver = {{region = "us"}}\n'
        f"[profiles.wrong]\n{url}\nserver = 5\n[profiles.empty]\n{url}\nserver = {{}}\n"
    )
    monkeypatch.setenv("FUNCS_CONFIG", str(file))
    servers = [
        {"url": "/{region}", "variables": REGION},
        {"url": "/b", "description": "Sandbox"},
    ]
    for name, path in {"words": "/b/run", "values": "/us/run"}.items():
        server = Server(document(RUN, servers=servers))
        jf.connect(name, transport=server)["run"]()
        assert server.seen[0]["path"] == path
    with pytest.raises(
        jf.ConfigError, match="has a server that is neither text nor values"
    ):
        jf.connect("wrong")
    server = Server(document(RUN, servers=servers))
    options = {"server": {"region": "us"}}
    run = jf.connect(
        "https://docs.example/v1/openapi.json", transport=server, **options
    )["run"]
    assert "openapi.json', server={'region': 'us'})" in python(
        run, {}, run.session.where
    )


@pytest.mark.parametrize("url", ["http://api.example/openapi.json", DOCUMENT])
def test_an_unencrypted_server_is_used_without_a_token(url: str) -> None:
    """With a warning; a token is sent there only if the user allows it."""
    options = {} if url.startswith("http:") else {"allow_server": "http://api.example"}
    with pytest.warns(UserWarning, match=r"http://api\.example.* is not encrypted"):
        connection = resolve(url, **options)
    assert connection is not None
    with pytest.raises(
        jf.ConfigError, match=r"http://api\.example.* would send your token unencrypted"
    ) as caught:
        resolve(url, TOKEN, **options)
    assert "allow_http" in caught.value.hint
    with pytest.warns(UserWarning, match="not encrypted"):
        resolve(url, TOKEN, allow_http=True, **options)
    if options:
        with pytest.warns(UserWarning, match="not encrypted"):
            assert (
                address_of(named("http://api.example/v1"), **options)
                == "http://api.example/v1/run"
            )


def test_a_secret_is_not_sent_in_the_clear_wherever_it_comes_from() -> None:
    """Also if a connection wasn't made by `connect`."""
    server = Server(document(RUN))
    url = "http://shop.example/v1/openapi.json"
    with pytest.raises(jf.ConfigError, match="unencrypted"):
        _ = Session(
            Connection("shop", url, Constant(Secret(TOKEN)), kind="openapi"), server
        ).names
    assert not server.seen


def test_many_servers_are_read_in_linear_time() -> None:
    """For servers of the document, its paths and its operations, with long values."""
    variables = {f"v{at}": {"default": "x" * 200} for at in range(50)}
    template = "https://" + "".join(f"{{v{at}}}." for at in range(50)) + "example"

    def read(size: int) -> None:
        paths = {
            f"/{at}": {"get": {"servers": named(template, **variables)}}
            for at in range(size)
        }
        root = document(paths, servers=named(*[template] * size, **variables))
        Servers(
            root, Connection("x", "https://docs.example", None, allow_server=(ACME,))
        )  # type: ignore[arg-type]

    assert_linear(read, 40)
