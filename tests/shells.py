"""IPython shells of the tests' own."""

from __future__ import annotations

import atexit
import contextlib
import sys
from typing import TYPE_CHECKING, Any

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from jupyter_funcs.magic import extension

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_funcs.api import Session


@contextlib.contextmanager
def interactive_shell(**options: Any) -> Iterator[InteractiveShell]:
    """Yield a separate IPython that writes no history, and leave nothing of it behind."""
    config = Config()
    config.HistoryManager.enabled = False
    main = sys.modules["__main__"]
    hook = sys.excepthook
    shell = InteractiveShell.instance(config=config, **options)
    yield shell
    shell.extension_manager.unload_extension("jupyter_funcs")
    InteractiveShell.clear_instance()
    # What it would do at exit, but for a look through the whole heap for garbage.
    atexit.unregister(shell.atexit_operations)
    shell.displayhook.do_full_cache = False
    shell.atexit_operations()
    sys.modules["__main__"] = main
    sys.excepthook = hook


@contextlib.contextmanager
def shell_with(session: Session) -> Iterator[InteractiveShell]:
    """Yield such an IPython whose %funcs has a session."""
    with interactive_shell() as shell:
        shell.run_line_magic("load_ext", "jupyter_funcs")
        extension.of(shell).state._session = session
        yield shell
