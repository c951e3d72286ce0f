"""Where the service keeps its accounts and signing keys, and what the demo's accounts are."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import SetupError
from .grants import Grants
from .keys import VARIABLE, SigningKeys

DEMO_ORGANISATION = "Demo (synthetic)"
DEMO_PANEL_DATA = "Demo panel data"
DEMO_REPORTS = "Demo reports"
# Without passwords: their tokens come from `jupyter funcs token`.
_DEMO_GRANTS = {"analyst": (DEMO_PANEL_DATA, DEMO_REPORTS), "guest": (DEMO_PANEL_DATA,)}


def folder(configured: Path | None, *, demo: bool) -> Path:
    """
    Give the state folder, which is made for its owner alone when it is not there.

    It is `FUNCS_STATE_DIR` of the environment, else the one of the configuration, else the one that the system has
    for data of the user; the demo's is the folder `demo` inside.

    Raises
    ------
    SetupError
        It cannot be made or written.
    """
    given = os.environ.get("FUNCS_STATE_DIR")
    home = Path(given).expanduser() if given else configured or _default()
    path = home / "demo" if demo else home
    try:
        # Of several folders that are made at once, only the last one gets the mode.
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        reason = error.strerror
    else:
        reason = "" if os.access(path, os.R_OK | os.W_OK | os.X_OK) else "permission denied"
    if reason:
        raise SetupError(f"The state folder {path} cannot be written: {reason}.\nName another one in FUNCS_STATE_DIR.")
    return path


def open_grants(path: Path, *, demo: bool) -> Grants:
    """Open the accounts of a state folder; the demo's are filled in when they are made."""
    return Grants(path / "accounts.sqlite", seed=seed_demo if demo else None)


def open_keys(path: Path) -> SigningKeys:
    """Give the signing keys: those of `FUNCS_SIGNING_KEY`, else those of a state folder."""
    given = os.environ.get(VARIABLE)
    return SigningKeys.open(path / "signing-keys.json") if given is None else SigningKeys.from_text(given)


def seed_demo(grants: Grants) -> None:
    """Add the demo's accounts: `analyst`, who has every asset, and `guest`, who has one."""
    for asset in (DEMO_PANEL_DATA, DEMO_REPORTS):
        grants.add_asset(asset, organisation=DEMO_ORGANISATION)
    for user, assets in _DEMO_GRANTS.items():
        grants.add_user(user, organisation=DEMO_ORGANISATION)
        for asset in assets:
            grants.grant(user, asset)


def _default() -> Path:
    import platformdirs  # noqa: PLC0415 - nothing but this needs it

    return platformdirs.user_data_path("jupyter_funcs") / "service"
