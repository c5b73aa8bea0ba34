"""Darknet `.cfg` files."""
