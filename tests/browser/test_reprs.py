"""What cells show without the panel, as pictures to look at: tables, jobs, errors, the session, a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.steps import PICTURES

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    from tests.browser.fronts import Front

WIDTHS = (700, 1250)
VALUES = 'PanelName="Demo Card Panel"'
# Each with the name of its picture; what fails stops no other.
CELLS = {
    "load": "%load_ext jupyter_funcs\n%xmode Context",
    "status": "%funcs status",
    "find": "%funcs find panel",
    "find-none": "%funcs find zzz",
    "describe": "%funcs describe get_panel_daily",
    "describe-none": "%funcs describe get_panels",
    "history-none": "%funcs history",
    "session": "import jupyter_funcs as jf\nfuncs = jf.connect()\nfuncs",
    "function": "fn = funcs.get_panel_daily\nfn",
    "form": f"jf.Form(fn, {VALUES})",
    "params": "fn.params",
    "fields": "fn.fields",
    "call": f'df = fn({VALUES}, Symbol="BKQU US EQUITY", Dimensions=["Region"])\ndf',
    "call-short": "%funcs call get_panels",
    "job": f'job = fn.submit({VALUES}, Symbol="BKQU US EQUITY")\njob',
    "job-done": "job.result()\njob",
    "job-failed": 'bad = fn.submit(PanelName="Demo Card Panel", Symbol="NOPE")\ntry:\n    bad.result()\n'
    "except jf.FuncsError:\n    pass\nbad",
    "error-missing": f"fn({VALUES})",
    "error-value": f'fn({VALUES}, Symbol="NOPE US EQUITY")',
    "error-name": "funcs['Get Panel Dail']",
    "error-line": "%funcs call get_panel_daily PanelName=Demo Card Panel",
    "sweep": f'swept = fn.sweep(Symbol=["BKQU US EQUITY", "NOPE US EQUITY"], {VALUES})\nswept.head(3)',
    "sweep-errors": 'swept.attrs["errors"]',
    "sweep-job": f'sweeping = fn.start_sweep(dict(Symbol=["BKQU US EQUITY", "CLQM US EQUITY"], {VALUES}))'
    "\nsweeping.result()\nsweeping",
    "history": "%funcs history",
    "again": "%funcs again 2",
    "cache": "%funcs cache",
    "lock": "%funcs lock get_panel_daily",
    "lock-check": "%funcs lock --check",
    "dry-run": '%funcs call get_panel_daily PanelName="Demo Card Panel" Symbol="BKQU US EQUITY" --dry-run',
    "diff": "jf.diff(df, df.head(20))",
    "refresh": "%funcs refresh",
    "lasterror": "%funcs lasterror",
    "help": "%funcs --help",
    "help-call": "%funcs call --help",
}


@pytest.mark.slow
def test_the_reprs_in_pictures(fronts: Callable[[str], Front], open_in: Callable[..., Page]) -> None:
    """Every cell ends and shows something, in the light and in the dark, and a table keeps to its cell."""
    page = open_in(fronts("notebook"), *CELLS.values())
    PICTURES.mkdir(exist_ok=True)
    cells = page.locator(".jp-CodeCell")
    expect(cells).to_have_count(len(CELLS))
    page.set_viewport_size({"width": 1250, "height": 9000})
    for at in range(len(CELLS)):  # one by one: an error ends a run of all
        if "[ ]" in cells.nth(at).locator(".jp-InputPrompt").inner_text():
            page.evaluate(_RUN, at)
        expect(cells.nth(at).locator(".jp-InputPrompt")).not_to_contain_text("*", timeout=60_000)
        expect(cells.nth(at).locator(".jp-InputPrompt")).not_to_have_text("[ ]:", timeout=60_000)
    for theme in ("Dark", "Light"):
        page.evaluate(f"window.jupyterapp.commands.execute('apputils:change-theme', {{theme: 'JupyterLab {theme}'}})")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 14_000})
            page.wait_for_timeout(1500)
            page.locator(".jp-Notebook").screenshot(path=PICTURES / f"reprs-{theme.lower()}-{width}.png")


_RUN = """async at => {
    const { content } = window.jupyterapp.shell.currentWidget;
    content.deselectAll();
    content.activeCellIndex = at;
    await window.jupyterapp.commands.execute('notebook:run-cell');
}"""
