"""What Tab offers: candidates as they are written where the cursor is, and what is known of a function's values."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_funcs.line import QUOTES, read_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from jupyter_funcs.callables import RemoteFunction
    from jupyter_funcs.fields import Field
    from jupyter_funcs.session import Session

PLAIN_WORD = re.compile(r"[\w+./@%:-]+")
_PLAIN_NAME = re.compile(r"\w[\w.-]*")
# The items of a list before the one that is being typed, each read in one way only; and those of a list within it.
_ITEM = r"(?>'[^']*'|\"[^\"]*\"|[^,'\"\[\]]*)\s*+"
_ITEMS_BEFORE = re.compile(
    rf"\[(?:\s*+(?:\[(?:\s*+{_ITEM},)*+\s*+{_ITEM}\]\s*+|{_ITEM}),)*+\s*+(?P<within>\[(?:\s*+{_ITEM},)*+\s*+)?"
)
GIVEN_AFTER = re.compile(r"(\w+)\s*=(?!=)")


class Candidate(NamedTuple):
    """What may stand at the cursor: the text that what was typed is compared with, and the text that is put there."""

    compared: str
    written: str


class Offer(NamedTuple):
    """
    What the cursor's place takes.

    Attributes
    ----------
    typed
        The end of the text before the cursor, which a candidate takes the place of.
    compared
        What a candidate's text begins with, in any case: `typed` without its quote.
    candidates
        In the order in which they are shown.
    kind
        What they are, as front ends name it.
    alone
        Whether what others would offer has no place beside these.
    only
        Whether it has no place either where none of these fits.
    """

    typed: str
    compared: str
    candidates: Iterable[Candidate]
    kind: str
    alone: bool = True
    only: bool = False


NOTHING = Offer("", "", (), "", only=True)


class Writer(NamedTuple):
    """
    How a value is written where the cursor is.

    Attributes
    ----------
    is_plain
        Whether a value may stand without quotes.
    escape
        Give a value as it stands between quotes, or ``None`` where it cannot.
    """

    is_plain: Callable[[str], object]
    escape: Callable[[str, str], str | None] = lambda value, end: (
        None if end in value else value.replace("\\", "\\\\") if end == '"' else value
    )

    def candidates(self, values: Iterable[str], typed: str, after: str) -> Iterator[Candidate]:
        """Go through the values as they are written in place of what was typed."""
        begin = typed[:1]
        # Most values of a long list do not fit: they are left out before they are written.
        compared = unquoted_begin(typed).casefold()
        if "\\" not in compared:
            values = (value for value in values if value.casefold().startswith(compared))
        if end := QUOTES.get(begin):
            closed = "" if after.startswith(end) else end  # many editors close a quote themselves
            for value in values:
                if (inner := self.escape(value, end)) is not None:
                    yield Candidate(inner, f"{begin}{inner}{closed}")
            return
        for value in values:
            if self.is_plain(value):
                yield Candidate(value, value)
            else:
                inners = ((quote, self.escape(value, quote)) for quote in "\"'")
                quoted = next((f"{quote}{inner}{quote}" for quote, inner in inners if inner is not None), None)
                if quoted is not None:
                    yield Candidate(value, quoted)


def offer_of_a_value(
    typed: str, after: str, values: Iterable[str], writer: Writer, namespace: Mapping[str, Any]
) -> Offer:
    """Offer values for what stands behind a `name=` of a line or a `name:` of a body."""
    if typed.startswith("$"):
        return offer_of_variables(typed, namespace)
    if typed.startswith("[") and (before := _ITEMS_BEFORE.match(typed)):
        given = read_value(f"{before['within'] or before[0]}]", namespace)
        values = [value for value in values if value not in given]
        typed, writer = typed[before.end() :], Writer(PLAIN_WORD.fullmatch)
    return Offer(typed, unquoted_begin(typed), writer.candidates(values, typed, after), "value")


def offer_of_variables(typed: str, names: Iterable[str]) -> Offer:
    """Offer variables by their names, behind a ``$``."""
    return Offer(typed, typed, same(sorted(f"${name}" for name in names if not name.startswith("_"))), "variable")


def frames_of(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Give the variables that hold a DataFrame, by name."""
    pandas = sys.modules.get("pandas")  # where it is not loaded there is none
    return {} if pandas is None else {n: one for n, one in namespace.items() if isinstance(one, pandas.DataFrame)}


def unquoted_begin(typed: str) -> str:
    return typed[1:] if typed[:1] in QUOTES else typed


def values_of(function: RemoteFunction, field: Field, given: Mapping[str, Any]) -> list[str]:
    """Give the values of a field that are known: its options, what its listing function has listed, its default."""
    if field.options:
        return list(field.options)
    if field.kind == "yes/no":  # its class stands in a room that takes long to import
        return ["Yes", "No"]
    form = function.form()
    for name, value in given.items():
        if other := field_of(function, name):
            is_swept = isinstance(value, list) and value and other.kind != "list"
            form[other.name] = value[0] if is_swept else value
    listed = [choice.value for choice in function.known_choices(field, form.args)]
    return listed or ([] if field.default is None else [field.default])


def read_values(given: Mapping[str, str], namespace: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: read_value(text, namespace)
        for name, text in given.items()
        if not text.startswith("$") or text[1:] in namespace
    }


def left_of(function: RemoteFunction, given: Iterable[str]) -> list[Field]:
    """Give the fields for which there is no argument yet."""
    names = {field.name for name in given if (field := field_of(function, name))}
    return [field for field in function.fields if field.name not in names]


def field_of(function: RemoteFunction, name: str) -> Field | None:
    folded = name.casefold()
    return next((one for one in function.fields if folded in {one.name.casefold(), one.identifier.casefold()}), None)


def spelt(field: Field) -> str:
    return field.name if _PLAIN_NAME.fullmatch(field.name) else field.identifier


def same(texts: Iterable[str]) -> list[Candidate]:
    return list(each(texts))


def each(texts: Iterable[str]) -> Iterator[Candidate]:
    return (Candidate(text, text) for text in texts)


def function_of(session: Session | None, name: str) -> RemoteFunction | None:
    catalog = session.listed if session is not None else None
    found = catalog.peek(name) if catalog is not None and name else None
    return session[catalog.slug(found)] if session is not None and catalog is not None and found else None
