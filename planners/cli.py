"""The `spillway` command: every question to the library, on a terminal or as JSON.

Exit codes: 0 done, 1 no answer in the time given, 2 bad usage or input, 3 infeasible.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext

import typer

from planners import (
    cli_code,
    cli_export,
    cli_fronts,
    cli_headroom,
    cli_plan,
    cli_reproduce,
    cli_schedule,
    cli_study,
)
from planners.cli_options import app
from planners.cli_output import answers_only, fail, one_line_at_most
from planners.errors import BudgetTooSmall, SpillwayError, WishesConflict

COMMANDS = (
    cli_plan,
    cli_code,
    cli_export,
    cli_fronts,
    cli_headroom,
    cli_reproduce,
    cli_schedule,
    cli_study,
)
"""Importing them adds their commands."""

INTERRUPTED = 130  # What a command returns that Ctrl-C ended.


def main(arguments: list[str] | None = None) -> None:
    """Run a command line; every failure is one clear line and an exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in arguments
    with one_line_at_most(), answers_only() if as_json else nullcontext():
        code = _run(arguments, as_json)
    sys.exit(code)


def _run(arguments: list[str], as_json: bool) -> int:
    try:
        code = typer.main.get_command(app).main(
            args=arguments, prog_name="spillway", standalone_mode=False
        )
    except BudgetTooSmall as error:
        facts = {
            "status": "infeasible",
            "need_bytes": error.need_bytes,
            "budget_bytes": error.have_bytes,
            "short_by_bytes": error.need_bytes - error.have_bytes,
            "binds": error.operator,
            "tensors": list(error.tensors),
        }
        if isinstance(error, WishesConflict):
            facts["wishes"] = list(error.wishes)
        return fail(str(error), facts, as_json, 3)
    except SpillwayError as error:
        return fail(str(error), {"error": str(error)}, as_json, 2)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:
        if not hasattr(error, "format_message"):  # Not a usage error of the command line.
            raise
        return fail(error.format_message(), {"error": error.format_message()}, as_json, 2)
    if code == INTERRUPTED:
        return fail("interrupted", {"error": "interrupted"}, as_json, code)
    return int(code or 0)


if __name__ == "__main__":
    main()
