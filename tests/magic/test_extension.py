"""%load_ext, %reload_ext and %unload_ext, in a live kernel and in a shell: light, idempotent and fully reversible."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import TYPE_CHECKING, Any

import httpx
import pyarrow.dataset as ds
import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

import jupyter_funcs as jf
from jupyter_funcs.magic import extension
from jupyter_funcs.service import embedded
from tests.conftest import PANEL, SYMBOL
from tests.magic.conftest import live_kernel
from tests.shells import interactive_shell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jupyter_client.blocking.client import BlockingKernelClient

OURS = "jupyter_funcs"


@pytest.fixture(scope="module")
def kernel() -> Iterator[BlockingKernelClient]:
    """A fresh kernel."""
    with live_kernel() as client:
        yield client


def answer(client: BlockingKernelClient, code: str, *, last: bool = False) -> Any:
    """Run code in a kernel and return the literal that it prints (`last`: of several lines)."""
    printed: list[str] = []

    def hear(message: dict[str, Any]) -> None:
        if message["msg_type"] == "stream":
            printed.append(message["content"]["text"])

    reply = client.execute_interactive(
        textwrap.dedent(code), timeout=60, output_hook=hear
    )
    assert reply["content"]["status"] == "ok", reply["content"]
    lines = "".join(printed).splitlines() or ["None"]
    assert last or len(lines) == 1, lines
    return ast.literal_eval(lines[-1])


@pytest.mark.slow
def test_loading_into_a_kernel_imports_nothing_but_itself(
    kernel: BlockingKernelClient,
) -> None:
    """%load_ext imports two light modules of ours and no others; the rest is imported on the first %funcs."""
    added = """
        import sys
        before = set(sys.modules)
        {}
        # Without what IPython imports for its own magics.
        print(sorted(name for name in set(sys.modules) - before if not name.startswith("IPython.")))
    """
    assert answer(kernel, added.format("%load_ext jupyter_funcs")) == [
        OURS,
        f"{OURS}.magic",
        f"{OURS}.magic.extension",
    ]
    assert answer(kernel, added.format("%reload_ext jupyter_funcs")) == []
    used = answer(
        kernel, added.format("request = %funcs call get_panels --dry-run"), last=True
    )
    assert {f"{OURS}.magic.subcommands", f"{OURS}.client.client"} <= set(used)


def test_loading_imports_nothing_of_the_standard_library_that_takes_time() -> None:
    """What the extension imports at its top is imported by IPython anyway; `html`, say, compiles a long pattern."""
    tops = ast.parse(inspect.getsource(extension)).body
    imports = [top for top in tops if isinstance(top, ast.Import | ast.ImportFrom)]
    names = {getattr(top, "module", None) or top.names[0].name for top in imports}
    light = {
        "IPython",
        "__future__",
        "contextlib",
        "functools",
        "inspect",
        "sys",
        "typing",
    }
    assert {name.partition(".")[0] for name in names} == light


@pytest.mark.slow
def test_a_run_in_the_background_is_a_line_that_follows_it(
    kernel: BlockingKernelClient,
) -> None:
    """--background returns the job at once; a notebook shows one line, updated while it runs and when it ends."""
    shown: list[dict[str, Any]] = []
    answer(
        kernel,
        """
        %reload_ext jupyter_funcs
        import time
        import jupyter_funcs as jf
        from jupyter_funcs.magic import extension
        def nap(seconds: float) -> float:
            time.sleep(seconds)
            return seconds
        extension.of(get_ipython()).state._session = jf.connect([nap])
        """,
        last=True,
    )
    for line in ("call nap seconds=0.7", "sweep nap seconds=[0.7, 0.8]"):
        shown.clear()
        code = f"job = %funcs {line} --background\ndisplay(job)\nframe = job.result()\ntime.sleep(0.1)\njob"
        kernel.execute_interactive(code, timeout=60, output_hook=shown.append)
        lines = [
            message["content"]["data"]
            for message in shown
            if "data" in message["content"]
        ]
        displays = [message for message in shown if "display" in message["msg_type"]]
        assert (
            len(
                {
                    message["content"]["transient"].get("display_id")
                    for message in displays
                }
            )
            == 1
        )
        assert [message["msg_type"] for message in displays][:2] == [
            "display_data",
            "update_display_data",
        ]
        assert all("<b>Nap</b> · running · " in data["text/html"] for data in lines[:2])
        # Once more, after the cell.
        assert "<b>Nap</b> · done · " in lines[-1]["text/html"]
        [ended] = [data["text/plain"] for data in lines if "text/plain" in data]
        assert ": done, " in ended  # a job that has ended is shown as any object
    assert answer(
        kernel, "%funcs connect -q -o again\nprint(frame['Result'].tolist())"
    ) == [
        0.7,
        0.8,
    ]


# What an extension could leave behind in a kernel, as plain data.
LEFT = """
    import atexit, sys, threading
    shell = get_ipython()
    print([
        [getattr(matcher, "matcher_identifier", repr(matcher)) for matcher in shell.Completer.custom_matchers],
        [[kind, name] for kind, table in shell.magics_manager.magics.items() for name in table if "funcs" in name],
        sorted(shell.magics_manager.registry),
        [type(configurable).__name__ for configurable in shell.configurables],
        {event: len(heard) for event, heard in shell.events.callbacks.items()},
        len(shell.input_transformers_cleanup + shell.input_transformers_post + shell.ast_transformers),
        sorted(thread.name for thread in threading.enumerate() if not thread.name.startswith("asyncio_")),
        atexit._ncallbacks(),
        sys.warnoptions, len(sys.meta_path), sys.excepthook.__qualname__, sys.displayhook.__class__.__qualname__,
        sorted(name for name in shell.user_ns if not name.startswith("_")),
    ])
"""


def test_reloading_leaves_one_of_everything_and_unloading_nothing(
    kernel: BlockingKernelClient,
) -> None:
    """Twenty reloads in a kernel in use change nothing; an unload then removes magic and matcher (FAULTS 98)."""
    answer(kernel, "%reload_ext jupyter_funcs")  # loads it, unless an earlier test has
    answer(
        kernel,
        f"{LEFT}\n    frame = %funcs call get_panels -q\n    panel = %funcs panel get_panels",
        last=True,
    )
    loaded = answer(kernel, LEFT)
    assert loaded[0] == [OURS]
    assert loaded[1] == [["line", "funcs"], ["cell", "funcs"]]
    for _ in range(20):
        answer(kernel, "%reload_ext jupyter_funcs")
    assert answer(kernel, LEFT) == loaded
    answer(kernel, "%unload_ext jupyter_funcs")
    events = {**loaded[4], "post_run_cell": loaded[4]["post_run_cell"] - 1}
    unloaded = [[], [], *loaded[2:4], events, *loaded[5:]]
    assert answer(kernel, LEFT) == unloaded
    for _ in range(20):
        answer(kernel, "%load_ext jupyter_funcs\n%unload_ext jupyter_funcs")
    assert answer(kernel, LEFT) == unloaded
    answer(kernel, "%load_ext jupyter_funcs")
    assert answer(kernel, LEFT) == loaded


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    """A new shell with the extension and a session that has listed its functions."""
    with interactive_shell() as shell:
        shell.run_line_magic("load_ext", OURS)
        extension.of(shell).state._session = jf.connect(
            "http://localhost", token=embedded().token, transport=TRANSPORT
        )
        yield shell


TRANSPORT = httpx.ASGITransport(embedded().app)


def offered(shell: InteractiveShell, text: str) -> list[str]:
    with provisionalcompleter():
        return [
            completion.text
            for completion in shell.Completer.completions(text, len(text))
            if completion._origin == OURS
        ]


def test_the_connection_and_the_panels_result_outlive_a_reload(
    shell: InteractiveShell,
) -> None:
    """The connection and the frame of the panel opened last survive %reload_ext."""
    session = shell.run_line_magic("funcs", "refresh")
    panel = shell.run_line_magic(
        "funcs", f"panel get_panel_daily PanelName='{PANEL}' Symbol='{SYMBOL}'"
    )
    panel.run()
    frame = panel.result(60)
    shell.run_line_magic("reload_ext", OURS)
    assert extension.of(shell).state.current is session
    assert shell.run_line_magic("funcs", "result") is frame
    assert offered(shell, "%funcs call get_k") == ["get_kpis"]
    panel.close()


def test_two_shells_have_each_their_own(shell: InteractiveShell) -> None:
    """The extension and its connection belong to one shell."""
    other = InteractiveShell()
    assert "funcs" not in other.magics_manager.magics["line"]
    jf.load_ipython_extension(other)
    assert extension.of(other).state.connected() is None
    jf.unload_ipython_extension(other)
    assert "funcs" in shell.magics_manager.magics["line"]


def ours(line: str, cell: str | None = None) -> str:
    return f"mine: {line}"


@pytest.mark.parametrize(
    "kinds", [["line"], ["cell"], ["line", "cell"]], ids=" and ".join
)
def test_unloading_puts_back_a_magic_of_the_same_name(kinds: list[str]) -> None:
    """After any number of reloads, or none, unloading leaves the user's own %funcs: same object, same place."""
    shell = InteractiveShell()
    for kind in kinds:
        shell.register_magic_function(ours, kind, "funcs")
    shell.register_magic_function(ours, "line_cell", "later")
    # IPython registers its own magics on first use.
    shell.run_line_magic("unload_ext", OURS)
    jf.unload_ipython_extension(shell)
    assert shell.magics_manager.magics[kinds[0]]["funcs"] is ours
    before = {
        kind: list(table.items()) for kind, table in shell.magics_manager.magics.items()
    }
    configurables = list(shell.configurables)
    for _ in range(20):
        shell.run_line_magic("reload_ext", OURS)
    assert extension.of(shell).state is not None
    assert shell.magics_manager.magics[kinds[0]]["funcs"] is not ours
    shell.run_line_magic("unload_ext", OURS)
    assert {
        kind: list(table.items()) for kind, table in shell.magics_manager.magics.items()
    } == before
    assert shell.configurables == configurables


def test_what_others_put_there_later_stays() -> None:
    """Unloading leaves magics and matchers of others alone: those before ours, between and after."""
    shell = InteractiveShell()
    matchers = shell.Completer.custom_matchers
    first, between = (lambda _: []), (lambda _: [])
    matchers.append(first)
    jf.load_ipython_extension(shell)
    matchers.append(between)
    jf.load_ipython_extension(shell)
    shell.register_magic_function(ours, "line", "funcs")
    shell.run_line_magic("unload_ext", OURS)  # IPython did not load it
    jf.unload_ipython_extension(shell)
    assert shell.Completer.custom_matchers is matchers
    assert matchers == [first, between]
    assert shell.magics_manager.magics["line"]["funcs"] is ours
    assert "funcs" not in shell.magics_manager.magics["cell"]


def test_a_dataset_of_a_sweep_says_what_it_holds(tmp_path: Path) -> None:
    """The number of rows is known without reading files; other datasets show their repr, as do all after unloading."""
    function = jf.connect()["Get Panel FQ"].with_options(
        to=tmp_path / "a folder", progress=False
    )
    dataset = function.sweep(PanelName=PANEL, Symbol=["BKQU", "NVRA"])
    other = ds.dataset(dataset.files[0])
    shell = InteractiveShell()
    show = shell.display_formatter.formatters["text/plain"]
    before = show(dataset)
    jf.load_ipython_extension(shell)
    shape = f"{dataset.to_table().num_rows} rows × {len(dataset.schema.names)} columns"
    assert show(dataset) == (
        f"<Dataset: {shape} from 2 runs of Get Panel FQ, in {tmp_path / 'a folder'}>\n"
        "Use .to_table().to_pandas() to get a DataFrame."
    )
    assert show(other) == repr(other)
    assert str(tmp_path) not in (tmp_path / "a folder" / "_sweep.json").read_text(
        "utf-8"
    )
    jf.load_ipython_extension(shell)
    jf.unload_ipython_extension(shell)
    assert show(dataset) == before


def test_a_printer_of_the_users_own_is_there_again() -> None:
    """A printer for datasets from before is restored, and one registered later stays."""
    shell = InteractiveShell()
    show = shell.display_formatter.formatters["text/plain"]
    named = ("pyarrow._dataset", "FileSystemDataset")
    first, later = (lambda *_: None), (lambda *_: None)
    show.for_type_by_name(*named, first)
    jf.load_ipython_extension(shell)
    jf.unload_ipython_extension(shell)
    assert show.for_type_by_name(*named) is first
    jf.load_ipython_extension(shell)
    show.for_type_by_name(*named, later)
    jf.unload_ipython_extension(shell)
    assert show.for_type_by_name(*named) is later
