"""From the output counts of a channel with a window to the distribution of ordered answers."""
