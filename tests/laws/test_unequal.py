"""The laws where parts that are alike in the examples differ, and at both ends of epsilon.

Components of one table with other noise each, rounds and made-up values that differ, levels of
other weights, ranges that do not lie around 0: what is added up, or taken for the worst, is then
told from what merely happened to be equal.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import rumor
from rumor.core.canonical import canonical_json
from rumor.core.errors import InputError
from rumor.core.exact import WORD
from rumor.mechanisms import REGISTRY, FrequencyOracle, Mechanism, Mixed, from_description
from rumor.mechanisms.summary import Summary
from rumor.privacy.audit.enumeration import TooManyBranchesError
from tests.laws.laws import (
    Law,
    law_description_round_trips,
    law_draw_is_the_channel,
    law_epsilon_is_exact,
    law_evidence_is_the_models,
    law_loops_agree,
    law_reports_are_recognised,
    law_reports_are_valid,
    law_rows_sum_to_one,
)
from tests.laws.oracle_laws import (
    OracleLaw,
    law_forward_and_adjoint,
    law_hit_and_miss,
    law_unbiased,
    law_variance,
    law_views_agree,
)
from tests.mechanisms.test_limits import NEEDED, made

LAWS: list[Law] = [
    law_rows_sum_to_one,
    law_epsilon_is_exact,
    law_evidence_is_the_models,
    law_reports_are_recognised,
    law_reports_are_valid,
    law_description_round_trips,
]
ORACLE_LAWS: list[OracleLaw] = [
    law_forward_and_adjoint,
    law_hit_and_miss,
    law_unbiased,
    law_variance,
    law_views_agree,
]


def unequal(mixed: Mixed, *noise: int) -> Mixed:
    """Return a table whose components tell the truth with these chances, over 100."""
    plain: dict[str, Any] = json.loads(canonical_json(mixed.describe()))
    for one, percent in zip(plain["components"], noise, strict=True):
        one["inclusion"] = str(WORD * percent // 100)
    found = from_description(plain)
    assert isinstance(found, Mixed)
    return found


MANY_CELLS = 500
CODE = [[1, "a"], [2, "b", ""]]
BASIC = rumor.mechanisms.BasicRappor
FIRST = rumor.PrivKVM(keys=2, epsilon=3.0, rounds=3, steps=3, epsilon_1=0.5, epsilon_2=[0.5, 1, 1])
INSTANCES: dict[str, Mechanism] = {
    "components, the first the dearest": unequal(
        rumor.Mixed(parts=(3, 3), epsilon=1.0), 90, 80, 70
    ),
    "components, the last the dearest": unequal(rumor.Mixed(parts=(3, 3), epsilon=1.0), 60, 80, 97),
    "three pairs": unequal(rumor.Mixed(parts=(3, 3, 3), epsilon=1.0), 60, 99, 80),
    "parts of other sizes": rumor.Mixed(parts=(4, 2), epsilon=0.75),
    "three parts of other sizes": rumor.Mixed(parts=(2, 3, 2), epsilon=1.25),
    "rounds that differ": FIRST,
    "made-up values that differ": FIRST.next([-1.0, 0.4]),
    "a last round": FIRST.next([-1.0, 0.4]).next([1.0, -0.2]),
    "bits of unlike chances": rumor.UnaryEncoding(domain=3, p=0.9, q=0.3),
    "two stages": BASIC(domain=3, f=0.25, p=0.1, q=0.6),
    "cohorts and hashes": rumor.Rappor(bits=4, hashes=2, cohorts=3, f=0.3, p=0.2, q=0.9, key=b"k"),
    "levels of other weights": made(
        "open-words", 1.5, weights=[1, 3, 2], cohorts=2, buckets=3, step=2, code=CODE
    ),
    "a range below 0": rumor.Harmony(low=-7.0, high=-2.0, epsilon=1.5, steps=3),
    "a range from 0": rumor.Piecewise(low=0.0, high=9.0, epsilon=1.5, steps=5),
    "cells of other worth": rumor.Window.with_table(2, [1, 2, 9], low=3.0, high=4.0, epsilon=1.5),
    "bins of a range": rumor.Wave(low=-1.0, high=8.0, bins=3, epsilon=1.5, window=2),
    "a least of two": rumor.SetSelect(
        domain=4, cap=3, size=2, least=2, epsilon=1.5, over_cap="sample"
    ),
    "a block of three": rumor.SetBlock(domain=4, block=3, epsilon=1.5, counted="pairs"),
    "a set of one key": made("key-set", 1.5, keys=3, cap=3, size=1, steps=2, over_cap="sample"),
    "items of a narrow range": made(
        "item-sampling", 1.5, keys=3, cap=2, low=2.0, high=3.0, steps=2, over_cap="sample"
    ),
    "blocks of keys": made("keyvalue-block", 1.5, keys=3, block=2, steps=2, low=2.0, high=3.0),
    "two parts of a budget": made("privkv", 3.0, keys=3, epsilon_1=0.5, epsilon_2=2.0, steps=3),
    "many buckets": made("local-hashing", 1.5, domain=5, buckets=7),
    "blocks of values": made("hadamard", 1.5, domain=7, blocks=2),
    "a field of five": made("projective", 1.5, domain=7, field=5),
}
SMALL: dict[str, dict[str, Any]] = {
    **{name: {"steps": 2} for name in NEEDED if "keys" in NEEDED[name]},
    **{
        name: {"steps": 2, "over_cap": "sample"}
        for name, needs in NEEDED.items()
        if {"keys", "cap"} <= set(needs)
    },
    **{name: {"steps": 3} for name in ("harmony", "piecewise", "window")},
    **{name: {"buckets": 4} for name in ("local-hashing", "open-words")},
}
ENDS = [
    pytest.param(name, epsilon, id=f"{name}-{epsilon:g}")
    for name in NEEDED
    for epsilon in (2.0**-40, 32.0)
    if name
    not in ("basic-rappor", "paper", "window")  # whose parameters or tables are those of others
]


def walked(mechanism: Mechanism) -> None:
    """Hold a draw to the channel, where its tree is small."""
    if mechanism.alphabet * len(mechanism.inputs()) > MANY_CELLS:
        return
    try:
        law_draw_is_the_channel(mechanism)
    except TooManyBranchesError:
        return


@pytest.mark.parametrize("name", INSTANCES)
def test_the_laws_hold_where_parts_differ(name: str) -> None:
    mechanism = INSTANCES[name]
    for law in LAWS:
        law(mechanism)
    if isinstance(mechanism, FrequencyOracle):
        for oracle_law in ORACLE_LAWS:
            oracle_law(mechanism)


@pytest.mark.parametrize("name", INSTANCES)
def test_a_draw_is_the_channel_where_parts_differ(name: str) -> None:
    walked(INSTANCES[name])


@pytest.mark.parametrize(("name", "epsilon"), ENDS)
def test_the_laws_hold_at_both_ends_of_epsilon(name: str, epsilon: float) -> None:
    mechanism = made(name, epsilon, **SMALL.get(name, {}))
    for law in (law_rows_sum_to_one, law_epsilon_is_exact, law_description_round_trips):
        law(mechanism)
    walked(mechanism)


@pytest.mark.parametrize("noise", list(itertools.permutations((60, 80, 99))))
def test_a_table_costs_what_its_dearest_component_does(noise: tuple[int, ...]) -> None:
    """Whichever it is, and not what the first, the last or most of them do."""
    mixed = unequal(rumor.Mixed(parts=(3, 3, 3), epsilon=1.0), *noise)
    losses = [one.oracle.epsilon for one in mixed.components]
    assert len(set(losses)) == 3
    assert mixed.epsilon == max(losses) == losses[noise.index(99)]
    assert mixed.epsilon_after(3) == pytest.approx(3 * max(losses))


def _tallies(mechanism: Mechanism, count: int) -> Sequence[Summary]:
    """Return the summaries of as many reports, those of one output alone."""
    outputs = mechanism.outputs(mechanism.publics()[0])
    some = outputs[:: max(1, len(outputs) // 8)]
    return [Summary.empty(mechanism).update(np.repeat(row[None], count, axis=0)) for row in some]


@pytest.mark.parametrize("name", [*INSTANCES])
def test_summaries_of_as_many_reports_are_told_apart_by_their_counters(name: str) -> None:
    """Equal numbers of reports, often equal sums: equal only where every counter is."""
    summaries = _tallies(INSTANCES[name], 2)
    for one, other in itertools.combinations(summaries, 2):
        same = one.tally.tolist() == other.tally.tolist()
        assert (one == other) == (one.to_bytes() == other.to_bytes()) == same
        assert (one + other).tally.tolist() == (one.tally + other.tally).tolist()
        assert (one + other).reports == 4
    assert len({one.to_bytes() for one in summaries}) > 1
    for one in summaries:
        again = Summary.from_bytes(one.to_bytes())
        assert (again, again.reports, again.tally.tolist()) == (one, 2, one.tally.tolist())


def test_a_summary_is_of_its_mechanism_contract_and_question() -> None:
    kinds = [rumor.RandomizedResponse(domain=3, epsilon=e) for e in (1.0, 1.5)]
    made_of = [
        Summary.empty(kind, contract=contract, question=asked)
        for kind in kinds
        for contract in (None, "a" * 64, "b" * 64)
        for asked in (None, "one", "two")
    ]
    assert len({one.to_bytes() for one in made_of}) == len(made_of) == 18
    for one, other in itertools.combinations(made_of, 2):
        assert one != other
        with pytest.raises(InputError, match="summaries must be of the same"):
            one + other
    for one in made_of:
        again = Summary.from_bytes(one.to_bytes())
        assert (again, again.contract, again.question) == (one, one.contract, one.question)


@pytest.mark.slow
def test_loops_agree_where_components_differ() -> None:
    law_loops_agree(INSTANCES["components, the last the dearest"])


def test_parts_of_a_budget_are_not_exchanged() -> None:
    """The key's part is the key's, and the value's the value's."""
    one, other = (
        made("privkv", 3.0, epsilon_1=a, epsilon_2=b) for a, b in ((0.5, 2.0), (2.0, 0.5))
    )
    assert isinstance(one, rumor.PrivKV)
    assert isinstance(other, rumor.PrivKV)
    assert (one.key_truth, one.value_truth) == (other.value_truth, other.key_truth)
    assert one.key_truth < one.value_truth
    odds = Fraction(one.key_truth, WORD - one.key_truth)
    assert float(odds) == pytest.approx(np.exp(0.5))


ORACLES = [
    pytest.param(one, id=f"{one.name}-{one.domain}-{place}")
    for place, one in enumerate(
        [*INSTANCES.values(), *(one for kind in REGISTRY for one in kind.examples())]
    )
    if isinstance(one, FrequencyOracle) and one.domain <= 10 and list(one.publics()) == [b""]
]


@pytest.mark.parametrize("oracle", ORACLES)
def test_estimates_of_unequal_shares_vary_together_as_the_channel_says(
    oracle: FrequencyOracle,
) -> None:
    """Moments of one person's estimates, by the channel: no two values have one share."""
    shares = np.arange(1.0, oracle.domain + 1)
    shares /= shares.sum()
    channel = oracle.channel()
    chances = shares @ channel.matrix()
    found = np.array([oracle.unbiased(oracle.tally(row[None]), 1) for row in channel.outputs])
    np.testing.assert_allclose(chances @ found, shares, atol=1e-9)
    moments = (found * chances[:, None]).T @ found - np.outer(shares, shares)
    np.testing.assert_allclose(oracle.covariance(shares, 1), moments, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(oracle.covariance(shares, 4), moments / 4, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(
        oracle.covariance(shares, 1).diagonal(), np.diag(moments), rtol=1e-7, atol=1e-9
    )
