"""The tokens of a device: made here, signed blindly by the issuer, each spent on one report.

A token is written down before it is sent to be signed, so that a device that dies or is cut off
asks for that token again. The blinding factor is forgotten once the token is signed: from then on
nobody, not even a thief of the device, can show which of the issuer's signatures it was.

A token belongs to the collector's series that it was fetched for (rumor.client.pins). Keys and the
address of an issuer are public: without that rule, a collector that copies them would be given the
tokens.
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
# The scope that each token was fetched for. Tokens of older ledgers have no row here: they belong
# to the first collector that was answered under the name of their series.
_OWNERS = """
CREATE TABLE IF NOT EXISTS token_scope (
    person BLOB NOT NULL, key BLOB NOT NULL, number INTEGER NOT NULL, scope TEXT NOT NULL,
    PRIMARY KEY (person, key, number)
) WITHOUT ROWID
"""


class NoTokenError(InputError):
    """An error for a report that no token is left for."""


@dataclass(frozen=True)
class AdmissionToken:
    """A token that admits a report and, if it names the report, the withdrawal key."""

    token: bytes
    key: bytes | None = None


@dataclass(frozen=True)
class UnsignedToken:
    """A token that the issuer has not signed yet."""

    key: bytes
    number: int
    blinded: bytes


class TokenTable(LedgerTable):
    """The table of a ledger that holds the device's tokens."""

    SCHEMA = _SCHEMA

    def __init__(self, database: sqlite3.Connection) -> None:
        super().__init__(database)
        database.execute(_OWNERS)

    def request(self, person: bytes, collection: Collection, scope: Scope) -> list[UnsignedToken]:
        """Return the tokens to be signed for an invitation, of all questions alike."""
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
        return [UnsignedToken(*row) for row in rows if row[0] in names]

    def _adopt(self, person: bytes, scope: Scope) -> None:
        """Give `scope` the tokens of an invitation that no answered scope owns.

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

    def move_to_pinned_name(self, scope: Scope) -> None:
        """Move the tokens of a `scope` that was answered to the name it has now."""
        self._database.execute(
            "UPDATE token_scope SET scope = ? WHERE scope = ?", (scope.name, scope.token_owner)
        )

    def _make(self, person: bytes, key: PublicKey, number: int, whose: str) -> None:
        opening = new_opening()
        try:
            made = blind(key, token_message(opening))
        except BlindingError:
            # Not drawn anew: the person must hear that this issuer has no honest key.
            raise InputError(
                f"an issuer's key must be a product of two large primes; that for {whose} shares a "
                f"factor with a token of this device, and could mark it; nothing was sent there"
            ) from None
        inverse = made.inverse.to_bytes(key.size, "big")
        self._database.execute(
            "INSERT INTO token VALUES (?, ?, ?, ?, ?, ?, NULL, NULL)",
            (person, key_name(key), number, opening, made.message, inverse),
        )

    def store_signatures(
        self,
        person: bytes,
        collection: Collection,
        tokens: Sequence[UnsignedToken],
        answers: Sequence[bytes],
    ) -> None:
        """Store the issuer's signatures, and refuse any that does not fit its token."""
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

    def spend(
        self, collection: Collection, scope: Scope, question: str, person: bytes | None = None
    ) -> AdmissionToken:
        """Spend a token of `scope` on a report to `question`, of invitation `person` or of any."""
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
        return AdmissionToken(message + signature, opening)

    def invitation_of(self, report: bytes) -> bytes | None:
        """Return the invitation by which a `report` was admitted, or None."""
        row = self._database.execute("SELECT person FROM token WHERE report = ?", (report,))
        found = row.fetchone()
        return None if found is None else bytes(found[0])
