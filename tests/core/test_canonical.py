"""Canonical JSON against the facts of RFC 8785: its appendix of numbers and its examples."""

from __future__ import annotations

import hashlib
import json
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumor.core.canonical import Json, canonical_json, digest
from rumor.core.errors import InputError

# RFC 8785, appendix B: IEEE 754 bits and the text of the number.
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}


@pytest.mark.parametrize(("bits", "text"), NUMBERS.items())
def test_numbers_of_the_rfc(bits: str, text: str) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical_json(number) == text.encode()


def test_the_example_of_the_rfc() -> None:
    """Section 3.2.2: literals, numbers and a string with escapes."""
    given_text = r"""{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
    }"""
    expected = (
        '{"literals":[null,true,false],'
        '"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert canonical_json(json.loads(given_text)).decode() == expected


def test_members_are_sorted_by_utf16_units() -> None:
    """Section 3.2.3: an emoji (a surrogate pair) comes before U+FB33, though its code is larger."""
    members = {
        "€": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "😀": "Emoji: Grinning Face",
        "\x80": "Control",
        "ö": "Latin Small Letter O With Diaeresis",
    }
    order = list(json.loads(canonical_json(members)).values())
    assert order == [
        "Carriage Return",
        "One",
        "Control",
        "Latin Small Letter O With Diaeresis",
        "Euro Sign",
        "Emoji: Grinning Face",
        "Hebrew Letter Dalet With Dagesh",
    ]


def test_strings_escape_what_must_be_and_nothing_else() -> None:
    assert canonical_json('\b\t\n\f\r"\\') == b'"\\b\\t\\n\\f\\r\\"\\\\"'
    assert canonical_json("\x00\x1f\x7f/\u2028é") == '"\\u0000\\u001f\x7f/\u2028é"'.encode()


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 2**53 + 1, 10**400, -(10**400)])
def test_numbers_that_no_double_holds_are_refused(number: float) -> None:
    with pytest.raises(InputError, match="a JSON number must be a finite double"):
        canonical_json(number)


@pytest.mark.parametrize("value", ["\ud800", {"\udfff": 1}, ["a\ud800b"]])
def test_half_a_surrogate_pair_is_refused(value: Json) -> None:
    with pytest.raises(InputError, match="valid Unicode"):
        canonical_json(value)


def test_integers_and_doubles_of_the_same_value_are_the_same() -> None:
    assert canonical_json([1, 1.0, 10**21, 1e21, 2**60]) == (
        b"[1,1,1e+21,1e+21,1152921504606847000]"
    )


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_read_back_as_themselves(number: float) -> None:
    text = canonical_json(number).decode()
    assert float(text) == number
    assert canonical_json(json.loads(text)).decode() == text
    # The shortest digits that do, which Python's repr has too.
    ours, theirs = (
        "".join(filter(str.isdigit, shown.split("e")[0])).strip("0")
        for shown in (text, repr(number))
    )
    assert ours == theirs


PLAIN = 'aé€😀"\\\n'
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(PLAIN, max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(PLAIN, max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(values)
def test_the_form_is_canonical(value: Json) -> None:
    """It is JSON of the same value, and neither order nor white space can change it."""
    text = canonical_json(value)
    assert json.loads(text) == value
    assert canonical_json(json.loads(json.dumps(json.loads(text), indent=3))) == text
    assert digest(value) == hashlib.sha256(text).hexdigest()


def test_a_known_digest() -> None:
    assert digest({"b": 1, "a": [True, None]}) == (
        hashlib.sha256(b'{"a":[true,null],"b":1}').hexdigest()
    )
    assert digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
