"""
Publishing: a Python function with annotations and a docstring becomes a function of the catalog.

    @function(asset="Demo panels", group="Reference")
    def get_panels(call: Call) -> Table:
        '''List the panel data sets.'''
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import signatures
from .accounts import folded
from .engine import CallCancelledError
from .errors import SetupError
from .parameters import is_absent
from .words import did_you_mean, listed, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from .accounts import Asset
    from .engine import Call
    from .parameters import Parameter

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


@dataclass(frozen=True)
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
    place
        Where it is written, for messages: a file, and a line of it.
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
    place: str
    author: str | None = None

    def __post_init__(self) -> None:
        """Refuse a name that nobody could type or read."""
        if not self.name.strip() or not self.name.isprintable():
            raise SetupError(
                f"{self.place}: a function cannot be named {quoted(self.name)}.\nGive it a name of one line."
            )
        # Help and completion show the Python function's own signature and docstring.
        vars(self).update(__wrapped__=self.python, __doc__=self.python.__doc__)

    @property
    def notebook_id(self) -> str:
        """The same for every function of one module or notebook, and from one start to the next."""
        return _identifier(self.entry_point.partition(":")[0])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the Python function as it was written."""
        return self.python(*args, **kwargs)

    def result(self, call: Call, values: Mapping[str, Any]) -> Any:
        """
        Run the function for a call, with the values that `read` gave; an iterator is read to its end.

        Raises
        ------
        Exception
            Whatever the function raises, and nothing that would end more than its run.
        """
        try:
            found = self.python(call, **values) if self.takes_call else self.python(**values)
            if isinstance(found, Iterator) and not hasattr(found, "__arrow_c_stream__"):
                return list(_while_wanted(found, call))
        except SystemExit as error:
            raise RuntimeError(f"It ended with sys.exit({'' if error.code is None else repr(error.code)}).") from error
        return found

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

    A first parameter that is named `call`, or annotated `Call`, receives the call; each further one becomes a parameter
    of the catalog, by its annotation (`str`, `int`, `float`, `bool`, `date`, `Literal`, `list` of these, ``… | None``,
    `Annotated` with `markers`) and its default. The docstring is the description; its section Parameters (numpy style)
    gives the help texts of those that have no `Help`. The module's ``__author__`` is the author. What is published can
    still be called as it was written.

    Parameters
    ----------
    asset
        The asset that the function belongs to.
    name
        Its name in the catalog; by default the Python name in title case, *Get Stores* for ``get_stores``.
    group
        The group under which it is listed.
    rules
        What must hold between arguments, such as `AtLeastOne`.

    Raises
    ------
    SetupError
        It cannot be published as it is written; names its file, line and parameter.
    """

    def publish(python: Callable[..., Any]) -> Function:
        signature = signatures.read(python, rules)
        return Function(
            name=signatures.title(python.__name__) if name is None else name,
            description=signature.description,
            asset=asset,
            group=group,
            parameters=signature.parameters,
            rules=signature.rules,
            python=python,
            takes_call=signature.takes_call,
            entry_point=f"{python.__module__}:{python.__qualname__}",
            notebook_name=python.__module__,
            place=signature.place,
            author=getattr(python, "__globals__", {}).get("__author__"),
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

    Raises
    ------
    SetupError
        Two functions have one name; names both places.
    """

    def __init__(self, functions: Sequence[Function], *, author: str) -> None:
        self._by_name: dict[str, Function] = {}
        for each in functions:
            other = self._by_name.setdefault(each.name, each)
            if other is not each:
                raise SetupError(
                    f"Two functions are named {quoted(each.name)}:\n{other.place}, and {each.place}.\n"
                    "Names are unique in a catalog: give one of them another."
                )
        self._author = author
        self._authors = _numbered([author, *(each.author for each in functions)])
        self._groups = _numbered(each.group for each in functions)
        # By asset, as accounts compare them: place in the listing, identifier of the first parameter, and function.
        self._by_asset: dict[str | None, list[tuple[int, int, Function]]] = {}
        first = 1
        for number, each in enumerate(functions, 1):
            self._by_asset.setdefault(folded(each.asset), []).append((number, first, each))
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
        if found is not None and folded(found.asset) in {folded(each.name) for each in assets}:
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
        of_each = ([(*entry, asset) for entry in self._by_asset.get(folded(asset.name), ())] for asset in assets)
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
            "authorId": self._authors.get(author, 0),
            "authorUserName": author,
            "isShared": asset.is_shared,
            "entryPoint": each.entry_point,
            "uniqueId": _identifier(each.entry_point),
            "notebookId": each.notebook_id,
            "notebookName": each.notebook_name,
            "orgName": asset.organisation,
            "type": None,
            "source": None,
            "context": None,
        }


def _while_wanted(items: Iterator[Any], call: Call) -> Iterator[Any]:
    for item in items:
        if call.cancelled:
            raise CallCancelledError
        yield item


def _numbered(names: Iterable[str | None]) -> dict[str | None, int]:
    """Give each name that is there a number from one on, in their order."""
    return {name: number for number, name in enumerate(dict.fromkeys(filter(None, names)), 1)}


def _identifier(name: str) -> str:
    """Give an identifier that stays the same from one start to the next."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))
