"""From the output histogram of a channel with a window to the distribution of ordered answers."""
