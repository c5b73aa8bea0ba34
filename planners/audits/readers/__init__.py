"""Readers of other tools' allocations, a format each."""
