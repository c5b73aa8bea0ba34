"""All groups that fit a budget, grown one operator at a time, with their staircases.

A connected convex set of n operators always has one of n − 1 within it: take away an operator that
nothing in the set waits for, or that waits for nothing in it, and that keeps the rest connected.
(In the graph of *comes before* and *shares a tensor*, some operator of that kind is no cut vertex:
an end block without one would hold elements with all their minima and maxima at the one cut
vertex.) So, where something of footprints grows with the group, what is too large for the budget
need not be grown.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from itertools import count

from planners.core.graph import Graph
from planners.core.masks import bits, positions
from planners.core.progress import Clock
from planners.fusion.cost.floor import Floors
from planners.fusion.cost.refills import Refills
from planners.fusion.partition.constraints import WishedGroups
from planners.fusion.partition.cost_model import GroupCosts, Traits
from planners.fusion.partition.lattice import Dag
from planners.fusion.tile.rows import RowTables
from planners.fusion.tile.ways import Staircase, Steps

_Around = tuple[int, int, int]  # relatives, ancestors, descendants of a group


class Candidates:
    """Groups in rising size that may fit a budget; smaller budgets reuse them.

    `masks` are all found, also some that do not fit but are part of what may; `complete` is the
    size up to which all are there, None where no larger group fits. `evaluated` counts the
    staircases that the model computed.
    """

    def __init__(
        self, model: GroupCosts, graph: Graph, traits: Traits, wished: WishedGroups | None = None
    ) -> None:
        self.wished = wished or None
        self.dag = wished.relate(Dag.from_graph(graph)) if wished else Dag.from_graph(graph)
        self.masks: dict[int, None] = {}
        self.complete: int | None = 0
        self.evaluated = 0
        self.model, self.traits = model, traits
        lines = traits.footprint == "lines"
        self.floors: Floors | None = None
        self.refills: Refills | None = None
        if lines:
            tables = self.tables = RowTables(graph)
            self.floors = Floors(graph, tables, traits.least_channels, traits.bands)
            self.refills = Refills(graph, tables, self.floors)
        self._looks = looks(graph)
        self._growth: Iterator[None] = iter(())
        self._within: tuple[int, int | None] | None = None
        self._known: dict[object, Steps] = {}
        self._low: dict[object, int] = {}
        self._fuses: dict[object, bool] = {}

    def grow(self, budget_bytes: int, cap: int | None, clock: Clock, limit: int) -> None:
        """Find all groups within the budget, of at most `cap` operators; it goes on where it was.

        Ends early, with all of some size, where the clock does or more than `limit` are found.
        """
        if (budget_bytes, cap) != self._within:
            self._within = budget_bytes, cap
            classes = self.wished.classes if self.wished else ()
            self.masks = dict.fromkeys((*dict(self._singles()), *classes))
            self.complete = 1
            self._growth = self._grown(budget_bytes, cap, clock)
        while len(self.masks) <= limit and not clock.expired():
            if next(self._growth, self) is self:  # There are no more.
                return

    def _grown(self, budget_bytes: int, cap: int | None, clock: Clock) -> Iterator[None]:
        layer = dict(self._singles())
        for size in count(1):
            self.complete = size
            if size == cap:
                return
            grown: dict[int, _Around] = {}
            for mask, around in self._larger(layer):
                if self._goes_on(mask, layer, budget_bytes):
                    grown[mask] = around
                    self.masks[mask] = None
                yield
            if not grown:
                self.complete = None
                return
            clock.report(f"groups of {size + 1} operators: {len(grown)}")
            layer = grown

    @property
    def steps(self) -> dict[int, Steps]:
        """The staircase of every group that was found."""
        return {mask: self.cost(mask) for mask in self.masks}

    def cost(self, mask: int) -> Steps:
        """The staircase of a group, computed once for all groups of equal looks."""
        key = self.key(mask)
        steps = self._known.get(key)
        if steps is None:
            points = self.model.staircase(mask)
            if isinstance(points, Staircase):
                steps = points.steps
            else:
                steps = tuple((point.buffer_bytes, point.traffic_bytes) for point in points)
            self._known[key] = steps
            self.evaluated += 1
        return steps

    def fits(self, mask: int, budget_bytes: int) -> bool:
        """Whether there is a way to run a group within a budget."""
        return any(buffer <= budget_bytes for buffer, _ in self.cost(mask))

    def room(self, mask: int, budget_bytes: int) -> bool:
        """Whether the budget rules out neither a group nor the larger ones."""
        if self.floors:
            return self.floor(mask) <= budget_bytes and self._can_be_one(mask)
        return self.fits(mask, budget_bytes)

    def apart(self, mask: int, budget_bytes: int) -> bool:
        """Whether no group within the budget can hold these operators; False where not known."""
        mask |= self.dag.between(mask)
        seen = self.complete is None or mask.bit_count() <= self.complete
        if not seen or self.traits.footprint == "any":
            return False
        return mask not in self.masks or not self.room(mask, budget_bytes)

    def _goes_on(self, mask: int, layer: Container[int], budget_bytes: int) -> bool:
        """Whether a group, or one that it is part of, may fit."""
        if self.wished and not self.wished.may_grow(mask):
            return False
        if self.traits.footprint == "any":
            return True
        if not self.floors:
            return self._may_go_on(mask, layer) and self.fits(mask, budget_bytes)
        low = self.floor(mask) <= budget_bytes
        return low and self._may_go_on(mask, layer) and self._can_be_one(mask)

    def _may_go_on(self, mask: int, layer: Container[int]) -> bool:
        """Whether all groups of one operator less within it were kept; the model is not called."""
        dag = self.dag
        for i in bits(mask):
            less = mask & ~(1 << i)
            inner = dag.ancestors[i] & less and dag.descendants[i] & less
            if less in layer or inner:
                continue
            if not self.traits.splits or next(dag.pieces(less)) == less:
                return False
        return True

    def floor(self, mask: int) -> int:
        """A lower bound in bytes on a group's buffer, computed once for all of equal looks."""
        if self.floors is None or mask.bit_count() == 1:
            return 0
        key = self.key(mask)
        floor = self._low.get(key)
        if floor is None:
            floor = self._low[key] = self.floors(mask)
        return floor

    def least_traffic(self, mask: int, budgets: Sequence[int]) -> list[int | None]:
        """A lower bound on a group's traffic within each budget; None where it cannot fit."""
        least = self.model.least_traffic(mask)
        if self.refills is None or mask.bit_count() == 1:
            return [least] * len(budgets)
        again = self.refills(mask, budgets)
        return [None if extra is None else least + extra for extra in again]

    def _can_be_one(self, mask: int) -> bool:
        key = self.key(mask)
        fuses = self._fuses.get(key)
        if fuses is None:
            fuses = self._fuses[key] = self.model.fuses(mask)
        return fuses

    def key(self, mask: int) -> object:
        """Equal for groups that look alike."""
        if not self.traits.local:
            return mask
        members = positions(mask)
        return mask >> members[0], tuple([self._looks[i] for i in members])

    def _singles(self) -> Iterator[tuple[int, _Around]]:
        dag = self.dag
        for i in range(dag.count):
            near = dag.relatives[i] if self.traits.splits else dag.everything
            yield 1 << i, (near, dag.ancestors[i], dag.descendants[i])

    def _larger(self, layer: dict[int, _Around]) -> Iterator[tuple[int, _Around]]:
        """Every convex set that is one of these and one of its relatives, once."""
        dag, seen = self.dag, set()
        for mask, (near, before, after) in layer.items():
            for i in bits(near & ~mask):
                larger = mask | 1 << i
                if larger in seen:
                    continue
                seen.add(larger)
                up, down = before | dag.ancestors[i], after | dag.descendants[i]
                if not up & down & ~larger:
                    yield larger, (near | dag.relatives[i], up, down)


def looks(graph: Graph) -> tuple[int, ...]:
    """A number for what an operator looks like from where it stands: equal numbers, equal looks.

    Its kind, window and sizes, who wrote what it reads and who reads what it writes, as distances.
    """
    numbers: dict[object, int] = {}
    look_ids = []
    for i, op in enumerate(graph.operators):
        wrote = tuple(
            i - graph.producer[t] if t in graph.producer else (t, graph.size_bytes(t))
            for t in op.inputs
        )
        # Parameters that others read too are identified by name.
        own_shapes = tuple(
            (graph.tensors[t].shape, t if len(graph.consumers[t]) > 1 else "")
            for t in op.parameters
        )
        read = tuple(
            (t in graph.outputs, tuple(j - i for j in graph.consumers[t])) for t in op.outputs
        )
        shapes = tuple(graph.tensors[t].shape for t in (*op.inputs, *op.outputs))
        window = (op.kernel, op.stride, op.padding, op.dilation, op.groups, op.macs)
        look = (op.kind, op.look, window, wrote, own_shapes, read, shapes, graph.types_of(op))
        look_ids.append(numbers.setdefault(look, len(numbers)))
    return tuple(look_ids)
