"""
Publishing: a Python function with annotations and a docstring becomes a function of the catalog.

    @function(asset="Demo panels", group="Reference")
    def get_panels(call: Call) -> Table:
        '''List the panel data sets.'''
"""

from __future__ import annotations

import inspect
import itertools
import types
import typing
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import SetupError
from .parameters import Parameter, is_absent
from .words import did_you_mean, listed, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from .accounts import Asset

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
        The Python function that does the work.
    takes_call
        Whether `python` takes the call before the arguments.
    entry_point, notebook_name, notebook_id
        Where it is published: the function in its module, or the notebook's path; the module or the notebook; its
        identifier.
    author
        Who published it; the catalog's author where it is absent.
    """

    name: str
    description: str
    asset: str
    group: str | None
    parameters: tuple[Parameter, ...]
    rules: tuple[Rule, ...]
    python: Callable[..., Any]
    takes_call: bool
    entry_point: str
    notebook_name: str
    author: str | None = None

    @property
    def notebook_id(self) -> str:
        """The same for every function of one module or notebook, and from one start to the next."""
        return _identifier(self.notebook_name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the Python function as it was written."""
        return self.python(*args, **kwargs)

    def result(self, call: Any, values: Mapping[str, Any]) -> Any:
        """Run the function for a call, with the values that `read` gave."""
        return self.python(call, **values) if self.takes_call else self.python(**values)

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
    *, asset: str, name: str | None = None, group: str | None = None, rules: Sequence[Rule] = ()
) -> Callable[[Callable[..., Any]], Function]:
    """
    Publish a Python function.

    A first parameter named `call` receives the call (`engine.Call`); each further one becomes a parameter of the
    catalog, by its annotation (`str`, `int`, `date`, `Literal`, `list` of these, `Annotated` with the markers of
    `parameters`) and its default. The docstring is the description.

    Parameters
    ----------
    asset
        The asset that the function belongs to.
    name
        Its name in the catalog; by default the Python name in title case, "Get Stores" for ``get_stores``.
    group
        The group under which it is listed.
    rules
        What must hold between arguments, such as `AtLeastOne`.
    """

    def publish(python: Callable[..., Any]) -> Function:
        parameters = list(inspect.signature(python).parameters.values())
        takes_call = bool(parameters) and parameters[0].name == "call"
        parameters = parameters[takes_call:]
        # The return annotation may name a type that is imported for type checking only.
        own = {key: value for key, value in python.__annotations__.items() if key not in {"return", "call"}}
        hints = typing.get_type_hints(
            types.SimpleNamespace(__annotations__=own), globalns=python.__globals__, include_extras=True
        )
        return Function(
            name=name or python.__name__.replace("_", " ").title(),
            description=" ".join((inspect.getdoc(python) or "").split()),
            asset=asset,
            group=group,
            parameters=tuple(Parameter.from_signature(each, hints.get(each.name, str)) for each in parameters),
            rules=tuple(rules),
            python=python,
            takes_call=takes_call,
            entry_point=f"{python.__module__}:{python.__qualname__}",
            notebook_name=python.__module__,
        )

    return publish


class Registry:
    """
    The published functions of a service.

    Identifiers follow from the place in the whole registry, so that a function has the same ones whoever looks.

    Parameters
    ----------
    functions
        All functions, in the order of the listing.
    author
        Who published the functions that name nobody.
    """

    def __init__(self, functions: Sequence[Function], *, author: str) -> None:
        self._by_name = {each.name: each for each in functions}
        if len(self._by_name) != len(functions):
            names = [each.name for each in functions]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise SetupError(f"Two functions are named {listed(twice)}; names are unique in a catalog.")
        self._author = author
        self._authors = _numbered([author, *(each.author for each in functions)])
        self._groups = _numbered(each.group for each in functions)
        # By asset: place in the listing, identifier of the first parameter, and the function.
        self._by_asset: dict[str, list[tuple[int, int, Function]]] = {}
        first = 1
        for number, each in enumerate(functions, 1):
            self._by_asset.setdefault(each.asset, []).append((number, first, each))
            first += len(each.parameters)

    def find(self, name: str, assets: Sequence[Asset]) -> Function:
        """
        Give a function of some assets by its exact name.

        Raises
        ------
        LookupError
            In the same words whether there is none or it is another user's; names the nearest of these assets.
        """
        found = self._by_name.get(name)
        if found is not None and any(each.name == found.asset for each in assets):
            return found
        near = did_you_mean(name, [each.name for _, _, each, _ in self._of(assets)])
        raise LookupError(f"No function {quoted(name)}.{near} The listing (ListUserFunctions) has all of yours.")

    def listing(self, assets: Sequence[Asset], reference: Any) -> list[dict[str, Any]]:
        """
        Give the functions of some assets as the listing carries them: all fields of SERVICE.md 1.

        Parameters
        ----------
        assets
            The assets of the user who asks.
        reference
            The engine's reference data, from which options may follow.
        """
        return [self._entry(number, first, each, asset, reference) for number, first, each, asset in self._of(assets)]

    def _of(self, assets: Sequence[Asset]) -> Iterator[tuple[int, int, Function, Asset]]:
        """Give the functions of some assets, with their numbers, in the order of the listing."""
        of_each = ([(*entry, asset) for entry in self._by_asset.get(asset.name, ())] for asset in assets)
        return iter(sorted(itertools.chain.from_iterable(of_each), key=lambda entry: entry[0]))

    def _entry(self, number: int, first: int, each: Function, asset: Asset, reference: Any) -> dict[str, Any]:
        author = each.author or self._author
        return {
            "id": number,
            "name": each.name,
            "assetId": asset.id,
            "assetName": asset.name,
            "description": each.description,
            "params": [
                {
                    "id": first + at,
                    "name": parameter.name,
                    "type": int(parameter.code),
                    "description": parameter.description(each.rules, reference),
                    "required": parameter.required,
                    "functionId": number,
                    "sortValue": at + 1,
                    "context": None,
                }
                for at, parameter in enumerate(each.parameters)
            ],
            "sortValue": number * 10,
            "groupId": self._groups.get(each.group, 0),
            "groupName": each.group,
            "authorId": self._authors[author],
            "authorUserName": author,
            "isShared": asset.is_shared,
            "entryPoint": each.entry_point,
            "uniqueId": _identifier(each.notebook_name, each.entry_point),
            "notebookId": each.notebook_id,
            "notebookName": each.notebook_name,
            "orgName": asset.organisation,
            "type": None,
            "source": None,
            "context": None,
        }


def _numbered(names: typing.Iterable[str | None]) -> dict[str | None, int]:
    """Give each name that is there a number from one on, in their order."""
    return {name: number for number, name in enumerate(dict.fromkeys(filter(None, names)), 1)}


def _identifier(*names: str) -> str:
    """Give an identifier that stays the same from one start to the next."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, ".".join(names)))
