"""
How right a form is for parameters that other people described: what is read from their words against what they declare.

    pip install ansible altair botocore google-api-python-client openbb-fmp openbb-yfinance openai polars scikit-learn \
        scipy statsmodels stripe xarray
    python -m tests.benchmarks.descriptions                # every world whose package is installed
    python -m tests.benchmarks.descriptions aws --show 20  # and what was read wrongly, for tuning

A world is the parameters of one package: their names and descriptions, which are listed without a schema as a service
would list them, and the kinds, options, defaults and bounds that the package declares in machine-readable form, which
the reader never sees. Readers are tuned on the worlds marked with a star only; nobody looks into the others.

harmed: parameters for which a valid value (each declared option, a bound, a number, a flag, a day, a list of two
values) is refused, or is sent as anything but itself. exact: those whose options were read, and no
other. The columns after that count what is right. Options, defaults and bounds count where the words hold what is
declared; no reader could know the others. No test runs this.
"""
# ruff: noqa: T201 - it prints a table

from __future__ import annotations

import argparse
import ast
import hashlib
import html
import importlib
import inspect
import itertools
import json
import re
import time
import warnings
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from jupyter_funcs.catalog.fields import Field, Kind, read_fields
from jupyter_funcs.catalog.listing import Function
from jupyter_funcs.catalog.values import accept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MOST = 4000  # parameters of one world, chosen by the hash of their text
COLUMNS = ("harmed", "exact", "kinds", "defaults", "lows", "highs")


class Declared(NamedTuple):
    """One parameter, and what its package declares about it."""

    name: str
    description: str
    kind: str  # string, integer, number, boolean, date or another format
    is_list: bool = False
    options: tuple[str, ...] = ()
    default: str | None = None
    low: float | None = None
    high: float | None = None


Functions: TypeAlias = "Iterator[tuple[str, list[Declared]]]"


def from_schema(
    name: str, schema: dict[str, Any], description: str | None = None
) -> Declared:
    """Return what a JSON Schema, or Google's form of one, says of a parameter."""
    is_list = schema.get("type") == "array" or bool(schema.get("repeated"))
    value_schema = schema.get("items", schema) if is_list else schema
    some = [
        option
        for option in value_schema.get("anyOf", ())
        if option.get("type") != "null"
    ]
    value_schema = some[0] if len(some) == 1 else value_schema
    kind = str(value_schema.get("type", "any")) if not some or len(some) == 1 else "any"
    options = value_schema.get("enum", ())
    if kind == "string":
        kind = {"date": "date", "int32": "integer", "int64": "integer"}.get(
            str(value_schema.get("format")), kind
        )
    default = schema.get("default")
    return Declared(
        name,
        plain(schema.get("description", "") if description is None else description),
        kind,
        is_list,
        tuple(options) if all(isinstance(option, str) for option in options) else (),
        text_of(default),
        bound(value_schema.get("minimum")),
        bound(value_schema.get("maximum")),
    )


def plain(text: str) -> str:
    """Return a description without markup, and its code in backticks."""
    text = re.sub(r"</?code>", "`", text)
    return " ".join(html.unescape(re.sub(r"<[^<>]{1,300}>", " ", text)).split())


def text_of(value: object) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (str, int, float)) else None


def bound(value: object) -> float | None:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


# Worlds


def aws() -> Functions:
    import botocore.session

    session = botocore.session.get_session()
    kinds = {
        "integer": "integer",
        "long": "integer",
        "float": "number",
        "double": "number",
        "boolean": "boolean",
    }
    for service in session.get_available_services():
        model = session.get_service_model(service)
        for operation in model.operation_names:
            shape = model.operation_model(operation).input_shape
            declarations = []
            for name, member in (shape.members if shape else {}).items():
                value_shape = member.member if member.type_name == "list" else member
                number = value_shape.type_name in {"integer", "long", "float", "double"}
                declarations.append(
                    Declared(
                        name,
                        plain(member.documentation),
                        kinds.get(
                            value_shape.type_name,
                            "string" if value_shape.type_name == "string" else "any",
                        ),
                        member.type_name == "list",
                        tuple(getattr(value_shape, "enum", ())),
                        None,
                        bound(value_shape.metadata.get("min")) if number else None,
                        bound(value_shape.metadata.get("max")) if number else None,
                    )
                )
            yield f"{service} {operation}", declarations


def google() -> Functions:
    import googleapiclient

    def methods(resource: dict[str, Any]) -> Functions:
        for method in resource.get("methods", {}).values():
            yield (
                method["id"],
                [
                    from_schema(name, schema)
                    for name, schema in method.get("parameters", {}).items()
                ],
            )
        for inner in resource.get("resources", {}).values():
            yield from methods(inner)

    folder = Path(googleapiclient.__file__).parent / "discovery_cache" / "documents"
    for path in sorted(folder.glob("*.json")):
        yield from methods(json.loads(path.read_text("utf-8")))


def ansible() -> Functions:
    import ansible as package
    import yaml

    kinds = {
        "int": "integer",
        "float": "number",
        "bool": "boolean",
        "str": "string",
        "path": "string",
    }
    around = Path(package.__file__).parent
    paths = [
        *around.glob("modules/*.py"),
        *around.parent.glob("ansible_collections/*/*/plugins/modules/*.py"),
    ]
    for path in sorted(paths):
        documentation = re.search(
            r"^DOCUMENTATION\s*=\s*r?(\"\"\"|''')(.*?)\1",
            path.read_text("utf-8"),
            re.DOTALL | re.MULTILINE,
        )
        try:
            text = documentation[2] if documentation else ""
            options = yaml.load(text, yaml.CSafeLoader)["options"] or {}
        except (yaml.YAMLError, TypeError, KeyError):
            continue
        declarations = []
        for name, option in options.items():
            words = option.get("description", "")
            words = " ".join(map(str, words)) if isinstance(words, list) else str(words)
            kind = option.get("type", "str")
            is_list = option.get("type") == "list"
            choices = option.get("choices") or ()
            if not all(isinstance(choice, str) for choice in choices):
                choices = ()
            declarations.append(
                Declared(
                    str(name),
                    plain(re.sub(r"\b[CVO]\(([^()]*)\)", r"`\1`", words)),
                    kinds.get(
                        option.get("elements", "any") if is_list else kind, "any"
                    ),
                    is_list,
                    tuple(choices),
                    text_of(option.get("default")),
                )
            )
        yield path.stem, declarations


def of_annotations(package: str, files: str) -> Functions:
    """Yield the classes of a package whose attributes have an annotation and, below it, a text."""
    kinds = {"int": "integer", "float": "number", "bool": "boolean", "str": "string"}
    for path in sorted(Path(str(find_spec(package).origin)).parent.glob(files)):
        for statement in ast.parse(path.read_text("utf-8")).body:
            if not isinstance(statement, ast.ClassDef):
                continue
            declarations = []
            for line, after in itertools.pairwise(statement.body):
                words = ast.unparse(after)
                if not isinstance(line, ast.AnnAssign) or words[:1] not in {"'", '"'}:
                    continue
                kind = ast.unparse(line.annotation)
                is_list = False
                while inside := re.fullmatch(
                    r"(?:Not)?Required\[(.*)\]|Optional\[(.*)\]", kind
                ):
                    kind = inside[1] or inside[2]
                if inside := re.fullmatch(
                    r"(?:List|Iterable|SequenceNotStr)\[(.*)\]", kind
                ):
                    kind = inside[1]
                    is_list = True
                options = re.fullmatch(r"Literal\[((?:'[^']*'(?:, )?)+)\]", kind)
                declarations.append(
                    Declared(
                        ast.unparse(line.target),
                        plain(ast.literal_eval(words)),
                        "string" if options else kinds.get(kind, "any"),
                        is_list,
                        tuple(re.findall("'([^']*)'", options[1])) if options else (),
                    )
                )
            yield statement.name, declarations


def altair() -> Functions:
    import altair as alt

    (path,) = Path(alt.__file__).parent.glob("vegalite/*/schema/vega-lite-schema.json")
    definitions = json.loads(path.read_text("utf-8"))["definitions"]

    def followed(schema: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in schema:
            schema = {
                **definitions[schema["$ref"].rpartition("/")[2]],
                **{k: v for k, v in schema.items() if k != "$ref"},
            }
        return schema

    for name, schema in definitions.items():
        properties = schema.get("properties", {})
        yield (
            name,
            [
                from_schema(
                    key,
                    followed(property_schema),
                    property_schema.get("description", ""),
                )
                for key, property_schema in properties.items()
            ],
        )


def openbb() -> Functions:
    from openbb_core.provider.abstract.query_params import QueryParams

    for package in ("openbb_fmp", "openbb_yfinance"):
        for path in sorted(
            Path(str(find_spec(package).origin)).parent.glob("models/*.py")
        ):
            module = importlib.import_module(f"{package}.models.{path.stem}")
            for name, model in inspect.getmembers(module, inspect.isclass):
                if (
                    issubclass(model, QueryParams)
                    and model is not QueryParams
                    and model.__module__ == module.__name__
                ):
                    properties = model.model_json_schema()["properties"]
                    yield (
                        f"{package} {name}",
                        [
                            from_schema(key, schema)
                            for key, schema in properties.items()
                        ],
                    )


def of_docstrings(*names: str) -> Functions:
    """Yield what the types of numpy docstrings declare: ``{'a', 'b'}, default 'a'``, ``int, optional``."""
    from scipy._lib._docscrape import NumpyDocString

    words = {"int": "integer", "float": "number", "bool": "boolean", "str": "string"}
    seen = set()
    for wanted in names:
        module, _, inside = wanted.partition(":")
        holder = (
            getattr(importlib.import_module(module), inside, None)
            if inside
            else importlib.import_module(module)
        )
        for name, documented in inspect.getmembers(holder, callable):
            doc = inspect.getdoc(documented)
            if name.startswith("_") or id(documented) in seen or not doc:
                continue
            seen.add(id(documented))
            try:
                parameters = NumpyDocString(doc)["Parameters"]
            except ValueError:
                continue
            declarations = []
            for parameter in parameters:
                types = parameter.type.replace("‘", "'").replace("’", "'")
                options = re.match(r"\{((?:\s*['\"][^'\"]+['\"]\s*,?)+)\}", types)
                default = re.search(r"default(?:\s+is|:|=)?\s*['\"]?([\w.+-]+)", types)
                word = re.match(r"(int|float|bool|str)\b(?! or)(?:,|$)", types)
                kind = words[word[1]] if word else "any"
                declarations.append(
                    Declared(
                        parameter.name.split(",")[0],
                        plain(" ".join(parameter.desc)),
                        "string" if options else kind,
                        False,
                        tuple(re.findall(r"['\"]([^'\"]+)['\"]", options[1]))
                        if options
                        else (),
                        None if default is None or default[1] == "None" else default[1],
                    )
                )
            yield f"{wanted} {name}", declarations


def scipy() -> Functions:
    names = ("stats", "signal", "optimize", "ndimage", "linalg", "interpolate")
    yield from of_docstrings(*(f"scipy.{name}" for name in names))


def frames() -> Functions:
    modules = ("pandas", "xarray", "polars", "statsmodels.api", "statsmodels.tsa.api")
    yield from of_docstrings(
        *modules,
        *(
            f"{name}:{kind}"
            for name in modules[:3]
            for kind in ("DataFrame", "Dataset")
        ),
    )


def sklearn() -> Functions:
    """Yield scikit-learn's estimators, whose types are part of the words here, as in its own pages."""
    from scipy._lib._docscrape import NumpyDocString
    from sklearn.utils import all_estimators

    for name, estimator in all_estimators():
        constraints = getattr(estimator, "_parameter_constraints", {})
        defaults = inspect.signature(estimator).parameters
        declarations = []
        for parameter in NumpyDocString(inspect.getdoc(estimator) or "")["Parameters"]:
            declared = constraints.get(parameter.name)
            if not isinstance(declared, list) or len(declared) != 1:
                continue
            (constraint,) = declared
            kind = "any"
            options = ()
            low = None
            high = None
            if type(constraint).__name__ == "StrOptions":
                kind = "string"
                options = tuple(sorted(constraint.options))
            elif type(constraint).__name__ == "Interval":
                kind = "integer" if constraint.type.__name__ == "Integral" else "number"
                low = (
                    bound(constraint.left)
                    if constraint.closed in {"left", "both"}
                    else None
                )
                high = (
                    bound(constraint.right)
                    if constraint.closed in {"right", "both"}
                    else None
                )
            elif constraint == "boolean":
                kind = "boolean"
            default = (
                defaults[parameter.name].default if parameter.name in defaults else None
            )
            text = plain(f"{parameter.type}. {' '.join(parameter.desc)}")
            declarations.append(
                Declared(
                    parameter.name,
                    text,
                    kind,
                    False,
                    options,
                    text_of(default),
                    low,
                    high,
                )
            )
        yield name, declarations


WORLDS: dict[str, tuple[str, Callable[[], Any]]] = {
    "aws*": ("botocore", aws),
    "ansible*": ("ansible", ansible),
    "sklearn*": ("sklearn", sklearn),
    "google": ("googleapiclient", google),
    "openai": ("openai", lambda: of_annotations("openai", "types/**/*_params.py")),
    "stripe": ("stripe", lambda: of_annotations("stripe", "params/**/*.py")),
    "altair": ("altair", altair),
    "openbb": ("openbb_core", openbb),
    "scipy": ("scipy", scipy),
    "frames": ("polars", frames),
}


# What is counted


def chosen(functions: Any) -> list[tuple[Declared, Field]]:
    """Return the parameters of a world that differ, as many as are counted, each with the field read from its words."""
    seen: set[str] = set()
    candidates = []
    for title, parameters in functions:
        described = [parameter for parameter in parameters if parameter.description]
        listed = [
            {"name": parameter.name, "description": parameter.description}
            for parameter in described
        ]
        # Options, defaults and rules may name the other parameters, so a function is read as a whole.
        fields = read_fields(Function.read({"name": title, "params": listed}))
        for parameter, field in zip(described, fields, strict=True):
            key = hashlib.sha256(
                f"{parameter.name}|{parameter.description}".encode()
            ).hexdigest()
            if key not in seen:
                seen.add(key)
                candidates.append((key, parameter, field))
    candidates.sort(key=lambda candidate: candidate[0])
    return [(parameter, field) for _, parameter, field in candidates[:MOST]]


def bounds(declared: Declared, most: float) -> list[float]:
    ends = (declared.low, declared.high)
    return [end for end in ends if end is not None and abs(end) < most]


def valid_values(declared: Declared) -> list[tuple[Any, Any]]:
    """Return values that the package takes, each with what must be sent for it."""
    if declared.options:
        texts = list(declared.options[:50])
    elif declared.kind == "integer":
        texts = [str(int(end)) for end in bounds(declared, 2**53)]
        texts = texts or ["1", "12", "500"]
    elif declared.kind == "number":
        texts = [str(end) for end in bounds(declared, 1e15)] or ["0.5", "1"]
    elif declared.kind == "boolean":
        texts = ["true", "false"]
    elif declared.kind == "date":
        texts = ["2024-05-17"]
    else:  # which texts are valid is not known
        return (
            [(["a", "b"], ["a", "b"])]
            if declared.is_list and declared.kind == "string"
            else []
        )
    if declared.is_list:
        pair = (texts * 2)[:2]
        return [(pair, pair)]
    return [(text, text) for text in texts]


def is_harmed(declared: Declared, field: Field) -> bool:
    """Return whether a valid value is refused, or is not sent as it is."""
    for value, sent in valid_values(declared):
        try:
            if accept(field, value) != sent:
                return True
        except ValueError:
            return True
    return False


def is_right_kind(declared: Declared, field: Field) -> bool | None:
    """Return whether the kind of a field is right; ``None`` if the package does not declare one kind."""
    if declared.kind not in {"string", "integer", "number", "boolean", "date"}:
        return None
    if declared.is_list:
        return field.kind is Kind.LIST
    if declared.options:
        return field.kind in {Kind.CHOICE, Kind.YES_NO}
    wanted = {
        "integer": {Kind.INTEGER},
        "number": {Kind.NUMBER},
        "boolean": {Kind.YES_NO},
        "date": {Kind.DATE},
        "string": {Kind.TEXT, Kind.SYMBOL, Kind.PANEL},
    }
    return field.kind in wanted[declared.kind]


def count(
    parameters: list[tuple[Declared, Field]],
) -> tuple[Counter[str], Counter[str]]:
    """Return what was right, and what was declared, by column."""
    right: Counter[str] = Counter()
    of: Counter[str] = Counter()
    for declared, field in parameters:
        facts = {
            "harmed": is_harmed(declared, field),
            "exact": set(field.options) == set(declared.options)
            if is_readable(declared)
            else None,
            "kinds": is_right_kind(declared, field),
            "defaults": same(field.default, declared.default)
            if names(declared, declared.default)
            else None,
            "lows": field.minimum == declared.low
            if names(declared, declared.low)
            else None,
            "highs": field.maximum == declared.high
            if names(declared, declared.high)
            else None,
        }
        for column, fact in facts.items():
            of[column] += fact is not None
            right[column] += bool(fact)
    return right, of


def is_readable(declared: Declared) -> bool:
    """Return whether a reader of the words could know the declared options."""
    return len(declared.options) > 1 and all(
        option in declared.description for option in declared.options
    )


def names(declared: Declared, value: float | str | None) -> bool:
    """Return whether the words hold a value that is declared."""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return (
        value is not None
        and re.search(rf"(?<![\w.]){re.escape(text)}(?!\w|\.\d)", declared.description)
        is not None
    )


def same(read: str | None, declared: str) -> bool:
    try:
        return read is not None and float(read) == float(declared)
    except ValueError:
        return (read or "").casefold() == declared.casefold()


def show(parameters: list[tuple[Declared, Field]], most: int) -> None:
    """Print parameters that were read wrongly, a few of each column."""
    shown: Counter[str] = Counter()
    for declared, field in parameters:
        right, of = count([(declared, field)])
        for column in COLUMNS:
            wrong = right[column] if column == "harmed" else of[column] - right[column]
            if wrong and shown[column] < most:
                shown[column] += 1
                read = (
                    field.kind.value,
                    field.options,
                    field.default,
                    field.minimum,
                    field.maximum,
                )
                print(
                    f"\n{column}: {declared._replace(description='')}\n  read {read}\n  {declared.description[:600]}"
                )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("worlds", nargs="*", help="of these only")
    parser.add_argument(
        "--show",
        type=int,
        default=0,
        metavar="N",
        help="also print N of what was read wrongly",
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of other packages
    print(
        f"{'':12} {'parameters':>10} "
        + " ".join(f"{column:>12}" for column in COLUMNS)
        + "   seconds"
    )
    for title, (package, read) in WORLDS.items():
        if options.worlds and title.rstrip("*") not in options.worlds:
            continue
        if find_spec(package) is None:
            print(f"{title:12} {package} is not installed")
            continue
        started = time.perf_counter()
        parameters = chosen(read())
        right, of = count(parameters)
        cells = " ".join(f"{right[column]:>5} of {of[column]:>4}" for column in COLUMNS)
        print(
            f"{title:12} {len(parameters):>10} {cells}   {time.perf_counter() - started:.0f}",
            flush=True,
        )
        show(parameters, options.show)


if __name__ == "__main__":
    main()
