"""
Write a typed module of a catalog, for editors and mypy: ``funcs_work.pyi`` has the signatures, ``funcs_work.py`` runs.

The catalog's texts never reach the module that runs. The stub has them only as valid identifiers and as literals in
ASCII, so that no character can end the quotes or hide.
"""

from __future__ import annotations

import inspect
import types
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

from jupyter_funcs.catalog.listing import identifiers
from jupyter_funcs.core.errors import ConfigError
from jupyter_funcs.core.files import atomic_write_text, named_error, read_small

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_funcs.api import RemoteFunction, Session


# mypy compares each overload with all earlier ones. In a larger catalog, funcs["…"] has the type of any function.
_MOST_OVERLOADS = 200

_MARK = "jupyter funcs stubs"
_MODULE = '''\
"""
A jupyter_funcs session, typed by the ``.pyi`` next to this file. Both were written by ``jupyter funcs stubs``.

>>> from {module} import connect
>>> funcs = connect()
"""

from jupyter_funcs import Session as Funcs
from jupyter_funcs import connect as _connect


def connect(where={where!r}, *, token=None, api_key=None):
    return _connect(where, token=token, api_key=api_key)
'''

_HEAD = '''\
"""The functions of a catalog, written by ``jupyter funcs stubs``; run it again when the catalog changes."""

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, Literal, Self, overload

from pandas import DataFrame  # type: ignore[import-untyped, unused-ignore]

from jupyter_funcs import Form, Job, Session
from jupyter_funcs.api import RemoteFunction

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
    """Write the module and its stub into a folder, and return their paths; earlier ones are replaced."""
    name = module_name(session)
    texts = {
        folder / f"{name}.py": module(session),
        folder / f"{name}.pyi": stub(session),
    }
    hint = "Choose another folder with -o DIR."
    with named_error(folder, hint):
        for path in texts:
            if path.exists() and _MARK.encode() not in read_small(path, 2**26):
                raise ConfigError(f"{path} was not written by {_MARK}.", hint)
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            atomic_write_text(path, text)

    return list(texts)


def module_name(session: Session) -> str:
    """Return the module's name: ``funcs_`` and the name of the session's service."""
    return f"funcs_{identifiers([session.service], lower=True)[0]}"


def module(session: Session) -> str:
    """Return the module that runs: it connects, and contains nothing of the catalog."""
    return _MODULE.format(module=module_name(session), where=session.where or None)


def stub(session: Session) -> str:
    """Return the stub: a class per function, and ``Funcs``, the session that has them as attributes and items."""
    functions = list(session)
    by_name: dict[str, str] = {}
    for function in functions:
        by_name.setdefault(function.name, function.slug)
    parts = [_HEAD, *map(_class, functions)]
    # The overloads are in a class without names of the catalog, because a function may be called `overload` or `str`.
    parts.append("class _ByName(Session):\n")
    overloads = by_name if len(by_name) <= _MOST_OVERLOADS else {}
    for name, slug in overloads.items():
        parts.append(
            f"    @overload\n    def __getitem__(self, name: Literal[{name!a}], /) -> _{slug}: ...\n"
        )

    if overloads:
        parts.append("    @overload\n")
    parts += [
        "    def __getitem__(self, name: str | int, /) -> RemoteFunction: ...\n\n",
        "class Funcs(_ByName):\n",
    ]
    # A name that the session uses itself ends in an underscore, as at run time.
    pairs = zip(session.attributes, functions, strict=True)
    attributes = [f"    {name}: _{function.slug}\n" for name, function in pairs]
    return "".join([*parts, *(attributes or ["    ...\n"]), _TAIL])


def _class(function: RemoteFunction) -> str:
    parameters = ""
    for name, parameter in function.__signature__.parameters.items():
        default = ""
        if parameter.default is not inspect.Parameter.empty:
            default = f" = {parameter.default!a}"
        parameters += f"{'' if parameters else ', *'}, {name}: {source(parameter.annotation)}{default}"

    return _FUNCTION.format(
        slug=function.slug, doc=ascii(function.__doc__), parameters=parameters
    )


def source(annotation: Any) -> str:
    """Return the source code of a parameter's annotation."""
    origin = get_origin(annotation)
    inner = get_args(annotation)
    if origin in {Union, types.UnionType}:
        return " | ".join(map(source, inner))
    if inner:
        return f"{origin.__name__}[{', '.join(map(ascii if origin is Literal else source, inner))}]"
    if annotation is type(None):
        return "None"
    return str(annotation.__name__)
