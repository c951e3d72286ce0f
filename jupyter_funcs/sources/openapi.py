"""The operations of an OpenAPI document as a source."""

from __future__ import annotations

import asyncio
import json
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from jupyter_funcs.catalog.listing import (
    DEPRECATED,
    Catalog,
    Encoding,
    Function,
    Param,
    ReadCatalog,
)
from jupyter_funcs.catalog.schemas import MOST_PROPERTIES, said_of
from jupyter_funcs.connection.http import Request
from jupyter_funcs.connection.profiles import Connection, same_origin
from jupyter_funcs.connection.retries import Purpose
from jupyter_funcs.connection.secrets import redacted_line
from jupyter_funcs.core.background import in_thread, loop_time
from jupyter_funcs.core.errors import (
    TRY_AGAIN,
    ArgumentError,
    AuthenticationError,
    ConfigError,
    FuncsError,
    PermissionDeniedError,
    ProtocolError,
)
from jupyter_funcs.core.files import read_small
from jupyter_funcs.core.json_decoding import JsonObject, Once, only, texts_in
from jupyter_funcs.core.text import clip, distinct, inert, plural, prose, quote
from jupyter_funcs.core.warn import warn
from jupyter_funcs.sources.openapi_files import (
    MAX_FILE,
    UNREAD,
    DocumentFiles,
    decoded,
    is_too_deep,
)
from jupyter_funcs.sources.openapi_requests import (
    BOUNDARY,
    DELIMITERS,
    FORM_BODY,
    JSON_BODY,
    MEDIA_TYPE,
    MULTIPART,
    PATH_VARIABLE,
    TEXT_BODY,
    Place,
    Upload,
    at_parameters,
    awaiting,
    body_rank,
    pause_before,
    place_after,
    request_of,
)
from jupyter_funcs.sources.openapi_schemas import SchemaReader, UnusableError
from jupyter_funcs.sources.openapi_servers import (
    COOKIE,
    HEADER,
    VARIABLE,
    Servers,
    credentials_of,
    listed_places,
    needs,
    read_scheme,
    token_source_of,
)
from jupyter_funcs.sources.swagger import SwaggerDocument

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.connection.replies import Reply
    from jupyter_funcs.connection.transport import Terms, Transport
    from jupyter_funcs.core.background import Progress

_MAX_DOCUMENT = 64 * 2**20  # bytes
_MAX_PARAMS = 200_000  # of all operations
_MAX_NAME = 200
_MAX_TEXT = 4000
_MAX_MARKED = 20_000
_NOT_WORD = re.compile(r"\W", re.ASCII)
_CHECK_DOCUMENT = "Check the document, and where it is."
_METHODS = ("get", "post", "put", "patch", "delete")  # the others return no data
# For one result; between more redirects there are pauses.
_MAX_POLLS = 1000
_MAX_REDIRECTS = 3
_MAX_ALTERNATIVES = 20  # of what an operation may be called with
_REFUSALS = {401, 403}
_SHOWN = 3  # operations named in a warning
_STYLES = {"query": "form", "cookie": "form"}  # unless a parameter says its own
_TEXT = {"type": "string"}
_FILE = {"type": "string", "format": "file"}
_ACCEPT = "application/json, application/yaml;q=0.9, */*;q=0.1"
_FILES_HINT = "Keep the files that a document refers to in its folder, or at its origin; thousands, in a folder."
_ELSEWHERE = "it runs on"
_SERVER_HINT = (
    "To run them too, list their server in allow_server: a list of addresses."
)
_MIN_LEFT = 5.0  # seconds for reading what is there, however many files there are
_AT_ONCE = 16  # files read from an address
_YAML = re.compile(rb"^[\"']?(?:openapi|swagger)[\"']? *:", re.MULTILINE)


class OpenApiSource:
    """The operations of an OpenAPI 3 document, which are requests to the server that it names."""

    kind = "openapi"

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def listing(self, terms: Terms, progress: Progress) -> ReadCatalog:
        connection = self._transport.connection
        if connection.base_url.startswith("file:"):
            progress.attempts = 1
            return lambda: read_document(_content(connection.location), connection)

        url = connection.location or connection.base_url
        request = Request(
            "GET", url, headers={"Accept": _ACCEPT}, credentials=connection.credentials
        )
        reply = await self._transport.request(
            request, terms._replace(max_bytes=_MAX_DOCUMENT), progress
        )
        silent = reply._replace(warning="")  # it warns once, of what is read last
        begin = partial(silent.read, partial(_begun, connection=connection))
        files = await asyncio.wrap_future(in_thread(begin, "document"))
        while addresses := files.pending(_AT_ONCE):
            others = await asyncio.gather(
                *(self._other(url, request, terms, files.left) for url in addresses)
            )
            add = partial(files.add_all, dict(zip(addresses, others, strict=True)))
            await asyncio.wrap_future(in_thread(add, "document"))

        return partial(reply.read, lambda _: _catalog(files.root, connection))

    async def _other(
        self, url: str, request: Request, terms: Terms, left: int
    ) -> bytes | FuncsError:
        """Return a file that the document refers to at its own origin, or why there is none."""
        if terms.until - loop_time() < _MIN_LEFT:
            return ProtocolError("there was no time left to ask for it")
        try:
            terms = terms._replace(max_bytes=min(left, MAX_FILE), counts=False)
            reply = await self._transport.request(request._replace(url=url), terms)
            return reply.without_token()
        except FuncsError as error:
            return error

    async def run(
        self, function: Function, args: Args, terms: Terms, progress: Progress
    ) -> Reply:
        request = request_of(function, args, self._transport.connection)
        return await self._sent(function, request, terms, progress)

    async def follow(
        self,
        function: Function,
        args: Args,
        link: str,
        terms: Terms,
        progress: Progress,
    ) -> Reply:
        """Run a function at the link that a page of it has to the next one, at the same origin."""
        request = request_of(function, args, self._transport.connection)
        url = urljoin(request.url, link)
        if request.method != "GET" or not same_origin(url, request.url):
            raise ConfigError(
                f"The next page is at another address, {quote(clip(url, _MAX_NAME))}.",
                "Nothing was sent.",
            )

        return await self._sent(function, request._replace(url=url), terms, progress)

    async def _sent(
        self, function: Function, request: Request, terms: Terms, progress: Progress
    ) -> Reply:
        if request.method == "GET" and terms.purpose is Purpose.RUN:
            # It can be sent again as safely.
            terms = terms._replace(purpose=Purpose.LISTING)

        try:
            reply = await self._transport.request(request, terms, progress)
        except ArgumentError as error:
            error.errors = at_parameters(error.errors, function)
            raise
        except (AuthenticationError, PermissionDeniedError) as error:
            if error.status in _REFUSALS:
                connection = self._transport.connection
                error.hint = (
                    needs(connection, function.context["security"], request.credentials)
                    or error.hint
                )
            raise

        before = progress.attempts, progress.said
        try:
            return await self._result(
                reply, request, terms._replace(purpose=Purpose.LISTING), progress
            )
        except FuncsError as error:  # nobody may send the operation again
            error.what = f"{function.name} was accepted, but its result can't be had. {error.what}"
            error.refused = False
            raise
        finally:
            progress.attempts, progress.said = before

    async def _result(
        self, reply: Reply, request: Request, terms: Terms, progress: Progress
    ) -> Reply:
        """Return what an accepted operation (202, 303) leads to, asked for with GET until it is there."""
        following = awaiting(request)
        place = Place()
        for number in range(_MAX_POLLS):
            place = place_after(reply, place, request.method, following.url)
            if not place.link:
                break
            url = urljoin(following.url, place.link)
            if not same_origin(url, request.url):
                warn(
                    f"The result is at another address, {quote(redacted_line(url, _MAX_NAME))}, and wasn't asked for."
                )
                break
            if place.is_monitor or number > _MAX_REDIRECTS:
                progress.said = (
                    f"accepted, asked for the result {plural(number, 'time')}"
                )
                await pause_before(reply, number, terms.until)
            following = following._replace(url=url)
            reply = await self._transport.request(following, terms, progress)

        return reply

    def request(self, function: Function, args: Args) -> JsonObject:
        connection = self._transport.connection
        sent = request_of(function, args, connection)
        shown: JsonObject = {"method": sent.method, "url": sent.url}
        if places := listed_places(connection, sent.credentials):
            shown["credentials"] = places
        headers = shown["headers"] = dict(sent.headers)
        if isinstance(sent.body, Upload):
            shown["body"] = sent.body.shown
            headers.pop("Content-Length")
            headers["Content-Type"] = headers["Content-Type"].partition(BOUNDARY)[0]
        elif isinstance(sent.body, bytes):
            shown["body"] = sent.body.decode()
            if JSON_BODY.fullmatch(headers["Content-Type"]):
                shown["body"] = json.loads(sent.body)

        return shown

    def identity(self, function: Function) -> list[Any] | None:
        """Return whom the schemes of a function's document name; the function as listed names its server."""
        connection = self._transport.connection
        credentials = credentials_of(
            connection, function.context["security"], function.context["server"]
        )
        accounts = []
        for credential in credentials:
            if credential.source is not connection.token:
                secret = credential.source()
                accounts.append([credential.scheme, secret.account or secret.reveal()])

        return accounts or None

    async def close(self) -> None:
        await self._transport.close()


def _content(file: str) -> bytes:
    try:
        return read_small(Path(file), _MAX_DOCUMENT)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error

    raise ConfigError(
        f"The document {quote(file, 200)} cannot be read: {why}.", _CHECK_DOCUMENT
    )


def read_document(data: bytes, connection: Connection) -> Catalog:
    """Read an OpenAPI document, with the files in its folder that it refers to."""
    files = _begun(data, connection)
    if connection.base_url.startswith("file:"):
        files.read_folder()
    return _catalog(files.root, connection)


def _begun(data: bytes, connection: Connection) -> DocumentFiles:
    """Return the files of a document, of which the first has been read."""
    is_yaml = connection.base_url.lower().endswith((".yaml", ".yml")) or _YAML.search(
        data
    )
    try:
        root = decoded(data, "OpenAPI document", is_yaml=bool(is_yaml))
    except ProtocolError as error:
        # Nobody operates a document.
        error.hint = error.hint.replace(TRY_AGAIN, _CHECK_DOCUMENT)
        raise

    about = only(dict, root)
    version = str(about.get("openapi") or about.get("swagger") or "")
    where = quote(connection.name, 200)
    if not version:
        raise ProtocolError(f"{where} is not an OpenAPI document.", _CHECK_DOCUMENT)
    if version.partition(".")[0] not in {"2", "3"}:
        raise ConfigError(
            f"{where} is OpenAPI (Swagger) {clip(inert(version), 20)}; 2.0 or 3 is needed.",
            "Convert it, or ask its publisher for a newer one.",
        )

    if is_too_deep(root):
        raise ConfigError(
            "The OpenAPI document has more than 100 levels.", "Simplify its schemas."
        )

    address = connection.location
    if "://" not in address:
        address = connection.base_url
    return DocumentFiles(address, root)


def _catalog(root: JsonObject, connection: Connection) -> Catalog:
    """Return the operations of a document; those that can't be run are left out with one warning."""
    schemas = SchemaReader(root)
    if not root.get("openapi"):
        root = SwaggerDocument(root, schemas.resolved).as_openapi()
    return _Document(root, connection, schemas).catalog()


def _refused(server: str) -> ConfigError:
    """Return the error for a document whose server the user has not allowed."""
    what = "The OpenAPI document does not say at which address its server is."
    origin = "https://…"
    if unset := VARIABLE.findall(server):
        what = f"The OpenAPI document names the server {quote(server)}, whose {unset[0]} depends on you."
        if not VARIABLE.fullmatch(urlsplit(server)[1]):
            return ConfigError(
                what,
                f'Use jf.connect(…, server={{"{unset[0]}": "…"}}), in a profile server = {{{unset[0]} = "…"}}; '
                "for another host, allow_server.",
            )
    elif "://" in server:
        what = f"The OpenAPI document names the server {quote(server)}, which is not where it comes from."
        if same_origin(server, server):
            origin = "://".join(urlsplit(server)[:2])

    return ConfigError(
        what,
        f'If you trust it, use jf.connect(…, allow_server="{origin}"), or for %funcs a profile with the line '
        f'allow_server = "{origin}".',
    )


class _Document(Once):
    """Reads the operations of a document; shared parts are read once, so that the time is linear."""

    def __init__(
        self, root: JsonObject, connection: Connection, schemas: SchemaReader
    ) -> None:
        super().__init__()
        self._root = root
        self._schemas = schemas
        listed = only(dict, only(dict, root.get("components")).get("securitySchemes"))
        self._schemes = {
            name: read_scheme(name, schemas.resolved(scheme), connection)
            for name, scheme in listed.items()
        }
        self._secret_places = {
            (scheme["in"], scheme["name"].casefold())
            for scheme in self._schemes.values()
        }
        self._servers = Servers(root, connection)
        for scheme in self._schemes.values():
            token_source_of(connection, scheme)
        self._params_left = _MAX_PARAMS

    def catalog(self) -> Catalog:
        functions = []
        unusable = []
        for path, item in only(dict, self._root.get("paths")).items():
            shown = _name(path)
            try:
                item = self._schemas.needed(item, "path")  # noqa: PLW2901  # it may refer to another
            except UnusableError as error:
                unusable.append((shown, str(error)))
                continue
            for method in _METHODS:
                if method not in item:
                    continue
                name = f"{method.upper()} {shown}"
                try:
                    functions.append(self._function(name, path, method, item))
                except UnusableError as error:
                    unusable.append((name, str(error)))

        server, is_allowed = self._servers.first(self._root)
        if not functions and not is_allowed:
            raise _refused(server)
        if unusable:
            _report(unusable, len(functions))
        names = distinct([function.name for function in functions], "{} ({})", 2)
        named = zip(functions, names, strict=True)
        return Catalog(
            (function.changed(name=name) for function, name in named), unusable
        )

    def _function(
        self, name: str, path: str, method: str, item: JsonObject
    ) -> Function:
        if not path.startswith("/"):
            raise UnusableError("its path does not start with /")
        if self._params_left < 0:
            raise UnusableError(
                f"the document has more than {_MAX_PARAMS:,} parameters"
            )
        function = self.once(method, item, partial(self._operation, method))
        self._params_left -= len(function.params)
        if undescribed := list(self._undescribed(path, function)):
            function = function.changed(params=(*function.params, *undescribed))
        context = {**function.context, "path": path}
        # As FastAPI ends the names of its functions.
        end = f"{_NOT_WORD.sub('_', path)}_{method}"
        short = ""
        if function.name.endswith(end):
            short = function.name.removesuffix(end)
        return function.changed(
            name=function.name or name,
            short_name=short,
            entry_point=name,
            context=context,
        )

    def _undescribed(self, path: str, function: Function) -> Iterator[Param]:
        """Yield a required text for each place of a path that no parameter describes."""
        described = {
            param.context["name"]
            for param in function.params
            if param.context["in"] == "path"
        }
        for name in dict.fromkeys(PATH_VARIABLE.findall(path)):
            if name.strip() and name not in described:
                param = self._param(
                    {"in": "path", "name": name, **_style({}, "simple")},
                    None,
                    {},
                    required=True,
                )
                if any(other.name == name for other in function.params):
                    param = param.changed(name=f"path.{name}")
                yield param

    def _operation(self, method: str, item: JsonObject) -> Function:
        """Return an operation without its path."""
        operation = self._schemas.needed(item[method], "operation")
        server, is_allowed = self._servers.first(operation, item, self._root)
        if not is_allowed:
            raise UnusableError(f"{_ELSEWHERE} {quote(server)}")
        body = self._schemas.needed(operation.get("requestBody"), "body")
        sent, content_type = self.once("body", body, self._body)
        params = {}
        for param in sorted(
            (*self._parameters(item, operation), *sent), key=_is_beside
        ):
            place = param.name
            if param.name in params:
                place = f"{param.context['in']}.{param.name}"
            params[place] = param.changed(name=place)

        title, text = (
            prose(only(str, operation.get(key))[:_MAX_MARKED]).removesuffix(".")
            for key in ("summary", "description")
        )
        about = "\n\n".join(dict.fromkeys(filter(None, (title, text))))
        if operation.get("deprecated") is True:
            about = f"{DEPRECATED} {about}"
        accept, returns = self._reply(operation)
        return Function(
            name=_name(only(str, operation.get("operationId"))),
            description=clip(about, _MAX_TEXT),
            title=_name(title),
            params=tuple(params.values()),
            group_name=_name([*texts_in(operation.get("tags")), ""][0]),
            changes_data=method != "get",
            returns=self._schemas.replies.read(returns) or None,
            context={
                "method": method.upper(),
                "server": server,
                "accept": accept,
                "content_type": content_type,
                "needs_body": body.get("required") is True,
                "security": self.once(
                    "security",
                    operation.get("security", self._root.get("security")),
                    self._security,
                ),
            },
        )

    def _parameters(self, item: JsonObject, operation: JsonObject) -> Iterator[Param]:
        """Yield the parameters of an operation but for its body."""
        params = {}
        # An operation's own replace those of its path.
        for part in (
            *only(list, item.get("parameters")),
            *only(list, operation.get("parameters")),
        ):
            param = self._schemas.needed(part, "parameter")
            params[str(param.get("in")), only(str, param.get("name"))] = param

        for param in params.values():
            yield from self.once("parameter", param, self._parameter)

    def _parameter(self, about: JsonObject) -> list[Param]:
        """Return a parameter as it is listed; none if it can't be sent, and needn't be."""
        where = str(about.get("in"))
        name = only(str, about.get("name"))
        is_set_by_us = where == "header" and not HEADER.fullmatch(name)
        if is_set_by_us or (where, name.casefold()) in self._secret_places:
            return []
        required = where == "path" or about.get("required") is True
        style = _style(about, _STYLES.get(where, "simple"))
        is_simple = _is_simple(where, name, style["style"])
        if not (is_simple and name.strip()) or len(name) > _MAX_TEXT:
            if required:
                place = clip(inert(where), 20)
                raise UnusableError(
                    f"its {place} parameter {quote(name)} can't be sent"
                )
            return []

        content = only(dict, about.get("content"))
        schema = about.get("schema")
        if content:
            schema = only(dict, next(iter(content.values()))).get("schema")
        context = {"in": where, "name": name, **style, "json": bool(content)}
        return [self._param(context, schema, about, required=required)]

    def _param(
        self, context: JsonObject, schema: Any, about: JsonObject, *, required: bool
    ) -> Param:
        text = only(
            str,
            about.get("description") or said_of("description", schema, self._root),
        )
        own = None
        if schema or context["in"] == "body":
            own = self.once("parameter schema", schema, self._schemas.schema)
        param = Param(
            name=self.once("name", context["name"], inert),
            description=self.once(
                "text", text, lambda text: clip(prose(text[:_MAX_MARKED]), _MAX_TEXT)
            ),
            required=required,
            schema=own,
            context=context,
            encoding=Encoding.JSON,
        )
        if True in (
            about.get("deprecated"),
            said_of("deprecated", schema, self._root),
        ):
            description = f"{DEPRECATED} {param.description}".strip()
            return param.changed(description=description)
        return param

    def _body(self, body: JsonObject) -> tuple[list[Param], str]:
        """Return the parameters for the body, which is JSON, a form, text or a file, and its media type."""
        content = only(dict, body.get("content"))
        kinds = sorted(filter(MEDIA_TYPE.fullmatch, content), key=body_rank)
        is_needed = body.get("required") is True
        for kind in kinds:
            about = only(dict, content[kind])
            schema = self._schemas.needed(about.get("schema"), "body")
            named, required = self.once("properties", schema, self._schemas.properties)
            if _has_fields(kind, named):
                # A body is optional unless the document says otherwise, which most forget.
                if body.get("required") is False:
                    required = set()
                return list(self._filled_in(kind, named, required, about)), kind
            if not kind.startswith("multipart/"):
                return [self._whole_body(kind, body, about.get("schema"))], kind
            is_needed = is_needed or bool(named)

        # Without it, it would do something else.
        if is_needed:
            other = quote(next(iter(kinds or content), ""), 60)
            raise UnusableError(f"its body is {other}, which can't be filled in")
        return [], ""

    def _filled_in(
        self, kind: str, named: JsonObject, required: set[str], about: JsonObject
    ) -> Iterator[Param]:
        """Yield the parameters for the properties of a body."""
        styles = only(dict, about.get("encoding"))
        for name, part in named.items():
            if name.strip() and said_of("readOnly", part, self._root) is not True:
                yield self._part(
                    kind, name, part, styles.get(name), required=name in required
                )

    def _whole_body(self, kind: str, body: JsonObject, schema: Any) -> Param:
        """Return the parameter for a body that is one value."""
        is_json = JSON_BODY.fullmatch(kind)
        param = self._param(
            {"in": "body", "name": "body", "whole": True},
            schema if is_json else _TEXT,
            body,
            required=body.get("required") is True,
        )
        if is_json or TEXT_BODY.fullmatch(kind):
            return param
        return _as_file(param)

    def _part(
        self, kind: str, name: str, schema: Any, style: Any, *, required: bool
    ) -> Param:
        """Return the parameter for a property of a body; of a form it may be a file, or a list of files."""
        context = {"in": "body", "name": name, **_style(style)}
        param = self._param(context, schema, {}, required=required)
        part = self._only_kind(schema)
        are_several = part.get("type") == "array"
        if are_several:
            part = self._only_kind(part.get("items"))
        is_encoded = "contentEncoding" in part
        is_file = "contentMediaType" in part and not is_encoded
        if kind == MULTIPART and (is_file or part.get("format") == "binary"):
            return _as_file(param, are_several=are_several)
        return param

    def _only_kind(self, schema: Any) -> JsonObject:
        """Return a schema, or its only alternative but for null."""
        part = self._schemas.resolved(schema)
        alternatives = only(list, part.get("anyOf") or part.get("oneOf"))
        kinds = [
            kind
            for kind in map(self._schemas.resolved, alternatives)
            if kind.get("type") != "null"
        ]
        return kinds[0] if len(kinds) == 1 else part

    def _reply(self, operation: JsonObject) -> tuple[str, Any]:
        """Return the media type of a reply, JSON if there is one, and its schema."""
        responses = only(dict, operation.get("responses"))
        replies = {
            code: self.once("reply", self._schemas.resolved(reply), _content_of)
            for code, reply in responses.items()
        }
        kinds = {code[:1] for code in replies}
        if kinds & {"2", "3", "d"} == {"3"} and "303" not in replies:
            raise UnusableError("it redirects elsewhere")
        several = [reply for code, reply in replies.items() if code[:1] == "2"]
        # The first that names its type.
        reply = max(
            several or [replies.get("default", ("", None))],
            key=lambda reply: bool(reply[0]),
        )
        media_type, schema = reply
        if reply is replies.get("202"):  # it leads to another one
            schema = None
        return media_type or "application/json", schema

    def _security(self, security: Any) -> list[list[JsonObject]]:
        """Return the schemes of each alternative; without those of which nothing is known."""
        alternatives = only(list, security)[:_MAX_ALTERNATIVES]
        return [
            [
                {**self._schemes[name], "scopes": _scopes(scopes)}
                for name, scopes in only(dict, schemes).items()
                if name in self._schemes
            ]
            for schemes in alternatives
        ]


def _report(unusable: list[tuple[str, str]], usable: int) -> None:
    """Warn of operations that can't be run, with the reasons; raise a `ConfigError` if none can."""
    reasons = "; ".join(f"{name} ({reason})" for name, reason in unusable[:_SHOWN])
    if len(unusable) > _SHOWN:
        reasons += " …"
    hint = ""
    if any(UNREAD in reason for _, reason in unusable):
        hint = _FILES_HINT
    elif any(reason.startswith(_ELSEWHERE) for _, reason in unusable):
        hint = _SERVER_HINT
    if not usable:
        raise ConfigError(
            f"No operation of the OpenAPI document can be run: {reasons}", hint
        )

    total = usable + len(unusable)
    text = f"Left out {len(unusable):,} of {total:,} operations: {reasons}"
    if hint:
        text += f". {hint}"
    warn(text)


def _name(text: str) -> str:
    """Return a name of a document as it is shown."""
    return clip(inert(text), _MAX_NAME)


def _scopes(listed: Any) -> str:
    """Return what to say of the scopes that an operation takes."""
    scopes = " ".join(texts_in(listed))
    return scopes and f" (scopes: {_name(scopes)})"


def _is_simple(where: str, name: str, style: str) -> bool:
    """Return whether a parameter can be sent at a place in a style."""
    if where == "path":
        return style in {"simple", *DELIMITERS}
    return where in {"query", "header"} or (
        where == "cookie" and COOKIE.fullmatch(name) is not None
    )


def _has_fields(kind: str, named: JsonObject) -> bool:
    """Return whether the properties of a body are fields."""
    is_fitting = kind in {FORM_BODY, MULTIPART} or JSON_BODY.fullmatch(kind)
    return bool(is_fitting) and 0 < len(named) <= MOST_PROPERTIES


def _is_beside(param: Param) -> bool:
    """Return whether a parameter is one of those that few fill in, which come last."""
    return param.context["in"] in {"header", "cookie"} and not param.required


def _as_file(param: Param, *, are_several: bool = False) -> Param:
    schema: JsonObject = _FILE
    if are_several:
        schema = {"type": "array", "items": _FILE}
    return param.changed(schema=schema, encoding=Encoding.FILE)


def _content_of(reply: JsonObject) -> tuple[str, Any]:
    """Return the media type of a reply, best in JSON and empty if it may be of any, and its schema."""
    content = only(dict, reply.get("content"))
    kinds = [kind for kind in content if kind.isascii() and kind.isprintable()]
    kinds.sort(key=lambda kind: ("json" not in kind.lower(), "html" in kind.lower()))
    media_type = next(iter(kinds), "*/*")
    return media_type.replace("*/*", ""), only(dict, content.get(media_type)).get(
        "schema"
    )


def _style(about: Any, default: str = "form") -> JsonObject:
    about = only(dict, about)
    style = only(str, about.get("style")) or default
    explode = about.get("explode", style == "form") is True
    # Of a part of a form.
    kind = only(str, about.get("contentType")).partition(",")[0].strip()
    named = {}
    if MEDIA_TYPE.fullmatch(kind) and "*" not in kind:
        named = {"media_type": kind}
    return {"style": style, "explode": explode, "json": False, **named}
