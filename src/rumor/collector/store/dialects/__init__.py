"""The dialects of SQL: one file for each database, and the interface that a store needs."""
