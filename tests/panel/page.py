"""Send a panel the requests of a page, without a page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from jupyter_funcs.core import background

if TYPE_CHECKING:
    import pandas as pd

    from jupyter_funcs.panel.panel import Panel

NO_RESULT = {"result": None, "partial": None, "warnings": [], "more": False}


class Page:
    """The requests of a page to a panel, and the messages that it receives."""

    def __init__(self, panel: Panel) -> None:
        self.panel = panel
        self.sent: list[dict[str, Any]] = []
        panel.send = lambda content, _=None: self.sent.append(content)

    def ask(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Send a request, and return its reply."""
        number = len(self.sent) + 1
        background.run(
            self.panel._answer({"v": 1, "id": number, "kind": kind, **fields})
        )
        [reply] = [message for message in self.sent if message.get("re") == number]
        json.dumps(reply, allow_nan=False)
        return reply

    def run(self, **values: Any) -> int:
        """Run with these values, and return the number of the result."""
        assert self.ask("run", seq=1, values=values, confirmed=False)["asks"] == ""
        self.panel.result(60)
        return int(self.state("_run")["result"]["number"])

    def state(self, name: str) -> Any:
        return (
            state(self.panel)
            if name == "_run"
            else json.loads(getattr(self.panel, name))
        )

    @property
    def args(self) -> dict[str, Any]:
        """The arguments that the form would send."""
        assert self.panel.form is not None
        return self.panel.form.args


def state(panel: Panel) -> dict[str, Any]:
    """Return what a page knows of the panel's run."""
    return NO_RESULT | json.loads(panel._run) | json.loads(panel._result)


def messages(panel: Panel) -> dict[str, list[str]]:
    """Return the errors at the fields that a page shows."""
    fields = json.loads(panel._values)["fields"]
    told = {
        name: [error["text"] for error in field.get("errors", [])]
        for name, field in fields.items()
    }
    return {name: texts for name, texts in told.items() if texts}


def frame_of(panel: Panel) -> pd.DataFrame | None:
    """Return the frame that the panel shows."""
    result = panel._state.visit.result if panel._state.visit else None
    return None if result is None else result.frame
