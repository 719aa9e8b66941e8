"""Privacy amplification by shuffling: the loss of a report that lies among others, unordered."""
