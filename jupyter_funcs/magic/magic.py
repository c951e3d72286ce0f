"""`%funcs` and `%%funcs`: read the line, run its subcommand, and return or assign the result."""

from __future__ import annotations

import builtins
import inspect
import keyword
import linecache
import unicodedata
import warnings
from typing import TYPE_CHECKING, Any

from jupyter_funcs.client.notebook import usable
from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.core.text import quote
from jupyter_funcs.core.warn import MissingRowsWarning, warn
from jupyter_funcs.magic import subcommands
from jupyter_funcs.magic.line import Line, read_line
from jupyter_funcs.magic.masking import refuse, typed_secrets
from jupyter_funcs.magic.usage import ALIASES, usage, usage_of

if TYPE_CHECKING:
    from jupyter_funcs.magic.sessions import Sessions

_OF_IPYTHON = {"In", "Out", "_", "__", "___", "exit", "quit"}


def run(sessions: Sessions, text: str, cell: str | None = None) -> Any:
    """Run a line, with the cell's body if there is one, and return its result."""
    refuse(sessions.shell, typed_secrets(text, cell))
    line = read_line(text, cell, sessions)
    name = line.subcommand
    if line.options.help:
        print(usage_of(name) if name else usage())
        return None
    variable = None if line.options.output is None else _variable(line.options.output)
    with warnings.catch_warnings():
        if line.options.quiet:
            warnings.simplefilter("ignore")
            warnings.simplefilter("default", MissingRowsWarning)
        try:
            result = getattr(subcommands, ALIASES.get(name, name))(line)
        except ArgumentError as error:
            error.hint = f"{error.hint} {_variable_hint(line, error)}".strip()
            raise
        if variable is None:
            return None if line.is_silent and not _is_assigned() else result
        _warn_of_shadowing(variable)
        sessions.namespace[variable] = result
    return None


def _variable_hint(line: Line, error: ArgumentError) -> str:
    """Return how to pass a variable, if a refused value is the name of one: ``sym`` or ``{sym}``, not ``$sym``."""
    for word in line.words:
        name, _, value = word.partition("=")
        variable = value.strip("{}")
        if variable in error.what and usable(variable, line.sessions.namespace.get(variable)):
            return f"For your variable, write {name}=${variable}."
    return ""


def _variable(name: str) -> str:
    name = unicodedata.normalize("NFKC", name)  # as Python reads names
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ArgumentError(f"-o needs a variable name, not {quote(name)}.", "Write a Python name, e.g. -o df.")
    return name


def _warn_of_shadowing(name: str) -> None:
    if name in _OF_IPYTHON:
        warn(f"-o {name} hides IPython's {name} until the kernel restarts.")
    elif hasattr(builtins, name):
        warn(f"-o {name} hides Python's {name}; `del {name}` restores it.")


def _is_assigned() -> bool:
    """Return whether a `name =` precedes the magic; read from the source, because IPython doesn't tell a magic."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_name not in {"run_line_magic", "run_cell_magic"}:
        frame = frame.f_back
    caller = None if frame is None else frame.f_back
    if caller is None:
        return True
    return not linecache.getline(caller.f_code.co_filename, caller.f_lineno).lstrip().startswith("get_ipython()")
