"""What a form says in words: labels, help and messages at the fields, the line above Run. No widget here."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from jupyter_funcs.catalog.fields import by_name
from jupyter_funcs.catalog.values import Each, default_of
from jupyter_funcs.core.text import clip, inert, listed, quote, some

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jupyter_funcs.catalog.fields import Field
    from jupyter_funcs.catalog.form import Form
    from jupyter_funcs.catalog.suggestions import Offers

_LONGEST_LABEL = 60
_LONGEST_HELP = 600
_MOST_NAMED = 6
# A front end sets what stands between these as mathematics, in a label too: they are shown by their wide twins.
_NO_MATHEMATICS = str.maketrans({"$": "\uff04", "\\": "\u2216"})


def label(field: Field) -> str:
    """Give the name in words, marked where it is required."""
    return clip(inert(field.label), _LONGEST_LABEL).translate(_NO_MATHEMATICS) + " *" * field.required


def tooltip(field: Field) -> str:
    """Give the name whole, and in words whether it is required."""
    return clip(inert(field.name), 300) + (", required" if field.required else "")


def unset(field: Field) -> str:
    """Say in a control what happens when nothing is set."""
    if field.default is not None:
        return f"not sent ({clip(inert(field.default), 40)})"
    if field.rule and not field.required:
        return f"or give {clip(inert(listed(name for name in field.rule.names if name != field.name)), 60)}"
    return "required" if field.required else "not sent"


def summary(form: Form, errors: dict[str, list[str]]) -> str:
    """Say what is missing for a run."""
    if not errors:
        return ""
    fields = by_name(form.fields)
    missing = [name for name in errors if name in fields and not form.is_set(name)]
    wrong = [name for name in errors if name in fields and form.is_set(name)]
    parts = [f"give {_several(missing)}"] if missing else []
    parts += [f"fix {_several(wrong)}"] if wrong else []
    return f"To run: {'; '.join(parts)}." if parts else " ".join(text for texts in errors.values() for text in texts)


def _several(names: list[str]) -> str:
    return some([clip(inert(name), 60) for name in names], _MOST_NAMED)


def unlisted(value: Any, offers: Offers) -> list[str]:
    """Say which values the listing has nothing like; they are sent anyway, and the service decides."""
    if not len(offers):
        return []
    if isinstance(value, Each):
        items = [one for each in value.values for one in (each if isinstance(each, list) else [each])]
        # All but the last are whole: a value, or the word that one begins with, as a symbol's ticker.
        whole = [item for item in items[:-1] if isinstance(item, str) and not offers.begins(item)]
        unlike = whole + [item for item in items[-1:] if isinstance(item, str) and not offers.page(item)]
    elif isinstance(value, list):
        unlike = [item for item in value if isinstance(item, str) and item not in offers]
    else:  # as long as it may become one of them it is still typed
        unlike = [value] if isinstance(value, str) and not offers.page(value) else []
    if not unlike:
        return []
    more = len(unlike) - _MOST_NAMED
    named = [*map(quote, unlike[:_MOST_NAMED]), *([f"{more} more"] if more > 0 else [])]
    sent = "it is sent as it is" if len(unlike) == 1 else "they are sent as they are"
    return [f"The list has no {clip(listed(named), 200)}; {sent}."]


def help_html(fields: Sequence[Field]) -> str:
    """Give the help of every field, each below its control: the style sheet orders both by the field's number."""
    order = "".join(f".jf-at-{at}{{order:{2 * at}}}" for at in range(1, len(fields)))
    return f"<style>{order}</style>" + "".join(
        _placed(at, html.escape(_help(field))) for at, field in enumerate(fields)
    )


def said_html(said: Iterable[tuple[list[str], list[str]]]) -> str:
    """Give the errors of each field and what else is said of it, in the place of `help_html`'s, above it."""
    return "".join(_placed(at, _said(errors, words)) for at, (errors, words) in enumerate(said))


def _said(errors: list[str], words: list[str]) -> str:
    # An error is read out as it comes.
    wrong = "".join(f'<span class="jf-bad" role="alert">{_shown(text)}</span>' for text in dict.fromkeys(errors))
    others = [text for text in dict.fromkeys(words) if text not in errors]
    return wrong + "".join(f'<span class="jf-word">{_shown(text)}</span>' for text in others)


def _shown(text: str) -> str:
    return html.escape(clip(inert(text), _LONGEST_HELP))


def _placed(at: int, inner: str) -> str:
    return f'<p style="order:{2 * at + 1}">{inner}</p>' if inner else ""


def _help(field: Field) -> str:
    text = field.brief
    if field.rule:  # said by the form itself, on every field of the rule
        text = text.replace(field.rule.text, "").strip()
    parts = [clip(inert(text), _LONGEST_HELP)]
    if field.default is not None and default_of(field) is None:
        why = "none of its options" if field.options else "no valid value of it"
        parts.append(f"Its default {quote(field.default)} is {why}.")
    return " ".join(part for part in parts if part)
