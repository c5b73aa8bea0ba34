"""What each change would buy: addresses, alignment, in place, another order, overlap.

Each is by itself, of a plan of one memory whose network is known, and by the tool's own rules: what
is live when. Only operators that run together are counted by our planner, without the tool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from planners.allocation.min_capacity import Tightest, pack_tightest
from planners.audits.foreign import ForeignPlan, ForeignTensor
from planners.audits.verdict.judge import MemoryAudit
from planners.catalogue.loading import load
from planners.core.element_types import NATIVE
from planners.core.errors import BadInput, SpillwayError
from planners.core.graph import Graph
from planners.core.machine import load_machine
from planners.core.progress import TRIAL_SHARE, Clock
from planners.core.registry import OVERLAP, planner
from planners.core.services import LEAST_PEAK
from planners.core.watchdog import TimeUp, give_up_after

MACHINE, ENOUGH_BYTES = "stm32f411", 1 << 40
"""Any machine would do: bytes do not depend on it."""
IN_PLACE = frozenset(
    "ABS ADD CAST CEIL COS DEQUANTIZE DIV ELU EXP EXPAND_DIMS FLOOR GELU HARD_SWISH LEAKY_RELU LOG "
    "LOGICAL_AND LOGICAL_NOT LOGICAL_OR LOGISTIC MAXIMUM MINIMUM MUL NEG PRELU QUANTIZE RELU RELU6 "
    "RELU_N1_TO_1 RESHAPE ROUND RSQRT SIN SQRT SQUARE SQUARED_DIFFERENCE SQUEEZE SUB TANH".split()
)
"""Operators that read an element before they write the one in its place."""


@dataclass(frozen=True, slots=True)
class AuditGain:
    """The bytes that a plan would have with one change; `proven` where no plan with it has less."""

    change: str
    extent_bytes: int
    saved_bytes: int
    proven: bool


Change = Callable[[ForeignPlan, Graph, Clock], ForeignPlan]


def gains(
    plan: ForeignPlan, audited: MemoryAudit, clock: Clock, overlapped: bool
) -> Iterator[AuditGain]:
    """What there is to gain, within the clock; nothing where the network is not known.

    Of plans that are `overlapped` already, changes of those apart are no gain.
    """
    graph = plan.graph
    if graph is None or plan.memories != (audited.memory,):
        return
    own_bytes = audited.judged_bytes

    def gain(change: str, tight: Tightest, proven: bool = True) -> AuditGain:
        extent = tight.extent_bytes
        return AuditGain(change, extent, own_bytes - extent, proven and tight.bound_bytes == extent)

    yield AuditGain(
        "addresses", audited.least_bytes, own_bytes - audited.least_bytes, audited.proven
    )
    changes: tuple[tuple[str, Change, bool], ...] = (
        ("no alignment", unaligned, True),
        ("in place", in_place, False),
        ("another order", reordered, False),
    )
    for change, changed, proven in () if overlapped else changes:
        if clock.expired():
            return
        yield gain(change, _packed(changed(plan, graph, clock), audited.memory, clock), proven)
    yield from _over_inputs(graph, own_bytes, clock)
    if all(op.inputs for op in graph.operators):  # No constants that are unpacked into the arena.
        yield from _together(graph, own_bytes, clock)


def _packed(plan: ForeignPlan, memory: str, clock: Clock) -> Tightest:
    lifetimes = [t.lifetime for t in plan.inside(memory)]
    return pack_tightest(lifetimes, clock=clock.silent(TRIAL_SHARE))


def _with(plan: ForeignPlan, tensors: Sequence[ForeignTensor]) -> ForeignPlan:
    """The plan with other tensors, none of which has a place."""
    return replace(plan, tensors=tuple(replace(t, offset=None) for t in tensors))


def unaligned(plan: ForeignPlan, graph: Graph, clock: Clock) -> ForeignPlan:
    """Tensors of their own bytes, anywhere."""
    sizes = {name: graph.size_bytes(name) for name in graph.tensors}
    return _with(
        plan,
        [replace(t, size_bytes=sizes.get(t.id, t.size_bytes), alignment=1) for t in plan.tensors],
    )


def in_place(plan: ForeignPlan, graph: Graph, clock: Clock) -> ForeignPlan:
    """Outputs of operators that go element by element over an input of their size that dies."""
    tensors = {t.id: t for t in plan.tensors}
    root: dict[str, str] = {}
    for step, op in enumerate(graph.operators, plan.first_step):
        if op.kind not in IN_PLACE or len(op.outputs) != 1 or op.outputs[0] not in tensors:
            continue
        output = tensors[op.outputs[0]]
        for name in op.inputs:
            read = tensors[name]
            if (
                read.upper == step + 1
                and read.size_bytes == output.size_bytes
                and name != output.id
            ):
                root[output.id] = root.get(name, name)
                root[name] = root[output.id]
                break
    return _with(plan, [replace(t, alias=root.get(t.id, "")) for t in plan.tensors])


def reordered(plan: ForeignPlan, graph: Graph, clock: Clock) -> ForeignPlan:
    """Operators in the order of least peak that is found."""
    peak = LEAST_PEAK.function()(graph, clock=clock.silent(TRIAL_SHARE))
    return in_order(plan, graph, peak.schedule)


def in_order(plan: ForeignPlan, graph: Graph, order: Sequence[int]) -> ForeignPlan:
    """The lifetimes of another order, by the plan's rules.

    What an order does not touch keeps its steps: inputs are there from the first, outputs to the
    last step; a buffer that an operator needs for itself goes with it.
    """
    first, end = plan.first_step, plan.first_step + len(order)
    step = {position: at for at, position in enumerate(order, first)}
    moved = []
    for tensor in plan.tensors:
        lower, upper = tensor.lower, tensor.upper
        if tensor.id in graph.tensors:
            uses = [step[i] for i in graph.consumers[tensor.id]]
            if tensor.id in graph.producer:
                lower = step[graph.producer[tensor.id]]
            upper = end if tensor.id in graph.outputs else max([lower, *uses]) + 1
        elif first <= lower < end:
            lower, upper = step[lower - first], step[lower - first] + 1
        moved.append(replace(tensor, lower=lower, upper=upper))
    return _with(plan, moved)


def _over_inputs(graph: Graph, own_bytes: int, clock: Clock) -> Iterator[AuditGain]:
    """Outputs over inputs that die, as far as the runtime's reference kernels go along."""
    if clock.expired() or not (path := graph.source.get("tflite")):
        return
    limit = clock.among(2).left_s
    from planners.audits.cure.tflm import planned  # and TensorFlow Lite's format

    try:
        with give_up_after(limit):
            _, arena = planned(path, overlap=True, time_limit_s=limit)
    except (TimeUp, BadInput):
        return
    yield AuditGain(OVERLAP, arena.head_bytes, own_bytes - arena.head_bytes, arena.proven)


def _together(graph: Graph, own_bytes: int, clock: Clock) -> Iterator[AuditGain]:
    """Operators that run together in a pool, as our planner writes them as code."""
    if clock.expired() or not (path := graph.source.get("tflite")):
        return
    part = clock.among(2)
    options: dict[str, Any] = {"objective": "ram", "time_limit": part.option_s}
    try:
        fused = planner(OVERLAP).plan(
            load(path, bytes_per_element=NATIVE, fold_padding=False),
            load_machine(MACHINE),
            ENOUGH_BYTES,
            options,
            part.within,
        )
    except SpillwayError:
        return
    size, proven = fused.claims.objective_bytes, fused.claims.status == "optimal"
    yield AuditGain("operators together", size, own_bytes - size, proven)
