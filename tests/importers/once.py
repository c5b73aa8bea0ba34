"""Modules that are exported once, for all granularities and for running them call by call."""

from __future__ import annotations

from typing import Any

import torch

from planners.core.graph import Graph
from planners.importers.passes import to_graph
from planners.importers.torch.source_model import SourceModel


class ExportedOnce:
    """A module in eval mode: its graphs and its source model are of one export."""

    def __init__(self, module: torch.nn.Module, inputs: tuple[Any, ...]) -> None:
        self.module = module.eval()
        self.model = SourceModel(module, inputs)
        self._trace = self.model._traced.trace

    def graph(self, granularity: str) -> Graph:
        """As `from_torch` makes it of the module."""
        return to_graph(self._trace, granularity)
