"""Where a profile's token comes from: a variable, a file or a command; asked for each request."""

from __future__ import annotations

import os
import shlex
import signal
import stat
import subprocess
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from jupyter_funcs.errors import AuthenticationError, ConfigError
from jupyter_funcs.notices import warn
from jupyter_funcs.secret import Secret
from jupyter_funcs.text import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from jupyter_funcs.secret import Hidden

T = TypeVar("T")

COMMAND_SECONDS = 15.0
_LONGEST = 64 * 1024
_SOON = 60.0  # a command is asked anew this many seconds before its token ends, so that no run meets the end


class Source:
    """
    Gives the token for a request; it is called on any thread, and never asks a person.

    Parameters
    ----------
    label
        What it is in words, for messages: ``token_file of profile 'work'``.

    Attributes
    ----------
    renews
        Whether it gives a new token in time without anybody doing anything.
    """

    renews = False

    def __init__(self, label: str) -> None:
        self.label = label

    def __call__(self) -> Secret:
        """
        Give the token as it is now.

        Raises
        ------
        FuncsError
            There is none, or it cannot be one; names the profile and the source.
        """
        read = self._read()
        try:
            return Secret(read)
        except ConfigError as error:
            wrong = error.what
        del read  # as in `Secret`
        raise ConfigError(f"The {self.label}: {wrong}", "It is not shown here; mend it there.")

    def refused(self, secret: Secret) -> None:
        """Learn that the service does not take this token."""

    def ready(self, login: Callable[[str, Hidden], Secret]) -> None:
        """
        Ask the person for what is missing; called on their own thread.

        Parameters
        ----------
        login
            Gives a token for an email and a password.
        """

    def _read(self) -> str:
        raise NotImplementedError  # each source reads in its own way; this one is of none


class Constant:
    """A token that was given as it is: to ask for it takes no time."""

    def __init__(self, secret: Secret) -> None:
        self._give: Callable[[], Secret] = lambda: secret  # a closure hides it from vars()

    def __call__(self) -> Secret:
        """Give the token."""
        return self._give()


class FromFunction(Source):
    """A function of the user's own."""

    renews = True

    def __init__(self, function: Callable[[], str]) -> None:
        super().__init__("function that gives the token")
        self._function = function

    def _read(self) -> str:
        return self._function()


class FromEnvironment(Source):
    """
    A variable of the environment, read for each request, so that a new token is seen.

    Once it was read it may be unset, or no longer be meant for this service: then the token read last is given.
    """

    def __init__(self, label: str, name: str, env: Mapping[str, str], still: Callable[[], bool] = lambda: True) -> None:
        super().__init__(label)
        self._read = lambda: env.get(name, "")  # type: ignore[method-assign]  # a closure hides the environment
        self._still = still
        self._last = super().__call__()

    def __call__(self) -> Secret:
        """Give the variable's token."""
        if self._read() and self._still():
            self._last = super().__call__()
        return self._last


class FromFile(Source):
    """A file, read for each request."""

    def __init__(self, label: str, path: str) -> None:
        super().__init__(label)
        self._path = path
        self()
        mode = self._found().stat().st_mode
        if os.name == "posix" and mode & (stat.S_IRGRP | stat.S_IROTH):
            warn(f"The {label} can be read by others on this machine. Close it: chmod 600 {path}")

    def _found(self) -> Path:
        try:
            return Path(self._path).expanduser()
        except RuntimeError:  # no home folder is known
            return Path(self._path)

    def _read(self) -> str:
        path, problem = self._found(), ""
        try:
            # A pipe or a device would be waited for without end.
            if stat.S_ISREG(path.stat().st_mode):
                with path.open("rb") as file:
                    return file.read(_LONGEST).decode("utf-8-sig")
            problem = "it is no plain file"
        except OSError as error:
            problem = error.strerror or type(error).__name__
        except UnicodeDecodeError:
            problem = "it is no text"
        raise ConfigError(f"Cannot read the {self.label}, {quote(path)}: {problem}.", "Mend the file, or the profile.")


class Kept(Source):
    """A source that is slow: what it gave is kept in memory, until the service refuses it or it is about to end."""

    before_end = 0.0

    def __init__(self, label: str) -> None:
        super().__init__(label)
        self._kept: Secret | None = None
        self._lock = threading.Lock()

    def __call__(self) -> Secret:
        """Give the token that is kept, else a new one."""
        with self._lock:  # many runs that start at once wait for one answer
            if self._kept is None or self._kept.expires_at <= time.time() + self.before_end:
                self._kept = None
                self._kept = super().__call__()
            return self._kept

    def take(self, secret: Secret) -> None:
        """Keep a token that came in another way."""
        with self._lock:
            self._kept = secret

    def refused(self, secret: Secret) -> None:
        """Forget this token; one that came since is kept."""
        with self._lock:
            if self._kept is secret:
                self._kept = None


class FromCommand(Kept):
    """What a command writes; no shell reads it, it is asked nothing, and what it says of errors is not shown."""

    renews = True
    before_end = _SOON

    def __init__(self, label: str, command: str | Sequence[str]) -> None:
        super().__init__(label)
        try:
            self._words = shlex.split(command) if isinstance(command, str) else [str(word) for word in command]
        except ValueError:
            self._words = []
        if not self._words:
            raise ConfigError(f"Cannot run the {label}: it is no command.", 'Write ["program", "argument", …].')

    def _read(self) -> str:
        problem = ""
        try:
            output = _output(self._words)
        except TimeoutError:
            problem = f"no answer within {COMMAND_SECONDS:g} s"
        except OSError as error:
            problem = f"{quote(self._words[0])}: {error.strerror or type(error).__name__}"
        except ValueError:
            problem = "it holds characters that no command has"
        else:
            if isinstance(output, str):
                return output
            problem = "it writes no text" if output is None else f"it ended with status {output}"
        raise AuthenticationError(f"The {self.label} gave no token: {problem}.", "Run it by itself to see why.")


def _output(words: Sequence[str]) -> str | int | None:
    """Give what a command writes; its status where that is not 0, `None` for what is no text."""
    process = subprocess.Popen(  # noqa: S603  # the person's own command, from their own profile
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # programs repeat what they were given there, a token among it
        start_new_session=True,
    )

    def read() -> tuple[bytes, int]:
        assert process.stdout is not None
        with process.stdout as pipe:
            written = pipe.read(_LONGEST)
        return written, process.wait()

    try:
        written, status = within(COMMAND_SECONDS, read)
    except BaseException:
        _end(process)
        raise
    if status:
        return status
    try:
        return written.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _end(process: subprocess.Popen[bytes]) -> None:
    # With all that it started, which would hold the pipe open.
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except OSError:
        pass
    process.poll()


def within(seconds: float, work: Callable[[], T]) -> T:
    """
    Give what `work` gives, in a thread that is left behind when it takes longer: what hangs cannot be stopped.

    Raises
    ------
    TimeoutError
        The time has passed.
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001  # it is raised by who waits
            done.set_exception(error)

    threading.Thread(target=run, name="jupyter_funcs token", daemon=True).start()
    return done.result(seconds)
