"""What a release is made of and checked by."""
