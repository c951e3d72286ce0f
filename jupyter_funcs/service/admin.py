"""``jupyter funcs admin`` and ``token``: all that changes accounts and keys; the parsers, and what they print."""

from __future__ import annotations

import contextlib
import functools
import json
import shlex
import sys
from argparse import SUPPRESS
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import state
from .actions import ACTIONS, Done, Service
from .auth import Auth
from .errors import SetupError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace, _SubParsersAction
    from collections.abc import Iterator, Sequence

    from .actions import Action


def add_admin(commands: _SubParsersAction[Any]) -> None:
    """Add ``admin`` to the commands of a parser; what is parsed has a `command`, called with it."""
    admin = commands.add_parser("admin", help="the service's users, assets, grants and keys")
    _add_config(admin, None)
    groups = admin.add_subparsers(required=True, metavar="WHAT")
    for name, (about, actions) in ACTIONS.items():
        verbs = groups.add_parser(name, help=about).add_subparsers(required=True, metavar="ACTION")
        for action in actions:
            parser = verbs.add_parser(action.verb, help=action.help)
            for argument, options in action.arguments:
                parser.add_argument(argument, **options)
            if action.verb == "list":
                parser.add_argument("--json", action="store_true", help="as JSON, times in ISO 8601")
            _add_config(parser, SUPPRESS)  # what stands before the action counts too
            parser.set_defaults(command=functools.partial(_act, name, action))


def add_token(commands: _SubParsersAction[Any]) -> None:
    """Add ``token`` to the commands of a parser; what is parsed has a `command`, called with it."""
    parser = commands.add_parser("token", help="a token for a user of the service, and nothing else, on the output")
    parser.add_argument("--user", required=True, metavar="NAME")
    parser.add_argument("--hours", type=float, default=8, metavar="N", help="how long it lasts (8)")
    _add_config(parser, None)
    parser.set_defaults(command=_token)


def _add_config(parser: ArgumentParser, absent: str | None) -> None:
    text = "the service's configuration (without it: the demo)"
    parser.add_argument("--config", type=Path, metavar="FILE", default=absent, help=text)


def _token(given: Namespace) -> None:
    with _service(given.config) as service:
        user = service.grants.active_user(given.user)
        _say(Auth(state.open_keys(service.folder), service.grants).issue(user.name, given.hours))


def _act(about: str, action: Action, given: Namespace) -> None:
    with _service(given.config) as service:
        result = action.run(service, given)
    if isinstance(result, Done):
        if result.secret:
            _say(result.secret)
        # A secret stands alone on the output, where a script reads it.
        _say(_of_config(result.text, given.config), sys.stderr if result.secret else sys.stdout)
    elif given.json:
        _say(json.dumps([dict(_shown(each)) for each in result], indent=2))
    elif result:
        _say(_table(result))
    else:
        _say(_of_config(f"There are none yet. To add one: jupyter funcs admin {about} add --help", given.config))


@contextlib.contextmanager
def _service(config: Path | None) -> Iterator[Service]:
    settings = None
    if config is not None:
        from .settings import load  # noqa: PLC0415 - loads pydantic, which the demo does without

        settings = load(config)
    folder = state.folder(settings.state if settings else None, demo=settings is None)
    grants = state.open_grants(folder, demo=settings is None)
    try:
        yield Service(folder, grants, settings.organisation if settings else None)
    except SetupError as error:
        raise SetupError(_of_config(str(error), config)) from None
    finally:
        grants.close()


def _of_config(text: str, config: Path | None) -> str:
    """Have the commands that a text names work on the same service as the one that was run."""
    named = "" if config is None else f" --config {shlex.quote(str(config))}"
    return text.replace("jupyter funcs admin", f"jupyter funcs admin{named}")


def _shown(record: Any) -> Iterator[tuple[str, Any]]:
    """Give what may be seen of a record, times in ISO 8601."""
    for field in fields(record):
        if field.repr:
            value = getattr(record, field.name)
            is_time = isinstance(value, float)
            yield field.name, datetime.fromtimestamp(value, UTC).isoformat(timespec="seconds") if is_time else value


def _table(records: Sequence[Any]) -> str:
    """Align the fields of records in columns, under their names."""
    rows = [[name.removeprefix("is_").removeprefix("has_") for name, _ in _shown(records[0])]]
    rows += [[_cell(value) for _, value in _shown(each)] for each in records]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def _say(text: str, file: Any = None) -> None:
    print(text, file=file)
