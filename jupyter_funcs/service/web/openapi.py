"""The OpenAPI document of the wire: every path, every status, and the schema of every body."""

from __future__ import annotations

from datetime import datetime
from types import GenericAlias
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from jupyter_funcs.service.publishing.results import ARROW, JSON

_TEXT = {"type": "string"}


def _struct(title: str, description: str, /, **fields: Any) -> type[Struct]:
    """Define a component; a field is its type, or a tuple of type and default if it isn't required."""
    types = [(name, *field) if isinstance(field, tuple) else (name, field) for name, field in fields.items()]
    return msgspec.defstruct(title, types, namespace={"__doc__": description})


_PARAM = _struct(
    "Param",
    "A parameter of a function.",
    id=int,
    name=str,
    type=Annotated[int, Meta(description="0 text, 1 integer, 4 list of text, 6 symbol, 8 data set")],
    description=Annotated[str, Meta(description="starts with [Required] or [Optional]")],
    required=bool,
    functionId=int,
    sortValue=int,
    context=None,
    schema=Annotated[dict[str, Any], Meta(description="the JSON Schema (2020-12) of the values")],
)
_FUNCTION = _struct(
    "Function",
    "A function of the catalog.",
    id=int,
    name=Annotated[str, Meta(description="also the FunctionName of a run")],
    assetId=int,
    assetName=str,
    description=str,
    params=GenericAlias(list, _PARAM),
    sortValue=int,
    groupId=Annotated[int, Meta(description="0 for none")],
    groupName=str | None,
    authorId=int,
    authorUserName=str | None,
    isShared=bool,
    entryPoint=str,
    uniqueId=str,
    notebookId=str,
    notebookName=str | None,
    orgName=str | None,
    type=None,
    source=None,
    context=None,
)
_ARGS = Annotated[
    dict[str, Any] | UnsetType | None,
    Meta(
        description="by parameter name: texts and lists of texts, of which null and empty ones mean the default; "
        "with the header Funcs-Args: json, JSON by the parameter's schema, taken as it is"
    ),
]
_COMPONENTS = [
    _FUNCTION,
    _struct("Listing", "An empty object; other fields are ignored."),
    _struct(
        "Run",
        "A function and its arguments; other fields are ignored.",
        FunctionName=Annotated[str, Meta(description="the name of a function, as listed")],
        Args=(_ARGS, UNSET),
    ),
    _struct(
        "Result",
        "The result of a run; one of the two fields is null.",
        error=Annotated[str | None, Meta(description="why the function failed")],
        body=Annotated[str | None, Meta(description="a JSON document as text, usually a list of records")],
    ),
    _struct(
        "Login",
        "The credentials of a user.",
        email=str,
        password=Annotated[str, Meta(extra_json_schema={"format": "password"})],
    ),
    _struct("Token", "A bearer token.", token=str, expires=Annotated[datetime, Meta(tz=True, description="UTC")]),
    _struct("Health", "The service is alive.", status=Literal["ok"]),
    _struct("Failure", "Why the request was refused.", error=str, body=None),
    _struct(
        "ArgumentsFailure",
        "Which arguments are wrong.",
        error=str,
        body=None,
        arguments=Annotated[
            dict[str, list[str]], Meta(description="messages by argument; those about several have an empty name")
        ],
    ),
]
_, _SCHEMAS = msgspec.json.schema_components(_COMPONENTS, ref_template="#/components/schemas/{name}")


def _ref(kind: str, name: str) -> dict[str, str]:
    return {"$ref": f"#/components/{kind}/{name}"}


def _reply(
    description: str, *headers: str, schema: str | dict[str, Any] = "Failure", media_type: str = JSON, **more: Any
) -> dict[str, Any]:
    schema = _ref("schemas", schema) if isinstance(schema, str) else schema
    return {
        "description": description,
        "headers": {name: _ref("headers", name) for name in ("X-Request-Id", *headers)},
        "content": {media_type: {"schema": schema, **more}},
    }


def _body(schema: str, example: Any, *, required: bool = True) -> dict[str, Any]:
    return {"required": required, "content": {JSON: {"schema": _ref("schemas", schema), "example": example}}}


def _operation(
    method: str, name: str, summary: str, replies: dict[str, Any], *statuses: int, is_public: bool = False, **more: Any
) -> dict[str, Any]:
    """Describe the one method of a path, with its own replies and the statuses of its own refusals."""
    of_all = (403, 405, 500, *(() if is_public else (401,)), *((400, 408, 413, 415) if "requestBody" in more else ()))
    refusals = {str(status): _ref("responses", f"Failure{status}") for status in (*of_all, *statuses)}
    more |= {"security": []} if is_public else {}
    return {method: {"operationId": name, "summary": summary, "responses": refusals | replies, **more}}


_RUN_EXAMPLE = {
    "FunctionName": "Get Panel Daily",
    "Args": {"PanelName": "Demo Card Panel", "Symbol": "NVRA US EQUITY", "Dimensions": ["Region"]},
}
_FUNCTIONS = {"type": "array", "items": _ref("schemas", "Function")}
_LISTED = {"200": _reply("The user's functions.", "Funcs-Args", "X-Reply-Types", schema=_FUNCTIONS)}
_ITSELF = {"200": _reply("This document.", schema={"type": "object"})}
_HEALTHY = {"200": _reply("The service is as it should be.", schema="Health")}
_FAILURES = {
    400: _reply("The body is not valid JSON, or not the expected object."),
    401: _reply("The credentials are missing or not valid; the body is always the same.", "WWW-Authenticate"),
    403: _reply("Host or Origin is not one of the service's."),
    404: _reply("The user has no such function."),
    405: _reply("The path does not support this method.", "Allow"),
    408: _reply("The body did not arrive in time."),
    413: _reply("The body is larger than 1 MiB."),
    415: _reply("The content type of the body is not JSON."),
    422: _reply("Some arguments are wrong; all of them are named.", schema="ArgumentsFailure"),
    429: _reply("Too many runs of the user, or too many wrong logins.", "Retry-After"),
    500: _reply("The service failed, or ran out of memory."),
    503: _reply("The service is busy or stopping.", "Retry-After"),
    504: _reply("The run exceeded the time limit of the service."),
}

_RAN = _reply(
    "The result of the function. Errors of the function itself are returned here too, in `error`.",
    "Funcs-Warning",
    schema="Result",
    example={"error": None, "body": '[{"PanelName":"Demo Card Panel","ProviderName":"Synthetic Data Works"}]'},
)
_RAN["content"][ARROW] = {
    "schema": {"description": "A table as an Arrow IPC stream, if Accept prefers it (see the guide); not failures."}
}

DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {
        "title": "jupyter_funcs service",
        "version": "1",
        "description": "A catalog of functions: each user lists and runs the functions of their assets.",
        "license": {"name": "MIT", "identifier": "MIT"},
    },
    "servers": [{"url": "/"}],
    "security": [{"bearer": []}, {"apiKey": []}],
    "paths": {
        "/api/function/ListUserFunctions": _operation(
            "post",
            "listUserFunctions",
            "List the functions of the user.",
            _LISTED,
            requestBody=_body("Listing", {}, required=False),
        ),
        "/api/function/getAll": _operation("get", "getAll", "List the functions of the user.", _LISTED),
        "/api/function/runFunction": _operation(
            "post",
            "runFunction",
            "Run a function.",
            {"200": _RAN},
            *(404, 422, 429, 503, 504),
            requestBody=_body("Run", _RUN_EXAMPLE),
        ),
        "/api/account/login": _operation(
            "post",
            "login",
            "Get a token for an email or name and a password.",
            {
                "200": _reply("A token.", schema="Token"),
                "401": _reply("The email or password is wrong.", schema=_TEXT, media_type="text/plain"),
            },
            *(429, 503),
            requestBody=_body("Login", {"email": "ann@team.example", "password": "…"}),
            is_public=True,
        ),
        "/healthz": _operation("get", "health", "Check that the service is alive.", _HEALTHY, is_public=True),
        "/readyz": _operation("get", "ready", "Check that a run can start now.", _HEALTHY, 503, is_public=True),
        "/openapi.json": _operation("get", "openapi", "Get this document.", _ITSELF, is_public=True),
    },
    "components": {
        "securitySchemes": {
            "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
            "apiKey": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
        },
        "headers": {
            "X-Request-Id": {"schema": _TEXT, "description": "the caller's own if it is valid, else a new one"},
            "X-Reply-Types": {"schema": _TEXT, "description": "the media types in which runs may be answered"},
            "Funcs-Args": {
                "schema": _TEXT,
                "description": "json: a run with this header has typed arguments",
            },
            "Funcs-Warning": {"schema": _TEXT, "description": "what is lost in the result"},
            "Retry-After": {"schema": {"type": "integer", "minimum": 1}, "description": "seconds", "required": True},
            "Allow": {"schema": _TEXT, "description": "the supported methods", "required": True},
            "WWW-Authenticate": {"schema": _TEXT, "description": "the authentication scheme", "required": True},
        },
        "responses": {f"Failure{status}": reply for status, reply in _FAILURES.items()},
        "schemas": _SCHEMAS,
    },
}
"""The document served at ``/openapi.json``."""
