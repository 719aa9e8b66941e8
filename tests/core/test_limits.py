"""Every check of numbers, labels, codes and ranges, one off from its edge.

Those of answers are in test_answer_limits.py; what reads tables is tried where tables are read.
"""

from __future__ import annotations

import functools
import math
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rumor.core import exact
from rumor.core.canonical import canonical_json
from rumor.core.checks import (
    checked_above_zero,
    checked_choice,
    checked_hex,
    checked_method,
    checked_size,
    checked_slug,
    slug,
)
from rumor.core.columns import checked_labels, named_domain, split_domain
from rumor.core.number_range import OUTSIDE, NumberGrid
from rumor.core.randomness import Keyed, Seeded, Stream
from rumor.core.reports import as_reports
from rumor.core.types import checked_target
from rumor.kinds.words.code_tables import NAMES, shipped_code
from rumor.mechanisms.mixed.parts import Parts
from rumor.mechanisms.open_words.code import PrefixCode
from rumor.mechanisms.wave.scale import (
    Bins,
    Steps,
    checked_spacing,
    scale_from_contract,
    scale_from_spec,
)
from tests import limits
from tests.core.test_answer_limits import RULES as ANSWERS
from tests.limits import Rule, whole, word

TABLES = (
    "core/answer_table.py",
    "core/day_columns.py",
    "core/files.py",
    "core/secret.py",
    "core/table_files.py",
)
WORD = 1 << 64
LABELS = ["x", "y"]
ROWS = [[1, "a"], [2, "b", ""]]


def grid(**more: Any) -> NumberGrid:
    said = {"low": 0.0, "high": 1.0, "steps": 1, "outside": "clip", **more}
    return NumberGrid.create(**said)


def part(id: object = "a", labels: object = LABELS) -> Parts:
    return Parts.of([{"id": id, "labels": labels}, {"id": "b", "labels": LABELS}])


def loaded(data: bytes) -> PrefixCode:
    """Read a code from a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "code.json")
        path.write_bytes(data)
        return PrefixCode.load(path)


def names(count: int) -> list[str]:
    return [f"n{number}" for number in range(count)]


def code(*rows: Any, length: int | None = None) -> PrefixCode:
    return PrefixCode.of(list(rows), length)


def letters(count: int) -> list[str]:
    """Return so many symbols of a character, the end mark last."""
    return [*(chr(0x4E00 + number) for number in range(count - 1)), ""]


_SYMBOL = "a symbol must be a text of up to 32 characters in normal form C, or the first byte of "
_REPORTS = "reports must be 2 bytes each (a uint8 array (n, 2), or bytes objects); got "
_PARTS = "parts must be a list of 2 to 4 of them, each with an id and labels; got "
_ROUND = "round must be a number of which whole multiples begin a bin, at least two bins apart and "
RULES = [
    # The shared checks themselves.
    whole("n", 3, 7, lambda v: checked_size("n", v, 3, 7), takes=(3, 7, np.int64(3))),
    Rule(
        "n must be a number above 0; got ",
        lambda v: checked_above_zero("n", v),
        (5e-324, 1, 1.7e308),
        (0, 0.0, -5e-324, math.inf, math.nan, True, "1", None),
    ),
    Rule(
        "n must be hexadecimal; got ",
        lambda v: checked_hex("n", v),
        ("00", "0aff"),
        ("", "0", "0g", "0A", "00 ", b"00", 0),
    ),
    word("n", ["one", "two"], lambda v: checked_choice("n", v, ["one", "two"])),
    word(
        "n",
        ["one", "two"],
        lambda v: checked_choice("n", v, {"one": 1, "two": 2}, " here"),
        " here",
    ),
    Rule(
        "epsilon must be a number above 0 and at most 32; got ",
        exact.checked_epsilon,
        (2.0**-60, 32, 32.0, Fraction(1, 3)),
        (0, -1, math.nextafter(32, 33), math.nan, 10**400, True, "1"),
    ),
    Rule(
        "epsilon must be at least 2^-60, the least that 64-bit thresholds can tell from 0; got ",
        exact.checked_epsilon,
        (2.0**-60,),
        (math.nextafter(2.0**-60, 0), 5e-324),
    ),
    Rule(
        "p must be a number above 0 and below 1; got ",
        lambda v: exact.checked_probability("p", v),
        (5e-324, math.nextafter(1, 0), Fraction(1, 3)),
        (0, 1, 0.0, 1.0, math.nan, math.inf, True, "0.5"),
    ),
    Rule(
        "t must be a decimal string of an integer from 1 to 2^64-1; got ",
        lambda v: exact.checked_threshold("t", v),
        ("1", str(WORD - 1)),
        ("0", str(WORD), "01", "+1", "1.0", "", "\u0661", 1, None),
    ),
    Rule(
        "the threshold of the truth must be above 2^64 / states; got ",
        lambda v: exact.require_above_even(v, 4, "states"),
        (WORD // 4 + 1,),
        (WORD // 4, 1),
    ),
    Rule(
        "a of b must be 1 to 64 lower-case letters, digits and inner hyphens; got ",
        lambda v: checked_slug({"a": v}, "a", "b"),
        ("0", "a" * 64, "a-9"),
        ("", "a" * 65, "-a", "a-", "A", "\u0661", 1),
    ),
    word("method", ["fast", "slow"], lambda v: checked_method(v, {}, {"fast": (), "slow": ()})),
    Rule(
        'method "fast" has the keys beam; got ',
        lambda v: checked_method("fast", {v: 1}, {"fast": ("beam",)}),
        ("beam",),
        ("bea", "beams"),
    ),
    Rule(
        "assume (--assume) is for ordered questions; got ",
        lambda v: checked_method("fast", {"assume": v}, {"fast": ()}),
        (),
        ("nothing", "smooth"),
    ),
    Rule(
        'an interval is of "population" or "people"; got ',
        checked_target,
        ("population", "people"),
        ("persons", "", None),
    ),
    word("code", NAMES, shipped_code),
    # Numbers and texts of contracts.
    Rule(
        "a JSON number must be a finite double; got ",
        canonical_json,
        (2**53, -(2**53), 2**53 + 2, 1.7976931348623157e308, 10**21),
        (2**53 + 1, -(2**53) - 1, math.inf, -math.inf, math.nan, 10**400),
    ),
    Rule(
        "a text must be valid Unicode; got ",
        canonical_json,
        ("\ud7ff", "\ue000", "\U0010ffff"),
        ("\ud800", "\udfff"),
    ),
    # Labels and domains.
    Rule(
        "a label must be a non-empty string; got ",
        lambda v: checked_labels(["x", v]),
        ("y", " "),
        ("", 1, None),
    ),
    Rule(
        "a label must be valid Unicode; got ",
        lambda v: checked_labels([v]),
        ("\ud7ff",),
        ("\ud800",),
    ),
    Rule(
        "a label must be text without control characters; got ",
        lambda v: checked_labels([v]),
        (" ", "~", "\u00a0"),
        ("\n", "a\x1f", "\x7f"),
        shows=False,
    ),
    Rule(
        "labels must be distinct; got ",
        lambda v: checked_labels(["x", "\u00e9", v]),
        ("y", "X"),
        ("x", "e\u0301"),
        shows=False,
    ),
    whole("domain", 2, 9, lambda v: split_domain(v, 2, 9)),
    Rule(
        "domain (the number of labels) must be an integer from 2 to 9; got ",
        lambda v: split_domain(names(v), 2, 9),
        (2, 9),
        (1, 10, 0),
    ),
    Rule(
        "a mechanism needs domain=, a number of values, or labels=; got none",
        lambda v: named_domain(v, None),
        (2,),
        (None,),
        shows=False,
    ),
    Rule(
        "labels must be a list of texts; got ",
        lambda v: named_domain(None, v),
        (LABELS,),
        ("xy", b"xy"),
    ),
    Rule(
        "a domain with labels is their number or left out; got 2 labels and domain ",
        lambda v: named_domain(v, LABELS),
        (2, None),
        (1, 3, "2", 2.0),
        shows=False,
    ),
    # Reports.
    Rule(
        _REPORTS,
        lambda v: as_reports(v, 2),
        ([b"ab"], np.zeros((1, 2), np.uint8), []),
        (
            [b"a"],
            [b"ab", b"abc"],
            b"ab",
            "ab",
            ["ab"],
            1,
            np.zeros((1, 2), np.int8),
            np.zeros((1, 3), np.uint8),
            np.zeros((1, 1), np.uint8),
            np.zeros(2, np.uint8),
        ),
        shows=False,
    ),
    # Ranges of numbers.
    whole("steps", 1, 1 << 20, lambda v: grid(steps=v)),
    word("outside", OUTSIDE, lambda v: grid(outside=v)),
    Rule(
        "low and high must be from -1e+100 to 1e+100, so that squares of errors can be told; got ",
        lambda v: grid(low=v[0], high=v[1]),
        ((-1e100, 1e100),),
        ((math.nextafter(-1e100, -math.inf), 1), (-1, math.nextafter(1e100, math.inf))),
        shows=False,
    ),
    Rule(
        "low must be below high; got ",
        lambda v: grid(low=v[0], high=v[1]),
        ((1.0, math.nextafter(1, 2)), (-1, 0)),
        ((1, 1), (2, 1)),
        shows=False,
    ),
    Rule(
        "high must be at least 1e-100 above low, so that steps between them can be told; got ",
        lambda v: grid(high=v),
        (1e-100,),
        (math.nextafter(1e-100, 0), 5e-324),
        shows=False,
    ),
    *(
        Rule(
            f"{name} must be a finite number; got ",
            functools.partial(lambda name, v: grid(**{"low": -1, "high": 1, name: v}), name),
            (0, 0.5),
            (math.inf, -math.inf, math.nan, True, "0", None, 10**400),
        )
        for name in ("low", "high")
    ),
    Rule(
        "range must be a list of two numbers; got ",
        lambda v: NumberGrid.from_parameters(v, 1, "clip"),
        ([0, 1], (0, 1)),
        ([0], [0, 1, 2], "01", None),
    ),
    # Positions in their order.
    whole("the number of labels", 2, 4096, Steps),
    whole("the number of labels", 3, 3, lambda v: Steps(3, tuple(names(v))), refuses=(2, 4)),
    whole("bins", 2, 4096, lambda v: Bins(0, 1, v, "clip")),
    whole("bins", 2, 4096, scale_from_contract),
    Rule(
        "range must be a list of two numbers; got ",
        lambda v: scale_from_contract(2, (v, "clip")),
        ([0, 1],),
        ([0], [0, 1, 2], "01"),
    ),
    Rule(
        "labels are for steps in their order; got them for a range of numbers",
        lambda v: v.labelled(("x", "y")),
        (Steps(2),),
        (Bins(0, 1, 2, "clip"),),
        shows=False,
    ),
    Rule("round is for a range of numbers; got ", Steps(9).round_marks, (), (2.0,)),
    *(
        Rule(
            f"labels have no {name}; got ",
            functools.partial(lambda name, v: scale_from_spec(LABELS, **{name: v}), name),
            (None,),
            (0, 1),
        )
        for name in ("low", "high", "bins", "outside")
    ),
    *(
        Rule(
            "ordered answers must have labels in their order, or a low and a high end; got neither",
            functools.partial(
                lambda name, v: scale_from_spec(**{"low": 0, "high": 9, name: v}), name
            ),
            (5,),
            (None,),
            shows=False,
        )
        for name in ("low", "high")
    ),
    Rule(
        "round must be a number above 0, or a list of them; got ",
        checked_spacing,
        (5e-324, 1),
        (0, 0.0, -1, math.inf, math.nan, "x", True, None),
    ),
    Rule(_ROUND, Bins(0, 12, 12, "clip").round_marks, (2.0, 3.0, 6.0), (1.0, 1.5, 12.0, 2.5)),
    Rule(
        _ROUND, Bins.of_whole_numbers(0, 10, "clip").round_marks, (2.0, 5.0, 10.0), (1.0, 11.0, 2.5)
    ),
    # Parts of a table.
    whole("the values of a part", 2, 100, lambda v: Parts.of([v, 2]), takes=(2, 50)),
    whole("the values of a part", 2, 100, lambda v: Parts.of([2, v]), takes=(2, 50)),
    Rule(_PARTS, lambda v: Parts.of([2] * v), (2, 4), (1, 5, 0)),
    Rule(_PARTS, Parts.of, ([2, 2],), ("22", 2, b"22", None)),
    Rule(
        "a table of two parts must have at most 100 cells",
        lambda v: Parts.of(v),
        ([10, 10], [2, 50], [2, 3, 20]),
        ([10, 11], [2, 51], [2, 3, 34], [34, 3, 2]),
        shows=False,
    ),
    Rule(
        "a part must have exactly the keys id, labels; check ",
        lambda v: Parts.of([{"id": "a", "labels": LABELS}, v]),
        ({"id": "b", "labels": LABELS},),
        ({"id": "b"}, {"labels": LABELS}, {"id": "b", "labels": LABELS, "more": 1}),
        shows=False,
    ),
    Rule(
        "id of a part must be 1 to 64 lower-case letters, digits and inner hyphens; got ",
        lambda v: part(id=v),
        ("a", "a" * 64),
        ("", "a" * 65, 1),
    ),
    Rule("ids of parts must be distinct; got ", lambda v: part(id=v), ("a",), ("b",), shows=False),
    Rule(
        "labels of part 'a' must be a list; got ", lambda v: part(labels=v), (LABELS,), ("xy", None)
    ),
    Rule(
        "the number of labels of part 'a' must be an integer from 2 to 100; got ",
        lambda v: part(labels=names(v)),
        (2, 50),
        (1, 101),
    ),
    # Codes of words.
    whole(
        "the length of a code's texts",
        1,
        256,
        lambda v: PrefixCode.of({"length": v, "rows": [[1, "a", "b"]]}),
    ),
    whole("length", 1, 256, lambda v: code([1, "a", "b"], length=v)),
    Rule(
        "length must be that of the code, 3; got ",
        lambda v: PrefixCode.of({"length": 3, "rows": [[1, "a", "b"]]}, v),
        (3,),
        (2, 4),
    ),
    Rule(
        "a code of one length must be its length and its rows",
        lambda v: PrefixCode.of({"length": 1, "rows": [[1, "a", "b"]], **v}),
        ({},),
        ({"more": 1},),
        shows=False,
    ),
    Rule(
        "a code must be a list of rows [length, symbol, ...]; got ",
        PrefixCode.of,
        (ROWS,),
        ([], "ab", None, 1),
    ),
    Rule(
        "a row of a code must be [length, symbol, ...]; got ",
        lambda v: code([1, "a"], v),
        ([2, "b", ""],),
        ([2], "2b", 2),
    ),
    Rule(
        "a row of a code must be [length, symbol, ...] with a length from 1 to 32; got ",
        lambda v: code([v, "a", ""]),
        (1, 32),
        (0, 33, True, "1", 1.0),
    ),
    Rule(
        _SYMBOL,
        lambda v: code([2, "", v]),
        ("a" * 32, 194, 244, "\u00e9"),
        ("a" * 33, 193, 245, "e\u0301", "\ud800", True, 200.0, None),
        shows=False,
    ),
    Rule(
        "the rows of a code must have growing lengths; got ",
        lambda v: code([v, "a"], [2, "b", ""]),
        (1,),
        (2, 3),
        shows=False,
    ),
    Rule(
        "a code must have 2 to 4,096 symbols; got ",
        lambda v: code([12, *letters(v)]),
        (2, 4096),
        (1,),
    ),
    Rule(
        "a code must have 2 to 4,096 symbols; got ",
        lambda v: code([13, *letters(v)]),
        (4096,),
        (4097,),
    ),
    Rule(
        "the symbols of a code must be distinct; got ",
        lambda v: code([2, "a", "", v]),
        ("b",),
        ("a",),
    ),
    Rule(
        'a code must have an end mark, the symbol ""',
        lambda v: code([1, "a", v]),
        ("",),
        ("b",),
        shows=False,
    ),
    Rule(
        'a code of one length must have no end mark, the symbol ""',
        lambda v: PrefixCode.of({"length": 3, "rows": [[1, "a", v]]}),
        ("b",),
        ("",),
        shows=False,
    ),
    Rule(
        "the code words of a code must be prefix-free",
        lambda v: code([1, "a"], [2, "", *v]),
        ("b", ""),
        ("bc",),
        shows=False,
    ),
    Rule(
        ": a code's file must be readable; ", PrefixCode.load, (), ("/nowhere/at/all",), shows=False
    ),
    Rule(
        ": a code must be JSON in UTF-8; got something else",
        loaded,
        (b'[[1, "a"], [2, "b", ""]]',),
        (b"[", b"\xff", b"[" * 100_000),
        shows=False,
    ),
    Rule(": a code must be a list of rows", loaded, (), (b"[]",), shows=False),
    # Randomness.
    Rule(
        "a stream's seed must have 32 bytes; got ", lambda v: Stream(bytes(v)), (32,), (31, 33, 0)
    ),
    Rule(
        "a bulk bound must lie in 1..2^32; got ",
        lambda v: Seeded(1).stream().below(v, 1),
        (1, 1 << 32),
        (0, (1 << 32) + 1),
    ),
    Rule(
        "a secret must be at least 16 bytes; got ",
        lambda v: Keyed(bytes(v), "a"),
        (16, 17),
        (15, 0),
    ),
    Rule(
        "a secret must be at least 16 bytes; got ",
        lambda v: Keyed(v, "a"),
        (bytes(16),),
        ("a" * 16, None),
    ),
    Rule("a seed must be an integer; got ", Seeded, (0, 1), ("1", 1.0, None)),
]


@pytest.mark.parametrize("rule", limits.cases(RULES))
def test_a_check_holds_at_its_edges(rule: Rule) -> None:
    limits.check(rule)


def test_every_check_has_a_rule() -> None:
    assert limits.untried([*RULES, *ANSWERS], limits.checks("core", leaving=TABLES)) == {}


def test_a_short_name_fits_the_check_of_short_names() -> None:
    for text in ("a" * 64, "a" * 65, "a" * 63 + "-b", "\u00c4\u00d6", "", "--", "A b  C", "9"):
        checked_slug({"id": slug(text)}, "id", "a question")
    assert slug("a" * 63 + "-b") == "a" * 63
    assert slug("A b  C") == "a-b-c"
    assert slug("--") == "unnamed"
