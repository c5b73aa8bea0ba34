"""What every command needs: the application, and whether the answer is JSON."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand

app = typer.Typer(
    name="spillway",
    help="Plan how a neural network runs in a memory that is too small for it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

AsJson = Annotated[bool, typer.Option("--json", help="one JSON object on standard output")]


class FlagsOnly(TyperCommand):
    """A command with flags alone: typer need not import what reads values of other types."""

    def get_help_option(self, ctx: Any) -> Any:
        return a_flag(super().get_help_option(ctx))


def a_flag(option: Any) -> Any:
    """`--help` is false where it is not given, as flags are; else typer reads a value of it."""
    if option is not None and option.default is None:
        option.default = False
    return option
