"""Connections that wait for their sender: few from one address, none for long.

A connection that is idle, or sends its request slowly, or does not read its answer, costs its
sender nothing and everybody else a place. Such connections are counted by address, in memory and
only while they last. When places run short, one that waits between two requests (or for its
answer to be read) is cut first, then one whose request has not arrived whole: each time the one
that has waited longest at the address with the most. A connection whose request is being
answered is never cut.
"""

from __future__ import annotations

import ipaddress
from typing import Protocol


class Connection(Protocol):
    """The interface of a connection that can be cut off."""

    def cut_off(self) -> None:
        """End it at once."""
        ...


class _Queue:
    """Connections by address, in the order in which they began to wait."""

    def __init__(self) -> None:
        # Dictionaries keep the order in which connections came.
        self._by_address: dict[str, dict[Connection, None]] = {}
        self._addresses: dict[Connection, str] = {}

    def __len__(self) -> int:
        return len(self._addresses)

    def __contains__(self, connection: Connection) -> bool:
        return connection in self._addresses

    def add(self, connection: Connection, address: str) -> None:
        """Let `connection` wait behind the others of `address`."""
        self._addresses[connection] = address
        self._by_address.setdefault(address, {})[connection] = None

    def remove(self, connection: Connection) -> None:
        """Forget `connection`, and its address with the last connection from there."""
        address = self._addresses.pop(connection, None)
        if address is not None:
            del self._by_address[address][connection]
            if not self._by_address[address]:
                del self._by_address[address]

    def count(self, address: str) -> int:
        """Return how many connections of `address` wait."""
        return len(self._by_address.get(address, ()))

    def longest(self, address: str) -> Connection:
        """Return the connection of `address` that has waited longest."""
        return next(iter(self._by_address[address]))

    def fullest(self) -> str:
        """Return the address with the most connections; of several, the one that came first."""
        return max(self._by_address, key=self.count)


class WaitingRoom:
    """The connections that wait: `places` for all together, `most_of_one` unfinished requests."""

    def __init__(self, places: int, most_of_one: int) -> None:
        self._places, self._most_of_one = places, most_of_one
        self._idle, self._unfinished = _Queue(), _Queue()

    def enter(self, connection: Connection, address: str) -> None:
        """Let `connection` wait for the rest of a request from `address`."""
        if connection in self._unfinished:
            return
        self._idle.remove(connection)
        self._unfinished.add(connection, address)
        if self._unfinished.count(address) > self._most_of_one:
            self._cut_off(self._unfinished.longest(address))

    def rest(self, connection: Connection, address: str) -> None:
        """Let `connection` wait for its answer to be read, or for the next request."""
        if connection not in self._idle and connection not in self._unfinished:
            self._idle.add(connection, address)

    def leave(self, connection: Connection) -> None:
        """Forget `connection`: its request has arrived whole, or it is gone."""
        self._idle.remove(connection)
        self._unfinished.remove(connection)

    def make_room(self, taken: int) -> None:
        """Cut connections off until at most `places` of those `taken` are left, or one waits."""
        while taken > self._places and len(self._idle) + len(self._unfinished) > 1:
            queue = self._idle if self._idle else self._unfinished
            self._cut_off(queue.longest(queue.fullest()))
            taken -= 1

    def _cut_off(self, connection: Connection) -> None:
        self.leave(connection)
        connection.cut_off()


def sender(host: str) -> str:
    """Return the address that `host` is counted under: its IPv4 address or its IPv6 network."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)
