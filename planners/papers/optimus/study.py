"""The Optimus paper's evaluation, computed anew: Tables 4 and 5 and Figures 13 to 19.

Everything is found at two accountings: programs, whose every byte has an address and which run;
and the paper's equations as printed, beside which its statements stand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from planners.papers.memo import Memo
from planners.papers.optimus import accelerators, checked, energy, search, sweeps, traffic
from planners.papers.optimus.bench import Bench
from planners.papers.optimus.paper import EIGHT, NASNET, TABLE_5
from planners.papers.optimus.sweeps import BATCHES, BUFFERS_KIB
from planners.papers.table import Row


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
        traffic=[*traffic.rows(bench, networks, joint=True), *traffic.rows(bench, study.wide)],
        traffic_free=traffic.rows(bench, networks, free_local=True),
        traffic_printed=traffic.rows(bench, networks, printed=True),
        traffic_printed_free=traffic.rows(bench, networks, free_local=True, printed=True),
        checked=checked.rows(bench, networks),
        energy=energy.rows(bench, networks, printed=False),
        energy_printed=energy.rows(bench, networks, printed=True),
        dataflows=energy.dataflow_rows(bench, study.arrays[0], study.registers),
        arrays=[row for name in study.arrays for row in energy.array_rows(bench, name)],
        buffers=sweeps.buffer_rows(bench, study.buffered, study.buffers_kib, printed=False),
        buffers_printed=sweeps.buffer_rows(bench, study.buffered, study.buffers_kib, printed=True),
        batches=sweeps.batch_rows(bench, study.batched, study.batches, printed=False),
        batches_printed=sweeps.batch_rows(bench, study.batched, study.batches, printed=True),
        accelerators=accelerators.rows(bench, networks),
    )
