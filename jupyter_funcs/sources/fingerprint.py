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

_STORES = {"STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR"}
_DATA = {*sys.stdlib_module_names, "numpy", "pandas"}  # whose objects differ by what they hold
_numbered: dict[int, Any] = {}  # by id, which no other object can have any more
_process = uuid.uuid4().hex
_files: weakref.WeakKeyDictionary[ModuleType, tuple[Any, bytes]] = weakref.WeakKeyDictionary()


def fingerprint(python: Any, *, is_named: bool) -> str:
    """Return the hash for a function; with `is_named`, any process can make it from its module's file."""
    hasher = _Hasher(_module(python), is_named=is_named)
    try:
        hasher.dump(python)
    except Exception:  # noqa: BLE001  # objects may fail in any way; then only this one is the same
        hasher.digest.update(_number(python).encode())
    for name in sorted(hasher.modules & sys.modules.keys()):
        hasher.digest.update(_file(sys.modules[name]))
    return hasher.digest.hexdigest()


class _Hasher(pickle.Pickler):
    """Pickles functions by what they do, into a hash; nothing reads it again."""

    def __init__(self, module: str, *, is_named: bool) -> None:
        self.digest = hashlib.sha256()
        super().__init__(SimpleNamespace(write=self.digest.update), 5)
        self.fast = True  # which of two equal texts are one object differs from process to process
        self.modules: set[str] = set()
        self._root, self._is_named = _top(module), is_named
        self._seen: dict[int, Any] = {}

    def reducer_override(self, value: Any) -> Any:
        is_code = isinstance(value, CodeType | ModuleType | property | type) or inspect.isroutine(value)
        is_code = is_code or hasattr(value, "__wrapped__")
        if value is object or (not is_code and self._is_data(value)):
            return NotImplemented
        if id(value) in self._seen:  # it refers to itself
            return object, (), list(self._seen).index(id(value))
        self._seen[id(value)] = value
        return object, (), self._parts(value) if is_code else self._text(value)

    def _is_data(self, value: Any) -> bool:
        if self._is_own(_module(type(value))) or _top(_module(type(value))) in _DATA:
            with suppress(Exception):
                return bool(value.__reduce_ex__(5))
        return False

    def _parts(self, value: Any) -> Any:
        """Return what code says itself, and the values that it refers to."""
        if isinstance(value, CodeType):
            constants = [sorted(map(repr, each)) if isinstance(each, frozenset) else each for each in value.co_consts]
            return value.co_code, value.co_exceptiontable, value.co_flags, value.co_names, constants
        if inspect.ismethod(value):
            own = getattr(value.__self__, "__dict__", {})
            fields = [(name, own[name]) for name in sorted(own.keys() - _names(value.__func__)[1])]
            return value.__func__, type(value.__self__), fields
        module = _module(value)
        if isinstance(value, type) and self._is_own(module):
            self.modules.add(module)
            return value.__bases__, [item for item in vars(value).items() if item[0] not in {"__dict__", "__weakref__"}]
        if inspect.isfunction(value) and self._is_own(module):
            self.modules.add(module)
            names, stored = _names(value)
            used = value.__globals__ | dict(zip(value.__code__.co_freevars, value.__closure__ or (), strict=True))
            held = [(name, self._held(used[name], names)) for name in sorted(names & used.keys() - stored)]
            return value.__code__, value.__defaults__, value.__kwdefaults__, held
        inner = [getattr(value, name, None) for name in ("__wrapped__", "__func__", "fget")]
        version = getattr(sys.modules.get(_top(module)), "__version__", None)
        return inner, module, getattr(value, "__qualname__", ""), str(version)

    def _held(self, value: Any, names: set[str]) -> Any:
        value = getattr(value, "cell_contents", value)
        if isinstance(value, ModuleType) and self._is_own(value.__name__):
            return [(name, self._held(vars(value)[name], names)) for name in sorted(names & vars(value).keys())]
        # What a function collects in a list is its state.
        return self._text(value) if isinstance(value, list | set) else value

    def _text(self, value: Any) -> str:
        """Return an object's repr; if that only says where it is in memory, its number unless a file made it."""
        text = "" if isinstance(value, list | set) else repr(value)
        if text and " at 0x" not in text:
            return text
        return type(value).__name__ if self._is_named else _number(value)

    def _is_own(self, module: str) -> bool:
        top = _top(module)
        file = getattr(sys.modules.get(top), "__file__", None) or ""
        is_installed = "-packages" in file or top in sys.stdlib_module_names or top == _top(__name__)
        return top == self._root or not is_installed


def _names(function: Any) -> tuple[set[str], set[str]]:
    """Return the names that a function uses, with the code in it, and those that it stores, which are its state."""
    names, stored = set[str](), set[str]()
    pending = [function.__code__] if inspect.isfunction(function) else []
    for code in pending:
        names.update(code.co_names, code.co_freevars)
        stored.update(step.argval for step in dis.get_instructions(code) if step.opname in _STORES)
        pending += [each for each in code.co_consts if isinstance(each, CodeType)]
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
