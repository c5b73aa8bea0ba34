"""`spillway headroom`: how much larger a network or a module may be within a RAM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from typing import Annotated, Any

import typer

import planners as sp
from planners.catalogue.vmcu import POINTWISE, PREFIX, TABLE_2
from planners.cli.app import AsJson, app
from planners.cli.options import Model, Width
from planners.cli.output import CommandAnswer, Reporter, size_text
from planners.core.element_types import read_width
from planners.core.errors import BadInput
from planners.core.registry import OVERLAP

SMALLEST = 32
"""Pixels: many networks cannot take less."""


@app.command()
def headroom(
    model: Model,
    machine: Annotated[
        str, typer.Option("--machine", help="the machine whose RAM counts")
    ] = "stm32f411",
    ram: Annotated[str | None, typer.Option("--ram", help="bytes, or e.g. 128KiB")] = None,
    step: Annotated[int, typer.Option("--step", min=1, help="pixels between images")] = 8,
    width: Width = None,
    as_json: AsJson = False,
) -> None:
    """Print the largest image that fits: by overlap, and by what other frameworks need.

    For a module of the vMCU paper (vmcu:S1) also the most channels; the RAM is TinyEngine's for
    that module unless --ram is given.
    """
    module = model.removeprefix(PREFIX)
    if model.startswith(PREFIX) and module in POINTWISE:
        raise BadInput(f"{model} is one layer; headroom needs a network or a module, e.g. vmcu:S1")
    with Reporter(f"sizing {model}") as reporter:
        if model.startswith(PREFIX) and module in TABLE_2:
            facts = _of_module(module, None if ram is None else sp.parse_size(ram), reporter)
        else:
            board = sp.load_machine(machine)
            limit = sp.parse_size(ram) if ram else board.scratchpad_bytes
            facts = _of_network(model, limit, step, width, reporter)
            facts["flash_bytes"] = board.memory(board.parameters).size_bytes
    CommandAnswer(as_json).give(facts, _table(facts))


def _of_network(
    model: str, limit: int, step: int, width: str | None, reporter: Reporter
) -> dict[str, Any]:
    from planners.study import headroom as overlap

    counted = None if width is None else read_width(width)
    usual = sp.load(model, bytes_per_element=counted)
    batch, channels, *image = usual.tensors[usual.inputs[0]].shape

    @cache
    def build(side: int) -> sp.Graph:
        reporter.say(f"{side} px")
        shape = (batch, channels, side, side)
        return sp.load(model, input_shape=shape, bytes_per_element=counted)

    sizes: Sequence[int] = overlap.image_sizes(usual, limit, step, SMALLEST)
    fixed = _is_fixed(build, image[0], step)
    graph_at: Callable[[int], sp.Graph] = (lambda _: usual) if fixed else build
    sizes = [image[0]] if fixed else sizes

    rows = []
    for method, need in overlap.methods().items():
        answer = overlap.largest(overlap.measured(graph_at, need, limit), sizes, limit)
        rows.append(_row(method, "image", answer))
    if rows[0]["size"] is None:
        sp.plan(graph_at(sizes[0]), OVERLAP, limit)  # says what binds
        raise BadInput(f"{model} fits at none of the sizes tried")
    return {
        "model": model,
        "image": image[0],
        "fixed_size": fixed,
        "ram_limit_bytes": limit,
        "step": step,
        "parameter_bytes": usual.parameter_bytes,
        "rows": rows,
    }


def _is_fixed(build: Callable[[int], sp.Graph], side: int, step: int) -> bool:
    """Whether a network is of one size, as most files are: neither larger nor smaller is read."""
    for other in (side + step, max(side - step, 1)):
        try:
            build(other)
        except BadInput:
            continue
        return False
    return True


def _of_module(name: str, limit: int | None, reporter: Reporter) -> dict[str, Any]:
    from planners.study import headroom as overlap

    module = TABLE_2[name]
    rows: list[dict[str, Any]] = []
    methods = overlap.methods()
    for axis in overlap.AXES:
        for method, need in methods.items():
            reporter.say(f"{axis}, {method}")
            answer = overlap.module_headroom(module, axis, need, limit)
            rows.append(_row(method, axis, answer))
    if limit is not None and all(row["size"] is None for row in rows):
        sp.plan(sp.load(PREFIX + name), OVERLAP, limit)  # says what binds
    return {
        "model": PREFIX + name,
        "image": module.size,
        "channels": module.c_in,
        "ram_limit_bytes": answer.limit_bytes,
        "rows": rows,
    }


def _row(method: str, axis: str, answer: Any) -> dict[str, Any]:
    """The answer for one method; all null but the method where nothing fits."""
    names = ("size", "ram_bytes", "macs", "repeated_macs")
    best = asdict(answer.best) if answer.best else dict.fromkeys(names)
    tried = [size.size for size in answer.tried]
    row = {"method": method, "axis": axis} | {name: best[name] for name in names}
    return row | {"monotone": answer.monotone, "tried": tried}


def _table(facts: Mapping[str, Any]) -> str:
    now = f"{facts['image']} px" + (
        f", {facts['channels']} channels" if "channels" in facts else ""
    )
    lines = [
        f"{facts['model']} ({now}) within {size_text(facts['ram_limit_bytes'])}",
        f"{'axis':<9}{'largest':>8}{'growth':>8}{'RAM':>24}{'MACs':>14}{'repeated':>14}  method",
    ]
    for row in facts["rows"]:
        if row["size"] is None:
            lines.append(f"{row['axis']:<9}{'none fits':>16}{'':>52}  {row['method']}")
            continue
        usual = facts["image" if row["axis"] == "image" else "channels"]
        counts = f"{row['macs']:>14,}{row['repeated_macs']:>14,}"
        lines.append(
            f"{row['axis']:<9}{row['size']:>8}{row['size'] / usual:>7.2f}x"
            f"{size_text(row['ram_bytes']):>24}{counts}  {row['method']}"
            + ("" if row["monotone"] else " (not monotone)")
        )
    if facts.get("fixed_size"):
        lines.append("The network is of this size alone: whether it fits, and what it needs.")
        return _with_weights(lines, facts)
    lines.append(
        "The largest by bisection; the next sizes on both sides were tried too. Static bytes of "
        "frameworks, where known, are counted."
    )
    return _with_weights(lines, facts)


def _with_weights(lines: list[str], facts: Mapping[str, Any]) -> str:
    if facts.get("flash_bytes"):  # 0: not bounded
        weights, room = size_text(facts["parameter_bytes"]), size_text(facts["flash_bytes"])
        lines.append(f"Weights: {weights}, batch norms unfolded; the machine has {room} for them.")
    return "\n".join(lines)
