"""Models that are awkward to import, with what they become; and families run against eager."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import planners as sp
from planners.catalogue.loading import trace
from planners.catalogue.names import default_inputs
from planners.catalogue.torch_models import DenseDetector, _import_torchvision
from planners.importers.passes import GRANULARITIES
from tests.importers.once import ExportedOnce
from tests.importers.replay import replay

HARD = {
    "fasterrcnn_mobilenet_v3_large_320_fpn": (108, 2_154_953_600),
    "fcos_resnet50_fpn": (180, 20_508_262_400),
    "googlenet": (81, 1_498_376_192),
    "keypointrcnn_resnet50_fpn": (114, 370_138_489_600),
    "lraspp_mobilenet_v3_large": (97, 379_281_312),
    "maskrcnn_resnet50_fpn_v2": (118, 90_328_544_000),
    "maxvit_t": (377, 5_558_046_720),
    "mvit_v1_b": (295, 70_599_407_808),
    "quantized_shufflenet_v2_x0_5": (75, 40_476_448),
    "raft_small": (516, 8_789_129_216),
    "regnet_x_400mf": (95, 413_812_608),
    "s3d": (102, 17_978_771_456),
    "ssdlite320_mobilenet_v3_large": (126, 583_171_904),
    "swin3d_t": (173, 43_882_229_760),
    "swin_v2_t": (243, 4_938_464_256),
}
"""Operators at `fused` and MACs, at the default input."""


def shipped_or_imported(names: Iterable[str]) -> list[Any]:
    """In the usual run the graphs that are shipped; whether they are imported so takes longer."""
    ways = {"shipped": (), "imported": pytest.mark.long}
    return [pytest.param(n, how, marks=marks) for n in names for how, marks in ways.items()]


@pytest.mark.parametrize(("name", "how"), shipped_or_imported(HARD))
def test_hard_models(name: str, how: str) -> None:
    graph = sp.load(name) if how == "shipped" else trace(name, default_inputs(name), "fused")
    assert (len(graph.operators), graph.macs) == HARD[name]
    assert tuple(graph.tensors[x].shape for x in graph.inputs) == default_inputs(name)
    assert {"add", "conv2d"} & {op.kind for op in graph.operators} or "3" in name
    noted = ("rcnn", "fcos", "ssd", "quantized_")
    assert ("note" in graph.source) == any(word in name for word in noted)


@pytest.mark.parametrize(("name", "how"), shipped_or_imported(["timm:pnasnet5large"]))
def test_nas_cells_fold_the_activation_that_comes_first(name: str, how: str) -> None:
    graph = sp.load(name) if how == "shipped" else trace(name, None, "fused")
    assert graph.source["input_shape"] == [[1, 3, 331, 331]]
    alone = [op for op in graph.operators if op.kind == "relu"]
    first = [op for op in graph.operators if op.parts[0].kind == "relu" and op.kind == "conv2d"]
    assert (len(graph.operators), len(alone), len(first)) == (525, 4, 110)


def small_detector(name: str) -> torch.nn.Module:
    """Torchvision's detector of this kind on a backbone of one convolution."""
    _import_torchvision()  # Declares what the detectors register for.
    from torchvision.models import detection as found
    from torchvision.models.detection.anchor_utils import AnchorGenerator

    channels = 32 if "fcos" in name else 8  # FCOS's heads have norms of 32 groups.
    backbone = torch.nn.Sequential(torch.nn.Conv2d(3, channels, 3, 4, 1), torch.nn.ReLU())
    backbone.out_channels = channels
    anchors = AnchorGenerator(((32,),), ((1.0,),))
    if "retinanet" in name:
        return found.RetinaNet(backbone, 3, anchor_generator=anchors)
    if "fcos" in name:
        return found.FCOS(backbone, 3, anchor_generator=anchors)
    kind = {"mask": found.MaskRCNN, "keyp": found.KeypointRCNN}.get(name[:4], found.FasterRCNN)
    return kind(backbone, 3, rpn_anchor_generator=anchors)


@pytest.mark.parametrize(
    ("name", "outputs"),
    [
        ("fasterrcnn_resnet50_fpn", 4),  # objectness and boxes; classes and boxes of regions
        ("keypointrcnn_resnet50_fpn", 5),  # and the keypoints of regions
        ("maskrcnn_resnet50_fpn", 5),  # and their masks
        ("retinanet_resnet50_fpn", 2),  # classes and boxes
        ("fcos_resnet50_fpn", 3),  # and how central they are
    ],
)
def test_a_detector_is_its_dense_part(
    name: str, outputs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its MACs are half of PyTorch's operations, and its notes say what is left out."""
    asked: dict[str, Any] = {}
    model = small_detector(name)
    monkeypatch.setattr(
        _import_torchvision(), "get_model", lambda name, **more: asked.update(more) or model
    )
    shapes = ((1, 3, 32, 32), (5, 8, 7, 7), (5, 8, 14, 14))[: max(outputs - 2, 1)]
    graph = trace(name, shapes, "fused")
    assert asked == {"weights": None, "weights_backbone": None}
    assert len(graph.outputs) == outputs
    assert "note" in graph.source
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        DenseDetector(model.eval())(*(torch.zeros(shape) for shape in shapes))
    assert graph.macs == counter.get_total_flops() // 2


def family(name: str) -> tuple[torch.nn.Module, tuple[int, ...]]:
    """A model small enough to run nine times, and its input's shape."""
    models = _import_torchvision()
    if name == "vit":
        size = {"hidden_dim": 24, "mlp_dim": 48, "num_layers": 1, "num_heads": 3}
        return models.VisionTransformer(image_size=32, patch_size=8, **size), (1, 3, 32, 32)
    if name == "swin":  # The second block of a stage is shifted; the second stage is merged.
        size = {"embed_dim": 12, "depths": [2, 1], "num_heads": [2, 3], "window_size": [4, 4]}
        return models.SwinTransformer(patch_size=[2, 2], **size), (1, 3, 36, 32)
    if name == "resnet":
        return models.ResNet(models.resnet.BasicBlock, [1, 1, 1, 1]), (1, 3, 32, 32)
    if name == "shufflenet":
        return models.ShuffleNetV2([2, 1, 1], [8, 16, 16, 16, 32]), (1, 3, 64, 64)
    return models.get_model(name, weights=None), (1, 3, 64, 64)


WHOLE = ("resnet18", "shufflenet_v2_x1_0")


@cache
def exported(name: str) -> tuple[ExportedOnce, tuple[torch.Tensor, ...]]:
    """A module of a family, and its inputs."""
    module, shape = family(name)
    inputs = (torch.randn(shape),)
    return ExportedOnce(module, inputs), inputs


@pytest.mark.parametrize("granularity", GRANULARITIES)
@pytest.mark.parametrize(
    "name",
    [
        *("resnet", "shufflenet", "swin", "vit"),
        *(pytest.param(name, marks=pytest.mark.long) for name in WHOLE),
    ],
)
def test_families_equal_eager_bit_by_bit(name: str, granularity: Any) -> None:
    made, inputs = exported(name)
    found = replay(made.graph(granularity), made.model, inputs)
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.no_grad():
            assert torch.equal(found, made.module(*inputs))
    finally:
        torch.backends.mha.set_fastpath_enabled(before)
