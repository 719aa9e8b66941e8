"""The engine for data that outgrows a machine."""
