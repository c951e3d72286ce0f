"""A service on raw sockets that follows a script on each connection and records what it receives."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator

    Act = Callable[["Connection"], None]

LISTING = json.dumps([{"name": "F", "params": [{"name": "a"}]}]).encode()
ROWS = json.dumps({"error": None, "body": json.dumps([{"n": 1}, {"n": 2}])}).encode()


@dataclass
class Connection:
    """One connection, for the script."""

    socket: socket.socket
    server: Faulty
    buffer: bytes = b""
    head: bytes = b""
    body: bytes = b""

    def request(self) -> bytes:
        """Read and record one request; raise if the client has disconnected."""
        while b"\r\n\r\n" not in self.buffer:
            self._more()
        head, _, rest = self.buffer.partition(b"\r\n\r\n")
        length = next(
            (
                int(line.split(b":")[1])
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length:")
            ),
            0,
        )
        self.buffer = rest
        while len(self.buffer) < length:
            self._more()
        body = self.buffer[:length]
        self.buffer = self.buffer[length:]
        self.server.requests.append(head + b"\r\n\r\n" + body)
        self.head = head
        self.body = body
        return head

    def token(self) -> str:
        """Return the token of the last request."""
        lines = (
            line.split(b": ", 1) for line in self.head.split(b"\r\n") if b": " in line
        )
        return (
            next(value for name, value in lines if name.lower() == b"authorization")
            .decode()
            .removeprefix("Bearer ")
        )

    def argument(self) -> str:
        """Return the argument `a` of the last run."""
        return str(json.loads(self.body)["Args"]["a"])

    def _more(self) -> None:
        piece = self.socket.recv(65536)
        if not piece:
            raise ConnectionError
        self.buffer += piece

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def reset(self) -> None:
        """Close with a reset instead of an end of the stream."""
        self.socket.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        self.socket.close()

    def hold(self) -> None:
        """Do nothing until the client disconnects or the server ends."""
        self.socket.settimeout(0.05)
        while not self.server.stopping.is_set():
            try:
                if not self.socket.recv(65536):
                    return
            except TimeoutError:
                continue

    def drip(self, data: bytes, seconds: float) -> None:
        """Send one byte at a time."""
        for byte in data:
            self.send(bytes([byte]))
            if self.server.stopping.wait(seconds):
                return


def reply(
    body: bytes = ROWS,
    status: str = "200 OK",
    *,
    length: int | None = None,
    **headers: str,
) -> Callable[[Connection], None]:
    """Answer a request with a complete reply."""
    lines = {
        "Content-Type": "application/json",
        **{key.replace("_", "-"): value for key, value in headers.items()},
    }
    # What is sent again at once would meet the connection open still.
    if not status.startswith("200"):
        lines.setdefault("Connection", "close")
    if not status.startswith("204"):
        lines["Content-Length"] = str(len(body) if length is None else length)
    head = "".join(f"{key}: {value}\r\n" for key, value in lines.items())

    def act(connection: Connection) -> None:
        connection.request()
        connection.send(f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body)

    return act


def raw(data: bytes) -> Act:
    """Answer a request with these bytes, and close."""

    def act(connection: Connection) -> None:
        connection.request()
        connection.send(data)

    return act


def healthy(connection: Connection) -> None:
    """Answer every request of the connection like a healthy service."""
    while True:
        head = connection.request()
        body = LISTING if b"ListUserFunctions" in head else ROWS
        connection.send(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            % len(body)
        )
        connection.send(body)


@dataclass
class Faulty:
    """The service: each new connection takes the next step of the script, later ones use `otherwise`."""

    script: list[Act] = field(default_factory=list)
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    stopping: threading.Event = field(default_factory=threading.Event)
    url: str = ""
    otherwise: Act | None = None

    def tell(self, *acts: Act) -> None:
        """Set the script for the next connections and forget the requests so far."""
        self.script = list(acts)
        self.requests.clear()
        self.connections = 0


@contextlib.contextmanager
def faulty(
    tls: ssl.SSLContext | None = None, otherwise: Act | None = None
) -> Iterator[Faulty]:
    """Serve on a free port of this machine; all threads end with the block."""
    server = Faulty(otherwise=otherwise)
    threads: list[threading.Thread] = []
    sockets: list[socket.socket] = []

    def handle(accepted: socket.socket, act: Act) -> None:
        # The client may be gone, or never get so far.
        with contextlib.suppress(OSError, ValueError), accepted:
            accepted.settimeout(60)
            if tls is None:
                act(Connection(accepted, server))
            else:
                with tls.wrap_socket(accepted, server_side=True) as wrapped:
                    act(Connection(wrapped, server))

    def accept(listening: socket.socket) -> None:
        while not server.stopping.is_set():
            with contextlib.suppress(
                OSError
            ):  # no client connected, or the server is stopped
                accepted, _ = listening.accept()
                server.connections += 1
                sockets.append(accepted)
                act = (
                    server.script.pop(0)
                    if server.script
                    else server.otherwise or healthy
                )
                thread = threading.Thread(
                    target=handle, args=(accepted, act), daemon=True
                )
                threads.append(thread)
                thread.start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.05)
        server.url = (
            f"{'https' if tls else 'http'}://127.0.0.1:{listening.getsockname()[1]}"
        )
        accepting = threading.Thread(target=accept, args=(listening,), daemon=True)
        accepting.start()
        try:
            yield server
        finally:
            server.stopping.set()
            # On a system where it doesn't end the wait at once.
            with contextlib.suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            accepting.join(60)
            for opened in sockets:
                with contextlib.suppress(OSError):  # closed already
                    opened.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join(60)
