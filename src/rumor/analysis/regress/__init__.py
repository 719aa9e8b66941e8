"""Private answers explained by public columns."""
