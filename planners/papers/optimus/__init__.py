"""Optimus: fused groups by dynamic programming, its tables and figures computed anew."""
