"""The `spillway` command: every question to the library, on a terminal or as JSON."""

from planners.cli.main import main

__all__ = ["main"]
