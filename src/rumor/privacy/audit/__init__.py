"""Checks that the code delivers the epsilon it claims."""
