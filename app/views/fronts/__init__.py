"""Trade-offs: what one quantity costs in another."""
