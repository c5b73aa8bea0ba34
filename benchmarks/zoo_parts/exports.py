"""Networks that are written to files first: by both exporters to ONNX, quantised, as `.pt2`."""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import torch
from torch import nn

from zoo_parts.case import Case, Family, image
from zoo_parts.own import OWN
from zoo_parts.vision import torchvision_ready

TORCHVISION = ("squeezenet1_1", "shufflenet_v2_x0_5", "efficientnet_b0", "swin_t", "vit_b_32")
QUANTISED = ("squeezenet1_1", "mobilenet_v2", "resnet18", "text encoder")


def _module(name: str) -> tuple[nn.Module, tuple[Any, ...]]:
    torch.manual_seed(0)
    if name in OWN:
        module, inputs = OWN[name]()
        return module.eval(), inputs
    import torchvision.models as models

    more = {"weights_backbone": None} if "lraspp" in name else {}
    module = models.get_model(name, weights=None, **more).eval()
    side = 224 if name in ("swin_t", "vit_b_32") else 96
    return module, (image(side),)


def _file(ending: str) -> Path:
    return Path(mkdtemp(prefix="zoo-")) / f"network{ending}"


def _onnx(module: nn.Module, inputs: tuple[Any, ...], dynamo: bool) -> Path:
    path = _file(".onnx")
    logging.disable(logging.WARNING)
    with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()):
        if dynamo:
            torch.onnx.export(module, inputs, path, dynamo=True, external_data=False, verbose=False)
        else:
            torch.onnx.export(module, inputs, path, dynamo=False, opset_version=17)
    return path


def _exported(dynamo: bool) -> Callable[[str], Case]:
    def make(name: str) -> Case:
        module, inputs = _module(name)
        return Case(module, inputs, _onnx(module, inputs, dynamo))

    return make


def _pt2(name: str) -> Case:
    module, inputs = _module(name)
    path = _file(".pt2")
    with torch.no_grad():
        torch.export.save(torch.export.export(module, inputs), path)
    return Case(module, inputs, path)


def _all() -> Sequence[str]:
    return [*TORCHVISION, *OWN]


_ORT = ("QDQ", "QOperator", "dynamic")


def _quantised_file(name: str) -> Case:
    """onnxruntime's quantisation of what the older exporter writes."""
    from onnxruntime import quantization as q

    style, _, model = name.partition(" ")
    module, inputs = _module(model)
    source, path = _onnx(module, inputs, dynamo=False), _file(".onnx")
    logging.disable(logging.WARNING)
    if style == "dynamic":
        q.quantize_dynamic(source, path)
        return Case(path=path)

    class Reader(q.CalibrationDataReader):
        def __init__(self) -> None:
            import onnx

            names = [value.name for value in onnx.load(source).graph.input]
            self.left = [{n: v.numpy() for n, v in zip(names, inputs, strict=True)}]

        def get_next(self) -> dict[str, Any] | None:
            return self.left.pop() if self.left else None

    q.quantize_static(source, path, Reader(), quant_format=q.QuantFormat[style])
    return Case(path=path)


_TORCHAO = {
    "weights of 8 bits": "Int8WeightOnlyConfig",
    "activations of 8 bits": "Int8DynamicActivationInt8WeightConfig",
    "weights of 4 bits": "Int8DynamicActivationIntxWeightConfig",
    "float8 weights": "Float8WeightOnlyConfig",
}


def _quantised_names() -> Sequence[str]:
    files = [f"{style} {model}" for style in _ORT for model in QUANTISED]
    torchao = [f"{style} {m}" for style in _TORCHAO for m in ("text encoder", "vit_b_32")]
    return files + torchao + [f"PT2E {m}" for m in ("squeezenet1_1", "mobilenet_v2", "resnet18")]


def _quantised(name: str) -> Case:
    if name.split(" ")[0] in _ORT:
        return _quantised_file(name)
    if name.startswith("PT2E "):
        return _pt2e(name.removeprefix("PT2E "))
    from torchao import quantization as q

    style = next(style for style in _TORCHAO if name.startswith(style))
    module, inputs = _module(name.removeprefix(style).strip())
    q.quantize_(module, getattr(q, _TORCHAO[style])())
    return Case(module, inputs)


def _pt2e(model: str) -> Case:
    from torchao.quantization.pt2e import quantize_pt2e
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86

    module, inputs = _module(model)
    quantiser = x86.X86InductorQuantizer()
    quantiser.set_global(x86.get_default_x86_inductor_quantization_config())
    with torch.no_grad():
        program = torch.export.export(module, inputs).module()
        prepared = quantize_pt2e.prepare_pt2e(program, quantiser)
        prepared(*inputs)
        done = quantize_pt2e.convert_pt2e(prepared)
        return Case(torch.export.export(done, inputs), inputs)


FAMILIES = (
    Family("own modules", (), lambda: list(OWN), lambda n: Case(*_module(n)), torchvision_ready),
    Family("exported", ("onnxscript",), _all, _exported(True), torchvision_ready),
    Family("exported by TorchScript", (), _all, _exported(False), torchvision_ready),
    Family("pt2", (), _all, _pt2, torchvision_ready),
    Family(
        "quantised", ("onnxruntime", "torchao"), _quantised_names, _quantised, torchvision_ready
    ),
)
