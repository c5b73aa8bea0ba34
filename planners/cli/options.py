"""What commands share: types of options, and reading a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import planners as sp
from planners.cli.output import Reporter
from planners.core.element_types import read_width
from planners.core.graph import Granularity
from planners.core.input_shapes import read_input_shapes
from planners.core.registry import planner as find_planner
from planners.core.weights import WEIGHTS, asked_weights
from planners.importers.registry import titles

Model = Annotated[str, typer.Argument(help=f"catalogue name, timm:NAME, graph JSON, {titles()}")]
Input = Annotated[
    str | None,
    typer.Option(
        "--input", help="input shape, e.g. 1x3x224x224; several after ;, or sizes as axis=16"
    ),
]
GranularityOption = Annotated[Granularity, typer.Option("--granularity")]
Width = Annotated[
    str | None,
    typer.Option(
        "--bytes-per-element",
        metavar="N|native",
        help="bytes of every element, or native: by each tensor's own type "
        "(default: 1; native for .onnx, .tflite and .pt2 files)",
    ),
]
FoldPadding = Annotated[
    bool,
    typer.Option(
        "--fold-padding/--keep-padding",
        help="fold pads into the convolutions and pools behind them, or keep them as operators",
    ),
]
Parameters = Annotated[
    bool, typer.Option("--parameters", help="count parameters too (default: activations only)")
]
WeightsOption = Annotated[
    str | None,
    typer.Option(
        "--weights",
        metavar="|".join(WEIGHTS),
        help="weights: left out, counted against the budget (--parameters) or read in place "
        f"(default: {WEIGHTS[0]}); named budgets follow",
    ),
]
MachineOption = Annotated[str, typer.Option("--machine", help="a preset, or a .toml/.json file")]
TimeLimit = Annotated[float, typer.Option("--time-limit", min=0.001, help="seconds")]
PlanFile = Annotated[Path, typer.Argument(help="a plan that `spillway plan --out` wrote")]
ExportLp = Annotated[
    Path | None, typer.Option("--export-lp", help="write the paper's ILP there, and do not plan")
]
ExportMps = Annotated[Path | None, typer.Option("--export-mps", help="also write it as free MPS")]


def weights_given(parameters: bool, weights: str | None) -> str:
    """What weights do, from `--parameters` and `--weights`. Raises `BadInput`."""
    given: dict[str, Any] = {"parameters": True} if parameters else {}
    return asked_weights(given | ({} if weights is None else {"weights": weights}))


def say_what_weights_do(planner: str, weights: str) -> None:
    """Before a planner runs that cannot have weights do what is asked: say what they do instead."""
    if note := find_planner(planner).cannot(weights):
        typer.echo(f"note: {note}", err=True)


def load(
    model: str,
    shape: str | None,
    granularity: Granularity,
    width: str | None,
    fold_padding: bool = True,
) -> sp.Graph:
    """The graph of a model, with a word on standard error while it is imported."""
    with Reporter(f"importing {model}"):
        return sp.load(
            model,
            input_shape=None if shape is None else read_input_shapes(shape),
            granularity=granularity,
            bytes_per_element=None if width is None else read_width(width),
            fold_padding=fold_padding,
        )
