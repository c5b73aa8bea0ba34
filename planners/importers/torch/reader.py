"""PyTorch modules as graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from planners.core.element_types import Width, usual_width
from planners.core.graph import Graph
from planners.importers.padding import graph_of
from planners.importers.torch.ops import opaque_named

if TYPE_CHECKING:
    import torch


def from_torch(
    module: torch.nn.Module | torch.export.ExportedProgram,
    example_inputs: Any = None,
    *,
    name: str | None = None,
    granularity: str = "fused",
    bytes_per_element: Width | None = None,
    source: Mapping[str, Any] | None = None,
    fold_padding: bool = True,
) -> Graph:
    """The graph of a module in eval mode, its default schedule the order in which it runs.

    `bytes_per_element` is that of `usual_width` where nobody chooses.
    `example_inputs` fix the shapes: a tensor, a tuple of them, or a dict of keywords; an exported
    program has those of its example, and takes others where it left them open. The module may be on
    the meta device. Its parameters and the buffers that it reads keep their state-dict names. Calls
    that no input reaches are no operators at any granularity: they are parts of what reads them.
    With `fold_padding` a pad in front of convolutions and pools alone is their padding
    (`planners.importers.padding`). What nothing is known of, a custom operator, needs all of its
    operands and counts no MACs: the source lists it under `opaque`.

    Raises `ImportFailed` where `torch.export` cannot trace it, `BadInput` for another granularity.
    """
    from planners.importers.torch.trace import trace_module

    traced = trace_module(module, example_inputs, name)
    graph = opaque_named(
        graph_of(traced.trace, granularity, source=source, fold_padding=fold_padding)
    )
    if bytes_per_element is None:
        bytes_per_element = usual_width(t.dtype for t in graph.tensors.values())
    return graph.with_bytes_per_element(bytes_per_element)
