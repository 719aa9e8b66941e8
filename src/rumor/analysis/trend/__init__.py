"""Trends: answers over time."""
