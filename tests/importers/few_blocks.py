"""Torchvision's own blocks, few and narrow: a small network of each family."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch
from torch import nn

from planners.catalogue.torch_models import _import_torchvision

models = _import_torchvision()


def _stem(stride: int = 4) -> nn.Module:
    return nn.Conv2d(3, 8, 3, stride, 1)


def _resnet() -> nn.Module:
    """Two stages of bottlenecks, one with a way round that is a convolution."""
    block = models.resnet.Bottleneck
    way = nn.Sequential(nn.Conv2d(8, 32, 1, 2, bias=False), nn.BatchNorm2d(32))
    pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    return nn.Sequential(_stem(), block(8, 2), block(8, 8, 2, way), block(32, 8), pool)


def _mobilenet() -> nn.Module:
    return models.MobileNetV2(10, 0.5, [[1, 16, 1, 1], [6, 16, 2, 2], [6, 24, 1, 2]])  # type: ignore[no-any-return]


def _mobilenet_v3() -> nn.Module:
    """Hard swishes, and channels weighed by what their means say."""
    config = models.mobilenetv3.InvertedResidualConfig
    sizes = (
        (8, 3, 8, 8, True, "RE", 2),
        (8, 5, 24, 12, True, "HS", 1),
        (12, 3, 24, 12, False, "HS", 1),
    )
    blocks = [config(*size, 1, 1.0) for size in sizes]
    return models.MobileNetV3(blocks, 24, num_classes=10)  # type: ignore[no-any-return]


def _efficientnet() -> nn.Module:
    sizes = ((1, 3, 1, 8, 8, 1), (6, 5, 2, 8, 16, 2))
    blocks = [models.efficientnet.MBConvConfig(*size, 1.0, 1.0) for size in sizes]
    return models.EfficientNet(blocks, 0.2, num_classes=10)  # type: ignore[no-any-return]


def _inception() -> nn.Module:
    block = import_module("torchvision.models.googlenet").Inception
    first, second = block(8, 4, 4, 6, 2, 4, 4), block(18, 4, 4, 6, 2, 4, 4)
    return nn.Sequential(_stem(2), first, nn.MaxPool2d(3, 2, ceil_mode=True), second)


def _densenet() -> nn.Module:
    return models.DenseNet(4, (3, 2), 8, num_classes=10)  # type: ignore[no-any-return]


def _shufflenet() -> nn.Module:
    return models.ShuffleNetV2([2, 1, 1], [8, 16, 16, 16, 32], 10)  # type: ignore[no-any-return]


def _convnext() -> nn.Module:
    config = models.convnext.CNBlockConfig
    return models.ConvNeXt([config(8, 16, 1), config(16, None, 1)], num_classes=10)  # type: ignore[no-any-return]


def _swin() -> nn.Module:
    """The second block of a stage is shifted, and the second stage is merged."""
    size = {"embed_dim": 12, "depths": [2, 1], "num_heads": [2, 3], "window_size": [4, 4]}
    return models.SwinTransformer(patch_size=[2, 2], num_classes=10, **size)  # type: ignore[no-any-return]


def _vit() -> nn.Module:
    size = {"hidden_dim": 24, "mlp_dim": 48, "num_layers": 1, "num_heads": 3}
    return models.VisionTransformer(image_size=32, patch_size=8, num_classes=10, **size)  # type: ignore[no-any-return]


class _TwoLevels(nn.Module):
    """A backbone for LR-ASPP: a map and a coarser one."""

    def __init__(self) -> None:
        super().__init__()
        self.low, self.high = _stem(), nn.Conv2d(8, 16, 3, 2, 1)

    def forward(self, x: torch.Tensor) -> Any:
        low = self.low(x)
        return OrderedDict(low=low, high=self.high(low.relu()))


def _segmenter() -> nn.Module:
    return models.segmentation.LRASPP(_TwoLevels(), 8, 16, 5, 8)  # type: ignore[no-any-return]


FEW: dict[str, Callable[[], nn.Module]] = {
    "resnet": _resnet,
    "mobilenet": _mobilenet,
    "mobilenet_v3": _mobilenet_v3,
    "efficientnet": _efficientnet,
    "inception": _inception,
    "densenet": _densenet,
    "shufflenet": _shufflenet,
    "convnext": _convnext,
    "swin": _swin,
    "vit": _vit,
    "segmenter": _segmenter,
}


def few_blocks(name: str, seed: int = 0) -> nn.Module:
    """A network of that family in eval mode, with the weights that it starts with."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return FEW[name]().eval()
