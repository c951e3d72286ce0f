"""``jupyter funcs admin`` and ``token``: what they say, what they change, and where secrets go."""

from __future__ import annotations

import argparse
import json
import re
import stat
import subprocess
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import jwt
import pytest

from jupyter_funcs.service import actions, admin, state
from jupyter_funcs.service.auth import Auth, UnauthorizedError
from jupyter_funcs.service.errors import SetupError
from jupyter_funcs.service.grants import Grants

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jupyter_funcs.service.accounts import User

    Run = Callable[..., str]

PASSWORD = "correct horse"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state folder of the demo, which has not been made yet."""
    monkeypatch.setenv("FUNCS_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("FUNCS_SIGNING_KEY", raising=False)
    return tmp_path / "state" / "demo"


def command(line: str | list[str]) -> None:
    """Do what the words of a command line say."""
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    admin.add_admin(commands)
    admin.add_token(commands)
    given = parser.parse_args(line.split() if isinstance(line, str) else line)
    given.command(given)


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def output(*words: str) -> str:
        """Give what a command says on the standard output, where words with blanks are of several arguments."""
        command(words[0].split() if len(words) == 1 else list(words))
        return capsys.readouterr().out

    return output


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The option that names a configuration whose accounts are empty."""
    monkeypatch.delenv("FUNCS_STATE_DIR", raising=False)
    path = tmp_path / "service.toml"
    path.write_text('organisation = "Acme"\nstate = "accounts"\n')
    return ["--config", str(path)]


def who(folder: Path, token: str | None = None, api_key: str | None = None) -> User:
    """Ask as a service that is running would."""
    grants = Grants(folder / "accounts.sqlite")
    try:
        return Auth(state.open_keys(folder), grants).user(f"Bearer {token}" if token else None, api_key)
    finally:
        grants.close()


def may_run(folder: Path, name: str) -> list[str]:
    grants = Grants(folder / "accounts.sqlite")
    try:
        return [asset.name for asset in grants.assets(grants.active_user(name))]
    finally:
        grants.close()


# Tokens.


def test_a_token_is_all_that_is_printed_and_lasts_eight_hours(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command("token --user analyst")
    printed = capsys.readouterr()
    assert re.fullmatch(r"[\w-]+\.[\w-]+\.[\w-]+\n", printed.out)
    assert printed.err == ""
    token = printed.out.strip()
    assert who(folder, token).name == "analyst"
    claims = jwt.decode(token, options={"verify_signature": False})
    assert abs(claims["exp"] - time.time() - 8 * 3600) < 60


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("token --user anlyst", "No user 'anlyst'. Did you mean 'analyst'"),
        ("token --user analyst --hours 0", "not 0"),
        ("token --user analyst --hours 9999", "at most 8784 hours, not 9999"),
        ("token --user analyst --config nowhere.toml", "nowhere.toml"),
    ],
)
def test_no_token_is_given_to_who_is_not_there_or_for_ever(
    run: Run, capsys: pytest.CaptureFixture[str], line: str, says: str
) -> None:
    with pytest.raises(SetupError, match=says):
        run(line)
    assert capsys.readouterr().out == ""


def test_no_token_is_given_to_a_disabled_user(run: Run) -> None:
    run("admin users disable guest")
    with pytest.raises(SetupError, match=r"'guest' is disabled.\n.* admin users enable guest$"):
        run("token --user Guest")


# What is said, and what is so then.


def test_an_operators_day(run: Run, folder: Path) -> None:
    """Each command says in one line who may run what now, and it is so."""
    demo = state.DEMO_ORGANISATION
    steps: list[tuple[list[str], str, dict[str, list[str]]]] = [
        (
            ["users", "add", "ann lee", "--email", "ann@x.example"],
            "'ann lee' may run nothing yet: jupyter funcs admin grants add 'ann lee' ASSET",
            {"ann lee": []},
        ),
        (
            ["assets", "add", "Own"],
            "Nobody may run the functions of 'Own' yet: jupyter funcs admin grants add USER Own",
            {"ann lee": []},
        ),
        (["grants", "add", "Ann Lee", "own"], "'ann lee' may now run the functions of 'Own'.", {"ann lee": ["Own"]}),
        (
            ["assets", "share", "own"],
            f"Every user of '{demo}' may run the functions of 'Own'.",
            {"guest": [state.DEMO_PANEL_DATA, "Own"]},
        ),
        (
            ["grants", "remove", "ann lee", "Own"],
            "'ann lee' may still run the functions of 'Own', which is shared with all.",
            {"ann lee": ["Own"]},
        ),
        (
            ["grants", "add", "guest", "own"],
            "'guest' may now run the functions of 'Own'.",
            {"guest": [state.DEMO_PANEL_DATA, "Own"]},
        ),
        (
            ["assets", "unshare", "own"],
            "The functions of 'Own' may be run by 'guest' alone.",
            {"guest": [state.DEMO_PANEL_DATA, "Own"], "ann lee": []},
        ),
        (
            ["grants", "remove", "guest", state.DEMO_PANEL_DATA],
            "'guest' may no longer run the functions of 'Demo panel data'.",
            {"guest": ["Own"]},
        ),
        (["users", "disable", "guest"], "'guest' may run nothing until enabled again.", {}),
        (
            ["users", "enable", "guest"],
            "'guest' is enabled again, with a new token, and may run the functions of 'Own'.",
            {"guest": ["Own"]},
        ),
        (["users", "revoke", "guest"], "The tokens that 'guest' had have ended.", {"guest": ["Own"]}),
        (["assets", "remove", "own"], "'Own' is removed; nobody may run its functions any more.", {"guest": []}),
        (["users", "remove", "Ann Lee"], "'ann lee' is removed, with all grants and API keys.", {}),
        (
            ["assets", "add", "Theirs", "--organisation", "Other", "--shared"],
            f"'Other' is a new organisation beside '{demo}'. Every user of 'Other' may run the functions of 'Theirs'.",
            {},
        ),
        (
            ["users", "add", "zoe", "--organisation", "OTHER"],
            "'zoe' may run the functions of 'Theirs'.",
            {"zoe": ["Theirs"]},
        ),
    ]
    for words, says, assets in steps:
        assert run("admin", *words) == f"{says}\n"
        for name, expected in assets.items():
            assert may_run(folder, name) == expected, words


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("admin users remove gest", "No user 'gest'. Did you mean 'guest'"),
        ("admin users add Guest", "There is a user 'guest' already"),
        ("admin users add zoe --organisation=", "'' cannot be the name of an organisation"),
        ("admin grants add guest Demo", "No asset 'Demo'"),
        ("admin assets share Demo-reports", "Did you mean 'Demo reports'"),
        ("admin keys add gest", "Did you mean 'guest'"),
        ("admin keys remove 7", "No API key 7"),
        ("admin signing-key rotate --overlap -1", "from 0 to 8784 hours, not -1"),
        ("admin users password gest", "Did you mean 'guest'"),
    ],
)
def test_what_cannot_be_done_says_what_to_do_in_at_most_three_lines(run: Run, line: str, says: str) -> None:
    with pytest.raises(SetupError, match=says) as caught:
        run(line)
    assert len(str(caught.value).splitlines()) <= 3


def test_of_several_organisations_one_must_be_named(run: Run) -> None:
    run("admin users add zoe --organisation Other")
    with pytest.raises(SetupError, match=r"several organisations: 'Demo \(synthetic\)', 'Other'.\nSay whose"):
        run("admin users add yves")


def test_commands_that_a_text_names_work_on_the_same_service(
    team: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = " ".join(["jupyter funcs admin", *team])
    command(["admin", "users", "add", "ann", *team])
    assert f"{named} grants add ann ASSET" in capsys.readouterr().out
    with pytest.raises(SetupError, match=re.escape(f"'{named} users list'")):
        command(["token", "--user", "bob", *team])
    with pytest.raises(SetupError, match="'jupyter funcs admin users list'"):
        command("token --user bob")


def test_a_configuration_names_the_state_folder_and_the_organisation(
    team: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command(["admin", "users", "add", "ann", *team])
    assert capsys.readouterr().out.startswith("'Acme' is a new organisation. 'ann' may run nothing yet")
    assert stat.S_IMODE((tmp_path / "accounts").stat().st_mode) == 0o700
    command(["admin", *team, "users", "list", "--json"])
    assert [user["name"] for user in json.loads(capsys.readouterr().out)] == ["ann"]
    command(["token", "--user", "ann", *team])
    assert who(tmp_path / "accounts", capsys.readouterr().out.strip()).organisation == "Acme"


# Lists.


def test_lists_are_aligned_columns_under_their_names(run: Run) -> None:
    run("admin", "users", "add", "a rather long name", "--email", "long@x.example")
    run("admin users disable guest")
    lines = run("admin users list").splitlines()
    assert lines[0].split() == ["name", "email", "organisation", "disabled", "password", "made"]
    at = [lines[0].index(word) for word in ("email", "organisation", "disabled", "password", "made")]
    assert [[line[place - 2 : place].strip() for place in at] for line in lines[1:]] == [[""] * 5] * 3
    assert [line[at[2] :].split()[0] for line in lines[1:]] == ["no", "no", "yes"]
    assert not any(line.endswith(" ") for line in lines)
    assert run("admin assets list").splitlines() == [
        "id  name             organisation      shared",
        "1   Demo panel data  Demo (synthetic)  no",
        "2   Demo reports     Demo (synthetic)  no",
    ]
    assert run("admin grants list").splitlines()[1] == "analyst  Demo panel data  Demo (synthetic)"


def test_lists_are_json_on_demand(run: Run) -> None:
    run("admin", "keys", "add", "guest", "--label", "nightly run", "--days", "1")
    (key,) = json.loads(run("admin keys list --json"))
    assert key.keys() == {"id", "user", "label", "made", "ends"}
    assert (key["id"], key["user"], key["label"]) == (1, "guest", "nightly run")
    lasts = datetime.fromisoformat(key["ends"]) - datetime.fromisoformat(key["made"])
    assert lasts.total_seconds() == 86_400
    assert datetime.fromisoformat(key["made"]).tzinfo == UTC
    assert json.loads(run("admin assets list --json"))[0] == {
        "id": 1,
        "name": "Demo panel data",
        "organisation": "Demo (synthetic)",
        "is_shared": False,
    }


@pytest.mark.parametrize("what", ["users", "assets", "grants", "keys"])
def test_an_empty_list_says_what_to_do_next(team: list[str], capsys: pytest.CaptureFixture[str], what: str) -> None:
    command(["admin", what, "list", *team])
    to_add = " ".join(["jupyter funcs admin", *team, what, "add --help"])
    assert capsys.readouterr().out == f"There are none yet. To add one: {to_add}\n"
    command(["admin", what, "list", "--json", *team])
    assert capsys.readouterr().out == "[]\n"


# API keys and signing keys.


def test_an_api_key_is_printed_alone_this_once_and_is_its_users(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command("admin keys add Guest")
    printed = capsys.readouterr()
    assert re.fullmatch(r"jf_1_[\w-]{43}\n", printed.out)
    assert "'guest'" in printed.err
    key = printed.out.strip()
    assert who(folder, api_key=key).name == "guest"
    for each in ("admin keys list", "admin keys list --json", "admin users revoke guest"):
        command(each)
        printed = capsys.readouterr()
        assert key[5:] not in printed.out + printed.err
    assert "Still accepted are the API keys 1." in printed.out
    command("admin keys remove 1")
    assert capsys.readouterr().out == "API key 1 is no longer accepted.\n"
    with pytest.raises(UnauthorizedError):
        who(folder, api_key=key)


def test_a_rotation_says_for_how_long_earlier_tokens_are_accepted_and_no_list_shows_a_key(
    run: Run, folder: Path
) -> None:
    token = run("token --user guest").strip()
    assert re.fullmatch(
        r"Tokens are signed with key \w{8} from now on; those from before are accepted for 24 more hours.\n",
        run("admin signing-key rotate"),
    )
    assert who(folder, token).name == "guest"
    records = json.loads(run("admin signing-key list --json"))
    assert [record["ends"] is None for record in records] == [True, False]
    assert {key for record in records for key in record} == {"id", "made", "ends"}
    table = run("admin signing-key list")
    for stored in json.loads((folder / "signing-keys.json").read_text())["keys"]:
        assert stored["id"] in table
        assert stored["key"] not in table
    assert "accepted for 1 more hour.\n" in run("admin signing-key rotate --overlap 1")
    assert "those from before have ended" in run("admin signing-key rotate --overlap 0")
    with pytest.raises(UnauthorizedError):
        who(folder, token)


# Passwords.


PROGRAM = """
import argparse, sys
from jupyter_funcs.service import admin
from jupyter_funcs.service.errors import SetupError
parser = argparse.ArgumentParser()
admin.add_admin(parser.add_subparsers())
given = parser.parse_args()
try:
    given.command(given)
except SetupError as error:
    sys.exit(str(error))
"""

# Types at a terminal of its own: an answer, in base 16, to each prompt; prints all that the terminal showed.
TERMINAL = """
import os, pty, sys
program, *answers = sys.argv[1:]
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.executable, [sys.executable, "-c", program, "admin", "users", "password", "guest"])
shown = b""
while True:
    try:
        part = os.read(terminal, 1000)
    except OSError:
        break
    if not part:
        break
    shown += part
    if answers and shown.endswith(b": "):
        os.write(terminal, bytes.fromhex(answers.pop(0)))
os.waitpid(child, 0)
sys.stdout.buffer.write(shown)
"""
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX's")


def set_password(content: bytes) -> subprocess.CompletedProcess[bytes]:
    """Set the password of `guest` with something on the standard input."""
    words = [sys.executable, "-W", "error", "-c", PROGRAM, "admin", "users", "password", "Guest"]
    return subprocess.run(words, input=content, capture_output=True, check=False, timeout=60)


def type_password(*typed: bytes) -> str:
    """Set the password of `guest` at a terminal, and give what it showed."""
    words = [sys.executable, "-c", TERMINAL, PROGRAM, *(each.hex() for each in typed)]
    return subprocess.run(words, capture_output=True, check=True, text=True, timeout=60).stdout


def logs_in(folder: Path, password: str) -> bool:
    grants = Grants(folder / "accounts.sqlite")
    try:
        return grants.user_of_password("guest", password) is not None
    finally:
        grants.close()


@pytest.mark.parametrize("password", [PASSWORD, " pass wörd "])
@pytest.mark.parametrize("end", ["\n", "\r\n", "", "\nmore\n"])
def test_a_password_is_the_first_line_where_no_person_types(run: Run, folder: Path, password: str, end: str) -> None:
    token = run("token --user guest").strip()
    done = set_password((password + end).encode())
    assert done.stdout == b"'guest' logs in with the new password; tokens from before have ended.\n"
    assert done.stderr == b""
    assert logs_in(folder, password)
    with pytest.raises(UnauthorizedError):
        who(folder, token)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", b"The password has 0 characters"),
        (b"\nlong enough\n", b"The password has 0 characters"),
        (b"shorty\n", b"The password has 6 characters. Take one of at least 8."),
        (b"a secret \xff\xfe\n", b"The password on the standard input is not in utf-8"),
    ],
)
def test_a_poor_first_line_is_refused_and_not_shown(folder: Path, content: bytes, says: bytes) -> None:
    done = set_password(content)
    assert done.returncode == 1
    assert says in done.stderr
    assert b"shorty" not in done.stderr
    assert b"secret" not in done.stderr
    assert not logs_in(folder, content.decode(errors="replace").strip())


@POSIX
def test_a_person_types_the_password_twice_and_the_terminal_shows_nothing_of_it(folder: Path) -> None:
    typed = f"{PASSWORD}\n".encode()
    shown = type_password(typed, typed)
    assert "New password (at least 8 characters): " in shown
    assert "'guest' logs in with the new password" in shown
    assert PASSWORD not in shown
    assert logs_in(folder, PASSWORD)


@POSIX
@pytest.mark.parametrize(
    ("typed", "says"),
    [((b"correct horse\n", b"correct house\n"), "The two passwords differ"), ((b"\x04",), "No password was typed")],
)
def test_what_is_mistyped_changes_nothing(folder: Path, typed: tuple[bytes, ...], says: str) -> None:
    shown = type_password(*typed)
    assert f"{says}; nothing has changed." in shown
    assert "Traceback" not in shown
    assert not logs_in(folder, PASSWORD)


def test_no_command_takes_a_secret_on_its_line() -> None:
    names = [argument for _, each in actions.ACTIONS.values() for action in each for argument, _ in action.arguments]
    assert not [name for name in names if re.search("password|secret|token", name)]


# The state folder.


@pytest.mark.parametrize("demo", [True, False])
def test_the_state_folder_is_the_owners_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, demo: bool) -> None:
    monkeypatch.setenv("FUNCS_STATE_DIR", str(tmp_path / "a" / "b"))
    path = state.folder(tmp_path / "configured", demo=demo)
    assert path == (tmp_path / "a" / "b" / "demo" if demo else tmp_path / "a" / "b")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700
    monkeypatch.delenv("FUNCS_STATE_DIR")
    assert state.folder(tmp_path / "configured", demo=False) == tmp_path / "configured"


def test_a_state_folder_that_cannot_be_made_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FUNCS_STATE_DIR", str(tmp_path / "file"))
    with pytest.raises(SetupError, match=r"file/demo cannot be written: .*\nName another one in FUNCS_STATE_DIR"):
        command("admin users list")


def test_the_demo_is_filled_once(run: Run) -> None:
    run("admin users remove guest")
    assert "guest" not in run("admin users list")
