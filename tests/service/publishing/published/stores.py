"""Functions of the shop team: stores and their sales."""

from datetime import date
from typing import Annotated, Literal

import pandas as pd

from jupyter_funcs.service import AtLeastOne, Help, ListedBy, function
from tests.service.publishing.published._sales import sales

__author__ = "shop team"

Region = Literal["North", "South"]
Place = AtLeastOne("store", "region")


@function(asset="Shops", group="Stores")
def get_stores(
    region: Annotated[Region | None, Help("Only the stores of this region.")] = None,
) -> list[dict[str, str]]:
    """List the stores."""
    stores = sales()[["store", "region"]].drop_duplicates()
    if region:
        stores = stores[stores["region"] == region]
    return stores.to_dict("records")


@function(asset="Shops", group="Stores")
def get_sales_by_store(
    store: Annotated[list[str] | None, ListedBy("Get Stores"), Place] = None,
    region: Annotated[Region | None, Place] = None,
    since: date | None = None,
) -> pd.DataFrame:
    """
    Return the pieces sold and the revenue by store.

    Parameters
    ----------
    store
        The stores to return, one or more.
    region
        All stores of a region.
    since
        The first day to count.
    """
    rows = sales()
    if store:
        rows = rows[rows["store"].isin(store)]
    if region:
        rows = rows[rows["region"] == region]
    if since:
        rows = rows[rows["day"] >= pd.Timestamp(since)]
    return rows.groupby("store")[["pieces", "revenue"]].sum()
