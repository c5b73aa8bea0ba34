"""The network of a TensorFlow Lite file, operator by operator as its runtime sees it."""

from __future__ import annotations

from collections.abc import Sequence

from planners.audits.foreign import ForeignTensor
from planners.core.element_types import BITS
from planners.core.errors import BadInput
from planners.core.graph import Graph, Operator, Tensor
from planners.importers.tflite.file import TfliteFile, TfliteTensor


def arena_bytes(tensor: TfliteTensor) -> int:
    """What the runtime takes for a tensor that is no constant: a byte at least for an element."""
    return tensor.elements * max(1, BITS[tensor.dtype] // 8)


def graph_of(file: TfliteFile, held: Sequence[ForeignTensor]) -> Graph | None:
    """A graph of the file's operators, one each and in order, and of the tensors that the arena
    holds, by id, in their own bytes; None for what is no graph (operators that give nothing)."""
    graph = file.subgraphs[0]
    ids = {t.id for t in held}
    operators = []
    for op in graph.operators:
        inputs = dict.fromkeys(str(n) for n in op.inputs if str(n) in ids)
        outputs = tuple(str(n) for n in op.outputs if str(n) in ids)
        name = f"{op.number} {op.kind}"
        operators.append(Operator(name, op.kind, tuple(inputs), outputs))
    used = {name for op in operators for name in (*op.inputs, *op.outputs)}
    made = {name for op in operators for name in op.outputs}
    tensors = {}
    for name in sorted(used, key=int):
        tensor = graph.tensors[int(name)]
        tensors[name] = Tensor(
            name, (arena_bytes(tensor),), "activation" if name in made else "input", "int8"
        )
    outputs = tuple(dict.fromkeys(str(n) for n in graph.outputs if str(n) in made))
    try:
        return Graph(
            file.path.stem,
            tensors,
            tuple(operators),
            tuple(name for name in tensors if name not in made),
            outputs,
            source={"tflite": str(file.path)},
        )
    except BadInput:
        return None
