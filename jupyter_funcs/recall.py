"""What `%funcs history`, `again` and `lock` do with the words behind them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_funcs.errors import ArgumentError, ConfigError, FuncsError, NotFoundError
from jupyter_funcs.line import unquoted
from jupyter_funcs.text import did_you_mean, listed, quote

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from jupyter_funcs.catalog import Catalog
    from jupyter_funcs.history import History
    from jupyter_funcs.lock import Lock
    from jupyter_funcs.session import Session

_MOST_SAID = 3


def history(of: History, words: list[str], *, earlier: bool) -> Any:
    """
    Give the runs as a table; or switch the keeping of them on or off, or clear what is kept, and say so.

    Raises
    ------
    ArgumentError
        Something else was asked.
    ConfigError
        The file cannot be read or written.
    """
    if not words:
        return of.table(earlier=earlier)
    word, *more = map(unquoted, words)
    if more or word not in _SWITCHES or earlier:
        hint = did_you_mean(word, _SWITCHES) or "Run one again with %funcs again N."
        raise ArgumentError(f"%funcs history takes {listed(_SWITCHES)}, not {quote(' '.join(words))}.", hint)
    print(_SWITCHES[word](of))  # noqa: T201  # what a person asked for
    return None


def _on(of: History) -> str:
    of.keep(on=True)
    return (
        f"Runs are kept in {of.path} from now on, and those of this kernel so far: functions, arguments and times, "
        "no results. See them with %funcs history --all."
    )


def _off(of: History) -> str:
    of.keep(on=False)
    return "Runs are not kept from now on. %funcs history clear deletes those that were."


def _clear(of: History) -> str:
    number = of.clear()
    return f"{number:,} kept run{'s' * (number != 1)} deleted." if number else "No runs were kept."


_SWITCHES: dict[str, Callable[[History], str]] = {"on": _on, "off": _off, "clear": _clear}


def again(of: History, words: list[str]) -> pd.DataFrame:
    """
    Run a run of the history again.

    Raises
    ------
    FuncsError
        No run is named, or as of `History.again`.
    """
    if len(words) != 1:
        said = f", not {quote(' '.join(words))}" if words else ""
        raise ArgumentError(f"%funcs again takes the number of a run{said}.", "See %funcs history.")
    return of.again(unquoted(words[0]))


def lock_functions(session: Session, words: list[str], *, is_check: bool) -> None:
    """
    Lock the functions that are named, or those that were run and those that are locked already; or compare them.

    Raises
    ------
    FuncsError
        A function is not known, the file cannot be read or written, or what is locked has changed.
    """
    from jupyter_funcs import lock  # noqa: PLC0415  # what reads a catalog, which the magics wait for

    folder = _here()
    held = lock.read(folder)
    locked = list(held.functions) if held is not None else []
    if is_check:
        if held is None:
            raise NotFoundError(f"There is no {lock.NAME} in {folder}.", "Write it with %funcs lock.")
        _compare(session, held, _named(session.catalog, words, locked) if words else locked)
        return
    catalog = session.catalog
    names = _named(catalog, words, []) if words else [*(run.function for run in session.history), *locked]
    found = [function for name in dict.fromkeys(names) if (function := catalog.peek(name)) is not None]
    if not found:
        raise ArgumentError("No function was run yet, so there is none to lock.", "Name them: %funcs lock NAME …")
    made = lock.write(folder, session.address or "demo", found)
    said = f"{_counted(len(found))} locked in {made.path}: {listed([function.name for function in found], 'and')}."
    print(said)  # noqa: T201  # as above


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError:
        raise ConfigError("The folder that the notebook runs in is gone.", "Go to another one: %cd FOLDER.") from None


def _compare(session: Session, held: Lock, names: list[str]) -> None:
    service = session.address or "demo"
    if held.service != service:
        raise ArgumentError(f"{held.path} is of {held.service}, and not of {service}.", "Connect to that service.")
    catalog = session.refresh().catalog
    said = [text for name in names if (text := held.drifted(name, catalog.peek(name)))]
    if said:
        more = [f"And {len(said) - _MOST_SAID:,} more."] * (len(said) > _MOST_SAID)
        raise FuncsError(" ".join([*said[:_MOST_SAID], *more]), "Mend the notebook, then lock them anew: %funcs lock.")
    is_as = "is as" if len(names) == 1 else "are as"
    print(f"{_counted(len(names))} {is_as} {held.path.name} says.")  # noqa: T201  # as above


def _named(catalog: Catalog, words: list[str], locked: list[str]) -> list[str]:
    """Give the names of functions: a word each, or all words together as one name."""
    whole, apart = unquoted(" ".join(words)), [*map(unquoted, words)]
    if apart[0] not in locked and catalog.peek(apart[0]) is None:
        apart = [whole]  # a name without quotes, or none
    return [name if name in locked else catalog.get(name).name for name in apart]


def _counted(number: int) -> str:
    return f"{number:,} function{'s' * (number != 1)}"
