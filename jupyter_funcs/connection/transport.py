"""
Requests to one service: each with a token, sent again where that is safe, and none while the service is left alone.

The caller keeps the one total deadline around it (`asyncio.timeout`): httpx bounds each read and not their sum.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import time
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from jupyter_funcs.errors import (
    AuthenticationError,
    CircuitOpenError,
    ConfigError,
    DeadlineError,
    FuncsError,
    ProtocolError,
    ServerError,
    ServiceConnectionError,
)
from jupyter_funcs.exchange import LOGIN_PATH, Exchange
from jupyter_funcs.progress import Progress
from jupyter_funcs.refusals import NEW_TOKEN, Failure
from jupyter_funcs.reply import Reply
from jupyter_funcs.retries import LEAST_LEFT, MOST_RETRIES, Health, Proof, health, pause
from jupyter_funcs.secret import Secret, redacted
from jupyter_funcs.tokens import Constant, Source

if TYPE_CHECKING:
    import httpx

    from jupyter_funcs.config import Connection
    from jupyter_funcs.retries import Purpose
    from jupyter_funcs.secret import Hidden

MAX_BYTES = 2**30
_MAX_LOGIN_BYTES = 64 * 1024
# The errors that say that the service is not well; any other is an answer of it.
_AILING = (ServiceConnectionError, DeadlineError, ServerError)
# A timer may ring so many seconds before its time, by the clock's own steps.
_EARLY = 0.05


class Terms(NamedTuple):
    """
    How hard it is tried to get a reply.

    Attributes
    ----------
    purpose
        What the request is for, by which it is sent again or not.
    until
        The deadline on the running loop's clock, in seconds; who asks ends the wait then.
    max_bytes
        The largest reply taken, in bytes, after decompression.
    retries
        How often it is sent again at most, from 0 to 2.
    force
        Send it also while the service is left alone for its failures.
    """

    purpose: Purpose
    until: float
    max_bytes: int = MAX_BYTES
    retries: int = MOST_RETRIES
    force: bool = False


class Transport:
    """
    Requests to one service.

    Parameters
    ----------
    connection
        Where they go, and the token.
    transport
        Any httpx transport in place of the network: the embedded service is an `httpx.ASGITransport`.

    Attributes
    ----------
    ends
        When the token that was given last ends, in seconds since 1970; infinity as long as that is not known.
    turn
        Held by who reads a reply on this loop, so that one is read at a time.
    """

    def __init__(
        self, connection: Connection, transport: httpx.AsyncBaseTransport | httpx.BaseTransport | None = None
    ) -> None:
        self.connection = connection
        self._transport = transport
        self._sent: Secret | None = None
        self.ends = math.inf
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._exchange = Exchange(self.connection, self._transport)
        self.turn = asyncio.Lock()
        # What is known of a user's own transport is known of that one only.
        self._health = health(_origin(self.connection.base_url)) if self._transport is None else Health()

    def _look_whether_forked(self) -> None:
        if self._pid != os.getpid():  # a child must not share its parent's sockets, nor wait for its parent's requests
            self._begin()

    async def post(self, path: str, payload: object, terms: Terms, progress: Progress | None = None) -> Reply:
        """
        Send `payload` as JSON and give the whole reply, which is never cut short; send it again where that is safe.

        Parameters
        ----------
        path
            Below the connection's address.
        payload
            Anything that msgspec writes as JSON.
        terms
            How hard it is tried.
        progress
            Where it is said how far this has come.

        Raises
        ------
        FuncsError
            Every failure of the network, the service or the reply, as the class that FAULTS names for it.
        """
        self._look_whether_forked()
        clock = asyncio.get_running_loop().time
        breaker, told = self._health.breaker, progress or Progress()
        admission = breaker.admit(clock(), force=terms.force)
        if admission.wait:
            left_alone = CircuitOpenError(
                f"{self.connection.name} failed {breaker.row} times in a row; it is left alone for now.",
                f"Try again in {math.ceil(admission.wait)} s, or now with --force or with_options(force=True).",
            )
            left_alone.refused, left_alone.retry_after = True, admission.wait
            raise left_alone
        try:
            reply = await self._send(path, payload, terms, told)
        except asyncio.CancelledError:
            # By the deadline, which is the service's failure where it was asked, or by a person.
            if told.attempts and clock() >= terms.until - _EARLY:
                breaker.failed(clock(), admission)
            else:
                breaker.dropped(admission)
            raise
        except BaseException:  # of the token's source, or of our own making: it says nothing of the service
            breaker.dropped(admission)
            raise
        if isinstance(reply, Reply):
            breaker.answered()
            self._health.budget.succeeded()
            return reply
        if isinstance(reply.error, _AILING):
            breaker.failed(clock(), admission)
        else:
            breaker.answered()
        raise reply.error

    async def _send(self, path: str, payload: object, terms: Terms, told: Progress) -> Reply | Failure:
        """Send a request so often as its failures allow; give what came of it at last."""
        clock, may_renew = asyncio.get_running_loop().time, True
        for done in count():
            secret = self._sent = await self.secret()
            reply = await self._exchange.send(path, payload, secret, terms.max_bytes, told)
            if isinstance(reply, Failure) and reply.refuses_token and may_renew:
                may_renew = False  # once, whatever comes between
                renewed = self._sent = await self._renewed(secret)
                if renewed.reveal() != secret.reveal():
                    reply = await self._exchange.send(path, payload, renewed, terms.max_bytes, told)
            if isinstance(reply, Reply):
                return reply
            reply.error.attempts = done + 1
            reply.error.refused, reply.error.retry_after = reply.proof is Proof.REFUSED, reply.wished
            left = terms.until - clock()
            seconds = pause(reply.proof, terms.purpose, done=done, left=left, wished=reply.wished, most=terms.retries)
            timed_out = isinstance(reply.error, DeadlineError)
            if seconds is None or not self._health.budget.take(timed_out=timed_out):
                return reply
            await asyncio.sleep(seconds)
            if terms.until - clock() < LEAST_LEFT:  # a sleep may take longer: the machine slept too
                return reply
        raise AssertionError  # count() has no end

    async def _renewed(self, refused: Secret) -> Secret:
        """Ask the token's source for another one."""
        if isinstance(self.connection.token, Source):
            await asyncio.to_thread(self.connection.token.refused, refused)
        return await self.secret()

    async def login(self, email: str, password: Hidden) -> Secret:
        """
        Give a token for an email and a password (SERVICE.md 2).

        Raises
        ------
        FuncsError
            They are wrong, or the service gives no token; without the password.
        """
        self._look_whether_forked()
        payload = {"email": email, "password": password.reveal()}
        reply = await self._exchange.send(LOGIN_PATH, payload, password, _MAX_LOGIN_BYTES, Progress())
        del payload  # a debugger that shows a traceback's variables would show it
        if isinstance(reply, Failure):
            if isinstance(reply.error, AuthenticationError):
                raise AuthenticationError(
                    f"The email or the password is wrong for {self.connection.name}.", "Try again."
                )
            raise reply.error
        token = _token(reply.data)
        del reply  # as above
        if token is None:
            raise ProtocolError("The service took the login, but gave no token.", "Tell the operator of the service.")
        return token

    def cleaned(self, text: str) -> str:
        """Give a text without the token that was sent last."""
        return text if self._sent is None else redacted(text, self._sent)

    @property
    def user(self) -> str:
        """Whom the token that was sent last names; empty where none was, or it names nobody."""
        return "" if self._sent is None else self._sent.user

    async def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        await self._exchange.close()

    async def secret(self) -> Secret:
        """
        Give the token for one request, as its source has it now.

        Raises
        ------
        FuncsError
            There is none, or it has ended.
        """
        source, failed = self.connection.token, ""
        try:
            # In a thread: a source of the user's own may ask a person, a keyring or another service.
            secret = source() if isinstance(source, Constant) else await asyncio.to_thread(source)
        except FuncsError:
            raise
        except Exception as error:  # noqa: BLE001  # whatever a user's own source raises
            failed = type(error).__name__
        if failed:  # raised here and without the text: the error of a source may hold the token
            raise AuthenticationError(f"The source of the token failed ({failed}).", "Call it by itself to see why.")
        self.ends = secret.expires_at
        if self.ends <= time.time():
            raise AuthenticationError(f"The token for {self.connection.name} has expired.", NEW_TOKEN)
        return secret


def _token(body: bytes) -> Secret | None:
    """Give the token of a login's reply, where it has one."""
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError, ConfigError, KeyError):
        document: Any = msgspec.json.decode(body)
        return Secret(document["token"]) if isinstance(document, dict) else None
    return None


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()
