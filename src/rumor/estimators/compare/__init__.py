"""What analysts ask of estimates: differences, weights, several sources, trends."""
