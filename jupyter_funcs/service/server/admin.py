"""What the commands of ``jupyter funcs admin`` do, and the sentences that say what is so afterwards."""

from __future__ import annotations

import getpass
import shlex
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from . import passwords, state
from .errors import SetupError
from .words import listed, quoted

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from .accounts import Asset, User
    from .grants import Grants


@dataclass(frozen=True, slots=True)
class Service:
    """
    What an action works on.

    Attributes
    ----------
    folder
        The state folder.
    grants
        The accounts in it.
    organisation
        That of the configuration, which counts where none is given and none or several are there.
    """

    folder: Path
    grants: Grants
    organisation: str | None


class Done(NamedTuple):
    """What an action says, and the secret that it made, which is shown this once."""

    text: str
    secret: str | None = None


class Action(NamedTuple):
    """An action: a list's gives its records and what to do when there are none, any other one what it has done."""

    verb: str
    help: str
    run: Callable[[Service, Namespace], Sequence[Any] | Done]
    arguments: tuple[tuple[str, dict[str, Any]], ...] = ()


def _add_user(service: Service, given: Namespace) -> Done:
    organisation, new = _organisation(service, given)
    user = service.grants.add_user(given.name, organisation=organisation, email=given.email)
    return Done(new + _runs(service, user, "may run"))


def _remove_user(service: Service, given: Namespace) -> Done:
    return Done(f"{quoted(service.grants.remove_user(given.name))} is removed, with all grants and API keys.")


def _disable_user(service: Service, given: Namespace) -> Done:
    return Done(f"{quoted(service.grants.disable_user(given.name))} may run nothing until enabled again.")


def _enable_user(service: Service, given: Namespace) -> Done:
    user = service.grants.active_user(service.grants.enable_user(given.name))
    return Done(_runs(service, user, "is enabled again, with a new token, and may run"))


def _set_password(service: Service, given: Namespace) -> Done:
    name = service.grants.set_password(service.grants.spelling(given.name), _typed_password())
    return Done(f"{quoted(name)} logs in with the new password; tokens from before have ended.")


def _revoke_tokens(service: Service, given: Namespace) -> Done:
    name = service.grants.revoke(given.name)
    keys = [str(key.id) for key in service.grants.api_keys() if key.user == name]
    still = f" Still accepted are the API keys {', '.join(keys)}." if keys else ""
    return Done(f"The tokens that {quoted(name)} had have ended.{still}")


def _add_asset(service: Service, given: Namespace) -> Done:
    organisation, new = _organisation(service, given)
    asset = service.grants.add_asset(given.name, organisation=organisation, is_shared=given.shared)
    return Done(new + _run_by(service, asset))


def _remove_asset(service: Service, given: Namespace) -> Done:
    return Done(f"{quoted(service.grants.remove_asset(given.name))} is removed; nobody may run its functions any more.")


def _share_asset(service: Service, given: Namespace) -> Done:
    return Done(_run_by(service, service.grants.share(given.name, is_shared=True)))


def _unshare_asset(service: Service, given: Namespace) -> Done:
    return Done(_run_by(service, service.grants.share(given.name, is_shared=False)))


def _add_grant(service: Service, given: Namespace) -> Done:
    grant = service.grants.grant(given.user, given.asset)
    return Done(f"{quoted(grant.user)} may now run the functions of {quoted(grant.asset)}.")


def _remove_grant(service: Service, given: Namespace) -> Done:
    user, asset = service.grants.withdraw(given.user, given.asset)
    if asset.is_shared:
        return Done(f"{quoted(user)} may still run the functions of {quoted(asset.name)}, which is shared with all.")
    return Done(f"{quoted(user)} may no longer run the functions of {quoted(asset.name)}.")


def _add_key(service: Service, given: Namespace) -> Done:
    secret = service.grants.add_key(given.user, label=given.label, days=given.days)
    return Done(
        f"This API key of {quoted(service.grants.spelling(given.user))} is shown this once; it goes into X-Api-Key.",
        secret,
    )


def _remove_key(service: Service, given: Namespace) -> Done:
    service.grants.remove_key(given.id)
    return Done(f"API key {given.id} is no longer accepted.")


def _rotate(service: Service, given: Namespace) -> Done:
    keys = state.open_keys(service.folder)
    keys.rotate(given.overlap)
    hours = "1 more hour" if given.overlap == 1 else f"{given.overlap:g} more hours"
    until = f"are accepted for {hours}" if given.overlap else "have ended"
    return Done(f"Tokens are signed with key {keys.records()[0].id} from now on; those from before {until}.")


def _organisation(service: Service, given: Namespace) -> tuple[str, str]:
    """Give the organisation that is meant, and what to say when it is a new one."""
    known = service.grants.organisations()
    name = given.organisation
    if name is None:
        name = known[0] if len(known) == 1 else service.organisation
    if name is None:
        which = f"There are several organisations: {listed(known)}." if known else "There is no organisation yet."
        raise SetupError(f"{which}\nSay whose it is with --organisation NAME.")
    if service.grants.has_organisation(name):
        return name, ""
    return name, f"{quoted(name)} is a new organisation{f' beside {listed(known)}' if known else ''}. "


def _runs(service: Service, user: User, what: str) -> str:
    assets = [asset.name for asset in service.grants.assets(user)]
    to_grant = f"jupyter funcs admin grants add {shlex.quote(user.name)} ASSET"
    of = f"the functions of {listed(assets)}." if assets else f"nothing yet: {to_grant}"
    return f"{quoted(user.name)} {what} {of}"


def _run_by(service: Service, asset: Asset) -> str:
    if asset.is_shared:
        return f"Every user of {quoted(asset.organisation)} may run the functions of {quoted(asset.name)}."
    users = [grant.user for grant in service.grants.grants() if grant.asset == asset.name]
    if users:
        return f"The functions of {quoted(asset.name)} may be run by {listed(users)} alone."
    to_grant = f"jupyter funcs admin grants add USER {shlex.quote(asset.name)}"
    return f"Nobody may run the functions of {quoted(asset.name)} yet: {to_grant}"


def _typed_password() -> str:
    if not sys.stdin.isatty():
        return _first_line()
    try:
        password = getpass.getpass(f"New password (at least {passwords.SHORTEST} characters): ")
        again = getpass.getpass("The same again: ")
    except EOFError:
        raise SetupError("No password was typed; nothing has changed.") from None
    if again != password:
        raise SetupError("The two passwords differ; nothing has changed.")
    return password


def _first_line() -> str:
    line = sys.stdin.buffer.readline()
    try:
        text = line.decode(sys.stdin.encoding)
    except UnicodeDecodeError:
        text = None
    if text is None:  # raised out here, for the error holds what was read
        raise SetupError(f"The password on the standard input is not in {sys.stdin.encoding}; nothing has changed.")
    return text.rstrip("\r\n")


_NAME: tuple[str, dict[str, Any]] = ("name", {"metavar": "NAME"})
_USER: tuple[str, dict[str, Any]] = ("user", {"metavar": "USER"})
_ASSET: tuple[str, dict[str, Any]] = ("asset", {"metavar": "ASSET"})
_ORGANISATION: tuple[str, dict[str, Any]] = (
    "--organisation",
    {
        "metavar": "NAME",
        "help": "theirs; a new one comes into being (the single one there is, else the configuration's)",
    },
)

ACTIONS: dict[str, tuple[str, tuple[Action, ...]]] = {
    "users": (
        "who may ask",
        (
            Action("list", "all users", lambda service, _: service.grants.users()),
            Action("add", "a user, without a password yet", _add_user, (_NAME, ("--email", {}), _ORGANISATION)),
            Action("remove", "a user, with grants and API keys", _remove_user, (_NAME,)),
            Action("disable", "refuse a user, and end the tokens", _disable_user, (_NAME,)),
            Action("enable", "accept a disabled user again", _enable_user, (_NAME,)),
            Action("password", "set it, typed twice or from the standard input's first line", _set_password, (_NAME,)),
            Action("revoke", "end the tokens that a user has", _revoke_tokens, (_NAME,)),
        ),
    ),
    "assets": (
        "what functions belong to",
        (
            Action("list", "all assets", lambda service, _: service.grants.all_assets()),
            Action(
                "add",
                "an asset, by the name that its functions give",
                _add_asset,
                (_NAME, ("--shared", {"action": "store_true", "help": "with its whole organisation"}), _ORGANISATION),
            ),
            Action("remove", "an asset, with its grants", _remove_asset, (_NAME,)),
            Action("share", "with its whole organisation", _share_asset, (_NAME,)),
            Action("unshare", "only those to whom it is granted keep it", _unshare_asset, (_NAME,)),
        ),
    ),
    "grants": (
        "which user may run the functions of which asset",
        (
            Action("list", "all grants; what is shared needs none", lambda service, _: service.grants.grants()),
            Action("add", "let a user run the functions of an asset", _add_grant, (_USER, _ASSET)),
            Action("remove", "undo a grant", _remove_grant, (_USER, _ASSET)),
        ),
    ),
    "keys": (
        "API keys of users, for X-Api-Key",
        (
            Action("list", "all API keys, without their secrets", lambda service, _: service.grants.api_keys()),
            Action(
                "add",
                "an API key, which is printed this once",
                _add_key,
                (
                    _USER,
                    ("--label", {"default": "", "help": "what it is for"}),
                    ("--days", {"type": float, "metavar": "N", "help": "how long it lasts (for ever)"}),
                ),
            ),
            Action("remove", "an API key", _remove_key, (("id", {"type": int, "metavar": "ID"}),)),
        ),
    ),
    "signing-key": (
        "the keys that sign tokens",
        (
            Action("list", "those that are accepted", lambda service, _: state.open_keys(service.folder).records()),
            Action(
                "rotate",
                "sign with a new key",
                _rotate,
                (
                    (
                        "--overlap",
                        {
                            "type": float,
                            "default": 24,
                            "metavar": "HOURS",
                            "help": "how long tokens from before are accepted (24)",
                        },
                    ),
                ),
            ),
        ),
    ),
}
"""By what they are about: what that is, and the actions."""
