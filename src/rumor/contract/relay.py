"""The relay of a collection: it forwards reports, so that the collector sees no sender.

Reports that go through a relay are sealed for the collector's gateway, whose public key the
contract holds: everybody who has the digest seals for the same key. The relay keeps envelopes of
one question until there are `crowd` of them, and releases none that is older than `days` days.

Where a person may send several reports, `turn_hours` keeps them apart: a turn is a public number,
the UTC hours since 1970 divided by `turn_hours`. A device sends one report per question and turn,
a batch holds one turn, and relay and gateway take the current turn and the one before it. Such an
envelope is dropped when the turn after its own ends, instead of after `days` days.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass

from rumor.contract.addresses import checked_url, origin_of
from rumor.core.canonical import Json
from rumor.core.checks import checked_size, exact_keys
from rumor.core.errors import InputError, format_value

_KEYS = ("url", "key", "crowd", "days")
_UNLESS_USUAL = {"turn_hours": None}
_MAX_CROWD, _MAX_DAYS, _MAX_TURN_HOURS = 10**9, 3_650, 8_760
_HOUR = 3_600  # seconds
DAYS_TO_DELIVER = 7
"""The days beyond `days` for which a relay without turns keeps an undelivered batch."""
# A margin for differing clocks of relay and collector, and for the rest of a day.
_SPARE_DAYS = 2
_KEY = re.compile("04[0-9a-f]{128}")


def turn_at(time: float, turn_hours: int) -> int:
    """Return the turn of `turn_hours` hours that `time` lies in, in seconds since 1970 UTC."""
    return int(time // (_HOUR * turn_hours))


@dataclass(frozen=True)
class Relay:
    """A relay's address, the key that envelopes are sealed for, and the size of its batches."""

    url: str
    key: str
    """The gateway's public key: a point of P-256, uncompressed, in hexadecimal."""
    crowd: int
    """The minimum batch size: the relay forwards no fewer envelopes of one question."""
    days: int
    """The days after which a relay without turns forwards an envelope no more."""
    turn_hours: int | None = None
    """The hours of one turn, in which a device sends at most one report per question."""

    def contract(self) -> dict[str, Json]:
        """Return the relay as plain data, with `turn_hours` only if there are turns."""
        plain = asdict(self)
        if self.turn_hours is None:
            del plain["turn_hours"]
        return plain

    def turn_at(self, time: float) -> int | None:
        """Return the turn at `time`, in seconds since 1970 UTC; None without turns."""
        return None if self.turn_hours is None else turn_at(time, self.turn_hours)

    @property
    def days_under_way(self) -> int:
        """The days after which nothing that a relay kept can still reach the collector."""
        return max(self.days, self._days_waiting) + DAYS_TO_DELIVER + _SPARE_DAYS

    @property
    def _days_waiting(self) -> int:
        """The most days an envelope waits for a batch: two turns, or `days` without turns."""
        return self.days if self.turn_hours is None else -(-2 * self.turn_hours // 24)

    @property
    def origin(self) -> str:
        """The origin that a page's policy must allow so that it can send to the relay."""
        return origin_of(self.url)

    def in_words(self) -> str:
        """Say what happens to reports, in a sentence for respondents."""
        days = self._days_waiting
        return (
            f"Reports are sealed and go through {self.origin}, which passes on at least "
            f"{self.crowd:,} to one question at a time and drops what waited {days:,} "
            f"day{'s'[: days > 1]} for as many{self._turns_in_words()}"
        )

    def _turns_in_words(self) -> str:
        if self.turn_hours is None:
            return ""
        hours = "hour" if self.turn_hours == 1 else f"{self.turn_hours:,} hours"
        return f"; your device sends at most one report per question every {hours}"


def checked_relay(given: object) -> Relay | None:
    """Return the checked relay of a collection, or None."""
    if given is None:
        return None
    table = exact_keys("relay", given, _KEYS, _UNLESS_USUAL)
    url, key = checked_url(table["url"], "a relay"), table["key"]
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise InputError(
            f"key of relay must be the public key that rumor key prints: 130 hexadecimal digits "
            f"that begin with 04; got {format_value(key)}"
        )
    # Imported late: devices load the cryptography of envelopes only for contracts with a relay.
    from rumor.contract.envelope import public_key

    public_key(key)
    hours = table.get("turn_hours")
    return Relay(
        url,
        key,
        checked_size("crowd of relay", table["crowd"], 2, _MAX_CROWD),
        checked_size("days of relay", table["days"], 1, _MAX_DAYS),
        None if hours is None else checked_size("turn_hours of relay", hours, 1, _MAX_TURN_HOURS),
    )
