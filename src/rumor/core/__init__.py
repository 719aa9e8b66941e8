"""No idea of privacy: exact arithmetic, randomness, report bytes, columns, files, plain text."""
