"""Combinations: which arguments a sweep runs with, in their order, each once and checked before any is sent."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_funcs.each import Each
from jupyter_funcs.errors import ArgumentError
from jupyter_funcs.fields import Kind
from jupyter_funcs.forms import Form
from jupyter_funcs.swept import few
from jupyter_funcs.text import listed, quote
from jupyter_funcs.values import SWEEPS, is_empty, is_iterable, no_table, to_wire

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from jupyter_funcs.fields import Field
    from jupyter_funcs.forms import Args, HasFields


class Combos(NamedTuple):
    """
    The runs of a sweep.

    Attributes
    ----------
    swept
        The wire names of the arguments that differ from run to run, in the order given.
    constant
        What each run is sent besides.
    runs
        What is sent, of each run; no two are the same.
    given
        The constants, and of each swept argument a list: what sweeps again as this does.
    pairs
        Whether those lists are taken in pairs, which hold ``None`` where nothing is sent.
    """

    swept: list[str]
    constant: Args
    runs: list[Args]
    given: dict[str, Any]
    pairs: bool


class TooManyRunsError(ArgumentError):
    """
    A sweep is larger than is run without being asked about.

    Attributes
    ----------
    number
        How many runs it has.
    """

    def __init__(self, function: str, number: int, most: int) -> None:
        self.number, self._made_of = number, (function, number, most)
        super().__init__(
            f"This is {number:,} runs of {function}, more than most_runs = {most:,}.",
            f"Sweep fewer values, or allow it: --most-runs {number} or with_options(most_runs={number}).",
        )

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the number when the error crosses to another process."""
        return type(self), self._made_of, self.__dict__


def combos(  # noqa: PLR0913  # each is one thing that the runs hang on
    function: HasFields,
    table: pd.DataFrame | None,
    values: Mapping[str, Any],
    *,
    pairs: bool,
    most: int,
    validate: bool = True,
) -> Combos:
    """
    Give the runs of a sweep.

    Parameters
    ----------
    function
        What to run.
    table
        A row of arguments a run; all of its columns are swept. Where a cell is null nothing is sent.
    values
        By parameter; a list is swept, but for a parameter that takes a list: there a list of lists is. `Each` always
        is. In a list, ``None`` is a run without the argument.
    pairs
        Take the first of each list, then the second, and so on, in place of every combination.
    most
        More runs than this are refused, before any is made.
    validate
        ``False`` takes options that a description does not list.

    Raises
    ------
    ArgumentError
        There is nothing to sweep, lists are of unlike lengths, there are too many runs, or a value is not valid.
    """
    form = Form(function, validate=validate)
    form.update(dict.fromkeys(values))  # names each that is unknown
    given = {form.field(name).name: value for name, value in values.items()}
    swept = {name: items for name, value in given.items() if (items := _swept(form.field(name), value)) is not None}
    constant = {name: value for name, value in given.items() if name not in swept}
    rows = [] if table is None else _rows(form, table, given)
    axes = [*([rows] if rows else []), *([{name: item} for item in items] for name, items in swept.items())]
    if not axes:
        raise ArgumentError(
            f"Nothing is swept: no argument of {form.function} is a list of values.",
            "Give a list, as in [a, b], or call it without sweep.",
        )
    if pairs and len({len(axis) for axis in axes}) > 1:
        lengths = [*([f"the table {len(rows):,}"] if rows else []), *(f"{n} {len(v):,}" for n, v in swept.items())]
        raise ArgumentError(
            f"Pairs need lists of one length, not {listed(lengths, 'and')}.", "Leave pairs out for every combination."
        )
    look = _Checked(form)
    for name, value in constant.items():
        look.sent(name, value)
    checked = [[{name: look.sent(name, value) for name, value in item.items()} for item in axis] for axis in axes]
    look.check()
    if not pairs:
        checked = [list({_key(item): item for item in axis}.values()) for axis in checked]
    number = len(checked[0]) if pairs else math.prod(map(len, checked))
    if number > most:
        raise TooManyRunsError(form.function, number, most)
    form.clear()
    form.update(constant)
    names = list(dict.fromkeys(name for axis in axes for name in axis[0]))
    return _combined(form, names, checked, pairs=pairs)


def _swept(field: Field, value: Any) -> list[Any] | None:
    """Give the values to run with, ``None`` where there is one for all."""
    if isinstance(value, Each):
        items = list(value.values)
    else:
        if isinstance(value, (str, bytes, bytearray)) or not is_iterable(value):
            return None
        try:
            no_table(field, value)
        except ValueError as error:
            raise ArgumentError(str(error), errors={field.name: [str(error)]}) from None
        if isinstance(value, Mapping) or hasattr(value, "__next__") or getattr(value, "ndim", 1) > 1:
            raise ArgumentError(f"{field.name} takes a list, not {quote(value)} ({type(value).__name__}).")
        items = list(value)
        if field.kind is Kind.LIST and not (items and all(map(_is_list, items))):
            return None
    if not items:
        raise ArgumentError(
            f"{field.name} has no value to run with: the list is empty.", "Give at least one, or leave it out."
        )
    return items


def _is_list(value: object) -> bool:
    return is_iterable(value) and not isinstance(value, (str, bytes, bytearray))


def _rows(form: Form, table: Any, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    if not hasattr(table, "itertuples") or not hasattr(table, "columns"):
        raise ArgumentError(
            f"A sweep takes a DataFrame of arguments, a row a run, not {quote(table)} ({type(table).__name__}).",
            "Give lists by name: Symbol=[…].",
        )
    if not len(table.columns) or not len(table):
        raise ArgumentError("The table of arguments is empty.", "Give a row for each run, and a column an argument.")
    columns: dict[str, object] = {}
    for column in table.columns:
        name = _parameter(form, column, table)
        if name in columns or name in given:
            other = f"the column {quote(columns[name])}" if name in columns else "the argument of that name"
            raise ArgumentError(f"The column {quote(column)} is the same parameter as {other}.", "Give one of them.")
        columns[name] = column
    # A null is none of the values, also in a column of numbers or dates.
    lists = [
        [None if null else value for value, null in zip(values.tolist(), values.isna().tolist(), strict=True)]
        for values in (table.iloc[:, at] for at in range(len(columns)))
    ]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def _parameter(form: Form, column: object, table: Any) -> str:
    """Give the parameter that a column of a table is, or say which columns are one."""
    try:
        return form.field(str(column)).name
    except ArgumentError as error:
        known = []
        for other in table.columns:
            with suppress(ArgumentError):
                form.field(str(other))
                known.append(str(other))
        if not known or error.hint.startswith("Did you mean"):
            raise
        kept = f"table[[{', '.join(map(quote, known))}]]"
        raise ArgumentError(f"{error.what[:-1]}, as a column of the table.", f"Keep those that are: {kept}.") from None


class _Checked:
    """What is sent for each value, ``None`` for an empty one; each is looked at once, since a table repeats many."""

    def __init__(self, form: Form) -> None:
        self._form = form
        self._known: dict[tuple[str, type, Any], Any] = {}
        self._wrong: dict[str, dict[str, None]] = {}

    def sent(self, name: str, value: Any) -> Any:
        if not isinstance(value, (str, int, float)):
            return self._sent(name, value)
        key = (name, type(value), value)
        if key not in self._known:
            self._known[key] = self._sent(name, value)
        return self._known[key]

    def _sent(self, name: str, value: Any) -> Any:
        if is_empty(value):
            return None
        try:
            return to_wire(self._form.field(name), value, validate=self._form.validate)
        except ValueError as error:
            self._wrong.setdefault(name, {})[str(error).removesuffix(SWEEPS)] = None  # which this is
        return None

    def check(self) -> None:
        if self._wrong:
            texts = {name: few(list(wrong)) for name, wrong in self._wrong.items()}
            raise ArgumentError(hint=f"{self._form.function} was not run.", errors=texts)


def _combined(form: Form, names: list[str], axes: list[list[dict[str, Any]]], *, pairs: bool) -> Combos:
    constant = form.args
    order = [name for name in form if name in names or name in constant]
    runs: dict[tuple[Any, ...], Args] = {}
    wrong: dict[str, dict[str, None]] = {}
    for together in _together(axes, pairs=pairs):
        sent = constant.copy()
        for part in together:
            sent.update(part)
        args: Args = {name: sent[name] for name in order if sent.get(name) is not None}
        for name, texts in form.errors_of(args).items():
            wrong.setdefault(name, {}).update(dict.fromkeys(texts))
        runs.setdefault(_key(args), args)
    if wrong:
        errors = {name: few(list(texts)) for name, texts in wrong.items()}
        raise ArgumentError(hint=f"{form.function} was not run.", errors=errors)
    kept = list(runs.values())
    is_paired = pairs or any(len(axis[0]) > 1 for axis in axes)
    if is_paired:
        lists = {name: [args.get(name) for args in kept] for name in names}
    else:
        lists = {name: [item[name] for item in axis] for name, axis in zip(names, axes, strict=True)}
    return Combos(names, constant, kept, {**constant, **lists}, is_paired)


def _together(axes: list[list[dict[str, Any]]], *, pairs: bool) -> Iterator[tuple[dict[str, Any], ...]]:
    return zip(*axes, strict=True) if pairs else itertools.product(*axes)


def _key(args: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in args.items())
