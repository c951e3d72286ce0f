"""
The cell of a notebook that is tagged ``parameters``: an assignment a parameter, as papermill has it.

It is read and never executed. papermill's own inspection goes line by line with a pattern, and so sees neither a
parameter without a value nor one whose line has two equals signs.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
import tokenize
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

from . import signatures
from .errors import SetupError
from .markers import AtLeastOne, Between, Help, ListedBy, Options
from .words import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from .parameters import Parameter

_WORDS: dict[str, Any] = {
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


def read(source: str, place: str) -> tuple[tuple[Parameter, ...], tuple[Any, ...]]:
    """
    Read the parameters and the rules of a parameters cell.

    ``store: str`` is required; ``days = 7`` and ``since: date | None = None`` are optional. A type may also stand in
    a comment, and what else is in the comment is the help text: ``days = 7  # type: int How many days to count``.

    Parameters
    ----------
    source
        The cell's.
    place
        What to name in messages.

    Raises
    ------
    SetupError
        There is something else in it than parameters and imports, or a parameter is not understood.
    """
    try:
        statements = ast.parse(source).body
    except SyntaxError as error:
        raise SetupError(
            f"{place}, line {error.lineno}: {error.msg}.\nThe parameters cell takes assignments and imports alone."
        ) from None
    comments = _comments(source)
    found: list[Parameter] = []
    annotations: dict[str, Any] = {}
    for statement in statements:
        if isinstance(statement, ast.Import | ast.ImportFrom) or _is_text(statement):
            continue
        at = f"{place}, line {statement.lineno}"
        name, written, value = _assignment(statement, at)
        kind, help_ = _said(comments.get(statement.end_lineno or 0, ""))
        annotation = _annotation(written or kind, at, name)
        default = inspect.Parameter.empty if value is None else _default(value, annotation, at, name)
        if name in annotations:
            raise SetupError(f"{at}: {name} is assigned twice.\nWrite each parameter once.")
        annotations[name] = annotation
        found.append(signatures.parameter(f"{at}: {name}", name, default, annotation, help_))
    return tuple(found), signatures.all_rules(place, annotations)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _assignment(statement: ast.stmt, at: str) -> tuple[str, ast.expr | None, ast.expr | None]:
    """Give the name, the annotation and the value of an assignment."""
    match statement:
        case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
            return name, annotation, value
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name, None, value
    raise SetupError(
        f"{at}: {quoted(ast.unparse(statement))} is no parameter.\n"
        "The parameters cell takes a line such as days: int = 7 for each, and imports. Move the rest to the next cell."
    )


def _comments(source: str) -> dict[int, str]:
    """Give the comments that stand behind code, by line."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {
        token.start[0]: token.string.lstrip("# ").rstrip()
        for token in tokens
        if token.type == tokenize.COMMENT and token.line[: token.start[1]].strip()
    }


def _said(comment: str) -> tuple[str | None, str]:
    """Give the type and the help text of a comment."""
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
        return _meant(ast.parse(written, mode="eval").body if isinstance(written, str) else written)
    except (SyntaxError, ValueError, TypeError, AttributeError):
        text = written if isinstance(written, str) else ast.unparse(written)
        raise SetupError(
            f"{at}: {name} is annotated {quoted(text)}, which is not understood.\n"
            "Write str, int, float, bool, date, Literal['…'], list[…] or Annotated[…] of these."
        ) from None


def _default(value: ast.expr, annotation: Any, at: str, name: str) -> Any:
    """Give a default that is written out; `None` for one that the notebook computes, which is then not said."""
    try:
        return _meant(value)
    except (ValueError, TypeError, AttributeError):
        if annotation is inspect.Parameter.empty:
            raise SetupError(
                f"{at}: the type of {name} cannot be told from {quoted(ast.unparse(value))}.\n"
                f"Annotate it, as in {name}: int = …, or move the line to the next cell."
            ) from None
        return None


def _meant(node: ast.expr) -> Any:  # noqa: PLR0911 - one a kind
    """Give what an annotation or a value stands for: names of types and markers, and literals."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in _WORDS:
            return _WORDS[name]
        case ast.Subscript(value=kind, slice=ast.Tuple(elts=items)):
            return _meant(kind)[tuple(_meant(item) for item in items)]
        case ast.Subscript(value=kind, slice=item):
            return _meant(kind)[_meant(item)]
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _meant(left) | _meant(right)
        case ast.Call(func=func, args=args, keywords=keywords):
            made: Callable[..., Any] = _meant(func)
            return made(*map(_meant, args), **{str(each.arg): _meant(each.value) for each in keywords})
        case ast.List(elts=items):
            return [_meant(item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(_meant(item) for item in items)
    return ast.literal_eval(node)
