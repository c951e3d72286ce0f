"""What a person does with the panel on a page, and what they look for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

LOAD = "%load_ext jupyter_funcs"
# A panel whose runs take so many seconds.
SLOW = """import asyncio, httpx, jupyter_funcs as jf
from jupyter_funcs.service import embedded
inner = embedded()
async def app(scope, receive, send):
    if scope["path"].endswith("runFunction"):
        await asyncio.sleep({seconds})
    await inner.app(scope, receive, send)
slow = jf.connect("https://service.example", token=inner.token, transport=httpx.ASGITransport(app))
panel = slow.panel("Get Panels")
panel"""
# The embedded service, where the runs of one panel data set never end.
STUCK = """import asyncio, httpx, jupyter_funcs as jf
from jupyter_funcs.service import embedded
inner = embedded()
class Stuck(httpx.ASGITransport):
    async def handle_async_request(self, request):
        body = await request.aread()
        if b"Get Panel Daily" in body and b"Debit" in body:
            await asyncio.sleep(600)
        return await super().handle_async_request(request)
funcs = jf.connect("https://service.example", token=inner.token, transport=Stuck(inner.app))"""
FRESH = "panel = funcs.panel()\npanel"


def wait_for_state(page: Page, state: str, run: int) -> None:
    """Wait until the panel says this state of this run."""
    # Attached and not visible: a long notebook takes the cells out of sight off the page's layout.
    wanted = f'.jf-status[data-state="{state}"][data-run="{run}"]'
    page.wait_for_selector(wanted, timeout=60_000, state="attached")


def run_python(page: Page, code: str) -> str:
    """Run code in the notebook's kernel and give what it printed."""
    said: Any = page.evaluate(
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
    return str(said).strip()


def start_python(page: Page, code: str) -> None:
    """Start code in the notebook's kernel, and do not wait for it."""
    page.evaluate(
        """code => {
            const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
            kernel.requestExecute({code});
        }""",
        code,
    )


def choose(page: Page, words: str, name: str) -> None:
    """Search a function and open it."""
    page.locator(".jf-search input").fill(words)
    page.locator(".jf-search input").press("Enter")
    expect(page.locator(".jf-title")).to_have_text(name)


def open_tab(page: Page, title: str) -> None:
    """Open a tab of the result."""
    page.locator(".jf-results").get_by_role("tab", name=title, exact=True).click()


def turn_dark(page: Page) -> None:
    """Give JupyterLab or Notebook its dark theme."""
    page.evaluate("window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})")
    expect(page.locator("body[data-jp-theme-light=false]")).to_be_attached()


def turn_light(page: Page) -> None:
    """Give JupyterLab or Notebook its light theme."""
    page.evaluate("window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Light'})")
    expect(page.locator("body[data-jp-theme-light=true]")).to_be_attached()
