"""The engine of one GPU: reports stay packed in its memory, and updates run there."""
