"""What a panel leaves in the saved notebook: the last result as HTML, hidden while the panel itself is there."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from jupyter_funcs.client import snippets
from jupyter_funcs.core.text import clip, inert
from jupyter_funcs.frames.display import ends, shape_text, table_html
from jupyter_funcs.sweeps.messages import value_text

if TYPE_CHECKING:
    from jupyter_funcs.panel.outcome import Outcome


_MOST_ROWS = 5  # at the top, and as many at the end
_MOST_COLUMNS = 12
_LONGEST = 60_000
_LONGEST_VALUE = 400


def reopen_html(name: str) -> str:
    """Say how to get the panel back; `name` is that of the function that it had."""
    what = "run this cell to open the panel. This is shown where there is none, or where the page blocks its script."
    return f"<p><b>{_shown(name) if name else 'Functions'}</b>: {what}</p>"


def still_html(name: str, outcome: Outcome | None, picture: str = "") -> str:
    """Return what is shown without the panel: how to open it, its last result, and the chart as a picture."""
    kept = "" if outcome is None else left_html(outcome, "jf-kept")
    return f'<div class="jf-still">{reopen_html(name)}{kept}{picture}</div>'


def left_html(outcome: Outcome, mark: str) -> str:
    """Return the HTML of a run that stays in the notebook: function, arguments, time, variable and first rows."""
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
    again = snippets.magic(outcome.function, outcome.args, sweeps=bool(outcome.swept))
    command = f"df = %funcs {'sweep' if outcome.swept else 'call'}"
    if again.startswith(command) and len(again) <= _LONGEST_VALUE:  # a long one would be cut, and open nothing
        filled = again.replace(command, "%funcs panel", 1)
        said.append(f"<code>{_shown(filled)}</code> opens the panel with these values.")
    shown = ends(frame.iloc[:, :_MOST_COLUMNS], 2 * _MOST_ROWS)
    cut = len(shown) < len(frame)
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
