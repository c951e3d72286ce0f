"""What `%load_ext` adds to an IPython shell and `%unload_ext` removes; light, so the rest is imported on first use."""

from __future__ import annotations

import inspect
import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from IPython.core.completer import (
    CompletionContext,
    SimpleMatcherResult,
    context_matcher,
)
from IPython.core.magic import needs_local_scope, no_var_expand
from IPython.lib.pretty import _repr_pprint  # what prints a frame otherwise

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_funcs.core.json_decoding import JsonObject
    from jupyter_funcs.magic.sessions import Sessions

_NAME = "funcs"
_KINDS = ("line", "cell")
_INSPECT = "object_inspect_mime"
_PLAIN = "text/plain"
_HTML = "text/html"
# What is shown in our way: what a sweep into a folder returns, and results, with pandas' names of today and before
# pandas 3. By name, so that pyarrow and pandas are imported only by those who use them.
_DATASET = "pyarrow._dataset.FileSystemDataset"
_FRAMES = ("pandas.DataFrame", "pandas.core.frame.DataFrame")
_SERIES = ("pandas.Series", "pandas.core.series.Series")


class Extension:
    """The magics and the Tab of one shell; it outlives `%reload_ext`, and with it the connection and the panel."""

    _state: Sessions | None = None
    _shells_inspect: Any = None  # while ours replaces it

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._replaced: JsonObject = {}  # other magics of this name, by kind
        self._printers: dict[tuple[str, str], Any] = {
            (_PLAIN, _DATASET): _print_dataset
        }
        for name in (*_FRAMES, *_SERIES):
            self._printers[_PLAIN, name] = partial(self._print_result, (_PLAIN, name))
        for name in _FRAMES:
            self._printers[_HTML, name] = partial(self._result_html, (_HTML, name))
        self._replaced_printers: dict[tuple[str, str], Any] = {}

    @property
    def state(self) -> Sessions:
        """The sessions in use and the panel opened last."""
        if self._state is None:
            from jupyter_funcs.magic.sessions import Sessions

            self._state = Sessions(self._shell)
        return self._state

    # The highest priority: jedi doesn't start where its names wouldn't be shown.
    @context_matcher(identifier="jupyter_funcs", priority=1000)  # type: ignore[untyped-decorator]  # IPython's
    def matcher(self, context: CompletionContext) -> SimpleMatcherResult:
        """Complete what is ours."""
        from jupyter_funcs.magic.completion import complete

        return complete(context, self.state)

    @needs_local_scope
    @no_var_expand
    def funcs(
        self,
        line: str,
        cell: str | None = None,
        local_ns: dict[str, Any] | None = None,
    ) -> Any:
        """Choose a function, fill in its form and run it: see ``%funcs --help``."""
        from jupyter_funcs.magic.subcommands import run

        self.state.local = local_ns or {}
        try:
            return run(self.state, line, cell)
        finally:
            self.state.local = {}  # they end with their function

    def object_inspect_mime(self, name: str, *args: Any, **options: Any) -> Any:
        """Return the shell's answer to Shift-Tab; for a name that it doesn't know, the help of a listed function."""
        try:
            return self._shells_inspect(name, *args, **options)
        except KeyError:
            session = None if self._state is None else self._state.connected()
            if (
                session is None
                or session.listed is None
                or name not in session.listed.slugs
            ):
                raise

        import html  # compiles a long pattern

        function = session[name]
        text = f"{name}{inspect.signature(function)}\n\n{function.__doc__}"
        return {_PLAIN: text, _HTML: f"<pre>{html.escape(text)}</pre>"}

    def _mask_typed_tokens(self, result: Any) -> None:
        if "jupyter_funcs.connection.secrets" in sys.modules:  # else no token is in use
            from jupyter_funcs.magic.masking import mask_tokens_in_use

            mask_tokens_in_use(self._shell, result)

    def load(self) -> None:
        """Add the magics, the matcher, the printers and the mask, once however often it is called."""
        self.unload()
        self._shell.events.register("post_run_cell", self._mask_typed_tokens)
        tables = self._shell.magics_manager.magics
        self._replaced = {
            kind: tables[kind][_NAME] for kind in _KINDS if _NAME in tables[kind]
        }
        self._shell.magics_manager.register_function(self.funcs, "line_cell", _NAME)
        self._shell.Completer.custom_matchers.append(self.matcher)
        if self._shells_inspect is None:  # else somebody has wrapped ours
            self._shells_inspect = self._shell.object_inspect_mime
            vars(self._shell)[_INSPECT] = self.object_inspect_mime

        for (kind, name), printer in self._printers.items():
            present = self._formatter(kind).pop(name, None)
            # Registered after ours, may call it.
            if present is not None and (kind, name) in self._replaced_printers:
                self._formatter(kind).for_type(name, present)
                continue
            self._replaced_printers[kind, name] = present
            self._formatter(kind).for_type(name, printer)

    def unload(self) -> None:
        """Remove what `load` added and restore what it replaced; what others added later stays."""
        with suppress(ValueError):  # not loaded
            self._shell.events.unregister("post_run_cell", self._mask_typed_tokens)
        matchers = self._shell.Completer.custom_matchers
        matchers[:] = [matcher for matcher in matchers if matcher != self.matcher]
        if vars(self._shell).get(_INSPECT) == self.object_inspect_mime:
            del vars(self._shell)[_INSPECT]
            if self._shell.object_inspect_mime != self._shells_inspect:
                vars(self._shell)[_INSPECT] = self._shells_inspect
            self._shells_inspect = None

        for kind in _KINDS:
            table = self._shell.magics_manager.magics[kind]
            if table.get(_NAME) != self.funcs:
                continue
            if kind in self._replaced:
                table[_NAME] = self._replaced[kind]
            else:
                del table[_NAME]

        for (kind, name), printer in self._printers.items():
            if self._formatter(kind).for_type(name) is printer:
                self._formatter(kind).pop(name)
                self._formatter(kind).for_type(
                    name, self._replaced_printers.pop((kind, name))
                )

    def _formatter(self, kind: str) -> Any:
        return self._shell.display_formatter.formatters[kind]  # type: ignore[union-attr]  # each shell has one

    def _print_result(
        self, key: tuple[str, str], shown: Any, printer: Any, *more: Any
    ) -> None:
        """Print a DataFrame or a Series; a result without characters that a terminal would act on or hide."""
        from jupyter_funcs.core.text import visible

        if "funcs" in shown.attrs:
            printer.text(visible(repr(shown)))
        else:
            (self._replaced_printers[key] or _repr_pprint)(shown, printer, *more)

    def _result_html(self, key: tuple[str, str], shown: Any) -> Any:
        """Return a DataFrame as HTML, as `_print_result` prints it."""
        from jupyter_funcs.core.text import visible

        markup = (self._replaced_printers[key] or type(shown)._repr_html_)(shown)
        if markup and "funcs" in shown.attrs:
            return visible(markup)
        return markup


def _print_dataset(dataset: Any, printer: Any, *_: object) -> None:
    from jupyter_funcs.records.run import dataset_text

    printer.text(dataset_text(dataset))


def of(shell: InteractiveShell) -> Extension:
    """Return a shell's extension, created on first use."""
    # IPython's place for the data of extensions.
    extension: Extension | None = shell.meta.get("jupyter_funcs")
    if extension is None:
        extension = shell.meta["jupyter_funcs"] = Extension(shell)
    return extension
