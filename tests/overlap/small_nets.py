"""Small networks as graphs, operator by operator, for tests that compile and run them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from planners.core.details.pool import Buffer, KernelRun, PoolLayout
from planners.core.graph import Graph, Operator, Part, Tensor
from planners.overlap.kernels.candidates import RunCandidate

Pair = tuple[int, int]
Shape = tuple[int, ...]


class Builder:
    """Adds operators to a graph of one input `x`; each method returns its output's name."""

    def __init__(self, shape: Shape) -> None:
        self.tensors = {"x": Tensor("x", shape, "input")}
        self.operators: list[Operator] = []

    def shape(self, name: str) -> Shape:
        return self.tensors[name].shape

    def graph(self, *outputs: str) -> Graph:
        return Graph("small", self.tensors, tuple(self.operators), ("x",), outputs)

    def conv(
        self,
        source: str,
        channels: int,
        kernel: Pair = (1, 1),
        stride: Pair = (1, 1),
        padding: Pair = (0, 0),
        dilation: Pair = (1, 1),
        groups: int = 1,
        activation: str = "",
    ) -> str:
        _, have, *image = self.shape(source)
        spatial = _slid(image, kernel, stride, padding, dilation)
        weights = (channels, have // groups, *kernel)
        window = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}
        return self._add(
            "conv2d", (source,), (1, channels, *spatial), weights, activation, window, groups
        )

    def depthwise(
        self, source: str, kernel: Pair, stride: Pair, padding: Pair, activation: str = ""
    ) -> str:
        channels = self.shape(source)[1]
        return self.conv(source, channels, kernel, stride, padding, (1, 1), channels, activation)

    def pool(self, kind: str, source: str, kernel: Pair, stride: Pair, padding: Pair) -> str:
        _, channels, *image = self.shape(source)
        window = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": (1, 1)}
        spatial = _slid(image, kernel, stride, padding, (1, 1))
        return self._add(kind, (source,), (1, channels, *spatial), window=window)

    def global_average(self, source: str) -> str:
        shape = (1, self.shape(source)[1], 1, 1)
        return self._add("adaptive_avg_pool2d", (source,), shape)

    def linear(self, source: str, outputs: int, activation: str = "") -> str:
        columns = int(np.prod(self.shape(source)))
        return self._add("linear", (source,), (1, outputs), (outputs, columns), activation)

    def same(self, kind: str, *sources: str) -> str:
        """An operator from value to value; `kind` is add, mul or an activation."""
        return self._add(kind, sources, max(self.shape(name) for name in sources))

    def cat(self, *sources: str) -> str:
        _, _, *image = self.shape(sources[0])
        channels = sum(self.shape(name)[1] for name in sources)
        return self._add("cat", sources, (1, channels, *image))

    def _add(
        self,
        kind: str,
        sources: tuple[str, ...],
        shape: Shape,
        weights: Shape = (),
        activation: str = "",
        window: dict[str, Pair] | None = None,
        groups: int = 1,
    ) -> str:
        name = f"{kind}.{len(self.operators)}"
        parameters = (f"{name}.w",) if weights else ()
        for parameter in parameters:
            self.tensors[parameter] = Tensor(parameter, weights, "parameter")
        parts = [Part(name, kind)]
        if kind == "linear" and len(self.shape(sources[0])) == 4:
            columns = (1, weights[1])
            view = Part(f"{name}.in", "flatten", columns, sources, ("reshape",))
            main = Part(name, kind, shape, (view.name, *parameters), ("linear",))
            parts = [view, main]
        if kind == "cat":
            parts = [Part(name, kind, shape, sources, ("cat", 1))]
        made = name
        if activation:
            made = f"{name}.{activation}"
            after = Part(made, activation)
            if parts[0].detailed:
                after = Part(made, activation, shape, (name,), ("same",))
            parts.append(after)
        self.tensors[made] = Tensor(made, shape)
        macs = int(np.prod(weights[1:]) * np.prod(shape)) if weights else 0
        op = Operator(name, kind, sources, (made,), parameters, macs, parts=tuple(parts))
        self.operators.append(replace(op, groups=groups, **(window or {})))
        return made


def _slid(
    image: Sequence[int], kernel: Pair, stride: Pair, padding: Pair, dilation: Pair
) -> tuple[int, ...]:
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
    return tuple(
        (n + 2 * p - r) // s + 1 for n, r, s, p in zip(image, reach, stride, padding, strict=True)
    )


def apart(graph: Graph, at: int) -> PoolLayout:
    """Each operator alone and each tensor on bytes of its own, the first at `at`, in a ring."""
    sizes = {n: graph.size_bytes(n) for n, t in graph.tensors.items() if t.kind != "parameter"}
    pool_bytes, offsets = sum(sizes.values()), {}
    for name, size in sizes.items():
        offsets[name] = at % pool_bytes
        at += size
    return PoolLayout(
        pool_bytes, offsets, tuple(KernelRun("alone", (op.name,)) for op in graph.operators)
    )


def chained(graph: Graph, runs: Sequence[RunCandidate]) -> PoolLayout:
    """Runs of which each reads what the one before made, each output as near as it may be.

    The pool has just the bytes that the neediest run takes, with its buffers behind its tensors.
    """
    at, offsets, needs, laid = 0, {graph.inputs[0]: 0}, [], []
    for run in runs:
        (source,), (target,) = run.reads, run.writes
        d = run.distances.get(source, graph.size_bytes(target))
        taken = max(d + graph.size_bytes(source), graph.size_bytes(target))
        at -= d
        offsets[target] = at
        buffers, end = [], at + taken
        for need in run.needs:
            buffers.append(Buffer(need.tensor, end, need.pixels, need.pixel_bytes, need.sums))
            end += need.size_bytes
        names = tuple(graph.operators[p].name for p in run.operators)
        laid.append((run.form, names, buffers, run.channels))
        needs.append(end - at)
    pool_bytes = max(needs)
    wrapped = {name: offset % pool_bytes for name, offset in offsets.items()}
    return PoolLayout(
        pool_bytes,
        wrapped,
        tuple(
            KernelRun(
                form, names, tuple(replace(b, offset=b.offset % pool_bytes) for b in buffers), c
            )
            for form, names, buffers, c in laid
        ),
    )
