r"""
A table of JSON texts, right and wrong: each is read as the value that RFC 8259 gives it, or refused by name.

Every text is read by itself, by itself with ``strict=True``, as a whole reply, and as the text in a reply's ``body``.
Which value a text has is the standard library's word, never that of the code under test; where that one is more lenient
or the RFC leaves a choice, the table says what is chosen and why.
"""

from __future__ import annotations

import contextlib
import json
import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from jupyter_funcs.core.errors import FuncsError, ProtocolError
from jupyter_funcs.core.json_decoding import decode, decode_lines
from jupyter_funcs.frames import chunks
from jupyter_funcs.frames.frame import to_frame
from tests.rows import each_row

if TYPE_CHECKING:
    from collections.abc import Callable

_REFUSED = object()
_SAME = object()
_NAN = float("nan")


@dataclass(frozen=True)
class Text:
    """One text and the expected outcome."""

    raw: bytes
    value: Any = None
    words: str = ""  # of the refusal
    at: int | tuple[int, ...] | None = None  # the byte it names
    warns: str = ""
    strict: str = ""  # words of the refusal that only strict=True makes
    stdlib: Any = _SAME  # what json.loads makes of it, where that is something else
    body: str = ""  # "text" or "refused": what a body of this text is, where its opening does not say
    why: str = ""  # where the RFC leaves a choice

    def refusal(self, *, strict: bool) -> str:
        return (self.strict if strict else "") or self.words


def good(text: str | bytes, value: Any) -> Text:
    return Text(_raw(text), value)


def bad(text: str | bytes, words: str, at: int | tuple[int, ...] | None = None, **rest: Any) -> Text:
    return Text(_raw(text), words=words, at=at, **rest)


def broken(text: str | bytes, at: int | tuple[int, ...]) -> Text:
    return bad(text, "is not JSON at", at)


def cut(text: str | bytes) -> Text:
    return bad(text, "is cut short", len(_raw(text)))


def more(text: str | bytes, at: int) -> Text:
    return bad(text, "continues after its JSON document", at)


def pinned(why: str, text: str | bytes, value: Any = None, **rest: Any) -> Text:
    return Text(_raw(text), value, why=why, **rest)


def _raw(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


def nested(depth: int, opening: str, inner: str, closing: str) -> str:
    return opening * depth + inner + closing * depth


def nest(depth: int, value: Any, wrap: Callable[[Any], Any]) -> Any:
    for _ in range(depth):
        value = wrap(value)
    return value


STRUCTURE = {
    "an empty array": good("[]", []),
    "an object in an object": good('{"a":{}}', {"a": {}}),
    "a text by itself": good('"x"', "x"),
    "an array of every kind": good('[1,"a",null,true,{"b":2},[3]]', [1, "a", None, True, {"b": 2}, [3]]),
    "an object of every kind": good(
        '{"i":1,"f":0.5,"t":"x","n":null,"b":false,"l":[1],"o":{"p":2}}',
        {"i": 1, "f": 0.5, "t": "x", "n": None, "b": False, "l": [1], "o": {"p": 2}},
    ),
    "objects and arrays by turns": good('{"a":{"b":[{"c":[{"d":null}]}]}}', {"a": {"b": [{"c": [{"d": None}]}]}}),
    "an array that is not closed": cut("[1,2"),
    "an object cut after a comma": cut('{"a":1,'),
    "an object cut in a key": cut('{"a'),
    "a cut with blanks after it": cut('{"a":[1, \n'),
    "an array that is closed twice": more("[1]]", 3),
    "an array closed as an object": broken("[1}", 2),
    "brackets that cross": broken('[{"a":1]}', 7),
    "a closing bracket by itself": broken("]", 0),
    "nothing": bad("", "is empty"),
}

ARRAYS = {
    "a comma before the end": broken("[1,]", (3, 2)),  # Python 3.13 names the comma
    "no comma": broken("[1 2]", 3),
}

OBJECTS = {
    "members keep their order": good('{"z":1,"a":2,"m":3}', {"z": 1, "a": 2, "m": 3}),
    "an empty key": good('{"":1}', {"": 1}),
    "a key that goes on after a NUL": good(r'{"a\u0000b":1,"a":2}', {"a\0b": 1, "a": 2}),
    "a key in escapes": good(r'{"\u0061\n":1}', {"a\n": 1}),
    "the key __proto__": good('{"__proto__":1,"a":2}', {"__proto__": 1, "a": 2}),
    "two hundred keys": good(
        "{" + ",".join(f'"{key}":{key}' for key in range(200)) + "}", {str(key): key for key in range(200)}
    ),
    "a comma before the end": broken('{"a":1,}', (7, 6)),
    "no comma": broken('{"a":1 "b":2}', 7),
    "no colon": broken('{"a" 1}', 5),
    "no value": broken('{"a":}', 5),
    "a bare word as key": broken("{a:1}", 1),
    "a number as key": broken("{1:2}", 1),
}

_LAST = "Names should be unique; of a key that stands twice the last value wins, as in Python and JavaScript."
DUPLICATES = {
    "a key twice": pinned(_LAST, '{"a":1,"a":2}', {"a": 2}, strict="the key 'a' twice"),
    "a key twice, once escaped": pinned(_LAST, r'{"ab":1,"a\u0062":2}', {"ab": 2}, strict="the key 'ab' twice"),
    "a key twice, deep within": pinned(
        _LAST, '[{"x":[{"a":{"b":1,"b":null}}]}]', [{"x": [{"a": {"b": None}}]}], strict="the key 'b' twice"
    ),
    "a key twice, once with NaN": pinned(
        _LAST, '{"a":1,"a":NaN}', {"a": None}, warns="NaN", strict="the key 'a' twice", stdlib={"a": _NAN}
    ),
    "a key twice, beside NaN and a backslash": pinned(
        _LAST,
        r'["\\",NaN,{"a":1,"a":2}]',
        ["\\", None, {"a": 2}],
        warns="NaN",
        strict="the key 'a' twice",
        stdlib=["\\", _NAN, {"a": 2}],
    ),
    "a key twice in two objects": good('[{"a":1},{"a":2}]', [{"a": 1}, {"a": 2}]),
}

LITERALS = {
    "true": good("true", True),
    "false": good("false", False),
    "null": good("null", None),
    "literals in an array": good("[true,false,null]", [True, False, None]),
    "True": broken("True", 0),
    "None": broken("[None]", 1),
    "undefined": broken("[undefined]", 1),
    "a literal cut short": broken("[nul", 1),
    "a bare word": broken("[abc]", 1),
}

NUMBERS = {
    "zero": good("0", 0),
    "minus zero": good("-0", 0),
    "minus zero as a float": good("-0.0", -0.0),
    "minus zero with an exponent": good("-0e1", -0.0),
    "one": good("1", 1),
    "a fraction": good("0.5", 0.5),
    "an exponent": good("1e2", 100.0),
    "a fraction and an exponent": good("-1.5E-3", -0.0015),
    "zero with an exponent beyond all": good("0.0e99999999999999999999", 0.0),
    "the largest float": good("1.7976931348623157e308", 1.7976931348623157e308),
    "the smallest float": good("5e-324", 5e-324),
    "a float halfway between two": good("1.00000000000000011102230246251565404236316680908203125", 1.0),
    "a float that its exponent makes small again": good("1" + "0" * 400 + "e-400", 1.0),
    "the largest of 64 bit": good("9223372036854775807", 2**63 - 1),
    "the smallest of 64 bit": good("-9223372036854775808", -(2**63)),
    "one more than 64 bit": good("9223372036854775808", 2**63),
    "an integer of 128 bit": good("[340282366920938463463374607431768211455]", [2**128 - 1]),
    "a zero before a number": more("01", 1),
    "plus": broken("+1", 0),
    "a minus by itself": broken("-", 0),
    "a minus that is not ASCII": broken("[−1]", 1),
    "no digit after the point, by itself": more("1.", 1),
    "no digit before the point": broken(".5", 0),
    "a comma for the point": broken('{"a":1,5}', 7),
    "no digit in the exponent, by itself": more("1e", 1),
    "a hexadecimal number": broken("[0x1F]", 2),
    "underscores": broken("[1_000]", 2),
    "digits in full width": broken("[\uff11\uff12]", 1),
}

_RANGE = (
    "The RFC lets a reader set the range of numbers: an integer is exact up to 4,300 digits, which CPython can read."
)
_FLOAT = (
    "The RFC lets a reader set the range of numbers: one that is infinite as a float was not kept, so it is refused."
)
_SMALL = "The RFC lets a reader set the precision of numbers: the nearest float, as everywhere."
_LIMITS: dict[str, Any] = {"stdlib": _REFUSED, "body": "refused"}
HUGE = {
    "4,300 digits": pinned(_RANGE, "1" + "0" * 4299, 10**4299),
    "4,300 digits and a sign": pinned(_RANGE, "-" + "9" * 4300, -(10**4300) + 1),
    "4,301 digits": pinned(_RANGE, "1" + "0" * 4300, words="an integer with 4,301 digits: 1000", **_LIMITS),
    "5,000 digits and a sign": pinned(_RANGE, "-" + "9" * 5000, words="an integer with 5,000 digits: -999", **_LIMITS),
    "100,000 digits": pinned(
        _RANGE, "[" + "8" * 100_000 + "]", words="an integer with 100,000 digits", stdlib=_REFUSED
    ),
    "5,000 decimals": pinned(_SMALL, "0." + "1" * 5000, 0.1111111111111111),
    "400 digits and a fraction": pinned(
        _FLOAT, "1" * 400 + ".5", words="a number that is too large: 1111", stdlib=float("inf"), body="refused"
    ),
    "1E+400": pinned(_FLOAT, "1E+400", words="a number that is too large: 1E+400", stdlib=float("inf"), body="refused"),
    "just beyond the largest float": pinned(
        _FLOAT, "[1.7976931348623159e308]", words="a number that is too large: 1.7976", stdlib=[float("inf")]
    ),
    "1e-400": pinned(_SMALL, "1e-400", 0.0),
}

_CONSTANT = "The RFC has no such number, but Python's json writes it: it is null with a warning, and strict refuses it."
CONSTANTS = {
    "NaN": pinned(_CONSTANT, "NaN", warns="NaN or Infinity", strict="NaN or Infinity", stdlib=_NAN),
    "Infinity": pinned(_CONSTANT, "Infinity", warns="NaN or Infinity", strict="NaN or Infinity", stdlib=float("inf")),
    "-Infinity": pinned(_CONSTANT, "-Infinity", warns="NaN or Infinity", strict="Infinity", stdlib=float("-inf")),
    "NaN in an array": pinned(
        _CONSTANT, "[1,NaN,NaN]", [1, None, None], warns="(2 in total)", strict="(2 in total)", stdlib=[1, _NAN, _NAN]
    ),
    "NaN in an object": pinned(
        _CONSTANT,
        '{"a":NaN,"b":1}',
        {"a": None, "b": 1},
        warns="(1 in total)",
        strict="NaN",
        stdlib={"a": _NAN, "b": 1},
    ),
    "NaN beside texts of it": pinned(
        _CONSTANT,
        r'["NaN", NaN, "a \"NaN\"", -Infinity, "Infinity, -Infinity", {"NaN": Infinity}]',
        ["NaN", None, 'a "NaN"', None, "Infinity, -Infinity", {"NaN": None}],
        warns="(3 in total)",
        strict="(3 in total)",
        stdlib=["NaN", _NAN, 'a "NaN"', float("-inf"), "Infinity, -Infinity", {"NaN": float("inf")}],
    ),
    "NaN beside a backslash before a quotation mark": pinned(
        _CONSTANT,
        r'["\\", NaN, "NaN\\"]',
        ["\\", None, "NaN\\"],
        warns="(1 in total)",
        strict="(1 in total)",
        stdlib=["\\", _NAN, "NaN\\"],
    ),
    "NaN beside a text of it and backslashes": pinned(
        _CONSTANT,
        r'["\\", "NaN", "\\", NaN]',
        ["\\", "NaN", "\\", None],
        warns="(1 in total)",
        strict="(1 in total)",
        stdlib=["\\", "NaN", "\\", _NAN],
    ),
    "NaN beside an escaped quotation mark": pinned(
        _CONSTANT, r'[NaN,"a\u0022"]', [None, 'a"'], warns="NaN", strict="NaN", stdlib=[_NAN, 'a"']
    ),
    "NaN beside too large a number": pinned(
        _CONSTANT,
        "[NaN,1e999]",
        words="too large: 1e999",
        strict="too large",
        stdlib=[_NAN, float("inf")],
    ),
    "NaN beside an integer of 4,300 digits": pinned(
        _CONSTANT,
        "[NaN,-" + "9" * 4300 + "]",
        [None, -(10**4300) + 1],
        warns="(1 in total)",
        strict="(1 in total)",
        stdlib=[_NAN, -(10**4300) + 1],
    ),
    "NaN that touches another": broken("[NaNNaN]", 4),
    "a quotation mark that is escaped outside of texts": broken('[\\"NaN, "NaN"]', 1),
    "NaN as text": good('["NaN","Infinity"]', ["NaN", "Infinity"]),
    "-NaN": broken("[-NaN]", 1),
    "Infinity as key": broken("{Infinity:1}", 1),
    "NaN, and the end missing": cut("[NaN,1"),
}

STRINGS = {
    "an empty text": good('""', ""),
    "every short escape": good(r'["\"\\\/\b\f\n\r\t"]', ['"\\/\b\f\n\r\t']),
    "an escaped backslash before the end": good(r'"a\\"', "a\\"),
    "an escaped backslash before a u": good(r'"\\u0041"', r"\u0041"),
    "escapes by number": good(r'"\u0041\u00e9\u4e2d"', "Aé中"),
    "an escaped NUL": good(r'"a\u0000b"', "a\0b"),
    "escaped control characters": good(r'"a\u0001\u001b\u001f\u007f\u009f"', "a\x01\x1b\x1f\x7f\x9f"),
    "an escaped quotation mark within": good(r'"a\u0022b\"c"', 'a"b"c'),
    "the characters beside the surrogates": good(r'"\ud7ff\ue000"', "\ud7ff\ue000"),
    "line separators": good('"a\u2028\u2029b"', "a\u2028\u2029b"),
    "marks of direction": good('"\u202eabc\u202c\u200f"', "\u202eabc\u202c\u200f"),
    "two bytes a character": good('"é\u0080\u07ff"', "é\u0080\u07ff"),
    "three bytes a character": good('"中\u0800\uffff"', "中\u0800\uffff"),
    "four bytes a character": good('"😀\U00010000\U0010ffff"', "😀\U00010000\U0010ffff"),
    "a pair of surrogates": good(r'"\ud83d\ude00"', "😀"),
    "the first pair and the last": good(r'"\ud800\udc00\udbff\udfff"', "\U00010000\U0010ffff"),
    "a text of braces": good('["{}","[]","\\"\\""]', ["{}", "[]", '""']),
    "a comment in a text": good('"a // b /* c */ # d"', "a // b /* c */ # d"),
    "a long text of escapes": good('"' + r"\u00e9\n" * 1_000 + '"', "é\n" * 1_000),
    "a text without its end": cut('"abc'),
    "a text whose end is escaped": cut(r'"abc\"'),
    "a text cut after a backslash": cut('"abc\\'),
    "a text cut in an array": cut('["é", "é'),
    "a text cut in an escape": bad(r'["\u00', "byte"),
    "a text in single quotes": broken("'a'", 0),
    "two texts that touch": more('"a""b"', 3),
    "the escape \\a": broken(r'["\a"]', 2),
    "the escape \\x41": broken(r'["\x41"]', 2),
    "an escape in brackets": broken('["a", \\n]', 6),
    "an escape by three digits": broken(r'["\u004"]', 3),
    "an escape by a number with a sign": broken(r'["\u+041"]', 3),
    "an escape by digits in full width": broken('["\\u00\uff14\uff11"]', 3),
}

CONTROLS = {
    f"the control character U+{code:04X} in a text": broken(f'["ab{chr(code)}c"]', 4)
    for code in (0x00, 0x01, 0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x1A, 0x1B, 0x1F)
} | {
    "a control character in a key": broken('{"ab\tc":1}', 4),
    "a control character right after the start": broken('["\0"]', 2),
}

_HALF = (
    "The RFC's grammar allows half a pair and leaves its meaning open: U+FFFD with a warning, and strict refuses it."
)
_HALVES: dict[str, Any] = {"why": _HALF, "warns": "halves of surrogate pairs", "strict": "halves of surrogate pairs"}
SURROGATES = {
    "a first half": Text(rb'"a\ud800"', "a\ufffd", stdlib="a\ud800", **_HALVES),
    "a second half": Text(rb'"a\udfff"', "a\ufffd", stdlib="a\udfff", **_HALVES),
    "a first half and a letter": Text(rb'"\ud83dx"', "\ufffdx", stdlib="\ud83dx", **_HALVES),
    "a first half and letters like an escape": Text(rb'"\ud83dude00"', "\ufffdude00", stdlib="\ud83dude00", **_HALVES),
    "a first half and an escaped backslash": Text(
        rb'"\ud83d\\ude00"', "\ufffd\\ude00", stdlib="\ud83d\\ude00", **_HALVES
    ),
    "a pair the wrong way round": Text(rb'"\ude00\ud83d"', "\ufffd\ufffd", stdlib="\ude00\ud83d", **_HALVES),
    "a pair and a second half": Text(rb'"\ud83d\ude00\ude00"', "😀\ufffd", stdlib="😀\ude00", **_HALVES),
    "a half beside a text of NaN": Text(rb'["NaN","\ud800"]', ["NaN", "\ufffd"], stdlib=["NaN", "\ud800"], **_HALVES),
    "a half in a key": Text(rb'{"\ud800":1}', {"\ufffd": 1}, stdlib={"\ud800": 1}, **_HALVES),
    "an escaped backslash before what looks like a half": good(r'["\\ud800"]', ["\\ud800"]),
    "a half, and a fault after it": Text(rb'["\ud800" 1]', words="is not JSON at", at=10, stdlib=_REFUSED, **_HALVES),
    "a first half and three digits of a second": Text(
        rb'["\ud83d\ude0"]', words="Invalid \\uXXXX", at=9, stdlib=_REFUSED, **_HALVES
    ),
}


def not_utf8(text: bytes, at: int, **rest: Any) -> Text:
    return bad(text, "is not UTF-8 at", at, **rest)


_LENIENT = "json.loads takes bytes with surrogates in them."
ENCODING = {
    "a byte that goes on and nothing before it": not_utf8(b'["\x80"]', 2),
    "two bytes where one is enough": not_utf8(b'["\xc0\xaf"]', 2),
    "three bytes where one is enough": not_utf8(b'["\xe0\x80\xaf"]', 2),
    "four bytes for a quotation mark": not_utf8(b'["\xf0\x80\x80\xa2]', 2),
    "a character past the last": not_utf8(b'["\xf4\x90\x80\x80"]', 2),
    "the byte FF": not_utf8(b'["\xff"]', 2),
    "a first half as UTF-8": not_utf8(b'["\xed\xa0\x80"]', 2, stdlib=["\ud800"], why=_LENIENT),
    "a pair as two characters of UTF-8": not_utf8(
        b'["\xed\xa0\xbd\xed\xb8\x80"]', 2, stdlib=["\ud83d\ude00"], why=_LENIENT
    ),
    "three bytes of four": not_utf8(b'["\xf0\x9f\x98"]', 2),
    "Latin-1": not_utf8('{"name":"Müller"}'.encode("latin-1"), 10),
    "UTF-16 that is UTF-8 too": bad('"中"'.encode("utf-16-le"), "byte", why="json.loads takes UTF-16.", stdlib="中"),
    "a bad byte in a key": not_utf8(b'{"\xff":1}', 2),
    "a bad byte after a thousand good ones": not_utf8(b'["' + b"a" * 1_000 + b'\xff"]', 1_002),
    "a bad byte outside of texts": not_utf8(b"[1,\xff]", 3),
    "a bad byte at the start": not_utf8(b"\xff[1]", 0),
    "a bad byte after the end": not_utf8(b"[1] \x80", 4),
    "gzip": not_utf8(b"\x1f\x8b\x08\x04\0\0\0\0", 1),
    "cut after one byte of two": cut(b'["\xc3'),
    "cut after two bytes of four": cut(b'["ab\xf0\x9f'),
    "cut in a byte order mark": cut(b"\xef\xbb"),
}

_WIDE = "The RFC has UTF-8 alone between systems; json.loads takes UTF-16 and UTF-32 too."
WIDE = {
    f"{name}": bad(raw, "UTF-16 or UTF-32", why=_WIDE, stdlib=stdlib)
    for name, raw, stdlib in [
        ("UTF-16, mark, little end first", b"\xff\xfe" + '{"a":1}'.encode("utf-16-le"), {"a": 1}),
        ("UTF-16, mark, big end first", b"\xfe\xff" + '{"a":1}'.encode("utf-16-be"), {"a": 1}),
        ("UTF-16, little end first", '{"a":1}'.encode("utf-16-le"), {"a": 1}),
        ("UTF-16, big end first", '{"a":1}'.encode("utf-16-be"), {"a": 1}),
        ("UTF-32, mark, little end first", b"\xff\xfe\0\0" + '{"a":1}'.encode("utf-32-le"), {"a": 1}),
        ("UTF-32, mark, big end first", b"\0\0\xfe\xff" + '{"a":1}'.encode("utf-32-be"), {"a": 1}),
        ("UTF-32, little end first", '{"a":1}'.encode("utf-32-le"), {"a": 1}),
        ("UTF-32, big end first", '{"a":1}'.encode("utf-32-be"), {"a": 1}),
        ("UTF-16 of one character", "1".encode("utf-16-le"), 1),
        ("UTF-16 beyond ASCII", '["中"]'.encode("utf-16-be"), ["中"]),
        ("UTF-16 and nothing but its mark", b"\xff\xfe", _REFUSED),
    ]
}

_MARK = "The RFC lets a reader skip a byte order mark; it is skipped at the very start, and there alone."
_BOM = "\ufeff"
MARKS = {
    "a byte order mark": pinned(_MARK, f"{_BOM}[1]", [1]),
    "a byte order mark before a number": pinned(_MARK, f"{_BOM}7", 7, body="text"),
    "a byte order mark and nothing": bad(_BOM, "is empty"),
    "a byte order mark and a cut": cut(f"{_BOM}["),
    "a byte order mark and a fault": broken(f"{_BOM}[1,,2]", 6),
    "a byte order mark and NaN": pinned(
        _MARK, f"{_BOM}[NaN]", [None], warns="NaN", strict="NaN or Infinity", stdlib=[_NAN]
    ),
    "two byte order marks": broken(f"{_BOM}{_BOM}[1]", 3),
    "a blank before the byte order mark": broken(f" {_BOM}[1]", 1),
    "a byte order mark after the end": more(f"[1]{_BOM}", 3),
}

BLANKS = {
    "a blank": bad(" ", "is empty"),
    "blanks of every kind and nothing else": bad(" \t\r\n \n", "is empty"),
    "blanks around everything": good(
        ' \n{ \t"a" \r:\n [ 1 , \t2 ] \n, "b"\t:\t{ } , "c" : [ ] } \r\n', {"a": [1, 2], "b": {}, "c": []}
    ),
    "blanks around a number": good("\n\t7 \r", 7),
    "a blank in a number": broken("[1 .5]", 3),
    "an end of line in a text": broken('["a\r\nb"]', 3),
}

_NO_BLANKS = {
    "a form feed": "\f",
    "a vertical tab": "\v",
    "a NUL": "\0",
    "a record separator": "\x1e",
    "a hard blank": "\u00a0",
    "a zero-width blank": "\u200b",
    "a line separator": "\u2028",
    "a blank of full width": "\u3000",
}
NO_BLANKS = {
    f"{name} {where}": case
    for name, char in _NO_BLANKS.items()
    for where, case in {
        "within": broken(f"[1,{char}2]", 3),
        "after the end": more(f"[1]{char}", 3),
        **(
            {
                "before the start": broken(f"{char}[1]", 0),
                "before a number": broken(f"{char}7", 0),
                "after a number": more(f"7{char}", 1),
                "by itself": broken(char, 0),
            }
            if name in {"a form feed", "a hard blank", "a zero-width blank", "a line separator"}
            else {}
        ),
    }.items()
}

JUNK = {
    "two arrays": more("[1][2]", 3),
    "lines of objects": more('{"a":1}\n{"a":2}\n{"a":3}\n', 8),
    "two documents with a comma": more("[1],[2]", 3),
    "a word after the end": more("[1] x", 4),
    "a comma after the end": more("[1],", 3),
    "a comment after the end": more("[1]//x", 3),
    "a character beyond ASCII after the end": more('["é"]é', 6),
    "a page": broken("<html><body>Sign in</body></html>", 0),
    "a call around it": broken("callback([1])", 0),
    "a comment of a line": broken("[1, // one\n2]", 4),
    "a comment before it": broken("/* one */[1]", 0),
    "CSV": broken("a,b\n1,2\n", 0),
    "Python's repr": broken("{'a': None}", 1),
}

_DEPTH = "The RFC lets a reader set a depth: Python's own is about 1,000, less the calls that lead here."
_SHALLOW: dict[str, Any] = {"why": _DEPTH}
_DEEP: dict[str, Any] = {"why": _DEPTH, "words": "is nested too deeply"}


def listed(inner: Any) -> Any:
    return [inner]


def keyed(inner: Any) -> Any:
    return {"a": inner}


def mixed(inner: Any) -> Any:
    return [{"a": inner}]


DEPTH = {
    **{
        f"{depth} {name}": Text(nested(depth // step, *parts).encode(), nest(depth // step, 1, wrap), **_SHALLOW)
        for depth in (100, 900)
        for name, step, parts, wrap in [
            ("arrays", 1, ("[", "1", "]"), listed),
            ("objects", 1, ('{"a":', "1", "}"), keyed),
            ("arrays and objects", 2, ('[{"a":', "1", "}]"), mixed),
        ]
    },
    "100 arrays beside each other": good("[" + ",".join(["[[]]"] * 100) + "]", [[[]]] * 100),
    "100 arrays not closed": cut("[" * 100),
    "100 objects not closed": cut('{"a":' * 100),
    "100,000 arrays": Text(nested(100_000, "[", "", "]").encode(), **_DEEP),
    "100,000 objects": Text(nested(100_000, '{"a":', "1", "}").encode(), **_DEEP),
    "100,000 arrays and objects": Text(nested(50_000, '[{"a":', "1", "}]").encode(), **_DEEP),
    "100,000 arrays not closed": Text(b"[" * 100_000, **_DEEP),
    "100,000 objects not closed": Text(b'{"a":' * 100_000, **_DEEP),
    "100,000 arrays after NaN": Text(nested(100_000, "[NaN,", "1", "]").encode(), **_DEEP),
    "100,000 arrays with blanks": Text(nested(100_000, "[ ", "", " ]").encode(), **_DEEP),
    "100,000 arrays in the second row": Text(
        b'[{"a":1},{"a":' + nested(100_000, "[", "", "]").encode() + b"}]", **_DEEP
    ),
    "100,000 brackets in a text": good('"a' + "[" * 100_000 + '"', "a" + "[" * 100_000),
}

GROUPS: dict[str, dict[str, Text]] = {
    "structure": STRUCTURE,
    "arrays": ARRAYS,
    "objects": OBJECTS,
    "duplicates": DUPLICATES,
    "literals": LITERALS,
    "numbers": NUMBERS,
    "huge": HUGE,
    "constants": CONSTANTS,
    "strings": STRINGS,
    "controls": CONTROLS,
    "surrogates": SURROGATES,
    "encoding": ENCODING,
    "wide": WIDE,
    "marks": MARKS,
    "blanks": BLANKS,
    "no blanks": NO_BLANKS,
    "junk": JUNK,
    "depth": DEPTH,
}
TABLE: dict[str, Text] = {f"{group}: {name}": text for group, texts in GROUPS.items() for name, text in texts.items()}


def _each(texts: dict[str, Text]) -> Any:
    return each_row("text", texts.values(), ids=texts)


def _is_utf8(text: Text) -> bool:
    try:
        text.raw.decode()
    except UnicodeDecodeError:
        return False
    return text not in WIDE.values()


EVERY = _each(TABLE)
EVERY_UTF8 = _each({name: text for name, text in TABLE.items() if _is_utf8(text)})
BOTH = pytest.mark.parametrize("strict", [False, True], ids=["", "strict"])


@dataclass(frozen=True)
class Outcome:
    """The outcome of decoding: a value, or an error's class and message; and the warnings."""

    value: Any
    error: str
    warned: list[str]


def outcome(read: Callable[[], Any]) -> Outcome:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value, error = None, ""
        try:
            value = read()
        except FuncsError as raised:
            error = f"{type(raised).__name__}: {raised.what}"
    return Outcome(value, error, [str(warning.message) for warning in caught])


def assert_read(found: Outcome, text: Text) -> None:
    assert found.error == ""
    assert len(found.warned) == bool(text.warns), found.warned
    assert all(text.warns in warned for warned in found.warned)


def assert_refused(found: Outcome, text: Text, what: str, *, strict: bool) -> None:
    words = text.refusal(strict=strict)
    assert found.error.startswith(f"ProtocolError: The {what} "), found
    assert words in found.error
    if words == text.words and text.at is not None:
        numbers = re.search(r"byte ([0-9,]+)", found.error)
        assert numbers, found
        assert int(numbers[1].replace(",", "")) in (text.at if isinstance(text.at, tuple) else (text.at,))


def plain(frame: pd.DataFrame) -> dict[str, list[Any]]:
    """Values by column, with None for every kind of missing value."""
    return {
        str(name): [None if pd.api.types.is_scalar(value) and pd.isna(value) else value for value in column]
        for name, column in frame.astype(object).items()
    }


def told(frame: pd.DataFrame) -> list[str]:
    """Everything that equal frames have in common, including the sign of -0.0 and the types of values."""
    dtypes = [str(dtype) for dtype in frame.dtypes]
    return [repr(part) for part in (plain(frame), list(frame.index), type(frame.index), dtypes, frame.attrs)]


def flat(value: Any) -> tuple[str, dict[str, list[Any]]] | None:
    """The shape and the columns of a value, as `to_frame` documents them, unless it holds lists or objects."""
    if isinstance(value, dict | list) and any(
        isinstance(item, dict | list) for item in (value.values() if isinstance(value, dict) else value)
    ):
        return None
    if isinstance(value, dict) and value:
        return "record", {name: [item] for name, item in value.items()}
    if isinstance(value, list) and value:
        return "list", {"Result": value}
    if isinstance(value, dict | list):
        return "empty", {}
    if value is None:
        return "null", {}
    return "text" if isinstance(value, str) else "scalar", {"Result": [value]}


def test_the_table_holds_at_least_150_texts_and_none_twice() -> None:
    texts = [text.raw for text in TABLE.values()]
    assert len(texts) == len(set(texts)) == sum(map(len, GROUPS.values())) >= 150


@EVERY
def test_the_table_agrees_with_the_standard_library_or_says_why_not(text: Text) -> None:
    expected = text.stdlib if text.stdlib is not _SAME else _REFUSED if text.words else text.value
    if expected is _REFUSED:
        with pytest.raises((ValueError, RecursionError)):
            json.loads(text.raw)
    else:
        assert repr(json.loads(text.raw)) == repr(expected)
    assert text.why or (text.stdlib is _SAME and not text.strict)


@BOTH
@EVERY
def test_a_text_gives_its_value_or_a_named_error(text: Text, strict: bool) -> None:
    found = outcome(lambda: decode(text.raw, what="listing", strict=strict))
    if text.refusal(strict=strict):
        assert_refused(found, text, "listing", strict=strict)
    else:
        assert_read(found, text)
        assert repr(found.value) == repr(text.value)


@EVERY_UTF8
def test_characters_are_read_as_their_bytes_are(text: Text) -> None:
    assert repr(outcome(lambda: decode(text.raw.decode()))) == repr(outcome(lambda: decode(text.raw)))


@BOTH
@EVERY
def test_a_text_that_is_the_reply_gives_the_frame_of_its_value_or_the_same_error(text: Text, strict: bool) -> None:
    found = outcome(lambda: to_frame(text.raw, strict=strict))
    if text.refusal(strict=strict):
        assert_refused(found, text, "reply", strict=strict)
        return
    assert_read(found, text)
    assert told(found.value) == told(to_frame(json.dumps(text.value)))
    if (expected := flat(text.value)) is not None:
        assert repr((found.value.attrs["funcs"]["shape"], plain(found.value))) == repr(expected)


@BOTH
@EVERY_UTF8
def test_a_text_in_a_body_is_read_like_a_reply_if_it_opens_like_json_and_kept_otherwise(
    text: Text, strict: bool
) -> None:
    body = text.raw.decode()
    found = outcome(lambda: to_frame(json.dumps({"error": None, "body": body}), strict=strict))
    # Blanks of every kind: what opens like a table behind one that JSON lacks must not pass for a text.
    opens = body.removeprefix(_BOM).lstrip()[:1] in set('[{"')
    if text.body == "text" or (text.words and not opens and text.body != "refused"):
        assert found.error == ""
        assert found.warned == []
        assert plain(found.value) == {"Result": [body]}
        assert found.value.dtypes["Result"] == "string"
        assert found.value.attrs["funcs"]["shape"] == "text"
    elif text.refusal(strict=strict):
        assert_refused(found, text, "body of the reply", strict=strict)
    else:
        assert_read(found, text)
        assert told(found.value) == told(to_frame(json.dumps(text.value)))


# Where the text may stand in a long reply, which is read in pieces.
PLACES = {
    "a value beside numbers": b'[{"a":%b},{"a":1},{"a":1},{"a":1}]',
    "a value beside nulls": b'[{"a":null,"b":1},{"a":%b,"b":2},{"b":3},{"b":4}]',
    "a record": b'[{"a":1},%b,{"a":1}]',
    "a value of a row": b"[[null,1],[%b,2],[null,3]]",
    "a value of a column": b'{"a":{"0":null,"1":%b,"2":null},"b":{"0":1,"1":2,"2":3}}',
    "a column": b'{"a":{"0":1,"1":2},"b":%b}',
}


def whole_and_in_pieces(reply: bytes, monkeypatch: pytest.MonkeyPatch, piece: int = 16) -> tuple[list[Any], list[Any]]:
    monkeypatch.setattr(chunks, "_CHUNK", piece)
    readings = []
    for long in (len(reply) + 1, 1):
        monkeypatch.setattr(chunks, "LONG", long)
        found = outcome(lambda: to_frame(reply))
        readings.append([found.error, found.warned, told(found.value) if found.error == "" else None])
    return readings[0], readings[1]


@pytest.mark.slow
@EVERY
def test_a_text_within_a_long_reply_is_read_in_pieces_as_it_is_in_one(
    text: Text, monkeypatch: pytest.MonkeyPatch
) -> None:
    met = []
    for place in PLACES.values():
        reply = place % text.raw
        replies = [reply]
        if _is_utf8(text):
            replies.append(json.dumps({"error": None, "body": reply.decode()}).encode())
        for each in replies:
            whole, in_pieces = whole_and_in_pieces(each, monkeypatch)
            assert in_pieces == whole
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                met.append(chunks.read_long(each) is not None)
            if text.strict:
                with pytest.raises(ProtocolError):
                    to_frame(each, strict=True)
    # What the pieces leave to the plain way: all that is odd, but for NaN where no backslash is escaped; a mark that
    # stands no longer at the start; and the one number that only the plain way reads.
    is_nan = ("NaN" in text.warns or "in total" in text.warns) and rb"\\" not in text.raw
    odd = text.words or (text.warns and not is_nan)
    odd = odd or text in MARKS.values() or b"-" + b"9" * 4300 in text.raw
    assert any(met) != bool(odd)


@EVERY
def test_a_value_among_records_is_kept_and_a_fault_among_them_is_told(text: Text) -> None:
    found = outcome(lambda: to_frame(PLACES["a value beside numbers"] % text.raw))
    if text.words or text in MARKS.values():
        assert found.error.startswith("ProtocolError: The reply ")
    else:
        assert_read(found, text)
        assert repr(plain(found.value)["a"][0]) == repr(text.value)


# Replies whose oddity stands around the long part of them.
_ROWS = b'[{"a":1},{"a":2},{"a":3}]'
_COLUMN = b'{"0":1,"1":2,"2":3}'
AROUND = {
    "an envelope": b'{"error":null,"body":%b}' % _ROWS,
    "an envelope with blanks": b' \t{\r\n"error" : null , "body" :\n%b }\n' % _ROWS,
    "an envelope the other way round": b'{"body":%b,"error":null}' % _ROWS,
    "an envelope without error": b'{"body":%b}' % _ROWS,
    "a form feed before the envelope": b'\f{"error":null,"body":%b}' % _ROWS,
    "a form feed in the envelope": b'{\f"error":null,"body":%b}' % _ROWS,
    "a vertical tab before the body": b'{"error":null,"body":\v%b}' % _ROWS,
    "a vertical tab before the envelope's end": b'{"error":null,"body":%b\v}' % _ROWS,
    "a form feed after the envelope": b'{"error":null,"body":%b}\f' % _ROWS,
    "a byte order mark before the envelope": b'\xef\xbb\xbf{"error":null,"body":%b}' % _ROWS,
    "a comma before the envelope's end": b'{"error":null,"body":%b,}' % _ROWS,
    "an envelope that is not closed": b'{"error":null,"body":%b' % _ROWS,
    "an envelope that is closed twice": b'{"error":null,"body":%b}}' % _ROWS,
    "a second body": b'{"error":null,"body":%b,"body":7}' % _ROWS,
    "a second error": b'{"error":null,"body":%b,"error":"gone"}' % _ROWS,
    "a first error": b'{"error":"gone","error":null,"body":%b}' % _ROWS,
    "an error before a body": b'{"error":"gone","body":%b}' % _ROWS,
    "an error after a body": b'{"body":%b,"error":"gone"}' % _ROWS,
    "an error that looks like a column": b'{"error":%b,"body":%b}' % (_COLUMN, _COLUMN),
    "an error that looks like a column, by itself": b'{"error":%b}' % _COLUMN,
    "a body that looks like a column": b'{"error":null,"body":{"body":%b}}' % _COLUMN,
    "an error beside a schema and its data": b'{"schema":{"a":{"type":"int32"}},"data":%b,"error":"gone"}' % _ROWS,
    "an envelope beside a schema and its data": b'{"schema":{"a":{"type":"int32"}},"data":[],"error":null,"body":%b}'
    % _ROWS,
    "data that come twice": b'{"schema":{"a":{"type":"int32"}},"data":%b,"data":[{"a":7}]}' % _ROWS,
    "a column that comes twice": b'{"a":%b,"b":%b,"a":{"0":7,"1":8,"2":9}}' % (_COLUMN, _COLUMN),
    "a column that comes twice, with a bad byte": b'{"a":{"0":"\xff"},"a":%b}' % _COLUMN,
    "a column that comes twice, with too large a number": b'{"a":{"0":1e999},"a":%b}' % _COLUMN,
    "a column that comes twice, with too long an integer": b'{"a":{"0":%b},"a":%b}' % (b"9" * 5_000, _COLUMN),
    "a column that comes twice, once an array": b'{"a":[1,2],"a":%b}' % _COLUMN,
    "data that come twice, with a bad byte": b'{"columns":["a"],"data":[["\xff"]],"data":[[1],[2],[3]]}',
    "a row that comes twice": b'{"a":{"0":1,"1":2,"2":3,"0":4}}',
    "row keys that descend": b'{"a":{"9":1,"8":2,"7":3},"b":{"9":4,"8":5,"7":6}}',
    "row keys in no order": b'{"a":{"7":1,"9":2,"8":3},"b":{"7":4,"9":5,"8":6}}',
    "row keys with zeros before them": b'{"a":{"00":1,"01":2}}',
    "row keys of minus zero": b'{"a":{"-0":1,"1":2}}',
    "row keys with minus and zeros before them": b'{"a":{"-01":1,"1":2}}',
    "row keys that are no integers": b'{"a":{"1.0":1,"2e0":2,"+3":3," 4":4}}',
    "row keys beyond 64 bit": b'{"a":{"0":1,"9223372036854775808":2}}',
    "row keys in escapes": rb'{"a":{"\u0030":1,"\u0031":2}}',
    "a row that is longer": b"[[1,2],[3,4],[5,6,7],[8,9]]",
    "a row that is shorter": b"[[1,2],[3,4],[5],[8,9]]",
    "a row that is empty": b"[[],[1,2],[],[3,4]]",
    "a row that is null": b"[[1,2],null,[3,4],null]",
    "rows that are empty": b"[[],[],[]]",
    "a record that is null": b'[null,{"a":1},null,{"a":2}]',
    "records that are empty": b"[{},{},{}]",
    "a row among records": b'[{"a":1},{"a":2},[3],{"a":4}]',
    "a comma before the end": b'[{"a":1},{"a":2},]',
    "a comma before the end of a row": b"[[1,2],[3,]]",
    "two commas between records": b'[{"a":1},,{"a":2}]',
    "no comma between records": b'[{"a":1}{"a":2}]',
    "a form feed between records": b'[{"a":1},\f{"a":2}]',
    "two lists": _ROWS + _ROWS,
    "two lists with a comma": _ROWS + b"," + _ROWS,
    "two lists in one": b"[" + _ROWS + b"," + _ROWS + b"]",
    "a list that is not closed": _ROWS[:-1],
    "a list that is closed twice": _ROWS + b"]",
    "a list closed as an object": _ROWS[:-1] + b"}",
    "a record that is closed twice": b'[{"a":1}},{"a":2}]',
    "a record in a text": b'[{"a":"},{"},{"a":"x"},{"a":"\\"},{\\""}]',
    "a row in a text": b'[["],["],["x"],["\\"],[\\""]]',
    "a member in a text": b'{"a":{"0":",\\"1\\":","1":"}","2":","}}',
    "a record in a list of a record": b'[{"a":[{"b":1},{"b":2}]},{"a":[{"b":3},{"b":4}]}]',
    "a row in a row": b"[[[1],[2]],[[3],[4]]]",
    "a text in a text": json.dumps(json.dumps(_ROWS.decode())).encode(),
}


@pytest.mark.parametrize("piece", [1, 16])
@each_row("reply", AROUND.values(), ids=AROUND)
def test_what_stands_around_the_pieces_is_read_as_the_plain_way_reads_it(
    reply: bytes, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = [reply]
    with contextlib.suppress(UnicodeDecodeError):
        replies.append(json.dumps({"error": None, "body": reply.decode()}).encode())
    for each in replies:
        whole, in_pieces = whole_and_in_pieces(each, monkeypatch, piece)
        assert in_pieces == whole


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
        before, after = parts.split("~")[: place + 1], parts.split("~")[place + 1 :]
        reply = "".join(before) + " \n" * 200_000 + "".join(after)
        assert told(to_frame(reply)) == expected
        if "error" not in reply:
            assert told(to_frame(json.dumps({"error": None, "body": reply}))) == expected


LINES: dict[str, tuple[str, list[Any] | str]] = {
    "two lines": ('{"a":1}\n{"a":2}\n', [{"a": 1}, {"a": 2}]),
    "no end of line at the end": ('{"a":1}\n{"a":2}', [{"a": 1}, {"a": 2}]),
    "ends of line of two characters": ("[1]\r\n[2]\r\n", [[1], [2]]),
    "lines without a document": ("\n1\n\n \t\n2\n\n", [1, 2]),
    "blanks around documents": (" 1 \n\t2\r\n", [1, 2]),
    "a line separator in a text": ('"a\u2028b"\n"c"\n', ["a\u2028b", "c"]),
    "nothing": ("", []),
    "one line": ("7\n", [7]),
    "documents of every kind": ('1\n"x"\nnull\n[true]\n{"a":{}}\n', [1, "x", None, [True], {"a": {}}]),
    "two documents on a line": ('{"a":1}{"a":2}\n{"a":3}\n', "reply's line 1 continues"),
    "two documents on a line and a blank": ('{"a":1}\n{"a":2} {"a":3}\n', "reply's line 2 continues"),
    "documents with a carriage return between": ("1\r2\n", "reply's line 1 continues"),
    "a document on two lines": ('{"a":1}\n{"a":\n2}\n', "reply's line 2 is cut short"),
    "a text on two lines": ('"a\nb"\n', "reply's line 1 is cut short"),
    "a comma after a line": ('{"a":1},\n{"a":2}\n', "reply's line 1 continues"),
    "the last line cut": ('{"a":1}\n{"a":', "reply's line 2 is cut short"),
    "a word on a line": ("1\n2\nend\n", "reply's line 3 is not JSON at byte 0"),
    "a form feed on a line": ("1\n\f\n2\n", "reply's line 2 is not JSON at byte 0"),
    "a line nested too deeply": ("1\n" + "[" * 100_000, "reply's line 2 is nested too deeply"),
    "a number too large on a line": ("1\n[1e999]\n", "reply's line 2 contains a number that is too large"),
}


@BOTH
@each_row("text, expected", LINES.values(), ids=LINES)
def test_lines_are_documents_one_each_or_a_named_error(text: str, expected: list[Any] | str, strict: bool) -> None:
    found = [
        outcome(lambda data=data: decode_lines(data, strict=strict))  # type: ignore[misc]
        for data in (text, text.encode())
    ]
    assert found[0] == found[1]
    in_frame = outcome(lambda: to_frame(text, lines=True, strict=strict))
    if isinstance(expected, str):
        assert found[0].error.startswith("ProtocolError: ")
        assert expected.lower() in found[0].error.lower()
        assert in_frame.error == found[0].error
    else:
        assert [json.loads(line) for line in text.split("\n") if line.strip()] == expected
        assert found[0] == Outcome(expected, "", [])
        assert told(in_frame.value)[:-1] == told(to_frame(json.dumps(expected)))[:-1]
        assert in_frame.value.attrs["funcs"]["shape"] == "lines"


def test_what_is_odd_in_many_lines_is_told_once() -> None:
    text = '[NaN]\n["\\ud800"]\n[1]\n[NaN]\n["\\udc00"]\n'
    found = outcome(lambda: decode_lines(text))
    assert found.value == [[None], ["\ufffd"], [1], [None], ["\ufffd"]]
    assert len(found.warned) == 2
    assert "reply's line 1" in found.warned[0].lower()
    assert "reply's line 2" in found.warned[1].lower()
    assert "reply's line 1" in outcome(lambda: decode_lines(text, strict=True)).error.lower()
