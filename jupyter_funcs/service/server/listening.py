"""Bind the sockets of the service, and check its addresses and certificate."""

from __future__ import annotations

import errno
import os
import socket
import ssl
from typing import TYPE_CHECKING, Any

from jupyter_funcs.service.messages import SetupError, quoted
from jupyter_funcs.service.web.hosts import is_loopback, network

if TYPE_CHECKING:
    from pathlib import Path


MOST_OF_ONE = 128
"""How many connections one address may have."""


class Listener(socket.socket):
    """Accepts up to `most_of_one` connections of an address; the rest is closed before any TLS handshake."""

    most_of_one: int | None = None

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection; raises `ConnectionAbortedError`, after which asyncio accepts the next one."""
        connection, address = super().accept()
        origin = network(address[0])
        self._accepted = [each for each in getattr(self, "_accepted", ()) if each[0].fileno() != -1]
        if self.most_of_one is not None and sum(by == origin for _, by in self._accepted) >= self.most_of_one:
            connection.close()
            raise ConnectionAbortedError
        self._accepted.append((connection, origin))
        return connection, address


def is_public(host: str) -> bool:
    """Return whether other machines can reach a host; raises `SetupError` if it can't be resolved."""
    return not all(is_loopback(address[4][0]) for address in _addresses(host, 0))


def bind(host: str, port: int, most_of_one: int | None = None) -> list[socket.socket]:
    """Bind a `Listener` for each address of a host to one port, without listening yet."""
    found: list[socket.socket] = []
    unavailable: OSError | None = None
    for family, kind, protocol, _, address in _addresses(host, port):
        try:
            each = _bound(Listener(family, kind, protocol), (address[0], port, *address[2:]))
        except OSError as error:
            # A name may resolve to an address family that this machine doesn't support.
            if error.errno in {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}:
                unavailable = error
                continue
            for other in found:
                other.close()
            raise SetupError(_bind_error(error, host, port)) from None
        each.most_of_one = most_of_one
        port = each.getsockname()[1]
        found.append(each)
    if not found:
        raise SetupError(f"This machine has no address {quoted(host)}: {unavailable}.\nChoose another with --host.")
    return found


def check_certificate(certificate: Path, key: Path) -> None:
    """Raise `SetupError` for a certificate and key that can't be served."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # Without a password callback, an encrypted key would prompt at the terminal.
        context.load_cert_chain(certificate, key, password=lambda: "")
    except ssl.SSLError as error:
        raise SetupError(
            f"{certificate} and {key} are not a certificate and its key: {error.reason or 'not in PEM form'}.\n"
            "Both are PEM files, and the key has no password."
        ) from None
    except OSError as error:
        raise SetupError(f"The certificate {certificate} or its key {key} cannot be read: {error.strerror}.") from None


def _addresses(host: str, port: int) -> list[tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[str, int]]]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise SetupError(
            f"{quoted(host)} is not an address or a host name that resolves.\n"
            "Choose another with --host; 127.0.0.1 is for this machine only."
        ) from None
    return list(dict.fromkeys(found))  # type: ignore[arg-type] # addresses of other families are longer


def _bound(each: Listener, address: tuple[object, ...]) -> Listener:
    try:
        if os.name == "posix":  # elsewhere, two processes could listen on one port
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if each.family == socket.AF_INET6:
            each.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        each.bind(address)
    except BaseException:
        each.close()
        raise
    return each


def _bind_error(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} of {host} is in use.\nStop the other program, or choose another with --port (0: any)."
    if error.errno == errno.EACCES:
        return f"You don't have permission to listen on port {port} of {host}.\nChoose one above 1023 with --port."
    return f"Can't listen on port {port} of {host}: {error.strerror}.\nChoose another with --host and --port."
