"""The dense part of a detector: what can be planned, since it does the same for every image."""

from __future__ import annotations

from typing import Any

import torch


class DenseDetector(torch.nn.Module):
    """Backbone, neck and heads of a torchvision detector, without its data-dependent steps.

    The first input is the image as the backbone sees it, already resized and normalised. Where
    there is a second stage, its box heads read the second input, pooled features of a fixed number
    of regions (regions × 256 × 7 × 7), and its mask or keypoint heads the third (regions × 256 ×
    14 × 14). Returns what the heads give: a list of tensors.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.backbone = model.backbone
        self.head = model.rpn.head if hasattr(model, "rpn") else model.head
        stage = getattr(model, "roi_heads", None)
        self.boxes = _chain(stage, "box_head", "box_predictor")
        self.regions = _chain(stage, "mask_head", "mask_predictor")
        self.regions = self.regions or _chain(stage, "keypoint_head", "keypoint_predictor")

    def forward(self, image: torch.Tensor, *pooled: torch.Tensor) -> list[torch.Tensor]:
        features = self.backbone(image)
        levels = list(features.values()) if isinstance(features, dict) else [features]
        heads = [self.head(levels)]
        for head, value in zip((self.boxes, self.regions), pooled):
            if head is not None:
                heads.append(head(value))
        return [leaf for head in heads for leaf in torch.utils._pytree.tree_leaves(head)]


def _chain(stage: Any, *parts: str) -> torch.nn.Sequential | None:
    modules: list[Any] = [getattr(stage, part, None) for part in parts]
    return torch.nn.Sequential(*modules) if all(m is not None for m in modules) else None
