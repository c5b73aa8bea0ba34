"""What is at home when it is read from there, and in the end."""

from __future__ import annotations

import numpy as np

from planners.core.boxes import Box, joined, uncovered
from planners.core.program import whole
from planners.core.tables.boxes import boxes_of, merged
from planners.core.tables.table import READ, SOURCE, TARGET, Numbers
from planners.simulator.columns.operands import Operands
from planners.simulator.columns.undecided import Undecided, require


class Homes:
    """Copies of tensors in memories without addresses: those of the start, and what is stored."""

    def __init__(self, operands: Operands) -> None:
        self.operands, self.table = operands, operands.table
        self.names = [memory.name for memory in operands.program.memories]

    def check(self, *, begun: bool = False) -> None:
        """Raise `Undecided` where something is read that is not there, or, but where only the
        beginning of a program is there, an output is not there."""
        table, operands = self.table, self.operands
        home = np.flatnonzero(operands.at_home)
        pair = operands.memory[home] * len(table.tensors) + table.tensor[home]
        graph, program = operands.graph, operands.program
        outputs = set(graph.outputs)
        kept: set[str] = set()
        for each in np.unique(pair).tolist():
            memory, tensor = divmod(each, len(table.tensors))
            name, where = table.tensors[tensor], self.names[memory]
            if program.home(graph.tensors[name]) == where:
                if where == program.homes["output"]:
                    kept.add(name)
                continue
            rows = home[pair == each]
            self._check_reads(rows, name)
            if name in outputs and where == program.homes["output"] and not begun:
                stored = rows[table.role[rows] == TARGET]
                self.require_whole(name, stored)
                kept.add(name)
        for name in () if begun else outputs - kept:
            require(program.home(graph.tensors[name]) == program.homes["output"])

    def require_whole(self, tensor: str, rows: Numbers) -> None:
        """Raise `Undecided` unless the boxes of these rows are all of a tensor."""
        table, all_of = self.table, whole(self.operands.graph.tensors[tensor]).box
        require(len(rows))
        _, start, stop = merged(np.zeros_like(rows), table.start[rows], table.stop[rows])
        require(not uncovered(all_of, boxes_of(start, stop, len(all_of))))

    def _in_one(self, stored: Numbers, reads: Numbers) -> bool:
        """Whether all is stored before any of these reads, makes one box, and they lie in it."""
        if not len(stored) or stored[-1] > reads[0]:
            return False
        table = self.table
        _, start, stop = merged(np.zeros_like(stored), table.start[stored], table.stop[stored])
        inside = (table.start[reads] >= start[0]) & (table.stop[reads] <= stop[0])
        return len(start) == 1 and bool(inside.all())

    def _check_reads(self, rows: Numbers, tensor: str) -> None:
        """In the order of the program: what is read was stored before."""
        table, operands = self.table, self.operands
        reads = (table.role[rows] == SOURCE) | (table.role[rows] == READ)
        if not reads.any():
            return
        stored = rows[~reads]
        first = np.full(int(operands.piece.max()) + 1, len(table.role))
        np.minimum.at(first, operands.piece[stored], stored)
        others = rows[reads][first[operands.piece[rows[reads]]] > rows[reads]]
        if not len(others) or self._in_one(stored, others):
            return
        rank = len(operands.graph.tensors[tensor].shape)
        cover: list[Box] = []
        done, stored_tensors = 0, set[int]()
        for row in others.tolist():
            upto = int(np.searchsorted(stored, row))
            if upto > done:
                more = stored[done:upto]
                cover = joined([*cover, *boxes_of(table.start[more], table.stop[more], rank)])
                done = upto
            piece = int(operands.piece[row])
            if piece not in stored_tensors:
                (box,) = boxes_of(table.start[row : row + 1], table.stop[row : row + 1], rank)
                if uncovered(box, cover):
                    raise Undecided(int(table.instruction[row]))
                stored_tensors.add(piece)
