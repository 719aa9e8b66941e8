"""The parts of an audit and their findings.

Three independent parts check that the code delivers the epsilon it claims.

- *Exact*: the loss that follows from the integer thresholds, by the mechanism's model; and
  the model compared with the code, by walking every branch of the reference draw of small siblings
  of the mechanism. It proves the model, not the random number generator.
- *Black box*: a distinguishing game. Reports of two values are sampled; one half of the
  samples chooses the event that tells them apart best, the other half gives a lower bound on
  epsilon that holds with 99 % confidence (Clopper and Pearson). It catches a sampler that
  differs from its model; it cannot prove that none does.
- *Over time*: the distinguishing game on whole transcripts of the longitudinal device.

Any program that writes report bytes can stand in for the sampler, so clients in other
languages are audited the same way.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumor.core.errors import InputError
from rumor.core.randomness import RandomSource, System
from rumor.core.reports import Reports
from rumor.core.types import Progress
from rumor.mechanisms.base import Mechanism
from rumor.privacy.audit.enumeration import TooManyBranchesError, distribution


@dataclass(frozen=True)
class Finding:
    """The result of one part of an audit."""

    part: str
    passed: bool
    claimed: float
    found: float
    detail: str


Sampler = Callable[[object, int], Reports]
CONFIDENCE = 0.99
# Exact and claimed losses are compared as doubles.
_EXACT_TOLERANCE = 1e-12
_BATCH = 1 << 16
# Branches of a draw worth walking here; the laws walk more.
_LEAVES = 1500
# Reports of the pilot that chooses which values to compare.
_PILOT = 1 << 14


class UnlikeItsModelError(Exception):
    """An error for a reference draw that disagrees with the model beside it."""


def audit_exact(mechanism: Mechanism) -> Finding:
    """Check the claimed epsilon against the thresholds, and the model against the code."""
    claimed, worst, walked = mechanism.epsilon, 0.0, 0
    for small in (mechanism, *mechanism.examples()):
        if small.alphabet > _LEAVES:
            continue
        try:
            # Equal descriptions are not equal code: the class is part of the cache key.
            loss = _enumerated_loss(type(small), small)
        except TooManyBranchesError:
            continue
        except UnlikeItsModelError as problem:
            return Finding("exact", False, claimed, math.nan, str(problem))
        walked += 1
        if loss > small.epsilon * (1 + _EXACT_TOLERANCE):
            detail = f"{small!r} loses {loss:.12g} in the code, more than it claims"
            return Finding("exact", False, claimed, loss, detail)
        if small is mechanism:
            worst = loss
    if not walked:
        return Finding("exact", False, claimed, math.nan, "no instance could be enumerated")
    detail = (
        f"the reference draw was walked branch by branch on {walked} instances"
        + (", this one among them" if worst else "")
        + "; its distribution equals the model, and the loss follows from the thresholds"
    )
    return Finding("exact", True, claimed, worst or claimed, detail)


@functools.lru_cache(maxsize=256)
def _enumerated_loss(kind: type[Mechanism], mechanism: Mechanism) -> float:
    """Return the largest log-ratio over reports and pairs of values, from the code's branches."""
    worst = 1.0
    for public in mechanism.publics():
        rows = []
        for value in mechanism.audit.walked_values():
            found = distribution(functools.partial(mechanism.draw, value), public, _LEAVES)
            for report, chance in found.items():
                if chance != mechanism.probability(report, value):
                    raise UnlikeItsModelError(
                        f"{mechanism!r} draws {report!r} of {value!r} unlike its model"
                    )
            rows.append(found)
        for report in {report for row in rows for report in row}:
            chances = [row.get(report, 0) for row in rows]
            if min(chances) == 0:
                return math.inf
            worst = max(worst, float(max(chances) / min(chances)))
    return math.log(worst)


def audit_samples(
    mechanism: Mechanism,
    *,
    samples: int = 1_000_000,
    sampler: Sampler | None = None,
    random: RandomSource | None = None,
    on_progress: Progress | None = None,
) -> Finding:
    """Play the distinguishing game between two values, on the bulk sampler or on `sampler`."""
    source = System() if random is None else random
    draw = sampler or functools.partial(_bulk, mechanism, source)
    first, second = _far_apart(mechanism, draw)
    pair = []
    for number, value in enumerate((first, second)):
        parts = []
        for start in range(0, samples, _BATCH):
            reports = draw(value, min(_BATCH, samples - start))
            mechanism.validate(reports).require(f"reports of {value!r}")
            parts.append(reports)
            if on_progress is not None:
                on_progress(number * samples + start, 2 * samples)
        pair.append(np.concatenate(parts))
    bound, event = distinguish(mechanism, pair[0], pair[1], first, second)
    return Finding(
        "black box",
        bound <= mechanism.epsilon,
        mechanism.epsilon,
        bound,
        f"{2 * samples:,} reports of {first!r} and {second!r}; best event: {event}",
    )


def _bulk(mechanism: Mechanism, source: RandomSource, value: object, count: int) -> Reports:
    return mechanism.privatize(mechanism.audit.repeat(value, count), random=source)


def _far_apart(mechanism: Mechanism, draw: Sampler) -> tuple[object, object]:
    """Return the two values whose reports a pilot tells apart best."""
    pairs = mechanism.audit.pairs_to_compare()
    if len(pairs) == 1:
        return pairs[0]
    pilot: dict[object, Reports] = {
        value: draw(value, _PILOT) for value in dict.fromkeys(v for pair in pairs for v in pair)
    }

    def told_apart(pair: tuple[object, object]) -> float:
        first, second = pair
        return distinguish(mechanism, pilot[first], pilot[second], first, second)[0]

    return max(pairs, key=told_apart)


def distinguish(
    mechanism: Mechanism, one: Reports, other: Reports, first: object, second: object
) -> tuple[float, str]:
    """Return a lower bound on epsilon from reports of two values, and the event behind it.

    The event is chosen on one half of the reports and judged on the other half.
    """
    chosen_on = one[::2], other[::2]
    events = [*_model_events(mechanism, first, second, *chosen_on), *_byte_events(*chosen_on)]
    best = max(
        events, key=lambda event: lower_bound(event.falls(one[::2]), event.falls(other[::2]))
    )
    return lower_bound(best.falls(one[1::2]), best.falls(other[1::2])), best.name


class Event(NamedTuple):
    """An event that may tell two values apart: its name, and the reports that it `falls` on."""

    name: str
    falls: Callable[[Reports], NDArray[np.bool_]]


def _model_events(
    mechanism: Mechanism, first: object, second: object, one: Reports, other: Reports
) -> list[Event]:
    """Return events where the model finds the first value likelier (Neyman and Pearson).

    The highest ratio is read off these reports, once: an event must not move with the reports that
    it is judged on.
    """
    highest = max(
        mechanism.log_likelihood_ratio(part, first, second).max() for part in (one, other)
    )

    def ratio(reports: Reports) -> NDArray[np.float64]:
        return np.asarray(mechanism.log_likelihood_ratio(reports, first, second))

    return [
        Event(
            "The report is as much likelier under the first value as the model allows.",
            lambda reports: ratio(reports) >= highest - 1e-9,
        ),
        Event(
            "The report is likelier under the first value than under the second.",
            lambda reports: ratio(reports) > 1e-9,
        ),
    ]


def _byte_events(one: Reports, other: Reports, most: int = 64) -> list[Event]:
    """Return events of single bits that the data suggest, to find what no model foresees."""
    events: list[Event] = []
    for reports, against in ((one, other), (other, one)):
        ours = _bit_means(reports)
        theirs = _bit_means(against)
        for want in (1, 0):
            gain = np.where(want == 1, ours - theirs, theirs - ours)
            for bit in np.argsort(-gain)[: most // 4].tolist():
                events.append(_bit_event(bit, want))
    return events


def _bit_means(reports: Reports) -> NDArray[np.float64]:
    sample = reports[: 1 << 15]
    return np.asarray(np.unpackbits(sample, axis=1, bitorder="little").mean(axis=0))


def _bit_event(bit: int, want: int) -> Event:
    return Event(
        f"bit {bit} of the report is {want}",
        lambda reports: np.asarray(reports[:, bit // 8] >> (bit % 8) & 1 == want),
    )


def lower_bound(
    first: NDArray[np.bool_], second: NDArray[np.bool_], confidence: float = CONFIDENCE
) -> float:
    """Return a loss below the true one with this `confidence`, from how often an event fell.

    The event and its opposite are tested in both directions, so each of the eight one-sided bounds
    gets an eighth of the error.
    """
    from scipy.special import betaincinv

    error = (1 - confidence) / 8
    best = 0.0
    for a, b in ((first, second), (second, first), (~first, ~second), (~second, ~first)):
        hits, trials = int(a.sum()), a.size
        low = float(betaincinv(hits, trials - hits + 1, error)) if hits else 0.0
        hits, trials = int(b.sum()), b.size
        high = float(betaincinv(hits + 1, trials - hits, 1 - error)) if hits < trials else 1.0
        if low > 0:
            best = max(best, math.log(low / high))
    return best


def external_sampler(
    command: Sequence[str], mechanism: Mechanism, *, seconds: float = 600
) -> Sampler:
    """Return a sampler that runs `command` with a value and a count, and reads its reports.

    Values are words of the command line: a number (or a label, where the number is the label of
    another value), a word, options with bars between them (none: a bar), PART=LABEL or key:number
    pairs with commas between them (nothing: an empty argument).
    """
    import subprocess

    width = mechanism.width

    def sample(value: object, count: int) -> Reports:
        try:
            done = subprocess.run(
                [*command, mechanism.audit.as_argument(value), str(count)],
                capture_output=True,
                timeout=seconds,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise InputError(f"the audited command must run; {problem}") from None
        if done.returncode != 0 or len(done.stdout) != count * width:
            raise InputError(
                f"the audited command must write {count * width:,} bytes ({count:,} reports) and "
                f"exit with 0; got {len(done.stdout):,} bytes and status {done.returncode}"
            )
        return np.frombuffer(done.stdout, dtype=np.uint8).reshape(count, width)

    return sample
