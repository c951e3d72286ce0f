"""
The local service: a function catalog and its execution behind an ASGI application.

It imports nothing from the client and is met only over its wire. `embedded` gives the demo service, which computes over
synthetic data; `create_app` serves functions of one's own, which `function` and the markers beside it publish. All are
imported on first use. The rooms, grouped by what they are about, stand in the table of ``tests/test_imports.py``.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .app import create_app
    from .demo import Embedded, embedded
    from .engine import Call
    from .markers import AtLeastOne, Between, Help, ListedBy, Options
    from .registry import function

# Who wants the log attaches a handler; without one, a failed function's stack trace would land in the notebook.
logging.getLogger(__name__).addHandler(logging.NullHandler())

__all__ = [
    "AtLeastOne",
    "Between",
    "Call",
    "Embedded",
    "Help",
    "ListedBy",
    "Options",
    "create_app",
    "embedded",
    "function",
]

_HOMES = {
    "Call": ".engine",
    "Embedded": ".demo",
    "create_app": ".app",
    "embedded": ".demo",
    "function": ".registry",
    **dict.fromkeys(("AtLeastOne", "Between", "Help", "ListedBy", "Options"), ".markers"),
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
