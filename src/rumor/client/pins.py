"""What a device holds a collector to: the contract it met first, and what that may cost.

A series is pinned at its first answer: the revision, its digest, and the most that the whole
series may cost. A later contract of the series is taken only as what it says it is, a further
revision, and however it turns answers into reports, it spends no more than was pinned unless
the person agrees to more. So a revision can never cost a person anything that they were not
told of at the start or asked about since. Nor does it take away from what hides whose
a report is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from rumor.contract.collection import Collection
from rumor.contract.way import Way
from rumor.core.errors import InputError
from rumor.privacy.promise import collection_promise


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
    """Under which other names reports count as this collector's (see rumor.client.scopes)."""

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
            # goes on under the same pin (rumor.client.scopes).
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
