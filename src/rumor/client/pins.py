"""Scopes and pins: which collector a series belongs to, and what a device holds it to.

Anybody can write a contract with any series name and any revision number. A device therefore holds
each collector (the origin it was met at, and the contact it names) to a pin of its own, and counts
the reports made for it alone against its ceiling and its reports per person. The first collector
that was answered under a name has the name itself, further ones the name, their origin and their
contact. A contract from elsewhere that says it revises a pinned one may be of a collector that
moved, or of a stranger: it changes no other pin, and must keep to the old pin's ceiling, sender
anonymity and count of reports. A contract belongs for ever to the scope that it was first answered
in, wherever it is met again: so its reports are counted once, and no two of them are of one turn.

Permanent answers belong to the series' name: the joint loss of reports to all collectors is one
row of the ledger, and the device's own limit counts it.

A series is pinned at its first answer: the revision, its digest, and the most that the whole
series may cost. A later contract of the series is accepted only as a further revision. However it
turns answers into reports, it spends no more than was pinned unless the person agrees. So a
revision can never cost a person anything that they were not told of at the start or asked about
since. Nor can it weaken sender anonymity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from rumor.contract.addresses import origin_of
from rumor.contract.collection import Collection
from rumor.contract.sender_anonymity import SenderAnonymity
from rumor.core.errors import InputError
from rumor.privacy.promise import collection_promise


@dataclass(frozen=True)
class Scope:
    """One collector's series on this device."""

    series: str
    name: str
    """The key of its pin and its draws: the series name for the first collector."""
    pin: Pin | None = None
    """The pin, or None for a series that was never answered."""
    inherits: tuple[str, ...] = ()
    """The names of other scopes whose reports count as its own."""
    met: str = ""
    """The series name, origin and contact, which name the scope until an answer does."""

    @property
    def is_first(self) -> bool:
        """Whether this collector was the first under the series name."""
        return self.name == self.series

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all scopes whose reports count as its own."""
        return (self.name, *self.inherits)

    @property
    def token_owner(self) -> str:
        """The name that tokens are kept under, which becomes the series' at the first answer."""
        return self.met if self.pin is None else self.name

    @property
    def had_tokens(self) -> bool:
        """Whether tokens that an older ledger kept without a scope may be its own."""
        return self.pin is not None and (
            self.pin.sender_anonymity is None or self.pin.sender_anonymity.blind
        )


def find_scope(
    pins: Mapping[str, Pin], collection: Collection, collector: str, answered: str | None = None
) -> Scope:
    """Return the scope of a contract met at the origin `collector` ("" where that is not known).

    `answered` names the scope in which this very contract was answered before, where one is known.
    """
    series, contact = collection.series, collection.contact
    met = f"{series} {collector} {contact}"
    known = [name for name in pins if name == answered]
    known += [name for name, pin in pins.items() if pin.contract == collection.digest]
    known += [name for name, pin in pins.items() if _continues(pin, collection, collector)]
    known += [name for name in pins if name == met]
    for name in known:
        return Scope(series, name, pins[name], pins[name].inherits, met)
    if series not in pins:
        return Scope(series, series, met=met)
    old = [name for name, pin in pins.items() if pin.contract == collection.previous]
    if pins[series].contact is None:
        # A pin without a contact, of an older ledger, may have been for this collector.
        old.append(series)
    for name in old:
        inherits = (name, *pins[name].inherits)
        held = replace(pins[name], collector=collector, contact=contact, inherits=inherits)
        return Scope(series, met, held, inherits, met)
    return Scope(series, met, met=met)


def _continues(pin: Pin, collection: Collection, collector: str) -> bool:
    """Return whether a contract comes from the collector that `pin` is of."""
    if pin.contact is None or pin.collector is None:  # a ledger of an older version
        return collection.previous == pin.contract
    # An older ledger may have kept the origin as it was typed.
    elsewhere = origin_of(pin.collector) != collector and "" not in (pin.collector, collector)
    follows = collection.contact == pin.contact or collection.previous == pin.contract
    return follows and not elsewhere


@dataclass(frozen=True)
class Pin:
    """The terms that a device holds a collector's series to."""

    revision: int
    contract: str
    """The digest of the newest contract that was answered."""
    ceiling: float
    agreed: str
    """The digest of the contract with which the person agreed to the ceiling."""
    sender_anonymity: SenderAnonymity | None = None
    """The sender anonymity that was promised; None in a ledger that did not keep it."""
    collector: str | None = None
    """The origin of the collector (see `follow`); empty if the device was not told."""
    contact: str | None = None
    """The contact that the contract names; None in a ledger that did not keep it."""
    inherits: tuple[str, ...] = ()
    """Names of other scopes whose reports count as this collector's."""

    def follow(self, collection: Collection, collector: str = "") -> Pin:
        """Return the pin once `collection` is answered; refuse all but a further revision."""
        series, revision = collection.series, collection.revision
        now = replace(
            self,
            sender_anonymity=collection.sender_anonymity,
            collector=self.collector or collector,
            contact=collection.contact,
        )
        if collection.digest == self.contract:
            # The very contract at another address is of a collector that moved, or a copy: its
            # revisions there are held to this pin, whichever were missed. A stranger with a copy
            # gains nothing by that: what it serves next must follow the rules below as well, and
            # fit into the ceiling, while a revision from the old address that names this contract
            # goes on under the same pin (rumor.client.pins).
            return replace(now, collector=collector or self.collector)
        if revision == self.revision:
            raise InputError(
                f"a series must have one contract of each revision; {series!r} had another one of "
                f"revision {revision} when it was answered last"
            )
        if revision < self.revision:
            raise InputError(
                f"a device must not go back to an older contract; {series!r} was answered in "
                f"revision {self.revision}, and this is revision {revision}"
            )
        if revision == self.revision + 1 and collection.previous != self.contract:
            raise InputError(
                f"a revision must name the contract it revises; revision {revision} of {series!r} "
                f"names another one than this device answered"
            )
        # An older ledger kept no sender anonymity; it has answered no contract with groups.
        held = self.sender_anonymity or SenderAnonymity(blind=False)
        held.check_not_weaker(collection.sender_anonymity, series)
        # A smaller limit of a revision holds from now on.
        ceiling = min(self.ceiling, collection.series_epsilon or self.ceiling)
        return replace(now, revision=revision, contract=collection.digest, ceiling=ceiling)


@dataclass(frozen=True)
class CeilingIncrease:
    """A request to the person: may this series cost more than they agreed to so far?"""

    collection: Collection
    spent: float
    """The loss so far."""
    before: float
    """The largest loss that the person has agreed to."""
    after: float
    """The largest loss from now on, if they agree."""

    def in_words(self) -> str:
        """Return the request as a question in plain words."""
        joined = collection_promise(self.collection).linking_in_words()
        return (
            f"{self.collection.name!r} was revised. When you first answered, it could cost you at "
            f"most epsilon {self.before:.4g} in all; you have spent {self.spent:.4g} of it. The "
            f"revision may cost you up to epsilon {self.after:.4g} in all. "
            f"{'' if joined is None else joined + ' '}Is that all right?"
        )


Consent = Callable[[CeilingIncrease], bool]
