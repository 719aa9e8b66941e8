"""Open vocabulary: a code, hashes of prefixes, and levels."""
