"""The inputs of a panel as plain JSON: what each field takes, its value, and what is wrong. No widget here."""

from __future__ import annotations

import json
import re
import threading
from contextlib import suppress
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from jupyter_funcs.catalog.choices import PAGE, FieldSource
from jupyter_funcs.catalog.fields import Evidence, Field, Kind, by_name, with_parts
from jupyter_funcs.catalog.schemas import template_of
from jupyter_funcs.catalog.values import (
    CONSTANTS,
    EXAMPLES,
    JSON_PREFIX,
    UNSET,
    Each,
    Variable,
    accept,
    clears,
    constant_of,
    constants,
    default_of,
    entered,
    entry_of,
    first_of,
    has_variable,
    is_iterable,
    opened,
    part_at,
    parts_in,
    spelled,
    takes,
)
from jupyter_funcs.client import notebook
from jupyter_funcs.core.errors import ArgumentError, Messages
from jupyter_funcs.core.json_decoding import texts_in
from jupyter_funcs.core.line import Entered
from jupyter_funcs.core.text import (
    clip,
    inert,
    listed,
    meant,
    quote,
    recorded,
    replace_surrogates,
    visible,
)
from jupyter_funcs.frames.roles import words
from jupyter_funcs.panel.requests import (
    Json,
    LongText,
    Name,
    NotText,
    Number,
    PageValue,
    PageValues,
    Text,
    answers,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from jupyter_funcs.catalog.form import Args, Form
    from jupyter_funcs.client.function import RemoteCall

    Said = Mapping[str, Sequence[str]]  # of fields
    # The value that was entered last under each name, in any form of a panel.
    LastEntered = dict[str, tuple[Kind, Any]]

_MOST_VALUES = 10_000  # of one field
_LONGEST = 1_000_000  # characters of one field
_LONGEST_HELP = 20_000
_BRIEF = 220
_LONGEST_BRIEF = 600
# Words by which the ends of a range differ.
_ENDS = {
    "start",
    "end",
    "from",
    "to",
    "begin",
    "until",
    "since",
    "min",
    "max",
    "after",
    "before",
}
# Required and optional fields without a default, before the rest is under More options.
_MOST_SHOWN = 12
_MOST_ROWS = 200  # of a list of objects; a longer one is JSON
_LONGEST_SCHEMA = 4000  # characters that are shown
_MOST_NAMED = 3  # values that aren't listed
# Of a refusal.
_MOST_FIXES = 3
_MOST_COMPARED = 100
_LONGEST_FIX = 60
# Seconds without typing before values that depend on what is typed are listed.
_PAUSE = 0.4
_SENTENCE_END = re.compile(r"(?<!\b[a-z]\.[a-z])[.!?](?=\s+[^a-z\d\s])")
_UNTYPABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")
_KNOWN = {
    Evidence.DECLARED: "declared by the catalog",
    Evidence.DESCRIBED: "read from the description",
    Evidence.ASSUMED: "assumed from the name",
}

# Values of other types for fields that take text, too.
_OTHERS = (("5", "a number"), ('["a", "b"]', "a list"), ("[1, 2]", "a list"))
_ROW = re.compile(r"\.\d+(?=\.|$)")
# An item of a list in one line: in quotes, with doubled ones inside, or up to the next comma.
_ITEM = re.compile(r'\s*(?:"((?:[^"]|"")*)"(?=\s*(?:,|$))|([^,]+))')
_YES = {"yes", "true", "y"}
_CONTROLS = {
    Kind.JSON: "json",
    Kind.INTEGER: "number",
    Kind.NUMBER: "number",
    Kind.DATE: "date",
}


@dataclass(eq=False)
class FormView:
    """The form of one function as the page shows it; `on_news` is called when there is something new to show."""

    function: InitVar[RemoteCall]
    form: Form
    on_news: Callable[[], None]
    entered: LastEntered = field(default_factory=dict)
    trusted: bool = field(default=True, kw_only=True)
    seq: int = 0
    preset: tuple[str, Args] = ("", {})  # the last one, and the values it filled in

    def __post_init__(self, function: RemoteCall) -> None:
        form = self.form
        form.shows_labels = True
        form.variables = notebook.variables
        self._lock = threading.RLock()  # options arrive on the background loop
        self._whole = by_name(form.fields)
        # Of a list of objects, the parts of each.
        self._fields = by_name(with_parts(form.fields))
        self._sources = {
            name: FieldSource(field, function, form, self._on_source)
            for name, field in self._fields.items()
        }
        self._forget()
        self._carried.update(dict.fromkeys(form.values, False))
        form.watchers.append(self._on_form)
        for source in self._sources.values():
            if source.is_listed:
                source.ask()

    def _forget(self) -> None:
        self._pressed = False
        # Fields that were filled in, and whether from another form.
        self._carried: dict[str, bool] = {}
        self._refused: dict[str, Sequence[str]] = {}
        self._removed: Messages = {}

    def close(self) -> None:
        """Stop following the form and asking for options; what it holds can be carried over."""
        with self._lock:
            for name, value in self.form.values.items():
                if self.form.is_set(name):
                    self.entered.setdefault(name, (self._fields[name].kind, value))
            with suppress(ValueError):
                self.form.watchers.remove(self._on_form)
            for source in self._sources.values():
                source.stop()

    # What the page shows

    @cached_property
    def fields(self) -> list[Json]:
        """What each field takes, as the `FieldView` of the protocol without its options."""
        more = self._more()
        return [
            self._field_view(field, more=name in more)
            for name, field in self._whole.items()
        ]

    def pages(self) -> dict[str, Json]:
        """Return the first options of the fields to choose in, each as the `OptionPage` of the protocol."""
        return {
            name: source.page()
            for name, source in self._sources.items()
            if self._control(source.field) in {"choice", "several"}
        }

    def _control(self, field: Field) -> str:
        if field.fields:
            return "rows" if field.is_rows else "group"
        if field.kind is Kind.YES_NO and len(field.options) == 2:
            return "flag"

        has_choices = field.options or self._source(field).is_listed
        if field.kind is Kind.LIST:
            return "several" if has_choices else "list"
        if has_choices and field.kind is not Kind.JSON:
            return "choice"
        return _CONTROLS.get(field.kind, "text")

    def _more(self) -> set[str]:
        """Return the optional fields with a default or of JSON, and those after the first dozen of the rest."""
        fields = self._whole.values()
        optional = {field.name for field in fields if not is_needed(field)}
        usual = [
            field.name
            for field in fields
            if is_needed(field)
            or (field.default is None and (field.kind is not Kind.JSON or field.fields))
        ]
        more = optional.difference(usual[:_MOST_SHOWN])
        # A start and an end stay together.
        others = self._whole.keys() - more
        more -= {name for name in more for other in others if _are_a_range(name, other)}
        if 1 < len(more) < len(fields):
            return more
        return set()

    def _field_view(self, field: Field, *, more: bool) -> Json:
        control = self._control(field)
        help_text = _help(field)
        brief = _brief(inert(field.brief), help_text)
        default = field.default
        if default is not None:
            default = clip(inert(default), 100)
        flag = None
        if control == "flag":
            flag = sorted(field.options, key=lambda word: word.casefold() not in _YES)
        is_described = bool(field.options) and not field.is_declared("options")
        return {
            "name": field.name,
            "label": _label(field),
            "control": control,
            "required": field.required,
            "more": more,
            "short": _is_short(field, control),
            "hint": _hint(field, control),
            "default": default,
            "help": help_text,
            "brief": "" if brief == help_text else brief,
            "knownFrom": _known_from(field),
            "open": is_described or self._source(field).is_listed,
            "flag": flag,
            "minimum": field.minimum,
            "maximum": field.maximum,
            "integer": field.kind is Kind.INTEGER,
            "strict": field.is_declared(),
            "constants": constants(field),
            **self._inside(field),
        }

    def _inside(self, field: Field) -> Json:
        """Return the views of a field's parts; of JSON without parts, its schema and where to begin."""
        if field.fields:
            return {
                "parts": [self._field_view(part, more=False) for part in field.fields]
            }

        if field.kind is not Kind.JSON:
            return {}

        template = template_of(field.schema or {})
        text = ""
        if isinstance(template, dict | list):
            text = json.dumps(template, ensure_ascii=False, indent=2)
        schema = json.dumps(field.schema, ensure_ascii=False, indent=1)
        return {
            "template": clip(text, _LONGEST_SCHEMA),
            "schema": visible(clip(schema, _LONGEST_SCHEMA)),
        }

    def _parts(self, more: Iterable[str]) -> dict[str, Field]:
        """Return the fields and the parts of what is set, and some more, by name."""
        shown: dict[str, Field] = {}
        for whole in self._whole.values():
            value = self.form.held(whole)
            for part, entry in parts_in(whole, opened(whole, value)):
                if part is whole or entry is not UNSET:
                    shown[part.name] = part

        for name in more:
            shown.setdefault(name, self.form.field(name))
        return shown

    def values(self, ran: Args | None = None, named: Args | None = None) -> Json:
        """Return the values, what is wrong, and whether they aren't those that `ran` or a cell named, as `Values`."""
        with self._lock:
            form = self.form
            args = form.args
            errors = form.errors
            warnings = form.warnings_of(args, compare_listed=False)
            preset, filled = self.preset
            return {
                "seq": self.seq,
                "fields": {
                    name: self._state(field, args, errors, warnings)
                    for name, field in self._parts(errors).items()
                },
                "runs": form.runs,
                "valid": not errors,
                "missing": [name for name in errors if not form.is_set(name)],
                "wrong": [name for name in errors if form.is_set(name)],
                "advice": [*self._advice()],
                "preset": preset if form.is_same(filled, args) else "",
                "changed": ran is not None and not form.is_same(ran, args),
                "differs": named is None or not form.is_same(named, args),
            }

    def _advice(self) -> Iterator[str]:
        """Say which rules aren't met, once the user has begun."""
        if not self._pressed and all(self._carried.values()):
            return
        rules = {field.rule.names for field in self.form.fields if field.rule}
        for names in sorted(rules):
            if not any(map(self.form.is_set, names)):
                labels = (_label(self._fields[name]) for name in names)
                yield f"Fill in {listed(labels)}."

    def _state(self, field: Field, args: Args, errors: Said, warnings: Said) -> Json:
        name = field.name
        is_set = self.form.is_set(name)
        wrong = [*self._refused.get(name, ())]
        if is_set or self._pressed:
            wrong += errors.get(name, ())
        unknown = []
        if not wrong:
            unknown = self._source(field).unlisted(self._texts(name))
        warned: Sequence[str] = ()
        if self._pressed or name in self._carried:
            warned = warnings.get(name, ())
        state = {
            "value": self._value(field, args),
            "errors": [self._message(field, text) for text in dict.fromkeys(wrong)],
            "warnings": self._warnings(field, warned, unknown),
            "notes": self._removed.get(name),
            "carried": self._carried.get(name),
            "unknown": unknown,
        }
        return {key: part for key, part in state.items() if part}

    def _warnings(
        self, field: Field, warned: Sequence[str], unknown: Sequence[str]
    ) -> list[Json]:
        """Return the warnings of the form, or say which values aren't listed."""
        texts = warned or self._unlisted(field, unknown)
        warnings = [self._message(field, text) for text in texts]
        if warned and self.form.is_set(field.name):
            for message in warnings:
                message["text"] += " It is sent as given."

        return warnings

    def _unlisted(self, field: Field, unknown: Sequence[str]) -> Iterator[str]:
        """Say which values aren't listed."""
        for value in unknown[:_MOST_NAMED]:
            near = self._source(field).nearest(value)
            hint = meant([near]) if near else "It is sent as given."
            yield f"{quote(value)} isn't in the list. {hint}"

        if len(unknown) > _MOST_NAMED:
            yield f"And {len(unknown) - _MOST_NAMED:,} more aren't in the list."

    def _value(self, field: Field, args: Args) -> Any:
        """Return a value as the page shows it: as it would be sent if it is valid, else as it was set."""
        value = self.form.held(field)
        if value is UNSET:
            return None
        if count := _count_rows(field, opened(field, value)):
            return {"rows": count}

        is_each = isinstance(value, Each)
        variable = value
        if is_each and len(value) == 1:
            variable = first_of(value)
        if not isinstance(variable, Variable):
            return self._entry(field, value, args)

        name = variable.name
        variables = self.form.variables()
        about = "not defined"
        if name in variables:
            about = notebook.about(variables[name])
        return {"variable": name, "about": about, "each": is_each}

    def _entry(self, field: Field, value: Any, args: Args) -> Any:
        """Return a value as it is entered: texts of several, or one, or what no text spells."""
        is_each = isinstance(value, Each)
        is_typed = isinstance(value, str) and not field.options  # "1." may become "1.5"
        if not (is_each or is_typed or has_variable(value)):
            accepted = part_at(args, field.steps)
            if accepted is not UNSET:
                value = accepted

        texts = [self._text(field, item) for item in several(value)[:_MOST_VALUES]]
        if is_each:
            return {"each": texts}
        if constant := constant_of(value):
            return {"constant": constant}
        if field.is_list or (isinstance(value, list | tuple) and not field.is_json):
            return texts
        return clip(self._text(field, value), _LONGEST)

    def _text(self, field: Field, value: Any) -> str:
        """Return a value as a line of text; `_read` takes it back."""
        try:
            is_json = field.kind is Kind.JSON and not isinstance(value, str | Variable)
            if isinstance(value, bytes):
                text = str(recorded(value))
            elif value is None or is_json:
                text = entry_of(field, value)
            elif isinstance(value, list | tuple):
                text = ", ".join(_quoted(self._text(field, item)) for item in value)
            elif self.trusted:
                text = spelled(value)
            else:
                text = str(value)
            return replace_surrogates(text)
        except Exception:  # noqa: BLE001  # any object may be set by code, even one that fails when inspected
            return f"<{type(value).__name__}>"

    def _message(self, field: Field, text: str) -> dict[str, str]:
        """Return an error in the words of a form, and a value that would fix it, as the `Message` of the protocol."""
        source = self._source(field)
        value = self._named(field, text)
        is_order = " is before " in text
        use = ""
        if value and not is_order:
            use = source.nearest(value)
        is_checked = field.name not in self._refused
        if is_checked and self.form.held(field) is UNSET:
            text = "Required"
        elif (
            is_checked
            and value is self.form[field.name]
            and field.kind is Kind.DATE
            and not (source.choices or is_order)
        ):
            text = "Enter a valid date, such as 2025-11-15."

        return {"text": text, "use": use, "instead": use and value}

    def _named(self, field: Field, text: str) -> str:
        """Return a text that was entered, or the first of several values that an error names."""
        value = self.form[field.name]
        if isinstance(value, str) and field.name not in self._refused:
            return value

        # Suggestions come after it.
        places = {text.find(quote(item)): item for item in self._texts(field.name)}
        places.pop(-1, "")
        return places[min(places)] if places else ""

    def _texts(self, name: str) -> list[str]:
        return [text for item in several(self.form[name]) for text in texts_in(item)]

    def _source(self, field: Field) -> FieldSource:
        """Return the options of a field, which those of all rows share."""
        names = (field.name, _ROW.sub("[]", field.name), field.root)
        return next(self._sources[name] for name in names if name in self._sources)

    # Requests of the page

    @answers()
    def set(self, seq: Number, field: Name, value: PageValue) -> None:
        self.take({field: value}, seq)

    def take(self, values: PageValues, seq: int = 0) -> None:
        """Set fields to typed values, or clear them; none of them if one can't be read."""
        new = {
            name: self._read(self.form.field(name), value)
            for name, value in values.items()
        }
        with self._lock:
            self.seq = max(self.seq, seq)
            for name, value in new.items():
                if values[name] in (None, "", []):
                    del self.form[name]
                else:
                    self.form[name] = value

    @answers()
    def row(self, field: Name, at: Number | None = None) -> None:
        """Add a row to a list of objects, or remove one."""
        with self._lock:
            if at is None:
                self.form[f"{field}.{len(self.form[field] or ())}"] = {}
            else:
                del self.form[f"{field}.{at}"]

    @answers()
    def clear(self) -> None:
        with self._lock:
            self.form.clear()
            self._forget()

    def press(self) -> None:
        """Show the errors of every field from now on, as after a press of Run."""
        self._pressed = True

    def refuse(self, errors: Said, refusal: str = "") -> list[Json]:
        """Show errors of the service, each until its field changes; return fixes for the values that it named."""
        with self._lock:
            self._refused = dict(errors)
        fixes = []
        for name, source in self._sources.items():
            for value in dict.fromkeys(self._texts(name)[:_MOST_COMPARED]):
                if value and value in refusal and (near := source.nearest(value)):
                    text = f"Use {clip(near, _LONGEST_FIX)}"
                    fixes.append(
                        {"field": name, "text": text, "use": near, "instead": value}
                    )

        return fixes[:_MOST_FIXES]

    def carry(self) -> None:
        """Fill in the values that were entered last in other forms, where fields of the same name take them."""
        for name, (kind, entry) in list(self.entered.items()):
            value = first_of(entry)
            field = self._fields.get(name)
            if not field or field.kind is not kind or clears(field, value):
                continue
            if self.form.held(field) is entry:
                continue
            with suppress(ValueError):
                if not has_variable(value):
                    accept(field, value)
                self.form[name] = value
                self._carried[name] = True
                self.entered[name] = kind, entry

    @answers(in_thread=True, reads=True)
    def options(
        self, field: Name, query: Text, first: Number = 0, *, grouped: bool = False
    ) -> Json:
        """Return a page of the options that match a search, as the `OptionPage` of the protocol."""
        return self._source(self.form.field(field)).page(query, first, grouped=grouped)

    @answers()
    def list_again(self, field: Name) -> None:
        source = self._source(self.form.field(field))
        if source.can_ask:
            source.ask(again=True)

    @answers(reads=True)
    def all_options(self, field: Name, group: Name = "", query: Text = "") -> Json:
        """Return all values that match a search, or those in one group."""
        target = self.form.field(field)
        choices = self._source(target).choices.search(query)
        values = [choice.value for choice in choices if group in ("", choice.group)]
        return {"values": _bounded(target, values)}

    @answers(in_thread=True)
    def paste(self, field: Name, text: LongText) -> Json:
        """Return the values of a pasted column, row or list, those that aren't options, and how many were repeated."""
        target = self.form.field(field)
        lines = self._typable(target, text.splitlines())
        values, unknown = self._source(target).choices.pasted(
            "\n".join(lines), target.kind
        )
        once = _bounded(target, self._once(target, values))
        return {"values": once, "unknown": unknown, "repeated": len(values) - len(once)}

    @answers(refused="Variables can't be read")
    def variables(self, field: Name) -> Json:
        """Return the variables that a field can use, in alphabetical order."""
        takes_one = self.form.field(field).kind not in {Kind.LIST, Kind.JSON}
        variables = dict(self.form.variables()) if self.trusted else {}
        usable = [
            {
                "name": name,
                "about": about,
                "each": takes_one and is_iterable(value) and not isinstance(value, str),
            }
            for name, value in sorted(variables.items())
            if (about := notebook.usable(name, value))
        ]
        return {"variables": usable[:PAGE]}

    def _read(self, field: Field, value: PageValue) -> Any:
        """Convert a value of the page for the form, or raise an `ArgumentError` if no control would send it."""
        if field.value_kind is Kind.FILE and not self.trusted:
            raise ArgumentError(
                f"{field.label} takes a file of this machine.",
                "A visitor can't send one.",
            )

        if isinstance(value, NotText):
            constant = value.constant
            if constant in constants(field):
                return CONSTANTS[constant]()
            if constant:
                raise ArgumentError(
                    f"{field.label} doesn't take {constant}.",
                    "Clear the field to leave it out.",
                )
            return self._each(field, value.each)

        if isinstance(value, list):
            texts = self._once(field, self._typable(field, value))
            items = [*map(self._typed, texts)]
            # A list that is only described may be one value, and a variable may hold a whole list.
            if len(items) == 1 and (
                isinstance(items[0], Variable) or not field.is_declared()
            ):
                return items[0]
            return items

        [text] = self._typable(field, [value or ""])
        return self._typed(text)

    def _each(self, field: Field, texts: list[str]) -> Each:
        lines = [line for line in self._typable(field, texts) if line]
        if field.kind is Kind.LIST:
            return Each(tuple(self._items(line) for line in lines if line.strip()))

        # The same company may be typed and chosen.
        choices = self._source(field).choices
        once = dict.fromkeys(choices.begun(line) or line for line in lines)
        return Each(tuple(map(self._typed, once)))

    def _once(self, field: Field, values: list[str]) -> list[str]:
        """Leave out repeated values, except in a list without options, which may be a list of numbers."""
        if self._control(field) == "list":
            return values
        return list(dict.fromkeys(values))

    def _typable(self, field: Field, texts: list[str]) -> list[str]:
        """Return texts of the page; refuse too many, and characters that can't be typed and no option has."""
        options = self._source(field).choices.values
        for text in _bounded(field, texts):
            odd = _UNTYPABLE.search(text)
            if odd and text not in options:
                raise ArgumentError(
                    f"{field.label} can't contain the character {quote(odd[0])}.",
                    "Delete it.",
                )

        return texts

    def _typed(self, text: str) -> str | Variable:
        """Read a text: `$name` is a variable, except for visitors."""
        if not self.trusted:
            return Entered(text)

        value = entered(text)
        if not isinstance(value, Variable):
            return value

        name = value.name
        variables = self.form.variables()
        is_usable = name not in variables or notebook.usable(name, variables[name])
        if name.startswith("_") or not is_usable:
            raise ArgumentError(
                f"{quote(value)} can't be used here.",
                "Use a column, a list, a text, a number or a date whose name doesn't start with _.",
            )

        return value

    def _items(self, line: str) -> Any:
        """Read one of several lists: values separated by commas, and quoted if they contain one."""
        items = [
            self._typed(bare.strip() or quoted.replace('""', '"'))
            for quoted, bare in _ITEM.findall(line)
            if bare.strip() or not bare
        ]
        if len(items) == 1 and isinstance(items[0], Variable):
            return items[0]
        return items

    # Changes from elsewhere

    def _on_form(self, name: str) -> None:
        """Follow a change of the form, made by the user or by code."""
        with self._lock:
            for notes in (self.entered, self._refused, self._removed):
                notes.pop(name, None)
            if self.form.is_set(name):
                self.entered[name] = self.form.field(name).kind, self.form[name]
            self._carried[name] = False
            for source in self._sources.values():
                if name in source.needs:
                    source.ask(after=_PAUSE)

        self.on_news()

    def _on_source(self, source: FieldSource) -> None:
        """Take the values that a source lists, and remove those that it no longer lists."""
        name = source.field.name
        with self._lock:
            gone = [
                value
                for value in self._texts(name)
                if source.known and value in source.gone
            ]
            if gone:
                value = self.form[name]
                left = [item for item in several(value) if item not in gone]
                if isinstance(value, Each):
                    self.form[name] = Each(tuple(left))
                elif left:
                    self.form[name] = left
                else:
                    del self.form[name]
                self._removed[name] = [
                    f"Removed {listed(map(quote, gone), 'and')}: no longer in {source.field.source}."
                ]

        self.on_news()


def several(value: Any) -> Sequence[Any]:
    """Return the values of `Each`, or the items of a list; any other value alone."""
    if isinstance(value, Each):
        return value.values
    if isinstance(value, (list, tuple)):
        return value
    return [value]


def _label(field: Field) -> str:
    return clip(inert(field.label), 100)


def is_needed(field: Field) -> bool:
    return field.required or bool(field.rule)


def _count_rows(field: Field, held: Any) -> int:
    """Return how many rows a list of objects has, or 1 for an object; 0 if its parts can't be shown."""
    rows = held if field.is_rows else [held]
    can_show = field.fields and isinstance(rows, list) and len(rows) <= _MOST_ROWS
    if can_show and all(isinstance(row, dict) for row in rows):
        return len(rows)
    return 0


def _are_a_range(name: str, other: str) -> bool:
    """Return whether the names of fields differ only in which end of a range they mean."""
    both = [words(name), words(other)]
    rest, of_other = ([word for word in text if word not in _ENDS] for text in both)
    return rest == of_other and not any(map(_ENDS.isdisjoint, both))


def _is_short(field: Field, control: str) -> bool:
    if control in {"number", "date"} or (control == "choice" and field.options):
        shown = (*field.options, _hint(field, control))
        return len(field.label) <= 14 and max(map(len, shown)) <= 13
    return control == "flag" and len(field.label) <= 12


def _hint(field: Field, control: str) -> str:
    """Return what an empty control shows."""
    if field.default is not None and not field.required:
        return f"{clip(inert(field.default), 40)} (default)"

    has_choices = control in {"choice", "several"}
    if not field.required and field.rule and field.name != field.rule.names[0]:
        return "Or choose" if has_choices else "Or this"
    if not has_choices or field.evidence.get("options") is Evidence.ASSUMED:
        return _example(field, control)
    if field.kind is Kind.SYMBOL:
        return "Code or name"
    if is_needed(field):
        return "Choose"
    return "Choose (optional)"


def _example(field: Field, control: str) -> str:
    """Return the form of a value, or whether one is needed."""
    if control == "list" and is_needed(field):
        return "One or more"
    if control == "date":
        return "YYYY-MM-DD"
    if control == "json":
        return _json_hint(field)
    if control == "number" and None not in {field.minimum, field.maximum}:
        return f"{field.minimum} to {field.maximum}"
    return EXAMPLES.get(field.format, "" if field.required else "Optional")


def _json_hint(field: Field) -> str:
    if entries := _entries(field):
        return f"Text, or {next(iter(entries.values()))}"

    kind = (field.schema or {}).get("type")
    if isinstance(kind, list):
        return "5, [1, 2] or { … }"
    return "[ … ]" if kind == "array" else "{ … }"


def _entries(field: Field) -> dict[str, str]:
    """Return what to enter for values that aren't text, by what they are; empty unless a field takes text, too."""
    if field.kind is not Kind.JSON or not takes(field, "text"):
        return {}
    entries = {
        what: f"{JSON_PREFIX}{text}"
        for text, what in _OTHERS
        if takes(field, json.loads(text))
    }
    return entries or {"other values": f"{JSON_PREFIX}…"}


def _quoted(text: str) -> str:
    """Return an item of a list in one line, in quotes where it would not be read back otherwise."""
    if text and text == text.strip() and not {*text} & {*',"'}:
        return text
    return '"{}"'.format(text.replace('"', '""'))


def _help(field: Field) -> str:
    """Return the whole help of a field, and how to enter what its control can't show."""
    text = "\n".join(map(inert, clip(field.help, _LONGEST_HELP).splitlines()))
    if field.default is not None and default_of(field) is None:
        text += f"\nThe default, {quote(field.default)}, can't be entered. Leave the field empty to use it."
    if entries := _entries(field):
        named = listed(f"{entry} for {what}" for what, entry in entries.items())
        text += f"\nText is sent as text; enter {named}."
    return text


def _brief(brief: str, whole: str) -> str:
    """Return the first whole sentences of a help text, without what the control shows, unless nothing else is left."""
    text = brief
    if not brief.endswith((".", "!", "?", ")")):
        text = " ".join(whole.split())
    ends = [*(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]
    end = max((end for end in ends if end <= _BRIEF), default=ends[0])
    return clip(text[:end], _LONGEST_BRIEF)


def _known_from(field: Field) -> str:
    kind = _KNOWN[field.evidence.get("kind", Evidence.ASSUMED)]
    if field.options:
        values = _KNOWN[Evidence.DESCRIBED]
        if field.is_declared("options"):
            values = _KNOWN[Evidence.DECLARED]
    elif field.source:
        values = f"listed by {inert(field.source)}"
    else:
        return f"Type {kind}."
    if values == kind:
        return f"Type and values {kind}."
    return f"Type {kind}; values {values}."


def _bounded(field: Field, texts: list[str]) -> list[str]:
    """Return texts of the page; refuse too many or too long ones."""
    length = sum(map(len, texts))
    if len(texts) > _MOST_VALUES or length > _LONGEST:
        most = f"{_MOST_VALUES:,} values of {_LONGEST:,} characters together"
        raise ArgumentError(
            f"{field.label} takes at most {most}, not {len(texts):,} of {length:,}."
        )

    return texts
