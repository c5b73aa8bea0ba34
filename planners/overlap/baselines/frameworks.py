"""What other frameworks need of RAM: TinyEngine, schedulers of whole tensors, TFLite Micro.

Each counts activations and, where stated, the workspace of its kernels; weights are in flash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planners.allocation.arena import best_fit_arena
from planners.allocation.problem.model import Lifetime, live_peak
from planners.core.errors import BadInput
from planners.core.graph import Graph, Operator
from planners.core.progress import Clock
from planners.core.services import LEAST_PEAK

TFLM_ALIGNMENT = 16
"""Bytes: TFLite Micro's `MicroArenaBufferAlignment`."""


@dataclass(frozen=True, slots=True)
class LayerBytes:
    """Bytes while one operator runs: of tensors, and of its kernel's workspace."""

    operator: str
    tensor_bytes: int
    workspace_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Ram:
    """The RAM of a network: the layers in the order they run, and what the whole needs.

    `binding_operator`: where the tensors' peak is. `static_bytes`: buffers beside the tensors that
    are there all the time. `proven`: no order of operators needs less under this method's rules;
    without it the order is the default one.
    """

    layers: tuple[LayerBytes, ...]
    tensor_bytes: int
    static_bytes: int
    binding_operator: str
    proven: bool = False

    @property
    def total_bytes(self) -> int:
        return self.tensor_bytes + self.static_bytes


def is_depthwise(graph: Graph, op: Operator) -> bool:
    """Whether each output channel reads one input channel of its own."""
    if op.kind != "conv2d" or op.groups == 1:
        return False
    channels = {graph.tensors[t].shape[1] for t in (op.inputs[0], *op.outputs)}
    return channels == {op.groups}


def tinyengine(graph: Graph) -> Ram:
    """TinyEngine: depthwise convolutions in place, any other output apart, in default order.

    Static: one im2col buffer and one for the stem. A depthwise kernel copies a channel with its
    padding, 2(H + 2p)² bytes; any other convolution two columns of 16 bits, 4·k²·C_in bytes; the
    stem's weights lie in RAM as 16 bits. It agrees with what that project publishes of its MCUNet
    models (`PUBLISHED_KIB` in `planners.papers.vmcu.paper`).
    """
    live = _live(graph, range(len(graph.operators)))
    layers = []
    for op, live_bytes in zip(graph.operators, live, strict=True):
        shared = _shared(graph, op) if is_depthwise(graph, op) else 0
        layers.append(LayerBytes(op.name, live_bytes - shared, workspace(graph, op)))
    static = max(layer.workspace_bytes for layer in layers) + 2 * _stem_weights(graph)
    return _ram(tuple(layers), static)


def workspace(graph: Graph, op: Operator) -> int:
    """Bytes that TinyEngine's kernel of an operator needs beside its tensors."""
    if op.kind == "linear":
        return 4 * graph.tensors[op.inputs[0]].elements
    if op.kind != "conv2d":
        return 0
    _, channels, *rows = graph.tensors[op.inputs[0]].shape
    if is_depthwise(graph, op):
        high, wide = (n + 2 * p for n, p in zip(rows, op.padding, strict=True))
        return 2 * high * wide
    return 4 * op.kernel[0] * op.kernel[1] * channels


def hmcos(graph: Graph, time_limit_s: float = 10.0) -> Ram:
    """HMCOS and its like: whole tensors apart, in the best order of operators; no workspace.

    The order is COSMA's minimum peak (MP), which is exact where `proven`: HMCOS, a heuristic, needs
    as much or more.
    """
    _assert_operators(graph)
    default = tuple(range(len(graph.operators)))
    peak = LEAST_PEAK.function()(graph, clock=Clock(time_limit_s))
    # COSMA's outputs leave when they are made, here they stay: the same where there is one, last.
    order = min(peak.schedule, default, key=lambda order: max(_live(graph, order)))
    ops = [graph.operators[i] for i in order]
    layers = tuple(LayerBytes(op.name, n) for op, n in zip(ops, _live(graph, order), strict=True))
    return _ram(layers, 0, peak.bound_bytes)


def tflite_micro(graph: Graph) -> Ram:
    """TFLite Micro's greedy planner: best fit by size in default order, 16-byte alignment.

    `tensor_bytes` is the arena's extent, which holes may make more than any layer's tensors; the
    binding operator is where the most is live. The interpreter's own bytes are not counted.
    """
    lives = lifetimes(graph, range(len(graph.operators)))
    offsets = best_fit_arena(lives, alignment=TFLM_ALIGNMENT)
    extent = max(offsets[life.id] + life.size_bytes for life in lives)
    live = _live(graph, range(len(graph.operators)))
    layers = tuple(
        LayerBytes(op.name, live_bytes)
        for op, live_bytes in zip(graph.operators, live, strict=True)
    )
    binding = graph.operators[live_peak(lives)[1]].name
    return Ram(layers, extent, 0, binding)


def lifetimes(graph: Graph, order: Sequence[int]) -> list[Lifetime]:
    """Each activation from the step that makes it (an input: that first reads it) to its last.

    Outputs of the network live to the end. Raises `BadInput` for a graph without operators.
    """
    _assert_operators(graph)
    step = {position: at for at, position in enumerate(order)}
    intervals = []
    for name, tensor in graph.tensors.items():
        if tensor.kind == "parameter":
            continue
        uses = [step[i] for i in graph.consumers[name]]
        if name in graph.producer:
            uses.append(step[graph.producer[name]])
        if uses:
            end = len(order) if name in graph.outputs else max(uses) + 1
            intervals.append(Lifetime(name, min(uses), end, graph.size_bytes(name)))
    return intervals


def _live(graph: Graph, order: Sequence[int]) -> list[int]:
    """Bytes of the tensors that are there while each step of an order runs."""
    change = [0] * (len(order) + 1)
    for life in lifetimes(graph, order):
        change[life.lower] += life.size_bytes
        change[life.upper] -= life.size_bytes
    live, total = [], 0
    for step in change[:-1]:
        total += step
        live.append(total)
    return live


def _shared(graph: Graph, op: Operator) -> int:
    """Bytes that an operator in place saves: its output lies on an input that no other reads."""
    name = op.inputs[0]
    last = graph.consumers[name][-1] == graph.index[op.name] and name not in graph.outputs
    return min(graph.size_bytes(name), graph.size_bytes(op.outputs[0])) if last else 0


def _stem_weights(graph: Graph) -> int:
    """Bytes of the first convolution's weights, where it reads the network's input."""
    for op in graph.operators:
        if op.kind == "conv2d" and op.kernel != (1, 1):
            return graph.size_bytes(op.parameters[0]) if op.inputs[0] in graph.inputs else 0
    return 0


def _ram(layers: tuple[LayerBytes, ...], static: int, bound: int = 0) -> Ram:
    most = max(layers, key=lambda layer: layer.tensor_bytes)
    return Ram(layers, most.tensor_bytes, static, most.operator, most.tensor_bytes == bound)


def _assert_operators(graph: Graph) -> None:
    if not graph.operators:
        raise BadInput(f"graph {graph.name!r} has no operators: there is nothing to plan")
