"""Choosing a key-value mechanism: what `key_value` and "auto" resolve to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rumor.core.checks import checked_size
from rumor.mechanisms.keyvalue import KeyValueMechanism

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

    The block mechanism, unless a public `cap` on the number of keys that a person holds is known
    and makes item sampling or key sets better: closed-form variances decide.
    """
    # A device draws with one mechanism, and loads no other.
    from rumor.mechanisms.item_sampling import ItemSampling
    from rumor.mechanisms.key_set import USUAL_FILL, KeySet
    from rumor.mechanisms.keyvalue_block import KeyValueBlock

    common: dict[str, Any] = {"keys": keys, "epsilon": epsilon, "low": low, "high": high}
    block = KeyValueBlock(**common, outside=outside)
    if cap is None:
        return block
    common |= {"outside": outside, "over_cap": over_cap}
    common["cap"] = checked_size("cap", cap, 1, block.keys)
    # A set of one key is item sampling with its dummies told apart.
    sets = KeySet(**common)
    capped = [ItemSampling(**common), *([sets] if sets.size > 1 else [])]
    frequency = USUAL_FILL * cap / block.keys
    noise = {m: m.variances(frequency, 0.0, 1.0) for m in (block, *capped)}
    most = _TOLERANCE * float(noise[block][0])
    fitting = [m for m, (share, _) in noise.items() if m is block or float(share) <= most]
    return min(fitting, key=lambda m: float(sum(noise[m])))
