"""MCUNet: the networks searched for microcontrollers (Lin et al., NeurIPS 2020)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import nn


class BlockRow(NamedTuple):
    """An inverted bottleneck: the depthwise kernel, what widens it, output channels, stride."""

    kernel: int
    expand: int
    channels: int
    stride: int


class NetworkTable(NamedTuple):
    """A network: the stem's channels (3×3, stride 2), its blocks and its classes."""

    stem: int
    blocks: tuple[BlockRow, ...]
    classes: int = 1000


def _blocks(text: str) -> tuple[BlockRow, ...]:
    """Blocks as `kernel/expand/channels/stride`, apart by spaces."""
    return tuple(BlockRow(*map(int, item.split("/"))) for item in text.split())


TABLES = {
    "mcunet_vww1": NetworkTable(
        16,
        _blocks(
            "3/1/8/1 3/6/16/2 3/3/16/1 3/3/16/1 7/3/24/2 3/6/24/1 5/5/24/1 7/6/40/2 7/6/40/1 "
            "3/6/48/1 3/4/48/1 5/5/96/2 3/5/96/1 3/4/96/1 7/3/160/1"
        ),
        classes=2,
    ),
    "mcunet_in0": NetworkTable(
        24,
        _blocks(
            "3/1/16/1 5/4/16/2 3/3/16/1 3/4/16/1 7/5/24/2 5/4/24/1 5/5/24/1 7/5/48/2 5/4/48/1 "
            "3/5/56/1 5/4/56/1 3/5/56/1 3/6/112/2 5/4/112/1 3/6/192/1"
        ),
    ),
    "mcunet_in1": NetworkTable(
        16,
        _blocks(
            "3/1/8/1 3/4/16/2 3/3/16/1 7/3/24/2 3/5/24/1 3/5/40/2 7/4/40/1 5/4/48/1 3/3/48/1 "
            "3/4/48/1 7/5/96/2 5/4/96/1 5/4/96/1 3/6/160/1"
        ),
    ),
    "mcunet_in2": NetworkTable(
        16,
        _blocks(
            "3/1/8/1 5/3/16/2 7/6/16/1 3/5/16/1 5/5/16/1 3/5/24/2 7/6/24/1 5/6/24/1 7/4/40/2 "
            "5/5/40/1 3/5/48/1 5/5/48/1 3/4/48/1 5/6/96/2 5/4/96/1 5/3/96/1 3/4/96/1 5/5/160/1"
        ),
    ),
    "mcunet_in3": NetworkTable(
        16,
        _blocks(
            "3/1/8/1 7/3/16/2 3/5/16/1 7/5/16/1 5/4/16/1 5/5/24/2 5/5/24/1 5/5/24/1 3/5/40/2 "
            "7/6/40/1 5/4/40/1 5/5/48/1 7/5/48/1 3/5/48/1 3/6/96/2 7/5/96/1 3/4/96/1 7/5/160/1"
        ),
    ),
    "mcunet_in4": NetworkTable(
        32,
        _blocks(
            "3/1/16/1 7/3/24/2 3/5/24/1 5/4/24/1 7/5/40/2 3/4/40/1 7/4/40/1 7/3/80/2 3/3/80/1 "
            "7/3/80/1 3/4/96/1 5/3/96/1 5/3/96/1 7/4/192/2 7/3/192/1 5/3/192/1 5/4/320/1"
        ),
    ),
}
"""The released networks, by the names of its model zoo: `vww1` is MCUNet-5fps-VWW, `in0` to `in4`
the 10fps, 5fps, 256kB, 320kB and 512kB ones for ImageNet.

The vMCU paper's Table 2 prints the modules of vww1 (S1–S8) and of in3 (B1–B17) otherwise than they
were released: S3 with 16 output channels for 24, S4 with a 3×3 kernel for 5×5, S5 with 3×3 for 7×7,
B5 with 24 output channels for 16, B12 with 7×7 and stride 2 for 5×5 and 1. It leaves out vww1's
stem and second block, which reads the largest image, and counts in3's stem and first block as B1.
"""


class McuNet(nn.Module):
    """A stem, inverted bottlenecks with batch norm and ReLU6, the mean of all pixels and a linear.

    A block has no expansion where `expand` is 1, and adds its input where the stride is 1 and the
    channels stay. Any image size will do. The released int8 file of vww1 has the same layers at
    80×80 up to the features of 3×3×160; padding is an operator of its own there, and batch norm is
    in the weights.
    """

    def __init__(self, table: NetworkTable) -> None:
        super().__init__()
        self.stem = _convolution(3, table.stem, 3, stride=2)
        channels = table.stem
        blocks: list[nn.Module] = []
        for block in table.blocks:
            blocks.append(InvertedBottleneck(channels, block))
            channels = block.channels
        self.blocks = nn.Sequential(*blocks)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Linear(channels, table.classes)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        features = self.blocks(self.stem(image))
        return self.classifier(self.pool(features).flatten(1))  # type: ignore[no-any-return]


class InvertedBottleneck(nn.Module):
    """1×1 expansion, depthwise convolution, 1×1 projection, and perhaps the input added."""

    def __init__(self, channels: int, block: BlockRow) -> None:
        super().__init__()
        middle = channels * block.expand
        self.residual = block.stride == 1 and channels == block.channels
        expansion = [_convolution(channels, middle, 1)] if block.expand > 1 else []
        self.body = nn.Sequential(
            *expansion,
            _convolution(middle, middle, block.kernel, stride=block.stride, groups=middle),
            nn.Sequential(
                nn.Conv2d(middle, block.channels, 1, bias=False), nn.BatchNorm2d(block.channels)
            ),
        )

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.body(value)
        return value + result if self.residual else result


def mcunet(name: str) -> McuNet:
    """The network of that name, with untrained weights."""
    return McuNet(TABLES[name])


def _convolution(
    channels: int, out: int, kernel: int, *, stride: int = 1, groups: int = 1
) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(channels, out, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(out),
        nn.ReLU6(),
    )
