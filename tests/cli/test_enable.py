"""``jupyter funcs enable`` and ``disable``: %funcs without %load_ext in an environment, and back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import jupyter_funcs as jf
from jupyter_funcs.cli import enable
from jupyter_funcs.cli.main import main
from tests.magic.conftest import live_kernel

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new environment, by its prefix."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    return tmp_path


@pytest.fixture
def config(environment: Path) -> Path:
    """The path of its configuration file, which doesn't exist yet."""
    folder = environment / "etc" / "ipython"
    folder.mkdir(parents=True)
    return folder / "ipython_config.json"


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def loaded(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))["InteractiveShellApp"][
        "extra_extensions"
    ]


@pytest.fixture
def magics_of(tmp_path: Path) -> Callable[[Path], set[str]]:
    """Start a kernel of a Python, without the user's configuration; return the names of its line magics."""

    def ask(python: Path) -> set[str]:
        names = "list(get_ipython().magics_manager.magics['line'])"
        person = str(tmp_path / "person")
        with live_kernel(str(python), IPYTHONDIR=person) as client:
            reply = client.execute(
                "", user_expressions={"names": names}, reply=True, timeout=60
            )
        shown = reply["content"]["user_expressions"]["names"]["data"]["text/plain"]
        return {name.strip(" '[]\n") for name in shown.split(",")}

    return ask


@pytest.mark.slow
def test_a_kernel_of_an_enabled_environment_has_the_magic(
    tmp_path: Path, magics_of: Callable[[Path], set[str]]
) -> None:
    """A kernel has %funcs between enable and disable, and afterwards the environment is as before."""
    home = tmp_path / "env"
    venv.create(home, symlinks=True)
    python = home / "bin" / "python"
    [site] = home.glob("lib/*/site-packages")
    paths = [
        str(Path(jf.__file__).parent.parent),
        sysconfig.get_path("purelib"),
        sysconfig.get_path("platlib"),
    ]
    (site / "outer.pth").write_text("\n".join(paths))
    before = files(home)

    def run(command: str) -> str:
        words = [python, "-m", "jupyter_funcs.cli.main", command]
        return subprocess.run(
            words, capture_output=True, text=True, timeout=60, check=True
        ).stdout

    assert "funcs" not in magics_of(python)
    assert str(home / "etc" / "ipython") in run("enable")
    assert "funcs" in magics_of(python)
    run("disable")
    assert files(home) == before
    assert "funcs" not in magics_of(python)


def test_load_ext_of_what_starts_with_the_kernel_says_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Where %funcs is enabled, a notebook's own %load_ext is silent and harmless."""
    shell = InteractiveShell()
    shell.extension_manager.load_extension("jupyter_funcs.autoload")
    assert "funcs" in shell.magics_manager.magics["line"]
    matchers = len(shell.Completer.custom_matchers)
    for magic in ("load_ext", "reload_ext"):
        shell.run_line_magic(magic, "jupyter_funcs")
        assert capsys.readouterr().out == ""
        assert "funcs" in shell.magics_manager.magics["line"]
        assert len(shell.Completer.custom_matchers) == matchers
    shell.run_line_magic("unload_ext", "jupyter_funcs")
    assert "funcs" not in shell.magics_manager.magics["line"]


BEFORE = [
    b'{"InteractiveShellApp":{"extensions":["autoreload"],\n\n"extra_extensions": ["other"]}, "X": {"\\u00e9": [1.5]}}',
    b'{\n    "TerminalInteractiveShell": {"confirm_exit": false}\n}',
    b'{"InteractiveShellApp": {}}\r\n',
    b"",
    None,
]


@pytest.mark.parametrize("before", BEFORE)
def test_what_stood_there_is_kept_and_comes_back_byte_for_byte(
    config: Path, before: bytes | None
) -> None:
    """Enabling adds one name to the configuration; disabling restores its bytes and permissions."""
    if before is not None:
        config.write_bytes(before)
        config.chmod(0o664)
    assert enable.config_file() == config
    assert enable.enable()
    enabled = json.loads(config.read_bytes())
    assert loaded(config)[-1] == "jupyter_funcs.autoload"
    names = enabled["InteractiveShellApp"].pop("extra_extensions")
    was = json.loads(before or b"{}")
    assert names[:-1] == was.get("InteractiveShellApp", {}).pop("extra_extensions", [])
    assert {**enabled, "InteractiveShellApp": None} == {
        **was,
        "InteractiveShellApp": None,
    }
    assert not enable.enable()
    assert loaded(config) == names
    assert enable.disable()
    assert not enable.disable()
    assert (config.read_bytes() if config.exists() else None) == before
    assert files(config.parent) == ({} if before is None else {config.name: before})
    if before is None:
        assert not config.parent.exists()
    else:
        assert config.stat().st_mode & 0o777 == 0o664


def test_what_others_changed_in_between_stays(config: Path) -> None:
    """Disabling removes only our name from a file that was changed after enabling."""
    config.write_text('{"X": {"a": 1}}')
    enable.enable()
    changed = json.loads(config.read_text())
    changed["InteractiveShellApp"]["extra_extensions"].append("later")
    changed["Y"] = {"b": 2}
    config.write_text(json.dumps(changed))
    enable.disable()
    expected = {
        "X": {"a": 1},
        "InteractiveShellApp": {"extra_extensions": ["later"]},
        "Y": {"b": 2},
    }
    assert json.loads(config.read_text()) == expected
    assert list(files(config.parent)) == [config.name]


def test_a_link_leads_where_it_did(config: Path, tmp_path: Path) -> None:
    """The target of a link is changed, and the link stays."""
    (tmp_path / "mine.json").write_text("{}")
    config.symlink_to(tmp_path / "mine.json")
    enable.enable()
    assert config.is_symlink()
    assert loaded(tmp_path / "mine.json") == ["jupyter_funcs.autoload"]
    enable.disable()
    assert config.is_symlink()
    assert (tmp_path / "mine.json").read_text() == "{}"


@pytest.mark.parametrize(
    ("before", "error"),
    [
        (b"{", "isn't valid JSON"),
        (b"\xff", "isn't valid JSON"),
        (b"[]", "isn't a JSON object"),
        (b'{"InteractiveShellApp": []}', "isn't a list"),
        (b'{"InteractiveShellApp": {"extra_extensions": "other"}}', "isn't a list"),
    ],
)
@pytest.mark.parametrize("command", ["enable", "disable"])
def test_what_is_no_configuration_is_left_and_named(
    config: Path,
    before: bytes,
    error: str,
    command: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A file that can't be merged is an error of two lines, and is left unchanged."""
    config.write_bytes(before)
    assert main([command]) == 1
    shown = capsys.readouterr().err
    assert error in shown
    assert str(config) in shown
    assert len(shown.splitlines()) <= 3
    assert files(config.parent) == {config.name: before}


@pytest.mark.parametrize("command", ["enable", "disable"])
def test_an_environment_that_cannot_be_written_is_said(
    config: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where no file can be written, the error says so and what to do instead; nothing half-done remains."""
    if command == "disable":
        enable.enable()
    before = files(config.parent)
    refuse(config.parent)
    try:
        assert main([command]) == 1
    finally:
        allow(config.parent)
    shown = capsys.readouterr().err
    assert str(config) in shown
    assert "%load_ext jupyter_funcs" in shown
    assert len(shown.splitlines()) <= 3
    assert files(config.parent) == before


def refuse(folder: Path) -> None:
    """Make a folder read-only, for root too: permissions don't stop root."""
    if os.geteuid():
        folder.chmod(0o555)
        return
    done = subprocess.run(["chattr", "+i", folder], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(
            "Root writes everywhere here: no file system of this machine takes chattr +i."
        )


def allow(folder: Path) -> None:
    if os.geteuid():
        folder.chmod(0o755)
    else:
        subprocess.run(["chattr", "-i", folder], check=True)


def test_the_commands_say_what_they_did(
    environment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each says whether it changed anything, and where."""
    for command, text in [
        ("disable", "not"),
        ("enable", "Enabled"),
        ("enable", "Already"),
        ("disable", "Disabled"),
    ]:
        assert main([command]) == 0
        shown = capsys.readouterr().out
        assert text in shown
        assert str(environment / "etc" / "ipython" / "ipython_config.json") in shown
