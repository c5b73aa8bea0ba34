"""MACs and parameters against what torchvision publishes of its models."""

from __future__ import annotations

from typing import Any

import pytest

import planners as sp
from planners.catalogue.loading import trace

MODELS = (
    "alexnet densenet121 efficientnet_b0 googlenet mobilenet_v2 mnasnet1_0 regnet_y_400mf resnet18 "
    "shufflenet_v2_x1_0 squeezenet1_1 swin_t vgg11 vit_b_32"
)


def published(name: str) -> dict[str, Any]:
    from planners.catalogue.torch_models import _import_torchvision

    weights = _import_torchvision().get_model_weights(name)
    return dict(next(w.meta for w in weights if w.meta["_ops"] and w.name == "IMAGENET1K_V1"))


QUICK = ("alexnet", "squeezenet1_1")
"""Models that are traced in the usual run too: the others are the graphs that are shipped."""


@pytest.mark.parametrize(
    ("name", "how"),
    [
        pytest.param(name, how, marks=() if how == "shipped" or name in QUICK else pytest.mark.long)
        for name in MODELS.split()
        for how in ("shipped", "imported")
    ],
)
def test_macs_and_parameters(name: str, how: str) -> None:
    shapes = ((1, 3, 224, 224),)
    graph = sp.load(name) if how == "shipped" else trace(name, shapes, "fused")
    assert tuple(graph.tensors[x].shape for x in graph.inputs) == shapes
    meta = published(name)
    assert graph.macs / 1e9 == pytest.approx(meta["_ops"], rel=0.01, abs=0.001)
    statistics = (".running_mean", ".running_var", "relative_position_index", "lifted_tensor")
    weights = [t for t in graph.tensors.values() if t.kind == "parameter"]
    learned = sum(t.elements for t in weights if not any(s in t.name for s in statistics))
    auxiliary = {"googlenet": 6_624_904}.get(name, meta["num_params"])
    assert learned == auxiliary
