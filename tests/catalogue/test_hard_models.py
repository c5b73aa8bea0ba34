"""Models that are awkward to import, with what they become; and families run against eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from planners.catalogue.loading import trace
from planners.catalogue.names import default_inputs
from planners.catalogue.torch_models import _import_torchvision
from planners.importers.passes import GRANULARITIES
from planners.importers.torch.reader import from_torch
from planners.importers.torch.source_model import SourceModel
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
    "raft_small": (516, 8_769_761_280),
    "regnet_x_400mf": (95, 413_812_608),
    "s3d": (102, 17_978_771_456),
    "ssdlite320_mobilenet_v3_large": (126, 583_171_904),
    "swin3d_t": (173, 43_882_229_760),
    "swin_v2_t": (243, 4_919_801_856),
}
"""Operators at `fused` and MACs, at the default input."""


@pytest.mark.parametrize("name", HARD)
def test_hard_models(name: str) -> None:
    graph = trace(name, default_inputs(name), "fused")
    assert (len(graph.operators), graph.macs) == HARD[name]
    assert tuple(graph.tensors[x].shape for x in graph.inputs) == default_inputs(name)
    assert {"add", "conv2d"} & {op.kind for op in graph.operators} or "3" in name
    noted = ("rcnn", "fcos", "ssd", "quantized_")
    assert ("note" in graph.source) == any(word in name for word in noted)


def test_nas_cells_fold_the_activation_that_comes_first() -> None:
    graph = trace("timm:pnasnet5large", None, "fused")
    assert graph.source["input_shape"] == [[1, 3, 331, 331]]
    alone = [op for op in graph.operators if op.kind == "relu"]
    first = [op for op in graph.operators if op.parts[0].kind == "relu" and op.kind == "conv2d"]
    assert (len(graph.operators), len(alone), len(first)) == (557, 4, 90)


def family(name: str) -> tuple[torch.nn.Module, tuple[int, ...]]:
    """A model small enough to run nine times, and its input's shape."""
    models = _import_torchvision()
    if name == "vit":
        size = {"hidden_dim": 24, "mlp_dim": 48, "num_layers": 2, "num_heads": 3}
        return models.VisionTransformer(image_size=32, patch_size=8, **size), (1, 3, 32, 32)
    if name == "swin":
        size = {"embed_dim": 12, "depths": [2, 2], "num_heads": [2, 3], "window_size": [4, 4]}
        return models.SwinTransformer(patch_size=[2, 2], **size), (1, 3, 36, 32)
    return models.get_model(name, weights=None), (1, 3, 64, 64)


@pytest.mark.parametrize("granularity", GRANULARITIES)
@pytest.mark.parametrize("name", ["resnet18", "shufflenet_v2_x1_0", "swin", "vit"])
def test_families_equal_eager_bit_by_bit(name: str, granularity: Any) -> None:
    module, shape = family(name)
    inputs = (torch.randn(shape),)
    graph = from_torch(module.eval(), inputs, granularity=granularity)
    found = replay(graph, SourceModel(module, inputs), inputs)
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.no_grad():
            assert torch.equal(found, module(*inputs))
    finally:
        torch.backends.mha.set_fastpath_enabled(before)
