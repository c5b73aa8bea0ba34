"""Modules of the catalogue: built without weights for import, with random ones for execution."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode

from planners.catalogue import names
from planners.catalogue.networks import amoebanet_d, darknet, darts, mcunet
from planners.core.errors import BadInput, ImportFailed, UnknownName
from planners.importers.darknet.layers import Network
from planners.importers.darknet.reader import module_of

# ---- The dense part of a detector: what can be planned, since it does the same for every image ---


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


# --------------------------------------------------------------------------------------------------


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def transformer(layers: int = 6) -> torch.nn.Transformer:
    """The Transformer (Vaswani et al., NIPS 2017) as PyTorch builds it by default.

    Six layers a side, 512 wide, 8 heads, 2048 hidden; without embeddings and the last linear.

    44,140,544 parameters. The paper's base model has 65 M: 37,000 shared embeddings of 512 besides.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="enable_nested_tensor")  # its own default
        return torch.nn.Transformer(num_encoder_layers=layers, num_decoder_layers=layers)


def _darknet(name: str) -> torch.nn.Module:
    return module_of(darknet.NETWORKS[name]())


_DRAWS = _words("normal_ uniform_ trunc_normal_ erfinv_")
_FILLS = _words("mul_ add_ sub_ div_ clamp_ fill_ zero_")
_OWN: dict[str, Callable[[], torch.nn.Module]] = {
    "amoebanet_d": amoebanet_d.AmoebaNetD,
    **{name: partial(_darknet, name) for name in darknet.NETWORKS},
    "darts": darts.Darts,
    **{name: partial(mcunet.mcunet, name) for name in mcunet.TABLES},
    "transformer": transformer,
}
_building = threading.RLock()
_schemas: list[torch.library.Library] = []


class _NoInitialisation(TorchFunctionMode):
    """Leaves new weights as they are: memory that is never touched costs nothing."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        first = args[0] if args else kwargs.get("tensor")
        drawn = name in _DRAWS or getattr(func, "__module__", "") == "torch.nn.init"
        if drawn or (name in _FILLS and isinstance(first, torch.nn.Parameter)):
            return first
        return func(*args, **kwargs)


def empty_module(name: str) -> torch.nn.Module:
    """The named model on the CPU in eval mode, its weights uninitialised memory.

    Raises `BadInput` where a package is missing, `UnknownName` where it has no such model,
    `ImportFailed` where the model cannot be built.
    """
    with _building, _NoInitialisation(), _no_rejection_sampling():
        return _construct(name)


@contextlib.contextmanager
def _no_rejection_sampling() -> Iterator[None]:
    """In this thread, truncated normal weights stay as they are too.

    PyTorch draws them until all lie within their bounds, and memory left as it is never will.
    """
    name, here = "_no_grad_trunc_normal_", threading.get_ident()
    original = getattr(torch.nn.init, name)

    def skip(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        mine = threading.get_ident() == here
        return tensor if mine else original(tensor, *args, **kwargs)

    with mock.patch.object(torch.nn.init, name, skip):
        yield


def random_module(
    model: str | Network, seed: int, inputs: Sequence[torch.Tensor]
) -> torch.nn.Module:
    """The named model on the CPU in eval mode with the random weights that it starts with.

    Those that start out constant (a bias of zeros, a gain of ones) are varied, so that an element
    out of place shows in the result. Each batch norm gets the mean and the variance of what
    reaches it for `inputs`, so that activations stay finite however deep the model is. Raises as
    `empty_module`.
    """
    with _building, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = _construct(model) if isinstance(model, str) else module_of(model)
        module.requires_grad_(False)
        _vary(module)
    _calibrate(module, inputs)
    return module


def random_inputs(shapes: names.Shapes, seed: int) -> tuple[torch.Tensor, ...]:
    """Normally distributed inputs of these shapes."""
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(shape, generator=generator) for shape in shapes)


def empty_inputs(shapes: names.Shapes) -> tuple[torch.Tensor, ...]:
    """Inputs of these shapes whose values do not matter."""
    return tuple(torch.empty(shape) for shape in shapes)


def timm_input(module: torch.nn.Module) -> names.Shapes:
    """One image of the size that a timm model was made for."""
    config = getattr(module, "pretrained_cfg", {})
    return ((1, *config.get("input_size", (3, 224, 224))),)


def _construct(name: str) -> torch.nn.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if name in _OWN:
                return _OWN[name]().eval()
            models = _import_torchvision()
            if name.startswith("timm:"):
                return _timm(name.removeprefix("timm:")).eval()
            return _torchvision(models, name).eval()
    except ImportError as error:
        raise BadInput(f"{name} needs a package that is not installed: {error}") from error
    except (BadInput, UnknownName):
        raise
    except Exception as error:
        raise ImportFailed(f"cannot build {name}: {type(error).__name__}: {error}") from error


def _import_torchvision() -> Any:
    """torchvision's models, with the schemas of its compiled operators where those do not load."""
    try:
        import torchvision.models
    except RuntimeError as error:
        if "nms" not in str(error):
            raise
        library = torch.library.Library("torchvision", "FRAGMENT")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _schemas.append(library)
        import torchvision.models
    return torchvision.models


def _torchvision(models: Any, name: str) -> torch.nn.Module:
    options: dict[str, Any] = {"weights": None}
    if name in names.QUANTIZED:
        options["quantize"] = False
    if name in names.DETECTORS or name in names.SEGMENTERS:
        options["weights_backbone"] = None
    if "googlenet" in name or "inception" in name:
        options["init_weights"] = False  # torchvision's own takes half a minute
    model: torch.nn.Module = models.get_model(name, **options)
    return DenseDetector(model) if name in names.DETECTORS else model


def _timm(name: str) -> torch.nn.Module:
    try:
        import timm
    except ImportError:
        raise BadInput(f"timm:{name} needs timm: pip install timm") from None
    if not timm.is_model(name):
        from difflib import get_close_matches

        near = get_close_matches(name, timm.list_models(), n=3)
        raise UnknownName("model", f"timm:{name}", [f"timm:{other}" for other in near])
    model: torch.nn.Module = timm.create_model(name, pretrained=False)
    return model


def _vary(module: torch.nn.Module) -> None:
    """Make the elements of constant parameters differ: by a tenth, or about 0.02 from zero."""
    for parameter in module.parameters():
        first = parameter.flatten()[0]
        if parameter.numel() > 1 and bool((parameter == first).all()):
            scale = 0.1 * abs(float(first)) or 0.02
            parameter.add_(scale * torch.randn_like(parameter))


def _calibrate(module: torch.nn.Module, inputs: Sequence[torch.Tensor]) -> None:
    """Run once, setting each batch norm's statistics to those of its input on the way."""
    kinds = (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d, torch.nn.BatchNorm3d)
    norms = [part for part in module.modules() if isinstance(part, kinds)]
    hooks = [norm.register_forward_pre_hook(_match) for norm in norms]
    if norms:
        with torch.no_grad():
            module(*inputs)
    for hook in hooks:
        hook.remove()


def _match(norm: Any, arguments: tuple[torch.Tensor, ...]) -> None:
    value = arguments[0].transpose(0, 1).flatten(1)
    variance, mean = torch.var_mean(value, dim=1, correction=0)
    flat = variance < 1e-12  # a single pixel has no variance
    norm.running_mean.copy_(torch.where(flat, torch.zeros_like(mean), mean))
    norm.running_var.copy_(torch.where(flat, torch.ones_like(variance), variance))
