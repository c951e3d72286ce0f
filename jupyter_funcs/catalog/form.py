"""Form: values set by a person or by code become the arguments of a run, or errors at their fields. No widget here."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

from jupyter_funcs.each import Each
from jupyter_funcs.errors import ArgumentError
from jupyter_funcs.fields import Field, Kind, by_name
from jupyter_funcs.swept import wire_values
from jupyter_funcs.text import did_you_mean, folded, listed, quote
from jupyter_funcs.values import allowed, as_json, default_of, is_empty, to_wire
from jupyter_funcs.variables import has_variable, resolved

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence

Args = dict[str, str | list[str]]
"""Arguments as the service takes them: strings, or arrays of strings for list parameters (SERVICE.md 1)."""


class HasFields(Protocol):
    """What a form is made from: a function of a session, or anything else with a name and fields."""

    @property
    def name(self) -> str: ...

    @property
    def fields(self) -> Sequence[Field]: ...


class Form:
    """
    The values given for a function's parameters, and what follows from them.

    Only what was set is sent: a field that was never set, or was cleared with ``None``, ``""`` or ``[]``, is left out,
    and the service takes its default (SERVICE.md 3). Setting a bad value keeps it and puts a text into `errors`.

    A field that holds `Each` has several values, a run for each: such a form is swept.

    Parameters
    ----------
    function
        A function of a session (``funcs["Get Panel Daily"]``).
    validate
        ``False`` sends options that the description does not list, as they are.
    **values
        First values, by parameter.

    Examples
    --------
    >>> form = Form(funcs["Get Panel Daily"], PanelName="Card Spend")
    >>> form["Symbol"] = "WMT US EQUITY"
    >>> form.errors
    {}

    Attributes
    ----------
    function
        The function's wire name.
    values
        What was set, by wire name; set it through the form itself. A `Variable` is looked up each time it is read.
    variables
        Gives the variables of whoever fills the form, by name; none by default.
    watchers
        Called with a field's wire name after each change of its value.
    """

    def __init__(self, function: HasFields, /, *, validate: bool = True, **values: Any) -> None:
        self.function = function.name
        self.fields: tuple[Field, ...] = tuple(function.fields)
        self.validate = validate
        self.values: dict[str, Any] = {}
        self.variables: Callable[[], Mapping[str, Any]] = dict
        self.watchers: list[Callable[[str], None]] = []
        self._read_each: dict[str, tuple[Each, tuple[list[Any], list[str]]]] = {}  # as it was read last
        self._by_name = by_name(self.fields)
        self._by_identifier = {field.identifier: field for field in self.fields}
        self._by_folded: dict[str, list[Field]] = {}
        for name, field in self._by_name.items():
            if folded(name):  # "?" is no spelling of "!"
                self._by_folded.setdefault(folded(name), []).append(field)
        self.update(values)

    def field(self, name: str) -> Field:
        """
        Give the field of this name, exactly, as in Python, or in any spelling that only one field has.

        Raises
        ------
        ArgumentError
            The function has no such parameter; says which are near.
        """
        found = self._by_name.get(name) or self._by_identifier.get(name)
        if found is None and len(spelt := self._by_folded.get(folded(name), [])) == 1:
            found = spelt[0]
        if found is None:
            known = [field.name for field in self.fields]
            hint = did_you_mean(name, known) or (f"It takes {listed(known, 'and')}." if known else "It takes none.")
            text = f"{self.function} has no parameter {quote(name)}."
            raise ArgumentError(text, hint, errors={name: [f"{text} {hint}"]})
        return found

    def __getitem__(self, name: str) -> Any:
        """Give the value as it was set; ``None`` when nothing is."""
        return self.values.get(self.field(name).name)

    def __setitem__(self, name: str, value: Any) -> None:
        """Set a value; ``None``, ``""`` and ``[]`` clear it."""
        field = self.field(name)
        if is_empty(value):
            self.values.pop(field.name, None)
        else:
            self.values[field.name] = value
        for watcher in self.watchers:
            watcher(field.name)

    def gives(self, name: str) -> bool:
        """Say whether a value is set for a field, by its wire name."""
        held = self.values.get(name)
        return held is not None and not (isinstance(held, Each) and not held.values)

    def __contains__(self, name: object) -> bool:
        """Say whether the function has a parameter of this name."""
        return isinstance(name, str) and name in self._by_name

    def __iter__(self) -> Iterator[str]:
        """Go through the names of the parameters."""
        return iter(self._by_name)

    def __delitem__(self, name: str) -> None:
        """Clear a value, so that it is not sent."""
        self[name] = None

    def update(self, values: Mapping[str, Any]) -> None:
        """
        Set several values; when a name is unknown none is set.

        Raises
        ------
        ArgumentError
            Some names are no parameters of the function, or two are spellings of one; all of them are named.
        """
        errors: dict[str, list[str]] = {}
        given: dict[str, str] = {}
        for name in values:
            try:
                first = given.setdefault(self.field(name).name, name)
            except ArgumentError as error:
                errors.update(error.errors)
            else:
                if first != name:
                    errors[name] = [f"{quote(name)} is the same parameter as {quote(first)}. Give one of them."]
        if errors:
            raise ArgumentError(errors=errors)
        for name, value in values.items():
            self[name] = value

    def clear(self) -> None:
        """Clear every value."""
        for name in list(self.values):
            self[name] = None

    def __repr__(self) -> str:
        """Give the function and what would be sent."""
        return f"<Form {self.function}: {self.args}>"

    @property
    def args(self) -> Args:
        """
        What would be sent: the valid values that are set, by wire name, in the order of the parameters.

        Of a field that is swept all of them, as a list.
        """
        return self._read()[0]

    @property
    def swept(self) -> list[str]:
        """The wire names of the fields that hold several values, a run for each; one value may be all of them."""
        return [name for name in self._by_name if isinstance(self.values.get(name), Each) and self.gives(name)]

    @property
    def runs(self) -> int:
        """How many runs that makes: of a form that is not swept, one."""
        args = self.args
        return math.prod(len(args[name]) for name in self.swept if name in args)

    @property
    def first(self) -> Args:
        """What the first of the runs would be sent."""
        swept = self.swept
        return {name: value[0] if name in swept else value for name, value in self.args.items()}

    @property
    def errors(self) -> dict[str, list[str]]:
        """The texts by wire name, in the order of the parameters; cross-field texts under ``""``."""
        return self._read()[1]

    def check(self, *, sweeps: bool = False) -> Args:
        """
        Give the arguments of a run.

        Parameters
        ----------
        sweeps
            Whether fields may hold several values, which are lists then, as in `args`.

        Raises
        ------
        ArgumentError
            A value is missing or not valid; every one is named and nothing was sent.
        """
        args, errors = self._read()
        for name in [] if sweeps else self.swept:
            errors.setdefault(name, []).append(f"{name} holds several values, a run for each: sweep them.")
        if errors:
            raise ArgumentError(hint=f"{self.function} was not run.", errors=errors)
        return args

    def json_schema(self) -> dict[str, Any]:
        """
        Give the JSON Schema (2020-12) of the arguments, as the form, the stubs and any tool caller agree on.

        What it accepts the form accepts, but for dates in the wrong order and whole numbers beyond 64 bit, of which it
        says nothing. The form takes more: ``True`` for Yes, options in any case, one text for a list.
        """
        rules = self._rules()
        in_rules = {name for names in rules for name in names}
        fields = self._by_name.values()
        schema: dict[str, Any] = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": self.function,
            "type": "object",
            "properties": {
                field.name: _property(
                    field,
                    allowed(field) if self.validate else (),
                    # Nothing empty counts as given.
                    needed=field.required or field.name in in_rules,
                )
                for field in fields
            },
            "required": [field.name for field in fields if field.required],
            "additionalProperties": False,
        }
        each = [{"anyOf": [{"required": [name]} for name in names]} for names in rules]
        return schema | ({"allOf": each} if len(each) > 1 else each[0] if each else {})

    def _rules(self) -> dict[tuple[str, ...], list[str]]:
        rules: dict[tuple[str, ...], list[str]] = {}
        for field in self._by_name.values():
            if field.rule:
                rules.setdefault(field.rule.names, []).append(field.rule.text)
        return rules

    def _read(self) -> tuple[Args, dict[str, list[str]]]:
        args: Args = {}
        errors: dict[str, list[str]] = {}
        variables = self.variables()
        for field in self._by_name.values():
            if self.gives(field.name):
                try:
                    args.update(self._sent(field, variables, errors))
                except ValueError as error:
                    errors.setdefault(field.name, []).append(str(error))
            elif field.required:
                errors.setdefault(field.name, []).append(_required(field))
        self._compare(args, [name for name in self.values if self.gives(name)], errors)
        return args, errors

    def _sent(self, field: Field, variables: Mapping[str, Any], errors: dict[str, list[str]]) -> dict[str, Any]:
        """Give the field's argument by its name, nothing where no value is valid."""
        held = self.values[field.name]
        if not isinstance(held, Each):
            return {field.name: to_wire(field, resolved(held, variables), validate=self.validate)}
        known = self._read_each.get(field.name)
        if known is not None and known[0] is held:  # thousands of values, read several times for each key that is hit
            sent, wrong = known[1]
        else:
            sent, wrong = wire_values(field, held, variables, validate=self.validate)
            if not has_variable(held):
                self._read_each[field.name] = (held, (sent, wrong))
        if wrong:
            errors.setdefault(field.name, []).extend(wrong)
        return {field.name: list(sent)} if sent else {}

    def errors_of(self, args: Args) -> dict[str, list[str]]:
        """Give what is wrong with arguments, each of which is valid by itself, as `errors` does."""
        errors: dict[str, list[str]] = {}
        for field in self._by_name.values():
            if field.required and field.name not in args:
                errors[field.name] = [_required(field)]
        self._compare(args, args, errors)
        return errors

    def _compare(self, args: Args, given: Container[str], errors: dict[str, list[str]]) -> None:
        for field in self._by_name.values():
            # Of several values each goes with each of the others.
            first = max(_texts(args.get(field.not_before or "")), default="")
            last = min(_texts(args.get(field.name)), default="")
            if first and last and last < first:
                text = f"{field.name} {last} is before {field.not_before} {first}."
                errors.setdefault(field.name, []).append(text)
        for names, texts in self._rules().items():
            if not any(name in given for name in names):
                errors.setdefault("", []).append(f"Give {listed(names)}: {quote(texts[0].rstrip('.'))}.")


def _texts(value: str | list[str] | None) -> list[str]:
    return [value] if isinstance(value, str) else [one for one in value or () if isinstance(one, str)]


def _required(field: Field) -> str:
    source = f" {_list_with(field.source)}" if field.source else ""
    options = f" Options are {listed(map(quote, field.options[:8]), 'and')}." if field.options else ""
    return f"{field.name} is required.{source}{options}"


def _list_with(source: str) -> str:
    return f"List the values with {quote(source)}."


def _property(field: Field, valid: Sequence[str], *, needed: bool) -> dict[str, Any]:
    one: dict[str, Any] = {"type": "string"}
    if field.kind in {Kind.INTEGER, Kind.NUMBER}:
        bounds = {"minimum": field.minimum, "maximum": field.maximum}
        one = {"type": str(field.kind)} | {name: bound for name, bound in bounds.items() if bound is not None}
    elif field.kind is Kind.DATE:
        one["format"] = "date"
    elif needed and not valid and field.kind is not Kind.LIST:
        one["pattern"] = r"\S"
    if valid:
        one["enum"] = [as_json(field, option) for option in valid]
    if field.kind is Kind.LIST:
        one = {"type": "array", "items": one} | ({"minItems": 1} if needed else {})
    default = default_of(field)
    if default is not None:
        one["default"] = default
    return one | ({"description": field.help} if field.help else {})
