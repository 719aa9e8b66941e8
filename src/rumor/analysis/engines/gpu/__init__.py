"""The engine of one graphics card: reports stay packed in its memory, and updates run there."""
