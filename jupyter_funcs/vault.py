"""The system's keyring, where the extra is installed: bounded in time, and never a file that anybody can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_funcs.errors import AuthenticationError
from jupyter_funcs.prompts import ask_hidden
from jupyter_funcs.secret import Secret
from jupyter_funcs.tokens import Kept, within

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_funcs.secret import Hidden

T = TypeVar("T")

# A person is asked in its place within 2 s.
SECONDS = 1.5
INSTALL = "pip install 'jupyter-funcs[keyring]'"


class VaultError(Exception):
    """The keyring cannot be used; says why in a few words of ours, since its own may hold what it keeps."""


def service_of(base_url: str) -> str:
    """Give the name under which the keyring has what goes to an address; by it no token goes to another."""
    return f"jupyter_funcs {base_url}"


def read(base_url: str, user: str) -> str:
    """Give what the keyring has for a user of a service, the empty text where it has nothing."""
    return _ask(lambda keyring: keyring.get_password(service_of(base_url), user)) or ""


def write(base_url: str, user: str, secret: Secret) -> None:
    """Put a token into the keyring; raises `VaultError` for one that keeps it where it can be read."""

    def put(keyring: Any) -> None:
        used = keyring.get_keyring()
        for backend in getattr(used, "backends", None) or [used]:
            kind = type(backend)
            if kind.__module__.startswith("keyrings.alt") or "plain" in kind.__name__.lower():
                raise VaultError(f"{kind.__name__} keeps secrets in a file that can be read")
        keyring.set_password(service_of(base_url), user, secret.reveal())

    _ask(put)


def remove(base_url: str, user: str) -> None:
    """Take a token out of the keyring."""
    _ask(lambda keyring: keyring.delete_password(service_of(base_url), user))


def _ask(work: Callable[[Any], T]) -> T:
    try:
        import keyring  # noqa: PLC0415  # an extra; the system's is looked for on first use, which is what may hang

        return within(SECONDS, lambda: work(keyring))
    except VaultError as error:
        problem = str(error)
    except ModuleNotFoundError:
        problem = f"not installed: {INSTALL}"
    except TimeoutError:
        problem = f"no answer within {SECONDS:g} s; is it locked?"
    except Exception as error:  # noqa: BLE001  # each system's keyring has errors of its own
        problem = {"NoKeyringError": "this machine has none", "KeyringLocked": "it is locked"}.get(
            type(error).__name__, type(error).__name__
        )
    raise VaultError(problem)


class FromKeyring(Kept):
    """
    An entry of the keyring; where that cannot be used the person is asked, and the token kept in memory.

    Parameters
    ----------
    label
        As of `Source`.
    base_url
        The service that it is for.
    user
        Under which name the keyring has it.
    """

    def __init__(self, label: str, base_url: str, user: str) -> None:
        super().__init__(label)
        self._base_url, self._user = base_url, user

    def ready(self, login: Callable[[str, Hidden], Secret]) -> None:  # noqa: ARG002  # of the same form as a login's
        """Ask for the token when the keyring does not give it."""
        try:
            self()
        except AuthenticationError as error:
            problem = error
        else:
            return
        prompt = f"{problem.what}\nToken (not shown, kept in memory): "
        given = ask_hidden(prompt, f"the token of the {self.label}", problem)
        self.take(Secret(given.reveal()))

    def _read(self) -> str:
        try:
            found = read(self._base_url, self._user)
            problem = "has no such entry"
        except VaultError as error:
            found, problem = "", f"cannot be used ({error})"
        if not found:
            raise AuthenticationError(
                f"The keyring {problem}: {self.label}.",
                f"Put it there: keyring set '{service_of(self._base_url)}' '{self._user}'",
            )
        return found
