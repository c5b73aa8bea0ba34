"""Random networks as architecture search makes them: cells of pairs of operators on two inputs."""

from __future__ import annotations

import random

import planners as sp

# Operators of a separable convolution, applied twice as searched networks do, and of the others.
DEPTHS = {"sep_conv": 4, "dil_conv": 2, "conv": 1, "pool": 1, "skip": 0}


class _Network:
    def __init__(self, seed: int, most_depth: int) -> None:
        self.random = random.Random(seed)
        self.most_depth = most_depth
        self.tensors: dict[str, sp.Tensor] = {}
        self.ops: list[sp.Operator] = []

    def run(self, kind: str, inputs: tuple[str, ...], size: int) -> str:
        name = f"{kind}{len(self.ops)}"
        self.tensors[name] = sp.Tensor(name, (size,))
        reads = tuple(dict.fromkeys(inputs))
        self.ops.append(sp.Operator(name, kind, reads, (name,), macs=9 * size))
        return name

    def branch(self, state: str, size: int) -> str:
        """A random operation on a state: a chain of operators, or none at all."""
        kind = self.random.choice(list(DEPTHS))
        fits = self.tensors[state].shape == (size,)
        # What skips a reduction is brought to its size.
        for _ in range(max(min(DEPTHS[kind], self.most_depth), 0 if fits else 1)):
            state = self.run(kind, (state,), size)
        return state

    def cell(self, before: str, last: str, pairs: int, size: int, reduces: bool) -> str:
        """Both inputs brought to one width; then sums of pairs; then what no sum has read."""
        wide = 4 * size if reduces else size
        states = [self.run("fit", (name,), wide) for name in (before, last)]
        unread = dict.fromkeys(states)
        for _ in range(pairs):
            chosen = [self.random.choice(states) for _ in "ab"]
            for name in chosen:
                unread.pop(name, None)
            sides = tuple(self.branch(name, size) for name in chosen)
            states.append(self.run("add", sides, size))
            unread[states[-1]] = None
        loose = [self._reduced(name, size) for name in unread]
        return self.run("concat", tuple(loose), len(loose) * size)

    def _reduced(self, name: str, size: int) -> str:
        return name if self.tensors[name].shape == (size,) else self.run("pool", (name,), size)


def nas_like(cells: int, seed: int, pairs: int = 5, most_depth: int = 4) -> sp.Graph:
    """Cells one after the other, each on the last two; a third and two thirds of them on, one
    reduces: a quarter of the places, twice the channels.

    `most_depth`: operators in a branch at most. About 7 + 5 pairs · depth operators a cell.
    """
    net = _Network(seed, most_depth)
    size = 64 * 64 * 12
    net.tensors["x"] = sp.Tensor("x", (size // 4,), "input")
    before = last = net.run("stem", ("x",), size)
    for number in range(cells):
        reduces = cells > 2 and number in (cells // 3, 2 * cells // 3)
        if reduces:
            size //= 2
        before, last = last, net.cell(before, last, pairs, size, reduces)
    net.run("pool", (last,), 64)
    name = f"nas{len(net.ops)}-{seed}"
    return sp.Graph(name, net.tensors, tuple(net.ops), ("x",), (net.ops[-1].outputs[0],))


def nas_like_of(operators: int, seed: int) -> sp.Graph:
    """The network of this kind and seed whose number of operators is nearest."""
    cells, best = 1, nas_like(1, seed)
    while len(best.operators) < operators:
        cells += 1
        larger = nas_like(cells, seed)
        if len(larger.operators) - operators > operators - len(best.operators):
            break
        best = larger
    return best
