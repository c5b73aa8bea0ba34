"""The catalogue's names and their default inputs, as data: torchvision 0.28's 121 and our own.

Those of timm's models are read from its sources: to import it takes seconds.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

Shapes = tuple[tuple[int, ...], ...]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


CLASSIFIERS = _words(
    "alexnet convnext_base convnext_large convnext_small convnext_tiny densenet121 densenet161 "
    "densenet169 densenet201 efficientnet_b0 efficientnet_b1 efficientnet_b2 efficientnet_b3 "
    "efficientnet_b4 efficientnet_b5 efficientnet_b6 efficientnet_b7 efficientnet_v2_l "
    "efficientnet_v2_m efficientnet_v2_s googlenet inception_v3 maxvit_t mnasnet0_5 mnasnet0_75 "
    "mnasnet1_0 mnasnet1_3 mobilenet_v2 mobilenet_v3_large mobilenet_v3_small regnet_x_16gf "
    "regnet_x_1_6gf regnet_x_32gf regnet_x_3_2gf regnet_x_400mf regnet_x_800mf regnet_x_8gf "
    "regnet_y_128gf regnet_y_16gf regnet_y_1_6gf regnet_y_32gf regnet_y_3_2gf regnet_y_400mf "
    "regnet_y_800mf regnet_y_8gf resnet101 resnet152 resnet18 resnet34 resnet50 resnext101_32x8d "
    "resnext101_64x4d resnext50_32x4d shufflenet_v2_x0_5 shufflenet_v2_x1_0 shufflenet_v2_x1_5 "
    "shufflenet_v2_x2_0 squeezenet1_0 squeezenet1_1 swin_b swin_s swin_t swin_v2_b swin_v2_s "
    "swin_v2_t vgg11 vgg11_bn vgg13 vgg13_bn vgg16 vgg16_bn vgg19 vgg19_bn vit_b_16 vit_b_32 "
    "vit_h_14 vit_l_16 vit_l_32 wide_resnet101_2 wide_resnet50_2"
)
QUANTIZED = _words(
    "quantized_googlenet quantized_inception_v3 quantized_mobilenet_v2 "
    "quantized_mobilenet_v3_large quantized_resnet18 quantized_resnet50 "
    "quantized_resnext101_32x8d quantized_resnext101_64x4d quantized_shufflenet_v2_x0_5 "
    "quantized_shufflenet_v2_x1_0 quantized_shufflenet_v2_x1_5 quantized_shufflenet_v2_x2_0"
)
SEGMENTERS = _words(
    "deeplabv3_mobilenet_v3_large deeplabv3_resnet101 deeplabv3_resnet50 fcn_resnet101 "
    "fcn_resnet50 lraspp_mobilenet_v3_large"
)
DETECTORS = _words(
    "fasterrcnn_mobilenet_v3_large_320_fpn fasterrcnn_mobilenet_v3_large_fpn "
    "fasterrcnn_resnet50_fpn fasterrcnn_resnet50_fpn_v2 fcos_resnet50_fpn "
    "keypointrcnn_resnet50_fpn maskrcnn_resnet50_fpn maskrcnn_resnet50_fpn_v2 "
    "retinanet_resnet50_fpn retinanet_resnet50_fpn_v2 ssd300_vgg16 ssdlite320_mobilenet_v3_large"
)
VIDEO = _words("mc3_18 mvit_v1_b mvit_v2_s r2plus1d_18 r3d_18 s3d swin3d_b swin3d_s swin3d_t")
QUANTISED_NOTE = (
    "the float model that is quantised: its operators and shapes; steps that quantise and integer "
    "element types are not in it"
)
OPTICAL_FLOW = ("raft_large", "raft_small")

TORCHVISION = tuple(sorted(CLASSIFIERS + QUANTIZED + SEGMENTERS + DETECTORS + VIDEO + OPTICAL_FLOW))
_IMAGE: Shapes = ((1, 3, 224, 224),)
_IMAGE_608: Shapes = ((1, 3, 608, 608),)
_YOLO = {"yolov3": 608, "yolov4": 608, "yolov4_p6": 640}
_MCUNET = {"vww1": 80, "in0": 48, "in1": 96, "in2": 160, "in3": 176, "in4": 160}
OWN: dict[str, Shapes] = {
    "amoebanet_d": _IMAGE,
    "darknet_densenet201": _IMAGE_608,
    "darknet_resnet152": _IMAGE_608,
    "darts": _IMAGE,
    **{f"mcunet_{name}": ((1, 3, side, side),) for name, side in _MCUNET.items()},
    "transformer": ((10, 32, 512), (20, 32, 512)),
    **{name: ((1, 3, side, side),) for name, side in _YOLO.items()},
}
"""Networks written here (`planners.catalogue.networks`), with their default inputs."""

CATALOGUE = (*TORCHVISION, *OWN)
TIMM_SUGGESTED = ("timm:nasnetalarge", "timm:pnasnet5large")
TIMM_INPUT: Shapes = ((1, 3, 331, 331),)
"""What those two were made for."""

PROPOSALS = 100
"""Regions that the second stage of a planned detector reads: torchvision's most an image."""

_SPECIAL: dict[str, Shapes] = {
    "inception_v3": ((1, 3, 299, 299),),
    "quantized_inception_v3": ((1, 3, 299, 299),),
    "ssd300_vgg16": ((1, 3, 300, 300),),
}


def models() -> list[str]:
    """Torchvision's names, sorted, and then our own.

    `timm:NAME`, the vMCU paper's blocks (`vmcu:S1`) and files load besides.
    """
    return list(CATALOGUE)


def default_inputs(name: str) -> Shapes:
    """The input shapes that a model is loaded with where none are given; not for any timm model."""
    if name in OWN:
        return OWN[name]
    if name in TIMM_SUGGESTED:
        return TIMM_INPUT
    if name in _SPECIAL:
        return _SPECIAL[name]
    if name in VIDEO:
        return ((1, 3, 16, 224, 224),)
    if name in OPTICAL_FLOW:
        return _IMAGE * 2
    if name in DETECTORS:
        return ((1, 3, 320, 320), *region_inputs(name))
    return _IMAGE


def shipped_inputs(name: str) -> tuple[Shapes, ...]:
    """The inputs with which a model may come with the package."""
    if name in TIMM_SUGGESTED:
        return TIMM_INPUT, _IMAGE
    return (default_inputs(name),) if name in CATALOGUE else ()


def shipped_file(name: str, shapes: Shapes, granularity: str, fold_padding: bool = True) -> str:
    """The file of a shipped graph."""
    size = "" if shapes == default_inputs(name) else f".{shapes[0][-1]}"
    kept = "" if fold_padding else ".pads"
    return f"{name.replace(':', '.')}{size}.{granularity}{kept}.json.gz"


def region_inputs(name: str) -> Shapes:
    """The pooled region features that a two-stage detector's heads read, besides its image."""
    if "rcnn" not in name:
        return ()
    boxes = (PROPOSALS, 256, 7, 7)
    second = name.startswith(("maskrcnn", "keypointrcnn"))
    return (boxes, (PROPOSALS, 256, 14, 14)) if second else (boxes,)


def detector_note(name: str) -> str:
    """What the graph of a detector leaves out, in words."""
    note = (
        "dense part: backbone, neck and heads on an image already resized and normalised; anchors, "
        "box decoding and non-maximum suppression depend on the data and are left out"
    )
    if region_inputs(name):
        note += f"; the second stage reads {PROPOSALS} pooled regions as inputs of their own"
    return note


REGISTERED = re.compile(r"@register_model\s*\ndef (\w+)")


@cache
def timm_names() -> frozenset[str]:
    """All models that timm registers under names of their own; empty where it is not installed."""
    spec = find_spec("timm")
    places = [Path(place) / "models" for place in (spec and spec.submodule_search_locations) or ()]
    files = [file for place in places for file in place.glob("*.py")]
    return frozenset(
        name for file in files for name in REGISTERED.findall(file.read_text(encoding="utf-8"))
    )
