"""Which collector a series belongs to, and what a device holds that collector to.

Anybody can write a contract with any series name and any revision number. A device therefore holds
each collector (the origin it was met at, and the contact it names) to a pin of its own, and counts
the reports made for it alone against its ceiling and its reports per person. The first collector
that was answered under a name has the name itself, further ones the name, their origin and their
contact. A contract from elsewhere that says it revises a pinned one may be of a collector that
moved, or of a stranger: it moves no other pin, and is held to the old one's ceiling, way and count.
A contract belongs for ever to the scope that it was first answered in, wherever it is met again:
so its reports are counted once, and no two of them are of one turn.

Permanent answers stay those of the name: what reports to all collectors cost together is one row
of the ledger, and the device's own limit counts it.

A series is pinned at its first answer: the revision, its digest, and the most that the whole
series may cost. A later contract of the series is taken only as what it says it is, a further
revision, and however it turns answers into reports, it spends no more than was pinned unless
the person agrees to more. So a revision can never cost a person anything that they were not
told of at the start or asked about since. Nor does it take away from what hides whose
a report is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from rumor.contract.addresses import origin_of
from rumor.contract.collection import Collection
from rumor.contract.way import Way
from rumor.core.errors import InputError
from rumor.privacy.promise import collection_promise


@dataclass(frozen=True)
class Scope:
    """One collector's series on this device."""

    series: str
    name: str
    """What its pin and its draws are kept under: the series name for the first collector."""
    pin: Pin | None = None
    """What it is held to; None where nothing is known of it."""
    inherits: tuple[str, ...] = ()
    """The names of other scopes whose reports count as its own."""
    met: str = ""
    """The series name, the origin and the contact: its name while no answer has given it one."""

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
        """The name that tokens are kept under: before the first answer, nobody has the series'."""
        return self.met if self.pin is None else self.name

    @property
    def had_tokens(self) -> bool:
        """Whether tokens that an older ledger kept for nobody in particular may be its own."""
        return self.pin is not None and (self.pin.way is None or self.pin.way.blind)


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
        # What an older ledger kept for nobody in particular may have been for this collector.
        old.append(series)
    for name in old:
        inherits = (name, *pins[name].inherits)
        held = replace(pins[name], collector=collector, contact=contact, inherits=inherits)
        return Scope(series, met, held, inherits, met)
    return Scope(series, met, met=met)


def _continues(pin: Pin, collection: Collection, collector: str) -> bool:
    """Whether a contract is from whom the pin is of; what it then says is another matter."""
    if pin.contact is None or pin.collector is None:  # in a ledger from before this was kept
        return collection.previous == pin.contract
    # An older ledger may have kept the origin as it was typed.
    elsewhere = origin_of(pin.collector) != collector and "" not in (pin.collector, collector)
    follows = collection.contact == pin.contact or collection.previous == pin.contract
    return follows and not elsewhere


@dataclass(frozen=True)
class Pin:
    """What a series is held to."""

    revision: int
    contract: str
    """The digest of the newest contract that was answered."""
    ceiling: float
    agreed: str
    """The digest of the contract with which the person agreed to the ceiling."""
    way: Way | None = None
    """What hides whose a report is; None in a ledger from before this was kept."""
    collector: str | None = None
    """The origin of the collector (see `follow`); empty where the device was not told."""
    contact: str | None = None
    """Whom the contract names; None, as the collector, in a ledger from before this was kept."""
    inherits: tuple[str, ...] = ()
    """Under which other names reports count as this collector's (see rumor.client.pins)."""

    def follow(self, collection: Collection, collector: str = "") -> Pin:
        """The pin once this contract is answered; refused where it is no further revision."""
        series, revision = collection.series, collection.revision
        now = replace(
            self,
            way=collection.way,
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
        if self.way is not None:
            self.way.check_kept(collection.way, series)
        # What a revision promises to be the most holds, where that is less.
        ceiling = min(self.ceiling, collection.series_epsilon or self.ceiling)
        return replace(now, revision=revision, contract=collection.digest, ceiling=ceiling)


@dataclass(frozen=True)
class Change:
    """What a person is asked: may this series cost more than they agreed to so far?"""

    collection: Collection
    spent: float
    """What it has cost them so far."""
    before: float
    """What they agreed that it may cost at most."""
    after: float
    """What it may cost at most from now on, if they agree."""

    def in_words(self) -> str:
        """The question, in plain words."""
        joined = collection_promise(self.collection).joined()
        return (
            f"{self.collection.name!r} was revised. When you first answered, it could cost you at "
            f"most epsilon {self.before:.4g} in all; you have spent {self.spent:.4g} of it. The "
            f"revision may cost you up to epsilon {self.after:.4g} in all. "
            f"{'' if joined is None else joined + ' '}Is that all right?"
        )


Consent = Callable[[Change], bool]
