"""What each form sends is what was recorded: request, arguments as they arrive, warnings, or the refusal."""

from __future__ import annotations

import os
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from jupyter_funcs.client.function import RemoteCall
from jupyter_funcs.core.errors import FuncsError
from jupyter_funcs.magic import extension
from tests.golden.forms import FORMS, Form
from tests.golden.sources import SOURCES, Source
from tests.golden.values import VARIABLES
from tests.shells import interactive_shell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from IPython.core.interactiveshell import InteractiveShell

FILE = Path(__file__).with_name("bodies.txt")
WRITES = os.environ.get("FUNCS_GOLDEN") == "write"
Records = dict[str, str]


def read_records() -> Records:
    """Return the records in the file by the forms' names; each has a line."""
    pairs = (line.split(" => ", 1) for line in FILE.read_text("ascii").splitlines())
    return dict(pairs)


@pytest.fixture(scope="module")
def recorded() -> Iterator[Records]:
    """The records by the forms' names; ``FUNCS_GOLDEN=write`` writes the records of this run."""
    if not WRITES:
        yield read_records()
        return
    records: Records = {}
    yield records
    FILE.write_text(
        "".join(f"{name} => {record}\n" for name, record in sorted(records.items())),
        "ascii",
    )


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    """A shell in which a run isn't followed by the listing of its fields' values, whose requests come at any time."""
    with interactive_shell() as shell, pytest.MonkeyPatch.context() as patch:
        patch.setattr(RemoteCall, "learn", lambda *_: None)
        shell.run_line_magic("load_ext", "jupyter_funcs")
        shell.user_ns.update(VARIABLES)
        yield shell


@pytest.fixture(scope="module")
def source_named() -> Iterator[Callable[[str], Source]]:
    """Open each source once, when its first form is run."""
    opened: dict[str, Source] = {}
    with ExitStack() as stack:

        def source(name: str) -> Source:
            if name == "mcp":
                pytest.importorskip("mcp", reason="the extra 'mcp' is not installed")
            if name not in opened:
                opened[name] = stack.enter_context(SOURCES[name]())
                # Of operations that are left out.
                with warnings.catch_warnings(action="ignore"):
                    assert opened[name].session.names
            return opened[name]

        yield source


def run(form: Form, source: Source, shell: InteractiveShell) -> None:
    """Run a form by its way in."""
    if form.way == "entered":
        extension.of(shell).state._session = source.session
        shell.run_line_magic("funcs", f'call "{form.function}" {form.text}')
        return
    if form.way == "cell":
        extension.of(shell).state._session = source.session
        shell.run_cell_magic("funcs", f'call "{form.function}"', form.text)
        return
    function = source.session[form.function]
    if form.way == "unchecked":
        function = function.with_options(validate=False)
    if form.way == "form":
        filled = function.form()
        for name, value in form.values.items():
            filled[name] = value
        function(filled)
        return
    function(**form.values)


def record_of(form: Form, source: Source, shell: InteractiveShell) -> str:
    """Return what a form sends, what arrives, and what its user sees, on one line."""
    source.seen.clear()
    refusal = ""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            run(form, source, shell)
        except FuncsError as error:
            refusal = f"refused: {error}"
    told = [f"warned: {warning.message}" for warning in warned]
    line = " | ".join([*source.seen, *told, *filter(None, [refusal])])
    return line.replace("\n", " ").encode("ascii", "backslashreplace").decode()


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_a_form_sends_what_was_recorded(
    form: Form,
    source_named: Callable[[str], Source],
    shell: InteractiveShell,
    recorded: Records,
) -> None:
    """After a change on purpose: python -m tests.golden, and read the diff of bodies.txt."""
    record = record_of(form, source_named(form.source), shell)
    if WRITES:
        recorded[str(form)] = record
    assert record == recorded.get(str(form))


@pytest.mark.skipif(WRITES, reason="the file is being written")
def test_the_file_has_the_forms_in_order_and_no_others() -> None:
    """A form that is removed takes its record along, and a name belongs to one form."""
    names = sorted(map(str, FORMS))
    assert len(names) == len(set(names))
    assert list(read_records()) == names
