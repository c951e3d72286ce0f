"""The panel: one widget. Python decides what to show, and the page draws it."""

from __future__ import annotations

import asyncio
import base64
import gzip
import inspect
import json
import sys
import weakref
import zlib
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from jupyter_funcs.client import notebook
from jupyter_funcs.core import background
from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.core.json_decoding import JsonObject, only
from jupyter_funcs.core.text import clip, inert
from jupyter_funcs.panel import requests, run_view
from jupyter_funcs.panel.state import GONE, PanelRuns, PanelState
from jupyter_funcs.panel.table import TableView
from jupyter_funcs.records.run import as_it_came

if TYPE_CHECKING:
    from concurrent.futures import Future

    import pandas as pd

    from jupyter_funcs.catalog.form import Form
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.client.jobs import Job
    from jupyter_funcs.panel.requests import Json, RequestKind
    from jupyter_funcs.records.history import RecordedClient

_STATIC = Path(__file__).with_name("static")
_MOST_ASKED = 200  # requests at once; a page sends a few
_LONGEST_LINE = 1_000  # of an error
_LONG = 2_000  # characters of a part of a field
# The open panels, each with the cells that made and show it.
_open: weakref.WeakKeyDictionary[Panel, list[notebook.Cell]] = (
    weakref.WeakKeyDictionary()
)

# anywidget drops every message to a model whose module has not loaded within 2 s, so that this one waits for nothing.
_UNPACK = """const unpack = async () => {
  const packed = Uint8Array.from(atob("%s"), (character) => character.charCodeAt(0));
  const script = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const { default: panel } = await import(address);
  URL.revokeObjectURL(address);
  return panel;
};
const unpacked = unpack();
export default {
  async render(view) {
    const panel = await unpacked;
    return view.signal?.aborted ? undefined : panel.render(view);
  },
};
"""


def _synced() -> Any:
    """Return a trait that the page reads."""
    return traitlets.Unicode().tag(sync=True)


class Panel(anywidget.AnyWidget):
    """
    The widget of a session.

    Parameters
    ----------
    session
        The session whose catalog it shows.
    function
        The function to open with, options and all; nothing is chosen without one.
    form
        Its form, with first values; an empty one by default.
    trusted
        Whether the page may save files and read variables. By default it may, except in Voila, where visitors see the
        page.
    output
        The variable for the result of the first values; named after the function by default.
    """

    # With the style sheet, and compressed: every panel sends it again, and front ends keep each copy.
    _esm = (
        _UNPACK
        % base64.b64encode(
            gzip.compress((_STATIC / "panel.js").read_bytes(), mtime=0)
        ).decode()
    )
    _view = _synced()
    _service = _synced()
    _options = _synced()
    _values = _synced()
    _long = _synced()
    _run = _synced()
    _result = _synced()
    _tab = _synced()
    recipe = traitlets.Unicode(
        "panel.result()",
        help="The code of a run's DataFrame where no variable holds it.",
    )

    def __init__(
        self,
        session: RecordedClient[RemoteCall],
        function: RemoteCall | None = None,
        form: Form | None = None,
        *,
        trusted: bool | None = None,
        output: str = "",
    ) -> None:
        trusted = not notebook.is_public() if trusted is None else trusted
        self._is_open = False
        # Requests being answered, with their kinds.
        self._asked: dict[Future[None], RequestKind | None] = {}
        runs = PanelRuns(session, self._publish, self._tell, lambda: self.recipe)
        self._state = PanelState(runs, trusted)
        _close_earlier(self._state.cell)
        if function:
            self._state.enter(function, form, output)
        super().__init__(**self._texts())
        self._is_open = True
        _open[self] = [self._state.cell]
        # ipykernel 7.4 routes a comm's messages to the subshell that published last, where they wait for its cell.
        if hasattr(self.comm, "_reply_subshell_for"):
            self.comm._reply_subshell_for = lambda _data, default: default  # noqa: SLF001  # there is no setting
        self.on_msg(self._receive)
        notebook.watch_cells(self._state.look_at_variables)
        if session.listed is not None:
            background.start(self._state.look())

    # For notebooks

    @property
    def form(self) -> Form | None:
        """The form on the screen; ``None`` while no function is chosen."""
        return self._state.visit.form if self._state.visit else None

    def run(self) -> Job:
        """
        Run the function with the values of the form; cancel an earlier run that is still running.

        If fields have several values, this is a sweep over every combination.

        Raises
        ------
        ArgumentError
            Nothing is chosen, a value is missing or not valid (the fields say which), or the panel is closed.
        """
        if not self._is_open:
            raise ArgumentError(
                "This panel is closed.", "Open another one with funcs.panel()."
            )

        return self._state.chosen.run()

    def result(self, timeout: float | None = None) -> pd.DataFrame:
        """
        Wait for the latest run of the chosen function, and return its DataFrame once the panel shows it.

        A run requested on the page counts even if it has not started yet.

        Parameters
        ----------
        timeout
            The maximum number of seconds to wait.

        Raises
        ------
        ArgumentError
            Nothing has run yet, or the form had errors.
        FuncsError
            The run failed.
        """
        for future, kind in list(self._asked.items()):
            if kind and kind.begins:
                background.wait(future, timeout, is_shared=True)

        visit = self._state.visit
        if visit and visit.refusal:
            raise visit.refusal
        if not (visit and visit.job and visit.shown):
            raise ArgumentError(
                "This panel has no result yet.", "Press Run, or call run()."
            )

        frame = visit.job.result(timeout)
        background.wait(visit.shown)
        return as_it_came(frame, visit.job.future.reply)

    def cancel(self) -> None:
        """Cancel the current run, if there is one."""
        self._state.runs.cancel()

    def close(self) -> None:
        """Cancel the current run and close the panel; the last result stays in the notebook."""
        # ipywidgets calls this again when the object is deleted, and when Python exits.
        if self.comm is None or sys.is_finalizing():
            return

        with self._state.lock:  # finish publishing first
            self._is_open = False
        _open.pop(self, None)
        notebook.watch_cells(self._state.look_at_variables, on=False)
        self.cancel()
        self._state.close()
        self.layout.close()
        super().close()

    # Messages to the page

    def _texts(self) -> dict[str, str]:
        state = self._state
        parts = {
            "_view": state.view(),
            "_service": state.header.service(),
            "_options": {},
            "_long": {},
            "_values": None,
            "_run": state.run_state(),
            "_result": {},
        }
        if visit := state.visit:
            values = visit.values()
            parts["_options"] = visit.inputs.pages()
            parts["_long"] = _apart(values["fields"])
            parts["_values"] = values
            if visit.result:
                parts["_result"] = visit.result.view()

        return {name: _json(part) for name, part in parts.items()} | {"_tab": state.tab}

    def _publish(self) -> None:
        """Update the traits in one message; unchanged ones are not sent."""
        with self._state.lock:
            if self._is_open:
                with self.hold_sync():
                    for name, text in self._texts().items():
                        setattr(self, name, text)

    def _tell(self, event: Json) -> None:
        if self._is_open:
            self.send({"v": 1, **event})

    # Requests of the page

    def _receive(self, _: object, content: object, __: object) -> None:
        if len(self._asked) >= _MOST_ASKED:
            lines = ["The panel has too many requests. Wait a moment."]
            self._reply(content, {"error": lines})
            return

        future = background.start(self._answer(content))
        self._asked[future] = requests.kind_of(content)
        future.add_done_callback(lambda done: self._asked.pop(done, None))

    async def _answer(self, content: object) -> None:
        state = self._state
        is_news = True
        try:
            kind, fields = requests.read(content)
            tab = fields.pop("tab")
            # Before the answer, which may take longer than that of a later request.
            state.tab = tab or state.tab
            told = await self._answer_to(kind, fields)
            is_news = bool(tab) or not kind.reads
        except Exception as error:  # noqa: BLE001  # the page shows it
            lines = map(state.session.redact, run_view.lines_of(error))
            told = {"error": [clip(inert(line), _LONGEST_LINE) for line in lines]}

        self._reply(content, told)
        if is_news:
            self._publish()

    def _reply(self, content: object, told: Json) -> None:
        self._tell({"re": only(dict, content).get("id"), **told})

    async def _answer_to(self, kind: RequestKind, fields: Json) -> Json:
        """Call the method that answers a request."""
        state = self._state
        if kind.refused and not (state.trusted or fields.get("download")):
            raise ArgumentError(
                f"{kind.refused} from this page.",
                "Its author can allow it: funcs.panel(trusted=True).",
            )

        with state.lock:
            number = fields.pop("run", None)
            if number is not None and number != state.chosen.shown_result.number:
                raise ArgumentError(GONE)
            method = attrgetter(kind.path)(state)

        if isinstance(method.__self__, TableView):
            method = partial(_of_steps, method.__self__, kind.method)
        if kind.in_thread:
            reply = await asyncio.to_thread(method, **fields)
        else:
            reply = method(**fields)

        if inspect.isawaitable(reply):
            reply = await reply
        if kind.method == "chart":
            background.start(state.runs.keep_still(state.chosen))
        if isinstance(reply, str | list):
            return {kind.method: reply}
        return reply or {}

    # The saved notebook

    def _ipython_display_(self, **_: Any) -> None:
        if self._is_open:
            self._state.cell = notebook.this_cell()
            _open[self].append(self._state.cell)
            notebook.show(self._repr_mimebundle_()[0])
        notebook.publish_html(self._state.still_html(), self._state.runs.still)

    def __repr__(self) -> str:
        """Describe the panel; ipywidgets would print every trait."""
        visit = self._state.visit
        shown = inert(visit.function.name) if visit else "nothing chosen"
        ended = "" if self._is_open else " (closed)"
        return f"<Panel of {self._state.session.service}: {shown}{ended}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[JsonObject, JsonObject]:
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        return {**data, "text/plain": repr(self)}, metadata


def _of_steps(
    table: TableView, method: str, steps: requests.Steps, **fields: Any
) -> Any:
    """Call a method of the table that some steps make."""
    return getattr(table.made(steps), method)(**fields)


def _apart(fields: Json) -> Json:
    """Move long parts out of the fields and leave checksums, so that other changes don't send them again."""
    long: dict[str, Json] = {}
    for name, field in fields.items():
        for part, value in field.items():
            text = _json(value)
            if len(text) > _LONG:
                field[part] = zlib.crc32(text.encode())
                long.setdefault(name, {})[part] = value

    return long


def _close_earlier(cell: notebook.Cell) -> None:
    """Close panels of the cell's earlier execution, unless another cell shows them too."""
    for panel, cells in list(_open.items()):
        if cell.is_rerun_of(cells[0]):
            panel.cancel()
            if all(other.id == cell.id for other in cells):
                panel.close()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
