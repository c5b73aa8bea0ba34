"""Small random networks of maps, with what each operator reads by naive loops."""

from __future__ import annotations

import math
import random

import numpy as np

from planners.core.graph import Graph, Operator, Part, Tensor
from tests.overlap.byte_ring import Reads, moved, window_reads

Known = dict[str, tuple[str, dict[str, Reads]]]
"""Of each operator its kernel's order, and what it reads of each input."""
UNIT = ((1, 1), (1, 1), (0, 0), (1, 1))


class _Net:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        shape = (1, rng.randint(1, 3), rng.randint(2, 4), rng.randint(2, 4))
        self.tensors = {"x": Tensor("x", shape, "input")}
        self.ops: list[Operator] = []
        self.known: Known = {}

    def add(self, op: Operator, shape: tuple[int, ...], kernel: str, *reads: Reads) -> None:
        name = op.outputs[0]
        self.tensors[name] = Tensor(name, shape)
        self.ops.append(op)
        self.known[op.name] = (kernel, dict(zip(op.inputs, reads, strict=True)))

    def pick(self) -> str:
        """Any map, the last ones more likely."""
        maps = [name for name, tensor in self.tensors.items() if tensor.kind != "parameter"]
        return self.rng.choice(maps[-3:] if self.rng.random() < 0.8 else maps)

    def convolve(self, name: str, read: str, depthwise: bool) -> None:
        rng, (_, c, h, w) = self.rng, self.tensors[read].shape
        k = c if depthwise else rng.randint(1, 4)
        r = rng.choice((1, 3))
        s = rng.randint(1, 2) if min(h, w) > 2 else 1
        out = (1, k, (h - 1) // s + 1, (w - 1) // s + 1)
        slide = ((r, r), (s, s), (r // 2, r // 2), (1, 1))
        weight = f"{name}.w"
        self.tensors[weight] = Tensor(weight, (k, 1 if depthwise else c, r, r), "parameter")
        part = (Part(name, "conv2d"),)
        groups = c if depthwise else 1
        op = Operator(name, "conv2d", (read,), (name,), (weight,), 1, *slide, groups, part)
        by_element = groups == c == k
        channels = (lambda m: (m,)) if by_element else (lambda m: range(c))
        reads = window_reads(self.tensors[read].shape, out, slide, channels)
        self.add(op, out, "element" if by_element else "segment", reads)

    def sum(self, name: str, a: str, b: str) -> None:
        shape = self.tensors[a].shape
        every = moved(np.arange(math.prod(shape)))
        names = tuple(dict.fromkeys((a, b)))
        op = Operator(name, "add", names, (name,), parts=(Part(name, "add"),))
        self.add(op, shape, "element", *(every for _ in names))

    def cat(self, name: str, a: str, b: str) -> None:
        (_, c, h, w), (_, d, *_) = (self.tensors[t].shape for t in (a, b))
        shape = (1, c + d, h, w)
        part = Part(name, "cat", shape, (a, b), ("cat", 1))
        index = np.full(shape, -1)
        first, second = index.copy(), index.copy()
        first[:, :c] = np.arange(c * h * w).reshape(1, c, h, w)
        second[:, c:] = np.arange(d * h * w).reshape(1, d, h, w)
        op = Operator(name, "cat", (a, b), (name,), parts=(part,))
        self.add(op, shape, "segment", moved(first), moved(second))


def random_net(seed: int, operators: int) -> tuple[Graph, Known]:
    """A network of convolutions, depthwise ones, sums and concatenations with skips."""
    net = _Net(random.Random(seed))
    for i in range(operators):
        name, read, other = f"t{i}", net.pick(), net.pick()
        a, b = net.tensors[read].shape, net.tensors[other].shape
        draw = net.rng.random()
        if draw < 0.3 and a == b:
            net.sum(name, read, other)
        elif draw < 0.5 and read != other and a[2:] == b[2:]:
            net.cat(name, read, other)
        else:
            net.convolve(name, read, depthwise=draw > 0.8)
    return Graph(
        f"net{seed}", net.tensors, tuple(net.ops), ("x",), (f"t{operators - 1}",)
    ), net.known
