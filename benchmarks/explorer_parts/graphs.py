"""Plans as large as the explorer should take."""

from __future__ import annotations

import planners as sp

SIZE = 4096


def many_rectangles(operators: int, parameters: int) -> sp.Plan:
    """A chain whose every operator reads the one before, the fifth before, and `parameters`.

    Each tensor is at least one rectangle of the address map: operators · (1 + parameters) in all.
    """
    tensors = {"x": sp.Tensor("x", (SIZE,), "input")}
    ops: list[sp.Operator] = []
    for k in range(operators):
        weights = tuple(f"op{k}.weight{i}" for i in range(parameters))
        tensors |= {name: sp.Tensor(name, (SIZE // 8,), "parameter") for name in weights}
        reads = dict.fromkeys(f"t{max(0, k - back)}" for back in (1, 5)) if k else {"x": None}
        tensors[f"t{k}"] = sp.Tensor(f"t{k}", (SIZE,))
        block = f"stage{k // 500}.block{k // 10}"
        ops.append(
            sp.Operator(f"op{k}", "conv", tuple(reads), (f"t{k}",), weights, 9 * SIZE, block=block)
        )
    graph = sp.Graph(f"chain{operators}", tensors, tuple(ops), ("x",), (ops[-1].outputs[0],))
    graph = graph.with_bytes_per_element(1)
    budget = round(0.9 * sp.budgets(graph, parameters=True).MP)
    return sp.plan(graph, budget=budget, parameters=True, replacement="belady")
