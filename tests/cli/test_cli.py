"""``jupyter funcs`` does in a shell what the magic does in a notebook."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pandas as pd
import pytest

import jupyter_funcs as jf
from jupyter_funcs.cli.main import copy_notebooks, main
from jupyter_funcs.client.status import no_functions
from jupyter_funcs.panel.header_view import HeaderView
from tests.conftest import PANEL, SYMBOL
from tests.servers import serving_accounts

DAILY = ["call", "Get Panel Daily", f"PanelName={PANEL}", f"Symbol={SYMBOL}"]


def test_list_writes_the_catalog(capsys: pytest.CaptureFixture[str]) -> None:
    """list writes one line per function below a heading; words filter it."""
    assert main(["list"]) == 0
    assert len(capsys.readouterr().out.strip().splitlines()) == 8
    assert main(["list", "panel", "daily", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["name"] == "Get Panel Daily"


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_call_writes_the_same_frame_in_every_format(tmp_path: Path, form: str) -> None:
    """A file of each format reads back as the frame of the same call in Python."""
    target = tmp_path / f"daily.{form}"
    # The suffix says the format.
    assert main([*DAILY, "Dimensions=[Region]", "-o", str(target)]) == 0
    # Not pd.read_json: it changes the last digits of most numbers.
    readers = {
        "csv": pd.read_csv,
        "parquet": pd.read_parquet,
        "json": lambda path: pd.DataFrame(json.loads(path.read_text())),
    }
    read = readers[form](target)
    frame = jf.connect().get_panel_daily(
        PanelName=PANEL, Symbol=SYMBOL, Dimensions=["Region"]
    )
    assert list(read.columns) == list(frame.columns)
    assert (pd.to_datetime(read["Date"]) == frame["Date"]).all()
    for name in ("Spend", "Transaction Count", "Spend per Card"):
        assert read[name].astype("float64").equals(frame[name].astype("float64")), name


def test_call_writes_a_sheet(tmp_path: Path) -> None:
    """A file with the suffix xlsx is a workbook; tests/frames/test_export.py checks its content."""
    pytest.importorskip("xlsxwriter")
    target = tmp_path / "panels.xlsx"
    assert main(["call", "get_panels", "-o", str(target)]) == 0
    assert "xl/worksheets/sheet1.xml" in zipfile.ZipFile(target).namelist()


def test_call_writes_a_table_to_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without a format a call writes a table with every column."""
    assert main(["call", "get_panels"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["PanelName", "ProviderName"]
    assert PANEL in lines[1]


def test_describe_lists_the_parameters_and_help_is_a_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The name needs no quotes; without a command, and after `help`, the help is printed."""
    for words in (["get_panel_fq"], ["Get", "Panel", "FQ"]):
        assert main(["describe", *words, "--format", "csv"]) == 0
        assert list(pd.read_csv(io.StringIO(capsys.readouterr().out))["name"])[:2] == [
            "PanelName",
            "Symbol",
        ]
    assert main(["describe", "get_panels"]) == 0
    assert capsys.readouterr().err == "Get Panels takes no parameters.\n"
    assert main(["describe", "get_panel_fqq"]) == 1
    assert "Did you mean 'Get Panel FQ'" in capsys.readouterr().err
    for words, text in (
        ([], "COMMAND"),
        (["help"], "COMMAND"),
        (["help", "call"], "NAME=VALUE"),
        (["--version"], "jupyter_funcs "),
    ):
        with pytest.raises(SystemExit, match=r"^0$"):
            main(words)
        assert text in capsys.readouterr().out


def test_options_of_a_call_stand_anywhere(tmp_path: Path) -> None:
    """Before the function, and between it and its values."""
    for words in (
        ["-o", "{}", "get_report", "report_id=RPT-101"],
        ["get_report", "-o", "{}", "report_id=RPT-101"],
    ):
        file = tmp_path / f"{words[0]}.csv"
        assert main(["call", *(word.format(file) for word in words)]) == 0
        assert file.stat().st_size > 100


def test_what_has_no_rows_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """A result without rows and a search without matches succeed, with a note on the standard error."""
    assert (
        main(
            ["call", "get_report", "report_id=RPT-101", "report_time_after=2099-01-01"]
        )
        == 0
    )
    assert capsys.readouterr().err == "Get Report returned no rows.\n"
    assert main(["list", "nothing-like-it", "--format", "json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == []
    assert err.startswith("No function matches")


def test_a_user_without_grants_is_told_whom_to_ask(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a shell, in `%funcs find` and in the panel, instead of an empty table; other catalogs have no grants."""
    says = "lists no functions for you. Ask its administrator to grant you an asset"
    with serving_accounts() as service:
        service.grants.add_user("new", organisation="Acme")
        monkeypatch.setenv("FUNCS_BASE_URL", service.url)
        monkeypatch.setenv("FUNCS_TOKEN", service.auth.issue("new", 1))
        for words in ([], ["panel"]):
            assert main(["list", *words]) == 0
            assert says in capsys.readouterr().err
        session = jf.connect()
        assert says in repr(session.find())
        assert says in HeaderView(session).service()["nothing"]
    assert no_functions("acme", "openapi") == "acme lists no functions for you."


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["lst"], "Did you mean 'list'?"),
        (["list", "--profile"], "--profile needs a value: --profile PROFILE|URL"),
        (["call", "get_panels", "-o", "panels.xls"], "There is no format 'xls'"),
        (["call", "Get Panl Daily"], "Did you mean 'Get Panel Daily'"),
        (["call", "get_panel_daily"], "PanelName is required"),
        (["call", "get_panels", "x"], "'x' isn't an argument"),
        (["call", "get_panels", "a=1", "a=2"], "a is given twice"),
        (["call", "get_panels", "a=$HOME"], "no parameter 'a'"),
        (["call", "get_panels", "--nope"], "unknown option --nope"),
        (["serve", "--prot", "3"], "unknown option --prot."),
        (["admin", "users", "add", "ann", "lee"], "unexpected argument 'lee'"),
        (["call", "get_panels", "--format", "ods"], "invalid choice"),
        (["call", "get_panels", "--timeout", "0"], "positive"),
        (["call", "get_panels", "-o", "/no/such/folder/x.csv"], "/no/such/folder"),
        (["list", "--token=SECRET"], "No option takes a token"),
        (["list", "--profile", "nowhere"], "no profile 'nowhere'"),
    ],
)
def test_bad_input_is_one_error_and_status_1(
    capsys: pytest.CaptureFixture[str], arguments: list[str], error: str
) -> None:
    """Bad input writes one to three lines to the standard error, nothing to the output, and exits with 1."""
    assert main(arguments) == 1
    out, err = capsys.readouterr()
    assert error in err
    assert "SECRET" not in err
    assert 1 <= len(err.strip().splitlines()) <= 3
    assert not out


def test_the_time_limit_is_the_profiles_unless_an_option_says_another(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "profiles.toml"
    config.write_text(
        '[profiles.own]\nkind = "python"\nmodule = "calendar"\ntimeout = 1e-9\n'
    )
    monkeypatch.setenv("FUNCS_CONFIG", str(config))
    leap = ["call", "isleap", "year=json:2000", "--profile", "own"]
    assert main(leap) == 1
    assert "within 1e-09 s" in capsys.readouterr().err
    assert main([*leap, "--timeout", "60"]) == 0


@pytest.mark.slow
def test_the_console_script_is_jupyters_subcommand() -> None:
    """`jupyter funcs` finds the program, and a reader that closes early isn't an error."""
    jupyter = Path(sys.executable).parent / "jupyter"
    command = [jupyter, "funcs", "list", "--format", "csv"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=True
    )
    assert len(pd.read_csv(io.StringIO(done.stdout))) == 7
    line = f"{jupyter} funcs call get_panel_daily 'PanelName={PANEL}' 'Symbol={SYMBOL}' | head -1"
    done = subprocess.run(
        line, shell=True, capture_output=True, text=True, timeout=60, check=True
    )
    assert "Spend" in done.stdout
    assert not done.stderr


@pytest.mark.slow
def test_a_warning_is_one_line() -> None:
    """Without the line of the program's code."""
    command = [sys.executable, "-m", "jupyter_funcs.cli.main", "list"]
    env = os.environ | {"FUNCS_CONFIG": "/absent.toml"}
    done = subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == (
        "UserWarning: FUNCS_CONFIG names '/absent.toml', which does not exist: using the demo, with synthetic data.\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "text"),
    [
        (["list"], "FUNCS_BASE_URL"),
        (["enable", "--help"], "usage"),
        (["serve"], "starlette.requests is not installed"),
        (["check", "x.py"], "starlette.requests is not installed"),
    ],
)
def test_the_client_alone_has_its_commands_and_names_what_the_others_need(
    command: list[str], text: str
) -> None:
    """Without the service's libraries the client's commands work, and the service's say what to install."""
    program = "import sys; sys.modules |= {'starlette': None, 'duckdb': None}\n"
    program += "from jupyter_funcs.cli.main import main; sys.exit(main())"
    words = [sys.executable, "-c", program, *command]
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=60, check=False
    )
    assert text in done.stdout + done.stderr
    assert "usage" in text or "jupyter-funcs[service]" in done.stderr


def test_the_demo_works_on_a_copy(tmp_path: Path) -> None:
    """The notebooks are copied once; changes in the copy stay."""
    copy_notebooks(tmp_path / "new")
    copied = tmp_path / "new" / "quickstart.ipynb"
    source = Path(__file__).parents[2] / "notebooks" / "quickstart.ipynb"
    assert copied.read_bytes() == source.read_bytes()
    copied.write_text("mine")
    copy_notebooks(tmp_path / "new")
    assert copied.read_text() == "mine"


def test_the_demo_says_which_notebooks_it_opens_and_how_to_keep_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A temporary copy, or those in a folder of one's own; JupyterLab itself isn't started."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jupyterlab.labapp", None)
    assert main(["demo"]) == 1
    assert main(["demo", "--dir", str(tmp_path / "mine")]) == 1
    temporary, keep, own = capsys.readouterr().out.splitlines()
    folder = Path(
        temporary.removeprefix(
            "Opening a copy of the notebooks in the temporary folder "
        ).removesuffix(".")
    )
    assert keep.endswith("jupyter funcs demo --dir DIR")
    assert own.startswith(f"Opening the notebooks in {tmp_path / 'mine'}.")
    assert (folder / "quickstart.ipynb").is_file()
    assert (tmp_path / "mine" / "quickstart.ipynb").is_file()


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    """A folder below a file is a ConfigError that names it."""
    (tmp_path / "file").touch()
    with pytest.raises(jf.ConfigError, match="file"):
        copy_notebooks(tmp_path / "file" / "below")
