"""The embedded service: one per process, and cheap until the first run."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

import jupyter_funcs.service
from jupyter_funcs.service.builtin import demo
from tests.service.conftest import python

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = (
    "ibis",
    "duckdb",
    "pandas",
    "pyarrow",
    "numpy",
    "sqlglot",
    "limits",
    "uvicorn",
    "papermill",
)


def test_there_is_one_per_process_whichever_thread_asks() -> None:
    with ThreadPoolExecutor(8) as threads:
        services = list(threads.map(lambda _: demo.embedded(), range(16)))
    assert len({id(service) for service in services}) == 1


def test_its_name_says_that_the_data_are_synthetic_and_its_repr_hides_the_token() -> (
    None
):
    embedded = demo.embedded()
    assert "synthetic" in embedded.name
    assert embedded.token not in repr(embedded)


@pytest.mark.slow
def test_listing_functions_loads_nothing_heavy_and_writes_nothing(
    tmp_path: Path,
) -> None:
    """Importing the package loads none of its modules."""
    code = f"""
import os, sys
import jupyter_funcs.service
assert not [name for name in sys.modules if name.startswith("jupyter_funcs.service.")]
os.environ["FUNCS_CACHE_DIR"] = {str(tmp_path / "cache")!r}
import asyncio, httpx
from jupyter_funcs.service import embedded
e = embedded()
async def listing():
    headers = {{"Authorization": "Bearer " + e.token}}
    transport = httpx.ASGITransport(e.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
        return (await client.post("/api/function/ListUserFunctions", json={{}})).json()
print(len(asyncio.run(listing())), [name for name in {HEAVY!r} if name in sys.modules])
"""
    assert python(code) == "7 []"
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("name", jupyter_funcs.service.__all__)
def test_what_the_package_exports_is_there(name: str) -> None:
    assert getattr(jupyter_funcs.service, name).__name__ == name
    assert name in dir(jupyter_funcs.service)


def test_an_unknown_attribute_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nope'"):
        _ = jupyter_funcs.service.nope
