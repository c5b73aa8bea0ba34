"""Fusers that Optimus is compared with."""
