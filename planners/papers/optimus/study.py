"""The Optimus paper's evaluation, computed anew: Tables 4 and 5 and Figures 13 to 19.

Everything is found at two accountings: programs, whose every byte has an address and which run;
and the paper's equations as printed, beside which its statements stand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from planners.papers.memo import Memo
from planners.papers.optimus import search
from planners.papers.optimus.array_accelerators import (
    BASELINES,
    EYERISS_BYTES,
    LOWER_BOUND_BYTES,
    SHIDIANNAO_BYTES,
    layer_by_layer,
)
from planners.papers.optimus.bench import Bench
from planners.papers.optimus.costs import PartitionCase, graph_of
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


def reproduce(
    study: OptimusStudy,
    resume: str | Path | None = None,
    on_result: Callable[[str], object] | None = None,
) -> OptimusTables:
    """All tables of a study; `resume` names a file of results, `on_result` is called with new ones.

    Raises `BadInput` for a file that is not of such results.
    """
    bench = Bench(Memo(resume, on_result), study.time_limit_s)
    networks = study.networks
    return OptimusTables(
        search=search.rows(bench, study.searched),
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
    own = program._replace(accelerator=accelerator)
    printed = own._replace(accounting="printed")
    if accelerator == "shidiannao":
        maps = SHIDIANNAO_BYTES["inputs"] + SHIDIANNAO_BYTES["outputs"]
        printed = printed._replace(budget_bytes=maps, weights_bytes=SHIDIANNAO_BYTES["weights"])
    return {"program": program, "own layers": own, "printed": printed}
