"""
A catalog -> a typed module for editors and mypy: ``funcs_work.pyi`` with every signature, ``funcs_work.py`` to run.

Nothing of the catalog gets into the module that runs, and into the stub only as names that Python itself would take and
as quoted literals.
"""

from __future__ import annotations

import inspect
import types
from datetime import date
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

from jupyter_funcs.catalog import identifiers
from jupyter_funcs.errors import ConfigError
from jupyter_funcs.session import Session

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_funcs.callables import RemoteFunction

# Each further overload is compared with all before it: funcs["…"] of a larger catalog is typed as any function.
_MOST_OVERLOADS = 200

_MARK = "jupyter funcs stubs"
_MODULE = '''\
"""
A session of jupyter_funcs, typed by the ``.pyi`` beside this file; both were written by ``jupyter funcs stubs``.

>>> from {module} import connect
>>> funcs = connect()
"""

from jupyter_funcs import Session as Funcs
from jupyter_funcs import connect as _connect


def connect(where={where!r}, *, token=None, api_key=None):
    return _connect(where, token=token, api_key=api_key)
'''

_HEAD = '''\
"""The functions of a catalog, as ``jupyter funcs stubs`` found them: write it again when the catalog has changed."""

from collections.abc import Callable
from datetime import date
from typing import Any, Literal, Self, overload

from pandas import DataFrame  # type: ignore[import-untyped, unused-ignore]

from jupyter_funcs import Form, Job, Session
from jupyter_funcs.callables import RemoteFunction

'''

_FUNCTION = """\
class _{slug}(RemoteFunction):
    {doc}
    @overload
    def __call__(_self, /{parameters}) -> DataFrame: ...
    @overload
    def __call__(_self, _form: Form, /, **_values: Any) -> DataFrame: ...
    @overload
    def submit(_self, /{parameters}) -> Job: ...
    @overload
    def submit(_self, _form: Form, /, **_values: Any) -> Job: ...
    def with_options(self, **options: Any) -> Self: ...

"""

_TAIL = """
def connect(
    where: str | None = ..., *, token: str | Callable[[], str] | None = None, api_key: str | None = None
) -> Funcs: ...
"""


def write(session: Session, folder: Path) -> list[Path]:
    """
    Write the module and its stub into a folder, in place of those of before.

    Raises
    ------
    ConfigError
        The folder cannot be written, or holds a file of that name that is somebody's own.
    """
    name = module_name(session)
    texts = {folder / f"{name}.py": module(session), folder / f"{name}.pyi": stub(session)}
    try:
        for path in texts:
            if path.exists() and _MARK not in path.read_text("utf-8", "replace"):
                raise ConfigError(f"{path} was not written by {_MARK}.", "Name another folder with -o DIR.")
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            path.write_text(text, "utf-8")
    except OSError as error:
        raise ConfigError(
            f"{folder} cannot be written: {error.strerror}.", "Name another folder with -o DIR."
        ) from None
    return list(texts)


def module_name(session: Session) -> str:
    """Give the name of the module that types a session: ``funcs_`` and what its service is called."""
    return f"funcs_{identifiers([session.service], lower=True)[0]}"


def module(session: Session) -> str:
    """Give the module that runs: it connects, and knows no function."""
    return _MODULE.format(module=module_name(session), where=session.where or None)


def stub(session: Session) -> str:
    """
    Give the stub of a session's functions.

    Every function is a class of its own, with the signature of its callable; ``Funcs`` is the session that has them as
    attributes, and by their wire names as items.
    """
    functions = list(session)
    by_name: dict[str, str] = {}
    for function in functions:
        by_name.setdefault(function.name, function.slug)
    parts = [_HEAD, *map(_class, functions)]
    # No name of the catalog stands in the class that has the overloads: one of them may be called `overload` or `str`.
    parts.append("class _ByName(Session):\n")
    overloads = by_name if len(by_name) <= _MOST_OVERLOADS else {}
    for name, slug in overloads.items():
        parts.append(f"    @overload\n    def __getitem__(self, name: Literal[{_quoted(name)}], /) -> _{slug}: ...\n")
    if overloads:
        parts.append("    @overload\n")
    parts += ["    def __getitem__(self, name: str | int, /) -> RemoteFunction: ...\n\n", "class Funcs(_ByName):\n"]
    # What the session itself has goes first, as it does at run time.
    attributes = [function.slug for function in functions if not hasattr(Session, function.slug)]
    parts += [f"    {slug}: _{slug}\n" for slug in attributes] or ["    ...\n"]
    return "".join([*parts, _TAIL])


def _class(function: RemoteFunction) -> str:
    given = [
        f"{name}: {source(parameter.annotation)}"
        + ("" if parameter.default is inspect.Parameter.empty else f" = {_quoted(parameter.default)}")
        for name, parameter in function.__signature__.parameters.items()
    ]
    parameters = "".join(f", {each}" for each in (["*", *given] if given else []))
    return _FUNCTION.format(slug=function.slug, doc=_quoted(function.__doc__), parameters=parameters)


def source(annotation: Any) -> str:
    """Give the Python that writes the annotation of a parameter."""
    if annotation is type(None):
        return "None"
    if annotation is date:
        return "date"
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in {Union, types.UnionType}:
        return " | ".join(map(source, inner))
    if origin is Literal:
        return f"Literal[{', '.join(map(_quoted, inner))}]"
    if origin is list:
        return f"list[{source(inner[0])}]"
    return str(annotation.__name__)


def _quoted(value: object) -> str:
    """Give a text, a number or None as Python writes it, in ASCII: no character can end the quotes or hide."""
    return ascii(value)
