"""``jupyter funcs``: the command line of the client, and the commands of the local service."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from importlib import metadata, resources
from itertools import count
from mimetypes import types_map
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from jupyter_funcs.core.errors import ArgumentError, ConfigError, FuncsError, SetupError
from jupyter_funcs.core.files import atomic_write_bytes, named_error
from jupyter_funcs.core.line import Parser, given_twice, read_value
from jupyter_funcs.core.text import inert, listed, quote
from jupyter_funcs.core.warn import format_short

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    import pandas as pd

    from jupyter_funcs.api import Session
    from jupyter_funcs.frames.export import Format
    from jupyter_funcs.frames.media import ResultFile

    _Argument = tuple[tuple[str, ...], dict[str, Any]]  # of `add_argument`

_FORMATS = ("table", "csv", "json", "parquet", "xlsx")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``jupyter funcs`` (also ``jupyter-funcs``) and return the process's exit code."""
    # Without the line of this program's code that Python adds to a warning.
    before = warnings.formatwarning
    warnings.formatwarning = format_short
    try:
        words = list(sys.argv[1:] if arguments is None else arguments)
        if words[:1] in ([], ["help"]):
            words = [*words[1:], "--help"]
        options, rest = _parser().parse_known_args(words)
        _check_rest(rest, options.more)
        options.rest = rest
        options.command(options)
    except FuncsError as error:
        text = "\n".join(error._render_traceback_())  # as IPython shows it
    except SetupError as error:
        text = str(error)
    except ModuleNotFoundError as error:
        text = f"{error.name} is not installed.\npip install 'jupyter-funcs[service]'"
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `jupyter funcs list | head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    else:
        return 0
    finally:
        warnings.formatwarning = before

    _note(text)
    return 1


def _check_rest(rest: list[str], more: str) -> None:
    """Refuse the words that argparse doesn't know, except those that a command takes: any, or only values."""
    option = next((word.partition("=")[0] for word in rest if word.startswith("-")), "")
    if option and more != "any":
        _parser().error(f"unknown option {option}")
    if rest and not more:
        _parser().error(f"unexpected argument {quote(rest[0])}")


def _note(text: str) -> None:
    print(text, file=sys.stderr)


def _argument(*names: str, **settings: Any) -> _Argument:
    return names, settings


_FUNCTION = "its name, slug or id"
_RESULT = (
    _argument(
        "--format", choices=_FORMATS, help="default: the suffix of FILE, else table"
    ),
    _argument(
        "-o", "--output", type=Path, metavar="FILE", help="write the result to FILE"
    ),
)
_SERVICE = _argument(
    "--profile", metavar="PROFILE|URL", help="service to use (default: as configured)"
)


def _parser() -> Parser:
    about = "List and run the functions of a catalog, try the demo, or serve functions of your own."
    parser = Parser(prog="jupyter funcs", description=about)
    parser.add_argument(
        "--version",
        action="version",
        version=f"jupyter_funcs {metadata.version('jupyter-funcs')}",
    )
    parser.set_defaults(more="")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(
        name: str,
        run: Callable[[argparse.Namespace], None],
        does: str,
        *arguments: _Argument,
        more: str = "",
        **settings: Any,
    ) -> None:
        command = commands.add_parser(name, help=does, **settings)
        command.set_defaults(command=run, more=more)
        for names, options in arguments:
            command.add_argument(*names, **options)

    add(
        "demo",
        demo,
        "open JupyterLab with the quickstart and synthetic data",
        _argument(
            "--dir",
            type=Path,
            help="folder for the copied notebooks (default: a new temporary one)",
        ),
        more="any",
        description="Other options are passed to JupyterLab.",
    )
    add(
        "list",
        list_functions,
        "list all functions, or those that contain the WORDs",
        _argument("words", nargs="*", metavar="WORD"),
        *_RESULT,
        _SERVICE,
    )
    add(
        "describe",
        describe,
        "show the parameters of a function",
        _argument("words", nargs="+", metavar="FUNCTION", help=_FUNCTION),
        *_RESULT,
        _SERVICE,
    )
    add(
        "call",
        call,
        "run a function and write its result",
        _argument("name", metavar="FUNCTION", help=_FUNCTION),
        _argument(
            "arguments",
            nargs="*",
            metavar="NAME=VALUE",
            help="write a list as [a, b, c]",
        ),
        _argument(
            "--timeout",
            type=float,
            metavar="SECONDS",
            help="time limit (default: the profile's, else the service's)",
        ),
        _argument(
            "--all",
            action="store_const",
            const="all",
            dest="pages",
            help="get all pages of a list",
        ),
        *_RESULT,
        _SERVICE,
        more="values",  # argparse takes those after an option for unknown words
    )
    add(
        "login",
        login,
        "log in, and store the token in the system keyring",
        _argument(
            "--profile",
            metavar="PROFILE",
            help="profile to log in with (default: as configured)",
        ),
    )
    add(
        "stubs",
        write_stubs,
        "write a typed module of the functions, for editors and mypy",
        _argument(
            "-o",
            "--output",
            type=Path,
            default=Path(),
            metavar="DIR",
            help="default: this folder",
        ),
        _SERVICE,
    )
    only = (
        "serve only functions whose name or slug matches, such as 'get_*' (repeatable)"
    )
    read_only = "tell the assistant that these functions change nothing, which a catalog doesn't say"
    add(
        "mcp",
        serve_mcp,
        "serve the functions to an assistant, as MCP tools over stdio",
        _argument("--only", action="append", default=[], metavar="PATTERN", help=only),
        _argument("--declare-read-only", action="store_true", help=read_only),
        _SERVICE,
    )
    add(
        "docs",
        docs,
        "show a page of the guide, or list its topics",
        _argument("topic", nargs="?", default="", metavar="TOPIC"),
    )
    limit = "time limit for importing a file (default: 60)"
    add(
        "check",
        check,
        "check functions that you publish, and show the form of each",
        _argument(
            "folders",
            nargs="*",
            type=Path,
            metavar="FOLDER",
            help="default: as configured",
        ),
        _argument(
            "--config",
            type=Path,
            metavar="FILE",
            help="the configuration of the service",
        ),
        _argument("--timeout", type=float, default=60, metavar="SECONDS", help=limit),
        description="Nothing is served. The exit code is 1 if there is an error.",
    )
    add("enable", enable, "load %%funcs in every notebook of this environment")
    add("disable", disable, "undo enable")
    try:
        from jupyter_funcs.service.server import admin, serving
    except ModuleNotFoundError:  # only the client is installed
        for name in ("serve", "token", "admin"):
            # As a command, it raises what `main` explains.
            add(name, check, "needs jupyter-funcs[service]", more="any", add_help=False)
    else:
        serving.add_serve(commands)
        admin.add_token(commands)
        admin.add_admin(commands)

    return parser


def _session(options: argparse.Namespace) -> Session:
    from jupyter_funcs.api import connect

    return connect(options.profile)


def demo(options: argparse.Namespace) -> None:
    """Open JupyterLab on a copy of the notebooks, which leaves the originals unchanged."""
    if options.dir is None:
        folder = Path(tempfile.mkdtemp(prefix="jupyter-funcs-"))
    else:
        folder = options.dir.expanduser()

    copy_notebooks(folder)
    if options.dir is None:
        print(f"Opening a copy of the notebooks in the temporary folder {folder}.")
        print(
            "To keep what you change, name a folder of your own: jupyter funcs demo --dir DIR"
        )
    else:
        print(
            f"Opening the notebooks in {folder}. Those that were there already are as you left them."
        )

    try:
        from jupyterlab.labapp import LabApp
    except ModuleNotFoundError:
        raise ConfigError(
            "JupyterLab is not installed.", "pip install 'jupyter-funcs[lab]'"
        ) from None

    # Containers run as root; the server listens on this machine only and asks for a token.
    as_root = []
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        as_root = ["--allow-root"]
    # As a URL and not as a file to open, so that the address that the server prints leads there too.
    where = [
        f"--ServerApp.root_dir={folder}",
        "--LabApp.default_url=/lab/tree/quickstart.ipynb",
    ]
    LabApp.launch_instance([*where, *as_root, *options.rest])


def copy_notebooks(folder: Path) -> None:
    """Copy the notebooks into a folder; those that exist there stay as they are."""
    package = Path(str(resources.files("jupyter_funcs")))
    # In the wheel; in a clone the notebooks are next to the package.
    source = package / "notebooks"
    if not source.is_dir():
        source = package.parent / "notebooks"
    with named_error(folder, "Choose another folder with --dir."):
        folder.mkdir(parents=True, exist_ok=True)
        for notebook in sorted(source.glob("*.ipynb")):
            if not (folder / notebook.name).exists():
                atomic_write_bytes(folder / notebook.name, notebook.read_bytes())


def list_functions(options: argparse.Namespace) -> None:
    from jupyter_funcs.client.status import no_functions

    session = _session(options)
    functions = session.find(" ".join(options.words))
    _write_listing(functions, options)
    if functions.empty and session.names:
        _note("No function matches. jupyter funcs list, without words, lists them all.")
    elif functions.empty:
        _note(no_functions(session.service, session.kind))


def describe(options: argparse.Namespace) -> None:
    function = _session(options)[" ".join(options.words)]
    described = function.describe()
    _write_listing(described, options)
    if described.empty:
        _note(f"{inert(function.name)} takes no parameters.")


def _write_listing(listing: pd.DataFrame, options: argparse.Namespace) -> None:
    from jupyter_funcs.frames.export import save

    file_format = _format(options)
    if file_format != "table" or options.output is not None or not sys.stdout.isatty():
        save(listing, options.output or sys.stdout, file_format)
    elif not listing.empty:
        print(listing)  # wrapped at the terminal's width


def call(options: argparse.Namespace) -> None:
    from jupyter_funcs.catalog.form import with_json
    from jupyter_funcs.frames.export import BINARY, save
    from jupyter_funcs.frames.media import file_of

    values = _read_arguments([*options.arguments, *options.rest])
    function = _session(options)[options.name].with_options(
        timeout=options.timeout, pages=options.pages
    )
    suffix = _suffix(options)
    # Files of this ending have a type, and no table is written to one.
    is_of_a_file = suffix in types_map and suffix[1:] not in {*_FORMATS, "txt", "xls"}
    is_of_a_file &= options.format is None
    file_format = "csv" if is_of_a_file else _format(options)
    output = options.output
    if file_format in BINARY and output is None and sys.stdout.isatty():
        raise ArgumentError(
            f"A terminal can't show {BINARY[file_format]}.",
            "Write it to a file: -o FILE.",
        )

    frame = function(**with_json(function.form(), values))
    if (
        options.format is None
        and suffix[1:] not in _FORMATS
        and (file := file_of(frame))
    ):
        _write_file(frame, file, function.slug, output)
        return

    if is_of_a_file:
        output = _free(output.with_suffix(".csv"))
        _note(f"The result is a table, which is in {output}.")

    save(frame, output or sys.stdout, file_format)
    if not len(frame):
        _note(f"{inert(function.name)} returned no rows.")


def _read_arguments(words: list[str]) -> dict[str, Any]:
    values = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise ArgumentError(
                f"{quote(word)} isn't an argument.",
                "Write NAME=VALUE, with quotes if it contains spaces.",
            )
        if name in values:
            raise given_twice(name)
        # The shell has expanded its own variables already.
        values[name] = value if value.startswith("$") else read_value(value, {})

    return values


def _write_file(
    frame: pd.DataFrame, file: ResultFile, name: str, output: Path | None
) -> None:
    """Write a result that is a file to a path, into a folder, or to the standard output, where that can take it."""
    from jupyter_funcs.frames.export import save

    stream = sys.stdout if file.is_text else sys.stdout.buffer
    if output is None and stream is not sys.stdout and sys.stdout.isatty():
        output = Path()
    if output and output.is_dir():
        output = _free(output / f"{name}{file.ending}")
        _note(f"The result is in {output} ({file.about}).")

    save(frame, output or stream, "file")


def _free(path: Path) -> Path:
    """Return a path that no file has, numbered if need be."""
    free = path
    numbers = count(2)
    while free.exists():
        free = path.with_stem(f"{path.stem}-{next(numbers)}")
    return free


def _suffix(options: argparse.Namespace) -> str:
    return options.output.suffix.lower() if options.output else ""


def _format(options: argparse.Namespace) -> Format:
    suffix = _suffix(options).removeprefix(".")
    name = options.format or ("table" if suffix in {"", "txt"} else suffix)
    if name not in _FORMATS:
        raise ArgumentError(
            f"There is no format {quote(suffix)}.",
            f"Choose one: --format {listed(_FORMATS)}.",
        )

    return cast("Format", name)


def login(options: argparse.Namespace) -> None:
    from jupyter_funcs.connection.login import Login, OAuth, ServerLogin, ask_password

    session = _session(options)
    connection = session.remote.transport.connection
    if any(
        isinstance(token, OAuth | ServerLogin)
        for token in (connection.token, *connection.auth.values())
    ):
        print(session.ready().status())
        return

    source = connection.token
    if not isinstance(source, Login) or not source.in_keyring:
        raise ConfigError(
            "This profile has no login whose token is stored in the keyring.",
            'Add login = "EMAIL" and keep = "keyring" to a profile, and use --profile NAME.',
        )

    session.login(source.email, ask_password(source.email))
    print(session.status())


def write_stubs(options: argparse.Namespace) -> None:
    from jupyter_funcs.cli import stubs

    print(*stubs.write(_session(options), options.output), sep="\n")


def serve_mcp(options: argparse.Namespace) -> None:
    try:
        from jupyter_funcs.cli import mcp_server
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"The SDK of the Model Context Protocol is not installed ({error.name} is missing).",
            "pip install 'jupyter-funcs[mcp]'",
        ) from None

    mcp_server.serve(_session(options), options.only, reads=options.declare_read_only)


def check(options: argparse.Namespace) -> None:
    from jupyter_funcs.cli.check import check

    check(options)


def docs(options: argparse.Namespace) -> None:
    from pydoc import pager
    from shutil import get_terminal_size

    from jupyter_funcs.core.guide import guide_page

    page = guide_page(options.topic)
    # Piped, for a program: the Markdown.
    pager(
        page.wrapped(min(get_terminal_size().columns, 100))
        if sys.stdout.isatty()
        else page.text
    )


def enable(_options: argparse.Namespace) -> None:
    from jupyter_funcs.cli.enable import config_file, enable

    done = "Already enabled: kernels have"
    if enable():
        done = "Enabled: new kernels have"
    print(f"{done} %funcs without %load_ext jupyter_funcs.\n{config_file()}")


def disable(_options: argparse.Namespace) -> None:
    from jupyter_funcs.cli.enable import config_file, disable

    done = "It was not enabled: kernels have"
    if disable():
        done = "Disabled: new kernels have"
    print(f"{done} %funcs after %load_ext jupyter_funcs.\n{config_file()}")


if __name__ == "__main__":
    sys.exit(main())
