"""The heavy loops in plain numpy: slower, complete, and the reference for the compiled ones."""
