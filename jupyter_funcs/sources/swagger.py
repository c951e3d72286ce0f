"""Swagger 2.0 documents, read as OpenAPI 3."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from jupyter_funcs.core.json_decoding import JsonObject, Once, only, texts_in
from jupyter_funcs.sources.openapi_requests import FORM_BODY, MULTIPART

if TYPE_CHECKING:
    from collections.abc import Callable

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
# What a parameter says of itself; the rest is its schema.
_DESCRIBED = ("description", "required", "deprecated")
_OF_PARAMETER = {"name", "in", "collectionFormat", "allowEmptyValue", *_DESCRIBED}
_STYLES = {"ssv": "spaceDelimited", "pipes": "pipeDelimited", "tsv": "tabDelimited"}
_FILE = {"type": "string", "format": "binary"}
_OF_FLOW = ("authorizationUrl", "tokenUrl", "scopes")
_FLOWS = {"application": "clientCredentials", "accessCode": "authorizationCode"}


class SwaggerDocument(Once):
    """Converts a document; shared parts are converted once, so that the time is linear."""

    def __init__(self, root: JsonObject, resolved: Callable[[Any], JsonObject]) -> None:
        super().__init__()
        self._root = root
        self._resolved = resolved

    def as_openapi(self) -> JsonObject:
        """Return the document as OpenAPI 3; its schemas stay where they are."""
        root = self._root
        definitions = only(dict, root.get("securityDefinitions"))
        schemes = {
            name: _scheme(self._resolved(scheme))
            for name, scheme in definitions.items()
        }
        components = {"securitySchemes": schemes}
        paths = {
            path: self._path(item)
            for path, item in only(dict, root.get("paths")).items()
        }
        return {
            **root,
            "servers": self._servers(root),
            "components": components,
            "paths": paths,
        }

    def _servers(self, place: JsonObject) -> list[JsonObject]:
        """Return the servers of the document, or of an operation that has its own schemes."""
        host, base = (
            only(str, self._root.get(key)).strip() for key in ("host", "basePath")
        )
        base = f"/{base.strip('/')}"
        if not host:
            return [{"url": base}]
        offered = only(list, place.get("schemes"))
        schemes = [scheme for scheme in ("https", "http") if scheme in offered]
        # Without schemes it is the one of the document's address: a file has none.
        origins = [f"{scheme}:" for scheme in schemes] or ["https:", ""]
        return [{"url": f"{origin}//{host}{base}"} for origin in origins]

    def _path(self, item: Any) -> Any:
        """Return a path item, or a reference that leads nowhere as it is."""
        resolved = self._resolved(item)
        if resolved:
            return self.once("item", resolved, self._item)
        return item

    def _item(self, item: JsonObject) -> JsonObject:
        params, bodies = self._parameters(item)
        converted = {**item, "parameters": params}
        for method in _METHODS:
            if operation := self._resolved(item.get(method)):
                converted[method] = self._operation(operation, bodies)
        return converted

    def _operation(self, operation: JsonObject, shared: list[JsonObject]) -> JsonObject:
        params, bodies = self._parameters(operation)
        converted = {**operation, "parameters": params}
        if "schemes" in operation:
            converted["servers"] = self._servers(operation)
        if bodies := bodies or shared:
            converted["requestBody"] = self._body(
                bodies, self._kinds(operation, "consumes")
            )

        kinds = self._kinds(operation, "produces")
        read = partial(self.once, ("reply", id(kinds)), read=partial(_reply, kinds))
        replies = only(dict, operation.get("responses"))
        converted["responses"] = {
            code: read(self._resolved(reply)) for code, reply in replies.items()
        }
        return converted

    def _kinds(self, operation: JsonObject, key: str) -> list[Any]:
        return only(list, operation.get(key, self._root.get(key)))

    def _parameters(
        self, place: JsonObject
    ) -> tuple[list[JsonObject], list[JsonObject]]:
        """Return the parameters of a path or an operation, and those that make up its body."""
        params = []
        bodies = []
        for param in only(list, place.get("parameters")):
            resolved = self._resolved(param)
            if resolved.get("in") in ("body", "formData"):
                bodies.append(resolved)
            elif resolved:
                params.append(self.once("parameter", resolved, _parameter))
            else:
                params.append(param)

        return params, bodies

    def _body(self, params: list[JsonObject], consumes: list[Any]) -> JsonObject:
        """Return the body that a parameter is, or that the fields of a form make up."""
        for param in params:
            if param["in"] == "body":
                about = {"schema": param.get("schema", {})}
                kinds = texts_in(consumes) or ["application/json"]
                content = dict.fromkeys(kinds, about)
                return {**_described(param), "content": content}

        return self._form(params, consumes)

    @staticmethod
    def _form(params: list[JsonObject], consumes: list[Any]) -> JsonObject:
        fields = {str(param.get("name")): param for param in params}
        required = [
            name for name, param in fields.items() if param.get("required") is True
        ]
        properties = {name: _schema(param) for name, param in fields.items()}
        is_upload = any(param.get("type") == "file" for param in params)
        kind = FORM_BODY
        if is_upload or (MULTIPART in consumes and FORM_BODY not in consumes):
            kind = MULTIPART
        styles = {
            name: _style(param, "form")
            for name, param in fields.items()
            if param.get("type") == "array"
        }
        schema = {"type": "object", "properties": properties, "required": required}
        return {
            "required": bool(required),
            "content": {kind: {"schema": schema, "encoding": styles}},
        }


def _parameter(param: JsonObject) -> JsonObject:
    where = param.get("in")
    converted = {**_described(param), "name": param.get("name"), "in": where}
    if param.get("type") == "array":
        plain = "simple"
        if where == "query":
            plain = "form"
        converted |= _style(param, plain)

    return {**converted, "schema": _schema(param)}


def _described(param: JsonObject) -> JsonObject:
    return {key: param[key] for key in _DESCRIBED if key in param}


def _schema(param: JsonObject) -> Any:
    """Return the schema of a parameter, which says itself what its values are."""
    if "schema" in param:  # as in OpenAPI 3
        return param["schema"]
    schema = {key: value for key, value in param.items() if key not in _OF_PARAMETER}
    if schema.get("type") == "file":
        return _FILE
    return schema


def _style(param: JsonObject, plain: str) -> JsonObject:
    separated = only(str, param.get("collectionFormat"))
    return {"style": _STYLES.get(separated, plain), "explode": separated == "multi"}


def _reply(produces: list[Any], reply: JsonObject) -> JsonObject:
    """Return a response with the media types that its operation produces."""
    schema = reply.get("schema")
    kinds = texts_in(produces)
    if schema is None and any("html" in kind for kind in kinds):  # many have no body
        return reply
    if only(dict, schema).get("type") == "file":
        schema = _FILE
    about = {}
    if schema is not None:
        about["schema"] = schema
    return {**reply, "content": dict.fromkeys(kinds, about)}


def _scheme(scheme: JsonObject) -> JsonObject:
    match scheme.get("type"):
        case "basic":
            return {"type": "http", "scheme": "basic"}
        case "oauth2":
            name = only(str, scheme.get("flow"))
            flow = {key: scheme[key] for key in _OF_FLOW if key in scheme}
            return {"type": "oauth2", "flows": {_FLOWS.get(name, name): flow}}

    return scheme
