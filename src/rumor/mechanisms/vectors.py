"""Vectors of a mechanism: everything about it that each port must reproduce, byte for byte.

Reports and permanent answers are drawn from keyed streams (`rumor.core.randomness.Keyed`), so that
whoever has the secret and the contexts of a vector draws them again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rumor.core.errors import InputError
from rumor.core.randomness import Keyed
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.permanent import PermanentAnswers
from rumor.mechanisms.registry import from_description

_TURNS = 4  # reports of each value
_REPORTS = (1, 2, 7, 365)  # numbers of reports whose losses are stated
# Fresh noise that a revision might bring, as thresholds of p and q, and numbers of reports.
_REVISED = ((0, 2**64), (1, 2**64 - 1), (2**62, 3 * 2**62), (2**63, 2**63 + 1))
_TOGETHER = ((1, 1), (2, 3), (7, 10**6))


@dataclass(frozen=True)
class VectorKeys:
    """What the randomness of a mechanism's vectors follows from."""

    secret: bytes
    """The secret of the device."""
    series: str
    question: str
    period: str
    """The period of permanent answers that are kept for a period."""
    context: Sequence[str | int]
    """The context of fresh noise; the places of value and report follow it."""


def mechanism_vector(mechanism: Mechanism, keys: VectorKeys) -> dict[str, object]:
    """Return widths, losses, reports and permanent answers of `mechanism`, drawn by `keys`."""
    permanence, permanent = mechanism.permanence, _permanent(keys)
    reports = []
    for place, value in enumerate(mechanism.edge_values()):
        for turn in range(_TURNS):
            context = (*keys.context, place, turn)
            stream = Keyed(keys.secret, *context)
            answer = permanence.report_memoised(value, permanent=permanent, random=stream)
            reports.append(
                {
                    "value": value,
                    "context": list(context),
                    "report": mechanism.report(value, random=stream).hex(),
                    "answer": answer.hex(),
                }
            )
    counts = [count for count in _REPORTS if _may_report(mechanism, count)]
    return {
        "mechanism": mechanism.describe(),
        "labels": mechanism.labels_in_contract,
        "width": mechanism.width,
        "cell": permanence.memo_digest,
        "losses": {n: mechanism.epsilon_after(n) for n in counts},
        "in_all": {n: mechanism.epsilon_all_rounds(n) for n in counts},
        "permanent": ["rumor permanent answer 2", keys.series, keys.question],
        **(_memoised(mechanism, keys) if permanence.is_memoised else {}),
        "reports": reports,
    }


def _permanent(keys: VectorKeys) -> Keyed:
    return Keyed(keys.secret, "rumor permanent answer 2", keys.series, keys.question)


def _may_report(mechanism: Mechanism, count: int) -> bool:
    """Return whether a person may be asked `count` times."""
    try:
        mechanism.permanence.check_repeats(count)
    except InputError:
        return False
    return True


def _memoised(mechanism: Mechanism, keys: VectorKeys) -> dict[str, object]:
    """Return what a device keeps of permanent answers, and what reports of one cost together."""
    assert isinstance(mechanism, PermanentAnswers)
    answers = []
    for value in mechanism.edge_values():
        own = (keys.series, keys.question, mechanism.memo_digest)
        identity = mechanism.identity(value)
        tag = Keyed(keys.secret, "rumor value tag 2", *own, identity)
        noise = Keyed(keys.secret, "rumor period answer 1", *own, keys.period, identity)
        settled = mechanism.draw_permanent(value, person=_permanent(keys), noise=noise)
        answers.append({"value": value, "tag": tag.digest()[:16].hex(), "period": settled.hex()})
    mixed: list[dict[str, object]] = []
    for low, high in _REVISED if mechanism.FRESH else ():
        fresh: dict[str, object] = {"low": str(low), "high": str(high)}
        other = from_description({**mechanism.describe(), **fresh})
        for before, since in _TOGETHER:
            loss = mechanism.epsilon_composed([(mechanism, before), (other, since)])
            mixed.append({"fresh": fresh, "made": [before, since], "loss": loss})
    return {"period": keys.period, "settled": answers, "mixed": mixed}
