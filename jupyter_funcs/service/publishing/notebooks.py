"""Publish a notebook: read its parameters cell (nothing in it is executed), and run its cells in this process."""

from __future__ import annotations

import ast
import inspect
import io
import os
import re
import sys
import tokenize
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import msgspec

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.core.text import quoted
from jupyter_funcs.functions.callables import title
from jupyter_funcs.functions.markers import AtLeastOne, Between, Help, ListedBy, Options
from jupyter_funcs.functions.parameters import ABSENT, SUPPORTED, Parameter
from jupyter_funcs.service.publishing.registry import (
    PublishedFunction,
    all_rules,
    read_parameter,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from IPython.core.interactiveshell import InteractiveShell


_ADVICE = "End the notebook with the value alone on its last line."
_HEADING = re.compile(r" {0,3}#{1,6}\s+(.*)")
_FOR_TOOLS = re.compile(r"noqa\b|type:\s*ignore|pragma:|pylint:")
_TYPE_COMMENT = re.compile(r"(?s)type:\s*(\S+)\s*\|?\s*(.*)")
# What an annotation may refer to.
_NAMED: list[Any] = [
    *(str, int, float, bool, list, dict, Decimal, Annotated, Literal, Optional),
    *(date, datetime, time, timedelta),
    *(AtLeastOne, Between, Help, ListedBy, Options),
]
_KNOWN = {kind.__name__: kind for kind in _NAMED} | {"Dict": dict, "List": list}


_Text = Annotated[str, msgspec.Meta(pattern=r"\S")]


class _Facts(msgspec.Struct, forbid_unknown_fields=True):
    name: _Text | None = None
    asset: _Text | None = None
    group: _Text | None = None
    description: _Text | None = None
    author: _Text | None = None


class _Metadata(msgspec.Struct):
    jupyter_funcs: _Facts = msgspec.field(default_factory=_Facts)
    language_info: dict[str, Any] = {}
    kernelspec: dict[str, Any] = {}


class _CellMetadata(msgspec.Struct):
    tags: list[str] = []


class _Cell(msgspec.Struct):
    cell_type: str
    source: str | list[str]
    metadata: _CellMetadata

    @property
    def text(self) -> str:
        return "".join(self.source)


class _Notebook(msgspec.Struct):
    nbformat: Literal[4]
    metadata: _Metadata
    cells: list[_Cell]


@dataclass(frozen=True, slots=True)
class NotebookRun:
    """Runs a notebook in this process, which then can't be used for anything else."""

    path: Path
    cells: tuple[str, ...] = field(repr=False)
    parameters_at: int
    defaults: Mapping[str, Any] = field(repr=False)

    def __call__(self, /, **values: Any) -> Any:
        """Run the cells, and return the value of the last one."""
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        folder = self.path.absolute().parent
        sys.path.insert(0, str(folder))
        # Cells find what is beside the notebook, and write elsewhere.
        for path in folder.iterdir():
            Path(path.name).symlink_to(path)
        # Outputs may show arguments, which the log must not.
        output = os.open(os.devnull, os.O_WRONLY)
        os.dup2(output, 1)
        os.dup2(output, 2)
        shell = InteractiveShell.instance(
            config=Config({"HistoryManager": {"enabled": False}})
        )
        shell._showtraceback = lambda *_: None  # type: ignore[method-assign] # noqa: SLF001 - IPython's hook
        changed = {
            name: value
            for name, value in values.items()
            if value != self.defaults[name]
        }
        for at, cell in enumerate(self.cells[:-1]):
            shell.run_cell(cell).raise_error()  # type: ignore[no-untyped-call] # IPython's is untyped
            if at == self.parameters_at:
                shell.push(changed)  # type: ignore[no-untyped-call] # as above

        return value_of(shell, self.cells[-1])


def value_of(shell: InteractiveShell, cell: str) -> Any:
    """Run a cell and return the value of its last line, also if a semicolon hides it."""
    values: list[Any] = []
    shell.display_trap.hook = values.append
    shell.run_cell(cell).raise_error()  # type: ignore[no-untyped-call] # as above
    return values[-1]


def read(path: Path) -> PublishedFunction:
    notebook = _opened(path)
    own = notebook.metadata.jupyter_funcs
    at = _parameters_at(notebook, path)
    parameters, rules = read_parameters(
        notebook.cells[at].text, f"{path}, cell {at + 1}"
    )
    heading, paragraph = _first_text(notebook)
    return PublishedFunction(
        name=own.name or heading or title(path.stem),
        description=own.description or paragraph,
        asset=own.asset or "",
        group=own.group,
        parameters=parameters,
        rules=rules,
        python=NotebookRun(
            path,
            *_code(notebook, at, path),
            {parameter.name: parameter.default for parameter in parameters},
        ),
        takes_call=False,
        entry_point=f"{path.absolute().parent.name}/{path.name}",
        notebook_name=path.name,
        place=str(path),
        author=own.author,
    )


def _opened(path: Path) -> _Notebook:
    try:
        notebook = msgspec.json.decode(path.read_bytes(), type=_Notebook)
    except (msgspec.MsgspecError, OSError, ValueError) as error:
        raise SetupError(
            f"{path} is not a valid notebook: {error}.\nCorrect it in Jupyter, and save it again."
        ) from None

    metadata = notebook.metadata
    language = metadata.language_info.get("name") or metadata.kernelspec.get(
        "language", "python"
    )
    if str(language).casefold() != "python":
        raise SetupError(
            f"{path} is written in {quoted(language)}.\nOnly Python notebooks can be published."
        )

    return notebook


def _parameters_at(notebook: _Notebook, path: Path) -> int:
    tagged = [
        at
        for at, cell in enumerate(notebook.cells)
        if cell.cell_type == "code" and "parameters" in cell.metadata.tags
    ]
    if len(tagged) == 1:
        return tagged[0]
    raise SetupError(
        f"{path} has {f'{len(tagged)} cells' if tagged else 'no cell'} tagged 'parameters'.\n"
        "Tag the one cell that assigns the parameters (it may be empty), or move the notebook to another folder."
    )


def _first_text(notebook: _Notebook) -> tuple[str, str]:
    """Return the heading of the first text cell, and the paragraph after it."""
    text = next(
        (cell.text for cell in notebook.cells if cell.cell_type == "markdown"), ""
    )
    heading = ""
    paragraph: list[str] = []
    for line in text.splitlines():
        match = _HEADING.fullmatch(line)
        if match and not heading and not paragraph:
            heading = match[1].rstrip("# \t").strip("*_` ")
        elif match or (not line.strip() and paragraph):
            break
        elif line.strip():
            paragraph.append(line.strip())

    return heading, " ".join(paragraph)


def _code(
    notebook: _Notebook, parameters_at: int, path: Path
) -> tuple[tuple[str, ...], int]:
    """Return the code cells up to the one with the result, and which of them has the parameters."""
    cells = {
        at: cell.text
        for at, cell in enumerate(notebook.cells)
        if cell.cell_type == "code"
    }
    last = max((at for at, text in cells.items() if not is_empty(text)), default=-1)
    if last <= parameters_at:
        raise SetupError(
            f"{path} has no code after the parameters cell.\nEnd the notebook with a cell whose value is the result."
        )

    check_last_cell(cells[last], f"{path}, cell {last + 1}")
    return tuple(text for at, text in cells.items() if at <= last), [*cells].index(
        parameters_at
    )


def read_parameters(
    source: str, place: str
) -> tuple[tuple[Parameter, ...], tuple[Any, ...]]:
    # store: str is required; days = 7 and since: date | None = None are optional. A comment may have the type and the
    # help text: days = 7  # type: int How many days to count.
    try:
        statements = ast.parse(source).body
    except SyntaxError as error:
        raise SetupError(
            f"{place}, line {error.lineno}: {error.msg}.\nThe parameters cell may only have assignments and imports."
        ) from None

    comments = _comments(source)
    parameters = []
    annotations = {}
    for statement in statements:
        match statement:
            case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
                continue
        at = f"{place}, line {statement.lineno}"
        name, written, value = _assignment(statement, at)
        kind, help_ = _split_comment(comments.get(statement.end_lineno or 0, ""))
        annotation = _annotation(written or kind, at, name)
        default = _default(value, annotation, at, name) if value else ABSENT
        if name in annotations:
            raise SetupError(
                f"{at}: {name} is assigned twice.\nAssign each parameter once."
            )
        annotations[name] = annotation
        declared = inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
        )
        parameters.append(read_parameter(f"{at}: {name}", declared, help_))

    return tuple(parameters), all_rules(place, annotations)


def _assignment(
    statement: ast.stmt, at: str
) -> tuple[str, ast.expr | None, ast.expr | None]:
    match statement:
        case ast.AnnAssign(
            target=ast.Name(id=name), annotation=annotation, value=value
        ):
            return name, annotation, value
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name, None, value

    raise SetupError(
        f"{at}: {quoted(ast.unparse(statement))} does not define a parameter.\n"
        "Write one assignment per parameter, such as days: int = 7. Move other code to the next cell."
    )


def _comments(source: str) -> dict[int, str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {
        token.start[0]: token.string.lstrip("# ").rstrip()
        for token in tokens
        if token.type == tokenize.COMMENT and token.line[: token.start[1]].strip()
    }


def _split_comment(comment: str) -> tuple[str | None, str]:
    if _FOR_TOOLS.match(comment):
        return None, ""
    typed = _TYPE_COMMENT.fullmatch(comment)
    return (typed[1], typed[2]) if typed else (None, comment)


def _annotation(written: ast.expr | str | None, at: str, name: str) -> Any:
    if isinstance(written, ast.Constant) and isinstance(written.value, str):
        written = written.value
    if written is None:
        return ABSENT
    try:
        return _evaluated(
            ast.parse(written, mode="eval").body
            if isinstance(written, str)
            else written
        )
    except (SyntaxError, ValueError, TypeError, AttributeError):
        text = written if isinstance(written, str) else ast.unparse(written)
        raise SetupError(
            f"{at}: {name} has the unsupported annotation {quoted(text)}.\nUse {SUPPORTED}."
        ) from None


def _default(value: ast.expr, annotation: Any, at: str, name: str) -> Any:
    """Return a default that is a literal; `None` if the notebook computes it."""
    try:
        return _evaluated(value)
    except (ValueError, TypeError, AttributeError):
        if annotation is ABSENT:
            raise SetupError(
                f"{at}: the type of {name} is not clear from {quoted(ast.unparse(value))}.\n"
                f"Annotate it, as in {name}: int = …, or move the line to the next cell."
            ) from None
        return None


def _evaluated(node: ast.expr) -> Any:  # noqa: PLR0911 - one per kind of node
    """Evaluate literals, and the names of types and markers, without executing anything else."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in _KNOWN:
            return _KNOWN[name]
        case ast.Subscript(value=kind, slice=ast.Tuple(elts=items)):
            return _evaluated(kind)[tuple(_evaluated(item) for item in items)]
        case ast.Subscript(value=kind, slice=item):
            return _evaluated(kind)[_evaluated(item)]
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _evaluated(left) | _evaluated(right)
        case ast.Call(func=func, args=args, keywords=keywords):
            made = _evaluated(func)
            return made(
                *map(_evaluated, args),
                **{str(keyword.arg): _evaluated(keyword.value) for keyword in keywords},
            )
        case ast.List(elts=items):
            return [_evaluated(item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(_evaluated(item) for item in items)

    return ast.literal_eval(node)


def is_empty(source: str) -> bool:
    """Tell whether a cell has only blank lines and comments."""
    return all(line.strip()[:1] in {"", "#"} for line in source.splitlines())


def check_last_cell(source: str, place: str) -> None:
    """Refuse a cell that does not end with a value."""
    from IPython.core.inputtransformer2 import TransformerManager

    if source.lstrip().startswith("%%"):
        magic = source.split(maxsplit=1)[0]
        raise SetupError(
            f"{place} starts with {quoted(magic)}, which hides its value.\n{_ADVICE}"
        )

    # Magics and ! become Python.
    python = TransformerManager().transform_cell(source)  # type: ignore[no-untyped-call] # IPython's is untyped
    try:
        last = ast.parse(python).body[-1]
    except SyntaxError as error:
        raise SetupError(
            f"{place}, line {error.lineno}: {error.msg}.\nFix the cell."
        ) from None

    match last:
        case ast.Expr(value=ast.Call(func=ast.Name(id="print" | "display"))):
            pass  # these show a value and return none
        case ast.Expr():
            return

    raise SetupError(
        f"{place} ends with {quoted(ast.unparse(last).splitlines()[0])}, not with a value.\n{_ADVICE}"
    )
