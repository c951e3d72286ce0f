"""
How many replies of public OpenAPI documents become a table of their rows.

    FUNCS_DOCUMENTS=folder python -m tests.benchmarks.replies            # 300 documents
    FUNCS_DOCUMENTS=folder python -m tests.benchmarks.replies --most 900 --show 20

The folder holds documents as their publishers give them, in JSON or YAML; none of them is a part of the project. Each
operation that reads (GET) is run as a user would run it. A made-up server answers with an example of the reply's
schema, in which each list has three items and each value occurs once. A list operation is one whose example has a
single list of objects, at any of the first three depths, and whose path does not end with a parameter. Its rows are
found if the frame has the three items as its rows, in their own values. No test runs this.
"""
# ruff: noqa: T201 - it prints a table

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx
import yaml

import jupyter_funcs as jf
from jupyter_funcs.core.json_decoding import only, referred
from tests.benchmarks.documents import documents

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

SERVER = "https://api.example"
ITEMS = 3  # of each list
DEEPEST = 7  # level of an example
LARGEST = 3_000_000  # bytes of a document


class Outcome(NamedTuple):
    """What became of the example of one operation."""

    operation: str
    example: Any
    is_found: bool
    problem: str


class Examples:
    """Examples of the schemas of one document."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self._values = 0

    def resolved(self, part: Any) -> dict[str, Any]:
        """Return a part of the document, or what its reference leads to."""
        for _ in range(20):
            if "$ref" not in only(dict, part):
                return only(dict, part)
            part = referred(part["$ref"], self._document)
        return {}

    def of(self, schema: Any, depth: int = 0) -> Any:
        """Return an example of a schema."""
        if depth > DEEPEST:
            return None
        schema = self._merged(schema)
        match _type_of(schema):
            case "array":
                return [self.of(schema.get("items"), depth + 1) for _ in range(ITEMS)]
            case "object":
                properties = only(dict, schema.get("properties"))
                return {
                    str(name): self.of(inner, depth + 1)
                    for name, inner in properties.items()
                }
        self._values += 1
        return _value_of(schema, self._values)

    def _merged(self, schema: Any, depth: int = 0) -> dict[str, Any]:
        """Return a schema with the parts of its ``allOf``, and the first of its alternatives."""
        schema = self.resolved(schema)
        if depth > DEEPEST:
            return schema
        for word in ("anyOf", "oneOf"):
            if alternatives := [
                self.resolved(part) for part in only(list, schema.get(word))
            ]:
                usable = [part for part in alternatives if part.get("type") != "null"]
                rest = {key: value for key, value in schema.items() if key != word}
                schema = {
                    **rest,
                    **self._merged((usable or alternatives)[0], depth + 1),
                }
        parts = [
            self._merged(part, depth + 1) for part in only(list, schema.get("allOf"))
        ]
        properties: dict[str, Any] = {}
        for part in [*parts, schema]:
            properties |= only(dict, part.get("properties"))
        for part in parts:
            schema = {**part, **schema}
        return {**schema, "properties": properties} if properties else schema


def _type_of(schema: dict[str, Any]) -> str:
    types = schema.get("type")
    if isinstance(types, list):
        types = next((name for name in types if name != "null"), None)
    if types:
        return str(types)
    if schema.get("properties"):
        return "object"
    return "array" if schema.get("items") else "string"


def _value_of(schema: dict[str, Any], number: int) -> Any:
    kind = _type_of(schema)
    if kind in {"integer", "number", "boolean"}:
        return {"integer": number, "number": number + 0.5, "boolean": False}[kind]
    if options := only(list, schema.get("enum")):
        return options[0]
    day = f"{1000 + number % 9000}-01-01"
    return {"date": day, "date-time": f"{day}T00:00:00Z"}.get(
        str(schema.get("format")), f"text {number}"
    )


def operations(
    document: dict[str, Any], examples: Examples
) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Yield each operation that reads, and whose reply is JSON: its path, itself, and an example of the reply."""
    for path, item in only(dict, document.get("paths")).items():
        operation = only(dict, examples.resolved(item).get("get"))
        replies = only(dict, operation.get("responses"))
        code = next((code for code in replies if str(code).startswith("2")), "default")
        content = only(dict, examples.resolved(replies.get(code)).get("content"))
        schema = next(
            (
                only(dict, about).get("schema")
                for kind, about in content.items()
                if "json" in kind
            ),
            None,
        )
        if schema is not None:
            yield path, operation, examples.of(schema)


def lists(value: Any, depth: int = 0) -> list[list[dict[str, Any]]]:
    """Return the lists of objects in the first three depths of a reply."""
    if isinstance(value, list):
        return (
            [value]
            if value and all(isinstance(item, dict) and item for item in value)
            else []
        )
    if not isinstance(value, dict) or depth == ITEMS:
        return []
    return [rows for inner in value.values() for rows in lists(inner, depth + 1)]


def has_rows(frame: pd.DataFrame, rows: list[dict[str, Any]]) -> bool:
    """Return whether a frame has a row for each object, with the plain values of the objects."""
    if len(frame) != len(rows):
        return False
    plain = [
        name
        for name, value in rows[0].items()
        if isinstance(value, (int, str)) and name in frame
    ]
    if not plain:
        return True  # objects of objects only: their columns have dotted names
    shown = [str(value) for value in frame[plain[0]]]
    return [value.removesuffix("+00:00")[:10] for value in shown] == [
        str(row[plain[0]])[:10] for row in rows
    ]


def outcomes(path: Path) -> Iterator[Outcome]:
    """Run the operations of a document, and yield what became of their replies."""
    text = path.read_bytes()
    document = (
        json.loads(text)
        if text.lstrip()[:1] == b"{"
        else yaml.load(text, yaml.CSafeLoader)
    )
    if not isinstance(document, dict) or not str(
        document.get("openapi", "")
    ).startswith("3"):
        return
    examples = Examples(document)
    replies = {}
    for place, operation, example in operations(document, examples):
        operation.pop("servers", None)
        operation["security"] = []
        replies[f"GET {place}"] = example
    document["servers"] = [{"url": SERVER}]
    answers: list[Any] = []
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=answers[-1]))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "openapi.json")
        file.write_text(json.dumps(document, default=str), "utf-8")
        funcs = jf.connect(str(file), allow_server=SERVER, transport=transport)
        for name in funcs.names:
            function = funcs[name]
            operation_name = function.function.entry_point
            if operation_name not in replies or operation_name.endswith("}"):
                continue
            example = replies[operation_name]
            candidates = lists(example)
            if len(candidates) != 1:
                continue
            answers.append(example)
            required = {field.name: "1" for field in function.fields if field.required}
            try:
                frame = function.with_options(validate=False, cache=False)(**required)
            except jf.FuncsError as error:
                yield Outcome(
                    operation_name, example, is_found=False, problem=str(error)
                )
                continue
            yield Outcome(
                operation_name,
                example,
                is_found=has_rows(frame, candidates[0]),
                problem=f"{list(frame)}",
            )


def chosen(folder: Path, most: int) -> list[Path]:
    """Return documents of a folder in a fixed order, one of each publisher's versions."""
    files = [file for file in documents(folder, 1) if file.stat().st_size <= LARGEST]
    random.Random(7).shuffle(files)
    publishers: dict[str, Path] = {}
    for file in files:
        publishers.setdefault(
            "".join(char for char in file.stem if char.isalpha()), file
        )
    return list(publishers.values())[:most]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, default=300, help="documents")
    parser.add_argument(
        "--show", type=int, default=0, help="replies whose rows were not found"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    missed = []
    for path in chosen(Path(os.environ["FUNCS_DOCUMENTS"]), options.most):
        try:
            results = list(outcomes(path))
        except (ValueError, yaml.YAMLError, jf.FuncsError, RecursionError) as error:
            counts[f"not read: {type(error).__name__}"] += 1
            continue
        counts["documents"] += 1
        counts["list operations"] += len(results)
        counts["rows found"] += sum(outcome.is_found for outcome in results)
        missed += [(path.name, outcome) for outcome in results if not outcome.is_found]
    for what, count in counts.items():
        print(f"{what:40} {count:8,}")
    print(
        f"{'share':40} {counts['rows found'] / max(counts['list operations'], 1):8.1%}"
    )
    for name, outcome in missed[: options.show]:
        print(
            f"\n{name} {outcome.operation}\n  {json.dumps(outcome.example)[:300]}\n  {outcome.problem[:300]}"
        )


if __name__ == "__main__":
    main()
