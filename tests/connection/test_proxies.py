"""Which proxy a request goes through, and the error if that doesn't work. FAULTS 162."""

from __future__ import annotations

import importlib.util
import os
import socket
from typing import TYPE_CHECKING

import httpx
import pytest

import jupyter_funcs as jf
from jupyter_funcs.connection.proxies import environment_proxy
from tests.faults.server import faulty, raw

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.fault(162)
PASSWORD = "pr0xy-Passw0rd"


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("exceptions", "address", "is_direct"),
    [
        ("localhost,127.0.0.1,fd00::/8", "https://service.example", False),
        ("fd00::/8", "https://[fd00::5]", True),
        ("fd00::/8", "https://[fe80::5]", False),
        ("[fd00::]/8", "https://[fd00::5]", True),
        ("[fd00::5]", "https://[fd00::5]", True),
        ("fd00:0:0::5", "https://[fd00::5]", True),
        ("[fd00::5]:8443", "https://[fd00::5]:8443", True),
        ("[fd00::5]:8443", "https://[fd00::5]", False),
        ("10.0.0.0/8", "https://10.1.2.3:8443", True),
        ("10.1.2.3/8", "https://10.1.2.3", True),
        ("10.0.0.0/8", "https://11.1.2.3", False),
        ("10.0.0.0/8", "https://service.example", False),
        ("10.1.2.3", "https://10.1.2.3", True),
        ("10.1.2.3:443", "https://10.1.2.3", True),
        ("example", "https://service.example", True),
        (".example", "https://service.example", True),
        ("*.example", "https://service.example", True),
        ("service.example", "https://service.example", True),
        ("service.example.", "https://service.example", True),
        ("SERVICE.Example", "https://service.example.", True),
        ("ice.example", "https://service.example", False),
        ("other.service.example", "https://service.example", False),
        ("service.example:443", "https://service.example", True),
        ("service.example:8443", "https://service.example", False),
        ("https://service.example", "https://service.example", True),
        ("a b, ,service.example", "https://service.example", True),
        ("a service.example", "https://service.example", True),
        ("*", "https://service.example", True),
        ("bücher.example", "https://xn--bcher-kva.example", True),
        ("xn--bcher-kva.example", "https://bücher.example", True),
        (".BÜCHER.example", "https://www.bücher.example", True),
        (
            "::/0/0,[,],:,//,:::,%,[::1,@,\u202e,service.example:x,..",
            "https://service.example",
            False,
        ),
        ("", "https://service.example", False),
    ],
)
def test_no_proxy_is_read_as_it_is_meant(
    monkeypatch: pytest.MonkeyPatch, exceptions: str, address: str, is_direct: bool
) -> None:
    """Ranges, brackets, ports and international names; an entry that means nothing excepts nothing."""
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", exceptions)
    assert (environment_proxy(httpx.URL(address)) is None) == is_direct


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"HTTPS_PROXY": "http://a.example:1"}, "http://a.example:1 of HTTPS_PROXY"),
        ({"https_proxy": "a.example:1"}, "http://a.example:1 of https_proxy"),
        ({"ALL_PROXY": "socks5://a.example:1"}, "socks5://a.example:1 of ALL_PROXY"),
        (
            {"ALL_PROXY": "http://b.example", "HTTPS_PROXY": "http://a.example"},
            "http://a.example of HTTPS_PROXY",
        ),
        (
            {"HTTPS_PROXY": f"http://someone:{PASSWORD}@/x@a.example:1"},
            "http://a.example:1 of HTTPS_PROXY",
        ),
        ({"HTTP_PROXY": "http://a.example:1"}, ""),
        ({"HTTPS_PROXY": ""}, ""),
    ],
    ids=str,
)
def test_a_proxy_is_named_by_its_variable_without_its_password(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], named: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    proxy = environment_proxy(httpx.URL("https://service.example"))
    assert str(proxy or "") == f"the proxy {named}" * bool(named)


@pytest.fixture
def dead() -> Iterator[str]:
    """The address of a proxy that isn't running."""
    with socket.socket() as bound:  # and no other process can either
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"


def refusal(where: str = "https://service.example") -> str:
    with pytest.raises(jf.FuncsError) as caught:
        jf.connect(where, token="a-token-of-the-tests").refresh()
    assert PASSWORD not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "ALL_PROXY", "https_proxy"])
@pytest.mark.parametrize(
    "exceptions", ["localhost", "localhost,fd00::/8", "[::1]:3128"]
)
def test_a_dead_proxy_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, exceptions: str, dead: str
) -> None:
    """With its variable, whatever is in NO_PROXY."""
    monkeypatch.setenv(variable, f"http://someone:{PASSWORD}@{dead}")
    monkeypatch.setenv("NO_PROXY", exceptions)
    text = refusal()
    assert f"Cannot reach the proxy http://{dead} of {variable}" in text
    assert f"Check {variable}" in text


def test_a_proxy_that_refuses_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its own reason, which isn't the service's."""
    with faulty(
        otherwise=raw(b"HTTP/1.1 403 Forbidden by the company\r\n\r\n")
    ) as proxy:
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        text = refusal()
    assert "Cannot reach service.example through the proxy" in text
    assert "403 Forbidden by the company" in text
    assert "ALL_PROXY" in text


@pytest.mark.skipif(
    importlib.util.find_spec("socksio") is not None,
    reason="the package for SOCKS is installed",
)
def test_socks_without_its_package_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, dead: str
) -> None:
    """And which variable asks for it."""
    monkeypatch.setenv("ALL_PROXY", f"socks5://someone:{PASSWORD}@{dead}")
    text = refusal()
    assert f"the proxy socks5://{dead} of ALL_PROXY" in text
    assert "pip install 'httpx[socks]'" in text


@pytest.mark.parametrize(
    "url",
    [
        "gopher://proxy.example",
        "http://proxy.example:port",
        "http://[::1",
        "socks4://p:1",
    ],
)
def test_an_address_that_no_proxy_has_is_named(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    """The error shows it and its variable."""
    monkeypatch.setenv("HTTPS_PROXY", url)
    text = refusal()
    assert url in text
    assert "HTTPS_PROXY" in text


def test_an_excepted_service_is_asked_directly(
    monkeypatch: pytest.MonkeyPatch, dead: str
) -> None:
    """While a proxy that works for others isn't asked."""
    with faulty(otherwise=raw(b"")) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        monkeypatch.setenv(
            "NO_PROXY", "192.0.2.0/24,[2001:db8::]/32,xn--bcher-kva.invalid"
        )
        assert "Cannot reach bücher.invalid" in refusal("https://bücher.invalid")
        assert proxy.connections == 0
