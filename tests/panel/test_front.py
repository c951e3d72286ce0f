"""The panel's front end: its bundle is built from its sources, and only the bundle is in the wheel."""

from __future__ import annotations

import hashlib
import re
import tomllib
from pathlib import Path

import pytest

from jupyter_funcs.panel.panel import Panel

ROOT = Path(__file__).parents[2]
FRONT = ROOT / "jupyter_funcs/panel/front"
STATIC = ROOT / "jupyter_funcs/panel/static"
KILOBYTE = 1_000


def sources() -> list[str]:
    paths = [
        *(FRONT / "src").rglob("*"),
        FRONT / "build.mjs",
        FRONT / "package-lock.json",
    ]
    return sorted(
        path.relative_to(FRONT).as_posix() for path in paths if path.is_file()
    )


def test_the_bundle_is_built_from_the_sources() -> None:
    """Without Node: by the hash that the build writes beside the bundle."""
    digest = hashlib.sha256()
    for path in sources():
        digest.update(path.encode() + b"\0" + (FRONT / path).read_bytes() + b"\0")
    built = (STATIC / "sources.sha256").read_text("utf-8").strip()
    assert built == digest.hexdigest(), (
        "stale: in panel/front, npm ci && node build.mjs"
    )


def test_script_and_style_are_small() -> None:
    """Every panel sends both, packed into one module of at most 120 kB."""
    assert len(Panel._esm) <= 120 * KILOBYTE
    assert not hasattr(Panel, "_css")


def test_the_lock_file_names_no_registry() -> None:
    """Users who install the package have their own address."""
    assert "resolved" not in (FRONT / "package-lock.json").read_text("utf-8")


WORDS = [
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "dangerouslySetInnerHTML",
    "fetch(",
    "eval(",
]


@pytest.mark.parametrize("word", WORDS)
def test_text_is_only_ever_set_as_text(word: str) -> None:
    """No request leaves the page."""
    assert [
        path
        for path in sources()
        if path.startswith("src/") and word in (FRONT / path).read_text("utf-8")
    ] == []


def test_the_wheel_takes_the_bundle_alone() -> None:
    """Neither the sources nor npm's packages beside them."""
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"][
        "hatch"
    ]["build"]["targets"]["wheel"]
    assert wheel["exclude"] == ["jupyter_funcs/panel/front"]


# A word, the beginning of one ("field:", "chart-"), or a choice of words.
_HOOK = re.compile(
    r'(?:data-jf=|\bhook ?= ?|\bjf: ?)(?:"([\w:-]+)"|\{?`([\w-]+:?)\$|\{(`?[^`}]*\?[^}]*\}?[^}]*)\})'
)


def test_the_guide_lists_each_hook_and_no_other() -> None:
    """As in the sources, so that the guide is complete for anyone who automates the panel."""
    source = "\n".join(
        (FRONT / path).read_text("utf-8")
        for path in sources()
        if path.endswith((".ts", ".tsx"))
    )
    # One component has these under two names.
    hooks = {
        "assign-name",
        "assign-now",
        "preset-name",
        "preset-save-now",
        "save-name",
        "save-now",
    }
    for word, head, choice in _HOOK.findall(source):
        words = re.findall(r'"([\w-]+)"', choice)
        hooks |= (
            {name + ":" * (":$" in choice) for name in words}
            if choice
            else {word or head}
        )
    table = (
        (ROOT / "jupyter_funcs/guide/panel.md")
        .read_text("utf-8")
        .partition("| header |")[2]
        .partition("\n\n")[0]
    )
    # Of `chip:hidden`, `chip:points`.
    documented = {
        "panel",
        "hidden",
        "points",
        *re.findall(r"`([\w:-]+)`", table),
    }
    heads = tuple(hook for hook in hooks if hook[-1] in ":-")
    assert [
        hook
        for hook in hooks - documented
        if hook not in heads or not any(name.startswith(hook) for name in documented)
    ] == []
    unknown = [hook for hook in documented - hooks if not hook.startswith(heads)]
    assert [
        hook for hook in unknown if f'"{hook.partition(":")[0]}"' not in source
    ] == []
