"""The best partition of a network into fused groups."""
