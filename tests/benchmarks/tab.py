"""
How long a Tab takes with 10,000 functions of six parameters: ``python -m tests.benchmarks.tab [FUNCTIONS]``.

Through a whole IPython shell, as `complete_request` asks it, with jedi on; the first Tab of a kind is shown beside the
median and the slowest of the others. Beside it stands the same for a plain Python object with as many methods.
"""
# ruff: noqa: T201 - it prints a table

from __future__ import annotations

import json
import statistics
import sys
import time
import types

import httpx
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

import jupyter_funcs as jf
from jupyter_funcs.magic import extension

TARGET = 50.0  # milliseconds
PARAMS = ("PanelName", "Symbol", "Brand", "PoPGrowth", "PoPLookback", "Dimensions")
HELP = {
    "PanelName": "[Required] Panel. Use function 'Get Panels' to get list of available panels.",
    "PoPGrowth": "[Optional] Options are 'Yes', 'No'. If none, defaults to 'No'.",
    "Dimensions": "[Optional] List of dimensions. Options are 'Age Group', 'Region', 'Brand'.",
}
LINES = (
    "%funcs call ",
    "%funcs call get_number_9",
    '%funcs call "Get Number 9',
    "%funcs call Get Number 9",
    "%funcs call {slug} ",
    "%funcs call {slug} PoPGrowth=",
    "%funcs call no_such_function",
    "%funcs call no_such_function x",
    "%%funcs call {slug}\nPo",
    "funcs.",
    "funcs.get_number_9",
    "funcs['",
    "funcs['Get Number 9",
    "funcs.{slug}(",
    "funcs['{name}'](Po",
    "funcs.{slug}(PoPGrowth='",
    "funcs.{slug}(Dimensions=['",
    "funcs.{slug}.",
    "plain.",
    "plain.get_number_9",
)


def listing(count: int) -> bytes:
    """Return a catalog of so many functions, as a service lists them."""
    functions = [
        {
            "id": at + 1,
            "name": f"Get Number {at} of the Catalog",
            "params": [
                {
                    "name": name,
                    "type": 0,
                    "description": HELP.get(name, ""),
                    "required": at == 0,
                }
                for at, name in enumerate(PARAMS)
            ],
        }
        for at in range(count)
    ]
    return json.dumps(functions).encode()


def main(count: int = 10_000) -> int:
    """Print the table; return 1 when a Tab of ours took longer than the target, apart from the very first."""
    body = listing(count)
    requests = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request.url.path)
        return httpx.Response(200, content=body)

    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "jupyter_funcs")
    session = jf.connect(
        "https://service.example",
        token="a-token",
        transport=httpx.MockTransport(answer),
    )
    extension.of(shell).state._session = session  # no magic takes a transport
    function = list(session)[count // 2]
    methods = {other.slug: lambda _, **values: values for other in session}
    shell.user_ns |= {
        "funcs": session,
        "plain": types.new_class(
            "Plain", exec_body=lambda body: body.update(methods)
        )(),
    }
    late = []
    print(f"{count:,} functions of {len(PARAMS)} parameters, milliseconds:\n")
    print(f"{'typed':42}{'offered':>8}{'first':>9}{'median':>9}{'slowest':>9}")
    for line in LINES:
        text = line.format(slug=function.slug, name=function.name)
        taken = []
        for _ in range(11):
            began = time.perf_counter()
            with provisionalcompleter():
                offered = len(list(shell.Completer.completions(text, len(text))))
            taken.append((time.perf_counter() - began) * 1000)
        first, *others = taken
        print(
            f"{text[:40]!r:42.42}{offered:8,}{first:9.1f}{statistics.median(others):9.1f}{max(others):9.1f}",
            flush=True,
        )
        if statistics.median(others) > TARGET and not text.startswith("plain"):
            late.append(text)
    print(
        f"\nrequests while completing: {len(requests) - 1}; over {TARGET:g} ms: {late or 'none'}"
    )
    return int(bool(late) or len(requests) > 1)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
