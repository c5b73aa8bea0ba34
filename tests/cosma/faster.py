"""Whether any program at all is faster: every sequence of instructions, on a scoreboard of its own.

It knows no time but what the scoreboard's rules say: an instruction starts when its engine and the
bytes that it touches are free. Loads, stores and operators are put one after the other in every
way, at every address, until all is done or it takes as long as what is to be beaten. Left out is
only a load of what leaves again before it was read: without it nothing is later.
"""

from __future__ import annotations

from math import gcd, inf
from typing import NamedTuple

from planners.core.graph import Graph
from planners.core.machine import Machine
from planners.core.weights import COUNTED
from tests.array_machines import operator_s

ROUNDING = 1e-9


class State(NamedTuple):
    ran: tuple[int, ...]
    at: tuple[tuple[str, int], ...]  # what lies where
    stored: tuple[tuple[str, float], ...]  # what the host has of what was made, and since when
    engines: tuple[float, float, float]  # compute, in, out
    written: tuple[float, ...]  # by byte
    read: tuple[float, ...]
    idle: tuple[str, ...] = ()  # what was loaded and not read since


class TooMany(Exception):
    """More had to be tried than was allowed."""


def can_be_faster(
    graph: Graph, machine: Machine, budget: int, than_s: float, *, any_order: bool, weights: str
) -> bool:
    """Whether a program of whole tensors takes less than `than_s` seconds."""
    return _Tries(graph, machine, budget, than_s, any_order, weights).run()


def quickest_s(
    graph: Graph,
    machine: Machine,
    budget: int,
    *,
    any_order: bool,
    weights: str,
    within_s: float = inf,
    most_tries: float = inf,
) -> float | None:
    """The least seconds of all programs of whole tensors; None where none takes less than
    `within_s`. Raises `TooMany` beyond so many tries of an instruction."""
    tries = _Tries(graph, machine, budget, within_s, any_order, weights, most_tries, goes_on=True)
    tries.run()
    return None if tries.took_s == inf else tries.took_s


class _Tries:
    def __init__(
        self,
        graph: Graph,
        machine: Machine,
        budget: int,
        than_s: float,
        any_order: bool,
        weights: str,
        most_tries: float = inf,
        goes_on: bool = False,
    ) -> None:
        self.goes_on = goes_on
        self.graph, self.machine, self.any_order = graph, machine, any_order
        self.than_s, self.took_s = than_s * (1 - ROUNDING), inf
        self.tries, self.most_tries = 0, most_tries
        self.reads = [
            tuple(dict.fromkeys((*op.inputs, *(op.parameters if weights == COUNTED else ()))))
            for op in graph.operators
        ]
        held = {name for reads in self.reads for name in reads} | {*graph.producer}
        self.unit = gcd(*map(graph.size_bytes, held)) or 1
        self.budget = budget // self.unit
        self.compute_s = [operator_s(graph, machine, op, weights) for op in graph.operators]
        self.seen: set[State] = set()

    def run(self) -> bool:
        zeros = (0.0,) * self.budget
        return self.tried(State((), (), (), (0.0, 0.0, 0.0), zeros, zeros))

    def units(self, name: str) -> int:
        return self.graph.size_bytes(name) // self.unit

    def seconds(self, name: str, inwards: bool) -> float:
        machine = self.machine
        weights = self.graph.tensors[name].kind == "parameter"
        home = machine.memory(machine.parameters if weights else machine.offchip)
        chip = machine.memory(machine.onchip)
        source, target = (home, chip) if inwards else (chip, home)
        engine = machine.engine("dma_in" if inwards else "dma_out")
        rate = min(engine.bytes_per_s, source.read_bytes_per_s, target.write_bytes_per_s)
        return engine.latency_s + self.graph.size_bytes(name) / rate

    def settled(self, s: State) -> State:
        """The same with times told only as far as they matter: nothing starts before its engine."""
        soon = min(s.engines)
        return s._replace(
            at=tuple(item for item in s.at if self.wanted(s, item[0])),
            written=tuple(max(t, soon) for t in s.written),
            read=tuple(max(t, soon) for t in s.read),
            stored=tuple((name, max(t, s.engines[1])) for name, t in s.stored),
        )

    def wanted(self, s: State, name: str) -> bool:
        """Whether an operator is still to read it, or it is an output that was not stored."""
        if any(name in reads for op, reads in enumerate(self.reads) if op not in s.ran):
            return True
        return name in self.graph.outputs and name not in dict(s.stored)

    def tried(self, s: State) -> bool:
        s = self.settled(s)
        if max(s.engines) >= self.than_s or s in self.seen:
            return False
        self.seen.add(s)
        left = sum(self.compute_s[op] for op in range(len(self.reads)) if op not in s.ran)
        held = {name for name, _ in s.at}
        missing = {name for name in self.graph.tensors if self.wanted(s, name)} - held
        coming = [self.seconds(n, True) for n in missing if n not in self.graph.producer]
        if max(s.engines[0] + left, s.engines[1] + sum(coming)) >= self.than_s:
            return False
        stored = {name for name, _ in s.stored}
        made = [name for name in self.graph.outputs if name in self.graph.producer]
        if len(s.ran) == len(self.reads) and stored.issuperset(made):
            self.took_s = max(s.engines)
            self.than_s = self.took_s * (1 - ROUNDING)
            return not self.goes_on
        return self.loads(s) or self.computes(s) or self.stores(s)

    def bytes_of(self, name: str, offset: int) -> range:
        return range(offset, offset + self.units(name))

    def without(self, s: State, taken: range, keep: set[str]) -> tuple[tuple[str, int], ...] | None:
        """What lies there but for these bytes; None where what goes must be kept."""
        self.tries += 1
        if self.tries > self.most_tries:
            raise TooMany
        going = [
            name for name, at in s.at if at < taken.stop and at + self.units(name) > taken.start
        ]
        stored = {name for name, _ in s.stored}
        for name in going:
            lost = name in self.graph.producer and name not in stored
            if name in keep or (lost and self.wanted(s, name)):
                return None
        return tuple(item for item in s.at if item[0] not in going)

    def loads(self, s: State) -> bool:
        held, stored = {name for name, _ in s.at}, dict(s.stored)
        for name in self.graph.tensors:
            there = name not in self.graph.producer or name in stored
            if name in held or not there or not self.wanted(s, name):
                continue
            for offset in range(self.budget - self.units(name) + 1):
                taken = self.bytes_of(name, offset)
                kept = self.without(s, taken, {*s.idle})
                if kept is None:
                    continue
                free = max(max(s.written[b], s.read[b]) for b in taken)
                start = max(s.engines[1], stored.get(name, 0.0), free)
                end = start + self.seconds(name, True)
                engines = (s.engines[0], end, s.engines[2])
                written = tuple(end if b in taken else t for b, t in enumerate(s.written))
                at = tuple(sorted((*kept, (name, offset))))
                idle = tuple(sorted((*s.idle, name)))
                if self.tried(s._replace(at=at, engines=engines, written=written, idle=idle)):
                    return True
        return False

    def stores(self, s: State) -> bool:
        stored = dict(s.stored)
        for name, offset in s.at:
            if name not in self.graph.producer or name in stored or not self.wanted(s, name):
                continue
            taken = self.bytes_of(name, offset)
            start = max(s.engines[2], *(s.written[b] for b in taken))
            end = start + self.seconds(name, False)
            read = tuple(max(t, end) if b in taken else t for b, t in enumerate(s.read))
            after = s._replace(
                stored=tuple(sorted((*s.stored, (name, end)))),
                engines=(s.engines[0], s.engines[1], end),
                read=read,
            )
            if self.tried(after):
                return True
        return False

    def computes(self, s: State) -> bool:
        at = dict(s.at)
        for op, reads in enumerate(self.reads):
            later = op in s.ran or (not self.any_order and op != len(s.ran))
            if later or not all(name in at for name in reads):
                continue
            if self.with_outputs(s, op, 0, at, []):
                return True
        return False

    def with_outputs(
        self, s: State, op: int, k: int, read_at: dict[str, int], made: list[tuple[str, int]]
    ) -> bool:
        outputs = self.graph.operators[op].outputs
        if k < len(outputs):
            for offset in range(self.budget - self.units(outputs[k]) + 1):
                taken = self.bytes_of(outputs[k], offset)
                keep = {*self.reads[op], *(name for name, _ in made), *s.idle}
                kept = self.without(s, taken, keep)
                if kept is not None:
                    place = (outputs[k], offset)
                    after = s._replace(at=tuple(sorted((*kept, place))))
                    if self.with_outputs(after, op, k + 1, read_at, [*made, place]):
                        return True
            return False
        inputs = {b for name in self.reads[op] for b in self.bytes_of(name, read_at[name])}
        results = {b for name, offset in made for b in self.bytes_of(name, offset)}
        start = max(
            s.engines[0],
            *(s.written[b] for b in inputs | results),
            *(s.read[b] for b in results),
        )
        end = start + self.compute_s[op]
        after = s._replace(
            ran=tuple(sorted((*s.ran, op))),
            engines=(end, s.engines[1], s.engines[2]),
            written=tuple(end if b in results else t for b, t in enumerate(s.written)),
            read=tuple(max(t, end) if b in inputs else t for b, t in enumerate(s.read)),
            idle=tuple(name for name in s.idle if name not in self.reads[op]),
        )
        return self.tried(after)
