"""A schedule becomes a program."""
