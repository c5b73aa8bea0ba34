"""Networks of timm, ultralytics and segmentation_models_pytorch."""

from __future__ import annotations

import contextlib
import copy
import io
from collections.abc import Sequence
from pathlib import Path

import torch

from zoo_parts.case import Case, Family, image

_SMALL = 96
YAMLS = (
    "yolov3-tiny yolov5n yolov6n yolov8n yolov8n-cls yolov8n-seg yolov8n-pose yolov8n-obb "
    "yolov8n-ghost yolov8n-worldv2 yolov9t yolov9c-seg yolov10n yolo11n yolo11n-cls yolo11n-seg "
    "yolo12n yolo26n yolo26n-seg yolov8-rtdetr rtdetr-resnet50"
).split()
ARCHITECTURES = (
    "Unet UnetPlusPlus MAnet Linknet FPN PSPNet PAN DeepLabV3 DeepLabV3Plus UPerNet Segformer DPT"
).split()


def torchvision_ready() -> None:
    """torchvision as the catalogue imports it, with or without its compiled operators."""
    from planners.catalogue.torch_models import _import_torchvision

    _import_torchvision()


def _timm_names() -> Sequence[str]:
    """Two small models of each of timm's modules, one where it has no more."""
    return Path(__file__).with_name("timm.txt").read_text(encoding="utf-8").split()


def _timm(name: str) -> Case:
    """At its own size where that is fixed or a small image is too small for it."""
    import timm

    module = timm.create_model(name, pretrained=False).eval()
    channels, *size = module.default_cfg["input_size"]
    small = torch.randn(1, channels, _SMALL, _SMALL)
    if not module.default_cfg.get("fixed_input_size"):
        with contextlib.suppress(Exception), torch.no_grad():
            copy.deepcopy(module)(small)  # A run may fill what a module keeps.
            return Case(module, (small,))
    return Case(module, (torch.randn(1, channels, *size),))


def _yolo(name: str) -> Case:
    from ultralytics.nn import tasks

    kinds = {
        "-cls": tasks.ClassificationModel,
        "-seg": tasks.SegmentationModel,
        "-pose": tasks.PoseModel,
        "-obb": tasks.OBBModel,
        "-worldv2": tasks.WorldModel,
        "rtdetr": tasks.RTDETRDetectionModel,
    }
    kind = next((kinds[part] for part in kinds if part in name), tasks.DetectionModel)
    with contextlib.redirect_stdout(io.StringIO()):
        module = kind(f"{name}.yaml", verbose=False).eval()
    return Case(module, (image(128),))


def _smp_names() -> Sequence[str]:
    return [*ARCHITECTURES, "Unet/mobilenet_v2", "FPN/efficientnet-b0", "Unet/mit_b0"]


def _smp(name: str) -> Case:
    import segmentation_models_pytorch as smp

    architecture, _, encoder = name.partition("/")
    default = "tu-vit_tiny_patch16_224" if architecture == "DPT" else "resnet18"
    make = getattr(smp, architecture)
    module = make(encoder_name=encoder or default, encoder_weights=None, classes=3).eval()
    return Case(module, (image(224 if architecture == "DPT" else 128),))


FAMILIES = (
    Family("timm", ("timm",), _timm_names, _timm, torchvision_ready),
    Family("ultralytics", ("ultralytics",), lambda: YAMLS, _yolo, torchvision_ready),
    Family("smp", ("segmentation_models_pytorch",), _smp_names, _smp, torchvision_ready),
)
