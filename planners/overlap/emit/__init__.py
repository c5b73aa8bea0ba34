"""A layout becomes a program."""
