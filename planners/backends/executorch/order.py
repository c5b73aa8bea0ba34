"""The order of least peak, set in ExecuTorch's exporter before its memory is planned.

Its lifetimes follow from the order of the nodes, and `ExecutorchBackendConfig(passes=...)` takes
passes that run before it counts them. A node that changes what it is given (the copies that keep a
buffer), or of which nothing is known (control flow, delegates), stays behind all that was before it
and before all that was behind it.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from planners.core.graph import Graph, Operator, Tensor
from planners.core.integers import rounded_up
from planners.core.progress import Clock
from planners.core.services import LEAST_PEAK, ORDER_FOOTPRINTS

ALIGNMENT = 16
"""ExecuTorch's own."""
CONSTANT = ("p_", "b_", "c_")
"""How `torch.export` begins the names of parameters, buffers and constants: not in the arena."""


def least_peak_order(graph_module: Any, *, time_limit_s: float = 20.0) -> Any:
    """A pass: the nodes in the order of least peak that is found, or left alone where it is theirs.

    Returns a `PassResult`; the graph that is given is not changed.
    """
    from torch.fx.passes.infra.pass_base import PassResult

    nodes = _Nodes.from_graph(graph_module.graph)
    try:
        graph = nodes.as_graph()
    except _NotKnown:
        return PassResult(graph_module, False)
    own_peak = max(ORDER_FOOTPRINTS.function()(graph, range(len(graph.operators))), default=0)
    if own_peak <= _largest_need(graph):  # No order has less.
        return PassResult(graph_module, False)
    peak = LEAST_PEAK.function()(graph, clock=Clock(time_limit_s), before=nodes.before())
    if peak.peak_bytes >= own_peak:
        return PassResult(graph_module, False)
    return PassResult(_in_order(graph_module, nodes.ordered(peak.schedule)), True)


def _largest_need(graph: Graph) -> int:
    needs = (sum(map(graph.size_bytes, (*op.inputs, *op.outputs))) for op in graph.operators)
    return max(needs, default=0)


class _NotKnown(Exception):
    """A size that is known only as it runs."""


@dataclass
class _Nodes:
    """What runs, each with the nodes that only name a part of what it makes; what comes first."""

    first: list[Any] = field(default_factory=list)
    run: dict[Any, list[Any]] = field(default_factory=dict)
    made: dict[Any, tuple[str, ...]] = field(default_factory=dict)
    size: dict[str, int] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    fixed: list[Any] = field(default_factory=list)

    @classmethod
    def from_graph(cls, graph: Any) -> _Nodes:
        nodes = cls()
        for node in graph.nodes:
            nodes._take(node)
        return nodes

    def _take(self, node: Any) -> None:
        if node.op == "output":
            self.outputs = list(self._read(node.all_input_nodes))
        elif node.op != "call_function":
            self.first.append(node)
            if node.op == "placeholder" and not node.name.startswith(CONSTANT):
                self.made[node] = tuple(self._sized(node))
                self.inputs += self.made[node]
        elif node.target is operator.getitem or "view_copy" in str(node.target):
            base = node.args[0]
            names = self.made.get(base, ())
            if node.target is operator.getitem and node.args[1] < len(names):
                names = (names[node.args[1]],)
            self.made[node] = names
            self._leader(base).append(node)
        else:
            self.run[node] = []
            if _stays(node):
                self.fixed.append(node)
            self.made[node] = tuple(self._sized(node))

    def _leader(self, node: Any) -> list[Any]:
        """Where a node goes that only names a part of another's: behind that one."""
        for leader, behind in self.run.items():
            if node is leader or node in behind:
                return behind
        return self.first

    def _sized(self, node: Any) -> Iterator[str]:
        values = node.meta.get("val")
        if _stays(node):  # What it gives is what it was given.
            values = ()
        for k, value in enumerate(values if isinstance(values, (list, tuple)) else [values]):
            size = value.numel() * value.element_size() if hasattr(value, "numel") else 1
            name = f"{node.name}:{k}"
            self.size[name] = size if isinstance(size, int) else -1
            yield name

    def _read(self, nodes: Iterable[Any]) -> Iterable[str]:
        return dict.fromkeys(name for node in nodes for name in self.made.get(node, ()))

    def as_graph(self) -> Graph:
        """The network in whole tensors, in their order."""
        if any(size < 0 for size in self.size.values()):
            raise _NotKnown
        tensors = {
            name: Tensor(name, (max(1, rounded_up(size, ALIGNMENT)),), dtype="int8")
            for name, size in self.size.items()
        }
        for name in self.inputs:
            tensors[name] = Tensor(name, tensors[name].shape, "input", "int8")
        operators = []
        for node in self.run:
            names = self.made[node]
            if not names:
                names = (f"{node.name}:done",)
                tensors[names[0]] = Tensor(names[0], (1,), dtype="int8")
            read = tuple(self._read(node.all_input_nodes))
            operators.append(Operator(node.name, str(node.target), read, names))
        given = set(self.inputs)
        outputs = tuple(name for name in self.outputs if name not in given)
        return Graph("executorch", tensors, tuple(operators), tuple(self.inputs), outputs)

    def before(self) -> list[tuple[str, str]]:
        """Pairs of nodes by name: what stays where it is, with all around it."""
        order = list(self.run)
        at = [-1, *(order.index(node) for node in self.fixed), len(order)]
        pairs = []
        for start, stop in pairwise(at):
            for node in order[start + 1 : stop]:
                pairs += [(order[start].name, node.name)] if start >= 0 else []
                pairs += [(node.name, order[stop].name)] if stop < len(order) else []
            if start >= 0 and stop < len(order):
                pairs.append((order[start].name, order[stop].name))
        return pairs

    def ordered(self, schedule: Iterable[int]) -> Iterator[Any]:
        yield from self.first
        run = list(self.run)
        for position in schedule:
            yield run[position]
            yield from self.run[run[position]]


def _stays(node: Any) -> bool:
    """Whether a node may do more than make its outputs."""
    schema = getattr(node.target, "_schema", None)
    return node.op == "call_function" and (schema is None or schema.is_mutable)


def _in_order(module: Any, order: Iterable[Any]) -> Any:
    """A copy of the module with its nodes in that order."""
    from torch import fx

    graph, copies = fx.Graph(), dict[Any, Any]()
    (output,) = module.graph.find_nodes(op="output")
    for node in (*order, output):
        copies[node] = graph.node_copy(node, copies.__getitem__)
    reordered = fx.GraphModule(module, graph)
    reordered.meta.update(module.meta)
    return reordered
