"""The fit of a distribution of ordered answers to output counts of a channel with a window."""
