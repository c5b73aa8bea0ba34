"""The streaming planner: how little memory parameters need, at which delay (Demand Layering)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from planners.graph.model import Graph
from planners.machine import Machine, with_scratchpad
from planners.plan import Claims, Plan
from planners.program import Program
from planners.progress import Clock, ProgressCallback
from planners.simulator.account import account
from planners.streaming.activations import Activations, pack_activations
from planners.streaming.bound import band, guaranteed_bound
from planners.streaming.choose import Choice, choose, front_json
from planners.streaming.emit import emit, held_by
from planners.streaming.layers import Unit
from planners.streaming.options import checked
from planners.streaming.times import Times, times_of


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
    wrap), `slices` (no layer larger than the largest over this; 0: what is best), `times`
    (`roofline`, or a table's path), `spread` (times may be longer by this share: gives a
    guaranteed bound), `draws` and `seed` (of a Monte Carlo band), `time_limit` in seconds.
    Parameters always count.

    Claims: `objective_bytes` is the memory of rings and activations. Raises `BudgetTooSmall` with
    the largest layer, `BadInput` for options that do not exist.
    """
    chosen = checked(options)
    clock = Clock(chosen["time_limit"], progress)
    times = times_of(graph, machine, chosen["times"])
    clock.report("activations")
    activations = pack_activations(graph, clock)
    clock.report("rings")
    choice = choose(graph, machine, times, activations, budget_bytes, chosen)
    return _finished(graph, machine, budget_bytes, times, activations, choice, chosen, clock)


def _finished(
    graph: Graph,
    machine: Machine,
    budget_bytes: int,
    times: Times,
    activations: Activations,
    choice: Choice,
    chosen: Mapping[str, Any],
    clock: Clock,
) -> Plan:
    machine = with_scratchpad(machine, budget_bytes)
    made = emit(graph, machine, choice.way.units, choice.schedule, activations, times)
    memory = choice.schedule.memory_bytes + activations.size_bytes
    clock.report("done", memory)
    details: dict[str, Any] = {"streaming": _details(graph, times, activations, choice, chosen)}
    if made.seconds:
        details["seconds"] = list(made.seconds)
    return Plan(
        planner="streaming",
        graph=graph,
        machine=machine,
        budget_bytes=budget_bytes,
        program=made.program,
        claims=_claims(graph, made.program, activations, choice, chosen, clock),
        options={key: value for key, value in chosen.items() if key != "time_limit"},
        notes=_notes(graph, times, choice, chosen),
        details=details,
    )


def _claims(
    graph: Graph,
    program: Program,
    activations: Activations,
    choice: Choice,
    chosen: Mapping[str, Any],
    clock: Clock,
) -> Claims:
    moved = account(graph, program)
    rings = choice.schedule.memory_bytes
    largest = max((layer.size_bytes for layer in choice.way.layers), default=0)
    # Of the exact front, no smaller rings have this delay; of any rings, one holds each layer.
    least = rings if chosen["pipeline"] == "exact" and chosen["slices"] == 1 else largest
    bound = least + activations.bound_bytes
    memory = rings + activations.size_bytes
    return Claims(
        status="optimal" if bound == memory else "feasible",
        objective_bytes=memory,
        bound_bytes=bound,
        compulsory_bytes=moved.compulsory_bytes,
        noncompulsory_bytes=moved.traffic_bytes - moved.compulsory_bytes,
        peak_bytes=moved.peak_bytes,
        extent_bytes=moved.extent_bytes,
        plan_s=clock.elapsed_s,
        solver=f"layered streaming, {chosen['pipeline']}",
    )


def _details(
    graph: Graph,
    times: Times,
    activations: Activations,
    choice: Choice,
    chosen: Mapping[str, Any],
) -> dict[str, Any]:
    """What the runtime and the views read."""
    schedule = choice.schedule
    names = ("shared",) if len(schedule.rings) == 1 else ("cpu", "gpu")
    rings = dict(zip(names, schedule.rings, strict=True))
    return {
        "pipeline": chosen["pipeline"],
        "times": times.title,
        "slices": choice.way.slices,
        "twice": chosen["twice"],
        "rings": {name: ring.size_bytes for name, ring in rings.items()},
        "activation_bytes": activations.size_bytes,
        "delay_s": choice.delay_s,
        "preload_s": schedule.preload_s,
        "bound_s": guaranteed_bound(graph, times, choice, chosen["spread"]),
        "band": _band(graph, times, choice, chosen),
        "kernel_s": sum(layer.kernel_s for layer in schedule.layers),
        "front": front_json(choice.front, activations.size_bytes),
        "layers": [
            {
                "operator": graph.operators[unit.operator].name,
                "parameters": [piece.tensor for piece in unit.pieces],
                **_slice(unit),
                "size_bytes": layer.size_bytes,
                "read_s": layer.read_s,
                "copy_s": layer.copy_s,
                "kernel_s": layer.kernel_s,
                "offsets": {name: ring.offsets[i] for name, ring in rings.items()},
            }
            for i, (unit, layer) in enumerate(zip(choice.way.units, schedule.layers, strict=True))
        ],
    }


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
    schedule = choice.schedule
    rings = " and ".join(str(ring.size_bytes) for ring in schedule.rings)
    notes = [
        f"parameters and activations, {graph.bytes_per_element} byte(s) an element, "
        f"granularity {graph.granularity}",
        f"memory is rings ({rings} bytes) and activations together; the paper counts rings only",
        f"times: {times.title}",
    ]
    if chosen["pipeline"] == "exact" and chosen["slices"] == 1:
        notes.append("no ring sizes within the budget have less delay, with these times")
    if schedule.kind == "pre":
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
