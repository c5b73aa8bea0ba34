"""Fused groups with latency as first objective."""
