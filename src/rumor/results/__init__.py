"""What an answer is, whatever its kind: estimates, views, intervals, tables and charts."""
