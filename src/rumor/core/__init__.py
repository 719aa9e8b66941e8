"""Code that knows nothing of privacy: exact arithmetic, randomness, report bytes, columns,
files.
"""
