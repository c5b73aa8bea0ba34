"""The cheapest way through a fixed schedule, by trying every memory content after every step.

It knows no gaps, runs, cuts or packing: a state is what is resident where, and what was written.
"""

from __future__ import annotations

from collections.abc import Iterator

from planners.graph.model import Graph

Places = frozenset[tuple[str, int]]  # (tensor, offset)


def optimum(graph: Graph, budget_bytes: int) -> int | None:
    """Least non-compulsory bytes of any replacement and addresses for the default schedule."""
    size = {name: graph.size_bytes(name) for name in graph.tensors}
    has_copy = frozenset(graph.inputs) | frozenset(graph.outputs)
    states: dict[tuple[Places, frozenset[str]], int] = {(frozenset(), frozenset()): 0}
    for step, op in enumerate(graph.operators):
        needed = {*op.inputs, *op.outputs}
        later = {t for t in graph.tensors if any(use > step for use in graph.consumers[t])}
        after: dict[tuple[Places, frozenset[str]], int] = {}
        for (places, written), cost in states.items():
            for kept in _subsets(places):
                for result in _place(
                    dict(kept), sorted(needed - dict(kept).keys()), size, budget_bytes
                ):
                    paid = cost
                    host = set(written)
                    for tensor, _ in places - kept:
                        if tensor not in has_copy and tensor not in host:
                            host.add(tensor)
                            paid += size[tensor]
                    fresh = {t for t in needed - dict(kept).keys() if t not in op.outputs}
                    first = {
                        t for t in fresh if t in graph.inputs and graph.consumers[t][0] == step
                    }
                    paid += sum(size[t] for t in fresh - first)
                    left = frozenset((t, at) for t, at in result.items() if t in later)
                    key = (left, frozenset(host & later))
                    after[key] = min(after.get(key, paid), paid)
        states = after
    return min(states.values(), default=None)


def _subsets(places: Places) -> Iterator[Places]:
    items = sorted(places)
    for mask in range(1 << len(items)):
        yield frozenset(item for i, item in enumerate(items) if mask >> i & 1)


def _place(
    placed: dict[str, int], missing: list[str], size: dict[str, int], budget_bytes: int
) -> Iterator[dict[str, int]]:
    if not missing:
        yield dict(placed)
        return
    tensor, *rest = missing
    for at in range(budget_bytes - size[tensor] + 1):
        if all(at + size[tensor] <= o or o + size[t] <= at for t, o in placed.items()):
            yield from _place({**placed, tensor: at}, rest, size, budget_bytes)
