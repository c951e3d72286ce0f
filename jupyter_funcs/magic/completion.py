"""
Tab: subcommands, options, functions, parameters and values, from what is known already; no request is sent.

`complete_line`, `complete_body` and `complete_python` each read one kind of text before the cursor and offer what fits.
They evaluate no code of the user's: names are looked up and literals are read.
"""

from __future__ import annotations

import re
import sys
from itertools import islice
from typing import TYPE_CHECKING

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult

from jupyter_funcs.magic.candidates import NOTHING, Offer
from jupyter_funcs.magic.complete_body import in_body
from jupyter_funcs.magic.complete_line import in_line
from jupyter_funcs.magic.complete_python import in_python
from jupyter_funcs.magic.partial import PartialCode

if TYPE_CHECKING:
    from jupyter_funcs.magic.state import MagicState

_LINE = re.compile(r"\s*+(?:[^%=#'\"]+=\s*)?%funcs\s(?P<line>.*)")
_CELL = re.compile(r"\s*%%funcs\s(?P<line>[^\n]*)(?P<body>\n.*)?", re.DOTALL)
_LONGEST_CODE = 20_000  # before the cursor; a call that began earlier isn't completed


def complete(context: CompletionContext, state: MagicState) -> SimpleMatcherResult:
    """Return the result of an IPython matcher (version 2 of its API); an error inside it offers nothing."""
    completions: list[SimpleCompletion] = []
    try:
        offer = _offer(context, state)
        if offer is not None:
            begin = offer.compared.casefold()
            fitting = (
                SimpleCompletion(one.written, type=offer.kind)
                for one in offer.candidates
                if one.compared.casefold().startswith(begin) and one.written.isprintable()
            )
            completions = list(islice(fitting, context.limit))
    except Exception:  # noqa: BLE001  # a traceback at Tab is worse than no completion
        offer = None
    if offer is None:
        return {"completions": []}
    if not completions and offer.only:
        # IPython obeys `suppress` only if there is a completion: an empty one hides Python's names.
        return {"completions": [SimpleCompletion("")], "matched_fragment": "", "suppress": True}
    return {"completions": completions, "matched_fragment": offer.typed, "suppress": offer.alone, "ordered": True}


def _offer(context: CompletionContext, state: MagicState) -> Offer | None:
    lines = context.full_text.split("\n")
    line, column = lines[context.cursor_line], context.cursor_position
    before = "\n".join([*lines[: context.cursor_line], line[:column]])
    after = "\n".join([line[column:], *lines[context.cursor_line + 1 :]])
    if found := _CELL.fullmatch(before):
        if found["body"] is None:
            return in_line(found["line"], line[column:], state, is_cell=True)
        return (in_body(found["line"], found["body"][1:], after, state) or NOTHING)._replace(only=True)
    if found := _LINE.fullmatch(line[:column]):
        return in_line(found["line"], line[column:], state)
    # Before this module is imported there is no session to complete.
    if "jupyter_funcs.api" not in sys.modules:
        return None
    return in_python(PartialCode(before[-_LONGEST_CODE:], after), state.namespace)
