"""Rounds of PrivKVM: each is a collection that names its parent, its round and the means.

The first round is an ordinary collection. `next_round` makes the one that follows from what
the round before it found: its contract holds the published means (as the made-up values of
people who do not hold a key) and the digest of its parent, so that everyone can follow the
chain back to the first, and a client's ledger can add up what all rounds cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from rumor.contract.collection import Collection
from rumor.core.errors import InputError, format_value
from rumor.core.types import Vector
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.keyvalue import KeyValueMechanism
from rumor.privacy.loss import series_ceiling


class RoundEstimate(Protocol):
    """An estimate of one round, whose means the next one publishes."""

    @property
    def mean(self) -> Vector:
        """The mean of each key."""
        ...


def next_round(
    collection: Collection, found: RoundEstimate, *, question: str | None = None
) -> Collection:
    """Return the collection of the next round, given the estimate `found` in this one."""
    asked = collection.question(question)
    mechanism = require_rounds(asked.mechanism)
    follows = replace(asked, mechanism=mechanism.next(found.mean, parent=collection.digest))
    return replace(
        collection,
        questions=(follows,),
        revision=collection.revision + 1,
        previous=collection.digest,
        # The first contract promises the loss of all rounds together.
        series_epsilon=series_ceiling(collection),
    )


def require_rounds(mechanism: Mechanism) -> KeyValueMechanism:
    """Refuse a mechanism without rounds, and return any other."""
    if mechanism.rounds == 1:
        raise InputError(f"only PrivKVM has rounds; got {mechanism.name!r}")
    assert isinstance(mechanism, KeyValueMechanism)
    return mechanism


def checked_rounds(
    collections: Sequence[Collection], question: str | None = None
) -> list[KeyValueMechanism]:
    """Return the mechanisms of rounds 1, 2, ... in order, each the child of the one before."""
    rounds: list[KeyValueMechanism] = []
    for place, collection in enumerate(collections):
        mechanism = collection.question(question).mechanism
        if mechanism.rounds == 1 or mechanism.round != place + 1:
            got = mechanism.name if mechanism.rounds == 1 else mechanism.round
            raise InputError(
                f"PrivKVM rounds must be given once each, in order from 1; "
                f"got {format_value(got)} in place {place + 1}"
            )
        following = require_rounds(mechanism)
        if place and following.parent != collections[place - 1].digest:
            raise InputError(
                f"round {place + 1} must name the contract of round {place} as its parent "
                f"({collections[place - 1].digest[:16]}...); got {str(following.parent)[:16]}..."
            )
        rounds.append(following)
    return rounds
