"""``jupyter funcs check``: the forms of published functions in the terminal, and every error with its file and line."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from jupyter_funcs.cli.main import main

HEAD = "from jupyter_funcs.service import function\n\n"
ONE = f"{HEAD}@function\ndef {{}}\n    return 1\n"
# The start of the error about each file; {0} is its path.
WRONG = {
    "a.py": ("def f(:", "{0}, line 1: SyntaxError: invalid syntax."),
    "b.py": (
        "\nimport nothing_there",
        "{0}, line 2: ModuleNotFoundError: No module named 'nothing_there'.",
    ),
    "c.py": (
        "from jupyter_funcs.service import nope",
        "{0}, line 1: ImportError: cannot import name 'nope'",
    ),
    "d.py": (
        ONE.format("get_odd(x: memoryview):"),
        "{0}, line 3: get_odd cannot be published.\nParameter x is annotated",
    ),
    "e.ipynb": ("no notebook", "{0} is not a valid notebook: JSON is malformed"),
    "f.1.py": (
        ONE.format("get_dot():"),
        "{0} cannot be imported: its name has a dot before '.py'.\nRename it",
    ),
    "f.py": (
        f"{HEAD}@function('Shops')\ndef f(): ...",
        "{0}, line 3: Not a function: 'Shops'.",
    ),
    "g.py": (ONE.format("get_one():"), ""),
    "h.py": (
        ONE.format("get_one():"),
        "Two functions are named 'Get One':\n{1}, line 3, and {0}, line 3.",
    ),
    "i.py": (ONE.format("get_panels():"), "Two functions are named 'Get Panels':"),
    "_j.py": ("def f(:", ""),
}


@pytest.mark.slow
def test_it_shows_the_form_of_each_function(capsys: pytest.CaptureFixture[str]) -> None:
    """Each field with its label, control, default, options and help, and no error: the exit code is 0."""
    folder = Path(__file__).parents[1] / "service/publishing/published"
    before = logging.getLogger("jupyter_funcs.service").level
    assert main(["check", str(folder)]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[-1] == "No errors; 3 functions can be published."
    heads = [line for line in out.splitlines() if line[:1].strip()]
    assert heads[0] == f"Get Best Days · Shops · Stores · {folder / 'best_days.ipynb'}"
    assert heads[1].startswith(
        f"Get Stores · Shops · Stores · {folder / 'stores.py'}, line "
    )
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "field control required default options help" in lines
    assert "Days integer 3 How many days to give." in lines
    assert "Region choice North, South Only the stores of this region." in lines
    assert not err
    assert logging.getLogger("jupyter_funcs.service").level == before


def test_a_folder_that_is_named_twice_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.py").write_text(ONE.format("get_one():"))
    assert main(["check", str(tmp_path), f"{tmp_path}/"]) == 1
    assert "found twice: name its folder once" in capsys.readouterr().err


def test_what_functions_were_to_read_and_is_not_there_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.py").write_text(ONE.format("get_one():"))
    config = tmp_path / "service.toml"
    config.write_text(
        "[functions]\nfolders = ['.']\nreadable = ['nowhere']\nvariables = ['NOT_SET']"
    )
    assert main(["check", "--config", str(config)]) == 0
    assert "nowhere, which doesn't exist" in caplog.text
    assert "NOT_SET, which isn't set" in caplog.text


@pytest.mark.slow
def test_it_reports_every_error_with_its_file_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One error doesn't hide another: each gets its lines, what works gets its form, and the exit code is 1."""
    for name, (text, _) in WRONG.items():
        (tmp_path / name).write_text(text)
    assert main(["check", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert out.split("\n")[0] == f"Get One · Panel data · {tmp_path / 'g.py'}, line 3"
    errors = err.strip().split("\n\n")
    expected = [
        text.format(tmp_path / name, tmp_path / "g.py")
        for name, (_, text) in WRONG.items()
        if text
    ]
    assert [
        text[: len(start)] for text, start in zip(errors, expected, strict=False)
    ] == expected
    assert errors[len(expected) :] == ["9 errors; 1 function can be published."]
    assert all(text.count("\n") <= 2 for text in errors)


@pytest.mark.slow
def test_it_goes_on_after_a_file_that_ends_its_process_or_never_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Published code runs in a worker, whatever it does when it is imported, and has a time limit."""
    ends = tmp_path / "a.py"
    ends.write_text("import os\nos._exit(1)")
    (tmp_path / "c.py").write_text(ONE.format("get_one():"))
    assert main(["check", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert f"{ends} can't be imported. The process" in err
    assert "1 error; 1 function can be published." in err
    assert out.startswith("Get One")
    ends.write_text("while True: ...")
    assert main(["check", str(tmp_path), "--timeout", "5"]) == 1
    out, err = capsys.readouterr()
    assert f"{ends} takes more than 5 seconds to import." in err
    assert out.startswith("Get One")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([], "Which functions? Name their folder: jupyter funcs check FOLDER"),
        (
            ["{}/absent"],
            "The folder of published functions {}/absent cannot be read: No such file or directory.",
        ),
        (["{}/empty"], "No function to publish in {}/empty.\nAdd @function"),
        (
            ["{}", "--timeout", "0"],
            "--timeout must be a positive number of seconds, not 0.",
        ),
        (
            ["{}", "--config", "{}/absent.toml"],
            "{}/absent.toml cannot be read: No such file or directory.",
        ),
    ],
)
def test_what_cannot_be_checked_is_one_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], error: str
) -> None:
    """One to three lines on the standard error, and the exit code 1."""
    (tmp_path / "empty").mkdir()
    assert main(["check", *(argument.format(tmp_path) for argument in arguments)]) == 1
    out, err = capsys.readouterr()
    assert err.startswith(error.format(tmp_path))
    assert 1 <= len(err.strip().splitlines()) <= 3
    assert not out
