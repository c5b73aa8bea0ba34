"""Cards, tables and fields around the figures."""
