"""Random layers and bottlenecks as graphs, and layouts for them made by hand."""

from __future__ import annotations

import random

from planners.core.details.pool import Buffer, Form, KernelRun, PoolLayout
from planners.core.graph import Graph, Operator, Part, Tensor
from planners.overlap.model.distance import distance
from tests.overlap.byte_ring import footprint

Shape = tuple[int, ...]
Pair = tuple[int, int]
ACTIVATIONS = ("", "", "relu", "hardtanh", "hardswish", "sigmoid")


def operator(
    name: str,
    kind: str,
    inputs: tuple[str, ...],
    parameters: tuple[str, ...] = (),
    **window: object,
) -> Operator:
    """An operator `op_name` that writes tensor `name`, perhaps after an `activation`."""
    activation = str(window.pop("activation", ""))
    parts = (Part(f"op_{name}", kind), Part(name, activation)) if activation else ()
    return Operator(f"op_{name}", kind, inputs, (name,), parameters, 1, parts=parts, **window)


def graph(tensors: dict[str, Shape], operators: list[Operator], outputs: tuple[str, ...] = ()):
    """A graph of these operators; what none writes and does not begin with `w_` is an input."""
    written = {op.outputs[0] for op in operators}

    def kind(name: str) -> str:
        if name in written:
            return "activation"
        return "parameter" if name.startswith("w_") else "input"

    made = {name: Tensor(name, shape, kind(name)) for name, shape in tensors.items()}
    inputs = tuple(name for name in tensors if kind(name) == "input")
    return Graph("layers", made, tuple(operators), inputs, outputs or operators[-1].outputs)


def out_size(size: int, r: int, s: int, p: int, d: int = 1, grows: bool = False) -> int:
    """Places of a window along an axis; with `grows` as PyTorch's ceil_mode."""
    room = size + 2 * p - d * (r - 1) - 1
    cells = (-(-room // s) if grows else room // s) + 1
    return max(1, cells - (grows and (cells - 1) * s >= size + p))


def convolution(rng: random.Random, kind: str) -> Graph:
    """One of the kinds `pointwise`, `conv`, `grouped`, `depthwise`, `multiplied`."""
    groups = {"pointwise": 1, "conv": 1}.get(kind, rng.randint(2, 4))
    each = 1 if kind in ("depthwise", "multiplied") else rng.randint(1, 4)
    wide = {"depthwise": 1, "multiplied": 2}.get(kind, rng.randint(1, 4))
    size = (rng.randint(2, 7), rng.randint(2, 7))
    if kind == "pointwise":
        kernel, padding, dilation = (1, 1), (0, 0), (1, 1)
    else:
        kernel = (rng.randint(1, min(3, size[0])), rng.randint(1, min(3, size[1])))
        padding = (rng.randint(0, kernel[0] - 1), rng.randint(0, kernel[1] - 1))
        dilation = tuple(rng.choice((1, 1, 2)) if k * 2 < n else 1 for k, n in zip(kernel, size))
    stride = (rng.randint(1, 3), rng.randint(1, 3))
    windows = zip(size, kernel, stride, padding, dilation)
    out = tuple(out_size(*window) for window in windows)
    shapes = {
        "x": (1, groups * each, *size),
        "w_y": (groups * wide, each, *kernel),
        "y": (1, groups * wide, *out),
    }
    window = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}
    activation = rng.choice(ACTIVATIONS)
    op = operator("y", "conv2d", ("x",), ("w_y",), groups=groups, activation=activation, **window)
    return graph(shapes, [op])


def pool(rng: random.Random, kind: str) -> Graph:
    """`max_pool2d` or `avg_pool2d`, sometimes with a window that hangs over the edge."""
    channels, size = rng.randint(1, 5), (rng.randint(2, 7), rng.randint(2, 7))
    kernel = (rng.randint(1, min(3, size[0])), rng.randint(1, min(3, size[1])))
    stride = (rng.randint(1, 3), rng.randint(1, 3))
    padding = (rng.randint(0, kernel[0] // 2), rng.randint(0, kernel[1] // 2))
    grows = rng.random() < 0.4
    windows = zip(size, kernel, stride, padding)
    out = tuple(out_size(n, r, s, p, grows=grows) for n, r, s, p in windows)
    window = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": (1, 1)}
    op = operator("y", kind, ("x",), **window)
    return graph({"x": (1, channels, *size), "y": (1, channels, *out)}, [op])


def linear(rng: random.Random) -> Graph:
    """A fully connected layer: In[M, K] → Out[M, N]."""
    m, k, n = rng.randint(1, 6), rng.randint(1, 9), rng.randint(1, 9)
    op = operator("y", "linear", ("x",), ("w_y",), activation=rng.choice(ACTIVATIONS))
    return graph({"x": (m, k), "w_y": (n, k), "y": (m, n)}, [op])


def elementwise(rng: random.Random, kind: str) -> Graph:
    """`add`, `mul`, `scale` (a number a channel), `cat`, `global` (average) or an activation."""
    size, channels = (rng.randint(1, 5), rng.randint(1, 5)), rng.randint(1, 6)
    x, other = (1, channels, *size), (1, rng.randint(1, 6), *size)
    if kind == "cat":
        shapes = {"x": x, "z": other, "y": (1, x[1] + other[1], *size)}
        return graph(shapes, [operator("y", "cat", ("x", "z"))])
    if kind == "global":
        op = operator("y", "adaptive_avg_pool2d", ("x",))
        return graph({"x": x, "y": (1, channels, 1, 1)}, [op])
    if kind in ("add", "mul", "scale"):
        z = (1, channels, 1, 1) if kind == "scale" else x
        name = "add" if kind == "add" else "mul"
        op = operator("y", name, ("x", "z"), activation=rng.choice(ACTIVATIONS))
        return graph({"x": x, "z": z, "y": x}, [op])
    return graph({"x": x, "y": x}, [operator("y", kind, ("x",))])


LAYERS = (
    *("pointwise", "conv", "grouped", "depthwise", "multiplied"),
    *("max_pool2d", "avg_pool2d", "linear", "add", "mul", "scale", "cat", "global", "hardswish"),
)


def layer(rng: random.Random, kind: str) -> Graph:
    """A random layer of one of `LAYERS`."""
    if kind in LAYERS[:5]:
        return convolution(rng, kind)
    if kind.endswith("pool2d"):
        return pool(rng, kind)
    return linear(rng) if kind == "linear" else elementwise(rng, kind)


def overlapped(
    net: Graph, tensor: str, rng: random.Random, less: int = 0
) -> tuple[PoolLayout, int]:
    """The only operator's output over its input `tensor`, at its distance less so many bytes.

    Other inputs lie apart; all begins anywhere in a pool of just these bytes.
    """
    op = net.operators[0]
    size_in, size_out = net.size_bytes(tensor), net.size_bytes("y")
    found = distance(net, op, tensor)
    d = size_out if found is None else found - less
    pool = footprint(size_in, size_out, max(d, 0))
    begin = rng.randrange(200)
    offsets = {"y": begin, tensor: begin + d}
    for name in op.inputs:
        if name != tensor:
            offsets[name] = begin + pool
            pool += net.size_bytes(name)
    return PoolLayout(pool, offsets, (KernelRun("alone", (op.name,)),)), d


def bottleneck(rng: random.Random, *, expands: bool = True, residual: bool = False) -> Graph:
    """A → B (1×1) → C (depthwise) → D (1×1), and E = D + A; the last of them is the output."""
    size = (rng.randint(2, 7), rng.randint(2, 7))
    c_in = rng.randint(1, 4)
    mid = rng.randint(2, 7) if expands else c_in
    c_out = c_in if residual else rng.randint(1, 6)
    kernel = rng.choice(((3, 3), (5, 5), (3, 1), (2, 3)))
    if residual:
        kernel = rng.choice(((3, 3), (5, 5), (1, 3)))
    kernel = (min(kernel[0], size[0] | 1), min(kernel[1], size[1] | 1))
    stride = (1, 1) if residual else (rng.randint(1, 3), rng.randint(1, 3))
    padding = tuple(k // 2 for k in kernel)
    out = tuple(map(out_size, size, kernel, stride, padding))
    shapes = {"a": (1, c_in, *size)}
    ones = {"kernel": (1, 1), "stride": (1, 1), "padding": (0, 0), "dilation": (1, 1)}
    window = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": (1, 1)}
    ops = []
    if expands:
        shapes |= {"w_b": (mid, c_in, 1, 1), "b": (1, mid, *size)}
        ops.append(operator("b", "conv2d", ("a",), ("w_b",), activation="hardtanh", **ones))
    shapes |= {"w_c": (mid, 1, *kernel), "c": (1, mid, *out)}
    before = ("b",) if expands else ("a",)
    ops.append(operator("c", "conv2d", before, ("w_c",), groups=mid, activation="relu", **window))
    shapes |= {"w_d": (c_out, mid, 1, 1), "d": (1, c_out, *out)}
    ops.append(operator("d", "conv2d", ("c",), ("w_d",), **ones))
    if residual:
        shapes["e"] = shapes["a"]
        ops.append(operator("e", "add", rng.sample(("d", "a"), 2)))
    return graph(shapes, ops)


def ring_pixels(net: Graph, op: Operator, tensor: str) -> int:
    """Pixels of a ring that `op` reads, where all up to the last needed is computed in order."""
    if not op.kernel:
        return 1
    rows, columns = net.tensors[tensor].shape[2:]
    most, done = 0, 0
    for i in range(net.tensors[op.outputs[0]].shape[2]):
        for j in range(net.tensors[op.outputs[0]].shape[3]):
            inside = [
                y * columns + x for y in _places(op, 0, i, rows) for x in _places(op, 1, j, columns)
            ]
            done = max([done, *inside])
            most = max([most, *(done - q + 1 for q in inside)])
    return most


def _places(op: Operator, axis: int, at: int, size: int) -> list[int]:
    start = at * op.stride[axis] - op.padding[axis]
    places = [start + tap * op.dilation[axis] for tap in range(op.kernel[axis])]
    return [place for place in places if 0 <= place < size]


def block_distance(net: Graph) -> int:
    """What a convolution with the window of the depthwise one needs from A to the last output.

    Enough for all forms: each output pixel comes after all that it reads of A.
    """
    slides = next(op for op in net.operators if op.name == "op_c")
    shape, out = net.tensors["a"].shape, net.tensors[net.outputs[0]].shape
    window = {k: getattr(slides, k) for k in ("kernel", "stride", "padding", "dilation")}
    op = operator("y", "conv2d", ("x",), ("w_y",), **window)
    whole = graph({"x": shape, "w_y": (out[1], shape[1], *slides.kernel), "y": out}, [op])
    found = distance(whole, op, "x")
    return whole.size_bytes("y") if found is None else found


def fused(net: Graph, form: Form, rng: random.Random, d: int, tile: int = 0) -> PoolLayout:
    """A bottleneck as one run, its output d bytes before A, its buffers behind both."""
    out, begin = net.outputs[0], rng.randrange(100)
    end = begin + max(net.size_bytes("a") + d, net.size_bytes(out))
    buffers = []
    for op, after in zip(net.operators, net.operators[1:]):
        tensor, channels = op.outputs[0], net.tensors[op.outputs[0]].shape[1]
        if tensor == "d" and (form == "tile" or (form != "line" and rng.random() < 0.5)):
            continue  # In registers.
        size = min(tile, channels) if form == "tile" else channels
        pixels = ring_pixels(net, after, tensor) if form == "line" else 1
        if form != "line" and tensor == "b":
            pixels = after.kernel[0] * after.kernel[1]
        buffers.append(Buffer(tensor, end, pixels, size))
        end += pixels * size
    if form == "tile":
        size = 4 * net.tensors["d"].shape[1]
        buffers.append(Buffer("d", end, 1, size, sums=True))
        end += size
    run = KernelRun(form, tuple(op.name for op in net.operators), tuple(buffers), tile)
    return PoolLayout(end - begin, {out: begin, "a": begin + d}, (run,))
