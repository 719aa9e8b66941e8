"""Words that nobody listed, found from the levels of their reports."""
