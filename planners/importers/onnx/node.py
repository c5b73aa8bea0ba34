"""One ONNX node with what is known of its operands, and how it is expressed as an ATen call."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import onnx

from planners.importers.onnx.fold import Array
from planners.importers.onnx.rules import Known
from planners.importers.onnx.values import Values
from planners.importers.torch.aten_calls import Shape


@dataclass(frozen=True)
class OnnxNode:
    """A node with its attributes and what its operands hold."""

    proto: Any
    values: Values
    opset: int

    @cached_property
    def attributes(self) -> dict[str, Any]:
        """Its attributes as plain data; text is decoded."""
        values = {a.name: onnx.helper.get_attribute_value(a) for a in self.proto.attribute}
        return {
            k: v.decode(errors="replace") if isinstance(v, bytes) else v for k, v in values.items()
        }

    @property
    def inputs(self) -> list[str]:
        """The operands that are given, in order."""
        return [name for name in self.proto.input if name]

    @property
    def every_output(self) -> list[str]:
        """The values it gives, in order."""
        return [str(name) for name in self.proto.output]

    @property
    def outputs(self) -> list[str]:
        """The values it gives that anything reads, in order."""
        return [name for name in self.proto.output if name in self.values.used]

    @property
    def known(self) -> list[Known | None]:
        """Shape and type of each operand by its place; None where it is left out."""
        values = (self.values.of[name] if name else None for name in self.proto.input)
        return [(value.shape, value.code) if value else None for value in values]

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute."""
        return self.attributes.get(name, default)

    def input(self, place: int) -> str:
        """The operand at a place, empty where it is left out."""
        return str(self.proto.input[place]) if place < len(self.proto.input) else ""

    def shape(self, place: int = 0) -> Shape:
        """The shape of an operand."""
        return self.values.of[self.input(place)].shape

    @property
    def out(self) -> Shape:
        """The shape of the first value it gives."""
        return self.values.of[self.outputs[0]].shape

    def array(self, place: int) -> Array | None:
        """The numbers in an operand, where they are known."""
        return self.values.arrays.get(self.input(place)) if self.input(place) else None

    def list_of(self, name: str, place: int) -> list[int] | None:
        """Whole numbers that older operator sets give as an attribute, newer ones as an operand."""
        if name in self.attributes:
            return [int(n) for n in self.attributes[name]]
        array = self.array(place)
        return None if array is None else [int(n) for n in array.reshape(-1)]

    def is_number(self, name: str) -> bool:
        """Whether an operand is one known number: no tensor that has to be kept anywhere."""
        return name in self.values.arrays and self.values.of[name].elements == 1

    def number(self, name: str) -> float:
        """That number."""
        return float(self.values.arrays[name].reshape(-1)[0])

    def known_number(self, place: int) -> float | None:
        """The one number in an operand, 0 where that is left out; None where it is not known."""
        name = self.input(place)
        if not name:
            return 0.0
        return self.number(name) if self.is_number(name) else None
