"""Rounds of PrivKVM: each is a collection that names its parent, its round and the means.

The first round is an ordinary collection. `next_round` makes the one that follows from what
the round before it found: its contract holds the published means (as the made-up values of
people who do not hold a key) and the digest of its parent, so that everyone can follow the
chain back to the first, and a client's ledger can add up what all rounds cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rumor.contract.collection import Collection
from rumor.core.errors import InputError, shown
from rumor.kinds.keyvalue.result import KeyValueEstimate
from rumor.mechanisms.base import Mechanism
from rumor.privacy.loss import series_ceiling


def next_round(
    collection: Collection, found: KeyValueEstimate, *, question: str | None = None
) -> Collection:
    """The collection of the next round, given what this one found (its means are published)."""
    asked = collection.question(question)
    mechanism = asked.mechanism
    require_rounds(mechanism)
    follows = replace(asked, mechanism=mechanism.next(found.mean, parent=collection.digest))
    return replace(
        collection,
        questions=(follows,),
        revision=collection.revision + 1,
        previous=collection.digest,
        # All rounds are promised together, by the first.
        series_epsilon=series_ceiling(collection),
    )


def require_rounds(mechanism: Mechanism) -> None:
    """Refuse a mechanism that is asked once and for all."""
    if mechanism.rounds == 1:
        raise InputError(f"only PrivKVM has rounds; got {mechanism.name!r}")


def checked_rounds(
    collections: Sequence[Collection], question: str | None = None
) -> list[Mechanism]:
    """The mechanisms of rounds 1, 2, ... in this order, each the child of the one before."""
    rounds: list[Mechanism] = []
    for place, collection in enumerate(collections):
        mechanism = collection.question(question).mechanism
        if mechanism.rounds == 1 or mechanism.round != place + 1:
            got = mechanism.name if mechanism.rounds == 1 else mechanism.round
            raise InputError(
                f"PrivKVM rounds must be given once each, in order from 1; "
                f"got {shown(got)} in place {place + 1}"
            )
        if place and mechanism.parent != collections[place - 1].digest:
            raise InputError(
                f"round {place + 1} must name the contract of round {place} as its parent "
                f"({collections[place - 1].digest[:16]}...); got {str(mechanism.parent)[:16]}..."
            )
        rounds.append(mechanism)
    return rounds
