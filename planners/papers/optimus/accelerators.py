"""Table 4: fused groups on three accelerators, beside their own layers one by one.

By programs, the buffer of each is one pool of its bytes; by the paper's equations, parameters on
ShiDianNao have the synapse buffer and maps the other two.
"""

from __future__ import annotations

from collections.abc import Sequence

from planners.papers.optimus.array_accelerators import (
    BASELINES,
    EYERISS_BYTES,
    LOWER_BOUND_BYTES,
    SHIDIANNAO_BYTES,
    layer_by_layer,
)
from planners.papers.optimus.bench import Bench
from planners.papers.optimus.costs import PartitionCase, graph_of
from planners.papers.optimus.paper import IMAGES, TABLE_4
from planners.papers.table import Row, share_saved

# What is unrolled: Eyeriss wants few channels at once, ShiDianNao one, the third 16.
CHANNELS = {"eyeriss": 4, "shidiannao": 1, "lower bound": 16}
POOLS_BYTES = {
    "eyeriss": EYERISS_BYTES,
    "shidiannao": sum(SHIDIANNAO_BYTES.values()),
    "lower bound": LOWER_BOUND_BYTES,
}


def rows(bench: Bench, networks: Sequence[str]) -> list[Row]:
    """Bytes and shares saved for each accelerator and network, beside Table 4's."""
    return [_row(bench, name, network) for name in BASELINES for network in networks]


def _row(bench: Bench, accelerator: str, network: str) -> Row:
    base = sum(layer_by_layer(graph_of(network, IMAGES), accelerator))
    row: Row = {"accelerator": accelerator, "network": network, "layer by layer": base}
    row["paper saves"] = TABLE_4[accelerator].get(network)
    for name, case in _cases(accelerator, network).items():
        result = bench.find(case)
        row |= {
            name: result.traffic_bytes,
            f"{name} saves": share_saved(result.traffic_bytes, base),
        }
        row |= {f"{name} gap": result.gap, f"{name} need": result.need_bytes}
    return row


def _cases(accelerator: str, network: str) -> dict[str, PartitionCase]:
    """Programs; programs of groups beside the accelerator's own layers; these by the equations."""
    pool, tile = POOLS_BYTES[accelerator], CHANNELS[accelerator]
    program = PartitionCase(network, budget_bytes=pool, channel_tile=tile)
    own = program._replace(accelerator=accelerator)
    printed = own._replace(accounting="printed")
    if accelerator == "shidiannao":
        maps = SHIDIANNAO_BYTES["inputs"] + SHIDIANNAO_BYTES["outputs"]
        printed = printed._replace(budget_bytes=maps, weights_bytes=SHIDIANNAO_BYTES["weights"])
    return {"program": program, "own layers": own, "printed": printed}
