"""Tensors as segments and rows in a circular pool, and how they depend on each other."""
