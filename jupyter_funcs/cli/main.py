"""``jupyter funcs``: the demo, the catalog and a run from a shell, and the commands of the local service."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import warnings
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, cast

from jupyter_funcs.commands import Parser
from jupyter_funcs.errors import ArgumentError, ConfigError, FuncsError
from jupyter_funcs.line import given_twice, read_value
from jupyter_funcs.notices import plain
from jupyter_funcs.text import inert, listed, quote

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from jupyter_funcs.export import Format
    from jupyter_funcs.session import Session

_FORMATS = ("table", "csv", "json", "parquet", "xlsx")


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run ``jupyter funcs`` (also ``jupyter-funcs``).

    Parameters
    ----------
    arguments
        Without the program's name; those of the process by default.

    Returns
    -------
    int
        0; 1 for an error of ours, which is written to the standard error; 130 for an interrupt.
    """
    from jupyter_funcs.service.errors import SetupError  # noqa: PLC0415  # upwards: the service's own commands

    # A line of this program's own says nothing to who typed a command.
    before, warnings.formatwarning = warnings.formatwarning, plain
    try:
        given, rest = _parser().parse_known_args(arguments)
        if rest and not given.takes_more:
            option = next((word.partition("=")[0] for word in rest if word.startswith("-")), None)
            _parser().error(f"there is no option {option}" if option else f"'{rest[0]}' is one word too many")
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
    except BrokenPipeError:  # `jupyter funcs list | head` has read what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    finally:
        warnings.formatwarning = before
    return 0


def _fail(text: str) -> int:
    _note(text)
    return 1


def _note(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201  # the person who ran the command reads it there


def demo(given: argparse.Namespace) -> None:
    """Open JupyterLab on a copy of the notebooks, so that what is installed or cloned stays as it is."""
    if given.dir is None:
        folder = Path(tempfile.mkdtemp(prefix="jupyter-funcs-"))
        print(f"The notebooks are a copy in {folder}; with --dir DIR your changes go where you like.")  # noqa: T201
    else:
        folder = given.dir.expanduser()
    copy_notebooks(folder)
    try:
        from jupyterlab.labapp import LabApp  # noqa: PLC0415  # the largest import of all, and only here
    except ModuleNotFoundError:
        raise ConfigError("JupyterLab is not installed.", "pip install 'jupyter-funcs[lab]'") from None
    # Containers run as root, and the server listens on this machine alone and asks for a token.
    as_root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    # By its address and not as a file to open, so that the address that the server prints leads there as well.
    where = [f"--ServerApp.root_dir={folder}", "--LabApp.default_url=/lab/tree/quickstart.ipynb"]
    LabApp.launch_instance([*where, *as_root, *given.rest])


def copy_notebooks(folder: Path) -> None:
    """
    Copy the notebooks into a folder; a notebook that is there already is kept.

    Raises
    ------
    ConfigError
        The folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for notebook in sorted(_notebooks().glob("*.ipynb")):
            if not (folder / notebook.name).exists():
                shutil.copyfile(notebook, folder / notebook.name)
    except OSError as error:
        raise ConfigError(f"{folder} cannot be written: {error.strerror}.", "Give another folder with --dir.") from None


def _notebooks() -> Path:
    # In the wheel they lie inside the package, in a clone beside it.
    package = Path(str(resources.files("jupyter_funcs")))
    inside = package / "notebooks"
    return inside if inside.is_dir() else package.parent / "notebooks"


def list_functions(given: argparse.Namespace) -> None:
    """Write the catalog, or the functions in which every word occurs."""
    from jupyter_funcs.export import save  # noqa: PLC0415  # pandas, for a reply only

    found, written = _session(given).find(" ".join(given.words)), _format(given)
    if written == "table" and given.output is None and sys.stdout.isatty():
        print(found)  # noqa: T201  # as wide as the terminal
    else:
        save(found, given.output or sys.stdout, written)
    if found.empty:
        _note("No function has these words; jupyter funcs list alone lists them all.")


def call(given: argparse.Namespace) -> None:
    """Run a function and write its result."""
    from jupyter_funcs.export import BINARY, NAMES, save  # noqa: PLC0415  # pandas, for a reply only

    values = {}
    for word in given.arguments:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise ArgumentError(f"{quote(word)} is no argument.", "Write NAME=VALUE, in quotes where it holds spaces.")
        if name in values:
            raise given_twice(name)
        # A shell has put its own variables in already.
        values[name] = value if value.startswith("$") else read_value(value, {})
    function = _session(given)[given.name].with_options(timeout=given.timeout)
    written = _format(given)
    if written in BINARY and given.output is None and sys.stdout.isatty():
        raise ArgumentError(f"{NAMES[written]} is no text for a terminal.", "Give a file with -o FILE.")
    target = given.output or (sys.stdout.buffer if written in BINARY else sys.stdout)
    frame = function(**values)
    save(frame, target, written)
    if not len(frame):
        _note(f"{inert(function.name)} gave no rows.")


def _format(given: argparse.Namespace) -> Format:
    """Give the format asked for, else the one that the file's name ends with, else a table."""
    ending = given.output.suffix.lower().removeprefix(".") if given.output else ""
    if given.format is None and ending not in {*_FORMATS, "", "txt"}:
        raise ArgumentError(f"No format is called {quote(ending)}.", f"Choose one: --format {listed(_FORMATS)}.")
    wanted = given.format or ending
    return cast("Format", wanted if wanted in _FORMATS else "table")


def _session(given: argparse.Namespace) -> Session:
    import jupyter_funcs  # noqa: PLC0415  # what connects is imported on first use

    return jupyter_funcs.connect(given.profile)


def login(given: argparse.Namespace) -> None:
    """Log in for a profile, and put the token into the keyring, from which notebooks take it."""
    from jupyter_funcs.config import resolve  # noqa: PLC0415  # see `_session`
    from jupyter_funcs.login import Login  # noqa: PLC0415  # as above
    from jupyter_funcs.prompts import password_of  # noqa: PLC0415  # as above

    connection = resolve(given.profile)
    source = connection.token if connection is not None else None
    if not isinstance(source, Login) or not source.in_keyring:
        raise ConfigError(
            "There is nothing to log in to: no such profile has a login that is kept.",
            'Give it login = "EMAIL" and keep = "keyring", and name it with --profile NAME.',
        )
    session = _session(given)
    session.login(source.email, password_of(source.email))
    print(session.status())  # noqa: T201  # that it worked, and until when


def write_stubs(given: argparse.Namespace) -> None:
    """Write a module that types the session's functions, for editors and mypy."""
    from jupyter_funcs import stubs  # noqa: PLC0415  # what connects is imported on first use

    for path in stubs.write(_session(given), given.output):
        print(path)  # noqa: T201  # what was written


def serve_mcp(given: argparse.Namespace) -> None:
    """Serve the catalog as tools of the Model Context Protocol, over standard input and output."""
    try:
        from jupyter_funcs import mcp_server  # noqa: PLC0415  # the SDK is an extra
    except ModuleNotFoundError as error:
        what = f"The SDK of the Model Context Protocol is not installed ({error.name} is missing)."
        raise ConfigError(what, "pip install 'jupyter-funcs[mcp]'") from None
    mcp_server.serve(_session(given))


def enable(_given: argparse.Namespace) -> None:
    """Have IPython load the extension in this environment."""
    from jupyter_funcs import autoload  # noqa: PLC0415  # as above

    done = "Kernels that start now have" if autoload.enable() else "It was enabled already: kernels have"
    print(f"{done} %funcs without %load_ext jupyter_funcs.\n{autoload.config_file()}")  # noqa: T201  # what was done


def disable(_given: argparse.Namespace) -> None:
    """Have IPython no longer load the extension in this environment."""
    from jupyter_funcs import autoload  # noqa: PLC0415  # as above

    done = "Kernels that start now have" if autoload.disable() else "It was not enabled: kernels have"
    print(f"{done} %funcs after %load_ext jupyter_funcs.\n{autoload.config_file()}")  # noqa: T201  # what was done


def _parser() -> Parser:
    parser = Parser(
        prog="jupyter funcs", description="A function catalog: list it, run it, see it in the demo, or serve your own."
    )
    parser.set_defaults(takes_more=False)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    demo_parser = commands.add_parser(
        "demo",
        help="open JupyterLab on the quickstart, with synthetic data",
        description="Further options go to JupyterLab.",
    )
    demo_parser.add_argument("--dir", type=Path, help="where the copy of the notebooks goes (a new temporary folder)")
    demo_parser.set_defaults(command=demo, takes_more=True)

    list_parser = commands.add_parser("list", help="the functions, or those in which every word occurs")
    list_parser.add_argument("words", nargs="*", metavar="WORD")
    list_parser.set_defaults(command=list_functions)

    call_parser = commands.add_parser("call", help="run a function and write its result")
    call_parser.add_argument("name", metavar="FUNCTION", help="its name, slug or id")
    call_parser.add_argument("arguments", nargs="*", metavar="NAME=VALUE", help="a list as [a, b, c]")
    call_parser.add_argument("--timeout", type=float, default=300, metavar="SECONDS", help="for the whole run (300)")
    call_parser.set_defaults(command=call)

    login_parser = commands.add_parser("login", help="log in, and keep the token in the system's keyring")
    login_parser.add_argument("--profile", metavar="PROFILE", help="whose login; the configured one without it")
    login_parser.set_defaults(command=login)

    for one in (list_parser, call_parser):
        one.add_argument("--format", choices=_FORMATS, help="the ending of FILE, else table")
        one.add_argument("-o", "--output", type=Path, metavar="FILE", help="write there, whole or not at all")

    stubs_parser = commands.add_parser("stubs", help="write a module that types the functions, for editors and mypy")
    stubs_parser.add_argument("-o", "--output", type=Path, default=Path(), metavar="DIR", help="where (this folder)")
    stubs_parser.set_defaults(command=write_stubs)

    mcp_parser = commands.add_parser("mcp", help="serve the functions to an assistant, as tools over stdio")
    mcp_parser.set_defaults(command=serve_mcp)

    enable_parser = commands.add_parser("enable", help="load %%funcs in every notebook of this environment")
    enable_parser.set_defaults(command=enable)

    disable_parser = commands.add_parser("disable", help="undo enable")
    disable_parser.set_defaults(command=disable)

    for one in (list_parser, call_parser, stubs_parser, mcp_parser):
        one.add_argument("--profile", metavar="PROFILE|URL", help="the service, in place of the configured one")

    try:
        from jupyter_funcs.service import admin, serving  # noqa: PLC0415  # upwards: it brings its own commands
    except ModuleNotFoundError as error:  # the client alone: the commands above work without the service
        for name in ("serve", "token", "admin"):
            one = commands.add_parser(name, help="needs jupyter-funcs[service]", add_help=False)
            one.set_defaults(command=partial(_absent, error), takes_more=True)
    else:
        serving.add_serve(commands)
        admin.add_token(commands)
        admin.add_admin(commands)
    return parser


def _absent(error: ModuleNotFoundError, _given: argparse.Namespace) -> None:
    raise error


if __name__ == "__main__":
    sys.exit(main())
