"""What %funcs takes: its commands and options as tables, the parser that reads them, and the texts of --help."""

from __future__ import annotations

import argparse
import math
import re
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from jupyter_funcs.errors import ArgumentError, ConfigError
from jupyter_funcs.line import unquoted
from jupyter_funcs.text import did_you_mean, quote

if TYPE_CHECKING:
    from collections.abc import Callable

ROTATE = "What is typed is kept in a history: set FUNCS_TOKEN. If you wrote a token here, have it replaced."
_NO_HYPHENS = "An argument has no hyphens: name=value."
_COUNT = re.compile(r"\d{1,18}|\d{1,3}(?:,\d{3}){1,5}", re.ASCII)  # 1,000,000 too, as messages have it
_SECRET_OPTION = re.compile(r"(?i)--?\w*(?:token|key|secret|password)")


class Command(NamedTuple):
    """
    A command of %funcs.

    Attributes
    ----------
    takes
        What stands behind it, as its usage names it.
    does
        What it does, in a few words.
    example
        A line that works with the demo, and the cell's body below it where there is one.
    more
        What else there is to know, for its own --help.
    """

    takes: str
    does: str
    example: str
    more: str = ""


class Option(NamedTuple):
    """
    An option of %funcs.

    Attributes
    ----------
    value
        What stands behind it, as its usage names it; empty for a switch.
    does
        What it does, in a few words.
    commands
        Those that take it.
    """

    value: str
    does: str
    commands: tuple[str, ...]


_ARGUMENTS = """\
NAME is the name in quotes, the slug (get_panel_daily) or the id.
A value is text, 'quoted text', [a, b, c] or $variable."""
_VALUES = f"""\
{_ARGUMENTS}
Quotes and backslashes are read as a shell reads them; {{braces}} and a $ within a text stay as they are."""

COMMANDS = {
    "find": Command("WORDS", "the catalog as a table", "%funcs find panel daily", "Without words it is all of it."),
    "describe": Command("NAME", "a function's parameters as a table", "%funcs describe get_panel_daily"),
    "call": Command(
        "NAME k=v …",
        "run it; gives a DataFrame",
        'df = %funcs call get_panel_daily PanelName="Demo Card Panel" Symbol="BKQU US EQUITY" Dimensions=[Region]\n\n'
        "%%funcs call get_panel_daily -o df\nPanelName: Demo Card Panel\nSymbol: BKQU US EQUITY",
        _VALUES + "\nA ; at the end shows nothing.",
    ),
    "sweep": Command(
        "NAME k=[a,b] …",
        "run it for each value of the lists; gives one DataFrame",
        'df = %funcs sweep get_panel_daily PanelName="Demo Card Panel" Symbol=[BKQU, NVRA] -q\n\n'
        "%%funcs sweep get_panel_daily --dry-run\n"
        "PanelName: Demo Card Panel\nSymbol: [BKQU, NVRA]\nDimensions: [[Region], [Region, Brand]]",
        _ARGUMENTS
        + """
A list is swept: every combination of what the lists hold is run. What takes a list itself is swept by [[a], [b, c]].
$table, without a name, is a DataFrame of arguments, a row a run. The same line goes on where it was interrupted.""",
    ),
    "panel": Command(
        "NAME k=v …",
        "open the panel with values filled in",
        '%funcs panel get_panel_daily PanelName="Demo Card Panel" Symbol="BKQU US EQUITY"',
        _ARGUMENTS + "\nWithout a name nothing is chosen yet.",
    ),
    "result": Command("", "the DataFrame of the panel opened last", "df = %funcs result"),
    "history": Command(
        "on|off|clear",
        "the runs so far; on and off: whether they are kept for later kernels",
        "%funcs history\n%funcs history on\n%funcs history --all",
        "Without a word it is a table. on keeps functions, arguments and times, no results; --all shows what other\n"
        "kernels kept, and %funcs again 14/3 runs such a one again; clear deletes all that is kept.",
    ),
    "again": Command(
        "N",
        "run number N of the history again; gives a DataFrame",
        "before = %funcs call get_panels\nnow = %funcs again 1",
    ),
    "lock": Command(
        "[NAME …]",
        "write down in funcs.lock what these functions take, or those run so far",
        "%funcs lock\n%funcs lock get_panel_daily get_panels\n%funcs lock --check",
        "A later run of a locked function says which of its parameters was renamed, removed or became required.",
    ),
    "connect": Command(
        "PROFILE|URL",
        "use another service, logging in where that is needed; without one, the configured",
        "%funcs connect work",
        "No token is taken here: a profile says where its token is, and FUNCS_TOKEN is that of FUNCS_BASE_URL.\n"
        "The functions are listed at once; where that fails, the service in use stays.",
    ),
    "status": Command("", "which service is in use, who you are there, how long the token lasts", "%funcs status"),
    "refresh": Command("", "list the functions again", "%funcs refresh"),
    "cache": Command(
        "[clear]",
        "where results are kept on disk, how many and how old; clear removes them",
        "%funcs cache clear",
        "A sweep keeps its results there, and takes those from there that are not too old; so it goes on where it was\n"
        "interrupted. A single run does so with with_options(cache=True).",
    ),
    "lasterror": Command("", "the whole traceback of the last error", "%funcs lasterror"),
}
ALIASES = {"list": "find", "run": "call"}
NAMES = [name for command in COMMANDS for name in [command, *(also for also, of in ALIASES.items() if of == command)]]

_ASK = ("find", "describe", "call", "sweep", "panel", "history", "again", "lock", "status", "refresh")
OPTIONS = {
    "-o/--output": Option("NAME", "bind the result to NAME and show nothing", tuple(COMMANDS)),
    "-q/--quiet": Option("", "no warnings, and no progress bar", tuple(COMMANDS)),
    "--dry-run": Option("", "print the JSON that would be sent", ("call", "sweep")),
    "--timeout": Option("SECONDS", "for a run, or to wait for a result", ("call", "sweep", "panel", "result")),
    "--force": Option("", "send it although the service is left alone for its failures", ("call", "sweep", "panel")),
    "--pairs": Option("", "the first of each list, then the second, …; not every combination", ("sweep",)),
    "--to": Option("FOLDER", "keep the results there as Parquet files, and give a dataset", ("sweep",)),
    "--no-cache": Option("", "run all of it anew, and keep none of it on disk", ("sweep",)),
    "--max-age": Option("SECONDS", "how old a result of the cache may be (3600)", ("sweep",)),
    "--concurrency": Option("N", "how many runs go on at a time (32)", ("sweep",)),
    "--most-runs": Option("N", "go ahead with up to N runs without asking (10,000)", ("sweep",)),
    "--executor": Option("$NAME", "a variable that holds the concurrent.futures.Executor to run on", ("sweep",)),
    "--all": Option("", "the runs that other kernels kept, too", ("history",)),
    "--check": Option("", "compare with funcs.lock, and fail where anything has changed", ("lock",)),
    "--profile": Option("NAME", "another service, for this line only", _ASK),
    "--wait": Option("", "run the panel's function at once, and give its DataFrame", ("panel",)),
    "-h/--help": Option("", "this text; that of a command behind it", tuple(COMMANDS)),
}


def taken_by(option: str) -> list[str]:
    """Give the commands, aliases among them, that take an option, which is named as in `OPTIONS`."""
    return [name for name in NAMES if ALIASES.get(name, name) in OPTIONS[option].commands]


def _usage(command: str) -> str:
    return f"%funcs {command} {COMMANDS[command].takes}".rstrip()


def _spelt(option: str) -> str:
    return f"{option.replace('/', ', ')} {OPTIONS[option].value}".rstrip()


def usage() -> str:
    """Give the usage of all commands."""
    lines = [f"{'%funcs':<28}  open the panel"]
    for name, command in COMMANDS.items():
        also = "".join(f" (also: {alias})" for alias, of in ALIASES.items() if of == name)
        lines.append(f"{_usage(name):<28}  {command.does}{also}")
    lines.append(
        f"{'%%funcs call NAME':<28}  the same, with a `key: value` line an argument, or one JSON object, below it"
    )
    options = [f"{_spelt(spelt):<28}  {option.does}" for spelt, option in OPTIONS.items()]
    return "\n".join([*lines, "", _ARGUMENTS, "", *options])


def usage_of(name: str) -> str:
    """Give the usage of one command, with an example."""
    name = ALIASES.get(name, name)
    command = COMMANDS[name]
    lines = [_usage(name), f"    {command.does}", ""]
    if command.more:
        lines += [command.more, ""]
    lines += [f"{_spelt(spelt):<20}  {option.does}" for spelt, option in OPTIONS.items() if name in option.commands]
    return "\n".join([*lines, "", "For example:", "", command.example])


class Parser(argparse.ArgumentParser):
    """argparse, with errors of ours, which repeat no value of an option that is unknown: it may be a token."""

    def error(self, message: str) -> NoReturn:
        """Raise the message as an error of ours."""
        if _SECRET_OPTION.search(message):
            raise ConfigError("No option takes a token.", ROTATE)
        said = re.sub(r"(?<![\w-])(--?[\w-]+)=\S*", r"\1", message).removeprefix("argument ")
        hint = f"See {self.prog} --help."
        if unknown := re.match(r"unrecognized arguments: (--?[\w-]*)", said):
            said = f"there is no option {quote(unknown[1])}"
            # Any letter is near to any option that has it.
            near = did_you_mean(unknown[1], self._option_string_actions) if len(unknown[1].strip("-")) > 1 else ""
            hint = near or f"{_NO_HYPHENS} {hint}"
        elif lacks := re.fullmatch(r"(?:-\w/)?(--[\w-]+): expected one argument", said):
            said = f"{lacks[1]} takes {self._option_string_actions[lacks[1]].metavar or 'a value'} behind it"
        elif other := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", said):
            hint = did_you_mean(other[1], re.findall(r"[\w-]+", other[2])) or hint
        raise ArgumentError(f"{self.prog}: {said}.", hint)


def parser() -> Parser:
    """Give the parser of a line of %funcs."""
    made = Parser(prog="%funcs", add_help=False, allow_abbrev=False)
    made.add_argument("words", nargs="*")
    for spelt, option in OPTIONS.items():
        if option.value:
            kind = _READ.get(option.value, unquoted)
            made.add_argument(*spelt.split("/"), type=kind, metavar=option.value)
        else:
            made.add_argument(*spelt.split("/"), action="store_true")
    return made


def _seconds(text: str) -> float:
    try:
        value = float(unquoted(text))
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"give seconds, more than 0, and not {quote(text)}")
    return value


def _count(text: str) -> int:
    written = unquoted(text)
    if not _COUNT.fullmatch(written) or int(written.replace(",", "")) == 0:
        raise argparse.ArgumentTypeError(f"give a whole number from 1, and not {quote(text)}")
    return int(written.replace(",", ""))


# How an option's value is read. What may be a variable is read where variables are known.
_READ: dict[str, Callable[[str], object]] = {"SECONDS": _seconds, "N": _count, "FOLDER": str, "$NAME": str}
