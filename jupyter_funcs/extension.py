"""
What ``%load_ext`` puts into an IPython and ``%unload_ext`` takes away again.

It is light: the magic's own room, and all that is heavier, is imported when ``%funcs`` or its Tab is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from IPython.core.completer import context_matcher
from IPython.core.magic import no_var_expand

if TYPE_CHECKING:
    from IPython.core.completer import CompletionContext, SimpleMatcherResult
    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_funcs.magic import FuncsMagics

_NAME = "funcs"
_KINDS = ("line", "cell")
# What a sweep into a folder gives, by name: pyarrow is imported by then, and only then.
_DATASET = ("pyarrow._dataset", "FileSystemDataset")


class Extension:
    """
    The magics and the Tab of one shell.

    The shell keeps it when it is unloaded, so that ``%reload_ext`` keeps the connection and the panel's result.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._magics: FuncsMagics | None = None
        self._before: dict[str, Any] = {}  # what stood in the magic's place, by kind of magic
        self._printer_before: Any = None
        # Bound once, so that what stands in IPython's tables can be told from what others have put there.
        self._funcs = self.funcs

        # Before all others, so that jedi does not set out on what it would not be asked for.
        @context_matcher(identifier=__package__, priority=1000)  # type: ignore[untyped-decorator]  # IPython's
        def matcher(context: CompletionContext) -> SimpleMatcherResult:
            from jupyter_funcs.completion import complete  # noqa: PLC0415  # on first use

            return complete(context, self.magics)

        self._matcher = matcher

    @property
    def magics(self) -> FuncsMagics:
        """What the magic does; it holds the session in use and the panel opened last."""
        if self._magics is None:
            from jupyter_funcs.magic import FuncsMagics  # noqa: PLC0415  # on first use

            self._magics = FuncsMagics(self._shell)
        return self._magics

    @no_var_expand
    def funcs(self, line: str, cell: str | None = None) -> Any:
        """Choose a function, fill its form, run it: ``%funcs --help`` shows how."""
        return self.magics.funcs(line, cell)

    def load(self) -> None:
        """Put the magics and the matcher into the shell, once however often it is called."""
        self.unload()
        tables = self._shell.magics_manager.magics
        self._before = {kind: tables[kind][_NAME] for kind in _KINDS if _NAME in tables[kind]}
        self._shell.magics_manager.register_function(self._funcs, "line_cell", _NAME)
        self._shell.Completer.custom_matchers.append(self._matcher)
        self._printer_before = self._printers.for_type_by_name(*_DATASET, _print_dataset)

    def unload(self) -> None:
        """Take out what is ours, and put back what it stood in the place of; what others have put there stays."""
        matchers = self._shell.Completer.custom_matchers
        matchers[:] = [one for one in matchers if one is not self._matcher]
        for kind in _KINDS:
            table = self._shell.magics_manager.magics[kind]
            if table.get(_NAME) is not self._funcs:
                continue
            if kind in self._before:
                table[_NAME] = self._before[kind]
            else:
                del table[_NAME]
        if self._printers.for_type_by_name(*_DATASET) is _print_dataset:
            self._printers.pop(".".join(_DATASET))
            if self._printer_before is not None:
                self._printers.for_type_by_name(*_DATASET, self._printer_before)

    @property
    def _printers(self) -> Any:
        return self._shell.display_formatter.formatters["text/plain"]  # type: ignore[union-attr]  # each shell has one


def _print_dataset(dataset: Any, printer: Any, *_: object) -> None:
    from jupyter_funcs.dataset_words import dataset_text  # noqa: PLC0415  # on first use

    printer.text(dataset_text(dataset))


def of(shell: InteractiveShell) -> Extension:
    """Give a shell's extension, made where there is none yet."""
    # IPython's own place for what extensions keep.
    kept: Extension | None = shell.meta.get(__package__)
    if kept is None:
        kept = shell.meta[__package__] = Extension(shell)
    return kept
