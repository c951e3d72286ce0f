"""
A parameter of a published function: read from its annotation, described in the service's words, checked on a call.

One value of each kind passes through `Parameter.read` on its way from the wire to Python, and `Parameter.description`
says beforehand what will be taken, so that the two cannot disagree.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from datetime import date
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from .words import did_you_mean, listed, quoted

if TYPE_CHECKING:
    import inspect
    from collections.abc import Callable, Mapping, Sequence

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
# A list may hold a hundred thousand wrong values; a person reads the first few.
_MOST_NAMED = 10


class TypeCode(enum.IntEnum):
    """The type codes of the listing, by the use seen of each (SERVICE.md 2)."""

    TEXT = 0
    INTEGER = 1
    LIST = 4
    SYMBOL = 6
    PANEL = 8


@dataclass(frozen=True, slots=True)
class Help:
    """What a parameter means, in a sentence or two; stands first in its description. May follow from the data."""

    text: str | Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class ListedBy:
    """
    The function that lists a parameter's valid values.

    Attributes
    ----------
    sentence
        How the description says it: *Use function 'Get Panels' to get list of available panels.*
    match
        Takes the engine's reference data and a caller's text, and gives the value meant; raises `ValueError` with
        what is wrong (``is not known. Did you mean …?``) where none is.
    """

    sentence: str
    match: Callable[[Any, str], str]


@dataclass(frozen=True, slots=True)
class Options:
    """
    The values that are taken, where `Literal` cannot say them.

    Attributes
    ----------
    values
        The values, or what gives them from the engine's reference data.
    """

    values: tuple[str, ...] | Callable[[Any], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Between:
    """The bounds of an integer, both inclusive."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class AtLeastOne:
    """A rule over parameters: at least one of `names` is needed."""

    names: tuple[str, ...]

    def __call__(self, _values: Mapping[str, Any], given: frozenset[str], _reference: Any) -> dict[str, list[str]]:
        """Give the errors of a call, of which `given` names all the arguments that were sent."""
        if given.intersection(self.names):
            return {}
        # The empty key: the error belongs to no single argument.
        return {"": [f"{' or '.join(self.names)} is required: give at least one of them."]}


@dataclass(frozen=True, slots=True)
class Parameter:
    """
    One parameter of a published function.

    Attributes
    ----------
    name
        The wire name, which is the Python name.
    type
        `str`, `int` or `date`: what one value becomes.
    code
        The type code of the listing.
    many
        Whether it takes a list.
    default
        The value of an argument that is absent, empty or null.
    options
        The values that are taken, compared without case, or what gives them from the reference data; empty means any.
    """

    name: str
    type: type[str | int | date]
    code: TypeCode
    required: bool
    default: Any
    help: str | Callable[[Any], str] = ""
    many: bool = False
    options: tuple[str, ...] | Callable[[Any], tuple[str, ...]] = ()
    source: ListedBy | None = None
    bounds: Between | None = None

    @classmethod
    def from_signature(cls, parameter: inspect.Parameter, annotation: Any) -> Parameter:
        """Read a parameter from a Python function's signature; raises `TypeError` for an annotation not understood."""
        base, markers = _unwrapped(annotation)
        many = get_origin(base) is list
        item, own = _unwrapped(get_args(base)[0]) if many else (base, [])
        by_type = {type(marker): marker for marker in (*own, *markers)}
        options: Any = by_type[Options].values if Options in by_type else ()
        if get_origin(item) is Literal:
            options, item = get_args(item), str
        if item not in _NAMES:
            wanted = "str, int, date, Literal['…'], list[…] or Annotated[…] of these"
            raise TypeError(f"Parameter {parameter.name} is annotated {annotation!r}; write {wanted}.")
        required = parameter.default is parameter.empty
        code = TypeCode.LIST if many else TypeCode.INTEGER if item is int else TypeCode.TEXT
        return cls(
            name=parameter.name,
            type=item,
            code=by_type.get(TypeCode, code),
            required=required,
            default=None if required else parameter.default,
            help=by_type[Help].text if Help in by_type else "",
            many=many,
            options=options,
            source=by_type.get(ListedBy),
            bounds=by_type.get(Between),
        )

    def choices(self, reference: Any) -> tuple[str, ...]:
        """Give the values that are taken over some reference data; none means any."""
        return self.options(reference) if callable(self.options) else self.options

    def description(self, rules: Sequence[Any] = (), reference: Any = None) -> str:
        """Say in the service's own words what the parameter is and takes."""
        help_ = self.help(reference) if callable(self.help) else self.help
        sentences = ["[Required]" if self.required else "[Optional]", help_, *self._limits(reference)]
        for rule in rules:
            if isinstance(rule, AtLeastOne) and self.name in rule.names:
                others = " or ".join(name for name in rule.names if name != self.name)
                sentences.append(f"Required if {others} is not specified.")
        if self.default is not None:
            sentences.append(f"If none, {self.name} defaults to {quoted(self.default)}.")
        return " ".join(sentence for sentence in sentences if sentence)

    def read(self, value: Any, reference: Any) -> tuple[Any, list[str]]:
        """
        Turn a wire value into a Python one.

        Returns
        -------
        value
            The value; the default where nothing was sent.
        errors
            What is wrong, a sentence each; the value is then what is left of a list.
        """
        if is_absent(value):
            if self.required:
                return None, [" ".join([f"{self.name} is required.", *self._limits(reference)])]
            return self.default, []
        if isinstance(value, list):
            if not self.many:
                return None, [f"{self.name} takes one value, not a list."]
            items = [item for item in value if not _is_blank(item)]
        else:
            items = [value]
        options = self.choices(reference)
        read: list[Any] = []
        errors: list[str] = []
        for item in items:
            if len(errors) == _MOST_NAMED:
                errors.append("Further values were not looked at.")
                break
            try:
                read.append(self._one(item, options, reference))
            except ValueError as error:
                errors.append(f"{self.name} {error}")
        if self.many:
            return list(dict.fromkeys(read)), errors
        return (read or [None])[0], errors

    def _one(self, value: Any, options: Sequence[str], reference: Any) -> Any:
        if isinstance(value, bool) and {option.casefold() for option in options} == {"yes", "no"}:
            value = "Yes" if value else "No"
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError(f"takes {_NAMES[self.type]}, not {_JSON_NAMES.get(type(value), 'this')}.")  # noqa: TRY004 - the caller's value, not ours
        text = str(int(value) if isinstance(value, float) and value.is_integer() else value).strip()
        if options:
            return _option(text, options)
        if self.type is int:
            return self._integer(text)
        if self.type is date:
            return self._date(text)
        if self.source:
            try:
                return self.source.match(reference, text)
            except ValueError as error:
                raise ValueError(f"{quoted(text)} {error} {self.source.sentence}") from None
        return text

    def _integer(self, text: str) -> int:
        if not _INTEGER.fullmatch(text):
            raise ValueError(f"must be a whole number, not {quoted(text)}.")
        number = int(text)
        if self.bounds and not self.bounds.low <= number <= self.bounds.high:
            raise ValueError(f"must be at least {self.bounds.low} and at most {self.bounds.high}, not {number}.")
        return number

    def _date(self, text: str) -> date:
        try:
            return date.fromisoformat(text if _DATE.fullmatch(text) else "")
        except ValueError:
            raise ValueError(f"{quoted(text)} is not a date of the calendar. Format is YYYY-MM-DD.") from None

    def _limits(self, reference: Any) -> list[str]:
        """Give the sentences that say which values are valid; the description and the errors share them."""
        options = self.choices(reference)
        return [
            *([self.source.sentence] if self.source else []),
            *([f"Options are {listed(options)}."] if options else []),
            *([f"Must be at least {self.bounds.low} and at most {self.bounds.high}."] if self.bounds else []),
            *(["Format is YYYY-MM-DD."] if self.type is date else []),
        ]


def _option(text: str, options: Sequence[str]) -> str:
    for option in options:
        if option.casefold() == text.casefold():
            return option
    raise ValueError(f"has no option {quoted(text)}.{did_you_mean(text, options)} Options are {listed(options)}.")


def is_absent(value: Any) -> bool:
    """Tell whether a wire value means the same as leaving the argument out (SERVICE.md 3)."""
    return all(map(_is_blank, value)) if isinstance(value, list) else _is_blank(value)


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _unwrapped(annotation: Any) -> tuple[Any, list[Any]]:
    """Take `Annotated` and `… | None` off an annotation; give what is inside and the markers, the outermost last."""
    if get_origin(annotation) is Annotated:
        inner, markers = _unwrapped(annotation.__origin__)
        return inner, [*markers, *annotation.__metadata__]
    if get_origin(annotation) in (Union, UnionType):
        inner = [each for each in get_args(annotation) if each is not NoneType]
        if len(inner) == 1:
            return _unwrapped(inner[0])
    return annotation, []


_NAMES = {str: "text", int: "a whole number", date: "a date"}
_JSON_NAMES: dict[type, str] = {bool: "true or false", list: "a list", dict: "an object"}
