"""Bugs planted on purpose, and the tests that must notice them: `make mutants`."""
