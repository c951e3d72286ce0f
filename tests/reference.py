"""
The tables of the guide that are made from the code: ``python -m tests.reference`` writes them.

A table is found by its page and the head of its first column. A cell of `BY_HAND` is written in the page, and kept.
"""

from __future__ import annotations

import argparse
import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_funcs.cli import main
from jupyter_funcs.client.options import CallOptions
from jupyter_funcs.connection import profiles
from jupyter_funcs.core import errors
from jupyter_funcs.magic import usage
from jupyter_funcs.panel.panel import Panel
from jupyter_funcs.service.config.settings import Settings
from tests import test_imports

if TYPE_CHECKING:
    from collections.abc import Iterator

GUIDE = Path(__file__).parent.parent / "jupyter_funcs/guide"
BY_HAND = "?"
# The end of a package's docstring, which the order of the packages says exactly.
_MAY_IMPORT = re.compile(r" (?:May import|Imports) .+$")


def tables() -> dict[tuple[str, str], list[list[str]]]:
    """Return the rows of each table."""
    shell = list(_commands(main._parser()))
    run, sweep = re.split(
        r"\n\n(?=pairs\n)", inspect.getdoc(CallOptions).partition("----\n")[2]
    )  # type: ignore[union-attr]
    own = [
        error
        for error in vars(errors).values()
        if inspect.isclass(error) and issubclass(error, errors.FuncsError)
    ]
    return {
        ("magic", "line"): [
            [f"`{usage._synopsis(name)}`", _does(name)] for name in usage.SUBCOMMANDS
        ],
        ("magic", "option"): [
            [f"`{usage._spelling(name)}`", option.does, _taken_by(option)]
            for name, option in usage.OPTIONS.items()
        ],
        ("python", "option of a run"): list(_call_options(run)),
        ("sweeps", "option of a sweep"): list(_call_options(sweep)),
        ("connect", "key of a profile"): [
            [f"`{key}`", BY_HAND, BY_HAND] for key in sorted(_profile_keys())
        ],
        ("errors", "error"): [
            [
                f"`{error.__name__}`",
                ", ".join(f"`{base.__name__}`" for base in error.__bases__[1:]),
                _first(error.__doc__),
            ]
            for error in own[1:]
        ],
        ("command-line", "command"): [
            [f"`jupyter funcs {_synopsis(name, parser)}`", does]
            for name, does, parser in shell
            if " " not in name
        ],
        ("command-line", "option"): [
            [f"`{option}`", ", ".join(f"`{name}`" for name in names), text]
            for (option, text), names in _by_option(shell).items()
        ],
        ("host-a-service", "admin command"): [
            [
                f"`{_synopsis(name, parser)}`",
                does,
                "; ".join(f"`{option}` {text}".strip() for option, text in options),
            ]
            for name, does, parser in shell
            if name.startswith("admin ") and not _within(parser)
            for options in [
                [
                    option
                    for option in _options(parser)
                    if option[0] not in {"--config FILE", "--json"}
                ]
            ]
        ],
        ("architecture", "package"): list(
            _packages(test_imports.ORDER, "jupyter_funcs")
        ),
        ("architecture", "part"): list(
            _packages(test_imports.SERVICE_ORDER, "jupyter_funcs.service")
        ),
        ("architecture", "trait"): [
            [f"`{name}`", BY_HAND, BY_HAND] for name in _traits()
        ],
        ("host-a-service", "key"): [
            [f"`{key}`", default, BY_HAND] for key, default in _keys(Settings)
        ],
    }


def _does(name: str) -> str:
    also = [alias for alias, of in usage.ALIASES.items() if of == name]
    return usage.SUBCOMMANDS[name].does + "".join(
        f" (also `{alias}`)" for alias in also
    )


def _taken_by(option: usage.Option) -> str:
    takes_all = len(option.subcommands) == len(usage.SUBCOMMANDS)
    return "all" if takes_all else ", ".join(f"`{name}`" for name in option.subcommands)


def _call_options(text: str) -> Iterator[list[str]]:
    defaults = CallOptions()
    for name, does in re.findall(r"^(\w+)\n((?:    .*\n?)+)", text, re.MULTILINE):
        [option] = [
            f"`{option_name}`"
            for option_name in usage.OPTIONS
            if f"--{name.replace('_', '-')}" == option_name
        ] or [""]
        yield [
            f"`{name}={getattr(defaults, name)!r}`",
            option,
            " ".join(does.split()).replace("``", "`"),
        ]


def _first(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0].replace("``", "`")


def _profile_keys() -> set[str]:
    return {key for key in profiles._KEYS if not key.startswith("api_key_")} | {
        "command",
        "env",
        "module",
    }


def _packages(order: list[set[str]], root: str) -> Iterator[list[str]]:
    """Yield each package from the bottom up, with what its docstring says it is for, and what it may import."""
    below: list[str] = []
    for rank, names in enumerate(order):
        they = "they" if len(below) > 1 else "it"
        further = f" and what {they} may import" if rank > 1 else ""
        imported = [", ".join(f"`{name}`" for name in below) + further] if below else []
        for name in sorted(names):
            module = root if root.endswith(name) else f"{root}.{name}"
            about = _MAY_IMPORT.sub(
                "", _first(test_imports.docstring(module))
            ).removesuffix(".")
            service = (
                ["`service`"]
                if name in test_imports.REACH_THE_SERVICE and root == "jupyter_funcs"
                else []
            )
            yield [
                f"`{name}`",
                about,
                "; ".join([*imported, *service]) or "nothing of ours",
            ]
        below = sorted(names)


def _traits() -> list[str]:
    """Return the traits through which a panel sends its state to its page."""
    return [name for name in vars(Panel) if name in Panel.class_own_traits(sync=True)]


def _within(parser: argparse.ArgumentParser) -> Any:
    return next(
        (
            action
            for action in parser._actions
            if isinstance(action, argparse._SubParsersAction)
        ),
        None,
    )


def _commands(
    parser: argparse.ArgumentParser, before: str = ""
) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    if (within := _within(parser)) is None:
        return
    does = {action.dest: action.help or "" for action in within._choices_actions}
    for name, inner in within.choices.items():
        yield before + name, does[name].replace("%%", "%"), inner
        yield from _commands(inner, f"{before}{name} ")


def _synopsis(name: str, parser: argparse.ArgumentParser) -> str:
    words = [action for action in parser._actions if not action.option_strings]
    optional = {"?": "[{}]", "*": "[{} …]"}
    texts = [
        optional.get(str(word.nargs), "{}").format(str(word.metavar or word.dest))
        for word in words
    ]
    return " ".join([name, *texts])


def _options(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    for action in parser._actions:
        if action.option_strings and not isinstance(action, argparse._HelpAction):
            value = action.metavar or (
                "|".join(map(str, action.choices)) if action.choices else ""
            )
            takes = "" if action.nargs == 0 else value or action.dest.upper()
            yield (
                f"{', '.join(action.option_strings)} {takes}".strip(),
                action.help or "",
            )


def _by_option(
    shell: list[tuple[str, str, argparse.ArgumentParser]],
) -> dict[tuple[str, str], list[str]]:
    names: dict[tuple[str, str], list[str]] = {}
    for name, _, parser in shell:
        for option in _options(parser) if not name.startswith("admin") else ():
            names.setdefault(option, []).append(name)
    return names


def _keys(model: Any, before: str = "") -> Iterator[tuple[str, str]]:
    """Yield the keys of a section and of those in it, with their defaults; a section of columns is one row."""
    for name, field in model.model_fields.items():
        inner = [
            part
            for part in (field.annotation, *getattr(field.annotation, "__args__", ()))
            if _is_section(part)
        ]
        default = (
            str(field.default).lower()
            if isinstance(field.default, bool)
            else field.default
        )
        if inner and not name.endswith("columns"):
            yield from _keys(inner[0], f"{before}{name}.")
        else:
            plain = isinstance(default, str | int | float) and not inner
            yield before + name, f"`{default}`" if plain and str(default) else ""


def _is_section(annotation: Any) -> bool:
    return hasattr(annotation, "model_fields")


def written(page: str, text: str) -> str:
    """Return the text of a page with its tables as the code has them."""
    for (of, head), rows in tables().items():
        if of != page:
            continue
        [table] = re.findall(rf"^\| {head} \|.*\n(?:\|.*\n)+", text, re.MULTILINE)
        top, line, *lines = table.splitlines()
        before = {
            cells[0]: cells
            for cells in (re.split(r"(?<!\\) ?\| ?", row)[1:-1] for row in lines)
        }
        made = [[cell.replace("|", "\\|") for cell in row] for row in rows]
        if any(BY_HAND in row for row in rows):  # in the page's order
            order = [*before, *(row[0] for row in made)]
            made.sort(key=lambda row: order.index(row[0]))
            made = [
                [
                    hand if cell == BY_HAND else cell
                    for cell, hand in zip(row, before.get(row[0], row), strict=True)
                ]
                for row in made
            ]
        text = text.replace(
            table,
            "\n".join([top, line, *(f"| {' | '.join(row)} |" for row in made)]) + "\n",
        )
    return text


def llms() -> str:
    """Return the guide's list of pages for programs (llmstxt.org), with what the README says of each."""
    readme = (GUIDE.parent.parent / "README.md").read_text("utf-8")
    about = " ".join(readme.split("\n\n")[1].split())
    rows = re.findall(
        r"\[([\w-]+)\]\(jupyter_funcs/guide/([\w-]+\.md)\) \| (.+) \|", readme
    )
    pages = "\n".join(f"- [{topic}]({page}): {covers}" for topic, page, covers in rows)
    return f"# jupyter_funcs\n\n> {about}\n\n## Guide\n\n{pages}\n"


if __name__ == "__main__":
    for name in dict.fromkeys(page for page, _ in tables()):
        path = GUIDE / f"{name}.md"
        path.write_text(written(name, path.read_text("utf-8")), "utf-8")
    (GUIDE / "llms.txt").write_text(llms(), "utf-8")
