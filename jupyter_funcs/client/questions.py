"""What a source asks the user during a run: as a form, and as questions in a cell or a terminal."""

from __future__ import annotations

import sys
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_funcs.catalog.fields import Field, read_fields
from jupyter_funcs.catalog.form import Form
from jupyter_funcs.catalog.listing import Encoding, Function, Param
from jupyter_funcs.client import notebook
from jupyter_funcs.core import background
from jupyter_funcs.core.json_decoding import only
from jupyter_funcs.core.line import Entered
from jupyter_funcs.core.text import inert, listed

if TYPE_CHECKING:
    from jupyter_funcs.client.jobs import Job
    from jupyter_funcs.core.background import Question

_POLL = 0.1  # seconds
_MOST_SHOWN = 20  # options
_NO = {"n", "no", "decline"}


class _Asked(NamedTuple):
    name: str
    fields: tuple[Field, ...]


def form_of(question: Question) -> Form:
    """Return a form for the values that are asked for, whose labels are their titles."""
    properties = only(dict, question.schema.get("properties"))
    required = only(list, question.schema.get("required"))
    params = [
        Param(
            name=name,
            description=only(str, only(dict, schema).get("description")),
            required=name in required,
            schema=schema,
            encoding=Encoding.JSON,
        )
        for name, schema in properties.items()
    ]
    fields = read_fields(Function(name=question.source, params=tuple(params)))
    titles = {
        name: only(str, only(dict, schema).get("title"))
        for name, schema in properties.items()
    }
    titled = tuple(
        replace(field, label=titles[field.name] or field.label) for field in fields
    )
    form = Form(_Asked(question.source, titled))
    form.shows_labels = True
    return form


def can_ask() -> bool:
    """Return whether there is a person who can answer in this thread: in a cell, or in a terminal."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and (notebook.is_interactive() or sys.stdin.isatty())


def answer_while(job: Job) -> None:
    """Wait for the end of a run, and answer what it asks the user meanwhile."""
    end = background.end_of(job.future)
    while not end.acquire(timeout=_POLL):
        question = job.progress.question
        if question and not question.answer.done():
            question.answer.set_result(_answers(question))


def _answers(question: Question) -> dict[str, Any] | None:
    """Ask for the values one by one; return ``None`` if the user declines or can't answer."""
    # Above the prompts, in the output of the cell.
    print(f"{inert(question.source)} asks: {question.text}")  # noqa: T201
    form = form_of(question)
    try:
        for field in form.fields:
            _ask_for(form, field)
        action = "Send"
        if question.link:
            action = f"Open {inert(question.link)} and continue"
        reply = input(f"{action}? [Y/n] ")
    except (EOFError, RuntimeError):
        # ipykernel's StdinNotImplementedError is one: nobody can answer.
        return None

    if reply.strip().casefold() in _NO:
        return None
    return form.args


def _ask_for(form: Form, field: Field) -> None:
    """Ask for one value until it is valid, or left out where that is allowed."""
    about = []
    if field.options:
        about = [f"({listed(field.options[:_MOST_SHOWN], 'or')})"]
    if field.default is not None:
        about.append(f"[{field.default}]")
    prompt = inert(" ".join([field.label, *about]))
    while True:
        text = input(f"{prompt}: ")
        if text.strip():
            form[field.name] = Entered(text)
        errors = form.errors.get(field.name)
        if not errors:
            return
        print(inert(errors[0]))  # noqa: T201  # above the next prompt
