"""The Optimus paper's evaluation, computed anew: Tables 4 and 5 and Figures 13 to 19.

Everything is found at two accountings: programs, whose every byte has an address and which run;
and the paper's equations as printed, beside which its statements stand.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from planners.core.errors import BudgetTooSmall
from planners.core.graph import Graph
from planners.core.progress import Clock
from planners.fusion.baselines.algorithm1 import bottom_up, top_down
from planners.fusion.partition.cost_model import GroupCosts as Costs
from planners.fusion.partition.cost_model import Partition, least_traffic
from planners.fusion.partition.lattice import Dag, count_downsets, count_groups
from planners.fusion.search.candidates import Candidates
from planners.fusion.search.exact import best_partition
from planners.fusion.search.online import online_partition
from planners.papers.memo import Memo
from planners.papers.optimus.array_accelerators import (
    BASELINES,
    EYERISS_BYTES,
    LOWER_BOUND_BYTES,
    SHIDIANNAO_BYTES,
    layer_by_layer,
)
from planners.papers.optimus.bench import (
    WIDE_DOWNSETS,
    Bench,
    PartitionResult,
    look_up_table,
)
from planners.papers.optimus.costs import PartitionCase, base_costs, base_of, graph_of, traits_of
from planners.papers.optimus.figures import (
    BATCHES,
    BUFFERS_KIB,
    array_rows,
    batch_rows,
    buffer_rows,
    dataflow_rows,
    energy_rows,
    replayed_rows,
    traffic_rows,
)
from planners.papers.optimus.paper import EIGHT, IMAGES, NASNET, TABLE_4, TABLE_5
from planners.papers.report import Row, share_saved

Result = TypeVar("Result")
MOST_GROUPS = 30_000  # that Algorithm 1 goes through one by one
ENOUGH_S = 0.2  # a search shorter than this is timed more than once
# What is unrolled: Eyeriss wants few channels at once, ShiDianNao one, the third 16.
CHANNELS = {"eyeriss": 4, "shidiannao": 1, "lower bound": 16}
POOLS_BYTES = {
    "eyeriss": EYERISS_BYTES,
    "shidiannao": sum(SHIDIANNAO_BYTES.values()),
    "lower bound": LOWER_BOUND_BYTES,
}


def accelerator_rows(bench: Bench, networks: Sequence[str]) -> list[Row]:
    """Bytes and shares saved for each accelerator and network, beside Table 4's."""
    return [_accelerator_row(bench, name, network) for name in BASELINES for network in networks]


def _accelerator_row(bench: Bench, accelerator: str, network: str) -> Row:
    base = sum(layer_by_layer(graph_of(network, IMAGES), accelerator))
    row: Row = {"accelerator": accelerator, "network": network, "layer by layer": base}
    row["paper saves"] = TABLE_4[accelerator].get(network)
    for name, case in _accelerator_cases(accelerator, network).items():
        result = bench.find(case)
        row |= {
            name: result.traffic_bytes,
            f"{name} saves": share_saved(result.traffic_bytes, base),
        }
        row |= {f"{name} gap": result.gap, f"{name} need": result.need_bytes}
    return row


def _accelerator_cases(accelerator: str, network: str) -> dict[str, PartitionCase]:
    """Programs; programs of groups beside the accelerator's own layers; these by the equations."""
    pool, tile = POOLS_BYTES[accelerator], CHANNELS[accelerator]
    program = PartitionCase(network, budget_bytes=pool, channel_tile=tile)
    layers = program._replace(accelerator=accelerator)
    printed = layers._replace(accounting="printed")
    if accelerator == "shidiannao":
        maps = SHIDIANNAO_BYTES["inputs"] + SHIDIANNAO_BYTES["outputs"]
        printed = printed._replace(budget_bytes=maps, weights_bytes=SHIDIANNAO_BYTES["weights"])
    return {"program": program, "own layers": layers, "printed": printed}


def search_rows(bench: Bench, networks: Sequence[str]) -> list[Row]:
    """A row of Table 5 for each network; found anew unless it is kept."""
    limit = bench.time_limit_s
    return [
        bench.memo.result(["table 5", n, limit], partial(search_row, bench, n)) for n in networks
    ]


def search_row(bench: Bench, network: str) -> Row:
    """Counts and seconds of a network; the bench keeps the costs."""
    case = PartitionCase(network)
    graph = graph_of(network, case.images)
    dag = Dag.from_graph(graph)
    entry: Row = {
        "network": network,
        "operators": dag.count,
        "successors": max(after.bit_count() for after in dag.successors),
        "groups": count_groups(dag),
        "downsets": count_downsets(dag),
    }
    try:
        entry |= _searched(bench, case, graph, dag)
    except BudgetTooSmall as error:
        return entry | {"status": str(error)}
    if entry["groups"] <= MOST_GROUPS:
        entry |= _algorithm_1(case, bench.base(case), graph, dag)
    if entry["downsets"] <= WIDE_DOWNSETS:
        entry["chosen_printed"] = len(bench.find(case._replace(accounting="printed")).groups)
    return entry


def _searched(bench: Bench, case: PartitionCase, graph: Graph, dag: Dag) -> Row:
    base_model, traits, limit = bench.base(case, anew=True), traits_of(case), bench.time_limit_s

    def search() -> Partition:
        return best_partition(base_model, graph, case.budget_bytes, Clock(limit), traits=traits)

    best, cold_s = _timed(search)
    table = look_up_table(base_model, graph, limit / 2)

    def online(model: Costs) -> Partition:
        return online_partition(model, graph, case.budget_bytes, Clock(limit), table)

    quick, online_cold_s = _timed(lambda: online(base_costs(base_of(case))))
    bench.keep(case, PartitionResult.solved(best, cold_s))
    bench.keep(case._replace(fuser="online"), PartitionResult.solved(quick, online_cold_s))
    return {
        "fit": best.considered,
        "chosen": len(best.groups),
        "status": best.status,
        "gap": best.gap,
        "cap": best.cap,
        "cold_s": cold_s,
        # A search that the clock ended would only end there again.
        "search_s": _least_s(search) if best.status == "optimal" else None,
        "online_groups": quick.considered,
        "online_cold_s": online_cold_s,
        "online_s": _least_s(lambda: online(base_model)),
        "online_more": quick.objective_bytes / best.objective_bytes - 1,
        "bytes": best.objective_bytes,
    }


def _algorithm_1(case: PartitionCase, model: Costs, graph: Graph, dag: Dag) -> Row:
    """Algorithm 1 both ways, over all groups that fit, at costs already known."""
    candidates = Candidates(model, graph, traits_of(case))
    candidates.grow(case.budget_bytes, None, Clock(600.0), MOST_GROUPS)
    costs = {m: least_traffic(s, case.budget_bytes) for m, s in candidates.steps.items()}
    (down, _), down_s = _timed(lambda: top_down(dag, costs.get))
    (up, _), up_s = _timed(lambda: bottom_up(dag, costs.get))
    return {"top_down_s": down_s, "bottom_up_s": up_s, "top_down": down, "bottom_up": up}


def _timed(call: Callable[[], Result]) -> tuple[Result, float]:
    began = time.process_time()
    result = call()
    return result, time.process_time() - began


def _least_s(call: Callable[[], object]) -> float:
    """The least of a few runs, of a long one once."""
    first = _timed(call)[1]
    return min(first, *(_timed(call)[1] for _ in range(4))) if first < ENOUGH_S else first


@dataclass(frozen=True, slots=True)
class OptimusStudy:
    """What is compared: networks by table or figure, buffers, batches, seconds a search.

    `quick` is for the report, which says how it was made.
    """

    networks: tuple[str, ...] = EIGHT
    wide: tuple[str, ...] = (NASNET,)  # in Table 5 and Figures 14 and 15 only
    searched: tuple[str, ...] = tuple(TABLE_5)
    buffered: tuple[str, ...] = ("vgg16", "resnet50", "mobilenet_v2", "squeezenet1_0")
    batched: tuple[str, ...] = ("vgg16", "squeezenet1_0")
    arrays: tuple[str, ...] = ("squeezenet1_0", "resnet50")
    buffers_kib: tuple[int, ...] = BUFFERS_KIB
    batches: tuple[int, ...] = BATCHES
    registers: tuple[int, ...] = (32, 64, 128, 512)
    time_limit_s: float = 60.0
    quick: bool = False

    def only(self, networks: tuple[str, ...]) -> OptimusStudy:
        """The same of these networks; sweeps of those that would be swept, or of the last."""
        last = networks[-1:]
        return replace(
            self,
            networks=tuple(name for name in networks if name != NASNET),
            wide=tuple(name for name in networks if name == NASNET),
            searched=tuple(name for name in networks if name in TABLE_5),
            buffered=tuple(name for name in self.buffered if name in networks) or last,
            batched=tuple(name for name in self.batched if name in networks) or last,
            arrays=tuple(name for name in self.arrays if name in networks) or last,
        )

    @staticmethod
    def small() -> OptimusStudy:
        """A cut that takes seconds."""
        return OptimusStudy(
            networks=("alexnet", "squeezenet1_0"),
            wide=(),
            searched=("vgg16", "squeezenet1_0"),
            buffered=("squeezenet1_0",),
            batched=("squeezenet1_0",),
            arrays=("squeezenet1_0",),
            buffers_kib=(64, 128, 512),
            batches=(1, 4),
            registers=(32, 64),
            quick=True,
        )


@dataclass(frozen=True, slots=True)
class OptimusTables:
    """Rows by table or figure; those at the paper's equations have `printed` in their name."""

    search: list[Row] = field(default_factory=list)
    traffic: list[Row] = field(default_factory=list)
    traffic_free: list[Row] = field(default_factory=list)
    traffic_printed: list[Row] = field(default_factory=list)
    traffic_printed_free: list[Row] = field(default_factory=list)
    checked: list[Row] = field(default_factory=list)
    energy: list[Row] = field(default_factory=list)
    energy_printed: list[Row] = field(default_factory=list)
    dataflows: list[Row] = field(default_factory=list)
    arrays: list[Row] = field(default_factory=list)
    buffers: list[Row] = field(default_factory=list)
    buffers_printed: list[Row] = field(default_factory=list)
    batches: list[Row] = field(default_factory=list)
    batches_printed: list[Row] = field(default_factory=list)
    accelerators: list[Row] = field(default_factory=list)


def reproduce(study: OptimusStudy, memo: Memo) -> OptimusTables:
    """All tables of a study, with what the memo has of them."""
    bench = Bench(memo, study.time_limit_s)
    networks = study.networks
    return OptimusTables(
        search=search_rows(bench, study.searched),
        traffic=[*traffic_rows(bench, networks, joint=True), *traffic_rows(bench, study.wide)],
        traffic_free=traffic_rows(bench, networks, free_local=True),
        traffic_printed=traffic_rows(bench, networks, printed=True),
        traffic_printed_free=traffic_rows(bench, networks, free_local=True, printed=True),
        checked=replayed_rows(bench, networks),
        energy=energy_rows(bench, networks, printed=False),
        energy_printed=energy_rows(bench, networks, printed=True),
        dataflows=dataflow_rows(bench, study.arrays[0], study.registers),
        arrays=[row for name in study.arrays for row in array_rows(bench, name)],
        buffers=buffer_rows(bench, study.buffered, study.buffers_kib, printed=False),
        buffers_printed=buffer_rows(bench, study.buffered, study.buffers_kib, printed=True),
        batches=batch_rows(bench, study.batched, study.batches, printed=False),
        batches_printed=batch_rows(bench, study.batched, study.batches, printed=True),
        accelerators=accelerator_rows(bench, networks),
    )
