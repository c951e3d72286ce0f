"""Tokens that may need the user: a login with email and password, and the system's keyring."""

from __future__ import annotations

import getpass
import sys
import time
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_funcs.connection.secrets import Hidden, Secret
from jupyter_funcs.connection.tokens import CachedToken, LogIn
from jupyter_funcs.core.background import in_thread
from jupyter_funcs.core.errors import AuthenticationError, ConfigError, FuncsError
from jupyter_funcs.core.text import quote
from jupyter_funcs.core.warn import warn

if TYPE_CHECKING:
    from collections.abc import Callable


T = TypeVar("T")

_KEYRING_SECONDS = 1.5


class Login(CachedToken):
    """A token that the service returns for an email and a password; only the token is kept, in memory or keyring."""

    _rejected: Secret | None = None

    def __init__(self, profile: str, base_url: str, email: str, *, in_keyring: bool) -> None:
        super().__init__(f"login of profile {quote(profile)}")
        self.in_keyring = in_keyring
        self._profile, self._base_url, self.email = profile, base_url, email

    def ask_missing(self, login: LogIn) -> None:
        """Log in, unless there is a token."""
        if (missing := self.missing()) is None:
            return
        email = self.email or ask(f"Email for {self._base_url}: ", "the email to log in with", missing)
        password = ask_hidden(f"Password of {email} for {self._base_url}: ", f"the password of {email}", missing)
        try:
            self.log_in(email, password, login)
        except KeyringUnavailableError as error:
            warn(f"The keyring cannot be used ({error}). The {self.label} stays in memory and ends with this process.")

    def log_in(self, email: str, password: Hidden, login: LogIn) -> None:
        """Get a token for a password; raises `KeyringUnavailableError` if it can't be put into the keyring."""
        secret = login(email, password)
        self.cache(secret)
        if self.in_keyring:
            keyring_set(self._base_url, self.email, secret)

    def reject(self, secret: Secret) -> None:
        """Forget this token, in the keyring too, so that the next login asks."""
        super().reject(secret)
        self._rejected = secret
        if self.in_keyring:
            with suppress(KeyringUnavailableError):
                if keyring_get(self._base_url, self.email) == secret.reveal():
                    _use_keyring(lambda keyring: keyring.delete_password(_entry(self._base_url), self.email))

    def _read(self) -> str:
        if self.in_keyring:
            with suppress(KeyringUnavailableError, ConfigError):
                found = Secret(keyring_get(self._base_url, self.email))
                was_rejected = self._rejected is not None and found.reveal() == self._rejected.reveal()
                if found.expires_at > time.time() and not was_rejected:
                    return found.reveal()
        raise AuthenticationError(
            f"You are not logged in, or the login has expired: {self.label}.",
            f"Log in with %funcs connect {self._profile}; in a shell: jupyter funcs login --profile {self._profile}.",
        )


class FromKeyring(CachedToken):
    """An entry of the keyring; if the keyring can't be used, the user is asked for the token."""

    def __init__(self, label: str, base_url: str, user: str) -> None:
        super().__init__(label)
        self._base_url, self._user = base_url, user

    def ask_missing(self, login: LogIn) -> None:  # noqa: ARG002  # the base class's signature
        """Ask for the token if the keyring doesn't return it."""
        if (problem := self.missing()) is None:
            return
        prompt = f"{problem.what}\nToken (not shown, kept in memory): "
        token = ask_hidden(prompt, f"the token of the {self.label}", problem)
        self.cache(Secret(token.reveal()))

    def _read(self) -> str:
        try:
            found = keyring_get(self._base_url, self._user)
            problem = "has no such entry"
        except KeyringUnavailableError as error:
            found, problem = "", f"cannot be used ({error})"
        if not found:
            raise AuthenticationError(
                f"The keyring {problem}: {self.label}.",
                f"Add it: keyring set '{_entry(self._base_url)}' '{self._user}'",
            )
        return found


class KeyringUnavailableError(Exception):
    """The keyring can't be used. Says why in our words, because the keyring's own may contain secrets."""


def keyring_get(base_url: str, user: str) -> str:
    """Return a user's secret for an address from the keyring; empty if there is none."""
    return _use_keyring(lambda keyring: keyring.get_password(_entry(base_url), user)) or ""


def keyring_set(base_url: str, user: str, secret: Secret) -> None:
    """Put a token into the keyring; refuses a keyring that stores it as plain text."""

    def put(keyring: Any) -> None:
        used = keyring.get_keyring()
        for backend in getattr(used, "backends", None) or [used]:
            kind = type(backend)
            if kind.__module__.startswith("keyrings.alt") or "plain" in kind.__name__.lower():
                raise KeyringUnavailableError(f"{kind.__name__} stores secrets as plain text that can be read")
        keyring.set_password(_entry(base_url), user, secret.reveal())

    _use_keyring(put)


def _entry(base_url: str) -> str:
    # The address is part of the name, so that no token is sent to another service.
    return f"jupyter_funcs {base_url}"


def _use_keyring(work: Callable[[Any], T]) -> T:
    try:
        import keyring

        return in_thread(lambda: work(keyring), "token").result(_KEYRING_SECONDS)
    except KeyringUnavailableError as error:
        problem = str(error)
    except ModuleNotFoundError:
        problem = "not installed: pip install 'jupyter-funcs[keyring]'"
    except TimeoutError:
        problem = f"no answer within {_KEYRING_SECONDS:g} s; is it locked?"
    except Exception as error:  # noqa: BLE001  # each system's keyring raises its own errors
        problem = {"NoKeyringError": "this machine has none", "KeyringLocked": "it is locked"}.get(
            type(error).__name__, type(error).__name__
        )
    raise KeyringUnavailableError(problem)


def ask(prompt: str, what: str, otherwise: FuncsError | None = None) -> str:
    """Ask the user for a text; raise `otherwise` if nobody can answer."""
    return _ask(lambda: input(prompt), what, otherwise).reveal().strip()


def ask_hidden(prompt: str, what: str, otherwise: FuncsError | None = None) -> Hidden:
    """Ask for a text without showing it; as `ask`."""
    # Looked up in its module, where ipykernel replaces it while a cell runs.
    return _ask(lambda: getpass.getpass(prompt), what, otherwise)


def ask_password(user: str) -> Hidden:
    """Ask for a password, or read the first line of standard input if that isn't a terminal."""
    if sys.stdin is not None and not sys.stdin.isatty():
        answer = Hidden(sys.stdin.readline().rstrip("\r\n"))
        if answer.reveal():
            return answer
    return ask_hidden(f"Password of {user}: ", f"the password of {user}")


def _ask(show: Callable[[], str], what: str, otherwise: FuncsError | None) -> Hidden:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)  # where the answer would be shown, don't ask
            answer = Hidden(show())
    except (EOFError, OSError, NotImplementedError, getpass.GetPassWarning):  # the third: the front end has no input
        answer = None
    if answer is None:
        raise otherwise or ConfigError(
            f"Cannot ask for {what}: nobody can answer here.",
            "Provide the token in another way, for instance with token_env in the profile.",
        )
    if not answer.reveal().strip():
        raise ConfigError(f"Nothing was entered for {what}.", "Try again.")
    return answer
