"""Random layers and chains of operators whose parameters stream."""

from __future__ import annotations

from random import Random

from planners.core.graph import Graph, Operator, Tensor
from planners.core.program import Program
from planners.simulator.given_times import seconds_of
from planners.streaming.model.layers import Layer, units_of
from planners.streaming.model.table import OperatorTimes
from planners.streaming.model.times import given_times
from planners.streaming.schedule.pipelines import Schedule


def random_layers(random: Random, most: int = 12, largest: int = 12) -> list[Layer]:
    """Layers with small whole sizes, some without parameters; times in quarters, so often equal."""

    def seconds() -> float:
        return random.randint(0, 8) / 4

    return [
        Layer(f"l{i}", random.choice([0, *range(1, largest)]), seconds(), seconds(), seconds())
        for i in range(random.randint(1, most))
    ]


def chain(layers: list[Layer], random: Random) -> tuple[Graph, OperatorTimes]:
    """A chain of operators with parameters of these sizes, in up to three tensors each, and a
    table of these times. Tensors have one byte an element."""
    tensors = {"x": Tensor("x", (random.randint(1, 5),), "input")}
    operators, before = [], "x"
    for layer in layers:
        left, names = layer.size_bytes, []
        while left:
            size = left if len(names) == 2 else random.randint(1, left)
            names.append(f"{layer.name}.w{len(names)}")
            tensors[names[-1]] = Tensor(names[-1], (size,), "parameter")
            left -= size
        made = f"{layer.name}.out"
        tensors[made] = Tensor(made, (random.randint(1, 5),))
        reads = tuple(
            dict.fromkeys([before, random.choice([*[o.outputs[0] for o in operators], "x"])])
        )
        operators.append(Operator(layer.name, "mix", reads, (made,), tuple(names)))
        before = made
    outputs = tuple(dict.fromkeys([before, operators[0].outputs[0]]))
    graph = Graph("chain", tensors, tuple(operators), ("x",), outputs)
    samples = {o.name: [(a.read_s, a.copy_s, a.kernel_s)] for o, a in zip(operators, layers)}
    return graph, OperatorTimes(graph, samples, "test")


def clock_of(
    graph: Graph, times: OperatorTimes, made: Schedule, program: Program
) -> list[float | None]:
    """Seconds of a program's instructions by a table, operators whole."""
    given = given_times(graph, times, units_of(graph), made.layers)
    assert given is not None
    return seconds_of(program, graph, given)
