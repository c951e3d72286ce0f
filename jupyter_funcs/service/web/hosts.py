"""
Check the ``Host`` and ``Origin`` of requests, against DNS rebinding and pages of other sites.

A web page can make its own domain resolve to this machine and so reach a service that listens on loopback only; the
browser then sends that domain as ``Host``. Starlette's `TrustedHostMiddleware` ignores loopback ranges and origins.
"""

from __future__ import annotations

import functools
import ipaddress
import re
from typing import TYPE_CHECKING, NamedTuple

from jupyter_funcs.core.text import ip_address, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from ipaddress import IPv4Address, IPv6Address

    from starlette.datastructures import Headers


_AUTHORITY = re.compile(
    r"(?:\[(?P<v6>[0-9A-Fa-f:.]{2,45})\]|(?P<name>[A-Za-z0-9._-]{1,253}))(?::[0-9]{1,5})?"
)
# Values of ``Host`` that are read once: each request has one.
_MOST_HOSTS = 256


class Hosts(NamedTuple):
    """The names and origins that a service accepts, in addition to loopback."""

    names: Sequence[str] = ()
    origins: Sequence[str] = ()
    behind_proxy: bool = False
    proxies: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network] = ()

    def caller(self, headers: Headers, client: tuple[str, int] | None) -> str:
        """Return the address of a caller: the peer of the connection, or what a trusted proxy reports."""
        peer = client[0] if client else ""
        if not self.behind_proxy or (self.proxies and not self._is_proxy(peer)):
            return peer
        callers = set()
        for name, node in (("x-forwarded-for", str), ("forwarded", _for)):
            hops = [
                hop for hop in ",".join(headers.getlist(name)).split(",") if hop.strip()
            ]
            if hops:
                callers.add(self._nearest(map(node, reversed(hops)), peer))

        # With two answers, one of the headers is what the caller wrote and the proxy passed on.
        return callers.pop() if len(callers) == 1 else peer

    def _nearest(self, hops: Iterable[str], peer: str) -> str:
        """Return the first address that isn't a trusted proxy's: the caller may have written the others."""
        for address in map(_node, hops):
            if not address:
                break
            peer = str(address)
            if not self._is_proxy(peer):
                break

        return peer

    def _is_proxy(self, address: str) -> bool:
        ip = ip_address(address)
        return ip is not None and any(ip in proxy for proxy in self.proxies)

    def refusal(self, hosts: Sequence[str], origins: Sequence[str]) -> str | None:
        """Return why a request with these ``Host`` and ``Origin`` headers is refused, or `None`."""
        host = _host(hosts[0]) if len(hosts) == 1 else None
        if not host or not (self._is_own(host) or "*" in self.names):
            return (
                f"This service is not called {quoted(', '.join(hosts))}. Use its own address; "
                "its operator can add names to allowed_hosts."
            )

        for origin in origins:
            if not self._may_call(origin, host):
                return f"Pages of {quoted(origin)} may not call this service. Its operator can set allowed_origins."

        return None

    def _is_own(self, host: str) -> bool:
        return (
            host == "localhost"
            or is_loopback(host)
            or host in map(_normalised, self.names)
        )

    def _may_call(self, origin: str, host: str) -> bool:
        if origin.casefold() in {own.casefold().rstrip("/") for own in self.origins}:
            return True
        scheme, _, authority = origin.partition("://")
        own = _host(authority) if scheme in {"http", "https"} else None
        return own is not None and (own == host or self._is_own(own))


@functools.lru_cache(_MOST_HOSTS)
def is_loopback(host: str) -> bool:
    """Return whether a host is a loopback address; names never are."""
    address = ip_address(host)
    return address is not None and address.is_loopback


def network(address: str) -> str:
    """Return what one caller has all of: an IPv4 address, or an IPv6 network of 64 bits."""
    ip = str(ip_address(address) or address)
    if ":" in ip:
        return str(ipaddress.ip_network(f"{ip}/64", strict=False))
    return ip


@functools.lru_cache(_MOST_HOSTS)
def _host(authority: str) -> str | None:
    """Return the host of ``host:port``, or `None` if it isn't valid."""
    parts = _AUTHORITY.fullmatch(authority)
    if parts:
        return _normalised(parts["v6"] or parts["name"])
    return None


def _normalised(host: str) -> str:
    host = host.casefold().removesuffix(".").strip("[]")
    return str(ip_address(host) or host)


def _node(text: str) -> IPv4Address | IPv6Address | None:
    """Return the IP address in ``host``, ``host:port`` or ``[host]:port``, which may be quoted."""
    text = text.strip()
    if text[:1] == text[-1:] == '"':
        text = text[1:-1]
    return ip_address(_host(text) or text)


def _for(element: str) -> str:
    """Return the node in an element of ``Forwarded``; one that isn't valid may be part of what a caller wrote."""
    pairs = [pair.partition("=") for pair in element.split(";")]
    nodes = [value for name, _, value in pairs if name.strip().casefold() == "for"]
    is_valid = len(nodes) == 1 and element.count('"') % 2 == 0 and "\\" not in element
    return nodes[0] if is_valid else "unknown"
