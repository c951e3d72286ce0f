"""What a panel leaves in the saved notebook, as HTML that needs no kernel, no script and no style sheet."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from jupyter_funcs import calls
from jupyter_funcs.sweep_words import value_text
from jupyter_funcs.text import clip, inert
from jupyter_funcs.view import shape_text, table_html

if TYPE_CHECKING:
    from jupyter_funcs.outcome import Outcome

_MOST_ROWS = 5  # at the top, and as many at the end
_MOST_COLUMNS = 12
_LONGEST = 60_000
_LONGEST_VALUE = 400
_CALL = "df = %funcs call"
_SWEEP = "df = %funcs sweep"


def reopen_html(name: str) -> str:
    """Say how to get the panel back; `name` is that of the function that it had."""
    return f"<p><b>{_shown(name) if name else 'Functions'}</b>: run this cell to open the panel.</p>"


def left_html(outcome: Outcome, mark: str) -> str:
    """
    Give a run as it stays in the notebook: what, with which arguments, when, where it is kept, and its first rows.

    Parameters
    ----------
    outcome
        The run.
    mark
        A class of it, by which the panel hides it while it is there itself.
    """
    frame = outcome.frame
    args = ", ".join(f"{_shown(name)} = {_shown(value_text(value))}" for name, value in outcome.args.items())
    session = outcome.function.session
    said = [
        f"<b>{_shown(outcome.function.name)}</b>{f' with {args}' if args else ''}",
        f"{shape_text(frame)}, {outcome.started:%Y-%m-%d %H:%M} UTC, {_shown(session.service)}"
        + ", synthetic data" * outcome.function.synthetic,
    ]
    if outcome.variable:
        said.append(f"The DataFrame was kept as <code>{_shown(outcome.variable)}</code>.")
    again = calls.magic(outcome.function, outcome.args, sweeps=bool(outcome.swept))
    command = _SWEEP if outcome.swept else _CALL
    if again.startswith(command) and len(again) <= _LONGEST_VALUE:  # a long one would be cut, and open nothing
        filled = again.replace(command, "%funcs panel", 1)
        said.append(f"<code>{_shown(filled)}</code> opens the panel with these values.")
    part = frame.iloc[:, :_MOST_COLUMNS]
    cut = len(part) > 2 * _MOST_ROWS
    shown = part.iloc[[*range(_MOST_ROWS), *range(len(part) - _MOST_ROWS, len(part))]] if cut else part
    table = table_html(shown)
    if cut or frame.shape[1] > _MOST_COLUMNS:
        what = [f"the first and last {_MOST_ROWS} rows"] * cut
        what += [f"the first {_MOST_COLUMNS} columns"] * (frame.shape[1] > _MOST_COLUMNS)
        said.append(f"Of the result: {' and '.join(what)}.")
    # On the cells: a page's own style for cells would win over one around them.
    table = table.replace("<td", '<td style="white-space: nowrap"')
    table = table if len(table) <= _LONGEST else "<p>Its rows are too long to be kept here.</p>"
    table = f'<div style="overflow-x: auto">{table}</div>'
    return f'<div class="{html.escape(mark)}"><p>{"<br>".join(said)}</p>{table}</div>'


def _shown(text: str) -> str:
    return html.escape(clip(inert(text), _LONGEST_VALUE))
