"""Shares of options from a summary, and of pairs of options.

"auto" is empirical Bayes for shares without a fixed sum (rumor.kinds.set.fit), and clipping where
there are few options; "clip" gives the unbiased shares clipped to [0, 1]; "inversion" gives the
unbiased shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rumor.core.checks import checked_method
from rumor.core.types import Vector
from rumor.estimators.data import as_summary
from rumor.estimators.frequency.diagnostics import POWER, TEST_LEVEL
from rumor.kinds.set.fit import clipped, pair_shares, posterior_shares, with_trials
from rumor.kinds.set.result import PairEstimate, SetEstimate
from rumor.mechanisms.poisoning import PoisoningBound
from rumor.mechanisms.sets import SetMechanism, pair_weights
from rumor.mechanisms.summary import Summary
from rumor.mechanisms.support import ItemCounts, Score
from rumor.results.counts import BoundedIntervals, CountIntervals, ExactIntervals
from rumor.results.intervals import NormalIntervals, ScoreIntervals
from rumor.results.kept import FullSlots, true_share_intervals
from rumor.results.smallest_share import RareCount

OPTIONS: Mapping[str, tuple[str, ...]] = {"auto": (), "clip": (), "inversion": ()}
"""The methods, each with the names of its options."""


def estimate(
    mechanism: SetMechanism, data: object, method: str, options: Mapping[str, Any]
) -> SetEstimate:
    """Return the shares from reports or a summary of them."""
    chosen = checked_method(method, options, OPTIONS)
    return estimate_sets(as_summary(mechanism, data), chosen)


def estimate_sets(summary: Summary, method: str) -> SetEstimate:
    """Return the shares of all options by any `method`."""
    mechanism = summary.mechanism
    assert isinstance(mechanism, SetMechanism)
    items, score = share_scores(mechanism, summary)
    told: dict[str, object] = {}
    if method == "auto":
        frequency, told = posterior_shares(items)
    else:
        frequency = clipped(items) if method == "clip" else items.unbiased
    shares = np.clip(frequency, 0.0, 1.0)
    v0, v1, v2 = score.spread["population"]
    plausible = np.clip(items.unbiased, 0.0, 1.0)
    variance = (v0 + v1 * plausible + v2 * plausible**2) / (summary.reports * mechanism.gain**2)
    exact = ExactIntervals(mechanism.items(summary.tally, summary.reports))
    ends = CountIntervals(ScoreIntervals(score, summary.reports), exact)
    slots = _full_slots(mechanism, summary)
    return SetEstimate(
        values=range(mechanism.domain) if mechanism.labels is None else mechanism.labels,
        frequency=frequency,
        unbiased=items.unbiased,
        stderr=np.sqrt(variance),
        reports=summary.reports,
        epsilon=mechanism.epsilon,
        method=method,
        intervals=true_share_intervals(ends, slots),
        exact=true_share_intervals(exact, slots),
        diagnostics={**_facts(mechanism, summary, method, float(np.sqrt(variance.max()))), **told},
        rare=RareCount.noisiest(exact.items),
        cap=mechanism.cap,
        kept=mechanism.kept,
        pairs=_pairs(mechanism, summary, shares, slots) if mechanism.pairs else None,
    )


def _full_slots(mechanism: SetMechanism, summary: Summary) -> FullSlots | None:
    """Return the number of full slots, where a cap makes every report cover every option."""
    if mechanism.kept is None:
        return None
    hits = float(summary.tally[: mechanism.domain].sum())
    return FullSlots.of(mechanism.kept, hits, summary.reports, mechanism.miss, mechanism.gain)


def share_scores(mechanism: SetMechanism, summary: Summary) -> tuple[ItemCounts, Score]:
    """Return the counts of options, and their score: binomial out of the reports on each option."""
    items = with_trials(mechanism.items(summary.tally, summary.reports))
    excess = items.counts / items.trials - mechanism.miss
    about = np.maximum(items.trials / summary.reports, 1e-9)
    return items, Score(excess, mechanism.gain, mechanism.spread(about))  # type: ignore[arg-type]


def _facts(
    mechanism: SetMechanism, summary: Summary, method: str, noise: float
) -> dict[str, object]:
    """Return noise level, smallest detectable share, and poisoning bound."""
    from rumor.kinds.planning.planned import smallest_detectable_share

    fewest = float(np.min(mechanism.items(summary.tally, summary.reports).trials))
    fakes = PoisoningBound.for_trials(mechanism, summary.reports, fewest)

    def deviation(f: float) -> float:
        return float(np.sqrt(mechanism.variance(f, summary.reports)))

    return {
        "noise": deviation(0.0),
        "detectable": smallest_detectable_share(deviation, TEST_LEVEL),
        "test_level": TEST_LEVEL,
        "power": POWER,
        "fake_clients": (
            fakes if method == "inversion" else fakes.with_share_shift(noise)
        ).to_dict(),
    }


def _pairs(
    mechanism: SetMechanism, summary: Summary, shares: Vector, slots: FullSlots | None
) -> PairEstimate:
    """Return the estimate of every pair, at most as frequent as the rarer of its two options."""
    counts = mechanism.pair_counts(summary.tally, summary.reports)
    found = pair_shares(counts, summary.reports, mechanism.miss, mechanism.gain)
    first, second = np.triu_indices(mechanism.domain, 1)
    names = range(mechanism.domain) if mechanism.labels is None else mechanism.labels
    members = [(names[i], names[j]) for i, j in zip(first, second, strict=True)]
    stderr = np.sqrt(found.variance)
    normal = NormalIntervals(found.share, stderr, np.sqrt(found.noise))
    weights = pair_weights(mechanism.miss, mechanism.gain, counts.rates)
    within = np.full(stderr.size, min(weights)), np.full(stderr.size, max(weights))
    return PairEstimate(
        values=[f"{one} + {other}" for one, other in members],
        frequency=np.clip(found.share, 0.0, np.minimum(shares[first], shares[second])),
        unbiased=found.share,
        stderr=stderr,
        reports=summary.reports,
        epsilon=mechanism.epsilon,
        method="linear",
        intervals=true_share_intervals(
            BoundedIntervals(normal, counts.trials, within), slots, together=2
        ),
        members=members,
    )
