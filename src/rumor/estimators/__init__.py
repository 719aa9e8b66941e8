"""Counts to numbers: mathematics alone, with no files, no printing and no names of questions."""
