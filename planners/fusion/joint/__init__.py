"""Groups and residency decided together."""
