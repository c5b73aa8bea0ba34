"""Addresses for blocks of which some may overlap: from the lowest on, or in a circular pool."""
