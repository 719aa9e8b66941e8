"""The law of presence: whether a report leaves a device never depends on the answer.

A report that is missing is an observation too, and no noise hides it. So, for a device in
any fixed state, either every answer of the right type yields a report or none does, with the
same sentence. Held for each mechanism and kind, in Python and in JavaScript; and over every
number that a double or an integer can be, every text that a keyboard or a program can give,
every label, and every combination of keys with numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import rumor
from rumor.contract.collection import Collection, Question
from rumor.core.errors import InputError
from rumor.mechanisms import (
    REGISTRY,
    FrequencyOracle,
    KeyValueMechanism,
    MeanMechanism,
    Mechanism,
    Rappor,
    SetMechanism,
    Wave,
)
from rumor.mechanisms.mixed.mixed import Mixed
from rumor.mechanisms.open_words.open_words import OpenWords
from rumor.mechanisms.wave.scale import Steps
from tests.javascript import parsed, refusals, steps

Answers = st.SearchStrategy[object]
# As often as the longest list of answers below asks.
_OFTEN = 200


def numbers(mechanism: Mechanism) -> Answers:
    """Every double but NaN, and integers of any size."""
    return st.one_of(
        st.floats(allow_nan=False),
        st.integers(),
        st.sampled_from([10**400, -(10**9999), 5e-324, -0.0, math.inf, -math.inf]),
    )


def texts(mechanism: Mechanism) -> Answers:
    """Every sequence of code points, halves of surrogate pairs too; empty, NUL, very long."""
    characters = st.characters(codec=None, categories=None)
    odd = ["", "\0", "\ud800", "\udfff\ud800", "e\u0301", "\u202e", "a" * 100_000, " ", "=", "\n"]
    return st.one_of(st.text(characters), st.sampled_from(odd))


def choices(mechanism: Mechanism) -> Answers:
    """Every value of the domain, by its number and by its label."""
    assert isinstance(mechanism, FrequencyOracle)
    return st.sampled_from(mechanism.labels or range(mechanism.domain))


def ordered(mechanism: Mechanism) -> Answers:
    """Every label, or every number."""
    assert isinstance(mechanism, Wave)
    scale = mechanism.scale
    return st.sampled_from(scale.inputs()) if isinstance(scale, Steps) else numbers(mechanism)


def pairs(mechanism: Mechanism) -> Answers:
    """Any of the keys, none and all of them among these, each with any number."""
    assert isinstance(mechanism, KeyValueMechanism)
    return st.dictionaries(st.sampled_from(range(mechanism.keys)), numbers(mechanism))


def tables(mechanism: Mechanism) -> Answers:
    """Every combination of the parts' values."""
    assert isinstance(mechanism, Mixed)
    own = mechanism.parts.labels or [range(size) for size in mechanism.parts.sizes]
    pairs = zip(mechanism.parts.keys, own, strict=True)
    return st.fixed_dictionaries({key: st.sampled_from(values) for key, values in pairs})


def sets(mechanism: Mechanism) -> Answers:
    """Any of the options, none and all of them among these."""
    assert isinstance(mechanism, SetMechanism)
    return st.lists(st.sampled_from(mechanism.labels or range(mechanism.domain)), unique=True)


FAMILIES = {
    FrequencyOracle: choices,
    Rappor: texts,
    OpenWords: texts,
    MeanMechanism: numbers,
    Wave: ordered,
    KeyValueMechanism: pairs,
    Mixed: tables,
    SetMechanism: sets,
}


def answers_of(mechanism: Mechanism) -> Answers:
    """Answers of the right type; a mechanism of a new family fails here until it says which."""
    (found,) = (answers for family, answers in FAMILIES.items() if isinstance(mechanism, family))
    return found(mechanism)


def asking(mechanism: Mechanism, reports: int) -> Collection:
    question = Question("question", mechanism.kind, "", mechanism, reports, None)
    return Collection("name", "series", "nobody", (question,))


def may_be_asked_often(mechanism: Mechanism) -> bool:
    try:
        mechanism.permanence.check_repeats(_OFTEN)
    except InputError:
        return False
    return mechanism.round == 1  # later rounds follow a first one


def examples() -> Sequence[Mechanism]:
    """Of each mechanism its small instances, and for numbers and pairs one with strict tables."""
    strict: dict[str, Any] = {"low": 0.0, "high": 2.0, "outside": "refuse", "epsilon": 1.0}
    capped: dict[str, Any] = {"keys": 4, "cap": 1, "over_cap": "refuse"}
    return [
        *(m for kind in REGISTRY for m in kind.examples() if may_be_asked_often(m)),
        rumor.Harmony(**strict),
        rumor.Piecewise(**strict),
        rumor.KeyValueBlock(keys=4, **strict),
        rumor.PrivKV(keys=4, **strict),
        rumor.PrivKVM(keys=4, **strict),
        rumor.ItemSampling(**capped, **strict),
        rumor.PckvGrr(**capped, **strict),
        rumor.RandomizedResponse(domain=["yes", "no", "e\u0301"], epsilon=1.0),
        rumor.Rappor(bits=64, hashes=2, cohorts=4, f=0.5, p=0.5, q=0.75, key=b"key"),
    ]


EXAMPLES = [pytest.param(m, id=f"{m.name}-{i}") for i, m in enumerate(examples())]


def test_every_mechanism_is_among_the_examples() -> None:
    assert {type(mechanism) for mechanism in examples()} == set(REGISTRY)


def law_every_answer_yields_a_report(
    mechanism: Mechanism, folder: Path, phases: Sequence[Phase] = tuple(Phase)
) -> None:
    """A device that may answer: each answer of the right type becomes a valid report."""
    collection = asking(mechanism, _OFTEN)
    with rumor.Respondent(folder) as device:

        @settings(max_examples=25, phases=phases, suppress_health_check=list(HealthCheck))
        @given(answers_of(mechanism))
        def law(answer: object) -> None:
            (envelope,) = device.prepare(collection, {"question": answer})
            assert mechanism.validate([envelope.report]).all

        law()


@pytest.mark.parametrize("mechanism", EXAMPLES)
def test_every_answer_yields_a_report(mechanism: Mechanism, tmp_path: Path) -> None:
    law_every_answer_yields_a_report(mechanism, tmp_path)


def test_the_law_bites(tmp_path: Path) -> None:
    """A device that keeps a table's rules, one that refuses some words, one that fears integers."""

    class Strict(rumor.Harmony):
        def code(self, value: object) -> int:
            return int(self.encode([value])[0])

    class Prim(rumor.Rappor):
        def report_memoised(self, value: object, **randomness: Any) -> bytes:
            if "\0" in str(value):
                raise InputError("no")
            return super().report_memoised(value, **randomness)

    class Narrow(rumor.KeyValueBlock):
        def notes(self, value: object) -> tuple[str, ...]:
            assert isinstance(value, dict)
            return tuple("large" for number in value.values() if float(number) > 1)

    strict = Strict(epsilon=1.0)
    prim = Prim(bits=64, hashes=2, cohorts=4, f=0.5, p=0.5, q=0.75, key=b"key")
    for index, broken in enumerate((strict, prim, Narrow(keys=2, epsilon=1.0))):
        with pytest.raises((InputError, OverflowError)):
            law_every_answer_yields_a_report(broken, tmp_path / str(index), [Phase.generate])


@pytest.mark.parametrize("mechanism", EXAMPLES)
def test_no_answer_yields_a_report_beyond_a_limit(mechanism: Mechanism, tmp_path: Path) -> None:
    """Neither past the contract's limit nor past the device's own: whatever is answered."""
    used, poor = tmp_path / "used", tmp_path / "poor"
    with rumor.Respondent(used) as full, rumor.Respondent(poor, max_epsilon=1e-9) as broke:
        said: dict[str, set[str]] = {"used": set(), "poor": set()}
        once = asking(mechanism, 1)
        full.prepare(once, {"question": mechanism.inputs()[0]})

        @settings(max_examples=15, suppress_health_check=list(HealthCheck))
        @given(answers_of(mechanism))
        def law(answer: object) -> None:
            for device, name in ((full, "used"), (broke, "poor")):
                with pytest.raises(InputError) as refused:
                    device.prepare(once, {"question": answer})
                said[name].add(str(refused.value))

        law()
        assert [len(sentences) for sentences in said.values()] == [1, 1], said
        assert (full.pending(), broke.pending()) == ([*full.pending()[:1]], [])


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_every_answer_yields_a_report_in_javascript(family: type[Mechanism]) -> None:
    """The same, all mechanisms of a family and many answers in one process."""
    ours = [m for m in examples() if isinstance(m, family)]

    # Without shrinking: a process for each of a thousand tries would take very long.
    @settings(max_examples=3, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(st.tuples(*(st.lists(answers_of(m), min_size=8, max_size=16) for m in ours)))
    def law(lists: tuple[list[object], ...]) -> None:
        asked: list[Mapping[str, object]] = []
        widths: list[int | None] = []
        for index, (mechanism, answers) in enumerate(zip(ours, lists, strict=True)):
            asked += [parsed(asking(mechanism, _OFTEN)), {"step": "open", "as": str(index)}]
            widths += [None, None]
            for answer in answers:
                given = {"question": _json(answer)}
                asked.append({"step": "prepare", "by": str(index), "answers": given})
                widths.append(mechanism.width)
        results = steps(*asked)
        assert refusals(results) == [None] * len(results)
        for result, width in zip(results, widths, strict=True):
            assert width is None or [len(each["report"]) for each in result] == [2 * width]

    law()


def _json(answer: object) -> object:
    """An answer as JSON can say it: an integer beyond doubles is read as infinity."""
    if isinstance(answer, dict):
        return {str(key): _json(value) for key, value in answer.items()}
    if isinstance(answer, int | float):
        return max(-(10**400), min(answer, 10**400))
    return answer
