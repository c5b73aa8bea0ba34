"""What writers of runs have in common: rows and their loops, buffers, computes, what is released.

Each form of a kernel has a writer of its own, which says what a row does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from planners.core.details.pool import KernelRun
from planners.core.graph import Operator
from planners.core.loops import movement
from planners.core.program import (
    Box,
    Compute,
    Instruction,
    Item,
    Operand,
    Piece,
    Region,
    Release,
    Repeat,
    piece_bytes,
)
from planners.overlap.emit.pool import LEAST_ROUNDS, PoolOperands


class RunWriter:
    """The instructions of a run; `dying` are tensors in the pool that end with it, `steps` the
    names of all timesteps so far."""

    def __init__(
        self,
        pool: PoolOperands,
        number: int,
        run: KernelRun,
        dying: frozenset[str],
        steps: list[str],
    ) -> None:
        self.pool, self.number, self.run, self.dying, self.steps = pool, number, run, dying, steps
        self.ops = [pool.operators[name] for name in run.operators]
        self.last = self.ops[-1]
        self.buffers = {buffer.tensor: buffer for buffer in run.buffers}
        self.title = "+".join(run.operators)

    def instructions(self) -> Iterator[Item]:
        """All of the run."""
        raise NotImplementedError

    @property
    def step(self) -> int:
        return len(self.steps) - 1

    def rows(
        self,
        rounds: Sequence[int],
        row: Callable[[int], Iterable[Instruction]],
        skip: Callable[[int, int], None],
    ) -> Iterator[Item]:
        """Rows one after the other; `rounds` says of each how many from it on do the same, which
        are a loop. `skip` is told of those that are not written: where they begin and stop."""
        at = 0
        while at < len(rounds):
            if rounds[at] < LEAST_ROUNDS:
                yield from row(at)
                at += 1
                continue
            first, second = (tuple(row(at + k)) for k in (0, 1))
            moves = movement(first, second)
            if moves is None:
                raise AssertionError(f"row {at} of {self.last.name} moves otherwise")
            yield Repeat(rounds[at], first, moves)
            skip(at + 2, at + rounds[at])
            at += rounds[at]

    def in_buffer(self, name: str, box: Box, offset: int) -> Operand:
        """A box of a tensor in its buffer."""
        piece = Piece(name, box)
        size = piece_bytes(self.pool.graph, piece)
        return Operand(piece, Region(f"{self.number}:{name}", offset, size))

    def compute(
        self,
        op: Operator,
        reads: Iterable[Operand],
        writes: Sequence[Operand],
        frees: tuple[int, ...] = (),
        sums: tuple[int, int] | None = None,
        boxes: Iterable[Box] | None = None,
    ) -> Compute:
        """An operator on operands, with the parameters of `boxes` of its first output (of those
        that are written)."""
        first = op.outputs[0]
        written = [write.piece.box for write in writes if write.piece.tensor == first]
        every = written if boxes is None else boxes
        constants = {c: None for box in every for c in self.pool.constants(op, first, box)}
        macs = sum(self.pool.macs(op, box, sums) for box in written)
        operands = (*reads, *constants)
        return Compute(self.step, op.name, operands, tuple(writes), macs, frees, sums=sums)

    def released(
        self, operands: Iterable[Operand], freed: Collection[Piece] = ()
    ) -> Iterator[Instruction]:
        """Releases of operands that no compute has freed."""
        for piece, region in operands:
            if piece not in freed:
                yield Release(self.step, piece, region)
