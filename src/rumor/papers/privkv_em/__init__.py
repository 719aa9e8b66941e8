"""Document 002 reproduced."""
