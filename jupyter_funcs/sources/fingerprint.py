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
from pathlib import Path
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any

_OWN_NAMES = {"STORE_GLOBAL", "STORE_DEREF"}
_DATA = {*sys.stdlib_module_names, "numpy", "pandas", "pyarrow"}  # whose objects differ by what they hold
_DERIVED = ("__dict__", "__weakref__", "_abc_impl", "__pydantic")
_COLLECTS = {"add", "append", "clear", "extend", "insert", "pop", "remove", "update"}
_WRAPPED = ("__dict__", "__func__", "__self__", "fget", "fset", "fdel")  # of wrappers, methods and properties
_numbered: dict[int, Any] = {}  # by id, which no other object can have any more
_process = uuid.uuid4().hex
_files: weakref.WeakKeyDictionary[ModuleType, tuple[Any, bytes]] = weakref.WeakKeyDictionary()


def fingerprint(python: Any) -> str:
    """Return the hash for a function; it is another one in each process if an object can't be told by what it is."""
    hasher = _Hasher(_module(python))
    try:
        hasher.dump(python)
    except Exception:  # noqa: BLE001  # objects may fail in any way; then only this one is the same
        hasher.digest.update(_number(python).encode())
    for name in sorted(hasher.modules & sys.modules.keys()):
        hasher.digest.update(_file(sys.modules[name]))
    return hasher.digest.hexdigest()


class _Hasher(pickle.Pickler):
    """Pickles functions by what they do, into a hash; nothing reads it again."""

    def __init__(self, module: str) -> None:
        self.digest = hashlib.sha256()
        super().__init__(SimpleNamespace(write=self.digest.update), 5)
        self.fast = True  # which of two equal texts are one object differs from process to process
        self.modules: set[str] = set()
        self._root = _top(module)
        self._seen: dict[int, tuple[int, Any]] = {}

    def reducer_override(self, value: Any) -> Any:
        is_code = isinstance(value, CodeType | ModuleType | property | type) or inspect.isroutine(value)
        is_code = is_code or hasattr(value, "__wrapped__")
        if value is object or (not is_code and self._is_data(value)):
            return NotImplemented
        if id(value) in self._seen:  # it refers to itself
            return object, (), self._seen[id(value)][0]
        self._seen[id(value)] = len(self._seen), value  # held, so that no other gets its id
        return object, (), self._parts(value) if is_code else _text(value)

    def _is_data(self, value: Any) -> bool:
        if self._is_own(_module(type(value))) or _top(_module(type(value))) in _DATA:
            with suppress(Exception):
                return bool(value.__reduce_ex__(5))
        return False

    def _parts(self, value: Any) -> Any:
        """Return what code says itself, and the values that it refers to."""
        if isinstance(value, CodeType):
            constants = [sorted(map(repr, part)) if isinstance(part, frozenset) else part for part in value.co_consts]
            return value.co_code, value.co_exceptiontable, value.co_flags, value.co_names, constants
        module = _module(value)
        if inspect.ismethod(value):
            fields = getattr(value.__self__, "__dict__", None)
            if not isinstance(fields, dict):
                return value.__func__, value.__self__
            kept = sorted(fields.keys() - _names(value.__func__, {"STORE_ATTR"})[1])
            return value.__func__, type(value.__self__), [(name, fields[name]) for name in kept]
        if isinstance(value, type) and self._is_own(module):
            self.modules.add(module)
            members = [item for item in vars(value).items() if not item[0].startswith(_DERIVED)]
            return type(value), value.__bases__, members
        if inspect.isfunction(value) and self._is_own(module):
            self.modules.add(module)
            names, stored = _names(value, _OWN_NAMES)
            used = value.__globals__ | dict(zip(value.__code__.co_freevars, value.__closure__ or (), strict=True))
            values = [(name, self._used(used[name], names)) for name in sorted(names & used.keys() - stored)]
            return value.__code__, value.__defaults__, value.__kwdefaults__, values, vars(value)
        version = getattr(sys.modules.get(_top(module)), "__version__", None)
        inner = [getattr(value, name, None) for name in _WRAPPED] if not isinstance(value, type | ModuleType) else []
        return inner, module, getattr(value, "__qualname__", ""), str(version)

    def _used(self, value: Any, names: set[str]) -> Any:
        value = getattr(value, "cell_contents", value)
        if isinstance(value, ModuleType) and self._is_own(value.__name__):
            return [(name, self._used(vars(value)[name], names)) for name in sorted(names & vars(value).keys())]
        if not isinstance(value, list | set):
            return value
        # What a function may collect itself is its state.
        return _number(value) if names & _COLLECTS else sorted(map(repr, value)) if isinstance(value, set) else value

    def _is_own(self, module: str) -> bool:
        top = _top(module)
        file = getattr(sys.modules.get(top), "__file__", None) or ""
        is_installed = "-packages" in file or top in sys.stdlib_module_names or top == _top(__name__)
        return top == self._root or not is_installed


def _text(value: Any) -> str:
    """Return the repr of an object if it says all of it, else its number."""
    if _top(_module(type(value))) in {"_thread", "threading"}:
        return type(value).__name__
    text = repr(value)
    is_partial = text.startswith("<") or "..." in text or "…" in text
    return _number(value) if is_partial else text


def _names(function: Any, stores: set[str]) -> tuple[set[str], set[str]]:
    """Return the names that a function uses, with the code in it, and those that it stores, which are its state."""
    names, stored = set[str](), set[str]()
    pending = [function.__code__] if inspect.isfunction(function) else []
    for code in pending:
        names.update(code.co_names, code.co_freevars)
        stored.update(step.argval for step in dis.get_instructions(code) if step.opname in stores)
        pending += [part for part in code.co_consts if isinstance(part, CodeType)]
    return names, stored


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
    spec, content = _files.get(module, (None, b""))
    if not content or spec is not module.__spec__:  # which another one replaces when the module is loaded again
        with suppress(AttributeError, OSError):
            content = hashlib.sha256(Path(module.__file__ or "").read_bytes()).digest()
        _files[module] = module.__spec__, content
    return content
