"""A call of a kernel: an operator's options, its operands, and how values are quantised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from planners.importers.tflite.kernels.fixed_point import Integers, multiplier, scaled

WHOLE = frozenset({"int8", "int16"})


class Unsupported(Exception):
    """No kernel for this: the text says what of it."""


class OutsideData(Exception):
    """An operand names a place that is not there: the text says which."""


class QuantisedAs(NamedTuple):
    """How a tensor's elements are read: a real value is `scales` times (q − `zero`)."""

    dtype: str
    shape: tuple[int, ...]
    scales: tuple[float, ...]
    zero: int

    @property
    def scale(self) -> float:
        return self.scales[0] if self.scales else 0.0

    @property
    def whole(self) -> bool:
        """Whether it is quantised."""
        return self.dtype in WHOLE and bool(self.scales)

    @property
    def limits(self) -> tuple[int, int]:
        info = np.iinfo(self.dtype)
        return int(info.min), int(info.max)

    def clamped(self, values: Integers) -> NDArray[Any]:
        """Sums as elements, zero point added."""
        return np.clip(values + self.zero, *self.limits).astype(self.dtype)


@dataclass(frozen=True)
class KernelCall:
    """Operands by place as the file lays them, None where one is left out, and what is made.

    `get` gives an option as the schema names it.
    """

    kind: str
    get: Callable[[str, Any], Any]
    inputs: tuple[NDArray[Any] | None, ...]
    given: tuple[QuantisedAs | None, ...]
    made: tuple[QuantisedAs, ...]

    def array(self, place: int) -> NDArray[Any]:
        """An operand. Raises `Unsupported` where it is left out."""
        value = self.inputs[place] if place < len(self.inputs) else None
        if value is None:
            raise Unsupported(f"operand {place} left out")
        return value

    def maybe(self, place: int) -> NDArray[Any] | None:
        return self.inputs[place] if place < len(self.inputs) else None

    def type_of(self, place: int) -> QuantisedAs:
        """How an operand is quantised."""
        operand = self.given[place] if place < len(self.given) else None
        if operand is None:
            raise Unsupported(f"operand {place} left out")
        return operand

    @property
    def out(self) -> QuantisedAs:
        return self.made[0]

    def centred(self, place: int) -> Integers:
        """An operand less its zero point."""
        return self.array(place).astype(np.int64) - self.type_of(place).zero

    def whole(self) -> bool:
        """Whether it computes in whole numbers. Raises `Unsupported` for types that are mixed."""
        kinds = {self.type_of(0).dtype, self.out.dtype}
        if kinds == {"float32"}:
            return False
        if len(kinds) == 1 and self.type_of(0).whole and self.out.whole:
            return True
        raise Unsupported(" to ".join(dict.fromkeys((self.type_of(0).dtype, self.out.dtype))))


def rescaled(call: KernelCall, values: Integers, real: float) -> NDArray[Any]:
    """Values times a real factor as elements of what is made."""
    return call.out.clamped(scaled(values, *multiplier(real)))
