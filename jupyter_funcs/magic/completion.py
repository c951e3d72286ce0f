"""
Tab: commands, options, functions, parameters and values, from what is known already; a service is never asked.

The text before the cursor is read into a place (a command, a function, an argument's name or its value), and the place
gives the candidates. Nothing of the user's is evaluated: names are looked up, literals are read.
"""

from __future__ import annotations

import re
import sys
from itertools import islice
from typing import TYPE_CHECKING

from IPython.core.completer import SimpleCompletion

from jupyter_funcs.brackets import Code
from jupyter_funcs.tab_bodies import in_body
from jupyter_funcs.tab_lines import in_line
from jupyter_funcs.tab_offers import NOTHING
from jupyter_funcs.tab_python import in_python

if TYPE_CHECKING:
    from IPython.core.completer import CompletionContext, SimpleMatcherResult

    from jupyter_funcs.magic import FuncsMagics
    from jupyter_funcs.tab_offers import Offer

_LINE = re.compile(r"\s*(?:[^%=#'\"]+=\s*)?%funcs\s(?P<line>.*)")
_CELL = re.compile(r"\s*%%funcs\s(?P<line>[^\n]*)(?P<body>\n.*)?", re.DOTALL)
_LONGEST_CODE = 20_000  # what stands further above the cursor holds no call that is still open


def complete(context: CompletionContext, magics: FuncsMagics) -> SimpleMatcherResult:
    """
    Give a matcher's result, as version 2 of IPython's API has it, made anew; where it fails it offers nothing.

    IPython heeds `suppress` only where there is a completion: where nothing fits, neither do Python's names, and an
    empty text at the cursor keeps them away.
    """
    completions: list[SimpleCompletion] = []
    try:
        offer = _offer(context, magics)
        if offer is not None:
            begin = offer.compared.casefold()
            fitting = (
                SimpleCompletion(one.written, type=offer.kind)
                for one in offer.candidates
                if one.compared.casefold().startswith(begin) and one.written.isprintable()
            )
            completions = list(islice(fitting, context.limit))
    except Exception:  # noqa: BLE001  # a Tab that shows a traceback is worse than one that shows nothing
        offer = None
    if offer is None:
        return {"completions": []}
    if not completions and offer.only:
        return {"completions": [SimpleCompletion("")], "matched_fragment": "", "suppress": True}
    return {"completions": completions, "matched_fragment": offer.typed, "suppress": offer.alone, "ordered": True}


def _offer(context: CompletionContext, magics: FuncsMagics) -> Offer | None:
    lines = context.full_text.split("\n")
    line, column = lines[context.cursor_line], context.cursor_position
    before = "\n".join([*lines[: context.cursor_line], line[:column]])
    after = "\n".join([line[column:], *lines[context.cursor_line + 1 :]])
    if found := _CELL.fullmatch(before):
        if found["body"] is None:
            return in_line(found["line"], line[column:], magics, is_cell=True)
        return (in_body(found["line"], found["body"][1:], after, magics) or NOTHING)._replace(only=True)
    if found := _LINE.fullmatch(line[:column]):
        return in_line(found["line"], line[column:], magics)
    # There is no session before its room is imported, and then no work for this Tab.
    if f"{__package__}.session" not in sys.modules:
        return None
    return in_python(Code(before[-_LONGEST_CODE:], after), magics.namespace)
