"""Small random problems that mostly have to spill, in sizes that leave awkward holes too."""

from __future__ import annotations

import random
from typing import NamedTuple

import planners as sp

SIZES = ((1, 2, 3, 4), (2, 3, 5, 7), (3, 4, 5), (1, 6, 7), tuple(range(1, 10)))


class Case(NamedTuple):
    """A graph, a budget between MR and MP, and whether parameters count."""

    graph: sp.Graph
    budget: int
    parameters: bool


# Networks found by search, whose memory is left in pieces: tensor:bytes, and what each operator
# reads > makes; outputs; budget. In the first and last it costs the default schedule something, in
# the second every schedule.
CROWDED = (
    (
        "x:7 t0:4 u0:7 t1:2 u1:4 t2:4 u2:4 t3:3 t4:7 t5:7 u5:5 t6:4 u6:2 t7:3",
        "x>t0,u0 u0>t1,u1 t0>t2,u2 t1,u1>t3 u1,t1>t4 t1>t5,u5 t2>t6,u6 u6>t7",
        ("u2", "t4", "t5"),
        18,
    ),
    (
        "x:4 t0:5 u0:7 t1:3 u1:3 t2:2 t3:4 t4:7 u4:5 t5:2 u5:2 t6:5 u6:5 t7:4 u7:7",
        "x>t0,u0 u0>t1,u1 u0,t1>t2 t0,x>t3 u1>t4,u4 u4,t2>t5,u5 t1>t6,u6 u6>t7,u7",
        ("t4", "u5", "t6", "u7"),
        18,
    ),
    (
        "x:5 t0:5 u0:4 t1:3 t2:4 u2:4 t3:5 t4:5 t5:5 u5:5",
        "x>t0,u0 t0>t1 u0>t2,u2 t1>t3 u2>t4 t3>t5,u5",
        ("t4",),
        15,
    ),
)


def crowded_case(seed: int) -> Case:
    """One of `CROWDED`, a few of its sizes one more or less, where addresses often cost something.

    In general they do not: in one random problem out of thousands.
    """
    rng = random.Random(seed)
    sizes, wires, outputs, budget = CROWDED[seed % len(CROWDED)]
    changes = (0, 0, 0, 0, 0, 0, 0, 1, -1) if seed >= len(CROWDED) else (0,)
    tensors = {}
    for name, size in (item.split(":") for item in sizes.split()):
        kind = "input" if name == "x" else "activation"
        tensors[name] = sp.Tensor(name, (max(1, int(size) + rng.choice(changes)),), kind)
    ops = []
    for i, wire in enumerate(wires.split()):
        reads, makes = (tuple(side.split(",")) for side in wire.split(">"))
        ops.append(sp.Operator(f"op{i}", "any", reads, makes))
    graph = sp.Graph(f"crowded{seed}", tensors, tuple(ops), ("x",), outputs)
    b = sp.budgets(graph)
    budget += rng.choice((-1, 0, 0, 1)) if seed >= len(CROWDED) else 0
    return Case(graph, max(b.MR, min(b.default_peak, budget)), False)


def small_case(seed: int, most: int = 8) -> Case:
    """Two to `most` operators that read up to three of all tensors before them."""
    rng = random.Random(seed)
    sizes, count = rng.choice(SIZES), rng.choice((2, *range(3, most + 1), most))
    inputs = ["x", "y"][: rng.randint(1, 2)]
    tensors = {name: sp.Tensor(name, (rng.choice(sizes),), "input") for name in inputs}
    known, ops = list(inputs), []
    for i in range(count):
        reads = dict.fromkeys(rng.choices(known, k=rng.randint(1, 3)))
        made = [f"t{i}", f"u{i}"][: rng.choice((1, 1, 1, 2))]
        weights = [f"w{rng.randint(0, i)}"][: rng.choice((0, 0, 1))]
        tensors |= {name: sp.Tensor(name, (rng.choice(sizes),)) for name in made}
        for name in weights:
            tensors.setdefault(name, sp.Tensor(name, (rng.choice(sizes),), "parameter"))
        ops.append(sp.Operator(f"op{i}", "any", tuple(reads), tuple(made), tuple(weights)))
        known += made
    read = {name for op in ops for name in op.inputs}
    ends = [name for name in known if name not in read and name not in inputs]
    ends += [name for name in known[len(inputs) :] if name in read and rng.random() < 0.1]
    kept = {name: tensor for name, tensor in tensors.items() if name not in inputs or name in read}
    inputs = [name for name in inputs if name in kept]
    graph = sp.Graph(f"small{seed}", kept, tuple(ops), tuple(inputs), tuple(ends))
    parameters = rng.random() < 0.25
    b = sp.budgets(graph, parameters=parameters)
    return Case(graph, b.MR + round(rng.choice((0, 0, 0.3, 0.7)) * (b.MP - b.MR)), parameters)
