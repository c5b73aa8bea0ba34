"""Offsets for the tensors and workspaces of a few runs, an output over what dies with its run.

Two that are held at once lie apart, but for an output and an input that dies with the run that
makes it: the output may begin by its distance d before the input, or earlier. Exact: orders of
placing are tried until a bound is met, then a solver decides.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

from planners.graph.model import Graph
from planners.overlap.candidates import Candidate

MOST_ORDERS = 240
SOLVE_S = 2.0


@dataclass(frozen=True, slots=True)
class Held:
    """Something in the pool during runs `first` to `last`: a tensor, or workspace (`buffer`)."""

    name: str
    size_bytes: int
    first: int
    last: int
    buffer: bool = False


@dataclass(frozen=True, slots=True)
class Packed:
    """Offsets from the lowest address, by name, the bytes in all, and a bound on them."""

    offsets: Mapping[str, int]
    size_bytes: int
    bound_bytes: int


class Question:
    """Runs in order, what they hold, and which outputs may overlap which inputs."""

    def __init__(self, graph: Graph, runs: Sequence[Candidate], stay: Sequence[str]) -> None:
        """`stay` are held beyond the end; what no run here makes is held from the start."""
        self.runs = runs
        self.held = tuple(_held(graph, runs, frozenset(stay)))
        self.by_name = {item.name: item for item in self.held}
        self.distance: dict[tuple[str, str], int] = {}  # (output, input)
        for at, run in enumerate(runs):
            for name, d in run.distances.items():
                if self.by_name[name].last == at and len(run.writes) == 1:
                    self.distance[run.writes[0], name] = d

    @cached_property
    def bound_bytes(self) -> int:
        """The most that any run needs by itself."""
        return max(self.need(at) for at in range(len(self.runs)))

    def need(self, at: int) -> int:
        """Bytes that a run needs at least: what is held meanwhile, the output over what dies."""
        now = [item for item in self.held if item.first <= at <= item.last]
        total = sum(item.size_bytes for item in now)
        out = next((self.by_name[o] for o, _ in self.distance if self.by_name[o].first == at), None)
        if out is None:
            return total
        under = {name: d for (o, name), d in self.distance.items() if o == out.name}
        # Inputs lie apart from one another, and the lowest under the output by its distance.
        inputs = sum(self.by_name[name].size_bytes for name in under)
        together = max(out.size_bytes, inputs + min(out.size_bytes, *under.values()))
        return total - out.size_bytes - inputs + together

    def meet(self, a: Held, b: Held) -> bool:
        return a.first <= b.last and b.first <= a.last


def _held(graph: Graph, runs: Sequence[Candidate], stay: frozenset[str]) -> list[Held]:
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    found = []
    for at, run in enumerate(runs):
        for name in (*run.reads, *run.writes):
            first.setdefault(name, at if name in run.writes else 0)
            last[name] = at
        for number, need in enumerate(run.needs):
            found.append(Held(f"{at}:{number}", need.size_bytes, at, at, True))
    for name in first:
        end = len(runs) if name in stay else last[name]
        found.append(Held(name, graph.size_bytes(name), first[name], end))
    return found


def pack(
    question: Question, most_bytes: int | None = None, enough: int = 0, exact: bool = True
) -> Packed | None:
    """The least bytes for all, or the first found that are `enough`.

    None where more than `most_bytes` are needed. Without `exact` no solver is asked.
    """
    bound = question.bound_bytes
    if most_bytes is not None and bound > most_bytes:
        return None
    best: dict[str, int] | None = None
    size = 0
    for order in _orders(question):
        offsets = _placed(question, order)
        extent = max(offsets[item.name] + item.size_bytes for item in question.held)
        if best is None or extent < size:
            best, size = offsets, extent
        if size <= max(bound, enough):
            break
    assert best is not None
    if exact and size > max(bound, enough):
        best, size, bound = _solved(question, best, size)
    if most_bytes is not None and size > most_bytes:
        return None
    return Packed(best, size, bound)


def _orders(question: Question) -> Iterator[Sequence[Held]]:
    """Orders to place in: all where there are few, else those by size and time and random ones."""
    held = question.held
    if len(held) <= 5:
        yield from permutations(held)
        return
    yield sorted(held, key=lambda item: (-item.size_bytes, item.first))
    yield sorted(held, key=lambda item: (item.first - item.last, -item.size_bytes))
    yield sorted(held, key=lambda item: (-item.first, -item.size_bytes))
    yield held
    rng = random.Random(len(held))
    for _ in range(MOST_ORDERS):
        yield rng.sample(held, len(held))


def _placed(question: Question, order: Sequence[Held]) -> dict[str, int]:
    """Each in turn as low as it can lie."""
    offsets: dict[str, int] = {}
    placed: list[Held] = []
    for item in order:
        near = [other for other in placed if question.meet(item, other)]
        tried = {0}
        for other in near:
            at = offsets[other.name]
            tried.add(at + other.size_bytes)
            if (d := question.distance.get((item.name, other.name))) is not None:
                tried.add(max(0, at - d))
            if (d := question.distance.get((other.name, item.name))) is not None:
                tried.add(at + d)
        offsets[item.name] = next(
            at
            for at in sorted(tried)
            if all(_fits(question, item, at, other, offsets[other.name]) for other in near)
        )
        placed.append(item)
    return offsets


def _fits(question: Question, a: Held, at: int, b: Held, other: int) -> bool:
    if at + a.size_bytes <= other or other + b.size_bytes <= at:
        return True
    d = question.distance.get((a.name, b.name))
    if d is not None and at <= other - d:
        return True
    d = question.distance.get((b.name, a.name))
    return d is not None and other <= at - d


def _solved(question: Question, hint: dict[str, int], size: int) -> tuple[dict[str, int], int, int]:
    """The least extent by constraint programming, from a packing that is known."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    extent = model.new_int_var(question.bound_bytes, size, "extent")
    at = {i.name: model.new_int_var(0, size - i.size_bytes, i.name) for i in question.held}
    for i, a in enumerate(question.held):
        model.add(at[a.name] + a.size_bytes <= extent)
        model.add_hint(at[a.name], hint[a.name])
        for b in question.held[:i]:
            if question.meet(a, b):
                ways = [
                    at[a.name] + a.size_bytes <= at[b.name],
                    at[b.name] + b.size_bytes <= at[a.name],
                ]
                for x, y in ((a, b), (b, a)):
                    if (d := question.distance.get((x.name, y.name))) is not None:
                        ways.append(at[x.name] + d <= at[y.name])
                chosen = [model.new_bool_var("") for _ in ways]
                for way, literal in zip(ways, chosen, strict=True):
                    model.add(way).only_enforce_if(literal)
                model.add_bool_or(chosen)
    model.minimize(extent)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = SOLVE_S
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return hint, size, question.bound_bytes
    bound = int(solver.best_objective_bound)
    return {name: solver.value(v) for name, v in at.items()}, int(solver.objective_value), bound
