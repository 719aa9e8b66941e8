"""Batches and their tallies: what holds of them for every mechanism, however they lie in memory."""

from __future__ import annotations

import numpy as np
import pytest

from rumor.core import loops
from rumor.core.errors import InputError
from rumor.core.randomness import Seeded
from rumor.core.reports import Reports
from rumor.mechanisms import FrequencyOracle, Mechanism
from rumor.mechanisms.summary import Summary
from tests.laws.test_laws import EXAMPLES, KINDS


def some(mechanism: Mechanism, count: int, seed: int = 1) -> Reports:
    """Reports of people who hold all values in turn."""
    values = mechanism.inputs()
    draws = np.random.default_rng(seed).integers(len(values), size=count)
    return np.stack(
        [
            np.frombuffer(mechanism.report(values[i], random=Seeded(seed + n)), np.uint8)
            for n, i in enumerate(draws.tolist())
        ]
    )


@pytest.mark.parametrize("mechanism", EXAMPLES)
def test_a_batch_may_lie_in_memory_as_it_likes(
    mechanism: Mechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every second row of a batch, or columns first: the same as rows end to end."""
    monkeypatch.setattr(loops, "SMALL_BYTES", -1)  # compiled, where there is a compiler
    batch = np.tile(some(mechanism, 24), (6, 1))
    weights = np.random.default_rng(2).random(len(batch))
    for other in (np.repeat(batch, 2, axis=0)[::2], np.asfortranarray(batch), batch[::-1][::-1]):
        assert (other == batch).all()
        assert mechanism.validate(other).all
        assert mechanism.tally(other).tolist() == mechanism.tally(batch).tolist()
        if isinstance(mechanism, FrequencyOracle):
            values = np.random.default_rng(3).random(mechanism.domain)
            once = (mechanism.forward(batch, values), mechanism.adjoint(batch, weights))
            again = (mechanism.forward(other, values), mechanism.adjoint(other, weights))
            for one, two in zip(once, again, strict=True):
                np.testing.assert_allclose(one, two, rtol=1e-12)


@pytest.mark.parametrize("mechanism", EXAMPLES)
def test_a_tally_is_consistent_with_its_number_of_reports(mechanism: Mechanism) -> None:
    for count in (0, 1, 2, 7, 40):
        batch = some(mechanism, count, seed=count) if count else some(mechanism, 1)[:0]
        tally = mechanism.tally(batch)
        assert mechanism.consistent(tally, count)
        each = mechanism.counters_per_report
        if each is not None:
            assert tally.sum() == each * count
            assert not mechanism.consistent(tally, count + 1)
            assert not mechanism.consistent(2 * tally + (count == 0), count)
        if count and tally.max() == count:
            assert not mechanism.consistent(tally, count - 1)
        assert not mechanism.consistent(tally - tally.min() - 1, count)


@pytest.mark.parametrize("kind", KINDS)
def test_what_every_report_adds_is_declared(kind: type[Mechanism]) -> None:
    """Where all reports add as many counters, the mechanism says so: then it is checked."""
    for mechanism in kind.examples():
        added = {int(mechanism.tally(row[None]).sum()) for row in some(mechanism, 200)}
        if len(added) == 1 and mechanism.counters_per_report is None:
            # Chance, or a public part that the reports share: all reports must agree to count.
            assert mechanism.alphabet > 200 or _spread(mechanism), mechanism


def _spread(mechanism: Mechanism) -> bool:
    outputs = [row for public in mechanism.publics() for row in mechanism.outputs(public)]
    return len({int(mechanism.tally(row[None]).sum()) for row in outputs}) > 1


@pytest.mark.parametrize("mechanism", EXAMPLES)
def test_a_summary_that_contradicts_itself_is_refused(mechanism: Mechanism) -> None:
    summary = Summary.empty(mechanism).update(some(mechanism, 30))
    assert Summary.from_bytes(summary.to_bytes()) == summary
    for reports in (29, 31, 15, 60):
        wrong = Summary(mechanism, reports, summary.tally).to_bytes()
        if mechanism.consistent(summary.tally, reports):
            assert Summary.from_bytes(wrong).reports == reports
            continue
        with pytest.raises(InputError, match="must be those of its number of reports"):
            Summary.from_bytes(wrong)
