"""
`%funcs` and `%%funcs`: `run` reads a line, calls the function of its subcommand, and returns or assigns the result.

A new subcommand is a function here, by its name, and a row in `usage.py`.
"""

from __future__ import annotations

import builtins
import inspect
import json
import keyword
import linecache
import unicodedata
import warnings
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_funcs.client.notebook import usable
from jupyter_funcs.core.errors import (
    ArgumentError,
    ConfigError,
    FuncsError,
    NotFoundError,
    last_traceback,
)
from jupyter_funcs.core.line import ROTATE, unquoted
from jupyter_funcs.core.text import (
    did_you_mean,
    inert,
    json_escape,
    listed,
    plural,
    quote,
    visible,
)
from jupyter_funcs.core.warn import MissingRowsWarning, warn
from jupyter_funcs.magic.funcs_line import LIST_FUNCTIONS, Line, read_line
from jupyter_funcs.magic.masking import (
    as_secrets,
    masked_traceback,
    refuse,
    typed_secrets,
)
from jupyter_funcs.magic.usage import ALIASES, OPTIONS, taken_by, usage_of

if TYPE_CHECKING:
    import pandas as pd

    from jupyter_funcs.api import RemoteFunction, Session
    from jupyter_funcs.catalog.listing import Catalog
    from jupyter_funcs.core.json_decoding import JsonObject, Values
    from jupyter_funcs.magic.sessions import Sessions
    from jupyter_funcs.records.lock import Lock

_TERMINAL = "TerminalInteractiveShell"
_NO_PANEL = "A terminal can't show the panel. Use %funcs find, describe and call; %funcs --help lists all subcommands."
_SWITCHES = ("on", "off", "clear")
_MOST_REQUESTS = 3
_MOST_WORDS = 12  # of a function's name
_OF_IPYTHON = {"In", "Out", "_", "__", "___", "exit", "quit"}


def run(sessions: Sessions, text: str, cell: str | None = None) -> Any:
    """Run a line, with the cell's body if there is one, and return its result."""
    refuse(sessions.shell, typed_secrets(text, cell))
    line = read_line(text, cell, sessions)
    name = line.subcommand
    if line.options.help:
        print(usage_of(name))
        return None

    variable = None
    if line.options.output is not None:
        line.options.output = variable = _variable(line.options.output)
    with warnings.catch_warnings():
        if line.options.quiet:
            warnings.simplefilter("ignore")
            warnings.simplefilter("default", MissingRowsWarning)
        try:
            result = globals()[ALIASES.get(name, name)](line)
        except ArgumentError as error:
            error.hint = f"{error.hint} {_variable_hint(line, error)}".strip()
            raise
        if variable is None or line.options.run:  # the panel has named it
            if line.is_silent and not _is_assigned():
                return None
            return result
        _warn_of_shadowing(variable)
        sessions.namespace[variable] = result

    return None


def _variable_hint(line: Line, error: ArgumentError) -> str:
    """Return how to pass a variable, if a refused value is the name of one: ``sym`` or ``{sym}``, not ``$sym``."""
    for word in line.words:
        name, _, value = word.partition("=")
        variable = value.strip("{}")
        if variable in error.what and usable(
            variable, line.sessions.visible.get(variable)
        ):
            return f"For your variable, write {name}=${variable}."

    return ""


def _variable(name: str) -> str:
    name = unicodedata.normalize("NFKC", name)  # as Python reads names
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ArgumentError(
            f"-o needs a variable name, not {quote(name)}.",
            "Write a Python name, e.g. -o df.",
        )

    return name


def _warn_of_shadowing(name: str) -> None:
    if name in _OF_IPYTHON:
        warn(f"-o {name} hides IPython's {name} until the kernel restarts.")
    elif hasattr(builtins, name):
        warn(f"-o {name} hides Python's {name}; `del {name}` restores it.")


def _is_assigned() -> bool:
    """Return whether a `name =` precedes the magic; read from the source, because IPython doesn't tell a magic."""
    frame = inspect.currentframe()
    while frame and frame.f_code.co_name not in {
        "run_line_magic",
        "run_cell_magic",
    }:
        frame = frame.f_back

    caller = frame and frame.f_back
    if caller is None:
        return True
    source = linecache.getline(caller.f_code.co_filename, caller.f_lineno)
    return not source.lstrip().startswith("get_ipython()")


# The subcommands


def _function_and_values(line: Line) -> tuple[RemoteFunction, Values]:
    """Return the function that a line names, with the line's options, and its arguments."""
    from jupyter_funcs.catalog.form import with_json

    name = line.function
    values = line.arguments
    typed = f"{' '.join(line.words)}\n{line.cell}"
    try:
        function = line.session[name]
    except NotFoundError:
        refuse(line.sessions.shell, as_secrets(values, typed))
        _refuse_unnamed(line)
        raise

    # The function may have a parameter that is called like a token or an option.
    if unknown := function.unknown(values):
        refuse(
            line.sessions.shell,
            as_secrets({name: values[name] for name in unknown}, typed),
        )

    for argument in unknown:
        option = f"--{argument.replace('_', '-')}"
        if option in OPTIONS and line.subcommand in taken_by(option):
            raise function.option_error(
                argument, f"{option} {OPTIONS[option].value}".rstrip()
            )

    return _with_options(function, line), with_json(function.form(), values)


def _refuse_unnamed(line: Line) -> None:
    """Raise if the line begins with the name of a function: the words after it are values without a name."""
    words = [*map(unquoted, line.words)]
    for end in range(min(len(words) - 1, _MOST_WORDS), 0, -1):
        name = " ".join(words[:end])
        if name in line.session:
            function = line.session[name]
            hint = "It takes no parameters."
            if function.fields:
                hint = f'Write {function.fields[0].name}="…".'
            raise ArgumentError(
                f"{function.name} takes its arguments by name, not {quote(words[end])}.",
                hint,
            )


def find(line: Line) -> pd.DataFrame:
    return line.session.find(line.text)


def describe(line: Line) -> pd.DataFrame:
    if not line.function:
        return line.session.left_out()
    function, values = _function_and_values(line)
    if values:
        raise ArgumentError(
            f"%funcs describe takes only a name, not {listed(values, 'and')}.",
            "Leave that out.",
        )

    return function.describe()


def call(line: Line) -> Any:
    function, values = _function_and_values(line)
    if not line.options.dry_run:
        if line.options.background:
            return function.submit(**values)
        return function(**values)

    request = function.request(**values)
    return _printed_or_returned(
        request, json.dumps(request, indent=2, ensure_ascii=False), line
    )


def sweep(line: Line) -> Any:
    function, values = _function_and_values(line)
    table = line.table
    if not line.options.dry_run:
        if line.options.background:
            return function.start_sweep(values, table)
        return function.sweep(table, **values)

    requests = _requests(function, table, values)
    texts = [
        json.dumps(request, ensure_ascii=False) for request in requests[:_MOST_REQUESTS]
    ]
    more = ""
    if len(requests) > _MOST_REQUESTS:
        more = f", of which the first {_MOST_REQUESTS} are"
    return _printed_or_returned(
        requests,
        "\n".join([f"{plural(len(requests), 'run')} would be sent{more}:", *texts]),
        line,
    )


def _requests(
    function: RemoteFunction, table: pd.DataFrame | None, values: Values
) -> list[JsonObject]:
    from jupyter_funcs.client.options import MOST_RUNS
    from jupyter_funcs.sweeps.combinations import combos

    # Nothing is sent, so that a function that changes data may have as many runs as others.
    sweep = combos(
        function.with_options(most_runs=function.options.most_runs or MOST_RUNS),
        table,
        values,
    )
    function.warn_of(sweep.warnings)
    return [
        function.session.remote.source.request(function.function, args)
        for args in sweep.runs
    ]


def again(line: Line) -> pd.DataFrame:
    if len(line.words) != 1:
        wrong = f", not {quote(' '.join(line.words))}" if line.words else ""
        raise ArgumentError(
            f"%funcs again takes the number of a run{wrong}.",
            "%funcs history shows the numbers.",
        )

    return line.session.history.again(unquoted(line.words[0]))


def _with_options(function: RemoteFunction, line: Line) -> RemoteFunction:
    names = {field.name for field in fields(function.options)}
    options = {
        name: value
        for name, value in vars(line.options).items()
        if name in names and value is not None
    }
    if line.options.no_cache:
        options["cache"] = False
    if line.options.all:
        options["pages"] = "all"
    if line.options.quiet and line.subcommand == "sweep":
        options["progress"] = False
    return function.with_options(**options)


def _printed_or_returned(value: Any, text: str, line: Line) -> Any:
    """Return a value that `-o` assigns; without `-o`, print it as text."""
    if line.options.output is not None:
        return value
    print(visible(text, json_escape))
    return None


def _opened(line: Line, output: Any) -> Any:
    from jupyter_funcs.panel.panel import Panel

    if line.function:
        function, values = _function_and_values(line)
        return Panel(
            line.session, function, function.form(**values), output=output or ""
        )

    if line.cell is not None and line.cell.strip():
        raise ArgumentError(
            "The cell has arguments, but the line names no function.",
            "Write %%funcs panel NAME.",
        )

    if line.options.wait:
        raise ArgumentError(
            "--wait needs a function's name, and values to run it with.", LIST_FUNCTIONS
        )

    return line.session.panel()


def panel(line: Line) -> Any:
    from IPython.display import display

    is_waiting = line.options.wait
    output = line.options.run and line.options.output
    opened = _opened(line, output)
    if type(line.sessions.shell).__name__ == _TERMINAL and not is_waiting:
        print(_NO_PANEL)
    opened.recipe = "df = %funcs result"
    line.sessions.panel = opened
    is_assigned = _is_assigned()
    if is_waiting or (output and not is_assigned):
        display(opened)  # type: ignore[no-untyped-call]  # IPython's
    if is_waiting or line.options.run:
        opened.run()
    # For front ends that show nothing once a cell has ended, such as Colab.
    if is_waiting:
        return opened.result()
    if output:  # the next cell has it
        _warn_of_shadowing(output)
        opened.result()
        return opened if is_assigned else None

    return opened


def open(line: Line) -> Any:  # noqa: A001  # the subcommand's name
    from jupyter_funcs.client.snippets import linked

    if len(line.words) != 1:
        raise ArgumentError(
            "%funcs open takes one link.", 'Write %funcs open "?funcs=NAME&k=v".'
        )

    name, values = linked(unquoted(line.words[0]))
    opened = line.session[name].panel(**values)
    opened.recipe = "df = %funcs result"
    line.sessions.panel = opened
    return opened


def result(line: Line) -> pd.DataFrame:
    if line.sessions.panel is None:
        raise ArgumentError("No panel has been opened yet.", "Open one with %funcs.")
    return line.sessions.panel.result(line.options.timeout)


def history(line: Line) -> pd.DataFrame | None:
    runs = line.session.history
    if not line.words:
        return runs.table(earlier=line.options.all)
    word, *more = map(unquoted, line.words)
    if more or word not in _SWITCHES or line.options.all:
        hint = (
            did_you_mean(word, _SWITCHES) or "To run one again, write %funcs again N."
        )
        raise ArgumentError(
            f"%funcs history takes {listed(_SWITCHES)}, not {quote(' '.join(line.words))}.",
            hint,
        )

    if word == "clear":
        if number := runs.clear():
            print(f"Deleted {plural(number, 'saved run')}.")
        else:
            print("There were no saved runs.")
        return None

    runs.save(on=word == "on")
    if word == "on":
        print(
            f"Runs are saved in {runs.path} from now on, including those of this kernel so far."
        )
        print(
            "Functions, arguments and times are saved, results are not. %funcs history --all shows them."
        )
    else:
        print("Runs are no longer saved. %funcs history clear deletes those that were.")

    return None


def lock(line: Line) -> None:
    lock_functions(line.session, line.words, is_check=line.options.check)


def lock_functions(session: Session, words: list[str], *, is_check: bool) -> None:
    """Lock the functions named, or those run so far and those locked already; or compare them with the lock."""
    from jupyter_funcs.records import lock as lock_file

    folder = _folder()
    before = lock_file.read(folder)
    locked = []
    if before:
        locked = list(before.functions)
    if is_check:
        if before is None:
            raise NotFoundError(
                f"There is no {lock_file.NAME} in {folder}.",
                "Create it with %funcs lock.",
            )
        names = locked
        if words:
            names = _names(session.catalog, words, locked)
        _compare(session, before, names)
        return

    catalog = session.catalog
    names = [*(run.function for run in session.history), *locked]
    if words:
        names = _names(catalog, words, [])
    functions = [
        function for function in map(catalog.peek, dict.fromkeys(names)) if function
    ]
    if not functions:
        raise ArgumentError(
            "No function has been run yet.",
            "Name the functions to lock: %funcs lock NAME …",
        )

    path = lock_file.write(folder, session.address or "demo", functions).path
    shown = listed((inert(function.name) for function in functions), "and")
    print(f"Locked {plural(len(functions), 'function')} in {path}: {shown}.")


def _folder() -> Path:
    try:
        return Path.cwd()
    except OSError:
        raise ConfigError(
            "The notebook's folder no longer exists.",
            "Change to another one: %cd FOLDER.",
        ) from None


def _names(catalog: Catalog, words: list[str], locked: list[str]) -> list[str]:
    """Return the names of functions: each word is one, or all words together are one name without quotes."""
    names = [*map(unquoted, words)]
    if names[0] not in locked and catalog.peek(names[0]) is None:
        names = [unquoted(" ".join(words))]
    return [name if name in locked else catalog.get(name).name for name in names]


def _compare(session: Session, lock: Lock, names: list[str]) -> None:
    from jupyter_funcs.catalog.values import shorten

    service = session.address or "demo"
    if lock.service != service:
        raise ArgumentError(
            f"{lock.path} is for {lock.service}, not for {service}.",
            "Connect to that service.",
        )

    catalog = session.refresh().catalog
    changes = [
        text for name in names if (text := lock.drifted(name, catalog.peek(name)))
    ]
    if changes:
        raise FuncsError(
            " ".join(shorten(changes)), "Fix the notebook, then run %funcs lock again."
        )

    matches = "match"
    if len(names) == 1:
        matches = "matches"
    print(f"{plural(len(names), 'function')} {matches} {lock.path.name}.")


def connect(line: Line) -> Session:
    if len(line.words) > 1 or any(
        "=" in word and "://" not in word for word in line.words
    ):
        raise ConfigError(
            "%funcs connect takes one profile or URL, and no token.", ROTATE
        )

    return line.sessions.switch(*map(unquoted, line.words))


def status(line: Line) -> Any:
    return line.session.status()


def refresh(line: Line) -> Session:
    from jupyter_funcs.catalog.changes import relisted

    session = line.session
    changes = relisted(session.listed, session.refresh().catalog)
    if changes and line.options.output is None:
        print(changes)
    return session


def cache(line: Line) -> Any:
    words = line.words
    if words not in ([], ["clear"]):
        hint = (
            did_you_mean(words[0], ["clear"])
            or "Write %funcs cache or %funcs cache clear."
        )
        raise ArgumentError(
            f"%funcs cache takes clear or nothing, not {quote(' '.join(words))}.", hint
        )

    from jupyter_funcs.client.cache import Cache

    results = Cache()  # it can be looked at without a service to connect to
    if (session := line.sessions.connected()) is not None:
        results = session.cache
    if words:
        return results.clear()
    return results.status()


def docs(line: Line) -> Any:
    from jupyter_funcs.core.guide import guide_page

    return guide_page(line.text)


def lasterror(line: Line) -> Any:
    text = masked_traceback(last_traceback()).rstrip()
    return _printed_or_returned(
        text, text or "No error has been shown in this kernel yet.", line
    )
