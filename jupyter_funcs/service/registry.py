"""
Publishing: a Python function with annotations and a docstring becomes a function of the catalog.

    @function(asset="Demo panels", group="Reference", name="Get Panels")
    def get_panels(call: Call) -> Table:
        '''List the panel data sets.'''
"""

from __future__ import annotations

import inspect
import types
import typing
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .parameters import Parameter, is_absent
from .words import did_you_mean, listed, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Rule = Callable[[Mapping[str, Any], frozenset[str], Any], dict[str, list[str]]]

# Whoever sends thousands of unknown arguments is told of the first few.
_MOST_UNKNOWN = 20


class ArgumentsError(Exception):
    """
    The arguments of a call are not acceptable.

    Attributes
    ----------
    errors
        What is wrong, by argument; the empty key holds what concerns several.
    """

    def __init__(self, errors: Mapping[str, list[str]]) -> None:
        self.errors = dict(errors)
        super().__init__(" ".join(text for texts in self.errors.values() for text in texts))


@dataclass(frozen=True, slots=True)
class Function:
    """
    A published function.

    Attributes
    ----------
    name, description
        What the listing shows; `name` is also the `FunctionName` of a run.
    asset, group
        The asset that it belongs to and the group under which it is listed; a group may be absent.
    parameters
        What it takes, in the order of its signature.
    rules
        What must hold between arguments.
    python
        The Python function: takes the call, then the arguments by name.
    """

    name: str
    description: str
    asset: str
    group: str | None
    parameters: tuple[Parameter, ...]
    rules: tuple[Rule, ...]
    python: Callable[..., Any]

    def read(self, args: Mapping[str, Any], reference: Any) -> dict[str, Any]:
        """Turn wire arguments into Python ones; raises `ArgumentsError` that names every offending one."""
        values: dict[str, Any] = {}
        errors: dict[str, list[str]] = {}
        for parameter in self.parameters:
            value, wrong = parameter.read(args.get(parameter.name), reference)
            if wrong:
                errors[parameter.name] = wrong
            if not wrong or (parameter.many and value):  # of a list the good items count, for the rules to look at
                values[parameter.name] = value
        names = [parameter.name for parameter in self.parameters]
        for unknown in [name for name in args if name not in names][:_MOST_UNKNOWN]:
            takes = f"It takes {listed(names)}." if names else "It takes none."
            errors[unknown] = [f"{self.name} has no argument {quoted(unknown)}.{did_you_mean(unknown, names)} {takes}"]
        given = frozenset(name for name in names if not is_absent(args.get(name)))
        for rule in self.rules:
            for key, texts in rule(values, given, reference).items():
                errors.setdefault(key, []).extend(texts)
        if errors:
            raise ArgumentsError(errors)
        return values


def function(
    *, asset: str, name: str, group: str | None = None, rules: Sequence[Rule] = ()
) -> Callable[[Callable[..., Any]], Function]:
    """
    Publish a Python function.

    The first parameter receives the call (`engine.Call`); each further one becomes a parameter of the catalog, by its
    annotation (`str`, `int`, `date`, `Literal`, `list` of these, `Annotated` with the markers of `parameters`) and its
    default. The docstring is the description.

    Parameters
    ----------
    asset
        The asset that the function belongs to.
    name
        Its name in the catalog.
    group
        The group under which it is listed.
    rules
        What must hold between arguments, such as `AtLeastOne`.
    """

    def publish(python: Callable[..., Any]) -> Function:
        # The return annotation may name a type that is imported for type checking only.
        own = {key: value for key, value in python.__annotations__.items() if key != "return"}
        call, *parameters = inspect.signature(python).parameters.values()
        own.pop(call.name, None)
        hints = typing.get_type_hints(
            types.SimpleNamespace(__annotations__=own), globalns=python.__globals__, include_extras=True
        )
        return Function(
            name=name,
            description=" ".join((inspect.getdoc(python) or "").split()),
            asset=asset,
            group=group,
            parameters=tuple(Parameter.from_signature(each, hints.get(each.name, str)) for each in parameters),
            rules=tuple(rules),
            python=python,
        )

    return publish


class Registry:
    """The published functions of a service, by name and in the order of the listing."""

    def __init__(self, functions: Sequence[Function], *, author: str, organisation: str) -> None:
        self._by_name = {each.name: each for each in functions}
        if len(self._by_name) != len(functions):
            names = [each.name for each in functions]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise ValueError(f"Two functions are named {listed(twice)}; names are unique in a catalog.")
        self._author = author
        self._organisation = organisation

    def find(self, name: str) -> Function:
        """Give a function by its exact name; raises `LookupError` that names the nearest."""
        try:
            return self._by_name[name]
        except KeyError:
            near = did_you_mean(name, list(self._by_name))
            raise LookupError(
                f"No function {quoted(name)}.{near} The listing (ListUserFunctions) has all of yours."
            ) from None

    def listing(self) -> list[dict[str, Any]]:
        """Give every function as the listing carries it: all fields of SERVICE.md 1."""
        assets = list(dict.fromkeys(each.asset for each in self._by_name.values()))
        groups = list(dict.fromkeys(each.group for each in self._by_name.values() if each.group))
        return [
            {
                "id": number,
                "name": each.name,
                "assetId": assets.index(each.asset) + 1,
                "assetName": each.asset,
                "description": each.description,
                "params": [
                    {
                        "id": number * 100 + at,
                        "name": parameter.name,
                        "type": int(parameter.code),
                        "description": parameter.description(each.rules),
                        "required": parameter.required,
                        "functionId": number,
                        "sortValue": at,
                        "context": None,
                    }
                    for at, parameter in enumerate(each.parameters, 1)
                ],
                "sortValue": number * 10,
                "groupId": groups.index(each.group) + 1 if each.group else 0,
                "groupName": each.group,
                "authorId": 1,
                "authorUserName": self._author,
                "isShared": True,
                "entryPoint": each.python.__name__,
                "uniqueId": _identifier(each.python.__module__, each.python.__qualname__),
                "notebookId": _identifier(each.python.__module__),
                "notebookName": each.python.__module__,
                "orgName": self._organisation,
                "type": None,
                "source": None,
                "context": None,
            }
            for number, each in enumerate(self._by_name.values(), 1)
        ]


def _identifier(*names: str) -> str:
    """Give an identifier that stays the same from one start to the next."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, ".".join(names)))
