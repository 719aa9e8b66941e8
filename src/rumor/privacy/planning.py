"""Choosing a mechanism: what "auto" in a collection resolves to."""

from __future__ import annotations

from collections.abc import Sequence

from rumor.errors import InputError
from rumor.mechanisms import REGISTRY, FrequencyOracle


def candidates(domain: int | Sequence[str], epsilon: float) -> list[FrequencyOracle]:
    """Every registered oracle that takes this domain at this epsilon."""
    size = domain if isinstance(domain, int) else len(domain)
    return [
        mechanism(domain=domain, epsilon=epsilon)  # type: ignore[call-arg]
        for mechanism in REGISTRY
        if issubclass(mechanism, FrequencyOracle) and size <= mechanism.MAX_DOMAIN
    ]


def choose_oracle(domain: int | Sequence[str], epsilon: float) -> FrequencyOracle:
    """The oracle with the least noise on a value that nobody holds; shorter reports break ties.

    Most values of a large domain are rare, so their noise is what an analyst sees. The
    ratio between mechanisms does not depend on the number of people, so neither does the
    choice.
    """
    oracles = candidates(domain, epsilon)
    if not oracles:
        raise InputError(f"no mechanism takes a domain of this size; got {domain!r}")
    return min(oracles, key=lambda oracle: (float(oracle.variance(0.0, 1)), oracle.width))
