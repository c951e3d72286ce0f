"""
Finding what is to be published: Python files and notebooks in folders, and the entry points of installed packages.

    [project.entry-points."jupyter_funcs.functions"]
    stores = "my_package.stores"
"""

from __future__ import annotations

import importlib
import logging
import re
import sys
import traceback
import types
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from .errors import SetupError
from .registry import Function
from .words import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

log = logging.getLogger(__name__)

GROUP = "jupyter_funcs.functions"
"""The group of entry points: each is a module with functions, a list of them, or one."""

_PREFIX = "published_"


def load(folders: Sequence[Path], *, entry_points: bool, default_asset: str | None) -> list[Function]:
    """
    Import all that is to be published.

    Parameters
    ----------
    folders
        Folders of ``.py`` files and notebooks; files whose names begin with ``_`` or ``.`` are left out, and so are
        folders within.
    entry_points
        Whether to ask the installed packages.
    default_asset
        The asset of notebooks that name none.

    Returns
    -------
    list of Function
        Folders in the order given, in each the files by name; then entry points by name.

    Raises
    ------
    SetupError
        A folder cannot be read, or something in it cannot be imported or published; names file and line.
    """
    found: list[Function] = []
    _forget()
    for folder in folders:
        found += _in_folder(folder, default_asset)
    if entry_points:
        found += _in_packages()
    return _distinct(found)


def _in_folder(folder: Path, default_asset: str | None) -> list[Function]:
    try:
        files = sorted(each for each in folder.iterdir() if not each.name.startswith(("_", ".")) and each.is_file())
    except OSError as error:
        raise SetupError(
            f"The folder {folder} of published functions cannot be read: {error.strerror}.\n"
            "Make it, or name another in functions.folders of the configuration."
        ) from None
    package = _package(folder)
    found: list[Function] = []
    for path in files:
        if path.suffix == ".py":
            functions = _functions(_imported(f"{package}.{path.stem}", str(path)))
            if not functions:
                log.warning(
                    "%s publishes nothing: no function in it has @function. "
                    "If others import it, begin its name with '_'.",
                    path,
                )
            found += functions
        elif path.suffix == ".ipynb":
            from . import notebooks  # noqa: PLC0415 - loads nbformat, which a service without notebooks does without

            found.append(notebooks.read(path, default_asset))
    return found


def _in_packages() -> list[Function]:
    found: list[Function] = []
    for each in sorted(entry_points(group=GROUP), key=lambda each: (each.name, each.value)):
        found += _functions(_loaded(each))
    return found


def _functions(home: Any) -> list[Function]:
    """Give the functions of a module, of a list, or one alone."""
    values = (
        vars(home).values()
        if isinstance(home, types.ModuleType)
        else home
        if isinstance(home, list | tuple)
        else [home]
    )
    return [each for each in values if isinstance(each, Function)]


def _distinct(functions: Iterable[Function]) -> list[Function]:
    """Leave out what one module has only imported from another."""
    return list({id(each): each for each in functions}.values())


def _loaded(entry_point: EntryPoint) -> Any:
    source = f"The entry point {entry_point.name} = {entry_point.value!r}"
    try:
        home = entry_point.load()
    except SetupError:
        raise
    except (Exception, SystemExit) as error:
        raise _failure(source, error) from error
    if not _functions(home) and not isinstance(home, types.ModuleType):
        raise SetupError(f"{source} of {GROUP} is {quoted(home)}.\nName a module, a list of functions or a function.")
    return home


def _imported(name: str, path: str) -> types.ModuleType:
    try:
        return importlib.import_module(name)
    except SetupError:
        raise
    except (Exception, SystemExit) as error:
        raise _failure(path, error) from error


def _failure(source: str, error: BaseException) -> SetupError:
    if isinstance(error, SyntaxError):
        place, reason = f"{error.filename}, line {error.lineno}", error.msg
    else:
        frames = [each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith("<frozen")]
        own = [each for each in frames if each.filename == source] or frames[-1:]
        place = f"{own[-1].filename}, line {own[-1].lineno}"
        reason = str(error).strip().partition("\n")[0]
        if own[-1] is not frames[-1] or error.__cause__ is not None:  # else the line says it all
            log.error("%s cannot be imported.", source, exc_info=(type(error), error, _from_the_file_on(error)))
    told = "" if place.startswith(source) else f"{source} cannot be imported.\n"
    return SetupError(
        f"{told}{place}: {type(error).__name__}{f': {reason}' if reason else ''}.\n"
        "Mend it, or begin the file's name with '_' to leave it out."
    )


def _from_the_file_on(error: BaseException) -> types.TracebackType | None:
    """Give the trace of an error without the steps of importing that led to the file."""
    importing = {__file__, importlib.__file__, importlib.metadata.__file__}
    rest = error.__traceback__
    while rest and (rest.tb_frame.f_code.co_filename in importing or "<frozen" in rest.tb_frame.f_code.co_filename):
        rest = rest.tb_next
    return rest or error.__traceback__


def _forget() -> None:
    """Drop what an earlier call imported, under whatever name, so that the files are read again."""
    for name, module in list(sys.modules.items()):
        if getattr(module, "__name__", "").partition(".")[0] in _siblings.homes:
            del sys.modules[name]
    _siblings.homes.clear()
    if _siblings not in sys.meta_path:
        sys.meta_path.append(_siblings)


def _package(folder: Path) -> str:
    """Make a package of a folder, under a name that no installed package has."""
    wanted = _PREFIX + re.sub(r"\W", "_", folder.absolute().name)
    name, number = wanted, 1
    while name in _siblings.homes:
        number += 1
        name = f"{wanted}_{number}"
    module = types.ModuleType(name, f"The functions published from {folder}.")
    module.__path__ = [str(folder.absolute())]
    sys.modules[name] = module
    _siblings.homes[name] = folder.absolute()
    return name


class _Siblings(MetaPathFinder, Loader):
    """
    Lets a published file import its neighbours by name, after all that is installed.

    A folder on `sys.path` would be in everybody's way, and each file be imported twice.
    """

    def __init__(self) -> None:
        self.homes: dict[str, Path] = {}

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        del target
        if path is not None:  # a module of a package
            return None
        having = [
            (package, folder)
            for package, folder in self.homes.items()
            if (folder / f"{fullname}.py").is_file() or (folder / fullname / "__init__.py").is_file()
        ]
        if len(having) > 1:
            named = " and ".join(str(folder) for _, folder in having)
            raise ImportError(f"{fullname} is in {named}; write 'from . import {fullname}'")
        return ModuleSpec(fullname, self, origin=having[0][0]) if having else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to the import system, for `exec_module` puts another in its place."""

    def exec_module(self, module: types.ModuleType) -> None:
        assert module.__spec__
        sys.modules[module.__name__] = importlib.import_module(f"{module.__spec__.origin}.{module.__name__}")


_siblings = _Siblings()
