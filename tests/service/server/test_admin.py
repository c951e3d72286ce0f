"""``jupyter funcs admin`` and ``token``: their messages, their effects, and where secrets go."""

from __future__ import annotations

import argparse
import csv
import getpass
import io
import json
import os
import re
import stat
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import jwt
import pytest

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.service.accounts import state_folder
from jupyter_funcs.service.accounts.auth import Auth, UnauthorizedError
from jupyter_funcs.service.accounts.grants import Grants
from jupyter_funcs.service.builtin import demo
from jupyter_funcs.service.server import admin
from tests.examples import row_id

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jupyter_funcs.service.accounts.account_records import User

    Run = Callable[..., str]

PASSWORD = "correct horse"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state folder of the demo, not created yet."""
    monkeypatch.setenv("FUNCS_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("FUNCS_SIGNING_KEY", raising=False)
    return tmp_path / "state" / "demo"


def command(line: str | list[str]) -> None:
    """Run a command line."""
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    admin.add_admin(commands)
    admin.add_token(commands)
    arguments = parser.parse_args(line.split() if isinstance(line, str) else line)
    arguments.command(arguments)


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def output(*words: str) -> str:
        """Run a command, given as words or as one string, and return its standard output."""
        command(words[0].split() if len(words) == 1 else list(words))
        return capsys.readouterr().out

    return output


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The option for a configuration without accounts."""
    monkeypatch.delenv("FUNCS_STATE_DIR", raising=False)
    path = tmp_path / "service.toml"
    path.write_text('organisation = "Acme"\nstate = "accounts"\n')
    return ["--config", str(path)]


def who(folder: Path, token: str | None = None, api_key: str | None = None) -> User:
    """Identify the user as a running service does."""
    grants = Grants(folder / "accounts.sqlite")
    try:
        return Auth(state_folder.open_keys(folder), grants).user(
            f"Bearer {token}" if token else None, api_key
        )
    finally:
        grants.close()


def may_run(folder: Path, name: str) -> list[str]:
    grants = Grants(folder / "accounts.sqlite")
    try:
        return [asset.name for asset in grants.assets(grants.active_user(name))]
    finally:
        grants.close()


# Tokens.


def test_a_token_is_all_that_is_printed_and_lasts_eight_hours(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
def test_no_token_is_issued_to_unknown_users_or_for_ever(
    run: Run, capsys: pytest.CaptureFixture[str], line: str, says: str
) -> None:
    with pytest.raises(SetupError, match=says):
        run(line)
    assert capsys.readouterr().out == ""


def test_no_token_is_given_to_a_disabled_user(run: Run) -> None:
    run("admin users disable guest")
    with pytest.raises(
        SetupError, match=r"'guest' is disabled.\n.* admin users enable guest$"
    ):
        run("token --user Guest")


# Messages, and whether they are true.


@pytest.mark.slow
def test_an_operators_day(run: Run, folder: Path) -> None:
    """Each command says in one line who may run what now, and that is true."""
    ours = demo.ORGANISATION
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
        (
            ["grants", "add", "Ann Lee", "own"],
            "'ann lee' may now run the functions of 'Own'.",
            {"ann lee": ["Own"]},
        ),
        (
            ["assets", "share", "own"],
            f"Every user of '{ours}' may run the functions of 'Own'.",
            {"guest": [demo.PANEL_DATA, "Own"]},
        ),
        (
            ["grants", "remove", "ann lee", "Own"],
            "'ann lee' may still run the functions of 'Own', which is shared with all.",
            {"ann lee": ["Own"]},
        ),
        (
            ["grants", "add", "guest", "own"],
            "'guest' may now run the functions of 'Own'.",
            {"guest": [demo.PANEL_DATA, "Own"]},
        ),
        (
            ["assets", "unshare", "own"],
            "Only 'guest' may run the functions of 'Own'.",
            {"guest": [demo.PANEL_DATA, "Own"], "ann lee": []},
        ),
        (
            ["grants", "remove", "guest", demo.PANEL_DATA],
            "'guest' may no longer run the functions of 'Demo panel data'.",
            {"guest": ["Own"]},
        ),
        (
            ["users", "disable", "guest"],
            "'guest' may not run anything until enabled again.",
            {},
        ),
        (
            ["users", "enable", "guest"],
            "'guest' is enabled again and, with a new token, may run the functions of 'Own'.",
            {"guest": ["Own"]},
        ),
        (
            ["users", "revoke", "guest"],
            "The tokens of 'guest' were revoked.",
            {"guest": ["Own"]},
        ),
        (
            ["assets", "remove", "own"],
            "'Own' was removed; nobody may run its functions any more.",
            {"guest": []},
        ),
        (
            ["users", "remove", "Ann Lee"],
            "'ann lee' was removed, with all grants and API keys.",
            {},
        ),
        (
            ["assets", "add", "Theirs", "--organisation", "Other", "--shared"],
            f"'Other' is a new organisation besides '{ours}'. Every user of 'Other' may run the functions of 'Theirs'.",
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
        ("admin users add Guest", "A user 'guest' already exists"),
        (
            "admin users add zoe --organisation=",
            "'' cannot be the name of an organisation",
        ),
        ("admin grants add guest Demo", "No asset 'Demo'"),
        ("admin assets share Demo-reports", "Did you mean 'Demo reports'"),
        ("admin keys add gest", "Did you mean 'guest'"),
        ("admin keys remove 7", "No API key 7"),
        ("admin signing-key rotate --overlap -1", "between 0 and 8784 hours, not -1"),
        ("admin users password gest", "Did you mean 'guest'"),
    ],
)
def test_what_cannot_be_done_says_what_to_do_in_at_most_three_lines(
    run: Run, line: str, says: str
) -> None:
    with pytest.raises(SetupError, match=says) as caught:
        run(line)
    assert len(str(caught.value).splitlines()) <= 3


def test_of_several_organisations_one_must_be_named(run: Run) -> None:
    run("admin users add zoe --organisation Other")
    with pytest.raises(
        SetupError,
        match=r"several organisations: 'Demo \(synthetic\)', 'Other'.\nName one with",
    ):
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
    assert capsys.readouterr().out.startswith(
        "'Acme' is a new organisation. 'ann' may run nothing yet"
    )
    assert stat.S_IMODE((tmp_path / "accounts").stat().st_mode) == 0o700
    command(["admin", *team, "users", "list", "--json"])
    assert [
        (user["name"], user["organisation"])
        for user in json.loads(capsys.readouterr().out)
    ] == [("ann", "Acme")]
    command(["token", "--user", "ann", *team])
    assert who(tmp_path / "accounts", capsys.readouterr().out.strip()).name == "ann"


# Lists.


def test_lists_are_aligned_columns_under_their_names(run: Run) -> None:
    run("admin", "users", "add", "a rather long name", "--email", "long@x.example")
    run("admin users disable guest")
    lines = run("admin users list").splitlines()
    assert lines[0].split() == [
        "name",
        "email",
        "organisation",
        "disabled",
        "password",
        "made",
    ]
    at = [
        lines[0].index(word)
        for word in ("email", "organisation", "disabled", "password", "made")
    ]
    assert [
        [line[place - 2 : place].strip() for place in at] for line in lines[1:]
    ] == [[""] * 5] * 3
    assert [line[at[2] :].split()[0] for line in lines[1:]] == ["no", "no", "yes"]
    assert not any(line.endswith(" ") for line in lines)
    assert run("admin assets list").splitlines() == [
        "id  name             organisation      shared",
        "1   Demo panel data  Demo (synthetic)  no",
        "2   Demo reports     Demo (synthetic)  no",
    ]
    assert (
        run("admin grants list").splitlines()[1]
        == "analyst  Demo panel data  Demo (synthetic)"
    )


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
def test_an_empty_list_says_what_to_do_next(
    team: list[str], capsys: pytest.CaptureFixture[str], what: str
) -> None:
    command(["admin", what, "list", *team])
    to_add = " ".join(["jupyter funcs admin", *team, what, "add --help"])
    assert capsys.readouterr().out == f"None yet. To add one: {to_add}\n"
    command(["admin", what, "list", "--json", *team])
    assert capsys.readouterr().out == "[]\n"


def test_what_a_list_shows_is_not_changed(
    team: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the commands that a message names get the option."""
    command(["admin", "assets", "add", "of jupyter funcs admin", *team])
    capsys.readouterr()
    command(["admin", "assets", "list", "--json", *team])
    assert json.loads(capsys.readouterr().out)[0]["name"] == "of jupyter funcs admin"


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
    for line in (
        "admin keys list",
        "admin keys list --json",
        "admin users revoke guest",
    ):
        command(line)
        printed = capsys.readouterr()
        assert key[5:] not in printed.out + printed.err
    assert "Still accepted: API keys 1." in printed.out
    command("admin keys remove 1")
    assert capsys.readouterr().out == "API key 1 is no longer accepted.\n"
    with pytest.raises(UnauthorizedError):
        who(folder, api_key=key)


def test_a_rotation_says_for_how_long_earlier_tokens_are_accepted_and_no_list_shows_a_key(
    run: Run, folder: Path
) -> None:
    token = run("token --user guest").strip()
    assert re.fullmatch(
        r"New tokens are signed with key \w{8}; older ones are accepted for 24 more hours.\n",
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
    assert "older ones are no longer accepted" in run(
        "admin signing-key rotate --overlap 0"
    )
    with pytest.raises(UnauthorizedError):
        who(folder, token)


# Passwords.


PROGRAM = """
import argparse, sys
from jupyter_funcs.service.server import admin
from jupyter_funcs.core.errors import SetupError
parser = argparse.ArgumentParser()
admin.add_admin(parser.add_subparsers())
given = parser.parse_args()
try:
    given.command(given)
except SetupError as error:
    sys.exit(str(error))
"""

# Types at its own terminal: a hex-encoded answer to each prompt. Prints everything that the terminal showed.
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
POSIX = pytest.mark.skipif(
    sys.platform == "win32", reason="pseudo-terminals are POSIX's"
)


def set_password(content: bytes) -> subprocess.CompletedProcess[bytes]:
    """Set the password of `guest` from standard input."""
    words = [
        sys.executable,
        "-W",
        "error",
        "-c",
        PROGRAM,
        "admin",
        "users",
        "password",
        "Guest",
    ]
    return subprocess.run(
        words, input=content, capture_output=True, check=False, timeout=60
    )


def type_password(*typed: bytes) -> str:
    """Set the password of `guest` at a terminal and return what it showed."""
    words = [sys.executable, "-c", TERMINAL, PROGRAM, *(line.hex() for line in typed)]
    return subprocess.run(
        words, capture_output=True, check=True, text=True, timeout=60
    ).stdout


def logs_in(folder: Path, password: str) -> bool:
    grants = Grants(folder / "accounts.sqlite")
    try:
        return grants.user_of_password("guest", password) is not None
    finally:
        grants.close()


@pytest.mark.slow
@pytest.mark.parametrize("password", [PASSWORD, " pass wörd "])
@pytest.mark.parametrize("end", ["\n", "\r\n", "", "\nmore\n"])
def test_a_password_is_the_first_line_where_no_person_types(
    run: Run, folder: Path, password: str, end: str
) -> None:
    token = run("token --user guest").strip()
    done = set_password((password + end).encode())
    assert done.stdout == b"'guest' has a new password; existing tokens were revoked.\n"
    assert done.stderr == b""
    assert logs_in(folder, password)
    assert [
        record["target"] for record in audit(run, "--action", "users password")
    ] == ["guest"]
    with pytest.raises(UnauthorizedError):
        who(folder, token)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", b"The password has 0 characters"),
        (b"\nlong enough\n", b"The password has 0 characters"),
        (b"shorty\n", b"The password has 6 characters. Use at least 8."),
        (b"a secret \xff\xfe\n", b"The password on the standard input is not in utf-8"),
    ],
)
def test_a_poor_first_line_is_refused_and_not_shown(
    folder: Path, content: bytes, says: bytes
) -> None:
    done = set_password(content)
    assert done.returncode == 1
    assert says in done.stderr
    assert b"shorty" not in done.stderr
    assert b"secret" not in done.stderr
    assert not logs_in(folder, content.decode(errors="replace").strip())


@pytest.mark.slow
@POSIX
def test_a_person_types_the_password_twice_and_the_terminal_shows_nothing_of_it(
    folder: Path,
) -> None:
    typed = f"{PASSWORD}\n".encode()
    shown = type_password(typed, typed)
    assert "New password (at least 8 characters): " in shown
    assert "'guest' has a new password" in shown
    assert PASSWORD not in shown
    assert logs_in(folder, PASSWORD)


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ((b"correct horse\n", b"correct house\n"), "The two passwords differ"),
        ((b"\x04",), "No password was entered"),
    ],
    ids=row_id,
)
def test_what_is_mistyped_changes_nothing(
    folder: Path, typed: tuple[bytes, ...], says: str
) -> None:
    shown = type_password(*typed)
    assert f"{says}; nothing has changed." in shown
    assert "Traceback" not in shown
    assert not logs_in(folder, PASSWORD)


def test_no_command_takes_a_secret_on_its_line() -> None:
    names = [
        name
        for group in admin.ACTIONS.values()
        for action in group.values()
        for name in action.arguments
    ]
    assert "--overlap" in names
    assert not [name for name in names if re.search("password|secret|token", name)]


# The audit.


def audit(run: Run, *words: str) -> list[dict[str, object]]:
    records: list[dict[str, object]] = json.loads(
        run("admin", "audit", *words, "--format", "json")
    )
    return records


@pytest.mark.slow
def test_every_command_that_changes_something_is_in_the_audit(run: Run) -> None:
    """FAULTS.md 140: with who did it, to what, and from where."""
    assert {record["action"] for record in audit(run)} == {
        "assets add",
        "users add",
        "grants add",
    }, "the demo's own"
    seeded = len(audit(run))
    done = {
        ("users", "add", "ann", "--email", "ann@x.example"): ("ann", demo.ORGANISATION),
        ("assets", "add", "Own", "--shared"): ("Own", "shared"),
        ("assets", "unshare", "own"): ("Own", None),
        ("assets", "share", "own"): ("Own", None),
        ("grants", "add", "Ann", "own"): ("ann", "Own"),
        ("grants", "remove", "ANN", "own"): ("ann", "Own"),
        ("keys", "add", "Ann", "--label", "nightly"): ("ann", "key 1"),
        ("keys", "remove", "1"): ("ann", "key 1"),
        ("users", "revoke", "ann"): ("ann", None),
        ("users", "disable", "ann"): ("ann", None),
        ("users", "enable", "ann"): ("ann", None),
        ("users", "remove", "ann"): ("ann", None),
        ("assets", "remove", "own"): ("Own", None),
    }
    for words in done:
        run("admin", *words)
    run("token --user guest --hours 2")
    run("admin signing-key rotate --overlap 1")
    *changes, issued, rotated = audit(run)[seeded:]
    assert (
        [
            (*record["action"].split(), record["target"], record["detail"])
            for record in changes
        ]
        == [  # type: ignore[attr-defined]
            (*words[:2], *about) for words, about in done.items()
        ]
    )
    assert (issued["action"], issued["target"], issued["detail"]) == (
        "token issue",
        "guest",
        "2 hours",
    )
    assert (rotated["action"], rotated["detail"]) == (
        "signing-key rotate",
        "overlap 1 hours",
    )
    assert {
        (record["user"], record["address"], record["outcome"]) for record in audit(run)
    } == {(getpass.getuser(), "shell", "ok")}
    commands = {
        f"{group} {verb}"
        for group, actions in admin.ACTIONS.items()
        for verb in actions
    }
    # Of the test below.
    recorded = {str(record["action"]) for record in audit(run)} | {"users password"}
    assert {name for name in commands if not name.endswith(" list")} <= recorded


def test_what_fails_changes_nothing_and_is_not_in_the_audit(run: Run) -> None:
    before = audit(run)
    for line in (
        "admin users remove gest",
        "admin users add Guest",
        "admin keys remove 7",
        "token --user gest",
    ):
        with pytest.raises(SetupError):
            run(line)
    assert audit(run) == before


def test_the_audit_is_filtered(run: Run) -> None:
    """FAULTS.md 140: by user, action, outcome, time and number; the newest last."""
    run("admin users revoke Guest")
    run("admin users add zoe")
    assert [record["action"] for record in audit(run, "--user", "GUEST")] == [
        "users add",
        "grants add",
        "users revoke",
    ]
    assert {record["target"] for record in audit(run, "--action", "users")} == {
        "analyst",
        "guest",
        "zoe",
    }
    [revoked] = audit(run, "--action", "users revoke")
    assert audit(run, "--outcome", "refused") == []
    assert [record["target"] for record in audit(run, "--limit", "2")] == [
        "guest",
        "zoe",
    ]
    at = str(revoked["time"])
    assert [record["action"] for record in audit(run, "--since", at)] == [
        "users revoke",
        "users add",
    ]
    assert audit(run, "--until", at)[-1]["action"] == "grants add"
    east = datetime.fromisoformat(at).astimezone(timezone(timedelta(hours=14)))
    assert (
        audit(run, "--since", east.isoformat())
        == audit(run, "--since", at[:26])
        == audit(run, "--since", at)
    )
    assert audit(run, "--since", "2026-01-01") == audit(run)
    assert audit(run, "--until", "2026-01-01") == []


@pytest.mark.parametrize(
    "moment", ["yesterday", "2026-02-30", "0001-01-01T00:00+14:00"]
)
def test_a_time_that_is_none_is_refused(
    run: Run, capsys: pytest.CaptureFixture[str], moment: str
) -> None:
    with pytest.raises(SystemExit):
        run("admin", "audit", "--since", moment)
    assert (
        f"'{moment}' is not a time: use one such as 2026-01-31T12:00Z"
        in capsys.readouterr().err
    )


def test_the_audit_is_a_table_csv_or_json(run: Run, folder: Path) -> None:
    """FAULTS.md 140: and no program that shows it runs what is in it."""
    assert run("admin audit --action login") == "No records.\n"
    grants = Grants(folder / "accounts.sqlite")
    grants.audit.record(
        "run",
        '=HYPERLINK("x")',
        "a, b;+c\x1b[2J\u202e",
        "422",
        "192.0.2.7",
        "refused",
        0.0123,
        None,
    )
    grants.close()
    header, line = run("admin audit --action run").splitlines()
    assert header.split() == [
        "time",
        "user",
        "action",
        "target",
        "detail",
        "address",
        "outcome",
        "seconds",
        "rows",
    ]
    assert re.fullmatch(
        r'\S+\+00:00 +=HYPERLINK\("x"\) +run +a, b;\+c\\x1b\[2J\\u202e +422 +192.0.2.7 +refused +0.012',
        line,
    )
    reader = csv.DictReader(io.StringIO(run("admin audit --action run --format csv")))
    [record] = reader
    assert record["user"] == '\'=HYPERLINK("x")'
    assert record["target"] == "a, b;'+c\\x1b[2J\\u202e"
    assert record["rows"] == ""
    assert float(record["seconds"]) == 0.0123
    assert audit(run, "--action", "run")[0]["rows"] is None
    assert [
        len(audit(run, "--action", "run", f"--limit={number}"))
        for number in (9**30, 1, -(9**30))
    ] == [1, 1, 0]


# The state folder.


@pytest.mark.parametrize("demo", [True, False])
def test_the_state_folder_is_the_owners_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, demo: bool
) -> None:
    monkeypatch.setenv("FUNCS_STATE_DIR", str(tmp_path / "a" / "b"))
    path = state_folder.folder(tmp_path / "configured", demo=demo)
    assert path == (tmp_path / "a" / "b" / "demo" if demo else tmp_path / "a" / "b")
    assert (
        stat.S_IMODE(path.stat().st_mode)
        == stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode)
        == 0o700
    )
    monkeypatch.delenv("FUNCS_STATE_DIR")
    assert (
        state_folder.folder(tmp_path / "configured", demo=False)
        == tmp_path / "configured"
    )


def test_a_state_folder_that_cannot_be_made_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FUNCS_STATE_DIR", str(tmp_path / "file"))
    with pytest.raises(
        SetupError,
        match=r"file/demo is not writable: .*\nSet FUNCS_STATE_DIR to another one",
    ):
        command("admin users list")


@POSIX
@pytest.mark.parametrize("mode", [0o755, 0o770, 0o707, 0o711])
@pytest.mark.parametrize("name", ["state", "state/demo"])
def test_a_state_folder_that_others_may_use_is_refused_with_the_command_that_fixes_it(
    run: Run, tmp_path: Path, name: str, mode: int
) -> None:
    """FAULTS.md 141."""
    run("admin users list")
    (tmp_path / name).chmod(mode)
    with pytest.raises(
        SetupError, match=rf"{name} is accessible to other users \(mode {mode:04o}\)"
    ) as caught:
        run("admin users list")
    _, fix, other = str(caught.value).splitlines()
    assert other == "Or set FUNCS_STATE_DIR to another one."
    fix = fix.removeprefix("Run: ")
    assert fix == f"chmod 700 {tmp_path / name}"
    subprocess.run(fix, shell=True, check=True)
    assert "guest" in run("admin users list")


@POSIX
def test_a_link_to_a_state_folder_is_followed_and_what_it_leads_to_is_checked(
    run: Run, tmp_path: Path
) -> None:
    """FAULTS.md 141."""
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "state").symlink_to("elsewhere")
    assert "guest" in run("admin users list")
    assert (tmp_path / "elsewhere" / "demo" / "accounts.sqlite").exists()
    (tmp_path / "elsewhere").chmod(0o750)
    with pytest.raises(SetupError, match=f"chmod 700 {tmp_path}/state"):
        run("admin users list")
    (tmp_path / "elsewhere").rename(tmp_path / "gone")
    with pytest.raises(SetupError, match=r"is not writable: .*\nSet FUNCS_STATE_DIR"):
        run("admin users list")


@POSIX
@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() != 0, reason="only root can give files away"
)
@pytest.mark.parametrize(
    "name", ["state", "state/demo", "state/demo/signing-keys.json", "link"]
)
def test_what_belongs_to_another_user_is_refused(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """FAULTS.md 141: its owner could read or replace the keys."""
    run("token --user guest")
    if name == "link":
        (tmp_path / "link").symlink_to("state")
        monkeypatch.setenv("FUNCS_STATE_DIR", str(tmp_path / "link"))
    os.lchown(tmp_path / name, 12345, 12345)
    with pytest.raises(
        SetupError,
        match=rf"{name} (is|are) accessible to other users \(owner 12345\).\nRun: sudo chown -hR 0 {tmp_path}/{name}",
    ):
        run("token --user guest")


def test_the_demo_is_filled_once(run: Run) -> None:
    run("admin users remove guest")
    assert "guest" not in run("admin users list")
