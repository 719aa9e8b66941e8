"""Taking a report back: the key that only its device holds.

A device draws 16 random bytes for each report, the *key*, and names the report by a hash of
it, the id. The id travels and is stored with the report, in exports too; the key stays on the
device. Showing the key is how a report is withdrawn: whoever sees ids can do nothing with
them.
"""

from __future__ import annotations

import hashlib
import secrets

KEY_BYTES, ID_BYTES = 16, 16


def new_key() -> bytes:
    """The key of a new report."""
    return secrets.token_bytes(KEY_BYTES)


def report_id(key: bytes) -> bytes:
    """The id of the report with this key: the start of SHA-256("rumor report id" || key)."""
    return hashlib.sha256(b"rumor report id" + key).digest()[:ID_BYTES]
