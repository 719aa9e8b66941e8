"""Whose series it is: a name that two collectors use is two series to a device.

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
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rumor.client.pins import Pin
from rumor.contract.addresses import origin_of
from rumor.contract.collection import Collection


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
