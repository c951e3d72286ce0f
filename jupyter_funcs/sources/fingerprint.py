"""
What the answers of a Python function depend on, as a hash, so that no result of other code is taken for its own.

It covers the loaded code of the function and of your own functions and classes that it uses, the values that these
refer to, and the files of their modules. Installed packages count with their version.
"""

from __future__ import annotations

import dis
import hashlib
import inspect
import os
import pickle
import sys
import uuid
import weakref
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any

_OF_CODE = (
    "co_code",
    "co_exceptiontable",
    "co_flags",
    "co_names",
    "co_varnames",
    "co_consts",
)
_COPIES = ("__getstate__", "__reduce__", "__reduce_ex__")
_DERIVED = ("__dict__", "__weakref__", "_abc_impl", "__pydantic")
_COLLECTS = {"add", "append", "clear", "extend", "insert", "pop", "remove", "update"}
# Where wrappers, methods and properties hold their function.
_WRAPPED = ("__dict__", "__func__", "__self__", "fget", "fset", "fdel")
_numbered: dict[int, Any] = {}  # by id, which no other object can have any more
_process = uuid.uuid4().hex
_files: weakref.WeakKeyDictionary[ModuleType, tuple[Any, bytes]] = (
    weakref.WeakKeyDictionary()
)


def fingerprint(python: Any) -> str:
    """Return the hash for a function; it is another one in each process if an object can't be told by what it is."""
    hasher = _Hasher(_module(python))
    try:
        hasher.dump(python)
    except Exception:  # noqa: BLE001  # objects may fail in any way; then nothing is the same
        hasher.digest.update(uuid.uuid4().bytes)

    for name in sorted(hasher.modules & sys.modules.keys()):
        hasher.digest.update(_file(sys.modules[name]))
    return hasher.digest.hexdigest()


class _Hasher(pickle.Pickler):
    """Pickles functions by what they do, into a hash; nothing reads it again."""

    def __init__(self, module: str) -> None:
        self.digest = hashlib.sha256()
        super().__init__(SimpleNamespace(write=self.digest.update), 5)
        # Which of two equal texts are one object differs from process to process.
        self.fast = True
        self.modules: set[str] = set()
        self._root = _top(module)
        self._seen: dict[int, tuple[int, Any]] = {}

    def persistent_id(self, value: Any) -> Any:
        """Return the items of a set in an order that is the same in each process."""
        if type(value) in {set, frozenset}:
            return sorted(value, key=repr)
        return None

    def reducer_override(self, value: Any) -> Any:
        is_code = isinstance(
            value, CodeType | ModuleType | property | type
        ) or inspect.isroutine(value)
        is_code |= hasattr(value, "__wrapped__")
        is_data = not is_code and self._is_data(value)
        if value is object or (is_data and not self._is_own(_module(type(value)))):
            return NotImplemented
        if id(value) in self._seen:  # it refers to itself
            return object, (), self._seen[id(value)][0]
        # Held, so that no other gets its id.
        self._seen[id(value)] = len(self._seen), value
        if is_data:
            return NotImplemented
        if is_code:
            return object, (), self._parts(value)
        return object, (), _text(value)

    def _is_data(self, value: Any) -> bool:
        """Return whether an object is told by what a copy of it would hold."""
        kind = type(value)
        is_known = (
            self._is_own(_module(kind))
            or _top(_module(kind)) in sys.stdlib_module_names
        )
        if is_known or any(
            getattr(kind, name, None) is not getattr(object, name) for name in _COPIES
        ):
            with suppress(Exception):
                return bool(value.__reduce_ex__(5))

        return False

    def _parts(self, value: Any) -> Any:
        """Return what code says itself, and the values that it refers to."""
        if isinstance(value, CodeType):
            return [getattr(value, name) for name in _OF_CODE]
        module = _module(value)
        if inspect.ismethod(value):
            return value.__func__, _owner(value)
        if self._is_own(module):
            self.modules.add(module)
            if isinstance(value, type):
                members = [
                    (name, member)
                    for name, member in vars(value).items()
                    if not name.startswith(_DERIVED)
                ]
                fields = getattr(value, "__pydantic_fields__", None)
                return type(value), value.__bases__, members, fields
            if inspect.isfunction(value):
                return self._of_function(value)

        version = getattr(sys.modules.get(_top(module)), "__version__", None)
        inner = []
        if not isinstance(value, type | ModuleType):
            inner = [getattr(value, name, None) for name in _WRAPPED]
        return inner, module, getattr(value, "__qualname__", ""), str(version)

    def _of_function(self, function: Any) -> Any:
        names, stored, imports = _names(function)
        variables = function.__globals__
        used = {
            name: variables[name]
            for name in names & variables.keys() - stored["GLOBAL"]
        }
        cells = zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        )
        used |= {
            name: cell.cell_contents
            for name, cell in cells
            if name not in stored["DEREF"]
        }
        for level, wanted, name in imports:
            if level or self._is_own(name):
                with suppress(Exception):  # it isn't there, or fails
                    used[f"{level} {name}"] = __import__(
                        name, variables, None, wanted, level
                    )

        values = [(name, self._used(used[name], names)) for name in sorted(used)]
        code = function.__code__
        return (
            code,
            function.__defaults__,
            function.__kwdefaults__,
            values,
            vars(function),
        )

    def _used(self, value: Any, names: set[str]) -> Any:
        if not isinstance(value, ModuleType) or not self._is_own(value.__name__):
            return value
        self.modules.add(value.__name__)
        return [
            (name, self._used(vars(value)[name], names))
            for name in sorted(names & vars(value).keys())
        ]

    def _is_own(self, module: str) -> bool:
        top = _top(module)
        file = ""
        with suppress(Exception):  # it has none
            file = find_spec(top).origin or ""  # type: ignore[union-attr]  # None has no origin, which is suppressed
        is_installed = (
            "-packages" in file
            or top in sys.stdlib_module_names
            or top == _top(__name__)
        )
        return top == self._root or not is_installed


def _owner(method: Any) -> Any:
    """Return the object of a method, without the attributes that the method stores: they are its state."""
    owner = method.__self__
    changed = _names(method)[1]["ATTR"]
    fields = getattr(owner, "__dict__", None)
    if changed and isinstance(fields, dict):
        return type(owner), [
            (name, fields[name]) for name in sorted(fields.keys() - changed)
        ]

    return owner


def _text(value: Any) -> str:
    """Return the repr of an object if it says all of it, else its number."""
    if _top(_module(type(value))) in {"_thread", "threading"}:
        return type(value).__name__
    text = repr(value)
    if any(mark in text for mark in ("<", "...", "…", "**")):
        return _number(value)
    return text


def _names(function: Any) -> tuple[set[str], dict[str, set[str]], list[Any]]:
    """
    Return the names that a function uses, with the code in it; those that it stores, by their kind; and its imports.

    What a function stores, or collects in, is its state.
    """
    names = set[str]()
    stored: dict[str, set[str]] = {"GLOBAL": set(), "DEREF": set(), "ATTR": set()}
    imports = []
    pending = [*filter(None, [getattr(function, "__code__", None)])]
    for code in pending:
        names.update(code.co_names, code.co_freevars)
        steps = list(dis.get_instructions(code))
        for at, step in enumerate(steps):
            if step.opname == "IMPORT_NAME":
                imports.append([part.argval for part in steps[at - 2 : at + 1]])
            collects = (
                step.opname in {"LOAD_ATTR", "LOAD_METHOD"} and step.argval in _COLLECTS
            )
            changed = steps[at - 1] if collects else step
            action, _, kind = changed.opname.partition("_")
            if kind in stored and (collects or action == "STORE"):
                stored[kind].add(changed.argval)
        pending += [part for part in code.co_consts if isinstance(part, CodeType)]

    return names, stored, imports


def _module(value: Any) -> str:
    return str(getattr(value, "__module__", None) or getattr(value, "__name__", ""))


def _top(module: str) -> str:
    return module.partition(".")[0]


def _number(value: Any) -> str:
    """Return a text that no other object has, in this process or another."""
    _numbered[id(value)] = value
    return f"{_process} {os.getpid()} {id(value)}"


def _file(module: ModuleType) -> bytes:
    """Return the hash of a module's file as it was when first asked for: what is loaded may be older than the file."""
    spec_then, content = _files.get(module, (None, b""))
    # Another one when the module is loaded again; none of a shell's own.
    spec = getattr(module, "__spec__", None)
    if not content or spec is not spec_then:
        with suppress(AttributeError, OSError):
            content = hashlib.sha256(Path(module.__file__ or "").read_bytes()).digest()
        _files[module] = spec, content

    return content
