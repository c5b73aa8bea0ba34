"""What every command needs: the application, and whether the answer is JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import typer
from typer.core import TyperCommand

Function = TypeVar("Function", bound=Callable[..., Any])
AsJson = Annotated[bool, typer.Option("--json", help="print one JSON object")]


class Command(TyperCommand):
    """A command that imports nothing to read what is text, or is not given."""

    def get_params(self, ctx: Any) -> list[Any]:
        return [as_given(parameter) for parameter in super().get_params(ctx)]


class Application(typer.Typer):
    """Where commands are added, each a `Command`."""

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Function], Function]:
        return super().command(name, **{"cls": Command, **settings})


def as_given(parameter: Any) -> Any:
    """A parameter whose value stays as it is where it needs no conversion.

    Typer makes a Pydantic adapter for each parameter, given or not, which takes longer than most
    commands do.
    """
    parameter.get_runtime_param = lambda: _AsGiven()
    return parameter


class _AsGiven:
    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        kind = param.type_descriptor.annotation
        if value is None:
            return () if param.nargs == -1 or getattr(param, "multiple", False) else None
        if type(value) is kind or (get_origin(kind) is Literal and value in get_args(kind)):
            return value
        return type(param).get_runtime_param(param).coerce(value, param=param, ctx=ctx)


app = Application(
    name="spillway",
    help="Plan how a neural network runs in a memory that is too small for it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
