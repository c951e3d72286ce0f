"""What a person does with the panel on a page, and what they look for: by its hooks (`data-jf`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.sync_api import TimeoutError as WaitedError
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

PICTURES = Path(__file__).with_name("pictures")  # in no commit; for a person to look at
CARD = "Demo Card Panel"
DEBIT = "Demo Debit Panel"
# The embedded service; runs of the second data set never end, and some symbols have no data.
SERVICE = """import asyncio, httpx, jupyter_funcs as jf
from jupyter_funcs.service import embedded
inner = embedded()
lacking = {"CLQM US EQUITY"}
class Service(httpx.ASGITransport):
    async def handle_async_request(self, request):
        body = (await request.aread()).decode()
        if "Get Panel Daily" in body and "Debit" in body:
            await asyncio.sleep(600)
        if any(symbol in body for symbol in lacking):
            return httpx.Response(200, json={"error": "No data of this symbol today.", "body": None})
        return await super().handle_async_request(request)
funcs = jf.connect("https://service.example", token=inner.token, transport=Service(inner.app))"""
OPEN = "panel = funcs.panel()\npanel"


def at(page: Page, name: str) -> Locator:
    """Return a part of the panel by its hook."""
    return page.locator(f'[data-jf="{name}"]')


def box(page: Page, field: str) -> Locator:
    """Return the box of a field."""
    return at(page, f"field:{field}").locator("input").first


# What a failed wait prints: the state and the text of each panel, and what has the focus.
_SHOWN = """() => [...document.querySelectorAll('[data-jf="panel"]')].map(panel =>
    [panel.dataset.state, panel.dataset.run, panel.innerText].join(' ')
).concat(document.activeElement.outerHTML).join('\\n').slice(0, 3000)"""


def wait_for(page: Page, state: str, run: int | None = None) -> None:
    """Wait until the panel is in this state, of this run."""
    # Attached and not visible: a long notebook takes the cells out of sight off the page's layout.
    of_run = "" if run is None else f'[data-run="{run}"]'
    wanted = f'[data-jf="panel"][data-state="{state}"]{of_run}'
    try:
        page.wait_for_selector(wanted, state="attached")
    except WaitedError:
        shown = page.evaluate(_SHOWN)
        raise AssertionError(f"{wanted} did not come, but there is {shown}") from None


def choose(page: Page, words: str, name: str) -> None:
    """Search a function and open it, with keys alone."""
    at(page, "picker").click()
    page.keyboard.type(words)
    expect(at(page, "picker-search")).to_have_value(words)
    expect(page.locator('[role="option"]').first).to_contain_text(name)
    page.keyboard.press("Enter")
    expect(at(page, "picker")).to_contain_text(name)


def fill(page: Page, field: str, text: str) -> None:
    """Type into a field, and take what its list offers first."""
    box(page, field).click()
    page.keyboard.type(text)
    if box(page, field).get_attribute("role") == "combobox":
        expect(page.locator('[role="option"].is-on')).to_contain_text(text)
        page.keyboard.press("Enter")
    page.keyboard.press("Escape")


def run(page: Page, state: str = "done", number: int | None = None) -> None:
    """Press Run, and wait until the panel says how it ended."""
    at(page, "run").click()
    wait_for(page, state, number)


def pick(page: Page, *names: str) -> None:
    """Click one part after the other, as through a menu."""
    for name in names:
        at(page, name).click()


def run_python(page: Page, code: str) -> str:
    """Run code in the notebook's kernel and return what it printed."""
    printed: Any = page.evaluate(
        """async code => {
            const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
            const future = kernel.requestExecute({code});
            let text = '';
            future.onIOPub = message => {
                if (message.header.msg_type === 'stream') text += message.content.text;
                if (message.header.msg_type === 'error') text += message.content.evalue;
            };
            await future.done;
            return text;
        }""",
        code,
    )
    return str(printed).strip()


def start_python(page: Page, code: str) -> None:
    """Start code in the notebook's kernel, and do not wait for it."""
    page.evaluate(
        "code => void window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestExecute({code})",
        code,
    )


def save_and_reload(page: Page) -> None:
    """Save the notebook by its key, pressed in the panel, and load the page again."""
    at(page, "history").focus()
    page.keyboard.press("Control+s")
    page.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty")
    page.reload()


def turn(page: Page, theme: str) -> None:
    """Switch JupyterLab or Notebook to its Light or Dark theme."""
    page.evaluate(
        f"window.jupyterapp.commands.execute('apputils:change-theme', {{theme: 'JupyterLab {theme}'}})"
    )
    expect(
        page.locator(f"body[data-jp-theme-light={str(theme == 'Light').lower()}]")
    ).to_be_attached()
    expect(page.locator(".jf[data-dark]")).to_have_count(int(theme == "Dark"))


def look(page: Page, name: str) -> None:
    """Take a picture for a person to look at."""
    PICTURES.mkdir(exist_ok=True)
    page.screenshot(path=PICTURES / f"{name}.png")
