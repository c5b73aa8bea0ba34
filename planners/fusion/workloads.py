"""The networks of the paper's evaluation, as it counts their operators (Optimus, Table 5)."""

from __future__ import annotations

from planners.catalogue.loading import load
from planners.errors import BadInput
from planners.graph.model import Graph

# What the paper leaves out at the end of a network; the others it takes whole.
CLASSIFIERS = {"alexnet": "adaptive_avg_pool2d", "vgg16": "adaptive_avg_pool2d"}
NAMES = (
    *("alexnet", "vgg16", "googlenet", "squeezenet1_0", "mobilenet_v2"),
    *("resnet18", "resnet50", "resnet152", "timm:nasnetalarge"),
)


def workload(name: str, images: int = 1, bytes_per_element: int = 2) -> Graph:
    """A network at the paper's precision of 16 bits, without the classifier where it has none.

    The paper runs batches of 4 `images`. Raises as `load`.
    """
    graph = load(name, bytes_per_element=bytes_per_element)
    if images != 1:
        shapes = [graph.tensors[t].shape for t in graph.inputs]
        shape = [(images, *shape[1:]) for shape in shapes]
        graph = load(name, input_shape=shape, bytes_per_element=bytes_per_element)
    first = CLASSIFIERS.get(name)
    return graph if first is None else cut(graph, first)


def cut(graph: Graph, operator: str) -> Graph:
    """The part of a network that comes before an operator. Raises `BadInput` where nothing does.

    What is left over for the rest is an output.
    """
    if graph.index.get(operator, 0) == 0:
        raise BadInput(f"{graph.name} has nothing before an operator {operator!r}")
    kept = graph.operators[: graph.index[operator]]
    made = [t for op in kept for t in op.outputs]
    used = {t for op in kept for t in (*op.inputs, *op.parameters)} | set(made)
    outside = {t for op in graph.operators[len(kept) :] for t in op.inputs} | set(graph.outputs)
    return Graph(
        name=graph.name,
        tensors={t: x for t, x in graph.tensors.items() if t in used},
        operators=kept,
        inputs=tuple(t for t in graph.inputs if t in used),
        outputs=tuple(t for t in made if t in outside),
        bytes_per_element=graph.bytes_per_element,
        granularity=graph.granularity,
    )
