"""How the code reads, and what is around it: scripts, the hooks of a commit, licences, bounds and versions."""

from __future__ import annotations

import functools
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from tests import measures

ROOT = Path(__file__).parent.parent
SCRIPTS = ROOT / ".ci"
if not SCRIPTS.is_dir():
    pytest.skip("a clone has what checks it, an sdist has not", allow_module_level=True)

GUIDE = ROOT / "jupyter_funcs/guide"
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT: dict[str, Any] = PYPROJECT["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
REQUIREMENTS = [
    requirement
    for requirement in map(
        Requirement,
        PROJECT["dependencies"]
        + [requirement for extra in EXTRAS.values() for requirement in extra],
    )
    if requirement.name != PROJECT["name"]
]
LICENCES = runpy.run_path(str(SCRIPTS / "licences"))


# How the code reads: `python -m tests.measures` prints these figures. A change may lower a ceiling. Only those of the
# tokens and the modules may rise, with what the change adds.
CEILINGS = {
    "tokens": 335_800,
    "tokens a line": 5.81,
    "characters a code line": 32.8,
    "percent of lines over 100": 0.8,
    "conditional expressions per 1,000": 13.3,
    "nested ones per 1,000": 0.0,
    "tuple assignments per 1,000": 0.1,
    "vague names": 7,
    "complexity": 12,
    "modules": 179,
    "modules in a folder": 15,
    "entries at the top": 16,
    "lines of the README": 142,
    "archaic wordings": 7,
}
CEILINGS_OF_THE_PAGE = {
    "TypeScript tokens": 102_800,
    "longest line of TypeScript": 110,
    "TypeScript functions over 60 lines": 4,
}


def ran(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )


# How the code reads


@functools.cache
def figures() -> dict[str, float]:
    return {**measures.whole(measures.packages()).figures(), **measures.project()}


@functools.cache
def figures_of_the_page() -> dict[str, float]:
    try:
        return measures.page_figures()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


@pytest.mark.slow
@pytest.mark.parametrize("name", CEILINGS)
def test_the_code_reads_no_worse_than_before(name: str) -> None:
    """Each figure is at most its ceiling."""
    assert figures()[name] <= CEILINGS[name], (
        "see python -m tests.measures --packages --worst"
    )


@pytest.mark.parametrize("name", CEILINGS_OF_THE_PAGE)
def test_the_page_reads_no_worse_than_before(name: str) -> None:
    """Each figure of the panel's page is at most its ceiling, where Node and TypeScript are installed."""
    assert figures_of_the_page()[name] <= CEILINGS_OF_THE_PAGE[name], (
        "see node measure.mjs --worst in panel/front"
    )


def test_every_figure_has_a_ceiling() -> None:
    """A new measure gets a ceiling, too."""
    assert figures().keys() == CEILINGS.keys()


SAMPLE = '''
"""A docstring isn't counted as code."""
# Nor is a comment.
def read(each, flag):
    low, high = 1, 2
    return 1 if each else (2 if low and high else 3)
'''


def test_a_measure_sees_what_it_is_for() -> None:
    """On a few lines that have one of each."""
    counts = measures.measured(SAMPLE, "sample.py").counts
    assert counts == {
        "modules": 1,
        "lines": 6,
        "code lines": 3,
        "tokens": 30,
        "characters": 85,
        "long lines": 0,
        "conditional expressions": 2,
        "nested conditional expressions": 1,
        "tuple assignments": 1,
        "vague names": 2,
    }
    assert [
        function.size for function in measures.measured(SAMPLE, "sample.py").functions
    ] == [4]


# Scripts


@pytest.mark.parametrize(
    "path",
    [*sorted(SCRIPTS.iterdir()), ROOT / "tests/cluster/run"],
    ids=lambda path: path.name,
)
def test_a_script_can_be_executed_and_parsed(path: Path) -> None:
    """Each says what runs it, has the right to be run, and is well-formed; one of bash stops at its first failure."""
    assert path.stat().st_mode & 0o111 == 0o111
    first = path.read_text("utf-8").splitlines()[0]
    if first.endswith("python3"):
        compile(path.read_text("utf-8"), path, "exec")
    else:
        assert first == "#!/usr/bin/env bash"
        assert "\nset -euo pipefail\n" in path.read_text("utf-8")
        parsed = ran("bash", "-n", path)
        assert not parsed.returncode, parsed.stderr


def test_the_pythons_of_a_machine_are_those_that_run() -> None:
    """The running Python is among them, and a version that isn't installed prints no line."""
    mine = f"{sys.version_info.major}.{sys.version_info.minor}"
    done = ran(SCRIPTS / "pythons", mine, "2.99")
    assert not done.returncode, done.stderr
    lines = done.stdout.splitlines()
    if shutil.which(f"python{mine}"):
        assert len(lines) == 1
    for line in lines:
        assert (
            ran(
                line, "-c", "import sys; print(*sys.version_info[:2], sep='.')"
            ).stdout.strip()
            == mine
        )


def test_the_check_tries_every_python_that_is_promised() -> None:
    """The oldest is the check's own; the others are tried with the wheel, and named in the metadata."""
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert PROJECT["requires-python"] == f">={promised[0]}"
    assert f'.ci/versions "$wheel" {" ".join(promised[1:])}\n' in (
        SCRIPTS / "run"
    ).read_text("utf-8")


# A commit


def hooks() -> list[dict[str, Any]]:
    yaml = pytest.importorskip(
        "yaml", reason="yaml isn't installed: pip install -e '.[check]'"
    )
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    assert [repository["repo"] for repository in config["repos"]] == ["local"]
    declared: list[dict[str, Any]] = config["repos"][0]["hooks"]
    return declared


def test_a_commit_is_checked_with_what_the_environment_has() -> None:
    """No hook downloads anything: each runs a program that the extra check brings along."""
    brought = {Requirement(requirement).name for requirement in EXTRAS["check"]}
    brought.add("python")
    assert [hook["id"] for hook in hooks()] == [
        "ruff-check",
        "ruff-format",
        "mypy",
        "notebooks",
        "page",
    ]
    for hook in hooks():
        assert hook["language"] == "system"
        assert hook["entry"].split()[0] in brought


def test_the_hooks_are_what_pre_commit_takes() -> None:
    """By pre-commit's own rules."""
    client = pytest.importorskip(
        "pre_commit.clientlib",
        reason="pre_commit isn't installed: pip install -e '.[check]'",
    )
    assert client.load_config(str(ROOT / ".pre-commit-config.yaml"))


# The web site

SITE = runpy.run_path(str(SCRIPTS / "site"))


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="#here" id="here">', ""),
        ('<a href="../other/#there">', ""),
        ('<a href="https://other.example">', ""),
        ('<a href="../gone/">', "links to ../gone/"),
        ('<a href="../other/#nowhere">', "links to ../other/#nowhere"),
        (
            '<img src="https://cdn.example/logo.svg">',
            "loads https://cdn.example/logo.svg",
        ),
        ('<script src="//cdn.example/code.js">', "loads //cdn.example/code.js"),
    ],
)
def test_a_site_that_leads_nowhere_or_needs_the_network_is_refused(
    tmp_path: Path, body: str, fault: str
) -> None:
    """By each link and by all that a page loads."""
    for name, text in {"page": body, "other": '<h2 id="there">'}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").write_text(text)
    assert SITE["faults"](tmp_path) == ([f"page/index.html {fault}"] if fault else [])


def test_a_notebook_is_a_page_with_its_outputs(tmp_path: Path) -> None:
    """Its tables, pictures and texts, and links to other notebooks as pages."""
    (tmp_path / "pictures").mkdir()
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        page = SITE["tutorial"](path, tmp_path / "pictures")
        assert SITE["title"](page)
        assert page.count('<div class="jf-output">') == path.read_text("utf-8").count(
            '"text/html"'
        )
        assert ".ipynb)" not in page
        for picture in re.findall(r"!\[\]\(\.\./(.+?)\)", page):
            assert (tmp_path / picture).stat().st_size > 1000


# A release


def test_the_changes_name_the_version() -> None:
    """A version that is released is one that the guide has something to say about."""
    page = (GUIDE / "changes.md").read_text("utf-8")
    assert re.search(rf"(?<![\d.]){re.escape(PROJECT['version'])}(?!\d|\.\d)", page)


@pytest.mark.parametrize("tag", ["v0.0.99", PROJECT["version"]])
def test_a_release_under_another_tag_is_refused(tag: str) -> None:
    """Before anything is built, with the tag that is right."""
    refused = ran(SCRIPTS / "release", tag)
    assert refused.returncode == 1
    assert refused.stderr.strip().endswith(f"its tag is v{PROJECT['version']}.")


def test_every_script_is_documented() -> None:
    """A contributor learns from the guide what to run."""
    page = (GUIDE / "develop.md").read_text("utf-8")
    for command in (
        ".ci/run",
        ".ci/lowest",
        ".ci/release",
        ".ci/site",
        "tests/cluster/run",
        "pre-commit install",
    ):
        assert command in page
    for path in (ROOT / "tests/benchmarks").glob("[a-z]*.py"):
        assert f".{path.stem}`" in page, path.stem


def test_contributing_leads_to_the_guide() -> None:
    """Each link is to a file, and the README or the guide has each command."""
    page = ROOT / ".github/CONTRIBUTING.md"
    text = page.read_text("utf-8")
    for target in re.findall(r"\]\((.+?)\)", text):
        assert (page.parent / target.partition("#")[0]).is_file(), target
    documented = (ROOT / "README.md").read_text("utf-8") + (
        GUIDE / "develop.md"
    ).read_text("utf-8")
    for command in re.findall(r"```sh\n(.+?)```", text, re.DOTALL)[0].splitlines():
        assert f"\n{command}\n" in documented


# What comes along


def test_a_requirement_has_a_lower_bound() -> None:
    """One that .ci/lowest can install; the version is whoever installs it's to choose above."""
    assert [
        str(requirement)
        for requirement in REQUIREMENTS
        if not has_lower_bound(requirement)
    ] == []


def has_lower_bound(requirement: Requirement) -> bool:
    return any(specifier.operator == ">=" for specifier in requirement.specifier)


def table() -> dict[str, str]:
    """Return the licence of each package, as the guide states it."""
    rows = re.findall(
        r"^\| (`.+?) \| (.+?) \| .+ \|$",
        (GUIDE / "licences.md").read_text("utf-8"),
        re.MULTILINE,
    )
    return {
        name: licence
        for names, licence in rows
        for name in re.findall(r"`([\w-]+)`", names)
    }


def test_the_table_of_licences_has_each_package_that_is_named() -> None:
    """The direct requirements of the package and of its extras, and no others."""
    assert sorted(table()) == sorted({requirement.name for requirement in REQUIREMENTS})


@pytest.mark.parametrize(
    "name", sorted({requirement.name for requirement in REQUIREMENTS})
)
def test_a_licence_is_what_the_package_says(name: str) -> None:
    """By the metadata of what is installed."""
    try:
        package = distribution(name)
    except PackageNotFoundError:
        pytest.skip(f"{name} is not installed")
    licence = LICENCES["licence"](package)
    assert LICENCES["families"](table()[name]) == LICENCES["families"](licence), licence


@pytest.mark.parametrize(
    ("licence", "families"),
    [
        ("BSD 3-Clause License", {"BSD"}),
        ("MIT OR Apache-2.0", {"MIT", "Apache"}),
        ("GNU Lesser General Public License v3 (LGPLv3)", {"LGPL"}),
        ("GNU Affero General Public License v3", {"AGPL"}),
        ("GPL-2.0-only", {"GPL"}),
        ("GNU General Public License v2 (GPLv2)", {"GPL"}),
        ("Mozilla Public License 2.0 (MPL 2.0)", {"MPL"}),
        ("OSI Approved", set()),
    ],
)
def test_a_family_of_licences_is_told_by_any_of_its_spellings(
    licence: str, families: set[str]
) -> None:
    """A copyleft above all, which must not pass for another."""
    assert LICENCES["families"](licence) == families
