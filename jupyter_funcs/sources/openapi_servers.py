"""Where the operations of an OpenAPI document run, and with which credentials: as it says, and as the user allows."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit, urlunsplit

from jupyter_funcs.connection.login import OAuth
from jupyter_funcs.connection.profiles import (
    NO_TOKEN,
    Connection,
    auth_name,
    profiles_file,
    same_origin,
)
from jupyter_funcs.connection.tokens import BASIC, Credential, SecretPlace
from jupyter_funcs.core.errors import ConfigError
from jupyter_funcs.core.json_decoding import JsonObject, Once, only
from jupyter_funcs.core.text import clip, inert, listed, quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from jupyter_funcs.connection.tokens import TokenSource

VARIABLE = re.compile(r"\{([^{}]*)\}")
# A header that a document may set: a legal name, and none of OpenAPI's own or of HTTP itself.
_NAME = r"[\w!#$%&'*+.^`|~-]+"
COOKIE = re.compile(_NAME, re.ASCII)
HEADER = re.compile(
    r"(?!(?:host|cookie2?|authorization|accept|accept-encoding|content-(?:type|length|encoding)|connection|keep-alive"
    rf"|te|trailer|transfer-.*|upgrade|expect|proxy-.*)$){_NAME}",
    re.IGNORECASE | re.ASCII,
)
_LABEL = re.compile(r"(?a)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_PATH = re.compile(r"(?a)(?!\.\.?(?:/|$))[\w~-][\w.~-]*(?:/[\w~-][\w.~-]*)*")
# How Django REST framework's documents describe theirs.
_PREFIX = re.compile(r'(?a)prefix "(\w{1,20})"')
_MAX_NAME = 200
_MAX_URL = 4000
_FLOWS = {
    "clientCredentials": ("client", {"token": "tokenUrl"}),
    "authorizationCode": (
        "browser",
        {"token": "tokenUrl", "start": "authorizationUrl"},
    ),
    "deviceAuthorization": (
        "device",
        {"token": "tokenUrl", "start": "deviceAuthorizationUrl"},
    ),
}


def may_ask(connection: Connection, url: str) -> bool:
    return any(
        same_origin(url, own) for own in (connection.base_url, *connection.allow_server)
    )


def _base(connection: Connection) -> str:
    """Return what addresses in a document are relative to; of a file, where the user says that its server is."""
    location = connection.location or connection.base_url
    if "://" in location:
        return location
    return f"{[*connection.allow_server, ''][0]}/".lstrip("/")


class Servers(Once):
    """The servers of a document, with the values of their variables, and which of them we may ask."""

    def __init__(self, root: JsonObject, connection: Connection) -> None:
        super().__init__()
        self._connection = connection
        self._base = _base(connection)
        self._wanted = only(str, connection.server)
        self._own_values: dict[str, str] = dict(only(tuple, connection.server))
        self._main = only(list, root.get("servers"))
        self._check_names()
        self._main_urls = self._urls(self._main)
        self._chosen = self._main
        if self._wanted:
            self._chosen = [self._choice()]
        named = [
            url
            for servers in (self._main, *_lists(root))
            for url in self._urls(servers)
        ]
        # What the user allows is one's own deployment if the document names it nowhere.
        self._own = [
            server
            for server in connection.allow_server
            if not any(same_origin(url, server) for url in named)
        ]

    def first(self, *places: JsonObject) -> tuple[str, bool]:
        """Return the server that the first of some places names, and whether we may ask it."""
        lists = (only(list, place.get("servers")) for place in places)
        return self.once("servers", next(filter(None, lists), self._main), self._first)

    def _first(self, servers: list[Any]) -> tuple[str, bool]:
        is_main = servers is self._main
        if is_main:
            servers = self._chosen
        urls = self._urls(servers) or [urljoin(self._base, "/").rstrip("/")]
        if self._own and (
            is_main
            or any(same_origin(url, main) for url in urls for main in self._main_urls)
        ):
            urls = [self._deployed(urls[0])]

        allowed = [
            url
            for url in urls
            if may_ask(self._connection, url) and not VARIABLE.search(url)
        ]
        return (allowed or urls)[0], bool(allowed)

    def _deployed(self, url: str) -> str:
        """Return the address of one's own deployment, at the path that the document says unless the user says one."""
        own = self._own[0]
        if urlsplit(own).path:
            return own
        path = url.partition("://")[2].partition("/")[2]
        return f"{own}/{path}".rstrip("/")

    def _urls(self, servers: list[Any]) -> list[str]:
        return [
            url for server in servers for url in self.once("urls", server, self._read)
        ]

    def _read(self, server: Any) -> list[str]:
        """Return the addresses of a server: with the user's values or its defaults, and as an allowed origin has it."""
        template = _template(server)
        variables = only(dict, only(dict, server).get("variables"))
        names = VARIABLE.findall(template)
        values = {
            name: str(default)[:_MAX_NAME]
            for name in names
            if isinstance(
                default := only(dict, variables.get(name)).get("default"), str | int
            )
        }
        own = {
            name: _value(name, value, template, variables)
            for name, value in self._own_values.items()
            if name in names
        }
        urls = [_filled(template, values | own)]
        for origin in (
            self._wanted,
            *self._connection.allow_server,
            self._connection.base_url,
        ):
            # Where the document is says nothing of a server that may be anywhere.
            is_whole = origin != self._connection.base_url
            matched = _matched(template, origin, variables, is_whole=is_whole)
            if own | matched == matched | own:  # they agree
                urls.append(_filled(template, values | own | matched))
            elif origin in self._connection.allow_server:
                raise ConfigError(
                    f"{quote(origin)} is not the server with {listed(f'{name} = {own[name]}' for name in own)}.",
                    "Leave out server, or allow_server.",
                )

        joined = [_joined(self._base, url) for url in urls]
        return list(dict.fromkeys(filter(None, joined)))

    def _check_names(self) -> None:
        names = [
            name
            for server in self._main
            for name in VARIABLE.findall(_template(server))
        ]
        for name in self._own_values:
            if name not in names:
                which = "It has none."
                if names:
                    which = f"It has {listed(map(quote, dict.fromkeys(names)))}."
                raise ConfigError(
                    f"No server of the document has a variable {quote(name)}.", which
                )

    def _choice(self) -> Any:
        """Return the server that the user names, by its address or its words."""
        wanted = self._wanted.rstrip("/").casefold()
        shown = []
        for server in self._main:
            words = [
                only(str, only(dict, server).get(key))
                for key in ("name", "description", "url")
            ]
            texts = filter(None, [*words, *self._urls([server])])
            if wanted in [text.rstrip("/").casefold() for text in texts]:
                return server
            shown.append(quote(next(filter(None, words), ""), 80))

        which = f"It names {listed(shown[:10])}."
        if not shown:
            which = "It names none."
        if "://" in self._wanted:
            which += f" For your own deployment: allow_server={quote(self._wanted)}."
        raise ConfigError(f"The document names no server {quote(self._wanted)}.", which)


def _template(server: Any) -> str:
    url = only(str, only(dict, server).get("url"))
    if len(url) > _MAX_URL:
        return ""
    return url


def _filled(template: str, values: Mapping[str, str]) -> str:
    return VARIABLE.sub(lambda place: values.get(place[1], place[0]), template)


def _absolute(base: str, url: Any) -> str:
    """Return an address that a document has, or nothing if it is none."""
    if not isinstance(url, str) or len(url) > _MAX_URL:
        return ""
    try:
        urlsplit(joined := urljoin(base, url))
    except ValueError:
        return ""

    return joined


def _joined(base: str, url: str) -> str:
    """Return an address without its query and fragment, which would hold the path of an operation; or nothing."""
    scheme, host, path, *_ = urlsplit(_absolute(base, url))
    return urlunsplit((scheme, host, path.rstrip("/"), "", ""))


def _lists(root: JsonObject) -> Iterator[list[Any]]:
    """Yield the servers of paths and operations."""
    for item in only(dict, root.get("paths")).values():
        for place in (item, *only(dict, item).values()):
            yield only(list, only(dict, place).get("servers"))


def _value(name: str, value: str, template: str, variables: JsonObject) -> str:
    """Return the user's value of a variable, which leads nowhere but to what its place in the address is."""
    options = [
        str(option)
        for option in only(list, only(dict, variables.get(name)).get("enum"))
    ]
    if options and value not in options:
        which = listed(map(quote, options[:20]))
        raise ConfigError(
            f"The server's {name} is not {quote(value)}.", f"It is one of {which}."
        )

    before = template.partition(f"{{{name}}}")[0]
    fits = _LABEL
    what = "one label of a host, without dots"
    if before.startswith("/") or "/" in before.partition("://")[2]:
        fits = _PATH
        what = "a part of a path"

    if not fits.fullmatch(value):
        raise ConfigError(
            f"The server's {name} is {what}, not {quote(value)}.",
            "For another host: allow_server.",
        )

    return value


def _matched(
    template: str, address: str, variables: JsonObject, *, is_whole: bool
) -> dict[str, str]:
    """Return the values of variables with which the host of a template is that of an address; none if it can't be."""
    scheme, _, rest = template.partition("://")
    own, _, other = address.partition("://")
    place = rest.partition("/")[0]
    host = other.partition("/")[0]
    labels = [scheme, *place.split(".")]
    parts = [own, *host.split(".")]
    if is_whole and VARIABLE.fullmatch(place):
        parts = [own, host]
    values: dict[str, str] = {}
    if not host or len(labels) != len(parts):
        return {}
    for label, part in zip(labels, parts, strict=True):
        if label.casefold() == part.casefold():
            continue
        before, name, after = [*VARIABLE.split(label, 1), "", ""][:3]
        value = part[len(before) : len(part) - len(after)]
        options = only(list, only(dict, variables.get(name)).get("enum")) or [value]
        problems = (
            not name,
            before + value + after != part,
            value != host and not _LABEL.fullmatch(value),
            value not in options,
            values.setdefault(name, value) != value,
        )
        if any(problems):
            return {}

    return values


# Credentials


def listed_places(
    connection: Connection, credentials: Iterable[Credential] = ()
) -> list[JsonObject]:
    """Return where each secret of a request goes, and the variable in which a command of a shell finds it."""
    places: list[JsonObject] = []
    for source, place, scheme in credentials or connection.credentials:
        if source is NO_TOKEN:
            continue
        variable = f"FUNCS_AUTH_{auth_name(scheme)}"
        if source is connection.token:
            variable = "FUNCS_API_KEY"
            if connection.header == "Authorization":
                variable = "FUNCS_TOKEN"
        places.append(
            {
                "in": place.where,
                "name": place.name,
                "prefix": place.prefix,
                "variable": variable,
            }
        )

    return places


def read_scheme(name: str, scheme: JsonObject, connection: Connection) -> JsonObject:
    """Return what a security scheme of a document says, in JSON types: where its secret goes, and where from."""
    kind = str(scheme.get("type"))
    where = only(str, scheme.get("in"))
    header = only(str, scheme.get("name"))[:_MAX_NAME]
    about: JsonObject = {
        "scheme": clip(inert(name), _MAX_NAME),
        "in": "header",
        "name": "Authorization",
    }
    if kind == "apiKey":
        if header.casefold() == "authorization" and where == "header":
            words = _PREFIX.findall(only(str, scheme.get("description"))[:_MAX_URL])
            return {**about, "prefix": f"{[*words, 'Bearer'][0]} "}
        if where == "query" or (
            where in {"header", "cookie"} and HEADER.fullmatch(header)
        ):
            return {**about, "in": where, "name": header, "prefix": ""}

    if kind == "http" and str(scheme.get("scheme")).casefold() == "basic":
        return {**about, "prefix": BASIC}
    about["prefix"] = "Bearer "
    base = _base(connection)
    if flows := _flows(only(dict, scheme.get("flows")), base):
        about["flows"] = flows
    if url := _absolute(base, scheme.get("openIdConnectUrl")):
        about["discovery"] = url
    return about


def _flows(listed: JsonObject, base: str) -> JsonObject:
    return {
        flow: {
            at: _absolute(base, only(dict, listed[key]).get(name))
            for at, name in names.items()
        }
        for key, (flow, names) in _FLOWS.items()
        if key in listed
    }


def credentials_of(
    connection: Connection, security: list[list[JsonObject]], url: str
) -> tuple[Credential, ...]:
    """Return the credentials of the first alternative for which there are all, else the token in its usual place."""
    own = connection.credentials
    # Those of schemes go only where the user says that the document's server is.
    servers = connection.allow_server or [connection.base_url]
    is_there = any(same_origin(url, server) for server in servers)
    met: list[tuple[int, tuple[Credential, ...]]] = []
    for schemes in filter(None, security):
        sources = [
            token_source_of(connection, scheme) if is_there else None
            for scheme in schemes
        ]
        missing = sources.count(None)
        rank = 0
        if missing:
            if missing > 1 or not _may_be_token(connection, schemes):
                continue
            rank = _rank(own[0].place, schemes[sources.index(None)])
            sources = [source or connection.token for source in sources]
        met.append((rank, tuple(map(_credential, sources, schemes))))

    return min(met, key=lambda match: match[0], default=(0, own))[1]


def _may_be_token(connection: Connection, schemes: list[JsonObject]) -> bool:
    """Return whether the token may be what a scheme takes; an API key isn't a bearer token."""
    is_bearer = connection.credentials[0].place.prefix == "Bearer "
    is_plain = not any(scheme["prefix"] for scheme in schemes)
    return connection.token is not NO_TOKEN and (is_bearer or is_plain)


def _rank(place: SecretPlace, scheme: JsonObject) -> int:
    """Return a number for a scheme that the token may be for, lower where its place is the token's own."""
    is_same = (
        place.name.casefold() == scheme["name"].casefold() and scheme["in"] == "header"
    )
    if is_same and scheme["prefix"] != BASIC:
        return 1
    return 2


def token_source_of(connection: Connection, scheme: JsonObject) -> TokenSource | None:
    """Return the source for a scheme, which learns where its provider is."""
    source = connection.auth.get(auth_name(scheme["scheme"]))
    if isinstance(source, OAuth):
        source.bind(scheme)
    return source


def _credential(source: Any, scheme: JsonObject) -> Credential:
    prefix = scheme["prefix"]
    if source.prefix is not None:
        prefix = f"{source.prefix} ".lstrip()
    return Credential(
        source, SecretPlace(scheme["name"], prefix, scheme["in"]), scheme["scheme"]
    )


def needs(
    connection: Connection,
    security: list[list[JsonObject]],
    credentials: Iterable[Credential],
) -> str:
    """Return which schemes an operation takes and what to set; nothing if it names none."""
    alternatives = [
        " and ".join(
            quote(scheme["scheme"], 80) + scheme["scopes"] for scheme in schemes
        )
        for schemes in filter(None, security)
    ]
    if not alternatives:
        return ""
    taken = f"The operation takes {listed(alternatives[:5])}"
    used = [credential.source.label for credential in credentials if credential.scheme]
    if used and all(
        connection.auth.get(auth_name(credential.scheme)) for credential in credentials
    ):
        return f"{taken}: check the {listed(used, 'and')}."

    schemes = list(chain.from_iterable(security))
    unset = (
        scheme
        for scheme in schemes
        if auth_name(scheme["scheme"]) not in connection.auth
    )
    scheme = next(unset, schemes[0])
    keys = _keys_of(scheme)
    name = connection.name if connection.where == connection.name else "NAME"
    return f"{taken}. Set {keys} in [profiles.{name}.auth.{scheme['scheme']}] of {profiles_file()}."


def _keys_of(scheme: JsonObject) -> str:
    if scheme["prefix"] == BASIC:
        return "user and password_env"
    if scheme.keys() & {"flows", "discovery"}:
        return "client_id, or token_env,"
    return "token_env"
