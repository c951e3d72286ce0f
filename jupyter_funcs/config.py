"""Where the service is and what token goes there: environment, profiles (TOML), token sources, and `Secret`."""

from __future__ import annotations

import base64
import binascii
import math
import os
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit, urlunsplit

import msgspec

from jupyter_funcs.errors import ConfigError
from jupyter_funcs.text import did_you_mean, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_LONGEST_PROFILE = 32
_WHERE = "Give an address (https://…) or the name of a profile, and the token by token=…."
_UNPROVEN = "Set FUNCS_BASE_URL and FUNCS_TOKEN, write a profile, or use jf.connect(url, token=…) in Python."
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class Secret:
    """
    A token that shows itself to nobody but the one who asks for it by `reveal`.

    Its ``repr``, ``str`` and format are a mask, it has no ``__dict__``, and it refuses to be pickled, so that it gets
    into no traceback, log, saved notebook or ``%store``.

    Raises
    ------
    ConfigError
        The text cannot be a token: it is empty or holds white space or non-ASCII characters inside.
    """

    __slots__ = ("_reveal",)

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise ConfigError(f"A token is text, not {type(text).__name__}.", "Give it as the service issued it.")
        # A line break at the end is what a file or a clipboard adds; quotes are what a shell or an editor does.
        clean = text.strip().strip("\ufeff'\"‘’“”").strip()
        if not clean:
            raise ConfigError("The token is empty.", "Give the token as the service issued it.")
        if not clean.isascii() or not clean.isprintable() or " " in clean:
            raise ConfigError(
                "The token holds characters that no token has (a space, a line break or a typographic quote).",
                "Copy it again, as the service issued it; it is not shown here.",
            )
        # In a closure, where vars(), dir() and a debugger's variable list do not look.
        self._reveal: Callable[[], str] = lambda: clean

    def reveal(self) -> str:
        """Give the token itself; call it at the last moment and keep the result in no variable."""
        return self._reveal()

    @property
    def expires_at(self) -> float:
        """Seconds since 1970 at which a JWT ends, infinity for a token that is opaque or names no end."""
        parts = self.reveal().split(".")
        if len(parts) != 3:
            return math.inf
        try:
            payload = msgspec.json.decode(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        except (ValueError, binascii.Error, msgspec.DecodeError, RecursionError):
            return math.inf
        end = payload.get("exp") if isinstance(payload, dict) else None
        try:
            return float(end) if isinstance(end, (int, float)) and not isinstance(end, bool) else math.inf
        except OverflowError:
            return math.inf

    def __repr__(self) -> str:
        """Give a mask."""
        return "Secret('****')"

    __str__ = __repr__

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied to another process."""
        raise TypeError("A Secret is not pickled; give the token again where it is needed.")


@dataclass(frozen=True, slots=True)
class Connection:
    """
    Where requests go, and what proves who sends them.

    Attributes
    ----------
    name
        What a person calls it: the profile's name, else the address without its scheme.
    base_url
        The address, without a slash at its end.
    token
        Gives the token for one request; asked anew for each.
    header
        ``Authorization`` for a bearer token, ``X-Api-Key`` for an API key; one of the two is sent, never both.
    synthetic
        Whether the data are the embedded demo's, and so invented.
    where
        What `connect` is given to come here; empty for what the environment names, and for the demo.
    """

    name: str
    base_url: str
    token: Callable[[], Secret]
    header: str = "Authorization"
    synthetic: bool = False
    where: str = ""


def resolve(
    where: str | None = None,
    token: str | Callable[[], str] | None = None,
    api_key: str | None = None,
    *,
    environment: Mapping[str, str] | None = None,
) -> Connection | None:
    """
    Find the connection: the arguments, else the environment, else a profile, else ``None`` for the embedded demo.

    Parameters
    ----------
    where
        An address (``https://…``) or the name of a profile.
    token
        A bearer token, or a callable that gives one and is asked for each request.
    api_key
        An API key, sent as ``X-Api-Key`` in place of the token.
    environment
        ``FUNCS_BASE_URL`` with ``FUNCS_TOKEN`` or ``FUNCS_API_KEY``; ``FUNCS_PROFILE``; ``FUNCS_CONFIG`` for another
        file of profiles. `os.environ` by default. A token of the environment goes to no address but that of
        ``FUNCS_BASE_URL``.

    Raises
    ------
    ConfigError
        An address is not usable, a profile is absent, or there is a token but nowhere to send it.
    """
    env = os.environ if environment is None else environment
    if token is not None and api_key is not None:
        raise ConfigError("A token and an API key were both given.", "Give the one that your service takes.")
    given: str | Callable[[], str] | None = api_key if token is None else token
    header = "Authorization" if api_key is None else "X-Api-Key"

    where = where or None
    if where is not None and not isinstance(where, str):
        raise ConfigError("What to connect to is given as text.", _WHERE)
    if where is None and given is None and (url := env.get("FUNCS_BASE_URL")):
        given, header = _from_environment(env)
        return _connection(url, given, header, "Set FUNCS_TOKEN or FUNCS_API_KEY.")
    where = where or env.get("FUNCS_PROFILE")
    if not where:
        if given is not None or env.get("FUNCS_TOKEN") or env.get("FUNCS_API_KEY"):
            raise ConfigError(
                "There is a token, but no address to send it to.",
                "Give the address to connect(), or set FUNCS_BASE_URL.",
            )
        return None
    if "://" in where:
        own = env.get("FUNCS_BASE_URL")
        if given is None and own and _origin(where) == _origin(own):
            given, header = _from_environment(env)
        return replace(_connection(where, given, header, _UNPROVEN), where=_checked(where))
    return _from_profile(where, given, header, env)


def profiles_file(environment: Mapping[str, str]) -> Path:
    """Give the path of the file of profiles, which need not exist."""
    if path := environment.get("FUNCS_CONFIG"):
        return Path(path).expanduser()
    from platformdirs import user_config_path  # noqa: PLC0415  # only where no path was given

    return user_config_path("jupyter_funcs") / "config.toml"


def _from_environment(env: Mapping[str, str]) -> tuple[str | None, str]:
    if env.get("FUNCS_TOKEN") and env.get("FUNCS_API_KEY"):
        raise ConfigError(
            "FUNCS_TOKEN and FUNCS_API_KEY are both set.", "Unset the one that your service does not take."
        )
    if key := env.get("FUNCS_API_KEY"):
        return key, "X-Api-Key"
    return env.get("FUNCS_TOKEN"), "Authorization"


def _from_profile(name: str, given: str | Callable[[], str] | None, header: str, env: Mapping[str, str]) -> Connection:
    profile = _profile(name, profiles_file(env))
    for key, its_header in (("token_env", "Authorization"), ("api_key_env", "X-Api-Key")):
        if given is None and (variable := profile.get(key)):
            given, header = env.get(str(variable)), its_header
            if not given:
                # The name is not shown: a token may stand there by mistake.
                what = f"The variable that profile {quote(name)} names in {key} is not set."
                raise ConfigError(what, "Set it, or name the one that holds the token.")
    hint = "Give the profile token_env, or connect(…, token=…)."
    return replace(_connection(profile["url"], given, header, hint, name), where=name)


def _profile(name: str, path: Path) -> dict[str, Any]:
    try:
        profiles = tomllib.loads(path.read_text("utf-8")).get("profiles")
    except FileNotFoundError:
        profiles = None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(
            f"The profiles in {path} cannot be read: {error}.", "Mend the file, or set FUNCS_CONFIG."
        ) from None
    known = profiles if isinstance(profiles, dict) else {}
    profile = known.get(name)
    if not isinstance(profile, dict):
        if len(name) > _LONGEST_PROFILE or "@" in name:  # a token, or an address with a password, in its place
            raise ConfigError("There is no such profile; what was given is too long for one, or holds an @.", _WHERE)
        hint = did_you_mean(name, known) or f'Write it into {path}: [profiles.{name}] with url = "https://…".'
        raise ConfigError(f"There is no profile {quote(name)}.", hint)
    wrong = ""
    if unknown := profile.keys() - {"url", "token_env", "api_key_env"}:
        wrong = f"has the unknown key {quote(min(unknown))}"
    elif not isinstance(profile.get("url"), str):
        wrong = "has no url"
    elif {"token_env", "api_key_env"} <= profile.keys():
        wrong = "names both a token and an API key"
    if wrong:
        raise ConfigError(
            f"Profile {quote(name)} in {path} {wrong}.", "A profile has url, and token_env or api_key_env."
        )
    return profile


def _connection(
    url: str, given: str | Callable[[], str] | None, header: str, no_token: str, name: str | None = None
) -> Connection:
    base_url = _checked(url)
    if given is None:
        raise ConfigError(f"There is no token for {base_url}.", no_token)
    if isinstance(given, str):
        secret = Secret(given)
        source: Callable[[], Secret] = lambda: secret  # noqa: E731  # a closure hides it from vars()
    elif not callable(given):
        raise ConfigError("A token is given as text, or as a function that gives it.", _WHERE)
    else:
        asked = given
        source = lambda: Secret(asked())  # noqa: E731  # as above
    return Connection(name or base_url.partition("://")[2], base_url, source, header)


def _checked(url: str) -> str:
    url = url.strip()
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        # Not named: a broken address may hold a password that was not recognised as one.
        raise ConfigError("The address of the service cannot be read.", "Give it as https://host.") from None
    if parts.username or parts.password:
        raise ConfigError(
            f"The address {parts.scheme}://****@{host} holds a user name or a password.",
            "Leave them out of the address and give a token.",
        )
    if parts.scheme not in {"http", "https"} or not host or not url.isprintable() or " " in url:
        raise ConfigError(f"{quote(url)} is not an address of a service.", "Give it as https://host.")
    if parts.scheme == "http" and host not in _LOOPBACK:
        raise ConfigError(
            f"http://{host} would send your token unencrypted.", "Use https://, which only this machine may do without."
        )
    netloc = f"[{host}]" if ":" in host else host
    return urlunsplit((parts.scheme, f"{netloc}:{port}" if port else netloc, parts.path.rstrip("/"), "", ""))


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(_checked(url))
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}[parts.scheme]
