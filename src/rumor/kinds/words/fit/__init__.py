"""The decode of open words from the levels of their reports."""
