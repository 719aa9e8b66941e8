"""Estimators: from counts to numbers, by mathematics alone.

Nothing here reads files, prints, or knows the names of questions.
"""
