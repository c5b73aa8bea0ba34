"""Places in the circular pool."""
