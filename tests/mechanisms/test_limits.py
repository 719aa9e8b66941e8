"""Every check of a mechanism, one off from its edge: what is taken, and the sentence that refuses.

Every registered mechanism is held to the edges of epsilon, of its thresholds and of its sizes.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import rumor
from rumor.core.canonical import canonical_json
from rumor.core.errors import InputError
from rumor.core.exact import WORD
from rumor.core.reports import MAX_REPORTS
from rumor.mechanisms import BY_NAME, REGISTRY, FrequencyOracle, Mechanism, from_description
from rumor.mechanisms.keyvalue import checked_parent
from rumor.mechanisms.open_words.code import PrefixCode
from rumor.mechanisms.open_words.design import levels_for, open_words
from rumor.mechanisms.paper import DESIGNS
from rumor.mechanisms.privkv import SPLITS
from rumor.mechanisms.rappor.bloom import BloomFilter
from rumor.mechanisms.rappor.simulation import simulate_counts
from rumor.mechanisms.rappor.two_stage import TwoStageNoise
from rumor.mechanisms.summary import Summary, merge
from tests import limits
from tests.core.test_answer_limits import RULES as ANSWERS
from tests.core.test_limits import RULES as SHAPES
from tests.limits import Rule, whole, word

TWO = rumor.RandomizedResponse(domain=2, epsilon=1.0)
CODE = [[1, "a"], [2, "b", ""]]
NEEDED: dict[str, dict[str, Any]] = {
    "randomized-response": {"domain": 3},
    "unary": {"domain": 3},
    "subset-selection": {"domain": 3},
    "hadamard": {"domain": 3},
    "projective": {"domain": 3},
    "local-hashing": {"domain": 3},
    "open-words": {"code": CODE, "step": 1, "weights": [1, 1], "key": b"k", "cohorts": 1},
    "basic-rappor": {"domain": 3, "f": 0.5, "p": 0.5, "q": 0.5001},
    "paper": {"domain": 2, "design": "warner", "truth": "5001/10000"},
    "harmony": {},
    "piecewise": {},
    "window": {},
    "wave": {"labels": 3},
    "select": {"domain": 3, "cap": 1, "size": 1},
    "block": {"domain": 3, "block": 2},
    "keyvalue-block": {"keys": 2},
    "privkv": {"keys": 2},
    "privkvm": {"keys": 2},
    "item-sampling": {"keys": 2, "cap": 1},
    "key-set": {"keys": 2, "cap": 1},
    "pckv-grr": {"keys": 2, "cap": 1},
    "mixed": {"parts": (2, 3)},
}
"""What a constructor needs beside epsilon. RAPPOR alone has none."""


def made(name: str, epsilon: Any = 1.0, **more: Any) -> Any:
    """Return the mechanism of this name with what it needs, and `more`."""
    kind: Any = BY_NAME[name]
    return kind(**{**NEEDED[name], "epsilon": epsilon, **more})


def told(mechanism: Mechanism, **changes: object) -> Mechanism:
    """Return the mechanism that a contract describes, some members of it changed."""
    plain: dict[str, Any] = json.loads(canonical_json(mechanism.describe()))
    return from_description({k: v for k, v in {**plain, **changes}.items() if v is not ...})


def some(name: str) -> Mechanism:
    return BY_NAME[name].examples()[0]


def test_every_mechanism_is_made_here() -> None:
    assert set(NEEDED) == set(BY_NAME) - {"rappor"}


# --- Epsilon -----------------------------------------------------------------------------------


LEAST, MOST = 2.0**-60, 32.0
EPSILONS = [
    rule
    for name in NEEDED
    for rule in (
        Rule(
            "epsilon must be a number above 0 and at most 32; got ",
            functools.partial(made, name),
            (MOST, 32),
            (0, 0.0, -1.0, math.nextafter(MOST, 33), 33, math.inf, math.nan, True, "1", 10**400),
        ),
        Rule(
            "epsilon must be at least 2^-60, the least that 64-bit thresholds can tell from 0",
            functools.partial(made, name),
            (),
            (math.nextafter(LEAST, 0), 5e-324),
        ),
    )
]


@pytest.mark.parametrize("name", NEEDED)
def test_what_epsilon_buys_is_kept_at_both_ends(name: str) -> None:
    """The least epsilons are kept or refused by a sentence, and never exceeded; 32 is kept."""
    kept = 0
    for epsilon in (LEAST, 2 * LEAST, 2.0**-50, 2.0**-30, 1e-3, 31.0, MOST):
        if epsilon <= 2.0**-30:
            try:
                made(name, epsilon)
            except InputError as refused:
                sentence = str(refused)
            else:
                sentence = ""
            if sentence:
                assert "epsilon must" in sentence or "within epsilon" in sentence
                continue
        mechanism = made(name, epsilon)
        kept += 1
        assert 0 < mechanism.epsilon_all_rounds(1) <= epsilon
        assert told(mechanism) == mechanism
    assert kept >= 3


# --- Thresholds --------------------------------------------------------------------------------


def thresholds(mechanism: Mechanism) -> list[str]:
    """Return the parameters of a mechanism that are thresholds."""
    return [k for k, v in mechanism.parameters().items() if isinstance(v, str) and v.isdigit()]


TWO_STAGES = ("flip", "low", "high")
THRESHOLDS = [
    Rule(
        f"{key} must be a decimal string of an integer from "
        + ("0 to 2^64; got " if key in TWO_STAGES else "1 to 2^64-1; got "),
        functools.partial(lambda one, key, v: told(one, **{key: v}), kind.examples()[0], key),
        (),
        ("-1", "01", "", "1.0", 1, None, str(WORD + 1), "\u0663")
        + (() if key in TWO_STAGES else ("0", str(WORD))),
    )
    for kind in REGISTRY
    for key in thresholds(kind.examples()[0])
    if key != "key"
]
# How each mechanism of one threshold refuses one from which nothing can be learned.
_ORACLE = "must support a value more often when it is true than when it is not"
_EVEN = "the threshold of the truth must be above 2^64 / "
_WINDOW = "the threshold of the window must exceed its share of the outputs; got "
USELESS = {
    **dict.fromkeys(
        ("randomized-response", "subset-selection", "hadamard", "projective", "local-hashing"),
        _ORACLE,
    ),
    "open-words": "the truth of 'open-words' must be likelier than another bucket; got ",
    "harmony": "the threshold of the truth must be above 2^63; got ",
    "piecewise": _WINDOW,
    "window": _WINDOW,
    "wave": _WINDOW,
    "block": f"{_EVEN}states; got ",
    "keyvalue-block": f"{_EVEN}states; got ",
    "item-sampling": "the threshold of the truth must",
    "key-set": "the threshold of the truth must make own keys likelier than others; got ",
    "pckv-grr": f"{_EVEN}pairs; got ",
}


def least_threshold(mechanism: Mechanism, key: str) -> int:
    """Return the least threshold that a contract may say of the truth."""
    low, high = 0, WORD - 1
    while high - low > 1:
        middle = (low + high) // 2
        try:
            told(mechanism, **{key: str(middle)})
            high = middle
        except InputError:
            low = middle
    return high


def _useless(name: str, index: int) -> Rule:
    mechanism = BY_NAME[name].examples()[index]
    (key,) = thresholds(mechanism)
    least = least_threshold(mechanism, key)
    return Rule(
        USELESS[name],
        functools.partial(lambda one, key, v: told(one, **{key: v}), mechanism, key),
        (str(least), str(WORD - 1)),
        (str(least - 1), "1") if least > 1 else (),
        shows=False,
    )


USES = [_useless(name, index) for name in USELESS for index in (0, 1)]


@pytest.mark.parametrize("name", USELESS)
def test_the_least_threshold_is_the_first_that_says_anything(name: str) -> None:
    """One less would be even: nothing is lost there, and nothing learned."""
    for mechanism in BY_NAME[name].examples():
        (key,) = thresholds(mechanism)
        lost = told(mechanism, **{key: str(least_threshold(mechanism, key))}).epsilon
        assert 0 < lost < mechanism.alphabet * 8 / WORD


# --- Sizes and what goes together --------------------------------------------------------------


DOMAINS = {
    "randomized-response": 1_000_000,
    "unary": 100_000,
    "subset-selection": 100_000,
    "hadamard": 1_000_000,
    "projective": 2_000_000,
    "local-hashing": 1_000_000,
    "basic-rappor": 100_000,
    "paper": 2,
}


def test_every_oracle_has_its_largest_domain_here() -> None:
    assert set(DOMAINS) == {k.name for k in REGISTRY if issubclass(k, FrequencyOracle)}


SIZES = [
    *(
        whole("domain", 2, most, functools.partial(lambda n, v: made(n, domain=v), name))
        for name, most in DOMAINS.items()
        if name != "basic-rappor"
    ),
    *(
        whole(
            "domain", 2, most, functools.partial(lambda n, v: told(some(n), domain=v), name),
            takes=(2,) if name not in ("hadamard", "projective") else (2, 3),
        )
        for name, most in DOMAINS.items()
    ),
    whole("domain", 2, 100_000, lambda v: made("basic-rappor", domain=v)),
]  # fmt: skip
_KEYVALUE = [name for name, needs in NEEDED.items() if "keys" in needs]
PRIVKVM = rumor.PrivKVM(keys=2, epsilon=2.0, rounds=3, steps=2)
PRIVKV = rumor.PrivKV(keys=1, epsilon=1.0)
SECOND = PRIVKVM.next([-0.5, 0.75])
UNEVEN = rumor.PrivKVM(keys=1, epsilon=2.0, rounds=3, epsilon_1=0.5, epsilon_2=[0.75, 0.5, 0.25])
HALF = str(WORD // 2)
DIGEST = "0123456789abcdef" * 4
MIXED = rumor.Mixed(parts=(2, 3), epsilon=0.5)
LONG = PrefixCode.of({"length": 3, "rows": [[1, "a", "b"]]})


PAPER = rumor.PaperDesign(domain=2, design="forced-response", yes="1/4", no="1/12")


def paper(design: Any, **more: Any) -> rumor.PaperDesign:
    """Return a design on paper with these options."""
    return rumor.PaperDesign(domain=2, design=design, **more)


def paper_named(design: Any) -> rumor.PaperDesign:
    """Return a design on paper of this name, with options that fit it."""
    made = DESIGNS.get(design) if isinstance(design, str) else None
    fitting = {"truth": "3/4", "ask": "2/3", "yes": "1/4", "no": "1/8"}
    return paper(design, **{name: fitting[name] for name in (made.options if made else ())})


def bloom(**more: Any) -> BloomFilter:
    return BloomFilter(**{"bits": 2, "hashes": 1, "cohorts": 1, "key": b"k", **more})


def words(**more: Any) -> Any:
    return made("open-words", **more)


def noise(f: object = 0.5, p: object = 0.25, q: object = 0.75) -> TwoStageNoise:
    return TwoStageNoise.of(f, p, q)


def mixed(change: Callable[[Any], Any]) -> Mechanism:
    """Return the joint mechanism of a contract whose components were changed."""
    plain = json.loads(canonical_json(MIXED.describe()))
    return from_description({**plain, "components": change(plain["components"])})


def component(**changes: object) -> Mechanism:
    return mixed(lambda components: [{**components[0], **changes}, *components[1:]])


def counted(name: str = "randomized-response", **changes: Any) -> Summary:
    """Read a summary of two reports whose header or body was changed."""
    mechanism = made(name, domain=2 if name == "randomized-response" else 20)
    two = mechanism.privatize([0, 1], random=rumor.Seeded(1))
    magic, header, body = Summary.empty(mechanism).update(two).to_bytes().split(b"\n", 2)
    plain = {**json.loads(header), **{k: v for k, v in changes.items() if k != "body"}}
    body = changes.get("body", body)
    return Summary.from_bytes(b"\n".join([magic, canonical_json(plain), body]))


def tally(*counts: int) -> bytes:
    return np.array(counts, dtype="<i8").tobytes()


def labelled(count: int) -> Mechanism:
    return rumor.RandomizedResponse(domain=3, epsilon=1.0).with_labels(
        [f"l{i}" for i in range(count)]
    )


RAPPOR = rumor.Rappor(bits=8, hashes=1, cohorts=2, f=0.5, p=0.25, q=0.75, key=b"k")
ONCE = rumor.Rappor(bits=8, hashes=1, cohorts=2, f=0, p=0.25, q=0.75, key=b"k")
RR = rumor.RandomizedResponse(domain=3, epsilon=1.0)

# Names of mechanisms, and the two names of each number of a filter.
NAMED = [
    Rule(
        "a mechanism must be named by a text; got ",
        lambda v: rumor.mechanism(v, domain=4, epsilon=1.0),
        ("unary", "oue"),
        (3, None, ["unary"]),
    ),
    Rule(
        "is an algorithm that Rumor does not have; the nearest is the mechanism ",
        lambda v: rumor.mechanism(v, domain=4, epsilon=1.0),
        ("hr",),
        ("hrr", "hcms"),
        shows=False,
    ),
    Rule(
        "mechanism 'blh' is 'local-hashing' with buckets 2; got buckets ",
        lambda v: rumor.mechanism("blh", domain=4, epsilon=1.0, buckets=v),
        (2,),
        (1, 3),
        shows=False,
    ),
    Rule(
        "mechanism 'oue' has the keys ",
        lambda v: rumor.mechanism("oue", domain=4, epsilon=1.0, **{v: None}),
        ("p", "q"),
        ("cap", "domian"),
    ),
    Rule(
        "mechanism 'grr' needs epsilon; got none",
        lambda v: rumor.mechanism("grr", domain=4, **v),
        ({"epsilon": 1.0},),
        ({},),
        shows=False,
    ),
    Rule(
        "bits and k are one number; got bits 8 and k ",
        lambda v: rumor.Rappor(bits=8, k=v, h=1, m=2, f=0.5, p=0.25, q=0.75, key=b"k"),
        (8, None),
        (4, 16),
        shows=False,
    ),
    Rule(
        "Rappor needs hashes (or h); got none",
        lambda v: rumor.Rappor(k=8, h=v, m=2, f=0.5, p=0.25, q=0.75, key=b"k"),
        (1, 2),
        (None,),
        shows=False,
    ),
]
RULES = [
    *EPSILONS,
    *THRESHOLDS,
    *USES,
    *SIZES,
    *NAMED,
    # Numbers of values, of keys and of options.
    *(
        whole("keys", 1, 100_000, functools.partial(lambda n, v: made(n, keys=v), name), takes=(1,))
        for name in _KEYVALUE
        if name != "privkvm"
    ),
    whole("keys", 1, 100_000, lambda v: told(some("privkv"), keys=v)),
    whole("cap", 1, 2, lambda v: made("item-sampling", cap=v)),
    word("over_cap", ("refuse", "sample"), lambda v: made("pckv-grr", over_cap=v)),
    whole("size", 1, 3, lambda v: made("key-set", keys=3, size=v)),
    whole("size", 1, 128, lambda v: made("key-set", keys=129, size=v)),
    whole("block", 1, 2, lambda v: made("keyvalue-block", block=v)),
    whole("block", 1, 5, lambda v: made("keyvalue-block", keys=9, block=v)),
    whole("domain", 2, 10_000, lambda v: made("select", domain=v)),
    whole("domain", 2, 256, lambda v: made("block", domain=v, counted="pairs")),
    whole("domain", 2, 10_000, lambda v: told(made("block"), domain=v)),
    whole("cap", 1, 3, lambda v: made("select", cap=v)),
    whole("cap", 1, 128, lambda v: made("select", domain=129, cap=v)),
    whole("size", 1, 3, lambda v: made("select", size=v)),
    whole("least", 1, 2, lambda v: made("select", cap=2, size=3, least=v)),
    whole("least", 1, 1, lambda v: made("select", cap=2, size=1, least=v)),
    word("over_cap", ("refuse", "sample"), lambda v: made("select", over_cap=v)),
    word("counted", ("options", "pairs"), lambda v: made("select", cap=2, size=2, counted=v)),
    word("counted", ("options", "pairs"), lambda v: told(made("block"), counted=v)),
    Rule(
        "pairs need a cap and a size of at least 2; got ",
        lambda v: made("select", cap=v[0], size=v[1], counted="pairs"),
        ((2, 2),),
        ((1, 2), (2, 1)),
        shows=False,
    ),
    Rule(
        "pairs need a block of at least 2 options; got ",
        lambda v: made("block", block=v, counted="pairs"),
        (2,),
        (1,),
    ),
    Rule(
        "says nothing of pairs: ask for larger reports",
        lambda v: made("select", cap=2, size=v).pair_rates,
        (2,),
        (1,),
        shows=False,
    ),
    whole("block", 1, 3, lambda v: made("block", block=v)),
    whole("block", 1, 8, lambda v: made("block", domain=20, block=v)),
    whole("size", 1, 2, lambda v: made("subset-selection", size=v)),
    whole("blocks", 1, 5, lambda v: made("hadamard", domain=5, blocks=v), takes=(1, 2, 4)),
    Rule(
        "blocks must be a power of two; got ",
        lambda v: made("hadamard", domain=5, blocks=v),
        (1, 2, 4),
        (3, 5),
    ),
    whole("buckets", 2, 1 << 16, lambda v: made("local-hashing", buckets=v)),
    Rule(
        "local hashing counts at most 1e11 hashes (reports times domain)",
        made("local-hashing", domain=1000).check_report_count,
        (10**8,),
        (10**8 + 1,),
    ),
    whole("field", 2, 4_096, lambda v: made("projective", field=v), takes=(2, 4_093)),
    Rule(
        "field must be a prime; got ",
        lambda v: made("projective", field=v),
        (2, 3, 5),
        (4, 9, 4_087),
    ),
    Rule(
        "field must be a prime with at most 2^24 points for 2,000,000 values; got ",
        lambda v: made("projective", domain=2_000_000, field=v),
        (251,),
        (67,),
    ),
    whole("window", 1, 2, lambda v: told(rumor.Piecewise(epsilon=1.0, steps=2), window=v)),
    whole("window", 1, 3, lambda v: made("wave", window=v)),
    Rule(
        "epsilon must be a number above 0 and at most 32; got ",
        lambda v: made("wave", v, window=1),
        (32.0,),
        (0, 33),
    ),
    whole("window", 1, 3, lambda v: told(made("wave", epsilon=9.0), window=v), takes=(1, 2)),
    whole("window", 1, 3, lambda v: rumor.Window.with_table(v, [1, 3], epsilon=1.0)),
    Rule(
        "values must be 1 to 32 ascending integers from 1 to 2,047; got ",
        lambda v: rumor.Window.with_table(1, v, epsilon=1.0),
        ([1], [2_047], list(range(1, 33)), [1, 2]),
        ([], [0], [2_048], list(range(1, 34)), [2, 1], [1, 1], [1.0], [True], "1", None),
    ),
    Rule(
        "round must be at most 3 numbers; got ",
        lambda v: rumor.Wave(
            low=0, high=100, epsilon=1.0, round_to=[10, 20, 25, 50][:v], outside="clip"
        ),
        (1, 3),
        (4,),
    ),
    # Filters of words, and words without a list.
    whole("bits", 2, 65_536, lambda v: bloom(bits=v)),
    whole("hashes", 1, 64, lambda v: bloom(hashes=v)),
    whole("cohorts", 1, 1 << 24, lambda v: bloom(cohorts=v), takes=(1, 1 << 23)),
    Rule(
        "cohorts times bits must be at most 2^24; got ",
        lambda v: bloom(cohorts=v),
        (1 << 23,),
        ((1 << 23) + 1, 1 << 24),
        shows=False,
    ),
    Rule(
        "key must be a non-empty bytes object; got ",
        lambda v: bloom(key=v),
        (b"\0",),
        (b"", "k", None),
    ),
    Rule(
        "basic one-time RAPPOR needs f, or p and q; got ",
        lambda v: rumor.Rappor.basic_one_time(labels=2, **dict(zip("fpq", v, strict=True))),
        ((0.5, None, None), (None, 0.25, 0.75), (0, 0.25, 0.75)),
        ((None, None, None), (0.5, 0.25, 0.75), (None, 0.25, None), (0.5, None, 0.75)),
        shows=False,
    ),
    Rule(
        "key must be hexadecimal; got ", lambda v: told(RAPPOR, key=v), ("00", "ff"), ("0", "0g", 1)
    ),
    whole("cohorts", 1, 1 << 12, lambda v: words(cohorts=v)),
    whole("step", 1, 16, lambda v: words(step=v)),
    whole("cohorts", 1, 1 << 12, lambda v: told(words(), cohorts=v)),
    whole("buckets", 2, 1 << 16, lambda v: words(buckets=v)),
    whole("a weight", 1, 1 << 10, lambda v: words(weights=[v, 1])),
    whole("a weight", 1, 1 << 10, lambda v: words(weights=[1, v])),
    Rule(
        "weights must be a list of the levels' weights, that of whole words last; got ",
        lambda v: words(weights=v),
        ([1, 1], (1, 1)),
        (b"11", "11"),
    ),
    Rule(
        "weights must be a list of the levels' weights, that of whole words last, 2 to 64 of them",
        lambda v: words(weights=[1] * v),
        (2, 64),
        (1, 65),
    ),
    Rule(
        "levels times cohorts times buckets must be at most 2^24; got ",
        lambda v: words(cohorts=1 << 12, buckets=v),
        (1 << 11,),
        ((1 << 11) + 1,),
        shows=False,
    ),
    Rule(
        "key must be a non-empty bytes object; got ",
        lambda v: words(key=v),
        (b"\0",),
        (b"", "k", None),
    ),
    Rule("key must be hexadecimal; got ", lambda v: told(words(), key=v), ("00",), ("0", "0g", 1)),
    Rule(
        "epsilon must be large enough to be kept by 64-bit thresholds on 65,536 buckets; got ",
        lambda v: words(epsilon=v, buckets=1 << 16),
        (2.0**-40,),
        (2.0**-60,),
    ),
    Rule("a word must be a text; got a number", words().report, ("a", ""), (1, 1.5), shows=False),
    Rule("a word must be a text; got a number", RAPPOR.report, ("a", ""), (1, 1.5), shows=False),
    whole("longest", 1, 256, lambda v: levels_for(PrefixCode.of(CODE), v)),
    whole("typical", 1, 5, lambda v: levels_for(PrefixCode.of(CODE), 5, v)),
    Rule(
        "the code must be able to write every word of fits; got ",
        lambda v: levels_for(PrefixCode.of(CODE), 5, fits=[v]),
        ("ab",),
        ("c", "ac"),
    ),
    Rule(
        "a word of fits must take at most 63 bits in the code; got ",
        lambda v: levels_for(PrefixCode.of(CODE), 5, step=1, fits=["a" * v]),
        (61,),
        (62,),
        shows=False,
    ),
    Rule(
        "where all words have 3 characters, longest and typical must be left out; got ",
        lambda v: open_words(epsilon=1.0, code=LONG, key=b"k", longest=v),
        (None,),
        (3, 1),
    ),
    Rule(
        "where all words have 3 characters, longest and typical must be left out; got None and 3",
        lambda v: open_words(epsilon=1.0, code=LONG, key=b"k", typical=v),
        (None,),
        (3,),
        shows=False,
    ),
    Rule(
        "fits must be a list of words, each of them a text; got ",
        lambda v: open_words(epsilon=1.0, code=CODE, key=b"k", fits=v),
        ([], ["a"], ("a",)),
        ("a", [""], [1], None),
    ),
    # Two stages of noise.
    *(
        Rule(
            f"{name} must be a number at least 0 and below 1; got ",
            functools.partial(lambda name, v: noise(**{name: v}), name),
            (0, 0.0, 0.5),
            (-1e-300, 1, 1.0, math.nan, math.inf, "0", True, None),
        )
        for name in ("f", "p")
    ),
    Rule(
        "q must be a number above 0 and at most 1; got ",
        lambda v: noise(q=v),
        (1, 1.0, 0.5),
        (0, 0.0, math.nextafter(1, 2), math.nan, True),
    ),
    Rule(
        "f must be a number at least 0 and below 1; got 1",
        lambda v: TwoStageNoise(v, 1, 2),
        (0, WORD // 2 - 1),
        (WORD // 2,),
        shows=False,
    ),
    Rule(
        "q must be above p, both from 0 to 1; got ",
        lambda v: TwoStageNoise(1, *v),
        ((0, WORD), (0, 1), (7, 8)),
        ((8, 8), (9, 8), (0, 0), (0, WORD + 1)),
        shows=False,
    ),
    Rule(
        "without permanent noise (f = 0) a report must be noisy: p above 0 and q below 1",
        lambda v: TwoStageNoise(*v),
        ((0, 1, WORD - 1), (1, 0, WORD)),
        ((0, 0, WORD - 1), (0, 1, WORD)),
        shows=False,
    ),
    Rule(
        "RAPPOR without permanent noise (f = 0) can be asked once; got ",
        ONCE.check_repeats,
        (1,),
        (2,),
    ),
    Rule(
        "reports per person must be an integer from 1; got ",
        RR.permanence.check_repeats,
        (1, 2),
        (0, -1),
    ),
    Rule(
        "f, p and q must keep the loss within epsilon ",
        lambda v: made("basic-rappor", epsilon=v, f=0.0, p=0.5, q=0.75),
        (math.log(3) + 1e-9,),
        (math.log(3) - 1e-9,),
        shows=False,
    ),
    # Designs on paper.
    *(
        Rule(
            f'{name} must be a chance of at least 0 and below 1, such as "1/6" or 0.25; got ',
            lambda v, name=name: paper("kuk", **{"yes": "1/5", "no": "4/5", name: v}),  # type: ignore[misc]
            (0, "0", "1/6", 0.25, "9999/10000"),
            (1, "1", -0.1, "1/0", "a", "", True, [], math.inf, math.nan),
        )
        for name in ("yes", "no")
    ),
    Rule(
        "yes must be a fraction whose denominator is at most 10,000; got ",
        lambda v: paper("crosswise", yes=v),
        ("1/10000", 0.0001),
        ("1/10001", 0.00001),
    ),
    word("design", tuple(DESIGNS), paper_named),
    word(
        "design",
        tuple(DESIGNS),
        lambda v: told(paper_named(v) if v in DESIGNS else PAPER, design=v),
    ),
    Rule(
        "design 'forced-response' needs yes and no; got no ",
        lambda v: paper("forced-response", **v),
        ({"yes": "1/6", "no": "1/6"},),
        ({"yes": "1/6"}, {"no": "1/6"}, {}),
        shows=False,
    ),
    Rule(
        "design 'crosswise' has the keys yes; got ",
        lambda v: paper("crosswise", yes="1/4", **v),
        ({},),
        ({"no": "1/4"}, {"truth": "1/4"}),
        shows=False,
    ),
    Rule(
        "the chances of a design must keep the loss within epsilon ",
        lambda v: paper("warner", truth="3/4", epsilon=v),
        (math.log(3) + 1e-9,),
        (math.log(3) - 1e-9,),
        shows=False,
    ),
    whole("faces", 2, 1 << 32, lambda v: told(PAPER, faces=v), takes=(12,)),
    whole("holders", 0, 12, lambda v: told(PAPER, holders=v), takes=(11,)),
    whole("others", 0, 12, lambda v: told(PAPER, others=v), takes=(3,)),
    Rule(
        "the faces of a design must be as few as can be; got ",
        lambda v: told(PAPER, faces=12 * v, holders=11 * v, others=3 * v),
        (1,),
        (2, 3),
        shows=False,
    ),
    Rule(
        "the words of a design must depend on the answer and not tell it; got ",
        lambda v: told(PAPER, holders=v[0], others=v[1]),
        ((11, 3), (12, 1)),
        ((5, 5), (12, 0), (0, 12)),
        shows=False,
    ),
    Rule(
        "the chances of a design must be those of 'warner'; got ",
        lambda v: told(PAPER, design="warner", holders=v[0], others=v[1]),
        ((11, 1), (1, 11), (7, 5)),
        ((11, 3), (11, 2), (12, 1)),
        shows=False,
    ),
    Rule(
        "the chances of a design must be those of 'forced-response'; got ",
        lambda v: paper("forced-response", yes=v, no="1/2"),
        ("1/4", "4999/10000"),
        ("5001/10000", "3/4"),
        shows=False,
    ),
    Rule(
        "odds must be finite; the design 'mangat' promises nothing",
        lambda v: paper(v, truth="3/4").exact_odds,
        ("warner",),
        ("mangat",),
        shows=False,
    ),
    Rule(
        "a crowd hides reports of a finite epsilon only; the design 'mangat' promises nothing",
        lambda v: paper(v, truth="3/4").blanket(),
        ("warner",),
        ("mangat",),
        shows=False,
    ),
    Rule(
        "answers that people randomised themselves are those of the mechanism 'paper'; got ",
        lambda v: v.transcribe([0]),
        (PAPER,),
        (RR,),
        shows=False,
    ),
    # Unary encoding.
    Rule(
        "unary encoding needs epsilon, or both p and q; got neither",
        lambda v: rumor.UnaryEncoding(domain=3, epsilon=v),
        (1.0,),
        (None,),
        shows=False,
    ),
    *(
        Rule(
            "unary encoding takes p and q together and without a variant; got ",
            functools.partial(lambda base, v: rumor.UnaryEncoding(domain=3, **{**base, **v}), base),
            ({},),
            refused,
            shows=False,
        )
        for base, refused in (
            ({"p": 0.75, "q": 0.25}, ({"p": None}, {"q": None}, {"variant": "optimized"})),
        )
    ),
    *(
        Rule(
            f"{name} must be a number above 0 and below 1; got ",
            functools.partial(
                lambda name, v: rumor.UnaryEncoding(
                    domain=3, **{"p": 1 - 2.0**-53, "q": 5e-324, name: v}
                ),
                name,
            ),
            (0.5, Fraction(1, 3)),
            (0, 1, 0.0, 1.0, -0.5, math.nan, math.inf, True, "0.5"),
        )
        for name in ("p", "q")
    ),
    Rule(
        "epsilon must be a number above 0 and at most 32; got ",
        lambda v: rumor.UnaryEncoding(domain=3, p=0.5, q=0.4, epsilon=v),
        (32.0,),
        (33.0, 0),
    ),
    Rule(
        "p and q must keep the loss within epsilon ",
        lambda v: rumor.UnaryEncoding(domain=3, p=0.75, q=0.5, epsilon=v),
        (math.log(3) + 1e-9,),
        (math.log(3) - 1e-9,),
        shows=False,
    ),
    Rule(
        "q must be below p; got ",
        lambda v: told(made("unary"), own=str(v[0]), other=str(v[1])),
        ((8, 7), (2, 1), (WORD - 1, WORD - 2)),
        ((8, 8), (8, 9)),
        shows=False,
    ),
    Rule(
        'variant must be "symmetric" or "optimized"; got ',
        lambda v: made("unary", variant=v),
        ("symmetric", "optimized"),
        ("symmetrical", "", 1),
    ),
    # Pairs of keys and values.
    whole("rounds", 2, 100, lambda v: made("privkvm", rounds=v)),
    whole("rounds", 2, 100, lambda v: told(PRIVKVM, rounds=v)),
    whole("round", 1, 3, lambda v: told(SECOND, round=v), takes=(2, 3)),
    whole("round", 1, 100, lambda v: told(UNEVEN, round=v), takes=(1,)),
    whole("made_up", 0, 4, lambda v: told(SECOND, made_up=[v, 2])),
    whole("made_up", 0, 4, lambda v: told(SECOND, made_up=[2, v])),
    Rule(
        "made_up must be a list of 2 integers; got ",
        lambda v: told(SECOND, made_up=v),
        ([1, 2],),
        ([1], [1, 2, 3], "12", None),
    ),
    Rule(
        "round 1 makes values up by a fair coin and has no parent",
        lambda v: told(PRIVKVM, made_up=v),
        ([2, 2],),
        ([2, 1], [3, 2]),
        shows=False,
    ),
    Rule(
        "epsilon_1 as a list must be a number for each of the 3 rounds, 0 after the first, since "
        "keys are asked about in round 1 alone; got ",
        lambda v: made("privkvm", 9.0, rounds=3, epsilon_1=v),
        ([1.0, 0, 0], [0.5, 0.0, 0], 1.0),
        ([1.0, 0.5, 0], [1.0, 0], [1.0, 0, 0, 0], [], [1.0, 0, "0"], [1.0, False, 0]),
    ),
    Rule(
        "epsilon_2 must be a list of a number for each of the 3 rounds; got ",
        lambda v: made("privkvm", 9.0, rounds=3, epsilon_2=v),
        ([1.0, 1.0, 1.0],),
        ([1.0, 1.0], [1.0] * 4, 1.0, "111"),
    ),
    *(
        Rule(
            f"{name} must be a number above 0 and at most 32; got ",
            functools.partial(
                lambda name, v: made(
                    "privkv", 32.0, **{"epsilon_1": 1e-6, "epsilon_2": 1e-6, name: v}
                ),
                name,
            ),
            (1e-6, 31.9),
            (0, -1.0, 33.0, True, "1"),
        )
        for name in ("epsilon_1", "epsilon_2")
    ),
    Rule(
        "epsilon_1 and epsilon_2 must lose at most epsilon together, 2; got ",
        lambda v: made("privkv", 2.0, epsilon_1=v, epsilon_2=1.5),
        (0.5,),
        (2.1,),
        shows=False,
    ),
    Rule(
        "epsilon_1 and epsilon_2 must lose at most epsilon together, 2; got ",
        lambda v: made("privkvm", 2.0, rounds=3, epsilon_1=0.5, epsilon_2=[0.75, 0.5, v]),
        (0.25,),
        (1.5,),
        shows=False,
    ),
    Rule(
        "epsilon_1 and epsilon_2 go together and take the place of a split; got ",
        lambda v: made("privkv", 2.0, **v),
        ({"epsilon_1": 0.5, "epsilon_2": 0.5},),
        (
            {"epsilon_1": 0.5},
            {"epsilon_2": 0.5},
            {"epsilon_1": 0.5, "epsilon_2": 0.5, "split": "exact"},
        ),
        shows=False,
    ),
    word("split", SPLITS, lambda v: made("privkv", split=v)),
    *(
        Rule(
            "epsilon must be large enough to be kept exactly by 64-bit thresholds; got ",
            functools.partial(lambda name, more, v: made(name, v, **more), name, more),
            (2.0**-30,),
            (LEAST,),
        )
        for name, more in (
            ("privkvm", {}),
            ("item-sampling", {"keys": 9}),
            ("select", {"domain": 200, "cap": 2, "size": 2}),
            ("wave", {"labels": 100, "window": 1}),
        )
    ),
    Rule(
        "the thresholds of the truth must be at least 2^63 (key) and above it (value); got ",
        lambda v: told(made("privkv"), key_truth=str(v[0]), value_truth=str(v[1])),
        ((WORD // 2, WORD // 2 + 1),),
        ((WORD // 2 - 1, WORD // 2 + 1), (WORD // 2, WORD // 2)),
        shows=False,
    ),
    Rule(
        "PrivKVM asks about keys in round 1 alone; got round 1 with a key threshold of ",
        lambda v: told(PRIVKVM, key_truth=v),
        (str(WORD // 2 + 1),),
        (HALF,),
        shows=False,
    ),
    Rule(
        "PrivKVM asks about keys in round 1 alone; got round 2 with a key threshold of ",
        lambda v: told(SECOND, key_truth=v),
        (HALF,),
        (str(WORD // 2 + 1),),
        shows=False,
    ),
    Rule(
        "'privkvm' must have rounds or later; got neither",
        lambda v: told(PRIVKVM, rounds=v),
        (3,),
        (...,),
        shows=False,
    ),
    Rule(
        "'privkvm' must have rounds or later; got both",
        lambda v: told(UNEVEN, rounds=v),
        (...,),
        (3,),
        shows=False,
    ),
    Rule(
        "later must be a list of thresholds; got ",
        lambda v: told(UNEVEN, later=v),
        ([str(WORD - 1)],),
        ([], "1", None),
    ),
    Rule(
        "later must be a decimal string of an integer from 1 to 2^64-1; got ",
        lambda v: told(UNEVEN, later=[v]),
        (str(WORD - 1),),
        ("0", str(WORD), 1),
    ),
    Rule(
        "later must be thresholds above 2^63; got ",
        lambda v: told(UNEVEN, later=[str(WORD - 1), v]),
        (str(WORD // 2 + 1),),
        (HALF,),
        shows=False,
    ),
    Rule(
        "later is for rounds that differ; got those of rounds alike",
        lambda v: told(UNEVEN, later=v),
        ([str(WORD - 1)], [str(UNEVEN.value_truth), str(WORD - 1)]),
        ([str(UNEVEN.value_truth)], [str(UNEVEN.value_truth)] * 2),
        shows=False,
    ),
    Rule(
        "a PrivKVM collection of 3 rounds ends with round 3; got a request for round 4",
        lambda v: v.next([0.0, 0.0]),
        (PRIVKVM, SECOND),
        (SECOND.next([0.0, 0.0]),),
        shows=False,
    ),
    Rule(
        "means must be one number for each of the 2 keys; got shape ",
        lambda v: PRIVKVM.next([0.0] * v),
        (2,),
        (1, 3),
        shows=False,
    ),
    Rule(
        "a PrivKVM round must name its parent unless it is the first; got ",
        lambda v: SECOND.with_parent(v),
        (DIGEST,),
        (None,),
    ),
    Rule(
        "a PrivKVM round must name its parent unless it is the first; got ",
        lambda v: PRIVKVM.with_parent(v),
        (None,),
        (DIGEST,),
    ),
    Rule(
        "a parent must be a digest of 64 hexadecimal digits; got ",
        checked_parent,
        (DIGEST, None),
        (DIGEST[:-1], DIGEST + "0", DIGEST.upper(), 1),
    ),
    Rule(
        "frequencies are learned from round 1 of PrivKVM; got round 2",
        lambda v: v.rates,
        (PRIVKVM,),
        (SECOND,),
        shows=False,
    ),
    Rule(
        "person must hold at most 1 key",
        lambda v: made("pckv-grr").privatize([dict.fromkeys(range(v), 0.5)]),
        (1,),
        (2,),
        shows=False,
    ),
    Rule(
        "person must choose at most 1 option",
        lambda v: made("select").privatize([list(range(v))]),
        (0, 1),
        (2,),
        shows=False,
    ),
    # Several answers in one.
    Rule(
        "pair must be a share above 0 and at most 1; got ",
        lambda v: made("mixed", pair=v),
        (1, 1.0, 0.5, 1e-6),
        (0, 0.0, -0.5, math.nextafter(1, 2), True, "1"),
    ),
    Rule(
        "pair is a share of two parts; got ",
        lambda v: made("mixed", parts=[2] * v, pair=0.5),
        (2,),
        (3, 4),
    ),
    Rule(
        "sizes must be numbers of values; got ",
        lambda v: told(MIXED, sizes=v),
        ([2, 3],),
        ([{"id": "a", "labels": ["x", "y"]}, {"id": "b", "labels": ["x", "y", "z"]}],),
    ),
    Rule(
        "components must be a list of some; got ",
        lambda v: told(MIXED, components=v),
        (),
        ([], {}, None),
    ),
    Rule(
        "a component must have exactly the keys asks, chance, size, inclusion; check ",
        lambda v: component(**{v: 1}),
        (),
        ("more",),
        shows=False,
    ),
    Rule(
        "the chance must be a decimal string of an integer from 1 to 2^64-1; got ",
        lambda v: component(chance=v),
        ("1", str(WORD - 1)),
        ("0", str(WORD), None),
    ),
    Rule(
        "the chance of the last component is null; got ",
        lambda v: mixed(lambda c: [*c[:-1], {**c[-1], "chance": v}]),
        (None,),
        ("1",),
    ),
    Rule(
        "a component asks for some of the parts 0 to 1, in their order; got ",
        lambda v: component(asks=v),
        (),
        ([], [True], "0", [1, 0], [0, 0], [0, 2], [-1, 0]),
    ),
    Rule(
        "components must differ, and ask for any two parts together; got ",
        lambda v: mixed(
            lambda c: (
                [c[i] for i in v]
                if v[-1] == len(c) - 1
                else [*[c[i] for i in v[:-1]], {**c[v[-1]], "chance": None}]
            )
        ),
        ((0, 1),),
        ((1,), (0, 0)),
        shows=False,
    ),
    Rule(
        "a component must have at most ",
        lambda v: from_description(
            {
                "name": "mixed",
                "sizes": [5, 5, v],
                "components": [
                    {"asks": [0, 1, 2], "chance": None, "size": 1, "inclusion": str(WORD // 2)}
                ],
            }
        ),
        (4,),
        (5,),
        shows=False,
    ),
    Rule(
        "the parts must have [2, 3] labels; got ",
        lambda v: MIXED.named(rumor.Mixed(parts=v, epsilon=1.0).parts),
        ((2, 3),),
        ((3, 2), (2, 4), (2, 3, 2)),
        shows=False,
    ),
    # What every mechanism has.
    Rule(
        "a mechanism must be one of ", lambda v: from_description({"name": v}), (), ("none", None)
    ),
    *(
        Rule(
            f"the parameters of {name!r} must be exactly ",
            functools.partial(lambda name, v: told(some(name), **v), name),
            ({},),
            (
                {"more": 1},
                *(
                    {key: ...}
                    for key in some(name).parameters()
                    if (name, key) != ("privkvm", "rounds")
                ),
            ),
            shows=False,
        )
        for name in BY_NAME
    ),
    whole("reports", 1, MAX_REPORTS, lambda v: RR.poisoning.gain(v, 0)),
    whole("fakes", 0, 7, lambda v: RR.poisoning.gain(7, v)),
    whole("fakes", 0, 7, lambda v: RR.poisoning.loss(7, v)),
    whole("the number of labels", 3, 3, labelled, refuses=(2, 4)),
    Rule(
        "a summary counts at most 2^62 reports; got ",
        RR.check_report_count,
        (1 << 62,),
        ((1 << 62) + 1,),
    ),
    Rule(
        "a channel is written out up to 4,194,304 probabilities; this one has ",
        lambda v: made("randomized-response", domain=v).channel(),
        (2,),
        (2049,),
        shows=False,
    ),
    Rule(
        "only mechanisms with permanent noise settle answers; got 'randomized-response'",
        lambda v: v(),
        (),
        (
            lambda: RR.permanence.draw_permanent(
                1, person=rumor.Keyed(bytes(32), "a"), noise=rumor.Keyed(bytes(32), "a")
            ),
            lambda: RR.permanence.report_permanent(b""),
        ),
        shows=False,
    ),
    Rule(
        "only PrivKVM has rounds; got 'privkv'",
        lambda v: PRIVKV.next(v),
        (),
        ([0.0],),
        shows=False,
    ),
    Rule("only a round of PrivKVM has a parent; got ", PRIVKV.with_parent, (None,), (DIGEST,)),
    Rule(
        "epsilon must be large enough to be kept by 64-bit thresholds on 1,000,000 values; got ",
        lambda v: made("randomized-response", v, domain=1_000_000),
        (2.0**-40,),
        (LEAST,),
    ),
    # Summaries.
    Rule(
        "a summary's counters must be those of its number of reports; got counters that no ",
        lambda v: counted(reports=str(v[0]), body=tally(*v[1:])),
        ((2, 2, 0), (2, 1, 1), (0, 0, 0), (1 << 62, 1 << 62, 0)),
        ((2, 3, 0), (2, 3, -1), (2, 1, 0), (-1, 0, -1), ((1 << 62) + 1, 1 << 62, 1), (0, 0, 1)),
        shows=False,
    ),
    Rule(
        "a summary's counters must be those of its number of reports; got counters that no ",
        lambda v: counted("unary", reports="2", body=tally(*[0] * 19, v)),
        (0, 1, 2),
        (-1, 3),
        shows=False,
    ),
    Rule(
        "a summary of this mechanism must hold 2 counters of 8 bytes; got ",
        lambda v: counted(body=(tally(1, 1) + bytes(8))[:v]),
        (16,),
        (15, 17, 8, 0),
    ),
    Rule("a summary file must begin with ", Summary.from_bytes, (), (b"", b"rumor"), shows=False),
    Rule(
        "summary",
        lambda v: counted(**v),
        ({"contract": "c"}, {"question": None}),
        ({"reports": "x"}, {"reports": "02"}, {"contract": 1}, {"question": []}, {"more": 1}),
        shows=False,
    ),
    Rule(
        "summaries must be of the same ",
        lambda v: counted() + counted(**v),
        ({},),
        ({"contract": "c"}, {"question": "q"}),
        shows=False,
    ),
    Rule(
        "summaries must be of different reports to be added; got two",
        lambda ids: replace(counted(), some_ids=("a", "b")) + replace(counted(), some_ids=ids),
        ((), ("c",)),
        (("a",), ("b", "c")),
        shows=False,
    ),
    Rule(
        "counts must be 2 integers for this mechanism; got an array of ",
        lambda counts: Summary.from_counts(TWO, counts, 1),
        ([0, 1], [1, 0]),
        ([1], [0, 0, 1], [0.0, 1.0], [True, False], [[0, 1]]),
        shows=False,
    ),
    Rule(
        "counts must be those of their number of reports; got counters that no 2 reports of ",
        lambda counts: Summary.from_counts(TWO, counts, 2),
        ([2, 0], [1, 1]),
        ([1, 0], [2, 1], [3, -1]),
        shows=False,
    ),
    whole(
        "reports",
        0,
        MAX_REPORTS,
        lambda n: Summary.from_counts(TWO, [MAX_REPORTS * (n == MAX_REPORTS), 0], n),
    ),
    Rule("merging needs at least one summary; got none", merge, ([counted()],), ([],), shows=False),
    Rule(": a summary file must begin with ", Summary.load, (), (__file__,), shows=False),
    Rule("a summary must be a file that exists; got ", Summary.load, (), ("/nowhere/at/all",)),
    Rule(
        "counts must be an integer of 0 or more for each of the 2 words",
        lambda v: simulate_counts(RAPPOR, ["a", "b"], v, random=rumor.Seeded(1)),
        ([0, 1], [[1, 0], [0, 0]]),
        ([0, -1], [1], [1, 1, 1], [0.5, 0.5]),
        shows=False,
    ),
    Rule(
        "a simulation needs at least one person; got none",
        lambda v: simulate_counts(RAPPOR, ["a", "b"], v, random=rumor.Seeded(1)),
        ([0, 1],),
        ([0, 0],),
        shows=False,
    ),
]


# No epsilon reaches these: thresholds keep the least one, or another check comes first; and every
# mechanism for means has its bound on fake clients.
UNREACHED = {
    ("mechanisms/blocks.py", "exact.not_kept(epsilon)"),
    ("mechanisms/harmony.py", "exact.not_kept(epsilon)"),
    ("mechanisms/privkv.py", "exact.not_kept(epsilon)"),
    ("mechanisms/mean.py", "raise InputError(f'no bound on fake clients is known for {self!r}')"),
}


@pytest.mark.parametrize("rule", limits.cases(RULES))
def test_a_check_holds_at_its_edges(rule: Rule) -> None:
    limits.check(rule)


def test_every_check_has_a_rule() -> None:
    rules = [*RULES, *SHAPES, *ANSWERS]
    missing = limits.untried(rules, limits.checks("mechanisms"))
    assert {(file, text) for (file, _), text in missing.items()} - UNREACHED == set()
