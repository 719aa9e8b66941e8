"""Bugs that nobody chose: drawn from the sources by operators, with a seed."""
