"""Python functions as a source: a module, or functions of this process. They run in threads."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import math
import numbers
import traceback
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from jupyter_funcs.catalog.descriptions import read_options
from jupyter_funcs.catalog.fields import part_named, read_fields
from jupyter_funcs.catalog.listing import (
    Catalog,
    Encoding,
    Function,
    Param,
    ReadCatalog,
)
from jupyter_funcs.connection.replies import Reply
from jupyter_funcs.connection.secrets import redacted_line
from jupyter_funcs.core.background import Progress, in_thread
from jupyter_funcs.core.errors import (
    ArgumentError,
    ConfigError,
    FunctionError,
    NotFoundError,
)
from jupyter_funcs.core.text import distinct, quote, recorded, some
from jupyter_funcs.core.warn import warn
from jupyter_funcs.functions.callables import (
    called,
    declared,
    documented,
    evaluated,
    name_of,
    title,
)
from jupyter_funcs.functions.parameters import Parameter
from jupyter_funcs.functions.return_values import (
    BEYOND,
    SCALAR,
    as_json,
    plain,
    returned,
    tabular,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd

    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.connection.profiles import Connection
    from jupyter_funcs.connection.transport import Terms

    Python = Callable[..., Any]
    from jupyter_funcs.core.json_decoding import JsonObject, Values

_MOST_ITEMS = 1_000_000  # read from a generator, which may have no end


class PythonSource:
    """The functions of a module, or a list of functions."""

    kind = "python"

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._callables: dict[str, tuple[Python, Function, list[Parameter]]] = {}

    async def listing(self, _terms: Terms, progress: Progress) -> ReadCatalog:
        progress.attempts = 1
        return self._list

    async def run(
        self, function: Function, args: Args, _terms: Terms, progress: Progress
    ) -> Reply | pd.DataFrame:
        if not self._callables:  # in another process
            await asyncio.wrap_future(in_thread(self._list, "python"))
        if function.name not in self._callables:
            raise NotFoundError(
                f"{function.name} is no longer in {self._connection.name}.",
                "See %funcs find.",
            )

        progress.attempts = 1
        python, _, parameters = self._callables[function.name]
        work = partial(_result, function, python, parameters, args)
        result = await asyncio.wrap_future(in_thread(work, "python"))
        if not isinstance(result, tuple):
            return result
        data, infinities = result
        progress.received = len(data)
        return Reply(data, [], lines=False, is_exact=infinities > 0)

    def request(self, function: Function, args: Args) -> JsonObject:
        return {
            "function": function.name,
            "arguments": {name: recorded(value) for name, value in args.items()},
        }

    def identity(self, function: Function) -> str:
        """Return a hash of the function as it is now: a notebook may have changed it."""
        from jupyter_funcs.sources.fingerprint import fingerprint

        if not self._callables:
            self._list()
        # A run says that it is gone.
        return fingerprint(self._callables.get(function.name, (None,))[0])

    async def close(self) -> None:
        """Nothing is open."""

    def _list(self) -> Catalog:
        entries = []
        skipped: list[str] = []
        for name, python in _functions_of(self._connection.target, skipped):
            try:
                entries.append((python, *_function(name, python)))
            except TypeError as error:
                skipped.append(f"{name} ({error})")

        if skipped:
            warn(f"{self._connection.name}: left out {some(skipped)}.")
        titles = distinct([function.name for _, function, _ in entries], "{} {}", 2)
        self._callables = dict(zip(titles, entries, strict=True))
        listed = enumerate(self._callables.items(), 1)
        return Catalog(
            function.changed(id=at, name=name)
            for at, (name, (_, function, _)) in listed
        )


def _functions_of(target: Any, failing: list[str]) -> Iterator[tuple[str, Python]]:
    """Yield functions with their names: those given, or the public ones of a module; note the names that fail."""
    if isinstance(target, list | tuple):
        for python in target:
            yield name_of(python), python
        return

    module = target
    if isinstance(target, str):
        module = _imported(target)
    listed = getattr(module, "__all__", None)
    names: Any = listed
    if listed is None:
        names = vars(module).copy()
    for name in map(str, names):
        try:
            python = getattr(module, name)
        except BaseException as error:  # noqa: BLE001  # a module may import its parts when they are asked for
            failing.append(f"{name} ({_text(error)})")
            continue
        is_own = f"{getattr(python, '__module__', '')}.".startswith(
            f"{module.__name__}."
        )
        is_offered = not name.startswith("_") and (is_own or listed is not None)
        if is_offered and _is_function(python):
            yield name, python


def _is_function(python: Any) -> bool:
    return (
        callable(python) and hasattr(python, "__name__") and not inspect.isclass(python)
    )


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except BaseException as error:  # a module may even exit
        # The first place is the line above.
        places = [
            line
            for line in traceback.extract_tb(error.__traceback__)
            if "importlib" not in line.filename
        ][1:]
        at = ""
        if places:
            at = f" ({places[-1].filename}, line {places[-1].lineno})"
        hint = "Fix the module, and try again."
        if isinstance(error, ModuleNotFoundError):
            hint = "Check its name, install it, or add its folder to PYTHONPATH."
        raise ConfigError(
            f"The module {quote(name)} can't be imported: {_text(error)}{at}.", hint
        ) from error


def _parameter(
    parameter: inspect.Parameter, python: Python, words: str, text: str
) -> Parameter:
    """Read a parameter; where it has no annotation, its default and its type in the docstring tell something."""
    if parameter.annotation is not parameter.empty:
        annotation = parameter.empty
        with suppress(Exception):  # annotations may be anything, and fail in any way
            annotation = evaluated(parameter, python).annotation
        return Parameter.of_python(parameter.replace(annotation=annotation), text)

    if words.startswith("{") and (options := read_options(words)):
        if parameter.default in options:
            words += f", default {parameter.default!r}"
        adapter = TypeAdapter[Any](
            Annotated[Any, BeforeValidator(partial(_meant, options))]
        )
        return replace(
            Parameter.of_python(parameter, f"{words}. {text}"),
            structure=None,
            adapter=adapter,
        )

    if words in {"bool", "boolean"} and isinstance(parameter.default, bool):
        parameter = parameter.replace(annotation=bool)
    elif isinstance(parameter.default, bool):  # alone, it may also be that of a level
        either = Annotated[bool | Any, Field(union_mode="left_to_right")]
        parameter = parameter.replace(annotation=either)

    return Parameter.of_python(parameter, ". ".join(filter(None, [words, text])))


def _meant(options: tuple[str, ...], text: Any) -> Any:
    """Return what a text stands for that isn't declared as one: an option, else a JSON value."""
    with suppress(ValueError, TypeError, RecursionError):
        if text not in options:
            return json.loads(text)
    return text


def _function(name: str, python: Python) -> tuple[Function, list[Parameter]]:
    """Return a function as a catalog lists it, and its parameters; raises `TypeError` if it can't be called."""
    about = documented(python)
    parameters = [
        _parameter(parameter, python, *about.params.get(parameter.name, ("", "")))
        for parameter in declared(python)
    ]
    params = [
        Param(
            name=parameter.name,
            description=str(parameter.help),
            required=parameter.required,
            schema=parameter.structure,
            encoding=Encoding.OBJECT,
        )
        for parameter in parameters
    ]
    function = Function(
        name=title(name),
        description=about.text,
        params=tuple(params),
        group_name=getattr(python, "__module__", "") or "",
        returns=returned(python),
    )
    return function, parameters


def _arguments(
    function: Function, parameters: list[Parameter], args: Values
) -> JsonObject:
    """Return the arguments as the annotations say."""
    values = {}
    errors = {}
    for parameter in parameters:
        name = parameter.name
        if name in args:
            try:
                values[name] = parameter.adapter.validate_python(args[name])
            except ValidationError as error:
                wrong = error.errors(include_url=False)[0]
                place = ".".join(map(str, (name, *wrong["loc"])))
                errors[place] = (
                    f"does not take {quote(wrong['input'])}: {redacted_line(wrong['msg'])}."
                )
        elif parameter.required and parameter.passing == "POSITIONAL_ONLY":
            errors[name] = "is required."

    if errors:
        fields = read_fields(function)
        texts = {}
        for place, text in errors.items():
            # Only of some errors is the place a part.
            names = (place, place.partition(".")[0])
            field = next(filter(None, (part_named(fields, name) for name in names)))
            texts[field.name] = [f"{field.name} {text}"]
        raise ArgumentError(hint=f"{function.name} was not run.", errors=texts)

    return values


def _result(
    function: Function, python: Python, parameters: list[Parameter], args: Values
) -> tuple[bytes, int] | pd.DataFrame:
    """Call a function; return its frame, or its result as JSON and how many infinite numbers are in it."""
    values = _arguments(function, parameters, args)
    try:
        value: Any = tabular(called(python, parameters, values, _check))
        if hasattr(value, "to_pandas"):
            value = value.to_pandas()
        is_float = isinstance(value, numbers.Real) and not isinstance(
            value, numbers.Rational
        )
        if is_float and not math.isfinite(value):  # null stands for no rows
            import pandas as pd

            value = pd.DataFrame({SCALAR: [value]})
        if isinstance(value, bytes | bytearray):
            from jupyter_funcs.frames.media import media_to_frame

            return media_to_frame(bytes(value), "application/octet-stream")
        if not hasattr(value, "iloc"):
            return _json(value)
    except BaseException as error:  # a function may even exit
        raise FunctionError(f"{function.name} failed: {_text(error)}") from error

    frame: pd.DataFrame = value.copy(deep=False)
    frame.attrs = {
        name: attribute for name, attribute in value.attrs.items() if name != "funcs"
    }
    return frame


def _check(items: int) -> None:
    if items > _MOST_ITEMS:
        raise ValueError(f"it yields more than {_MOST_ITEMS:,} items")


def _json(value: Any) -> tuple[bytes, int]:
    try:
        return as_json(value, _plain, BEYOND)
    except (ValueError, TypeError, RecursionError):
        return as_json(repr(value), _plain)


def _plain(value: Any) -> Any:
    """Return a part of a result as msgspec knows it, or its repr."""
    try:
        return plain(value)
    except TypeError:
        return repr(value)


def _text(error: BaseException) -> str:
    """Return an exception as one line, without secrets."""
    text = ""
    with suppress(Exception):  # a user's __str__ may fail
        text = redacted_line(str(error))
    return ": ".join(filter(None, [type(error).__name__, text]))
