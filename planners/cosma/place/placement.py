"""Addresses for stays: packed group by group, or around those that have theirs already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from planners.allocation import Lifetime, Packing, pack
from planners.allocation.heuristics import neighbours, orders
from planners.allocation.heuristics import place as place_in_order
from planners.allocation.problem.instance import reduce
from planners.core.progress import Clock
from planners.cosma.model.problem import ScheduleProblem, TensorStay, UseGap

Uses = Mapping[tuple[int, int], int]  # offsets of lines at steps that use them


def lifetimes(problem: ScheduleProblem, stays: Iterable[TensorStay]) -> list[Lifetime]:
    """A lifetime for each run, named by its position."""
    return [
        Lifetime(str(i), run.first, run.last + 1, problem.lines[run.line].size_bytes)
        for i, run in enumerate(stays)
    ]


@dataclass(frozen=True, slots=True)
class Placed:
    """Offsets in bytes of what could be packed, and the groups of runs that could not."""

    offsets: dict[TensorStay, int]
    stuck: tuple[tuple[TensorStay, ...], ...]
    solver: str


def place(
    problem: ScheduleProblem,
    stays: Sequence[TensorStay],
    clock: Clock,
    work: int,
    known: Uses | None = None,
) -> Placed:
    """Pack the stays into the budget, each group between which nothing lives by itself.

    Where a group is not packed in so many looks at the clock, its stays that have `known` addresses
    keep them, and the others are laid around.
    """
    offsets: dict[TensorStay, int] = {}
    stuck, solver = [], "trivial"
    for group in _groups(stays):
        packing: Packing = pack(
            lifetimes(problem, group),
            problem.budget_bytes,
            explain=False,
            clock=clock.work(work),
        )
        if packing.status == "packed":
            offsets |= {run: packing.offsets[str(i)] for i, run in enumerate(group)}
            solver = packing.solver if packing.solver != "trivial" else solver
        elif around := _around(problem, group, known or {}):
            offsets |= around
            solver = "CP-SAT"
        else:
            stuck.append(group)
    return Placed(offsets, tuple(stuck), solver)


def _groups(stays: Sequence[TensorStay]) -> Iterator[tuple[TensorStay, ...]]:
    """The stays in groups that share no step, in time order."""
    group: list[TensorStay] = []
    end = -1
    for run in sorted(stays, key=lambda run: run.first):
        if group and run.first > end:
            yield tuple(group)
            group = []
        group.append(run)
        end = max(end, run.last)
    if group:
        yield tuple(group)


def _around(
    problem: ScheduleProblem, group: tuple[TensorStay, ...], known: Uses
) -> dict[TensorStay, int] | None:
    """The stays with known addresses as low as they sink, the others in the gaps between."""
    wanted: dict[TensorStay, float] = {}
    for run in group:
        uses = (use for use in problem.lines[run.line].uses if run.first <= use <= run.last)
        addresses = [known[run.line, use] for use in uses if (run.line, use) in known]
        if addresses:
            wanted[run] = addresses[0]
    sunk = settle(problem, wanted) if wanted else None
    if sunk is None:
        return None
    (instance,) = reduce(lifetimes(problem, group), problem.budget_bytes)
    fixed = {b: sunk[run] // instance.unit_bytes for b, run in _blocks(instance.ids, group, sunk)}
    near = neighbours(instance.start, instance.stop)
    for order in orders(instance):
        rest = [block for block in order if block not in fixed]
        for best_fit in (False, True):
            at = place_in_order(instance, near, rest, best_fit, fixed)
            if instance.extent(at) <= instance.capacity:
                places = instance.in_bytes(at)
                return {run: places[str(i)] for i, run in enumerate(group)}
    return None


def _blocks(
    ids: Sequence[str], group: Sequence[TensorStay], wanted: Mapping[TensorStay, int]
) -> Iterator[tuple[int, TensorStay]]:
    for block, name in enumerate(ids):
        if group[int(name)] in wanted:
            yield block, group[int(name)]


def settle(
    problem: ScheduleProblem, wanted: Mapping[TensorStay, float]
) -> dict[TensorStay, int] | None:
    """Let stays sink in the order of their addresses: sums of sizes, whatever a solver's tolerance.

    None where they do not fit.
    """
    placed: dict[TensorStay, int] = {}
    for run in sorted(wanted, key=lambda run: wanted[run]):
        placed[run] = max(
            (
                at + problem.lines[below.line].size_bytes
                for below, at in placed.items()
                if below.first <= run.last and run.first <= below.last
            ),
            default=0,
        )
        if placed[run] + problem.lines[run.line].size_bytes > problem.budget_bytes:
            return None
    return placed


def gaps_within(problem: ScheduleProblem, run: TensorStay) -> list[UseGap]:
    """The gaps that a run keeps."""
    uses = [step for step in problem.lines[run.line].uses if run.first <= step <= run.last]
    return [UseGap(run.line, a, b) for a, b in zip(uses, uses[1:], strict=False)]
