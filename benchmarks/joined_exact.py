"""Joined plans of small networks beside all that the method could have chosen.

    python benchmarks/joined_exact.py [--count 500] [--first 0] [--budgets 2] [--limit 30]
        [--enumerate 60] [--objective latency|traffic]

Random networks of at most six operators, with parameters, at budgets between what fused groups
need and what is all at once; weights counted, once by latency and once by traffic. Enumerated are
all sequences of blocks, each as fused groups, as whole tensors with spills, or in every split of it
into runs of any number of rows that fits the pool, or joined with the blocks after it, and all
sizes of slices that are tried: each a program, replayed and timed. Fused groups are those that
`fusion` finds, with the operators that run again, spills those that `cosma` finds; operators run in
the model's order and in that of least peak. It ends early at the floor, below which no plan is.
Joined alone has the limit, and is asked first; fused groups that it found in less than half of the
time that it gave them are not searched again. A problem whose enumeration takes longer than its
own limit is left out. Printed: where joined is worse, by how much; then in how many it is equal,
and what the others cost. Exits 1 where it is better than what was enumerated.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from itertools import count, pairwise, product
from math import exp, log
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import planners as sp
from planners.core.bounds.floors import ProblemFloors
from planners.core.machine import load_machine, with_scratchpad
from planners.core.objective import Objective
from planners.core.program import Program
from planners.core.progress import Clock
from planners.core.weights import COUNTED
from planners.joined.build import JoinedBuilder, JoinedProgram
from planners.joined.evaluator import Judge
from planners.joined.fused import FusedParts
from planners.joined.options import JoinedOptions
from planners.joined.pool import RoomyBlocks
from planners.joined.segments import Segment, Spilled, joined_steps
from planners.joined.strategies import SLICES
from planners.joined.streamed import NoRoom, ParameterStream
from planners.overlap.search.chain import ChainWay, splits
from tests.random_modules import random_case

MOST_OPERATORS, MOST_SEQUENCES = 6, 4000
OBJECTIVES = ("latency", "traffic")
EQUAL = 1e-9
REPORT = 20
"""After how many problems it says how far it is."""


def ways(blocks: RoomyBlocks) -> Iterator[ChainWay]:
    """Every split of every range of blocks into runs of so many rows each that fits the pool."""
    for first in range(len(blocks.marks) - 1):
        for last in range(first + 1, len(blocks.marks)):
            start, stop = blocks.marks[first], blocks.marks[last]
            for parts in splits(start, stop, True):
                for runs in product(*(list(blocks._levels(*part)) for part in parts)):
                    way = blocks._way(start, stop, runs)
                    if way is not None:
                        yield way
        way = blocks.whole(blocks.marks[first], blocks.marks[first + 1])
        if way is not None:
            yield way


def sequences(blocks: RoomyBlocks, spilled: Sequence[Spilled]) -> Iterator[tuple[Segment, ...]]:
    """All ways to run the network: of consecutive blocks, each in the pool, as fused groups, or as
    whole tensors with spills."""
    marks = blocks.marks
    by_first: dict[int, list[ChainWay]] = {}
    for way in ways(blocks):
        by_first.setdefault(way.first, []).append(way)

    def onwards(at: int) -> Iterator[tuple[Segment, ...]]:
        if at == marks[-1]:
            yield ()
            return
        after = next(b for a, b in pairwise(marks) if a == at)
        for how in (None, *spilled, *by_first.get(at, ())):
            stop = how.stop if isinstance(how, ChainWay) else after
            for rest in onwards(stop):
                yield joined_steps((at, stop, how), rest)

    yield from onwards(0)


class KnownGroups:
    """Plans of fused groups of one problem, by what is planned."""

    def __init__(self) -> None:
        self.known: dict[Hashable, sp.Plan] = {}
        self.plan = FusedParts._plan

    def clear(self) -> None:
        """Forget them: another problem follows."""
        self.known.clear()

    def __call__(self, parts: FusedParts, part: sp.Graph, clock: Clock) -> sp.Plan:
        wanted = tuple((op.name, op.inputs, op.outputs) for op in part.operators)
        key = wanted, tuple(part.outputs), parts.objective
        if key not in self.known:
            plan = self.plan(parts, part, clock)
            if clock.cut:
                return plan
            self.known[key] = plan
        return self.known[key]


def enumerated(
    graph: sp.Graph, machine: sp.Machine, budget: int, aim: Objective, limit_s: float
) -> float | None:
    """The best value of all programs; None where there is none, or they are too many."""
    clock = Clock(limit_s)
    options = JoinedOptions(objective=aim.name, others=False, weights=COUNTED)
    first = JoinedBuilder(graph, machine, budget, aim.name, Clock(3600.0))
    best: float | None = None
    builders = [builder for builder in (first, first.in_other_order(clock)) if builder is not None]
    for builder, share in product(builders, SLICES):
        judge, size = Judge(builder, aim, options), max(1, budget // share)
        blocks = builder.blocks(size)
        for number, found in zip(count(), sequences(blocks, builder.spilled.methods), strict=False):
            if number >= MOST_SEQUENCES or clock.expired():
                return None
            base = builder.unstreamed(blocks, found, clock)
            if base is None:
                continue
            for program in streamed(builder.graph, machine, base.program, budget, found, size):
                made = JoinedProgram(program, found, size, blocks)
                value = judge.beforehand(made)
                value = judge.evaluate(made).value if value is None else value
                best = value if best is None or aim.better(value, best) else best
            if best is not None and not aim.better(aim.floor, best):
                return best  # No plan of the problem is better.
    return best


def streamed(
    graph: sp.Graph,
    machine: sp.Machine,
    base: Program,
    budget: int,
    found: tuple[Segment, ...],
    size: int,
) -> Iterator[Program]:
    """The program with the pool's parameters in slices of a size, and of half of it."""
    if all(segment.fused for segment in found):
        yield base
        return
    stream = ParameterStream(graph, machine, base, budget)
    for slice_bytes in (size, size // 2):
        with suppress(NoRoom):
            yield stream.streamed(slice_bytes)


def networks(first: int) -> Iterator[tuple[int, sp.Graph]]:
    """Random networks that are small and have parameters."""
    for seed in count(first):
        case = random_case(seed)
        graph = sp.from_torch(case.module, case.inputs)
        if 2 <= len(graph.operators) <= MOST_OPERATORS and any(
            op.parameters for op in graph.operators
        ):
            yield seed, graph


def budgets(graph: sp.Graph, seed: int, number: int) -> Iterator[int]:
    """Sizes between what fused groups need and what is there in all."""
    try:
        sp.plan(graph, "fusion", 1, time_limit=2)
        return
    except sp.BudgetTooSmall as error:
        least = error.need_bytes
    whole = sum(map(graph.size_bytes, graph.tensors))
    draw = random.Random(seed)
    for _ in range(number):
        yield draw.randint(least, max(least, whole))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="problems for each objective")
    parser.add_argument("--first", type=int, default=0, help="seed of the first network")
    parser.add_argument("--budgets", type=int, default=2, help="of each network")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds for a joined plan")
    parser.add_argument("--enumerate", type=float, default=60.0, help="seconds for all programs")
    parser.add_argument("--objective", choices=OBJECTIVES, help="both, where it is not given")
    chosen = parser.parse_args()
    asked = [chosen.objective] if chosen.objective else OBJECTIVES
    ratios: dict[str, list[float]] = {objective: [] for objective in asked}
    skipped = better = told = 0
    known = KnownGroups()
    FusedParts._plan = lambda *args, **kwargs: known(*args, **kwargs)  # type: ignore[method-assign]
    for seed, graph in networks(chosen.first):
        for budget in budgets(graph, seed, chosen.budgets):
            machine = with_scratchpad(load_machine("npu_ideal"), budget)
            for objective, found in ratios.items():
                known.clear()
                aim = Objective(objective, ProblemFloors(graph, machine, COUNTED), budget)
                plan = sp.plan(
                    graph, "joined", budget, objective=objective, weights=COUNTED, others=False,
                    time_limit=chosen.limit,
                )  # fmt: skip
                best = enumerated(graph, machine, budget, aim, chosen.enumerate)
                if best is None:
                    skipped += 1
                    continue
                value = aim.value(plan, sp.simulate(plan) if aim.simulated else None)
                found.append(value / best if best else 1.0)
                better += found[-1] < 1 - EQUAL
                if abs(found[-1] - 1) > EQUAL:
                    print(f"seed {seed}, {budget:,} B, {objective}: {found[-1]:.4f}", flush=True)
        done = min(map(len, ratios.values()))
        if done >= chosen.count:
            break
        if done // REPORT > told:
            told = done // REPORT
            print(f"{done} problems, up to seed {seed}", flush=True)
    for objective, found in ratios.items():
        equal = sum(abs(ratio - 1) <= EQUAL for ratio in found)
        worse = [ratio for ratio in found if ratio > 1 + EQUAL]
        mean = exp(sum(map(log, worse)) / len(worse)) if worse else 1.0
        print(
            f"{objective}: equal in {equal} of {len(found)}; the others {mean:.4f} on average, "
            f"{max(worse, default=1.0):.4f} at most"
        )
    print(f"{skipped} problems had no program, or too many for {chosen.enumerate:g} s")
    sys.exit(1 if better else 0)


if __name__ == "__main__":
    main()
