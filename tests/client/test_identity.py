"""No cached or resumed result comes from another source: its key includes everything that decides it. FAULTS 144."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import sqlite3
import subprocess
import sys
import textwrap
import types
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from pydantic import SecretStr

import jupyter_funcs as jf
from jupyter_funcs.client.cache import Cache
from jupyter_funcs.connection.profiles import Connection, resolve
from jupyter_funcs.connection.secrets import Secret
from jupyter_funcs.core.files import own_path
from tests.client.test_cache import jwt
from tests.faults.canary import CANARY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from jupyter_funcs.api import Session

pytestmark = pytest.mark.fault(144)
CACHED: dict[str, Any] = {"cache": True}
ANN = {
    "sub": "ann",
    "iss": "https://login.example",
    "tid": "acme",
    "aud": "funcs",
    "scope": "read",
}
SERVER = """
import os, sys
from mcp.server import MCPServer
from mcp_types import ToolAnnotations

app = MCPServer("Data")


@app.tool(annotations=ToolAnnotations(read_only_hint=True))
def rows(n: int = 1) -> list[dict[str, str]]:
    return [{"of": " ".join([*sys.argv[1:3], os.getcwd(), os.environ.get("XDG_DATA_HOME", ""), str(os.getpid())])}]


app.run()
"""


class Service:
    """A service that returns the request's token and the number of earlier runs."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("ListUserFunctions"):
            return httpx.Response(
                200, json=[{"name": "F", "id": 1, "params": [{"name": "a", "type": 0}]}]
            )
        self.runs += 1
        # A result that contains the token isn't stored.
        token = request.headers["Authorization"].encode()
        rows = [{"token": hashlib.sha256(token).hexdigest(), "run": self.runs}]
        return httpx.Response(200, json={"error": None, "body": json.dumps(rows)})


@pytest.mark.parametrize(
    "claim", ["sub", "iss", "tid", "aud", "scope", "roles", "acr", "name"]
)
@pytest.mark.parametrize("way", ["call", "sweep"])
def test_tokens_that_differ_in_a_lasting_claim_share_no_result(
    answering: Callable[..., Session], claim: str, way: str
) -> None:
    """The same subject with another issuer, tenant, audience or scope has other rows; a new login has the same."""
    service = Service()
    logins = [
        {
            **ANN,
            "exp": 9e9,
            "iat": 1,
            "jti": "1",
            "sid": "1",
            "nonce": "1",
            "auth_time": 1,
            "nbf": 1,
            "at_hash": "1",
        },
        {
            **ANN,
            "exp": 8e9,
            "iat": 2,
            "jti": "2",
            "sid": "2",
            "nonce": "2",
            "auth_time": 2,
            "nbf": 2,
            "at_hash": "2",
        },
        {**ANN, claim: "another"},
    ]
    tokens = []
    for claims in logins:
        function = answering(service, jwt(**claims))["F"]
        frame = (
            function.with_options(**CACHED)(a="1")
            if way == "call"
            else function.sweep(a=["1"])
        )
        tokens.append(frame["token"][0])
    assert tokens[0] == tokens[1] != tokens[2]
    assert service.runs == 2


@pytest.mark.parametrize(
    "claims",
    [{"jti": "1"}, {"iss": "https://login.example", "jti": "1"}, {"exp": 9e9}, {}],
)
def test_a_token_whose_claims_name_nobody_counts_as_a_whole(
    answering: Callable[..., Session], claims: dict[str, Any]
) -> None:
    """Two of them may belong to two accounts, whatever claims they share."""
    service = Service()
    for number in range(2):
        answering(service, jwt(**{**claims, "jti": str(number)}))["F"].with_options(
            **CACHED
        )(a="1")
    assert service.runs == 2


def test_a_sweep_in_memory_is_not_continued_by_another_account(
    answering: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the cache an interrupted sweep stays in memory, only for the account that ran it."""
    service = Service()
    monkeypatch.setenv("WHO", "token-of-ann-1")
    session = answering(service, lambda: os.environ["WHO"])

    def interrupt(request: httpx.Request) -> httpx.Response:
        if service.runs == 2:
            job.cancel()
        return Service.__call__(service, request)

    session.remote.transport._exchange._transport.transport = httpx.MockTransport(
        interrupt
    )
    function = session["F"].with_options(cache=False, concurrency=1, progress=False)
    job = function.start_sweep(a=["1", "2", "3", "4"])
    with pytest.raises(jf.RunCancelledError):
        job.result(20)
    done = service.runs
    monkeypatch.setenv("WHO", "token-of-bob-2")
    frame = function.sweep(a=["1", "2", "3", "4"])
    assert set(frame["token"]) == {hashlib.sha256(b"Bearer token-of-bob-2").hexdigest()}
    assert service.runs == done + 4


def test_a_folder_holds_the_results_of_one_source_and_account(
    answering: Callable[..., Session], tmp_path: Path
) -> None:
    """Otherwise readers of its files would mix two accounts; a new login of the same account resumes."""
    service = Service()

    def sweep(**claims: Any) -> Any:
        function = answering(service, jwt(**claims))["F"].with_options(
            to=tmp_path / "results", progress=False
        )
        return function.sweep(a=["1", "2"])

    sweep(sub="ann", tid="acme", jti="1")
    sweep(sub="ann", tid="acme", jti="2")
    with pytest.raises(jf.ArgumentError, match="another source or account"):
        sweep(sub="ann", tid="other")
    assert service.runs == 2


@pytest.mark.parametrize(
    "change",
    [
        {"base_url": "https://other.example"},
        {"base_url": "https://service.example/v2"},
        {"location": "https://service.example?tenant=2"},
        {"kind": "openapi"},
        {"kind": "mcp", "target": ("serve", "one.db")},
        {"kind": "mcp", "target": ("serve", "two.db")},
        {"kind": "mcp", "target": ("serve one.db",)},
        {"allow_server": ("https://api.example",)},
        {"allow_server": ("https://api.example", "https://files.example")},
        {"server": (("tenant", "acme"),)},
        {"where": "work"},
        {"header": "X-Api-Key"},
        {"synthetic": True},
    ],
    ids=str,
)
def test_each_part_of_a_connection_makes_another_key(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    """No key reveals a secret in a command, an address or a token: another salt makes another key."""
    about = {
        "name": "tools",
        "base_url": "https://service.example",
        "token": lambda: Secret("x"),
        **change,
    }
    cache = Cache(tmp_path)
    secret = Secret(CANARY)
    plain = cache.identity(
        Connection("tools", "https://service.example", lambda: Secret("x")), secret
    )  # type: ignore[arg-type]
    key = cache.identity(Connection(**about), secret)
    assert key != plain
    assert key == Cache(tmp_path).identity(Connection(**about), secret)
    assert key != Cache(tmp_path / "other").identity(Connection(**about), secret)


def test_addresses_that_are_the_same_to_a_server_have_one_key(tmp_path: Path) -> None:
    """A final slash is the same service; another query isn't."""
    cache = Cache(tmp_path)
    keys = [
        cache.identity(resolve(url, token="a-token"), Secret("a-token"))  # type: ignore[arg-type]
        for url in (
            "https://s.example",
            "https://s.example/",
            "https://s.example/a?tenant=1",
            "https://s.example/a",
        )
    ]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3


# Commands of MCP servers


@pytest.fixture
def tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Session]]:
    """Write the profile `tools` with these words after its program, and return its session."""
    pytest.importorskip("mcp", reason="the extra 'mcp' is not installed")
    monkeypatch.setenv("FUNCS_CONFIG", str(tmp_path / "profiles.toml"))
    (tmp_path / "server.py").write_text(SERVER)
    sessions = []

    def connect(*words: str) -> Session:
        command = json.dumps([sys.executable, str(tmp_path / "server.py"), *words])
        (tmp_path / "profiles.toml").write_text(
            f'[profiles.tools]\nkind = "mcp"\ncommand = {command}\n'
        )
        sessions.append(jf.connect("tools"))
        return sessions[-1]

    yield connect
    for session in sessions:
        session.close()


def answer(session: Session, way: str) -> str:
    function = session.rows.with_options(progress=False)
    frame = (
        function.with_options(**CACHED)(n=1) if way == "call" else function.sweep(n=[1])
    )
    return str(frame["of"][0])


@pytest.mark.slow
@pytest.mark.parametrize("way", ["call", "sweep"])
def test_a_profile_whose_command_changes_answers_for_the_new_one(
    tools: Callable[..., Session], way: str
) -> None:
    """With the same name, tool and arguments; the old command has its old rows again."""
    first = answer(tools("--db", "one.db"), way)
    assert first.startswith("--db one.db")
    assert answer(tools("--db", "two.db"), way).startswith("--db two.db")
    assert answer(tools("--db", "one.db"), way) == first


@pytest.mark.slow
def test_a_command_in_another_folder_or_environment_is_another_source(
    tools: Callable[..., Session], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--db data.db` is a file of the folder; a running server keeps its own; a terminal's size doesn't matter."""
    answers = [answer(tools("data.db"), "call")]
    monkeypatch.setenv("COLUMNS", "77")
    assert answer(tools("data.db"), "call") == answers[0]
    monkeypatch.setenv("XDG_DATA_HOME", "two")
    running = tools("data.db")
    answers.append(answer(running, "call"))
    monkeypatch.setenv("XDG_DATA_HOME", "three")
    assert answer(running, "call") == answers[1]
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    answers.append(answer(tools("data.db"), "call"))
    assert len(set(answers)) == 3
    assert "two" in answers[1]
    assert f"{tmp_path / 'other'} three" in answers[2]


@pytest.mark.slow
def test_a_worker_with_another_command_runs_nothing(
    tools: Callable[..., Session], tmp_path: Path
) -> None:
    """A profile that changed after the session connected is another source for an executor's processes."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    session = tools("one.db")
    session.names  # noqa: B018
    changed = (tmp_path / "profiles.toml").read_text().replace("one.db", "two.db")
    (tmp_path / "profiles.toml").write_text(changed)
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor,
        pytest.raises(jf.FuncsError) as caught,
    ):
        session.rows.with_options(executor=executor, progress=False).sweep(n=[1])
    assert "another" in str(caught.value)


# Python functions


def made(text: str, **names: Any) -> Callable[..., Any]:
    """Return the function `f` that a text defines, as a cell of a notebook does."""
    space = {"__name__": "__main__", **names}
    exec(textwrap.dedent(text), space)
    return space["f"]  # type: ignore[no-any-return]


class Database:
    def __init__(self, name: str) -> None:
        self.name = name
        self.runs = 0

    def rows(self, n: int = 1) -> str:
        self.runs += 1
        return f"{self.name} {n}"


class Opaque:
    """An object that differs from others only in its place in memory."""

    __slots__ = ("name",)
    __module__ = "httpx"

    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce__(self) -> Any:
        raise TypeError


class Fitted:
    """An object of a package whose repr shows less than its state."""

    __module__ = "httpx"

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return "Fitted()"

    def __getstate__(self) -> dict[str, str]:
        return vars(self)


def closed_over(value: Any) -> Callable[..., Any]:
    def f(n: int = 1) -> str:
        return f"{getattr(value, 'name', value)} {n}"

    return f


def named(value: str, n: int = 1) -> str:
    return f"{value} {n}"


def two_modules() -> list[types.ModuleType]:
    modules = []
    for value in "12":
        module = types.ModuleType("helper_of_a_notebook")
        exec(f"def value(): return '{value}'", module.__dict__)
        modules.append(module)
    return modules


SLOTS = """
class C:
  __slots__ = ("a",)
  def __init__(self, a): self.a = a
  def m(self, n=1): return self.a
"""
PAIRS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "code": (made("def f(n=1): return '1'"), made("def f(n=1): return '2'")),
    "default": (
        made("def f(n=1, *, _by='1'): return _by"),
        made("def f(n=1, *, _by='2'): return _by"),
    ),
    "constant": (
        made("def f(n=1): return X", X="1"),
        made("def f(n=1): return X", X="2"),
    ),
    "settings": (
        made("def f(n=1): return X['a']", X={"a": "1"}),
        made("def f(n=1): return X['a']", X={"a": "2"}),
    ),
    "helper": (
        made("def g(): return '1'\ndef f(n=1): return g()"),
        made("def g(): return '2'\ndef f(n=1): return g()"),
    ),
    "inner": (
        made("def f(n=1): return [X for _ in range(1)][0]", X="1"),
        made("def f(n=1): return [X for _ in range(1)][0]", X="2"),
    ),
    "module": tuple(
        made("def f(n=1): return m.value()", m=module) for module in two_modules()
    ),  # type: ignore[dict-item]
    "closure": (closed_over("1"), closed_over("2")),
    "closed object": (closed_over(Opaque("1")), closed_over(Opaque("2"))),
    "global object": (
        made("def f(n=1): return X.name", X=Opaque("1")),
        made("def f(n=1): return X.name", X=Opaque("2")),
    ),
    "list": (
        made("def f(n=1): return X[0]", X=["1"]),
        made("def f(n=1): return X[0]", X=["2"]),
    ),
    "partial": (partial(named, "1"), partial(named, "2")),
    "method": (Database("1").rows, Database("2").rows),
    "cached": (
        made("import functools\n@functools.cache\ndef f(n=1): return '1'"),
        made("import functools\n@functools.cache\ndef f(n=1): return '2'"),
    ),
    "class": (
        made("class C:\n  def a(self): return '1'\ndef f(n=1): return C().a()"),
        made("class C:\n  def a(self): return '2'\ndef f(n=1): return C().a()"),
    ),
    "property": (
        made(
            "class C:\n  @property\n  def a(self): return '1'\ndef f(n=1): return C().a"
        ),
        made(
            "class C:\n  @property\n  def a(self): return '2'\ndef f(n=1): return C().a"
        ),
    ),
    "global of a name that is stored elsewhere": (
        made("def f(n=1):\n  x = lambda: 1\n  x.limit = 2\n  return limit", limit="1"),
        made("def f(n=1):\n  x = lambda: 1\n  x.limit = 2\n  return limit", limit="2"),
    ),
    "slots": (made(SLOTS + "f = C('1').m"), made(SLOTS + "f = C('2').m")),
    "bound to a builtin": (
        made("f = lambda n=1: g(n)", g={3: "1"}.get),
        made("f = lambda n=1: g(n)", g={3: "2"}.get),
    ),
    "session": tuple(
        made(
            "def f(n=1): return s.f(n=n).iloc[0, -1]",
            s=jf.connect([made(f"def f(n=1): return '{text}'")]),
        )
        for text in "12"
    ),
    "metaclass": tuple(
        made(
            f"class M(type):\n  def __call__(c): return '{text}'\nclass C(metaclass=M): pass\ndef f(n=1): return C()"
        )
        for text in "12"
    ),
    "cached property": tuple(
        made(
            "import functools\nclass C:\n  @functools.cached_property\n"
            f"  def a(self): return '{text}'\ndef f(n=1): return C().a"
        )
        for text in "12"
    ),
    "order of a helper's parameters": (
        made("def g(a, b): return a\ndef f(n=1): return g(a='1', b='2')"),
        made("def g(b, a): return b\ndef f(n=1): return g(a='1', b='2')"),
    ),
    "global of a name that an inner function has": tuple(
        made(
            "def f(n=1):\n  def g():\n    limit = 0\n    return (lambda: limit)()\n  return [g(), limit][1]",
            limit=text,
        )
        for text in "12"
    ),
    "method of a dictionary": tuple(
        made(
            f"class C(dict):\n  def m(self, n=1): return self['a']\nf = C(a='{text}').m"
        )
        for text in "12"
    ),
    "method of a text": tuple(
        made(f"class C(str):\n  def m(self, n=1): return str(self)\nf = C('{text}').m")
        for text in "12"
    ),
    "slots of a base": tuple(
        made(
            f"{SLOTS}class D(C):\n  def m(self, n=1): return self.a\nf = D('{text}').m"
        )
        for text in "12"
    ),
    "masked": tuple(
        made("def f(n=1): return X.get_secret_value()", X=SecretStr(text))
        for text in "12"
    ),
    "object that says how it is copied": tuple(
        made("def f(n=1): return X.name", X=Fitted(text)) for text in "12"
    ),
    "factory of a model": tuple(
        made(
            "import pydantic\nclass C(pydantic.BaseModel):\n"
            f"  a: str = pydantic.Field(default_factory=lambda: '{text}')\ndef f(n=1): return C().a"
        )
        for text in "12"
    ),
    "recursive": (
        made("def f(n=1): return '1' if n < 1 else f(n - 1)"),
        made("def f(n=1): return '2' if n < 1 else f(n - 1)"),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("way", ["call", "sweep"])
def test_functions_that_answer_otherwise_share_no_result(name: str, way: str) -> None:
    """Whatever makes the difference: code, defaults, what they refer to, or what they are bound to."""
    results = []
    for function in [*PAIRS[name], *PAIRS[name]]:
        session = jf.connect([function])
        bound = session[session.names[0]].with_options(progress=False)
        frame = (
            bound.with_options(**CACHED)(n=3) if way == "call" else bound.sweep(n=[3])
        )
        results.append((frame.iloc[0, -1], frame.attrs["funcs"].get("cached")))
    assert results[0][0] != results[1][0]
    assert [results[2][0], results[3][0]] == [results[0][0], results[1][0]]
    assert all(cached for _, cached in results[2:])


def test_what_a_function_counts_or_collects_is_no_part_of_it() -> None:
    """Otherwise no result would be reused, since each run would change the key of the next one."""
    database = Database("1")
    collected = []
    runs = 0

    def counting(n: int = 1) -> int:
        nonlocal runs
        runs += 1
        collected.append(n)
        return n

    text = "runs = 0\ndef f(n=1):\n  global runs\n  runs += 1\n  return runs"
    for function in (counting, database.rows, made(text)):
        bound = next(iter(jf.connect([function]))).with_options(**CACHED)
        assert bound(n=1).equals(bound(n=1))
    assert (runs, len(collected), database.runs) == (1, 1, 1)


def test_a_list_that_a_notebook_changes_is_another_one() -> None:
    """Also for a function that appends to another list of its own."""
    symbols = ["1"]
    function = made(
        "def f(n=1):\n  rows = []\n  rows.append(symbols[0])\n  return rows",
        symbols=symbols,
    )
    bound = next(iter(jf.connect([function]))).with_options(**CACHED)
    told = [bound(n=1).iloc[0, -1]]
    symbols[0] = "2"
    told.append(bound(n=1).iloc[0, -1])
    assert told == ["1", "2"]


def test_nothing_is_taken_for_the_same_if_it_cannot_be_read() -> None:
    """A list that contains itself doesn't hide what follows it."""
    endless: list[Any] = []
    endless.append(endless)
    space: dict[str, Any] = {"__name__": "__main__", "A": endless, "B": "1"}
    exec("def f(n=1): return [B, A is A][0]", space)
    bound = next(iter(jf.connect([space["f"]]))).with_options(**CACHED)
    told = [bound(n=1).iloc[0, -1]]
    space["B"] = "2"
    told.append(bound(n=1).iloc[0, -1])
    assert told == ["1", "2"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


RUN = """
import jupyter_funcs as jf
rows = jf.connect("python:team_of_keys").rows
print(rows.with_options(cache=True)(n=1).iloc[0, 0], rows.sweep(n=[1, 2]).iloc[0, -1])
"""


def run_in_a_kernel(folder: Path) -> str:
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    run = subprocess.run(
        [sys.executable, "-c", RUN],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


MODULES = {
    "team_of_keys.py": """
import time, threading
from dataclasses import dataclass
from helper_of_keys import helped
import helper_of_keys as other
LIMIT = ["1"]
LOCK = threading.Lock()
KINDS = {"a": {"p", "q", "r", "s", "t"}}
@dataclass
class Told:
    text: str = "1"
def rows(n: int = 1):
    from lazy_of_keys import later
    kinds = {"a", "b", "c"}
    with LOCK:
        texts = [helped(), other.told(), LIMIT[0], str("a" in {"x", "y", "a"}), later(), Told().text]
        texts.append(str(sorted(KINDS["a"])).replace(" ", ""))
        texts.append(str(time.time()))
        return {"n": n, "of": " ".join(texts)}
""",
    "helper_of_keys.py": """
NAME = "1"
def helped():
    return "1"
def told():
    return NAME
""",
    "lazy_of_keys.py": """
def later():
    import later_of_keys
    return getattr(later_of_keys, "NAME")
""",
    "later_of_keys.py": """
NAME = "1"
""",
}


@pytest.mark.slow
def test_a_module_that_is_edited_runs_again_in_the_next_kernel(tmp_path: Path) -> None:
    """The module or one that it imports; unchanged, its results are reused."""
    for name, text in MODULES.items():
        (tmp_path / name).write_text(text)
    told = [run_in_a_kernel(tmp_path)]
    assert run_in_a_kernel(tmp_path) == told[0]
    for file, before, after in [
        ("team_of_keys.py", '"n": n', '"m": n'),
        ("team_of_keys.py", 'LIMIT = ["1"]', 'LIMIT = ["2"]'),
        ("helper_of_keys.py", 'return "1"', 'return "2"'),
        ("helper_of_keys.py", 'NAME = "1"', 'NAME = "2"'),
        ("later_of_keys.py", 'NAME = "1"', 'NAME = "2"'),
        ("team_of_keys.py", 'text: str = "1"', 'text: str = "2"'),
    ]:
        (tmp_path / file).write_text(
            (tmp_path / file).read_text().replace(before, after)
        )
        told.append(run_in_a_kernel(tmp_path))
    assert run_in_a_kernel(tmp_path) == told[-1]
    assert len({text.split()[-1] for text in told}) == len(told) == 7


def test_an_object_that_a_notebook_replaces_in_a_module_is_another_one(
    folder: Path,
) -> None:
    """A connection, a list or a setting of the module, between two calls."""
    (folder / "settings_of_keys.py").write_text(
        "import sqlite3\nLIMIT = ['1']\nconnection = sqlite3.connect(':memory:', check_same_thread=False)\n"
        "def rows(n: int = 1):\n    return str([LIMIT, id(connection)])\n"
    )
    session = jf.connect("python:settings_of_keys").refresh()
    module = sys.modules["settings_of_keys"]
    function = session.rows.with_options(**CACHED)
    told = [function(n=1).iloc[0, 0]]
    assert function(n=1).iloc[0, 0] == told[0]
    before = module.connection
    module.connection = sqlite3.connect(":memory:")
    told.append(function(n=1).iloc[0, 0])
    module.LIMIT = ["2"]
    told.append(function(n=1).iloc[0, 0])
    assert len(set(told)) == 3
    before.close()
    module.connection.close()


def test_a_module_that_is_loaded_again_in_this_kernel_runs_again(folder: Path) -> None:
    """An edit alone changes nothing, because the old code runs; importlib.reload does."""
    (folder / "reloaded_of_keys.py").write_text(
        "def rows(n: int = 1):\n    return 'old'\n"
    )
    session = jf.connect("python:reloaded_of_keys")
    assert session.rows.with_options(**CACHED)(n=1).iloc[0, 0] == "old"
    (folder / "reloaded_of_keys.py").write_text(
        "def rows(n: int = 1):\n    return 'renewed'\n"
    )
    again = jf.connect("python:reloaded_of_keys").rows.with_options(**CACHED)(n=1)
    assert (again.iloc[0, 0], bool(again.attrs["funcs"].get("cached"))) == ("old", True)
    importlib.reload(sys.modules["reloaded_of_keys"])
    assert (
        jf.connect("python:reloaded_of_keys")
        .rows.with_options(**CACHED)(n=1)
        .iloc[0, 0]
        == "renewed"
    )


def test_a_function_whose_code_is_replaced_runs_again(folder: Path) -> None:
    """As with %autoreload, in place: the same session notices."""
    (folder / "autoreloaded_of_keys.py").write_text(
        "def rows(n: int = 1):\n    return 'old'\n"
    )
    session = jf.connect("python:autoreloaded_of_keys")
    function = session.rows.with_options(**CACHED)
    assert function(n=1).iloc[0, 0] == "old"
    sys.modules["autoreloaded_of_keys"].rows.__code__ = made(
        "def f(n=1): return 'new'"
    ).__code__
    assert function(n=1).iloc[0, 0] == "new"


@pytest.mark.slow
def test_no_key_can_be_tried_out_without_the_salt(
    tools: Callable[..., Session],
) -> None:
    """A command may contain a key: the files of the cache have neither the key nor its unsalted hash."""
    answer(tools("one.db", "--api-key", CANARY), "call")
    stored = b"".join(
        path.read_bytes()
        for path in own_path("results").rglob("*")
        if path.is_file() and path.name != "salt"
    )
    assert CANARY.encode() not in stored
    assert len((own_path("results") / "salt").read_bytes()) == 32
