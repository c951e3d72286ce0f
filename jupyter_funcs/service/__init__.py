"""
The local service: a function catalog and its execution behind an ASGI application.

It imports nothing from the client and is met only over its wire. `embedded` gives the demo service, which computes over
synthetic data; `create_app` and `function` serve functions of one's own. All are imported on first use.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .app import create_app
    from .demo import Embedded, embedded
    from .registry import function

# Who wants the log attaches a handler; without one, a failed function's stack trace would land in the notebook.
logging.getLogger(__name__).addHandler(logging.NullHandler())

__all__ = ["Embedded", "create_app", "embedded", "function"]

_HOMES = {"Embedded": ".demo", "create_app": ".app", "embedded": ".demo", "function": ".registry"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
