"""Shares of options, any of which a person may choose: counts to numbers."""
