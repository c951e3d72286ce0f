"""Which service to use, with which token: from arguments, the environment or a profile in a TOML file."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from jupyter_core.paths import jupyter_config_dir

from jupyter_funcs.connection.login import FLOWS, FromKeyring, Login, OAuth, ServerLogin
from jupyter_funcs.connection.secrets import ClientSecret, NoSecret, Password, Secret
from jupyter_funcs.connection.tokens import (
    Constant,
    Credential,
    FromCommand,
    FromEnvironment,
    FromFile,
    FromFunction,
    Make,
    SecretPlace,
    TokenSource,
    is_plain,
    unencrypted,
)
from jupyter_funcs.core.errors import ConfigError
from jupyter_funcs.core.files import expanded, read_toml
from jupyter_funcs.core.json_decoding import only
from jupyter_funcs.core.text import did_you_mean, listed, quote
from jupyter_funcs.core.warn import warn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_Table = dict[str, Any]  # of a TOML file
_MAX_PROFILE_NAME = 32
# The variable of each kind of secret, and the keys of a profile that say where it comes from.
_VARIABLES = {"FUNCS_TOKEN": "token", "FUNCS_API_KEY": "api_key"}
_HEADERS = {"token": "Authorization", "api_key": "X-Api-Key"}
_ORIGINS = ("env", "file", "command", "keyring")
_SOURCES = [f"{kind}_{origin}" for kind in _HEADERS for origin in _ORIGINS] + ["login"]
_KEYS = {
    "url",
    "file",
    "keep",
    "kind",
    "timeout",
    "allow_server",
    "allow_http",
    "server",
    "auth",
    "synonyms",
    *_SOURCES,
}
_KEYS_BY_TARGET = {
    "": _KEYS,
    "module": {"kind", "timeout", "synonyms", "module"},
    "command": {"kind", "timeout", "synonyms", "command", "env"},
}
# The keys of a scheme in a profile's `auth`, and what each of its secrets is used with.
_USED_WITH = {"password": "user", "client_secret": "client_id"}
_AUTH_SOURCES = [
    f"{kind}_{origin}" for kind in ("token", *_USED_WITH) for origin in _ORIGINS
]
# Those of the client at the provider of an MCP server, which says the rest.
_CLIENT_KEYS = {
    "client_id",
    "redirect_port",
    *(f"client_secret_{origin}" for origin in _ORIGINS),
}
_AUTH_VARIABLE = "FUNCS_AUTH_"  # and the name of a scheme
# What a program needs of the environment. Most of the rest, such as tokens, is for others.
_INHERITED = re.compile(
    r"(?ia)HOME|LOGNAME|PATH|SHELL|USER|LANG|LANGUAGE|LC_\w+|TZ|TE?MP|TMPDIR|(?:HTTPS?|ALL|NO)_PROXY"
    r"|\w*SSL_CERT_(?:FILE|DIR)|\w+_CA_BUNDLE|NODE_EXTRA_CA_CERTS"
    r"|XDG_\w+_(?:HOME|DIRS?)|VIRTUAL_ENV|CONDA_PREFIX|PYTHON(?:PATH|HOME|UTF8|IOENCODING)|(?:DYLD|LD)_\w*LIBRARY_PATH"
    r"|(?:LOCAL)?APPDATA|HOMEDRIVE|HOMEPATH|PATHEXT|PROCESSOR_ARCHITECTURE|SYSTEM(?:DRIVE|ROOT)|USERNAME|USERPROFILE"
    r"|COMSPEC|WINDIR|(?:COMMON)?PROGRAM(?:DATA|FILES|W6432)(?:\(X86\))?|ALLUSERSPROFILE|NUMBER_OF_PROCESSORS|OS"
)
_KINDS = ("service", "openapi", "mcp", "python")
_PROFILE_HINT = (
    "A profile has url (or file) and one of token_env, token_file, token_command, token_keyring (or api_key_…), login; "
    "also kind, keep, timeout, server, allow_server, allow_http, auth, synonyms. "
    'With kind = "mcp" it may have command and env; with kind = "python", it has module.'
)
_DOCUMENTS = (".json", ".yaml", ".yml")
NO_TOKEN = Constant(NoSecret())
_CONNECT_HINT = (
    "Pass an address (https://…) or the name of a profile, and the token as token=…."
)
_FILE = "jupyter_funcs.toml"
# A variable's name that can't be a token written there by mistake: few digits, and only after letters.
_WORD = r"(?:[A-Z]{1,16}|[a-z]{1,16})\d{0,2}"
_VARIABLE = re.compile(rf"(?a){_WORD}(?:_(?:{_WORD}|\d{{1,4}}))*")


@dataclass(frozen=True)
class Connection:
    """
    Where requests go, and with which token.

    `kind` is that of the source, empty until it is detected. `target` is what a source without an address runs: a
    Python module, functions, or the command of a server. `allow_server` has the other origins that a document may
    name, or one's own deployment of it; `server` is the one of its servers, or the values of their variables.
    `auth` has the sources of its schemes by `auth_name`. `location` is the file of a document, or the address with
    all that `base_url` leaves out. `env` names the variables that a command gets beside those that all get. `keep`
    is whether the service keeps runs unless told, and `timeout` how many seconds they may take. `synonyms` are
    other words of each word that is searched.
    """

    name: str
    base_url: str
    token: TokenSource
    header: str = "Authorization"
    synthetic: bool = False
    where: str = ""
    kind: str = "service"
    target: object = None
    allow_server: tuple[str, ...] = ()
    location: str = ""
    env: tuple[str, ...] = ()
    server: str | tuple[tuple[str, str], ...] = ""
    allow_http: bool = False
    auth: Mapping[str, TokenSource] = field(default_factory=dict)
    keep: bool = False
    timeout: float = 0.0
    synonyms: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def credentials(self) -> tuple[Credential, ...]:
        """The token, in the place where it goes unless a document says otherwise."""
        prefix = "Bearer " if self.header == "Authorization" else ""
        return (Credential(self.token, SecretPlace(self.header, prefix)),)

    @property
    def options(self) -> dict[str, Any]:
        """The options of `connect` that were passed in Python; none if a profile has them."""
        server = self.server if isinstance(self.server, str) else dict(self.server)
        allowed: Any = [*self.allow_server]
        if len(allowed) == 1:
            [allowed] = allowed
        passed = {
            "allow_server": allowed,
            "server": server,
            "allow_http": self.allow_http,
        }
        return {
            name: value
            for name, value in passed.items()
            if value and self.where != self.name
        }

    @property
    def place(self) -> list[Any]:
        """All of it that decides where an answer comes from, as JSON values."""
        command = None
        if self.kind == "mcp" and isinstance(self.target, list | tuple):
            command = list(map(str, self.target))
        return [
            self.kind,
            self.base_url,
            self.location,
            self.allow_server,
            self.server,
            self.synthetic,
            command,
        ]


def resolve(  # noqa: PLR0913  # what `connect` takes
    where: object = None,
    token: str | Callable[[], str] | None = None,
    api_key: str | None = None,
    *,
    allow_server: str | Sequence[str] = "",
    server: str | Mapping[str, str] = "",
    allow_http: bool = False,
) -> Connection | None:
    """
    Return the connection from the arguments, the environment or a profile; ``None`` for the embedded demo.

    Without arguments and environment, the ``default`` of the profiles' file is used.
    """
    source = _passed(token, api_key)
    if isinstance(where, ModuleType | list | tuple) or (
        isinstance(where, str) and where.startswith(("python:", "["))
    ):
        connection: Connection | None = _python(where, source)
    elif file := _file(where):
        connection = _document(file, source)
    else:
        connection = _resolved(where, source)

    passed: dict[str, Any] = {}
    if allow_server:
        passed["allow_server"] = _addresses(allow_server)
    if server:
        passed["server"] = _server(server)
    if passed and (connection is None or connection.kind not in {"openapi", ""}):
        raise ConfigError(
            "allow_server and server choose the server of an OpenAPI document.",
            "Leave them out, or pass a document.",
        )

    if connection is None:
        return None
    connection = replace(
        connection, **passed, allow_http=allow_http or connection.allow_http
    )
    _note_plain(connection)
    return connection


def _note_plain(connection: Connection) -> None:
    """Refuse to send a secret unencrypted, or warn that others can read what is sent."""
    has_secrets = connection.token is not NO_TOKEN or connection.auth
    for address in filter(is_plain, (connection.base_url, *connection.allow_server)):
        if has_secrets and not connection.allow_http:
            raise unencrypted(address)
        warn(
            f"{address} is not encrypted: others on the way can read and change what is sent."
        )


def _passed(
    token: str | Callable[[], str] | None, api_key: str | None
) -> TokenSource | None:
    if token is None:
        return None if api_key is None else _source(api_key, "api_key")
    if api_key is not None:
        raise ConfigError(
            "Both a token and an API key were passed.",
            "Pass the one that your service accepts.",
        )

    return _source(token, "token")


def _server(choice: str | Mapping[str, str]) -> str | tuple[tuple[str, str], ...]:
    """Return a choice of a server, or values of variables, as a connection holds it."""
    if isinstance(choice, str):
        return choice
    return tuple((str(name), str(value)) for name, value in choice.items())


def _addresses(allowed: str | Sequence[str]) -> tuple[str, ...]:
    """Return the addresses in `allow_server`, which may be one."""
    if isinstance(allowed, str):
        allowed = [allowed]
    return tuple(map(_normalized, allowed))


def _file(where: object) -> Path | None:
    """Return the file that a path, or a text that isn't the name of a profile, names."""
    if isinstance(where, os.PathLike):
        return Path(os.fsdecode(where))
    if (
        isinstance(where, str)
        and "://" not in where
        and where.lower().endswith(_DOCUMENTS)
    ):
        path = expanded(where)
        with suppress(OSError, ValueError):
            return path if path.is_file() else None

    return None


def _resolved(where: object, source: TokenSource | None) -> Connection | None:
    """Return the connection to an address or by a profile, those of the environment unless told; ``None`` without."""
    if not isinstance(where, str | None):
        raise ConfigError(
            f"The service must be text, not {type(where).__name__}.", _CONNECT_HINT
        )

    own = os.environ.get("FUNCS_BASE_URL")
    if own and not where and source is None:
        return _own(own)
    has_token = source is not None or any(map(os.environ.get, _VARIABLES))
    name = where or os.environ.get("FUNCS_PROFILE")
    if not name and has_token:
        raise ConfigError(
            "There is a token, but no address to send it to.",
            "Pass the address to connect(), or set FUNCS_BASE_URL.",
        )

    name = name or _default_profile()
    if not name:
        return None
    if "://" in name:
        return _at_address(name, own, source)
    return _from_profile(name, source)


def _own(url: str) -> Connection:
    """Return the connection to the service that the environment names."""
    auth = _auth_from_environment(url)
    source = _from_environment(url) or (NO_TOKEN if auth else None)
    return replace(
        _connection(url, source, "Set FUNCS_TOKEN or FUNCS_API_KEY."), auth=auth
    )


def _at_address(name: str, own: str | None, source: TokenSource | None) -> Connection:
    """Return the connection to an address, with the secrets of the environment if it is the one that this names."""
    auth = {}
    if own and source is None and _origin(name) == _origin(own):
        source = _from_environment(own)
        auth = _auth_from_environment(own)

    # Without a token it may be a document for everybody.
    connection = _connection(name, source or NO_TOKEN, "")
    return replace(connection, where=connection.location, auth=auth)


def profiles_file() -> Path:
    """Return the path of the profiles' file, which may not exist: ``FUNCS_CONFIG``, else beside Jupyter's own files."""
    if path := os.environ.get("FUNCS_CONFIG"):
        return expanded(path)
    with suppress(RuntimeError):  # a user without a home folder
        return expanded(jupyter_config_dir()) / _FILE
    return Path("/nonexistent") / _FILE


def config_problem() -> str:
    """Return what is wrong with the file that ``FUNCS_CONFIG`` names; empty if it is a file, or not set."""
    if not os.environ.get("FUNCS_CONFIG"):
        return ""
    path = profiles_file()
    try:
        if path.is_file():
            return ""
        wrong = "is not a file" if path.exists() else "does not exist"
    except OSError as error:
        wrong = f"cannot be read ({error.strerror})"

    return f"FUNCS_CONFIG names {quote(path, 200)}, which {wrong}"


def profile_names() -> list[str]:
    """Return the names of the profiles in the file's order; none if it is missing or can't be read."""
    with suppress(ConfigError, OSError):
        return list(only(dict, _read_toml(profiles_file()).get("profiles")))
    return []


def _default_profile() -> str | None:
    """Return the name of the default profile, if the file has one."""
    path = profiles_file()
    try:
        if path.is_dir() or not path.exists():
            return None
    except OSError:  # a home folder without read permission
        return None

    name = _read_toml(path).get("default")
    if name is not None and not isinstance(name, str):
        raise ConfigError(
            f"The default in {path} is not the name of a profile.",
            'Write default = "NAME".',
        )

    return name


def _from_environment(url: str) -> TokenSource | None:
    """Return the token for the service that the environment names, if it has one."""
    names = [name for name in _VARIABLES if os.environ.get(name)]
    if len(names) > 1:
        raise ConfigError(
            f"{listed(names, 'and')} are both set.",
            "Unset the one that your service does not accept.",
        )

    if not names:
        return None
    [name] = names
    _origin(url)  # raises if it has none
    source = _variable(name, url)
    source.header = _HEADERS[_VARIABLES[name]]
    return source


def _auth_from_environment(url: str) -> dict[str, TokenSource]:
    """Return the secrets that the environment has for the schemes of a document."""
    names = [
        name
        for name, text in os.environ.items()
        if name.startswith(_AUTH_VARIABLE) and text
    ]
    return {name.removeprefix(_AUTH_VARIABLE): _variable(name, url) for name in names}


def _variable(name: str, url: str) -> TokenSource:
    # If both variables are changed, the new token belongs to another service and must not be sent here.
    def applies() -> bool:
        return same_origin(os.environ.get("FUNCS_BASE_URL", ""), url)

    return FromEnvironment(f"variable {name}", name, applies=applies)


def auth_name(scheme: str) -> str:
    """Return a scheme's name as a connection's `auth` and the variables of the environment have it."""
    return re.sub(r"\W", "_", scheme, flags=re.ASCII).upper()


def _from_profile(name: str, source: TokenSource | None) -> Connection:
    profile = _read_profile(name, profiles_file())
    if profile.get("kind") == "python":
        connection = _python(f"python:{profile['module']}", source)
    elif "command" in profile:
        target = tuple(profile["command"])
        env = tuple(profile.get("env", ()))
        connection = Connection(
            name, f"mcp:{name}", NO_TOKEN, kind="mcp", target=target, env=env
        )
        command_environment(connection)  # raises if a variable isn't set
    else:
        connection = _addressed(profile, name, source)

    return replace(
        connection,
        name=name,
        where=name,
        timeout=profile.get("timeout", 0.0),
        synonyms=profile.get("synonyms", {}),
    )


def _addressed(profile: _Table, name: str, source: TokenSource | None) -> Connection:
    """Return the connection of a profile with an address or a file."""
    kind = profile.get("kind", "")
    url = str(profile.get("file", profile.get("url")))
    file = profiles_file().absolute().parent / expanded(url)
    is_file = "file" in profile or (kind == "openapi" and "://" not in url)
    address = file.as_uri() if is_file else _normalized(url)
    hint = "Add token_env or another source to the profile, or use connect(…, token=…)."
    allow_server = _addresses(profile.get("allow_server", ()))
    auth = {
        auth_name(scheme): _scheme_source(scheme, table, name, address, allow_server)
        for scheme, table in profile.get("auth", {}).items()
    }
    source = source or _profile_source(profile, name, address, auth)
    if auth:
        source = source or NO_TOKEN
    if is_file:
        connection = _document(file, source)
    else:
        connection = _connection(url, source, hint, kind)

    return replace(
        connection,
        allow_server=allow_server,
        server=_server(profile.get("server", "")),
        allow_http=profile.get("allow_http", False),
        auth=auth,
        keep=profile.get("keep") is True,
    )


def _profile_source(
    profile: _Table, name: str, address: str, auth: dict[str, Any]
) -> TokenSource | None:
    """Return where the token of a profile comes from; ``None`` if it doesn't say."""
    in_keyring = profile.get("keep") == "keyring"
    if (
        profile.get("login") is True
        and _kind_of(address, profile.get("kind", "")) == "mcp"
    ):
        client = auth.pop("LOGIN", None)
        return ServerLogin(name, address, client, in_keyring=in_keyring)

    if "login" in profile:
        return Login(name, address, only(str, profile["login"]), in_keyring=in_keyring)
    for key in _SOURCES:
        if key in profile:
            return _token_source(key, profile[key], f"profile {quote(name)}", address)

    return None


def command_environment(connection: Connection) -> dict[str, str]:
    """Return the variables that the command of a profile gets: what programs need, and what the profile names."""
    label = f"env of profile {quote(connection.name)}"
    needed = {
        name: value for name, value in os.environ.items() if _INHERITED.fullmatch(name)
    }
    return needed | {name: _text(name, label) for name in connection.env}


def _text(name: str, label: str) -> str:
    """Return the text of a variable that must be set."""
    if text := os.environ.get(name):
        return text
    what = f"The variable in {label} is not set."
    if _VARIABLE.fullmatch(name):
        what = f"The variable {name} in {label} is not set."
    else:
        name = "it"

    raise ConfigError(
        what,
        f"Set {name} to its value before Jupyter starts, or name another in {profiles_file()}.",
    )


def _python(
    functions: str | ModuleType | Sequence[Callable[..., Any]],
    token: TokenSource | None,
) -> Connection:
    """Return the connection to a module, also as ``python:NAME``, or to functions."""
    if token:
        raise ConfigError(
            "Python functions take no token.", "Leave out token and api_key."
        )

    target = functions
    where = ""
    if isinstance(functions, ModuleType):
        name = functions.__name__
    elif isinstance(functions, str):
        target = name = functions.removeprefix("python:").strip()
        if name.startswith("["):
            raise ConfigError(
                f"The functions {quote(name)} were given in Python and stay in that process.",
                "Put them into a module, and connect to the module or to a profile that names it.",
            )
    else:
        _check_functions(functions)
        modules = {str(getattr(function, "__module__", "")) for function in functions}
        name = modules.pop() if len(modules) == 1 else "functions"
        target = tuple(functions)
        where = f"[{', '.join(getattr(function, '__name__', 'function') for function in functions)}]"

    address = f"python:{name}"
    return Connection(
        name, address, NO_TOKEN, where=where or address, kind="python", target=target
    )


def _check_functions(functions: Sequence[object]) -> None:
    wrong = [quote(function) for function in functions if not callable(function)]
    if wrong or not functions:
        raise ConfigError(
            f"jf.connect takes a list of functions, not {[*wrong, 'an empty list'][0]}.",
            "For example jf.connect([f, g]).",
        )


def _scheme_source(
    scheme: str, table: _Table, name: str, base_url: str, allowed: Sequence[str]
) -> TokenSource:
    """Return the source of a scheme of a document: a token, a password, or a client of an OAuth provider."""
    where = f"auth.{scheme} of profile {quote(name)}"
    key = next((key for key in _AUTH_SOURCES if key in table), "")
    make: Make = ClientSecret if "client_id" in table else Secret
    if "user" in table:
        make = partial(Password, table["user"])
    secret = None
    if key:
        secret = _token_source(key, table[key], where, base_url, make)
    if "client_id" not in table:
        assert secret is not None
        secret.prefix = table.get("prefix")
        return secret

    own = [
        *_addresses(table.get("allow_server", ())),
        *_addresses(table.get("issuer", ())),
        *(allowed or [base_url]),
    ]
    return OAuth(
        f"login to {where}",
        table,
        name,
        secret,
        lambda url: any(same_origin(url, address) for address in own),
    )


def _token_source(
    key: str, value: Any, where: str, base_url: str, make: Make = Secret
) -> TokenSource:
    """Return the source that a key of a profile names, but for a login."""
    label = f"{key} of {where}"
    secret, _, origin = key.rpartition("_")
    source: TokenSource
    if origin == "env":
        _text(str(value), label)
        source = FromEnvironment(label, str(value), make)
    elif origin == "command":
        source = FromCommand(label, value, make)
    elif origin == "file":
        source = FromFile(label, value, make)
    else:
        source = FromKeyring(label, base_url, value, make)

    source.header = _HEADERS.get(secret, "Authorization")
    return source


def _read_toml(path: Path) -> _Table:
    hint = "Fix the file, or set FUNCS_CONFIG."
    _, table = read_toml(path, f"The profiles in {path}", hint) or ("", {})
    return table


def _read_profile(name: str, path: Path) -> _Table:
    profiles = only(dict, _read_toml(path).get("profiles"))
    profile = profiles.get(name)
    if not isinstance(profile, dict):
        raise _no_profile(name, profiles, path)
    if wrong := _profile_problem(profile):
        raise ConfigError(f"Profile {quote(name)} in {path} {wrong}.", _PROFILE_HINT)
    return profile


def _no_profile(name: str, profiles: _Table, path: Path) -> ConfigError:
    # Perhaps a token, or an address with a password.
    if len(name) > _MAX_PROFILE_NAME or "@" in name:
        return ConfigError(
            "There is no such profile: a profile's name is shorter and has no @.",
            "Use a name or an address. If this was a token, have it replaced: the history keeps what you type.",
        )

    if name.lower().endswith(_DOCUMENTS):
        return ConfigError(
            f"There is no file {quote(name)}, and no profile of this name.",
            "Check its path.",
        )

    key = name
    if not (name.isascii() and name.replace("-", "_").isidentifier()):
        key = f'"{name}"'
    near = did_you_mean(name, profiles)
    hint = near or f'Add it to {path}: [profiles.{key}] with url = "https://…".'
    if ":" in name or "/" in name:
        hint = "An address starts with https:// or http://."
    elif name == "demo":
        hint = "The demo has no name: it is used by jf.connect() and %funcs connect if no service is configured."
    elif "." in name and not near:
        hint = f'Write "https://{name}" for a service at this address; a profile is [profiles."{name}"] in {path}.'

    return ConfigError(f"There is no profile {quote(name)}.", hint)


def _profile_problem(profile: _Table) -> str:
    """Return what is wrong with a profile, without its values: one may be a token written there by mistake."""
    if (kind := profile.get("kind", "service")) not in _KINDS:
        return f"has a kind that is not {listed(map(quote, _KINDS))}"
    runs = ""
    if kind == "python":
        runs = "module"
    elif kind == "mcp" and "command" in profile:
        runs = "command"

    if unknown := profile.keys() - _KEYS_BY_TARGET[runs]:
        which = "a command and the" if runs == "command" else "the unknown"
        return f"has {which} key {quote(min(unknown))}"

    for key, (fits, what) in _CHECKS.items():
        if key in {*profile, runs} and not fits(profile.get(key)):
            return f"has {what}"

    if runs:
        return ""
    return _address_problem(profile) or _document_problem(profile)


def _address_problem(profile: _Table) -> str:
    """Return what is wrong with a profile of a service, a server or a document."""
    sources = [key for key in _SOURCES if key in profile]
    if not isinstance(profile.get("url", profile.get("file")), str):
        return "has no url"
    if len(sources) > 1:
        return f"names {listed(sources, 'and')} at once"
    for key in [*sources, *profile.keys() & {"file"}]:
        if not (key.endswith("_env") or _is_source(key, profile[key])):
            return f"has a value of {key} that is not text"

    if not _is_kept(profile):
        return 'has a keep; it can only be true, or "keyring" with login = "EMAIL"'
    if "file" in profile and (others := {"url", "login"} & profile.keys()):
        return f"has a file and a {min(others)}"
    return ""


def _is_source(key: str, value: object) -> bool:
    """Return whether a key that names the source of a secret has a value that it takes."""
    if key == "login" and value is True:
        return True
    return _is_text(value) or (key.endswith("_command") and _is_words(value))


def _is_kept(profile: _Table) -> bool:
    """Return whether a profile says in a valid way where its token is kept, or nothing."""
    keep = profile.get("keep", False)
    is_server = _kind_of(str(profile.get("url")), profile.get("kind", "")) == "mcp"
    has_login = isinstance(profile.get("login"), str) or (
        is_server and "login" in profile
    )
    return isinstance(keep, bool) or (keep == "keyring" and has_login)


def _document_problem(profile: _Table) -> str:
    """Return what is wrong with what a profile says of a document, its servers and schemes."""
    if "file" in profile and profile.get("kind", "openapi") != "openapi":
        return 'has a file; its kind can only be "openapi"'
    auth = profile.get("auth", {})
    for scheme, table in auth.items():
        if wrong := _scheme_problem(only(dict, table)):
            return f"has an auth.{scheme} that {wrong}"

    is_server = _kind_of(str(profile.get("url")), profile.get("kind", "")) == "mcp"
    if is_server and auth:
        unused = auth.keys() - {"login"} or auth["login"].keys() - _CLIENT_KEYS
        if unused or profile.get("login") is not True:
            return "has more than the client of a login: an MCP server takes login = true and auth.login"

    return ""


def _scheme_problem(table: _Table) -> str:
    """Return what is wrong with what a profile says of a scheme, as `_profile_problem`."""
    sources = [key for key in _AUTH_SOURCES if key in table]
    if unknown := table.keys() - {*_AUTH_KEYS, *sources}:
        return f"has the unknown key {quote(min(unknown))}"
    if len(sources) > 1 or not (sources or "client_id" in table):
        return "needs one of token_env, password_env (or …_file, …_command, …_keyring), client_id"
    for key in sources:
        user = _USED_WITH.get(key.rpartition("_")[0], key)
        if user not in table:
            return f"has a {key} and no {user}"
        if not _is_source(key, table[key]):
            return f"has a {key} that is not text"

    for key in _AUTH_KEYS.keys() & table.keys():
        if not _AUTH_KEYS[key](table[key]):
            return f"has a {key} of another kind"

    return ""


def _is_words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _is_texts(value: object) -> bool:
    return _is_words([*only(dict, value).values()] or None)


def _is_positive(value: Any) -> bool:
    return type(value) in {int, float} and value > 0


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_addresses(value: object) -> bool:
    return _is_text(value) or (_is_words(value) and bool(value))


# What a profile has in a key, if that isn't what the key takes.
_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "timeout": (_is_positive, "a timeout that is not a positive number of seconds"),
    "synonyms": (
        lambda value: isinstance(value, dict) and all(map(_is_words, value.values())),
        'synonyms that are not lists of words, as in synonyms = {revenue = ["spend"]}',
    ),
    "env": (
        _is_words,
        'an env that is not a list of variables, as in env = ["GITHUB_TOKEN"]',
    ),
    "module": (_is_text, 'no module, as in module = "team.functions"'),
    "command": (
        lambda value: _is_words(value) and value and all(value),
        'a command that is not a list of words, as in command = ["uvx", "mcp-server-time"]',
    ),
    "allow_server": (
        _is_addresses,
        'an allow_server that is neither an address nor a list, as in allow_server = ["https://api.example"]',
    ),
    "allow_http": (
        lambda value: isinstance(value, bool),
        "an allow_http that is neither true nor false",
    ),
    "server": (
        lambda value: isinstance(value, str) or _is_texts(value),
        'a server that is neither text nor values of its variables, as in server = {tenant = "acme"}',
    ),
    "auth": (
        lambda value: isinstance(value, dict),
        "an auth that is not a table of schemes",
    ),
}
_AUTH_KEYS: dict[str, Callable[[Any], bool]] = {
    "user": _is_text,
    "client_id": _is_text,
    "prefix": lambda value: isinstance(value, str),
    "flow": lambda value: value in FLOWS,
    "scopes": _is_words,
    "parameters": _is_texts,
    "issuer": _is_text,
    "allow_server": _is_addresses,
    "redirect_port": lambda value: type(value) is int and 0 < value < 2**16,
    "keep": lambda value: value == "keyring",
}


def _connection(
    url: str, source: TokenSource | None, no_token: str, kind: str = ""
) -> Connection:
    base_url = _normalized(url)
    kind = _kind_of(base_url, kind)
    if source is None and kind in {"openapi", "mcp"}:  # many of them are public
        source = NO_TOKEN
    if source is None:
        public = 'If it needs none, write a profile with kind = "openapi" or "mcp".'
        raise ConfigError(f"There is no token for {base_url}.", f"{no_token} {public}")

    name = base_url.partition("://")[2]
    exact = _normalized(url, exact=True)
    return Connection(name, base_url, source, source.header, kind=kind, location=exact)


def _kind_of(url: str, kind: str) -> str:
    """Return the kind of a source that is said, or that its address tells; empty if it must be detected."""
    if not kind and url.lower().endswith(_DOCUMENTS):
        return "openapi"
    if not kind and url.endswith("/mcp"):
        return "mcp"
    return kind


def _document(file: Path, source: TokenSource | None) -> Connection:
    """Return the connection to the document in a file."""
    where = str(file.absolute())
    token = source or NO_TOKEN
    address = file.absolute().as_uri()
    return Connection(
        file.name,
        address,
        token,
        token.header,
        where=where,
        kind="openapi",
        location=where,
    )


def _source(token: str | Callable[[], str] | TokenSource, secret: str) -> TokenSource:
    if isinstance(token, TokenSource):
        return token
    source: TokenSource
    if isinstance(token, str):
        source = Constant(Secret(token))
    elif callable(token):
        source = FromFunction(token)
    else:
        raise ConfigError(
            "A token must be text, or a function that returns it.", _CONNECT_HINT
        )

    source.header = _HEADERS[secret]
    return source


def _netloc(host: str, port: int | None) -> str:
    if ":" in host:
        host = f"[{host}]"
    if port:
        return f"{host}:{port}"
    return host


def _normalized(url: str, *, exact: bool = False) -> str:
    """Return an address without its query and final slash; with both, if it must be `exact`."""
    url = url.strip()
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = parts.port
    except ValueError:
        # Not shown, because an invalid address may contain a password.
        raise ConfigError(
            "The address of the service is invalid.", "Write it as https://host."
        ) from None

    if parts.username or parts.password:
        raise ConfigError(
            f"The address {parts.scheme}://****@{host} contains a user name or a password.",
            "Leave them out and use a token.",
        )

    if (
        parts.scheme not in {"http", "https"}
        or not host
        or not url.isprintable()
        or " " in url
    ):
        shown = "This" if "@" in url else quote(url)  # it may contain a password
        raise ConfigError(
            f"{shown} is not the address of a service.", "Write it as https://host."
        )

    host = _netloc(host, port)
    if exact and parts.path != "/":
        return urlunsplit((parts.scheme, host, parts.path, parts.query, ""))
    return f"{parts.scheme}://{host}{parts.path.rstrip('/')}"


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(_normalized(url))
    return (
        parts.scheme,
        parts.hostname,
        parts.port or {"http": 80, "https": 443}[parts.scheme],
    )


def same_origin(url: str, other: str) -> bool:
    """Return whether two addresses have one origin, to which the same token may go."""
    try:
        return _origin(url) == _origin(other)
    except ConfigError:
        return False
