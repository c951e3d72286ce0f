"""Every error is in the documented tree, shows one to three inert lines, and can be pickled."""

from __future__ import annotations

import gc
import inspect
import pickle
import re
import unicodedata
import weakref
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jupyter_funcs
from jupyter_funcs.core import errors
from jupyter_funcs.core.errors import ArgumentError, FuncsError, RateLimitError
from tests.shells import interactive_shell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from IPython.core.interactiveshell import InteractiveShell

CLASSES = [
    error
    for _, error in inspect.getmembers(errors, inspect.isclass)
    if issubclass(error, FuncsError)
]


def test_the_drawn_tree_is_the_tree_of_the_classes() -> None:
    """The module's docstring lists every class below its base, and nothing else."""
    drawn = re.findall(r"^    [├└]── (\w+) {2,}\S", errors.__doc__ or "", re.MULTILINE)
    assert sorted(drawn) == sorted(
        error.__name__ for error in CLASSES if error is not FuncsError
    )
    assert all(
        error.__bases__[0] is FuncsError for error in CLASSES if error is not FuncsError
    )
    assert "    FuncsError\n" in (errors.__doc__ or "")


@pytest.mark.parametrize("error", CLASSES)
def test_each_error_is_public_and_says_what_it_is(error: type[FuncsError]) -> None:
    """Users catch it as `jf.…`; its docstring says when it is raised."""
    assert getattr(jupyter_funcs, error.__name__) is error
    assert error.__doc__


@pytest.mark.parametrize(
    ("ours", "builtin"),
    [
        (errors.ArgumentError, ValueError),
        (errors.NotFoundError, LookupError),
        (errors.DeadlineError, TimeoutError),
    ],
)
def test_an_error_that_python_has_a_word_for_is_caught_by_it(
    ours: type, builtin: type
) -> None:
    """Code that knows nothing of this package still handles it."""
    assert issubclass(ours, builtin)


TEXTS = [
    *(
        ("What happened.", ""),
        ("What happened.", "What to do."),
        ("", "Only a hint."),
        ("x" * 100_000, "y" * 100_000),
    ),
    ("Two\nlines \x1b[31mand\u202e more\0", "A\r\nhint\ud800"),
]


@pytest.mark.parametrize(
    ("what", "hint"),
    TEXTS,
    ids=["one line", "two", "hint", "huge", "control characters"],
)
@pytest.mark.parametrize("error", CLASSES)
def test_an_error_shows_itself_in_one_to_three_inert_lines(
    error: type[FuncsError], what: str, hint: str
) -> None:
    """Class and what happened, then what to do; without control characters, and bounded."""
    raised = error(what, hint)
    lines = "".join(raised._render_traceback_()).split("\n")
    assert 1 <= len(lines) <= 3
    assert lines[0].startswith(f"{error.__name__}: ")
    assert str(raised) == "\n".join(raised.lines)
    for line in lines:
        assert line.isprintable()
        assert len(line) < 700


@given(st.text(st.characters()), st.text(st.characters()))
def test_no_text_makes_an_error_fail_to_show_itself(what: str, hint: str) -> None:
    """Not even an empty one."""
    (shown,) = FuncsError(what, hint)._render_traceback_()
    assert shown.startswith("FuncsError: ")
    assert len(lines := shown.split("\n")) <= 2
    assert not {unicodedata.category(char) for char in "".join(lines)} & {
        "Cc",
        "Cf",
        "Cs",
    }


@pytest.mark.parametrize("error", CLASSES)
def test_an_error_survives_the_way_to_another_process(error: type[FuncsError]) -> None:
    """Pools pickle what their workers raise."""
    raised = error("What\x00.", "Hint.")
    back = pickle.loads(pickle.dumps(raised))
    assert type(back) is error
    assert (back.what, back.hint, str(back)) == (raised.what, raised.hint, str(raised))


def test_what_an_error_carries_survives_too() -> None:
    """The texts per field, and the time to wait."""
    argument = ArgumentError(hint="h", errors={"A": ["one.", "two."], "": ["both."]})
    assert argument.what == "one. two. both."
    assert pickle.loads(pickle.dumps(argument)).errors == {
        "A": ["one.", "two."],
        "": ["both."],
    }
    for error in (RateLimitError("w", "h"), ArgumentError("w", "h")):
        error.retry_after = 2.5
        error.refused = True
        error.attempts = 3
        copied = pickle.loads(pickle.dumps(error))
        assert (copied.retry_after, copied.refused, copied.attempts) == (2.5, True, 3)


def test_a_caret_stands_under_what_was_written() -> None:
    """In place of the hint, also after pickling."""
    error = ArgumentError("Not closed:", excerpt=("call 'a", 5))
    assert str(error) == "Not closed:\ncall 'a\n     ^"
    assert pickle.loads(pickle.dumps(error)).lines == error.lines
    assert len(ArgumentError("w", excerpt=("x" * 100_000, 3)).lines[1]) < 700


class Held:
    """Something a stack frame may hold, like a large DataFrame or a session."""


def test_what_is_kept_of_a_shown_error_holds_no_frame() -> None:
    """The traceback of the error and its cause is stored as lines, without the frames' variables."""

    def fails() -> weakref.ref[Held]:
        value = Held()
        try:
            {}["inner"]
        except KeyError as inner:
            outer = FuncsError("outer")
            outer.__cause__ = inner
            outer._render_traceback_()
        return weakref.ref(value)

    there = fails()
    gc.collect()
    assert there() is None
    assert "KeyError: 'inner'" in errors.last_traceback()
    assert '{}["inner"]' in errors.last_traceback()
    assert errors.last_traceback().endswith("FuncsError: outer\n")


def test_an_error_that_cannot_be_kept_is_shown_all_the_same() -> None:
    """Even if its cause can't be read."""

    class OddError(FuncsError):
        @property
        def __cause__(self) -> NoReturn:
            raise RuntimeError

    assert OddError("What.")._render_traceback_() == ["OddError: What."]


def test_an_argument_error_keeps_its_own_copy_of_the_texts() -> None:
    """A form that is fixed later doesn't change the error that was raised."""
    texts = {"A": ["one."]}
    error = ArgumentError(errors=texts)
    texts["A"].append("two.")
    assert error.errors == {"A": ["one."]}
    assert ArgumentError("w").errors == {}


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    """An IPython of its own that writes no history."""
    with interactive_shell() as shell:
        yield shell


@pytest.mark.parametrize("xmode", ["Plain", "Context", "Verbose", "Minimal"])
@pytest.mark.parametrize("chained", ["", " from KeyError('inner')"])
def test_in_ipython_only_those_lines_are_shown(
    shell: InteractiveShell, capsys: Any, xmode: str, chained: str
) -> None:
    """The cell fails; in all four modes, with a cause or without: no frame, no local, no chained error."""
    shell.run_line_magic("xmode", xmode)
    capsys.readouterr()
    raising = f"canary = 'c4n4ry'\nraise ConfigError('What.', 'Hint.'){chained}"
    result = shell.run_cell(
        f"from jupyter_funcs.core.errors import ConfigError\n{raising}", silent=False
    )
    assert isinstance(result.error_in_exec, FuncsError)
    out, err = capsys.readouterr()
    assert out + err == "ConfigError: What.\nHint.\n"
