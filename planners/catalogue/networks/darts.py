"""DARTS for ImageNet (Liu, Simonyan and Yang, ICLR 2019, section 3.3 and figures 4 and 5)."""

from __future__ import annotations

from functools import partial

import torch
from torch import nn

from planners.catalogue.networks.cells import Cell, FactorizedReduction, Genotype, relu_conv_norm

NORMAL = Genotype(
    nodes=(
        ((0, "sep3"), (1, "sep3")),
        ((0, "sep3"), (1, "sep3")),
        ((1, "sep3"), (0, "skip")),
        ((0, "skip"), (2, "dil3")),
    ),
    concat=(2, 3, 4, 5),
)
REDUCTION = Genotype(
    nodes=(
        ((0, "max3"), (1, "max3")),
        ((2, "skip"), (1, "max3")),
        ((0, "max3"), (2, "skip")),
        ((2, "skip"), (1, "max3")),
    ),
    concat=(2, 3, 4, 5),
)
"""The cells found with the second-order approximation."""


class Darts(nn.Module):
    """14 cells of 48 initial channels, without auxiliary head and drop path.

    4,718,752 parameters, the paper's 4.7 M; 530 M multiply-adds at 224×224 where the paper, without
    saying what it counts, has 574 M. The pool before the classifier is global, so that other
    image sizes do as well.
    """

    def __init__(self, cells: int = 14, channels: int = 48, classes: int = 1000) -> None:
        super().__init__()
        self.stem0 = nn.Sequential(
            nn.Conv2d(3, channels // 2, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(channels // 2),
            *relu_conv_norm(channels // 2, channels, 3, 2),
        )
        self.stem1 = relu_conv_norm(channels, channels, 3, 2)
        self.cells = nn.ModuleList()
        before, last, halved = channels, channels, True
        for index in range(cells):
            reduction = index in (cells // 3, 2 * cells // 3)
            channels *= 2 if reduction else 1
            match_before = FactorizedReduction if halved else relu_conv_norm
            prepare = (match_before(before, channels), relu_conv_norm(last, channels))
            genotype = REDUCTION if reduction else NORMAL
            self.cells.append(Cell(genotype, prepare, partial(_operation, channels, reduction)))
            before, last, halved = last, channels * len(genotype.concat), reduction
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Linear(last, classes)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        before = self.stem0(image)
        last = self.stem1(before)
        for cell in self.cells:
            before, last = last, cell(before, last)
        return self.classifier(self.pool(last).flatten(1))  # type: ignore[no-any-return]


def _operation(channels: int, reduction: bool, state: int, name: str) -> nn.Module:
    stride = 2 if reduction and state < 2 else 1
    if name == "skip":  # never with stride 2 in these cells
        return nn.Identity()
    if name == "max3":
        return nn.MaxPool2d(3, stride, 1)
    if name == "dil3":
        return _separable(channels, stride, dilation=2)
    return nn.Sequential(*_separable(channels, stride), *_separable(channels, 1))


def _separable(channels: int, stride: int, dilation: int = 1) -> nn.Sequential:
    deep = nn.Conv2d(
        channels, channels, 3, stride, dilation, dilation=dilation, groups=channels, bias=False
    )
    return nn.Sequential(
        nn.ReLU(),
        deep,
        nn.Conv2d(channels, channels, 1, bias=False),
        nn.BatchNorm2d(channels),
    )
