"""The `spillway` command: every question to the library, on a terminal or as JSON.

Exit codes: 0 done, 1 no answer in the time given, 2 bad usage or input, 3 infeasible.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Annotated

import typer

from planners.cli import apply as cli_apply
from planners.cli import assignments as cli_assignments
from planners.cli import audit as cli_audit
from planners.cli import blame as cli_blame
from planners.cli import code as cli_code
from planners.cli import export as cli_export
from planners.cli import fronts as cli_fronts
from planners.cli import headroom as cli_headroom
from planners.cli import options_table as cli_options_table
from planners.cli import pack as cli_pack
from planners.cli import plan as cli_plan
from planners.cli import reproduce as cli_reproduce
from planners.cli import schedule as cli_schedule
from planners.cli import site as cli_site
from planners.cli import study as cli_study
from planners.cli.options import app
from planners.cli.output import answers_only, fail, one_line_at_most
from planners.core.errors import BudgetTooSmall, SpillwayError, WishesConflict
from planners.core.version import installed_version

COMMANDS = (
    cli_plan,
    cli_apply,
    cli_assignments,
    cli_audit,
    cli_blame,
    cli_code,
    cli_export,
    cli_fronts,
    cli_headroom,
    cli_options_table,
    cli_pack,
    cli_reproduce,
    cli_schedule,
    cli_site,
    cli_study,
)
"""Importing them adds their commands."""

INTERRUPTED = 130  # What a command returns that Ctrl-C ended.


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"spillway {installed_version()}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="print the version"),
    ] = False,
) -> None:
    """Plan how a neural network runs in a memory that is too small for it."""


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
