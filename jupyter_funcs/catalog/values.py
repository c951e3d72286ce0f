"""One value of a person or of code becomes what the service takes for a field, exactly, or a text that says why not."""

from __future__ import annotations

import datetime as dt
import math
import numbers
import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from jupyter_funcs.fields import Field, Kind
from jupyter_funcs.text import clip, did_you_mean, folded, listed, quote

if TYPE_CHECKING:
    from collections.abc import Callable


# What is said to several values where one goes.
SWEEPS = " For several: %funcs sweep, fn.sweep(…), or Run for each in a panel."
_A_COLUMN = "{name} takes a column of a table, not all of it: table[{column}], on a line a variable of it."


def to_wire(field: Field, value: Any, *, validate: bool = True) -> str | list[str]:
    """
    Convert one value to what the service takes for a field: a string, or an array of strings for a list.

    ``1`` goes as ``"1"``, a date as ``YYYY-MM-DD``, a single string for a list as an array of one, never split at
    commas (SERVICE.md 3). numpy scalars, Timestamps and Decimals are converted exactly.

    Raises
    ------
    ValueError
        The value is not valid; the text is one sentence for a person, or two.
    """
    spelt = {option.casefold(): option for option in reversed(allowed(field))} if validate else {}
    try:
        if field.kind is Kind.LIST:
            return [_one(field, item, spelt) for item in _items(field, value)]
        return _one(field, value, spelt)
    except ValueError:
        raise
    except Exception:  # noqa: BLE001  # anything may be set, also what fails when it is looked at
        raise ValueError(f"{field.name} does not take {quote(value)} ({type(value).__name__}).") from None


def no_table(field: Field, value: Any) -> None:
    """
    Refuse a table where the values of a column go.

    Raises
    ------
    ValueError
        It is one; names the column that is called as the field is, or the first.
    """
    columns = list(getattr(value, "columns", ())) if getattr(value, "ndim", 1) > 1 else []
    if columns:
        alike = next((column for column in columns if folded(str(column)) == folded(field.name)), columns[0])
        raise ValueError(_A_COLUMN.format(name=field.name, column=quote(alike)))


def _items(field: Field, value: Any) -> list[Any]:
    if isinstance(value, (str, bytes, bytearray)) or not is_iterable(value):
        return [value]
    no_table(field, value)
    # A mapping or a table would give its keys, and what can be read only once would be gone at the second look.
    if isinstance(value, Mapping) or hasattr(value, "__next__") or getattr(value, "ndim", 1) > 1:
        raise ValueError(f"{field.name} takes a list, not {quote(value)} ({type(value).__name__}).")
    return list(value)


def _one(field: Field, value: Any, spelt: Mapping[str, str]) -> str:
    if not isinstance(value, str) and is_iterable(value):
        if field.kind is Kind.LIST:
            raise ValueError(f"{field.name} takes a list of texts, not {quote(value)}.")
        several = isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) == 1
        raise ValueError(f"{field.name} takes one value, not {quote(value)}.{SWEEPS * several}")
    text = _CONVERTERS.get(field.kind, _as_text)(field, value)
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        raise ValueError(f"{field.name} holds half a character (a lone surrogate): {quote(text)}.")
    if not spelt:
        return text
    folded_text = text.strip().casefold()
    if folded_text not in spelt:  # True for a choice of Yes, No and Auto
        folded_text = {"true": "yes", "false": "no"}.get(folded_text, folded_text)
    if folded_text not in spelt:
        options = list(spelt.values())[::-1]
        hint = did_you_mean(text, options) or clip(f"Options are {listed(map(quote, options), 'and')}", 200) + "."
        raise ValueError(f"{field.name} has no option {quote(text)}. {hint}")
    return spelt[folded_text]


def allowed(field: Field) -> tuple[str, ...]:
    """Give the options that refuse other values: those of a date or a number only where all of them are such."""
    if field.kind is Kind.NUMBER:  # 0.5 is 0.50
        return ()
    if field.kind in {Kind.DATE, Kind.INTEGER}:
        try:
            return tuple(_CONVERTERS[field.kind](field, option) for option in field.options)
        except ValueError:
            return ()
    return field.options


def as_json(field: Field, sent: str | list[str]) -> Any:
    """Give what is sent for a field in JSON's own type: a number for a number, else the text or the array as it is."""
    if isinstance(sent, list) or field.kind not in {Kind.INTEGER, Kind.NUMBER}:
        return sent
    return int(sent) if re.fullmatch(r"[-+]?\d+", sent) else float(sent)


def default_of(field: Field) -> Any:
    """Give what the service takes when nothing is sent, as `as_json`; ``None`` where none is named, or no valid one."""
    try:
        return None if field.default is None else as_json(field, to_wire(field, field.default))
    except ValueError:  # the description names a default that its own options refuse: it is shown, and not promised
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
    raise ValueError(f"{field.name} takes text, not {quote(value)} ({type(value).__name__}).")


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
        # Bounded before it is converted: infinity is no int, and a float may have 300 digits.
        known = isinstance(value, (int, float, Decimal, Fraction)) and not isinstance(value, bool)
        whole = known and -(2**63) <= value < 2**63 and value == int(value)
    number = int(value) if whole else 2**63
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{field.name} takes a whole number, not {quote(value)}.")
    _check_bounds(field, number)
    return str(number)


def _as_number(field: Field, value: Any) -> str:
    value = _plain(field, value)
    try:
        # Through str, the shortest text that reads back as the same float; "True" is no number.
        number = Decimal(str(value).strip())
    except (InvalidOperation, ValueError):
        raise ValueError(f"{field.name} takes a number, not {quote(value)}.") from None
    if not number.is_finite() or not math.isfinite(float(number)):
        raise ValueError(f"{field.name} takes a finite number, not {quote(value)}.")
    _check_bounds(field, number)
    return str(number)


def _check_bounds(field: Field, number: int | Decimal) -> None:
    if field.minimum is not None and number < field.minimum:
        raise ValueError(f"{field.name} is at least {field.minimum}, not {number}.")
    if field.maximum is not None and number > field.maximum:
        raise ValueError(f"{field.name} is at most {field.maximum}, not {number}.")


def _as_date(field: Field, value: Any) -> str:
    value = _plain(field, value)
    if isinstance(value, dt.datetime):
        if not _is_midnight(value):
            raise ValueError(f"{field.name} takes a date without a time of day, not {quote(value.isoformat(' '))}.")
        value = value.date()
    if isinstance(value, dt.date):
        return value.isoformat()
    text = _as_text(field, value).strip()
    # Only the extended form: date.fromisoformat also takes 20250304 and 2025-W10-2, which the service does not.
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
        try:
            return dt.date.fromisoformat(text).isoformat()
        except ValueError:
            raise ValueError(f"{field.name} has no such day in the calendar: {quote(text)}.") from None
    raise ValueError(f"{field.name} takes a date as YYYY-MM-DD, not {quote(text)}.")


def _plain(field: Field, value: Any) -> Any:
    """Give a numpy scalar as its Python value, exactly; refuse what stands for no value."""
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind == "M" and str(value) != "NaT":
        # As text, in which the time of day is left out where there is none; .item() of nanoseconds is an integer.
        day, _, time = str(value).partition("T")
        return day if not time.strip("0:.") else f"{day}T{time}"
    if kind and kind not in "Mm" and getattr(value, "ndim", None) == 0:
        value = value.item()
    if _stands_for_none(value):
        raise ValueError(f"{field.name} has no value: {quote(value)}. Leave it out to take the default.")
    if kind == "m":  # numpy counts it among the whole numbers
        raise ValueError(f"{field.name} takes no duration: {quote(value)}.")
    return value


def _stands_for_none(value: Any) -> bool:
    if isinstance(value, Decimal):
        return value.is_nan()  # a signalling NaN refuses to be compared
    # NaT is a datetime, NaN a number, and neither equals itself; pd.NA refuses to be compared.
    return type(value).__name__ == "NAType" or (not isinstance(value, str) and bool(value != value))  # noqa: PLR0124


def _is_midnight(value: dt.datetime) -> bool:
    return value.time() == dt.time() and not getattr(value, "nanosecond", 0)


def is_iterable(value: Any) -> bool:
    return hasattr(value, "__iter__") and getattr(value, "ndim", 1) != 0


def is_empty(value: Any) -> bool:
    if value is None or (isinstance(value, str) and not value.strip()):
        return True
    try:
        return is_iterable(value) and hasattr(value, "__len__") and len(value) == 0
    except Exception:  # noqa: BLE001  # it is held, and refused at its field
        return False


_CONVERTERS: dict[Kind, Callable[[Field, Any], str]] = {
    Kind.YES_NO: _as_yes_no,
    Kind.INTEGER: _as_integer,
    Kind.NUMBER: _as_number,
    Kind.DATE: _as_date,
}
