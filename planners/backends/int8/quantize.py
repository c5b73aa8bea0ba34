"""From real numbers to integers: ranges become scales, batch norms go into the weights.

Asymmetric scales for tensors, symmetric ones for each output channel of a weight, biases in units
of the sum: the integer arithmetic of B. Jacob et al., "Quantization and Training of Neural
Networks for Efficient Integer-Arithmetic-Only Inference", CVPR 2018.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from planners.backends.int8.activations import clamp_of, function_of, useful
from planners.backends.int8.geometry import image, span
from planners.backends.int8.net import HIGHEST, LOWEST, QNet, QOp, QTensor, fixed_point
from planners.backends.int8.sketch import Sketch, sketch, unknown
from planners.core.calibration import Calibration, CallFacts
from planners.core.errors import BadInput
from planners.core.graph import Graph, Operator

if TYPE_CHECKING:
    import torch

Floats = NDArray[np.float64]
_LARGEST_SUM = 2**31 - 1
_LARGEST_BIAS = 2**30


def quantize(
    graph: Graph, module: torch.nn.Module, inputs: Iterable[Sequence[torch.Tensor]]
) -> QNet:
    """Quantise a module after training, for a graph of granularity `fused` or `folded` of it.

    `inputs` are the arguments of one call of the module each; the ranges of its values on them
    become the scales. Raises `BadInput` where no int8 kernel exists for an operator.
    """
    from planners.importers.torch.source_model import calibrate

    for op in graph.operators:
        sketch(graph, op)
    return quantized(graph, calibrate(graph, module, inputs))


def quantized(graph: Graph, facts: Calibration) -> QNet:
    """The network in integers. Raises `BadInput` where no int8 kernel exists for an operator."""
    if graph.bytes_per_element != 1:
        raise BadInput(
            f"int8 needs a graph of one byte an element, this one has {graph.bytes_per_element}"
        )
    tensors = {name: read_as(*facts.ranges[name]) for name in graph.inputs}
    ops = {}
    for op in graph.operators:
        spec = sketch(graph, op)
        output = op.outputs[0]
        if spec.kind == "max_pool" and not spec.activations:
            tensors[output] = tensors[spec.inputs[0]]
        else:
            tensors[output] = read_as(*facts.ranges[output])
        ops[op.name] = _Quantizer(graph, op, spec, facts, tensors).op()
    return QNet(graph, tensors, ops)


def read_as(low: float, high: float) -> QTensor:
    """Scale and zero of a tensor with values in this range; zero itself is always exact.

    >>> read_as(0.0, 25.5)
    QTensor(scale=0.1, zero=-128)
    """
    low, high = min(low, 0.0), max(high, 0.0)
    scale = (high - low) / (HIGHEST - LOWEST) or 1.0
    return QTensor(scale, int(np.clip(round(LOWEST - low / scale), LOWEST, HIGHEST)))


class _Quantizer:
    """One operator: its sketch and numbers made into a `QOp`."""

    def __init__(
        self,
        graph: Graph,
        op: Operator,
        spec: Sketch,
        facts: Calibration,
        tensors: Mapping[str, QTensor],
    ) -> None:
        self.graph, self.source, self.found, self.facts = graph, op, spec, facts
        self.inputs = [tensors[name] for name in spec.inputs]
        self.output = tensors[op.outputs[0]]
        self.sum, self.clamp, self.table = self._activated()

    def op(self) -> QOp:
        spec = self.found
        weight, bias, factors, groups = None, None, self._factors(), 1
        channels = spec.channels if any(c is not None for c in spec.channels) else ()
        if spec.kind in ("conv", "linear"):
            weight, bias, factors = self._weighted()
            groups = self.source.groups if spec.kind == "conv" else 1
            channels = channels if groups > 1 else ()
        multiplier, shift = fixed_point(factors)
        return QOp(
            name=self.source.name,
            kind=spec.kind,
            inputs=spec.inputs,
            output=self.source.outputs[0],
            weight=weight,
            bias=bias,
            multiplier=multiplier,
            shift=shift,
            zero_in=tuple(read.zero for read in self.inputs),
            zero_out=self.sum.zero,
            low=self.clamp[0],
            high=self.clamp[1],
            table=self.table,
            kernel=spec.kernel,
            stride=spec.stride,
            padding=spec.padding,
            dilation=spec.dilation,
            groups=groups,
            count_include_pad=self._counts_padding(),
            channels=channels,
        )

    def _settings(self, name: str) -> Mapping[str, Any]:
        return self.facts.calls.get(name, CallFacts()).settings

    def _activated(self) -> tuple[QTensor, tuple[int, int], NDArray[np.int8] | None]:
        """How the sum is read before the activations, its clamp, and their table.

        Activations that clamp cost nothing: the sum is read as the output, and clamped as one.
        """
        steps = [(part.kind, self._settings(part.name)) for part in self.found.activations]
        bounds = [clamp_of(*step) for step in steps]
        low = max([-inf, *(b[0] for b in bounds if b)])
        high = min([inf, *(b[1] for b in bounds if b)])
        if self.found.kind not in ("table", "max_pool") and None not in bounds:
            return self.output, _codes(self.output, low, high), None
        if not steps:
            return self.output, (LOWEST, HIGHEST), None
        before = self._before(steps[0][0])
        values = before.scale * (np.arange(LOWEST, HIGHEST + 1, dtype=np.float64) - before.zero)
        for kind, settings in steps:
            function = function_of(kind, settings)
            assert function is not None  # `sketch` has seen to it
            values = function(values)
        codes = np.rint(values / self.output.scale) + self.output.zero
        return before, (LOWEST, HIGHEST), np.clip(codes, LOWEST, HIGHEST).astype(np.int8)

    def _before(self, kind: str) -> QTensor:
        """How the operand of the first activation is read."""
        if self.found.kind in ("table", "max_pool"):
            return self.inputs[0]
        parts = (self.found.norm, self.found.main)
        low, high = next(self.facts.ranges[part.name] for part in parts if part is not None)
        # Slopes are about 1 at most: steps below half of the output's are better spent on range.
        margin = max(0.0, (HIGHEST - LOWEST) * self.output.scale / 2 - (high - low)) / 2
        least, most = useful(kind)
        return read_as(*(min(max(end, least), most) for end in (low - margin, high + margin)))

    def _factors(self) -> Floats:
        """What products and sums are multiplied by to be read as the output."""
        kind, scales = self.found.kind, [read.scale for read in self.inputs]
        if kind == "add" and self._settings(self.found.main.name).get("alpha", 1) != 1:
            raise unknown(self.source, "weighs its second operand")
        if kind in ("add", "cat"):
            return np.array(scales) / self.sum.scale
        if kind == "mul":
            return np.array([scales[0] * scales[1] / self.sum.scale])
        if kind == "avg_pool":
            return self._average() * scales[0] / self.sum.scale
        return np.zeros(0)

    def _average(self) -> Floats:
        """One over the count, for each count of pixels that occurs; 0 elsewhere."""
        settings = self._settings(self.found.main.name)
        axes = [axis % 4 for axis in settings.get("dim") or (2, 3)]
        if settings.get("divisor_override") is not None or sorted(axes) != [2, 3]:
            raise unknown(self.source, "averages otherwise than over the pixels of a window")
        source, target = (
            image(self.graph.tensors[name].shape)
            for name in (self.found.inputs[0], self.source.outputs[0])
        )
        counts: list[set[int]] = []
        spec = self.found
        for size, out, *window in zip(
            source[:2], target[:2], spec.kernel, spec.stride, spec.padding, spec.dilation
        ):
            spans = [span(at, size, *window) for at in range(out)]
            padded = self._counts_padding()
            counts.append({s.padded if padded else len(s.taps) for s in spans})
        factors = np.zeros(spec.kernel[0] * spec.kernel[1] + 1)
        for count in {a * b for a in counts[0] for b in counts[1]} - {0}:
            factors[count] = 1 / count
        return factors

    def _counts_padding(self) -> bool:
        if self.found.main.kind != "avg_pool2d":
            return False
        return bool(self._settings(self.found.main.name).get("count_include_pad", True))

    def _weighted(self) -> tuple[NDArray[np.int8], NDArray[np.int32], Floats]:
        """Weight, bias and factors of a convolution or a linear operator, batch norm folded in."""
        real, offset = self._folded()
        real = self._in_order(real)
        flat = np.abs(real.reshape(len(real), -1)).max(axis=1)
        # No bias may need more than half of what an int32 sum can hold.
        unit = self.inputs[0].scale
        scale = np.maximum(flat / HIGHEST, np.abs(offset) / (unit * _LARGEST_BIAS))
        scale[scale == 0] = 1.0
        each = (slice(None),) + (None,) * (real.ndim - 1)
        weight = np.clip(np.rint(real / scale[each]), -HIGHEST, HIGHEST).astype(np.int8)
        bias = np.rint(offset / (scale * unit)).astype(np.int64)
        sums = np.abs(weight.astype(np.int64)).reshape(len(real), -1).sum(axis=1)
        if int((np.abs(bias) + 255 * sums).max()) > _LARGEST_SUM:
            raise unknown(self.source, "adds more products than an int32 holds")
        return weight, bias.astype(np.int32), scale * unit / self.sum.scale

    def _folded(self) -> tuple[Floats, Floats]:
        """Real weight and bias, in PyTorch's order, after batch norm."""
        spec, calls = self.found, self.facts.calls
        given = calls.get(spec.main.name, CallFacts()).parameters
        if "weight" not in given:
            raise unknown(self.source, "has a weight that is computed")
        weight = given["weight"]
        offset = given.get("bias", np.zeros(len(weight)))
        if spec.norm is None or spec.norm.name not in calls:
            return weight, offset
        norm = calls[spec.norm.name]
        one, zero = np.ones(len(weight)), np.zeros(len(weight))
        deviation = np.sqrt(norm.parameters["running_var"] + norm.settings.get("eps", 1e-5))
        factor = norm.parameters.get("weight", one) / deviation
        shifted = (offset - norm.parameters["running_mean"]) * factor
        each = (slice(None),) + (None,) * (weight.ndim - 1)
        return weight * factor[each], shifted + norm.parameters.get("bias", zero)

    def _in_order(self, real: Floats) -> Floats:
        """The weight as `QOp` has it; channels that are not read get zeros."""
        spec, source = self.found, self.graph.tensors[self.found.inputs[0]]
        if spec.kind == "linear":
            if spec.columns is None:
                return real
            wide = np.zeros((len(real), source.elements))
            wide[:, spec.columns] = real
            return wide
        real = real.transpose(0, 2, 3, 1)
        chosen = spec.channels[0]
        if chosen is None or self.source.groups > 1:
            return real
        wide = np.zeros((*real.shape[:3], image(source.shape).channels))
        wide[..., chosen] = real
        return wide


def _codes(tensor: QTensor, low: float, high: float) -> tuple[int, int]:
    """The int8 clamp that stands for real bounds."""
    bounds = np.clip([low / tensor.scale, high / tensor.scale], -1000, 1000) + tensor.zero
    least, most = (int(code) for code in np.clip(np.rint(bounds), LOWEST, HIGHEST))
    return least, most
