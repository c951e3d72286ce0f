"""Form: values become the arguments of a run, or errors at their fields."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote as quote_url

from jupyter_funcs.catalog.choices import Choices
from jupyter_funcs.catalog.fields import (
    NUMERIC,
    Evidence,
    Field,
    Kind,
    by_name,
    part_named,
    with_parts,
)
from jupyter_funcs.catalog.schemas import text_of
from jupyter_funcs.catalog.values import (
    UNSET,
    Each,
    Variable,
    WrongPartsError,
    WrongValueError,
    accept,
    accept_each,
    allowed,
    clears,
    contradictions,
    default_of,
    has_special,
    has_variable,
    is_special,
    missing,
    opened,
    part_at,
    parts_in,
    required_text,
    resolved,
    same_args,
    shorten,
    takes,
    with_part,
)
from jupyter_funcs.core.errors import ArgumentError, Messages
from jupyter_funcs.core.json_decoding import only, texts_in
from jupyter_funcs.core.line import JsonList
from jupyter_funcs.core.text import (
    did_you_mean,
    folded,
    inert,
    listed,
    meant,
    quote,
    recorded,
    spellings,
    visible,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from jupyter_funcs.core.json_decoding import JsonObject, Values


_TEXT: JsonObject = {"type": "string"}
_MOST_COMPARED = 3  # values that are not listed

Args = dict[str, Any]
"""Arguments by wire name, each with its own type: JSON's, or any object for a function of this process."""


class HasFields(Protocol):
    """What a form is made from: a function of a session, or anything else with a name and fields."""

    @property
    def name(self) -> str: ...

    @property
    def fields(self) -> Sequence[Field]: ...


class Form:
    """
    The values for a function's parameters, and the arguments and errors that follow from them.

    Only what is set is sent: a field that was never set, or was cleared with ``del form["x"]``, is left out, and the
    service uses its default. ``None``, ``""`` and ``[]`` are values where the catalog declares them, and clear the
    field otherwise. A bad value is stored and described in `errors`; setting it doesn't raise. A value that only
    contradicts a description, or a listing of valid values, is sent as given; `warnings` says so.

    The parts of an object have dotted names, ``form["customer.name"] = "Ann"``; those of a list of objects have
    positions, too: ``form["items.0.sku"] = "A-1"``.

    A field that holds `Each` has several values, one run each; run such a form as a sweep.

    Parameters
    ----------
    function
        A function of a session (``funcs["Get Panel Daily"]``).
    validate
        ``False`` enforces nothing: values are sent as given, and required ones may be missing. If the function has a
        parameter of this name, set that with ``form["validate"] = …``.
    **values
        Initial values, by parameter.

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
        What is set, by wire name; change it through the form. A `Variable` is looked up each time it is read.
    variables
        Returns the variables that `Variable` values are looked up in; none by default.
    choices
        Returns the valid values of a field for these arguments, if they are listed already; none by default.
    shows_labels
        Whether errors and warnings name fields by their labels, as a panel does, instead of their Python names.
    watchers
        Called with a field's wire name after each change of its value.
    """

    def __init__(
        self, function: HasFields, /, *, validate: bool | None = None, **values: Any
    ) -> None:
        if not hasattr(function, "fields"):
            what = f"A form needs a function, not {quote(function)} ({type(function).__name__})."
            raise ArgumentError(what, 'Write jf.Form(funcs["Get Panel Daily"]).')

        self.function = function.name
        self.fields = tuple(function.fields)
        self.validate = validate is not False
        self.values: JsonObject = {}
        self.variables: Callable[[], Values] = dict
        self.choices: Callable[[Field, Args], Choices] = lambda _field, _args: Choices()
        self.shows_labels = False
        self.watchers: list[Callable[[str], None]] = []
        # The last values of swept fields, with what was read from them.
        self._converted: dict[str, tuple[Each, list[Any], list[str]]] = {}
        self._by_name = by_name(self.fields)
        self._by_identifier = {field.identifier: field for field in self.fields}
        self._spellings = spellings(self._by_name)
        self.refuse_own("validate", validate)
        self.update(values)

    def refuse_own(self, name: str, option: object) -> None:
        """Refuse an option if a parameter has its name, because either may be meant."""
        if option is not None and name in self._spellings:
            text = f"{self.function} has a parameter {quote(name)}, so {name}=… may be that or the option."
            raise ArgumentError(text, f'Set the parameter with form["{name}"] = ….')

    def field(self, name: str) -> Field:
        """
        Return the field with a name: the wire name, the Python name, a dotted one, or a spelling of only one field.

        Raises
        ------
        ArgumentError
            The function has no such parameter; the message suggests similar names.
        """
        field = (
            self._by_name.get(name)
            or self._by_identifier.get(name)
            or part_named(self.fields, name)
            or self._by_name.get(self._spellings.get(folded(name), ""))
        )
        if field:
            return field
        fields = with_parts(self.fields) if "." in name else self.fields
        names = [other.name for other in fields]
        hint = did_you_mean(name, names)
        hint = hint or f"It takes {listed(names or ['no parameters'], 'and')}."
        text = f"{self.function} has no parameter {quote(name)}."
        raise ArgumentError(text, hint, errors={name: [f"{text} {hint}"]})

    def __getitem__(self, name: str) -> Any:
        """Return the value as it was set; ``None`` if it is not set (see `is_set`)."""
        entry = self.held(self.field(name))
        return None if entry is UNSET else entry

    def held(self, field: Field) -> Any:
        """Return the value of a field or a part as it was set, or `UNSET`."""
        name = field.root or field.name
        whole = self.values.get(name, UNSET)
        if field.inside:
            return part_at(opened(self._by_name[name], whole), field.inside)
        return whole

    def __setitem__(self, name: str, value: Any) -> None:
        """Set a value; ``None``, ``""`` and ``[]`` clear the field where the catalog doesn't declare them."""
        field = self.field(name)
        if clears(field, value, validate=self.validate):
            value = UNSET
        self._put(field, value)

    def _put(self, field: Field, value: Any) -> None:
        """Set a field, or the part of one in an object of its own; `UNSET` clears it."""
        name = field.root or field.name
        if value is not UNSET or self.held(field) is not UNSET:
            entry = self.values.get(name, UNSET)
            try:
                value = with_part(
                    opened(self._by_name[name], entry), field.inside, value
                )
            except WrongValueError as error:
                raise ArgumentError(
                    errors={field.name: [f"{field.name} {error}"]}
                ) from None
            if value is UNSET:
                del self.values[name]
            else:
                self.values[name] = value

        self._tell(field)

    def _tell(self, field: Field) -> None:
        for watcher in self.watchers:
            watcher(field.name)

    def is_set(self, name: str) -> bool:
        """Return whether a value is set for a field, by its wire name."""
        entry = self.values.get(name, UNSET)
        if (
            entry is UNSET
            and name not in self._by_name
            and (part := part_named(self.fields, name))
        ):
            entry = self.held(part)

        return _has_value(entry)

    def __contains__(self, name: object) -> bool:
        """Return whether the function has a parameter with this wire name."""
        return isinstance(name, str) and name in self._by_name

    def __iter__(self) -> Iterator[str]:
        """Iterate over the wire names of the parameters."""
        return iter(self._by_name)

    def __delitem__(self, name: str) -> None:
        """Clear a value, so that it is not sent."""
        self._put(self.field(name), UNSET)

    def update(self, values: Values) -> None:
        """
        Set several values, or none of them if a name is unknown.

        Raises
        ------
        ArgumentError
            Some names are not parameters of the function, two are spellings of one, or an object and its part
            contradict each other; all of them are listed.
        """
        errors = {}
        names: dict[tuple[str | int, ...], str] = {}
        for name in values:
            try:
                first = names.setdefault(self.field(name).steps, name)
            except ArgumentError as error:
                errors.update(error.errors)
                continue
            if first != name:
                errors[name] = [
                    f"{quote(name)} is the same parameter as {quote(first)}. Pass only one of them."
                ]

        for steps, name in names.items():
            for end in range(1, len(steps)):
                whole = names.get(steps[:end])
                if whole and not self._agree(
                    values[whole], steps[end:], values[name], self.field(whole)
                ):
                    errors[name] = [
                        f"{quote(name)} contradicts {quote(whole)}. Pass only one of them."
                    ]

        if errors:
            raise ArgumentError(errors=errors)
        for steps in sorted(names, key=len):
            name = names[steps]
            self[name] = values[name]

    @staticmethod
    def _agree(whole: Any, steps: Sequence[str | int], part: Any, field: Field) -> bool:
        """Return whether an object and its part can both be set."""
        entry = opened(field, whole)
        there = part_at(entry, steps)
        is_open = entry is None or isinstance(entry, dict | list)
        return is_open and (there is UNSET or text_of(there) == text_of(part))

    def clear(self) -> None:
        """Clear every value."""
        for name in list(self.values):
            del self[name]

    def __repr__(self) -> str:
        """Return the function, what would be sent, and the first error."""
        error = next((f"; {visible(texts[0])}" for texts in self.errors.values()), "")
        args = {name: recorded(value) for name, value in self.args.items()}
        return f"<Form {inert(self.function)}: {visible(str(args))}{error}>"

    @property
    def args(self) -> Args:
        """What would be sent: valid values by wire name, in parameter order; a swept field has a list of its values."""
        return self._read()[0]

    @property
    def swept(self) -> list[str]:
        """The wire names of the fields that hold `Each`, even with a single value."""
        return [
            name
            for name, entry in self.entries.items()
            if isinstance(entry, Each) and entry.values
        ]

    @property
    def entries(self) -> JsonObject:
        """What is set, by wire name; a part that is a `Variable` or `Each` is by itself, under its dotted name."""
        entries = {}
        for name, field in self._by_name.items():
            whole, special = self._apart(field)
            if whole is not UNSET:
                entries[name] = whole
            entries |= special
        return entries

    def _apart(self, field: Field) -> tuple[Any, JsonObject]:
        """Return what a field holds without special parts, and those by their dotted names."""
        whole = entry = self.values.get(field.name, UNSET)
        special: JsonObject = {}
        if not (field.fields and has_special(entry)):
            return whole, special
        for part, value in parts_in(field, entry):
            is_named = part.inside and isinstance(part.inside[-1], str)
            if is_named and is_special(value):
                special[part.name] = value
                whole = with_part(whole, part.inside, UNSET)

        return whole, special

    @property
    def runs(self) -> int:
        """The number of runs; 1 if nothing is swept."""
        args = self.args
        return math.prod(len(args[name]) for name in self.swept if name in args)

    @property
    def first(self) -> Args:
        """The arguments of the first run."""
        args = self.args
        for name in args.keys() & self.swept:
            args[name] = args[name][0]
        return self.nested(args)

    def nested(self, args: Args) -> Args:
        """Return arguments with those of dotted names in their objects."""
        nested = dict(args)
        for name in args.keys() - self._by_name.keys():
            field = self.field(name)
            nested[field.root] = with_part(
                nested.get(field.root), field.inside, nested.pop(name)
            )

        return nested

    @property
    def errors(self) -> Messages:
        """The errors by wire name, in parameter order; those that concern several fields under ``""``."""
        return self._read()[1]

    @property
    def warnings(self) -> Messages:
        """How the values contradict descriptions and listings, like `errors`; they are sent anyway."""
        return self.warnings_of(self.args)

    def warnings_of(self, args: Args, *, compare_listed: bool = True) -> Messages:
        """Return the warnings for arguments, of which swept fields may have several values."""
        by_value = self.warnings_of_values(
            args, self.swept, compare_listed=compare_listed
        )
        warnings = {name: shorten(texts) for name, texts in by_value.items()}
        for name, texts in self.warnings_between(args).items():
            warnings.setdefault(name, []).extend(texts)
        return warnings

    def warnings_of_values(
        self, args: Args, swept: Sequence[str], *, compare_listed: bool = True
    ) -> Messages:
        """Return the warnings for each value by itself; swept fields have lists of values."""
        warnings: Messages = {}
        if not self.validate:
            return warnings
        for name, value in args.items():
            field = self.field(name)
            entries = [value]
            if name in swept:
                entries = value
            values: dict[str, tuple[Field, list[Any]]] = {}
            for entry in entries:
                for part, item in parts_in(field, entry):
                    if item is not UNSET:
                        values.setdefault(part.name, (part, []))[1].append(item)
            for own, (part, items) in values.items():
                texts = [
                    f"{self._called(part)} {text}"
                    for text in contradictions(part, items)
                ]
                if compare_listed and not texts:
                    texts = self._unlisted(part, items, args)
                if texts:
                    warnings[own] = list(dict.fromkeys(texts))

        return warnings

    def warnings_between(self, args: Args) -> Messages:
        """Return the warnings for what is missing, and for dates in the wrong order."""
        if not self.validate:
            return {}
        warnings = {
            name: [self._required(field)]
            for name, field in self._by_name.items()
            if field.required and name not in args and not missing(field)
        }
        self._compare(args, warnings, Evidence.DESCRIBED)
        # The value is the text of the first field that has the rule.
        unmet: dict[tuple[str, ...], str] = {}
        for rule in (field.rule for field in self._by_name.values()):
            if rule and args.keys().isdisjoint(rule.names):
                unmet.setdefault(rule.names, rule.text)

        for names, text in unmet.items():
            called = [self._called(self._by_name[name]) for name in names]
            warnings.setdefault("", []).append(
                f"{listed(called)} is required: {quote(text.rstrip('.'))}."
            )

        return warnings

    def _unlisted(self, field: Field, several: Sequence[Any], args: Args) -> list[str]:
        """Return the first values that another function doesn't list, if similar ones are listed."""
        if field.options or not field.source:
            return []
        choices = self.choices(field, args)
        texts = [text for value in several for text in texts_in(value)]
        unlike = [text for text in texts if text not in choices.values]
        # A comparison with thousands of listed values takes a while.
        near = [(text, choices.nearest(text)) for text in unlike[:_MOST_COMPARED]]
        return [
            f"{quote(value)} isn't in the list. {meant(close)}"
            for value, close in near
            if close
        ]

    def is_same(self, args: Args, others: Args) -> bool:
        """Return whether two runs have the same arguments; a ticker alone is its listed symbol."""
        return same_args(self._with_symbols(args), self._with_symbols(others))

    def _with_symbols(self, args: Args) -> Args:
        """Return the arguments with the listed symbols in place of their tickers."""
        whole = dict(args)
        for field in self.fields:
            text = args.get(field.name)
            if field.kind is Kind.SYMBOL and isinstance(text, str):
                whole[field.name] = self.choices(field, args).begun(text) or text
        return whole

    def check(self, *, sweeps: bool = False) -> Args:
        """
        Return the arguments of a run.

        Parameters
        ----------
        sweeps
            Whether fields may hold several values; those are lists in the result, as in `args`.

        Raises
        ------
        ArgumentError
            Values are missing or not valid; all of them are listed, and nothing is sent.
        """
        args, errors = self._read()
        if not sweeps:
            for name in self.swept:
                text = f"{self._called(self.field(name))} has several values: run it with %funcs sweep or fn.sweep(…)."
                errors.setdefault(name, []).append(text)

        if errors:
            raise ArgumentError(hint=f"{self.function} was not run.", errors=errors)
        return args

    def json_schema(self) -> JsonObject:
        """
        Return the JSON Schema (2020-12) of the arguments, which the form, the stubs and any tool caller share.

        It requires only what the catalog declares; described options are examples. The form accepts what the schema
        accepts, except dates in the wrong order and integers beyond 64 bits. The form also accepts ``True`` for Yes,
        options in any case, and a single text for a list.
        """
        fields = self._by_name.values()
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": self.function,
            "type": "object",
            "properties": {
                field.name: _property(field, validate=self.validate) for field in fields
            },
            "required": [
                field.name for field in fields if self.validate and missing(field)
            ],
            "additionalProperties": False,
        }

    def errors_of(self, args: Args) -> Messages:
        """Return the errors of arguments that are each valid on their own, in the same form as `errors`."""
        unset = [field for name, field in self._by_name.items() if name not in args]
        errors = {
            needed.name: [self._required(needed)]
            for field in unset
            for needed in missing(field)
        }
        self._compare(args, errors)
        return errors

    def _read(self) -> tuple[Args, Messages]:
        args: Args = {}
        errors: Messages = {}
        variables = self.variables()
        for field in self._by_name.values():
            self._read_field(field, variables, args, errors)
        if self.validate:
            self._compare(args, errors)
        return args, errors

    def _read_field(
        self, field: Field, variables: Values, args: Args, errors: Messages
    ) -> None:
        whole, special = self._apart(field)
        for part, entry in special.items():
            self.take(self.field(part), entry, variables, args, errors)
        swept = {part for part, entry in special.items() if isinstance(entry, Each)}
        for part in special.keys() & args.keys():
            value = args[part][0] if part in swept else args.pop(part)
            whole = with_part(whole, self.field(part).inside, value)

        if not _has_value(whole):
            if self.validate and not special:
                for needed in missing(field):
                    errors.setdefault(needed.name, []).append(self._required(needed))
            return

        self.take(field, whole, variables, args, errors)
        for part in swept & args.keys():
            value = with_part(
                args.pop(field.name, None), self.field(part).inside, UNSET
            )
            if value is not UNSET:
                args[field.name] = value

    def take(
        self, field: Field, entry: Any, variables: Values, args: Args, errors: Messages
    ) -> None:
        """Add the argument of a field, if any value is valid, and the errors of its values and its parts."""
        wrong = {}
        try:
            self._convert(field, entry, variables, args, errors)
        except WrongPartsError as error:
            args[field.name] = error.valid
            wrong = {
                part.name: f"{self._called(part)} {text}" for part, text in error.parts
            }
        except WrongValueError as error:
            wrong = {field.name: f"{self._called(field)} {error}"}
        except ValueError as error:  # of a variable
            wrong = {field.name: str(error)}

        for name, text in wrong.items():
            if name not in errors:  # a special part has its own
                errors[name] = [text]

    def _convert(
        self, field: Field, entry: Any, variables: Values, args: Args, errors: Messages
    ) -> None:
        """Add the argument of a field, if any value is valid, and the errors of several values."""
        if not isinstance(entry, Each):
            value = resolved(entry, variables)
            if isinstance(entry, Variable) and clears(
                field, value, validate=self.validate
            ):
                raise ValueError(f"{entry} is empty: {quote(value)}.")
            args[field.name] = accept(field, value, validate=self.validate)
            return

        before, sent, wrong = self._converted.get(field.name, (None, [], []))
        # There may be thousands, and each key stroke reads them.
        if before is not entry:
            sent, wrong = accept_each(
                field, entry, variables, self._called(field), validate=self.validate
            )
            if not has_variable(entry):
                self._converted[field.name] = entry, sent, wrong

        if wrong:
            errors.setdefault(field.name, []).extend(wrong)
        if sent:
            args[field.name] = [*sent]

    def _called(self, field: Field) -> str:
        if self.shows_labels:
            return field.label
        return field.identifier

    def _required(self, field: Field) -> str:
        return f"{self._called(field)} {required_text(field)}"

    def _compare(
        self, args: Args, errors: Messages, least: Evidence = Evidence.DECLARED
    ) -> None:
        """Add the dates in the wrong order, where the less certain of both is known to be a date by this evidence."""
        for name, field in self._by_name.items():
            earlier = self._by_name.get(field.not_before or "")
            if earlier is None:
                continue
            evidence = {
                field.evidence.get("kind"),
                earlier.evidence.get("kind"),
                Evidence.DECLARED,
            }
            # A sweep combines every first date with every last one.
            first = max(texts_in(args.get(earlier.name)), default="")
            last = min(texts_in(args.get(name)), default="")
            if evidence == {least, Evidence.DECLARED} and "" < last < first:
                text = f"{self._called(field)} {last} is before {self._called(earlier)} {first}."
                errors.setdefault(name, []).append(text)


def with_json(form: Form, values: Values) -> JsonObject:
    """Return entered values, of which a list that is JSON has JSON's types where its field takes any."""
    typed = dict(values)
    for name, value in values.items():
        if isinstance(value, JsonList):
            with suppress(ArgumentError):  # an unknown name, which the function refuses
                field = form.field(name)
                if Kind.JSON in {field.kind, field.item}:
                    typed[name] = value.typed

    return typed


def _has_value(entry: Any) -> bool:
    return entry is not UNSET and not (isinstance(entry, Each) and not entry.values)


def _property(field: Field, *, validate: bool) -> JsonObject:
    schema = _schema_of_value(field, validate=validate)
    if field.is_json and validate:
        about = {"default", "description"}
        schema = {
            word: part
            for word, part in only(dict, field.schema).items()
            if word not in about
        }
        if "$ref" in str(schema):
            # References start at the root of a document; this makes the property one of its own.
            schema["$id"] = f"urn:parameter:{quote_url(field.name, errors='replace')}"

    if field.is_list:
        schema = {"type": "array", "items": schema, **field.sizes[0]}
        if field.required:
            schema.setdefault("minItems", 1)

    if not field.is_json and takes(field, None):
        schema = {"anyOf": [schema, {"type": "null"}]}
    default = default_of(field)
    if default is not None:
        schema["default"] = default
    if field.help:
        schema["description"] = field.help
    return schema


def _schema_of_value(field: Field, *, validate: bool) -> JsonObject:
    """Return the schema of one value, or of one item of a list."""
    is_declared = validate and field.is_declared()
    kind = field.value_kind if is_declared else Kind.TEXT
    options = list(allowed(field))
    if kind is Kind.TEXT:
        options = list(map(text_of, options))
    schema = _schema_of_kind(field, kind)
    if options and validate and field.is_declared("options"):
        return _enumerated(schema, options)
    if schema == _TEXT and field.required and not (field.is_list or takes(field, "")):
        schema["minLength"] = 1  # an empty value does not satisfy a requirement
    schema |= field.sizes[1]
    if options:
        schema["examples"] = options
    return schema


def _schema_of_kind(field: Field, kind: Kind) -> JsonObject:
    schema = dict(_TEXT)
    if kind is Kind.DATE:
        schema["format"] = "date"
    elif kind in NUMERIC:
        schema["type"] = str(kind)
        bounds = {"minimum": field.minimum, "maximum": field.maximum}
        if field.is_declared("bounds"):
            schema |= {
                name: bound for name, bound in bounds.items() if bound is not None
            }

    return schema


def _enumerated(schema: JsonObject, options: list[Any]) -> JsonObject:
    if schema["type"] == "string" and set(map(type, options)) != {str}:
        del schema["type"]  # of true and false, or of options of several types
    return schema | {"enum": options}
