"""Tables of thousands of rows as one test each, in which every row that fails is named."""

from __future__ import annotations

import contextlib
import functools
import inspect
import signal
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_funcs.connection import retries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from _pytest.mark import ParameterSet

# How long a pattern may take that would backtrack for ever, in seconds.
PATIENCE = 30


class RowsFailedError(AssertionError):
    """Some rows of a table failed: their names, each with what it raised."""

    def __init__(self, failed: dict[str, BaseException], rows: int) -> None:
        told = [f"  {name}: {_first_lines(error)}" for name, error in failed.items()]
        super().__init__("\n".join([f"{len(failed)} of {rows} rows failed:", *told]))
        self.failed = failed


def each_row(names: str, values: Iterable[Any], ids: Iterable[str] | Callable[[Any], str] | None = None) -> Any:
    """
    Decorate a test like ``pytest.mark.parametrize``, and run all rows as one test.

    Each row gets its own ``monkeypatch`` and warnings filters, and a service that has not failed yet. Other fixtures
    are shared by the rows.
    """
    arguments = [name.strip() for name in names.split(",")]
    table = dict(_named(arguments, list(values), ids))

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)
        fixtures = [each for name, each in signature.parameters.items() if name not in arguments]

        @functools.wraps(test)
        def run(**given: Any) -> None:
            failed: dict[str, BaseException] = {}
            total = 0
            for name, row in table.items():
                total += 1
                try:
                    with _apart(given) as fresh:
                        test(**fresh, **row)
                except RowsFailedError as error:
                    failed.update({f"{inner}, {name}": each for inner, each in error.failed.items()})
                except BaseException as error:
                    if not isinstance(error, Exception | pytest.fail.Exception):
                        raise
                    failed[name] = error
            if failed:
                raise RowsFailedError(failed, total) from next(iter(failed.values()))

        run.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        run.row_names = [*table, *row_names(test)]  # type: ignore[attr-defined]
        return run

    return decorate


def row_names(test: Any) -> list[str]:
    """Return the names of a test's rows."""
    return [*getattr(test, "row_names", ())]


def hangs(_number: int, _frame: object) -> None:
    pytest.fail("the text was not read to its end", pytrace=False)


def calm() -> None:
    """Forget the failures of services: no retry budget is used up and no breaker is open."""
    for health in retries.HEALTH.values():
        health.budget, health.breaker = retries.Budget(), retries.Breaker()


@contextlib.contextmanager
def _apart(given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    calm()
    if signal.getsignal(signal.SIGALRM) is hangs:  # the fixture no_hang
        signal.alarm(PATIENCE)
    with warnings.catch_warnings(), contextlib.ExitStack() as stack:
        fresh = dict(given)
        if "monkeypatch" in given:
            fresh["monkeypatch"] = stack.enter_context(pytest.MonkeyPatch.context())
        yield fresh


def _named(
    arguments: list[str], values: list[Any], ids: Iterable[str] | Callable[[Any], str] | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    given = [*ids] if ids is not None and not callable(ids) else None
    assert given is None or len(given) == len(values)
    used: set[str] = set()
    for number, value in enumerate(values):
        param: ParameterSet | None = value if hasattr(value, "marks") and hasattr(value, "values") else None
        assert param is None or not param.marks, "a row with a mark is a test of its own"
        row = tuple(param.values) if param else (value,) if len(arguments) == 1 else tuple(value)
        if given is not None:
            name = str(given[number])
        elif param and param.id:
            name = str(param.id)
        else:
            name = "-".join((ids(each) if callable(ids) else None) or _short(each) for each in row)
        while name in used:
            name += f" ({number})"
        used.add(name)
        yield name, dict(zip(arguments, row, strict=True))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _first_lines(error: BaseException) -> str:
    lines = f"{type(error).__name__}: {error}".strip().splitlines()
    return "\n    ".join(lines[:4])
