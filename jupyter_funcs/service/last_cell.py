"""The last cell of a notebook: what its last line gives is the result, kept under a name rather than shown."""

from __future__ import annotations

import ast
import itertools

from .errors import SetupError
from .words import quoted

NAME = "_jupyter_funcs_result"
"""The name under which the result is kept."""

# What shows a value and gives none.
_SHOWING = ("print", "display")


def is_empty(source: str) -> bool:
    """Tell whether a cell has nothing but blanks and comments."""
    return all(not line.strip() or line.lstrip().startswith("#") for line in source.splitlines())


def kept(source: str, place: str) -> str:
    """
    Give a cell with its last value kept under `NAME`; all else, and the line of each, stays as it is.

    Parameters
    ----------
    place
        What to name in messages.

    Raises
    ------
    SetupError
        The cell does not end in a value.
    """
    from IPython.core.inputtransformer2 import TransformerManager  # noqa: PLC0415 - only notebooks need it

    if source.lstrip().startswith("%%"):
        magic = source.split(maxsplit=1)[0]
        raise SetupError(f"{place} begins with {quoted(magic)}, which keeps its value.\n{_advice('the result')}")
    # Magics and ! become Python on the same line.
    python = TransformerManager().transform_cell(source)  # type: ignore[no-untyped-call] # IPython's is untyped
    try:
        last = ast.parse(python).body[-1]
    except SyntaxError as error:
        raise SetupError(f"{place}, line {error.lineno}: {error.msg}.\nMend the cell.") from None
    if not isinstance(last, ast.Expr):
        raise SetupError(f"{place} ends in {_named(last)}, and not in a value.\n{_advice(_assigned(last))}")
    match last.value:
        case ast.Call(func=ast.Name(id=name), args=[*values]) if name in _SHOWING:
            what = ast.unparse(values[0]) if values else "the result"
            raise SetupError(f"{place} ends in {name}(…), which shows a value and gives none.\n{_advice(what)}")
    whole = python.encode()  # the tree counts columns in bytes
    starts = [0, *itertools.accumulate(len(line) + 1 for line in whole.split(b"\n"))]
    begin = starts[last.lineno - 1] + last.col_offset
    end = starts[(last.end_lineno or 0) - 1] + (last.end_col_offset or 0)
    return b"".join([whole[:begin], f"{NAME} = (".encode(), whole[begin:end], b")", whole[end:]]).decode()


def _advice(what: str) -> str:
    return f"End the notebook with the value alone on its last line: {what}"


def _named(last: ast.stmt) -> str:
    if isinstance(last, ast.Assign | ast.AnnAssign | ast.AugAssign):
        return f"an assignment to {_assigned(last)}"
    return f"'{ast.unparse(last).splitlines()[0][:40]}'"


def _assigned(last: ast.stmt) -> str:
    match last:
        case ast.Assign(targets=[target, *_]) | ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            return ast.unparse(target)
    return "the result"
