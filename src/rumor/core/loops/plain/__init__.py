"""The same loops in plain numpy: slower, complete, and what the compiled ones are tested by."""
