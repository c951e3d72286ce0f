"""The command ``jupyter funcs check``: load functions as the service does, and show their forms in the terminal."""

from __future__ import annotations

import json
import logging
import sys
from typing import TYPE_CHECKING

from jupyter_funcs.catalog.fields import read_fields
from jupyter_funcs.catalog.listing import Function, parse_listing
from jupyter_funcs.catalog.values import in_words
from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.core.text import inert, plural
from jupyter_funcs.frames.text_tables import table_text, terminal_width
from jupyter_funcs.service.config.settings import load
from jupyter_funcs.service.server import hosted

if TYPE_CHECKING:
    import argparse


_HEADINGS = ("field", "control", "required", "default", "options", "help")


def check(options: argparse.Namespace) -> None:
    """Print the form of each function to the standard output, and what is wrong to the standard error."""
    settings = load(options.config)
    functions = settings.functions
    if options.folders:
        # Workers have their own folder.
        folders = tuple(folder.expanduser().absolute() for folder in options.folders)
        functions = functions.model_copy(
            update={"folders": folders, "entry_points": False}
        )

    if not functions.folders and not functions.entry_points:
        raise SetupError(
            "Which functions? Name their folder: jupyter funcs check FOLDER, or --config FILE."
        )

    if not options.timeout > 0:
        raise SetupError(
            f"--timeout must be a positive number of seconds, not {options.timeout:g}."
        )

    server = settings.server.model_copy(update={"run_seconds": options.timeout})
    settings = settings.model_copy(update={"functions": functions, "server": server})
    log = logging.getLogger("jupyter_funcs.service")
    printed = logging.StreamHandler()
    level = log.level
    log.setLevel(logging.INFO)  # with what the files print
    log.addHandler(printed)
    try:
        published, listing, problems = hosted.check(settings)
    finally:
        log.removeHandler(printed)
        log.setLevel(level)

    places = {function.name: function.place for function in published}
    for function in parse_listing(json.dumps(listing).encode()):
        print(preview(function, places.get(function.name, "")), end="\n\n")
    for text in problems:
        print(text, end="\n\n", file=sys.stderr)
    count = plural(len(published), "function")
    if problems:
        raise SetupError(f"{plural(len(problems), 'error')}; {count} can be published.")
    if not published:
        where = ", ".join(map(str, settings.functions.folders))
        what = "Add @function to a Python function, or a cell tagged 'parameters' to a notebook."
        raise SetupError(f"No function to publish in {where}.\n{what}")

    print(f"No errors; {count} can be published.")


def preview(function: Function, place: str) -> str:
    """Return a function with its form, as text."""
    texts = dict.fromkeys((function.name, function.asset_name, function.group, place))
    lines = [inert(" · ".join(filter(None, texts)))]
    lines += [
        f"  {inert(line)}" for line in function.about.splitlines() if line.strip()
    ]
    fields = read_fields(function)
    rows = [
        map(inert, (field.label, str(field.kind), *in_words(field), field.brief))
        for field in fields
    ]
    columns = [
        column for column in zip(_HEADINGS, *rows, strict=True) if any(column[1:])
    ]
    table = "(no parameters)"
    if rows:
        table = table_text(columns, [False] * len(columns), terminal_width() - 4)
    return "\n".join([*lines, *(f"    {line}" for line in table.splitlines())])
