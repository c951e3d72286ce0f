"""
A parameter of a published function: read from its annotation, described in the service's words, checked on a call.

One value of each kind passes through `Parameter.read` on its way from the wire to Python, and `Parameter.description`
says beforehand what will be taken, so that the two cannot disagree.
"""

from __future__ import annotations

import inspect
import math
import re
from dataclasses import dataclass
from datetime import date
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from .markers import AtLeastOne, Between, Help, ListedBy, Options, TypeCode
from .words import did_you_mean, listed, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
# A list may hold a hundred thousand wrong values; a person reads the first few.
_MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class Parameter:
    """
    One parameter of a published function.

    Attributes
    ----------
    name
        The wire name, which is the Python name.
    type
        `str`, `int`, `float`, `bool` or `date`: what one value becomes.
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
    type: type[str | int | float | bool | date]
    code: TypeCode
    required: bool
    default: Any
    help: str | Callable[[Any], str] = ""
    many: bool = False
    options: tuple[str, ...] | Callable[[Any], tuple[str, ...]] = ()
    source: ListedBy | None = None
    bounds: Between | None = None

    @classmethod
    def annotated(cls, name: str, annotation: Any, default: Any) -> Parameter:
        """
        Read a parameter from its annotation and its default, which is `inspect.Parameter.empty` where there is none.

        Raises
        ------
        TypeError
            The annotation is not understood, or the default is not a value that it takes.
        """
        base, markers = _unwrapped(annotation)
        many = get_origin(base) is list
        item, own = _unwrapped(get_args(base)[0]) if many else (base, [])
        by_type = {type(marker): marker for marker in (*own, *markers)}
        options: Any = by_type[Options].values if Options in by_type else ()
        if get_origin(item) is Literal:
            literals = get_args(item)
            kinds = {type(each) for each in literals}
            item = kinds.pop() if len(kinds) == 1 else None
            options = tuple(map(_worded, literals))
        elif item is bool:
            options = ("Yes", "No")
        if item not in _NAMES:
            wanted = "str, int, float, bool, date, Literal['…'], list[…] or Annotated[…] of these"
            raise TypeError(f"Parameter {name} is annotated {inspect.formatannotation(annotation)}; write {wanted}.")
        required = default is inspect.Parameter.empty
        code = TypeCode.LIST if many else TypeCode.INTEGER if item is int else TypeCode.TEXT
        found = cls(
            name=name,
            type=item,
            code=by_type.get(TypeCode, code),
            required=required,
            default=None if required else default,
            help=by_type[Help].text if Help in by_type else "",
            many=many,
            options=options,
            source=by_type.get(ListedBy),
            bounds=by_type.get(Between),
        )
        found._check()
        return found

    def _check(self) -> None:
        if self.bounds and self.type not in (int, float):
            raise TypeError(f"Parameter {self.name} takes {_NAMES[self.type]}; Between is for numbers.")
        if self.default is None:
            return
        items = self.default if self.many else [self.default]
        if not isinstance(items, list) or not all(map(self._may_be_default, items)):
            raise TypeError(f"Parameter {self.name} has the default {self.default!r}, which it does not take.")

    def _may_be_default(self, item: Any) -> bool:
        # A bool is an int to Python, but no whole number to a caller.
        if type(item) not in ((int, float) if self.type is float else (self.type,)):
            return False
        # Options that follow from the data are not known yet.
        known = () if callable(self.options) else self.options
        is_option = not known or _worded(item) in known
        return is_option and (not self.bounds or self.bounds.low <= item <= self.bounds.high)

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
        if self.default not in (None, []):
            sentences.append(f"If none, {self.name} defaults to {self._default()}.")
        return " ".join(sentence for sentence in sentences if sentence)

    def _default(self) -> str:
        return listed(map(_worded, self.default)) if self.many else quoted(_worded(self.default))

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
            value = _worded(value)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError(f"takes {_NAMES[self.type]}, not {_JSON_NAMES.get(type(value), 'this')}.")  # noqa: TRY004 - the caller's value, not ours
        text = str(int(value) if isinstance(value, float) and value.is_integer() else value).strip()
        if options:
            text = _option(text, options)
        if self.type is bool:
            return text == "Yes"
        if self.type in (int, float):
            return self._number(text)
        if self.type is date:
            return self._date(text)
        if self.source and self.source.match:
            try:
                return self.source.match(reference, text)
            except ValueError as error:
                raise ValueError(f"{quoted(text)} {error} {self.source.sentence}") from None
        return text

    def _number(self, text: str) -> float:
        if not (_INTEGER if self.type is int else _NUMBER).fullmatch(text) or not math.isfinite(float(text)):
            raise ValueError(f"must be {_NAMES[self.type]}, not {quoted(text)}.")
        number = int(text) if self.type is int else float(text)
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
            *(["Must be a number."] if self.type is float else []),
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


def _worded(value: Any) -> str:
    """Give a Python value as the service spells it."""
    return str(value) if not isinstance(value, bool) else "Yes" if value else "No"


_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "'Yes' or 'No'", date: "a date"}
_JSON_NAMES: dict[type, str] = {bool: "true or false", list: "a list", dict: "an object"}
