"""Document 004 reproduced."""
