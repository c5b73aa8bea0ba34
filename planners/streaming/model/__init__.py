"""Layers, their slices, and how long each takes."""
