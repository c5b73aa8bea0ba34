"""What groups cost in the Optimus comparison: one model of programs, seen in several ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Literal, NamedTuple

from planners.core.graph import Graph
from planners.core.machine import load_machine
from planners.fusion.baselines.fusers import ResidentGroups
from planners.fusion.cost.group import GroupModel
from planners.fusion.partition.cost_model import GroupCosts as Costs
from planners.fusion.partition.cost_model import StaircasePoint, Traits
from planners.papers.optimus.array_accelerators import layer_by_layer
from planners.papers.optimus.paper import BUFFER_BYTES, CHANNEL_TILE, IMAGES
from planners.papers.optimus.printed_model import PrintedModel, Rules, Tiling, is_local_layer
from planners.papers.optimus.workloads import workload

# Whose costs: of programs that run, all parameters of a group kept in them; the paper's equations,
# and those with its baselines' restrictions, with Optimus's operators alone or without ISOA.
Accounting = Literal["program", "program, kept", "printed", "printed, kept", "printed, plain"]


class PartitionCase(NamedTuple):
    """All that a partition depends on, but for the code.

    Fusers: `BASELINES`, optimus, online, and joint, which may keep maps on chip between groups.
    """

    network: str
    fuser: str = "optimus"
    accounting: Accounting = "program"
    budget_bytes: int = BUFFER_BYTES
    images: int = IMAGES
    channel_tile: int = CHANNEL_TILE
    free_local: bool = False
    weights_bytes: int | None = None  # of a buffer of their own, by the paper's equations only
    accelerator: str = ""  # whose own way to run a layer is there for operators alone

    def __str__(self) -> str:
        free = ", local layers free" * self.free_local
        what = f"{self.network} {self.fuser} ({self.accounting}{free})"
        return f"{what} {self.images} images in {self.budget_bytes:,} B"


class SeenCosts:
    """A cost model seen in another way: by default as it is."""

    def __init__(self, model: Costs) -> None:
        self.model = model

    def staircase(self, mask: int) -> Sequence[StaircasePoint]:
        """As the model's."""
        return self.model.staircase(mask)

    def fuses(self, mask: int) -> bool:
        """As the model's."""
        return self.model.fuses(mask)

    def least_traffic(self, mask: int) -> int:
        """As the model's."""
        return self.model.least_traffic(mask)


class Known(SeenCosts):
    """A cost model's answers, kept: what is left is the search."""

    def __init__(self, model: Costs) -> None:
        super().__init__(model)
        self._known: dict[int, Sequence[StaircasePoint]] = {}

    def staircase(self, mask: int) -> Sequence[StaircasePoint]:
        """As the model's."""
        if mask not in self._known:
            self._known[mask] = self.model.staircase(mask)
        return self._known[mask]


class FreeLocalLayers(SeenCosts):
    """A cost model by which element-wise, pooling and depth-wise operators alone cost nothing."""

    def __init__(self, model: Costs, graph: Graph) -> None:
        super().__init__(model)
        self._free = {i for i, op in enumerate(graph.operators) if is_local_layer(graph, op)}

    def staircase(self, mask: int) -> Sequence[StaircasePoint]:
        """As the model's, of such operators one way that moves nothing."""
        ways = self.model.staircase(mask)
        return [Tiling(ways[0].buffer_bytes, 0, 1)] if self._is_free(mask) else ways

    def least_traffic(self, mask: int) -> int:
        """As the model's, but for what is free."""
        return 0 if self._is_free(mask) else self.model.least_traffic(mask)

    def _is_free(self, mask: int) -> bool:
        return mask.bit_count() == 1 and mask.bit_length() - 1 in self._free


class OwnLayers(SeenCosts):
    """A cost model beside which an accelerator runs layers alone in its own way."""

    def __init__(self, model: Costs, graph: Graph, accelerator: str) -> None:
        super().__init__(model)
        self._alone = layer_by_layer(graph, accelerator)

    def staircase(self, mask: int) -> Sequence[StaircasePoint]:
        """As the model's, of operators alone also the accelerator's, which always fits."""
        ways = self.model.staircase(mask)
        if mask.bit_count() > 1:
            return ways
        layer_way = Tiling(0, self._alone[mask.bit_length() - 1], 1)
        return [layer_way, *(way for way in ways if way.traffic_bytes < layer_way.traffic_bytes)]

    def least_traffic(self, mask: int) -> int:
        """As the model's, of operators alone the least of all ways."""
        if mask.bit_count() > 1:
            return self.model.least_traffic(mask)
        return min((way.traffic_bytes for way in self.staircase(mask)), default=0)


def base_of(case: PartitionCase) -> PartitionCase:
    """The case whose costs those of a case are made of: searches share what it has evaluated."""
    case = case._replace(fuser="", budget_bytes=0, accelerator="", free_local=False)
    kept = case.accounting == "program, kept"
    return case._replace(accounting="program") if kept else case


def base_costs(base: PartitionCase) -> Known:
    """Costs that know nothing yet."""
    graph = graph_of(base.network, base.images)
    if base.accounting == "program":
        options = {"channel_tile": base.channel_tile}
        return Known(GroupModel(graph, load_machine("optimus"), options))
    rules = Rules(channel_tile=base.channel_tile, weights_bytes=base.weights_bytes)
    if base.accounting == "printed, kept":
        rules = replace(rules, early_groups=False, refill=False)
    elif base.accounting == "printed, plain":
        rules = replace(rules, early=False, early_groups=False, refill=False)
    return Known(PrintedModel(graph, rules))


def seen_by(case: PartitionCase, model: Costs) -> Costs:
    """The costs of its base as a case has them."""
    graph = graph_of(case.network, case.images)
    if case.accounting == "program, kept":
        model = ResidentGroups(model)
    if case.free_local:
        model = FreeLocalLayers(model, graph)
    return OwnLayers(model, graph, case.accelerator) if case.accelerator else model


def traits_of(case: PartitionCase) -> Traits:
    """What the search may take for granted of the costs of a case."""
    if case.accounting.startswith("printed"):
        return Traits("grows")
    return Traits(least_channels=case.channel_tile)


@cache
def graph_of(network: str, images: int) -> Graph:
    """A network of the comparison, as the paper counts its operators."""
    return workload(network, images)
