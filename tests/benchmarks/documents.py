"""
How much of the OpenAPI documents of the world becomes functions, and why the rest doesn't.

    FUNCS_DOCUMENTS=/path/of/a/folder python -m tests.benchmarks.documents           # all documents below a folder
    FUNCS_DOCUMENTS=/path/of/a/folder python -m tests.benchmarks.documents --every 10
    FUNCS_DOCUMENTS=/path/of/a/folder python -m tests.benchmarks.documents --largest 5

A document is read as a file of which the user allows the first server. loaded: documents that list at least one
function, of those that say that they are OpenAPI or Swagger and have an operation. operations: those that become
functions. A folder without the files that a document refers to can't show how it would be read, so that the shares
are also those of the other documents. The table has the reasons for the rest, without the names in them, each with an
example. `--largest` prints the times to list the largest documents, beside the time to decode them, and the memory.
No test runs this.
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
from jupyter_funcs.core.errors import FuncsError
from jupyter_funcs.core.json_decoding import gc_paused, only
from jupyter_funcs.sources import openapi, openapi_files
from jupyter_funcs.sources.openapi_requests import PATH_VARIABLE
from jupyter_funcs.sources.openapi_schemas import UnusableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_funcs.catalog.listing import Function

FOLDER = "FUNCS_DOCUMENTS"
METHODS = {"get", "post", "put", "patch", "delete"}
SUFFIXES = {".json", ".yaml", ".yml"}
IS_DOCUMENT = re.compile(
    rb"""^[ {\t]*["']?(?:openapi|swagger)["']?\s*:\s*["']?[1-9]""", re.MULTILINE
)
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
    files = (
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix in SUFFIXES and path.is_file()
    )
    for path in itertools.islice(files, 0, None, every):
        if IS_DOCUMENT.search(path.read_bytes()):
            yield path


def decoded(path: Path) -> Any:
    return openapi_files.decoded(
        path.read_bytes(), "document", is_yaml=path.suffix != ".json"
    )


def operations(root: Any) -> int:
    """Count the operations that return data, wherever their path items are."""
    paths = only(dict, only(dict, root).get("paths"))
    return sum(len(METHODS & only(dict, item).keys()) for item in paths.values())


def connected(path: Path, root: Any) -> Connection:
    """Return a connection to a document that allows the first server with an absolute address."""
    about = only(dict, root)
    scheme = (
        "https"
        if "https" in only(list, about.get("schemes")) or "schemes" not in about
        else "http"
    )
    urls = [f"{scheme}://{about['host']}"] if "host" in about else []
    items = only(dict, about.get("paths")).values()
    places = [
        about,
        *items,
        *(only(dict, only(dict, item).get("get")) for item in items),
    ]
    for place in places:
        for server in only(list, only(dict, place).get("servers")):
            variables = only(dict, only(dict, server).get("variables"))
            values = {
                name: str(only(dict, variable).get("default"))
                for name, variable in variables.items()
            }
            url = str(only(dict, server).get("url"))
            urls.append(
                PATH_VARIABLE.sub(
                    lambda match, values=values: values.get(match[1], ""), url
                )
            )  # type: ignore[misc]
    addresses = (url for url in urls if url.startswith("http") and urlsplit(url)[1])
    url = next(addresses, "https://api.example")
    return Connection(
        path.name,
        path.as_uri(),
        NO_TOKEN,
        kind="openapi",
        location=str(path),
        allow_server="://".join(urlsplit(url)[:2]),
    )


def listed(path: Path) -> Listing:
    """List one document, with the reasons for what is left out."""
    reasons: list[tuple[str, str]] = []
    read_one = openapi._Document._function

    def noted(self: openapi._Document, name: str, *rest: Any) -> Function:
        try:
            return read_one(self, name, *rest)
        except UnusableError as error:
            reasons.append(
                (NAMES.sub("…", str(error)), f"{name} of {path.name}: {error}")
            )
            raise

    total = 0
    openapi._Document._function = noted  # type: ignore[assignment, method-assign]
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
    apart = {
        path
        for path, listing in listings.items()
        if any(openapi_files.UNREAD in why for _, why in listing.reasons)
    }
    print_share("all documents", list(listings.values()))
    print_share(
        "whose files are all there",
        [listing for path, listing in listings.items() if path not in apart],
    )
    print_reasons(listings)


def print_share(which: str, listings: list[Listing]) -> None:
    some = [listing for listing in listings if listing.operations or listing.error]
    loaded = sum(1 for listing in some if listing.functions)
    functions = sum(listing.functions for listing in some)
    total = sum(listing.operations for listing in some)
    print(f"{which}: {len(listings) - len(some):,} more have no operation")
    print(f"    loaded      {share(loaded, len(some))}")
    print(f"    operations  {share(functions, total)}")


def print_reasons(listings: dict[Path, Listing]) -> None:
    total = sum(listing.operations for listing in listings.values())
    reasons: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for path, listing in listings.items():
        refusals = list(listing.reasons)
        if listing.error and not refusals:
            whole = max(listing.operations, 1)
            refusals = [
                (NAMES.sub("…", listing.error), f"{path.name}: {listing.error}")
            ] * whole
        for reason, example in refusals:
            reasons[reason] += 1
            examples.setdefault(reason, example)
    for reason, count in reasons.most_common():
        print(
            f"{count:8,} {100 * count / max(total, 1):6.2f} %  {reason[:100]}\n{'':20}{examples[reason][:160]}"
        )


def share(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):6.2f} %  {part:,} of {whole:,}"


def print_largest(folder: Path, count: int) -> None:
    paths = sorted(documents(folder, 1), key=lambda path: path.stat().st_size)[-count:]
    print("      MB  operations  decoded s  listed s  ratio  peak MB  document")
    for path in paths:
        data = path.read_bytes()
        with gc_paused():
            began = time.thread_time()
            root = decoded(path)
            decoding = time.thread_time() - began
            connection = connected(path, root)
            began = time.thread_time()
            try:
                catalog = openapi.read_document(data, connection)
            except FuncsError as error:
                print(f"{len(data) / 1e6:8.1f} {error.what[:90]}  {path.name[-60:]}")
                continue
            listing = time.thread_time() - began
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
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").strip().partition("\n")[0]
    )
    parser.add_argument(
        "--every", type=int, default=1, help="read one of so many documents"
    )
    parser.add_argument(
        "--largest",
        type=int,
        default=0,
        help="time the listing of so many of the largest ones",
    )
    chosen = parser.parse_args()
    folder = os.environ.get(FOLDER, "")
    if not Path(folder).is_dir() or not folder:
        raise SystemExit(
            f"Set {FOLDER} to a folder of OpenAPI documents, such as a copy of a public directory."
        )
    warnings.simplefilter("ignore")
    if chosen.largest:
        print_largest(Path(folder).resolve(), chosen.largest)
    else:
        print_shares(Path(folder).resolve(), chosen.every)


if __name__ == "__main__":
    main()
