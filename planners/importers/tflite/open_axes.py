"""Sizes that a TensorFlow Lite file leaves open: in its shapes they are one, which may be wrong.

A batch that is open is one in all that follows from it, and so the file is read; but dilated
convolutions cut their maps into more images (SPACE_TO_BATCH_ND), and other sizes are known only
when the file runs. What a quantiser puts in between has its shapes without saying what is open.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod

from planners.core.errors import BadInput
from planners.importers.tflite.file import (
    TfliteFile,
    TfliteOperator,
    TfliteSubgraph,
    TfliteTensor,
)

PADS = frozenset({"PAD", "PADV2", "MIRROR_PAD"})
INTO_BATCH, OUT_OF_BATCH = "SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND"
KEEP_BATCH = frozenset(
    "CONV_2D DEPTHWISE_CONV_2D TRANSPOSE_CONV AVERAGE_POOL_2D MAX_POOL_2D ADD SUB MUL DIV MAXIMUM "
    "MINIMUM RELU RELU6 LOGISTIC TANH HARD_SWISH LEAKY_RELU PRELU ELU GELU QUANTIZE DEQUANTIZE "
    "CAST PAD PADV2 MIRROR_PAD CONCATENATION SOFTMAX".split()
)
"""What gives as many images as it reads."""
NO_VALUES = frozenset(
    "IF WHILE STABLEHLO_WHILE STABLEHLO_CASE "
    "VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE CALL_ONCE".split()
)
MALFORMED = (LookupError, TypeError, ValueError, ArithmeticError)


def sized(file: TfliteFile, graph: TfliteSubgraph) -> TfliteSubgraph:
    """The subgraph with the sizes that its tensors have when it runs with a batch of one.

    An axis that an operator leaves open must be one of its operands', or of what those are
    computed from. Raises `BadInput` for a size that is known only when the file runs.
    """
    sizes = _Sizes(file, list(graph.tensors))
    sizes.open_before = {n: graph.tensors[n].open_axes for n in graph.inputs}
    for operator in graph.operators:
        try:
            sizes.add(operator)
        except MALFORMED as error:
            raise BadInput(f"{file.path}: {operator.label} is malformed") from error
    return replace(graph, tensors=tuple(sizes.tensors)) if sizes.images else graph


@dataclass(slots=True)
class _Sizes:
    """What is known of sizes after some operators.

    `open_before` counts the open axes that a tensor has or is computed from, `images` those of a
    tensor for each of the batch, where they are several.
    """

    file: TfliteFile
    tensors: list[TfliteTensor]
    open_before: dict[int, int] = field(default_factory=dict)
    images: dict[int, int] = field(default_factory=dict)

    def add(self, operator: TfliteOperator) -> None:
        given = [n for n in operator.inputs if n >= 0]
        own = sum(self.tensors[n].open_axes for n in given)
        other = sum(self.open_before.get(n, 0) for n in given if not self.tensors[n].open_axes)
        most = own + (0 if operator.kind in PADS else other)
        images = self._images(operator)
        for number in operator.outputs:
            tensor = self.tensors[number]
            self.open_before[number] = tensor.open_axes or own + other
            if operator.kind in NO_VALUES:
                continue
            if tensor.open_axes > most or self._differs(operator, tensor):
                raise self._unknown(operator)
            if images > 1:
                if tensor.shape[:1] != (1,):
                    raise self._unknown(operator)
                self.images[number] = images
                self.tensors[number] = replace(tensor, shape=(images, *tensor.shape[1:]))

    def _differs(self, operator: TfliteOperator, tensor: TfliteTensor) -> bool:
        """Whether an open value is said to have other elements than what it is a view of."""
        if operator.kind != "RESHAPE" or not tensor.open_axes:
            return False
        return tensor.elements != self.tensors[operator.inputs[0]].elements

    def _images(self, operator: TfliteOperator) -> int:
        """How many images an operator gives for each of the batch."""
        count = max((self.images.get(n, 1) for n in operator.inputs), default=1)
        if operator.kind not in (INTO_BATCH, OUT_OF_BATCH):
            if count > 1 and operator.kind not in KEEP_BATCH:
                raise self._unknown(operator)
            return count
        data, block = (self.tensors[n] for n in operator.inputs[:2])
        sizes = self.file.numbers(block) if block.constant else None
        if sizes is None:
            raise self._unknown(operator)
        cut = prod(int(n) for n in sizes.reshape(-1))
        if operator.kind == OUT_OF_BATCH:
            return max(1, count // cut)
        told = self.tensors[operator.outputs[0]].shape[0]  # as it is where no batch is open
        return 1 if told == data.shape[0] * cut else count * cut

    def _unknown(self, operator: TfliteOperator) -> BadInput:
        name = self.tensors[operator.outputs[0]].name
        return BadInput(
            f"{self.file.path}: {operator.label} computes the size of {name!r:.80} when it runs: "
            "convert the model with fixed shapes"
        )
