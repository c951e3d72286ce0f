"""The accounts of the demo: one organisation with two assets and two users."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jupyter_funcs.service.accounts.grants import Grants

ORGANISATION = "Demo (synthetic)"
PANEL_DATA = "Demo panel data"
REPORTS = "Demo reports"
# Without passwords: `jupyter funcs token` issues their tokens.
_GRANTS = {"analyst": (PANEL_DATA, REPORTS), "guest": (PANEL_DATA,)}


def add_to(grants: Grants) -> None:
    """Add the demo's accounts: `analyst` with every asset, and `guest` with one."""
    for asset in (PANEL_DATA, REPORTS):
        grants.add_asset(asset, organisation=ORGANISATION)
    for user, assets in _GRANTS.items():
        grants.add_user(user, organisation=ORGANISATION)
        for asset in assets:
            grants.grant(user, asset)
