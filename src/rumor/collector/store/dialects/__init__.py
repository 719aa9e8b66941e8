"""What differs between databases: one file for each, and what a store asks of it."""
