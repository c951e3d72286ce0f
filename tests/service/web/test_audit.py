"""The audit: who did what, when, from where and with which outcome, and no secret (FAULTS.md 140)."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx
import jwt
import pytest

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.service.accounts.account_records import SCHEMA, AuditRecord, utc
from jupyter_funcs.service.accounts.auth import Auth
from jupyter_funcs.service.accounts.database import Database
from jupyter_funcs.service.accounts.grants import Grants
from jupyter_funcs.service.accounts.signing_keys import SigningKeys
from jupyter_funcs.service.builtin import companies, demo
from jupyter_funcs.service.engine.duckdb_engine import DuckDBEngine
from jupyter_funcs.service.publishing.registry import Registry, function
from jupyter_funcs.service.web import logins, middleware
from jupyter_funcs.service.web.hosts import Hosts
from jupyter_funcs.service.web.runs import Limits
from tests.examples import row_id
from tests.service.conftest import LOGIN, RUN, Wire, becomes, served, serving_to

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PASSWORD = "correct horse battery"
TYPED = "Canary-b81f55e0"


def lists() -> list[dict[str, int]]:
    """List three rows."""
    return [{"a": number} for number in range(3)]


def fails(text: str) -> None:
    """Fail with its argument in the message."""
    raise ValueError(text)


def naps(seconds: float) -> str:
    """Do nothing for a while."""
    time.sleep(seconds)
    return "rested"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "accounts.sqlite"


@pytest.fixture
def grants(path: Path) -> Iterator[Grants]:
    grants = Grants(path)
    grants.add_asset("a", organisation="t", is_shared=True)
    grants.add_user("ann", organisation="t", email="ann@t.example")
    grants.set_password("ann", PASSWORD)
    yield grants
    grants.close()


def serving(grants: Grants, **limits: Any) -> Wire:
    own = [function(asset="a")(python) for python in (lists, fails, naps)]
    registry = Registry([*demo.published("a", None), *own], author="t")
    engine = DuckDBEngine(companies.reference(), demo.cards)
    hosts = Hosts(behind_proxy=True)
    return serving_to(
        "ann", grants, registry, engine, limits=Limits(**limits), hosts=hosts
    )


@pytest.fixture
def wire(grants: Grants) -> Wire:
    """A service whose accounts are in a file; `ann` calls."""
    return serving(grants)


def recorded(grants: Grants, action: str, count: int = 1) -> list[AuditRecord]:
    """Return the records of an action as soon as there are so many."""
    assert becomes(
        lambda: (
            len(grants.audit.find(None, action, None, None, None, limit=1000)) >= count
        )
    )
    records = grants.audit.find(None, action, None, None, None, limit=1000)
    assert len(records) == count
    return records


# What is recorded.


def test_a_run_is_recorded_with_its_user_time_address_outcome_and_duration(
    wire: Wire,
) -> None:
    """FAULTS.md 140."""
    before = utc(datetime.now(UTC))
    wire.post(
        RUN, json={"FunctionName": "Lists"}, headers={"X-Forwarded-For": "192.0.2.7"}
    )
    [record] = recorded(wire.grants, "run")
    assert before < record.time < utc(datetime.now(UTC))
    assert datetime.fromisoformat(record.time).tzinfo == UTC
    assert len(record.time) == len("2026-01-31T12:00:00.000000+00:00")
    assert record[1:7] == ("ann", "run", "Lists", None, "192.0.2.7", "ok")
    assert 0 < (record.seconds or 0) < 60
    assert record.rows == 3


@pytest.mark.parametrize(
    "accept", ["application/json", "application/vnd.apache.arrow.stream"]
)
@pytest.mark.parametrize(
    ("name", "args", "rows"),
    [("Lists", {}, 3), ("Get Panels", {}, 2), ("Naps", {"seconds": "0"}, None)],
    ids=row_id,
)
def test_the_rows_of_a_result_are_counted(
    wire: Wire, accept: str, name: str, args: dict[str, str], rows: int | None
) -> None:
    """FAULTS.md 140: of records, a query and a scalar, in either form."""
    wire.post(
        RUN, json={"FunctionName": name, "Args": args}, headers={"Accept": accept}
    )
    [record] = recorded(wire.grants, "run")
    assert (record.target, record.outcome, record.rows) == (name, "ok", rows)


@pytest.mark.parametrize(
    ("body", "target", "detail", "outcome"),
    [
        pytest.param(
            {"FunctionName": "Fails", "Args": {"text": TYPED}},
            "Fails",
            None,
            "failed",
            id="failed",
        ),
        pytest.param(
            {"FunctionName": "Fails", "Args": {TYPED: TYPED}},
            "Fails",
            "422",
            "refused",
            id="wrong arguments",
        ),
        pytest.param(
            {"FunctionName": TYPED}, None, "404", "refused", id="an unknown function"
        ),
        pytest.param(
            {"FunctionName": 1, TYPED: TYPED}, None, "400", "refused", id="no run"
        ),
    ],
)
def test_a_run_without_a_result_is_recorded_with_its_status(
    wire: Wire,
    body: dict[str, Any],
    target: str | None,
    detail: str | None,
    outcome: str,
) -> None:
    """FAULTS.md 140."""
    wire.post(RUN, json=body)
    [record] = recorded(wire.grants, "run")
    assert (record.user, record.target, record.detail, record.outcome) == (
        "ann",
        target,
        detail,
        outcome,
    )


@pytest.mark.slow
def test_a_run_over_its_time_is_recorded_as_such(grants: Grants) -> None:
    """FAULTS.md 140."""
    serving(grants, run_seconds=0.4).call("Naps", {"seconds": "1"})
    [record] = recorded(grants, "run")
    assert record[3:7] == ("Naps", "504", "127.0.0.1", "timeout")
    assert (record.seconds or 0) >= 0.4


def test_a_run_whose_caller_leaves_is_recorded_as_cancelled(wire: Wire) -> None:
    """FAULTS.md 140."""

    async def leave() -> None:
        async with wire.client() as client:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.1):
                    await client.post(
                        RUN, json={"FunctionName": "Naps", "Args": {"seconds": "0.3"}}
                    )

    asyncio.run(leave())
    [record] = recorded(wire.grants, "run")
    assert (record.detail, record.outcome) == ("499", "cancelled")


@pytest.mark.parametrize(
    ("name", "password", "user", "outcome"),
    [
        ("ann", PASSWORD, "ann", "ok"),
        ("ANN@t.example", PASSWORD, "ann", "ok"),
        ("ANN", TYPED, "ann", "refused"),
        ("ann@T.example", TYPED, "ann", "refused"),
        (TYPED, TYPED, None, "refused"),
        (f"{TYPED}\x1b[2J\0", TYPED, None, "refused"),
    ],
)
def test_a_login_is_recorded_and_its_name_only_if_it_is_an_accounts(
    wire: Wire, name: str, password: str, user: str | None, outcome: str
) -> None:
    """FAULTS.md 140: people type passwords into the field for the name."""
    credentials = {"email": name, "password": password}
    status = wire.post(
        LOGIN, token=None, json=credentials, headers={"X-Forwarded-For": "192.0.2.7"}
    ).status_code
    [record] = recorded(wire.grants, "login")
    assert record[1:7] == (
        user,
        "login",
        None,
        None if status == 200 else "401",
        "192.0.2.7",
        outcome,
    )


@pytest.mark.parametrize("end", ["revoke", "disable", "remove"])
def test_a_token_that_is_used_after_it_was_revoked_is_recorded(
    wire: Wire, end: str
) -> None:
    """FAULTS.md 140: and so is what revoked it."""
    CHANGES[f"users {end}"](wire.grants)
    assert wire.call("Lists").status_code == 401
    [record] = recorded(wire.grants, "token use")
    assert record[1:7] == (
        "ann",
        "token use",
        "revoked token",
        "401",
        "127.0.0.1",
        "refused",
    )
    [change] = recorded(wire.grants, f"users {end}")
    assert (change.target, change.address, change.outcome) == ("ann", "shell", "ok")


UNKNOWN = (None, "unknown token or key")


@pytest.mark.parametrize(
    ("headers", "about"),
    [
        pytest.param(
            lambda wire: bearer(expired(wire)), ("ann", "expired token"), id="expired"
        ),
        pytest.param(
            lambda wire: bearer(foreign(wire)), UNKNOWN, id="signed elsewhere"
        ),
        pytest.param(lambda wire: bearer(wire.token[:-2]), UNKNOWN, id="cut"),
        pytest.param(lambda _: bearer(TYPED), UNKNOWN, id="garbage"),
        pytest.param(
            lambda wire: {"X-Api-Key": wire.grants.add_key("ann") + "x"},
            UNKNOWN,
            id="wrong key",
        ),
        pytest.param(
            lambda wire: bearer(wire.token) | {"X-Api-Key": "jf_1_x"},
            UNKNOWN,
            id="token and wrong key",
        ),
        pytest.param(lambda _: {}, None, id="nothing"),
    ],
)
def test_what_is_refused_is_recorded_with_its_user_only_if_the_service_signed_it(
    wire: Wire,
    headers: Callable[[Wire], dict[str, str]],
    about: tuple[str | None, str] | None,
) -> None:
    """FAULTS.md 140: whoever calls without credentials, such as a scanner, isn't."""
    sent = headers(wire) | {"X-Forwarded-For": "192.0.2.7"}
    assert (
        wire.post(
            RUN, token=None, json={"FunctionName": TYPED}, headers=sent
        ).status_code
        == 401
    )
    wire.grants.audit.close()
    records = [
        record[1:7]
        for record in wire.grants.audit.find(*[None] * 5, limit=100)
        if record.address != "shell"
    ]
    assert records == (
        [(about[0], "token use", about[1], "401", "192.0.2.7", "refused")]
        if about
        else []
    )


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def expired(wire: Wire) -> str:
    """Return a token of `ann` that has ended a moment ago."""
    claims = jwt.decode(wire.token, options={"verify_signature": False})
    [key] = wire.auth.keys.accepted
    return jwt.encode(claims | {"exp": claims["iat"] + 1e-6}, key, algorithm="HS256")


def foreign(wire: Wire) -> str:
    return Auth(SigningKeys.in_memory(), wire.grants).issue("ann", 1)


def test_a_login_that_is_refused_unchecked_is_recorded(grants: Grants) -> None:
    """FAULTS.md 140."""
    wire = serving(grants, wrong_logins_per_name=1)
    for _ in range(2):
        wire.post(LOGIN, token=None, json={"email": "Ann", "password": TYPED})
    wrong, refused = recorded(grants, "login", 2)
    assert (wrong.user, wrong.detail, wrong.outcome) == ("ann", "401", "refused")
    assert (refused.user, refused.detail, refused.outcome) == ("ann", "429", "refused")


@pytest.mark.slow
def test_a_flood_of_refusals_is_one_record_a_minute_for_each_account_and_network(
    grants: Grants, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FAULTS.md 140: of logins that no password was checked for, and of tokens; an IPv6 network of 64 bits is one."""
    monkeypatch.setattr(logins, "_DELAY_SECONDS", 0)
    grants.add_user("bob", organisation="t")
    wire = serving(grants, wrong_logins_per_name=1)
    networks = ["192.0.2.7", "192.0.2.8", "2001:db8::1", "2001:db8::2"] * 5
    with served(wire.app) as address:
        over_http = Wire(httpx.AsyncHTTPTransport, address, wire.token)
        for network in networks:
            for name in ("ann", "bob"):
                credentials = {"email": name, "password": TYPED}
                over_http.post(
                    LOGIN,
                    token=None,
                    json=credentials,
                    headers={"X-Forwarded-For": network},
                )
            for token in (expired(wire), foreign(wire)):
                over_http.post(
                    RUN, token=token, json={}, headers={"X-Forwarded-For": network}
                )
        details = [record.detail for record in recorded(grants, "login", 12)]
        uses = recorded(grants, "token use", 6)
        assert (details.count("401"), details.count("429")) == (6, 6)
        assert [(record.user, record.address) for record in uses] == [
            (user, network) for network in networks[:3] for user in ("ann", None)
        ]


def test_a_minute_later_a_refusal_is_recorded_again(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FAULTS.md 140: also when more arrived meanwhile than are remembered."""
    monkeypatch.setattr(middleware, "_MOST_REFUSED", 2)
    for caller in ("192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.3", "192.0.2.1"):
        wire.post(RUN, token=expired(wire), headers={"X-Forwarded-For": caller})
    wire.grants.audit.close()
    assert [record.address[-1] for record in recorded(wire.grants, "token use", 4)] == [
        "1",
        "2",
        "3",
        "1",
    ]
    again = serving(wire.grants)
    monkeypatch.setattr(middleware, "_BETWEEN_REFUSALS", 0)
    for _ in range(2):
        again.post(RUN, token=expired(again))
    again.grants.audit.close()
    recorded(wire.grants, "token use", 6)


def test_no_secret_and_nothing_that_a_caller_typed_is_in_the_files(
    wire: Wire, path: Path
) -> None:
    """FAULTS.md 140: no file of the database contains it."""
    key = wire.grants.add_key("ann", label="nightly")
    for name, args in (
        (TYPED, {}),
        ("Fails", {"text": TYPED}),
        ("Lists", {TYPED: TYPED}),
    ):
        wire.post(
            RUN,
            token=None,
            json={"FunctionName": name, "Args": args},
            headers={"X-Api-Key": key},
        )
    wire.call("Lists")
    for name, password in (
        (TYPED, TYPED),
        ("ann", TYPED),
        ("ann", PASSWORD),
        (PASSWORD, "ann"),
    ):
        wire.post(LOGIN, token=None, json={"email": name, "password": password})
    wire.grants.revoke("ann")
    wire.post(
        RUN,
        json={"FunctionName": TYPED},
        headers={"User-Agent": TYPED, "X-Request-Id": TYPED},
    )
    recorded(wire.grants, "login", 4)
    recorded(wire.grants, "token use")
    content = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"token use" in content
    for secret in (
        TYPED,
        PASSWORD,
        key,
        key.split("_", 2)[2],
        wire.token,
        wire.token.split(".")[2],
    ):
        assert secret.encode() not in content


# How it is written.


@pytest.mark.parametrize("milliseconds", [50, 3_600_000])
def test_a_run_does_not_wait_for_the_audit_and_nothing_is_lost_while_the_file_is_locked(
    wire: Wire, path: Path, caplog: pytest.LogCaptureFixture, milliseconds: int
) -> None:
    """FAULTS.md 140: not even where the audit waits for an hour."""
    wire.call("Lists")
    recorded(wire.grants, "run")
    wire.grants.database._writer.execute(f"PRAGMA busy_timeout = {milliseconds}")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert [wire.call("Lists").status_code for _ in range(3)] == [200] * 3
        if milliseconds == 50:
            assert becomes(lambda: "audit records are not written yet" in caplog.text)
        other.execute("ROLLBACK")
    wire.call("Lists")
    times = [record.time for record in recorded(wire.grants, "run", 5)]
    assert times == sorted(times)


@pytest.mark.slow
def test_what_waits_is_bounded_and_to_record_waits_for_nothing(grants: Grants) -> None:
    """FAULTS.md 140: nothing can be written meanwhile."""
    with grants.database.change():
        for number in range(20_000):
            grants.audit.record(
                "run", "ann", f"function {number}", None, "127.0.0.1", "ok", 0.1, 1
            )
    grants.audit.close()
    records = grants.audit.find(None, "run", None, None, None, limit=100_000)
    assert 10_000 <= len(records) <= 10_001
    assert records[-1].target == "function 19999"


def test_closing_writes_what_waits_and_what_comes_later_is_no_error(
    grants: Grants, path: Path
) -> None:
    grants.audit.record("run", "ann", "f", None, "127.0.0.1", "ok")
    grants.close()
    grants.audit.record("run", "ann", "g", None, "127.0.0.1", "ok")
    again = Grants(path)
    assert [record.target for record in recorded(again, "run")] == ["f"]
    again.close()


def test_accounts_in_memory_record_no_runs() -> None:
    """A notebook's demo would only take memory."""
    grants = Grants()
    grants.audit.record("run", "ann", "f", None, "127.0.0.1", "ok")
    grants.audit.close()
    assert grants.audit.find(None, "run", None, None, None, limit=10) == []


def test_old_records_are_removed_and_a_flood_of_one_kind_displaces_no_other(
    grants: Grants,
) -> None:
    """FAULTS.md 140: by age, except for what the next start compares with, and by number."""
    old = utc(datetime.now(UTC) - timedelta(days=91))
    grants.audit.served("service.toml")
    grants.audit.published({"f": "one"})
    grants.audit.record("run", "ann", "first", None, "127.0.0.1", "ok")
    recorded(grants, "run")
    with grants.database.change() as sql:
        sql.execute("UPDATE audit SET time = ?", (old,))
    grants.audit.rows = 10
    grants.set_password("ann", PASSWORD)
    grants.audit.record("run", "ann", "kept", None, "127.0.0.1", "ok")
    for _ in range(1200):
        grants.audit.record("login", None, None, "401", "127.0.0.1", "refused")
    grants.audit.close()
    records = grants.audit.find(None, None, None, None, None, limit=10_000)
    assert 10 <= sum(record.action == "login" for record in records) < 1010
    kept = [record[2:4] for record in records if record.action != "login"]
    assert kept == [
        ("serve", "service.toml"),
        ("publish", "f"),
        ("users password", "ann"),
        ("run", "kept"),
    ]


CHANGES: dict[str, Callable[[Grants], Any]] = {
    "users add": lambda grants: grants.add_user("zoe", organisation="t"),
    "users remove": lambda grants: grants.remove("user", "ann"),
    "users disable": lambda grants: grants.revoke("ann", is_disabled=True),
    "users password": lambda grants: grants.set_password("ann", TYPED),
    "users revoke": lambda grants: grants.revoke("ann"),
    "assets add": lambda grants: grants.add_asset("b", organisation="t"),
    "assets remove": lambda grants: grants.remove("asset", "a"),
    "assets unshare": lambda grants: grants.share("a", is_shared=False),
    "grants add": lambda grants: grants.grant("ann", "a"),
    "grants remove": lambda grants: grants.withdraw("bob", "a"),
    "keys add": lambda grants: grants.add_key("ann"),
    "keys remove": lambda grants: grants.remove_key(1),
}


@pytest.mark.parametrize("action", CHANGES)
def test_a_change_and_its_record_are_one_transaction(
    grants: Grants, action: str
) -> None:
    """FAULTS.md 140: a change that can't be recorded isn't made."""
    grants.add_user("bob", organisation="t")
    grants.grant("bob", "a")
    grants.add_key("bob")
    with grants.database.change() as sql:
        sql.execute(
            "CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no'); END"
        )

    def content() -> list[Any]:
        tables = ("users", "assets", "grants", "keys", "organisations", "audit")
        return [grants.database.read(f"SELECT * FROM {table}") for table in tables]

    before = content()
    with pytest.raises(SetupError):
        CHANGES[action](grants)
    assert content() == before
    with grants.database.change() as sql:
        sql.execute("DROP TRIGGER full")
    CHANGES[action](grants)
    assert grants.audit.find(*[None] * 5, limit=1)[0].action == action


KILLED = """
import itertools, sys
from pathlib import Path
from jupyter_funcs.service.accounts.grants import Grants
grants = Grants(Path(sys.argv[1]))
for number in itertools.count():
    grants.add_user(f"user {number}", organisation="o")
    grants.audit.record("run", f"user {number}", "f", None, "127.0.0.1", "ok")
    print(number, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is POSIX's")
def test_after_kill_9_there_is_a_record_of_each_change_and_no_other(path: Path) -> None:
    """FAULTS.md 140."""
    command = [sys.executable, "-c", KILLED, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while process.stdout.readline() != "20\n":
            pass
        process.kill()
    grants = Grants(path)
    added = [
        record.target
        for record in grants.audit.find(
            None, "users add", None, None, None, limit=10_000
        )
    ]
    assert len(added) > 20
    assert sorted(filter(None, added)) == sorted(
        account.name for account in grants.users()
    )
    assert grants.database.read("PRAGMA integrity_check") == [("ok",)]
    grants.close()


def test_accounts_of_an_earlier_release_are_kept(path: Path) -> None:
    database = Database(path)
    database.upgrade(SCHEMA[:1], lambda: None)
    with database.change() as sql:
        sql.execute("INSERT INTO organisations (name, folded) VALUES ('t', 't')")
        sql.execute(
            "INSERT INTO users (organisation, name, folded, made, valid_from) VALUES (1, 'ann', 'ann', 0, 0)"
        )
    database.close()
    grants = Grants(path)
    assert [account.name for account in grants.users()] == ["ann"]
    grants.revoke("ann")
    [record] = recorded(grants, "users revoke")
    assert record.target == "ann"
    grants.close()
