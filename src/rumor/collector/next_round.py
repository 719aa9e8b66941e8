"""PrivKVM's rounds in a store: each round is a revision that publishes what the last one found.

Advancing makes the next round's contract from the counts so far and registers it; running
collectors then serve it, and devices that fetch the contract answer the new round. An
estimate joins the rounds by the parents that their contracts name.
"""

from __future__ import annotations

from rumor.collector.store.base import Store, StoredCollection
from rumor.core.errors import InputError
from rumor.core.types import Days
from rumor.kinds import KINDS
from rumor.mechanisms.keyvalue import KeyValueMechanism
from rumor.mechanisms.summary import Summary


def advance(store: Store, digest: str) -> StoredCollection:
    """Publish the means of a round and open the next one."""
    from rumor.privacy.rounds import next_round

    entry = store.find(digest)
    if not entry.current:
        raise InputError(
            f"only the newest round of a series can be advanced; {entry.collection.digest[:16]}... "
            f"has been already"
        )
    question = entry.collection.question()
    if question.mechanism.rounds == 1:
        raise InputError(f"only PrivKVM has rounds; got {question.mechanism.name!r}")
    store.summarize()
    summary = store.summary(entry, question.id)
    if summary.reports == 0:
        raise InputError("a round needs at least one report to be advanced; this one has none")
    found = KINDS[question.kind].estimate_round(question.mechanism, summary)
    return store.register(next_round(entry.collection, found), revise=True)


def chain(
    store: Store, entry: StoredCollection, question: str, window: Days = (None, None)
) -> list[Summary] | None:
    """Return the summaries of all rounds up to this one, or None without earlier rounds.

    The window is about this round; those before it, on other days, count whole.
    """
    mechanism = entry.collection.question(question).mechanism
    if mechanism.round == 1:
        return None
    known = {other.collection.digest: other for other in store.collections()}
    rounds = [entry]
    while (parent := _parent(rounds[0], question)) is not None:
        if parent not in known:
            raise InputError(
                f"the rounds before must be in the store; {parent[:16]}... is not there"
            )
        rounds.insert(0, known[parent])
    before = [store.summary(each, question) for each in rounds[:-1]]
    return [*before, store.summary(entry, question, window)]


def _parent(entry: StoredCollection, question: str) -> str | None:
    mechanism = entry.collection.question(question).mechanism
    return mechanism.parent if isinstance(mechanism, KeyValueMechanism) else None
