"""Read the parameters cell of a notebook (nothing in it is executed), and capture the value of its last cell."""

from __future__ import annotations

import ast
import inspect
import io
import itertools
import re
import tokenize
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

from jupyter_funcs.service.messages import SetupError, quoted
from jupyter_funcs.service.publishing import signatures
from jupyter_funcs.service.publishing.parameters import SUPPORTED, AtLeastOne, Between, Help, ListedBy, Options

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_funcs.service.publishing.parameters import Parameter

RESULT_NAME = "_jupyter_funcs_result"
"""The variable that takes the value of the last cell."""

# What an annotation may refer to.
_KNOWN: dict[str, Any] = {
    **{
        kind.__name__: kind
        for kind in (str, int, float, bool, list, date, AtLeastOne, Between, Help, ListedBy, Options)
    },
    "Annotated": Annotated,
    "List": list,
    "Literal": Literal,
    "Optional": Optional,
}
_FOR_TOOLS = re.compile(r"noqa\b|type:\s*ignore|pragma:|pylint:")
_TYPE_COMMENT = re.compile(r"type:\s*(\S+)\s*\|?\s*(.*)", re.DOTALL)


def read_parameters(source: str, place: str) -> tuple[tuple[Parameter, ...], tuple[Any, ...]]:
    """Return the parameters and rules of a parameters cell."""
    # store: str is required; days = 7 and since: date | None = None are optional. A comment may have the type and the
    # help text: days = 7  # type: int How many days to count.
    # papermill's own inspection goes by lines: it misses a parameter without a value, or on a line with two "=".
    try:
        statements = ast.parse(source).body
    except SyntaxError as error:
        raise SetupError(
            f"{place}, line {error.lineno}: {error.msg}.\nThe parameters cell may only have assignments and imports."
        ) from None
    comments = _comments(source)
    found: list[Parameter] = []
    annotations: dict[str, Any] = {}
    for statement in statements:
        if isinstance(statement, ast.Import | ast.ImportFrom) or _is_text(statement):
            continue
        at = f"{place}, line {statement.lineno}"
        name, written, value = _assignment(statement, at)
        kind, help_ = _split_comment(comments.get(statement.end_lineno or 0, ""))
        annotation = _annotation(written or kind, at, name)
        default = inspect.Parameter.empty if value is None else _default(value, annotation, at, name)
        if name in annotations:
            raise SetupError(f"{at}: {name} is assigned twice.\nAssign each parameter once.")
        annotations[name] = annotation
        found.append(signatures.parameter(f"{at}: {name}", name, default, annotation, help_))
    return tuple(found), signatures.all_rules(place, annotations)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _assignment(statement: ast.stmt, at: str) -> tuple[str, ast.expr | None, ast.expr | None]:
    """Return the name, annotation and value of an assignment."""
    match statement:
        case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
            return name, annotation, value
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name, None, value
    raise SetupError(
        f"{at}: {quoted(ast.unparse(statement))} does not define a parameter.\n"
        "Write one assignment per parameter, such as days: int = 7. Move other code to the next cell."
    )


def _comments(source: str) -> dict[int, str]:
    """Return the comments that follow code, by line."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {
        token.start[0]: token.string.lstrip("# ").rstrip()
        for token in tokens
        if token.type == tokenize.COMMENT and token.line[: token.start[1]].strip()
    }


def _split_comment(comment: str) -> tuple[str | None, str]:
    """Return the type and the help text in a comment."""
    if _FOR_TOOLS.match(comment):
        return None, ""
    found = _TYPE_COMMENT.fullmatch(comment)
    return (found[1], found[2]) if found else (None, comment)


def _annotation(written: ast.expr | str | None, at: str, name: str) -> Any:
    if isinstance(written, ast.Constant) and isinstance(written.value, str):
        written = written.value
    if written is None:
        return inspect.Parameter.empty
    try:
        return _evaluated(ast.parse(written, mode="eval").body if isinstance(written, str) else written)
    except (SyntaxError, ValueError, TypeError, AttributeError):
        text = written if isinstance(written, str) else ast.unparse(written)
        raise SetupError(f"{at}: {name} has the unsupported annotation {quoted(text)}.\nUse {SUPPORTED}.") from None


def _default(value: ast.expr, annotation: Any, at: str, name: str) -> Any:
    """Return a default that is a literal; `None` if the notebook computes it."""
    try:
        return _evaluated(value)
    except (ValueError, TypeError, AttributeError):
        if annotation is inspect.Parameter.empty:
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
            made: Callable[..., Any] = _evaluated(func)
            return made(*map(_evaluated, args), **{str(each.arg): _evaluated(each.value) for each in keywords})
        case ast.List(elts=items):
            return [_evaluated(item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(_evaluated(item) for item in items)
    return ast.literal_eval(node)


def is_empty(source: str) -> bool:
    """Tell whether a cell has only blank lines and comments."""
    return all(not line.strip() or line.lstrip().startswith("#") for line in source.splitlines())


def capture_result(source: str, place: str) -> str:
    """Return a cell that assigns its last value to `RESULT_NAME`; everything else stays on its line."""
    from IPython.core.inputtransformer2 import TransformerManager

    if source.lstrip().startswith("%%"):
        magic = source.split(maxsplit=1)[0]
        raise SetupError(f"{place} starts with {quoted(magic)}, which hides its value.\n{_advice('the result')}")
    # Magics and ! become Python on the same line.
    python = TransformerManager().transform_cell(source)  # type: ignore[no-untyped-call] # IPython's is untyped
    try:
        last = ast.parse(python).body[-1]
    except SyntaxError as error:
        raise SetupError(f"{place}, line {error.lineno}: {error.msg}.\nFix the cell.") from None
    match last:
        case ast.Expr(value=ast.Call(func=ast.Name(id="print" | "display" as name), args=[*values])):
            what = ast.unparse(values[0]) if values else "the result"
            raise SetupError(f"{place} ends with {name}(…), which shows a value but returns none.\n{_advice(what)}")
        case ast.Expr():
            pass
        case ast.Assign(targets=[target, *_]) | ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            what = ast.unparse(target)
            raise SetupError(f"{place} ends with an assignment to {what}, not with a value.\n{_advice(what)}")
        case _:
            what = ast.unparse(last).splitlines()[0][:40]
            raise SetupError(f"{place} ends with '{what}', not with a value.\n{_advice('the result')}")
    encoded = python.encode()  # the tree counts columns in bytes
    starts = [0, *itertools.accumulate(len(line) + 1 for line in encoded.split(b"\n"))]
    begin = starts[last.lineno - 1] + last.col_offset
    end = starts[(last.end_lineno or 0) - 1] + (last.end_col_offset or 0)
    return b"".join([encoded[:begin], f"{RESULT_NAME} = (".encode(), encoded[begin:end], b")", encoded[end:]]).decode()


def _advice(what: str) -> str:
    return f"End the notebook with the value alone on its last line: {what}"
