"""A line of %funcs sweep: its table of arguments, its options, and what it would send."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from jupyter_funcs.errors import ArgumentError
from jupyter_funcs.line import read_word
from jupyter_funcs.text import listed

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from jupyter_funcs.callables import RemoteFunction

_VARIABLE = re.compile(r"\$\w+")
_SHOWN = 3


def table_among(words: Sequence[str], namespace: Mapping[str, Any]) -> tuple[list[str], pd.DataFrame | None]:
    """
    Part the words of a line from the table of arguments that stands among them, as ``$table``.

    Raises
    ------
    ArgumentError
        There is no such variable, or there are two.
    """
    named = [word for word in words if is_table(word)]
    if len(named) > 1:
        raise ArgumentError(
            f"A sweep takes one table of arguments, not {listed(named, 'and')}.", "Join them in Python."
        )
    rest = [word for word in words if not is_table(word)]
    return rest, read_word(named[0], namespace) if named else None


def is_table(word: str) -> bool:
    """Say whether a word names a variable, and no argument that it is the value of."""
    return _VARIABLE.fullmatch(word) is not None


def sweep_options(given: argparse.Namespace, namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Give the options of a line as `with_options` takes them: only those that the line names."""
    options = {
        "pairs": given.pairs or None,
        "to": None if given.to is None else read_word(given.to, namespace),
        "cache": False if given.no_cache else None,
        "max_age": given.max_age,
        "concurrency": given.concurrency,
        "most_runs": given.most_runs,
        "executor": None if given.executor is None else read_word(given.executor, namespace),
        "progress": False if given.quiet else None,
    }
    return {name: value for name, value in options.items() if value is not None}


def requests_of(
    function: RemoteFunction, table: pd.DataFrame | None, values: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """
    Give the JSON object of each run of a sweep, none of which is sent.

    Raises
    ------
    ArgumentError
        As `RemoteFunction.sweep`.
    """
    from jupyter_funcs.callables import request  # noqa: PLC0415  # what connects is imported on first use
    from jupyter_funcs.combos import combos  # noqa: PLC0415  # as above

    options = function.options
    found = combos(function, table, values, pairs=options.pairs, most=options.most_runs, validate=options.validate)
    return [request(function.name, args) for args in found.runs]


def first_of(requests: Sequence[Mapping[str, Any]]) -> str:
    """Give how many runs there would be, and the first of them, a line each."""
    number = len(requests)
    shown = [json.dumps(request, ensure_ascii=False) for request in requests[:_SHOWN]]
    runs = "1 run would be sent" if number == 1 else f"{number:,} runs would be sent"
    more = f", of which the first {_SHOWN} are" if number > _SHOWN else ""
    return "\n".join([f"{runs}{more}:", *shown])
