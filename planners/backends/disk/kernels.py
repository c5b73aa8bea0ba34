"""Operators run in turn on activations in memory and parameters in a ring, call by call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from planners.backends.disk.devices import Device
from planners.backends.disk.layout import ELEMENT_BYTES, DiskLayout
from planners.core.boxes import within
from planners.core.errors import BadInput
from planners.core.graph import Graph, Operator
from planners.core.program import Box, whole
from planners.executor.parts import compute_part
from planners.importers.torch.source_model import SourceModel
from planners.streaming.place.activations import last_uses


class DiskKernels:
    """The network's values during a run: activations are dropped after their last use.

    `peak_elements` is the most that were there at once, as the graph counts them.
    """

    def __init__(
        self,
        graph: Graph,
        layout: DiskLayout,
        model: SourceModel,
        device: Device,
        inputs: Mapping[str, torch.Tensor],
    ) -> None:
        self.graph, self.layout, self.model, self.device = graph, layout, model, device
        self.values = {name: device.to_device(inputs[name]) for name in graph.inputs}
        self.ring = device.bytes.untyped_storage().data_ptr()
        self.peak_bytes = 0
        self.last_layer = {layer.operator: i for i, layer in enumerate(layout.layers)}
        self.dying: dict[int, list[str]] = {}
        for name, last in last_uses(graph).items():
            if name not in graph.outputs:
                self.dying.setdefault(last, []).append(name)

    def run(self, layer: int, parameters: Sequence[torch.Tensor]) -> None:
        """Run a layer's kernel; nothing of the ring is looked at once it has ended."""
        item = self.layout.layers[layer]
        op = self.graph.operators[item.operator]
        if item.part is None:
            self._whole(op, dict(zip(op.parameters, parameters, strict=True)))
        else:
            boxes = {slices.tensor: slices.box for slices in item.held}
            values = {slices.tensor: v for slices, v in zip(item.held, parameters, strict=True)}
            self._slice(op, item.part, boxes, values)
        here = sum(self.graph.tensors[name].elements for name in self.values)
        self.peak_bytes = max(self.peak_bytes, here * ELEMENT_BYTES)
        if self.last_layer[item.operator] == layer:
            for name in self.dying.get(item.operator, ()):
                self.values.pop(name, None)

    def _whole(self, op: Operator, parameters: dict[str, torch.Tensor]) -> None:
        values = {name: self.values[name] for name in op.inputs}
        values |= {name: self._typed(name, value) for name, value in parameters.items()}
        results = self.model.evaluate([part.name for part in op.parts], values)
        for name in op.outputs:
            self._keep(op, name, results[name], self.graph.tensors[name].shape)

    def _slice(
        self, op: Operator, part: Box, boxes: Mapping[str, Box], values: Mapping[str, torch.Tensor]
    ) -> None:
        """The box of the output that a slice makes, into the whole of it."""

        def fetch(name: str, box: Box) -> torch.Tensor:
            if name in values:
                return self._typed(name, values[name])[within(box, boxes[name])]
            return self.values[name][within(box, whole(self.graph.tensors[name]).box)]

        name = op.outputs[0]
        tensor = self.graph.tensors[name]
        value = compute_part(self.model, self.graph, op, part, fetch)
        if value is None or tuple(value.shape) != tuple(stop - start for start, stop in part):
            raise BadInput(f"operator {op.name!r:.80} does not run in slices: plan with slices 1")
        if name not in self.values:
            self.values[name] = value.new_empty(tensor.shape)
        self.values[name][within(part, whole(tensor).box)] = value

    def _typed(self, name: str, value: torch.Tensor) -> torch.Tensor:
        """A parameter in its own type: whole numbers are held in four bytes."""
        dtype = getattr(torch, self.graph.tensors[name].dtype)
        return value if value.dtype == dtype else value.to(dtype)

    def _keep(self, op: Operator, name: str, value: torch.Tensor, shape: Sequence[int]) -> None:
        if tuple(value.shape) != tuple(shape):
            raise BadInput(f"{op.name!r:.80} made {name!r:.80} of shape {tuple(value.shape)}")
        if value.untyped_storage().data_ptr() == self.ring:
            value = value.clone()  # It looks at parameters, whose bytes are given away.
        self.values[name] = value

    def outputs(self) -> Any:
        """What the model returns."""
        return self.model.outputs({name: self.values[name] for name in self.graph.outputs})
