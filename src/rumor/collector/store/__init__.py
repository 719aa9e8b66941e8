"""Where a collector keeps reports: one interface, a database behind it."""
