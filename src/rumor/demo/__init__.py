"""The whole flow on one machine, to look at."""
