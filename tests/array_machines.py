"""Small networks for machines with an array, and how long such a machine takes by counting steps.

What is here asks nothing of the planners' rule of seconds: steps are taken one after the other, as
docs/machines.md has them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from planners.core.compute_maps import ComputeMap, ComputePorts
from planners.core.graph import Graph, Operator, Tensor
from planners.core.machine import Machine, load_machine, with_numbers
from planners.core.weights import COUNTED, IN_PLACE

SLOW = {"npu_small": 2e7, "ethos_u55_128_high_end": 2e6}
"""Bytes a second of memories off chip with which few bytes take as long as an operator."""
INSTEAD = {"pointwise": "dense", "linear": "dense", "depthwise": "dense", "mean": "pool"}
"""Which map is taken where none is for a kind."""


# ---- Machines ----


def preset(name: str, *, slow: bool = False) -> Machine:
    """A preset, with slow memories off chip where transfers are to matter."""
    machine = load_machine(name)
    if not slow:
        return machine
    rates = product({machine.offchip, machine.parameters}, ("read", "write"))
    numbers = {f"{memory}.{way}_bytes_per_s": SLOW[name] for memory, way in rates}
    return with_numbers(machine, numbers)


def random_array(seed: int) -> Machine:
    """Maps, rates and ports as they fall, and engines of which each is the slowest for some."""
    rng = random.Random(f"array {seed}")
    machine = load_machine("npu_ideal")
    if rng.random() < 0.5:
        machine = replace(machine, parameters="storage")
    engines = tuple(
        replace(
            engine,
            bytes_per_s=rng.choice((1e9, 4e9, 8e9)),
            latency_s=rng.choice((0.0, 0.0, 2e-10, 1e-9)),
        )
        for engine in machine.engines
    )
    levels = tuple(
        replace(level, read_bytes_per_s=rng.choice((1e9, 3e9)), write_bytes_per_s=8e9)
        for level in machine.memories
    )
    apart = (("scratchpad",), ("host",)) if rng.random() < 0.5 else ()
    ports = ComputePorts(
        apart, ("scratchpad",) if rng.random() < 0.5 else (), rng.choice((1.0, 0.5))
    )
    rates = {"default": rng.choice((1.0, 2.0, 8.0)), "add": rng.choice((0.5, 1.0)), "lut": 1.0}
    return replace(
        machine,
        clock_hz=1e9,
        macs_per_s=rng.choice((1e9, 4e9)),
        engines=engines,
        memories=levels,
        compute_maps=tuple(_maps(rng)),
        compute_rates=dict(rng.sample(sorted(rates.items()), rng.randint(0, 3))),
        compute_ports=ports,
        sources={},
    )


def _maps(rng: random.Random) -> Iterator[ComputeMap]:
    some = ("dense", "dense", "pointwise", "linear", "depthwise", "pool")
    for kind in rng.sample(some, rng.randint(1, 4)):
        pixels = rng.randint(1, 2), rng.randint(1, 2)
        outputs, inputs, kernel = (rng.randint(1, 3) for _ in range(3))
        cycles, hold = rng.choice((1.0, 2.0, 1.5)), rng.choice((0.0, 4.0))
        yield ComputeMap((kind,), pixels, outputs, inputs, kernel, cycles, hold)


MACHINES: dict[str, Callable[[int], Machine]] = {
    "npu_small": lambda _: preset("npu_small"),
    "npu_small, slow memory": lambda _: preset("npu_small", slow=True),
    "ethos_u55_128": lambda _: preset("ethos_u55_128_high_end"),
    "ethos_u55_128, slow memory": lambda _: preset("ethos_u55_128_high_end", slow=True),
    "random arrays": random_array,
}
"""The machine of a seed, by name."""


# ---- Networks ----


def small_layers(seed: int, most: int = 4, wide: int = 1) -> Graph:
    """Two to `most` layers on maps of a few pixels, or on a matrix, of `wide` channels or more."""
    rng = random.Random(f"layers {seed}")
    matrix = rng.random() < 0.25
    rows, columns = rng.choice(((1, 1), (1, 2), (2, 1), (2, 1), (1, 3)))
    first = (rows, wide) if matrix else (1, rng.randint(1, 2) * wide, rows, columns)
    tensors = {"x": Tensor("x", first, "input")}
    known, ops = ["x"], list[Operator]()
    for i in range(rng.randint(2, most)):
        read = rng.choice((known[-1], rng.choice(known)))
        op, made, weight = _layer(rng, i, read, tensors, matrix, wide)
        tensors |= {tensor.name: tensor for tensor in (made, *weight)}
        ops.append(op)
        known.append(made.name)
    used = {name for op in ops for name in op.inputs}
    ends = tuple(name for name in known if name not in used)
    return Graph(f"layers{seed}", tensors, tuple(ops), ("x",), ends)


def _layer(
    rng: random.Random, i: int, read: str, tensors: dict[str, Tensor], matrix: bool, wide: int
) -> tuple[Operator, Tensor, tuple[Tensor, ...]]:
    data, out = tensors[read], f"t{i}"
    like = [t.name for t in tensors.values() if t.shape == data.shape and t.kind != "parameter"]
    like = [name for name in like if name != read]
    products = ("linear",) if matrix else ("conv2d", "conv2d", "depthwise", "max_pool2d")
    kind = rng.choice((*products, "relu", "sigmoid", *(["add"] if like else [])))
    made = Tensor(out, data.shape)
    if kind in ("relu", "sigmoid", "add"):
        reads = (read, rng.choice(like)) if kind == "add" else (read,)
        return Operator(f"op{i}", kind, reads, (out,)), made, ()
    if kind == "linear":
        features = rng.randint(1, 2) * wide
        made = Tensor(out, (data.shape[0], features))
        weight = Tensor(f"w{i}", (features, data.shape[1]), "parameter")
        macs = made.elements * data.shape[1]
        return Operator(f"op{i}", kind, (read,), (out,), (weight.name,), macs), made, (weight,)
    taps = rng.choice((1, 1, 3))
    window: dict[str, Any] = {
        "kernel": (taps, 1),
        "padding": (taps // 2, 0),
        "stride": (1, 1),
        "dilation": (1, 1),
    }
    if kind == "max_pool2d":
        window["kernel"], window["padding"] = (3, 1), (1, 0)
        return Operator(f"op{i}", kind, (read,), (out,), **window), made, ()
    channels = data.shape[1]
    groups = channels if kind == "depthwise" else 1
    outputs = channels if kind == "depthwise" else rng.randint(1, 2) * wide
    made = Tensor(out, (1, outputs, *data.shape[2:]))
    weight = Tensor(f"w{i}", (outputs, channels // groups, taps, 1), "parameter")
    macs = made.elements * weight.elements // outputs
    own: dict[str, Any] = {"macs": macs, "groups": groups, **window}
    return Operator(f"op{i}", "conv2d", (read,), (out,), (weight.name,), **own), made, (weight,)


# ---- Seconds ----


def operator_s(graph: Graph, machine: Machine, op: Operator, weights: str) -> float:
    """Seconds of an operator that is made at once, all that it reads and makes on chip."""
    read = dict.fromkeys((*op.inputs, *(op.parameters if weights == COUNTED else ())))
    reads_s = {machine.onchip: _read_s(graph, machine, machine.onchip, list(read))}
    if weights == IN_PLACE and op.parameters:
        home = machine.parameters
        crossing = machine.compute_ports.weights
        part = crossing if isinstance(crossing, float) else 1.0  # No values are known here.
        reads_s[home] = _read_s(graph, machine, home, list(op.parameters)) * part
    written = sum(map(graph.size_bytes, op.outputs))
    writes_s = {machine.onchip: written / machine.memory(machine.onchip).write_bytes_per_s}
    moving = _ports_s(machine, reads_s, writes_s)
    return machine.engine("compute").latency_s + max(_array_s(graph, machine, op), moving)


def _read_s(graph: Graph, machine: Machine, memory: str, names: list[str]) -> float:
    return sum(map(graph.size_bytes, names)) / machine.memory(memory).read_bytes_per_s


def _ports_s(machine: Machine, read: dict[str, float], written: dict[str, float]) -> float:
    """The slowest port: each reads its memories in turn, and writes those that share it."""
    ports = machine.compute_ports
    named = {name for group in ports.parallel for name in group}
    rest = tuple(level.name for level in machine.memories if level.name not in named)
    busy = [seconds for name, seconds in written.items() if name not in ports.shared]
    alone = sum(busy)
    for group in (*ports.parallel, rest):
        own = sum(read.get(name, 0.0) for name in group)
        own += sum(written.get(name, 0.0) for name in group if name in ports.shared)
        alone = max(alone, own)
    return alone


def _array_s(graph: Graph, machine: Machine, op: Operator) -> float:
    if machine.is_ideal:
        return op.macs / machine.macs_per_s
    kind = _kind(op)
    elements = sum(graph.tensors[name].elements for name in op.outputs)
    leaving = elements / _rate(machine, op, kind) / machine.clock_hz
    maps = [each for each in machine.compute_maps if kind in each.kinds]
    if not maps and kind in INSTEAD:
        instead = INSTEAD[kind]
        maps = [each for each in machine.compute_maps if instead in each.kinds]
        kind = instead
    if not maps:
        return max(op.macs / machine.macs_per_s, leaving)
    cycles = min(_cycles(graph, op, each, kind) for each in maps)
    return max(cycles / machine.clock_hz, leaving)


def _kind(op: Operator) -> str:
    if op.kind == "conv2d" and op.groups > 1:
        return "depthwise"
    if op.kind == "conv2d" and op.kernel == (1, 1):
        return "pointwise"
    if op.kind == "linear":
        return "linear"
    return "pool" if "pool" in op.kind else "dense" if op.macs else ""


def _rate(machine: Machine, op: Operator, kind: str) -> float:
    """Output elements a cycle: by the operator's name, by its kind, of tables, or of any."""
    looked_up = "lut" if op.kind == "sigmoid" else ""
    names = (op.kind, kind, INSTEAD.get(kind, ""), looked_up, "default")
    return next((machine.compute_rates[n] for n in names if n in machine.compute_rates), 1e300)


def _cycles(graph: Graph, op: Operator, used: ComputeMap, kind: str) -> float:
    """Cycles on a map: of each run of channels, inputs and window all of the pixels, step by step,
    and no less than a weight stays."""
    high, wide, groups, outputs, inputs, taps = _loops(graph, op, kind)
    held = product(
        range(groups),
        range(0, outputs, used.outputs),
        range(0, inputs, used.inputs),
        range(0, taps, used.kernel),
    )
    cycles = 0.0
    for _ in held:
        rows, columns = used.pixels
        steps = list(product(range(0, high, rows), range(0, wide, columns)))
        cycles += max(len(steps) * used.cycles, used.hold_cycles)
    return cycles


def _loops(graph: Graph, op: Operator, kind: str) -> tuple[int, ...]:
    """Rows, columns, groups, outputs and inputs of one, and the window."""
    made, read = graph.tensors[op.outputs[0]], graph.tensors[op.inputs[0]]
    if op.kind == "linear":
        return 1, made.shape[0], 1, made.shape[1], read.shape[1], 1
    if op.kind not in ("conv2d", "max_pool2d"):  # Of no kind that is known: a row of products.
        return 1, 1, 1, made.elements, -(-op.macs // made.elements), 1
    _, channels, high, wide = made.shape
    taps = op.kernel[0] * op.kernel[1]
    if kind in ("depthwise", "pool"):
        return high, wide, 1, channels, 1, taps
    return high, wide, op.groups, channels // op.groups, read.shape[1] // op.groups, taps
