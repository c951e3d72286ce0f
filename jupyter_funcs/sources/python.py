"""Python functions as a source: a module, or functions of this process. They run in threads."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import re
import traceback
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from jupyter_funcs.catalog.descriptions import read_options
from jupyter_funcs.catalog.fields import by_name, read_fields
from jupyter_funcs.catalog.listing import Catalog, Function, Param
from jupyter_funcs.catalog.values import as_json, json_args
from jupyter_funcs.connection.replies import Reply
from jupyter_funcs.connection.secrets import redacted_line
from jupyter_funcs.core.background import Progress, in_thread
from jupyter_funcs.core.errors import ArgumentError, ConfigError, FunctionError, NotFoundError
from jupyter_funcs.core.text import distinct, quote, some
from jupyter_funcs.core.warn import warn

if TYPE_CHECKING:
    import pandas as pd

    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.connection.profiles import Connection
    from jupyter_funcs.connection.transport import Terms

_MOST_ITEMS = 1_000_000  # read from a generator, which may have no end
_ANY = {"type": ["null", "boolean", "number", "string", "array", "object"]}


class _Parameter(NamedTuple):
    declared: inspect.Parameter
    adapter: TypeAdapter[Any]  # turns JSON into what the annotation says
    schema: Any
    help: str


class _Schemas(GenerateJsonSchema):
    def decimal_schema(self, schema: Any) -> dict[str, Any]:  # else the same as that of float | str
        return {**super().decimal_schema(schema)["anyOf"][0], "type": ["number", "string"], "format": "decimal"}


class PythonSource:
    """The functions of a module, or a list of functions."""

    kind = "python"

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._callables: dict[str, tuple[Callable[..., Any], list[_Parameter]]] = {}

    async def listing(self, _terms: Terms, progress: Progress) -> Callable[[], Catalog]:
        progress.attempts = 1
        return self._list

    async def run(self, function: Function, args: Args, _terms: Terms, progress: Progress) -> Reply | pd.DataFrame:
        if not self._callables:  # in another process
            await asyncio.wrap_future(in_thread(self._list, "python"))
        if function.name not in self._callables:
            raise NotFoundError(f"{function.name} is no longer in {self._connection.name}.", "See %funcs find.")
        progress.attempts = 1
        work = partial(_called, function, *self._callables[function.name], args)
        result = await asyncio.wrap_future(in_thread(work, "python"))
        if not isinstance(result, bytes):
            return result
        progress.received = len(result)
        return Reply(result, self._connection.token(), lines=False)

    def request(self, function: Function, args: Args) -> dict[str, Any]:
        return {"function": function.name, "arguments": json_args(function, args)}

    def identity(self, function: Function) -> str:
        """Return a hash of the function as it is now: a notebook may have changed it."""
        from jupyter_funcs.sources.fingerprint import fingerprint

        if not self._callables:
            self._list()
        python = self._callables.get(function.name, (None,))[0]  # a run says that it is gone
        return fingerprint(python)

    async def close(self) -> None:
        """Nothing is open."""

    def _list(self) -> Catalog:
        skipped: list[str] = []
        found = []
        for name, python in _functions_of(self._connection.target):
            try:
                declared = inspect.signature(python).parameters.values()
            except (ValueError, TypeError):  # none, as of some functions written in C
                skipped.append(name)
            else:
                found.append((python, *_function(name, python, declared)))
        titles = distinct([function.name for _, function, _ in found], "{} {}", 2)
        every = list(zip(titles, found, strict=True))
        self._callables = {title: (python, parameters) for title, (python, _, parameters) in every}
        if skipped:
            warn(f"{self._connection.name}: left out {some(skipped)}, which can't be called by keyword.")
        return Catalog(one.changed(id=at, name=title) for at, (title, (_, one, _)) in enumerate(every, 1))


def _functions_of(target: Any) -> list[tuple[str, Callable[..., Any]]]:
    """Return functions with their names: those given, or the public ones of a module."""
    if isinstance(target, (list, tuple)):  # a partial function has the name of its function
        return [(getattr(getattr(each, "func", each), "__name__", "function"), each) for each in target]
    module = _imported(target) if isinstance(target, str) else target
    names = getattr(module, "__all__", None)
    public = vars(module) if names is None else {str(name): getattr(module, str(name), None) for name in names}
    return [
        (name, each)
        for name, each in public.items()
        if callable(each) and not inspect.isclass(each) and hasattr(each, "__name__") and not name.startswith("_")
        if names is not None or f"{getattr(each, '__module__', '')}.".startswith(f"{module.__name__}.")
    ]


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except BaseException as error:  # a module may even exit
        # The first place is the line above.
        places = [each for each in traceback.extract_tb(error.__traceback__) if "importlib" not in each.filename][1:]
        at = f" ({places[-1].filename}, line {places[-1].lineno})" if places else ""
        missing = "Check its name, install it, or add its folder to PYTHONPATH."
        hint = missing if isinstance(error, ModuleNotFoundError) else "Fix the module, and try again."
        raise ConfigError(f"The module {quote(name)} can't be imported: {_text(error)}{at}.", hint) from error


def _documented(python: Callable[..., Any]) -> tuple[str, dict[str, tuple[str, str]]]:
    """Return what a docstring says about a function, and the type and text of each parameter."""
    import docstring_parser

    text = inspect.getdoc(python) or ""
    told: dict[str, tuple[str, str]] = {}
    with suppress(Exception):  # a docstring may be any text
        parsed = docstring_parser.parse(text)
        for each in parsed.params:
            about = (" ".join((each.type_name or "").split()), " ".join((each.description or "").split()))
            told |= {name.strip(" *"): about for name in each.arg_name.split(",")}
        gap = "\n\n" if parsed.blank_after_short_description else "\n"
        text = f"{parsed.short_description or ''}{gap}{parsed.long_description or ''}"
    paragraphs = (" ".join(each.split()) for each in text.split("\n\n"))
    return "\n\n".join(each for each in paragraphs if each and not each.startswith(">>> ")), told


def _parameter(declared: inspect.Parameter, names: dict[str, Any], words: str, text: str) -> _Parameter:
    """Read an annotation; without one, or with one that pydantic can't describe, any JSON value is passed as it is."""
    several, annotation, default = declared.kind is declared.VAR_POSITIONAL, declared.annotation, declared.default
    adapter = TypeAdapter[Any](Any)
    schema: dict[str, Any] = {"type": "array"} if several else {}
    if annotation is declared.empty and words:
        if options := read_options(words) if words.startswith("{") else ():
            adapter = TypeAdapter[Any](Annotated[Any, BeforeValidator(partial(_meant, options))])
            words += f", default {default!r}" if default in options else ""
            return _Parameter(declared, adapter, None, f"{words}. {text}")
        text = f"{words}. {text}"
    if annotation is declared.empty and isinstance(default, bool):  # alone, it may also be that of a level
        is_flag = words in {"bool", "boolean"}
        annotation = bool if is_flag else Annotated[bool | Any, Field(union_mode="left_to_right")]
    with suppress(Exception):  # annotations may be anything, and fail in any way
        if annotation is not declared.empty:
            holder = SimpleNamespace(__annotations__={declared.name: annotation})
            hint = typing.get_type_hints(holder, globalns=names, include_extras=True)[declared.name]
            described = TypeAdapter[Any](list[hint] if several else hint)  # type: ignore[valid-type]  # known at run time only
            adapter, schema = described, described.json_schema(schema_generator=_Schemas)
    with suppress(Exception):  # likewise
        if default is not declared.empty and default is not None:
            schema = {**(schema or _ANY), "default": adapter.dump_python(default, mode="json", warnings=False)}
    return _Parameter(declared, adapter, schema or True, text)


def _meant(options: tuple[str, ...], text: Any) -> Any:
    """Return what a text stands for that isn't declared as one: an option, else a JSON value."""
    with suppress(ValueError, TypeError, RecursionError):
        return text if text in options else json.loads(text)
    return text


def _function(
    name: str, python: Callable[..., Any], declared: Iterable[inspect.Parameter]
) -> tuple[Function, list[_Parameter]]:
    """Return a function as a catalog lists it, and how its parameters are passed."""
    text, told = _documented(python)
    names = getattr(inspect.unwrap(getattr(python, "func", python)), "__globals__", {})
    parameters = [
        _parameter(one, names, *told.get(one.name, ("", ""))) for one in declared if one.kind != one.VAR_KEYWORD
    ]
    function = Function(
        name=" ".join(word[:1].upper() + word[1:] for word in re.split(r"[\W_]+", name) if word),
        description=text,
        params=tuple(
            Param(
                name=one.name,
                description=help_,
                required=one.default is one.empty and one.kind is not one.VAR_POSITIONAL,
                schema=schema,
            )
            for one, _, schema, help_ in parameters
        ),
        group_name=getattr(python, "__module__", "") or "",
    )
    return function, parameters


def _called(
    function: Function, python: Callable[..., Any], parameters: list[_Parameter], args: Args
) -> bytes | pd.DataFrame:
    """Call a function with what was sent; return its frame, or its result as JSON."""
    positional, named = _arguments(function, parameters, args)
    try:
        result = python(*positional, **named)
        return _result(asyncio.run(result) if inspect.iscoroutine(result) else result)
    except BaseException as error:  # a function may even exit
        raise FunctionError(f"{function.name} failed: {_text(error)}") from error


def _arguments(function: Function, parameters: list[_Parameter], args: Args) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments by position and by keyword; by keyword wherever Python allows it."""
    fields = by_name(read_fields(function))
    positional: list[Any] = []
    named: dict[str, Any] = {}
    errors: dict[str, list[str]] = {}
    spreads = any(each.kind is each.VAR_POSITIONAL and each.name in args for each, *_ in parameters)
    for declared, adapter, *_ in parameters:
        name, kind, value = declared.name, declared.kind, declared.default
        if name in args:
            # A float has fewer digits than a Decimal.
            sent = args[name] if fields[name].format == "decimal" else as_json(fields[name], args[name])
            try:
                value = adapter.validate_python(sent)
            except ValidationError as error:
                reason = redacted_line(error.errors(include_url=False)[0]["msg"])
                errors[name] = [f"{fields[name].label} does not take {quote(sent)}: {reason}."]
        by_position = kind is kind.POSITIONAL_ONLY or (spreads and kind is kind.POSITIONAL_OR_KEYWORD)
        if kind is kind.VAR_POSITIONAL:
            positional += value if name in args else ()
        elif by_position and value is declared.empty:
            errors.setdefault(name, [f"{fields[name].label} is required."])
        elif by_position:
            positional.append(value)
        elif name in args:
            named[name] = value
    if errors:
        raise ArgumentError(hint=f"{function.name} was not run.", errors=errors)
    return positional, named


def _result(value: Any) -> bytes | pd.DataFrame:
    """Return a result as a frame of its own, or as the JSON that `to_frame` reads."""
    import numpy as np
    import pandas as pd
    from pydantic_core import to_json, to_jsonable_python

    if isinstance(value, (pd.Series, pd.Index)) or (isinstance(value, np.ndarray) and 0 < value.ndim < 3):
        is_named = value.ndim == 2 or value.dtype.names or getattr(value, "name", None) is not None
        value = pd.DataFrame(value).rename(columns=str if is_named else {0: "Result"})
    if isinstance(value, pd.DataFrame):
        frame = value.copy(deep=False)
        frame.attrs = {name: each for name, each in value.attrs.items() if name != "funcs"}
        return frame
    if isinstance(value, Iterator):
        value = list(islice(value, _MOST_ITEMS + 1))
        if len(value) > _MOST_ITEMS:
            raise ValueError(f"it yields more than {_MOST_ITEMS:,} items")
    value = [_record(each) for each in value] if isinstance(value, list) else _record(value)
    try:
        data = to_json(value, inf_nan_mode="constants", bytes_mode="base64", fallback=_plain)
        if b"Infinity" not in data:  # which is lost, and worth a warning, other than NaN
            data = to_json(value, inf_nan_mode="null", bytes_mode="base64", fallback=_plain)
    except (ValueError, TypeError, RecursionError):
        try:  # pydantic refuses a NaT
            known = partial(to_jsonable_python, fallback=_plain)
            data = json.dumps(value, default=lambda each: None if each is pd.NaT else known(each)).encode()
        except (ValueError, TypeError, RecursionError):
            data = to_json(repr(value))
    return data


def _record(value: Any) -> Any:
    """Return a named tuple as a dictionary."""
    if not isinstance(value, tuple) or not hasattr(value, "_asdict"):
        return value
    return {name: each for name, each in value._asdict().items() if not name.startswith("_")}


def _plain(value: Any) -> Any:
    """Return a part of a result that pydantic doesn't know as one that it does, or its repr."""
    if getattr(getattr(value, "dtype", None), "kind", "") == "M":
        value = value.astype("datetime64[us]")  # nanoseconds would become integers
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Collection):
        return list(value)
    return None if type(value).__name__ == "NAType" else repr(value)


def _text(error: BaseException) -> str:
    """Return an exception as one line, without secrets."""
    text = ""
    with suppress(Exception):  # a user's __str__ may fail
        text = redacted_line(str(error))
    return f"{type(error).__name__}{f': {text}' if text else ''}"
