"""Darknet networks as the Demand Layering paper counts them: a section a layer, batch norm folded.

The planner's own graphs hold what a weights file does, scale, mean and variance a channel beside
the bias. The paper's largest layers are met without (`darknet_table`), so that its tables are
computed from graphs of sections: an operator each, one bias a channel. They are plain graphs, so
that the streaming planner, its times and its programs take them as any other.

What its Table I counts is not written in the paper (RTSS 2022); its numbers are met to the last
digit with MiB, every section of the file a layer, for the size the elements of the weights file
(batch norm with scale, mean and variance), and for the largest layer weights and bias after batch
norm is folded.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from pathlib import Path

from planners.catalogue.networks.darknet import NETWORKS
from planners.core.errors import BadInput, UnknownName
from planners.core.graph import Graph, Operator, Tensor
from planners.importers.darknet.cfg import parse, read_cfg
from planners.importers.darknet.layers import IDENTITIES, INPUT, Builder, DarknetLayer, Network
from planners.importers.darknet.reader import network_of

FLOAT32 = 4


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


def section_graph(name: str, resolution: int | None = None) -> Graph:
    """The graph of one of the five networks, at another height and width where that is given.

    Raises `UnknownName`, and `BadInput` where sizes do not fit.
    """
    if name not in NETWORKS:
        raise UnknownName("network", name, [], f"choose among {', '.join(NETWORKS)}")
    network = NETWORKS[name]()
    return sections_of(network if resolution is None else resized(network, resolution))


def resized(network: Network, resolution: int) -> Network:
    """The same sections on square images of another size. Raises `BadInput` where none fit."""
    builder = Builder((network.input[0], resolution, resolution))
    for layer in network.layers:
        _again(builder, layer)
    return builder.network(network.name)


def _again(builder: Builder, layer: DarknetLayer) -> None:
    match layer.kind:
        case "convolutional":
            builder.conv(
                layer.shape[0],
                layer.size,
                layer.stride,
                padding=layer.padding,
                dilation=layer.dilation,
                groups=layer.groups,
                norm=layer.norm,
                activation=layer.activation,
            )
        case "maxpool":
            builder.maxpool(layer.size, layer.stride, layer.padding)
        case "avgpool":
            builder.avgpool()
        case "route":
            builder.route(*layer.reads, groups=layer.groups, group=layer.group)
        case "shortcut":
            builder.shortcut(*layer.reads[1:], activation=layer.activation)
        case "upsample":
            builder.upsample(layer.stride[0])
        case "softmax":
            builder.softmax(layer.groups)
        case kind if kind in IDENTITIES:
            builder.identity(kind)
        case kind:
            raise BadInput(f"none of the five networks has a section [{kind}]")


def sections_of(network: Network) -> Graph:
    """A graph with one operator a section, weights and one bias a channel for its parameters."""
    tensors = {"x": Tensor("x", (1, *network.input), "input")}
    operators = []
    for index, layer in enumerate(network.layers):
        op = _operator(network, index, layer)
        tensors[op.outputs[0]] = Tensor(op.outputs[0], (1, *layer.shape))
        if layer.weights:
            weight, bias = op.parameters
            tensors[weight] = Tensor(weight, _weight_shape(network, layer), "parameter")
            tensors[bias] = Tensor(bias, (layer.shape[0],), "parameter")
        operators.append(op)
    ends = tuple(_name(network, index) for index in network.ends())
    return Graph(network.name, tensors, tuple(operators), ("x",), ends, FLOAT32, "sections")


def _name(network: Network, index: int) -> str:
    return "x" if index == INPUT else f"{index}_{network.layers[index].kind}.out"


def _operator(network: Network, index: int, layer: DarknetLayer) -> Operator:
    name = f"{index}_{layer.kind}"
    reads = tuple(dict.fromkeys(_name(network, source) for source in layer.reads))
    window = layer.kind == "convolutional"
    return Operator(
        name,
        "conv2d" if window else layer.kind,
        reads,
        (f"{name}.out",),
        (f"{name}.weight", f"{name}.bias") if layer.weights else (),
        macs=layer.weights * prod(layer.shape[1:]),
        kernel=(layer.size,) * 2 if window else (),
        stride=layer.stride if window else (),
        padding=(layer.padding * layer.dilation,) * 2 if window else (),
        dilation=(layer.dilation,) * 2 if window else (),
        groups=layer.groups if window else 1,
        block=name,
    )


def _weight_shape(network: Network, layer: DarknetLayer) -> tuple[int, ...]:
    channels = network.shape(layer.reads[0])[0]
    return layer.shape[0], channels // layer.groups, layer.size, layer.size
