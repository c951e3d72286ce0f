"""The service and its token are decided once, and the token is never shown."""

from __future__ import annotations

import base64
import copy
import dataclasses
import json
import logging
import math
import os
import pickle
import subprocess
import sys
import time
import traceback
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_funcs import connect
from jupyter_funcs.connection import profiles as profiles_module
from jupyter_funcs.connection import tokens
from jupyter_funcs.connection.profiles import Connection, profiles_file
from jupyter_funcs.connection.secrets import Secret
from jupyter_funcs.connection.tokens import TokenSource
from jupyter_funcs.core.errors import ConfigError, FuncsError
from tests.conftest import is_running, wait_until
from tests.examples import row_id

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CANARY = "c4n4ry-t0ken-8d1f"
HOST = "https://funcs.example.org"


def jwt(payload: Any) -> str:
    """Return a token with these claims; nobody checks its signature here."""
    body = base64.urlsafe_b64encode(json.dumps(payload).encode()).rstrip(b"=").decode()
    return f"eyJhbGciOiJIUzI1NiJ9.{body}.c2ln"


SHOWN: dict[str, Callable[[Secret], object]] = {
    "repr": repr,
    "str": str,
    "format": format,
    "f-string": lambda secret: f"{secret} {secret!r} {secret!s} {secret!a} {secret:}",
    "percent": lambda secret: "%s %r" % (secret, secret),  # noqa: UP031  # that is what is tested
    "dir": lambda secret: [getattr(secret, name) for name in dir(secret)],
    "list": lambda secret: [secret, {"token": secret}],
    "connection": lambda secret: Connection("n", HOST, lambda: secret),
    "connection's values": lambda secret: dataclasses.astuple(Connection("n", HOST, lambda: secret)),
    "traceback": lambda secret: "".join(traceback.format_exception(failing(secret))),
}  # fmt: skip


def failing(secret: Secret) -> BaseException:
    with pytest.raises(RuntimeError) as caught:
        raise RuntimeError(secret)
    return caught.value


@pytest.mark.parametrize("show", SHOWN.values(), ids=SHOWN)
def test_a_secret_shows_itself_to_nobody(show: Callable[[Secret], object]) -> None:
    """Everything that turns values into text gets a mask; only `reveal` returns the token."""
    secret = Secret(CANARY)
    shown = show(secret)
    assert CANARY not in f"{shown} {shown!r}"
    assert secret.reveal() == CANARY


@pytest.mark.parametrize(
    "take",
    [
        pickle.dumps,
        copy.copy,
        copy.deepcopy,
        vars,
        json.dumps,
        lambda secret: secret.__dict__,
    ],
    ids=["pickle", "copy", "deepcopy", "vars", "json", "__dict__"],
)
def test_a_secret_is_neither_copied_nor_saved(take: Callable[[Secret], object]) -> None:
    """`%store`, a process pool and a debugger's list of variables don't get the token."""
    with pytest.raises((TypeError, AttributeError)) as caught:
        take(Secret(CANARY))
    assert CANARY not in str(caught.value)


def test_a_secret_in_a_log_is_masked(caplog: pytest.LogCaptureFixture) -> None:
    """Also in the arguments of a record."""
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("any").debug(
            "sent %s %r", Secret(CANARY), resolve(HOST, CANARY)
        )
    assert "Secret('****')" in caplog.text
    assert CANARY not in caplog.text + repr(
        [record.__dict__ for record in caplog.records]
    )


@pytest.mark.parametrize(
    "text",
    [
        CANARY,
        f" {CANARY}\r\n",
        f'"{CANARY}"',
        f"'{CANARY}'\n",
        f"“{CANARY}”",
        f"‘{CANARY}’ ",
        f"\ufeff{CANARY}",
        f"'\"{CANARY}\"'",
    ],
    ids=ascii,
)
def test_what_a_clipboard_or_a_shell_adds_is_trimmed(text: str) -> None:
    """Quotes, line breaks and a byte order mark around a token are removed (FAULTS 89)."""
    assert Secret(text).reveal() == CANARY


@pytest.mark.parametrize(
    "inside",
    [" ", "\n", "\r\n", "\t", "\0", "\x1b[31m", "é", "“", "\u200b", "\u202e", "\ud800"],
    ids=ascii,
)
def test_a_token_with_characters_that_no_token_has_is_refused_unseen(
    inside: str,
) -> None:
    """The message says what is wrong without showing the token (FAULTS 89)."""
    with pytest.raises(ConfigError, match="characters that no token has") as caught:
        Secret(f"{CANARY}{inside}{CANARY}")
    assert CANARY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("empty", ["", " ", "\n", "''", "“”"], ids=ascii)
def test_an_empty_token_is_named(empty: str) -> None:
    """An empty variable isn't a token."""
    with pytest.raises(ConfigError, match="The token is empty"):
        Secret(empty)


@given(st.text(st.characters()))
def test_a_token_is_what_may_stand_in_a_header_or_an_error(text: str) -> None:
    """No accepted token breaks a header, and no refusal is anything but a ConfigError."""
    try:
        token = Secret(text).reveal()
    except ConfigError:
        return
    assert token.isascii()
    assert token.isprintable()
    assert token
    assert " " not in token


ENDS: dict[str, tuple[str, float]] = {
    "an integer": (jwt({"exp": 1_700_000_000}), 1_700_000_000.0),
    "a fraction": (jwt({"exp": 1_700_000_000.5}), 1_700_000_000.5),
    "the epoch": (jwt({"exp": 0}), 0.0),
    "far away": (jwt({"exp": 10**30}), 1e30),
    "no end": (jwt({"sub": "ada"}), math.inf),
    "a text": (jwt({"exp": "1700000000"}), math.inf),
    "a truth": (jwt({"exp": True}), math.inf),
    "null": (jwt({"exp": None}), math.inf),
    "a list": (jwt([1]), math.inf),
    "a word": (jwt("exp"), math.inf),
    "an opaque token": (CANARY, math.inf),
    "two parts": ("a.b", math.inf),
    "three parts": ("a.b.c", math.inf),
    "no text": ("..", math.inf),
    "no Base64": ("a.!!!!.c", math.inf),
    "no JSON": ("a.bm90IGpzb24.c", math.inf),
    "too deep": (
        "a." + base64.urlsafe_b64encode(b"[" * 100_000).decode() + ".c",
        math.inf,
    ),
    "too many digits": (
        "a."
        + base64.urlsafe_b64encode(b'{"exp": 1' + b"0" * 400 + b"}").decode()
        + ".c",
        math.inf,
    ),
    "too large": (
        "a." + base64.urlsafe_b64encode(b'{"exp": 1e999}').decode() + ".c",
        math.inf,
    ),
}


@pytest.mark.parametrize(("token", "end"), ENDS.values(), ids=ENDS)
def test_the_end_of_a_jwt_is_read_and_an_opaque_token_has_none(
    token: str, end: float
) -> None:
    """A payload that can't be read makes a token opaque, not invalid (SERVICE.md 2)."""
    assert Secret(token).expires_at == end


@given(st.binary(max_size=60))
def test_no_payload_makes_reading_the_end_fail(payload: bytes) -> None:
    """Anything may be between the two dots."""
    token = "a." + base64.urlsafe_b64encode(payload).decode() + ".c"
    assert not math.isnan(Secret(token).expires_at)


ENV = {"FUNCS_BASE_URL": HOST, "FUNCS_TOKEN": CANARY}
PROFILES = f"""
[profiles.work]
url = "{HOST}/funcs/"
token_env = "WORK_TOKEN"

[profiles.keyed]
url = "https://keyed.example.org"
api_key_env = "WORK_KEY"

[profiles.bare]
url = "https://bare.example.org"
"""


@pytest.fixture
def profiles(tmp_path: Path) -> dict[str, str]:
    """An environment with a file of profiles."""
    path = tmp_path / "config.toml"
    path.write_text(PROFILES)
    return {"FUNCS_CONFIG": str(path)}


def resolve(
    *where: Any, environment: dict[str, str] | None = None, **options: Any
) -> Connection | None:
    """Resolve with these variables of ours only, or with those of the process."""
    if environment is None:
        return profiles_module.resolve(*where, **options)
    others = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("FUNCS_")
    }
    with patch.object(os, "environ", others | environment):
        return profiles_module.resolve(*where, **options)


def token_of(connection: Connection | None) -> str:
    assert connection is not None
    return connection.token().reveal()


def test_nothing_configured_is_the_demo(tmp_path: Path) -> None:
    """No argument, no environment, no profile: `None`, which means the embedded service."""
    assert resolve(environment={}) is None
    assert resolve(environment={"FUNCS_CONFIG": str(tmp_path / "absent.toml")}) is None
    assert (
        resolve(
            environment={"FUNCS_BASE_URL": "", "FUNCS_TOKEN": "", "FUNCS_PROFILE": ""}
        )
        is None
    )


def test_the_demo_in_place_of_a_file_that_is_not_there_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FUNCS_CONFIG names a missing file: the demo opens with a warning. No warning if the file exists."""
    path = tmp_path / "typo.toml"
    for name, wrong in {
        path: "does not exist",
        tmp_path: "is not a file",
        "x" * 5000: "cannot be read",
    }.items():
        monkeypatch.setenv("FUNCS_CONFIG", str(name))
        with pytest.warns(
            UserWarning, match=f"which {wrong}.*: using the demo, with synthetic data"
        ) as caught:
            session = connect()
        assert str(caught[0].message).startswith(
            f"FUNCS_CONFIG names '{str(name)[:150]}"
        )
        assert session.synthetic
        assert [warning.filename for warning in caught] == [__file__]
        assert wrong in session.status().trouble
    monkeypatch.setenv("FUNCS_CONFIG", str(path))
    for variable, value in ENV.items():
        monkeypatch.setenv(variable, value)
    assert not connect().synthetic
    for variable in ENV:
        monkeypatch.delenv(variable)
    path.write_text(
        f'default = "work"\n[profiles.work]\nurl = "{HOST}"\ntoken_env = "HOME"'
    )
    assert connect().service == "work"
    path.write_text("")
    assert connect().status().trouble == ""


def test_the_environment_wins_over_a_profile_and_an_argument_over_both(
    profiles: dict[str, str],
) -> None:
    """First the arguments, then FUNCS_BASE_URL, then FUNCS_PROFILE."""
    env = {**profiles, **ENV, "FUNCS_PROFILE": "work", "WORK_TOKEN": "work-token"}
    connection = resolve(environment=env)
    assert connection is not None
    assert (connection.name, connection.base_url, connection.header) == (
        "funcs.example.org",
        HOST,
        "Authorization",
    )
    assert token_of(connection) == CANARY
    work = resolve(environment={**env, "FUNCS_BASE_URL": ""})
    assert work is not None
    assert (work.name, work.base_url, token_of(work)) == (
        "work",
        f"{HOST}/funcs",
        "work-token",
    )
    assert token_of(resolve("keyed", "given", environment=env)) == "given"
    other = resolve("https://other.example.org", "given", environment=env)
    assert other is not None
    assert (other.base_url, token_of(other)) == ("https://other.example.org", "given")


def test_an_api_key_goes_in_its_own_header(profiles: dict[str, str]) -> None:
    """From the call, the environment or a profile; never together with a token (SERVICE.md 2)."""
    for connection in (
        resolve(HOST, api_key=CANARY, environment={}),
        resolve(environment={"FUNCS_BASE_URL": HOST, "FUNCS_API_KEY": CANARY}),
        resolve("keyed", environment={**profiles, "WORK_KEY": CANARY}),
    ):
        assert connection is not None
        assert (connection.header, token_of(connection)) == ("X-Api-Key", CANARY)
    with pytest.raises(ConfigError, match=r"(?i)both"):
        resolve(HOST, CANARY, CANARY, environment={})
    with pytest.raises(ConfigError, match=r"(?i)both"):
        resolve(environment={**ENV, "FUNCS_API_KEY": "k"})


@pytest.mark.parametrize(
    "where",
    [
        HOST,
        HOST + "/",
        HOST + ":443",
        HOST.upper().replace("HTTPS", "https"),
        HOST + "/funcs",
        f" {HOST} ",
    ],
)
def test_a_token_of_the_environment_goes_to_its_own_origin(where: str) -> None:
    """Scheme, host and port are those of FUNCS_BASE_URL; the path does not matter."""
    assert token_of(resolve(where, environment=ENV)) == CANARY


@pytest.mark.parametrize(
    "where",
    [
        "https://evil.example.org",
        "https://funcs.example.org.evil.org",
        "https://funcs.example.org:8443",
        "http://localhost",
        "https://example.org",
    ],
)
def test_a_token_of_the_environment_goes_nowhere_else(where: str) -> None:
    """Another host, port or scheme doesn't get the token."""
    assert token_of(resolve(where, environment=ENV)) == ""


def test_a_profile_gets_no_token_of_the_environment(profiles: dict[str, str]) -> None:
    """A profile names its own variable."""
    with pytest.raises(ConfigError, match="There is no token for https://bare"):
        resolve("bare", environment={**profiles, **ENV})
    assert (
        token_of(resolve("bare", "given", environment={**profiles, **ENV})) == "given"
    )


@pytest.mark.parametrize("env", [{"FUNCS_TOKEN": CANARY}, {"FUNCS_API_KEY": CANARY}])
def test_a_token_without_an_address_is_no_demo(env: dict[str, str]) -> None:
    """With a token set, you mean a service, and would take synthetic data for real."""
    with pytest.raises(ConfigError, match="no address to send it to") as caught:
        resolve(environment=env)
    assert CANARY not in str(caught.value)
    with pytest.raises(ConfigError, match="no address to send it to"):
        resolve(token=CANARY, environment={})
    with pytest.raises(ConfigError, match="no address to send it to"):
        resolve(api_key=CANARY, environment={})


def test_an_absent_profile_names_the_nearest(
    profiles: dict[str, str], tmp_path: Path
) -> None:
    """Never the demo instead; without a similar name, the hint says how to add the profile."""
    with pytest.raises(ConfigError, match="no profile 'wrok'") as caught:
        resolve("wrok", environment=profiles)
    assert caught.value.hint == "Did you mean 'work'?"
    with pytest.raises(ConfigError, match="no profile 'wrok'"):
        resolve(environment={**profiles, "FUNCS_PROFILE": "wrok"})
    for secret in (CANARY * 3, f"ada:{CANARY}@funcs.example.org", jwt({"exp": 1})):
        with pytest.raises(ConfigError, match="no such profile") as caught:
            resolve(secret, environment=profiles)
        assert secret not in str(caught.value)
        assert CANARY not in str(caught.value)
    with pytest.raises(ConfigError) as absent:
        resolve("work", environment={"FUNCS_CONFIG": str(tmp_path / "absent.toml")})
    assert "[profiles.work]" in absent.value.hint
    with pytest.raises(ConfigError) as absent:
        resolve("my team", environment=profiles)
    assert '[profiles."my team"]' in absent.value.hint
    with pytest.raises(ConfigError, match="The demo has no name"):
        resolve("demo", environment=profiles)


BROKEN: list[tuple[str | bytes, str]] = [
    ("[profiles.work", "cannot be read"),
    ("profiles = 3", "no profile 'work'"),
    ("[profiles]\nwork = 3", "no profile 'work'"),
    ("[profiles.work]", "has no url"),
    ("[profiles.work]\nurl = 3", "has no url"),
    (f'[profiles.work]\nurl = "{HOST}"\ntoken = "{CANARY}"', "unknown key 'token'"),
    (f'[profiles.work]\nurl = "{HOST}"\nverify = false', "unknown key 'verify'"),
    (
        f'[profiles.work]\nurl = "{HOST}"\napi_key_env = "S3_TOKEN_2"',
        "The variable S3_TOKEN_2 in api_key_env of profile 'work' is not set.\nSet S3_TOKEN_2 to",
    ),
    (f'[profiles.work]\nurl = "{HOST}"\ntoken_env = "absent"', "config.toml"),
    (
        f'[profiles.work]\nurl = "{HOST}"\ntoken_env = "{CANARY}"',
        "in token_env of profile 'work' is not set",
    ),
    (
        f'[profiles.work]\nurl = "{HOST}"\ntoken_env = 5',
        "in token_env of profile 'work' is not set",
    ),
    (
        f'[profiles.work]\nurl = "{HOST}"\ntoken_env = "A"\napi_key_env = "B"',
        "names token_env and api_key_env at once",
    ),
    (
        f'[profiles.work]\nurl = "{HOST}"\nlogin = "a@b.example"\ntoken_file = "B"',
        "names token_file and login at once",
    ),
    (
        f'[profiles.work]\nurl = "{HOST}"\ntoken_file = ["{CANARY}"]',
        "a value of token_file that is not text",
    ),
    (
        f'[profiles.work]\nurl = "{HOST}"\ntoken_command = [1, "{CANARY}"]',
        "a value of token_command that is not text",
    ),
    (f'[profiles.work]\nurl = "{HOST}"\ntoken_command = []', "it is not a command"),
    (
        f'[profiles.work]\nurl = "{HOST}"\ntoken_command = "echo \'{CANARY}"',
        "it is not a command",
    ),
    (
        f'[profiles.work]\nurl = "{HOST}"\nlogin = false',
        "a value of login that is not text",
    ),
    (
        f'[profiles.work]\nurl = "{HOST}"\nlogin = true\nkeep = "keyring"',
        'a keep; it can only be true, or "keyring"',
    ),
    (
        f'[profiles.work]\nurl = "{HOST}"\nlogin = "a@b.example"\nkeep = "{CANARY}"',
        "a keep; it",
    ),
    (
        f'[profiles.work]\nurl = "{HOST}"\nlogin = true\ntimeout = 0',
        "a timeout that is not",
    ),
    (
        '[profiles.work]\nurl = "http://funcs.example.org"\ntoken_env = "A"',
        "unencrypted",
    ),
    ('[profiles.work]\nurl = "sub/shop.yaml"', "not the address of a service"),
    (
        '[profiles.work]\nkind = "soap"',
        "a kind that is not 'service', 'openapi', 'mcp' or 'python'",
    ),
    ('[profiles.work]\nkind = "python"', "has no module"),
    (
        '[profiles.work]\nkind = "python"\nmodule = "m"\nurl = "https://x"',
        "has the unknown key 'url'",
    ),
    (
        f'[profiles.work]\nurl = "{HOST}"\nsynonyms = {{revenue = "spend"}}',
        "synonyms that are not lists of words",
    ),
    (
        f'[profiles.work]\nurl = "{HOST}"\nsynonyms = 5',
        "synonyms that are not lists of words",
    ),
    ('[profiles.work]\nkind = "mcp"', "has no url"),
    (
        '[profiles.work]\nkind = "mcp"\ncommand = []',
        "a command that is not a list of words",
    ),
    (
        '[profiles.work]\nkind = "mcp"\ncommand = "uvx time"',
        "a command that is not a list of words",
    ),
    (
        '[profiles.work]\nkind = "mcp"\ncommand = ["a"]\nurl = "https://x"',
        "has a command and the key 'url'",
    ),
    ('[profiles.work]\nfile = "a.yaml"\nurl = "https://x"', "has a file and a url"),
    ('[profiles.work]\nfile = "a.yaml"\nlogin = true', "has a file and a login"),
    (
        '[profiles.work]\nfile = "a.yaml"\nkind = "mcp"',
        'its kind can only be "openapi"',
    ),
    ("[profiles.work]\nfile = 5", "has no url"),
    ('[profiles.work]\nfile = ""', "has a value of file that is not text"),
    (b"\xff\xfe", "cannot be read"),
    (f"x = {'[' * 3000}", "nested too deeply"),
]
LAST_LINES = [row_id(text.splitlines()[-1]) for text, _ in BROKEN]


@pytest.mark.parametrize(("text", "words"), BROKEN, ids=LAST_LINES)
def test_a_broken_profile_is_named_with_what_is_wrong(
    text: str | bytes, words: str, tmp_path: Path
) -> None:
    """Invalid TOML, a wrong type, an unknown key: one to three lines, without values that may be tokens."""
    path = tmp_path / "config.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError) as caught:
        resolve("work", environment={"FUNCS_CONFIG": str(path), "A": "a", "B": "b"})
    assert words in str(caught.value)
    assert CANARY not in str(caught.value)
    assert 1 <= len(caught.value.lines) <= 3


@pytest.mark.parametrize(
    "token",
    [
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "AKIAIOSFODNN7EXAMPLE",
        "0a1b2c3d4e5f",
        "KRUGKIDROVUWG2ZAMJZG653OEBTG66A",
    ],
)
def test_a_token_in_place_of_a_variables_name_is_not_repeated(
    token: str, tmp_path: Path
) -> None:
    """Anything that doesn't look like a variable's name is hidden."""
    with pytest.raises(
        ConfigError, match="variable in token_env of profile 'work' is not set"
    ) as caught:
        with_source(tmp_path, f'token_env = "{token}"')
    assert token not in str(caught.value)


def test_a_folder_in_place_of_the_profiles_is_named(tmp_path: Path) -> None:
    """With the system's reason."""
    with pytest.raises(ConfigError, match="cannot be read"):
        resolve("work", environment={"FUNCS_CONFIG": str(tmp_path)})


def test_the_file_of_profiles_is_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise in Jupyter's configuration folder, which isn't created for it."""
    monkeypatch.setenv("FUNCS_CONFIG", str(tmp_path / "x.toml"))
    assert profiles_file() == tmp_path / "x.toml"
    monkeypatch.setenv("FUNCS_CONFIG", "~/x.toml")
    assert "~" not in str(profiles_file())
    for name in ("FUNCS_CONFIG", "JUPYTER_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert profiles_file().parts[-2:] == (".jupyter", "jupyter_funcs.toml")
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    assert profiles_file().parent.name.casefold() == "jupyter"
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path))
    assert profiles_file().parent == tmp_path


ADDRESSES: dict[str, str] = {
    "https://funcs.example.org/": HOST,
    "  https://FUNCS.example.org/a/b//  ": HOST + "/a/b",
    "https://funcs.example.org:8443": HOST + ":8443",
    "https://funcs.example.org?x=1#y": HOST,
    "http://localhost:8000": "http://localhost:8000",
    "http://127.0.0.1:8000/": "http://127.0.0.1:8000",
    "http://[::1]:8000": "http://[::1]:8000",
    "HTTPS://funcs.example.org": HOST,
}


@pytest.mark.parametrize(
    ("where", "base_url"), ADDRESSES.items(), ids=map(row_id, ADDRESSES)
)
def test_an_address_is_kept_without_what_follows_its_path(
    where: str, base_url: str
) -> None:
    """Plain HTTP only to this machine."""
    connection = resolve(where, CANARY, environment={})
    assert connection is not None
    assert connection.base_url == base_url
    assert connection.name == base_url.partition("://")[2]
    assert not connection.synthetic


NO_ADDRESSES: dict[str, str] = {
    "http://funcs.example.org": "would send your token unencrypted",
    "http://localhost.evil.org": "would send your token unencrypted",
    "http://127.0.0.1.evil.org": "would send your token unencrypted",
    "http://192.168.0.1:8000": "would send your token unencrypted",
    f"https://ada:{CANARY}@funcs.example.org": "contains a user name or a password",
    f"https://{CANARY}@funcs.example.org": "contains a user name or a password",
    f"https://ada:{CANARY}@[bad": "is invalid",
    f"https://ada:{CANARY}/x@funcs.example.org": "is invalid",
    f"https://ada:{CANARY}#x@funcs.example.org": "is invalid",
    f"https:/ada:{CANARY}@funcs.example.org": "There is no such profile",
    f"ada:{CANARY}@funcs.example.org": "There is no such profile",
    "https://": "is not the address",
    "https:///path": "is not the address",
    "ftp://funcs.example.org": "is not the address",
    "file:///etc/passwd": "is not the address",
    "://": "is not the address",
    "https://host:port": "is invalid",
    "https://host:99999": "is invalid",
    "https://a b": "is not the address",
    "https://ho\x00st": "is not the address",
    "https://ho\x1bst": "is not the address",
}


@pytest.mark.parametrize(
    ("where", "words"), NO_ADDRESSES.items(), ids=map(row_id, NO_ADDRESSES)
)
def test_an_address_that_cannot_be_used_is_refused_before_anything_is_sent(
    where: str, words: str
) -> None:
    """Unencrypted, with a password in it, or junk (FAULTS 18, 19); a password is masked."""
    with pytest.raises(ConfigError) as caught:
        resolve(where, CANARY, environment={})
    assert words in str(caught.value)
    assert CANARY not in "".join(traceback.format_exception(caught.value))
    with pytest.raises(ConfigError) as caught:
        resolve(environment={"FUNCS_BASE_URL": where, "FUNCS_TOKEN": CANARY})
    assert CANARY not in "".join(traceback.format_exception(caught.value))


@given(
    st.text(st.characters(), max_size=30),
    st.sampled_from(["", "https://", "http://", "https://["]),
)
def test_no_address_makes_it_fail_otherwise(text: str, scheme: str) -> None:
    """Any text is an address or raises a ConfigError."""
    try:
        connection = resolve(
            scheme + text, CANARY, environment={"FUNCS_CONFIG": "/absent/config.toml"}
        )
    except ConfigError:
        return
    assert connection is not None
    assert connection.base_url.startswith(("https://", "http://"))


def test_a_profile_may_be_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes after the environment and before the demo; a missing one is an error, not the demo."""
    path = tmp_path / "jupyter_funcs.toml"
    path.write_text('default = "work"\n' + PROFILES)
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path))
    env = {"WORK_TOKEN": "work-token", "WORK_KEY": "k"}
    connection = resolve(environment=env)
    assert connection is not None
    assert (connection.name, token_of(connection)) == ("work", "work-token")
    for wins in (
        resolve(environment={**env, "FUNCS_PROFILE": "keyed"}),
        resolve("keyed", environment=env),
    ):
        assert wins is not None
        assert wins.name == "keyed"
    assert token_of(resolve(environment={**env, **ENV})) == CANARY
    with pytest.raises(ConfigError, match="no address to send it to"):
        resolve(environment={**env, "FUNCS_TOKEN": CANARY})
    for text, message in {
        'default = "wrok"': "no profile 'wrok'",
        "default = 3": "not the name of a profile",
    }.items():
        path.write_text(text)
        with pytest.raises(ConfigError, match=message):
            resolve(environment=env)


def test_a_variable_is_read_for_each_request(
    profiles: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new token is used at once, one for another service isn't; if unset, the last one stays in use."""
    env = {**os.environ, **profiles, **ENV, "WORK_TOKEN": "first"}
    monkeypatch.setattr(os, "environ", env)
    work = resolve("work")
    own = resolve()
    env |= {"WORK_TOKEN": "second", "FUNCS_TOKEN": "newer"}
    assert [token_of(work), token_of(own)] == ["second", "newer"]
    env |= {"FUNCS_BASE_URL": "https://other.example.org", "FUNCS_TOKEN": "of-another"}
    assert token_of(own) == "newer"
    env |= {"FUNCS_BASE_URL": "https://[", "FUNCS_TOKEN": "of-a-third"}
    assert token_of(own) == "newer"
    del env["WORK_TOKEN"]
    assert token_of(work) == "second"


def with_source(tmp_path: Path, line: str) -> Connection | None:
    (tmp_path / "c.toml").write_text(f'[profiles.work]\nurl = "{HOST}"\n{line}')
    return resolve("work", environment={"FUNCS_CONFIG": str(tmp_path / "c.toml")})


@pytest.mark.parametrize(
    ("key", "header"), [("token_file", "Authorization"), ("api_key_file", "X-Api-Key")]
)
def test_a_file_is_read_for_each_request(tmp_path: Path, key: str, header: str) -> None:
    """Without the line break at its end."""
    path = tmp_path / "token"
    path.touch(0o600)
    path.write_text(f"{CANARY}\r\n")
    connection = with_source(tmp_path, f'{key} = "{path}"')
    assert connection is not None
    assert (connection.header, token_of(connection)) == (header, CANARY)
    path.write_text("\ufeffnewer\n", "utf-8")
    assert token_of(connection) == "newer"


def test_a_file_that_others_can_read_is_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the command that fixes it, at the line that connects; the token is used anyway."""
    path = tmp_path / "token"
    path.write_text(CANARY)
    path.chmod(0o644)
    with pytest.warns(
        UserWarning,
        match="Other users of this machine can read the token_file of profile 'work'(.|\n)*chmod 600",
    ) as warned:
        connection = with_source(tmp_path, f'token_file = "{path}"')
    assert token_of(connection) == CANARY
    assert CANARY not in str(warned[0].message)
    monkeypatch.setenv("FUNCS_CONFIG", str(tmp_path / "c.toml"))
    with pytest.warns(UserWarning, match="chmod 600") as warned:
        connect("work")
    assert [warning.filename for warning in warned] == [__file__]


@pytest.mark.parametrize(
    "kind", ["absent", "folder", "pipe", "bytes", "long", "two lines", "empty"]
)
def test_a_file_that_holds_no_token_is_named(tmp_path: Path, kind: str) -> None:
    """Each error names the profile and the source; a pipe isn't waited for."""
    path = tmp_path / "it"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind != "absent":
        contents = {
            "bytes": b"\xff\xfe" + CANARY.encode(),
            "long": CANARY.encode() * 9000,
            "empty": b"\n",
        }
        path.write_bytes(contents.get(kind, f"{CANARY}\n{CANARY}".encode()))
        path.chmod(0o600)
    if kind == "long":
        assert (
            len(token_of(with_source(tmp_path, f'token_file = "{path}"'))) == 64 * 1024
        )
        return
    with pytest.raises(ConfigError, match="oken_file of profile 'work'") as caught:
        with_source(tmp_path, f'token_file = "{path}"')
    assert CANARY not in "".join(traceback.format_exception(caught.value))
    assert 1 <= len(caught.value.lines) <= 3


def program(tmp_path: Path, code: str) -> str:
    """Return the line of a profile whose command is a Python program."""
    path = tmp_path / "program.py"
    path.write_text(code)
    return f"token_command = {json.dumps([sys.executable, '-I', '-S', str(path)])}"


def test_a_command_is_asked_once_until_its_token_is_refused_or_about_to_end(
    tmp_path: Path,
) -> None:
    """Its output is cached, and the command runs again only when necessary."""
    tokens = [
        jwt({"exp": time.time() + 3600, "n": 1}),
        jwt({"exp": time.time() + 30}),
        "opaque",
        "newest",
    ]
    (tmp_path / "left").write_text("\n".join(tokens))
    code = (
        "import pathlib; p = pathlib.Path(__file__).with_name('left'); "
        "first, _, rest = p.read_text().partition('\\n')"
    )
    connection = with_source(
        tmp_path, program(tmp_path, f"{code}; p.write_text(rest); print(first)")
    )
    assert connection is not None
    source = connection.token
    assert isinstance(source, TokenSource)
    secret = source()
    assert [secret.reveal(), token_of(connection)] == [tokens[0]] * 2
    source.reject(Secret("another"))
    assert source() is secret
    source.reject(secret)
    assert [token_of(connection), token_of(connection), token_of(connection)] == [
        tokens[1],
        "opaque",
        "opaque",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "error"),
    [
        (
            "import sys; print('TOKEN'); print('TOKEN', file=sys.stderr); sys.exit(3)",
            "ended with status 3",
        ),
        ("import sys; print('TOKEN', file=sys.stderr)", "The token is empty"),
        ("print('TOKEN TOKEN')", "characters that no token has"),
        ("import os; os.write(1, b'\\xffTOKEN')", "its output is not UTF-8 text"),
        ("import sys; sys.exit(len(input()))", "ended with status 1"),
        ("import os\nwhile True: os.write(1, b'TOKEN' * 9999)", "ended with status"),
        (
            "import subprocess, time; subprocess.Popen(['sleep', '60']); time.sleep(60)",
            "no answer within 0.5 s",
        ),
        (
            "import subprocess; subprocess.Popen(['sleep', '60'], start_new_session=True)",
            "no answer within 0.5 s",
        ),
    ],
)
def test_a_command_that_gives_no_token_is_named_and_not_quoted(
    tmp_path: Path,
    code: str,
    error: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Neither its output nor its errors are shown; one that hangs is killed with its children."""
    if "0.5" in error:
        monkeypatch.setattr(tokens, "COMMAND_SECONDS", 0.5)
    connection = with_source(tmp_path, program(tmp_path, code.replace("TOKEN", CANARY)))
    assert connection is not None
    with pytest.raises(FuncsError, match="oken_command of profile 'work'") as caught:
        connection.token()
    assert error in caught.value.what
    assert CANARY not in "".join(traceback.format_exception(caught.value)) + "".join(
        capfd.readouterr()
    )


@pytest.mark.slow
def test_a_command_that_hangs_is_ended_with_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No process survives. A busy machine takes longer to start the command, which then has more time."""
    code = "import pathlib, subprocess\nchild = subprocess.Popen(['sleep', '3600'])\n"
    code += "part = pathlib.Path(__file__).with_name('part')\npart.write_text(str(child.pid))\n"
    code += "part.rename(part.with_name('pid'))\nchild.wait()"
    connection = with_source(tmp_path, program(tmp_path, code))
    for seconds in (0.5, 5, 50):
        monkeypatch.setattr(tokens, "COMMAND_SECONDS", seconds)
        with pytest.raises(FuncsError, match="no answer within"):
            token_of(connection)
        if (tmp_path / "pid").exists():
            break
    child = int((tmp_path / "pid").read_text())
    wait_until(lambda: not is_running(child))


def test_a_command_that_is_not_there_is_named(tmp_path: Path) -> None:
    """So is one with a NUL, and one written as a string, which no shell interprets."""
    for command, error in {
        "/no/such": "No such file",
        "a\\u0000b": "characters",
    }.items():
        connection = with_source(tmp_path, f'token_command = "{command}"')
        with pytest.raises(FuncsError, match=error):
            token_of(connection)
    assert token_of(with_source(tmp_path, 'token_command = "echo $HOME"')) == "$HOME"


def test_a_home_that_cannot_be_written_or_is_none_changes_nothing() -> None:
    """Connecting reads and writes nothing there (FAULTS 106)."""
    code = (
        "import os, jupyter_funcs as jf; from jupyter_funcs.connection.profiles import resolve\n"
        "for os.environ['HOME'] in ('/dev/null', '/proc/self/fdinfo'): print(resolve(), jf.connect().service)"
    )
    env = {
        "HOME": "/dev/null",
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("None demo\n" * 2, "")


def test_a_callable_is_asked_for_each_request() -> None:
    """An expired token is fetched again; an invalid one is refused at once."""
    given_tokens = iter(["first", "second", "bad token"])
    connection = resolve(HOST, lambda: next(given_tokens), environment={})
    assert [token_of(connection), token_of(connection)] == ["first", "second"]
    with pytest.raises(ConfigError):
        token_of(connection)


def test_without_a_token_the_message_says_where_to_give_it(
    profiles: dict[str, str],
) -> None:
    """Each way to choose a service has its own hint; an address alone may be a document for everybody."""
    for hint, use in {
        "FUNCS_TOKEN": lambda: resolve(environment={"FUNCS_BASE_URL": HOST}),
        "token_env": lambda: resolve("bare", environment=profiles),
    }.items():
        with pytest.raises(ConfigError, match="There is no token for") as caught:
            use()
        assert hint in caught.value.hint
        assert 'kind = "openapi" or "mcp"' in caught.value.hint


def test_the_environment_is_that_of_the_process_when_none_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is read when needed, not on import."""
    for name, value in ENV.items():
        monkeypatch.setenv(name, value)
    assert token_of(resolve()) == CANARY
