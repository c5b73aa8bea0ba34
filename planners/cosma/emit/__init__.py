"""Stays with addresses become a program."""
