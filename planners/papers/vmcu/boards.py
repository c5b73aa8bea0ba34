"""Figure 8 and Table 3: latency and energy, by a model of the boards.

The model (`planners.overlap.cost.mcu`) counts MACs, bytes and modulo operations: shares can be
compared, milliseconds cannot, as it leaves out what instructions cost besides.
"""

from __future__ import annotations

from planners.catalogue import load
from planners.catalogue.vmcu import POINTWISE, PREFIX
from planners.core.machine import load_machine
from planners.overlap.cost.mcu import McuCost, cost
from planners.overlap.cost.work import tinyengine_work, work
from planners.overlap.search.chain import turned
from planners.papers.table import Row
from planners.papers.vmcu.paper import TABLE_3
from planners.papers.vmcu.ways import ways

LAYERS_ON, MODULES_ON = "stm32f767", "stm32f411"
"""The boards of Figure 8 and of Figure 9."""


def layer_row(name: str) -> Row:
    """Shares of latency and energy that a pointwise layer saves against TinyEngine's kernel."""
    costs = _costs(PREFIX + name, LAYERS_ON)
    theirs, ours = costs["TinyEngine"], costs["plain"]
    return {
        "layer": name,
        "stated": POINTWISE[name].stated,
        "latency saved": 1 - ours.latency_s / theirs.latency_s,
        "energy saved": 1 - ours.energy_j / theirs.energy_j,
    }


def module_row(name: str) -> Row:
    """Milliseconds of a module by form, and the paper's, which were measured."""
    costs = _costs(PREFIX + name, MODULES_ON)
    stated = dict(zip(("vMCU", "TinyEngine"), TABLE_3[name], strict=True))
    return {
        "module": name,
        "paper": stated,
        "ms": {form: 1000 * each.latency_s for form, each in costs.items()},
        "mj": {form: 1000 * each.energy_j for form, each in costs.items()},
    }


def _costs(name: str, board: str) -> dict[str, McuCost]:
    graph, machine = load(name), load_machine(board)
    costs = {"TinyEngine": cost(tinyengine_work(graph), machine)}
    for form, way in ways(graph).items():
        costs[form] = cost(work(graph, turned(graph, [way], way.size_bytes)), machine)
    return costs
