"""A lock file beside a notebook lists the functions it relies on: runs warn of changes, and a check fails."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import tomllib
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import jupyter_funcs as jf
from jupyter_funcs.catalog.changes import (
    Interface,
    InterfaceParam,
    changes,
    drift,
    interface_of,
)
from jupyter_funcs.catalog.fields import Kind
from jupyter_funcs.catalog.listing import Function, Param
from jupyter_funcs.magic import subcommands
from jupyter_funcs.records import lock
from tests.growth import assert_linear
from tests.panel.page import state
from tests.shells import interactive_shell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_funcs.api import Session


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The notebook's folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    with interactive_shell() as shell:
        shell.run_line_magic("load_ext", "jupyter_funcs")
        yield shell


class Listing:
    """A service whose functions a test changes."""

    def __init__(self, **functions: list[dict[str, Any]]) -> None:
        self.functions = functions

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if "List" not in request.url.path:
            return httpx.Response(
                200, json={"error": None, "body": json.dumps([{"n": 1}])}
            )
        return httpx.Response(
            200,
            json=[
                {"name": name, "params": params}
                for name, params in self.functions.items()
            ],
        )


def params(*names: str, required: str = "", **kinds: int) -> list[dict[str, Any]]:
    return [
        {"name": name, "required": name == required, "type": kinds.get(name, 0)}
        for name in names
    ]


SYMBOL = 6
PANEL = 8


@pytest.mark.parametrize(
    ("before", "now", "message"),
    [
        (params("a", "b"), params("b", "a"), ""),
        (params("a", "b"), params("a"), "removed 'b'."),
        (params("a"), params("a", "Note"), "added 'Note'."),
        (params("a"), params("a", "Note", required="Note"), "added 'Note' (required)."),
        (params("a"), params("a", required="a"), "now requires 'a'."),
        (params("a", required="a"), params("a"), ""),
        (
            params("StartDate"),
            params("StartingDate"),
            "renamed 'StartDate' to 'StartingDate'.",
        ),
        (params("Brand"), params("BrandName"), "renamed 'Brand' to 'BrandName'."),
        (
            params("Brand"),
            params("PreferredBrandName"),
            "renamed 'Brand' to 'PreferredBrandName'.",
        ),
        (
            params("BrandA", "BrandB"),
            params("Brands"),
            "renamed 'BrandA' to 'Brands', removed 'BrandB'.",
        ),
        (
            params("brand_name"),
            params("BrandName"),
            "renamed 'brand_name' to 'BrandName'.",
        ),
        (
            params("Ticker", Ticker=SYMBOL),
            params("Security", Security=SYMBOL),
            "renamed 'Ticker' to 'Security'.",
        ),
        (params("Lookback"), params("Region"), "removed 'Lookback', added 'Region'."),
        (
            params("Brand", "Lookback"),
            params("BrandName", required="BrandName"),
            "renamed 'Brand' to 'BrandName', removed 'Lookback', now requires 'BrandName'.",
        ),
        (
            params("BrandA", "BrandB"),
            params("BrandsA", "BrandsB"),
            "renamed 'BrandA' to 'BrandsA' and 'BrandB' to 'BrandsB'.",
        ),
    ],
)
def test_what_has_changed_is_said(
    before: list[Any], now: list[Any], message: str, answering: Any
) -> None:
    """Renamed, removed, added and required parameters are named in one sentence; other changes are not."""
    functions = [
        answering(Listing(F=parameters))["F"].function for parameters in (before, now)
    ]
    text = drift(*functions)
    assert text == "" if not message else text.endswith(message)
    assert text == "" or text.startswith("The service has changed 'F': ")


def test_a_new_rule_is_a_requirement() -> None:
    """A parameter that became one of several required ones is named; unchanged rules and renames are not."""
    free: Interface = {
        "Symbol": InterfaceParam("symbol"),
        "Brand": InterfaceParam("list"),
    }
    rule: Interface = {
        name: replace(what, one_of=("Symbol", "Brand")) for name, what in free.items()
    }
    other: Interface = {
        "Symbol": InterfaceParam("symbol", one_of=("Symbol", "BrandName")),
        "BrandName": InterfaceParam("list", one_of=("Symbol", "BrandName")),
    }
    assert (
        changes("F", free, rule)
        == "The service has changed 'F': now requires 'Symbol' or 'Brand'."
    )
    assert changes("F", rule, rule) == changes("F", rule, free) == ""
    assert (
        changes("F", rule, other)
        == "The service has changed 'F': renamed 'Brand' to 'BrandName'."
    )


def test_many_new_names_are_not_paired() -> None:
    """Old and new names aren't all compared: the time is linear, however many or long they are."""

    def many(number: int) -> None:
        old, new = (
            {f"{which}{at}": InterfaceParam("text") for at in range(number)}
            for which in ("alpha", "beta")
        )
        assert "removed 'alpha0'" in changes("F", old, new)

    def long(length: int) -> None:
        old, new = (
            "".join(map(chr, range(at, at + length))) for at in (0x4E00, 0x5E00)
        )
        assert "removed" in changes(
            "F", {old: InterfaceParam("text")}, {new: InterfaceParam("text")}
        )

    assert_linear(many, 2**12, start=100)
    assert_linear(long, 2**12, start=100)


def test_a_lock_shows_names_inert(
    answering: Callable[..., Session], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name can't steer the terminal."""
    session = answering(
        lambda _: httpx.Response(200, json=[{"name": "F\x1b[31m\u202e", "params": []}])
    )
    subcommands.lock_functions(session, [session.names[0]], is_check=False)
    assert f"in {folder / lock.NAME}: F\\x1b[31m\\u202e." in capsys.readouterr().out


def test_a_lock_is_written_for_a_person_to_read(
    folder: Path, shell: InteractiveShell
) -> None:
    """%funcs lock adds the parameters of the functions that ran, or of those named, to the file."""
    assert shell.run_cell("%funcs call get_panels; %funcs lock").success is False
    shell.run_cell("df = %funcs call get_panels\n%funcs lock").raise_error()
    assert list(
        tomllib.loads((folder / lock.NAME).read_text("utf-8"))["functions"]
    ) == ["Get Panels"]
    shell.run_cell("%funcs lock get_panel_daily 'Get Universe'").raise_error()
    shell.run_cell("%funcs lock Get Panel Daily").raise_error()
    text = (folder / lock.NAME).read_text("utf-8")
    content = tomllib.loads(text)
    assert list(content["functions"]) == [
        "Get Panel Daily",
        "Get Panels",
        "Get Universe",
    ]
    assert content["service"] == "demo"
    assert text.startswith("# The functions that the notebooks in this folder rely on")
    assert (
        '[functions."Get Panel Daily"]\nPanelName = {kind = "panel", required = true}\n'
        in text
    )
    assert 'Symbol = {kind = "symbol", one_of = ["Symbol", "Brand"]}\n' in text
    shell.run_cell("%funcs lock").raise_error()
    assert (folder / lock.NAME).read_text(
        "utf-8"
    ) == text  # unchanged, since nothing else ran


@pytest.mark.parametrize("sweeps", [False, True])
def test_a_run_says_what_has_changed_since(
    answering: Callable[..., Session], *, sweeps: bool
) -> None:
    """The first run of a locked function warns; its next run and other functions don't."""
    service = Listing(F=params("Brand"), G=params("a"))
    before = answering(service)
    subcommands.lock_functions(before, ["F", "G"], is_check=False)

    def run(funcs: Session, **values: str) -> None:
        if sweeps:
            funcs["F"].with_options(progress=False, cache=False).sweep(
                **{name: [value] for name, value in values.items()}
            )
        else:
            funcs["F"](**values)

    service.functions["F"] = params("BrandName")
    later = answering(service)
    with pytest.warns(
        UserWarning,
        match="renamed 'Brand' to 'BrandName'. funcs.lock has the old signature",
    ) as caught:
        run(later, BrandName="x")
    assert len(caught) == 1
    run(later, BrandName="y")
    later["G"](a="1")
    later.refresh()  # after a refresh, functions are compared again
    with pytest.warns(UserWarning, match="renamed"):
        run(later, BrandName="z")
    subcommands.lock_functions(later, [], is_check=False)
    run(answering(service), BrandName="x")


def test_a_refused_run_says_it_too(answering: Callable[..., Session]) -> None:
    """The warning also comes if the run itself fails."""
    service = Listing(F=params("a"))
    subcommands.lock_functions(answering(service), ["F"], is_check=False)
    service.functions["F"] = params("a", required="a")

    def refuse(request: httpx.Request) -> httpx.Response:
        return (
            service(request)
            if "List" in request.url.path
            else httpx.Response(200, json={"error": "no", "body": ""})
        )

    with (
        pytest.warns(UserWarning, match="now requires 'a'"),
        pytest.raises(jf.FunctionError),
    ):
        answering(refuse)["F"](a="1")


def test_a_check_fails_where_something_has_changed(
    answering: Callable[..., Session], capsys: pytest.CaptureFixture[str]
) -> None:
    """--check lists the functions again and raises all changes, or says that there are none."""
    service = Listing(
        F=params("a"), G=params("b"), H=params("c"), I=params("d"), J=params("e")
    )
    funcs = answering(service)
    with pytest.raises(jf.NotFoundError, match=r"no funcs.lock in"):
        subcommands.lock_functions(funcs, [], is_check=True)
    subcommands.lock_functions(funcs, list("FGHIJ"), is_check=False)
    subcommands.lock_functions(funcs, [], is_check=True)
    assert "5 functions match funcs.lock" in capsys.readouterr().out
    subcommands.lock_functions(funcs, ["F"], is_check=True)
    assert "1 function matches funcs.lock" in capsys.readouterr().out
    del service.functions["F"]
    with pytest.raises(jf.FuncsError, match="F is no longer in your catalog"):
        subcommands.lock_functions(funcs, [], is_check=True)
    with pytest.raises(jf.FuncsError, match="F is no longer in your catalog"):
        subcommands.lock_functions(funcs, ["F"], is_check=True)
    subcommands.lock_functions(funcs, ["G"], is_check=True)
    service.functions = {name: [] for name in "GHIJ"}
    with pytest.raises(
        jf.FuncsError, match=r"'G': removed 'b'\. .*'H': removed 'c'.*And 2 more"
    ) as caught:
        subcommands.lock_functions(funcs, [], is_check=True)
    assert len(caught.value.lines) == 2


def test_a_lock_of_another_service_is_said(
    answering: Callable[..., Session], folder: Path
) -> None:
    """A lock is compared only with its own service, and not overwritten by another's."""
    subcommands.lock_functions(jf.connect(), ["Get Panels"], is_check=False)
    text = (folder / lock.NAME).read_text("utf-8")
    funcs = answering(Listing(**{"Get Panels": params("a"), "G": params("a")}))
    with pytest.warns(
        UserWarning,
        match=r"funcs.lock locks functions of demo: runs on https://service.example are not compared",
    ):
        funcs["Get Panels"]()
    funcs["G"]()  # warned once
    with pytest.raises(
        jf.ConfigError,
        match=r"locks functions of demo, not of https://service\.example",
    ):
        subcommands.lock_functions(funcs, ["G"], is_check=False)
    with pytest.raises(jf.ArgumentError, match="Connect to that service"):
        subcommands.lock_functions(funcs, [], is_check=True)
    assert (folder / lock.NAME).read_text("utf-8") == text


BROKEN = {
    "not TOML": b"version = ",
    "not UTF-8": b"\xff\xfe\x00",
    "empty": b"",
    "another's": b"[package]\nname = 'x'\n",
    "no service": b"version = 1\n",
    "newer": b"version = 2\nservice = 'demo'\n",
    "functions that are none": b"version = 1\nservice = 'demo'\nfunctions = 3\n",
    "a function that is none": b"version = 1\nservice = 'demo'\n[functions]\nF = 3\n",
    "a parameter that is none": b"version = 1\nservice = 'demo'\n[functions.F]\na = 3\n",
    "a parameter without a kind": b"version = 1\nservice = 'demo'\n[functions.F]\na = {}\n",
    "a rule that is none": b"version = 1\nservice = 'demo'\n[functions.F]\na = {kind = 'text', one_of = 3}\n",
    "too large": b"#" * (256 * 2**10 + 1),
    "deep": b"a = " + b"[" * 100_000,
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_a_broken_lock_is_said_and_kept(
    answering: Callable[..., Session], folder: Path, data: bytes
) -> None:
    """Runs work with one warning; overwriting or comparing is an error; the file stays."""
    (folder / lock.NAME).write_bytes(data)
    funcs = answering(Listing(F=params("a"), G=params("a")))
    with pytest.warns(
        UserWarning, match=r"funcs.lock (.|\n)*Runs are not compared with it"
    ):
        assert len(funcs["F"](a="1")) == 1
    funcs["G"](a="1")
    for is_check in (False, True):
        with pytest.raises(jf.ConfigError, match=r"funcs\.lock") as caught:
            subcommands.lock_functions(funcs, ["F"], is_check=is_check)
        assert len(caught.value.lines) <= 3
    assert (folder / lock.NAME).read_bytes() == data


def test_a_folder_in_its_place_is_said(
    answering: Callable[..., Session], folder: Path
) -> None:
    """A folder in place of the file is an error with a message."""
    (folder / lock.NAME).mkdir()
    with pytest.raises(jf.ConfigError, match=r"funcs\.lock cannot be read"):
        subcommands.lock_functions(
            answering(Listing(F=params("a"))), ["F"], is_check=False
        )


@pytest.mark.parametrize(
    ("case", "message"),
    [("newer", "by a newer jupyter_funcs"), ("too large", "it is larger than 256 KiB")],
)
def test_what_is_wrong_with_a_lock_is_named(
    folder: Path, case: str, message: str
) -> None:
    """A lock of a later version isn't called broken, and a file that is too large isn't read."""
    (folder / lock.NAME).write_bytes(BROKEN[case])
    with pytest.raises(jf.ConfigError, match=message):
        lock.read(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="as POSIX has it")
def test_a_folder_that_cannot_be_written_is_said(
    answering: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the file can't be written, that is an error, and the old content stays."""
    funcs = answering(Listing(F=params("a"), G=params("a")))
    with tempfile.TemporaryDirectory() as made:
        monkeypatch.chdir(made)
        subcommands.lock_functions(funcs, ["F"], is_check=False)
        text = Path(lock.NAME).read_text("utf-8")
        Path(made).chmod(0o555)
        user = os.getuid()
        if user == 0:
            os.seteuid(65534)
        try:
            with pytest.raises(
                jf.ConfigError,
                match=r"funcs\.lock' can't be written: Permission denied",
            ):
                subcommands.lock_functions(funcs, ["G"], is_check=False)
        finally:
            os.seteuid(user)
            Path(made).chmod(0o700)
        assert Path(lock.NAME).read_text("utf-8") == text
        assert [path.name for path in Path(made).iterdir()] == [lock.NAME]
        monkeypatch.chdir("/")


def test_a_folder_that_is_gone_locks_nothing(
    answering: Callable[..., Session], folder: Path
) -> None:
    """A kernel whose folder was deleted still runs functions; writing a lock there is an error with a message."""
    funcs = answering(Listing(F=params("a")))
    gone = folder / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    assert len(funcs["F"](a="1")) == 1
    with pytest.raises(jf.ConfigError, match="folder"):
        subcommands.lock_functions(funcs, ["F"], is_check=False)


def test_a_name_that_is_none_is_said(answering: Callable[..., Session]) -> None:
    """A name outside the catalog is not locked; locking with nothing run and nothing named is an error."""
    funcs = answering(Listing(**{"Get Panels": [], "Get Panel Daily": []}))
    with pytest.raises(jf.ArgumentError, match="No function has been run yet"):
        subcommands.lock_functions(funcs, [], is_check=False)
    for words in (["Get", "Panel", "Dayly"], ["get_panels", "get_panel_dayly"]):
        with pytest.raises(jf.NotFoundError, match="Did you mean"):
            subcommands.lock_functions(funcs, words, is_check=False)
    assert not Path(lock.NAME).exists()


_NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
_PARAMETERS = st.builds(
    InterfaceParam,
    st.sampled_from([str(kind) for kind in Kind]),
    st.booleans(),
    st.lists(_NAMES, max_size=3).map(tuple),
)


@given(
    functions=st.dictionaries(
        _NAMES, st.dictionaries(_NAMES, _PARAMETERS, max_size=4), max_size=4
    )
)
def test_whatever_is_locked_is_read_as_it_was(
    tmp_path_factory: Any, functions: dict[str, Interface]
) -> None:
    """Names with any characters are read back from the file, in order and complete."""
    folder = tmp_path_factory.mktemp("lock")
    made = lock.Lock(folder / lock.NAME, "https://service.example", functions)
    made.path.write_text(made.text(), "utf-8")
    read = lock.read(folder)
    assert read is not None
    assert read == made
    assert {name: list(parameters) for name, parameters in read.functions.items()} == {
        name: list(parameters) for name, parameters in functions.items()
    }


@given(
    before=st.dictionaries(_NAMES, _PARAMETERS, max_size=5),
    now=st.dictionaries(_NAMES, _PARAMETERS, max_size=5),
)
def test_any_two_signatures_can_be_compared(before: Interface, now: Interface) -> None:
    """An unchanged function has no changes; added and removed parameters are named, whatever their names."""
    assert changes("F", before, before) == ""
    if set(before) != set(now):
        assert changes("F", before, now)


def test_a_run_without_a_lock_says_nothing(answering: Callable[..., Session]) -> None:
    """Nor does a run of a locked function that hasn't changed."""
    service = Listing(F=params("a"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answering(service)["F"](a="1")
        subcommands.lock_functions(answering(service), ["F"], is_check=False)
        funcs = answering(service)
        funcs["F"](a="1")
    assert interface_of(funcs["F"].function) == {"a": InterfaceParam("text")}


def test_the_panel_says_it_below_the_result() -> None:
    """A user who runs a locked function in the panel sees the changes there, since the panel shows no warnings."""
    before = jf.connect()
    subcommands.lock_functions(before, ["Get Panels"], is_check=False)
    path = Path(lock.NAME)
    path.write_text(f"{path.read_text('utf-8')}Gone = {{kind = 'text'}}\n", "utf-8")
    panel = jf.connect().panel("Get Panels")
    with pytest.warns(UserWarning, match="removed 'Gone'"):
        panel.run().result(60)
    panel.result(60)
    assert "changed 'Get Panels': removed 'Gone'" in state(panel)["warnings"][0]
    panel.close()


def dotted(dots: int, size: int) -> str:
    """Return a lock of about this size, whose keys have as many dots as allowed, or only dots."""
    key = f"{'a.' * dots}k"
    return 'version = 1\nservice = "demo"\n' + "".join(
        f"{key}{number} = 1\n" for number in range(max(size // len(key), 1))
    )


@pytest.mark.fault(152)
def test_a_lock_of_a_stranger_is_read_in_linear_time(folder: Path) -> None:
    """Four times the bytes take four times as long, whatever the keys; a key with too many dots isn't read at all."""

    def read(size: int) -> None:
        (folder / lock.NAME).write_text(dotted(90, size))
        lock.read(folder)

    assert_linear(read, most=60_000, start=15_000)
    for text in (
        dotted(100_000, 1),
        f"x = {{{'a.' * 100_000}b = 1}}",
        f"[{'a.' * 100_000}b]",
        '"a".' * 50_000 + "b = 1",
        "a." * 80 + '"\u2028\x85".' + "a." * 80 + "b = 1",
    ):
        (folder / lock.NAME).write_text(text)
        with pytest.raises(jf.ConfigError, match=r"too many dots|Illegal"):
            lock.read(folder)


@pytest.mark.fault(152)
def test_a_lock_of_2_mb_is_not_read(folder: Path) -> None:
    """It isn't compared either: the run says why."""
    (folder / lock.NAME).write_text(dotted(20, 2_000_000))
    with pytest.raises(jf.ConfigError, match="larger than 256 KiB"):
        lock.read(folder)


STRANGE = "x\u202ey\x1b[2Jz\u2066\u200b"


@pytest.mark.slow
@pytest.mark.fault(152)
@pytest.mark.parametrize("service", [STRANGE, "https://service.example"])
def test_the_texts_of_a_stranger_are_shown_inert(
    answering: Callable[..., Session],
    folder: Path,
    service: str,
    shell: InteractiveShell,
) -> None:
    """A service, functions and parameters with control and bidirectional characters, and thousands of them."""
    old = {
        STRANGE: {},
        "F": {f"{STRANGE}{number}": InterfaceParam("text") for number in range(2000)},
    }
    (folder / lock.NAME).write_text(lock.Lock(folder / lock.NAME, service, old).text())
    session = answering(Listing(F=params("a")))
    with pytest.warns(UserWarning, match="funcs.lock") as warned:
        session["F"](a="1")
    texts = [str(warning.message) for warning in warned]
    for words in ([], [STRANGE], ["F"]):
        with pytest.raises(jf.FuncsError) as caught:
            subcommands.lock_functions(session, words, is_check=True)
        texts.append(str(caught.value))
    if service == STRANGE:
        with pytest.raises(jf.FuncsError) as caught:
            subcommands.lock_functions(session, ["F"], is_check=False)
        texts.append(str(caught.value))
    assert texts
    for text in texts:
        assert not {"\u202e", "\x1b", "\u2066", "\u200b"} & set(text)
        assert len(text) < 10_000
        assert "\\u202e" in text or "F" in text


@pytest.mark.slow
@pytest.mark.fault(152)
def test_no_lock_is_written_that_could_not_be_read(folder: Path) -> None:
    """The error says so, and the existing lock stays."""
    many = [
        Function(
            name=f"F{number}",
            params=tuple(Param(name=f"{at}" * 80) for at in range(100)),
        )
        for number in range(20)
    ]
    lock.write(folder, "demo", many[:1])
    before = (folder / lock.NAME).read_text()
    with pytest.raises(jf.ConfigError, match="more than 256 KiB"):
        lock.write(folder, "demo", many)
    assert (folder / lock.NAME).read_text() == before
