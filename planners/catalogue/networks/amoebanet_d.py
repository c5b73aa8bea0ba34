"""AmoebaNet-D (Real et al., AAAI 2019), with the cells of the TensorFlow reference for TPUs."""

from __future__ import annotations

from functools import partial

import torch
from torch import nn

from planners.catalogue.networks.cells import Cell, FactorizedReduction, Genotype, relu_conv_norm

EPSILON = 1e-3
STEM = 32
BOTTLENECKS = {"conv3": ((3, 3),), "conv7": ((1, 7), (7, 1))}
NORMAL = Genotype(
    nodes=(
        ((1, "conv1"), (1, "max3")),
        ((1, "none"), (0, "conv7")),
        ((0, "conv1"), (0, "conv7")),
        ((2, "max3"), (2, "none")),
        ((1, "avg3"), (5, "conv1")),
    ),
    concat=(0, 3, 4, 6),
)
REDUCTION = Genotype(
    nodes=(
        ((0, "max2"), (0, "max3")),
        ((2, "none"), (1, "conv3")),
        ((2, "conv7"), (2, "max3")),
        ((3, "none"), (1, "max2")),
        ((2, "avg3"), (3, "conv1")),
    ),
    concat=(4, 5, 6),
)
"""State 0 is what the last cell returned, state 1 what the cell before it did."""


class AmoebaNetD(nn.Module):
    """18 normal cells of 256 filters, two reduction cells as stem and two between, no extra head.

    121,911,016 parameters. None are published for 256 filters; GPipe (Huang et al., 2019, table 1)
    gives 82 M for 208 filters and 318 M for 416, where this has 81.1 M and 317.5 M.

    The reference has 1001 classes and TensorFlow's padding, which differs in where the windows of
    a strided operation lie, not in any size. `none` is an identity throughout: it reads inner
    states only. A second input of another size is matched by a factorised reduction.
    """

    def __init__(self, cells: int = 18, filters: int = 256, classes: int = 1000) -> None:
        super().__init__()
        last, before, halved = STEM, 0, False
        self.stem = nn.Sequential(
            nn.Conv2d(3, STEM, 3, stride=2, bias=False), nn.BatchNorm2d(STEM, EPSILON)
        )
        self.cells = nn.ModuleList()
        for reduction, width in _layout(cells, filters):
            genotype = REDUCTION if reduction else NORMAL
            prepare = (relu_conv_norm(last, width, eps=EPSILON), _match(before, width, halved))
            inputs = (width, width if before else STEM)
            self.cells.append(Cell(genotype, prepare, partial(_operation, inputs, reduction)))
            before, last, halved = last, width * len(genotype.concat), reduction
        self.relu = nn.ReLU()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Linear(last, classes)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        before = last = self.stem(image)
        for cell in self.cells:
            before, last = last, cell(last, before)
        return self.classifier(self.pool(self.relu(last)).flatten(1))  # type: ignore[no-any-return]


def _layout(cells: int, filters: int) -> list[tuple[bool, int]]:
    """Whether each cell is a reduction, and its filters."""
    layout = [(True, filters // 4), (True, filters // 2)]
    for index in range(cells):
        if index in (cells // 3, 2 * cells // 3):
            filters *= 2
            layout.append((True, filters))
        layout.append((False, filters))
    return layout


def _match(channels: int, width: int, halved: bool) -> nn.Module:
    """What makes the second input of a cell like its first; the first cell has none of its own."""
    if channels in (0, width):
        return nn.Identity()
    return (FactorizedReduction if halved else relu_conv_norm)(channels, width, eps=EPSILON)


def _operation(inputs: tuple[int, int], reduction: bool, state: int, name: str) -> nn.Module:
    """An operation that gives as many channels as the first input has."""
    width, outer = inputs[0], state < 2
    channels, stride = inputs[state] if outer else width, 2 if reduction and outer else 1
    if name == "none":
        return nn.Identity()
    if name == "conv1":
        return relu_conv_norm(channels, width, 1, stride, eps=EPSILON)
    if name in BOTTLENECKS:
        return _bottleneck(channels, width, stride, name)
    pool: nn.Module = nn.MaxPool2d(3, stride, 1)
    if name == "max2":
        pool = nn.MaxPool2d(2, stride, ceil_mode=True)
    elif name == "avg3":
        pool = nn.AvgPool2d(3, stride, 1, count_include_pad=False)
    if channels == width:
        return pool
    widen = nn.Conv2d(channels, width, 1, bias=False)
    return nn.Sequential(pool, widen, nn.BatchNorm2d(width, EPSILON))


def _bottleneck(channels: int, width: int, stride: int, name: str) -> nn.Sequential:
    """Convolutions between one that quarters the channels and one that restores them."""
    quarter = width // 4
    steps = [relu_conv_norm(channels, quarter, eps=EPSILON)]
    for kernel in BOTTLENECKS[name]:
        along = (stride if kernel[0] > 1 else 1, stride if kernel[1] > 1 else 1)
        steps.append(relu_conv_norm(quarter, quarter, kernel, along, eps=EPSILON))
    return nn.Sequential(*steps, relu_conv_norm(quarter, width, eps=EPSILON))
