"""The distinguishing game on whole transcripts: n reports of one person's device.

A device that keeps its permanent answers must lose no more over n reports than its model
says. Devices of two values are run through `Permanence.answer`, the code that runs on people's
devices; a transcript is scored by the model's log-likelihood ratio, and by how often each of
its bits was 1. One half of the devices chooses the event, the other half is judged.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rumor.core.randomness import Keyed, RandomSource, System
from rumor.core.types import Progress
from rumor.mechanisms.base import Mechanism
from rumor.privacy.audit.findings import Finding, lower_bound

Floats = NDArray[np.float64]
# Thresholds on a score that are tried, at these quantiles of the transcripts.
_QUANTILES = np.linspace(0.0, 1.0, 41)


def audit_over_time(
    mechanism: Mechanism,
    reports: int,
    *,
    people: int = 4000,
    random: RandomSource | None = None,
    on_progress: Progress | None = None,
) -> Finding:
    """Return a lower bound on the loss of `reports` reports, from `people` devices per value."""
    (first, second), permanence = mechanism.audit.pairs_to_compare()[0], mechanism.permanence
    source = System() if random is None else random
    scores, lanes = [], []
    for number, value in enumerate((first, second)):
        transcripts = np.empty((people, reports, mechanism.width), dtype=np.uint8)
        for person in range(people):
            permanent = Keyed(source.stream().words(4).tobytes(), "audit")
            for turn in range(reports):
                report = permanence.report_memoised(value, permanent=permanent, random=source)
                transcripts[person, turn] = np.frombuffer(report, dtype=np.uint8)
            if on_progress is not None and person % 64 == 0:
                on_progress(number * people + person, 2 * people)
        scores.append(permanence.transcript_log_ratio(transcripts, first, second))
        bits = np.unpackbits(transcripts, axis=2, bitorder="little")
        lanes.append(bits.sum(axis=1, dtype=np.int64))
    claimed = mechanism.epsilon_after(reports)
    bound, event = _best_bound(scores, lanes, reports)
    return Finding(
        f"over {reports} reports",
        bound <= claimed,
        claimed,
        bound,
        f"{2 * people:,} devices of {first!r} and {second!r}; best event: {event}",
    )


def _best_bound(
    scores: list[Floats], lanes: list[NDArray[np.int64]], reports: int
) -> tuple[float, str]:
    """Return the bound of the event that does best on the other half of the devices."""
    one, other = scores
    training = np.concatenate([one[::2], other[::2]])
    # The extreme scores are rare and tell most: look at every one of the ends.
    ends = np.unique(training)
    cuts = np.unique(
        np.concatenate([np.quantile(training, _QUANTILES), ends[:20], ends[-20:]])
    ).tolist()
    best = max(cuts, key=lambda cut: lower_bound(one[::2] >= cut, other[::2] >= cut))
    chosen = lower_bound(one[::2] >= best, other[::2] >= best)
    name, pair = f"the log-likelihood ratio is at least {best:.3g}", (one >= best, other >= best)
    for bit in range(lanes[0].shape[1]):
        for count in (0, reports):
            ours, theirs = (lane[:, bit] == count for lane in lanes)
            bound = lower_bound(ours[::2], theirs[::2])
            if bound > chosen:
                chosen, pair = bound, (ours, theirs)
                name = f"bit {bit} is 1 in {count} of {reports} reports"
    return lower_bound(pair[0][1::2], pair[1][1::2]), name
