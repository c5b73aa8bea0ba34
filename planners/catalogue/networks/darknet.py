"""Networks of the Darknet framework, a section a layer, at the Demand Layering paper's sizes.

Redmon and Farhadi, YOLOv3 (2018); Bochkovskiy, Wang and Liao, YOLOv4 (2020); Wang, Bochkovskiy and
Liao, Scaled-YOLOv4 (CVPR 2021), its P6; and Darknet's own ResNet-152 and DenseNet-201, which are
not torchvision's: shortcuts without projections, convolutions before batch norm, leaky activations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from planners.importers.darknet.layers import Builder, Network

COCO = 80
"""Classes of the detectors; a box has 5 numbers besides."""


def yolov3() -> Network:
    """Darknet-53 and three scales, each 19, 38 and 76 pixels wide at 608."""
    net = Builder((3, 608, 608))
    net.conv(32, 3)
    stages = []
    for filters, blocks in ((64, 1), (128, 2), (256, 8), (512, 8), (1024, 4)):
        net.conv(filters, 3, 2)
        for _ in range(blocks):
            _residual(net, filters // 2, filters)
        stages.append(net.last)
    branch = net.last
    for filters, stage in ((512, None), (256, stages[3]), (128, stages[2])):
        if stage is not None:
            net.route(branch)
            net.conv(filters)
            net.route(net.upsample(), stage)
        branch = _alternate(net, filters)
        net.conv(2 * filters, 3)
        _detect(net, 3)
    return net.network("yolov3")


def yolov4() -> Network:
    """CSPDarknet-53 with mish, spatial pyramid pooling and path aggregation."""
    net = Builder((3, 608, 608))
    net.conv(32, 3, activation="mish")
    stages = [_cross_stage(net, 64, 1, width=64)]
    for filters, blocks in ((128, 2), (256, 8), (512, 8), (1024, 4)):
        stages.append(_cross_stage(net, filters, blocks, width=filters // 2))
    _squeeze(net)
    _pyramid(net)
    levels = [_squeeze(net)]
    for filters, stage in ((256, stages[3]), (128, stages[2])):
        net.conv(filters)
        _lateral(net, filters, stage)
        levels.append(_alternate(net, filters))
    branch = levels.pop()
    for filters in (128, 256, 512):
        if filters > 128:
            net.route(branch)
            net.route(net.conv(filters, 3, 2), levels.pop())
            branch = _alternate(net, filters)
        net.conv(2 * filters, 3)
        _detect(net, 3)
    return net.network("yolov4")


def yolov4_p6() -> Network:
    """Scaled-YOLOv4 with four scales, cross-stage partial throughout, mish."""
    net = Builder((3, 640, 640))
    conv = partial(net.conv, activation="mish")
    conv(32, 3)
    stages = []
    for filters, blocks in ((64, 1), (128, 3), (256, 15), (512, 15), (1024, 7), (1024, 7)):
        stages.append(_cross_stage(net, filters, blocks, width=filters // 2))
    side = conv(512)
    net.route(stages[-1])
    for size in (1, 3, 1):
        conv(512, size)
    _pyramid(net)
    conv(512)
    net.route(conv(512, 3), side)
    levels = [conv(512)]
    for filters, stage in ((512, stages[4]), (256, stages[3]), (128, stages[2])):
        conv(filters)
        _lateral(net, filters, stage, "mish")
        levels.append(_partial(net, filters))
    scales = [levels.pop()]
    for filters in (256, 512, 512):
        net.route(conv(filters, 3, 2), levels.pop())
        scales.append(_partial(net, filters))
    for filters, scale in zip((256, 512, 1024, 1024), scales):
        net.route(scale)
        conv(filters, 3)
        _detect(net, 4, "logistic")
    return net.network("yolov4_p6")


def resnet152() -> Network:
    """Where channels grow, a shortcut adds to the first of them alone."""
    net = Builder((3, 608, 608))
    net.conv(64, 7, 2)
    net.maxpool(2, 2)
    for filters, blocks in ((64, 3), (128, 8), (256, 36), (512, 3)):
        for block in range(blocks):
            start = net.last
            net.conv(filters)
            net.conv(filters, 3, 2 if block == 0 and filters > 64 else 1)
            net.conv(4 * filters, activation="linear")
            net.shortcut(start, activation="leaky")
    _classify(net)
    return net.network("darknet_resnet152")


def densenet201() -> Network:
    """Growth of 32 channels a block; the last transition has 512, where the paper's has 896."""
    net = Builder((3, 608, 608))
    net.conv(64, 7, 2)
    net.maxpool(2, 2)
    for stage, blocks in enumerate((6, 12, 48, 32)):
        if stage:
            net.conv(64 * 2**stage)
            net.maxpool(2, 2)
        for _ in range(blocks):
            start = net.last
            net.conv(128)
            net.route(net.conv(32, 3), start)
    _classify(net)
    return net.network("darknet_densenet201")


NETWORKS: dict[str, Callable[[], Network]] = {
    "yolov3": yolov3,
    "yolov4": yolov4,
    "yolov4_p6": yolov4_p6,
    "darknet_resnet152": resnet152,
    "darknet_densenet201": densenet201,
}


def _residual(net: Builder, inner: int, filters: int, activation: str = "leaky") -> None:
    start = net.last
    net.conv(inner, activation=activation)
    net.conv(filters, 3, activation=activation)
    net.shortcut(start)


def _cross_stage(net: Builder, filters: int, blocks: int, width: int) -> int:
    """Half the size; residual blocks on one of two branches of `width` channels."""
    conv = partial(net.conv, activation="mish")
    start = conv(filters, 3, 2)
    side = conv(width)
    net.route(start)
    conv(width)
    for _ in range(blocks):
        _residual(net, filters // 2, width, "mish")
    net.route(conv(width), side)
    return conv(filters)


def _partial(net: Builder, filters: int) -> int:
    """Six convolutions on one of two branches, without residuals."""
    conv = partial(net.conv, filters, activation="mish")
    start = conv()
    side = conv()
    net.route(start)
    for _ in range(3):
        conv()
        last = conv(3)
    net.route(last, side)
    return conv()


def _alternate(net: Builder, filters: int) -> int:
    """Five convolutions, narrow ones of 1x1 and wide ones of 3x3 in turn."""
    for _ in range(2):
        net.conv(filters)
        net.conv(2 * filters, 3)
    return net.conv(filters)


def _squeeze(net: Builder) -> int:
    net.conv(512)
    net.conv(1024, 3)
    return net.conv(512)


def _pyramid(net: Builder) -> None:
    """Spatial pyramid pooling: the greatest of 5x5, 9x9 and 13x13 around, beside the value."""
    start = net.last
    pools = [net.maxpool(5)]
    for size in (9, 13):
        net.route(start)
        pools.append(net.maxpool(size))
    net.route(*reversed(pools), start)


def _lateral(net: Builder, filters: int, stage: int, activation: str = "leaky") -> None:
    """The last layer twice as large, beside a narrowed stage of the backbone."""
    larger = net.upsample()
    net.route(stage)
    net.route(net.conv(filters, activation=activation), larger)


def _detect(net: Builder, boxes: int, activation: str = "linear") -> None:
    net.conv(boxes * (COCO + 5), norm=False, activation=activation)
    net.identity("yolo")


def _classify(net: Builder) -> None:
    net.conv(1000, norm=False, activation="linear")
    net.avgpool()
    net.softmax()
    net.identity("cost")
