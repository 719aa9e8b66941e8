"""Words that nobody listed: a code, hashes of prefixes, and levels."""
