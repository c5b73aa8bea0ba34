"""Distances against symbolic bytes in a ring: right at d, and corrupted at d − 1."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from planners.core.errors import BadInput
from planners.core.graph import Graph, Operator, Part
from planners.overlap.model import distance as module
from planners.overlap.model.distance import distance, order
from tests.overlap.byte_ring import (
    Reads,
    addresses,
    footprint,
    moved,
    one_operator,
    survives,
    told,
    window_reads,
)

Shapes = tuple[tuple[int, ...], tuple[int, ...]]


def verify(graph: Graph, reads: Reads, tensor: str, kernel: str, *, tight: bool = True) -> int:
    """The distance, in elements, after the ring has agreed that it is right and the least."""
    op = graph.operators[0]
    shapes: Shapes = (graph.tensors[tensor].shape, graph.tensors["y"].shape)
    found = distance(graph, op, tensor)
    d = math.prod(shapes[1]) if found is None else found
    assert survives(reads, shapes, d, kernel)
    if tight and d > 0:
        assert not survives(reads, shapes, d - 1, kernel)
    return d


def random_window(rng: random.Random, kind: str, dilated: bool = False) -> tuple[Graph, Reads]:
    """A convolution, a depthwise one or a pool over a small random map, and what it reads."""
    batch, c, k = rng.choice((1, 1, 2)), rng.randint(1, 4), rng.randint(1, 5)
    size = [rng.randint(2, 6) for _ in range(2)]
    kernel = [rng.randint(1, min(3, n)) for n in size]
    stride = [rng.randint(1, 3) for _ in range(2)]
    padding = [rng.randint(0, n // 2 if kind == "pool" else n - 1) for n in kernel]
    dilation = [rng.randint(1, 2) if dilated else 1 for _ in range(2)]
    grows = rng.random() < 0.3  # ceil_mode
    out = []
    for n, r, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True):
        room = n + 2 * p - d * (r - 1) - 1
        cells = (-(-room // s) if grows else room // s) + 1
        out.append(max(1, cells - (grows and (cells - 1) * s >= n + p)))
    k = k if kind == "conv" else c
    parameters = () if kind == "pool" else ("w",)
    shapes = {"x": (batch, c, *size), "y": (batch, k, *out)}
    if parameters:
        shapes["w"] = (k, c if kind == "conv" else 1, *kernel)
    slide = tuple(map(tuple, (kernel, stride, padding, dilation)))
    op = Operator(
        "op",
        "max_pool2d" if kind == "pool" else "conv2d",
        ("x",),
        ("y",),
        parameters,
        1,
        *slide,
        groups=c if kind == "depthwise" else 1,
        parts=(Part("y", "max_pool2d" if kind == "pool" else "conv2d"),),
    )
    reads = window_reads(
        shapes["x"], shapes["y"], slide, lambda m: range(c) if kind == "conv" else (m,)
    )
    return one_operator(op, shapes), reads


@pytest.mark.parametrize("kind", ["conv", "depthwise", "pool"])
def test_windows_are_right_at_d_and_corrupted_at_one_less(kind: str) -> None:
    rng = random.Random(kind)
    for _ in range(100):
        graph, reads = random_window(rng, kind)
        kernel = "element" if kind != "conv" or graph.operators[0].groups > 1 else "segment"
        if graph.tensors["x"].shape[1] == graph.tensors["y"].shape[1] == 1:
            kernel = "element"  # one channel is both
        assert order(graph, graph.operators[0]) == kernel
        verify(graph, reads, "x", kernel)


def test_dilated_windows_are_right() -> None:
    """By their hulls, so not always the least."""
    rng = random.Random(5)
    for _ in range(60):
        graph, reads = random_window(rng, "conv", dilated=True)
        kernel = order(graph, graph.operators[0])
        verify(graph, reads, "x", kernel, tight=False)


def linear(*sizes: int) -> tuple[Graph, Reads]:
    """[…, K] → […, N], and that each element reads its row."""
    *rows, k, n = sizes
    op = Operator("op", "linear", ("x",), ("y",), ("w",), 1, parts=(Part("y", "linear"),))
    graph = one_operator(op, {"x": (*rows, k), "w": (n, k), "y": (*rows, n)})
    m = math.prod(rows)
    return graph, [list(range(i // n * k, i // n * k + k)) for i in range(m * n)]


def test_fully_connected_layers_take_the_papers_footprint() -> None:
    rng = random.Random(1)
    for _ in range(80):
        m, k, n = (rng.randint(1, 7) for _ in range(3))
        graph, reads = linear(m, k, n)
        d = verify(graph, reads, "x", "segment")
        assert footprint(m * k, m * n, d) == max(m * n, m * k) + min(n, k) - 1


def test_pointwise_convolutions_and_stacks_of_rows_are_linear() -> None:
    rng = random.Random(2)
    for _ in range(40):
        h, w, c, k = (rng.randint(1, 5) for _ in range(4))
        slide = ((1, 1), (1, 1), (0, 0), (1, 1))
        op = Operator("op", "conv2d", ("x",), ("y",), ("w",), 1, *slide)
        shapes = {"x": (1, c, h, w), "w": (k, c, 1, 1), "y": (1, k, h, w)}
        stacked, _ = linear(h, w, c, k)
        rows, _ = linear(h * w, c, k)
        expected = distance(rows, rows.operators[0], "x")
        assert distance(one_operator(op, shapes), op, "x") == expected
        assert distance(stacked, stacked.operators[0], "x") == expected


def test_a_linear_over_four_axes_reads_across_its_segments() -> None:
    """In memory the second axis is the innermost, whatever it counts."""
    rng = random.Random(10)
    for _ in range(30):
        graph, reads = linear(*(rng.randint(1, 4) for _ in range(5)))
        verify(graph, reads, "x", "segment")


def test_element_wise_operators_run_in_place() -> None:
    for shape in ((1, 3, 4, 5), (2, 7), (6,), (1, 2, 2, 3, 3), ()):
        for inputs in (("a",), ("a", "b")):
            op = Operator("op", "add" if len(inputs) == 2 else "relu", inputs, ("y",))
            graph = one_operator(op, dict.fromkeys((*inputs, "y"), shape))
            assert order(graph, op) == "element"
            assert [distance(graph, op, name) for name in inputs] == [0] * len(inputs)


def test_a_broadcast_operand_may_die_too() -> None:
    rng = random.Random(4)
    for _ in range(60):
        out = tuple(rng.randint(1, 4) for _ in range(rng.choice((2, 3, 4))))
        shape = tuple(rng.choice((1, n)) for n in out)[rng.randint(0, 1) * (rng.random() < 0.3) :]
        op = Operator("op", "mul", ("a", "b"), ("y",))
        graph = one_operator(op, {"a": out, "b": shape, "y": out})
        index = np.broadcast_to(np.arange(math.prod(shape)).reshape(shape), out)
        verify(graph, moved(index), "b", "element")
        assert verify(graph, moved(np.arange(math.prod(out))), "a", "element") == 0


def by_relation(rng: random.Random) -> list[tuple[Graph, Reads, str]]:
    """Operators that say how they read, at a random size, and what they read of a tensor."""
    b, m, k, n = (rng.randint(1, 4) for _ in range(4))
    found = []
    op = told("matmul", ("a", "x"), (b, m, n), "matmul")
    graph = one_operator(op, {"a": (b, m, k), "x": (b, k, n), "y": (b, m, n)})
    rows = [[(i // (m * n) * m + i // n % m) * k + j for j in range(k)] for i in range(b * m * n)]
    columns = [[(i // (m * n) * k + j) * n + i % n for j in range(k)] for i in range(b * m * n)]
    found += [(graph, rows, "a"), (graph, columns, "x")]

    op = told("softmax", ("x",), (b, m, k), "along", 2)
    graph = one_operator(op, {"x": (b, m, k), "y": (b, m, k)})
    found.append((graph, [list(range(i // k * k, i // k * k + k)) for i in range(b * m * k)], "x"))

    op = told("cat", ("x", "z"), (b, k + n, m, 2), "cat", 1)
    graph = one_operator(op, {"x": (b, k, m, 2), "z": (b, n, m, 2), "y": (b, k + n, m, 2)})
    first, last = (np.arange(b * c * m * 2).reshape(b, c, m, 2) for c in (k, n))
    found.append((graph, moved(np.concatenate([first, np.full_like(last, -1)], 1)), "x"))
    found.append((graph, moved(np.concatenate([np.full_like(first, -1), last], 1)), "z"))

    op = told("permute", ("x",), (k, b, m), "permute", 2, 0, 1)
    graph = one_operator(op, {"x": (b, m, k), "y": (k, b, m)})
    found.append((graph, moved(np.arange(b * m * k).reshape(b, m, k).transpose(2, 0, 1)), "x"))

    op = told("upsample_nearest2d", ("x",), (b, k, 2 * m, 2 * n), "nearest")
    graph = one_operator(op, {"x": (b, k, m, n), "y": (b, k, 2 * m, 2 * n)})
    index = np.arange(b * k * m * n).reshape(b, k, m, n).repeat(2, 2).repeat(2, 3)
    found.append((graph, moved(index), "x"))
    return found


def test_what_operators_say_that_they_need_gives_exact_distances() -> None:
    """Exact where a segment stays until nothing of it is read any more."""
    rng = random.Random(6)
    for _ in range(12):
        for graph, reads, tensor in by_relation(rng):
            whole = whole_segments(reads, graph.tensors[tensor].shape)
            verify(graph, whole, tensor, "segment")


def whole_segments(reads: Reads, shape: tuple[int, ...]) -> Reads:
    """The same reads of all elements of each segment that they touch."""
    size = shape[1 if len(shape) == 4 else -1]
    segment = addresses(shape) // size
    return [
        np.flatnonzero(np.isin(segment, segment[np.array(read, int)])).tolist() for read in reads
    ]


def test_a_reshape_is_at_least_safe() -> None:
    rng = random.Random(7)
    for _ in range(20):
        b, m, k = (rng.randint(1, 5) for _ in range(3))
        for shape in ((k, b, m), (b * m, k), (1, k, b, m), (b * m * k,)):
            graph = one_operator(
                told("reshape", ("x",), shape, "reshape"), {"x": (b, m, k), "y": shape}
            )
            verify(graph, moved(np.arange(b * m * k)), "x", "segment", tight=False)


@pytest.mark.parametrize("kind", ["adaptive_avg_pool2d", "mean"])
def test_global_pools(kind: str) -> None:
    """A global pool writes over the first pixel: its channels are summed one by one."""
    shapes = {"x": (1, 3, 4, 5), "y": (1, 3, 1, 1)}
    relation = ("adaptive", 2) if kind.startswith("adaptive") else ("along", 2, 3)
    graph = one_operator(told(kind, ("x",), (1, 3, 1, 1), *relation), shapes)
    reads = [list(range(c * 20, c * 20 + 20)) for c in range(3)]
    kernel = order(graph, graph.operators[0])
    assert kernel == ("element" if kind.startswith("adaptive") else "segment")
    assert verify(graph, reads, "x", kernel) == (0 if kernel == "element" else 2)


def test_generic_and_closed_distances_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(8)
    graphs = [
        random_window(rng, kind, dilated=True)[0] for kind in ("conv", "depthwise", "pool") * 40
    ]
    graphs += [
        linear(*(rng.randint(1, 6) for _ in range(rng.choice((3, 4)))))[0] for _ in range(40)
    ]
    for shape in ((1, 3, 4, 5), (2, 4, 3)):
        op = Operator("op", "add", ("x", "z"), ("y",))
        graphs.append(one_operator(op, {"x": shape, "z": shape, "y": shape}))

    def anew(graph: Graph) -> int | None:
        module._known.clear()
        return distance(graph, graph.operators[0], "x")

    closed = [anew(graph) for graph in graphs]
    monkeypatch.setattr(module, "_closed", lambda *_: None)
    assert [anew(graph) for graph in graphs] == closed
    module._known.clear()


def test_rows_in_place_of_pixels_are_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(9)
    monkeypatch.setattr(module, "_closed", lambda *_: None)
    for most in (1, 4, 12):
        monkeypatch.setattr(module, "MOST_SEGMENTS", most)
        module._known.clear()
        for _ in range(20):
            graph, reads = random_window(rng, "conv")
            verify(graph, reads, "x", "segment", tight=False)
    module._known.clear()


def test_what_does_not_overlap() -> None:
    shapes = {"x": (1, 2, 3, 3), "y": (1, 2, 3, 3)}
    both = Operator("op", "split", ("x",), ("y", "z"))
    assert distance(one_operator(both, shapes | {"z": (1, 2, 3, 3)}), both, "x") is None
    unknown = Operator("op", "sort", ("x",), ("y",), parts=(Part("y", "sort"),))
    graph = one_operator(unknown, shapes)
    # All is read until the last element is written, which alone may lie on the input.
    assert distance(graph, unknown, "x") == 17
    with pytest.raises(BadInput, match="op does not read w"):
        distance(graph, unknown, "w")


def test_bytes_are_elements_times_their_width() -> None:
    graph, _ = linear(5, 3, 4)
    wide = graph.with_bytes_per_element(4)
    d = distance(graph, graph.operators[0], "x")
    assert d is not None
    assert distance(wide, wide.operators[0], "x") == 4 * d


def test_a_large_layer_takes_little_more_than_its_output() -> None:
    slide = ((7, 7), (2, 2), (3, 3), (1, 1))
    op = Operator("op", "conv2d", ("x",), ("y",), ("w",), 1, *slide)
    shapes = {"x": (1, 3, 448, 448), "w": (64, 3, 7, 7), "y": (1, 64, 224, 224)}
    d = distance(one_operator(op, shapes), op, "x")
    assert d is not None
    assert footprint(3 * 448 * 448, 64 * 224 * 224, d) < 64 * 224 * 224 + 448 * 3 * 6
