"""A login as the source of a token: a password is asked for once, and its token kept in memory or in the keyring."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from jupyter_funcs import vault
from jupyter_funcs.errors import AuthenticationError, ConfigError
from jupyter_funcs.notices import warn
from jupyter_funcs.prompts import ask, ask_hidden
from jupyter_funcs.secret import Secret
from jupyter_funcs.text import quote
from jupyter_funcs.tokens import Kept

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_funcs.secret import Hidden


class Login(Kept):
    """
    A token that the service gives for an email and a password; neither is kept, the token in memory only.

    Parameters
    ----------
    profile
        The profile's name.
    base_url
        The service that it is for.
    email
        Who logs in; asked for when empty.
    in_keyring
        Whether the token is put into the keyring, for other kernels and the command line.
    """

    def __init__(self, profile: str, base_url: str, email: str, *, in_keyring: bool) -> None:
        super().__init__(f"login of profile {quote(profile)}")
        self.in_keyring = in_keyring
        self._profile, self._base_url, self.email = profile, base_url, email
        self._refused: Secret | None = None

    def ready(self, login: Callable[[str, Hidden], Secret]) -> None:
        """Log in, unless there is a token."""
        try:
            self()
        except AuthenticationError as error:
            missing = error
        else:
            return
        email = self.email or ask(f"Email for {self._base_url}: ", "the email to log in with", missing)
        password = ask_hidden(f"Password of {email} for {self._base_url}: ", f"the password of {email}", missing)
        try:
            self.log_in(email, password, login)
        except vault.VaultError as error:
            warn(
                f"The keyring cannot be used ({error}); the {self.label} is kept in memory and ends with this process."
            )

    def log_in(self, email: str, password: Hidden, login: Callable[[str, Hidden], Secret]) -> None:
        """Get a token for a password, and keep it; raises `VaultError` when the keyring does not."""
        secret = login(email, password)
        self.take(secret)
        if self.in_keyring:
            vault.write(self._base_url, self.email, secret)

    def refused(self, secret: Secret) -> None:
        """Forget this token, in the keyring too: the next login asks."""
        super().refused(secret)
        self._refused = secret
        if self.in_keyring:
            with contextlib.suppress(vault.VaultError):
                if vault.read(self._base_url, self.email) == secret.reveal():
                    vault.remove(self._base_url, self.email)

    def _read(self) -> str:
        if self.in_keyring:
            with contextlib.suppress(vault.VaultError, ConfigError):
                found = Secret(vault.read(self._base_url, self.email))
                was_refused = self._refused is not None and found.reveal() == self._refused.reveal()
                if found.expires_at > time.time() and not was_refused:
                    return found.reveal()
        raise AuthenticationError(
            f"You are not logged in, or no longer: {self.label}.",
            f"Log in with %funcs connect {self._profile}; in a shell: jupyter funcs login --profile {self._profile}.",
        )
