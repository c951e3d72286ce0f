"""The command ``jupyter funcs serve``: run the service on a port of this machine."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import signal
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.core.text import quoted
from jupyter_funcs.service.server.admin import add_config, config_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_funcs.service.config.settings import Server, Settings
    from jupyter_funcs.service.server.hosted import Hosted

log = logging.getLogger(__name__)

_EVERY_ADDRESS = {"0.0.0.0", "::"}  # noqa: S104 - to recognise them, not to bind


def add_serve(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``serve`` to the commands of a parser; the parsed arguments have a `command` to call with them."""
    parser = commands.add_parser(
        "serve", help="run the service: your functions and data, or the demo"
    )
    parser.add_argument(
        "--host", help="address to listen on (default: 127.0.0.1, this machine only)"
    )
    parser.add_argument(
        "--port",
        type=_number("port", 0, 65535),
        metavar="N",
        help="port to listen on (default: 8765; 0: any free one)",
    )
    parser.add_argument(
        "--processes",
        type=_number("number of processes", 1, 64),
        metavar="N",
        help="how many processes share the port, the accounts and the limits (default: 1)",
    )
    add_config(parser)
    parser.add_argument(
        "--reload",
        action="store_true",
        help="serve again when a published file or FILE changes",
    )
    parser.add_argument(
        "--behind-proxy",
        action="store_true",
        default=None,
        help="a proxy in front adds TLS",
    )
    parser.add_argument(
        "--tls-certificate",
        type=Path,
        metavar="FILE",
        help="PEM file with the certificate and its chain",
    )
    parser.add_argument(
        "--tls-key",
        type=Path,
        metavar="FILE",
        help="PEM file with the key, without a password",
    )
    parser.add_argument(
        "--allowed-host",
        action="append",
        dest="allowed_hosts",
        metavar="NAME",
        help="a host name of the service, in addition to localhost; may be repeated",
    )
    parser.set_defaults(command=_serve)


def _number(noun: str, least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
            raise argparse.ArgumentTypeError(
                f"{quoted(text)} is not a {noun}: use a number from {least} to {most}"
            )
        return int(text)

    return read


def _end(*_: object) -> None:
    """End the process; a later signal doesn't interrupt the removal of its folders."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise SystemExit(0)


def _serve(options: argparse.Namespace) -> None:
    from jupyter_funcs.service.accounts import state_folder
    from jupyter_funcs.service.config import settings
    from jupyter_funcs.service.server import process

    def load() -> Settings:
        return _with_options(settings.load(options.config), options)

    if options.reload and not options.config:
        raise SetupError(
            "The demo has no files that change.\nUse --reload with --config FILE."
        )

    server = load().server
    _refuse_plain_http(server)
    with contextlib.ExitStack() as opened:
        # Fail early: loading the data and functions may take a while.
        most_of_one = None
        if not server.behind_proxy:
            most_of_one = server.share(process.MOST_OF_ONE)
        sockets = process.bind(server.host, server.port, opened, most_of_one)
        process.configure_logs(server.log)
        sibling = process.split(server.processes)
        from jupyter_funcs.service.publishing import confinement
        from jupyter_funcs.service.server.hosted import LiveService

        confinement.hide_memory()
        # While the service is ready, the server has handlers of its own.
        signal.signal(signal.SIGTERM, _end)
        signal.signal(signal.SIGINT, _end)
        live = opened.enter_context(
            contextlib.closing(LiveService(load, options.config))
        )
        if sibling is None or sibling.number == 0:  # not of each other
            state_folder.warn_of_others(live.service.folder, opened)
            if not server.allowed_hosts and (
                server.behind_proxy or server.host in _EVERY_ADDRESS
            ):
                log.warning(
                    "Requests from other machines will be refused: the service has no host name. "
                    "Set it with --allowed-host NAME, or allowed_hosts in the configuration."
                )
        if options.reload:
            live.watch()
        address = _address(server, sockets[0].getsockname()[1])
        announce = partial(_announce, live.service, address, options.config)
        process.GracefulServer(live, server, announce, sibling).run(sockets)
        if live.busy_threads:
            log.warning(
                "%s function(s) that ignore cancellation end with the process.",
                live.busy_threads,
            )

    if live.busy_threads:
        # The interpreter would wait for their threads for ever.
        logging.shutdown()
        os._exit(0)


def _with_options(settings: Settings, options: argparse.Namespace) -> Settings:
    pairs = vars(options).items()
    server = {
        name: value
        for name, value in pairs
        if value is not None and hasattr(settings.server, name)
    }
    return settings.model_copy(
        update={"server": settings.server.model_copy(update=server)}
    )


def _refuse_plain_http(server: Server) -> None:
    from jupyter_funcs.service.server import process

    if bool(server.tls_certificate) != bool(server.tls_key):
        raise SetupError(
            "TLS needs a certificate and its key.\nUse --tls-certificate FILE and --tls-key FILE together."
        )

    if server.tls_certificate and server.tls_key:
        process.check_certificate(server.tls_certificate, server.tls_key)
    elif process.is_public(server.host) and not server.behind_proxy:
        raise SetupError(
            f"Other machines can reach {quoted(server.host)}, and tokens would be sent unencrypted.\n"
            "Use --tls-certificate FILE and --tls-key FILE, or --behind-proxy if a proxy in front adds TLS."
        )


def _address(server: Server, port: int) -> str:
    """Return the URL of the service for a person on this machine."""
    scheme = "http"
    name = server.host
    if server.tls_certificate:
        scheme = "https"
        name = next(iter(server.allowed_hosts), name)

    if name in _EVERY_ADDRESS or name == "*":
        name = "localhost"
    if ":" in name:
        name = f"[{name}]"
    return f"{scheme}://{name}:{port}"


def _announce(service: Hosted, address: str, config: Path | None) -> None:
    user = "analyst"
    if config:
        user = "NAME"
    token = f"jupyter funcs token{config_option(config)} --user {user} --hours 8"
    text = "\n".join(
        [
            f"Serving {service.about} at {address}",
            f"Accounts and keys are in {service.folder}. Press Ctrl-C to stop.",
            f"Get a token for 8 hours:  {token}",
            "To use the service from a notebook or a shell:",
            f"  export FUNCS_BASE_URL={address}",
            f'  export FUNCS_TOKEN="$({token})"',
        ]
    )
    if service.settings.server.log == "json":
        log.info("%s", text)
    else:
        print(text, file=sys.stderr, flush=True)
