"""Values of a form's fields: plain, several (`Each`) or a `Variable`; and their exact conversion to what is sent."""

from __future__ import annotations

import datetime as dt
import math
import numbers
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from jupyter_funcs.catalog.fields import Field, Kind
from jupyter_funcs.core.text import clip, did_you_mean, folded, listed, quote, replace_surrogates

if TYPE_CHECKING:
    from collections.abc import Callable

# Added to the error for several values in a field that takes one.
SWEEPS = " To run it for each value: %funcs sweep, fn.sweep(…), or Run for each in a panel."
# A pasted column of the wrong kind has the same error in every value.
_MOST_ERRORS = 3
# '$5' in quotes is a text, as in the magic; quotes around any other text belong to it.
_QUOTED = re.compile(r"""(['"])([\s'"]*\$.*)\1""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Each:
    """Several values for a field, one run each. For a field that takes a list, each value is a list."""

    values: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.values)


def several(value: Any) -> Each:
    """Wrap the value of a field as the first of several."""
    return value if isinstance(value, Each) else Each(() if value is None else (value,))


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
    field: Field, each: Each, variables: Mapping[str, Any], *, validate: bool
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
                wire = to_wire(field, one, validate=validate)
            except ValueError as error:
                errors[str(error)] = None
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
    if field.kind is Kind.LIST:
        several = several and len(value) > 0 and all(map(_is_sequence, value))
    return Each(tuple(value)) if several else value


def to_wire(field: Field, value: Any, *, validate: bool = True) -> str | list[str]:
    """
    Convert one value to what the service takes for a field: a string, or an array of strings for a list.

    ``1`` becomes ``"1"``, and a date becomes ``YYYY-MM-DD``. A single string for a list becomes an array of one; it is
    never split at commas. numpy scalars, Timestamps and Decimals are converted exactly.
    """
    spelt = {option.casefold(): option for option in reversed(allowed(field))} if validate else {}
    try:
        if field.kind is Kind.LIST:
            return [_one(field, item, spelt) for item in _items(field, value)]
        return _one(field, value, spelt)
    except ValueError:
        raise
    except Exception:  # noqa: BLE001  # any object may be set, even one that fails when inspected
        raise ValueError(f"{field.label} does not take {quote(value)} ({type(value).__name__}).") from None


def refuse_table(field: Field, value: Any) -> None:
    """Refuse a whole table where the values of one column are expected."""
    columns = list(getattr(value, "columns", ())) if getattr(value, "ndim", 1) > 1 else []
    if columns:
        alike = next((column for column in columns if folded(str(column)) == folded(field.name)), columns[0])
        raise ValueError(
            f"{field.label} takes one column, not a whole table: use table[{quote(alike)}] "
            "(in %funcs, assign it to a variable first)."
        )


def _items(field: Field, value: Any) -> list[Any]:
    if isinstance(value, (str, bytes, bytearray)) or not is_iterable(value):
        return [value]
    refuse_table(field, value)
    # A mapping would yield its keys, and an iterator would be exhausted at the second reading.
    if isinstance(value, Mapping) or hasattr(value, "__next__") or getattr(value, "ndim", 1) > 1:
        raise ValueError(f"{field.label} takes a list, not {quote(value)} ({type(value).__name__}).")
    return list(value)


def _one(field: Field, value: Any, spelt: Mapping[str, str]) -> str:
    if not isinstance(value, str) and is_iterable(value):
        if field.kind is Kind.LIST:
            raise ValueError(f"{field.label} takes a list of texts, not {quote(value)}.")
        raise ValueError(f"{field.label} takes one value, not {quote(value)}.{SWEEPS * _is_sequence(value)}")
    text = _CONVERTERS.get(field.kind, _as_text)(field, value)
    if replace_surrogates(text) != text:
        raise ValueError(f"{field.label} contains an invalid character (a lone surrogate): {quote(text)}.")
    if not spelt:
        return text
    folded_text = text.strip().casefold()
    if folded_text not in spelt:  # True for a choice of Yes, No and Auto
        folded_text = {"true": "yes", "false": "no"}.get(folded_text, folded_text)
    if folded_text not in spelt:
        options = list(spelt.values())[::-1]
        hint = did_you_mean(text, options) or clip(f"Options are {listed(map(quote, options), 'and')}", 200) + "."
        raise ValueError(f"{field.label} has no option {quote(text)}. {hint}")
    return spelt[folded_text]


def allowed(field: Field) -> tuple[str, ...]:
    """Return the options that exclude other values; for a date or an integer only if every option is one."""
    if field.kind is Kind.NUMBER:  # 0.5 is 0.50
        return ()
    if field.kind in {Kind.DATE, Kind.INTEGER}:
        try:
            return tuple(_CONVERTERS[field.kind](field, option) for option in field.options)
        except ValueError:
            return ()
    return field.options


def as_json(field: Field, sent: str | list[str]) -> Any:
    """Return what is sent for a field in its JSON type: a number for numeric fields, else unchanged."""
    if isinstance(sent, list) or field.kind not in {Kind.INTEGER, Kind.NUMBER}:
        return sent
    return int(sent) if re.fullmatch(r"[-+]?\d+", sent) else float(sent)


def default_of(field: Field) -> Any:
    """Return the default in its JSON type; ``None`` if there is none, or none that the field's options allow."""
    try:
        return None if field.default is None else as_json(field, to_wire(field, field.default))
    except ValueError:
        return None


def _as_text(field: Field, value: Any) -> str:
    value = _plain(field, value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, dt.datetime):
        return value.date().isoformat() if _is_midnight(value) and not value.tzinfo else value.isoformat()
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, (bool, numbers.Number)):
        return str(value)
    raise ValueError(f"{field.label} takes text, not {quote(value)} ({type(value).__name__}).")


def _as_yes_no(field: Field, value: Any) -> str:
    by_word = {option.casefold(): option for option in field.options}
    text = _as_text(field, value).strip()
    for words in (("yes", "true", "y"), ("no", "false", "n")):
        if text.casefold() in words:
            return next((by_word[word] for word in words if word in by_word), words[0].capitalize())
    return text


def _as_integer(field: Field, value: Any) -> str:
    value = _plain(field, value)
    if isinstance(value, str):
        whole = re.fullmatch(r"\s*[-+]?\d{1,19}\s*", value, re.ASCII) is not None
    else:
        # Bounded before the conversion: int() refuses infinity, and a float may have 300 digits.
        known = isinstance(value, (int, float, Decimal, Fraction)) and not isinstance(value, bool)
        whole = known and -(2**63) <= value < 2**63 and value == int(value)
    number = int(value) if whole else 2**63
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{field.label} takes a whole number, not {quote(value)}.")
    _check_bounds(field, number)
    return str(number)


def _as_number(field: Field, value: Any) -> str:
    value = _plain(field, value)
    try:
        # str() gives the shortest text that reads back as the same float; "True" fails.
        number = Decimal(str(value).strip())
    except (InvalidOperation, ValueError):
        raise ValueError(f"{field.label} takes a number, not {quote(value)}.") from None
    if not number.is_finite() or not math.isfinite(float(number)):
        raise ValueError(f"{field.label} takes a finite number, not {quote(value)}.")
    _check_bounds(field, number)
    return str(number)


def _check_bounds(field: Field, number: int | Decimal) -> None:
    low, high = field.minimum, field.maximum
    if (low is not None and number < low) or (high is not None and number > high):
        bounds = (
            f"at least {low}" if high is None else f"at most {high}" if low is None else f"between {low} and {high}"
        )
        raise ValueError(f"{field.label} must be {bounds}, not {number}.")


def _as_date(field: Field, value: Any) -> str:
    value = _plain(field, value)
    if isinstance(value, dt.datetime):
        if not _is_midnight(value):
            raise ValueError(f"{field.label} takes a date without a time of day, not {quote(value.isoformat(' '))}.")
        value = value.date()
    if isinstance(value, dt.date):
        return value.isoformat()
    text = _as_text(field, value).strip()
    # date.fromisoformat also reads 20250304 and 2025-W10-2, which the service does not.
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
        try:
            return dt.date.fromisoformat(text).isoformat()
        except ValueError:
            raise ValueError(f"{field.label} is not a valid date: {quote(text)}.") from None
    raise ValueError(f"{field.label} takes a date as YYYY-MM-DD, not {quote(text)}.")


def _plain(field: Field, value: Any) -> Any:
    """Convert a numpy scalar to Python exactly; refuse missing values."""
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind == "M" and str(value) != "NaT":
        # As text without a zero time of day; .item() of nanoseconds is an integer.
        day, _, time = str(value).partition("T")
        return day if not time.strip("0:.") else f"{day}T{time}"
    if kind and kind not in "Mm" and getattr(value, "ndim", None) == 0:
        value = value.item()
    if _is_missing(value):
        raise ValueError(f"{field.label} has no value: {quote(value)}. Leave it out to use the default.")
    if kind == "m":  # numpy counts durations as integers
        raise ValueError(f"{field.label} does not take a duration: {quote(value)}.")
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
