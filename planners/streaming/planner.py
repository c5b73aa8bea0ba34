"""The streaming planner: how little memory parameters need, at which delay (Demand Layering)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from planners.graph.model import Graph
from planners.machine import Machine, with_scratchpad
from planners.plan import Claims, Plan
from planners.program import Program
from planners.progress import Clock, ProgressCallback
from planners.simulator.account import account
from planners.simulator.timing import schedule
from planners.streaming.bound import band, guaranteed_bound
from planners.streaming.choose import Choice, choose
from planners.streaming.emit import emit, held_by
from planners.streaming.layers import Unit
from planners.streaming.options import checked
from planners.streaming.ring import Places
from planners.streaming.times import Times, times_of
from planners.wishes import refused


def plan(
    graph: Graph,
    machine: Machine,
    budget_bytes: int,
    options: Mapping[str, Any],
    progress: ProgressCallback | None = None,
) -> Plan:
    """Stream a network's parameters layer by layer through rings (Demand Layering).

    Options: `pipeline` (`pre`, `seq`, `sync`, `async`, `async-md`, `2s`, `2s-md` as the paper has
    them; `exact`: the least delay of all ring sizes within the budget), `stages` (of `exact`: 2,
    3, or 0 for the better), `ring` (bytes of each ring of `async` and `2s`; the largest layer's
    by default), `step` (bytes, of the `-md` sweeps), `twice` (rings mapped twice: layers may
    wrap), `slices` (no layer larger than the largest over this; 0: what is best), `joint`
    (of `exact`: weights and activations in one memory, in two stages), `times` (`roofline`, or a
    table's path), `spread` (times may be longer by this share: gives a guaranteed bound), `draws`
    and `seed` (of a Monte Carlo band), `time_limit` in seconds. Parameters always count.

    Claims: `objective_bytes` is the memory of rings and activations. Raises `BudgetTooSmall` with
    the largest layer, `BadInput` for options that do not exist.
    """
    chosen = checked(refused(options, graph, "streaming"))
    clock = Clock(chosen["time_limit"], progress)
    times = times_of(graph, machine, chosen["times"])
    choice = choose(graph, machine, times, budget_bytes, chosen, clock)
    return _finished(graph, machine, budget_bytes, times, choice, chosen, clock)


def _finished(
    graph: Graph,
    machine: Machine,
    budget_bytes: int,
    times: Times,
    choice: Choice,
    chosen: Mapping[str, Any],
    clock: Clock,
) -> Plan:
    machine = with_scratchpad(machine, budget_bytes)
    made = emit(graph, machine, choice.way.units, choice.schedule, choice.activations, times)
    if choice.schedule.kind == "joint":  # Addresses may leave more room than the delay needs.
        last = schedule(made.program, machine, seconds=made.seconds)
        choice = replace(choice, delay_s=max(interval.stop_s for interval in last))
    clock.report("done", choice.memory_bytes, choice.bound_bytes)
    details: dict[str, Any] = {"streaming": _details(graph, times, choice, chosen)}
    if made.seconds:
        details["seconds"] = list(made.seconds)
    return Plan(
        planner="streaming",
        graph=graph,
        machine=machine,
        budget_bytes=budget_bytes,
        program=made.program,
        claims=_claims(graph, made.program, choice, chosen, clock),
        options={key: value for key, value in chosen.items() if key != "time_limit"},
        notes=_notes(graph, times, choice, chosen),
        details=details,
    )


def _claims(
    graph: Graph, program: Program, choice: Choice, chosen: Mapping[str, Any], clock: Clock
) -> Claims:
    moved = account(graph, program)
    return Claims(
        status="optimal" if choice.bound_bytes == choice.memory_bytes else "feasible",
        objective_bytes=choice.memory_bytes,
        bound_bytes=choice.bound_bytes,
        compulsory_bytes=moved.compulsory_bytes,
        noncompulsory_bytes=moved.traffic_bytes - moved.compulsory_bytes,
        peak_bytes=moved.peak_bytes,
        extent_bytes=moved.extent_bytes,
        plan_s=clock.elapsed_s,
        solver=f"layered streaming, {chosen['pipeline']}{', joint' * chosen['joint']}",
    )


def _details(
    graph: Graph, times: Times, choice: Choice, chosen: Mapping[str, Any]
) -> dict[str, Any]:
    """What the runtime and the views read."""
    made = choice.schedule
    names = ("shared",) if len(made.rings) == 1 else ("cpu", "gpu")
    rings = dict(zip(names, made.rings, strict=True))
    joint = made.kind == "joint"
    return {
        "pipeline": chosen["pipeline"],
        "times": times.title,
        "slices": choice.way.slices,
        "twice": chosen["twice"],
        "joint": joint,
        "rings": {name: ring.size_bytes for name, ring in rings.items()},
        "activation_bytes": 0 if joint else choice.activations.size_bytes,
        "delay_s": choice.delay_s,
        "preload_s": made.preload_s,
        "bound_s": guaranteed_bound(graph, times, choice, chosen["spread"]),
        "band": _band(graph, times, choice, chosen),
        "kernel_s": sum(layer.kernel_s for layer in made.layers),
        "front": choice.memory_front,
        "layers": _layers(graph, choice, rings),
    }


def _layers(graph: Graph, choice: Choice, rings: Mapping[str, Places]) -> list[dict[str, Any]]:
    """Each layer: its parameters, times, and for each ring where it lies and whom it waits for."""
    both = zip(choice.way.units, choice.schedule.layers, strict=True)
    return [
        {
            "operator": graph.operators[unit.operator].name,
            "parameters": [piece.tensor for piece in unit.pieces],
            **_slice(unit),
            "size_bytes": layer.size_bytes,
            "read_s": layer.read_s,
            "copy_s": layer.copy_s,
            "kernel_s": layer.kernel_s,
            "offsets": {name: ring.offsets[i] for name, ring in rings.items()},
            "waits": {name: ring.waits[i] for name, ring in rings.items()},
        }
        for i, (unit, layer) in enumerate(both)
    ]


def _slice(unit: Unit) -> dict[str, Any]:
    """Of a slice: the box that it makes, and the boxes of its parameters."""
    if unit.part is None:
        return {}
    boxes = [[list(axis) for axis in piece.box] for piece in unit.pieces]
    return {"part": [list(axis) for axis in unit.part], "boxes": boxes}


def _band(
    graph: Graph, times: Times, choice: Choice, chosen: Mapping[str, Any]
) -> dict[str, Any] | None:
    if not chosen["draws"]:
        return None
    found = band(graph, times, choice, chosen["draws"], chosen["seed"], chosen["spread"])
    return asdict(found)


def _notes(
    graph: Graph, times: Times, choice: Choice, chosen: Mapping[str, Any]
) -> tuple[str, ...]:
    made = choice.schedule
    rings = " and ".join(str(ring.size_bytes) for ring in made.rings)
    memory = f"memory is rings ({rings} bytes) and activations together; the paper counts rings"
    if made.kind == "joint":
        memory = "weights and activations lie in one memory, which the paper leaves out"
    notes = [
        f"parameters and activations, {graph.bytes_per_element} byte(s) an element, "
        f"granularity {graph.granularity}",
        memory,
        f"times: {times.title}",
    ]
    if made.kind == "joint":
        notes.append(
            "the front is of bounds on memory: addresses were sought for the delay that was chosen"
        )
    elif chosen["pipeline"] == "exact" and chosen["slices"] == 1:
        notes.append("no ring sizes within the budget have less delay, with these times")
    if made.kind == "pre":
        notes.append("the delay is from when all is loaded, as the paper counts it")
    if len(choice.way.units) > len(graph.operators):
        cut = len(choice.way.units) - len(graph.operators)
        notes.append(f"large layers in slices of output channels: {cut} layers more")
    if any(before >= 0 for before in held_by(choice.way.units)):
        notes.append(
            "operators that share parameters read them again: a layer waits until the one before "
            "has left, which the delay does not count"
        )
    return tuple(notes)
