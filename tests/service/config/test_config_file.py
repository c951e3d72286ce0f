"""The line of each key in a TOML file, checked on generated documents."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.service.config.config_file import TomlFile

if TYPE_CHECKING:
    from pathlib import Path

EVERYTHING = '''# A comment with [brackets] and a = sign
organisation = "Team"   # and another

"quoted key" = 1
dotted.key . inner = 2
text = """
port = 3
[server]
"""
literal = \'\'\'
port = 4
\'\'\'
list = [
  1, # one

  2,
]
inline = { a = 1, b = { c = [2] } }

[server]
port = 8765

  [data.columns]  # indented
  "the day" = 'x'

[[data.reports]]
id = "a"

[[data.reports]]
title = "b"
[data.reports.more]
deep = true
'''


LINES = {
    (): 0,
    ("organisation",): 2,
    ("quoted key",): 4,
    ("dotted",): 5,
    ("dotted", "key", "inner"): 5,
    ("text",): 6,
    ("literal",): 10,
    ("list",): 13,
    ("list", 1): 13,
    ("inline", "b", "c", 0): 18,
    ("server",): 20,
    ("server", "port"): 21,
    ("data",): 23,
    ("data", "columns", "the day"): 24,
    ("data", "reports", 0, "id"): 27,
    ("data", "reports", 1): 29,
    ("data", "reports", 1, "title"): 30,
    ("data", "reports", 1, "more", "deep"): 32,
    # An absent key is where it belongs.
    ("nothing",): 0,
    ("server", "host"): 20,
    ("data", "reports", 1, "id"): 29,
    ("data", "reports", 5): 26,
}


@pytest.mark.parametrize(
    ("key", "line"),
    LINES.items(),
    ids=[".".join(map(str, key)) or "the file" for key in LINES],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_the_line_of_a_key_is_where_its_statement_begins(
    key: tuple[str | int, ...], line: int, end: str
) -> None:
    text = EVERYTHING.replace("\n", end)
    file = TomlFile("x.toml", text, tomllib.loads(text))
    assert file.line(key) == line
    assert file.place(key).startswith(f"x.toml, line {line}, " if line else "x.toml")


def test_a_place_is_the_file_the_line_and_the_path_of_the_key() -> None:
    file = TomlFile("x.toml", EVERYTHING, tomllib.loads(EVERYTHING))
    assert file.place(()) == "x.toml"
    assert (
        file.place(("data", "reports", 1, "more", "deep"))
        == "x.toml, line 32, data.reports[1].more.deep"
    )
    assert (
        file.place(("data", "columns", "the day"))
        == "x.toml, line 24, data.columns.'the day'"
    )
    assert file.place(("nothing",)) == "x.toml, nothing"


NAMES = st.text("ab.-é ]='\"", min_size=1, max_size=4) | st.sampled_from(["port", "a"])
BASIC = (st.text(max_size=20) | st.sampled_from(["# no", "a = 1", "[x]"])).map(
    lambda text: text.replace("\x7f", "")
)
SCALARS = st.one_of(
    st.integers(-9, 9).map(str),
    st.booleans().map(json.dumps),
    BASIC.map(lambda text: json.dumps(text, ensure_ascii=True)).filter(
        lambda text: "\\ud" not in text
    ),
    st.lists(st.sampled_from(["a = 1", "[b]", "# c", "", "'"]), max_size=4).map(
        lambda lines: '"""\n' + "\n".join(lines) + '"""'
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3).map(
        lambda items: "[\n" + "".join(f" {item}, # x\n" for item in items) + "]"
    ),
    max_leaves=4,
)


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[tuple[Any, ...], int]]:
    """Draw a document, and the line of each key in it."""
    lines: list[str] = []
    keys: dict[tuple[Any, ...], int] = {}
    seen: dict[str, int] = {}

    def add(text: str) -> int:
        start = sum(line.count("\n") + 1 for line in lines) + 1
        lines.append(text)
        return start

    def fill(path: tuple[Any, ...]) -> None:
        for name in draw(st.lists(NAMES, max_size=4, unique=True)):
            for _ in range(draw(st.integers(0, 2))):
                add(draw(st.sampled_from(["", "# a = 1", "  # [x]"])))
            keys[(*path, name)] = add(
                f"{draw(st.sampled_from(['', '  ']))}{json.dumps(name, ensure_ascii=False)} = {draw(VALUES)}"
            )

    fill(())
    for number in range(draw(st.integers(0, 4))):
        if draw(st.booleans()):
            path: tuple[Any, ...] = (f"table {number}", "inner")
            keys[path] = add(f'["table {number}" . inner] # c')
        else:
            name = draw(st.sampled_from(["list one", "list two"]))
            path = (name, seen.setdefault(name, 0))
            seen[name] += 1
            keys[path] = add(f'[["{name}"]]')
        fill(path)
    return "\n".join(lines), keys


@pytest.mark.slow
@settings(deadline=None)
@given(documents())
def test_the_lines_in_any_document_are_those_of_its_keys(
    document: tuple[str, dict[Any, int]],
) -> None:
    text, keys = document
    file = TomlFile("x.toml", text, tomllib.loads(text))
    assert {key: file.line(key) for key in keys} == keys


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(
            b"a = 1\nb = \n",
            "x.toml, line 2: Invalid value. Put text in quotes",
            id="no value",
        ),
        pytest.param(
            b"a = 1\n\na = 2\n",
            "x.toml, line 3: Cannot overwrite a value. The key appears twice.",
            id="a key twice",
        ),
        pytest.param(
            b"[server]\nport: 3\n",
            "x.toml, line 2: Expected '=' after a key in a key/value pair.",
            id="no table",
        ),
        pytest.param(b'a = 1\n\nb = """\nc\n', "x.toml, line 3: ", id="an open text"),
        pytest.param(b"a = 1\nb = [\n 1,\n", "x.toml, line 2: ", id="an open list"),
        pytest.param(
            b"a = '\xff'",
            "x.toml is not UTF-8 text (invalid start byte at byte 5). Save it as UTF-8.",
            id="not UTF-8",
        ),
        pytest.param(
            b"a = " + b"[" * 9999,
            "x.toml: arrays or tables are nested too deeply.",
            id="a depth bomb",
        ),
    ],
)
def test_invalid_toml_is_refused_with_the_line(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    with pytest.raises(SetupError) as caught:
        TomlFile.read(path)
    # tomllib's message about an unfinished statement depends on Python's version.
    assert str(caught.value).replace(f"{tmp_path}/", "").startswith(message)
    assert str(caught.value).endswith(".")


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(b"\xef\xbb\xbfa = 1\n")
    assert TomlFile.read(path).values == {"a": 1}


def test_an_absent_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        SetupError,
        match=r"nope\.toml cannot be read: No such file or directory\.\nEnter the path",
    ):
        TomlFile.read(tmp_path / "nope.toml")
    with pytest.raises(SetupError, match="is not a regular file"):
        TomlFile.read(tmp_path)


def test_a_long_file_is_searched_quickly() -> None:
    text = "".join(f'[[reports]]\nid = "{number}"\n' for number in range(2000))
    file = TomlFile("x.toml", text, tomllib.loads(text))
    assert file.line(("reports", 1500, "id")) == 3002
