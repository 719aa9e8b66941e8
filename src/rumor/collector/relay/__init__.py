"""A relay: somebody else's process between the people who answer and the collector."""
