"""Every plan of a small problem: all orders of all groups, in all ways, in all of their places.

A group lies in all of the budget from address 0, or in all or half of it at either end; its kept
parameters come as they are first used, or early, after any step of the group before. Half-made
plans are timed, and left where they take too long already: the scoreboard goes in program order, so
that what follows makes nothing before it quicker. More is left out by rules (`EnumerationRules`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from planners.core.bounds.floors import ProblemFloors
from planners.core.engines import moves
from planners.core.masks import bits
from planners.core.progress import Clock
from planners.core.weights import COUNTED
from planners.fusion.cost.group import GroupModel
from planners.fusion.emit.group import GroupEmitter
from planners.fusion.emit.laid import LaidGroup
from planners.fusion.emit.layout import Arranger
from planners.fusion.emit.program import emit
from planners.fusion.emit.residents import Residents
from planners.fusion.latency.timed import TimedGroups, at_an_end, may_be_early, tile_bytes
from planners.fusion.partition.lattice import Dag
from planners.simulator.timing import schedule

FEW_OPERATORS = 6  # of a graph that is small
MOST_WAYS = 300  # ways of all groups of a small problem
MOST_PLANS = 4000  # plans, half-made ones too, that are timed


@dataclass(frozen=True, slots=True)
class EnumerationRules:
    """Which plans are left out."""

    engine_work: bool = True
    """Each engine has still to do what the operators that are left need of it at least."""
    same_program: bool = True
    """Of a group's ways and places that give one program the first stands for all."""


ENUMERATION_RULES = EnumerationRules()


@dataclass
class Enumerated:
    """The quickest plan, and whether all were looked at; None where none beats what is known."""

    best: TimedGroups | None
    complete: bool


class Enumeration:
    """The plans of a model within a budget in bytes, and the least of their seconds."""

    def __init__(
        self,
        model: GroupModel,
        budget_bytes: int,
        *,
        double_buffer: bool,
        rules: EnumerationRules = ENUMERATION_RULES,
    ) -> None:
        self.model, self.graph, self.budget = model, model.graph, budget_bytes
        self.machine, self.double_buffer = model.machine, double_buffer
        self.dag, self.rules = Dag.from_graph(model.graph), rules
        self.timed = 0
        self.laid: dict[int, list[LaidGroup]] = {}
        self.floors = ProblemFloors(self.graph, self.machine, COUNTED, self.machine.parameters)
        host, home, chip = self.machine.offchip, self.machine.parameters, self.machine.onchip
        self._inwards = self._engines((host, chip), (home, chip))
        self._outwards = self._engines((chip, host))
        self._known_rests: dict[int, tuple[float, float, float]] = {}

    def lay(self, clock: Clock) -> bool:
        """Each group in each of its ways and places; of those with one program the first. Whether
        these are all: the time may end before."""
        self.laid.clear()
        for mask in self._groups():
            for place in self._places(mask):
                if clock.expired():
                    return False
                self.laid.setdefault(mask, []).append(place)
        return True

    def _groups(self) -> Iterator[int]:
        for mask in range(1, self.dag.everything + 1):
            if self.dag.is_convex(mask) and not self.model.why_not(mask):
                yield mask

    @property
    def few(self) -> bool:
        """Whether groups have few ways in all: the problem is small."""
        ways = 0
        for mask in self._groups():
            ways += len(self.model.every_way(mask, self.budget))
            if ways > MOST_WAYS:
                return False
        return True

    def best(self, known_s: float, clock: Clock) -> Enumerated:
        """The quickest plan of less than so many seconds."""
        if not self.few or not self.lay(clock):
            return Enumerated(None, complete=False)
        enumerated = Enumerated(None, complete=True)
        self._extend((), 0, known_s, enumerated, clock)
        return enumerated

    def following(self, done: int) -> Iterator[int]:
        """The groups that can run next."""
        for mask in self.laid:
            if not mask & done:
                needs = 0
                for i in bits(mask):
                    needs |= self.dag.predecessors[i]
                if not needs & ~(done | mask):
                    yield mask

    def after(self, before: LaidGroup | None, laid: LaidGroup) -> Iterator[LaidGroup]:
        """A group behind another, its parameters early or not."""
        yield laid
        early = () if before is None else may_be_early(before, laid)
        if before is None or not early:
            return
        start = min(laid.layout.kept.values())
        stop = max(at + laid.arranger.kept_bytes(i) for i, at in laid.layout.kept.items())
        low, high = _extent(before)
        if start >= high or stop <= low:
            for step in range(before.plan.strips):
                yield replace(laid, early=early, early_at=step)

    def _places(self, mask: int) -> Iterator[LaidGroup]:
        group, seen = self.model.group(mask), set()
        for plan in self.model.every_way(mask, self.budget):
            arranger = Arranger(self.graph, group, plan)
            for part in (1, 2):
                if plan.buffer_bytes * part > self.budget:
                    continue
                layout = arranger.arrange(self.budget // part, self.double_buffer)
                ends = [at_an_end(arranger, layout, self.budget, high=h) for h in (False, True)]
                for place in (layout, *ends):
                    laid = LaidGroup("g", group, plan, place, arranger)
                    key = self._content(laid)
                    if key not in seen or not self.rules.same_program:
                        seen.add(key)
                        yield laid

    def _content(self, laid: LaidGroup) -> object:
        items = tuple(GroupEmitter(Residents(self.graph, self.machine), laid, 0).run())
        rings, kept = laid.layout.rings, laid.layout.kept
        return items, tuple(rings.items()), tuple(kept.items())

    def _extend(
        self,
        laid: tuple[LaidGroup, ...],
        done: int,
        known_s: float,
        found: Enumerated,
        clock: Clock,
    ) -> None:
        for mask in self.following(done):
            for each in self.laid[mask]:
                for group in self.after(laid[-1] if laid else None, each):
                    if self.timed >= MOST_PLANS or clock.expired():
                        found.complete = False
                        return
                    more = (*laid, replace(group, name=f"g{len(laid)}"))
                    now = done | mask
                    plan, least = self._timed(more, now)
                    limit = known_s if found.best is None else found.best.seconds
                    if least >= limit:
                        continue
                    if now == self.dag.everything:
                        found.best = plan
                    else:
                        self._extend(more, now, known_s, found, clock)

    def _timed(self, laid: tuple[LaidGroup, ...], done: int) -> tuple[TimedGroups, float]:
        """A plan as far as it is made, and the least seconds of all that begin with it."""
        self.timed += 1
        program = emit(self.graph, self.machine, laid, self.budget)
        free: dict[str, float] = defaultdict(float)
        for each in schedule(program, self.machine, self.graph):
            free[each.engine] = each.stop_s
        seconds = max(free.values(), default=0.0)
        if not self.rules.engine_work:
            return TimedGroups(laid, program, seconds), seconds
        computing, loading, storing = self._rest_s(done)
        least = max(
            seconds,
            free["compute"] + computing,
            min((free[engine] for engine in self._inwards), default=0.0) + loading,
            min((free[engine] for engine in self._outwards), default=0.0) + storing,
        )
        return TimedGroups(laid, program, seconds), least

    def _rest_s(self, done: int) -> tuple[float, float, float]:
        """Seconds that the operators that are left compute, load and store at least; between groups
        all is stored."""
        if done not in self._known_rests:
            operators = self.graph.operators
            left = [operators[i] for i in bits(self.dag.everything & ~done)]
            written = {name for i in bits(done) for name in operators[i].outputs}
            self._known_rests[done] = (
                sum(map(self.floors.compute_s, left)),
                self.floors.load_s(self.floors.loaded_for(left, written)),
                self.floors.store_s(self.floors.stored_by(left)),
            )
        return self._known_rests[done]

    def _engines(self, *ways: tuple[str, str]) -> list[str]:
        """The engines that move bytes from one memory to another, by any of these ways."""
        machine = self.machine
        return [
            e.name for e in machine.engines if any(moves(machine, e.name, *way) for way in ways)
        ]


def _extent(laid: LaidGroup) -> tuple[int, int]:
    """The bytes around all that a group has."""
    layout = laid.layout
    spans = [(ring.base, ring.base + ring.size_bytes) for ring in layout.rings.values()]
    spans += [(at, at + laid.arranger.kept_bytes(i)) for i, at in layout.kept.items()]
    size = tile_bytes(laid.arranger, layout)
    spans += [(at, at + size) for at in layout.tiles]
    return min(a for a, _ in spans), max(b for _, b in spans)
