"""One number."""
