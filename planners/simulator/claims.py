"""Numbers beside the bytes that a plan claims, compared with its program, machine and given times.

What only a planner knows is not compared: `not_compared` names it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from math import isclose
from typing import NamedTuple

from planners.core.details.streamed import Ring, StreamedParameters
from planners.core.errors import InvalidPlan
from planners.core.objective import SIMULATED
from planners.core.plan import Plan, assert_plan
from planners.core.program import Compute, Load, Piece, Region
from planners.core.progress import ProgressCallback
from planners.core.weights import COUNTED, IN_PLACE, LEFT_OUT, weights_of
from planners.simulator.check import CheckReport, replay_claimed
from planners.simulator.records.residency import Residency
from planners.simulator.simulate import Trace, traced

NEAR = 1e-9
"""Seconds and joules that are this close, as a share, are equal: they are sums in other orders."""


class _Claimed(NamedTuple):
    """A number that a plan claims, and the same as its program has it."""

    name: str
    claimed: float
    actual: float

    @property
    def holds(self) -> bool:
        return isclose(self.claimed, self.actual, rel_tol=NEAR, abs_tol=1e-15)


class _Moved(NamedTuple):
    """A load of parameters: whether it reads or copies them, its seconds, and where to."""

    way: str
    seconds: float
    target: Region


def check(plan: Plan, progress: ProgressCallback | None = None) -> CheckReport:
    """Replay a plan and compare what it does with what its planner claims: bytes, and seconds and
    joules where it claims any. `not_compared` names what is not.

    `progress` is called from time to time with the current step; its answer is ignored. Raises
    `InvalidPlan` with the step, the address and the reason.
    """
    assert_plan(plan)
    report = replay_claimed(plan, progress)
    _require_claimed(plan, report)
    return report


def _require_claimed(plan: Plan, report: CheckReport) -> None:
    """Compare what is claimed beside the bytes; a plan that claims seconds or joules is timed.

    Raises `InvalidPlan` with the first number that is not the program's.
    """
    trace = traced(plan, report, plan.machine) if _claims_seconds(plan) else None
    for one in (
        *_of_times(plan, trace),
        *_of_streaming(plan, trace),
        *_of_pool(plan, report),
        *_of_moves(plan, report.residencies),
    ):
        if not one.holds:
            _refuse(f"{one.name}: the plan claims {one.claimed:g}, the program has {one.actual:g}")
    for text in (*_out_of_order(plan), *_against_options(plan)):
        _refuse(text)


def not_compared(plan: Plan) -> tuple[str, ...]:
    """The numbers of a plan that `check` takes from its planner: proofs, and what is of other
    plans, memories or times. Of a bound it sees that it is no more than what it bounds."""
    details = plan.details
    names = ["bound_bytes", "plan_s"]
    if details.latency is not None:
        names.append("latency.bound_s")
    if details.best is not None:
        names += ["best_of_all.floor", "best_of_all.forms"]
    if details.tried:
        names.append("the planners that were tried")
    if details.pool is not None:
        names += ["front.extra_macs", "other points of the front", "modulos"]
    if streamed := details.streamed:
        names += ["streaming.bound_s", "streaming.slices", "other points of streaming.front"]
        names += ["streaming.band"] * (streamed.band is not None)
        names += ["streaming.waits"] * (not _waits_by_ring(streamed))
    return tuple(names)


def _claims_seconds(plan: Plan) -> bool:
    details = plan.details
    timed = details.best is not None and details.best.objective in SIMULATED
    return timed or details.latency is not None or details.streamed is not None


def _refuse(text: str) -> None:
    raise InvalidPlan(text, kind="claims")


def _of_times(plan: Plan, trace: Trace | None) -> Iterator[_Claimed]:
    latency, best = plan.details.latency, plan.details.best
    if latency is not None and trace is not None:
        yield _Claimed("latency.seconds", latency.seconds, trace.makespan_s)
    if best is not None:
        values: dict[str, float] = {
            "traffic": plan.claims.offchip_bytes,
            "memory": plan.claims.extent_bytes,
        }
        if trace is not None:
            values |= {"latency": trace.makespan_s, "energy": trace.energy_j}
        if best.objective in values:
            yield _Claimed("best_of_all.value", best.value, values[best.objective])


def _of_pool(plan: Plan, report: CheckReport) -> Iterator[_Claimed]:
    """Its size, its point of the front, and where the first piece of each tensor lies."""
    if plan.details.pool is None:
        return
    layout = plan.details.pool.layout
    sizes = [m.size_bytes or 0 for m in plan.program.memories if m.circular]
    yield _Claimed("layout.pool_bytes", layout.pool_bytes, max(sizes, default=0))
    points = [point.ram_bytes for point in plan.details.pool.front]
    if points and layout.pool_bytes not in points:
        _refuse(f"front: {layout.pool_bytes:,} bytes, which the pool takes, are no point of it")
    began: dict[str, Residency] = {}
    for residency in report.residencies:
        if residency.tensor in layout.offsets:
            began.setdefault(residency.tensor, residency)
            if len(began) == len(layout.offsets):  # There may be millions.
                break
    for name, residency in began.items():
        offset = layout.offsets[name] % layout.pool_bytes
        yield _Claimed(f"layout.offsets.{name}", offset, residency.spans[0].start)


def _of_moves(plan: Plan, residencies: Iterable[Residency]) -> Iterator[_Claimed]:
    """A tensor that was moved by hand begins where it was moved to last."""
    last: dict[tuple[str, int], int] = {}
    for move in plan.details.moves:
        key = move.tensor, move.step
        if key in last:
            yield _Claimed(f"by_hand.{move.tensor}.from", move.start, last[key])
        last[key] = move.stop
    if not last:
        return
    begins: dict[tuple[str, int], set[int]] = {key: set() for key in last}
    for residency in residencies:
        if (key := (residency.tensor, residency.start_step)) in begins:
            begins[key].add(residency.spans[0].start)
    for (tensor, step), there in begins.items():
        if not there:
            _refuse(f"by_hand.{tensor:.60}: it does not come in step {step}")
        to = last[tensor, step]
        yield _Claimed(f"by_hand.{tensor}.to", to, to if to in there else min(there))


def _of_streaming(plan: Plan, trace: Trace | None) -> Iterator[_Claimed]:
    streamed = plan.details.streamed
    if streamed is None or trace is None:
        return
    whole = streamed.preload_s + streamed.delay_s
    yield _Claimed("streaming.delay_s", whole, trace.makespan_s)
    kernels = sum(layer.kernel_s for layer in streamed.layers)
    yield _Claimed("streaming.kernel_s", streamed.kernel_s, kernels)
    sizes = {m.name: m.size_bytes or 0 for m in plan.program.memories}
    for name, size in streamed.rings.items():
        yield _Claimed(f"streaming.rings.{name}", size, sizes.get(_RINGS[name], 0))
    activations = 0 if streamed.joint else sizes.get("activations", 0)
    yield _Claimed("streaming.activation_bytes", streamed.activation_bytes, activations)
    memory = sum(streamed.rings.values()) + streamed.activation_bytes
    sizes_of = [size for size, _ in streamed.front]
    if sizes_of and memory not in sizes_of:
        _refuse(f"streaming.front: {memory:,} bytes, which the plan takes, are no point of it")
    yield from _of_layers(plan, streamed, trace)
    if _waits_by_ring(streamed):
        for ring, size in streamed.rings.items():
            yield from _of_waits(streamed, ring, size)


def _waits_by_ring(streamed: StreamedParameters) -> bool:
    """Whether layers wait for bytes of their ring: not where one runs after the other, or all is
    loaded ahead, or activations are in the way too."""
    return not streamed.joint and streamed.pipeline not in ("pre", "seq", "sync")


def _of_waits(streamed: StreamedParameters, ring: Ring, size: int) -> Iterator[_Claimed]:
    """The last layer whose bytes a layer takes in a ring, or one before it has taken: layers leave
    in order."""
    waits: list[tuple[int, int, int]] = []  # From, to and layer, by address.
    last = -1
    for number, layer in enumerate(streamed.layers):
        wanted = -1
        if layer.size_bytes:
            begin = layer.offsets[ring] % max(1, size)
            stop = begin + layer.size_bytes
            for low, high in ((begin, min(stop, size)), (0, stop - size)):
                if low < high:
                    at = bisect_right(waits, low, key=lambda span: span[1])
                    end = bisect_left(waits, high, key=lambda span: span[0])
                    last = max([last, *(span[2] for span in waits[at:end])])
                    cut = [(a, low, n) for a, _, n in waits[at:end] if a < low]
                    cut.append((low, high, number))
                    cut += [(high, b, n) for _, b, n in waits[at:end] if high < b]
                    waits[at:end] = cut
            wanted = last
        yield _Claimed(f"streaming.layers[{number}].waits.{ring}", layer.waits[ring], wanted)


def _of_layers(plan: Plan, streamed: StreamedParameters, trace: Trace) -> Iterator[_Claimed]:
    """Layers run one after the other, each an operator or a slice of one; what is loaded for it is
    what its kernel reads."""
    graph, seconds = plan.graph, {i.instruction: i.stop_s - i.start_s for i in trace.intervals}
    loads: dict[Piece, list[_Moved]] = {}
    number = 0
    for position, item in enumerate(plan.program.instructions):
        if isinstance(item, Load) and graph.tensors[item.piece.tensor].kind == "parameter":
            way = "copy_s" if item.source.memory == _RINGS["cpu"] else "read_s"
            moved = _Moved(way, seconds[position], item.target)
            loads.setdefault(item.piece, []).append(moved)
        if not isinstance(item, Compute):
            continue
        name = f"streaming.layers[{number}]"
        if number == len(streamed.layers):
            _refuse(f"{name}: the program runs {item.operator!r:.60}, the plan has no such layer")
        layer = streamed.layers[number]
        if layer.operator != item.operator:
            _refuse(f"{name}: it is {layer.operator!r:.60}, the program runs {item.operator!r:.60}")
        read = [o for o in item.reads if graph.tensors[o.piece.tensor].kind == "parameter"]
        came = [moved for o in read for moved in loads.pop(o.piece, ())]
        yield _Claimed(f"{name}.kernel_s", layer.kernel_s, seconds[position])
        size = sum(operand.region.size_bytes for operand in read)
        yield _Claimed(f"{name}.size_bytes", layer.size_bytes, size)
        for way in ("read_s", "copy_s"):
            if took := [moved.seconds for moved in came if moved.way == way]:
                yield _Claimed(f"{name}.{way}", getattr(layer, way), sum(took))
        for ring, offset in layer.offsets.items():
            # Addresses may go round twice: the layer begins where one of its pieces does.
            at = offset % max(1, streamed.rings[ring])
            there = {m.target.offset or 0 for m in came if m.target.memory == _RINGS[ring]}
            if there and at not in there:
                yield _Claimed(f"{name}.offsets.{ring}", offset, min(there))
        number += 1
    yield _Claimed("streaming.layers", len(streamed.layers), number)


def _out_of_order(plan: Plan) -> Iterator[str]:
    """Bounds and floors above what they bound, and lists that do not fall or rise."""
    latency, best, streamed = plan.details.latency, plan.details.best, plan.details.streamed
    pairs: list[tuple[str, float, float]] = [("plan_s", 0.0, plan.claims.plan_s)]
    if latency is not None:
        pairs.append(("latency.bound_s", latency.bound_s, latency.seconds))
    if best is not None:
        pairs.append(("best_of_all.floor", best.floor, best.value))
    if streamed is not None:
        pairs.append(("streaming.preload_s", 0.0, streamed.preload_s))
        if streamed.bound_s is not None:
            pairs.append(("streaming.bound_s", streamed.delay_s, streamed.bound_s))
        if band := streamed.band:
            rising = (band.least_s, band.p5_s, band.median_s, band.p95_s, band.largest_s)
            pairs += [("streaming.band", one, other) for one, other in pairwise(rising)]
        for (memory, delay), (more, less) in pairwise(streamed.front):
            pairs += [("streaming.front", memory, more), ("streaming.front", less, delay)]
    for name, low, high in pairs:
        if not (low >= 0 and low <= high + NEAR * abs(high)):
            yield f"{name}: {low:g} is claimed to be no more than {high:g}"
    if best is not None and best.proven and best.floor < best.value * (1 - NEAR):
        yield f"best_of_all: proven at {best.value:g}, and its floor is {best.floor:g}"


def _against_options(plan: Plan) -> Iterator[str]:
    """Options that are not those of the program."""
    weights, does = plan.options.get("weights"), weights_of(plan.graph, plan.program)
    if weights in (COUNTED, IN_PLACE) and does == LEFT_OUT:  # A planner may read one as the other.
        yield f"options: weights are {weights!r}, and the program leaves them out"
    if streamed := plan.details.streamed:
        for name in ("pipeline", "joint", "twice"):
            wanted, has = plan.options.get(name), getattr(streamed, name)
            if name == "joint" and wanted:
                continue  # Rings apart from activations may be as good: those are offered too.
            if wanted is not None and wanted != has:
                yield f"options: {name} is {wanted!r:.40}, the plan streams with {has!r:.40}"


_RINGS: Mapping[str, str] = {"shared": "ring", "gpu": "gpu ring", "cpu": "cpu ring"}
