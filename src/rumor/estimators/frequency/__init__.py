"""Frequencies of the values of an oracle."""
