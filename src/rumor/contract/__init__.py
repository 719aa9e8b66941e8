"""What is known to device, collector and analyst alike: collections, and the files they name."""
