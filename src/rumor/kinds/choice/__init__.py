"""One of a fixed list of answers."""
