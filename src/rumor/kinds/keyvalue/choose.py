"""Choosing a key-value mechanism: what `key_value` and "auto" resolve to."""

from __future__ import annotations

from collections.abc import Sequence

from rumor.core.checks import checked_size
from rumor.mechanisms.keyvalue import KeyValueMechanism

# People hold about this part of the cap on average, where the cap is rarely exceeded.
_USUAL_FILL = 0.65
# How much worse the shares may be when shares and means together are better.
_TOLERANCE = 1.1


def key_value(
    keys: int | Sequence[str],
    epsilon: float,
    cap: int | None = None,
    *,
    low: float = -1.0,
    high: float = 1.0,
    outside: str = "refuse",
    over_cap: str = "refuse",
) -> KeyValueMechanism:
    """The best mechanism for people who hold some of these keys, each with a number.

    The block mechanism, unless a public `cap` on the number of keys that a person holds is
    known and makes item sampling better: the closed-form variances of both decide.
    """
    # A device draws with one mechanism, and loads no other.
    from rumor.mechanisms.item_sampling import ItemSampling
    from rumor.mechanisms.keyvalue_block import KeyValueBlock

    block = KeyValueBlock(keys=keys, epsilon=epsilon, low=low, high=high, outside=outside)
    if cap is None:
        return block
    sampling = ItemSampling(
        keys=keys,
        epsilon=epsilon,
        cap=checked_size("cap", cap, 1, block.keys),
        low=low,
        high=high,
        outside=outside,
        over_cap=over_cap,
    )
    frequency = _USUAL_FILL * cap / block.keys
    ours, theirs = (m.variances(frequency, 0.0, 1.0) for m in (block, sampling))
    fewer = float(sum(theirs)) < float(sum(ours))
    return sampling if fewer and float(theirs[0]) <= _TOLERANCE * float(ours[0]) else block
