"""The issuer's side in SQL: who is invited, and what was signed for whom.

Of a signed message a hash is kept, and no signature: asked again for the same, the issuer makes
the same one again. Another message for the same number is another token, and is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from rumor.collector.store.admission import NameList
from rumor.collector.store.base import BlindedToken
from rumor.collector.store.database import Database
from rumor.collector.store.tables import Run

_INVITED = NameList("invited", "person")


def invite(database: Database, series: str, people: Sequence[bytes]) -> None:
    """Let these people enrol."""
    _INVITED.add(database, series, people)


def invited(database: Database, series: str) -> int:
    """Return how many people may enrol."""
    return _INVITED.count(database, series)


class _Against(Exception):  # noqa: N818 (an answer, not a mistake)
    """Other messages were signed before for some numbers, so the transaction is rolled back."""

    def __init__(self, indices: tuple[int, ...]) -> None:
        super().__init__()
        self.indices = indices


def issue(
    database: Database, series: str, person: bytes, wanted: Sequence[BlindedToken]
) -> tuple[int, ...] | None:
    """Note that these are signed for a person: all of them, or none and which stand against it.

    None where the person is not invited. Durable before anything is signed: a process that dies
    in between has signed nothing that it would not sign again.
    """
    try:
        with database.writing() as run:
            if not run("SELECT 1 FROM invited WHERE (person, series) = (?, ?)", person, series):
                return None
            _note(run, person, wanted)
    except _Against as found:
        return found.indices
    return ()


def _note(run: Run, person: bytes, wanted: Sequence[BlindedToken]) -> None:
    # In the order of their keys, so that nobody waits for another in a circle.
    against = []
    for i in sorted(range(len(wanted)), key=lambda i: (wanted[i].key, wanted[i].number)):
        one = wanted[i]
        place = (person, one.key, one.number)
        run(
            "INSERT INTO issued (person, key, number, message) VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            *(*place, one.name),
        )
        kept = run("SELECT message FROM issued WHERE (person, key, number) = (?, ?, ?)", *place)
        if [bytes(name) for (name,) in kept] != [one.name]:
            against.append(i)
    if against:
        raise _Against(tuple(sorted(against)))
