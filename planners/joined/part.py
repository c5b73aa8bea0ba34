"""A part of a network as a graph of its own, whose programs are programs of the whole."""

from __future__ import annotations

from dataclasses import replace

from planners.core.graph import Graph


def part_of(graph: Graph, first: int, stop: int) -> Graph:
    """Operators `[first, stop)` of the default order with the tensors that they touch.

    What comes from in front of them is its input, what is read behind them, and what of the
    network's outputs they make, its output. Names stay.
    """
    ops = graph.operators[first:stop]
    made = {name for op in ops for name in op.outputs}
    read = dict.fromkeys(name for op in ops for name in op.inputs)
    inputs = tuple(name for name in read if name not in made)
    outputs = tuple(
        name
        for op in ops
        for name in op.outputs
        if name in graph.outputs or any(at >= stop for at in graph.consumers[name])
    )
    tensors = {}
    for op in ops:
        for name in (*op.inputs, *op.parameters, *op.outputs):
            tensor = graph.tensors[name]
            if tensor.kind == "state" or (name in inputs and tensor.kind == "activation"):
                tensor = replace(tensor, kind="input")
            tensors[name] = tensor
    return replace(
        graph,
        name=f"{graph.name}[{first}:{stop}]",
        tensors=tensors,
        operators=ops,
        inputs=inputs,
        outputs=outputs,
        source={},
        state={},
    )
