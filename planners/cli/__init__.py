"""The `spillway` command: every question to the library, on a terminal or as JSON."""

from __future__ import annotations

import signal
import sys


def main(arguments: list[str] | None = None) -> None:
    """Run a command line; every failure is one clear line and an exit code."""
    try:
        from planners.cli.commands import (
            run,  # takes a third of a second, within which one may stop
        )
    except KeyboardInterrupt:
        print("spillway: interrupted", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    run(arguments)
