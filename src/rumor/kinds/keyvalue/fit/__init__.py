"""The estimators of frequencies and means of keys."""
