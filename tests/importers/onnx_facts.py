"""What a graph says of an ONNX model, held against onnx's own reference."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np

import planners as sp
from planners.core.access import needs
from tests.importers.random_onnx import RandomOnnx

BOXES = 3


def wrong_facts(made: RandomOnnx, graph: sp.Graph) -> Iterator[str]:
    """What is not so: shapes, types, MACs, and values that a part needs without saying so."""
    for name, tensor in graph.tensors.items():
        if name in made.values and name not in made.weights:
            value = made.values[name]
            if (tensor.shape, tensor.dtype) != (value.shape, str(value.dtype)):
                yield f"{name} is {value.dtype} {value.shape}, not {tensor.dtype} {tensor.shape}"
    if graph.macs != sum(made.macs.values()):
        yield f"{sum(made.macs.values())} MACs, not {graph.macs}"
    for op in graph.operators:
        if made.values.keys() >= {*op.inputs, *op.outputs}:
            yield from _unread(made, graph, op)


def _unread(made: RandomOnnx, graph: sp.Graph, op: sp.Operator) -> Iterator[str]:
    """Parts of what an operator writes that change where it says that it does not look."""
    draw, rng = random.Random(made.seed), np.random.default_rng(made.seed)
    for output in op.outputs:
        given = {name: made.values[name] for name in op.inputs}
        right, shape = made.run(given, output), graph.tensors[output].shape
        for _ in range(BOXES):
            starts = [draw.randrange(n) for n in shape]
            box = tuple((a, draw.randint(a + 1, n)) for a, n in zip(starts, shape))
            read, spoilt = dict(needs(graph, op, output, box)), {}
            for name, value in given.items():
                noise = np.asarray(rng.standard_normal(value.shape) * 3, value.dtype)
                if name in read:
                    part = tuple(slice(*axis) for axis in read[name])
                    noise[part] = value[part]
                spoilt[name] = noise
            place = tuple(slice(*axis) for axis in box)
            found = made.run(spoilt, output)[place]
            if not np.allclose(found, right[place], rtol=1e-3, atol=1e-3, equal_nan=True):
                yield f"{op.name} ({op.kind}): {box} of {output} needs more than {read}"
