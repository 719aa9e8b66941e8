"""Privacy planned, accounted for and checked."""
