"""The least buffer that a group and every larger group needs, whatever their tiles.

The least footprint of a group need not grow with it: an output that leaves the group at a pace of
its own stays longer in its line buffer than one that the group reads. What does grow: each map
that is read in a group has a line buffer of full rows, of at least the rows that one row of each
reader needs (Optimus, eq. 4 at T_h = 1); what is made has a row, or a few channels of it where it
can go off chip as it is made; and the parameters of a few output channels have a place.
"""

from __future__ import annotations

from planners.fusion.rows import RowTables, rows_of
from planners.graph.model import Graph
from planners.masks import bits


class Floors:
    """Lower bounds on the buffer of groups of two operators or more, monotone in the group.

    `least_channels`: the least output channels computed at once, the paper's T_c.
    """

    def __init__(self, graph: Graph, least_channels: int = 1) -> None:
        self._graph = graph
        tables = RowTables(graph)
        rows = [tables[i] for i in range(len(graph.operators))]
        number = {name: k for k, name in enumerate(graph.tensors)}
        self._held: list[list[tuple[int, int]]] = []  # by operator: tensors, bytes of rows
        self._parameters: list[int] = []
        for member in rows:
            # What is made is held by the row, or goes off chip by the channel as it is made.
            channels = member.channels if member.sliced else 1
            few = min(channels, least_channels)
            rows_out = {name: self._row_bytes(name) // channels for name in member.op.outputs}
            held = [(number[name], few * size) for name, size in rows_out.items()]
            self._parameters.append(member.channel_bytes * few)
            for window in member.windows:
                # Rows are held from the first that this row or a later one needs.
                need = int((window.upto[1:] - window.start[:-1]).max(initial=0))
                held.append((number[window.tensor], need * self._row_bytes(window.tensor)))
            self._held.append(held)

    def __call__(self, mask: int) -> int:
        """Bytes that no buffer of this group or of a larger one is below."""
        held: dict[int, int] = {}
        parameters = 0
        for i in bits(mask):
            parameters = max(parameters, self._parameters[i])
            for tensor, size in self._held[i]:
                if size > held.get(tensor, 0):
                    held[tensor] = size
        return sum(held.values()) + parameters

    def _row_bytes(self, name: str) -> int:
        """Bytes of a row of one image: images may be taken one by one."""
        tensor = self._graph.tensors[name]
        images = tensor.shape[0] if len(tensor.shape) > 1 else 1
        return self._graph.size_bytes(name) // rows_of(tensor) // images
