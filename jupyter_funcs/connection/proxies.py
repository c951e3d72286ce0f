"""The proxy of the environment for an address, the variable that names it, and requests outside of a connection."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple
from urllib.request import getproxies

from jupyter_funcs.core.text import ip_address

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

_SECONDS = 10.0
_MAX_BYTES = 2**20


class Proxy(NamedTuple):
    """A proxy, which prints itself without its password."""

    variable: str
    url: str

    def __str__(self) -> str:
        scheme, _, rest = self.url.partition("://")
        return f"the proxy {scheme}://{rest.rpartition('@')[2]} of {self.variable}"


def environment_proxy(address: httpx.URL) -> Proxy | None:
    """Return the proxy for an address: only TLS hides a token from it, and nothing on this machine needs one."""
    proxies = getproxies()
    kind = "https" if proxies.get("https") else "all"
    if address.scheme != "https" or _is_loopback(address.host) or not proxies.get(kind):
        return None
    if any(
        _is_excepted(address, entry)
        for entry in re.split(r"[\s,]+", proxies.get("no", ""))
    ):
        return None

    variable = max(
        (name for name in os.environ if name.lower() == f"{kind}_proxy"),
        default="the system's settings",
    )
    url = proxies[kind]
    return Proxy(variable, url if "://" in url else f"http://{url}")


def request_once(
    method: str, url: str, headers: Mapping[str, str], body: str = ""
) -> httpx.Response:
    """Send a request outside of a connection, follow no redirect, and read at most a part of a large reply."""
    import httpx

    proxy = environment_proxy(httpx.URL(url))
    with (
        httpx.Client(
            trust_env=False, timeout=_SECONDS, proxy=proxy and proxy.url
        ) as client,
        client.stream(method, url, headers=headers, content=body) as response,
    ):
        return httpx.Response(
            response.status_code, content=next(response.iter_bytes(_MAX_BYTES), b"")
        )


def _is_excepted(address: httpx.URL, entry: str) -> bool:
    """Return whether an entry of NO_PROXY names an address: a name with all below it, an IP or a range, with a port."""
    if entry == "*":
        return True
    host = entry.rpartition("://")[2]
    port = ""
    if "]:" in host or host.count(":") == 1:
        host, _, port = host.rpartition(":")
    if port not in {"", str(address.port or 443)}:
        return False
    host = re.sub(r"[\[\]]", "", host)
    with suppress(ValueError):
        network = ipaddress.ip_network(host, strict=False)
        with suppress(ValueError):
            return ipaddress.ip_address(address.host) in network
        return False

    name = _ascii(address, host.lstrip("*.").lower())
    return bool(name) and f".{_ascii(address, address.host)}".endswith(f".{name}")


def _ascii(address: httpx.URL, name: str) -> str:
    """Return an international name as it is sent."""
    with suppress(Exception):  # whatever it is, it isn't a name
        name = address.copy_with(host=name).raw_host.decode()
    return name.removesuffix(".")


def _is_loopback(host: str) -> bool:
    with suppress(OSError):
        host = socket.inet_ntoa(socket.inet_aton(host))  # 127.1
    address = ip_address(host)
    if address:
        return address.is_loopback
    return f".{host.removesuffix('.')}".endswith(".localhost")
