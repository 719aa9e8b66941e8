"""The tokens of a device: made here, signed blindly by the issuer, each spent on one report.

A token is written down before it is sent to be signed, so that a device that dies or is cut off
asks for the same one again. What blinded it is forgotten once it is signed: from then on nobody,
not even whoever takes the device, can show which of the issuer's signatures it was.

A token is of the collector's series that it was fetched for (rumor.client.pins). Keys and the
address of an issuer are public: without that, whoever copies them would be given the tokens.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from rumor.client.pins import Scope
from rumor.client.tables import LedgerTable
from rumor.contract.collection import Collection
from rumor.contract.issuing import key_name, new_opening, token_id, token_message
from rumor.core.blind_rsa import BlindingError, PublicKey, blind, finalize
from rumor.core.errors import InputError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS token (
    person BLOB NOT NULL, key BLOB NOT NULL, number INTEGER NOT NULL, opening BLOB NOT NULL,
    blinded BLOB, inverse BLOB, signature BLOB, report BLOB,
    PRIMARY KEY (person, key, number)
) WITHOUT ROWID
"""
# By token, the scope that it was fetched for. Tokens of older ledgers have no row here: they are
# of the first collector that was answered under the name of their series.
_OWNERS = """
CREATE TABLE IF NOT EXISTS token_scope (
    person BLOB NOT NULL, key BLOB NOT NULL, number INTEGER NOT NULL, scope TEXT NOT NULL,
    PRIMARY KEY (person, key, number)
) WITHOUT ROWID
"""


class NoTokenError(InputError):
    """No token is left that would admit a report."""


@dataclass(frozen=True)
class Admits:
    """What admits a report: the token that goes with it and, where that names it, its key."""

    token: bytes
    key: bytes | None = None


@dataclass(frozen=True)
class Unsigned:
    """A token on its way to the issuer."""

    key: bytes
    number: int
    blinded: bytes


class Purse(LedgerTable):
    """The table of them."""

    SCHEMA = _SCHEMA

    def __init__(self, database: sqlite3.Connection) -> None:
        super().__init__(database)
        database.execute(_OWNERS)

    def want(self, person: bytes, collection: Collection, scope: Scope) -> list[Unsigned]:
        """The tokens that this person's invitation still gives: of all questions alike."""
        assert collection.issuer is not None
        self._adopt(person, scope)
        for id, key in collection.issuer.keys.items():
            known = self._database.execute(
                "SELECT COUNT(*) FROM token WHERE (person, key) = (?, ?)", (person, key_name(key))
            ).fetchone()[0]
            for number in range(known, collection.question(id).reports_in_all):
                self._make(person, key, number, f"question {id!r} of {collection.issuer.url}")
                self._database.execute(
                    "INSERT INTO token_scope VALUES (?, ?, ?, ?)",
                    (person, key_name(key), number, scope.token_owner),
                )
        names = [key_name(key) for key in collection.issuer.keys.values()]
        rows = self._database.execute(
            "SELECT key, number, blinded FROM token WHERE person = ? AND blinded IS NOT NULL"
            " ORDER BY key, number",
            (person,),
        )
        return [Unsigned(*row) for row in rows if row[0] in names]

    def _adopt(self, person: bytes, scope: Scope) -> None:
        """Give a scope the tokens of an invitation that are of nobody who was answered.

        The person shows the invitation for this contract, and its person is of this series. So a
        collector that moved is given those of the pin that it revises, too; without the invitation
        it may be a stranger who names the pinned contract.
        """
        marks = ", ".join("?" * len(scope.inherits))
        self._database.execute(
            "INSERT OR REPLACE INTO token_scope SELECT person, key, number, ? FROM token"
            " LEFT JOIN token_scope USING (person, key, number) WHERE person = ?"
            " AND (COALESCE(scope, ?) NOT IN (SELECT series FROM pin)"
            f" OR COALESCE(scope, ?) IN ({marks}))",
            (scope.token_owner, person, scope.series, scope.series, *scope.inherits),
        )

    def keep(self, scope: Scope) -> None:
        """Note that a collector was answered: its tokens are of the name that it has now."""
        self._database.execute(
            "UPDATE token_scope SET scope = ? WHERE scope = ?", (scope.name, scope.token_owner)
        )

    def _make(self, person: bytes, key: PublicKey, number: int, whose: str) -> None:
        opening = new_opening()
        try:
            made = blind(key, token_message(opening))
        except BlindingError:
            # Not drawn anew: the person hears that this issuer has no honest key.
            raise InputError(
                f"an issuer's key must be a product of two large primes; that for {whose} shares a "
                f"factor with a token of this device, and could mark it; nothing was sent there"
            ) from None
        inverse = made.inverse.to_bytes(key.size, "big")
        self._database.execute(
            "INSERT INTO token VALUES (?, ?, ?, ?, ?, ?, NULL, NULL)",
            (person, key_name(key), number, opening, made.message, inverse),
        )

    def sign(
        self,
        person: bytes,
        collection: Collection,
        tokens: Sequence[Unsigned],
        answers: Sequence[bytes],
    ) -> None:
        """Keep what the issuer signed; refused where it is no signature of what was asked."""
        assert collection.issuer is not None
        keys = {key_name(key): key for key in collection.issuer.keys.values()}
        for token, answer in zip(tokens, answers, strict=True):
            place = (person, token.key, token.number)
            row = self._database.execute(
                "SELECT opening, inverse FROM token WHERE (person, key, number) = (?, ?, ?)"
                " AND blinded = ?",
                (*place, token.blinded),
            ).fetchone()
            if row is None:
                continue  # another process was quicker
            opening, inverse = row
            try:
                signature = finalize(
                    keys[token.key], token_message(opening), answer, int.from_bytes(inverse, "big")
                )
            except BlindingError as problem:
                raise InputError(
                    f"an issuer must sign with the contract's keys; {problem}"
                ) from None
            self._database.execute(
                "UPDATE token SET signature = ?, blinded = NULL, inverse = NULL"
                " WHERE (person, key, number) = (?, ?, ?)",
                (signature, *place),
            )

    def take(
        self, collection: Collection, scope: Scope, question: str, person: bytes | None = None
    ) -> Admits:
        """Spend a token of a scope on a report to a question; of one invitation, or of any."""
        assert collection.issuer is not None
        key = key_name(collection.issuer.keys[question])
        row = self._database.execute(
            "SELECT person, number, opening, signature FROM token"
            " LEFT JOIN token_scope USING (person, key, number) WHERE key = ?"
            " AND person = COALESCE(?, person) AND signature IS NOT NULL AND report IS NULL"
            " AND COALESCE(scope, ?) = ? ORDER BY number LIMIT 1",
            (key, person, scope.series if scope.had_tokens else None, scope.token_owner),
        ).fetchone()
        if row is None:
            raise NoTokenError(
                f"{collection.name!r} is for invited people, and this device has no token left for "
                f"question {question!r}; give the invitation you were sent"
            )
        owner, number, opening, signature = row
        message = token_message(opening)
        self._database.execute(
            "UPDATE token SET report = ?, signature = NULL, opening = x''"
            " WHERE (person, key, number) = (?, ?, ?)",
            (token_id(message), owner, key, number),
        )
        return Admits(message + signature, opening)

    def owner(self, report: bytes) -> bytes | None:
        """By which invitation a report was admitted."""
        row = self._database.execute("SELECT person FROM token WHERE report = ?", (report,))
        found = row.fetchone()
        return None if found is None else bytes(found[0])
