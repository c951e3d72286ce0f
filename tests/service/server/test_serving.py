"""``jupyter funcs serve`` as a process: it starts, answers, refuses, is bounded, and ends in good order."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import trustme

import jupyter_funcs as jf
from jupyter_funcs.service import listening
from jupyter_funcs.service.errors import SetupError
from jupyter_funcs.service.protocol import Connection

from .conftest import GET_ALL, LIST, LOGIN, PANELS, RUN, Wire, becomes, raw_run, served, talk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# httpx's own five seconds are few where the machine has other work: a first run reads the data.
get, post = partial(httpx.get, timeout=60), partial(httpx.post, timeout=60)


class Served:
    """A process that serves, and what it has said so far."""

    def __init__(self, environment: dict[str, str], arguments: tuple[str, ...]) -> None:
        command = [sys.executable, "-m", "jupyter_funcs.cli", "serve", "--port", "0", *arguments]
        self.process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.address = ""

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line.decode())

    @property
    def said(self) -> str:
        return "".join(self.lines)

    def says(self, pattern: str) -> re.Match[str]:
        """Wait for what it says."""
        becomes(lambda: bool(re.search(pattern, self.said)) or not self._reader.is_alive(), 30)
        found = re.search(pattern, self.said)
        assert found, self.said
        return found

    def end(self, how: int = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        code = self.process.wait(30)
        self._reader.join(5)
        return code


def with_state(folder: Path) -> dict[str, str]:
    return os.environ | {"FUNCS_STATE_DIR": str(folder / "state")}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """That of the processes of a test, whose accounts are its own."""
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
            started.address = started.says(r"export FUNCS_BASE_URL=(\S+)")[1]
            started.says("FUNCS_TOKEN")
            return started

        yield start


@pytest.fixture
def funcs(environment: dict[str, str]) -> Callable[..., str]:
    """Run another command of `jupyter funcs` and give what it prints."""

    return partial(command, environment)


def command(environment: dict[str, str], *arguments: str) -> str:
    run = [sys.executable, "-m", "jupyter_funcs.cli", *arguments]
    return subprocess.run(run, env=environment, capture_output=True, text=True, check=True, timeout=60).stdout


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token.strip()}"}


def refused(environment: dict[str, str], *arguments: str) -> str:
    """Start a service that must not start, and give what it says."""
    command = [sys.executable, "-m", "jupyter_funcs.cli", "serve", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1, done.stderr
    assert not done.stdout
    assert 1 <= len(done.stderr.strip().splitlines()) <= 3, done.stderr
    return done.stderr


def test_it_serves_the_demo_and_says_how_to_use_it(serve: Callable[..., Served], environment: dict[str, str]) -> None:
    """What it prints is what a person pastes into a shell: the lines work as they are."""
    service = serve()
    assert "synthetic" in service.said
    assert "7 functions" in service.said
    exports = re.findall(r"export .*", service.said)
    assert len(exports) == 2
    bin_folder = str(Path(sys.executable).parent)
    script = "\n".join([*exports, "jupyter funcs list --format csv"])
    environment |= {"PATH": f"{bin_folder}:{environment['PATH']}"}
    done = subprocess.run(script, shell=True, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert len(done.stdout.splitlines()) == 8
    assert get(f"{service.address}/healthz").json() == {"status": "ok"}


def test_who_connects_to_the_served_demo_is_told_that_its_data_are_synthetic(
    serve: Callable[..., Served], funcs: Callable[..., str]
) -> None:
    """The session says so, and so does what a run gave."""
    service = serve()
    client = jf.connect(service.address, token=funcs("token", "--user", "guest").strip())
    assert client.get_panels().attrs["funcs"]["synthetic"]
    assert client.synthetic


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
    assert (login.status_code, login.headers["content-type"].partition(";")[0]) == (401, "text/plain")
    funcs("admin", "users", "disable", "guest")
    assert get(service.address + GET_ALL, headers=guest).status_code == 401


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_0(serve: Callable[..., Served], how: int) -> None:
    service = serve()
    with httpx.Client(timeout=60, base_url=service.address) as client:  # a connection that is open is no reason to stay
        assert client.get("/healthz").status_code == 200
        began = time.monotonic()
        assert service.end(how) == 0
    assert time.monotonic() - began < 5
    assert "Stopped." in service.said
    assert "Traceback" not in service.said


def test_accounts_outlive_a_kill(serve: Callable[..., Served], funcs: Callable[..., str]) -> None:
    first = serve()
    token = bearer(funcs("token", "--user", "guest"))
    funcs("admin", "grants", "add", "guest", "Demo reports")
    assert post(first.address + RUN, headers=token, json=PANELS).status_code == 200
    first.end(signal.SIGKILL)
    second = serve()
    assert len(get(second.address + GET_ALL, headers=token).json()) == 7


def test_a_port_in_use_is_named_with_the_next_step(environment: dict[str, str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        said = refused(environment, "--port", port)
    assert f"Port {port} of 127.0.0.1 is in use." in said
    assert "--port" in said.splitlines()[1]


@pytest.mark.parametrize("port", ["65536", "-1", "x", "1.5", ""])
def test_what_is_no_port_is_refused(environment: dict[str, str], port: str) -> None:
    assert "is no port" in refused(environment, f"--port={port}")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "::ffff:0.0.0.0", "10.255.255.1", "8.8.8.8"])
def test_a_public_address_is_refused_without_tls_or_a_proxy(environment: dict[str, str], host: str) -> None:
    said = refused(environment, "--host", host)
    assert host in said
    assert "--tls-certificate" in said
    assert "--behind-proxy" in said


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--host", "no.such.host.invalid"], "is no address"),
        (["--host", "a b"], "is no address"),
        (["--host", "203.0.113.7", "--behind-proxy"], "This machine has no address '203.0.113.7'"),
        (["--tls-certificate", "x.pem"], "--tls-key"),
        (["--tls-certificate", "no.pem", "--tls-key", "no.pem"], "cannot be read: No such file"),
        (["--tls-certificate", __file__, "--tls-key", __file__], "are not a certificate and its key"),
        (["--config", "/no/such/file.toml"], "/no/such/file.toml"),
    ],
)
def test_what_cannot_be_served_is_said_before_anything_is(
    environment: dict[str, str], arguments: list[str], says: str
) -> None:
    assert says in refused(environment, "--port", "0", *arguments)


def test_a_key_with_a_password_or_of_another_certificate_is_refused(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization

    authority = trustme.CA()
    one, other = (authority.issue_cert("localhost") for _ in range(2))
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    one.cert_chain_pems[0].write_to_path(certificate)
    other.private_key_pem.write_to_path(key)
    with pytest.raises(SetupError, match="are not a certificate and its key"):
        listening.check_certificate(certificate, key)
    private = serialization.load_pem_private_key(one.private_key_pem.bytes(), None)
    key.write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    with pytest.raises(SetupError, match="no password"):
        listening.check_certificate(certificate, key)
    one.private_key_pem.write_to_path(key)
    listening.check_certificate(certificate, key)


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
def test_only_this_machines_addresses_for_itself_are_not_public(host: str, public: bool) -> None:
    assert listening.is_public(host) is public


def test_with_tls_it_may_be_public(serve: Callable[..., Served], tmp_path: Path, funcs: Callable[..., str]) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "funcs.example")
    issued.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    issued.private_key_pem.write_to_path(tmp_path / "key.pem")
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    service = serve(
        *("--host", "0.0.0.0", "--tls-certificate", str(tmp_path / "cert.pem"), "--tls-key", str(tmp_path / "key.pem")),
        *("--allowed-host", "funcs.example"),
    )
    address = f"https://localhost:{urlsplit(service.address).port}"
    assert service.address.startswith("https://funcs.example:")
    import ssl

    with httpx.Client(timeout=60, verify=ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))) as client:
        reply = client.get(address + GET_ALL, headers=bearer(funcs("token", "--user", "analyst")))
        assert len(reply.json()) == 7
        assert client.get(address + "/healthz", headers={"Host": "funcs.example"}).status_code == 200
        assert client.get(address + "/healthz", headers={"Host": "evil.example"}).status_code == 403
    with pytest.raises(httpx.HTTPError):
        get(address.replace("https", "http") + "/healthz")


def test_behind_a_proxy_it_may_be_public_and_knows_the_proxys_name(serve: Callable[..., Served]) -> None:
    service = serve("--host", "0.0.0.0", "--behind-proxy", "--allowed-host", "funcs.example")
    port = urlsplit(service.address).port
    assert get(f"http://127.0.0.1:{port}/healthz", headers={"Host": "funcs.example"}).status_code == 200
    assert get(f"http://127.0.0.1:{port}/healthz", headers={"Host": "10.0.0.1"}).status_code == 403


def test_without_a_name_for_callers_elsewhere_the_operator_is_told(serve: Callable[..., Served]) -> None:
    assert "--allowed-host" in serve("--behind-proxy").said
    assert "--allowed-host" not in serve("--behind-proxy", "--allowed-host", "funcs.example").said
    assert "--allowed-host" not in serve().said


@pytest.mark.parametrize("header", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}])
def test_a_page_elsewhere_is_403(
    serve: Callable[..., Served], funcs: Callable[..., str], header: dict[str, str]
) -> None:
    """FAULTS.md 120: even with a token."""
    service = serve()
    headers = bearer(funcs("token", "--user", "analyst")) | header
    assert post(service.address + LIST, headers=headers).status_code == 403


def test_nothing_says_what_serves(serve: Callable[..., Served]) -> None:
    assert "server" not in get(f"{serve().address}/healthz").headers


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


class Impatient(Connection):
    """A connection whose times a test can wait for."""

    most = 20
    head_seconds = 0.5
    stall_seconds = 0.3


@pytest.mark.parametrize(
    "begin",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"GET /healthz HTTP/1.1\r\n", id="a head without its end"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /hea", id="a second head"),
        pytest.param(
            b"POST /api/function/runFunction HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999\r\n\r\n",
            id="a body that is not wanted",
        ),
    ],
)
def test_who_sends_a_byte_now_and_then_is_cut(publish: Callable[..., Wire], begin: bytes) -> None:
    """FAULTS.md 120, slowloris: the time is that of the whole, not of a byte."""
    with served(publish().app, http=Impatient) as address, talk(address) as connection:
        connection.sendall(begin)
        began = time.monotonic()
        with contextlib.suppress(OSError):
            while time.monotonic() - began < 5:
                connection.sendall(b"x")
                time.sleep(0.1)
                if is_closed_within(connection, 0.01):
                    break
        assert 0.3 < time.monotonic() - began < 3
        assert get(f"{address}/healthz").status_code == 200


def test_between_two_requests_a_connection_may_rest(publish: Callable[..., Wire]) -> None:
    with served(publish().app, http=Impatient, timeout_keep_alive=3) as address, talk(address) as connection:
        for _ in range(3):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            said = b""
            while not said.endswith(b"}"):
                said += connection.recv(4000)
            assert said.startswith(b"HTTP/1.1 200 ")
            time.sleep(Impatient.head_seconds * 1.6)
        connection.sendall(b"G")
        assert is_closed_within(connection, 2)


def test_connections_are_bounded_and_those_too_many_told_to_come_back(publish: Callable[..., Wire]) -> None:
    with served(publish().app, http=Impatient) as address, contextlib.ExitStack() as open_ones:
        for _ in range(Impatient.most):
            open_ones.enter_context(talk(address))
        time.sleep(0.1)
        with talk(address) as one_more:
            said = b"".join(iter(lambda: one_more.recv(4000), b""))
        assert said.startswith(b"HTTP/1.1 503 ")
        assert b"Retry-After: 1\r\n" in said
        head, _, body = said.partition(b"\r\n\r\n")
        assert json.loads(body)["body"] is None
        assert f"Content-Length: {len(body)}".encode() in head
        time.sleep(Impatient.head_seconds + 0.3)
        assert get(f"{address}/healthz").status_code == 200


def test_who_does_not_take_an_answer_loses_the_connection(publish: Callable[..., Wire]) -> None:
    from jupyter_funcs.service.registry import function

    def much() -> list[dict[str, str]]:
        """Give more than a socket holds."""
        return [{"x": "y" * 1000}] * 30_000

    wire = publish(function(asset="a", name="Much")(much))
    body = json.dumps({"FunctionName": "Much"})
    with served(wire.app, http=Impatient) as address, talk(address) as connection:
        connection.sendall(raw_run(wire.token, body))
        time.sleep(3)
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
                time.sleep(0.02)
        assert got > 30_000_000


PUBLISHED = '''
"""Functions that take their time."""

import sys
import time

from jupyter_funcs.service import function


@function(asset="Team data")
def nap(call, seconds: float = 1.0):
    """Wait, and heed cancelling."""
    print("napping", file=sys.stderr, flush=True)
    ends = time.monotonic() + seconds
    while time.monotonic() < ends and not call.cancelled:
        time.sleep(0.01)
    print("woken" if call.cancelled else "rested", file=sys.stderr, flush=True)
    return [{"rested": not call.cancelled}]


@function(asset="Team data")
def sleep(seconds: float = 1.0):
    """Wait, and heed nothing."""
    print("sleeping", file=sys.stderr, flush=True)
    time.sleep(seconds)
    return []


@function(asset="Team data")
def fail(text: str):
    """Say what it got."""
    raise ValueError(f"cannot use {text!r}")


@function(asset="Other data")
def unseen():
    """Belong to what nobody has."""
    return []
'''


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with functions of a team's own, and the user 'ann' who has one of its two assets; her token."""
    folder = tmp_path_factory.mktemp("team")
    (folder / "published").mkdir()
    (folder / "published" / "team.py").write_text(PUBLISHED)
    path = folder / "service.toml"
    own = '[functions]\nbuiltin = false\nfolders = ["published"]\n'
    path.write_text('organisation = "Team"\n[server]\nlog = "json"\n' + own)
    run = partial(command, with_state(folder))
    run("admin", "assets", "add", "Team data", "--shared", "--organisation", "Team", "--config", str(path))
    run("admin", "users", "add", "ann", "--config", str(path))
    (folder / "token").write_text(run("token", "--user", "ann", "--config", str(path)))
    return folder


@pytest.fixture
def config(tmp_path: Path, team: Path) -> str:
    """The configuration of such a folder that is the test's own."""
    shutil.copytree(team, tmp_path, dirs_exist_ok=True)
    return str(tmp_path / "service.toml")


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
    assert "The values of store of 'Pick' are listed by no function: 'Get Nap' is not published." in service.said
    assert "The values of other" not in service.said


@pytest.fixture
def ann(config: str, tmp_path: Path) -> dict[str, str]:
    return bearer((tmp_path / "token").read_text())


def run_in_background(address: str, headers: dict[str, str], name: str, **args: str) -> Future[httpx.Response]:
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


def test_a_teams_functions_are_served_and_those_that_nobody_has_are_named(
    serve: Callable[..., Served], config: str, ann: dict[str, str], funcs: Callable[..., str]
) -> None:
    service = serve("--config", config)
    assert "4 functions" in service.said
    assert f"--config {config} --user NAME" in service.said
    listed = get(service.address + GET_ALL, headers=ann).json()
    assert [each["name"] for each in listed] == ["Nap", "Sleep", "Fail"]
    assert {each["orgName"] for each in listed} == {"Team"}
    warning = next(json.loads(line) for line in service.lines if "Other data" in line)
    command = re.search(r"jupyter funcs (admin assets add .*)$", warning["event"])
    assert command
    assert command[1].endswith(f"--config {config}")
    funcs(*shlex.split(command[1]), "--shared")
    assert len(get(service.address + GET_ALL, headers=ann).json()) == 4


def test_a_run_that_is_under_way_gets_its_answer_when_the_service_is_stopped(
    serve: Callable[..., Served], config: str, ann: dict[str, str]
) -> None:
    service = serve("--config", config)
    reply = run_in_background(service.address, ann, "Nap", seconds="1.5")
    service.says("napping")
    assert service.end() == 0
    assert json.loads(reply.result(5).json()["body"]) == [{"rested": True}]
    assert "1 run gets up to 10 s" in service.said
    with pytest.raises(httpx.ConnectError):
        get(service.address)


@pytest.mark.parametrize("name", ["Nap", "Sleep"])
def test_a_second_signal_does_not_wait_and_the_caller_is_told(
    serve: Callable[..., Served], config: str, ann: dict[str, str], name: str
) -> None:
    service = serve("--config", config)
    reply = run_in_background(service.address, ann, name, seconds="50")
    service.says("napping|sleeping")
    service.process.send_signal(signal.SIGTERM)
    service.says("1 run gets up to 10 s")
    began = time.monotonic()
    assert service.end(signal.SIGINT) == 0
    assert time.monotonic() - began < 5
    assert reply.result(5).status_code == 503
    assert "stopping" in reply.result().json()["error"]
    assert reply.result().headers["retry-after"]
    assert "woken" in service.said or "do not heed cancelling end with the process" in service.said


DOZE = '''
"""A function that reads, and heeds nothing."""

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


def test_what_does_not_heed_the_stop_leaves_no_folder_behind(
    serve: Callable[..., Served], config: str, ann: dict[str, str], environment: dict[str, str], tmp_path: Path
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
    service.says("1 run gets up to 10 s")
    assert service.end(signal.SIGINT) == 0
    assert "do not heed cancelling end with the process" in service.said
    assert list(temporary.iterdir()) == []


def test_the_bounds_are_those_of_the_configuration(
    serve: Callable[..., Served], config: str, ann: dict[str, str]
) -> None:
    server = 'run_seconds = 1.5\nconcurrent_runs = 2\nruns_a_user = 1\nallowed_hosts = ["funcs.example"]\n'
    server += 'allowed_origins = ["https://app.example"]\nlog = "text"\n'
    Path(config).write_text(Path(config).read_text().replace('log = "json"\n', server))
    service = serve("--config", config)
    reply = run_in_background(service.address, ann, "Sleep", seconds="4")
    service.says("sleeping")
    nap = {"FunctionName": "Nap"}
    assert post(service.address + RUN, headers=ann, json=nap).status_code == 429
    assert reply.result(5).status_code == 504
    assert "1.5 seconds" in reply.result().json()["error"]
    service.says(rf"POST {RUN} 504 user=ann function=Sleep milliseconds=\S+ bytes=\d+ request_id=\w+$")
    service.says(r"A stopped run goes on.*function=Sleep")
    headers = ann | {"Host": "funcs.example", "Origin": "https://app.example"}
    listing = get(service.address + GET_ALL, headers=headers)
    assert listing.headers["access-control-allow-origin"] == "https://app.example"
    service.says("A stopped run has ended")


@pytest.mark.slow
def test_runs_have_ten_seconds_to_end(serve: Callable[..., Served], config: str, ann: dict[str, str]) -> None:
    service = serve("--config", config)
    reply = run_in_background(service.address, ann, "Nap", seconds="50")
    service.says("napping")
    began = time.monotonic()
    assert service.end() == 0
    assert 9 < time.monotonic() - began < 14
    assert reply.result(5).status_code == 503


def test_hanging_up_cancels_the_run(serve: Callable[..., Served], config: str, ann: dict[str, str]) -> None:
    """FAULTS.md 120."""
    service = serve("--config", config)
    body = json.dumps({"FunctionName": "Nap", "Args": {"seconds": "50"}})
    with talk(service.address) as connection:
        connection.sendall(raw_run(ann["Authorization"].split()[1], body))
        service.says("napping")
    began = time.monotonic()
    service.says("woken")
    assert time.monotonic() - began < 10
    assert json.loads(service.says(r'\{.*"status": 499.*\}')[0])["function"] == "Nap"


def test_a_kill_in_the_middle_of_a_run_loses_no_account(
    serve: Callable[..., Served], config: str, ann: dict[str, str], funcs: Callable[..., str]
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


def test_the_log_of_the_process_is_json_and_holds_nothing_that_a_caller_typed(
    serve: Callable[..., Served], config: str, ann: dict[str, str], funcs: Callable[..., str]
) -> None:
    service = serve("--config", config)
    canary, key = "Canary-5f3a9b71c2", funcs("admin", "keys", "add", "ann", "--config", config).strip()
    failed = post(
        service.address + RUN,
        headers=ann | {"X-Request-Id": "fails"},
        json={"FunctionName": "Fail", "Args": {"text": canary}},
    )
    assert canary in failed.json()["error"]  # the caller's own words are for the caller
    get(f"{service.address}/{canary}?{canary}={canary}", headers={"X-Api-Key": key, "User-Agent": canary})
    post(service.address + LOGIN, json={"email": canary, "password": canary})
    with talk(service.address) as connection:
        connection.sendall(f"{canary} {canary}\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 400 ")
    service.says("Invalid HTTP request")
    assert service.end() == 0
    begins = service.said.index('"$(jupyter')
    records = [json.loads(line) for line in service.said[begins:].splitlines()[1:]]
    assert {record["path"] for record in records if "path" in record} == {RUN, "?", LOGIN}
    traces = [record["event"] for record in records if record["level"] == "error"]
    assert len(traces) == 1
    assert "ValueError: cannot use '[…]'" in traces[0]
    assert {record["request_id"] for record in records if "Fail" in record["event"]} == {"fails"}
    for secret in (canary, key, ann["Authorization"].split()[1], ann["Authorization"].split(".")[2]):
        assert secret not in service.said


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
    """A configuration with a team's own card spend."""
    (tmp_path / "cards").mkdir()
    days = [date(2024, 1, 1) + timedelta(days=at) for at in range(400)]
    columns = {"day": days, "ticker": ["AB US EQUITY"] * 400, "brand": ["Ab"] * 400, "spend": [1.5] * 400}
    table = pa.table(columns | {"transactions": [3] * 400, "active": [2] * 400})
    pq.write_table(table, tmp_path / "cards" / "part.parquet")
    path = tmp_path / "own.toml"
    path.write_text(OWN_DATA)
    return path


def test_a_teams_own_data_are_served(serve: Callable[..., Served], funcs: Callable[..., str], own_data: Path) -> None:
    funcs("admin", "assets", "add", "Panel data", "--shared", "--config", str(own_data))
    funcs("admin", "users", "add", "ann", "--config", str(own_data))
    service = serve("--config", str(own_data))
    assert "5 functions over the data of Acme at http" in service.said
    assert "synthetic" not in service.said
    headers = bearer(funcs("token", "--user", "ann", "--config", str(own_data)))
    listing = get(service.address + GET_ALL, headers=headers).json()
    assert {each["orgName"] for each in listing} == {"Acme"}
    args = {"PanelName": "Card Panel", "Symbol": "ab"}
    reply = post(service.address + RUN, headers=headers, json={"FunctionName": "Get Panel Daily", "Args": args})
    rows = json.loads(reply.json()["body"])
    assert len(rows) == 400
    client = jf.connect(service.address, token=headers["Authorization"].removeprefix("Bearer "))
    assert not client.get_panel_daily(**args).attrs["funcs"]["synthetic"]
    assert not client.synthetic
    assert {row["Spend"] for row in rows} == {1.5}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (('date = "day"', 'date = "dya"'), "line 6"),
        (("[data.calendar]", "[server]\nprot = 1\n[data.calendar]"), "line 14"),
        (("[data.calendar]", "[functions]\nfolders = ['nowhere']\n[data.calendar]"), "nowhere"),
    ],
)
def test_what_does_not_fit_the_data_is_refused_at_start_with_its_place(
    environment: dict[str, str], own_data: Path, wrong: tuple[str, str], says: str
) -> None:
    own_data.write_text(OWN_DATA.replace(*wrong))
    said = refused(environment, "--port", "0", "--config", str(own_data))
    assert says in said
