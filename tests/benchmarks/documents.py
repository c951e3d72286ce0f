"""
How much of the OpenAPI documents of the world becomes functions, and why the rest doesn't.

    FUNCS_DOCUMENTS=/path/of/a/folder python -m tests.benchmarks.documents           # all documents below a folder
    FUNCS_DOCUMENTS=/path/of/a/folder python -m tests.benchmarks.documents --every 10
    FUNCS_DOCUMENTS=/path/of/a/folder python -m tests.benchmarks.documents --largest 5

A document is read as a file of which the user allows the first server. loaded: documents that list at least one
function, of those that say that they are OpenAPI or Swagger and have an operation. operations: those that become
functions. The table has the reasons for the rest, without the names in them, each with an example. `--largest` prints
the times to list the largest documents, beside the time to decode them, and the memory. No test runs this.
"""
# ruff: noqa: T201 - it prints a table

from __future__ import annotations

import argparse
import itertools
import os
import re
import time
import tracemalloc
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from jupyter_funcs.connection.profiles import NO_TOKEN, Connection
from jupyter_funcs.core import json_decoding
from jupyter_funcs.core.errors import FuncsError
from jupyter_funcs.core.json_decoding import gc_paused, only
from jupyter_funcs.sources import openapi, yaml_decoding

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = "FUNCS_DOCUMENTS"
METHODS = {"get", "post", "put", "patch", "delete"}
SUFFIXES = {".json", ".yaml", ".yml"}
IS_DOCUMENT = re.compile(rb"""^[ {\t]*["']?(?:openapi|swagger)["']?\s*:\s*["']?[1-9]""", re.MULTILINE)
# What differs between reasons of one kind.
NAMES = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[0-9][0-9,]*")


class Listing(NamedTuple):
    """What became of one document."""

    operations: int
    functions: int
    reasons: list[tuple[str, str]]
    error: str


def documents(folder: Path, every: int) -> Iterator[Path]:
    """Yield the files that say that they are documents."""
    files = (path for path in sorted(folder.rglob("*")) if path.suffix in SUFFIXES and path.is_file())
    for path in itertools.islice(files, 0, None, every):
        if IS_DOCUMENT.search(path.read_bytes()):
            yield path


def decoded(path: Path) -> Any:
    data = path.read_bytes()
    is_json = data.lstrip()[:1] in {b"{", b"\xef"}
    decode = json_decoding.decode if is_json else yaml_decoding.decode
    return decode(data, what="document")


def operations(root: Any) -> int:
    """Count the operations that return data, wherever their path items are."""
    paths = only(dict, only(dict, root).get("paths"))
    return sum(len(METHODS & only(dict, item).keys()) for item in paths.values())


def connected(path: Path, root: Any) -> Connection:
    """Return the connection to a document whose user allows the first server that has an address of its own."""
    about = only(dict, root)
    hosts = [f"https://{about['host']}"] if "host" in about else []
    items = only(dict, about.get("paths")).values()
    places = [about, *items, *(only(dict, only(dict, item).get("get")) for item in items)]
    for place in places:
        hosts += [str(only(dict, server).get("url")) for server in only(list, only(dict, place).get("servers"))]
    host = next((urlsplit(url).netloc for url in hosts if url.startswith("http") and "{" not in url), "api.example")
    return Connection(
        path.name,
        path.as_uri(),
        NO_TOKEN,
        kind="openapi",
        location=str(path),
        allow_server=f"https://{host}",
    )


def listed(path: Path) -> Listing:
    """List one document, with the reasons for what is left out."""
    reasons: list[tuple[str, str]] = []
    read_one = openapi._Document._function

    def noted(document: Any, name: str, *rest: Any) -> Any:
        try:
            return read_one(document, name, *rest)
        except openapi.UnusableError as error:
            reasons.append((NAMES.sub("…", str(error)), f"{name} of {path.name}: {error}"))
            raise

    total = 0
    openapi._Document._function = noted  # type: ignore[method-assign]
    try:
        root = decoded(path)
        total = operations(root)
        catalog = openapi.read_document(path.read_bytes(), connected(path, root))
    except FuncsError as error:
        return Listing(total, 0, reasons, str(error.what))
    finally:
        openapi._Document._function = read_one  # type: ignore[method-assign]
    return Listing(total, len(list(catalog)), reasons, "")


def print_shares(folder: Path, every: int) -> None:
    listings = {path: listed(path) for path in documents(folder, every)}
    with_operations = {path: listing for path, listing in listings.items() if listing.operations or listing.error}
    loaded = sum(1 for listing in with_operations.values() if listing.functions)
    total = sum(listing.operations for listing in listings.values())
    functions = sum(listing.functions for listing in listings.values())
    empty = len(listings) - len(with_operations)
    print(f"loaded      {share(loaded, len(with_operations))} documents, {empty:,} more without an operation")
    print(f"operations  {share(functions, total)}")
    reasons: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for path, listing in listings.items():
        found = list(listing.reasons)
        if listing.error:
            rest = listing.operations - len(found)
            found += [(NAMES.sub("…", listing.error), f"{path.name}: {listing.error}")] * max(rest, 1)
        for reason, example in found:
            reasons[reason] += 1
            examples.setdefault(reason, example)
    for reason, count in reasons.most_common():
        print(f"{count:8,} {100 * count / max(total, 1):6.2f} %  {reason[:100]}\n{'':20}{examples[reason][:160]}")


def share(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):6.2f} %  {part:,} of {whole:,}"


def print_largest(folder: Path, count: int) -> None:
    paths = sorted(documents(folder, 1), key=lambda path: path.stat().st_size)[-count:]
    print("      MB  operations  decoded s  listed s  ratio  peak MB  document")
    for path in paths:
        data = path.read_bytes()
        with gc_paused():
            began = time.perf_counter()
            root = decoded(path)
            decoding = time.perf_counter() - began
            connection = connected(path, root)
            began = time.perf_counter()
            catalog = openapi.read_document(data, connection)
            listing = time.perf_counter() - began
        total = len(list(catalog))
        del catalog, root
        tracemalloc.start()
        openapi.read_document(data, connection)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(
            f"{len(data) / 1e6:8.1f} {total:11,} {decoding:10.2f} {listing:9.2f} {listing / decoding:6.1f}"
            f" {peak / 1e6:8.0f}  {path.name[-60:]}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().partition("\n")[0])
    parser.add_argument("--every", type=int, default=1, help="read one of so many documents")
    parser.add_argument("--largest", type=int, default=0, help="time the listing of so many of the largest ones")
    chosen = parser.parse_args()
    folder = os.environ.get(FOLDER, "")
    if not Path(folder).is_dir() or not folder:
        raise SystemExit(f"Set {FOLDER} to a folder of OpenAPI documents, such as a copy of a public directory.")
    warnings.simplefilter("ignore")
    if chosen.largest:
        print_largest(Path(folder).resolve(), chosen.largest)
    else:
        print_shares(Path(folder).resolve(), chosen.every)


if __name__ == "__main__":
    main()
