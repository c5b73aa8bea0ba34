"""Small random ONNX models: each node is drawn to suit the values before it, and run as it is made.

onnx's own reference runs the nodes, so that every value's shape, type and numbers are known.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

Array = Any
MOST_ELEMENTS = 2000
TRIES = 40
UNARY = (
    "Relu Sigmoid Tanh Exp Abs Neg Erf Sin Elu Softplus LeakyRelu HardSwish Floor Sign Identity"
).split()
BINARY = "Add Sub Mul Div Max Min Pow".split()
REDUCE = "ReduceMean ReduceSum ReduceMax ReduceL2 ReduceLogSumExp ReduceSumSquare".split()


@dataclass
class RandomOnnx:
    """Nodes drawn from a seed over one or two inputs; `values` has each value's numbers."""

    seed: int
    nodes: list[Any] = field(default_factory=list)
    weights: dict[str, Array] = field(default_factory=dict)
    values: dict[str, Array] = field(default_factory=dict)
    macs: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.draw, self.rng = random.Random(self.seed), np.random.default_rng(self.seed)
        self.inputs = [f"x{i}" for i in range(self.draw.choice((1, 1, 2)))]
        size = self.draw.randint
        for name in self.inputs:
            shape = (size(1, 2), size(1, 4), size(3, 7), size(3, 7))
            shape = shape if self.draw.random() < 0.7 else shape[:3]
            self.values[name] = self.rng.standard_normal(shape).astype(np.float32)
        count = size(3, 9)
        for _ in range(TRIES):
            if len(self.nodes) < count:
                self._try()
        made = [name for node in self.nodes for name in node.output]
        read = {name for node in self.nodes for name in node.input}
        self.outputs = [name for name in made if name not in read]

    @property
    def model(self) -> Any:
        """The whole model."""
        return self._model(self.nodes, self.inputs, self.outputs)

    def run(self, inputs: Mapping[str, Array], output: str) -> Array:
        """A value computed from these values alone, whatever else led to them."""
        nodes: list[Any] = []
        wanted = {output}
        for node in reversed(self.nodes):
            if not wanted.isdisjoint(node.output) and not inputs.keys() & set(node.output):
                nodes.insert(0, node)
                wanted.update(node.input)
        given = {name: value for name, value in inputs.items() if name in wanted}
        with np.errstate(all="ignore"):
            part = ReferenceEvaluator(self._model(nodes, list(given), [output]))
            return part.run(None, dict(given))[0]

    def _model(self, nodes: Any, inputs: Any, outputs: Any) -> Any:
        def info(name: str, array: Array) -> Any:
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            return helper.make_tensor_value_info(name, kind, list(array.shape))

        held = [numpy_helper.from_array(array, name) for name, array in self.weights.items()]
        ends = [helper.make_empty_tensor_value_info(name) for name in outputs]
        starts = [info(name, self.values[name]) for name in inputs]
        graph = helper.make_graph(nodes, "random", starts, ends, held)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)

    def _try(self) -> None:
        """A node, kept where the reference can run it and its values are small and finite."""
        latest = list(self.values)[-4:]
        name = self.draw.choice(latest)
        held = dict(self.weights)
        draws = [d for d in DRAWS if self.values[name].dtype == np.float32 or d in OF_ANY]
        drawn = self.draw.choice(draws)(self, name, self.values[name])
        if drawn is None:
            return
        node, macs = drawn if isinstance(drawn, tuple) else (drawn, 0)
        inputs = [n for n in dict.fromkeys(node.input) if n in self.values]
        alone = self._model([node], inputs, node.output)
        try:
            with np.errstate(all="ignore"):
                found = ReferenceEvaluator(alone).run(None, {n: self.values[n] for n in inputs})
        except Exception:  # the reference raises anything for what does not suit
            self.weights = held
            return
        if all(0 < array.size <= MOST_ELEMENTS and np.isfinite(array).all() for array in found):
            self.nodes.append(node)
            self.values |= dict(zip(node.output, map(np.asarray, found), strict=True))
            self.macs[node.output[0]] = macs(found[0]) if macs else 0
        else:
            self.weights = held

    def weight(self, *shape: int, of: Array | None = None) -> str:
        """A new weight: random numbers of a shape, or these."""
        name = f"w{len(self.weights)}"
        random_numbers = self.rng.standard_normal(shape).astype(np.float32)
        self.weights[name] = random_numbers if of is None else of
        return name

    def ints(self, *numbers: int) -> str:
        """A weight of whole numbers."""
        return self.weight(of=np.array(numbers, dtype=np.int64))

    def node(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """A node with new names for what it gives."""
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        return helper.make_node(kind, inputs, names, name=f"n{len(self.nodes)}", **attributes)


def _conv(m: RandomOnnx, x: str, a: Array) -> Any:
    if a.ndim < 3:
        return None
    axes, channels, size = a.ndim - 2, a.shape[1], m.draw.randint
    groups = channels if m.draw.random() < 0.3 else 1
    kernel = [size(1, 3) for _ in range(axes)]
    w = m.weight(groups * size(1, 3), channels // groups, *kernel)
    more = {"pads": [size(0, 2) for _ in range(2 * axes)]}
    if m.draw.random() < 0.3:
        more = {"auto_pad": m.draw.choice(("SAME_UPPER", "SAME_LOWER", "VALID"))}
    more["strides"] = [size(1, 2) for _ in range(axes)]
    bias = [m.weight(m.weights[w].shape[0])] if m.draw.random() < 0.5 else []
    each = int(np.prod(m.weights[w].shape[1:]))
    return m.node("Conv", x, w, *bias, group=groups, **more), lambda y: y.size * each


def _transposed(m: RandomOnnx, x: str, a: Array) -> Any:
    if a.ndim != 4:
        return None
    w = m.weight(a.shape[1], m.draw.randint(1, 3), 2, m.draw.randint(2, 3))
    each = a.size * int(np.prod(m.weights[w].shape[1:]))
    return m.node("ConvTranspose", x, w, strides=[m.draw.randint(1, 2)] * 2), lambda _: each


def _pool(m: RandomOnnx, x: str, a: Array) -> Any:
    if a.ndim != 4:
        return None
    kind, size = m.draw.choice(("MaxPool", "AveragePool", "LpPool", "Global")), m.draw.randint
    if kind == "Global":
        return m.node(m.draw.choice(("GlobalAveragePool", "GlobalMaxPool")), x)
    strides = [size(1, 2), size(1, 2)]
    up = {"ceil_mode": size(0, 1)} if kind != "LpPool" else {}
    return m.node(kind, x, kernel_shape=[size(1, 3), size(1, 3)], strides=strides, **up)


def _unary(m: RandomOnnx, x: str, a: Array) -> Any:
    return m.node(m.draw.choice(UNARY), x)


def _binary(m: RandomOnnx, x: str, a: Array) -> Any:
    kind = m.draw.choice(BINARY)
    others = [n for n, b in m.values.items() if b.dtype == np.float32]
    if m.draw.random() < 0.4:
        shape = [n if m.draw.random() < 0.6 else 1 for n in a.shape[m.draw.randint(0, 1) :]]
        return m.node(kind, x, m.weight(*shape))
    return m.node(kind, x, m.draw.choice(others))


def _product(m: RandomOnnx, x: str, a: Array) -> Any:
    if a.ndim < 2:
        return None
    k, size = a.shape[-1], m.draw.randint
    if m.draw.random() < 0.3:
        across = [n for n, b in m.values.items() if b.ndim > 1 and b.shape[-2] == k]
        across = [n for n in across if m.values[n].dtype == np.float32]
        if across:
            return m.node("MatMul", x, m.draw.choice(across)), lambda y: y.size * k
    if a.ndim == 2 and m.draw.random() < 0.6:
        turned, n = size(0, 1), size(1, 5)
        w = m.weight(*((n, k) if turned else (k, n)))
        bias = [m.weight(*m.draw.choice(((n,), (1, n), (1,))))] if size(0, 1) else []
        return m.node("Gemm", x, w, *bias, transB=turned), lambda y: y.size * k
    return m.node("MatMul", x, m.weight(k, size(1, 5))), lambda y: y.size * k


def _norm(m: RandomOnnx, x: str, a: Array) -> Any:
    if a.ndim < 3:
        return None
    c = a.shape[1]
    way = m.draw.randrange(4)
    if way == 0:
        variance = m.weight(of=m.rng.uniform(0.5, 2, c).astype(np.float32))
        rest = (m.weight(c), m.weight(c), m.weight(c), variance)
        return m.node("BatchNormalization", x, *rest)
    if way == 1:
        return m.node("InstanceNormalization", x, m.weight(c), m.weight(c))
    if way == 2:
        return m.node("LayerNormalization", x, m.weight(a.shape[-1]), axis=-1)
    kind = m.draw.choice(("Softmax", "LogSoftmax", "Hardmax"))
    return m.node(kind, x, axis=m.draw.choice((-1, 1)))


def _reduce(m: RandomOnnx, x: str, a: Array) -> Any:
    axes = m.draw.sample(range(-a.ndim, 0), m.draw.randint(1, max(1, a.ndim - 1))) if a.ndim else []
    given = [m.ints(*axes)] if axes else []
    return m.node(m.draw.choice(REDUCE), x, *given, keepdims=m.draw.randint(0, 1))


def _along(m: RandomOnnx, x: str, a: Array) -> Any:
    if not a.ndim:
        return None
    axis = m.draw.randrange(a.ndim)
    way = m.draw.randrange(5)
    if way == 0:
        return m.node("CumSum", x, m.weight(of=np.array(axis, dtype=np.int64)))
    if way == 1:
        return m.node("TopK", x, m.ints(m.draw.randint(1, a.shape[axis])), axis=axis, outputs=2)
    if way == 2:
        return m.node("ArgMax", x, axis=axis, keepdims=m.draw.randint(0, 1))
    if way == 3:
        places = [m.draw.randrange(-a.shape[axis], a.shape[axis]) for _ in range(2)]
        one = np.array(places[0] if m.draw.random() < 0.4 else places, dtype=np.int64)
        return m.node("Gather", x, m.weight(of=one), axis=axis)
    if a.shape[axis] < 2:
        return None
    sizes = (1, a.shape[axis] - 1)
    return m.node("Split", x, m.ints(*sizes), axis=axis, outputs=2)


def _moved(m: RandomOnnx, x: str, a: Array) -> Any:
    order, way = list(range(a.ndim)), m.draw.randrange(5)
    m.draw.shuffle(order)
    if way == 0:
        return m.node("Transpose", x, perm=order)
    if way == 1:
        first = (*a.shape[:1], -1)
        return m.node("Reshape", x, m.ints(*m.draw.choice(((-1,), (1, -1), first))))
    if way == 2:
        return m.node("Flatten", x, axis=m.draw.randint(0, a.ndim))
    if way == 3:
        return m.node("Unsqueeze", x, m.ints(m.draw.randint(0, a.ndim)))
    return m.node("Expand", x, m.ints(m.draw.randint(1, 2), *(1 for _ in a.shape)))


def _cut(m: RandomOnnx, x: str, a: Array) -> Any:
    if not a.ndim:
        return None
    axis, size = m.draw.randrange(a.ndim), m.draw.randint
    n = a.shape[axis]
    if m.draw.random() < 0.4:
        pads = [size(0, 2) if i in (axis, axis + a.ndim) else 0 for i in range(2 * a.ndim)]
        return m.node("Pad", x, m.ints(*pads), mode=m.draw.choice(("constant", "edge", "reflect")))
    start, step = size(0, n - 1), m.draw.choice((1, 1, 2, -1))
    numbers = (start, -99 if step < 0 else n, axis, step)
    return m.node("Slice", x, *(m.ints(number) for number in numbers))


def _joined(m: RandomOnnx, x: str, a: Array) -> Any:
    alike = [n for n, b in m.values.items() if b.shape == a.shape and b.dtype == a.dtype]
    return m.node("Concat", x, m.draw.choice(alike), axis=m.draw.choice((0, -1, 1)))


def _typed(m: RandomOnnx, x: str, a: Array) -> Any:
    if a.dtype == np.bool_:
        return m.node("Where", x, m.weight(*a.shape), m.weight(1))
    if a.dtype != np.float32:
        return m.node("Cast", x, to=1)
    return m.node(m.draw.choice(("Greater", "LessOrEqual")), x, m.weight(1))


def _sizes(m: RandomOnnx, x: str, a: Array) -> Any:
    if a.ndim != 4:
        return None
    way = m.draw.randrange(3)
    if way == 0:
        return m.node("DepthToSpace", x, blocksize=2)
    if way == 1:
        return m.node("SpaceToDepth", x, blocksize=2)
    scales = np.array([1, 1, m.draw.choice((1, 2)), 2], dtype=np.float32)
    place = {"coordinate_transformation_mode": m.draw.choice(("asymmetric", "half_pixel"))}
    mode = m.draw.choice(("nearest", "linear"))
    return m.node("Resize", x, "", m.weight(of=scales), mode=mode, **place)


def _recurrent(m: RandomOnnx, x: str, a: Array) -> Any:
    if a.ndim != 3:
        return None
    kind, gates = m.draw.choice((("LSTM", 4), ("GRU", 3), ("RNN", 1)))
    hidden = m.draw.randint(1, 3)
    w, r = m.weight(1, gates * hidden, a.shape[2]), m.weight(1, gates * hidden, hidden)
    each = a.shape[0] * a.shape[1] * gates * hidden * (a.shape[2] + hidden)
    return m.node(kind, x, w, r, hidden_size=hidden, outputs=2), lambda _: each


Draw = Callable[[RandomOnnx, str, Array], Any]
OF_ANY: tuple[Draw, ...] = (_moved, _joined, _typed)
DRAWS: tuple[Draw, ...] = (
    _conv, _conv, _transposed, _pool, _unary, _unary, _binary, _binary, _product, _product, _norm,
    _reduce, _along, _moved, _cut, _joined, _typed, _sizes, _recurrent,
)  # fmt: skip
