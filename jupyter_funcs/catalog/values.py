"""Values of a form's fields: plain, several (`Each`) or a `Variable`; and how each is read for a run, with its type."""

from __future__ import annotations

import datetime as dt
import json
import math
import numbers
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, is_dataclass, replace
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import partial
from ipaddress import IPv4Address, IPv6Address
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from jupyter_funcs.catalog.choices import Choices
from jupyter_funcs.catalog.fields import NUMERIC, Evidence, Field, Kind
from jupyter_funcs.catalog.listing import Encoding
from jupyter_funcs.catalog.schemas import accepts, problem_of, size_problem, text_of
from jupyter_funcs.core.json_decoding import Values, as_list, only, texts_in
from jupyter_funcs.core.line import Entered, Sent, json_of_python, no_variable
from jupyter_funcs.core.text import (
    TIMES,
    clip,
    folded,
    inert,
    listed,
    meant,
    quote,
    replace_surrogates,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

# Added to the error for several values in a field that takes one.
SWEEPS = (
    " To run it for each value: %funcs sweep, fn.sweep(…), or Run for each in a panel."
)
# A pasted column of the wrong kind has the same error in every value.
_MOST_ERRORS = 3
_MOST_NAMED = 60  # options in an error, which has room for fewer
_MOST_DIGITS = 4000  # of a number; converting a longer one takes quadratic time
# The parts of a field that values may contradict.
_CHECKED = ("kind", "options", "bounds")
_ENFORCED = dict.fromkeys(_CHECKED, Evidence.DECLARED)
# What a person enters before JSON, where text is text.
JSON_PREFIX = "json:"
# '$5' in quotes is a text, as in the magic, and so is 'json:5'; quotes around any other text belong to it.
_QUOTED = re.compile(r"""(['"])([\s'"]*\$.*)\1""", re.DOTALL)
_AS_JSON = re.compile(rf"['\"]*{JSON_PREFIX}")
_QUOTED_JSON = re.compile(rf"(['\"])({_AS_JSON.pattern}.*)\1", re.DOTALL)
_NUMBER = re.compile(
    r"\s*[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,4})?\s*", re.ASCII
)
# What no text spells, by what it is called; a call makes the value.
CONSTANTS: dict[str, type] = {
    "null": type(None),
    "empty text": str,
    "empty list": list,
}
# By the format of a JSON Schema: what most programs read, and an example.
_READ = {
    "date-time": re.compile(
        r"\d{4}-(0[1-9]|1[0-2])-\d\d([Tt ]([01]\d|2[0-3]):[0-5]\d.*)?|\d{5,}"
    ),
    "time": re.compile(r"([01]\d|2[0-3]):[0-5]\d.*"),
    "duration": re.compile(r"[-+]?P.*\d.*|.*\d:\d\d.*|.*\d days?\b.*"),
}
EXAMPLES = {
    "file": "folder/file.csv",
    "date-time": "2026-11-15T14:30",
    "time": "14:30",
    "duration": "P1DT2H",
}


class WrongValueError(ValueError):
    """A field doesn't take a value; the message says why, after the name or the label of the field."""


class WrongPartsError(WrongValueError):
    """Parts of an object are wrong: `parts` holds each with what is wrong, `valid` the object without them."""

    def __init__(self, parts: list[tuple[Field, str]], valid: Any) -> None:
        super().__init__(
            f"has wrong parts: {' '.join(f'{part.name} {text}' for part, text in parts)}"
        )
        self.parts = parts
        self.valid = valid


# What a form holds

UNSET: Any = object()


@dataclass(frozen=True)
class Each:
    """Several values for a field, one run each. For a field that takes a list, each value is a list."""

    values: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.values)


def first_of(value: Any) -> Any:
    """Turn several values back into one: the first."""
    if isinstance(value, Each):
        return next(iter(value.values), None)
    return value


@dataclass(frozen=True)
class Variable:
    """A variable by name; its value is looked up each time the form is read."""

    name: str

    def __str__(self) -> str:
        return f"${self.name}"


def entered(text: str) -> str | Variable:
    """Read entered text: ``$name`` is a variable, ``'$5'`` in quotes is the text ``$5``, anything else is itself."""
    bare = text.strip()
    if bare.startswith("$"):
        return Variable(bare[1:])
    quoted = _QUOTED.fullmatch(bare) or _QUOTED_JSON.fullmatch(text)
    return quoted[2] if quoted else Entered(text)


def spelled(value: object) -> str:
    """Return the text to enter for a text or a variable; the inverse of `entered`."""
    if isinstance(value, Variable):
        return str(value)
    text = str(value) if isinstance(value, Entered) else literal(str(value))
    bare = text.strip()
    if bare.startswith("$") or _QUOTED.fullmatch(bare):
        return f"'{text}'"
    return text


def literal(text: str) -> str:
    """Return a text in quotes if its field would read it as JSON, as in ``json:5``, else itself."""
    if _AS_JSON.match(text):
        return f"'{text}'"
    return text


def entry_of(field: Field, value: Any) -> str:
    """Return the text that a field reads as a value."""
    if isinstance(value, str):
        return literal(value)
    text = text_of(value)
    if value is None or (field.is_json and takes(field, text)):
        return f"{JSON_PREFIX}{text}"
    return text


def has_variable(value: object) -> bool:
    """Return whether a value is a variable, or a list or `Each` that contains one."""
    if isinstance(value, Each):
        return any(map(has_variable, value.values))
    if isinstance(value, list):
        return any(isinstance(item, Variable) for item in value)
    return isinstance(value, Variable)


# Parts of objects


def with_part(entry: Any, steps: Sequence[str | int], value: Any) -> Any:
    """Return an object or a list with another part; `UNSET` removes it, and the objects that are empty then."""
    if not steps:
        return value
    if is_special(entry):
        what = "several values"
        if isinstance(entry, Variable):
            what = str(entry)
        raise WrongValueError(
            f"can't be set, because all of it is {what}. Clear that first."
        )

    step, *rest = steps
    if isinstance(step, int):
        rows = list(only(list, entry))
        if step > len(rows):
            raise WrongValueError(f"is after the last of {len(rows):,} rows.")
        row = with_part(part_at(rows, [step]), rest, value)
        if row is not UNSET:
            rows[step : step + 1] = [row]
        elif rest:
            rows[step] = {}
        else:
            del rows[step]
        return rows or UNSET

    parts = dict(only(dict, entry))
    part = with_part(parts.get(step, UNSET), rest, value)
    if part is UNSET:
        parts.pop(step, None)
    else:
        parts[step] = part

    return parts or UNSET


def part_at(entry: Any, steps: Sequence[str | int]) -> Any:
    """Return a part of an object or a list; `UNSET` if there is none."""
    for step in steps:
        if isinstance(step, int):
            entry = next(iter(only(list, entry)[step : step + 1]), UNSET)
        else:
            entry = only(dict, entry).get(step, UNSET)

    return entry


def parts_in(field: Field, entry: Any) -> Iterator[tuple[Field, Any]]:
    """Yield a field and its parts with what they hold, or `UNSET`; no parts of an object that isn't there."""
    yield field, entry
    inner: Iterable[tuple[Field, Any]] = ()
    if field.is_rows:
        inner = ((field.row(at), row) for at, row in enumerate(only(list, entry)))
    elif isinstance(entry, dict):
        inner = ((part, entry.get(part.steps[-1], UNSET)) for part in field.fields)

    for part, value in inner:
        yield from parts_in(part, value)


def missing(field: Field) -> list[Field]:
    """Return what a run needs of a field that isn't set: itself, or parts of it."""
    if not (field.required and field.is_declared("required")):
        return []
    parts = []
    if not field.is_rows:
        parts = [needed for part in field.fields for needed in missing(part)]
    return parts or [field]


def required_text(field: Field) -> str:
    """Return that a field is required, and what is known of its values."""
    text = "is required."
    if field.source:
        text += f" {quote(field.source)} lists its values."
    if field.options and field.evidence.get("options") is not Evidence.ASSUMED:
        text += f" Options are {listed(map(quote, field.options[:8]), 'and')}."
    return text


def is_special(value: Any) -> bool:
    """Return whether a value is a variable, or several values."""
    return isinstance(value, Each | Variable)


def has_special(entry: Any) -> bool:
    """Return whether a part of an object or a list is special."""
    if isinstance(entry, dict):
        entry = [*entry.values()]
    inner = only(list, entry)
    return any(is_special(part) or has_special(part) for part in inner)


def opened(field: Field, value: Any) -> Any:
    """Return a value whose parts can be set and read, of JSON text or of a record, where its field has parts."""
    if not field.fields or is_special(value):
        return value
    if isinstance(value, str):
        parsed = _parsed(value.removeprefix(JSON_PREFIX))[0]
        if isinstance(parsed, dict | list):
            return parsed
        return value

    return _record(value)


def resolved(value: Any, variables: Values) -> Any:
    """Look up the variables in a value; the items of a variable inside a list are inserted in its place."""
    if isinstance(value, Variable):
        if value.name not in variables:
            raise ValueError(" ".join(no_variable(value.name, variables)))
        return variables[value.name]

    if not has_variable(value):
        return value
    items = []
    for item in value:
        entry = resolved(item, variables)
        if _is_sequence(entry):
            items.extend(entry)
        else:  # other containers are refused as a single item, at the field
            items.append(entry)

    return items


def clears(field: Field, value: Any, *, validate: bool = True) -> bool:
    """Return whether a value clears its field: null, or an empty text or list, where the catalog declares none."""
    if not is_empty(value) or (field.is_json and isinstance(value, list | dict)):
        return False
    if field.encoding is Encoding.TEXT:
        return True
    if not isinstance(value, str | None):
        value = []
    return validate and not takes(field, value)


def takes(field: Field, value: Any) -> bool:
    """Return whether the schema of a field accepts a JSON value."""
    if field.schema is None or (value == "" and field.format):
        return False
    return accepts(field.schema, value)


# Reading a value for a run


def accept(
    field: Field, value: Any, *, validate: bool = True, hints: bool = True
) -> Any:
    """
    Return a value as a run takes it, in its own type where the field allows that.

    What the catalog declares is enforced: ``1`` for a list becomes ``[1]``, ``True`` becomes the option for it, a date
    becomes ``YYYY-MM-DD``, the text ``5`` a declared number. A value that can't be converted without loss raises a
    `WrongValueError`. Where nothing is declared, a value keeps its type as far as the source has that.

    `validate` is whether anything is enforced, `hints` whether an error suggests options, which takes a while.
    """
    try:
        if not validate or isinstance(value, list):
            value = _as_plain_texts(value)
        elif isinstance(value, Entered):
            value = _read_entered(field, value)
        if not (validate and field.is_declared()):
            return _as_given(field, value)
        return _as_declared(field, value, hints=hints)
    except WrongValueError:
        raise
    except Exception:  # noqa: BLE001  # any object may be set, even one that fails when inspected
        raise WrongValueError(
            f"does not take {quote(value)} ({type(value).__name__})."
        ) from None


def _as_declared(field: Field, value: Any, *, hints: bool) -> Any:
    if value is None and takes(field, None):
        return None
    if field.is_json:
        return _as_json(field, value)
    if field.is_list:
        items = [_single(field, item, hints=hints) for item in items_of(field, value)]
        return _sized(field.sizes[0], items)
    return _single(field, value, hints=hints)


def _read_entered(field: Field, text: Entered) -> Any:
    """Return what entered text is where its field takes several types, else the text."""
    if isinstance(text, Sent):
        return of_sent(field, text)
    if text.startswith(JSON_PREFIX) and (field.is_json or takes(field, None)):
        value, wrong = _parsed(text.removeprefix(JSON_PREFIX))
        if wrong:
            raise WrongValueError(
                f"takes JSON after {JSON_PREFIX}, and this isn't valid ({wrong}): {quote(text)}."
            )
        return value

    is_any_text = takes(field, str(text)) and not field.format
    if text.strip() == "null" and takes(field, None) and not is_any_text:
        return None
    quoted = _QUOTED_JSON.fullmatch(text)
    return quoted[2] if quoted else text


def of_sent(field: Field, text: Sent) -> Any:
    """Return what a recorded text is."""
    value, wrong = _parsed(text)
    if field.is_json and not wrong:
        return value
    return str(text)


def _as_plain_texts(value: Any) -> Any:
    """Return a list whose entered texts are plain ones."""
    if isinstance(value, list):
        return [_as_plain_texts(item) for item in value]
    if isinstance(value, Entered):
        return str(value)
    return value


def accept_each(
    field: Field, several: Each, variables: Values, called: str, *, validate: bool
) -> tuple[list[Any], list[str]]:
    """Read the values of a swept field; return the valid ones, without repeats, and the errors of the others."""
    valid: dict[Hashable, Any] = {}
    errors: dict[str, None] = {}
    for item in several.values:
        try:
            value = resolved(item, variables)
        except ValueError as error:
            errors[str(error)] = None
            continue
        values = [value]
        if isinstance(item, Variable):
            value = as_several(field, value)
        if isinstance(value, Each):
            values = [*value.values]
        for value_of_run in values:
            try:
                accepted = accept(
                    field,
                    value_of_run,
                    validate=validate,
                    hints=len(errors) < _MOST_ERRORS,
                )
                valid.setdefault(key_of(accepted), accepted)
            except WrongValueError as error:
                errors[f"{called} {error}"] = None

    return list(valid.values()), shorten(list(errors))


def key_of(value: Any) -> Hashable:
    """Return what tells values of runs apart: their text with its type, or of an object its identity."""
    if isinstance(value, str):
        return value
    try:
        return type(value), json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return type(value), id(value)


def same_args(args: Mapping[str, Any], others: Mapping[str, Any]) -> bool:
    """Return whether two runs have the same arguments; tables and other objects are compared by identity."""
    return args.keys() == others.keys() and all(
        key_of(args[name]) == key_of(others[name]) for name in args
    )


def shorten(texts: list[str]) -> list[str]:
    """Return the first texts, and a last one that counts the rest."""
    more = len(texts) - _MOST_ERRORS
    if more > 0:
        return [*texts[:_MOST_ERRORS], f"And {more:,} more like these."]
    return texts


def as_several(field: Field, value: Any) -> Any:
    """Return `Each` for a list of values for a field that takes one, else the value itself."""
    if not _is_sequence(value):
        return value
    is_one = field.kind in {Kind.LIST, Kind.JSON} and not (
        len(value) > 0 and all(map(_is_sequence, value))
    )
    if is_one:
        return value
    return Each(tuple(value))


def contradictions(field: Field, values: Sequence[Any]) -> list[str]:
    """Return how the values of a field contradict its description or format, or look like JSON and are text."""
    if field.is_json:
        return [*filter(None, map(partial(_like_json, field), texts_in(values)))]
    if field.format in _READ:
        return [
            f"takes a {field.format} such as {EXAMPLES[field.format]}, not {quote(text)}."
            for value in values
            for text in texts_in(value)
            if not _READ[field.format].fullmatch(text)
        ]

    if Evidence.DESCRIBED not in {field.evidence.get(part) for part in _CHECKED}:
        return []
    if field.evidence.get("kind") is Evidence.ASSUMED:
        field = replace(field, kind=Kind.TEXT)
    return _refusals(replace(field, evidence=_ENFORCED), values)


def _refusals(field: Field, values: Sequence[Any]) -> list[str]:
    """Return why a field does not take values, and which options are in another case, which may matter."""
    refusals: list[str] = []
    for value in values:
        try:
            accepted = accept(field, value, hints=len(refusals) < _MOST_ERRORS)
        except ValueError as error:
            refusals.append(str(error))
            continue
        for item, option in zip(as_list(value), as_list(accepted), strict=True):
            if text_of(item) != option and option in field.options:
                refusals.append(f"has no option {quote(item)}. {meant([option])}")

    return refusals


def refuse_table(field: Field, value: Any) -> None:
    """Refuse a whole table where the values of one column are expected."""
    if getattr(value, "ndim", 1) <= 1:
        return
    columns = list(getattr(value, "columns", ()))
    if columns:
        alike = [
            column for column in columns if folded(str(column)) == folded(field.name)
        ]
        use = f"use table[{quote((alike or columns)[0])}]"
        if field.is_json:
            use = "use table.to_dict('records') for its rows"
        raise WrongValueError(
            f"takes one column, not a whole table: {use} "
            "(in %funcs, assign it to a variable first)."
        )


def items_of(field: Field, value: Any) -> list[Any]:
    """Return the values in a list, or a single one as a list; raise a `WrongValueError` for other collections."""
    if not is_several(value):
        return [value]
    refuse_table(field, value)
    # A mapping would yield its keys, and an iterator would be exhausted at the second reading.
    if (
        isinstance(value, Mapping)
        or hasattr(value, "__next__")
        or getattr(value, "ndim", 1) > 1
    ):
        raise WrongValueError(
            f"takes a list, not {quote(value)} ({type(value).__name__})."
        )

    return list(value)


def _single(field: Field, value: Any, *, hints: bool) -> Any:
    """Read one value, or one item of a list."""
    kind = field.value_kind
    takes_bytes = kind is Kind.FILE or field.format == "binary"
    is_plain = isinstance(value, str) or (
        takes_bytes and isinstance(value, bytes | bytearray)
    )
    if not is_plain and is_iterable(value):
        raise _refusal_of_several(field, value)
    if _is_null_item(field, value):
        return None
    read = _READERS.get(kind, _as_text)(field, value)
    options = _declared_options(field)
    if not options:
        return _sized(field.sizes[1], _with_text(read))
    option = _option(kind, read, options, hints=hints)
    is_text = isinstance(value, str) and option in field.typed and takes(field, option)
    if is_text or kind in NUMERIC:
        return read
    return field.typed.get(option, option)


def _sized(sizes: Values, value: Any) -> Any:
    """Return a text or a list, unless another size is declared."""
    if problem := size_problem(sizes, value):
        raise WrongValueError(f"takes {problem}, not {len(value)}: {quote(value)}.")
    return value


def _refusal_of_several(field: Field, value: Any) -> WrongValueError:
    if field.is_list:
        return WrongValueError(f"takes a list of texts, not {quote(value)}.")
    shown = quote(value)
    if isinstance(value, list | tuple):  # its items have quotes
        shown = shown[1:-1]
    text = f"takes one value, not {shown}."
    if _is_sequence(value):
        text += SWEEPS
    return WrongValueError(text)


def _with_text(value: Any) -> Any:
    """Return a value, unless it is a text that can't be encoded."""
    if isinstance(value, str) and replace_surrogates(value) != value:
        raise WrongValueError(
            f"contains an invalid character (a lone surrogate): {quote(value)}."
        )
    return value


def _option(kind: Kind, value: Any, options: Choices, *, hints: bool) -> str:
    """Return the option that a value spells: exactly, or else in any case; True is a choice of Yes, No and Auto."""
    text = _comparable(kind, text_of(value))
    flag = {"true": "yes", "false": "no"}.get(text.strip().casefold(), text)
    for spelling in (text, flag):
        if (option := options.spelt(spelling)) is not None:
            return option

    named = [*islice(options.values, _MOST_NAMED)]
    if kind is Kind.YES_NO:
        named = ["Yes", "No"]
    hint = clip(f"Options are {listed(map(quote, named), 'and')}", 200) + "."
    if hints and (close := options.nearest(text)):
        hint = meant(close)
    raise WrongValueError(f"has no option {quote(text_of(value))}. {hint}")


def _declared_options(field: Field) -> Choices:
    """Return the texts of the options that exclude other values; none if the options aren't declared."""
    if not field.choices:  # by another of thousands of values
        options = allowed(field) if field.is_declared("options") else ()
        field.choices.append(
            Choices.of(
                _comparable(field.value_kind, text_of(option)) for option in options
            )
        )

    choices: Choices = field.choices[0]
    return choices


def _comparable(kind: Kind, text: str) -> str:
    if kind is Kind.NUMBER:
        return str(Decimal(text).normalize())  # 0.5 is 0.50
    return text


def allowed(field: Field) -> tuple[Any, ...]:
    """Return the options that exclude other values, typed; for a date or a number only if every option is one."""
    if field.value_kind not in {Kind.DATE, *NUMERIC}:
        return tuple(field.typed.get(option, option) for option in field.options)
    try:
        return tuple(
            _READERS[field.value_kind](field, option) for option in field.options
        )
    except ValueError:
        return ()


def default_of(field: Field) -> Any:
    """Return the default in its JSON type; ``None`` if there is none, or none that the field's options allow."""
    if field.default is None:
        return None
    with suppress(ValueError, RecursionError):
        if field.is_json:
            return json.loads(field.default)
        if not field.is_list or not field.is_declared("default"):
            return accept(replace(field, evidence=_ENFORCED), field.default)
        default = json.loads(field.default)
        if isinstance(default, list):
            return default

    return None


# JSON


def _as_json(field: Field, value: Any) -> Any:
    """Return a value for a field that takes JSON of a schema, or any object where the function is in this process."""
    is_object = field.encoding is Encoding.OBJECT
    if isinstance(value, str) or not is_object:
        value = opened(field, value)
    if isinstance(value, str):
        return _with_text(_json_of_text(field, value))
    value = _with_read_parts(field, value)
    try:
        plain = _jsonable(field, value)
    except Exception:
        if is_object:  # that JSON has no type for: the function's annotation decides
            return value
        raise

    if problem := problem_of(field.schema or {}, plain):
        raise _refusal(value, problem)
    if is_object:
        return value
    return plain


def _with_read_parts(field: Field, value: Any) -> Any:
    """Return an object, or a list of objects, with its parts as a run takes them."""
    if field.is_rows and isinstance(value, list):
        rows = {at: field.row(at) for at in range(len(value))}
        read, wrong = _read_parts(rows, dict(enumerate(value)), are_named=False)
        valid: Any = list(read.values())
    elif field.fields and isinstance(value, dict):
        fields = {part.steps[-1]: part for part in field.fields}
        read_only = field.members.read_only
        named = {name: part for name, part in value.items() if name not in read_only}
        valid, wrong = _read_parts(fields, named, are_named=True)
    else:
        return value

    if wrong:
        raise WrongPartsError(wrong, valid)
    return valid


def _read_parts(
    fields: dict[Any, Field], parts: dict[Any, Any], *, are_named: bool
) -> tuple[dict[Any, Any], list[tuple[Field, str]]]:
    """Return the valid parts, and what is wrong with the others or missing. Only named ones can be left out."""
    valid: dict[Any, Any] = {}
    wrong: list[tuple[Field, str]] = []
    for key, part in parts.items():
        if key not in fields:
            valid[key] = part
            continue
        if are_named and clears(fields[key], part):
            continue
        field = fields.pop(key)
        try:
            valid[key] = accept(field, part, hints=len(wrong) < _MOST_ERRORS)
        except WrongPartsError as error:
            valid[key] = error.valid
            wrong += error.parts
        except WrongValueError as error:
            wrong.append((field, str(error)))

    left = [needed for field in fields.values() for needed in missing(field)]
    return valid, wrong + [(field, required_text(field)) for field in left]


def _refusal(value: Any, problem: str) -> WrongValueError:
    return WrongValueError(
        f"does not take {quote(value)}: {clip(inert(problem), 300).rstrip('.')}."
    )


def _json_of_text(field: Field, text: str) -> Any:
    """Return a text where the schema takes it, else the JSON that it contains."""
    schema = field.schema or {}
    value, wrong = _parsed(text)
    if not problem_of(schema, str(text)):
        if isinstance(text, Entered) and _is_like_default(field, value):
            return value
        return str(text)

    problem = f"it isn't valid JSON ({wrong})"
    if not wrong:
        problem = problem_of(schema, value)
    if not problem:
        return value
    refusal = _refusal(text, problem)
    items, wrong = _parsed(f"[{text}]")
    if wrong or problem_of(schema, items):
        raise refusal
    raise WrongValueError(f"{refusal} Enter {clip(f'[{text}]', 100)}.")


def _is_like_default(field: Field, value: Any) -> bool:
    """Return whether a value is a number or a flag as the default is, where nothing else is declared."""
    default = _parsed(field.default or "")[0]
    are_flags = isinstance(default, bool) and isinstance(value, bool)
    are_numbers = type(default) in {int, float} and type(value) in {int, float}
    return (are_flags or are_numbers) and takes(field, {}) and takes(field, [])


def _parsed(text: str) -> tuple[Any, str]:
    """Return the value of a JSON text, and what is wrong with the text."""
    try:
        return json.loads(text, parse_constant=_no_constant), ""
    except json.JSONDecodeError as error:
        if written := json_of_python(text):
            return json.loads(written), ""
        what = error.msg.removesuffix(" at").removesuffix(" starting")
        return None, f"{what} at character {error.pos + 1}"
    except (ValueError, RecursionError) as error:
        return None, clip(str(error), 100)


def _no_constant(name: str) -> None:
    raise ValueError(f"JSON has no {name}")


def _like_json(field: Field, text: str) -> str:
    """Return a warning about a text that is sent as one, although it looks like JSON that the field takes too."""
    begin = text.lstrip()[:1]
    value, wrong = _parsed(text)
    if wrong:
        value = {"[": [], "{": {}}.get(begin)
    if begin not in {"[", "{"} or not takes(field, value):
        return ""
    if wrong:
        return f"looks like JSON, but isn't valid ({wrong})."
    return f"is sent as text. To send it as JSON, enter {JSON_PREFIX} before it, or pass the value itself from Python."


def _jsonable(field: Field, value: Any) -> Any:
    """Return a value as JSON has it; numpy's values, dates and Decimals are converted where that loses nothing."""
    if type(value) in {type(None), str, bool, int}:
        return value
    value = _record(value)
    if isinstance(value, Mapping):
        if any(map(is_several, value)):
            raise TypeError
        return {
            text_of(_jsonable(field, key)): _jsonable(field, item)
            for key, item in value.items()
        }

    if is_several(value):
        refuse_table(field, value)
        if hasattr(value, "__next__"):
            raise TypeError
        if hasattr(value, "tolist"):
            value = value.tolist()
        return [_jsonable(field, item) for item in value]

    plain = _plain(value)
    if isinstance(plain, bool):
        return plain
    if isinstance(plain, numbers.Number):
        return _number_of(field, plain, value)
    if not isinstance(plain, (str, *TIMES)):
        raise TypeError
    return _as_text(field, plain)


def _record(value: Any) -> Any:
    """Return a pydantic model or a dataclass as a dictionary of JSON's types, as far as pydantic knows them."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True)
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value


def _as_given(field: Field, value: Any) -> Any:
    """Return a value with its own type as far as the source has that, where nothing is declared or enforced."""
    if field.encoding in {Encoding.OBJECT, Encoding.FILE}:
        return _as_plain_texts(value)
    if isinstance(value, str):
        return _with_text(str.__str__(value))
    if value is None or field.encoding is Encoding.JSON or field.is_json:
        return _jsonable(field, value)
    if is_several(value):
        items = items_of(field, value)
        deep = next(filter(is_several, items), None)
        if deep is not None:
            raise WrongValueError(f"takes a list of texts, not {quote(deep)}.")
        return [_as_given(field, item) for item in items]

    plain = _plain(value)
    if isinstance(plain, bool):
        return _as_yes_no(field, plain)
    return _as_text(field, plain)


# Plain kinds


def _as_text(field: Field, value: Any) -> Any:
    is_object = (
        field.encoding is Encoding.OBJECT and field.format and not _is_missing(value)
    )
    if is_object and isinstance(value, (*TIMES, Decimal, bytes)):
        # The function's annotation reads it, with all its digits and its time zone.
        return value

    value = _plain(value)
    match value:
        case str() as text:
            return str.__str__(text)
        case dt.datetime(tzinfo=None) as time if (
            _is_midnight(time) and field.format != "date-time"
        ):
            return time.date().isoformat()
        case dt.date() | dt.time() as time:
            return time.isoformat()
        case dt.timedelta() as duration if field.format == "duration":
            size = abs(duration)
            sign = ""
            if size != duration:
                sign = "-"
            return f"{sign}P{size.days}DT{size.seconds + Decimal(size.microseconds) / 10**6}S"
        case numbers.Number() | PathLike() | UUID() | IPv4Address() | IPv6Address():
            return str(value)

    raise WrongValueError(f"takes text, not {quote(value)} ({type(value).__name__}).")


def _as_yes_no(field: Field, value: Any) -> str:
    by_word = {option.casefold(): option for option in field.options}
    text = str(_as_text(field, value)).strip()
    for words in (("yes", "true", "y"), ("no", "false", "n")):
        if text.casefold() in words:
            for word in words:
                if word in by_word:
                    return by_word[word]
            return words[0].capitalize()

    return text


def _as_integer(field: Field, value: Any) -> int:
    number = _exact(_plain(value))
    # A service may keep 64 bits only.
    is_too_long = (
        field.encoding is Encoding.TEXT
        and number is not None
        and not -(2**63) <= number < 2**63
    )
    if number is None or is_too_long or number != number.to_integral_value():
        raise WrongValueError(f"takes a whole number, not {quote(value)}.")
    _check_bounds(field, number)
    return int(number)


def _as_number(field: Field, value: Any) -> Any:
    if (
        isinstance(value, float)
        and field.encoding is Encoding.OBJECT
        and not math.isfinite(value)
    ):
        return float(value)

    return _number_of(field, _plain(value), value)


def _number_of(field: Field, plain: Any, value: Any) -> int | float | Decimal | str:
    """Return a number as an integer or a float where that loses no digits, else as a Decimal where one can be sent."""
    number = _exact(plain)
    if number is None or not math.isfinite(float(number)):
        what = "number"
        if number is not None or isinstance(plain, float | Decimal):
            what = "finite number"
        raise WrongValueError(f"takes a {what}, not {quote(value)}.")

    if Kind.NUMBER in {field.kind, field.item}:
        _check_bounds(field, number)
    if field.format == "decimal":
        if field.encoding is Encoding.OBJECT:
            return number
        return str(number)

    if isinstance(plain, int | float):
        return plain
    if number.as_tuple().exponent == 0:  # written without a fraction
        return int(number)
    if Decimal(repr(float(number))) == number:
        return float(number)
    if field.encoding is Encoding.JSON:
        raise WrongValueError(f"takes a number of up to 17 digits, not {quote(value)}.")
    return number


def _exact(value: Any) -> Decimal | None:
    """Return a finite number, or the number that a text is, with all its digits; ``None`` for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, Fraction):
        return _of_fraction(value)
    if (
        isinstance(value, str)
        and len(value) <= _MOST_DIGITS
        and _NUMBER.fullmatch(value)
    ):
        return Decimal(value.strip())

    if isinstance(value, int) and value.bit_length() <= 3 * _MOST_DIGITS:
        return Decimal(value)
    if isinstance(value, float):
        # repr is the shortest text that reads back as the same float.
        value = Decimal(repr(value))

    is_finite = isinstance(value, Decimal) and value.is_finite()
    if not is_finite or abs(value.adjusted()) > _MOST_DIGITS:
        return None
    return Decimal(value)


def _of_fraction(value: Fraction) -> Decimal | None:
    """Return a fraction as a decimal number if it has one of at most 17 digits, or is whole."""
    if value.denominator == 1:
        return _exact(value.numerator)
    try:
        nearest = Decimal(repr(float(value)))
    except OverflowError:
        return None

    if Fraction(nearest) == value:
        return nearest
    return None


def _check_bounds(field: Field, number: Decimal) -> None:
    if field.is_declared("bounds") and field.bound_beyond(number) is not None:
        raise WrongValueError(f"must be {_bounds(field)}, not {number}.")


def in_words(field: Field) -> tuple[str, str, str]:
    """Return whether a field is required, its default, and its options or where they are, as a table shows them."""
    required = ""
    if field.rule:
        required = " or ".join(field.rule.names)
    elif field.required:
        required = "yes"

    options = ", ".join(field.options)
    if field.source and not options:
        options = f"see {field.source}"
    return required, field.default or "", options or _bounds(field)


def _bounds(field: Field) -> str:
    if field.minimum is not None and field.maximum is not None:
        return f"between {field.minimum} and {field.maximum}"
    if field.minimum is not None:
        return f"at least {field.minimum}"
    if field.maximum is not None:
        return f"at most {field.maximum}"
    return ""


def _as_date(field: Field, value: Any) -> str:
    value = _plain(value)
    if isinstance(value, dt.datetime):
        if not _is_midnight(value):
            raise WrongValueError(
                f"takes a date without a time of day, not {quote(value.isoformat(' '))}."
            )
        value = value.date()

    if isinstance(value, dt.date):
        return value.isoformat()
    text = str(_as_text(field, value)).strip()
    # date.fromisoformat also reads 20250304 and 2025-W10-2, which the service does not.
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
        try:
            return dt.date.fromisoformat(text).isoformat()
        except ValueError:
            raise WrongValueError(f"is not a valid date: {quote(text)}.") from None

    raise WrongValueError(f"takes a date as YYYY-MM-DD, not {quote(text)}.")


def _as_file(_: Field, value: Any) -> str | bytes:
    """Return the path of a file that is there, or the content itself."""
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    if not isinstance(_plain(value), str | PathLike):
        raise WrongValueError(
            f"takes the path of a file, or bytes, not {quote(value)} ({type(value).__name__})."
        )

    path = Path(value).expanduser()
    if not path.exists():
        raise WrongValueError(f"finds no file {quote(value, 200)}.")
    if not (path.is_file() and os.access(path, os.R_OK)):
        raise WrongValueError(f"can't read {quote(value, 200)}.")
    return str(value)


def _plain(value: Any) -> Any:
    """Convert a numpy scalar, or the member of an enumeration, to Python exactly; refuse missing values."""
    if isinstance(value, Enum):
        value = value.value
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind == "M" and str(value) != "NaT":
        # As text without a zero time of day; .item() of nanoseconds is an integer.
        text = str(value)
        day, _, time = text.partition("T")
        if time.strip("0:."):
            return text
        return day

    if kind and kind not in "Mm" and getattr(value, "ndim", None) == 0:
        value = value.item()
    if _is_missing(value):
        raise WrongValueError(
            f"has no value: {quote(value)}. Leave it out to use the default."
        )

    if kind == "m":  # numpy counts durations as integers
        raise WrongValueError(f"does not take a duration: {quote(value)}.")
    return value


def _is_missing(value: Any) -> bool:
    if isinstance(value, Decimal):
        return value.is_nan()  # a signalling NaN raises when compared
    # NaT is a datetime, NaN a number, and neither equals itself; pd.NA raises when compared.
    if type(value).__name__ == "NAType":
        return True
    return not isinstance(value, str) and bool(value != value)  # noqa: PLR0124  # only NaN and NaT


def _is_null_item(field: Field, value: Any) -> bool:
    """Return whether an item of a list is null, in JSON also NaN, and may be."""
    is_number = isinstance(value, float) and field.encoding is Encoding.OBJECT
    is_null = value is None or (_is_missing(value) and not is_number)
    return is_null and takes(field, [None])


def _is_midnight(value: dt.datetime) -> bool:
    return value.time() == dt.time() and not getattr(value, "nanosecond", 0)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, list | tuple) or getattr(value, "ndim", 0) == 1


def is_several(value: Any) -> bool:
    return is_iterable(value) and not isinstance(value, str | bytes | bytearray)


def is_iterable(value: Any) -> bool:
    is_one = isinstance(value, Enum)  # a flag has parts
    return hasattr(value, "__iter__") and getattr(value, "ndim", 1) != 0 and not is_one


def constant_of(value: Any) -> str:
    """Return what null, an empty text or an empty list is called; empty for any other value."""
    for name, kind in CONSTANTS.items():
        if isinstance(value, kind) and not value:
            return name

    return ""


def constants(field: Field) -> list[str]:
    """Return the names of the constants that a field takes and its source can send."""
    if field.encoding is Encoding.TEXT:
        return []
    return [name for name, kind in CONSTANTS.items() if takes(field, kind())]


def is_empty(value: Any) -> bool:
    """Return whether a value is null, or an empty text or collection; white space is a value."""
    if value is None:
        return True
    if isinstance(value, bytes):
        return False
    try:
        return is_iterable(value) and hasattr(value, "__len__") and len(value) == 0
    except Exception:  # noqa: BLE001  # such a value is stored, and refused at its field
        return False


_READERS = {
    Kind.YES_NO: _as_yes_no,
    Kind.INTEGER: _as_integer,
    Kind.NUMBER: _as_number,
    Kind.DATE: _as_date,
    Kind.FILE: _as_file,
}
