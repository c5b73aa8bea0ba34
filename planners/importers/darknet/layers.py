"""Darknet networks as data: layers with known shapes, added one by one and checked as they come.

A *layer* is one section of a `.cfg` file after `[net]`. Layers are numbered from 0, as Darknet
numbers them; -1 is the input. A shape is channels, height, width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from planners.core.errors import BadInput

Shape = tuple[int, int, int]
INPUT = -1
MOST_LAYERS = 2_000
MOST_ELEMENTS = 2**30
"""Of one layer's output or weights, and of all weights together: more is taken for a slip."""

ACTIVATIONS = ("linear", "leaky", "mish", "logistic", "swish", "relu", "relu6", "tanh")
IDENTITIES = ("dropout", "cost", "yolo", "region")
"""Sections that compute nothing here: those of training, and heads left to the host."""

HEAD_NOTE = (
    "detection heads are read as identities: the maps before box decoding and non-maximum "
    "suppression are the outputs"
)


@dataclass(frozen=True, slots=True)
class DarknetLayer:
    """One section: what it reads, and the shape of its output for one image.

    `padding` is what Darknet pads with: on each side for convolutions, both sides together for
    pools. `group` of `groups` is the part of the channels that a route takes.
    """

    kind: str
    reads: tuple[int, ...]
    shape: Shape
    size: int = 0
    stride: tuple[int, int] = (1, 1)
    padding: int = 0
    dilation: int = 1
    groups: int = 1
    group: int = 0
    norm: bool = False
    activation: str = "linear"
    weights: int = 0
    """Elements of the weights, without bias and batch norm."""

    @property
    def stored(self) -> int:
        """Elements in a weights file: a bias a channel, with batch norm scale, mean, variance."""
        return self.weights + (self.shape[0] * (4 if self.norm else 1) if self.weights else 0)

    @property
    def folded(self) -> int:
        """Elements once batch norm is folded into weights and bias."""
        return self.weights + (self.shape[0] if self.weights else 0)


@dataclass(frozen=True, slots=True)
class Network:
    """A network of layers, its input of shape `input` for each image of a batch."""

    name: str
    input: Shape
    layers: tuple[DarknetLayer, ...]

    def shape(self, index: int) -> Shape:
        return self.input if index == INPUT else self.layers[index].shape

    def ends(self) -> tuple[int, ...]:
        """The layers that no layer reads: the network's outputs."""
        read = {index for layer in self.layers for index in layer.reads}
        return tuple(index for index in range(len(self.layers)) if index not in read)

    def note(self) -> str:
        """What the layers leave out, in words; empty where nothing."""
        return HEAD_NOTE if any(layer.kind in ("yolo", "region") for layer in self.layers) else ""


@dataclass(slots=True)
class Builder:
    """A network being written down, a method a section; each returns the new layer's number.

    What reads one layer reads the last. Raises `BadInput` where sizes do not fit.
    """

    input: Shape
    layers: list[DarknetLayer] = field(default_factory=list)
    weights: int = 0

    def network(self, name: str) -> Network:
        return Network(name, self.input, tuple(self.layers))

    @property
    def last(self) -> int:
        return len(self.layers) - 1

    @property
    def shape(self) -> Shape:
        """Of the last layer."""
        return self.layers[-1].shape if self.layers else self.input

    def conv(
        self,
        filters: int,
        size: int = 1,
        stride: int | tuple[int, int] = 1,
        *,
        padding: int | None = None,
        dilation: int = 1,
        groups: int = 1,
        norm: bool = True,
        activation: str = "leaky",
    ) -> int:
        """A convolution, padded by half its size unless stated otherwise."""
        channels, height, width = self.shape
        if channels % groups or filters % groups:
            raise BadInput(f"{groups} groups divide {channels} channels into {filters} unevenly")
        pad = size // 2 if padding is None else padding
        down, across = _pair(stride)
        span = dilation * (size - 1) + 1
        around = 2 * pad * dilation
        shape = (
            filters,
            (height + around - span) // down + 1,
            (width + around - span) // across + 1,
        )
        return self._add(
            DarknetLayer(
                "convolutional",
                (self.last,),
                shape,
                size,
                (down, across),
                pad,
                dilation,
                groups,
                norm=norm,
                activation=_activation(activation),
                weights=filters * (channels // groups) * size * size,
            )
        )

    def connected(self, outputs: int, *, norm: bool = False, activation: str = "logistic") -> int:
        """Every output from every element."""
        weights = outputs * prod(self.shape)
        shape = (outputs, 1, 1)
        activation = _activation(activation)
        return self._add(
            DarknetLayer(
                "connected", (self.last,), shape, norm=norm, activation=activation, weights=weights
            )
        )

    def maxpool(
        self, size: int, stride: int | tuple[int, int] = 1, padding: int | None = None
    ) -> int:
        """The greatest of each window; by default the padding is the size less one."""
        channels, height, width = self.shape
        pad = size - 1 if padding is None else padding
        down, across = _pair(stride)
        shape = (channels, (height + pad - size) // down + 1, (width + pad - size) // across + 1)
        return self._add(DarknetLayer("maxpool", (self.last,), shape, size, (down, across), pad))

    def avgpool(self) -> int:
        """The mean of each channel."""
        return self._add(DarknetLayer("avgpool", (self.last,), (self.shape[0], 1, 1)))

    def route(self, *sources: int, groups: int = 1, group: int = 0) -> int:
        """The channels of these layers one after another, or one group of each."""
        shapes = [self._known(source) for source in sources]
        if len({shape[1:] for shape in shapes}) != 1:
            sizes = " and ".join(f"{s[1]}x{s[2]} (layer {i})" for i, s in zip(sources, shapes))
            raise BadInput(f"a route joins layers of one height and width, not {sizes}")
        if not 0 <= group < groups or any(shape[0] % groups for shape in shapes):
            raise BadInput(f"group {group} of {groups} is no part of {shapes[0][0]} channels")
        channels = sum(shape[0] // groups for shape in shapes)
        shape = (channels, *shapes[0][1:])
        return self._add(DarknetLayer("route", sources, shape, groups=groups, group=group))

    def shortcut(self, *sources: int, activation: str = "linear") -> int:
        """The last layer plus these, over the channels that both have.

        A source that is larger in space by a whole factor is read in steps of that factor.
        """
        _, height, width = self.shape
        for source in sources:
            _, rows, columns = self._known(source)
            if rows % height or columns % width or rows // height != columns // width:
                raise BadInput(
                    f"a shortcut adds layer {source} of {rows}x{columns} to {height}x{width}: it "
                    "must be as large or a whole number of times larger"
                )
        activation = _activation(activation)
        reads = (self.last, *sources)
        return self._add(DarknetLayer("shortcut", reads, self.shape, activation=activation))

    def upsample(self, stride: int = 2) -> int:
        """Every element repeated in both directions."""
        channels, height, width = self.shape
        shape = (channels, height * stride, width * stride)
        return self._add(DarknetLayer("upsample", (self.last,), shape, stride=(stride, stride)))

    def reorg(self, stride: int = 2) -> int:
        """Space moved into channels, in Darknet's own order."""
        channels, height, width = self.shape
        if channels % stride**2 or height % stride or width % stride:
            raise BadInput(
                f"a reorg by {stride} takes channels divisible by {stride**2} and sizes by "
                f"{stride}, not {channels}x{height}x{width}"
            )
        shape = (channels * stride**2, height // stride, width // stride)
        return self._add(DarknetLayer("reorg", (self.last,), shape, stride=(stride, stride)))

    def softmax(self, groups: int = 1) -> int:
        """Over all elements of an image, or over each group of them."""
        if prod(self.shape) % groups:
            raise BadInput(f"{groups} groups divide {prod(self.shape)} elements unevenly")
        return self._add(DarknetLayer("softmax", (self.last,), self.shape, groups=groups))

    def identity(self, kind: str) -> int:
        """A section that leaves values as they are."""
        return self._add(DarknetLayer(kind, (self.last,), self.shape))

    def _known(self, source: int) -> Shape:
        if not 0 <= source < len(self.layers):
            raise BadInput(f"layer {source} does not exist here: {_so_far(len(self.layers))}")
        return self.layers[source].shape

    def _add(self, layer: DarknetLayer) -> int:
        if min(layer.shape) < 1:
            raise BadInput(
                f"nothing is left of {_text(self.shape)}: the output would be {_text(layer.shape)}"
            )
        if prod(layer.shape) > MOST_ELEMENTS:
            raise BadInput(
                f"an output of {_text(layer.shape)} is more than {MOST_ELEMENTS} elements"
            )
        self.weights += layer.weights
        if self.weights > MOST_ELEMENTS:
            raise BadInput(f"the weights come to more than {MOST_ELEMENTS} elements")
        if len(self.layers) >= MOST_LAYERS:
            raise BadInput(f"more than {MOST_LAYERS} sections")
        self.layers.append(layer)
        return self.last


def _pair(stride: int | tuple[int, int]) -> tuple[int, int]:
    return (stride, stride) if isinstance(stride, int) else stride


def _activation(name: str) -> str:
    if name not in ACTIVATIONS:
        raise BadInput(f"no activation {name!r:.40}: supported are {', '.join(ACTIVATIONS)}")
    return name


def _so_far(count: int) -> str:
    return f"layers 0 to {count - 1} come before" if count else "no layer comes before"


def _text(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))
