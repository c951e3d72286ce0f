"""Published functions: how one is declared, read and called, and the registry that lists and finds them."""

from __future__ import annotations

import functools
import itertools
import uuid
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, get_args, overload

from jupyter_funcs.core.errors import Messages, SetupError
from jupyter_funcs.core.text import quoted, quoted_list, suggestion
from jupyter_funcs.functions.callables import (
    called,
    declared,
    documented,
    evaluated,
    name_of,
    title,
    written,
)
from jupyter_funcs.functions.markers import AtLeastOne
from jupyter_funcs.functions.parameters import ABSENT, Parameter
from jupyter_funcs.functions.return_values import returned
from jupyter_funcs.service.accounts.account_records import Asset, folded
from jupyter_funcs.service.engine.calls import Call, CallCancelledError, check_size

if TYPE_CHECKING:
    import inspect
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from jupyter_funcs.core.json_decoding import JsonObject, Values

    Rule = Callable[[Mapping[str, Any], frozenset[str], Any], dict[str, list[str]]]

_MAX_UNKNOWN = 20
_ENDS = (".", "!", "?", ":", ";")


class ArgumentsError(Exception):
    """The arguments of a call are invalid; `errors` has the messages of each argument."""

    def __init__(self, errors: Mapping[str, list[str]]) -> None:
        self.errors = dict(errors)
        super().__init__(
            " ".join(text for texts in self.errors.values() for text in texts)
        )


@dataclass(frozen=True)
class PublishedFunction:
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
    returns: Any = None
    depends_on_data_only: bool = False
    read_only: bool = False
    workers: Any = field(default=None, kw_only=True, repr=False)
    """What runs it elsewhere: then it has a coroutine `body`."""

    def __post_init__(self) -> None:
        if not self.name.strip() or not self.name.isprintable():
            raise SetupError(
                f"{self.place}: {quoted(self.name)} is not a valid name.\nUse one line of printable text."
            )
        # So that help and completion show the signature and docstring of the Python function.
        vars(self).update(__wrapped__=self.python, __doc__=self.python.__doc__)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.python(*args, **kwargs)

    def result(self, call: Call, values: Values) -> Any:
        """Run the function with the values that `read` returned; an iterator is read to its end."""

        def check(items: int) -> None:
            if call.cancelled:
                raise CallCancelledError
            check_size(items, 1)

        python = self.python
        if self.takes_call:
            python = functools.partial(python, call)

        try:
            return called(python, self.parameters, values, check)
        except SystemExit as error:
            raise RuntimeError(
                f"It called sys.exit({'' if error.code is None else repr(error.code)})."
            ) from error

    def read(self, args: Values, reference: Any, *, typed: bool = False) -> JsonObject:
        """
        Turn the arguments of a request into Python values; raises `ArgumentsError` that names every invalid one.

        Without `typed`, they are the texts of the first wire.
        """
        values = {}
        errors = {}
        for parameter in self.parameters:
            value, wrong = parameter.read(
                args.get(parameter.name, ABSENT), reference, typed=typed
            )
            if wrong:
                errors[parameter.name] = wrong
            # The valid items of a list, for the rules.
            if not wrong or (parameter.many and value):
                values[parameter.name] = value

        errors |= self._unknown(args)
        sent = frozenset(
            parameter.name
            for parameter in self.parameters
            if not parameter.is_absent(
                arg := args.get(parameter.name, ABSENT), typed=typed
            )
            and arg is not None
        )
        for rule in self.rules:
            for key, texts in rule(values, sent, reference).items():
                errors.setdefault(key, []).extend(texts)

        if errors:
            raise ArgumentsError(errors)
        return values

    def _unknown(self, args: Values) -> Messages:
        names = [parameter.name for parameter in self.parameters]
        unknown = [name for name in args if name not in names][:_MAX_UNKNOWN]
        takes = quoted_list(names) or "no arguments"
        return {
            name: [
                f"{self.name} has no argument {quoted(name)}.{suggestion(name, names)} It takes {takes}."
            ]
            for name in unknown
        }


@overload
def function(python: Callable[..., Any], /) -> PublishedFunction: ...


@overload
def function(
    *,
    asset: str = "",
    name: str | None = None,
    group: str | None = None,
    rules: Sequence[Rule] = (),
    read_only: bool = False,
) -> Callable[[Callable[..., Any]], PublishedFunction]: ...


def function(  # noqa: PLR0913 - each is a fact of its own
    python: Callable[..., Any] | None = None,
    /,
    *,
    asset: str = "",
    name: str | None = None,
    group: str | None = None,
    rules: Sequence[Rule] = (),
    read_only: bool = False,
) -> PublishedFunction | Callable[[Callable[..., Any]], PublishedFunction]:
    """
    Publish a Python function; without options, brackets aren't needed.

    Each parameter becomes a parameter of the catalog, described by its annotation (`str`, `int`, `float`, `bool`,
    `date`, `Literal`, `list` of these, ``… | None``, or `Annotated` with `Help`, `ListedBy`, `Options`, `Between` or
    `AtLeastOne`) and its default. A first parameter that is named `call` or annotated `Call` receives the call
    instead. The docstring is the description; its Parameters section (numpy style) has the help texts of parameters
    without `Help`. The module's ``__author__`` is the author. A published function can still be called directly.

    Parameters
    ----------
    asset
        The asset that the function belongs to. By default, `functions.asset` of the service's configuration.
    name
        Its name in the catalog. By default the Python name in title case, *Get Stores* for ``get_stores``.
    group
        The group under which it is listed.
    rules
        What must hold between arguments, such as `AtLeastOne`.
    read_only
        Whether it changes nothing: a run that the end of the service interrupted may then be started again.

    Raises
    ------
    SetupError
        The function can't be published as written. The message names its file, line and parameter.

    Examples
    --------
    >>> @function
    ... def get_stores(region: Literal["North", "South"] | None = None) -> list[str]:
    ...     '''List the stores.'''

    >>> @function(asset="Demo panels", group="Reference")
    ... def get_panels(call: Call) -> Table:
    ...     '''List the panel data sets.'''
    """
    if python is None:
        return functools.partial(
            function,
            name=name,
            asset=asset,
            group=group,
            rules=rules,
            read_only=read_only,
        )

    own_name = name_of(python)
    if name is None:
        name = title(own_name)
    place = str(getattr(python, "__module__", None))
    if code := getattr(written(python), "__code__", None):
        place = f"{code.co_filename}, line {code.co_firstlineno}"
    try:
        parameters = declared(python)
    except TypeError as error:
        raise SetupError(
            f"Not a function: {quoted(python)}. Publish one with def: {error}."
        ) from None

    takes_call = bool(parameters) and _is_call(parameters[0])
    about = documented(python)
    parameters_read = []
    annotations = {}
    for parameter in parameters[takes_call:]:
        try:
            typed = evaluated(parameter, python)
        except Exception as error:  # noqa: BLE001 - an annotation may be anything
            shown = f"parameter {parameter.name} of {own_name} is annotated {quoted(parameter.annotation)}"
            raise SetupError(
                f"{place}: {shown}: {error}.\n"
                "Import the type outside of TYPE_CHECKING: publishing reads it at run time."
            ) from None
        annotations[parameter.name] = typed.annotation
        _, help_ = about.params.get(parameter.name, ("", ""))
        parameters_read.append(read_parameter(f"{place}: {own_name}", typed, help_))

    return PublishedFunction(
        name=name,
        description=" ".join(about.text.split()),
        asset=asset,
        group=group,
        parameters=tuple(parameters_read),
        rules=all_rules(f"{place}: {own_name}", annotations, rules),
        python=python,
        takes_call=takes_call,
        entry_point=f"{python.__module__}:{getattr(python, '__qualname__', own_name)}",
        notebook_name=python.__module__,
        place=place,
        author=getattr(python, "__globals__", {}).get("__author__"),
        returns=returned(python),
        read_only=read_only,
    )


def read_parameter(place: str, declared: inspect.Parameter, help_: str) -> Parameter:
    """Read a parameter, with `help_` as its help text unless a marker has one."""
    try:
        parameter = Parameter.published(declared)
    except TypeError as error:
        raise SetupError(f"{place} cannot be published.\n{error}") from None

    if parameter.help or not help_:
        return parameter
    return replace(parameter, help=help_ if help_.endswith(_ENDS) else f"{help_}.")


def all_rules(
    place: str, annotations: Values, rules: Sequence[Any] = ()
) -> tuple[Any, ...]:
    """Return the given rules and those in annotations; raises `SetupError` if one names an unknown parameter."""
    in_annotations = [
        marker
        for annotation in annotations.values()
        for marker in _markers(annotation)
        if isinstance(marker, AtLeastOne)
    ]
    rules = tuple(dict.fromkeys([*rules, *in_annotations]))
    names = (
        name for rule in rules if isinstance(rule, AtLeastOne) for name in rule.names
    )
    for name in names:
        if name not in annotations:
            raise SetupError(
                f"{place} has no parameter {quoted(name)}.{suggestion(name, annotations)}\n"
                "Fix the name in AtLeastOne."
            )

    return rules


def _markers(annotation: Any) -> Iterable[Any]:
    """Yield the markers of an annotation, including those inside ``… | None``."""
    for part in get_args(annotation):
        yield part
        yield from _markers(part)


def _is_call(first: inspect.Parameter) -> bool:
    kind = getattr(first.annotation, "__name__", first.annotation)
    return first.name == "call" or str(kind).rpartition(".")[2] == "Call"


def same_name(first: PublishedFunction, other: PublishedFunction) -> SetupError:
    advice = "Names must be unique in a catalog: rename one of them."
    if first.place == other.place:
        advice = "That is one function, which is found twice: name its folder once in functions.folders."
    return SetupError(
        f"Two functions are named {quoted(first.name)}:\n{first.place}, and {other.place}.\n{advice}"
    )


class Registry:
    """The published functions of a service; the ids in the listing are the same for every user."""

    def __init__(self, functions: Sequence[PublishedFunction], *, author: str) -> None:
        self._by_name: dict[str, PublishedFunction] = {}
        for published in functions:
            if not published.asset:
                raise SetupError(
                    f"{published.place}: {quoted(published.name)} has no asset.\nAdd one: @function(asset='…')."
                )
            if (
                other := self._by_name.setdefault(published.name, published)
            ) is not published:
                raise same_name(other, published)

        self._author = author
        self._authors = _numbered(
            [author, *(published.author for published in functions)]
        )
        self._groups = _numbered(published.group for published in functions)
        # With the number of each in the listing, and the id of its first parameter.
        firsts = itertools.accumulate(
            (len(published.parameters) for published in functions), initial=1
        )
        self._entries = [*zip(itertools.count(1), firsts, functions, strict=False)]

    def check(self) -> None:
        """Raise `SetupError` if a function that runs elsewhere can't be run."""
        for workers in {published.workers for published in self._by_name.values()} - {
            None
        }:
            workers.check()

    def get(self, name: str, assets: Sequence[Asset]) -> PublishedFunction | None:
        published = self._by_name.get(name)
        if published and folded(published.asset) in {
            folded(asset.name) for asset in assets
        }:
            return published
        return None

    def find(self, name: str, assets: Sequence[Asset]) -> PublishedFunction:
        if published := self.get(name, assets):
            return published
        near = suggestion(
            name, [published.name for _, _, published, _ in self._granted(assets)]
        )
        raise LookupError(
            f"No function {quoted(name)}.{near} ListUserFunctions lists the functions that you can run."
        )

    @property
    def read_only(self) -> list[str]:
        """The names of the functions that are declared to change nothing."""
        return [
            name for name, published in self._by_name.items() if published.read_only
        ]

    def listing(self, assets: Sequence[Asset], reference: Any) -> list[JsonObject]:
        return [self._entry(*entry, reference) for entry in self._granted(assets)]

    def _granted(
        self, assets: Sequence[Asset]
    ) -> Iterator[tuple[int, int, PublishedFunction, Asset]]:
        """Yield the functions of the given assets with their numbers, in listing order."""
        granted = {folded(asset.name): asset for asset in assets}
        for number, first, published in self._entries:
            if asset := granted.get(folded(published.asset)):
                yield number, first, published, asset

    def _entry(
        self,
        number: int,
        first: int,
        published: PublishedFunction,
        asset: Asset,
        reference: Any,
    ) -> JsonObject:
        author = published.author or self._author
        own = {"returns": published.returns, "readOnly": published.read_only}
        return {
            "id": number,
            "name": published.name,
            "assetId": asset.id,
            "assetName": asset.name,
            "description": published.description,
            "params": [
                {
                    "id": first + at,
                    "name": parameter.name,
                    "type": int(parameter.code),
                    "description": parameter.description(published.rules, reference),
                    "required": parameter.required,
                    "functionId": number,
                    "sortValue": at + 1,
                    "context": None,
                    "schema": parameter.schema(reference),
                }
                for at, parameter in enumerate(published.parameters)
            ],
            "sortValue": number * 10,
            "groupId": self._groups.get(published.group, 0),
            "groupName": published.group,
            "authorId": self._authors.get(author, 0),
            "authorUserName": author,
            "isShared": asset.is_shared,
            "entryPoint": published.entry_point,
            "uniqueId": _identifier(published.entry_point),
            "notebookId": _identifier(published.entry_point.partition(":")[0]),
            "notebookName": published.notebook_name,
            "orgName": asset.organisation,
            "type": None,
            "source": None,
            "context": None,
            **{name: value for name, value in own.items() if value},
        }


def _numbered(names: Iterable[str | None]) -> dict[str | None, int]:
    """Return a number for each distinct name, from 1, in order."""
    return {
        name: number
        for number, name in enumerate(dict.fromkeys(filter(None, names)), 1)
    }


def _identifier(name: str) -> str:
    """Return a UUID that stays the same when the service restarts."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))
