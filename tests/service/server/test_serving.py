"""``jupyter funcs serve`` as a process: start, replies, refusals, limits, shutdown."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import re
import shlex
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from contextlib import redirect_stderr, redirect_stdout
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import trustme

import jupyter_funcs as jf
from jupyter_funcs.cli.main import main
from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.service.server import process
from jupyter_funcs.service.server.process import HttpConnection
from tests.examples import row_id
from tests.growth import assert_linear
from tests.service.conftest import (
    GET_ALL,
    LIST,
    LOGIN,
    PANELS,
    RUN,
    Wire,
    becomes,
    raw_run,
    served,
    talk,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# httpx's default of five seconds is too short on a busy machine: the first run reads the data.
get = partial(httpx.get, timeout=60)
post = partial(httpx.post, timeout=60)


class Served:
    """A serving process and its output so far."""

    def __init__(self, environment: dict[str, str], arguments: tuple[str, ...]) -> None:
        command = [
            sys.executable,
            "-m",
            "jupyter_funcs.cli.main",
            "serve",
            "--port",
            "0",
            *arguments,
        ]
        self.process = subprocess.Popen(
            command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.address = ""

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line.decode())

    @property
    def output(self) -> str:
        return "".join(self.lines)

    def says(self, pattern: str) -> re.Match[str]:
        """Wait for a pattern in the output."""
        becomes(
            lambda: (
                bool(re.search(pattern, self.output)) or not self._reader.is_alive()
            ),
            120,
        )
        match = re.search(pattern, self.output)
        assert match, self.output
        return match

    def end(self, how: int = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        code = self.process.wait(240)  # runs that don't end have 10 s
        self._reader.join(60)
        return code


def with_state(folder: Path) -> dict[str, str]:
    return os.environ | {"FUNCS_STATE_DIR": str(folder / "state")}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment of a test's processes, with its own state folder."""
    return with_state(tmp_path)


@pytest.fixture
def serve(environment: dict[str, str]) -> Iterator[Callable[..., Served]]:
    """Start a service."""
    with contextlib.ExitStack() as ends:

        def start(*arguments: str) -> Served:
            started = Served(environment, arguments)
            ends.callback(started.process.stdout.close)  # type: ignore[union-attr]
            ends.callback(started.process.stderr.close)  # type: ignore[union-attr]
            ends.callback(started.process.wait)
            ends.callback(started.process.kill)
            started.address = started.says(r"export FUNCS_BASE_URL=(http[\w:/.]+)")[1]
            started.says("FUNCS_TOKEN")
            return started

        yield start


@pytest.fixture
def funcs(environment: dict[str, str]) -> Callable[..., str]:
    """Run another command of `jupyter funcs` and return its output."""

    return partial(command, environment)


def command(environment: dict[str, str], *arguments: str) -> str:
    code, out, errors = in_this_process(environment, *arguments)
    assert code == 0, errors
    return out


def in_this_process(
    environment: dict[str, str], *arguments: str
) -> tuple[int, str, str]:
    """Run a command of `jupyter funcs`; return its exit code, output and errors."""
    out = io.StringIO()
    errors = io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(out),
        redirect_stderr(errors),
    ):
        patch.setenv("FUNCS_STATE_DIR", environment["FUNCS_STATE_DIR"])
        code = main([*arguments])
    return code, out.getvalue(), errors.getvalue()


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token.strip()}"}


def refused(environment: dict[str, str], *arguments: str) -> str:
    """Start a service that must refuse to start, in this process, and return its message."""
    return said_of(*in_this_process(environment, "serve", *arguments))


def refused_by_a_process(environment: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, "-m", "jupyter_funcs.cli.main", "serve", *arguments]
    done = subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return said_of(done.returncode, done.stdout, done.stderr)


def said_of(code: int, out: str, errors: str) -> str:
    assert code == 1, errors
    assert not out
    assert 1 <= len(errors.strip().splitlines()) <= 3, errors
    return errors


def test_it_serves_the_demo_and_says_how_to_use_it(
    serve: Callable[..., Served], environment: dict[str, str]
) -> None:
    """The printed lines work when pasted into a shell."""
    service = serve()
    assert "synthetic" in service.output
    assert "7 functions" in service.output
    exports = re.findall(r"export .*", service.output)
    assert len(exports) == 2
    bin_folder = str(Path(sys.executable).parent)
    script = "\n".join([*exports, "jupyter funcs list --format csv"])
    environment |= {"PATH": f"{bin_folder}:{environment['PATH']}"}
    done = subprocess.run(
        script,
        shell=True,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert len(done.stdout.splitlines()) == 8
    health = get(f"{service.address}/healthz")
    assert health.json() == {"status": "ok"}
    assert "server" not in health.headers  # which would say what serves


@pytest.mark.slow
def test_accounts_tokens_and_keys_are_the_ones_of_the_commands(
    serve: Callable[..., Served], funcs: Callable[..., str]
) -> None:
    service = serve()
    guest = bearer(funcs("token", "--user", "guest", "--hours", "1"))
    assert len(get(service.address + GET_ALL, headers=guest).json()) == 6
    funcs("admin", "grants", "add", "guest", "Demo reports")
    assert len(get(service.address + GET_ALL, headers=guest).json()) == 7
    key = funcs("admin", "keys", "add", "guest").strip()
    run = post(service.address + RUN, headers={"X-Api-Key": key}, json=PANELS)
    assert len(json.loads(run.json()["body"])) == 2
    assert post(service.address + RUN, json=PANELS).status_code == 401
    login = post(service.address + LOGIN, json={"email": "guest", "password": "x"})
    assert (login.status_code, login.headers["content-type"].partition(";")[0]) == (
        401,
        "text/plain",
    )
    funcs("admin", "users", "disable", "guest")
    assert get(service.address + GET_ALL, headers=guest).status_code == 401


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_0(serve: Callable[..., Served], how: int) -> None:
    service = serve()
    # A connection that is open isn't a reason to stay.
    with httpx.Client(timeout=60, base_url=service.address) as client:
        assert client.get("/healthz").status_code == 200
        assert service.end(how) == 0
    assert "Stopped." in service.output
    assert "Traceback" not in service.output


@pytest.mark.slow
def test_many_signals_leave_no_folder(
    serve: Callable[..., Served],
    config: str,
    tmp_path: Path,
    environment: dict[str, str],
) -> None:
    """A program that ends another may repeat its signal at any time, also while the folders are removed."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    environment["TMPDIR"] = str(folder)
    service = serve("--config", config)
    assert [*folder.iterdir()]
    while service.process.poll() is None:
        service.process.send_signal(signal.SIGTERM)
        time.sleep(0.001)
    assert service.process.returncode == 0
    assert [*folder.iterdir()] == []


def test_a_port_in_use_is_named_with_the_next_step(environment: dict[str, str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        error = refused(environment, "--port", port)
    assert (
        f"Can't listen on port {port} of 127.0.0.1: {os.strerror(errno.EADDRINUSE)}."
        in error
    )
    assert "--port" in error.splitlines()[1]


@pytest.mark.slow
def test_what_is_refused_ends_the_process_with_one(environment: dict[str, str]) -> None:
    assert "is not an address" in refused_by_a_process(
        environment, "--host", "no.such.host.invalid"
    )


@pytest.mark.parametrize("port", ["65536", "-1", "x", "1.5", ""], ids=row_id)
def test_what_is_not_a_port_is_refused(environment: dict[str, str], port: str) -> None:
    assert "is not a port" in refused(environment, f"--port={port}")


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "::ffff:0.0.0.0", "10.255.255.1", "8.8.8.8"]
)
def test_a_public_address_is_refused_without_tls_or_a_proxy(
    environment: dict[str, str], host: str
) -> None:
    error = refused(environment, "--host", host)
    assert host in error
    assert "--tls-certificate" in error
    assert "--behind-proxy" in error


UNSERVABLE = [
    (["--host", "no.such.host.invalid"], "is not an address"),
    (["--host", "a b"], "is not an address"),
    (
        ["--host", "203.0.113.7", "--behind-proxy"],
        "This machine has no address '203.0.113.7'",
    ),
    (["--tls-certificate", "x.pem"], "--tls-key"),
    (
        ["--tls-certificate", "no.pem", "--tls-key", "no.pem"],
        "cannot be read: No such file",
    ),
    (
        ["--tls-certificate", __file__, "--tls-key", __file__],
        "are not a certificate and its key",
    ),
    (["--config", "/no/such/file.toml"], "/no/such/file.toml"),
    (["--reload"], "Use --reload with --config FILE."),
]


@pytest.mark.parametrize(
    ("arguments", "says"),
    UNSERVABLE,
    ids=[row_id(" ".join(arguments)) for arguments, _ in UNSERVABLE],
)
def test_what_cannot_be_served_is_refused_before_anything_starts(
    environment: dict[str, str], arguments: list[str], says: str
) -> None:
    assert says in refused(environment, "--port", "0", *arguments)


def test_a_key_with_a_password_or_of_another_certificate_is_refused(
    tmp_path: Path,
) -> None:
    from cryptography.hazmat.primitives import serialization

    authority = trustme.CA()
    issued, other = (authority.issue_cert("localhost") for _ in range(2))
    certificate = tmp_path / "cert.pem"
    key = tmp_path / "key.pem"
    issued.cert_chain_pems[0].write_to_path(certificate)
    other.private_key_pem.write_to_path(key)
    with pytest.raises(SetupError, match="are not a certificate and its key"):
        process.check_certificate(certificate, key)
    private = serialization.load_pem_private_key(issued.private_key_pem.bytes(), None)
    key.write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    with pytest.raises(SetupError, match="no password"):
        process.check_certificate(certificate, key)
    issued.private_key_pem.write_to_path(key)
    process.check_certificate(certificate, key)


@pytest.mark.parametrize(
    ("host", "public"),
    [
        ("127.0.0.1", False),
        ("127.9.9.9", False),
        ("::1", False),
        ("localhost", False),
        ("::ffff:127.0.0.1", False),
        ("0.0.0.0", True),
        ("::", True),
        ("192.168.1.1", True),
        ("::ffff:10.0.0.1", True),
        ("fe80::1", True),
    ],
)
def test_only_this_machines_addresses_for_itself_are_not_public(
    host: str, public: bool
) -> None:
    assert process.is_public(host) is public


@pytest.mark.slow
def test_with_tls_it_may_be_public(
    serve: Callable[..., Served], tmp_path: Path, funcs: Callable[..., str]
) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "funcs.example")
    issued.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    issued.private_key_pem.write_to_path(tmp_path / "key.pem")
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    service = serve(
        "--host",
        "0.0.0.0",
        "--tls-certificate",
        str(tmp_path / "cert.pem"),
        "--tls-key",
        str(tmp_path / "key.pem"),
        "--allowed-host",
        "funcs.example",
    )
    address = f"https://localhost:{urlsplit(service.address).port}"
    assert service.address.startswith("https://funcs.example:")
    with httpx.Client(
        timeout=60, verify=ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    ) as client:
        reply = client.get(
            address + GET_ALL, headers=bearer(funcs("token", "--user", "analyst"))
        )
        assert len(reply.json()) == 7
        assert (
            client.get(
                address + "/healthz", headers={"Host": "funcs.example"}
            ).status_code
            == 200
        )
        assert (
            client.get(
                address + "/healthz", headers={"Host": "evil.example"}
            ).status_code
            == 403
        )
        with pytest.raises(httpx.HTTPError):
            get(address.replace("https", "http") + "/healthz")
        assert service.end() == 0  # although the client's connection is open


@pytest.mark.slow
def test_behind_a_proxy_it_may_be_public_and_knows_the_proxys_name(
    serve: Callable[..., Served],
) -> None:
    service = serve(
        "--host", "0.0.0.0", "--behind-proxy", "--allowed-host", "funcs.example"
    )
    port = urlsplit(service.address).port
    assert (
        get(
            f"http://127.0.0.1:{port}/healthz", headers={"Host": "funcs.example"}
        ).status_code
        == 200
    )
    assert (
        get(
            f"http://127.0.0.1:{port}/healthz", headers={"Host": "10.0.0.1"}
        ).status_code
        == 403
    )


@pytest.mark.slow
def test_without_a_host_name_the_operator_is_warned(
    serve: Callable[..., Served],
) -> None:
    assert "--allowed-host" in serve("--behind-proxy").output
    assert (
        "--allowed-host"
        not in serve("--behind-proxy", "--allowed-host", "funcs.example").output
    )
    assert "--allowed-host" not in serve().output


def is_closed_within(connection: socket.socket, seconds: float) -> bool:
    connection.settimeout(seconds)
    try:
        while connection.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


class Impatient(HttpConnection):
    """A connection with a short time limit."""

    head_seconds = 0.5


class Stalling(HttpConnection):
    """A connection whose reply must be read within a second."""

    stall_seconds = 1


class Few(HttpConnection):
    """One of few connections, whose time never ends in a test."""

    most = 20
    head_seconds = 3600
    made: ClassVar[list[Few]] = []

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.made.append(self)


BEGINNINGS = {
    "nothing": b"",
    "a head without its end": b"GET /healthz HTTP/1.1\r\n",
    "a second head": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /hea",
    "a body that is not wanted": f"POST {RUN} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999\r\n\r\n".encode(),
}


@pytest.mark.slow
def test_slow_senders_are_disconnected(publish: Callable[..., Wire]) -> None:
    """FAULTS.md 120, slowloris: the limit is for the whole, not for each byte."""
    with (
        served(publish().app, http=Impatient) as address,
        contextlib.ExitStack() as ends,
    ):
        began = time.monotonic()
        left = {name: ends.enter_context(talk(address)) for name in BEGINNINGS}
        for name, connection in left.items():
            connection.sendall(BEGINNINGS[name])
        while left:
            time.sleep(0.05)
            for name, connection in [*left.items()]:
                with contextlib.suppress(OSError):
                    connection.sendall(b"x")
                if is_closed_within(connection, 0.01):
                    assert time.monotonic() - began > 0.3, name
                    del left[name]
        assert get(f"{address}/healthz").status_code == 200


def test_between_two_requests_a_connection_may_rest(
    publish: Callable[..., Wire],
) -> None:
    """The time for a request begins with its first byte."""
    Few.made.clear()
    with (
        served(publish().app, http=Few, timeout_keep_alive=3600) as address,
        talk(address) as connection,
    ):
        for _ in range(3):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            reply = b""
            while not reply.endswith(b"}"):
                reply += connection.recv(4000)
            assert reply.startswith(b"HTTP/1.1 200 ")
            assert becomes(lambda: Few.made[0]._deadline is None)
        connection.sendall(b"G")
        assert becomes(lambda: Few.made[0]._deadline is not None)


def test_connections_are_limited_and_the_others_get_503(
    publish: Callable[..., Wire],
) -> None:
    """Once they are closed, others are served again."""
    Few.made.clear()
    with (
        served(publish().app, http=Few) as address,
        contextlib.ExitStack() as open_ones,
    ):
        for _ in range(Few.most):
            open_ones.enter_context(talk(address))
        assert becomes(lambda: len(Few.made) == Few.most)
        with talk(address) as one_more:
            reply = b"".join(iter(lambda: one_more.recv(4000), b""))
        assert reply.startswith(b"HTTP/1.1 503 ")
        assert b"Retry-After: 1\r\n" in reply
        head, _, body = reply.partition(b"\r\n\r\n")
        assert json.loads(body)["body"] is None
        assert f"Content-Length: {len(body)}".encode() in head
        open_ones.close()
        assert becomes(lambda: get(f"{address}/healthz").status_code == 200)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_one_address_leaves_connections_to_the_others(
    publish: Callable[..., Wire], tmp_path: Path, scheme: str
) -> None:
    """FAULTS.md 142: many idle connections from one address, also before a TLS handshake; the others are served."""
    authority = trustme.CA()
    path = str(tmp_path / "cert.pem")
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(path)
    context = ssl.create_default_context()
    authority.configure_trust(context)
    options = {"ssl_certfile": path} if scheme == "https" else {}
    with (
        contextlib.ExitStack() as opened,
        served(
            publish().app,
            *process.bind("127.0.0.1", 0, opened, most_of_one=10),
            http=Few,
            **options,
        ) as address,
        contextlib.ExitStack() as idle,
    ):
        connections = [idle.enter_context(talk(address)) for _ in range(30)]
        url = address.replace("http", scheme) + "/healthz"
        transport = httpx.HTTPTransport(local_address="127.0.0.2", verify=context)
        with httpx.Client(transport=transport, timeout=60) as other:
            assert other.get(url).status_code == 200
        assert becomes(
            lambda: (
                sum(is_closed_within(connection, 0.01) for connection in connections)
                >= 20
            )
        )
        idle.close()
        with httpx.Client(verify=context, timeout=60) as client:
            assert becomes(lambda: _status(client, url) == 200)


def _status(client: httpx.Client, url: str) -> int:
    try:
        return client.get(url).status_code
    except httpx.TransportError:
        return 0


def test_a_length_and_chunks_in_one_request_are_400_and_end_the_connection(
    publish: Callable[..., Wire],
) -> None:
    """FAULTS.md 142: what follows isn't taken for another request."""
    wire = publish()
    both = raw_run(
        wire.token,
        "0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "Transfer-Encoding: chunked",
    )
    with served(wire.app, http=HttpConnection) as address, talk(address) as connection:
        connection.sendall(both)
        reply = b"".join(iter(lambda: connection.recv(4000), b""))
    assert reply.startswith(b"HTTP/1.1 400 ")
    assert reply.count(b"HTTP/1.1 ") == 1
    assert b"Content-Length and Transfer-Encoding" in reply


SPACES = b" " * 40_000


@pytest.mark.parametrize(
    ("begin", "repeated", "end"),
    [
        pytest.param(b"Content-Length: 0\r\nX:", b" ", b"\0\r\n\r\n", id="white space"),
        pytest.param(
            b"Content-Length: 0\r\nX:", b"\r\n ", b"\0\r\n\r\n", id="folded lines"
        ),
        pytest.param(
            b"Transfer-Encoding: chunked\r\n\r\n0\r\nX:",
            b" ",
            b"\0\r\n\r\n",
            id="a trailer",
        ),
        pytest.param(b"Content-Length: 0\r\n", b"X: y\r\n", b"\r\n", id="many headers"),
    ],
)
def test_a_malformed_request_is_refused_in_linear_time(
    publish: Callable[..., Wire], begin: bytes, repeated: bytes, end: bytes
) -> None:
    """FAULTS.md 133: parsing 30 kB took seconds, during which no request was answered."""
    with served(publish().app, http=HttpConnection) as address:

        def send(length: int) -> None:
            with talk(address) as connection:
                head = f"POST {LOGIN} HTTP/1.1\r\nHost: localhost\r\n".encode()
                connection.sendall(
                    head + begin + repeated * (length // len(repeated)) + end
                )
                assert connection.recv(100).startswith(b"HTTP/1.1 4")

        assert_linear(send, 2**13, clock=time.process_time)


@pytest.mark.slow
def test_requests_that_are_made_to_take_long_hold_nobody_up(
    serve: Callable[..., Served], funcs: Callable[..., str]
) -> None:
    """FAULTS.md 133: such as a number of 1 MB; the service answers other requests meanwhile, and stops on a signal."""
    service = serve()
    headers = bearer(funcs("token", "--user", "analyst"))
    number = {
        "FunctionName": "Get Panel Daily",
        "Args": {"PoPLookback": "1" * 1_000_000},
    }
    numbers = f'{{"a": [{", ".join(["1" * 4000] * 200)}]}}'
    lists = f'{{"a": [{", ".join(["[]"] * 200_000)}]}}'
    marks = {"email": "guest", "password": "a" + "\u0315\u0300" * 80_000}
    statuses: list[list[int]] = [[], [], [], []]

    def attack(at: int) -> None:
        with httpx.Client(base_url=service.address, timeout=60) as client:
            for _ in range(20):
                replies = (
                    partial(client.post, RUN, json=number, headers=headers),
                    partial(
                        client.post,
                        LIST,
                        content=numbers,
                        headers=headers | {"Content-Type": "application/json"},
                    ),
                    partial(client.post, LOGIN, json=marks),
                    partial(
                        client.post,
                        LOGIN,
                        content=lists,
                        headers={"Content-Type": "application/json"},
                    ),
                )
                statuses[at].append(replies[at]().status_code)
                with contextlib.suppress(OSError), talk(service.address) as connection:
                    connection.sendall(b"GET / HTTP/1.1\r\nX:" + SPACES + b"\0\r\n\r\n")
                    connection.recv(100)

    attackers = [threading.Thread(target=attack, args=(at,)) for at in range(4)]
    for attacker in attackers:
        attacker.start()
    with httpx.Client(base_url=service.address, timeout=60) as client:
        while any(attacker.is_alive() for attacker in attackers):
            assert client.get("/healthz").status_code == 200
    with talk(service.address) as connection:
        connection.sendall(
            raw_run(headers["Authorization"].split()[1], "half of it", length=1000)
        )
        time.sleep(0.2)
        assert service.end() == 0
    assert [set(codes) - {429} for codes in statuses] == [{422}, {400}, {401}, {400}]


@pytest.mark.slow
def test_callers_that_do_not_read_a_reply_are_disconnected(
    publish: Callable[..., Wire], caplog: pytest.LogCaptureFixture
) -> None:
    from jupyter_funcs.service.publishing.registry import function

    def much() -> list[dict[str, str]]:
        """Return more than a socket buffers."""
        return [{"x": "y" * 1000}] * 30_000

    wire = publish(function(asset="a", name="Much")(much))
    body = json.dumps({"FunctionName": "Much"})
    caplog.set_level("INFO")
    with served(wire.app, http=Stalling) as address, talk(address) as connection:
        connection.sendall(raw_run(wire.token, body))
        assert becomes(lambda: "A caller didn't read its reply" in caplog.text)
        got = 0
        with contextlib.suppress(OSError):
            while piece := connection.recv(1 << 20):
                got += len(piece)
        assert got < 30_000_000
        # Who takes it gets it whole, however long that is.
        with talk(address) as reader:
            reader.sendall(raw_run(wire.token, body, "Connection: close"))
            got = 0
            while piece := reader.recv(1 << 20):
                got += len(piece)
                time.sleep(0.05)
        assert got > 30_000_000


PUBLISHED = '''
"""Functions that take their time."""

import sys
import time
from pathlib import Path

from jupyter_funcs.service import function


@function(asset="Team data")
def nap(call, seconds: float = 1.0, until: str = "-"):
    """Wait, also for a file, and stop when cancelled."""
    print("napping", file=sys.stderr, flush=True)
    ends = time.monotonic() + seconds
    while time.monotonic() < ends and not Path(until).exists() and not call.cancelled:
        time.sleep(0.01)
    print("woken" if call.cancelled else "rested", file=sys.stderr, flush=True)
    return [{"rested": not call.cancelled}]


@function(asset="Team data")
def sleep(seconds: float = 1.0):
    """Wait, and ignore cancellation."""
    print("sleeping", file=sys.stderr, flush=True)
    time.sleep(seconds)
    return []


@function(asset="Team data")
def fail(text: str):
    """Return the arguments."""
    raise ValueError(f"cannot use {text!r}")


@function(asset="Other data")
def unseen():
    """Belong to an asset that nobody has."""
    return []
'''


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a team's functions, the user 'ann' with one of its two assets, and her token."""
    folder = tmp_path_factory.mktemp("team")
    (folder / "published").mkdir()
    (folder / "published" / "team.py").write_text(PUBLISHED)
    path = folder / "service.toml"
    own = '[functions]\nbuiltin = false\nfolders = ["published"]\n'
    path.write_text('organisation = "Team"\n[server]\nlog = "json"\n' + own)
    run = partial(command, with_state(folder))
    run(
        "admin",
        "assets",
        "add",
        "Team data",
        "--shared",
        "--organisation",
        "Team",
        "--config",
        str(path),
    )
    run("admin", "users", "add", "ann", "--config", str(path))
    (folder / "token").write_text(run("token", "--user", "ann", "--config", str(path)))
    return folder


@pytest.fixture
def config(tmp_path: Path, team: Path) -> str:
    """The configuration of such a folder, private to the test."""
    shutil.copytree(team, tmp_path, dirs_exist_ok=True)
    return str(tmp_path / "service.toml")


@pytest.mark.slow
def test_a_list_of_values_that_no_function_gives_is_remarked_upon_at_the_start(
    serve: Callable[..., Served], config: str
) -> None:
    text = """
from typing import Annotated
from jupyter_funcs.service import ListedBy, function

@function(asset="Team data")
def pick(store: Annotated[str, ListedBy("Get Nap")], other: Annotated[str, ListedBy("pick")]) -> str:
    return store
"""
    (Path(config).parent / "published" / "pick.py").write_text(text)
    service = serve("--config", config)
    service.says(
        "The parameter store of 'Pick' has no list of values: the function 'Get Nap' is not published"
    )
    assert "The parameter other" not in service.output


@pytest.fixture
def ann(config: str, tmp_path: Path) -> dict[str, str]:
    return bearer((tmp_path / "token").read_text())


def run_in_background(
    address: str, headers: dict[str, str], name: str, **args: str
) -> Future[httpx.Response]:
    """Send a run from a thread."""
    reply: Future[httpx.Response] = Future()

    def send() -> None:
        try:
            body = {"FunctionName": name, "Args": args}
            reply.set_result(post(address + RUN, headers=headers, json=body))
        except httpx.HTTPError as error:
            reply.set_exception(error)

    threading.Thread(target=send, daemon=True).start()
    return reply


@pytest.mark.slow
def test_a_teams_functions_are_served_and_those_that_nobody_has_are_named(
    serve: Callable[..., Served],
    config: str,
    ann: dict[str, str],
    funcs: Callable[..., str],
) -> None:
    service = serve("--config", config)
    assert "4 functions" in service.output
    assert f"--config {config} --user NAME" in service.output
    listed = get(service.address + GET_ALL, headers=ann).json()
    assert [function["name"] for function in listed] == ["Nap", "Sleep", "Fail"]
    assert {function["orgName"] for function in listed} == {"Team"}
    warning = next(json.loads(line) for line in service.lines if "Other data" in line)
    command = re.search(r"jupyter funcs (admin assets add .*)$", warning["event"])
    assert command
    assert command[1].endswith(f"--config {config}")
    funcs(*shlex.split(command[1]), "--shared")
    assert len(get(service.address + GET_ALL, headers=ann).json()) == 4


@pytest.mark.slow
def test_it_serves_again_when_a_published_file_or_the_configuration_changes(
    serve: Callable[..., Served], config: str, ann: dict[str, str], tmp_path: Path
) -> None:
    """With --reload: a run in progress ends first, and what can't be read leaves the functions from before."""
    service = serve("--config", config, "--reload")
    file = tmp_path / "published" / "team.py"

    def names() -> list[str]:
        return [
            function["name"]
            for function in get(service.address + GET_ALL, headers=ann).json()
        ]

    reply = run_in_background(service.address, ann, "Nap", seconds="6")
    service.says("napping")
    file.write_text(PUBLISHED.replace("def fail", "def succeed"))
    service.says("Reloaded: serving 4 functions of Team")
    assert names() == ["Nap", "Sleep", "Succeed"]
    file.write_text("\ndef f(:")
    service.says(
        "team.py, line 2: SyntaxError.*The functions from before are still served"
    )
    Path(config).write_text("organisation = 7")
    service.says(
        r"service.toml, line 1, organisation: must be .*The functions from before"
    )
    assert names() == ["Nap", "Sleep", "Succeed"]
    assert json.loads(reply.result(60).json()["body"]) == [{"rested": True}]
    file.write_text(PUBLISHED.replace('"Other data"', '"Team data"'))
    Path(config).write_text(
        'organisation = "Team"\n[server]\nport = 1\n[functions]\nfolders = ["published"]\n'
    )
    service.says("Reloaded: serving 11 functions, 7 of them over the data of the demo")
    service.says("will change when you restart the service")
    assert names() == ["Nap", "Sleep", "Fail", "Unseen"]
    other = serve("--config", config)
    other.says("Another service is running with the state folder")
    assert "Another service" not in service.output
    assert service.end() == 0
    assert "can't be looked at" not in service.output


@pytest.mark.slow
def test_what_a_function_prints_is_logged_with_the_request_that_ran_it(
    serve: Callable[..., Served], config: str, ann: dict[str, str]
) -> None:
    """Not with the id of the request that started its process."""
    service = serve("--config", config)
    for identifier in ("first", "second"):
        post(
            service.address + RUN,
            headers=ann | {"X-Request-Id": identifier},
            json={"FunctionName": "Nap", "Args": {"seconds": "0"}},
        )
    assert service.end() == 0
    printed = [
        json.loads(line) for line in service.output.splitlines() if "napping" in line
    ]
    assert [record["request_id"] for record in printed] == ["first", "second"]


@pytest.mark.slow
def test_a_run_that_is_under_way_gets_its_answer_when_the_service_is_stopped(
    serve: Callable[..., Served], config: str, ann: dict[str, str], tmp_path: Path
) -> None:
    service = serve("--config", config)
    reply = run_in_background(
        service.address, ann, "Nap", seconds="3600", until=str(tmp_path / "go")
    )
    service.says("napping")
    service.process.send_signal(signal.SIGTERM)
    service.says("waiting up to 10 s for 1 run")
    (tmp_path / "go").touch()
    assert service.process.wait(240) == 0
    assert json.loads(reply.result(60).json()["body"]) == [{"rested": True}]
    with pytest.raises(httpx.ConnectError):
        get(service.address)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Nap", "Sleep"])
def test_a_second_signal_does_not_wait_and_the_caller_gets_a_message(
    serve: Callable[..., Served], config: str, ann: dict[str, str], name: str
) -> None:
    """The service of this test would wait for an hour."""
    file = Path(config)
    file.write_text(
        file.read_text().replace("[server]", "[server]\nstop_seconds = 3600")
    )
    service = serve("--config", config)
    reply = run_in_background(service.address, ann, name, seconds="3600")
    service.says("napping|sleeping")
    service.process.send_signal(signal.SIGTERM)
    service.says("waiting up to 3600 s for 1 run")
    assert service.end(signal.SIGINT) == 0
    assert reply.result(60).status_code == 500
    assert "stopping. The run had begun" in reply.result().json()["error"]


DOZE = '''
"""A function that reads, and ignores cancellation."""

import sys
import time

from jupyter_funcs.service import function


@function(asset="Team data")
def doze(call):
    """Take a while."""
    call.table("cards")
    print("dozing", file=sys.stderr, flush=True)
    time.sleep(50)
    return []
'''


@pytest.mark.slow
def test_a_function_that_ignores_the_stop_leaves_no_folder_behind(
    serve: Callable[..., Served],
    config: str,
    ann: dict[str, str],
    environment: dict[str, str],
    tmp_path: Path,
) -> None:
    (tmp_path / "published" / "doze.py").write_text(DOZE)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment["TMPDIR"] = str(temporary)
    service = serve("--config", config)
    run_in_background(service.address, ann, "Doze")
    service.says("dozing")
    assert list(temporary.iterdir())
    service.process.send_signal(signal.SIGTERM)
    service.says("waiting up to 10 s for 1 run")
    assert service.end(signal.SIGINT) == 0
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
def test_the_bounds_are_those_of_the_configuration(
    serve: Callable[..., Served], config: str, ann: dict[str, str]
) -> None:
    server = 'run_seconds = 10\nconcurrent_runs = 2\nruns_a_user = 1\nallowed_hosts = ["funcs.example"]\n'
    server += 'allowed_origins = ["https://app.example"]\nlog = "text"\n'
    Path(config).write_text(Path(config).read_text().replace('log = "json"\n', server))
    service = serve("--config", config)
    reply = run_in_background(service.address, ann, "Sleep", seconds="60")
    service.says("sleeping")
    nap = {"FunctionName": "Nap", "Args": {"seconds": "0.1"}}
    assert post(service.address + RUN, headers=ann, json=nap).status_code == 429
    assert reply.result(60).status_code == 504
    assert "10 seconds" in reply.result().json()["error"]
    service.says(
        rf"POST {RUN} 504 user=ann function=Sleep milliseconds=\S+ bytes=\d+ request_id=\w+$"
    )
    headers = ann | {"Host": "funcs.example", "Origin": "https://app.example"}
    listing = get(service.address + GET_ALL, headers=headers)
    assert listing.headers["access-control-allow-origin"] == "https://app.example"
    # Its process was ended, although it ignores cancellation.
    assert becomes(
        lambda: (
            post(service.address + RUN, headers=headers, json=nap).status_code == 200
        )
    )


@pytest.mark.slow
def test_each_line_of_a_log_for_machines_is_json(
    serve: Callable[..., Served], config: str
) -> None:
    """Also those that say where the service is."""
    service = serve("--config", config)
    assert service.end() == 0
    events = [json.loads(line)["event"] for line in service.output.splitlines()]
    assert any(event.startswith("Serving ") for event in events)


@pytest.mark.slow
def test_runs_have_ten_seconds_to_end(
    serve: Callable[..., Served], config: str, ann: dict[str, str]
) -> None:
    service = serve("--config", config)
    reply = run_in_background(service.address, ann, "Nap", seconds="3600")
    service.says("napping")
    began = time.monotonic()
    assert service.end() == 0
    assert time.monotonic() - began > 9
    assert reply.result(60).status_code == 500


def test_hanging_up_cancels_the_run(
    serve: Callable[..., Served], config: str, ann: dict[str, str]
) -> None:
    """FAULTS.md 120."""
    service = serve("--config", config)
    body = json.dumps({"FunctionName": "Nap", "Args": {"seconds": "3600"}})
    with talk(service.address) as connection:
        connection.sendall(raw_run(ann["Authorization"].split()[1], body))
        service.says("napping")
    service.says("woken")
    assert json.loads(service.says(r'\{.*"status": 499.*\}')[0])["function"] == "Nap"


def test_a_kill_in_the_middle_of_a_run_loses_no_account(
    serve: Callable[..., Served],
    config: str,
    ann: dict[str, str],
    funcs: Callable[..., str],
) -> None:
    """FAULTS.md 118."""
    service = serve("--config", config)
    run_in_background(service.address, ann, "Nap", seconds="50")
    service.says("napping")
    funcs("admin", "users", "add", "bob", "--config", config)
    service.end(signal.SIGKILL)
    again = serve("--config", config)
    for user in ("ann", "bob"):
        token = bearer(funcs("token", "--user", user, "--config", config))
        assert get(again.address + GET_ALL, headers=token).status_code == 200
    assert get(again.address + GET_ALL, headers=ann).status_code == 200


@pytest.mark.slow
def test_the_log_of_the_process_is_json_and_holds_nothing_that_a_caller_typed(
    serve: Callable[..., Served],
    config: str,
    ann: dict[str, str],
    funcs: Callable[..., str],
) -> None:
    service = serve("--config", config)
    canary = "Canary-5f3a9b71c2"
    key = funcs("admin", "keys", "add", "ann", "--config", config).strip()
    failed = post(
        service.address + RUN,
        headers=ann | {"X-Request-Id": "fails"},
        json={"FunctionName": "Fail", "Args": {"text": canary}},
    )
    assert canary in failed.json()["error"]  # the caller's own words are for the caller
    get(
        f"{service.address}/{canary}?{canary}={canary}",
        headers={"X-Api-Key": key, "User-Agent": canary},
    )
    post(service.address + LOGIN, json={"email": canary, "password": canary})
    with talk(service.address) as connection:
        connection.sendall(f"{canary} {canary}\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 400 ")
    service.says("Invalid HTTP request")
    assert service.end() == 0
    begins = service.output.index('"$(jupyter')
    records = [json.loads(line) for line in service.output[begins:].splitlines()[1:]]
    assert {record["path"] for record in records if "path" in record} == {
        RUN,
        "?",
        LOGIN,
    }
    traces = [record["event"] for record in records if record["level"] == "error"]
    assert len(traces) == 1
    assert "ValueError: cannot use '[…]'" in traces[0]
    assert {
        record["request_id"] for record in records if "Fail" in record["event"]
    } == {"fails"}
    for secret in (
        canary,
        key,
        ann["Authorization"].split()[1],
        ann["Authorization"].split(".")[2],
    ):
        assert secret not in service.output


OWN_DATA = """
organisation = "Acme"
[data]
parquet = "cards/*.parquet"
[data.columns]
date = "day"
symbol = "ticker"
spend = "spend"
transactions = "transactions"
cards = "active"
[data.dimensions]
Brand = "brand"
[data.calendar]
rule = "December"
"""


@pytest.fixture
def own_data(tmp_path: Path) -> Path:
    """A configuration with a team's card spend."""
    (tmp_path / "cards").mkdir()
    days = [date(2024, 1, 1) + timedelta(days=at) for at in range(400)]
    columns = {
        "day": days,
        "ticker": ["AB US EQUITY"] * 400,
        "brand": ["Ab"] * 400,
        "spend": [1.5] * 400,
    }
    table = pa.table(columns | {"transactions": [3] * 400, "active": [2] * 400})
    pq.write_table(table, tmp_path / "cards" / "part.parquet")
    path = tmp_path / "own.toml"
    path.write_text(OWN_DATA)
    return path


@pytest.mark.slow
def test_a_teams_own_data_are_served(
    serve: Callable[..., Served], funcs: Callable[..., str], own_data: Path
) -> None:
    funcs("admin", "assets", "add", "Panel data", "--shared", "--config", str(own_data))
    funcs("admin", "users", "add", "ann", "--config", str(own_data))
    service = serve("--config", str(own_data))
    assert "5 functions of Acme at http" in service.output
    assert "synthetic" not in service.output
    headers = bearer(funcs("token", "--user", "ann", "--config", str(own_data)))
    listing = get(service.address + GET_ALL, headers=headers).json()
    assert {function["orgName"] for function in listing} == {"Acme"}
    args = {"PanelName": "Card Panel", "Symbol": "ab"}
    reply = post(
        service.address + RUN,
        headers=headers,
        json={"FunctionName": "Get Panel Daily", "Args": args},
    )
    rows = json.loads(reply.json()["body"])
    assert len(rows) == 400
    client = jf.connect(
        service.address, token=headers["Authorization"].removeprefix("Bearer ")
    )
    assert not client.get_panel_daily(**args).attrs["funcs"]["synthetic"]
    assert not client.synthetic
    assert {row["Spend"] for row in rows} == {1.5}
