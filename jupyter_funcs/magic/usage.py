"""The subcommands and options of `%funcs` as tables, and what is made from them: the parser and the help."""

from __future__ import annotations

import argparse
import math
import re
from textwrap import TextWrapper
from typing import TYPE_CHECKING, NamedTuple

from jupyter_funcs.core.line import Parser, unquoted
from jupyter_funcs.core.text import quote

if TYPE_CHECKING:
    from collections.abc import Callable

_VARIABLE = re.compile(r"\$\w+")
# Also 1,000,000, as messages write it.
_COUNT = re.compile(r"(?a)\d{1,18}|\d{1,3}(?:,\d{3}){1,5}")

_WIDTH = 80


class Subcommand(NamedTuple):
    """What the help says about a subcommand; `subcommands.py` has a function of the same name that runs it."""

    takes: str
    does: str
    example: str
    more: str = ""

    @property
    def takes_arguments(self) -> bool:
        return "k=" in self.takes

    @property
    def words(self) -> list[str]:
        """The words to choose from, as in ``[on|off]``; none if it takes something else."""
        if self.takes.islower() and not self.takes_arguments:
            return self.takes.strip("[]").split("|")
        return []


class Option(NamedTuple):
    """An option: its value, what it does, and the subcommands that take it."""

    value: str
    does: str
    subcommands: tuple[str, ...]


def without_tables(name: str, words: list[str]) -> tuple[list[str], list[str]]:
    """Return the words after a subcommand, and those of a sweep that aren't values: each ``$variable`` is a table."""
    tables = [word for word in words if name == "sweep" and _VARIABLE.fullmatch(word)]
    return [word for word in words if word not in tables], tables


_ARGUMENTS = """\
NAME is the function's name in quotes, its slug (get_panel_daily) or its id.
A value is text, 'quoted text', a list [a, b, c] or $variable."""

SUBCOMMANDS = {
    "find": Subcommand(
        "[WORD …]",
        "list the functions that contain all these words",
        "%funcs find panel daily",
        "Without words it lists the whole catalog.",
    ),
    "describe": Subcommand(
        "[NAME]",
        "show a function's parameters, or what was left out",
        "%funcs describe get_panel_daily",
    ),
    "call": Subcommand(
        "NAME k=v …",
        "run a function and return a DataFrame",
        """\
df = %funcs call get_panel_daily PanelName="Demo Card Panel" Symbol=BKQU

%%funcs call get_panel_daily -o df
PanelName: Demo Card Panel
Symbol: BKQU
Dimensions: [Region]""",
        f"""\
{_ARGUMENTS}
Quotes and backslashes work as in a shell. {{braces}} and a $ inside text are left as they are.
End the line with ; to display nothing.""",
    ),
    "sweep": Subcommand(
        "NAME k=[a,b] …",
        "run a function once per value of the lists and return one DataFrame",
        """\
df = %funcs sweep get_panel_daily PanelName="Demo Card Panel" Symbol=[BKQU, NVRA]

%%funcs sweep get_panel_daily --dry-run
PanelName: Demo Card Panel
Symbol: [BKQU, NVRA]
Dimensions: [[Region], [Region, Brand]]""",
        f"""\
{_ARGUMENTS}
Each combination of the lists' values is one run. A parameter that takes a list is swept with [[a], [b, c]].
$table, without a name, is a DataFrame of arguments: each row is one run.
After an interrupt, the same line resumes the sweep.""",
    ),
    "panel": Subcommand(
        "NAME k=v …",
        "open the panel with values filled in",
        '%funcs panel get_panel_daily PanelName="Demo Card Panel" Symbol="BKQU US EQUITY"',
        f"""\
{_ARGUMENTS}
Without a name, the panel opens with no function chosen.
With --run, -o NAME shows the panel, waits for its result and assigns that to NAME.""",
    ),
    "open": Subcommand(
        "LINK",
        "open the panel with the function and the values of a link",
        '%funcs open "?funcs=Get+Panel+Daily&Symbol=BKQU"',
        "Copy link, in the panel's ⋯ menu, makes one. It has no token, and nothing runs by itself.",
    ),
    "result": Subcommand(
        "", "return the DataFrame of the panel opened last", "df = %funcs result"
    ),
    "history": Subcommand(
        "[on|off|clear]",
        "show the runs so far; on and off: save runs for later kernels, or stop",
        "%funcs history\n%funcs history on\n%funcs history --all",
        """\
Without a word it shows a table. on saves functions, arguments and times, but no results.
--all includes the runs of other kernels: %funcs again 14/3 runs one of those again.
clear deletes all saved runs.""",
    ),
    "again": Subcommand(
        "N",
        "run number N of the history again",
        "before = %funcs call get_panels\nnow = %funcs again 1",
    ),
    "lock": Subcommand(
        "[NAME …]",
        "record in funcs.lock the parameters of these functions, or of all that were run",
        "%funcs lock\n%funcs lock get_panel_daily get_panels\n%funcs lock --check",
        "Later runs of a locked function report parameters that were renamed or removed, or became required.",
    ),
    "connect": Subcommand(
        "[PROFILE|URL]",
        "switch to another service (default: the configured one), logging in if needed",
        "%funcs connect work",
        """\
It takes no token: a profile says where its token is, and FUNCS_TOKEN belongs to FUNCS_BASE_URL.
The functions are listed at once. If that fails, the current service stays in use.""",
    ),
    "status": Subcommand(
        "",
        "show the service, whether it answers, your user name and when the token expires",
        "%funcs status",
    ),
    "refresh": Subcommand("", "list the functions again", "%funcs refresh"),
    "cache": Subcommand(
        "[clear]",
        "show where results are cached, how many and how old; clear deletes them",
        "%funcs cache clear",
        """\
A sweep caches its results and uses cached ones that are recent enough, so it resumes after an interrupt.
A single run does the same with with_options(cache=True).""",
    ),
    "docs": Subcommand(
        "[TOPIC]",
        "show a page of the guide, or list its topics",
        "%funcs docs sweeps",
    ),
    "lasterror": Subcommand(
        "", "print the full traceback of the last error", "%funcs lasterror"
    ),
}
ALIASES = {"list": "find", "run": "call"}
NAMES = [
    name
    for command in SUBCOMMANDS
    for name in (command, *(a for a, of in ALIASES.items() if of == command))
]

_RUN = ("call", "sweep", "panel")
_SWEEP = ("sweep",)
_USE_A_SERVICE = (
    "find",
    "describe",
    *_RUN,
    "history",
    "again",
    "lock",
    "status",
    "refresh",
)
OPTIONS = {
    "-o/--output": Option(
        "NAME",
        "assign the result to the variable NAME and display nothing",
        tuple(SUBCOMMANDS),
    ),
    "-q/--quiet": Option(
        "",
        "hide the progress bar, and warnings except that rows are missing",
        tuple(SUBCOMMANDS),
    ),
    "--dry-run": Option("", "print the JSON that would be sent", ("call", "sweep")),
    "--timeout": Option(
        "SECONDS", "time limit of a run, or of waiting for a result", (*_RUN, "result")
    ),
    "--keep": Option(
        "", "let the service keep the run and its result: jf.kept(job.id)", ("call",)
    ),
    "--force": Option(
        "", "send even while requests are paused after repeated failures", _RUN
    ),
    "--pairs": Option(
        "", "pair the lists item by item instead of combining them", _SWEEP
    ),
    "--to": Option(
        "FOLDER",
        "write the results to a folder of Parquet files and return a dataset",
        _SWEEP,
    ),
    "--no-cache": Option("", "run everything again and cache nothing on disk", _SWEEP),
    "--max-age": Option("SECONDS", "maximum age of a cached result (3600)", _SWEEP),
    "--concurrency": Option("N", "maximum number of runs at a time (32)", _SWEEP),
    "--most-runs": Option(
        "N", "allow up to N runs (10,000; 1 if they change data)", _SWEEP
    ),
    "--executor": Option(
        "$NAME", "a variable with the concurrent.futures.Executor to run on", _SWEEP
    ),
    "--all": Option(
        "",
        "get all pages of a list; of the history: include the runs saved by other kernels",
        (*_RUN, "history"),
    ),
    "--check": Option(
        "", "compare with funcs.lock and fail if anything has changed", ("lock",)
    ),
    "--profile": Option(
        "NAME", "use another service for this line only", _USE_A_SERVICE
    ),
    "--background": Option(
        "",
        "return a Job at once: job.result() waits for the DataFrame",
        ("call", "sweep"),
    ),
    "--run": Option("", "run it at once, as a cell of Run All does", ("panel",)),
    "--wait": Option(
        "", "run the panel's function in the cell and return its DataFrame", ("panel",)
    ),
    "-h/--help": Option(
        "",
        "show this text, as %funcs help does; after a subcommand, its own",
        tuple(SUBCOMMANDS),
    ),
}


def subcommand(name: str) -> Subcommand:
    """Return a subcommand by its name or alias."""
    return SUBCOMMANDS[ALIASES.get(name, name)]


def taken_by(option: str) -> list[str]:
    """Return the subcommands, including aliases, that take an option of `OPTIONS`."""
    return [
        name for name in NAMES if ALIASES.get(name, name) in OPTIONS[option].subcommands
    ]


def usage() -> str:
    """Return the help of `%funcs`."""
    rows = [("%funcs", "open the panel")]
    for name, row in SUBCOMMANDS.items():
        also = "".join(
            f" (also: {alias})" for alias, of in ALIASES.items() if of == name
        )
        rows.append((_synopsis(name), f"{row.does}{also}"))

    rows.append(
        (
            "%%funcs call NAME",
            "take the arguments from the cell: `key: value` lines or one JSON object",
        )
    )
    options = [(_spelling(name), option.does) for name, option in OPTIONS.items()]
    return "\n".join([*_table(rows), "", _ARGUMENTS, "", *_table(options)])


def usage_of(name: str) -> str:
    """Return the help of one subcommand, with an example, or without a name that of `%funcs`."""
    if not name:
        return usage()
    name = ALIASES.get(name, name)
    row = SUBCOMMANDS[name]
    options = [
        (_spelling(spelt), option.does)
        for spelt, option in OPTIONS.items()
        if name in option.subcommands
    ]
    text = [_synopsis(name), f"    {row.does}", ""]
    if row.more:
        text += [row.more, ""]
    return "\n".join([*text, *_table(options, 20), "", "For example:", "", row.example])


def _synopsis(name: str) -> str:
    return f"%funcs {name} {SUBCOMMANDS[name].takes}".rstrip()


def _spelling(option: str) -> str:
    return f"{option.replace('/', ', ')} {OPTIONS[option].value}".rstrip()


def _table(rows: list[tuple[str, str]], width: int = 30) -> list[str]:
    # Narrow enough for a notebook beside others, which breaks longer lines within words.
    below = TextWrapper(
        _WIDTH, subsequent_indent=" " * (width + 2), break_on_hyphens=False
    )
    return [
        line for left, right in rows for line in below.wrap(f"{left:<{width}}  {right}")
    ]


def parser() -> Parser:
    """Return the parser of a line."""
    made = Parser(prog="%funcs", add_help=False, allow_abbrev=False)
    made.add_argument("words", nargs="*")
    for name, option in OPTIONS.items():
        if option.value:
            made.add_argument(
                *name.split("/"),
                type=_READERS.get(option.value, unquoted),
                metavar=option.value,
            )
        else:
            made.add_argument(*name.split("/"), action="store_true", default=None)

    return made


def _seconds(text: str) -> float:
    try:
        value = float(unquoted(text))
    except ValueError:
        value = math.nan

    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(
            f"expected a number of seconds above 0, not {quote(text)}"
        )

    return value


def _count(text: str) -> int:
    written = unquoted(text)
    if not _COUNT.fullmatch(written) or int(written.replace(",", "")) == 0:
        raise argparse.ArgumentTypeError(
            f"expected a whole number above 0, not {quote(text)}"
        )
    return int(written.replace(",", ""))


# FOLDER and $NAME may name a variable, which is looked up where the user's variables are known.
_READERS: dict[str, Callable[[str], object]] = {
    "SECONDS": _seconds,
    "N": _count,
    "FOLDER": str,
    "$NAME": str,
}
