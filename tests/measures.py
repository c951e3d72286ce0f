"""
How the code reads, in figures: ``python -m tests.measures`` prints them.

``--packages`` prints the figures of each package, ``--worst`` the most complex functions and the longest lines.
`tests/test_house.py` holds the figures of the whole under its ceilings.
"""

# ruff: noqa: T201 - it prints figures

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import re
import shutil
import subprocess
import tokenize
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "jupyter_funcs"
# The page's sources, or a copy of them in which npm has installed TypeScript.
FRONT = Path(os.environ.get("FUNCS_FRONT", PACKAGE / "panel/front"))
LONG_LINE = 100
# Tokens that depend on how the code is laid out.
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
BRANCHES = (
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ExceptHandler,
    ast.IfExp,
    ast.comprehension,
    ast.Assert,
    ast.match_case,
)
VAGUE_NAMES = {"each", "one", "found", "known", "held", "said", "asked", "given"}
ARCHAIC = re.compile(
    r"\bmend(s|ed|ing)?\b|\banew\b|\bheed(s|ed|ing)?\b|\bin vain\b|\ball the same\b"
    r"|\bis no (?:column|list|date|whole|function|option|argument|parameter|variable)\b",
    re.IGNORECASE,
)


class Place(NamedTuple):
    """A figure of a function or of a line, and where it is; the largest sorts last."""

    size: int
    where: str


@dataclass
class Measured:
    """The counts of a module or of several."""

    counts: Counter[str] = field(default_factory=Counter)
    functions: list[Place] = field(default_factory=list)
    lines: list[Place] = field(default_factory=list)

    def add(self, other: Measured) -> None:
        self.counts += other.counts
        self.functions += other.functions
        self.lines += other.lines

    def figures(self) -> dict[str, float]:
        """Return the figures: counts, means, percentages, and numbers per 1,000 lines of code."""
        counts = self.counts
        code = max(counts["code lines"], 1)
        return {
            "tokens": counts["tokens"],
            "tokens a line": round(counts["tokens"] / max(counts["lines"], 1), 2),
            "characters a code line": round(counts["characters"] / code, 1),
            "percent of lines over 100": round(100 * counts["long lines"] / code, 1),
            "conditional expressions per 1,000": round(
                1000 * counts["conditional expressions"] / code, 1
            ),
            "nested ones per 1,000": round(
                1000 * counts["nested conditional expressions"] / code, 2
            ),
            "tuple assignments per 1,000": round(
                1000 * counts["tuple assignments"] / code, 1
            ),
            "vague names": counts["vague names"],
            "complexity": max(self.functions, default=Place(0, "")).size,
            "modules": counts["modules"],
        }


def modules() -> list[Path]:
    return sorted(
        path for path in PACKAGE.rglob("*.py") if "node_modules" not in path.parts
    )


def measured(text: str, where: str) -> Measured:
    """Return the counts of a module."""
    module = Measured(Counter({"modules": 1, "tokens": tokens(text)}))
    documentation: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED):
            documentation |= documentation_lines(node)
        for kind in kinds_of(node):
            module.counts[kind] += 1
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            module.functions.append(
                Place(complexity(node), f"{where}:{node.lineno} {node.name}")
            )
    for number, line in enumerate(text.splitlines(), 1):
        module.counts["lines"] += 1
        code = line.strip()
        if not code or code.startswith("#") or number in documentation:
            continue
        module.counts["code lines"] += 1
        module.counts["characters"] += len(code)
        module.counts["long lines"] += len(line) > LONG_LINE
        module.lines.append(Place(len(line), f"{where}:{number}"))
    return module


def tokens(text: str) -> int:
    """Return how many tokens a module has, which packing lines doesn't change."""
    return sum(
        token.type not in LAYOUT
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
    )


def documentation_lines(node: Documented) -> set[int]:
    """Return the lines of the docstring that a definition begins with."""
    if not node.body:
        return set()
    first = node.body[0]
    is_text = (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )
    return (
        set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
        if is_text
        else set()
    )


def kinds_of(node: ast.AST) -> list[str]:
    """Return what a node is counted as."""
    if isinstance(node, ast.IfExp):
        is_nested = any(
            isinstance(child, ast.IfExp) for child in ast.iter_child_nodes(node)
        )
        nested = ["nested conditional expressions"] if is_nested else []
        return ["conditional expressions", *nested]
    if isinstance(node, ast.Assign):
        is_packed = isinstance(node.targets[0], ast.Tuple) and isinstance(
            node.value, ast.Tuple
        )
        return ["tuple assignments"] if is_packed else []
    if isinstance(node, ast.Name):
        return ["vague names"] if node.id in VAGUE_NAMES else []
    if isinstance(node, ast.arg):
        return ["vague names"] if node.arg in VAGUE_NAMES else []
    return []


def complexity(function: ast.AST) -> int:
    """Return the number of ways through a function, without those of the definitions in it."""
    total = 1
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        if isinstance(node, DEFINITIONS):
            continue
        total += isinstance(node, BRANCHES)
        if isinstance(node, ast.BoolOp):
            total += len(node.values) - 1
        if isinstance(node, ast.comprehension):
            total += len(node.ifs)
        waiting += ast.iter_child_nodes(node)
    return total


def package_of(path: Path) -> str:
    """Return the package of a module: a folder, of the service a folder in it."""
    parts = path.relative_to(PACKAGE).parts
    if len(parts) == 1:
        return "top"
    return "/".join(parts[:2]) if parts[0] == "service" and len(parts) > 2 else parts[0]


def packages() -> dict[str, Measured]:
    """Return the counts of each package."""
    totals: dict[str, Measured] = defaultdict(Measured)
    for path in modules():
        totals[package_of(path)].add(
            measured(path.read_text("utf-8"), path.relative_to(ROOT).as_posix())
        )
    return dict(sorted(totals.items()))


def whole(by_package: dict[str, Measured]) -> Measured:
    """Return the counts of the packages together."""
    total = Measured()
    for package in by_package.values():
        total.add(package)
    return total


def project() -> dict[str, float]:
    """Return the figures of what is around the code: folders, the README, the wording."""
    folders = Counter(path.parent for path in modules())
    entries = [
        path.name
        for path in PACKAGE.iterdir()
        if not path.name.startswith("__") and path.name != "py.typed"
    ]
    readme = ROOT / "README.md"
    texts = [*modules(), readme, *(ROOT / "notebooks").glob("*.ipynb")]
    return {
        "modules in a folder": max(folders.values()),
        "entries at the top": len(entries),
        "lines of the README": readme.read_text("utf-8").count("\n"),
        "archaic wordings": sum(
            len(ARCHAIC.findall(path.read_text("utf-8"))) for path in texts
        ),
    }


def page_figures() -> dict[str, float]:
    """
    Return the figures of the panel's page, by TypeScript's own parser.

    Raises
    ------
    FileNotFoundError
        Node or TypeScript isn't installed here.
    """
    node = shutil.which("node")
    if node is None or not (FRONT / "node_modules/typescript").is_dir():
        raise FileNotFoundError(
            "the page isn't measured: it needs Node, and `npm ci` in jupyter_funcs/panel/front"
        )
    printed = subprocess.run(
        [node, FRONT / "measure.mjs"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    figures: dict[str, float] = json.loads(printed.stdout)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--packages", action="store_true", help="print the figures of each package"
    )
    parser.add_argument(
        "--worst",
        action="store_true",
        help="print the most complex functions and the longest lines",
    )
    options = parser.parse_args()
    by_package = packages()
    total = whole(by_package)
    if options.packages:
        for name, package in by_package.items():
            print(
                f"{name:20}",
                "; ".join(
                    f"{figure} {value:,}" for figure, value in package.figures().items()
                ),
            )
    if options.worst:
        for size, where in sorted(total.functions, reverse=True)[:20]:
            print(f"complexity {size:3}  {where}")
        for size, where in sorted(total.lines, reverse=True)[:20]:
            print(f"characters {size:3}  {where}")
    try:
        page = page_figures()
    except FileNotFoundError as missing:
        print(missing)
        page = {}
    for name, value in {**total.figures(), **project(), **page}.items():
        print(f"{name:35} {value:>9,}")


if __name__ == "__main__":
    main()
