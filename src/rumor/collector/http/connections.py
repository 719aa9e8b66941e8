"""Connections whose request has not arrived whole: few from one address, none for long.

A connection that says nothing, or says it slowly, costs its sender nothing and everybody else
a place. So those are counted by address, in memory and only while they last, and when there
are too many the one that has waited longest is cut off: of the same address when it has more
than its share, of all when places run out. Whoever sends a request at once is never waiting.
"""

from __future__ import annotations

import ipaddress
from typing import Protocol


class Connection(Protocol):
    """What is asked of a connection."""

    def cut_off(self) -> None:
        """End it at once."""
        ...


class WaitingRoom:
    """The connections that wait for the rest of a request, the longest first."""

    def __init__(self, places: int, most_of_one: int) -> None:
        self._places, self._most_of_one = places, most_of_one
        # Dictionaries keep the order in which connections came.
        self._waiting: dict[Connection, str] = {}
        self._by_address: dict[str, dict[Connection, None]] = {}

    def enter(self, connection: Connection, address: str) -> None:
        """A request is expected, or begins."""
        if connection in self._waiting:
            return
        self._waiting[connection] = address
        mine = self._by_address.setdefault(address, {})
        mine[connection] = None
        if len(mine) > self._most_of_one:
            self._cut_off(next(iter(mine)))

    def leave(self, connection: Connection) -> None:
        """The request has arrived whole, or the connection is gone."""
        address = self._waiting.pop(connection, None)
        if address is not None:
            del self._by_address[address][connection]
            if not self._by_address[address]:
                del self._by_address[address]

    def make_room(self, taken: int) -> None:
        """When all places are taken, those who have waited longest give way to the newest."""
        while taken >= self._places and len(self._waiting) > 1:
            self._cut_off(next(iter(self._waiting)))
            taken -= 1

    def _cut_off(self, connection: Connection) -> None:
        self.leave(connection)
        connection.cut_off()


def sender(host: str) -> str:
    """What counts as one address: an IPv4 address, or the network that IPv6 gives a household."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)
