"""The commands ``jupyter funcs admin`` and ``token``: manage accounts and keys from a shell."""

from __future__ import annotations

import contextlib
import csv
import getpass
import json
import shlex
import sys
from argparse import (
    SUPPRESS,
    ArgumentParser,
    ArgumentTypeError,
    Namespace,
    _SubParsersAction,
)
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.core.text import quoted, quoted_list, utc_text
from jupyter_funcs.service.accounts import passwords, state_folder
from jupyter_funcs.service.accounts.account_records import (
    Asset,
    AuditRecord,
    User,
    folded,
    utc,
)
from jupyter_funcs.service.accounts.auth import Auth
from jupyter_funcs.service.accounts.grants import Grants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from jupyter_funcs.core.json_decoding import JsonObject


class Service(NamedTuple):
    folder: Path
    grants: Grants
    organisation: str | None


class Action(NamedTuple):
    """A command: lists return records, others what to print. The arguments are named as in `_ARGUMENTS`."""

    help: str
    run: Callable[[Service, Namespace], Sequence[Any] | str]
    arguments: tuple[str, ...] = ("name",)


def add_admin(commands: _SubParsersAction[Any]) -> None:
    """Add ``admin`` to the commands of a parser; the parsed arguments have a `command` to call with them."""
    admin = commands.add_parser(
        "admin", help="manage the users, assets, grants and keys of the service"
    )
    add_config(admin)
    groups = admin.add_subparsers(required=True, metavar="WHAT")
    for name, about in _GROUPS.items():
        verbs = groups.add_parser(name, help=about).add_subparsers(
            required=True, metavar="ACTION"
        )
        for verb, action in ACTIONS[name].items():
            parser = verbs.add_parser(verb, help=action.help)
            for argument in action.arguments:
                parser.add_argument(argument, **_ARGUMENTS[argument])
            add_config(parser, SUPPRESS)  # keeps a --config that precedes the action
            parser.set_defaults(command=partial(_act, name, action))

    audit = groups.add_parser(
        "audit", help="who did what, when, from where and with which outcome"
    )
    audit.add_argument(
        "--user",
        metavar="NAME",
        help="what a user did, or what was done to their account",
    )
    audit.add_argument("--action", help="such as run, login, grants, or 'users add'")
    audit.add_argument(
        "--outcome", choices=("ok", "refused", "failed", "cancelled", "timeout")
    )
    audit.add_argument(
        "--since",
        type=_time,
        metavar="TIME",
        help="such as 2026-01-31 or 2026-01-31T12:00Z",
    )
    audit.add_argument(
        "--until",
        type=_time,
        metavar="TIME",
        help="before that time (without a zone: UTC)",
    )
    audit.add_argument(
        "--limit",
        type=int,
        default=100,
        metavar="N",
        help="only the newest N (default: 100)",
    )
    audit.add_argument("--format", choices=("table", "csv", "json"), default="table")
    add_config(audit, SUPPRESS)
    audit.set_defaults(command=_audit)


def add_token(commands: _SubParsersAction[Any]) -> None:
    """Add ``token`` to the commands of a parser; the parsed arguments have a `command` to call with them."""
    parser = commands.add_parser(
        "token", help="print a token for a user of the service"
    )
    parser.add_argument("--user", required=True, metavar="NAME")
    parser.add_argument(
        "--hours",
        type=float,
        default=8,
        metavar="N",
        help="hours until it expires (default: 8)",
    )
    add_config(parser)
    parser.set_defaults(command=_token)


def add_config(parser: ArgumentParser, absent: str | None = None) -> None:
    about = "the configuration of the service (default: the demo)"
    parser.add_argument(
        "--config", type=Path, metavar="FILE", default=absent, help=about
    )


def _token(options: Namespace) -> None:
    with _service(options.config) as service:
        user = service.grants.active_user(options.user)
        token = Auth(state_folder.open_keys(service.folder), service.grants).issue(
            user.name, options.hours
        )
        service.grants.audit.change(
            "token issue", user.name, f"{options.hours:g} hours"
        )
        print(token)


def config_option(config: Path | None) -> str:
    """Return what names a configuration in a command for a shell."""
    if config:
        return f" --config {shlex.quote(str(config))}"
    return ""


def _time(text: str) -> str:
    try:
        time = datetime.fromisoformat(text)
        if not time.tzinfo:
            time = time.replace(tzinfo=UTC)
        return utc(time)
    except (ValueError, OverflowError):
        raise ArgumentTypeError(
            f"{quoted(text)} is not a time: use one such as 2026-01-31T12:00Z"
        ) from None


def _audit(options: Namespace) -> None:
    filters = (
        options.user,
        options.action,
        options.outcome,
        options.since,
        options.until,
    )
    limit = max(0, min(options.limit, sys.maxsize))  # SQLite's numbers have 64 bits
    with _service(options.config) as service:
        records = [
            record._asdict()
            for record in service.grants.audit.find(*filters, limit=limit)
        ]

    if options.format == "json":
        print(json.dumps(records, indent=2))
    elif options.format == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(AuditRecord._fields)
        writer.writerows(map(_unarmed, record.values()) for record in records)
    else:
        print(_table(records) if records else "No records.")


def _unarmed(value: object) -> object:
    """Return a value that no spreadsheet runs as a formula; some begin a cell at a semicolon."""
    armed = tuple("=+-@＝＋－＠")  # noqa: RUF001 - fullwidth
    if not isinstance(value, str):
        return value
    return ";".join(
        f"'{part}" if part.startswith(armed) else part for part in value.split(";")
    )


def _act(about: str, action: Action, options: Namespace) -> None:
    with _service(options.config) as service:
        result = action.run(service, options)
    if isinstance(result, str):
        print(_with_config(result, options.config))
        return

    records = [_shown(record) for record in result]
    if options.json:
        print(json.dumps(records, indent=2))
    elif records:
        print(_table(records))
    else:
        add = f"jupyter funcs admin {about} add --help"
        print("None yet. To add one:", _with_config(add, options.config))


@contextlib.contextmanager
def _service(config: Path | None) -> Iterator[Service]:
    state = organisation = seed = None
    if config:
        from jupyter_funcs.service.config.settings import load

        settings = load(config)
        state = settings.state
        organisation = settings.organisation
    else:
        from jupyter_funcs.service.builtin import demo

        seed = demo.add_accounts

    folder = state_folder.folder(state, demo=not config)
    grants = state_folder.open_grants(folder, seed)
    try:
        yield Service(folder, grants, organisation)
    except SetupError as error:
        raise SetupError(_with_config(str(error), config)) from None
    finally:
        grants.close()


def _with_config(text: str, config: Path | None) -> str:
    """Add `--config` to the admin commands in a text."""
    command = "jupyter funcs admin"
    return text.replace(command, command + config_option(config))


def _shown(record: Any) -> JsonObject:
    """Return the public fields of a record, with times in ISO 8601."""
    values = record._asdict().items()
    return {
        name: utc_text(value) if isinstance(value, float) else value
        for name, value in values
    }


def _table(records: Sequence[JsonObject]) -> str:
    rows = [[name.removeprefix("is_").removeprefix("has_") for name in records[0]]]
    rows += [[_cell(value) for value in record.values()] for record in records]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    )


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, bool | None):
        return {True: "yes", False: "no", None: ""}[value]
    return str(value)


def _add_user(service: Service, options: Namespace) -> str:
    organisation, new = _organisation(service, options)
    user = service.grants.add_user(
        options.name, organisation=organisation, email=options.email
    )
    return new + _functions_of(service, user, "may run")


def _enable_user(service: Service, options: Namespace) -> str:
    user = service.grants.active_user(
        service.grants.revoke(options.name, is_disabled=False)
    )
    return _functions_of(
        service, user, "is enabled again and, with a new token, may run"
    )


def _set_password(service: Service, options: Namespace) -> str:
    name = service.grants.set_password(
        service.grants.spelling(options.name), _typed_password()
    )
    return f"{quoted(name)} has a new password; existing tokens were revoked."


def _revoke_tokens(service: Service, options: Namespace) -> str:
    name = service.grants.revoke(options.name)
    keys = [str(key.id) for key in service.grants.api_keys() if key.user == name]
    text = f"The tokens of {quoted(name)} were revoked."
    if keys:
        text += f" Still accepted: API keys {', '.join(keys)}."
    return text


def _add_asset(service: Service, options: Namespace) -> str:
    organisation, new = _organisation(service, options)
    asset = service.grants.add_asset(
        options.name, organisation=organisation, is_shared=options.shared
    )
    return new + _users_of(service, asset)


def _share(service: Service, options: Namespace, *, is_shared: bool) -> str:
    return _users_of(service, service.grants.share(options.name, is_shared=is_shared))


def _add_grant(service: Service, options: Namespace) -> str:
    grant = service.grants.grant(options.user, options.asset)
    return f"{quoted(grant.user)} may now run the functions of {quoted(grant.asset)}."


def _remove_grant(service: Service, options: Namespace) -> str:
    user, asset = service.grants.withdraw(options.user, options.asset)
    if asset.is_shared:
        return f"{quoted(user)} may still run the functions of {quoted(asset.name)}, which is shared with all."
    return f"{quoted(user)} may no longer run the functions of {quoted(asset.name)}."


def _add_key(service: Service, options: Namespace) -> str:
    secret = service.grants.add_key(
        options.user, label=options.label, days=options.days
    )
    # Only the secret goes to stdout, for scripts.
    user = service.grants.spelling(options.user)
    print(
        f"API key for {quoted(user)}, shown only once. Send it as X-Api-Key.",
        file=sys.stderr,
    )
    return secret


def _remove_key(service: Service, options: Namespace) -> str:
    service.grants.remove_key(options.id)
    return f"API key {options.id} is no longer accepted."


def _rotate(service: Service, options: Namespace) -> str:
    keys = state_folder.open_keys(service.folder)
    keys.rotate(options.overlap)
    service.grants.audit.change(
        "signing-key rotate", keys.records()[0].id, f"overlap {options.overlap:g} hours"
    )
    hours = "1 more hour"
    if options.overlap != 1:
        hours = f"{options.overlap:g} more hours"
    until = "are no longer accepted"
    if options.overlap:
        until = f"are accepted for {hours}"
    return f"New tokens are signed with key {keys.records()[0].id}; older ones {until}."


def _organisation(service: Service, options: Namespace) -> tuple[str, str]:
    """Return the name of the organisation, and a message if it is new."""
    organisations = service.grants.organisations()
    name = options.organisation
    if name is None:
        name = service.organisation
        if len(organisations) == 1:
            [name] = organisations

    if name is None:
        which = "There is no organisation yet."
        if organisations:
            which = f"There are several organisations: {quoted_list(organisations)}."
        raise SetupError(f"{which}\nName one with --organisation NAME.")

    if folded(name) in map(folded, organisations):
        return name, ""
    new = f"{quoted(name)} is a new organisation"
    if organisations:
        new += f" besides {quoted_list(organisations)}"
    return name, f"{new}. "


def _functions_of(service: Service, user: User, what: str) -> str:
    assets = [asset.name for asset in service.grants.assets(user)]
    of = f"nothing yet: jupyter funcs admin grants add {shlex.quote(user.name)} ASSET"
    if assets:
        of = f"the functions of {quoted_list(assets)}."
    return f"{quoted(user.name)} {what} {of}"


def _users_of(service: Service, asset: Asset) -> str:
    if asset.is_shared:
        return f"Every user of {quoted(asset.organisation)} may run the functions of {quoted(asset.name)}."
    users = [
        grant.user for grant in service.grants.grants() if grant.asset == asset.name
    ]
    if users:
        return (
            f"Only {quoted_list(users)} may run the functions of {quoted(asset.name)}."
        )

    to_grant = f"jupyter funcs admin grants add USER {shlex.quote(asset.name)}"
    return f"Nobody may run the functions of {quoted(asset.name)} yet: {to_grant}"


def _typed_password() -> str:
    if not sys.stdin.isatty():
        typed = (
            sys.stdin.buffer.readline()
            .decode(sys.stdin.encoding, "surrogateescape")
            .rstrip("\r\n")
        )
        # They stand for invalid bytes. A UnicodeDecodeError would hold the password.
        if any("\ud800" <= char <= "\udfff" for char in typed):
            raise SetupError(
                f"The password on the standard input is not in {sys.stdin.encoding}; nothing has changed."
            )
        return typed

    try:
        password = getpass.getpass(
            f"New password (at least {passwords.SHORTEST} characters): "
        )
        again = getpass.getpass("Repeat the password: ")
    except EOFError:
        raise SetupError("No password was entered; nothing has changed.") from None

    if again != password:
        raise SetupError("The two passwords differ; nothing has changed.")
    return password


_ARGUMENTS: dict[str, JsonObject] = {
    "name": {"metavar": "NAME"},
    "user": {"metavar": "USER"},
    "asset": {"metavar": "ASSET"},
    "id": {"type": int, "metavar": "ID"},
    "--email": {},
    "--organisation": {
        "metavar": "NAME",
        "help": "its organisation, created if new (default: the only one, else the configuration's)",
    },
    "--shared": {"action": "store_true", "help": "share it with its organisation"},
    "--label": {"default": "", "help": "what it is for"},
    "--days": {
        "type": float,
        "metavar": "N",
        "help": "days until it expires (default: never)",
    },
    "--overlap": {
        "type": float,
        "default": 24,
        "metavar": "HOURS",
        "help": "how long older tokens are accepted (default: 24)",
    },
    "--json": {"action": "store_true", "help": "print JSON, with times in ISO 8601"},
}

_GROUPS = {
    "users": "the people who may call the service",
    "assets": "groups of functions that are granted together",
    "grants": "who may run the functions of which asset",
    "keys": "API keys of users",
    "signing-key": "the keys that sign tokens",
}


def _list(about: str, records: Callable[[Grants], Sequence[Any]]) -> Action:
    return Action(about, lambda service, _: records(service.grants), ("--json",))


def _named(about: str, change: Callable[[Grants, str], str], done: str) -> Action:
    return Action(
        about,
        lambda service, options: (
            f"{quoted(change(service.grants, options.name))} {done}"
        ),
    )


ACTIONS = {
    "users": {
        "list": _list("list all users", Grants.users),
        "add": Action(
            "add a user, without a password",
            _add_user,
            ("name", "--email", "--organisation"),
        ),
        "remove": _named(
            "remove a user, with grants and API keys",
            lambda grants, name: grants.remove("user", name),
            "was removed, with all grants and API keys.",
        ),
        "disable": _named(
            "refuse a user and revoke their tokens",
            lambda grants, name: grants.revoke(name, is_disabled=True),
            "may not run anything until enabled again.",
        ),
        "enable": Action("accept a disabled user again", _enable_user),
        "password": Action(
            "set a password: prompts, or reads the first line of standard input",
            _set_password,
        ),
        "revoke": Action("revoke the tokens of a user", _revoke_tokens),
    },
    "assets": {
        "list": _list("list all assets", Grants.all_assets),
        "add": Action(
            "add an asset, by the name that functions use",
            _add_asset,
            ("name", "--shared", "--organisation"),
        ),
        "remove": _named(
            "remove an asset and its grants",
            lambda grants, name: grants.remove("asset", name),
            "was removed; nobody may run its functions any more.",
        ),
        "share": Action(
            "share an asset with its organisation",
            partial(_share, is_shared=True),
        ),
        "unshare": Action(
            "limit an asset to users with a grant",
            partial(_share, is_shared=False),
        ),
    },
    "grants": {
        "list": _list("list all grants; shared assets need none", Grants.grants),
        "add": Action(
            "let a user run the functions of an asset", _add_grant, ("user", "asset")
        ),
        "remove": Action("remove a grant", _remove_grant, ("user", "asset")),
    },
    "keys": {
        "list": _list("list all API keys, without their secrets", Grants.api_keys),
        "add": Action(
            "create an API key and print it, once",
            _add_key,
            ("user", "--label", "--days"),
        ),
        "remove": Action("revoke an API key", _remove_key, ("id",)),
    },
    "signing-key": {
        "list": Action(
            "list the accepted keys",
            lambda service, _: state_folder.open_keys(service.folder).records(),
            ("--json",),
        ),
        "rotate": Action("sign with a new key from now on", _rotate, ("--overlap",)),
    },
}
"""The actions, by group and verb."""
