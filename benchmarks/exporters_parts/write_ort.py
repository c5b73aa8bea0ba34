"""Files of onnxruntime's quantisers, of what `torch.onnx` writes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Any

import onnx
from making import Write, write_all
from onnx_oracle import oracle
from onnxruntime import quantization as q
from onnxruntime.quantization.shape_inference import quant_pre_process
from write_torch import as_arrays, export

SOURCES = (
    *("conv", "conv_same", "conv_axes", "transposed", "pools", "adaptive", "matrices", "attention"),
    *("encoder", "lstm", "gru", "embedding", "pieces", "norms", "resize", "dynamic_conv"),
)
T = q.QuantType


class _Data(q.CalibrationDataReader):
    def __init__(self, feeds: dict[str, Any]) -> None:
        self.left = [feeds] * 2

    def get_next(self) -> Any:
        return self.left.pop() if self.left else None


def _static(**given: Any) -> Callable[[Path, Path, dict[str, Any]], None]:
    def run(before: Path, after: Path, feeds: dict[str, Any]) -> None:
        q.quantize_static(before, after, _Data(feeds), **given)

    return run


def _dynamic(**given: Any) -> Callable[[Path, Path, dict[str, Any]], None]:
    return lambda before, after, feeds: q.quantize_dynamic(before, after, **given)


def _half(before: Path, after: Path, feeds: dict[str, Any]) -> None:
    from onnxruntime.transformers.float16 import convert_float_to_float16

    onnx.save(convert_float_to_float16(onnx.load(before), keep_io_types=True), after)


def _four_bits(form: Any) -> Callable[[Path, Path, dict[str, Any]], None]:
    def run(before: Path, after: Path, feeds: dict[str, Any]) -> None:
        from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

        model = MatMulNBitsQuantizer(onnx.load(before), block_size=16, quant_format=form)
        model.process()
        model.model.save_model_to_file(str(after))

    return run


QDQ, QOP = q.QuantFormat.QDQ, q.QuantFormat.QOperator
WAYS: dict[str, Callable[[Path, Path, dict[str, Any]], None]] = {
    "qdq": _static(quant_format=QDQ, activation_type=T.QInt8, weight_type=T.QInt8),
    "qdq_channels": _static(
        quant_format=QDQ, activation_type=T.QUInt8, weight_type=T.QInt8, per_channel=True
    ),
    "qdq16": _static(quant_format=QDQ, activation_type=T.QInt16, weight_type=T.QInt8),
    "qdq4": _static(quant_format=QDQ, activation_type=T.QUInt16, weight_type=T.QInt4),
    "qoperator": _static(quant_format=QOP, activation_type=T.QUInt8, weight_type=T.QUInt8),
    "qoperator_channels": _static(
        quant_format=QOP, activation_type=T.QUInt8, weight_type=T.QInt8, per_channel=True
    ),
    "dynamic": _dynamic(weight_type=T.QInt8),
    "dynamic_unsigned": _dynamic(weight_type=T.QUInt8, per_channel=True),
    "half": _half,
    "four_bits": _four_bits(QOP),
    "four_bits_qdq": _four_bits(QDQ),
}


@cache
def source(name: str, chance: str, opset: int) -> tuple[Path, list[Any]]:
    """The file that is quantised, and inputs for it."""
    folder = Path(mkdtemp())
    file, inputs = export(name, Random(chance), folder / "source", opset_version=opset)
    ready = folder / "ready.onnx"
    quant_pre_process(file, ready, skip_symbolic_shape=True)
    return ready, as_arrays(inputs)


def _write(name: str, way: str) -> Write:
    def write(draw: Random, path: Path) -> dict[str, Any]:
        logging.disable(logging.ERROR)
        opset = 21 if way in ("qdq16", "qdq4", "four_bits_qdq") else 18
        ready, arrays = source(name, f"{draw.random()}", opset)
        names = [v.name for v in onnx.load(ready).graph.input]
        after = path.with_suffix(".onnx")
        WAYS[way](ready, after, dict(zip(names, arrays, strict=True)))
        return oracle(after, arrays)

    return write


if __name__ == "__main__":
    write_all({f"{name}-{way}": _write(name, way) for name in SOURCES for way in WAYS})
