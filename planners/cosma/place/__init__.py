"""Addresses for what stays on chip."""
