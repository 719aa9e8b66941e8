"""Results of every kind: estimates, views, intervals, tables and charts."""
