"""The networks of the paper's evaluation, as it counts their operators (Optimus, Table 5)."""

from __future__ import annotations

from dataclasses import replace

from planners.catalogue.loading import load
from planners.core.errors import BadInput
from planners.core.graph import Graph, Operator, Tensor

# What the paper leaves out at the end of a network; the others it takes whole.
CLASSIFIERS = {"alexnet": "adaptive_avg_pool2d", "vgg16": "adaptive_avg_pool2d"}
NAMES = (
    *("alexnet", "vgg16", "googlenet", "squeezenet1_0", "mobilenet_v2"),
    *("resnet18", "resnet50", "resnet152", "timm:nasnetalarge"),
)
RESNET1202 = "resnet1202"  # for CIFAR; in Table 5 only


def workload(name: str, images: int = 1, bytes_per_element: int = 2) -> Graph:
    """A network at the paper's precision of 16 bits, without the classifier where it has none.

    The paper runs batches of 4 `images`. Zeros around a map are no operator of their own: windows
    that read beyond it know of them. Raises as `load`.
    """
    if name == RESNET1202:
        return cifar_resnet(1202, images, bytes_per_element)
    graph = load(name, bytes_per_element=bytes_per_element)
    if images != 1:
        shapes = [graph.tensors[t].shape for t in graph.inputs]
        shape = [(images, *shape[1:]) for shape in shapes]
        graph = load(name, input_shape=shape, bytes_per_element=bytes_per_element)
    first = CLASSIFIERS.get(name)
    return without_pads(graph if first is None else cut(graph, first))


def cut(graph: Graph, operator: str) -> Graph:
    """The part of a network that comes before an operator. Raises `BadInput` where nothing does.

    What is left over for the rest is an output.
    """
    if graph.index.get(operator, 0) == 0:
        raise BadInput(f"{graph.name} has nothing before an operator {operator!r}")
    kept = graph.operators[: graph.index[operator]]
    written = [t for op in kept for t in op.outputs]
    used = {t for op in kept for t in (*op.inputs, *op.parameters)} | set(written)
    outside = {t for op in graph.operators[len(kept) :] for t in op.inputs} | set(graph.outputs)
    return Graph(
        name=graph.name,
        tensors={t: x for t, x in graph.tensors.items() if t in used},
        operators=kept,
        inputs=tuple(t for t in graph.inputs if t in used),
        outputs=tuple(t for t in written if t in outside),
        bytes_per_element=graph.bytes_per_element,
        granularity=graph.granularity,
    )


def without_pads(graph: Graph) -> Graph:
    """A graph whose windows read unpadded maps, for counting: it has the shapes and bytes of the
    network, but no code runs it where zeros are on one side only.
    """
    pads = {op.outputs[0]: op.inputs[0] for op in graph.operators if op.kind == "pad"}
    if not pads or any(t in graph.outputs for t in pads):
        return graph
    kept = tuple(_padded(graph, op, pads) for op in graph.operators if op.kind != "pad")
    tensors = {t: x for t, x in graph.tensors.items() if t not in pads}
    return replace(graph, tensors=tensors, operators=kept)


def _padded(graph: Graph, op: Operator, pads: dict[str, str]) -> Operator:
    source = pads.get(op.inputs[0])
    if source is None:
        return op
    rows = [graph.tensors[t].shape[2] for t in (source, op.inputs[0])]
    # Of an odd number of zeros the smaller half comes first; none more is a move by one row.
    first = (rows[1] - rows[0]) // 2 if rows[1] != rows[0] else -1
    padding = tuple(p + first for p in op.padding)
    return replace(op, inputs=(source, *op.inputs[1:]), padding=padding)


def cifar_resnet(depth: int, images: int = 1, bytes_per_element: int = 2) -> Graph:
    """A residual network of 6n + 2 layers on 32×32 images (He et al., 2016), by shapes only."""
    size = {"x": (images, 3, 32, 32)}
    weights: dict[str, tuple[int, ...]] = {}
    ops: list[Operator] = []

    def conv(name: str, source: str, channels: int, kernel: int, stride: int) -> str:
        _, depth_in, rows, _ = size[source]
        rows = -(-rows // stride)
        size[name] = (images, channels, rows, rows)
        weights[f"{name}.w"] = (channels, depth_in, kernel, kernel)
        macs = images * channels * depth_in * kernel**2 * rows**2
        k, s, p = ((n, n) for n in (kernel, stride, kernel // 2))
        ops.append(
            Operator(name, "conv2d", (source,), (name,), (f"{name}.w",), macs, k, s, p, (1, 1))
        )
        return name

    at = conv("stem", "x", 16, 3, 1)
    for stage, channels in enumerate((16, 32, 64)):
        for block in range((depth - 2) // 6):
            name, stride = f"s{stage}.{block}", 2 if stage and not block else 1
            side = conv(f"{name}.skip", at, channels, 1, 2) if stride == 2 else at
            at = conv(f"{name}.b", conv(f"{name}.a", at, channels, 3, stride), channels, 3, 1)
            size[name] = size[at]
            ops.append(Operator(name, "add", (at, side), (name,)))
            at = name
    tensors = {
        n: Tensor(n, shape, "activation" if n != "x" else "input") for n, shape in size.items()
    }
    tensors |= {n: Tensor(n, shape, "parameter") for n, shape in weights.items()}
    name = f"resnet{depth}"
    return Graph(name, tensors, tuple(ops), ("x",), (at,), bytes_per_element)
