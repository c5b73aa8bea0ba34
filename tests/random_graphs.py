"""Small random graphs, and a brute-force optimum for a fixed schedule."""

from __future__ import annotations

import random

from planners.core.graph import Graph, Operator, Tensor


def random_graph(seed: int, operators: int, largest: int = 5, outputs: int = 2) -> Graph:
    """A graph whose operators read one to three of what came before; tensors of 1 to `largest`."""
    rng = random.Random(seed)
    tensors = {"x": Tensor("x", (rng.randint(1, largest),), "input")}
    ops = []
    for i in range(operators):
        # Recent tensors are likelier, as in real networks.
        recent = list(tensors)[-4:]
        inputs = tuple(dict.fromkeys(rng.choices(recent, k=rng.randint(1, 3))))
        parameters: tuple[str, ...] = ()
        if rng.random() < 0.3:
            name = f"w{i}"
            tensors[name] = Tensor(name, (rng.randint(1, largest),), "parameter")
            parameters = (name,)
        inputs = tuple(t for t in inputs if tensors[t].kind != "parameter") or ("x",)
        made = [f"t{i}"] + ([f"u{i}"] if rng.random() < 0.15 else [])
        for name in made:
            tensors[name] = Tensor(name, (rng.randint(1, largest),))
        ops.append(Operator(f"op{i}", "random", inputs, tuple(made), parameters, macs=i + 1))
    made = [t for op in ops for t in op.outputs]
    ends = tuple(dict.fromkeys([made[-1], *rng.sample(made, min(outputs - 1, len(made)))]))
    return Graph(f"random{seed}", tensors, tuple(ops), ("x",), ends)
