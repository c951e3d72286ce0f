"""What a Python function says of itself: its name, its docstring, and a parameter for each of its arguments."""
# ruff: noqa: PLC0415 - a docstring without sections needs no parser

from __future__ import annotations

import inspect
import re
import types
import typing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .errors import SetupError
from .markers import AtLeastOne
from .parameters import Parameter
from .words import did_you_mean, listed, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_ENDS = (".", "!", "?", ":", ";")
_SECTION = re.compile(r"^\s*-{3,}\s*$", re.MULTILINE)
# Words that title case leaves small within a title, and those that it spells in their own way.
_SMALL = frozenset(
    ("a", "an", "and", "as", "at", "by", "for", "from", "in", "of", "on", "or", "per", "the", "to", "vs")
)
_SPELLED = {word.casefold(): word for word in ("FQ", "ID", "IDs", "KPI", "KPIs", "SKU", "SKUs", "YoY")}


@dataclass(frozen=True, slots=True)
class Signature:
    """
    How a function is called and described.

    Attributes
    ----------
    place
        Where it is written, for messages: a file and a line.
    takes_call
        Whether the call comes before the arguments.
    rules
        What must hold between its arguments.
    """

    place: str
    description: str
    takes_call: bool
    parameters: tuple[Parameter, ...]
    rules: tuple[Any, ...]


def title(name: str) -> str:
    """Give a Python name or a file's as the title of a function: ``get_stock_levels`` as *Get Stock Levels*."""
    words = re.sub(r"[\W_]+", " ", name).split()
    return " ".join(
        word if at and word in _SMALL else _SPELLED.get(word.casefold(), word[:1].upper() + word[1:])
        for at, word in enumerate(words)
    )


def read(python: Callable[..., Any], rules: Sequence[Any] = ()) -> Signature:
    """
    Read a Python function.

    Parameters
    ----------
    rules
        What must hold between its arguments beside what its annotations say; comes first in the signature's rules.

    Raises
    ------
    SetupError
        It cannot be published as it is; names its file, line and parameter.
    """
    written = inspect.unwrap(python)
    if not inspect.isfunction(written):
        raise SetupError(f"Not a function: {quoted(python)}. Publish a function that is written with def.")
    place = f"{written.__code__.co_filename}, line {written.__code__.co_firstlineno}"
    if inspect.iscoroutinefunction(written) or inspect.isasyncgenfunction(written):
        raise SetupError(
            f"{place}: {written.__name__} is async.\nWrite it with def alone; it runs in a thread of its own."
        )
    parameters = list(inspect.signature(python).parameters.values())
    takes_call = bool(parameters) and _is_call(parameters[0])
    parameters = parameters[takes_call:]
    for each in parameters:
        if each.kind not in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
            raise SetupError(
                f"{place}: {written.__name__} has the {each.kind.description} parameter {each.name}, which callers "
                "cannot name.\nWrite each parameter by its name, without *, ** and /."
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
    """
    Make a parameter.

    Parameters
    ----------
    place
        What to name in messages.
    default
        Its default; `inspect.Parameter.empty` makes it required.
    annotation
        Its annotation; `inspect.Parameter.empty` takes the type of the default, else text.
    help_
        What it means, where the annotation does not say it.

    Raises
    ------
    SetupError
        Its annotation or default is not understood.
    """
    if annotation is inspect.Parameter.empty:
        annotation = _type_of(default)
    try:
        found = Parameter.annotated(name, annotation, default)
    except TypeError as error:
        raise SetupError(f"{place} cannot be published.\n{error}") from None
    return found if found.help or not help_ else replace(found, help=help_ if help_.endswith(_ENDS) else f"{help_}.")


def all_rules(place: str, annotations: Mapping[str, Any], rules: Sequence[Any] = ()) -> tuple[Any, ...]:
    """Give rules and those that stand in annotations; raises `SetupError` if one names what is no parameter."""
    in_annotations = [
        marker for each in annotations.values() for marker in _markers(each) if isinstance(marker, AtLeastOne)
    ]
    found = tuple(dict.fromkeys([*rules, *in_annotations]))
    for rule in found:
        for name in rule.names if isinstance(rule, AtLeastOne) else ():
            if name not in annotations:
                near = did_you_mean(name, list(annotations))
                raise SetupError(
                    f"{place} needs at least one of {listed(rule.names)}, but has no parameter {quoted(name)}.{near}"
                )
    return found


def _markers(annotation: Any) -> Iterable[Any]:
    """Give the markers of an annotation, also those within ``… | None``."""
    for each in typing.get_args(annotation):
        yield each
        yield from _markers(each)


def _is_call(first: inspect.Parameter) -> bool:
    kind = first.annotation if isinstance(first.annotation, str) else getattr(first.annotation, "__name__", "")
    return first.name == "call" or kind.rpartition(".")[2] == "Call"


def _evaluated(each: inspect.Parameter, written: types.FunctionType, place: str) -> Any:
    """Give an annotation as what it stands for, also where it is written as text."""
    if each.annotation is each.empty:
        return each.empty
    only = types.SimpleNamespace(__annotations__={each.name: each.annotation})
    try:
        return typing.get_type_hints(only, globalns=written.__globals__, include_extras=True)[each.name]
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        raise SetupError(
            f"{place}: parameter {each.name} of {written.__name__} is annotated {quoted(each.annotation)}: {error}.\n"
            "Import what it names outside of TYPE_CHECKING."
        ) from None


def _type_of(default: Any) -> Any:
    """Give the annotation of a parameter that has none; what a list holds is what its first item is."""
    if default is inspect.Parameter.empty or default is None:
        return str
    if isinstance(default, list):
        return list[type(default[0]) if default else str]  # type: ignore[misc] # a type that is made as it runs
    return type(default)


def _documented(text: str) -> tuple[str, dict[str, str]]:
    """Give the description in a docstring, and the help texts of its section Parameters (numpy style)."""
    helps: dict[str, str] = {}
    if _SECTION.search(text):
        import docstring_parser

        parsed = docstring_parser.parse(text, docstring_parser.DocstringStyle.NUMPYDOC)
        for each in parsed.params:
            for name in each.arg_name.split(","):
                helps[name.strip()] = " ".join((each.description or "").split())
        text = f"{parsed.short_description or ''} {parsed.long_description or ''}"
    return " ".join(text.split()), helps
