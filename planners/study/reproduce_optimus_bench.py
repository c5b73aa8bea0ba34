"""Partitions of the Optimus comparison: each found once, kept, and gone on from."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from planners.errors import BadInput
from planners.fusion.baselines import BASELINES, ResidentGroups
from planners.fusion.group import GroupModel
from planners.fusion.online import online_partition, size_table
from planners.fusion.partition import GroupModel as Costs
from planners.fusion.partition import Partition, Point, Traits
from planners.fusion.search import sweep_partitions
from planners.fusion.workloads import workload
from planners.graph.model import Graph
from planners.machine import load_machine
from planners.progress import Clock
from planners.study.accelerators import layer_by_layer
from planners.study.printed_model import PrintedModel, Rules, Tiling
from planners.study.reproduce_optimus_paper import BUFFER_BYTES, CHANNEL_TILE, IMAGES

Row = dict[str, Any]

# Whose costs: of programs that run, all parameters of a group kept in them; the paper's equations,
# and those with its baselines' restrictions, with Optimus's operators alone or without ISOA.
Accounting = Literal["program", "program, kept", "printed", "printed, kept", "printed, plain"]
MOST_MODELS = 6  # that are held at once, for memory's sake
LARGEST_TABLE = 12  # operators in the groups of the online look-up table


class Case(NamedTuple):
    """All that a partition depends on, but for the code. Fusers: `BASELINES`, optimus, online."""

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


@dataclass(frozen=True, slots=True)
class Found:
    """A partition's traffic and proof; `traffic_bytes` is None where an operator does not fit.

    `optimal` is over all partitions at these costs; `cap` over those into groups so large.
    """

    traffic_bytes: int | None
    bound_bytes: int = 0
    status: str = "infeasible"
    cap: int | None = None
    groups: tuple[int, ...] = ()
    considered: int = 0
    seconds: float = 0.0
    need_bytes: int = 0

    @property
    def gap(self) -> float:
        return (
            (self.traffic_bytes - self.bound_bytes) / self.traffic_bytes
            if self.traffic_bytes
            else 0
        )

    @staticmethod
    def of(found: Partition, seconds: float) -> Found:
        return Found(
            found.objective_bytes,
            found.bound_bytes,
            found.status,
            found.cap,
            found.groups,
            found.considered,
            seconds,
        )


class Memo:
    """Results by key, kept in memory and, where a path is given, in a file of JSON lines."""

    def __init__(
        self, path: str | Path | None = None, on_result: Callable[[str], object] | None = None
    ) -> None:
        self._path = None if path is None else Path(path)
        self._say = on_result or (lambda text: None)
        self._known: dict[str, Any] = {}
        if self._path is not None and self._path.exists():
            self._read(self._path)

    def of(self, key: Sequence[Any], make: Callable[[], Any]) -> Any:
        """The result under a key, plain data, from before or made now."""
        name = json.dumps(key)
        if name not in self._known:
            self.keep(key, make())
        return self._known[name]

    def get(self, key: Sequence[Any]) -> Any:
        return self._known.get(json.dumps(key))

    def keep(self, key: Sequence[Any], value: Any) -> None:
        name = json.dumps(key)
        self._known[name] = json.loads(json.dumps(value))
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([name, value]) + "\n")
        self._say(" ".join(str(part) for part in key))

    def _read(self, path: Path) -> None:
        try:
            for line in path.read_text(encoding="utf-8").splitlines():
                name, value = json.loads(line)
                self._known[name] = value
        except (OSError, ValueError, TypeError) as error:
            raise BadInput(f"{path} does not hold results of a comparison: {error}") from error


class Bench:
    """Finds partitions, with cost models that are used again while they are held."""

    def __init__(self, memo: Memo, time_limit_s: float) -> None:
        self.memo, self.time_limit_s = memo, time_limit_s
        self._models: OrderedDict[Case, Costs] = OrderedDict()

    def find(self, case: Case) -> Found:
        """The partition of a case."""
        return self.sweep(case, [case.budget_bytes])[0]

    def sweep(self, case: Case, budgets: Sequence[int]) -> list[Found]:
        """The partition of a case in each of these budgets; those not known are found at once."""
        cases = [case._replace(budget_bytes=budget) for budget in budgets]
        missing = [c for c in cases if self.memo.get(["find", *c]) is None]
        if missing:
            found = self._search(case, [c.budget_bytes for c in missing])
            for c, partition in zip(missing, found, strict=True):
                self.memo.keep(["find", *c], asdict(partition))
        values = [self.memo.get(["find", *c]) for c in cases]
        return [Found(**{**value, "groups": tuple(value["groups"])}) for value in values]

    def way(self, case: Case, mask: int) -> Any:
        """The way of least traffic to run a group within the budget of a case."""
        model = self.model(case)
        fits = [way for way in model.staircase(mask) if way.buffer_bytes <= case.budget_bytes]
        return min(fits, key=lambda way: way.traffic_bytes)

    def model(self, case: Case) -> Costs:
        """The costs of a case, for every buffer."""
        key = case._replace(fuser="", budget_bytes=0)
        if key not in self._models:
            self._models[key] = cost_model(key)
            if len(self._models) > MOST_MODELS:
                self._models.popitem(last=False)
        self._models.move_to_end(key)
        return self._models[key]

    def _search(self, case: Case, budgets: Sequence[int]) -> list[Found]:
        model, graph = self.model(case), graph_of(case.network, case.images)
        need = largest_need(model, graph)
        fit = [budget for budget in budgets if budget >= need]
        began = time.perf_counter()
        found = partitions(case, model, graph, fit, self.time_limit_s) if fit else []
        seconds = (time.perf_counter() - began) / max(1, len(fit))
        by_budget = {b: Found.of(f, seconds) for b, f in zip(fit, found, strict=True)}
        return [by_budget.get(b, Found(None, need_bytes=need)) for b in budgets]


def partitions(
    case: Case, model: Costs, graph: Graph, budgets: Sequence[int], time_limit_s: float
) -> list[Partition]:
    """A partition for each budget by the fuser of a case. Raises `BudgetTooSmall`."""
    traits = traits_of(case)
    if case.fuser == "optimus":
        return sweep_partitions(model, graph, budgets, Clock(time_limit_s), traits=traits)
    if case.fuser == "online":
        table = size_table(model, graph, Clock(time_limit_s / 2), LARGEST_TABLE)
        return [online_partition(model, graph, b, Clock(time_limit_s), table) for b in budgets]
    return [BASELINES[case.fuser](model, graph, b, traits=traits) for b in budgets]


def traits_of(case: Case) -> Traits:
    """What the search may take for granted of the costs of a case."""
    if case.accounting.startswith("printed"):
        return Traits("grows")
    return Traits(least_channels=case.channel_tile)


class OwnLayers:
    """A cost model beside which an accelerator runs layers alone in its own way."""

    def __init__(self, model: Costs, graph: Graph, accelerator: str) -> None:
        self._model = model
        self._alone = layer_by_layer(graph, accelerator)

    def staircase(self, mask: int) -> Sequence[Point]:
        """As the model's, of operators alone also the accelerator's, which always fits."""
        ways = self._model.staircase(mask)
        if mask.bit_count() > 1:
            return ways
        own = Tiling(0, self._alone[mask.bit_length() - 1], 1)
        return [own, *(way for way in ways if way.traffic_bytes < own.traffic_bytes)]


def cost_model(case: Case) -> Costs:
    """The costs of groups by the accounting of a case."""
    graph = graph_of(case.network, case.images)
    model = _by_accounting(case, graph)
    return OwnLayers(model, graph, case.accelerator) if case.accelerator else model


def _by_accounting(case: Case, graph: Graph) -> Costs:
    if case.accounting.startswith("program"):
        options = {"channel_tile": case.channel_tile, "free_local_layers": case.free_local}
        model: Costs = GroupModel(graph, load_machine("optimus"), options)
        return ResidentGroups(model) if case.accounting == "program, kept" else model
    rules = Rules(
        channel_tile=case.channel_tile,
        weights_bytes=case.weights_bytes,
        free_local=case.free_local,
    )
    if case.accounting == "printed, kept":
        rules = replace(rules, early_groups=False, refill=False)
    elif case.accounting == "printed, plain":
        rules = replace(rules, early=False, early_groups=False, refill=False)
    return PrintedModel(graph, rules)


def largest_need(model: Costs, graph: Graph) -> int:
    """The least buffer in which every operator runs alone, in bytes."""
    needs = [
        min((way.buffer_bytes for way in model.staircase(1 << i)), default=0)
        for i in range(len(graph.operators))
    ]
    return max(needs, default=0)


@cache
def graph_of(network: str, images: int) -> Graph:
    """A network of the comparison, as the paper counts its operators."""
    return workload(network, images)


def saved(ours: int | None, other: int | None) -> float | None:
    """The share of the other's traffic that ours saves."""
    return None if ours is None or not other else 1 - ours / other
