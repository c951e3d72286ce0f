"""Read the name, description, parameters and rules of a Python function that is to be published."""

from __future__ import annotations

import inspect
import re
import types
import typing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_funcs.service.messages import SetupError, did_you_mean, quoted
from jupyter_funcs.service.publishing.parameters import AtLeastOne, Parameter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_ENDS = (".", "!", "?", ":", ";")
_SECTION = re.compile(r"^[^\S\n]*+-{3,}+[^\S\n]*+$", re.MULTILINE)
# Words that stay lower-case within a title, and words with a spelling of their own.
_SMALL = frozenset(
    ("a", "an", "and", "as", "at", "by", "for", "from", "in", "of", "on", "or", "per", "the", "to", "vs")
)
_SPELLED = {word.casefold(): word for word in ("FQ", "ID", "IDs", "KPI", "KPIs", "SKU", "SKUs", "YoY")}


class Signature(NamedTuple):
    """How a published function is called and described."""

    place: str
    description: str
    takes_call: bool
    parameters: tuple[Parameter, ...]
    rules: tuple[Any, ...]


def title(name: str) -> str:
    """Turn a Python name or file name into a function's name: ``get_stock_levels`` into *Get Stock Levels*."""
    words = re.sub(r"[\W_]+", " ", name).split()
    return " ".join(
        word if at and word in _SMALL else _SPELLED.get(word.casefold(), word[:1].upper() + word[1:])
        for at, word in enumerate(words)
    )


def read(python: Callable[..., Any], rules: Sequence[Any] = ()) -> Signature:
    """Read a Python function, or raise `SetupError` where it can't be published."""
    written = inspect.unwrap(python)
    if not inspect.isfunction(written):
        raise SetupError(f"Not a function: {quoted(python)}. Publish a function written with def.")
    place = f"{written.__code__.co_filename}, line {written.__code__.co_firstlineno}"
    if inspect.iscoroutinefunction(written) or inspect.isasyncgenfunction(written):
        raise SetupError(f"{place}: {written.__name__} is async.\nUse def instead; it runs in a thread of its own.")
    parameters = list(inspect.signature(python).parameters.values())
    takes_call = bool(parameters) and _is_call(parameters[0])
    parameters = parameters[takes_call:]
    for each in parameters:
        if each.kind not in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
            raise SetupError(
                f"{place}: {written.__name__} has the {each.kind.description} parameter {each.name}, but "
                "arguments are passed by name.\nDeclare each parameter without *, ** or /."
            )
    description, helps = _documented(inspect.getdoc(python) or "")
    annotations = {each.name: _evaluated(each, written, place) for each in parameters}
    named = f"{place}: {written.__name__}"
    found = [
        parameter(named, each.name, each.default, annotations[each.name], helps.get(each.name, ""))
        for each in parameters
    ]
    return Signature(place, description, takes_call, tuple(found), all_rules(named, annotations, rules))


def parameter(place: str, name: str, default: Any, annotation: Any, help_: str) -> Parameter:
    """Read a parameter, with `help_` as its help text unless a marker has one."""
    if annotation is inspect.Parameter.empty:
        annotation = _type_of(default)
    try:
        found = Parameter.from_annotation(name, annotation, default)
    except TypeError as error:
        raise SetupError(f"{place} cannot be published.\n{error}") from None
    return found if found.help or not help_ else replace(found, help=help_ if help_.endswith(_ENDS) else f"{help_}.")


def all_rules(place: str, annotations: Mapping[str, Any], rules: Sequence[Any] = ()) -> tuple[Any, ...]:
    """Return the given rules and those in annotations; raises `SetupError` if one names an unknown parameter."""
    in_annotations = [
        marker for each in annotations.values() for marker in _markers(each) if isinstance(marker, AtLeastOne)
    ]
    found = tuple(dict.fromkeys([*rules, *in_annotations]))
    for rule in found:
        for name in rule.names if isinstance(rule, AtLeastOne) else ():
            if name not in annotations:
                near = did_you_mean(name, list(annotations))
                raise SetupError(f"{place} has no parameter {quoted(name)}.{near}\nFix the name in AtLeastOne.")
    return found


def _markers(annotation: Any) -> Iterable[Any]:
    """Yield the markers of an annotation, including those inside ``… | None``."""
    for each in typing.get_args(annotation):
        yield each
        yield from _markers(each)


def _is_call(first: inspect.Parameter) -> bool:
    kind = first.annotation if isinstance(first.annotation, str) else getattr(first.annotation, "__name__", "")
    return first.name == "call" or kind.rpartition(".")[2] == "Call"


def _evaluated(each: inspect.Parameter, written: types.FunctionType, place: str) -> Any:
    """Evaluate an annotation that may be written as text."""
    if each.annotation is each.empty:
        return each.empty
    only = types.SimpleNamespace(__annotations__={each.name: each.annotation})
    try:
        return typing.get_type_hints(only, globalns=written.__globals__, include_extras=True)[each.name]
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        raise SetupError(
            f"{place}: parameter {each.name} of {written.__name__} is annotated {quoted(each.annotation)}: {error}.\n"
            "Import the type outside of TYPE_CHECKING: publishing reads it at run time."
        ) from None


def _type_of(default: Any) -> Any:
    """Infer an annotation from a default; a list holds what its first item is."""
    if default is inspect.Parameter.empty or default is None:
        return str
    if isinstance(default, list):
        return list[type(default[0]) if default else str]  # type: ignore[misc] # built at run time
    return type(default)


def _documented(text: str) -> tuple[str, dict[str, str]]:
    """Return the description in a docstring, and the help texts in its Parameters section (numpy style)."""
    helps: dict[str, str] = {}
    if _SECTION.search(text):
        import docstring_parser

        parsed = docstring_parser.parse(text, docstring_parser.DocstringStyle.NUMPYDOC)
        for each in parsed.params:
            for name in each.arg_name.split(","):
                helps[name.strip()] = " ".join((each.description or "").split())
        text = f"{parsed.short_description or ''} {parsed.long_description or ''}"
    return " ".join(text.split()), helps
