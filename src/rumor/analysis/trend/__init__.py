"""How answers move over time."""
