"""Find what to publish: the Python files and notebooks in folders, and the entry points of installed packages."""

from __future__ import annotations

import importlib.metadata
import logging
import re
import sys
import traceback
import types
from dataclasses import replace
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.core.text import quoted
from jupyter_funcs.service.publishing.registry import PublishedFunction

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

log = logging.getLogger(__name__)

GROUP = "jupyter_funcs.functions"
"""
The group of entry points: each names a module with functions, a list of functions, or one function.

    [project.entry-points."jupyter_funcs.functions"]
    stores = "my_package.stores"
"""

_PREFIX = "published_"


def load(
    folders: Sequence[Path],
    *,
    entry_points: bool,
    default_asset: str = "",
    begins: Callable[[str], bool] = lambda _: True,
    problems: list[str] | None = None,
) -> list[PublishedFunction]:
    """
    Import and return the functions that the folders and, if `entry_points`, the installed packages publish.

    `begins` is told what comes next, and whether it returns true decides if that is imported. With `problems`, to which
    errors are added, a file that can't be published is left out.
    """
    functions: list[PublishedFunction] = []

    def add(source: str, read: Callable[[], list[PublishedFunction]]) -> None:
        try:
            functions.extend(read() if begins(source) else ())
        except SetupError as error:
            if problems is None:
                raise
            problems.append(str(error))

    if _siblings not in sys.meta_path:
        sys.meta_path.append(_siblings)
    for folder in folders:
        package = _package(folder)
        for path in _files(folder):
            add(str(path), partial(_in_file, path, package))

    for entry in (
        sorted(importlib.metadata.entry_points(group=GROUP)) if entry_points else ()
    ):
        source = f"The entry point {entry.name} = {entry.value!r}"
        add(source, partial(_in_entry_point, entry, source))

    # A module may have imported a function that another one publishes.
    unique = {id(function): function for function in functions}
    return [
        replace(function, asset=function.asset or default_asset)
        for function in unique.values()
    ]


def _files(folder: Path) -> list[Path]:
    try:
        files = sorted(
            file
            for file in folder.iterdir()
            if not file.name.startswith(("_", ".")) and file.is_file()
        )
    except OSError as error:
        raise SetupError(
            f"The folder of published functions {folder} cannot be read: {error.strerror}.\n"
            "Create it, or change functions.folders in the configuration."
        ) from None

    return [file for file in files if file.suffix in (".py", ".ipynb")]


def _in_file(path: Path, package: str) -> list[PublishedFunction]:
    if path.suffix == ".ipynb":
        from jupyter_funcs.service.publishing import notebooks

        return [notebooks.read(path)]

    if "." in path.stem:
        raise SetupError(
            f"{path} cannot be imported: its name has a dot before '.py'.\n"
            "Rename it, or start the file name with '_' to leave it out."
        )
    functions = _functions(
        _imported(partial(importlib.import_module, f"{package}.{path.stem}"), str(path))
    )
    if not functions:
        log.warning(
            "%s publishes nothing: none of its functions has @function. "
            "If it is only imported by other files, start its name with '_'.",
            path,
        )

    return functions


def _functions(published: Any) -> list[PublishedFunction]:
    """Return the functions of a module or a list, or a single one as a list."""
    if isinstance(published, types.ModuleType):
        published = vars(published).values()
    elif not isinstance(published, list | tuple):
        published = [published]
    return [value for value in published if isinstance(value, PublishedFunction)]


def _in_entry_point(
    entry_point: importlib.metadata.EntryPoint, source: str
) -> list[PublishedFunction]:
    loaded = _imported(entry_point.load, source)
    functions = _functions(loaded)
    if not functions and not isinstance(loaded, types.ModuleType):
        raise SetupError(
            f"{source} of {GROUP} is {quoted(loaded)}.\nName a module, a list of functions or a function."
        )

    return functions


def _imported(load: Callable[[], Any], source: str) -> Any:
    try:
        return load()
    except SetupError as error:
        if source in str(error):
            raise
        raise SetupError(f"{_place(source, error)[0]}: {error}") from None
    except (Exception, SystemExit) as error:
        raise _failure(source, error) from error


def _failure(source: str, error: BaseException) -> SetupError:
    if isinstance(error, SyntaxError):
        place = f"{error.filename}, line {error.lineno}"
        reason = error.msg
    else:
        place, is_last = _place(source, error)
        reason = str(error).strip().partition("\n")[0]
        if not is_last or error.__cause__:  # otherwise the line is enough
            log.error("%s cannot be imported.", source, exc_info=error)

    headline = "" if place.startswith(source) else f"{source} cannot be imported.\n"
    return SetupError(
        f"{headline}{place}: {type(error).__name__}{f': {reason}' if reason else ''}.\n"
        "Fix it, or start the file name with '_' to leave it out."
    )


def _place(source: str, error: BaseException) -> tuple[str, bool]:
    """Return the last line of a file that an error passed, and whether the error was raised there."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<frozen")
    ]
    [*_, own] = [frame for frame in frames if frame.filename == source] or frames
    return f"{own.filename}, line {own.lineno}", own is frames[-1]


def _package(folder: Path) -> str:
    """Register a folder as a package and return its name, which no other folder has."""
    wanted = _PREFIX + re.sub(r"\W", "_", folder.absolute().name)
    name = wanted
    number = 1
    while name in _siblings.folders:
        number += 1
        name = f"{wanted}_{number}"

    module = types.ModuleType(name, f"The functions published from {folder}.")
    module.__path__ = [str(folder.absolute())]
    sys.modules[name] = module
    _siblings.folders[name] = folder.absolute()
    return name


class _Siblings(MetaPathFinder, Loader):
    """
    Lets a published file import its neighbours by name; installed modules come first.

    With the folders on `sys.path`, every import of the process would search them, and files would be imported twice.
    """

    def __init__(self) -> None:
        self.folders: dict[str, Path] = {}

    def find_spec(
        self, fullname: str, path: object = None, _target: object = None
    ) -> ModuleSpec | None:
        if path is not None:  # a module inside a package
            return None
        places = [
            (package, folder)
            for package, folder in self.folders.items()
            if (folder / f"{fullname}.py").is_file()
            or (folder / fullname / "__init__.py").is_file()
        ]
        if len(places) > 1:
            named = " and ".join(str(folder) for _, folder in places)
            raise ImportError(
                f"{fullname} is in {named}; write 'from . import {fullname}'"
            )

        return ModuleSpec(fullname, self, origin=places[0][0]) if places else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Use the default module: `exec_module` replaces it."""

    def exec_module(self, module: types.ModuleType) -> None:
        assert module.__spec__
        sys.modules[module.__name__] = importlib.import_module(
            f"{module.__spec__.origin}.{module.__name__}"
        )


_siblings = _Siblings()
