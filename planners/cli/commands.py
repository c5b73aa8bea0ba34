"""All commands by name, and how one ends.

Exit codes: 0 done, 1 no answer in the time given, 2 bad usage or input, 3 infeasible.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from planners.cli.app import app, as_given
from planners.cli.output import answers_only, fail, one_line_at_most
from planners.core.errors import BudgetTooSmall, NoPlanFound, SpillwayError, WishesConflict

NO_MEMORY = "there is not enough memory for this: try a smaller network, or a machine with more"
COMMANDS: Mapping[str, tuple[str, str]] = {
    "apply": (
        "planners.cli.apply",
        "Plan the arena of TensorFlow Lite Micro and write that plan into the model's file.",
    ),
    "assignments": (
        "planners.cli.assignments",
        "Ten tasks from easy to hard; `spillway judge` says whether an answer passes.",
    ),
    "judge": (
        "planners.cli.assignments",
        "Does an answer pass, and if not, why? Exits with 3 where one does not.",
    ),
    "audit": (
        "planners.cli.audit",
        "Audit another tool's plan: conflicts, its peak, the proven least, and what binds.",
    ),
    "blame": (
        "planners.cli.blame",
        "What is a plan's peak made of? By kind, block and tensor, each with what lowers it.",
    ),
    "code": (
        "planners.cli.export",
        "Write an overlap plan as C99: int8, one pool of the planned bytes, no other memory.",
    ),
    "export": (
        "planners.cli.export",
        "Write a plan as a page that opens offline, as tables, or as a trace.",
    ),
    "winners": (
        "planners.cli.fronts",
        "Which planner wins where in a sweep, and its share of the Pareto fronts (hypervolume).",
    ),
    "headroom": (
        "planners.cli.headroom",
        "Print the largest image that fits: by overlap, and by what other frameworks need.",
    ),
    "options": (
        "planners.cli.options_table",
        "List the options of a planner, or of all, with defaults, bounds and help.",
    ),
    "pack": (
        "planners.cli.pack",
        "Pack lifetimes (half-open intervals): find an offset for each, or which do not fit.",
    ),
    "models": (
        "planners.cli.models",
        "List the catalogue.",
    ),
    "graph": (
        "planners.cli.graph",
        "Import a model, and print its operators or save its graph as JSON.",
    ),
    "budgets": (
        "planners.cli.graph",
        "Print MR, MH and MP: the largest operator, the mean, and the least peak of all orders.",
    ),
    "plan": (
        "planners.cli.plan",
        "Plan a model within a budget; interrupt once (Ctrl-C) to keep the best plan so far.",
    ),
    "check": (
        "planners.cli.plan_file",
        "Replay a plan and compare it with its claims and layout; say what is not compared.",
    ),
    "simulate": (
        "planners.cli.plan_file",
        "Time a plan: makespan, what each engine does, energy; what binds each operator.",
    ),
    "run": (
        "planners.cli.plan_file",
        "Execute a plan in an arena of its bytes, or stream it from disk; compare with PyTorch.",
    ),
    "reproduce": (
        "planners.cli.reproduce",
        "Reproduce a paper's comparison: COSMA's, Optimus's, vMCU's or Demand Layering's.",
    ),
    "schedule": (
        "planners.cli.schedule",
        "Bound the response times of networks that run periodically and stream their parameters.",
    ),
    "sweep": (
        "planners.cli.study",
        "Plan models × planners × budgets into one table.",
    ),
    "calibrate": (
        "planners.cli.study",
        "Measure this machine's copy, arithmetic and storage rates into a machine file.",
    ),
    "serve": (
        "planners.cli.serve",
        "Open the explorer in the browser.",
    ),
    "site": (
        "planners.cli.site",
        "Write models × planners × budgets as a site of plain files, without a server.",
    ),
}
"""By name: the module that adds the command when it is imported, and what it does, as its own
docstring begins, in the order of the help."""

INTERRUPTED = 128 + signal.SIGINT
"""What a command returns that Ctrl-C ended."""


def _print_version(wanted: bool) -> None:
    if wanted:
        from planners.core.version import __version__  # asks what is installed, which takes a while

        typer.echo(f"spillway {__version__}")
        raise typer.Exit


class _Listed(TyperCommand):
    """A command by its name and its line in the help; what it does is not imported yet."""


class _CommandsOnUse(TyperGroup):
    """All commands, of which only the one that is called is imported."""

    def __init__(self, *, commands: Mapping[str, Any] | None = None, **rest: Any) -> None:
        there = commands or {}
        by_name = {
            name: there.get(name) or _Listed(name, help=line)
            for name, (_, line) in COMMANDS.items()
        }
        super().__init__(commands=by_name, **rest)

    def get_params(self, ctx: Any) -> list[Any]:
        return [as_given(parameter) for parameter in super().get_params(ctx)]

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, imported(str(name)) if isinstance(command, _Listed) else command, rest


@cache
def imported(name: str) -> Any:
    """The command of that name, with its options."""
    import_module(COMMANDS[name][0])
    group: Any = typer.main.get_command(app)
    return group.commands[name]


@cache
def _all_commands() -> Any:
    return typer.main.get_command(app)


@app.callback(cls=_CommandsOnUse)
def common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="print the version"),
    ] = False,
) -> None:
    """Plan how a neural network runs in a memory that is too small for it."""


def run(arguments: list[str] | None = None) -> None:
    """Run a command line; every failure is one clear line and an exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in arguments
    with one_line_at_most(), answers_only() if as_json else nullcontext():
        code = _code_of(arguments, as_json)
    sys.exit(code)


def _code_of(arguments: list[str], as_json: bool) -> int:
    try:
        code = _all_commands().main(args=arguments, prog_name="spillway", standalone_mode=False)
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
    except NoPlanFound as error:
        facts = {"status": "none found", "error": str(error), "budget_bytes": error.have_bytes}
        if error.need_bytes is not None:
            facts["need_bytes"] = error.need_bytes
        return fail(str(error), facts, as_json, 4)
    except SpillwayError as error:
        return fail(str(error), {"error": str(error)}, as_json, 2)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except MemoryError:
        return fail(NO_MEMORY, {"error": NO_MEMORY}, as_json, 2)
    except Exception as error:
        if not hasattr(error, "format_message"):  # Not a usage error of the command line.
            raise
        return fail(error.format_message(), {"error": error.format_message()}, as_json, 2)
    if code == INTERRUPTED:
        return fail("interrupted", {"error": "interrupted"}, as_json, code)
    return int(code or 0)
