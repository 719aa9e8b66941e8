"""How reports end: retention, and withdrawal by the key that only the device holds.

A device draws 16 random bytes for each report, the *key*, and names the report by a hash of
it, the id. The id travels and is stored with the report, in exports too; the key stays on the
device. Showing the key is how a report is withdrawn: whoever sees ids can do nothing with
them. Where a token of the issuer names the report, its opening is the key.
"""

from __future__ import annotations

import hashlib
import secrets

from rumor.contract.issuing import OPENING_BYTES, token_id, token_message

LEAST_KEPT = 100
"""The fewest reports whose counts stay together once the reports themselves are deleted."""


def retention_in_words(days: int | None) -> str:
    """Say how long reports are kept, and what stays afterwards."""
    if days is None:
        return "no limit"
    return (
        f"{days:,} day{'s'[: days > 1]}; afterwards only counts of at least {LEAST_KEPT} reports "
        f"together are kept"
    )


KEY_BYTES, ID_BYTES = 16, 16
# Of the keys that are drawn, and of the openings of tokens.
KEY_SIZES = (KEY_BYTES, OPENING_BYTES)


def new_key() -> bytes:
    """The key of a new report."""
    return secrets.token_bytes(KEY_BYTES)


def report_id(key: bytes) -> bytes:
    """The id of the report with this key: the start of SHA-256("rumor report id" || key)."""
    if len(key) == OPENING_BYTES:
        return token_id(token_message(key))
    return hashlib.sha256(b"rumor report id" + key).digest()[:ID_BYTES]
