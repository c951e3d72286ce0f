"""
By which names the service may be reached, and from which pages.

A page on another site can have its own name resolve to this machine and so reach a service that listens on it alone;
the name that the browser then sends in ``Host`` is not one of the service's.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .words import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

_AUTHORITY = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]{2,45})\]|(?P<name>[A-Za-z0-9._-]{1,253}))(?::[0-9]{1,5})?")


@dataclass(frozen=True, slots=True)
class Hosts:
    """
    The names of a service beside this machine's loopback names, which are always among them.

    Attributes
    ----------
    names
        Host names and addresses, without a port: a request may name any. ``*`` takes every name, for where no browser
        comes, such as in process.
    origins
        Whole origins (``https://app.example``) whose pages may call beside those of the service's own hosts.
    behind_proxy
        Whether requests come through one proxy, which notes the caller's address as the last of ``X-Forwarded-For``.
    """

    names: Sequence[str] = ()
    origins: Sequence[str] = ()
    behind_proxy: bool = False

    def caller(self, forwarded: Sequence[str], client: tuple[str, int] | None) -> str:
        """Give the address of a caller, with the ``X-Forwarded-For`` headers and the other end of the connection."""
        if self.behind_proxy and forwarded:
            # What stands before the proxy's own note came from the caller, who may write anything.
            return forwarded[-1].rpartition(",")[2].strip()
        return client[0] if client else ""

    def refusal(self, hosts: Sequence[str], origins: Sequence[str]) -> str | None:
        """Give why a request with these ``Host`` and ``Origin`` headers is refused; `None` when it is not."""
        host = _host(hosts[0]) if len(hosts) == 1 else None
        if host is None or not (self._is_own(host) or "*" in self.names):
            said = quoted(", ".join(hosts))
            return (
                f"This service is not called {said}. Use its own address; its operator sets the names in allowed_hosts."
            )
        for origin in origins:
            if not self._may_call(origin, host):
                return (
                    f"Pages of {quoted(origin)} may not call this service. Its operator sets which in allowed_origins."
                )
        return None

    def _is_own(self, host: str) -> bool:
        return host == "localhost" or is_loopback(host) or host in map(_plain, self.names)

    def _may_call(self, origin: str, host: str) -> bool:
        if origin.casefold() in {each.casefold().rstrip("/") for each in self.origins}:
            return True
        scheme, _, authority = origin.partition("://")
        own = _host(authority) if scheme in {"http", "https"} else None
        return own is not None and (own == host or self._is_own(own))


def _host(authority: str) -> str | None:
    """Give the host of ``host:port``; `None` for what is none."""
    found = _AUTHORITY.fullmatch(authority)
    return _plain(found["v6"] or found["name"]) if found else None


def _plain(host: str) -> str:
    """Give one spelling for all spellings of a host."""
    host = host.casefold().removesuffix(".").removeprefix("[").removesuffix("]")
    try:
        return ipaddress.ip_address(host).compressed
    except ValueError:
        return host


def is_loopback(host: str) -> bool:
    """Say whether an address, which may name its interface, is one of this machine for itself; no name is."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    # Only newer Pythons look into it by themselves.
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback
