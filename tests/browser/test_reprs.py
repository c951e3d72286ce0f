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

VALUES = 'PanelName="Demo Card Panel"'
# What fails stops no other.
CELLS = [
    *("%load_ext jupyter_funcs\n%xmode Context", "%funcs status", "%funcs find panel"),
    *(
        "%funcs describe get_panel_daily",
        "import jupyter_funcs as jf\nfuncs = jf.connect()\nfuncs",
    ),
    *(
        "fn = funcs.get_panel_daily\nfn",
        f"jf.Form(fn, {VALUES})",
        "fn.params",
        "fn.fields",
    ),
    f'df = fn({VALUES}, Symbol="BKQU US EQUITY", Dimensions=["Region"])\ndf',
    *(f'job = fn.submit({VALUES}, Symbol="BKQU US EQUITY")\njob', "job.result()\njob"),
    f'bad = fn.submit({VALUES}, Symbol="NOPE")\ntry:\n    bad.result()\nexcept jf.FuncsError:\n    pass\nbad',
    *(
        f"fn({VALUES})",
        f'fn({VALUES}, Symbol="NOPE US EQUITY")',
        "funcs['Get Panel Dail']",
    ),
    "%funcs call get_panel_daily PanelName=Demo Card Panel",
    f'swept = fn.sweep(Symbol=["BKQU US EQUITY", "NOPE US EQUITY"], {VALUES})\nswept.attrs["errors"]',
    f'sweep = fn.start_sweep(dict(Symbol=["BKQU US EQUITY"], {VALUES}))\nsweep.result()\nsweep',
    *("%funcs history", "%funcs lock get_panel_daily"),
    '%funcs call get_panel_daily PanelName="Demo Card Panel" Symbol="BKQU US EQUITY" --dry-run',
    *("jf.diff(df, df.head(20))", "%funcs refresh", "%funcs call --help"),
]
_RUN = """async at => {
    const { content } = window.jupyterapp.shell.currentWidget;
    content.deselectAll();
    content.activeCellIndex = at;
    await window.jupyterapp.commands.execute('notebook:run-cell');
}"""


@pytest.mark.slow
def test_the_reprs_in_pictures(
    fronts: Callable[[str], Front], open_in: Callable[..., Page]
) -> None:
    """Every cell ends; in the light and in the dark, a picture shows all of them."""
    page = open_in(fronts("notebook"), *CELLS)
    PICTURES.mkdir(exist_ok=True)
    cells = page.locator(".jp-CodeCell .jp-InputPrompt")
    page.set_viewport_size({"width": 1250, "height": 9000})
    expect(cells).to_have_count(len(CELLS))
    for at in range(len(CELLS)):  # one by one: an error ends a run of all
        if "[ ]" in cells.nth(at).inner_text():
            page.evaluate(_RUN, at)
        expect(cells.nth(at)).not_to_contain_text("*")
        expect(cells.nth(at)).not_to_have_text("[ ]:")
    for theme in ("Dark", "Light"):
        page.evaluate(
            f"window.jupyterapp.commands.execute('apputils:change-theme', {{theme: 'JupyterLab {theme}'}})"
        )
        page.wait_for_timeout(1500)
        page.locator(".jp-Notebook").screenshot(
            path=PICTURES / f"reprs-{theme.lower()}.png"
        )
