"""The laws, over every registered mechanism and each of its examples."""

from __future__ import annotations

import pytest

from rumor.mechanisms import BY_NAME, REGISTRY, FrequencyOracle, Mechanism
from rumor.privacy.audit.enumeration import TooManyBranchesError
from tests.laws.laws import LAWS, Law, law_draw_is_the_channel
from tests.laws.oracle_laws import ORACLE_LAWS, OracleLaw, law_epsilon_is_a_ceiling

EXAMPLES = [
    pytest.param(example, id=f"{kind.name}-{index}")
    for kind in REGISTRY
    for index, example in enumerate(kind.examples())
]
ORACLES = [p for p in EXAMPLES if isinstance(p.values[0], FrequencyOracle)]
KINDS = [pytest.param(kind, id=kind.name) for kind in REGISTRY]
FROM_EPSILON = [
    pytest.param(kind, id=kind.name)
    for kind in REGISTRY
    if issubclass(kind, FrequencyOracle) and kind.FROM_EPSILON
]


@pytest.mark.parametrize("mechanism", EXAMPLES)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_mechanism(law: Law, mechanism: Mechanism) -> None:
    law(mechanism)


@pytest.mark.parametrize("oracle", ORACLES)
@pytest.mark.parametrize("law", ORACLE_LAWS, ids=lambda law: law.__name__)
def test_oracle(law: OracleLaw, oracle: FrequencyOracle) -> None:
    law(oracle)


@pytest.mark.parametrize("kind", KINDS)
def test_draw_is_the_channel(kind: type[Mechanism]) -> None:
    """Examples whose tree is too large are left out, but two of each mechanism are walked."""
    walked = 0
    for mechanism in kind.examples():
        try:
            law_draw_is_the_channel(mechanism)
            walked += 1
        except TooManyBranchesError:
            continue
    assert walked >= 2, f"only {walked} examples of {kind.name} are small enough to enumerate"


@pytest.mark.parametrize("kind", FROM_EPSILON)
def test_epsilon_is_a_ceiling(kind: type[FrequencyOracle]) -> None:
    law_epsilon_is_a_ceiling(kind)


def test_registry_names_are_distinct() -> None:
    assert len(BY_NAME) == len(REGISTRY)
    assert all(BY_NAME[kind.name] is kind for kind in REGISTRY)
