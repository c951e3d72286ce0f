r"""
A table of JSON texts, right and wrong: each is read as the value that RFC 8259 gives it, or refused by name.

Every text is read as a document, as a whole reply and as the text in a reply's ``body``, each with ``strict=True`` too,
and as a value among records. Which value a text has is the standard library's word, never that of the code under test.
`reading` says what is chosen where the library is more lenient, or the RFC leaves a choice.
"""

from __future__ import annotations

import functools
import json
import math
import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_funcs.core.errors import FuncsError
from jupyter_funcs.core.json_decoding import decode, decode_lines
from jupyter_funcs.frames import chunks
from jupyter_funcs.frames.frame import to_frame
from tests.examples import row_id

if TYPE_CHECKING:
    from collections.abc import Callable

_BOM = "\ufeff"
_DEEP = 100_000

# Texts of one line, with a bar between them.
TEXTS = r"""
[] ¦ {} ¦ [[]] ¦ [{}] ¦ {"a":[]} ¦ {"a":{}} ¦ "x" ¦ 7 ¦ [1,2,3] ¦ [1,"a",null,true,{"b":2},[3]]
{"i":1,"f":0.5,"t":"x","n":null,"b":false,"l":[1],"o":{"p":2}} ¦ [[1,2],[3],[]] ¦ [{"a":1},{"b":2},{}]
{"a":{"b":[{"c":[{"d":null}]}]}} ¦ [1,2 ¦ [ ¦ [1, ¦ { ¦ {"a" ¦ {"a": ¦ {"a":1 ¦ {"a":1, ¦ {"a ¦ [1]]
{"a":1}} ¦ [1} ¦ {"a":1] ¦ [{"a":1]} ¦ ] ¦ } ¦ , ¦ : ¦ [1,] ¦ [1, ] ¦ [,1] ¦ [,] ¦ [1,,2] ¦ [1 2]
["a""b"] ¦ [1;2] ¦ ["a":1] ¦ {"a":[1,2],"b":{},"c":[]} ¦ [1 .5] ¦ [nu ll]

{"a":1} ¦ {"a":1,"b":"x"} ¦ {"z":1,"a":2,"m":3} ¦ {"":1} ¦ {"1":1,"0":2} ¦ {"\u0000":1}
{"a\u0000b":1,"a":2} ¦ {"\"":1} ¦ {"é😀":1} ¦ {"\u0061\n":1} ¦ {"a":1,"A":2} ¦ {"__proto__":1,"a":2}
{"__class__":1,"self":2,"keys":3,"items":4} ¦ {"a.b":1,".":2} ¦ {"a":1,} ¦ {,"a":1} ¦ {,}
{"a":1,,"b":2} ¦ {"a":1 "b":2} ¦ {"a" 1} ¦ {"a"} ¦ {"a"::1} ¦ {"a"=1} ¦ {"a":} ¦ {:1} ¦ {a:1} ¦ {1:2}
{null:1} ¦ {[1]:1} ¦ {{}:1} ¦ {"a":1,b:2} ¦ {"a":1,2}

{"a":1,"a":2} ¦ {"a":1,"b":2,"a":3,"a":4} ¦ {"a":1,"a":1} ¦ {"ab":1,"a\u0062":2} ¦ {"":1,"":2}
[{"x":[{"a":{"b":1,"b":null}}]}] ¦ {"a":{"b":1},"a":[2]} ¦ {"a":1,"a":NaN} ¦ ["\\",NaN,{"a":1,"a":2}]
[{"a":1},{"a":2}] ¦ [{"a":1,"b":2,"a":3}]

true ¦ false ¦ null ¦ [true,false,null] ¦ {"t":true,"f":false,"n":null} ¦ True ¦ FALSE ¦ Null ¦ [None]
[undefined] ¦ [nul ¦ [nulll] ¦ [truefalse] ¦ [abc] ¦ [2024-01-01]

0 ¦ -0 ¦ -0.0 ¦ -0e1 ¦ 1 ¦ -1 ¦ 0.5 ¦ 1.0 ¦ 1.500 ¦ -12.75 ¦ 1e2 ¦ 1E2 ¦ 1e+2 ¦ 1e-2 ¦ 1e002 ¦ 7e0
-1.5E-3 ¦ 0e999 ¦ 0.0e99999999999999999999 ¦ 1.7976931348623157e308 ¦ 2.2250738585072014e-308
2.225073858507201e-308 ¦ 5e-324 ¦ 0.30000000000000004 ¦ 9007199254740993.0
1.00000000000000011102230246251565404236316680908203125 ¦ 123456789012345678901234567890e-10
1.00000000000000011102230246251565404236316680908203126 ¦ [340282366920938463463374607431768211455]
9007199254740993 ¦ 9223372036854775807 ¦ -9223372036854775808 ¦ 9223372036854775808
-9223372036854775809 ¦ 18446744073709551616 ¦ 01 ¦ [-01] ¦ [00] ¦ [00.5] ¦ +1 ¦ [+-1] ¦ [--1] ¦ - ¦ [- 1]
[−1] ¦ [1.] ¦ 1. ¦ .5 ¦ [-.5] ¦ [1.e5] ¦ [1.2.3] ¦ {"a":1,5} ¦ [1e] ¦ 1e ¦ [1e+] ¦ [1e+-2] ¦ [1e2e3]
[1e2.5] ¦ [e5] ¦ [0x1F] ¦ [1_000] ¦ [1n] ¦ [1+1] ¦ [½]
1E+400 ¦ [1,-1e999] ¦ [1.7976931348623159e308] ¦ {"a":1e99999999999999999999} ¦ 1e-400 ¦ -1e-400
[2e-324] ¦ [3e-324] ¦ 1e-99999999999999999999

NaN ¦ Infinity ¦ -Infinity ¦ [1,NaN,NaN] ¦ {"a":NaN,"b":1} ¦ ["\\", NaN, "NaN\\"] ¦ [NaN,1
["\\", "NaN", "\\", NaN] ¦ [NaN,"a\u0022"] ¦ [NaN,1e999] ¦ [NaNNaN] ¦ [1NaN] ¦ [\"NaN, "NaN"]
["NaN","Infinity"] ¦ [nan] ¦ [-NaN] ¦ [+Infinity] ¦ [inf] ¦ [Infinit] ¦ {Infinity:1}
["NaN", NaN, "a \"NaN\"", -Infinity, "Infinity, -Infinity", {"NaN": Infinity}]

"" ¦ ["\"\\\/\b\f\n\r\t"] ¦ " a  b " ¦ "a/b" ¦ "a\\" ¦ "\\n" ¦ "\\u0041" ¦ "\u0041\u00e9\u4e2d"
"\u00C9\uABCD\uabcd" ¦ "\u00412" ¦ "a\u0000b" ¦ "a\u0001\u001b\u001f\u007f\u009f" ¦ "a\u0022b\"c"
"\u2028\u2029" ¦ "a\ufeff" ¦ "\ufffe\uffff" ¦ "\ud7ff\ue000" ¦ "\ud83d\ude00" ¦ "\uD83D\uDE00"
"\ud800\udc00\udbff\udfff" ¦ "\ud83d\ude00\ud83d\ude01x" ¦ "007" ¦ "null" ¦ ["{}","[]","\"\""]
"a // b /* c */ # d" ¦ "abc ¦ "abc\" ¦ " ¦ ["é", "é ¦ ["\u00 ¦ 'a' ¦ [“a”] ¦ [abc def] ¦ ["a'] ¦ "a""b" ¦ "abc\
["\a"] ¦ ["x\v"] ¦ ["\0"] ¦ ["\x41"] ¦ ["\'"] ¦ ["\é"] ¦ ["a", \n] ¦ ["\u"] ¦ ["\u004"] ¦ ["\u004g"] ¦ ["\u+041"]
["\u 041"] ¦ ["\u0_41"] ¦ ["\u0x41"] ¦ ["\u{41}"]

"a\ud800" ¦ "a\udfff" ¦ "\ud83dx" ¦ "\ud83d\n" ¦ "\ud83d\u0041" ¦ "\ud83dude00" ¦ "\ud83d\\ude00"
"\ude00\ud83d" ¦ "\ud83d\ud83d\ude00" ¦ "\ud83d\ude00\ude00" ¦ ["NaN","\ud800"] ¦ {"\ud800":1}
["\ud83d","\ude00"] ¦ [{"a":"\uD800"},{"a":"x"}] ¦ ["\\ud800"] ¦ ["\ud800" 1] ¦ ["\ud83d\ude0"]

[1][2] ¦ {"a":1}{"a":2} ¦ 1 2 ¦ [1],[2] ¦ [1] x ¦ {"a":1}x ¦ "a"b ¦ null null ¦ [1]" ¦ [1], ¦ [1]//x
[1] # x ¦ ["é"]é ¦ <html><body>Sign in</body></html> ¦ callback([1]) ¦ [1, /* one */ 2] ¦ /* one */[1]
{"a":1, /* b */ "c":2} ¦ {'a': None}
"""
# Texts that such a line cannot hold, by what is odd about them.
OTHERS: dict[str, list[str | bytes]] = {
    "blanks": [
        "",
        " ",
        " \t\r\n \n",
        " \t\r\n[1]",
        "[1] \t\r\n",
        "\n\t7 \r",
        '\r"x" ',
        '{"a":[1, \n',
        '["a\r\nb"]',
    ],
    "more blanks": [
        ' \n{ \t"a" \r:\n [ 1 , \t2 ] \n, "b"\t:\t{ } } \r\n',
        " " * 1000 + "[1]" + "\n" * 1000,
    ],
    "lines": [
        "[1]\n[2]\n",
        '{"a":1}\n{"a":2}\n',
        "1\n2\n",
        ")]}',\n[1]",
        "\x1e[1]\n",
        "[1, // one\n2]",
        "# one\n[1]",
    ],
    "more lines": ["a,b\n1,2\n", '["a\\\nb"]'],
    "control characters": [
        f'["ab{chr(code)}c"]' for code in (*range(14), 0x1A, 0x1B, 0x1F)
    ],
    "more control characters": ['{"ab\tc":1}', '["\0"]', "[NaN,\0]", '["\0",NaN]'],
    "seldom characters": [
        '"\x7f"',
        '"\x80\x9f"',
        '"a\u00a0b"',
        '"a\u2028\u2029b"',
        '"a\ufeffb"',
        '"\u202eabc\u202c"',
    ],
    "characters of every length": [
        '"é\u0080\u07ff"',
        '"中\u0800\uffff"',
        '"😀\U00010000\U0010ffff"',
        '"\ufdd0"',
    ],
    "other letters and digits": [
        "[nu\u0131l]",
        "[\uff11\uff12]",
        "[1\uff12]",
        "[\u0661]",
        '["\\u00\uff14\uff11"]',
    ],
    "accents": ['"e\u0301"', '{"é":1,"e\u0301":2}'],
    "what isn't a blank of JSON": [
        text.format(char)
        for char in "\f\v\0\x1e\u00a0\u200b\u2028\u3000"
        for text in ("[1,{}2]", "[1]{}", "{}[1]", "{}7", "7{}", "{}")
    ],
    "byte order marks": [
        _BOM + text
        for text in (
            "[1]",
            ' \n{"a":1}',
            '"é"',
            "7",
            "",
            "[",
            "[1,,2]",
            "[NaN]",
            "\ufeff[1]",
        )
    ],
    "misplaced byte order marks": [
        f" {_BOM}[1]",
        f"[{_BOM}1]",
        f"[1{_BOM},2]",
        f"[1]{_BOM}",
    ],
    "broken UTF-8": [
        b'["%b"]' % part
        for part in (
            *(
                b"\x80",
                b"\xc3\xa9\xa9",
                b"\xc0\xaf",
                b"\xc0\x80",
                b"\xe0\x80\xaf",
                b"\xe0\x9f\xbf",
            ),
            *(
                b"\xf0\x8f\xbf\xbf",
                b"\xf0\x80\x80\xa2",
                b"\xf4\x90\x80\x80",
                b"\xf5\x80\x80\x80",
            ),
            *(
                b"\xf8\x88\x80\x80\x80",
                b"\xfe",
                b"\xff",
                b"\xed\xa0\x80",
                b"\xed\xbf\xbf",
            ),
            *(
                b"\xed\xa0\xbd\xed\xb8\x80",
                b"\xe4",
                b"\xe4\xb8",
                b"\xf0",
                b"\xf0\x9f",
                b"\xf0\x9f\x98",
            ),
            *(b"\xc3\xc3\xa9", b"M\xfcller", b"a" * 1000 + b"\xff"),
        )
    ],
    "broken UTF-8 elsewhere": [
        b'{"\xff":1}',
        b"[1,\xff]",
        b"\xff[1]",
        b"[1] \x80",
        b"\x1f\x8b\x08\x04\0\0\0\0",
    ],
    "UTF-8 that is cut": [b'["\xc3', b'["ab\xf0\x9f', b"\xef\xbb"],
    "other encodings": [
        *(
            '{"a":1}'.encode(f"utf-{bits}{order}")
            for bits in (16, 32)
            for order in ("", "-le", "-be")
        ),
        *(
            b"1\0",
            '["中"]'.encode("utf-16-be"),
            '"中"'.encode("utf-16-le"),
            b"\xff\xfe",
        ),
    ],
    "long integers": [
        "1" + "0" * 4299,
        "-" + "9" * 4300,
        "[" + "7" * 4300 + "]",
        "[NaN,-" + "9" * 4300 + "]",
    ],
    "too long integers": [
        "1" + "0" * 4300,
        "-" + "9" * 5000,
        '{"a":' + "9" * 5000 + "}",
        "[" + "8" * _DEEP + "]",
    ],
    "long fractions": ["0." + "1" * 5000, "1" * 300 + ".5", "1" * 400 + ".5"],
    "exponents that make them small": [
        "1" + "0" * 400 + "e-400",
        "0." + "0" * 400 + "1e401",
    ],
    "long texts": [
        '"' + "ab" * 5000 + '"',
        '"' + r"\u00e9\n" * 1000 + '"',
        '"a' + "[" * _DEEP + '"',
    ],
    "many keys": [json.dumps({str(key): key for key in range(200)})],
    "depth": [
        "[" * 900 + "1" + "]" * 900,
        '{"a":' * 900 + "1" + "}" * 900,
        '[{"a":' * 450 + "1" + "}]" * 450,
    ],
    "depth without an end": ["[" * 100, '{"a":' * 100, "[" * _DEEP, '{"a":' * _DEEP],
    "too great a depth": [
        "[" * _DEEP + "]" * _DEEP,
        "[ " * _DEEP + " ]" * _DEEP,
        "[NaN," * _DEEP + "1" + "]" * _DEEP,
    ],
    "too great a depth in the second row": [
        '[{"a":1},{"a":' + "[" * _DEEP + "]" * _DEEP + "}]"
    ],
}
TABLE: dict[str, bytes] = {
    row_id(text): text.encode()
    for line in TEXTS.split("\n")
    for text in line.split(" ¦ ")
    if text
}
TABLE |= {
    f"{name} {number}": text if isinstance(text, bytes) else text.encode()
    for name, texts in OTHERS.items()
    for number, text in enumerate(texts)
}


class TooLongError(ValueError):
    """A number that is not read, though JSON has it."""


@dataclass(frozen=True)
class Reading:
    """How a text is read: its value, and what is warned of, or refused if strict; or why it is always refused."""

    value: Any
    warned: list[str]
    refused_if_strict: list[str]
    error: Exception | None = None


def without_halves(value: Any, text: str) -> Any:
    """Replace the halves of surrogate pairs, which have no meaning, by U+FFFD."""
    if not re.search(r"\\u[dD][89a-fA-F]", text):
        return value
    return json.loads(
        re.sub("[\ud800-\udfff]", "\ufffd", json.dumps(value, ensure_ascii=False))
    )


@functools.cache
def reading(raw: bytes) -> Reading:
    """Return what the standard library reads, within the limits of ours."""
    odd: list[str] = []

    def constant(_name: str) -> None:
        """The RFC has no NaN, but Python's json writes it: null."""
        odd.append("NaN or Infinity")

    def integer(digits: str) -> int:
        """Any that CPython can read and write."""
        if len(digits.lstrip("-")) > 4300:
            raise TooLongError(f"an integer with {len(digits.lstrip('-')):,} digits")
        return int(digits)

    def fraction(digits: str) -> float:
        """The nearest float; an infinite one was not kept."""
        if math.isinf(value := float(digits)):
            raise TooLongError("a number that is too large")
        return value

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Of a key that comes twice the last value wins, as in Python and JavaScript."""
        if len(dict(pairs)) < len(pairs):
            odd.append("twice")
        return dict(pairs)

    try:
        text = raw.decode().removeprefix(_BOM)
        value = json.loads(
            text,
            parse_constant=constant,
            parse_int=integer,
            parse_float=fraction,
            object_pairs_hook=members,
        )
    except (ValueError, RecursionError) as error:
        return Reading(None, [], [], error)
    if (whole := without_halves(value, text)) != value:
        odd.append("halves of surrogate pairs")
        value = whole
    told = [*dict.fromkeys(odd)]
    return Reading(value, [oddity for oddity in told if oddity != "twice"], told)


def is_utf8(raw: bytes) -> bool:
    try:
        return "\0" not in raw.decode().removeprefix('["\0')
    except UnicodeDecodeError:
        return False


EVERY = pytest.mark.parametrize("raw", TABLE.values(), ids=TABLE)


@dataclass(frozen=True)
class Outcome:
    """The outcome of decoding: a value, or an error's class and message; and the warnings."""

    value: Any
    error: str
    warned: list[str]


def outcome(read: Callable[[], Any]) -> Outcome:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = None
        error = ""
        try:
            value = read()
        except FuncsError as raised:
            error = f"{type(raised).__name__}: {raised.what}"
    return Outcome(value, error, [str(warning.message) for warning in caught])


def assert_read(decoded: Outcome, expected: Reading) -> None:
    assert decoded.error == ""
    assert len(decoded.warned) == len(expected.warned), decoded.warned
    for words, warned in zip(expected.warned, decoded.warned, strict=True):
        assert words in warned


def is_refused(expected: Reading, *, strict: bool) -> bool:
    return bool(expected.error or (strict and expected.refused_if_strict))


def assert_refused(decoded: Outcome, raw: bytes, expected: Reading, what: str) -> None:
    """Check for an error that says what is wrong, and where."""
    assert decoded.error.startswith(f"ProtocolError: The {what} "), decoded
    match expected.error:
        case RecursionError():
            assert "nested too deeply" in decoded.error
        case TooLongError():
            assert str(expected.error) in decoded.error or expected.error.args == (
                "a number that is too large",
            )
        case json.JSONDecodeError() if at := re.search(
            r"at byte ([0-9,]+)", decoded.error
        ):
            mark = 3 * raw.startswith(_BOM.encode())
            place = mark + len(expected.error.doc[: expected.error.pos].encode())
            assert int(at[1].replace(",", "")) in {place, len(raw)}


def plain(frame: pd.DataFrame) -> dict[str, list[Any]]:
    """Values by column, with None for every kind of missing value."""
    return {
        str(name): [
            None if pd.api.types.is_scalar(value) and pd.isna(value) else value
            for value in column
        ]
        for name, column in frame.astype(object).items()
    }


def told(frame: pd.DataFrame) -> list[str]:
    """Everything that equal frames have in common, including the sign of -0.0 and the types of values."""
    dtypes = [str(dtype) for dtype in frame.dtypes]
    return [
        repr(part)
        for part in (
            plain(frame),
            list(frame.index),
            type(frame.index),
            dtypes,
            frame.attrs,
        )
    ]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.slow
@given(JSON)
def test_every_value_that_json_can_hold_comes_back_equal_and_of_the_same_type(
    value: object,
) -> None:
    text = json.dumps(value)
    assert repr(decode(text)) == repr(value)
    assert repr(decode(text.encode(), strict=True)) == repr(value)


def check_document(raw: bytes, *, strict: bool) -> None:
    decoded = outcome(lambda: decode(raw, what="listing", strict=strict))
    expected = reading(raw)
    if is_refused(expected, strict=strict):
        assert_refused(decoded, raw, expected, "listing")
        assert expected.error or any(
            words in decoded.error for words in expected.refused_if_strict
        )
    else:
        assert_read(decoded, expected)
        assert repr(decoded.value) == repr(expected.value)


def check_characters(raw: bytes) -> None:
    """Characters are read as their bytes are."""
    assert repr(outcome(lambda: decode(raw.decode()))) == repr(
        outcome(lambda: decode(raw))
    )


@functools.cache
def expected_frame(raw: bytes) -> list[str]:
    return told(to_frame(json.dumps(reading(raw).value)))


def check_reply(raw: bytes, *, strict: bool) -> None:
    decoded = outcome(lambda: to_frame(raw, strict=strict))
    expected = reading(raw)
    if is_refused(expected, strict=strict):
        assert_refused(decoded, raw, expected, "reply")
        return
    assert_read(decoded, expected)
    assert told(decoded.value) == expected_frame(raw)


def check_body(raw: bytes, *, strict: bool) -> None:
    """A text in a body is a reply if it opens like JSON, and kept otherwise."""
    body = raw.decode()
    expected = reading(raw)
    decoded = outcome(
        lambda: to_frame(json.dumps({"error": None, "body": body}), strict=strict)
    )
    # Blanks of every kind: what opens like a table behind one that JSON lacks must not pass for a text.
    opens = body.removeprefix(_BOM).lstrip()[:1] in set('[{"')
    no_json = expected.error is not None and not isinstance(
        expected.error, TooLongError
    )
    if not opens and (no_json or body.startswith(_BOM)):
        assert (decoded.error, decoded.warned) == ("", [])
        assert plain(decoded.value) == {"Result": [body]}
        assert decoded.value.dtypes["Result"] == "string"
        assert decoded.value.attrs["funcs"]["shape"] == "text"
    elif is_refused(expected, strict=strict):
        assert_refused(decoded, raw, expected, "body of the reply")
    else:
        assert_read(decoded, expected)
        assert told(decoded.value) == expected_frame(raw)


def check_record(raw: bytes) -> None:
    """A value among records is kept, and a fault among them is named."""
    decoded = outcome(lambda: to_frame(PLACES[0] % raw))
    expected = reading(raw)
    if expected.error or raw.startswith(_BOM.encode()):
        assert decoded.error.startswith("ProtocolError: The reply ")
    else:
        assert_read(decoded, expected)
        assert repr(plain(decoded.value)["a"][0]) == repr(expected.value)


@EVERY
def test_a_text_gives_its_value_or_a_named_error(raw: bytes) -> None:
    """As a document, as a reply, in a reply's body and among its records: the function that fails says which."""
    for strict in (False, True):
        check_document(raw, strict=strict)
        check_reply(raw, strict=strict)
    check_record(raw)
    if not is_utf8(raw):
        return
    check_characters(raw)
    for strict in (False, True):
        check_body(raw, strict=strict)


# Where the text may be in a long reply, which is read in pieces.
PLACES = [
    b'[{"a":%b},{"a":1},{"a":1},{"a":1}]',
    b'[{"a":null,"b":1},{"a":%b,"b":2},{"b":3},{"b":4}]',
    b'[{"a":1},%b,{"a":1}]',
    b"[[null,1],[%b,2],[null,3]]",
    b'{"a":{"0":null,"1":%b,"2":null},"b":{"0":1,"1":2,"2":3}}',
    b'{"a":{"0":1,"1":2},"b":%b}',
]


@pytest.mark.slow
@EVERY
def test_a_text_within_a_long_reply_is_read_in_pieces_as_in_one(
    raw: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "_CHUNK", 16)
    for place in PLACES:
        reply = place % raw
        assert in_pieces(reply, monkeypatch) == in_one(reply, monkeypatch)
        if is_utf8(raw):
            enveloped = json.dumps({"body": reply.decode()}).encode()
            assert in_pieces(enveloped, monkeypatch) == in_one(enveloped, monkeypatch)


def in_pieces(reply: bytes, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setattr(chunks, "LONG", 1)
    return everything(reply)


def in_one(reply: bytes, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setattr(chunks, "LONG", len(reply) + 1)
    return everything(reply)


def everything(reply: bytes) -> list[Any]:
    decoded = outcome(lambda: to_frame(reply))
    return [
        decoded.error,
        decoded.warned,
        None if decoded.error else told(decoded.value),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "parts",
    [
        '~{~"error"~:~null~,~"body"~:~[{"a":1},{"a":2}]~}~',
        '~[~{~"a"~:~1~}~,~{"a":2}~]~',
        "~[~[~1~,~2~]~,~[3,4]~]~",
        '~{~"a"~:~{~"0"~:~1~,~"1"~:~2~}~,~"b":{"0":1,"1":2}~}~',
    ],
    ids=["envelope", "records", "rows", "columns"],
)
def test_a_long_run_of_blanks_does_not_hold_up_the_reading(
    parts: str, monkeypatch: pytest.MonkeyPatch, no_hang: None
) -> None:
    monkeypatch.setattr(chunks, "_CHUNK", 16)
    monkeypatch.setattr(chunks, "LONG", 1)
    expected = told(to_frame(parts.replace("~", "")))
    for place in range(parts.count("~")):
        before = parts.split("~")[: place + 1]
        after = parts.split("~")[place + 1 :]
        reply = "".join(before) + " \n" * 200_000 + "".join(after)
        assert told(to_frame(reply)) == expected
        if "error" not in reply:
            assert (
                told(to_frame(json.dumps({"error": None, "body": reply}))) == expected
            )


LINES: dict[str, tuple[str, list[Any] | str]] = {
    "two lines": ('{"a":1}\n{"a":2}\n', [{"a": 1}, {"a": 2}]),
    "no end of line at the end": ('{"a":1}\n{"a":2}', [{"a": 1}, {"a": 2}]),
    "ends of line of two characters": ("[1]\r\n[2]\r\n", [[1], [2]]),
    "lines without a document": ("\n1\n\n \t\n2\n\n", [1, 2]),
    "blanks around documents": (" 1 \n\t2\r\n", [1, 2]),
    "a line separator in a text": ('"a\u2028b"\n"c"\n', ["a\u2028b", "c"]),
    "nothing": ("", []),
    "one line": ("7\n", [7]),
    "documents of every kind": (
        '1\n"x"\nnull\n[true]\n{"a":{}}\n',
        [1, "x", None, [True], {"a": {}}],
    ),
    "two documents on a line": (
        '{"a":1}{"a":2}\n{"a":3}\n',
        "reply's line 1 continues",
    ),
    "two documents on a line and a blank": (
        '{"a":1}\n{"a":2} {"a":3}\n',
        "reply's line 2 continues",
    ),
    "documents with a carriage return between": ("1\r2\n", "reply's line 1 continues"),
    "a document on two lines": ('{"a":1}\n{"a":\n2}\n', "reply's line 2 is cut short"),
    "a text on two lines": ('"a\nb"\n', "reply's line 1 is cut short"),
    "a comma after a line": ('{"a":1},\n{"a":2}\n', "reply's line 1 continues"),
    "the last line cut": ('{"a":1}\n{"a":', "reply's line 2 is cut short"),
    "a word on a line": ("1\n2\nend\n", "reply's line 3 is not JSON at byte 0"),
    "a form feed on a line": ("1\n\f\n2\n", "reply's line 2 is not JSON at byte 0"),
    "a line nested too deeply": (
        "1\n" + "[" * 100_000,
        "reply's line 2 is nested too deeply",
    ),
    "a number too large on a line": (
        "1\n[1e999]\n",
        "reply's line 2 contains a number that is too large",
    ),
}


@pytest.mark.parametrize("strict", [False, True], ids=["lenient", "strict"])
@pytest.mark.parametrize(("text", "expected"), LINES.values(), ids=LINES)
def test_lines_are_documents_one_each_or_a_named_error(
    text: str, expected: list[Any] | str, strict: bool
) -> None:
    decoded = [
        outcome(lambda data=data: decode_lines(data, strict=strict))  # type: ignore[misc]
        for data in (text, text.encode())
    ]
    assert decoded[0] == decoded[1]
    in_frame = outcome(lambda: to_frame(text, lines=True, strict=strict))
    if isinstance(expected, str):
        assert decoded[0].error.startswith("ProtocolError: ")
        assert expected.lower() in decoded[0].error.lower()
        assert in_frame.error == decoded[0].error
    else:
        assert [
            json.loads(line) for line in text.split("\n") if line.strip()
        ] == expected
        assert decoded[0] == Outcome(expected, "", [])
        assert told(in_frame.value)[:-1] == told(to_frame(json.dumps(expected)))[:-1]
        assert in_frame.value.attrs["funcs"]["shape"] == "lines"


def test_what_is_odd_in_many_lines_is_told_once() -> None:
    text = '[NaN]\n["\\ud800"]\n[1]\n[NaN]\n["\\udc00"]\n'
    decoded = outcome(lambda: decode_lines(text))
    assert decoded.value == [[None], ["\ufffd"], [1], [None], ["\ufffd"]]
    assert len(decoded.warned) == 2
    assert "reply's line 1" in decoded.warned[0].lower()
    assert "reply's line 2" in decoded.warned[1].lower()
    assert (
        "reply's line 1"
        in outcome(lambda: decode_lines(text, strict=True)).error.lower()
    )
