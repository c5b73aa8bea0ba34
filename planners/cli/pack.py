"""`spillway pack`: addresses for lifetimes in one memory, or in the several of a machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import planners as sp
from planners.cli.app import AsJson, app
from planners.cli.options import TimeLimit
from planners.cli.output import CommandAnswer, Reporter
from planners.core.errors import BadInput

TOUCHED = "touched"

Capacity = Annotated[str | None, typer.Option("--capacity", help="bytes, or e.g. 256KiB")]
Memories = Annotated[
    str | None,
    typer.Option("--machine", help="pack into this machine's memories: a preset or a file"),
]


@app.command()
def pack(
    lifetimes: Annotated[
        Path, typer.Argument(help="CSV: id,lower,upper,size[,gaps][,alignment][,touched][,offset]")
    ],
    capacity: Capacity = None,
    machine: Memories = None,
    time_limit: TimeLimit = 60.0,
    as_json: AsJson = False,
) -> None:
    """Pack lifetimes (half-open intervals): find an offset for each, or which do not fit.

    Without a capacity or a machine, they are packed into the least memory found, with a proven
    bound. Offsets in the file are ignored here; `spillway audit` checks them.
    """
    from planners.allocation.csv_io import read_rows

    if capacity is not None and machine is not None:
        raise BadInput("give either --capacity, for one memory, or --machine, for several")
    rows = read_rows(lifetimes, ("alignment", TOUCHED, "offset"))
    items = [row.lifetime for row in rows]
    with Reporter(f"packing {len(items)} lifetimes") as reporter:
        if capacity is not None:
            status, facts, lines = _in_one(items, sp.parse_size(capacity), time_limit)
        elif machine is None:
            status, facts, lines = _in_least(items, time_limit, reporter)
        else:
            status, facts, lines = _in_several(rows, machine, time_limit)
    if facts["conflict"]:
        lines.append(f"these cannot fit together: {', '.join(facts['conflict'])}")
    CommandAnswer(as_json).give(facts, "\n".join(lines))
    if status not in ("packed", "placed"):
        raise typer.Exit(3 if status == "infeasible" else 1)


Found = tuple[str, dict[str, Any], list[str]]
"""A status, facts for JSON, and lines to print."""


def _in_one(items: Sequence[Any], capacity_bytes: int, time_limit: float) -> Found:
    from planners.allocation import pack as find_offsets

    packing = find_offsets(items, capacity_bytes, time_limit_s=time_limit)
    facts: dict[str, Any] = {
        "status": packing.status,
        "offsets": dict(packing.offsets),
        "extent_bytes": packing.extent_bytes,
        "conflict": list(packing.conflict),
        "solver": packing.solver,
        "pack_s": packing.seconds,
    }
    lines = [f"status,{packing.status}", *(f"{id},{at}" for id, at in packing.offsets.items())]
    return packing.status, facts, lines


def _in_least(items: Sequence[Any], time_limit: float, reporter: Reporter) -> Found:
    from planners.allocation.min_capacity import pack_tightest

    tight = pack_tightest(items, time_limit_s=time_limit, progress=reporter.progress)
    extent, bound = tight.extent_bytes, tight.bound_bytes
    gap = extent / bound - 1 if bound else 0.0
    facts: dict[str, Any] = {
        "status": "packed",
        "proven": extent == bound,
        "offsets": dict(tight.offsets),
        "extent_bytes": extent,
        "bound_bytes": bound,
        "gap": gap,
        "conflict": [],
    }
    proof = "no packing has less" if extent == bound else f"no packing has less than {bound}"
    lines = ["status,packed", f"extent,{extent},{proof} (gap {gap:.2%})"]
    lines += [f"{id},{at}" for id, at in tight.offsets.items()]
    return "packed", facts, lines


def _in_several(rows: Sequence[Any], machine: str, time_limit: float) -> Found:
    from planners.allocation.banks.model import Bank, BankProblem
    from planners.allocation.banks.place import place_in_banks
    from planners.allocation.csv_io import natural

    board = sp.load_machine(machine)
    banks = [Bank(level.name, level.size_bytes) for level in board.banks]
    touched = {
        row.lifetime.id: natural(row.cells[TOUCHED], TOUCHED, row.where)
        for row in rows
        if TOUCHED in row.cells
    }
    problem = BankProblem([row.lifetime for row in rows], banks, touched)
    placed = place_in_banks(problem, time_limit_s=time_limit)
    names = [bank.name for bank in banks]
    facts = {
        "status": placed.status,
        "proven": placed.proven,
        "places": {
            id: {"memory": memory, "offset": at} for id, (memory, at) in placed.places.items()
        },
        "touched_bytes": dict(zip(names, placed.touched, strict=True)),
        "bound_bytes": dict(zip(names, placed.bounds, strict=True)),
        "conflict": list(placed.conflict),
        "solver": placed.solver,
        "pack_s": placed.seconds,
    }
    lines = [f"status,{placed.status}"]
    if placed.places:
        proof = "no plan has less" if placed.proven else f"none less than {placed.bound_bytes}"
        lines.append(f"bytes through slow memories,{placed.slow_bytes},{proof}")
        lines += [f"{id},{memory},{at}" for id, (memory, at) in placed.places.items()]
    return placed.status, facts, lines
