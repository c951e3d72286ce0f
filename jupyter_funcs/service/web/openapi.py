"""The OpenAPI document of the wire, as a table: every address, every status, and the schema of every body."""

from __future__ import annotations

from typing import Any

from .answers import ARROW, JSON

_TEXT = {"type": "string"}
_TEXT_OR_NULL = {"type": ["string", "null"]}
_NULL = {"type": "null"}
_INTEGER = {"type": "integer"}
_BOOLEAN = {"type": "boolean"}


def _ref(schema: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{schema}"}


def _object(description: str, properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    """Give the schema of an object; all of its properties are required unless `required` says which."""
    every = list(properties) if required is None else required
    return {"type": "object", "description": description, "properties": properties, "required": every}


def _answer(description: str, schema: dict[str, Any], *, example: Any = None, media_type: str = JSON) -> dict[str, Any]:
    body = {"schema": schema} if example is None else {"schema": schema, "example": example}
    return {
        "description": description,
        "headers": {"X-Request-Id": _header("X-Request-Id")},
        "content": {media_type: body},
    }


def _header(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/headers/{name}"}


def _refusal(description: str, text: str, *headers: str) -> dict[str, Any]:
    answer = _answer(description, _ref("Failure"), example={"error": text, "body": None})
    answer["headers"] |= {name: _header(name) for name in headers}
    return answer


def _body(schema: str, example: Any, *, required: bool = True) -> dict[str, Any]:
    return {"required": required, "content": {JSON: {"schema": _ref(schema), "example": example}}}


def _needs(*names: str) -> dict[str, Any]:
    """Give the answers to refused requests, by status."""
    return {name: {"$ref": f"#/components/responses/{_REFUSAL_NAMES[name]}"} for name in names}


_REFUSAL_NAMES = {
    "400": "BadRequest",
    "401": "Unauthorized",
    "403": "Forbidden",
    "404": "NoSuchFunction",
    "405": "NotAllowed",
    "408": "TooSlow",
    "413": "TooLarge",
    "415": "NotJson",
    "422": "WrongArguments",
    "429": "TooMany",
    "500": "Failed",
    "503": "Busy",
    "504": "TookTooLong",
}
_EVERYWHERE = ("403", "405", "500")
_WITH_TOKEN = ("401", *_EVERYWHERE)
_WITH_BODY = ("400", "408", "413", "415")

_RUN_EXAMPLE = {
    "FunctionName": "Get Panel Daily",
    "Args": {"PanelName": "Demo Card Panel", "Symbol": "NVRA US EQUITY", "Dimensions": ["Region"]},
}
_LISTED = _answer("The functions of the assets of who asks.", {"type": "array", "items": _ref("Function")})

_PARAM = _object(
    "A parameter of a function.",
    {
        "id": _INTEGER,
        "name": _TEXT,
        "type": {"type": "integer", "description": "0 text, 1 integer, 4 list of text, 6 symbol, 8 panel"},
        "description": {"type": "string", "description": "begins with [Required] or [Optional]"},
        "required": _BOOLEAN,
        "functionId": _INTEGER,
        "sortValue": _INTEGER,
        "context": _NULL,
    },
)
_FUNCTION = _object(
    "A function of the catalog.",
    {
        "id": _INTEGER,
        "name": {"type": "string", "description": "also the FunctionName of a run"},
        "assetId": _INTEGER,
        "assetName": _TEXT,
        "description": _TEXT,
        "params": {"type": "array", "items": _ref("Param")},
        "sortValue": _INTEGER,
        "groupId": {"type": "integer", "description": "0 for none"},
        "groupName": _TEXT_OR_NULL,
        "authorId": _INTEGER,
        "authorUserName": _TEXT_OR_NULL,
        "isShared": _BOOLEAN,
        "entryPoint": _TEXT,
        "uniqueId": _TEXT,
        "notebookId": _TEXT,
        "notebookName": _TEXT_OR_NULL,
        "orgName": _TEXT_OR_NULL,
        "type": _NULL,
        "source": _NULL,
        "context": _NULL,
    },
)

_SCHEMAS = {
    "Function": _FUNCTION,
    "Param": _PARAM,
    "Listing": {"type": "object", "description": "An empty object; further fields are ignored."},
    "Run": _object(
        "A function and its arguments; further fields are ignored.",
        {
            "FunctionName": {"type": "string", "description": "the name of a function, as the listing has it"},
            "Args": {
                "type": ["object", "null"],
                "description": "by the name of the parameter; absent, null and empty values mean the default",
                "additionalProperties": {"type": ["string", "number", "boolean", "array", "null"]},
            },
        },
        ["FunctionName"],
    ),
    "Result": _object(
        "What a run gave: one of the two is null.",
        {
            "error": {"type": ["string", "null"], "description": "why the function failed"},
            "body": {"type": ["string", "null"], "description": "the text of a JSON document, most often of records"},
        },
    ),
    "Login": _object("Who logs in.", {"email": _TEXT, "password": {"type": "string", "format": "password"}}),
    "Token": _object(
        "A bearer token.", {"token": _TEXT, "expires": {"type": "string", "format": "date-time", "description": "UTC"}}
    ),
    "Health": _object("That the service answers.", {"status": {"const": "ok"}}),
    "Failure": _object("Why the request was refused.", {"error": _TEXT, "body": _NULL}),
    "ArgumentsFailure": _object(
        "Which arguments are wrong.",
        {
            "error": _TEXT,
            "body": _NULL,
            "arguments": {
                "type": "object",
                "description": "what is wrong, by argument; the empty name holds what concerns several",
                "additionalProperties": {"type": "array", "items": _TEXT},
            },
        },
    ),
}

_REFUSALS = {
    "400": _refusal("The body is not JSON, or not the object that is asked for.", "The request body is not JSON: …"),
    "401": _refusal(
        "There is no valid token or API key; always the same body.",
        "The token or API key is absent, expired or not valid. Send one as 'Authorization: Bearer …' or 'X-Api-Key'.",
        "WWW-Authenticate",
    ),
    "403": _refusal(
        "Host or Origin is not one of the service's.",
        "This service is not called 'other.example'. Use its own address; …",
    ),
    "404": _refusal("The user has no such function.", "No function 'Get Panel'. Did you mean 'Get Panels'? …"),
    "405": _refusal("The address does not take this method.", "/healthz takes GET, HEAD, not POST.", "Allow"),
    "408": _refusal("The body did not arrive in time.", "The request body did not arrive within 30 seconds. …"),
    "413": _refusal("The body is larger than 1 MiB.", "The request body is larger than 1048576 bytes. …"),
    "415": _refusal("The body is not sent as JSON.", "The content type is 'text/plain'. Send 'application/json'."),
    "422": _answer("Arguments are wrong; every one is named.", _ref("ArgumentsFailure")),
    "429": _refusal("The user, name or address has taken all it may.", "Too many wrong passwords. …", "Retry-After"),
    "500": _refusal("The service failed, or its memory did not suffice.", "The service failed. …"),
    "503": _refusal("The service is busy or stopping.", "The service is busy. Try again in 1 s.", "Retry-After"),
    "504": _refusal("The run took longer than the service's limit.", "The run was stopped, for it took longer …"),
}

_RAN = _answer(
    "What the function gave. A function that fails by itself is answered here too, with its error.",
    _ref("Result"),
    example={"error": None, "body": '[{"PanelName":"Demo Card Panel","ProviderName":"Synthetic Data Works"}]'},
)
_RAN["content"][ARROW] = {
    "schema": {"description": "A table as an Arrow IPC stream, for who prefers it in Accept; failures stay JSON."}
}

DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {
        "title": "jupyter_funcs service",
        "version": "1",
        "description": "A catalog of functions: each user lists and runs those of the assets assigned to them.",
        "license": {"name": "MIT", "identifier": "MIT"},
    },
    "servers": [{"url": "/"}],
    "security": [{"bearer": []}, {"apiKey": []}],
    "paths": {
        "/api/function/ListUserFunctions": {
            "post": {
                "operationId": "listUserFunctions",
                "summary": "List the functions of the user.",
                "requestBody": _body("Listing", {}, required=False),
                "responses": {"200": _LISTED, **_needs(*_WITH_TOKEN, *_WITH_BODY)},
            }
        },
        "/api/function/getAll": {
            "get": {
                "operationId": "getAll",
                "summary": "List the functions of the user.",
                "responses": {"200": _LISTED, **_needs(*_WITH_TOKEN)},
            }
        },
        "/api/function/runFunction": {
            "post": {
                "operationId": "runFunction",
                "summary": "Run a function.",
                "requestBody": _body("Run", _RUN_EXAMPLE),
                "responses": {
                    "200": _RAN,
                    **_needs(*_WITH_TOKEN, *_WITH_BODY, "404", "422", "429", "503", "504"),
                },
            }
        },
        "/api/account/login": {
            "post": {
                "operationId": "login",
                "summary": "Get a token for an email or name and a password.",
                "security": [],
                "requestBody": _body("Login", {"email": "ann@team.example", "password": "…"}),
                "responses": {
                    "200": _answer("A token.", _ref("Token")),
                    "401": _answer("The email or the password is wrong.", _TEXT, media_type="text/plain"),
                    **_needs(*_EVERYWHERE, *_WITH_BODY, "429", "503"),
                },
            }
        },
        "/healthz": {
            "get": {
                "operationId": "health",
                "summary": "Say that the service answers.",
                "security": [],
                "responses": {"200": _answer("It does.", _ref("Health")), **_needs(*_EVERYWHERE)},
            }
        },
        "/openapi.json": {
            "get": {
                "operationId": "openapi",
                "summary": "Give this document.",
                "security": [],
                "responses": {"200": _answer("This document.", {"type": "object"}), **_needs(*_EVERYWHERE)},
            }
        },
    },
    "components": {
        "securitySchemes": {
            "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
            "apiKey": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
        },
        "headers": {
            "X-Request-Id": {"schema": _TEXT, "description": "the caller's own where it is sane, else a new one"},
            "Retry-After": {"schema": {"type": "integer", "minimum": 1}, "description": "seconds", "required": True},
            "Allow": {"schema": _TEXT, "description": "the methods that it takes", "required": True},
            "WWW-Authenticate": {"schema": _TEXT, "description": "how to say who asks", "required": True},
        },
        "responses": {_REFUSAL_NAMES[status]: answer for status, answer in _REFUSALS.items()},
        "schemas": _SCHEMAS,
    },
}
"""The document, as it is served at ``/openapi.json``."""
