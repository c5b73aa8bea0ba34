"""What all commands share: the application, its option types, and reading a model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

import planners as sp
from planners.cli_output import Reporter
from planners.errors import BadInput
from planners.graph.model import Granularity
from planners.registry import AUTO, COSMA, OVERLAP, STREAMING

app = typer.Typer(
    name="spillway",
    help="Plan how a neural network runs in a memory that is too small for it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _values(option: str) -> str:
    """What an option of the COSMA planner may be, as help."""
    return "cosma: " + ", ".join(COSMA.options[option])


Model = Annotated[
    str, typer.Argument(help="catalogue name, timm:NAME, graph JSON, .onnx or Darknet .cfg")
]
Input = Annotated[str | None, typer.Option("--input", help="input shape, e.g. 1x3x224x224")]
GranularityOption = Annotated[Granularity, typer.Option("--granularity")]
Width = Annotated[int, typer.Option("--bytes-per-element", min=1)]
Parameters = Annotated[
    bool, typer.Option("--parameters", help="count parameters too (default: activations only)")
]
AsJson = Annotated[bool, typer.Option("--json", help="one JSON object on standard output")]
MachineOption = Annotated[str, typer.Option("--machine", help="a preset, or a .toml/.json file")]
TimeLimit = Annotated[float, typer.Option("--time-limit", min=0.001, help="seconds")]
PlanFile = Annotated[Path, typer.Argument(help="a plan that `spillway plan --out` wrote")]
Schedule = Annotated[str, typer.Option("--schedule", help=_values("schedule"))]
Replacement = Annotated[str, typer.Option("--replacement", help=_values("replacement"))]
Objective = Annotated[
    str | None,
    typer.Option(
        "--objective",
        help=f"{_values('objective')}; overlap: "
        + ", ".join(OVERLAP.options["objective"])
        + "; auto: "
        + ", ".join(AUTO.options["objective"]),
    ),
]
Fuse = Annotated[
    bool | None,
    typer.Option("--fuse/--no-fuse", help="overlap: operators may run together (they may)"),
]
Segment = Annotated[
    str | None,
    typer.Option(
        "--segment",
        help="overlap: bytes for one modulo operation, " + ", ".join(OVERLAP.options["segment"]),
    ),
]
BreakNodes = Annotated[
    str, typer.Option("--break-nodes", help="cosma, dnc: operators with commas between, or auto")
]
Solver = Annotated[
    str | None, typer.Option("--solver", help="cosma, ilp: HiGHS, CBC, or another that PuLP finds")
]
PaperStrict = Annotated[
    bool, typer.Option("--paper-strict", help="cosma, ilp: the paper's equations to the letter")
]
ExportLp = Annotated[
    Path | None, typer.Option("--export-lp", help="write the paper's ILP there, and do not plan")
]
ExportMps = Annotated[
    Path | None, typer.Option("--export-mps", help="the same as free MPS; both may be given")
]
Online = Annotated[bool, typer.Option("--online", help="fusion: fast, without a proof")]
Joint = Annotated[
    bool,
    typer.Option(
        "--joint",
        help="fusion: tensors may stay on chip between groups; streaming: one memory for all",
    ),
]
Baseline = Annotated[
    str, typer.Option("--baseline", help="fusion: no_fusion, fused_layer, dnnvm, efficient_s")
]
ChannelTile = Annotated[
    int, typer.Option("--channel-tile", min=1, help="fusion: least output channels at once (T_c)")
]
Bands = Annotated[
    int, typer.Option("--bands", min=1, help="fusion: most bands of columns, 1, 2, 4, 8, ...")
]
FreeLocalLayers = Annotated[
    bool, typer.Option("--free-local-layers", help="fusion: the search counts none of them alone")
]
Pipeline = Annotated[
    str, typer.Option("--pipeline", help="streaming: " + ", ".join(STREAMING.options["pipeline"]))
]
Stages = Annotated[int, typer.Option("--stages", help="streaming, exact: 2, 3, or 0 for both")]
Ring = Annotated[
    str, typer.Option("--ring", help="streaming, async and 2s: size of each ring, e.g. 18MiB")
]
Step = Annotated[str, typer.Option("--step", help="streaming, -md: growth of the rings")]
Twice = Annotated[
    bool, typer.Option("--twice", help="streaming: rings mapped twice, so that layers may wrap")
]
Slices = Annotated[
    int,
    typer.Option(
        "--slices", min=0, help="streaming: no layer above the largest over this; 0: what is best"
    ),
]
Times = Annotated[
    str, typer.Option("--times", help="streaming: roofline, or a CSV layer,read_s,copy_s,kernel_s")
]
Spread = Annotated[
    float, typer.Option("--spread", min=0, help="streaming: times may be longer by this share")
]
Draws = Annotated[int, typer.Option("--draws", min=0, help="streaming: of a Monte Carlo band")]
DrawSeed = Annotated[int, typer.Option("--seed", min=0, help="streaming: of the draws")]
Wishes = Annotated[
    list[str] | None,
    typer.Option(
        "--wish",
        help='of the plan, repeatable; cosma: "keep T", "spill T", "A before B"; '
        'fusion: "fuse A B", "split A B"',
    ),
]
Method = Annotated[str, typer.Option("--method", help="cosma: search (ours) or the paper's ilp")]


USUAL: Mapping[str, Any] = {
    "schedule": "default",
    "replacement": "optimal",
    "method": "search",
    "wishes": None,
    "parameters": False,
    "objective": None,
    "break_nodes": "auto",
    "solver": None,
    "paper_strict": False,
    "online": False,
    "joint": False,
    "baseline": "",
    "bands": 8,
    "channel_tile": 1,
    "free_local_layers": False,
    "fuse": None,
    "segment": None,
    "pipeline": "exact",
    "stages": 0,
    "ring": "",
    "step": "1MiB",
    "twice": False,
    "slices": 1,
    "times": "",
    "spread": 0.0,
    "draws": 0,
    "seed": 0,
}


def unusual(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are not as always: planners need not have heard of the others."""
    return {name: value for name, value in given.items() if value != USUAL[name]}


def input_shape(text: str | None) -> tuple[int, ...] | None:
    """`1x3x224x224` as numbers. Raises `BadInput` for anything else."""
    if text is None:
        return None
    try:
        shape = tuple(int(part) for part in text.lower().split("x"))
    except ValueError:
        shape = ()
    if not shape or min(shape) < 1:
        raise BadInput(f"--input {text!r}: write sizes joined by x, e.g. 1x3x224x224")
    return shape


def load(
    model: str, shape: str | None, granularity: Granularity, width: int, quiet: bool
) -> sp.Graph:
    """The graph of a model, with a word on standard error while it is imported."""
    with Reporter(quiet, f"importing {model}"):
        return sp.load(
            model,
            input_shape=input_shape(shape),
            granularity=granularity,
            bytes_per_element=width,
        )
