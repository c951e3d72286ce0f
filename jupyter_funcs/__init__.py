"""
A team's function catalog in the notebook: a form, a callable and a DataFrame for every function.

>>> import jupyter_funcs as jf
>>> funcs = jf.connect()                                  # without an account: the demo, with synthetic data
>>> funcs.find("panel daily")
>>> df = funcs.get_panel_daily(PanelName="…", Symbol="…")
>>> funcs.panel("Get Panel Daily")                        # the same as a form

In IPython, ``%load_ext jupyter_funcs`` and then ``%funcs``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_funcs.api import Session, connect, kept
    from jupyter_funcs.catalog.form import Form
    from jupyter_funcs.client.jobs import Job
    from jupyter_funcs.core.errors import (
        ArgumentError,
        AuthenticationError,
        CircuitOpenError,
        ConfigError,
        DeadlineError,
        FuncsError,
        FunctionError,
        NotFoundError,
        PermissionDeniedError,
        ProtocolError,
        RateLimitError,
        ReplyTooLargeError,
        RunCancelledError,
        ServerError,
        ServiceConnectionError,
    )
    from jupyter_funcs.frames.diff import diff
    from jupyter_funcs.frames.frame import to_frame

# Imported on first use, so that `%load_ext` costs next to nothing.
_MODULES = {
    "Form": "catalog.form",
    "Job": "client.jobs",
    "Session": "api",
    "connect": "api",
    "diff": "frames.diff",
    "kept": "api",
    "to_frame": "frames.frame",
}
__all__ = [
    "ArgumentError",
    "AuthenticationError",
    "CircuitOpenError",
    "ConfigError",
    "DeadlineError",
    "Form",
    "FuncsError",
    "FunctionError",
    "Job",
    "NotFoundError",
    "PermissionDeniedError",
    "ProtocolError",
    "RateLimitError",
    "ReplyTooLargeError",
    "RunCancelledError",
    "ServerError",
    "ServiceConnectionError",
    "Session",
    "connect",
    "diff",
    "kept",
    "to_frame",
]


def load_ipython_extension(ip: InteractiveShell) -> None:
    """Add ``%funcs`` and ``%%funcs``, with Tab completion, to a running IPython."""
    from jupyter_funcs.magic import extension

    extension.of(ip).load()


def unload_ipython_extension(ip: InteractiveShell) -> None:
    """Remove ``%funcs``, ``%%funcs`` and their Tab completion, and restore what they replaced."""
    from jupyter_funcs.magic import extension

    extension.of(ip).unload()


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("jupyter-funcs")
    if name not in __all__:
        from jupyter_funcs.core.text import did_you_mean

        hint = "" if name.startswith("_") else did_you_mean(name, __all__)
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}. {hint}".rstrip()
        )

    return getattr(
        importlib.import_module(f"{__name__}.{_MODULES.get(name, 'core.errors')}"), name
    )


def __dir__() -> list[str]:
    # Without subpackages, which become attributes when they are imported.
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
