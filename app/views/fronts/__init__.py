"""What one quantity costs in another."""
