"""Ordered answers: a window around the value, its scale and its channel."""
