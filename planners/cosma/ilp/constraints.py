"""Wishes in the paper's ILP: rows of their own over its C, P and R."""

from __future__ import annotations

from planners.cosma.ilp.variables import Variables


def add_order(builder: Variables) -> None:
    """What is to run before another has the smaller timestep, where the schedule is open."""
    ilp, graph, windows = builder.ilp, builder.graph, builder.windows
    for pair in ilp.problem.wished.before if ilp.kind != "fixed" else ():
        first, then = (graph.operators[graph.index[name]].outputs[0] for name in pair)
        at = [
            builder.pulp.lpSum(t * builder.created(a, t) for t in windows.created(a))
            for a in (first, then)
        ]
        builder.add("before", (first, then), at[0] + 1 <= at[1])


def add_residency(builder: Variables) -> None:
    """What is kept is never retrieved; what is spilled is resident with its users only."""
    graph, wished = builder.graph, builder.ilp.problem.wished
    for a in builder.ilp.tensors:
        for t in builder.windows.kept(a) if a in wished.keep | wished.spill else ():
            if a in wished.keep:
                builder.add("keep", (a, t), builder.retrieved(a, t) == 0)
            else:
                readers = (graph.operators[i] for i in graph.consumers[a])
                used = builder.pulp.lpSum(builder.created(op.outputs[0], t) for op in readers)
                there = builder.preserved(a, t) + builder.retrieved(a, t)
                builder.add("spill", (a, t), there <= used)
