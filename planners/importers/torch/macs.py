"""Multiply-accumulates of ATen calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

Shape = tuple[int, ...]

_PRODUCTS = frozenset(
    "matmul linalg_matmul mm bmm mv dot vdot linalg_vecdot inner _int_mm _scaled_mm".split()
)
_SECOND = {"addmm": "mat1", "addmv": "mat", "baddbmm": "batch1", "addbmm": "batch1"}
_CELLS = frozenset("lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell".split())
_LAYERS = frozenset("lstm gru rnn_tanh rnn_relu".split())


def macs(kind: str, args: Mapping[str, Any], out: Shape, shapes: Mapping[str, Shape]) -> int:
    """Multiply-accumulates of one call; zero for whatever is not a product of matrices.

    `args` are its arguments by schema name, `out` the shape of its value and `shapes` those of
    its tensor arguments. Attention counts Q·Kᵀ and P·V; a recurrent layer its matrices once a step
    and sequence; a bias, a scale, a gate or a softmax count nothing.
    """
    if kind == "conv_tbc":
        return prod(out) * prod(shapes["weight"][:2])
    if kind.startswith("conv_transpose") or (kind == "convolution" and args.get("transposed")):
        return prod(shapes["input"]) * prod(shapes["weight"][1:])
    if kind.startswith(("conv", "deform_conv")) or kind == "linear":
        return prod(out) * prod(shapes["weight"][1:])
    if kind in _PRODUCTS:
        first = next(iter(shapes.values()))
        return prod(out) * first[-1] if first else 0
    if kind == "addbmm":
        return prod(shapes["batch1"]) * out[-1]
    if kind in _SECOND:
        return prod(out) * shapes[_SECOND[kind]][-1]
    if kind in _LAYERS | _CELLS:
        return _recurrent(shapes)
    if kind == "bilinear":
        return prod(out) * prod(shapes["weight"][1:])
    if kind == "scaled_dot_product_attention":
        query, key, value = shapes["query"], shapes["key"], shapes["value"]
        return prod(query[:-1]) * key[-2] * (query[-1] + value[-1])
    return _contracted(kind, args, out, shapes)


def _recurrent(shapes: Mapping[str, Shape]) -> int:
    """Each matrix is multiplied by one vector a step of each sequence."""
    data = shapes.get("input", shapes.get("data", ()))
    weights = [s for name, s in shapes.items() if name.startswith(("params", "w_"))]
    return prod(data[:-1]) * sum(prod(shape) for shape in weights if len(shape) == 2)


def _contracted(kind: str, args: Mapping[str, Any], out: Shape, shapes: Mapping[str, Shape]) -> int:
    """Products of several tensors along axes that their arguments name."""
    if kind == "tensordot":
        return prod(out) * prod(shapes["self"][int(axis)] for axis in args["dims_self"])
    if kind in ("chain_matmul", "linalg_multi_dot"):
        return _chain([*shapes.values()])
    if kind in ("matrix_power", "linalg_matrix_power"):
        count = abs(int(args["n"]))
        products = max(count.bit_length() - 1, 0) + max(count.bit_count() - 1, 0)
        return products * prod(out) * out[-1]
    if kind == "einsum":
        return _einsum(str(args["equation"]), list(shapes.values()))
    return 0


def _chain(shapes: Sequence[Shape]) -> int:
    """The least of all orders in which matrices can be multiplied."""
    first, *rest = [shape if len(shape) == 2 else (1, *shape) for shape in shapes]
    if len(shapes[-1]) == 1:
        rest[-1] = (*shapes[-1], 1)
    sizes = [first[0], *(shape[0] for shape in rest), ([first] + rest)[-1][1]]
    least: dict[tuple[int, int], int] = {}
    for length in range(1, len(sizes)):
        for a in range(len(sizes) - length):
            b = a + length
            ways = (
                least[a, k] + least[k, b] + sizes[a] * sizes[k] * sizes[b] for k in range(a + 1, b)
            )
            least[a, b] = min(ways, default=0)
    return least[0, len(sizes) - 1]


def _einsum(equation: str, shapes: Sequence[Shape]) -> int:
    """Operands are multiplied from left to right, as PyTorch does; where nothing is summed, 0.

    An axis of one element is no sum.
    """
    left, _, right = equation.replace(" ", "").partition("->")
    sizes: dict[str, int] = {}
    terms = []
    for term, shape in zip(left.split(","), shapes, strict=True):
        axes = _axes(term, len(shape))
        for axis, size in zip(axes, shape, strict=True):
            sizes[axis] = max(size, sizes.get(axis, 1))
        terms.append(set(axes))
    every = [axis for term in terms for axis in term]
    kept = {axis for axis in every if axis.startswith(".")}
    kept |= set(right) if "->" in equation else {a for a in every if left.count(a) == 1}
    total, (now, *rest) = 0, terms
    for at, other in enumerate(rest):
        needed = kept.union(*rest[at + 1 :])
        if summed := {axis for axis in (now & other) - needed if sizes[axis] > 1}:
            total += _product(sizes, (now | other) & needed | summed)
        now = (now | other) & needed
    return total


def _axes(term: str, rank: int) -> list[str]:
    """A name for each axis, those of an ellipsis numbered from the last."""
    head, dots, tail = term.partition("...")
    count = rank - len(head + tail) if dots else 0
    return [*head, *(f".{count - i}" for i in range(count)), *tail]


def _product(sizes: Mapping[str, int], axes: Iterable[str]) -> int:
    return prod(sizes[axis] for axis in axes)
