"""What a notebook calls: `connect`, `Session` and `RemoteFunction`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_funcs.client.function import RemoteCall
from jupyter_funcs.connection.profiles import Connection, config_problem, resolve
from jupyter_funcs.connection.secrets import Secret
from jupyter_funcs.connection.tokens import Constant
from jupyter_funcs.core.errors import ArgumentError, ConfigError
from jupyter_funcs.core.warn import warn
from jupyter_funcs.records.history import RecordedClient

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType

    import httpx
    import pandas as pd

    from jupyter_funcs.catalog.listing import Function
    from jupyter_funcs.client.jobs import Job
    from jupyter_funcs.core.json_decoding import JsonObject, Values
    from jupyter_funcs.panel.panel import Panel
    from jupyter_funcs.sweeps.job import SweepJob


def connect(  # noqa: PLR0913  # each names one thing, and few calls need more than two
    where: str
    | os.PathLike[str]
    | ModuleType
    | Sequence[Callable[..., Any]]
    | None = None,
    *,
    token: str | Callable[[], str] | None = None,
    api_key: str | None = None,
    server: str | Mapping[str, str] = "",
    allow_server: str | Sequence[str] = "",
    allow_http: bool = False,
    transport: httpx.AsyncBaseTransport | httpx.BaseTransport | None = None,
) -> Session:
    """
    Return a session with a service.

    Without arguments, this is the service that the environment names, else the default profile's service, else the
    embedded demo with synthetic data.

    Returns at once. The functions are listed in the background, so that Tab knows them; if that fails, the first use
    lists them again and raises the error. Nothing is sent before the first use where the token needs you, a command, a
    keyring or a function of yours, where a command or a module has to be started first, or with a `transport`.

    Parameters
    ----------
    where
        The address of a service, an MCP server or an OpenAPI document (``https://…``); the path of a document
        (``petstore.yaml``); or the name of a profile. Or a Python module, or a list of functions, which run in threads
        of this process.
    token
        A bearer token, or a callable that returns one and is called before each request.
    api_key
        An API key, sent as ``X-Api-Key`` instead of a token.
    server
        Which of the servers of an OpenAPI document to use, by its address or its description; or the values of the
        variables in their addresses, as in ``{"tenant": "acme"}``.
    allow_server
        The address of the server that an OpenAPI document may name, if that isn't where the document comes from; or of
        your own deployment, if the document names another one; or a list of them. The token is sent there too.
    allow_http
        Whether a token may be sent unencrypted, to an address that begins with ``http://``.
    transport
        An httpx transport to use instead of the network.

    Returns
    -------
    Session
        The functions of the service.

    Raises
    ------
    ConfigError
        The address, profile or token is not valid; or nothing is configured and the demo is not installed.

    Warns
    -----
    UserWarning
        ``FUNCS_CONFIG`` names a file that doesn't exist or can't be read, so the session uses the demo.
    """
    session = _connected(
        where,
        token,
        api_key,
        transport,
        server=server,
        allow_server=allow_server,
        allow_http=allow_http,
    )
    # The demo's takes 5 ms: its engine is imported by its first run.
    if transport is None:
        session.list_early()
    return session


def kept(id: str, profile: str | None = None) -> Job:  # noqa: A002  # as a job has it
    """
    Return the job of a kept run, from any kernel.

    Parameters
    ----------
    id
        The ``id`` of the job that started it, or as ``%funcs history`` shows it.
    profile
        The profile or address of the service; by default, the one that `connect` uses.

    Raises
    ------
    NotFoundError
        You have no such run.
    """
    return _connected(profile).kept(id)


def _connected(
    where: Any,
    token: Any = None,
    api_key: str | None = None,
    transport: Any = None,
    **options: Any,
) -> Session:
    connection = resolve(where, token, api_key, **options)
    if connection:
        return Session(connection, transport)
    try:
        import httpx

        from jupyter_funcs.service import embedded

        demo = embedded()
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"No service is configured, and the embedded demo is not installed ({error.name} is missing).",
            "Set FUNCS_BASE_URL and FUNCS_TOKEN, or: pip install 'jupyter-funcs[service]'.",
        ) from None
    except OSError as error:
        raise ConfigError(
            f"The embedded demo can't be loaded: {error.strerror}.",
            "Check the disk and ulimit -n.",
        ) from None

    if problem := config_problem():
        warn(f"{problem}: using the demo, with synthetic data.")
    if transport is None:
        transport = httpx.ASGITransport(demo.app, raise_app_exceptions=False)
    token = Constant(Secret(demo.token))
    connection = Connection("demo", "http://localhost", token, synthetic=True)
    return Session(connection, transport)


class RemoteFunction(RemoteCall):
    """
    A function of the catalog: call it to get a DataFrame, or use `submit`, `sweep` or `panel`.

    Attributes
    ----------
    name, slug : str
        The wire name, and the name in Python.
    params : tuple of Param
        The parameters as the catalog lists them.
    fields : tuple of Field
        One field per parameter, in the same order: what the form, the signature and the JSON Schema agree on.
    """

    session: Session

    def sweep(
        self, table: pd.DataFrame | None = None, /, **values: Any
    ) -> pd.DataFrame:
        """
        Run the function for many arguments and return one DataFrame: ``fn.sweep(Symbol=[…], PanelName="…")``.

        Parameters
        ----------
        table
            One row of arguments per run; its columns are parameters.
        **values
            Arguments as in a call. Lists are swept: every combination runs. With ``with_options(pairs=True)``, the
            first values of all lists run together, then the second ones. For a parameter that takes a list, pass a
            list of lists.

        Returns
        -------
        DataFrame
            One block per run, in the order of the arguments, with the swept ones as leading columns.
            ``attrs["errors"]`` lists the failed runs; ``attrs["funcs"]`` describes the sweep.

        Raises
        ------
        ArgumentError
            A value is missing or not valid, or there are too many runs; nothing was sent.
        KeyboardInterrupt
            The sweep was interrupted. Finished runs are cached, and the same call continues from there.
        """
        from jupyter_funcs.sweeps.job import sweep

        return sweep(self, table, values)

    def start_sweep(
        self,
        values: Values | None = None,
        table: pd.DataFrame | None = None,
        /,
        **named: Any,
    ) -> SweepJob:
        """
        Start a sweep in the background, without a progress bar.

        Parameters
        ----------
        values
            Arguments by parameter.
        table
            As in `sweep`.
        **named
            Arguments as in `sweep`; they override those in `values`.

        Returns
        -------
        SweepJob
            The job of the whole sweep.

        Raises
        ------
        ArgumentError
            A value is missing or not valid, or there are more runs than the option ``most_runs``.
        """
        from jupyter_funcs.sweeps.job import start_sweep

        return start_sweep(self, table, {**(values or {}), **named})

    def panel(self, /, **values: Any) -> Panel:
        """
        Return the widget, opened at this function.

        Parameters
        ----------
        **values
            Values to fill the form with.
        """
        from jupyter_funcs.panel.panel import Panel

        return Panel(self.session, self, self.form(**values))

    def preset(self, name: str) -> JsonObject:
        """
        Return the values of a preset, to call the function with: ``fn(**fn.preset("Walmart"))``.

        Raises
        ------
        NotFoundError
            The function has no preset with this name; the error lists its presets.
        """
        return self.session.presets.get(self.name, name)


class Session(RecordedClient[RemoteFunction]):
    """
    One user's functions on one service.

    ``funcs["Get Panel Daily"]`` (a wire name, id or slug) and ``funcs.get_panel_daily`` return a function;
    ``funcs.names`` and ``funcs.find("words")`` list them.

    Parameters
    ----------
    connection
        The service and its token.
    transport
        An httpx transport to use instead of the network.
    """

    def _call(self, function: Function, slug: str) -> RemoteFunction:
        return RemoteFunction(self, function, slug)

    @staticmethod
    def reconnect(where: str | None, **options: Any) -> Session:
        """Connect in another process."""
        return _connected(where, **options)

    def panel(
        self,
        name: str | int | None = None,
        /,
        *,
        trusted: bool | None = None,
        **values: Any,
    ) -> Panel:
        """
        Return the widget: choose a function, fill in its form, run it, view the result.

        Parameters
        ----------
        name
            The function to open at. Without it, the panel opens even if the functions can't be listed, says why, and
            can retry.
        trusted
            Whether the panel's page may save files, name variables and read them. By default it may, except in Voila,
            whose pages are seen by visitors.
        **values
            Values to fill the form with. If the function has a parameter ``trusted``, set that in ``panel.form``.

        Raises
        ------
        ArgumentError
            A name is not a parameter, or there are values without a function.
        """
        from jupyter_funcs.panel.panel import Panel

        if name is None:
            if values:
                raise ArgumentError(
                    "Values need a function to fill in.",
                    'Write funcs.panel("NAME", …).',
                )
            return Panel(self, trusted=trusted)

        function = self[name]
        form = function.form(**values)
        form.refuse_own("trusted", trusted)
        return Panel(self, function, form, trusted=trusted)
