"""The run as code to take away: a magic, Python, and curl; each with a button that copies it."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, ClassVar

import ipywidgets as w

from jupyter_funcs.client.snippets import curl, magic, python

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.panel.shared.outcome import Outcome
    from jupyter_funcs.panel.shared.parts import Guard

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


class CodeTab(w.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """A run, or what a form holds, as code."""

    title: ClassVar[str] = "Code"

    def __init__(self, guard: Guard) -> None:  # noqa: ARG002  # every tab takes it; this one calls nothing back
        layout = w.Layout()
        self._html = w.HTML(layout=layout)
        super().__init__([self._html], layout=layout, _dom_classes=("jf-code-tab",))

    async def show(self, outcome: Outcome | None) -> None:
        """Show a run; ``None`` empties it. On the background loop, which does all its writes."""
        if outcome is None:
            self._html.value = '<div class="jf-empty">Run the function to see its code.</div>'
        else:
            self.show_call(outcome.function, outcome.args, where=outcome.where, swept=outcome.swept)

    def show_call(
        self,
        function: RemoteCall,
        args: Args,
        variables: Mapping[str, str] | None = None,
        where: str | None = None,
        swept: Sequence[str] = (),
    ) -> None:
        """Show the call with these arguments, run or not."""
        where = function.session.where if where is None else where
        self._html.value = code_blocks(function, args, variables, where, swept)


def code_blocks(
    function: RemoteCall,
    args: Args,
    variables: Mapping[str, str] | None,
    where: str,
    swept: Sequence[str] = (),
) -> str:
    """Give the HTML of the three texts, each under its name with its button; of a sweep curl sends the first run."""
    sweeps = bool(swept)
    first: Args = {name: value[0] if name in swept else value for name, value in args.items()}
    return "".join(
        _block(name, text)
        for name, text in (
            ("Magic", magic(function, args, variables, sweeps=sweeps)),
            ("Python", python(function, args, where, variables, sweeps=sweeps)),
            ("curl", f"{_FIRST * sweeps}{curl(function, first)}"),
        )
    )


def _block(name: str, text: str) -> str:
    button = f'<button type="button" class="jf-copy" aria-label="Copy the {name} code" onclick="{_COPY}">Copy</button>'
    code = f'<pre tabindex="0" aria-label="{name} code">{html.escape(text)}</pre>'
    return f'<div class="jf-block"><div class="jf-block-head"><b>{name}</b>{button}</div>{code}</div>'
