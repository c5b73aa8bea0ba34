"""Demand Layering: parameters layer by layer through rings, the least memory at a delay.

`METHOD` is the map: what is decided, where, and what is proven. Within it, `model/` makes an
operator, or a slice of its output channels, one layer with its times; `schedule/` says when each
ends in a pipeline (constraints 3), where layers lie in rings and whom they wait for; `search/` says
which pipeline and slices there are, `place/` where activations lie, `emit/` the program. Beside it:
`search/bound` (a delay that is never exceeded) and `several/` (networks that share rings under
deadlines).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from planners.core.details import Details
from planners.core.details.streamed import DelayBand, Ring, StreamedLayer, StreamedParameters
from planners.core.graph import Graph
from planners.core.lookups import with_rows_read
from planners.core.machine import Machine
from planners.core.method import Decision
from planners.core.plan import Plan
from planners.core.problem import Problem
from planners.core.progress import ProgressCallback
from planners.simulator.account import account
from planners.simulator.given_times import seconds_of
from planners.simulator.timing import schedule
from planners.streaming.emit.program import emit, held_by
from planners.streaming.model.times import Times, given_times, times_of
from planners.streaming.options import StreamingOptions
from planners.streaming.schedule.ring import RingPlaces
from planners.streaming.search.bound import band, guaranteed_bound
from planners.streaming.search.choose import ScheduleChoice, choose
from planners.wishes.language import refused

METHOD = (
    Decision(
        "the times of a layer: read, copied and run",
        "the machine's roofline, a fitted model or a table",
        ("planners.streaming.model.times",),
    ),
    Decision(
        "the slices of each operator",
        "one number for all, then refined operator by operator",
        ("planners.streaming.search.ways",),
        "of one slicing all that follows is the best",
    ),
    Decision(
        "the sizes of rings",
        "every size at which anything changes",
        ("planners.streaming.schedule.exact",),
        "no ring sizes within the budget have less delay, with these times",
    ),
    Decision(
        "the order of reads, copies and kernels",
        "each as early as the one before allows",
        ("planners.streaming.schedule.order",),
    ),
    Decision(
        "where activations lie, and weights with them (`joint`)",
        "the tightest packing of a delay",
        ("planners.streaming.place.joint",),
        "no addresses in less memory have this delay",
    ),
    Decision(
        "the pipeline, of those asked for",
        "the least delay, then the least memory",
        ("planners.streaming.search.choose",),
    ),
)
"""The method, in the order in which it decides."""


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
    graph = with_rows_read(graph, ahead=True)
    chosen = StreamingOptions.from_values(refused(options, graph, "streaming"))
    request = Problem.start(graph, machine, budget_bytes, chosen, progress)
    times = times_of(graph, machine, chosen.times)
    return _finished(request, times, choose(request, times))


def _finished(request: Problem[StreamingOptions], times: Times, choice: ScheduleChoice) -> Plan:
    graph, machine, chosen = request.graph, request.sized, request.options
    program = emit(graph, machine, choice.way.units, choice.schedule, choice.activations)
    given = given_times(graph, times, choice.way.units, choice.schedule.layers)
    if choice.schedule.kind == "joint":  # Addresses may leave more room than the delay needs.
        seconds = seconds_of(program, graph, given) if given else ()
        last = schedule(program, machine, graph, seconds=seconds)
        choice = replace(choice, delay_s=max(interval.stop_s for interval in last))
    solver = f"layered streaming, {chosen.pipeline}{', joint' * (choice.schedule.kind == 'joint')}"
    claims = account(graph, program).claims(
        choice.memory_bytes, choice.bound_bytes, solver, request.clock
    )
    notes = _notes(graph, times, choice, chosen)
    details = Details(_streamed(graph, times, choice, chosen))
    return request.plan(program, claims, notes, details, given)


def _streamed(
    graph: Graph, times: Times, choice: ScheduleChoice, chosen: StreamingOptions
) -> StreamedParameters:
    """What the runtime and the views read."""
    schedule = choice.schedule
    names: tuple[Ring, ...] = ("shared",) if len(schedule.rings) == 1 else ("cpu", "gpu")
    rings = dict(zip(names, schedule.rings, strict=True))
    joint = schedule.kind == "joint"
    return StreamedParameters(
        pipeline=chosen.pipeline,
        times=times.title,
        slices=choice.way.slices,
        twice=chosen.twice,
        joint=joint,
        rings={name: ring.size_bytes for name, ring in rings.items()},
        activation_bytes=0 if joint else choice.activations.size_bytes,
        delay_s=choice.delay_s,
        preload_s=schedule.preload_s,
        bound_s=guaranteed_bound(graph, times, choice, chosen.spread),
        band=_band(graph, times, choice, chosen),
        kernel_s=sum(layer.kernel_s for layer in schedule.layers),
        front=choice.memory_front,
        layers=tuple(_layers(graph, choice, rings)),
    )


def _layers(
    graph: Graph, choice: ScheduleChoice, rings: Mapping[Ring, RingPlaces]
) -> Iterator[StreamedLayer]:
    """Each layer: its parameters, times, and for each ring where it lies and whom it waits for."""
    both = zip(choice.way.units, choice.schedule.layers, strict=True)
    for i, (unit, layer) in enumerate(both):
        yield StreamedLayer(
            operator=graph.operators[unit.operator].name,
            parameters=tuple(piece.tensor for piece in unit.pieces),
            size_bytes=layer.size_bytes,
            read_s=layer.read_s,
            copy_s=layer.copy_s,
            kernel_s=layer.kernel_s,
            offsets={name: ring.offsets[i] for name, ring in rings.items()},
            waits={name: ring.waits[i] for name, ring in rings.items()},
            part=unit.part,
            boxes=None if unit.part is None else tuple(piece.box for piece in unit.pieces),
        )


def _band(
    graph: Graph, times: Times, choice: ScheduleChoice, chosen: StreamingOptions
) -> DelayBand | None:
    if not chosen.draws:
        return None
    return band(graph, times, choice, chosen.draws, chosen.seed, chosen.spread)


def _notes(
    graph: Graph, times: Times, choice: ScheduleChoice, chosen: StreamingOptions
) -> tuple[str, ...]:
    schedule = choice.schedule
    rings = " and ".join(str(ring.size_bytes) for ring in schedule.rings)
    memory = f"memory is rings ({rings} bytes) and activations together; the paper counts rings"
    if schedule.kind == "joint":
        memory = "weights and activations lie in one memory, which the paper leaves out"
    notes = [
        f"parameters and activations, {graph.width_words}, granularity {graph.granularity}",
        memory,
        f"times: {times.title}",
    ]
    if schedule.kind == "joint":
        notes.append(
            "the front is of bounds on memory: addresses were sought for the delay that was chosen"
        )
    elif chosen.pipeline == "exact" and chosen.slices == 1:
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
