"""Accounts: who may run what; crashes, full disks and other processes don't corrupt the file."""

from __future__ import annotations

import json
import math
import os
import random
import re
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from argon2 import PasswordHasher, extract_parameters
from argon2.profiles import CHEAPEST, RFC_9106_LOW_MEMORY
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.service.accounts import passwords
from jupyter_funcs.service.accounts.account_records import SCHEMA
from jupyter_funcs.service.accounts.database import Database
from jupyter_funcs.service.accounts.grants import Grants
from jupyter_funcs.service.builtin import demo
from tests.examples import examples
from tests.servers import real_hasher
from tests.service.conftest import at_once, python

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PASSWORD = "correct horse"


@pytest.fixture(params=["in memory", "in a file"])
def grants(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Grants]:
    made = Grants(
        None if request.param == "in memory" else tmp_path / "accounts.sqlite"
    )
    yield made
    made.close()


@pytest.fixture
def acme(grants: Grants) -> Grants:
    """Two organisations: Acme with ann and bob, assets A (shared), B and C; Other with zoe and asset Z."""
    return filled(grants)


def filled(grants: Grants) -> Grants:
    for name, is_shared in {"A": True, "B": False, "C": False}.items():
        grants.add_asset(name, organisation="Acme", is_shared=is_shared)
    grants.add_asset("Z", organisation="Other", is_shared=True)
    grants.add_user("ann", organisation="Acme", email="ann@acme.example")
    grants.add_user("bob", organisation="ACME")
    grants.add_user("zoe", organisation="Other")
    return grants


@pytest.fixture(scope="module", params=["in memory", "in a file"])
def unchanged(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Grants]:
    """The same, and ann has a password; for all the rows that change nothing."""
    path = None
    if request.param == "in a file":
        path = tmp_path_factory.mktemp("grants") / "accounts.sqlite"
    made = filled(Grants(path))
    made.set_password("ann", PASSWORD)
    yield made
    made.close()


def assets_of(grants: Grants, name: str) -> list[str]:
    user = grants.user(name, math.inf)
    assert user is not None
    return [asset.name for asset in grants.assets(user)]


# Who may run what.


def test_a_user_has_what_is_granted_and_what_is_shared_in_their_organisation(
    acme: Grants,
) -> None:
    acme.grant("ann", "C")
    assert assets_of(acme, "ann") == ["A", "C"]
    assert assets_of(acme, "bob") == ["A"]
    assert assets_of(acme, "zoe") == ["Z"]
    acme.share("A", is_shared=False)
    acme.grant("ann", "A")
    acme.share("C", is_shared=True)
    assert assets_of(acme, "ann") == ["A", "C"]
    assert assets_of(acme, "bob") == ["C"]
    acme.withdraw("ann", "A")
    acme.remove("asset", "C")
    assert assets_of(acme, "ann") == []


def test_assets_are_values_that_can_key_a_cache(acme: Grants) -> None:
    ann = acme.user("ann", math.inf)
    assert ann is not None
    assert {acme.assets(ann): 1}[acme.assets(ann)] == 1
    assert acme.assets(ann) != acme.assets(acme.grant("ann", "B") and ann)


def test_another_organisations_asset_cannot_be_granted(acme: Grants) -> None:
    with pytest.raises(SetupError, match="'Z' belongs to 'Other', but 'ann' to 'Acme'"):
        acme.grant("ann", "Z")
    assert acme.grants() == []


def test_the_database_itself_refuses_a_grant_across_organisations(acme: Grants) -> None:
    with pytest.raises(SetupError, match="FOREIGN KEY"), acme.database.change() as sql:
        sql.execute(
            "INSERT INTO grants SELECT u.id, a.id, u.organisation FROM users u, assets a WHERE a.name = 'Z'"
        )


def test_a_grant_given_twice_is_one_and_one_that_is_not_there_cannot_be_withdrawn(
    acme: Grants,
) -> None:
    acme.grant("ann", "B")
    acme.grant("ann", "B")
    assert len(acme.grants()) == 1
    acme.withdraw("ann", "B")
    with pytest.raises(SetupError, match="'B' is not granted to 'ann'"):
        acme.withdraw("ann", "B")


OPERATIONS = st.one_of(
    st.tuples(
        st.sampled_from(["grant", "withdraw"]),
        st.sampled_from("uv"),
        st.sampled_from("AB"),
    ),
    st.tuples(
        st.sampled_from(["share", "unshare", "remove asset", "add asset"]),
        st.just(""),
        st.sampled_from("AB"),
    ),
    st.tuples(
        st.sampled_from(["remove user", "add user"]), st.sampled_from("uv"), st.just("")
    ),
)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(OPERATIONS, max_size=25))
def test_after_any_changes_a_user_sees_what_a_set_of_pairs_says(
    operations: list[tuple[str, str, str]],
) -> None:
    grants = Grants()
    pairs: set[tuple[str, str]] = set()
    shared: set[str] = set()
    users: set[str] = set()
    assets: set[str] = set()
    for what, user, asset in operations:
        knows = (not user or user in users) and (not asset or asset in assets)
        if what == "add user" and user not in users:
            grants.add_user(user, organisation="o")
            users.add(user)
        elif what == "add asset" and asset not in assets:
            grants.add_asset(asset, organisation="o")
            assets.add(asset)
        elif what == "remove user" and knows:
            grants.remove("user", user)
            users.discard(user)
            pairs = {pair for pair in pairs if pair[0] != user}
        elif what == "remove asset" and knows:
            grants.remove("asset", asset)
            assets.discard(asset)
            shared.discard(asset)
            pairs = {pair for pair in pairs if pair[1] != asset}
        elif what in {"share", "unshare"} and knows:
            grants.share(asset, is_shared=what == "share")
            shared = shared | {asset} if what == "share" else shared - {asset}
        elif what == "grant" and knows:
            grants.grant(user, asset)
            pairs.add((user, asset))
        elif what == "withdraw" and (user, asset) in pairs:
            grants.withdraw(user, asset)
            pairs.discard((user, asset))
        for member in users:
            assert set(assets_of(grants, member)) == shared | {
                pair[1] for pair in pairs if pair[0] == member
            }
    assert grants.organisations() == (["o"] if users or assets else [])
    grants.close()


# Names.


@pytest.mark.parametrize(
    ("change", "says"),
    [
        pytest.param(
            lambda grants: grants.add_user("ANN", organisation="Acme"),
            "A user 'ann' already exists",
            id="a name in use",
        ),
        pytest.param(
            lambda grants: grants.add_user("\uff41nn", organisation="Acme"),
            "A user 'ann' already exists",
            id="a name in use, in full width",
        ),
        pytest.param(
            lambda grants: grants.add_user("Ann@ACME.example", organisation="Acme"),
            "is the email of 'ann'",
            id="an email as a name",
        ),
        pytest.param(
            lambda grants: grants.add_user(
                "eve", organisation="Acme", email="ANN@acme.example"
            ),
            "is the email of 'ann'",
            id="an email in use",
        ),
        pytest.param(
            lambda grants: grants.add_user("eve", organisation="Acme", email="nowhere"),
            "'nowhere' is not an email address",
            id="an invalid email",
        ),
        pytest.param(
            lambda grants: grants.add_user("", organisation="Acme"),
            "'' cannot be the name of a user",
            id="an empty name",
        ),
        pytest.param(
            lambda grants: grants.add_user("eve ", organisation="Acme"),
            "'eve ' cannot be the name",
            id="a name with a space",
        ),
        pytest.param(
            lambda grants: grants.add_user("e\x00ve", organisation="Acme"),
            r"cannot be the name",
            id="a name with a NUL",
        ),
        pytest.param(
            lambda grants: grants.add_user("e\ud800", organisation="Acme"),
            r"cannot be the name",
            id="a name with half a surrogate pair",
        ),
        pytest.param(
            lambda grants: grants.add_user("e" * 201, organisation="Acme"),
            "cannot be the name",
            id="a long name",
        ),
        pytest.param(
            lambda grants: grants.add_user("eve", organisation=""),
            "'' cannot be the name of an organisation",
            id="an empty organisation",
        ),
        pytest.param(
            lambda grants: grants.add_asset("a", organisation="Other"),
            "An asset 'A' already exists in 'Acme'",
            id="an asset in use",
        ),
        pytest.param(
            lambda grants: grants.add_asset("\n", organisation="Acme"),
            "cannot be the name of an asset",
            id="an asset of a line end",
        ),
        pytest.param(
            lambda grants: grants.grant("bobb", "A"),
            "No user 'bobb'. Did you mean 'bob'",
            id="an unknown user",
        ),
        pytest.param(
            lambda grants: grants.grant("bob", "ZZ"),
            "No asset 'ZZ'. Did you mean 'Z'",
            id="an unknown asset",
        ),
        pytest.param(
            lambda grants: grants.remove("user", "nobody"),
            "No user 'nobody'",
            id="removing an unknown user",
        ),
        pytest.param(
            lambda grants: grants.remove("asset", "\ud800"),
            "No asset",
            id="removing an unknown asset",
        ),
        pytest.param(
            lambda grants: grants.set_password("Anna", PASSWORD),
            "Did you mean 'ann'",
            id="a password of an unknown user",
        ),
        pytest.param(
            lambda grants: grants.active_user("Anna"),
            "Did you mean 'ann'",
            id="asking for an unknown user",
        ),
        pytest.param(
            lambda grants: grants.remove_key(3), "No API key 3", id="an unknown key"
        ),
        pytest.param(
            lambda grants: grants.remove_key(10**30),
            "No API key",
            id="a key of any size",
        ),
        pytest.param(
            lambda grants: grants.add_key("ann", days=0), "not 0", id="a key for 0 days"
        ),
        pytest.param(
            lambda grants: grants.add_key("ann", days=math.nan),
            "not nan",
            id="a key for NaN days",
        ),
        pytest.param(
            lambda grants: grants.add_key("ann", label="\n"),
            "cannot be the name of a key",
            id="a key labelled with a line end",
        ),
    ],
)
def test_invalid_changes_are_refused_with_a_message_and_change_nothing(
    unchanged: Grants, change: Callable[[Grants], Any], says: str
) -> None:
    before = whole(unchanged)
    with pytest.raises(SetupError, match=says) as caught:
        change(unchanged)
    assert len(str(caught.value).splitlines()) <= 3
    assert whole(unchanged) == before


def whole(grants: Grants) -> list[Any]:
    return [
        grants.users(),
        grants.all_assets(),
        grants.grants(),
        grants.api_keys(),
        grants.organisations(),
    ]


def test_names_compare_without_case_and_keep_their_spelling(grants: Grants) -> None:
    grants.add_user("Zoë Straße", organisation="Café")
    grants.add_asset("Panel Data", organisation="CAFÉ")
    grants.grant("zoë STRASSE", "panel data")
    assert grants.organisations() == ["Café"]
    assert assets_of(grants, "ZOE\u0308 Strasse") == ["Panel Data"]
    assert grants.users()[0].name == "Zoë Straße"


# Tokens and passwords of a user.


@pytest.mark.parametrize(
    "end",
    [
        lambda grants: grants.revoke("ann"),
        lambda grants: grants.set_password("ann", PASSWORD),
        lambda grants: (
            grants.revoke("ann", is_disabled=True),
            grants.revoke("ann", is_disabled=False),
        ),
        lambda grants: (
            grants.remove("user", "ann"),
            grants.add_user("ann", organisation="Acme"),
        ),
    ],
    ids=["revoked", "new password", "disabled and enabled", "removed and added"],
)
def test_what_ends_tokens_ends_those_of_the_same_second_and_no_later_one(
    acme: Grants, end: Callable[[Grants], Any]
) -> None:
    before = time.time()
    assert acme.user("ann", before)
    end(acme)
    assert acme.user("ann", before) is None
    assert acme.user("ann", math.floor(before)) is None
    assert acme.user("ann", time.time())


def test_a_disabled_user_gets_in_by_nothing(acme: Grants) -> None:
    acme.set_password("ann", PASSWORD)
    key = acme.add_key("ann")
    assert (
        acme.user_of_key(key)
        == acme.user_of_password("ann", PASSWORD)
        == acme.user("ann", time.time())
    )
    acme.revoke("Ann", is_disabled=True)
    assert (
        acme.user_of_key(key)
        is acme.user_of_password("ann", PASSWORD)
        is acme.user("ann", math.inf)
        is None
    )
    with pytest.raises(SetupError, match="'ann' is disabled"):
        acme.active_user("ANN")


@pytest.mark.parametrize(
    "login", ["ann", "ANN", "ann@acme.example", "Ann@Acme.Example"]
)
def test_a_login_is_the_name_or_the_email_in_any_case(
    unchanged: Grants, login: str
) -> None:
    user = unchanged.user_of_password(login, PASSWORD)
    assert user is not None
    assert user.name == "ann"


def test_an_accented_letter_is_the_same_however_a_keyboard_writes_it(
    acme: Grants,
) -> None:
    acme.set_password("ann", "passw\u00f6rd")
    assert acme.user_of_password("ann", "passwo\u0308rd")


@pytest.mark.parametrize(
    ("login", "password"),
    [
        pytest.param("ann", "Correct horse", id="other case"),
        pytest.param("ann", "", id="empty password"),
        pytest.param("ann", "\ud800", id="half a surrogate pair"),
        pytest.param("ann", "x" * 2_000_000, id="long password"),
        pytest.param("bob", "", id="a user without a password"),
        pytest.param("nobody", PASSWORD, id="nobody"),
        pytest.param("", PASSWORD, id="no name"),
        pytest.param("\ud800\x00", PASSWORD, id="a name that cannot be"),
    ],
)
def test_any_other_login_is_refused(
    unchanged: Grants, login: str, password: str
) -> None:
    assert unchanged.user_of_password(login, password) is None


def test_whether_a_user_exists_does_not_show_in_the_work_done(
    acme: Grants, monkeypatch: pytest.MonkeyPatch
) -> None:
    acme.set_password("ann", PASSWORD)
    done: list[str] = []
    verify = PasswordHasher.verify
    monkeypatch.setattr(
        PasswordHasher,
        "verify",
        lambda self, hash_, password: (
            done.append(hash_.rsplit("$", 2)[0]),
            verify(self, hash_, password),
        )[1],
    )
    for login in ("ann", "bob", "nobody"):
        assert acme.user_of_password(login, "wrong password") is None
    assert len(done) == 3
    assert len(set(done)) == 1, "the parameters, and so the time, differ"


@pytest.mark.slow
def test_a_hash_costs_what_argon2_recommends() -> None:
    """The second choice of RFC 9106: three passes over 64 MiB. Other tests hash at a lower cost."""
    assert extract_parameters(real_hasher()[0].hash(PASSWORD)) == RFC_9106_LOW_MEMORY
    assert extract_parameters(passwords._hasher()[0].hash(PASSWORD)) == CHEAPEST


@pytest.mark.parametrize(
    "password",
    [
        pytest.param("", id="empty"),
        pytest.param("seven77", id="short"),
        pytest.param("x" * 1025, id="long"),
        pytest.param("lone \ud800 surrogate", id="half a surrogate pair"),
    ],
)
def test_a_poor_password_is_refused_and_not_shown(
    unchanged: Grants, password: str
) -> None:
    with pytest.raises(SetupError) as caught:
        unchanged.set_password("bob", password)
    assert not password or password not in str(caught.value)
    assert {user.name: user.has_password for user in unchanged.users()} == {
        "ann": True,
        "bob": False,
        "zoe": False,
    }


def test_a_hash_of_older_parameters_is_renewed_by_the_next_login_and_ends_no_token(
    acme: Grants, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(
            passwords,
            "_hasher",
            lambda: (PasswordHasher(time_cost=1, memory_cost=1024), ""),
        )
        acme.set_password("ann", PASSWORD)
    issued = time.time()
    (before,) = acme.database.read("SELECT password FROM users WHERE name = 'ann'")
    assert acme.user_of_password("ann", PASSWORD)
    (after,) = acme.database.read("SELECT password FROM users WHERE name = 'ann'")
    assert before != after
    assert acme.user_of_password("ann", PASSWORD)
    assert acme.user("ann", issued)


def test_a_login_succeeds_while_its_hash_cannot_be_renewed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "accounts.sqlite"
    grants = Grants(path, seed=demo.add_accounts)
    with monkeypatch.context() as patch:
        patch.setattr(
            passwords,
            "_hasher",
            lambda: (PasswordHasher(time_cost=1, memory_cost=1024), ""),
        )
        grants.set_password("guest", PASSWORD)
    grants.database._writer.execute("PRAGMA busy_timeout = 50")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert grants.user_of_password("guest", PASSWORD)
    assert "not renewed" in caplog.text
    assert "argon2" not in caplog.text
    other.close()
    grants.close()


# API keys.


def test_an_api_key_is_its_users_until_it_ends_or_is_removed(acme: Grants) -> None:
    lasting = acme.add_key("ann", label="nightly")
    ending = acme.add_key("bob", days=2e-6)
    user = acme.user_of_key(lasting)
    assert user is not None
    assert user.name == "ann"
    time.sleep(0.2)
    assert acme.user_of_key(ending) is None
    assert [(key.id, key.user, key.label) for key in acme.api_keys()] == [
        (1, "ann", "nightly"),
        (2, "bob", ""),
    ]
    acme.remove_key(1)
    assert acme.user_of_key(lasting) is None
    assert acme.add_key("ann").startswith("jf_3_"), "an id is never another key's again"


def test_only_the_whole_key_is_accepted(acme: Grants) -> None:
    key = acme.add_key("ann")
    other = acme.add_key("bob")
    start, number, secret = key.split("_", 2)
    assert len(secret) == 43
    wrong = [
        "",
        "jf",
        "jf_",
        "jf_1",
        "jf_1_",
        key[:-1],
        key + "A",
        key.upper(),
        f"{start}_2_{secret}",
        secret,
        f" {key}",
    ]
    wrong += [
        f"x_{number}_{secret}",
        f"jf_{'9' * 40}_{secret}",
        f"jf_-1_{secret}",
        f"jf_१_{secret}",
        f"jf_1_{other[5:]}",
    ]
    wrong += ["jf_1_\ud800", "jf_1_é"]
    assert [text for text in wrong if acme.user_of_key(text) is not None] == []


def test_no_secret_is_in_the_file_or_in_a_record(tmp_path: Path) -> None:
    path = tmp_path / "accounts.sqlite"
    grants = Grants(path)
    grants.add_user("ann", organisation="Acme")
    grants.set_password("ann", PASSWORD)
    secret = grants.add_key("ann").split("_", 2)[2]
    assert secret not in repr(grants.api_keys())
    assert "argon2" not in repr(grants.users())
    content = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"$argon2id$" in content
    assert PASSWORD.encode() not in content
    assert secret.encode() not in content
    grants.close()


# The file.


def test_the_file_is_the_owners_alone_whatever_the_mask(tmp_path: Path) -> None:
    path = tmp_path / "accounts.sqlite"
    before = os.umask(0)
    try:
        grants = Grants(path)
        grants.add_user("ann", organisation="Acme")
        modes = {
            file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()
        }
        grants.close()
        path.chmod(0o644)
        Grants(path).close()
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(
        ["accounts.sqlite", "accounts.sqlite-wal", "accounts.sqlite-shm"], 0o600
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def of_text(path: Path) -> None:
    path.write_text("These are not the accounts you are looking for. " * 100)


def of_another_program(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE theirs (x)")
    other.close()


def of_the_future(path: Path) -> None:
    Grants(path).close()
    with sqlite3.connect(path) as newer:
        newer.execute(f"PRAGMA user_version = {len(SCHEMA) + 1}")
    newer.close()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (of_text, "not a database"),
        (of_another_program, "the database of another program"),
        (
            of_the_future,
            f"has version {len(SCHEMA) + 1}; this release supports {len(SCHEMA)}",
        ),
        (lambda path: path.mkdir(), "cannot be used: unable to open"),
        (
            lambda path: path.parent.rmdir(),
            "cannot be created: No such file or directory",
        ),
    ],
    ids=["text", "another program's", "a newer version", "a folder", "no folder"],
)
def test_a_file_that_cannot_be_used_is_named_and_left_alone(
    tmp_path: Path, make: Callable[[Path], None], says: str
) -> None:
    path = tmp_path / "home" / "accounts.sqlite"
    path.parent.mkdir()
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(SetupError, match=says) as caught:
        Grants(path)
    assert str(path) in str(caught.value)
    assert 2 <= len(str(caught.value).splitlines()) <= 3
    assert before is None or path.read_bytes() == before


def test_a_damaged_file_is_a_setup_error(tmp_path: Path) -> None:
    path = tmp_path / "accounts.sqlite"
    Grants(path, seed=demo.add_accounts).close()
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(SetupError, match="malformed"):
        Grants(path).users()


def test_another_processs_long_change_holds_up_no_reader_and_a_writer_for_a_bounded_time(
    tmp_path: Path,
) -> None:
    path = tmp_path / "accounts.sqlite"
    grants = Grants(path, seed=demo.add_accounts)
    waits_shortly = Database(path, wait=0.1)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.execute("DELETE FROM users")
    assert assets_of(grants, "guest") == ["Demo panel data"]
    with (
        pytest.raises(SetupError, match=r"locked.*\n.*try again"),
        waits_shortly.change(),
    ):
        pass
    other.execute("ROLLBACK")
    with waits_shortly.change():
        pass
    other.close()
    waits_shortly.close()
    grants.close()


def test_a_change_that_fails_midway_is_undone(grants: Grants) -> None:
    def change() -> None:
        with grants.database.change():
            grants.add_user("ann", organisation="Acme")
            grants.add_user("Ann", organisation="Acme")

    with pytest.raises(SetupError, match="already"):
        change()
    assert whole(grants) == [[], [], [], [], []]
    grants.add_user("ann", organisation="Acme")


def test_what_one_process_changes_the_next_question_of_another_sees(
    tmp_path: Path,
) -> None:
    path = tmp_path / "accounts.sqlite"
    grants = Grants(path, seed=demo.add_accounts)
    code = "import sys; from pathlib import Path; from jupyter_funcs.service.accounts.grants import Grants\n"
    python(
        code + "Grants(Path(sys.argv[1])).withdraw('analyst', 'Demo reports')",
        str(path),
    )
    assert assets_of(grants, "analyst") == ["Demo panel data"]
    grants.close()


def test_many_threads_read_and_change_at_once(grants: Grants) -> None:
    grants.add_asset("A", organisation="o", is_shared=True)
    wrong: list[str] = []
    is_over = threading.Event()

    def look() -> None:
        while not is_over.is_set():
            wrong.extend(
                user.name
                for user in grants.users()
                if assets_of(grants, user.name) != ["A"]
            )

    with ThreadPoolExecutor(8) as threads:
        readers = [threads.submit(look) for _ in range(3)]
        list(
            threads.map(
                lambda number: grants.add_user(f"u{number}", organisation="o"),
                range(100),
            )
        )
        is_over.set()
        for reader in readers:
            reader.result()
    assert not wrong
    assert len(grants.users()) == 100


MAKE_DEMO = """
import sys, time
from pathlib import Path
from jupyter_funcs.service.accounts import state_folder
from jupyter_funcs.service.builtin import demo
folder = Path(sys.argv[1])
time.sleep(max(0, float(sys.argv[2]) - time.time()))
grants = state_folder.open_grants(folder, demo.add_accounts)
print(sorted(account.name for account in grants.users()), len(grants.grants()))
"""


@pytest.mark.slow
def test_processes_that_make_the_file_at_the_same_moment_agree_on_one(
    tmp_path: Path,
) -> None:
    for attempt in range(3):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        assert at_once(MAKE_DEMO, folder) == ["['analyst', 'guest'] 3"] * 4


# FAULTS.md 117 and 118.

FULL_DISK = """
import json, resource, shutil, sys
from pathlib import Path
from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.service.accounts.grants import Grants

folder = Path(sys.argv[1])
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

def records(grants):
    return [repr(grants.users()), repr(grants.grants()), repr(grants.api_keys())]

def change(grants):
    with grants.database.change():
        for number in range(40):
            grants.add_user(f"user {number}", organisation="o")
            grants.grant(f"user {number}", "A")
            grants.add_key(f"user {number}", label="x" * 200)

def start(grants):
    grants.add_asset("A", organisation="o")
    grants.add_user("first", organisation="o")

fates = []
for size in range(0, 200_000, 4_000):
    path = folder / f"{size}.sqlite"
    Grants(path, start).close()
    grants = Grants(path)
    before = records(grants)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        change(grants)
        fate = "new"
    except SetupError as error:
        assert str(path) in str(error) and "disk space" in str(error), error
        fate = "old"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    seen = records(grants)
    grants.close()
    again = Grants(path)
    assert seen == records(again), (size, "what is read after the fault is not what is kept")
    assert (records(again) == before) == (fate == "old"), size
    assert len(again.users()) == (1 if fate == "old" else 41), size
    assert again.database.read("PRAGMA integrity_check") == [("ok",)], size
    again.add_user("later", organisation="o")
    again.close()
    fates.append(fate)

    path = folder / f"{size}.new.sqlite"
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        Grants(path, start).close()
    except SetupError:
        pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    made = Grants(path, start)
    assert [account.name for account in made.users()] == ["first"], size
    made.close()
print(json.dumps(fates))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are POSIX's")
def test_a_full_disk_at_any_write_leaves_the_old_accounts_intact(
    tmp_path: Path,
) -> None:
    fates = json.loads(python(FULL_DISK, str(tmp_path)))
    assert set(fates) == {"old", "new"}, (
        "the sizes tried must cross the one that the change needs"
    )


ADD_USERS = """
import sys, itertools
from pathlib import Path
from jupyter_funcs.service.accounts.grants import Grants
grants = Grants(Path(sys.argv[1]))
for number in itertools.count():
    name = f"{sys.argv[2]}-{number}"
    grants.add_user(name, organisation="o")
    print(name, flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is POSIX's")
def test_what_was_committed_survives_kill_9_at_any_moment(tmp_path: Path) -> None:
    path = tmp_path / "accounts.sqlite"
    pick = random.Random(118)
    printed: set[str] = set()
    for attempt in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", ADD_USERS, str(path), str(attempt)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        printed.add(process.stdout.readline().strip())
        time.sleep(pick.uniform(0, 0.15))
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate(timeout=60)
        printed.update(line for line in rest.split("\n")[:-1])
        grants = Grants(path)
        assert printed <= {account.name for account in grants.users()}
        assert grants.database.read("PRAGMA integrity_check") == [("ok",)]
        grants.close()
    assert len(printed) > 6


def test_users_and_assets_are_found_fast_enough_for_the_event_loop(
    tmp_path: Path,
) -> None:
    """SQLite takes as many steps among 200 users as among the few of the demo."""
    grants = Grants(tmp_path / "accounts.sqlite", seed=demo.add_accounts)

    def steps() -> int:
        taken = 0

        def step() -> None:
            nonlocal taken
            taken += 1

        grants.database._reader.set_progress_handler(step, 1)
        assets_of(grants, "analyst")
        grants.database._reader.set_progress_handler(None, 1)
        return taken

    few = steps()
    for number in range(200):
        grants.add_user(f"user {number}", organisation="o")
    assert 0 < steps() <= few + 10
    grants.close()


def test_no_placeholder_of_sql_has_a_number() -> None:
    """Python 3.12 warns of ``?1`` beside a sequence of values, and 3.14 refuses it."""
    package = Path(demo.__file__).parents[2]
    numbered = [
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if re.search(r"(?:=|IN|LIMIT|\+) \?[1-9]", path.read_text("utf-8"))
    ]
    assert numbered == []
