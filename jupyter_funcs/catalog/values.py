"""Values of a form's fields: plain, several (`Each`) or a `Variable`; and their exact conversion to what is sent."""

from __future__ import annotations

import datetime as dt
import json
import math
import numbers
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from enum import Enum
from fractions import Fraction
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from jupyter_funcs.catalog.fields import Evidence, Field, Kind, by_name, read_fields
from jupyter_funcs.catalog.schemas import problem_of
from jupyter_funcs.core.text import clip, did_you_mean, folded, inert, listed, meant, quote, replace_surrogates

if TYPE_CHECKING:
    from jupyter_funcs.catalog.listing import Function

# Added to the error for several values in a field that takes one.
SWEEPS = " To run it for each value: %funcs sweep, fn.sweep(…), or Run for each in a panel."
# A pasted column of the wrong kind has the same error in every value.
_MOST_ERRORS = 3
_MOST_NAMED = 60  # options in an error, which has room for fewer
# The parts of a field that values may contradict.
_CHECKED = ("kind", "options", "bounds")
_ENFORCED = dict.fromkeys(_CHECKED, Evidence.DECLARED)
# '$5' in quotes is a text, as in the magic; quotes around any other text belong to it.
_QUOTED = re.compile(r"""(['"])([\s'"]*\$.*)\1""", re.DOTALL)
# By the format of a JSON Schema: what most programs read, and an example.
_READ = {
    "date-time": re.compile(r"\d{4}-(0[1-9]|1[0-2])-\d\d([Tt ]([01]\d|2[0-3]):[0-5]\d.*)?|\d{5,}"),
    "time": re.compile(r"([01]\d|2[0-3]):[0-5]\d.*"),
    "duration": re.compile(r"[-+]?P.*\d.*|.*\d:\d\d.*|.*\d days?\b.*"),
}
EXAMPLES = {"date-time": "2026-11-15T14:30", "time": "14:30", "duration": "P1DT2H"}


class WrongValueError(ValueError):
    """A field doesn't take a value; the message says why, after the name or the label of the field."""


@dataclass(frozen=True, slots=True)
class Each:
    """Several values for a field, one run each. For a field that takes a list, each value is a list."""

    values: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.values)


def only(value: Any) -> Any:
    """Turn several values back into one: the first."""
    return next(iter(value.values), None) if isinstance(value, Each) else value


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable by name; its value is looked up each time the form is read."""

    name: str

    def __str__(self) -> str:
        return f"${self.name}"


def typed(text: str) -> str | Variable:
    """Read typed text: ``$name`` is a variable, ``'$5'`` in quotes is the text ``$5``, anything else is itself."""
    bare = text.strip()
    if bare.startswith("$"):
        return Variable(bare[1:])
    if quoted := _QUOTED.fullmatch(bare):
        return quoted[2]
    return text


def spelled(value: object) -> str:
    """Return the text to type for a value; the inverse of `typed`."""
    text = str(value)
    return text if isinstance(value, Variable) or typed(text) == text else f"'{text}'"


def has_variable(value: object) -> bool:
    """Return whether a value is a variable, or a list or `Each` that contains one."""
    if isinstance(value, Each):
        return any(map(has_variable, value.values))
    return isinstance(value, Variable) or (isinstance(value, list) and any(isinstance(one, Variable) for one in value))


def resolved(value: Any, variables: Mapping[str, Any]) -> Any:
    """Look up the variables in a value; the items of a variable inside a list are inserted in its place."""
    if isinstance(value, Variable):
        return _look_up(value, variables)
    if has_variable(value):
        items = []
        for item in value:
            found = _look_up(item, variables) if isinstance(item, Variable) else item
            # Other containers are refused as a single item, at the field.
            items += list(found) if _is_sequence(found) else [found]
        return items
    return value


def _look_up(variable: Variable, variables: Mapping[str, Any]) -> Any:
    if variable.name not in variables:
        # A copy of the names: a cell may define one while we iterate.
        hint = did_you_mean(variable.name, (name for name in list(variables) if not name.startswith("_")))
        hint = hint or f"Define it, or quote the value: '{variable}'."
        raise ValueError(f"There is no variable {quote(variable.name)}. {hint}")
    value = variables[variable.name]
    if is_empty(value):
        raise ValueError(f"{variable} is empty: {quote(value)}.")
    return value


def wire_values(
    field: Field, each: Each, variables: Mapping[str, Any], called: str, *, validate: bool
) -> tuple[list[Any], list[str]]:
    """Convert the values of a swept field; return the valid ones, without repeats, and the errors of the others."""
    sent: dict[str | tuple[str, ...], str | list[str]] = {}
    errors: dict[str, None] = {}
    for item in each.values:
        try:
            value = resolved(item, variables)
        except ValueError as error:
            errors[str(error)] = None
            continue
        value = as_several(field, value) if isinstance(item, Variable) else value
        for one in value.values if isinstance(value, Each) else (value,):
            try:
                wire = to_wire(field, one, validate=validate, hints=len(errors) < _MOST_ERRORS)
            except WrongValueError as error:
                errors[f"{called} {error}"] = None
            else:
                sent.setdefault(tuple(wire) if isinstance(wire, list) else wire, wire)
    return list(sent.values()), shorten(list(errors))


def shorten(texts: list[str]) -> list[str]:
    """Return the first texts, and a last one that counts the rest."""
    more = len(texts) - _MOST_ERRORS
    return [*texts[:_MOST_ERRORS], *([f"And {more:,} more like these."] if more > 0 else [])]


def as_several(field: Field, value: Any) -> Any:
    """Return `Each` for a list of values for a field that takes one, else the value itself."""
    several = _is_sequence(value)
    if field.kind in {Kind.LIST, Kind.JSON}:
        several = several and len(value) > 0 and all(map(_is_sequence, value))
    return Each(tuple(value)) if several else value


def to_wire(field: Field, value: Any, *, validate: bool = True, hints: bool = True) -> str | list[str]:
    """
    Convert one value to what is sent for a field: a text, or a list of texts.

    What the catalog declares is enforced: ``1`` for a list becomes ``["1"]``, ``True`` becomes the option for it, a
    date becomes ``YYYY-MM-DD``; a value of another kind raises a `WrongValueError`. For anything else, text is sent as
    it is, and a list as a list. numpy scalars, Timestamps and Decimals are converted exactly. Texts are never split.

    `validate` is whether anything is enforced, `hints` whether an error suggests options, which takes a while.
    """
    try:
        one = partial(_one, field, validate=validate, hints=hints)
        if field.kind is Kind.JSON:
            return _as_json_text(field, value, validate=validate)
        is_list = field.kind is Kind.LIST and field.is_declared()
        if is_list or (is_several(value) and not (field.is_declared() and validate) and field.schema is None):
            return [one(item) for item in items_of(field, value)]
        return one(value)
    except WrongValueError:
        raise
    except Exception:  # noqa: BLE001  # any object may be set, even one that fails when inspected
        raise WrongValueError(f"does not take {quote(value)} ({type(value).__name__}).") from None


def contradictions(field: Field, each: Sequence[str | list[str]]) -> list[str]:
    """Return how the values sent for a field contradict its description or format, or look like JSON and are none."""
    if field.kind is Kind.JSON:
        return list(dict.fromkeys(text for sent in each if isinstance(sent, str) and (text := _broken(sent))))
    if field.format in _READ:
        every = chain.from_iterable([sent] if isinstance(sent, str) else sent for sent in each)
        said = f"takes a {field.format} such as {EXAMPLES[field.format]}, not"
        return [f"{said} {quote(one)}." for one in every if not _READ[field.format].fullmatch(one)]
    if Evidence.DESCRIBED not in {field.evidence.get(part) for part in _CHECKED}:
        return []
    is_assumed = field.evidence.get("kind") is Evidence.ASSUMED
    strict = replace(field, evidence=_ENFORCED, kind=Kind.TEXT if is_assumed else field.kind)
    texts: dict[str, None] = {}
    for sent in each:
        try:
            found = to_wire(strict, sent, hints=len(texts) < _MOST_ERRORS)
            for one, option in zip(*([one] if isinstance(one, str) else one for one in (sent, found)), strict=True):
                if one != option and option in strict.options:  # in another case, which may matter
                    texts[f"has no option {quote(one)}. {meant([option])}"] = None
        except ValueError as error:
            texts[str(error)] = None
    return list(texts)


def refuse_table(field: Field, value: Any) -> None:
    """Refuse a whole table where the values of one column are expected."""
    columns = list(getattr(value, "columns", ())) if getattr(value, "ndim", 1) > 1 else []
    if columns:
        alike = next((column for column in columns if folded(str(column)) == folded(field.name)), columns[0])
        raise WrongValueError(
            f"takes one column, not a whole table: use table[{quote(alike)}] "
            "(in %funcs, assign it to a variable first)."
        )


def items_of(field: Field, value: Any) -> list[Any]:
    """Return the values in a list, or a single one as a list; raise a `WrongValueError` for other collections."""
    if not is_several(value):
        return [value]
    refuse_table(field, value)
    # A mapping would yield its keys, and an iterator would be exhausted at the second reading.
    if isinstance(value, Mapping) or hasattr(value, "__next__") or getattr(value, "ndim", 1) > 1:
        raise WrongValueError(f"takes a list, not {quote(value)} ({type(value).__name__}).")
    return list(value)


def _one(field: Field, value: Any, *, validate: bool, hints: bool) -> str:
    if not isinstance(value, str) and is_iterable(value):
        if field.kind is Kind.LIST:
            raise WrongValueError(f"takes a list of texts, not {quote(value)}.")
        given = quote(value)[1:-1] if isinstance(value, list | tuple) else quote(value)  # its items have quotes
        raise WrongValueError(f"takes one value, not {given}.{SWEEPS * _is_sequence(value)}")
    kind = field.item if field.kind is Kind.LIST else field.kind
    convert = _CONVERTERS.get(kind, _as_text) if validate and field.is_declared() else _as_given
    text = convert(field, value)
    if replace_surrogates(text) != text:
        raise WrongValueError(f"contains an invalid character (a lone surrogate): {quote(text)}.")
    options = _spellings(field, kind) if validate and field.is_declared("options") else {}
    if not options:
        return text
    # As it is spelt, or else in any case; True is a choice of Yes, No and Auto.
    key = _comparable(kind, text)
    folded_key = key.strip().casefold()
    flag = {"true": "yes", "false": "no"}.get(folded_key, "")
    found = next((options[one] for one in (key, folded_key, flag) if one in options), None)
    if found is None:
        first = ["Yes", "No"] if kind is Kind.YES_NO else dict.fromkeys(islice(options.values(), _MOST_NAMED))
        hint = did_you_mean(text, options.values()) if hints else ""
        hint = hint or clip(f"Options are {listed(map(quote, first), 'and')}", 200) + "."
        raise WrongValueError(f"has no option {quote(text)}. {hint}")
    return text if kind is Kind.NUMBER else found


def _spellings(field: Field, kind: Kind) -> dict[str, str]:
    """Return the options of a field by what is compared: their spelling, and that in lower case."""
    if kind in field.spelt:  # by another of thousands of values
        return field.spelt[kind]
    spelt: dict[str, str] = {}
    options = [(_comparable(kind, option), option) for option in allowed(field)]
    for key, option in [*options, *((key.casefold(), option) for key, option in options)]:
        spelt.setdefault(key, option)
    field.spelt[kind] = spelt
    return spelt


def _comparable(kind: Kind, text: str) -> str:
    return str(Decimal(text).normalize()) if kind is Kind.NUMBER else text  # 0.5 is 0.50


def allowed(field: Field) -> tuple[str, ...]:
    """Return the options that exclude other values; for a date or a number only if every option is one."""
    kind = field.item if field.kind is Kind.LIST else field.kind
    if kind in {Kind.DATE, Kind.INTEGER, Kind.NUMBER}:
        try:
            return tuple(_CONVERTERS[kind](field, option) for option in field.options)
        except ValueError:
            return ()
    return field.options


def as_json(field: Field, sent: str | list[str]) -> Any:
    """Return what is sent for a field in its JSON type, as far as that is declared, else unchanged."""
    if isinstance(sent, list):
        return [_typed(field, field.item, one) for one in sent]
    return _typed(field, field.kind, sent)


def json_args(function: Function, args: Mapping[str, str | list[str]]) -> dict[str, Any]:
    """Return the arguments of a function as `as_json`."""
    fields = by_name(read_fields(function))
    return {name: as_json(fields[name], sent) for name, sent in args.items() if name in fields}


def _typed(field: Field, kind: Kind, sent: str) -> Any:
    if sent in field.typed:
        return field.typed[sent]
    if field.is_declared() and kind in {Kind.INTEGER, Kind.NUMBER, Kind.JSON}:
        try:
            found = json.loads(sent)
        except (ValueError, RecursionError):  # validate=False sends anything
            return sent
        return found if kind is Kind.JSON or (isinstance(found, (int, float)) and found is not True) else sent
    return sent


def default_of(field: Field) -> Any:
    """Return the default in its JSON type; ``None`` if there is none, or none that the field's options allow."""
    try:
        if field.default is None or (field.kind in {Kind.LIST, Kind.JSON} and field.is_declared("default")):
            return field.default and json.loads(field.default)
        return as_json(field, to_wire(replace(field, evidence=_ENFORCED), field.default))
    except ValueError:
        return None


def _as_json_text(field: Field, value: Any, *, validate: bool) -> str:
    """Return a value as JSON text; a text that isn't JSON of the schema stands for itself."""
    schema, problem, hint = field.schema or {}, "", ""
    if isinstance(value, str):
        given, wrong = _parsed(value)
        problem = f"it isn't valid JSON ({wrong})" if wrong else problem_of(schema, given)
        if not (problem and validate):
            return value
        text = json.dumps(value, ensure_ascii=False)
        items, wrong = _parsed(f"[{value}]")
        hint = "" if wrong or problem_of(schema, items) else f" Enter {clip(f'[{value}]', 100)}."
    else:
        refuse_table(field, value)
        text, value = _dumped(field, value if is_iterable(value) else _plain(value))
    other = problem_of(schema, value) if validate else ""
    if not other:
        return text
    reason = clip(inert(problem or other), 300).rstrip(".")
    raise WrongValueError(f"does not take {quote(value)}: {reason}.{hint}")


def _parsed(text: str) -> tuple[Any, str]:
    """Return the value of a JSON text, and what is wrong with the text."""
    try:
        return json.loads(text, parse_constant=_no_constant), ""
    except json.JSONDecodeError as error:
        return None, f"{error.msg.removesuffix(' at').removesuffix(' starting')} at character {error.pos + 1}"
    except (ValueError, RecursionError) as error:
        return None, clip(str(error), 100)


def _broken(sent: str) -> str:
    """Return what is wrong with JSON that is sent as a text, because it isn't valid and the parameter takes a text."""
    text = json.loads(sent) if sent.startswith('"') else ""
    wrong = _parsed(text)[1] if text.lstrip().startswith(("[", "{")) else ""
    return f"looks like JSON, but isn't valid ({wrong})." if wrong else ""


def _dumped(field: Field, value: Any) -> tuple[str, Any]:
    """Return a Python value as JSON text, and as plain JSON."""

    def plain(item: Any) -> Any:
        if not is_iterable(item):
            item = _plain(item)
            if isinstance(item, numbers.Number):
                return json.loads(str(item))
            if not isinstance(item, (str, dt.date)):
                raise TypeError
            return _as_text(field, item)
        refuse_table(field, item)
        if isinstance(item, (bytes, bytearray)) or hasattr(item, "__next__"):
            raise TypeError
        return item.tolist() if hasattr(item, "tolist") else list(item)

    try:
        text = json.dumps(value, default=plain, ensure_ascii=False, allow_nan=False)
        return text, json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        if isinstance(error, WrongValueError):
            raise
        raise WrongValueError(f"does not take {quote(value)} ({type(value).__name__}).") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"JSON has no {name}")


def _as_given(field: Field, value: Any) -> str:
    """Return a value as text, where nothing is declared or enforced."""
    value = _plain(value)
    return _as_yes_no(field, value) if isinstance(value, bool) else _as_text(field, value)


def _as_text(field: Field, value: Any) -> str:
    value = _plain(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, dt.datetime):
        return value.date().isoformat() if _is_midnight(value) and not value.tzinfo else value.isoformat()
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    if isinstance(value, dt.timedelta) and field.format == "duration":
        size = abs(value)
        return f"{'-' * (size != value)}P{size.days}DT{size.seconds + Decimal(size.microseconds) / 10**6}S"
    if isinstance(value, (bool, numbers.Number)):
        return str(value)
    raise WrongValueError(f"takes text, not {quote(value)} ({type(value).__name__}).")


def _as_yes_no(field: Field, value: Any) -> str:
    by_word = {option.casefold(): option for option in field.options}
    text = _as_text(field, value).strip()
    for words in (("yes", "true", "y"), ("no", "false", "n")):
        if text.casefold() in words:
            return next((by_word[word] for word in words if word in by_word), words[0].capitalize())
    return text


def _as_integer(field: Field, value: Any) -> str:
    number = value = _plain(value)
    if isinstance(value, str) and re.fullmatch(r"\s*[-+]?\d{1,19}\s*", value, re.ASCII):
        number = int(value)
    known = isinstance(number, (int, float, Decimal, Fraction)) and not isinstance(number, bool)
    # Bounded before the conversion: int() refuses infinity, and a float may have 300 digits.
    if not (known and -(2**63) <= number < 2**63 and number == int(number)):
        raise WrongValueError(f"takes a whole number, not {quote(value)}.")
    _check_bounds(field, int(number))
    return str(int(number))


def _as_number(field: Field, value: Any) -> str:
    value = _plain(value)
    try:
        # str() gives the shortest text that reads back as the same float; "True" fails.
        number = Decimal(str(value).strip())
    except (InvalidOperation, ValueError):
        raise WrongValueError(f"takes a number, not {quote(value)}.") from None
    if not number.is_finite() or not math.isfinite(float(number)):
        raise WrongValueError(f"takes a finite number, not {quote(value)}.")
    _check_bounds(field, number)
    return str(number)


def _check_bounds(field: Field, number: int | Decimal) -> None:
    low, high = (field.minimum, field.maximum) if field.is_declared("bounds") else (None, None)
    if (low is not None and number < low) or (high is not None and number > high):
        raise WrongValueError(f"must be {_bounds(field)}, not {number}.")


def in_words(field: Field) -> tuple[str, str, str]:
    """Return whether a field is required, its default, and its options or where they are, as a table shows them."""
    required = " or ".join(field.rule.names) if field.rule else "yes" * field.required
    options = ", ".join(field.options) or (f"see {field.source}" if field.source else _bounds(field))
    return required, field.default or "", options


def _bounds(field: Field) -> str:
    low, high = field.minimum, field.maximum
    if low is None or high is None:
        return f"at least {low}" if low is not None else f"at most {high}" if high is not None else ""
    return f"between {low} and {high}"


def _as_date(field: Field, value: Any) -> str:
    value = _plain(value)
    if isinstance(value, dt.datetime):
        if not _is_midnight(value):
            raise WrongValueError(f"takes a date without a time of day, not {quote(value.isoformat(' '))}.")
        value = value.date()
    text = _as_text(field, value).strip()
    # date.fromisoformat also reads 20250304 and 2025-W10-2, which the service does not.
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
        try:
            return dt.date.fromisoformat(text).isoformat()
        except ValueError:
            raise WrongValueError(f"is not a valid date: {quote(text)}.") from None
    raise WrongValueError(f"takes a date as YYYY-MM-DD, not {quote(text)}.")


def _plain(value: Any) -> Any:
    """Convert a numpy scalar, or the member of an enumeration, to Python exactly; refuse missing values."""
    value = value.value if isinstance(value, Enum) else value
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind == "M" and str(value) != "NaT":
        # As text without a zero time of day; .item() of nanoseconds is an integer.
        day, _, time = str(value).partition("T")
        return day if not time.strip("0:.") else f"{day}T{time}"
    if kind and kind not in "Mm" and getattr(value, "ndim", None) == 0:
        value = value.item()
    if _is_missing(value):
        raise WrongValueError(f"has no value: {quote(value)}. Leave it out to use the default.")
    if kind == "m":  # numpy counts durations as integers
        raise WrongValueError(f"does not take a duration: {quote(value)}.")
    return value


def _is_missing(value: Any) -> bool:
    if isinstance(value, Decimal):
        return value.is_nan()  # a signalling NaN raises when compared
    # NaT is a datetime, NaN a number, and neither equals itself; pd.NA raises when compared.
    return type(value).__name__ == "NAType" or (not isinstance(value, str) and bool(value != value))  # noqa: PLR0124  # true of NaN only


def _is_midnight(value: dt.datetime) -> bool:
    return value.time() == dt.time() and not getattr(value, "nanosecond", 0)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) == 1


def is_several(value: Any) -> bool:
    return is_iterable(value) and not isinstance(value, (str, bytes, bytearray))


def is_iterable(value: Any) -> bool:
    return hasattr(value, "__iter__") and getattr(value, "ndim", 1) != 0


def is_empty(value: Any) -> bool:
    if value is None or (isinstance(value, str) and not value.strip()):
        return True
    try:
        return is_iterable(value) and hasattr(value, "__len__") and len(value) == 0
    except Exception:  # noqa: BLE001  # such a value is stored, and refused at its field
        return False


_CONVERTERS: dict[Kind, Callable[[Field, Any], str]] = {
    Kind.YES_NO: _as_yes_no,
    Kind.INTEGER: _as_integer,
    Kind.NUMBER: _as_number,
    Kind.DATE: _as_date,
}
