"""
Requests to one service, with a token, retries and the circuit breaker.

The caller sets one total deadline around each request (`asyncio.timeout`), because httpx only limits single reads.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import math
import os
import time
import zlib
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from jupyter_funcs.connection.http import (
    IF_CHANGED,
    AnyTransport,
    Exchange,
    Opened,
    Request,
)
from jupyter_funcs.connection.replies import (
    ARROW,
    LOGIN_PATH,
    NEW_TOKEN,
    Failure,
    Reply,
)
from jupyter_funcs.connection.retries import (
    HEALTH,
    MAX_RETRIES,
    MIN_TIME_LEFT,
    Health,
    Proof,
    Purpose,
    pause,
)
from jupyter_funcs.connection.secrets import Hidden, Secret
from jupyter_funcs.connection.tokens import Constant
from jupyter_funcs.core.background import Progress, loop_time
from jupyter_funcs.core.errors import (
    TRY_AGAIN,
    AuthenticationError,
    CircuitOpenError,
    ConfigError,
    DeadlineError,
    FuncsError,
    ProtocolError,
    ServerError,
    ServiceConnectionError,
)
from jupyter_funcs.core.files import atomic_write_bytes, read_small
from jupyter_funcs.core.json_decoding import read_object

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from jupyter_funcs.connection.profiles import Connection
    from jupyter_funcs.connection.tokens import Credential, TokenSource

T = TypeVar("T")

MAX_BYTES = 2**30
_MAX_LOGIN_BYTES = 64 * 1024
# The failures that the circuit breaker counts.
OUTAGES = (ServiceConnectionError, DeadlineError, ServerError)
_MOST_KEPT = 100  # replies to listings
# Seconds that a timer may fire early, because clocks advance in steps.
_TIMER_STEP = 0.05


@dataclass
class KeptReplies:
    """
    The last reply to each request of a listing, in a folder that only this user can read, by who asked for it.

    `why` says why the service can't be asked; then nothing is sent, and what is kept is used with a warning.
    """

    _folder: Path
    _identity: Callable[[Secret, Any], str]
    why: FuncsError | None

    async def send(
        self,
        request: Request,
        secrets: Sequence[Secret],
        send: Callable[[Request], Awaitable[Reply | Failure]],
    ) -> Reply | Failure:
        """Send a request if its reply may have changed, and keep the new one."""
        path, kept = await asyncio.to_thread(self._read, request, secrets)
        if self.why:
            return kept or Failure(
                ProtocolError("No listing of it is kept.", TRY_AGAIN)
            )

        # A service that isn't ours need not expect the header in a POST.
        if (
            kept
            and "etag" in kept.headers
            and (request.method == "GET" or kept.takes_json)
        ):
            headers = {**request.headers, IF_CHANGED: kept.headers["etag"]}
            request = request._replace(headers=headers)

        reply = await send(request)
        if isinstance(reply, Failure):
            return reply
        # A full disk or another user's folder isn't a reason to fail.
        with suppress(OSError):
            await asyncio.to_thread(self._keep, path, reply)
        if kept and reply.is_known:
            return kept
        return reply

    def _read(
        self, request: Request, secrets: Sequence[Secret]
    ) -> tuple[Path, Reply | None]:
        content = [request.method, request.url, request.body]
        path = self._folder / f"{self._identity(secrets[0], content)}.gz"
        # Absent or broken.
        with suppress(OSError, ValueError, TypeError, EOFError, zlib.error):
            head, _, data = gzip.decompress(read_small(path, MAX_BYTES)).partition(
                b"\n"
            )
            reply = Reply(data, secrets, **read_object(head))
            if self.why is None:
                return path, reply
            at = time.strftime("%Y-%m-%d %H:%M", time.localtime(path.stat().st_mtime))
            old = (
                f"The functions are as listed on {at}; %funcs refresh lists them again."
            )
            return path, reply._replace(
                warning=f"{self.why.what.removesuffix('.')}. {old}"
            )

        return path, None

    def _keep(self, path: Path, reply: Reply) -> None:
        if reply.is_known:
            path.touch()
            return

        facts = reply._asdict() | {"headers": dict(reply.headers)}
        head = json.dumps(
            {name: facts[name] for name in facts.keys() - {"data", "secrets"}}
        )
        content = gzip.compress(head.encode() + b"\n" + reply.without_token(), 1)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        atomic_write_bytes(path, content, 0o600)
        oldest_first = sorted(
            self._folder.glob("*.gz"), key=lambda path: path.stat().st_mtime
        )
        for old in oldest_first[:-_MOST_KEPT]:
            old.unlink(missing_ok=True)


class Terms(NamedTuple):
    """The limits of a request; `until` is its deadline in the loop's time, `counts` is for the circuit breaker."""

    purpose: Purpose
    until: float
    max_bytes: int = MAX_BYTES
    retries: int = MAX_RETRIES
    force: bool = False
    counts: bool = True
    takes_arrow: bool = False  # as well as JSON, in the reply
    kept: KeptReplies | None = None  # of a listing

    def pause(self, failure: Failure, done: int) -> float | None:
        """Return the seconds to wait before what failed is sent again; ``None`` if it should not be."""
        return pause(
            failure.proof,
            self.purpose,
            done=done,
            left=self.until - loop_time(),
            retry_after=failure.retry_after,
            most=self.retries,
        )


class Transport:
    """Requests to one service."""

    _sent: Sequence[Secret] = ()
    ends = math.inf

    def __init__(
        self, connection: Connection, transport: AnyTransport | None = None
    ) -> None:
        self.connection = connection
        # Called on the loop if the source says that its listing changed.
        self.on_change: Callable[[], object] = int
        self._transport = transport
        self._open()

    @property
    def is_own(self) -> bool:
        """Whether the requests go through a user's own transport, or stay in this process."""
        return self._transport is not None

    def _open(self) -> None:
        self._pid = os.getpid()
        self._exchange = Exchange(self.connection, self._transport)
        self.turn = asyncio.Lock()
        self.detecting = asyncio.Lock()
        # A user's own transport has a state of its own.
        address = self.connection.base_url
        if address.startswith("file:"):
            [address, *_] = *self.connection.allow_server, ""
        origin = "://".join(urlsplit(address)[:2])
        self._health = Health() if self.is_own else HEALTH[origin]

    def reopen_after_fork(self) -> None:
        """Start again in a forked process."""
        # A child must not use its parent's sockets, nor wait for its parent's requests.
        if self._pid != os.getpid():
            self._open()

    async def send(
        self,
        place: str,
        payload: object,
        terms: Terms,
        progress: Progress | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send `payload` as JSON to a place of the service, as in ``GET /path``, and return the whole reply."""
        method, _, path = place.partition(" ")
        url = self.connection.base_url + path
        sent = dict(headers or {})
        if terms.takes_arrow:
            sent["Accept"] = f"{ARROW}, application/json;q=0.9"
        return await self.request(
            Request(method, url, payload, sent, self.connection.credentials),
            terms,
            progress,
        )

    async def request(
        self, request: Request, terms: Terms, progress: Progress | None = None
    ) -> Reply:
        """Send a request and return the whole reply; retry where that is safe."""
        self.reopen_after_fork()
        progress = progress or Progress()
        is_sent = terms.kept is None or terms.kept.why is None
        health = self._health if is_sent else Health()
        breaker = health.breaker
        admission = breaker.admit(loop_time(), force=terms.force, counts=terms.counts)
        if admission.wait:
            paused = CircuitOpenError(
                f"{self.connection.name} failed {breaker.max_failures} times in a row, so requests are paused.",
                f"Try again in {math.ceil(admission.wait)} s, or now with --force or with_options(force=True).",
            )
            paused.refused = True
            paused.retry_after = admission.wait
            raise paused

        try:
            reply = await self._send(request, terms, progress)
        except BaseException as error:
            # Cancelled, or from the token source or a bug of ours.
            is_late = progress.attempts and loop_time() >= terms.until - _TIMER_STEP
            # The deadline ended it: the service failed.
            if is_late and isinstance(error, asyncio.CancelledError):
                breaker.failed(loop_time(), admission)
            else:
                breaker.dropped(admission)
            raise

        if isinstance(reply, Reply):
            breaker.answered()
            health.budget.succeeded()
            return reply

        if isinstance(reply.error, OUTAGES):
            breaker.failed(loop_time(), admission)
        else:
            breaker.answered()

        raise reply.error

    async def _send(
        self, request: Request, terms: Terms, progress: Progress
    ) -> Reply | Failure:
        """Send a request as often as its failures allow; return its reply or its last failure."""
        renewals: list[Sequence[Secret]] = []

        async def send(secrets: Sequence[Secret]) -> Reply | Failure:
            exchange = partial(
                self._exchange.send,
                secrets=secrets,
                max_bytes=terms.max_bytes,
                progress=progress,
            )
            if terms.kept is None:
                return await exchange(request)
            return await terms.kept.send(request, secrets, exchange)

        for done in count():
            reply = await self._with_secrets(request.credentials, send, renewals)
            if isinstance(reply, Reply):
                return reply
            error = reply.error
            error.attempts = done + 1
            error.refused = reply.proof is Proof.REFUSED
            error.proof = reply.proof
            error.retry_after = reply.retry_after
            seconds = terms.pause(reply, done)
            timed_out = isinstance(error, DeadlineError)
            if seconds is None or not self._health.budget.take(timed_out=timed_out):
                return reply
            await asyncio.sleep(seconds)
            # It took longer, for instance because the machine slept.
            if terms.until - loop_time() < MIN_TIME_LEFT:
                return reply

        raise AssertionError  # count() has no end

    async def open(self, request: Request) -> Opened | Failure:
        """Send one request with the token, for a protocol of its own; `Exchange.open` says what this returns."""
        self.reopen_after_fork()
        return await self._with_secrets(
            request.credentials, partial(self._exchange.open, request), []
        )

    async def _with_secrets(
        self,
        credentials: Sequence[Credential],
        send: Callable[[Sequence[Secret]], Awaitable[T | Failure]],
        renewals: list[Sequence[Secret]],
    ) -> T | Failure:
        """Send a request with the secrets of its sources; again with new ones if one is rejected, once per request."""
        sources = [credential.source for credential in credentials]
        secrets = self._sent = [await self.secret(source) for source in sources]
        reply = await send(secrets)
        if isinstance(reply, Failure) and reply.rejects_token and not renewals:
            for source, secret in zip(sources, secrets, strict=True):
                await asyncio.to_thread(source.reject, secret)
            renewed = self._sent = [await self.secret(source) for source in sources]
            renewals.append(renewed)
            if list(map(Secret.reveal, renewed)) != list(map(Secret.reveal, secrets)):
                reply = await send(renewed)

        return reply

    async def login(self, email: str, password: Hidden) -> Secret:
        """Return a token for an email and a password."""
        self.reopen_after_fork()
        url = self.connection.base_url + LOGIN_PATH
        reply = await self._exchange.send(
            # In no variable, because debuggers show those.
            Request("POST", url, {"email": email, "password": password.reveal()}),
            [password],
            _MAX_LOGIN_BYTES,
            Progress(),
        )
        if isinstance(reply, Failure):
            if isinstance(reply.error, AuthenticationError):
                raise AuthenticationError(
                    f"Wrong email or password for {self.connection.name}.", "Try again."
                )
            raise reply.error

        with suppress(ConfigError, KeyError):
            return Secret(read_object(reply.data)["token"])
        del reply  # as above
        raise ProtocolError(
            "The service accepted the login, but returned no token.",
            "Tell the operator of the service.",
        )

    @property
    def user(self) -> str:
        """The user that the token sent last names; empty if none was sent or it names nobody."""
        return next(filter(None, (secret.user for secret in self._sent)), "")

    async def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        await self._exchange.close()

    async def secret(self, source: TokenSource | None = None) -> Secret:
        """Return the current secret of a source, the token's unless told."""
        failed = ""
        if source is None:
            source = self.connection.token
        try:
            # In a thread, because a source may run a command, read a keyring or call a user's function.
            if isinstance(source, Constant):
                secret = source()
            else:
                secret = await asyncio.to_thread(source)
        except FuncsError:
            raise
        except Exception as error:  # noqa: BLE001  # a user's own function may raise anything
            failed = type(error).__name__

        # Raised here and without the error's text, which may contain the token.
        if failed:
            raise AuthenticationError(
                f"The source of the token failed ({failed}).",
                "Call it by itself to see why.",
            )

        if source is self.connection.token:
            self.ends = secret.expires_at
        if secret.expires_at <= time.time():
            raise AuthenticationError(
                f"The token for {self.connection.name} has expired.", NEW_TOKEN
            )

        return secret
