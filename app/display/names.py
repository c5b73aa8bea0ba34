"""What operators and tensors are called where people read: the module's path and the operation."""

from __future__ import annotations

import planners as sp
from planners.core.element_types import BITS

ELLIPSIS = "…"


def path_of(graph: sp.Graph, operator: str) -> str:
    """An operator's module path and its kind; its own name where the source has no path."""
    named = graph.operators[graph.index[operator]]
    return f"{named.block} · {named.kind}" if named.block else operator


def tensor_path(graph: sp.Graph, tensor: str) -> str:
    """The path of the operator that writes a tensor; its own name where none does."""
    writer = graph.producer.get(tensor)
    return tensor if writer is None else path_of(graph, graph.operators[writer].name)


def shortened(text: str, most: int) -> str:
    """A text of at most `most` letters, shortened in the middle: both ends tell it from others."""
    if len(text) <= most:
        return text
    if most < 3:
        return ELLIPSIS[:most]
    tail = (most - 1) // 2
    return text[: most - 1 - tail] + ELLIPSIS + text[len(text) - tail :]


def shape_text(tensor: sp.Tensor) -> str:
    """A tensor's shape and element type."""
    return f"{'×'.join(map(str, tensor.shape)) or 'scalar'} {tensor.dtype}"


def tensor_text(graph: sp.Graph, name: str) -> str:
    """A tensor's kind, shape and element type; what an element counts where that is not its own."""
    tensor, bits = graph.tensors[name], graph.bits_of(name)
    counted = (
        "" if BITS.get(tensor.dtype) in (bits, None) else f", counted {bits // 8} B an element"
    )
    return f"{tensor.kind} {shape_text(tensor)}{counted}"
