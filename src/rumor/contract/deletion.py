"""The end of reports: retention, and withdrawal by a key that only the device holds.

A device draws 16 random bytes for each report, the *key*, and names the report by a hash of
it, the id. The id travels and is stored with the report, in exports too; the key stays on the
device. A report is withdrawn by showing its key; an id alone allows nothing. If a token of the
issuer names the report, the token's opening is the key.
"""

from __future__ import annotations

import hashlib
import secrets

from rumor.contract.issuing import OPENING_BYTES, token_id, token_message

LEAST_KEPT = 100
"""The fewest reports whose counts stay together once the reports are deleted."""


def retention_in_words(days: int | None) -> str:
    """Say how long reports are kept, and what stays afterwards."""
    if days is None:
        return "no limit"
    return (
        f"{days:,} day{'s'[: days > 1]}; afterwards only counts of at least {LEAST_KEPT} reports "
        f"together are kept"
    )


KEY_BYTES, ID_BYTES = 16, 16
# The sizes of drawn keys and of the openings of tokens.
KEY_SIZES = (KEY_BYTES, OPENING_BYTES)


def new_key() -> bytes:
    """Return a random withdrawal key for a new report."""
    return secrets.token_bytes(KEY_BYTES)


def report_id(key: bytes) -> bytes:
    """Return the id of the report with this `key`, the start of the key's hash.

    The hash is SHA-256("rumor report id" || key), or that of the token that the key opens.
    """
    if len(key) == OPENING_BYTES:
        return token_id(token_message(key))
    return hashlib.sha256(b"rumor report id" + key).digest()[:ID_BYTES]
