"""Addresses for rings and activations."""
