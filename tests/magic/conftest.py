"""Shells with the extension, and live kernels."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from typing import TYPE_CHECKING

import pytest
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

from tests.shells import interactive_shell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from IPython.core.interactiveshell import InteractiveShell
    from jupyter_client.blocking.client import BlockingKernelClient


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    with interactive_shell() as shell:
        shell.run_line_magic("load_ext", "jupyter_funcs")
        yield shell


@contextlib.contextmanager
def live_kernel(
    python: str = sys.executable, **environment: str
) -> Iterator[BlockingKernelClient]:
    """Start a kernel of this Python, and end it."""
    manager = KernelManager()
    argv = [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    manager._kernel_spec = KernelSpec(
        argv=argv, language="python", display_name="tested"
    )
    manager.start_kernel(env={**os.environ, **environment})
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=120)
        yield client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
        gc.collect()
