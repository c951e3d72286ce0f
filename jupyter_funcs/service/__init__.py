"""
The local service: a function catalog and its execution behind an ASGI application.

The client talks to it over HTTP only; both use `core` and `functions`. `embedded` starts the demo service with
synthetic data; `create_app` serves your own functions, published with `function` and the markers. Each name is imported
on use.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jupyter_funcs.functions.markers import (
        AtLeastOne,
        Between,
        Help,
        ListedBy,
        Options,
    )
    from jupyter_funcs.service.builtin.demo import Embedded, embedded
    from jupyter_funcs.service.engine.calls import Call
    from jupyter_funcs.service.publishing.registry import function
    from jupyter_funcs.service.web.app import create_app

# Without a handler, the stack trace of a failed function would be printed in the notebook.
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

_MODULES = {
    "Call": ".engine.calls",
    "Embedded": ".builtin.demo",
    "create_app": ".web.app",
    "embedded": ".builtin.demo",
    "function": ".publishing.registry",
    **dict.fromkeys(
        ("AtLeastOne", "Between", "Help", "ListedBy", "Options"),
        "jupyter_funcs.functions.markers",
    ),
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
