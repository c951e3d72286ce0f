"""`%funcs` and `%%funcs`: read the line, run its subcommand, and return or assign the result."""

from __future__ import annotations

import builtins
import inspect
import keyword
import linecache
import unicodedata
import warnings
from typing import TYPE_CHECKING, Any

from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.core.line import name_and_arguments, split_line
from jupyter_funcs.core.text import did_you_mean, listed, quote
from jupyter_funcs.core.warn import MissingRowsWarning, warn
from jupyter_funcs.magic import subcommands
from jupyter_funcs.magic.masking import refuse, typed_secrets
from jupyter_funcs.magic.state import Line
from jupyter_funcs.magic.usage import ALIASES, NAMES, OPTIONS, parser, subcommand, taken_by, usage, usage_of

if TYPE_CHECKING:
    from jupyter_funcs.magic.state import MagicState

_OF_IPYTHON = {"In", "Out", "_", "__", "___", "exit", "quit"}


def run(state: MagicState, text: str, cell: str | None = None) -> Any:
    """Run a line, with the cell's body if there is one, and return its result."""
    refuse(state.shell, typed_secrets(text, cell))
    words, is_silent = _without_semicolon(split_line(text))
    options = parser().parse_intermixed_args(words)
    if options.words[:1] == ["help"]:
        options.help, options.words = True, options.words[1:]
    if options.help and not options.words:
        print(usage())
        return None
    name, *rest = options.words or ["panel"]
    line = Line(state, name, rest, options, cell)
    _check_subcommand(line)
    if options.help:
        print(usage_of(name))
        return None
    _check_options(line)
    variable = None if options.output is None else _variable(options.output)
    with warnings.catch_warnings():
        if options.quiet:
            warnings.simplefilter("ignore")
            warnings.simplefilter("default", MissingRowsWarning)
        try:
            result = getattr(subcommands, ALIASES.get(name, name))(line)
        except ArgumentError as error:
            error.hint = " ".join(filter(None, [error.hint, line.variable_hint(error)]))
            raise
        if variable is None:
            return None if is_silent and not _is_assigned() else result
        _warn_of_shadowing(variable)
        state.namespace[variable] = result
    return None


def _without_semicolon(words: list[str]) -> tuple[list[str], bool]:
    """Remove the semicolon at the end of a line, which silences it as in Python; a quoted one is text."""
    if not words or not words[-1].endswith(";") or words[-1].endswith("\\;"):
        return words, False
    return [word for word in [*words[:-1], words[-1].rstrip(";")] if word], True


def _check_subcommand(line: Line) -> None:
    name = line.subcommand
    if name not in NAMES:
        raise _unknown_subcommand(line)
    if line.words and not subcommand(name).takes:
        raise ArgumentError(f"%funcs {name} takes no arguments.", f"Leave out {quote(' '.join(line.words))}.")
    if line.cell is not None and not subcommand(name).takes_arguments:
        raise ArgumentError(f"%%funcs {name} takes no cell body.", f"Write %funcs {name}, with a single %.")


def _unknown_subcommand(line: Line) -> ArgumentError:
    words = [line.subcommand, *line.words]
    what = f"%funcs has no subcommand {quote(words[0])}."
    session = line.state.known()
    catalog = session.listed if session is not None else None
    function = catalog.peek(name_and_arguments(words)[0]) if catalog is not None else None
    if catalog is not None and function is not None:
        slug = catalog.slug(function)
        return ArgumentError(what, f"It's a function: write %funcs call {slug} or %funcs panel {slug}.")
    return ArgumentError(what, did_you_mean(words[0], [*NAMES, "--help"]) or f"Choose from {listed(NAMES, 'and')}.")


def _check_options(line: Line) -> None:
    for option in OPTIONS:
        name = option.rpartition("--")[2]
        is_given = getattr(line.options, name.replace("-", "_")) is not None
        if is_given and line.subcommand not in taken_by(option):
            hint = f"See %funcs {line.subcommand} --help."
            raise ArgumentError(f"%funcs {line.subcommand} has no option --{name}.", hint)


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
