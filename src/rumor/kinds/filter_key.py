"""The public key that words are hashed with."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping

from rumor.core.canonical import checked_unicode
from rumor.core.errors import InputError, format_value
from rumor.core.randomness import encode_context


def filter_key(spec: Mapping[str, object]) -> bytes:
    """The public key of what words are hashed with: as said, or from series and question."""
    if "key" not in spec:
        context = encode_context("rumor text question", str(spec.get("series")), str(spec["id"]))
        return hashlib.sha256(context).digest()[:16]
    key = spec["key"]
    if not isinstance(key, str) or not key:
        raise InputError(f"key must be a non-empty text; got {format_value(key)}")
    return unicodedata.normalize("NFC", checked_unicode(key)).encode("utf-8")
