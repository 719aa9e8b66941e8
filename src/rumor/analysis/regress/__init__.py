"""Regression of private answers on public columns."""
