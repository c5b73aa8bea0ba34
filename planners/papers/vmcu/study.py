"""The vMCU paper's evaluation, computed anew: Figures 7 to 12, Tables 2 and 3, whole networks.

The paper does not say what its figures of RAM count, so its statements stand beside three labelled
accountings (`planners.papers.vmcu.accounts`). Ours are programs, replayed byte by byte.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from planners.catalogue import load
from planners.catalogue.vmcu import POINTWISE, PREFIX, TABLE_2, BottleneckShape
from planners.core.errors import UnknownName
from planners.overlap.baselines.frameworks import hmcos, tflite_micro, tinyengine
from planners.papers.memo import Memo
from planners.papers.report import Row
from planners.papers.vmcu.accounts import (
    ACCOUNTINGS,
    Accounting,
    layer_row,
    module_row,
    of_module,
    vmcu,
)
from planners.papers.vmcu.paper import PLAN, PUBLISHED_KIB, TABLE_3
from planners.papers.vmcu.plans import (
    by_form,
    layer_cost_row,
    module_cost_row,
    network,
    segment_row,
)
from planners.study.headroom import AXES, Axis, module_headroom, overlapped

SIZES: Mapping[str, tuple[int, ...]] = {"mobilenet_v2@96": (1, 3, 96, 96)}
NETWORKS = (
    *PUBLISHED_KIB,
    *("mobilenet_v2", *SIZES, "mobilenet_v3_small", "mobilenet_v3_large"),
    *("mnasnet0_5", "mnasnet0_75", "mnasnet1_0", "mnasnet1_3"),
    *("efficientnet_b0", "shufflenet_v2_x0_5", "squeezenet1_1"),
)


@dataclass(frozen=True, slots=True)
class VmcuStudy:
    """What is compared: layers, modules, networks (`NAME@96`: at that image size), seconds a plan.

    `quick` is for the report, which says how it was made.
    """

    layers: tuple[str, ...] = tuple(POINTWISE)
    modules: tuple[str, ...] = tuple(TABLE_2)
    networks: tuple[str, ...] = NETWORKS
    time_limit_s: float = 60.0
    quick: bool = False

    def only(self, names: tuple[str, ...]) -> VmcuStudy:
        """The same of these networks and modules. Raises `UnknownName`."""
        modules = tuple(name for name in names if name in TABLE_2)
        networks = tuple(name for name in names if name not in TABLE_2)
        for name in networks:
            if name not in NETWORKS:
                raise UnknownName("model", name, [], f"choose among {', '.join(NETWORKS)}, S1, …")
        return replace(self, modules=modules, networks=networks)

    @staticmethod
    def small() -> VmcuStudy:
        """A cut that takes seconds."""
        modules = tuple(name for name in TABLE_2 if name.startswith("S"))
        return VmcuStudy(modules=modules, networks=("mcunet_in0",), quick=True)


@dataclass(frozen=True, slots=True)
class VmcuTables:
    """Rows by table or figure."""

    layers: list[Row] = field(default_factory=list)
    modules: list[Row] = field(default_factory=list)
    networks: list[Row] = field(default_factory=list)
    layer_costs: list[Row] = field(default_factory=list)
    module_costs: list[Row] = field(default_factory=list)
    headroom: list[Row] = field(default_factory=list)
    segments: list[Row] = field(default_factory=list)


def reproduce(study: VmcuStudy, memo: Memo) -> VmcuTables:
    """All tables of a study, with what the memo has of them."""
    limit = study.time_limit_s

    def module(name: str) -> Row:
        row = module_row(name)
        ours = memo.result(("module", name, limit), lambda: by_form(load(PREFIX + name), limit))
        return row | {"ours": ours, "plan": row["workspace"] | {"vMCU": least(ours)}}

    measured = [name for name in study.modules if name in TABLE_3]
    return VmcuTables(
        layers=[layer_row(name) for name in study.layers],
        modules=[module(name) for name in study.modules],
        networks=memo.each([("network", name, limit) for name in study.networks], network_row),
        layer_costs=[layer_cost_row(name) for name in study.layers],
        module_costs=memo.each([("costs of module", name) for name in measured], module_cost_row),
        headroom=memo.each([("headroom", name, limit) for name in measured], headroom_row),
        segments=[segment_row(name) for name in (*study.layers, *study.modules)],
    )


def least(ours: Mapping[str, Row]) -> int:
    """The least RAM of a block without repeated work."""
    return min(int(row["bytes"]) for row in ours.values() if not row["extra_macs"])


def network_row(name: str, time_limit_s: float) -> Row:
    """A whole network: ours, and what other frameworks need, with the operator that binds them."""
    graph = load(name.partition("@")[0], input_shape=SIZES.get(name))
    row: Row = {
        "network": name,
        "input": list(graph.tensors[graph.inputs[0]].shape[1:]),
        "macs": graph.macs,
        "published_kib": PUBLISHED_KIB.get(name),
    }
    for system, need in (
        ("TinyEngine", tinyengine(graph)),
        ("HMCOS", hmcos(graph, time_limit_s)),
        ("TFLite Micro", tflite_micro(graph)),
    ):
        row[system] = {"bytes": need.total_bytes, "binding": need.binding_operator}
    row["TinyEngine"]["tensors"] = tinyengine(graph).tensor_bytes
    row["HMCOS"]["proven"] = hmcos(graph, time_limit_s).proven
    return row | network(graph, time_limit_s)


def headroom_row(name: str, time_limit_s: float) -> Row:
    """Growth by axis: of vMCU in each accounting, by the pixel or channel, and of our plans.

    Our plans repeat no work; their channels grow by 8.
    """
    module = TABLE_2[name]
    limits = {k: ram["TinyEngine"] for k, ram in of_module(module).items()}
    need = overlapped(repeat=False, time_limit=time_limit_s)
    row: Row = {"module": name}
    for axis in AXES:
        now = module.size if axis == "image" else module.c_in
        grown: Row = {k: _largest(module, axis, k, limits[k]) / now for k in ACCOUNTINGS}
        best = module_headroom(module, axis, need).best
        grown[PLAN] = best.size / now if best else 0.0
        row[axis] = grown
    return row


def grown(module: BottleneckShape, axis: Axis, size: int) -> BottleneckShape:
    """A module with another image, other channels in and out, or (`width`) all of them."""
    if axis == "image":
        return replace(module, size=size)
    mid = round(module.mid * size / module.c_in) if axis == "width" else module.mid
    return replace(module, c_in=size, mid=mid, c_out=round(module.c_out * size / module.c_in))


def _largest(module: BottleneckShape, axis: Axis, accounting: Accounting, limit: int) -> int:
    """The largest size within a limit: vMCU's bytes grow with it."""
    now = module.size if axis == "image" else module.c_in

    def fits(size: int) -> bool:
        return vmcu(grown(module, axis, size))[accounting] <= limit

    return _last(fits, now)


def _last(fits: Callable[[int], bool], start: int) -> int:
    """The last of the sizes from 1 that fits, by doubling and bisection; 0 where none does."""
    low, high = 0, start
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
