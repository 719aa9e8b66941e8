"""Differences between groups of people."""
