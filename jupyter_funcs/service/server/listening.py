"""The sockets that the service listens on, which addresses are public, and the certificate that these need."""

from __future__ import annotations

import errno
import os
import socket
import ssl
from typing import TYPE_CHECKING

from .errors import SetupError
from .hosts import is_loopback
from .words import quoted

if TYPE_CHECKING:
    from pathlib import Path


def is_public(host: str) -> bool:
    """Say whether other machines reach what listens at a host; raises `SetupError` for what is no host."""
    return not all(is_loopback(address[4][0]) for address in _addresses(host, 0))


def bound(host: str, port: int) -> list[socket.socket]:
    """
    Give a socket for each address of a host, bound to one port; nobody is let in yet.

    Parameters
    ----------
    port
        0 takes a free one.

    Raises
    ------
    SetupError
        The host is none of this machine's, or the port cannot be had.
    """
    found: list[socket.socket] = []
    absent: OSError | None = None
    for family, kind, protocol, _, address in _addresses(host, port):
        chosen = found[0].getsockname()[1] if found else port
        try:
            each = socket.socket(family, kind, protocol)
            try:
                _bind(each, (address[0], chosen, *address[2:]))
            except BaseException:
                each.close()
                raise
        except OSError as error:
            # A name may stand for addresses of a family that this machine does without.
            if error.errno in {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}:
                absent = error
                continue
            for other in found:
                other.close()
            raise SetupError(_why_not(error, host, chosen)) from None
        found.append(each)
    if not found:
        raise SetupError(f"This machine has no address {quoted(host)}: {absent}.\nGive one that it has with --host.")
    return found


def check_certificate(certificate: Path, key: Path) -> None:
    """Refuse a certificate and key that cannot be served with a `SetupError`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # An encrypted key would be asked for at the terminal, where a service has nobody.
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
            f"{quoted(host)} is no address, and no name of one.\n"
            "Give another with --host; 127.0.0.1 is this machine alone."
        ) from None
    return list(dict.fromkeys(found))  # type: ignore[arg-type] # an address of other families is longer


def _bind(each: socket.socket, address: tuple[object, ...]) -> None:
    if os.name == "posix":  # elsewhere it lets two listen on one port
        each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if each.family == socket.AF_INET6:
        each.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    each.bind(address)


def _why_not(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} of {host} is in use.\nEnd what listens there, or choose another with --port (0: any)."
    if error.errno == errno.EACCES:
        return f"You may not listen on port {port} of {host}.\nChoose one above 1023 with --port."
    return f"Port {port} of {host} cannot be listened on: {error.strerror}.\nChoose another with --host and --port."
