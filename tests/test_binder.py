"""What Binder makes of `binder/`: the plan of its image, and the environment that it lists."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BINDER = ROOT / "binder"


def test_repo2docker_plans_what_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python of the version that is asked for, the requirements, and then the script, which can be executed."""
    buildpacks = pytest.importorskip("repo2docker.buildpacks")
    monkeypatch.chdir(ROOT)
    plan = buildpacks.PythonBuildPack("buildpack-deps:jammy")
    plan.platform = "linux/amd64"
    assert plan.detect()
    assert plan.python_version == "3.12"
    dockerfile = plan.render({})
    install = dockerfile.index('pip install --no-cache-dir -r "binder/requirements.txt"')
    assert dockerfile.index("./binder/postBuild") > install


def test_the_script_can_be_executed_and_the_extension_is_what_it_lists() -> None:
    """Also where repo2docker is not installed."""
    assert os.access(BINDER / "postBuild", os.X_OK)
    assert (BINDER / "postBuild").read_text("utf-8").startswith("#!/bin/bash\n")
    assert "-e .[lab]" in (BINDER / "requirements.txt").read_text("utf-8").splitlines()


def python() -> str:
    """Give the Python that `runtime.txt` asks for, where this machine has it."""
    wanted = (BINDER / "runtime.txt").read_text("utf-8").strip().replace("-", "")
    found = shutil.which(wanted)
    works = found is not None and not subprocess.run([found, "--version"], capture_output=True, check=False).returncode
    return found if found is not None and works else sys.executable


@pytest.mark.slow
def test_what_it_lists_installs_and_the_first_notebook_needs_no_load_ext(tmp_path: Path) -> None:
    """In a fresh environment, as Binder's: the requirements, the script, and then a notebook's first line."""
    repository = tmp_path / "repository"
    left_out = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist")
    shutil.copytree(ROOT, repository, ignore=left_out)
    subprocess.run([python(), "-m", "venv", tmp_path / "env"], check=True)
    (tmp_path / "home").mkdir()
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("FUNCS_", "PYTHON", "XDG_"))},
        "HOME": str(tmp_path / "home"),
        "PATH": f"{tmp_path / 'env' / 'bin'}:{os.environ['PATH']}",
    }

    def run(*words: str) -> str:
        done = subprocess.run(words, cwd=repository, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("pip", "install", "-r", "binder/requirements.txt")
    run("./binder/postBuild")
    shown = run("ipython", "--no-banner", "-c", "%funcs call get_panels")
    assert "Demo Card Panel" in shown
    assert run("jupyter", "lab", "--version")
