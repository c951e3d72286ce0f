"""
What a notebook waits for first: ``%load_ext jupyter_funcs`` and the first frame, beside jupysql's and raw DuckDB's.

``python -m tests.benchmarks.load [PYTHON [KERNELS]]`` takes the Python of an environment in which both are installed::

    python3 -m venv /tmp/beside
    /tmp/beside/bin/pip install '.[service]' jupysql duckdb-engine
    python -m tests.benchmarks.load /tmp/beside/bin/python

Without it jupysql is left out, with a line. Each measurement has a fresh kernel, in turn, in which another magic was
used before, so that what IPython itself loads for its first one is nobody's. Processor time stands beside the clock's:
it is what a busy machine changes least. The first call of ours starts the embedded service and reads one symbol of its
demo data, which are generated before, as in every kernel of a machine but the first; raw DuckDB reads the same file
into a frame; jupysql connects to DuckDB in memory and reads one number.
"""
# ruff: noqa: T201 - it prints a table

from __future__ import annotations

import ast
import gc
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

from jupyter_funcs.service.builtin import demo

TARGET = 5.0  # milliseconds of processor time for %load_ext
FRAME = 1200  # milliseconds by the clock from there to the first frame
EMPTY = "an_empty_extension"
CALL = "frame = %funcs call get_panel_daily PanelName='Demo Card Panel' Symbol='NVRA US EQUITY'"
RAW = """import duckdb
frame = duckdb.execute(
    "SELECT date, sum(spend_cents) / 100, sum(transactions), sum(cards) FROM read_parquet(?) "
    "WHERE panel = 'Demo Card Panel' AND symbol = 'NVRA US EQUITY' GROUP BY date ORDER BY date", [{path!r}]
).df()
"""
CASES = {
    "jupyter_funcs": ("jupyter_funcs", CALL),
    "empty, raw DuckDB": (EMPTY, RAW),
    "jupysql": ("sql", "%sql duckdb://\nresult = %sql SELECT 42"),
}
MEASURED = """
import sys as _sys, time as _time
_modules, _clock, _cpu = len(_sys.modules), _time.perf_counter(), _time.process_time()
{code}
_cpu, _clock = _time.process_time() - _cpu, _time.perf_counter() - _clock
print("\\n", [_clock * 1000, _cpu * 1000, len(_sys.modules) - _modules])
"""


def measured(python: str, folder: Path, extension: str, call: str) -> list[list[float]]:
    """Return milliseconds by the clock and of the processor, and new modules, of a load and of a first call."""
    manager = KernelManager()
    argv = [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    manager._kernel_spec = KernelSpec(argv=argv, language="python", display_name="")
    compiled = {
        "PYTHONPYCACHEPREFIX": str(folder / "compiled"),
        "PYTHONDONTWRITEBYTECODE": "",
    }
    paths = {"IPYTHONDIR": str(folder / "ipython"), "PYTHONPATH": str(folder)}
    manager.start_kernel(env=os.environ | compiled | paths)
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=120)
        run(client, "%load_ext storemagic")
        return [
            run(client, MEASURED.format(code=code))
            for code in (f"%load_ext {extension}", call)
            if code
        ]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
        gc.collect()


def run(client: Any, code: str) -> list[float]:
    """Run code in a kernel; return the list that it prints last."""
    printed: list[str] = []

    def hear(message: dict[str, Any]) -> None:
        if message["msg_type"] == "stream" and message["content"]["name"] == "stdout":
            printed.append(message["content"]["text"])

    reply = client.execute_interactive(code, timeout=300, output_hook=hear)["content"]
    assert reply["status"] == "ok", "\n".join(reply["traceback"])
    lines = [
        line for line in "".join(printed).splitlines() if line.lstrip().startswith("[")
    ]
    numbers: list[float] = ast.literal_eval(lines[-1].strip()) if lines else []
    return numbers


def has(python: str, module: str) -> bool:
    """Say whether a Python has a module."""
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([python, "-c", code], check=False).returncode == 0


def main(python: str = sys.executable, kernels: str = "5") -> int:
    """Print the table; return 1 when loading ours takes more of the processor than the target."""
    cases = dict(CASES)
    if not has(python, "sql"):
        del cases["jupysql"]
        print(
            f"jupysql is not installed for {python} and is left out; this file's first lines say how it comes in.\n"
        )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / f"{EMPTY}.py").write_text(
            "def load_ipython_extension(ip):\n    pass\n"
        )
        cases["empty, raw DuckDB"] = EMPTY, RAW.format(path=str(demo.spend_file()))
        for extension, call in cases.values():  # compiles the modules
            measured(python, folder, extension, call)
        measurements: dict[str, list[list[list[float]]]] = {case: [] for case in cases}
        for _ in range(int(kernels)):
            for case, (extension, call) in cases.items():
                measurements[case].append(measured(python, folder, extension, call))
    medians = {
        case: [
            [statistics.median(column) for column in zip(*step, strict=True)]
            for step in zip(*runs, strict=True)
        ]
        for case, runs in measurements.items()
    }
    print(
        f"medians of {kernels} kernels; milliseconds by the clock, of the processor; modules that came with it\n"
    )
    for steps in medians.values():
        steps.append([sum(column) for column in zip(*steps, strict=True)])
    for step, title in enumerate(
        ("%load_ext", "the first frame or query", "both together")
    ):
        print(title)
        for case, steps in medians.items():
            clock, cpu, modules = steps[step]
            ratios = [
                ours / theirs
                for ours, theirs in zip(
                    medians["jupyter_funcs"][step], steps[step], strict=True
                )
            ]
            print(
                f"  {case:22}{clock:10,.1f}{cpu:10,.1f}{modules:8,.0f}   ours to it {ratios[0]:.3f}, {ratios[1]:.3f}"
            )
    (_, load, _), (frame, *_), _ = medians["jupyter_funcs"]
    print(
        f"\nthe target of {TARGET:g} ms of the processor for %load_ext is {'kept' if load <= TARGET else 'missed'}"
    )
    print(
        f"the target of {FRAME:,} ms by the clock for the first frame is {'kept' if frame <= FRAME else 'missed'}"
    )
    return int(load > TARGET)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
