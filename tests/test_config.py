"""Where requests go and which token goes there is decided once, and the token shows itself nowhere."""

from __future__ import annotations

import base64
import copy
import dataclasses
import json
import logging
import math
import pickle
import traceback
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_funcs.config import Connection, Secret, profiles_file, resolve
from jupyter_funcs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CANARY = "c4n4ry-t0ken-8d1f"
HOST = "https://funcs.example.org"


def jwt(payload: Any) -> str:
    """Give a token that reads like a JWT; nobody checks its signature here."""
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
    """Whatever turns values into text gets a mask; only `reveal` gives the token."""
    secret = Secret(CANARY)
    shown = show(secret)
    assert CANARY not in f"{shown} {shown!r}"
    assert secret.reveal() == CANARY


@pytest.mark.parametrize(
    "take", [pickle.dumps, copy.copy, copy.deepcopy, vars, json.dumps, lambda secret: secret.__dict__]
)
def test_a_secret_is_neither_copied_nor_saved(take: Callable[[Secret], object]) -> None:
    """`%store`, a process pool and a debugger's list get an error without the token."""
    with pytest.raises((TypeError, AttributeError)) as caught:
        take(Secret(CANARY))
    assert CANARY not in str(caught.value)


def test_a_secret_in_a_log_is_masked(caplog: pytest.LogCaptureFixture) -> None:
    """Also where the arguments of a record are kept."""
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("any").debug("sent %s %r", Secret(CANARY), resolve(HOST, CANARY))
    assert "Secret('****')" in caplog.text
    assert CANARY not in caplog.text + repr([record.__dict__ for record in caplog.records])


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
    """Quotes, line ends and a byte order mark around a token are not of it (FAULTS 89)."""
    assert Secret(text).reveal() == CANARY


@pytest.mark.parametrize(
    "inside", [" ", "\n", "\r\n", "\t", "\0", "\x1b[31m", "é", "“", "\u200b", "\u202e", "\ud800"], ids=ascii
)
def test_a_token_with_characters_that_no_token_has_is_refused_unseen(inside: str) -> None:
    """The message says what is wrong and never with what (FAULTS 89)."""
    with pytest.raises(ConfigError, match="characters that no token has") as caught:
        Secret(f"{CANARY}{inside}{CANARY}")
    assert CANARY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("empty", ["", " ", "\n", "''", "“”"])
def test_an_empty_token_is_named(empty: str) -> None:
    """A variable that is set to nothing is no token."""
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


@pytest.mark.parametrize(
    ("token", "end"),
    [
        (jwt({"exp": 1_700_000_000}), 1_700_000_000.0),
        (jwt({"exp": 1_700_000_000.5}), 1_700_000_000.5),
        (jwt({"exp": 0}), 0.0),
        (jwt({"exp": 10**30}), 1e30),
        (jwt({"sub": "ada"}), math.inf),
        (jwt({"exp": "1700000000"}), math.inf),
        (jwt({"exp": True}), math.inf),
        (jwt({"exp": None}), math.inf),
        (jwt([1]), math.inf),
        (jwt("exp"), math.inf),
        (CANARY, math.inf),
        ("a.b", math.inf),
        ("a.b.c", math.inf),
        ("..", math.inf),
        ("a.!!!!.c", math.inf),
        ("a.bm90IGpzb24.c", math.inf),
        ("a." + base64.urlsafe_b64encode(b"[" * 100_000).decode() + ".c", math.inf),
        ("a." + base64.urlsafe_b64encode(b'{"exp": 1' + b"0" * 400 + b"}").decode() + ".c", math.inf),
        ("a." + base64.urlsafe_b64encode(b'{"exp": 1e999}').decode() + ".c", math.inf),
    ],
    ids=lambda value: str(value)[:40],
)
def test_the_end_of_a_jwt_is_read_and_an_opaque_token_has_none(token: str, end: float) -> None:
    """A payload that cannot be read makes a token opaque, not wrong (SERVICE.md 2)."""
    assert Secret(token).expires_at == end


@given(st.binary(max_size=60))
def test_no_payload_makes_reading_the_end_fail(payload: bytes) -> None:
    """Anything may stand between two dots."""
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
    """Give an environment with a file of profiles."""
    path = tmp_path / "config.toml"
    path.write_text(PROFILES)
    return {"FUNCS_CONFIG": str(path)}


def token_of(connection: Connection | None) -> str:
    assert connection is not None
    return connection.token().reveal()


def test_nothing_configured_is_the_demo(tmp_path: Path) -> None:
    """No argument, no environment, no profile: `None`, which stands for the embedded service."""
    assert resolve(environment={}) is None
    assert resolve(environment={"FUNCS_CONFIG": str(tmp_path / "absent.toml")}) is None
    assert resolve(environment={"FUNCS_BASE_URL": "", "FUNCS_TOKEN": "", "FUNCS_PROFILE": ""}) is None


def test_the_environment_wins_over_a_profile_and_an_argument_over_both(profiles: dict[str, str]) -> None:
    """FUNCS_BASE_URL, then FUNCS_PROFILE; what stands in the call comes first."""
    env = {**profiles, **ENV, "FUNCS_PROFILE": "work", "WORK_TOKEN": "work-token"}
    connection = resolve(environment=env)
    assert connection is not None
    assert (connection.name, connection.base_url, connection.header) == ("funcs.example.org", HOST, "Authorization")
    assert token_of(connection) == CANARY
    work = resolve(environment={**env, "FUNCS_BASE_URL": ""})
    assert work is not None
    assert (work.name, work.base_url, token_of(work)) == ("work", f"{HOST}/funcs", "work-token")
    assert token_of(resolve("keyed", "given", environment=env)) == "given"
    other = resolve("https://other.example.org", "given", environment=env)
    assert other is not None
    assert (other.base_url, token_of(other)) == ("https://other.example.org", "given")


def test_an_api_key_goes_in_its_own_header(profiles: dict[str, str]) -> None:
    """From the call, the environment or a profile; never beside a token (SERVICE.md 2)."""
    for connection in (
        resolve(HOST, api_key=CANARY, environment={}),
        resolve(environment={"FUNCS_BASE_URL": HOST, "FUNCS_API_KEY": CANARY}),
        resolve("keyed", environment={**profiles, "WORK_KEY": CANARY}),
    ):
        assert connection is not None
        assert (connection.header, token_of(connection)) == ("X-Api-Key", CANARY)
    with pytest.raises(ConfigError, match="both"):
        resolve(HOST, CANARY, CANARY, environment={})
    with pytest.raises(ConfigError, match="both"):
        resolve(environment={**ENV, "FUNCS_API_KEY": "k"})


@pytest.mark.parametrize(
    "where", [HOST, HOST + "/", HOST + ":443", HOST.upper().replace("HTTPS", "https"), HOST + "/funcs", f" {HOST} "]
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
    """Another host, port or scheme gets no token that was not given for it."""
    with pytest.raises(ConfigError, match="There is no token for"):
        resolve(where, environment=ENV)


def test_a_profile_gets_no_token_of_the_environment(profiles: dict[str, str]) -> None:
    """A profile names the variable that holds its own."""
    with pytest.raises(ConfigError, match="There is no token for https://bare"):
        resolve("bare", environment={**profiles, **ENV})
    assert token_of(resolve("bare", "given", environment={**profiles, **ENV})) == "given"


@pytest.mark.parametrize("env", [{"FUNCS_TOKEN": CANARY}, {"FUNCS_API_KEY": CANARY}])
def test_a_token_without_an_address_is_no_demo(env: dict[str, str]) -> None:
    """Whoever set a token meant a service, and would take invented data for real."""
    with pytest.raises(ConfigError, match="no address to send it to") as caught:
        resolve(environment=env)
    assert CANARY not in str(caught.value)
    with pytest.raises(ConfigError, match="no address to send it to"):
        resolve(token=CANARY, environment={})
    with pytest.raises(ConfigError, match="no address to send it to"):
        resolve(api_key=CANARY, environment={})


def test_an_absent_profile_names_the_nearest(profiles: dict[str, str], tmp_path: Path) -> None:
    """Never the demo in its place; without a near one, how to write it."""
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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[profiles.work", "cannot be read"),
        ("profiles = 3", "no profile 'work'"),
        ("[profiles]\nwork = 3", "no profile 'work'"),
        ("[profiles.work]", "has no url"),
        ("[profiles.work]\nurl = 3", "has no url"),
        (f'[profiles.work]\nurl = "{HOST}"\ntoken = "{CANARY}"', "unknown key 'token'"),
        (f'[profiles.work]\nurl = "{HOST}"\nverify = false', "unknown key 'verify'"),
        (f'[profiles.work]\nurl = "{HOST}"\ntoken_env = "ABSENT"', "names in token_env is not set"),
        (f'[profiles.work]\nurl = "{HOST}"\ntoken_env = 5', "names in token_env is not set"),
        (f'[profiles.work]\nurl = "{HOST}"\ntoken_env = "A"\napi_key_env = "B"', "both"),
        ('[profiles.work]\nurl = "http://funcs.example.org"\ntoken_env = "A"', "unencrypted"),
        (b"\xff\xfe", "cannot be read"),
    ],
    ids=ascii,
)
def test_a_broken_profile_is_named_with_what_is_wrong(text: str | bytes, words: str, tmp_path: Path) -> None:
    """Bad TOML, a wrong type, an unknown key: one to three lines, and no value that may be a token."""
    path = tmp_path / "config.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError) as caught:
        resolve("work", environment={"FUNCS_CONFIG": str(path), "A": "a", "B": "b"})
    assert words in str(caught.value)
    assert CANARY not in str(caught.value)
    assert 1 <= len(caught.value.lines) <= 3


def test_a_folder_in_place_of_the_profiles_is_named(tmp_path: Path) -> None:
    """What the system says is passed on."""
    with pytest.raises(ConfigError, match="cannot be read"):
        resolve("work", environment={"FUNCS_CONFIG": str(tmp_path)})


def test_the_file_of_profiles_is_where_the_environment_says(tmp_path: Path) -> None:
    """Else in the user's configuration folder, which is not made for it."""
    assert profiles_file({"FUNCS_CONFIG": str(tmp_path / "x.toml")}) == tmp_path / "x.toml"
    assert "~" not in str(profiles_file({"FUNCS_CONFIG": "~/x.toml"}))
    assert profiles_file({}).name == "config.toml"


@pytest.mark.parametrize(
    ("where", "base_url"),
    [
        ("https://funcs.example.org/", HOST),
        ("  https://FUNCS.example.org/a/b//  ", HOST + "/a/b"),
        ("https://funcs.example.org:8443", HOST + ":8443"),
        ("https://funcs.example.org?x=1#y", HOST),
        ("http://localhost:8000", "http://localhost:8000"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("HTTPS://funcs.example.org", HOST),
    ],
)
def test_an_address_is_kept_without_what_follows_its_path(where: str, base_url: str) -> None:
    """Plain http only to this machine."""
    connection = resolve(where, CANARY, environment={})
    assert connection is not None
    assert connection.base_url == base_url
    assert connection.name == base_url.partition("://")[2]
    assert not connection.synthetic


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("http://funcs.example.org", "would send your token unencrypted"),
        ("http://localhost.evil.org", "would send your token unencrypted"),
        ("http://127.0.0.1.evil.org", "would send your token unencrypted"),
        ("http://192.168.0.1:8000", "would send your token unencrypted"),
        (f"https://ada:{CANARY}@funcs.example.org", "holds a user name or a password"),
        (f"https://{CANARY}@funcs.example.org", "holds a user name or a password"),
        (f"https://ada:{CANARY}@[bad", "cannot be read"),
        (f"https://ada:{CANARY}/x@funcs.example.org", "cannot be read"),
        (f"https://ada:{CANARY}#x@funcs.example.org", "cannot be read"),
        ("https://", "is not an address"),
        ("https:///path", "is not an address"),
        ("ftp://funcs.example.org", "is not an address"),
        ("file:///etc/passwd", "is not an address"),
        ("://", "is not an address"),
        ("https://host:port", "cannot be read"),
        ("https://host:99999", "cannot be read"),
        ("https://a b", "is not an address"),
        ("https://ho\x00st", "is not an address"),
        ("https://ho\x1bst", "is not an address"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_before_anything_is_sent(where: str, words: str) -> None:
    """Unencrypted, with a password in it, or junk (FAULTS 18, 19); a password is masked."""
    with pytest.raises(ConfigError) as caught:
        resolve(where, CANARY, environment={})
    assert words in str(caught.value)
    assert CANARY not in "".join(traceback.format_exception(caught.value))
    with pytest.raises(ConfigError):
        resolve(environment={"FUNCS_BASE_URL": where, "FUNCS_TOKEN": CANARY})


@given(st.text(st.characters(), max_size=30), st.sampled_from(["", "https://", "http://", "https://["]))
def test_no_address_makes_it_fail_otherwise(text: str, scheme: str) -> None:
    """Any text is an address, the name of an absent profile, or a ConfigError."""
    try:
        connection = resolve(scheme + text, CANARY, environment={"FUNCS_CONFIG": "/absent/config.toml"})
    except ConfigError:
        return
    assert connection is not None
    assert connection.base_url.startswith(("https://", "http://"))


def test_a_callable_is_asked_for_each_request() -> None:
    """A token that ends is fetched anew; a bad one is refused when it is given."""
    given_tokens = iter(["first", "second", "bad token"])
    connection = resolve(HOST, lambda: next(given_tokens), environment={})
    assert [token_of(connection), token_of(connection)] == ["first", "second"]
    with pytest.raises(ConfigError):
        token_of(connection)


def test_without_a_token_the_message_says_where_to_give_it(profiles: dict[str, str]) -> None:
    """Each way to name a service has its own hint."""
    for hint, use in {
        "connect(url, token=…)": lambda: resolve(HOST, environment={}),
        "FUNCS_TOKEN": lambda: resolve(environment={"FUNCS_BASE_URL": HOST}),
        "token_env": lambda: resolve("bare", environment=profiles),
    }.items():
        with pytest.raises(ConfigError, match="There is no token for") as caught:
            use()
        assert hint in caught.value.hint


def test_the_environment_is_that_of_the_process_when_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read when it is asked for, and not on import."""
    for name, value in ENV.items():
        monkeypatch.setenv(name, value)
    assert token_of(resolve()) == CANARY
