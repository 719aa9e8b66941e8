"""Keys with a number each."""
