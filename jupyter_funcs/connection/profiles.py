"""Where the service is and what token goes there: the environment, and profiles (TOML) with their token sources."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from jupyter_funcs.errors import ConfigError
from jupyter_funcs.login import Login
from jupyter_funcs.secret import Secret
from jupyter_funcs.text import clip, did_you_mean, listed, quote
from jupyter_funcs.tokens import Constant, FromCommand, FromEnvironment, FromFile, FromFunction, Source
from jupyter_funcs.vault import FromKeyring

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "Connection",
    "Secret",
    "absent_config",
    "favourites_file",
    "history_file",
    "profile_names",
    "profiles_file",
    "resolve",
    "results_folder",
]

_LONGEST_PROFILE = 32
# The header that each kind of secret goes in, and where a profile may say that it comes from.
_HEADERS = {"token": "Authorization", "api_key": "X-Api-Key"}
_SOURCES = [f"{kind}_{origin}" for kind in _HEADERS for origin in ("env", "file", "command", "keyring")] + ["login"]
_KEYS = {"url", "keep", *_SOURCES}
_HOW = "A profile has url and one source: token_env, token_file, token_command, token_keyring (or api_key_…) or login."
_WHERE = "Give an address (https://…) or the name of a profile, and the token by token=…."
_UNPROVEN = "Set FUNCS_BASE_URL and FUNCS_TOKEN, write a profile, or use jf.connect(url, token=…) in Python."
_FILE = "jupyter_funcs.toml"
# What can be no token, which may stand in place of a variable's name by mistake: few digits, and those behind letters.
_WORD = r"(?:[A-Z]{1,16}|[a-z]{1,16})\d{0,2}"
_VARIABLE = re.compile(rf"{_WORD}(?:_(?:{_WORD}|\d{{1,4}}))*", re.ASCII)
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


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

    Without arguments and environment the profile is the one that the file names as its ``default``.

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
    given: str | Callable[[], str] | Source | None = api_key if token is None else token
    header = "Authorization" if api_key is None else "X-Api-Key"

    where = where or None
    if where is not None and not isinstance(where, str):
        raise ConfigError("What to connect to is given as text.", _WHERE)
    if where is None and given is None and (url := env.get("FUNCS_BASE_URL")):
        given, header = _from_environment(url, env)
        return _connection(url, given, header, "Set FUNCS_TOKEN or FUNCS_API_KEY.")
    if where is None and not (where := env.get("FUNCS_PROFILE")):
        without_address = given is not None or env.get("FUNCS_TOKEN") or env.get("FUNCS_API_KEY")
        where = None if without_address else _default(profiles_file(env))
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
            given, header = _from_environment(own, env)
        return replace(_connection(where, given, header, _UNPROVEN), where=_checked(where))
    return _from_profile(where, given, header, env)


def profiles_file(environment: Mapping[str, str]) -> Path:
    """Give the path of the file of profiles, which need not exist."""
    if path := environment.get("FUNCS_CONFIG"):
        return Path(path).expanduser()
    if folder := environment.get("JUPYTER_CONFIG_DIR"):
        return Path(folder).expanduser() / _FILE
    # As jupyter_core has it, which not every kernel's environment has.
    if environment.get("JUPYTER_PLATFORM_DIRS", "0").strip().lower() not in {"", "0", "no", "n", "false", "off"}:
        from platformdirs import user_config_path  # noqa: PLC0415  # only where it is asked for

        return user_config_path("Jupyter", appauthor=False) / _FILE
    try:
        return Path("~/.jupyter").expanduser() / _FILE
    except RuntimeError:  # a user without a home folder
        return Path("/nonexistent") / _FILE


def absent_config(environment: Mapping[str, str] | None = None) -> str:
    """Say that ``FUNCS_CONFIG`` names what is no file; empty where it names one, or is not set."""
    env = os.environ if environment is None else environment
    if not env.get("FUNCS_CONFIG"):
        return ""
    path = profiles_file(env)
    try:
        if path.is_file():
            return ""
        wrong = "is no file" if path.exists() else "does not exist"
    except OSError as error:
        wrong = f"cannot be read ({error.strerror})"
    return f"FUNCS_CONFIG names {quote(path, 200)}, which {wrong}"


def profile_names(environment: Mapping[str, str] | None = None) -> list[str]:
    """Give the names of the profiles, in the file's order; none where the file is absent or cannot be read."""
    try:
        profiles = _document(profiles_file(os.environ if environment is None else environment)).get("profiles")
    except (ConfigError, OSError):
        return []
    return list(profiles) if isinstance(profiles, dict) else []


def favourites_file(environment: Mapping[str, str]) -> Path:
    """Give the path of the file of favourite functions, which need not exist."""
    return _data_file("favourites.json", environment.get("FUNCS_FAVOURITES"))


def history_file(environment: Mapping[str, str]) -> Path:
    """Give the path of the file of runs, which need not exist: none are kept then."""
    return _data_file("history.sqlite", environment.get("FUNCS_HISTORY"))


def _data_file(name: str, given: str | None) -> Path:
    if given:
        return Path(given).expanduser()
    from platformdirs import user_data_path  # noqa: PLC0415  # as above

    folder = user_data_path("jupyter_funcs", appauthor=False)
    # A user without a home folder would get one that is named "~", wherever the kernel runs.
    return (folder if folder.is_absolute() else Path("/nonexistent")) / name


def results_folder(environment: Mapping[str, str]) -> Path:
    """Give the folder that results are kept in, which need not exist."""
    if path := environment.get("FUNCS_RESULTS_DIR"):
        return Path(path).expanduser()
    from platformdirs import user_cache_path  # noqa: PLC0415  # as above

    folder = user_cache_path("jupyter_funcs", appauthor=False)
    return (folder if folder.is_absolute() else Path("/nonexistent")) / "results"


def _default(path: Path) -> str | None:
    """Give the profile that is used where nothing names one."""
    try:
        if not path.is_file():
            return None
    except OSError:  # a home folder that may not even be looked at holds nothing of ours
        return None
    name = _document(path).get("default")
    if name is not None and not isinstance(name, str):
        raise ConfigError(f"The default in {path} is not the name of a profile.", 'Write default = "NAME".')
    return name


def _from_environment(url: str, env: Mapping[str, str]) -> tuple[Source | None, str]:
    if env.get("FUNCS_TOKEN") and env.get("FUNCS_API_KEY"):
        raise ConfigError(
            "FUNCS_TOKEN and FUNCS_API_KEY are both set.", "Unset the one that your service does not take."
        )
    name, header = ("FUNCS_API_KEY", "X-Api-Key") if env.get("FUNCS_API_KEY") else ("FUNCS_TOKEN", "Authorization")
    if not env.get(name):
        return None, header
    origin = _origin(url)

    def still() -> bool:
        # Whoever sets both variables anew means another service by them: its token must not come here.
        try:
            return _origin(env.get("FUNCS_BASE_URL", "")) == origin
        except ConfigError:
            return False

    return FromEnvironment(f"variable {name}", name, env, still), header


def _from_profile(
    name: str, given: str | Callable[[], str] | Source | None, header: str, env: Mapping[str, str]
) -> Connection:
    profile = _profile(name, profiles_file(env))
    key = next((key for key in _SOURCES if key in profile), None)
    if given is None and key is not None:
        base_url = _checked(profile["url"])
        kind = key.rpartition("_")[0]
        given, header = _source(key, profile, name, base_url, env), _HEADERS[kind or "token"]
    hint = "Give the profile token_env or another source, or connect(…, token=…)."
    return replace(_connection(profile["url"], given, header, hint, name), where=name)


def _source(key: str, profile: dict[str, Any], name: str, base_url: str, env: Mapping[str, str]) -> Source:
    value, label = profile[key], f"{key} of profile {quote(name)}"
    origin = key.rpartition("_")[2]
    if origin == "env":
        if not env.get(str(value)):
            what, it = f"The variable that profile {quote(name)} names in {key} is not set.", "it"
            if _VARIABLE.fullmatch(str(value)):
                what, it = f"The variable {value}, which profile {quote(name)} names in {key}, is not set.", value
            hint = f"Set {it} to your token before Jupyter starts, or name another in {profiles_file(env)}."
            raise ConfigError(what, hint)
        return FromEnvironment(label, str(value), env)
    if origin == "login":
        email = value if isinstance(value, str) else ""
        return Login(name, base_url, email, in_keyring=profile.get("keep") == "keyring")
    if origin == "command":
        return FromCommand(label, value)
    return FromFile(label, value) if origin == "file" else FromKeyring(label, base_url, value)


def _document(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        wrong = clip(str(error))
    # Out here, since the error of the reader holds what it read.
    raise ConfigError(f"The profiles in {path} cannot be read: {wrong}.", "Mend the file, or set FUNCS_CONFIG.")


def _profile(name: str, path: Path) -> dict[str, Any]:
    profiles = _document(path).get("profiles")
    known = profiles if isinstance(profiles, dict) else {}
    profile = known.get(name)
    if not isinstance(profile, dict):
        if len(name) > _LONGEST_PROFILE or "@" in name:  # a token, or an address with a password, in its place
            raise ConfigError(
                "There is no such profile; what was given is too long for one, or holds an @.",
                "If it is a token, have it replaced, for what is typed is kept; a name or an address goes here.",
            )
        if ":" in name or "/" in name:
            raise ConfigError(f"There is no profile {quote(name)}.", "An address begins with https:// or http://.")
        hint = did_you_mean(name, known) or f'Write it into {path}: [profiles.{name}] with url = "https://…".'
        raise ConfigError(f"There is no profile {quote(name)}.", hint)
    if wrong := _wrong_with(profile):
        raise ConfigError(f"Profile {quote(name)} in {path} {wrong}.", _HOW)
    return profile


def _wrong_with(profile: dict[str, Any]) -> str:
    """Say what is wrong with a profile; never with which value, for a token may stand there by mistake."""
    sources = [key for key in _SOURCES if key in profile]
    if unknown := profile.keys() - _KEYS:
        return f"has the unknown key {quote(min(unknown))}"
    if not isinstance(profile.get("url"), str):
        return "has no url"
    if len(sources) > 1:
        return f"names both {listed(sources, 'and')}"
    for key in sources:
        value = profile[key]
        if key.endswith("_command") and isinstance(value, list) and all(isinstance(word, str) for word in value):
            continue
        if key == "login" and value is True:
            continue
        if not key.endswith("_env") and not (isinstance(value, str) and value):
            return f"has a {key} that is no text"
    if "keep" in profile and (profile["keep"] != "keyring" or not isinstance(profile.get("login"), str)):
        return 'has a keep, which is only "keyring", beside a login with its email'
    return ""


def _connection(
    url: str, given: str | Callable[[], str] | Source | None, header: str, no_token: str, name: str | None = None
) -> Connection:
    base_url = _checked(url)
    if given is None:
        raise ConfigError(f"There is no token for {base_url}.", no_token)
    if isinstance(given, Source):
        source: Callable[[], Secret] = given
    elif isinstance(given, str):
        source = Constant(Secret(given))
    elif not callable(given):
        raise ConfigError("A token is given as text, or as a function that gives it.", _WHERE)
    else:
        source = FromFunction(given)
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
