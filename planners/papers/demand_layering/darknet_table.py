"""Sizes of Darknet networks as Table I of the Demand Layering paper counts them.

Source: "Demand Layering for Real-Time DNN Inference with Minimized Memory Usage" (RTSS 2022). What
the table counts is not written there; its numbers are met to the last digit with MiB, every
section of the file a layer, for the size the elements of the weights file (batch norm with scale,
mean and variance), and for the largest layer weights and bias after batch norm is folded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from planners.catalogue.networks.darknet import NETWORKS
from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.importers.darknet.cfg import parse, read_cfg
from planners.importers.darknet.layers import Network
from planners.importers.darknet.reader import network_of

FLOAT32 = 4
PRINTED: Mapping[str, tuple[float, int, float]] = {
    "yolov3": (236.5, 107, 18.0),
    "yolov4": (245.8, 162, 18.0),
    "yolov4_p6": (487.2, 305, 36.0),
    "darknet_resnet152": (219.6, 206, 9.0),
    "darknet_densenet201": (65.6, 306, 5.9),
}
"""What the paper prints: size in MB, layers, largest layer in MB."""


@dataclass(frozen=True, slots=True)
class DarknetRow:
    """A line of the table in bytes of float32; `largest` names the layer as `64_convolutional`."""

    name: str
    size_bytes: int
    layers: int
    largest_bytes: int
    largest: str

    def printed(self) -> tuple[float, int, float]:
        """As the paper prints it: MB of 1024² bytes with one digit."""
        return round(self.size_bytes / 2**20, 1), self.layers, round(self.largest_bytes / 2**20, 1)


def darknet_table(model: Graph | Network | str | Path) -> DarknetRow:
    """The line of a catalogue name, a `.cfg` file, a network, or a graph made of any of them.

    Of equal layers the first is the largest. Raises `BadInput` for anything else.
    """
    network = _network(model)
    index, largest = max(enumerate(network.layers), key=lambda item: item[1].folded)
    return DarknetRow(
        network.name,
        FLOAT32 * sum(layer.stored for layer in network.layers),
        len(network.layers),
        FLOAT32 * largest.folded,
        f"{index}_{largest.kind}",
    )


def _network(model: Graph | Network | str | Path) -> Network:
    if isinstance(model, Network):
        return model
    if isinstance(model, Graph):
        if "darknet" in model.source:
            return network_of(model.source, model.name)
        model = str(model.source.get("catalogue", model.name))
        if model not in NETWORKS:
            raise BadInput(f"{model!r:.60} is no Darknet network: {', '.join(NETWORKS)} are")
    if model in NETWORKS:
        return NETWORKS[str(model)]()
    return parse(read_cfg(model), str(model), Path(model).stem)
