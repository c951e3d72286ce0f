"""
A team's function catalog in the notebook: a form, a callable and a DataFrame for every listed function.

>>> import jupyter_funcs as jf
>>> funcs = jf.connect()                                  # no account: the embedded demo, with synthetic data
>>> funcs.find("panel daily")
>>> df = funcs.get_panel_daily(PanelName="…", Symbol="…")
>>> funcs.panel("Get Panel Daily")                        # the same as a form

In IPython, ``%load_ext jupyter_funcs`` and then ``%funcs``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx
    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_funcs.comparing import diff
    from jupyter_funcs.errors import (
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
    from jupyter_funcs.forms import Form
    from jupyter_funcs.frame import to_frame
    from jupyter_funcs.jobs import Job
    from jupyter_funcs.session import Session

__version__ = "0.1.0"

# Imported on first use: `%load_ext` must cost next to nothing in a running kernel.
_ROOMS = {
    "Form": "forms",
    "Job": "jobs",
    "Session": "session",
    "diff": "comparing",
    "to_frame": "frame",
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
    "to_frame",
]


def connect(
    where: str | None = None,
    *,
    token: str | Callable[[], str] | None = None,
    api_key: str | None = None,
    transport: httpx.AsyncBaseTransport | httpx.BaseTransport | None = None,
) -> Session:
    """
    Give a session: the environment's service, else a profile's, else the embedded demo with synthetic data.

    Nothing is sent yet. Where the demo is taken although ``FUNCS_CONFIG`` names a file, which does not exist, a warning
    says so.

    Parameters
    ----------
    where
        The address of a service (``https://…``), or the name of a profile.
    token
        A bearer token, or a callable that gives one and is asked for each request.
    api_key
        An API key, sent as ``X-Api-Key`` in place of a token.
    transport
        Any httpx transport in place of the network.

    Raises
    ------
    ConfigError
        The address, the profile or the token is not usable, or nothing is configured and the embedded service is
        not installed.
    """
    from jupyter_funcs.config import Connection, Secret, absent_config, resolve  # noqa: PLC0415  # see _ROOMS
    from jupyter_funcs.session import Session  # noqa: PLC0415  # see _ROOMS
    from jupyter_funcs.tokens import Constant  # noqa: PLC0415  # see _ROOMS

    connection = resolve(where, token, api_key)
    if connection is not None:
        return Session(connection, transport)

    from jupyter_funcs.errors import ConfigError  # noqa: PLC0415  # see _ROOMS
    from jupyter_funcs.notices import warn  # noqa: PLC0415  # see _ROOMS

    try:
        import httpx  # noqa: PLC0415  # see _ROOMS

        from jupyter_funcs.service import embedded  # noqa: PLC0415  # upwards: the demo is met over its wire only

        demo = embedded()
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"No service is configured, and the embedded demo is not installed ({error.name} is missing).",
            "Set FUNCS_BASE_URL and FUNCS_TOKEN, or: pip install 'jupyter-funcs[service]'.",
        ) from None
    if absent := absent_config():
        warn(f"{absent}: this is the demo, with synthetic data.")
    return Session(
        Connection("demo", "http://localhost", Constant(Secret(demo.token)), synthetic=True),
        httpx.ASGITransport(demo.app, raise_app_exceptions=False) if transport is None else transport,
    )


def load_ipython_extension(ip: InteractiveShell) -> None:
    """Add ``%funcs`` and ``%%funcs``, and Tab within them, to a running IPython."""
    from jupyter_funcs import extension  # noqa: PLC0415  # see _ROOMS

    extension.of(ip).load()


def unload_ipython_extension(ip: InteractiveShell) -> None:
    """Take ``%funcs``, ``%%funcs`` and their Tab away again, and put back what they replaced."""
    from jupyter_funcs import extension  # noqa: PLC0415  # see _ROOMS

    extension.of(ip).unload()


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_ROOMS.get(name, 'errors')}"), name)


def __dir__() -> list[str]:
    # Without the rooms, which stand here once they are imported.
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
