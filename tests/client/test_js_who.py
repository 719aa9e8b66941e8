"""What the answer page says of chance is what the mechanisms do, in exact numbers."""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any

import pytest

from rumor.mechanisms import REGISTRY, Mechanism
from tests.javascript import node
from tests.needs import needs

needs("node")

CELLS = 3_000
# Whose reports support some answers, all alike, and not the others; words have no such list.
LISTED = {
    "randomized-response",
    "unary",
    "subset-selection",
    "hadamard",
    "projective",
    "local-hashing",
    "basic-rappor",
    "wave",
    "piecewise",
}


def small(kind: type[Mechanism]) -> list[Mechanism]:
    """The examples whose channel is quickly written out."""
    return [one for one in kind.examples() if len(one.inputs()) * one.alphabet <= CELLS]


def described(mechanism: Mechanism) -> dict[str, object]:
    reports = [row.tobytes().hex() for row in mechanism.outputs(mechanism.publics()[0])]
    about = {"name": mechanism.name, **mechanism.parameters()}
    return {"mechanism": about, "values": list(mechanism.inputs()), "reports": list(reports)}


@functools.cache
def told() -> list[tuple[Mechanism, Any]]:
    """What the client says of every small example."""
    examples = [one for kind in REGISTRY for one in small(kind)]
    found = node("who.mjs", given=[described(mechanism) for mechanism in examples])
    return list(zip(examples, found, strict=True))


def test_what_is_said_is_said_of_every_mechanism_that_can() -> None:
    """And of nothing else; an example more is no line more."""
    listed = {one.name for one, found in told() if found["supported"] is not None}
    assert listed == LISTED
    assert {one.name for one, found in told() if found["supported"] is None}.isdisjoint(LISTED)


def test_who_else_could_have_sent_this_is_the_channel() -> None:
    """Of every report: how often each value sends it, against every other value; and the coins."""
    for mechanism, found in told():
        if found["supported"] is None:
            continue
        above, below = (int(text) for text in found["odds"])
        channel = mechanism.channel().probabilities
        own = Fraction(0)
        for place, row in enumerate(found["supported"]):
            chances = [chance[place] for chance in channel]
            weights = [above if supported else below for supported in row]
            first = chances[0] / weights[0]
            assert chances == [first * weight for weight in weights], (mechanism, place)
            own += chances[0] if row[0] else 0
        # Doubles for people to read: rounding alone.
        assert found["coins"]["own"] == pytest.approx(float(own), rel=1e-12)


def test_the_coins_of_other_answers_are_the_channels() -> None:
    """Where a report has a bit for each answer, or tells one of them."""
    seen = set()
    for mechanism, found in told():
        if (found["coins"] or {}).get("of") not in {"bit", "set", "answer"}:
            continue
        chances = mechanism.channel().probabilities[0]
        other = sum(p for p, row in zip(chances, found["supported"], strict=True) if row[1])
        assert found["coins"]["other"] == pytest.approx(float(other), rel=1e-12)
        seen.add(mechanism.name)
    assert seen == {"unary", "basic-rappor", "subset-selection", "randomized-response"}
