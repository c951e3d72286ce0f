"""Where a token comes from: a function, an environment variable, a file or a command."""

from __future__ import annotations

import os
import shlex
import signal
import stat
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from jupyter_funcs.connection.secrets import Hidden, Secret
from jupyter_funcs.core.background import in_thread
from jupyter_funcs.core.errors import AuthenticationError, ConfigError
from jupyter_funcs.core.files import expanded, open_regular
from jupyter_funcs.core.text import quote
from jupyter_funcs.core.warn import warn

if TYPE_CHECKING:
    from collections.abc import Sequence


class SecretPlace(NamedTuple):
    """Where a request carries a secret: in a header, in its query or in a cookie."""

    name: str = "Authorization"
    prefix: str = "Bearer "
    where: str = "header"


Make = Callable[[str], Secret]
LogIn = Callable[[str, Hidden], Secret]  # with an email and a password
BASIC = "Basic "
COMMAND_SECONDS = 15.0
# A token is renewed this long before it expires, so that no run uses an expired one.
RENEW_SECONDS = 60.0
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_MAX_BYTES = 64 * 1024


def is_plain(url: str) -> bool:
    """Return whether others can read what is sent to an address."""
    parts = urlsplit(url)
    return parts.scheme == "http" and parts.hostname not in _LOOPBACK


def unencrypted(url: str) -> ConfigError:
    """Return the error for a secret that others could read."""
    origin = "://".join(urlsplit(url)[:2])
    return ConfigError(
        f"{origin} would send your token unencrypted.",
        "Use https://, or allow_http if you accept that; only this machine may be reached over http:// without it.",
    )


class TokenSource:
    """Returns the token for a request; called on any thread, and never asks the user."""

    label = "token"
    renews = False  # whether it can return a new token by itself
    header = "Authorization"  # in which the token is sent
    prefix: str | None = None  # before it there, if not as its scheme says

    def __init__(self, label: str, make: Make = Secret) -> None:
        self.label = label
        self._make = make

    def __call__(self) -> Secret:
        """Return the current token."""
        text = self._read()
        try:
            return self._make(text)
        except ConfigError as error:
            wrong = error.what

        del text  # or debuggers that show local variables would show it
        raise ConfigError(
            f"The {self.label}: {wrong}", "Fix it there. It is not shown here."
        )

    def reject(self, secret: Secret) -> None:
        """Learn that the service does not accept this token."""

    def ask_missing(self, login: LogIn) -> None:
        """Ask the user for what is missing; called on the user's thread."""

    def _read(self) -> str:
        raise NotImplementedError


class Credential(NamedTuple):
    """A secret of a request: where it comes from, where it goes, and the scheme of a document that asks for it."""

    source: TokenSource
    place: SecretPlace = SecretPlace()
    scheme: str = ""


class Constant(TokenSource):
    """A fixed token."""

    def __init__(self, secret: Secret) -> None:
        self._secret = secret

    def __call__(self) -> Secret:
        """Return the token."""
        return self._secret


class FromFunction(TokenSource):
    """A user's own function."""

    renews = True

    def __init__(self, function: Callable[[], str]) -> None:
        super().__init__("function that returns the token")
        self._function = function

    def _read(self) -> str:
        return self._function()


class FromEnvironment(TokenSource):
    """
    An environment variable, read for each request, so that a new token is used at once.

    If the variable is unset later, or no longer `applies` to this service, the token read last stays in use.
    """

    def __init__(
        self,
        label: str,
        name: str,
        make: Make = Secret,
        applies: Callable[[], bool] = lambda: True,
    ) -> None:
        super().__init__(label, make)
        self._name = name
        self._applies = applies
        self._last = super().__call__()

    def __call__(self) -> Secret:
        """Return the variable's token."""
        if self._read() and self._applies():
            self._last = super().__call__()
        return self._last

    def _read(self) -> str:
        return os.environ.get(self._name, "")


class FromFile(TokenSource):
    """A file, read for each request."""

    def __init__(self, label: str, path: str, make: Make) -> None:
        super().__init__(label, make)
        self._path = path
        self()
        mode = expanded(path).stat().st_mode
        if os.name == "posix" and mode & (stat.S_IRGRP | stat.S_IROTH):
            warn(
                f"Other users of this machine can read the {label}. To prevent that: chmod 600 {path}"
            )

    def _read(self) -> str:
        path = expanded(self._path)
        try:
            with open_regular(path) as file:
                return file.read(_MAX_BYTES).decode("utf-8-sig")
        except OSError as error:
            problem = error.strerror or type(error).__name__
        except UnicodeDecodeError:
            problem = "it is not UTF-8 text"

        raise ConfigError(
            f"Cannot read the {self.label}, {quote(path)}: {problem}.",
            "Fix the file or the profile.",
        )


class CachedToken(TokenSource):
    """A slow source, whose token stays in memory until the service rejects it or it is about to expire."""

    _cached: Secret | None = None

    renew_seconds = 0.0  # a new token is fetched this long before the old one expires

    def __init__(self, label: str, make: Make = Secret) -> None:
        super().__init__(label, make)
        self._lock = threading.Lock()

    def __call__(self) -> Secret:
        """Return the cached token, or a new one."""
        with self._lock:  # so that runs that start together share one token
            if (
                self._cached is None
                or self._cached.expires_at <= time.time() + self.renew_seconds
            ):
                self._cached = None
                self._cached = super().__call__()
            return self._cached

    def missing(self) -> AuthenticationError | None:
        """Return why there is no token; `None` if there is one."""
        try:
            self()
        except AuthenticationError as error:
            return error
        return None

    def cache(self, secret: Secret) -> None:
        """Use this token from now on."""
        with self._lock:
            self._cached = secret

    def reject(self, secret: Secret) -> None:
        """Forget this token, unless there is a newer one."""
        with self._lock:
            if self._cached is secret:
                self._cached = None


class FromCommand(CachedToken):
    """The output of a command, run without a shell and without input; its error output is never shown."""

    renews = True
    renew_seconds = RENEW_SECONDS

    def __init__(self, label: str, command: str | Sequence[str], make: Make) -> None:
        super().__init__(label, make)
        try:
            if isinstance(command, str):
                self._words = shlex.split(command)
            else:
                self._words = list(map(str, command))
        except ValueError:
            self._words = []

        if not self._words:
            raise ConfigError(
                f"Cannot run the {label}: it is not a command.",
                'Write ["program", "argument", …].',
            )

    def _read(self) -> str:
        try:
            return _output(self._words)
        except TimeoutError:
            problem = f"no answer within {COMMAND_SECONDS:g} s"
        except OSError as error:
            problem = (
                f"{quote(self._words[0])}: {error.strerror or type(error).__name__}"
            )
        except subprocess.CalledProcessError as error:
            problem = f"it ended with status {error.returncode}"
        except UnicodeDecodeError:
            problem = "its output is not UTF-8 text"
        except ValueError:
            problem = "it contains characters that a command cannot contain"

        raise AuthenticationError(
            f"The {self.label} returned no token: {problem}.",
            "Run it by itself to see why.",
        )


def _output(words: Sequence[str]) -> str:
    """Return a command's output."""
    process = subprocess.Popen(  # noqa: S603  # the user's own command, from their profile
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        # Programs may repeat their input there, including a token.
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )

    def read() -> tuple[bytes, int]:
        assert process.stdout is not None
        with process.stdout as pipe:
            written = pipe.read(_MAX_BYTES)
        return written, process.wait()

    try:
        written, status = in_thread(read, "token").result(COMMAND_SECONDS)
    except BaseException:
        end_session(process)
        process.poll()
        raise

    if status:
        raise subprocess.CalledProcessError(status, words)
    return written.decode("utf-8")


def end_session(process: Any, name: str = "SIGKILL") -> None:
    """Send a signal to a process that has a session of its own, and to its children, which may hold its pipes."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, getattr(signal, name))
        else:
            process.kill()
