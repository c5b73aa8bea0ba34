"""Accesses and cycles of an operator on an array of processing elements, in the style of Eyeriss.

Data go from the buffer over the array into register files and to the arithmetic (Optimus,
section 7.1; Eyeriss, ISCA 2016; Interstellar, ASPLOS 2020). A dataflow unrolls dimensions along
the two axes of the array; the rest are loops, blocked for the register file. What is counted:

* *register file*: three reads and a write for each MAC, and one access for each word that arrives;
* *array*: a hop for each word that a processing element gets from the buffer or from others;
* *buffer*: an access for each word read or written; one read feeds all elements that share it, and
  those with overlapping windows.

The blocking and what stays in the register file (weights, or sums) are those of least energy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from math import ceil, prod

from planners.core.access import CONVOLUTIONS
from planners.core.graph import Graph, Operator
from planners.fusion.tile.axes import Axes

# Of one 16-bit access, with a MAC as 1: the constants of the authors' public artefact.
REGISTER_FILE = {32: 0.05, 64: 0.1, 128: 0.5, 512: 1.0}  # by bytes
BUFFER = {128: 6.0, 256: 9.0, 512: 12.0}  # by KiB
HOP, DRAM, MAC = 0.25, 200.0, 1.0
WORD_BYTES = 2

# B images, K output and C input channels, Y and X rows and columns, R and S those of a window.
Sizes = Mapping[str, int]
NEEDS = {"weights": "KCRS", "inputs": "BCYXRS", "sums": "BKYX"}
# Along each axis of the array what is unrolled, then what fills an axis that this leaves idle.
DATAFLOWS: Mapping[str, tuple[str, str]] = {
    "O_w|C_out": ("XY", "KB"),
    "C_in|C_out (weight stationary)": ("CR", "KX"),
    "K_h|O_h (row stationary)": ("RC", "YK"),
    "O_w|O_h (output stationary)": ("XK", "YK"),
}


@dataclass(frozen=True, slots=True)
class Array:
    """Processing elements in a square, the bytes of their register files and of the buffer."""

    side: int = 16
    register_bytes: int = 64
    buffer_kib: int = 128
    dataflow: str = "O_w|C_out"

    @property
    def elements(self) -> int:
        return self.side**2


@dataclass(frozen=True, slots=True)
class Accesses:
    """Words accessed, hops, MACs, and cycles of the array."""

    registers: float = 0.0
    hops: float = 0.0
    buffer: float = 0.0
    macs: float = 0.0
    cycles: float = 0.0

    def __add__(self, other: Accesses) -> Accesses:
        return Accesses(
            self.registers + other.registers,
            self.hops + other.hops,
            self.buffer + other.buffer,
            self.macs + other.macs,
            self.cycles + other.cycles,
        )

    def energy(self, array: Array, dram_words: float = 0.0) -> dict[str, float]:
        """Energy by where it goes, in MACs; words of DRAM pass the buffer too."""
        return {
            "register files": self.registers * REGISTER_FILE[array.register_bytes],
            "array": self.hops * HOP,
            "buffer": (self.buffer + dram_words) * BUFFER[array.buffer_kib],
            "DRAM": dram_words * DRAM,
            "MAC": self.macs * MAC,
        }


@dataclass(frozen=True, slots=True)
class Loops:
    """An operator as seven loops. `own`: an output channel reads only its own input channel."""

    B: int
    K: int
    C: int
    Y: int
    X: int
    R: int
    S: int
    stride: int = 1
    own: bool = False

    @property
    def sizes(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in "BKCYXRS"}

    @staticmethod
    def from_operator(graph: Graph, op: Operator) -> Loops | None:
        """The loops of an operator with MACs; None where it has none."""
        if not op.macs or not op.parameters:
            return None
        out = graph.tensors[op.outputs[0]].shape
        axes = Axes.from_shape(out)
        channels = 1 if axes.channel is None else out[axes.channel]
        if op.kind not in CONVOLUTIONS or len(out) != 4:
            pixels = prod(out) // channels
            return Loops(1, channels, max(1, op.macs // prod(out)), pixels, 1, 1, 1)
        inputs = graph.tensors[op.inputs[0]].shape[1]
        depthwise = op.groups > 1 and inputs == op.groups
        window = (op.kernel[0], op.kernel[1])
        return Loops(
            out[0], channels, inputs // op.groups, out[2], out[3], *window, op.stride[0], depthwise
        )


def accesses(graph: Graph, op: Operator, array: Array, tiles: int = 1) -> Accesses:
    """What an operator costs the chip when its weights come to the array anew for each tile."""
    loops = Loops.from_operator(graph, op)
    if loops is not None:
        return _of_loops(loops, array, tiles)
    # Pools, sums and moves: every word once from the buffer and back, no multiplication.
    read = sum(graph.tensors[t].elements for t in op.inputs)
    written = sum(graph.tensors[t].elements for t in op.outputs)
    work = written * prod(op.kernel) if op.kernel else written
    return Accesses(2 * work, read + written, read + written, 0.0, work / array.elements)


@cache
def _of_loops(loops: Loops, array: Array, tiles: int) -> Accesses:
    spread = unrolled(loops, array)
    macs = prod(loops.sizes.values())
    cycles = prod(ceil(n / spread[name]) for name, n in loops.sizes.items())
    best = min(
        (_moved(loops, spread, block, keep, tiles) for block in _blocks(loops, array, spread)
         for keep in ("weights", "sums")),
        key=lambda found: sum(found.energy(array).values()),
    )  # fmt: skip
    return replace(best, macs=float(macs), cycles=float(cycles))


def unrolled(loops: Loops, array: Array) -> dict[str, int]:
    """How many steps of each loop run side by side."""
    spread = dict.fromkeys("BKCYXRS", 1)
    for axis in DATAFLOWS[array.dataflow]:
        room = array.side
        for name in axis:
            # A loop that both axes have is shared out: what the first took is gone.
            taken = min(room, ceil(loops.sizes[name] / spread[name]))
            spread[name] *= taken
            room //= taken
    return spread


def _blocks(loops: Loops, array: Array, spread: Sizes) -> Iterator[dict[str, int]]:
    """Loops within a register file: powers of two of channels and columns, windows or none."""
    words = array.register_bytes // WORD_BYTES
    left = {name: ceil(n / spread[name]) for name, n in loops.sizes.items()}
    steps = (
        [2**i for i in range(6) if 2**i < 2 * left["K"]],
        [2**i for i in range(6) if 2**i < 2 * left["C"]],
        [2**i for i in range(4) if 2**i < 2 * left["X"]],
        sorted({1, left["R"]}),
        sorted({1, left["S"]}),
    )
    for k, c, x, r, s in product(*steps):
        block = {"K": k, "C": c, "X": x, "R": r, "S": s}
        if sum(_held(loops, block).values()) <= words:
            yield block
    # The least there is: a word of each goes through.
    yield dict.fromkeys("KCXRS", 1)


def _held(loops: Loops, block: Sizes) -> dict[str, int]:
    """Words of a block in a register file."""
    columns = (block["X"] - 1) * loops.stride + block["S"]
    inputs = block["C"] * columns * block["R"] * (block["K"] if loops.own else 1)
    weights = block["K"] * block["C"] * block["R"] * block["S"]
    return {"weights": weights, "inputs": inputs, "sums": block["K"] * block["X"]}


def _moved(loops: Loops, spread: Sizes, block: Sizes, keep: str, tiles: int) -> Accesses:
    """Words that reach the processing elements, and how often the buffer is read for them."""
    macs, kept = prod(loops.sizes.values()), _held(loops, block)
    blocks = macs / prod(block.values())
    sizes = loops.sizes
    hops = requested = 0.0
    for what, needs in NEEDS.items():
        if what == "inputs" and loops.own:
            needs += "K"
        shared: float = prod(n for name, n in spread.items() if name not in needs)
        if what == "inputs":
            shared *= _overlap(loops, spread, block, "X", "S") * _overlap(
                loops, spread, block, "Y", "R"
            )
        if what == keep:
            once = prod(sizes[name] for name in needs) * shared
            arrive = once * tiles if what == "weights" else once
            arrive = min(arrive, blocks * kept[what])
        else:
            arrive = blocks * kept[what] * (2 if what == "sums" else 1)
        hops += arrive
        requested += arrive / shared
    return Accesses(4 * macs + hops, hops, requested)


def _overlap(loops: Loops, spread: Sizes, block: Sizes, along: str, window: str) -> float:
    """How many processing elements an input under overlapping windows serves: it is passed on
    from neighbour to neighbour until all windows have had it."""
    n, taps = block.get(along, 1), block[window]
    rounds = ceil(loops.sizes[window] / (spread[window] * taps))
    arrive = spread[along] * spread[window] * ((n - 1) * loops.stride + taps) * rounds
    return max(1.0, arrive / ((spread[along] * n - 1) * loops.stride + loops.sizes[window]))
