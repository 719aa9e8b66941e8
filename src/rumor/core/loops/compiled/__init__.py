"""The heavy loops, compiled by numba."""
