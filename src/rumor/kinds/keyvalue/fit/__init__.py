"""Frequencies and means of keys."""
