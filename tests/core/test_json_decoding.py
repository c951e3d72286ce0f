"""
A JSON document is decoded to exactly one value, or a `ProtocolError` says where it is broken.

The cases are rows 48 to 58, 60 and 63 of the catalogue of faults.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_funcs.core.errors import ProtocolError
from jupyter_funcs.core.json_decoding import decode
from tests.rows import each_row

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_every_value_that_json_can_hold_comes_back_equal_and_of_the_same_type(value: object) -> None:
    text = json.dumps(value)
    assert repr(decode(text)) == repr(value)
    assert repr(decode(text.encode(), strict=True)) == repr(value)


@pytest.mark.parametrize("number", [2**53 + 1, 2**63, 2**64, -(2**63) - 1, 10**4299, -(10**4299)])
def test_integers_are_exact(number: int) -> None:
    assert decode(str(number)) == number
    assert decode(f"[null, {number}]", strict=True) == [None, number]


BROKEN = {
    "nothing": (b"", "is empty"),
    "white space": (b" \n", "is empty"),
    "cut in a list": (b"[1,2", "ends at byte 4"),
    "cut in a text": (b'{"a":"x', "ends at byte 7"),
    "cut after two-byte characters": ('["é", "é",'.encode(), "ends at byte 12"),
    "cut within a character": ('["é'.encode()[:-1], "cut short"),
    "cut after a byte order mark": (b"\xef\xbb\xbf[", "ends at byte 4"),
    "cut after NaN": (b"[NaN, 1", "ends at byte 7"),
    "invalid UTF-8": (b'["\xff"]', "not UTF-8 at byte 2"),
    "surrogates as UTF-8": (b'"\xed\xa0\x80"', "not UTF-8 at byte 1"),
    "UTF-16": ('{"a": 1}'.encode("utf-16"), "UTF-16"),
    "UTF-16 without mark": ('{"a": 1}'.encode("utf-16-be"), "UTF-16"),
    "UTF-32": ('{"a": 1}'.encode("utf-32"), "UTF-16 or UTF-32"),
    "too large a number": (b"[1e999]", "1e999"),
    "5,000 digits": (b"9" * 5000, "integer with 5,000 digits"),
    "depth": (b"[" * 100_000, "nested too deeply"),
    "depth after NaN": (b"[NaN," * 100_000, "nested too deeply"),
    "depth of objects": (b'{"a":' * 100_000, "nested too deeply"),
    "two documents": (b'{"a": 1}\n{"a": 2}\n', "at byte 9"),
    "trailing junk": (b"[1] x", "at byte 4"),
    "a missing value": (b"[1,,2]", "at byte 3"),
    "a page": (b"<html>\x1b[31m", "at byte 0"),
    "a raw control character": (b'"a\x01"', "at byte 2"),
}


@each_row("data, words", BROKEN.values(), ids=BROKEN)
@each_row("strict", [False, True])
def test_a_broken_document_is_one_named_error_of_a_line_or_two(data: bytes, words: str, strict: bool) -> None:
    with pytest.raises(ProtocolError) as caught:
        decode(data, what="listing", strict=strict)
    assert words in caught.value.what
    assert "listing" in caught.value.what
    assert len(caught.value.lines) <= 2
    assert "\x1b" not in str(caught.value)


def test_a_byte_order_mark_is_accepted() -> None:
    assert decode(b"\xef\xbb\xbf[1]") == decode("\ufeff[1]") == [1]


ODD = {
    "NaN": ("[1, NaN, -Infinity]", [1, None, None], "2 in total"),
    "half a pair": (r'["\ud800", "\udc00x"]', ["\ufffd", "\ufffdx"], "surrogate"),
    "half a pair, raw": ('["\ud800"]', ["\ufffd"], "surrogate"),
    "two high halves and a pair": (r'"\ud800\ud83d\ude00"', "\ufffd😀", "surrogate"),
    "an escaped backslash is no half": (r'["\\ud800", "\ud800"]', [r"\ud800", "\ufffd"], "surrogate"),
}


@pytest.mark.parametrize(("text", "value", "words"), ODD.values(), ids=ODD)
def test_what_json_lacks_and_services_send_is_read_with_one_warning_and_refused_if_strict(
    text: str, value: object, words: str
) -> None:
    with pytest.warns(UserWarning, match=words) as caught:
        assert decode(text) == value
    assert len(caught) == 1
    with pytest.raises(ProtocolError, match=words):
        decode(text, strict=True)


def test_of_a_key_that_stands_twice_the_last_value_wins_and_strict_refuses_it() -> None:
    text = '[{"a": 1, "b": 2, "a": 3}]'
    assert decode(text) == [{"a": 3, "b": 2}]
    with pytest.raises(ProtocolError, match="key 'a' twice"):
        decode(text, strict=True)


def test_a_document_that_was_cut_anywhere_is_refused() -> None:
    text = '{"error": null, "body": "[{\\"a\\": 1.5e3, \\"b\\": \\"é\\"}]"}'.encode()
    for end in range(len(text)):
        with pytest.raises(ProtocolError):
            decode(text[:end])
