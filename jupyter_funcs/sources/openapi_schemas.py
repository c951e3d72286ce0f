"""The schemas of an OpenAPI document as JSON Schema, each with all that it refers to."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from jupyter_funcs.catalog.schemas import ReplySchemas, properties_of, said_of
from jupyter_funcs.core.json_decoding import JsonObject, Once, only, referred
from jupyter_funcs.core.text import clip
from jupyter_funcs.sources.openapi_files import why_unresolved
from jupyter_funcs.sources.openapi_requests import escaped

_MAX_STEPS = 20  # references or parts that lead to one thing
_MAX_DEFINITIONS = 200  # of one parameter's schema
# Of all parameters; those that refer to the same share them.
_MAX_ALL_DEFINITIONS = 1_000_000
_MAX_SCHEMA = 128 * 1024  # characters of one parameter's schema
_LONGEST_TEXT = 1000  # characters of the description of a part
# The parts of a schema that say something about the values; the rest, such as descriptions, is left out.
_SAID = re.compile(
    "type|enum|const|format|default|required|pattern|uniqueItems|multipleOf|(min|max|exclusiveM).*"
)
# The parts that are schemas themselves, or by name.
_INNER = {
    "items",
    "additionalProperties",
    "not",
    "allOf",
    "anyOf",
    "oneOf",
    "prefixItems",
}
_NAMED = {"properties", "patternProperties"}


class UnusableError(Exception):
    """Why an operation can't be run."""


class SchemaReader(Once):
    """Reads the schemas of a document; each is read once, so that the time is linear."""

    def __init__(self, root: JsonObject) -> None:
        super().__init__()
        self._root = root
        self.replies = ReplySchemas(root)
        self._components = (
            "#/components/schemas/" if root.get("openapi") else "#/definitions/"
        )
        self._named: JsonObject = {}  # what references lead to
        # The keys are the names that lead to them.
        self._definitions: dict[tuple[str, ...], tuple[JsonObject, float]] = {}
        self._left_definitions = _MAX_ALL_DEFINITIONS

    def properties(self, schema: JsonObject) -> tuple[JsonObject, set[str]]:
        """Return the properties of an object and which it requires; none if it may be anything else."""
        named, required = properties_of(
            schema, lambda ref: self.needed({"$ref": ref}, "body")
        )
        return named | dict.fromkeys(sorted(required - named.keys()), True), required

    def resolved(self, part: Any) -> JsonObject:
        """Return an object of the document, or what its reference leads to; empty if that is none."""
        return self._followed(part)[0]

    def needed(self, part: Any, what: str) -> JsonObject:
        """Return what an operation can't do without; raise an `UnusableError` if its reference leads nowhere."""
        resolved, ref = self._followed(part)
        if ref is not None:
            raise UnusableError(f"its {what} {why_unresolved(ref, self._root)}")
        return resolved

    def _followed(self, part: Any) -> tuple[JsonObject, Any]:
        """Return an object of the document, or the reference that leads to none."""
        ref = None
        for _ in range(_MAX_STEPS):
            if not isinstance(part, dict):
                return {}, ref
            if (ref := part.get("$ref")) is None:
                return part, None
            part = referred(ref, self._root)

        return {}, ref

    def schema(self, part: Any) -> Any:
        """Return a schema with all that it refers to in its ``$defs``; ``True`` if that is too much, or nothing."""
        schema, names, size = self.once("schema", part, self._convert)
        key = tuple(names)
        if key not in self._definitions:
            self._definitions[key] = self._definitions_of(names)
        definitions, more = self._definitions[key]
        if size + more > _MAX_SCHEMA or not schema:
            return True
        if definitions:
            return {**schema, "$defs": definitions}
        return schema

    def _definitions_of(self, names: list[str]) -> tuple[JsonObject, float]:
        """Return what some names lead to, and its size: endless if it is too much."""
        pending = list(names)
        definitions = {}
        size = 0
        while pending:
            name = pending.pop()
            if name in definitions:
                continue
            self._left_definitions -= 1
            definitions[name], more, length = self.once(
                "schema", self._named[name], self._convert
            )
            pending += more
            size += length
            if (
                size > _MAX_SCHEMA
                or len(definitions) > _MAX_DEFINITIONS
                or self._left_definitions < 0
            ):
                return {}, math.inf

        return definitions, size

    def _convert(self, schema: Any) -> tuple[Any, list[str], int]:
        """Return a schema as JSON Schema, the names of what it refers to, and its size."""
        names: dict[str, None] = {}
        plain = self._plain(schema, names)
        return plain, list(names), len(json.dumps(plain))

    def _plain(self, schema: Any, names: dict[str, None]) -> Any:
        """Return a schema of OpenAPI 3.0 or 3.1 as JSON Schema; what can't be looked up here may be anything."""
        if not isinstance(schema, dict):
            return schema is not False
        plain = {word: value for word, value in schema.items() if _SAID.fullmatch(word)}
        if "$ref" in schema:
            part = referred(schema["$ref"], self._root)
            if part is None:
                return True
            name = schema["$ref"].removeprefix(self._components)
            self._named[name] = part
            names[name] = None
            plain["$ref"] = (
                f"#/$defs/{escaped(name.replace('~', '~0').replace('/', '~1'))}"
            )

        for word, inner in schema.items():
            if word in _NAMED and isinstance(inner, dict):
                plain[word] = {
                    name: self._property(part, names) for name, part in inner.items()
                }
            elif word in _INNER:
                plain[word] = self._inner(inner, names)

        _convert_bounds(plain)
        if True in (schema.get("nullable"), schema.get("x-nullable")):
            return {"anyOf": [plain, {"type": "null"}]}
        return plain

    def _inner(self, inner: Any, names: dict[str, None]) -> Any:
        if isinstance(inner, list):
            return [self._plain(part, names) for part in inner]
        return self._plain(inner, names)

    def _property(self, schema: Any, names: dict[str, None]) -> Any:
        """Return the schema of a part of an object, with its description, and whether only the server sets it."""
        plain = self._plain(schema, names)
        text = only(str, said_of("description", schema, self._root))
        about: JsonObject = {}
        if text:
            about["description"] = clip(text, _LONGEST_TEXT)
        if said_of("readOnly", schema, self._root) is True:
            about["readOnly"] = True
        if about:
            return {**only(dict, plain), **about}
        return plain


def _convert_bounds(schema: JsonObject) -> None:
    # Of 3.0: true if the minimum itself is excluded.
    for word in ("Minimum", "Maximum"):
        if isinstance(schema.get(f"exclusive{word}"), bool) and schema.pop(
            f"exclusive{word}"
        ):
            schema[f"exclusive{word}"] = schema.pop(word.lower(), None)
