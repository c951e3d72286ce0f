"""The run as code to take away: a magic, Python, and curl; each with a button that copies it."""

from __future__ import annotations

import html
from contextlib import suppress
from typing import TYPE_CHECKING

from jupyter_funcs.client.snippets import curl, magic, python
from jupyter_funcs.core.errors import FuncsError

if TYPE_CHECKING:
    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.panel.shared.outcome import Outcome

# Core widgets have no clipboard. This is the same text for every button: nothing of a run stands in it. Where the page
# may not use the clipboard (no https, an old browser), the text is selected and copied as a person would; where it may
# run nothing at all, a click into the text selects the whole of it.
_COPY = (
    "const b=this,p=b.parentElement.nextElementSibling,"
    "d=()=>{b.textContent='Copied';setTimeout(()=>{b.textContent='Copy'},2000)},"
    "s=()=>{const r=document.createRange(),g=getSelection();r.selectNodeContents(p);g.removeAllRanges();g.addRange(r);"
    "if(document.execCommand('copy'))d()};"
    "navigator.clipboard?navigator.clipboard.writeText(p.textContent).then(d,s):s()"
)

_FIRST = "# The first of the runs: a request is one run.\n"


def code_blocks(outcome: Outcome) -> str:
    """Give the HTML of the three texts, each under its name with its button; of a sweep curl sends the first run."""
    function, args, swept = outcome.function, outcome.args, outcome.swept
    sweeps = bool(swept)
    first: Args = {name: value[0] if name in swept else value for name, value in args.items()}
    blocks = {
        "Magic": magic(function, args, sweeps=sweeps),
        "Python": python(function, args, outcome.where, sweeps=sweeps),
    }
    with suppress(FuncsError):  # of a run that failed
        if command := curl(function, first):
            blocks["curl"] = f"{_FIRST * sweeps}{command}"
    no_curl = "" if "curl" in blocks else '<div class="jf-quiet">No curl: a run is not a single HTTP request.</div>'
    return "".join(_block(name, text) for name, text in blocks.items()) + no_curl


def _block(name: str, text: str) -> str:
    button = f'<button type="button" class="jf-copy" aria-label="Copy the {name} code" onclick="{_COPY}">Copy</button>'
    code = f'<pre tabindex="0" aria-label="{name} code">{html.escape(text)}</pre>'
    return f'<div class="jf-block"><div class="jf-block-head"><b>{name}</b>{button}</div>{code}</div>'
