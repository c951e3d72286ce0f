"""Combinations: the arguments of a sweep's runs, in order, without duplicates, checked before any run is sent."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_funcs.catalog.fields import Field, Kind
from jupyter_funcs.catalog.values import (
    SWEEPS,
    UNSET,
    Each,
    WrongValueError,
    accept,
    clears,
    is_several,
    items_of,
    key_of,
    part_at,
    shorten,
)
from jupyter_funcs.core.errors import ArgumentError, Messages
from jupyter_funcs.core.text import listed, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pandas as pd

    from jupyter_funcs.catalog.form import Args, Form
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.core.json_decoding import JsonObject, Values

    Texts = dict[str, dict[str, None]]  # by parameter, without repetitions


class Combos(NamedTuple):
    """The runs of a sweep, the arguments that differ and those in common, all of them with lists, and warnings."""

    swept: list[str]
    constant: Args
    runs: list[Args]
    args: dict[str, Any]
    pairs: bool
    warnings: Texts


class TooManyRunsError(ArgumentError):
    """A sweep has more runs than start without confirmation: `number`."""

    number = 0


def combos(function: RemoteCall, table: pd.DataFrame | None, values: Values) -> Combos:
    """Return the runs of a sweep; raises `ArgumentError` if any value is invalid."""
    form = function.form(**dict.fromkeys(values))
    pairs = function.options.pairs
    values = {form.field(name).name: value for name, value in values.items()}
    axes = {} if table is None else {"the table": _rows(form, table, values)}
    form.clear()
    constant = {}
    for name, value in values.items():
        field = form.field(name)
        items = _swept(field, value)
        if items == []:
            raise ArgumentError(
                f"{field.identifier} has no values to sweep: the list is empty.",
                "Pass at least one, or leave it out.",
            )
        if items is None:
            constant[name] = value
        else:
            axes[name] = [{name: item} for item in items]

    _check_axes(form, axes, pairs=pairs)
    form.update(constant)
    return _converted(function, form, list(axes.values()), pairs=pairs)


def _converted(
    function: RemoteCall, form: Form, axes: list[list[JsonObject]], *, pairs: bool
) -> Combos:
    """Return the runs of a form whose other fields are swept by these values."""
    names = [*itertools.chain.from_iterable(axis[0] for axis in axes)]
    if twice := list(filter(form.is_set, names)):
        raise ArgumentError(
            f"{listed(map(quote, twice), 'and')} is swept, and is in an object, too.",
            "Pass only one.",
        )

    wholes = {form.field(name).root for name in names if name not in form}
    errors: Texts = {}
    convert = _converter(form, errors)
    for name in form:
        if form.is_set(name) and name not in wholes:
            convert(name, form[name])

    for axis in axes:
        axis[:] = [{name: convert(name, item[name]) for name in item} for item in axis]
    _raise(form, errors)
    number = len(axes[0])
    if not pairs:
        axes = list(map(_unique, axes))
        number = math.prod(map(len, axes))

    _check_number(function, number)
    return _combined(form, axes, names, wholes, pairs=pairs)


def _check_axes(
    form: Form, axes: Mapping[str, list[JsonObject]], *, pairs: bool
) -> None:
    if not axes:
        raise ArgumentError(
            f"Nothing to sweep: no argument of {form.function} is a list of values.",
            "Pass a list, such as [a, b], or call it without sweep.",
        )

    if pairs and len(set(map(len, axes.values()))) > 1:
        lengths = listed(
            (f"{name} ({len(axis):,})" for name, axis in axes.items()), "and"
        )
        raise ArgumentError(
            f"Pairs need lists of the same length, not {lengths}.",
            "Leave out pairs to run every combination.",
        )


def _check_number(function: RemoteCall, number: int) -> None:
    most = function.most_runs
    if number > max(most, 1):
        what = f"{function.name} changes data, and this would run it {number:,} times."
        if most:
            what = f"This is {number:,} runs of {function.name}, more than most_runs = {most:,}."
        hint = f"Sweep fewer values, or allow it: --most-runs {number} or with_options(most_runs={number})."
        error = TooManyRunsError(what, hint)
        error.number = number
        raise error


def _swept(field: Field, value: Any) -> list[Any] | None:
    """Return the values to sweep; ``None`` if the argument is a single value."""
    if isinstance(value, Each):
        return list(value.values)
    if not is_several(value) or (field.is_json and isinstance(value, Mapping)):
        return None
    try:
        items = items_of(field, value)
    except WrongValueError as error:
        raise ArgumentError(
            errors={field.name: [f"{field.identifier} {error}"]}
        ) from None

    if field.kind is Kind.LIST and not (items and all(map(is_several, items))):
        return None
    if field.is_rows and not all(isinstance(item, list) for item in items):
        return None
    return items


def _rows(form: Form, table: Any, values: Values) -> list[JsonObject]:
    if not hasattr(table, "itertuples"):
        raise ArgumentError(
            f"A sweep takes a DataFrame with one row per run, not {quote(table)} ({type(table).__name__}).",
            "Pass lists by name: Symbol=[…].",
        )

    if not len(table.columns) or not len(table):
        raise ArgumentError(
            "The table of arguments is empty.",
            "It needs a row per run and a column per argument.",
        )

    columns: dict[str, object] = {}
    for column in table.columns:
        name = _parameter(form, column, table)
        if name in columns or name in values:
            other = "the argument of that name"
            if name in columns:
                other = f"the column {quote(columns[name])}"
            raise ArgumentError(
                f"The column {quote(column)} is the same parameter as {other}.",
                "Use only one.",
            )
        columns[name] = column

    # A cell without a value leaves its argument out.
    lists = [_cells(table.iloc[:, at]) for at in range(len(columns))]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def _cells(column: Any) -> list[Any]:
    cells = zip(column.tolist(), column.isna().tolist(), strict=True)
    return [UNSET if is_null else cell for cell, is_null in cells]


def _parameter(form: Form, column: object, table: Any) -> str:
    """Return the parameter with a column's name; the error suggests the columns that have one."""
    try:
        return form.field(str(column)).name
    except ArgumentError as error:
        parameters = []
        for other in table.columns:
            with suppress(ArgumentError):
                form.field(str(other))
                parameters.append(str(other))
        if not parameters or error.hint.startswith("Did you mean"):
            raise
        selected = f"table[[{', '.join(map(quote, parameters))}]]"
        raise ArgumentError(
            f"{error.what[:-1]} (a column of the table).",
            f"Use the other columns: {selected}.",
        ) from None


def _converter(form: Form, errors: Texts) -> Callable[[str, Any], Any]:
    """Return a function that returns a value as a run takes it, or `UNSET`, and adds its errors to `errors`."""

    def convert(name: str, value: Any) -> Any:
        field = form.field(name)
        if value is UNSET or clears(field, value, validate=form.validate):
            return UNSET
        try:
            return accept(
                field,
                value,
                validate=form.validate,
                hints=len(errors.get(name, ())) < 3,
            )
        except ValueError as error:
            text = f"{field.identifier} {str(error).removesuffix(SWEEPS)}"
            errors.setdefault(name, {})[text] = None

        return UNSET

    once = lru_cache(maxsize=None, typed=True)(convert)  # tables repeat many values
    return lambda name, value: (
        once if isinstance(value, (str, int, float)) else convert
    )(name, value)


def _raise(form: Form, errors: Mapping[str, Mapping[str, None]]) -> None:
    """Raise the errors of all runs at once, if there are any."""
    if errors:
        texts = {name: shorten(list(wrong)) for name, wrong in errors.items()}
        raise ArgumentError(hint=f"{form.function} was not run.", errors=texts)


def _unique(items: list[JsonObject]) -> list[JsonObject]:
    return list({_key(item): item for item in items}.values())


def _combined(
    form: Form,
    axes: list[list[JsonObject]],
    names: list[str],
    wholes: set[str],
    *,
    pairs: bool,
) -> Combos:
    """Return the runs; of the objects `wholes`, parts are swept."""
    constant = form.args
    common = constant | {name: form[name] for name in filter(form.is_set, wholes)}
    combined: Iterable[tuple[JsonObject, ...]] = itertools.product(*axes)
    if pairs:
        combined = zip(*axes, strict=True)
    used = {*names, *constant}
    order = [name for name in dict.fromkeys([*form, *names]) if name in used]
    sent = (reduce(dict.__or__, parts, common) for parts in combined)
    warnings: Texts = {}
    runs = _checked(form, sent, order, wholes, warnings)
    is_paired = pairs or any(len(axis[0]) > 1 for axis in axes)
    if is_paired:
        lists = _lists_by_run(form, names, runs)
    else:
        lists = {
            name: [item[name] for item in axis] for axis in axes for name in axis[0]
        }

    _add(warnings, form.warnings_of_values(constant | _set_values(lists), names))
    return Combos(
        names, constant, runs, constant | _nullable(lists), is_paired, warnings
    )


def _lists_by_run(
    form: Form, names: list[str], runs: list[Args]
) -> dict[str, list[Any]]:
    return {
        name: [part_at(run, form.field(name).steps) for run in runs] for name in names
    }


def _nullable(lists: dict[str, list[Any]]) -> dict[str, Any]:
    return {
        name: [None if value is UNSET else value for value in values]
        for name, values in lists.items()
    }


def _set_values(lists: dict[str, list[Any]]) -> dict[str, Any]:
    return {
        name: [value for value in values if value is not UNSET]
        for name, values in lists.items()
    }


def _checked(
    form: Form,
    sent: Iterable[JsonObject],
    order: list[str],
    wholes: set[str],
    warnings: Texts,
) -> list[Args]:
    """Return each run once, with its arguments in order; raise the errors of all runs, and add their warnings."""
    runs: dict[tuple[Any, ...], Args] = {}
    errors: Texts = {}
    for args in sent:
        present = {
            name: args[name] for name in order if args.get(name, UNSET) is not UNSET
        }
        run = form.nested(present)
        wrong: Messages = {}
        for name in wholes & run.keys():
            form.take(form.field(name), run[name], {}, run, wrong)
        _add(errors, wrong)
        _add(errors, form.errors_of(run))
        _add(warnings, form.warnings_between(run))
        runs.setdefault(_key(run), run)

    _raise(form, errors)
    return list(runs.values())


def _add(texts: Texts, others: Mapping[str, Iterable[str]]) -> None:
    for name, several in others.items():
        texts.setdefault(name, {}).update(dict.fromkeys(several))


def _key(args: Values) -> tuple[Any, ...]:
    return tuple((name, key_of(value)) for name, value in args.items())
