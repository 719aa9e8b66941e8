"""Estimates, comparisons, combinations, trends and regressions of stored reports."""
