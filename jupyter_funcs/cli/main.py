"""``jupyter funcs``: the command line of the client, and the commands of the local service."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from importlib import import_module, metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING, cast

from jupyter_funcs.core.errors import ArgumentError, ConfigError, FuncsError
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

_FORMATS = ("table", "csv", "json", "parquet", "xlsx")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``jupyter funcs`` (also ``jupyter-funcs``) and return the process's exit code."""
    from jupyter_funcs.core.errors import SetupError

    # Without the line of this program's code that Python adds to a warning.
    before, warnings.formatwarning = warnings.formatwarning, format_short
    try:
        words = list(sys.argv[1:] if arguments is None else arguments)
        if words[:1] in ([], ["help"]):
            words = [*words[1:], "--help"]
        given, rest = _parser().parse_known_args(words)
        option = next((word.partition("=")[0] for word in rest if word.startswith("-")), None)
        if rest and (given.more is None or (given.more == "values" and option)):
            _parser().error(f"unknown option {option}" if option else f"unexpected argument {quote(rest[0])}")
        given.rest = rest
        given.command(given)
    except FuncsError as error:
        return _fail("\n".join(error._render_traceback_()))  # as IPython shows it
    except SetupError as error:
        return _fail(str(error))
    except ModuleNotFoundError as error:
        return _fail(f"{error.name} is not installed.\npip install 'jupyter-funcs[service]'")
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `jupyter funcs list | head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    finally:
        warnings.formatwarning = before
    return 0


def _fail(text: str) -> int:
    _note(text)
    return 1


def _note(text: str) -> None:
    print(text, file=sys.stderr)


def _parser() -> Parser:
    about = "List and run the functions of a catalog, try the demo, or serve functions of your own."
    parser = Parser(prog="jupyter funcs", description=about)
    parser.add_argument("--version", action="version", version=f"jupyter_funcs {metadata.version('jupyter-funcs')}")
    parser.set_defaults(more=None)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(
        name: str, run: Callable[[argparse.Namespace], None], help_: str, more: str | None = None
    ) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=help_)
        added.set_defaults(command=run, more=more)
        return added

    demo_parser = add("demo", demo, "open JupyterLab with the quickstart and synthetic data", more="options")
    demo_parser.description = "Other options are passed to JupyterLab."
    demo_parser.add_argument("--dir", type=Path, help="folder for the copied notebooks (default: a new temporary one)")

    list_parser = add("list", list_functions, "list all functions, or those that contain the WORDs")
    list_parser.add_argument("words", nargs="*", metavar="WORD")

    describe_parser = add("describe", describe, "show the parameters of a function")
    describe_parser.add_argument("words", nargs="+", metavar="FUNCTION", help="its name, slug or id")

    # argparse takes values after an option for unknown words.
    call_parser = add("call", call, "run a function and write its result", more="values")
    call_parser.add_argument("name", metavar="FUNCTION", help="its name, slug or id")
    call_parser.add_argument("arguments", nargs="*", metavar="NAME=VALUE", help="write a list as [a, b, c]")
    call_parser.add_argument("--timeout", type=float, default=300, metavar="SECONDS", help="time limit (default: 300)")
    call_parser.add_argument("--all", action="store_const", const="all", dest="pages", help="get all pages of a list")
    for with_result in (list_parser, describe_parser, call_parser):
        with_result.add_argument("--format", choices=_FORMATS, help="default: the suffix of FILE, else table")
        with_result.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the result to FILE")

    login_parser = add("login", login, "log in, and store the token in the system keyring")
    login_parser.add_argument("--profile", metavar="PROFILE", help="profile to log in with (default: as configured)")

    stubs_parser = add("stubs", write_stubs, "write a typed module of the functions, for editors and mypy")
    stubs_parser.add_argument("-o", "--output", type=Path, default=Path(), metavar="DIR", help="default: this folder")
    mcp_parser = add("mcp", serve_mcp, "serve the functions to an assistant, as MCP tools over stdio")
    only = "serve only functions whose name or slug matches, such as 'get_*' (repeatable)"
    mcp_parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help=only)
    declares = "tell the assistant that these functions change nothing, which a catalog doesn't say"
    mcp_parser.add_argument("--declare-read-only", action="store_true", help=declares)
    pages = "show a page of the guide, or list its topics"
    add("docs", docs, pages).add_argument("topic", nargs="?", default="", metavar="TOPIC")
    check_parser = add(
        "check",
        lambda given: import_module("jupyter_funcs.cli.check").check(given),
        "check functions that you publish, and show the form of each",
    )
    check_parser.description = "Nothing is served. The exit code is 1 if there is an error."
    check_parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="default: as configured")
    check_parser.add_argument("--config", type=Path, metavar="FILE", help="the configuration of the service")
    check_parser.add_argument(
        "--timeout", type=float, default=60, metavar="SECONDS", help="time limit for importing a file (default: 60)"
    )
    add("enable", enable, "load %%funcs in every notebook of this environment")
    add("disable", disable, "undo enable")
    for with_service in (list_parser, describe_parser, call_parser, stubs_parser, mcp_parser):
        with_service.add_argument("--profile", metavar="PROFILE|URL", help="service to use (default: as configured)")

    try:
        from jupyter_funcs.service.server import admin, serving
    except ModuleNotFoundError:  # only the client is installed
        for name in ("serve", "token", "admin"):
            absent = commands.add_parser(name, help="needs jupyter-funcs[service]", add_help=False)
            # It raises what `main` explains.
            absent.set_defaults(command=lambda _: import_module("jupyter_funcs.service.server.admin"), more="options")
    else:
        serving.add_serve(commands)
        admin.add_token(commands)
        admin.add_admin(commands)
    return parser


def _session(given: argparse.Namespace) -> Session:
    from jupyter_funcs.api import connect

    return connect(given.profile)


def demo(given: argparse.Namespace) -> None:
    """Open JupyterLab on a copy of the notebooks, which leaves the originals unchanged."""
    folder = Path(tempfile.mkdtemp(prefix="jupyter-funcs-")) if given.dir is None else given.dir.expanduser()
    copy_notebooks(folder)
    if given.dir is None:
        print(f"Opening a copy of the notebooks in the temporary folder {folder}.")
        print("To keep what you change, name a folder of your own: jupyter funcs demo --dir DIR")
    else:
        print(f"Opening the notebooks in {folder}. Those that were there already are as you left them.")
    try:
        from jupyterlab.labapp import LabApp
    except ModuleNotFoundError:
        raise ConfigError("JupyterLab is not installed.", "pip install 'jupyter-funcs[lab]'") from None
    # Containers run as root; the server listens on this machine only and asks for a token.
    as_root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    # As a URL and not as a file to open, so that the address that the server prints leads there too.
    where = [f"--ServerApp.root_dir={folder}", "--LabApp.default_url=/lab/tree/quickstart.ipynb"]
    LabApp.launch_instance([*where, *as_root, *given.rest])


def copy_notebooks(folder: Path) -> None:
    """Copy the notebooks into a folder; those that exist there stay as they are."""
    package = Path(str(resources.files("jupyter_funcs")))
    source = package / "notebooks"  # in the wheel; in a clone the notebooks are next to the package
    source = source if source.is_dir() else package.parent / "notebooks"
    with named_error(folder, "Choose another folder with --dir."):
        folder.mkdir(parents=True, exist_ok=True)
        for notebook in sorted(source.glob("*.ipynb")):
            if not (folder / notebook.name).exists():
                atomic_write_bytes(folder / notebook.name, notebook.read_bytes())


def list_functions(given: argparse.Namespace) -> None:
    from jupyter_funcs.client.status import no_functions

    session = _session(given)
    found = session.find(" ".join(given.words))
    _write_listing(found, given)
    if found.empty:
        every = "No function matches. jupyter funcs list, without words, lists them all."
        _note(every if session.names else no_functions(session.service, session.kind))


def describe(given: argparse.Namespace) -> None:
    function = _session(given)[" ".join(given.words)]
    described = function.describe()
    _write_listing(described, given)
    if described.empty:
        _note(f"{inert(function.name)} takes no parameters.")


def _write_listing(found: pd.DataFrame, given: argparse.Namespace) -> None:
    from jupyter_funcs.frames.export import save

    written = _format(given)
    is_read = written == "table" and given.output is None and sys.stdout.isatty()
    if is_read and not found.empty:
        print(found)  # wrapped at the terminal's width
    elif not is_read:
        save(found, given.output or sys.stdout, written)


def call(given: argparse.Namespace) -> None:
    from jupyter_funcs.catalog.form import with_json
    from jupyter_funcs.frames.export import BINARY, save

    values = {}
    for word in [*given.arguments, *given.rest]:
        name, equals, value = word.partition("=")
        if not equals or not name:
            hint = "Write NAME=VALUE, with quotes if it contains spaces."
            raise ArgumentError(f"{quote(word)} isn't an argument.", hint)
        if name in values:
            raise given_twice(name)
        # The shell has expanded its own variables already.
        values[name] = value if value.startswith("$") else read_value(value, {})
    function = _session(given)[given.name].with_options(timeout=given.timeout, pages=given.pages)
    written = _format(given)
    if written in BINARY and given.output is None and sys.stdout.isatty():
        raise ArgumentError(f"A terminal can't show {BINARY[written]}.", "Write it to a file: -o FILE.")
    if not function.unknown(values):
        values = with_json(function.form(), values)
    frame = function(**values)
    save(frame, given.output or sys.stdout, written)
    if not len(frame):
        _note(f"{inert(function.name)} returned no rows.")


def _format(given: argparse.Namespace) -> Format:
    suffix = given.output.suffix.lower().removeprefix(".") if given.output else ""
    if given.format is None and suffix not in {*_FORMATS, "", "txt"}:
        raise ArgumentError(f"There is no format {quote(suffix)}.", f"Choose one: --format {listed(_FORMATS)}.")
    wanted = given.format or suffix
    return cast("Format", wanted if wanted in _FORMATS else "table")


def login(given: argparse.Namespace) -> None:
    from jupyter_funcs.connection.login import Login, ask_password

    session = _session(given)
    source = session.remote.transport.connection.token
    if not isinstance(source, Login) or not source.in_keyring:
        what = "This profile has no login whose token is stored in the keyring."
        raise ConfigError(what, 'Add login = "EMAIL" and keep = "keyring" to a profile, and use --profile NAME.')
    session.login(source.email, ask_password(source.email))
    print(session.status())


def write_stubs(given: argparse.Namespace) -> None:
    from jupyter_funcs.cli import stubs

    print(*stubs.write(_session(given), given.output), sep="\n")


def serve_mcp(given: argparse.Namespace) -> None:
    try:
        from jupyter_funcs.cli import mcp
    except ModuleNotFoundError as error:
        what = f"The SDK of the Model Context Protocol is not installed ({error.name} is missing)."
        raise ConfigError(what, "pip install 'jupyter-funcs[mcp]'") from None
    mcp.serve(_session(given), given.only, reads=given.declare_read_only)


def docs(given: argparse.Namespace) -> None:
    from pydoc import pager
    from shutil import get_terminal_size

    from jupyter_funcs.core.guide import guide_page

    page = guide_page(given.topic)
    # Piped, for a program: the Markdown.
    pager(page.wrapped(min(get_terminal_size().columns, 100)) if sys.stdout.isatty() else page.text)


def enable(_given: argparse.Namespace) -> None:
    from jupyter_funcs.cli.enable import config_file, enable

    done = "Enabled: new kernels have" if enable() else "Already enabled: kernels have"
    print(f"{done} %funcs without %load_ext jupyter_funcs.\n{config_file()}")


def disable(_given: argparse.Namespace) -> None:
    from jupyter_funcs.cli.enable import config_file, disable

    done = "Disabled: new kernels have" if disable() else "It was not enabled: kernels have"
    print(f"{done} %funcs after %load_ext jupyter_funcs.\n{config_file()}")


if __name__ == "__main__":
    sys.exit(main())
