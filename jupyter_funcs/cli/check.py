"""The command ``jupyter funcs check``: load functions as the service does, and show their forms in the terminal."""

from __future__ import annotations

import json
import logging
import sys
from typing import TYPE_CHECKING

from jupyter_funcs.catalog.fields import read_fields
from jupyter_funcs.catalog.listing import Function, parse_listing
from jupyter_funcs.catalog.values import in_words
from jupyter_funcs.core.text import inert
from jupyter_funcs.frames.tables import table_text, terminal_width
from jupyter_funcs.service.config.settings import load
from jupyter_funcs.service.messages import SetupError
from jupyter_funcs.service.server import hosted

if TYPE_CHECKING:
    import argparse


_HEADINGS = ("field", "control", "required", "default", "options", "help")


def check(given: argparse.Namespace) -> None:
    """Print the form of each function to the standard output, and what is wrong to the standard error."""
    settings = load(given.config)
    if given.folders:
        folders = tuple(each.expanduser().absolute() for each in given.folders)  # workers have folders of their own
        own = settings.functions.model_copy(update={"folders": folders, "entry_points": False})
        settings = settings.model_copy(update={"functions": own})
    if not settings.functions.folders and not settings.functions.entry_points:
        raise SetupError("Which functions? Name their folder: jupyter funcs check FOLDER, or --config FILE.")
    if not given.timeout > 0:
        raise SetupError(f"--timeout must be a positive number of seconds, not {given.timeout:g}.")
    limited = settings.server.model_copy(update={"run_seconds": given.timeout})
    log, printed = logging.getLogger("jupyter_funcs.service"), logging.StreamHandler()
    level = log.level
    log.setLevel(logging.INFO)  # with what the files print
    log.addHandler(printed)
    try:
        functions, listing, problems = hosted.check(settings.model_copy(update={"server": limited}))
    finally:
        log.removeHandler(printed)
        log.setLevel(level)
    places = {each.name: each.place for each in functions}
    for each in parse_listing(json.dumps(listing).encode()):
        print(preview(each, places.get(each.name, "")), end="\n\n")
    for text in problems:
        print(text, end="\n\n", file=sys.stderr)
    count = "1 function" if len(functions) == 1 else f"{len(functions)} functions"
    if problems:
        raise SetupError(f"{len(problems)} error{'s' * (len(problems) > 1)}; {count} can be published.")
    if not functions:
        where = ", ".join(map(str, settings.functions.folders))
        what = "Add @function to a Python function, or a cell tagged 'parameters' to a notebook."
        raise SetupError(f"No function to publish in {where}.\n{what}")
    print(f"No errors; {count} can be published.")


def preview(function: Function, place: str) -> str:
    """Return a function with its form, as text."""
    texts = dict.fromkeys((function.name, function.asset_name, function.group, place))
    lines = [inert(" · ".join(filter(None, texts)))]
    lines += [f"  {inert(line)}" for line in function.about.splitlines() if line.strip()]
    fields = read_fields(function)
    rows = [map(inert, (field.label, str(field.kind), *in_words(field), field.brief)) for field in fields]
    columns = [column for column in zip(_HEADINGS, *rows, strict=True) if any(column[1:])]
    table = table_text(columns, [False] * len(columns), terminal_width() - 4) if rows else "(no parameters)"
    return "\n".join([*lines, *(f"    {line}" for line in table.splitlines())])
