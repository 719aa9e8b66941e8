"""Words that nobody listed, grown out of the levels of their reports."""
