"""``jupyter funcs serve``: the service on a port of this machine, until it is told to stop."""
# ruff: noqa: PLC0415 - slow to load, and only who serves needs it

from __future__ import annotations

import argparse
import logging
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import SetupError
from .words import quoted

if TYPE_CHECKING:
    import socket

    from .hosted import Hosted
    from .settings import Server, Settings

log = logging.getLogger(__name__)

_EVERY_ADDRESS = {"0.0.0.0", "::"}  # noqa: S104 - to know them, not to listen there


def add_serve(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``serve`` to the commands of a parser; what is parsed has a `command`, called with it."""
    parser = commands.add_parser("serve", help="the service itself: your functions and data, or the demo")
    parser.add_argument("--host", help="where it listens (127.0.0.1, which is this machine alone)")
    parser.add_argument("--port", type=_port, metavar="N", help="8765; 0 takes a free one")
    parser.add_argument("--config", type=Path, metavar="FILE", help="its configuration (without it: the demo)")
    parser.add_argument("--behind-proxy", action="store_true", default=None, help="a proxy in front of it adds TLS")
    parser.add_argument("--tls-certificate", type=Path, metavar="FILE", help="in PEM, with its chain")
    parser.add_argument("--tls-key", type=Path, metavar="FILE", help="in PEM, without a password")
    parser.add_argument(
        "--allowed-host",
        action="append",
        dest="allowed_hosts",
        metavar="NAME",
        help="a name that it may be called by, beside those of this machine for itself; may be repeated",
    )
    parser.set_defaults(command=_serve)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"{quoted(text)} is no port: it is a number from 0 to 65535")
    return int(text)


def _serve(given: argparse.Namespace) -> None:
    from . import listening, settings

    chosen = _with_options(settings.load(given.config), given)
    server = chosen.server
    _refuse_open_door(server)
    # Before the data and functions are loaded, which may take a while.
    sockets = listening.bound(server.host, server.port)
    try:
        from . import hosted, logs

        logs.configure(server.log)
        service = hosted.build(chosen, given.config)
        _warn_of_names(server)
        try:
            _run(service, server, sockets, given.config)
        finally:
            service.close()
    finally:
        for each in sockets:
            each.close()


def _with_options(settings: Settings, given: argparse.Namespace) -> Settings:
    """Put the command's options in the place of what the configuration says."""
    names = ("host", "port", "behind_proxy", "tls_certificate", "tls_key", "allowed_hosts")
    options = {name: value for name in names if (value := getattr(given, name)) is not None}
    return settings.model_copy(update={"server": settings.server.model_copy(update=options)})


def _refuse_open_door(server: Server) -> None:
    from . import listening

    if (server.tls_certificate is None) != (server.tls_key is None):
        raise SetupError("TLS takes a certificate and its key.\nGive --tls-certificate FILE and --tls-key FILE.")
    if server.tls_certificate is not None and server.tls_key is not None:
        listening.check_certificate(server.tls_certificate, server.tls_key)
    elif listening.is_public(server.host) and not server.behind_proxy:
        raise SetupError(
            f"Other machines reach {quoted(server.host)}, and tokens would travel to it unencrypted.\n"
            "Give --tls-certificate FILE and --tls-key FILE, or --behind-proxy where a proxy in front adds TLS."
        )


def _warn_of_names(server: Server) -> None:
    """Tell the operator when callers elsewhere would be refused, whatever they call the service."""
    if not server.allowed_hosts and (server.behind_proxy or server.host in _EVERY_ADDRESS):
        log.warning(
            "Only callers on this machine are answered: no other name of the service is known. "
            "Name it with --allowed-host NAME, or allowed_hosts in the configuration."
        )


def _run(service: Hosted, server: Server, sockets: list[socket.socket], config: Path | None) -> None:
    import uvicorn

    from . import process
    from .protocol import Connection

    options = uvicorn.Config(
        service.app,
        http=Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        # `Hosts` knows what to believe of a proxy.
        proxy_headers=False,
        ssl_certfile=server.tls_certificate,
        ssl_keyfile=server.tls_key,
        timeout_keep_alive=process.PROXY_KEEP_ALIVE_SECONDS if server.behind_proxy else process.KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=process.GRACE_SECONDS + process.LAST_SECONDS,
    )
    address = _address(server, sockets[0].getsockname()[1])
    runs = service.app.state.runs
    process.Process(options, runs, lambda: _announce(service, address, config)).run(sockets)
    if runs.busy_threads:
        # The interpreter would wait for them for ever.
        log.warning("%s function(s) that do not heed cancelling end with the process.", runs.busy_threads)
        service.close()
        logging.shutdown()
        os._exit(0)


def _address(server: Server, port: int) -> str:
    """Give the address by which a person on this machine reaches the service."""
    scheme = "http" if server.tls_certificate is None else "https"
    name = server.allowed_hosts[0] if server.allowed_hosts and scheme == "https" else server.host
    if name in _EVERY_ADDRESS or name == "*":
        name = "localhost"
    return f"{scheme}://{f'[{name}]' if ':' in name else name}:{port}"


def _announce(service: Hosted, address: str, config: Path | None) -> None:
    user = "analyst" if config is None else "NAME"
    of = "" if config is None else f" --config {shlex.quote(str(config))}"
    token = f"jupyter funcs token{of} --user {user} --hours 8"
    lines = [
        f"Serving {service.about} at {address}",
        f"Accounts and keys are in {service.folder}. End it with Ctrl-C.",
        f"A token for 8 hours:  {token}",
        "To use it from a notebook or a shell:",
        f"  export FUNCS_BASE_URL={address}",
        f'  export FUNCS_TOKEN="$({token})"',
    ]
    print("\n".join(lines), file=sys.stderr, flush=True)  # noqa: T201 - for the person who started it
